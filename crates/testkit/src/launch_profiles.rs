//! Launch profiles against functional runs, warp by warp.

use std::collections::BTreeMap;

use warpbound_driver::{LaunchedWarp, NoProfile, Prepared, ProfileOptions, Session, WarpIssues};
use warpbound_isa::nvidia::WARP_LANES;
use warpbound_launch::{LaunchFile, PathOrder, bind};
use warpbound_load::Image;
use warpbound_simulate::functional::{ExecutionListener, Issue, launch_with_listener};

/// Instructions that each warp of a run issues.
#[derive(Clone, Debug, Default)]
struct IssueCounter {
    counts: BTreeMap<LaunchedWarp, u64>,
}

impl<E> ExecutionListener<E> for IssueCounter {
    fn issue(&mut self, issue: &Issue<'_, E>) -> bool {
        let warp = LaunchedWarp {
            block: issue.block,
            warp: issue.first_thread() / WARP_LANES,
        };
        *self.counts.entry(warp).or_default() += 1;
        true
    }
}

/// Profile of a warp beside what a run issued.
#[derive(Clone, Copy, Debug)]
pub struct ComparedWarp {
    /// The warp.
    pub warp: LaunchedWarp,
    /// Instructions that it issued.
    pub issued: u64,
    /// Its profile.
    pub profile: Result<WarpIssues, NoProfile>,
}

impl ComparedWarp {
    /// Whether the profile contradicts the run: it is smaller, or exact and different.
    pub fn is_wrong(&self) -> bool {
        match self.profile {
            Ok(WarpIssues { issues, exact }) => {
                issues < self.issued || exact && issues != self.issued
            }
            Err(_) => false,
        }
    }
}

/// Instructions that each warp of a launch issues in a functional run.
///
/// # Errors
///
/// The fault of a run that has one.
pub fn issued_by_warp(
    contents: &[u8],
    prepared: &Prepared<'_>,
    launch: &LaunchFile,
    order: PathOrder,
    max_instructions: u64,
) -> Result<BTreeMap<LaunchedWarp, u64>, String> {
    let image = Image::parse(contents).map_err(|why| why.to_string())?;
    let (run, mut memory) = bind(
        launch,
        &image,
        prepared.kernel,
        &prepared.code,
        order,
        max_instructions,
    )
    .map_err(|why| why.to_string())?;
    let mut counter = IssueCounter::default();
    match launch_with_listener(&prepared.code, &run, &mut memory, &mut counter) {
        Ok(_) => Ok(counter.counts),
        Err(fault) => Err(format!("{fault:?}")),
    }
}

/// Profiles each warp that a run of the launch has executed, and compares. After a warp without a profile, the others
/// have none: the launch has no bound.
///
/// # Errors
///
/// The launch does not suit the kernel.
pub fn compare(
    session: &Session,
    prepared: &Prepared<'_>,
    launch: &LaunchFile,
    options: &ProfileOptions,
    issued: &BTreeMap<LaunchedWarp, u64>,
) -> Result<Vec<ComparedWarp>, String> {
    let compared = session.with_launch_profiler(prepared, launch, options, |profiler| {
        let mut failed = None;
        let each = issued.iter().map(|(&warp, &issued)| {
            let profile = match failed {
                None => profiler.profile(warp),
                Some(why) => Err(why),
            };
            failed = profile.err();
            ComparedWarp {
                warp,
                issued,
                profile,
            }
        });
        each.collect()
    });
    let (compared, _) = compared.map_err(|why| why.to_string())?;
    Ok(compared)
}
