//! Table of encodings of GCN3. It is compiled in, and the build script reads it.

use crate::encoding::{CodeLayout, TableDescription, WordWidth};

/// Encodings of GCN3, without an index: each format of GCN3 has its opcode in other bits.
pub(crate) const GFX803: TableDescription = TableDescription {
    text: include_str!("../../../../isa/amd/gfx803.forms"),
    layout: CodeLayout::Units(WordWidth::Bits32),
    index: &[],
    archs: &[803],
};
