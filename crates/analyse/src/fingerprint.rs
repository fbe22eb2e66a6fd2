//! Fingerprints of loops: a text for each loop, equal in two builds of a kernel only if the loop's fact means the same
//! in both (SOUNDNESS 5.15).
//!
//! The text describes all that decides how often the loop is entered and how often its header runs: a slice of the
//! kernel with its control flow. Registers, addresses and the order of independent instructions leave no trace in it.

mod body;
mod events;
mod operands;
mod reaching;
mod slice;
mod text;
mod values;

use std::fmt;

use warpbound_base::CodeAddr;
use warpbound_ir::Code;
use warpbound_simt::counts::CountedLoop;

use crate::loops::Loops;
use crate::thread_cfg::ThreadCfg;

use slice::Slice;
use values::Values;

/// Fingerprint of a loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoopFingerprint {
    /// Code that decides how often the loop is entered and how often its header runs; the reason if it is not known.
    pub decides: Result<CountSlice, FingerprintObstacle>,
    /// Instructions of the loop, without those of the loops in it: the multiset of their texts without registers.
    pub body: String,
}

/// Code that decides the counts of a loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CountSlice {
    /// Canonical text of the slice.
    pub text: String,
    /// Whether values from memory or from constants of the module decide the counts, so that their initial contents in
    /// the binary count as well.
    pub reads_data: bool,
}

/// Reason why the code that decides a loop's counts is not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FingerprintObstacle {
    /// The loop is recursion.
    Recursion,
    /// Instruction of unknown effect.
    UnknownInstruction(CodeAddr),
    /// Function outside the file may write registers or memory.
    ExternalCall,
    /// Value from other lanes of the warp, which depends on the lanes that are active.
    OtherLanes(CodeAddr),
    /// Jump through a register, or return that may lead to several places.
    IndirectJump(CodeAddr),
    /// More operations decide the counts than are compared.
    TooLarge,
    /// The time limit is exceeded.
    TimeLimit,
}

impl fmt::Display for FingerprintObstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FingerprintObstacle::Recursion => f.write_str("it is recursion"),
            FingerprintObstacle::UnknownInstruction(at) => {
                write!(
                    f,
                    "its count rests on the instruction at {at}, whose effect is unknown"
                )
            }
            FingerprintObstacle::ExternalCall => {
                f.write_str("its count may rest on a function outside the file")
            }
            FingerprintObstacle::OtherLanes(at) => {
                write!(
                    f,
                    "its count rests on values of other lanes, from the instruction at {at}"
                )
            }
            FingerprintObstacle::IndirectJump(at) => {
                write!(
                    f,
                    "its count rests on the jump at {at}, which may lead to several places"
                )
            }
            FingerprintObstacle::TooLarge => {
                f.write_str("more instructions decide its count than are compared")
            }
            FingerprintObstacle::TimeLimit => f.write_str("the time limit is exceeded"),
        }
    }
}

/// Maximum number of operations in the slices of all loops of a kernel: each loop has an equal share, whatever the others
/// need, so that a fingerprint does not depend on them. Loops of kernels with thousands of instructions that memory
/// decides have most of the kernel in their slices.
const MAX_OPERATIONS: usize = 300_000;

/// Least share of a loop.
const MIN_SHARE: usize = 2_000;

/// Computes the fingerprints of all loops, in the order of [`Loops::sites`].
pub fn loop_fingerprints(code: &Code, thread: &ThreadCfg, loops: &Loops) -> Vec<LoopFingerprint> {
    let mut values = Values::new(code, thread);
    let share = MAX_OPERATIONS / loops.sites.len().max(1);
    let share = share.max(MIN_SHARE);
    let sites = loops.sites.iter().enumerate();
    let print = |(fact, site): (usize, &crate::loops::LoopSite)| {
        let of_site = loops.loops.iter().filter(|l| l.fact == fact);
        let of_site: Vec<&CountedLoop> = of_site.collect();
        let decides = match site.recursion {
            Some(_) => Err(FingerprintObstacle::Recursion),
            None => Slice::find(code, thread, &mut values, &of_site, share)
                .and_then(|slice| text::print(&slice, code, thread, &mut values)),
        };
        LoopFingerprint {
            decides,
            body: body::print(code, thread, loops, fact),
        }
    };
    sites.map(print).collect()
}
