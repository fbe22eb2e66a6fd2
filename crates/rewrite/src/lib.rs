//! Rewriting of machine code: instructions inserted into the kernels of a file, everything that refers to their
//! addresses moved, and the file written again.
//!
//! [`CubinRewriter`] takes a cubin apart; [`EditedCode`] is the code of one section, in which every reference to an
//! address is a label. What cannot be moved is refused with its address, and nothing is written. [`probes`] are the
//! instructions that count executions of blocks, in registers that [`liveness`] shows to be free; [`lint`] checks
//! control words. [`gcn`] has the same for code objects of GCN3, with counters in scalar registers.

mod code;
mod cubin;
mod elf;
pub mod gcn;
pub mod lint;
pub mod liveness;
pub mod probes;
pub mod register_set;

pub use code::{CodeMap, EditedCode, Entry, NewInstr, NewTarget};
pub use cubin::{CubinRewriter, RewrittenCubin, VariableSlot};
