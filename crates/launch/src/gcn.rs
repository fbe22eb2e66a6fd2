//! Launches of AMD's GPUs: the initial state of the waves of a kernel (LLVM, "User Guide for AMDGPU Backend",
//! "Initial Kernel Execution State"; HSA, "Platform System Architecture", AQL packets).

use warpbound_base::Family;

mod bind;
mod entry;
mod kernarg;
mod packet;

pub use bind::LOADED_FILE;
pub(crate) use bind::bind;
pub use entry::WaveEntry;

/// Lanes of a wave.
pub const LANES: u32 = Family::Gcn3.lanes();

/// Windows of addresses that are no global memory. Buffers lie below all of them.
pub mod aperture {
    /// First address of scratch as buffer instructions reach it through [`crate::WaveEntry`]'s buffer descriptor, whose
    /// base has 48 bits. The scratch of the waves of one block lies there wave after wave, each swizzled: see
    /// [`super::scratch_place`]. Other blocks have other memory at the same addresses.
    pub const SCRATCH: u64 = 0x4000_0000_0000;
    /// First address of the window of LDS in the flat address space (Linux, `kfd_flat_memory.c`, GPUs of generation 8).
    pub const SHARED: u64 = 0x2000_0000_0000_0000;
    /// First address of the window of private memory in the flat address space (same source): the offset in the
    /// window is the offset in the scratch of the lane itself.
    pub const PRIVATE: u64 = 0x2000_0001_0000_0000;
    /// Bytes of a window.
    pub const SIZE: u64 = 1 << 32;
}

/// Words of a number, low first.
fn words(number: u64) -> [u32; 2] {
    let [a, b, c, d, e, f, g, h] = number.to_le_bytes();
    [
        u32::from_le_bytes([a, b, c, d]),
        u32::from_le_bytes([e, f, g, h]),
    ]
}

/// Place of a byte in the scratch of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScratchPlace {
    /// Number of the wave in its block.
    pub wave: u32,
    /// Lane that owns the byte.
    pub lane: u32,
    /// Byte in the scratch of the lane.
    pub byte: u32,
}

/// Returns the place of the byte at an offset in the window [`aperture::SCRATCH`], where each lane has `lane_bytes`
/// bytes of scratch (a multiple of 4) and the words of the 64 lanes follow each other. `None` for lanes without
/// scratch, and past the waves that 32 bits can number. For example, with 16 bytes per lane, offset 256 is byte 4 of
/// lane 0.
pub fn scratch_place(offset: u64, lane_bytes: u32) -> Option<ScratchPlace> {
    let wave_bytes = u64::from(lane_bytes) * u64::from(LANES);
    let wave = offset.checked_div(wave_bytes)?;
    let within = offset % wave_bytes;
    let row = u64::from(LANES) * 4;
    Some(ScratchPlace {
        wave: u32::try_from(wave).ok()?,
        lane: u32::try_from(within % row / 4).ok()?,
        byte: u32::try_from(within / row * 4 + within % 4).ok()?,
    })
}
