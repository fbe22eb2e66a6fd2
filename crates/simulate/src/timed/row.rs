//! Instructions as the timing model sees them.

use smallvec::SmallVec;
use warpbound_ir::{Cell, Code, ControlEffect, Op};
use warpbound_isa::instr::MemorySpace;
use warpbound_isa::nvidia::{Instr, Latency, Program, Timing, OperandValue, View};
use warpbound_machine::Parameter;

use super::numbers::{Numbered, Numbers};

/// What an instruction takes of its sub-partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unit {
    /// Nothing that is ever busy.
    None,
    /// The pipe of comparisons, shifts and moves.
    Fxu,
    /// The pipe of multiplications and additions.
    Fmai,
    /// Either of the two.
    Math,
    /// Special functions and conversions.
    Xu,
    /// Double precision.
    Fp64,
    /// Half precision.
    Fp16,
    /// The load/store lanes.
    Lsu,
}

impl Unit {
    pub(super) const COUNT: usize = 8;

    /// For how many cycles a warp instruction takes it.
    pub(super) fn occupancy(self) -> Option<Parameter> {
        Some(match self {
            Unit::None => return None,
            Unit::Fxu => Parameter::OccupancyFxu,
            Unit::Fmai | Unit::Math => Parameter::OccupancyFmai,
            Unit::Xu => Parameter::OccupancyXu,
            Unit::Fp64 => Parameter::OccupancyFp64,
            Unit::Fp16 => Parameter::OccupancyFp16,
            Unit::Lsu => Parameter::OccupancyLsu,
        })
    }

    /// Whether an instruction for it takes it from one for another unit.
    pub(super) fn competes(self, other: Unit) -> bool {
        let pipe = |unit| matches!(unit, Unit::Fxu | Unit::Fmai);
        match (self, other) {
            (Unit::None, _) => false,
            (Unit::Math, other) => other == Unit::Math || pipe(other),
            (own, Unit::Math) => pipe(own),
            (own, other) => own == other,
        }
    }

    /// Instructions wait for it in a queue, and their warp goes on meanwhile.
    pub(super) fn is_queued(self) -> bool {
        matches!(self, Unit::Xu | Unit::Fp64 | Unit::Fp16 | Unit::Lsu)
    }
}

/// What decides when an instruction's result is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Work {
    /// Its control word.
    Fixed,
    /// A latency.
    Takes(Parameter),
    /// The memory that it accesses; whether global memory may answer from the first level.
    Access {
        cached: bool,
    },
    /// The constant caches: bank, register, offset.
    Constant(u8, Option<Cell>, i32),
    Texture,
    /// It waits for what its warp has outstanding: for all stores of the device, or those that its block sees.
    Fence {
        device: bool,
    },
    /// It waits until at most so many of a scoreboard are outstanding, and none of others.
    Outstanding {
        scoreboard: u8,
        most: u8,
        none_of: u8,
    },
}

/// An instruction.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// Its address in bytes.
    pub(super) address: u32,
    /// The fewest cycles to the warp's next issue.
    pub(super) distance: u32,
    /// It issues together with the next one.
    pub(super) pairs: bool,
    /// All that its warp has outstanding comes before the next one.
    pub(super) drains: bool,
    /// The scheduler may go on with another warp.
    pub(super) yields: bool,
    pub(super) write_sb: Option<u8>,
    pub(super) read_sb: Option<u8>,
    pub(super) wait_mask: u8,
    pub(super) unit: Unit,
    pub(super) work: Work,
    /// Who waits for it waits for memory.
    pub(super) is_memory: bool,
    /// Constants that are operands: bank and byte offset.
    pub(super) constants: SmallVec<[(u8, u32); 1]>,
    /// More cycles in which its operands are read.
    pub(super) bank_cycles: u32,
    /// Where it goes on that is not the next instruction costs more.
    pub(super) jumps: bool,
    /// It may be what others wait for at a barrier.
    pub(super) arrives: bool,
    /// The numbers that its issue depends on.
    pub(super) touches: Numbered,
    /// Results that a register scoreboard watches, and what they need.
    pub(super) reads: SmallVec<[Cell; 6]>,
    pub(super) writes: SmallVec<[Cell; 4]>,
}

/// The instructions of a code. `program` is what it was lifted from.
pub(super) fn rows(code: &Code, program: &Program, numbers: &Numbers) -> Vec<Row> {
    let mut before = Reuse::default();
    let mut rows = Vec::with_capacity(code.ops.len());
    for (op, instr) in code.ops.iter().zip(&program.instrs) {
        rows.push(row(op, instr, program, numbers, &mut before));
    }
    rows
}

/// What the reuse cache holds behind an instruction: the register of each operand slot.
#[derive(Clone, Copy, Default)]
struct Reuse([Option<u8>; 3]);

