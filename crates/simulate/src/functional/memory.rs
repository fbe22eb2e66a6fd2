//! Memories as blocks access them.

use warpbound_ir::Width;
use warpbound_isa::instr::MemorySpace;
use warpbound_launch::{GlobalMemory, window};

/// Global memory as one block accesses it: the memory itself, or a view with private writes (`parallel`).
pub(crate) trait GlobalAccess {
    /// Returns the contiguous bytes that contain an address, with the address of the first; `None` if unmapped.
    fn bytes_around(&self, address: u64) -> Option<(u64, &[u8])>;

    /// Records a read; `size` is a power of 2, at most 16, and divides `address`.
    fn record_read(&mut self, address: u64, size: usize);

    /// Returns the bytes of an access that writes all of them; `None` if they are not all in one buffer.
    fn bytes_mut(&mut self, address: u64, size: usize) -> Option<&mut [u8]>;

    /// Describes an address, for messages, by the last buffer that starts at or before it.
    fn describe_address(&self, address: u64) -> Option<String>;
}

impl GlobalAccess for GlobalMemory {
    #[inline]
    fn bytes_around(&self, address: u64) -> Option<(u64, &[u8])> {
        let buffer = self.buffer(address)?;
        Some((buffer.address, &buffer.bytes))
    }

    #[inline(always)]
    // Blocks that write the memory itself are not speculative, so their reads need no validation.
    fn record_read(&mut self, _address: u64, _size: usize) {}

    #[inline]
    fn bytes_mut(&mut self, address: u64, size: usize) -> Option<&mut [u8]> {
        let buffer = self.buffer_mut(address)?;
        let start = usize::try_from(address - buffer.address).ok()?;
        buffer.bytes.get_mut(start..start.checked_add(size)?)
    }

    fn describe_address(&self, address: u64) -> Option<String> {
        let buffer = self.buffer(address)?;
        Some(format!(
            "byte {} of {}, which has {}",
            address - buffer.address,
            buffer.name,
            buffer.bytes.len()
        ))
    }
}

/// Shared memory of a block, with the set of bytes that have been written.
pub(super) struct SharedMemory {
    pub(super) bytes: Vec<u8>,
    /// Per word, a bit for each written byte.
    written: Vec<u8>,
    /// Number of bytes not written yet.
    unwritten: u32,
}

impl SharedMemory {
    /// Returns a memory of `size` zero bytes; none counts as written.
    pub(super) fn new(size: u32) -> SharedMemory {
        SharedMemory {
            bytes: vec![0; size as usize],
            written: vec![0; size.div_ceil(4) as usize],
            unwritten: size,
        }
    }

    /// Marks bytes as written; `size` is a power of 2 that divides `address`.
    #[inline]
    pub(super) fn mark_written(&mut self, address: u64, size: usize) {
        if self.unwritten == 0 {
            return;
        }
        let (words, bits) = words(address, size);
        for written in self.written.get_mut(words).into_iter().flatten() {
            self.unwritten -= (bits & !*written).count_ones();
            *written |= bits;
        }
    }

    /// Whether all bytes of the memory have been written.
    #[inline]
    pub(super) fn is_all_written(&self) -> bool {
        self.unwritten == 0
    }

    /// Whether all bytes of an access have been written.
    #[inline]
    pub(super) fn is_written(&self, address: u64, size: usize) -> bool {
        if self.unwritten == 0 {
            return true;
        }
        let (words, bits) = words(address, size);
        let words = self.written.get(words).unwrap_or_default();
        words.iter().all(|written| written & bits == bits)
    }
}

/// Range of the words of an access, and the mask of the bytes it touches in each.
#[inline]
fn words(address: u64, size: usize) -> (std::ops::Range<usize>, u8) {
    let first = address as usize / 4;
    match size {
        1 => (first..first + 1, 1 << (address % 4)),
        2 => (first..first + 1, 3 << (address % 4)),
        _ => (first..first + size / 4, 15),
    }
}

/// Memory space of an address, and the address of the first byte of that space. Resolves generic addresses by their
/// windows.
#[inline]
pub(crate) fn space_of(space: MemorySpace, address: u64) -> (MemorySpace, u64) {
    const SHARED: u64 = window::SHARED as u64;
    const SHARED_SINCE_HOPPER: u64 = (window::HIGH as u64) << 32;
    const LOCAL: u64 = window::LOCAL as u64;
    // An address below the base wraps around to a large number, which lies outside.
    let in_window = |base: u64| address.wrapping_sub(base) < window::SIZE;
    match space {
        MemorySpace::Generic if in_window(SHARED) => (MemorySpace::Shared, SHARED),
        MemorySpace::Generic if in_window(SHARED_SINCE_HOPPER) => {
            (MemorySpace::Shared, SHARED_SINCE_HOPPER)
        }
        MemorySpace::Generic if in_window(LOCAL) => (MemorySpace::Local, LOCAL),
        MemorySpace::Generic => (MemorySpace::Global, 0),
        space => (space, 0),
    }
}

/// Bytes of memory per cell of an access.
pub(super) fn access_size(width: Width) -> usize {
    match width {
        Width::U8 | Width::S8 => 1,
        Width::U16 | Width::S16 => 2,
        Width::Words => 4,
    }
}

/// Reads a cell from memory bytes, with the zero or sign extension of the width.
#[inline]
pub(super) fn read_word(width: Width, bytes: &[u8]) -> u32 {
    match (width, bytes) {
        (Width::U8, [b, ..]) => (*b).into(),
        (Width::S8, [b, ..]) => *b as i8 as u32,
        (Width::U16, [a, b, ..]) => u16::from_le_bytes([*a, *b]).into(),
        (Width::S16, [a, b, ..]) => i16::from_le_bytes([*a, *b]) as u32,
        (Width::Words, [a, b, c, d, ..]) => u32::from_le_bytes([*a, *b, *c, *d]),
        _ => 0,
    }
}

/// Writes the low bytes of a cell to memory bytes.
#[inline]
pub(super) fn write_word(bytes: &mut [u8], value: u32) {
    for (byte, new) in bytes.iter_mut().zip(value.to_le_bytes()) {
        *byte = new;
    }
}
