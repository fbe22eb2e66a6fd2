//! Report of a gap breakdown: the cycles of the worst simulated run, the bound, and the gap between them, split into named
//! causes.
//!
//! For example, a bound of 1000 and a worst run of 700 cycles leave a gap of 300. If the bound with the run's loop
//! counts is 900, "loops" explains 100 of it.

mod html;
mod svg;

use serde::Serialize;

use crate::table::{Align, section, wrapped};

#[cfg(test)]
mod tests;

/// Worst simulated run and bound of one kernel and launch.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct GapReport {
    /// Always `warpbound.gap/1`.
    pub schema: &'static str,
    /// The file.
    pub file: String,
    /// The kernel.
    pub kernel: String,
    /// Name of the machine.
    pub machine: String,
    /// State of the caches at the start: `any`, `warm` or `cold`.
    pub caches: &'static str,
    /// Extent of the runs: `warp`, a warp of the launch alone, or `grid`, the whole launch.
    pub scope: &'static str,
    /// Number of accesses with unknown addresses.
    pub unknown_addresses: u64,
    /// Cycles of the worst simulated run.
    pub worst_simulated: u64,
    /// Selection of parameters, scheduler, contents and order of this run.
    pub worst_run: String,
    /// Number of simulated runs.
    pub runs: u64,
    /// Bound in cycles.
    pub bound: u64,
    /// Launch overhead that both the bound and the worst run contain. Ratios leave it out.
    pub launch_overhead: u64,
    /// Bounds where one more claim after the other is replaced by an observation of the worst run, in the order of
    /// [`GapReport::CHAIN`], or of [`GapReport::LAUNCH_CHAIN`] for a launch.
    pub chain: Vec<ChainValue>,
    /// Parts of the gap, one for each element of the chain after the first.
    pub shares: Vec<GapShare>,
    /// Terms whose sum is the element `composition` of a launch's chain; empty without that element.
    pub composition: Vec<CompositionPart>,
    /// The element `composition` with one resource left out at a time; empty without that element.
    pub resources: Vec<ResourceShare>,
    /// Accesses for which the bound counts more per execution than the worst run had. The largest difference over all
    /// executions comes first.
    pub accesses: Vec<LooseAccess>,
    /// Limits of the comparison, as sentences.
    pub notes: Vec<String>,
}

/// Element of the chain from the bound to the worst simulated run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ChainValue {
    /// One of [`GapReport::CHAIN`] or [`GapReport::LAUNCH_CHAIN`]. It names the claims that this element
    /// replaces in addition to the claims of the elements before it.
    pub name: &'static str,
    /// Cycles.
    pub value: u64,
}

/// Part of the gap with one cause.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct GapShare {
    /// Name of the element of the chain.
    pub name: &'static str,
    /// Cycles from the element before to this one. A negative number means that the chain inverts, which is an error
    /// of a bound.
    pub telescoped: i128,
    /// Cycles from the bound to the bound with only this claim replaced; `None` if that has no meaning.
    pub alone: Option<i128>,
}

/// Term of a sum.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CompositionPart {
    /// Name of the term, as in the report of a bound of a launch.
    pub name: &'static str,
    /// Cycles.
    pub cycles: u64,
}

/// Part of the composition for which one resource accounts.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ResourceShare {
    /// Name of the resource.
    pub name: &'static str,
    /// Cycles of the composition if this resource served all warps at once.
    pub without: u64,
    /// Reduction in cycles.
    pub cycles: i128,
}

/// Access for which a bound counts more per execution than the worst run had.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LooseAccess {
    /// Address of the instruction.
    pub at: String,
    /// Source line.
    pub source: Option<String>,
    /// Executions by warps in the worst run.
    pub executions: u64,
    /// Maximum number of sectors per execution in the bound.
    pub sectors: u32,
    /// Maximum number of sectors per execution in the run.
    pub sectors_seen: u32,
    /// Maximum number of bank conflicts per execution in the bound.
    pub conflicts: u32,
    /// Maximum number of bank conflicts per execution in the run.
    pub conflicts_seen: u32,
}

impl GapReport {
    /// Value of the key `schema`.
    pub const SCHEMA: &'static str = "warpbound.sandwich/1";

    /// Names of the elements of a complete chain.
    pub const CHAIN: [&'static str; 8] = [
        "bound",
        "loops",
        "paths",
        "addresses",
        "hits and misses",
        "machine numbers",
        "replay",
        "worst simulated",
    ];

    /// Names of the elements of a launch's complete chain.
    pub const LAUNCH_CHAIN: [&'static str; 8] = [
        "bound",
        "loops",
        "paths",
        "addresses",
        "hits and misses",
        "machine numbers",
        "composition",
        "worst simulated",
    ];

