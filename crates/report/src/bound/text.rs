//! Writer of kernel bounds as text, about one screen for each kernel.

use std::cmp::Reverse;

use crate::bound::{BoundVerdict, KernelBound, LoopReport, Origin, PathBlock, ProfileReport};
use crate::conditions::write_assumptions;
use crate::numbers::truncated_share;
use crate::table::{Align, counted, table};
use crate::terms::MachineTerms;

/// Maximum number of blocks of the worst path that the text lists.
const MAX_BLOCKS: usize = 16;
/// Maximum number of locations in one line.
const MAX_LOCATIONS: usize = 8;

impl KernelBound {
    /// Returns the report as text. `file` is the name that the user gave, and `explain` adds the divergence edges.
    pub(crate) fn text(&self, file: &str, explain: bool) -> String {
        let image = self
            .image
            .map_or(String::new(), |number| format!(" image {number}"));
        let mut out = format!("kernel {}  ({file}{image}, {})\n", self.name, self.isa);
        self.write_verdict(&mut out);
        if let Some(cycles) = &self.cycles {
            cycles.write(&mut out, self.loop_conditions());
        }
        if let Some(formula) = &self.formula {
            formula.write(&mut out);
        }
        if let Some(reason) = &self.formula_reason {
            out.push_str(&format!("  no formula because {reason}\n"));
        }
        // A launch without a profile still has the bound of the integer program, so the reason is no error.
        if let Some(why) = self
            .profile
            .as_ref()
            .and_then(|profile| profile.undecided.as_ref())
        {
            let source = why
                .source
                .as_ref()
                .map_or(String::new(), |s| format!(" ({s})"));
            let (warp, at, reason) = (why.warp, &why.at, &why.reason);
            out.push_str(&format!(
                "  the launch has no profile: {warp} at {at}{source}: {reason}\n"
            ));
        }
        if !self.missing_facts.is_empty() {
            out.push_str("  lines for the facts file (`warpbound facts` prints all of it), to be completed:\n");
            for line in &self.missing_facts {
                out.push_str(&format!("    {line}\n"));
            }
        }
        self.write_path(&mut out);
        self.write_loops(&mut out);
        if !self.divergent_branches.is_empty() {
            let mut locations: Vec<String> = self
                .divergent_branches
                .iter()
                .map(|p| match &p.source {
                    Some(source) => format!("{} ({source})", p.at),
                    None => p.at.clone(),
                })
                .collect();
            // A branch has one entry for each calling context. These entries are adjacent.
            locations.dedup();
            let head = format!(
                "branches at which threads of a {} may diverge",
                self.terms().warp
            );
            write_list(&mut out, &head, &locations);
        }
        if explain && !self.divergence_edges.is_empty() {
            let edges: Vec<String> = self
                .divergence_edges
                .iter()
                .map(|e| format!("{} ~> {}", e.from, e.to))
                .collect();
            write_list(&mut out, "and waiting lanes resume over", &edges);
        }
        for note in &self.notes {
            out.push_str(&format!("  note: {note}\n"));
        }
        if self.verdict.bound().is_some() || !self.assumptions.is_empty() {
            write_assumptions(&mut out, "assumed", &self.assumptions);
        }
        if let Some(cycles) = &self.cycles {
            cycles.write_assumptions(&mut out);
        }
        out
    }

    fn terms(&self) -> MachineTerms {
        MachineTerms::of(self.family)
    }

    /// Appends the bound, or the reason why there is none.
    fn write_verdict(&self, out: &mut String) {
        match &self.verdict {
            BoundVerdict::Bounded { bound, .. } => {
                let condition = self.conditions().clause();
                out.push_str(&format!(
                    "  bound: a {} issues at most {bound} instructions{condition}\n",
                    self.terms().warp
                ));
                // The profile replaces the worst path of the integer program, which bounds other launches too.
                if let Some(profile) = self.profile.as_ref().filter(|profile| profile.decides) {
                    write_profile(out, profile);
                    return;
                }
                out.push_str("  re-checked in exact arithmetic; ");
                out.push_str(&match self.verdict.integrality_gap() {
                    Some(0) => "the worst path below reaches it\n".to_owned(),
                    Some(gap) => format!("the worst path below stays {gap} under it\n"),
                    None => "no worst path was found\n".to_owned(),
                });
            }
            BoundVerdict::Unbounded { reason } => {
                out.push_str(&format!("  no bound: {reason}\n"));
            }
            BoundVerdict::Refused { reason, at, source } => {
                let location = at.as_ref().map_or(String::new(), |at| {
                    let source = source.as_ref().map_or(String::new(), |s| format!(" ({s})"));
                    format!("{at}{source}: ")
                });
                out.push_str(&format!("  no bound: {location}{reason}\n"));
            }
        }
    }

