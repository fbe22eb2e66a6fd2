//! Numbers of accesses that a user states (SOUNDNESS 5.13).

use warpbound_isa::instr::MemorySpace;

use super::numbers::AccessCounts;
use super::units::{BankRule, MemoryUnits};
use super::{AccessClass, AccessPattern};

/// Stated numbers of each execution of an access by a warp; `None` where nothing is stated.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct StatedAccess {
    /// Upper bound on the sectors, counted separately for each request.
    pub sectors: Option<u32>,
    /// Upper bound on the distinct lines.
    pub lines: Option<u32>,
    /// Upper bound on the transactions due to bank conflicts, by words and by bytes.
    pub conflicts: Option<u32>,
    /// Memory space that all lanes access.
    pub space: Option<MemorySpace>,
}

impl StatedAccess {
    /// Returns the counts of the lanes that access one space, lowered to the stated numbers and to their
    /// consequences.
    fn limit(&self, units: &MemoryUnits, space: MemorySpace, counts: AccessCounts) -> AccessCounts {
        let mut limit = counts;
        let lower = |number: &mut u32, stated: Option<u32>| {
            *number = stated.map_or(*number, |stated| stated.min(*number));
        };
        match space {
            MemorySpace::Shared => {
                lower(&mut limit.conflicts, self.conflicts);
                lower(&mut limit.byte_conflicts, self.conflicts);
                if let BankRule::Pools(_) | BankRule::ActivePools(_) = units.banks {
                    let transactions = counts.requests.saturating_add(limit.conflicts);
                    limit.transactions = limit.transactions.min(transactions);
                }
            }
            MemorySpace::Global | MemorySpace::Local => {
                lower(&mut limit.sectors, self.sectors);
                lower(&mut limit.lines, self.lines);
                // A request touches at most all lines of the access, and each with all its sectors. A line that is
                // accessed has at least one accessed sector.
                let per_line = (units.line_bytes / units.sector_bytes.max(1)).max(1);
                let per_line = u32::try_from(per_line).unwrap_or(u32::MAX);
                let of_requests = limit.lines.saturating_mul(counts.requests);
                limit.transactions = limit.transactions.min(of_requests);
                limit.sectors = limit
                    .sectors
                    .min(limit.transactions.saturating_mul(per_line));
                limit.transactions = limit.transactions.min(limit.sectors);
                limit.lines = limit.lines.min(limit.transactions);
            }
            _ => {}
        }
        limit
    }
}

impl AccessClass {
    /// Lowers the counts to the numbers that a user states for each execution.
    pub fn state(&mut self, units: &MemoryUnits, stated: &StatedAccess) {
        let before = self.limits.clone();
        if let Some(space) = stated.space {
            // All lanes of a generic access are in the stated space, so the others have none.
            self.limits.retain(|(other, _)| *other == space);
        }
        for (space, counts) in &mut self.limits {
            *counts = stated.limit(units, *space, *counts);
        }
        if self.limits != before {
            self.pattern = AccessPattern::Stated;
            self.is_exact = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;
    use crate::access::{AccessMode, CountedForm, count};

    /// Counts of lanes with these addresses stay within the limits that a fact about them makes of any class.
    fn check(units: &MemoryUnits, space: MemorySpace, random: &mut Rng) {
        let bytes = *random.choice(&[1, 2, 4, 8, 16]).unwrap_or(&4);
        let form = CountedForm {
            bytes,
            align: bytes,
            mode: AccessMode::Plain,
        };
        let spread = 1 << random.u32(0..14);
        let lane = |random: &mut Rng| {
            let address = random.u64(0..spread) * u64::from(bytes);
            random.bool().then_some(address)
        };
        let addresses: Vec<Option<u64>> = (0..units.lanes).map(|_| lane(random)).collect();
        let counts = count::count(units, space, &form, &addresses);
        let worst = AccessCounts {
            requests: counts.requests + random.u32(0..3),
            transactions: 512,
            sectors: 512,
            lines: 512,
            conflicts: 512,
            byte_conflicts: 512,
        };
        let mut one = |number: u32| random.bool().then_some(number);
        let stated = StatedAccess {
            sectors: one(counts.sectors),
            lines: one(counts.lines),
            conflicts: one(counts.conflicts.max(counts.byte_conflicts)),
            space: None,
        };
        let limit = stated.limit(units, space, worst);
        assert!(
            counts.is_within(limit),
            "{space:?}: {counts:?} of {addresses:?}, {stated:?}: {limit:?}"
        );
    }

    #[test]
    fn stated_numbers_admit_the_executions_that_have_them() {
        let mut random = Rng::with_seed(7);
        for units in [MemoryUnits::NVIDIA, MemoryUnits::GCN3] {
            for space in [MemorySpace::Global, MemorySpace::Local, MemorySpace::Shared] {
                for _ in 0..2000 {
                    check(&units, space, &mut random);
                }
            }
        }
    }
}
