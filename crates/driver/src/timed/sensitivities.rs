//! What the numbers of a machine change: the run again, with the least and the most of each.

use std::cmp::Reverse;
use std::convert::Infallible;

use warpbound_machine::Parameter;
use warpbound_report::timed::{Rerun, Sensitivity};
use warpbound_simulate::timed::{TimedResult, Setup, Silent};

use super::{RunProgress, Timed, with};
use crate::jobs::in_order;

/// Warp instructions of runs that are made unasked: less than a second of work.
pub(super) const SHORT: u64 = 1_000_000;

impl Timed<'_> {
    /// A row for each number that the run has asked for and that has a range, those that change most first; numbers that were
    /// set have none.
    pub(super) fn sensitivities(
        &self,
        finished: &TimedResult,
        progress: &mut dyn FnMut(RunProgress),
    ) -> Vec<Sensitivity> {
        let ends = self.ends(finished);
        let all = ends.len();
        let mut reruns = Vec::with_capacity(all);
        let again = |&(parameter, value): &(Parameter, u64)| self.again(parameter, value, finished);
        let threads = self.options.threads.get();
        let Ok(()) = in_order(threads, ends.iter(), again, |rerun| {
            reruns.push(rerun);
            let done = reruns.len();
            progress(RunProgress::Runs { done, all });
            Ok::<(), Infallible>(())
        });
        let mut rows: Vec<Sensitivity> = Vec::with_capacity(all / 2);
        let mut reruns = reruns.into_iter();
        for (parameter, _) in ends.iter().step_by(2) {
            if let (Some(least), Some(most)) = (reruns.next(), reruns.next()) {
                rows.push(Sensitivity {
                    name: parameter.name().to_owned(),
                    value: self.setup.machine[*parameter],
                    least,
                    most,
                });
            }
        }
        // Stable: those that change as much stay in the order of their parameters.
        rows.sort_by_key(|row| Reverse(row.largest()));
        rows
    }

    /// Tells if all these runs together are so short that they are made unasked.
    pub(super) fn is_short(&self, finished: &TimedResult) -> bool {
        let runs = self.ends(finished).len() as u64;
        runs.saturating_mul(finished.counts.issued()) <= SHORT
    }

    /// The least and the most of each number that the run has asked for and that has a range, in turn.
    fn ends(&self, finished: &TimedResult) -> Vec<(Parameter, u64)> {
        let device = &self.options.machine;
        let touched = finished.touched.iter().filter(|p| !self.is_set(**p));
        let figures = touched.map(|&p| (p, device.figure(p)));
        let ranges = figures.filter(|(_, figure)| figure.least < figure.most);
        ranges
            .flat_map(|(parameter, figure)| [(parameter, figure.least), (parameter, figure.most)])
            .collect()
    }

    /// The run with another value of a number.
    fn again(&self, parameter: Parameter, value: u64, finished: &TimedResult) -> Rerun {
        let before = finished.cycles.0.0;
        if value == self.setup.machine[parameter] {
            return rerun(value, before, Ok(before));
        }
        let setup = Setup {
            machine: with(&self.setup.machine, parameter, value),
            ..self.setup.clone()
        };
        // Values that a file states fit together, but not all fit numbers that were set.
        let sense = setup.machine.check();
        let again = sense
            .and_then(|()| self.start())
            .and_then(|(launch, mut memory)| {
                self.run(&setup, &launch, &mut memory, &mut Silent)
                    .map(|again| again.cycles.0.0)
            });
        rerun(value, before, again.map_err(|d| d.to_string()))
    }
}

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
