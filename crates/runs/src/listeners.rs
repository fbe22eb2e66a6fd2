//! Listeners of runs: event files, timelines, statistics, and the tables made of them. No listener changes a run.

pub(crate) mod cycle_statistics;
pub(crate) mod events;
pub mod instruction_statistics;
pub(crate) mod names;
pub(crate) mod progress;
pub(crate) mod tables;
pub(crate) mod timeline;
pub(crate) mod wave_tables;
