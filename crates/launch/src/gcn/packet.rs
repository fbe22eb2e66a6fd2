//! Blocks of memory that the runtime keeps for a launch: the dispatch packet and the queue.

use crate::launch::Size;

/// Bytes of a dispatch packet.
const PACKET_BYTES: usize = 64;

/// Bytes of the part of a queue that kernels read (ROCR, `amd_queue_t`).
const QUEUE_BYTES: usize = 256;

/// Header of a dispatch packet: its type (HSA, `HSA_PACKET_TYPE_KERNEL_DISPATCH`).
const KERNEL_DISPATCH: u16 = 2;

/// Byte offsets in the queue of the high words of the windows of LDS and of private memory (ROCR, `amd_queue_t`; LLVM,
/// `SIISelLowering.cpp`).
const SHARED_BASE_AT: usize = 0x40;
const PRIVATE_BASE_AT: usize = 0x44;

/// Facts about a launch that its packet states.
pub(super) struct PacketFacts {
    pub(super) block: Size,
    pub(super) grid: Size,
    pub(super) private_bytes: u32,
    pub(super) group_bytes: u32,
    /// Address of the descriptor.
    pub(super) kernel_object: u64,
    /// Address of the arguments.
    pub(super) kernarg: u64,
}

/// Returns a dispatch packet (HSA, `hsa_kernel_dispatch_packet_t`).
pub(super) fn packet(facts: &PacketFacts) -> Vec<u8> {
    let mut bytes = vec![0; PACKET_BYTES];
    put(&mut bytes, 0, &KERNEL_DISPATCH.to_le_bytes());
    put(
        &mut bytes,
        2,
        &grid_dimensions(facts.grid, facts.block).to_le_bytes(),
    );
    for (axis, (&block, &grid)) in facts.block.iter().zip(&facts.grid).enumerate() {
        // A block has at most 1024 work-items along an axis.
        let size = u16::try_from(block).unwrap_or(u16::MAX);
        put(&mut bytes, 4 + 2 * axis, &size.to_le_bytes());
        // `check_limits` has refused grids whose work-items exceed 32 bits.
        let items = grid.saturating_mul(block);
        put(&mut bytes, 12 + 4 * axis, &items.to_le_bytes());
    }
    put(&mut bytes, 24, &facts.private_bytes.to_le_bytes());
    put(&mut bytes, 28, &facts.group_bytes.to_le_bytes());
    put(&mut bytes, 32, &facts.kernel_object.to_le_bytes());
    put(&mut bytes, 40, &facts.kernarg.to_le_bytes());
    bytes
}

/// Returns a queue with the high words of the windows.
pub(super) fn queue(shared_base: u32, private_base: u32) -> Vec<u8> {
    let mut bytes = vec![0; QUEUE_BYTES];
    put(&mut bytes, SHARED_BASE_AT, &shared_base.to_le_bytes());
    put(&mut bytes, PRIVATE_BASE_AT, &private_base.to_le_bytes());
    bytes
}

/// Number of axes of a grid: up to the last with more than one work-item, at least 1. For example, 4 blocks in x of 8
/// x 8 work-items have two axes.
pub(super) fn grid_dimensions(grid: Size, block: Size) -> u16 {
    let is_long = |axis: &usize| {
        let sizes = (grid.get(*axis), block.get(*axis));
        matches!(sizes, (Some(&grid), Some(&block)) if grid > 1 || block > 1)
    };
    match [2usize, 1].iter().find(|axis| is_long(axis)) {
        Some(2) => 3,
        Some(_) => 2,
        None => 1,
    }
}

/// Writes bytes at an offset; drops those past the end.
pub(super) fn put(to: &mut [u8], at: usize, bytes: &[u8]) {
    for (to, from) in to.iter_mut().skip(at).zip(bytes) {
        *to = *from;
    }
}
