//! `cargo xtask gaps`: gap breakdowns of all launches on four machines, and what the gaps consist of.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use warpbound_audit::{GapOptions, has_launch_gap, launch_gap};
use warpbound_base::Diagnostic;
use warpbound_bounds::CycleOptions;
use warpbound_launch::{LaunchFile, StartCaches};
use warpbound_query::{CacheState, Session};
use warpbound_query::{GpuModel, Parameter};
use warpbound_report::gap::GapReport;

mod grids;

use grids::{GridCampaign, GridTask};

use crate::audit_cycles::{MACHINES, WIDE_MACHINES, launches, quantiles};
use crate::repository::Repository;

pub(crate) const HELP: &str = "\
cargo xtask gaps [--seeds N] [--contents N] [--warps N] [--in FOLDER] [NAME...]
cargo xtask gaps --grids [--seeds N] [--contents N] [--runs N] [--sms N] [--minutes N] [--threads N]
                               [--journal FILE] [--seed N] [--part N --of M] [--totals] [--in FOLDER] [NAME...]

Compares the bound of a lone warp with the worst simulated run, as `warpbound gap` does, for the launches whose
names begin with NAME, or for all, on four machines with the caches that the launch states. Prints each chain, and the
median share of each cause. Fails if a chain inverts.

With --grids: the bounds of whole launches of several warps, in an order that --seed draws, also on machines with as many
other numbers of SMs as --sms says, at most four. Prints each chain, and each element of it divided by the worst
simulated run for blocks alone and for grids. A journal has a line for each launch that is done, from which a later run
goes on; no launch is begun after --minutes; --part and --of make one of M parts; --totals leaves out the chains.

With --in: kernels of FOLDER/NAME.ARCH.cubin on seven machines from t4 to rtx5090.
";

/// Maximum number of warp instructions of a run of a whole launch; longer ones are left out, and counted.
const GRID_INSTRUCTIONS: u64 = 400_000;

/// Numbers of SMs, in addition to the number of the machine. With few SMs, even small grids have several blocks for
/// an SM.
const SMS: [u64; 4] = [1, 3, 2, 7];

/// Time between two progress lines.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(20);

/// Extent of the runs.
struct Extent<'a> {
    seeds: u64,
    contents: u64,
    /// Warps of a launch that run alone.
    warps: u64,
    /// Runs of a whole launch.
    runs: u64,
    /// Other numbers of SMs that whole launches run on.
    sms: u64,
    /// Whole launches, if these are what is run.
    grids: Option<GridCampaign>,
    /// Folder with code for GPUs from Volta on, if that is what is run.
    wide: Option<PathBuf>,
    names: Vec<&'a str>,
}

impl<'a> Extent<'a> {
    fn parse(arguments: &'a [String]) -> anyhow::Result<Extent<'a>> {
        let mut extent = Extent {
            seeds: 2,
            contents: 2,
            warps: 2,
            runs: 24,
            sms: 0,
            grids: None,
            wide: None,
            names: Vec::new(),
        };
        let mut campaign = GridCampaign {
            seed: 1,
            part: (0, 1),
            limit: None,
            journal: None,
            totals_only: false,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
        };
        let mut is_of_grids = false;
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            if argument == "--journal" {
                campaign.journal = Some(rest.next().context("--journal has no file")?.into());
                continue;
            }
            if argument == "--in" {
                extent.wide = Some(rest.next().context("--in without a folder")?.into());
                continue;
            }
            let mut number = || -> anyhow::Result<u64> {
                Ok(rest.next().context("an option without a number")?.parse()?)
            };
            match argument.as_str() {
                "--seeds" => extent.seeds = number()?,
                "--contents" => extent.contents = number()?,
                "--warps" => extent.warps = number()?,
                "--runs" => extent.runs = number()?.max(1),
                "--sms" => extent.sms = number()?,
                "--grids" => is_of_grids = true,
                "--totals" => campaign.totals_only = true,
                "--minutes" => campaign.limit = Some(Duration::from_secs(60 * number()?)),
                "--threads" => campaign.threads = number()?.max(1) as usize,
                "--seed" => campaign.seed = number()?,
                "--part" => campaign.part.0 = number()? as usize,
                "--of" => campaign.part.1 = number()?.max(1) as usize,
                flag if flag.starts_with('-') => bail!("no option is called {flag:?}"),
                name => extent.names.push(name),
            }
        }
        extent.grids = is_of_grids.then_some(campaign);
        Ok(extent)
    }

