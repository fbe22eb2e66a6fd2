//! Operands in brackets: memory addresses, constants and descriptors of 128-bit instructions (syntax:
//! `isa/nvidia/README.md`).
//!
//! For example, `desc[G39:32][R31:24/.64+S63:40]` has a descriptor in a pair of uniform registers, an address in
//! registers and an offset, and prints `desc[UR4][R2.64+0x10]`.

use super::dialect::Dialect;
use super::field::Field;
use super::names::{Names, NamesId};
use super::register_number::{reg_number, uniform_number};

/// Operand in brackets. Registers are `Some(None)` for RZ and URZ, and `None` if the form has no such term.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BracketOperand {
    /// Text before the first bracket: empty for a plain address, `c` or `cx` for a constant, `desc` for an address
    /// with a descriptor.
    pub space: &'static str,
    /// Bank of a constant.
    pub bank: Option<u8>,
    /// Uniform register with a descriptor, or the second one of an address.
    pub descriptor: Option<Option<u8>>,
    /// General register.
    pub base: Option<Option<u8>>,
    /// Uniform register that is added.
    pub uniform: Option<Option<u8>>,
    /// Offset in bytes.
    pub offset: i64,
    /// Text after the general register, such as `.64` or `.X4`.
    pub suffix: &'static str,
}

/// Role of the general register in an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BaseForm {
    /// As the size of the address says: one register, or a pair.
    Plain,
    /// A pair (`.64`).
    Pair,
    /// One register without a sign (`.U32`).
    Unsigned,
    /// One register, shifted to the left by this number of bits (`.X4`, `.X8`, `.X16`).
    Shifted(u8),
}

impl BracketOperand {
    /// Role of the general register; `None` for other texts after it.
    pub fn base_form(&self) -> Option<BaseForm> {
        Some(match self.suffix {
            "" => BaseForm::Plain,
            ".64" => BaseForm::Pair,
            ".U32" => BaseForm::Unsigned,
            ".X4" => BaseForm::Shifted(2),
            ".X8" => BaseForm::Shifted(3),
            ".X16" => BaseForm::Shifted(4),
            _ => return None,
        })
    }

    /// Operand with the text before its first bracket, and the offset 0.
    pub const fn new(space: &'static str) -> BracketOperand {
        BracketOperand {
            space,
            bank: None,
            descriptor: None,
            base: None,
            uniform: None,
            offset: 0,
            suffix: "",
        }
    }
}

/// Operand in brackets: a name and one group or two.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Brackets {
    /// Text before the first bracket: `desc`, `c`; empty for a plain address.
    pub(crate) name: &'static str,
    /// Whether a blank is printed between the groups.
    pub(crate) gap: bool,
    /// Terms of each group.
    pub(crate) groups: Vec<Vec<Term>>,
    /// Added to the numbers of uniform registers (attribute `plus`).
    pub(crate) plus: u8,
    /// Whether an offset beside RZ alone keeps its sign (attribute `signed`).
    pub(crate) signed: bool,
}

/// Term of a sum in brackets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Term {
    pub(crate) kind: TermKind,
    pub(crate) field: Field,
    /// Unit of an offset.
    pub(crate) scale: u8,
    pub(crate) suffix: Suffix,
}

/// Kind of a term.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TermKind {
    /// General register.
    Register,
    /// Uniform register.
    Uniform,
    /// Signed offset.
    Signed,
    /// Unsigned offset.
    Unsigned,
}

/// Text after a register.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Suffix {
    /// The same for all words.
    Fixed(&'static str),
    /// Chosen by a field.
    Listed(NamesId, Field),
}

impl Brackets {
    /// Parses `name[terms]` or `name[terms][terms]`; an underscore between the groups stands for a blank.
    pub(crate) fn parse(text: &'static str, dialect: &Dialect) -> Option<Brackets> {
        let (name, rest) = text.split_once('[')?;
        let rest = rest.strip_suffix(']')?;
        let gap = rest.contains("]_[");
        let groups = rest
            .split(if gap { "]_[" } else { "][" })
            .map(|group| parse_terms(group, dialect))
            .collect::<Option<Vec<_>>>()?;
        (1..=2).contains(&groups.len()).then_some(Brackets {
            name,
            gap,
            groups,
            plus: 0,
            signed: false,
        })
    }

