//! Check of the kernels of a build against a budget.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use warpbound_base::{Diagnostic, Named as _};
use warpbound_report::bound::BoundAssumption;
use warpbound_report::gate::{
    GateCheck, GateOutcome, GatePlace, GateReport, GateSummary, GatedKernel, StaleRow,
};

use super::budget::{Budget, BudgetFigure, BudgetLimit, BudgetRow, fits};
use super::update::{RowValues, update};
use crate::BoundOptions;
use crate::builds::{Build, BuildKernel, FigureExtent, FigurePlace, KernelFigures};
use crate::builds::{local_accesses, name_without_hashes};
use crate::jobs::map_in_order;

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
    /// Text of the budget with the figures of the build, of an update.
    pub updated: Option<String>,
    /// Rows whose numbers changed, and rows that are new, of an update.
    pub changes: (usize, usize),
}

/// Checks the kernels of a build against a budget.
pub fn gate(build: &Build, budget: &Budget, options: &GateOptions) -> GatedBuild {
    let index = RowIndex::of(budget);
    let rows = |kernel: &BuildKernel| index.decided(kernel);
    let work = |kernel: &BuildKernel| {
        let decided = rows(kernel);
        let measured = measure(build, kernel, &decided, options);
        let found = measured.map(|measured| {
            let checks = checks(build, kernel, &decided, &measured, options);
            (measured, checks)
        });
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
            used.extend(decided.matched.iter().copied());
            let (measured, checks) = match found {
                Ok(found) => found,
                // A kernel without a row is not asked for.
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

/// Limits of a kernel: of each figure, the first row that states it, exact names before patterns.
#[derive(Default)]
pub(super) struct DecidedLimits {
    /// Rows that match the kernel.
    pub(super) matched: Vec<usize>,
    /// Row and limit of each figure.
    pub(super) limits: BTreeMap<BudgetFigure, (usize, BudgetLimit)>,
    /// Row with the allowed assumptions, these, and their line.
    pub(super) assumptions: Option<(usize, Vec<String>, usize)>,
    /// Greatest number that each limit allows.
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

/// Figures of a kernel that a budget can limit.
pub(super) struct MeasuredKernel {
    /// Figures, or the reasons why there are none.
    pub(super) values: BTreeMap<BudgetFigure, Result<u128, String>>,
    /// Assumptions of the bounds, or the reason why they are not known; `None` if they were not asked for.
    pub(super) assumptions: Option<Result<Vec<BoundAssumption>, String>>,
    /// Lines of the facts file that are missing.
    missing_facts: Vec<String>,
    figures: Option<KernelFigures>,
}

/// Measures the figures that limits ask for; for an update, all of them for a kernel without a row.
fn measure(
    build: &Build,
    kernel: &BuildKernel,
    decided: &DecidedLimits,
    options: &GateOptions,
) -> Result<MeasuredKernel, Diagnostic> {
    if let Some(why) = &kernel.refused {
        return Err(why.clone());
    }
    let is_new = options.update && decided.matched.is_empty();
    let is_wanted = |figure: BudgetFigure| decided.limits.contains_key(&figure) || is_new;
    let cycles = match decided.limits.contains_key(&BudgetFigure::Cycles) {
        true => options.bound.cycles.clone(),
        false => None,
    };
    let is_bounded = is_wanted(BudgetFigure::Bound)
        || decided.limits.contains_key(&BudgetFigure::Cycles)
        || decided.assumptions.is_some();
    let bound_options = BoundOptions {
        cycles,
        ..options.bound.clone()
    };
    let figures = match is_bounded {
        true => Some(build.figures(kernel, &bound_options, FigureExtent::Bounds)?),
        false => None,
    };
    let mut values = BTreeMap::new();
    for &(figure, _) in BudgetFigure::ALL
        .iter()
        .filter(|(figure, _)| is_wanted(*figure))
    {
        if figure == BudgetFigure::Cycles && bound_options.cycles.is_none() {
            continue;
        }
        let value = match (figure, &figures) {
            (BudgetFigure::Spills, None) => {
                let session = build.session(kernel)?;
                Ok(local_accesses(&session, session.kernel_at(kernel.position)?)?.into())
            }
            (figure, figures) => value_of(figure, kernel, figures.as_ref()),
        };
        values.insert(figure, value);
    }
    let wants_assumptions = decided.assumptions.is_some() || is_new;
    let assumptions = figures.as_ref().filter(|_| wants_assumptions);
    let missing_facts = figures
        .as_ref()
        .map(|figures| figures.bound.missing_facts.clone());
    Ok(MeasuredKernel {
        assumptions: assumptions.map(assumptions_of),
        values,
        missing_facts: missing_facts.unwrap_or_default(),
        figures,
    })
}

/// Returns the assumptions of the bounds.
fn assumptions_of(figures: &KernelFigures) -> Result<Vec<BoundAssumption>, String> {
    let bound = &figures.bound;
    if let Some(reason) = bound.verdict.reason() {
        return Err(reason.to_owned());
    }
    let of_cycles = bound.cycles.iter().flat_map(|cycles| &cycles.assumptions);
    Ok(bound.assumptions.iter().chain(of_cycles).cloned().collect())
}

/// Returns a figure, or the reason why there is none.
fn value_of(
    figure: BudgetFigure,
    kernel: &BuildKernel,
    figures: Option<&KernelFigures>,
) -> Result<u128, String> {
    let resources = &kernel.resources;
    let known = |value: Option<u128>, reason: &str| value.ok_or_else(|| reason.to_owned());
    let bound = figures.map(|figures| &figures.bound);
    match figure {
        BudgetFigure::Bound => {
            let verdict = bound.map(|bound| &bound.verdict);
            let reason = verdict.and_then(|verdict| verdict.reason());
            known(
                verdict.and_then(|verdict| verdict.bound()),
                reason.unwrap_or("not known"),
            )
        }
        BudgetFigure::Cycles => {
            let cycles = bound.and_then(|bound| bound.cycles.as_ref());
            let reason = cycles.and_then(|cycles| cycles.reason.as_deref());
            let cycles = cycles.and_then(|cycles| cycles.bound);
            known(cycles.map(u128::from), reason.unwrap_or("not known"))
        }
        BudgetFigure::Registers => Ok(resources.registers.into()),
        BudgetFigure::ScalarRegisters => {
            let registers = resources.scalar_registers.map(u128::from);
            known(registers, "the kernel has no scalar registers of its own")
        }
        BudgetFigure::Spills => known(
            figures.map(|figures| figures.local_accesses.into()),
            "not known",
        ),
        BudgetFigure::Shared => known(resources.shared.map(u128::from), "the linker decides it"),
        BudgetFigure::Local => known(resources.local.map(u128::from), "not known"),
        BudgetFigure::Occupancy => {
            let warps = resources
                .occupancy
                .as_ref()
                .map(|occupancy| occupancy.warps.into());
            known(warps, "shared memory or the machine is not known")
        }
        BudgetFigure::CodeBytes => Ok(resources.code_bytes.into()),
    }
}

/// Compares the figures of a kernel with its limits.
fn checks(
    build: &Build,
    kernel: &BuildKernel,
    decided: &DecidedLimits,
    measured: &MeasuredKernel,
    options: &GateOptions,
) -> Vec<GateCheck> {
    let mut checks = Vec::new();
    for (&figure, (_, limit)) in &decided.limits {
        let allowed = decided.allowed.get(&figure).copied().unwrap_or(0);
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
    let has_failed = |check: &GateCheck| check.outcome != GateOutcome::Passed;
    if checks.iter().any(has_failed) && !options.update {
        let own;
        let figures = match &measured.figures {
            Some(figures) => Some(figures),
            None => {
                let bound = BoundOptions {
                    cycles: None,
                    ..options.bound.clone()
                };
                // Without the places, the numbers stand all the same.
                own = build.figures(kernel, &bound, FigureExtent::Bounds).ok();
                own.as_ref()
            }
        };
        for check in checks.iter_mut().filter(|check| has_failed(check)) {
            check.place = figures.and_then(|figures| place_of(check.figure, figures));
            check.action = Some(action(check, measured));
        }
    }
    checks
}

/// Compares the assumptions of the bounds with those that are allowed.
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
fn place_of(figure: &str, figures: &KernelFigures) -> Option<GatePlace> {
    let places = &figures.places;
    let found = match figure {
        "bound" => &places.bound,
        "cycles" => &places.cycles,
        "registers" | "occupancy" | "scalar_registers" => &places.registers,
        "spills" | "local" => &places.local,
        "shared" => &places.shared,
        _ => &places.entry,
    };
    // The reason of a refusal has a place of its own, which its text names.
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
    match (check.outcome, measured.missing_facts.first()) {
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
