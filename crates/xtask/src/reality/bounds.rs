//! Bounds in cycles of launches that a GPU ran.

use anyhow::{Context, bail};
use warpbound_launch::{LaunchFile, StartCaches};
use warpbound_machine::Parameter;
use warpbound_query::{
    BoundOptions, CacheState, Contents, CycleQuery, ProfiledLaunch, Session, StatedLaunches,
    TimeScope,
};

use super::{Model, ModelledLaunch};

/// Lanes of a warp.
const LANES: u64 = 32;

impl Model {
    /// Bound of a launch with the contents of its buffers and typical launch overhead: of its warp if it has one, else of the
    /// grid.
    pub(super) fn bound(&self, what: &ModelledLaunch<'_>) -> anyhow::Result<f64> {
        self.bound_with(what, Contents::AsGiven)
    }

    /// The same for any contents.
    pub(super) fn bound_of_any_contents(&self, what: &ModelledLaunch<'_>) -> anyhow::Result<f64> {
        self.bound_with(what, Contents::Any)
    }

    fn bound_with(&self, what: &ModelledLaunch<'_>, contents: Contents) -> anyhow::Result<f64> {
        let path = self.cubin(what.source)?;
        let session = Session::open(&path.display().to_string(), &std::fs::read(&path)?)?;
        let kernel = session.launched_kernel(what.kernel, what.launch.kernel.as_deref())?;
        // A launch file may be for each of several kernels of a source.
        let launch = LaunchFile {
            kernel: None,
            ..what.launch.clone()
        };
        let options = BoundOptions {
            launches: StatedLaunches::one(&launch),
            profiled_launch: Some(ProfiledLaunch {
                file: launch.clone(),
                contents,
            }),
            cycles: Some(CycleQuery {
                machine: Some(self.machine.clone()),
                caches: match what.caches {
                    StartCaches::Warm => CacheState::Warm,
                    // A flush leaves what the launch itself writes, so the caches are in no known state.
                    StartCaches::Cold => CacheState::Any,
                },
                scope: Some(match warps(what.launch) {
                    1 => TimeScope::Warp,
                    _ => TimeScope::Grid,
                }),
                ..CycleQuery::default()
            }),
            ..BoundOptions::default()
        };
        let report = warpbound_bounds::bound(&session, kernel, &options)?;
        let cycles = report.cycles.context("the kernel has no bound")?;
        let Some(bound) = cycles.bound else {
            bail!(cycles.reason.unwrap_or_default());
        };
        let overhead = self.machine.range(Parameter::LaunchKernel);
        Ok((bound - overhead.most + overhead.typical) as f64)
    }
}

/// Number of warps of a launch.
fn warps(launch: &LaunchFile) -> u64 {
    let product = |sizes: [u32; 3]| sizes.into_iter().map(u64::from).product::<u64>();
    product(launch.grid) * product(launch.block).div_ceil(LANES)
}
