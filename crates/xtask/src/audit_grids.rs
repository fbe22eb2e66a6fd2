//! `cargo xtask audit-kernels --cycles --grids`: timed runs of whole launches, compared with the bounds of launches.
//!
//! Each launch runs on four machines, with numbers of SMs between 1 and 40, all policies of the schedulers that the
//! bound is for, several selections of the machine's numbers, and warm or cold caches. Which of these are combined is
//! drawn by the seed of a launch, so that a part of the audit can be repeated.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use warpbound_base::Diagnostic;
use warpbound_driver::audit::{LaunchTimeAudit, LaunchTimeRuns, PathOrder, variation};
use warpbound_driver::{
    BoundOptions, CacheState, CycleOptions, GpuModel, Parameter, SchedulerPolicy, Selection,
    Session,
};
use warpbound_launch::LaunchFile;

use crate::audit_cycles::{MACHINES, WAVE_MACHINES, launches, quantiles};
use crate::repository::Repository;

/// Policies of the class that the bounds are for.
const POLICIES: [SchedulerPolicy; 7] = [
    SchedulerPolicy::Lrr,
    SchedulerPolicy::Gto,
    SchedulerPolicy::Oldest,
    SchedulerPolicy::Youngest,
    SchedulerPolicy::ContendedUnit,
    SchedulerPolicy::Random(1),
    SchedulerPolicy::Random(2),
];

/// Policies of waves.
const WAVE_POLICIES: [SchedulerPolicy; 2] = [SchedulerPolicy::Oldest, SchedulerPolicy::Lrr];

/// Numbers of SMs, beside that of the machine.
const SMS: [u64; 8] = [1, 2, 3, 4, 7, 13, 20, 40];

/// Time between two progress lines.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(20);

/// Extent of the audit.
#[derive(Clone, Copy)]
struct Extent {
    /// Runs of each launch, machine, number of SMs and state of the caches.
    runs: u64,
    /// Numbers of SMs of each launch and machine, that of the machine among them.
    sms: u64,
    /// Contents of the buffers: the given ones, and random ones.
    contents: u64,
    /// First seed.
    seed: u64,
    /// Part of the launches: every n-th, from a first one.
    part: (usize, usize),
    /// Whether kernels for GCN3 are audited.
    is_gcn3: bool,
}

/// Launch on a machine with a number of SMs.
struct Task<'a> {
    name: &'a str,
    launch: &'a LaunchFile,
    machine: GpuModel,
    chip: &'static str,
    seed: u64,
    content: u64,
}

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let mut extent = Extent {
        runs: 6,
        sms: 3,
        contents: 1,
        seed: 1,
        part: (0, 1),
        is_gcn3: false,
    };
    let mut names: Vec<&str> = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut number = || -> anyhow::Result<u64> {
            Ok(rest.next().context("an option without a number")?.parse()?)
        };
        match argument.as_str() {
            "--gfx803" => extent.is_gcn3 = true,
            "--runs" => extent.runs = number()?,
            "--sms" => extent.sms = number()?,
            "--contents" => extent.contents = number()?.max(1),
            "--seed" => extent.seed = number()?,
            "--part" => extent.part.0 = number()? as usize,
            "--of" => extent.part.1 = number()?.max(1) as usize,
            flag if flag.starts_with('-') => bail!("no option is called {flag:?}"),
            name => names.push(name),
        }
    }
    let files = match extent.is_gcn3 {
        true => repository.gcn3_launches()?,
        false => repository.cuda_launches()?,
    };
    let launches = launches(repository, files, &names)?;
    let tasks = tasks(&launches, extent)?;
    let (next, total) = (AtomicUsize::new(0), Mutex::new(Total::default()));
    let begin = Instant::now();
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let done = audit(repository, task, extent);
                    let total = total.lock();
                    let mut total = total.unwrap_or_else(std::sync::PoisonError::into_inner);
                    total.add(task, done);
                    total.print_progress(tasks.len(), begin);
                }
            });
        }
    });
    let total = total.into_inner();
    let total = total.unwrap_or_else(std::sync::PoisonError::into_inner);
    total.print(launches.len())
}

