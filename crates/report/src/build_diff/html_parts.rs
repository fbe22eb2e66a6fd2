//! Sections of a page about two builds: one for each differing kernel, and lists of the others.

use std::fmt::Write as _;

use crate::build_diff::text::{iterations, place_text};
use crate::build_diff::{
    BuildDiffReport, ClassCountAt, FigureChange, KernelDiff, LineChange, LoopChange, LoopSide,
    MixChange, NamedKernel,
};
use crate::conditions::BoundAssumption;
use crate::html::{HtmlCell, HtmlTable, SECTION_END, escaped, list, section_head};

/// Table of the figures that differ, with a link to the section of each kernel.
pub(crate) struct DiffIndex(HtmlTable);

impl DiffIndex {
    /// Begins the table.
    pub(crate) fn new() -> DiffIndex {
        let heads = [
            ("kernel", false),
            ("architecture", false),
            ("figure", false),
            ("old", true),
            ("new", true),
            ("change", true),
            ("where", false),
        ];
        DiffIndex(HtmlTable::new("Figures that differ", &heads))
    }

    /// Appends the figures of a kernel. `link` is the address of its section.
    pub(crate) fn rows(&mut self, kernel: &KernelDiff, link: &str) {
        let name = format!("<a href=\"{link}\">{}</a>", escaped(&kernel.kernel.name));
        let isa = &kernel.kernel.isa;
        if kernel.figures.is_empty() {
            self.0.row(&[
                HtmlCell::Raw(name),
                HtmlCell::Text(isa),
                // The kernel differs elsewhere, for example in its loops, so it stays in the index.
                HtmlCell::Text("none; see the details"),
            ]);
            return;
        }
        for change in &kernel.figures {
            let place = change.place.as_ref().map(place_text).unwrap_or_default();
            self.0.row(&[
                HtmlCell::Raw(name.clone()),
                HtmlCell::Text(isa),
                HtmlCell::Text(change.figure),
                HtmlCell::Number(change.old),
                HtmlCell::Number(change.new),
                HtmlCell::of_change(change.change, change.old),
                HtmlCell::Text(&place),
            ]);
        }
    }

    /// Completes the table, with a place for the tools that the script adds.
    pub(crate) fn finish(self) -> String {
        format!("<div class=\"tools\"></div>\n{}", self.0.finish())
    }
}

/// Returns the numbers of kernels as paragraphs.
pub(crate) fn summary(report: &BuildDiffReport) -> String {
    let lines = report.summary_lines();
    let lines = lines
        .iter()
        .map(|line| format!("<p>{}.</p>\n", escaped(line)));
    lines.collect()
}

/// Returns the section of a kernel, folded. `id` is its name in the page.
pub(crate) fn section(kernel: &KernelDiff, id: &str) -> String {
    let mut out = section_head(&kernel.kernel.name, id);
    let pair = match &kernel.old_name {
        Some(old) => format!("; was {old}, paired {}", kernel.paired_by.text()),
        None => String::new(),
    };
    let (isa, file) = (&kernel.kernel.isa, &kernel.kernel.file);
    let head = escaped(&format!("{isa}, {file}{pair}"));
    let _ = writeln!(out, "<p class=\"dim\">{head}</p>");
    figures(&kernel.figures, &mut out);
    loops(&kernel.loops, &mut out);
    lines(
        "Instructions of the worst path by source line",
        &kernel.lines,
        &mut out,
    );
    lines("Cycles by source line", &kernel.cycle_lines, &mut out);
    mix(&kernel.mix, &mut out);
    let classes_of = [
        ("Accesses gained", &kernel.gained_accesses),
        ("Accesses lost", &kernel.lost_accesses),
        ("Divergence gained", &kernel.gained_divergence),
        ("Divergence lost", &kernel.lost_divergence),
    ];
    for (caption, all) in classes_of {
        classes(caption, all, &mut out);
    }
    assumptions(
        "Assumptions that are new",
        &kernel.gained_assumptions,
        &mut out,
    );
    assumptions(
        "Assumptions that are gone",
        &kernel.lost_assumptions,
        &mut out,
    );
    out.push_str(SECTION_END);
    out
}

/// Returns the lists of kernels that have no section.
pub(crate) fn lists(report: &BuildDiffReport) -> String {
    let mut out = String::new();
    kernels("Only in the old build", &report.removed, &mut out);
    kernels("Only in the new build", &report.added, &mut out);
    kernels(
        "Other code, the same figures",
        &report.same_figures,
        &mut out,
    );
    renamed(report, &mut out);
    list(2, "Not compared", &report.not_compared(), &mut out);
    out
}

/// Appends the differing figures, each with its limits and with the place that explains it.
fn figures(changes: &[FigureChange], out: &mut String) {
    let heads = [
        ("figure", false),
        ("old", true),
        ("new", true),
        ("change", true),
        ("unit", false),
        ("where", false),
    ];
    let mut table = HtmlTable::new("Figures", &heads);
    for change in changes {
        let place = change.place.as_ref().map(place_text).unwrap_or_default();
        table.row(&[
            HtmlCell::Text(change.figure),
            noted(change.old, change.old_note.as_deref()),
            noted(change.new, change.new_note.as_deref()),
            HtmlCell::of_change(change.change, change.old),
            HtmlCell::Text(change.unit),
            HtmlCell::Text(&place),
        ]);
    }
    table.write(out);
}

