//! `cargo xtask audit-sizes`: bounds in cycles for ranges of integer parameters, against runs of sizes in the range.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use warpbound_audit::audit::{LaunchTimeRuns, PathOrder};
use warpbound_audit::{audit_launch_time, claims};
use warpbound_base::Diagnostic;
use warpbound_bounds::{CycleOptions, LaunchCounts, bound};
use warpbound_ipet::SchedulerClass;
use warpbound_launch::{LaunchFile, ParamValue};
use warpbound_load::Kernel;
use warpbound_query::{
    BoundOptions, CacheState, CycleQuery, NumberRange, Session, StatedLaunches, StatedParam,
    TimeScope,
};
use warpbound_query::{GpuModel, SchedulerPolicy, Selection};

use crate::audit_cycles::launches;
use crate::repository::{Repository, files_with_extension};
use crate::workers::for_each_task;

pub(crate) const HELP: &str = "\
usage: cargo run --release -p warpbound-xtask -- audit-sizes [--sizes COUNT] [--in DIRECTORY]... [NAME...]

For each launch file of kernels/launches and of the directories (those whose names begin with a NAME, if names are given), and
for each integer parameter whose value N is at least 2: bounds the grid in cycles for all values from 1 to N, on gtx1080 and
jetson-tx2, simulates COUNT of the values (1, N and random ones), each with slow numbers of the machine and with random ones,
and compares. The buffers, the grid and the block are those of the file. Prints a row for each parameter: the bound, the worst
run, the runs that fault. Fails if a run is above its bound.

  --sizes COUNT     values that are simulated of each parameter (8)
  --in DIRECTORY    folder with NAME.toml and NAME.sm_61.cubin, such as kernels/plain
  --seed N          seed of the values (1); --part N --of M: every M-th launch, from the N-th one
  --minutes N       begin no parameter after this time
";

/// Largest value of a parameter that is taken for a size.
const MOST_SIZE: i128 = 1 << 24;

const MACHINES: [&str; 2] = ["gtx1080", "jetson-tx2"];

struct Extent {
    sizes: u64,
    seed: u64,
    part: (usize, usize),
    limit: Option<Duration>,
}

/// Launch of a kernel, with its code.
struct Subject {
    name: String,
    code: PathBuf,
    launch: LaunchFile,
}

/// Parameter of a launch on a machine.
struct Task<'a> {
    subject: &'a Subject,
    param: usize,
    machine: &'static str,
    seed: u64,
}

/// Comparison of a bound for a range with runs.
#[derive(Default)]
struct Compared {
    bound: u64,
    worst: u64,
    runs: u64,
    skipped: u64,
    above: Vec<String>,
}

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let mut extent = Extent {
        sizes: 8,
        seed: 1,
        part: (0, 1),
        limit: None,
    };
    let mut names: Vec<&str> = Vec::new();
    let mut folders: Vec<PathBuf> = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--in" {
            folders.push(rest.next().context("--in has no folder")?.into());
            continue;
        }
        let mut number = || -> anyhow::Result<u64> {
            Ok(rest.next().context("an option without a number")?.parse()?)
        };
        match argument.as_str() {
            "--sizes" => extent.sizes = number()?.max(2),
            "--seed" => extent.seed = number()?,
            "--part" => extent.part.0 = number()? as usize,
            "--of" => extent.part.1 = number()?.max(1) as usize,
            "--minutes" => extent.limit = Some(Duration::from_secs(60 * number()?)),
            flag if flag.starts_with('-') => bail!("no option is called {flag:?}"),
            name => names.push(name),
        }
    }
    let subjects = subjects(repository, &folders, &names)?;
    let tasks = tasks(&subjects, &extent);
    let begin = Instant::now();
    let find = |task| {
        if extent.limit.is_some_and(|limit| begin.elapsed() > limit) {
            return None;
        }
        let found = audit(task, &extent);
        print_row(task, &found);
        Some(found)
    };
    let add = |total: &mut Vec<_>, _: &_, found| total.extend(found);
    print_total(&for_each_task(&tasks, find, Vec::new(), add))
}

