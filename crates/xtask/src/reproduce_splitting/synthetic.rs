//! X1 and X6: kernels whose branches are conditions on the lane. Six nested levels of branches, and a short branch
//! before a long loop that reads memory.

use warpbound_query::{GpuModel, Parameter, Selection};

use warpbound_launch::LaunchFile;
use warpbound_testkit::kernels::TestLaunch;

use super::chart::{Chart, ChartSeries};
use super::estimates::{EstimateCase, measure};
use super::runs::{RunConfiguration, RunSplitting};
use super::{Bench, ExperimentOutcome, MACHINES};

/// Numbers of reserve slots of X1.
const SLOTS: [u32; 7] = [0, 1, 3, 7, 15, 31, 63];
/// Work-items of a group.
const GROUP: u32 = 256;
/// Iterations of the loop of X6.
const ROUNDS: usize = 64;

/// Groups of [`GROUP`] work-items that take all wave slots of a machine.
fn groups(machine: &str) -> anyhow::Result<u32> {
    let model = GpuModel::built_in(machine).map_err(|d| anyhow::anyhow!("{d}"))?;
    let numbers = model.select(Selection::Typical);
    let waves =
        numbers[Parameter::CuCount] * numbers[Parameter::CuSimds] * numbers[Parameter::SimdWaves];
    Ok(waves as u32 / (GROUP / 64))
}

/// Launch of a kernel of nested branches that fills a machine; `elements` of `in` are one for each work-item, or 64.
fn levels(kernel: &str, machine: &str, is_per_item: bool) -> anyhow::Result<LaunchFile> {
    let groups = groups(machine)?;
    let items = (groups * GROUP) as usize;
    let mut rng = fastrand::Rng::with_seed(20);
    let count = if is_per_item { items } else { 64 };
    let start: Vec<i32> = (0..count).map(|_| rng.i32(..)).collect();
    let launch = TestLaunch::of(kernel, [groups, 1, 1], [GROUP, 1, 1])
        .input("in", &start)
        .scratch("out", &vec![0i32; items]);
    Ok(launch.finish())
}

/// A series of X1.
#[derive(Clone, Copy)]
struct PathRuns {
    kernel: &'static str,
    machine: &'static str,
    selection: Selection,
    /// Whether reserve slots have registers of their own, as in 4.2.1. Otherwise the machine's number decides, and a
    /// SIMD without free registers refuses a split.
    has_registers: bool,
}

impl PathRuns {
    const fn of(kernel: &'static str, machine: usize, selection: Selection) -> PathRuns {
        PathRuns {
            kernel,
            machine: MACHINES[machine],
            selection,
            has_registers: true,
        }
    }
}

const LEVELS: [PathRuns; 6] = [
    PathRuns::of("split_paths", 0, Selection::Typical),
    PathRuns::of("split_paths", 0, Selection::Least),
    PathRuns::of("split_paths", 0, Selection::Most),
    PathRuns::of("split_levels", 0, Selection::Typical),
    PathRuns {
        has_registers: false,
        ..PathRuns::of("split_paths", 0, Selection::Typical)
    },
    PathRuns::of("split_paths", 1, Selection::Typical),
];

/// X1.
pub(super) fn paths(bench: &Bench<'_>) -> anyhow::Result<ExperimentOutcome> {
    let mut outcome = ExperimentOutcome::default();
    let count = if bench.is_quick { 1 } else { LEVELS.len() };
    for runs in LEVELS.into_iter().take(count) {
        runs.make(bench, &mut outcome)?;
    }
    Ok(outcome)
}

/// Times by number of reserve slots.
struct PathTimes {
    observed: Vec<Option<f64>>,
    computed: Vec<Option<f64>>,
    thesis: Vec<Option<f64>>,
    observed_serialised: Vec<Option<f64>>,
    computed_serialised: Vec<Option<f64>>,
}

