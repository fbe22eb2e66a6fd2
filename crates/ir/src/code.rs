//! Operations of a kernel in a form that does not depend on the instruction set. For example, `@!P0 BRA 0x48` has the
//! condition `P0`, negated, and the control effect [`ControlEffect::Jump`]; lanes whose condition fails fall through.

use smallvec::SmallVec;
use warpbound_base::{CodeAddr, Family};
use warpbound_isa::SpecialReg;
use warpbound_isa::instr::{CcTest, MemorySpace, StackToken};
use warpbound_simt::{ControlTransfer, Tag};

use crate::{Cell, Expr, Meaning, WordHalf};

/// Index of an operation in its [`Code`]; the operation after `i` in memory is `i + 1`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct OpIndex(pub u32);

impl OpIndex {
    /// Index into [`Code::ops`].
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Index of the next operation in memory.
    #[must_use]
    pub fn next(self) -> OpIndex {
        OpIndex(self.0 + 1)
    }
}

/// Test of a control operation beside guard and condition code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FurtherTest {
    /// Another predicate has to hold, or, if negated, must not.
    Predicate {
        /// Cell of the predicate.
        cell: Cell,
        /// Whether it is negated.
        negated: bool,
    },
    /// A property of the lanes that execute the operation together: unknown, and equal in all of them (SOUNDNESS 21).
    Group,
}

/// Condition under which an operation takes effect in a lane: guard AND condition-code test AND further test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExecCondition {
    /// Guard cell. The guard holds in lanes whose cell is not zero; `None` is the constant true. A cell of the warp
    /// holds for all lanes or for none: a scalar flag, or a mask, which is not zero if one of its words is not.
    pub guard: Option<Cell>,
    /// Whether the guard is negated.
    pub negated: bool,
    /// Test of the condition code.
    pub cc_test: CcTest,
    /// Further test.
    pub further: Option<FurtherTest>,
}

impl ExecCondition {
    /// Condition that holds in every lane.
    pub const ALWAYS: ExecCondition = ExecCondition {
        guard: None,
        negated: false,
        cc_test: CcTest::TRUE,
        further: None,
    };

    /// Whether the condition depends on the condition code.
    pub fn tests_cc(self) -> bool {
        self.cc_test != CcTest::TRUE
    }

    /// Whether more than the guard decides the condition.
    pub fn has_further_test(self) -> bool {
        self.tests_cc() || self.further.is_some()
    }

    /// Whether the condition holds in every lane.
    pub fn is_always(self) -> bool {
        self == ExecCondition::ALWAYS
    }

    /// Whether the condition holds in no lane, because the guard is constant.
    pub fn is_never(self) -> bool {
        self.guard.is_none() && self.negated
    }

    /// Cells on which the condition depends. A mask is replaced by its words.
    pub fn cells(self) -> impl Iterator<Item = Cell> {
        let guard = match self.guard.map(|guard| (guard, guard.mask_words())) {
            None => [None, None],
            Some((guard, None)) => [Some(guard), None],
            Some((_, Some(words))) => words.map(Some),
        };
        let code = self.tests_cc().then_some(Cell::CC);
        let further = match self.further {
            Some(FurtherTest::Predicate { cell, .. }) => Some(cell),
            // No cell has the property of a group, which is equal in its lanes.
            Some(FurtherTest::Group) | None => None,
        };
        guard.into_iter().flatten().chain(code).chain(further)
    }

    /// Two-valued cell that alone decides the condition, if there is one. Lanes for which the condition holds then
    /// agree on the cell, and so do the other lanes.
    pub fn decided_by(self) -> Option<Cell> {
        self.guard
            // Other cells have more than two values, so lanes with the same outcome may differ in them.
            .filter(|guard| !self.has_further_test() && guard.is_predicate())
    }
}

/// Direct target of a control operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ControlTarget {
    /// Operation of the same code.
    Op(OpIndex),
    /// Function outside this code, by name.
    External(String),
    /// Address that is not an operation of this code, as text.
    Invalid(String),
}

