//! Waves that split (`wavefront-splitting-2022`): what a launch leaves in memory does not depend on where, when and
//! in what order waves split and merge.
//!
//! Random structured programs of work-items become GCN3 machine code. A run without splitting leaves what each lane
//! computes alone, and runs with splitting leave the same, for all numbers of slots, with and without merging, in any
//! order.

pub mod campaign;
pub mod compile;
pub mod generate;
pub mod machine_code;
pub mod sites;
pub mod statement;
pub mod timed;
