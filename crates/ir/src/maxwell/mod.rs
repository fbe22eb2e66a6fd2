//! What Maxwell and Pascal instructions compute (semantics: PTX manual for the operations that SASS shares with it,
//! `pastis-2022` section 4, experiments with the compiler's output).
//!
//! An instruction with a modifier that is not spelled here has no meaning yet.

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

/// What the instruction does to data; `None` when that is not known here.
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
