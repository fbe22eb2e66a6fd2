//! Machine code of a kernel as HTML, with its source lines and the control-flow graph.

use std::fmt::Write as _;

use crate::graph::svg::svg;
use crate::html::{escaped, heat};
use crate::machine_code::{AnnotatedInstruction, MachineCodeReport};

/// Maximum number of blocks in a drawn graph, because larger drawings are not legible.
const MAX_BLOCKS: usize = 120;

/// Returns the machine code and the graph. `id` is the id of the kernel in the page.
pub(crate) fn machine_code(code: &MachineCodeReport, id: &str) -> String {
    let mut out = String::from(
        "<details><summary>Machine code</summary>\n<div class=\"scroll code\" role=group aria-label=\"Machine code\" tabindex=0><table><thead><tr>",
    );
    let has_control = code.instructions.iter().any(|i| i.control.is_some());
    out.push_str("<th scope=col>address<th scope=col class=n>executions");
    if has_control {
        out.push_str("<th scope=col>stall y w r wait   reuse");
    }
    out.push_str("<th scope=col>instruction<th scope=col>lanes and accesses<tbody>\n");
    let most = |value: &dyn Fn(&AnnotatedInstruction) -> Option<u128>| {
        code.instructions
            .iter()
            .filter_map(value)
            .max()
            .unwrap_or(0)
    };
    let most_executions = most(&|i| i.executions);
    // Executions and cycles have scales of their own, because their largest values are unrelated.
    let most_cycles = most(&|i| i.line_cycles.map(u128::from));
    // Rows of source lines and labels span all columns.
    let columns = if has_control { 5 } else { 4 };
    for instruction in &code.instructions {
        source_row(instruction, columns, most_cycles, &mut out);
        for label in &instruction.labels {
            let _ = writeln!(out, "<tr class=l><td colspan={columns}>{}:", escaped(label));
        }
        instruction_row(instruction, has_control, most_executions, &mut out);
    }
    out.push_str("</table></div></details>\n");
    match &code.graph {
        Some(graph) if graph.nodes.len() <= MAX_BLOCKS => {
            let drawing = svg(graph, id);
            let _ = write!(
                out,
                "<details><summary>Control-flow graph</summary>\n<div class=\"graph\" role=\"group\" aria-label=\"Control-flow graph\" tabindex=\"0\">{drawing}</div></details>\n"
            );
        }
        Some(_) => out.push_str(
            "<p class=\"dim\">The control-flow graph is too large to be drawn here; <code>warpbound cfg</code> writes it.</p>\n",
        ),
        None => {}
    }
    out
}

/// Appends the source line if it begins at this instruction, with the cycles of the line.
fn source_row(instruction: &AnnotatedInstruction, columns: usize, most: u128, out: &mut String) {
    let Some(source) = &instruction.source else {
        return;
    };
    let cycles = instruction.line_cycles.map_or(String::new(), |cycles| {
        let class = heat(cycles.into(), most);
        format!(" <span{class}>{cycles} cycles</span>")
    });
    let text = instruction.source_text.as_deref().unwrap_or_default();
    let _ = writeln!(
        out,
        "<tr class=s><td colspan={columns}>{}{cycles}  {}",
        escaped(source),
        escaped(text)
    );
}

/// Appends an instruction.
fn instruction_row(
    instruction: &AnnotatedInstruction,
    has_control: bool,
    most: u128,
    out: &mut String,
) {
    let executions = instruction.executions;
    // HTML does not need these end tags. They are left out because code is most of a page.
    let _ = write!(
        out,
        "<tr><td>{}<td{}>{}",
        instruction.at,
        executions.map_or(String::new(), |n| heat(n, most)),
        executions.map_or(String::new(), |n| n.to_string())
    );
    if has_control {
        let control = instruction.control.as_deref().unwrap_or_default();
        let _ = write!(out, "<td>{control}");
    }
    let _ = write!(out, "<td>{}", escaped(&instruction.text));
    let mut findings = Vec::new();
    // Without a line table, the cycles belong to the instruction.
    if let (None, Some(cycles)) = (&instruction.source, instruction.line_cycles) {
        findings.push(format!("{cycles} cycles"));
    }
    findings.extend(instruction.access.clone());
    findings.extend(instruction.divergence.clone());
    // An empty last cell is left out, because code is most of a page.
    if !findings.is_empty() {
        let _ = write!(out, "<td class=t>{}", escaped(&findings.join("; ")));
    }
    out.push('\n');
}
