//! NVIDIA GPUs: Maxwell and Pascal (sm_50 to sm_62), and Volta to Blackwell (sm_70 to sm_121, but not sm_107).
//!
//! `shared` decodes, prints and encodes with the rows of a table; `maxwell` and `volta` have one table each, whose
//! rows state their architectures, and the layout of words. Code is decoded into a [`SassProgram`]; each instruction
//! gives its operands ([`View`]), its effects, its text and its timing class. Control words hold the scheduling
//! decisions of the compiler.

mod compiled;
mod descriptions;
mod maxwell;
pub(crate) mod shared;
mod tables;
mod volta;

use crate::RegisterFiles;

pub use maxwell::canonical;
pub use shared::address::{BaseForm, BracketOperand};
pub use shared::arch::{Arch, WARP_LANES};
pub use shared::bits::{OperandBits, OperandKind};
pub use shared::control::ControlWord;
pub use shared::encode::{
    BuiltWord, EncodeError, FieldRole, InstrFields, NewOperand, OperandMismatch, WordBuilder,
    encode, with_register_target_offset, with_target,
};
pub use shared::form::{Form, FormId};
pub use shared::lookup::FormTable;
pub use shared::modifier::{Modifier, OperandWord, Part, TextureDimension};
pub use shared::opcode::{InstrClass, Opcode};
pub use shared::operand::{ConstantOperand, Operand, OperandRole, OperandValue, Spelling, View};
pub use shared::program::SassProgram;
pub use shared::proposal::ProposedRows;
pub use shared::sass_instr::SassInstr;
pub use shared::text::{Relocated, TargetStyle};
pub use shared::timing::{ExecUnit, LatencyClass, LatencyKind, Timing};
pub use tables::table;

/// Register files of Maxwell and Pascal: general registers, predicates and the condition code. RZ (R255) and PT (P7) are
/// constants and no registers, on all NVIDIA GPUs.
pub const REGISTERS: RegisterFiles =
    RegisterFiles::compiled(include_str!("../../../isa/nvidia/maxwell.registers"));

/// Register files from Volta to Blackwell: general and uniform registers, and the predicates of both. Convergence barriers
/// are not there, because their values are not followed.
pub const REGISTERS_SINCE_VOLTA: RegisterFiles =
    RegisterFiles::compiled(include_str!("../../../isa/nvidia/volta.registers"));
