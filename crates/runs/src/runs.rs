//! Runs of kernels: untimed execution of a grid ([`functional`]), timed simulation of a grid ([`timed`]), and
//! simulation of one block of a mini-SIMT program ([`mini`]); launch sets, with time and without ([`set`]).

pub mod functional;
pub mod mini;
mod notes;
pub mod set;
pub mod timed;
pub use functional::execute;
pub use functional::execute_prepared;
pub use functional::execute_to_end;
pub use mini::run_mini;
pub use set::execute_set;
pub use set::simulate_set;
pub use timed::simulate;
pub use timed::simulate_to_end;
pub use timed::simulate_with;
