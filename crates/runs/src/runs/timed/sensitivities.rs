//! Sensitivities: the simulation repeated with both ends of each parameter's range, one parameter at a time.

use std::cmp::Reverse;
use std::convert::Infallible;

use warpbound_machine::Parameter;
use warpbound_report::timed::{Rerun, Sensitivity};
use warpbound_simulate::timed::{Silent, TimedResult};

use super::{RunProgress, TimedLaunch};
use warpbound_query::jobs::map_in_order;

/// Maximum number of warp instructions of repetitions that no option asks for: less than a second of work.
pub(super) const MAX_UNREQUESTED_INSTRUCTIONS: u64 = 1_000_000;

impl TimedLaunch<'_> {
    /// Returns a row for each parameter that the simulation has read, that has a range and that the user has not set,
    /// in order of decreasing change.
    pub(super) fn sensitivities(
        &self,
        finished: &TimedResult,
        progress: &mut dyn FnMut(RunProgress),
    ) -> Vec<Sensitivity> {
        let range_ends = self.ends(finished);
        let all = range_ends.len();
        let mut reruns = Vec::with_capacity(all);
        let rerun_with =
            |&(parameter, value): &(Parameter, u64)| self.again(parameter, value, finished);
        let threads = self.options.threads.get();
        let Ok(()) = map_in_order(threads, range_ends.iter(), rerun_with, |rerun| {
            reruns.push(rerun);
            let done = reruns.len();
            progress(RunProgress::Runs { done, all });
            Ok::<(), Infallible>(())
        });
        let mut rows: Vec<Sensitivity> = Vec::with_capacity(all / 2);
        let mut reruns = reruns.into_iter();
        for (parameter, _) in range_ends.iter().step_by(2) {
            // Both ends of a parameter follow each other, and `map_in_order` keeps that order.
            if let (Some(least), Some(most)) = (reruns.next(), reruns.next()) {
                rows.push(Sensitivity {
                    name: parameter.name().to_owned(),
                    value: self.setup.machine()[*parameter],
                    least,
                    most,
                });
            }
        }
        // The sort is stable: rows with equal changes stay in the order of the parameters.
        rows.sort_by_key(|row| Reverse(row.largest()));
        rows
    }

    /// Whether all repetitions together are short enough to be made without request.
    pub(super) fn is_short(&self, finished: &TimedResult) -> bool {
        let runs = self.ends(finished).len() as u64;
        runs.saturating_mul(finished.counts.issued()) <= MAX_UNREQUESTED_INSTRUCTIONS
    }

    /// Returns both ends of the range of each parameter that the simulation has read, least first.
    fn ends(&self, finished: &TimedResult) -> Vec<(Parameter, u64)> {
        let device = &self.options.machine;
        let touched = finished
            .used_parameters
            .iter()
            .filter(|p| !self.is_set(**p));
        let figures = touched.map(|&p| (p, device.range(p)));
        let ranges = figures.filter(|(_, figure)| figure.least < figure.most);
        ranges
            .flat_map(|(parameter, figure)| [(parameter, figure.least), (parameter, figure.most)])
            .collect()
    }

    /// Repeats the simulation with another value of a parameter.
    fn again(&self, parameter: Parameter, value: u64, finished: &TimedResult) -> Rerun {
        let before = finished.cycles.0.0;
        // Simulations are deterministic, so the same value gives the same cycles.
        if value == self.setup.machine()[parameter] {
            return rerun(value, before, Ok(before));
        }
        let machine = self.setup.machine().clone().with(parameter, value);
        let setup = self.setup.clone().on(machine);
        // The ranges of a file are consistent with each other, but perhaps not with values that the user has set.
        let sense = setup.machine().check();
        let again = sense
            .and_then(|()| self.start())
            .and_then(|(launch, mut memory)| {
                self.run(&setup, &launch, &mut memory, &mut Silent)
                    .map(|again| again.cycles.0.0)
            });
        rerun(value, before, again.map_err(|d| d.to_string()))
    }
}

/// Returns the result of a repetition relative to the cycles `before`.
fn rerun(value: u64, before: u64, again: Result<u64, String>) -> Rerun {
    let cycles = again.as_ref().ok().copied();
    Rerun {
        value,
        cycles,
        change: cycles.map(|cycles| {
            let difference = i128::from(cycles) - i128::from(before);
            i64::try_from(difference).unwrap_or(i64::MAX)
        }),
        stopped: again.err(),
    }
}