fn row(op: &Op, instr: &Instr, program: &Program, numbers: &Numbers, before: &mut Reuse) -> Row {
    let control = instr.control;
    let view = program.view(instr);
    let timing = program.timing(instr);
    let class = program.class(instr);
    let distance = match control.usched {
        29 => numbers.peek(Parameter::IssueYield6),
        30 => numbers.peek(Parameter::IssueYield8),
        31 => numbers.peek(Parameter::IssueOffDeck),
        16 => 1 - numbers.peek(Parameter::IssueDual).min(1),
        _ => control.min_distance().into(),
    };
    let of_code = match control.usched {
        29 => &[Parameter::IssueYield6][..],
        30 => &[Parameter::IssueYield8],
        31 => &[Parameter::IssueOffDeck],
        16 => &[Parameter::IssueDual],
        _ => &[],
    };
    let least = match control.dual_issue() {
        true => 0,
        false => timing.map_or(1, |timing| timing.min_wait.max(1)),
    };
    let work = work(op, program, instr, view.as_ref(), timing, class);
    let bank_cycles = view.as_ref().map_or(0, |view| {
        let banks = numbers.peek(Parameter::IssueBanks).max(1);
        let is_fixed = timing.is_some_and(|timing| timing.latency == Latency::Fixed);
        let reuse = if is_fixed { control.reuse } else { 0 };
        conflicts(view, reuse, banks, before)
    });
    let unit = unit(timing);
    let mut touches = Numbered::of(of_code);
    if bank_cycles > 0 {
        touches |= Numbered::of(&[Parameter::IssueBankConflict, Parameter::IssueBanks]);
    }
    if let Some(occupancy) = unit.occupancy() {
        touches |= Numbered::of(&[occupancy]);
    }
    if unit.is_queued() {
        touches |= Numbered::of(&[Parameter::OccupancyQueue]);
    }
    Row {
        address: op.addr.0,
        distance: (distance as u32).max(least.into()),
        pairs: control.dual_issue(),
        drains: control.usched == 0,
        yields: control.yields(),
        write_sb: control.write_sb.filter(|&sb| sb < 6),
        read_sb: control.read_sb.filter(|&sb| sb < 6),
        wait_mask: control.wait_mask & 0x3f,
        unit,
        touches,
        work,
        is_memory: matches!(
            work,
            Work::Access { .. } | Work::Constant(..) | Work::Texture
        ),
        constants: view.as_ref().map(constants).unwrap_or_default(),
        bank_cycles: bank_cycles * numbers.peek(Parameter::IssueBankConflict) as u32,
        jumps: op.control != ControlEffect::Next,
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

/// Where an instruction is executed, from its timing class.
fn unit(timing: Option<&Timing>) -> Unit {
    let Some(timing) = timing else {
        return Unit::None;
    };
    match (timing.queue, timing.pipes.as_slice()) {
        ("xu", _) => Unit::Xu,
        ("redirectable" | "fma64", _) => Unit::Fp64,
        ("redirectable_fp16", _) => Unit::Fp16,
        ("shm" | "tex" | "generics", _) => Unit::Lsu,
        ("", ["fxu"]) => Unit::Fxu,
        ("", ["fmai"]) => Unit::Fmai,
        ("", ["fmai", "fxu"]) => Unit::Math,
        _ => Unit::None,
    }
}

fn work(
    op: &Op,
    program: &Program,
    instr: &Instr,
    view: Option<&View>,
    timing: Option<&Timing>,
    class: &str,
) -> Work {
    let (Some(view), Some(timing)) = (view, timing) else {
        return Work::Fixed;
    };
    let access = program.effects(instr).access;
    let access = access.filter(|access| access.loads || access.stores);
    match view.mnemonic {
        "DEPBAR" => return outstanding(view),
        "MEMBAR" => {
            return Work::Fence {
                device: !view.has(".CTA"),
            };
        }
        _ => {}
    }
    if class == "texture/surface" {
        return Work::Texture;
    }
    if let Some(access) = access {
        if access.space == MemorySpace::Constant {
            let indexed = view
                .operands
                .iter()
                .find_map(|operand| match operand.value {
                    OperandValue::ConstIndexed { bank, base, offset } => {
                        Some(Work::Constant(bank, base.map(Cell::gpr), offset))
                    }
                    _ => None,
                });
            return indexed.unwrap_or(Work::Takes(Parameter::ConstantL1Hit));
        }
        return Work::Access {
            cached: access.space == MemorySpace::Local || view.has(".CI"),
        };
    }
    match (timing.latency, timing.queue) {
        (Latency::Fixed | Latency::Branch, _) => Work::Fixed,
        (_, "redirectable") => Work::Takes(Parameter::LatencyFp64),
        (_, "redirectable_fp16") => Work::Takes(Parameter::LatencyFp16),
        (_, "xu") if class == "conversion" => Work::Takes(Parameter::LatencyConversion),
        (_, "xu") => Work::Takes(Parameter::LatencyXu),
        (_, "fma64") if class == "integer" => Work::Takes(Parameter::LatencyImad),
        (_, "fma64") => Work::Takes(Parameter::LatencyFp64),
        (_, "shm") if class == "shuffle/vote" => Work::Takes(Parameter::LatencyShuffle),
        _ if matches!(op.value, warpbound_ir::ValueDependence::Special(_)) => {
            Work::Takes(Parameter::LatencySpecialRegister)
        }
        _ => Work::Takes(Parameter::LatencyOther),
    }
}

/// `DEPBAR.LE SB5, 3, {4,2}` and `DEPBAR {4,2}`.
fn outstanding(view: &View) -> Work {
    let words = || {
        view.operands
            .iter()
            .filter_map(|operand| match operand.value {
                OperandValue::Word(word) => Some(word),
                _ => None,
            })
    };
    let named = words().find_map(|word| word.strip_prefix("SB")?.parse().ok());
    let most = view
        .operands
        .iter()
        .find_map(|operand| match operand.value {
            OperandValue::Int(most) => u8::try_from(most).ok(),
            _ => None,
        });
    let mut none_of = 0;
    for set in words().filter(|word| word.starts_with('{')) {
        for digit in set.bytes().filter(|byte| (b'0'..b'6').contains(byte)) {
            none_of |= 1 << (digit - b'0');
        }
    }
    Work::Outstanding {
        scoreboard: named.unwrap_or(0),
        most: if named.is_some() {
            most.unwrap_or(0)
        } else {
            u8::MAX
        },
        none_of,
    }
}

fn constants(view: &View) -> SmallVec<[(u8, u32); 1]> {
    let constant = |operand: &warpbound_isa::Operand| match operand.value {
        OperandValue::Const { bank, offset } => Some((bank, u32::try_from(offset).ok()?)),
        _ => None,
    };
    view.operands.iter().filter_map(constant).collect()
}

/// How many operands more than one an instruction reads from the register bank of which it reads most, those apart that the
/// reuse cache has; and what it leaves there.
fn conflicts(view: &View, reuse: u8, banks: u64, before: &mut Reuse) -> u32 {
    let mut fetched: SmallVec<[u8; 4]> = SmallVec::new();
    let mut after = Reuse::default();
    for operand in &view.operands {
        let (OperandValue::Reg(Some(register)), Some(slot)) = (operand.value, operand.slot) else {
            continue;
        };
        let slot = usize::from(slot);
        let Some(kept) = before.0.get(slot) else {
            continue;
        };
        if *kept != Some(register) && !fetched.contains(&register) {
            fetched.push(register);
        }
        if reuse >> slot & 1 == 1 {
            after.0[slot] = Some(register);
        }
    }
    *before = after;
    let of_bank = |bank| {
        let inside = fetched.iter().filter(|&&r| u64::from(r) % banks == bank);
        inside.count() as u32
    };
    (0..banks).map(of_bank).max().unwrap_or(0).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use warpbound_isa::Arch;

    use super::*;

    /// A control word without waits, the instruction, two NOPs.
    fn program(word: u64) -> Program {
        let nop = 0x50b0_0000_0007_0f00;
        let words = [0x001f_8000_fc00_07e0, word, nop, nop];
        let code: Vec<u8> = words
            .iter()
            .flat_map(|word: &u64| word.to_le_bytes())
            .collect();
        Program::decode(Arch::Sm61, &code).expect("a whole group")
    }

    /// DEPBAR: f0f0 in front; bit 29 says `.LE`, then 28:26 are its scoreboard and 25:20 its count; 5:0 are others.
    #[test]
    fn scoreboards_that_are_waited_for() {
        let outstanding = |word| {
            let program = program(word);
            let view = program.view(&program.instrs[0]).expect("DEPBAR");
            assert_eq!(view.mnemonic, "DEPBAR");
            match outstanding(&view) {
                Work::Outstanding {
                    scoreboard,
                    most,
                    none_of,
                } => (scoreboard, most, none_of),
                work => panic!("{work:?}"),
            }
        };
        const DEPBAR: u64 = 0xf0f0_0000_0007_0000;
        const LE: u64 = DEPBAR | 1 << 29;
        for scoreboard in 0..6u8 {
            for most in [0, 1, 2, 3, 31, 63u8] {
                for others in 0..64u8 {
                    let fields = u64::from(scoreboard) << 26 | u64::from(most) << 20;
                    let found = outstanding(LE | fields | u64::from(others));
                    assert_eq!(found, (scoreboard, most, others));
                }
            }
        }
        // Without `.LE` no scoreboard is named, and any count will do.
        for others in 0..64u8 {
            let (_, most, none_of) = outstanding(DEPBAR | u64::from(others));
            assert_eq!((most, none_of), (u8::MAX, others));
        }
    }
}
