//! Addresses of code in instruction words. Each must be moved when the code moves, or the kernel is refused.

use std::collections::BTreeSet;

use warpbound_base::CodeAddr;
use warpbound_isa::nvidia::{
    Arch, InstrClass, Opcode, OperandValue, SassInstr, SassProgram, canonical, table,
};
use warpbound_isa::{BranchTarget, Guard, InstrFlow, SpecialReg, StackToken, ValueSource};

use super::{OldInstr, slot_bits};

/// Reference of a word to code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reference {
    /// No code.
    None,
    /// Code at this address, relative to the next word.
    Relative(CodeAddr),
    /// Sum of a register and this address, encoded relative to the next word (BRX).
    Anchor(i64),
    /// Absolute address, which a relocation writes.
    Relocated,
    /// Code that cannot be moved, with the reason.
    Fixed(&'static str),
}

impl Reference {
    /// Reference of a decoded instruction; `relocated` are the addresses of words that relocations change.
    pub(crate) fn of(
        program: &SassProgram,
        instr: &SassInstr,
        relocated: &BTreeSet<u64>,
    ) -> Reference {
        let is_relocated = relocated.contains(&u64::from(instr.addr.0));
        let opcode = program.opcode(instr);
        if opcode == Some(Opcode::Lepc) {
            // Its result depends on where it stands, and nothing says how the program uses it.
            return Reference::Fixed("an instruction that reads the program counter");
        }
        // Only control instructions have targets, so the operands of others need not be decoded.
        if opcode.is_some_and(|opcode| opcode.class() != InstrClass::Control) {
            return Reference::None;
        }
        let Some(view) = program.view(instr) else {
            // Holes of sections are filled with zeros.
            return match instr.word as u64 & !(1 << 63) {
                0 => Reference::None,
                _ => Reference::Fixed("a word that is no instruction"),
            };
        };
        let is_indirect = matches!(opcode, Some(Opcode::Brx | Opcode::Jmx));
        for operand in &view.operands {
            let reference = match operand.value {
                // Before the other targets: the encoded one has no meaning until the loader writes it.
                OperandValue::Target(_) if is_relocated => Reference::Relocated,
                OperandValue::Target(BranchTarget::Code(target)) => Reference::Relative(target),
                OperandValue::Target(BranchTarget::Outside) => {
                    Reference::Fixed("a target outside of the section")
                }
                OperandValue::Target(BranchTarget::Absolute(_)) => {
                    Reference::Fixed("an absolute target without a relocation")
                }
                OperandValue::Target(BranchTarget::Constant { .. }) => {
                    Reference::Fixed("a target in constant memory")
                }
                OperandValue::ConstIndexed { .. } if is_indirect => {
                    Reference::Fixed("a target in constant memory")
                }
                OperandValue::RegTarget { offset, .. } if opcode == Some(Opcode::Brx) => {
                    // The anchor is the absolute address that the field encodes relative to the next word.
                    Reference::Anchor(offset + i64::from(instr.addr.0) + 8)
                }
                _ => continue,
            };
            return reference;
        }
        Reference::None
    }
}

/// Decodes a word at address 0x8 as the only instruction of its group.
fn decode(arch: Arch, word: u64, control: u32) -> Option<(SassProgram, SassInstr)> {
    // Decoding accepts a word that no form of the table matches, but nothing is known of its effects.
    table(arch).find(arch, word.into())?;
    let mut code = [0_u8; 32];
    let slots = u64::from(control);
    code.iter_mut()
        .zip(slots.to_le_bytes())
        .for_each(|(to, from)| *to = from);
    let words = code.iter_mut().skip(8);
    words
        .zip(word.to_le_bytes())
        .for_each(|(to, from)| *to = from);
    let program = SassProgram::decode(arch, &code).ok()?;
    let instr = *program.instrs.first()?;
    Some((program, instr))
}

/// Instructions whose addresses the attributes of a kernel list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Listed {
    /// Ends threads.
    Exit,
    /// Reads a part of the index of the block.
    BlockIndex,
}

/// List of attributes to which an instruction belongs.
pub(crate) fn listed(arch: Arch, word: u64) -> Option<Listed> {
    match opcode(arch, word)? {
        Opcode::Exit => Some(Listed::Exit),
        Opcode::S2r => {
            // Which special register is read is an operand, so the opcode does not decide.
            let (program, instr) = decode(arch, word, plain_slot(0))?;
            let source = program.effects(&instr).source;
            let is_block = matches!(source, ValueSource::Special(SpecialReg::BlockIndex(_)));
            is_block.then_some(Listed::BlockIndex)
        }
        _ => None,
    }
}

/// Opcode of a word.
pub(crate) fn opcode(arch: Arch, word: u64) -> Option<Opcode> {
    let table = table(arch);
    Some(table.form(table.find(arch, word.into())?)?.opcode())
}

/// Whether an instruction is padding at the end of a function, that is a NOP or a branch to itself.
pub(crate) fn is_padding(arch: Arch, instr: &OldInstr) -> bool {
    match opcode(arch, instr.word) {
        Some(Opcode::Nop) => true,
        Some(Opcode::Bra) => {
            matches!(instr.reference, Reference::Relative(to) if canonical(to) == instr.addr)
        }
        _ => false,
    }
}

/// Whether execution never continues at the next instruction, except by a return from a call.
pub(crate) fn never_falls_through(arch: Arch, instr: &OldInstr) -> bool {
    let Some((program, decoded)) = decode(arch, instr.word, instr.control) else {
        // Nothing is known of this word, so no code may be placed after it.
        return false;
    };
    let effects = program.effects(&decoded);
    // A test of the condition code with number 15 always holds.
    let is_unconditional = effects.guard == Guard::ALWAYS && effects.cc_test.0 == 15;
    is_unconditional
        && matches!(
            effects.flow,
            InstrFlow::Exit
                | InstrFlow::Branch(_)
                | InstrFlow::Pop(
                    StackToken::Ret | StackToken::Sync | StackToken::Brk | StackToken::Cont
                )
        )
}

/// Slot of a NOP, or of a branch whose results no later instruction waits for: no scoreboards, and the given stall
/// only.
pub(crate) fn plain_slot(usched: u8) -> u32 {
    slot_bits(warpbound_isa::ControlWord {
        usched,
        write_sb: None,
        read_sb: None,
        wait_mask: 0,
        reuse: 0,
        coupled: false,
    })
}
