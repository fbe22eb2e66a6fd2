//! Conditions of a run on the machine: the values of its parameters and the caches at the start. Runs of single warps
//! and runs of whole launches try them in the same way.

use warpbound_base::Diagnostic;
use warpbound_launch::{LaunchFile, PathOrder, StartCaches};
use warpbound_load::Kernel;
use warpbound_machine::{GpuModel, MachineConfig, Parameter, Selection};
use warpbound_query::{CacheState, Session};
use warpbound_report::timed::SearchedParameter;
use warpbound_runs::runs::timed::simulate;
use warpbound_runs::{RunHooks, TimedOptions};

use super::GapOptions;
use crate::{audit::AuditObservations, audit::HeaderMaximum};

/// Values of the machine's parameters and the caches of a run.
#[derive(Clone)]
pub(super) struct Conditions {
    pub(super) selection: Selection,
    set: Vec<(Parameter, u64)>,
    pub(super) caches: StartCaches,
}

impl Conditions {
    /// Returns conditions with the launch overhead at its slow end: with the same overhead in all runs, the slowest
    /// warp or the slowest blocks have the worst run.
    pub(super) fn new(
        options: &GapOptions,
        selection: Selection,
        caches: StartCaches,
    ) -> Conditions {
        Conditions {
            selection,
            set: launch_overhead(&options.cycles.machine).to_vec(),
            caches,
        }
    }

    /// Returns the conditions with another interval between refreshes of DRAM.
    pub(super) fn with_interval(&self, interval: u64) -> Conditions {
        let mut own = self.clone();
        own.set.push((Parameter::DramRefreshInterval, interval));
        own
    }

    /// Searches the slowest values of the parameters without a slow end, for the launch that `timed` is for; `None` if
    /// a run does not end. `timed` has the options of a run under these conditions.
    pub(super) fn search(
        mut self,
        session: &Session,
        kernel: &Kernel,
        launch: &LaunchFile,
        timed: &TimedOptions,
    ) -> Option<SlowestConditions> {
        let hooks = RunHooks {
            events: None,
            timeline: None,
            progress: &mut |_| {},
        };
        let run = simulate(session, kernel, launch, timed, hooks).ok()?;
        let searched = run.report.selection_search;
        let searched = searched.map_or(Vec::new(), |search| search.numbers);
        let others = searched.iter().map(|number| number.others as u64);
        let runs = 1 + others.sum::<u64>();
        let known = |number: &SearchedParameter| {
            let parameter = Parameter::named(&number.name).ok()?;
            Some((parameter, number.value))
        };
        self.set.extend(searched.iter().filter_map(known));
        Some(SlowestConditions {
            conditions: self,
            cycles: run.report.cycles,
            runs,
        })
    }

    /// Returns the options of a run.
    pub(super) fn timed(&self, options: &GapOptions, order: PathOrder) -> TimedOptions {
        TimedOptions {
            selection: self.selection,
            set: self.set.clone(),
            caches: Some(self.caches),
            order,
            max_instructions: Some(options.max_instructions),
            ..TimedOptions::new(options.cycles.machine.clone())
        }
    }

    /// Returns the values of the parameters.
    pub(super) fn config(&self, machine: &GpuModel) -> MachineConfig {
        let selected = machine.select(self.selection);
        let set = self.set.iter();
        set.fold(selected, |config, &(parameter, value)| {
            config.with(parameter, value)
        })
    }

    /// Initial contents of the L2 cache.
    pub(super) fn cache_state(&self) -> CacheState {
        match self.caches {
            StartCaches::Cold => CacheState::Cold,
            StartCaches::Warm => CacheState::Warm,
        }
    }
}

/// Conditions with the slowest values of the parameters without a slow end.
pub(super) struct SlowestConditions {
    pub(super) conditions: Conditions,
    /// Cycles of the run with them.
    pub(super) cycles: u64,
    /// Runs of the search.
    pub(super) runs: u64,
}

/// Returns the selections of parameters that are tried: named ones in their order, then random ones.
pub(super) fn selections(options: &GapOptions, named: [Selection; 4]) -> Vec<Selection> {
    let seeds = (1..=options.seeds).map(Selection::Seed);
    named.into_iter().chain(seeds).collect()
}

/// Returns the initial caches that are tried.
pub(super) fn start_caches(options: &GapOptions) -> &'static [StartCaches] {
    match options.cycles.caches {
        // A bound for any contents of the caches covers both, so both are tried.
        CacheState::Any => &[StartCaches::Cold, StartCaches::Warm],
        CacheState::Warm => &[StartCaches::Warm],
        CacheState::Cold => &[StartCaches::Cold],
    }
}

/// Raises the maximum numbers of header executions, per entry and in total, to cover a run. Loops that a run does not
/// reach count 0.
pub(super) fn raise_counts(counts: &mut [Vec<Option<u64>>; 2], seen: &AuditObservations) {
    for (counts, seen) in counts
        .iter_mut()
        .zip([&seen.max_per_entry, &seen.max_totals])
    {
        counts.resize(seen.len(), Some(0));
        for (most, own) in counts.iter_mut().zip(seen) {
            let own = own.map_or(0, |own: HeaderMaximum| own.count);
            *most = (*most).max(Some(own));
        }
    }
}

/// Returns at most `most` intervals between refreshes of DRAM: longer than the shortest interval of the machine, and
/// at most twice as long. The shortest interval has the most refreshes, but with a longer one more of them may meet
/// requests. For example, a range of 1000 to 5000 cycles and `most` = 4 give 1250, 1500, 1750 and 2000.
pub(super) fn refresh_intervals(
    machine: &GpuModel,
    most: u64,
) -> impl Iterator<Item = u64> + use<> {
    let range = machine.range(Parameter::DramRefreshInterval);
    let refreshes = machine.range(Parameter::DramRefresh).most > 0;
    let end = range.most.min(range.least.saturating_mul(2));
    let wide = end.saturating_sub(range.least);
    // Without refreshes the interval changes nothing.
    let count = if refreshes { wide.min(most) } else { 0 };
    let least = range.least;
    (1..=count).map(move |n| {
        // The product may need more than 64 bits.
        let further = u128::from(wide) * u128::from(n) / u128::from(count);
        least + further as u64
    })
}

/// Returns the parameters of the overhead of a launch, with their slow ends.
pub(super) fn launch_overhead(machine: &GpuModel) -> [(Parameter, u64); 2] {
    [Parameter::LaunchKernel, Parameter::LaunchEnd].map(|parameter| {
        let most = machine.range(parameter).most;
        (parameter, most)
    })
}

/// Adds why the first run that failed did not end, if one did, to the notes of a report.
pub(super) fn note_failure(failed: Option<&Diagnostic>, notes: &mut Vec<String>) {
    if let Some(why) = failed {
        notes.push(format!(
            "some runs did not come to their end: {}",
            why.message
        ));
    }
}