/// Control effect of an operation when its condition holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ControlEffect {
    /// Falls through to the next operation.
    Next,
    /// Jumps.
    Jump(ControlTarget),
    /// Branches. Diverging lanes push a synchronisation frame (`abstract-cta-2014` 4).
    Branch {
        /// Target of the lanes for which the condition holds.
        to: ControlTarget,
        /// [`ControlEffect::Reconverge`] operation at which the lanes reconverge; `None` is the end of the code.
        reconvergence: Option<OpIndex>,
    },
    /// Reconverges lanes that diverged at a branch (synchronisation frames).
    Reconverge,
    /// Replaces the mask of active lanes and falls through. The new mask is the value of this cell after the writes
    /// of the operation. This is for machines whose operations write the mask: AMD's EXEC always equals the mask of
    /// active lanes.
    SetActive(Cell),
    /// Jumps to `register + anchor` (BRX: an address of this code; JMX: an absolute address).
    Indirect {
        /// Register; `None` is zero.
        base: Option<Cell>,
        /// Constant added to the register.
        anchor: i64,
        /// Whether the sum is an address of this code's section.
        relative: bool,
    },
    /// Calls: pushes a [`StackToken::Ret`] entry that resumes at the next operation.
    Call(ControlTarget),
    /// Calls: jumps. The return address is in registers, and names the next operation.
    LinkedCall(ControlTarget),
    /// Calls as [`ControlEffect::LinkedCall`], to an address as of [`ControlEffect::Indirect`].
    LinkedIndirect {
        /// Register; `None` is zero.
        base: Option<Cell>,
        /// Constant added to the register.
        anchor: i64,
        /// Whether the sum is an address of this code's section.
        relative: bool,
    },
    /// Returns from a [`ControlEffect::LinkedCall`]: jumps to the address in registers, as [`ControlEffect::Indirect`].
    Return {
        /// Register; `None` is zero, also if the text of an operation states none.
        base: Option<Cell>,
        /// Constant added to the register.
        anchor: i64,
        /// Whether the sum is an address of this code's section.
        relative: bool,
    },
    /// The active lanes take part in a convergence barrier, which resumes at the target.
    OpenBarrier(u8, ControlTarget),
    /// Waits for the lanes that take part in a convergence barrier.
    JoinBarrier(u8),
    /// The active lanes leave a convergence barrier and run on.
    BreakBarrier(u8),
    /// Moves a convergence barrier into a register, and clears it. `None`: the value is dropped.
    SaveBarrier(u8, Option<Cell>),
    /// Writes a convergence barrier.
    WriteBarrier {
        /// The barrier.
        barrier: u8,
        /// Register that it is read from.
        source: Option<Cell>,
        /// Barrier that the operation clears.
        cleared: Option<u8>,
    },
    /// Falls through; lanes that wait at a convergence barrier may go on without the active ones.
    Release,
    /// As [`ControlEffect::Release`], but each lane may continue at the target instead.
    Collective(ControlTarget),
    /// Each active lane goes on after it or at the target, whatever its cells hold (BRA.ANY).
    FreeJump(ControlTarget),
    /// Pushes an entry that resumes at the target.
    Push(StackToken, ControlTarget),
    /// Pops down to the nearest entry with the tag.
    Pop(StackToken),
    /// Terminates the lanes, or with [`Meaning::Trap`] the launch.
    Exit,
    /// End of the code, after the last instruction: terminates the lanes without an issue.
    End,
    /// Control flow that no analysis follows; the text is the mnemonic.
    Unsupported(String),
}

impl ControlEffect {
    /// Return to an address that is not stated.
    pub const RETURN: ControlEffect = ControlEffect::Return {
        base: None,
        anchor: 0,
        relative: false,
    };

    /// Whether each active lane may go on at either of two places, whatever its cells hold.
    pub fn lets_lanes_choose(&self) -> bool {
        matches!(
            self,
            ControlEffect::Collective(_) | ControlEffect::FreeJump(_)
        )
    }

