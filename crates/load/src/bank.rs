//! Constant banks.
//!
//! Instructions read a bank with an operand `c[bank][offset]`. For example, `c[0x2][0x0]` is the first literal of
//! the compiler, and `c[0x0][0x140]` the first parameter of a kernel if the file states this offset.

use std::sync::Arc;

use bytes::Bytes;

use crate::relocation::Relocation;

/// One constant bank as a kernel sees it.
///
/// [`ConstantBanks`](warpbound_base::ConstantBanks) says which bank has what.
#[derive(Clone, Debug)]
pub struct ConstBank {
    /// Bank number, as in `c[number][offset]`.
    pub number: u8,
    /// Whether all kernels of the file share the bank.
    pub is_shared_by_kernels: bool,
    /// Byte offset of the contents in the file.
    pub file_offset: u64,
    /// Relocations that the linker or the driver applies to the contents.
    pub relocations: Arc<[Relocation]>,
    pub(crate) contents: Bytes,
}

impl ConstBank {
    /// Contents in the file. Bank 3 has initial values here; the parameters are zeros, because a launch writes them.
    pub fn bytes(&self) -> &[u8] {
        &self.contents
    }

    /// The 32-bit word at a byte offset; `None` past the contents in the file.
    pub fn word(&self, offset: u32) -> Option<u32> {
        let start = usize::try_from(offset).ok()?;
        let word = self.contents.get(start..)?.first_chunk::<4>()?;
        Some(u32::from_le_bytes(*word))
    }
}

/// Parts of the name of a constant section.
pub(crate) struct BankName {
    pub(crate) number: u8,
    /// Whether a function's name follows the number.
    pub(crate) has_owner: bool,
}

/// Parses a section name `.nv.constant<number>` or `.nv.constant<number>.<function>`.
pub(crate) fn parse_name(section_name: &str) -> Option<BankName> {
    let rest = section_name.strip_prefix(".nv.constant")?;
    let (digits, has_owner) = match rest.split_once('.') {
        Some((digits, _)) => (digits, true),
        None => (rest, false),
    };
    // An instruction encodes the bank number in five bits.
    let number = digits.parse().ok().filter(|number| *number < 32)?;
    Some(BankName { number, has_owner })
}
