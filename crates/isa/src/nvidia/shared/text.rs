//! Disassembler: prints instructions as NVIDIA's disassembler does, so that the two can be compared. For
//! example, `@!P0 FADD.FTZ R0, R1.reuse, -R2`.

mod brackets;
mod operand_text;
mod relocated;

use super::brief::{BriefKind, BriefOperand, SelectPlace, Step, Steps};
use super::dialect::Dialect;
use super::field::{Cond, Field};
use super::form::Form;
use super::line::{Line, ShortText, Spelling};
use super::names::{Names, NamesId};
use super::operand::{self, Operand};
use super::program::SassProgram;
use super::register_number;
use super::sass_instr::SassInstr;
use super::template::{Item, Piece, Template};
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
        let mut line = Line::new(out);
        let written = self.write_line(instr, style, relocated, &mut line);
        line.flush();
        written
    }

    /// As [`SassProgram::write_text`], to a buffer.
    fn write_line(
        &self,
        instr: &SassInstr,
        style: TargetStyle<'_>,
        relocated: Option<&Relocated>,
        line: &mut Line<'_>,
    ) -> bool {
        let Some(form) = self.form(instr) else {
            return false;
        };
        let mut writer = TextWriter {
            line,
            names: self.names(),
            instr,
            word: self.bits(instr),
            dialect: self.dialect(),
            uniform_zero: register_number::uniform_zero(self.dialect(), self.names()),
            reuses: self.shows_reuse(form, instr),
            style,
            relocated,
        };
        writer.push_instr(form, form.steps());
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
        let mut line = Line::new(out);
        for instr in &self.instrs {
            line.push("        /*");
            line.push_hex_digits(instr.addr.0.into(), 4);
            line.push("*/  ");
            for _ in digits(instr.addr.0)..widest {
                line.push(" ");
            }
            // A relocation inside an instruction or a control word is skipped, otherwise all later ones would be
            // lost.
            while relocated.next_if(|r| r.addr < instr.addr).is_some() {}
            let here = relocated.next_if(|r| r.addr == instr.addr);
            if !self.write_line(instr, TargetStyle::Hex, here, &mut line) {
                line.push("??? 0x");
                if self.dialect().word_bits > 64 {
                    line.push_hex_digits((instr.word >> 64) as u64, 16);
                }
                line.push_hex_digits(instr.word as u64, 16);
            }
            line.push(" ;\n");
        }
        line.flush();
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
    mnemonic: &'static str,
    names: &Names,
    dialect: &'static Dialect,
    instr: &SassInstr,
) -> String {
    let mut out = String::new();
    let mut line = Line::new(&mut out);
    let mut writer = TextWriter {
        line: &mut line,
        names,
        instr,
        word: instr.word,
        dialect,
        uniform_zero: register_number::uniform_zero(dialect, names),
        reuses: form
            .effects
            .hints
            .is_some_and(|hints| hints.are_reuse(instr.word)),
        style: TargetStyle::Hex,
        relocated: None,
    };
    writer.push_instr(form, &Steps::of(mnemonic, &form.template, dialect));
    line.flush();
    out
}

/// Separator before the first operand.
const BLANK: &ShortText = &ShortText::of(" ");

/// Separator before later operands.
const COMMA: &ShortText = &ShortText::of(", ");

/// Writer of one instruction.
struct TextWriter<'a, 'o> {
    line: &'a mut Line<'o>,
    names: &'a Names,
    dialect: &'static Dialect,
    instr: &'a SassInstr,
    word: u128,
    /// Number of URZ.
    uniform_zero: u8,
    reuses: bool,
    style: TargetStyle<'a>,
    /// Relocated operand, until it has been printed.
    relocated: Option<&'a Relocated>,
}

