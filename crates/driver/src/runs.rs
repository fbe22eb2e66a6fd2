//! Runs of kernels: untimed execution of a grid ([`functional`]), timed simulation of a grid ([`timed`]), and
//! simulation of one block of a mini-SIMT program ([`mini`]); launch sets, with time and without ([`set`]).

pub(crate) mod functional;
pub(crate) mod mini;
mod notes;
pub(crate) mod set;
pub(crate) mod timed;
