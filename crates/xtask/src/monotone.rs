//! `cargo xtask monotone`: checks that a single warp is never faster when a machine parameter moves to its slow end.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use warpbound_base::Diagnostic;
use warpbound_launch::LaunchFile;
use warpbound_launch::StartCaches;
use warpbound_query::Session;
use warpbound_query::{GpuModel, Selection};
use warpbound_runs::TimedOptions;
use warpbound_testkit::monotone::{SlowEndRuns, compare_at_slow_end, is_single_warp};

use crate::repository::Repository;
use crate::workers::for_each_task;

pub(crate) const HELP: &str = "\
usage: cargo run --release -p warpbound-xtask -- monotone [--seeds COUNT] [NAME...]

Runs the launches of a single warp in kernels/launches (only those of the kernels of kernels/cuda/NAME.cu, if names are
given) on four machines, with warm and with cold caches, and again with each parameter that a run used at its slow end. No
run may be faster than the first one, except where fetches of code or constants contend with the warp's own data for an L2
slice or DRAM: such runs are listed, and may be faster by at most the cycles that the slice and DRAM take for all of that
data. Contention is detected by runs in which slices and DRAM take no time.
Prints each run that was faster, and totals; fails if one was faster by more. On all cores; about a minute for each selection.

  --seeds COUNT   also start from COUNT random selections of the machine's parameters (0)";

/// Machines, and the chip whose code runs on each.
const MACHINES: [(&str, &str); 4] = [
    ("jetson-tx2", "sm_62"),
    ("gtx1080", "sm_61"),
    ("p100", "sm_61"),
    ("titan-x-maxwell", "sm_50"),
];

/// Time between two progress lines.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(10);

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let (mut seeds, mut names) = (0u64, Vec::new());
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--seeds" => seeds = rest.next().context("--seeds without a number")?.parse()?,
            flag if flag.starts_with('-') => bail!("no option is called {flag:?}"),
            name => names.push(name),
        }
    }
    let launches = single_warp_launches(repository, &names)?;
    if launches.is_empty() {
        bail!("no launch of a single warp with these names");
    }
    let devices = MACHINES.map(|(name, chip)| (GpuModel::built_in(name), chip));
    let mut machines = Vec::new();
    for (device, chip) in devices {
        machines.push((device.map_err(|d| anyhow::anyhow!("{d}"))?, chip));
    }
    let picks: Vec<Selection> = std::iter::once(Selection::Typical)
        .chain((0..seeds).map(Selection::Seed))
        .collect();
    let mut tasks = Vec::new();
    for launch in &launches {
        tasks.extend(machines.iter().map(|machine| (launch, machine)));
    }
    let begin = Instant::now();
    let find =
        |&(launch, machine): &(&SingleWarpLaunch, _)| launch.compare(repository, machine, &picks);
    let add = |total: &mut MonotonicityTotal, &(launch, machine): &(&_, &(GpuModel, _)), done| {
        total.add(launch, &machine.0.name, done);
        total.print_progress(tasks.len(), begin);
    };
    let total = for_each_task(&tasks, find, MonotonicityTotal::default(), add);
    print!("{}", total.lines.join(""));
    println!(
        "{} launches of a single warp on {} machines, warm and cold: {} runs with a parameter at its slow end, {} slower, {} faster, \
         {} of them by more than contention with fetches explains",
        launches.len(),
        machines.len(),
        total.runs,
        total.slower,
        total.faster,
        total.broken
    );
    if total.without_code > 0 {
        println!(
            "left out: {} launches without code for the chip of a machine",
            total.without_code
        );
    }
    if total.broken > 0 || !total.problems.is_empty() {
        let problems = total.problems.join("; ");
        bail!(
            "{} runs were faster with a parameter at its slow end, {} launches did not run: {problems}",
            total.broken,
            total.problems.len()
        );
    }
    Ok(())
}

/// Launch of a single warp.
struct SingleWarpLaunch {
    name: String,
    grid: LaunchFile,
}

