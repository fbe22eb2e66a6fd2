//! Launches that a result is about, as ranges: sizes of block and grid, and words of the constant banks that the launch
//! fills.

use std::collections::BTreeMap;

use warpbound_isa::Axis;

/// Set of 32-bit words: those congruent modulo 2³² to a number between two limits that has a given residue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WordRange {
    /// Least number, at least -2³¹.
    pub least: i64,
    /// Greatest number, at least `least` and below 2³².
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
    /// Possible contents; `None` if the user says nothing of them.
    pub range: Option<WordRange>,
}

/// Knowledge about the launches that a result is about.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LaunchRanges {
    /// Threads of a block in x, y, z; `None` if nothing is known.
    pub block: [Option<WordRange>; 3],
    /// Blocks of the grid in x, y, z.
    pub grid: [Option<WordRange>; 3],
    /// Words of constant banks by bank and byte offset; any other word of a bank that the binary does not fix is
    /// unknown and equal in all threads.
    pub words: BTreeMap<(u8, u32), LaunchWord>,
    /// Whether the numbers are those of one launch (a launch file), not of a range that the user states.
    pub is_one_launch: bool,
}

impl LaunchRanges {
    /// Most threads of a block in one direction (CUDA C++ Programming Guide, compute capabilities).
    pub fn most_threads(&self, axis: Axis) -> u32 {
        let (at, limit) = match axis {
            Axis::X => (0, 1024),
            Axis::Y => (1, 1024),
            Axis::Z => (2, 64),
        };
        most(self.block[at], limit)
    }

    /// Most blocks of a grid in one direction (CUDA C++ Programming Guide, compute capabilities).
    pub fn most_blocks(&self, axis: Axis) -> u32 {
        let (at, limit) = match axis {
            Axis::X => (0, i32::MAX as u32),
            Axis::Y => (1, u16::MAX.into()),
            Axis::Z => (2, u16::MAX.into()),
        };
        most(self.grid[at], limit)
    }
}

/// Greatest number of a range of sizes, at most `limit`.
fn most(range: Option<WordRange>, limit: u32) -> u32 {
    let stated = range.and_then(|range| u32::try_from(range.most).ok());
    stated.map_or(limit, |stated| stated.clamp(1, limit))
}
