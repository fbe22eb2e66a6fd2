//! Vocabulary shared by every room: code addresses, bit views, diagnostics.
//!
//! Nothing here knows about GPUs.

mod addr;
mod bits;
mod diagnostic;

pub use addr::CodeAddr;
pub use bits::{BitRange, Bits};
pub use diagnostic::{Diagnostic, Place};
