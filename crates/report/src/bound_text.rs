//! Bounds as one screen of text.

use crate::bound::{KernelBound, Loop, Origin, Status};
use crate::table::{Align, counted, grouped, table};

/// Rows of the worst path that are shown; the heaviest.
const SHOWN_BLOCKS: usize = 16;
/// Places of a list that are shown.
const SHOWN_PLACES: usize = 8;

impl KernelBound {
    /// One screen of text; `file` is the name that the user gave.
    pub(crate) fn text(&self, file: &str) -> String {
        let image = self
            .image
            .map_or(String::new(), |number| format!(" image {number}"));
        let mut out = format!("kernel {}  ({file}{image}, {})\n", self.name, self.isa);
        match (self.status, self.bound) {
            (Status::Bounded, Some(bound)) => {
                out.push_str(&format!(
                    "  bound: a warp issues at most {} instructions\n",
                    grouped(bound)
                ));
                out.push_str("  re-checked in exact arithmetic; ");
                out.push_str(&match self.integrality_gap {
                    Some(0) => "the worst path below reaches it\n".to_owned(),
                    Some(gap) => {
                        format!("the worst path below stays {} under it\n", grouped(gap))
                    }
                    None => "no worst path was found\n".to_owned(),
                });
            }
            _ => {
                let place = self.reason_at.as_ref().map_or(String::new(), |at| {
                    let source = self
                        .reason_source
                        .as_ref()
                        .map_or(String::new(), |s| format!(" ({s})"));
                    format!("{at}{source}: ")
                });
                let reason = self.reason.as_deref().unwrap_or("unknown reason");
                out.push_str(&format!("  no bound: {place}{reason}\n"));
            }
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
            let places: Vec<String> = self
                .divergent_branches
                .iter()
                .map(|p| match &p.source {
                    Some(source) => format!("{} ({source})", p.at),
                    None => p.at.clone(),
                })
                .collect();
            write_places(&mut out, "lanes may part at", &places);
        }
        if !self.divergence_edges.is_empty() {
            let edges: Vec<String> = self
                .divergence_edges
                .iter()
                .map(|e| format!("{} ~> {}", e.from, e.to))
                .collect();
            write_places(&mut out, "and waiting lanes are taken up over", &edges);
        }
        for note in &self.notes {
            out.push_str(&format!("  note: {note}\n"));
        }
        if self.status == Status::Bounded {
            out.push_str("  assumed:\n");
            for assumption in &self.assumptions {
                out.push_str(&format!("    {} ({})\n", assumption.text, assumption.id));
            }
        }
        out
    }

    fn write_path(&self, out: &mut String) {
        if self.worst_path.is_empty() {
            return;
        }
        let mut shown: Vec<usize> = (0..self.worst_path.len()).collect();
        shown.sort_by_key(|&i| std::cmp::Reverse(self.worst_path[i].total));
        shown.truncate(SHOWN_BLOCKS);
        shown.sort_unstable();
        let with_function = self.worst_path.iter().any(|b| b.function.is_some());
        let mut rows = vec![
            ["instructions", "=", "times", "x", "block", "", "source"]
                .map(str::to_owned)
                .to_vec(),
        ];
        for b in shown.iter().filter_map(|&i| self.worst_path.get(i)) {
            let mut place = String::new();
            if with_function {
                place = b.function.clone().unwrap_or_default();
                if !b.calls.is_empty() {
                    place.push_str(&format!(" called at {}", b.calls.join(" > ")));
                }
            }
            rows.push(vec![
                grouped(b.total),
                "=".to_owned(),
                grouped(b.count),
                format!("x {}", b.instructions),
                format!("{}..{}", b.from, b.to),
                place,
                b.source.clone().unwrap_or_default(),
            ]);
        }
        out.push_str("  worst path:\n");
        let columns = [
            Align::Right,
            Align::Left,
            Align::Right,
            Align::Right,
            Align::Left,
            Align::Left,
            Align::Left,
        ];
        out.push_str(&table(4, &columns, &rows));
        let rest = self.worst_path.len() - shown.len();
        if rest > 0 {
            let total: u128 = self
                .worst_path
                .iter()
                .enumerate()
                .filter(|(i, _)| !shown.contains(i))
                .map(|(_, b)| b.total)
                .sum();
            out.push_str(&format!(
                "    and {} with {} instructions in all (--format json lists them)\n",
                counted(rest, "block"),
                grouped(total)
            ));
        }
    }

    fn write_loops(&self, out: &mut String) {
        if self.loops.is_empty() {
            return;
        }
        out.push_str("  loops, header executions per entry and thread:\n");
        let rows: Vec<Vec<String>> = self.loops.iter().map(loop_row).collect();
        let columns = [
            Align::Left,
            Align::Left,
            Align::Right,
            Align::Left,
            Align::Left,
            Align::Left,
        ];
        out.push_str(&table(4, &columns, &rows));
    }
}

fn loop_row(l: &Loop) -> Vec<String> {
    let mut notes = Vec::new();
    if !l.together {
        notes.push("lanes iterate apart".to_owned());
    }
    if let Some(function) = &l.recursion {
        notes.push(format!("recursive calls of {function}"));
    } else if l.headers.len() > 1 {
        notes.push(format!("entered at {}", l.headers.join(", ")));
    }
    if let Some(total) = l.total {
        notes.push(format!(
            "at most {} in a thread's whole run",
            grouped(total)
        ));
    }
    if l.contexts > 1 {
        notes.push(format!("in {} calling contexts", l.contexts));
    }
    let origin = match l.origin {
        Origin::Facts => "facts file",
        Origin::LoopDefault => "--loop-default",
        Origin::Missing => "missing",
    };
    vec![
        format!(
            "{}{}",
            "  ".repeat(l.depth.saturating_sub(1) as usize),
            l.id
        ),
        l.at.clone(),
        l.bound.map_or("?".to_owned(), grouped),
        origin.to_owned(),
        l.source.clone().unwrap_or_default(),
        notes.join("; "),
    ]
}

fn write_places(out: &mut String, head: &str, places: &[String]) {
    let mut shown = places
        .iter()
        .take(SHOWN_PLACES)
        .cloned()
        .collect::<Vec<_>>();
    if places.len() > SHOWN_PLACES {
        shown.push(format!("{} more", places.len() - SHOWN_PLACES));
    }
    out.push_str(&format!("  {head}: {}\n", shown.join(", ")));
}
