//! `cargo xtask predict-check`: predicted counts against functional runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use warpbound_audit::audit::variation;
use warpbound_base::{Deadline, Diagnostic, Named};
use warpbound_launch::{LaunchFile, ParamValue, PathOrder};
use warpbound_measure::{PredictOptions, Prediction, predict};
use warpbound_query::{Contents, Session};
use warpbound_testkit::predictions::{block_starts, compare, counts_of_blocks, counts_of_run};

use crate::repository::Repository;
use journal::{CheckedRound, Journal};

mod formulas;
mod journal;

pub(crate) const HELP: &str = "\
usage: cargo run --release -p warpbound-xtask -- predict-check [--variations N] [--seed S] [--journal FILE] [--minutes M] [--in FOLDER --build SM] [--speed | --formulas [--launches N]] [NAME...]

Predicts the counts of the launches in kernels/launches (only those whose names begin so, if names are given), as built
for sm_61 (with --in and --build, as built for another GPU in that folder), and of N variations of each (default 2), for any contents of buffers and for those as given, and compares
each known count with that of a functional run. Goes round by round: all launches as given, then all with five
variations, then all with the next five. Prints a row for each launch with unknown counts (with which counts are known
for any contents, and with those as given), and how many kernels are wholly known in all launches as given; fails on
any difference.

  --journal FILE   append a line for each launch and round, and take over what is there: a campaign in parts
  --minutes M      begin no launch after so long; what was reached is printed
  --in FOLDER      cubins of this folder, as `kernels --wide FOLDER` writes them; a launch without one is left out
  --build SM       build of the cubins, for example sm_90
  --speed          compares the time of a prediction and of a functional run of nbody with 2^20 threads instead
  --formulas       compares the closed forms of counts with predictions in random launches of each kernel instead
  --launches N     random launches of each kernel (1000)";

/// Maximum number of warp instructions of a run. A longer run, mostly one at a lock that other contents leave closed,
/// is not compared.
const MOST_INSTRUCTIONS: u64 = 4_000_000;

/// Time for the prediction of one launch.
const TIME_LIMIT: Duration = Duration::from_secs(20);

/// Variations of each launch in a round.
const ROUND: u64 = 5;

/// Bytes of a body of nbody.
const BODY: usize = 16;

/// Options of the command.
struct CheckOptions {
    variations: u64,
    seed: u64,
    journal: Option<PathBuf>,
    end: Deadline,
    names: Vec<String>,
    cubins: CubinFolder,
    /// Whether closed forms are compared, and in how many launches of each kernel.
    formulas: bool,
    launches: u64,
}

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let mut options = CheckOptions {
        variations: 2,
        seed: 1,
        journal: None,
        end: Deadline::default(),
        names: Vec::new(),
        cubins: CubinFolder {
            folder: repository.built_kernels(),
            // Some sources are for the older compiler only.
            builds: vec!["sm_61".to_owned(), "nvrtc11.sm_61".to_owned()],
        },
        formulas: false,
        launches: 1000,
    };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().context("an option without a value");
        match argument.as_str() {
            "--variations" => options.variations = value()?.parse()?,
            "--seed" => options.seed = value()?.parse()?,
            "--journal" => options.journal = Some(value()?.into()),
            "--minutes" => {
                let minutes: u64 = value()?.parse()?;
                options.end = Deadline::after(Duration::from_secs(minutes.saturating_mul(60)));
            }
            "--in" => options.cubins.folder = value()?.into(),
            "--build" => options.cubins.builds = vec![value()?.clone()],
            "--speed" => return speed(repository, &options.cubins),
            "--formulas" => options.formulas = true,
            "--launches" => options.launches = value()?.parse()?,
            flag if flag.starts_with('-') => bail!("no option is called {flag:?}"),
            name => options.names.push(name.to_owned()),
        }
    }
    match options.formulas {
        true => formulas::check(
            repository,
            &options.cubins,
            &options.names,
            options.launches,
            options.seed,
        ),
        false => campaign(repository, &options),
    }
}

/// Checks all launches, round by round.
fn campaign(repository: &Repository, options: &CheckOptions) -> anyhow::Result<()> {
    let mut journal = Journal::open(options.journal.as_deref(), options.seed)?;
    let mut launches = Vec::new();
    for path in repository.cuda_launches()? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_named = options.names.iter().any(|start| name.starts_with(start));
        if options.names.is_empty() || is_named {
            launches.push(name.into_owned());
        }
    }
    let mut total = PredictionTotal::default();
    'rounds: for round in 0..=options.variations.div_ceil(ROUND) {
        for name in &launches {
            if let Some(row) = journal.row(name, round) {
                total.add(row);
                continue;
            }
            if options.end.is_past() {
                println!("the time has passed in round {round}");
                break 'rounds;
            }
            let committed = CommittedLaunch::read(repository, name, &options.cubins)?;
            let Some(committed) = committed else { continue };
            let row = check(&committed, name, round, options).with_context(|| name.clone())?;
            for wrong in &row.wrong {
                println!("    wrong: {name}: {wrong}");
            }
            journal.add(&row)?;
            total.add(&row);
        }
        total.rounds = round + 1;
    }
    total.print();
    match total.wrong {
        0 => Ok(()),
        wrong => bail!("{wrong} predicted counts are not those of the run"),
    }
}

