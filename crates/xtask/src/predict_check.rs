//! `cargo xtask predict-check`: predicted counts against functional runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use warpbound_base::{Deadline, Diagnostic, Named};
use warpbound_driver::audit::variation;
use warpbound_driver::{Contents, PredictOptions, Prediction, Session};
use warpbound_launch::{LaunchFile, ParamValue, PathOrder};
use warpbound_testkit::predictions::{ComparedCounts, compare, counts_of_run};

use crate::repository::Repository;

pub(crate) const HELP: &str = "\
usage: cargo run --release -p warpbound-xtask -- predict-check [--variations N] [--seed S] [--speed] [NAME...]

Predicts the counts of the launches in kernels/launches (only those whose names begin so, if names are given), as built
for sm_61, and of N variations of each (default 2), for any contents of buffers and for those as given, and compares
each known count with that of a functional run. Prints a row for each launch with unknown counts, and which kernels are
wholly known for any contents in all launches as given; fails on any difference.

  --speed   compares the time of a prediction and of a functional run of nbody with 2^20 threads instead";

/// Largest number of warp instructions of a run.
const MOST_INSTRUCTIONS: u64 = 20_000_000;

/// Time for the prediction of one launch.
const TIME_LIMIT: Duration = Duration::from_secs(20);

/// Bytes of a body of nbody.
const BODY: usize = 16;

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let (mut variations, mut seed, mut names) = (2, 1, Vec::new());
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--variations" => {
                variations = rest
                    .next()
                    .context("--variations without a number")?
                    .parse()?;
            }
            "--seed" => seed = rest.next().context("--seed without a number")?.parse()?,
            "--speed" => return speed(repository),
            flag if flag.starts_with('-') => bail!("no option is called {flag:?}"),
            name => names.push(name.to_owned()),
        }
    }
    let mut total = PredictionTotal::default();
    for path in repository.cuda_launches()? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if names.is_empty() || names.iter().any(|start| name.starts_with(start)) {
            let row = CheckedLaunch::check(repository, &name, variations, seed);
            total.add(&name, row.with_context(|| name.to_string())?);
        }
    }
    total.print();
    match total.compared.wrong.len() {
        0 => Ok(()),
        wrong => bail!("{wrong} predicted counts are not those of the run"),
    }
}

/// A launch of the repository, and the cubin of its kernel.
struct CommittedLaunch {
    launch: LaunchFile,
    cubin: Vec<u8>,
}

impl CommittedLaunch {
    fn read(repository: &Repository, name: &str) -> anyhow::Result<CommittedLaunch> {
        let folder = repository.launches();
        let files = |file: &str| {
            fs::read(folder.join(file)).map_err(|error| Diagnostic::new(error.to_string()))
        };
        let text = fs::read_to_string(folder.join(name))?;
        let launch = LaunchFile::parse(name, &text, &files)?;
        let source = name.split('.').next().unwrap_or_default();
        // Some sources are for the older compiler only.
        let builds = ["sm_61", "nvrtc11.sm_61"].map(|build| format!("{source}.{build}.cubin"));
        let read = |cubin: String| fs::read(repository.built_kernels().join(cubin)).ok();
        let cubin = builds.into_iter().find_map(read).context("no cubin")?;
        Ok(CommittedLaunch { launch, cubin })
    }
}

/// Comparison of one launch and its variations.
struct CheckedLaunch {
    kernel: String,
    /// Prediction of the launch as given, for any contents.
    given: Prediction,
    compared: ComparedCounts,
    runs: u64,
    predicting: Duration,
    running: Duration,
}

impl CheckedLaunch {
    fn check(
        repository: &Repository,
        name: &str,
        variations: u64,
        seed: u64,
    ) -> anyhow::Result<CheckedLaunch> {
        let CommittedLaunch { launch, cubin } = CommittedLaunch::read(repository, name)?;
        let session = Session::open(name, &cubin)?;
        let kernel = session.launched_kernel(None, launch.kernel.as_deref())?;
        let prepared = session.prepare(kernel)?;
        let options = |contents| PredictOptions {
            contents,
            deadline: Deadline::after(TIME_LIMIT),
            ..PredictOptions::default()
        };
        let start = Instant::now();
        let given = session.predict(&prepared, &launch, &options(Contents::Any))?;
        let mut row = CheckedLaunch {
            kernel: format!(
                "{} {}",
                name.split('.').next().unwrap_or_default(),
                kernel.name
            ),
            given,
            compared: ComparedCounts::default(),
            runs: 0,
            predicting: start.elapsed(),
            running: Duration::ZERO,
        };
        let orders = [PathOrder::TakenFirst, PathOrder::FallThroughFirst];
        let mut runs: Vec<(LaunchFile, PathOrder)> =
            orders.map(|order| (launch.clone(), order)).to_vec();
        runs.extend((0..variations).map(|number| {
            let varied = variation(&launch, seed.wrapping_mul(1_000_003).wrapping_add(number));
            (varied.launch, varied.order)
        }));
        for (run, order) in runs {
            let start = Instant::now();
            let counts = counts_of_run(&cubin, &prepared, &run, order, MOST_INSTRUCTIONS);
            row.running += start.elapsed();
            // Other contents may make a kernel fault.
            let Ok(counts) = counts else { continue };
            row.runs += 1;
            for contents in [Contents::Any, Contents::AsGiven] {
                let start = Instant::now();
                let prediction = session.predict(&prepared, &run, &options(contents))?;
                row.predicting += start.elapsed();
                let mut compared = compare(&prediction, &counts);
                for wrong in &mut compared.wrong {
                    *wrong = format!("{}, {order:?}: {wrong}", contents.name());
                }
                row.compared.append(compared);
            }
        }
        Ok(row)
    }
}

