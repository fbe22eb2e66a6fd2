//! X8: batches of groups by the formula of the thesis and by the corrected one.

use warpbound_query::Parameter;
use warpbound_testkit::kernels::TestLaunch;

use super::estimates::{EstimateCase, measure};
use super::measurements::Numbers;
use super::runs::{RunConfiguration, RunSplitting};
use super::{Bench, ExperimentOutcome, MACHINES};

/// Numbers of groups.
const GROUPS: [u32; 14] = [1, 4, 5, 16, 17, 40, 41, 52, 53, 80, 81, 160, 161, 200];
/// Kernels of the source.
const KERNELS: [&str; 4] = ["batch_plain", "batch_lds", "batch_vgprs", "batch_sgprs"];
/// Rounds of their loops.
const ROUNDS: i32 = 100;

/// Case of a kernel with groups of a number of waves.
fn case(kernel: &str, waves: u32, groups: u32) -> EstimateCase {
    let items = (groups * waves * 64) as usize;
    let mut rng = fastrand::Rng::with_seed(22);
    let start: Vec<i32> = (0..items).map(|_| rng.i32(..)).collect();
    let launch = TestLaunch::of(kernel, [groups, 1, 1], [64 * waves, 1, 1])
        .input("in", &start)
        .scratch("out", &vec![0i32; items])
        .value("rounds", ROUNDS);
    EstimateCase {
        source: "batches",
        name: format!("{kernel}, {groups} groups of {waves} waves"),
        launches: vec![launch.finish()],
        // gem5's register files are larger than the hardware's, and never limit.
        configuration: RunConfiguration {
            set: vec![(Parameter::SimdVgprs, 256), (Parameter::SimdSgprs, 800)],
            ..RunConfiguration::typical(MACHINES[0], RunSplitting::parallel(0))
        },
        is_serialised: false,
        contents: 0,
        loop_default: None,
    }
}

/// Comparisons over all cases.
#[derive(Default)]
struct BatchComparison {
    count: usize,
    /// Cases without a result, and cases whose estimate is below the observed time.
    below: Vec<String>,
    /// Cases where (5.4), as in the thesis, is below the observed time.
    thesis_below: usize,
    /// Cases where the number of batches times the observed time of a full batch is below the observed time: with the
    /// number by (5.1), and with the corrected one.
    few_batches: [Vec<String>; 2],
    /// Estimates in relation to observed times.
    ratios: Vec<f64>,
}

/// X8.
pub(super) fn batches(bench: &Bench<'_>) -> anyhow::Result<ExperimentOutcome> {
    let groups = if bench.is_quick {
        &[5, 53][..]
    } else {
        &GROUPS[..]
    };
    let shapes = || {
        KERNELS
            .iter()
            .flat_map(|kernel| (1..=4).map(move |waves| (*kernel, waves)))
    };
    let of_shape = |(kernel, waves): (&'static str, u32)| -> Vec<EstimateCase> {
        groups
            .iter()
            .map(|&groups| case(kernel, waves, groups))
            .collect()
    };
    let all: Vec<Vec<EstimateCase>> = shapes().map(of_shape).collect();
    measure(bench, "X8", all.iter().flatten())?;
    // As many groups as the machine holds: a full batch.
    let full = |((kernel, waves), cases): ((&'static str, u32), &Vec<EstimateCase>)| {
        let key = cases.first()?.key();
        let resident = bench.measurements.number(&key, "resident")?;
        Some(case(kernel, waves, resident as u32))
    };
    let full: Vec<Option<EstimateCase>> = shapes().zip(&all).map(full).collect();
    measure(bench, "X8, full batches", full.iter().flatten())?;
    let mut comparison = BatchComparison::default();
    for (cases, full) in all.iter().zip(&full) {
        let full = full.as_ref();
        let batch = full.and_then(|case| bench.measurements.number(&case.key(), "observed"));
        for case in cases {
            match bench.measurements.get(&case.key()) {
                Ok(numbers) => comparison.add(case, &numbers, batch),
                Err(why) => comparison.below.push(format!("{}: {why}", case.name)),
            }
        }
    }
    Ok(comparison.outcome())
}

impl BatchComparison {
    fn add(&mut self, case: &EstimateCase, numbers: &Numbers, batch: Option<u64>) {
        let of = |name: &str| numbers.get(name).copied().unwrap_or(0);
        let (observed, computed) = (of("observed"), of("parallel"));
        self.count += 1;
        self.ratios.push(computed as f64 / observed as f64);
        if computed < observed {
            self.below.push(case.name.clone());
        }
        self.thesis_below += usize::from(of("thesis_parallel") < observed);
        let Some(batch) = batch else { return };
        let counts = [of("thesis_batches"), of("batches")];
        for (below, count) in self.few_batches.iter_mut().zip(counts) {
            // A part of a batch may be faster than a full one, and never counts more.
            if count * batch < observed {
                below.push(format!(
                    "{}: {count} x {batch} cycles, observed {observed}",
                    case.name
                ));
            }
        }
    }

    fn outcome(mut self) -> ExperimentOutcome {
        let mut outcome = ExperimentOutcome::default();
        self.ratios.sort_by(f64::total_cmp);
        let median = self
            .ratios
            .get(self.ratios.len() / 2)
            .copied()
            .unwrap_or(f64::NAN);
        outcome.line(format!(
            "  {} cases; hybrid estimate / observed: median {median:.3}; (5.4) as in the thesis is below the observed time in {}",
            self.count, self.thesis_below
        ));
        let [thesis, corrected] = &self.few_batches;
        outcome.line("  Batches times the observed time of a full batch, so that only the number of batches counts:");
        for (name, below) in [("by (5.1)", thesis), ("corrected", corrected)] {
            outcome.line(format!(
                "  {name}: below the observed time in {} cases",
                below.len()
            ));
            for line in below.iter().take(8) {
                outcome.line(format!("    {line}"));
            }
        }
        outcome.require(
            format!(
                "the corrected estimate is never below the observed time ({})",
                self.below.join("; ")
            ),
            self.below.is_empty(),
        );
        outcome.expect(
            "batches by (5.1) undershoot in at least one case",
            !thesis.is_empty(),
        );
        outcome.expect("corrected batches never undershoot", corrected.is_empty());
        outcome
    }
}
