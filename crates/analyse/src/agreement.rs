//! Which operations keep the lanes of a group in agreement (paper section 3.3).

use smallvec::SmallVec;
use warpbound_ir::{Cell, Code, ExecCondition, Op, ValueDependence};
use warpbound_isa::instr::MemorySpace;
use warpbound_simt::warp::{CellSet, WarpState};

/// What is known of the launch, and what may be assumed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaunchContext {
    /// Lanes of a warp (32 on every NVIDIA GPU so far).
    pub warp_width: u32,
    /// Threads of a block in x, y, z, when known.
    pub block: Option<[u32; 3]>,
    /// Lanes that load one address of global memory with one instruction get the same word.
    pub global_is_stable: bool,
}

impl Default for LaunchContext {
    fn default() -> Self {
        LaunchContext {
            warp_width: 32,
            block: None,
            global_is_stable: true,
        }
    }
}

impl LaunchContext {
    /// The most lanes of a warp that hold a thread.
    pub fn live_lanes(&self) -> u64 {
        let width = u64::from(self.warp_width);
        self.block.map_or(width, |block| {
            let threads = block
                .iter()
                .fold(1u64, |n, &d| n.saturating_mul(u64::from(d)));
            threads.min(width)
        })
    }

    /// All lanes of a warp read the same value from this special register.
    ///
    /// Numbers: fact table of S2R (`sass.md` section 2). TID.Y is the same in a warp when rows of
    /// the block fill whole warps, TID.Z when planes do.
    fn special_agrees(&self, register: u8) -> bool {
        let whole =
            |threads: u64| threads != 0 && threads.is_multiple_of(u64::from(self.warp_width));
        match register {
            // CTAID.X/Y/Z, NTID, SMEMSZ
            VIRTUAL_ID | 37..=39 | 40 | 50 => true,
            34 => self.block.is_some_and(|[x, _, _]| whole(x.into())),
            35 => self
                .block
                .is_some_and(|[x, y, _]| whole(u64::from(x) * u64::from(y))),
            _ => false,
        }
    }
}

/// When the lanes that execute an operation together write equal values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rule {
    /// Always.
    Always,
    /// When the cells read agree.
    Operands,
    /// Never, as far as is known.
    Never,
}

impl LaunchContext {
    /// The rule for values that come from where `value` says.
    pub(crate) fn rule(&self, value: ValueDependence) -> Rule {
        let or_never = |holds: bool, rule| if holds { rule } else { Rule::Never };
        match value {
            ValueDependence::Function | ValueDependence::Load(MemorySpace::Constant | MemorySpace::Shared) => Rule::Operands,
            ValueDependence::Load(MemorySpace::Global) => or_never(self.global_is_stable, Rule::Operands),
            ValueDependence::Special(register) => or_never(self.special_agrees(register), Rule::Always),
            ValueDependence::Uniform => Rule::Always,
            ValueDependence::Load(_) | ValueDependence::Lane => Rule::Never,
        }
    }
}

/// Cells on which all lanes agree when the kernel begins: those of which the code says so. Nothing says what
/// the registers of a GPU then hold.
pub(crate) fn agreeing_at_entry(code: &Code) -> CellSet {
    let mut agreed = CellSet::default();
    for cell in &code.agreed_at_entry {
        agreed.insert(cell.index());
    }
    agreed
}

/// Assumptions that an analysis made use of.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Used {
    /// Agreement after a global load rests on [`Launch::global_is_stable`].
    pub stable_global: bool,
    /// Agreement on SR_VIRTID in all its bits, of which only the fields of the warp and the SM are known.
    pub virtual_id: bool,
    /// Agreement on the condition code, whose readers and writers no disassembler lists.
    pub condition_code: bool,
}

/// The number of SR_VIRTID in S2R.
const VIRTUAL_ID: u8 = 3;

/// Guarded writes of a block so far, each half of a pair that replaces what its cell held: lanes that agree on
/// the guard wrote equal values under it, and neither cell nor guard was written since.
///
/// The other half is a write under the complement. The lanes agree on the guard, so all of them executed the one or
/// all execute the other. Begins empty with each block, in which the active lanes stay the same.
#[derive(Clone, Default, Debug)]
pub struct Halves(SmallVec<[(Cell, ExecCondition); 4]>);

impl Halves {
    /// A write of `cell` under `condition` is the other half of one before.
    fn complete(&self, cell: Cell, condition: ExecCondition) -> bool {
        let other = ExecCondition {
            negated: !condition.negated,
            ..condition
        };
        self.0.contains(&(cell, other))
    }

    /// Takes note of what `op` writes; `agrees`: its lanes agree on its condition, and write equal values.
    fn see(&mut self, op: &Op, agrees: bool) {
        let written = |cell: Cell| op.writes.contains(&cell);
        self.0
            .retain(|(cell, condition)| !written(*cell) && !condition.guard.is_some_and(written));
        let guard = op.condition.decided_by();
        if agrees && guard.is_some_and(|guard| !written(guard)) {
            let halves = op.writes.iter().map(|&cell| (cell, op.condition));
            self.0.extend(halves);
        }
    }
}

/// Applies the data effect of `op` to the agreements of all groups; `halves` are those of the block before `op`.
pub fn apply(
    state: &mut WarpState,
    op: &Op,
    launch: &LaunchContext,
    halves: &mut Halves,
    used: &mut Used,
) {
    if op.writes.is_empty() || op.condition.is_never() {
        return;
    }
    let condition_agrees = state.active_agree(op.condition.cells().map(|c| c.index()));
    let agrees = condition_agrees
        && match launch.rule(op.value) {
            Rule::Always => true,
            Rule::Operands => state.active_agree(op.reads.iter().map(|c| c.index())),
            Rule::Never => false,
        };
    used.stable_global |= agrees && op.value == ValueDependence::Load(MemorySpace::Global);
    used.virtual_id |= agrees && op.value == ValueDependence::Special(VIRTUAL_ID);
    used.condition_code |= agrees && (op.reads.contains(&Cell::CC) || op.condition.tests_cc());
    let guarded = !op.condition.is_always();
    let stays = |cell: &&Cell| guarded && !(agrees && halves.complete(**cell, op.condition));
    let (kept, replaced): (SmallVec<[&Cell; 8]>, SmallVec<[&Cell; 8]>) =
        op.writes.iter().partition(stays);
    for (cells, guarded) in [(kept, true), (replaced, false)] {
        let cells: SmallVec<[usize; 8]> = cells.iter().map(|cell| cell.index()).collect();
        if !cells.is_empty() {
            state.write(&cells, agrees, guarded);
        }
    }
    halves.see(op, agrees);
}
