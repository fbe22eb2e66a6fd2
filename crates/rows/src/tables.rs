//! Tables of bounds, audits and runs.
//!
//! For example, a run without time has a row in the table of runs whose columns `cycles` and `ipc` are absent: tables
//! of one command have the same columns for all options.

use warpbound_report::bound::{BoundVerdict, KernelBound, Origin};
use warpbound_report::functional::FunctionalReport;
use warpbound_report::timed::{Stalls, TimedReport};
use warpbound_report::{AuditReport, CycleBoundReport, LeftOutImages};

use crate::column::{CellKind, Column, TableCell};

/// Table with the results of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResultTable {
    /// Bounds, with one row for each kernel.
    Bounds,
    /// Audits, with one row for each launch.
    Audits,
    /// Runs, with one row for each launch.
    Runs,
}

impl ResultTable {
    /// Returns the name of the table.
    pub fn name(self) -> &'static str {
        match self {
            ResultTable::Bounds => "bounds",
            ResultTable::Audits => "audits",
            ResultTable::Runs => "runs",
        }
    }

    /// Returns the names and kinds of the columns.
    pub fn columns(self) -> Vec<(&'static str, CellKind)> {
        fn of<R>(columns: &[Column<R>]) -> Vec<(&'static str, CellKind)> {
            let named = columns.iter().map(|column| (column.name, column.kind()));
            named.collect()
        }
        match self {
            ResultTable::Bounds => of(&bounds()),
            ResultTable::Audits => of(&audits()),
            ResultTable::Runs => of(&runs()),
        }
    }
}

/// Bound of a kernel.
pub struct BoundRecord<'a> {
    /// Position of the kernel in the query, from 0.
    pub position: u64,
    /// Name of the file.
    pub file: &'a str,
    /// The bound, or images that were left out.
    pub kernel: Result<&'a KernelBound, &'a LeftOutImages>,
}

/// Audit of a launch, or the reason why there is none.
pub struct AuditRecord<'a> {
    /// Position of the launch in the query, from 0.
    pub position: u64,
    /// Name of the file with the code.
    pub file: &'a str,
    /// Name of the launch file.
    pub launch: &'a str,
    /// The audit, or the reason why there is none.
    pub audit: Result<&'a AuditReport, &'a str>,
}

/// Result of a run.
#[derive(Clone, Copy)]
pub enum RunOutcome<'a> {
    /// A run with time.
    Timed(&'a TimedReport),
    /// A run without time.
    Functional(&'a FunctionalReport),
    /// No result, for this reason.
    Failed(&'a str),
}

/// Run of a launch.
pub struct RunRecord<'a> {
    /// Position of the launch in the query, from 0.
    pub position: u64,
    /// Name of the file with the code.
    pub file: &'a str,
    /// Name of the launch file.
    pub launch: &'a str,
    /// The result.
    pub outcome: RunOutcome<'a>,
}

impl BoundRecord<'_> {
    /// Returns the row of [`ResultTable::Bounds`].
    pub fn cells(&self) -> Vec<TableCell> {
        cells(&bounds(), self)
    }
}

impl AuditRecord<'_> {
    /// Returns the row of [`ResultTable::Audits`].
    pub fn cells(&self) -> Vec<TableCell> {
        cells(&audits(), self)
    }
}

impl RunRecord<'_> {
    /// Returns the row of [`ResultTable::Runs`].
    pub fn cells(&self) -> Vec<TableCell> {
        cells(&runs(), self)
    }
}

fn cells<R>(columns: &[Column<R>], record: &R) -> Vec<TableCell> {
    columns.iter().map(|column| column.cell(record)).collect()
}

/// Returns a number if columns can hold it. They hold 63 bits, and no number has a sign.
fn fitting(number: impl TryInto<i64>) -> Option<i64> {
    // Absent rather than saturated: a bound that is cut off would be too small.
    number.try_into().ok()
}

fn size([x, y, z]: [u32; 3]) -> String {
    format!("{x},{y},{z}")
}

