//! Layout of edited code: first the positions of all instructions, then their words with the new targets.
//!
//! For example, with one instruction inserted before the second one of a section, the old positions 0, 1, 2 become 0,
//! 2, 3. Every relative target that crosses position 1 is then written anew.

use warpbound_base::{CodeAddr, Diagnostic};
use warpbound_load::AddressHalf;

use super::map::{CodeMap, address, target_address};
use super::references::{self, Listed, Reference};
use super::words::{
    BRA, GROUP, NOP, PADDING, pack, slot_bits, with_offset, without_pair, without_reuse,
};
use super::{EditedCode, NewInstr, NewTarget, OldInstr};

/// One instruction of the new list.
enum Emitted<'a> {
    /// Instruction of the file, with its position there.
    Old(usize, &'a OldInstr),
    /// Inserted instruction, with the position at which its list begins.
    New(&'a NewInstr, usize),
    /// Branch at the end of a stub, to an address of the file.
    Back(CodeAddr),
}

/// New code of a section with the map of its addresses.
pub(crate) struct Assembled {
    pub(crate) bytes: Vec<u8>,
    pub(crate) map: CodeMap,
    /// Addresses of inserted instructions that end threads, and of those that read the index of the block.
    pub(crate) exits: Vec<CodeAddr>,
    pub(crate) block_indices: Vec<CodeAddr>,
    /// Addresses of inserted instructions into which the loader writes one half of the variable's address.
    pub(crate) addresses: Vec<(CodeAddr, AddressHalf)>,
}

impl EditedCode {
    /// Lays the code out and writes it.
    ///
    /// # Errors
    ///
    /// A diagnostic with the address of an instruction that cannot be moved.
    pub(crate) fn assemble(&self) -> Result<Assembled, Diagnostic> {
        let (list, map, stubs) = self.layout()?;
        let mut words = Vec::with_capacity(list.len());
        let (mut exits, mut block_indices) = (Vec::new(), Vec::new());
        let mut addresses = Vec::new();
        for (position, emitted) in list.iter().enumerate() {
            // The offset is relative to the next word.
            let next = address(position as u32) + 8;
            let follows = list.get(position + 1);
            words.push(match emitted {
                Emitted::Old(index, old) => (
                    self.moved(old, next, &map, stubs.get(index).copied())?,
                    self.slot(*index, old, follows),
                ),
                Emitted::New(new, start) => {
                    let here = CodeAddr(next - 8);
                    match references::listed(self.arch, new.word) {
                        Some(Listed::Exit) => exits.push(here),
                        Some(Listed::BlockIndex) => block_indices.push(here),
                        None => {}
                    }
                    addresses.extend(new.address.map(|half| (here, half)));
                    (
                        self.placed(new, *start, next, &map)?,
                        slot_bits(new.control),
                    )
                }
                Emitted::Back(target) => {
                    let to = self.new_target(*target, *target, &map)?;
                    (
                        self.relative(BRA, next, to, *target)?,
                        references::plain_slot(15),
                    )
                }
            });
        }
        while !words.len().is_multiple_of(PADDING) {
            words.push((NOP, references::plain_slot(0)));
        }
        Ok(Assembled {
            bytes: pack(&words),
            map,
            exits,
            block_indices,
            addresses,
        })
    }

    /// The new list, the map, and the position of the stub of each branch that has one.
    #[expect(clippy::type_complexity, reason = "the parts of one layout")]
    fn layout(
        &self,
    ) -> Result<
        (
            Vec<Emitted<'_>>,
            CodeMap,
            std::collections::BTreeMap<usize, u32>,
        ),
        Diagnostic,
    > {
        let mut list: Vec<Emitted<'_>> = Vec::with_capacity(self.instrs.len());
        let mut map = CodeMap {
            own: Vec::with_capacity(self.instrs.len()),
            entry: Vec::with_capacity(self.instrs.len()),
            boundary: Vec::with_capacity(self.instrs.len() + 1),
            len: 0,
        };
        let mut stubs = std::collections::BTreeMap::new();
        for index in 0..=self.instrs.len() {
            let before = self.before.get(&index);
            // Stubs come before `boundary`: they belong to the function that ends here, not to the one that begins.
            for stub in before.iter().flat_map(|before| &before.stubs) {
                stubs.insert(stub.branch, list.len() as u32);
                push(&mut list, &stub.code);
                if let Some(OldInstr {
                    reference: Reference::Relative(target),
                    ..
                }) = self.instrs.get(stub.branch)
                {
                    list.push(Emitted::Back(*target));
                }
            }
            map.boundary.push(list.len() as u32);
            // The last round has no instruction: it places stubs after the last one and the boundary of the section's
            // end.
            let Some(old) = self.instrs.get(index) else {
                break;
            };
            // Before `entry`, because a jump to the instruction must skip the code for `Entry::FallThrough`.
            for code in before.iter().flat_map(|before| &before.fall_through) {
                push(&mut list, code);
            }
            map.entry.push(list.len() as u32);
            for code in before.iter().flat_map(|before| &before.all) {
                push(&mut list, code);
            }
            map.own.push(list.len() as u32);
            list.push(Emitted::Old(index, old));
        }
        // `assemble` fills the last groups with NOPs, so their positions count here as well.
        let len = list.len().next_multiple_of(PADDING);
        map.len = u32::try_from(len)
            .ok()
            .filter(|len| *len < u32::MAX / GROUP)
            .ok_or_else(|| Diagnostic::new("the code would be longer than 4 GiB"))?;
        Ok((list, map, stubs))
    }

    /// Word of an instruction of the file at its new place; `stub` is the position of the code on its taken edge.
    fn moved(
        &self,
        old: &OldInstr,
        next: u32,
        map: &CodeMap,
        stub: Option<u32>,
    ) -> Result<u64, Diagnostic> {
        match old.reference {
            // The loader writes a relocated field, from a symbol that moves with the code.
            Reference::None | Reference::Relocated => Ok(old.word),
            Reference::Relative(target) => {
                let to = match stub {
                    // The stub ends with a branch to the old target.
                    Some(stub) => target_address(stub),
                    None => self.new_target(old.addr, target, map)?,
                };
                self.relative(old.word, next, to, old.addr)
            }
            Reference::Anchor(anchor) => {
                // A table holds offsets in the section, and `move_tables` writes the new ones. With another anchor,
                // the sum would depend on where the branch stands.
                if anchor != 0 {
                    let message = format!(
                        "an indirect branch adds 0x{anchor:x} to its register, which cannot be moved"
                    );
                    return Err(self.fault(old.addr, message));
                }
                // The hardware adds the next address to the register, so the negated address leaves the offset from
                // the table.
                self.offset(old.word, -i64::from(next), old.addr)
            }
            Reference::Fixed(why) => {
                Err(self.fault(old.addr, format!("{why}: this cannot be moved")))
            }
        }
    }

    /// New address of a target.
    fn new_target(&self, at: CodeAddr, target: CodeAddr, map: &CodeMap) -> Result<u32, Diagnostic> {
        let new = map.target(target).ok_or_else(|| {
            self.fault(
                at,
                format!("the target {target} is no instruction of the section"),
            )
        })?;
        Ok(new.0)
    }

    /// Word of an inserted instruction whose list begins at position `start`.
    fn placed(
        &self,
        new: &NewInstr,
        start: usize,
        next: u32,
        map: &CodeMap,
    ) -> Result<u64, Diagnostic> {
        // `next` is the address after the instruction.
        let here = CodeAddr(next - 8);
        match new.target {
            None => Ok(new.word),
            Some(NewTarget::Code(target)) => {
                let to = self.new_target(target, target, map)?;
                self.relative(new.word, next, to, here)
            }
            Some(NewTarget::Inserted(index)) => {
                // An overflow becomes a position that the next check refuses.
                let position = u32::try_from(start + index).unwrap_or(u32::MAX);
                if position >= map.len {
                    return Err(Diagnostic::new(
                        "an inserted branch leads beyond the end of the code",
                    ));
                }
                self.relative(new.word, next, target_address(position), here)
            }
        }
    }

    /// Word with a relative target.
    fn relative(&self, word: u64, next: u32, to: u32, at: CodeAddr) -> Result<u64, Diagnostic> {
        self.offset(word, i64::from(to) - i64::from(next), at)
    }

    /// Word with an offset in the field of the target.
    fn offset(&self, word: u64, offset: i64, at: CodeAddr) -> Result<u64, Diagnostic> {
        with_offset(word, offset)
            .ok_or_else(|| self.fault(at, "the target is too far away for its field"))
    }

    /// Slot of an instruction of the file. If another instruction than before follows, the two neither issue together
    /// nor share operands. The stall count for a pair then becomes 1 cycle. Distances between instructions only grow
    /// (SOUNDNESS 14).
    fn slot(&self, index: usize, old: &OldInstr, follows: Option<&Emitted<'_>>) -> u32 {
        let same = matches!(follows, Some(Emitted::Old(next, _)) if *next == index + 1);
        if same {
            return old.control;
        }
        // Reuse bits keep operands in a cache for the next instruction of the file, which is no longer the next one.
        let kept = match old.has_reuse {
            true => without_reuse(old.control),
            false => old.control,
        };
        without_pair(kept)
    }
}

/// Adds a list of inserted instructions.
fn push<'a>(list: &mut Vec<Emitted<'a>>, code: &'a [NewInstr]) {
    let start = list.len();
    list.extend(code.iter().map(|instr| Emitted::New(instr, start)));
}
