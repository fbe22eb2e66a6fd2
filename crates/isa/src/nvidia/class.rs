//! Statistics classes of instructions, and access sizes in bytes.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::operand::OperandValue;
use super::program::{SassInstr, SassProgram};
use crate::instr::MemorySpace;

static CLASSES: &str = include_str!("../../../../isa/nvidia/maxwell.classes");

/// Class of words that are not an instruction, and of opcodes without a class of their own.
pub(crate) const OTHER: &str = "other";

/// Pairs of class and opcode, in the order of the file.
pub fn classes() -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = CLASSES.lines().filter(|line| !line.starts_with('#'));
    rows.filter_map(|line| line.split_once(':'))
        .flat_map(|(class, opcodes)| opcodes.split_whitespace().map(move |name| (class, name)))
}

impl SassProgram {
    /// Statistics class of an instruction: `integer`, `load/store`.
    pub fn class(&self, instr: &SassInstr) -> &'static str {
        static TABLE: OnceLock<HashMap<&str, &str>> = OnceLock::new();
        let table = TABLE.get_or_init(|| classes().map(|(class, name)| (name, class)).collect());
        let name = self.mnemonic(instr);
        name.and_then(|name| table.get(name).copied())
            .unwrap_or(OTHER)
    }

    /// Bytes that each lane loads or stores; for textures and surfaces without a size modifier, the bytes of the data
    /// registers. `None` for an instruction that accesses no memory.
    pub fn access_bytes(&self, instr: &SassInstr) -> Option<u32> {
        let access = self.effects(instr).access?;
        if !access.loads && !access.stores {
            return None;
        }
        let view = self.view(instr)?;
        let words = view.modifiers.iter().flat_map(|text| text.split('.'));
        let sized = words.rev().find_map(|word| match word {
            "U8" | "S8" => Some(1),
            "U16" | "S16" => Some(2),
            "64" | "U64" | "S64" | "F64" => Some(8),
            "128" | "U128" => Some(16),
            _ => None,
        });
        let registers = || {
            let mut data = view.operands.iter();
            let data = data.find(|operand| matches!(operand.value, OperandValue::Reg(_)))?;
            Some(4 * u32::from(data.count))
        };
        match access.space {
            MemorySpace::Texture | MemorySpace::Surface => sized.or_else(registers),
            _ => Some(sized.unwrap_or(4)),
        }
    }
}
