//! Derived bounds of loops as claims about runs.
//!
//! For example, the bound of `for (i = tid; i < n; i += 256)` for n up to 1000 is 5 header executions per entry. A
//! thread that runs the header 6 times contradicts it. Two sets of bounds are compared with each run: for its own
//! launch, and for all launches.

use std::collections::BTreeMap;

use warpbound_analyse::launch_ranges::LaunchRanges;
use warpbound_analyse::loop_bounds::{CountFormula, DerivedBound, LoopVerdict, derive};
use warpbound_analyse::stated_data::RangedLoad;
use warpbound_base::Diagnostic;
use warpbound_ir::OpIndex;
use warpbound_launch::LaunchFile;

use super::{AuditObservations, HeaderMaximum};
use warpbound_query::prepared::Prepared;
use warpbound_query::stated_launches::StatedLaunches;
use warpbound_query::{BoundOptions, KernelFlow, Session};

/// Verdicts on the loops of a kernel for launches of a range.
#[derive(Clone, Debug)]
pub struct DerivedClaims {
    verdicts: Vec<LoopVerdict>,
    ranges: LaunchRanges,
}

/// Part of a derived bound.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DerivedPart {
    /// Maximum number of header executions per entry.
    PerEntry,
    /// Maximum number of header executions in the whole run.
    Total,
    /// Header executions per entry that some thread reaches in every launch.
    Certain,
    /// Formula of the header executions per entry.
    Formula,
}

/// Derived number that a run contradicts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BrokenDerivation {
    /// Number of the loop.
    pub number: usize,
    /// The part.
    pub part: DerivedPart,
    /// Derived number.
    pub derived: u64,
    /// Largest observed number, with its thread; `None` if no thread executed the header.
    pub most: Option<HeaderMaximum>,
}

/// Derives the bounds of loops for one launch.
///
/// # Errors
///
/// The launch does not suit the kernel.
pub fn derived_for_launch(
    session: &Session,
    prepared: &Prepared<'_>,
    flow: &KernelFlow,
    grid: &LaunchFile,
) -> Result<DerivedClaims, Diagnostic> {
    let launches = StatedLaunches::one(grid);
    derived_for(session, prepared, flow, launches)
}

/// Returns the loads of a kernel for which a launch states the range of the numbers.
///
/// # Errors
///
/// The launch does not suit the kernel.
pub fn ranged_loads(
    session: &Session,
    prepared: &Prepared<'_>,
    flow: &KernelFlow,
    launch: &LaunchFile,
) -> Result<BTreeMap<OpIndex, RangedLoad>, Diagnostic> {
    let options = BoundOptions {
        launches: StatedLaunches::one(launch),
        ..BoundOptions::default()
    };
    let ranges = session.launch(prepared.kernel, &options)?.ranges;
    Ok(warpbound_analyse::stated_data::ranged_loads(
        &prepared.code,
        &flow.thread,
        &ranges,
    ))
}

/// Derives the bounds of loops for all launches.
///
/// # Errors
///
/// The kernel requires a block size that no launch can have.
pub fn derived_for_all(
    session: &Session,
    prepared: &Prepared<'_>,
    flow: &KernelFlow,
) -> Result<DerivedClaims, Diagnostic> {
    derived_for(session, prepared, flow, StatedLaunches::default())
}

/// Derives the bounds of loops for stated launches.
///
/// # Errors
///
/// The statements do not suit the kernel.
pub fn derived_for(
    session: &Session,
    prepared: &Prepared<'_>,
    flow: &KernelFlow,
    launches: StatedLaunches,
) -> Result<DerivedClaims, Diagnostic> {
    let options = BoundOptions {
        launches,
        ..BoundOptions::default()
    };
    let ranges = session.launch(prepared.kernel, &options)?.ranges;
    let verdicts = derive(&prepared.code, &flow.thread, &flow.loops, &ranges);
    Ok(DerivedClaims { verdicts, ranges })
}

impl DerivedClaims {
    /// Returns the verdicts, in the order of [`warpbound_analyse::loops::Loops::sites`].
    pub fn verdicts(&self) -> &[LoopVerdict] {
        &self.verdicts
    }

