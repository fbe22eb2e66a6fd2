//! Registers, control flow and effects of decoded instructions. For example, `@P0 IADD R1, R2, R3` has the guard
//! `P0`, reads R2 and R3, writes R1, and falls through.

use warpbound_base::{CodeAddr, Named};

use crate::{Reg, SpecialReg};

/// Guard predicate of an instruction: `@P0`, `@!P0`, `@!PT`, `@UP0`; no guard is `@PT`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guard {
    /// Predicate number; `None` is `PT`.
    pub pred: Option<u8>,
    /// Whether the predicate is negated (`!`).
    pub negated: bool,
    /// Whether it is a predicate of the uniform datapath.
    pub uniform: bool,
}

impl Guard {
    /// Guard of an instruction that always executes.
    pub const ALWAYS: Guard = Guard {
        pred: None,
        negated: false,
        uniform: false,
    };
    /// Guard by a predicate of lanes; `None` is `PT`.
    pub const fn of_lanes(pred: Option<u8>, negated: bool) -> Guard {
        Guard {
            pred,
            negated,
            uniform: false,
        }
    }
    /// Register of the predicate; `None` for PT.
    pub fn register(self) -> Option<Reg> {
        self.pred.map(|number| match self.uniform {
            true => Reg::uniform_predicate(number),
            false => Reg::predicate(number),
        })
    }
    /// Whether the guard holds in every lane.
    pub fn is_always(self) -> bool {
        self.pred.is_none() && !self.negated
    }
    /// Whether the guard holds in no lane (`@!PT`).
    pub fn is_never(self) -> bool {
        self.pred.is_none() && self.negated
    }
}

/// Test of the condition code by control-flow instructions, codes 0 to 31; 15 is `T` (always).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CcTest(pub u8);

impl CcTest {
    /// Test that always holds.
    pub const TRUE: CcTest = CcTest(15);

    /// Whether the test depends on the condition code alone. Codes 24 to 29 (`CSM_TA` to `FCSM_MX`) test state of the
    /// graphics pipeline that no [`Reg`] represents.
    pub fn depends_on_cc_only(self) -> bool {
        !(24..=29).contains(&self.0)
    }
}

/// Condition of a control transfer beside guard and condition code, from Volta on.
///
/// For example, `@P0 BRA P1, L` jumps in lanes where P0 and P1 hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FurtherCondition {
    /// None.
    #[default]
    None,
    /// Another predicate has to hold as well.
    Predicate(Guard),
    /// A property of the lanes that execute the instruction together, as `BRA.DIV` tests it: unknown, and equal in all
    /// of them.
    Group,
}

/// Tag of an activation-stack entry: the kind of instruction that pops it (`warp-cfg-2023` 2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum StackToken {
    /// SSY / SYNC.
    Sync,
    /// PBK / BRK.
    Brk,
    /// PCNT / CONT.
    Cont,
    /// CAL, PRET / RET.
    Ret,
    /// PLONGJMP / LONGJMP.
    LongJmp,
    /// PEXIT.
    Exit,
}

impl Named for StackToken {
    const ALL: &'static [(StackToken, &'static str)] = &[
        (StackToken::Sync, "sync"),
        (StackToken::Brk, "brk"),
        (StackToken::Cont, "cont"),
        (StackToken::Ret, "ret"),
        (StackToken::LongJmp, "longjmp"),
        (StackToken::Exit, "exit"),
    ];
}

/// Target of a direct control transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BranchTarget {
    /// Code address in the same section. It may be the address of a control word (see [`crate::nvidia::canonical`]).
    Code(CodeAddr),
    /// Absolute address (JMP, JCAL), which a section-relative `CodeAddr` cannot represent.
    Absolute(u64),
    /// Address read from constant memory, `c[bank][offset]`.
    Constant {
        /// Bank number.
        bank: u8,
        /// Byte offset, signed as printed.
        offset: i32,
    },
    /// Relative address outside the 32-bit code space.
    Outside,
}

