//! Search for multipliers: the optimal basis of the relaxation at a sample point, solved again with the symbols.

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Zero};
use warpbound_base::Deadline;

use super::polynomial::Polynomial;
use super::program::SymbolicProgram;
use crate::exact::Rational;
use crate::linear::LinearProgram;
use crate::model::Relation;
use crate::reduce::Reduced;
use crate::simplex::{Simplex, SimplexOutcome};

/// Basis of a program: as many columns as rows, whose dual constraints hold with equality; all other rows have the
/// multiplier 0.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct DualBasis {
    rows: Vec<usize>,
    columns: Vec<usize>,
}

/// Small change of the right sides that selects one of several optimal bases. The multipliers of the basis are then
/// computed without the change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Nudge {
    /// No change.
    None,
    /// Raises rows with symbols: the multipliers of loops become as small as possible.
    Loops,
    /// Raises each inequality by a different amount, by seed.
    Inequalities(u64),
    /// Lets flow enter each node and raises inequalities, as if every node were reached.
    Nodes(u64),
}

impl Nudge {
    fn apply(self, program: &SymbolicProgram, linear: &mut LinearProgram) {
        let small = |amount: u64| {
            // If the change is too large for a program, the basis is not optimal, which the caller notices.
            let amount = BigRational::new(amount.into(), BigInt::one() << 80);
            Rational::big(amount)
        };
        for (row, rhs) in linear.rhs.iter_mut().enumerate() {
            let is_equation = linear.relation.get(row) == Some(&Relation::Eq);
            let varied = |seed: u64| {
                1 + (row as u64 + 1).wrapping_mul(seed.wrapping_mul(2_654_435_761) | 1) % 1009
            };
            let more = match self {
                Nudge::Loops if program.slopes(row).next().is_some() => small(1),
                Nudge::Inequalities(seed) if !is_equation => small(varied(seed)),
                Nudge::Nodes(seed) if !is_equation => small(1_000_000 * varied(seed)),
                Nudge::Nodes(seed) if rhs.is_zero() => small(varied(seed)).neg(),
                _ => continue,
            };
            *rhs = rhs.add(&more);
        }
    }
}

/// Optimum of the relaxation at a sample point.
pub(super) struct SampleOptimum {
    pub(super) value: BigRational,
    pub(super) basis: DualBasis,
}

/// Reason why a sample point has no optimum.
pub(super) enum NoOptimum {
    /// The rows leave the objective without a limit.
    Unbounded,
    /// The rows contradict each other, or the solver gave up.
    Unsolved,
}

/// Solves the relaxation at a sample point.
pub(super) fn optimum_at(
    program: &SymbolicProgram,
    point: &[u64],
    nudge: Nudge,
    pivots: usize,
    deadline: Deadline,
) -> Result<SampleOptimum, NoOptimum> {
    let model = program.at(point).ok_or(NoOptimum::Unsolved)?;
    if model.foreign_row().is_some() {
        return Err(NoOptimum::Unsolved);
    }
    let mut linear = LinearProgram::relax(&model);
    nudge.apply(program, &mut linear);
    let reduced = Reduced::new(&linear);
    let simplex = Simplex::new(&reduced.linear, pivots, deadline);
    let mut simplex = simplex.ok_or(NoOptimum::Unsolved)?;
    match simplex.run() {
        SimplexOutcome::Optimal => {}
        SimplexOutcome::Unbounded { .. } => return Err(NoOptimum::Unbounded),
        _ => return Err(NoOptimum::Unsolved),
    }
    let values = reduced.expand_point(&simplex.point());
    let mut value = BigRational::zero();
    for (cost, at) in linear.cost.iter().zip(&values) {
        value += cost.to_big() * at.to_big();
    }
    let (columns, rows) = reduced.expand_basis(&simplex.basic_columns(), &simplex.tight_rows());
    Ok(SampleOptimum {
        value,
        basis: DualBasis { rows, columns },
    })
}

/// Linear equations over polynomials, for one multiplier per row of the program.
struct Equations {
    /// Left and right side of each equation.
    equations: Vec<(BTreeMap<usize, Polynomial>, Polynomial)>,
    /// Equations that contain each multiplier.
    occurs: BTreeMap<usize, BTreeSet<usize>>,
}

