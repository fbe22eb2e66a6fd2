//! Templates: the last column of a form row, with the text and the operands of an instruction (syntax:
//! `isa/nvidia/README.md`).
//!
//! For example, the template `IADD{.SAT 50} {=R7:0}, {R15:8}, {R27:20}` prints `.SAT` if bit 50 is set, and has a
//! destination in bits 7:0 and two sources.

use super::address::Brackets;
use super::dialect::Dialect;
use super::field::{Cond, Field, LAST_BIT, split};
use super::imad_alias::ImadAlias;
use super::names::{CountId, Names, NamesId};
use crate::RegisterKind;

/// Number of registers of an operand: fixed, or looked up by a field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum RegisterCount {
    Fixed(u8),
    Listed(CountId, Field),
}

impl RegisterCount {
    /// Parses `2`, or `LIST@FIELD`.
    fn parse(text: &'static str, dialect: &Dialect) -> Option<RegisterCount> {
        Some(match split(text, b'@') {
            Some((list, field)) => {
                RegisterCount::Listed(dialect.lists.count_id(list)?, Field::parse(field)?)
            }
            None => RegisterCount::Fixed(text.parse().ok()?),
        })
    }

    /// Number of registers in a word.
    pub(crate) fn of(&self, names: &Names, word: u128) -> u8 {
        match self {
            RegisterCount::Fixed(n) => *n,
            RegisterCount::Listed(id, field) => names.count(*id, field.get(word)),
        }
    }
}

/// Floating-point format of an immediate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FloatFormat {
    Half,
    Single,
    Double,
}

/// Kind of an operand item; each corresponds to a letter of the table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ItemKind {
    Reg(Field),
    /// Two consecutive register groups selected by one field (compare-and-swap).
    RegPair(Field),
    Pred(Field),
    /// All predicates of a file (`PR`, `UPR`).
    PredSet(RegisterKind),
    /// All predicates (`PR`), or `CC` when the bit is set.
    PredSetOrCc(u8),
    CcTest(Field),
    Unsigned(Field),
    Signed(Field),
    /// Signed when the `signed` bit is set.
    Mixed(Field),
    /// Top bits of a float of the given format; `None`: the format is chosen by `fmt`.
    Float(Option<FloatFormat>, Field),
    Const {
        bank: Field,
        offset: Field,
    },
    ConstIndexed {
        bank: Field,
        base: Field,
        offset: Field,
    },
    /// `[R+offset]`.
    Memory {
        base: Field,
        offset: Option<Field>,
    },
    /// `R+offset`, without brackets.
    Address {
        base: Field,
        offset: Option<Field>,
    },
    /// Code address relative to the next position.
    Relative(Field),
    /// Absolute code address.
    Absolute(Field),
    /// Code address read from a constant.
    ConstTarget {
        bank: Field,
        offset: Field,
    },
    /// Uniform register.
    Uniform(Field),
    /// Predicate of the uniform datapath.
    UniformPred(Field),
    /// Convergence barrier.
    ConvergenceBarrier(Field),
    /// Address, constant or descriptor in brackets.
    Brackets(Brackets),
    /// Code address register plus offset.
    RegTarget {
        base: Field,
        offset: Field,
    },
}

