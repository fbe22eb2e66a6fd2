//! Gap breakdown as one page of HTML: the chain from the bound to the worst simulated run, as bars and as a table.

use std::fmt::Write as _;

use crate::gap::GapReport;
use crate::html::{HtmlCell, HtmlTable, escaped, foot, head, list};

impl GapReport {
    /// Returns the report as a page of HTML.
    pub fn html(&self) -> String {
        let mut out = head(&format!("{} on {}", self.kernel, self.machine));
        let (bound, worst, runs) = (self.bound, self.worst_simulated, self.runs);
        let _ = writeln!(
            out,
            "<p class=\"bound\">At most {bound} cycles, and {worst} in the worst of {runs} simulated runs.</p>"
        );
        let overhead = match self.launch_overhead {
            0 => String::new(),
            cycles => format!("; a launch overhead of {cycles} cycles is in both"),
        };
        let settings = format!("{}; caches {}{overhead}", self.file, self.caches);
        let _ = writeln!(out, "<p class=\"dim\">{}</p>", escaped(&settings));
        let _ = writeln!(out, "<p>Worst run: {}.</p>", escaped(&self.worst_run));
        if let Some(name) = self.inversion() {
            let _ = writeln!(
                out,
                "<p class=\"bound\">The chain inverts at \u{201c}{}\u{201d}: more is known there, but the cycles are more, so one of the values is wrong.</p>",
                escaped(name)
            );
        }
        out.push_str("<p>Each row replaces one more claim of the bound by what was observed in the worst run. The gap is the sum of what each replacement takes away.</p>\n");
        self.html_chain(&mut out);
        list(2, "Notes", &self.notes, &mut out);
        out.push_str(&foot());
        out
    }

    /// Appends the chain, with each element's part of the gap.
    fn html_chain(&self, out: &mut String) {
        let heads = [
            ("as in the worst run", false),
            ("cycles", true),
            ("less by", true),
            ("replaced alone", true),
        ];
        let mut table = HtmlTable::new("From the bound to the worst simulated run", &heads);
        // A negative gap has no parts to draw.
        let gap = u128::try_from(self.gap()).unwrap_or(0);
        for element in &self.chain {
            let share = self.shares.iter().find(|share| share.name == element.name);
            let less = share.map(|share| share.telescoped);
            let alone = share.and_then(|share| share.alone);
            table.row(&[
                HtmlCell::Text(element.name),
                HtmlCell::Bar(Some(element.value.into()), self.bound.into()),
                // A step that rises, because the chain inverts, has no bar.
                HtmlCell::Bar(less, gap),
                HtmlCell::Signed(alone),
            ]);
        }
        table.write(out);
    }
}
