//! Launch to be profiled: what is known of its values, its warps, and reasons why a warp has no profile.

use std::collections::BTreeSet;

use warpbound_base::Deadline;
use warpbound_ir::{Code, OpIndex};

use super::control::KnownTransfers;
use super::row::{ConstantWord, LaneRow};

/// Steps between two looks at the clock.
const DEADLINE_STEPS: u64 = 1 << 12;

/// Global memory whose contents a profile may read as constants.
pub trait GlobalContents {
    /// The byte at an address, if it is the same during the whole launch.
    fn byte(&self, address: u64) -> Option<u8>;

    /// A thread may write this number of bytes at an address, which is `None` if it is not known.
    fn write(&self, address: Option<u64>, bytes: u64);

    /// Whether a thread may write contents that are read as constants; results that were computed with them will not
    /// be used.
    fn is_outdated(&self) -> bool {
        false
    }
}

/// Loop whose header a thread executes at most `bound` times for each entry of the loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StatedLoop {
    /// Its only header.
    pub header: OpIndex,
    /// Its operations; none of them is also executed outside it.
    pub body: BTreeSet<OpIndex>,
    /// Maximum number of header executions.
    pub bound: u64,
}

/// Launch to be profiled: what is known of its values.
pub struct LaunchValues<'a> {
    /// Code of the kernel.
    pub code: &'a Code,
    /// Blocks of the grid in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Word of a constant bank at a byte address.
    pub constant: &'a dyn Fn(u8, u32) -> Option<ConstantWord>,
    /// Memory that loads may read; without it, all that they load is unknown.
    pub contents: Option<&'a dyn GlobalContents>,
    /// Whether global memory has this number of bytes at an address; without it, no access is compared with it.
    pub holds: Option<&'a dyn Fn(u64, u32) -> bool>,
    /// Knowledge about control transfers.
    pub transfers: &'a KnownTransfers,
    /// Loops with a bound, at most [`LaunchValues::MAX_LOOPS`].
    pub loops: &'a [StatedLoop],
    /// Maximum number of warp instructions that are executed for all warps together.
    pub steps: u64,
    /// Time at which profiles end without a result.
    pub deadline: Deadline,
}

impl LaunchValues<'_> {
    /// Largest number of loops with a bound.
    pub const MAX_LOOPS: usize = 64;

    /// Default of [`LaunchValues::steps`].
    pub const STEPS: u64 = 50_000_000;

    /// Uses up a step; fails if none is left, after the deadline, or if the result will not be used.
    pub(crate) fn spend_step(&self, left: &mut u64) -> Result<(), NoProfileReason> {
        *left = left.checked_sub(1).ok_or(NoProfileReason::Steps)?;
        if !left.is_multiple_of(DEADLINE_STEPS) {
            return Ok(());
        }
        // A loop that waits for a write may be endless with the contents from before.
        if self.contents.is_some_and(|contents| contents.is_outdated()) {
            return Err(NoProfileReason::Outdated);
        }
        match self.deadline.is_past() {
            true => Err(NoProfileReason::TimeLimit),
            false => Ok(()),
        }
    }
}

/// Loops of [`LaunchValues::loops`] at an operation, as bits.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct LoopBits {
    /// Loops that contain it.
    pub(super) around: u64,
    /// Loops whose header it is.
    pub(super) headed: u64,
}

/// Warp of a launch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct LaunchedWarp {
    /// Index of its block.
    pub block: [u32; 3],
    /// Its number in the block.
    pub warp: u32,
}

/// Warp to be executed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShapedWarp {
    /// Index of its block.
    pub(crate) block: [u32; 3],
    /// Its lanes that have threads.
    pub(crate) lanes: u32,
    /// Thread index of its lanes along each axis.
    pub(crate) threads: [LaneRow; 3],
}

/// Instructions of one warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WarpIssues {
    /// Maximum number of instructions that it issues.
    pub issues: u64,
    /// Whether every run of the launch issues exactly this number, because no unknown value decided anything.
    pub exact: bool,
}

/// Reason why a warp has no profile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoProfileReason {
    /// An operation that profiles do not follow.
    Unsupported,
    /// An indirect jump whose target is unknown.
    IndirectJump,
    /// Unknown values decide too often: most likely a loop without a bound.
    Decisions,
    /// Too many instructions.
    Steps,
    /// Too many stack entries: most likely an endless recursion.
    StackHeight,
    /// The deadline has passed.
    TimeLimit,
    /// Contents that were read as constants are written in the launch.
    Outdated,
}

/// Failure of a profile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoProfile {
    /// Operation at which it ends.
    pub at: OpIndex,
    /// Reason.
    pub reason: NoProfileReason,
}
