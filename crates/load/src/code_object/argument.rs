//! Arguments of kernels, including hidden ones.
//!
//! The compiler appends hidden arguments to the explicit ones, and the runtime fills them in. For example, code of
//! version 5 reads `blockDim.x` from the hidden argument `GroupSize(0)`, 12 bytes after the first hidden argument.

use std::sync::Arc;

use super::CodeObjectVersion;

/// Argument of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelArg {
    /// Name in the source, if the compiler recorded it.
    pub name: Option<Arc<str>>,
    /// Byte offset from the start of the arguments.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
    /// Kind of the value.
    pub kind: ArgKind,
}

/// Kinds of arguments (`.value_kind`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ArgKind {
    /// A number or structure.
    ByValue,
    /// Address of a buffer in global memory.
    GlobalBuffer,
    /// Offset of dynamic LDS.
    DynamicSharedPointer,
    /// Address of an image descriptor.
    Image,
    /// Address of a sampler.
    Sampler,
    /// Address of a queue.
    Queue,
    /// Address of a pipe.
    Pipe,
    /// Value that the runtime supplies.
    Hidden(HiddenArg),
}

/// Hidden arguments, which the runtime supplies.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HiddenArg {
    /// First work-item of the grid along an axis (0 for x, 1 for y, 2 for z).
    GlobalOffset(u8),
    /// Blocks of the grid, along an axis.
    BlockCount(u8),
    /// Work-items of a block, along an axis.
    GroupSize(u8),
    /// Work-items of the last block if it is not whole, else 0, along an axis.
    Remainder(u8),
    /// Number of axes of the grid.
    GridDims,
    /// Buffer of `printf`.
    PrintfBuffer,
    /// Buffer of calls to the host.
    HostcallBuffer,
    /// Argument of synchronisation between several grids.
    MultigridSync,
    /// Heap of device-side `malloc`.
    Heap,
    /// Queue of kernels that kernels enqueue.
    DefaultQueue,
    /// Completion action of kernels that kernels enqueue.
    CompletionAction,
    /// Bytes of dynamic LDS.
    DynamicLdsSize,
    /// High word of the window of private memory.
    PrivateBase,
    /// High word of the window of LDS.
    SharedBase,
    /// Address of the queue of the launch.
    QueuePointer,
    /// Nothing.
    None,
}

impl ArgKind {
    /// Whether the runtime supplies the value.
    pub fn is_hidden(self) -> bool {
        matches!(self, ArgKind::Hidden(_))
    }

    /// Kind by its name in the metadata, as version 3 and later spell it.
    pub(crate) fn from_name(name: &str) -> Option<ArgKind> {
        use HiddenArg as H;
        // Names of hidden arguments end in the axis, as in `hidden_block_count_x`.
        let axis = |prefix: &str| {
            ["x", "y", "z"]
                .iter()
                .zip(0u8..)
                .find(|(axis, _)| name.strip_prefix(prefix) == Some(**axis))
                .map(|(_, number)| number)
        };
        let hidden = match name {
            "by_value" => return Some(ArgKind::ByValue),
            "global_buffer" => return Some(ArgKind::GlobalBuffer),
            "dynamic_shared_pointer" => return Some(ArgKind::DynamicSharedPointer),
            "image" => return Some(ArgKind::Image),
            "sampler" => return Some(ArgKind::Sampler),
            "queue" => return Some(ArgKind::Queue),
            "pipe" => return Some(ArgKind::Pipe),
            "hidden_grid_dims" => H::GridDims,
            "hidden_printf_buffer" => H::PrintfBuffer,
            "hidden_hostcall_buffer" => H::HostcallBuffer,
            "hidden_multigrid_sync_arg" => H::MultigridSync,
            "hidden_heap_v1" => H::Heap,
            "hidden_default_queue" => H::DefaultQueue,
            "hidden_completion_action" => H::CompletionAction,
            "hidden_dynamic_lds_size" => H::DynamicLdsSize,
            "hidden_private_base" => H::PrivateBase,
            "hidden_shared_base" => H::SharedBase,
            "hidden_queue_ptr" => H::QueuePointer,
            "hidden_none" => H::None,
            _ => axis("hidden_global_offset_")
                .map(H::GlobalOffset)
                .or_else(|| axis("hidden_block_count_").map(H::BlockCount))
                .or_else(|| axis("hidden_group_size_").map(H::GroupSize))
                .or_else(|| axis("hidden_remainder_").map(H::Remainder))?,
        };
        Some(ArgKind::Hidden(hidden))
    }
}

/// A hidden argument: kind, byte offset from the first hidden argument, size in bytes.
type HiddenSlot = (HiddenArg, u32, u32);

impl HiddenArg {
    /// Hidden arguments of a version: kind, byte offset from the first one, size in bytes. Before version 5, one
    /// place may have several kinds: each of them is listed.
    pub fn layout(version: CodeObjectVersion) -> &'static [HiddenSlot] {
        use HiddenArg as H;
        const EARLY: &[HiddenSlot] = &[
            (H::GlobalOffset(0), 0, 8),
            (H::GlobalOffset(1), 8, 8),
            (H::GlobalOffset(2), 16, 8),
            // A kernel has at most one of the two buffers at this place: its metadata states which.
            (H::PrintfBuffer, 24, 8),
            (H::HostcallBuffer, 24, 8),
            (H::DefaultQueue, 32, 8),
            (H::CompletionAction, 40, 8),
            (H::MultigridSync, 48, 8),
        ];
        const LATE: &[HiddenSlot] = &[
            (H::BlockCount(0), 0, 4),
            (H::BlockCount(1), 4, 4),
            (H::BlockCount(2), 8, 4),
            (H::GroupSize(0), 12, 2),
            (H::GroupSize(1), 14, 2),
            (H::GroupSize(2), 16, 2),
            (H::Remainder(0), 18, 2),
            (H::Remainder(1), 20, 2),
            (H::Remainder(2), 22, 2),
            (H::GlobalOffset(0), 40, 8),
            (H::GlobalOffset(1), 48, 8),
            (H::GlobalOffset(2), 56, 8),
            (H::GridDims, 64, 2),
            (H::PrintfBuffer, 72, 8),
            (H::HostcallBuffer, 80, 8),
            (H::MultigridSync, 88, 8),
            (H::Heap, 96, 8),
            (H::DefaultQueue, 104, 8),
            (H::CompletionAction, 112, 8),
            (H::DynamicLdsSize, 120, 4),
            // LLVM reserves the bytes between the arguments.
            (H::PrivateBase, 192, 4),
            (H::SharedBase, 196, 4),
            (H::QueuePointer, 200, 8),
        ];
        match version {
            CodeObjectVersion::V2 | CodeObjectVersion::V3 | CodeObjectVersion::V4 => EARLY,
            CodeObjectVersion::V5 | CodeObjectVersion::V6 => LATE,
        }
    }
}
