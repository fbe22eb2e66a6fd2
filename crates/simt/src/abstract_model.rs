//! Abstract execution models of a warp: the states and steps of the warp-level graph (`warp-cfg-2023` 3).
//!
//! An [`AbstractModel`] covers the runs of an [`crate::ExecutionModel`]: each concrete step of a warp is a step that
//! the abstract state at its node allows, and the lanes agree on the cells that it claims (SOUNDNESS 4).

use crate::warp::{CellSet, KnownCondition, MayUnderflow, WarpStep};
use crate::{EntryId, EntryTable, NodeId};

/// Abstract state of a warp about to execute a node.
pub trait AbstractState: Clone {
    /// Whether the active lanes agree on all of `cells`.
    fn active_agree(&self, cells: impl IntoIterator<Item = usize>) -> bool;

    /// Updates agreement for a write of `cells` by the active lanes (`warp-cfg-2023` 3.3, SOUNDNESS 4.3).
    ///
    /// `agrees`: all lanes that write, write equal values. `guarded`: the write has a condition, so old values may
    /// stay. For example, `@P MOV R1, 5` writes equal values under a guard; where P does not hold, a lane keeps its
    /// old R1.
    fn write(&mut self, cells: &[usize], agrees: bool, guarded: bool);

    /// Stack entries that may be pending. The rows for loops in lockstep (SOUNDNESS 5.5, 5.7) rest on the fact that
    /// inactive lanes wait in these entries and nowhere else.
    fn pending(&self) -> &[EntryId];
}

/// Abstract execution model, with the precision of the analysis.
pub trait AbstractModel {
    /// Abstract state.
    type State: AbstractState;
    /// Control operation at the end of a node.
    type Control;

    /// Whether active lanes may continue at different nodes.
    fn may_diverge(&self) -> bool;

    /// Whether conditions may be taken as agreed, that is, whether the precision includes agreement.
    fn has_agreement(&self) -> bool;

    /// Abstract state of a warp at the kernel's entry, where its lanes agree on `agree`.
    fn entry(&self, agree: CellSet) -> Self::State;

    /// Computes all steps of a warp that executes `op` under `condition` as the last instruction of a node;
    /// `position` is that node and the node after it in memory. `emit` receives each step with its successor state
    /// (`None` if the warp finishes).
    ///
    /// # Errors
    ///
    /// [`MayUnderflow`] if some stack of the state may have no entry for SYNC, BRK, CONT or RET.
    fn step(
        &self,
        state: Self::State,
        op: &Self::Control,
        condition: KnownCondition,
        position: (NodeId, Option<NodeId>),
        entries: &mut EntryTable,
        emit: &mut dyn FnMut(WarpStep, Option<Self::State>),
    ) -> Result<(), MayUnderflow>;

    /// Joins `other` into `state`; returns whether `state` grew. Ascending chains must be finite.
    fn join(&self, state: &mut Self::State, other: &Self::State) -> bool;
}