/// Returns the columns of bounds.
#[allow(clippy::too_many_lines, reason = "a table: one entry for each column")]
fn bounds<'a>() -> Vec<Column<BoundRecord<'a>>> {
    type Record<'a> = BoundRecord<'a>;
    fn of<'r>(r: &Record<'r>) -> Option<&'r KernelBound> {
        r.kernel.ok()
    }
    fn cycles<'r>(r: &Record<'r>) -> Option<&'r CycleBoundReport> {
        of(r)?.cycles.as_ref()
    }
    fn from(r: &Record<'_>, origin: Origin) -> Option<i64> {
        let loops = &of(r)?.loops;
        fitting(loops.iter().filter(|l| l.origin == origin).count())
    }
    vec![
        Column::text("file", |r: &Record<'a>| Some(r.file.to_owned())),
        Column::integer("position", |r| fitting(r.position)),
        Column::integer("image", |r| match r.kernel {
            Ok(kernel) => kernel.image.and_then(fitting),
            // Several images have no single number. The reason names them.
            Err(left_out) => match left_out.images.as_slice() {
                [only] => fitting(*only),
                _ => None,
            },
        }),
        Column::text("isa", |r| match r.kernel {
            Ok(kernel) => Some(kernel.isa.clone()),
            Err(left_out) => Some(left_out.isa.clone()),
        }),
        Column::text("kernel", |r| Some(of(r)?.name.clone())),
        Column::text("symbol", |r| Some(of(r)?.symbol.clone())),
        Column::text("code", |r| Some(of(r)?.code.clone())),
        Column::text("status", |r| {
            let status = r.kernel.map_or("refused", |kernel| status(&kernel.verdict));
            Some(status.to_owned())
        }),
        Column::integer("bound", |r| of(r)?.verdict.bound().and_then(fitting)),
        Column::text("reason", |r| match r.kernel {
            Ok(kernel) => reason(&kernel.verdict),
            Err(left_out) => Some(left_out.message()),
        }),
        Column::text("reason_at", |r| match &of(r)?.verdict {
            BoundVerdict::Refused { at, .. } => at.clone(),
            BoundVerdict::Bounded { .. } | BoundVerdict::Unbounded { .. } => None,
        }),
        Column::integer("worst_path", |r| match &of(r)?.verdict {
            BoundVerdict::Bounded {
                worst_path_value, ..
            } => worst_path_value.and_then(fitting),
            BoundVerdict::Unbounded { .. } | BoundVerdict::Refused { .. } => None,
        }),
        Column::integer("lanes", |r| fitting(of(r)?.lanes)),
        Column::text("block", |r| of(r)?.block.map(size)),
        Column::integer("loops", |r| fitting(of(r)?.loops.len())),
        Column::integer("loops_derived", |r| from(r, Origin::Derived)),
        Column::integer("loops_launch", |r| from(r, Origin::Launch)),
        Column::integer("loops_facts", |r| from(r, Origin::Facts)),
        Column::integer("loops_default", |r| from(r, Origin::LoopDefault)),
        Column::integer("loops_missing", |r| from(r, Origin::Missing)),
        Column::integer("divergent_branches", |r| {
            fitting(of(r)?.divergent_branches.len())
        }),
        Column::text("assumptions", |r| {
            let ids = of(r)?.assumptions.iter().map(|assumption| assumption.id);
            Some(ids.collect::<Vec<_>>().join(" "))
        }),
        Column::text("cycles_scope", |r| Some(cycles(r)?.scope.to_owned())),
        Column::integer("cycles", |r| cycles(r)?.bound.and_then(fitting)),
        Column::real("milliseconds", |r| cycles(r)?.milliseconds),
        Column::text("cycles_reason", |r| cycles(r)?.reason.clone()),
        Column::text("machine", |r| cycles(r)?.machine.clone()),
        Column::text("caches", |r| Some(cycles(r)?.caches.to_owned())),
        Column::text("schedulers", |r| Some(cycles(r)?.schedulers.to_owned())),
    ]
}

