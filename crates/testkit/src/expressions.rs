//! Random expressions of CUDA C: their values computed in Rust, and functional runs of the code that NVIDIA's compiler
//! generates for them.
//!
//! The kernels are compiled without contraction to fused multiply-adds (`--fmad=false`), so that IEEE 754 defines every
//! result. Functions that are not correctly rounded have an error bound in units of the last place and occur outermost
//! only.

mod check;
mod directed;
mod generate;
mod rows;
mod value;

pub use check::{CheckOutcome, WrongValue, run};
pub use generate::{Batch, Expression};
pub use rows::{OperatorRow, rows};
pub use value::{NativeNumber, Type};