/// Returns a value with its limiting resource, or the reason why there is none.
fn noted(value: Option<u128>, note: Option<&str>) -> HtmlCell<'static> {
    let value = value.map_or("none".to_owned(), |value| value.to_string());
    HtmlCell::Raw(match note {
        Some(note) => format!("{value} <small>{}</small>", escaped(note)),
        None => value,
    })
}

/// Appends the loops that differ, are gone or are new.
fn loops(changes: &[LoopChange], out: &mut String) {
    let heads = [
        ("loop", false),
        ("source", false),
        ("old iterations", false),
        ("new iterations", false),
        ("old instructions", true),
        ("new instructions", true),
        ("change", true),
    ];
    let mut table = HtmlTable::new("Loops", &heads);
    for change in changes {
        // A loop that is gone has its old name and place alone.
        let side = change.new.as_ref().or(change.old.as_ref());
        let state = |side: &Option<LoopSide>, absent: &str| match side {
            Some(side) => iterations(side),
            None => absent.to_owned(),
        };
        let instructions = |side: &Option<LoopSide>| side.as_ref().map(|side| side.instructions);
        let (old, new) = (instructions(&change.old), instructions(&change.new));
        table.row(&[
            HtmlCell::Text(side.map_or("", |side| &side.id)),
            HtmlCell::Text(side.map_or("", |side| side.source.as_deref().unwrap_or(&side.at))),
            HtmlCell::Text(&state(&change.old, "the loop is new")),
            HtmlCell::Text(&state(&change.new, "the loop is gone")),
            HtmlCell::Number(old),
            HtmlCell::Number(new),
            HtmlCell::of_change(change.change, old),
        ]);
    }
    table.write(out);
}

/// Appends the source lines whose share differs.
fn lines(caption: &str, changes: &[LineChange], out: &mut String) {
    let heads = [
        ("line", false),
        ("old line", false),
        ("old", true),
        ("new", true),
        ("change", true),
    ];
    let mut table = HtmlTable::new(caption, &heads);
    for change in changes {
        table.row(&[
            // Line numbers change between builds, so both are shown.
            HtmlCell::Text(change.new_line.as_deref().unwrap_or("gone")),
            HtmlCell::Text(change.old_line.as_deref().unwrap_or("new")),
            HtmlCell::Number(Some(change.old)),
            HtmlCell::Number(Some(change.new)),
            HtmlCell::of_change(change.change, Some(change.old)),
        ]);
    }
    table.write(out);
}

/// Appends the classes of instructions whose number differs.
fn mix(changes: &[MixChange], out: &mut String) {
    let heads = [
        ("class", false),
        ("old", true),
        ("new", true),
        ("change", true),
    ];
    let mut table = HtmlTable::new("Instructions by class", &heads);
    for change in changes {
        let [old, new] = [change.old, change.new].map(u128::from);
        table.row(&[
            HtmlCell::Text(&change.class),
            HtmlCell::Number(Some(old)),
            HtmlCell::Number(Some(new)),
            HtmlCell::of_change(change.change, Some(old)),
        ]);
    }
    table.write(out);
}

/// Appends classes of operations and their places.
fn classes(caption: &str, classes: &[ClassCountAt], out: &mut String) {
    let heads = [("class", false), ("number", true), ("at", false)];
    let mut table = HtmlTable::new(caption, &heads);
    for class in classes {
        table.row(&[
            HtmlCell::Text(&class.class),
            HtmlCell::Number(Some(class.count as u128)),
            HtmlCell::Text(&class.places.join(", ")),
        ]);
    }
    table.write(out);
}

/// Appends assumptions.
fn assumptions(caption: &str, all: &[BoundAssumption], out: &mut String) {
    let mut table = HtmlTable::new(caption, &[("name", false), ("assumption", false)]);
    for assumption in all {
        table.row(&[
            HtmlCell::Text(assumption.id),
            HtmlCell::Text(&assumption.text),
        ]);
    }
    table.write(out);
}

/// Appends kernels by name.
fn kernels(caption: &str, kernels: &[NamedKernel], out: &mut String) {
    let heads = [("kernel", false), ("architecture", false), ("file", false)];
    let mut table = HtmlTable::new(caption, &heads);
    for kernel in kernels {
        table.row(&[
            HtmlCell::Text(&kernel.name),
            HtmlCell::Text(&kernel.isa),
            HtmlCell::Text(&kernel.file),
        ]);
    }
    table.write(out);
}

/// Appends the kernels with another name.
fn renamed(report: &BuildDiffReport, out: &mut String) {
    let heads = [("old name", false), ("new name", false), ("paired", false)];
    let mut table = HtmlTable::new("Kernels with another name", &heads);
    for pair in &report.renamed {
        table.row(&[
            HtmlCell::Text(&pair.old.name),
            HtmlCell::Text(&pair.new.name),
            HtmlCell::Text(pair.paired_by.text()),
        ]);
    }
    table.write(out);
}
