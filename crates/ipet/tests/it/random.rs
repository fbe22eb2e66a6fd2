//! Random small models against enumeration and against an independent solver.

#![allow(clippy::panic, reason = "helpers of tests")]

use crate::generate::{Graph, Random, Region};
use good_lp::{Expression, ProblemVariables, Solution, SolverModel, constraint, microlp, variable};
use num_traits::ToPrimitive;
use warpbound_ipet::{
    Effort, IntegerProgram, Relation, SolveOutcome, VarId, evaluate, solve, solve_each, verify,
    verify_infeasible,
};

/// A model with small numbers whose variables are at most `most`.
fn random_model(random: &mut Random, most: i64) -> IntegerProgram {
    let mut model = IntegerProgram::new();
    let vars: Vec<_> = (0..random.between(1, 5))
        .map(|i| {
            let cost = random.between(-5, 10);
            model.add_var(format!("v{i}"), cost, Some(random.between(0, most) as u64))
        })
        .collect();
    for r in 0..random.between(0, 6) {
        let mut terms = Vec::new();
        for &var in &vars {
            if random.between(0, 1) == 0 {
                terms.push((var, random.between(-4, 4)));
            }
        }
        let relation = match random.between(0, 5) {
            0..=2 => Relation::Le,
            3..=4 => Relation::Ge,
            _ => Relation::Eq,
        };
        model.add_row(
            format!("r{r}"),
            "random",
            terms,
            relation,
            random.between(-6, 12).into(),
        );
    }
    model
}

/// The best objective over all integer points.
fn enumerate(model: &IntegerProgram) -> Option<i128> {
    let uppers: Vec<u128> = model
        .vars()
        .iter()
        .map(|v| v.upper.map_or(0, u128::from))
        .collect();
    let mut point = vec![0u128; uppers.len()];
    let mut best = None;
    loop {
        if let Ok(value) = evaluate(model, &point) {
            best = best.max(value.to_i128());
        }
        let Some(index) = (0..point.len()).find(|&i| point[i] < uppers[i]) else {
            return best;
        };
        point[index] += 1;
        point[..index].fill(0);
    }
}

#[test]
fn bounds_cover_every_integer_point_and_witnesses_are_points() {
    let effort = Effort {
        nodes: 20_000,
        pivots: 10_000_000,
        ..Effort::default()
    };
    let (mut bounded, mut infeasible, mut gaps, mut without) = (0, 0, 0, 0);
    for seed in 0..4000 {
        let model = random_model(&mut Random(seed), 4);
        let best = enumerate(&model);
        match solve(&model, effort) {
            SolveOutcome::Bounded(certified) => {
                assert_eq!(verify(&model, &certified.certificate), Ok(certified.bound));
                bounded += 1;
                match best {
                    Some(best) => {
                        assert!(certified.bound >= best, "seed {seed}: below the optimum");
                        // Models this small are searched to the end.
                        assert_eq!(certified.witness_value, Some(best), "seed {seed}");
                        gaps += usize::from(certified.gap != Some(0));
                    }
                    None => {
                        assert_eq!(certified.witness_value, None, "seed {seed}");
                        without += 1;
                    }
                }
            }
            SolveOutcome::Infeasible(conflict) => {
                assert_eq!(best, None, "seed {seed}");
                assert_eq!(verify_infeasible(&model, &conflict.multipliers), Ok(()));
                infeasible += 1;
            }
            other => panic!("seed {seed}: {other:?}"),
        }
    }
    // The generator must reach every case for this test to mean something.
    assert!(
        bounded > 1000 && infeasible > 100 && gaps > 20 && without > 5,
        "{bounded} {infeasible} {gaps} {without}"
    );
}

/// The same model gives the same bound, witness and multipliers, also if the integer solver runs.
#[test]
fn answers_are_deterministic() {
    for seed in 0..300 {
        let model = random_model(&mut Random(seed), 40);
        let [first, second] = [(); 2].map(|()| format!("{:?}", solve(&model, Effort::default())));
        assert_eq!(first, second, "seed {seed}");
    }
}

/// The relaxation by another solver: `Ok(None)` when infeasible or unbounded.
fn relaxation_by_microlp(model: &IntegerProgram) -> Result<Option<f64>, String> {
    let mut variables = ProblemVariables::new();
    let ids: Vec<_> = model
        .vars()
        .iter()
        .map(|v| {
            let definition = variable().min(0.0);
            variables.add(match v.upper {
                Some(upper) => definition.max(upper as f64),
                None => definition,
            })
        })
        .collect();
    let objective: Expression = model
        .vars()
        .iter()
        .zip(&ids)
        .map(|(v, &id)| v.cost as f64 * id)
        .sum();
    let mut problem = variables.maximise(objective.clone()).using(microlp);
    for row in model.rows() {
        let left: Expression = row
            .terms
            .iter()
            .map(|&(v, c)| c as f64 * ids[v.index()])
            .sum();
        let rhs = row.rhs as f64;
        problem = problem.with(match row.relation {
            Relation::Le => constraint!(left <= rhs),
            Relation::Ge => constraint!(left >= rhs),
            Relation::Eq => constraint!(left == rhs),
        });
    }
    match problem.solve() {
        Ok(solution) => Ok(Some(solution.eval(objective))),
        Err(good_lp::ResolutionError::Infeasible | good_lp::ResolutionError::Unbounded) => Ok(None),
        Err(other) => Err(other.to_string()),
    }
}

