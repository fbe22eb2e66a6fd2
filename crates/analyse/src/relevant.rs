//! Cells that may decide the target of an indirect jump, and whose values are therefore followed (SOUNDNESS 4.5).
//!
//! A backward dataflow analysis (a slice) over all operations of a section, for all calling contexts together. For
//! example, R4 is relevant before `LDC R2, c[0x2][R4]` if `BRX R2` follows. Control flow that only the analysis of
//! values could resolve is over-approximated: a SYNC, BRK, CONT or RET leads to all points at which entries of its
//! tag resume, an indirect jump to each function and to each operation whose address is in a constant bank. A cell
//! that is left out may hold anything, so that a mistake here could cost a jump table but no soundness.

use std::collections::BTreeSet;

use warpbound_base::CodeAddr;
use warpbound_graph::Digraph;
use warpbound_ir::{Code, ControlEffect, ControlTarget, Op, OpIndex};
use warpbound_isa::instr::StackToken;
use warpbound_simt::warp::CellSet;

use crate::values;

/// For each operation, the cells whose value after it may decide the target of an indirect jump.
#[derive(Clone, Debug)]
pub struct RelevantCells {
    after: Vec<CellSet>,
}

impl RelevantCells {
    /// Computes the cells; `None` if `code` has no indirect jump.
    pub fn find(code: &Code) -> Option<RelevantCells> {
        let jumps = |op: &Op| {
            matches!(
                op.control,
                ControlEffect::Indirect { .. } | ControlEffect::LinkedIndirect { .. }
            )
        };
        if !code.ops.iter().any(jumps) {
            return None;
        }
        let flow = control_flow(code);
        let mut after = vec![CellSet::default(); code.ops.len()];
        let mut before = vec![CellSet::default(); flow.len()];
        let predecessors = flow.reversed();
        // Later operations first, as the flow is backward.
        let mut worklist: BTreeSet<usize> = (0..flow.len()).collect();
        while let Some(node) = worklist.pop_last() {
            let mut cells = CellSet::default();
            for &next in flow.successors(node) {
                cells.union(&before[next]);
            }
            if let Some(op) = code.ops.get(node) {
                after[node] = cells;
                cells = cells_before(op, &cells);
            }
            if before[node].union(&cells) {
                worklist.extend(predecessors.successors(node));
            }
        }
        Some(RelevantCells { after })
    }

    /// The relevant cells after operation `at`.
    pub fn after(&self, at: OpIndex) -> CellSet {
        self.after.get(at.index()).copied().unwrap_or_default()
    }
}

/// Relevant cells before `op`, given the relevant cells after it.
fn cells_before(op: &Op, after: &CellSet) -> CellSet {
    let mut cells = *after;
    if let ControlEffect::Call(ControlTarget::External(_))
    | ControlEffect::LinkedCall(ControlTarget::External(_)) = op.control
    {
        // The callee may leave anything in any cell.
        return CellSet::default();
    }
    // A guarded write may keep the old value, which then stays relevant.
    if op.condition.is_always() {
        for cell in &op.writes {
            cells.remove(cell.index());
        }
    }
    // The guard is not needed: `Values::apply` joins both outcomes of a guarded write.
    for &cell in &op.writes {
        let value = op.meaning.as_ref().and_then(|m| m.value_of(cell));
        if let (true, Some(value)) = (after.contains(cell.index()), value) {
            value.for_each_cell(&values::models, &mut |cell| cells.insert(cell.index()));
        }
    }
    if let ControlEffect::Indirect {
        base: Some(base), ..
    }
    | ControlEffect::LinkedIndirect {
        base: Some(base), ..
    } = op.control
    {
        cells.insert(base.index());
    }
    cells
}

