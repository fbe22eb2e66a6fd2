//! `cargo xtask audit-kernels --cycles`: timed runs of single warps, compared with the bounds of a lone warp.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use warpbound_base::Diagnostic;
use warpbound_bound::{Effort, StatedCounts};
use warpbound_driver::audit::{HeaderMaximum, PathOrder, variation};
use warpbound_driver::{
    BoundOptions, CacheState, CycleOptions, GpuModel, Kernel, LoneWarp, Parameter, RunHooks, Selection, Session, Silent,
    SingleWarp, StartCaches, StatedLaunches, TimedOptions,
};
use warpbound_launch::LaunchFile;

use crate::repository::{Repository, files_with_extension};

/// Machines, and the chip whose code runs on each.
const MACHINES: [(&str, &str); 4] = [
    ("jetson-tx2", "sm_62"),
    ("gtx1080", "sm_61"),
    ("p100", "sm_61"),
    ("titan-x-maxwell", "sm_50"),
];

/// Most warp instructions of a run.
const MOST_INSTRUCTIONS: u64 = 2_000_000;

/// Time between two progress lines.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(20);

/// Extent of the audit.
#[derive(Clone, Copy)]
struct Extent {
    /// Random selections of the parameters of the machine.
    seeds: u64,
    /// Contents of the buffers: the given ones, and random ones.
    contents: u64,
    /// Most warps of each launch.
    warps: u64,
}

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let mut extent = Extent {
        seeds: 4,
        contents: 2,
        warps: 4,
    };
    let mut names: Vec<&str> = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut number = || -> anyhow::Result<u64> {
            Ok(rest.next().context("an option without a number")?.parse()?)
        };
        match argument.as_str() {
            "--seeds" => extent.seeds = number()?,
            "--contents" => extent.contents = number()?,
            "--warps" => extent.warps = number()?,
            flag if flag.starts_with('-') => bail!("no option is called {flag:?}"),
            name => names.push(name),
        }
    }
    let mut machines = Vec::new();
    for (name, chip) in MACHINES {
        let machine = GpuModel::built_in(name).map_err(|d| anyhow::anyhow!("{d}"))?;
        machines.push((machine, chip));
    }
    let launches = launches(repository, &names)?;
    let mut tasks = Vec::new();
    for launch in &launches {
        tasks.extend(machines.iter().map(|machine| (launch, machine)));
    }
    let (next, total) = (AtomicUsize::new(0), Mutex::new(Total::default()));
    let begin = Instant::now();
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(((name, grid), (machine, chip))) =
                    tasks.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let done = audit(repository, (name, grid), (machine, chip), extent);
                    let mut total = total
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner);
                    total.add(name, &machine.name, done);
                    total.print_progress(tasks.len(), begin);
                }
            });
        }
    });
    let mut total = total
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    total.lines.sort();
    print!("{}", total.lines.join(""));
    println!(
        "{} launches on {} machines: {} bounds, {} runs of single warps, {} above their bound",
        launches.len(),
        machines.len(),
        total.bounds,
        total.runs,
        total.violations
    );
    println!(
        "bound / worst simulated, net of launch overhead, with the loop counts of the runs: {}",
        quantiles(&mut total.ratios)
    );
    println!("left out: {} without code for the chip", total.without_code);
    for (reason, count) in &total.refused {
        println!("no bound: {count} {reason}");
    }
    if total.violations > 0 || !total.problems.is_empty() {
        bail!(
            "{} runs exceeded their bound; {}",
            total.violations,
            total.problems.join("; ")
        );
    }
    Ok(())
}

/// Returns median, 90th and 99th percentile and the greatest number.
pub(crate) fn quantiles(numbers: &mut [f64]) -> String {
    numbers.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let position = (numbers.len() as f64 * share) as usize;
        numbers.get(position.min(numbers.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
    };
    format!(
        "median {:.3}, 90 % {:.3}, 99 % {:.3}, most {:.3} ({})",
        at(0.5),
        at(0.9),
        at(0.99),
        at(1.0),
        numbers.len()
    )
}

/// Returns the launches of kernels whose sources have these names, or of all kernels.
fn launches(
    repository: &Repository,
    names: &[&str],
) -> anyhow::Result<Vec<(String, LaunchFile)>> {
    let mut launches = Vec::new();
    for path in files_with_extension(&repository.launches(), "toml")? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let source = name.split('.').next().unwrap_or_default();
        if !names.is_empty() && !names.iter().any(|n| *n == source || name.starts_with(n)) {
            continue;
        }
        let text = fs::read_to_string(&path)?;
        let files = |file: &str| {
            let contents = fs::read(repository.launches().join(file));
            contents.map_err(|error| Diagnostic::new(error.to_string()))
        };
        let grid = LaunchFile::parse(&name, &text, &files).map_err(|d| anyhow::anyhow!("{d}"))?;
        launches.push((name, grid));
    }
    Ok(launches)
}

/// Result of a launch on a machine.
enum Audited {
    WithoutCode,
    Refused(String),
    Done(Row),
}

