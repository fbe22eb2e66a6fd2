//! Tables of a timed simulation: its counts as rows of the report.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use warpbound_ir::OpIndex;
use warpbound_machine::{MachineConfig, Parameter};
use warpbound_report::timed::{
    InstructionTime, LineTime, MemoryTraffic, Misses, SharedCount, SmReport, Stalls,
};
use warpbound_simulate::functional::Counts;
use warpbound_simulate::timed::StallCycles;

use super::cycle_statistics::{CycleStatistics, Traffic};
use super::names::{InstrNames, stalls};
use warpbound_query::Prepared;
use warpbound_query::listing::control_text;

/// Kinds of accesses in the order of [`CycleStatistics`].
const KINDS: [&str; 3] = ["load", "store", "atomic"];

/// Rows of a report.
pub(crate) struct Tables {
    pub(crate) warp_cycles: u64,
    pub(crate) stalls: Stalls,
    /// Transactions of shared memory by kind of access.
    pub(crate) shared_transactions: [u64; 3],
    pub(crate) shared: Vec<SharedCount>,
    pub(crate) memory: Vec<MemoryTraffic>,
    pub(crate) constant_misses: Misses,
    pub(crate) instruction_misses: Misses,
    pub(crate) lines: Vec<LineTime>,
    pub(crate) instructions: Vec<InstructionTime>,
    pub(crate) sms: Vec<SmReport>,
}

/// Returns `part / all`; 0 if `all` is 0.
pub(crate) fn ratio(part: u64, all: u64) -> f64 {
    match all {
        0 => 0.0,
        all => part as f64 / all as f64,
    }
}

/// Issues, and the cycles up to them by stall reason.
#[derive(Clone, Copy, Default)]
struct IssueTime {
    issues: u64,
    lanes: u64,
    waited: StallCycles,
}

impl IssueTime {
    fn add(&mut self, other: &IssueTime) {
        self.issues += other.issues;
        self.lanes += other.lanes;
        for (sum, cycles) in self.waited.iter_mut().zip(other.waited) {
            *sum += cycles;
        }
    }

    fn cycles(&self) -> u64 {
        self.waited.iter().sum()
    }
}

impl CycleStatistics {
    /// Builds the tables.
    pub(crate) fn tables(
        &self,
        prepared: &Prepared<'_>,
        names: &InstrNames,
        counts: &Counts,
        machine: &MachineConfig,
    ) -> Tables {
        let mut all = IssueTime::default();
        let mut instructions = Vec::new();
        let mut lines: BTreeMap<Option<&str>, IssueTime> = BTreeMap::new();
        for at in 0..prepared.code.ops.len() {
            let time = IssueTime {
                issues: counts.issues.get(at).copied().unwrap_or(0),
                lanes: counts.active.get(at).copied().unwrap_or(0),
                waited: self.stall_cycles.get(at).copied().unwrap_or_default(),
            };
            if time.issues == 0 {
                continue;
            }
            let name = names.at(OpIndex(at as u32));
            all.add(&time);
            lines.entry(name.source.as_deref()).or_default().add(&time);
            instructions.push(InstructionTime {
                address: name.address.clone(),
                text: name.text.clone(),
                control: control_text(&prepared.program, at),
                source: name.source.clone(),
                warp_instructions: time.issues,
                thread_instructions: time.lanes,
                warp_cycles: time.cycles(),
                stalls: stalls(&time.waited),
            });
        }
        // The sort is stable: instructions with equal cycles stay in order of address.
        instructions.sort_by_key(|at| Reverse(at.warp_cycles));
        // Without a line table, the only row would repeat the total.
        if lines.keys().all(Option::is_none) {
            lines.clear();
        }
        let line = |(source, time): (Option<&str>, IssueTime)| LineTime {
            source: source.map(str::to_owned),
            warp_instructions: time.issues,
            thread_instructions: time.lanes,
            warp_cycles: time.cycles(),
            stalls: stalls(&time.waited),
        };
        let mut lines: Vec<LineTime> = lines.into_iter().map(line).collect();
        lines.sort_by_key(|line| Reverse(line.warp_cycles));
        Tables {
            warp_cycles: all.cycles(),
            stalls: stalls(&all.waited),
            shared_transactions: self.shared.map(|shared| shared.transactions),
            shared: self.shared_rows(),
            memory: self.memory_rows(machine[Parameter::L2Sector]),
            constant_misses: self.constant_misses,
            instruction_misses: self.fetch_misses,
            lines,
            instructions,
            sms: self.sms(),
        }
    }

    fn shared_rows(&self) -> Vec<SharedCount> {
        let rows = KINDS.into_iter().zip(self.shared);
        rows.filter(|(_, shared)| shared.accesses > 0)
            .map(|(access, shared)| SharedCount {
                access,
                accesses: shared.accesses,
                transactions: shared.transactions,
                conflicts: shared.conflicts,
            })
            .collect()
    }

    /// Returns the rows of global and local memory; `sector` is the size of a sector in bytes.
    fn memory_rows(&self, sector: u64) -> Vec<MemoryTraffic> {
        let spaces = ["global", "local"].into_iter().zip(&self.memory);
        let rows = spaces.flat_map(|(space, kinds)| {
            let kinds = KINDS.into_iter().zip(kinds);
            kinds.map(move |(access, traffic)| (space, access, traffic))
        });
        rows.filter(|(_, _, traffic)| traffic.accesses > 0)
            .map(|(space, access, traffic)| row(space, access, traffic, sector))
            .collect()
    }
}

fn row(space: &'static str, access: &'static str, of: &Traffic, sector: u64) -> MemoryTraffic {
    // Without lookups there is no rate, which differs from a rate of 0.
    let rate = |hits, lookups| (lookups > 0).then(|| ratio(hits, lookups));
    MemoryTraffic {
        space,
        access,
        accesses: of.accesses,
        requests: of.requests,
        sectors: of.sectors,
        bytes: of.sectors.saturating_mul(sector),
        l1_lookups: of.l1_lookups,
        l1_hits: of.l1_hits,
        l1_hit_rate: rate(of.l1_hits, of.l1_lookups),
        l2_lookups: of.l2_lookups,
        l2_hits: of.l2_hits,
        l2_hit_rate: rate(of.l2_hits, of.l2_lookups),
        dram_sectors: of.dram,
        tlb_misses: of.tlb_misses,
    }
}
