//! Numbers of one execution of an access by a warp.

#[cfg(doc)]
use super::units::{BankRule, MemoryUnits};

/// Numbers of one execution of an access by a warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AccessCounts {
    /// Requests. Global and local memory: groups of consecutive lanes ([`MemoryUnits::requests`]). Shared
    /// memory: pools of lanes, or groups of lanes for each word of the access.
    pub requests: u32,
    /// Global and local memory: lines, counted separately for each request. Shared memory: accesses to the banks of
    /// words. Constants: distinct words.
    pub transactions: u32,
    /// Sectors of global and local memory, counted separately for each request.
    pub sectors: u32,
    /// Distinct lines of global and local memory.
    pub lines: u32,
    /// Transactions of shared memory due to bank conflicts, with banks of words.
    pub conflicts: u32,
    /// The same with banks of bytes, which some machines may have ([`BankRule::Groups`]).
    pub byte_conflicts: u32,
}

impl AccessCounts {
    /// Combines two records number by number.
    fn zip(self, other: AccessCounts, with: impl Fn(u32, u32) -> u32) -> AccessCounts {
        let (own, other) = (self.numbers(), other.numbers());
        AccessCounts::of_numbers(std::array::from_fn(|n| with(own[n], other[n])))
    }

    /// Returns all numbers, in the order of the fields.
    pub fn numbers(self) -> [u32; 6] {
        let AccessCounts {
            requests,
            transactions,
            sectors,
            lines,
            conflicts,
            byte_conflicts,
        } = self;
        [
            requests,
            transactions,
            sectors,
            lines,
            conflicts,
            byte_conflicts,
        ]
    }

    /// The record with these numbers, in the order of the fields.
    pub fn of_numbers(numbers: [u32; 6]) -> AccessCounts {
        let [
            requests,
            transactions,
            sectors,
            lines,
            conflicts,
            byte_conflicts,
        ] = numbers;
        AccessCounts {
            requests,
            transactions,
            sectors,
            lines,
            conflicts,
            byte_conflicts,
        }
    }

    /// Returns the greater of each pair of numbers.
    #[must_use]
    pub fn max(self, other: AccessCounts) -> AccessCounts {
        self.zip(other, u32::max)
    }

    /// Returns the smaller of each pair of numbers.
    #[must_use]
    pub fn min(self, other: AccessCounts) -> AccessCounts {
        self.zip(other, u32::min)
    }

    /// Whether no number exceeds the same number of another record.
    pub fn is_within(self, limits: AccessCounts) -> bool {
        self.max(limits) == limits
    }
}