/// Worst run of a launch on a machine, with its bound.
#[derive(Default)]
struct Row {
    bounds: u64,
    runs: u64,
    violations: Vec<String>,
    /// Net cycles of the worst run, what it was, and its net bound.
    worst: u64,
    worst_run: String,
    bound: u64,
    terms: String,
}

/// Loop counts: per entry, and in total.
type LoopCounts = (Vec<Option<u64>>, Vec<Option<u64>>);

fn audit(
    repository: &Repository,
    (name, grid): (&str, &LaunchFile),
    (machine, chip): (&GpuModel, &str),
    extent: Extent,
) -> anyhow::Result<Audited> {
    let source = name.split('.').next().unwrap_or_default();
    let builds = [chip.to_string(), format!("nvrtc11.{chip}")];
    let cubin = |build: String| repository.built_kernels().join(format!("{source}.{build}.cubin"));
    let Some(path) = builds.map(cubin).into_iter().find(|path| path.exists()) else {
        return Ok(Audited::WithoutCode);
    };
    let to_error = |diagnostic: Diagnostic| anyhow::anyhow!("{diagnostic}");
    let session = Session::open(name, &fs::read(&path)?).map_err(to_error)?;
    let kernel = session
        .launched_kernel(None, grid.kernel.as_deref())
        .map_err(to_error)?;
    let prepared = session.prepare(kernel).map_err(to_error)?;
    let caches = match grid.caches {
        StartCaches::Warm => CacheState::Warm,
        StartCaches::Cold => CacheState::Cold,
    };
    let cycles = CycleOptions {
        machine: machine.clone(),
        caches,
    };
    let options = BoundOptions {
        launches: StatedLaunches {
            file: Some(grid.clone().into()),
            ..StatedLaunches::default()
        },
        ..BoundOptions::default()
    };
    let knowledge = session.launch(kernel, &options).map_err(to_error)?;
    let audit_options = BoundOptions {
        block: Some(grid.block),
        ..options.clone()
    };
    let claims = match session.claims(&prepared, &audit_options) {
        Ok(claims) => claims,
        Err(why) => return Ok(Audited::Refused(why.message)),
    };
    let lone = LoneWarp::new(
        &session,
        (&prepared, &claims.flow),
        &knowledge,
        (&options, &cycles),
    );
    let lone = match lone {
        Ok(lone) => lone,
        Err(why) => return Ok(Audited::Refused(why.message)),
    };
    let mut row = Row::default();
    let warps_of_block = grid.block.iter().product::<u32>().div_ceil(32);
    let blocks: u64 = grid.grid.iter().map(|&n| u64::from(n)).product();
    let mut picks = vec![
        Selection::Slow,
        Selection::Typical,
        Selection::Least,
        Selection::Most,
    ];
    picks.extend((1..=extent.seeds).map(Selection::Seed));
    let mut known: BTreeMap<LoopCounts, Option<(u64, u64, String)>> = BTreeMap::new();
    for content in 0..extent.contents {
        let varied;
        let (launch, order) = match content {
            0 => (grid, PathOrder::TakenFirst),
            _ => {
                varied = variation(grid, content);
                (&varied.launch, varied.order)
            }
        };
        for number in chosen_warps(blocks * u64::from(warps_of_block), extent.warps) {
            let only = SingleWarp {
                block: number / u64::from(warps_of_block),
                warp: (number % u64::from(warps_of_block)) as u32,
            };
            let seen = session
                .monitor_single_warp(&prepared, &claims, launch, only, (order, MOST_INSTRUCTIONS))
                .map_err(to_error)?;
            if seen.fault.is_some() {
                continue;
            }
            let of_loop = |most: &Option<HeaderMaximum>| Some(most.map_or(0, |most| most.count));
            let counts: LoopCounts = (
                seen.observations.max_per_entry.iter().map(of_loop).collect(),
                seen.observations.max_totals.iter().map(of_loop).collect(),
            );
            let bound = known.entry(counts.clone()).or_insert_with(|| {
                let stated = StatedCounts {
                    bounds: &counts.0,
                    totals: &counts.1,
                    never: &[],
                };
                let bound = lone.bound(stated, Effort::default());
                if let Err(why) = &bound {
                    row.terms = why.message.clone();
                }
                let bound = bound.ok()?;
                let terms: Vec<String> = bound
                    .term_cycles()
                    .filter(|(_, cycles)| *cycles > 0)
                    .map(|(name, cycles)| format!("{name} {cycles}"))
                    .collect();
                Some((bound.bound.upper_bound().limit().0, bound.net(), terms.join(", ")))
            });
            let Some((limit, net, terms)) = bound.clone() else {
                return Ok(Audited::Refused(row.terms));
            };
            for (selection, set) in runs_of(&session, kernel, (machine, &picks), &|options| {
                TimedOptions {
                    only: Some(only),
                    order,
                    max_instructions: Some(MOST_INSTRUCTIONS),
                    ..options
                }
            }, launch) {
                let timed = TimedOptions {
                    selection,
                    only: Some(only),
                    order,
                    max_instructions: Some(MOST_INSTRUCTIONS),
                    set: set.clone(),
                    ..TimedOptions::new(machine.clone())
                };
                let run = session.simulate_with(&prepared, launch, &timed, &mut Silent);
                let Ok(cycles) = run.map(|run| run.cycles.0.0) else {
                    continue;
                };
                row.runs += 1;
                let stated = set.iter().find(|(parameter, _)| *parameter == Parameter::LaunchKernel);
                let selected = machine.select(selection)[Parameter::LaunchKernel];
                let overhead = stated.map_or(selected, |(_, value)| *value);
                let worst = cycles.saturating_sub(overhead);
                let what = format!("{selection} content {content} warp {number}");
                if cycles > limit || worst > net {
                    row.violations.push(format!(
                        "{what}: {cycles} cycles, bound {limit}; net {worst}, bound {net}"
                    ));
                }
                if worst > row.worst {
                    (row.worst, row.worst_run) = (worst, what);
                }
                if net > row.bound {
                    (row.bound, row.terms) = (net, terms.clone());
                }
            }
        }
    }
    row.bounds = known.len() as u64;
    Ok(Audited::Done(row))
}

