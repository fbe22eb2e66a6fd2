//! Computation tree of `efficient-instrumentation-2014`: control statements and the blocks between them. For example,
//! an if without else has one statement with two edges, and only one of the edges contains the block of the if.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_analyse::blocks::Block;
use warpbound_analyse::determinacy::{Determinacy, Determined, Origins};
use warpbound_base::{ConstantBanks, Diagnostic, LaunchBlock};
use warpbound_ir::OpIndex;
use warpbound_launch::LaunchFile;
use warpbound_load::Kernel;
use warpbound_query::{Prepared, Session};
use warpbound_report::TreeReport;
use warpbound_report::predict_tree::{StatementReport, TreeEdgeReport};

use super::{PredictOptions, PredictedCode, Prediction};
use crate::predict::refuse_prediction;

/// Reports the computation tree of a kernel: its control statements with their symbolic conditions, and the blocks
/// between them; with a launch, also how often these run.
///
/// # Errors
///
/// The kernel is refused, or it cannot be predicted, see [`super::predict()`].
pub fn computation_tree(
    session: &Session,
    kernel: &Kernel,
    launch: Option<&LaunchFile>,
    options: &PredictOptions,
) -> Result<TreeReport, Diagnostic> {
    let prepared = session.prepare(kernel)?;
    let code = PredictedCode::find(session, &prepared)?;
    let prediction = launch.map(|launch| {
        refuse_prediction(session, &prepared)?;
        code.predict(session, &prepared, launch, options)
    });
    let prediction = prediction.transpose()?;
    let determinacy = session.determinacy(&prepared)?;
    let all = (0..code.blocks.len()).map(|index| code.blocks.get(index));
    let writer = TreeWriter {
        prepared: &prepared,
        prediction: prediction.as_ref(),
        tainted: determinacy.tainted_blocks(),
        blocks: all.map(|block| (block.first, block)).collect(),
        numbers: determinacy.branches.keys().copied().collect(),
        determinacy: &determinacy,
        launch_block: session.image.isa().launch_block(),
    };
    Ok(writer.report(kernel))
}

struct TreeWriter<'a> {
    prepared: &'a Prepared<'a>,
    prediction: Option<&'a Prediction>,
    determinacy: &'a Determinacy,
    tainted: BTreeSet<OpIndex>,
    /// Blocks by first operation.
    blocks: BTreeMap<OpIndex, Block>,
    /// Statements in order of address.
    numbers: Vec<OpIndex>,
    /// Layout of the constants of a launch.
    launch_block: Option<&'static LaunchBlock>,
}

impl TreeWriter<'_> {
    fn report(&self, kernel: &Kernel) -> TreeReport {
        let mut edges = vec![self.edge(None, self.prepared.code.entry)];
        for (number, at) in self.numbers.iter().enumerate() {
            let successors = self.determinacy.successors.get(at);
            let successors = successors.into_iter().flatten();
            edges.extend(successors.map(|&to| self.edge(Some(number), to)));
        }
        let statements = self.determinacy.branches.iter();
        TreeReport {
            schema: TreeReport::SCHEMA,
            kernel: kernel.demangled(),
            statements: statements
                .map(|(&at, found)| self.statement(at, found))
                .collect(),
            edges,
            assumptions: self
                .prediction
                .map_or(Vec::new(), |all| all.assumptions.clone()),
        }
    }

    fn statement(&self, at: OpIndex, found: &Determined) -> StatementReport {
        let condition = found.condition.as_ref().map(|condition| {
            let text = self.named(&condition.guard.to_string());
            match condition.negated {
                true => format!("not {text}"),
                false => text,
            }
        });
        StatementReport {
            at: self.prepared.location(at),
            instruction: self.prepared.program.text(at.index()).unwrap_or_default(),
            source: self.prepared.source(self.prepared.addr(at)),
            condition,
            origins: found.origins.names().collect(),
            tainted: found.origins.has(Origins::THREAD),
        }
    }

    /// Returns the edge with the blocks from `first` to the next statement.
    fn edge(&self, from: Option<usize>, first: OpIndex) -> TreeEdgeReport {
        let mut ranges = Vec::new();
        let mut to = None;
        let mut at = Some(first);
        let mut seen = BTreeSet::new();
        while let Some(block) = at.and_then(|at| self.blocks.get(&at)) {
            // An endless loop without a statement repeats its blocks.
            if !seen.insert(block.first) {
                break;
            }
            ranges.push([
                self.prepared.location(block.first),
                self.prepared.last_location(*block),
            ]);
            to = self.numbers.binary_search(&block.last).ok();
            // The edge goes on after a control operation with one successor, and after a block that ends without a
            // control operation.
            let only = self.determinacy.next.get(&block.last).copied();
            at = only.filter(|_| to.is_none());
        }
        let counts = self.prediction.and_then(|all| all.counts.get(&first));
        TreeEdgeReport {
            from,
            to,
            blocks: ranges,
            issues: counts.and_then(|count| count.issues),
            tainted: self.tainted.contains(&first),
        }
    }

    /// Replaces words and registers of the launch in a condition by their names in CUDA.
    fn named(&self, text: &str) -> String {
        let axes = ["x", "y", "z"];
        let banks = ConstantBanks::OF_CUBINS;
        let launch = banks.launch;
        let mut text = text.to_owned();
        for (word, axis) in (0..).step_by(4).zip(axes) {
            let mut names = vec![
                (format!("special.thread_{axis}"), format!("tid.{axis}")),
                (format!("special.block_{axis}"), format!("ctaid.{axis}")),
            ];
            if let Some(block) = self.launch_block {
                let sizes = [("ntid", block.block_size), ("nctaid", block.grid_size)];
                names.extend(sizes.map(|(name, at)| {
                    let offset = constant_offset(at + word);
                    (format!("c[{launch}][{offset}]"), format!("{name}.{axis}"))
                }));
            }
            for (from, to) in names {
                text = text.replace(&from, &to);
            }
        }
        let Some(block) = &self.prepared.kernel.param_block else {
            return text;
        };
        for (number, param) in self.prepared.kernel.params.iter().enumerate() {
            for word in (0..u32::from(param.size)).step_by(4) {
                let offset = u32::from(block.offset) + u32::from(param.offset) + word;
                let name = match word {
                    0 => format!("param{number}"),
                    _ => format!("param{number}+{word}"),
                };
                let offset = constant_offset(offset);
                text = text.replace(&format!("c[{}][{offset}]", block.bank), &name);
            }
        }
        text
    }
}

/// Returns an offset in a constant bank as expressions print it.
fn constant_offset(offset: u32) -> String {
    format!("0x{offset:x}")
}
