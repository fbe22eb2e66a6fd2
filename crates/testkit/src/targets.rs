//! Comparison of the targets of SYNC, BRK and BRX in the thread-level CFG with the compiler's own record of them
//! (section `.nv.info`, indirect branch targets).

use std::collections::{BTreeMap, BTreeSet};

use warpbound_analyse::ThreadCfg;
use warpbound_base::CodeAddr;
use warpbound_ir::{Code, ControlEffect, OpIndex};
use warpbound_isa::StackToken;
use warpbound_load::{IndirectBranch, IndirectKind, Kernel};
use warpbound_simt::warp::Via;

/// Result of the comparison for one kernel.
#[derive(Clone, Debug, Default)]
pub struct TargetsCheck {
    /// Number of instructions whose recorded targets equal the targets of the analysis.
    pub equal: usize,
    /// Recorded instructions that no thread reaches.
    pub unreachable: Vec<CodeAddr>,
    /// Differences, one line each.
    pub differences: Vec<String>,
    /// Whether the file records no targets although the code has such instructions (compilers before CUDA 11).
    pub has_no_record: bool,
}

/// Compares the compiler's record in `kernel` with the thread-level CFG.
pub fn compare(kernel: &Kernel, code: &Code, thread: &ThreadCfg) -> TargetsCheck {
    let found = reached_targets(code, thread);
    let mut check = TargetsCheck {
        has_no_record: kernel.indirect_branches.is_empty() && !found.is_empty(),
        ..TargetsCheck::default()
    };
    if check.has_no_record {
        return check;
    }
    let mut recorded = BTreeSet::new();
    for IndirectBranch { at, kind, targets } in &kernel.indirect_branches {
        let Some(op) = code.at(*at) else {
            check
                .differences
                .push(format!("{at}: a record without an instruction"));
            continue;
        };
        recorded.insert(op);
        if *kind != IndirectKind::Branch {
            continue;
        }
        let recorded_targets: BTreeSet<OpIndex> =
            targets.iter().filter_map(|&t| code.at(t)).collect();
        match found.get(&op) {
            None => check.unreachable.push(*at),
            Some(ours) if *ours == recorded_targets => check.equal += 1,
            Some(ours) => check.differences.push(format!(
                "{at}: found {ours:?}, recorded {recorded_targets:?}"
            )),
        }
    }
    for op in found.keys().filter(|op| !recorded.contains(op)) {
        let at = code.get(*op).map(|op| op.addr).unwrap_or_default();
        check.differences.push(format!("{at}: not recorded"));
    }
    check
}

/// Returns the targets of the reachable SYNC, BRK and BRX instructions, joined over all calling contexts.
fn reached_targets(code: &Code, thread: &ThreadCfg) -> BTreeMap<OpIndex, BTreeSet<OpIndex>> {
    let mut found: BTreeMap<OpIndex, BTreeSet<OpIndex>> = BTreeMap::new();
    for id in thread.space.ids().filter(|&id| thread.is_reached(id)) {
        let last = thread.space.block(id).last;
        let Some(op) = code.get(last) else { continue };
        let is_jump = matches!(op.control, ControlEffect::Indirect { .. });
        if !is_jump
            && !matches!(
                op.control,
                ControlEffect::Pop(StackToken::Sync | StackToken::Brk)
            )
        {
            continue;
        }
        let targets = found.entry(last).or_default();
        for step in thread.steps.get(id.index()).into_iter().flatten() {
            let leaves = is_jump || matches!(step.via, Via::Resume(_));
            if let (Some(to), true) = (step.to, leaves) {
                targets.insert(thread.space.block(to).first);
            }
        }
    }
    found
}
