//! Loads, stores and atomic operations of a warp.

use warpbound_ir::{AtomicKind, AtomicOp, Width};
use warpbound_isa::instr::MemorySpace;
use warpbound_simt::{ExecutionModel, Mask};

use super::Counts;
use super::block::{Block, ExecContext};
use super::fault::{Fault, FaultKind};
use super::lanes::{LaneValues, lanes_of};
use super::listen::{AccessKind, ExecutionListener, MemoryAccess};
use super::memory::{GlobalAccess, access_size, read_word, space_of, write_word};
use super::program::{Dest, MemoryOperand, ValueSlot};

/// Contiguous bytes that contain an address. In most cases one window serves all lanes of an access.
struct Window<B> {
    space: MemorySpace,
    /// Address of the first byte.
    base: u64,
    bytes: B,
}

impl<B: AsRef<[u8]>> Window<B> {
    /// Index of the first byte of an access; `None` if the access is not inside.
    #[inline(always)]
    fn start(&self, address: u64, size: usize) -> Option<usize> {
        // An address below the base wraps around to a large offset, which the length excludes.
        let start = address.wrapping_sub(self.base);
        let length = self.bytes.as_ref().len() as u64;
        (start <= length && length - start >= size as u64).then_some(start as usize)
    }
}

/// A memory operation that a warp executes.
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    /// Index of the warp in its block.
    pub(super) warp_index: usize,
    /// Index of the operation.
    pub(super) at: u32,
    pub(super) access: &'a MemoryOperand,
    pub(super) taken: Mask,
}

impl Request<'_> {
    /// The access as listeners observe it.
    fn memory_access<'a>(
        &self,
        kind: AccessKind,
        size: usize,
        addresses: &'a [u64],
    ) -> MemoryAccess<'a> {
        MemoryAccess {
            space: self.access.space,
            kind,
            size: size as u32,
            addresses,
            taken: self.taken,
        }
    }
}

