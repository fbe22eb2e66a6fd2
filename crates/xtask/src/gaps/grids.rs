//! `cargo xtask gaps --grids`: gap breakdowns of whole launches, in an order that the seed draws, with a journal from
//! which a later run goes on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::bail;
use serde::{Deserialize, Serialize};
use warpbound_launch::LaunchFile;
use warpbound_query::{GpuModel, Parameter};
use warpbound_report::gap::GapReport;

use super::PROGRESS_INTERVAL;
use crate::audit_cycles::quantiles;
use crate::journal::Journal;

/// Extent of a campaign.
pub(super) struct GridCampaign {
    pub(super) seed: u64,
    /// Part of the launches: every n-th, from a first one.
    pub(super) part: (usize, usize),
    /// Time after which no launch is begun.
    pub(super) limit: Option<Duration>,
    pub(super) journal: Option<PathBuf>,
    /// Host threads.
    pub(super) threads: usize,
    /// Whether only totals are printed, and chains that invert.
    pub(super) totals_only: bool,
}

/// Launch on a machine.
pub(super) struct GridTask<'a> {
    pub(super) name: &'a str,
    pub(super) grid: &'a LaunchFile,
    pub(super) machine: &'a GpuModel,
    pub(super) chip: &'static str,
}

impl GridTask<'_> {
    /// Name in the journal and in lines.
    fn key(&self) -> String {
        let (machine, sms) = (&self.machine.name, self.sms());
        format!("{} on {machine} with {sms} SMs", self.name)
    }

    fn sms(&self) -> u64 {
        self.machine.range(Parameter::SmCount).least
    }

    /// Kind of a launch, for which ratios are collected.
    fn kind(&self, report: &GapReport) -> String {
        let blocks: u64 = self.grid.grid.iter().map(|&n| u64::from(n)).product();
        let kind = match blocks {
            1 => "one block",
            _ if blocks <= self.sms() => "at most a block for each SM",
            _ => "several blocks for an SM",
        };
        match report.unknown_addresses {
            0 => kind.to_owned(),
            _ => format!("{kind}, with unknown addresses"),
        }
    }
}

/// Gap breakdown of one launch on one machine: a line of the journal.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct GridGap {
    key: String,
    kind: String,
    /// Reason why there is none.
    refused: Option<String>,
    problems: Vec<String>,
    inversion: Option<String>,
    runs: u64,
    /// Elements of the chain, net of the overhead of the launch.
    chain: Vec<(String, u64)>,
    /// Parts of the composition by resource.
    resources: Vec<(String, i64)>,
    worst_run: String,
}

impl GridGap {
    fn new(task: &GridTask<'_>, report: &GapReport) -> GridGap {
        let net = |cycles: u64| cycles.saturating_sub(report.launch_overhead);
        let chain = report.chain.iter();
        let resources = report.resources.iter();
        let errors = report.notes.iter().filter(|note| note.starts_with("error"));
        let mut problems: Vec<String> = errors.cloned().collect();
        let gap = i128::from(report.bound) - i128::from(report.worst_simulated);
        let parts: i128 = report.shares.iter().map(|share| share.telescoped).sum();
        if parts != gap {
            problems.push(format!("parts add up to {parts}, the gap is {gap}"));
        }
        GridGap {
            key: task.key(),
            kind: task.kind(report),
            problems,
            inversion: report.inversion().map(str::to_owned),
            runs: report.runs,
            chain: chain
                .map(|element| (element.name.to_owned(), net(element.value)))
                .collect(),
            resources: resources
                .map(|part| {
                    let cycles = i64::try_from(part.cycles).unwrap_or(i64::MAX);
                    (part.name.to_owned(), cycles)
                })
                .collect(),
            worst_run: report.worst_run.clone(),
            ..GridGap::default()
        }
    }

    /// Value of an element of the chain divided by the worst simulated run.
    fn ratio(&self, name: &str) -> Option<f64> {
        let (_, worst) = self.chain.last()?;
        let (_, value) = self.chain.iter().find(|(known, _)| known == name)?;
        Some(*value as f64 / (*worst).max(1) as f64)
    }

    /// Element of the chain that accounts for the largest part of the gap, with that part.
    fn largest_part(&self) -> Option<(&str, u64)> {
        let pairs = self.chain.windows(2).filter_map(|pair| match pair {
            [(_, before), (name, after)] => Some((name.as_str(), before.saturating_sub(*after))),
            _ => None,
        });
        pairs.max_by_key(|(_, part)| *part)
    }

    fn line(&self) -> String {
        let values = self.chain.iter();
        let values: Vec<String> = values
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        let resources = self.resources.iter().filter(|(_, cycles)| *cycles > 0);
        let resources: Vec<String> = resources
            .map(|(name, cycles)| format!("{name} {cycles}"))
            .collect();
        let part = self.largest_part();
        let part = part.map_or(String::new(), |(name, part)| {
            format!("; the largest part is {name} with {part}")
        });
        format!(
            "{}: {} ({}); composition: {}{part}",
            self.key,
            values.join(", "),
            self.worst_run,
            resources.join(", ")
        )
    }
}

