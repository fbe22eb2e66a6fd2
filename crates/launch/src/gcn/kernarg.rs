//! Arguments of a kernel in memory: explicit ones at their offsets, hidden ones by the version of the code object.

use warpbound_load::{ArgKind, CodeObjectKernel, HiddenArg, Kernel};

use super::packet::{grid_dimensions, put};
use crate::file::LaunchFile;
use crate::launch::Size;

/// Facts about a launch that hidden arguments state.
pub(super) struct HiddenValues {
    pub(super) block: Size,
    pub(super) grid: Size,
    pub(super) dynamic_shared: u32,
    pub(super) shared_base: u32,
    pub(super) private_base: u32,
    /// Address of the queue.
    pub(super) queue: u64,
}

/// Dynamic LDS of a block.
pub(super) struct DynamicShared {
    /// Offsets of the parameters that are pointers to dynamic LDS, by position; 0 for others.
    pub(super) offsets: Vec<u32>,
    /// Bytes of static and dynamic LDS together.
    pub(super) bytes: u32,
}

/// Alignment of a piece of dynamic LDS in bytes, which suffices for the usual types of OpenCL C.
const SHARED_ALIGNMENT: u32 = 16;

/// Lays out the dynamic LDS after the static one: a piece for each pointer to dynamic LDS, whose value in the launch
/// file is its size, then the dynamic LDS of the file.
pub(super) fn dynamic_shared(
    object: &CodeObjectKernel,
    file: &LaunchFile,
    values: &[Vec<u8>],
) -> Result<DynamicShared, String> {
    let too_large = || "the dynamic LDS has 4 GiB or more".to_owned();
    let mut end = object.descriptor.group_segment;
    let mut offsets = Vec::with_capacity(values.len());
    // Hidden arguments have no parameter in the launch file.
    let explicit = object.args.iter().filter(|arg| !arg.kind.is_hidden());
    for (arg, value) in explicit.zip(values) {
        if arg.kind != ArgKind::DynamicSharedPointer {
            offsets.push(0);
            continue;
        }
        let size = value
            .first_chunk::<4>()
            .map(|word| u32::from_le_bytes(*word));
        let start = end.checked_next_multiple_of(SHARED_ALIGNMENT);
        let start = start.ok_or_else(too_large)?;
        offsets.push(start);
        end = start.checked_add(size.unwrap_or(0)).ok_or_else(too_large)?;
    }
    Ok(DynamicShared {
        offsets,
        bytes: end.checked_add(file.dynamic_shared).ok_or_else(too_large)?,
    })
}

/// Largest size of all arguments in bytes; the compiler's limit is 4 KiB for explicit ones.
const MAX_BYTES: u32 = 1 << 16;

/// Bytes to which the arguments are padded, because compilers load whole groups of words.
const PADDING: usize = 64;

/// Returns the arguments of a launch as they are in memory. `values` are the parameters of the launch file.
pub(super) fn segment(
    kernel: &Kernel,
    object: &CodeObjectKernel,
    file: &LaunchFile,
    values: &[Vec<u8>],
    shared: &DynamicShared,
    hidden: &HiddenValues,
) -> Result<Vec<u8>, String> {
    if object.args.is_empty() && object.kernarg_size > 0 {
        return Err("the code object does not state what the kernel's arguments are".to_owned());
    }
    if file.params.len() != kernel.params.len() {
        return Err(format!(
            "the kernel has {} parameters, the launch {}",
            kernel.params.len(),
            file.params.len()
        ));
    }
    if object.kernarg_size > MAX_BYTES {
        return Err(format!(
            "the kernel has {} bytes of arguments, at most {MAX_BYTES} are supported",
            object.kernarg_size
        ));
    }
    let mut bytes = vec![0; object.kernarg_size as usize];
    // Before the explicit arguments, which take precedence in a kernel without hidden ones.
    write_hidden(object, hidden, &mut bytes)?;
    let given = file.params.iter().zip(values).zip(&shared.offsets);
    let explicit = object.args.iter().filter(|arg| !arg.kind.is_hidden());
    for (arg, ((param, value), &offset)) in explicit.zip(given) {
        if value.len() != arg.size as usize {
            return Err(format!(
                "parameter {} has {} bytes, and {} in the kernel",
                param.name,
                value.len(),
                arg.size
            ));
        }
        match arg.kind {
            ArgKind::DynamicSharedPointer => {
                put(&mut bytes, arg.offset as usize, &offset.to_le_bytes());
            }
            ArgKind::ByValue | ArgKind::GlobalBuffer => {
                put(&mut bytes, arg.offset as usize, value);
            }
            _ => {
                return Err(format!(
                    "parameter {} is an image, a sampler, a queue or a pipe, which launches do not support",
                    param.name
                ));
            }
        }
    }
    bytes.resize(bytes.len().next_multiple_of(PADDING).max(PADDING), 0);
    Ok(bytes)
}

/// Writes the hidden arguments that the kernel has.
///
/// The metadata lists the hidden arguments that the code may read, with their offsets. These have to be the places
/// that the version of the code object prescribes; otherwise the file contradicts itself.
fn write_hidden(
    object: &CodeObjectKernel,
    values: &HiddenValues,
    bytes: &mut [u8],
) -> Result<(), String> {
    let base = object.hidden_offset();
    let layout = HiddenArg::layout(object.version);
    for arg in &object.args {
        let ArgKind::Hidden(hidden) = arg.kind else {
            continue;
        };
        let Some(value) = hidden_value(hidden, values) else {
            continue;
        };
        let place = layout.iter().find(|(known, ..)| *known == hidden);
        match place {
            Some(&(_, at, size))
                if base.checked_add(at) == Some(arg.offset) && size == arg.size =>
            {
                let value = value.to_le_bytes();
                let value = value.get(..size as usize).unwrap_or_default();
                put(bytes, arg.offset as usize, value);
            }
            _ => {
                return Err(format!(
                    "hidden argument {hidden:?} at offset {} is not where code objects {} have it",
                    arg.offset, object.version
                ));
            }
        }
    }
    Ok(())
}

/// Value of a hidden argument; `None` if nothing is written. Services of the runtime (printf, heap, queues for
/// kernels) have the address 0.
fn hidden_value(hidden: HiddenArg, values: &HiddenValues) -> Option<u64> {
    let along = |size: Size, axis: u8| size.get(usize::from(axis)).map(|&n| u64::from(n));
    match hidden {
        HiddenArg::BlockCount(axis) => along(values.grid, axis),
        HiddenArg::GroupSize(axis) => along(values.block, axis),
        // The grid consists of whole blocks.
        HiddenArg::Remainder(_) | HiddenArg::GlobalOffset(_) => Some(0),
        HiddenArg::GridDims => Some(grid_dimensions(values.grid, values.block).into()),
        HiddenArg::PrintfBuffer
        | HiddenArg::HostcallBuffer
        | HiddenArg::MultigridSync
        | HiddenArg::Heap
        | HiddenArg::DefaultQueue
        | HiddenArg::CompletionAction => Some(0),
        HiddenArg::DynamicLdsSize => Some(values.dynamic_shared.into()),
        HiddenArg::PrivateBase => Some(values.private_base.into()),
        HiddenArg::SharedBase => Some(values.shared_base.into()),
        HiddenArg::QueuePointer => Some(values.queue),
        HiddenArg::None => None,
    }
}
