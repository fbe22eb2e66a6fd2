//! Decoded instructions to [`Code`].

use warpbound_base::Diagnostic;
use warpbound_isa::Program;
use warpbound_load::Kernel;

use crate::{Code, mini, nvidia};

/// The code of `kernel`, whose code section was decoded to `program`.
///
/// # Errors
///
/// Where the kernel does not begin at an instruction, or its branches have no meeting points.
pub fn lift(kernel: &Kernel, program: &Program) -> Result<Code, Diagnostic> {
    match program {
        Program::Nvidia(program) => nvidia::lift(kernel, program),
        Program::Mini(program) => mini::lift(kernel, program),
    }
}
