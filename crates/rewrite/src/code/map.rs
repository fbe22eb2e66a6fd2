//! [`CodeMap`]: the new places of the instructions of a section.
//!
//! Three new positions belong to each instruction of the file, in this order: `boundary`, before everything inserted
//! there; `entry`, where jumps arrive; and `own`, the instruction itself. For example, one instruction inserted
//! before position 5 for [`super::Entry::FallThrough`] and one for [`super::Entry::All`] give `boundary` 5, `entry` 6
//! and `own` 7.

use warpbound_base::{CodeAddr, GroupedCode};

use super::words::{GROUP, SLOTS};

/// New addresses of the instructions of one section.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CodeMap {
    /// New position of each instruction of the file, by its old position.
    pub(crate) own: Vec<u32>,
    /// New position that jumps to the instruction reach.
    pub(crate) entry: Vec<u32>,
    /// Position of the first instruction inserted before it, apart from stubs. One more entry stands for the end.
    pub(crate) boundary: Vec<u32>,
    /// Number of instructions in the new section.
    pub(crate) len: u32,
}

/// Address of a position, for example 0x8 for position 0 and 0x28 for position 3.
pub(crate) fn address(position: u32) -> u32 {
    GroupedCode::WITH_THREE_SLOTS.address(position)
}

/// Address of a position as a target. The first slot of a group is named by the address of the group.
pub(crate) fn target_address(position: u32) -> u32 {
    match position % SLOTS {
        0 => position / SLOTS * GROUP,
        _ => address(position),
    }
}

/// Position of the instruction at an address of the file.
fn position(at: u32) -> Option<usize> {
    let position = GroupedCode::WITH_THREE_SLOTS.position(at);
    position.map(|position| position as usize)
}

impl CodeMap {
    /// Bytes of the section in the file.
    pub fn old_size(&self) -> u32 {
        self.own.len() as u32 / SLOTS * GROUP
    }

    /// Bytes of the new section.
    pub fn new_size(&self) -> u32 {
        self.len.div_ceil(SLOTS) * GROUP
    }

    /// New address of the instruction at an address; `None` where none begins.
    pub fn instr(&self, at: CodeAddr) -> Option<CodeAddr> {
        let own = self.own.get(position(at.0)?)?;
        // A file may name the first slot by the address of its group; the new address then has the same form.
        let new = if at.0.is_multiple_of(GROUP) {
            target_address(*own)
        } else {
            address(*own)
        };
        Some(CodeAddr(new))
    }

    /// New address that replaces a jump target.
    pub fn target(&self, at: CodeAddr) -> Option<CodeAddr> {
        let entry = self.entry.get(position(at.0)?)?;
        // Jumps may name the first instruction of a group by its own address as well, which is kept.
        let new = if at.0 % GROUP == 8 {
            address(*entry)
        } else {
            target_address(*entry)
        };
        Some(CodeAddr(new))
    }

    /// New address of the first byte of a function, or of the byte after its last one.
    pub fn boundary(&self, at: CodeAddr) -> Option<CodeAddr> {
        if at.0 == self.old_size() {
            return Some(CodeAddr(self.new_size()));
        }
        let boundary = self.boundary.get(position(at.0)?)?;
        Some(CodeAddr(target_address(*boundary)))
    }
}