    /// Options for a launch on a machine.
    fn options(&self, machine: &GpuModel, grid: &LaunchFile) -> GapOptions {
        GapOptions {
            seeds: self.seeds,
            contents: self.contents,
            most_warps: self.warps,
            most_runs: self.runs,
            ..GapOptions::new(CycleOptions {
                counts: Default::default(),
                machine: machine.clone(),
                caches: match grid.caches {
                    StartCaches::Warm => CacheState::Warm,
                    StartCaches::Cold => CacheState::Cold,
                },
                splitting: Default::default(),
            })
        }
    }
}

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let extent = Extent::parse(arguments)?;
    let mut machines = Vec::new();
    let of_family = match &extent.wide {
        Some(_) => &WIDE_MACHINES[..],
        None => &MACHINES[..],
    };
    for (name, chip) in of_family {
        let machine = GpuModel::built_in(name).map_err(|d| anyhow::anyhow!("{d}"))?;
        machines.push((machine, *chip));
    }
    if extent.grids.is_some() {
        let counts = SMS.iter().take(extent.sms as usize);
        let others = counts.flat_map(|&sms| {
            let own = machines.iter();
            own.map(move |(machine, chip)| (machine.clone().with(Parameter::SmCount, sms), *chip))
        });
        let others: Vec<_> = others.collect();
        machines.extend(others);
    }
    let launches = launches(repository.cuda_launches()?, &extent.names)?;
    let folder = extent.wide.clone();
    let folder = folder.unwrap_or_else(|| repository.built_kernels());
    let mut tasks = Vec::new();
    for launch in &launches {
        tasks.extend(machines.iter().map(|machine| (launch, machine)));
    }
    let (next, total) = (AtomicUsize::new(0), Mutex::new(Total::default()));
    let begin = Instant::now();
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    if let Some(campaign) = &extent.grids {
        let tasks = tasks
            .iter()
            .map(|((name, grid), (machine, chip))| GridTask {
                name,
                grid,
                machine,
                chip,
            });
        return grids::run(tasks.collect(), campaign, |task| {
            let options = GapOptions {
                max_instructions: GRID_INSTRUCTIONS,
                ..extent.options(task.machine, task.grid)
            };
            let launch = (task.name, task.grid);
            gap(&folder, launch, task.chip, &options, true)
        });
    }
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(((name, grid), (machine, chip))) =
                    tasks.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let options = extent.options(machine, grid);
                    let done = gap(&folder, (name, grid), chip, &options, false);
                    let mut total = total
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner);
                    total.add(name, done);
                    total.print_progress(tasks.len(), begin);
                }
            });
        }
    });
    let total = total
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    total.print()
}

/// Gap breakdown of a launch; `None` without code for the chip in the folder, the error is the reason why there is none.
fn gap(
    folder: &Path,
    (name, grid): (&str, &LaunchFile),
    chip: &str,
    options: &GapOptions,
    is_of_grids: bool,
) -> anyhow::Result<Option<Result<GapReport, String>>> {
    let source = name.split('.').next().unwrap_or_default();
    let builds = [chip.to_string(), format!("nvrtc11.{chip}")];
    let cubin = |build: String| folder.join(format!("{source}.{build}.cubin"));
    let Some(path) = builds.map(cubin).into_iter().find(|path| path.exists()) else {
        return Ok(None);
    };
    let to_error = |diagnostic: Diagnostic| anyhow::anyhow!("{diagnostic}");
    let session = Session::open(name, &fs::read(&path)?).map_err(to_error)?;
    let kernel = session.launched_kernel(None, grid.kernel.as_deref());
    let kernel = kernel.map_err(to_error)?;
    let report = match is_of_grids {
        true if !has_launch_gap(&session, grid) => {
            return Ok(Some(Err("a launch of one warp".to_owned())));
        }
        true => launch_gap(&session, kernel, grid, options, |_, _| {}),
        false => warpbound_audit::gap(&session, kernel, grid, options, |_, _| {}),
    };
    Ok(Some(report.map_err(|why| why.message)))
}

