//! Check of the kernels of a build against a budget.
//!
//! A check passes, is over its limit, or is unproved: if a kernel has no bound, a limit on its bound is unproved, not
//! passed.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use warpbound_base::{Diagnostic, Named as _};
use warpbound_report::BoundAssumption;
use warpbound_report::gate::{
    GateCheck, GateOutcome, GatePlace, GateReport, GateSummary, GatedKernel, StaleRow,
};

use super::budget::{Budget, BudgetFigure, BudgetLimit, BudgetRow, fits};
use super::measure::{EqualKernels, MeasuredKernel, measure};
use super::update::{RowValues, update};
use crate::builds::name_without_hashes;
use crate::{
    builds::Build, builds::BuildKernel, builds::FigureExtent, builds::FigurePlace,
    builds::FigurePlaces,
};
use warpbound_query::BoundOptions;
use warpbound_query::jobs::map_in_order;

/// Options of a check.
pub struct GateOptions {
    /// Options of the bounds; cycles are bounded only for kernels whose row limits them.
    pub bound: BoundOptions,
    /// Whether all figures of the rows are measured, for an update.
    pub update: bool,
    /// Threads.
    pub jobs: usize,
}

/// Result of a check.
pub struct GatedBuild {
    /// Report.
    pub report: GateReport,
    /// Updated text of the budget, with the figures of the build; `None` without an update.
    pub updated: Option<String>,
    /// Number of rows that an update changed, and number of rows that it added.
    pub changes: (usize, usize),
}

/// Checks the kernels of a build against a budget.
pub fn gate(build: &Build, budget: &Budget, options: &GateOptions) -> GatedBuild {
    let index = RowIndex::of(budget);
    let rows = |kernel: &BuildKernel| index.decided(kernel);
    let equal = EqualKernels::default();
    let work = |kernel: &BuildKernel| {
        let decided = rows(kernel);
        let found = checked(build, kernel, &decided, options, &equal);
        (build.named(kernel), kernel.isa, decided, found)
    };
    let mut report = empty_report(build, budget);
    let mut used = BTreeSet::new();
    let mut values = RowValues::default();
    let done: Result<(), Infallible> = map_in_order(
        options.jobs,
        build.kernels.iter(),
        work,
        |(named, isa, decided, found)| {
            // Before the failures, because a row whose kernel cannot be read is not stale.
            used.extend(decided.matched.iter().copied());
            let (measured, checks) = match found {
                Ok(found) => found,
                // Without a row nothing is asked about the kernel, so it does not matter that it cannot be read.
                Err(_) if decided.matched.is_empty() && !options.update => {
                    report.uncovered.push(named);
                    return Ok(());
                }
                Err(diagnostic) => {
                    report.unreadable.push(diagnostic.to_string());
                    return Ok(());
                }
            };
            match decided.matched.is_empty() {
                true if options.update => values.add_row(&named, isa, &measured),
                true => {}
                false => values.add(&decided, &measured),
            }
            if decided.matched.is_empty() {
                report.uncovered.push(named);
            } else {
                report.summary.count(&checks);
                report.kernels.push(GatedKernel {
                    kernel: named,
                    checks,
                });
            }
            Ok(())
        },
    );
    let Ok(()) = done;
    report.stale = stale_rows(budget, &used);
    report.summary.stale = report.stale.len();
    let updated = options.update.then(|| update(budget, &values));
    let (updated, changes) = match updated {
        Some((text, changes)) => (Some(text), changes),
        None => (None, (0, 0)),
    };
    GatedBuild {
        report,
        updated,
        changes,
    }
}

/// Returns a report without kernels.
fn empty_report(build: &Build, budget: &Budget) -> GateReport {
    GateReport {
        schema: GateReport::SCHEMA,
        budget: budget.file.clone(),
        summary: GateSummary {
            kernels: build.kernels.len(),
            ..GateSummary::default()
        },
        kernels: Vec::new(),
        stale: Vec::new(),
        uncovered: Vec::new(),
        deny_uncovered: budget.conditions.deny_uncovered,
        unreadable: build.unreadable.iter().map(ToString::to_string).collect(),
        left_out: build.left_out.clone(),
    }
}

/// Returns the rows that match no kernel and are not optional.
fn stale_rows(budget: &Budget, used: &BTreeSet<usize>) -> Vec<StaleRow> {
    let unused = budget.rows.iter().enumerate();
    let unused = unused.filter(|(at, row)| !row.optional && !used.contains(at));
    let stale = unused.map(|(_, row)| StaleRow {
        name: row.kernel.clone(),
        line: row.line,
    });
    stale.collect()
}

