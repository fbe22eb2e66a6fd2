//! Facts about each instruction that its timing depends on: its control word, its operands and its timing class.

use smallvec::SmallVec;
use warpbound_base::GroupedCode;
use warpbound_ir::{BarrierArrival, Cell, Code, ControlEffect, Meaning, Op};
use warpbound_isa::nvidia::{
    ExecUnit, LatencyClass, LatencyKind, Opcode, OperandValue, SassInstr, SassProgram, Timing, View,
};
use warpbound_machine::Parameter;

use super::completion::{Completion, completion};

/// Scoreboards and slots of the reuse cache, which are as many from Maxwell to Blackwell.
const CODE: &GroupedCode = GroupedCode::WITH_THREE_SLOTS;

/// Distance that the control word of an instruction asks for: cycles from its issue to the next issue of its warp.
/// For example, a stall count of 6 lets the next instruction issue 6 cycles later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Distance {
    /// Cycles of the stall count; 0 for the codes that wait for events.
    Cycles(u32),
    /// Cycles of codes 29 to 31, which are assumed (docs/timing-model.md), so that they are parameters of the machine.
    Parameter(Parameter),
    /// None (code 16): the next instruction may issue in the same cycle, on a machine that issues pairs
    /// ([`Parameter::IssueDual`]); one cycle elsewhere.
    Pair,
}

/// Facts about the timing of an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InstrFacts {
    /// Address in bytes.
    pub address: u32,
    /// Distance that the control word asks for.
    pub distance: Distance,
    /// Minimum distance of the timing class, in cycles; 0 for the first of a pair.
    pub least: u32,
    /// Registers read from the register banks, each once. Registers in the operand reuse cache are not among them.
    pub fetched: SmallVec<[u8; 4]>,
    /// Whether the next instruction waits for all scoreboards.
    pub drains: bool,
    /// Whether the scheduler prefers another warp in the next cycle.
    pub yields: bool,
    /// Scoreboard released by the result.
    pub write_sb: Option<u8>,
    /// Scoreboard released by the reading of the sources.
    pub read_sb: Option<u8>,
    /// Mask of the scoreboards that the instruction waits for.
    pub wait_mask: u8,
    /// Execution unit that it occupies.
    pub unit: ExecUnit,
    /// Event that completes it.
    pub completion: Completion,
    /// Whether waits for its result count as memory stalls.
    pub is_memory: bool,
    /// Constant operands: bank and byte offset.
    pub constants: SmallVec<[(u8, u32); 1]>,
    /// Whether it may continue at another instruction than the next one.
    pub branches: bool,
    /// Whether it counts as an arrival at a barrier, even if the warp does not wait there.
    pub arrives: bool,
    /// Whether it may arrive at a barrier without waiting there.
    pub passes_barrier: bool,
    /// Whether it may take lines out of the L1 cache, or bring lines into it, other than by loading them: CCTL and its kin.
    pub controls_caches: bool,
    /// Cells that it reads, for a register scoreboard.
    pub reads: SmallVec<[Cell; 6]>,
    /// Cells that it writes, for a register scoreboard.
    pub writes: SmallVec<[Cell; 4]>,
    /// Whether the instruction table has a timing class for the instruction. Without one the other facts are the
    /// facts of an instruction with fixed latency that occupies no unit. No source states them, so a bound must
    /// refuse the instruction.
    pub has_class: bool,
}

/// Returns the facts about each instruction of a code that was lifted from `program`. The facts have the indices of
/// the operations.
pub fn instr_facts(code: &Code, program: &SassProgram) -> Vec<InstrFacts> {
    let mut reuse = ReuseCache::default();
    let mut facts = Vec::with_capacity(code.ops.len());
    for (op, instr) in code.ops.iter().zip(&program.instrs) {
        facts.push(facts_of(op, instr, program, &mut reuse));
    }
    facts
}

impl InstrFacts {
    /// Returns the register bank conflicts on a machine with `banks` banks: the largest number of registers read from
    /// one bank, minus one. For example, R0, R4 and R5 on four banks have one conflict, because R0 and R4 share bank
    /// 0.
    pub fn bank_conflicts(&self, banks: u64) -> u32 {
        let banks = banks.max(1);
        let bank_of = |register: u8| u64::from(register) % banks;
        let reads_of = |bank| {
            let reads = self.fetched.iter().filter(|&&r| bank_of(r) == bank);
            reads.count() as u32
        };
        // A bank delivers one register per cycle, so each further read from the fullest bank costs a cycle.
        let most = self.fetched.iter().map(|&r| reads_of(bank_of(r))).max();
        most.unwrap_or(0).saturating_sub(1)
    }
}

/// Instructions that change what caches hold.
const CACHE_CONTROL: [Opcode; 4] = [Opcode::Cctl, Opcode::Cctll, Opcode::Cctlt, Opcode::Utmacctl];

