//! Counts of blocks as linear forms of the counts of steps, and the count rows that are equalities of real runs. For
//! example, a block that is reached by two edges has the form `edge_1 + edge_2`.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_ipet::plan::LinearForm;
use warpbound_ir::{Code, OpIndex};
use warpbound_report::probe_plan::ProbeQuantity;
use warpbound_simt::NodeId;
use warpbound_simt::counts::{CountKind, CountRow, Factor, RowFamily, RowRelation};

use warpbound_query::KernelFlow;

/// Number of rounds that a loop is expected to make each time it is entered.
const ROUNDS: u64 = 10;

/// Maximum number of expected executions of a block.
const MAX_FREQUENCY: u64 = 1_000_000_000;

/// Forms of a block, summed over all calling contexts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BlockForms {
    /// Executions by a warp.
    pub issues: LinearForm,
    /// Active lanes, summed over the executions.
    pub lanes: LinearForm,
    /// Instructions of an execution.
    pub instructions: u64,
    /// Expected executions: ten rounds for each enclosing loop.
    pub frequency: u64,
}

impl BlockForms {
    /// Returns the form of a quantity.
    pub fn of(&self, quantity: ProbeQuantity) -> &LinearForm {
        match quantity {
            ProbeQuantity::Issues => &self.issues,
            ProbeQuantity::Lanes => &self.lanes,
        }
    }
}

/// Linear relations between the counts of the blocks of a kernel, summed over the warps of a launch (SOUNDNESS 16).
///
/// Unknowns are the variables of the kernel's count rows. Where operations write masks of lanes, the active lanes of
/// each block are a further unknown, which no row relates to others.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProbeSystem {
    /// Forms that are 0 in every run that ends.
    pub equalities: Vec<LinearForm>,
    /// Number of warps of the launch.
    pub warps: LinearForm,
    /// Number of threads of the launch.
    pub threads: LinearForm,
    /// Blocks that a thread may execute, by their first operation.
    pub blocks: BTreeMap<OpIndex, BlockForms>,
}

impl ProbeSystem {
    /// Makes the system from the rows that `is_equality` accepts: [`holds_in_every_run`], or fewer.
    ///
    /// Returns `None` if a factor leaves the range of a word.
    pub fn new(
        code: &Code,
        flow: &KernelFlow,
        is_equality: impl Fn(&CountRow) -> bool,
    ) -> Option<ProbeSystem> {
        let rows = flow.counts.rows.iter().filter(|row| is_equality(row));
        let equalities = rows.map(equality).collect::<Option<Vec<_>>>()?;
        let mut system = ProbeSystem {
            equalities,
            ..ProbeSystem::default()
        };
        let depths = loop_depths(flow);
        let writes_mask = code.family.has_exec_mask();
        let mut arriving: BTreeMap<OpIndex, [Vec<(usize, i64)>; 2]> = BTreeMap::new();
        for (number, counted) in flow.counts.variables.iter().enumerate() {
            let (level, to) = match counted {
                CountKind::WarpStart => (0, Some(flow.thread.entry)),
                CountKind::ThreadStart => (1, Some(flow.thread.entry)),
                CountKind::WarpStep(_, step) => (0, step.to),
                CountKind::ThreadStep(_, step) => (1, step.to),
            };
            match counted {
                CountKind::WarpStart => system.warps = LinearForm::sum([(number, 1)])?,
                CountKind::ThreadStart => system.threads = LinearForm::sum([(number, 1)])?,
                CountKind::WarpStep(..) | CountKind::ThreadStep(..) => {}
            }
            let Some(to) = to.filter(|&to| flow.thread.is_reached(to)) else {
                continue;
            };
            let forms = arriving.entry(flow.thread.space.block(to).first);
            if let Some(form) = forms.or_default().get_mut(level) {
                form.push((number, 1));
            }
        }
        // The unknowns of blocks are numbered after the variables of the rows.
        let mut own = flow.counts.len();
        let reached = flow.thread.space.ids();
        for node in reached.filter(|&node| flow.thread.is_reached(node)) {
            let block = flow.thread.space.block(node);
            let depth = depths.get(&node).copied().unwrap_or(0);
            let expected = ROUNDS.saturating_pow(depth).min(MAX_FREQUENCY);
            // A counter in a block counts it in all contexts.
            if let Some(forms) = system.blocks.get_mut(&block.first) {
                forms.frequency = forms.frequency.saturating_add(expected).min(MAX_FREQUENCY);
                continue;
            }
            let [issues, mut lanes] = arriving.remove(&block.first).unwrap_or_default();
            // The rows are about lanes that go along with the wave, active or not, and a counter counts active ones.
            if writes_mask {
                lanes = vec![(own, 1)];
                own += 1;
            }
            let forms = BlockForms {
                issues: LinearForm::sum(issues)?,
                lanes: LinearForm::sum(lanes)?,
                instructions: block.instructions,
                frequency: expected,
            };
            system.blocks.insert(block.first, forms);
        }
        Some(system)
    }
}

/// Whether a count row holds with equality in every run of a warp that ends, and so for sums over warps: the flow of
/// the warp and of its lanes (SOUNDNESS 16.1). Starts are known numbers instead. All other rows are inequalities,
/// which would give wrong counts if they were used as equalities.
pub fn holds_in_every_run(row: &CountRow) -> bool {
    row.family == RowFamily::Flow && row.relation == RowRelation::Exactly && row.constant == 0
}

/// Returns the form of a row whose right side is 0; `None` if a factor depends on a fact.
fn equality(row: &CountRow) -> Option<LinearForm> {
    let terms = row.terms.iter().map(|&(var, factor)| match factor {
        Factor::Number(factor) => Some((var.0, factor)),
        Factor::TimesBound(..) | Factor::TimesTotal(..) => None,
    });
    LinearForm::sum(terms.collect::<Option<Vec<_>>>()?)
}

/// Returns the number of loops around each node.
fn loop_depths(flow: &KernelFlow) -> BTreeMap<NodeId, u32> {
    let mut depths = BTreeMap::new();
    for counted in &flow.loops.loops {
        let body: BTreeSet<NodeId> = counted.body.iter().copied().collect();
        for node in body {
            *depths.entry(node).or_insert(0) += 1;
        }
    }
    depths
}
