//! Report of a prediction: the counts of blocks, totals, and for each unknown count the operations that make it
//! unknown. A total is only stated if each part of it is known.

use std::collections::{BTreeMap, BTreeSet};

use crate::predict::intervals::count_intervals;
use crate::predict::paper::predict_by_paper;
use crate::predict::predict;
use warpbound_analyse::blocks::Block;
use warpbound_analyse::determinacy::{Determinacy, Determined, Origins};
use warpbound_analyse::launch_profile::NoProfileReason;
use warpbound_base::{Diagnostic, Named};
use warpbound_ir::{Op, OpIndex, ValueDependence};
use warpbound_isa::instr::MemorySpace;
use warpbound_isa::nvidia::WARP_LANES;
use warpbound_launch::LaunchFile;
use warpbound_load::Kernel;
use warpbound_report::predict::{
    LostReport, PaperCountReport, PredictReport, PredictedBlockReport, ReasonReport, TotalRanges,
};

use super::intervals::CountIntervals;
use super::paper::{PaperPrediction, RuleCount};
use super::{PredictOptions, PredictedCount, Prediction};
use warpbound_query::{Prepared, Session};
use warpbound_runs::metrics::space_of;

/// Reports the predicted counts of a kernel in a launch.
///
/// # Errors
///
/// As [`predict`].
pub fn predict_report(
    session: &Session,
    kernel: &Kernel,
    launch: &LaunchFile,
    options: &PredictOptions,
) -> Result<PredictReport, Diagnostic> {
    let prepared = session.prepare(kernel)?;
    let prediction = predict(session, &prepared, launch, options)?;
    // Without the graph of a thread, the reasons are addresses only.
    let determinacy = session.determinacy(&prepared).ok();
    let ranges = (options.ranges && !prediction.is_whole())
        .then(|| count_intervals(session, &prepared, launch, &prediction));
    let (ranges, no_ranges) = match ranges {
        Some(Ok(ranges)) => (Some(ranges), None),
        Some(Err(why)) => (None, Some(why.message)),
        None => (None, None),
    };
    let paper = options
        .by_paper
        .then(|| predict_by_paper(session, &prepared, launch, options));
    let writer = PredictionWriter {
        prepared: &prepared,
        prediction: &prediction,
        determinacy: determinacy.as_ref(),
        ranges: ranges.as_ref(),
        paper: paper.transpose()?,
    };
    let blocks = writer.blocks();
    let total = |part: &dyn Fn(&PredictedBlockReport) -> Option<u64>| -> Option<u64> {
        // One unknown part makes the total unknown.
        let mut parts = blocks.iter().map(part);
        parts.try_fold(0u64, |sum, part| sum.checked_add(part?))
    };
    let issued = total(&|block| block.issues?.checked_mul(block.instructions));
    let lanes = total(&|block| block.lanes?.checked_mul(block.instructions));
    let accesses = total(&|block| block.issues?.checked_mul(block.memory_instructions));
    // The space of generic addresses is not predicted, so the total is known only if no instruction that has one is
    // executed.
    let accesses = accesses.filter(|_| !writer.executes_generic());
    let share = |part: Option<u64>, all: Option<u64>, scale: f64| {
        let (part, all) = (part?, all.filter(|&all| all > 0)?);
        Some(part as f64 / (scale * all as f64))
    };
    Ok(PredictReport {
        schema: PredictReport::SCHEMA,
        file: session.file.clone(),
        kernel: kernel.demangled(),
        grid: launch.grid,
        block: launch.block,
        contents: options.contents.name(),
        buffers: prediction.buffers.clone(),
        assumptions: prediction.assumptions.clone(),
        groups_join_elsewhere: prediction.groups_join_elsewhere,
        warps: prediction.warps,
        executed: prediction.executed,
        lost: writer.lost(),
        reasons: writer.reasons(),
        ranges: ranges.as_ref().map(|ranges| {
            TotalRanges::new(ranges.issued, ranges.lanes, ranges.accesses, WARP_LANES)
        }),
        no_ranges,
        issued: issued.filter(|_| prediction.is_whole()),
        lanes: lanes.filter(|_| prediction.is_whole()),
        activity_factor: share(lanes, issued, f64::from(WARP_LANES)),
        memory_intensity: share(accesses, issued, 1.0),
        blocks,
    })
}

/// Writer of the parts of the report.
struct PredictionWriter<'a> {
    prepared: &'a Prepared<'a>,
    prediction: &'a Prediction,
    determinacy: Option<&'a Determinacy>,
    ranges: Option<&'a CountIntervals>,
    paper: Option<PaperPrediction>,
}

