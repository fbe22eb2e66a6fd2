//! Loads, stores and atomic operations of a warp.

use warpbound_ir::{AtomicKind, AtomicOp, Width};
use warpbound_isa::instr::Space;

use super::Counts;
use super::block::Block;
use super::fault::{Fault, FaultKind};
use super::lanes::{LANES, Mask, Row, lanes_of};
use super::memory::{GlobalMemory, put_word, size_of, window, word_of};
use super::program::{Access, At};

/// An access of one lane.
#[derive(Clone, Copy)]
struct Place {
    space: Space,
    address: u64,
    size: usize,
    lane: usize,
}

impl Block<'_> {
    pub(super) fn load(
        &mut self,
        number: usize,
        at: u32,
        (dests, access): (&[Option<u16>], &Access),
        taken: Mask,
        memory: &mut GlobalMemory,
        counts: &mut Counts,
    ) -> Result<(), Fault> {
        let each = size_of(access.width);
        let size = each * dests.len();
        let addresses = self.addresses(number, access);
        for lane in lanes_of(taken) {
            let place = self.place(number, at, access, addresses[lane], size, lane)?;
            if place.space == Space::Shared && !self.shared.is_written(place.address, size) {
                let thread = self.warps[number].place(self.program.registers, lane);
                counts.note_unwritten(at, self.index, thread, place.address);
            }
            // The words are read before any register is written.
            let mut words = [0; 4];
            match self.bytes(number, &place, memory) {
                Some(bytes) if access.width == Width::Words => {
                    let (chunks, _) = bytes.as_chunks::<4>();
                    for (word, chunk) in words.iter_mut().zip(chunks) {
                        *word = u32::from_le_bytes(*chunk);
                    }
                }
                Some(bytes) => words[0] = word_of(access.width, bytes),
                None => return Err(self.outside(number, at, &place, memory)),
            }
            let rows = &mut self.warps[number].rows;
            for (dest, word) in dests.iter().zip(words) {
                if let Some(row) = dest {
                    rows[usize::from(*row)][lane] = word;
                }
            }
        }
        Ok(())
    }

    pub(super) fn store(
        &mut self,
        number: usize,
        at: u32,
        (values, access): (&[At], &Access),
        taken: Mask,
        memory: &mut GlobalMemory,
    ) -> Result<(), Fault> {
        let each = size_of(access.width);
        let size = each * values.len();
        let addresses = self.addresses(number, access);
        let rows: smallvec::SmallVec<[Row; 1]> = values
            .iter()
            .map(|&value| *self.rows(number).get(value))
            .collect();
        for lane in lanes_of(taken) {
            let place = self.place(number, at, access, addresses[lane], size, lane)?;
            let Some(bytes) = self.bytes(number, &place, memory) else {
                return Err(self.outside(number, at, &place, memory));
            };
            for (part, row) in bytes.chunks_exact_mut(each).zip(&rows) {
                put_word(part, row[lane]);
            }
            if place.space == Space::Shared {
                self.shared.write(place.address, size);
            }
        }
        Ok(())
    }

    /// Lanes act one after the other, the lowest first.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn atomic(
        &mut self,
        number: usize,
        at: u32,
        (op, kind): (AtomicOp, AtomicKind),
        dests: &[Option<u16>],
        (operands, access): (&[At], &Access),
        taken: Mask,
        memory: &mut GlobalMemory,
        counts: &mut Counts,
    ) -> Result<(), Fault> {
        let size = kind.size();
        let addresses = self.addresses(number, access);
        let rows: smallvec::SmallVec<[Row; 2]> = operands
            .iter()
            .map(|&operand| *self.rows(number).get(operand))
            .collect();
        let words = size / 4;
        // The operand of a number, from one row or two.
        let operand = |which: usize, lane: usize| {
            let word = |place: usize| rows.get(which * words + place).map_or(0, |row| row[lane]);
            match words {
                1 => u64::from(word(0)),
                _ => u64::from(word(0)) | u64::from(word(1)) << 32,
            }
        };
        for lane in lanes_of(taken) {
            let place = self.place(number, at, access, addresses[lane], size, lane)?;
            if place.space == Space::Shared && !self.shared.is_written(place.address, size) {
                let thread = self.warps[number].place(self.program.registers, lane);
                counts.note_unwritten(at, self.index, thread, place.address);
            }
            let Some(bytes) = self.bytes(number, &place, memory) else {
                return Err(self.outside(number, at, &place, memory));
            };
            let mut low = [0; 8];
            for (to, from) in low.iter_mut().zip(bytes.iter()) {
                *to = *from;
            }
            let old = u64::from_le_bytes(low);
            let Some(new) = op.apply(kind, old, operand(0, lane), operand(1, lane)) else {
                return Err(self.fault(at, FaultKind::NotRunnable));
            };
            for (to, from) in bytes.iter_mut().zip(new.to_le_bytes()) {
                *to = from;
            }
            if place.space == Space::Shared {
                self.shared.write(place.address, size);
            }
            let rows = &mut self.warps[number].rows;
            for (word, dest) in dests.iter().enumerate() {
                if let Some(row) = dest {
                    rows[usize::from(*row)][lane] = (old >> (32 * word)) as u32;
                }
            }
        }
        Ok(())
    }

    fn addresses(&self, number: usize, access: &Access) -> [u64; LANES] {
        let rows = self.rows(number);
        let low = rows.get(access.low);
        match access.high {
            None => low.map(u64::from),
            Some(high) => {
                let high = rows.get(high);
                std::array::from_fn(|lane| u64::from(high[lane]) << 32 | u64::from(low[lane]))
            }
        }
    }

    /// Where an access of a lane goes: a generic address belongs to the memory of the block, of the thread, or of all.
    #[inline]
    fn place(
        &self,
        number: usize,
        at: u32,
        access: &Access,
        address: u64,
        size: usize,
        lane: usize,
    ) -> Result<Place, Fault> {
        if address & (size as u64 - 1) != 0 {
            let kind = FaultKind::Misaligned {
                space: access.space,
                address,
                size: size as u32,
            };
            return Err(self.lane_fault(at, number, lane, kind));
        }
        let in_window = |base: u64| address.wrapping_sub(base) < window::SIZE;
        let (space, address) = match access.space {
            Space::Generic if in_window(window::SHARED) => {
                (Space::Shared, address - window::SHARED)
            }
            Space::Generic if in_window(window::LOCAL) => (Space::Local, address - window::LOCAL),
            Space::Generic => (Space::Global, address),
            space => (space, address),
        };
        Ok(Place {
            space,
            address,
            size,
            lane,
        })
    }

    /// The bytes of an access; `None` where some of them do not exist.
    #[inline]
    fn bytes<'m>(
        &'m mut self,
        number: usize,
        place: &Place,
        memory: &'m mut GlobalMemory,
    ) -> Option<&'m mut [u8]> {
        match place.space {
            Space::Global => memory.bytes(place.address, place.size),
            Space::Shared => self.shared.bytes(place.address, place.size),
            Space::Local => {
                let each = self.launch.local as usize;
                let start = usize::try_from(place.address).ok()?;
                let end = start.checked_add(place.size).filter(|&end| end <= each)?;
                let first = place.lane * each;
                self.warps[number].local.get_mut(first + start..first + end)
            }
            _ => None,
        }
    }

    #[cold]
    fn outside(&self, number: usize, at: u32, place: &Place, memory: &GlobalMemory) -> Fault {
        let near = match place.space {
            Space::Global => memory.near(place.address),
            Space::Shared => Some(format!("it has {} bytes", self.launch.shared)),
            Space::Local => Some(format!("it has {} bytes", self.launch.local)),
            _ => None,
        };
        let kind = FaultKind::OutOfBounds {
            space: place.space,
            address: place.address,
            near,
        };
        self.lane_fault(at, number, place.lane, kind)
    }
}
