//! Report of an audit: executions of a kernel compared with all claims about it.

use serde::Serialize;

use crate::access::AccessNumbers;
use crate::bound::Origin;
use crate::table::{Align, counted, table};

/// Result of an audit.
#[derive(Clone, Debug, Serialize)]
pub struct AuditReport {
    /// Always `warpbound.audit/1`.
    pub schema: &'static str,
    /// The file.
    pub file: String,
    /// The kernel.
    pub kernel: String,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Reason why the analyses refuse the kernel. Then there are no runs.
    pub refused: Option<String>,
    /// Runs, including those that ended in a fault.
    pub runs: u64,
    /// Runs that ended in a fault.
    pub faulted: u64,
    /// Whether the launch as given ended in a fault.
    pub given_faulted: bool,
    /// Warp instructions of all runs.
    pub warp_instructions: u64,
    /// Warps that ended, over all runs.
    pub warps: u64,
    /// Number of distinct violations.
    pub violations: u64,
    /// Violations. If there are too many, only the first ones.
    pub findings: Vec<Finding>,
    /// Maximum number of instructions that a warp issued until it ended.
    pub worst_simulated: Option<u64>,
    /// Description of the warp with this maximum.
    pub worst_at: Option<String>,
    /// Bound on the instructions that a warp issues.
    pub bound: Option<u128>,
    /// Reason why there is no bound.
    pub no_bound: Option<String>,
    /// Warps of the given launch that ended and were compared with their profiles.
    pub profiled: u64,
    /// `bound / worst_simulated`, rounded to three decimals.
    pub ratio: Option<f64>,
    /// Loops and their observed iterations.
    pub loops: Vec<AuditedLoop>,
    /// Executed memory accesses, in order of address.
    pub accesses: Vec<AuditedAccess>,
    /// First distinct faults.
    pub faults: Vec<AuditFault>,
    /// Runs of single warps with time, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles: Option<AuditedCycles>,
}

/// Runs of single warps with time, compared with the cycle bounds for their own loop counts. All cycles exclude the
/// overhead of the launch.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct AuditedCycles {
    /// Name of the machine.
    pub machine: String,
    /// State of the caches for which the bounds hold: `any`, `warm` or `cold`.
    pub caches: &'static str,
    /// Reason why some warp has no bound. The comparison ended there.
    pub no_bound: Option<String>,
    /// Warps that were run alone, over all runs of the audit.
    pub warps: u64,
    /// Warps of the launches.
    pub launched_warps: u64,
    /// Compared runs. Each warp runs with several selections of the machine's numbers, orders and caches.
    pub runs: u64,
    /// Runs without a comparison, because they end in a fault or execute other instructions with time.
    pub skipped: u64,
    /// Compared runs that exceed their bound.
    pub violations: u64,
    /// Maximum number of cycles of a compared run.
    pub worst_simulated: Option<u64>,
    /// Description of the run with this maximum.
    pub worst_at: Option<String>,
    /// Largest bound of a compared warp.
    pub bound: Option<u64>,
    /// `bound / worst_simulated`, rounded to three decimals.
    pub ratio: Option<f64>,
}

/// Violation of a claim.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// Violated statement: `fact`, `bound`, `profile`, `derived`, `cycles`, or a claim of the analyses (`node`,
    /// `edge`, `stack`, `relation`, `agreement`, `machine`, `access`).
    pub claim: &'static str,
    /// First run with the violation, from 1.
    pub run: u64,
    /// Address of the instruction, if the violation has one.
    pub at: Option<String>,
    /// Source line of the instruction.
    pub source: Option<String>,
    /// Description, one clause.
    #[serde(rename = "what")]
    pub message: String,
}

/// Stated and observed iterations of a loop.
#[derive(Clone, Debug, Serialize)]
pub struct AuditedLoop {
    /// Short name of the loop.
    pub id: String,
    /// Address of the header.
    pub at: String,
    /// Source line of the header.
    pub source: Option<String>,
    /// Bound per entry on which the bound of the warp rests.
    pub bound: Option<u64>,
    /// Total per run on which the bound of the warp rests.
    pub total: Option<u64>,
    /// Origin of these numbers.
    pub origin: Origin,
    /// Largest bound per entry that was derived for the launch of a run; `None` if some run has none.
    pub derived: Option<u64>,
    /// Whether a thread of some run executed the header as often as the derived bound of that run allows.
    pub reached: bool,
    /// Maximum number of header executions of a thread per entry, observed over all runs.
    #[serde(rename = "most")]
    pub observed: u64,
    /// Maximum number of header executions of a thread in one run, as observed.
    #[serde(rename = "most_total")]
    pub observed_total: u64,
}

