//! What came of comparing runs of a kernel with what is claimed of it.

use serde::Serialize;

use crate::table::{Align, counted, table};

/// An audit.
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
    /// Why the kernel is not followed, when it is not; then there are no runs.
    pub refused: Option<String>,
    /// Runs, those that ended in a fault included.
    pub runs: u64,
    /// Runs that ended in a fault.
    pub faulted: u64,
    /// The given launch itself did.
    pub given_faulted: bool,
    /// Instructions that warps issued, in all runs.
    pub warp_instructions: u64,
    /// Warps that came to their end, in all runs.
    pub warps: u64,
    /// Different things that were excluded and happened.
    pub violations: u64,
    /// What they are; of very many, the first ones.
    pub findings: Vec<Finding>,
    /// The most instructions of a warp that came to its end.
    pub worst_simulated: Option<u64>,
    /// Which warp that was.
    pub worst_at: Option<String>,
    /// The bound in instructions of a warp.
    pub bound: Option<u128>,
    /// Why there is none.
    pub no_bound: Option<String>,
    /// The bound divided by the worst simulated, to three digits behind the point.
    pub ratio: Option<f64>,
    /// The loops.
    pub loops: Vec<AuditedLoop>,
    /// The first different faults.
    pub faults: Vec<AuditFault>,
}

/// Something that was excluded and happened.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// What is contradicted: `fact`, `bound`, or a claim of the analyses (`node`, `edge`, `stack`, `relation`,
    /// `agreement`, `machine`).
    pub claim: &'static str,
    /// The first run in which it happened, from 1.
    pub run: u64,
    /// The instruction, when it is about one.
    pub at: Option<String>,
    /// Its source line.
    pub source: Option<String>,
    /// One clause.
    pub what: String,
}

/// A loop, and how often it ran.
#[derive(Clone, Debug, Serialize)]
pub struct AuditedLoop {
    /// Its name.
    pub id: String,
    /// Address of its header.
    pub at: String,
    /// Source line of its header.
    pub source: Option<String>,
    /// The bound that was stated.
    pub bound: Option<u64>,
    /// The total that was stated.
    pub total: Option<u64>,
    /// The most header executions of a thread for one entry, in all runs.
    pub most: u64,
    /// The most header executions of a thread in one run.
    pub most_total: u64,
}

/// Why runs did not come to their end.
#[derive(Clone, Debug, Serialize)]
pub struct AuditFault {
    /// The first of them, from 1.
    pub run: u64,
    /// How many there are.
    pub runs: u64,
    /// What happened.
    pub what: String,
}

impl AuditReport {
    /// The name of the JSON format.
    pub const SCHEMA: &'static str = "warpbound.audit/1";

    /// A few lines, and one for each finding.
    pub fn text(&self) -> String {
        let size = |[x, y, z]: [u32; 3]| format!("{x} x {y} x {z}");
        let mut out = format!(
            "kernel {}  ({})\n  {} blocks of {} threads\n",
            self.kernel,
            self.file,
            size(self.grid),
            size(self.block),
        );
        let mut line = |text: String| {
            out.push_str("  ");
            out.push_str(&text);
            out.push('\n');
        };
        if let Some(why) = &self.refused {
            line(format!("not followed, so nothing is claimed: {why}"));
            return out;
        }
        line(format!(
            "{}, {} of them ended in a fault: {} warp instructions, {} came to the end",
            counted(self.runs as usize, "run"),
            self.faulted,
            self.warp_instructions,
            counted(self.warps as usize, "warp"),
        ));
        match (self.worst_simulated, &self.worst_at) {
            (Some(worst), Some(at)) => {
                line(format!("worst simulated: {} instructions, by {at}", worst))
            }
            _ => line("no warp came to its end".to_owned()),
        }
        match (self.bound, self.ratio, &self.no_bound) {
            (Some(bound), Some(ratio), _) => line(format!(
                "bound: {} instructions, {ratio:.3} times that",
                bound
            )),
            (Some(bound), None, _) => line(format!("bound: {} instructions", bound)),
            (None, _, Some(why)) => line(format!("no bound: {why}")),
            (None, _, None) => line("no bound".to_owned()),
        }
        match self.violations {
            0 => line("no violation".to_owned()),
            n => line(format!("{}:", counted(n as usize, "violation"))),
        }
        for finding in &self.findings {
            let at = finding
                .at
                .as_ref()
                .map_or(String::new(), |at| format!("{at}: "));
            let source = finding.source.as_ref();
            let source = source.map_or(String::new(), |source| format!(" ({source})"));
            line(format!(
                "  {at}{}{source}, run {}",
                finding.what, finding.run
            ));
        }
        if self.violations > self.findings.len() as u64 {
            line("  and more".to_owned());
        }
        if !self.loops.is_empty() {
            line("loops, header executions per entry and thread:".to_owned());
            let rows: Vec<Vec<String>> = self.loops.iter().map(AuditedLoop::row).collect();
            let columns = [
                Align::Left,
                Align::Left,
                Align::Left,
                Align::Left,
                Align::Left,
            ];
            let rows = table(4, &columns, &rows);
            out.push_str(&rows);
        }
        if !self.faults.is_empty() {
            out.push_str("  faults:\n");
            for fault in &self.faults {
                let others = match fault.runs {
                    0 | 1 => String::new(),
                    n => format!(" and {} more", n - 1),
                };
                out.push_str(&format!("    run {}{others}: {}\n", fault.run, fault.what));
            }
            if self.faulted > self.faults.iter().map(|fault| fault.runs).sum() {
                out.push_str("    and more\n");
            }
        }
        out
    }
}

impl AuditedLoop {
    fn row(&self) -> Vec<String> {
        let stated = match self.bound {
            Some(bound) => format!("at most {} stated", bound),
            None => "no bound stated".to_owned(),
        };
        let stated = match self.total {
            Some(total) => format!(
                "{stated}; in total at most {} seen, {} stated",
                self.most_total, total
            ),
            None => stated,
        };
        vec![
            self.id.clone(),
            self.at.clone(),
            format!("at most {} seen", self.most.to_string()),
            stated,
            self.source.clone().unwrap_or_default(),
        ]
    }
}
