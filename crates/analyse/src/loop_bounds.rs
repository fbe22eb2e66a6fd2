//! Bounds of loops from the machine code (SOUNDNESS 5.12): upper bounds on how often a thread executes the headers of
//! a loop each time it enters the loop, for all launches of a range.

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
mod progression;
mod solve;
mod solver;
mod totals;
mod unrolling;
mod verdict;

pub(crate) use solver::LoopSolver;
pub use verdict::{CountFormula, CountPattern, DerivedBound, Evidence, LoopVerdict, WhyUnknown};

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
