//! Report of the bound of a launch.

use warpbound_base::{Diagnostic, Named};
use warpbound_bound::{BlockChain, LaunchBound, LaunchShape, LaunchTerm};
use warpbound_machine::Parameter;
use warpbound_report::bound::BoundAssumption;
use warpbound_report::cycle_bound::{CycleBoundReport, CycleTerm, LaunchShapeReport};

use super::bound::reason;
use super::{CycleOptions, TimeScope};
use crate::prepared::Prepared;
use crate::{BoundOptions, Session};

/// Bound of a launch, and what it is of.
pub(crate) struct BoundedLaunch {
    pub(crate) bound: LaunchBound,
    pub(crate) shape: LaunchShape,
    pub(crate) chain: BlockChain,
}

/// Returns the report of the bound of a launch, or of the reason why it has none.
pub(crate) fn launch_report(
    _prepared: &Prepared<'_>,
    (session, options, scope): (&Session, &CycleOptions, TimeScope),
    bound_options: &BoundOptions,
    found: Result<BoundedLaunch, Diagnostic>,
) -> CycleBoundReport {
    let clock = options.machine.range(Parameter::Clock).least;
    let limit = found.as_ref().ok();
    let limit = limit.map(|found| found.bound.upper_bound().limit().0);
    let of_launch = |found: &BoundedLaunch| LaunchShapeReport {
        blocks: found.shape.blocks,
        warps: found.shape.warps,
        sms: found.shape.sms,
        resident: found.shape.resident.into(),
        chain: match found.chain {
            BlockChain::OneWarp => "one-warp",
            BlockChain::Aligned { .. } => "aligned-barriers",
            BlockChain::AllWarps => "all-warps",
        },
    };
    let terms = |found: &BoundedLaunch| {
        let term = |&term: &LaunchTerm| CycleTerm {
            name: term.name(),
            cycles: found.bound.term(term),
        };
        LaunchTerm::ALL.iter().map(term).collect()
    };
    let mut assumptions = options.assumptions(session, bound_options);
    assumptions.retain(|own| own.id != "lone-warp");
    assumptions.splice(0..0, of_launches(scope));
    CycleBoundReport {
        scope: scope.name(),
        bound: limit,
        reason: found.as_ref().err().map(reason),
        milliseconds: limit.map(|cycles| cycles as f64 / clock.max(1) as f64),
        machine: Some(options.machine.name.clone()),
        schedulers: "work-conserving",
        caches: options.caches.name(),
        launch: found.as_ref().ok().map(of_launch),
        terms: found.as_ref().map_or(Vec::new(), terms),
        lines: Vec::new(),
        numbers: options.unpublished(),
        assumptions,
    }
}

/// Returns what the bound of a launch rests on, besides what that of a lone warp does.
fn of_launches(scope: TimeScope) -> Vec<BoundAssumption> {
    let scope = match scope {
        TimeScope::Grid => "no other kernel runs on the GPU",
        TimeScope::Sm => "no other kernel and no other SM uses the GPU",
        TimeScope::Warp | TimeScope::Block => "no other block and no other kernel runs on the GPU",
    };
    let all = [
        ("no-other-kernel", scope),
        (
            "scheduler-class",
            "each scheduler issues an instruction in every cycle in which one of its warps is ready: any policy but \
             run-to-barrier",
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