impl PredictionWriter<'_> {
    fn blocks(&self) -> Vec<PredictedBlockReport> {
        let blocks = (0..self.prediction.blocks.len()).map(|index| {
            let block = self.prediction.blocks.get(index);
            let unknown = PredictedCount::default();
            let count = self.prediction.counts.get(&block.first);
            self.block(block, count.unwrap_or(&unknown))
        });
        blocks.collect()
    }

    /// Whether some instruction with a generic address may be executed.
    fn executes_generic(&self) -> bool {
        let mut blocks =
            (0..self.prediction.blocks.len()).map(|index| self.prediction.blocks.get(index));
        blocks.any(|block| {
            let count = self.prediction.counts.get(&block.first);
            // A block without a known count may be executed.
            let is_executed = count.is_none_or(|count| count.issues != Some(0));
            let mut ops = block.ops();
            is_executed && ops.any(|at| space_of(self.prepared, at) == Some(MemorySpace::Generic))
        })
    }

    fn block(&self, block: Block, count: &PredictedCount) -> PredictedBlockReport {
        let at = self.prepared.addr(block.first);
        let ops = block.ops().filter_map(|at| self.prepared.code.get(at));
        let ranges = self.ranges.and_then(|all| all.blocks.get(&block.first));
        let [issues_range, lanes_range] = match ranges {
            Some(&[issues, lanes]) => [Some(issues), Some(lanes)],
            None => [None, None],
        };
        PredictedBlockReport {
            at: self.prepared.location(block.first),
            last: self.prepared.last_location(block),
            source: self.prepared.source(at),
            function: self.prepared.function(at),
            instructions: block.instructions,
            memory_instructions: ops.filter(|op| accesses_global_memory(op)).count() as u64,
            issues: count.issues,
            lanes: count.lanes,
            issues_range: issues_range.filter(|_| count.issues.is_none()),
            lanes_range: lanes_range.filter(|_| count.lanes.is_none()),
            unknown_at: self.locations(&count.unknown_at),
            paper: self.paper_count(block.first),
        }
    }

    /// Returns the verdict of the paper's rule on a block.
    fn paper_count(&self, first: OpIndex) -> Option<PaperCountReport> {
        let paper = self.paper.as_ref()?;
        let (rule, stated) = match *paper.blocks.get(&first)? {
            RuleCount::Measured => ("measured", None),
            RuleCount::Undecided => ("undecided", None),
            RuleCount::Stated { issues, lanes } => ("stated", Some((issues, lanes))),
        };
        Some(PaperCountReport {
            rule,
            issues: stated.map(|(issues, _)| issues),
            lanes: stated.map(|(_, lanes)| lanes),
            wrong: paper.wrong(self.prediction).any(|wrong| wrong == first),
        })
    }

    fn locations(&self, ops: &BTreeSet<OpIndex>) -> Vec<String> {
        ops.iter().map(|&at| self.prepared.location(at)).collect()
    }

    fn reasons(&self) -> Vec<ReasonReport> {
        let counts = self.prediction.counts.values();
        let all: BTreeSet<OpIndex> = counts
            .flat_map(|count| count.unknown_at.iter().copied())
            .collect();
        all.into_iter().map(|at| self.reason(at)).collect()
    }

    fn reason(&self, at: OpIndex) -> ReasonReport {
        let found = self.determinacy.and_then(|all| all.branches.get(&at));
        let unknown = Determined::default();
        let found = found.unwrap_or(&unknown);
        // Origins are ordered by when they become known, so the last one explains why the value is unknown.
        let chain = last_origin(&found.chains).map_or(Vec::new(), |chain| {
            chain
                .iter()
                .map(|link| self.prepared.location(link.at))
                .collect()
        });
        ReasonReport {
            at: self.prepared.location(at),
            instruction: self.prepared.program.text(at.index()).unwrap_or_default(),
            source: self.prepared.source(self.prepared.addr(at)),
            origins: found.origins.names().collect(),
            loads: self.locations(&found.loads.ops),
            more_loads: found.loads.are_more,
            chain,
        }
    }

    fn lost(&self) -> Option<LostReport> {
        let (place, why) = self.prediction.lost?;
        Some(LostReport {
            block: place.block,
            warp: place.warp,
            at: self.prepared.location(why.at),
            reason: reason_text(why.reason),
        })
    }
}

/// Returns the links of the origin that becomes known last.
fn last_origin<T>(chains: &BTreeMap<Origins, T>) -> Option<&T> {
    chains.last_key_value().map(|(_, chain)| chain)
}

/// Whether an instruction accesses global memory, in the sense of `efficient-instrumentation-2014`.
pub(crate) fn accesses_global_memory(op: &Op) -> bool {
    let is_global = |space| matches!(space, MemorySpace::Global | MemorySpace::Generic);
    match &op.meaning {
        Some(meaning) => meaning
            .accesses()
            .iter()
            .any(|access| is_global(access.space)),
        // Of an operation without a meaning only loads show their space.
        None => matches!(op.value, ValueDependence::Load(space) if is_global(space)),
    }
}

fn reason_text(reason: NoProfileReason) -> &'static str {
    match reason {
        NoProfileReason::Unsupported => "an operation that predictions do not follow",
        NoProfileReason::IndirectJump => "an indirect jump whose targets are unknown",
        NoProfileReason::Decisions => "unknown values decide too often",
        NoProfileReason::Steps => "too many operations",
        NoProfileReason::StackHeight => "too many stack entries",
        NoProfileReason::TimeLimit => "the time limit has passed",
        NoProfileReason::Outdated => "buffers that were read are written",
    }
}
