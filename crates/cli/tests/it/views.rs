//! `list`, `disasm` and `cfg`.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::{cubins, run};

/// Kernels with loops, calls, tables, indirect branches, irreducible loops and recursion.
const GRAPHS: [(&str, &str); 7] = [
    ("if_else.sm_61.cubin", "if_else"),
    ("break_loop.sm_61.cubin", "break_loop"),
    ("call_depth2.sm_61.cubin", "call_depth2"),
    ("function_pointer.sm_61.cubin", "function_pointer"),
    ("goto_flow.sm_61.cubin", "goto_irreducible"),
    ("recursion.sm_61.cubin", "mutual_recursion"),
    ("bitonic_sort.sm_61.cubin", "void bitonic::block<int>(int*)"),
];

#[test]
fn list_has_a_line_for_each_kernel() {
    let text = run(&["list", "bitonic_sort.sm_61.cubin"]).done();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 5, "{text}");
    assert_eq!(lines[0], "bitonic_sort.sm_61.cubin  sm_61");
    let head: Vec<&str> = lines[1].split_whitespace().collect();
    assert_eq!(
        head,
        [
            "instr", "regs", "shared", "local", "const", "params", "bars", "calls", "loops",
            "block", "kernel"
        ]
    );
    let step: Vec<&str> = lines[2].split_whitespace().collect();
    // c[0x0] with the launch's words has 0x140 bytes before the parameters.
    assert_eq!(step[2..10], ["0", "0", "336", "3/16", "0", "0", "0", "-"]);
    assert!(
        lines[2].ends_with("  bitonic::step(float*, int, int)"),
        "{text}"
    );
    let block: Vec<&str> = lines[4].split_whitespace().collect();
    assert_eq!(
        block[2..10],
        ["2048", "0", "328", "1/8", "1", "0", "2", "-"]
    );
}

#[test]
fn list_names_refused_kernels() {
    let text = run(&["list", "infinite_loop.sm_61.cubin"]).done();
    for line in [
        "not followed:\n",
        "\n  infinite_for_some: 0x0078: infinite loop",
        "\n  infinite_loop: 0x0008: infinite loop",
    ] {
        assert!(text.contains(line), "{text}");
    }
    let text = run(&["list", "external_call.sm_61.cubin"]).done();
    assert!(text.contains("\n  outside vprintf"), "{text}");
}

/// One instruction per address, the same in both styles.
#[test]
fn disasm_styles_show_the_same_instructions() {
    for file in cubins(".sm_61.cubin") {
        let columns = run(&["disasm", &file]).done();
        let plain = run(&["disasm", &file, "--style", "nvdisasm"]).done();
        let shown: Vec<&str> = columns
            .lines()
            .filter_map(|line| line.split_whitespace().next())
            .filter(|word| {
                (4..=5).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_hexdigit())
            })
            .collect();
        let written: Vec<&str> = plain
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix("/*")?.split_once("*/"))
            .map(|(address, code)| {
                assert!(
                    code.starts_with("  ") && code.ends_with(" ;"),
                    "{file}: {code}"
                );
                address
            })
            .collect();
        assert_eq!(shown, written, "{file}");
        assert!(written.len() >= 10, "{file}");
        assert!(
            !plain.contains("stall") && columns.contains("stall"),
            "{file}"
        );
    }
}

/// Every jump target has its label, once.
#[test]
fn disasm_labels_are_closed() {
    for file in [
        "switch_table.sm_61.cubin",
        "call_depth2.sm_61.cubin",
        "goto_flow.sm_61.cubin",
    ] {
        let text = run(&["disasm", file]).done();
        for kernel in text.split("\n\n") {
            let mut labels = BTreeSet::new();
            for label in kernel.lines().filter_map(|line| line.strip_suffix(':')) {
                assert!(labels.insert(label), "{file}: second {label}");
            }
            let used = kernel
                .lines()
                .filter(|line| line.ends_with(" ;"))
                .flat_map(|line| line.split([' ', ',']))
                .filter(|word| word.starts_with(".L"));
            for label in used {
                assert!(labels.contains(label), "{file}: no {label}");
            }
        }
    }
}

