//! Lifting: from decoded instructions to [`Code`]. An instruction becomes one operation, so that indexes and
//! addresses of both correspond.

use warpbound_base::Diagnostic;
use warpbound_isa::Program;
use warpbound_load::Kernel;

use crate::{Code, gcn3, mini, nvidia};

/// Lifts `program`, the decoded code section of `kernel`.
///
/// # Errors
///
/// Fails if the kernel does not begin at an instruction, or if a branch of a mini-SIMT program has no reconvergence
/// point that is a `sync`.
pub fn lift(kernel: &Kernel, program: &Program) -> Result<Code, Diagnostic> {
    match program {
        Program::Nvidia(program) => nvidia::lift(kernel, program, true),
        Program::Amd(program) => gcn3::lift(kernel, program, true),
        Program::Mini(program) => mini::lift(kernel, program),
    }
}

/// Lifts only the control flow of `kernel`: as [`lift`], but GPU operations have no meaning, reads and writes unless
/// the code has indirect jumps, whose targets depend on values.
///
/// # Errors
///
/// See [`lift`].
pub fn lift_flow(kernel: &Kernel, program: &Program) -> Result<Code, Diagnostic> {
    match program {
        Program::Nvidia(program) => nvidia::lift(kernel, program, false),
        Program::Amd(program) => gcn3::lift(kernel, program, false),
        Program::Mini(program) => mini::lift(kernel, program),
    }
}
