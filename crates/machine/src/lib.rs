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

pub use device::{Choices, Device, Figure, Standing};
pub use mini::{AfterBarrier, Latency, Machine, Policy};
pub use occupancy::{Excess, Limit, Occupancy, Room};
pub use parameter::{Domain, Parameter, Slow, Unit};
pub use pick::{Pick, Picked};
pub use policy::Policy as WarpPolicy;
pub use sum::Sum;