/// Launches with code for sm_61.
fn subjects(
    repository: &Repository,
    folders: &[PathBuf],
    names: &[&str],
) -> anyhow::Result<Vec<Subject>> {
    let mut found = Vec::new();
    let mut add = |files: Vec<PathBuf>, built: &Path| -> anyhow::Result<()> {
        for (name, launch) in launches(files, names)? {
            let source = name.split('.').next().unwrap_or_default();
            let code = built.join(format!("{source}.sm_61.cubin"));
            if code.exists() {
                found.push(Subject { name, code, launch });
            }
        }
        Ok(())
    };
    add(repository.cuda_launches()?, &repository.built_kernels())?;
    for folder in folders {
        add(files_with_extension(folder, "toml")?, folder)?;
    }
    Ok(found)
}

fn tasks<'a>(subjects: &'a [Subject], extent: &Extent) -> Vec<Task<'a>> {
    let (first, step) = extent.part;
    let mut tasks = Vec::new();
    for (number, subject) in subjects.iter().enumerate().skip(first).step_by(step) {
        for (param, given) in subject.launch.params.iter().enumerate() {
            if size_of(&given.value).is_none() {
                continue;
            }
            for (nth, machine) in MACHINES.into_iter().enumerate() {
                let seed = extent.seed + 100 * (number as u64 * 16 + param as u64) + nth as u64;
                tasks.push(Task {
                    subject,
                    param,
                    machine,
                    seed,
                });
            }
        }
    }
    tasks
}

/// Value of an integer parameter that may be a size.
fn size_of(value: &ParamValue) -> Option<i128> {
    let ParamValue::Scalar {
        element: Some(element),
        bytes,
        ..
    } = value
    else {
        return None;
    };
    let size = element.integer(bytes).filter(|_| element.size() >= 4)?;
    (2..=MOST_SIZE).contains(&size).then_some(size)
}

/// The launch with another value of a parameter.
fn with_size(launch: &LaunchFile, param: usize, size: i128) -> LaunchFile {
    let mut launch = launch.clone();
    if let Some(ParamValue::Scalar { bytes, .. }) =
        launch.params.get_mut(param).map(|param| &mut param.value)
    {
        let length = bytes.len();
        bytes.clear();
        bytes.extend(size.to_le_bytes().iter().take(length));
    }
    launch
}

/// Bounds the launches of a task, and runs some of them; the error is the reason why there is no bound.
fn audit(task: &Task<'_>, extent: &Extent) -> anyhow::Result<Compared> {
    let to_error = |diagnostic: Diagnostic| anyhow::anyhow!("{}", diagnostic.message);
    let Subject { name, code, launch } = task.subject;
    let session = Session::open(name, &fs::read(code)?).map_err(to_error)?;
    let kernel = session.launched_kernel(None, launch.kernel.as_deref());
    let kernel = kernel.map_err(to_error)?;
    let given = launch.params.get(task.param).context("a parameter")?;
    let most = size_of(&given.value).context("a size")?;
    let machine = GpuModel::built_in(task.machine).map_err(to_error)?;
    let stated = StatedLaunches {
        file: Some(launch.as_one().into()),
        params: vec![StatedParam {
            name: given.name.clone(),
            range: NumberRange { least: 1, most },
        }],
        ..StatedLaunches::default()
    };
    let mut compared = Compared {
        bound: bound_of(&session, kernel, stated, &machine)?,
        ..Compared::default()
    };
    let prepared = session.prepare(kernel).map_err(to_error)?;
    let options = BoundOptions {
        block: Some(launch.block),
        ..BoundOptions::default()
    };
    let claims = claims(&session, &prepared, &options).map_err(to_error)?;
    let mut random = fastrand::Rng::with_seed(task.seed);
    for nth in 0..extent.sizes {
        let size = match nth {
            0 => 1,
            1 => most,
            _ => random.i128(1..=most),
        };
        let launch = with_size(launch, task.param, size);
        let runs = LaunchTimeRuns {
            cycles: CycleOptions {
                machine: machine.clone(),
                caches: CacheState::Cold,
                splitting: Default::default(),
                counts: LaunchCounts::Stated,
            },
            runs: vec![
                (Selection::Slow, SchedulerPolicy::Gto),
                (
                    Selection::Seed(random.u64(1..1 << 32)),
                    SchedulerPolicy::Random(nth),
                ),
            ],
            order: PathOrder::TakenFirst,
            max_instructions: 3_000_000,
            schedulers: SchedulerClass::WorkConserving,
            searches: false,
        };
        let found = audit_launch_time(&session, &prepared, &claims, &launch, &runs);
        let found = found.map_err(to_error)?;
        let Some((worst, how)) = found.worst else {
            compared.skipped += 1;
            continue;
        };
        compared.runs += found.runs;
        compared.worst = compared.worst.max(worst);
        if worst > compared.bound {
            let text = format!("{size}: {worst} cycles, {how}, bound {}", compared.bound);
            compared.above.push(text);
        }
    }
    Ok(compared)
}

