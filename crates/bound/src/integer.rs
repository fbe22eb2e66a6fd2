//! The integer optimum by a solver in floating point, whose answer counts only after an exact check.

use std::panic::{AssertUnwindSafe, catch_unwind};

#[cfg(any(feature = "microlp", feature = "highs"))]
use good_lp::SolverModel;
use good_lp::variable::UnsolvedProblem;
use good_lp::{Constraint, Expression, ProblemVariables, Variable, constraint, variable};
#[cfg(feature = "highs")]
use good_lp::{Solution, solvers::SolutionStatus};
use warpbound_base::Diagnostic;

use crate::certificate::evaluate;
use crate::exact::Rational;
use crate::linear::LinearProgram;
use crate::model::{IntegerProgram, Relation};
use crate::reduce::Reduced;

/// How far a variable may move from the relaxation's optimum; the larger one is tried where the smaller one leaves no
/// point. The solver starts from such limits where it has no others, so a large one costs it precision.
const SEARCH_RADII: [i32; 2] = [1 << 20, i32::MAX];

/// Wall-clock seconds after which the solver is told to stop. A safety net: it may cycle inside one subproblem, where
/// the limit on their number does not help. Whatever it has by then is dropped, so that a faster machine can find a
/// witness where a slower one finds none, but never another one.
const TIME_LIMIT_SECONDS: u32 = 10;

/// An integer point of `model` with the largest objective that the solver finds within `nodes` subproblems, near
/// `center`, the optimum of the relaxation of `reduced`, which stands for `model`. It obeys every row and bound of
/// `model` exactly.
///
/// The solver sees the distance from `center` rounded down instead of the counts themselves: that distance is small
/// where the counts leave the range in which floating point knows every integer.
///
/// # Errors
/// Why there is none: the solver's own reason, its panic, or what the exact check refused.
pub(crate) fn integer_point(
    model: &IntegerProgram,
    reduced: &Reduced,
    center: &[Rational],
    nodes: usize,
) -> Result<Vec<u128>, Diagnostic> {
    let center: Vec<Rational> = center
        .iter()
        .map(|value| Rational::big(value.to_big().floor()))
        .collect();
    let mut refused = None;
    for reach in SEARCH_RADII {
        let solver = || solve_near(&reduced.linear, &center, reach, nodes);
        match check_solver(model, reduced, &center, solver) {
            Ok(Some(point)) => return Ok(point),
            // Going on could find another point on a slower machine than on a faster one.
            Ok(None) => break,
            Err(why) => refused = Some(why),
        }
    }
    Err(refused.unwrap_or_else(|| {
        Diagnostic::new(format!(
            "the integer solver found no point within {nodes} subproblems and {TIME_LIMIT_SECONDS} s"
        ))
    }))
}

/// What a solver answers: how far each variable moves, or `None` when it was stopped by its limits.
type SolverResult = Result<Option<Vec<f64>>, String>;

/// The point that `solver` finds, if it obeys every row and bound of `model`.
fn check_solver(
    model: &IntegerProgram,
    reduced: &Reduced,
    center: &[Rational],
    solver: impl FnOnce() -> SolverResult,
) -> Result<Option<Vec<u128>>, Diagnostic> {
    // What a solver leaves behind when it panics is dropped with it.
    let moves = catch_unwind(AssertUnwindSafe(solver))
        .unwrap_or_else(|_| Err("it panicked".to_owned()))
        .map_err(|why| Diagnostic::new(format!("the integer solver found no point: {why}")))?;
    let Some(moves) = moves else {
        return Ok(None);
    };
    if moves.len() != center.len() {
        return Err(Diagnostic::new("the integer solver left variables out"));
    }
    // A move that is no number becomes 0 here; whatever comes out is checked.
    let point: Vec<Rational> = center
        .iter()
        .zip(moves)
        .map(|(base, by)| base.add(&Rational::int((by.round() as i64).into())))
        .collect();
    let point = integral(&reduced.expand_point(&point))
        .ok_or_else(|| Diagnostic::new("the integer solver's point has a negative count"))?;
    match evaluate(model, &point) {
        Ok(_) => Ok(Some(point)),
        Err(why) => Err(Diagnostic::new(format!(
            "the integer solver's point is none: {}",
            why.message
        ))),
    }
}

