//! Figures of kernels that budgets limit; kernels that are equal are analysed once.
//!
//! Only what the limits ask for is computed: a limit on registers needs no analysis, and cycles are bounded only
//! where a row limits them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use warpbound_base::{Diagnostic, Named as _};
use warpbound_load::Isa;
use warpbound_report::BoundAssumption;
use warpbound_report::bound::KernelBound;

use super::budget::BudgetFigure;
use super::check::{DecidedLimits, GateOptions};
use crate::{
    builds::Build, builds::BuildKernel, builds::FigureExtent, builds::FigurePlaces,
    builds::KernelResources,
};
use crate::{builds::KernelFigures, builds::local_accesses};
use warpbound_query::BoundOptions;

/// Figures of a kernel that a budget can limit.
pub(super) struct MeasuredKernel {
    /// Figures, or the reasons why there are none.
    pub(super) values: BTreeMap<BudgetFigure, Result<u128, String>>,
    /// Assumptions of the bounds, or the reason why they are not known; `None` if no limit asks for them.
    pub(super) assumptions: Option<Result<Vec<BoundAssumption>, String>>,
    /// Figures of the analysis, if one was needed.
    pub(super) analysed: Option<Arc<AnalysedFigures>>,
    /// Whether an equal kernel was analysed in place of this one. The numbers are the same, but texts and places may
    /// name lines and functions of the other kernel.
    pub(super) is_of_equal: bool,
}

/// Figures of a kernel that its analysis decides.
pub(super) struct AnalysedFigures {
    bound: Result<u128, String>,
    cycles: Result<u128, String>,
    assumptions: Result<Vec<BoundAssumption>, String>,
    /// Instructions that load or store local memory.
    local_accesses: u64,
    /// Missing lines of the facts file.
    pub(super) missing_facts: Vec<String>,
    /// Places that explain figures.
    pub(super) places: FigurePlaces,
}

impl AnalysedFigures {
    fn new(figures: KernelFigures) -> AnalysedFigures {
        let bound = &figures.bound;
        let known = |value: Option<u128>, reason: Option<&str>| {
            value.ok_or_else(|| reason.unwrap_or("not known").to_owned())
        };
        let cycles = bound.cycles.as_ref();
        let reason_of_cycles = cycles.and_then(|cycles| cycles.reason.as_deref());
        let cycles = cycles.and_then(|cycles| cycles.bound).map(u128::from);
        AnalysedFigures {
            bound: known(bound.verdict.bound(), bound.verdict.reason()),
            cycles: known(cycles, reason_of_cycles),
            assumptions: assumptions_of(bound),
            local_accesses: figures.local_accesses,
            missing_facts: figures.bound.missing_facts,
            places: figures.places,
        }
    }
}

/// Input of the analysis of a kernel.
#[derive(PartialEq, Eq, Hash)]
struct AnalysedInput {
    isa: Isa,
    code: String,
    surroundings: u64,
    resources: KernelResources,
    with_cycles: bool,
}

/// Analysed figures by the input of the analysis. A library has many kernels with equal code.
#[derive(Default)]
pub(super) struct EqualKernels {
    known: Mutex<HashMap<AnalysedInput, Arc<AnalysedFigures>>>,
}

impl EqualKernels {
    /// Returns the figures of a kernel, and whether an equal kernel was analysed for them.
    fn figures(
        &self,
        build: &Build,
        kernel: &BuildKernel,
        options: &BoundOptions,
    ) -> Result<(Arc<AnalysedFigures>, bool), Diagnostic> {
        let input = AnalysedInput {
            isa: kernel.isa,
            code: kernel.code.clone(),
            surroundings: kernel.surroundings,
            resources: kernel.resources.clone(),
            // Options are equal for all kernels but for the cycles, which only some rows limit.
            with_cycles: options.cycles.is_some(),
        };
        // Facts name kernels, so a kernel with equal code but another name may have another bound.
        let is_by_name = !options.facts.is_empty();
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(figures) = known().get(&input).filter(|_| !is_by_name) {
            return Ok((Arc::clone(figures), true));
        }
        // The lock is free during the analysis, so that other threads can analyse other kernels.
        let figures = analyse(build, kernel, options)?;
        known().insert(input, Arc::clone(&figures));
        Ok((figures, false))
    }
}

fn analyse(
    build: &Build,
    kernel: &BuildKernel,
    options: &BoundOptions,
) -> Result<Arc<AnalysedFigures>, Diagnostic> {
    let figures = build.figures(kernel, options, FigureExtent::Bounds)?;
    Ok(Arc::new(AnalysedFigures::new(figures)))
}

/// Measures the figures that limits ask for; in an update, all figures of a kernel without a row, except cycles.
/// Without `equal`, the kernel itself is analysed.
pub(super) fn measure(
    build: &Build,
    kernel: &BuildKernel,
    decided: &DecidedLimits,
    options: &GateOptions,
    equal: Option<&EqualKernels>,
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
    let (analysed, is_of_equal) = match (is_bounded, equal) {
        (true, Some(equal)) => {
            let (figures, is_of_equal) = equal.figures(build, kernel, &bound_options)?;
            (Some(figures), is_of_equal)
        }
        (true, None) => (Some(analyse(build, kernel, &bound_options)?), false),
        (false, _) => (None, false),
    };
    let mut values = BTreeMap::new();
    for &(figure, _) in BudgetFigure::ALL
        .iter()
        .filter(|(figure, _)| is_wanted(*figure))
    {
        // A new row gets no limit on cycles, because none was asked for.
        if figure == BudgetFigure::Cycles && bound_options.cycles.is_none() {
            continue;
        }
        let value = match (figure, &analysed) {
            // Counting accesses needs only decoded instructions, not an analysis.
            (BudgetFigure::Spills, None) => {
                let session = build.session(kernel)?;
                Ok(local_accesses(&session, session.kernel_at(kernel.position)?)?.into())
            }
            (figure, analysed) => value_of(figure, kernel, analysed.as_deref()),
        };
        values.insert(figure, value);
    }
    let wants_assumptions = decided.assumptions.is_some() || is_new;
    let assumptions = analysed.as_ref().filter(|_| wants_assumptions);
    Ok(MeasuredKernel {
        assumptions: assumptions.map(|figures| figures.assumptions.clone()),
        values,
        analysed,
        is_of_equal,
    })
}

/// Returns the assumptions of the bounds.
fn assumptions_of(bound: &KernelBound) -> Result<Vec<BoundAssumption>, String> {
    // Without a bound, it is not known what a bound would rest on.
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
    analysed: Option<&AnalysedFigures>,
) -> Result<u128, String> {
    let resources = &kernel.resources;
    let known = |value: Option<u128>, reason: &str| value.ok_or_else(|| reason.to_owned());
    let of_analysis = |value: fn(&AnalysedFigures) -> Result<u128, String>| {
        analysed.map_or_else(|| Err("not known".to_owned()), value)
    };
    match figure {
        BudgetFigure::Bound => of_analysis(|figures| figures.bound.clone()),
        BudgetFigure::Cycles => of_analysis(|figures| figures.cycles.clone()),
        BudgetFigure::Spills => of_analysis(|figures| Ok(figures.local_accesses.into())),
        BudgetFigure::Registers => Ok(resources.registers.into()),
        BudgetFigure::ScalarRegisters => {
            let registers = resources.scalar_registers.map(u128::from);
            known(registers, "the kernel has no scalar registers of its own")
        }
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
