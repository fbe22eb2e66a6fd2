//! Rewriting of machine code: instructions are inserted into the kernels of a file, everything that refers to code
//! addresses moves along, and the file is written again.
//!
//! [`CubinRewriter`] takes a cubin apart. [`EditedCode`] is the code of one section, in which every reference to an
//! address is a label. A reference that cannot be moved is refused with its address, and nothing is written.
//! [`probes`] are the instructions that count executions of blocks, in registers that [`liveness`] shows to be free;
//! [`lint`] checks control words. [`gcn`] does the same for code objects of GCN3, with counters in scalar registers.

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
