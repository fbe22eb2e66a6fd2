//! Writer of metrics as text.

use crate::metrics::{InstructionMetrics, MetricsReport, NamedMetrics};
use crate::table::{Align, counted, section, wrapped};

use Align::{Left, Right};

/// Maximum number of blocks with unknown counts that are named.
const MAX_NAMED: usize = 8;

impl MetricsReport {
    /// Returns the report as text. With `details`, tables follow by class, space, branch, source line and block.
    pub fn text(&self, details: bool) -> String {
        let total = &self.total;
        let mut out = format!("kernel {}\n", self.kernel);
        let mut line = |name: &str, value: String| {
            out.push_str(&format!("  {name:<26}{value}\n"));
        };
        line("warp instructions", count(total.warp_instructions));
        line("thread instructions", count(total.thread_instructions));
        let lanes = format!(
            "{}  (of {} lanes)",
            share(total.activity_factor),
            self.width
        );
        line("activity factor", lanes);
        // In full warps both factors are equal.
        if let Some(launched) = self.launched_lanes.filter(|&lanes| lanes != self.width) {
            let value = share(total.activity_of_launched);
            line("", format!("{value}  (of {launched} lanes with threads)"));
        }
        let value = share(total.memory_intensity);
        line("memory intensity", format!("{value}  (global memory)"));
        line("", format!("{}  (all memory)", share(total.memory_share)));
        if let Some((divergent, executions)) = self.divergence() {
            let value = share(ratio(divergent, executions));
            let of = format!("{divergent} of {executions} executions of conditional transfers");
            line("branch divergence", format!("{value}  ({of})"));
        }
        self.write_unknown(&mut out);
        if let Some(memory) = &self.memory_divergence {
            memory.write(details, &mut out);
        }
        if details {
            self.write_details(&mut out);
        }
        out
    }

    /// Returns the divergent executions and all executions of conditional transfers, if they are known.
    fn divergence(&self) -> Option<(u64, u64)> {
        // The sum is `None` if one branch has no count.
        let executions: Option<u64> = self.branches.iter().map(|branch| branch.executions).sum();
        let divergent = self.branches.iter().map(|branch| branch.divergent).sum();
        executions
            // An empty sum is 0, but a kernel without branches has no divergence to report.
            .filter(|_| !self.branches.is_empty())
            .map(|executions| (divergent, executions))
    }

    fn write_unknown(&self, out: &mut String) {
        if self.unknown_blocks.is_empty() {
            return;
        }
        let named = self.unknown_blocks.iter().take(MAX_NAMED);
        let named: Vec<&str> = named.map(String::as_str).collect();
        let more = self.unknown_blocks.len().saturating_sub(MAX_NAMED);
        let more = match more {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let blocks = counted(self.unknown_blocks.len(), "block");
        let text = format!(
            "unknown counts of {blocks}: {}{more}; what depends on them is left out",
            named.join(", ")
        );
        out.push_str(&wrapped(2, &text));
    }

    fn write_details(&self, out: &mut String) {
        let columns = [Left, Right, Right, Right, Right, Right];
        let head = |name| vec![name, "warps", "threads", "activity", "global", "memory"];
        section(out, &columns, head("class"), self.classes.iter().map(row));
        let rows = self.spaces.iter().map(|space| {
            let counts = [space.warp_instructions, space.thread_instructions];
            let mut row = vec![space.space.to_owned()];
            row.extend(counts.map(count));
            row
        });
        section(out, &columns, vec!["memory", "warps", "threads"], rows);
        let rows = self.branches.iter().map(|branch| {
            vec![
                branch.address.clone(),
                branch.mnemonic.clone(),
                branch.source.clone().unwrap_or_else(|| "-".to_owned()),
                count(branch.executions),
                branch.divergent.to_string(),
                share(branch.divergence),
            ]
        });
        let head_of_branches = vec!["branch", "", "line", "warps", "diverged", "share"];
        let columns_of_branches = [Left, Left, Left, Right, Right, Right];
        section(out, &columns_of_branches, head_of_branches, rows);
        section(out, &columns, head("line"), self.lines.iter().map(row));
        section(out, &columns, head("block"), self.blocks.iter().map(row));
    }
}

/// Returns the cells of a row of metrics.
fn row(named: &NamedMetrics) -> Vec<String> {
    let InstructionMetrics {
        warp_instructions,
        thread_instructions,
        activity_factor,
        memory_intensity,
        memory_share,
        ..
    } = named.metrics;
    vec![
        named.name.clone().unwrap_or_else(|| "-".to_owned()),
        count(warp_instructions),
        count(thread_instructions),
        share(activity_factor),
        share(memory_intensity),
        share(memory_share),
    ]
}

/// Formats a count, or `?` if it is not known.
fn count(count: Option<u64>) -> String {
    count.map_or_else(|| "?".to_owned(), |count| count.to_string())
}

/// Formats a share in percent with one decimal, or `?` if it is not known.
pub(crate) fn share(share: Option<f64>) -> String {
    share.map_or_else(|| "?".to_owned(), |share| format!("{:.1} %", share * 100.0))
}

/// Returns a share; `None` if the whole is 0.
pub(crate) fn ratio(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| part as f64 / all as f64)
}
