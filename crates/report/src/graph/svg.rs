//! Control-flow graphs as SVG: a layered drawing whose back edges run along the right side.
//!
//! The steps follow Sugiyama, Tagawa and Toda (1981). Back edges are set aside. Each node gets the layer of its
//! longest path from the top. An edge that spans several layers gets a bend in each of them. The order within a layer
//! follows the barycentres of the neighbours. For example, in the loop A → B → A, B → C the layers are A, B, C, and B
//! → A is the back edge.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::escape::escaped;
use crate::graph::{EdgeKind, Graph};

/// Width of a character and height of a line of the 11 px monospaced font.
const CHARACTER: f64 = 6.7;
const LINE: f64 = 14.0;
/// Space inside and around boxes.
const PAD: f64 = 8.0;
const GAP_X: f64 = 36.0;
const GAP_Y: f64 = 46.0;
/// Distance between back edges.
const LANE: f64 = 12.0;
/// Maximum number of code lines shown per block. A longer block shows its first and its last lines.
const MAX_SHOWN: usize = 10;
/// Number of sweeps of the barycentre ordering, alternately down and up.
const SWEEPS: usize = 8;

/// Legend of the edge colours.
const LEGEND: &str =
    "black: active lanes; blue: a pushed entry is resumed; red, dashed: lanes that waited resume";

/// Level of a graph of instrumentation points.
pub(crate) const POINTS: &str = "point";
/// Legend of a graph of points.
const LEGEND_OF_POINTS: &str = "edges: ways between two points, with their largest observed times";

/// Element of the layout: a block, the end of the kernel, or a bend where an edge passes a layer.
struct Cell {
    lines: Vec<String>,
    layer: usize,
    width: f64,
    height: f64,
    x: f64,
    y: f64,
}

/// Edge as the sequence of the cells that it passes.
struct Route {
    edge: usize,
    cells: Vec<usize>,
    back: bool,
}

impl Graph {
    /// Returns the graph as an SVG drawing.
    pub fn svg(&self) -> String {
        svg(self, "")
    }
}

/// Draws a graph. `ids` distinguishes its arrowheads from the arrowheads of other drawings in the same document.
pub(crate) fn svg(graph: &Graph, ids: &str) -> String {
    let end = graph.nodes.len();
    let target = |to: Option<usize>| to.unwrap_or(end);
    // Edges that differ only in the entries that they push would lie on top of each other, so they are drawn as one
    // line.
    let drawn: BTreeSet<(usize, usize, EdgeKind)> = graph
        .edges
        .iter()
        .map(|e| (e.from, target(e.to), e.kind))
        .collect();
    let edges: Vec<(usize, usize)> = drawn.iter().map(|&(from, to, _)| (from, to)).collect();
    let kinds: Vec<EdgeKind> = drawn.iter().map(|&(_, _, kind)| kind).collect();
    let back = find_back_edges(end + 1, graph.entry, &edges);
    let assign_layers = layers(end + 1, &edges, &back);
    let mut cells: Vec<Cell> = (0..=end)
        .map(|node| node_cell(graph, node, assign_layers.get(node).copied().unwrap_or(0)))
        .collect();
    let route_edges = routes(&edges, &back, &mut cells);
    let order_layers = order(&cells, &route_edges);
    let width = assign_coordinates(&mut cells, &order_layers);
    draw(graph, ids, &kinds, &cells, &route_edges, width)
}

