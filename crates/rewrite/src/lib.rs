//! Rewriting of machine code: instructions are inserted into the kernels of a file, everything that refers to code
//! addresses moves along, and the file is written again.
//!
//! [`CubinRewriter`] takes a cubin apart. [`EditedCode`] is the code of one section, with a label in place of every
//! reference to an address. A reference that cannot be moved is refused with its address, and nothing is written.
//! [`probes`] are the instructions that count executions of blocks, in registers that [`liveness`] shows to be free;
//! [`lint`] checks control words. [`gcn`] does the same for code objects of GCN3, with counters in scalar registers.
//!
//! # Concepts
//!
//! * cubins written again: `rewrite/src/cubin.rs`, `rewrite/src/cubin/finish.rs`; checks: `testkit/src/rewriting.rs`,
//!   `xtask/src/rewrite_check.rs`
//! * attributes, jump tables and line tables of cubins that move with the code: `rewrite/src/cubin/attributes.rs`,
//!   `tables.rs`, `lines.rs`
//! * ELF files written again: `rewrite/src/elf.rs`
//! * code with labels, insertions, stubs: `rewrite/src/code.rs`, `rewrite/src/code/assemble.rs`, `references.rs`,
//!   `map.rs`; bits of its words: `words.rs`
//! * code objects of GCN3 written again: `rewrite/src/gcn.rs`, `rewrite/src/gcn/code.rs`, `finish.rs`, `probes.rs`;
//!   checks: `testkit/tests/it/gcn_rewriting.rs`
//! * liveness of SCC in waves: `rewrite/src/gcn/scc.rs`
//! * liveness of registers, operations in flight: `rewrite/src/liveness.rs`, `register_set.rs`
//! * probes in machine code (registers, places in a block, control words): `rewrite/src/probes.rs`,
//!   `rewrite/src/probes/allocation.rs`, `schedule.rs`, `body.rs`, `flush.rs`, `sequence.rs`
//! * time stamps in machine code: `rewrite/src/probes/stamps.rs`; with a plan: `measure/src/instrument/stamps.rs`;
//!   check: `testkit/tests/it/stamps.rs`
//! * lint of control words (hazards, required distances): `rewrite/src/lint.rs`, `rewrite/src/lint/state.rs`, `hazards.rs`,
//!   `distances.rs`, `published.rs`, `learned.rs`, `isa/nvidia/volta.distances`; how they are learned:
//!   `xtask/src/lint_distances.rs`

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
