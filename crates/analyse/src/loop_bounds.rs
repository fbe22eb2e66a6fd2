//! Bounds of loops from the machine code (SOUNDNESS 5.12): upper bounds on how often a thread executes the headers of
//! a loop each time it enters the loop, for all launches of a range.

use warpbound_base::CodeAddr;
use warpbound_ir::Code;

use crate::dependence::Dependence;
use crate::launch_ranges::LaunchRanges;
use crate::loops::Loops;
use crate::masks::Masks;
use crate::thread_cfg::ThreadCfg;

mod arrivals;
mod choices;
mod counting;
pub(crate) mod exits;
mod footing;
mod halving;
mod header_words;
mod induction;
mod solver;
mod totals;
mod unrolling;

pub(crate) use solver::LoopSolver;

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

/// Derives the bounds of all loops, by site ([`Loops::sites`]).
///
/// Nothing is derived in code with recursion or shared contexts: there a loop of the graph is not what a thread
/// repeats.
pub fn derive(
    code: &Code,
    thread: &ThreadCfg,
    loops: &Loops,
    launch: &LaunchRanges,
) -> Vec<LoopVerdict> {
    if loops.sites.is_empty() {
        return Vec::new();
    }
    let unknown = |why: &str| LoopVerdict::Unknown(WhyUnknown::Pattern(why.to_owned()));
    if !loops.shared_returns.is_empty() {
        let recursion = unknown("the kernel has recursion or too many calling contexts");
        return vec![recursion; loops.sites.len()];
    }
    let Ok(masks) = Masks::compute(code, thread) else {
        let late = unknown("the time limit was reached");
        return vec![late; loops.sites.len()];
    };
    let code = thread.lane_code(code);
    let dependence = Dependence::compute(thread);
    let verdicts = LoopSolver::new(code, thread, &dependence, launch, masks.as_ref()).solve_all();
    let sites = 0..loops.sites.len();
    let of_site = |site: usize| {
        let members = loops.loops.iter().filter(|l| l.fact == site);
        let found = members.map(|l| match l.headers.as_slice() {
            [header] => verdicts.iter().find(|(of, _)| of == header).map(|(_, v)| v),
            _ => None,
        });
        let mut worst: Option<LoopVerdict> = None;
        for verdict in found {
            let verdict = match verdict {
                Some(verdict) => verdict.clone(),
                None => unknown("the loop has several headers"),
            };
            worst = Some(match worst {
                None => verdict,
                Some(before) => before.worse(verdict),
            });
        }
        worst.unwrap_or_else(|| unknown("the loop is in no context"))
    };
    sites.map(of_site).collect()
}

impl LoopVerdict {
    /// The verdict that holds for two contexts of a loop.
    fn worse(self, other: LoopVerdict) -> LoopVerdict {
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
