//! Machines as data: a typed view of the files in `machine/`.
//!
//! Each number there has a least and a most value and says where it is from. A file that leaves something out, or
//! has something that is not known here, is refused: no number has a default.

mod device;
mod mini;
mod occupancy;
mod parameter;
mod pick;
mod policy;
mod read;
mod sense;
mod sum;

pub use device::{ModelChoices, GpuModel, ParameterRange, Provenance};
pub use mini::{AfterBarrier, Latency, Machine, Policy};
pub use occupancy::{BlockTooLarge, Limit, Occupancy, BlockResources};
pub use parameter::{Domain, Parameter, SlowEnd, Unit};
pub use pick::{Selection, MachineConfig};
pub use policy::SchedulerPolicy as WarpPolicy;
pub use sum::ParameterSum;
