//! [`EditedCode`]: the instructions of one code section, and the instructions inserted between them.
//!
//! A section is a sequence of groups of 32 bytes: a control word with three slots, and three instructions. New code is laid out as one list of instructions and divided into groups again. Every reference to
//! an address becomes a label and is written anew.
//!
//! For example, `BRA 0x30` names the second slot of the second group, position 4. With one instruction inserted
//! earlier in the section, the target is position 5, at 0x38.

mod assemble;
mod map;
mod references;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use warpbound_base::{CodeAddr, Diagnostic, GroupedCode};
use warpbound_isa::ControlWord;
use warpbound_isa::nvidia::{Arch, LatencyKind, Opcode, SassProgram};
use warpbound_load::AddressHalf;

pub(crate) use assemble::Assembled;
pub use map::CodeMap;
use references::Reference;
pub(crate) use words::NOP;
use words::{GROUP, SLOTS, slot_at, slot_bits};

/// Ways to an instruction on which inserted code is executed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Entry {
    /// Every way to the instruction: jumps to its address also execute the inserted code.
    All,
    /// Fall through from the instruction before it, and a start there; jumps skip the inserted code.
    FallThrough,
}

/// Target of an inserted control transfer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NewTarget {
    /// Instruction of the file, with all code inserted before it for [`Entry::All`].
    Code(CodeAddr),
    /// Position in the list of inserted instructions. The length of the list stands for the instruction after it.
    Inserted(usize),
}

/// Instruction to insert.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewInstr {
    /// Instruction word. The field of the target is overwritten if `target` is given.
    pub word: u64,
    /// Slot of the control word.
    pub control: ControlWord,
    /// Target, if the instruction has a relative one.
    pub target: Option<NewTarget>,
    /// Half of the address of the added variable that the loader writes into the 32-bit immediate.
    pub address: Option<AddressHalf>,
}

impl NewInstr {
    /// Creates an instruction that refers to no code.
    pub fn new(word: u64, control: ControlWord) -> NewInstr {
        NewInstr {
            word,
            control,
            target: None,
            address: None,
        }
    }

    /// The same instruction with a half of the variable's address for its immediate.
    #[must_use]
    pub fn with_address(self, address: Option<AddressHalf>) -> NewInstr {
        NewInstr { address, ..self }
    }
}

/// Instruction of the file.
#[derive(Clone, Debug)]
pub(crate) struct OldInstr {
    pub(crate) addr: CodeAddr,
    pub(crate) word: u64,
    /// Slot of the control word, 21 bits.
    pub(crate) control: u32,
    /// Whether the reuse bits of the slot say which operands stay for the next instruction. On instructions of
    /// variable latency these bits are modifiers of textures.
    pub(crate) has_reuse: bool,
    /// Code that the word refers to.
    pub(crate) reference: Reference,
}

/// Code that a branch enters first when it is taken, on the way to its target.
#[derive(Clone, Debug)]
pub(crate) struct Stub {
    /// Position of the branch.
    pub(crate) branch: usize,
    pub(crate) code: Vec<NewInstr>,
}

/// Code inserted before an instruction.
#[derive(Clone, Default, Debug)]
pub(crate) struct Insertions {
    pub(crate) stubs: Vec<Stub>,
    pub(crate) fall_through: Vec<Vec<NewInstr>>,
    pub(crate) all: Vec<Vec<NewInstr>>,
}

/// Instructions of one code section with the code inserted so far. Addresses refer to the file that was read.
#[derive(Clone, Debug)]
pub struct EditedCode {
    /// Name of the section.
    pub(crate) section: String,
    pub(crate) arch: Arch,
    pub(crate) instrs: Vec<OldInstr>,
    pub(crate) before: BTreeMap<usize, Insertions>,
    /// Positions at which functions begin.
    starts: BTreeSet<usize>,
    /// Whether a word or slot was replaced.
    replaced: bool,
}

