//! The decoded instructions of one kernel, of any instruction set.

use crate::instr::MemoryEffect;
use crate::{TargetStyle, mini, nvidia};

/// The decoded instructions of one kernel.
#[derive(Clone, Debug)]
pub enum Program {
    /// Maxwell or Pascal.
    Nvidia(nvidia::Program),
    /// mini-SIMT.
    Mini(mini::Program),
}

impl Program {
    /// The instruction at a position spelled out, targets as addresses or labels; `None` behind the end and for
    /// a word that is no instruction.
    pub fn text(&self, position: usize) -> Option<String> {
        match self {
            Program::Nvidia(program) => {
                program.text(program.instrs.get(position)?, TargetStyle::Hex)
            }
            Program::Mini(program) => Some(program.text(program.instrs.get(position)?)),
        }
    }

    /// The name of the instruction at a position.
    pub fn mnemonic(&self, position: usize) -> Option<&'static str> {
        match self {
            Program::Nvidia(program) => program.mnemonic(program.instrs.get(position)?),
            Program::Mini(program) => Some(program.row(program.instrs.get(position)?).mnemonic),
        }
    }

    /// A position as the program's own text names it, where it has one.
    pub fn label(&self, position: usize) -> Option<String> {
        match self {
            Program::Nvidia(_) => None,
            Program::Mini(program) => Some(program.position_name(u32::try_from(position).ok()?)),
        }
    }

    /// The line of the kernel's text, from 0, that the instruction at a position stands in, where the kernel is
    /// text.
    pub fn line(&self, position: usize) -> Option<u32> {
        match self {
            Program::Nvidia(_) => None,
            Program::Mini(program) => Some(program.instrs.get(position)?.line),
        }
    }

    /// The class of the instruction at a position, by which runs are counted; `None` where there are no classes.
    pub fn class(&self, position: usize) -> Option<&'static str> {
        match self {
            Program::Nvidia(program) => Some(program.class(program.instrs.get(position)?)),
            Program::Mini(_) => None,
        }
    }

    /// What the instruction at a position loads or stores, and how many bytes in each lane; `None` where it accesses no
    /// memory, and where memory is no bytes.
    pub fn access(&self, position: usize) -> Option<(MemoryEffect, u32)> {
        match self {
            Program::Nvidia(program) => {
                let instr = program.instrs.get(position)?;
                let bytes = program.access_bytes(instr)?;
                Some((program.effects(instr).access?, bytes))
            }
            Program::Mini(_) => None,
        }
    }
}
