//! Time to bound the flow models of random programs: `cargo bench -p warpbound-ipet`.
#![allow(clippy::expect_used, reason = "benchmarks")]

#[path = "../tests/it/generate.rs"]
mod generate;

use divan::Bencher;
use generate::{Graph, Random, Region};
use warpbound_ipet::{Effort, IntegerProgram, Relation, SolveOutcome, solve};

fn main() {
    divan::main();
}

/// A program of about `size` blocks.
fn program(size: usize) -> Graph {
    let mut random = Random(size as u64);
    let parts = (0..8)
        .map(|_| Region::random(&mut random, size / 8, 4, 1000))
        .collect();
    Graph::of(&Region::Sequence(parts))
}

fn bound(bencher: Bencher<'_, '_>, model: &IntegerProgram) {
    bencher.bench_local(|| {
        let outcome = solve(divan::black_box(model), Effort::default());
        assert!(matches!(outcome, SolveOutcome::Bounded(_)), "{outcome:?}");
        outcome
    });
}

/// One path with loop bounds.
#[divan::bench(args = [100, 500, 2000])]
fn path(bencher: Bencher<'_, '_>, size: usize) {
    bound(bencher, &program(size).path_model());
}

/// A thread flow and a warp flow below it; 500 blocks are about 2500 variables and 4500 rows.
#[divan::bench(args = [100, 500, 1000], sample_count = 20)]
fn warp(bencher: Bencher<'_, '_>, size: usize) {
    bound(bencher, &program(size).warp_model(32));
}

/// The same with a limit that makes the relaxation's optimum fractional, so that the integer solver runs.
#[divan::bench(args = [100, 500], sample_count = 5)]
fn fractional(bencher: Bencher<'_, '_>, size: usize) {
    let mut model = program(size).warp_model(32);
    let terms: Vec<_> = (0u32..)
        .zip(model.vars())
        .filter(|(_, var)| var.cost > 0)
        .filter_map(|(position, var)| {
            Some((model.find_var(&var.label)?, 2 + i64::from(position % 3)))
        })
        .collect();
    model.add_row("limit", "makes it fractional", terms, Relation::Le, 10_001);
    bound(bencher, &model);
}
