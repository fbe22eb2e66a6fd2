//! Random expressions of CUDA C, what they are worth in Rust, and runs of what NVIDIA's compiler made of them.
//!
//! Contraction to fused multiply-adds is expected to be switched off (`--fmad=false`), so that IEEE 754 fixes every result;
//! functions that are only near have a bound in units of the last place and stand outermost.

mod check;
mod directed;
mod generate;
mod rows;
mod value;

pub use check::{CheckOutcome, WrongValue, run};
pub use generate::{Batch, Expression};
pub use rows::{OperatorRow, rows};
pub use value::{NativeNumber, Type};
