//! Kernel descriptors: register counts, memory sizes, and the register contents with which a wave begins.

use std::ops::Range;

/// Descriptor of a kernel (LLVM, "User Guide for AMDGPU Backend", "Kernel Descriptor"; v2: `amd_kernel_code_t`). For
/// example, an `rsrc1` with 5 in bits 5:0 allocates (5 + 1) · 4 = 24 VGPRs.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct GcnDescriptor {
    /// Register COMPUTE_PGM_RSRC1: allocated registers, float modes.
    pub rsrc1: u32,
    /// Register COMPUTE_PGM_RSRC2: the number of user SGPRs, and which system SGPRs follow them.
    pub rsrc2: u32,
    /// Properties of the code: which user SGPRs the kernel has.
    pub properties: u32,
    /// Bytes of static LDS of a block.
    pub group_segment: u32,
    /// Bytes of scratch of a work-item.
    pub private_segment: u32,
}

/// Bits of [`GcnDescriptor::properties`].
impl GcnDescriptor {
    /// Buffer descriptor of scratch in 4 SGPRs.
    pub const PRIVATE_BUFFER: u32 = 1;
    /// Address of the dispatch packet in 2 SGPRs.
    pub const DISPATCH_POINTER: u32 = 1 << 1;
    /// Address of the queue in 2 SGPRs.
    pub const QUEUE_POINTER: u32 = 1 << 2;
    /// Address of the arguments in 2 SGPRs.
    pub const KERNARG_POINTER: u32 = 1 << 3;
    /// Number of the dispatch in 2 SGPRs.
    pub const DISPATCH_ID: u32 = 1 << 4;
    /// Offset and size of scratch, for flat addresses, in 2 SGPRs.
    pub const FLAT_SCRATCH: u32 = 1 << 5;
    /// Bytes of scratch of a work-item in 1 SGPR.
    pub const PRIVATE_SIZE: u32 = 1 << 6;
    /// Blocks of the grid along x in 1 SGPR (v2; the next two bits are for y and z).
    pub const GRID_COUNT_X: u32 = 1 << 7;
}

impl GcnDescriptor {
    /// Whether the properties have a bit.
    pub fn has(&self, property: u32) -> bool {
        self.properties & property != 0
    }

    /// VGPRs allocated per work-item, at most 256.
    pub fn vector_registers(&self) -> u16 {
        // The field counts granules of 4 VGPRs, minus one.
        (small(self.rsrc1, 0x3f) + 1) * 4
    }

    /// SGPRs allocated per wave: the stated number, rounded up to a multiple of 16. VCC, FLAT_SCRATCH and XNACK_MASK
    /// count as the last ones.
    pub fn scalar_registers(&self) -> u16 {
        // The field counts granules of 8 SGPRs, minus one, although the hardware allocates 16 at a time.
        ((small(self.rsrc1 >> 6, 0xf) + 1) * 8).next_multiple_of(16)
    }

    /// Number of user SGPRs, which precede all other SGPRs that the dispatch sets.
    pub fn user_registers(&self) -> u32 {
        self.rsrc2 >> 1 & 0x1f
    }

    /// User SGPRs with the addresses of the dispatch packet, the queue and the arguments, if the kernel has them.
    /// They follow the buffer descriptor of scratch.
    pub fn runtime_pointers(&self) -> Range<u8> {
        let words = |property: u32, words: u8| if self.has(property) { words } else { 0 };
        // The order of user SGPRs is fixed: each one that the kernel does not ask for moves the next ones down.
        let first = words(GcnDescriptor::PRIVATE_BUFFER, 4);
        let pointers = [
            GcnDescriptor::DISPATCH_POINTER,
            GcnDescriptor::QUEUE_POINTER,
            GcnDescriptor::KERNARG_POINTER,
        ];
        let pointers = pointers.map(|property| words(property, 2));
        first..first + pointers.iter().sum::<u8>()
    }

    /// Whether an SGPR holds the offset of the wave's scratch.
    pub fn has_wave_offset(&self) -> bool {
        self.rsrc2 & 1 != 0
    }

    /// Whether an SGPR holds the block index along an axis.
    pub fn has_block_index(&self, axis: u8) -> bool {
        axis < 3 && self.rsrc2 >> (7 + axis) & 1 != 0
    }

    /// Whether an SGPR holds facts about the block: number of waves, first wave.
    pub fn has_block_info(&self) -> bool {
        self.rsrc2 >> 10 & 1 != 0
    }

    /// Number of VGPRs that hold the index of the work-item, 1 to 3: x, then y, then z. The field's value 3 is not
    /// defined and counts as 2.
    pub fn index_registers(&self) -> u32 {
        (self.rsrc2 >> 11 & 3).min(2) + 1
    }

    /// Start value of the MODE register: rounding in bits 3:0, denormals in 7:4, DX10 clamp in 8, IEEE in 9.
    pub fn mode(&self) -> u32 {
        let float = self.rsrc1 >> 12 & 0xff;
        float | (self.rsrc1 >> 21 & 1) << 8 | (self.rsrc1 >> 23 & 1) << 9
    }
}

/// Low bits of a word, selected by a mask of at most 8 bits.
fn small(word: u32, mask: u8) -> u16 {
    let [low, ..] = word.to_le_bytes();
    u16::from(low & mask)
}
