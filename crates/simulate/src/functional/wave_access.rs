//! Loads, stores and atomic operations of waves of AMD's machines: buffers, and flat addresses with windows of shared
//! and private memory.
//!
//! Accesses whose lanes all go to global memory, or to existing shared memory, are executed like accesses by any warp
//! (`access.rs`). The others are executed lane by lane and word by word here: for example, a flat load with some
//! lanes in the window of private memory.

use smallvec::SmallVec;
use warpbound_ir::{AtomicKind, AtomicOp, Width};
use warpbound_isa::instr::MemorySpace;
use warpbound_launch::gcn::{LANES, aperture, scratch_place};
use warpbound_simt::{ExecutionModel, Mask};

use super::access::Request;
use super::block::{Block, ExecContext};
use super::buffer::BufferLayout;
use super::fault::{Fault, FaultKind};
use super::lanes::{LaneValues, bits_and_most, lanes_of};
use super::listen::{AccessKind, ExecutionListener, MemoryAccess};
use super::memory::{GlobalAccess, access_size, read_word, write_word};
use super::program::{BufferSlots, Dest, MemoryOperand, ValueSlot, WaveAccess, WaveOperation};
use super::steps::M0;

/// Words of FLAT_SCRATCH: bytes of private memory of a lane; place of the wave's private memory, in units of 256
/// bytes.
const FLAT_SCRATCH: [u8; 2] = [102, 103];

/// Maximum number of words of an access per lane.
const MAX_WORDS: usize = 4;

/// Place of a word of an access.
#[derive(Clone, Copy)]
pub(super) enum Place {
    Global(u64),
    Shared(usize),
    /// Past the end of shared memory: reads give 0, writes are dropped.
    PastShared(u64),
    Scratch {
        warp: usize,
        lane: usize,
        byte: usize,
    },
    /// Nowhere: the space and the address in it.
    Outside(MemorySpace, u64),
    /// Out of range of a buffer: reads give 0, writes are dropped.
    OutOfRange,
}

/// Addresses of an access in all lanes.
enum Addresses<const W: usize> {
    Plain([u64; W]),
    Buffer {
        layout: BufferLayout,
        offsets: LaneValues<W>,
        indices: LaneValues<W>,
    },
}

impl<const W: usize> Addresses<W> {
    /// Returns the address of a byte of the access of a lane; `None` if it is out of range of its buffer.
    fn get(&self, lane: usize, byte: u32, is_short: bool) -> Option<u64> {
        match self {
            // Short addresses have 32 bits, and wrap around there.
            Addresses::Plain(addresses) if is_short => {
                Some((addresses[lane] as u32).wrapping_add(byte).into())
            }
            Addresses::Plain(addresses) => Some(addresses[lane].wrapping_add(byte.into())),
            Addresses::Buffer {
                layout,
                offsets,
                indices,
            } => layout.address(offsets[lane].wrapping_add(byte), indices[lane], lane),
        }
    }
}

/// An access that is executed lane by lane and word by word.
struct AccessByWords<'a, const W: usize> {
    request: Request<'a>,
    access: &'a WaveAccess,
    addresses: Addresses<W>,
}

impl<const W: usize> AccessByWords<'_, W> {
    /// Returns the address of a word of the access of a lane; `None` if it is out of range of its buffer.
    fn address(&self, lane: usize, word: usize) -> Option<u64> {
        let is_short = self.access.operand.high.is_none();
        self.addresses
            .get(lane, self.access.byte_of(word), is_short)
    }

    /// Reports the access to a listener, without lanes that are out of range of a buffer. An access whose halves are
    /// apart is reported as two.
    fn report<E>(&self, listener: &mut impl ExecutionListener<E>) {
        let halves = match self.access.second_half {
            None => &[0][..],
            Some(_) => &[0, self.access.words() / 2],
        };
        for &first in halves {
            let mut taken: Mask = 0;
            let mut addresses = [0; W];
            for lane in lanes_of::<W>(self.request.taken) {
                if let Some(address) = self.address(lane, first) {
                    addresses[lane] = address;
                    taken |= 1 << lane;
                }
            }
            listener.access(&MemoryAccess {
                space: self.access.operand.space,
                kind: self.access.kind(),
                size: self.access.part_size() as u32,
                addresses: &addresses,
                taken,
            });
        }
    }
}

