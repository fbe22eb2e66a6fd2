//! First column of a row: the words that match it, its architectures, its opcode. For example,
//! `80000000/ff800000+7:0=ff all salu` matches dwords whose bits 31:23 are 1_0000_0000, and a literal follows if bits
//! 7:0 are 0xff.

use super::layout::WordWidth;
use super::span::Span;
use warpbound_base::{BitRange, Bits};

/// Maximum number of literal conditions of a row.
const LITERALS: usize = 2;

/// Parts of a row that the build script parses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowHead {
    /// Bits that must equal [`RowHead::value`].
    pub mask: u128,
    /// Values of the fixed bits.
    pub value: u128,
    /// Width of the words, without a literal.
    pub width: WordWidth,
    /// Architectures that have the row.
    pub archs: ArchSet,
    /// Conditions under which a literal of one unit follows. One that holds is enough.
    pub literal: [Option<LiteralCondition>; LITERALS],
    pub(crate) timing: Span,
    pub(crate) mnemonic: Span,
    pub(crate) line: Span,
}

impl RowHead {
    /// Parses `value/mask archs timing` before the first bar, and the mnemonic after the second.
    pub(crate) fn parse(file: &str, line: Span, archs: &[u32]) -> Option<RowHead> {
        let (column, rest) = line.split(file, b'|');
        let (_, template) = rest.split(file, b'|');
        let (pattern, column) = column.word(file);
        let (set, column) = column.word(file);
        let (timing, column) = column.word(file);
        let (bits, literal) = pattern.split(file, b'+');
        let (value, mask) = bits.split(file, b'/');
        // The number of digits is the width of the word, so both must have equally many.
        if value.len() != mask.len() || timing.is_blank(file) || !column.is_blank(file) {
            return None;
        }
        let (Some(width), Some(archs)) = (
            WordWidth::of_digits(mask.len()),
            ArchSet::parse(file, set, archs),
        ) else {
            return None;
        };
        let (Some(value), Some(mask)) = (value.number(file, 16), mask.number(file, 16)) else {
            return None;
        };
        let literal = parse_literal(file, literal, width)?;
        // `FFMA{fmz 54:53}`: a modifier may have a blank of its own.
        let (mnemonic, _) = template.word(file);
        let (mnemonic, _) = mnemonic.split(file, b'{');
        // The mnemonic ends at its first modifier.
        let (mnemonic, _) = mnemonic.split(file, b'.');
        // A value outside the mask could never match, so it is a mistake in the file.
        if value & !mask != 0 || mnemonic.len() == 0 {
            return None;
        }
        Some(RowHead {
            mask,
            value,
            width,
            archs,
            literal,
            timing,
            mnemonic,
            line,
        })
    }

    /// Whether a literal follows a word of the row.
    pub fn has_literal(&self, word: u128) -> bool {
        let mut conditions = self.literal.iter().flatten();
        conditions.any(|condition| word.field(condition.range) == condition.value)
    }
}

/// Field value with which a literal follows the instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LiteralCondition {
    /// Bits of the field.
    pub range: BitRange,
    /// Value that demands a literal.
    pub value: u64,
}

impl LiteralCondition {
    /// Parses `7:0=ff`; `None` for anything else and for bits outside the word.
    fn parse(file: &str, text: Span, width: WordWidth) -> Option<LiteralCondition> {
        let (range, value) = text.split(file, b'=');
        let (hi, lo) = range.split(file, b':');
        let (Some(hi), Some(lo)) = (hi.number(file, 10), lo.number(file, 10)) else {
            return None;
        };
        let value = value.number(file, 16)?;
        // The last test refuses a value with more bits than the field, which would never hold.
        if lo > hi || hi >= width.bits() as u128 || hi - lo > 63 || value >> (hi - lo) > 1 {
            return None;
        }
        let range = BitRange {
            hi: hi as u8,
            lo: lo as u8,
        };
        Some(LiteralCondition {
            range,
            value: value as u64,
        })
    }
}

/// Parses conditions separated by commas. Instruction and literal together have at most 128 bits.
fn parse_literal(
    file: &str,
    text: Span,
    width: WordWidth,
) -> Option<[Option<LiteralCondition>; LITERALS]> {
    let mut conditions = [None; LITERALS];
    let mut rest = text;
    let mut count = 0;
    while !rest.is_blank(file) {
        let (first, after) = rest.split(file, b',');
        let condition = LiteralCondition::parse(file, first, width);
        if count == LITERALS || condition.is_none() || width.bits() > 64 {
            return None;
        }
        conditions[count] = condition;
        count += 1;
        rest = after;
    }
    Some(conditions)
}

/// Set of architectures: indices in the list of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArchSet(pub(crate) u16);

impl ArchSet {
    /// Set of the first `count` architectures, 1 to 16.
    pub(crate) const fn first(count: usize) -> ArchSet {
        ArchSet(u16::MAX >> (16 - count))
    }

    /// Whether the set contains the architecture with an index below 16.
    pub const fn has(self, arch: usize) -> bool {
        // `& 15` changes nothing for an index below 16, but spares the overflow check.
        self.0 >> (arch & 15) & 1 == 1
    }

    /// Parses `all`, `52+` (52 and all later ones in `archs`) or a list `50,52`; `None` for anything else. `archs`
    /// has the numbers of at most 16 architectures.
    pub(crate) fn parse(file: &str, text: Span, archs: &[u32]) -> Option<ArchSet> {
        let (first, plus) = text.split(file, b'+');
        let is_open = plus.start > first.end;
        let is_all = text.equals(file, "all");
        let mut set = 0u16;
        let mut rest = first;
        while !rest.is_blank(file) {
            let (number, after) = rest.split(file, b',');
            let number = if is_all {
                None
            } else {
                number.number(file, 10)
            };
            let mut is_known = is_all;
            let mut at = 0;
            while at < archs.len() {
                let is_named = matches!(number, Some(number) if number == archs[at] as u128);
                is_known |= is_named;
                // Architectures are listed oldest first, so after the named one come only later ones.
                if is_named || is_known && (is_open || is_all) {
                    set |= 1 << at;
                }
                at += 1;
            }
            if !is_known {
                return None;
            }
            rest = after;
        }
        // A row without an architecture could never match, so it is a mistake in the file.
        if set == 0 { None } else { Some(ArchSet(set)) }
    }
}
