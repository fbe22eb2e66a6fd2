//! Timing of each instruction: its control word, its execution unit and what completes it, from the timing classes of
//! the instruction table and the parameters of the machine. Computed once per run.

use smallvec::SmallVec;
use warpbound_ir::{Cell, Code, ControlEffect, Op};
use warpbound_isa::instr::MemorySpace;
use warpbound_isa::nvidia::{
    ExecUnit, LatencyClass, LatencyKind, Modifier, OperandValue, OperandWord, SassInstr,
    SassProgram, Timing, View,
};
use warpbound_machine::Parameter;

use super::parameters::{Tracked, UsedParameters};

/// Behaviour of an execution unit in the timing model.
pub(super) trait UnitModel: Copy {
    /// Parameter of the cycles for which a warp instruction occupies the unit; `None` for a unit that is never busy.
    fn occupancy(self) -> Option<Parameter>;

    /// Whether an instruction for this unit can delay one for another unit.
    fn competes(self, other: ExecUnit) -> bool;

    /// Whether instructions wait for the unit in a queue while their warp continues.
    fn is_queued(self) -> bool;
}

impl UnitModel for ExecUnit {
    fn occupancy(self) -> Option<Parameter> {
        Some(match self {
            ExecUnit::None => return None,
            ExecUnit::Fxu => Parameter::OccupancyFxu,
            ExecUnit::Fmai | ExecUnit::Math => Parameter::OccupancyFmai,
            ExecUnit::Xu => Parameter::OccupancyXu,
            ExecUnit::Fp64 => Parameter::OccupancyFp64,
            ExecUnit::Fp16 => Parameter::OccupancyFp16,
            ExecUnit::Lsu => Parameter::OccupancyLsu,
        })
    }

    fn competes(self, other: ExecUnit) -> bool {
        let pipe = |unit| matches!(unit, ExecUnit::Fxu | ExecUnit::Fmai);
        match (self, other) {
            (ExecUnit::None, _) => false,
            (ExecUnit::Math, other) => other == ExecUnit::Math || pipe(other),
            (own, ExecUnit::Math) => pipe(own),
            (own, other) => own == other,
        }
    }

    fn is_queued(self) -> bool {
        matches!(
            self,
            ExecUnit::Xu | ExecUnit::Fp64 | ExecUnit::Fp16 | ExecUnit::Lsu
        )
    }
}

/// Event that completes an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Completion {
    /// Fixed latency, which its control word accounts for.
    Fixed,
    /// Variable latency.
    Latency(Parameter),
    /// Memory access; `cached` if a global access looks up the L1 cache on all machines.
    Memory {
        cached: bool,
    },
    /// Indexed access to a constant bank (LDC): bank, register, offset.
    Constant(u8, Option<Cell>, i32),
    Texture,
    /// Memory barrier: the completion of the warp's stores for the whole device, or only for its block.
    Fence {
        device: bool,
    },
    /// Release of scoreboards: of one to a count of `most`, of those in the mask `zero` to 0.
    Depbar {
        scoreboard: u8,
        most: u8,
        zero: u8,
    },
}

/// Timing of an instruction.
#[derive(Clone, Debug)]
pub(super) struct InstrTiming {
    /// Address in bytes.
    pub(super) address: u32,
    pub(super) issue: Tracked<IssueDelay>,
    /// May issue in the same cycle as the next instruction of the warp.
    pub(super) dual_issues: bool,
    /// The next instruction waits for all scoreboards.
    pub(super) drains: bool,
    /// The scheduler prefers another warp in the next cycle.
    pub(super) yields: bool,
    /// Scoreboards released by its result and by the reading of its sources, and the mask of those that it waits for.
    pub(super) write_sb: Option<u8>,
    pub(super) read_sb: Option<u8>,
    pub(super) wait_mask: u8,
    pub(super) unit: ExecUnit,
    pub(super) completion: Completion,
    /// Waits for its result count as memory stalls.
    pub(super) is_memory: bool,
    /// Constant operands: bank and byte offset.
    pub(super) constants: SmallVec<[(u8, u32); 1]>,
    /// May continue at another instruction than the next one.
    pub(super) branches: bool,
    /// Counts as an arrival at a barrier, whether or not the warp waits there.
    pub(super) arrives: bool,
    /// Cells that it reads and writes, for the register scoreboard.
    pub(super) reads: SmallVec<[Cell; 6]>,
    pub(super) writes: SmallVec<[Cell; 4]>,
}

/// Cycles from the issue of an instruction to the next issue of its warp.
#[derive(Clone, Copy, Debug)]
pub(super) struct IssueDelay {
    /// Stall count of the control word; 0 if the next instruction may issue in the same cycle.
    pub(super) stall: u32,
    /// Additional cycles for conflicts in the register banks.
    pub(super) bank_conflicts: u32,
}