/// Makes the gap breakdowns; `gap` makes one, `None` without code for the chip.
pub(super) fn run(
    mut tasks: Vec<GridTask<'_>>,
    campaign: &GridCampaign,
    gap: impl Fn(&GridTask<'_>) -> anyhow::Result<Option<Result<GapReport, String>>> + Sync,
) -> anyhow::Result<()> {
    fastrand::Rng::with_seed(campaign.seed).shuffle(&mut tasks);
    let (first, step) = campaign.part;
    let tasks: Vec<GridTask<'_>> = tasks.into_iter().skip(first).step_by(step.max(1)).collect();
    let totals = GridGaps::open(campaign.journal.as_deref(), campaign.seed, tasks.len())?;
    let totals = Mutex::new(totals);
    let (next, begin) = (AtomicUsize::new(0), Instant::now());
    let lock = || totals.lock().unwrap_or_else(PoisonError::into_inner);
    std::thread::scope(|scope| {
        for _ in 0..campaign.threads.max(1) {
            scope.spawn(|| {
                while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if lock().rows.contains_key(&task.key()) {
                        continue;
                    }
                    if campaign.limit.is_some_and(|limit| begin.elapsed() > limit) {
                        break;
                    }
                    let row = match gap(task) {
                        Ok(Some(Ok(report))) => GridGap::new(task, &report),
                        Ok(Some(Err(why))) => refused(task, why),
                        Ok(None) => refused(task, "without code for the chip".to_owned()),
                        Err(error) => GridGap {
                            key: task.key(),
                            problems: vec![format!("{error:#}")],
                            ..GridGap::default()
                        },
                    };
                    lock().add(row, begin);
                }
            });
        }
    });
    let totals = totals.into_inner();
    let totals = totals.unwrap_or_else(PoisonError::into_inner);
    totals.print(campaign.totals_only)
}

fn refused(task: &GridTask<'_>, why: String) -> GridGap {
    GridGap {
        key: task.key(),
        refused: Some(why),
        ..GridGap::default()
    }
}

/// Gap breakdowns that are done, and their journal.
struct GridGaps {
    all: usize,
    rows: BTreeMap<String, GridGap>,
    journal: Journal,
    reported: Duration,
}

impl GridGaps {
    /// Opens a journal, whose lines count as done, as [`Journal::open`] does.
    fn open(path: Option<&Path>, seed: u64, all: usize) -> anyhow::Result<GridGaps> {
        let (journal, done) = Journal::open(path, seed, "gaps")?;
        let done = done.into_iter();
        Ok(GridGaps {
            all,
            rows: done.map(|row: GridGap| (row.key.clone(), row)).collect(),
            journal,
            reported: Duration::ZERO,
        })
    }

    /// Adds a gap breakdown, and prints the progress on standard error.
    fn add(&mut self, row: GridGap, begin: Instant) {
        self.journal.add(&row);
        self.rows.insert(row.key.clone(), row);
        let now = begin.elapsed();
        if now >= self.reported + PROGRESS_INTERVAL {
            self.reported = now;
            let rows = self.rows.values();
            let inverted = rows.filter(|row| row.inversion.is_some()).count();
            eprintln!("{} of {}, {inverted} inversions", self.rows.len(), self.all);
        }
    }

    /// Prints all lines and the totals.
    ///
    /// # Errors
    ///
    /// A chain inverts, or a launch has no gap breakdown for an unexpected reason.
    fn print(self, totals_only: bool) -> anyhow::Result<()> {
        let mut ratios: BTreeMap<&str, BTreeMap<&str, Vec<f64>>> = BTreeMap::new();
        let mut refused: BTreeMap<&str, usize> = BTreeMap::new();
        let mut lines = Vec::new();
        let mut problems = self.journal.finish();
        let (mut inversions, mut runs, mut composed) = (0, 0, 0);
        for row in self.rows.values() {
            let of_row = row.problems.iter();
            problems.extend(of_row.map(|problem| format!("{}: {problem}", row.key)));
            if let Some(why) = &row.refused {
                *refused.entry(why).or_default() += 1;
            }
            if let Some(at) = &row.inversion {
                inversions += 1;
                lines.push(format!("INVERSION at {at:?}: {}", row.line()));
            }
            runs += row.runs;
            for name in GapReport::LAUNCH_CHAIN {
                if let Some(ratio) = row.ratio(name) {
                    let of_kind = ratios.entry(&row.kind).or_default();
                    of_kind.entry(name).or_default().push(ratio);
                }
            }
            if let Some(ratio) = row.ratio("composition") {
                composed += 1;
                if totals_only {
                    continue;
                }
                lines.push(format!("{ratio:8.3} {}", row.line()));
            }
        }
        lines.sort();
        for line in &lines {
            println!("{line}");
        }
        let made = self.rows.values().filter(|row| !row.chain.is_empty());
        println!(
            "{} gaps of launches of {} asked for, {composed} with a composition, {runs} runs, {inversions} inversions",
            made.count(),
            self.all
        );
        for (kind, ratios) in &mut ratios {
            println!("over the worst simulated run, net of launch overhead, {kind}:");
            for name in GapReport::LAUNCH_CHAIN {
                if let Some(ratios) = ratios.get_mut(name) {
                    println!("  {name:16} {}", quantiles(ratios));
                }
            }
        }
        for (reason, count) in &refused {
            println!("no gap: {count} {reason}");
        }
        if inversions > 0 || !problems.is_empty() {
            bail!("{inversions} chains invert; {}", problems.join("; "));
        }
        Ok(())
    }
}
