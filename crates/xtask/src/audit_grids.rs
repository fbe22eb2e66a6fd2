//! `cargo xtask audit-kernels --cycles --grids`: timed runs of whole launches, compared with the bounds of launches.
//!
//! Each launch runs on four machines, with 1 to 40 SMs, all scheduler policies that the bound covers, several
//! selections of the machine's numbers, warm or cold caches, and other numbers of blocks and threads. It also runs on
//! machines whose numbers are all known. The seed of a launch decides which of these are combined, so that a part of
//! the audit can be repeated. A journal has a line for each finished launch, from which a later run goes on.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use warpbound_audit::audit::{LaunchTimeAudit, LaunchTimeRuns, PathOrder, variation};
use warpbound_audit::{audit_launch_time, claims};
use warpbound_base::Diagnostic;
use warpbound_bounds::{CycleOptions, LaunchCounts};
use warpbound_ipet::SchedulerClass;
use warpbound_launch::LaunchFile;
use warpbound_query::{BoundOptions, CacheState, Session};
use warpbound_query::{GpuModel, Parameter, SchedulerPolicy, Selection};
use warpbound_testkit::odd_machines::odd_machine;
use warpbound_testkit::short_launches::pinned_machine;

use crate::audit_cycles::{MACHINES, WAVE_MACHINES, WIDE_MACHINES, launches};
use crate::repository::Repository;
use crate::workers::for_each_task;

mod totals;

use totals::{AuditedGrid, GridTotals};

/// Policies of work-conserving schedulers, and the one of the others.
const POLICIES: [SchedulerPolicy; 8] = [
    SchedulerPolicy::Lrr,
    SchedulerPolicy::Gto,
    SchedulerPolicy::Oldest,
    SchedulerPolicy::Youngest,
    SchedulerPolicy::ContendedUnit,
    SchedulerPolicy::Random(1),
    SchedulerPolicy::Random(2),
    SchedulerPolicy::RunToBarrier,
];

/// Policies of waves.
const WAVE_POLICIES: [SchedulerPolicy; 2] = [SchedulerPolicy::Lrr, SchedulerPolicy::Oldest];

/// Threads of a block, for launches with another size.
const THREADS: [u32; 5] = [1, 3, 5, 33, 993];

/// Blocks of a grid, for launches with another size.
const BLOCKS: [u32; 7] = [1, 2, 32, 33, 128, 600, 2048];

/// Numbers of SMs, in addition to the number of the machine.
const SMS: [u64; 8] = [1, 2, 3, 4, 7, 13, 20, 40];

/// Numbers of the machine of a task.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbers {
    /// The ranges of its file.
    InRanges,
    /// One value of each range, which is drawn.
    Known,
    /// Odd ones: 0, 1, 50 times the usual.
    Odd,
}

impl Numbers {
    /// Name in keys and tables.
    fn name(self) -> &'static str {
        match self {
            Numbers::InRanges => "in ranges",
            Numbers::Known => "known",
            Numbers::Odd => "odd",
        }
    }
}

/// Extent of the audit.
#[derive(Clone)]
struct Extent {
    /// Runs of each launch, machine, number of SMs and state of the caches.
    runs: u64,
    /// Number of different numbers of SMs for each launch and machine, including the number of the machine.
    sms: u64,
    /// Contents of the buffers: the given ones, and random ones.
    contents: u64,
    /// Other shapes of each launch on each machine.
    shapes: u64,
    /// Numbers of the machines.
    numbers: Numbers,
    /// First seed.
    seed: u64,
    /// Part of the launches: every n-th, from a first one.
    part: (usize, usize),
    /// Time after which no launch is begun.
    limit: Option<Duration>,
    /// Whether kernels for GCN3 are audited.
    is_gcn3: bool,
    /// Folder with the code for GPUs from Volta on, if their kernels are audited.
    wide: Option<PathBuf>,
    /// Whether the launches of kernels/plain and kernels/practice are audited, whose code is in `wide`.
    is_beside: bool,
}

