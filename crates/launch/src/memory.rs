//! Global memory of a launch: buffers at addresses, and the windows of the generic address space.

use std::ops::Range;

/// A contiguous allocation in global memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Buffer {
    /// Name for messages: of the parameter, buffer or variable.
    pub name: String,
    /// Address of the first byte.
    pub address: u64,
    /// Contents.
    pub bytes: Vec<u8>,
    /// Contents at the start, if the runtime owns the buffer; `None` for buffers of the launch file and for
    /// variables.
    pub of_runtime: Option<Vec<u8>>,
}

/// Variable of the module inside a buffer that the runtime owns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct InnerVariable {
    /// Name in the launch file.
    pub(crate) name: String,
    /// Buffer by its number, and bytes in it.
    pub(crate) buffer: usize,
    pub(crate) range: Range<usize>,
}

/// Global memory: buffers at ascending addresses, with unmapped gaps between them so that overruns fault.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GlobalMemory {
    buffers: Vec<Buffer>,
    /// Variables that the launch file names and that have no buffer of their own.
    inner: Vec<InnerVariable>,
}

impl GlobalMemory {
    /// Address of the first buffer: more than 32 bits, so that an access that drops the high word faults.
    const FIRST_ADDRESS: u64 = 0x7_0000_0000;

    /// Alignment of buffers in bytes, as of `cudaMalloc`.
    const ALIGNMENT: u64 = 512;

    /// Adds a buffer and returns its address.
    pub fn add(&mut self, name: impl Into<String>, bytes: Vec<u8>) -> u64 {
        let address = match self.buffers.last() {
            None => GlobalMemory::FIRST_ADDRESS,
            Some(last) => {
                let end = last.address + last.bytes.len() as u64;
                // The added alignment leaves a gap even if the last buffer is empty or ends at a multiple of the
                // alignment.
                end.next_multiple_of(GlobalMemory::ALIGNMENT) + GlobalMemory::ALIGNMENT
            }
        };
        self.buffers.push(Buffer {
            name: name.into(),
            address,
            bytes,
            of_runtime: None,
        });
        address
    }

    /// Marks the buffers from index `first` on as owned by the runtime, and keeps their present contents.
    pub(crate) fn mark_of_runtime(&mut self, first: usize) {
        for buffer in self.buffers.iter_mut().skip(first) {
            buffer.of_runtime = Some(buffer.bytes.clone());
        }
    }

    /// The buffers, by ascending address.
    pub fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    /// Adds a variable inside the last buffer, with bytes at its start; returns whether it lies in the buffer.
    pub(crate) fn add_inner(
        &mut self,
        name: impl Into<String>,
        range: Range<usize>,
        bytes: &[u8],
    ) -> bool {
        let Some(index) = self.buffers.len().checked_sub(1) else {
            return false;
        };
        let place = self.buffers.get_mut(index);
        let place = place.and_then(|buffer| buffer.bytes.get_mut(range.clone()));
        let Some(place) = place else { return false };
        for (to, from) in place.iter_mut().zip(bytes) {
            *to = *from;
        }
        self.inner.push(InnerVariable {
            name: name.into(),
            buffer: index,
            range,
        });
        true
    }

    /// Variables that have no buffer of their own, with their bytes.
    pub(crate) fn inner(&self) -> impl Iterator<Item = (&InnerVariable, &[u8])> {
        self.inner.iter().filter_map(|variable| {
            let buffer = self.buffers.get(variable.buffer)?;
            Some((variable, buffer.bytes.get(variable.range.clone())?))
        })
    }

    /// Writes bytes to one buffer; returns false if they do not all lie in it.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> bool {
        let Some(buffer) = self.buffer_mut(address) else {
            return false;
        };
        let target = usize::try_from(address - buffer.address)
            .ok()
            .and_then(|start| Some(start..start.checked_add(bytes.len())?))
            .and_then(|range| buffer.bytes.get_mut(range));
        target.map(|target| target.copy_from_slice(bytes)).is_some()
    }

    /// Returns the last buffer that starts at or before an address, which may lie past its end.
    #[inline]
    pub fn buffer(&self, address: u64) -> Option<&Buffer> {
        self.buffers.get(self.index_of(address)?)
    }

    /// Returns the last buffer that starts at or before an address, mutable.
    #[inline]
    pub fn buffer_mut(&mut self, address: u64) -> Option<&mut Buffer> {
        let index = self.index_of(address)?;
        self.buffers.get_mut(index)
    }

    /// Returns the index of the last buffer that starts at or before an address.
    #[inline]
    fn index_of(&self, address: u64) -> Option<usize> {
        let end = self.buffers.partition_point(|b| b.address <= address);
        end.checked_sub(1)
    }
}

/// Windows of the generic address space: 16 MiB each in the lowest 4 GiB, as compiled code expects. Compiled code
/// takes the low 24 bits as the address inside a window, recognises global memory by a high word other than 0, and on
/// some architectures reads only the low word of the bases. The bases are in the launch block, see
/// [`LaunchBlock::windows`](warpbound_base::LaunchBlock::windows). For example, the generic address 0x0100_0010 is byte
/// 0x10 of shared memory.
pub mod window {
    /// Base of the window of shared memory.
    pub const SHARED: u32 = 0x0100_0000;
    /// Base of the window of local memory.
    pub const LOCAL: u32 = 0x0200_0000;
    /// High word of the window of shared memory from Hopper on, whose low word is 0 (SR_SWINHI).
    pub const HIGH: u32 = 1;
    /// Bytes of a window.
    pub const SIZE: u64 = 1 << 24;
}