/// The point as counts; `None` when a value is no integer from 0 to the largest count.
pub(crate) fn integral(point: &[Rational]) -> Option<Vec<u128>> {
    point.iter().map(Rational::to_count).collect()
}

/// How far each variable moves from `center`, by the solver.
fn solve_near(linear: &LinearProgram, center: &[Rational], reach: i32, nodes: usize) -> SolverResult {
    let mut variables = ProblemVariables::new();
    let mut objective = Expression::with_capacity(linear.width());
    let mut left = vec![Expression::default(); linear.height()];
    let mut room = linear.rhs.clone();
    let mut ids = Vec::with_capacity(linear.width());
    for (column, base) in center.iter().enumerate() {
        let limit = |room: &Rational| {
            let room = room.to_count().and_then(|room| i32::try_from(room).ok());
            room.unwrap_or(reach).min(reach)
        };
        let up = linear.upper[column]
            .as_ref()
            .map_or(reach, |upper| limit(&upper.sub(base)));
        let id = variables.add(variable().integer().min(-limit(base)).max(up));
        objective.add_mul(linear.cost[column].approximate(), id);
        for (row, coefficient) in &linear.columns[column] {
            left[*row].add_mul(coefficient.approximate(), id);
            room[*row].sub_mul(base, coefficient);
        }
        ids.push(id);
    }
    let rows = left
        .into_iter()
        .zip(&room)
        .zip(&linear.relation)
        .map(|((left, room), relation)| {
            let room = room.approximate();
            match relation {
                Relation::Le => constraint!(left <= room),
                Relation::Ge => constraint!(left >= room),
                Relation::Eq => constraint!(left == room),
            }
        })
        .collect();
    optimum(variables.maximise(objective), rows, &ids, nodes)
}

/// The values of `ids`. HiGHS where it was built in.
#[cfg(feature = "highs")]
fn optimum(
    problem: UnsolvedProblem,
    rows: Vec<Constraint>,
    ids: &[Variable],
    nodes: usize,
) -> SolverResult {
    // One thread and no randomness: the same input, the same output.
    let mut problem = good_lp::solvers::highs::highs(problem)
        .set_threads(1)
        .set_option("random_seed", 0)
        .set_option("mip_max_nodes", i32::try_from(nodes).unwrap_or(i32::MAX))
        .set_option("mip_rel_gap", 0.0)
        .set_time_limit(TIME_LIMIT_SECONDS.into());
    for row in rows {
        problem.add_constraint(row);
    }
    let solution = problem.solve().map_err(|error| error.to_string())?;
    // good_lp tells no limit from another: what was found in time, but not proven best, is dropped with the rest.
    if !matches!(solution.status(), SolutionStatus::Optimal) {
        return Ok(None);
    }
    Ok(Some(ids.iter().map(|&id| solution.value(id)).collect()))
}

/// The values of `ids`, by microlp.
#[cfg(all(feature = "microlp", not(feature = "highs")))]
fn optimum(
    problem: UnsolvedProblem,
    rows: Vec<Constraint>,
    _: &[Variable],
    nodes: usize,
) -> SolverResult {
    let mut problem = good_lp::solvers::microlp::microlp(problem);
    for row in rows {
        problem.add_constraint(row);
    }
    // good_lp passes on no limit of the number of subproblems, the one limit that does not depend on the machine.
    let mut options = microlp::SolveOptions::default();
    options.node_limit = u64::try_from(nodes).ok();
    options.time_limit = Some(std::time::Duration::from_secs(TIME_LIMIT_SECONDS.into()));
    let outcome = problem
        .as_inner()
        .solve_with(options)
        .map_err(|error| error.to_string())?;
    match (outcome.termination_reason(), outcome.solution()) {
        (microlp::TerminationReason::TimeLimit, _) | (_, None) => Ok(None),
        // good_lp adds the variables in the order of their ids.
        (_, Some(solution)) => Ok(Some(solution.iter().map(|(_, value)| value).collect())),
    }
}

