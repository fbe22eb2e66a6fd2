//! Plan of probes: the quantity that is measured in each block, and the proof that all wanted counts follow. The same
//! structure is the report of `warpbound probes`, the file that `--write` makes, and the input of `decode`.
//!
//! For example, if every path passes block A and then either B or C, counters in A and B are enough: C was executed A
//! − B times. The plan holds the factors 1 and −1, and `decode` checks them again (SOUNDNESS 16).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::metrics::MetricsReport;
use crate::report_writer::KernelReport;
use crate::table::{Align, counted, section, table, wrapped};

/// Quantity of a block that a probe counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProbeQuantity {
    /// Executions by a warp.
    Issues,
    /// Active lanes, summed over these executions.
    Lanes,
}

impl ProbeQuantity {
    /// Name in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            ProbeQuantity::Issues => "issues",
            ProbeQuantity::Lanes => "lanes",
        }
    }
}

/// Rule that decides which blocks get probes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProbedBlocks {
    /// Every block.
    All,
    /// Blocks on the sides of branches that depend on the thread index (`efficient-instrumentation-2014` 3).
    Tainted,
    /// Blocks with minimum weight from which all wanted counts follow.
    #[default]
    Plan,
}

impl ProbedBlocks {
    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            ProbedBlocks::All => "all",
            ProbedBlocks::Tainted => "tainted",
            ProbedBlocks::Plan => "plan",
        }
    }
}

/// Counts that the user wants.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProbeMetric {
    /// Issues and lanes of each block.
    Counts,
    /// Sums of instructions times executions and times active lanes, for the activity factor.
    Activity,
    /// Sums of accesses to global memory and of all instructions, for the memory intensity.
    Memory,
}

impl ProbeMetric {
    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            ProbeMetric::Counts => "counts",
            ProbeMetric::Activity => "activity",
            ProbeMetric::Memory => "memory",
        }
    }
}

/// Counter of one quantity of a block.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Probe {
    /// Address of the first instruction of the block, in bytes.
    pub at: u32,
    /// Counted quantity.
    pub quantity: ProbeQuantity,
    /// Expected executions of the block, with ten for each round of a loop.
    pub frequency: u64,
    /// Source line of the block.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub source: Option<String>,
}

/// Counter to which several probes add, each with a factor.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ProbeSum {
    /// Integer factors of probes, by their position in [`ProbePlan::probes`].
    pub probes: Vec<(usize, i64)>,
}

/// Count of a block that is known without a probe.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct KnownBlockCount {
    /// Address of the first instruction of the block, in bytes.
    pub at: u32,
    /// Quantity.
    pub quantity: ProbeQuantity,
    /// Value in the launch of the plan.
    pub value: u64,
}

/// Wanted count.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WantedCount {
    /// Quantity of the block at an address.
    Block(u32, ProbeQuantity),
    /// Sum over all blocks of the number of instructions times the quantity.
    Instructions(ProbeQuantity),
    /// Sum over all blocks of the number of accesses to global memory times the quantity.
    GlobalAccesses(ProbeQuantity),
}

/// Exact combination that equals a wanted count. Factors are numbers such as `2` or `-1/2`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DerivedCount {
    /// The count.
    pub of: WantedCount,
    /// Factors of equalities, by their number in the count rows of the kernel.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub equalities: Vec<(usize, String)>,
    /// Factors of known counts. Index 0 is the number of warps, 1 the number of threads, and further ones are
    /// [`ProbePlan::known`].
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub known: Vec<(usize, String)>,
    /// Factors of counters, by their position in [`ProbePlan::sums`], or in [`ProbePlan::probes`] if there are no
    /// sums.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub probes: Vec<(usize, String)>,
}