/// Launch on a machine with a number of SMs.
struct Task<'a> {
    name: &'a str,
    launch: &'a LaunchFile,
    machine: GpuModel,
    chip: &'static str,
    seed: u64,
    content: u64,
    /// Whether blocks and threads are drawn.
    is_reshaped: bool,
    numbers: Numbers,
    is_gcn3: bool,
}

/// Parameter that is the number of SMs, or of compute units.
fn units_of(is_gcn3: bool) -> Parameter {
    match is_gcn3 {
        true => Parameter::CuCount,
        false => Parameter::SmCount,
    }
}

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let mut extent = Extent {
        runs: 6,
        sms: 3,
        contents: 1,
        shapes: 0,
        numbers: Numbers::InRanges,
        seed: 1,
        part: (0, 1),
        limit: None,
        is_gcn3: false,
        wide: None,
        is_beside: false,
    };
    let mut journal: Option<PathBuf> = None;
    let mut names: Vec<&str> = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--journal" {
            journal = Some(rest.next().context("--journal has no file")?.into());
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
            "--gfx803" => extent.is_gcn3 = true,
            "--beside" => extent.is_beside = true,
            "--pinned" => extent.numbers = Numbers::Known,
            "--odd" => extent.numbers = Numbers::Odd,
            "--runs" => extent.runs = number()?,
            "--sms" => extent.sms = number()?,
            "--contents" => extent.contents = number()?.max(1),
            "--shapes" => extent.shapes = number()?,
            "--minutes" => extent.limit = Some(Duration::from_secs(60 * number()?)),
            "--seed" => extent.seed = number()?,
            "--part" => extent.part.0 = number()? as usize,
            "--of" => extent.part.1 = number()?.max(1) as usize,
            flag if flag.starts_with('-') => bail!("no option is called {flag:?}"),
            name => names.push(name),
        }
    }
    if extent.is_beside && extent.wide.is_none() {
        bail!(
            "--beside needs --in FOLDER, where `kernels --wide FOLDER --beside` has put the code"
        );
    }
    let files = match extent.is_gcn3 {
        true => repository.gcn3_launches()?,
        false if extent.is_beside => repository.launches_beside()?,
        false => repository.cuda_launches()?,
    };
    let launches = launches(files, &names)?;
    let tasks = tasks(&launches, &extent)?;
    let total = GridTotals::open(journal.as_deref(), extent.seed, tasks.len())?;
    let done: BTreeSet<String> = total.done().collect();
    let begin = Instant::now();
    let find = |task: &Task<'_>| {
        let is_over = extent.limit.is_some_and(|limit| begin.elapsed() > limit);
        if is_over || done.contains(&task.key()) {
            return None;
        }
        Some(match audit(repository, task, &extent) {
            Ok(found) => found,
            Err(error) => AuditedGrid::problem(task.key(), format!("{error:#}")),
        })
    };
    let add = |total: &mut GridTotals, _: &_, found| {
        if let Some(found) = found {
            total.add(found);
            total.print_progress(begin);
        }
    };
    let total = for_each_task(&tasks, find, total, add);
    total.print(launches.len())
}

/// Returns the launches on all machines, with several numbers of SMs.
fn tasks<'a>(
    launches: &'a [(String, LaunchFile)],
    extent: &Extent,
) -> anyhow::Result<Vec<Task<'a>>> {
    let mut tasks = Vec::new();
    let (first, step) = extent.part;
    let machines: &[(&str, &'static str)] = match extent.is_gcn3 {
        true => &WAVE_MACHINES,
        false if extent.wide.is_some() => &WIDE_MACHINES,
        false => &MACHINES,
    };
    let count = units_of(extent.is_gcn3);
    for (number, (name, launch)) in launches.iter().enumerate().skip(first).step_by(step) {
        for (machine, &(model, chip)) in machines.iter().enumerate() {
            let model = GpuModel::built_in(model).map_err(|d| anyhow::anyhow!("{d}"))?;
            for nth in 0..extent.sms {
                let seed = extent.seed + nth + 100 * (machine as u64 + 10 * number as u64);
                let mut random = fastrand::Rng::with_seed(seed);
                let sms = SMS[random.usize(..SMS.len())];
                let machine = match extent.numbers {
                    Numbers::InRanges => model.clone(),
                    Numbers::Known => pinned_machine(&model, seed),
                    Numbers::Odd => odd_machine(&model, &mut random),
                };
                let machine = match nth {
                    0 => machine,
                    _ => machine.with(count, sms),
                };
                let variants = (0..extent.contents).map(|content| (content, false));
                let variants = variants.chain((1..=extent.shapes).map(|shape| (shape, true)));
                tasks.extend(variants.map(|(content, is_reshaped)| Task {
                    name,
                    launch,
                    machine: machine.clone(),
                    chip,
                    seed: seed + 1_000_000 * content,
                    content,
                    is_reshaped,
                    numbers: extent.numbers,
                    is_gcn3: extent.is_gcn3,
                }));
            }
        }
    }
    Ok(tasks)
}

