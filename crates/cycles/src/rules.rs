//! Transfer functions of either kind of code.

use warpbound_ir::OpIndex;

use crate::account::{Account, Term};
use crate::code::TimedCode;
use crate::kernel::{OtherWarps, TimedKernel};
use crate::leads::Leads;
use crate::lines::LineWait;
use crate::memory::times::MemoryTimes;
use crate::numbers::{MILLI, MachineNumbers};
use crate::state::{Layout, Part, TimeVector};
use crate::step::{OpWaits, Transfer};
use crate::wave_step::WaveTransfer;

/// Transfer functions of the instructions of a kernel.
pub(crate) enum StepRules<'a> {
    Warps(Transfer<'a>),
    Waves(WaveTransfer<'a>),
}

impl<'a> StepRules<'a> {
    pub(crate) fn new(kernel: &'a TimedKernel<'a>, numbers: &MachineNumbers) -> StepRules<'a> {
        match kernel.facts {
            TimedCode::Warps(facts) => {
                let mut transfer = Transfer::new(facts, kernel.accesses, numbers);
                // A lone warp finds no data in flight but its own, which the state of its vector has.
                if kernel.others != OtherWarps::Absent {
                    let lead = Leads::of(kernel, numbers).accesses;
                    let counts_misses = kernel.counted_sectors.is_some();
                    let memory = transfer.memory;
                    transfer.memory = memory.among_others(kernel.accesses, lead, counts_misses);
                }
                StepRules::Warps(transfer)
            }
            TimedCode::Waves(facts) => StepRules::Waves(WaveTransfer::new(facts, kernel, numbers)),
        }
    }

    pub(crate) fn layout(&self) -> &Layout {
        match self {
            StepRules::Warps(transfer) => &transfer.layout,
            StepRules::Waves(transfer) => &transfer.layout,
        }
    }

    pub(crate) fn memory(&self) -> &MemoryTimes {
        match self {
            StepRules::Warps(transfer) => &transfer.memory,
            StepRules::Waves(transfer) => &transfer.memory,
        }
    }

    /// Time between two possible issues of a warp, in thousandths of cycles. Shifts of whole turns shift all times.
    pub(crate) fn turn(&self) -> i64 {
        match self {
            StepRules::Warps(_) => MILLI,
            StepRules::Waves(transfer) => transfer.turn(),
        }
    }

    /// Whether an instruction jumps if the next one is not at the next index.
    pub(crate) fn branches(&self, at: OpIndex) -> bool {
        match self {
            StepRules::Warps(transfer) => transfer.branches(at),
            StepRules::Waves(transfer) => transfer.branches(at),
        }
    }

    /// Delays the next instruction by a taken branch.
    pub(crate) fn jump(&self, vector: &mut TimeVector, account: &mut Account<'_>) {
        match self {
            StepRules::Warps(transfer) => transfer.jump(vector, account),
            StepRules::Waves(transfer) => transfer.jump(vector, account),
        }
    }

    /// Changes to another group of the warp. Waves have splits instead.
    pub(crate) fn change_group(&self, vector: &mut TimeVector, account: &mut Account<'_>) {
        if let StepRules::Warps(transfer) = self {
            transfer.change_group(vector, account);
        }
    }

    /// Delays an instruction at which splits become one, before its lines are requested.
    pub(crate) fn arrive(&self, vector: &mut TimeVector, at: OpIndex, account: &mut Account<'_>) {
        if let StepRules::Waves(transfer) = self {
            transfer.merge(vector, at, account);
        }
    }

    /// Delays the next instruction by the fetch of its line.
    pub(crate) fn fetch(
        &self,
        vector: &mut TimeVector,
        wait: &LineWait,
        account: &mut Account<'_>,
    ) {
        if let Some(until) = wait.arrival(vector) {
            account.wait(vector, until, Term::Fetch);
        }
        if let StepRules::Waves(transfer) = self
            && (wait.waits || !transfer.is_among_others())
        {
            transfer.miss_turn(vector, account);
        }
    }

    /// Issues an instruction, with the worst outcomes.
    pub(crate) fn issue(
        &self,
        vector: &mut TimeVector,
        at: OpIndex,
        waits: &OpWaits,
        account: &mut Account<'_>,
    ) {
        match self {
            StepRules::Warps(transfer) => transfer.issue(vector, at, waits, account),
            StepRules::Waves(transfer) => transfer.issue(vector, at, waits, account),
        }
    }

    /// Time of the end of a launch whose warp has exited.
    pub(crate) fn end(&self, vector: &TimeVector) -> i64 {
        match self {
            StepRules::Warps(transfer) => transfer.end(vector),
            StepRules::Waves(transfer) => transfer.end(vector),
        }
    }

    /// Time of the exit of a warp: others may have its place then, whatever it has stored.
    pub(crate) fn exit(&self, vector: &TimeVector) -> i64 {
        match self {
            StepRules::Warps(_) => vector.get(Part::LastIssue) + MILLI,
            StepRules::Waves(transfer) if transfer.is_among_others() => {
                vector.get(Part::LastIssue) + MILLI
            }
            StepRules::Waves(transfer) => transfer.end(vector),
        }
    }
}
