//! Measurement: plans of what to measure, instrumented kernels, predicted counts and estimates from observed times.
//!
//! A count of a block follows from the launch (`predict`), from counters and flow (`probes`, `instrument`), or is
//! checked against flow and facts (`measured_counts`). Times that were observed give estimates (`hybrid`), which are
//! never bounds.
//!
//! # Concepts
//!
//! * plans of probes (counts as linear forms, choice by each rule): `measure/src/probes.rs`,
//!   `measure/src/probes/system.rs`, `search.rs`, `sums.rs`; checks: `testkit/src/probe_plans.rs`
//! * counts decoded from counters: `measure/src/probes/decode.rs`, `counters.rs`
//! * digest of the launch whose predicted counts a plan uses: `measure/src/probes/launch_digest.rs`
//! * instrumented files and their counters: `measure/src/instrument.rs`; width of sums:
//!   `measure/src/instrument/range.rs`; check: `testkit/src/probes.rs`, `xtask/src/probe_check.rs`
//! * instrumented code objects of GCN3: `measure/src/instrument/waves.rs`
//! * overheads of probes: `testkit/src/probe_overheads.rs`, `testkit/benches/overheads.rs`,
//!   `xtask/src/probe_overhead.rs`
//! * predicted counts of a launch: `measure/src/predict.rs`; compared with runs: `testkit/src/predictions.rs`,
//!   `xtask/src/predict_check.rs`
//! * report of a prediction, computation tree: `measure/src/predict/report.rs`, `tree.rs`
//! * closed forms of counts in a launch: `measure/src/predict/formulas.rs`; compared with predictions:
//!   `testkit/src/count_formulas.rs`
//! * ranges of counts that are unknown: `measure/src/predict/intervals.rs`
//! * rule of `efficient-instrumentation-2014` for counts: `measure/src/predict/paper.rs`
//! * counts measured elsewhere, against count rows summed over warps: `measure/src/measured_counts.rs`,
//!   `measure/src/measured_counts/feasibility.rs`, `audit.rs`
//! * estimates from longest paths, formulas (5.1) to (5.5) of `wavefront-splitting-2022`: `measure/src/hybrid.rs`,
//!   `measure/src/hybrid/formulas.rs`, `traces.rs`, `paths.rs`
//! * estimate of the time of a warp of an NVIDIA GPU from times between blocks: `measure/src/hybrid/warps.rs`,
//!   `segments.rs`
//! * estimate of the time of a thread from time stamps: `measure/src/hybrid/threads.rs`
//! * costs of splitting waves, choice of sites: `measure/src/splits.rs`, `measure/src/splits/costs.rs`, `choice.rs`,
//!   `forest.rs`
//! * memory divergence of a launch: `measure/src/memory_metrics.rs`

pub mod hybrid;
pub mod instrument;
pub mod measured_counts;
pub mod memory_metrics;
pub mod predict;
pub mod probes;
pub mod splits;

pub use hybrid::{HybridOptions, hybrid, hybrid_of_stamps, hybrid_of_warps};
pub use instrument::{
    COUNTERS, CounterKind, InstrumentOptions, InstrumentedKernel, InstrumentedWaves, StampPlan,
    StampTimes, instrument, instrument_stamps, instrument_waves, plan_for,
};
pub use measured_counts::{
    CountsAuditOptions, CountsSource, MeasuredCounts, MeasuredRow, audit_counts,
};
pub use memory_metrics::memory_divergence;
pub use predict::{
    PredictOptions, PredictedCount, Prediction, computation_tree, count_formula_report,
    count_intervals, formula_inputs, formula_totals, predict, predict_by_paper, predict_report,
};
pub use probes::{
    DecodedCounts, ProbeCounters, ProbeOptions, decode_counters, decoded, probe_plan, probe_system,
};
pub use splits::{SplitsOptions, chosen_marks, splits};

pub use warpbound_rewrite::probes::{CounterHome, ProbeFault, ProbeStyle};
