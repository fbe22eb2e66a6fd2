//! [`CodeMap`]: where the instructions of a section went.

use warpbound_base::CodeAddr;

use super::{GROUP, SLOTS};

/// New addresses of the instructions of one section.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CodeMap {
    /// By position in the file: position of the instruction itself.
    pub(crate) own: Vec<u32>,
    /// Position that jumps to the instruction reach.
    pub(crate) entry: Vec<u32>,
    /// Position of the first instruction inserted before it, apart from stubs; one more entry for the end.
    pub(crate) boundary: Vec<u32>,
    /// Number of instructions.
    pub(crate) len: u32,
}

/// Address of a position.
pub(crate) fn address(position: u32) -> u32 {
    position / SLOTS * GROUP + 8 + position % SLOTS * 8
}

/// Address of a position as a target: that of the group for the first slot.
pub(crate) fn target_address(position: u32) -> u32 {
    match position % SLOTS {
        0 => position / SLOTS * GROUP,
        _ => address(position),
    }
}

/// Position of an instruction at an address of the file.
fn position(at: u32) -> Option<usize> {
    let slot = match at % GROUP {
        0 | 8 => 0,
        16 => 1,
        24 => 2,
        _ => return None,
    };
    Some((at / GROUP * SLOTS + slot) as usize)
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
        // A file may name the first slot by the address of its group.
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
        let new = if at.0 % GROUP == 8 {
            address(*entry)
        } else {
            target_address(*entry)
        };
        Some(CodeAddr(new))
    }

    /// New address of the start of a function, or of the end of one: the byte after its last.
    pub fn boundary(&self, at: CodeAddr) -> Option<CodeAddr> {
        if at.0 == self.old_size() {
            return Some(CodeAddr(self.new_size()));
        }
        let boundary = self.boundary.get(position(at.0)?)?;
        Some(CodeAddr(target_address(*boundary)))
    }
}