/// Limits of a kernel. The first row that states a figure decides it; exact names come before patterns.
#[derive(Default)]
pub(super) struct DecidedLimits {
    /// Rows that match the kernel.
    pub(super) matched: Vec<usize>,
    /// Row and limit of each figure.
    pub(super) limits: BTreeMap<BudgetFigure, (usize, BudgetLimit)>,
    /// Row with the allowed assumptions, their names, and their line.
    pub(super) assumptions: Option<(usize, Vec<String>, usize)>,
    /// Figures with the tolerance applied: the largest number that each limit allows, or the smallest.
    allowed: BTreeMap<BudgetFigure, u128>,
}

/// Rows by name.
struct RowIndex<'a> {
    rows: &'a [BudgetRow],
    by_name: BTreeMap<String, Vec<usize>>,
    patterns: Vec<usize>,
}

impl<'a> RowIndex<'a> {
    fn of(budget: &'a Budget) -> RowIndex<'a> {
        let mut index = RowIndex {
            rows: &budget.rows,
            by_name: BTreeMap::new(),
            patterns: Vec::new(),
        };
        for (at, row) in budget.rows.iter().enumerate() {
            // Patterns are indexed by name as well, because `*` may be part of a name, as in `f(float*)`.
            let name = name_without_hashes(&row.kernel);
            index.by_name.entry(name).or_default().push(at);
            if row.is_pattern() {
                index.patterns.push(at);
            }
        }
        index
    }

    /// Returns the limits of a kernel.
    fn decided(&self, kernel: &BuildKernel) -> DecidedLimits {
        let symbol = name_without_hashes(&kernel.symbol);
        let mut decided = DecidedLimits::default();
        let mut exact: Vec<usize> = Vec::new();
        for name in [&symbol, &kernel.hashless] {
            exact.extend(self.by_name.get(name).into_iter().flatten().copied());
        }
        // In the order of the file, because the first row that states a figure decides it. Both names may find one
        // row.
        exact.sort_unstable();
        exact.dedup();
        let is_fit = |at: &usize| {
            let row = self.rows.get(*at);
            row.is_some_and(|row| {
                fits(&row.kernel, &kernel.name) || fits(&row.kernel, &kernel.symbol)
            })
        };
        let patterns = self
            .patterns
            .iter()
            .copied()
            .filter(|at| !exact.contains(at));
        let all: Vec<usize> = exact
            .iter()
            .copied()
            .chain(patterns.filter(is_fit))
            .collect();
        for at in all {
            let Some(row) = self.rows.get(at).filter(|row| row.is_for(kernel.isa)) else {
                continue;
            };
            decided.matched.push(at);
            for (&figure, &limit) in &row.limits {
                decided.limits.entry(figure).or_insert_with(|| {
                    let exact = u128::from(limit.number);
                    let allowed = match figure.is_tolerant() {
                        true => row.tolerance.applied(limit.number),
                        false => exact,
                    };
                    decided.allowed.insert(figure, allowed);
                    (at, limit)
                });
            }
            if let (None, Some((names, line))) = (&decided.assumptions, &row.assumptions) {
                decided.assumptions = Some((at, names.clone(), *line));
            }
        }
        decided
    }
}

/// Measures a kernel and compares its figures with its limits.
fn checked(
    build: &Build,
    kernel: &BuildKernel,
    decided: &DecidedLimits,
    options: &GateOptions,
    equal: &EqualKernels,
) -> Result<(MeasuredKernel, Vec<GateCheck>), Diagnostic> {
    let mut measured = measure(build, kernel, decided, options, Some(equal))?;
    let mut found = checks(decided, &measured);
    if found.iter().any(has_failed) && !options.update {
        // The numbers of an equal kernel hold for this one too, but its places would name other lines and functions.
        if measured.is_of_equal {
            measured = measure(build, kernel, decided, options, None)?;
            found = checks(decided, &measured);
        }
        explain(build, kernel, &measured, options, &mut found);
    }
    Ok((measured, found))
}

/// Whether a figure is over its limit or not proved.
fn has_failed(check: &GateCheck) -> bool {
    check.outcome != GateOutcome::Passed
}

/// Compares the figures of a kernel with its limits.
fn checks(decided: &DecidedLimits, measured: &MeasuredKernel) -> Vec<GateCheck> {
    let mut checks = Vec::new();
    for (&figure, (_, limit)) in &decided.limits {
        let allowed = decided.allowed.get(&figure).copied().unwrap_or(0);
        // A figure that was not measured is unproved, never passed.
        let not_measured = Err("not known".to_owned());
        let value = measured.values.get(&figure).unwrap_or(&not_measured);
        let is_within = |actual: u128| match figure.is_least() {
            true => actual >= allowed,
            false => actual <= allowed,
        };
        let outcome = match value {
            Ok(actual) if is_within(*actual) => GateOutcome::Passed,
            Ok(_) => GateOutcome::Over,
            Err(_) => GateOutcome::Unproved,
        };
        checks.push(GateCheck {
            figure: figure.name(),
            unit: figure.unit(),
            limit: Some(limit.number),
            allowed: Some(allowed),
            is_least: figure.is_least(),
            actual: value.as_ref().ok().copied(),
            outcome,
            reason: value.as_ref().err().cloned(),
            budget_line: limit.line,
            place: None,
            action: None,
        });
    }
    checks.extend(assumption_check(decided, measured));
    checks
}

/// Adds the explaining places, and what can be done, to the figures that failed.
fn explain(
    build: &Build,
    kernel: &BuildKernel,
    measured: &MeasuredKernel,
    options: &GateOptions,
    checks: &mut [GateCheck],
) {
    let own;
    let places = match &measured.analysed {
        Some(figures) => Some(&figures.places),
        None => {
            let bound = BoundOptions {
                cycles: None,
                ..options.bound.clone()
            };
            // No cycles: a kernel with a limit on cycles has been analysed. If the analysis fails, the report lacks
            // the places, but its numbers stand.
            own = build.figures(kernel, &bound, FigureExtent::Bounds).ok();
            own.as_ref().map(|figures| &figures.places)
        }
    };
    for check in checks.iter_mut().filter(|check| has_failed(check)) {
        check.place = places.and_then(|places| place_of(check.figure, places));
        check.action = Some(action(check, measured));
    }
}

/// Compares the assumptions of the bounds with the allowed ones.
fn assumption_check(decided: &DecidedLimits, measured: &MeasuredKernel) -> Option<GateCheck> {
    let (_, allowed, line) = decided.assumptions.as_ref()?;
    let (outcome, reason) = match measured.assumptions.as_ref()? {
        Err(reason) => (GateOutcome::Unproved, Some(reason.clone())),
        Ok(all) => {
            let is_new = |own: &&BoundAssumption| !allowed.iter().any(|name| name == own.id);
            let others: Vec<String> = all
                .iter()
                .filter(is_new)
                .map(|own| format!("{} ({})", own.id, own.text))
                .collect();
            match others.is_empty() {
                true => (GateOutcome::Passed, None),
                false => {
                    let others = others.join("; ");
                    (GateOutcome::Over, Some(format!("not allowed: {others}")))
                }
            }
        }
    };
    Some(GateCheck {
        figure: "assumptions",
        unit: "",
        limit: None,
        allowed: None,
        is_least: false,
        actual: None,
        outcome,
        reason,
        budget_line: *line,
        place: None,
        action: None,
    })
}

/// Returns the place that explains a figure.
fn place_of(figure: &str, places: &FigurePlaces) -> Option<GatePlace> {
    let found = match figure {
        "bound" => &places.bound,
        "cycles" => &places.cycles,
        "registers" | "occupancy" | "scalar_registers" => &places.registers,
        "spills" | "local" => &places.local,
        "shared" => &places.shared,
        _ => &places.entry,
    };
    // A figure without a place of its own is reported at the start of the kernel. The text of a refusal names the
    // place of the refusal.
    found.as_ref().or(places.entry.as_ref()).map(gate_place)
}

fn gate_place(place: &FigurePlace) -> GatePlace {
    GatePlace {
        at: place.at.clone(),
        source: place.source.clone(),
        path: place.path.as_ref().map(|(path, _)| path.clone()),
        line: place.path.as_ref().map(|&(_, line)| line),
        note: place.note.clone(),
    }
}

/// Returns what can be done about a figure that did not pass.
fn action(check: &GateCheck, measured: &MeasuredKernel) -> String {
    let analysed = measured.analysed.as_ref();
    let missing = analysed.and_then(|figures| figures.missing_facts.first());
    match (check.outcome, missing) {
        (GateOutcome::Unproved, Some(fact)) => {
            format!(
                "state the missing fact in the facts file of [conditions], or loop_default: {fact}"
            )
        }
        (GateOutcome::Unproved, None) => {
            "remove the limit, or the reason why there is no figure".to_owned()
        }
        (GateOutcome::Over | GateOutcome::Passed, _) => {
            "bring it within the budget, or accept it: warpbound gate --update".to_owned()
        }
    }
}