/// Returns the launches on all machines, with several numbers of SMs.
fn tasks(launches: &[(String, LaunchFile)], extent: Extent) -> anyhow::Result<Vec<Task<'_>>> {
    let mut tasks = Vec::new();
    let (first, step) = extent.part;
    let (machines, count): (&[(&str, &'static str)], Parameter) = match extent.is_gcn3 {
        true => (&WAVE_MACHINES, Parameter::CuCount),
        false => (&MACHINES, Parameter::SmCount),
    };
    for (number, (name, launch)) in launches.iter().enumerate().skip(first).step_by(step) {
        for (machine, &(model, chip)) in machines.iter().enumerate() {
            let model = GpuModel::built_in(model).map_err(|d| anyhow::anyhow!("{d}"))?;
            for nth in 0..extent.sms {
                let seed = extent.seed + nth + 100 * (machine as u64 + 10 * number as u64);
                let mut random = fastrand::Rng::with_seed(seed);
                let sms = SMS[random.usize(..SMS.len())];
                let machine = match nth {
                    0 => model.clone(),
                    _ => model.clone().with(count, sms),
                };
                tasks.extend((0..extent.contents).map(|content| Task {
                    name,
                    launch,
                    machine: machine.clone(),
                    chip,
                    seed,
                    content,
                }));
            }
        }
    }
    Ok(tasks)
}

fn audit(
    repository: &Repository,
    task: &Task<'_>,
    extent: Extent,
) -> anyhow::Result<Option<LaunchTimeAudit>> {
    let source = task.name.split('.').next().unwrap_or_default();
    let builds = match extent.is_gcn3 {
        true => vec![format!("{}.co", task.chip)],
        false => vec![
            format!("{}.cubin", task.chip),
            format!("nvrtc11.{}.cubin", task.chip),
        ],
    };
    let built = |build| repository.built_kernels().join(format!("{source}.{build}"));
    let Some(path) = builds.into_iter().map(built).find(|path| path.exists()) else {
        return Ok(None);
    };
    let to_error = |diagnostic: Diagnostic| anyhow::anyhow!("{diagnostic}");
    let session = Session::open(task.name, &fs::read(&path)?).map_err(to_error)?;
    let kernel = session.launched_kernel(None, task.launch.kernel.as_deref());
    let kernel = match kernel {
        // A launch of CUDA may be of an instance of a template that the source for GCN3 lacks.
        Err(_) if extent.is_gcn3 => return Ok(None),
        found => found.map_err(to_error)?,
    };
    let prepared = session.prepare(kernel).map_err(to_error)?;
    let (launch, order) = match task.content {
        0 => (task.launch.clone(), PathOrder::TakenFirst),
        content => {
            let varied = variation(task.launch, content);
            (varied.launch, varied.order)
        }
    };
    let options = BoundOptions {
        block: Some(launch.block),
        ..BoundOptions::default()
    };
    let claims = match session.claims(&prepared, &options) {
        Ok(claims) => claims,
        Err(why) => {
            return Ok(Some(LaunchTimeAudit {
                refused: Some(why.message),
                ..LaunchTimeAudit::default()
            }));
        }
    };
    let mut random = fastrand::Rng::with_seed(task.seed);
    let policies: &[SchedulerPolicy] = match extent.is_gcn3 {
        true => &WAVE_POLICIES,
        false => &POLICIES,
    };
    let mut runs = vec![(Selection::Slow, policies[policies.len().min(2) - 1])];
    while (runs.len() as u64) < extent.runs {
        let selection = match random.u32(..6) {
            0 | 1 => Selection::Slow,
            2 => Selection::Typical,
            3 => Selection::Least,
            4 => Selection::Most,
            _ => Selection::Seed(random.u64(1..1 << 32)),
        };
        runs.push((selection, policies[random.usize(..policies.len())]));
    }
    let caches = match random.bool() {
        true => CacheState::Warm,
        false => CacheState::Cold,
    };
    let runs = LaunchTimeRuns {
        cycles: CycleOptions {
            machine: task.machine.clone(),
            caches,
            splitting: Default::default(),
        },
        runs,
        order,
        max_instructions: 3_000_000,
    };
    let found = session.audit_launch_time(&prepared, &claims, &launch, &runs);
    found.map(Some).map_err(to_error)
}

/// Totals of the audit.
#[derive(Default)]
struct Total {
    done: usize,
    reported: Duration,
    runs: u64,
    skipped: u64,
    violations: usize,
    without_code: usize,
    /// Ratios of launches of one block, of several blocks at once, and of more than the SMs hold.
    ratios: BTreeMap<String, Vec<f64>>,
    refused: BTreeMap<String, usize>,
    lines: Vec<String>,
    problems: Vec<String>,
}

impl Total {
    fn add(&mut self, task: &Task<'_>, done: anyhow::Result<Option<LaunchTimeAudit>>) {
        self.done += 1;
        let found = match done {
            Err(error) => return self.problems.push(format!("{}: {error:#}", task.name)),
            Ok(None) => {
                self.without_code += 1;
                return;
            }
            Ok(Some(found)) => found,
        };
        if let Some(why) = found.refused {
            *self.refused.entry(why).or_default() += 1;
            return;
        }
        self.runs += found.runs;
        self.skipped += found.skipped;
        self.violations += found.exceeded.len();
        let sms = match task.chip {
            "gfx803" => Parameter::CuCount,
            _ => Parameter::SmCount,
        };
        let sms = task.machine.range(sms).least;
        let subject = format!("{} on {} with {sms} SMs", task.name, task.machine.name);
        for exceeded in &found.exceeded {
            self.lines
                .push(format!("VIOLATION {subject}: {}\n", exceeded.text));
        }
        let (Some(ratio), Some((worst, run))) = (found.ratio(), &found.worst) else {
            return;
        };
        let blocks: u64 = task.launch.grid.iter().map(|&n| u64::from(n)).product();
        let kind = match blocks {
            1 => "one block",
            _ if blocks <= sms => "at most a block for each SM",
            _ => "several blocks for an SM",
        };
        self.ratios.entry(kind.to_owned()).or_default().push(ratio);
        let terms = found.terms.iter().filter(|(_, cycles)| *cycles > 0);
        let terms: Vec<String> = terms
            .map(|(name, cycles)| format!("{name} {cycles}"))
            .collect();
        self.lines.push(format!(
            "{ratio:8.3} {subject}: {worst} of {} ({run}); {}; {}\n",
            found.bound,
            terms.join(", "),
            found.shape
        ));
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

    /// Prints all lines and the totals.
    fn print(mut self, launches: usize) -> anyhow::Result<()> {
        self.lines.sort();
        print!("{}", self.lines.join(""));
        println!(
            "{launches} launches: {} runs, {} above their bound, {} left out",
            self.runs, self.violations, self.skipped
        );
        for (kind, ratios) in &mut self.ratios {
            println!(
                "bound / worst simulated, net of launch overhead, {kind}: {}",
                quantiles(ratios)
            );
        }
        println!("without code for the chip: {}", self.without_code);
        for (reason, count) in &self.refused {
            println!("no bound: {count} {reason}");
        }
        if self.violations > 0 || !self.problems.is_empty() {
            bail!(
                "{} runs exceeded their bound; {}",
                self.violations,
                self.problems.join("; ")
            );
        }
        Ok(())
    }
}
