//! Runs of the hybrid analysis: observed and computed times of a kernel.

use warpbound_measure::HybridOptions;

use warpbound_launch::LaunchFile;

use warpbound_query::Session;
use warpbound_report::hybrid::SplitEstimate;

use super::Bench;
use super::measurements::{Measured, Numbers, RunTask};
use super::runs::{RunConfiguration, session};

/// A kernel with launches, on a machine.
pub(super) struct EstimateCase {
    /// Source of the kernel.
    pub(super) source: &'static str,
    /// Name that distinguishes the launches from others of the experiments.
    pub(super) name: String,
    /// Launches whose traces are merged.
    pub(super) launches: Vec<LaunchFile>,
    /// Machine and splitting; its pipelines are set for each run.
    pub(super) configuration: RunConfiguration,
    /// Whether to run with serialised pipelines as well.
    pub(super) is_serialised: bool,
    /// Variations of the contents of each launch.
    pub(super) contents: u64,
    /// Bound of loops without a bound from the launch.
    pub(super) loop_default: Option<u64>,
}

impl EstimateCase {
    /// Key of the measurement.
    pub(super) fn key(&self) -> String {
        format!("hybrid {} {}", self.name, self.configuration.key())
    }
}

/// Makes the measurements of cases. Their numbers are the numbers of [`SplitEstimate`], as far as there are any, and
/// the number of `edges`, `seen` of them passed. If edges that were never passed have no time, `is_partial` is there,
/// and `parallel` is the estimate without them.
pub(super) fn measure<'a>(
    bench: &Bench<'_>,
    what: &str,
    cases: impl IntoIterator<Item = &'a EstimateCase>,
) -> anyhow::Result<()> {
    let mut tasks = Vec::new();
    for case in cases {
        let session = session(bench.repository, case.source)?;
        tasks.push(RunTask {
            key: case.key(),
            run: Box::new(move || estimate(&session, case)),
        });
    }
    bench.measurements.make(what, &tasks)
}

fn estimate(session: &Session, case: &EstimateCase) -> Measured {
    let mut options = HybridOptions::new(case.configuration.options().map_err(|d| d.message)?);
    options.splits = vec![case.configuration.splitting.splits];
    options.serialised = case.is_serialised;
    options.contents = case.contents;
    options.loop_default = case.loop_default;
    let kernel = case
        .launches
        .first()
        .and_then(|launch| launch.kernel.as_deref());
    let kernel = session
        .launched_kernel(None, kernel)
        .map_err(|d| d.message)?;
    let report = warpbound_measure::hybrid(session, kernel, &case.launches, &options, |_, _| {})
        .map_err(|d| d.message)?;
    let found = report.splits.first().ok_or("no estimate")?;
    let mut numbers = numbers_of(found);
    numbers.insert("resident".to_owned(), report.resident);
    numbers.insert("batches".to_owned(), report.batches);
    numbers.insert("thesis_batches".to_owned(), report.thesis_batches);
    Ok(numbers)
}

fn numbers_of(found: &SplitEstimate) -> Numbers {
    let seen = found.edges.iter().filter(|edge| edge.count > 0).count();
    let numbers = [
        ("observed", Some(found.observed)),
        ("observed_serialised", found.observed_serialised),
        ("parallel", found.parallel.or(found.parallel_of_seen)),
        ("is_partial", found.parallel.is_none().then_some(1)),
        ("serialised", found.serialised),
        ("thesis_parallel", found.thesis_parallel),
        ("edges", Some(found.edges.len() as u64)),
        ("seen", Some(seen as u64)),
        ("splits", Some(found.splits_taken)),
        ("merges", Some(found.merges)),
    ];
    let known = numbers.into_iter();
    known
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
}
