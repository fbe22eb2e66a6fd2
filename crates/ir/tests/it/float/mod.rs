//! Floating-point operations against references in whole numbers of any size, which share no code
//! with them; against the host, where it computes the same; and the special functions against series
//! of some hundred bits.

mod arithmetic;
mod conversions;
mod division;
mod halves;
mod order;
mod reference;
mod special;