/// No solver was built in.
#[cfg(not(any(feature = "microlp", feature = "highs")))]
fn optimum(_: UnsolvedProblem, _: Vec<Constraint>, _: &[Variable], _: usize) -> SolverResult {
    Err("this build has none; enable the feature `microlp` or `highs`".to_owned())
}

/// Faults planted on purpose: solvers that lie, fail or panic.
#[cfg(test)]
mod tests {
    use super::*;

    /// `2a + b <= 7`.
    fn sample() -> IntegerProgram {
        let mut model = IntegerProgram::new();
        let a = model.add_var("a", 3, None);
        let b = model.add_var("b", 1, Some(2));
        model.add_row("room", "given", [(a, 2), (b, 1)], Relation::Le, 7);
        model
    }

    fn ask(solver: impl FnOnce() -> SolverResult) -> Result<Option<Vec<u128>>, String> {
        let model = sample();
        let reduced = Reduced::new(&LinearProgram::relax(&model));
        let center = [Rational::int(3), Rational::ZERO];
        check_solver(&model, &reduced, &center, solver).map_err(|why| why.message)
    }

    fn answer(answer: SolverResult) -> Result<Option<Vec<u128>>, String> {
        ask(|| answer)
    }

    fn refused(moves: &[f64], words: &str) {
        let why = answer(Ok(Some(moves.to_vec()))).expect_err("accepted");
        assert!(why.contains(words), "{why}");
    }

    #[test]
    fn a_point_of_the_model_is_accepted_after_rounding() {
        assert_eq!(
            answer(Ok(Some(vec![1e-7, 0.999_999]))),
            Ok(Some(vec![3, 1]))
        );
    }

    #[test]
    fn points_outside_the_model_are_refused() {
        refused(&[1.0, 0.0], "row `room` is violated");
        refused(&[-2.0, 3.0], "above its bound");
        refused(&[-4.0, 0.0], "negative count");
        refused(&[f64::INFINITY, 0.0], "row `room` is violated");
        refused(&[f64::NEG_INFINITY, 0.0], "negative count");
        refused(&[0.0], "left variables out");
        refused(&[], "left variables out");
    }

    #[test]
    fn a_solver_that_fails_or_stops_or_panics_gives_no_point() {
        assert!(answer(Err("tired".to_owned())).is_err_and(|why| why.contains("tired")));
        assert_eq!(answer(Ok(None)), Ok(None));
        let why = ask(|| std::panic::panic_any("planted"));
        assert!(why.is_err_and(|why| why.contains("panicked")));
    }

    /// The best point of the sample and of a model whose points are all far from the relaxation's optimum.
    #[cfg(any(feature = "microlp", feature = "highs"))]
    #[test]
    fn the_solver_finds_near_and_far_points() {
        let find = |model: &IntegerProgram, center: [i128; 2]| {
            let reduced = Reduced::new(&LinearProgram::relax(model));
            integer_point(model, &reduced, &center.map(Rational::int), 10).map_err(|why| why.message)
        };
        assert_eq!(find(&sample(), [3, 0]), Ok(vec![3, 1]));
        let mut model = IntegerProgram::new();
        let enter = model.add_var("enter", 0, None);
        let header = model.add_var("header", 1, None);
        model.add_row("half", "given", [(enter, 2)], Relation::Le, 1);
        let terms = [(header, 1), (enter, -100_000_000)];
        model.add_row("loop", "given", terms, Relation::Le, 0);
        assert_eq!(find(&model, [0, 50_000_000]), Ok(vec![0, 0]));
    }
}