    /// All terms.
    pub(crate) fn terms(&self) -> impl Iterator<Item = &Term> {
        self.groups.iter().flatten()
    }

    /// Lists of names with their fields.
    pub(crate) fn lists(&self) -> impl Iterator<Item = (NamesId, &Field)> {
        self.terms().filter_map(|term| match &term.suffix {
            Suffix::Fixed(_) => None,
            Suffix::Listed(id, field) => Some((*id, field)),
        })
    }

    /// Value of the operand.
    pub(crate) fn value(&self, dialect: &Dialect, names: &Names, word: u128) -> BracketOperand {
        let mut address = BracketOperand::new(self.name);
        let last = self.groups.len().saturating_sub(1);
        for (at, group) in self.groups.iter().enumerate() {
            for term in group {
                let uniform = || self.uniform(term, dialect, names, word);
                match term.kind {
                    TermKind::Register => {
                        address.base = Some(reg_number(&term.field, word));
                        address.suffix = term.suffix_text(names, word);
                    }
                    TermKind::Uniform if at < last => address.descriptor = Some(uniform()),
                    TermKind::Uniform if address.uniform.is_none() => {
                        address.uniform = Some(uniform());
                    }
                    TermKind::Uniform => address.descriptor = Some(uniform()),
                    TermKind::Unsigned if at < last => {
                        address.bank = u8::try_from(term.field.get(word)).ok();
                    }
                    TermKind::Signed | TermKind::Unsigned => {
                        address.offset = self.offset(term, group, names, word);
                    }
                }
            }
        }
        address
    }

    /// Number of the uniform register of a term; `None` for URZ.
    pub(crate) fn uniform(
        &self,
        term: &Term,
        dialect: &Dialect,
        names: &Names,
        word: u128,
    ) -> Option<u8> {
        uniform_number(&term.field, self.plus, dialect, names, word)
    }

    /// Value of an offset. After RZ alone, an address of most forms is absolute and therefore unsigned.
    pub(crate) fn offset(&self, term: &Term, group: &[Term], names: &Names, word: u128) -> i64 {
        let absolute = self.name.is_empty()
            && !self.signed
            && group.iter().any(|other| {
                other.kind == TermKind::Register
                    && reg_number(&other.field, word).is_none()
                    && other.suffix_text(names, word).is_empty()
            })
            && group.iter().all(|other| other.kind != TermKind::Uniform);
        let number = match term.kind {
            TermKind::Signed if !absolute => term.field.signed(word),
            _ => term.field.get(word) as i64,
        };
        number.wrapping_mul(term.scale.into())
    }
}

impl Term {
    /// Text after the register.
    pub(crate) fn suffix_text(&self, names: &Names, word: u128) -> &'static str {
        match &self.suffix {
            Suffix::Fixed(text) => text,
            Suffix::Listed(id, field) => names.text(*id, field.get(word)).unwrap_or("?"),
        }
    }

    fn parse(text: &'static str, dialect: &Dialect) -> Option<Term> {
        let (text, suffix) = match text.split_once('/') {
            None => (text, Suffix::Fixed("")),
            Some((text, suffix)) => match suffix.split_once('@') {
                None => (text, Suffix::Fixed(suffix)),
                Some((list, field)) => {
                    let list = dialect.lists.names_id(list)?;
                    (text, Suffix::Listed(list, Field::parse(field)?))
                }
            },
        };
        let (text, scale) = match text.split_once('*') {
            None => (text, 1),
            Some((text, scale)) => (text, scale.parse().ok()?),
        };
        let kind = match text.chars().next()? {
            'R' => TermKind::Register,
            'G' => TermKind::Uniform,
            'S' => TermKind::Signed,
            'U' => TermKind::Unsigned,
            _ => return None,
        };
        Some(Term {
            kind,
            field: Field::parse(text.get(1..)?)?,
            scale,
            suffix,
        })
    }
}

/// Parses terms that are joined by plus signs. A plus sign before a digit joins the ranges of a field.
fn parse_terms(text: &'static str, dialect: &Dialect) -> Option<Vec<Term>> {
    let mut terms = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices('+') {
        let next = text.as_bytes().get(at + 1)?;
        if next.is_ascii_uppercase() {
            terms.push(Term::parse(text.get(start..at)?, dialect)?);
            start = at + 1;
        }
    }
    terms.push(Term::parse(text.get(start..)?, dialect)?);
    Some(terms)
}