/// Memory access, its class and its observed executions.
#[derive(Clone, Debug, Serialize)]
pub struct AuditedAccess {
    /// Address of the instruction.
    pub at: String,
    /// Source line of the instruction.
    pub source: Option<String>,
    /// Executions by a warp with at least one active lane, over all runs.
    pub executions: u64,
    /// Upper bounds for one execution by its class. If the class differs between runs, the largest ones.
    pub limits: AccessNumbers,
    /// Observed maxima.
    #[serde(rename = "most")]
    pub observed: AccessNumbers,
    /// Whether one execution had all the numbers of the class at once.
    #[serde(rename = "equal")]
    pub reaches_class: bool,
}

/// Fault that ended runs.
#[derive(Clone, Debug, Serialize)]
pub struct AuditFault {
    /// First run with the fault, from 1.
    pub run: u64,
    /// Number of runs with the fault.
    pub runs: u64,
    /// Description of the fault.
    #[serde(rename = "what")]
    pub message: String,
}

impl AuditReport {
    /// The name of the JSON format.
    pub const SCHEMA: &'static str = "warpbound.audit/1";

    /// Returns the report as text, with a line for each finding.
    pub fn text(&self) -> String {
        let size = |[x, y, z]: [u32; 3]| format!("{x} x {y} x {z}");
        let mut out = format!(
            "kernel {}  ({})\n  {} blocks of {} threads\n",
            self.kernel,
            self.file,
            size(self.grid),
            size(self.block),
        );
        // Without an analysis nothing was claimed, so no run could violate anything.
        if let Some(reason) = &self.refused {
            out.push_str(&format!("  refused, so there are no claims: {reason}\n"));
            return out;
        }
        for line in self.summary() {
            out.push_str(&format!("  {line}\n"));
        }
        self.write_findings(&mut out);
        if let Some(cycles) = &self.cycles {
            cycles.write(&mut out);
        }
        self.write_loops(&mut out);
        self.write_accesses(&mut out);
        self.write_faults(&mut out);
        out
    }

    /// Returns four lines: the runs, the worst warp, the bound, and the number of violations.
    fn summary(&self) -> [String; 4] {
        let runs = format!(
            "{}, {} of them ended in a fault: {} warp instructions, {} ended",
            counted(self.runs as usize, "run"),
            self.faulted,
            self.warp_instructions,
            counted(self.warps as usize, "warp"),
        );
        let worst = match (self.worst_simulated, &self.worst_at) {
            (Some(worst), Some(at)) => format!("worst simulated: {worst} instructions, by {at}"),
            _ => "no warp ended".to_owned(),
        };
        let bound = match (self.bound, self.ratio, &self.no_bound) {
            (Some(bound), Some(ratio), _) => {
                format!("bound: {bound} instructions, {ratio:.3} times that")
            }
            (Some(bound), None, _) => format!("bound: {bound} instructions"),
            (None, _, Some(reason)) => format!("no bound: {reason}"),
            (None, _, None) => "no bound".to_owned(),
        };
        let violations = match self.violations {
            0 => "no violation".to_owned(),
            n => format!("{}:", counted(n as usize, "violation")),
        };
        [runs, worst, bound, violations]
    }

    /// Appends a line for each finding.
    fn write_findings(&self, out: &mut String) {
        for finding in &self.findings {
            let at = finding
                .at
                .as_ref()
                .map_or(String::new(), |at| format!("{at}: "));
            let source = finding.source.as_ref();
            let source = source.map_or(String::new(), |source| format!(" ({source})"));
            out.push_str(&format!(
                "    {at}{}{source}, run {}\n",
                finding.message, finding.run
            ));
        }
        // Findings are limited in number, violations are not.
        if self.violations > self.findings.len() as u64 {
            out.push_str("    and more\n");
        }
    }

    fn write_loops(&self, out: &mut String) {
        if self.loops.is_empty() {
            return;
        }
        out.push_str("  loops, header executions per entry and thread:\n");
        let rows: Vec<Vec<String>> = self.loops.iter().map(AuditedLoop::row).collect();
        out.push_str(&table(4, &[Align::Left; 5], &rows));
    }

