//! Search for formulas: multipliers from sample points, regions in which they are valid.

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use warpbound_base::{Deadline, Diagnostic, Quantity};

use super::certificate::{Formula, FormulaClaim, FormulaRegion, Obligation, certify};
use super::multipliers::{DualBasis, NoOptimum, Nudge, SampleOptimum, multipliers_of, optimum_at};
use super::polynomial::Polynomial;
use super::program::SymbolicProgram;
use super::proof::factors_for;
use crate::model::Relation;

/// Maximum number of regions of a formula.
const MAX_REGIONS: usize = 8;

/// Maximum number of polynomials in one region, the smallest of which is the bound.
const MAX_POLYNOMIALS: usize = 4;

/// Number of sample points per region, and of points that are tried to find them.
const SAMPLES: usize = 14;
const TRIED: usize = 3000;

/// Ways to select an optimal basis, in the order in which they are tried.
const NUDGES: [Nudge; 7] = [
    Nudge::None,
    Nudge::Loops,
    Nudge::Nodes(1),
    Nudge::Inequalities(1),
    Nudge::Inequalities(2),
    Nudge::Nodes(2),
    Nudge::Inequalities(3),
];

/// Limits on the work for a formula.
#[derive(Clone, Copy, Debug)]
pub struct FormulaEffort {
    /// Maximum number of simplex steps at each sample point.
    pub pivots: usize,
    /// Time limit; none unless the user sets one.
    pub deadline: Deadline,
}

impl Default for FormulaEffort {
    fn default() -> Self {
        FormulaEffort {
            pivots: 50_000,
            deadline: Deadline::default(),
        }
    }
}

/// Finds a formula for the largest objective of `program`, valid for all values of the symbols that are at least 1, or
/// for some regions of them.
///
/// # Errors
///
/// Says why there is none.
pub fn find_formula<Q: Quantity>(
    program: &SymbolicProgram,
    effort: FormulaEffort,
) -> Result<Formula<Q>, Diagnostic> {
    certify(program, find_claims(program, effort)?)
}

/// Finds the claims of a formula, see [`find_formula`]; nothing has checked them.
///
/// # Errors
///
/// Says why there are none.
pub fn find_claims(
    program: &SymbolicProgram,
    effort: FormulaEffort,
) -> Result<Vec<FormulaClaim>, Diagnostic> {
    let mut search = Search {
        program,
        effort,
        solved: BTreeMap::new(),
        reason: "the integer program has no optimum at the points that were tried",
    };
    let claims = search.claims();
    if effort.deadline.is_past() {
        return Err(Diagnostic::new("it is not done within the time limit"));
    }
    match claims.is_empty() {
        true => Err(Diagnostic::new(search.reason)),
        false => Ok(claims),
    }
}

/// Region that is left to do, with multipliers that may be valid in it.
struct OpenRegion {
    region: FormulaRegion,
    inherited: BTreeSet<DualBasis>,
}

struct Search<'a> {
    program: &'a SymbolicProgram,
    effort: FormulaEffort,
    /// Multipliers of each basis that was met; `None` if they are no polynomials.
    solved: BTreeMap<DualBasis, Option<Solved>>,
    /// Reason why there is no formula, if there is none.
    reason: &'static str,
}

/// Multipliers of a basis, with what follows from them.
#[derive(Clone)]
struct Solved {
    multipliers: Vec<Polynomial>,
    obligations: Vec<(Obligation, Polynomial)>,
    bound: Polynomial,
}

/// Result for a region.
enum RegionResult {
    /// Claims that hold in it; none if none was found.
    Done(Vec<FormulaClaim>),
    /// The region divided in two, by a polynomial that is at least 0 in the first.
    Divided(FormulaRegion, FormulaRegion),
}

