//! Operands of a decoded instruction as values, for lifting and printing. For example, `IADD R0.CC, R1, -0x8` has
//! three operands: R0 written with `sets_cc`, R1 read, and the integer -8.

use super::address::BracketOperand;
use super::dialect::Dialect;
use super::field::{Cond, Field};
use super::form::Form;
use super::modifier::{Modifier, Modifiers, OperandWord, Part};
use super::names::Names;
use super::opcode::Opcode;
use super::register_number::{pred_number, reg_number, uniform_number};
use super::template::{FloatFormat, Item, ItemKind, Piece};
use crate::Reg;
use crate::RegisterKind;
use crate::instr::{BranchTarget, CcTest, Guard};
use smallvec::SmallVec;
use warpbound_base::{Bits, CodeAddr};

/// Role of an operand: source or destination.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum OperandRole {
    /// Source.
    Read,
    /// Destination.
    Write,
    /// Destination that may keep part of its old value.
    ReadWrite,
}

/// Value of an operand, as encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OperandValue {
    /// General register; `None` is RZ. [`Operand::count`] registers from here on.
    Reg(Option<u8>),
    /// Two consecutive register groups (compare-and-swap), by their first register. Each has [`Operand::count`]
    /// registers.
    RegPair(Option<u8>),
    /// Predicate.
    Pred {
        /// Predicate number; `None` is PT.
        pred: Option<u8>,
        /// Whether it is negated (`!`).
        negated: bool,
    },
    /// All predicates of a file as a bit set: `P0` to `P6` (`PR`), or `UP0` to `UP6` (`UPR`).
    AllPreds(RegisterKind),
    /// Condition code as an operand (`CC` instead of `PR`).
    ConditionCode,
    /// Test of the condition code; not printed if it always holds.
    CcTest(CcTest),
    /// Integer immediate, sign-extended where the form says so.
    Int(i64),
    /// Immediate in IEEE binary16, as its bits.
    Half(u16),
    /// Immediate in IEEE binary32, as its bits.
    Single(u32),
    /// Immediate in IEEE binary64, as its bits.
    Double(u64),
    /// `c[bank][offset]`.
    Const {
        /// Bank number.
        bank: u8,
        /// Byte offset.
        offset: i32,
    },
    /// `c[bank][base+offset]`.
    ConstIndexed {
        /// Bank number.
        bank: u8,
        /// Address register; `None` is RZ.
        base: Option<u8>,
        /// Byte offset.
        offset: i32,
    },
    /// `[base+offset]`; the base takes [`Operand::count`] registers.
    Memory {
        /// Address register; `None` is RZ.
        base: Option<u8>,
        /// Byte offset.
        offset: i64,
    },
    /// Uniform register; `None` is URZ. [`Operand::count`] registers from here on.
    Uniform(Option<u8>),
    /// Predicate of the uniform datapath.
    UniformPred {
        /// Predicate number; `None` is UPT.
        pred: Option<u8>,
        /// Whether it is negated (`!`).
        negated: bool,
    },
    /// Convergence barrier `B0`..`B15`.
    ConvergenceBarrier(u8),
    /// Address, constant or descriptor in brackets, of 128-bit instructions.
    Address(BracketOperand),
    /// Target of a control transfer.
    Target(BranchTarget),
    /// Code address in a register: BRX, JMX.
    RegTarget {
        /// Address register; `None` is RZ.
        base: Option<u8>,
        /// Offset as encoded.
        offset: i64,
    },
    /// Fixed word, such as a texture dimension or a special register name.
    Word {
        /// The word as a value.
        word: OperandWord,
        /// Its text; empty if nothing is printed.
        text: &'static str,
    },
}

/// Word of a constant bank that an operand names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConstantOperand {
    /// Bank.
    pub bank: u8,
    /// Register that is added to the offset.
    pub base: Option<Reg>,
    /// Offset in bytes.
    pub offset: i32,
}

impl OperandValue {
    /// Returns the word of a constant bank that the operand is, in any of its spellings; `None` for other operands, and for
    /// addresses with a descriptor or two registers.
    pub fn constant(&self) -> Option<ConstantOperand> {
        Some(match self {
            OperandValue::Const { bank, offset } => ConstantOperand {
                bank: *bank,
                base: None,
                offset: *offset,
            },
            OperandValue::ConstIndexed { bank, base, offset } => ConstantOperand {
                bank: *bank,
                base: base.map(Reg::vector),
                offset: *offset,
            },
            OperandValue::Address(address) if address.descriptor.is_none() => {
                let base = match (address.base.flatten(), address.uniform.flatten()) {
                    (None, None) => None,
                    (Some(register), None) => Some(Reg::vector(register)),
                    (None, Some(register)) => Some(Reg::uniform(register)),
                    (Some(_), Some(_)) => return None,
                };
                ConstantOperand {
                    bank: address.bank.filter(|_| address.space == "c")?,
                    base,
                    offset: i32::try_from(address.offset).ok()?,
                }
            }
            _ => return None,
        })
    }
}

