//! Memories: bytes at addresses.

use warpbound_ir::Width;

/// Bytes of global memory that a kernel may access.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Buffer {
    /// The name that people know it by.
    pub name: String,
    /// The address of the first byte.
    pub address: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// The global memory: buffers at ascending addresses, with room between them that nobody may access.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GlobalMemory {
    buffers: Vec<Buffer>,
}

impl GlobalMemory {
    /// Where the first buffer begins; addresses have more than 32 bits, so that code that forgets the high word is
    /// noticed.
    const FIRST_ADDRESS: u64 = 0x7_0000_0000;

    /// Buffers begin at multiples of this, as `cudaMalloc` places them.
    const ALIGNMENT: u64 = 512;

    /// Adds a buffer; its address.
    pub fn add(&mut self, name: impl Into<String>, bytes: Vec<u8>) -> u64 {
        let address = match self.buffers.last() {
            None => GlobalMemory::FIRST_ADDRESS,
            Some(last) => {
                let end = last.address + last.bytes.len() as u64;
                end.next_multiple_of(GlobalMemory::ALIGNMENT) + GlobalMemory::ALIGNMENT
            }
        };
        self.buffers.push(Buffer {
            name: name.into(),
            address,
            bytes,
        });
        address
    }

    /// The buffers, by address.
    pub fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    /// Writes bytes, all of them in one buffer; `false` where there is none.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> bool {
        let Some(buffer) = self.buffer_index(address).and_then(|p| self.buffers.get_mut(p)) else {
            return false;
        };
        let start = (address - buffer.address) as usize;
        let room = start
            .checked_add(bytes.len())
            .and_then(|end| buffer.bytes.get_mut(start..end));
        room.map(|room| room.copy_from_slice(bytes)).is_some()
    }

    /// The buffer around an address.
    #[inline]
    pub(super) fn buffer(&self, address: u64) -> Option<&Buffer> {
        self.buffers.get(self.buffer_index(address)?)
    }

    #[inline]
    fn buffer_index(&self, address: u64) -> Option<usize> {
        let behind = self.buffers.partition_point(|b| b.address <= address);
        behind.checked_sub(1)
    }
}

/// Global memory as blocks see it.
pub(crate) trait GlobalAccess {
    /// Bytes around an address, the address of the first before them; `None` where there are none.
    fn bytes_around(&self, address: u64) -> Option<(u64, &[u8])>;

    /// Somebody reads there; sizes are powers of 2, at most 16, that divide the address.
    fn record_read(&mut self, address: u64, size: usize);

    /// The bytes of an access that writes all of them; `None` when not all of them are in one buffer.
    fn bytes_mut(&mut self, address: u64, size: usize) -> Option<&mut [u8]>;

    /// Which buffer lies before an address, and how far behind its beginning the address is.
    fn describe_address(&self, address: u64) -> Option<String>;
}

impl GlobalAccess for GlobalMemory {
    #[inline]
    fn bytes_around(&self, address: u64) -> Option<(u64, &[u8])> {
        let buffer = self.buffer(address)?;
        Some((buffer.address, &buffer.bytes))
    }

    #[inline(always)]
    fn record_read(&mut self, _address: u64, _size: usize) {}

    #[inline]
    fn bytes_mut(&mut self, address: u64, size: usize) -> Option<&mut [u8]> {
        let place = self.buffer_index(address)?;
        let buffer = self.buffers.get_mut(place)?;
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

/// The memory of a block, and which of its bytes somebody has written.
pub(super) struct SharedMemory {
    pub(super) bytes: Vec<u8>,
    /// A bit for each byte of a word.
    written: Vec<u8>,
    /// Bytes that nobody has written.
    unwritten: u32,
}

impl SharedMemory {
    pub(super) fn new(size: u32) -> SharedMemory {
        SharedMemory {
            bytes: vec![0; size as usize],
            written: vec![0; size.div_ceil(4) as usize],
            unwritten: size,
        }
    }

    /// Notes that somebody writes there; sizes are powers of 2 that divide the address.
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

    /// Whether all bytes there have been written.
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

/// The words of an access, and which bytes of each it touches.
#[inline]
fn words(address: u64, size: usize) -> (std::ops::Range<usize>, u8) {
    let first = address as usize / 4;
    match size {
        1 => (first..first + 1, 1 << (address % 4)),
        2 => (first..first + 1, 3 << (address % 4)),
        _ => (first..first + size / 4, 15),
    }
}

/// Where generic addresses reach the memory of the block and of the thread: windows of 16 MiB in the lowest 4 GiB, as the
/// code that compilers write expects. It takes the low 24 bits for the address inside, tells global memory by a high word
/// other than 0, and takes nothing but the low word of the bases on sm_50. The bases stand in the constants of a launch.
pub(crate) mod window {
    use warpbound_isa::instr::MemorySpace;

    /// The memory of the block.
    pub(crate) const SHARED: u64 = 0x0100_0000;
    /// The memory of the thread.
    pub(crate) const LOCAL: u64 = 0x0200_0000;
    /// Bytes of a window.
    pub(crate) const SIZE: u64 = 1 << 24;

    /// Which memory an address belongs to, and the address of its first byte: a generic address may be of any.
    #[inline]
    pub(crate) fn space_of(space: MemorySpace, address: u64) -> (MemorySpace, u64) {
        let in_window = |base: u64| address.wrapping_sub(base) < SIZE;
        match space {
            MemorySpace::Generic if in_window(SHARED) => (MemorySpace::Shared, SHARED),
            MemorySpace::Generic if in_window(LOCAL) => (MemorySpace::Local, LOCAL),
            MemorySpace::Generic => (MemorySpace::Global, 0),
            space => (space, 0),
        }
    }
}

/// Bytes that one access of a lane takes for each cell.
pub(super) fn access_size(width: Width) -> usize {
    match width {
        Width::U8 | Width::S8 => 1,
        Width::U16 | Width::S16 => 2,
        Width::Words => 4,
    }
}

/// What a cell gets of some bytes.
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

/// Puts a cell into bytes.
#[inline]
pub(super) fn write_word(bytes: &mut [u8], value: u32) {
    for (byte, new) in bytes.iter_mut().zip(value.to_le_bytes()) {
        *byte = new;
    }
}
