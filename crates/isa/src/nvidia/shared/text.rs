//! Disassembler: prints instructions as NVIDIA's disassembler does, so that the two can be compared. For
//! example, `@!P0 FADD.FTZ R0, R1.reuse, -R2`.

mod brackets;
mod operand_text;
mod relocated;

use super::dialect::Dialect;
use super::form::Form;
use super::names::Names;
use super::number;
use super::operand::{self, Operand};
use super::program::SassProgram;
use super::sass_instr::SassInstr;
use super::template::{Item, Piece};
use warpbound_base::CodeAddr;

/// Style of printed code addresses.
#[derive(Clone, Copy, Default)]
pub enum TargetStyle<'a> {
    /// Hexadecimal numbers, as for raw code.
    #[default]
    Hex,
    /// Labels from the caller's lookup; addresses without a label are printed in hexadecimal.
    Labels(&'a dyn Fn(CodeAddr) -> Option<String>),
}

/// Operand that the linker or the driver fills in.
#[derive(Clone, Debug)]
pub struct Relocated {
    /// Address of the instruction.
    pub addr: CodeAddr,
    /// Lowest bit of the operand's field; `None` if the operand is unknown.
    pub low_bit: Option<u8>,
    /// Text printed instead of the operand: `32@lo(table)`.
    pub text: String,
}

impl SassProgram {
    /// Assembly text of an instruction, without a final semicolon: `@!P0 FADD.FTZ R0, R1.reuse, -R2`.
    ///
    /// `None` for a word that is not an instruction.
    pub fn text(&self, instr: &SassInstr, style: TargetStyle<'_>) -> Option<String> {
        let mut out = String::new();
        self.write_text(instr, style, None, &mut out).then_some(out)
    }

    /// Appends the text of an instruction. A relocated operand is printed as its text, or after the instruction if
    /// the operand is unknown. Returns `false` and writes nothing for a word that is not an instruction.
    pub fn write_text(
        &self,
        instr: &SassInstr,
        style: TargetStyle<'_>,
        relocated: Option<&Relocated>,
        out: &mut String,
    ) -> bool {
        let Some(form) = self.form(instr) else {
            return false;
        };
        let reuses = self.reused_operands(instr) != 0;
        let mut line = TextWriter {
            out,
            names: self.names(),
            instr,
            word: self.bits(instr),
            dialect: self.dialect(),
            reuses,
            style,
            relocated,
        };
        line.push_guard(form);
        line.push(form.mnemonic());
        line.push_template(form);
        line.finish();
        true
    }

    /// Appends a listing of the whole program as the disassembler prints raw code: a line with address and text for
    /// each instruction, with the texts aligned. A word that is not an instruction is shown as `???
    /// 0x0123456789abcdef`. `relocated` must be sorted by address.
    pub fn write_listing(&self, relocated: &[Relocated], out: &mut String) {
        /// Typical length of a line in bytes.
        const LINE: usize = 80;
        // One allocation instead of many, because listings of libraries are large.
        out.reserve(self.instrs.len() * LINE);
        let mut relocated = relocated.iter().peekable();
        let digits = |addr: u32| (32 - addr.leading_zeros()).div_ceil(4).max(4);
        // The last address is the longest, and all texts begin in one column.
        let widest = digits(self.instrs.last().map_or(0, |last| last.addr.0));
        for instr in &self.instrs {
            out.push_str("        /*");
            number::push_hex_digits(out, instr.addr.0.into(), 4);
            out.push_str("*/  ");
            for _ in digits(instr.addr.0)..widest {
                out.push(' ');
            }
            // A relocation inside an instruction or a control word is skipped, otherwise all later ones would be
            // lost.
            while relocated.next_if(|r| r.addr < instr.addr).is_some() {}
            let here = relocated.next_if(|r| r.addr == instr.addr);
            if !self.write_text(instr, TargetStyle::Hex, here, out) {
                out.push_str("??? 0x");
                if self.dialect().word_bits > 64 {
                    number::push_hex_digits(out, (instr.word >> 64) as u64, 16);
                }
                number::push_hex_digits(out, instr.word as u64, 16);
            }
            out.push_str(" ;\n");
        }
    }

