use std::fmt;

/// Byte address of code, relative to the start of the section that holds the function. For example, address 0 is the
/// first byte of the section, wherever the loader places it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CodeAddr(pub u32);

impl CodeAddr {
    /// Returns this address plus a signed byte offset; `None` outside the 32-bit address space.
    pub fn offset(self, bytes: i64) -> Option<CodeAddr> {
        u32::try_from(i64::from(self.0).checked_add(bytes)?)
            .ok()
            .map(CodeAddr)
    }
}

impl fmt::Display for CodeAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:04x}", self.0)
    }
}

impl fmt::Debug for CodeAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