    /// Returns the control transfer of execution models that the effect is, at the points that `point` has for
    /// operations. `None` if values decide it, if a point is missing or outside the code, or if no execution model has
    /// it.
    pub fn transfer<P>(
        &self,
        mut point: impl FnMut(OpIndex) -> Option<P>,
    ) -> Option<ControlTransfer<'static, P>> {
        Some(match self {
            ControlEffect::Next => ControlTransfer::Next,
            ControlEffect::Jump(ControlTarget::Op(to)) => ControlTransfer::Jump(point(*to)?),
            ControlEffect::Branch {
                to: ControlTarget::Op(to),
                reconvergence,
            } => ControlTransfer::Branch {
                target: point(*to)?,
                reconvergence: match reconvergence {
                    Some(at) => Some(point(*at)?),
                    None => None,
                },
            },
            ControlEffect::Reconverge => ControlTransfer::Reconverge,
            ControlEffect::Call(ControlTarget::Op(to)) => ControlTransfer::Call(point(*to)?),
            ControlEffect::Push(token, ControlTarget::Op(to)) => ControlTransfer::Push {
                tag: tag_of(*token)?,
                resume: point(*to)?,
            },
            ControlEffect::Pop(token) => ControlTransfer::Pop(tag_of(*token)?),
            ControlEffect::Exit => ControlTransfer::Exit,
            ControlEffect::Jump(_)
            | ControlEffect::Branch { .. }
            | ControlEffect::Call(_)
            | ControlEffect::LinkedCall(_)
            | ControlEffect::LinkedIndirect { .. }
            | ControlEffect::Return { .. }
            | ControlEffect::OpenBarrier(..)
            | ControlEffect::JoinBarrier(_)
            | ControlEffect::BreakBarrier(_)
            | ControlEffect::SaveBarrier(..)
            | ControlEffect::WriteBarrier { .. }
            | ControlEffect::Release
            | ControlEffect::Collective(_)
            | ControlEffect::FreeJump(_)
            | ControlEffect::Push(..)
            | ControlEffect::SetActive(_)
            | ControlEffect::Indirect { .. }
            | ControlEffect::End
            | ControlEffect::Unsupported(_) => return None,
        })
    }
}

/// Returns the tag of the stack entries that a token names; `None` for tokens that no execution model has.
pub fn tag_of(token: StackToken) -> Option<Tag> {
    Some(match token {
        StackToken::Sync => Tag::Sync,
        StackToken::Brk => Tag::Brk,
        StackToken::Cont => Tag::Cont,
        StackToken::Ret => Tag::Ret,
        StackToken::LongJmp | StackToken::Exit => return None,
    })
}

/// Dependence of the written values on the cells read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueDependence {
    /// Function of the cells read and of constants.
    Function,
    /// Value loaded from this space, at an address that is a function of the cells read.
    Load(MemorySpace),
    /// Special register.
    Special(SpecialReg),
    /// Equal in all lanes that execute the operation together.
    Uniform,
    /// Possibly different in every lane, even if all lanes read the same.
    Lane,
}

/// Extent of an operation: the lanes for which it takes effect, or the warp.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum OpScope {
    /// In each active lane for which the condition holds. Registers of the warp ([`crate::Expr::Ballot`]) are written
    /// once, even if no lane is active.
    #[default]
    Lane,
    /// Once for the warp if the condition holds, whichever lanes are active. The condition reads registers of the
    /// warp ([`Cell::is_per_lane`] is false for them). Registers of lanes are read only by [`crate::Expr::FromLane`].
    /// A register of lanes that is written (`v_writelane`) is written in all lanes, with a value that may depend on
    /// the lane.
    Warp,
}

/// Operation: an instruction as analyses and simulators read it.
///
/// Writes of an operation of scope [`OpScope::Lane`] happen only in lanes where the condition holds; other lanes keep
/// the old values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Op {
    /// Address of the instruction.
    pub addr: CodeAddr,
    /// Condition under which the operation takes effect.
    pub condition: ExecCondition,
    /// Cells read as operands, without the cells of the condition.
    pub reads: SmallVec<[Cell; 6]>,
    /// Cells written.
    pub writes: SmallVec<[Cell; 4]>,
    /// Dependence of the written values on `reads`.
    pub value: ValueDependence,
    /// Control effect.
    pub control: ControlEffect,
    /// Whether the operation waits for other warps of the block (BAR).
    pub barrier: bool,
    /// Extent: the lanes, or the warp as a whole.
    pub scope: OpScope,
    /// Effect on cells and memory; `None` if unknown.
    pub meaning: Option<Meaning>,
}

/// Function inside a [`Code`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CodeFunction {
    /// Symbol name.
    pub name: String,
    /// First operation.
    pub entry: OpIndex,
}

