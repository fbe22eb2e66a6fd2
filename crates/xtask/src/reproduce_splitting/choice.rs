//! X5: which sites to mark, by the integer program and by simpler rules.

use std::fs;

use warpbound_query::{BoundOptions, Session};

use warpbound_measure::{SplitsOptions, splits};
use warpbound_report::splits::{ChoiceReport, SplitsReport};

use super::{Bench, ExperimentOutcome};
use crate::repository::files_with_extension;

/// Bound of loops without a derived one, for the executions of sites.
const LOOP_DEFAULT: u64 = 10;
/// Sites from which on a kernel counts.
const SITES: usize = 3;

/// Results over all kernels for a number of slots, with merging or without.
#[derive(Default)]
struct KernelChoices {
    kernels: usize,
    exhaustive: usize,
    different: Vec<String>,
    /// Cycles that a wave saves, summed over kernels: by the program, greedily, by the first sites.
    saved: [i128; 3],
    /// Kernels where the program saves more than the greedy rule, and than the first sites.
    better: [usize; 2],
}

/// X5.
pub(super) fn choice(bench: &Bench<'_>) -> anyhow::Result<ExperimentOutcome> {
    let mut outcome = ExperimentOutcome::default();
    let mut sessions = Vec::new();
    for path in files_with_extension(&bench.repository.built_kernels(), "co")? {
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        let session = Session::open(&name, &fs::read(&path)?);
        sessions.push((name, session.map_err(|d| anyhow::anyhow!("{d}"))?));
    }
    if bench.is_quick {
        sessions.truncate(20);
    }
    outcome.line(
        "  Cycles that a wave saves by the model, summed over the kernels with at least 3 sites:",
    );
    outcome.line(
        "  S  merge  kernels  program  greedy  first S  program better than: greedy  first S",
    );
    for splits in 1..=3 {
        for merge in [false, true] {
            let options = SplitsOptions {
                splits,
                merge,
                machine: None,
                bound: BoundOptions {
                    loop_default: Some(LOOP_DEFAULT),
                    ..BoundOptions::default()
                },
            };
            let mut choices = KernelChoices::default();
            for (name, session) in &sessions {
                choices.add_all(name, session, &options);
            }
            choices.write((splits, merge), &mut outcome);
        }
    }
    Ok(outcome)
}

impl KernelChoices {
    /// Adds the kernels of a file. Kernels that are refused have no sites.
    fn add_all(&mut self, file: &str, session: &Session, options: &SplitsOptions) {
        let Ok(kernels) = session.kernels(None) else {
            return;
        };
        for kernel in kernels {
            if let Ok(report) = splits(session, kernel, options) {
                self.add(file, &report);
            }
        }
    }

    fn add(&mut self, file: &str, report: &SplitsReport) {
        let sites = report
            .sites
            .iter()
            .filter(|site| site.arms.is_some())
            .count();
        if sites < SITES {
            return;
        }
        let saved = |rule: &str| -> Option<i128> {
            let found = report
                .choices
                .iter()
                .find(|choice: &&ChoiceReport| choice.rule == rule);
            Some(found?.saved)
        };
        let (Some(program), Some(greedy), Some(first)) =
            (saved("program"), saved("greedy"), saved("first"))
        else {
            return;
        };
        self.kernels += 1;
        for (sum, saved) in self.saved.iter_mut().zip([program, greedy, first]) {
            *sum += saved;
        }
        for (count, other) in self.better.iter_mut().zip([greedy, first]) {
            *count += usize::from(program > other);
        }
        let what = format!("{file} {}", report.kernel);
        if let Some(best) = saved("exhaustive") {
            self.exhaustive += 1;
            if best != program {
                self.different
                    .push(format!("{what}: {program} by the program, at best {best}"));
            }
        }
        if program < greedy || program < first {
            self.different.push(format!(
                "{what}: {program} by the program, {greedy} greedily, {first} by the first"
            ));
        }
    }

    fn write(&self, (splits, merge): (u32, bool), outcome: &mut ExperimentOutcome) {
        let merge = if merge { "join" } else { "none" };
        let [program, greedy, first] = self.saved;
        let [than_greedy, than_first] = self.better;
        outcome.line(format!(
            "  {splits}  {merge:5} {:>8} {program:>8} {greedy:>7} {first:>8} {than_greedy:>28} {than_first:>8}",
            self.kernels
        ));
        for line in &self.different {
            outcome.line(format!("    {line}"));
        }
        outcome.require(
            format!(
                "S = {splits}, merge {merge}: the program is the best of all choices in all {} kernels with few sites, and no rule is better",
                self.exhaustive
            ),
            self.different.is_empty(),
        );
    }
}
