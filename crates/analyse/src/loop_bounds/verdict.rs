//! Verdicts on loops: derived bounds with their evidence, or the reason why there is none.

use warpbound_base::CodeAddr;

#[cfg(doc)]
use crate::launch_ranges::LaunchRanges;

/// Result for the loops of one site (all contexts).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LoopVerdict {
    /// Header executions are limited.
    Bounded(DerivedBound),
    /// No bound was derived.
    Unknown(WhyUnknown),
}

/// Derived bound of a loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DerivedBound {
    /// Maximum number of header executions of one thread per entry of the loop.
    pub per_entry: u64,
    /// Maximum number of header executions of one thread in its whole run, if smaller than what follows from the
    /// loops around.
    pub total: Option<u64>,
    /// Header executions per entry that some thread reaches in every launch of the range; `None` if unknown. A
    /// smaller fact is false.
    pub certain: Option<u64>,
    /// The exit that the bound follows from.
    pub evidence: Evidence,
    /// The bound in terms of words of the launch, if it has this form.
    pub count: Option<CountFormula>,
}

/// Reason of a derived bound, as text in terms of the launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Evidence {
    /// Address of the branch that leaves the loop.
    pub exit: CodeAddr,
    /// Pattern of the count.
    pub pattern: CountPattern,
    /// Value of the counter when the loop is entered: `tid.x + 256*ctaid.x`.
    pub start: String,
    /// Change of the counter in each iteration: `+1`, `/2`.
    pub step: String,
    /// Comparison with which the loop continues: `< n`.
    pub limit: String,
}

/// Pattern by which iterations are counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CountPattern {
    /// The compared values change by constant or invariant steps.
    Affine,
    /// Intervals of the values, iteration by iteration, until none is left with which the loop continues (shifts,
    /// products).
    Unrolled,
    /// The difference of two values is halved in each iteration (binary search).
    Halving,
    /// As [`CountPattern::Affine`], but the number is large and rests on a word that only the width of its register
    /// limits: it says how long the loop can run without a wrap-around, not how long it runs.
    Width,
    /// The loop is not entered: conditions through which every path to it leads exclude each other.
    Never,
}

impl CountPattern {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            CountPattern::Affine => "affine",
            CountPattern::Unrolled => "unrolled",
            CountPattern::Halving => "halving",
            CountPattern::Width => "width",
            CountPattern::Never => "never",
        }
    }
}

/// Reason why a loop has no derived bound.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WhyUnknown {
    /// A value loaded from memory decides how often the loop runs: addresses of the load and of the exit.
    Memory {
        /// Address of the load.
        load: CodeAddr,
        /// Address of the branch that leaves the loop.
        exit: CodeAddr,
    },
    /// The count depends on a word of the launch about which too little is known.
    Parameter {
        /// Name of the word.
        name: String,
        /// Address of the branch that leaves the loop.
        exit: CodeAddr,
    },
    /// No exit has a pattern that is counted; the text says why.
    Pattern(String),
}

/// Header executions per entry as a formula: the greatest of 0 and `⌈numerator / divisor⌉`, plus `added`. For
/// example, `for (i = tid; i < n; i += 4)` has the numerator `n`, the divisor 4 and 1 added.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CountFormula {
    /// Sum of products of words of the launch, each with a coefficient; the empty product is the number 1. The words
    /// are keys of [`LaunchRanges::words`].
    pub numerator: Vec<(i64, Vec<(u8, u32)>)>,
    /// Positive divisor.
    pub divisor: u64,
    /// Number added to the quotient, or to 0.
    pub added: i64,
    /// For each word in the numerator, the range of its contents as a number for which the formula holds.
    pub valid: Vec<((u8, u32), i64, i64)>,
}

impl LoopVerdict {
    /// The verdict that holds for two contexts of a loop.
    pub(super) fn worse(self, other: LoopVerdict) -> LoopVerdict {
        match (self, other) {
            (LoopVerdict::Bounded(a), LoopVerdict::Bounded(b)) => {
                let certain = a.certain.zip(b.certain).map(|(a, b)| a.min(b));
                let same = a.count == b.count;
                let (mut worse, other) = match a.per_entry >= b.per_entry {
                    true => (a, b),
                    false => (b, a),
                };
                worse.certain = certain;
                // A thread may run the loop in both contexts.
                worse.total = worse
                    .total
                    .zip(other.total)
                    .map(|(a, b)| a.saturating_add(b));
                // A formula of one context need not hold in the other.
                if !same {
                    worse.count = None;
                }
                LoopVerdict::Bounded(worse)
            }
            // A bound of one context alone is not a bound of the site.
            (unknown @ LoopVerdict::Unknown(_), _) | (_, unknown) => unknown,
        }
    }
}
