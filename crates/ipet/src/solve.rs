use num_rational::BigRational;
use num_traits::ToPrimitive;
use warpbound_base::{Deadline, Diagnostic};

use crate::certificate::{Certificate, evaluate, verify, verify_infeasible, verify_ray};
use crate::exact::Rational;
use crate::face::integer_optimum;
use crate::integer::{integer_point, integral};
use crate::linear::LinearProgram;
use crate::model::{IntegerProgram, RowId, VarId};
use crate::reduce::Reduced;
use crate::simplex::{Simplex, SimplexOutcome};

/// Limits on the work for a solution. They count steps and not time, so that results do not depend on the
/// host unless the user limits the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Maximum number of simplex steps in total.
    pub pivots: usize,
    /// Maximum number of subproblems of the integer solver, which runs only if the relaxation's optimum is not integral
    /// and no integer optimum is found on its face; 0 disables both searches.
    pub nodes: usize,
    /// Maximum number of rays to collect from an unbounded program.
    pub rays: usize,
    /// Time limit; none unless the user sets one.
    pub deadline: Deadline,
}

impl Default for Effort {
    fn default() -> Self {
        Effort {
            pivots: 200_000,
            nodes: 200,
            rays: 16,
            deadline: Deadline::default(),
        }
    }
}

/// Outcome of solving: what is established about the largest objective of a program.
#[derive(Clone, Debug)]
pub enum SolveOutcome {
    /// Upper bound, checked exactly.
    Bounded(Certified),
    /// The objective is unbounded; each ray was checked exactly. Never empty.
    Unbounded(Vec<Ray>),
    /// The rows contradict each other.
    Infeasible(Conflict),
    /// Nothing was established; there is no bound.
    SolverFailed(Diagnostic),
}

/// Bound with its certificate, which [`verify`] has accepted; made only by [`solve`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Certified {
    /// Bound: no integer point has a larger objective.
    pub bound: i128,
    /// Exact optimum of the continuous relaxation; the bound is its floor.
    pub lp_value: BigRational,
    /// Objective of the witness.
    pub witness_value: Option<i128>,
    /// Bound minus the objective of the witness: an upper bound of the distance to the true optimum. `None` if no
    /// integer point was found; the bound is sound all the same.
    pub gap: Option<i128>,
    /// Reason why there is no witness, if there is none.
    pub no_witness: Option<String>,
    /// Certificate: the row multipliers and the witness point.
    pub certificate: Certificate,
}

impl Certified {
    /// Rows that the bound rests on, with their multipliers: the increase of the relaxation's optimum for one more unit
    /// on the right side.
    pub fn binding_rows(&self) -> impl Iterator<Item = (RowId, &BigRational)> {
        self.certificate
            .multipliers
            .iter()
            .enumerate()
            .filter(|(_, multiplier)| !num_traits::Zero::is_zero(*multiplier))
            .map(|(index, multiplier)| (RowId(index as u32), multiplier))
    }

    /// Value of `var` in the witness; `None` without a witness.
    pub fn witness_of(&self, var: VarId) -> Option<u128> {
        self.certificate.witness.as_ref()?.get(var.index()).copied()
    }
}

/// Ray: a direction along which variables grow without limit while the objective grows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ray {
    /// Variables that grow, with their growth relative to each other, in the order of the program.
    pub growth: Vec<(VarId, BigRational)>,
}

/// Conflict: rows that cannot all hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Rows of the contradiction, in the order of the program.
    pub rows: Vec<RowId>,
    /// Multipliers, one for each row of the program, which [`verify_infeasible`] has accepted (Farkas' lemma).
    pub multipliers: Vec<BigRational>,
}

/// Finds and certifies an upper bound of the objective of `model`.
///
/// The continuous relaxation is solved exactly; the floor of its optimum is the bound. If the optimum is not integral,
/// steps along the optimal face look for an integer optimum, then the integer solver that was built in looks for the
/// best integer point. What they find can only become the witness, never the bound. Nothing is returned that
/// [`verify`], [`verify_ray`] or [`verify_infeasible`] has not accepted.
pub fn solve(model: &IntegerProgram, effort: Effort) -> SolveOutcome {
    match try_solve(model, effort) {
        Ok(outcome) => outcome,
        Err(diagnostic) => SolveOutcome::SolverFailed(diagnostic),
    }
}