    /// Returns the derived bound of a loop.
    pub fn bound(&self, number: usize) -> Option<&DerivedBound> {
        match self.verdicts.get(number)? {
            LoopVerdict::Bounded(bound) => Some(bound),
            LoopVerdict::Unknown(_) => None,
        }
    }

    /// Changes each derived bound: a planted fault that tests use.
    pub fn change(&mut self, change: impl Fn(&mut DerivedBound)) {
        for verdict in &mut self.verdicts {
            if let LoopVerdict::Bounded(bound) = verdict {
                change(bound);
            }
        }
    }

    /// Returns the derived numbers that the threads of a run contradict. `launch` has the parameter words of that
    /// run, which formulas need. A certain number is compared only if all threads of the run have ended.
    pub fn violated(
        &self,
        seen: &AuditObservations,
        launch: &DerivedClaims,
        has_ended: bool,
    ) -> Vec<BrokenDerivation> {
        let mut broken = Vec::new();
        let numbers = seen.max_per_entry.iter().zip(&seen.max_totals).enumerate();
        for (number, (per_entry, total)) in numbers {
            let Some(bound) = self.bound(number) else {
                continue;
            };
            let formula = bound.count.as_ref();
            let formula = formula.and_then(|formula| value_of(formula, &launch.ranges));
            let claims = [
                (DerivedPart::PerEntry, Some(bound.per_entry), *per_entry),
                (DerivedPart::Total, bound.total, *total),
                (DerivedPart::Certain, bound.certain, *per_entry),
                (DerivedPart::Formula, formula, *per_entry),
            ];
            for (part, derived, most) in claims {
                let Some(derived) = derived else {
                    continue;
                };
                let count = most.map_or(0, |most| most.count);
                let is_broken = match part {
                    // A fault may stop the thread that would have reached the number.
                    DerivedPart::Certain => has_ended && count < derived,
                    _ => count > derived,
                };
                if is_broken {
                    broken.push(BrokenDerivation {
                        number,
                        part,
                        derived,
                        most,
                    });
                }
            }
        }
        broken
    }
}

impl BrokenDerivation {
    /// Returns the contradiction as a clause; `id` names the loop, `launches` what the bound was derived for.
    pub(super) fn text(&self, id: &str, launches: &str) -> String {
        let derived = self.derived;
        let claim = match self.part {
            DerivedPart::PerEntry => format!("{id} <= {derived}"),
            DerivedPart::Total => format!("{id} <= {derived} in total"),
            DerivedPart::Certain => format!("{id} >= {derived} in some thread"),
            DerivedPart::Formula => format!("{id} <= {derived} by its formula"),
        };
        let seen = match self.most {
            Some(most) => format!(
                "thread {} of block {} ran {}",
                most.thread,
                super::index_text(most.block),
                most.count
            ),
            None => "no thread ran it".to_owned(),
        };
        format!("derived bound {claim} ({launches}) broken: {seen}")
    }
}

/// Returns the value of a formula for the words of a launch; `None` if a word is unknown or outside the range of
/// validity of the formula. For example, the numerator n, the divisor 256 and the summand 1 give ⌈1000/256⌉ + 1 = 5
/// for n = 1000.
fn value_of(formula: &CountFormula, launch: &LaunchRanges) -> Option<u64> {
    let content = |word: (u8, u32)| {
        let known = launch.words.get(&word)?.range?.only()?;
        let (_, least, most) = formula.valid.iter().find(|(valid, ..)| *valid == word)?;
        // The formula holds for a range of integers, which decides whether the word is signed.
        let readings = [i64::from(known as i32), i64::from(known)];
        readings.into_iter().find(|n| least <= n && n <= most)
    };
    let mut sum = 0i128;
    for (factor, words) in &formula.numerator {
        let mut product = i128::from(*factor);
        for word in words {
            // A number outside 128 bits claims nothing, which is sound.
            product = product.checked_mul(content(*word)?.into())?;
        }
        sum = sum.checked_add(product)?;
    }
    let divisor = i128::from(formula.divisor);
    // Rounded up, because the last step may go beyond the limit: a distance of 1000 takes 4 steps of 256.
    let quotient = sum
        .checked_add(divisor.checked_sub(1)?)?
        .checked_div_euclid(divisor)?;
    let count = quotient.checked_add(formula.added.into())?;
    // A thread that enters the loop executes its header at least once.
    u64::try_from(count.max(1)).ok()
}