fn facts_of(
    op: &Op,
    instr: &SassInstr,
    program: &SassProgram,
    reuse: &mut ReuseCache,
) -> InstrFacts {
    let control = instr.control;
    let view = program.view(instr);
    let timing = program.timing(instr);
    let completion = completion(program, instr, view.as_ref(), timing);
    let distance = distance(instr);
    InstrFacts {
        address: op.addr.0,
        distance,
        // Each timing class of the machine descriptions has a least distance; the first of a pair has none.
        least: match distance {
            Distance::Pair => 0,
            _ => timing.map_or(1, |timing| timing.min_wait.max(1)).into(),
        },
        fetched: view
            .as_ref()
            .map(|view| fetched_registers(view, reuse_flags(program, instr, timing), reuse))
            .unwrap_or_default(),
        drains: control.usched == 0,
        yields: control.yields(),
        write_sb: CODE.scoreboard(control.write_sb),
        read_sb: CODE.scoreboard(control.read_sb),
        wait_mask: control.wait_mask & CODE.all_scoreboards(),
        unit: timing.map_or(ExecUnit::None, |timing| timing.unit),
        completion,
        is_memory: matches!(
            completion,
            Completion::Memory(_) | Completion::Constant(..) | Completion::Texture
        ),
        // A load from a constant bank completes later, and does not wait for its word before it issues.
        constants: match (&view, completion) {
            (Some(view), completion) if !matches!(completion, Completion::Constant(..)) => {
                constant_operands(view)
            }
            _ => SmallVec::new(),
        },
        branches: op.control != ControlEffect::Next,
        arrives: op.barrier,
        passes_barrier: op.barrier && !always_waits(op),
        controls_caches: view
            .as_ref()
            .is_some_and(|view| CACHE_CONTROL.contains(&view.opcode)),
        reads: op
            .reads
            .iter()
            .copied()
            .chain(op.condition.cells())
            .collect(),
        writes: op.writes.clone().into_iter().collect(),
        has_class: view.is_some()
            && timing.is_some_and(|timing| timing.completion != LatencyClass::Unknown),
    }
}

/// Whether a warp waits at each execution of a barrier. An execution without an active lane counts as an arrival, but
/// the warp does not wait.
fn always_waits(op: &Op) -> bool {
    let waits = match &op.meaning {
        Some(Meaning::Barrier { arrival, .. }) => *arrival != BarrierArrival::Arrive,
        _ => false,
    };
    waits && op.condition.is_always()
}

/// Returns the distance of a control word.
fn distance(instr: &SassInstr) -> Distance {
    match instr.control.usched {
        29 => Distance::Parameter(Parameter::IssueYield6),
        30 => Distance::Parameter(Parameter::IssueYield8),
        31 => Distance::Parameter(Parameter::IssueOffDeck),
        // NVIDIA's guide states one instruction per scheduler and cycle, its tools and maxas two.
        16 => Distance::Pair,
        _ => Distance::Cycles(instr.control.min_distance().into()),
    }
}

/// Operand reuse cache after an instruction: the register of each operand slot (maxas wiki, "Control Codes").
#[derive(Clone, Copy, Default)]
struct ReuseCache([Option<u8>; CODE.reuse_slots]);

/// Returns the reuse flags of a control word that have an effect: none on instructions of variable latency.
fn reuse_flags(program: &SassProgram, instr: &SassInstr, timing: Option<&Timing>) -> u8 {
    let is_fixed = timing.is_some_and(|timing| timing.latency == LatencyKind::Fixed);
    if is_fixed {
        program.reused_operands(instr)
    } else {
        0
    }
}

/// Returns the registers that an instruction reads from the register banks. Updates the reuse cache.
fn fetched_registers(view: &View, reuse_flags: u8, reuse: &mut ReuseCache) -> SmallVec<[u8; 4]> {
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
    fetched
}

/// Returns the constant operands of an instruction: bank and byte offset.
fn constant_operands(view: &View) -> SmallVec<[(u8, u32); 1]> {
    let constant = |operand: &warpbound_isa::Operand| {
        let word = operand.value.constant()?;
        let offset = u32::try_from(word.offset).ok()?;
        word.base.is_none().then_some((word.bank, offset))
    };
    view.operands.iter().filter_map(constant).collect()
}

#[cfg(test)]
mod tests {
    use warpbound_base::CodeAddr;
    use warpbound_ir::{ExecCondition, OpScope, ValueDependence};
    use warpbound_isa::Arch;

    use super::*;

    /// Returns the facts about one instruction with a control word.
    fn facts(word: u64, control: u64) -> InstrFacts {
        facts_of_two([word, 0x50b0_0000_0007_0f00], [control, 0x7e0]).remove(0)
    }

