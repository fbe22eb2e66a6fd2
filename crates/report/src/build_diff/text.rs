//! Text of the comparison of two builds.

use crate::bound::Origin;
use crate::build_diff::{
    BuildDiffReport, ClassCountAt, DiffPlace, FigureChange, KernelDiff, LineChange, LoopChange,
    LoopSide, NamedKernel, difference,
};
use crate::conditions::BoundAssumption;
use crate::table::counted;

/// Maximum number of names, lines and places in a list.
const SHOWN: usize = 8;

impl BuildDiffReport {
    /// Returns the comparison as text.
    pub fn text(&self) -> String {
        let mut out = format!("{} -> {}\n", self.old, self.new);
        for line in self.summary_lines() {
            out.push_str(&format!("  {line}\n"));
        }
        for kernel in &self.kernels {
            out.push_str(&format!(
                "\n{}  {}\n",
                kernel.kernel.name, kernel.kernel.isa
            ));
            if let Some(old) = &kernel.old_name {
                out.push_str(&format!(
                    "  was {old}, paired {}\n",
                    kernel.paired_by.text()
                ));
            }
            for line in kernel_lines(kernel) {
                out.push_str(&format!("  {line}\n"));
            }
        }
        names(&mut out, "only in the old build", &self.removed);
        names(&mut out, "only in the new build", &self.added);
        names(&mut out, "other code, the same figures", &self.same_figures);
        let not_compared = self.not_compared();
        if !not_compared.is_empty() {
            out.push_str("\nnot compared:\n");
        }
        for line in &not_compared {
            out.push_str(&format!("  {line}\n"));
        }
        out
    }

    /// Returns the numbers of kernels as lines.
    pub(crate) fn summary_lines(&self) -> Vec<String> {
        let summary = &self.summary;
        let mut lines = vec![format!(
            "{} in the old build, {} in the new one: {} the same, {} with other code and the same figures, {} different, \
             {} gone, {} new",
            counted(summary.old_kernels, "kernel"),
            summary.new_kernels,
            summary.identical,
            summary.same_figures,
            summary.different,
            summary.removed,
            summary.added
        )];
        let ways = [
            (summary.paired_without_hashes, "by name without digests"),
            (summary.paired_by_code, "by code"),
            (
                summary.paired_by_bare_name,
                "by name without template arguments",
            ),
            (summary.paired_by_shape, "by shape"),
        ];
        let ways: Vec<String> = ways
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, way)| format!("{count} {way}"))
            .collect();
        // If all pairs have the same name, the line would say nothing new.
        if !ways.is_empty() {
            let by_name = summary.paired_by_name;
            lines.push(format!("paired: {by_name} by name, {}", ways.join(", ")));
        }
        lines
    }
}

/// Appends a list of names.
fn names(out: &mut String, title: &str, kernels: &[NamedKernel]) {
    if kernels.is_empty() {
        return;
    }
    out.push_str(&format!("\n{title}:\n"));
    for kernel in kernels.iter().take(SHOWN * 4) {
        out.push_str(&format!("  {}  {}\n", kernel.name, kernel.isa));
    }
    if let Some(more) = kernels
        .len()
        .checked_sub(SHOWN * 4)
        .filter(|&more| more > 0)
    {
        out.push_str(&format!("  and {more} more\n"));
    }
}

/// Returns the differences of a kernel as lines; details are indented.
pub(crate) fn kernel_lines(kernel: &KernelDiff) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for change in &kernel.figures {
        lines.push(format!("{:<17}{}", change.figure, values(change)));
        lines.extend(
            change
                .place
                .iter()
                .map(|place| format!("  {}", place_text(place))),
        );
    }
    lines.extend(kernel.loops.iter().map(loop_text));
    shares(&mut lines, "instructions by line", &kernel.lines);
    shares(&mut lines, "cycles by line", &kernel.cycle_lines);
    let mix = kernel.mix.iter().map(|change| {
        let by = difference(change.old.into(), change.new.into());
        format!("{}: {} -> {}  {by}", change.class, change.old, change.new)
    });
    list(&mut lines, "instructions by class", mix.collect());
    let classes = |all: &[ClassCountAt]| all.iter().map(class_text).collect();
    list(
        &mut lines,
        "accesses gained",
        classes(&kernel.gained_accesses),
    );
    list(&mut lines, "accesses lost", classes(&kernel.lost_accesses));
    list(
        &mut lines,
        "divergence gained",
        classes(&kernel.gained_divergence),
    );
    list(
        &mut lines,
        "divergence lost",
        classes(&kernel.lost_divergence),
    );
    let texts = |all: &[BoundAssumption]| {
        let text = |own: &BoundAssumption| format!("{}: {}", own.id, own.text);
        all.iter().map(text).collect()
    };
    list(
        &mut lines,
        "assumptions new",
        texts(&kernel.gained_assumptions),
    );
    list(
        &mut lines,
        "assumptions gone",
        texts(&kernel.lost_assumptions),
    );
    lines
}

