//! Statistics classes of instructions, and access sizes in bytes.
//!
//! For example, `FFMA` has the class `fp32`, and `LDG.E.64` accesses 8 bytes per lane.

use super::modifier::Modifier;
use super::opcode::InstrClass;
use super::operand::OperandValue;
use super::program::SassProgram;
use super::sass_instr::SassInstr;
use crate::instr::MemorySpace;

impl SassProgram {
    /// Statistics class of an instruction.
    pub fn class(&self, instr: &SassInstr) -> InstrClass {
        let opcode = self.form(instr).map(|form| form.opcode());
        opcode.map_or(InstrClass::Other, |opcode| opcode.class())
    }

    /// Number of bytes that each lane loads or stores. For textures and surfaces without a size modifier, this is the
    /// size of the data registers. `None` for an instruction that accesses no memory.
    pub fn access_bytes(&self, instr: &SassInstr) -> Option<u32> {
        let access = self.effects(instr).access?;
        // CCTL has an address, but neither reads nor writes data.
        if !access.loads && !access.stores {
            return None;
        }
        let view = self.view(instr)?;
        let sized = view
            .modifiers
            .iter()
            .rev()
            .find_map(|modifier| match modifier {
                Modifier::U8 | Modifier::S8 => Some(1),
                Modifier::U16 | Modifier::S16 => Some(2),
                Modifier::B64 | Modifier::U64 | Modifier::S64 | Modifier::F64 => Some(8),
                Modifier::B128 | Modifier::U128 => Some(16),
                // Two or four matrices: each lane holds a register of each.
                Modifier::N2 => Some(8),
                Modifier::N4 => Some(16),
                _ => None,
            });
        let registers = || {
            let mut data = view.operands.iter();
            let data = data.find(|operand| matches!(operand.value, OperandValue::Reg(_)))?;
            // A register has four bytes.
            Some(4 * u32::from(data.count))
        };
        match access.space {
            MemorySpace::Texture | MemorySpace::Surface => sized.or_else(registers),
            // The disassembler prints no size for 32 bits.
            _ => Some(sized.unwrap_or(4)),
        }
    }
}
