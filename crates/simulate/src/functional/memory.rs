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
    /// The buffer that was accessed last.
    last: usize,
}

impl GlobalMemory {
    /// Where the first buffer begins; addresses have more than 32 bits, so that code that forgets the high word is
    /// noticed.
    const FIRST: u64 = 0x7_0000_0000;

    /// Buffers begin at multiples of this, as `cudaMalloc` places them.
    const ALIGNMENT: u64 = 512;

    /// Adds a buffer; its address.
    pub fn add(&mut self, name: impl Into<String>, bytes: Vec<u8>) -> u64 {
        let address = match self.buffers.last() {
            None => GlobalMemory::FIRST,
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

    /// The bytes at an address; `None` when not all of them are in one buffer.
    #[inline]
    pub(super) fn bytes(&mut self, address: u64, size: usize) -> Option<&mut [u8]> {
        let is_last = self
            .buffers
            .get(self.last)
            .is_some_and(|buffer| address.wrapping_sub(buffer.address) < buffer.bytes.len() as u64);
        if !is_last {
            let behind = self.buffers.partition_point(|b| b.address <= address);
            self.last = behind.checked_sub(1)?;
        }
        let buffer = self.buffers.get_mut(self.last)?;
        let start = usize::try_from(address - buffer.address).ok()?;
        buffer.bytes.get_mut(start..start.checked_add(size)?)
    }

    /// Which buffer lies before an address, and how far behind its beginning the address is.
    pub(super) fn near(&self, address: u64) -> Option<String> {
        let behind = self.buffers.partition_point(|b| b.address <= address);
        let buffer = self.buffers.get(behind.checked_sub(1)?)?;
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
    bytes: Vec<u8>,
    /// A bit for each byte of a word.
    written: Vec<u8>,
}

impl SharedMemory {
    pub(super) fn new(size: u32) -> SharedMemory {
        SharedMemory {
            bytes: vec![0; size as usize],
            written: vec![0; size.div_ceil(4) as usize],
        }
    }

    /// The bytes at an address; sizes are 1, 2, 4, 8 or 16, and divide the address.
    #[inline]
    pub(super) fn bytes(&mut self, address: u64, size: usize) -> Option<&mut [u8]> {
        let start = usize::try_from(address).ok()?;
        self.bytes.get_mut(start..start.checked_add(size)?)
    }

    /// Notes that somebody writes there.
    #[inline]
    pub(super) fn write(&mut self, address: u64, size: usize) {
        for (word, bits) in words(address, size) {
            if let Some(written) = self.written.get_mut(word) {
                *written |= bits;
            }
        }
    }

    /// Whether all bytes there have been written.
    #[inline]
    pub(super) fn is_written(&self, address: u64, size: usize) -> bool {
        words(address, size).all(|(word, bits)| {
            let written = self.written.get(word);
            written.is_some_and(|&written| written & bits == bits)
        })
    }
}

/// The words of an access, and which bytes of each it touches.
#[inline]
fn words(address: u64, size: usize) -> impl Iterator<Item = (usize, u8)> {
    let first = address as usize / 4;
    let bits = match size {
        1 => 1 << (address % 4),
        2 => 3 << (address % 4),
        _ => 15,
    };
    (first..first + size.div_ceil(4)).map(move |word| (word, bits))
}

/// Where generic addresses reach the memory of the block and of the thread: windows of 16 MiB, as the code that compilers
/// write expects (they take the low 24 bits for the address inside). The bases stand in the constants of a launch.
pub(super) mod window {
    /// The memory of the block.
    pub(in super::super) const SHARED: u64 = 0xf_0100_0000;
    /// The memory of the thread.
    pub(in super::super) const LOCAL: u64 = 0xf_0200_0000;
    /// Bytes of a window.
    pub(in super::super) const SIZE: u64 = 1 << 24;
}

/// Bytes that one access of a lane takes for each cell.
pub(super) fn size_of(width: Width) -> usize {
    match width {
        Width::U8 | Width::S8 => 1,
        Width::U16 | Width::S16 => 2,
        Width::Words => 4,
    }
}

/// What a cell gets of some bytes.
#[inline]
pub(super) fn word_of(width: Width, bytes: &[u8]) -> u32 {
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
pub(super) fn put_word(bytes: &mut [u8], value: u32) {
    for (byte, new) in bytes.iter_mut().zip(value.to_le_bytes()) {
        *byte = new;
    }
}
