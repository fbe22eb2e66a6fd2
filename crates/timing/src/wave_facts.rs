//! Facts about each instruction of a GCN3 kernel that its timing depends on: its class, its registers, and the counters
//! that it raises or waits for.

use smallvec::SmallVec;
use warpbound_ir::{Cell, Code, ControlEffect};
use warpbound_isa::amd::{
    GcnClass, GcnInstr, GcnOpcode, GcnProgram, GcnValue, GcnView, OperandAccess,
};

/// Kind of an instruction. In a cycle, a SIMD issues at most one instruction of each kind, each from another wave
/// that is ready (GCN3 ISA manual, chapter 2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum IssueKind {
    /// Vector ALU.
    Vector,
    /// Scalar ALU.
    Scalar,
    /// Vector memory, flat memory included.
    VectorMemory,
    /// LDS.
    Lds,
    /// Scalar memory.
    ScalarMemory,
    /// Branches.
    Branch,
    /// Messages.
    Message,
    /// Exports.
    Export,
    /// Waits, barriers, ends: no unit executes them.
    Internal,
}

impl IssueKind {
    /// Number of kinds.
    pub const COUNT: usize = IssueKind::Internal as usize + 1;
}

/// Increments of the counters of a wave: how much an instruction adds to each counter when it issues.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CounterRaise {
    /// vmcnt.
    pub vm: u8,
    /// expcnt.
    pub exp: u8,
    /// lgkmcnt.
    pub lgkm: u8,
}

/// Maximum number of outstanding operations with which s_waitcnt lets the wave pass, by counter. `None` for a field
/// of all ones, which waits for nothing. For example, `vmcnt(0)` waits for all vector memory operations, and
/// `vmcnt(15)` for none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WaitCounts {
    /// vmcnt: bits 3:0.
    pub vm: Option<u8>,
    /// expcnt: bits 6:4.
    pub exp: Option<u8>,
    /// lgkmcnt: bits 11:8.
    pub lgkm: Option<u8>,
}

impl WaitCounts {
    /// Returns the counts of an operand of s_waitcnt.
    pub fn of(operand: u16) -> WaitCounts {
        let field = |low: u16, ones: u16| {
            let value = operand >> low & ones;
            (value != ones).then_some(value as u8)
        };
        WaitCounts {
            vm: field(0, 0xf),
            exp: field(4, 0x7),
            lgkm: field(8, 0xf),
        }
    }
}

/// Facts about the timing of an instruction of a wave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaveFacts {
    /// Address in bytes.
    pub address: u32,
    /// Bytes of the instruction: 4 or 8.
    pub bytes: u8,
    /// Kind.
    pub kind: IssueKind,
    /// Timing class.
    pub class: GcnClass,
    /// Cells that it reads, implicit ones included: EXEC for vector instructions, what a branch tests.
    pub reads: SmallVec<[Cell; 8]>,
    /// Cells that it writes.
    pub writes: SmallVec<[Cell; 4]>,
    /// Counters that it raises.
    pub raises: CounterRaise,
    /// Counts that it waits for.
    pub waits: Option<WaitCounts>,
    /// Whether the wave may continue at another instruction than the next one.
    pub branches: bool,
    /// Whether it ends the wave.
    pub ends: bool,
    /// Whether it arrives at the barrier.
    pub arrives: bool,
    /// Wait states of s_nop, 1 to 16; units of s_sleep, 0 to 127; 0 for other instructions.
    pub idle: u32,
    /// Dwords that it moves between registers and memory for each lane; for the whole wave, if it is a scalar memory
    /// instruction. At least 1.
    pub dwords: u8,
    /// Whether a load bypasses the L1 cache (modifier glc).
    pub bypasses: bool,
    /// Whether it invalidates the cache of its unit: buffer_wbinvl1 the L1 cache, s_dcache_inv the scalar cache. The
    /// `_vol` forms do so too.
    pub invalidates: bool,
    /// Whether its class has times. Without one, a run or a bound must refuse the instruction.
    pub has_class: bool,
}