/// A launch of the repository, and the cubin of its kernel.
struct CommittedLaunch {
    launch: LaunchFile,
    cubin: Vec<u8>,
}

/// Folder with cubins, and the builds that are taken, the first one that is there.
struct CubinFolder {
    folder: PathBuf,
    builds: Vec<String>,
}

impl CommittedLaunch {
    /// Reads a launch and the cubin of its kernel; `None` if the folder has no cubin of that source.
    fn read(
        repository: &Repository,
        name: &str,
        cubins: &CubinFolder,
    ) -> anyhow::Result<Option<CommittedLaunch>> {
        let folder = repository.launches();
        let files = |file: &str| {
            fs::read(folder.join(file)).map_err(|error| Diagnostic::new(error.to_string()))
        };
        let text = fs::read_to_string(folder.join(name))?;
        let launch = LaunchFile::parse(name, &text, &files)?;
        let source = name.split('.').next().unwrap_or_default();
        let mut builds = cubins.builds.iter();
        let cubin = builds
            .find_map(|build| fs::read(cubins.folder.join(format!("{source}.{build}.cubin"))).ok());
        Ok(cubin.map(|cubin| CommittedLaunch { launch, cubin }))
    }
}

/// Compares one round of a launch: as given in both orders in round 0, with a few variations in each later one.
fn check(
    CommittedLaunch { launch, cubin }: &CommittedLaunch,
    name: &str,
    round: u64,
    options: &CheckOptions,
) -> anyhow::Result<CheckedRound> {
    let session = Session::open(name, cubin)?;
    let kernel = session.launched_kernel(None, launch.kernel.as_deref())?;
    let prepared = session.prepare(kernel)?;
    let limits = |contents| PredictOptions {
        contents,
        deadline: Deadline::after(TIME_LIMIT),
        ..PredictOptions::default()
    };
    let source = name.split('.').next().unwrap_or_default();
    let mut row = CheckedRound {
        launch: name.to_owned(),
        round,
        kernel: format!("{source}.{}", kernel.name),
        ..CheckedRound::default()
    };
    // Kernels whose barriers are not nested are refused, and their neighbours are compared all the same.
    let any = match predict(&session, &prepared, launch, &limits(Contents::Any)) {
        Ok(any) => any,
        Err(why) => {
            row.lost = Some(why.message);
            return Ok(row);
        }
    };
    let mut runs: Vec<(LaunchFile, PathOrder)> = Vec::new();
    if let Some(before) = round.checked_sub(1) {
        let first = before * ROUND;
        runs.extend(
            (first..options.variations.min(first + ROUND)).map(|number| {
                let seed = options.seed.wrapping_mul(1_000_003).wrapping_add(number);
                let varied = variation(launch, seed);
                (varied.launch, varied.order)
            }),
        );
    } else {
        let orders = [PathOrder::TakenFirst, PathOrder::FallThroughFirst];
        runs.extend(orders.map(|order| (launch.clone(), order)));
        let given = predict(&session, &prepared, launch, &limits(Contents::AsGiven))?;
        row.blocks = any.counts.len() as u64;
        row.known = [&any, &given].map(known_blocks);
        row.lost = any.lost.map(|(_, why)| format!("{:?}", why.reason));
    }
    let blocks = block_starts(&prepared);
    let mut known: Vec<EqualNumbers> = Vec::new();
    for (run, order) in runs {
        let start = Instant::now();
        let counts = counts_of_run(&session, &prepared, &run, order, MOST_INSTRUCTIONS);
        row.running += start.elapsed();
        // Other contents may make a kernel fault.
        let Ok(counts) = counts else { continue };
        row.runs += 1;
        let start = Instant::now();
        let given = predict(&session, &prepared, &run, &limits(Contents::AsGiven))?;
        let (numbers, of_blocks) = (numbers(&run), counts_of_blocks(&blocks, &counts));
        let found = known.iter().position(|equal| equal.numbers == numbers);
        let equal = match found {
            Some(found) => &known[found],
            None => {
                known.push(EqualNumbers {
                    numbers,
                    prediction: predict(&session, &prepared, &run, &limits(Contents::Any))?,
                    counts: of_blocks.clone(),
                });
                &known[known.len() - 1]
            }
        };
        row.predicting += start.elapsed();
        row.differs |= equal.counts != of_blocks;
        for (contents, prediction) in [
            (Contents::Any, &equal.prediction),
            (Contents::AsGiven, &given),
        ] {
            let compared = compare(prediction, &counts);
            row.right += compared.right;
            row.unknown += compared.unknown;
            let wrong = compared.wrong.into_iter();
            row.wrong
                .extend(wrong.map(|wrong| format!("{}, {order:?}: {wrong}", contents.name())));
        }
    }
    Ok(row)
}