/// Operand item with its attributes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Item {
    pub(crate) writes: bool,
    pub(crate) kind: ItemKind,
    pub(crate) neg: Cond,
    pub(crate) abs: Cond,
    pub(crate) inv: Cond,
    pub(crate) not: Cond,
    /// Bits such that none of `neg`, `abs`, `inv`, `cc`, `rmw` and `e=` holds if all of them are clear: a fast test
    /// for the common case. `None` if there are no such bits.
    pub(crate) unmodified: Option<u128>,
    /// Writing the operand also sets the condition code (printed `.CC`).
    pub(crate) cc: Cond,
    /// Part of the old value is kept, so the operand is read as well.
    pub(crate) rmw: Cond,
    /// The address takes two registers (attribute `e=`).
    pub(crate) wide: Cond,
    pub(crate) signed: Cond,
    pub(crate) select: Option<(NamesId, Field)>,
    pub(crate) format: Option<Field>,
    /// Registers of the operand, or of the general register in brackets.
    pub(crate) count: RegisterCount,
    /// Registers of the uniform term in brackets.
    pub(crate) uniform_count: RegisterCount,
    /// Registers of the descriptor in brackets.
    pub(crate) descriptor_count: RegisterCount,
    /// Not printed if it is PT or RZ.
    pub(crate) optional: bool,
    /// If this holds, [`Item::optional`] applies.
    pub(crate) optional_if: Cond,
    /// Not printed if this holds.
    pub(crate) hide: Cond,
    /// Not printed if the list has a text for the value of the field.
    pub(crate) hide_by: Option<(NamesId, Field)>,
    /// Text after the operand, the same for all words.
    pub(crate) suffix: &'static str,
    /// The number counts from the address of the next instruction.
    pub(crate) next: bool,
    /// The selected part is printed before the bar of an absolute value.
    pub(crate) inside: bool,
    /// A blank separates it from the operand before.
    pub(crate) blank: bool,
    /// Not printed if it has this value.
    pub(crate) omit: Option<u64>,
    /// The predicate number is stored inverted (PT is 0).
    pub(crate) flip: bool,
    /// If this holds, the disassembler prints register 255 as an error (attribute `bad`).
    pub(crate) no_zero: Cond,
    /// Whether RZ is printed beside other terms in brackets: if the condition holds, whatever the text after it is.
    pub(crate) shows_zero: Option<Cond>,
    /// URZ is left out beside an offset.
    pub(crate) hides_uniform_zero: bool,
    /// Another uniform register than URZ is printed as an error; in brackets, one of the last group (attribute `urz`).
    pub(crate) needs_uniform_zero: bool,
    /// Printed is the register this many numbers above the field's (attribute `plus`).
    pub(crate) plus: u8,
    pub(crate) scale: u8,
    /// An address of RZ alone is printed as a number.
    pub(crate) bare: bool,
    /// Bit that keeps this operand in the reuse cache; `None` unless it is a source register.
    pub(crate) reuse: Option<u8>,
    /// A constant operand is printed with a blank between bank and offset.
    pub(crate) gap: Cond,
}

/// Piece of a template: literal text, text chosen by bits, or an operand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Piece {
    Literal(&'static str),
    /// Text printed if the bit is set.
    Flag {
        text: &'static str,
        bit: u8,
        reads_cc: bool,
    },
    /// Text chosen by a field.
    Name {
        names: NamesId,
        field: Field,
        reads_cc: bool,
        /// Not printed if this holds.
        hide: Cond,
    },
    /// Name of a simple product.
    ImadAlias(Box<ImadAlias>),
    Item(Box<Item>),
}

/// Parsed template: the modifiers of the opcode, then the operands.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Template {
    /// Pieces between the mnemonic and the first blank.
    pub(crate) opcode: Vec<Piece>,
    pub(crate) operands: Vec<Vec<Piece>>,
}

impl Template {
    /// Parses a template without its mnemonic; the error names the part that cannot be parsed.
    pub(crate) fn parse(text: &'static str, dialect: &Dialect) -> Result<Template, String> {
        let (opcode, operands) = split_opcode(text);
        let operands: Result<Vec<_>, _> = operands
            .map(split_operands)
            .unwrap_or_default()
            .into_iter()
            .map(|text| parse_pieces(text, dialect))
            .collect();
        Ok(Template {
            opcode: parse_pieces(opcode, dialect)?,
            operands: operands?,
        })
    }