#[test]
fn relaxations_agree_with_an_independent_solver_on_small_models() {
    for seed in 0..2000 {
        let model = random_model(&mut Random(50_000 + seed), 9);
        let ours = match solve(&model, Effort::default()) {
            SolveOutcome::Bounded(certified) => certified.lp_value.to_f64(),
            _ => None,
        };
        let theirs = relaxation_by_microlp(&model).unwrap();
        match (ours, theirs) {
            (Some(a), Some(b)) => assert!((a - b).abs() < 1e-6, "seed {seed}: {a} {b}"),
            (None, None) => {}
            other => panic!("seed {seed}: {other:?}"),
        }
    }
}

#[test]
fn relaxations_agree_with_an_independent_solver_on_networks() {
    for seed in 0..40 {
        let mut random = Random(70_000 + seed);
        let region = Region::random(&mut random, 40, 2, 8);
        let model = Graph::of(&region).warp_model(32);
        let SolveOutcome::Bounded(certified) = solve(&model, Effort::default()) else {
            panic!("seed {seed}");
        };
        let ours = certified.lp_value.to_f64().unwrap();
        let theirs = relaxation_by_microlp(&model).unwrap().unwrap();
        assert!(
            (ours - theirs).abs() <= 1e-6 * ours.abs(),
            "seed {seed}: {ours} {theirs}"
        );
    }
}

/// Medium models without any network structure, whose exact numbers grow beyond machine words.
#[test]
fn relaxations_agree_with_an_independent_solver_on_medium_models() {
    for seed in 0..20 {
        let mut random = Random(90_000 + seed);
        let mut model = IntegerProgram::new();
        let vars: Vec<_> = (0..60)
            .map(|i| model.add_var(format!("v{i}"), random.between(1, 50), None))
            .collect();
        for r in 0..50 {
            let terms: Vec<_> = vars
                .iter()
                .filter_map(|&v| match random.between(0, 3) {
                    0 => Some((v, random.between(1, 40))),
                    _ => None,
                })
                .collect();
            let rhs = random.between(100, 1000).into();
            model.add_row(format!("r{r}"), "random", terms, Relation::Le, rhs);
        }
        for (i, &v) in vars.iter().enumerate() {
            let terms = [(v, 3), (vars[(i + 7) % 60], -2)];
            model.add_row(
                format!("k{i}"),
                "random",
                terms,
                Relation::Le,
                random.between(0, 60).into(),
            );
        }
        let SolveOutcome::Bounded(certified) = solve(&model, Effort::default()) else {
            panic!("seed {seed}");
        };
        let ours = certified.lp_value.to_f64().unwrap();
        let theirs = relaxation_by_microlp(&model).unwrap().unwrap();
        assert!(
            (ours - theirs).abs() <= 1e-6 * ours.abs(),
            "seed {seed}: {ours} {theirs}"
        );
    }
}

/// Kind of an outcome, and its bound.
fn found(outcome: &SolveOutcome) -> (&'static str, Option<i128>) {
    match outcome {
        SolveOutcome::Bounded(certified) => ("bounded", Some(certified.bound)),
        SolveOutcome::Unbounded(_) => ("unbounded", None),
        SolveOutcome::Infeasible(_) => ("infeasible", None),
        SolveOutcome::SolverFailed(_) => ("failed", None),
    }
}

#[test]
fn objectives_one_after_the_other_have_the_results_of_each_alone() {
    let mut random = Random(11);
    let mut kinds = std::collections::BTreeMap::new();
    for number in 0..120 {
        let mut graph = Graph::of(&Region::random(&mut random, 8, 3, 20));
        if number % 3 == 1 {
            // Without bounds of its loops.
            graph.loops.clear();
        }
        let mut model = graph.warp_model(32);
        let rows = model.rows().iter().flat_map(|row| &row.terms);
        let vars: std::collections::BTreeSet<VarId> = rows.map(|&(var, _)| var).collect();
        if let Some(&var) = vars.first().filter(|_| number % 3 == 2) {
            model.add_row("impossible", "given", [(var, 1)], Relation::Ge, 1 << 40);
        }
        let mut objectives: Vec<Vec<_>> = vec![Vec::new(); 6];
        for objective in &mut objectives {
            for &var in &vars {
                if random.between(0, 3) == 0 {
                    objective.push((var, random.between(-4, 4)));
                }
            }
        }
        let together = solve_each(&model, &objectives, Effort::default());
        for (objective, outcome) in objectives.iter().zip(&together) {
            for &var in &vars {
                model.set_cost(var, 0);
            }
            for &(var, cost) in objective {
                model.set_cost(var, cost);
            }
            let alone = solve(&model, Effort::default());
            assert_eq!(found(outcome), found(&alone), "model {number}");
            *kinds.entry(found(outcome).0).or_insert(0) += 1;
        }
    }
    let seen = |kind| kinds.get(kind).copied().unwrap_or(0);
    assert!(
        seen("bounded") > 300 && seen("unbounded") > 20 && seen("infeasible") > 20,
        "{kinds:?}"
    );
}
