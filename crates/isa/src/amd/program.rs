//! Decoded instructions of one code section.
//!
//! Instructions have 4 or 8 bytes, so decoding a section from its start decides where each one begins. For example,
//! after `s_mov_b32 s0, 0x12345678` the dword 0x12345678 is a literal and not an instruction.

use super::form::{GcnForm, GcnUnit, VectorExtension, table};
use super::opcode::GcnOpcode;
use super::operand::{self, GcnView};
use super::rows;
use super::rows::GcnFormId;
use warpbound_base::{BitRange, Bits, CodeAddr, Diagnostic};

/// Decoded instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GcnInstr {
    /// Address of its first byte.
    pub addr: CodeAddr,
    /// First dword in the low half, second dword or 0 in the high half.
    pub word: u64,
    /// Number of bytes: 4 or 8; 4 for a dword that is no instruction.
    pub bytes: u8,
    /// Encoding form; `None` for a dword that is no instruction.
    pub form: Option<GcnFormId>,
}

impl GcnInstr {
    /// Decodes the instruction at the beginning of one or two dwords. A dword that is no instruction has no form; it
    /// takes 4 bytes.
    pub fn decode(addr: CodeAddr, first: u32, second: Option<u32>) -> GcnInstr {
        let word = u64::from(second.unwrap_or_default()) << 32 | u64::from(first);
        let invalid = GcnInstr {
            addr,
            word: first.into(),
            bytes: 4,
            form: None,
        };
        let Some(row) = rows::find(word) else {
            return invalid;
        };
        let id = GcnFormId(row);
        let Some(form) = table().form(id) else {
            return invalid;
        };
        let bytes = form.bytes(word);
        // The code ends after the first dword, so the instruction does not exist.
        if bytes == 8 && second.is_none() {
            return invalid;
        }
        let found = GcnInstr {
            // The second dword of a 4-byte instruction belongs to the next one.
            word: if bytes == 8 { word } else { first.into() },
            bytes,
            form: Some(id),
            ..invalid
        };
        // A row may match a word with operands that do not exist.
        if form.accepts(&found) { found } else { invalid }
    }

    /// Row of the instruction.
    pub(crate) fn form(&self) -> Option<&'static GcnForm> {
        table().form(self.form?)
    }

    /// Opcode; `None` for a dword that is no instruction.
    pub fn opcode(&self) -> Option<GcnOpcode> {
        Some(self.form()?.opcode)
    }

    /// Unit that executes it; `None` for a dword that is no instruction.
    pub fn unit(&self) -> Option<GcnUnit> {
        Some(self.form()?.unit)
    }

    /// Opcode, operands and modifiers; `None` for a dword that is no instruction.
    pub fn view(&self) -> Option<GcnView> {
        let form = self.form()?;
        Some(GcnView {
            opcode: form.opcode,
            encoding: form.encoding,
            operands: operand::operands(form, self).collect::<Option<_>>()?,
            modifiers: operand::modifiers(form, self),
        })
    }
}

impl GcnForm {
    /// Number of bytes of a word that matches the row, including a literal.
    fn bytes(&self, word: u64) -> u8 {
        match self.head.width.bytes() == 8 || self.head.has_literal(word.into()) {
            true => 8,
            false => 4,
        }
    }

    /// Whether all operands and modifiers of a word that matches the row have valid values.
    fn accepts(&self, instr: &GcnInstr) -> bool {
        let mut operands = operand::operands(self, instr);
        operands.all(|operand| operand.is_some()) && self.selects_parts(instr)
    }

    /// Whether the selections of SDWA name a part. The value 7 names none.
    fn selects_parts(&self, instr: &GcnInstr) -> bool {
        if self.extension != Some(VectorExtension::Sdwa) {
            return true;
        }
        let word = u128::from(instr.word);
        let part = |range: BitRange| {
            word.field(BitRange {
                hi: range.lo + 2,
                lo: range.lo,
            }) < 7
        };
        // Two bits select the treatment of the other destination bits; the value 3 has no meaning.
        let keeps = |range: BitRange| word.field(range) >> 3 < 3;
        let names = ["sdwa_dst", "sdwa0", "sdwa1"];
        let mut ranges = names.iter().filter_map(|name| self.modifier(name));
        ranges.all(part) && self.modifier("sdwa_dst").is_none_or(keeps)
    }
}

/// Decoded instructions of one code section, in address order.
#[derive(Clone, Debug)]
pub struct GcnProgram {
    /// All instructions, including dwords that are no instruction.
    pub instrs: Vec<GcnInstr>,
}

impl GcnProgram {
    /// Decodes a code section. Dwords that are no instruction are kept with `form: None`.
    ///
    /// # Errors
    ///
    /// Fails if the code is not a whole number of dwords or longer than 4 GiB.
    pub fn decode(code: &[u8]) -> Result<GcnProgram, Diagnostic> {
        let (dwords, rest) = code.as_chunks::<4>();
        if !rest.is_empty() {
            return Err(Diagnostic::new(format!(
                "code ends inside an instruction: {} bytes are not a multiple of 4",
                code.len()
            ))
            .hint("the file is truncated or the section is not GCN3 code"));
        }
        // Addresses have 32 bits.
        if u32::try_from(code.len()).is_err() {
            return Err(Diagnostic::new("code section is longer than 4 GiB"));
        }
        // An estimate between all instructions of 4 bytes and all of 8.
        let mut instrs = Vec::with_capacity(dwords.len() * 3 / 4);
        let mut at = 0;
        while let Some(first) = dwords.get(at) {
            let second = dwords.get(at + 1).map(|bytes| u32::from_le_bytes(*bytes));
            let addr = CodeAddr(at as u32 * 4);
            let instr = GcnInstr::decode(addr, u32::from_le_bytes(*first), second);
            at += usize::from(instr.bytes / 4);
            instrs.push(instr);
        }
        Ok(GcnProgram { instrs })
    }

    /// Index of the instruction that begins at an address; `None` outside the code and inside an instruction.
    pub fn index_of(&self, addr: CodeAddr) -> Option<usize> {
        // Addresses ascend because decoding does.
        let found = self.instrs.binary_search_by_key(&addr, |instr| instr.addr);
        found.ok()
    }

    /// Instruction that begins at an address.
    pub fn at(&self, addr: CodeAddr) -> Option<&GcnInstr> {
        self.instrs.get(self.index_of(addr)?)
    }
}
