//! Liveness of SCC: whether a later instruction reads the value that it has before an instruction.

use warpbound_isa::amd::{GcnFlow, GcnProgram};
use warpbound_isa::{BranchTarget, Reg};

/// Whether SCC is live before each instruction of a program. It is live wherever control flow is not known.
pub(super) fn live_before(program: &GcnProgram) -> Vec<bool> {
    let steps: Vec<SccStep> = (0..program.instrs.len())
        .map(|index| SccStep::of(program, index))
        .collect();
    let mut live = vec![false; steps.len()];
    // Backwards until nothing changes; loops need a few passes.
    loop {
        let mut has_changed = false;
        for index in (0..steps.len()).rev() {
            let Some(step) = steps.get(index) else {
                continue;
            };
            let is_live =
                |at: &Option<usize>| at.is_some_and(|at| live.get(at).copied().unwrap_or(true));
            let after = step.is_unknown || step.next.iter().any(is_live);
            let before = step.reads || after && !step.writes;
            if let Some(slot) = live.get_mut(index)
                && *slot != before
            {
                *slot = before;
                has_changed = true;
            }
        }
        if !has_changed {
            return live;
        }
    }
}

/// What an instruction does with SCC, and where the wave goes on.
struct SccStep {
    reads: bool,
    writes: bool,
    next: [Option<usize>; 2],
    is_unknown: bool,
}

impl SccStep {
    fn of(program: &GcnProgram, index: usize) -> SccStep {
        let Some(instr) = program.instrs.get(index) else {
            return SccStep {
                reads: true,
                writes: false,
                next: [None; 2],
                is_unknown: true,
            };
        };
        let effects = instr.effects();
        let after = Some(index + 1);
        let at = |target: BranchTarget| match target {
            BranchTarget::Code(target) => program.index_of(target),
            _ => None,
        };
        let (next, is_unknown) = match effects.flow {
            GcnFlow::Next => ([after, None], false),
            GcnFlow::Jump(target) => ([at(target), None], at(target).is_none()),
            GcnFlow::Branch(_, target) => ([after, at(target)], at(target).is_none()),
            GcnFlow::Exit => ([None; 2], false),
            GcnFlow::Call { .. } | GcnFlow::Indirect { .. } | GcnFlow::Unsupported => {
                ([after, None], true)
            }
        };
        SccStep {
            reads: effects.reads.contains(&Reg::SCC),
            writes: effects.writes.contains(&Reg::SCC),
            next,
            is_unknown,
        }
    }
}
