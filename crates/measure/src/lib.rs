//! Measurement: plans of what to measure, instrumented kernels, predicted counts and estimates from observed times.
//!
//! A count of a block follows from the launch (`predict`), from counters and flow (`probes`, `instrument`), or is
//! checked against flow and facts (`measured_counts`). Times that were observed give estimates (`hybrid`), which are
//! never bounds.

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