impl<'a> TextWriter<'a, '_> {
    fn push_instr(&mut self, form: &Form, steps: &Steps) {
        self.push_guard(form);
        self.line.push_spelling(&steps.mnemonic);
        self.push_template(&form.template, steps);
        self.finish();
    }

    #[inline(always)]
    fn push(&mut self, text: &str) {
        self.line.push(text);
    }

    fn finish(&mut self) {
        // Special float values end with a blank.
        self.line.trim_blanks();
        // No operand has taken the text, so the relocated field is unknown.
        if let Some(relocated) = self.relocated {
            self.push(" (*\"");
            self.push(&relocated.text);
            self.push("\"*)");
        }
    }

    fn push_hex(&mut self, n: i64) {
        self.line.push_hex(n);
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
    fn push_template(&mut self, template: &Template, steps: &Steps) {
        for (step, piece) in steps.opcode.iter().zip(&template.opcode) {
            match step {
                Step::Text(text) => self.line.push_short(text),
                Step::Listed { list, field, hide } => {
                    let text = self.listed(*list, field, hide);
                    self.line.push_spelling(text);
                }
                Step::Flag { bit, text } => {
                    let text = if self.word & bit != 0 {
                        text
                    } else {
                        &ShortText::EMPTY
                    };
                    self.line.push_short(text);
                }
                Step::Operand(_) | Step::Other => self.push_piece(piece),
            }
        }
        let mut separator = BLANK;
        for (step, pieces) in steps.operands.iter().zip(&template.operands) {
            if self.push_step(step, pieces, separator) {
                separator = COMMA;
            }
        }
    }

    /// Text that a field chooses from a list; empty if `hide` holds.
    fn listed(&self, list: NamesId, field: &Field, hide: &Cond) -> &'a Spelling {
        const NONE: &Spelling = &Spelling::new("");
        // Decoding rejects values without a name, so this appears only for words that no decoder accepted.
        const UNKNOWN: &Spelling = &Spelling::new("?");
        match hide.holds(self.word) {
            true => NONE,
            false => (self.names.spelling(list, field.get(self.word))).unwrap_or(UNKNOWN),
        }
    }

    /// Appends an operand with its separator; returns whether anything is printed.
    fn push_step(&mut self, step: &Step, pieces: &[Piece], separator: &ShortText) -> bool {
        match step {
            Step::Operand(brief) if self.word & brief.others == 0 && self.relocated.is_none() => {
                self.push_brief(brief, pieces, separator)
            }
            Step::Listed { list, field, hide } => {
                let text = self.listed(*list, field, hide);
                let is_shown = !text.text.is_empty();
                if is_shown {
                    self.line.push_short(separator);
                    self.line.push_spelling(text);
                }
                is_shown
            }
            Step::Text(text) => {
                self.line.push_short(separator);
                self.line.push_short(text);
                true
            }
            Step::Flag { .. } | Step::Operand(_) | Step::Other => {
                self.push_pieces(pieces, separator)
            }
        }
    }

    /// Appends an operand that is a register, a predicate or a number.
    fn push_brief(
        &mut self,
        brief: &BriefOperand,
        pieces: &[Piece],
        separator: &ShortText,
    ) -> bool {
        let word = self.word;
        // Few operands need more than their brief form, so the item is left where it is.
        let item = || match pieces {
            [Piece::Item(item)] => Some(&**item),
            _ => None,
        };
        let is_hidden = match brief.is_hidden_by_list {
            true => item().is_some_and(|item| operand::is_hidden(item, self.names, word)),
            false => brief.hide.holds(word),
        };
        if is_hidden {
            return false;
        }
        let name = match &brief.kind {
            BriefKind::Named(name) => name,
            BriefKind::Unsigned(field) => {
                return self.push_number(brief, field.get(word) as i64, separator);
            }
            BriefKind::Signed(field) => {
                return self.push_number(brief, field.signed(word), separator);
            }
        };
        let last = name.last & (name.fixed | self.uniform_zero);
        let number = ((word >> (name.low_bit & 127)) as u8 & last) ^ brief.flip;
        let may_have_sign = word & brief.sign_bits != 0;
        let has_sign = may_have_sign && brief.rare.sign.holds(word);
        if number == last && brief.rare.optional.holds(word) && !(name.is_predicate && has_sign) {
            return false;
        }
        self.line.push_short(separator);
        if has_sign {
            self.line
                .push_byte(if name.is_predicate { b'!' } else { b'-' });
        }
        if may_have_sign && brief.rare.invert.holds(word) {
            self.line.push_byte(b'~');
        }
        self.line.push_short(&name.prefix);
        self.line.push_short(match number == last {
            true => &name.constant,
            false => ShortText::of_number(number),
        });
        if brief.select == Some(SelectPlace::BeforeReuse) {
            self.push(item().map_or("", |item| operand::select(item, self.names, word)));
        }
        // Both texts are copied in the same way, because no branch predictor foresees reuse marks.
        self.line
            .push_short(match self.reuses & (word & brief.reuse_bit != 0) {
                true => const { &ShortText::of(".reuse") },
                false => &ShortText::EMPTY,
            });
        if brief.select == Some(SelectPlace::AfterReuse) {
            self.push(item().map_or("", |item| operand::select(item, self.names, word)));
        }
        true
    }

    fn push_number(&mut self, brief: &BriefOperand, number: i64, separator: &ShortText) -> bool {
        if number == 0 && brief.rare.optional.holds(self.word) {
            return false;
        }
        self.line.push_short(separator);
        self.push_hex(number);
        true
    }

    /// Appends any operand.
    fn push_pieces(&mut self, pieces: &[Piece], separator: &ShortText) -> bool {
        // Nearly all operands are a single item.
        if let [Piece::Item(item)] = pieces {
            let operand = self.operand(item);
            if operand.shown {
                self.line
                    .push_short(if item.blank { BLANK } else { separator });
                self.push_operand(item, &operand);
            }
            return operand.shown;
        }
        let is_shown = self.is_shown(pieces);
        if is_shown {
            self.line.push_short(separator);
            for piece in pieces {
                self.push_piece(piece);
            }
        }
        is_shown
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

#[cfg(test)]
mod tests {
    use super::{Steps, TextWriter};
    use crate::ControlWord;
    use crate::nvidia::shared::arch::Arch;
    use crate::nvidia::shared::form::Form;
    use crate::nvidia::shared::line::Line;
    use crate::nvidia::shared::register_number::uniform_zero;
    use crate::nvidia::shared::sass_instr::SassInstr;
    use crate::nvidia::tables::table;
    use warpbound_base::CodeAddr;

    /// Text of a word that matches the row, whether the chip accepts it or not.
    fn text(arch: Arch, form: &Form, word: u128, steps: &Steps) -> String {
        let table = table(arch);
        let names = table.for_arch(arch).names();
        let mut out = String::new();
        let mut line = Line::new(&mut out);
        let mut writer = TextWriter {
            line: &mut line,
            names,
            dialect: table.dialect(),
            instr: &SassInstr {
                addr: CodeAddr(0x90),
                word,
                control: ControlWord::PLAIN,
                form: None,
            },
            word,
            uniform_zero: uniform_zero(table.dialect(), names),
            reuses: word & 1 << 13 != 0,
            style: super::TargetStyle::Hex,
            relocated: None,
        };
        writer.push_instr(form, steps);
        line.flush();
        out
    }

    /// Each row, with random fields and with fields of only zeros or ones.
    #[test]
    fn prepared_templates_print_as_items_do() {
        let mut random = fastrand::Rng::with_seed(5);
        for arch in [Arch::Sm61, Arch::Sm75, Arch::Sm90, Arch::Sm120] {
            let rows = table(arch).forms().filter(|(_, form)| form.exists_on(arch));
            for (_, form) in rows {
                let items = Steps::unprepared(form.mnemonic(), &form.template);
                for trial in 0..60 {
                    let mut bits = || random.u128(..);
                    // Some bytes are all ones, which is RZ and PT, or all zeros.
                    let (bits, ones, kept) = (bits(), bytes(bits()), bytes(bits()));
                    let free = match trial % 3 {
                        0 => bits,
                        _ => (bits | ones) & kept,
                    };
                    let word = free & !form.mask | form.value;
                    assert_eq!(
                        text(arch, form, word, form.steps()),
                        text(arch, form, word, &items),
                        "{arch:?} {word:#034x}"
                    );
                }
            }
        }
    }

    /// Bytes of a word, all ones where the byte's lowest bit is set.
    fn bytes(word: u128) -> u128 {
        u128::from_le_bytes(word.to_le_bytes().map(|byte| 0u8.wrapping_sub(byte & 1)))
    }
}
