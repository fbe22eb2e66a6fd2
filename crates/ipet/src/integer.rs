//! Integer optimum by a floating-point solver; its answer is used only after an exact check.

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

/// Search radii: the distance that a variable may have from the relaxation's optimum. The larger radius is tried if the
/// smaller one has no point. The radius is the solver's bound of variables without another one, so a large radius costs
/// precision.
const SEARCH_RADII: [i32; 2] = [1 << 20, i32::MAX];

/// Time limit of the solver in seconds of wall-clock time. It is a safety net: the solver may cycle inside one
/// subproblem, where the limit on their number does not help. A partial result is dropped, so that a faster host can
/// find a witness where a slower one finds none, but never a different one.
const TIME_LIMIT_SECONDS: u32 = 10;

/// Finds an integer point of `model` near `center` with the largest objective that the solver reaches within `nodes`
/// subproblems. `center` is the optimum of the relaxation of `reduced`, the reduced form of `model`. The point
/// satisfies every row and bound of `model` exactly.
///
/// The variables of the solver are not the counts, but their distances from `center` rounded down. The distances are
/// small even where the counts exceed the integers that floating point represents exactly.
///
/// # Errors
///
/// Gives the reason why there is no point: the message of the solver, its panic, or the violation that the exact
/// check found.
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
    for radius in SEARCH_RADII {
        let solver = || solve_near(&reduced.linear, &center, radius, nodes);
        match check_solver(model, reduced, &center, solver) {
            Ok(Some(point)) => return Ok(point),
            // A second attempt could find another point on a slower host than on a faster one.
            Ok(None) => break,
            Err(error) => refused = Some(error),
        }
    }
    Err(refused.unwrap_or_else(|| {
        Diagnostic::new(format!(
            "the integer solver found no point within {nodes} subproblems and {TIME_LIMIT_SECONDS} s"
        ))
    }))
}

/// Result of a solver: the distance that each variable moves, or `None` if it was stopped by its limits.
type SolverResult = Result<Option<Vec<f64>>, String>;

/// Runs `solver` and checks that its point satisfies every row and bound of `model`.
fn check_solver(
    model: &IntegerProgram,
    reduced: &Reduced,
    center: &[Rational],
    solver: impl FnOnce() -> SolverResult,
) -> Result<Option<Vec<u128>>, Diagnostic> {
    // Unwind safety: the state of a solver that panics is dropped with it.
    let moves = catch_unwind(AssertUnwindSafe(solver))
        .unwrap_or_else(|_| Err("it panicked".to_owned()))
        .map_err(|error| Diagnostic::new(format!("the integer solver found no point: {error}")))?;
    let Some(moves) = moves else {
        return Ok(None);
    };
    if moves.len() != center.len() {
        return Err(Diagnostic::new("the integer solver left variables out"));
    }
    // A NaN becomes 0 by the cast; the resulting point is checked like any other.
    let point: Vec<Rational> = center
        .iter()
        .zip(moves)
        .map(|(base, by)| base.add(&Rational::int((by.round() as i64).into())))
        .collect();
    let point = integral(&reduced.expand_point(&point))
        .ok_or_else(|| Diagnostic::new("the integer solver's point has a negative count"))?;
    match evaluate(model, &point) {
        Ok(_) => Ok(Some(point)),
        Err(error) => Err(Diagnostic::new(format!(
            "the integer solver's point is none: {}",
            error.message
        ))),
    }
}

/// Converts a point to counts; `None` if a value is not an integer in the range of counts.
pub(crate) fn integral(point: &[Rational]) -> Option<Vec<u128>> {
    point.iter().map(Rational::to_count).collect()
}

/// Solves for the distances of the variables from `center`, each at most `radius`.
fn solve_near(
    linear: &LinearProgram,
    center: &[Rational],
    radius: i32,
    nodes: usize,
) -> SolverResult {
    let mut variables = ProblemVariables::new();
    let mut objective = Expression::with_capacity(linear.width());
    let mut left = vec![Expression::default(); linear.height()];
    let mut slack = linear.rhs.clone();
    let mut ids = Vec::with_capacity(linear.width());
    for (column, base) in center.iter().enumerate() {
        let limit = |slack: &Rational| {
            let slack = slack.to_count().and_then(|slack| i32::try_from(slack).ok());
            slack.unwrap_or(radius).min(radius)
        };
        let up = linear.upper[column]
            .as_ref()
            .map_or(radius, |upper| limit(&upper.sub(base)));
        let id = variables.add(variable().integer().min(-limit(base)).max(up));
        objective.add_mul(linear.cost[column].approximate(), id);
        for (row, coefficient) in &linear.columns[column] {
            left[*row].add_mul(coefficient.approximate(), id);
            slack[*row].sub_mul(base, coefficient);
        }
        ids.push(id);
    }
    let rows = left
        .into_iter()
        .zip(&slack)
        .zip(&linear.relation)
        .map(|((left, slack), relation)| {
            let slack = slack.approximate();
            match relation {
                Relation::Le => constraint!(left <= slack),
                Relation::Ge => constraint!(left >= slack),
                Relation::Eq => constraint!(left == slack),
            }
        })
        .collect();
    optimum(variables.maximise(objective), rows, &ids, nodes)
}

/// Values of `ids` by HiGHS, if it was built in.
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
        // The default gap would accept a point that is only nearly optimal.
        .set_option("mip_rel_gap", 0.0)
        .set_time_limit(TIME_LIMIT_SECONDS.into());
    for row in rows {
        problem.add_constraint(row);
    }
    let solution = problem.solve().map_err(|error| error.to_string())?;
    // good_lp does not distinguish the limits, so a point found in time, but not proven optimal, is dropped too.
    if !matches!(solution.status(), SolutionStatus::Optimal) {
        return Ok(None);
    }
    Ok(Some(ids.iter().map(|&id| solution.value(id)).collect()))
}

/// Values of `ids` by microlp.
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
    // good_lp has no option for the number of subproblems, the only limit that does not depend on the host.
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

/// Error of a build without a solver.
#[cfg(not(any(feature = "microlp", feature = "highs")))]
fn optimum(_: UnsolvedProblem, _: Vec<Constraint>, _: &[Variable], _: usize) -> SolverResult {
    Err("this build has none; enable the feature `microlp` or `highs`".to_owned())
}

/// Planted faults: solvers that return wrong points, fail or panic.
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
        check_solver(&model, &reduced, &center, solver).map_err(|error| error.message)
    }

    fn answer(answer: SolverResult) -> Result<Option<Vec<u128>>, String> {
        ask(|| answer)
    }

    fn refused(moves: &[f64], words: &str) {
        let error = answer(Ok(Some(moves.to_vec()))).expect_err("accepted");
        assert!(error.contains(words), "{error}");
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
        assert!(answer(Err("tired".to_owned())).is_err_and(|error| error.contains("tired")));
        assert_eq!(answer(Ok(None)), Ok(None));
        let error = ask(|| std::panic::panic_any("planted"));
        assert!(error.is_err_and(|error| error.contains("panicked")));
    }

    /// Solves the sample and a program whose points are all far from the relaxation's optimum.
    #[cfg(any(feature = "microlp", feature = "highs"))]
    #[test]
    fn the_solver_finds_near_and_far_points() {
        let find = |model: &IntegerProgram, center: [i128; 2]| {
            let reduced = Reduced::new(&LinearProgram::relax(model));
            integer_point(model, &reduced, &center.map(Rational::int), 10)
                .map_err(|error| error.message)
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
