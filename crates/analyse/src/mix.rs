//! Instruction mix of a kernel: operations by what analyses treat apart.

use warpbound_ir::{Code, ControlEffect};

/// Numbers of operations of a code section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InstructionMix {
    /// All operations.
    pub operations: usize,
    /// Operations with a control effect.
    pub control: usize,
    /// Operations at which a warp may wait for others.
    pub barriers: usize,
}

impl InstructionMix {
    /// Counts the operations of a code section.
    pub fn count(code: &Code) -> InstructionMix {
        let has_control = |control: &ControlEffect| *control != ControlEffect::Next;
        InstructionMix {
            operations: code.ops.len(),
            control: code
                .ops
                .iter()
                .filter(|op| has_control(&op.control))
                .count(),
            barriers: code.ops.iter().filter(|op| op.barrier).count(),
        }
    }
}
