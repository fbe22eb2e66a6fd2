//! Rows of `gfx803.forms`: encodings and opcodes, and the lookup of the row of a word. For
//! example, `s_nop 0` (0xbf800000) has format SOPP and opcode 0, and that pair has one candidate row.

use super::description::GFX803;
use super::fields::Encoding;
use super::opcode::GcnOpcode;
use crate::compiled::compiled;
use crate::encoding::{EncodingTable, RowPattern};

use gfx803::HEADS;

pub(crate) use gfx803::OPCODES;

compiled! {
    /// Rows as the build script has parsed them.
    gfx803, "gfx803.rs"
}
use std::sync::OnceLock;
use warpbound_base::Bits;

/// Index of a row of the table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct GcnFormId(pub(crate) u16);

/// Number of rows.
pub(crate) const ROWS: usize = HEADS.len();

/// Table of GCN3, without an index of its own. [`find`] uses one by format and opcode, because each format of GCN3
/// has its opcode in other bits.
pub(crate) const ENCODINGS: EncodingTable<u64> = EncodingTable::new(GFX803, &HEADS, &[], &[], &[]);

/// Rows with an opcode.
pub(crate) fn with_opcode(opcode: GcnOpcode) -> impl Iterator<Item = GcnFormId> {
    let rows = (0u16..).zip(&OPCODES);
    rows.filter(move |(_, known)| **known == opcode)
        .map(|(row, _)| GcnFormId(row))
}

/// Rows of one format and opcode, most specific first: at most three, without extension, with SDWA and with DPP.
type Candidates = Vec<(u16, RowPattern<u64>)>;

/// Upper bound on the opcodes of a format: VOP3 has 10 bits for them.
const OPCODE_COUNT: usize = 1024;

/// Finds the row that matches a word: among all matches, the one with the most specific mask.
pub(crate) fn find(word: u64) -> Option<u16> {
    static INDEX: OnceLock<Vec<Candidates>> = OnceLock::new();
    let index = INDEX.get_or_init(index);
    let mut candidates = index.get(key(word as u32)?)?.iter();
    let found = candidates.find(|(_, row)| (word ^ row.value) & row.mask == 0);
    found.map(|(row, _)| *row)
}

/// Position of a word's format and opcode in the index.
fn key(first: u32) -> Option<usize> {
    let encoding = Encoding::of_word(first)?;
    let opcode = u128::from(first).field(encoding.opcode());
    Some(encoding as usize * OPCODE_COUNT + opcode as usize)
}

fn index() -> Vec<Candidates> {
    let mut index = vec![Candidates::new(); (Encoding::Exp as usize + 1) * OPCODE_COUNT];
    for (row, head) in HEADS.iter().enumerate() {
        // A row fixes format and opcode, so its value has the same key as its words.
        let place = key(head.value as u32).and_then(|key| index.get_mut(key));
        if let Some(candidates) = place {
            candidates.push((row as u16, RowPattern::<u64>::of(head)));
            // A row with SDWA or DPP fixes more bits, so it must precede the plain row, which matches its words too.
            candidates.sort_by_key(|(_, row)| u64::BITS - row.mask.count_ones());
        }
    }
    index
}

/// Value and mask of the fixed bits of each form. Bits of the first dword are in the low half.
pub fn form_patterns() -> impl Iterator<Item = (u64, u64)> {
    HEADS
        .iter()
        .map(|head| (head.value as u64, head.mask as u64))
}
