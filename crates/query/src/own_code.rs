//! Operations that belong to a kernel whose section holds other functions as well.

use std::collections::BTreeSet;

use warpbound_ir::{Code, ControlEffect, ControlTarget, ExecCondition, OpIndex};
use warpbound_load::Kernel;

/// Returns the operations of the functions that a kernel may execute.
///
/// A kernel of a code object that calls functions or jumps through registers has the code of its whole section, other
/// kernels included (`load/src/code_object/code.rs`). If a target is unknown, all operations belong to it.
pub fn own_ops(kernel: &Kernel, code: &Code) -> BTreeSet<OpIndex> {
    let all = || (0..code.ops.len() as u32).map(OpIndex);
    // The code of a cubin's kernel contains no other kernels.
    if kernel.code_object.is_none() {
        return all().collect();
    }
    let Some(reached) = reached(code) else {
        return all().collect();
    };
    let function_of = |at: &OpIndex| {
        let function = kernel.function_at(code.get(*at)?.addr);
        function.map(|function| function.start)
    };
    // Functions belong to the kernel as a whole, including operations that no path reaches.
    let functions: BTreeSet<_> = reached.iter().filter_map(function_of).collect();
    let belongs = |at: &OpIndex| {
        reached.contains(at) || function_of(at).is_some_and(|start| functions.contains(&start))
    };
    all().filter(belongs).collect()
}

/// Returns the operations on the paths from the entry; `None` if the target of a jump is unknown.
fn reached(code: &Code) -> Option<BTreeSet<OpIndex>> {
    let mut reached = BTreeSet::new();
    let mut open = vec![code.entry];
    while let Some(at) = open.pop() {
        // An operation is followed at its first visit only, so loops end.
        let Some(op) = code.get(at).filter(|_| reached.insert(at)) else {
            continue;
        };
        let always = op.condition == ExecCondition::ALWAYS;
        let (target, falls_through) = match &op.control {
            ControlEffect::Indirect { .. } | ControlEffect::LinkedIndirect { .. } => return None,
            ControlEffect::Jump(target) => (Some(target), !always),
            ControlEffect::Branch { to, .. } => (Some(to), true),
            ControlEffect::Call(target)
            | ControlEffect::LinkedCall(target)
            | ControlEffect::OpenBarrier(_, target)
            | ControlEffect::Collective(target)
            | ControlEffect::FreeJump(target)
            | ControlEffect::Push(_, target) => (Some(target), true),
            ControlEffect::Pop(_)
            | ControlEffect::Return { .. }
            | ControlEffect::Exit
            | ControlEffect::End => (None, !always),
            ControlEffect::Next
            | ControlEffect::Reconverge
            | ControlEffect::SetActive(_)
            | ControlEffect::JoinBarrier(_)
            | ControlEffect::BreakBarrier(_)
            | ControlEffect::SaveBarrier(..)
            | ControlEffect::WriteBarrier { .. }
            | ControlEffect::Release
            | ControlEffect::Unsupported(_) => (None, true),
        };
        if let Some(ControlTarget::Op(to)) = target {
            open.push(*to);
        }
        if falls_through {
            open.push(OpIndex(at.0 + 1));
        }
    }
    Some(reached)
}
