//! Rows of `maxwell.forms`: encodings and opcodes, parsed at compile time.
//!
//! For example, bits 63:51 of a word select one of 2¹³ buckets, and a bucket lists the few rows that match such a
//! word. A fault in a row is a build error.

use super::arch::Arch;
use super::opcode::Opcode;
use crate::encoding::{CodeLayout, TableDescription};
use crate::encoding_table;
use warpbound_base::BitRange;

encoding_table! {
    /// Table of Maxwell and Pascal.
    pub(crate) const ENCODINGS: u64 = TableDescription {
        text: include_str!("../../../../isa/nvidia/maxwell.forms"),
        layout: CodeLayout::ControlGroups,
        index: &[BitRange { hi: 63, lo: 51 }],
        archs: &Arch::NUMBERS,
    };
}

/// Number of rows.
pub(crate) const ROWS: usize = ENCODINGS.heads().len();

/// Opcodes of all rows, in the order of the file.
pub(crate) static OPCODES: [Opcode; ROWS] = opcodes();

const fn opcodes() -> [Opcode; ROWS] {
    let mut opcodes = [Opcode::Nop; ROWS];
    let mut row = 0;
    while row < ROWS {
        let head = &ENCODINGS.heads()[row];
        let opcode = Opcode::with_name(ENCODINGS.mnemonic(head));
        assert!(opcode.is_some(), "{}", ENCODINGS.line(head));
        if let Some(opcode) = opcode {
            opcodes[row] = opcode;
        }
        row += 1;
    }
    opcodes
}
