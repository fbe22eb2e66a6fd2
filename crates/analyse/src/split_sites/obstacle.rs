//! Obstacles to splitting: operations that may make results depend on the lanes of a split.

use std::fmt;

use warpbound_base::Named;
use warpbound_ir::{Cell, OpIndex};

use crate::branch_sites::BranchSite;

/// Obstacle to splitting at a site, at an operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SplitObstacle {
    /// The operation.
    pub at: OpIndex,
    /// The reason.
    pub reason: ObstacleReason,
}

/// Kind of difference between a register of the warp in a split and in the whole wave.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DifferenceKind {
    /// A mask of lanes: in a split it lacks the lanes of others.
    Mask,
    /// The value of another lane, which may be one of another split.
    OtherLane,
    /// Code that the split skips wrote it.
    Skipped,
    /// An operation of unknown meaning wrote it.
    Unknown,
}

impl Named for DifferenceKind {
    const ALL: &'static [(DifferenceKind, &'static str)] = &[
        (DifferenceKind::Mask, "a mask of lanes"),
        (DifferenceKind::OtherLane, "a value of another lane"),
        (
            DifferenceKind::Skipped,
            "written in code that a split may skip",
        ),
        (
            DifferenceKind::Unknown,
            "written by an operation of unknown meaning",
        ),
    ];
}

/// Operation after which a register of the warp may differ between a split and the whole wave.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct DifferenceCause {
    /// Kind.
    pub kind: DifferenceKind,
    /// The operation.
    pub at: OpIndex,
}

/// Reason why splitting may change a result.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ObstacleReason {
    /// The branch is of a kind at which waves do not split.
    Kind(BranchSite),
    /// No operation of the block narrows the mask of active lanes.
    NoMaskWrite,
    /// A function is analysed once for several calls.
    SharedCalls,
    /// Lanes may become active here that were not active at the branch where a split skips the operation.
    ActivatesLanes,
    /// The mask of active lanes is set from words that may differ in the lanes of a split.
    ActiveMask(DifferenceCause),
    /// A lane reads a register of the warp, which may differ.
    Data(DifferenceCause),
    /// A register of the warp that may differ decides a branch, or addresses memory.
    Decision(DifferenceCause),
    /// A lane reads registers of other lanes.
    OtherLanes,
    /// Registers of lanes are written whether they are active or not.
    WritesLanes,
    /// A store of the wave: each split would execute it.
    ScalarStore,
    /// A message: each split would send it.
    Message,
    /// A barrier that a split may skip, or that a split which is to merge would wait at.
    Barrier,
    /// An access to shared memory, by which lanes may exchange data, in code without barriers.
    SharedMemory,
    /// An operation of unknown meaning.
    NoMeaning,
    /// A call of a function outside the code, or control flow that is not followed.
    Control,
    /// A loop that a split without active lanes may never leave.
    Endless,
    /// A load of the wave that only splits without active lanes execute.
    LoneLoad,
    /// All paths from the branch reach no point at which lanes of both sides are active.
    NoJoin,
    /// The branch may be executed again before the splits merge.
    BranchAgain,
    /// Splits of a branch before the merge point would merge after it.
    LaterJoin,
    /// A register of the warp that may differ between the splits is used after the merge point.
    LiveWord(Cell, DifferenceCause),
}

impl ObstacleReason {
    /// The operation from which a difference comes, where the reason is one.
    pub fn cause(self) -> Option<DifferenceCause> {
        match self {
            ObstacleReason::ActiveMask(cause)
            | ObstacleReason::Data(cause)
            | ObstacleReason::Decision(cause)
            | ObstacleReason::LiveWord(_, cause) => Some(cause),
            _ => None,
        }
    }
}

impl fmt::Display for ObstacleReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            ObstacleReason::Kind(kind) => {
                return write!(f, "the branch is of the kind '{}'", kind.name());
            }
            ObstacleReason::ActiveMask(cause) => {
                return write!(f, "sets the active lanes from {}", cause.kind.name());
            }
            ObstacleReason::Data(cause) => {
                return write!(f, "a lane reads a scalar register: {}", cause.kind.name());
            }
            ObstacleReason::Decision(cause) => {
                let kind = cause.kind.name();
                return write!(f, "a scalar register decides or addresses: {kind}");
            }
            ObstacleReason::LiveWord(cell, cause) => {
                return write!(f, "{cell} is used after the join: {}", cause.kind.name());
            }
            ObstacleReason::NoMaskWrite => "its block does not write EXEC",
            ObstacleReason::SharedCalls => "the kernel calls functions recursively or very often",
            ObstacleReason::ActivatesLanes => {
                "may activate lanes where a split without active lanes does not follow"
            }
            ObstacleReason::OtherLanes => "a lane reads registers of other lanes",
            ObstacleReason::WritesLanes => "writes registers of lanes that may not be active",
            ObstacleReason::ScalarStore => "a scalar store, which each split would execute",
            ObstacleReason::Message => "a message, which each split would send",
            ObstacleReason::Barrier => "a barrier, at which not all splits arrive or merge",
            ObstacleReason::SharedMemory => {
                "shared memory may pass data between lanes without a barrier: the group is one wave"
            }
            ObstacleReason::NoMeaning => "its meaning is unknown",
            ObstacleReason::Control => "its control flow is not followed",
            ObstacleReason::Endless => "a split without active lanes may never leave the loop",
            ObstacleReason::LoneLoad => "a scalar load that only splits without lanes execute",
            ObstacleReason::NoJoin => "no join at which lanes of both sides are active",
            ObstacleReason::LaterJoin => "splits of this branch would merge after those around it",
            ObstacleReason::BranchAgain => "the branch may be executed again before the join",
        };
        f.write_str(text)
    }
}
