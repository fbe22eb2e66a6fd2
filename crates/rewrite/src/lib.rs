//! Rewriting of machine code: instructions inserted into the kernels of a file, everything that refers to their
//! addresses moved, and the file written again.

pub mod gcn;
pub mod liveness;
pub mod probes;
pub mod register_set;