/// Returns the box of a node, with its size but without coordinates.
fn node_cell(graph: &Graph, node: usize, layer: usize) -> Cell {
    let mut lines = Vec::new();
    match graph.nodes.get(node) {
        None => lines.push("end".to_owned()),
        Some(n) => {
            let mut head = match graph.level {
                POINTS => format!("P{node}  {}  {}", n.from, n.to),
                _ => format!("B{node}  {}..{}", n.from, n.to),
            };
            if let Some(header) = &n.header_of {
                head.push_str(&format!("  {header}"));
            }
            lines.push(head);
            if let Some(function) = &n.function {
                lines.push(format!("in {function}"));
            }
            // One line more than the maximum is shown as it is, because the note would take its place.
            if n.code.len() > MAX_SHOWN + 1 {
                lines.extend(n.code.iter().take(MAX_SHOWN / 2).cloned());
                lines.push(format!("… {} more", n.code.len() - MAX_SHOWN));
                lines.extend(n.code.iter().skip(n.code.len() - MAX_SHOWN / 2).cloned());
            } else {
                lines.extend(n.code.iter().cloned());
            }
        }
    }
    let longest = lines.iter().map(|l| l.chars().count()).max().unwrap_or(0);
    Cell {
        width: longest as f64 * CHARACTER + 2.0 * PAD,
        height: lines.len() as f64 * LINE + 2.0 * PAD,
        lines,
        layer,
        x: 0.0,
        y: 0.0,
    }
}

/// Returns which edges close a cycle in a depth-first search from the entry.
fn find_back_edges(nodes: usize, entry: usize, edges: &[(usize, usize)]) -> Vec<bool> {
    let mut outgoing = vec![Vec::new(); nodes];
    for (i, &(from, _)) in edges.iter().enumerate() {
        outgoing[from].push(i);
    }
    let mut back = vec![false; edges.len()];
    // 0: unvisited, 1: on the current path, 2: finished.
    let mut state = vec![0u8; nodes];
    // Nodes that the entry does not reach are searched as well, since they are drawn too.
    for start in std::iter::once(entry).chain(0..nodes) {
        if state[start] != 0 {
            continue;
        }
        state[start] = 1;
        // An explicit stack, because a long chain of blocks could exhaust the call stack.
        let mut path = vec![(start, 0usize)];
        while let Some((node, next)) = path.last_mut() {
            let Some(&edge) = outgoing[*node].get(*next) else {
                state[*node] = 2;
                path.pop();
                continue;
            };
            *next += 1;
            let to = edges[edge].1;
            match state[to] {
                0 => {
                    state[to] = 1;
                    path.push((to, 0));
                }
                // An edge to a node on the current path closes a cycle.
                1 => back[edge] = true,
                _ => {}
            }
        }
    }
    back
}

/// Returns the layer of each node, that is the length of the longest path to it without back edges.
fn layers(nodes: usize, edges: &[(usize, usize)], back: &[bool]) -> Vec<usize> {
    let mut layer = vec![0usize; nodes];
    let mut missing = vec![0usize; nodes];
    let mut outgoing = vec![Vec::new(); nodes];
    for (&(from, to), _) in edges.iter().zip(back).filter(|(_, back)| !**back) {
        missing[to] += 1;
        outgoing[from].push(to);
    }
    // Without back edges the graph has no cycle, so every node becomes free.
    let mut free: Vec<usize> = (0..nodes).filter(|&n| missing[n] == 0).collect();
    while let Some(node) = free.pop() {
        for &to in &outgoing[node] {
            layer[to] = layer[to].max(layer[node] + 1);
            missing[to] -= 1;
            if missing[to] == 0 {
                free.push(to);
            }
        }
    }
    layer
}

fn routes(edges: &[(usize, usize)], back: &[bool], cells: &mut Vec<Cell>) -> Vec<Route> {
    let mut routes = Vec::new();
    for (edge, &(from, to)) in edges.iter().enumerate() {
        let mut passed = vec![from];
        if !back[edge] {
            // Without bends an edge over several layers would run through the boxes between.
            for layer in cells[from].layer + 1..cells[to].layer {
                passed.push(cells.len());
                cells.push(Cell {
                    lines: Vec::new(),
                    layer,
                    width: 4.0,
                    height: 0.0,
                    x: 0.0,
                    y: 0.0,
                });
            }
        }
        passed.push(to);
        routes.push(Route {
            edge,
            cells: passed,
            back: back[edge],
        });
    }
    routes
}

