//! Reports of launch sets: executions of a host program's launches, and audits of them.
//!
//! For example, a sort that launches one kernel 20 times has one line with 20 executions, whose cycles are their sum,
//! minimum and maximum.

use serde::Serialize;

use crate::audit::AuditReport;
use crate::functional::text::{lanes, note_line};
use crate::functional::{IssueCounts, RunNote};
use crate::table::{Align, counted, table};
use crate::terms::MachineTerms;

/// Result of the complete execution of a launch set, with or without time.
#[derive(Clone, Debug, Serialize)]
pub struct LaunchSetReport {
    /// Always `warpbound.launch-set/1`.
    pub schema: &'static str,
    /// Terms of the machine in the text.
    #[serde(skip)]
    pub terms: MachineTerms,
    /// The file with the code.
    pub file: String,
    /// The file of the launch set.
    pub set: String,
    /// The launches, in the order of the file.
    pub launches: Vec<LaunchTotals>,
    /// Repetitions, in the order of execution.
    pub repetitions: Vec<RepetitionRounds>,
    /// Totals over all executions.
    #[serde(flatten)]
    pub issued: IssueCounts,
    /// Number of buffer elements that were compared at the end with the values that the file expects.
    pub checked_elements: usize,
    /// Time of a run with time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<SetTime>,
}

/// Executions of one launch, added up.
#[derive(Clone, Debug, Serialize)]
pub struct LaunchTotals {
    /// Name of the launch.
    pub name: String,
    /// The kernel.
    pub kernel: String,
    /// Blocks in x, y, z, in the first round.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Stream of the launch; `None` for the default one.
    pub stream: Option<u32>,
    /// Number of executions.
    pub executions: u64,
    /// Issue counts.
    #[serde(flatten)]
    pub issued: IssueCounts,
    /// Number of times the lanes of a warp diverged.
    pub divergences: u64,
    /// Cycles in a run with time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles: Option<CycleTotals>,
    /// Splits of waves in a run with time; absent if waves do not split.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub splits: Option<u64>,
    /// Suspicious behaviour of the kernel, in order of first occurrence.
    pub notes: Vec<RunNote>,
}

/// Cycles of a launch's executions. Simulated times are not bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct CycleTotals {
    /// Sum over all executions.
    pub total: u64,
    /// Minimum over all executions.
    pub least: u64,
    /// Maximum over all executions.
    pub most: u64,
}

/// Rounds of a repetition.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RepetitionRounds {
    /// Name of the repetition, if it has one.
    pub name: Option<String>,
    /// Names of the launches in it.
    pub launches: Vec<String>,
    /// Number of executed rounds.
    pub rounds: u64,
    /// Maximum number of rounds that the file allows.
    pub most: u64,
}

/// Time of a launch set: the launches one after the other, without the time that the host spends between them. Each
/// starts with the caches that it states.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SetTime {
    /// The machine.
    pub machine: String,
    /// Rule that takes one value from each parameter's range.
    #[serde(rename = "pick")]
    pub selection: String,
    /// Sum of the cycles of all executions.
    pub cycles: u64,
    /// Clock of the machine in kHz.
    pub clock_khz: u64,
    /// Duration of the cycles at this clock, in milliseconds.
    pub milliseconds: f64,
}

impl LaunchSetReport {
    /// The name of the JSON format.
    pub const SCHEMA: &'static str = "warpbound.launch-set/1";

    /// Returns the report as text: a line for each launch.
    pub fn text(&self) -> String {
        let mut out = format!("launch set {}  ({})\n", self.set, self.file);
        write_rounds(&self.repetitions, &mut out);
        if let Some(time) = &self.time {
            out.push_str(&format!(
                "  {} on {}, {:.4} ms at {} MHz, one launch after the other\n",
                counted(usize::try_from(time.cycles).unwrap_or(usize::MAX), "cycle"),
                time.machine,
                time.milliseconds,
                time.clock_khz / 1000
            ));
        }
        out.push_str(&format!(
            "  {} {} instructions, {} active lanes on average\n",
            self.issued.warp_instructions,
            self.terms.warp,
            lanes(&self.issued)
        ));
        if self.checked_elements > 0 {
            let elements = counted(self.checked_elements, "element");
            out.push_str(&format!(
                "  {elements} of buffers are as the launch file expects\n"
            ));
        }
        // Surplus columns have no cells, so the largest number of them serves for all reports.
        let mut columns = vec![Align::Left; 2];
        columns.resize(9, Align::Right);
        let warps = format!("{}s", self.terms.warp);
        let head = [
            "launch",
            "kernel",
            "executions",
            &warps,
            "active lanes",
            "diverged",
        ];
        let mut head: Vec<String> = head.map(str::to_owned).into();
        if self.time.is_some() {
            head.extend(["cycles", "least to most"].map(str::to_owned));
        }
        if self.launches.iter().any(|launch| launch.splits.is_some()) {
            head.push("splits".to_owned());
        }
        let rows = self.launches.iter().map(LaunchTotals::row);
        let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
        out.push('\n');
        out.push_str(&table(2, &columns, &rows));
        for launch in &self.launches {
            for note in &launch.notes {
                out.push_str(&format!(
                    "{}: {}",
                    launch.name,
                    note_line(note).trim_start()
                ));
            }
        }
        out
    }
}

