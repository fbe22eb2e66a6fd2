//! Text of the instructions of a loop, without the instructions of loops inside it.

use std::collections::BTreeSet;

use warpbound_ir::{Code, ControlEffect, Meaning, Op, OpIndex};
use warpbound_simt::NodeId;

use crate::loops::Loops;
use crate::thread_cfg::ThreadCfg;

use super::operands::{Operands, condition_text};

/// Writes the body of the loops of a fact: one line for each instruction, sorted, and the numbers of contexts, headers,
/// latches and exits.
pub(super) fn print(code: &Code, thread: &ThreadCfg, loops: &Loops, fact: usize) -> String {
    // An operation counts once, however many contexts execute it.
    let mut ops: BTreeSet<OpIndex> = BTreeSet::new();
    let mut exits = BTreeSet::new();
    for (number, found) in loops.loops.iter().enumerate() {
        if found.fact != fact {
            continue;
        }
        let children = loops.loops.iter().zip(&loops.parents);
        let children = children.filter(|(_, parent)| **parent == Some(number));
        let inner: BTreeSet<NodeId> = children.flat_map(|(child, _)| child.body.clone()).collect();
        for &node in found.body.iter().filter(|node| !inner.contains(node)) {
            let block = thread.space.block(node);
            ops.extend(block.ops());
            let steps = thread.steps.get(node.index()).into_iter().flatten();
            let leaves = |to: &NodeId| found.body.binary_search(to).is_err();
            if steps
                .into_iter()
                .any(|step| step.to.as_ref().is_none_or(leaves))
            {
                exits.insert(block.last);
            }
        }
    }
    let mut lines: Vec<String> = ops
        .iter()
        .filter_map(|&at| line(code, code.get(at)?))
        .collect();
    // Sorted, because the order of independent instructions may differ between builds.
    lines.sort_unstable();
    let site = loops.sites.get(fact);
    let (headers, latches) = site.map_or((0, 0), |s| (s.headers.len(), s.latches.len()));
    lines.push(format!(
        "{headers} headers, {latches} latches, {} exits",
        exits.len()
    ));
    lines.join("\n")
}

/// Text of an operation, with cells replaced by their kind; `None` if it has no effect.
fn line(code: &Code, op: &Op) -> Option<String> {
    let is_empty = |meaning: &Meaning| matches!(meaning, Meaning::Set(list) if list.is_empty());
    if op.control == ControlEffect::Next && op.meaning.as_ref().is_some_and(is_empty) {
        return None;
    }
    let mut text = condition_text(op);
    let operands = Operands::of_op(code, op);
    text.push_str(&operands.unwrap_or_default().without_cells());
    text.push_str(match op.control {
        ControlEffect::Next => "",
        ControlEffect::Jump(_) | ControlEffect::Branch { .. } => " jump",
        ControlEffect::Call(_)
        | ControlEffect::LinkedCall(_)
        | ControlEffect::LinkedIndirect { .. } => " call",
        ControlEffect::Exit | ControlEffect::End => " exit",
        _ => " control",
    });
    Some(text)
}