    /// Appends the heaviest blocks of the worst path as a table.
    fn write_path(&self, out: &mut String) {
        if self.worst_path.is_empty() {
            return;
        }
        let all: u128 = self.worst_path.iter().map(|b| b.total).sum();
        let mut heaviest: Vec<&PathBlock> = self.worst_path.iter().collect();
        // The sort is stable, so blocks of equal weight stay in the order of their addresses.
        heaviest.sort_by_key(|b| Reverse(b.total));
        heaviest.truncate(MAX_BLOCKS);
        // A column without any cell is left out.
        let with_function = heaviest.iter().any(|b| b.function.is_some());
        let (right, left) = (Align::Right, Align::Left);
        let mut columns = vec![right, right, right, right, left, left];
        let mut heads = vec![
            "share",
            "instructions",
            "= times",
            "x length",
            "block",
            "loop",
        ];
        if with_function {
            columns.push(left);
            heads.push("function");
        }
        let with_source = heaviest.iter().any(|b| b.source.is_some());
        if with_source {
            columns.push(left);
            heads.push("source");
        }
        let mut rows = vec![heads.into_iter().map(str::to_owned).collect()];
        for b in &heaviest {
            let mut row = vec![
                truncated_share(b.total, all),
                b.total.to_string(),
                format!("= {}", b.count),
                format!("x {}", b.instructions),
                format!("{}..{}", b.from, b.to),
                b.loops.join(" > "),
            ];
            if with_function {
                let mut location = b.function.clone().unwrap_or_default();
                if !b.calls.is_empty() {
                    location.push_str(&format!(" called at {}", b.calls.join(" > ")));
                }
                row.push(location);
            }
            if with_source {
                row.push(b.source.clone().unwrap_or_default());
            }
            rows.push(row);
        }
        let rest = self.worst_path.len() - heaviest.len();
        out.push_str(&match rest {
            0 => "  blocks of the worst path, heaviest first:\n".to_owned(),
            _ => format!(
                "  the {MAX_BLOCKS} heaviest blocks of the {} of the worst path:\n",
                self.worst_path.len()
            ),
        });
        out.push_str(&table(4, &columns, &rows));
        if rest > 0 {
            // The heaviest blocks are part of all blocks, so this does not underflow.
            let total = all - heaviest.iter().map(|b| b.total).sum::<u128>();
            out.push_str(&format!(
                "    and {} with {total} instructions in all, {} (--format json lists them)\n",
                counted(rest, "block"),
                truncated_share(total, all)
            ));
        }
    }

    /// Appends the loops and their facts as a table.
    fn write_loops(&self, out: &mut String) {
        if self.loops.is_empty() {
            return;
        }
        let walker = match self.family.has_exec_mask() {
            true => "the wave",
            false => "one thread",
        };
        out.push_str(&format!(
            "  loops; a bound is the most executions of the header by {walker}, per entry of the loop:\n"
        ));
        let source = match self.loops.iter().any(|l| l.source.is_some()) {
            true => "source",
            false => "",
        };
        let heads = ["loop", "header", "bound", "from", source, ""];
        let mut rows = vec![heads.map(str::to_owned).to_vec()];
        rows.extend(self.loops.iter().map(|l| loop_row(l, self.terms().warp)));
        let columns = [
            Align::Left,
            Align::Left,
            Align::Right,
            Align::Left,
            Align::Left,
            Align::Left,
        ];
        let text = table(4, &columns, &rows);
        // The first line is the head of the table and has no derivation.
        let derivations = std::iter::once(String::new()).chain(self.loops.iter().map(derivation));
        for (line, derivation) in text.lines().zip(derivations) {
            out.push_str(&format!("{line}\n{derivation}"));
        }
    }
}