/// Returns the single-warp launches of kernels whose sources have these names, or of all kernels.
fn single_warp_launches(
    repository: &Repository,
    names: &[&str],
) -> anyhow::Result<Vec<SingleWarpLaunch>> {
    let mut launches = Vec::new();
    for path in repository.cuda_launches()? {
        let name = file_name(&path);
        let source = name.split('.').next().unwrap_or_default();
        if !names.is_empty() && !names.contains(&source) {
            continue;
        }
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {name}"))?;
        let files = |file: &str| {
            let contents = fs::read(repository.launches().join(file));
            contents.map_err(|error| Diagnostic::new(error.to_string()))
        };
        let grid = LaunchFile::parse(&name, &text, &files).map_err(|d| anyhow::anyhow!("{d}"))?;
        if is_single_warp(&grid) {
            launches.push(SingleWarpLaunch { name, grid });
        }
    }
    Ok(launches)
}

impl SingleWarpLaunch {
    /// Runs a launch on a machine, with warm and cold caches; `None` if there is no code for its chip.
    fn compare(
        &self,
        repository: &Repository,
        (machine, chip): &(GpuModel, &str),
        picks: &[Selection],
    ) -> anyhow::Result<Option<Vec<(StartCaches, Selection, SlowEndRuns)>>> {
        let source = self.name.split('.').next().unwrap_or_default();
        let builds = [chip.to_string(), format!("nvrtc11.{chip}")];
        let cubin = |build: String| {
            repository
                .built_kernels()
                .join(format!("{source}.{build}.cubin"))
        };
        let Some(path) = builds
            .map(cubin)
            .into_iter()
            .find(|path: &PathBuf| path.exists())
        else {
            return Ok(None);
        };
        let file = file_name(&path);
        let contents = fs::read(&path).with_context(|| format!("cannot read {file}"))?;
        let to_error = |diagnostic: Diagnostic| anyhow::anyhow!("{diagnostic}");
        let session = Session::open(&file, &contents).map_err(to_error)?;
        let kernel = session
            .launched_kernel(None, self.grid.kernel.as_deref())
            .map_err(to_error)?;
        let prepared = session.prepare(kernel).map_err(to_error)?;
        let mut all = Vec::new();
        for caches in [StartCaches::Warm, StartCaches::Cold] {
            for &pick in picks {
                let options = TimedOptions {
                    caches: Some(caches),
                    selection: pick,
                    ..TimedOptions::new(machine.clone())
                };
                let compared =
                    compare_at_slow_end(&session, &prepared, &self.grid, &options, Selection::Slow);
                all.push((caches, pick, compared.map_err(to_error)?));
            }
        }
        Ok(Some(all))
    }
}

/// Totals of all comparisons.
#[derive(Default)]
struct MonotonicityTotal {
    done: usize,
    reported: Duration,
    runs: usize,
    slower: usize,
    faster: usize,
    broken: usize,
    without_code: usize,
    lines: Vec<String>,
    problems: Vec<String>,
}

impl MonotonicityTotal {
    fn add(
        &mut self,
        launch: &SingleWarpLaunch,
        machine: &str,
        done: anyhow::Result<Option<Vec<(StartCaches, Selection, SlowEndRuns)>>>,
    ) {
        self.done += 1;
        let all = match done {
            Ok(Some(all)) => all,
            Ok(None) => {
                self.without_code += 1;
                return;
            }
            Err(error) => {
                self.problems.push(format!("{}: {error:#}", launch.name));
                return;
            }
        };
        for (caches, pick, compared) in all {
            self.runs += compared.runs;
            self.slower += compared.slower;
            self.faster += compared.faster.len();
            for faster in compared.faster {
                let violations = faster.is_violation();
                self.broken += usize::from(violations);
                let [from, to] = faster.values;
                let [before, after] = faster.cycles;
                let explained = match faster.contention_limit {
                    Some(most) if violations => format!(", more than the {most} of contention"),
                    Some(most) => format!(", contention, at most {most}"),
                    None => String::new(),
                };
                self.lines.push(format!(
                    "{} on {machine}, {caches:?}, {pick:?}: {} {from} -> {to}: {before} -> {after} cycles{explained}\n",
                    launch.name,
                    faster.parameter.name(),
                ));
            }
        }
        self.lines.sort();
    }

    /// Prints the progress on standard error.
    fn print_progress(&mut self, all: usize, begin: Instant) {
        let now = begin.elapsed();
        if now >= self.reported + PROGRESS_INTERVAL {
            self.reported = now;
            eprintln!("{} of {all}, {} faster", self.done, self.faster);
        }
    }
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
