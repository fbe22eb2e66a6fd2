//! Pointers of a launch: addresses of buffers inside buffers, structures and variables.

use std::borrow::Cow;

use crate::file::{LaunchFile, LaunchPointer, PointerLocation};
use crate::memory::GlobalMemory;

/// Returns `bytes` with the pointers at `location` written; `memory` holds the buffers of the launch.
pub(super) fn with_pointers<'a>(
    bytes: &'a [u8],
    location: PointerLocation,
    file: &LaunchFile,
    memory: &GlobalMemory,
) -> Cow<'a, [u8]> {
    // Copied only if pointers are written, because most contents have none.
    let mut bytes = Cow::Borrowed(bytes);
    for pointer in file.pointers.iter().filter(|p| p.location == location) {
        let contents = bytes.to_mut();
        for (offset, address) in addresses(pointer, memory) {
            let offset = usize::try_from(offset).unwrap_or(usize::MAX);
            let target = contents.iter_mut().skip(offset);
            for (to, from) in target.zip(address.to_le_bytes()) {
                *to = from;
            }
        }
    }
    bytes
}

/// Writes the pointers inside buffers to memory.
pub(super) fn fill_buffers(file: &LaunchFile, memory: &mut GlobalMemory) {
    for pointer in &file.pointers {
        let PointerLocation::Buffer(number) = pointer.location else {
            continue;
        };
        let Some(start) = memory.buffers().get(number).map(|buffer| buffer.address) else {
            continue;
        };
        let all: Vec<(u64, u64)> = addresses(pointer, memory).collect();
        for (offset, address) in all {
            memory.write(start + offset, &address.to_le_bytes());
        }
    }
}

/// Returns the byte offset and the value of each pointer.
fn addresses(pointer: &LaunchPointer, memory: &GlobalMemory) -> impl Iterator<Item = (u64, u64)> {
    let target = memory.buffers().get(pointer.buffer);
    let start = target.map_or(0, |buffer| buffer.address);
    pointer
        .addresses()
        .map(move |(offset, to)| (offset, start + to))
}
