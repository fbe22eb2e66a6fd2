//! Bound on the cycles of a kernel, as a sum of named terms.
//!
//! For example, a bound of 1000 cycles may consist of 600 for "global memory", 300 for "issue" and 100 for "launch
//! overhead". The terms explain the bound; a run need not spend its cycles in this way.

use std::cmp::Reverse;

use serde::Serialize;

use crate::conditions::{BoundAssumption, BoundConditions, write_assumptions};
use crate::numbers::{cycles as in_cycles, duration, truncated_share};
use crate::table::{Align, counted, table};

/// Maximum number of source lines that the text lists.
const MAX_LINES: usize = 10;

/// Bound in cycles, or the reason why there is none.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CycleBoundReport {
    /// Part of the launch whose cycles are bounded: `warp` (with the machine for itself), `block`, `sm` or `grid`.
    pub scope: &'static str,
    /// Upper bound on the cycles from the start of the launch to the end.
    pub bound: Option<u64>,
    /// Reason why there is no bound.
    pub reason: Option<String>,
    /// Longest duration of [`CycleBoundReport::times`], in milliseconds.
    pub milliseconds: Option<f64>,
    /// Durations of the bound: at the lowest frequency that the user states, else in each mode of the machine or at
    /// its base clock.
    pub times: Vec<ClockTime>,
    /// Name of the machine; `None` if no machine has the architecture of the code.
    pub machine: Option<String>,
    /// Schedulers for which the bound holds: `any`, or `work-conserving`.
    pub schedulers: &'static str,
    /// State of the caches at the start: `any`, `warm` or `cold`.
    pub caches: &'static str,
    /// Launch whose cycles are bounded; absent for a warp that runs alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launch: Option<LaunchShapeReport>,
    /// Summands of the bound of a warp or of a launch; empty without a bound.
    pub terms: Vec<CycleTerm>,
    /// Estimate of the launch by abstract CTA simulation. It is no bound: a run may take longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<CtaEstimate>,
    /// Reason why the simulation does not apply to the launch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_estimate: Option<String>,
    /// Reason why the warps of the launch were not executed for the bound, which then rests on loop bounds alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_executed: Option<String>,
    /// Parts of the bound by source line, largest first; empty without a bound.
    pub lines: Vec<LineCycles>,
    /// Ranges of unpublished numbers of the machine, in the order of machine files.
    pub numbers: Vec<UnpublishedRange>,
    /// Assumptions of the bound, in addition to the assumptions of the bound in instructions.
    pub assumptions: Vec<BoundAssumption>,
}

/// Duration of the cycles at one clock.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ClockTime {
    /// Clock: `stated`, `base`, or the name of a mode of the machine.
    pub clock: String,
    /// Frequency in kHz.
    pub kilohertz: u64,
    /// Duration in milliseconds.
    pub milliseconds: f64,
}

impl ClockTime {
    /// Returns the durations as a list: `4.1 us at 1607 MHz (base clock)`.
    pub(crate) fn list(times: &[ClockTime]) -> String {
        let text = |time: &ClockTime| {
            let megahertz = time.kilohertz as f64 / 1000.0;
            let clock = match time.clock.as_str() {
                "stated" => String::new(),
                "base" => " (base clock)".to_owned(),
                mode => format!(" ({mode})"),
            };
            let duration = duration(time.milliseconds);
            format!("{duration} at {megahertz} MHz{clock}")
        };
        let texts: Vec<String> = times.iter().map(text).collect();
        texts.join(", ")
    }
}

/// Shape of the launch whose cycles are bounded, for every machine within the ranges.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LaunchShapeReport {
    /// Blocks.
    pub blocks: u64,
    /// Warps of a block.
    pub warps: u64,
    /// Minimum number of SMs.
    pub sms: u64,
    /// Minimum and maximum number of blocks that an SM holds.
    pub resident: [u64; 2],
    /// Warps of a block that wait for each other: no warp for any other (`one-warp`), all for the last one to arrive
    /// at each barrier (`aligned-barriers`), or all one after the other (`all-warps`).
    pub chain: &'static str,
}

/// Estimate of a launch by abstract CTA simulation (`abstract-cta-2014` 3).
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CtaEstimate {
    /// Cycles from the start of the launch to its end.
    pub cycles: u64,
    /// Number of warps that a sub-partition holds at once.
    pub warps: u64,
    /// Number of rounds of blocks that run at once.
    pub rounds: u64,
}