/// Returns the timing of each instruction of a code, which was lifted from `program`.
pub(super) fn instr_timings(
    code: &Code,
    program: &SassProgram,
    parameters: &UsedParameters,
) -> Vec<InstrTiming> {
    let mut reuse = ReuseCache::default();
    let mut timings = Vec::with_capacity(code.ops.len());
    for (op, instr) in code.ops.iter().zip(&program.instrs) {
        timings.push(instr_timing(op, instr, program, parameters, &mut reuse));
    }
    timings
}

/// Operand reuse cache after an instruction: the register of each operand slot (maxas wiki, "Control Codes").
#[derive(Clone, Copy, Default)]
struct ReuseCache([Option<u8>; 3]);

fn instr_timing(
    op: &Op,
    instr: &SassInstr,
    program: &SassProgram,
    parameters: &UsedParameters,
    reuse: &mut ReuseCache,
) -> InstrTiming {
    let control = instr.control;
    let view = program.view(instr);
    let timing = program.timing(instr);
    let completion = completion(program, instr, view.as_ref(), timing);
    InstrTiming {
        address: op.addr.0,
        issue: issue_delay(instr, view.as_ref(), timing, parameters, reuse),
        dual_issues: control.dual_issue(),
        drains: control.usched == 0,
        yields: control.yields(),
        // There are six scoreboards: code 6 names none.
        write_sb: control.write_sb.filter(|&sb| sb < 6),
        read_sb: control.read_sb.filter(|&sb| sb < 6),
        wait_mask: control.wait_mask & 0x3f,
        unit: timing.map_or(ExecUnit::None, |timing| timing.unit),
        completion,
        is_memory: matches!(
            completion,
            Completion::Memory { .. } | Completion::Constant(..) | Completion::Texture
        ),
        constants: view.as_ref().map(constant_operands).unwrap_or_default(),
        branches: op.control != ControlEffect::Next,
        arrives: op.barrier,
        reads: op
            .reads
            .iter()
            .copied()
            .chain(op.condition.cells())
            .collect(),
        writes: op.writes.clone().into_iter().collect(),
    }
}

/// Returns the issue delay of an instruction. The stall counts of some codes of the control word are parameters; the
/// others are in the code itself.
fn issue_delay(
    instr: &SassInstr,
    view: Option<&View>,
    timing: Option<&Timing>,
    parameters: &UsedParameters,
    reuse: &mut ReuseCache,
) -> Tracked<IssueDelay> {
    let control = instr.control;
    let mut reader = parameters.reader();
    let stall = match control.usched {
        // The distances of codes 29 to 31 are assumed (docs/timing-model.md), so they are parameters.
        29 => reader.get(Parameter::IssueYield6),
        30 => reader.get(Parameter::IssueYield8),
        31 => reader.get(Parameter::IssueOffDeck),
        // NVIDIA's guide states one instruction per scheduler and cycle, its tools and maxas two.
        16 => 1 - reader.get(Parameter::IssueDual).min(1),
        _ => control.min_distance().into(),
    };
    // Each timing class of the machine descriptions has a least distance; the first of a pair has none.
    let least = match control.dual_issue() {
        true => 0,
        false => timing.map_or(1, |timing| timing.min_wait.max(1)),
    };
    let mut banks = parameters.reader();
    let conflicts = view.map_or(0, |view| {
        // Reuse flags of instructions of variable latency have no effect.
        let is_fixed = timing.is_some_and(|timing| timing.latency == LatencyKind::Fixed);
        let flags = if is_fixed { control.reuse } else { 0 };
        let banks = banks.get(Parameter::IssueBanks).max(1);
        bank_conflicts(view, flags, banks, reuse)
    });
    let per_conflict = banks.get(Parameter::IssueBankConflict) as u32;
    if conflicts > 0 {
        reader.join(&banks);
    }
    reader.track(IssueDelay {
        stall: (stall as u32).max(least.into()),
        bank_conflicts: conflicts * per_conflict,
    })
}

/// Returns what completes an instruction, from its latency class and its operands.
fn completion(
    program: &SassProgram,
    instr: &SassInstr,
    view: Option<&View>,
    timing: Option<&Timing>,
) -> Completion {
    let (Some(view), Some(timing)) = (view, timing) else {
        return Completion::Fixed;
    };
    Completion::Latency(match timing.completion {
        LatencyClass::Fixed => return Completion::Fixed,
        LatencyClass::Memory => {
            let access = program.effects(instr).access;
            let is_local = access.is_some_and(|access| access.space == MemorySpace::Local);
            return Completion::Memory {
                cached: is_local || view.has(Modifier::Ci),
            };
        }
        LatencyClass::Constant => {
            let mut operands = view.operands.iter();
            let indexed = operands.find_map(|operand| match operand.value {
                OperandValue::ConstIndexed { bank, base, offset } => {
                    Some(Completion::Constant(bank, base.map(Cell::gpr), offset))
                }
                _ => None,
            });
            return indexed.unwrap_or(Completion::Latency(Parameter::ConstantL1Hit));
        }
        LatencyClass::Texture => return Completion::Texture,
        LatencyClass::Fence => {
            return Completion::Fence {
                device: !view.has(Modifier::Cta),
            };
        }
        LatencyClass::Depbar => return depbar(view),
        LatencyClass::Fp64 => Parameter::LatencyFp64,
        LatencyClass::Fp16 => Parameter::LatencyFp16,
        LatencyClass::Xu => Parameter::LatencyXu,
        LatencyClass::Conversion => Parameter::LatencyConversion,
        LatencyClass::Imad => Parameter::LatencyImad,
        LatencyClass::Shuffle => Parameter::LatencyShuffle,
        LatencyClass::SpecialRegister => Parameter::LatencySpecialRegister,
        LatencyClass::Other => Parameter::LatencyOther,
    })
}