impl Task<'_> {
    /// Number of SMs.
    fn sms(&self) -> u64 {
        self.machine.range(units_of(self.is_gcn3)).least
    }

    /// Name in the journal and in lines.
    fn key(&self) -> String {
        let (name, machine, sms) = (self.name, &self.machine.name, self.sms());
        let kind = if self.is_reshaped { "shape" } else { "content" };
        let seed = self.seed;
        let numbers = match self.numbers {
            Numbers::InRanges => "",
            Numbers::Known => "pinned ",
            Numbers::Odd => "odd ",
        };
        format!(
            "{name} on {numbers}{machine} with {sms} SMs, {kind} {}, seed {seed}",
            self.content
        )
    }

    /// Returns the launch, with contents or a shape that are drawn.
    fn launch(&self) -> (LaunchFile, PathOrder) {
        if self.is_reshaped {
            let mut launch = self.launch.clone();
            let mut random = fastrand::Rng::with_seed(self.seed);
            if random.bool() {
                launch.block = [THREADS[random.usize(..THREADS.len())], 1, 1];
            }
            // One block more than a number that is the same for each SM, or a fixed number.
            let blocks = match random.bool() {
                true => self.sms() as u32 * random.u32(1..9) + 1,
                false => BLOCKS[random.usize(..BLOCKS.len())],
            };
            launch.grid = [blocks, 1, 1];
            return (launch, PathOrder::TakenFirst);
        }
        match self.content {
            0 => (self.launch.clone(), PathOrder::TakenFirst),
            content => {
                let varied = variation(self.launch, content);
                (varied.launch, varied.order)
            }
        }
    }
}

/// Draws the runs of a launch: schedulers, selections of numbers and the state of the caches.
fn drawn_runs(task: &Task<'_>, extent: &Extent, order: PathOrder) -> LaunchTimeRuns {
    let mut random = fastrand::Rng::with_seed(task.seed);
    let schedulers = match random.u32(..5) {
        0 if !extent.is_gcn3 => SchedulerClass::Any,
        _ => SchedulerClass::WorkConserving,
    };
    let policies = match schedulers {
        _ if extent.is_gcn3 => &WAVE_POLICIES[..],
        SchedulerClass::Any => &POLICIES[..],
        SchedulerClass::WorkConserving => &POLICIES[..POLICIES.len() - 1],
    };
    let first = match schedulers {
        _ if extent.is_gcn3 => SchedulerPolicy::Lrr,
        SchedulerClass::Any => SchedulerPolicy::RunToBarrier,
        SchedulerClass::WorkConserving => SchedulerPolicy::Gto,
    };
    let mut runs = vec![(Selection::Slow, first)];
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
    LaunchTimeRuns {
        cycles: CycleOptions {
            counts: match task.seed % 2 {
                0 => LaunchCounts::Executed,
                _ => LaunchCounts::Stated,
            },
            machine: task.machine.clone(),
            caches,
            splitting: Default::default(),
        },
        runs,
        order,
        max_instructions: 3_000_000,
        schedulers,
        searches: true,
    }
}