impl CtaEstimate {
    /// Returns the estimate if the launch may take at most `bound` cycles.
    ///
    /// # Errors
    ///
    /// The reason, if the estimate is above the bound and thus says nothing.
    pub fn within(self, bound: u64) -> Result<CtaEstimate, String> {
        match self.cycles <= bound {
            true => Ok(self),
            false => Err(format!(
                "the simulation takes {} cycles, more than the bound: it executes both sides of each branch, and each loop \
                 as often as its bound, which no run does",
                self.cycles
            )),
        }
    }
}

/// Range of an unpublished number of the machine.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct UnpublishedRange {
    /// Section and key in the machine file.
    pub name: &'static str,
    /// Lower end.
    pub least: u64,
    /// Upper end.
    pub most: u64,
    /// Unit: `cycles`, `bytes`, ….
    pub unit: Option<&'static str>,
    /// Provenance: `assumed`, or `fitted` to a measurement.
    #[serde(rename = "standing")]
    pub provenance: &'static str,
}

/// Summand of a bound in cycles.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CycleTerm {
    /// Name of a term of a warp (`launch overhead`, `issue`, …), or of a launch.
    pub name: &'static str,
    /// Cycles.
    pub cycles: u64,
}

/// Part of a bound in cycles that a source line contributes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LineCycles {
    /// `file:line`, or the address of an instruction without an entry in the line table.
    pub line: String,
    /// Cycles.
    pub cycles: u64,
}

/// Returns a count with its noun.
fn many(count: u64, one: &str) -> String {
    // The number is only displayed, so saturation does no harm.
    counted(usize::try_from(count).unwrap_or(usize::MAX), one)
}

impl LaunchShapeReport {
    /// Returns the subject of the bound.
    fn subject(&self, scope: &str) -> String {
        let warps = many(self.warps, "warp");
        match scope {
            "grid" => format!("the grid of {} of {warps}", many(self.blocks, "block")),
            "sm" => format!("an SM with {} of {warps}", many(self.blocks, "block")),
            _ => format!("a block of {warps} that has the GPU for itself"),
        }
    }

    /// Appends where the blocks run and which warps wait for each other.
    fn write(&self, out: &mut String) {
        let [least, most] = self.resident;
        let resident = match least == most {
            true => many(least, "block"),
            false => format!("{least} to {most} blocks"),
        };
        let chain = match self.chain {
            "one-warp" => "no warp waits for others of its block",
            "aligned-barriers" => "all warps of a block pass the same barriers",
            _ => "warps of a block may pass different barriers: counted one after the other",
        };
        out.push_str(&format!(
            "  {} of {resident} each; {chain}\n",
            many(self.sms, "SM")
        ));
    }
}

impl CycleBoundReport {
    /// Returns the subject of the bound.
    pub(crate) fn subject(&self) -> String {
        match &self.launch {
            None => format!("a {} that runs alone", self.scope),
            Some(launch) => launch.subject(self.scope),
        }
    }

    /// Returns the clause that follows the bound. `conditions` are the statements about loops on which it depends.
    pub(crate) fn condition(&self, conditions: BoundConditions) -> String {
        let assumes = |id: &str| self.assumptions.iter().any(|own| own.id == id);
        let conditions = BoundConditions {
            // The cycles may rest on the launch even if no loop bound does.
            launch: conditions.launch || assumes("launch-range"),
            access_facts: assumes("access-facts"),
            ..conditions
        };
        conditions.clause()
    }

    /// Appends the bound, its sum and the most expensive lines. `conditions` are the statements about loops on which
    /// the bound depends.
    pub(crate) fn write(&self, out: &mut String, conditions: BoundConditions) {
        let Some(bound) = self.bound else {
            let reason = self.reason.as_deref().unwrap_or("none was computed");
            out.push_str(&format!("  no bound in cycles: {reason}\n"));
            return;
        };
        let (subject, condition) = (self.subject(), self.condition(conditions));
        out.push_str(&format!(
            "  bound: {subject} takes at most {bound} cycles{condition}\n"
        ));
        let time = match self.times.is_empty() {
            true => String::new(),
            false => format!("{}; ", ClockTime::list(&self.times)),
        };
        let caches = match self.caches {
            "any" => "caches in any state".to_owned(),
            state => format!("{state} caches"),
        };
        out.push_str(&format!(
            "  {time}machine {}, {} scheduler, {caches}\n",
            self.machine.as_deref().unwrap_or("unknown"),
            self.schedulers
        ));
        if let Some(launch) = &self.launch {
            launch.write(out);
        }
        if let Some(why) = &self.not_executed {
            out.push_str(&format!(
                "  by loop bounds alone: the launch was not executed: {why}\n"
            ));
        }
        self.write_terms(out, bound);
        self.write_limit(out, bound);
        if let Some(estimate) = &self.estimate {
            out.push_str(&format!(
                "  estimate by abstract CTA simulation, not a bound: {}\n",
                in_cycles(estimate.cycles)
            ));
        }
        self.write_lines(out, bound);
    }

