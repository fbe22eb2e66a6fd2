//! Launches that a result is about, as ranges: sizes of block and grid, and words of the constant banks that the launch
//! fills.

use std::collections::BTreeMap;

use warpbound_base::SizeLimits;
use warpbound_ir::Width;
use warpbound_isa::Axis;

/// Set of 32-bit words: all words congruent modulo 2³² to a number between two limits that has a given remainder. For
/// example, the limits 0 and 10 with the remainder 2 modulo 4 give the words 2, 6 and 10.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WordRange {
    /// Lower limit, at least -2³¹.
    pub least: i64,
    /// Upper limit, at least `least` and below 2³².
    pub most: i64,
    /// Power of two, at least 1: all words have the same remainder modulo it.
    pub modulus: u32,
    /// That remainder.
    pub residue: u32,
}

impl WordRange {
    /// All words.
    pub const ANY: WordRange = WordRange {
        least: 0,
        most: u32::MAX as i64,
        modulus: 1,
        residue: 0,
    };

    /// One word.
    pub fn one(word: u32) -> WordRange {
        WordRange::between(word.into(), word.into())
    }

    /// The words of the numbers between two limits, which are exchanged if they are in the wrong order.
    pub fn between(least: i64, most: i64) -> WordRange {
        WordRange {
            least: least.min(most),
            most: least.max(most),
            modulus: 1,
            residue: 0,
        }
    }

    /// The only word of the set, if it has one.
    pub fn only(self) -> Option<u32> {
        // Numbers of both signs below 2³² are words by their low 32 bits.
        (self.least == self.most).then_some(self.least as u32)
    }
}

/// Word of a constant bank that the launch fills.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaunchWord {
    /// Name in reports: `n`, `data`, `blockDim.x`; with `.high` the upper half of a number of 64 bits.
    pub name: String,
    /// Possible contents; `None` if the user states nothing about them.
    pub range: Option<WordRange>,
}

/// Word of a constant bank that several small numbers share.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SplitWord {
    /// The known bytes; the other bytes are 0.
    pub known: u32,
    /// The other bytes: for each number its lowest bit in the word, and its address in [`LaunchRanges::PART_BANK`],
    /// under which [`LaunchRanges::words`] has its range.
    pub parts: Vec<(u32, u32)>,
}

/// Range of the integers in a buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StatedData {
    /// Name of the buffer.
    pub name: String,
    /// Bytes of a number: 1, 2 or 4.
    pub bytes: u8,
    /// Lower limit of the numbers.
    pub least: i64,
    /// Upper limit of the numbers, at least `least`.
    pub most: i64,
}

impl StatedData {
    /// Limits of the numbers that a load of this width finds in each of its words; `None` if it does not load whole
    /// numbers, or reads their sign differently.
    pub(crate) fn loaded(&self, width: Width) -> Option<(i64, i64)> {
        let (bytes, limits) = match width {
            Width::U8 => (1, (0, i64::from(u8::MAX))),
            Width::S8 => (1, (i8::MIN.into(), i8::MAX.into())),
            Width::U16 => (2, (0, u16::MAX.into())),
            Width::S16 => (2, (i16::MIN.into(), i16::MAX.into())),
            // A word has no sign until it is read as a number.
            Width::Words => (4, (i32::MIN.into(), u32::MAX.into())),
        };
        // Otherwise the load reads some numbers of the range with another sign.
        let is_within = limits.0 <= self.least && self.most <= limits.1;
        (self.bytes == bytes && is_within).then_some((self.least, self.most))
    }
}

/// Knowledge about the launches that a result is about.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LaunchRanges {
    /// Threads of a block in x, y, z; `None` if nothing is known.
    pub block: [Option<WordRange>; 3],
    /// Blocks of the grid in x, y, z.
    pub grid: [Option<WordRange>; 3],
    /// Limits of the sizes in every launch.
    pub limits: SizeLimits,
    /// Words of constant banks by bank and byte offset; any other word of a bank that the binary does not fix is
    /// unknown and equal in all threads.
    pub words: BTreeMap<(u8, u32), LaunchWord>,
    /// Words of constant banks that consist of several numbers, by bank and byte offset: parameters of 1 and 2 bytes.
    pub split: BTreeMap<(u8, u32), SplitWord>,
    /// Words of constant banks that are the addresses of buffers, their lower halves, by bank and byte offset; with
    /// the range of the numbers in the buffer, if it is stated.
    pub data: BTreeMap<(u8, u32), Option<StatedData>>,
    /// Whether the numbers describe one launch (a launch file), not a range that the user states.
    pub is_one_launch: bool,
}

impl LaunchRanges {
    /// Artificial constant bank, above the banks of [`Code`](warpbound_ir::Code), with the numbers that share a word.
    pub const PART_BANK: u8 = 64;

    /// The names of the words without what is stated about them.
    #[must_use]
    pub fn without_statements(&self) -> LaunchRanges {
        let words = self.words.iter().map(|(key, word)| {
            let name = word.name.clone();
            (*key, LaunchWord { name, range: None })
        });
        LaunchRanges {
            words: words.collect(),
            limits: self.limits,
            ..LaunchRanges::default()
        }
    }

    /// Maximum number of threads of a block in one direction.
    pub fn most_threads(&self, axis: Axis) -> u32 {
        let at = usize::from(axis.index());
        most(self.block[at], self.limits.block[at])
    }

    /// Maximum number of blocks of a grid in one direction.
    pub fn most_blocks(&self, axis: Axis) -> u32 {
        let at = usize::from(axis.index());
        most(self.grid[at], self.limits.grid[at])
    }
}

/// Upper limit of a range of sizes, at most `limit`.
fn most(range: Option<WordRange>, limit: u32) -> u32 {
    let stated = range.and_then(|range| u32::try_from(range.most).ok());
    // No launch has a size of 0 or above the limit, whatever is stated.
    stated.map_or(limit, |stated| stated.clamp(1, limit))
}