/// Results of all launches.
#[derive(Default)]
struct Total {
    done: usize,
    reported: Duration,
    without_code: usize,
    refused: BTreeMap<String, usize>,
    problems: Vec<String>,
    lines: Vec<String>,
    inversions: Vec<String>,
    ratios: Vec<f64>,
    /// Shares of each cause in the gap, telescoped and alone, and cycles in relation to the worst run.
    shares: BTreeMap<&'static str, [Vec<f64>; 3]>,
    /// Value of each element of the chain divided by the worst run, both without launch overhead.
    values: BTreeMap<&'static str, Vec<f64>>,
    without_bound: usize,
}

impl Total {
    fn add(&mut self, name: &str, done: anyhow::Result<Option<Result<GapReport, String>>>) {
        self.done += 1;
        let report = match done {
            Err(error) => return self.problems.push(format!("{name}: {error:#}")),
            Ok(None) => {
                self.without_code += 1;
                return;
            }
            Ok(Some(Err(why))) => {
                *self.refused.entry(why).or_default() += 1;
                return;
            }
            Ok(Some(Ok(report))) => report,
        };
        let overhead = report.launch_overhead;
        let net = |cycles: u64| cycles.saturating_sub(overhead) as f64;
        let worst = net(report.worst_simulated).max(1.0);
        let chain = report.chain.iter();
        let chain: Vec<String> = chain
            .map(|element| format!("{} {}", element.name, net(element.value)))
            .collect();
        let line = format!(
            "{:8.3} {name} on {}: {}; {}",
            report.ratio().unwrap_or(f64::NAN),
            report.machine,
            chain.join(", "),
            report.worst_run
        );
        let errors = report.notes.iter().filter(|note| note.starts_with("error"));
        let problems = errors.map(|note| format!("{name} on {}: {note}", report.machine));
        self.problems.extend(problems);
        if let Some(at) = report.inversion() {
            self.inversions.push(format!("inverts at {at:?}: {line}"));
        }
        self.lines.push(line);
        if report
            .chain
            .first()
            .is_some_and(|first| first.name != "bound")
        {
            self.without_bound += 1;
        }
        self.ratios.extend(report.ratio());
        for element in &report.chain {
            let values = self.values.entry(element.name).or_default();
            values.push(net(element.value) / worst);
        }
        let gap = (net(report.bound) - net(report.worst_simulated)).max(1.0);
        for share in &report.shares {
            let known = self.shares.entry(share.name).or_default();
            known[0].push(share.telescoped as f64 / gap);
            known[1].extend(share.alone.map(|alone| alone as f64 / gap));
            known[2].push(share.telescoped as f64 / worst);
        }
    }

    /// Prints the progress on standard error.
    fn print_progress(&mut self, all: usize, begin: Instant) {
        let now = begin.elapsed();
        if now >= self.reported + PROGRESS_INTERVAL {
            self.reported = now;
            let inverted = self.inversions.len();
            eprintln!("{} of {all}, {inverted} inversions", self.done);
        }
    }

    /// Prints the results.
    fn print(mut self) -> anyhow::Result<()> {
        self.lines.sort();
        for line in &self.lines {
            println!("{line}");
        }
        for line in &self.inversions {
            println!("INVERSION {line}");
        }
        println!(
            "bound / worst simulated, net: {}",
            quantiles(&mut self.ratios)
        );
        println!("chain value / worst simulated, net:");
        for name in GapReport::CHAIN {
            if let Some(values) = self.values.get_mut(name) {
                println!("  {name:16} {}", quantiles(values));
            }
        }
        println!("shares (median and 90 %):");
        println!("  cause              of the gap      alone           of the worst run");
        for name in GapReport::CHAIN {
            if let Some(shares) = self.shares.get_mut(name) {
                let parts = shares.each_mut().map(|values| {
                    values.sort_by(f64::total_cmp);
                    let at = |share: f64| {
                        let place = (values.len() as f64 * share) as usize;
                        values.get(place).copied().unwrap_or(f64::NAN) * 100.0
                    };
                    format!("{:5.1} % {:5.1} %", at(0.5), at(0.9))
                });
                println!("  {name:16} {}", parts.join("  "));
            }
        }
        println!(
            "{} gaps, {} begin with observed loops, {} without code for the chip",
            self.lines.len(),
            self.without_bound,
            self.without_code
        );
        for (reason, count) in &self.refused {
            println!("no gap: {count} {reason}");
        }
        if !self.inversions.is_empty() || !self.problems.is_empty() {
            bail!(
                "{} chains invert; {}",
                self.inversions.len(),
                self.problems.join("; ")
            );
        }
        Ok(())
    }
}