    /// Returns the report of a warp that runs alone, still without numbers.
    pub fn empty(file: String, kernel: String, machine: String, caches: &'static str) -> GapReport {
        GapReport {
            schema: GapReport::SCHEMA,
            file,
            kernel,
            machine,
            caches,
            scope: "warp",
            unknown_addresses: 0,
            worst_simulated: 0,
            worst_run: String::new(),
            runs: 0,
            bound: 0,
            launch_overhead: 0,
            chain: Vec::new(),
            shares: Vec::new(),
            composition: Vec::new(),
            resources: Vec::new(),
            accesses: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Returns the first element of the chain that is larger than the one before, which is an error of one of the
    /// two.
    pub fn inversion(&self) -> Option<&'static str> {
        let pairs = self.chain.windows(2);
        let mut inverted = pairs.filter_map(|pair| match pair {
            [before, after] if after.value > before.value => Some(after.name),
            _ => None,
        });
        inverted.next()
    }

    /// Returns the quotient of the bound and the worst simulated cycles, both without launch overhead; `None` if the
    /// run has no other cycles.
    pub fn ratio(&self) -> Option<f64> {
        // The overhead is in both numbers and would pull their quotient towards 1.
        let net = |cycles: u64| cycles.saturating_sub(self.launch_overhead);
        match net(self.worst_simulated) {
            0 => None,
            simulated => Some(net(self.bound) as f64 / simulated as f64),
        }
    }

    /// Returns the cycles from the worst simulated run to the bound.
    pub(crate) fn gap(&self) -> i128 {
        // A bound below the run would be an error, and the report must be able to show it.
        i128::from(self.bound) - i128::from(self.worst_simulated)
    }

    /// Returns the report as text.
    pub fn text(&self) -> String {
        let mut out = format!(
            "kernel {}  ({}, machine {}, caches {})\n",
            self.kernel, self.file, self.machine, self.caches
        );
        let ratio = self.ratio().map_or(String::new(), |ratio| {
            let net = match self.launch_overhead {
                0 => String::new(),
                cycles => format!(" without the launch overhead of {cycles} in both"),
            };
            format!("; ratio {ratio:.3}{net}")
        });
        let subject = match self.scope {
            "grid" => "the launch",
            _ => "a warp that runs alone",
        };
        out.push_str(&format!(
            "  {subject} takes at most {} cycles, and {} in the worst of {} simulated runs{ratio}\n",
            self.bound, self.worst_simulated, self.runs
        ));
        out.push_str(&wrapped(2, &format!("worst run: {}", self.worst_run)));
        if let Some(name) = self.inversion() {
            out.push_str(&format!(
                "  the chain inverts at \"{name}\": more is known there, but the cycles are more, so one of the values is wrong\n"
            ));
        }
        self.write_chain(&mut out);
        self.write_composition(&mut out);
        self.write_accesses(&mut out);
        if !self.notes.is_empty() {
            out.push('\n');
        }
        for note in &self.notes {
            out.push_str(&wrapped(2, &format!("note: {note}")));
        }
        out
    }

    /// Appends the chain as a table.
    fn write_chain(&self, out: &mut String) {
        let rows = self.chain.iter().map(|element| {
            // The first element is the bound itself and has no share.
            let share = self.shares.iter().find(|share| share.name == element.name);
            let drop = share.map_or(String::new(), |share| share.telescoped.to_string());
            let part = share.map_or(String::new(), |share| part(share.telescoped, self.gap()));
            let alone = share.and_then(|share| share.alone);
            vec![
                element.name.to_owned(),
                element.value.to_string(),
                drop,
                part,
                alone.map_or(String::new(), |cycles| cycles.to_string()),
            ]
        });
        let head = vec![
            "as in the worst run",
            "cycles",
            "less by",
            "of the gap",
            "alone",
        ];
        let right = Align::Right;
        section(out, &[Align::Left, right, right, right, right], head, rows);
    }
}

impl GapReport {
    /// Appends the accesses whose numbers a fact could lower.
    fn write_accesses(&self, out: &mut String) {
        if self.accesses.is_empty() {
            return;
        }
        let pair = |claimed: u32, seen: u32| match (claimed, seen) {
            // The access is not to memory that has this number.
            (0, 0) => String::new(),
            _ => format!("{claimed} / {seen}"),
        };
        let rows = self.accesses.iter().map(|access| {
            let source = access.source.as_ref();
            let source = source.map_or(String::new(), |source| format!(" ({source})"));
            vec![
                format!("{}{source}", access.at),
                access.executions.to_string(),
                pair(access.sectors, access.sectors_seen),
                pair(access.conflicts, access.conflicts_seen),
            ]
        });
        let head = vec!["access, bound / run", "executions", "sectors", "conflicts"];
        let right = Align::Right;
        section(out, &[Align::Left, right, right, right], head, rows);
        let text = "facts about these accesses lower the bound where they hold for every input: `warpbound facts --accesses` \
                    writes their lines";
        out.push_str(&wrapped(2, text));
    }

    /// Appends the terms of the composition, and its cycles without each resource.
    fn write_composition(&self, out: &mut String) {
        let right = Align::Right;
        if !self.composition.is_empty() {
            let parts = self.composition.iter().filter(|part| part.cycles > 0);
            let rows = parts.map(|part| vec![part.name.to_owned(), part.cycles.to_string()]);
            let head = vec!["composition", "cycles"];
            section(out, &[Align::Left, right], head, rows);
        }
        let shares = self.resources.iter().filter(|share| share.cycles != 0);
        let shares: Vec<&ResourceShare> = shares.collect();
        if !shares.is_empty() {
            let rows = shares.into_iter().map(|share| {
                vec![
                    share.name.to_owned(),
                    share.without.to_string(),
                    share.cycles.to_string(),
                ]
            });
            let head = vec!["composition without", "cycles", "less by"];
            section(out, &[Align::Left, right, right], head, rows);
        }
    }
}

/// Formats a part of a gap in percent with one decimal; empty without a gap.
pub(crate) fn part(part: i128, gap: i128) -> String {
    match gap {
        // If the chain inverts as a whole, the gap has no parts.
        ..=0 => String::new(),
        gap => format!("{:.1} %", part as f64 * 100.0 / gap as f64),
    }
}
