//! Concrete execution models of a warp: the instruction that it executes next, the lanes that execute it, and how
//! control transfers change both.
//!
//! Simulators evaluate conditions and targets in each lane; an [`ExecutionModel`] has all further rules of divergence
//! and reconvergence. [`crate::AbstractModel`] is the abstract side.

use crate::warp::DivergenceOrder;
use crate::{Mask, Tag};

/// Control transfer of one instruction, at program points `P`.
///
/// No model has all of these transfers. For example, [`ControlTransfer::Push`] is one of activation stacks, and
/// [`ControlTransfer::SetActive`] is one of waves with an EXEC mask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ControlTransfer<'a, P> {
    /// None: the active lanes continue at the next point.
    Next,
    /// The taken lanes continue at a point, the others at the next one.
    Jump(P),
    /// The taken lanes continue at several points, the others at the next one: a partition of the taken lanes without
    /// empty parts. The model decides the order of the parts.
    Indirect(&'a [(P, Mask)]),
    /// A jump whose lanes reconverge at a point if they diverge.
    Branch {
        /// Point where the taken lanes continue.
        target: P,
        /// Reconvergence point; `None` is the end of the kernel.
        reconvergence: Option<P>,
    },
    /// Reconvergence point.
    Reconverge,
    /// Pushes a stack entry that has the active lanes; they continue at the next point.
    Push {
        /// Tag of the entry.
        tag: Tag,
        /// Point where it resumes.
        resume: P,
    },
    /// Pushes a RET entry that resumes at the next point; the active lanes continue at the callee.
    Call(P),
    /// The taken lanes leave for the first stack entry of a tag; the others continue at the next point.
    Pop(Tag),
    /// The taken lanes end; the others continue at the next point.
    Exit,
    /// Replaces the active mask; the warp continues at the next point.
    SetActive(Mask),
    /// The taken lanes make a convergence barrier, and this register names it.
    OpenBarrier(u8),
    /// The taken lanes wait for the lanes of the barrier that a register names.
    JoinBarrier(u8),
    /// The taken lanes leave the barrier that a register names.
    BreakBarrier(u8),
    /// A register names no barrier any longer in the taken lanes.
    SaveBarrier(u8),
    /// A register names the barriers with these numbers, one for each lane.
    WriteBarrier {
        /// The register.
        register: u8,
        /// Numbers; 0 is none.
        values: &'a [u32],
    },
    /// The taken lanes wait for all lanes of a mask, or for all that have not ended.
    Meet(Option<Mask>),
    /// The taken lanes wait as for [`ControlTransfer::Meet`], and then execute the next point as one group of lanes.
    Gather {
        /// Lanes that are waited for; `None` for all that have not ended.
        lanes: Option<Mask>,
        /// Point after the group, where its lanes are apart again.
        after: P,
    },
    /// The lanes of a group that gathered go on as the groups that came. Other lanes go on together.
    Scatter,
    /// Other lanes may run before the active ones.
    Yield,
}

/// Reason why an execution model cannot apply a [`ControlTransfer`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransferError {
    /// Stack underflow: lanes leave for an entry of this tag and the stack has none.
    MissingEntry(Tag),
    /// The model has no such transfer, or not for a part of the active lanes.
    NotInModel,
    /// All lanes of the warp wait for each other.
    WaitsForEver,
    /// All lanes of the warp wait for each other, and some of them gather at different points.
    GathersApart,
}

/// State of one warp under the rules of a machine.
pub trait ExecutionModel<P> {
    /// Returns the state of a warp about to execute `start` with the lanes `active`. With an empty mask the warp has
    /// finished, except in models whose warps continue without lanes. `order` is the order of the sides of a
    /// divergent jump, in models whose jumps diverge; [`DivergenceOrder::Any`] runs the taken side first, as
    /// [`DivergenceOrder::TakenFirst`] does.
    fn new(start: P, active: Mask, order: DivergenceOrder) -> Self;

    /// Returns the point that runs next and the active lanes, or `None` if the warp has finished. The mask is empty
    /// only in models whose warps continue without active lanes.
    fn running(&self) -> Option<(P, Mask)>;

    /// Whether lanes that have not exited are missing among those that arrive at a barrier of the block, in a model whose
    /// barriers count threads. Where they count warps, no lane is missing.
    fn misses_lanes(&self, _arriving: Mask) -> bool {
        false
    }

    /// Number that stands for the convergence barrier that a register names in a lane; 0 if there is none, and in models
    /// without such barriers.
    fn barrier_in(&self, _register: u8, _lane: usize) -> u32 {
        0
    }

    /// Applies the control transfer of the instruction at the running point. The instruction's condition holds in the
    /// active lanes `taken`; `next` is the point after it. Returns whether the active lanes split.
    ///
    /// # Errors
    ///
    /// [`TransferError`]; the state is unchanged.
    fn apply(
        &mut self,
        transfer: &ControlTransfer<'_, P>,
        taken: Mask,
        next: P,
    ) -> Result<bool, TransferError>;
}