/// Returns the facts about each instruction of a code that was lifted from `program`. The facts have the indices of
/// the operations.
pub fn gcn_facts(code: &Code, program: &GcnProgram) -> Vec<WaveFacts> {
    let pairs = code.ops.iter().zip(&program.instrs);
    pairs
        .map(|(op, instr)| facts_of(instr, op.control != ControlEffect::Next))
        .collect()
}

fn facts_of(instr: &GcnInstr, branches: bool) -> WaveFacts {
    let view = instr.view();
    let class = instr.opcode().map_or(GcnClass::None, GcnOpcode::class);
    let effects = instr.effects();
    let immediate = view.as_ref().map_or(0, immediate);
    let dwords = view.as_ref().map_or(1, |view| dwords(view, class));
    WaveFacts {
        address: instr.addr.0,
        bytes: instr.bytes,
        kind: kind_of(class),
        class,
        reads: effects.reads.iter().copied().map(Cell::of).collect(),
        writes: effects.writes.iter().copied().map(Cell::of).collect(),
        raises: raises(class, dwords),
        waits: (class == GcnClass::Wait).then(|| WaitCounts::of(immediate as u16)),
        // The end of the wave is a control effect too, but no instruction follows it.
        branches: branches && class != GcnClass::End,
        ends: class == GcnClass::End,
        arrives: effects.barrier,
        idle: match class {
            GcnClass::Nop => (immediate & 0xf) + 1,
            GcnClass::Sleep => immediate & 0x7f,
            _ => 0,
        },
        dwords,
        bypasses: view.as_ref().is_some_and(|view| view.modifiers.glc),
        invalidates: matches!(
            instr.opcode(),
            Some(
                GcnOpcode::BufferWbinvl1
                    | GcnOpcode::BufferWbinvl1Vol
                    | GcnOpcode::SDcacheInv
                    | GcnOpcode::SDcacheInvVol
            )
        ),
        has_class: class != GcnClass::None,
    }
}

fn kind_of(class: GcnClass) -> IssueKind {
    match class {
        GcnClass::Full | GcnClass::Quarter | GcnClass::F64Add | GcnClass::F64Mul => {
            IssueKind::Vector
        }
        GcnClass::Scalar | GcnClass::ScalarSlow => IssueKind::Scalar,
        GcnClass::ScalarMemory => IssueKind::ScalarMemory,
        GcnClass::Lds => IssueKind::Lds,
        GcnClass::Flat | GcnClass::Buffer => IssueKind::VectorMemory,
        GcnClass::Branch => IssueKind::Branch,
        GcnClass::Message => IssueKind::Message,
        GcnClass::Nop
        | GcnClass::Sleep
        | GcnClass::Wait
        | GcnClass::Barrier
        | GcnClass::End
        | GcnClass::Internal
        | GcnClass::None => IssueKind::Internal,
    }
}

/// Counters that an instruction of a class raises (GCN3 ISA manual, 4.4). Stores of vector memory raise expcnt up to
/// the generation before GCN2 only.
fn raises(class: GcnClass, dwords: u8) -> CounterRaise {
    let none = CounterRaise::default();
    match class {
        GcnClass::Buffer => CounterRaise { vm: 1, ..none },
        GcnClass::Flat => CounterRaise {
            vm: 1,
            lgkm: 1,
            ..none
        },
        GcnClass::Lds | GcnClass::Message => CounterRaise { lgkm: 1, ..none },
        GcnClass::ScalarMemory => CounterRaise {
            // The counter rises by 1 for a load of one dword and by 2 for a longer one.
            lgkm: dwords.min(2),
            ..none
        },
        _ => none,
    }
}

/// The constant of an instruction whose only operand is one; 0 for others.
fn immediate(view: &GcnView) -> u32 {
    match view.operands.first().map(|operand| operand.value) {
        Some(GcnValue::Immediate(value)) => value,
        _ => 0,
    }
}

