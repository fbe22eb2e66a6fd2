//! Decoding index over `maxwell.forms`, built at compile time: building it at run time would take a good part of the
//! time of a short listing.
//!
//! Words are bucketed by their top 13 bits; a bucket lists the rows that can match such a word, in order of decreasing
//! mask size, so that the first match is the most specific row.

use super::arch::{Arch, Archs};
use super::span::{Lines, Span};

static FORMS: &str = include_str!("../../../../isa/nvidia/maxwell.forms");

/// Number of top bits of a word that select its bucket.
const INDEX_BITS: u32 = 13;

/// Number of rows.
pub(crate) const ROWS: usize = count();

/// First columns of all rows, in the order of the file.
pub(crate) static HEADS: [Head; ROWS] = heads();

/// First column of a row (mask, value, architectures), and the spans of the timing column and the whole line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) mask: u64,
    pub(crate) value: u64,
    pub(crate) archs: Archs,
    timing: Span,
    line: Span,
}

impl Head {
    /// Text of the whole row.
    pub(crate) fn line(&self) -> &'static str {
        self.line.text(FORMS)
    }

    /// Text of the timing column.
    pub(crate) fn timing(&self) -> &'static str {
        self.timing.text(FORMS)
    }

    /// Parses `value/mask archs timing` before the first bar.
    const fn parse(line: Span) -> Option<Head> {
        let (column, _) = line.split(FORMS, b'|');
        let (bits, rest) = column.word(FORMS);
        let (archs, rest) = rest.word(FORMS);
        let (timing, rest) = rest.word(FORMS);
        let (value, mask) = bits.split(FORMS, b'/');
        let (Some(value), Some(mask)) = (value.number(FORMS, 16), mask.number(FORMS, 16)) else {
            return None;
        };
        let Some(archs) = Archs::parse(FORMS, archs) else {
            return None;
        };
        if value & !mask != 0 || timing.is_blank(FORMS) || !rest.is_blank(FORMS) {
            return None;
        }
        Some(Head {
            mask,
            value,
            archs,
            timing,
            line,
        })
    }
}

const fn count() -> usize {
    let mut lines = Lines::new(FORMS);
    let mut count = 0;
    while lines.next().is_some() {
        count += 1;
    }
    // Rows are numbered in 16 bits.
    assert!(count <= u16::MAX as usize, "maxwell.forms: too many rows");
    count
}

const fn heads() -> [Head; ROWS] {
    let mut heads = [Head {
        mask: 0,
        value: 0,
        archs: Archs::ALL,
        timing: Span::EMPTY,
        line: Span::EMPTY,
    }; ROWS];
    let mut lines = Lines::new(FORMS);
    let mut at = 0;
    while let Some(line) = lines.next() {
        let head = Head::parse(line);
        assert!(head.is_some(), "{}", line.text(FORMS));
        if let Some(head) = head {
            heads[at] = head;
        }
        at += 1;
    }
    heads
}

/// Candidate rows of all buckets, one bucket after the other, within a bucket the most specific mask first.
static CANDIDATES: [u16; LENGTH] = candidates();

/// Index in [`CANDIDATES`] at which each bucket begins, and the end of the last.
static STARTS: [u16; BUCKETS + 1] = starts();

const BUCKETS: usize = 1 << INDEX_BITS;
const LENGTH: usize = STARTS[BUCKETS] as usize;

/// Finds the row that matches a word on an architecture: among all matches, the one with the most specific mask.
pub(crate) fn find(arch: Arch, word: u64) -> Option<u16> {
    let bucket = (word >> (64 - INDEX_BITS)) as usize;
    let range = match STARTS.get(bucket..) {
        Some([start, end, ..]) => usize::from(*start)..usize::from(*end),
        _ => return None,
    };
    let mut rows = CANDIDATES.get(range)?.iter().copied();
    rows.find(|&row| {
        HEADS
            .get(usize::from(row))
            .is_some_and(|head| word & head.mask == head.value && head.archs.has(arch))
    })
}

/// Bits of a row's mask or value that select a bucket.
const fn bucket_bits(bits: u64) -> usize {
    (bits >> (64 - INDEX_BITS)) as usize
}

/// Returns the next bucket, in ascending order, that a row can match: enumerates all subsets of the bits that the
/// row's mask leaves free.
const fn next_bucket(head: &Head, bucket: usize) -> Option<usize> {
    let free = !bucket_bits(head.mask) & (BUCKETS - 1);
    let subset = bucket & free;
    if subset == free {
        return None;
    }
    // (s - m) & m is the next subset of m after s.
    Some(bucket_bits(head.value) | subset.wrapping_sub(free) & free)
}

const fn starts() -> [u16; BUCKETS + 1] {
    let mut starts = [0u16; BUCKETS + 1];
    let mut row = 0;
    while row < ROWS {
        let mut bucket = Some(bucket_bits(HEADS[row].value));
        while let Some(at) = bucket {
            starts[at + 1] += 1;
            bucket = next_bucket(&HEADS[row], at);
        }
        row += 1;
    }
    let mut bucket = 0;
    while bucket < BUCKETS {
        starts[bucket + 1] += starts[bucket];
        bucket += 1;
    }
    starts
}

const fn candidates() -> [u16; LENGTH] {
    let mut candidates = [0; LENGTH];
    let mut free = STARTS;
    // One pass per mask size, largest first: `const fn` cannot sort by key.
    let mut bits = 65;
    while bits > 0 {
        bits -= 1;
        let mut row = 0;
        while row < ROWS {
            if HEADS[row].mask.count_ones() == bits {
                let mut bucket = Some(bucket_bits(HEADS[row].value));
                while let Some(at) = bucket {
                    candidates[free[at] as usize] = row as u16;
                    free[at] += 1;
                    bucket = next_bucket(&HEADS[row], at);
                }
            }
            row += 1;
        }
    }
    candidates
}