    /// Address, word and text of every instruction, in address order, for comparison with another
    /// disassembler. The text is `None` for words that are not an instruction.
    pub fn listing(&self) -> impl Iterator<Item = (CodeAddr, u128, Option<String>)> {
        self.instrs
            .iter()
            .map(|instr| (instr.addr, instr.word, self.text(instr, TargetStyle::Hex)))
    }
}

/// Text of a word of a row whose mnemonic may be missing among the opcodes.
pub(super) fn of_row(
    form: &Form,
    mnemonic: &str,
    names: &Names,
    dialect: &'static Dialect,
    instr: &SassInstr,
) -> String {
    let mut out = String::new();
    let mut line = TextWriter {
        out: &mut out,
        names,
        instr,
        word: instr.word,
        dialect,
        reuses: form
            .effects
            .hints
            .is_some_and(|hints| hints.are_reuse(instr.word)),
        style: TargetStyle::Hex,
        relocated: None,
    };
    line.push_guard(form);
    line.push(mnemonic);
    line.push_template(form);
    line.finish();
    out
}

struct TextWriter<'a> {
    out: &'a mut String,
    names: &'a Names,
    dialect: &'static Dialect,
    instr: &'a SassInstr,
    word: u128,
    reuses: bool,
    style: TargetStyle<'a>,
    /// Relocated operand, until it has been printed.
    relocated: Option<&'a Relocated>,
}

impl<'a> TextWriter<'a> {
    fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn finish(&mut self) {
        // Special float values end with a blank.
        self.out.truncate(self.out.trim_end_matches(' ').len());
        // No operand has taken the text, so the relocated field is unknown.
        if let Some(relocated) = self.relocated {
            self.push(" (*\"");
            self.push(&relocated.text);
            self.push("\"*)");
        }
    }

    fn push_hex(&mut self, n: i64) {
        number::push_hex(self.out, n);
    }

    /// Appends a bank: `c[0x3]`.
    fn push_bank(&mut self, bank: u8) {
        self.push("c[");
        self.push_hex(bank.into());
        self.push("]");
    }

    fn push_guard(&mut self, form: &Form) {
        let guard = operand::guard(form, self.word);
        if guard.is_always() {
            return;
        }
        self.push(if guard.negated { "@!" } else { "@" });
        if form.effects.uniform_guard {
            self.push("U");
        }
        self.push_pred(guard.pred);
        self.push(" ");
    }

    /// Appends modifiers and operands.
    fn push_template(&mut self, form: &Form) {
        for piece in &form.template.opcode {
            self.push_piece(piece);
        }
        let mut separator = " ";
        for pieces in &form.template.operands {
            // Fast path: nearly all operands are a single item.
            if let [Piece::Item(item)] = pieces.as_slice() {
                let operand = self.operand(item);
                if operand.shown {
                    self.push(if item.blank { " " } else { separator });
                    separator = ", ";
                    self.push_operand(item, &operand);
                }
                continue;
            }
            if !self.is_shown(pieces) {
                continue;
            }
            self.push(separator);
            separator = ", ";
            for piece in pieces {
                self.push_piece(piece);
            }
        }
    }

    /// Whether an operand is printed: its item is shown, or its text is not empty.
    fn is_shown(&self, pieces: &[Piece]) -> bool {
        let word = self.word;
        pieces.iter().any(|piece| match piece {
            Piece::Item(item) => self.operand(item).shown,
            // A literal among other pieces is shown only together with them.
            Piece::Literal(_) => pieces.len() == 1,
            Piece::Name { .. } | Piece::Flag { .. } | Piece::ImadAlias(_) => {
                !operand::modifier(piece, self.names, word).is_empty()
            }
        })
    }

    fn push_piece(&mut self, piece: &Piece) {
        match piece {
            Piece::Item(item) => {
                let operand = self.operand(item);
                match (item.blank, operand.shown) {
                    (true, false) => return,
                    (true, true) => self.push(" "),
                    (false, _) => {}
                }
                self.push_operand(item, &operand);
            }
            _ => self.push(operand::modifier(piece, self.names, self.word)),
        }
    }

    fn operand(&self, item: &Item) -> Operand {
        operand::operand(item, self.dialect, self.names, self.word, self.instr.addr)
    }
}