#[test]
fn graphs_are_the_same_in_all_formats() {
    for (file, kernel) in GRAPHS {
        for level in ["thread", "warp"] {
            let what = format!("{file} {level}");
            let cfg = |format: &str| {
                run(&[
                    "cfg", file, "--kernel", kernel, "--level", level, "--format", format,
                ])
                .done()
            };
            let json: Value = serde_json::from_str(&cfg("json")).expect(&what);
            assert_eq!(json["schema"], "warpbound.cfg/1", "{what}");
            assert_eq!(
                (&json["kernel"], &json["level"]),
                (&kernel.into(), &level.into()),
                "{what}"
            );
            let nodes = json["nodes"].as_array().expect("nodes");
            let edges = json["edges"].as_array().expect("edges");
            assert!(
                json["entry"]
                    .as_u64()
                    .is_some_and(|n| n < nodes.len() as u64),
                "{what}"
            );
            for edge in edges {
                let inside = |n: &Value| n.as_u64().is_some_and(|n| n < nodes.len() as u64);
                assert!(inside(&edge["from"]), "{what}");
                assert!(edge["to"].is_null() || inside(&edge["to"]), "{what}");
                let kind = edge["kind"].as_str().expect("kind");
                assert!(
                    ["walk", "resume", "divergence"].contains(&kind),
                    "{what}: {kind}"
                );
                assert!(
                    level == "warp" || kind == "walk" || kind == "resume",
                    "{what}: {kind}"
                );
            }
            assert!(
                edges.iter().any(|edge| edge["to"].is_null()),
                "{what}: no end"
            );

            let text = cfg("text");
            let head = format!("{kernel}: {level}-level graph, {} blocks", nodes.len());
            assert!(text.starts_with(&head), "{what}");
            let paragraphs = text.lines().filter(|line| is_block(line)).count();
            assert_eq!(paragraphs, nodes.len(), "{what}");

            check_dot(&cfg("dot"), nodes.len(), edges.len(), &what);
            // Edges that differ only in the pushed entries are one line of the drawing.
            let lines: BTreeSet<String> = edges
                .iter()
                .map(|edge| format!("{} {} {}", edge["from"], edge["to"], edge["kind"]))
                .collect();
            check_svg(&cfg("svg"), nodes, lines.len(), &what);
        }
    }
}

/// `B3  0x0390..0x0688  …`
fn is_block(line: &str) -> bool {
    line.strip_prefix('B')
        .and_then(|rest| rest.split_once("  0x"))
        .is_some_and(|(number, _)| number.bytes().all(|b| b.is_ascii_digit()))
}

fn check_dot(dot: &str, nodes: usize, edges: usize, what: &str) {
    let mut quoted = false;
    let mut escaped = false;
    let mut depth = 0;
    let mut bare = String::new();
    for c in dot.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => assert_ne!(c, '\n', "{what}: a label over several lines"),
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            _ if depth == 1 => bare.push(c),
            _ => (),
        }
        assert!((0..3).contains(&depth), "{what}");
    }
    assert!(
        !quoted && depth == 0 && dot.starts_with("digraph "),
        "{what}"
    );
    let statements: Vec<&str> = bare
        .split(['\n', ';'])
        .map(str::trim)
        .filter(|s| !s.is_empty())
        .collect();
    let (steps, names): (Vec<&str>, Vec<&str>) =
        statements.into_iter().partition(|s| s.contains("->"));
    let blocks = names.iter().filter(|name| name.starts_with('b')).count();
    assert_eq!((blocks, steps.len()), (nodes, edges), "{what}");
    for end in steps.iter().flat_map(|step| step.split("->")) {
        assert!(
            names.contains(&end.trim()),
            "{what}: {end:?} is not declared"
        );
    }
}

