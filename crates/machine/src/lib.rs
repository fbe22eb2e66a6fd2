//! Machines as data: a typed view of the files in `machine/`.
//!
//! Each number there has a least and a most value and says where it is from. A file that leaves something out, or
//! has something that is not known here, is refused: no number has a default.

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
