//! Printing instructions the way NVIDIA's disassembler (12.4) does.

use super::form::Form;
use super::names::{self, Names};
use super::number;
use super::operand::{self, Operand, Value};
use super::program::{Instr, Program};
use super::template::{Item, Kind, Piece};
use super::timing::Latency;
use crate::instr::{CcTest, Guard, Target};
use warpbound_base::{Bits, CodeAddr};

/// How code addresses are printed.
#[derive(Clone, Copy, Default)]
pub enum TargetStyle<'a> {
    /// As hexadecimal numbers, what the disassembler prints for raw code.
    #[default]
    Hex,
    /// Through the caller's lookup; addresses without a label are printed in hexadecimal.
    Labels(&'a dyn Fn(CodeAddr) -> Option<String>),
}

/// An operand that the linker or the driver still has to write.
#[derive(Clone, Debug)]
pub struct Relocated {
    /// Address of the instruction.
    pub addr: CodeAddr,
    /// Lowest bit of the operand's field; `None` where it is not known which operand is meant.
    pub low_bit: Option<u8>,
    /// The text in place of the operand: `32@lo(table)`.
    pub text: String,
}

impl Program {
    /// The instruction as text, without a final semicolon: `@!P0 FADD.FTZ R0, R1.reuse, -R2`.
    ///
    /// `None` for a word that is no instruction.
    pub fn text(&self, instr: &Instr, style: TargetStyle<'_>) -> Option<String> {
        let mut out = String::new();
        self.write_text(instr, style, None, &mut out).then_some(out)
    }

    /// Appends what [`Program::text`] returns, with what stands for a relocated operand in its place; where no
    /// operand is known to be meant, it stands behind the text. `false`, and nothing is written, for a word
    /// that is no instruction.
    pub fn write_text(
        &self,
        instr: &Instr,
        style: TargetStyle<'_>,
        relocated: Option<&Relocated>,
        out: &mut String,
    ) -> bool {
        let Some(form) = self.form(instr) else {
            return false;
        };
        // Bits 19:17 of the control slot mean operand reuse for fixed latencies only.
        let reuses = instr.control.reuse != 0
            && matches!(
                self.timing(instr).map(|timing| timing.latency),
                Some(Latency::Fixed | Latency::Either)
            );
        let mut line = Line {
            out,
            names: self.names(),
            instr,
            word: instr.bits(),
            reuses,
            style,
            relocated,
        };
        line.guard(operand::guard(form, line.word));
        line.form(form);
        line.end();
        true
    }

    /// Appends a listing of the whole program as the disassembler prints raw code: a line with address and
    /// text for each instruction, the texts below each other. A word that is no instruction is shown
    /// as `??? 0x0123456789abcdef`. `relocated` are operands in the order of their addresses.
    pub fn write_listing(&self, relocated: &[Relocated], out: &mut String) {
        /// Bytes of most lines.
        const LINE: usize = 80;
        out.reserve(self.instrs.len() * LINE);
        let mut relocated = relocated.iter().peekable();
        let digits = |addr: u32| (32 - addr.leading_zeros()).div_ceil(4).max(4);
        let widest = digits(self.instrs.last().map_or(0, |last| last.addr.0));
        for instr in &self.instrs {
            out.push_str("        /*");
            number::push_hex_digits(out, instr.addr.0.into(), 4);
            out.push_str("*/  ");
            for _ in digits(instr.addr.0)..widest {
                out.push(' ');
            }
            while relocated.next_if(|r| r.addr < instr.addr).is_some() {}
            let here = relocated.next_if(|r| r.addr == instr.addr);
            if !self.write_text(instr, TargetStyle::Hex, here, out) {
                out.push_str("??? 0x");
                number::push_hex_digits(out, instr.word as u64, 16);
            }
            out.push_str(" ;\n");
        }
    }

    /// Every instruction with its word and text, in address order: what a comparison with another
    /// disassembler needs. Text is `None` for words that are no instruction.
    pub fn listing(&self) -> impl Iterator<Item = (CodeAddr, u64, Option<String>)> {
        self.instrs.iter().map(|instr| {
            (
                instr.addr,
                instr.word as u64,
                self.text(instr, TargetStyle::Hex),
            )
        })
    }
}

struct Line<'a> {
    out: &'a mut String,
    names: &'a Names,
    instr: &'a Instr,
    word: u128,
    reuses: bool,
    style: TargetStyle<'a>,
    /// Taken when the operand is written that it stands for.
    relocated: Option<&'a Relocated>,
}

impl<'a> Line<'a> {
    fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn end(&mut self) {
        // Some immediates carry a blank behind them.
        self.out.truncate(self.out.trim_end_matches(' ').len());
        if let Some(relocated) = self.relocated {
            self.push(" (*\"");
            self.push(&relocated.text);
            self.push("\"*)");
        }
    }

