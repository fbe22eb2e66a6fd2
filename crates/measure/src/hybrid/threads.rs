//! Hybrid analysis from time stamps in the code: instrumented kernels keep the largest time of each step of a thread,
//! and the result is the path of a thread with the largest sum. A warp ends with its last thread, so this is an
//! estimate for warps as well. It is no bound (SOUNDNESS 13).

use std::collections::BTreeMap;

use std::sync::Arc;
use warpbound_base::{CodeAddr, Diagnostic};
use warpbound_bounds::bound::flow_facts;
use warpbound_ipet::StatedCounts;
use warpbound_ir::OpIndex;
use warpbound_launch::LaunchFile;
use warpbound_load::Kernel;
use warpbound_report::WarpHybridReport;
use warpbound_report::warp_hybrid::StampEffect;
use warpbound_rewrite::probes::stamps::stamp_counter;

use super::segments::{EstimatedUnit, Segment, SegmentEstimate, SegmentTimes};
use super::{HybridOptions, bound_options};
use crate::{StampPlan, StampTimes};
use warpbound_query::{AnalysedKernel, KernelAnalysis, Prepared, Session};

/// Estimates the time of a thread, from its first stamp to its exit, from the times that the stamps of `plan` kept.
/// Loop bounds are for `launch`, if it is given.
///
/// # Errors
///
/// The plan is for other code, the control flow of the kernel cannot be followed, or a time is of a step that the
/// control-flow graph does not have.
pub fn hybrid_of_stamps(
    session: &Session,
    kernel: &Kernel,
    plan: &StampPlan,
    times: &StampTimes,
    launch: Option<&LaunchFile>,
    options: &HybridOptions,
) -> Result<WarpHybridReport, Diagnostic> {
    let locate = |d: Diagnostic| session.locate(d.in_kernel(kernel.demangled()));
    let digest = kernel.code_digest();
    if plan.code != digest {
        let message = format!("the stamps are for code {}, this is {digest}", plan.code);
        return Err(locate(Diagnostic::new(message)));
    }
    let prepared = Arc::new(session.prepare_measured(kernel)?);
    let bound_options = bound_options(launch, options);
    let analysis = KernelAnalysis::new(session, Arc::clone(&prepared), &bound_options)?;
    let analysed = analysis.followed()?;
    let AnalysedKernel {
        knowledge, flow, ..
    } = analysed;
    let facts = flow_facts(analysed)?;
    let counts = flow.counts_of_thread(&knowledge.context);
    let segments = segments(&prepared, plan, times).map_err(locate)?;
    let estimate = SegmentEstimate {
        prepared: &prepared,
        flow,
        counts: &counts,
        // `never` statements are about the counts of warps. Leaving them out can only raise the result.
        facts: StatedCounts {
            never: &[],
            ..facts.stated()
        },
        segments: &segments,
        unit: EstimatedUnit::Thread,
    };
    estimate.check_steps().map_err(locate)?;
    let mut report = estimate.report()?;
    report.file = session.file.clone();
    // The first counter has the whole time of the slowest thread.
    report.observed = times.values.first().copied().unwrap_or(0);
    // This is no exact correction, but each stamp takes at least its issue distances (SOUNDNESS 13).
    let [point, _] = plan.cycles;
    report.stamps = Some(StampEffect {
        cycles: point,
        estimate_without: estimate.largest_without(u64::from(point)),
    });
    Ok(report)
}

/// Returns the steps that have a time.
fn segments(
    prepared: &Prepared<'_>,
    plan: &StampPlan,
    times: &StampTimes,
) -> Result<BTreeMap<Segment, SegmentTimes>, Diagnostic> {
    let points = plan.points.len();
    let op_at = |number: usize| -> Result<OpIndex, Diagnostic> {
        let addr = plan.points.get(number).copied().map(CodeAddr);
        let op = addr.and_then(|addr| prepared.code.at(addr));
        op.ok_or_else(|| Diagnostic::new("the stamps name no instruction of the kernel"))
    };
    let places: Vec<Option<usize>> = (0..points).map(Some).chain([None]).collect();
    let mut found = BTreeMap::new();
    for &from in &places {
        for &to in &places {
            let most = times.values.get(stamp_counter(points, from, to));
            let most = most.copied().unwrap_or(0);
            // The counter of a step that no thread took stays 0.
            if most > 0 {
                let segment = (from.map(op_at).transpose()?, to.map(op_at).transpose()?);
                found.insert(segment, SegmentTimes { passes: None, most });
            }
        }
    }
    Ok(found)
}