    /// All pieces, in order of printing.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = &Piece> {
        self.opcode.iter().chain(self.operands.iter().flatten())
    }

    /// Pieces that are operands, in the order of views: those that are printed inside the opcode come last. Of fixed texts
    /// only RZ, or all that stand alone.
    pub(crate) fn operand_pieces(&self, dialect: &Dialect) -> impl Iterator<Item = &Piece> {
        let all = dialect.fixed_operands;
        let in_opcode = self.opcode.iter();
        let in_opcode = in_opcode.filter(|piece| matches!(piece, Piece::Item(_)));
        let pieces = self.operands.iter().flat_map(move |operand| {
            let is_alone = all && operand.len() == 1;
            operand.iter().filter(move |piece| match piece {
                Piece::Item(_) | Piece::Name { .. } => true,
                Piece::Literal(text) => is_alone || *text == "RZ",
                Piece::Flag { .. } | Piece::ImadAlias(_) => false,
            })
        });
        pieces.chain(in_opcode)
    }

    /// All operand items, in order of printing.
    pub(crate) fn items(&self) -> impl Iterator<Item = &Item> {
        self.pieces().filter_map(|piece| match piece {
            Piece::Item(item) => Some(&**item),
            _ => None,
        })
    }
}

/// Splits at the first blank outside braces.
fn split_opcode(text: &'static str) -> (&'static str, Option<&'static str>) {
    let mut depth = 0;
    for (at, c) in text.bytes().enumerate() {
        match c {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            // Blanks in braces separate attributes, not operands.
            b' ' if depth == 0 => {
                let (head, tail) = text.split_at(at);
                return (head, Some(tail.trim_start()));
            }
            _ => {}
        }
    }
    (text, None)
}