fn status(verdict: &BoundVerdict) -> &'static str {
    match verdict {
        BoundVerdict::Bounded { .. } => "bounded",
        BoundVerdict::Unbounded { .. } => "unbounded",
        BoundVerdict::Refused { .. } => "refused",
    }
}

/// Returns the reason why the column of bounds has no number.
fn reason(verdict: &BoundVerdict) -> Option<String> {
    // Such a bound is sound but has no cell, so the reason says why the cell is empty.
    match verdict.bound() {
        Some(bound) if fitting(bound).is_none() => {
            Some(format!("the bound {bound} has more than 63 bits"))
        }
        _ => verdict.reason().map(str::to_owned),
    }
}

/// Returns the columns of audits.
fn audits<'a>() -> Vec<Column<AuditRecord<'a>>> {
    type Record<'a> = AuditRecord<'a>;
    fn report<'r>(r: &'r Record<'_>) -> Option<&'r AuditReport> {
        r.audit.ok()
    }
    vec![
        Column::text("file", |r: &Record<'a>| Some(r.file.to_owned())),
        Column::integer("position", |r| fitting(r.position)),
        Column::text("launch", |r| Some(r.launch.to_owned())),
        Column::text("kernel", |r| Some(report(r)?.kernel.clone())),
        Column::text("grid", |r| Some(size(report(r)?.grid))),
        Column::text("block", |r| Some(size(report(r)?.block))),
        Column::text("status", |r| Some(audit_status(r.audit).to_owned())),
        Column::text("reason", |r| match r.audit {
            Ok(report) => report.refused.clone().or_else(|| report.no_bound.clone()),
            Err(why) => Some(why.to_owned()),
        }),
        Column::integer("runs", |r| fitting(report(r)?.runs)),
        Column::integer("faulted", |r| fitting(report(r)?.faulted)),
        Column::integer("violations", |r| fitting(report(r)?.violations)),
        Column::text("first_violation", |r| {
            let finding = report(r)?.findings.first()?;
            let at = finding
                .at
                .as_ref()
                .map_or(String::new(), |at| format!("{at}: "));
            Some(format!("{}: {at}{}", finding.claim, finding.message))
        }),
        Column::integer("warp_instructions", |r| {
            fitting(report(r)?.warp_instructions)
        }),
        Column::integer("warps", |r| fitting(report(r)?.warps)),
        Column::integer("profiled", |r| fitting(report(r)?.profiled)),
        Column::integer("bound", |r| report(r)?.bound.and_then(fitting)),
        Column::integer("worst_simulated", |r| {
            report(r)?.worst_simulated.and_then(fitting)
        }),
        Column::real("ratio", |r| report(r)?.ratio),
        Column::text("machine", |r| {
            Some(report(r)?.cycles.as_ref()?.machine.clone())
        }),
        Column::integer("cycles_bound", |r| {
            report(r)?.cycles.as_ref()?.bound.and_then(fitting)
        }),
        Column::integer("cycles_worst_simulated", |r| {
            let cycles = report(r)?.cycles.as_ref()?;
            cycles.worst_simulated.and_then(fitting)
        }),
        Column::real("cycles_ratio", |r| report(r)?.cycles.as_ref()?.ratio),
    ]
}

fn audit_status(audit: Result<&AuditReport, &str>) -> &'static str {
    // A violation counts more than any other outcome, because it is an error of a claim.
    match audit {
        Err(_) => "failed",
        Ok(report) if report.violations > 0 => "violated",
        Ok(report) if report.refused.is_some() => "refused",
        Ok(report) if report.given_faulted => "fault",
        Ok(report) if report.bound.is_none() => "unbounded",
        Ok(_) => "holds",
    }
}

