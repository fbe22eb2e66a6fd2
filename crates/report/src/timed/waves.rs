//! Parts of timed reports for machines with waves only: units of a compute unit, lanes, and splits of waves.

use std::cmp::Reverse;

use serde::Serialize;

use crate::numbers::{hit_rate, share};
use crate::table::{Align, counted, section};

use Align::{Left, Right};

/// Maximum number of sites in the text. The sites with the most splits are shown.
const MAX_SITES: usize = 25;

/// Work of the units in the compute units, and splits of waves.
#[derive(Clone, Debug, Serialize)]
pub struct WaveReport {
    /// Busy cycles of units.
    pub units: Vec<UnitTime>,
    /// Use of the lanes of the vector ALUs.
    pub lane_cycles: LaneCycles,
    /// Accesses to scalar memory.
    pub scalar_memory: ScalarMemoryCount,
    /// Splits of waves; absent if waves do not split.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub splitting: Option<SplittingReport>,
}

/// Busy cycles of a kind of unit, summed over all compute units.
#[derive(Clone, Debug, Serialize)]
pub struct UnitTime {
    /// `vector ALU`, `scalar ALU`, `branch`, `vector memory`, `LDS unit` or `scalar memory`.
    pub unit: &'static str,
    /// Issued wave instructions.
    pub wave_instructions: u64,
    /// Cycles for which these instructions occupy their units.
    pub busy_cycles: u64,
    /// Cycles of all units of the kind while their compute unit held blocks.
    pub offered_cycles: u64,
}

/// Use of the lanes of the vector ALUs. A lane-cycle is one cycle of one lane of a vector ALU.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LaneCycles {
    /// Lane-cycles of active lanes.
    pub used: u64,
    /// Lane-cycles of all vector pipelines, including the pipelines of splits, while their compute unit held blocks.
    pub offered: u64,
}

/// Accesses to scalar memory.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct ScalarMemoryCount {
    /// Wave instructions.
    pub accesses: u64,
    /// Number of lines of the scalar cache that the accesses need.
    pub lines: u64,
    /// Lines that hit in the scalar cache.
    pub hits: u64,
    /// Lines that missed the scalar cache and hit in the L2 cache.
    pub l2_hits: u64,
}

/// Splits of waves in a run.
#[derive(Clone, Debug, Serialize)]
pub struct SplittingReport {
    /// Number of reserve slots of a launch wave.
    pub splits: u32,
    /// `parallel` or `serialised`.
    pub pipelines: &'static str,
    /// Branches at which waves split: `all` sites, sites that find their bit of `mode` set, or sites in a `file`.
    pub marks: &'static str,
    /// `join`, or `none`.
    pub merge: &'static str,
    /// Number of splits.
    pub taken: u64,
    /// Refused splits, by reason.
    pub refused: RefusedSplits,
    /// Number of merges.
    pub merges: u64,
    /// Maximum number of live splits of a launch wave.
    pub most_live: u64,
    /// Average number of splits on a compute unit, without launch waves, over the cycles when it held blocks.
    pub resident: f64,
    /// Branches at which waves could split, in order of address.
    pub sites: Vec<SplitCount>,
    /// Branches on EXEC where no wave may split, with the reasons.
    pub refused_sites: Vec<RefusedSite>,
}

/// Number of refused splits, by reason.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct RefusedSplits {
    /// All reserve slots of the launch wave were in use.
    pub no_slot: u64,
    /// The SIMD had no free registers.
    pub no_registers: u64,
}

/// Splits at a branch.
#[derive(Clone, Debug, Serialize)]
pub struct SplitCount {
    /// Address of the branch.
    pub address: String,
    /// `file:line`, if the file has a line table.
    pub source: Option<String>,
    /// Address before which the splits of this branch may merge; `None` if they do not merge.
    pub merge_point: Option<String>,
    /// Number of times that waves issued the branch. A wave that splits there counts twice.
    pub wave_instructions: u64,
    /// Number of splits.
    pub taken: u64,
    /// Refused splits, by reason.
    pub refused: RefusedSplits,
    /// Number of merges at the merge point.
    pub merges: u64,
}

/// Branch where no wave may split.
#[derive(Clone, Debug, Serialize)]
pub struct RefusedSite {
    /// Address of the branch.
    pub address: String,
    /// Reasons, each with the address that it concerns.
    pub reasons: Vec<String>,
}

