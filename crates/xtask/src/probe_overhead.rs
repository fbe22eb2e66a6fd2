//! `probe-overhead`: simulated cycles of instrumented kernels.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, bail};
use warpbound_driver::ProbeOptions;
use warpbound_driver::probes::{ProbeMetric, ProbedBlocks};
use warpbound_driver::{CounterKind, InstrumentOptions, ProbeStyle, TimedOptions};
use warpbound_testkit::probes::{ProbedKernel, ProbedTime, plain_cycles};

use crate::probe_check::{OwnKernel, own_kernels, timed_options};
use crate::repository::Repository;

pub(crate) const HELP: &str = "\
cargo xtask probe-overhead [--launches N] [--all] [SOURCE...]

Simulates kernels on jetson-tx2 with warm caches, without probes and with probes of each kind, and prints the cycles. The
first table has the seven kernels of the paper (efficient-instrumentation-2014, table 1); with --all a second one has all
launches of the repository's kernels, and the median and the 90th percentile of each column.

  --launches N   launches of each kernel of the second table (3)";

/// Kernels of the paper's table 1, with a launch of each.
const PAPER: [(&str, &str, u64); 9] = [
    ("nbody", "nbody::advance", 1),
    ("walsh_transform", "walsh_block", 1),
    ("transpose", "transpose", 1),
    ("bitonic_sort", "void bitonic::block<int>", 0),
    ("reduction", "reduction_tree", 0),
    ("reduction", "void reduction<int, 256>", 0),
    ("lud_diagonal", "lud_diagonal", 0),
    ("nearest_neighbour", "nearest_distances", 1),
    ("nearest_neighbour", "nearest_few", 1),
];

/// Kinds of probes: heading, blocks, realisation, counters, whether each probe has a counter, whether the plan knows the
/// launch.
const KINDS: [Kind; 9] = {
    use CounterKind::{Probes, Sums};
    use ProbeStyle::{Memory, Paper, PaperLocal, Registers};
    use ProbedBlocks::{All, Plan, Tainted};
    [
        ("paper local", All, PaperLocal, Sums, true, true),
        ("paper all", All, Paper, Sums, true, true),
        ("paper tainted", Tainted, Paper, Sums, true, true),
        ("memory all", All, Memory, Sums, true, true),
        ("registers all", All, Registers, Sums, true, true),
        ("registers tainted", Tainted, Registers, Sums, true, true),
        ("registers plan", Plan, Registers, Probes, true, true),
        ("sums without launch", Plan, Registers, Probes, false, false),
        ("sums plan", Plan, Registers, Probes, false, true),
    ]
};

/// Kind of probes.
type Kind = (
    &'static str,
    ProbedBlocks,
    ProbeStyle,
    CounterKind,
    bool,
    bool,
);

/// Cycles of a launch without probes and with each kind; probes of the plan.
struct Row {
    name: String,
    activity: Option<f64>,
    cycles: u64,
    with: [Option<u64>; KINDS.len()],
    probes: usize,
}

impl Row {
    fn overhead(&self, kind: usize) -> Option<f64> {
        let with = self.with.get(kind).copied().flatten()?;
        Some(100.0 * (with as f64 - self.cycles as f64) / self.cycles as f64)
    }

