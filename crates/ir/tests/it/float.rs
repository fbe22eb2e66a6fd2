//! Comparison of floating-point operations with references in arbitrary-precision integers, which share no
//! code with them; with the host, where it computes the same; and of the special functions with series of
//! some hundred bits.

mod arithmetic;
mod bfloats;
mod conversions;
mod division;
mod gcn;
mod gcn_division;
mod halves;
mod order;
mod reference;
mod special;
