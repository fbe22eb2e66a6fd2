//! Totals of the audit of grids, and the journal from which they are read again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::bail;
use serde::{Deserialize, Serialize};
use warpbound_audit::audit::LaunchTimeAudit;

use crate::audit_cycles::quantiles;
use crate::journal::Journal;

/// Time between two progress lines.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(20);

/// Result of one launch on one machine: a line of the journal.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct AuditedGrid {
    key: String,
    /// Kind of launch, for the ratios.
    kind: String,
    refused: Option<String>,
    problem: Option<String>,
    runs: u64,
    skipped: u64,
    violations: Vec<String>,
    ratio: Option<f64>,
    /// Ratio of the estimate by abstract CTA simulation.
    #[serde(default)]
    estimate: Option<f64>,
    /// Bound, terms and worst run as text.
    line: String,
    /// Pairs of factors.
    pairs: BTreeSet<(String, String)>,
}

impl AuditedGrid {
    pub(super) fn refused(key: String, why: &str) -> AuditedGrid {
        AuditedGrid {
            key,
            refused: Some(why.to_owned()),
            ..AuditedGrid::default()
        }
    }

    pub(super) fn problem(key: String, why: String) -> AuditedGrid {
        AuditedGrid {
            key,
            problem: Some(why),
            ..AuditedGrid::default()
        }
    }

    /// Takes over a comparison. `factors` has the factors of each run.
    pub(super) fn new(
        key: String,
        kind: String,
        factors: Vec<Vec<String>>,
        found: LaunchTimeAudit,
    ) -> AuditedGrid {
        if let Some(why) = found.refused {
            return AuditedGrid::refused(key, &why);
        }
        let (ratio, estimate) = (found.ratio(), found.estimate_ratio());
        let terms = found.terms.iter().filter(|(_, cycles)| *cycles > 0);
        let terms: Vec<String> = terms
            .map(|(name, cycles)| format!("{name} {cycles}"))
            .collect();
        let line = found.worst.as_ref().map_or(String::new(), |(worst, run)| {
            let (bound, terms, shape) = (found.bound, terms.join(", "), &found.shape);
            let estimate = found.estimate;
            let estimate = estimate.map_or("no".to_owned(), |cycles| cycles.to_string());
            format!("{worst} of {bound} ({run}), estimate {estimate}; {terms}; {shape}")
        });
        let mut pairs = BTreeSet::new();
        for factors in factors.iter().filter(|_| found.runs > 0) {
            for (number, first) in factors.iter().enumerate() {
                let others = factors.iter().skip(number + 1);
                pairs.extend(others.map(|other| (first.clone(), other.clone())));
            }
        }
        AuditedGrid {
            key,
            kind,
            runs: found.runs,
            skipped: found.skipped,
            violations: found.exceeded.into_iter().map(|run| run.text).collect(),
            ratio,
            estimate,
            line,
            pairs,
            ..AuditedGrid::default()
        }
    }
}

/// Totals of the audit.
pub(super) struct GridTotals {
    seed: u64,
    all: usize,
    grids: BTreeMap<String, AuditedGrid>,
    reported: Duration,
    journal: Journal,
}

impl GridTotals {
    /// Opens a journal, whose lines count as done, as [`Journal::open`] does.
    pub(super) fn open(path: Option<&Path>, seed: u64, all: usize) -> anyhow::Result<GridTotals> {
        let (journal, done) = Journal::open(path, seed, "grids")?;
        let done = done.into_iter();
        Ok(GridTotals {
            seed,
            all,
            grids: done
                .map(|grid: AuditedGrid| (grid.key.clone(), grid))
                .collect(),
            reported: Duration::ZERO,
            journal,
        })
    }

    /// Launches that are done.
    pub(super) fn done(&self) -> impl Iterator<Item = String> + '_ {
        self.grids.keys().cloned()
    }

    /// Adds a result.
    pub(super) fn add(&mut self, grid: AuditedGrid) {
        self.journal.add(&grid);
        self.grids.insert(grid.key.clone(), grid);
    }

    /// Prints the progress on standard error.
    pub(super) fn print_progress(&mut self, begin: Instant) {
        let now = begin.elapsed();
        if now >= self.reported + PROGRESS_INTERVAL {
            self.reported = now;
            let runs: u64 = self.grids.values().map(|grid| grid.runs).sum();
            let violations: usize = self.grids.values().map(|grid| grid.violations.len()).sum();
            let (done, all) = (self.grids.len(), self.all);
            eprintln!("{done} of {all}, {runs} runs, {violations} violations");
        }
    }

    /// Prints all lines and the totals.
    ///
    /// # Errors
    ///
    /// A run exceeded its bound, or a launch could not be compared.
    pub(super) fn print(self, launches: usize) -> anyhow::Result<()> {
        let mut ratios: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        let mut estimates: Vec<f64> = Vec::new();
        let mut refused: BTreeMap<&str, usize> = BTreeMap::new();
        let mut problems = self.journal.finish();
        let mut pairs = BTreeSet::new();
        let mut lines = Vec::new();
        let (mut runs, mut skipped, mut violations, mut grids) = (0, 0, 0, 0);
        for grid in self.grids.values() {
            runs += grid.runs;
            skipped += grid.skipped;
            violations += grid.violations.len();
            grids += usize::from(grid.runs > 0);
            for violation in &grid.violations {
                lines.push(format!("VIOLATION {}: {violation}", grid.key));
            }
            if let Some(problem) = &grid.problem {
                problems.push(format!("{}: {problem}", grid.key));
            }
            if let Some(why) = &grid.refused {
                *refused.entry(why).or_default() += 1;
            }
            if let Some(ratio) = grid.ratio {
                ratios.entry(&grid.kind).or_default().push(ratio);
                lines.push(format!("{ratio:8.3} {}: {}", grid.key, grid.line));
            }
            estimates.extend(grid.estimate);
            pairs.extend(&grid.pairs);
        }
        lines.sort();
        for line in &lines {
            println!("{line}");
        }
        println!(
            "{launches} launches, {grids} of {} with runs: {runs} runs, {violations} above their bound, {skipped} left out",
            self.all
        );
        println!("{} pairs of factors occur, seed {}", pairs.len(), self.seed);
        for (kind, ratios) in &mut ratios {
            println!(
                "bound / worst simulated, net of launch overhead, {kind}: {}",
                quantiles(ratios)
            );
        }
        let below = estimates.iter().filter(|&&ratio| ratio < 1.0).count();
        let estimated = estimates.len();
        println!(
            "estimate by abstract CTA simulation / worst simulated, of {estimated} launches, {below} below 1: {}",
            quantiles(&mut estimates)
        );
        for (reason, count) in &refused {
            println!("no bound: {count} {reason}");
        }
        if violations > 0 || !problems.is_empty() {
            bail!(
                "{violations} runs exceeded their bound; {}",
                problems.join("; ")
            );
        }
        Ok(())
    }
}
