//! Reports: plain data, and writers that turn the data into text, JSON, HTML, DOT or SVG.
//!
//! This crate computes no results. Every value arrives decided, and every address arrives as text. The keys of JSON
//! are an interface of the command, so `#[serde(rename)]` keeps a key where the field's Rust name differs. For
//! example, `observed` is `most` in JSON.
//!
//! # Concepts
//!
//! * machine code next to a bound: `report/src/machine_code.rs`
//! * pages of HTML, their style sheet and script: `report/src/html.rs`; tests: `cli/tests/it/html.rs`, in a browser:
//!   `xtask/src/html_check.rs`
//! * pages of HTML of builds, runs and gap breakdowns: `report/src/build_diff_html.rs`, `timed_html.rs`,
//!   `functional_html.rs`, `gap_html.rs`
//! * reports of many kernels in a folder with an index: `report/src/bound_writer.rs`, `bound_folder.rs`,
//!   `report/src/html/shards.rs`
//! * reports of bounds in cycles, waterfalls: `report/src/cycle_bound.rs`, `gap.rs`, `gap_svg.rs`
//! * reports of runs with time, in the terms of the family: `report/src/timed.rs`, `timed_waves.rs`, `terms.rs`
//! * bar charts: `report/src/bar_chart.rs`
//! * timelines (Trace Event Format): `report/src/trace.rs`
//! * differences of builds as text, Markdown and HTML: `report/src/build_diff.rs`, `build_diff_text.rs`,
//!   `build_diff_markdown.rs`
//! * results of a gate as JUnit and SARIF: `report/src/gate.rs`, `gate_junit.rs`, `gate_sarif.rs`
//! * plans of probes and of stamps as files: `report/src/probe_plan.rs`, `stamp_plan.rs`

pub mod access;
pub mod audit;
pub mod bar_chart;
pub mod bound;
mod bound_folder;
mod bound_text;
mod bound_writer;
pub mod build_diff;
mod build_diff_html;
mod build_diff_markdown;
mod build_diff_text;
pub mod count_formulas;
pub mod counts_audit;
pub mod cta;
mod cta_dot;
mod cta_svg;
pub mod cycle_bound;
pub mod derivation;
pub mod divergence;
mod divergence_text;
mod dot;
pub mod events;
pub mod formula;
pub mod functional;
mod functional_html;
mod functional_text;
pub mod gap;
mod gap_html;
mod gap_svg;
pub mod gate;
mod gate_junit;
mod gate_sarif;
pub mod graph;
mod graph_text;
mod html;
pub mod hybrid;
mod hybrid_dot;
pub mod launch_set;
pub mod left_out;
pub mod lint;
pub mod list;
pub mod listing;
pub mod machine_code;
pub mod memory_metrics;
pub mod metrics;
mod metrics_text;
pub mod predict;
pub mod predict_tree;
pub mod probe_plan;
pub mod report_writer;
mod run;
pub mod set_bound;
pub mod splits;
pub mod stamp_plan;
mod svg;
mod table;
pub mod terms;
pub mod timed;
mod timed_html;
mod timed_text;
pub mod timed_waves;
pub mod trace;
pub mod warp_hybrid;

pub use access::AccessReport;
pub use audit::AuditReport;
pub use bound::KernelBound;
pub use bound_folder::BoundFolder;
pub use bound_writer::{BoundFormat, BoundWriter};
pub use build_diff::BuildDiffReport;
pub use counts_audit::CountsAuditReport;
pub use cta::CtaReport;
pub use cycle_bound::CycleBoundReport;
pub use divergence::DivergenceReport;
pub use functional::FunctionalReport;
pub use gap::GapReport;
pub use gate::GateReport;
pub use graph::Graph;
pub use hybrid::HybridReport;
pub use launch_set::{AuditSetReport, LaunchSetReport};
pub use left_out::LeftOutImages;
pub use lint::LintReport;
pub use list::{Directory, FileReport, ListReport, ListedImage};
pub use listing::Listing;
pub use machine_code::MachineCodeReport;
pub use metrics::MetricsReport;
pub use predict::PredictReport;
pub use predict_tree::TreeReport;
pub use probe_plan::{DecodedReport, DecodedValue, ProbePlan};
pub use report_writer::{KernelReport, ReportFormat, ReportWriter};
pub use run::RunReport;
pub use splits::SplitsReport;
pub use timed::TimedReport;
pub use warp_hybrid::WarpHybridReport;

use serde::Serialize;

/// Serialises `value` as indented JSON with a final newline.
pub fn to_json(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_else(|error| {
        // Cannot fail, because all keys of report data are strings.
        format!("{{\"error\": {:?}}}", error.to_string())
    });
    text.push('\n');
    text
}
