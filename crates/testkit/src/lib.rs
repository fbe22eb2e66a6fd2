//! Oracles for the analyses: random programs, a concrete warp, and the
//! audit that compares what a warp does with what the analyses claim.

pub mod audit;
pub mod divergence;
pub mod execute;
pub mod expressions;
pub mod generate;
pub mod instructions;
pub mod kernels;
pub mod cycle_accounting;
pub mod mini;
pub mod monotone;
pub mod perceptron;
pub mod random;
pub mod issue_rules;
pub mod targets;
