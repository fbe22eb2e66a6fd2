//! Section of a page about one kernel's bound.

use std::fmt::Write as _;

use crate::bound::{BoundVerdict, KernelBound, LoopReport, Origin};
use crate::conditions::BoundAssumption;
use crate::cycle_bound::{ClockTime, CycleBoundReport};
use crate::html::{HtmlCell, HtmlTable, SECTION_END, escaped, list, section_head};
use crate::machine_code::html::machine_code;
use crate::terms::MachineTerms;

/// Table of all kernels of a report, with a link to the section of each.
pub(crate) struct KernelIndex(HtmlTable);

impl KernelIndex {
    /// Begins the table.
    pub(crate) fn new() -> KernelIndex {
        let heads = [
            ("kernel", false),
            ("image", true),
            ("architecture", false),
            ("instructions at most", true),
            ("cycles at most", true),
            ("no bound because", false),
        ];
        KernelIndex(HtmlTable::new("Kernels", &heads))
    }

    /// Appends a kernel. `link` is the address of its section.
    pub(crate) fn row(&mut self, kernel: &KernelBound, link: &str) {
        let cycles = kernel.cycles.as_ref();
        let reason_of_cycles = cycles.and_then(|cycles| cycles.reason.as_deref());
        // The reason of the bound in instructions usually explains the one in cycles too.
        let reason = kernel.verdict.reason().or(reason_of_cycles);
        let name = escaped(&kernel.name);
        self.0.row(&[
            HtmlCell::Raw(format!("<a href=\"{link}\">{name}</a>")),
            HtmlCell::Number(kernel.image.map(|n| n as u128)),
            HtmlCell::Text(&kernel.isa),
            HtmlCell::Number(kernel.verdict.bound()),
            HtmlCell::Number(cycles.and_then(|cycles| cycles.bound).map(u128::from)),
            HtmlCell::Text(reason.unwrap_or_default()),
        ]);
    }

    /// Completes the table, with a place for the tools that the script adds.
    pub(crate) fn finish(self) -> String {
        format!("<div class=\"tools\"></div>\n{}", self.0.finish())
    }
}

/// Sections of a page.
#[derive(Default)]
pub(crate) struct Sections {
    /// Tables of machine numbers that the page already has.
    machines: Vec<String>,
}

impl Sections {
    /// Returns the next section, folded. `id` is the name of the kernel in the page.
    pub(crate) fn section(&mut self, kernel: &KernelBound, id: &str) -> String {
        let mut out = section_head(&kernel.name, id);
        let image = kernel
            .image
            .map_or(String::new(), |n| format!(", image {n}"));
        let _ = writeln!(
            out,
            "<p class=\"dim\">{}{image}; code <code>{}</code></p>",
            escaped(&kernel.isa),
            escaped(&kernel.code)
        );
        verdict(kernel, &mut out);
        if let Some(cycles) = &kernel.cycles {
            cycle_bound(kernel, cycles, &mut out);
            self.machine(cycles, &mut out);
        }
        worst_path(kernel, &mut out);
        loops(&kernel.loops, &mut out);
        assumptions(kernel, &mut out);
        list(3, "Notes", &kernel.notes, &mut out);
        list(3, "Facts to complete", &kernel.missing_facts, &mut out);
        if let Some(code) = &kernel.machine_code {
            out.push_str(&machine_code(code, id));
        }
        out.push_str(SECTION_END);
        out
    }

    /// Appends the unpublished numbers of the machine, or a link to them if the page already has them.
    fn machine(&mut self, cycles: &CycleBoundReport, out: &mut String) {
        if cycles.bound.is_none() || cycles.numbers.is_empty() {
            return;
        }
        let table = machine_numbers(cycles);
        // The numbers of a machine are long and equal in all sections, so a page has each table once.
        if let Some(nth) = self.machines.iter().position(|other| *other == table) {
            let _ = writeln!(out, "<p><a href=\"#m{nth}\">Numbers of the machine</a></p>");
            return;
        }
        let id = self.machines.len();
        let _ = write!(
            out,
            "<details><summary>Numbers of the machine</summary>\n<div id=\"m{id}\">{table}</div></details>\n"
        );
        self.machines.push(table);
    }
}

