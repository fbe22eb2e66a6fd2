//! Recorded executions of instructions, compared with a run of the same launch.

use std::collections::BTreeMap;

use warpbound_launch::LaunchFile;
use warpbound_load::Kernel;
use warpbound_query::Session;
use warpbound_runs::{RunOptions, execute};

use super::counts::RecordedRow;

/// Executions of an instruction in a launch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Executions {
    /// Executions by warps or groups of their lanes.
    pub(super) warps: u64,
    /// Active lanes, summed over the executions.
    pub(super) active: u64,
    /// Active lanes whose condition holds, summed over the executions.
    pub(super) executing: u64,
}

/// Comparison of launches with runs.
#[derive(Default)]
pub(super) struct ComparedRuns {
    launches: usize,
    /// Launches with equal numbers at each instruction.
    equal: usize,
    instructions: usize,
    equal_instructions: usize,
    /// Launches whose instructions the GPU executed less often, with the same lanes: groups merged early.
    merged: BTreeMap<String, String>,
    faults: BTreeMap<String, String>,
    pub(super) contradictions: Vec<String>,
}

impl ComparedRuns {
    /// Runs a launch and compares its executions with the recorded ones.
    ///
    /// A run joins groups only where an instruction does (SOUNDNESS 21.8). So the lanes are equal, and the executions of
    /// the run are not fewer.
    pub(super) fn compare(
        &mut self,
        session: &Session,
        kernel: &Kernel,
        name: &str,
        launch: &LaunchFile,
        rows: &[RecordedRow],
    ) {
        let run = session.prepare(kernel).and_then(|prepared| {
            let run = execute(session, kernel, launch, &RunOptions::default(), &mut |_| ())?;
            Ok((prepared, run.counts))
        });
        let (prepared, counts) = match run {
            Ok(run) => run,
            Err(why) => {
                self.faults.insert(name.to_owned(), why.to_string());
                return;
            }
        };
        self.launches += 1;
        let (mut equal, mut fewer) = (0, 0);
        for row in rows {
            let at = kernel.entry.offset(row.offset.into());
            let Some(at) = at.and_then(|at| prepared.code.at(at)) else {
                continue;
            };
            let of = |list: &[u64]| list.get(at.index()).copied().unwrap_or_default();
            let here = Executions {
                warps: of(&counts.issues),
                active: of(&counts.active),
                executing: of(&counts.executed),
            };
            let mut seen = row.executions;
            // Profilers count the lanes whose guard holds. Both the guard and the further test decide what a lane does.
            let has_further_test = prepared
                .code
                .get(at)
                .is_some_and(|op| op.condition.has_further_test());
            if has_further_test && (here.executing..=here.active).contains(&seen.executing) {
                seen.executing = here.executing;
            }
            self.instructions += 1;
            let lanes = |e: Executions| (e.active, e.executing);
            if here == seen {
                equal += 1;
            } else if lanes(here) == lanes(seen) && seen.warps < here.warps {
                fewer += 1;
            } else {
                let place = prepared.location(at);
                let of = |e: Executions| {
                    format!(
                        "{} executions by {} lanes, {} with the condition",
                        e.warps, e.active, e.executing
                    )
                };
                let what = format!("{name} {place}: {}; in a run {}", of(seen), of(here));
                self.contradictions.push(what);
            }
        }
        self.equal_instructions += equal;
        self.equal += usize::from(equal == rows.len());
        if fewer > 0 {
            let what = format!("{fewer} of {} instructions", rows.len());
            self.merged.insert(name.to_owned(), what);
        }
    }

    pub(super) fn print(&self) {
        println!(
            "runs: {} launches, {} with equal executions and lanes at each instruction; {} of {} instructions equal; {} faults",
            self.launches,
            self.equal,
            self.equal_instructions,
            self.instructions,
            self.faults.len()
        );
        for (launch, what) in &self.merged {
            println!(
                "  groups merged early in {launch}: {what} executed less often, by the same lanes"
            );
        }
        for (launch, why) in &self.faults {
            println!("  {launch}: {why}");
        }
    }
}