/// Plan of probes of a kernel.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ProbePlan {
    /// Always [`ProbePlan::SCHEMA`].
    pub schema: String,
    /// Demangled name.
    pub kernel: String,
    /// Instruction set.
    pub isa: String,
    /// Digest of the code.
    pub code: String,
    /// Threads of a block in x, y, z, if the plan is for one size only.
    pub block: Option<[u32; 3]>,
    /// Lanes of a warp.
    pub warp_width: u32,
    /// Rule of the choice.
    pub rule: ProbedBlocks,
    /// Wanted counts.
    pub metrics: Vec<ProbeMetric>,
    /// Blocks that a thread may execute.
    pub blocks: usize,
    /// Number of equalities among the count rows.
    pub equalities: usize,
    /// Warps of the launch, if known.
    pub warps: Option<u64>,
    /// Threads of the launch, if known.
    pub threads: Option<u64>,
    /// Counts that are known without a probe.
    pub known: Vec<KnownBlockCount>,
    /// Digest of the launch for which the known counts hold, if there are any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub launch: Option<String>,
    /// Probes. Without sums they are the counters, in the order of their slots.
    pub probes: Vec<Probe>,
    /// Counters that add up several probes, in the order of their slots.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub sums: Vec<ProbeSum>,
    /// Wanted counts with their proofs.
    pub derived: Vec<DerivedCount>,
    /// Assumptions on which the rows rest.
    pub assumptions: Vec<String>,
    /// Further remarks.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub notes: Vec<String>,
}

impl ProbePlan {
    /// Name and version of the JSON format.
    pub const SCHEMA: &'static str = "warpbound.probes/1";

    /// Number of blocks with a probe.
    pub fn probed_blocks(&self) -> usize {
        // A block may have two probes, one for each quantity.
        let mut at: Vec<u32> = self.probes.iter().map(|probe| probe.at).collect();
        at.sort_unstable();
        at.dedup();
        at.len()
    }

    /// Number of counters.
    pub fn counters(&self) -> usize {
        match self.sums.len() {
            0 => self.probes.len(),
            sums => sums,
        }
    }

    /// Name of a counter in files of counters: block and quantity such as `0x0008,issues`, or `sum,0` if probes are
    /// added up.
    pub fn counter_name(&self, slot: usize) -> String {
        match self.probes.get(slot) {
            // With sums a slot is no probe, so the name has only a number.
            Some(probe) if self.sums.is_empty() => {
                format!("0x{:04x},{}", probe.at, probe.quantity.name())
            }
            _ => format!("sum,{slot}"),
        }
    }

    /// Parses a plan from JSON.
    ///
    /// # Errors
    ///
    /// If the text is no plan of this version.
    pub fn from_json(text: &str) -> Result<ProbePlan, String> {
        let plan: ProbePlan = serde_json::from_str(text)
            .map_err(|error| format!("it is no plan of probes, which is JSON: {error}"))?;
        // The keys of another version could have other meanings.
        match plan.schema.as_str() {
            ProbePlan::SCHEMA => Ok(plan),
            other => Err(format!(
                "its schema is {other:?}, this version reads {:?}",
                ProbePlan::SCHEMA
            )),
        }
    }

    /// Digest of the paper's two sums (instructions times active lanes, and times lanes of a warp). It differs from
    /// the digest of the plan, so that the sums are never taken for counters of the plan.
    pub fn digest_of_paper_sums(&self) -> u64 {
        // The complement differs from the digest in each bit.
        !self.digest()
    }

    /// Digest of everything that the counters depend on: code, rule, launch, probes, and sums in their order (64-bit
    /// FNV-1a, as in digests of code).
    pub fn digest(&self) -> u64 {
        let probes = self.probes.iter();
        let probes = probes.map(|probe| format!("{:x} {}", probe.at, probe.quantity.name()));
        // Source lines, notes and factors of counts are no part of it: they change no counter.
        let parts = [self.code.clone(), self.rule.name().to_owned()];
        let launch = self.launch.iter().map(|digest| format!("launch {digest}"));
        let sums = self.sums.iter().map(|sum| format!("sum {:?}", sum.probes));
        let parts = parts.into_iter().chain(launch).chain(probes).chain(sums);
        let text = parts.collect::<Vec<_>>();
        let bytes = text.join("\n").into_bytes();
        // The parameters of FNV-1a: offset basis and prime.
        bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }

