use smallvec::SmallVec;
use warpbound_base::CodeAddr;
use warpbound_isa::instr::{CcTest, MemorySpace, StackToken};

use crate::{Cell, Half, Meaning};

/// Index of an operation in its [`Code`]; the operation after `i` in memory is `i + 1`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct OpIndex(pub u32);

impl OpIndex {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The operation behind it in memory.
    #[must_use]
    pub fn next(self) -> OpIndex {
        OpIndex(self.0 + 1)
    }
}

/// When an operation takes effect in a lane: guard AND condition-code test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExecCondition {
    /// Cell of the guard, which holds where the cell is not zero; `None` is the constant true.
    pub guard: Option<Cell>,
    /// The guard is negated.
    pub negated: bool,
    /// The test of the condition code.
    pub cc_test: CcTest,
}

impl ExecCondition {
    /// Holds in every lane.
    pub const ALWAYS: ExecCondition = ExecCondition {
        guard: None,
        negated: false,
        cc_test: CcTest::TRUE,
    };

    /// The test of the condition code is not the constant true.
    pub fn tests_cc(self) -> bool {
        self.cc_test != CcTest::TRUE
    }

    /// Holds in every lane.
    pub fn is_always(self) -> bool {
        self == ExecCondition::ALWAYS
    }

    /// Holds in no lane.
    pub fn is_never(self) -> bool {
        self.guard.is_none() && self.negated
    }

    /// Cells on which it depends.
    pub fn cells(self) -> impl Iterator<Item = Cell> {
        self.guard
            .into_iter()
            .chain(self.tests_cc().then_some(Cell::CC))
    }

    /// The only cell that decides it, when there is one with two values: the lanes for which the condition
    /// holds agree on it, and so do the others.
    pub fn decided_by(self) -> Option<Cell> {
        self.guard
            .filter(|guard| !self.tests_cc() && guard.is_predicate())
    }
}

/// A direct target of a control operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ControlTarget {
    /// An operation of the same code.
    Op(OpIndex),
    /// A function outside this code, by name.
    External(String),
    /// Not an operation of this code; the text says what the instruction names.
    Nowhere(String),
}

/// Control effect of an operation when its condition holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ControlEffect {
    /// Goes on with the next operation.
    Next,
    /// Jumps.
    Jump(ControlTarget),
    /// Jumps; lanes that it sends different ways form a frame (synchronisation frames).
    Branch {
        /// Where the lanes go on for which the condition holds.
        to: ControlTarget,
        /// The [`Control::Meet`] at which they meet again; `None` is the end of the code.
        meet: Option<OpIndex>,
    },
    /// Lanes that branches have sent different ways meet here (synchronisation frames).
    Meet,
    /// Jumps to `register + anchor` (BRX: an address of this code; JMX: an absolute address).
    Indirect {
        /// Register; `None` is zero.
        base: Option<Cell>,
        /// Added to the register.
        anchor: i64,
        /// The sum is an address of this code's section.
        relative: bool,
    },
    /// Calls: pushes a [`Token::Ret`] entry that resumes at the next operation.
    Call(ControlTarget),
    /// Pushes an entry that resumes at the target.
    Push(StackToken, ControlTarget),
    /// Leaves towards the nearest entry of the token.
    Unwind(StackToken),
    /// The lanes leave for good.
    Exit,
    /// Behind the last instruction: the lanes leave for good, and nothing is issued.
    End,
    /// Not followed by any analysis; the text is the mnemonic.
    Unsupported(String),
}

/// How the written values depend on what is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueDependence {
    /// A function of the cells read and of constants.
    Function,
    /// Loaded from this space at an address that is a function of the cells read.
    Load(MemorySpace),
    /// Special register of this number.
    Special(u8),
    /// Equal in all lanes that execute the operation together.
    Uniform,
    /// May differ in every lane whatever is read.
    Lane,
}

/// One operation: everything an analysis needs to know of an instruction.
///
/// `writes` happen only where the condition holds; elsewhere the old value stays.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Op {
    /// Address of the instruction.
    pub addr: CodeAddr,
    /// When it takes effect.
    pub condition: ExecCondition,
    /// Cells read as operands (the condition's cells apart).
    pub reads: SmallVec<[Cell; 6]>,
    /// Cells written.
    pub writes: SmallVec<[Cell; 4]>,
    /// Where written values come from.
    pub value: ValueDependence,
    /// Control effect.
    pub control: ControlEffect,
    /// Waits for other warps of the block (BAR).
    pub barrier: bool,
    /// What is written, when it is known.
    pub meaning: Option<Meaning>,
}

/// A function inside a [`Code`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CodeFunction {
    /// Symbol name.
    pub name: String,
    /// Its first operation.
    pub entry: OpIndex,
}

/// The operations of one code section, and where the kernel and its functions begin.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Code {
    /// Operations in address order.
    pub ops: Vec<Op>,
    /// Functions by entry, ascending.
    pub functions: Vec<CodeFunction>,
    /// Constant bank contents the code may read while it runs and that the binary fixes:
    /// (bank number, bytes).
    pub constants: Vec<(u8, Vec<u8>)>,
    /// Words of constant banks that the loader fills with the address of a function outside:
    /// (bank number, byte offset, symbol name).
    pub external_words: Vec<(u8, u32, String)>,
    /// The words of bank [`Code::ADDRESS_BANK`]: addresses that the loader writes into instructions.
    pub address_words: Vec<AddressWord>,
    /// Cells that hold the same in all lanes of a block when the kernel begins.
    pub agreed_at_entry: Vec<Cell>,
    /// Where the kernel begins.
    pub entry: OpIndex,
    /// Bytes of a fetch group that begins with a control word, 0 when there is none: the address
    /// of the control word names the operation after it (Maxwell, Pascal: 32).
    pub group_bytes: u32,
}

/// Half of an address that the loader chooses: that of a variable in global memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddressWord {
    /// The variable's symbol.
    pub symbol: String,
    /// Added to its address.
    pub addend: i64,
    /// Which half of the sum it is.
    pub half: Half,
}

impl Code {
    /// A constant bank beyond those that instructions can name (0 to 31). The binary does not fix its words: word N is
    /// [`Code::address_words`]`[N]`, which the instructions with relocated immediates read in place of these.
    pub const ADDRESS_BANK: u8 = 32;

    /// The operation of an index.
    pub fn get(&self, at: OpIndex) -> Option<&Op> {
        self.ops.get(at.index())
    }

    /// The operation that an address names.
    pub fn at(&self, addr: CodeAddr) -> Option<OpIndex> {
        let is_control = self.group_bytes != 0 && addr.0.is_multiple_of(self.group_bytes);
        let addr = if is_control { addr.offset(8)? } else { addr };
        self.ops
            .binary_search_by_key(&addr, |op| op.addr)
            .ok()
            .map(|i| OpIndex(i as u32))
    }

    /// The function that begins at `entry`.
    pub fn function_at(&self, entry: OpIndex) -> Option<&CodeFunction> {
        self.functions
            .binary_search_by_key(&entry, |f| f.entry)
            .ok()
            .map(|i| &self.functions[i])
    }

    /// The little-endian word at a byte offset of a constant bank, when the binary fixes it.
    pub fn constant(&self, bank: u8, offset: u64) -> Option<u32> {
        let (_, bytes) = self.constants.iter().find(|(b, _)| *b == bank)?;
        let start = usize::try_from(offset).ok()?;
        let word = bytes.get(start..start.checked_add(4)?)?;
        Some(u32::from_le_bytes(word.try_into().ok()?))
    }
}
