//! Closed forms of counts: how often one thread executes each block, as a formula in indices, sizes and parameters
//! (SOUNDNESS 15.8). With a launch the report has the values of the formulas, and leaves out formulas that disagree
//! with the prediction. For example, a loop from 0 to a parameter `n` gives its body the formula `n`.

use crate::predict::refuse_prediction;
use warpbound_analyse::LaunchRanges;
use warpbound_analyse::count_formulas::{CountFormulas, FormulaLaunch, FormulaTotals};
use warpbound_analyse::divergence_by_agreement::has_pending_lanes;
use warpbound_base::Diagnostic;
use warpbound_bounds::profile::with_launch_values;
use warpbound_ir::OpIndex;
use warpbound_launch::LaunchFile;
use warpbound_load::Kernel;
use warpbound_report::count_formulas::{
    BlockFormulaReport, CountFormulaReport, FormulaLoopReport, FormulaValue, NoFormulaReport,
};

use super::{PredictOptions, PredictedCode, PredictedCount, Prediction};
use warpbound_query::{BoundOptions, KernelFlow, Prepared, Session};

/// Maximum number of atoms of words that are evaluated for the formula of one block in a launch.
const EVALUATION_STEPS: u64 = 50_000_000;

/// Control flow and names of a kernel, from which its formulas are found; they hold for all its launches.
pub struct FormulaInputs {
    flow: KernelFlow,
    ranges: LaunchRanges,
}

impl FormulaInputs {
    /// Finds the formulas of the counts of a kernel.
    pub fn find<'f>(&'f self, prepared: &'f Prepared<'_>) -> CountFormulas<'f> {
        let flow = &self.flow;
        let state = |node| flow.warp.state(node);
        CountFormulas::find(
            flow.thread.lane_code(&prepared.code),
            &flow.thread,
            flow.dependence(),
            &self.ranges,
            !flow.loops.shared_returns.is_empty(),
            // Where no live lane waits, each execution has all live lanes, so a warp executes the node as often as
            // its lane with most executions.
            &|node| state(node).is_some_and(|state| !has_pending_lanes(state)),
        )
    }
}

/// Analyses a kernel for formulas of its counts. Parameters have the names of a launch file, if one is given.
///
/// # Errors
///
/// The kernel is refused, or its instruction set is one that predictions do not cover.
pub fn formula_inputs(
    session: &Session,
    prepared: &Prepared<'_>,
    named_by: Option<&LaunchFile>,
) -> Result<FormulaInputs, Diagnostic> {
    refuse_prediction(session, prepared)?;
    let options = BoundOptions::default();
    let any = session.launch(prepared.kernel, &options)?;
    let mut named = options.clone();
    named.launches.file = named_by.map(|launch| launch.clone().into());
    let named = session.launch(prepared.kernel, &named)?;
    Ok(FormulaInputs {
        flow: session.flow(prepared, &any.context, &options)?,
        // Only the names of the launch are used, because formulas are for all launches.
        ranges: named.ranges.without_statements(),
    })
}

/// Evaluates the formulas of some blocks in a launch.
///
/// # Errors
///
/// The launch does not suit the kernel.
pub fn formula_totals(
    session: &Session,
    prepared: &Prepared<'_>,
    formulas: &CountFormulas<'_>,
    launch: &LaunchFile,
    blocks: &[OpIndex],
) -> Result<Vec<Option<FormulaTotals>>, Diagnostic> {
    let options = PredictOptions::default().limits(Default::default());
    let (totals, _) = with_launch_values(session, prepared, launch, &options, |values| {
        let launch = FormulaLaunch {
            grid: values.grid,
            block: values.block,
            constant: &|bank, address| (values.constant)(bank, address)?.whole(),
            steps: EVALUATION_STEPS,
        };
        let blocks = blocks.iter();
        blocks
            .map(|&block| formulas.totals(block, &launch))
            .collect()
    })?;
    Ok(totals)
}