    fn header(&self) -> String {
        let (probed, counters) = (self.probed_blocks(), self.probes.len());
        // A plan may have no block, and must not divide by 0.
        let share = |part: usize| 100 * part / self.blocks.max(1);
        let count = |quantity| {
            let of = |probe: &&Probe| probe.quantity == quantity;
            self.probes.iter().filter(of).count()
        };
        let start = match (self.warps, self.threads) {
            (Some(warps), Some(threads)) => format!("{warps} warps, {threads} threads"),
            _ => "the warps and threads of the launch, which decode asks for".to_owned(),
        };
        let wanted: Vec<&str> = self.metrics.iter().map(|metric| metric.name()).collect();
        let rows = [
            ("code", self.code.clone()),
            ("rule", self.rule.name().to_owned()),
            ("wanted", wanted.join(", ")),
            ("blocks", self.blocks.to_string()),
            (
                "probed",
                format!("{} ({} %)", counted(probed, "block"), share(probed)),
            ),
            (
                "counters",
                match self.sums.len() {
                    0 => format!(
                        "{counters}: {} of issues, {} of lanes",
                        count(ProbeQuantity::Issues),
                        count(ProbeQuantity::Lanes)
                    ),
                    sums => format!(
                        "{}, to which {} of issues and {} of lanes add",
                        counted(sums, "sum"),
                        counted(count(ProbeQuantity::Issues), "probe"),
                        count(ProbeQuantity::Lanes)
                    ),
                },
            ),
            ("start", start),
            ("predicted", counted(self.known.len(), "count")),
            (
                "proof",
                format!(
                    "{} of count rows ({}), each multiplied out",
                    counted(self.derived.len(), "combination"),
                    self.equalities
                ),
            ),
        ];
        let rows = rows.map(|(name, value)| vec![name.to_owned(), value]);
        let table = table(2, &[Align::Left, Align::Left], &rows);
        format!("{}\n{table}", self.kernel)
    }
}

impl KernelReport for ProbePlan {
    const SCHEMA_OF_SEVERAL: &'static str = "warpbound.probes-of-kernels/1";

    fn to_text(&self) -> String {
        let mut text = self.header();
        let rows = self.probes.iter().enumerate().map(|(slot, probe)| {
            let factors = self.sums.iter().enumerate().filter_map(|(sum, of)| {
                let (_, factor) = of.probes.iter().find(|(at, _)| *at == slot)?;
                Some(format!("{factor:+} in {sum}"))
            });
            vec![
                match self.sums.is_empty() {
                    true => slot.to_string(),
                    false => factors.collect::<Vec<_>>().join(", "),
                },
                format!("0x{:04x}", probe.at),
                probe.quantity.name().to_owned(),
                probe.frequency.to_string(),
                probe.source.clone().unwrap_or_default(),
            ]
        });
        let (left, right) = (Align::Left, Align::Right);
        let columns = [right, left, left, right, left];
        let first = if self.sums.is_empty() {
            "slot"
        } else {
            "factor"
        };
        let head = vec![first, "block", "counter", "expected", "source"];
        section(&mut text, &columns, head, rows);
        if !self.assumptions.is_empty() {
            text.push_str("\n  assumptions\n");
        }
        for assumption in &self.assumptions {
            text.push_str(&wrapped(4, assumption));
        }
        for note in &self.notes {
            text.push('\n');
            text.push_str(&wrapped(2, note));
        }
        text
    }
}

/// Counts that follow from the counters of a plan.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct DecodedReport {
    /// Always `warpbound.decoded/1`.
    pub schema: &'static str,
    /// Demangled name.
    pub kernel: String,
    /// Digest of the code.
    pub code: String,
    /// Number of counters.
    pub counters: usize,
    /// Wanted counts, in the order of blocks.
    pub values: Vec<DecodedValue>,
    /// Metrics, if the plan gives the counts of all blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<MetricsReport>,
    /// Active lanes divided by all lanes of the issued instructions (`efficient-instrumentation-2014`), if only their
    /// sums are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity_factor: Option<f64>,
    /// Share of the instructions that access global memory, if only sums are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_intensity: Option<f64>,
    /// Reason why the sums do not show which share of the instructions accesses global memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_intensity_unknown: Option<&'static str>,
    /// Number of blocks in the sums and number of all blocks, if they differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only_blocks: Option<[usize; 2]>,
}

/// Value of a count.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct DecodedValue {
    /// Description of the count.
    pub count: String,
    /// Address and quantity, if this is the count of a block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<(u32, ProbeQuantity)>,
    /// Source line of the block.
    pub source: Option<String>,
    /// Value of the count.
    pub value: u64,
}

impl DecodedReport {
    /// Name and version of the JSON format.
    pub const SCHEMA: &'static str = "warpbound.decoded/1";