/// Returns the selections of a single warp's runs, with parameters that are set besides: those of `picks`, and the slow
/// end with the values that a search finds for parameters without one, and with refreshes of DRAM at different times.
fn runs_of(
    session: &Session,
    kernel: &Kernel,
    (machine, picks): (&GpuModel, &[Selection]),
    with: &dyn Fn(TimedOptions) -> TimedOptions,
    launch: &LaunchFile,
) -> Vec<(Selection, Vec<(Parameter, u64)>)> {
    let mut runs: Vec<_> = picks.iter().map(|pick| (*pick, Vec::new())).collect();
    let slow = with(TimedOptions {
        selection: Selection::Slow,
        ..TimedOptions::new(machine.clone())
    });
    let hooks = RunHooks {
        events: None,
        timeline: None,
        progress: &mut |_| {},
    };
    if let Ok(run) = session.simulate(kernel, launch, &slow, hooks) {
        let search = run.report.selection_search;
        let found = search.iter().flat_map(|search| &search.numbers);
        let found = found.filter_map(|found| Some((Parameter::named(&found.name).ok()?, found.value)));
        let found: Vec<(Parameter, u64)> = found.collect();
        // Numbers that decide when DRAM is refreshed; multiples of two primes spread them evenly.
        let phases = [
            (Parameter::LaunchKernel, 2_654_435_761),
            (Parameter::DramRefreshInterval, 40_503),
        ];
        for number in 0..PHASES {
            let mut set = found.clone();
            set.retain(|(parameter, _)| phases.iter().all(|(own, _)| own != parameter));
            for (parameter, prime) in phases {
                let range = machine.range(parameter);
                let value = range.least + number * prime % (range.most - range.least + 1);
                set.push((parameter, value));
            }
            runs.push((Selection::Slow, set));
        }
        runs.push((Selection::Slow, found));
    }
    runs
}

/// Combinations of launch overhead and refresh interval with which the slow end is simulated.
const PHASES: u64 = 48;

/// Returns numbers of warps, spread over all.
fn chosen_warps(all: u64, most: u64) -> impl Iterator<Item = u64> {
    let count = all.min(most).max(1);
    (0..count).map(move |n| n * all.saturating_sub(1) / (count - 1).max(1))
}

/// Totals of the audit.
#[derive(Default)]
struct Total {
    done: usize,
    reported: Duration,
    bounds: u64,
    runs: u64,
    violations: usize,
    without_code: usize,
    ratios: Vec<f64>,
    refused: BTreeMap<String, usize>,
    lines: Vec<String>,
    problems: Vec<String>,
}

impl Total {
    fn add(&mut self, name: &str, machine: &str, done: anyhow::Result<Audited>) {
        self.done += 1;
        match done {
            Err(error) => self.problems.push(format!("{name}: {error:#}")),
            Ok(Audited::WithoutCode) => self.without_code += 1,
            Ok(Audited::Refused(why)) => *self.refused.entry(why).or_default() += 1,
            Ok(Audited::Done(row)) => {
                self.bounds += row.bounds;
                self.runs += row.runs;
                self.violations += row.violations.len();
                if row.worst == 0 {
                    return;
                }
                let ratio = row.bound as f64 / row.worst as f64;
                self.ratios.push(ratio);
                self.lines.push(format!(
                    "{ratio:8.3} {name} on {machine}: {} of {} ({}); {}\n",
                    row.worst, row.bound, row.worst_run, row.terms
                ));
                for violation in row.violations {
                    self.lines.push(format!("VIOLATION {name} on {machine}: {violation}\n"));
                }
            }
        }
    }

    /// Prints the progress on standard error.
    fn print_progress(&mut self, all: usize, begin: Instant) {
        let now = begin.elapsed();
        if now >= self.reported + PROGRESS_INTERVAL {
            self.reported = now;
            eprintln!(
                "{} of {all}, {} runs, {} violations",
                self.done, self.runs, self.violations
            );
        }
    }
}