fn check_svg(svg: &str, nodes: &[Value], lines: usize, what: &str) {
    let document = roxmltree::Document::parse(svg).expect(what);
    let root = document.root_element();
    assert_eq!(root.tag_name().name(), "svg", "{what}");
    let size = |key: &str| {
        root.attribute(key)
            .and_then(|n| n.parse::<f64>().ok())
            .expect(key)
    };
    let (width, height) = (size("width"), size("height"));
    assert_eq!(
        root.attribute("viewBox"),
        Some(format!("0 0 {width} {height}").as_str()),
        "{what}"
    );
    let texts: String = document
        .descendants()
        .filter(|node| node.has_tag_name((SVG, "text")))
        .flat_map(|node| node.descendants().filter_map(|n| n.text()))
        .collect::<Vec<_>>()
        .join("\n");
    for node in nodes {
        let from = node["from"].as_str().expect("an address");
        assert!(texts.contains(from), "{what}: no block at {from}");
    }
    // Groups of edges have the arrowheads.
    let arrows: Vec<_> = document
        .descendants()
        .filter(|node| node.has_tag_name((SVG, "path")))
        .filter_map(|node| node.parent()?.attribute("marker-end"))
        .collect();
    assert_eq!(arrows.len(), lines, "{what}");
    let markers: BTreeSet<String> = document
        .descendants()
        .filter(|node| node.has_tag_name((SVG, "marker")))
        .filter_map(|node| Some(format!("url(#{})", node.attribute("id")?)))
        .collect();
    for marker in arrows {
        assert!(markers.contains(marker), "{what}: {marker}");
    }
    for rect in document
        .descendants()
        .filter(|node| node.has_tag_name((SVG, "rect")))
    {
        let number = |key: &str| rect.attribute(key).and_then(|n| n.parse::<f64>().ok());
        let (Some(x), Some(w)) = (number("x"), number("width")) else {
            continue; // The background, in percent.
        };
        let (y, h) = (number("y").expect("y"), number("height").expect("height"));
        let inside = x >= 0.0 && y >= 0.0 && x + w <= width && y + h <= height;
        assert!(inside, "{what}: a box outside the drawing");
    }
}

const SVG: &str = "http://www.w3.org/2000/svg";

/// The extra edge of Figure 2 of the paper: lanes pending at one side are resumed from the other.
#[test]
fn only_the_warp_level_has_divergence_edges() {
    let kinds = |level: &str| {
        let arguments = [
            "cfg",
            "if_else.sm_61.cubin",
            "--kernel",
            "if_else",
            "--format",
            "json",
            "--level",
            level,
        ];
        let json: Value = serde_json::from_str(&run(&arguments).done()).expect("JSON");
        let edges = json["edges"].as_array().expect("edges").clone();
        edges
            .iter()
            .filter(|edge| edge["kind"] == "divergence")
            .count()
    };
    assert_eq!((kinds("thread"), kinds("warp")), (0, 2));
}

/// Texts are at most as wide as the drawing, including legends and long names of kernels.
#[test]
fn texts_are_inside_the_page() {
    let name = "void bitonic::block<int>(int*)";
    let graph = ["cfg", "bitonic_sort.sm_61.cubin", "--kernel", name];
    let small = ["cfg", "if_else.sm_61.cubin", "--kernel", "if_only"];
    let block = ["cta", "../msimt/triangle_sum.msimt"];
    let launch = ["--launch", "../msimt/triangle_sum.16x4.toml"];
    for arguments in [graph.to_vec(), small.to_vec(), [block, launch].concat()] {
        let svg = run(&[&arguments[..], &["--format", "svg"]].concat()).done();
        let document = roxmltree::Document::parse(&svg).expect("SVG");
        let root = document.root_element();
        let number = |node: &roxmltree::Node<'_, '_>, key: &str| -> f64 {
            let value = node.attribute(key).and_then(|n| n.parse().ok());
            value.unwrap_or_else(|| panic!("{arguments:?}: no {key}"))
        };
        let page = number(&root, "width");
        let mut seen = 0;
        for text in document
            .descendants()
            .filter(|node| node.has_tag_name((SVG, "text")))
        {
            // A character of an 11 px monospaced font is 6.6 px wide.
            let width = text.text().unwrap_or_default().chars().count() as f64 * 6.6;
            let x = number(&text, "x");
            let left = match text.attribute("text-anchor") {
                Some("middle") => x - width / 2.0,
                _ => x,
            };
            assert!(
                left >= 0.0 && left + width <= page,
                "{arguments:?}: {text:?}"
            );
            seen += 1;
        }
        assert!(seen > 5, "{arguments:?}");
    }
}
