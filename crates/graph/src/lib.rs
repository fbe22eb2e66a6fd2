//! Graph algorithms on plain directed graphs: strongly connected components, reverse postorder,
//! dominators, loop forest (irreducible parts included) and a worklist fixpoint engine.
//!
//! Nodes are dense indices `0..n`; the meaning of a node is the caller's.

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
