//! Table of Maxwell (sm_50, sm_52, sm_53) and Pascal (sm_60, sm_61, sm_62): words of 64 bits in groups of three, each
//! with a control word before it.
//!
//! For example, bits 63:51 of a word select one of 2¹³ buckets, and a bucket lists the few rows that match such a
//! word. A fault in a row is a build error.

use super::compiled::maxwell::{CANDIDATES, ENTRIES, HEADS, OPCODES, PATTERNS, STARTS};
use super::descriptions::{MAXWELL, MAXWELL_NAMES, MAXWELL_NUMBERS};
use super::shared::arch::Arch;
use super::shared::control::ControlWord;
use super::shared::dialect::Dialect;
use super::shared::lookup::{CodeReader, form_table};
use super::shared::names::ListFile;
use super::shared::sass_instr::SassInstr;
use crate::encoding::{EncodingTable, GROUP};
use warpbound_base::{BitRange, CodeAddr, Diagnostic, Family};

const ENCODINGS: EncodingTable<u64> =
    EncodingTable::new(MAXWELL, &HEADS, &PATTERNS, &STARTS, &CANDIDATES);

static LIST_FILE: ListFile = ListFile::new(MAXWELL_NAMES, &ENTRIES);

static DIALECT: Dialect = Dialect {
    family: Family::Maxwell,
    archs: &MAXWELL_NUMBERS,
    lists: &LIST_FILE,
    word_bits: 64,
    // Bits 83:81 of a row are bits 19:17 of its slot of the control word.
    slot_bit: Some(81),
    control: None,
    guard: BitRange { hi: 18, lo: 16 },
    guard_not: 19,
    source_bits: [8, 20, 39],
    first_reuse_bit: 81,
    fixed_operands: false,
    // The disassembler names signalling NaNs of doubles only.
    names_nans_from: u32::MAX,
    target_unit: 1,
    has_effects: true,
};

const CODE: CodeReader = CodeReader {
    find: |arch, word| ENCODINGS.find(arch, word as u64),
    decode,
    index_of,
};

form_table! {
    /// Forms of Maxwell and Pascal.
    pub(crate) static TABLE = ENCODINGS, DIALECT, CODE, opcodes: OPCODES, archs: MAXWELL_NUMBERS.len(), lists: ENTRIES.len();
}

/// Decodes groups of 32 bytes: a control word and three instructions.
fn decode(arch: Arch, code: &[u8]) -> Result<Vec<SassInstr>, Diagnostic> {
    let on = TABLE.for_arch(arch);
    let mut instrs = Vec::with_capacity(code.len() / GROUP * 3);
    ENCODINGS.decode(DIALECT.index_of(arch.sm()), code, |instr| {
        let (control, slot) = instr.control.unwrap_or_default();
        instrs.push(SassInstr {
            addr: instr.addr,
            word: instr.word,
            control: ControlWord::of_slot(control, slot),
            form: instr.row.and_then(|row| TABLE.accept(on, row, instr.word)),
        });
    })?;
    Ok(instrs)
}

/// Index of the instruction at an address. The address of a control word stands for the first slot of its group.
fn index_of(addr: CodeAddr) -> Option<usize> {
    // A branch may lead to a control word, and then execution goes on at the first slot.
    let addr = canonical(addr).0 as usize;
    let (group, within) = (addr / GROUP, addr % GROUP);
    let slot = match within {
        8 => 0,
        16 => 1,
        24 => 2,
        _ => return None,
    };
    // A program has no control words, so each group has three instructions.
    Some(group * 3 + slot)
}

/// Returns the canonical address of a point in the code: the address of a control word (a multiple of 32)
/// stands for the first instruction slot after it.
pub fn canonical(addr: CodeAddr) -> CodeAddr {
    if addr.0.is_multiple_of(GROUP as u32) {
        // Bit 3 of a multiple of 32 is clear, so this adds 8 and cannot overflow.
        CodeAddr(addr.0 | 8)
    } else {
        addr
    }
}
