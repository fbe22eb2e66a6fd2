//! `cargo xtask monotone`: a warp that runs alone is never faster when a number of its machine goes to its slow end.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use warpbound_base::Diagnostic;
use warpbound_driver::{GpuModel, Selection, Session, StartCaches, TimedOptions};
use warpbound_launch::{LaunchFile};
use warpbound_testkit::monotone::{SlowEndRuns, compare_at_slow_end, is_single_warp};

use crate::repository::{Repository, files_with_extension};

pub(crate) const HELP: &str = "\
usage: cargo run --release -p warpbound-xtask -- monotone [--seeds COUNT] [NAME...]

Runs the launches in kernels/launches that are of a single warp (those of the kernels of kernels/cuda/NAME.cu only, where
names are given) on four machines, from warm and from cold caches, and again with each number that a run asked for at its slow
end. No run may be faster than the first one, but where code or constants share a slice of the second level or the memory
with the warp's own data: such runs are listed, and may be faster by at most the cycles that a slice and the memory take for
all of that data. What is shared is found by runs in which slices and memory take no time.
Prints each run that was faster, and totals; fails if one was faster by more. On all cores; a minute or so for each selection.

  --seeds COUNT   start from so many random selections of the machine's numbers as well (0)";

/// The machines, and the chip whose code runs on each.
const MACHINES: [(&str, &str); 4] = [
    ("jetson-tx2", "sm_62"),
    ("gtx1080", "sm_61"),
    ("p100", "sm_61"),
    ("titan-x-maxwell", "sm_50"),
];

/// Between two lines that say how far it is.
const APART: Duration = Duration::from_secs(10);

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
    let launches = lone_launches(repository, &names)?;
    if launches.is_empty() {
        bail!("there is no such launch of a single warp");
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
    let (next, total) = (AtomicUsize::new(0), Mutex::new(Total::default()));
    let begin = Instant::now();
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((launch, machine)) = tasks.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let done = launch.compare(repository, machine, &picks);
                    let mut total = total
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner);
                    total.add(launch, &machine.0.name, done);
                    total.tell(tasks.len(), begin);
                }
            });
        }
    });
    let total = total
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    print!("{}", total.lines.join(""));
    println!(
        "{} launches of a single warp on {} machines, warm and cold: {} runs with a number at its slow end, {} slower, {} faster, \
         {} of them by more than fetches explain that share a slice with data",
        launches.len(),
        machines.len(),
        total.runs,
        total.slower,
        total.faster,
        total.broken
    );
    if total.without_code > 0 {
        println!(
            "left out: {} times, a launch has no code for the chip of a machine",
            total.without_code
        );
    }
    if total.broken > 0 || !total.problems.is_empty() {
        let problems = total.problems.join("; ");
        bail!(
            "{} runs were faster with a number at its slow end, {} launches did not run: {problems}",
            total.broken,
            total.problems.len()
        );
    }
    Ok(())
}

/// A launch of a single warp.
struct Lone {
    name: String,
    grid: LaunchFile,
}

/// The launches of kernels whose sources have these names, or of all.
fn lone_launches(repository: &Repository, names: &[&str]) -> anyhow::Result<Vec<Lone>> {
    let mut launches = Vec::new();
    for path in files_with_extension(&repository.launches(), "toml")? {
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
            launches.push(Lone { name, grid });
        }
    }
    Ok(launches)
}

impl Lone {
    /// Runs on a machine, warm and cold; nothing where there is no code for its chip.
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
        let told = |diagnostic: Diagnostic| anyhow::anyhow!("{diagnostic}");
        let session = Session::open(&file, &contents).map_err(told)?;
        let kernel = session.launched_grid(None, &self.grid).map_err(told)?;
        let prepared = session.prepare(kernel).map_err(told)?;
        let mut all = Vec::new();
        for caches in [StartCaches::Warm, StartCaches::Cold] {
            for &pick in picks {
                let options = TimedOptions {
                    caches: Some(caches),
                    selection: pick,
                    ..TimedOptions::new(machine.clone())
                };
                let compared = compare_at_slow_end(&session, &prepared, &self.grid, &options, Selection::Slow);
                all.push((caches, pick, compared.map_err(told)?));
            }
        }
        Ok(Some(all))
    }
}

/// What all comparisons gave.
#[derive(Default)]
struct Total {
    done: usize,
    told: Duration,
    runs: usize,
    slower: usize,
    faster: usize,
    broken: usize,
    without_code: usize,
    lines: Vec<String>,
    problems: Vec<String>,
}

impl Total {
    fn add(
        &mut self,
        launch: &Lone,
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
                let broken = faster.is_violation();
                self.broken += usize::from(broken);
                let [from, to] = faster.values;
                let [before, after] = faster.cycles;
                let explained = match faster.contention_limit {
                    Some(most) if broken => format!(", more than the {most} of a shared slice"),
                    Some(most) => format!(", a shared slice, at most {most}"),
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

    /// Says on standard error how far it is.
    fn tell(&mut self, all: usize, begin: Instant) {
        let now = begin.elapsed();
        if now >= self.told + APART {
            self.told = now;
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