impl<E: ExecutionModel<u32>, const W: usize> Block<'_, E, W> {
    /// Allocates the local memory of a warp before its first access.
    fn ensure_local(&mut self, request: Request<'_>) {
        let local = &mut self.warps[request.warp_index].local;
        if local.is_empty()
            && matches!(
                request.access.space,
                MemorySpace::Local | MemorySpace::Generic
            )
        {
            // Zeroed pages of the operating system cost nothing until they are touched, and most threads touch only a
            // small part of a large stack.
            *local = vec![0; self.launch.local as usize * W];
        }
    }

    /// Executes a load. Each combination of width and count has a [`Block::gather`] of its own, so that sizes are
    /// constants.
    pub(super) fn load(
        &mut self,
        request: Request<'_>,
        dests: &[Option<u16>],
        context: &mut ExecContext<'_, impl GlobalAccess, impl ExecutionListener<E>>,
    ) -> Result<(), Fault> {
        // Allocated first, because `gather` only reads the block.
        self.ensure_local(request);
        let width = request.access.width;
        match (width, dests.len()) {
            (Width::Words, 1) => {
                let rows = self.gather(request, context, words::<4, 1>)?;
                self.write_registers(request, dests, &rows);
            }
            (Width::Words, 2) => {
                let rows = self.gather(request, context, words::<8, 2>)?;
                self.write_registers(request, dests, &rows);
            }
            (Width::Words, _) => {
                let rows = self.gather(request, context, words::<16, 4>)?;
                self.write_registers(request, dests, &rows);
            }
            (Width::U16 | Width::S16, _) => {
                let read = |bytes: &[u8; 2]| [read_word(width, bytes)];
                let rows = self.gather(request, context, read)?;
                self.write_registers(request, dests, &rows);
            }
            (Width::U8 | Width::S8, _) => {
                let read = |bytes: &[u8; 1]| [read_word(width, bytes)];
                let rows = self.gather(request, context, read)?;
                self.write_registers(request, dests, &rows);
            }
        }
        Ok(())
    }

    /// Reads `SIZE` bytes per lane; returns lane values for each word.
    #[inline]
    pub(super) fn gather<const SIZE: usize, const WORDS: usize>(
        &self,
        request: Request<'_>,
        context: &mut ExecContext<'_, impl GlobalAccess, impl ExecutionListener<E>>,
        read: impl Fn(&[u8; SIZE]) -> [u32; WORDS],
    ) -> Result<[LaneValues<W>; WORDS], Fault> {
        let addresses = self.addresses(request.warp_index, request.access);
        let ExecContext {
            memory,
            counts,
            listener,
            ..
        } = context;
        listener.access(&request.memory_access(AccessKind::Load, SIZE, &addresses));
        let mut rows = [[0; W]; WORDS];
        // Recorded before the loop over the lanes, because windows borrow the memory there.
        if matches!(
            request.access.space,
            MemorySpace::Global | MemorySpace::Generic
        ) {
            for lane in lanes_of::<W>(request.taken) {
                memory.record_read(addresses[lane], SIZE);
            }
        }
        let memory = &**memory;
        let mut window = Window {
            space: MemorySpace::Local,
            base: 0,
            bytes: &[][..],
        };
        for lane in lanes_of::<W>(request.taken) {
            let address = addresses[lane];
            self.check_alignment(request, address, SIZE, lane)?;
            // The local memory of each lane is a window of its own, so one lane's window cannot serve the next.
            let known = window.start(address, SIZE);
            let start = match known.filter(|_| window.space != MemorySpace::Local) {
                Some(start) => Some(start),
                None => {
                    window = self.window(request, address, lane, memory);
                    window.start(address, SIZE)
                }
            };
            let chunk = start.and_then(|start| window.bytes[start..].first_chunk::<SIZE>());
            let Some(chunk) = chunk else {
                return Err(self.out_of_bounds(request, address, lane, memory));
            };
            if window.space == MemorySpace::Shared {
                self.note_unwritten(request, address - window.base, SIZE, lane, counts);
            }
            for (row, word) in rows.iter_mut().zip(read(chunk)) {
                row[lane] = word;
            }
        }
        Ok(rows)
    }

    /// Reads the first `kept` of `size` bytes per lane; returns lane values for each word, with zeros for the other bytes.
    pub(super) fn gather_parts(
        &self,
        request: Request<'_>,
        size: usize,
        kept: &[usize; W],
        context: &mut ExecContext<'_, impl GlobalAccess, impl ExecutionListener<E>>,
    ) -> Result<[LaneValues<W>; 4], Fault> {
        let addresses = self.addresses(request.warp_index, request.access);
        let ExecContext {
            memory, listener, ..
        } = context;
        // One event has one size, so listeners see the whole pieces.
        listener.access(&request.memory_access(AccessKind::Load, size, &addresses));
        let mut rows = [[0; W]; 4];
        for lane in lanes_of::<W>(request.taken) {
            let address = addresses[lane];
            self.check_alignment(request, address, size, lane)?;
            memory.record_read(address, kept[lane]);
            let window = self.window(request, address, lane, &**memory);
            let start = window.start(address, kept[lane]);
            let Some(bytes) = start.and_then(|start| window.bytes.get(start..start + kept[lane]))
            else {
                return Err(self.out_of_bounds(request, address, lane, &**memory));
            };
            // A piece need not end with a word, so it is read byte by byte.
            for (at, byte) in bytes.iter().enumerate() {
                rows[at / 4 % 4][lane] |= u32::from(*byte) << (8 * (at % 4));
            }
        }
        Ok(rows)
    }

    /// Writes loaded words to registers.
    fn write_registers(
        &mut self,
        request: Request<'_>,
        dests: &[Option<u16>],
        rows: &[LaneValues<W>],
    ) {
        for (dest, row) in dests.iter().zip(rows) {
            if let Some(dest) = dest {
                self.warps[request.warp_index].write(Dest::Register(*dest), row, request.taken);
            }
        }
    }

    /// Executes a store. If several lanes write the same address, the highest lane wins (CUDA leaves the choice
    /// open).
    pub(super) fn store(
        &mut self,
        request: Request<'_>,
        values: &[ValueSlot],
        context: &mut ExecContext<'_, impl GlobalAccess, impl ExecutionListener<E>>,
    ) -> Result<(), Fault> {
        self.ensure_local(request);
        let each = access_size(request.access.width);
        let size = each * values.len();
        // An access has at most 16 bytes per lane.
        let mut rows = [[0; W]; 4];
        for (row, &value) in rows.iter_mut().zip(values) {
            *row = *self.rows(request.warp_index).get(value);
        }
        self.scatter(request, size, &rows, context)
    }

    /// Writes `size` bytes per lane from lane values for each word.
    #[inline]
    pub(super) fn scatter(
        &mut self,
        request: Request<'_>,
        size: usize,
        rows: &[LaneValues<W>; 4],
        context: &mut ExecContext<'_, impl GlobalAccess, impl ExecutionListener<E>>,
    ) -> Result<(), Fault> {
        let addresses = self.addresses(request.warp_index, request.access);
        let ExecContext {
            memory, listener, ..
        } = context;
        let memory = &mut **memory;
        listener.access(&request.memory_access(AccessKind::Store, size, &addresses));
        for lane in lanes_of::<W>(request.taken) {
            let address = addresses[lane];
            self.check_alignment(request, address, size, lane)?;
            let (space, base) = space_of(request.access.space, address);
            let offset = address - base;
            let Some(bytes) = self.bytes_mut(request, space, offset, size, lane, memory) else {
                return Err(self.out_of_bounds(request, address, lane, memory));
            };
            match bytes.as_chunks_mut::<4>() {
                (chunks, []) => {
                    for (chunk, row) in chunks.iter_mut().zip(rows) {
                        *chunk = row[lane].to_le_bytes();
                    }
                }
                // A size that is no multiple of 4 is a single byte or half word.
                (_, bytes) => write_word(bytes, rows[0][lane]),
            }
            if space == MemorySpace::Shared {
                self.shared.mark_written(address - base, size);
            }
        }
        Ok(())
    }

    /// Executes an atomic operation, lane after lane in ascending order (CUDA leaves the order open).
    pub(super) fn atomic(
        &mut self,
        request: Request<'_>,
        op: AtomicOp,
        kind: AtomicKind,
        dests: &[Option<Dest>],
        operands: &[ValueSlot],
        context: &mut ExecContext<'_, impl GlobalAccess, impl ExecutionListener<E>>,
    ) -> Result<(), Fault> {
        self.ensure_local(request);
        let size = kind.size();
        let addresses = self.addresses(request.warp_index, request.access);
        let ExecContext {
            memory,
            counts,
            listener,
            ..
        } = context;
        let memory = &mut **memory;
        listener.access(&request.memory_access(AccessKind::Atomic, size, &addresses));
        // Two operands of at most 64 bits.
        let mut rows = [[0; W]; 4];
        for (row, &operand) in rows.iter_mut().zip(operands) {
            *row = *self.rows(request.warp_index).get(operand);
        }
        let wide = |low: &LaneValues<W>, high: &LaneValues<W>, lane: usize| {
            u64::from(low[lane]) | u64::from(high[lane]) << 32
        };
        for lane in lanes_of::<W>(request.taken) {
            let address = addresses[lane];
            self.check_alignment(request, address, size, lane)?;
            let (space, base) = space_of(request.access.space, address);
            if space == MemorySpace::Shared {
                self.note_unwritten(request, address - base, size, lane, counts);
            }
            // An atomic operation also reads, so a speculative block has to be validated against this address.
            if space == MemorySpace::Global {
                memory.record_read(address, size);
            }
            let offset = address - base;
            let Some(bytes) = self.bytes_mut(request, space, offset, size, lane, memory) else {
                return Err(self.out_of_bounds(request, address, lane, memory));
            };
            let mut old = [0; 8];
            for (to, from) in old.iter_mut().zip(bytes.iter()) {
                *to = *from;
            }
            let old = u64::from_le_bytes(old);
            let (operand, other) = match size {
                4 => (rows[0][lane].into(), rows[1][lane].into()),
                _ => (
                    wide(&rows[0], &rows[1], lane),
                    wide(&rows[2], &rows[3], lane),
                ),
            };
            let Some(new) = op.apply(kind, old, operand, other) else {
                return Err(self.fault(request.at, FaultKind::Unsupported));
            };
            for (to, from) in bytes.iter_mut().zip(new.to_le_bytes()) {
                *to = from;
            }
            if space == MemorySpace::Shared {
                self.shared.mark_written(address - base, size);
            }
            // Addresses and operands have been copied, so a destination may be one of their registers.
            let warp = &mut self.warps[request.warp_index];
            let result = op.result(old, operand);
            for (word, dest) in dests.iter().enumerate() {
                let word = (result >> (32 * word)) as u32;
                match dest {
                    Some(Dest::Register(row)) => warp.rows[usize::from(*row)][lane] = word,
                    Some(dest) => warp.write(*dest, &[word; W], 1 << lane),
                    None => {}
                }
            }
        }
        Ok(())
    }

    /// Byte address per lane.
    #[inline]
    pub(super) fn addresses(&self, warp_index: usize, access: &MemoryOperand) -> [u64; W] {
        let rows = self.rows(warp_index);
        let low = rows.get(access.low);
        let mut addresses = [0; W];
        match access.high {
            None => {
                for (address, low) in addresses.iter_mut().zip(low) {
                    *address = u64::from(*low);
                }
            }
            Some(high) => {
                for ((address, low), high) in addresses.iter_mut().zip(low).zip(rows.get(high)) {
                    *address = u64::from(*high) << 32 | u64::from(*low);
                }
            }
        }
        addresses
    }

    /// Checks that an address is a multiple of the access size, a power of 2.
    #[inline(always)]
    fn check_alignment(
        &self,
        request: Request<'_>,
        address: u64,
        size: usize,
        lane: usize,
    ) -> Result<(), Fault> {
        if address & (size as u64 - 1) == 0 {
            return Ok(());
        }
        let kind = FaultKind::Misaligned {
            space: request.access.space,
            address,
            size: size as u32,
        };
        Err(self.lane_fault(request.at, request.warp_index, lane, kind))
    }

    /// Returns the window that contains an address; empty if the address is unmapped.
    #[inline]
    fn window<'m>(
        &'m self,
        request: Request<'_>,
        address: u64,
        lane: usize,
        memory: &'m impl GlobalAccess,
    ) -> Window<&'m [u8]> {
        let (space, base) = space_of(request.access.space, address);
        let (base, bytes) = match space {
            MemorySpace::Global => memory.bytes_around(address).unwrap_or_default(),
            MemorySpace::Shared => (base, self.shared.bytes.as_slice()),
            MemorySpace::Local => {
                let each = self.launch.local as usize;
                let local = &self.warps[request.warp_index].local;
                let own = local.get(lane * each..(lane + 1) * each);
                (base, own.unwrap_or_default())
            }
            _ => (0, &[][..]),
        };
        Window { space, base, bytes }
    }

    /// Returns the bytes of an access at an address of a memory space; `None` if some are out of bounds.
    #[inline]
    fn bytes_mut<'m>(
        &'m mut self,
        request: Request<'_>,
        space: MemorySpace,
        address: u64,
        size: usize,
        lane: usize,
        memory: &'m mut impl GlobalAccess,
    ) -> Option<&'m mut [u8]> {
        let bytes = match space {
            MemorySpace::Global => return memory.bytes_mut(address, size),
            MemorySpace::Shared => self.shared.bytes.as_mut_slice(),
            MemorySpace::Local => {
                let each = self.launch.local as usize;
                let local = &mut self.warps[request.warp_index].local;
                local.get_mut(lane * each..(lane + 1) * each)?
            }
            _ => return None,
        };
        let start = usize::try_from(address).ok()?;
        bytes.get_mut(start..start.checked_add(size)?)
    }

    /// Notes a read of shared memory that no thread has written.
    #[inline]
    pub(super) fn note_unwritten(
        &self,
        request: Request<'_>,
        address: u64,
        size: usize,
        lane: usize,
        counts: &mut Counts,
    ) {
        if !self.shared.is_written(address, size) {
            let thread = self.warps[request.warp_index].thread_index(self.program.registers, lane);
            counts.note_unwritten(request.at, self.index, thread, address);
        }
    }

    /// Returns the fault of an access out of bounds.
    #[cold]
    fn out_of_bounds(
        &self,
        request: Request<'_>,
        address: u64,
        lane: usize,
        memory: &impl GlobalAccess,
    ) -> Fault {
        let (space, base) = space_of(request.access.space, address);
        let near = match space {
            MemorySpace::Global => memory.describe_address(address),
            MemorySpace::Shared => Some(format!("it has {} bytes", self.launch.shared)),
            MemorySpace::Local => Some(format!("it has {} bytes", self.launch.local)),
            _ => None,
        };
        let kind = FaultKind::OutOfBounds {
            space,
            address: address - base,
            context: near,
        };
        self.lane_fault(request.at, request.warp_index, lane, kind)
    }
}

/// Splits bytes into little-endian words.
#[inline(always)]
pub(super) fn words<const SIZE: usize, const WORDS: usize>(bytes: &[u8; SIZE]) -> [u32; WORDS] {
    let mut words = [0; WORDS];
    for (word, chunk) in words.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *word = u32::from_le_bytes(*chunk);
    }
    words
}
