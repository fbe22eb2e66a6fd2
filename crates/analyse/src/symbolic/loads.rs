//! Loads of numbers of a stated range: their address is the pointer to a buffer and an offset.

use warpbound_ir::{Meaning, OpIndex};
use warpbound_isa::instr::MemorySpace;
use warpbound_simt::NodeId;

use crate::launch_ranges::StatedData;
use crate::symbolic::atoms::{Atom, AtomId, WordPolynomial, constant};
use crate::symbolic::values::Symbolic;

impl<'a> Symbolic<'a> {
    /// Stated range of the numbers that a load finds, with their least and greatest.
    pub(crate) fn stated_data(
        &mut self,
        node: NodeId,
        at: OpIndex,
    ) -> Option<(&'a StatedData, (i64, i64))> {
        let launch = self.launch;
        // Runs are compared with what holds in every calling context.
        if launch.data.is_empty() || self.has_contexts(at) {
            return None;
        }
        let Some(Meaning::Load {
            width,
            space: MemorySpace::Global | MemorySpace::Generic,
            address,
            ..
        }) = self.code.get(at)?.meaning.as_ref()
        else {
            return None;
        };
        if !address.is_plain() {
            return None;
        }
        let (low, high) = (&address.low, address.high.as_ref()?);
        let low = self.expression(node, at, low)?;
        let (bank, pointer) = self.only_pointer(&low)?;
        let data = launch.data.get(&(bank, pointer))?.as_ref()?;
        let loaded = data.loaded(*width)?;
        let high = self.expression(node, at, high)?;
        // The high word must contain the other half of the same pointer, once.
        let upper = Atom::Constant(bank, constant(pointer.checked_add(4)?));
        let upper = self.atoms.number(upper);
        (high.coefficient(&[upper]) == 1).then_some((data, loaded))
    }

    /// Whether an operation is executed in several calling contexts.
    fn has_contexts(&self, at: OpIndex) -> bool {
        let space = &self.thread.space;
        let nodes = space.ids().filter(|&node| {
            let block = space.block(node);
            (block.first..=block.last).contains(&at)
        });
        nodes.count() > 1
    }

    /// The pointer to which a word adds an offset, as bank and byte address; `None` without a pointer, or with several.
    fn only_pointer(&self, word: &WordPolynomial) -> Option<(u8, u32)> {
        let mut pointers = self.atoms.all_in(word).into_iter().filter_map(|id| {
            let place = self.place_of(id)?;
            self.launch.data.contains_key(&place).then_some((id, place))
        });
        let (id, place) = pointers.next()?;
        let is_only = pointers.next().is_none();
        (is_only && word.coefficient(&[id]) == 1).then_some(place)
    }

    /// Bank and byte address of the word that an atom is.
    fn place_of(&self, id: AtomId) -> Option<(u8, u32)> {
        match self.atoms.get(id) {
            Atom::Constant(bank, address) => Some((*bank, address.as_constant()?)),
            _ => None,
        }
    }
}
