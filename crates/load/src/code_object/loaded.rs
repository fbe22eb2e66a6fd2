//! A code object as the loader places it in memory.

use bytes::Bytes;

/// Bytes of a linked code object in memory, from address 0 of the file to the end of its last segment. The loader
/// chooses where address 0 is.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct LoadedFile {
    /// Contents, code included; zeros where the file has none.
    pub bytes: Bytes,
    /// Fields that receive addresses.
    pub addresses: Vec<AddressField>,
}

/// A field of 8 bytes that receives an address of the file itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AddressField {
    /// Address of the field, relative to address 0 of the file.
    pub at: u64,
    /// Address that it receives, relative to address 0 of the file.
    pub target: u64,
}
