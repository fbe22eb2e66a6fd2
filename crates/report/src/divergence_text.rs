//! Divergence as text.

use std::collections::HashMap;

use crate::divergence::{Answer, Divergence, Gate, Item, ItemKind, Link};
use crate::table::{Align, counted, table};

/// Legend of the columns.
const LEGEND: &str = "
  uniform: the threads of a warp that execute it together have one predicate, address or set of operands
  divergent: they may have several; the lines below say where they come from
  part of the warp: it may be executed while other threads of the warp wait or go another way
  by data flow: from where values come from; by warp state: from which threads agree, followed along the code
";

pub(crate) fn text(report: &Divergence) -> String {
    let mut out = format!("{}: ", report.kernel);
    let of = |kind| report.items.iter().filter(move |item| item.kind == kind);
    let kinds = [
        (
            ItemKind::Branch,
            "branch",
            "may send threads of a warp different ways",
        ),
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
        .map(|&(kind, name, what)| {
            let all = of(kind).count();
            let divergent = of(kind).filter(|item| is_divergent(item)).count();
            format!("{divergent} of {} {what}", counted(all, name))
        })
        .collect();
    if parts.is_empty() {
        out.push_str("no branches, loads or barriers\n");
        return out;
    }
    out.push_str(&parts.join(", "));
    out.push_str("\n\n");
    let columns = [Align::Left; 5];
    let heads = [
        "at",
        "instruction",
        "by data flow",
        "by warp state",
        "source",
    ];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    rows.extend(report.items.iter().map(row));
    let lines = table(2, &columns, &rows);
    let mut shown: HashMap<Vec<Link>, String> = HashMap::new();
    let mut lines = lines.lines();
    out.push_str(lines.next().unwrap_or_default());
    out.push('\n');
    for (item, line) in report.items.iter().zip(lines) {
        out.push_str(line);
        out.push('\n');
        below(item, &mut shown, &mut out);
    }
    out.push_str(LEGEND);
    apart(report, &mut out);
    out
}

fn is_divergent(item: &Item) -> bool {
    item.values.gsa || item.kind == ItemKind::Barrier && item.partial.gsa
}

fn row(item: &Item) -> Vec<String> {
    let by = |values: bool, partial: bool| match (values, partial) {
        (true, false) => "divergent",
        (true, true) => "divergent, part of the warp",
        (false, false) => "uniform",
        (false, true) => "uniform, part of the warp",
    };
    let (values, partial) = (&item.values, &item.partial);
    vec![
        item.at.clone(),
        item.instruction.clone(),
        by(values.gsa, partial.gsa).to_owned(),
        by(values.agreement, partial.agreement).to_owned(),
        item.source.clone().unwrap_or_default(),
    ]
}

/// Why, in lines below the operation.
fn below(item: &Item, shown: &mut HashMap<Vec<Link>, String>, out: &mut String) {
    if item.values.gsa {
        in_contexts(&item.values, item, out);
        chain(&item.values.chain, &item.at, shown, out);
    }
    match item.partial.chain.as_slice() {
        [] => {}
        // The branch is in the list itself.
        [way, ..] if way.gate == Gate::Way => {
            let what = match way.at == item.at {
                true => "some threads have gone the other way before".to_owned(),
                false => format!("some threads go another way at {}", way.at),
            };
            out.push_str(&format!("      {what}\n"));
        }
        guard => {
            out.push_str("      its guard holds in some threads only\n");
            chain(guard, &item.at, shown, out);
        }
    }
    // Which lanes take part matters at barriers; elsewhere the columns say enough.
    let of_barrier = item.partial.difference.as_ref();
    let of_barrier = of_barrier.filter(|_| item.kind == ItemKind::Barrier);
    for difference in item.values.difference.iter().chain(of_barrier) {
        out.push_str(&format!("      {difference}\n"));
    }
    if item.may_deadlock() {
        out.push_str("      possible deadlock: it may wait for threads that wait for these\n");
    }
}

fn in_contexts(answer: &Answer, item: &Item, out: &mut String) {
    if answer.gsa_contexts < item.contexts {
        let (some, all) = (answer.gsa_contexts, item.contexts);
        out.push_str(&format!("      in {some} of {all} contexts\n"));
    }
    if !answer.calls.is_empty() {
        out.push_str(&format!("      called at {}\n", answer.calls.join(" > ")));
    }
}

/// The links that were not yet shown for another operation; `shown` has ends of chains, and where they are.
fn chain(links: &[Link], under: &str, shown: &mut HashMap<Vec<Link>, String>, out: &mut String) {
    let mut rows = Vec::new();
    let mut known = None;
    for (nth, link) in links.iter().enumerate() {
        let rest = &links[nth..];
        known = shown.get(rest).cloned();
        if known.is_some() {
            break;
        }
        shown.insert(rest.to_vec(), under.to_owned());
        rows.push(vec![
            name(link),
            link.at.clone(),
            link.instruction.clone().unwrap_or_default(),
            link.because.clone().unwrap_or_default(),
        ]);
    }
    out.push_str(&table(6, &[Align::Left; 4], &rows));
    if let Some(other) = known {
        let then = if rows.is_empty() { "as" } else { "then as" };
        out.push_str(&format!("      {then} under {other}\n"));
    }
}

fn name(link: &Link) -> String {
    let cell = link.cell.as_deref().unwrap_or_default();
    match link.gate {
        Gate::Written | Gate::Callee | Gate::Entry => cell.to_owned(),
        Gate::Conditional => format!("{cell}, where its guard holds"),
        Gate::Gamma => format!("{cell} after a branch"),
        Gate::Mu => format!("{cell} in each round of a loop"),
        Gate::Eta => format!("{cell} after a loop"),
        Gate::Way => "which way threads go".to_owned(),
    }
}

fn apart(report: &Divergence, out: &mut String) {
    if report.apart.is_empty() {
        return;
    }
    out.push_str("\nThe data flow takes for granted that threads which go different ways meet again, in each round of a loop. Here that\nis not known:\n");
    for apart in &report.apart {
        let what = match apart.for_values {
            true => "",
            false => "; it matters only for \"part of the warp\"",
        };
        out.push_str(&format!(
            "  after {} at {}{what}\n",
            apart.branch, apart.meeting
        ));
    }
}
