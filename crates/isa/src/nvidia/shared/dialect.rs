//! Layout of instruction words, as far as the tables of NVIDIA's GPUs differ in it. For example, Maxwell has the
//! guard in bits 18:16, and Volta in bits 14:12.

use warpbound_base::{BitRange, Family};

use super::names::ListFile;

/// Layout of the words of one table. Bits are numbered as rows number them.
#[derive(Debug)]
pub(crate) struct Dialect {
    /// Family of the GPUs that have the table.
    pub(crate) family: Family,
    /// Numbers by which rows and lists name the architectures, oldest first.
    pub(crate) archs: &'static [u32],
    /// Lists of names to which rows refer.
    pub(crate) lists: &'static ListFile,
    /// Number of bits of an instruction word.
    pub(crate) word_bits: u8,
    /// Lowest of the bits that rows use for a part of the control word, if control words are apart from instructions.
    pub(crate) slot_bit: Option<u8>,
    /// Control field of every word, if control words are not apart from instructions.
    pub(crate) control: Option<BitRange>,
    /// Guard predicate of every guarded row.
    pub(crate) guard: BitRange,
    /// Negation of the guard.
    pub(crate) guard_not: u8,
    /// Lowest bits of the register fields of the operands A, B and C.
    pub(crate) source_bits: [u8; 3],
    /// Bit that keeps operand A in the reuse cache; those for B and C follow.
    pub(crate) first_reuse_bit: u8,
    /// Whether every fixed text among the operands is an operand; otherwise only RZ is.
    pub(crate) fixed_operands: bool,
    /// First architecture on which signalling NaNs of all formats are printed apart from quiet ones.
    pub(crate) names_nans_from: u32,
    /// Unit of relative code addresses in bytes.
    pub(crate) target_unit: u8,
    /// Whether the rows state all reads, writes and control flow. Otherwise they state only memory accesses.
    pub(crate) has_effects: bool,
}

impl Dialect {
    /// Number of bytes of an instruction word.
    pub(crate) const fn bytes(&self) -> u32 {
        self.word_bits as u32 / 8
    }

    /// All bits of an instruction word, without a control word that is apart.
    pub(crate) const fn word_mask(&self) -> u128 {
        u128::MAX >> (128 - self.word_bits as u32)
    }

    /// Bits of the guard and its negation.
    pub(crate) fn guard_bits(&self) -> u128 {
        ((1 << self.guard.width()) - 1) << self.guard.lo | 1 << self.guard_not
    }

    /// Reuse bit of an operand whose register field begins at a bit; `None` if the reuse cache does not cover it.
    pub(crate) fn reuse_bit(&self, low_bit: u8) -> Option<u8> {
        let operand = self.source_bits.iter().position(|bit| *bit == low_bit)?;
        self.first_reuse_bit
            .checked_add(u8::try_from(operand).ok()?)
    }

    /// Index of the architecture with a number in [`Dialect::archs`].
    pub(crate) const fn index_of(&self, number: u32) -> usize {
        let mut at = 0;
        while at < self.archs.len() && self.archs[at] != number {
            at += 1;
        }
        at
    }
}