/// Sums over all launches.
#[derive(Default)]
struct PredictionTotal {
    compared: ComparedCounts,
    runs: u64,
    launches: u64,
    whole_launches: u64,
    /// Known and all blocks of the launches as given.
    blocks: [u64; 2],
    /// Kernels, and those with an unknown count in some launch.
    kernels: BTreeSet<String>,
    partial: BTreeSet<String>,
    lost: BTreeMap<String, u64>,
    predicting: Duration,
    running: Duration,
}

impl PredictionTotal {
    fn add(&mut self, name: &str, row: CheckedLaunch) {
        let counts = row.given.counts.values();
        let known = counts.filter(|count| count.unknown_at.is_empty()).count() as u64;
        let all = row.given.counts.len() as u64;
        self.blocks = [self.blocks[0] + known, self.blocks[1] + all];
        self.launches += 1;
        self.kernels.insert(row.kernel.clone());
        if row.given.is_whole() {
            self.whole_launches += 1;
        } else {
            self.partial.insert(row.kernel);
            let why = match row.given.lost {
                Some((_, why)) => format!("lost: {:?}", why.reason),
                None => String::new(),
            };
            println!("{name:<60} {known:>4} of {all:>4} blocks known {why}");
            if !why.is_empty() {
                *self.lost.entry(why).or_default() += 1;
            }
        }
        for wrong in &row.compared.wrong {
            println!("    wrong: {name}: {wrong}");
        }
        self.runs += row.runs;
        self.predicting += row.predicting;
        self.running += row.running;
        self.compared.append(row.compared);
    }

    fn print(&self) {
        println!(
            "{} launches, {} compared runs: {} known counts equal, {} unknown, {} wrong",
            self.launches,
            self.runs,
            self.compared.right,
            self.compared.unknown,
            self.compared.wrong.len()
        );
        println!(
            "launches as given, any contents: {} wholly known; {} of {} blocks known",
            self.whole_launches, self.blocks[0], self.blocks[1]
        );
        println!(
            "{} of {} kernels wholly known in all launches",
            self.kernels.len() - self.partial.len(),
            self.kernels.len()
        );
        for (why, launches) in &self.lost {
            println!("{launches} launches {why}");
        }
        println!(
            "{:.1} s of predictions, {:.1} s of runs",
            self.predicting.as_secs_f64(),
            self.running.as_secs_f64()
        );
    }
}

/// Compares the times of a prediction and a run of nbody with 2^20 threads.
fn speed(repository: &Repository) -> anyhow::Result<()> {
    let name = "nbody.nbody_advance.1.toml";
    let CommittedLaunch { mut launch, cubin } = CommittedLaunch::read(repository, name)?;
    let threads = 1usize << 20;
    let [width, ..] = launch.block;
    launch.grid = [(threads as u32) / width, 1, 1];
    for param in &mut launch.params {
        if let ParamValue::Buffer(buffer) = &mut param.value {
            buffer.expect = None;
            buffer.bytes.resize(threads * BODY, 0);
        }
    }
    let session = Session::open(name, &cubin)?;
    let kernel = session.launched_kernel(None, launch.kernel.as_deref())?;
    let prepared = session.prepare(kernel)?;
    let start = Instant::now();
    let prediction = session.predict(&prepared, &launch, &PredictOptions::default())?;
    let predicting = start.elapsed();
    let start = Instant::now();
    let order = PathOrder::TakenFirst;
    let counts = counts_of_run(&cubin, &prepared, &launch, order, u64::MAX);
    let running = start.elapsed();
    let compared = compare(&prediction, &counts.map_err(|why| anyhow::anyhow!(why))?);
    println!(
        "nbody, {threads} threads: prediction {:.4} s, run {:.2} s: {:.0} times; {} counts equal, {} unknown",
        predicting.as_secs_f64(),
        running.as_secs_f64(),
        running.as_secs_f64() / predicting.as_secs_f64().max(1e-9),
        compared.right,
        compared.unknown
    );
    match compared.wrong.as_slice() {
        [] => Ok(()),
        [wrong, ..] => bail!("{wrong}"),
    }
}