impl EditedCode {
    /// Reads a section; `starts` are the values of its function symbols, `relocated` the addresses of words that
    /// relocations change.
    pub(crate) fn read(
        section: &str,
        arch: Arch,
        code: &[u8],
        starts: &[u64],
        relocated: &BTreeSet<u64>,
    ) -> Result<EditedCode, Diagnostic> {
        let program = SassProgram::decode(arch, code)?;
        let mut instrs = Vec::with_capacity(program.instrs.len());
        for instr in &program.instrs {
            instrs.push(OldInstr {
                addr: instr.addr,
                word: instr.word as u64,
                control: slot_at(code, instr.addr),
                has_reuse: program
                    .timing(instr)
                    .is_some_and(|timing| timing.latency == LatencyKind::Fixed),
                reference: Reference::of(&program, instr, relocated),
            });
        }
        let mut edited = EditedCode {
            section: section.to_owned(),
            arch,
            instrs,
            before: BTreeMap::new(),
            starts: BTreeSet::new(),
            replaced: false,
        };
        for &start in starts {
            let at = u32::try_from(start).ok().map(CodeAddr);
            // A symbol may also stand at the end of the section, where no instruction begins.
            let index = at.and_then(|at| edited.boundary_index(at));
            let index = index.ok_or_else(|| {
                Diagnostic::new(format!(
                    "a function of section {section:?} begins at 0x{start:x}, between instructions"
                ))
            })?;
            // A function ends where the next one begins, which is where its stubs go.
            edited.starts.insert(index);
        }
        Ok(edited)
    }

    /// Architecture of the code.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// Number of instructions in the file.
    pub fn len(&self) -> usize {
        self.instrs.len()
    }

    /// Whether the section is empty.
    pub fn is_empty(&self) -> bool {
        self.instrs.is_empty()
    }

    /// Bytes of the section in the file.
    pub(crate) fn old_size(&self) -> u32 {
        (self.instrs.len() as u32 / SLOTS) * GROUP
    }

    /// Position of the instruction at an address. The address of a control word stands for the first slot of its
    /// group.
    pub fn index_of(&self, at: CodeAddr) -> Option<usize> {
        let index = GroupedCode::WITH_THREE_SLOTS.position(at.0)? as usize;
        (index < self.instrs.len()).then_some(index)
    }

    /// Position of the instruction that begins at an address, or the number of instructions for the end of the
    /// section.
    pub(crate) fn boundary_index(&self, at: CodeAddr) -> Option<usize> {
        if at.0 == self.old_size() {
            return Some(self.instrs.len());
        }
        self.index_of(at)
    }

    fn at(&self, at: CodeAddr) -> Result<usize, Diagnostic> {
        self.index_of(at)
            .ok_or_else(|| self.fault(at, "there is no instruction at this address"))
    }

    /// Diagnostic at an address of the section.
    pub(crate) fn fault(&self, at: CodeAddr, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(message).in_kernel(self.name()).at(at)
    }

    /// Name of the kernel or function of the section.
    fn name(&self) -> &str {
        self.section.strip_prefix(".text.").unwrap_or(&self.section)
    }

    /// Returns the instruction word and the slot of the control word at an address.
    pub fn instr(&self, at: CodeAddr) -> Option<(u64, ControlWord)> {
        let instr = self.instrs.get(self.index_of(at)?)?;
        Some((instr.word, ControlWord::of_slot(instr.control.into(), 0)))
    }

    /// Inserts code before the instruction at an address, after the code inserted there before.
    ///
    /// # Errors
    ///
    /// If there is no instruction at the address.
    pub fn insert_before(
        &mut self,
        at: CodeAddr,
        entry: Entry,
        code: Vec<NewInstr>,
    ) -> Result<(), Diagnostic> {
        let index = self.at(at)?;
        let before = self.before.entry(index).or_default();
        match entry {
            Entry::All => before.all.push(code),
            Entry::FallThrough => before.fall_through.push(code),
        }
        Ok(())
    }