impl PathRuns {
    /// Runs a kernel with each number of reserve slots, with both kinds of pipelines.
    fn make(self, bench: &Bench<'_>, outcome: &mut ExperimentOutcome) -> anyhow::Result<()> {
        let PathRuns {
            kernel,
            machine,
            selection,
            has_registers,
        } = self;
        let slots = if bench.is_quick {
            &SLOTS[..3]
        } else {
            &SLOTS[..]
        };
        let launch = levels(kernel, machine, kernel == "split_paths")?;
        let set = match has_registers {
            true => vec![(Parameter::SplitRegisters, 1)],
            false => Vec::new(),
        };
        let case = |&splits: &u32| EstimateCase {
            source: kernel,
            name: kernel.to_owned(),
            launches: vec![launch.clone()],
            configuration: RunConfiguration {
                selection,
                set: set.clone(),
                ..RunConfiguration::typical(machine, RunSplitting::parallel(splits))
            },
            is_serialised: true,
            contents: 0,
            loop_default: None,
        };
        let cases: Vec<EstimateCase> = slots.iter().map(case).collect();
        measure(bench, "X1", &cases)?;
        let registers = if has_registers {
            "own registers"
        } else {
            "registers of the SIMD"
        };
        let what = format!("{kernel} on {machine}, {selection} numbers, {registers}");
        let times = PathTimes::of(bench, &cases);
        times.table(&what, slots, outcome);
        for case in &cases {
            if let Err(why) = bench.measurements.get(&case.key()) {
                outcome.line(format!(
                    "  S = {}: {why}",
                    case.configuration.splitting.splits
                ));
            }
        }
        times.check(&what, slots, outcome);
        let kind = if has_registers { "" } else { "-shared" };
        let name = format!("x1-{kernel}-{machine}-{selection}{kind}");
        times.draw(bench, &what, &name, slots)
    }
}

impl PathTimes {
    fn of(bench: &Bench<'_>, cases: &[EstimateCase]) -> PathTimes {
        let number = |name: &str| -> Vec<Option<f64>> {
            let of = |case: &EstimateCase| bench.measurements.number(&case.key(), name);
            cases
                .iter()
                .map(|case| of(case).map(|n| n as f64))
                .collect()
        };
        let mut times = PathTimes {
            observed: number("observed"),
            computed: number("parallel"),
            thesis: number("thesis_parallel"),
            observed_serialised: number("observed_serialised"),
            computed_serialised: number("serialised"),
        };
        // Without splits, the pipelines are the same.
        if let (Some(first), Some(whole)) = (
            times.observed_serialised.first_mut(),
            times.observed.first(),
        ) {
            *first = *whole;
        }
        times
    }

    fn table(&self, what: &str, slots: &[u32], outcome: &mut ExperimentOutcome) {
        outcome.line(format!("{what}: cycles"));
        outcome.line("   S   observed  by (5.4)  thesis' own | serialised: observed  by (5.5)");
        for (at, splits) in slots.iter().enumerate() {
            let cell = |values: &[Option<f64>]| {
                let value = values.get(at).copied().flatten();
                value.map_or("-".to_owned(), |n| format!("{n}"))
            };
            outcome.line(format!(
                "  {splits:2} {:>10} {:>9} {:>12} | {:>20} {:>9}",
                cell(&self.observed),
                cell(&self.computed),
                cell(&self.thesis),
                cell(&self.observed_serialised),
                cell(&self.computed_serialised),
            ));
        }
    }

    fn check(&self, what: &str, slots: &[u32], outcome: &mut ExperimentOutcome) {
        let is_covered = is_below(&self.observed, &self.computed);
        outcome.require(format!("{what}: observed <= (5.4)"), is_covered);
        let is_covered = is_below(&self.observed_serialised, &self.computed_serialised);
        outcome.require(format!("{what}: observed <= (5.5)"), is_covered);
        outcome.expect(
            format!("{what}: observed falls with S"),
            falls(&self.observed),
        );
        outcome.expect(format!("{what}: (5.4) falls with S"), falls(&self.computed));
        let places: Vec<f64> = slots.iter().map(|&splits| f64::from(splits)).collect();
        let linear = correlation(&places, &self.computed_serialised);
        outcome.expect(
            format!("{what}: correlation of (5.5) with S {linear:.4} is at least 0.98"),
            linear >= 0.98,
        );
    }

    fn draw(&self, bench: &Bench<'_>, what: &str, name: &str, slots: &[u32]) -> anyhow::Result<()> {
        let series = |name: &str, values: &[Option<f64>]| ChartSeries {
            name: name.to_owned(),
            values: values.to_vec(),
        };
        let mut chart = Chart {
            head: vec![format!("{what} (as Figure 6.2a)")],
            axis: "cycles".to_owned(),
            categories: slots.iter().map(|splits| format!("S={splits}")).collect(),
            series: vec![
                series("observed", &self.observed),
                series("computed (5.4)", &self.computed),
            ],
            is_lines: false,
            level: None,
        };
        bench.draw(&format!("{name}-a"), &chart)?;
        chart.head = vec![format!("{what} (as Figure 6.2b)")];
        chart.series.extend([
            series("observed, serialised", &self.observed_serialised),
            series("computed, serialised (5.5)", &self.computed_serialised),
        ]);
        bench.draw(&format!("{name}-b"), &chart)
    }
}