/// As [`solve`], for several objectives. Each objective gives the costs of some variables, each variable once; the
/// others cost nothing. The rows are reduced once, and each search begins at the optimum of the one before, so
/// similar objectives should follow each other. There are no witnesses, and an unbounded program has one ray.
pub fn solve_each(
    model: &IntegerProgram,
    objectives: &[Vec<(VarId, i64)>],
    effort: Effort,
) -> Vec<SolveOutcome> {
    let effort = Effort {
        // Only bounds are wanted, and a search for a witness never changes one.
        nodes: 0,
        rays: 1,
        ..effort
    };
    let mut model = model.clone();
    for number in 0..model.vars().len() {
        model.set_cost(VarId(number as u32), 0);
    }
    let mut searches = Searches::new(&model, effort);
    let outcomes = objectives.iter().map(|objective| {
        for &(var, cost) in objective {
            model.set_cost(var, cost);
        }
        let outcome = searches.next(&model);
        for &(var, _) in objective {
            model.set_cost(var, 0);
        }
        outcome.unwrap_or_else(SolveOutcome::SolverFailed)
    });
    outcomes.collect()
}

/// Searches with the same rows, one after the other.
struct Searches {
    reduced: Reduced,
    /// At a basis that satisfies the rows, if a search has found one.
    simplex: Option<Simplex>,
    effort: Effort,
}

impl Searches {
    fn new(model: &IntegerProgram, effort: Effort) -> Searches {
        Searches {
            reduced: Reduced::new(&LinearProgram::relax(model)),
            simplex: None,
            effort,
        }
    }

    /// Solves `model`, which has the rows of the first model.
    fn next(&mut self, model: &IntegerProgram) -> Result<SolveOutcome, Diagnostic> {
        refuse_foreign_rows(model)?;
        let costs = model.vars().iter();
        let costs = costs.map(|var| Rational::int(var.cost.into()));
        self.reduced.set_cost(costs.collect());
        let linear = &self.reduced.linear;
        let (mut simplex, found) = match self.simplex.take() {
            Some(mut simplex) => {
                simplex.set_cost(&linear.cost, self.effort.pivots);
                let found = simplex.resume();
                (simplex, found)
            }
            None => begin(linear, self.effort)?,
        };
        // Only an optimum or a ray leaves the search at a point that satisfies the rows; the next search begins
        // there.
        let is_at_point = matches!(
            found,
            SimplexOutcome::Optimal | SimplexOutcome::Unbounded { .. }
        );
        let outcome = conclude(model, &self.reduced, &mut simplex, found, self.effort);
        self.simplex = is_at_point.then_some(simplex);
        outcome
    }
}

fn try_solve(model: &IntegerProgram, effort: Effort) -> Result<SolveOutcome, Diagnostic> {
    refuse_foreign_rows(model)?;
    let reduced = Reduced::new(&LinearProgram::relax(model));
    let (mut simplex, found) = begin(&reduced.linear, effort)?;
    conclude(model, &reduced, &mut simplex, found, effort)
}

fn refuse_foreign_rows(model: &IntegerProgram) -> Result<(), Diagnostic> {
    match model.foreign_row() {
        None => Ok(()),
        Some(row) => Err(Diagnostic::new(format!(
            "row `{}` names a variable of another model",
            row.label
        ))),
    }
}

/// Solves a program from a basis of slacks.
fn begin(linear: &LinearProgram, effort: Effort) -> Result<(Simplex, SimplexOutcome), Diagnostic> {
    let mut simplex = Simplex::new(linear, effort.pivots, effort.deadline)
        .ok_or_else(|| solver_gave_up("no starting basis"))?;
    let found = simplex.run();
    Ok((simplex, found))
}