/// Appends the bound in instructions, or the reason why there is none.
fn verdict(kernel: &KernelBound, out: &mut String) {
    let text = match &kernel.verdict {
        BoundVerdict::Bounded { bound, .. } => {
            let warp = MachineTerms::of(kernel.family).warp;
            let condition = kernel.conditions().clause();
            format!("A {warp} issues at most {bound} instructions{condition}.")
        }
        BoundVerdict::Unbounded { reason } => format!("No bound: {reason}."),
        BoundVerdict::Refused { reason, at, source } => {
            let place = [at.as_deref(), source.as_deref()];
            let place: Vec<&str> = place.into_iter().flatten().collect();
            match place.is_empty() {
                true => format!("No bound: {reason}."),
                false => format!("No bound: {reason} (at {}).", place.join(", ")),
            }
        }
    };
    let _ = writeln!(out, "<p class=\"bound\">{}</p>", escaped(&text));
}

/// Appends the bound in cycles as a sum, and its parts by source line.
fn cycle_bound(kernel: &KernelBound, cycles: &CycleBoundReport, out: &mut String) {
    let Some(bound) = cycles.bound else {
        let reason = cycles.reason.as_deref().unwrap_or("none was computed");
        let _ = writeln!(
            out,
            "<p class=\"bound\">No bound in cycles: {}.</p>",
            escaped(reason)
        );
        return;
    };
    let _ = writeln!(
        out,
        "<p class=\"bound\">{}</p>",
        escaped(&format!(
            "In cycles: {} takes at most {bound} cycles{}.",
            cycles.subject(),
            cycles.condition(kernel.loop_conditions())
        ))
    );
    // A page shows the same digits as the JSON document.
    let times = cycles.times.iter().map(|time| {
        let ClockTime {
            clock,
            kilohertz,
            milliseconds,
        } = time;
        format!(
            "{milliseconds} ms at {kilohertz} kHz ({}); ",
            escaped(clock)
        )
    });
    let time: String = times.collect();
    let _ = writeln!(
        out,
        "<p class=\"dim\">{time}machine {}, {} scheduler, {} caches</p>",
        escaped(cycles.machine.as_deref().unwrap_or("unknown")),
        cycles.schedulers,
        cycles.caches
    );
    let largest = cycles.terms.iter().map(|term| term.cycles).max();
    let largest = largest.unwrap_or(0).into();
    let mut sum = HtmlTable::new("The bound as a sum", &[("term", false), ("cycles", true)]);
    for term in cycles.terms.iter().filter(|term| term.cycles > 0) {
        let share = HtmlCell::Share(term.cycles.into(), largest);
        sum.row(&[HtmlCell::Text(term.name), share]);
    }
    sum.row(&[
        HtmlCell::Text("sum"),
        HtmlCell::Raw(format!("<strong>{bound}</strong>")),
    ]);
    out.push_str(&sum.finish());
    let lines: Vec<_> = cycles.lines.iter().filter(|l| l.cycles > 0).collect();
    if !lines.is_empty() {
        let largest = lines.iter().map(|line| line.cycles).max().unwrap_or(0);
        let heads = [("line", false), ("cycles", true)];
        let mut table = HtmlTable::new("Cycles by source line", &heads);
        for line in lines {
            let share = HtmlCell::Share(line.cycles.into(), largest.into());
            table.row(&[HtmlCell::Text(&line.line), share]);
        }
        out.push_str(&table.finish());
    }
}