    /// Makes a branch that is taken execute code before it reaches its target. The code is placed at the end of the
    /// function, and ends with a branch to the target.
    ///
    /// # Errors
    ///
    /// If the instruction at the address is no BRA with a relative target, or if the function has no place for code.
    pub fn insert_on_taken(
        &mut self,
        branch: CodeAddr,
        code: Vec<NewInstr>,
    ) -> Result<(), Diagnostic> {
        let index = self.at(branch)?;
        let is_branch = self.instrs.get(index).is_some_and(|instr| {
            matches!(instr.reference, Reference::Relative(_))
                && references::opcode(self.arch, instr.word) == Some(Opcode::Bra)
        });
        if !is_branch {
            return Err(self.fault(branch, "this is no branch with a relative target"));
        }
        let place = self.place_for_stubs(index).ok_or_else(|| {
            self.fault(
                branch,
                "the function of this branch has no end where code can be placed",
            )
        })?;
        let mut stubs = self.before.values().flat_map(|before| &before.stubs);
        // The map from a branch to its stub has room for one.
        if stubs.any(|stub| stub.branch == index) {
            return Err(self.fault(branch, "code was inserted on this edge before"));
        }
        let stub = Stub {
            branch: index,
            code,
        };
        self.before.entry(place).or_default().stubs.push(stub);
        Ok(())
    }

    /// Position before the padding at the end of the function around `index`, chosen such that no instruction falls
    /// through to it.
    fn place_for_stubs(&self, index: usize) -> Option<usize> {
        let end = self.starts.range(index + 1..).next();
        let end = end.copied().unwrap_or(self.instrs.len());
        let is_padding = |instr: &OldInstr| references::is_padding(self.arch, instr);
        let mut place = end;
        // Never at or before the branch itself, whose function may consist of padding from there on.
        while place > index + 1 && self.instrs.get(place - 1).is_some_and(is_padding) {
            place -= 1;
        }
        // The last instruction may fall through, for example a call that never returns. Stubs then stand after the
        // branch to itself that follows it.
        (place..=end).find(|&place| {
            let last = place.checked_sub(1).and_then(|last| self.instrs.get(last));
            last.is_some_and(|last| references::never_falls_through(self.arch, last))
        })
    }

    /// Replaces the slot of the control word of an instruction of the file.
    ///
    /// # Errors
    ///
    /// If there is no instruction at the address.
    pub fn set_control(&mut self, at: CodeAddr, control: ControlWord) -> Result<(), Diagnostic> {
        let index = self.at(at)?;
        if let Some(instr) = self.instrs.get_mut(index) {
            instr.control = slot_bits(control);
            self.replaced = true;
        }
        Ok(())
    }

    /// Replaces the word of an instruction by another one. Neither of them may refer to code.
    ///
    /// # Errors
    ///
    /// If there is no instruction at the address, or if the old word refers to code.
    pub fn set_word(&mut self, at: CodeAddr, word: u64) -> Result<(), Diagnostic> {
        let index = self.at(at)?;
        if let Some(instr) = self.instrs.get_mut(index) {
            // The word is written from its reference when the code is laid out, so another word would lose its
            // target.
            if instr.reference != Reference::None {
                return Err(self.fault(at, "this instruction refers to code and stays"));
            }
            instr.word = word;
            self.replaced = true;
        }
        Ok(())
    }

    /// Marks the code as edited, so that it is laid out again.
    pub fn lay_out_anew(&mut self) {
        self.replaced = true;
    }

    /// Whether the section has branches whose target is in a register.
    pub(crate) fn has_indirect_branches(&self) -> bool {
        let mut instrs = self.instrs.iter();
        instrs.any(|instr| matches!(instr.reference, Reference::Anchor(_)))
    }

    /// Whether instructions were inserted or replaced.
    pub fn is_edited(&self) -> bool {
        self.replaced || !self.before.is_empty()
    }
}
