//! Abstract CTA simulation: `cargo bench -p warpbound-ipet --bench cta`.
#![allow(clippy::expect_used, reason = "benchmarks")]

use divan::Bencher;
use warpbound_graph::LoopIndex;
use warpbound_ipet::abstract_warp::{AbstractWarp, WarpElement};
use warpbound_ipet::cta::{Iterations, simulate};

fn main() {
    divan::main();
}

fn time(instr: u64, shift: u64) -> WarpElement {
    WarpElement::Time {
        instr,
        shift,
        span: (0, 0),
    }
}

/// TriangleSum's abstract warp (`abstract-cta-2014`, Figure 3), with the barrier or without.
fn triangle_sum(barrier: bool) -> AbstractWarp {
    let mut body = vec![time(7, 1), WarpElement::Memory(15), time(3, 0)];
    if barrier {
        body.push(WarpElement::Barrier(18));
    }
    body.push(time(4, 0));
    AbstractWarp {
        elements: vec![
            time(7, 0),
            WarpElement::Loop {
                index: LoopIndex(0),
                head: vec![time(2, 0)],
                body,
            },
            time(4, 0),
        ],
    }
}

/// 10 000 warps of which each iterates 1 to 1 000 times.
#[divan::bench(args = [true, false])]
fn warps_10_000_iterations_1_000(bencher: Bencher, barrier: bool) {
    let warp = triangle_sum(barrier);
    let counts = (0..10_000).map(|w| 1 + w % 1000).collect();
    let iterations = Iterations::from([(LoopIndex(0), counts)]);
    bencher.bench(|| simulate(&warp, 10_000, 10, divan::black_box(&iterations)));
}
