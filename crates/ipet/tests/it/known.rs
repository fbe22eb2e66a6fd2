//! Small models whose optimum can be computed by hand.

#![allow(clippy::panic, reason = "helpers of tests")]

use warpbound_ipet::{
    Certified, Effort, IntegerProgram, Relation, SolveOutcome, evaluate, solve, verify,
    verify_infeasible,
};

fn bounded(model: &IntegerProgram) -> Certified {
    match solve(model, Effort::default()) {
        SolveOutcome::Bounded(certified) => {
            assert_eq!(verify(model, &certified.certificate), Ok(certified.bound));
            certified
        }
        other => panic!("not bounded: {other:?}"),
    }
}

/// entry -> header -> body -> header -> exit, at most `bound` header executions per entry.
fn single_loop(bound: i64) -> IntegerProgram {
    let mut m = IntegerProgram::new();
    let enter = m.add_var("enter", 0, None);
    let header = m.add_var("header", 5, None);
    let body = m.add_var("body", 20, None);
    let leave = m.add_var("leave", 3, None);
    m.add_row("entry", "one run", [(enter, 1)], Relation::Eq, 1);
    m.add_row(
        "in",
        "flow",
        [(header, 1), (enter, -1), (body, -1)],
        Relation::Eq,
        0,
    );
    m.add_row(
        "out",
        "flow",
        [(header, 1), (leave, -1), (body, -1)],
        Relation::Eq,
        0,
    );
    m.add_row(
        "loop",
        "bound",
        [(header, 1), (enter, -bound)],
        Relation::Le,
        0,
    );
    m
}

#[test]
fn an_empty_model_is_bounded_by_zero() {
    assert_eq!(bounded(&IntegerProgram::new()).bound, 0);
}

#[test]
fn a_single_loop_runs_its_bound() {
    let certified = bounded(&single_loop(10));
    assert_eq!(certified.bound, 10 * 5 + 9 * 20 + 3);
    assert_eq!(certified.gap, Some(0));
    let witness = certified.certificate.witness.unwrap();
    assert_eq!(witness, [1, 10, 9, 1]);
    // One more iteration is worth a header and a body.
    let loop_row = &certified.certificate.multipliers[3];
    assert_eq!(loop_row.to_string(), "25");
}

#[test]
fn binding_rows_name_the_loop_bound() {
    let model = single_loop(10);
    let certified = bounded(&model);
    let binding: Vec<_> = certified
        .binding_rows()
        .map(|(row, _)| model.row(row).unwrap().label.as_str())
        .collect();
    assert!(binding.contains(&"loop"), "{binding:?}");
    assert_eq!(
        model.format_row(certified.binding_rows().last().unwrap().0),
        "[header] - 10*[enter] <= 0"
    );
}

#[test]
fn the_costlier_arm_of_a_branch_is_taken() {
    let mut m = IntegerProgram::new();
    let fork = m.add_var("fork", 1, None);
    let left = m.add_var("left", 10, None);
    let right = m.add_var("right", 7, None);
    m.add_row("entry", "one run", [(fork, 1)], Relation::Eq, 1);
    m.add_row(
        "split",
        "flow",
        [(fork, 1), (left, -1), (right, -1)],
        Relation::Eq,
        0,
    );
    assert_eq!(bounded(&m).bound, 11);
}

#[test]
fn upper_bounds_of_variables_count() {
    let mut m = IntegerProgram::new();
    let a = m.add_var("a", 3, Some(4));
    let b = m.add_var("b", 2, Some(100));
    m.add_row("sum", "given", [(a, 1), (b, 1)], Relation::Le, 10);
    let certified = bounded(&m);
    assert_eq!(certified.bound, 3 * 4 + 2 * 6);
}

#[test]
fn variables_without_rows_sit_at_their_upper_bound() {
    let mut m = IntegerProgram::new();
    m.add_var("a", 3, Some(u64::MAX));
    m.add_var("b", -3, None);
    assert_eq!(bounded(&m).bound, 3 * i128::from(u64::MAX));
}

#[test]
fn repeated_variables_of_a_row_add_up() {
    let mut m = IntegerProgram::new();
    let a = m.add_var("a", 1, None);
    m.add_row("twice", "given", [(a, 1), (a, 1)], Relation::Le, 10);
    assert_eq!(bounded(&m).bound, 5);
    let mut m = IntegerProgram::new();
    let a = m.add_var("a", 1, Some(3));
    m.add_row(
        "nothing",
        "given",
        [(a, i64::MAX), (a, -i64::MAX)],
        Relation::Ge,
        0,
    );
    assert_eq!(bounded(&m).bound, 3);
}

