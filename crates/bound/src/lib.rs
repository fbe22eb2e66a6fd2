//! From facts to numbers: an integer program with reasons, its exact solution, and evidence that can be re-checked.

pub mod abstract_warp;
pub mod block;
mod certificate;
pub mod cta;
mod exact;
mod face;
mod factor;
pub mod facts;
mod integer;
mod ipet;
mod linear;
mod model;
mod never;
mod pricing;
mod reduce;
mod simplex;
mod solve;
mod sparse;

pub use certificate::{
    Certificate, evaluate, implied_bound, verify, verify_infeasible, verify_ray,
};
pub use facts::{FactsFile, KernelFacts, LoopName, LoopNumbers};
pub use ipet::{BoundTooLarge, Ipet, StatedCounts};
pub use model::{IntegerProgram, Relation, Constraint, RowId, Var, VarId};
pub use never::{Never, NeverIndex};
pub use solve::{Certified, Conflict, Effort, SolveOutcome, Ray, solve};
