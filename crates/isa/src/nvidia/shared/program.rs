//! Decoded instructions of one code section.
//!
//! For example, code of Maxwell is a sequence of groups of 32 bytes: the first instruction has the address 8, and
//! address 0x20 is a control word, so a branch to 0x20 continues at 0x28. From Volta on, an instruction has 16 bytes.

use super::arch::Arch;
use super::dialect::Dialect;
use super::form::Form;
use super::lookup::{ArchTable, FormTable};
use super::names::Names;
use super::opcode::Opcode;
use super::operand::{self, Spelling, View};
use super::sass_instr::SassInstr;
use super::timing::{LatencyKind, Timing};
use crate::nvidia::tables::table;
use warpbound_base::{Bits, CodeAddr, Diagnostic};

/// Decoded instructions of one code section, in address order.
#[derive(Clone, Debug)]
pub struct SassProgram {
    arch: Arch,
    table: &'static FormTable,
    arch_table: &'static ArchTable,
    /// All instructions, without control words.
    pub instrs: Vec<SassInstr>,
}

impl SassProgram {
    /// Decodes a code section.
    ///
    /// Words that are not an instruction are kept with `form: None`.
    ///
    /// # Errors
    ///
    /// Fails if the code ends inside an instruction or a group of instructions, or is longer than 4 GiB.
    pub fn decode(arch: Arch, code: &[u8]) -> Result<SassProgram, Diagnostic> {
        let table = table(arch);
        let instrs = (table.code().decode)(arch, code)?;
        Ok(SassProgram {
            arch,
            table,
            arch_table: table.for_arch(arch),
            instrs,
        })
    }

    /// Architecture that the code was decoded for.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// Index of the instruction at an address. The address of a control word of Maxwell stands for the first slot of
    /// its group. `None` outside the code or between words.
    pub fn index_of(&self, addr: CodeAddr) -> Option<usize> {
        let index = (self.table.code().index_of)(addr);
        index.filter(|index| *index < self.instrs.len())
    }

    /// Instruction at an address, as [`SassProgram::index_of`] finds it.
    pub fn at(&self, addr: CodeAddr) -> Option<&SassInstr> {
        self.instrs.get(self.index_of(addr)?)
    }

    /// Index of the next instruction in address order; `None` after the last.
    pub fn next(&self, index: usize) -> Option<usize> {
        index
            .checked_add(1)
            .filter(|&next| next < self.instrs.len())
    }

    /// Encoding form of the instruction.
    pub fn form(&self, instr: &SassInstr) -> Option<&'static Form> {
        self.table.form(instr.form?)
    }

    /// Opcode; `None` for a word that is not an instruction.
    pub fn opcode(&self, instr: &SassInstr) -> Option<Opcode> {
        Some(self.form(instr)?.opcode())
    }

    /// Opcode name; `None` for a word that is not an instruction.
    pub fn mnemonic(&self, instr: &SassInstr) -> Option<&'static str> {
        Some(self.form(instr)?.mnemonic())
    }

    /// Opcode, modifiers and operands. `None` for a word that is not an instruction.
    pub fn view(&self, instr: &SassInstr) -> Option<View> {
        let form = self.form(instr)?;
        Some(operand::view(
            form,
            self.names(),
            self.bits(instr),
            instr.addr,
        ))
    }

    /// Opcode and modifiers as text; `None` for a word that is not an instruction.
    pub fn spelling(&self, instr: &SassInstr) -> Option<Spelling> {
        let form = self.form(instr)?;
        Some(operand::spelling(form, self.names(), self.bits(instr)))
    }

    /// Operands that the instruction keeps in the reuse cache: bits 0, 1 and 2 for A, B and C.
    ///
    /// The bits of the control word mean reuse only for instructions of fixed latency; textures use them as modifiers.
    /// Rows of words of 128 bits say it themselves, because there it depends on the stall count, too.
    pub fn reused_operands(&self, instr: &SassInstr) -> u8 {
        match self.form(instr) {
            Some(form) if self.shows_reuse(form, instr) => instr.control.reuse,
            _ => 0,
        }
    }

    /// Whether the bits of the control word keep operands in the reuse cache.
    #[inline]
    pub(crate) fn shows_reuse(&self, form: &Form, instr: &SassInstr) -> bool {
        match form.effects.hints {
            Some(hints) => hints.are_reuse(self.bits(instr)),
            None => {
                // Classes are looked up last, because that takes longest.
                instr.control.reuse != 0
                    && self.timing(instr).is_some_and(|timing| {
                        matches!(timing.latency, LatencyKind::Fixed | LatencyKind::Either)
                    })
            }
        }
    }

    /// Timing class; `None` for a word that is not an instruction.
    pub fn timing(&self, instr: &SassInstr) -> Option<&'static Timing> {
        let form = self.form(instr)?;
        // In reverse, because the last condition that holds wins; the class without a condition is the first.
        let (_, class) = form.timing.iter().rev().find(|(condition, _)| {
            condition.is_none_or(|(range, value)| instr.word.field(range) == value)
        })?;
        self.names().timing(*class)
    }

    /// Bits in the numbering of the table's rows: the word and, if control words are apart from instructions, the bits
    /// of its slot that the text depends on.
    pub(crate) fn bits(&self, instr: &SassInstr) -> u128 {
        let control = &instr.control;
        match self.dialect().slot_bit {
            None => instr.word,
            Some(bit) => {
                let spelled = u128::from(control.reuse) | u128::from(control.coupled) << 3;
                instr.word | spelled << bit
            }
        }
    }

    /// Bytes of an instruction.
    pub fn instruction_bytes(&self) -> u32 {
        self.dialect().bytes()
    }

    /// Layout of its words.
    pub(crate) fn dialect(&self) -> &'static Dialect {
        self.table.dialect()
    }

    pub(crate) fn names(&self) -> &'static Names {
        self.arch_table.names()
    }
}
