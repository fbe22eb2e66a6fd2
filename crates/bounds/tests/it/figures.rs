//! Graphs of the appendix of `warp-cfg-2023`, on our own kernels.

use warpbound_simt::warp::{AgreementDomain, DivergenceOrder, WarpModel};

use warpbound_query::{BoundOptions, CfgLevel, Session};
use warpbound_report::graph::EdgeKind;

/// Returns the edges of a graph, one per line; `~>` is an edge that no lane takes.
fn steps(file: &str, kernel: &str, model: WarpModel) -> String {
    let path = format!("{}/../../kernels/built/{file}", env!("CARGO_MANIFEST_DIR"));
    let contents = std::fs::read(path).expect("the cubin is in the repository");
    let session = Session::open(file, &contents).expect("it loads");
    let options = BoundOptions {
        model,
        ..BoundOptions::default()
    };
    let kernels = session.kernels(Some(kernel)).expect("it has the kernel");
    let graph = session
        .graph(kernels[0], CfgLevel::Warp, &options)
        .expect("it has a graph");
    let mut lines = Vec::new();
    for edge in &graph.edges {
        let from = &graph.nodes[edge.from].to;
        let to = edge.to.map_or("end", |to| &graph.nodes[to].from);
        let arrow = match edge.kind {
            EdgeKind::Walk => "->",
            EdgeKind::Resume => "=>",
            EdgeKind::Divergence => "~>",
        };
        lines.push(format!("{from} {arrow} {to}"));
    }
    lines.dedup();
    lines.join("\n")
}

fn model() -> WarpModel {
    WarpModel {
        may_diverge: true,
        order: DivergenceOrder::TakenFirst,
        ..WarpModel::default()
    }
}

/// An if-then-else: the dashed edge leads from the end of the side that runs first to the
/// beginning of the other.
#[test]
fn figure_2_if_then_else() {
    let expected = "\
0x0038 -> 0x0048
0x00a8 -> 0x0390
0x00a8 -> 0x00b0
0x0388 => 0x0690
0x0688 => 0x0690
0x0688 ~> 0x00b0
0x06b0 -> end";
    assert_eq!(steps("if_else.sm_61.cubin", "if_else", model()), expected);
}

const TILED: &str =
    "void product::tiled<float, 16, false>(float const*, float const*, float*, int)";

/// A tiled matrix product: all lanes agree on the conditions of both loops, so that no lane is pending
/// when the warp exits.
#[test]
fn figure_3_tiled_matrix_product() {
    let expected = "\
0x0090 -> 0x0268
0x0090 -> 0x0098
0x00d8 -> 0x00e8
0x01d8 -> 0x01e8
0x0230 -> 0x01e8
0x0230 -> 0x0238
0x0258 -> 0x0268
0x0258 -> 0x00e8
0x02b0 -> end";
    assert_eq!(steps("matmul_tiled.sm_61.cubin", TILED, model()), expected);
}

/// Without agreement the exit has an edge to every potential divergence.
#[test]
fn figure_3_without_agreement() {
    let blind = WarpModel {
        agreement: AgreementDomain::Off,
        ..model()
    };
    let steps = steps("matmul_tiled.sm_61.cubin", TILED, blind);
    let mut resumed: Vec<&str> = steps
        .lines()
        .filter(|l| l.starts_with("0x02b0 ~>"))
        .collect();
    resumed.sort_unstable();
    // The fall-through sides of the branches at 0x0090, 0x0230 and 0x0258.
    let sides = ["0x02b0 ~> 0x0098", "0x02b0 ~> 0x0238", "0x02b0 ~> 0x0268"];
    assert_eq!(resumed, sides, "{steps}");
}