/// Control-flow kind of an instruction, apart from its guard and condition-code test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InstrFlow {
    /// Falls through to the next instruction.
    Next,
    /// BRA, JMP.
    Branch(BranchTarget),
    /// BRX: `next + base + offset`; JMX: `base + offset` absolute.
    Indirect {
        /// Register with the address, or the first of two; `None` is RZ or URZ.
        base: Option<Reg>,
        /// Addend of the target `register + anchor`. BRX (`relative`): encoded offset plus the address after the
        /// instruction; JMX: the encoded offset.
        anchor: i64,
        /// Whether the target is an address of this section (BRX) or absolute (JMX).
        relative: bool,
    },
    /// CAL, JCAL: pushes a [`StackToken::Ret`] entry and jumps.
    Call(BranchTarget),
    /// SSY, PBK, PCNT, PRET, PLONGJMP, PEXIT: pushes an entry that resumes at the target.
    Push(StackToken, BranchTarget),
    /// SYNC, BRK, CONT, RET, LONGJMP: pops down to the nearest entry with the tag.
    Pop(StackToken),
    /// CALL from Volta on: jumps. Earlier instructions wrote the return address into registers.
    LinkedCall(BranchTarget),
    /// CALL from Volta on, through a register: as [`InstrFlow::LinkedCall`], to the address of
    /// [`InstrFlow::Indirect`].
    LinkedIndirect {
        /// Register with the address, or the first of two.
        base: Option<Reg>,
        /// Addend of the target.
        anchor: i64,
        /// Whether the target is an address of this section or absolute.
        relative: bool,
    },
    /// RET from Volta on: jumps to the return address in registers, as of [`InstrFlow::Indirect`].
    Return {
        /// Register with the address, or the first of two.
        base: Option<Reg>,
        /// Addend of the target.
        anchor: i64,
        /// Whether the target is an address of this section or absolute.
        relative: bool,
    },
    /// BSSY: the active lanes take part in a convergence barrier, which resumes at the target.
    OpenBarrier(u8, BranchTarget),
    /// BSYNC: waits for the lanes that take part in the convergence barrier.
    JoinBarrier(u8),
    /// BREAK: the active lanes leave the convergence barrier and run on.
    BreakBarrier(u8),
    /// `BMOV.CLEAR R, B`: moves a convergence barrier into a register and clears it. `None` for RZ.
    SaveBarrier(u8, Option<Reg>),
    /// BMOV that writes a convergence barrier.
    WriteBarrier {
        /// The barrier.
        barrier: u8,
        /// Register that it is read from; `None` for any other source.
        source: Option<Reg>,
        /// Barrier that the instruction clears.
        cleared: Option<u8>,
    },
    /// YIELD, NANOSLEEP, WARPSYNC: falls through, and lanes that wait at a convergence barrier may go on without the
    /// active ones (experiments with an H200).
    Release,
    /// `WARPSYNC.COLLECTIVE`: as [`InstrFlow::Release`], but each lane may continue at the target instead.
    Collective(BranchTarget),
    /// BRA.ANY, which asks predicates of several lanes: each lane goes on after it or at the target, as far as is known.
    FreeBranch(BranchTarget),
    /// EXIT, KIL: terminates the lanes. BPT.TRAP: terminates the launch, so its lanes continue nowhere.
    Exit,
    /// Control flow that no analysis follows (RTT, RAM, SAM, BPT.CAL, SETCRSPTR, branches that depend on the call
    /// depth or on state outside [`Reg`]). It leads to a refusal.
    Unsupported,
}

/// Memory space that an instruction accesses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum MemorySpace {
    /// LDG, STG, ATOM, RED, CCTL with global addresses.
    Global,
    /// LDS, STS, ATOMS.
    Shared,
    /// LDL, STL.
    Local,
    /// LDC and `c[][]` operands through LDC.
    Constant,
    /// LD, ST, generic ATOM.
    Generic,
    /// TEX family.
    Texture,
    /// SULD, SUST, SURED, SUATOM.
    Surface,
    /// Graphics attributes and outputs (ALD, AST, IPA, OUT, ISBERD, PIXLD).
    Attribute,
}

impl Named for MemorySpace {
    const ALL: &'static [(MemorySpace, &'static str)] = &[
        (MemorySpace::Global, "global"),
        (MemorySpace::Shared, "shared"),
        (MemorySpace::Local, "local"),
        (MemorySpace::Constant, "constant"),
        (MemorySpace::Generic, "generic"),
        (MemorySpace::Texture, "texture"),
        (MemorySpace::Surface, "surface"),
        (MemorySpace::Attribute, "attribute"),
    ];
}

/// Memory access of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct MemoryEffect {
    /// Memory space.
    pub space: MemorySpace,
    /// Whether it reads memory.
    pub loads: bool,
    /// Whether it writes memory.
    pub stores: bool,
}

/// Dependence of the written value on the operands. It decides agreement (`warp-cfg-2023` 3.3): for example, a
/// `Function` of registers that agree gives a value that agrees, and a `Lane` value never agrees.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum ValueSource {
    /// Deterministic function of the registers, immediates and constants read.
    Function,
    /// Loaded value: a function of the address and the memory contents ([`Effects::access`]).
    Memory,
    /// Special register (S2R, CS2R).
    Special(SpecialReg),
    /// Equal in all lanes that execute the instruction together (VOTE).
    Uniform,
    /// Lane-dependent or unknown (SHFL, atomics, textures, clocks, anything not modelled).
    Lane,
}

/// Reads, writes, control flow and memory access of one instruction. They are complete for every form of the table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Effects {
    /// Guard predicate (its register is *not* repeated in `reads`).
    pub guard: Guard,
    /// Condition-code test. With a test other than [`CcTest::TRUE`], the instruction also depends on [`Reg::CC`].
    pub cc_test: CcTest,
    /// Further condition of a control transfer (its register is *not* repeated in `reads`).
    pub further: FurtherCondition,
    /// Registers read as operands: every register of a 64/128-bit group, and implicit ones.
    pub reads: Vec<Reg>,
    /// Registers written when the condition holds: every register of a group.
    pub writes: Vec<Reg>,
    /// Control flow when the condition holds.
    pub flow: InstrFlow,
    /// Memory access other than constant operands.
    pub access: Option<MemoryEffect>,
    /// Dependence of `writes` on `reads`.
    pub source: ValueSource,
    /// Whether the instruction is a barrier among the warps of a block (BAR).
    pub barrier: bool,
}
