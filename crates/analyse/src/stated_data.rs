//! Ranges that the user states for the numbers in buffers, and the loads that they hold for (SOUNDNESS 5.12).
//!
//! A load reads numbers of the buffer of a parameter if its address is that parameter and an offset: one pointer
//! once, and words that are not pointers. For example, `a + 4·i` reads a number of `a`, while nothing is known of
//! `a + (b - c)`. That the sum stays within the buffer is an assumption, which audits check: each such load of a run
//! has to find a number of the range.

use std::collections::BTreeMap;

use warpbound_ir::{Cell, Code, Meaning, OpIndex, Width};
use warpbound_isa::instr::MemorySpace;
use warpbound_simt::NodeId;

use crate::dependence::Dependence;
use crate::launch_ranges::LaunchRanges;
use crate::symbolic::atoms::{Atom, AtomId, WordPolynomial, constant};
use crate::symbolic::values::Symbolic;
use crate::thread_cfg::ThreadCfg;

/// Range of the integers in a buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StatedData {
    /// Name of the buffer.
    pub name: String,
    /// Bytes of a number: 1, 2 or 4.
    pub bytes: u8,
    /// Lower limit of the numbers.
    pub least: i64,
    /// Upper limit of the numbers, at least `least`.
    pub most: i64,
}

impl StatedData {
    /// Limits of the numbers that a load of this width finds in each of its words; `None` if it does not load whole
    /// numbers, or reads their sign differently.
    fn loaded(&self, width: Width) -> Option<(i64, i64)> {
        let (bytes, limits) = match width {
            Width::U8 => (1, (0, i64::from(u8::MAX))),
            Width::S8 => (1, (i8::MIN.into(), i8::MAX.into())),
            Width::U16 => (2, (0, u16::MAX.into())),
            Width::S16 => (2, (i16::MIN.into(), i16::MAX.into())),
            // A word has no sign until it is read as a number.
            Width::Words => (4, (i32::MIN.into(), u32::MAX.into())),
        };
        // Otherwise the load reads some numbers of the range with another sign.
        let is_within = limits.0 <= self.least && self.most <= limits.1;
        (self.bytes == bytes && is_within).then_some((self.least, self.most))
    }
}

/// Load of numbers of a stated range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RangedLoad {
    /// Name of the buffer.
    pub buffer: String,
    /// Cells that it loads, one number each.
    pub dests: Vec<Cell>,
    /// Lower limit of the numbers.
    pub least: i64,
    /// Upper limit of the numbers.
    pub most: i64,
}

/// Returns the loads of a kernel that stated ranges of contents hold for, wherever they are executed.
pub fn ranged_loads(
    code: &Code,
    thread: &ThreadCfg,
    launch: &LaunchRanges,
) -> BTreeMap<OpIndex, RangedLoad> {
    if launch.data.values().all(Option::is_none) {
        return BTreeMap::new();
    }
    let dependence = Dependence::compute(thread);
    let mut symbolic = Symbolic::new(code, thread, &dependence, launch, None);
    let mut found = BTreeMap::new();
    for node in thread.space.ids().filter(|&node| thread.is_reached(node)) {
        let block = thread.space.block(node);
        for at in (block.first.0..=block.last.0).map(OpIndex) {
            let Some(Meaning::Load { dests, .. }) = code.get(at).and_then(|op| op.meaning.as_ref())
            else {
                continue;
            };
            let range = symbolic.stated_data(node, at);
            let load = range.map(|(data, (least, most))| RangedLoad {
                buffer: data.name.clone(),
                dests: dests.iter().flatten().copied().collect(),
                least,
                most,
            });
            if let Some(load) = load {
                found.insert(at, load);
            }
        }
    }
    found
}

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