/// Runs with the same numbers among their parameters, which differ in contents only.
struct EqualNumbers {
    numbers: Vec<Vec<u8>>,
    /// Prediction for any contents, which is the prediction of all of them.
    prediction: Prediction,
    /// Counts of the first run.
    counts: Vec<[u64; 2]>,
}

/// Numbers among the parameters of a launch.
fn numbers(launch: &LaunchFile) -> Vec<Vec<u8>> {
    let params = launch.params.iter();
    let numbers = params.filter_map(|param| match &param.value {
        ParamValue::Scalar { bytes, .. } => Some(bytes.clone()),
        _ => None,
    });
    numbers.collect()
}

/// Number of blocks with both counts.
fn known_blocks(prediction: &Prediction) -> u64 {
    let counts = prediction.counts.values();
    let known = counts.filter(|count| count.issues.is_some() && count.lanes.is_some());
    known.count() as u64
}

/// Sums over all launches.
#[derive(Default)]
struct PredictionTotal {
    runs: u64,
    right: u64,
    unknown: u64,
    wrong: u64,
    /// Rounds that all launches have.
    rounds: u64,
    launches: u64,
    /// Launches as given that are wholly known, for any contents and for the contents as given.
    whole_launches: [u64; 2],
    /// Blocks of the launches as given, and the known ones.
    blocks: u64,
    known: [u64; 2],
    /// Kernels, and kernels with an unknown count in some launch.
    kernels: BTreeSet<String>,
    partial: [BTreeSet<String>; 2],
    /// Kernels with runs of equal numbers and different counts.
    differing: BTreeSet<String>,
    lost: BTreeMap<String, u64>,
    predicting: Duration,
    running: Duration,
}

impl PredictionTotal {
    fn add(&mut self, row: &CheckedRound) {
        self.runs += row.runs;
        self.right += row.right;
        self.unknown += row.unknown;
        self.wrong += row.wrong.len() as u64;
        self.predicting += row.predicting;
        self.running += row.running;
        if row.differs {
            self.differing.insert(row.kernel.clone());
        }
        if row.round > 0 {
            return;
        }
        self.launches += 1;
        self.blocks += row.blocks;
        self.kernels.insert(row.kernel.clone());
        for (number, known) in row.known.into_iter().enumerate() {
            self.known[number] += known;
            if known == row.blocks {
                self.whole_launches[number] += 1;
            } else {
                self.partial[number].insert(row.kernel.clone());
            }
        }
        if row.known[0] < row.blocks {
            let lost = row.lost.as_deref().unwrap_or_default();
            println!(
                "{:<60} {:>4} {:>4} of {:>4} blocks known {lost}",
                row.launch, row.known[0], row.known[1], row.blocks
            );
        }
        if let Some(lost) = &row.lost {
            *self.lost.entry(lost.clone()).or_default() += 1;
        }
    }

    fn print(&self) {
        println!(
            "{} launches, {} rounds of {ROUND} variations: {} compared runs, {} known counts equal, {} unknown, {} wrong",
            self.launches,
            self.rounds.saturating_sub(1),
            self.runs,
            self.right,
            self.unknown,
            self.wrong
        );
        for (number, contents) in ["any contents", "contents as given"]
            .into_iter()
            .enumerate()
        {
            println!(
                "launches as given, {contents}: {} wholly known; {} of {} blocks known; {} of {} kernels wholly known in all launches",
                self.whole_launches[number],
                self.known[number],
                self.blocks,
                self.kernels.len() - self.partial[number].len(),
                self.kernels.len()
            );
        }
        let [partial, _] = &self.partial;
        println!(
            "{} of the {} kernels that are not wholly known for any contents have runs with the same numbers and other counts",
            partial.intersection(&self.differing).count(),
            partial.len()
        );
        for (why, launches) in &self.lost {
            println!("{launches} launches lost: {why}");
        }
        println!(
            "{:.1} s of predictions, {:.1} s of runs",
            self.predicting.as_secs_f64(),
            self.running.as_secs_f64()
        );
    }
}

/// Compares the times of a prediction and a run of nbody with 2^20 threads.
fn speed(repository: &Repository, cubins: &CubinFolder) -> anyhow::Result<()> {
    let name = "nbody.nbody_advance.1.toml";
    let committed = CommittedLaunch::read(repository, name, cubins)?;
    let CommittedLaunch { mut launch, cubin } = committed.context("no cubin")?;
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
    let prediction = predict(&session, &prepared, &launch, &PredictOptions::default())?;
    let predicting = start.elapsed();
    let start = Instant::now();
    let order = PathOrder::TakenFirst;
    let counts = counts_of_run(&session, &prepared, &launch, order, u64::MAX);
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