impl Search<'_> {
    fn claims(&mut self) -> Vec<FormulaClaim> {
        let mut claims = Vec::new();
        let whole = FormulaRegion {
            least: vec![1; self.program.symbols()],
            conditions: Vec::new(),
        };
        let mut open = vec![OpenRegion {
            region: whole,
            inherited: BTreeSet::new(),
        }];
        let mut done = 0;
        while let Some(OpenRegion {
            region,
            mut inherited,
        }) = open.pop()
        {
            let may_divide = open.len() + done + 1 < MAX_REGIONS;
            match self.region(&region, &mut inherited, may_divide) {
                RegionResult::Done(found) => {
                    done += usize::from(!found.is_empty());
                    claims.extend(found);
                }
                RegionResult::Divided(first, second) => {
                    for region in [second, first] {
                        let inherited = inherited.clone();
                        open.push(OpenRegion { region, inherited });
                    }
                }
            }
        }
        claims
    }

    /// Finds claims in a region, or divides it.
    fn region(
        &mut self,
        region: &FormulaRegion,
        bases: &mut BTreeSet<DualBasis>,
        may_divide: bool,
    ) -> RegionResult {
        // Claims, with the number of samples at which each is the optimum.
        let mut valid: Vec<(FormulaClaim, Polynomial, usize)> = Vec::new();
        for basis in bases.iter() {
            let Some(Some(solved)) = self.solved.get(basis) else {
                continue;
            };
            if let Ok(claim) = claim(solved, region) {
                valid.push((claim, solved.bound.clone(), 0));
            }
        }
        for point in samples(region) {
            if self.effort.deadline.is_past() {
                return RegionResult::Done(Vec::new());
            }
            let optimum = match self.optimum(&point, Nudge::None) {
                Ok(optimum) => optimum,
                Err(NoOptimum::Unbounded) => {
                    self.reason = "the count rows leave a count without limit";
                    return RegionResult::Done(Vec::new());
                }
                Err(NoOptimum::Unsolved) => continue,
            };
            let big = big(&point);
            let is_tight = |bound: &Polynomial| bound.value(&big) == optimum.value;
            if let Some((.., tight)) = valid.iter_mut().find(|(_, bound, _)| is_tight(bound)) {
                *tight += 1;
                continue;
            }
            let mut failed = None;
            for nudge in NUDGES {
                let basis = match nudge {
                    Nudge::None => optimum.basis.clone(),
                    _ => match self.optimum(&point, nudge) {
                        Ok(nudged) => nudged.basis,
                        Err(_) => continue,
                    },
                };
                let Some(solved) = self.solve(&basis) else {
                    continue;
                };
                if !is_tight(&solved.bound) {
                    continue;
                }
                match claim(solved, region) {
                    Ok(claim) => {
                        valid.push((claim, solved.bound.clone(), 1));
                        bases.insert(basis);
                        failed = None;
                        break;
                    }
                    Err(condition) => {
                        failed.get_or_insert((basis, condition));
                    }
                }
            }
            if let Some((basis, condition)) = failed {
                self.reason = "the conditions under which the multipliers prove a bound divide the range too often";
                bases.insert(basis);
                if may_divide {
                    let (first, second) = divided(region, &condition);
                    return RegionResult::Divided(first, second);
                }
            }
        }
        let some_tight = valid.iter().any(|(.., tight)| *tight > 0);
        // Without a tight one any valid claim is better than none.
        valid.retain(|(.., tight)| *tight > 0 || !some_tight);
        valid.sort_by_key(|(.., tight)| std::cmp::Reverse(*tight));
        valid.truncate(if some_tight { MAX_POLYNOMIALS } else { 1 });
        RegionResult::Done(valid.into_iter().map(|(claim, ..)| claim).collect())
    }
}

impl Search<'_> {
    fn optimum(&self, point: &[u64], nudge: Nudge) -> Result<SampleOptimum, NoOptimum> {
        let FormulaEffort { pivots, deadline } = self.effort;
        optimum_at(self.program, point, nudge, pivots, deadline)
    }

    /// Multipliers of a basis, if they are polynomials.
    fn solve(&mut self, basis: &DualBasis) -> Option<&Solved> {
        let program = self.program;
        let solved = self.solved.entry(basis.clone());
        let solved = solved.or_insert_with(|| Solved::of(program, basis));
        if solved.is_none() {
            self.reason = "the multipliers of the rows are no polynomials";
        }
        solved.as_ref()
    }
}

impl Solved {
    /// Solves a basis.
    fn of(program: &SymbolicProgram, basis: &DualBasis) -> Option<Solved> {
        let multipliers = multipliers_of(program, basis)?;
        let (rows, vars) = (program.base().rows(), program.base().vars());
        let mut obligations = Vec::new();
        let mut bound = Polynomial::default();
        let costs = vars
            .iter()
            .map(|var| Polynomial::integer((-i128::from(var.cost)).into()));
        let mut excess: Vec<Polynomial> = costs.collect();
        for (index, (row, multiplier)) in rows.iter().zip(&multipliers).enumerate() {
            if multiplier.is_zero() {
                continue;
            }
            let minus = -BigRational::one();
            match row.relation {
                Relation::Le => obligations.push((Obligation::Sign(index), multiplier.clone())),
                Relation::Ge => {
                    obligations.push((Obligation::Sign(index), multiplier.scaled(&minus)))
                }
                Relation::Eq => {}
            }
            bound = bound.plus(&multiplier.times(&Polynomial::integer(row.rhs)));
            let numbers = row
                .terms
                .iter()
                .map(|&(var, c)| (var, Polynomial::integer(c.into())));
            let slopes = program.slopes(index).map(|(var, symbol, c)| {
                (
                    var,
                    Polynomial::symbol(symbol).times(&Polynomial::integer(c.into())),
                )
            });
            for (var, coefficient) in numbers.chain(slopes) {
                let of_var = excess.get_mut(var.index())?;
                *of_var = of_var.plus(&coefficient.times(multiplier));
            }
        }
        let dominance = excess.into_iter().enumerate();
        obligations.extend(dominance.map(|(var, excess)| (Obligation::Dominance(var), excess)));
        Some(Solved {
            multipliers,
            obligations,
            bound,
        })
    }
}

