//! Pointers in launch files: addresses of buffers inside buffers, structures and variables.

/// A sequence of `count` addresses that the launch writes before the kernel starts; the first is the address of byte
/// `to_offset` of a buffer. For example, pointers to 4 rows of 16 bytes each have `count` 4, `step` 8 and `to_step`
/// 16.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaunchPointer {
    /// The object that contains the addresses.
    pub location: PointerLocation,
    /// Byte offset of the first address in the object.
    pub offset: u64,
    /// The target buffer, as index in [`LaunchFile::buffers`](super::LaunchFile::buffers).
    pub buffer: usize,
    /// Byte offset in the target buffer to which the first address points; at most the size of the buffer.
    pub to_offset: u64,
    /// Number of addresses.
    pub count: u64,
    /// Stride of the addresses in the object, in bytes.
    pub step: u64,
    /// Stride of the targets in the target buffer, in bytes.
    pub to_step: u64,
}

/// The object that contains addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PointerLocation {
    /// The parameter at this position, a structure passed by value.
    Param(usize),
    /// The buffer with this index in [`LaunchFile::buffers`](super::LaunchFile::buffers).
    Buffer(usize),
    /// The variable with this index in [`LaunchFile::variables`](super::LaunchFile::variables).
    Variable(usize),
}

impl LaunchPointer {
    /// Returns the byte offset of each address in the object, and the offset of its target in the target buffer.
    pub fn addresses(&self) -> impl Iterator<Item = (u64, u64)> + use<> {
        let LaunchPointer {
            offset,
            to_offset,
            step,
            to_step,
            ..
        } = *self;
        // `RawPointer::read` has checked that all lie inside.
        (0..self.count).map(move |n| (offset + n * step, to_offset + n * to_step))
    }
}