/// Returns the columns of runs.
#[allow(clippy::too_many_lines, reason = "a table: one entry for each column")]
fn runs<'a>() -> Vec<Column<RunRecord<'a>>> {
    type Record<'a> = RunRecord<'a>;
    fn timed<'r>(r: &'r Record<'_>) -> Option<&'r TimedReport> {
        match r.outcome {
            RunOutcome::Timed(report) => Some(report),
            RunOutcome::Functional(_) | RunOutcome::Failed(_) => None,
        }
    }
    /// Returns a value that runs with and without time both have.
    fn either<'r, T>(
        r: &'r Record<'_>,
        of_timed: impl Fn(&'r TimedReport) -> T,
        of_functional: impl Fn(&'r FunctionalReport) -> T,
    ) -> Option<T> {
        match r.outcome {
            RunOutcome::Timed(report) => Some(of_timed(report)),
            RunOutcome::Functional(report) => Some(of_functional(report)),
            RunOutcome::Failed(_) => None,
        }
    }
    fn stall(r: &Record<'_>, of: impl Fn(&Stalls) -> u64) -> Option<i64> {
        fitting(of(&timed(r)?.stalls))
    }
    vec![
        Column::text("file", |r: &Record<'a>| Some(r.file.to_owned())),
        Column::integer("position", |r| fitting(r.position)),
        Column::text("launch", |r| Some(r.launch.to_owned())),
        Column::text("kernel", |r| {
            either(r, |t| t.kernel.clone(), |f| f.kernel.clone())
        }),
        Column::text("grid", |r| either(r, |t| size(t.grid), |f| size(f.grid))),
        Column::text("block", |r| either(r, |t| size(t.block), |f| size(f.block))),
        Column::text("status", |r| {
            Some(match r.outcome {
                RunOutcome::Timed(_) | RunOutcome::Functional(_) => "done".to_owned(),
                RunOutcome::Failed(_) => "failed".to_owned(),
            })
        }),
        Column::text("reason", |r| match r.outcome {
            RunOutcome::Failed(why) => Some(why.to_owned()),
            RunOutcome::Timed(_) | RunOutcome::Functional(_) => None,
        }),
        Column::text("machine", |r| Some(timed(r)?.machine.clone())),
        Column::text("scheduler", |r| Some(timed(r)?.scheduler.clone())),
        Column::text("select", |r| Some(timed(r)?.selection.clone())),
        Column::text("set", |r| {
            let set = timed(r)?.set.iter();
            let set = set.map(|set| format!("{}={}", set.name, set.value));
            Some(set.collect::<Vec<_>>().join(" "))
        }),
        Column::text("caches", |r| Some(timed(r)?.caches.to_owned())),
        Column::integer("cycles", |r| fitting(timed(r)?.cycles)),
        Column::real("milliseconds", |r| Some(timed(r)?.milliseconds)),
        Column::integer("warp_instructions", |r| {
            let of = |t: &TimedReport| t.issued.warp_instructions;
            fitting(either(r, of, |f| f.issued.warp_instructions)?)
        }),
        Column::integer("thread_instructions", |r| {
            let of = |t: &TimedReport| t.issued.thread_instructions;
            fitting(either(r, of, |f| f.issued.thread_instructions)?)
        }),
        Column::integer("divergences", |r| {
            fitting(either(r, |t| t.divergences, |f| f.divergences)?)
        }),
        Column::integer("checked_elements", |r| {
            fitting(either(r, |t| t.checked_elements, |f| f.checked_elements)?)
        }),
        Column::real("ipc", |r| Some(timed(r)?.ipc)),
        Column::real("occupancy", |r| Some(timed(r)?.occupancy.achieved)),
        Column::integer("warp_cycles", |r| fitting(timed(r)?.warp_cycles)),
        Column::integer("issue", |r| stall(r, |s| s.issue)),
        Column::integer("dependency", |r| stall(r, |s| s.dependency)),
        Column::integer("memory", |r| stall(r, |s| s.memory)),
        Column::integer("barrier", |r| stall(r, |s| s.barrier)),
        Column::integer("unit_busy", |r| stall(r, |s| s.unit_busy)),
        Column::integer("instruction_fetch", |r| stall(r, |s| s.instruction_fetch)),
        Column::integer("not_selected", |r| stall(r, |s| s.not_selected)),
    ]
}
