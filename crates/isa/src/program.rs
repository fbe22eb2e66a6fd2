//! Decoded program of one kernel, in any instruction set. Reports that treat all instruction sets alike, such as
//! listings and statistics, read it through these methods.

use warpbound_base::{Family, Named};

use crate::instr::MemoryEffect;
use crate::{RegisterFiles, TargetStyle, amd, mini, nvidia};

/// Decoded instructions of one kernel. A position is the index of an instruction in program order.
#[derive(Clone, Debug)]
pub enum Program {
    /// SASS of NVIDIA's GPUs.
    Nvidia(nvidia::SassProgram),
    /// GCN3.
    Amd(amd::GcnProgram),
    /// mini-SIMT.
    Mini(mini::Program),
}

impl Program {
    /// Assembly text of the instruction at a position, with targets as addresses or labels. `None` past the end and
    /// for a word that is not an instruction.
    pub fn text(&self, position: usize) -> Option<String> {
        match self {
            Program::Nvidia(program) => {
                program.text(program.instrs.get(position)?, TargetStyle::Hex)
            }
            Program::Amd(program) => program.instrs.get(position)?.text(TargetStyle::Hex),
            Program::Mini(program) => Some(program.text(program.instrs.get(position)?)),
        }
    }

    /// Mnemonic of the instruction at a position.
    pub fn mnemonic(&self, position: usize) -> Option<&'static str> {
        match self {
            Program::Nvidia(program) => program.mnemonic(program.instrs.get(position)?),
            Program::Amd(program) => Some(program.instrs.get(position)?.opcode()?.name()),
            Program::Mini(program) => Some(program.row(program.instrs.get(position)?).mnemonic),
        }
    }

    /// Family of the machines that execute the program.
    pub fn family(&self) -> Family {
        match self {
            Program::Nvidia(program) => program.arch().family(),
            Program::Amd(_) => Family::Gcn3,
            Program::Mini(_) => Family::MiniSimt,
        }
    }

    /// Register files of the instruction set.
    pub fn registers(&self) -> &'static RegisterFiles {
        match self {
            Program::Nvidia(program) => match program.arch().family() {
                Family::Volta => &nvidia::REGISTERS_SINCE_VOLTA,
                Family::Maxwell | Family::Gcn3 | Family::MiniSimt => &nvidia::REGISTERS,
            },
            Program::Amd(_) => &amd::REGISTERS,
            Program::Mini(_) => &mini::REGISTERS,
        }
    }

    /// Name of a position in the kernel's text; `None` if the kernel is machine code.
    pub fn label(&self, position: usize) -> Option<String> {
        match self {
            Program::Nvidia(_) | Program::Amd(_) => None,
            Program::Mini(program) => Some(program.position_name(u32::try_from(position).ok()?)),
        }
    }

    /// Line of the kernel's text, counted from 0, with the instruction at a position; `None` for machine code.
    pub fn line(&self, position: usize) -> Option<u32> {
        match self {
            Program::Nvidia(_) | Program::Amd(_) => None,
            Program::Mini(program) => Some(program.instrs.get(position)?.line),
        }
    }

    /// Statistics class of the instruction at a position; `None` if the instruction set has no classes.
    pub fn class(&self, position: usize) -> Option<nvidia::InstrClass> {
        match self {
            Program::Nvidia(program) => Some(program.class(program.instrs.get(position)?)),
            // Classes are properties of NVIDIA's opcodes.
            Program::Amd(_) | Program::Mini(_) => None,
        }
    }

    /// Name of the statistics class of the instruction at a position, or of its unit if the instruction set has units
    /// instead of classes. `None` if it has neither.
    pub fn class_name(&self, position: usize) -> Option<&'static str> {
        match self {
            Program::Nvidia(_) | Program::Mini(_) => Some(self.class(position)?.name()),
            Program::Amd(program) => Some(program.instrs.get(position)?.unit()?.name()),
        }
    }

    /// Memory effect of the instruction at a position, and the bytes that each lane accesses. `None` if it accesses
    /// no memory, or if memory is not addressed in bytes (mini-SIMT).
    pub fn access(&self, position: usize) -> Option<(MemoryEffect, u32)> {
        match self {
            Program::Nvidia(program) => {
                let instr = program.instrs.get(position)?;
                let bytes = program.access_bytes(instr)?;
                Some((program.effects(instr).access?, bytes))
            }
            // The sizes of accesses are not in the table.
            Program::Amd(_) | Program::Mini(_) => None,
        }
    }
}