/// Control flow between operations. After them, a node for each tag and one for indirect jumps, so that
/// the number of edges stays linear.
fn control_flow(code: &Code) -> Digraph {
    let anywhere = code.ops.len();
    let hub = |token: StackToken| anywhere + 1 + token as usize;
    let mut edges: Vec<(usize, usize)> = Vec::new();
    let mut anchors = BTreeSet::new();
    for (here, op) in code.ops.iter().enumerate() {
        let mut goes_on = !op.condition.is_always();
        match &op.control {
            ControlEffect::Next | ControlEffect::Reconverge | ControlEffect::SetActive(_) => {
                goes_on = true;
            }
            ControlEffect::Jump(target) | ControlEffect::Branch { to: target, .. } => {
                edges.extend(target_index(target).map(|to| (here, to)));
            }
            ControlEffect::Call(target) => {
                edges.extend(target_index(target).map(|to| (here, to)));
                edges.push((hub(StackToken::Ret), here + 1));
            }
            ControlEffect::LinkedCall(target) => {
                edges.extend(target_index(target).map(|to| (here, to)));
                edges.push((hub(StackToken::Ret), here + 1));
            }
            ControlEffect::LinkedIndirect {
                anchor, relative, ..
            } => {
                // A callee outside the file returns to the next operation.
                edges.extend([(here, anywhere), (here, here + 1)]);
                edges.push((hub(StackToken::Ret), here + 1));
                if *relative {
                    anchors.insert(*anchor);
                }
            }
            ControlEffect::Return { .. } => edges.push((here, hub(StackToken::Ret))),
            ControlEffect::OpenBarrier(..)
            | ControlEffect::JoinBarrier(_)
            | ControlEffect::BreakBarrier(_)
            | ControlEffect::SaveBarrier(..)
            | ControlEffect::WriteBarrier { .. }
            | ControlEffect::Release => goes_on = true,
            ControlEffect::Collective(target) | ControlEffect::FreeJump(target) => {
                edges.extend(target_index(target).map(|to| (here, to)));
                goes_on = true;
            }
            ControlEffect::Push(token, target) => {
                edges.extend(target_index(target).map(|to| (hub(*token), to)));
                goes_on = true;
            }
            ControlEffect::Pop(token) => edges.push((here, hub(*token))),
            ControlEffect::Indirect {
                anchor, relative, ..
            } => {
                // A callee outside the file returns to the entry that PRET pushed.
                edges.extend([(here, anywhere), (here, hub(StackToken::Ret))]);
                if *relative {
                    anchors.insert(*anchor);
                }
            }
            ControlEffect::Exit | ControlEffect::End | ControlEffect::Unsupported(_) => {}
        }
        if goes_on {
            edges.push((here, here + 1));
        }
    }
    // The last operation has no next one.
    edges.retain(|&(from, to)| to != from + 1 || to < code.ops.len());
    let functions = code.functions.iter().map(|function| function.entry);
    edges.extend(functions.map(|op| (anywhere, op.index())));
    let words = words(code);
    for anchor in anchors {
        edges.extend(listed_ops(code, &words, anchor).map(|op| (anywhere, op.index())));
    }
    Digraph::new(hub(StackToken::Exit) + 1, edges)
}

fn target_index(target: &ControlTarget) -> Option<usize> {
    match target {
        ControlTarget::Op(at) => Some(at.index()),
        ControlTarget::External(_) | ControlTarget::Invalid(_) => None,
    }
}

/// All words of the constant banks, ascending.
fn words(code: &Code) -> BTreeSet<i64> {
    let words = code
        .constants
        .iter()
        .flat_map(|(_, bytes)| bytes.chunks_exact(4));
    words
        .filter_map(|word| Some(i32::from_le_bytes(word.try_into().ok()?).into()))
        .collect()
}

/// Operations whose address less `anchor` is one of `words`.
fn listed_ops<'a>(
    code: &'a Code,
    words: &'a BTreeSet<i64>,
    anchor: i64,
) -> impl Iterator<Item = OpIndex> + 'a {
    let last = code.ops.last().map_or(0, |op| i64::from(op.addr.0));
    // The range only narrows the search, so its ends may saturate.
    let addresses = words.range(anchor.saturating_neg()..=last.saturating_sub(anchor));
    addresses.filter_map(move |word| {
        let addr = u32::try_from(word.checked_add(anchor)?).ok()?;
        code.at(CodeAddr(addr))
    })
}