fn audit(repository: &Repository, task: &Task<'_>, extent: &Extent) -> anyhow::Result<AuditedGrid> {
    let source = task.name.split('.').next().unwrap_or_default();
    let builds = match extent.is_gcn3 {
        true => vec![format!("{}.co", task.chip)],
        false => vec![
            format!("{}.cubin", task.chip),
            format!("nvrtc11.{}.cubin", task.chip),
        ],
    };
    let folder = match &extent.wide {
        Some(folder) => folder.clone(),
        None => repository.built_kernels(),
    };
    let built = |build| folder.join(format!("{source}.{build}"));
    let Some(path) = builds.into_iter().map(built).find(|path| path.exists()) else {
        return Ok(AuditedGrid::refused(
            task.key(),
            "without code for the chip",
        ));
    };
    let to_error = |diagnostic: Diagnostic| anyhow::anyhow!("{diagnostic}");
    let session = Session::open(task.name, &fs::read(&path)?).map_err(to_error)?;
    let kernel = session.launched_kernel(None, task.launch.kernel.as_deref());
    let kernel = match kernel {
        // A launch of CUDA may be of an instance of a template that the source for GCN3 lacks.
        Err(_) if extent.is_gcn3 => {
            return Ok(AuditedGrid::refused(
                task.key(),
                "without code for the chip",
            ));
        }
        found => found.map_err(to_error)?,
    };
    let prepared = session.prepare(kernel).map_err(to_error)?;
    let (launch, order) = task.launch();
    let options = BoundOptions {
        block: Some(launch.block),
        ..BoundOptions::default()
    };
    let claims = match claims(&session, &prepared, &options) {
        Ok(claims) => claims,
        Err(why) => return Ok(AuditedGrid::refused(task.key(), &why.message)),
    };
    // Lanes that part on a GPU from Volta on may run in any order.
    let order = match extent.wide.is_some() && task.seed % 4 < 2 {
        true => PathOrder::FallThroughFirst,
        false => order,
    };
    let runs = drawn_runs(task, extent, order);
    let found = audit_launch_time(&session, &prepared, &claims, &launch, &runs);
    let found = match found {
        Ok(found) => found,
        // A shape that is drawn may not suit the kernel.
        Err(why) if task.is_reshaped => return Ok(AuditedGrid::refused(task.key(), &why.message)),
        Err(why) => return Err(to_error(why)),
    };
    let factors = factors(task, &runs);
    Ok(AuditedGrid::new(
        task.key(),
        kind(task, &launch, &found),
        factors,
        found,
    ))
}

/// Kind of a launch, for which the ratios of bounds and runs are collected.
fn kind(task: &Task<'_>, launch: &LaunchFile, found: &LaunchTimeAudit) -> String {
    let blocks: u64 = launch.grid.iter().map(|&n| u64::from(n)).product();
    let kind = match blocks {
        1 => "one block",
        _ if blocks <= task.sms() => "at most a block for each SM",
        _ => "several blocks for an SM",
    };
    let addresses = match found.unknown_addresses {
        0 => "",
        _ => ", with unknown addresses",
    };
    let class = match found.schedulers {
        SchedulerClass::Any => ", any scheduler",
        SchedulerClass::WorkConserving => "",
    };
    let shape = if task.is_reshaped {
        ", other shape"
    } else {
        ""
    };
    format!("{kind}{addresses}{class}{shape}")
}

/// Factors of the runs of a launch: each pair of them is counted once.
fn factors(task: &Task<'_>, runs: &LaunchTimeRuns) -> Vec<Vec<String>> {
    let of_run = |(selection, policy): &(Selection, SchedulerPolicy)| {
        let selection = match selection {
            Selection::Seed(_) => "seed".to_owned(),
            selection => selection.to_string(),
        };
        let shape = match (task.is_reshaped, task.content) {
            (true, _) => "other shape",
            (false, 0) => "contents as given",
            (false, _) => "other contents",
        };
        vec![
            format!("machine {}", task.machine.name),
            format!("numbers {}", task.numbers.name()),
            format!("SMs {}", task.sms()),
            format!("selection {selection}"),
            format!("policy {policy}"),
            format!("caches {:?}", runs.cycles.caches),
            format!("schedulers {:?}", runs.schedulers),
            shape.to_owned(),
        ]
    };
    runs.runs.iter().map(of_run).collect()
}
