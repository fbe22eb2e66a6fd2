//! Simulated cycles of kernels with probes of each kind, as the tables of `docs/efficient-instrumentation.md`.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use warpbound_base::Diagnostic;
use warpbound_launch::StartCaches;
use warpbound_machine::GpuModel;
use warpbound_measure::probes::{ProbeMetric, ProbedBlocks};
use warpbound_measure::{CounterKind, InstrumentOptions, ProbeOptions, instrument, probe_plan};
use warpbound_rewrite::probes::ProbeStyle;
use warpbound_runs::TimedOptions;

use crate::kernels::built::BuiltKernel;
use crate::probes::{ProbedKernel, ProbedTime, plain_cycles};

/// Kernels of table 1 of `efficient-instrumentation-2014`, with a launch of each.
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

/// Statements of the paper about its measurements (section 4).
pub const STATEMENTS: [&str; 4] = [
    "full instrumentation slows FastWalshTransform, LUD and NBody by 8 to 24 times",
    "BitonicSort, FastWalshTransform, MatrixTranspose and NBody need no probe",
    "selective instrumentation improves LUD, NearestNeighbor and Reduction by 5 to 38 %",
    "LUD improves most, by almost 38 %",
];

/// Kinds of probes: heading, blocks, realisation, counters, whether each probe has a counter, whether the plan knows
/// the launch.
pub const KINDS: [Kind; 9] = {
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

/// Cycles of a launch without probes and with each kind.
pub struct OverheadRow {
    name: String,
    activity: Option<f64>,
    cycles: u64,
    with: [Option<u64>; KINDS.len()],
    /// Number of probes of the plan.
    probes: usize,
}

impl OverheadRow {
    /// Returns the added cycles with a kind of probes, in percent of those without; `None` if the kernel is refused.
    pub fn overhead(&self, kind: usize) -> Option<f64> {
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
        format!("| {} |\n", cells.join(" | "))
    }

    /// Simulates a launch without probes and with each kind of them, and checks the counters.
    ///
    /// # Errors
    ///
    /// A run fails, or a counter has not the count of the run.
    fn measure(
        own: &BuiltKernel,
        number: u64,
        timed: &TimedOptions,
    ) -> Result<OverheadRow, Diagnostic> {
        let kernel = own.kernel()?;
        let prepared = own.session.prepare(kernel)?;
        let launch = (own.reference.launch)(number);
        let mut row = OverheadRow {
            name: format!("{}.{number}", own.reference.kernel),
            activity: None,
            cycles: plain_cycles(&own.session, &prepared, &launch, timed)?,
            with: [None; KINDS.len()],
            probes: 0,
        };
        for (kind, (_, rule, style, counters, each, knows_launch)) in KINDS.into_iter().enumerate()
        {
            let planned = knows_launch.then_some(&launch);
            let plan_options = ProbeOptions {
                each,
                ..ProbeOptions::for_launch(planned, rule, vec![ProbeMetric::Activity])
            };
            let plan = probe_plan(&own.session, kernel, &plan_options)?;
            let options = InstrumentOptions {
                style,
                counters,
                launch: planned.map(|launch| launch.clone().into()),
                ..InstrumentOptions::default()
            };
            let instrumented = instrument(&own.session, &own.contents, kernel, &plan, &options);
            let Ok(instrumented) = instrumented else {
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
                return Err(Diagnostic::new(format!("{rule:?} {style:?}: {problem}")));
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
}

/// Returns the options of the runs: jetson-tx2 with warm caches.
///
/// # Errors
///
/// The machine is not built in.
pub fn overhead_machine() -> Result<TimedOptions, Diagnostic> {
    Ok(TimedOptions {
        caches: Some(StartCaches::Warm),
        ..TimedOptions::new(GpuModel::built_in("jetson-tx2")?)
    })
}

/// Returns the launches of the paper's kernels among `kernels`.
pub fn paper_launches(kernels: &[BuiltKernel]) -> Vec<(&BuiltKernel, u64)> {
    let found = PAPER.iter().filter_map(|&(source, name, launch)| {
        let of = |own: &&BuiltKernel| {
            own.reference.source == source && own.reference.kernel.starts_with(name)
        };
        Some((kernels.iter().find(of)?, launch))
    });
    found.collect()
}

/// Simulates launches on all processors. Returns a row or the reason why there is none for each, in the order of the
/// launches.
pub fn overhead_rows(
    launches: &[(&BuiltKernel, u64)],
    timed: &TimedOptions,
) -> Vec<Result<OverheadRow, Diagnostic>> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some((own, launch)) = launches.get(number) else {
                        break;
                    };
                    let row = OverheadRow::measure(own, *launch, timed);
                    let named = |why: Diagnostic| {
                        let name = own.reference.kernel;
                        Diagnostic::new(format!("{name}.{launch}: {}", why.message))
                    };
                    let mut done = done
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner);
                    done.push((number, row.map_err(named)));
                }
            });
        }
    });
    let mut done = done
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, row)| row).collect()
}

/// Returns rows as a table in Markdown.
pub fn overhead_table(rows: &[OverheadRow]) -> String {
    let kinds = KINDS.iter().map(|(name, ..)| *name);
    let heading: Vec<&str> = ["launch", "activity", "cycles"]
        .into_iter()
        .chain(kinds)
        .chain(["probes"])
        .collect();
    let mut table = format!(
        "| {} |\n|{}\n",
        heading.join(" | "),
        "---|".repeat(heading.len())
    );
    for row in rows {
        table += &row.text();
    }
    table
}

/// Returns the median and the 90th percentile of the added cycles of each kind, a line each.
pub fn overhead_percentiles(rows: &[OverheadRow]) -> String {
    let lines = KINDS.iter().enumerate().map(|(kind, (name, ..))| {
        let mut overheads: Vec<f64> = rows.iter().filter_map(|row| row.overhead(kind)).collect();
        overheads.sort_by(f64::total_cmp);
        let at = |part: usize| overheads.get(overheads.len() * part / 100).copied();
        format!(
            "{name}: median {:+.1} %, p90 {:+.1} % of {}\n",
            at(50).unwrap_or(0.0),
            at(90).unwrap_or(0.0),
            overheads.len()
        )
    });
    lines.collect()
}
