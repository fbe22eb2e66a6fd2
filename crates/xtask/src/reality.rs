//! `cargo xtask reality`: what a GPU measured, against the timing model of it.

mod bounds;
mod clocks;
mod profiles;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, bail};
use warpbound_launch::{LaunchFile, StartCaches};
use warpbound_machine::{GpuModel, Parameter};
use warpbound_query::Session;
use warpbound_runs::{RunHooks, TimedOptions, TimedRun, simulate};

use crate::repository::Repository;

pub(crate) const HELP: &str = "\
usage: cargo run --release -p warpbound-xtask -- reality --clocks CSV CUBINS [MACHINE]
       cargo run --release -p warpbound-xtask -- reality --profiles CSV CUBINS [MACHINE]
       cargo run --release -p warpbound-xtask -- reality --bounds CSV CUBINS [MACHINE]
       cargo run --release -p warpbound-xtask -- reality --bounds-of-any-contents CSV CUBINS [MACHINE]

Runs the launches that a GPU ran on the timing model of a machine (h200), and compares the cycles. CUBINS has SOURCE.*.cubin.

  --clocks CSV    cycles that microbenchmarks read from the clock: columns launch and first. A launch that is called
                  SOURCE.KERNEL.stride8.32threads is the one of kernels/microbenchmarks/KERNEL.toml with stride = 8 and 32 threads
                  in a block; first is the first element of its first buffer
  --profiles CSV  cycles of kernels: columns launch, source, kernel, caches (flushed or warm) and sm__cycles_active.max: cycles
                  of the SM that was busy longest. A launch that is called SOURCE.KERNEL.N is the one of that name in
                  kernels/launches

  --bounds CSV    the same cycles, held to the bounds in cycles: of the lone warp for launches of one warp, of the grid for
                  others. The launch overhead of the bound is the one of typical runs, because records of an SM have no more.
                  Fails if a record is above its bound. The bounds are for the contents of buffers that the launches give, or
                  for any contents

Prints each launch with its ratio, modelled (or bounded) over recorded, and the distribution of the ratios.";

/// Machine whose records are compared by default.
const MACHINE: &str = "h200";

/// Recorded and modelled cycles of a launch.
#[derive(Clone, PartialEq, Debug)]
struct Comparison {
    /// Name of the launch, with its caches where both are recorded.
    name: String,
    recorded: f64,
    modelled: f64,
}

impl Comparison {
    fn ratio(&self) -> f64 {
        self.modelled / self.recorded
    }
}

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let (kind, csv, cubins, machine) = match arguments {
        [kind, csv, cubins] => (kind, csv, cubins, MACHINE),
        [kind, csv, cubins, machine] => (kind, csv, cubins, machine.as_str()),
        _ => bail!("--clocks, --profiles or --bounds with the paths that `--help` names"),
    };
    let text = std::fs::read_to_string(csv).with_context(|| csv.clone())?;
    let model = Model {
        launches: repository.root().join("kernels"),
        cubins: PathBuf::from(cubins),
        machine: warpbound_query::input::gpu_model(machine)?,
    };
    let found = match kind.as_str() {
        "--clocks" => clocks::compare(&model, &text)?,
        "--profiles" => profiles::compare(&model, &text, Model::cycles)?,
        "--bounds" => profiles::compare(&model, &text, Model::bound)?,
        "--bounds-of-any-contents" => {
            profiles::compare(&model, &text, Model::bound_of_any_contents)?
        }
        _ => bail!("--clocks, --profiles or --bounds, not {kind}"),
    };
    found.print();
    let below = found.all.iter().filter(|found| found.ratio() < 1.0).count();
    match kind.as_str() {
        "--bounds" | "--bounds-of-any-contents" if below > 0 => {
            bail!("{below} records are above their bounds")
        }
        _ => Ok(()),
    }
}

/// Model of a GPU, and where the launches and the code are that it runs.
struct Model {
    launches: PathBuf,
    cubins: PathBuf,
    machine: GpuModel,
}

/// Launch of a kernel of a source.
struct ModelledLaunch<'a> {
    source: &'a str,
    kernel: Option<&'a str>,
    launch: &'a LaunchFile,
    caches: StartCaches,
}