/// Returns the values of a figure as text.
pub(crate) fn values(change: &FigureChange) -> String {
    let value = |value: Option<u128>, note: &Option<String>| match (value, note) {
        (Some(value), Some(note)) => format!("{value} ({note})"),
        (Some(value), None) => value.to_string(),
        (None, Some(note)) => format!("none ({note})"),
        (None, None) => "none".to_owned(),
    };
    let old = value(change.old, &change.old_note);
    let new = value(change.new, &change.new_note);
    let by = change.difference();
    let by = if by.is_empty() { by } else { format!("  {by}") };
    format!("{old} -> {new} {}{by}", change.unit)
}

/// Returns a place as text.
pub(crate) fn place_text(place: &DiffPlace) -> String {
    match (&place.source, place.at.is_empty()) {
        // A source line is easier to find than an address.
        (Some(source), _) => format!("{source}: {}", place.note),
        (None, false) => format!("{}: {}", place.at, place.note),
        (None, true) => place.note.clone(),
    }
}

/// Returns a loop as text.
pub(crate) fn loop_text(change: &LoopChange) -> String {
    let name = |side: &LoopSide| match &side.source {
        Some(source) => format!("{} at {source}", side.id),
        None => format!("{} at {}", side.id, side.at),
    };
    match (&change.old, &change.new) {
        (Some(old), Some(new)) => {
            // Loops are compared by what the worst path issues in them, because equal iterations of a longer body
            // cost more.
            let by = difference(old.instructions, new.instructions);
            let bounds = match iterations(old) == iterations(new) {
                true => iterations(new),
                false => format!("{} -> {}", iterations(old), iterations(new)),
            };
            let (before, after) = (old.instructions, new.instructions);
            format!(
                "loop {}: {bounds}; {before} -> {after} instructions  {by}",
                name(new)
            )
        }
        (Some(old), None) => format!("loop {} is gone: {}", name(old), iterations(old)),
        (None, Some(new)) => format!("loop {} is new: {}", name(new), iterations(new)),
        (None, None) => String::new(),
    }
}

/// Returns the iterations of a loop and their origin as text.
pub(crate) fn iterations(side: &LoopSide) -> String {
    let origin = match side.origin {
        Origin::Derived => "derived",
        Origin::Launch => "from the launch",
        Origin::Facts => "from the facts",
        Origin::LoopDefault => "by default",
        Origin::Missing => return "no fact".to_owned(),
    };
    let bound = side.bound.map_or("?".to_owned(), |n| n.to_string());
    let total = side
        .total
        .map_or(String::new(), |n| format!(", {n} in all"));
    format!("{bound} per entry{total} ({origin})")
}

/// Returns a class of operations as text.
fn class_text(class: &ClassCountAt) -> String {
    let shown: Vec<&str> = class
        .places
        .iter()
        .take(SHOWN)
        .map(String::as_str)
        .collect();
    let more = if class.places.len() > SHOWN {
        ", …"
    } else {
        ""
    };
    match shown.is_empty() {
        true => format!("{} × {}", class.count, class.class),
        false => format!(
            "{} × {} at {}{more}",
            class.count,
            class.class,
            shown.join(", ")
        ),
    }
}

/// Returns a line and its share of both bounds as text.
pub(crate) fn share_text(change: &LineChange) -> String {
    let by = difference(change.old, change.new);
    let (old, new) = (change.old, change.new);
    let line = match (&change.old_line, &change.new_line) {
        (Some(before), Some(after)) if before != after => format!("{after} (was {before})"),
        (_, Some(after)) => after.clone(),
        (Some(before), None) => format!("{before}, gone"),
        (None, None) => String::new(),
    };
    format!("{line}: {old} -> {new}  {by}")
}

/// Appends the shares of lines.
fn shares(lines: &mut Vec<String>, title: &str, changes: &[LineChange]) {
    list(lines, title, changes.iter().map(share_text).collect());
}

/// Appends a titled list of limited length.
fn list(lines: &mut Vec<String>, title: &str, items: Vec<String>) {
    if items.is_empty() {
        return;
    }
    lines.push(format!("{title}:"));
    let more = items.len().saturating_sub(SHOWN);
    lines.extend(
        items
            .into_iter()
            .take(SHOWN)
            .map(|item| format!("  {item}")),
    );
    if more > 0 {
        lines.push(format!("  and {more} more"));
    }
}
