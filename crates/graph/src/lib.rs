//! Algorithms on plain directed graphs: strongly connected components, reverse postorder, dominators,
//! loop forest (irreducible loops included) and a worklist fixpoint solver.
//!
//! Nodes are dense indices `0..n`; their meaning is the caller's. For example, the thread-level graph of a kernel
//! numbers its basic blocks, once for each calling context.
//!
//! # Concepts
//!
//! * strongly connected components: `graph/src/scc.rs`
//! * dominators, iterated dominance frontiers: `graph/src/dominators.rs`
//! * loop forest, with irreducible loops: `graph/src/loops.rs`
//! * fixpoint engine: `graph/src/fixpoint.rs`

mod digraph;
mod dominators;
mod fixpoint;
mod loops;
mod scc;

pub use digraph::Digraph;
pub use dominators::Dominators;
pub use fixpoint::{DataflowProblem, Solution, solve};
pub use loops::{Loop, LoopForest, LoopIndex};
pub use scc::components;