#[test]
fn lower_bound_rows_hold() {
    let mut m = IntegerProgram::new();
    let a = m.add_var("a", -2, None);
    let b = m.add_var("b", -3, None);
    m.add_row("at least", "given", [(a, 1), (b, 1)], Relation::Ge, 7);
    m.add_row("few", "given", [(a, 1)], Relation::Le, 4);
    assert_eq!(bounded(&m).bound, -(2 * 4 + 3 * 3));
}

#[test]
fn the_bound_is_the_floor_of_the_relaxation_and_the_gap_is_reported() {
    // Odd cycle: at most one of each two; the relaxation takes half of each.
    let mut m = IntegerProgram::new();
    let v: Vec<_> = (0..3)
        .map(|i| m.add_var(format!("v{i}"), 2, Some(1)))
        .collect();
    for i in 0..3 {
        m.add_row(
            "pair",
            "given",
            [(v[i], 1), (v[(i + 1) % 3], 1)],
            Relation::Le,
            1,
        );
    }
    let certified = bounded(&m);
    assert_eq!(certified.lp_value.to_string(), "3");
    assert_eq!(certified.bound, 3);
    assert_eq!(certified.witness_value, Some(2));
    assert_eq!(certified.gap, Some(1));
}

#[test]
fn fractions_round_down() {
    let mut m = IntegerProgram::new();
    let a = m.add_var("a", 1, None);
    m.add_row("third", "given", [(a, 3)], Relation::Le, 10);
    let certified = bounded(&m);
    assert_eq!(certified.lp_value.to_string(), "10/3");
    assert_eq!((certified.bound, certified.gap), (3, Some(0)));
}

#[test]
fn a_loop_without_bound_is_named() {
    let mut m = IntegerProgram::new();
    let enter = m.add_var("enter", 0, None);
    let header = m.add_var("header", 5, None);
    let body = m.add_var("body", 20, None);
    let leave = m.add_var("leave", 3, None);
    m.add_row("entry", "one run", [(enter, 1)], Relation::Eq, 1);
    m.add_row(
        "in",
        "flow",
        [(header, 1), (enter, -1), (body, -1)],
        Relation::Eq,
        0,
    );
    m.add_row(
        "out",
        "flow",
        [(header, 1), (leave, -1), (body, -1)],
        Relation::Eq,
        0,
    );
    let SolveOutcome::Unbounded(rays) = solve(&m, Effort::default()) else {
        panic!("not unbounded");
    };
    let names: Vec<_> = rays[0]
        .growth
        .iter()
        .map(|(v, _)| m.var(*v).unwrap().label.as_str())
        .collect();
    assert_eq!(names, ["header", "body"]);
    assert_eq!(rays.len(), 1);
}

#[test]
fn every_unbounded_loop_is_named() {
    let mut m = IntegerProgram::new();
    let first = m.add_var("first", 1, None);
    let again = m.add_var("first again", 1, None);
    let second = m.add_var("second", 1, None);
    let again2 = m.add_var("second again", 1, None);
    m.add_row("a", "flow", [(first, 1), (again, -1)], Relation::Eq, 1);
    m.add_row("b", "flow", [(second, 1), (again2, -1)], Relation::Eq, 1);
    let SolveOutcome::Unbounded(rays) = solve(&m, Effort::default()) else {
        panic!("not unbounded");
    };
    assert_eq!(rays.len(), 2);
}

#[test]
fn contradictory_rows_are_named_and_no_others() {
    let mut m = single_loop(10);
    let header = m.find_var("header").unwrap();
    m.add_row("fact", "the user says so", [(header, 1)], Relation::Ge, 11);
    m.add_row("harmless", "given", [(header, 1)], Relation::Le, 1000);
    let SolveOutcome::Infeasible(conflict) = solve(&m, Effort::default()) else {
        panic!("not infeasible");
    };
    let names: Vec<_> = conflict
        .rows
        .iter()
        .map(|r| m.row(*r).unwrap().label.as_str())
        .collect();
    assert_eq!(names, ["entry", "loop", "fact"]);
    assert_eq!(verify_infeasible(&m, &conflict.multipliers), Ok(()));
}