impl LaunchTotals {
    /// Returns the row of the table.
    fn row(&self) -> Vec<String> {
        let mut row = vec![
            self.name.clone(),
            self.kernel.clone(),
            self.executions.to_string(),
            self.issued.warp_instructions.to_string(),
            lanes(&self.issued),
            self.divergences.to_string(),
        ];
        if let Some(cycles) = self.cycles {
            row.push(cycles.total.to_string());
            row.push(format!("{} to {}", cycles.least, cycles.most));
        }
        // Cells follow the order of the heads: cycles only with time, splits only if waves split.
        row.extend(self.splits.map(|splits| splits.to_string()));
        row
    }
}

/// Appends a line for each repetition.
fn write_rounds(repetitions: &[RepetitionRounds], out: &mut String) {
    for repetition in repetitions {
        let launches = repetition.launches.join(", ");
        let name = repetition.name.as_deref().unwrap_or(&launches);
        // The limit says nothing new if it was reached.
        let limit = match repetition.rounds == repetition.most {
            true => String::new(),
            false => format!(" of at most {}", repetition.most),
        };
        let rounds = counted(
            usize::try_from(repetition.rounds).unwrap_or(usize::MAX),
            "round",
        );
        out.push_str(&format!("  {name}: {rounds}{limit}\n"));
    }
}

/// Result of an audit of a launch set: each kernel with all its launches, the results, and the order of streams.
#[derive(Clone, Debug, Serialize)]
pub struct AuditSetReport {
    /// Always `warpbound.audit-set/1`.
    pub schema: &'static str,
    /// The file with the code.
    pub file: String,
    /// The file of the launch set.
    pub set: String,
    /// Executions of the whole set: as given, in another order of streams if there are several, then variations.
    pub runs: u64,
    /// The launches, in the order of the file.
    pub launches: Vec<AuditedLaunch>,
    /// Repetitions of the set, as given.
    pub repetitions: Vec<RepetitionRounds>,
    /// Audit of each kernel and block size. Each execution of a launch counts as a run there, but the numbers of runs
    /// in findings count the runs of the whole set.
    pub kernels: Vec<AuditReport>,
    /// Number of buffer elements that were compared at the end with the values that the file expects.
    pub checked_elements: usize,
    /// Difference between the final buffers and the values that the file expects, or a repetition that does not
    /// terminate.
    pub unexpected: Option<String>,
    /// Whether the final buffers of two orders of the streams were compared.
    pub compared_orders: bool,
    /// Difference between the final buffers of two orders of the streams.
    pub order_difference: Option<String>,
    /// Number of distinct violations in all kernels, including these two differences.
    pub violations: u64,
}

/// Executions of a launch in an audit.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct AuditedLaunch {
    /// Name of the launch.
    pub name: String,
    /// The kernel.
    pub kernel: String,
    /// Number of executions in all runs.
    pub executions: u64,
    /// Warp instructions of all executions.
    pub warp_instructions: u64,
    /// Maximum number of instructions that a warp issued until it ended.
    pub worst_simulated: Option<u64>,
    /// Bound on the instructions that a warp of the kernel issues, for blocks of this size.
    pub bound: Option<u128>,
}

impl AuditSetReport {
    /// The name of the JSON format.
    pub const SCHEMA: &'static str = "warpbound.audit-set/1";

    /// Returns the report as text: a line for each launch, then the report of each kernel.
    pub fn text(&self) -> String {
        let mut out = format!("launch set {}  ({})\n", self.set, self.file);
        let runs = usize::try_from(self.runs).unwrap_or(usize::MAX);
        out.push_str(&format!("  {}\n", counted(runs, "run")));
        write_rounds(&self.repetitions, &mut out);
        match &self.unexpected {
            Some(difference) => out.push_str(&format!("  unexpected result: {difference}\n")),
            None if self.checked_elements > 0 => {
                let elements = counted(self.checked_elements, "element");
                out.push_str(&format!(
                    "  {elements} of buffers are as the launch file expects\n"
                ));
            }
            None => {}
        }
        match &self.order_difference {
            Some(difference) => out.push_str(&format!(
                "  the order of launches in different streams decides the results: {difference}\n"
            )),
            None if self.compared_orders => {
                out.push_str("  two orders of the streams have the same results\n");
            }
            None => {}
        }
        let head = ["launch", "kernel", "executions", "warps", "worst", "bound"];
        let number = |n: Option<String>| n.unwrap_or_else(|| "none".to_owned());
        let rows = self.launches.iter().map(|launch| {
            vec![
                launch.name.clone(),
                launch.kernel.clone(),
                launch.executions.to_string(),
                launch.warp_instructions.to_string(),
                number(launch.worst_simulated.map(|n| n.to_string())),
                number(launch.bound.map(|n| n.to_string())),
            ]
        });
        let rows: Vec<Vec<String>> = std::iter::once(head.map(str::to_owned).into())
            .chain(rows)
            .collect();
        let mut columns = vec![Align::Left; 2];
        columns.resize(6, Align::Right);
        out.push('\n');
        out.push_str(&table(2, &columns, &rows));
        for kernel in &self.kernels {
            out.push('\n');
            out.push_str(&kernel.text());
        }
        out
    }
}
