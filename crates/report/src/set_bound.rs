//! Bound on the cycles of a launch set: the sum of the bounds of its launches.
//!
//! For example, a launch of at most 1000 cycles in at most 3 rounds and one of 500 cycles give 3500 cycles. The sum
//! is a bound only because the launches run one after the other (SOUNDNESS 20.7).

use serde::Serialize;

use crate::conditions::BoundAssumption;
use crate::cycle_bound::ClockTime;
use crate::table::{Align, table};

/// Bound of a launch set whose launches run one after the other.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SetBoundReport {
    /// Always `warpbound.set-bound/1`.
    pub schema: &'static str,
    /// The file with the code.
    pub file: String,
    /// The file of the launch set.
    pub set: String,
    /// Name of the machine.
    pub machine: Option<String>,
    /// Part of each launch whose cycles are bounded: `grid`.
    pub scope: &'static str,
    /// Schedulers for which the bound holds: `any`, or `work-conserving`.
    pub schedulers: &'static str,
    /// State of the caches at the start of each launch: `any`, `warm` or `cold`.
    pub caches: &'static str,
    /// The launches, in the order of the file.
    pub launches: Vec<SetLaunchBound>,
    /// Upper bound on the sum of the cycles of all executions; `None` if a launch has none.
    pub bound: Option<u64>,
    /// Longest duration of [`SetBoundReport::times`], in milliseconds.
    pub milliseconds: Option<f64>,
    /// Durations of the bound, as for a kernel.
    pub times: Vec<ClockTime>,
    /// Assumptions of the bound.
    pub assumptions: Vec<BoundAssumption>,
}

/// Bound of one launch of a set.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SetLaunchBound {
    /// Name in the set.
    pub name: String,
    /// Kernel.
    pub kernel: String,
    /// Maximum number of executions.
    pub rounds: u64,
    /// Largest bound of an execution, in cycles; `None` if an execution has none.
    pub bound: Option<u64>,
    /// Sum of the bounds of all executions, in cycles.
    pub sum: Option<u64>,
    /// Reason why there is no bound.
    pub reason: Option<String>,
}

impl SetBoundReport {
    /// The name of the JSON format.
    pub const SCHEMA: &'static str = "warpbound.set-bound/1";

    /// Returns the report as text: the sum, then a line for each launch.
    pub fn text(&self) -> String {
        let mut out = format!("launch set {}  ({})\n", self.set, self.file);
        let launches = match self.launches.len() {
            1 => "1 launch".to_owned(),
            count => format!("{count} launches"),
        };
        let caches = match self.caches {
            "any" => "caches in any state".to_owned(),
            state => format!("{state} caches"),
        };
        match self.bound {
            Some(bound) => out.push_str(&format!(
                "  bound: {launches}, one after the other, take at most {bound} cycles, {}\n",
                ClockTime::list(&self.times)
            )),
            None => out.push_str(&format!("  no bound in cycles of {launches}\n")),
        }
        out.push_str(&format!(
            "  whole grids; machine {}, {} scheduler, {caches} at the start of each launch\n",
            self.machine.as_deref().unwrap_or("unknown"),
            self.schedulers,
        ));
        let number = |cycles: Option<u64>| cycles.map_or("none".to_owned(), |n| n.to_string());
        let header = ["launch", "kernel", "times", "at most", "in all"];
        let mut rows = vec![header.map(str::to_owned).to_vec()];
        rows.extend(self.launches.iter().map(|launch| {
            vec![
                launch.name.clone(),
                launch.kernel.clone(),
                launch.rounds.to_string(),
                number(launch.bound),
                number(launch.sum),
            ]
        }));
        let columns = [
            Align::Left,
            Align::Left,
            Align::Right,
            Align::Right,
            Align::Right,
        ];
        out.push_str(&table(4, &columns, &rows));
        // One launch without a bound leaves the whole set without one, so each reason matters.
        for launch in &self.launches {
            if let Some(why) = &launch.reason {
                out.push_str(&format!("  no bound of {}: {why}\n", launch.name));
            }
        }
        if self.bound.is_some() {
            out.push_str("  assumed:\n");
            for assumption in &self.assumptions {
                out.push_str(&format!("    {} ({})\n", assumption.text, assumption.id));
            }
        }
        out
    }
}
