//! Agreement of lanes after an operation, by the kind of value that it writes (`warp-cfg-2023` 3.3, SOUNDNESS 4.3).

use smallvec::SmallVec;
use warpbound_ir::{Cell, Code, ControlEffect, ExecCondition, Op, OpScope, ValueDependence};
use warpbound_isa::instr::MemorySpace;
use warpbound_isa::nvidia::WARP_LANES;
use warpbound_isa::{Axis, SpecialReg};
use warpbound_simt::AbstractState;
use warpbound_simt::warp::CellSet;

/// Properties of the launch that agreement depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaunchContext {
    /// Lanes of a warp.
    pub warp_width: u32,
    /// Threads of a block in x, y, z, if known.
    pub block: Option<[u32; 3]>,
    /// Whether lanes that load one address of global memory with one instruction get the same word (assumption
    /// `stable-global`, SOUNDNESS 2).
    pub global_is_stable: bool,
}

impl Default for LaunchContext {
    fn default() -> Self {
        LaunchContext {
            warp_width: WARP_LANES,
            block: None,
            global_is_stable: true,
        }
    }
}

impl LaunchContext {
    /// Maximum number of lanes of any warp that hold a thread.
    pub fn live_lanes(&self) -> u64 {
        let width = u64::from(self.warp_width);
        self.block.map_or(width, |block| {
            let threads = block
                .iter()
                .fold(1u64, |n, &d| n.saturating_mul(u64::from(d)));
            threads.min(width)
        })
    }

    /// Whether all lanes of a warp read the same value from this special register.
    ///
    /// Warps are made of consecutive threads, x first (CUDA). So TID.Y is equal in a warp if rows of the block fill
    /// whole warps, TID.Z if planes do. For example, all lanes of a warp have the same TID.Y in a block of 64×4
    /// threads.
    fn special_agrees(&self, register: SpecialReg) -> bool {
        let whole =
            |threads: u64| threads != 0 && threads.is_multiple_of(u64::from(self.warp_width));
        match register {
            SpecialReg::VirtualId
            | SpecialReg::BlockIndex(_)
            | SpecialReg::BlockSize
            | SpecialReg::SharedSize
            | SpecialReg::StackLimit => true,
            SpecialReg::ThreadIndex(Axis::Y) => self.block.is_some_and(|[x, _, _]| whole(x.into())),
            SpecialReg::ThreadIndex(Axis::Z) => self
                .block
                .is_some_and(|[x, y, _]| whole(u64::from(x) * u64::from(y))),
            _ => false,
        }
    }
}

/// Condition under which the lanes that execute an operation together write equal values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AgreementRule {
    /// Always.
    Always,
    /// If the cells that it reads agree.
    Operands,
    /// Unknown, so never.
    Never,
}

impl LaunchContext {
    /// The rule for operations whose result depends on `value`.
    pub(crate) fn agreement_rule(&self, value: ValueDependence) -> AgreementRule {
        let or_never = |holds: bool, rule| if holds { rule } else { AgreementRule::Never };
        match value {
            ValueDependence::Function
            | ValueDependence::Load(MemorySpace::Constant | MemorySpace::Shared) => {
                AgreementRule::Operands
            }
            ValueDependence::Load(MemorySpace::Global) => {
                or_never(self.global_is_stable, AgreementRule::Operands)
            }
            ValueDependence::Special(register) => {
                or_never(self.special_agrees(register), AgreementRule::Always)
            }
            ValueDependence::Uniform => AgreementRule::Always,
            // Each lane has its own local memory, where a generic address may lie as well.
            ValueDependence::Load(_) | ValueDependence::Lane => AgreementRule::Never,
        }
    }
}

/// Cells on which all lanes agree at the start of the kernel, as the code declares. No document gives the initial
/// registers of a GPU.
pub(crate) fn agreeing_at_entry(code: &Code) -> CellSet {
    // All lanes of a warp begin together, so they read one value from a uniform register that no instruction wrote (SOUNDNESS
    // 21). For example, code for sm_87 reads UR2 before it writes it.
    let uniform = (0..Cell::COUNT)
        .filter_map(Cell::from_index)
        .filter(|cell| cell.is_uniform());
    let agreed = code.agreed_at_entry.iter().copied().chain(uniform);
    agreed.map(Cell::index).collect()
}

