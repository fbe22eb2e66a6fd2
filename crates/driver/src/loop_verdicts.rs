//! Bounds of loops derived from the machine code, and their reports.

use warpbound_analyse::launch_ranges::LaunchRanges;
use warpbound_analyse::loop_bounds::{DerivedBound, LoopVerdict, WhyUnknown, derive};
use warpbound_base::{CodeAddr, Deadline};
use warpbound_report::derivation::{DecidingLoad, LoopDerivation, LoopEvidence};

use crate::prepared::Prepared;
use crate::{BoundOptions, FactReading, KernelFlow};

/// Verdicts on the loops of a kernel, by site; `None` where nothing was derived.
pub(crate) struct LoopVerdicts(Vec<LoopVerdict>);

impl LoopVerdicts {
    /// Derives bounds of loops, if the options ask for them. In the paper's reading, loop bounds are about warps, and
    /// derived ones are about threads.
    pub(crate) fn derive(
        prepared: &Prepared<'_>,
        flow: &KernelFlow,
        launch: &LaunchRanges,
        options: &BoundOptions,
        deadline: Deadline,
    ) -> LoopVerdicts {
        let is_derived = options.derive && options.reading == FactReading::Simt;
        match is_derived && !deadline.is_past() {
            true => LoopVerdicts(derive(&prepared.code, &flow.thread, &flow.loops, launch)),
            false => LoopVerdicts(Vec::new()),
        }
    }

    /// Returns the derived bound of a loop.
    pub(crate) fn bound(&self, site: usize) -> Option<&DerivedBound> {
        match self.0.get(site)? {
            LoopVerdict::Bounded(bound) => Some(bound),
            LoopVerdict::Unknown(_) => None,
        }
    }

    /// Returns the report of the derivation for a loop.
    pub(crate) fn derivation(&self, prepared: &Prepared<'_>, site: usize) -> LoopDerivation {
        let mut report = LoopDerivation::default();
        let place = |at: CodeAddr| (prepared.location_of(at), prepared.source(at));
        match self.0.get(site) {
            None => {}
            Some(LoopVerdict::Bounded(bound)) => {
                let evidence = &bound.evidence;
                let (exit, source) = place(evidence.exit);
                report.evidence = Some(LoopEvidence {
                    exit,
                    source,
                    pattern: evidence.pattern.name(),
                    start: evidence.start.clone(),
                    step: evidence.step.clone(),
                    limit: evidence.limit.clone(),
                });
            }
            Some(LoopVerdict::Unknown(WhyUnknown::Memory { load, .. })) => {
                let (load, source) = place(*load);
                report.decided_by = Some(DecidingLoad { load, source });
            }
            Some(LoopVerdict::Unknown(WhyUnknown::Parameter { name, .. })) => {
                report.parameter = Some(name.clone());
            }
            Some(LoopVerdict::Unknown(WhyUnknown::Pattern(reason))) => {
                report.reason = Some(reason.clone());
            }
        }
        report
    }
}