    /// Appends the number of accesses that reached their classes, and a line for each access that did not.
    fn write_accesses(&self, out: &mut String) {
        if self.accesses.is_empty() {
            return;
        }
        let all = self.accesses.len();
        // An access that reached its numbers shows that its class is not too coarse, so a count of them is enough.
        let others = self.accesses.iter().filter(|access| !access.reaches_class);
        let others: Vec<&AuditedAccess> = others.collect();
        out.push_str(&format!(
            "  memory accesses: {} executed, {} of them once or more with the numbers of their class\n",
            all,
            all - others.len()
        ));
        let rows: Vec<Vec<String>> = others.iter().map(|access| access.row()).collect();
        out.push_str(&table(4, &[Align::Left; 3], &rows));
    }

    /// Appends a line for each distinct fault.
    fn write_faults(&self, out: &mut String) {
        if self.faults.is_empty() {
            return;
        }
        out.push_str("  faults:\n");
        for fault in &self.faults {
            let others = match fault.runs {
                0 | 1 => String::new(),
                n => format!(" and {} more", n - 1),
            };
            out.push_str(&format!(
                "    run {}{others}: {}\n",
                fault.run, fault.message
            ));
        }
        // The list of distinct faults is limited, so it may not cover all faulted runs.
        if self.faulted > self.faults.iter().map(|fault| fault.runs).sum() {
            out.push_str("    and more\n");
        }
    }
}

impl AuditedCycles {
    /// Appends the lines of the comparison and of the worst run.
    fn write(&self, out: &mut String) {
        let caches = match self.caches {
            "any" => "any caches".to_owned(),
            state => format!("{state} caches"),
        };
        let violations = match self.violations {
            0 => "none above its bound".to_owned(),
            n => format!("{n} above their bound"),
        };
        out.push_str(&format!(
            "  in cycles on {}, {caches}: {} of {} of {} alone, {violations}\n",
            self.machine,
            counted(self.runs as usize, "run"),
            self.warps,
            counted(self.launched_warps as usize, "warp"),
        ));
        if self.skipped > 0 {
            out.push_str(&format!(
                "    not compared: {}, which end in a fault or execute other instructions with time\n",
                counted(self.skipped as usize, "run")
            ));
        }
        if let (Some(worst), Some(at)) = (self.worst_simulated, &self.worst_at) {
            out.push_str(&format!(
                "    worst simulated without the launch overhead: {worst} cycles, by {at}\n"
            ));
        }
        if let (Some(bound), Some(ratio)) = (self.bound, self.ratio) {
            out.push_str(&format!(
                "    bound for the same loop counts: {bound} cycles, {ratio:.3} times that\n"
            ));
        }
        if let Some(reason) = &self.no_bound {
            out.push_str(&format!("    no bound in cycles: {reason}\n"));
        }
    }
}

impl AuditedLoop {
    /// Returns the row of the table: name, address, observed iterations, limits, source line.
    fn row(&self) -> Vec<String> {
        // A bound from the launch is derived as well, with the values that the launch fixes.
        let how = match self.origin {
            Origin::Derived | Origin::Launch => "derived",
            Origin::Facts | Origin::LoopDefault | Origin::Missing => "stated",
        };
        let mut limits = match self.bound {
            Some(bound) => format!("at most {bound} {how}"),
            None => "no bound stated".to_owned(),
        };
        if let Some(total) = self.total {
            let seen = self.observed_total;
            limits.push_str(&format!("; in total at most {seen} seen, {total} {how}"));
        }
        if let Some(derived) = self.derived {
            let reached = if self.reached { ", reached" } else { "" };
            limits.push_str(&format!("; {derived} derived for the launch{reached}"));
        }
        vec![
            self.id.clone(),
            self.at.clone(),
            format!("at most {} seen", self.observed.to_string()),
            limits,
            self.source.clone().unwrap_or_default(),
        ]
    }
}

impl AuditedAccess {
    /// Returns the row of the table: address, numbers that differ between run and claim, source line.
    fn row(&self) -> Vec<String> {
        let pairs = self.observed.named().into_iter().zip(self.limits.named());
        let differing = pairs.filter_map(|((name, seen), (_, limit))| {
            // A number that one side lacks cannot be compared.
            let (seen, limit) = (seen?, limit?);
            (seen != limit).then(|| format!("{seen} of {limit} {name}"))
        });
        let differing: Vec<String> = differing.collect();
        // Each number was reached, but in different executions.
        let text = match differing.is_empty() {
            true => "not all at once".to_owned(),
            false => format!("at most {} seen", differing.join(", ")),
        };
        vec![
            self.at.clone(),
            text,
            self.source.clone().unwrap_or_default(),
        ]
    }
}
