//! Prints how long random flow models of several sizes take to bound. Run with `--release`.

#[path = "../tests/generate/mod.rs"]
mod generate;

use std::time::Instant;

use generate::{Graph, Random, Region};
use warpbound_bound::{Effort, Model, Outcome, solve};

fn main() {
    for size in [500] {
        for seed in 0..3 {
            let mut random = Random(seed * 1000 + size as u64);
            let parts = (0..8)
                .map(|_| Region::random(&mut random, size / 8, 4, 1000))
                .collect();
            let graph = Graph::of(&Region::Sequence(parts));
            report("path", size, &graph.path_model());
            report("warp", size, &graph.warp_model(32));
        }
    }
}

fn report(kind: &str, size: usize, model: &Model) {
    let start = Instant::now();
    let outcome = solve(model, Effort::default());
    let what = match &outcome {
        Outcome::Bounded(certified) => format!("bound {} gap {:?}", certified.bound, certified.gap),
        Outcome::SolverFailed(why) => why.to_string(),
        other => format!("{:.60}", format!("{other:?}")),
    };
    println!(
        "{kind} size {size}: {} vars {} rows: {:?}: {what}",
        model.vars().len(),
        model.rows().len(),
        start.elapsed()
    );
}
