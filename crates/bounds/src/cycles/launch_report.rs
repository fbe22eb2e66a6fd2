//! Report of the bound of a launch.

use warpbound_base::{Diagnostic, Named};
use warpbound_ipet::{BlockChain, LaunchShape, LaunchTerm, SchedulerClass};
use warpbound_query::AnalysedKernel;
use warpbound_report::BoundAssumption;
use warpbound_report::cycle_bound::{CtaEstimate, CycleBoundReport, CycleTerm, LaunchShapeReport};

use super::bound::{lines, reason};
use super::clock::{slowest, times};
use super::{CycleOptions, LaunchCycles, LaunchExtent, TimeScope};
use crate::bound::profile_report::contents_assumption;

/// Bound of a launch, and the launch that it is for.
pub(crate) struct BoundedLaunch {
    pub(crate) cycles: LaunchCycles,
    pub(crate) shape: LaunchShape,
    pub(crate) chain: BlockChain,
    /// Names of the buffers whose contents the bound rests on.
    pub(crate) read: Vec<String>,
    /// Reason why the warps of the launch were not executed for the bound, if they were to be.
    pub(crate) not_executed: Option<String>,
    /// Estimate by abstract CTA simulation, or the reason why it does not apply; `None` for waves.
    pub(crate) estimate: Option<Result<CtaEstimate, String>>,
}

/// Returns the report of the bound of a launch, or of the reason why it has none.
pub(crate) fn launch_report(
    analysed: AnalysedKernel<'_>,
    options: &CycleOptions,
    extent: LaunchExtent,
    found: Result<BoundedLaunch, Diagnostic>,
) -> CycleBoundReport {
    let limit = found.as_ref().ok();
    let limit = limit.map(|found| found.cycles.bound.upper_bound().limit().0);
    let of_launch = |found: &BoundedLaunch| LaunchShapeReport {
        blocks: found.shape.blocks,
        warps: found.shape.warps,
        sms: found.shape.sms,
        resident: found.shape.resident.into(),
        chain: match found.chain {
            BlockChain::OneWarp => "one-warp",
            BlockChain::Aligned => "aligned-barriers",
            BlockChain::AllWarps => "all-warps",
        },
    };
    let terms = |found: &BoundedLaunch| {
        let term = |&term: &LaunchTerm| CycleTerm {
            name: term.name(),
            cycles: found.cycles.bound.term(term),
        };
        LaunchTerm::ALL.iter().map(term).collect()
    };
    let estimate = found.as_ref().ok().and_then(|found| found.estimate.clone());
    let (estimate, no_estimate) = match estimate {
        Some(Ok(estimate)) => (Some(estimate), None),
        Some(Err(why)) => (None, Some(why)),
        None => (None, None),
    };
    let times = limit.map_or(Vec::new(), |cycles| times(&options.machine, cycles));
    let mut assumptions = options.assumptions(analysed);
    // The warps of a launch do not run alone.
    assumptions.retain(|own| own.id != "lone-warp");
    assumptions.splice(0..0, of_launches(extent));
    let read = found.as_ref().map_or(&[][..], |found| &found.read);
    assumptions.extend(contents_assumption(read));
    CycleBoundReport {
        scope: extent.scope.name(),
        bound: limit,
        reason: found.as_ref().err().map(reason),
        milliseconds: slowest(&times),
        times,
        machine: Some(options.machine.name.clone()),
        schedulers: extent.schedulers.name(),
        caches: options.caches.name(),
        launch: found.as_ref().ok().map(of_launch),
        estimate,
        no_estimate,
        not_executed: found
            .as_ref()
            .ok()
            .and_then(|found| found.not_executed.clone()),
        terms: found.as_ref().map_or(Vec::new(), terms),
        lines: found.as_ref().map_or(Vec::new(), |found| {
            let cycles = found.cycles.instructions.iter();
            lines(analysed.prepared, cycles.copied())
        }),
        numbers: options.unpublished(),
        assumptions,
    }
}

/// Returns the assumptions that take the place of `lone-warp` for a launch.
fn of_launches(extent: LaunchExtent) -> Vec<BoundAssumption> {
    let scope = match extent.scope {
        TimeScope::Grid => "no other kernel runs on the GPU",
        TimeScope::Sm => "no other kernel and no other SM uses the GPU",
        TimeScope::Warp | TimeScope::Block => "no other block and no other kernel runs on the GPU",
    };
    let all = [
        ("no-other-kernel", scope),
        (
            "scheduler-class",
            match extent.schedulers {
                SchedulerClass::WorkConserving => {
                    "each scheduler issues an instruction in every cycle in which one of its warps is ready: any policy \
                     but run-to-barrier"
                }
                SchedulerClass::Any => {
                    "each scheduler issues an instruction in every cycle in which one of its warps is ready, or in which \
                     the one that it follows until it ends or waits at a barrier is"
                }
            },
        ),
        (
            "gap-free",
            "units, ports, slices and buses never idle while a request waits, as in the timing model",
        ),
    ];
    let all = all.map(|(id, text)| BoundAssumption {
        id,
        text: text.to_owned(),
    });
    all.into()
}
