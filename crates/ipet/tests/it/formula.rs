//! Formulas against the longest paths of random programs and the bounds at points.

#![allow(clippy::panic, reason = "helpers of tests")]

use warpbound_base::{Diagnostic, Instructions};
use warpbound_ipet::formula::{Formula, FormulaEffort, SymbolicProgram, find_formula};
use warpbound_ipet::{Effort, IntegerProgram, Relation, SolveOutcome, solve};

use crate::generate::{Graph, Random, Region};

/// The program of a graph with the bound of each loop as a symbol, for one path or for a warp of 32 lanes.
pub(crate) fn symbolic(graph: &Graph, is_warp: bool) -> SymbolicProgram {
    let program = SymbolicProgram::read_off(graph.loops.len(), |values| {
        let mut loops = graph.loops.clone();
        for ((_, bound, _), value) in loops.iter_mut().zip(values) {
            *bound = i64::try_from(*value).expect("a small number");
        }
        let graph = Graph {
            cost: graph.cost.clone(),
            edges: graph.edges.clone(),
            loops,
        };
        Ok(match is_warp {
            true => graph.warp_model(32),
            false => graph.path_model(),
        })
    });
    program.expect("multiples of the bounds")
}

/// The longest path with these bounds of loops, in the order of [`Graph::loops`].
fn longest(region: &Region, bounds: &mut impl Iterator<Item = u64>) -> i128 {
    match region {
        Region::Block { cost } => i128::from(*cost),
        Region::Sequence(parts) => parts.iter().map(|part| longest(part, bounds)).sum(),
        Region::Branch { cost, arms } => {
            let arms = arms.iter().map(|arm| longest(arm, bounds));
            i128::from(*cost) + arms.max().unwrap_or(0)
        }
        Region::Loop { cost, body, .. } => {
            let bound = i128::from(bounds.next().expect("a bound for each loop"));
            i128::from(*cost) * bound + (bound - 1) * longest(body, bounds)
        }
    }
}

/// The exact optimum of the relaxation, rounded down.
fn bound_at(program: &SymbolicProgram, point: &[u64]) -> i128 {
    let model = program.at(point).expect("small numbers");
    let effort = Effort {
        nodes: 0,
        ..Effort::default()
    };
    match solve(&model, effort) {
        SolveOutcome::Bounded(certified) => certified.bound,
        other => panic!("{other:?}"),
    }
}

fn value(formula: &Formula<Instructions>, point: &[u64]) -> Option<i128> {
    let bound = formula.at(point)?;
    i128::try_from(bound.limit().0).ok()
}

/// Points of small and of large counts.
fn points(random: &mut Random, loops: usize) -> Vec<Vec<u64>> {
    [1, 3, 3, 30, 30, 10_000, 10_000, 1_000_000]
        .iter()
        .map(|&most| {
            let counts = (0..loops).map(|_| random.between(1, most).unsigned_abs());
            counts.collect()
        })
        .collect()
}

fn random_region(seed: u64, size: usize) -> Region {
    let mut random = Random(seed);
    let parts = (0..3).map(|_| Region::random(&mut random, size, 3, 10));
    Region::Sequence(parts.collect())
}

#[test]
fn formulas_of_paths_are_their_longest_paths() {
    let (mut formulas, mut equal, mut compared) = (0, 0, 0);
    for seed in 0..60 {
        let region = random_region(seed, 10);
        let graph = Graph::of(&region);
        let loops = graph.loops.len();
        if loops == 0 {
            continue;
        }
        let program = symbolic(&graph, false);
        let Ok(formula) = find_formula::<Instructions>(&program, FormulaEffort::default()) else {
            continue;
        };
        formulas += 1;
        for point in points(&mut Random(seed + 500), loops) {
            let exact = longest(&region, &mut point.iter().copied());
            let Some(value) = value(&formula, &point) else {
                continue;
            };
            assert!(
                value >= exact,
                "seed {seed} at {point:?}: {value} < {exact}"
            );
            compared += 1;
            equal += usize::from(value == exact);
        }
    }
    assert!(formulas > 30, "{formulas} formulas");
    assert!(equal * 100 >= compared * 95, "{equal} of {compared} equal");
}

#[test]
fn formulas_of_warps_are_the_optima_of_the_relaxation() {
    let (mut formulas, mut equal, mut compared) = (0, 0, 0);
    for seed in 0..25 {
        let graph = Graph::of(&random_region(1000 + seed, 4));
        let loops = graph.loops.len();
        if loops == 0 || loops > 4 {
            continue;
        }
        let program = symbolic(&graph, true);
        let Ok(formula) = find_formula::<Instructions>(&program, FormulaEffort::default()) else {
            continue;
        };
        formulas += 1;
        for point in points(&mut Random(seed + 500), loops) {
            let exact = bound_at(&program, &point);
            let Some(value) = value(&formula, &point) else {
                continue;
            };
            assert!(
                value >= exact,
                "seed {seed} at {point:?}: {value} < {exact}"
            );
            compared += 1;
            equal += usize::from(value == exact);
        }
    }
    assert!(formulas > 5, "{formulas} formulas");
    assert!(equal * 100 >= compared * 90, "{equal} of {compared} equal");
}

/// The arm that costs more depends on the counts, so the range is divided where the arms cost the same.
#[test]
fn arms_with_loops_divide_the_range() {
    let arm = |cost: i64| Region::Loop {
        cost,
        bound: 1,
        body: Box::new(Region::Block { cost: 1 }),
    };
    let region = Region::Branch {
        cost: 5,
        arms: vec![arm(10), arm(20)],
    };
    let program = symbolic(&Graph::of(&region), false);
    let formula = find_formula::<Instructions>(&program, FormulaEffort::default()).expect("one");
    assert_eq!(formula.pieces().len(), 2);
    for point in [[1, 1], [2, 1], [21, 11], [22, 11], [1000, 1], [1, 1000]] {
        let exact = longest(&region, &mut point.into_iter());
        assert_eq!(value(&formula, &point), Some(exact), "{point:?}");
    }
}

#[test]
fn a_formula_needs_a_value_for_each_symbol() {
    let program = symbolic(&Graph::of(&random_region(3, 20)), false);
    let loops = program.symbols();
    let formula = find_formula::<Instructions>(&program, FormulaEffort::default()).expect("one");
    assert!(formula.at(&vec![2; loops]).is_some());
    assert_eq!(formula.at(&vec![2; loops + 1]), None);
    assert_eq!(formula.at(&vec![0; loops]), None);
}

#[test]
fn a_program_without_limit_has_no_formula() {
    let program = SymbolicProgram::read_off(0, |_| {
        let mut program = IntegerProgram::new();
        program.add_var("x", 1, None);
        Ok(program)
    });
    let why = find_formula::<Instructions>(&program.expect("one"), FormulaEffort::default());
    let why = why.expect_err("no limit").message;
    assert!(why.contains("without limit"), "{why}");
}

/// A coefficient that is no multiple of the symbols would make another program than the one that is bounded.
#[test]
fn products_of_symbols_in_coefficients_are_refused() {
    let build = |values: &[u64]| {
        let mut program = IntegerProgram::new();
        let x = program.add_var("x", 1, None);
        let product = values.iter().product::<u64>() as i64;
        program.add_row("row", "given", [(x, product + 1)], Relation::Le, 5);
        Ok(program)
    };
    assert!(SymbolicProgram::read_off(2, build).is_err());
    assert!(SymbolicProgram::read_off(1, build).is_ok());
    let fails = |_: &[u64]| Err(Diagnostic::new("too large"));
    assert!(SymbolicProgram::read_off(1, fails).is_err());
}