/// Assumptions of SOUNDNESS 2 that an analysis used.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct UsedAssumptions {
    /// `stable-global`: agreement after a global load rests on [`LaunchContext::global_is_stable`].
    pub stable_global: bool,
    /// `virtual-id`: agreement on all bits of SR_VIRTID, although only the fields of the warp and the SM are known.
    pub virtual_id: bool,
    /// `condition-code`: agreement on the condition code, whose readers and writers no disassembler lists.
    pub condition_code: bool,
}

/// Guarded writes of a block so far that a write under the complementary guard would complete (SOUNDNESS 4.4).
///
/// Invariant: the lanes agreed on the guard and wrote equal values under it, and neither cell nor guard was written
/// since. Empty at the beginning of each block, within which the active lanes stay the same.
#[derive(Clone, Default, Debug)]
pub struct GuardedWrites(SmallVec<[(Cell, ExecCondition); 4]>);

impl GuardedWrites {
    /// Whether an earlier write of `cell` has the complement of `condition`, so that one of the two takes effect in
    /// all lanes.
    fn complements(&self, cell: Cell, condition: ExecCondition) -> bool {
        let other = ExecCondition {
            negated: !condition.negated,
            ..condition
        };
        self.0.contains(&(cell, other))
    }

    /// Records the writes of `op`; `agrees`: its lanes agree on its condition, and write equal values.
    fn record(&mut self, op: &Op, agrees: bool) {
        let written = |cell: Cell| op.writes.contains(&cell);
        self.0
            .retain(|(cell, condition)| !written(*cell) && !condition.guard.is_some_and(written));
        // `decided_by` excludes guards that also test the condition code. An operation that writes its own guard is
        // left out, because the guard that follows is not its complement (SOUNDNESS 4.4).
        let guard = op.condition.decided_by();
        if agrees && guard.is_some_and(|guard| !written(guard)) {
            let writes = op.writes.iter().map(|&cell| (cell, op.condition));
            self.0.extend(writes);
        }
    }
}

/// Every cell has a place in the sets of the abstract domains.
const _: () = assert!(Cell::COUNT <= warpbound_simt::warp::CELLS);

/// Whether the active lanes agree on `cells`. All lanes read the same value from a register of the warp.
pub(crate) fn active_agree(
    state: &impl AbstractState,
    cells: impl IntoIterator<Item = Cell>,
) -> bool {
    let cells = cells.into_iter().filter(|cell| cell.is_per_lane());
    state.active_agree(cells.map(Cell::index))
}

/// Applies the data effect of `op` to the agreements of all groups; `earlier` are the guarded writes of its block
/// before `op`.
pub fn apply_data_effect(
    state: &mut impl AbstractState,
    op: &Op,
    launch: &LaunchContext,
    earlier: &mut GuardedWrites,
    used: &mut UsedAssumptions,
) {
    if op.writes.is_empty() || op.condition.is_never() {
        return;
    }
    let condition_agrees = active_agree(state, op.condition.cells());
    // Registers of lanes that an operation writes without regard to which are active (SOUNDNESS 12.3).
    let writes_any_lane =
        op.scope == OpScope::Warp || matches!(op.control, ControlEffect::SetActive(_));
    // If the lanes agree on the condition, all of them write or none does.
    let agrees = condition_agrees
        && !writes_any_lane
        && match launch.agreement_rule(op.value) {
            AgreementRule::Always => true,
            AgreementRule::Operands => active_agree(state, op.reads.iter().copied()),
            AgreementRule::Never => false,
        };
    used.stable_global |= agrees && op.value == ValueDependence::Load(MemorySpace::Global);
    used.virtual_id |= agrees && op.value == ValueDependence::Special(SpecialReg::VirtualId);
    used.condition_code |= agrees && (op.reads.contains(&Cell::CC) || op.condition.tests_cc());
    let guarded = !op.condition.is_always();
    // Lanes whose guard fails keep the old content, unless an earlier write has covered them (SOUNDNESS 4.4).
    let may_stay = |cell: &&Cell| guarded && !(agrees && earlier.complements(**cell, op.condition));
    let (kept, replaced): (SmallVec<[&Cell; 8]>, SmallVec<[&Cell; 8]>) =
        op.writes.iter().partition(may_stay);
    for (cells, guarded) in [(kept, true), (replaced, false)] {
        let cells: SmallVec<[usize; 8]> = cells.iter().map(|cell| cell.index()).collect();
        if !cells.is_empty() {
            state.write(&cells, agrees, guarded);
        }
    }
    earlier.record(op, agrees);
}