impl Model {
    /// Reads a launch file of a folder below `kernels`.
    fn launch(&self, folder: &str, name: &str) -> anyhow::Result<LaunchFile> {
        let folder = self.launches.join(folder);
        let file = format!("{name}.toml");
        let text = std::fs::read_to_string(folder.join(&file)).with_context(|| file.clone())?;
        let read = |name: &str| {
            let contents = std::fs::read(folder.join(name));
            contents.map_err(|error| warpbound_base::Diagnostic::new(error.to_string()))
        };
        Ok(LaunchFile::parse(&file, &text, &read)?)
    }

    /// Runs a launch with typical parameters, from the first block to the end of the last warp: records of an SM have neither
    /// the cost of a launch nor the way of the last stores.
    fn run(&self, what: &ModelledLaunch<'_>) -> anyhow::Result<TimedRun> {
        let path = self.cubin(what.source)?;
        let session = Session::open(&path.display().to_string(), &std::fs::read(&path)?)?;
        let kernel = session.launched_kernel(what.kernel, what.launch.kernel.as_deref())?;
        let options = TimedOptions {
            set: vec![(Parameter::LaunchStores, 0)],
            caches: Some(what.caches),
            ..TimedOptions::new(self.machine.clone())
        };
        let hooks = RunHooks {
            events: None,
            timeline: None,
            progress: &mut |_| (),
        };
        Ok(simulate(&session, kernel, what.launch, &options, hooks)?)
    }

    /// Cycles of a run.
    fn cycles(&self, what: &ModelledLaunch<'_>) -> anyhow::Result<f64> {
        Ok(self.run(what)?.report.cycles as f64)
    }

    /// File of the code of a source for the machine.
    fn cubin(&self, source: &str) -> anyhow::Result<PathBuf> {
        let names = self.machine.architectures.iter();
        let mut files = names.map(|name| self.cubins.join(format!("{source}.{name}.cubin")));
        let found = files.find(|path| path.exists());
        found.with_context(|| format!("no cubin of {source} in {}", self.cubins.display()))
    }
}

/// Comparisons, and launches without one, with the reason.
#[derive(Default)]
struct Comparisons {
    all: Vec<Comparison>,
    missing: BTreeMap<String, String>,
}

impl Comparisons {
    fn add(&mut self, name: &str, recorded: f64, modelled: anyhow::Result<f64>) {
        match modelled {
            Ok(modelled) => self.all.push(Comparison {
                name: name.to_owned(),
                recorded,
                modelled,
            }),
            Err(why) => {
                self.missing.insert(name.to_owned(), why.to_string());
            }
        }
    }

    fn print(&self) {
        for found in &self.all {
            println!(
                "{:6.3}  {:>9}  {:>9}  {}",
                found.ratio(),
                found.modelled,
                found.recorded,
                found.name
            );
        }
        for (name, why) in &self.missing {
            println!("     -  {name}: {why}");
        }
        println!("{}", self.summary());
    }

    /// Distribution of the ratios and of their distances from 1.
    fn summary(&self) -> String {
        let ratios = sorted(self.all.iter().map(Comparison::ratio));
        let errors = sorted(ratios.iter().map(|ratio| (ratio - 1.0).abs() * 100.0));
        let below = self.all.iter().filter(|found| found.ratio() < 1.0).count();
        format!(
            "{} launches, {} without a time; ratio: 10 % {:.2}, 50 % {:.2}, 90 % {:.2}; error: 50 % {:.1} %, 90 % {:.1} %, \
             greatest {:.1} %; {below} below 1",
            self.all.len(),
            self.missing.len(),
            quantile(&ratios, 0.1),
            quantile(&ratios, 0.5),
            quantile(&ratios, 0.9),
            quantile(&errors, 0.5),
            quantile(&errors, 0.9),
            quantile(&errors, 1.0)
        )
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Value below which this share of sorted values lies; 0 if there is none.
fn quantile(values: &[f64], share: f64) -> f64 {
    let last = values.len().saturating_sub(1) as f64;
    let place = (share * last).round() as usize;
    values.get(place).copied().unwrap_or_default()
}

/// Columns of a table with a head, by name.
fn rows(text: &str) -> impl Iterator<Item = BTreeMap<&str, &str>> {
    let mut lines = text.lines();
    let head = lines.next().unwrap_or_default();
    lines.map(move |line| head.split(',').zip(line.split(',')).collect())
}

/// Text in a column of a row.
fn column<'a>(row: &BTreeMap<&str, &'a str>, name: &str) -> anyhow::Result<&'a str> {
    let found = row.get(name).copied();
    found.with_context(|| format!("no column {name}"))
}
