//! The `warpbound` command, end to end, on our own kernels.
#![allow(clippy::expect_used, reason = "tests")]
#![allow(clippy::panic, reason = "tests")]

mod access;
mod access_facts;
mod assumptions;
mod audit;
mod bound;
mod code_objects;
mod cycles;
mod damage;
mod derived;
mod diff;
mod divergence;
mod facts;
mod facts_update;
mod files;
mod foreign;
mod functional;
mod gap;
mod gate;
mod html;
mod instrument;
mod instrument_options;
mod kernels;
mod launch_sets;
mod launches;
mod left_out;
mod libraries;
mod measured_counts;
mod messages;
mod msimt;
mod msimt_refusals;
mod odd_kernels;
mod predict;
mod profiles;
mod queries;
mod readme;
mod rows;
mod small_parameters;
mod snapshots;
mod support;
mod timed;
mod usage;
mod views;
mod waves;
mod wide;