    fn hex(&mut self, n: i64) {
        number::push_hex(self.out, n);
    }

    /// `c[0x3]`.
    fn bank(&mut self, bank: u8) {
        self.push("c[");
        self.hex(bank.into());
        self.push("]");
    }

    fn guard(&mut self, guard: Guard) {
        if guard.is_always() {
            return;
        }
        self.push(if guard.negated { "@!" } else { "@" });
        self.pred(guard.pred);
        self.push(" ");
    }

    fn form(&mut self, form: &Form) {
        self.push(form.mnemonic());
        for piece in &form.template.opcode {
            self.piece(piece);
        }
        let mut separator = " ";
        for pieces in &form.template.operands {
            // Nearly all operands are an item and nothing else.
            if let [Piece::Item(item)] = pieces.as_slice() {
                let operand = operand::operand(item, self.names, self.word, self.instr.addr);
                if operand.shown {
                    self.push(separator);
                    separator = ", ";
                    self.operand(item, &operand);
                }
                continue;
            }
            if !self.shows(pieces) {
                continue;
            }
            self.push(separator);
            separator = ", ";
            for piece in pieces {
                self.piece(piece);
            }
        }
    }

    /// An operand is left out when its item is, or when its words are empty.
    fn shows(&self, pieces: &[Piece]) -> bool {
        let word = self.word;
        pieces.iter().any(|piece| match piece {
            Piece::Item(item) => operand::operand(item, self.names, word, self.instr.addr).shown,
            Piece::Literal(_) => pieces.len() == 1,
            Piece::Name { .. } | Piece::Flag { .. } => {
                !operand::modifier(piece, self.names, word).is_empty()
            }
        })
    }

    fn piece(&mut self, piece: &Piece) {
        match piece {
            Piece::Item(item) => {
                let operand = operand::operand(item, self.names, self.word, self.instr.addr);
                self.operand(item, &operand);
            }
            _ => self.push(operand::modifier(piece, self.names, self.word)),
        }
    }

