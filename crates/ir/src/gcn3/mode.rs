//! Modes of floating-point arithmetic at each instruction: rounding and denormals, as far as the code decides them.

use warpbound_isa::amd::GcnProgram;
use warpbound_load::Kernel;

use super::jumps::Jumps;

/// Contents of the register MODE before an instruction; `None` if they may differ between runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct ModeState(pub(super) Option<u32>);

/// Modes before each instruction.
pub(super) fn modes(_kernel: &Kernel, program: &GcnProgram, _jumps: &Jumps) -> Vec<ModeState> {
    vec![ModeState(None); program.instrs.len()]
}
