//! Decoding: the row that matches a word, and the instructions of a code section. For example, if one row fixes bits
//! 63:51 and another one also bit 20, a word with that bit belongs to the second.

use super::description::TableDescription;
use super::layout::{CodeLayout, EncodedInstr, GROUP, WordWidth};
use super::row::{ArchSet, RowHead};
use warpbound_base::{BitRange, CodeAddr, Diagnostic};

/// Unsigned integer as which a table compares words.
pub trait EncodingWord: Copy {
    /// Number of bits.
    const BITS: u32;
    /// All bits.
    const ALL: Self;

    /// Pattern of a row that is not wider than the integer.
    fn pattern(head: &RowHead) -> RowPattern<Self>;

    /// Low bits of a word of 128 bits.
    fn truncate(word: u128) -> Self;

    /// Number of the bucket that the ranges select, most significant first.
    fn bucket(self, index: &[BitRange]) -> usize;

    /// Whether the bits that are set in `present` agree with a row.
    fn matches(self, row: &RowPattern<Self>, present: Self) -> bool;
}

/// Mask, value and architectures of a row: the part that decoding reads.
#[derive(Clone, Copy, Debug)]
pub struct RowPattern<W> {
    /// Bits that must equal [`RowPattern::value`].
    pub mask: W,
    /// Values of the fixed bits.
    pub value: W,
    /// Architectures that have the row.
    pub archs: ArchSet,
}

macro_rules! encoding_word {
    ($($word:ty)+) => {
        $(
            impl RowPattern<$word> {
                /// Pattern of a row that is not wider than the integer.
                pub fn of(head: &RowHead) -> RowPattern<$word> {
                    RowPattern {
                        mask: head.mask as $word,
                        value: head.value as $word,
                        archs: head.archs,
                    }
                }
            }

            impl EncodingWord for $word {
                const BITS: u32 = <$word>::BITS;
                const ALL: $word = <$word>::MAX;

                fn pattern(head: &RowHead) -> RowPattern<$word> {
                    RowPattern::<$word>::of(head)
                }

                fn truncate(word: u128) -> $word {
                    word as $word
                }

                fn bucket(self, index: &[BitRange]) -> usize {
                    index.iter().fold(0, |bucket, range| {
                        let width = range.hi - range.lo + 1;
                        bucket << width | (self >> range.lo) as usize & ((1 << width) - 1)
                    })
                }

                fn matches(self, row: &RowPattern<$word>, present: $word) -> bool {
                    // Near the end of the code some bits are missing, and they exclude no row.
                    (self ^ row.value) & row.mask & present == 0
                }
            }
        )+
    };
}

encoding_word! { u32 u64 u128 }

/// Rows of an instruction set, indexed for decoding.
#[derive(Clone, Copy, Debug)]
pub struct EncodingTable<W: 'static> {
    description: TableDescription,
    heads: &'static [RowHead],
    patterns: &'static [RowPattern<W>],
    starts: &'static [u16],
    candidates: &'static [u16],
}

impl<W> EncodingTable<W> {
    /// Table from the parts that [`TableDescription::parse`] computes.
    pub const fn new(
        description: TableDescription,
        heads: &'static [RowHead],
        patterns: &'static [RowPattern<W>],
        starts: &'static [u16],
        candidates: &'static [u16],
    ) -> EncodingTable<W> {
        EncodingTable {
            description,
            heads,
            patterns,
            starts,
            candidates,
        }
    }

    /// Text of the file.
    pub(crate) const fn text(&self) -> &'static str {
        self.description.text
    }

    /// First columns of all rows, in the order of the file.
    pub const fn heads(&self) -> &'static [RowHead] {
        self.heads
    }

    /// Mask, value and architectures of a row.
    pub fn pattern(&self, row: usize) -> Option<&'static RowPattern<W>> {
        self.patterns.get(row)
    }

    /// Text of a row.
    pub const fn line(&self, head: &RowHead) -> &'static str {
        head.line.text(self.description.text)
    }

    /// Text of a row's timing column.
    pub const fn timing(&self, head: &RowHead) -> &'static str {
        head.timing.text(self.description.text)
    }

    /// Text of a row's mnemonic.
    pub const fn mnemonic(&self, head: &RowHead) -> &'static str {
        head.mnemonic.text(self.description.text)
    }
}

impl<W: EncodingWord> EncodingTable<W> {
    /// Parses a table that is not compiled in. Its rows stay in memory until the program ends.
    ///
    /// # Errors
    ///
    /// See [`TableDescription::parse`].
    pub fn read(description: TableDescription) -> Result<EncodingTable<W>, String> {
        let parsed = description.parse(W::BITS)?;
        let patterns: Vec<RowPattern<W>> = parsed.heads.iter().map(W::pattern).collect();
        Ok(EncodingTable::new(
            description,
            parsed.heads.leak(),
            patterns.leak(),
            parsed.starts.leak(),
            parsed.candidates.leak(),
        ))
    }

    /// Finds the row that matches a word on the architecture with an index. If several match, the one with the most
    /// specific mask is found.
    #[inline]
    pub fn find(&self, arch: usize, word: W) -> Option<u16> {
        self.find_present(arch, word, W::ALL)
    }