/// Reports the formulas of the counts of a kernel. With a launch it also has their values, and no formula whose value
/// differs from the prediction.
///
/// # Errors
///
/// See [`formula_inputs`] and [`super::predict()`].
pub fn count_formula_report(
    session: &Session,
    kernel: &Kernel,
    launch: Option<&LaunchFile>,
    options: &PredictOptions,
) -> Result<CountFormulaReport, Diagnostic> {
    let prepared = session.prepare(kernel)?;
    let inputs = formula_inputs(session, &prepared, launch)?;
    let formulas = inputs.find(&prepared);
    let code = PredictedCode::find(session, &prepared)?;
    let blocks = &code.blocks;
    let all: Vec<OpIndex> = (0..blocks.len()).map(|at| blocks.get(at).first).collect();
    let checked = launch.map(|launch| {
        let prediction = code.predict(session, &prepared, launch, options)?;
        let totals = formula_totals(session, &prepared, &formulas, launch, &all)?;
        Ok::<_, Diagnostic>((prediction, totals))
    });
    let checked = checked.transpose()?;
    let writer = FormulaWriter {
        prepared: &prepared,
        formulas: &formulas,
    };
    let reports = all.iter().enumerate().map(|(at, &first)| {
        let value = checked.as_ref().map(|(prediction, totals)| {
            writer.value(first, prediction, totals.get(at).copied().flatten())
        });
        writer.block(blocks.get(at), value)
    });
    let reports: Vec<BlockFormulaReport> = reports.collect();
    Ok(CountFormulaReport {
        schema: CountFormulaReport::SCHEMA,
        file: session.file.clone(),
        kernel: kernel.demangled(),
        grid: launch.map(|launch| launch.grid),
        block: launch.map(|launch| launch.block),
        loops: writer.loops(&reports),
        blocks: reports,
        assumptions: match &checked {
            Some((prediction, _)) => prediction.assumptions.clone(),
            None => code.assumptions,
        },
    })
}

/// Writer of the parts of the report.
struct FormulaWriter<'w> {
    prepared: &'w Prepared<'w>,
    formulas: &'w CountFormulas<'w>,
}

impl FormulaWriter<'_> {
    /// Returns the value of the formula of a block in the launch, together with the prediction.
    fn value(
        &self,
        first: OpIndex,
        prediction: &Prediction,
        totals: Option<FormulaTotals>,
    ) -> FormulaValue {
        let unknown = PredictedCount::default();
        let count = prediction.counts.get(&first).unwrap_or(&unknown);
        let number = |count: u128| u64::try_from(count).ok();
        let (lanes, issues) = match totals {
            Some(totals) => (number(totals.lanes), totals.issues.and_then(number)),
            // No thread reaches the block.
            None if !self.formulas.blocks().contains_key(&first) => (Some(0), Some(0)),
            None => (None, None),
        };
        let by_sum = totals.and_then(|totals| totals.by_sum.and_then(number));
        let differs = |own: Option<u64>, predicted: Option<u64>| {
            own.zip(predicted)
                .is_some_and(|(own, predicted)| own != predicted)
        };
        FormulaValue {
            lanes,
            issues,
            predicted_lanes: count.lanes,
            predicted_issues: count.issues,
            // Only known numbers can disagree: a prediction that is unknown contradicts no formula.
            disagrees: differs(lanes, count.lanes)
                || differs(by_sum, lanes)
                || differs(issues, count.issues),
        }
    }

    fn block(
        &self,
        block: warpbound_analyse::blocks::Block,
        value: Option<FormulaValue>,
    ) -> BlockFormulaReport {
        let at = self.prepared.addr(block.first);
        let found = self.formulas.blocks().get(&block.first);
        let disagrees = value.as_ref().is_some_and(|value| value.disagrees);
        let without = match found {
            Some(Err(why)) => Some(NoFormulaReport {
                at: self.prepared.location(why.at),
                reason: why.reason.text().to_owned(),
            }),
            _ if disagrees => Some(NoFormulaReport {
                at: self.prepared.location(block.first),
                reason: "it is not what is predicted for this launch".to_owned(),
            }),
            _ => None,
        };
        let formula = match found {
            // No thread reaches the block.
            None => Some("0".to_owned()),
            Some(_) => self.formulas.text(block.first),
        };
        BlockFormulaReport {
            at: self.prepared.location(block.first),
            last: self.prepared.last_location(block),
            source: self.prepared.source(at),
            function: self.prepared.function(at),
            instructions: block.instructions,
            formula: formula.filter(|_| !disagrees),
            sum: self.formulas.sum_text(block.first).filter(|_| !disagrees),
            is_whole: found.is_none() || self.formulas.is_whole(block.first),
            loops: self.formulas.loops_of(block.first),
            without,
            value,
        }
    }

    /// Returns the loops that printed formulas mention.
    fn loops(&self, blocks: &[BlockFormulaReport]) -> Vec<FormulaLoopReport> {
        let loops = self.formulas.loops().into_iter();
        let used = loops.filter(|of| {
            let mut with = blocks.iter().filter(|block| block.formula.is_some());
            with.any(|block| block.loops.contains(&of.name))
        });
        used.map(|of| FormulaLoopReport {
            at: self.prepared.location(of.exit),
            source: self.prepared.source(self.prepared.addr(of.exit)),
            name: of.name,
            rounds: of.rounds,
            valid: of.valid,
        })
        .collect()
    }
}