    /// Issues and lanes of blocks, with their source lines, by address.
    fn blocks(&self) -> BTreeMap<u32, ([Option<u64>; 2], String)> {
        let mut blocks: BTreeMap<u32, ([Option<u64>; 2], String)> = BTreeMap::new();
        for value in &self.values {
            // A sum belongs to no block.
            let Some((at, quantity)) = value.block else {
                continue;
            };
            let (counts, source) = blocks.entry(at).or_default();
            let [issues, lanes] = counts;
            *match quantity {
                ProbeQuantity::Issues => issues,
                ProbeQuantity::Lanes => lanes,
            } = Some(value.value);
            source.clone_from(&value.source.clone().unwrap_or_default());
        }
        blocks
    }

    /// Returns the report as text.
    pub fn to_text(&self) -> String {
        let mut text = format!(
            "{}\n  {} follow from {}\n",
            self.kernel,
            counted(self.values.len(), "count"),
            counted(self.counters, "counter")
        );
        let sums: Vec<&DecodedValue> = self.values.iter().filter(|of| of.block.is_none()).collect();
        if !sums.is_empty() {
            let rows = sums
                .into_iter()
                .map(|of| vec![of.count.clone(), of.value.to_string()]);
            let columns = [Align::Left, Align::Right];
            section(&mut text, &columns, vec!["count", "value"], rows);
        }
        let shares = [
            ("activity factor", self.activity_factor),
            ("memory intensity", self.memory_intensity),
        ];
        let of = match self.only_blocks {
            Some([some, all]) => format!("  (of the {some} of {all} blocks with probes)"),
            None => String::new(),
        };
        let shares = shares
            .iter()
            .filter_map(|(name, share)| Some((name, (*share)?)));
        let lines: String = shares
            .map(|(name, share)| format!("    {name}  {:.1} %{of}\n", 100.0 * share))
            .collect();
        let unknown = self.memory_intensity_unknown;
        let unknown = unknown.map(|why| format!("    memory intensity  not known: {why}\n"));
        let lines = lines + &unknown.unwrap_or_default();
        if !lines.is_empty() {
            text.push_str(&format!("\n{lines}"));
        }
        let blocks = self.blocks();
        if !blocks.is_empty() {
            let (left, right) = (Align::Left, Align::Right);
            let number =
                |value: Option<u64>| value.map_or("-".to_owned(), |value| value.to_string());
            let rows = blocks.into_iter().map(|(at, (counts, source))| {
                let [issues, lanes] = counts.map(number);
                vec![format!("0x{at:04x}"), issues, lanes, source]
            });
            let head = vec!["block", "issues", "lanes", "source"];
            section(&mut text, &[left, right, right, left], head, rows);
        }
        if let Some(metrics) = &self.metrics {
            text.push('\n');
            text.push_str(&metrics.text(false));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_a_row_each() {
        let value = |count: &str, block, value| DecodedValue {
            count: count.to_owned(),
            block,
            source: None,
            value,
        };
        let report = DecodedReport {
            schema: DecodedReport::SCHEMA,
            kernel: "k".to_owned(),
            code: String::new(),
            counters: 2,
            values: vec![
                value("issues of the block", Some((8, ProbeQuantity::Issues)), 3),
                value("lanes of the block", Some((8, ProbeQuantity::Lanes)), 70),
                value("instructions in issues", None, 9),
            ],
            metrics: None,
            activity_factor: None,
            memory_intensity: None,
            memory_intensity_unknown: None,
            only_blocks: None,
        };
        let text = report.to_text();
        let row = text.lines().find(|line| line.contains("0x0008"));
        let cells: Vec<&str> = row.unwrap_or_default().split_whitespace().collect();
        assert_eq!(cells, ["0x0008", "3", "70"], "{text}");
        assert!(text.contains("instructions in issues"), "{text}");
    }

    #[test]
    fn text_that_is_no_json_is_named() {
        let message = ProbePlan::from_json("0x0008,issues,3").unwrap_err();
        assert!(message.contains("no plan of probes"), "{message}");
    }

    #[test]
    fn another_schema_is_refused() {
        assert!(ProbePlan::from_json("{}").is_err());
        assert!(ProbePlan::from_json("[1").is_err());
    }
}