/// Returns the cells of each layer from left to right, ordered by the barycentres of their neighbours.
fn order(cells: &[Cell], routes: &[Route]) -> Vec<Vec<usize>> {
    let depth = cells.iter().map(|c| c.layer + 1).max().unwrap_or(0);
    let mut order: Vec<Vec<usize>> = vec![Vec::new(); depth];
    for (i, cell) in cells.iter().enumerate() {
        order[cell.layer].push(i);
    }
    let mut above = vec![Vec::new(); cells.len()];
    let mut under = vec![Vec::new(); cells.len()];
    for pair in routes
        .iter()
        .filter(|r| !r.back)
        .flat_map(|r| r.cells.windows(2))
    {
        if let &[from, to] = pair {
            above[to].push(from);
            under[from].push(to);
        }
    }
    let mut position: BTreeMap<usize, usize> = BTreeMap::new();
    for layer in &order {
        position.extend(layer.iter().enumerate().map(|(at, &cell)| (cell, at)));
    }
    for sweep in 0..SWEEPS {
        // A sweep orders each layer by one side only, so the direction alternates.
        let down = sweep % 2 == 0;
        let neighbours = if down { &above } else { &under };
        let turns: Vec<usize> = if down {
            (0..depth).collect()
        } else {
            (0..depth).rev().collect()
        };
        for layer in turns {
            let mean = |cell: usize| {
                let near = &neighbours[cell];
                let sum: usize = near.iter().filter_map(|n| position.get(n)).sum();
                match near.len() {
                    // A cell without neighbours on that side keeps its place.
                    0 => position.get(&cell).map_or(0.0, |&p| p as f64),
                    n => sum as f64 / n as f64,
                }
            };
            let mut keyed: Vec<(f64, usize)> = order[layer].iter().map(|&c| (mean(c), c)).collect();
            // Ties are broken by index, so that equal graphs have equal drawings.
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            order[layer] = keyed.into_iter().map(|(_, c)| c).collect();
            position.extend(
                order[layer]
                    .iter()
                    .enumerate()
                    .map(|(at, &cell)| (cell, at)),
            );
        }
    }
    order
}

/// Sets the coordinates of the cells, with centred layers. Returns the width without the back edges.
fn assign_coordinates(cells: &mut [Cell], order: &[Vec<usize>]) -> f64 {
    let widths: Vec<f64> = order
        .iter()
        .map(|layer| {
            let boxes: f64 = layer.iter().map(|&c| cells[c].width).sum();
            boxes + GAP_X * layer.len().saturating_sub(1) as f64
        })
        .collect();
    let width = widths.iter().copied().fold(0.0, f64::max);
    let mut y = PAD + 3.0 * LINE;
    for (layer, total) in order.iter().zip(widths) {
        let height = layer.iter().map(|&c| cells[c].height).fold(0.0, f64::max);
        let mut x = PAD + (width - total) / 2.0;
        for &c in layer {
            cells[c].x = x;
            cells[c].y = y;
            x += cells[c].width + GAP_X;
            // A bend passes through the whole height of its layer.
            if cells[c].lines.is_empty() {
                cells[c].height = height;
            }
        }
        y += height + GAP_Y;
    }
    width + 2.0 * PAD
}

