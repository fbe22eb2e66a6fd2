//! Warps of a run compared with the profile of its launch (SOUNDNESS 6.5).
//!
//! For example, an exact profile of 40 instructions is wrong for a warp that issues 39 or 41. A profile that is not
//! exact is wrong only for 41 or more.

use warpbound_analyse::launch_profile::{LaunchProfiler, LaunchedWarp, NoProfile, WarpIssues};
use warpbound_base::Diagnostic;
use warpbound_bounds::profile::with_launch_profiler;
use warpbound_ir::Code;
use warpbound_launch::{LaunchFile, PathOrder};
use warpbound_report::audit::Finding;
use warpbound_runs::runs::functional::fault_diagnostic;
use warpbound_simulate::functional::launch_monitored;

use super::{Audit, ClaimMonitor, Claims, MonitoredRun, StatedFacts, WorstWarp, warp_text};
use warpbound_bounds::{ProfileOptions, stated_loops};
use warpbound_query::{BoundOptions, FactReading, KernelFlow, Prepared, Session};

/// Ended warps of a run compared with their profiles.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ProfiledWarps {
    /// Warps that were compared.
    pub compared: u64,
    /// First warp whose profile does not hold, and the profile.
    pub wrong: Option<(WorstWarp, WarpIssues)>,
}

impl ProfiledWarps {
    /// Compares an ended warp with its profile: the warp issues at most as many instructions, and exactly as many if
    /// the profile is exact.
    pub fn add(&mut self, ended: WorstWarp, profile: WarpIssues) {
        self.compared += 1;
        let holds = match profile.exact {
            true => ended.issued == profile.issues,
            false => ended.issued <= profile.issues,
        };
        if !holds {
            self.wrong.get_or_insert((ended, profile));
        }
    }
}

/// Executes a launch like `monitor`, and compares each warp that ends with its profile. After a warp without a
/// profile no further ones are compared, because the launch has none.
///
/// # Errors
///
/// The launch does not suit the kernel.
pub fn monitor_with_profile(
    session: &Session,
    prepared: &Prepared<'_>,
    claims: &Claims<'_>,
    grid: &LaunchFile,
    order: PathOrder,
    max_instructions: u64,
    options: &ProfileOptions,
) -> Result<(MonitoredRun, ProfiledWarps), Diagnostic> {
    let compute = |profiler: &mut LaunchProfiler<'_>| {
        let (run, mut memory) = session.bind(prepared, grid, order, max_instructions)?;
        let mut compared = ProfiledWarps::default();
        let mut failed: Option<NoProfile> = None;
        let mut on_end = |ended: WorstWarp| {
            if failed.is_some() {
                return;
            }
            let warp = LaunchedWarp {
                block: ended.warp.block,
                warp: ended.warp.warp,
            };
            match profiler.profile(warp) {
                Ok(profile) => compared.add(ended, profile),
                Err(why) => failed = Some(why),
            }
        };
        let mut monitor = ClaimMonitor::new(claims).on_end(&mut on_end);
        let done = launch_monitored(&prepared.code, &run, &mut memory, &mut monitor);
        let run = MonitoredRun {
            observations: monitor.finish(),
            fault: done.err().map(|fault| fault_diagnostic(prepared, &fault)),
            memory,
        };
        Ok((run, compared))
    };
    let (result, _) = with_launch_profiler(session, prepared, grid, options, compute)?;
    result
}

/// Returns the options of the profile of the given launch, which is the one of `bound --launch`.
pub fn audited_profile(
    code: &Code,
    flow: &KernelFlow,
    stated: &StatedFacts,
    options: &BoundOptions,
) -> ProfileOptions {
    let loops = match options.reading {
        FactReading::Simt => stated_loops(flow, &stated.loops),
        // In this reading, facts bound loops of the warp-level graph and say nothing of one thread.
        FactReading::Paper => Vec::new(),
    };
    ProfileOptions {
        deadline: options.limits().deadline,
        transfers: flow.known_transfers(code),
        loops,
        ..ProfileOptions::default()
    }
}

impl Audit<'_> {
    /// Adds the comparison of the warps of a run with their profiles. Profiles hold under the facts, like the bound.
    pub(super) fn add_profiled(
        &mut self,
        run: u64,
        monitored: &MonitoredRun,
        warps: ProfiledWarps,
    ) {
        self.report.profiled += warps.compared;
        let Some((ended, profile)) = warps.wrong else {
            return;
        };
        // An exact profile rests on no fact (SOUNDNESS 6.5), so a violated fact does not excuse it.
        if !profile.exact && !self.stated.violated(&monitored.observations).is_empty() {
            return;
        }
        let most = if profile.exact { "exactly" } else { "at most" };
        let message = format!(
            "{} issued {} instructions, its profile says {most} {}",
            warp_text(ended.warp),
            ended.issued,
            profile.issues
        );
        self.findings
            .entry((1, 1, String::new()))
            .or_insert(Finding {
                claim: "profile",
                run,
                at: None,
                source: None,
                message,
            });
    }
}
