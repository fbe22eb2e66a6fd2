//! Intervals of counts that are not predicted: the smallest and the largest values that the count rows allow, given
//! the predicted counts. For example, if a block of 100 issues branches to B or C on loaded data, B and C have
//! between 0 and 100 issues each.

use std::collections::BTreeMap;

use warpbound_base::Diagnostic;
use warpbound_bounds::bound::bound;
use warpbound_ir::OpIndex;
use warpbound_isa::instr::MemorySpace;
use warpbound_launch::LaunchFile;
pub use warpbound_report::predict::CountRange;
use warpbound_simt::counts::CountVar;

use super::Prediction;
use super::report::accesses_global_memory;
use crate::probes::launched;
use crate::{
    measured_counts::feasibility::BlockSum, measured_counts::feasibility::LaunchSums,
    measured_counts::feasibility::SummedCounts, measured_counts::feasibility::SummedFacts,
};
use warpbound_query::{BoundOptions, Prepared, Session, StatedLaunches};
use warpbound_runs::metrics::space_of;

/// Ranges of the counts of a launch (SOUNDNESS 15.6).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CountIntervals {
    /// Executions and active lanes of each block that a thread may reach and that has no predicted count, by its
    /// first operation.
    pub blocks: BTreeMap<OpIndex, [CountRange; 2]>,
    /// Number of instructions issued by warps.
    pub issued: CountRange,
    /// Number of instructions summed over active lanes.
    pub lanes: CountRange,
    /// Number of instructions issued by warps that access global memory.
    pub accesses: CountRange,
}

/// Returns the ranges of the counts that a prediction leaves unknown, from the count rows and the predicted counts.
///
/// # Errors
///
/// The kernel is refused, or the predicted counts contradict the rows.
pub fn count_intervals(
    session: &Session,
    prepared: &Prepared<'_>,
    launch: &LaunchFile,
    prediction: &Prediction,
) -> Result<CountIntervals, Diagnostic> {
    let options = BoundOptions {
        launches: StatedLaunches::one(launch),
        ..BoundOptions::default()
    };
    let context = session.launch(prepared.kernel, &options)?.context;
    let flow = session.flow(prepared, &context, &options)?;
    // Without bounds, counts in loops have no upper limit; the other ranges still hold.
    let bound = bound(session, prepared.kernel, &options).ok();
    let loops = bound.as_ref().map_or(&[][..], |bound| &bound.loops);
    let facts = SummedFacts {
        bounds: loops.iter().map(|l| l.bound).collect(),
        totals: loops.iter().map(|l| l.total).collect(),
        never: Vec::new(),
    };
    let sizes = launched(launch, context.warp_width);
    let sums = LaunchSums {
        warps: sizes.map(|(warps, _)| warps),
        threads: sizes.map(|(_, threads)| threads),
    };
    let space = &flow.thread.space;
    let known = (0..space.blocks.len()).filter_map(|block| {
        let first = space.blocks.get(block).first;
        let count = prediction.counts.get(&first)?;
        Some(BlockSum {
            block,
            issues: count.issues,
            lanes: count.lanes,
        })
    });
    let lanes = context.live_lanes();
    let summed = SummedCounts::new(&flow, &facts, sums, lanes, known.collect());
    ranges(prepared, &flow, prediction, &summed, lanes)
}

/// Computes the ranges. A warp has at most `width` threads.
fn ranges(
    prepared: &Prepared<'_>,
    flow: &warpbound_query::KernelFlow,
    prediction: &Prediction,
    summed: &SummedCounts<'_>,
    width: u64,
) -> Result<CountIntervals, Diagnostic> {
    let space = &flow.thread.space;
    let mut forms: Vec<Vec<(CountVar, i64)>> = Vec::new();
    let mut unknown = Vec::new();
    // Forms of the issued instructions, the instructions of lanes, and the accesses.
    let mut has_generic = false;
    let mut totals: [Vec<(CountVar, i64)>; 3] = Default::default();
    for block in 0..space.blocks.len() {
        let code = space.blocks.get(block);
        let Some([warps, threads]) = summed.arrivals(block) else {
            continue;
        };
        let times = |vars: &[CountVar], factor: u64| -> Vec<(CountVar, i64)> {
            let factor = i64::try_from(factor).unwrap_or(i64::MAX);
            vars.iter().map(|&var| (var, factor)).collect()
        };
        let ops = code.ops().filter_map(|at| prepared.code.get(at));
        let accesses = ops.filter(|op| accesses_global_memory(op)).count() as u64;
        totals[0].extend(times(warps, code.instructions));
        totals[1].extend(times(threads, code.instructions));
        totals[2].extend(times(warps, accesses));
        has_generic |= code
            .ops()
            .any(|at| space_of(prepared, at) == Some(MemorySpace::Generic));
        let count = prediction.counts.get(&code.first);
        if count.is_none_or(|count| count.issues.is_none() || count.lanes.is_none()) {
            unknown.push(code.first);
            forms.push(times(warps, 1));
            forms.push(times(threads, 1));
        }
    }
    // The ranges are read below in the order of the forms: blocks first, then totals.
    forms.extend(totals);
    let mut found = summed.ranges(&forms)?.into_iter().map(|[least, most]| {
        let count = |limit: i128| u64::try_from(limit).ok();
        CountRange {
            // A count is never negative, so 0 is always a lower limit.
            least: least.and_then(count).unwrap_or(0),
            most: most.and_then(count),
        }
    });
    let mut next = || found.next().unwrap_or_default();
    // Where groups come together, a run executes less often than the rows say, but each lane is in some execution.
    let executions = |range: CountRange, lanes: CountRange| match prediction.groups_join_elsewhere {
        true => CountRange {
            least: lanes.least.div_ceil(width.max(1)),
            ..range
        },
        false => range,
    };
    let blocks = unknown.into_iter().map(|first| {
        let (issues, lanes) = (next(), next());
        (first, [executions(issues, lanes), lanes])
    });
    let blocks = blocks.collect();
    let (issued, lanes, accesses) = (next(), next(), next());
    // Possibly no instruction with a generic address accesses global memory. Where groups come together, nothing says at which
    // accesses they do.
    let may_be_none = has_generic || prediction.groups_join_elsewhere;
    Ok(CountIntervals {
        blocks,
        issued: executions(issued, lanes),
        lanes,
        accesses: CountRange {
            least: if may_be_none { 0 } else { accesses.least },
            ..accesses
        },
    })
}
