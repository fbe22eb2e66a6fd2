//! Writer of untimed executions as text.

use crate::functional::{FunctionalReport, IssueCounts, RunNote};
use crate::table::{Align, counted, section};

use Align::{Left, Right};

impl FunctionalReport {
    /// Returns the report as text. With `stats`, a table follows for each kind of count.
    pub fn text(&self, stats: bool) -> String {
        let size = |[x, y, z]: [u32; 3]| format!("{x} x {y} x {z}");
        let mut out = format!(
            "kernel {}  ({})\n  {} blocks of {} threads\n  {} warp instructions, {} active lanes on average; \
             diverged {}\n",
            self.kernel,
            self.file,
            size(self.grid),
            size(self.block),
            self.issued.warp_instructions,
            lanes(&self.issued),
            counted(self.divergences as usize, "time")
        );
        if self.checked_elements > 0 {
            let elements = counted(self.checked_elements, "element");
            out.push_str(&format!(
                "  {elements} of buffers are as the launch file expects\n"
            ));
        }
        for note in &self.notes {
            out.push_str(&note_line(note));
        }
        if stats {
            self.write_statistics(&mut out);
        }
        out
    }

    fn write_statistics(&self, out: &mut String) {
        let named = |name: &str, issued: &IssueCounts| {
            let mut row = vec![name.to_owned()];
            row.extend(counts(issued));
            row.push(self.share(issued));
            row
        };
        let columns = [Left, Right, Right, Right, Right];
        let head = |name| vec![name, "warps", "threads", "active lanes", "share"];
        let rows = self.classes.iter().map(|c| named(&c.class, &c.issued));
        section(out, &columns, head("class"), rows);
        let rows = self.mnemonics.iter().map(|c| named(&c.mnemonic, &c.issued));
        section(out, &columns, head("opcode"), rows);
        let rows = self.branches.iter().map(|branch| {
            let mut row = vec![branch.address.clone(), branch.mnemonic.clone()];
            row.push(source(&branch.source));
            row.extend(counts(&branch.issued));
            row.push(branch.issued.executed_thread_instructions.to_string());
            row.push(branch.divergences.to_string());
            row
        });
        section(
            out,
            &[Left, Left, Left, Right, Right, Right, Right, Right],
            vec![
                "branch",
                "",
                "line",
                "warps",
                "threads",
                "active lanes",
                "taken by",
                "diverged",
            ],
            rows,
        );
        let rows = self.memory.iter().map(|memory| {
            let numbers = [memory.warp_accesses, memory.thread_accesses, memory.bytes];
            let mut row = vec![memory.space.to_owned(), memory.access.to_owned()];
            row.extend(numbers.map(|n| n.to_string()));
            row
        });
        section(
            out,
            &[Left, Left, Right, Right, Right],
            vec!["memory", "", "warps", "threads", "bytes"],
            rows,
        );
        let rows = self.lines.iter().map(|line| {
            let mut row = named(&source(&line.source), &line.issued);
            row.push(line.divergences.to_string());
            row
        });
        let mut head = head("line");
        head.push("diverged");
        section(out, &[Left, Right, Right, Right, Right, Right], head, rows);
    }

    /// Formats the share in all warp instructions in percent.
    fn share(&self, issued: &IssueCounts) -> String {
        // A run without instructions has no shares, but must not divide by 0.
        let all = u128::from(self.issued.warp_instructions.max(1));
        // A thousand times a count of 64 bits may exceed 64 bits.
        let tenths = u128::from(issued.warp_instructions) * 1000 / all;
        format!("{}.{} %", tenths / 10, tenths % 10)
    }
}

/// Formats a note as a line.
pub(crate) fn note_line(note: &RunNote) -> String {
    let source = match &note.source {
        Some(source) => format!(" ({source})"),
        None => String::new(),
    };
    let times = match note.times {
        1 => String::new(),
        times => format!("; {} times in all", times),
    };
    let RunNote {
        address,
        mnemonic,
        message,
        location,
        ..
    } = note;
    format!("  note: {address}: {mnemonic}: {message}, in {location}{source}{times}\n")
}

pub(crate) fn source(source: &Option<String>) -> String {
    source.clone().unwrap_or_else(|| "-".to_owned())
}

/// Returns the cells of warp instructions, of thread instructions, and of active lanes per warp instruction.
fn counts(issued: &IssueCounts) -> [String; 3] {
    [
        issued.warp_instructions.to_string(),
        issued.thread_instructions.to_string(),
        lanes(issued),
    ]
}

/// Formats the average number of active lanes per warp instruction with one decimal.
pub(crate) fn lanes(issued: &IssueCounts) -> String {
    // Saturation only affects the display. A run without instructions must not divide by 0.
    let tenths = issued.thread_instructions.saturating_mul(10) / issued.warp_instructions.max(1);
    format!("{}.{}", tenths / 10, tenths % 10)
}
