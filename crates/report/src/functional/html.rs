//! Untimed execution of a launch as one page of HTML.

use std::fmt::Write as _;

use crate::functional::{FunctionalReport, IssueCounts, RunNote};
use crate::html::{HtmlCell, HtmlTable, escaped, foot, head, list, size};

impl FunctionalReport {
    /// Returns the report as a page of HTML: totals, then counts by source line, class, opcode, branch and memory.
    pub fn html(&self) -> String {
        let mut out = head(&format!("{}, without time", self.kernel));
        let (grid, block) = (size(self.grid), size(self.block));
        let _ = writeln!(
            out,
            "<p class=\"bound\">Warps issued {} instructions.</p>\n<p class=\"dim\">{}; {grid} blocks of {block} threads</p>",
            self.issued.warp_instructions,
            escaped(&self.file)
        );
        let notes: Vec<String> = self.notes.iter().map(note_text).collect();
        list(2, "Notes", &notes, &mut out);
        self.html_totals(&mut out);
        // Shares are of all instructions, so that the colours of all tables can be compared.
        let most = self.issued.warp_instructions;
        let mut lines = IssueTable::new("Source lines", "line", &["diverged"], most);
        for line in &self.lines {
            let name = line.source.as_deref().unwrap_or("no line");
            lines.row(name, &line.issued, &[line.divergences]);
        }
        lines.0.write(&mut out);
        let mut branches = IssueTable::new("Branches", "branch", &["diverged"], most);
        for branch in &self.branches {
            let source = branch.source.as_deref().unwrap_or_default();
            let name = format!("{} {} {source}", branch.address, branch.mnemonic);
            branches.row(&name, &branch.issued, &[branch.divergences]);
        }
        branches.0.write(&mut out);
        let mut classes = IssueTable::new("Classes of instructions", "class", &[], most);
        for class in &self.classes {
            classes.row(&class.class, &class.issued, &[]);
        }
        classes.0.write(&mut out);
        let mut opcodes = IssueTable::new("Opcodes", "opcode", &[], most);
        for opcode in &self.mnemonics {
            opcodes.row(&opcode.mnemonic, &opcode.issued, &[]);
        }
        opcodes.0.write(&mut out);
        self.html_memory(&mut out);
        out.push_str(&foot());
        out
    }

    fn html_totals(&self, out: &mut String) {
        let issued = &self.issued;
        let rows = [
            ("warp instructions", issued.warp_instructions),
            ("thread instructions", issued.thread_instructions),
            (
                "of these with a guard that held",
                issued.executed_thread_instructions,
            ),
            ("times that lanes diverged", self.divergences),
            (
                "elements that are as the launch file expects",
                self.checked_elements as u64,
            ),
        ];
        let mut table = HtmlTable::new("Totals", &[("total", false), ("number", true)]);
        for (name, value) in rows {
            table.numbers(name, &[value]);
        }
        table.write(out);
    }

    fn html_memory(&self, out: &mut String) {
        let heads = [
            ("access", false),
            ("warp accesses", true),
            ("thread accesses", true),
            ("bytes", true),
        ];
        let mut table = HtmlTable::new("Memory", &heads);
        for memory in &self.memory {
            let name = format!("{} {}", memory.space, memory.access);
            let numbers = [memory.warp_accesses, memory.thread_accesses, memory.bytes];
            table.numbers(&name, &numbers);
        }
        table.write(out);
    }
}

/// Table of issue counts. The number is the count of all warp instructions, from which the share of each row is
/// computed.
struct IssueTable(HtmlTable, u64);

impl IssueTable {
    fn new(caption: &str, name: &str, more: &[&str], most: u64) -> IssueTable {
        let mut heads = vec![
            (name, false),
            ("executions", true),
            ("active lanes", true),
            ("lanes with a guard that held", true),
        ];
        heads.extend(more.iter().map(|&head| (head, true)));
        IssueTable(HtmlTable::new(caption, &heads), most)
    }

    fn row(&mut self, name: &str, issued: &IssueCounts, more: &[u64]) {
        let number = |n: u64| HtmlCell::Number(Some(n.into()));
        let mut cells = vec![
            HtmlCell::Text(name),
            HtmlCell::Share(issued.warp_instructions.into(), self.1.into()),
            number(issued.thread_instructions),
            number(issued.executed_thread_instructions),
        ];
        cells.extend(more.iter().map(|&n| number(n)));
        // Cells beyond the heads would be dropped, so `more` must have as many numbers as `new` had heads.
        self.0.row(&cells);
    }
}

/// Returns a note of a run as text.
pub(crate) fn note_text(note: &RunNote) -> String {
    let place = note.source.as_deref().unwrap_or(&note.address);
    let (mnemonic, message) = (&note.mnemonic, &note.message);
    let (location, times) = (&note.location, note.times);
    format!("{place}: {mnemonic} {message}, first in {location}; times: {times}")
}
