//! Tests of the crate's interface.
#![allow(clippy::expect_used, reason = "tests")]

mod attained_bounds;
mod bandwidth;
mod complementary_writes;
mod dependencies;
mod divergence;
mod documents;
mod encoded;
mod exec_mask;
mod expressions;
mod guarded_jump;
mod ir_files;
mod kernel_audit;
mod kernel_runs;
mod kernels;
mod launch_profiles;
mod meanings;
mod microbenchmarks;
mod mini_damage;
mod mini_interpreter;
mod mini_machine;
mod mini_programs;
mod monotone;
mod own_kernels;
mod passing;
mod perceptron;
mod planted_faults;
mod published_cycles;
mod random_programs;
mod shapes;
mod throughput;
mod timed;
mod timed_accounting;
mod timed_numbers;
mod typed_instructions;
mod words;