/// Bound in cycles of the grid, without the overhead of the launch.
fn bound_of(
    session: &Session,
    kernel: &Kernel,
    launches: StatedLaunches,
    machine: &GpuModel,
) -> anyhow::Result<u64> {
    let options = BoundOptions {
        launches,
        cycles: Some(CycleQuery {
            machine: Some(machine.clone()),
            scope: Some(TimeScope::Grid),
            ..CycleQuery::default()
        }),
        ..BoundOptions::default()
    };
    let report = bound(session, kernel, &options);
    let report = report.map_err(|why| anyhow::anyhow!("{}", why.message))?;
    let cycles = report.cycles.context("no bound in cycles")?;
    let Some(bound) = cycles.bound else {
        bail!("{}", cycles.reason.unwrap_or_default());
    };
    let mut terms = cycles.terms.iter();
    let overhead = terms.find(|term| term.name == "launch overhead");
    Ok(bound - overhead.map_or(0, |term| term.cycles))
}

fn print_row(task: &Task<'_>, found: &anyhow::Result<Compared>) {
    let param = task.subject.launch.params.get(task.param);
    let param = param.map_or("", |param| param.name.as_str());
    let (name, machine) = (&task.subject.name, task.machine);
    match found {
        Ok(found) => {
            let ratio = found.bound as f64 / found.worst.max(1) as f64;
            println!(
                "{name} {param} on {machine}: bound {}, worst of {} runs {}, ratio {ratio:.2}, {} sizes without a run",
                found.bound, found.runs, found.worst, found.skipped
            );
            for above in &found.above {
                println!("  ABOVE {above}");
            }
        }
        Err(why) => println!("{name} {param} on {machine}: no bound: {why:#}"),
    }
}

fn print_total(all: &[anyhow::Result<Compared>]) -> anyhow::Result<()> {
    let bounded: Vec<&Compared> = all.iter().flatten().collect();
    let runs: u64 = bounded.iter().map(|one| one.runs).sum();
    let above: usize = bounded.iter().map(|one| one.above.len()).sum();
    let ran = bounded.iter().filter(|one| one.worst > 0);
    let mut ratios: Vec<f64> = ran.map(|one| one.bound as f64 / one.worst as f64).collect();
    ratios.sort_by(f64::total_cmp);
    let median = ratios.get(ratios.len() / 2).copied().unwrap_or(0.0);
    println!(
        "{} ranges on a machine, {} bounded; {runs} runs, {above} above their bound; median ratio {median:.2}",
        all.len(),
        bounded.len()
    );
    match above {
        0 => Ok(()),
        count => bail!("{count} runs are above their bound"),
    }
}
