//! Decoding, printing and encoding of NVIDIA's machine code from the rows of a table: what all its families share.

pub(super) mod address;
pub(super) mod arch;
pub(super) mod bits;
mod brief;
mod class;
pub(super) mod control;
pub(super) mod dialect;
mod effects;
pub(super) mod encode;
mod field;
pub(super) mod form;
mod imad_alias;
mod line;
pub(super) mod lookup;
pub(super) mod modifier;
pub(super) mod names;
mod number;
pub(super) mod opcode;
pub(super) mod operand;
pub(super) mod program;
pub(super) mod proposal;
mod register_number;
pub(super) mod sass_instr;
mod template;
pub(super) mod text;
pub(super) mod timing;
mod transfer;
