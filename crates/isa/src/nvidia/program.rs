//! Decoded instructions of one code section.
//!
//! Code is a sequence of groups of 32 bytes: a control word and three instructions. For example, the first
//! instruction has the address 8, and address 0x20 is a control word, so a branch to 0x20 continues at 0x28.

use super::arch::Arch;
use super::control::ControlWord;
use super::form::{Form, FormId};
use super::lookup::{ArchTable, FormTable, table};
use super::names::Names;
use super::opcode::Opcode;
use super::operand::{self, Spelling, View};
use super::rows::ENCODINGS;
use super::timing::Timing;
use crate::encoding::GROUP;
use warpbound_base::{Bits, CodeAddr, Diagnostic};

/// Decoded instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SassInstr {
    /// Address; never the address of a control word.
    pub addr: CodeAddr,
    /// Instruction word.
    pub word: u128,
    /// Slot of the control word.
    pub control: ControlWord,
    /// Encoding form; `None` for a word that is not an instruction of the architecture.
    pub form: Option<FormId>,
}

impl SassInstr {
    /// Bits in the numbering of the table's rows: the word in bits 63:0, then the control slot from bit 64 on, with
    /// only the bits that the text depends on (19:17 and 20).
    pub(crate) fn bits(&self) -> u128 {
        let spelled = u128::from(self.control.reuse) | u128::from(self.control.coupled) << 3;
        // The slot begins at bit 64, so its bit 17 is bit 81.
        self.word | spelled << 81
    }
}

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
    /// Decodes a code section: 32-byte groups of a control word and three instructions.
    ///
    /// Words that are not an instruction are kept with `form: None`.
    ///
    /// # Errors
    ///
    /// Fails if the code is not a whole number of groups or longer than 4 GiB.
    pub fn decode(arch: Arch, code: &[u8]) -> Result<SassProgram, Diagnostic> {
        let table = table();
        let on = table.for_arch(arch);
        let mut instrs = Vec::with_capacity(code.len() / GROUP * 3);
        ENCODINGS.decode(arch.index(), code, |instr| {
            let (control, slot) = instr.control.unwrap_or_default();
            instrs.push(SassInstr {
                addr: instr.addr,
                word: instr.word,
                control: ControlWord::of_slot(control, slot),
                form: instr
                    .row
                    .and_then(|row| table.accept(on, row, instr.word as u64)),
            });
        })?;
        Ok(SassProgram {
            arch,
            table,
            arch_table: on,
            instrs,
        })
    }

    /// Architecture that the code was decoded for.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// Index of the instruction at an address. The address of a control word stands for the first slot of its group.
    /// `None` outside the code or between words.
    pub fn index_of(&self, addr: CodeAddr) -> Option<usize> {
        // A branch may lead to a control word, and then execution goes on at the first slot.
        let addr = canonical(addr).0 as usize;
        let (group, within) = (addr / GROUP, addr % GROUP);
        let slot = match within {
            8 => 0,
            16 => 1,
            24 => 2,
            _ => return None,
        };
        // `instrs` has no control words, so each group has three entries.
        let index = group * 3 + slot;
        (index < self.instrs.len()).then_some(index)
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
        Some(operand::view(form, self.names(), instr.bits(), instr.addr))
    }

    /// Opcode and modifiers as text; `None` for a word that is not an instruction.
    pub fn spelling(&self, instr: &SassInstr) -> Option<Spelling> {
        let form = self.form(instr)?;
        Some(operand::spelling(form, self.names(), instr.bits()))
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

    pub(crate) fn names(&self) -> &'static Names {
        self.arch_table.names()
    }
}

/// Returns the canonical address of a point in the code: the address of a control word (a multiple of 32)
/// stands for the first instruction slot after it.
pub fn canonical(addr: CodeAddr) -> CodeAddr {
    if addr.0.is_multiple_of(GROUP as u32) {
        // Bit 3 of a multiple of 32 is clear, so this adds 8 and cannot overflow.
        CodeAddr(addr.0 | 8)
    } else {
        addr
    }
}
