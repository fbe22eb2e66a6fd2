//! Search for formulas: multipliers from sample points, and the regions where they are valid. Nothing here is
//! trusted: [`certify`] checks every claim.

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use warpbound_base::{Deadline, Diagnostic, Quantity};

use super::certificate::{Formula, FormulaClaim, FormulaRegion, Obligation, certify};
use super::coefficients::multipliers_at;
use super::multipliers::{DualBasis, NoOptimum, Nudge, SampleOptimum, multipliers_of, optimum_at};
use super::polynomial::Polynomial;
use super::program::SymbolicProgram;
use super::proof::factors_for;
use crate::model::Relation;

/// Maximum number of regions of a formula.
const MAX_REGIONS: usize = 8;

/// Maximum number of polynomials in one region, whose minimum is the bound.
const MAX_POLYNOMIALS: usize = 4;

/// Number of searches for coefficients.
const COEFFICIENT_TRIES: usize = 6;

/// Number of sample points per region, and of points that are tried to find them.
const SAMPLES: usize = 14;
const TRIED: usize = 3000;

/// Ways to select an optimal basis, in the order of the attempts.
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
        coefficient_tries: COEFFICIENT_TRIES,
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

/// Region that is left to do, with bases whose multipliers may be valid there.
struct OpenRegion {
    region: FormulaRegion,
    inherited: BTreeSet<DualBasis>,
}

struct Search<'a> {
    program: &'a SymbolicProgram,
    effort: FormulaEffort,
    /// Multipliers of each basis that was met; `None` if they are no polynomials.
    solved: BTreeMap<DualBasis, Option<Solved>>,
    /// Number of searches for coefficients that are left.
    coefficient_tries: usize,
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

/// Sample point with the optimum there.
struct Sample {
    point: Vec<u64>,
    big: Vec<BigInt>,
    optimum: SampleOptimum,
}

impl Sample {
    /// Whether the value of a bound is the optimum.
    fn is_reached_by(&self, bound: &Polynomial) -> bool {
        bound.value(&self.big) == self.optimum.value
    }
}

/// Claim with its bound, and the number of samples where it was the first claim to reach the optimum.
struct Candidate {
    claim: FormulaClaim,
    bound: Polynomial,
    samples: usize,
}