    fn text(&self) -> String {
        let overheads = (0..KINDS.len()).map(|kind| match self.overhead(kind) {
            Some(percent) => format!("{percent:+.1} %"),
            None => "refused".to_owned(),
        });
        let activity = match self.activity {
            Some(activity) => format!("{:.1} %", 100.0 * activity),
            None => "-".to_owned(),
        };
        let cells = [self.name.clone(), activity, self.cycles.to_string()];
        let probes = self.probes.to_string();
        let cells: Vec<String> = cells.into_iter().chain(overheads).chain([probes]).collect();
        format!("| {} |", cells.join(" | "))
    }
}

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let (mut launches, mut all, mut sources) = (3u64, false, Vec::new());
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--launches" => launches = rest.next().context("--launches without N")?.parse()?,
            "--all" => all = true,
            flag if flag.starts_with('-') => bail!("no option is called {flag:?}"),
            name => sources.push(name),
        }
    }
    let kernels = own_kernels(repository, "sm_61", &sources)?;
    let timed = timed_options()?;
    let mut tasks = Vec::new();
    for (source, name, launch) in PAPER {
        let of = |own: &&OwnKernel| {
            own.reference.source == source && own.reference.kernel.starts_with(name)
        };
        tasks.extend(kernels.iter().find(of).map(|own| (own, launch)));
    }
    print_table(&rows(&tasks, &timed));
    if all {
        let every = kernels
            .iter()
            .flat_map(|own| (0..launches).map(move |number| (own, number)));
        let rows = rows(&every.collect::<Vec<_>>(), &timed);
        println!();
        print_table(&rows);
        for (kind, (name, ..)) in KINDS.iter().enumerate() {
            let mut overheads: Vec<f64> =
                rows.iter().filter_map(|row| row.overhead(kind)).collect();
            overheads.sort_by(f64::total_cmp);
            let at = |part: usize| {
                overheads
                    .get(overheads.len() * part / 100)
                    .copied()
                    .unwrap_or(0.0)
            };
            println!(
                "{name}: median {:+.1} %, p90 {:+.1} % of {}",
                at(50),
                at(90),
                overheads.len()
            );
        }
    }
    Ok(())
}

fn print_table(rows: &[Row]) {
    let kinds = KINDS.iter().map(|(name, ..)| *name);
    let heading: Vec<&str> = ["launch", "activity", "cycles"]
        .into_iter()
        .chain(kinds)
        .chain(["probes"])
        .collect();
    println!("| {} |", heading.join(" | "));
    println!("|{}", "---|".repeat(heading.len()));
    for row in rows {
        println!("{}", row.text());
    }
}

/// Simulates launches on all processors; rows in the order of the tasks, those that fail left out with a message.
fn rows(tasks: &[(&OwnKernel, u64)], timed: &TimedOptions) -> Vec<Row> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some((own, launch)) = tasks.get(number) else {
                        break;
                    };
                    let row = row(own, *launch, timed);
                    let mut done = done
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner);
                    done.push((number, row));
                }
            });
        }
    });
    let mut done = done
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    let mut rows = Vec::new();
    for (number, row) in done {
        match (row, tasks.get(number)) {
            (Ok(row), _) => rows.push(row),
            (Err(error), Some((own, launch))) => {
                println!("{}.{launch}: {error}", own.reference.kernel);
            }
            (Err(error), None) => println!("{error}"),
        }
    }
    rows
}

fn row(own: &OwnKernel, number: u64, timed: &TimedOptions) -> anyhow::Result<Row> {
    let kernel = own.kernel()?;
    let prepared = own.session.prepare(kernel)?;
    let launch = (own.reference.launch)(number);
    let cycles = plain_cycles(&own.session, &prepared, &launch, timed)?;
    let mut row = Row {
        name: format!("{}.{number}", own.reference.kernel),
        activity: None,
        cycles,
        with: [None; KINDS.len()],
        probes: 0,
    };
    for (kind, (_, rule, style, counters, each, knows_launch)) in KINDS.into_iter().enumerate() {
        let planned = knows_launch.then_some(&launch);
        let plan_options = ProbeOptions {
            each,
            ..ProbeOptions::for_launch(planned, rule, vec![ProbeMetric::Activity])
        };
        let plan = own.session.probe_plan(kernel, &plan_options)?;
        let options = InstrumentOptions {
            style,
            counters,
            launch: planned.map(|launch| launch.clone().into()),
            ..InstrumentOptions::default()
        };
        let Ok(instrumented) = own
            .session
            .instrument(&own.contents, kernel, &plan, &options)
        else {
            continue;
        };
        let probed = ProbedKernel {
            original: &prepared,
            plan: &plan,
            counters,
            instrumented: &instrumented,
        };
        let run = probed.run(&launch, ProbedTime::Timed(timed))?;
        if let Some(problem) = run.problems().first() {
            bail!("{rule:?} {style:?}: {problem}");
        }
        if counters == CounterKind::Sums
            && rule == ProbedBlocks::All
            && let [active, all] = run.values[..]
        {
            row.activity = Some(active as f64 / all as f64);
        }
        if rule == ProbedBlocks::Plan && knows_launch {
            row.probes = plan.probes.len();
        }
        if let Some(with) = row.with.get_mut(kind) {
            *with = Some(run.cycles);
        }
    }
    Ok(row)
}
