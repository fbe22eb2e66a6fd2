//! Tables of encodings of NVIDIA's GPUs, and their files of lists. They are compiled in, and the build script reads them.

use crate::encoding::{CodeLayout, TableDescription, WordWidth};
use crate::nvidia::Arch;
use warpbound_base::{BitRange, Family};

/// Numbers of the architectures of Maxwell and Pascal.
pub(crate) const MAXWELL_NUMBERS: [u32; 4] = Arch::numbers(Family::Maxwell);

/// Encodings of Maxwell and Pascal. Bits 63:51 of a word select one of 2¹³ buckets.
pub(crate) const MAXWELL: TableDescription = TableDescription {
    text: include_str!("../../../../isa/nvidia/maxwell.forms"),
    layout: CodeLayout::ControlGroups,
    index: &[BitRange { hi: 63, lo: 51 }],
    archs: &MAXWELL_NUMBERS,
};

/// Lists of [`MAXWELL`].
pub(crate) const MAXWELL_NAMES: &str = include_str!("../../../../isa/nvidia/maxwell.names");

/// Numbers of the architectures from Volta to Blackwell.
pub(crate) const VOLTA_NUMBERS: [u32; 12] = Arch::numbers(Family::Volta);

/// Encodings from Volta to Blackwell. Bits 11:0 and 91 of a word are its opcode and select one of 2¹³ buckets.
pub(crate) const VOLTA: TableDescription = TableDescription {
    text: include_str!("../../../../isa/nvidia/volta.forms"),
    layout: CodeLayout::Units(WordWidth::Bits128),
    index: &[BitRange { hi: 91, lo: 91 }, BitRange { hi: 11, lo: 0 }],
    archs: &VOLTA_NUMBERS,
};

/// Lists of [`VOLTA`].
pub(crate) const VOLTA_NAMES: &str = include_str!("../../../../isa/nvidia/volta.names");

/// Table that is compiled in.
#[allow(dead_code, reason = "only the build script reads it")]
pub(crate) struct CompiledTable {
    /// Name of its generated file.
    pub(crate) name: &'static str,
    pub(crate) description: TableDescription,
    /// Bits of the integers as which words are compared.
    pub(crate) word: u32,
    /// Text of its file of lists.
    pub(crate) lists: &'static str,
}

/// All tables of NVIDIA's GPUs.
#[allow(dead_code, reason = "only the build script reads it")]
pub(crate) const TABLES: [CompiledTable; 2] = [
    CompiledTable {
        name: "maxwell",
        description: MAXWELL,
        word: u64::BITS,
        lists: MAXWELL_NAMES,
    },
    CompiledTable {
        name: "volta",
        description: VOLTA,
        word: u128::BITS,
        lists: VOLTA_NAMES,
    },
];
