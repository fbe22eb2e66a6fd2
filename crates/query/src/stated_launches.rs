//! Statements of the user about launches: a launch file, and ranges of sizes and parameters.
//!
//! For example, blocks of 64 to 256 threads and a parameter `n` of at most 1000: a result then holds for each such
//! launch.

use std::fmt;
use std::sync::Arc;

use warpbound_base::{Diagnostic, SizeLimits};
use warpbound_launch::LaunchFile;

/// Integers between two limits, both included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NumberRange {
    /// Lower limit.
    pub least: i128,
    /// Upper limit.
    pub most: i128,
}

impl NumberRange {
    /// Returns the range of one number.
    pub fn one(number: impl Into<i128>) -> NumberRange {
        let number = number.into();
        NumberRange {
            least: number,
            most: number,
        }
    }

    /// Returns the only number of the range, if it has one.
    pub fn only(self) -> Option<i128> {
        (self.least == self.most).then_some(self.least)
    }

    /// Whether all numbers of `other` are in the range.
    pub fn contains(self, other: NumberRange) -> bool {
        self.least <= other.least && other.most <= self.most
    }
}

impl fmt::Display for NumberRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.only() {
            Some(number) => write!(f, "{number}"),
            None => write!(f, "{}..{}", self.least, self.most),
        }
    }
}

/// Range of a parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StatedParam {
    /// Name in the launch file, or position (`2` or `p2`); with a byte offset in brackets, the word there: `table[4]`.
    pub name: String,
    /// Its values.
    pub range: NumberRange,
}

/// Statements of the user about the launches that a result is about. Stated sizes and parameters replace the ones of
/// the launch file.
#[derive(Clone, Default, Debug)]
pub struct StatedLaunches {
    /// Launch file.
    pub file: Option<Arc<LaunchFile>>,
    /// Threads of a block in x, y, z, unless they are one size ([`BoundOptions::block`](crate::BoundOptions)).
    pub block: Option<[NumberRange; 3]>,
    /// Blocks of the grid in x, y, z.
    pub grid: Option<[NumberRange; 3]>,
    /// Parameters.
    pub params: Vec<StatedParam>,
}

/// Maximum number of threads per block (CUDA C++ Programming Guide, compute capabilities), which is the limit of AMD's
/// GPUs as well ([`SizeLimits::HSA`]).
const MAX_THREADS: i128 = 1024;

impl StatedLaunches {
    /// States that each launch is the one of a file, with the values of its parameters that the file states.
    pub fn one(launch: &LaunchFile) -> StatedLaunches {
        StatedLaunches {
            file: Some(launch.as_one().into()),
            ..StatedLaunches::default()
        }
    }

    /// Returns the launch file if nothing else is stated and none of its parameters varies: then the result is about
    /// one launch.
    pub fn only_file(&self) -> Option<&LaunchFile> {
        let is_all = self.block.is_none() && self.grid.is_none() && self.params.is_empty();
        let file = self.file.as_deref().filter(|_| is_all);
        file.filter(|file| !file.varies())
    }

    /// Returns the launch file if it states block, grid and buffers of all launches; parameters may differ.
    pub fn shaped_file(&self) -> Option<&LaunchFile> {
        let has_shape = self.block.is_none() && self.grid.is_none();
        self.file.as_deref().filter(|_| has_shape)
    }

    /// Whether nothing is stated.
    pub fn is_empty(&self) -> bool {
        // Destructured, so that a new field cannot be forgotten here.
        let StatedLaunches {
            file,
            block,
            grid,
            params,
        } = self;
        file.is_none() && block.is_none() && grid.is_none() && params.is_empty()
    }

    /// Checks that no range is empty and that sizes are within the limits of the machines.
    ///
    /// # Errors
    ///
    /// A statement violates this; the diagnostic names the first.
    pub fn check(&self, limits: SizeLimits) -> Result<(), Diagnostic> {
        let fail = |message: String| Err(Diagnostic::new(message));
        let sizes = [
            ("--block", self.block, limits.block),
            ("--grid", self.grid, limits.grid),
        ];
        for (option, size, limits) in sizes {
            for (range, most) in size.iter().flatten().zip(limits) {
                let outside = [range.least, range.most]
                    .into_iter()
                    .find(|size| !(1..=i128::from(most)).contains(size));
                if let Some(size) = outside {
                    return fail(format!("{option}: {size} is not between 1 and {most}"));
                }
                if range.least > range.most {
                    return fail(format!("{option}: the range {range} is empty"));
                }
            }
        }
        // Only the smallest block of the range has to be possible, because larger products are of no launch.
        if let Some(block) = self.block
            && block.iter().map(|range| range.least).product::<i128>() > MAX_THREADS
        {
            let message = format!("--block: a block has at most {MAX_THREADS} threads");
            return fail(message);
        }
        match self.params.iter().find(|p| p.range.least > p.range.most) {
            Some(StatedParam { name, range }) => {
                fail(format!("--param {name}: the range {range} is empty"))
            }
            None => Ok(()),
        }
    }
}