/// Expands and checks what the simplex method has found.
fn conclude(
    model: &IntegerProgram,
    reduced: &Reduced,
    simplex: &mut Simplex,
    found: SimplexOutcome,
    effort: Effort,
) -> Result<SolveOutcome, Diagnostic> {
    match found {
        SimplexOutcome::Optimal => {
            certify_optimum(model, reduced, simplex, effort).map(SolveOutcome::Bounded)
        }
        SimplexOutcome::Infeasible { multipliers } => {
            let multipliers = to_rationals(&reduced.expand_multipliers(&multipliers, false));
            verify_infeasible(model, &multipliers)?;
            let rows = (0u32..)
                .zip(&multipliers)
                .filter(|(_, multiplier)| !num_traits::Zero::is_zero(*multiplier))
                .map(|(index, _)| RowId(index))
                .collect();
            Ok(SolveOutcome::Infeasible(Conflict { rows, multipliers }))
        }
        SimplexOutcome::Unbounded { direction, column } => {
            collect_rays(model, reduced, simplex, direction, column, effort)
                .map(SolveOutcome::Unbounded)
        }
        SimplexOutcome::GaveUp(reason) => Err(solver_gave_up(reason)),
    }
}

fn certify_optimum(
    model: &IntegerProgram,
    reduced: &Reduced,
    simplex: &mut Simplex,
    effort: Effort,
) -> Result<Certified, Diagnostic> {
    let multipliers = to_rationals(&reduced.expand_multipliers(&simplex.multipliers(), true));
    let optimum = simplex.point();
    let point = reduced.expand_point(&optimum);
    let mut lp_value = Rational::ZERO;
    for (var, value) in model.vars().iter().zip(&point) {
        lp_value = lp_value.add(&Rational::int(var.cost.into()).mul(value));
    }
    let lp_value = lp_value.to_big();
    // The bound is sound without a witness, so a failed search is not an error.
    let found = if let Some(point) = integral(&point) {
        Ok(point)
    } else if effort.nodes == 0 {
        Err(Diagnostic::new("no integer solver was asked"))
    // Costs are integers, so no integer point lies on the optimal face of a fractional optimum.
    } else if lp_value.is_integer()
        && let Some(point) = integer_optimum(simplex, reduced)
    {
        Ok(point)
    } else {
        integer_point(model, reduced, &optimum, effort.nodes)
    };
    let (witness, no_witness) = match found {
        Ok(point) => (Some(point), None),
        Err(error) => (None, Some(error.message)),
    };
    // The objective of an integer point is an integer, so the floor bounds it too.
    let bound = lp_value.floor().to_integer().to_i128().ok_or_else(|| {
        Diagnostic::new("the bound does not fit 128 bits")
            .hint("tighten the loop bounds of nested loops")
    })?;
    let certificate = Certificate {
        bound,
        multipliers,
        witness,
    };
    // The check reads the original program, so it covers the reduction and the expansion as well as the solver.
    verify(model, &certificate)?;
    let witness_value = match &certificate.witness {
        Some(witness) => evaluate(model, witness)?.to_i128(),
        None => None,
    };
    Ok(Certified {
        bound,
        lp_value,
        witness_value,
        gap: witness_value.and_then(|value| bound.checked_sub(value)),
        no_witness,
        certificate,
    })
}

/// Collects rays: after each one, the column that started it is frozen and the simplex method resumed.
fn collect_rays(
    model: &IntegerProgram,
    reduced: &Reduced,
    simplex: &mut Simplex,
    direction: Vec<Rational>,
    column: usize,
    effort: Effort,
) -> Result<Vec<Ray>, Diagnostic> {
    let mut found = Vec::new();
    let mut next = Some((direction, column));
    while let Some((direction, column)) = next {
        let direction = to_rationals(&reduced.expand_direction(&direction));
        verify_ray(model, &direction)?;
        found.push(Ray {
            growth: (0u32..)
                .zip(direction)
                .filter(|(_, value)| !num_traits::Zero::is_zero(value))
                .map(|(index, value)| (VarId(index), value))
                .collect(),
        });
        if found.len() >= effort.rays {
            break;
        }
        simplex.freeze(column);
        next = match simplex.resume() {
            SimplexOutcome::Unbounded { direction, column } => Some((direction, column)),
            // Each ray found so far has been verified, so it stays valid whatever ends the search.
            _ => None,
        };
    }
    Ok(found)
}

fn to_rationals(values: &[Rational]) -> Vec<BigRational> {
    values.iter().map(Rational::to_big).collect()
}

fn solver_gave_up(reason: &str) -> Diagnostic {
    Diagnostic::new(format!("the exact solver gave up: {reason}"))
        .hint("please report the kernel; no bound was computed")
}
