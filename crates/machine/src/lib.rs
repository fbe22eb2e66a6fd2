//! Machines as data: the parameters in the files of `machine/`, typed and checked.
//!
//! Each parameter has a range, a source and a provenance. Files with missing or unknown parameters are refused: no
//! parameter has a default in code.

mod gpu_model;
pub mod mini;
mod occupancy;
mod parameter;
mod policy;
mod read;
mod selection;
mod sum;
mod validity;

pub use gpu_model::{ClockBasis, ClockMode, GpuModel, ModelChoices, ParameterRange, Provenance};
pub use occupancy::{BlockResources, BlockTooLarge, Limit, Occupancy, WaveNeeds};
pub use parameter::{Domain, Parameter, SlowEnd, Unit};
pub use policy::SchedulerPolicy;
pub use selection::{MachineConfig, Selection};
pub use sum::ParameterSum;
