//! The instructions of one code section.

use super::arch::Arch;
use super::control::ControlWord;
use super::form::{Form, FormId};
use super::lookup::{ArchTable, Table, table};
use super::names::Names;
use super::operand::{self, View};
use super::timing::Timing;
use warpbound_base::{Bits, CodeAddr, Diagnostic};

/// Bytes of a group: a control word and three instructions.
const GROUP: usize = 32;

/// One decoded instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instr {
    /// Its address (never that of a control word).
    pub addr: CodeAddr,
    /// The instruction word.
    pub word: u128,
    /// Its slot of the control word.
    pub control: ControlWord,
    /// Its encoding form; `None` for a word that is no instruction of the architecture.
    pub form: Option<FormId>,
}

impl Instr {
    /// What the rows of the table speak about: the word in bits 63:0, and above it, from bit 64
    /// on, the slot of the control word as far as its bits spell something (19:17 and 20).
    pub(crate) fn bits(&self) -> u128 {
        let spelled = u128::from(self.control.reuse) | u128::from(self.control.coupled) << 3;
        self.word | spelled << 81
    }
}

/// The decoded instructions of one code section, in address order.
#[derive(Clone, Debug)]
pub struct Program {
    arch: Arch,
    table: &'static Table,
    arch_table: &'static ArchTable,
    /// All instructions, control words left out.
    pub instrs: Vec<Instr>,
}

impl Program {
    /// Decodes a code section: 32-byte groups of a control word and three instructions.
    ///
    /// Words that are no instruction are kept with `form: None`. Fails when the code is not a
    /// whole number of groups or longer than 4 GiB.
    pub fn decode(arch: Arch, code: &[u8]) -> Result<Program, Diagnostic> {
        let table = table();
        let on = table.for_arch(arch);
        let (groups, rest) = code.as_chunks::<GROUP>();
        if !rest.is_empty() {
            return Err(Diagnostic::new(format!(
                "code ends inside an instruction group: {} bytes are not a multiple of {GROUP}",
                code.len()
            ))
            .hint("the file is truncated or the section is not Maxwell/Pascal code"));
        }
        if u32::try_from(code.len()).is_err() {
            return Err(Diagnostic::new("code section is longer than 4 GiB"));
        }
        let mut instrs = Vec::with_capacity(groups.len() * 3);
        for (number, group) in groups.iter().enumerate() {
            let (words, _) = group.as_chunks::<8>();
            let mut words = words.iter().map(|bytes| u64::from_le_bytes(*bytes));
            let control = words.next().unwrap_or_default();
            for (slot, word) in (0u32..).zip(words) {
                instrs.push(Instr {
                    addr: CodeAddr((number * GROUP) as u32 + 8 + 8 * slot),
                    word: word.into(),
                    control: ControlWord::of_slot(control, slot),
                    form: table.find_in(on, word),
                });
            }
        }
        Ok(Program {
            arch,
            table,
            arch_table: on,
            instrs,
        })
    }

    /// The architecture the code was decoded for.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// The index of the instruction at an address. The address of a control word means the first
    /// slot of its group. `None` outside the code or between words.
    pub fn index_of(&self, addr: CodeAddr) -> Option<usize> {
        let addr = canonical(addr).0 as usize;
        let (group, within) = (addr / GROUP, addr % GROUP);
        let slot = match within {
            8 => 0,
            16 => 1,
            24 => 2,
            _ => return None,
        };
        let index = group * 3 + slot;
        (index < self.instrs.len()).then_some(index)
    }

    /// The instruction at an address, found as [`Program::index_of`] finds it.
    pub fn at(&self, addr: CodeAddr) -> Option<&Instr> {
        self.instrs.get(self.index_of(addr)?)
    }

    /// The index of the next instruction in address order; `None` after the last.
    pub fn next(&self, index: usize) -> Option<usize> {
        index
            .checked_add(1)
            .filter(|&next| next < self.instrs.len())
    }

    /// The row of the instruction's encoding form.
    pub fn form(&self, instr: &Instr) -> Option<&'static Form> {
        self.table.form(instr.form?)
    }

    /// Opcode name; `None` for a word that is no instruction.
    pub fn mnemonic(&self, instr: &Instr) -> Option<&'static str> {
        Some(self.form(instr)?.mnemonic())
    }

    /// The instruction spelled out: opcode, modifiers, operands. `None` for a word that is no
    /// instruction.
    pub fn view(&self, instr: &Instr) -> Option<View> {
        let form = self.form(instr)?;
        Some(operand::view(form, self.names(), instr.bits(), instr.addr))
    }

    /// Timing class; `None` for a word that is no instruction.
    pub fn timing(&self, instr: &Instr) -> Option<&'static Timing> {
        let form = self.form(instr)?;
        let (_, class) = form.timing.iter().rev().find(|(condition, _)| {
            condition.is_none_or(|(range, value)| instr.word.field(range) == value)
        })?;
        self.names().timing(*class)
    }

    pub(crate) fn names(&self) -> &'static Names {
        self.arch_table.names()
    }
}

/// The same point of the code as a slot address: the control word of a group (a multiple of 32)
/// stands for the first slot after it.
pub fn canonical(addr: CodeAddr) -> CodeAddr {
    if addr.0.is_multiple_of(GROUP as u32) {
        CodeAddr(addr.0 | 8)
    } else {
        addr
    }
}