/// Operand with its modifiers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operand {
    /// Value as encoded, before modifiers.
    pub value: OperandValue,
    /// Whether it is read or written.
    pub role: OperandRole,
    /// Whether it is negated: `-R0`, or `.NEG` after an immediate.
    pub negate: bool,
    /// Whether its absolute value is taken: `|R0|`, or `.ABS` after an immediate.
    pub absolute: bool,
    /// Whether its bits are inverted: `~R0`, or `.INV` after an immediate.
    pub invert: bool,
    /// Part that is used.
    pub part: Part,
    /// Text of the part, for printing: `.H1`, `.B2`, `.H0_H0`; empty for all of it.
    pub select: &'static str,
    /// Number of registers, for example 2 for 64 bits and 4 for 128 bits; may be 0.
    pub count: u8,
    /// Whether writing it also sets the condition code.
    pub sets_cc: bool,
    /// Operand slot (0, 1, 2 for A, B, C) that reads a source register, if the reuse cache covers it.
    pub slot: Option<u8>,
    /// Whether the text shows it. Operands that the text leaves out are listed too.
    pub shown: bool,
}

/// Decoded instruction: opcode, modifiers, guard and operands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct View {
    /// Opcode.
    pub opcode: Opcode,
    /// Modifiers in order of printing.
    pub modifiers: SmallVec<[Modifier; 6]>,
    /// Guard predicate.
    pub guard: Guard,
    /// Operands in order of printing, including those that the text leaves out.
    pub operands: Vec<Operand>,
}

impl View {
    /// Whether a modifier is present.
    pub fn has(&self, modifier: Modifier) -> bool {
        self.modifiers.contains(&modifier)
    }
}

/// Opcode and modifiers as the disassembler prints them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spelling {
    /// Opcode name: `FFMA`.
    pub mnemonic: &'static str,
    /// Modifiers in order of printing, with the dot: `.FTZ`.
    pub modifiers: Vec<&'static str>,
}

/// Decodes the guard of a word of a form.
pub(crate) fn guard(form: &Form, word: u128) -> Guard {
    if form.effects.unguarded {
        return Guard::ALWAYS;
    }
    Guard {
        pred: pred_number(word.field(form.dialect.guard)),
        negated: word.bit(form.dialect.guard_not),
        uniform: form.effects.uniform_guard,
    }
}

/// Decodes an instruction of a form.
pub(crate) fn view(form: &Form, names: &Names, word: u128, addr: CodeAddr) -> View {
    let template = &form.template;
    let mut modifiers = Modifiers::new();
    for piece in &template.opcode {
        push_modifiers(piece, names, word, &mut modifiers);
    }
    let operands = template
        .operand_pieces(form.dialect)
        .filter_map(|piece| match piece {
            Piece::Item(item) => Some(operand(item, form.dialect, names, word, addr)),
            Piece::Name { .. } => Some(word_operand(modifier(piece, names, word))),
            // A fixed register has no field.
            Piece::Literal(text) => Some(word_operand(text)),
            Piece::Flag { .. } | Piece::ImadAlias(_) => None,
        })
        .collect();
    View {
        opcode: form.opcode(),
        modifiers,
        guard: guard(form, word),
        operands,
    }
}

/// Opcode and modifiers of an instruction of a form as text.
pub(crate) fn spelling(form: &Form, names: &Names, word: u128) -> Spelling {
    let texts = form.template.opcode.iter();
    Spelling {
        mnemonic: form.mnemonic(),
        modifiers: texts
            .map(|piece| modifier(piece, names, word))
            .filter(|text| text.starts_with('.'))
            .collect(),
    }
}

/// Appends the modifiers of a piece of the opcode.
fn push_modifiers(piece: &Piece, names: &Names, word: u128, out: &mut Modifiers) {
    match piece {
        Piece::Literal(text) => Modifier::push_all(text, out),
        Piece::Flag { text, bit, .. } if word.bit(*bit) => Modifier::push_all(text, out),
        Piece::Name {
            names: id,
            field,
            hide,
            ..
        } if !hide.holds(word) => out.extend_from_slice(names.modifiers(*id, field.get(word))),
        Piece::ImadAlias(alias) => Modifier::push_all(alias.text(word), out),
        Piece::Flag { .. } | Piece::Name { .. } | Piece::Item(_) => {}
    }
}

