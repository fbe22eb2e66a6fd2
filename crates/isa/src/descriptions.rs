//! Tables of encodings that are compiled in, and their files of lists. The build script reads them, too.

use crate::encoding::{CodeLayout, TableDescription, WordWidth};
use crate::nvidia::Arch;
use warpbound_base::{BitRange, Family};

/// Numbers of the architectures of Maxwell and Pascal.
pub(crate) const MAXWELL_NUMBERS: [u32; 4] = Arch::numbers(Family::Maxwell);

/// Encodings of Maxwell and Pascal. Bits 63:51 of a word select one of 2¹³ buckets.
pub(crate) const MAXWELL: TableDescription = TableDescription {
    text: include_str!("../../../isa/nvidia/maxwell.forms"),
    layout: CodeLayout::ControlGroups,
    index: &[BitRange { hi: 63, lo: 51 }],
    archs: &MAXWELL_NUMBERS,
};

/// Lists of [`MAXWELL`].
pub(crate) const MAXWELL_NAMES: &str = include_str!("../../../isa/nvidia/maxwell.names");

/// Numbers of the architectures from Volta to Blackwell.
pub(crate) const VOLTA_NUMBERS: [u32; 12] = Arch::numbers(Family::Volta);

/// Encodings from Volta to Blackwell. Bits 11:0 and 91 of a word are its opcode and select one of 2¹³ buckets.
pub(crate) const VOLTA: TableDescription = TableDescription {
    text: include_str!("../../../isa/nvidia/volta.forms"),
    layout: CodeLayout::Units(WordWidth::Bits128),
    index: &[BitRange { hi: 91, lo: 91 }, BitRange { hi: 11, lo: 0 }],
    archs: &VOLTA_NUMBERS,
};

/// Lists of [`VOLTA`].
pub(crate) const VOLTA_NAMES: &str = include_str!("../../../isa/nvidia/volta.names");

/// Encodings of GCN3, without an index: each format of GCN3 has its opcode in other bits.
pub(crate) const GFX803: TableDescription = TableDescription {
    text: include_str!("../../../isa/amd/gfx803.forms"),
    layout: CodeLayout::Units(WordWidth::Bits32),
    index: &[],
    archs: &[803],
};
