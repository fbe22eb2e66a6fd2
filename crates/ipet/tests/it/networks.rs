//! Random structured programs: the bound is the longest path computed on the structure.

#![allow(clippy::panic, reason = "helpers of tests")]

use crate::generate::{Graph, Random, Region};
use warpbound_ipet::{Effort, SolveOutcome, solve};

fn check(seed: u64, size: usize, depth: usize, most: i64) {
    let mut random = Random(seed);
    let parts = (0..random.between(1, 4))
        .map(|_| Region::random(&mut random, size, depth, most))
        .collect();
    let region = Region::Sequence(parts);
    let model = Graph::of(&region).path_model();
    let SolveOutcome::Bounded(certified) = solve(&model, Effort::default()) else {
        panic!("seed {seed}");
    };
    assert_eq!(certified.bound, region.longest(), "seed {seed}");
    assert_eq!(certified.gap, Some(0), "seed {seed}");
}

#[test]
fn small_networks_have_their_longest_path() {
    for seed in 0..300 {
        check(seed, 12, 2, 10);
    }
}

#[test]
fn larger_networks_have_their_longest_path() {
    for seed in 0..20 {
        check(1000 + seed, 150, 4, 1000);
    }
}

#[test]
fn networks_with_large_loop_bounds_have_their_longest_path() {
    for seed in 0..60 {
        check(2000 + seed, 30, 3, 1_000_000_000);
    }
}

/// Without any one of its loop rows a network is unbounded, and the ray runs through that loop's header.
#[test]
fn a_missing_loop_bound_is_named() {
    let mut found = 0;
    for seed in 0..60 {
        let mut random = Random(3000 + seed);
        let region = Region::random(&mut random, 40, 3, 10);
        let mut graph = Graph::of(&region);
        if graph.loops.is_empty() {
            continue;
        }
        let index = (random.next() % graph.loops.len() as u64) as usize;
        let (header, _, _) = graph.loops.remove(index);
        let model = graph.path_model();
        let SolveOutcome::Unbounded(rays) = solve(&model, Effort::default()) else {
            panic!("seed {seed}");
        };
        let name = format!("x node {header}");
        for ray in &rays {
            assert!(
                ray.growth
                    .iter()
                    .any(|(v, _)| model.var(*v).unwrap().label == name),
                "seed {seed}"
            );
        }
        found += 1;
    }
    assert!(found > 10);
}

/// The same model gives the same certificate, byte for byte.
#[test]
fn solving_is_deterministic() {
    let mut random = Random(99);
    let model = Graph::of(&Region::random(&mut random, 60, 3, 50)).warp_model(32);
    let first = format!("{:?}", solve(&model, Effort::default()));
    let second = format!("{:?}", solve(&model, Effort::default()));
    assert_eq!(first, second);
}