    /// Finds the most specific row that the bits set in `present` do not exclude. The index bits must be present.
    #[inline(always)]
    fn find_present(&self, arch: usize, word: W, present: W) -> Option<u16> {
        let bucket = word.bucket(self.description.index);
        let range = match self.starts.get(bucket..) {
            // The list has one more entry than buckets: the end of the last one.
            Some([start, end, ..]) => usize::from(*start)..usize::from(*end),
            _ => return None,
        };
        let mut rows = self.candidates.get(range)?.iter().copied();
        rows.find(|&row| {
            self.patterns
                .get(usize::from(row))
                .is_some_and(|pattern| word.matches(pattern, present) && pattern.archs.has(arch))
        })
    }

    /// Passes all instructions of a code section to `visit`, in address order.
    ///
    /// # Errors
    ///
    /// Fails if the code ends inside an instruction or a group, or is longer than 4 GiB. With mixed lengths, the
    /// instructions before the end have been visited by then.
    // Inlined into its caller, where the table is a constant: then layout, index and lengths of arrays are constants
    // too. Without this, decoding takes a quarter more instructions.
    #[inline(always)]
    pub fn decode(
        &self,
        arch: usize,
        code: &[u8],
        visit: impl FnMut(EncodedInstr),
    ) -> Result<(), Diagnostic> {
        match self.description.layout {
            CodeLayout::ControlGroups => self.decode_groups(arch, code, visit),
            CodeLayout::Units(unit) => self.decode_units(arch, unit, code, visit),
        }
    }

    #[inline(always)]
    fn decode_groups(
        &self,
        arch: usize,
        code: &[u8],
        mut visit: impl FnMut(EncodedInstr),
    ) -> Result<(), Diagnostic> {
        let (groups, rest) = code.as_chunks::<GROUP>();
        if !rest.is_empty() {
            return Err(Diagnostic::new(format!(
                "code ends inside an instruction group: {} bytes are not a multiple of {GROUP}",
                code.len()
            ))
            .hint("the file is truncated or the section is not Maxwell/Pascal code"));
        }
        check_size(code)?;
        for (number, group) in groups.iter().enumerate() {
            let (words, _) = group.as_chunks::<8>();
            let mut words = words.iter().map(|bytes| u64::from_le_bytes(*bytes));
            // A group has 32 bytes, so the word exists.
            let control = words.next().unwrap_or_default();
            for (slot, word) in (0u32..).zip(words) {
                visit(EncodedInstr {
                    // The control word has the first eight bytes of the group.
                    addr: CodeAddr((number * GROUP) as u32 + 8 + 8 * slot),
                    length: 8,
                    word: word.into(),
                    row: self.find(arch, W::truncate(word.into())),
                    control: Some((control, slot)),
                });
            }
        }
        Ok(())
    }

    fn decode_units(
        &self,
        arch: usize,
        unit: WordWidth,
        code: &[u8],
        mut visit: impl FnMut(EncodedInstr),
    ) -> Result<(), Diagnostic> {
        check_size(code)?;
        let mut rest = code;
        while !rest.is_empty() {
            let addr = CodeAddr((code.len() - rest.len()) as u32);
            let (word, present) = first_word(rest);
            // The index bits are in the first unit, so a part of one has no bucket.
            let row = match rest.len() < unit.bytes() {
                true => None,
                false => self.find_present(arch, W::truncate(word), W::truncate(present)),
            };
            let length = self.length(row, word, unit);
            let Some((_, after)) = rest.split_at_checked(length) else {
                return Err(Diagnostic::new(format!(
                    "code ends inside an instruction: {} of {length} bytes",
                    rest.len()
                ))
                .hint("the file is truncated or the section is not code of this instruction set")
                .at(addr));
            };
            visit(EncodedInstr {
                addr,
                length,
                // The bytes after the instruction belong to the next one.
                // An instruction has at least one unit, so the shift is less than 128.
                word: word & u128::MAX >> (u128::BITS - 8 * length as u32),
                row,
                control: None,
            });
            rest = after;
        }
        Ok(())
    }

    /// Number of bytes of a word that matches a row, including a literal; one unit without a row.
    fn length(&self, row: Option<u16>, word: u128, unit: WordWidth) -> usize {
        let head = row.and_then(|row| self.heads.get(usize::from(row)));
        head.map_or(unit.bytes(), |head| {
            let literal = match head.has_literal(word) {
                true => unit.bytes(),
                false => 0,
            };
            head.width.bytes() + literal
        })
    }
}

/// First 16 bytes as a word, and the mask of the bits that exist. For example, two bytes 0x01 0x02 give 0x0201 and
/// 0xffff.
fn first_word(bytes: &[u8]) -> (u128, u128) {
    match bytes.first_chunk() {
        Some(bytes) => (u128::from_le_bytes(*bytes), u128::MAX),
        // Near the end of the code there are fewer than 16 bytes.
        None => bytes.iter().rev().fold((0, 0), |(word, present), byte| {
            (word << 8 | u128::from(*byte), present << 8 | 0xff)
        }),
    }
}

fn check_size(code: &[u8]) -> Result<(), Diagnostic> {
    match u32::try_from(code.len()) {
        Ok(_) => Ok(()),
        Err(_) => Err(Diagnostic::new("code section is longer than 4 GiB")),
    }
}
