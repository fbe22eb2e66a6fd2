//! Parsing of a table and construction of its index. The build script does this for the tables of the crate.
//!
//! Words are divided into buckets by the index bits of their first unit. A bucket lists the rows that can match such
//! a word, largest mask first, so that the first match is the most specific row. For example, with the index bits
//! 1:0, a row that fixes only bit 0 as 1 is in the buckets 1 and 3.

use super::layout::{CodeLayout, WordWidth};
use super::row::RowHead;
use super::span::Lines;
use std::cmp::Reverse;
use std::iter;
use warpbound_base::{BitRange, Bits as _};

/// Text of a table and its properties that the rows do not state.
#[derive(Clone, Copy, Debug)]
pub struct TableDescription {
    /// Text of the file.
    pub text: &'static str,
    /// Layout of instructions in code.
    pub layout: CodeLayout,
    /// Bits of an instruction's first unit that select its bucket, most significant first; at most 16 in total.
    pub index: &'static [BitRange],
    /// Numbers by which rows name the architectures, oldest first; at most 16.
    pub archs: &'static [u32],
}

impl TableDescription {
    /// Number of buckets: 2 to the number of index bits. The error says why the index bits do not suit the layout.
    fn buckets(&self) -> Result<usize, String> {
        let unit = self.layout.unit().bits();
        if self
            .index
            .iter()
            .any(|range| range.lo > range.hi || u32::from(range.hi) >= unit)
        {
            return Err("index bits outside the first unit".to_owned());
        }
        match self.index.iter().map(|range| range.width()).sum() {
            bits @ 0..=16 => Ok(1 << bits),
            _ => Err("too many index bits".to_owned()),
        }
    }

    /// Parses the first columns of all rows and builds the index. Words are compared as integers of `word` bits.
    ///
    /// # Errors
    ///
    /// The line that cannot be read, or the property of the table that is too large.
    pub fn parse(&self, word: u32) -> Result<ParsedTable, String> {
        if self.archs.len() > 16 {
            return Err("too many architectures".to_owned());
        }
        if self.layout.unit().bits() > word {
            return Err("words are shorter than a unit".to_owned());
        }
        // All rows before the index, because it numbers them.
        let mut heads = Vec::new();
        let mut lines = Lines::new(self.text);
        while let Some(line) = lines.next() {
            let head = RowHead::parse(self.text, line, self.archs)
                .filter(|head| head.width.bits() <= word && self.admits(head));
            heads.push(head.ok_or_else(|| line.text(self.text).to_owned())?);
        }
        let mut buckets: Vec<Vec<u16>> = vec![Vec::new(); self.buckets()?];
        for (row, head) in heads.iter().enumerate() {
            // Rows are numbered in 16 bits.
            let row = u16::try_from(row).map_err(|_| "too many rows")?;
            for bucket in self.buckets_of(head) {
                if let Some(rows) = buckets.get_mut(bucket) {
                    rows.push(row);
                }
            }
        }
        let (mut starts, mut candidates) = (Vec::new(), Vec::new());
        for rows in &mut buckets {
            starts.push(candidates.len());
            let size = |row: &u16| {
                heads
                    .get(usize::from(*row))
                    .map(|head| head.mask.count_ones())
            };
            // Stable, so that rows with masks of one size stay in the order of the file.
            rows.sort_by_key(|row| Reverse(size(row)));
            candidates.append(rows);
        }
        starts.push(candidates.len());
        let starts = starts
            .into_iter()
            .map(u16::try_from)
            .collect::<Result<_, _>>();
        Ok(ParsedTable {
            heads,
            starts: starts.map_err(|_| "too many candidates")?,
            candidates,
        })
    }

    /// Whether words of the row can occur in the layout.
    fn admits(&self, head: &RowHead) -> bool {
        match self.layout {
            CodeLayout::ControlGroups => {
                // A slot of a group has 64 bits, and nothing can follow the word there.
                matches!(head.width, WordWidth::Bits64) && head.literal[0].is_none()
            }
            CodeLayout::Units(unit) => unit.bits() <= head.width.bits(),
        }
    }

    /// Index bits of a mask or a value, in the order of `EncodingWord::bucket`.
    fn index_bits(&self, bits: u128) -> usize {
        let ranges = self.index.iter();
        ranges.fold(0, |bucket, range| {
            bucket << range.width() | bits.field(*range) as usize
        })
    }

    /// Buckets that a row can match, ascending: all subsets of the index bits that its mask leaves free. For example, free
    /// bits 101 give the subsets 000, 001, 100, 101.
    fn buckets_of(&self, head: &RowHead) -> impl Iterator<Item = usize> + use<> {
        let fixed = self.index_bits(head.value);
        let free = self.index_bits(!head.mask);
        // Most rows fix all index bits and are in one bucket.
        let subsets = iter::successors(Some(0usize), move |subset| {
            // (s - m) & m is the next subset of m after s; after m itself it is 0 again.
            Some(subset.wrapping_sub(free) & free).filter(|next| *next != 0)
        });
        subsets.map(move |subset| fixed | subset)
    }
}

/// Rows of a table and its index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParsedTable {
    /// First columns of all rows, in the order of the file.
    pub heads: Vec<RowHead>,
    /// Index in the list of candidates at which each bucket begins, followed by the end of the last bucket.
    pub starts: Vec<u16>,
    /// Candidate rows of all buckets, one bucket after the other. Within a bucket, the most specific mask comes first.
    pub candidates: Vec<u16>,
}