/// Result for a region.
enum RegionResult {
    /// Claims that hold in the region; none if none was found.
    Done(Vec<FormulaClaim>),
    /// The region divided in two, by a polynomial that is at least 0 in the first part.
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
            // A division replaces this region by two.
            let may_divide = open.len() + done + 1 < MAX_REGIONS;
            match self.region(&region, &mut inherited, may_divide) {
                RegionResult::Done(found) => {
                    done += usize::from(!found.is_empty());
                    claims.extend(found);
                }
                RegionResult::Divided(first, second) => {
                    // The stack returns the last one first, so the pieces are in the order of the divisions.
                    for region in [second, first] {
                        let inherited = inherited.clone();
                        open.push(OpenRegion { region, inherited });
                    }
                }
            }
        }
        claims
    }

    /// Finds claims in a region, or divides the region.
    fn region(
        &mut self,
        region: &FormulaRegion,
        bases: &mut BTreeSet<DualBasis>,
        may_divide: bool,
    ) -> RegionResult {
        let samples = match self.samples(region) {
            Ok(samples) => samples,
            Err(reason) => {
                self.reason = reason;
                return RegionResult::Done(Vec::new());
            }
        };
        let known = bases
            .iter()
            .filter_map(|basis| self.solved.get(basis)?.as_ref());
        let mut valid: Vec<Candidate> = known
            .filter_map(|solved| Candidate::of(solved, region).ok())
            .collect();
        let mut loose = Vec::new();
        // The search by coefficients is made once, before the whole range is divided.
        let mut is_tried = !region.conditions.is_empty() || region.least.iter().any(|l| *l > 1);
        for sample in &samples {
            if self.effort.deadline.is_past() {
                return RegionResult::Done(Vec::new());
            }
            if let Some(tight) = valid.iter_mut().find(|c| sample.is_reached_by(&c.bound)) {
                tight.samples += 1;
                continue;
            }
            let condition = match self.claim_of_bases(region, sample, bases) {
                Ok(found) => {
                    valid.push(found);
                    continue;
                }
                Err(condition) => condition,
            };
            if !is_tried {
                is_tried = true;
                let found = self.claim_of_coefficients(region, sample);
                let whole = |c: &Candidate| samples.iter().all(|s| s.is_reached_by(&c.bound));
                if let Some(found) = found.filter(whole) {
                    valid = vec![found];
                    continue;
                }
            }
            if let (Some(condition), true) = (condition, may_divide) {
                let (first, second) = divided(region, &condition);
                return RegionResult::Divided(first, second);
            }
            loose.push(sample);
        }
        self.tighten(region, &loose, &mut valid);
        let some_tight = valid.iter().any(|c| c.samples > 0);
        // If no claim reaches an optimum, any valid claim is better than none.
        valid.retain(|c| c.samples > 0 || !some_tight);
        valid.sort_by_key(|c| std::cmp::Reverse(c.samples));
        valid.truncate(if some_tight { MAX_POLYNOMIALS } else { 1 });
        RegionResult::Done(valid.into_iter().map(|c| c.claim).collect())
    }

    /// Sample points of a region with the optimum at each.
    fn samples(&self, region: &FormulaRegion) -> Result<Vec<Sample>, &'static str> {
        let mut samples = Vec::new();
        for point in points(region) {
            match self.optimum(&point, Nudge::None) {
                Ok(optimum) => samples.push(Sample {
                    big: big(&point),
                    point,
                    optimum,
                }),
                Err(NoOptimum::Unbounded) => {
                    return Err("the count rows leave a count without limit");
                }
                Err(NoOptimum::Unsolved) => {}
            }
        }
        Ok(samples)
    }

    /// Finds a claim from one of the optimal bases at a sample point. Otherwise returns a condition that would make
    /// one of them valid, if its multipliers are polynomials.
    fn claim_of_bases(
        &mut self,
        region: &FormulaRegion,
        sample: &Sample,
        bases: &mut BTreeSet<DualBasis>,
    ) -> Result<Candidate, Option<Polynomial>> {
        let mut failed = None;
        for nudge in NUDGES {
            let basis = match nudge {
                Nudge::None => sample.optimum.basis.clone(),
                _ => match self.optimum(&sample.point, nudge) {
                    Ok(nudged) => nudged.basis,
                    Err(_) => continue,
                },
            };
            let Some(solved) = self.solve(&basis) else {
                continue;
            };
            if !sample.is_reached_by(&solved.bound) {
                continue;
            }
            match Candidate::of(solved, region) {
                Ok(found) => {
                    bases.insert(basis);
                    return Ok(Candidate {
                        samples: 1,
                        ..found
                    });
                }
                Err(condition) => {
                    failed.get_or_insert((basis, condition));
                }
            }
        }
        Err(failed.map(|(basis, condition)| {
            self.reason = "the conditions under which the multipliers prove a bound divide the range too often";
            bases.insert(basis);
            condition
        }))
    }

    /// Finds a claim by its coefficients, whose bound is as small as possible at a sample point.
    fn claim_of_coefficients(
        &mut self,
        region: &FormulaRegion,
        sample: &Sample,
    ) -> Option<Candidate> {
        self.coefficient_tries = self.coefficient_tries.checked_sub(1)?;
        let deadline = self.effort.deadline;
        let found = multipliers_at(self.program, region, &sample.point, deadline)?;
        let solved = Solved::with(self.program, found)?;
        let found = Candidate::of(&solved, region).ok()?;
        let samples = usize::from(sample.is_reached_by(&found.bound));
        Some(Candidate { samples, ..found })
    }

    /// Adds claims by their coefficients for sample points where no claim reaches the optimum.
    fn tighten(&mut self, region: &FormulaRegion, loose: &[&Sample], valid: &mut Vec<Candidate>) {
        for sample in loose {
            let value = |c: &Candidate| c.bound.value(&sample.big);
            let least = valid.iter().map(value).min();
            if least.as_ref() == Some(&sample.optimum.value) {
                continue;
            }
            let found = self.claim_of_coefficients(region, sample);
            valid.extend(found.filter(|c| least.is_none_or(|least| value(c) < least)));
        }
    }

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
        Solved::with(program, multipliers_of(program, basis)?)
    }

    /// Computes bound and obligations of multipliers.
    fn with(program: &SymbolicProgram, multipliers: Vec<Polynomial>) -> Option<Solved> {
        let (rows, vars) = (program.base().rows(), program.base().vars());
        let mut obligations = Vec::new();
        let mut bound = Polynomial::default();
        let costs = vars
            .iter()
            .map(|var| Polynomial::integer(-i128::from(var.cost)));
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

impl Candidate {
    /// Makes the claim of multipliers in a region. If some obligations cannot be proved there, returns the simplest
    /// of them.
    fn of(solved: &Solved, region: &FormulaRegion) -> Result<Candidate, Polynomial> {
        let mut proofs = BTreeMap::new();
        let mut failed: Option<&Polynomial> = None;
        for (obligation, polynomial) in &solved.obligations {
            match factors_for(polynomial, region) {
                Some(factors) if factors.is_empty() => {}
                Some(factors) => {
                    proofs.insert(*obligation, factors);
                }
                None => {
                    // The condition divides the region. One that is linear in a single symbol becomes a minimum value
                    // of the symbol.
                    let rank = |p: &Polynomial| (p.degree(), p.terms().count());
                    if failed.is_none_or(|least| rank(polynomial) < rank(least)) {
                        failed = Some(polynomial);
                    }
                }
            }
        }
        match failed {
            Some(condition) => Err(condition.clone()),
            None => Ok(Candidate {
                claim: FormulaClaim {
                    region: region.clone(),
                    multipliers: solved.multipliers.clone(),
                    proofs,
                },
                bound: solved.bound.clone(),
                samples: 0,
            }),
        }
    }
}

/// Divides a region: `condition` is at least 0 in the first part, and below 0 in the second.
fn divided(region: &FormulaRegion, condition: &Polynomial) -> (FormulaRegion, FormulaRegion) {
    let condition = condition.primitive();
    // Symbols and coefficients are integers, so a value below 0 is at most -1.
    let below = Polynomial::integer(-1).minus(&condition);
    (
        with_condition(region, condition),
        with_condition(region, below),
    )
}

/// Returns the part of a region where `condition` is at least 0.
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

/// Returns a symbol and its minimum value, if `condition` says no more than this. For example, `2*n - 5` is at least
/// 0 for the integers n from 3 on.
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
fn points(region: &FormulaRegion) -> Vec<Vec<u64>> {
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
