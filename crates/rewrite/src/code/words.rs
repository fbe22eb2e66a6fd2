//! Bits of the words that the rewriter writes: slots of control words, the field of relative targets, `NOP` and `BRA`.
//! The decoder in `isa` reads the same bits.
//!
//! For example, a slot has its stall count in bits 3:0 and its wait mask in bits 16:11.

use warpbound_base::{CodeAddr, GroupedCode};
use warpbound_isa::ControlWord;

/// Layout of the groups.
const CODE: &GroupedCode = GroupedCode::WITH_THREE_SLOTS;

/// Bytes of a group, and instructions in it.
pub(crate) const GROUP: u32 = CODE.group_bytes();
pub(crate) const SLOTS: u32 = CODE.slots;

/// Instruction counts are filled up to a multiple of this number, because `ptxas` pads sections to 64 bytes, two
/// groups of three.
pub(super) const PADDING: usize = 2 * SLOTS as usize;

/// `NOP` with the condition that always holds, for all architectures of the code.
pub(crate) const NOP: u64 = 0x50b0_0000_0007_0f00;

/// `BRA` without its offset.
pub(super) const BRA: u64 = 0xe240_0000_0007_000f;

/// Bits of an instruction word that hold a relative target.
const TARGET_LOW_BIT: u32 = 20;
const TARGET_BITS: u32 = 24;

/// Bits of a slot. Three slots fill the control word but for its highest bit.
const SLOT_BITS: u32 = 21;

/// Bits of a slot with the stall count or another code for the distance to the next instruction.
const DISTANCE: u32 = 0x1f;

/// Code in these bits by which an instruction issues together with the one after it.
const PAIR: u32 = 16;

/// Bits of a slot with the flags of operands that stay in the reuse cache.
const REUSE: u32 = 7 << 17;

/// Returns the slot of the control word for the instruction at an address.
pub(super) fn slot_at(code: &[u8], at: CodeAddr) -> u32 {
    let group = (at.0 / GROUP * GROUP) as usize;
    let word = code.get(group..).and_then(<[u8]>::first_chunk::<8>);
    let word = word.map_or(0, |word| u64::from_le_bytes(*word));
    // The control word is the first word of the group.
    let slot = (at.0 % GROUP / CODE.word_bytes).saturating_sub(1);
    (word >> (SLOT_BITS * slot)) as u32 & ((1 << SLOT_BITS) - 1)
}

/// Encodes the slot of a control word. Scoreboard 7 means none.
pub(crate) fn slot_bits(control: ControlWord) -> u32 {
    let scoreboard = |number: Option<u8>| u32::from(number.unwrap_or(7) & 7);
    u32::from(control.usched) & DISTANCE
        | scoreboard(control.write_sb) << 5
        | scoreboard(control.read_sb) << 8
        | u32::from(control.wait_mask & CODE.all_scoreboards()) << 11
        | u32::from(control.reuse) << 17 & REUSE
        | u32::from(control.coupled) << 20
}

/// Returns a slot whose instruction keeps no operands in the reuse cache.
pub(super) fn without_reuse(slot: u32) -> u32 {
    slot & !REUSE
}

/// Returns a slot whose instruction does not issue together with the next one, but 1 cycle before it.
pub(super) fn without_pair(slot: u32) -> u32 {
    match slot & DISTANCE {
        PAIR => slot | 1,
        _ => slot,
    }
}

/// Returns an instruction word with an offset in the field of its target; `None` if it does not fit.
pub(super) fn with_offset(word: u64, offset: i64) -> Option<u64> {
    let limit = 1_i64 << (TARGET_BITS - 1);
    // The field is signed, so the offset is cut to its width in two's complement.
    let field = ((1_u64 << TARGET_BITS) - 1) << TARGET_LOW_BIT;
    (-limit..limit)
        .contains(&offset)
        .then_some(word & !field | (offset.cast_unsigned() << TARGET_LOW_BIT) & field)
}

/// Returns the bytes of groups of a control word and its instructions, each an instruction word with its slot. The
/// number of instructions must be a multiple of [`SLOTS`].
pub(super) fn pack(words: &[(u64, u32)]) -> Vec<u8> {
    // Nothing remains, because `assemble` pads the words to a multiple of two groups.
    let (groups, _) = words.as_chunks::<{ SLOTS as usize }>();
    let mut bytes = Vec::with_capacity(groups.len() * GROUP as usize);
    for group in groups {
        let slots = (0..).zip(group);
        let control = slots.fold(0_u64, |control, (slot, (_, bits))| {
            control | u64::from(*bits) << (SLOT_BITS * slot)
        });
        bytes.extend(control.to_le_bytes());
        for (word, _) in group {
            bytes.extend(word.to_le_bytes());
        }
    }
    bytes
}