    /// The text in place of the operand, where that is the relocated one.
    fn take_relocated(&mut self, item: &Item) -> Option<&'a str> {
        let relocated = self.relocated?;
        let field = match &item.kind {
            Kind::Unsigned(field)
            | Kind::Signed(field)
            | Kind::Mixed(field)
            | Kind::Float(_, field)
            | Kind::Relative(field)
            | Kind::Absolute(field)
            | Kind::Const { offset: field, .. }
            | Kind::ConstTarget { offset: field, .. }
            | Kind::ConstIndexed { offset: field, .. }
            | Kind::RegTarget { offset: field, .. } => field,
            Kind::Memory { offset, .. } | Kind::Address { offset, .. } => offset.as_ref()?,
            Kind::Reg(_)
            | Kind::RegPair(_)
            | Kind::Pred(_)
            | Kind::PredSet(_)
            | Kind::CcTest(_) => {
                return None;
            }
        };
        if relocated.low_bit != Some(field.low_bit()) {
            return None;
        }
        self.relocated = None;
        Some(&relocated.text)
    }

    /// An operand with what stands for its relocated part.
    fn relocated_operand(&mut self, item: &Item, operand: &Operand, text: &str) {
        match operand.value {
            Value::Const { .. } => {
                self.signs(operand);
                self.push("c[");
                self.push(text);
                self.push("]");
                self.push(operand.select);
                if operand.absolute {
                    self.push("|");
                }
            }
            Value::ConstIndexed { .. } | Value::Target(Target::Constant { .. }) => {
                self.push("c[");
                self.push(text);
                self.push("]");
            }
            Value::Memory { base, .. } => {
                let brackets = matches!(item.kind, Kind::Memory { .. });
                if brackets {
                    self.push("[");
                }
                if base.is_some() {
                    self.reg(base);
                    self.push("+");
                }
                self.push(text);
                if brackets {
                    self.push("]");
                }
            }
            Value::RegTarget { base, .. } => {
                self.reg(base);
                self.push(" ");
                self.push(text);
            }
            _ => self.immediate(operand, text),
        }
    }

    fn operand(&mut self, item: &Item, operand: &Operand) {
        if let Some(text) = self.take_relocated(item) {
            return self.relocated_operand(item, operand, text);
        }
        match operand.value {
            Value::Reg(None) if item.no_zero => self.push("???255"),
            Value::Reg(reg) => self.register(item, operand, reg),
            Value::RegPair(first) => {
                let second = first.map(|r| u16::from(r) + u16::from(operand.count));
                match (first, second) {
                    (Some(_), Some(second)) if second < 255 => {
                        self.reg(first);
                        self.push(", ");
                        self.reg(u8::try_from(second).ok());
                    }
                    (Some(_), _) => {
                        self.reg(first);
                        self.push(", ???255");
                    }
                    _ => self.push("???255, ???255"),
                }
            }
            Value::Pred { pred, negated } => {
                if negated {
                    self.push("!");
                }
                self.pred(pred);
            }
            Value::AllPreds => self.push("PR"),
            Value::ConditionCode => self.push("CC"),
            Value::CcTest(test) => self.cc_test(test),
            Value::Int(n) if matches!(item.kind, Kind::Mixed(_)) && operand.negate => {
                self.hex(-n);
            }
            Value::Int(n) => {
                self.hex(n);
                self.suffixes(operand);
            }
            Value::Half(bits) => self.immediate(operand, &number::half(bits)),
            Value::Single(bits) => self.immediate(operand, &number::single(bits)),
            Value::Double(bits) => self.immediate(operand, &number::double(bits)),
            Value::Const { bank, offset } => {
                self.signs(operand);
                self.bank(bank);
                if item.gap.holds(self.word) {
                    self.push(" ");
                }
                self.push("[");
                self.hex(offset.into());
                self.push("]");
                self.push(operand.select);
                if operand.absolute {
                    self.push("|");
                }
            }
            Value::ConstIndexed { bank, base, offset } => {
                self.bank(bank);
                self.push("[");
                match base {
                    None if item.bare => self.hex(offset.into()),
                    _ => self.address(base, offset.into()),
                }
                self.push("]");
            }
            Value::Memory { base, offset } => {
                let brackets = matches!(item.kind, Kind::Memory { .. });
                if brackets {
                    self.push("[");
                }
                self.address(base, offset);
                if brackets {
                    self.push("]");
                }
            }
            Value::Target(target) => self.target(item, target),
            Value::RegTarget { base, offset } => {
                self.reg(base);
                if offset != 0 {
                    self.push(" ");
                    self.hex(offset);
                }
            }
            Value::Word(word) => self.push(word),
        }
    }

    fn register(&mut self, item: &Item, operand: &Operand, reg: Option<u8>) {
        self.signs(operand);
        self.reg(reg);
        self.push(operand.select);
        if operand.absolute {
            self.push("|");
        }
        if operand.sets_cc {
            self.push(".CC");
        }
        if self.reuses && item.reuse.is_some_and(|bit| self.word.bit(bit)) {
            self.push(".reuse");
        }
    }

    fn signs(&mut self, operand: &Operand) {
        if operand.negate {
            self.push("-");
        }
        if operand.invert {
            self.push("~");
        }
        if operand.absolute {
            self.push("|");
        }
    }

    fn immediate(&mut self, operand: &Operand, text: &str) {
        self.push(text);
        self.suffixes(operand);
    }

    fn suffixes(&mut self, operand: &Operand) {
        for (set, suffix) in [
            (operand.negate, ".NEG"),
            (operand.absolute, ".ABS"),
            (operand.invert, ".INV"),
        ] {
            if set {
                self.push(suffix);
            }
        }
        self.push(operand.select);
    }

    fn reg(&mut self, reg: Option<u8>) {
        match reg {
            Some(n) => {
                self.push("R");
                number::push_decimal(self.out, n);
            }
            None => self.push("RZ"),
        }
    }

    fn pred(&mut self, pred: Option<u8>) {
        match pred {
            Some(n) => {
                self.push("P");
                number::push_decimal(self.out, n);
            }
            None => self.push("PT"),
        }
    }

    fn cc_test(&mut self, test: CcTest) {
        let name = names::names_id("cctest").and_then(|id| self.names.text(id, test.0.into()));
        self.push("CC");
        self.push(name.unwrap_or("?"));
    }

    /// `R4+0x10`, `R4`, `0x10`, `RZ`.
    fn address(&mut self, base: Option<u8>, offset: i64) {
        match (base, offset) {
            (Some(_), 0) | (None, 0) => self.reg(base),
            (Some(_), _) => {
                self.reg(base);
                self.push("+");
                self.hex(offset);
            }
            (None, _) => self.hex(offset),
        }
    }

    fn target(&mut self, item: &Item, target: Target) {
        match target {
            Target::Code(addr) => {
                let label = match self.style {
                    TargetStyle::Hex => None,
                    TargetStyle::Labels(lookup) => lookup(addr),
                };
                match label {
                    Some(label) => self.push(&label),
                    None => self.hex(addr.0.into()),
                }
            }
            Target::Absolute(addr) => self.hex(addr as i64),
            Target::Constant { bank, offset } => {
                self.bank(bank);
                self.push("[");
                self.hex(offset.into());
                self.push("]");
            }
            Target::Outside => {
                if let Kind::Relative(field) = &item.kind {
                    let to = i64::from(self.instr.addr.0) + 8 + field.signed(self.word);
                    self.hex(to);
                }
            }
        }
    }
}