/// A part of an access of a lane: at most a word.
#[derive(Clone, Copy)]
struct Unit {
    lane: usize,
    /// Number of the word in the access.
    word: usize,
    width: Width,
}

impl<E: ExecutionModel<u32>, const W: usize> Block<'_, E, W> {
    /// Executes an access of a wave.
    pub(super) fn access_wave(
        &mut self,
        request: Request<'_>,
        access: &WaveAccess,
        context: &mut ExecContext<'_, impl GlobalAccess, impl ExecutionListener<E>>,
    ) -> Result<(), Fault> {
        // Most accesses to LDS take a shorter way.
        if request.taken == 0 || self.access_shared(request, access, context) {
            return Ok(());
        }
        if let Some(space) = self.plain_space(request, access) {
            let access_there = &MemoryOperand {
                space,
                ..access.operand
            };
            let request = Request {
                access: access_there,
                ..request
            };
            return match &access.operation {
                WaveOperation::Load(dests) => self.load(request, dests, context),
                WaveOperation::Store(values) => self.store(request, values, context),
                WaveOperation::Atomic {
                    dests,
                    op,
                    kind,
                    operands,
                } => {
                    let dests = dests.iter().map(|row| row.map(Dest::Register));
                    let dests: SmallVec<[Option<Dest>; 2]> = dests.collect();
                    self.atomic(request, *op, *kind, &dests, operands, context)
                }
            };
        }
        let by_words = &AccessByWords {
            request,
            access,
            addresses: self.wave_addresses(request.warp_index, access),
        };
        // Listeners observe an access before it takes effect.
        by_words.report::<E>(context.listener);
        match &access.operation {
            WaveOperation::Load(dests) => self.load_by_words(by_words, dests, context),
            WaveOperation::Store(values) => self.store_by_words(by_words, values, context),
            WaveOperation::Atomic {
                dests,
                op,
                kind,
                operands,
            } => self.atomic_by_words(by_words, *op, *kind, dests, operands, context),
        }
    }

    /// Returns the memory to which all taken lanes of an access go at addresses that are multiples of its size:
    /// global or existing shared memory; `None` for all other accesses.
    fn plain_space(&self, request: Request<'_>, access: &WaveAccess) -> Option<MemorySpace> {
        let size = access.part_size();
        let is_plain = access.buffer.is_none() && access.second_half.is_none();
        if !is_plain || !size.is_power_of_two() || size > 16 {
            return None;
        }
        let is_aligned = |bits: u32| bits & (size as u32 - 1) == 0;
        let rows = self.rows(request.warp_index);
        let low = rows.get(access.operand.low);
        match access.operand.space {
            MemorySpace::Shared => {
                let (bits, most) = bits_and_most(low, request.taken);
                // In 64 bits, because the address may be close to 2^32.
                let end = u64::from(most) + size as u64;
                let limit = self.shared_limit(request.warp_index, access.is_limited);
                (is_aligned(bits) && end <= limit).then_some(MemorySpace::Shared)
            }
            MemorySpace::Global | MemorySpace::Generic => {
                let (bits, _) = bits_and_most(low, request.taken);
                let high = rows.get(access.operand.high?);
                let (_, most) = bits_and_most(high, request.taken);
                // All windows lie above global memory, so the high words decide.
                let is_global = most < (aperture::SCRATCH >> 32) as u32;
                (is_aligned(bits) && is_global).then_some(MemorySpace::Global)
            }
            _ => None,
        }
    }

    /// Bytes of shared memory that an access can reach.
    pub(super) fn shared_limit(&self, warp_index: usize, is_limited: bool) -> u64 {
        let most = match is_limited {
            true => self.warps[warp_index].word(M0),
            false => u32::MAX,
        };
        self.launch.shared.min(most).into()
    }

    /// Addresses of an access in all lanes.
    fn wave_addresses(&self, warp_index: usize, access: &WaveAccess) -> Addresses<W> {
        let rows = self.rows(warp_index);
        match access.buffer {
            None => Addresses::Plain(self.addresses(warp_index, &access.operand)),
            Some(BufferSlots {
                descriptor,
                index,
                scalar_offset,
            }) => Addresses::Buffer {
                // Words of the warp, the same in all lanes.
                layout: BufferLayout::new(
                    descriptor.map(|slot| rows.get(slot)[0]),
                    rows.get(scalar_offset)[0],
                ),
                offsets: *rows.get(access.operand.low),
                indices: index.map_or([0; W], |slot| *rows.get(slot)),
            },
        }
    }

    /// Place of a unit of an access.
    fn place(&self, whole: &AccessByWords<'_, W>, unit: Unit) -> Result<Place, Fault> {
        let (request, access) = (whole.request, whole.access);
        let Unit { lane, word, width } = unit;
        let unit = access_size(width);
        let Some(address) = whole.address(lane, word) else {
            return Ok(Place::OutOfRange);
        };
        // Words are accessed at multiples of their size, and shared memory at multiples of the size of the access.
        let is_shared = access.operand.space == MemorySpace::Shared;
        let align = match is_shared {
            true if word == 0 => access.part_size().next_power_of_two(),
            _ => unit,
        };
        if !address.is_multiple_of(align as u64) {
            let kind = FaultKind::Misaligned {
                space: access.operand.space,
                address,
                size: align as u32,
            };
            return Err(self.lane_fault(request.at, request.warp_index, lane, kind));
        }
        let shared = |offset: u64, is_limited: bool| {
            let limit = self.shared_limit(request.warp_index, is_limited);
            match offset + unit as u64 <= limit {
                true => Place::Shared(offset as usize),
                false => Place::PastShared(offset),
            }
        };
        let is_flat = access.operand.space == MemorySpace::Generic;
        Ok(match access.operand.space {
            MemorySpace::Shared => shared(address, access.is_limited),
            MemorySpace::Generic | MemorySpace::Global => {
                // An address below a window wraps around to a large offset, which lies outside.
                if is_flat && address.wrapping_sub(aperture::SHARED) < aperture::SIZE {
                    shared(address - aperture::SHARED, false)
                } else if is_flat && address.wrapping_sub(aperture::PRIVATE) < aperture::SIZE {
                    self.private_place(request.warp_index, lane, address - aperture::PRIVATE)
                } else if address.wrapping_sub(aperture::SCRATCH) < aperture::SIZE {
                    // Buffer instructions reach scratch here, too, because their descriptor has this base.
                    self.scratch(address - aperture::SCRATCH)
                } else {
                    Place::Global(address)
                }
            }
            space => Place::Outside(space, address),
        })
    }

    /// Returns the place of a byte of the private memory of a lane, as FLAT_SCRATCH says.
    fn private_place(&self, warp_index: usize, lane: usize, byte: u64) -> Place {
        let [size, place] = FLAT_SCRATCH.map(|word| u64::from(self.warps[warp_index].word(word)));
        if byte >= size {
            return Place::Outside(MemorySpace::Local, byte);
        }
        // The words of the lanes are interleaved.
        let row = byte / 4 * 4 * u64::from(LANES);
        self.scratch((place << 8) + row + 4 * lane as u64 + byte % 4)
    }

    /// Returns the place of a byte of the scratch memory of a block. Splits share the scratch of their wave.
    fn scratch(&self, offset: u64) -> Place {
        match scratch_place(offset, self.launch.local) {
            Some(place) if (place.wave as usize) < self.waves => Place::Scratch {
                warp: place.wave as usize,
                lane: place.lane as usize,
                byte: place.byte as usize,
            },
            _ => Place::Outside(MemorySpace::Local, offset),
        }
    }

    /// Returns the bytes at a place from which an access reads; `None` if they are outside.
    pub(super) fn bytes_at<'m>(
        &'m mut self,
        place: Place,
        unit: usize,
        memory: &'m mut impl GlobalAccess,
    ) -> Option<&'m [u8]> {
        match place {
            Place::Global(address) => {
                memory.record_read(address, unit);
                let (base, bytes) = memory.bytes_around(address)?;
                let start = usize::try_from(address.checked_sub(base)?).ok()?;
                bytes.get(start..start.checked_add(unit)?)
            }
            _ => self.bytes_at_mut(place, unit, memory).map(|bytes| &*bytes),
        }
    }

    /// Returns the bytes at a place to which an access writes; `None` if they are outside.
    pub(super) fn bytes_at_mut<'m>(
        &'m mut self,
        place: Place,
        unit: usize,
        memory: &'m mut impl GlobalAccess,
    ) -> Option<&'m mut [u8]> {
        match place {
            Place::Global(address) => memory.bytes_mut(address, unit),
            Place::Shared(start) => self.shared.bytes.get_mut(start..start.checked_add(unit)?),
            Place::Scratch { warp, lane, byte } => {
                let each = self.launch.local as usize;
                let local = &mut self.warps.get_mut(warp)?.local;
                // Allocated at the first access.
                if local.len() < each * W {
                    *local = vec![0; each * W];
                }
                let start = lane * each + byte;
                local.get_mut(start..start.checked_add(unit)?)
            }
            Place::PastShared(_) | Place::Outside(..) | Place::OutOfRange => None,
        }
    }

    /// Reads one unit of an access.
    fn read_unit(
        &mut self,
        whole: &AccessByWords<'_, W>,
        unit: Unit,
        context: &mut ExecContext<'_, impl GlobalAccess, impl ExecutionListener<E>>,
    ) -> Result<u32, Fault> {
        let place = self.place(whole, unit)?;
        let Unit { lane, width, .. } = unit;
        let (request, size) = (whole.request, access_size(width));
        match place {
            Place::OutOfRange => return Ok(0),
            // AMD's machines do not fault here, but the kernel is probably wrong.
            Place::PastShared(address) => {
                self.note_past_shared(request, lane, address, context);
                return Ok(0);
            }
            Place::Shared(start) => {
                self.note_unwritten(request, start as u64, size, lane, context.counts);
            }
            _ => {}
        }
        match self.bytes_at(place, size, context.memory) {
            Some(bytes) => Ok(read_word(width, bytes)),
            None => Err(self.outside(request, place, lane, context.memory)),
        }
    }

    /// Writes one unit of an access.
    fn write_unit(
        &mut self,
        whole: &AccessByWords<'_, W>,
        unit: Unit,
        value: u32,
        context: &mut ExecContext<'_, impl GlobalAccess, impl ExecutionListener<E>>,
    ) -> Result<(), Fault> {
        let place = self.place(whole, unit)?;
        let Unit { lane, width, .. } = unit;
        let (request, size) = (whole.request, access_size(width));
        match place {
            Place::OutOfRange => return Ok(()),
            Place::PastShared(address) => {
                self.note_past_shared(request, lane, address, context);
                return Ok(());
            }
            _ => {}
        }
        match self.bytes_at_mut(place, size, context.memory) {
            Some(bytes) => write_word(bytes, value),
            None => return Err(self.outside(request, place, lane, context.memory)),
        }
        if let Place::Shared(start) = place {
            self.shared.mark_written(start as u64, size);
        }
        Ok(())
    }

    fn load_by_words(
        &mut self,
        whole: &AccessByWords<'_, W>,
        dests: &[Option<u16>],
        context: &mut ExecContext<'_, impl GlobalAccess, impl ExecutionListener<E>>,
    ) -> Result<(), Fault> {
        let (request, width) = (whole.request, whole.access.operand.width);
        if dests.len() > MAX_WORDS {
            return Err(self.fault(request.at, FaultKind::Unsupported));
        }
        let mut rows = [[0; W]; MAX_WORDS];
        for lane in lanes_of::<W>(request.taken) {
            for (word, row) in rows.iter_mut().enumerate().take(dests.len()) {
                let unit = Unit { lane, word, width };
                row[lane] = self.read_unit(whole, unit, context)?;
            }
        }
        for (dest, row) in dests.iter().zip(&rows) {
            if let Some(dest) = dest {
                self.warps[request.warp_index].write(Dest::Register(*dest), row, request.taken);
            }
        }
        Ok(())
    }

    fn store_by_words(
        &mut self,
        whole: &AccessByWords<'_, W>,
        values: &[ValueSlot],
        context: &mut ExecContext<'_, impl GlobalAccess, impl ExecutionListener<E>>,
    ) -> Result<(), Fault> {
        let (request, width) = (whole.request, whole.access.operand.width);
        for lane in lanes_of::<W>(request.taken) {
            for (word, &value) in values.iter().enumerate() {
                let value = self.rows(request.warp_index).get(value)[lane];
                self.write_unit(whole, Unit { lane, word, width }, value, context)?;
            }
        }
        Ok(())
    }

    /// Executes an atomic operation lane after lane, ascending.
    fn atomic_by_words(
        &mut self,
        whole: &AccessByWords<'_, W>,
        op: AtomicOp,
        kind: AtomicKind,
        dests: &[Option<u16>],
        operands: &[ValueSlot],
        context: &mut ExecContext<'_, impl GlobalAccess, impl ExecutionListener<E>>,
    ) -> Result<(), Fault> {
        let request = whole.request;
        let words = kind.size() / 4;
        let unit = |lane, word| Unit {
            lane,
            word,
            width: Width::Words,
        };
        let mut rows = [[0; W]; MAX_WORDS];
        for (row, &operand) in rows.iter_mut().zip(operands) {
            *row = *self.rows(request.warp_index).get(operand);
        }
        let wide = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        // Results are written last: destinations may be registers of the address.
        let mut results = [[0; W]; 2];
        for lane in lanes_of::<W>(request.taken) {
            let mut old = [0; 2];
            for (old, word) in old.iter_mut().zip(0..words) {
                *old = self.read_unit(whole, unit(lane, word), context)?;
            }
            let [a, b, c, d] = rows.map(|row| row[lane]);
            let (operand, other) = match words {
                1 => (a.into(), b.into()),
                _ => (wide(a, b), wide(c, d)),
            };
            let Some(new) = op.apply(kind, wide(old[0], old[1]), operand, other) else {
                return Err(self.fault(request.at, FaultKind::Unsupported));
            };
            for (word, value) in (0..words).zip([new as u32, (new >> 32) as u32]) {
                self.write_unit(whole, unit(lane, word), value, context)?;
            }
            for (row, old) in results.iter_mut().zip(old) {
                row[lane] = old;
            }
        }
        for (dest, row) in dests.iter().zip(&results) {
            if let Some(dest) = dest {
                self.warps[request.warp_index].write(Dest::Register(*dest), row, request.taken);
            }
        }
        Ok(())
    }

    /// Notes an access past the end of shared memory.
    #[cold]
    fn note_past_shared(
        &self,
        request: Request<'_>,
        lane: usize,
        address: u64,
        context: &mut ExecContext<'_, impl GlobalAccess, impl ExecutionListener<E>>,
    ) {
        let thread = self.warps[request.warp_index].thread_index(self.program.registers, lane);
        context
            .counts
            .note_past_shared(request.at, self.index, thread, address);
    }

    /// Returns the fault of an access at a place outside of memory.
    #[cold]
    fn outside(
        &self,
        request: Request<'_>,
        place: Place,
        lane: usize,
        memory: &impl GlobalAccess,
    ) -> Fault {
        let (space, address, context) = match place {
            Place::Global(address) => (
                MemorySpace::Global,
                address,
                memory.describe_address(address),
            ),
            Place::Outside(space, address) => {
                let context = format!("it has {} bytes", self.launch.local);
                let is_local = space == MemorySpace::Local;
                (space, address, is_local.then_some(context))
            }
            // These places exist, or accesses to them have no effect.
            Place::Shared(_) | Place::PastShared(_) | Place::Scratch { .. } | Place::OutOfRange => {
                (request.access.space, 0, None)
            }
        };
        let kind = FaultKind::OutOfBounds {
            space,
            address,
            context,
        };
        self.lane_fault(request.at, request.warp_index, lane, kind)
    }
}

impl WaveAccess {
    /// Number of words of each lane.
    pub(super) fn words(&self) -> usize {
        match &self.operation {
            WaveOperation::Load(dests) => dests.len(),
            WaveOperation::Store(values) => values.len(),
            WaveOperation::Atomic { kind, .. } => kind.size() / 4,
        }
    }

    /// Bytes that each lane accesses one after the other: all, or a half of them.
    pub(super) fn part_size(&self) -> usize {
        let all = access_size(self.operand.width) * self.words();
        match self.second_half {
            None => all,
            Some(_) => all / 2,
        }
    }

    /// Distance of a word from the first one in bytes, modulo 2^32.
    pub(super) fn byte_of(&self, word: usize) -> u32 {
        let half = self.words() / 2;
        match self.second_half {
            Some(distance) if word >= half => distance.wrapping_add(4 * (word - half) as u32),
            _ => 4 * word as u32,
        }
    }

    pub(super) fn kind(&self) -> AccessKind {
        match self.operation {
            WaveOperation::Load(_) => AccessKind::Load,
            WaveOperation::Store(_) => AccessKind::Store,
            WaveOperation::Atomic { .. } => AccessKind::Atomic,
        }
    }
}