/// Text of a modifier piece; empty for operands.
pub(crate) fn modifier(piece: &Piece, names: &Names, word: u128) -> &'static str {
    match piece {
        Piece::Literal(text) => text,
        Piece::Flag { text, bit, .. } if word.bit(*bit) => text,
        Piece::ImadAlias(alias) => alias.text(word),
        Piece::Flag { .. } | Piece::Item(_) => "",
        Piece::Name {
            names: id,
            field,
            hide,
            ..
        } if !hide.holds(word) => {
            // Decoding rejects values without a name, so `?` appears only for words that no decoder accepted.
            names.text(*id, field.get(word)).unwrap_or("?")
        }
        Piece::Name { .. } => "",
    }
}

fn word_operand(text: &'static str) -> Operand {
    Operand {
        value: OperandValue::Word {
            word: OperandWord::parse(text),
            text,
        },
        role: OperandRole::Read,
        negate: false,
        absolute: false,
        invert: false,
        part: Part::Whole,
        select: "",
        // A fixed word has no registers.
        count: 0,
        sets_cc: false,
        slot: None,
        shown: !text.is_empty(),
    }
}

/// Whether the text leaves an operand out, whatever its value is.
pub(crate) fn is_hidden(item: &Item, names: &Names, word: u128) -> bool {
    let listed = |(id, field): &(_, Field)| {
        let text = names.text(*id, field.get(word));
        text.is_some_and(|text| !text.is_empty())
    };
    item.hide.holds(word) || item.hide_by.as_ref().is_some_and(listed)
}

/// Text of the selected part of an operand; empty for all of it.
pub(crate) fn select(item: &Item, names: &Names, word: u128) -> &'static str {
    let select = item.select.as_ref();
    let text = select.and_then(|(list, field)| names.text(*list, field.get(word)));
    text.unwrap_or("")
}

/// Number of registers of an operand.
pub(crate) fn count(item: &Item, names: &Names, word: u128) -> u8 {
    if item.wide.holds(word) {
        return 2;
    }
    item.count.of(names, word)
}

/// Decodes an operand with its modifiers.
pub(crate) fn operand(
    item: &Item,
    dialect: &Dialect,
    names: &Names,
    word: u128,
    addr: CodeAddr,
) -> Operand {
    let value = value(item, dialect, names, word, addr);
    // One test replaces five for most operands.
    let unmodified = item.unmodified.is_some_and(|bits| word & bits == 0);
    let holds = |cond: &Cond| !unmodified && cond.holds(word);
    // Only values that the text can leave out count as absent.
    let optional = item.optional && item.optional_if.holds(word);
    let absent = match value {
        OperandValue::Reg(None) | OperandValue::Uniform(None) => optional,
        OperandValue::Pred {
            pred: None,
            negated: false,
        }
        | OperandValue::UniformPred {
            pred: None,
            negated: false,
        } => optional,
        OperandValue::CcTest(test) => test == CcTest::TRUE,
        OperandValue::Int(0) if optional && item.omit.is_none() => true,
        OperandValue::Int(n) => {
            let omitted = item.omit.is_some_and(|omit| i64::try_from(omit) == Ok(n));
            omitted && item.optional_if.holds(word)
        }
        _ => false,
    };
    let select = select(item, names, word);
    Operand {
        value,
        role: match (item.writes, holds(&item.rmw)) {
            (true, true) => OperandRole::ReadWrite,
            (true, false) => OperandRole::Write,
            (false, _) => OperandRole::Read,
        },
        negate: holds(&item.neg),
        absolute: holds(&item.abs),
        invert: holds(&item.inv),
        part: Part::parse(select),
        select,
        count: count(item, names, word),
        sets_cc: holds(&item.cc),
        slot: item
            .reuse
            .and_then(|bit| bit.checked_sub(dialect.first_reuse_bit)),
        shown: !absent && !is_hidden(item, names, word),
    }
}