impl WaveReport {
    /// Appends the tables of units and splits.
    pub(crate) fn write(&self, out: &mut String, with_refusals: bool) {
        let scalar = self.scalar_memory;
        let rows = (scalar.accesses > 0).then(|| {
            // Only lines that missed the scalar cache were looked up in L2.
            let missed = scalar.lines - scalar.hits.min(scalar.lines);
            vec![
                "scalar".to_owned(),
                scalar.accesses.to_string(),
                scalar.lines.to_string(),
                hit_rate(scalar.hits, scalar.lines),
                hit_rate(scalar.l2_hits, missed),
            ]
        });
        let head = vec![
            "memory",
            "accesses",
            "lines",
            "scalar cache hits",
            "L2 hits",
        ];
        section(
            out,
            &[Left, Right, Right, Right, Right],
            head,
            rows.into_iter(),
        );
        let rows = self.units.iter().map(|unit| {
            vec![
                unit.unit.to_owned(),
                unit.wave_instructions.to_string(),
                unit.busy_cycles.to_string(),
                share(unit.busy_cycles, unit.offered_cycles),
            ]
        });
        let head = vec!["unit", "wave instructions", "busy cycles", "of its time"];
        section(out, &[Left, Right, Right, Right], head, rows);
        let LaneCycles { used, offered } = self.lane_cycles;
        out.push_str(&format!(
            "\n    vector lanes: {used} lane-cycles used of {offered} offered ({})\n",
            share(used, offered)
        ));
        if let Some(splitting) = &self.splitting {
            splitting.write(out, with_refusals);
        }
    }
}

impl SplittingReport {
    fn write(&self, out: &mut String, with_refusals: bool) {
        out.push_str(&format!(
            "\n    splitting: {}, {} pipelines, marks {}, merge {}\n",
            counted(self.splits as usize, "reserve slot"),
            self.pipelines,
            self.marks,
            self.merge
        ));
        out.push_str(&format!(
            "    {}, {}; not taken: {} for lack of a slot, {} for lack of registers\n",
            counted(self.taken as usize, "split"),
            counted(self.merges as usize, "merge"),
            self.refused.no_slot,
            self.refused.no_registers
        ));
        out.push_str(&format!(
            "    at most {} of a wave at once, {:.1} on a compute unit on average\n",
            counted(self.most_live as usize, "split"),
            self.resident
        ));
        let refused = |site: &SplitCount| site.refused.no_slot + site.refused.no_registers;
        let mut used: Vec<&SplitCount> = self.sites.iter().collect();
        used.retain(|site| site.taken + refused(site) > 0);
        let unused = self.sites.len() - used.len();
        // The sort is stable, so sites with equally many splits stay in order of address.
        used.sort_by_key(|site| Reverse((site.taken, refused(site))));
        let more = used.len().saturating_sub(MAX_SITES);
        let rows = used.iter().take(MAX_SITES).map(|site| {
            vec![
                site.address.clone(),
                site.source.clone().unwrap_or_default(),
                site.merge_point.clone().unwrap_or_default(),
                site.wave_instructions.to_string(),
                site.taken.to_string(),
                site.refused.no_slot.to_string(),
                site.refused.no_registers.to_string(),
                site.merges.to_string(),
            ]
        });
        let head = vec![
            "splits at",
            "",
            "merge at",
            "issued",
            "splits",
            "no slot",
            "no registers",
            "merges",
        ];
        let columns = [Left, Left, Left, Right, Right, Right, Right, Right];
        section(out, &columns, head, rows);
        for (count, what) in [(more, "with fewer splits"), (unused, "without splits")] {
            if count > 0 {
                let sites = counted(count, "site");
                out.push_str(&format!("    and {sites} {what}\n"));
            }
        }
        if self.refused_sites.is_empty() {
            return;
        }
        if !with_refusals {
            let count = counted(self.refused_sites.len(), "branch on EXEC");
            out.push_str(&format!(
                "\n    no wave splits at {} (--stats gives the reasons)\n",
                // `counted` appends the plural to the last word.
                count.replace("branch on EXECs", "branches on EXEC")
            ));
            return;
        }
        let rows = self.refused_sites.iter().flat_map(|site| {
            let reasons = site.reasons.iter().enumerate();
            reasons.map(|(number, reason)| match number {
                0 => vec![site.address.clone(), reason.clone()],
                _ => vec![String::new(), reason.clone()],
            })
        });
        section(out, &[Left, Left], vec!["no split at", "because"], rows);
    }
}
