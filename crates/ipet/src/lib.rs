//! Bounds: flow facts, implicit path enumeration as an integer program whose rows have reasons, its exact solution,
//! and certificates that can be checked independently. Also bounds and estimates of blocks of mini-SIMT.
//!
//! The crate knows neither instructions nor machines: callers give the cost of each node or step, for example 1 per
//! instruction or a number of cycles.
//!
//! | stage | module |
//! |---|---|
//! | flow facts (loop bounds, call costs, `never`) from a TOML file | [`facts`], `never` |
//! | count rows and loop facts to an integer program; here a loop fact becomes a row | `ipet` |
//! | presolve, exact simplex, integer point | `reduce`, `simplex`, `face`, `integer` |
//! | check of the certificate; no bound leaves this crate without it | `certificate` |
//! | longest path between instrumentation points, from observed times: an estimate | `longest_path` |
//! | bounds of warps, as values that only checked solutions become | `warp_bound` |
//! | abstract warps and CTA simulation (`abstract-cta-2014`) | [`abstract_warp`], [`cta`] |
//! | plans of measurement: fewest counters from which all counts follow, and their certificate | [`plan`] |
//! | bound of a block of warps | [`block`] |
//!
//! # Concepts
//!
//! * flow facts: `ipet/src/facts.rs`
//! * IPET (the integer program): `ipet/src/ipet.rs`, `model.rs`
//! * exact solution: `ipet/src/reduce.rs`, `simplex.rs`, `face.rs`, `integer.rs`, `solve.rs`
//! * certificates and their check: `ipet/src/certificate.rs`; planted faults: `ipet/tests/it/faults.rs`
//! * bound of a warp, verdict on a kernel: `ipet/src/warp_bound.rs`
//! * formulas (bounds in counts of loops or parameters): `ipet/src/formula.rs`, `ipet/src/formula/search.rs`; their
//!   check: `certificate.rs`; symbols: `bounds/src/bound/formula.rs`
//! * longest path over observed times (`wavefront-splitting-2022` 5.2.4, 5.2.5): `ipet/src/longest_path.rs`
//! * abstract warp (`abstract-cta-2014` 3.2): `ipet/src/abstract_warp.rs`
//! * abstract CTA simulation with N_low, N_high, T_SHIFT, LOG (`abstract-cta-2014` 3.3): `ipet/src/cta.rs`
//! * sound bound of a block of mini-SIMT: `ipet/src/block.rs`; its work: `bounds/src/block.rs`
//! * composition of the time of a launch: `ipet/src/composition.rs`, `ipet/src/composition/weights.rs`; over the
//!   paths of a run: `ipet/src/composition/observed.rs`
//! * composition of the time of a launch of waves: `ipet/src/wave_composition.rs`
//! * plans of measurement (basis of least weight, exact multipliers, their check): `ipet/src/plan.rs`,
//!   `ipet/src/plan/echelon.rs`, `certificate.rs`

pub mod abstract_warp;
pub mod block;
mod certificate;
mod composition;
pub mod cta;
mod exact;
mod face;
mod factor;
pub mod facts;
pub mod formula;
mod integer;
mod ipet;
mod linear;
mod longest_path;
mod model;
mod never;
pub mod plan;
mod pricing;
mod reduce;
mod simplex;
mod solve;
mod sparse;
mod warp_bound;
mod wave_composition;

pub use certificate::{
    Certificate, evaluate, implied_bound, verify, verify_infeasible, verify_ray,
};
pub use composition::{
    BlockChain, ExecutedServices, LaunchBound, LaunchShape, LaunchTerm, LaunchTimes, ObservedBlock,
    ObservedComposition, ObservedLaunch, PartLoad, SchedulerClass, ServicesOfBlocks,
};
pub use facts::{FactIdentity, FactsFile, KernelFacts, LoopFact, LoopName, LoopNumbers};
pub use ipet::{Ipet, NumberTooLarge, StatedCounts};
pub use longest_path::{
    ExclusiveArms, LongestPath, MeasuredEdge, MeasuredGraph, NoLongestPath, PathQuery, PathStart,
    longest_path,
};
pub use model::{Constraint, IntegerProgram, Relation, RowId, Var, VarId};
pub use never::{Never, NeverIndex};
pub use solve::{Certified, Conflict, Effort, Ray, SolveOutcome, solve, solve_each};
pub use warp_bound::{Contradiction, Delays, Verdict, WarpBound, WorstPath};
pub use wave_composition::{WaveSpread, WaveTerms};
