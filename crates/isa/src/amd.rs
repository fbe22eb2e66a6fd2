//! AMD GCN3 (gfx803: Fiji, Polaris): decoding, printing, reads and writes, by the rows of `isa/amd/`.
//!
//! A program is decoded into [`GcnInstr`]s; each gives its operands ([`GcnView`]), its effects ([`GcnEffects`]) and
//! its text. For example, `s_cbranch_vccz` reads the two words of VCC and has the flow [`GcnFlow::Branch`].

mod class;
mod condition;
mod description;
mod effects;
mod encode;
mod fields;
mod form;
mod opcode;
mod operand;
mod program;
mod rows;
mod text;

use crate::RegisterFiles;
use warpbound_base::Family;

pub use class::GcnClass;
pub use condition::GcnCondition;
pub use effects::{GcnEffects, GcnFlow};
pub use fields::Encoding;
pub use form::{GcnUnit, OperandAccess};
pub use opcode::GcnOpcode;
pub use operand::{Dpp, GcnModifiers, GcnOperand, GcnValue, GcnView, Sdwa};
pub use program::{GcnInstr, GcnProgram};
pub use rows::GcnFormId;
pub use rows::form_patterns;

/// Lanes of a wave.
pub const WAVE_LANES: u32 = Family::Gcn3.lanes();

/// Register files of GCN3.
pub const REGISTERS: RegisterFiles =
    RegisterFiles::compiled(include_str!("../../../isa/amd/gfx803.registers"));

/// Numbers of scalar registers with a meaning of their own. Pairs are named by their low word.
pub mod scalar {
    /// FLAT_SCRATCH, 2 words.
    pub const FLAT_SCRATCH: u8 = 102;
    /// XNACK_MASK, 2 words.
    pub const XNACK_MASK: u8 = 104;
    /// VCC, 2 words.
    pub const VCC: u8 = 106;
    /// TBA, 2 words.
    pub const TBA: u8 = 108;
    /// TMA, 2 words.
    pub const TMA: u8 = 110;
    /// M0.
    pub const M0: u8 = 124;
    /// EXEC, 2 words.
    pub const EXEC: u8 = 126;
    /// SCC, 0 or 1; not an operand's encoding.
    pub const SCC: u8 = 128;
    /// MODE; not an operand's encoding.
    pub const MODE: u8 = 129;
}