/// Writes the SVG document.
fn draw(
    graph: &Graph,
    ids: &str,
    kinds: &[EdgeKind],
    cells: &[Cell],
    routes: &[Route],
    width: f64,
) -> String {
    let bottom = cells.iter().map(|c| c.y + c.height).fold(0.0, f64::max) + GAP_Y;
    // Each back edge needs a lane to the right of the boxes.
    let lanes = routes.iter().filter(|r| r.back).count();
    let title = format!("{}: {}-level graph", graph.kernel, graph.level);
    let legend = match graph.level {
        POINTS => LEGEND_OF_POINTS,
        _ => LEGEND,
    };
    let text_width = |text: &str| text.chars().count() as f64 * CHARACTER + 2.0 * PAD;
    let full = (width + LANE * (lanes as f64 + 1.0))
        .max(text_width(&title))
        .max(text_width(legend));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{full:.0}\" height=\"{bottom:.0}\" viewBox=\"0 0 {full:.0} {bottom:.0}\" font-family=\"monospace\" font-size=\"11\">\n"
    );
    out.push_str("<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<defs>\n");
    // A marker does not inherit the colour of its edge, so each kind has its own.
    for kind in [EdgeKind::Walk, EdgeKind::Resume, EdgeKind::Divergence] {
        let (name, colour, _) = style(kind);
        let _ = writeln!(
            out,
            "<marker id=\"{ids}{name}\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0,0 L8,4 L0,8 z\" fill=\"{colour}\"/></marker>"
        );
    }
    out.push_str("</defs>\n");
    let heads = [
        (title.as_str(), "font-weight=\"bold\""),
        (legend, "fill=\"#555\""),
    ];
    for (nth, (text, style)) in heads.into_iter().enumerate() {
        // A fixed text length keeps the text inside the page if the viewer's font is wider.
        let _ = writeln!(
            out,
            "<text x=\"{PAD}\" y=\"{:.0}\" textLength=\"{:.1}\" lengthAdjust=\"spacingAndGlyphs\" {style}>{}</text>",
            PAD + (nth + 1) as f64 * LINE,
            text_width(text) - 2.0 * PAD,
            escaped(text)
        );
    }
    draw_edges(ids, kinds, cells, routes, width, &mut out);
    draw_boxes(graph, cells, &mut out);
    out.push_str("</svg>\n");
    out
}

/// Draws the edges in one group for each kind, which holds their common attributes.
fn draw_edges(
    ids: &str,
    kinds: &[EdgeKind],
    cells: &[Cell],
    routes: &[Route],
    width: f64,
    out: &mut String,
) {
    let mut paths: BTreeMap<EdgeKind, String> = BTreeMap::new();
    // Each back edge has a lane of its own, so that they do not overlap.
    let mut lane = 0.0;
    for route in routes {
        let Some(&kind) = kinds.get(route.edge) else {
            continue;
        };
        let path = if route.back {
            lane += 1.0;
            back_path(cells, route, width + LANE * lane)
        } else {
            forward_path(cells, route)
        };
        let paths = paths.entry(kind).or_default();
        let _ = writeln!(paths, "<path d=\"{path}\"/>");
    }
    for (kind, paths) in paths {
        let (name, colour, dash) = style(kind);
        let _ = write!(
            out,
            "<g fill=\"none\" stroke=\"{colour}\"{dash} marker-end=\"url(#{ids}{name})\">\n{paths}</g>\n"
        );
    }
}

/// Draws the boxes with their lines of text.
fn draw_boxes(graph: &Graph, cells: &[Cell], out: &mut String) {
    let boxes = cells.iter().enumerate();
    let boxes = boxes.filter(|(_, cell)| !cell.lines.is_empty());
    out.push_str("<g fill=\"#fbfbf8\" stroke=\"#333\">\n");
    for (index, cell) in boxes.clone() {
        let divergent = graph.nodes.get(index).is_some_and(|n| n.divergent);
        let stroke = if divergent { " stroke=\"#c0392b\"" } else { "" };
        let _ = writeln!(
            out,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.0}\" rx=\"3\"{stroke}/>",
            cell.x, cell.y, cell.width, cell.height
        );
    }
    out.push_str("</g>\n<g xml:space=\"preserve\" font-weight=\"bold\">\n");
    for (_, cell) in boxes {
        for (i, line) in cell.lines.iter().enumerate() {
            let weight = if i == 0 {
                ""
            } else {
                " font-weight=\"normal\""
            };
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\"{weight}>{}</text>",
                cell.x + PAD,
                cell.y + PAD + LINE * (i as f64 + 0.75),
                escaped(line)
            );
        }
    }
    out.push_str("</g>\n");
}

