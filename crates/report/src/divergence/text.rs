//! Writer of divergence reports as text.

use std::collections::HashMap;

use crate::KernelReport;
use crate::divergence::{
    ChainLink, DeterminacyReport, DivergenceAnswer, DivergenceReport, Gate, ItemKind, OpReport,
};
use crate::table::{Align, counted, table};

/// Legend of the columns.
const LEGEND: &str = "
  uniform: the threads of a warp that execute it together have one predicate, address or set of operands
  divergent: they may have several; the lines below say where they come from
  part of the warp: it may be executed while other threads of the warp wait or have taken another branch
  by data flow: analysis of where values come from; by warp state: analysis of which threads agree, along the code
";

/// Legend of the columns for code that keeps masks of lanes.
const MASK_LEGEND: &str = "
  split: both arms of an if-else may be executed, each by the lanes of its side; skip: passes code that no lane would
  execute; latch: to the header of a loop; loop exit: out of the innermost loop; constant: one side is never taken;
  scalar: a register of the wave decides; mask: a mask decides that is not followed
  uniform: the lanes of a wave have one condition, address or set of operands; divergent: they may have several; the
  lines below say where they come from; part of the warp: other lanes may be inactive meanwhile
  by data flow: analysis of where values come from
";

impl DivergenceReport {
    /// Returns the report as text: a line per operation, followed by the reasons for its divergence.
    pub fn text(&self) -> String {
        text(self)
    }
}