    /// Appends the terms other than 0, and their sum.
    fn write_terms(&self, out: &mut String, bound: u64) {
        let row = |name: &str, cycles: u64| {
            let share = truncated_share(cycles.into(), bound.into());
            vec![name.to_owned(), cycles.to_string(), share]
        };
        let mut rows = vec![
            ["where cycles go", "cycles", "share"]
                .map(str::to_owned)
                .to_vec(),
        ];
        // A term of 0 explains nothing.
        let terms = self.terms.iter().filter(|term| term.cycles > 0);
        rows.extend(terms.map(|term| row(term.name, term.cycles)));
        rows.push(row("sum", bound));
        out.push_str(&table(4, &[Align::Left, Align::Right, Align::Right], &rows));
    }

    /// Appends the largest term of a launch and the resource that limits it.
    fn write_limit(&self, out: &mut String, bound: u64) {
        // The names below are terms of a launch; a lone warp has other terms.
        let largest = self.terms.iter().max_by_key(|term| term.cycles);
        let Some(term) = largest.filter(|_| self.launch.is_some()) else {
            return;
        };
        let limit = match term.name {
            "launch overhead" => "the overhead of the launch",
            "warps one after the other" => {
                "latency: of instructions and accesses that a warp waits for"
            }
            "issue and units of others" => "issue slots and units of a sub-partition",
            "memory of the SM" => "shared memory, and the path of an SM to memory",
            "L2 cache and DRAM" => "bandwidth of the L2 cache and DRAM",
            "first requests" => "first requests of code, constants and translations",
            "starts of blocks" => "starts of blocks",
            _ => "refreshes of DRAM",
        };
        let share = truncated_share(term.cycles.into(), bound.into());
        out.push_str(&format!("  limited most by {limit} ({share})\n"));
    }

    /// Appends the lines with the most cycles.
    fn write_lines(&self, out: &mut String, bound: u64) {
        let mut lines: Vec<&LineCycles> = self.lines.iter().filter(|l| l.cycles > 0).collect();
        if lines.is_empty() {
            return;
        }
        // The sort is stable, so lines with equal cycles stay in their order.
        lines.sort_by_key(|line| Reverse(line.cycles));
        // The index is at most the length, as `split_off` requires.
        let rest = lines.split_off(lines.len().min(MAX_LINES));
        let mut rows = vec![["line", "cycles", "share"].map(str::to_owned).to_vec()];
        rows.extend(lines.iter().map(|line| {
            let share = truncated_share(line.cycles.into(), bound.into());
            vec![line.line.clone(), line.cycles.to_string(), share]
        }));
        out.push_str(&table(4, &[Align::Left, Align::Right, Align::Right], &rows));
        if !rest.is_empty() {
            let total = rest
                .iter()
                .fold(0, |sum: u64, l| sum.saturating_add(l.cycles));
            out.push_str(&format!(
                "    and {} with {} in all, {} (--format json lists them)\n",
                counted(rest.len(), "line"),
                in_cycles(total),
                truncated_share(total.into(), bound.into())
            ));
        }
    }

    /// Appends the assumptions, if there is a bound.
    pub(crate) fn write_assumptions(&self, out: &mut String) {
        if self.bound.is_none() || self.assumptions.is_empty() {
            return;
        }
        write_assumptions(out, "assumed for the cycles", &self.assumptions);
    }

    /// Returns the bound as a cell of a table.
    pub(crate) fn cell(&self) -> String {
        self.bound.map_or("no bound".to_owned(), |n| n.to_string())
    }
}

#[cfg(test)]
mod tests;
