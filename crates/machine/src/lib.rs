//! Machines as data: the parameters in the files of `machine/`, typed and checked.
//!
//! Each parameter has a range, a source and a provenance. Files with missing or unknown parameters are refused: no parameter has a
//! default in code.

mod gpu_model;
pub mod mini;
mod occupancy;
mod parameter;
mod selection;
mod policy;
mod read;
mod validity;
mod sum;

pub use gpu_model::{ModelChoices, GpuModel, ParameterRange, Provenance};
pub use occupancy::{BlockTooLarge, Limit, Occupancy, BlockResources};
pub use parameter::{Domain, Parameter, SlowEnd, Unit};
pub use selection::{Selection, MachineConfig};
pub use policy::SchedulerPolicy;
pub use sum::ParameterSum;
