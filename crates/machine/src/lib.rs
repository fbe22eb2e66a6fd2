//! Machines as data: the parameters in the files of `machine/`, typed and checked.
//!
//! Each parameter has a range, a source and a provenance. Files with missing or unknown parameters are refused: no
//! parameter has a default in code.
//!
//! # Concepts
//!
//! * parameters of a GPU, with family and slow end of each: `machine/src/parameter.rs`; their ranges: `gpu_model.rs`
//! * machine files, `like`: `machine/src/read.rs`; files `machine/nvidia`, `machine/amd`, `machine/mini-simt`
//! * sums of parameters: `machine/src/sum.rs`
//! * occupancy of SMs and of compute units: `machine/src/occupancy.rs`, `machine/src/occupancy/compute_unit.rs`
//! * resources of SMs by architecture: `machine/src/resources.rs`; rows `machine/nvidia/resources.tsv`
//! * selection of values within the ranges: `machine/src/selection.rs`; slowest and fastest of sizes:
//!   `runs/src/runs/timed/ends.rs`
//! * warp schedulers by name: `machine/src/policy.rs`
//! * machines of mini-SIMT: `machine/src/mini.rs`

mod gpu_model;
pub mod mini;
mod occupancy;
mod parameter;
mod policy;
mod read;
mod resources;
mod selection;
mod sum;
mod validity;

pub use gpu_model::{ClockBasis, ClockMode, GpuModel, ModelChoices, ParameterRange, Provenance};
pub use occupancy::{BlockResources, BlockTooLarge, Limit, Occupancy, WaveNeeds};
pub use parameter::{Domain, Parameter, SlowEnd, Unit};
pub use policy::SchedulerPolicy;
pub use resources::SmResources;
pub use selection::{MachineConfig, Selection};
pub use sum::ParameterSum;
