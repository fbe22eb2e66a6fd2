//! Search for the slowest or the fastest values of parameters without a slow end, one parameter at a time.
//!
//! The search is greedy: it finds no worst case over combinations, and its result is not a bound.

use warpbound_base::Diagnostic;
use warpbound_machine::{MachineConfig, Selection, SlowEnd};
use warpbound_report::timed::{SearchedParameter, SelectionSearch};
use warpbound_simulate::timed::Silent;

use super::sensitivities::MAX_UNREQUESTED_INSTRUCTIONS;
use super::{RunProgress, TimedLaunch};

/// Maximum number of values of a parameter that are simulated.
const MAX_VALUES: usize = 64;

impl TimedLaunch<'_> {
    /// Searches if the slow or the fast end is selected: simulates the launch with each value of each parameter that
    /// has no slow end, that the simulation reads and that the user has not set, and keeps the value with the most or
    /// the fewest cycles. Parameters whose search would be long keep their typical values.
    ///
    /// # Errors
    ///
    /// The launch fails with the typical values of these parameters.
    pub(super) fn search_ends(
        &mut self,
        progress: &mut dyn FnMut(RunProgress),
    ) -> Result<Option<SelectionSearch>, Diagnostic> {
        let is_slow = match self.options.selection {
            Selection::Slow => true,
            Selection::Fast => false,
            _ => return Ok(None),
        };
        let device = &self.options.machine;
        let (launch, mut memory) = self.start()?;
        let first = self.run(&self.setup, &launch, &mut memory, &mut Silent)?;
        let mut best = first.cycles.0.0;
        let issued = first.counts.issued();
        let mut left = MAX_UNREQUESTED_INSTRUCTIONS;
        let mut tried = SelectionSearch::default();
        // A parameter that the run does not read cannot change its cycles.
        let open = first.used_parameters.iter().filter(|p| !self.is_set(**p));
        let open: Vec<_> = open
            .copied()
            // The other parameters have the selected end already.
            .filter(|parameter| matches!(parameter.slow_end(), SlowEnd::Either | SlowEnd::Each))
            .filter(|&parameter| device.range(parameter).least < device.range(parameter).most)
            .collect();
        for (done, &parameter) in open.iter().enumerate() {
            let before = self.setup.machine()[parameter];
            let mut values = device.candidate_values(parameter, self.setup.machine(), MAX_VALUES);
            values.retain(|&value| value != before);
            let name = parameter.name().to_owned();
            let cost = issued.saturating_mul(values.len() as u64);
            // The limit is a number of instructions, so that the result does not depend on the speed of the host.
            if cost > left {
                tried.skipped.push(name);
                continue;
            }
            left -= cost;
            for &value in &values {
                let machine = self.setup.machine().clone().with(parameter, value);
                // Some values leave too few resources for a block; they are not candidates.
                let Ok(cycles) = self.cycles_on(&machine) else {
                    continue;
                };
                let is_better = match is_slow {
                    true => cycles > best,
                    false => cycles < best,
                };
                if is_better {
                    best = cycles;
                    // Later parameters are tried on the best machine so far.
                    self.setup = self.setup.clone().on(machine);
                }
            }
            tried.numbers.push(SearchedParameter {
                name,
                value: self.setup.machine()[parameter],
                typical: before,
                others: values.len(),
            });
            progress(RunProgress::Runs {
                done: done + 1,
                all: open.len(),
            });
        }
        Ok(Some(tried))
    }

    /// Simulates the launch on another machine and returns its cycles.
    fn cycles_on(&self, machine: &MachineConfig) -> Result<u64, Diagnostic> {
        let setup = self.setup.clone().on(machine.clone());
        let (launch, mut memory) = self.start()?;
        let finished = self.run(&setup, &launch, &mut memory, &mut Silent)?;
        Ok(finished.cycles.0.0)
    }
}
