//! Addresses of buffers that a launch has inside buffers, structures and variables.

use std::borrow::Cow;

use warpbound_load::{LaunchFile, LaunchPointer, PointerPlace};
use warpbound_simulate::functional::GlobalMemory;

/// Bytes with the addresses that stand there; `memory` has the buffers of the launch.
pub(super) fn filled<'a>(
    bytes: &'a [u8],
    place: PointerPlace,
    grid: &LaunchFile,
    memory: &GlobalMemory,
) -> Cow<'a, [u8]> {
    let mut bytes = Cow::Borrowed(bytes);
    for pointer in grid.pointers.iter().filter(|p| p.place == place) {
        let contents = bytes.to_mut();
        for (offset, address) in addresses(pointer, memory) {
            let room = contents.iter_mut().skip(offset as usize);
            for (to, from) in room.zip(address.to_le_bytes()) {
                *to = from;
            }
        }
    }
    bytes
}

/// Writes the addresses that stand in buffers.
pub(super) fn fill_buffers(grid: &LaunchFile, memory: &mut GlobalMemory) {
    for pointer in &grid.pointers {
        let PointerPlace::Buffer(number) = pointer.place else {
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

/// For each address the byte at which it stands.
fn addresses(pointer: &LaunchPointer, memory: &GlobalMemory) -> impl Iterator<Item = (u64, u64)> {
    let target = memory.buffers().get(pointer.buffer);
    let start = target.map_or(0, |buffer| buffer.address);
    pointer.each().map(move |(offset, to)| (offset, start + to))
}
