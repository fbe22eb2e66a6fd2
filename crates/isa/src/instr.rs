//! What a decoded instruction is, for every instruction set.

use warpbound_base::CodeAddr;

/// A storage cell private to a lane that analyses track. `RZ` and `PT` are constants, not cells.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reg {
    /// General register `R0`..`R254`.
    Gpr(u8),
    /// Predicate register `P0`..`P6`.
    Pred(u8),
    /// The condition code (carry, overflow, sign, zero) as one cell.
    Cc,
}

/// The predicate that guards an instruction: `@P0`, `@!P0`, `@!PT`; no guard is `@PT`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guard {
    /// `None` is `PT`.
    pub pred: Option<u8>,
    /// `!` before the predicate.
    pub negated: bool,
}

impl Guard {
    /// The guard of an instruction that always executes.
    pub const ALWAYS: Guard = Guard {
        pred: None,
        negated: false,
    };
    /// Holds in every lane.
    pub fn is_always(self) -> bool {
        self == Self::ALWAYS
    }
    /// Holds in no lane (`@!PT`).
    pub fn is_never(self) -> bool {
        self.pred.is_none() && self.negated
    }
}

/// Test of the condition code by branch-like instructions, codes 0..=31; 15 is `T` (always).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CcTest(pub u8);

impl CcTest {
    /// The test that always holds.
    pub const TRUE: CcTest = CcTest(15);

    /// Whether the test is a function of the condition code alone. Codes 24..=29 (`CSM_TA` to
    /// `FCSM_MX`) ask for state of graphics pipelines that no register of ours holds.
    pub fn depends_on_cc_only(self) -> bool {
        !(24..=29).contains(&self.0)
    }
}

/// What kind of entry a stack instruction pushes or pops (SIMT rules of the activation stack).
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

/// Where a direct control transfer goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BranchTarget {
    /// A code address of the same section, not yet canonical.
    Code(CodeAddr),
    /// An absolute address (JMP, JCAL); `CodeAddr` cannot name it.
    Absolute(u64),
    /// The address is read from constant memory `c[bank][offset]`.
    Constant {
        /// Bank number.
        bank: u8,
        /// Byte offset, signed as printed.
        offset: i32,
    },
    /// Relative arithmetic left the code space.
    Outside,
}

/// Control-flow kind of an instruction, guard and condition-code test apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InstrFlow {
    /// Goes on with the next instruction.
    Next,
    /// BRA, JMP.
    Branch(BranchTarget),
    /// BRX: `next + base + offset`; JMX: `base + offset` absolute.
    Indirect {
        /// Register with the address; `None` is RZ.
        base: Option<u8>,
        /// For BRX (`relative`): offset + address of the following position, so that the
        /// target is `register + anchor`; for JMX the plain offset.
        anchor: i64,
        /// BRX (true) or JMX (false).
        relative: bool,
    },
    /// CAL, JCAL: pushes a [`Token::Ret`] entry and jumps.
    Call(BranchTarget),
    /// SSY, PBK, PCNT, PRET, PLONGJMP, PEXIT: pushes an entry that resumes at the target.
    Push(StackToken, BranchTarget),
    /// SYNC, BRK, CONT, RET, LONGJMP: unwinds to the nearest entry of the token.
    Pop(StackToken),
    /// EXIT, KIL: the lanes leave for good.
    Exit,
    /// Control flow that no analysis follows (RTT, RAM, SAM, BPT.CAL, SETCRSPTR, branches that
    /// depend on the call depth or on state outside [`Reg`] …): name it and refuse.
    Unsupported,
}

/// Which memory an instruction accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
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

/// How an instruction uses memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct MemoryEffect {
    /// Which memory.
    pub space: MemorySpace,
    /// Reads a value from it.
    pub loads: bool,
    /// Writes it.
    pub stores: bool,
}

/// How the written value depends on what the instruction reads: what agreement needs to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum ValueSource {
    /// A deterministic function of the registers, immediates and constants read.
    Function,
    /// A load: a function of the address and the memory it reads ([`Effects::access`]).
    Memory,
    /// Special register of this number (S2R, CS2R).
    Special(u8),
    /// Equal in all lanes that execute it together (VOTE).
    Uniform,
    /// Differs by lane or cannot be told (SHFL, atomics, textures, clocks, anything unknown).
    Lane,
}

/// Everything the analyses need of one instruction; complete for every form of the table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Effects {
    /// Guard predicate (its register is *not* repeated in `reads`).
    pub guard: Guard,
    /// Condition-code test; when not [`CcTest::TRUE`] the instruction also depends on [`Reg::Cc`].
    pub cc_test: CcTest,
    /// Registers read as operands, all of a 64/128-bit group, implicit ones included.
    pub reads: Vec<Reg>,
    /// Registers written when the condition holds, all of a group.
    pub writes: Vec<Reg>,
    /// Control flow when the condition holds.
    pub flow: InstrFlow,
    /// Memory access other than constant operands.
    pub access: Option<MemoryEffect>,
    /// How `writes` depend on `reads`.
    pub source: ValueSource,
    /// Barrier among the warps of a block (BAR).
    pub barrier: bool,
}
