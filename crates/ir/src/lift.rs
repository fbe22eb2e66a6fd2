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
        Program::Nvidia(program) => nvidia::lift(kernel, program, true),
        Program::Mini(program) => mini::lift(kernel, program),
    }
}

/// The code of `kernel` as far as its flow of control is made of it: as [`lift`], but GPU operations have no
/// meaning, reads and writes unless there are indirect jumps, whose targets are values.
///
/// # Errors
///
/// See [`lift`].
pub fn lift_flow(kernel: &Kernel, program: &Program) -> Result<Code, Diagnostic> {
    match program {
        Program::Nvidia(program) => nvidia::lift(kernel, program, false),
        Program::Mini(program) => mini::lift(kernel, program),
    }
}