/// X6.
pub(super) fn tail(bench: &Bench<'_>) -> anyhow::Result<ExperimentOutcome> {
    let mut outcome = ExperimentOutcome::default();
    let machine = MACHINES[0];
    let groups = if bench.is_quick { 2 } else { groups(machine)? };
    let items = (groups * GROUP) as usize;
    let mut rng = fastrand::Rng::with_seed(21);
    let table: Vec<i32> = (0..items * ROUNDS).map(|_| rng.i32(..)).collect();
    let launch = TestLaunch::of("split_tail", [groups, 1, 1], [GROUP, 1, 1])
        .input("table", &table)
        .scratch("out", &vec![0i32; items])
        .value("rounds", ROUNDS as i32)
        .finish();
    for merges in [false, true] {
        let case = |splits: u32| EstimateCase {
            source: "split_tail",
            name: format!("split_tail of {groups} groups"),
            launches: vec![launch.clone()],
            configuration: RunConfiguration::typical(
                machine,
                RunSplitting {
                    merges: merges && splits > 0,
                    ..RunSplitting::parallel(splits)
                },
            ),
            is_serialised: false,
            contents: 0,
            loop_default: None,
        };
        let cases: Vec<EstimateCase> = (0..=3).map(case).collect();
        measure(bench, "X6", &cases)?;
        let merging = if merges {
            "merging at joins"
        } else {
            "no merging"
        };
        outcome.line(format!("split_tail on {machine}, {merging}: cycles"));
        outcome.line("   S   observed  by (5.4) corrected  thesis' own");
        let number = |case: &EstimateCase, name: &str| bench.measurements.number(&case.key(), name);
        let whole = cases.first().and_then(|case| number(case, "observed"));
        for (splits, case) in cases.iter().enumerate() {
            let found = bench.measurements.get(&case.key());
            let numbers = match found {
                Ok(numbers) => numbers,
                Err(why) => {
                    outcome.line(format!("  {splits:2} {why}"));
                    outcome.require(format!("split_tail, {merging}, S = {splits} runs"), false);
                    continue;
                }
            };
            let of = |name: &str| numbers.get(name).copied().unwrap_or(0);
            outcome.line(format!(
                "  {splits:2} {:>10} {:>19} {:>12}",
                of("observed"),
                of("parallel"),
                of("thesis_parallel")
            ));
            outcome.require(
                format!("split_tail, {merging}, S = {splits}: observed <= corrected (5.4)"),
                of("observed") <= of("parallel"),
            );
            if splits > 0 && !merges {
                let is_slower = whole.is_some_and(|whole| of("observed") > whole);
                outcome.expect(
                    format!("split_tail, S = {splits}: slower than S = 0"),
                    is_slower,
                );
            }
        }
    }
    outcome.line("The thesis assumes (Lemma 5.2.1) that a wave is slowest where every mask is heterogeneous and that splitting");
    outcome.line("helps there; after the join both splits repeat the accesses of the loop, which share one memory unit.");
    Ok(outcome)
}

/// Whether all values are there, and none exceeds its limit.
pub(super) fn is_below(values: &[Option<f64>], limits: &[Option<f64>]) -> bool {
    let mut pairs = values.iter().zip(limits);
    pairs.all(|pair| matches!(pair, (Some(value), Some(limit)) if value <= limit))
}

/// Whether all values are there, none exceeds the one before it, and the last one is below the first.
fn falls(values: &[Option<f64>]) -> bool {
    let Some(values) = values.iter().copied().collect::<Option<Vec<f64>>>() else {
        return false;
    };
    let is_falling = values.windows(2).all(|pair| pair[1] <= pair[0]);
    is_falling && values.last() < values.first()
}

/// Coefficient of correlation; NaN if a value is missing.
fn correlation(xs: &[f64], ys: &[Option<f64>]) -> f64 {
    let ys: Vec<f64> = ys.iter().map(|y| y.unwrap_or(f64::NAN)).collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mean_x, mean_y) = (mean(xs), mean(&ys));
    let pairs = || xs.iter().zip(&ys).map(|(x, y)| (x - mean_x, y - mean_y));
    let sum = |of: fn((f64, f64)) -> f64| pairs().map(of).sum::<f64>();
    sum(|(x, y)| x * y) / (sum(|(x, _)| x * x) * sum(|(_, y)| y * y)).sqrt()
}