/// Returns the line that follows the row of a loop: the evidence of its bound, or the reason why no bound was
/// derived. Empty if there is nothing to say.
fn derivation(l: &LoopReport) -> String {
    let is_derived = l.derivation.evidence.is_some();
    match l.derivation.text() {
        // The user has stated a bound, so why none was derived no longer matters.
        _ if l.origin == Origin::Facts && !is_derived => String::new(),
        text if text.is_empty() => String::new(),
        text => format!(
            "{:8}{}{text}\n",
            "",
            // Outermost loops have depth 1 and no indentation.
            "  ".repeat(l.depth.saturating_sub(1) as usize)
        ),
    }
}

/// Returns the name of an origin in text.
fn origin_text(origin: Origin) -> &'static str {
    match origin {
        Origin::Derived => "derived",
        Origin::Launch => "launch",
        Origin::Facts => "facts file",
        Origin::LoopDefault => "--loop-default",
        Origin::Missing => "missing",
    }
}

/// Returns the row of a loop, indented by its depth.
fn loop_row(l: &LoopReport, warp: &str) -> Vec<String> {
    let mut notes = Vec::new();
    if !l.lockstep {
        notes.push(format!(
            "threads of a {warp} may leave it at different times"
        ));
    }
    if let Some(function) = &l.recursion {
        notes.push(format!("recursive calls of {function}"));
    } else if l.headers.len() > 1 {
        notes.push(format!("entered at {}", l.headers.join(", ")));
    }
    if let (Some(total), Some(from)) = (l.total, l.total_origin) {
        // The row already names the origin of the bound, so an equal one is not repeated.
        let from = match from == l.origin {
            true => String::new(),
            false => format!(" ({})", origin_text(from)),
        };
        notes.push(format!("at most {total} in a thread's whole run{from}"));
    }
    // A loop of the code is one row, whatever the number of its contexts.
    if l.contexts > 1 {
        notes.push(format!("in {} calling contexts", l.contexts));
    }
    vec![
        format!(
            "{}{}",
            "  ".repeat(l.depth.saturating_sub(1) as usize),
            l.id
        ),
        l.at.clone(),
        l.bound.map_or("?".to_owned(), |n| n.to_string()),
        match l.is_of_width() {
            true => "register width".to_owned(),
            false => origin_text(l.origin).to_owned(),
        },
        l.source.clone().unwrap_or_default(),
        notes.join("; "),
    ]
}

/// Appends a line with at most [`MAX_LOCATIONS`] elements of a list.
fn write_list(out: &mut String, head: &str, locations: &[String]) {
    let mut shown = locations
        .iter()
        .take(MAX_LOCATIONS)
        .cloned()
        .collect::<Vec<_>>();
    if locations.len() > MAX_LOCATIONS {
        shown.push(format!("{} more", locations.len() - MAX_LOCATIONS));
    }
    out.push_str(&format!("  {head}: {}\n", shown.join(", ")));
}

/// Appends how the profile of a launch gives the bound.
fn write_profile(out: &mut String, profile: &ProfileReport) {
    let executed = counted(profile.executed as usize, "distinct warp");
    out.push_str(&format!(
        "  by execution of every warp of the launch ({executed})"
    ));
    if let Some(worst) = profile.worst {
        let many = match profile.exact {
            true => "issues exactly as many in every run",
            false => "is the worst",
        };
        out.push_str(&format!("; {worst} {many}"));
    }
    if let Some(bound) = profile.static_bound {
        out.push_str(&format!("; the bound of all launches is {bound}"));
    }
    out.push('\n');
    if !profile.unknown_at.is_empty() {
        let places = profile.unknown_at.iter().map(|place| match &place.source {
            Some(source) => format!("{} ({source})", place.at),
            None => place.at.clone(),
        });
        let places: Vec<String> = places.collect();
        write_list(out, "unknown values decide, so both sides count", &places);
    }
}