/// Makes the claim of multipliers in a region; if an obligation cannot be proved there, returns the simplest of those
/// that cannot.
fn claim(solved: &Solved, region: &FormulaRegion) -> Result<FormulaClaim, Polynomial> {
    let mut proofs = BTreeMap::new();
    let mut failed: Option<Polynomial> = None;
    for (obligation, polynomial) in &solved.obligations {
        match factors_for(polynomial, region) {
            Some(factors) if factors.is_empty() => {}
            Some(factors) => {
                proofs.insert(*obligation, factors);
            }
            None => {
                let rank = |p: &Polynomial| (p.degree(), p.terms().count());
                if failed
                    .as_ref()
                    .is_none_or(|least| rank(polynomial) < rank(least))
                {
                    failed = Some(polynomial.clone());
                }
            }
        }
    }
    match failed {
        Some(condition) => Err(condition),
        None => Ok(FormulaClaim {
            region: region.clone(),
            multipliers: solved.multipliers.clone(),
            proofs,
        }),
    }
}

/// Divides a region: `condition` is at least 0 in the first part, and below 0 in the second.
fn divided(region: &FormulaRegion, condition: &Polynomial) -> (FormulaRegion, FormulaRegion) {
    let condition = condition.primitive();
    // Symbols and coefficients are integers.
    let below = Polynomial::integer(-1).minus(&condition);
    (
        with_condition(region, condition),
        with_condition(region, below),
    )
}

/// The part of a region in which `condition` is at least 0.
fn with_condition(region: &FormulaRegion, condition: Polynomial) -> FormulaRegion {
    let mut part = region.clone();
    match least_value(&condition) {
        Some((symbol, least)) => {
            if let Some(old) = part.least.get_mut(symbol) {
                *old = least.max(*old);
            }
        }
        None => part.conditions.push(condition),
    }
    part
}

/// The symbol and its least value that a condition means, if it means no more.
fn least_value(condition: &Polynomial) -> Option<(usize, u64)> {
    let mut symbols = condition
        .terms()
        .filter(|(monomial, _)| !monomial.is_empty());
    let (monomial, slope) = symbols.next()?;
    if symbols.next().is_some() || monomial.len() != 1 || !slope.is_positive() {
        return None;
    }
    let zero = BigRational::zero();
    let constant = condition.coefficient(&Vec::new()).unwrap_or(&zero);
    let least = (-constant / slope).ceil().to_integer();
    let least = u64::try_from(least.max(BigInt::zero())).ok()?;
    Some((*monomial.first()?, least))
}

/// Points of a region: small and large values of the symbols, the same in every run.
fn samples(region: &FormulaRegion) -> Vec<Vec<u64>> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move || {
        // splitmix64
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    };
    const SPREADS: [u64; 6] = [1000, 5, 100, 20, 10_000, 2];
    let mut found = BTreeSet::new();
    let mut points = Vec::new();
    for number in 0..TRIED {
        let spread = SPREADS[number % SPREADS.len()];
        let mixed = number % 4 == 3;
        let point: Vec<u64> = region
            .least
            .iter()
            .map(|least| {
                let spread = match mixed {
                    true => SPREADS[(random() % SPREADS.len() as u64) as usize],
                    false => spread,
                };
                least.saturating_add(random() % spread)
            })
            .collect();
        let at = big(&point);
        let inside = region
            .conditions
            .iter()
            .all(|c| !c.value(&at).is_negative());
        if inside && found.insert(point.clone()) {
            points.push(point);
            if points.len() == SAMPLES {
                break;
            }
        }
    }
    points
}

fn big(point: &[u64]) -> Vec<BigInt> {
    point.iter().map(|&value| value.into()).collect()
}