/// Multipliers of a basis as polynomials, one for each row of the program; `None` if they are no polynomials, or if
/// this elimination does not find them.
pub(super) fn multipliers_of(
    program: &SymbolicProgram,
    basis: &DualBasis,
) -> Option<Vec<Polynomial>> {
    let mut work = Equations::of(program, basis);
    let mut solved = Vec::new();
    let mut open: BTreeSet<usize> = (0..work.equations.len()).collect();
    while !open.is_empty() {
        let (equation, row) = work.pivot(&open)?;
        open.remove(&equation);
        solved.push((row, work.eliminate(equation, row)?));
    }
    let mut multipliers = vec![Polynomial::default(); program.base().rows().len()];
    // Each multiplier is expressed by multipliers that were eliminated later, so the last one is known first.
    for (row, (left, right)) in solved.into_iter().rev() {
        let mut value = right;
        for (other, factor) in left {
            value = value.minus(&factor.times(multipliers.get(other)?));
        }
        *multipliers.get_mut(row)? = value;
    }
    Some(multipliers)
}

impl Equations {
    /// The equations `Σ multiplier·coefficient = cost` of the basic columns.
    fn of(program: &SymbolicProgram, basis: &DualBasis) -> Equations {
        let base = program.base();
        let equations = basis.columns.iter().map(|&column| {
            let cost = base.vars().get(column).map_or(0, |var| var.cost);
            (BTreeMap::new(), Polynomial::integer(cost.into()))
        });
        let mut work = Equations {
            equations: equations.collect(),
            occurs: BTreeMap::new(),
        };
        let number_of: BTreeMap<usize, usize> = (basis.columns.iter().enumerate())
            .map(|(number, &c)| (c, number))
            .collect();
        for &row in &basis.rows {
            let Some(constraint) = base.rows().get(row) else {
                continue;
            };
            let numbers = constraint.terms.iter();
            let numbers = numbers.map(|&(var, c)| (var, Polynomial::integer(c.into())));
            let slopes = program.slopes(row).map(|(var, symbol, c)| {
                let number = BigRational::from_integer(c.into());
                (var, Polynomial::symbol(symbol).scaled(&number))
            });
            for (var, more) in numbers.chain(slopes) {
                if let Some(&equation) = number_of.get(&var.index()) {
                    work.add(equation, row, &more);
                }
            }
        }
        work
    }

    /// Adds to the coefficient of a multiplier in an equation.
    fn add(&mut self, equation: usize, row: usize, more: &Polynomial) {
        let Some((left, _)) = self.equations.get_mut(equation) else {
            return;
        };
        let sum = left.get(&row).map_or(more.clone(), |old| old.plus(more));
        if sum.is_zero() {
            left.remove(&row);
            if let Some(of) = self.occurs.get_mut(&row) {
                of.remove(&equation);
            }
        } else {
            left.insert(row, sum);
            self.occurs.entry(row).or_default().insert(equation);
        }
    }

    /// Cheapest coefficient that is a number, as (equation, row).
    fn pivot(&self, open: &BTreeSet<usize>) -> Option<(usize, usize)> {
        let mut best: Option<(usize, (usize, usize))> = None;
        for &equation in open {
            let (left, _) = self.equations.get(equation)?;
            for (&row, coefficient) in left {
                // A quotient of polynomials need not be a polynomial, so only numbers are divided by.
                if coefficient.number().is_none() {
                    continue;
                }
                let uses = self.occurs.get(&row).map_or(0, BTreeSet::len);
                let fill = (left.len() - 1) * uses.saturating_sub(1);
                if best.is_none_or(|(least, _)| fill < least) {
                    best = Some((fill, (equation, row)));
                }
            }
            if best.is_some_and(|(fill, _)| fill == 0) {
                break;
            }
        }
        best.map(|(_, at)| at)
    }

    /// Solves an equation for the multiplier of `row` and puts it into all others. Returns the other terms and the
    /// right side, after division by the coefficient.
    fn eliminate(
        &mut self,
        equation: usize,
        row: usize,
    ) -> Option<(BTreeMap<usize, Polynomial>, Polynomial)> {
        let (mut left, right) = std::mem::take(self.equations.get_mut(equation)?);
        for other in left.keys() {
            if let Some(of) = self.occurs.get_mut(other) {
                of.remove(&equation);
            }
        }
        let inverse = left.remove(&row)?.number()?;
        let inverse = BigRational::one() / inverse;
        for coefficient in left.values_mut() {
            *coefficient = coefficient.scaled(&inverse);
        }
        let right = right.scaled(&inverse);
        for other in self.occurs.remove(&row).unwrap_or_default() {
            let (terms, side) = self.equations.get_mut(other)?;
            let factor = terms.remove(&row)?;
            *side = side.minus(&factor.times(&right));
            let factor = factor.scaled(&-BigRational::one());
            for (&column, coefficient) in &left {
                self.add(other, column, &factor.times(coefficient));
            }
        }
        Some((left, right))
    }
}
