//! Table of the GPUs from Volta to Blackwell: words of 128 bits, each with its control field. The rows are of sm_70 to
//! sm_121; sm_107 has none yet.
//!
//! For example, bits 11:0 and 91 of a word are its opcode and select one of 2¹³ buckets. A fault in a row is a build
//! error.

use super::compiled::volta::{CANDIDATES, ENTRIES, HEADS, OPCODES, PATTERNS, STARTS};
use super::descriptions::{VOLTA, VOLTA_NAMES, VOLTA_NUMBERS};
use super::shared::arch::Arch;
use super::shared::control::ControlWord;
use super::shared::dialect::Dialect;
use super::shared::lookup::{CodeReader, form_table};
use super::shared::names::ListFile;
use super::shared::sass_instr::SassInstr;
use crate::encoding::EncodingTable;
use warpbound_base::{BitRange, CodeAddr, Diagnostic, Family};

const ENCODINGS: EncodingTable<u128> =
    EncodingTable::new(VOLTA, &HEADS, &PATTERNS, &STARTS, &CANDIDATES);

static LIST_FILE: ListFile = ListFile::new(VOLTA_NAMES, &ENTRIES);

static DIALECT: Dialect = Dialect {
    family: Family::Volta,
    archs: &VOLTA_NUMBERS,
    lists: &LIST_FILE,
    word_bits: 128,
    slot_bit: None,
    control: Some(BitRange { hi: 125, lo: 105 }),
    guard: BitRange { hi: 14, lo: 12 },
    guard_not: 15,
    source_bits: [24, 32, 64],
    first_reuse_bit: 122,
    fixed_operands: true,
    names_nans_from: 75,
    target_unit: 4,
    has_effects: true,
};

const CODE: CodeReader = CodeReader {
    find: |arch, word| ENCODINGS.find(arch, word),
    decode,
    index_of,
};

form_table! {
    /// Forms from Volta to Blackwell.
    pub(crate) static TABLE = ENCODINGS, DIALECT, CODE, opcodes: OPCODES, archs: VOLTA_NUMBERS.len(), lists: ENTRIES.len();
}

/// Bytes of an instruction.
const BYTES: usize = 16;

/// Decodes instructions of 16 bytes.
fn decode(arch: Arch, code: &[u8]) -> Result<Vec<SassInstr>, Diagnostic> {
    let on = TABLE.for_arch(arch);
    let mut instrs = Vec::with_capacity(code.len() / BYTES);
    ENCODINGS.decode(DIALECT.index_of(arch.sm()), code, |instr| {
        instrs.push(SassInstr {
            addr: instr.addr,
            word: instr.word,
            control: ControlWord::of_field(instr.word),
            form: instr.row.and_then(|row| TABLE.accept(on, row, instr.word)),
        });
    })?;
    Ok(instrs)
}

/// Index of the instruction at an address.
fn index_of(addr: CodeAddr) -> Option<usize> {
    let addr = addr.0 as usize;
    addr.is_multiple_of(BYTES).then_some(addr / BYTES)
}