/// Dwords that an access moves: the dwords of its destination, or of its data if it has no destination.
fn dwords(view: &GcnView, class: GcnClass) -> u8 {
    let vectors = || {
        let all = view.operands.iter();
        all.filter(|operand| matches!(operand.value, GcnValue::Vector(_)))
    };
    let dest = || vectors().find(|operand| operand.access != OperandAccess::Read);
    let dwords = match class {
        // The first operand is the data; instructions on the cache have none.
        GcnClass::ScalarMemory => view.operands.first().map(|operand| operand.dwords),
        GcnClass::Buffer => vectors().next().map(|operand| operand.dwords),
        GcnClass::Flat => {
            let data = dest().or_else(|| vectors().nth(1));
            data.map(|operand| operand.dwords)
        }
        GcnClass::Lds => Some(match dest() {
            Some(operand) => operand.dwords,
            // The first vector operand of a write is its address.
            None => vectors().skip(1).map(|operand| operand.dwords).sum(),
        }),
        _ => None,
    };
    dwords.unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use warpbound_base::CodeAddr;

    use super::*;

    fn facts(first: u32, second: u32) -> WaveFacts {
        let instr = GcnInstr::decode(CodeAddr(0), first, Some(second));
        facts_of(&instr, false)
    }

    /// Fields of s_waitcnt (GCN3 ISA manual, 12.5), all values of all three.
    #[test]
    fn counts_of_waits() {
        for vm in 0..16_u8 {
            for exp in 0..8_u8 {
                for lgkm in 0..16_u8 {
                    let operand = u32::from(vm) | u32::from(exp) << 4 | u32::from(lgkm) << 8;
                    let found = facts(0xbf8c_0000 | operand, 0);
                    let expected = WaitCounts {
                        vm: (vm < 15).then_some(vm),
                        exp: (exp < 7).then_some(exp),
                        lgkm: (lgkm < 15).then_some(lgkm),
                    };
                    assert_eq!(found.waits, Some(expected));
                    assert_eq!(found.kind, IssueKind::Internal);
                }
            }
        }
    }

    /// Data of loads, stores and atomic operations, without their addresses; counters of each kind of memory.
    #[test]
    fn dwords_and_counters() {
        let of = |words: (u32, u32)| {
            let facts = facts(words.0, words.1);
            assert!(facts.has_class, "{words:x?}");
            let CounterRaise { vm, exp, lgkm } = facts.raises;
            (facts.kind, facts.dwords, vm, exp, lgkm)
        };
        use IssueKind as K;
        // flat_load_dword v2, v[0:1]; flat_store_dwordx4 v[0:1], v[2:5].
        assert_eq!(
            of((0xdc50_0000, 0x0200_0000)),
            (K::VectorMemory, 1, 1, 0, 1)
        );
        assert_eq!(
            of((0xdc7c_0000, 0x0000_0200)),
            (K::VectorMemory, 4, 1, 0, 1)
        );
        // ds_read_b32 v0, v1; ds_write_b64 v0, v[1:2]; ds_read2_b64 v[0:3], v4.
        assert_eq!(of((0xd86c_0000, 0x0000_0001)), (K::Lds, 1, 0, 0, 1));
        assert_eq!(of((0xd89a_0000, 0x0000_0100)), (K::Lds, 2, 0, 0, 1));
        assert_eq!(of((0xd8ee_0000, 0x0000_0004)), (K::Lds, 4, 0, 0, 1));
        // s_load_dword s0, s[4:5], 0; s_load_dwordx8 s[0:7], s[4:5], 0.
        assert_eq!(of((0xc002_0002, 0)), (K::ScalarMemory, 1, 0, 0, 1));
        assert_eq!(of((0xc00e_0002, 0)), (K::ScalarMemory, 8, 0, 0, 2));
        // buffer_store_dwordx2 v[0:1], off, s[0:3], 0.
        assert_eq!(
            of((0xe074_0000, 0x8000_0000)),
            (K::VectorMemory, 2, 1, 0, 0)
        );
    }

    /// Wait states of s_nop are one more than its operand; a dword that is no instruction has no class.
    #[test]
    fn other_instructions() {
        assert_eq!(facts(0xbf80_0003, 0).idle, 4);
        assert_eq!(facts(0xbf8e_0005, 0).idle, 5);
        assert!(facts(0xbf81_0000, 0).ends);
        assert!(facts(0xbf8a_0000, 0).arrives);
        assert!(!facts(0xffff_ffff, 0).has_class);
    }
}
