//! Parsing of a table and construction of its index, at compile time.
//!
//! Words are divided into buckets by the index bits of their first unit. A bucket lists the rows that can match such
//! a word, largest mask first, so that the first match is the most specific row. For example, with the index bits
//! 1:0, a row that fixes only bit 0 as 1 is in the buckets 1 and 3.

use super::layout::{CodeLayout, WordWidth};
use super::row::RowHead;
use super::span::Lines;
use warpbound_base::BitRange;

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
    /// Number of rows.
    pub const fn rows(&self) -> usize {
        let mut lines = Lines::new(self.text);
        let mut count = 0;
        while lines.next().is_some() {
            count += 1;
        }
        // Rows are numbered in 16 bits, and each has a place in at least one bucket.
        assert!(count <= u16::MAX as usize, "too many rows");
        count
    }

    /// Number of buckets: 2 to the number of index bits.
    pub const fn buckets(&self) -> usize {
        let mut bits = 0;
        let mut at = 0;
        while at < self.index.len() {
            let BitRange { hi, lo } = self.index[at];
            assert!(
                lo <= hi && (hi as u32) < self.layout.unit().bits(),
                "index bits outside the first unit"
            );
            bits += hi - lo + 1;
            at += 1;
        }
        assert!(bits <= 16, "too many index bits");
        1 << bits
    }

    /// Parses the first columns of all rows. Words are compared as integers of `word` bits.
    pub const fn heads<const ROWS: usize>(&self, word: u32) -> [RowHead; ROWS] {
        assert!(self.archs.len() <= 16, "too many architectures");
        assert!(
            self.layout.unit().bits() <= word,
            "words are shorter than a unit"
        );
        let mut heads = [RowHead::EMPTY; ROWS];
        let mut lines = Lines::new(self.text);
        let mut at = 0;
        while let Some(line) = lines.next() {
            let head = RowHead::parse(self.text, line, self.archs);
            assert!(
                matches!(&head, Some(head) if head.width.bits() <= word && self.admits(head)),
                "{}",
                line.text(self.text)
            );
            if let Some(head) = head {
                heads[at] = head;
            }
            at += 1;
        }
        heads
    }

    /// Whether words of the row can occur in the layout.
    const fn admits(&self, head: &RowHead) -> bool {
        match self.layout {
            CodeLayout::ControlGroups => {
                // A slot of a group has 64 bits, and nothing can follow the word there.
                matches!(head.width, WordWidth::Bits64) && head.literal[0].is_none()
            }
            CodeLayout::Units(unit) => unit.bits() <= head.width.bits(),
        }
    }

    /// Index in the list of candidates at which each bucket begins, followed by the end of the last bucket.
    pub const fn starts<const STARTS: usize>(&self, heads: &[RowHead]) -> [u16; STARTS] {
        let mut starts = [0u16; STARTS];
        let mut row = 0;
        while row < heads.len() {
            let mut bucket = Some(self.index_bits(heads[row].value));
            while let Some(at) = bucket {
                // Each count is one place further up, so that the sums below are the starts. An overflow is a build
                // error, because this runs at compile time.
                starts[at + 1] += 1;
                bucket = self.next_bucket(&heads[row], at);
            }
            row += 1;
        }
        // The counts become offsets: each bucket begins where the buckets before it end.
        let mut bucket = 1;
        while bucket < STARTS {
            starts[bucket] += starts[bucket - 1];
            bucket += 1;
        }
        starts
    }

    /// Candidate rows of all buckets, one bucket after the other. Within a bucket, the most specific mask comes
    /// first.
    pub const fn candidates<const STARTS: usize, const LENGTH: usize>(
        &self,
        heads: &[RowHead],
        starts: &[u16; STARTS],
    ) -> [u16; LENGTH] {
        let mut candidates = [0; LENGTH];
        // Each bucket has an end of its own, which moves as rows are added.
        let mut ends = *starts;
        let mut row = 0;
        while row < heads.len() {
            let size = heads[row].mask.count_ones();
            let mut bucket = Some(self.index_bits(heads[row].value));
            while let Some(at) = bucket {
                // After the rows whose masks are as large. Buckets are short, so rows are moved one by one.
                let mut to = ends[at] as usize;
                while to > starts[at] as usize
                    && heads[candidates[to - 1] as usize].mask.count_ones() < size
                {
                    candidates[to] = candidates[to - 1];
                    to -= 1;
                }
                candidates[to] = row as u16;
                ends[at] += 1;
                bucket = self.next_bucket(&heads[row], at);
            }
            row += 1;
        }
        candidates
    }

    /// Index bits of a mask or a value.
    const fn index_bits(&self, bits: u128) -> usize {
        let mut bucket = 0;
        let mut at = 0;
        while at < self.index.len() {
            let BitRange { hi, lo } = self.index[at];
            let width = hi - lo + 1;
            // The same order as in `EncodingWord::bucket`, which computes the bucket of a word.
            bucket = bucket << width | (bits >> lo) as usize & ((1 << width) - 1);
            at += 1;
        }
        bucket
    }

    /// Returns the next bucket, in ascending order, that a row can match. It enumerates all subsets of the bits that
    /// the row's mask leaves free. For example, free bits 101 give the subsets 000, 001, 100, 101.
    const fn next_bucket(&self, head: &RowHead, bucket: usize) -> Option<usize> {
        let free = !self.index_bits(head.mask) & (self.buckets() - 1);
        let subset = bucket & free;
        // All free bits are set, so this was the last bucket.
        if subset == free {
            return None;
        }
        // (s - m) & m is the next subset of m after s.
        Some(self.index_bits(head.value) | subset.wrapping_sub(free) & free)
    }
}