    /// Returns the facts about two instructions with control words.
    fn facts_of_two(words: [u64; 2], controls: [u64; 2]) -> Vec<InstrFacts> {
        let nop = 0x50b0_0000_0007_0f00;
        let control = controls[0] | controls[1] << 21 | 0x7e0 << 42;
        let bytes: Vec<u8> = [control, words[0], words[1], nop]
            .iter()
            .flat_map(|word: &u64| word.to_le_bytes())
            .collect();
        let program = SassProgram::decode(Arch::Sm61, &bytes).expect("a whole group");
        let op = Op {
            addr: CodeAddr(8),
            condition: ExecCondition::ALWAYS,
            reads: [Cell::gpr(3)].into_iter().collect(),
            writes: Default::default(),
            value: ValueDependence::Function,
            control: ControlEffect::Next,
            barrier: false,
            scope: OpScope::Lane,
            meaning: None,
        };
        let code = Code {
            ops: vec![op.clone(), op],
            ..Code::default()
        };
        instr_facts(&code, &program)
    }

    /// `IADD R0, R1, R2`, of fixed latency with a least distance of 1.
    const IADD: u64 = 0x5c10_0000_0027_0100;

    /// Control words bit by bit (maxas wiki, "Control Codes"): stall count and yield flag in bits 4:0, scoreboards in
    /// 7:5 and 10:8, mask of those that it waits for in 16:11.
    #[test]
    fn fields_of_control_words() {
        for code in 0..32 {
            let found = facts(IADD, 0x7e0 | code);
            let expected = match code {
                1..=15 => Distance::Cycles(code as u32),
                16 => Distance::Pair,
                17..=27 => Distance::Cycles(code as u32 - 16),
                29 => Distance::Parameter(Parameter::IssueYield6),
                30 => Distance::Parameter(Parameter::IssueYield8),
                31 => Distance::Parameter(Parameter::IssueOffDeck),
                _ => Distance::Cycles(0),
            };
            assert_eq!(found.distance, expected, "{code}");
            assert_eq!(found.least, u32::from(code != 16), "{code}");
            assert_eq!(found.drains, code == 0);
            assert_eq!(found.yields, !(16..29).contains(&code), "{code}");
        }
        for write in 0..8_u64 {
            for read in 0..8_u64 {
                let found = facts(IADD, 1 | write << 5 | read << 8 | (write * 8 + read) << 11);
                let scoreboard = |number| (number < 6).then_some(number as u8);
                assert_eq!(found.write_sb, scoreboard(write));
                assert_eq!(found.read_sb, scoreboard(read));
                assert_eq!(u64::from(found.wait_mask), write * 8 + read);
            }
        }
    }

    /// A register in the operand reuse cache is not read again, from the same slot and by the next instruction; flags
    /// of instructions of variable latency have no effect (maxas wiki, "Control Codes"). Flags are bits 20:17.
    #[test]
    fn reused_registers_are_not_fetched() {
        const IADD_R2_R1: u64 = 0x5c10_0000_0017_0200;
        const MUFU_R1: u64 = 0x5080_0000_0047_0100;
        let second = |words, flags: u64| {
            let found = facts_of_two(words, [0x7e1 | flags << 17, 0x7e1]);
            found[1].fetched.to_vec()
        };
        assert_eq!(second([IADD, IADD], 0b00), [1, 2]);
        assert_eq!(second([IADD, IADD], 0b01), [2]);
        assert_eq!(second([IADD, IADD], 0b10), [1]);
        assert!(second([IADD, IADD], 0b11).is_empty());
        assert_eq!(second([IADD, IADD_R2_R1], 0b11), [2, 1]);
        assert_eq!(second([MUFU_R1, IADD], 0b01), [1, 2]);
    }

    /// A word that is no instruction has no timing class; an instruction has one.
    #[test]
    fn words_without_a_class() {
        assert!(facts(IADD, 0x7e1).has_class);
        assert!(!facts(u64::MAX, 0x7e1).has_class);
        assert_eq!(facts(IADD, 0x7e1).fetched.as_slice(), [1, 2]);
    }

    /// Conflicts of each set of up to four of 20 registers, counted per bank over all banks.
    #[test]
    fn bank_conflicts_are_counted_per_bank() {
        let mut facts = InstrFacts {
            address: 8,
            distance: Distance::Cycles(1),
            least: 1,
            fetched: SmallVec::new(),
            drains: false,
            yields: false,
            write_sb: None,
            read_sb: None,
            wait_mask: 0,
            unit: ExecUnit::None,
            completion: Completion::Fixed,
            is_memory: false,
            constants: SmallVec::new(),
            branches: false,
            arrives: false,
            passes_barrier: false,
            reads: SmallVec::new(),
            writes: SmallVec::new(),
            controls_caches: false,
            has_class: true,
        };
        for set in 0..1_u32 << 20 {
            if set.count_ones() > 4 {
                continue;
            }
            facts.fetched = (0..20)
                .filter(|register| set >> register & 1 == 1)
                .collect();
            for banks in [1, 2, 4, 8] {
                let mut counts = vec![0_u32; banks as usize];
                for &register in &facts.fetched {
                    counts[usize::from(register) % banks as usize] += 1;
                }
                let most = counts.into_iter().max().unwrap_or(0);
                assert_eq!(
                    facts.bank_conflicts(banks),
                    most.max(1) - 1,
                    "{set:x} {banks}"
                );
            }
        }
    }
}
