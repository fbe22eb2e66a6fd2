//! Disassembler: prints instructions as NVIDIA's disassembler does, so that the two can be compared. For
//! example, `@!P0 FADD.FTZ R0, R1.reuse, -R2`.

use super::address::{Brackets, Term, TermKind};
use super::dialect::Dialect;
use super::form::Form;
use super::names::Names;
use super::number;
use super::operand::{self, Operand, OperandValue};
use super::program::SassProgram;
use super::register_number;
use super::sass_instr::SassInstr;
use super::template::{Item, ItemKind, Piece};
use super::timing::LatencyKind;
use crate::instr::{BranchTarget, CcTest};
use warpbound_base::{Bits, CodeAddr, Family};

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
        // Bits 19:17 of the control slot mean operand reuse only for instructions of fixed latency; textures use them
        // as modifiers. Rows of words of 128 bits say it, because their latency is not known.
        let reuses = instr.control.reuse != 0
            && (form
                .effects
                .hints
                .is_some_and(|hints| hints.are_reuse(self.bits(instr)))
                || matches!(
                    self.timing(instr).map(|timing| timing.latency),
                    Some(LatencyKind::Fixed | LatencyKind::Either)
                ));
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

    /// Takes the text of the relocated operand if `item` is that operand.
    fn take_relocated(&mut self, item: &Item) -> Option<&'a str> {
        let relocated = self.relocated?;
        let field = match &item.kind {
            ItemKind::Unsigned(field)
            | ItemKind::Signed(field)
            | ItemKind::Mixed(field)
            | ItemKind::Float(_, field)
            | ItemKind::Relative(field)
            | ItemKind::Absolute(field)
            | ItemKind::Const { offset: field, .. }
            | ItemKind::ConstTarget { offset: field, .. }
            | ItemKind::ConstIndexed { offset: field, .. }
            | ItemKind::RegTarget { offset: field, .. } => field,
            ItemKind::Memory { offset, .. } | ItemKind::Address { offset, .. } => {
                offset.as_ref()?
            }
            ItemKind::Reg(_)
            | ItemKind::Uniform(_)
            | ItemKind::UniformPred(_)
            | ItemKind::ConvergenceBarrier(_)
            | ItemKind::Brackets(_)
            | ItemKind::RegPair(_)
            | ItemKind::Pred(_)
            | ItemKind::PredSet(_)
            | ItemKind::CcTest(_) => {
                return None;
            }
        };
        if relocated.low_bit != Some(field.low_bit()) {
            return None;
        }
        // Otherwise `finish` would print it a second time.
        self.relocated = None;
        Some(&relocated.text)
    }

    /// Appends an operand with the text of its relocated part.
    fn push_relocated(&mut self, item: &Item, operand: &Operand, text: &str) {
        match operand.value {
            OperandValue::Const { .. } => {
                self.push_signs(operand);
                self.push("c[");
                self.push(text);
                self.push("]");
                self.push(operand.select);
                if operand.absolute {
                    self.push("|");
                }
            }
            OperandValue::ConstIndexed { .. }
            | OperandValue::Target(BranchTarget::Constant { .. }) => {
                self.push("c[");
                self.push(text);
                self.push("]");
            }
            OperandValue::Memory { base, .. } => {
                let brackets = matches!(item.kind, ItemKind::Memory { .. });
                if brackets {
                    self.push("[");
                }
                if base.is_some() {
                    self.push_reg(base);
                    self.push("+");
                }
                self.push(text);
                if brackets {
                    self.push("]");
                }
            }
            OperandValue::RegTarget { base, .. } => {
                self.push_reg(base);
                self.push(" ");
                self.push(text);
            }
            _ => self.push_immediate(operand, text),
        }
    }

    fn push_operand(&mut self, item: &Item, operand: &Operand) {
        self.push_value(item, operand);
        self.push(item.suffix);
    }

    fn push_value(&mut self, item: &Item, operand: &Operand) {
        if let Some(text) = self.take_relocated(item) {
            return self.push_relocated(item, operand, text);
        }
        match operand.value {
            OperandValue::Reg(None) if item.no_zero.holds(self.word) => self.push("???255"),
            OperandValue::Reg(reg) => self.push_register(item, operand, reg),
            OperandValue::Uniform(_)
            | OperandValue::UniformPred { .. }
            | OperandValue::ConvergenceBarrier(_) => self.push_uniform_value(item, operand),
            OperandValue::Address(_) => self.push_brackets(item, operand),
            OperandValue::RegPair(first) => self.push_register_pair(first, operand.count),
            OperandValue::Pred { pred: None, .. } if item.no_zero.holds(self.word) => {
                self.push("???7")
            }
            OperandValue::Pred { pred, negated } => {
                if negated {
                    self.push("!");
                }
                self.push_pred(pred);
            }
            OperandValue::AllPreds => self.push("PR"),
            OperandValue::ConditionCode => self.push("CC"),
            OperandValue::CcTest(test) => self.push_cc_test(test),
            // The disassembler prints the negated number here, not `.NEG`.
            OperandValue::Int(n) if matches!(item.kind, ItemKind::Mixed(_)) && operand.negate => {
                self.push_hex(-n);
            }
            OperandValue::Int(n) => {
                match item.kind {
                    // An unsigned field of 64 bits.
                    ItemKind::Unsigned(_) if n < 0 => {
                        self.push("0x");
                        number::push_hex_digits(self.out, n as u64, 1);
                    }
                    _ => self.push_hex(n),
                }
                self.push_suffixes(operand);
            }
            OperandValue::Half(bits) => {
                self.push_immediate(operand, &number::format_half(bits, self.names_nans()))
            }
            OperandValue::Single(bits) => {
                self.push_immediate(operand, &number::format_single(bits, self.names_nans()))
            }
            OperandValue::Double(bits) => {
                self.push_immediate(operand, &number::format_double(bits))
            }
            OperandValue::Const { bank, offset } => {
                self.push_constant(item, operand, bank, offset);
            }
            OperandValue::ConstIndexed { bank, base, offset } => {
                self.push_bank(bank);
                self.push("[");
                match base {
                    None if item.bare => self.push_hex(offset.into()),
                    _ => self.push_address(base, offset.into()),
                }
                self.push("]");
            }
            OperandValue::Memory { base, offset } => {
                let brackets = matches!(item.kind, ItemKind::Memory { .. });
                if brackets {
                    self.push("[");
                }
                self.push_address(base, offset);
                if brackets {
                    self.push("]");
                }
            }
            OperandValue::Target(target) => self.push_target(item, target),
            OperandValue::RegTarget { base, offset } => {
                self.push_reg(base);
                if offset != 0 {
                    self.push(" ");
                    self.push_hex(offset);
                }
            }
            OperandValue::Word { text, .. } => self.push(text),
        }
    }

    /// Whether quiet and signalling NaNs of all formats are printed differently, as release 13.5 does.
    fn names_nans(&self) -> bool {
        self.dialect.family == Family::Volta && self.names.sm(self.dialect) >= 75
    }

    /// Appends the first registers of two consecutive groups of `count` registers each.
    fn push_register_pair(&mut self, first: Option<u8>, count: u8) {
        let second = first.map(|r| u16::from(r) + u16::from(count));
        match (first, second) {
            // A second group that would begin at RZ is printed as an error.
            (Some(_), Some(second)) if second < 255 => {
                self.push_reg(first);
                self.push(", ");
                self.push_reg(u8::try_from(second).ok());
            }
            (Some(_), _) => {
                self.push_reg(first);
                self.push(", ???255");
            }
            _ => self.push("???255, ???255"),
        }
    }

    /// Appends a constant with its modifiers: `-c[0x3][0x10].H1`.
    fn push_constant(&mut self, item: &Item, operand: &Operand, bank: u8, offset: i32) {
        self.push_signs(operand);
        self.push_bank(bank);
        if item.gap.holds(self.word) {
            self.push(" ");
        }
        self.push("[");
        self.push_hex(offset.into());
        self.push("]");
        self.push(operand.select);
        if operand.absolute {
            self.push("|");
        }
    }

    /// Appends a register or predicate of the uniform datapath, or a barrier.
    fn push_uniform_value(&mut self, item: &Item, operand: &Operand) {
        match operand.value {
            OperandValue::Uniform(reg) => {
                self.push_signs(operand);
                self.push_uniform(reg);
                self.push_modifiers(item, operand);
            }
            OperandValue::UniformPred { pred, negated } => {
                self.push(if negated { "!U" } else { "U" });
                self.push_pred(pred);
            }
            OperandValue::ConvergenceBarrier(number) => {
                self.push("B");
                number::push_decimal(self.out, number);
            }
            // The caller passes no other value.
            _ => {}
        }
    }

    fn push_uniform(&mut self, reg: Option<u8>) {
        match reg {
            Some(n) => {
                self.push("UR");
                number::push_decimal(self.out, n);
            }
            None => self.push("URZ"),
        }
    }

    /// Appends what follows a register or an address of a 128-bit instruction: `|.reuse.H0_H0`.
    fn push_modifiers(&mut self, item: &Item, operand: &Operand) {
        if item.inside {
            self.push(operand.select);
        }
        if operand.absolute {
            self.push("|");
        }
        if self.reuses && item.reuse.is_some_and(|bit| self.word.bit(bit)) {
            self.push(".reuse");
        }
        if !item.inside {
            self.push(operand.select);
        }
    }

    /// Appends an operand in brackets: `desc[UR4][R2.64+0x10]`.
    fn push_brackets(&mut self, item: &Item, operand: &Operand) {
        let ItemKind::Brackets(brackets) = &item.kind else {
            return;
        };
        self.push_signs(operand);
        self.push(brackets.name);
        for (at, group) in brackets.groups.iter().enumerate() {
            if at > 0 && brackets.gap {
                self.push(" ");
            }
            self.push("[");
            self.push_terms(item, brackets, group);
            self.push("]");
        }
        self.push_modifiers(item, operand);
    }

    /// Appends the terms of a group. RZ without a suffix and the offset 0 are left out beside other terms.
    fn push_terms(&mut self, item: &Item, brackets: &Brackets, group: &[Term]) {
        let offset = |term: &Term| brackets.offset(term, group, self.names, self.word);
        let is_offset = |term: &Term| matches!(term.kind, TermKind::Signed | TermKind::Unsigned);
        let has_offset = group
            .iter()
            .any(|term| is_offset(term) && offset(term) != 0);
        let others = has_offset || group.iter().any(|term| term.kind == TermKind::Uniform);
        let has_register = group.iter().any(|term| term.kind == TermKind::Register);
        let mut separator = "";
        for term in group {
            let suffix = term.suffix_text(self.names, self.word);
            match term.kind {
                TermKind::Register => {
                    let reg = register_number::reg_number(&term.field, self.word);
                    let hidden = match item.shows_zero {
                        Some(shown) => !shown.holds(self.word),
                        None => suffix.is_empty(),
                    };
                    if reg.is_none() && hidden && others {
                        continue;
                    }
                    match reg {
                        None if item.no_zero.holds(self.word) => self.push("???255"),
                        _ => self.push_reg(reg),
                    }
                    self.push(suffix);
                }
                TermKind::Uniform => {
                    let number = brackets.uniform(term, self.dialect, self.names, self.word);
                    if number.is_none() && item.hides_uniform_zero && has_offset {
                        continue;
                    }
                    self.push(separator);
                    match number {
                        // Beside a general register, the attribute is about that one.
                        None if item.no_zero.holds(self.word) && !has_register => {
                            self.push("???255");
                        }
                        _ => self.push_uniform(number),
                    }
                    self.push(suffix);
                }
                TermKind::Signed | TermKind::Unsigned => {
                    let offset = brackets.offset(term, group, self.names, self.word);
                    if offset == 0 && !separator.is_empty() {
                        continue;
                    }
                    self.push(separator);
                    self.push_hex(offset);
                }
            }
            separator = "+";
        }
    }

    fn push_register(&mut self, item: &Item, operand: &Operand, reg: Option<u8>) {
        if self.dialect.word_bits > 64 {
            self.push_signs(operand);
            self.push_reg(reg);
            return self.push_modifiers(item, operand);
        }
        self.push_signs(operand);
        self.push_reg(reg);
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

    fn push_signs(&mut self, operand: &Operand) {
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

    fn push_immediate(&mut self, operand: &Operand, text: &str) {
        self.push(text);
        self.push_suffixes(operand);
    }

    fn push_suffixes(&mut self, operand: &Operand) {
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

    fn push_reg(&mut self, reg: Option<u8>) {
        match reg {
            Some(n) => {
                self.push("R");
                number::push_decimal(self.out, n);
            }
            None => self.push("RZ"),
        }
    }

    fn push_pred(&mut self, pred: Option<u8>) {
        match pred {
            Some(n) => {
                self.push("P");
                number::push_decimal(self.out, n);
            }
            None => self.push("PT"),
        }
    }

    fn push_cc_test(&mut self, test: CcTest) {
        let list = self.dialect.lists.names_id("cctest");
        let name = list.and_then(|id| self.names.text(id, test.0.into()));
        self.push("CC");
        self.push(name.unwrap_or("?"));
    }

    /// Appends an address: `R4+0x10`, `R4`, `0x10`, `RZ`.
    fn push_address(&mut self, base: Option<u8>, offset: i64) {
        match (base, offset) {
            (Some(_), 0) | (None, 0) => self.push_reg(base),
            (Some(_), _) => {
                self.push_reg(base);
                self.push("+");
                self.push_hex(offset);
            }
            // RZ adds nothing, so only the offset is printed.
            (None, _) => self.push_hex(offset),
        }
    }

    fn push_target(&mut self, item: &Item, target: BranchTarget) {
        match target {
            BranchTarget::Code(addr) => {
                let label = match self.style {
                    TargetStyle::Hex => None,
                    TargetStyle::Labels(lookup) => lookup(addr),
                };
                match label {
                    Some(label) => self.push(&label),
                    None => self.push_hex(addr.0.into()),
                }
            }
            BranchTarget::Absolute(addr) => self.push_hex(addr as i64),
            BranchTarget::Constant { bank, offset } => {
                self.push_bank(bank);
                self.push("[");
                self.push_hex(offset.into());
                self.push("]");
            }
            BranchTarget::Outside => {
                if let ItemKind::Relative(field) = &item.kind {
                    let unit = i64::from(self.dialect.target_unit);
                    let distance = field.signed(self.word).wrapping_mul(unit);
                    let next = i64::from(self.instr.addr.0) + i64::from(self.dialect.bytes());
                    self.push_hex(next.wrapping_add(distance));
                }
            }
        }
    }
}