/// Returns the unpublished numbers of the machine.
fn machine_numbers(cycles: &CycleBoundReport) -> String {
    let heads = [
        ("number", false),
        ("least", true),
        ("most", true),
        ("unit", false),
        ("provenance", false),
    ];
    let mut table = HtmlTable::new("Numbers of the machine that are not published", &heads);
    for number in &cycles.numbers {
        table.row(&[
            HtmlCell::Text(number.name),
            HtmlCell::Number(Some(number.least.into())),
            HtmlCell::Number(Some(number.most.into())),
            HtmlCell::Text(number.unit.unwrap_or_default()),
            HtmlCell::Text(number.provenance),
        ]);
    }
    table.finish()
}

/// Appends the blocks of the worst path.
fn worst_path(kernel: &KernelBound, out: &mut String) {
    if kernel.worst_path.is_empty() {
        return;
    }
    let heads = [
        ("from", false),
        ("to", false),
        ("instructions", true),
        ("executions", true),
        ("length", true),
        ("loops", false),
        ("function", false),
        ("source", false),
    ];
    // The heaviest block has the darkest colour, so that it is found in a long table.
    let largest = kernel.worst_path.iter().map(|block| block.total).max();
    let mut table = HtmlTable::new("Worst path", &heads);
    for block in &kernel.worst_path {
        let mut function = block.function.clone().unwrap_or_default();
        if !block.calls.is_empty() {
            let _ = write!(function, " called at {}", block.calls.join(" > "));
        }
        table.row(&[
            HtmlCell::Text(&block.from),
            HtmlCell::Text(&block.to),
            HtmlCell::Share(block.total, largest.unwrap_or(0)),
            HtmlCell::Number(Some(block.count)),
            HtmlCell::Number(Some(block.instructions.into())),
            HtmlCell::Text(&block.loops.join(" > ")),
            HtmlCell::Text(&function),
            HtmlCell::Text(block.source.as_deref().unwrap_or_default()),
        ]);
    }
    out.push_str(&table.finish());
}

/// Appends the loops with the origin and the evidence of their bounds.
fn loops(loops: &[LoopReport], out: &mut String) {
    if loops.is_empty() {
        return;
    }
    let heads = [
        ("loop", false),
        ("at", false),
        ("source", false),
        ("per entry", true),
        ("total", true),
        ("origin", false),
        ("evidence", false),
    ];
    let mut table = HtmlTable::new("Loops", &heads);
    for l in loops {
        let origin = match l.origin {
            // A bound from the width of a register alone is huge; `derived` would suggest more.
            _ if l.is_of_width() => "register width",
            Origin::Derived => "derived",
            Origin::Launch => "launch",
            Origin::Facts => "facts",
            Origin::LoopDefault => "loop-default",
            Origin::Missing => "missing",
        };
        table.row(&[
            HtmlCell::Text(&l.id),
            HtmlCell::Text(&l.at),
            HtmlCell::Text(l.source.as_deref().unwrap_or_default()),
            HtmlCell::Number(l.bound.map(u128::from)),
            HtmlCell::Number(l.total.map(u128::from)),
            HtmlCell::Text(origin),
            HtmlCell::Text(&l.derivation.text()),
        ]);
    }
    out.push_str(&table.finish());
}

/// Appends all assumptions of the bounds.
fn assumptions(kernel: &KernelBound, out: &mut String) {
    // The bound in cycles has assumptions in addition to the ones about instructions.
    let of_cycles = kernel.cycles.as_ref().map(|cycles| &cycles.assumptions);
    let all: Vec<&BoundAssumption> = kernel
        .assumptions
        .iter()
        .chain(of_cycles.into_iter().flatten())
        .collect();
    if all.is_empty() {
        return;
    }
    let mut table = HtmlTable::new("Assumptions", &[("name", false), ("assumption", false)]);
    for assumption in all {
        table.row(&[
            HtmlCell::Text(assumption.id),
            HtmlCell::Text(&assumption.text),
        ]);
    }
    out.push_str(&table.finish());
}
