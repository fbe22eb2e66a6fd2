//! Machine code of a run as HTML: executions, lanes and cycles of each issued instruction.

use std::fmt::Write as _;

use crate::html::{escaped, heat};
use crate::machine_code::address_order;
use crate::timed::{InstructionTime, Stalls, TimedReport};

/// Returns the issued instructions in order of address, with the source lines between them.
pub(crate) fn run_code(report: &TimedReport) -> String {
    let mut instructions: Vec<&InstructionTime> = report.instructions.iter().collect();
    instructions
        .sort_by(|one, other| address_order(&one.address).cmp(&address_order(&other.address)));
    if instructions.is_empty() {
        return String::new();
    }
    let has_control = instructions.iter().any(|at| at.control.is_some());
    let mut out = String::from(
        "<h2>Machine code</h2>\n<p class=\"dim\">Instructions that were issued. Cycles are those up to the issue, from the issue before it.</p>\n<div class=\"scroll code r\" role=group aria-label=\"Machine code\" tabindex=0><table><thead><tr>",
    );
    for head in ["address", "executions", "active lanes", "cycles"] {
        let class = if head == "address" { "" } else { " class=n" };
        let _ = write!(out, "<th scope=col{class}>{head}");
    }
    let columns = if has_control { 7 } else { 6 };
    if has_control {
        out.push_str("<th scope=col>stall y w r wait   reuse");
    }
    out.push_str("<th scope=col>instruction<th scope=col>cycles by reason<tbody>\n");
    let most = |of: &dyn Fn(&InstructionTime) -> u64| {
        u128::from(instructions.iter().map(|at| of(at)).max().unwrap_or(0))
    };
    let most_issues = most(&|at| at.warp_instructions);
    let most_cycles = most(&|at| at.warp_cycles);
    let mut source = None;
    for at in &instructions {
        // A source line is shown where it changes, as in a listing.
        if at.source != source {
            source.clone_from(&at.source);
            let line = source.as_deref().unwrap_or("no line");
            let _ = writeln!(out, "<tr class=s><td colspan={columns}>{}", escaped(line));
        }
        let (issues, cycles) = (at.warp_instructions, at.warp_cycles);
        let _ = write!(
            out,
            "<tr><td>{}<td{}>{issues}<td class=n>{}<td{}>{cycles}",
            at.address,
            heat(issues.into(), most_issues),
            at.thread_instructions,
            heat(cycles.into(), most_cycles),
        );
        if has_control {
            let _ = write!(out, "<td>{}", at.control.as_deref().unwrap_or_default());
        }
        let (text, stalls) = (escaped(&at.text), stall_text(&at.stalls));
        let _ = writeln!(out, "<td>{text}<td class=t>{stalls}");
    }
    out.push_str("</table></div>\n");
    out
}

/// Returns the reasons that have cycles, as text: `memory 120, dependency 20`.
pub(crate) fn stall_text(stalls: &Stalls) -> String {
    let mut named = stalls.named();
    named.sort_by_key(|(_, cycles)| std::cmp::Reverse(*cycles));
    let named = named.iter().filter(|(_, cycles)| *cycles > 0);
    let texts: Vec<String> = named
        .map(|(name, cycles)| format!("{name} {cycles}"))
        .collect();
    texts.join(", ")
}
