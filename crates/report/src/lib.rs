//! Reports: plain data, and writers that turn the data into text, JSON, HTML, DOT or SVG.
//!
//! This crate computes no results. Every value arrives decided, and every address arrives as text. The keys of JSON
//! are an interface of the command, so `#[serde(rename)]` keeps a key where the field's Rust name differs. For
//! example, `observed` is `most` in JSON.
//!
//! Each report is a file with its data, for example `bound.rs`. A folder of the same name has its formats, for example
//! `bound/text.rs`, `bound/html.rs`; they import the data, and the data imports no format. Small reports have their text
//! in the file of the data. Formats share these files: `table` (text), `html` (pages), `escape` (texts inside DOT and
//! SVG), `numbers`, `terms` (warps or waves), `bar_chart`, `conditions`, `report_writer` (several kernels in one
//! document).
//!
//! # Concepts
//!
//! * machine code next to a bound: `report/src/machine_code.rs`; joined: `report/src/bound/annotate.rs`
//! * pages of HTML, their style sheet and script: `report/src/html.rs`; tests: `cli/tests/it/html.rs`, in a browser:
//!   `xtask/src/html_check.rs`
//! * pages of HTML of bounds, builds, runs and gap breakdowns: `report/src/bound/html.rs`,
//!   `report/src/build_diff/html.rs`, `report/src/timed/html.rs`, `report/src/functional/html.rs`,
//!   `report/src/gap/html.rs`
//! * reports of many kernels in a folder with an index: `report/src/bound/writer.rs`, `folder.rs`,
//!   `report/src/html/shards.rs`
//! * reports of bounds in cycles, waterfalls: `report/src/cycle_bound.rs`, `gap.rs`, `report/src/gap/svg.rs`
//! * conditions and assumptions of bounds in reports: `report/src/conditions.rs`
//! * reports of runs with time, in the terms of the family: `report/src/timed.rs`, `report/src/timed/waves.rs`,
//!   `report/src/terms.rs`
//! * bar charts: `report/src/bar_chart.rs`
//! * timelines (Trace Event Format): `report/src/trace.rs`
//! * differences of builds as text, Markdown and HTML: `report/src/build_diff.rs`, `report/src/build_diff/text.rs`,
//!   `markdown.rs`, `html_parts.rs`
//! * results of a gate as JUnit and SARIF: `report/src/gate.rs`, `report/src/gate/junit.rs`, `sarif.rs`
//! * plans of probes and of stamps as files: `report/src/probe_plan.rs`, `stamp_plan.rs`

pub mod access;
pub mod audit;
pub mod bar_chart;
pub mod bound;
pub mod build_diff;
mod conditions;
pub mod count_formulas;
pub mod counts_audit;
pub mod cta;
pub mod cycle_bound;
pub mod derivation;
pub mod divergence;
mod escape;
pub mod events;
pub mod formula;
pub mod functional;
pub mod gap;
pub mod gate;
pub mod graph;
mod html;
pub mod hybrid;
pub mod launch_set;
pub mod left_out;
pub mod lint;
pub mod list;
pub mod listing;
pub mod machine_code;
pub mod memory_metrics;
pub mod metrics;
mod numbers;
pub mod predict;
pub mod predict_tree;
pub mod probe_plan;
pub mod report_writer;
mod run;
pub mod set_bound;
pub mod splits;
pub mod stamp_plan;
mod table;
pub mod terms;
pub mod timed;
pub mod trace;
pub mod warp_hybrid;

pub use access::AccessReport;
pub use audit::AuditReport;
pub use bound::KernelBound;
pub use bound::folder::BoundFolder;
pub use bound::writer::{BoundFormat, BoundWriter};
pub use build_diff::BuildDiffReport;
pub use conditions::BoundAssumption;
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
