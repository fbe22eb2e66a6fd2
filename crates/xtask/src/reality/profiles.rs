//! Cycles of kernels that a profiler counted.

use warpbound_launch::StartCaches;

use super::clocks::launch_of;
use super::{Comparisons, Model, ModelledLaunch, column, rows};

/// Column of the cycles of the SM that was busy longest: from its first block to the end of its last one.
const BUSIEST_SM: &str = "sm__cycles_active.max";

/// Compares the recorded launches of `kernels/launches` and of microbenchmarks; rows without a count and other launches are
/// left out.
pub(super) fn compare(
    model: &Model,
    text: &str,
    time: impl Fn(&Model, &ModelledLaunch<'_>) -> anyhow::Result<f64>,
) -> anyhow::Result<Comparisons> {
    let mut found = Comparisons::default();
    for row in rows(text) {
        let (name, caches) = (column(&row, "launch")?, column(&row, "caches")?);
        let Ok(recorded) = column(&row, BUSIEST_SM)?.parse() else {
            continue;
        };
        let launch = model.launch("launches", name);
        let Ok(launch) = launch.or_else(|_| launch_of(model, name)) else {
            continue;
        };
        let launch = ModelledLaunch {
            source: column(&row, "source")?,
            kernel: Some(column(&row, "kernel")?),
            launch: &launch,
            caches: match caches {
                "warm" => StartCaches::Warm,
                _ => StartCaches::Cold,
            },
        };
        found.add(&format!("{name} {caches}"), recorded, time(model, &launch));
    }
    Ok(found)
}
