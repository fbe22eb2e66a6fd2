//! The integer optimum by a solver in floating point, whose answer counts only after an exact check.

use std::panic::{AssertUnwindSafe, catch_unwind};

#[cfg(any(feature = "microlp", feature = "highs"))]
use good_lp::SolverModel;
use good_lp::variable::UnsolvedProblem;
use good_lp::{Constraint, Expression, ProblemVariables, Variable, constraint, variable};
#[cfg(feature = "highs")]
use good_lp::{Solution, solvers::SolutionStatus};
use num_bigint::BigInt;
use num_traits::ToPrimitive;
use warpbound_base::Diagnostic;

use crate::certificate::evaluate;
use crate::exact::Exact;
use crate::model::{Model, Relation};

/// How far a variable may move from the relaxation's optimum. The solver starts from such limits where it has no
/// others, so a larger one costs it precision; integer bounds must fit 32 bits.
const REACH: i32 = 1 << 20;

/// Wall-clock seconds after which the solver is told to stop. A safety net: it may cycle inside one subproblem, where
/// the limit on their number does not help. Whatever it has by then is dropped, so that a faster machine can find a
/// witness where a slower one finds none, but never another one.
const SECONDS: u32 = 20;

/// An integer point of `model` with the largest objective that the solver finds within `nodes` subproblems, near
/// `center`, the optimum of the relaxation. It obeys every row and bound exactly.
///
/// The solver sees the distance from `center` rounded down instead of the counts themselves: that distance is small
/// where the counts leave the range in which floating point knows every integer.
///
/// # Errors
/// Why there is none: the solver's own reason, its panic, or what the exact check refused.
pub(crate) fn integer_point(
    model: &Model,
    center: &[Exact],
    nodes: usize,
) -> Result<Vec<u128>, Diagnostic> {
    let center: Vec<BigInt> = center
        .iter()
        .map(|value| value.to_big().floor().to_integer())
        .collect();
    // What a solver leaves behind when it panics is dropped with it.
    let moves = catch_unwind(AssertUnwindSafe(|| moves(model, &center, nodes)))
        .unwrap_or_else(|_| Err("it panicked".to_owned()))
        .map_err(|why| Diagnostic::new(format!("the integer solver found no point: {why}")))?;
    let point = center
        .iter()
        .zip(moves)
        .map(|(base, by)| (base + BigInt::from(by.round() as i64)).to_u128())
        .collect::<Option<Vec<u128>>>()
        .ok_or_else(|| Diagnostic::new("the integer solver's point has a negative count"))?;
    evaluate(model, &point)?;
    Ok(point)
}

/// How far each variable moves from `center`, by the solver.
fn moves(model: &Model, center: &[BigInt], nodes: usize) -> Result<Vec<f64>, String> {
    let mut variables = ProblemVariables::new();
    let mut objective = Expression::with_capacity(center.len());
    let mut ids = Vec::with_capacity(center.len());
    for (var, base) in model.vars().iter().zip(center) {
        let down = base.to_i32().unwrap_or(REACH).min(REACH);
        let up = var.upper.map_or(REACH, |upper| {
            let room = BigInt::from(upper) - base;
            room.to_i32().unwrap_or(REACH).min(REACH)
        });
        let id = variables.add(variable().integer().min(-down).max(up));
        objective.add_mul(var.cost as f64, id);
        ids.push(id);
    }
    let mut rows = Vec::with_capacity(model.rows().len());
    for row in model.rows() {
        let mut left = Expression::with_capacity(row.terms.len());
        let mut room = BigInt::from(row.rhs);
        for &(var, coefficient) in &row.terms {
            left.add_mul(coefficient as f64, ids[var.index()]);
            room -= &center[var.index()] * coefficient;
        }
        let Some(room) = room.to_f64().filter(|room| room.is_finite()) else {
            return Err(format!("row `{}` is out of its range", row.label));
        };
        rows.push(match row.relation {
            Relation::Le => constraint!(left <= room),
            Relation::Ge => constraint!(left >= room),
            Relation::Eq => constraint!(left == room),
        });
    }
    optimum(variables.maximise(objective), rows, &ids, nodes)
}

/// The values of `ids`. HiGHS where it was built in.
#[cfg(feature = "highs")]
fn optimum(
    problem: UnsolvedProblem,
    rows: Vec<Constraint>,
    ids: &[Variable],
    nodes: usize,
) -> Result<Vec<f64>, String> {
    // One thread and no randomness: the same input, the same output.
    let mut problem = good_lp::solvers::highs::highs(problem)
        .set_threads(1)
        .set_option("random_seed", 0)
        .set_option("mip_max_nodes", i32::try_from(nodes).unwrap_or(i32::MAX))
        .set_option("mip_rel_gap", 0.0)
        .set_time_limit(SECONDS.into());
    for row in rows {
        problem.add_constraint(row);
    }
    let solution = problem.solve().map_err(|error| error.to_string())?;
    Ok(ids.iter().map(|&id| solution.value(id)).collect())
}

/// The values of `ids`, by microlp.
#[cfg(all(feature = "microlp", not(feature = "highs")))]
fn optimum(
    problem: UnsolvedProblem,
    rows: Vec<Constraint>,
    ids: &[Variable],
    nodes: usize,
) -> Result<Vec<f64>, String> {
    let mut problem = good_lp::solvers::microlp::microlp(problem);
    for row in rows {
        problem.add_constraint(row);
    }
    // good_lp passes on no limit of the number of subproblems, the one limit that does not depend on the machine.
    let mut options = microlp::SolveOptions::default();
    options.node_limit = u64::try_from(nodes).ok();
    options.time_limit = Some(std::time::Duration::from_secs(SECONDS.into()));
    let outcome = problem
        .as_inner()
        .solve_with(options)
        .map_err(|error| error.to_string())?;
    match (outcome.termination_reason(), outcome.solution()) {
        (microlp::TerminationReason::TimeLimit, _) => Err(out_of_time()),
        (_, Some(solution)) if ids.len() == solution.iter().count() => {
            Ok(solution.iter().map(|(_, value)| value).collect())
        }
        _ => Err(format!("none within {nodes} subproblems")),
    }
}

/// No solver was built in.
#[cfg(not(any(feature = "microlp", feature = "highs")))]
fn optimum(
    _: UnsolvedProblem,
    _: Vec<Constraint>,
    _: &[Variable],
    _: usize,
) -> Result<Vec<f64>, String> {
    Err("this build has none; enable the feature `microlp` or `highs`".to_owned())
}

#[cfg(any(feature = "microlp", feature = "highs"))]
fn out_of_time() -> String {
    format!("none within {SECONDS} s")
}