/// Returns the name, the colour and the dash pattern of an edge.
fn style(kind: EdgeKind) -> (&'static str, &'static str, &'static str) {
    match kind {
        EdgeKind::Walk => ("walk", "#333", ""),
        EdgeKind::Resume => ("resume", "#2c7fb8", ""),
        EdgeKind::Divergence => ("divergence", "#c0392b", " stroke-dasharray=\"5 3\""),
    }
}

/// Returns the path of a forward edge through its bends.
fn forward_path(cells: &[Cell], route: &Route) -> String {
    let mut path = String::new();
    for (i, pair) in route.cells.windows(2).enumerate() {
        let &[from, to] = pair else { continue };
        let (a, b) = (&cells[from], &cells[to]);
        // Edges leave and enter boxes at different places, so that they do not overlap.
        let spread = |cell: &Cell| match cell.lines.is_empty() {
            true => 0.0,
            false => ((route.edge % 5) as f64 - 2.0) * (cell.width / 14.0).min(14.0),
        };
        let (x1, y1) = (a.x + a.width / 2.0 + spread(a), a.y + a.height);
        let (x2, y2) = (b.x + b.width / 2.0 + spread(b), b.y);
        let middle = (y1 + y2) / 2.0;
        if i == 0 {
            let _ = write!(path, "M{x1:.1},{y1:.1}");
        } else {
            let _ = write!(path, " L{x1:.1},{y1:.1}");
        }
        let _ = write!(
            path,
            " C{x1:.1},{middle:.1} {x2:.1},{middle:.1} {x2:.1},{y2:.1}"
        );
    }
    path
}

/// Returns the path of a back edge: out at the bottom, up along the right side, and in at the top.
fn back_path(cells: &[Cell], route: &Route, lane: f64) -> String {
    let (Some(from), Some(to)) = (
        route.cells.first().and_then(|&c| cells.get(c)),
        route.cells.last().and_then(|&c| cells.get(c)),
    ) else {
        return String::new();
    };
    let (x1, y1) = (from.x + from.width * 0.8, from.y + from.height);
    let (x2, y2) = (to.x + to.width * 0.8, to.y);
    // In the gaps between layers, where no box is.
    let (low, high) = (y1 + GAP_Y / 3.0, y2 - GAP_Y / 3.0);
    format!(
        "M{x1:.1},{y1:.1} L{x1:.1},{low:.1} L{lane:.1},{low:.1} L{lane:.1},{high:.1} L{x2:.1},{high:.1} L{x2:.1},{y2:.1}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::GraphNode;

    /// The page is at least as wide as its title and its legend, also for small graphs.
    #[test]
    fn title_and_legend_are_inside_the_page() {
        for kernel in ["k".to_owned(), "void f<T>(int)".repeat(20)] {
            let graph = Graph {
                schema: Graph::SCHEMA,
                kernel,
                level: "warp",
                nodes: vec![GraphNode {
                    from: "0x8".to_owned(),
                    to: "0x8".to_owned(),
                    function: None,
                    calls: Vec::new(),
                    source: None,
                    header_of: None,
                    divergent: false,
                    code: vec!["EXIT".to_owned()],
                }],
                edges: Vec::new(),
                entry: 0,
            };
            let drawn = svg(&graph, "");
            let numbers = |key: &str| -> Vec<f64> {
                let attribute = format!(" {key}=\"");
                let rest = drawn.split(attribute.as_str()).skip(1);
                rest.filter_map(|rest| rest.split('"').next()?.parse().ok())
                    .collect()
            };
            let page = numbers("width")[0];
            let lengths = numbers("textLength");
            assert_eq!(lengths.len(), 2, "{drawn}");
            for length in lengths {
                assert!(PAD + length <= page, "{length} on {page}");
            }
        }
    }
}