/// Splits at commas outside braces.
fn split_operands(text: &'static str) -> Vec<&'static str> {
    let mut out = Vec::new();
    let mut depth = 0;
    let mut start = 0;
    for (at, c) in text.bytes().enumerate() {
        match c {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            b',' if depth == 0 => {
                out.push(text.get(start..at).unwrap_or_default().trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    out.push(text.get(start..).unwrap_or_default().trim());
    out
}

fn parse_pieces(text: &'static str, dialect: &Dialect) -> Result<Vec<Piece>, String> {
    let mut out = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        match split(rest, b'{') {
            None => {
                out.push(Piece::Literal(rest));
                break;
            }
            Some((literal, tail)) => {
                if !literal.is_empty() {
                    out.push(Piece::Literal(literal));
                }
                let (inside, after) =
                    split(tail, b'}').ok_or_else(|| format!("missing `}}` in `{text}`"))?;
                let piece = parse_piece(inside, dialect);
                out.push(piece.ok_or_else(|| format!("cannot read `{{{inside}}}`"))?);
                rest = after;
            }
        }
    }
    Ok(out)
}

fn parse_piece(text: &'static str, dialect: &Dialect) -> Option<Piece> {
    let mut words = text.split_ascii_whitespace();
    let head = words.next()?;
    if head == "?imad" {
        return ImadAlias::parse(words).map(|alias| Piece::ImadAlias(Box::new(alias)));
    }
    // Names of lists begin with a lower-case letter, unlike nearly all operand letters, so this test spares the
    // lookup.
    let names = match head.starts_with(|c: char| c.is_ascii_lowercase()) {
        true => dialect.lists.names_id(head),
        false => None,
    };
    // Flags begin with a dot; whatever is no list either must be an operand.
    if !head.starts_with('.') && names.is_none() {
        return parse_item(head, words, dialect).map(|item| Piece::Item(Box::new(item)));
    }
    let bits = words.next()?;
    let mut reads_cc = false;
    let mut hide = Cond::default();
    for attribute in words {
        match split(attribute, b'=') {
            None if attribute == "rcc" => reads_cc = true,
            Some(("hide", condition)) => hide = Cond::parse(condition)?,
            _ => return None,
        }
    }
    Some(match names {
        Some(names) => Piece::Name {
            names,
            field: Field::parse(bits)?,
            reads_cc,
            hide,
        },
        None => Piece::Flag {
            text: head,
            bit: bits.parse().ok().filter(|&bit| bit <= LAST_BIT)?,
            reads_cc,
        },
    })
}

impl Item {
    /// Operand of a kind without attributes.
    fn without_attributes(kind: ItemKind, writes: bool, dialect: &Dialect) -> Item {
        Item {
            writes,
            // The reuse cache keeps source operands only.
            reuse: (!writes).then(|| reuse_bit(&kind, dialect)).flatten(),
            kind,
            neg: Cond::default(),
            abs: Cond::default(),
            inv: Cond::default(),
            not: Cond::default(),
            unmodified: None,
            cc: Cond::default(),
            rmw: Cond::default(),
            wide: Cond::default(),
            signed: Cond::default(),
            select: None,
            format: None,
            count: RegisterCount::Fixed(1),
            uniform_count: RegisterCount::Fixed(1),
            descriptor_count: RegisterCount::Fixed(1),
            optional: false,
            optional_if: Cond::ALWAYS,
            hide: Cond::default(),
            hide_by: None,
            suffix: "",
            next: false,
            inside: false,
            blank: false,
            omit: None,
            flip: false,
            no_zero: Cond::default(),
            shows_zero: None,
            hides_uniform_zero: false,
            needs_uniform_zero: false,
            plus: 0,
            scale: 1,
            bare: false,
            gap: Cond::default(),
        }
    }
}

fn parse_item(
    head: &'static str,
    attributes: impl Iterator<Item = &'static str>,
    dialect: &Dialect,
) -> Option<Item> {
    let (writes, head) = match head.strip_prefix('=') {
        Some(rest) => (true, rest),
        None => (false, head),
    };
    let kind = match head.contains('[') {
        true => ItemKind::Brackets(Brackets::parse(head, dialect)?),
        false => parse_kind(head)?,
    };
    let mut item = Item::without_attributes(kind, writes, dialect);
    for attribute in attributes {
        let (name, value) = split(attribute, b'=').unwrap_or((attribute, ""));
        match name {
            "neg" => item.neg = Cond::parse(value)?,
            "abs" => item.abs = Cond::parse(value)?,
            "inv" => item.inv = Cond::parse(value)?,
            "not" => item.not = Cond::parse(value)?,
            "cc" => item.cc = Cond::parse(value)?,
            "rmw" => item.rmw = Cond::parse(value)?,
            "e" => item.wide = Cond::parse(value)?,
            "signed" => item.signed = Cond::parse(value)?,
            "fmt" => item.format = Some(Field::parse(value)?),
            "sel" => {
                let (list, field) = split(value, b'@')?;
                item.select = Some((dialect.lists.names_id(list)?, Field::parse(field)?));
            }
            "x" => item.count = RegisterCount::parse(value, dialect)?,
            "gx" => item.uniform_count = RegisterCount::parse(value, dialect)?,
            "dx" => item.descriptor_count = RegisterCount::parse(value, dialect)?,
            "omit" => item.omit = Some(value.parse().ok()?),
            "flip" => item.flip = true,
            "reuse" => item.reuse = Some(value.parse().ok()?),
            "scale" => item.scale = value.parse().ok()?,
            "bare" => item.bare = true,
            "gap" => item.gap = Cond::parse(value)?,
            _ => parse_display(&mut item, name, value, dialect)?,
        }
    }
    if let ItemKind::Brackets(brackets) = &mut item.kind {
        brackets.plus = item.plus;
        brackets.signed = item.signed == Cond::ALWAYS;
    }
    item.unmodified = [item.neg, item.abs, item.inv, item.cc, item.rmw, item.wide]
        .into_iter()
        // A condition that can hold with all bits clear rules out the fast test.
        .try_fold(0, |bits, cond| Some(bits | cond.set_bits()?));
    Some(item)
}

/// Parses an attribute that changes only how an operand is printed; `None` for any other.
fn parse_display(
    item: &mut Item,
    name: &str,
    value: &'static str,
    dialect: &Dialect,
) -> Option<()> {
    match name {
        "opt" => {
            item.optional = true;
            item.optional_if = Cond::parse(value)?;
        }
        "hide" => match split(value, b'@') {
            Some((list, field)) => {
                item.hide_by = Some((dialect.lists.names_id(list)?, Field::parse(field)?));
            }
            None => item.hide = Cond::parse(value)?,
        },
        "sfx" => item.suffix = value,
        "bad" => item.no_zero = Cond::parse(value)?,
        "rz" => item.shows_zero = Some(Cond::parse(value)?),
        "nourz" => item.hides_uniform_zero = true,
        "urz" => item.needs_uniform_zero = true,
        "norz" => item.shows_zero = Some(Cond::default()),
        "plus" => item.plus = value.parse().ok()?,
        "next" => item.next = true,
        "inside" => item.inside = true,
        "blank" => item.blank = true,
        _ => return None,
    }
    Some(())
}

/// Default reuse bit of an operand, from the position of its register field.
fn reuse_bit(kind: &ItemKind, dialect: &Dialect) -> Option<u8> {
    let ItemKind::Reg(field) = kind else {
        return None;
    };
    dialect.reuse_bit(field.low_bit())
}

fn parse_kind(head: &str) -> Option<ItemKind> {
    let letter = head.chars().next()?;
    let rest = head.get(letter.len_utf8()..)?;
    let two = || -> Option<(Field, Field)> {
        let (a, b) = split(rest, b'+')?;
        Some((Field::parse(a)?, Field::parse(b)?))
    };
    let address = || -> Option<(Field, Option<Field>)> {
        // The letter marks an offset, because a register field may itself have a plus sign.
        match rest.split_once("+S") {
            Some((base, offset)) => Some((Field::parse(base)?, Some(Field::parse(offset)?))),
            None => Some((Field::parse(rest)?, None)),
        }
    };
    Some(match letter {
        'R' => ItemKind::Reg(Field::parse(rest)?),
        'Y' => ItemKind::RegPair(Field::parse(rest)?),
        'P' => ItemKind::Pred(Field::parse(rest)?),
        'N' if rest.is_empty() => ItemKind::PredSet(RegisterKind::Predicate),
        'N' if rest == "U" => ItemKind::PredSet(RegisterKind::UniformPredicate),
        'N' => ItemKind::PredSetOrCc(rest.parse().ok()?),
        'Q' => ItemKind::CcTest(Field::parse(rest)?),
        'U' => ItemKind::Unsigned(Field::parse(rest)?),
        'S' => ItemKind::Signed(Field::parse(rest)?),
        'V' => ItemKind::Mixed(Field::parse(rest)?),
        'E' => ItemKind::Float(None, Field::parse(rest)?),
        'F' => ItemKind::Float(Some(FloatFormat::Single), Field::parse(rest)?),
        'D' => ItemKind::Float(Some(FloatFormat::Double), Field::parse(rest)?),
        'H' => ItemKind::Float(Some(FloatFormat::Half), Field::parse(rest)?),
        'C' => {
            let (bank, offset) = two()?;
            ItemKind::Const { bank, offset }
        }
        'c' => {
            let (bank, offset) = two()?;
            ItemKind::ConstTarget { bank, offset }
        }
        'X' => {
            let (base, offset) = two()?;
            ItemKind::RegTarget { base, offset }
        }
        'K' => {
            let mut parts = rest.split('+');
            let kind = ItemKind::ConstIndexed {
                bank: Field::parse(parts.next()?)?,
                base: Field::parse(parts.next()?)?,
                offset: Field::parse(parts.next()?)?,
            };
            if parts.next().is_some() {
                return None;
            }
            kind
        }
        'M' => {
            let (base, offset) = address()?;
            ItemKind::Memory { base, offset }
        }
        'A' => {
            let (base, offset) = address()?;
            ItemKind::Address { base, offset }
        }
        'T' => ItemKind::Relative(Field::parse(rest)?),
        'J' => ItemKind::Absolute(Field::parse(rest)?),
        'G' => ItemKind::Uniform(Field::parse(rest)?),
        'L' => ItemKind::UniformPred(Field::parse(rest)?),
        'B' => ItemKind::ConvergenceBarrier(Field::parse(rest)?),
        _ => return None,
    })
}
