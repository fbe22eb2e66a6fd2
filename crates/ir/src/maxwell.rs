//! Meaning of Maxwell and Pascal instructions (sources: PTX manual for the operations that SASS shares with it,
//! `pastis-2022` section 4, experiments with the compiler's output).
//!
//! Every function `meaning` matches mnemonics and modifiers exactly: an instruction with a modifier that no arm
//! matches has no meaning, and its results are unknown to analyses. A wrong meaning would be unsound; a missing one is
//! only imprecise.

mod atomic;
mod compare;
mod convert;
mod flags;
mod float;
mod half;
mod integer;
mod logic;
mod memory;
mod number;
mod operands;
mod products;
mod resize;
mod surface;
#[cfg(test)]
mod tests;
mod texture;
mod video;
mod warp_wide;

use warpbound_isa::View;

use crate::Meaning;
pub use flags::cc_test;
use operands::Operands;

/// Returns the meaning of an instruction; `None` if it is unknown.
pub fn meaning(view: &View) -> Option<Meaning> {
    let operands = Operands::new(view);
    integer::meaning(view, &operands)
        .or_else(|| products::meaning(view, &operands))
        .or_else(|| resize::meaning(view, &operands))
        .or_else(|| logic::meaning(view, &operands))
        .or_else(|| compare::meaning(view, &operands))
        .or_else(|| float::meaning(view, &operands))
        .or_else(|| half::meaning(view, &operands))
        .or_else(|| convert::meaning(view, &operands))
        .or_else(|| memory::meaning(view, &operands))
        .or_else(|| video::meaning(view, &operands))
        .or_else(|| atomic::meaning(view, &operands))
        .or_else(|| texture::meaning(view, &operands))
        .or_else(|| surface::meaning(view, &operands))
        .or_else(|| warp_wide::meaning(view, &operands))
}