/// Returns the scoreboards of `DEPBAR.LE SB5, 3, {4,2}` and of `DEPBAR {4,2}`, which names none with a count.
fn depbar(view: &View) -> Completion {
    let (mut named, mut most, mut zero) = (None, None, 0);
    for operand in &view.operands {
        match operand.value {
            OperandValue::Word {
                word: OperandWord::Scoreboard(number),
                ..
            } => named = Some(number),
            OperandValue::Word {
                word: OperandWord::Scoreboards(set),
                ..
            } => zero = set,
            OperandValue::Int(count) => most = most.or(u8::try_from(count).ok()),
            _ => {}
        }
    }
    Completion::Depbar {
        scoreboard: named.unwrap_or(0),
        most: match named {
            Some(_) => most.unwrap_or(0),
            None => u8::MAX,
        },
        zero,
    }
}

/// Returns the constant operands of an instruction: bank and byte offset.
fn constant_operands(view: &View) -> SmallVec<[(u8, u32); 1]> {
    let constant = |operand: &warpbound_isa::Operand| match operand.value {
        OperandValue::Const { bank, offset } => Some((bank, u32::try_from(offset).ok()?)),
        _ => None,
    };
    view.operands.iter().filter_map(constant).collect()
}

/// Returns the register bank conflicts of an instruction: the most distinct registers that it reads from one bank, less
/// one, without those in the reuse cache. Updates the reuse cache.
fn bank_conflicts(view: &View, reuse_flags: u8, banks: u64, reuse: &mut ReuseCache) -> u32 {
    let mut fetched: SmallVec<[u8; 4]> = SmallVec::new();
    let mut after = ReuseCache::default();
    for operand in &view.operands {
        let (OperandValue::Reg(Some(register)), Some(slot)) = (operand.value, operand.slot) else {
            continue;
        };
        let slot = usize::from(slot);
        let Some(kept) = reuse.0.get(slot) else {
            continue;
        };
        // Neither a register in the reuse cache nor a second operand of the same register reads the bank.
        if *kept != Some(register) && !fetched.contains(&register) {
            fetched.push(register);
        }
        if reuse_flags >> slot & 1 == 1 {
            after.0[slot] = Some(register);
        }
    }
    *reuse = after;
    let reads_of = |bank| {
        let reads = fetched.iter().filter(|&&r| u64::from(r) % banks == bank);
        reads.count() as u32
    };
    let most = (0..banks).map(reads_of).max().unwrap_or(0);
    most.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use warpbound_isa::Arch;
    use warpbound_isa::nvidia::Opcode;

    use super::*;

    /// Returns a program of one instruction and two NOPs, whose control word has no waits.
    fn program(word: u64) -> SassProgram {
        let nop = 0x50b0_0000_0007_0f00;
        let words = [0x001f_8000_fc00_07e0, word, nop, nop];
        let code: Vec<u8> = words
            .iter()
            .flat_map(|word: &u64| word.to_le_bytes())
            .collect();
        SassProgram::decode(Arch::Sm61, &code).expect("a whole group")
    }

    /// DEPBAR: opcode f0f0; bit 29 is `.LE`, with the scoreboard in bits 28:26 and the count in 25:20; bits 5:0 are
    /// other scoreboards.
    #[test]
    fn depbar_releases_scoreboards() {
        let decode = |word| {
            let program = program(word);
            let view = program.view(&program.instrs[0]).expect("DEPBAR");
            assert_eq!(view.opcode, Opcode::Depbar);
            match depbar(&view) {
                Completion::Depbar {
                    scoreboard,
                    most,
                    zero,
                } => (scoreboard, most, zero),
                other => panic!("{other:?}"),
            }
        };
        const DEPBAR: u64 = 0xf0f0_0000_0007_0000;
        const LE: u64 = DEPBAR | 1 << 29;
        for scoreboard in 0..6u8 {
            for most in [0, 1, 2, 3, 31, 63u8] {
                for others in 0..64u8 {
                    let fields = u64::from(scoreboard) << 26 | u64::from(most) << 20;
                    let found = decode(LE | fields | u64::from(others));
                    assert_eq!(found, (scoreboard, most, others));
                }
            }
        }
        // Without `.LE` no scoreboard is named: its count may be any.
        for others in 0..64u8 {
            let (_, most, zero) = decode(DEPBAR | u64::from(others));
            assert_eq!((most, zero), (u8::MAX, others));
        }
    }
}
