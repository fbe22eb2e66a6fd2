//! Liveness of SCC: whether a later instruction may read the value that SCC has before an instruction.
//!
//! For example, in `s_cmp_eq_u32 s0, s1; s_cbranch_scc1 L` SCC is live before the branch and dead before the
//! comparison.

use warpbound_isa::amd::{GcnFlow, GcnProgram};
use warpbound_isa::{BranchTarget, Reg};

/// Whether SCC is live before each instruction of a program. Where control flow is not known, SCC counts as live.
pub(super) fn live_before(program: &GcnProgram) -> Vec<bool> {
    let steps: Vec<SccStep> = (0..program.instrs.len())
        .map(|index| SccStep::of(program, index))
        .collect();
    let mut live = vec![false; steps.len()];
    // Backwards over the code until nothing changes; a loop needs more than one pass.
    loop {
        let mut has_changed = false;
        for index in (0..steps.len()).rev() {
            let Some(step) = steps.get(index) else {
                continue;
            };
            let is_live =
                |at: &Option<usize>| at.is_some_and(|at| live.get(at).copied().unwrap_or(true));
            let after = step.is_unknown || step.next.iter().any(is_live);
            // An instruction such as `s_addc_u32` reads SCC before it writes it.
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

/// Use of SCC by an instruction, and the possible next instructions.
struct SccStep {
    reads: bool,
    writes: bool,
    next: [Option<usize>; 2],
    is_unknown: bool,
}

impl SccStep {
    fn of(program: &GcnProgram, index: usize) -> SccStep {
        // Beyond the code nothing is known, so SCC counts as read.
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
            // A jump out of the code, or into an instruction, counts as unknown.
            BranchTarget::Code(target) => program.index_of(target),
            _ => None,
        };
        let (next, is_unknown) = match effects.flow {
            GcnFlow::Next => ([after, None], false),
            GcnFlow::Jump(target) => ([at(target), None], at(target).is_none()),
            GcnFlow::Branch(_, target) => ([after, at(target)], at(target).is_none()),
            // Nothing reads SCC after the wave has ended.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// SCC before each of these instructions, which are given as dwords.
    fn live(words: &[u32]) -> Vec<bool> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        live_before(&GcnProgram::decode(&bytes).expect("whole dwords"))
    }

    #[test]
    fn reads_and_writes_decide() {
        const NOP: u32 = 0xbf80_0000;
        const END: u32 = 0xbf81_0000;
        // s_cmp_eq_u32 s0, s1; s_cbranch_scc1 to the end.
        assert_eq!(
            live(&[NOP, 0xbf06_0100, NOP, 0xbf85_0000, END]),
            [false, false, true, true, false]
        );
    }

    #[test]
    fn unknown_code_may_read() {
        const NOP: u32 = 0xbf80_0000;
        const END: u32 = 0xbf81_0000;
        // s_setpc_b64 s[0:1], s_swappc_b64 s[2:3], s[0:1], and a jump beyond the code.
        for unknown in [0xbe80_1d00, 0xbe82_1e00, 0xbf82_0100] {
            assert_eq!(
                live(&[NOP, unknown, END]),
                [true, true, false],
                "{unknown:x}"
            );
        }
    }
}