fn text(report: &DivergenceReport) -> String {
    let mut out = format!("{}: ", report.kernel);
    let of = |kind| report.items.iter().filter(move |item| item.kind == kind);
    let kinds = [
        (ItemKind::Branch, "branch", "may diverge"),
        (
            ItemKind::Load,
            "load",
            "may have several addresses in a warp",
        ),
        (ItemKind::Barrier, "barrier", "may be divergent"),
    ];
    let parts: Vec<String> = kinds
        .iter()
        .filter(|(kind, ..)| of(*kind).next().is_some())
        .map(|&(kind, name, note)| {
            let all = of(kind).count();
            let divergent = of(kind).filter(|item| is_divergent(item)).count();
            format!("{divergent} of {} {note}", counted(all, name))
        })
        .collect();
    if parts.is_empty() {
        out.push_str("no branches, loads or barriers\n");
        return out;
    }
    out.push_str(&parts.join(", "));
    out.push_str("\n\n");
    let columns = [Align::Left; 5];
    // Only branches of code that keeps masks of lanes have a kind.
    let keeps_masks = report.items.iter().any(|item| item.site.is_some());
    let third = match keeps_masks {
        true => ["branch", "by data flow"],
        false => ["by data flow", "by warp state"],
    };
    let heads = ["at", "instruction", third[0], third[1], "source"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    rows.extend(report.items.iter().map(|item| row(item, keeps_masks)));
    let lines = table(2, &columns, &rows);
    // By whole suffixes: equal ends of two chains are explained once.
    let mut shown: HashMap<Vec<ChainLink>, String> = HashMap::new();
    let mut lines = lines.lines();
    out.push_str(lines.next().unwrap_or_default());
    out.push('\n');
    for (item, line) in report.items.iter().zip(lines) {
        out.push_str(line);
        out.push('\n');
        write_reasons(item, &mut shown, &mut out);
    }
    out.push_str(match keeps_masks {
        true => MASK_LEGEND,
        false => LEGEND,
    });
    write_missed_reconvergences(report, &mut out);
    if let Some(reason) = report.without_determinacy {
        out.push_str(&format!("\n{reason}\n"));
    }
    out
}

/// Whether the summary counts an operation as divergent. A barrier is divergent also if only part of a warp executes
/// it.
fn is_divergent(item: &OpReport) -> bool {
    item.values.gsa || item.kind == ItemKind::Barrier && item.partial.gsa
}

/// Returns the row of an operation: address, instruction, two answers (or the kind of branch and one answer), source
/// line.
fn row(item: &OpReport, keeps_masks: bool) -> Vec<String> {
    let by = |values: bool, partial: bool| match (values, partial) {
        (true, false) => "divergent",
        (true, true) => "divergent, part of the warp",
        (false, false) => "uniform",
        (false, true) => "uniform, part of the warp",
    };
    let (values, partial) = (&item.values, &item.partial);
    let by_flow = by(values.gsa, partial.gsa).to_owned();
    let answers = match keeps_masks {
        true => [item.site.unwrap_or_default().to_owned(), by_flow],
        false => [by_flow, by(values.agreement, partial.agreement).to_owned()],
    };
    let mut row = vec![item.at.clone(), item.instruction.clone()];
    row.extend(answers);
    row.push(item.source.clone().unwrap_or_default());
    row
}

/// Appends the reasons for divergence below the operation.
fn write_reasons(item: &OpReport, shown: &mut HashMap<Vec<ChainLink>, String>, out: &mut String) {
    if let Some(determinacy) = &item.determinacy {
        write_determinacy(determinacy, out);
    }
    if item.values.gsa {
        write_contexts(&item.values, item, out);
        write_chain(&item.values.chain, &item.at, shown, out);
    }
    match item.partial.chain.as_slice() {
        [] => {}
        // The branch is a row of the table itself, and the chain that explains it is below that row.
        [link, ..] if link.gate == Gate::ControlDependence => {
            let note = match link.at == item.at {
                true => "some threads have taken the other successor before".to_owned(),
                false => format!("threads diverge at {}", link.at),
            };
            out.push_str(&format!("      {note}\n"));
        }
        guard => {
            out.push_str("      its guard holds in some threads only\n");
            write_chain(guard, &item.at, shown, out);
        }
    }
    // Only at barriers does it matter which lanes take part. Elsewhere the columns say enough.
    let of_barrier = item.partial.difference.as_ref();
    let of_barrier = of_barrier.filter(|_| item.kind == ItemKind::Barrier);
    for difference in item.values.difference.iter().chain(of_barrier) {
        out.push_str(&format!("      {difference}\n"));
    }
    if item.may_deadlock() {
        out.push_str("      possible deadlock: it may wait for threads that wait for these\n");
    }
}

/// Appends the knowledge that the condition of a branch requires.
fn write_determinacy(determinacy: &DeterminacyReport, out: &mut String) {
    let origins = match determinacy.origins.is_empty() {
        true => "constant".to_owned(),
        false => determinacy.origins.join(" + "),
    };
    out.push_str(&format!("      follows from {origins}"));
    if determinacy.tainted {
        out.push_str(" (tainted)");
    }
    if !determinacy.loads.is_empty() {
        out.push_str(&format!(", loaded at {}", determinacy.loads.join(", ")));
        if determinacy.more_loads {
            out.push_str(" and elsewhere");
        }
    }
    out.push('\n');
}

/// Appends the calling contexts if only some of them are divergent.
fn write_contexts(answer: &DivergenceAnswer, item: &OpReport, out: &mut String) {
    if answer.gsa_contexts < item.contexts {
        let (some, all) = (answer.gsa_contexts, item.contexts);
        out.push_str(&format!("      in {some} of {all} contexts\n"));
    }
    if !answer.calls.is_empty() {
        out.push_str(&format!("      called at {}\n", answer.calls.join(" > ")));
    }
}

/// Appends the links that were not yet shown for another operation. `shown` maps each suffix of a chain to the
/// address under which it was shown.
fn write_chain(
    links: &[ChainLink],
    under: &str,
    shown: &mut HashMap<Vec<ChainLink>, String>,
    out: &mut String,
) {
    let mut rows = Vec::new();
    let mut known = None;
    for (nth, link) in links.iter().enumerate() {
        // Chains share their ends, so a known suffix is a reference instead of a repetition.
        let rest = &links[nth..];
        known = shown.get(rest).cloned();
        if known.is_some() {
            break;
        }
        shown.insert(rest.to_vec(), under.to_owned());
        rows.push(vec![
            definition_text(link),
            link.at.clone(),
            link.instruction.clone().unwrap_or_default(),
            link.reason.clone().unwrap_or_default(),
        ]);
    }
    out.push_str(&table(6, &[Align::Left; 4], &rows));
    if let Some(other) = known {
        let then = if rows.is_empty() { "as" } else { "then as" };
        out.push_str(&format!("      {then} under {other}\n"));
    }
}

/// Formats the cell and kind of a definition.
fn definition_text(link: &ChainLink) -> String {
    let cell = link.cell.as_deref().unwrap_or_default();
    match link.gate {
        Gate::Written | Gate::Callee | Gate::Entry => cell.to_owned(),
        Gate::Conditional => format!("{cell}, where its guard holds"),
        Gate::Gamma => format!("{cell} after a branch"),
        Gate::Mu => format!("{cell} in each iteration of a loop"),
        Gate::Eta => format!("{cell} after a loop"),
        Gate::ControlDependence => "which branch threads take".to_owned(),
    }
}

/// Appends the branches for which reconvergence is not proved.
fn write_missed_reconvergences(report: &DivergenceReport, out: &mut String) {
    if report.missed_reconvergences.is_empty() {
        return;
    }
    out.push_str("\nThe analysis by data flow assumes that diverged threads reconverge, in each iteration of a loop. Not proved for:\n");
    for missed in &report.missed_reconvergences {
        let note = match missed.for_values {
            true => "",
            false => "; it matters only for \"part of the warp\"",
        };
        out.push_str(&format!(
            "  after {} at {}{note}\n",
            missed.branch, missed.reconvergence
        ));
    }
}

impl KernelReport for DivergenceReport {
    const SCHEMA_OF_SEVERAL: &'static str = "warpbound.divergences/1";

    fn to_text(&self) -> String {
        self.text()
    }
}