#[test]
fn a_contradiction_with_a_variable_bound_is_found() {
    let mut m = IntegerProgram::new();
    let a = m.add_var("a", 1, Some(4));
    m.add_row("five", "given", [(a, 1)], Relation::Ge, 5);
    assert!(matches!(
        solve(&m, Effort::default()),
        SolveOutcome::Infeasible(_)
    ));
    let mut m = IntegerProgram::new();
    m.add_row("never", "given", [], Relation::Eq, 1);
    assert!(matches!(
        solve(&m, Effort::default()),
        SolveOutcome::Infeasible(_)
    ));
}

#[test]
fn a_model_with_relaxed_points_only_still_has_a_sound_bound() {
    // 2a = 1 has no integer point; the relaxation bounds it anyway.
    let mut m = IntegerProgram::new();
    let a = m.add_var("a", 4, None);
    m.add_row("odd", "given", [(a, 2)], Relation::Eq, 1);
    let certified = bounded(&m);
    assert_eq!((certified.bound, certified.gap), (2, None));
}

/// `depth` nested loops of `bound` iterations under a flow of `width`.
fn nest(depth: usize, bound: i64, width: i128) -> IntegerProgram {
    let mut m = IntegerProgram::new();
    let mut outer = m.add_var("entry", 0, None);
    m.add_row("width", "threads", [(outer, 1)], Relation::Eq, width);
    for level in 0..depth {
        let header = m.add_var(format!("header {level}"), 1, None);
        let back = m.add_var(format!("back {level}"), 0, None);
        m.add_row(
            "flow",
            "flow",
            [(header, 1), (outer, -1), (back, -1)],
            Relation::Eq,
            0,
        );
        m.add_row(
            "loop",
            "bound",
            [(header, 1), (outer, -bound)],
            Relation::Le,
            0,
        );
        outer = header;
    }
    m
}

#[test]
fn deep_nests_of_large_bounds_are_exact() {
    let b = 1_000_000_000i128;
    let certified = bounded(&nest(4, 1_000_000_000, 32));
    let expected = 32 * (b + b * b + b * b * b + b * b * b * b);
    assert_eq!(certified.bound, expected);
    assert_eq!(certified.witness_value, Some(expected));
}

#[test]
fn a_bound_beyond_128_bits_is_refused_and_never_wraps() {
    let outcome = solve(&nest(5, 1_000_000_000, 32), Effort::default());
    let SolveOutcome::SolverFailed(diagnostic) = outcome else {
        panic!("{outcome:?}");
    };
    assert!(diagnostic.message.contains("128 bits"), "{diagnostic}");
}

#[test]
fn a_used_up_budget_gives_no_bound() {
    let effort = Effort {
        pivots: 0,
        ..Effort::default()
    };
    let mut m = IntegerProgram::new();
    let a = m.add_var("a", 1, None);
    m.add_row("some", "given", [(a, 1)], Relation::Le, 10);
    assert!(matches!(solve(&m, effort), SolveOutcome::SolverFailed(_)));
}

#[test]
fn rows_of_another_models_variables_are_refused() {
    let mut other = IntegerProgram::new();
    other.add_var("x", 1, None);
    let y = other.add_var("y", 1, None);
    let mut m = IntegerProgram::new();
    m.add_var("a", 1, Some(1));
    m.add_row("mixed", "mistake", [(y, 1)], Relation::Le, 1);
    assert!(matches!(
        solve(&m, Effort::default()),
        SolveOutcome::SolverFailed(_)
    ));
    assert!(evaluate(&m, &[0]).is_err());
}

/// Every vertex among the optima of each part has a fraction; the integer points are between them.
#[test]
fn a_witness_as_good_as_the_relaxation_needs_no_search() {
    let mut m = IntegerProgram::new();
    for _ in 0..20 {
        let [a, b] = [(); 2].map(|()| m.add_var("count", 1, None));
        m.add_row("together", "given", [(a, 1), (b, 1)], Relation::Le, 3);
        m.add_row("first", "given", [(a, 2)], Relation::Le, 3);
        m.add_row("second", "given", [(b, 2)], Relation::Le, 5);
    }
    let effort = Effort {
        nodes: 1,
        ..Effort::default()
    };
    let SolveOutcome::Bounded(certified) = solve(&m, effort) else {
        panic!("not bounded");
    };
    assert_eq!((certified.bound, certified.gap), (60, Some(0)));
}