/// Operations of one code section, with the entries of the kernel and its functions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Code {
    /// Family of the machines that execute it.
    pub family: Family,
    /// Operations in address order.
    pub ops: Vec<Op>,
    /// Functions by entry, ascending.
    pub functions: Vec<CodeFunction>,
    /// Constant banks whose contents the binary fixes: (bank number, bytes).
    pub constants: Vec<(u8, Vec<u8>)>,
    /// Words of constant banks that the loader fills with the address of an external function:
    /// (bank number, byte offset, symbol name).
    pub external_words: Vec<(u8, u32, String)>,
    /// Words of bank [`Code::ADDRESS_BANK`]: addresses that the loader writes into instructions.
    pub address_words: Vec<AddressWord>,
    /// Cells that have the same value in all lanes of a block when the kernel begins.
    pub agreed_at_entry: Vec<Cell>,
    /// Contents of cells when the kernel begins, if they have a name: special registers, and words of
    /// [`Code::POINTER_BANK`].
    pub entry_values: Vec<(Cell, Expr)>,
    /// First operation of the kernel.
    pub entry: OpIndex,
    /// Size in bytes of a fetch group that begins with a control word (see
    /// [`GroupedCode`](warpbound_base::GroupedCode)); 0 if there are none. The address of a control word stands for the operation after it.
    pub group_bytes: u32,
}

/// Half of an address that the loader chooses: the address of a variable in global memory, or of a place in the code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddressWord {
    /// Symbol of the variable; empty for the first byte of the kernel's code.
    pub symbol: String,
    /// Constant added to its address.
    pub addend: i64,
    /// Half of the sum.
    pub half: WordHalf,
}

impl Code {
    /// Artificial constant bank, above the banks that instructions can encode (0 to 31). The binary does not fix its
    /// words. Word N is [`Code::address_words`]`[N]`, which replaces the relocated immediate of an instruction.
    pub const ADDRESS_BANK: u8 = 32;

    /// Artificial constant bank with the addresses of the segments that a launch gives a kernel in registers (AMD).
    pub const POINTER_BANK: u8 = 33;

    /// Offset in [`Code::POINTER_BANK`] of the address of the kernel's arguments, whose contents are bank
    /// [`Code::KERNARG_BANK`].
    pub const KERNARG_POINTER: u32 = 0;

    /// Offset in [`Code::POINTER_BANK`] of the address of the dispatch packet, whose contents are bank
    /// [`Code::DISPATCH_BANK`].
    pub const DISPATCH_POINTER: u32 = 8;

    /// Bank of the kernel's arguments, where they are in memory.
    pub const KERNARG_BANK: u8 = 34;

    /// Bank of the dispatch packet.
    pub const DISPATCH_BANK: u8 = 35;

    /// Lanes of a warp or wave.
    pub fn lanes(&self) -> u32 {
        self.family.lanes()
    }

    /// Operation with an index.
    pub fn get(&self, at: OpIndex) -> Option<&Op> {
        self.ops.get(at.index())
    }

    /// Whether some operation acts on the warp as a whole. All lanes of the warp then follow one path (SOUNDNESS
    /// 12.1).
    pub fn writes_words_of_warp(&self) -> bool {
        let mut ops = self.ops.iter();
        ops.any(|op| op.scope == OpScope::Warp)
    }

    /// Whether an operation writes the mask of active lanes ([`ControlEffect::SetActive`]).
    pub fn writes_active_mask(&self) -> bool {
        let mut ops = self.ops.iter();
        ops.any(|op| matches!(op.control, ControlEffect::SetActive(_)))
    }

    /// Index of the operation at an address.
    pub fn at(&self, addr: CodeAddr) -> Option<OpIndex> {
        let is_control = self.group_bytes != 0 && addr.0.is_multiple_of(self.group_bytes);
        // Control words have eight bytes.
        let addr = if is_control { addr.offset(8)? } else { addr };
        self.ops
            .binary_search_by_key(&addr, |op| op.addr)
            .ok()
            .map(|i| OpIndex(i as u32))
    }

    /// Function that begins at `entry`.
    pub fn function_at(&self, entry: OpIndex) -> Option<&CodeFunction> {
        self.functions
            .binary_search_by_key(&entry, |f| f.entry)
            .ok()
            .map(|i| &self.functions[i])
    }

    /// Little-endian word at a byte offset of a constant bank; `None` unless the binary fixes it.
    pub fn constant(&self, bank: u8, offset: u64) -> Option<u32> {
        let (_, bytes) = self.constants.iter().find(|(b, _)| *b == bank)?;
        let start = usize::try_from(offset).ok()?;
        // A word that reaches past the bank is not fixed by the binary.
        let word = bytes.get(start..start.checked_add(4)?)?;
        Some(u32::from_le_bytes(word.try_into().ok()?))
    }
}
