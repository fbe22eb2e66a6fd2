//! NVIDIA Maxwell (sm_50, sm_52, sm_53) and Pascal (sm_60, sm_61, sm_62).
//!
//! Both generations share one table of encodings, whose rows state their architectures. Code is decoded into a
//! [`SassProgram`]; each instruction gives its operands ([`View`]), its effects, its text and its timing class.
//! Control words hold the scheduling decisions of the compiler.

mod arch;
mod bits;
mod class;
mod control;
mod effects;
mod encode;
mod form;
mod lookup;
mod modifier;
mod names;
mod number;
mod opcode;
mod operand;
mod program;
mod rows;
mod template;
mod text;
mod timing;

use crate::RegisterFiles;
use crate::encoding::span;

pub use arch::{Arch, WARP_LANES};
pub use bits::{OperandBits, OperandKind};
pub use control::ControlWord;
pub use encode::{
    BuiltWord, EncodeError, FieldRole, InstrFields, NewOperand, OperandMismatch, WordBuilder,
    encode, with_register_target_offset, with_target,
};
pub use form::{Form, FormId};
pub use lookup::{FormTable, table};
pub use modifier::{Modifier, OperandWord, Part, TextureDimension};
pub use opcode::{InstrClass, Opcode};
pub use operand::{Operand, OperandRole, OperandValue, Spelling, View};
pub use program::{SassInstr, SassProgram, canonical};
pub use text::{Relocated, TargetStyle};
pub use timing::{ExecUnit, LatencyClass, LatencyKind, Timing};

/// Register files of Maxwell and Pascal. RZ (R255) and PT (P7) are constants and no registers.
pub const REGISTERS: RegisterFiles =
    RegisterFiles::compiled(include_str!("../../../isa/nvidia/maxwell.registers"));