fn value(
    item: &Item,
    dialect: &Dialect,
    names: &Names,
    word: u128,
    addr: CodeAddr,
) -> OperandValue {
    match &item.kind {
        ItemKind::Reg(field) => OperandValue::Reg(reg_number(field, word)),
        ItemKind::RegPair(field) => OperandValue::RegPair(reg_number(field, word)),
        ItemKind::Pred(field) => OperandValue::Pred {
            pred: stored_predicate(item, field.get(word)),
            negated: item.not.holds(word),
        },
        ItemKind::Uniform(field) => {
            OperandValue::Uniform(uniform_number(field, item.plus, dialect, names, word))
        }
        ItemKind::UniformPred(field) => OperandValue::UniformPred {
            pred: stored_predicate(item, field.get(word)),
            negated: item.not.holds(word),
        },
        ItemKind::ConvergenceBarrier(field) => {
            OperandValue::ConvergenceBarrier((field.get(word) & 255) as u8)
        }
        ItemKind::Brackets(brackets) => OperandValue::Address(brackets.value(dialect, names, word)),
        ItemKind::PredSetOrCc(bit) if word.bit(*bit) => OperandValue::ConditionCode,
        ItemKind::PredSetOrCc(_) => OperandValue::AllPreds(RegisterKind::Predicate),
        ItemKind::PredSet(file) => OperandValue::AllPreds(*file),
        ItemKind::CcTest(field) => OperandValue::CcTest(CcTest((field.get(word) & 31) as u8)),
        ItemKind::Unsigned(field) => {
            OperandValue::Int((field.get(word) as i64).wrapping_mul(item.scale.into()))
        }
        ItemKind::Signed(field) => {
            let number = field.signed(word).wrapping_mul(item.scale.into());
            let from = match item.next {
                true => i64::from(addr.0) + i64::from(dialect.bytes()),
                false => 0,
            };
            OperandValue::Int(number.wrapping_add(from))
        }
        ItemKind::Mixed(field) if item.signed.holds(word) => OperandValue::Int(field.signed(word)),
        ItemKind::Mixed(field) => OperandValue::Int(field.get(word) as i64),
        ItemKind::Float(format, field) => {
            let format = format.unwrap_or_else(|| match &item.format {
                Some(field) => match field.get(word) {
                    1 => FloatFormat::Half,
                    3 => FloatFormat::Double,
                    _ => FloatFormat::Single,
                },
                None => FloatFormat::Single,
            });
            float(format, field, item.format.is_some(), word)
        }
        ItemKind::Const { bank, offset } => OperandValue::Const {
            bank: bank.get(word) as u8,
            offset: const_offset(offset, word),
        },
        ItemKind::ConstIndexed { bank, base, offset } => OperandValue::ConstIndexed {
            bank: bank.get(word) as u8,
            base: reg_number(base, word),
            offset: offset.signed(word) as i32,
        },
        ItemKind::Memory { base, offset } | ItemKind::Address { base, offset } => {
            memory(item, base, offset.as_ref(), word)
        }
        ItemKind::Relative(field) => {
            OperandValue::Target(relative_target(dialect, addr, field.signed(word)))
        }
        ItemKind::Absolute(field) => OperandValue::Target(BranchTarget::Absolute(field.get(word))),
        ItemKind::ConstTarget { bank, offset } => OperandValue::Target(BranchTarget::Constant {
            bank: bank.get(word) as u8,
            offset: offset.signed(word) as i32,
        }),
        ItemKind::RegTarget { base, offset } => OperandValue::RegTarget {
            base: reg_number(base, word),
            offset: offset.signed(word),
        },
    }
}

/// Number of a predicate. Some rows store it inverted, with PT as 0.
fn stored_predicate(item: &Item, code: u64) -> Option<u8> {
    pred_number(if item.flip { code ^ 7 } else { code })
}

/// Decodes an address `[base+offset]`.
fn memory(item: &Item, base: &Field, offset: Option<&Field>, word: u128) -> OperandValue {
    let base = reg_number(base, word);
    let units = offset.map_or(0, |offset| match base {
        Some(_) => offset.signed(word),
        // An absolute address is unsigned.
        None => offset.get(word) as i64,
    });
    OperandValue::Memory {
        base,
        offset: units.wrapping_mul(item.scale.into()),
    }
}

/// Decodes the byte offset of a constant: a 14-bit field counts words and is printed as a signed 16-bit number.
fn const_offset(field: &Field, word: u128) -> i32 {
    (field.signed(word) * 4) as i32
}

fn float(format: FloatFormat, field: &Field, raw_half: bool, word: u128) -> OperandValue {
    let bits = field.get(word);
    let width = field.width();
    match format {
        // A conversion takes the low 16 bits of its 20-bit immediate; other forms encode the top bits of a half.
        FloatFormat::Half if raw_half => OperandValue::Half(bits as u16),
        // Fields hold the top bits of a float; the bits below are zero.
        FloatFormat::Half => OperandValue::Half((bits << 16u32.saturating_sub(width)) as u16),
        FloatFormat::Single => OperandValue::Single((bits << 32u32.saturating_sub(width)) as u32),
        FloatFormat::Double => OperandValue::Double(bits << 64u32.saturating_sub(width)),
    }
}

/// Decodes a relative target, which counts from the address after the instruction.
pub(crate) fn relative_target(dialect: &Dialect, addr: CodeAddr, offset: i64) -> BranchTarget {
    let distance = offset.saturating_mul(dialect.target_unit.into());
    match addr.offset(distance.saturating_add(dialect.bytes().into())) {
        Some(target) => BranchTarget::Code(target),
        None => BranchTarget::Outside,
    }
}
