//! Waits of memory accesses for translations, and for sectors that are missing in the L2 cache. For example, if the launch has
//! one page whose table has to be walked, only the first access waits for the walk.

use warpbound_ir::OpIndex;
use warpbound_isa::instr::MemorySpace;
use warpbound_machine::Parameter;

use super::{Builder, cycles};
use crate::account::Term;
use crate::code::TimedCode;
use crate::kernel::{KeepingCache, OnceCost};
use crate::memory::times::MemoryTimes;
use crate::memory::{AccessLimits, AccessWaits, SpaceLimits};
use crate::numbers::MachineNumbers;

impl Builder<'_> {
    /// Translations that are counted.
    pub(super) fn translations(
        &self,
        numbers: &MachineNumbers,
        memory: &MemoryTimes,
    ) -> Vec<OnceCost> {
        let mut costs = Vec::new();
        let first_level = numbers.milli(Parameter::TlbL1Miss);
        if let Some(leads) = self.leads.filter(|_| self.pages_of_sm) {
            // The page is translated once, by any access: all wait within the time of that translation.
            let of_all = |each: i64, most: u64| OnceCost {
                cycles: cycles(each + leads.accesses),
                most,
                nodes: Vec::new(),
                term: Term::Translation,
            };
            let pages = self.kernel.translations.iter();
            let all = pages.flat_map(|pages| {
                [
                    of_all(memory.walk(), pages.walks),
                    of_all(first_level, pages.first_level),
                ]
            });
            return all.filter(|cost| cost.most > 0).collect();
        }
        for (space, pages) in self.kernel.translations.iter().enumerate() {
            let counted = [
                (memory.walk(), pages.walks, &self.walks_counted[space]),
                (first_level, pages.first_level, &self.translated[space]),
            ];
            for (each, most, nodes) in counted {
                if most > 0 && !nodes.is_empty() {
                    costs.push(OnceCost {
                        cycles: cycles(each),
                        most,
                        nodes: nodes.iter().map(|(&node, &times)| (node, times)).collect(),
                        term: Term::Translation,
                    });
                }
            }
        }
        costs
    }

    /// Sectors that are missing in the L2 cache and counted; for a warp among others, the accesses that wait for
    /// missing sectors.
    pub(super) fn missing_sectors(&self, memory: &MemoryTimes) -> Option<OnceCost> {
        let counted = self.kernel.counted_sectors?;
        let nodes = self.misses_counted.iter();
        let mut spaces = self
            .kernel
            .accesses
            .values()
            .flat_map(|limits| &limits.spaces);
        let may_miss = spaces.any(|limit| limit.space == MemorySpace::Global && limit.may_miss);
        let latency = memory.beyond(counted.cache, may_miss);
        let each = match (self.leads, self.counts_accesses()) {
            (None, _) => latency + memory.sector_of_dram(may_miss),
            (Some(leads), false) => latency + memory.sector_of_dram(may_miss) + leads.accesses,
            (Some(leads), true) => latency + leads.accesses,
        };
        Some(OnceCost {
            cycles: cycles(each),
            most: counted.most,
            nodes: nodes.map(|(&node, &times)| (node, times)).collect(),
            term: Term::GlobalMemory,
        })
    }

    /// Whether an access that waits for missing sectors counts once, for any number of sectors. A warp among others
    /// has the services of DRAM for all warps, so only the latency is counted. A wave has its own services in its
    /// path.
    fn counts_accesses(&self) -> bool {
        self.leads.is_some() && matches!(self.kernel.facts, TimedCode::Warps(_))
    }

    /// Space whose only page with a table to walk an access certainly translates.
    pub(super) fn translates(&self, limits: &AccessLimits) -> Option<usize> {
        let [limit] = &*limits.spaces else {
            return None;
        };
        let space = space_number(limit.space)?;
        (limits.always && self.kernel.translations[space].walks <= 1).then_some(space)
    }

    /// Returns the waits of a memory access, and counts what its node may pay a limited number of times.
    pub(super) fn access(
        &mut self,
        node: usize,
        op: OpIndex,
        once: bool,
        translated: &mut [bool; 2],
    ) -> AccessWaits {
        let mut waits = AccessWaits::default();
        let Some(limits) = self.kernel.accesses.get(&op) else {
            return waits;
        };
        let counted = self.kernel.counted_sectors.filter(|_| !once);
        if let Some(counted) = counted {
            let mut spaces = limits.spaces.iter();
            let is_counted = |limit: &SpaceLimits| match counted.cache {
                KeepingCache::L1 => limit.stays_in_l1,
                KeepingCache::L2 => limit.may_miss,
            };
            let missing =
                spaces.find(|limit| space_number(limit.space) == Some(0) && is_counted(limit));
            // The L2 cache also decides how long stores wait for sectors on their way.
            let is_of_l2 = counted.cache == KeepingCache::L2;
            waits.counts_misses = (is_of_l2 || missing.is_some()).then_some(counted.cache);
            if let Some(limit) = missing {
                let times = match self.counts_accesses() {
                    true => 1,
                    false => u64::from(limit.sectors),
                };
                *self.misses_counted.entry(node).or_default() += times;
            }
        }
        // The SM pays for every translation, so no single access waits for one.
        if self.pages_of_sm {
            return waits;
        }
        for limit in &limits.spaces {
            let Some(space) = space_number(limit.space) else {
                continue;
            };
            // Each line may be in another page.
            let lines = u64::from(limit.lines);
            if !limit.may_walk {
                *self.translated[space].entry(node).or_default() += lines;
            }
            if !limit.may_walk && !translated[space] {
                match self.walk_at[space] == Some(op) {
                    true => waits.walks[space] = once,
                    false => *self.walks_counted[space].entry(node).or_default() += lines,
                }
            }
            // Once an access has certainly translated the only page, later ones find it in flight or present.
            translated[space] |= self.translates(limits) == Some(space);
        }
        waits
    }
}

/// Number of a space whose addresses are translated.
pub(super) fn space_number(space: MemorySpace) -> Option<usize> {
    match space {
        MemorySpace::Global => Some(0),
        MemorySpace::Local => Some(1),
        _ => None,
    }
}
