//! The slowest and the fastest end of a machine: numbers that have no slow end are tried.

use warpbound_base::Diagnostic;
use warpbound_machine::{Selection, MachineConfig, SlowEnd};
use warpbound_report::timed::{SelectionSearch, TriedNumber};
use warpbound_simulate::timed::{Setup, Silent};

use super::sensitivities::SHORT;
use super::{RunProgress, Timed};

/// The most values of a number that are tried.
const MOST_VALUES: usize = 64;

impl Timed<'_> {
    /// Where the slowest or the fastest end is asked for: runs the launch with each value of each number that has no slow
    /// end, that the run asks for and that was not set, one number after the other, and keeps the value with which the run
    /// was slowest or fastest. Numbers for which that would take long stay typical.
    ///
    /// # Errors
    ///
    /// Where the launch does not run with the typical values of these numbers.
    pub(super) fn try_ends(
        &mut self,
        progress: &mut dyn FnMut(RunProgress),
    ) -> Result<Option<SelectionSearch>, Diagnostic> {
        let is_slow = match self.options.pick {
            Selection::Slow => true,
            Selection::Fast => false,
            _ => return Ok(None),
        };
        let device = &self.options.machine;
        let (launch, mut memory) = self.start()?;
        let first = self.run(&self.setup, &launch, &mut memory, &mut Silent)?;
        let mut best = first.cycles.0.0;
        let issued = first.counts.issued();
        let mut left = SHORT;
        let mut tried = SelectionSearch::default();
        let open = first.touched.iter().filter(|p| !self.is_set(**p));
        let open: Vec<_> = open
            .copied()
            .filter(|parameter| matches!(parameter.slow(), SlowEnd::Either | SlowEnd::Each))
            .filter(|&parameter| device.figure(parameter).least < device.figure(parameter).most)
            .collect();
        for (done, &parameter) in open.iter().enumerate() {
            let before = self.setup.machine[parameter];
            let mut values = device.values(parameter, &self.setup.machine, MOST_VALUES);
            values.retain(|&value| value != before);
            let name = parameter.name().to_owned();
            let cost = issued.saturating_mul(values.len() as u64);
            if cost > left {
                tried.left_out.push(name);
                continue;
            }
            left -= cost;
            for &value in &values {
                let machine = self.setup.machine.clone().with(parameter, value);
                // Some machines have no room for a block.
                let Ok(cycles) = self.cycles_on(&machine) else {
                    continue;
                };
                let is_better = match is_slow {
                    true => cycles > best,
                    false => cycles < best,
                };
                if is_better {
                    best = cycles;
                    self.setup.machine = machine;
                }
            }
            tried.numbers.push(TriedNumber {
                name,
                value: self.setup.machine[parameter],
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

    /// Cycles that the launch takes on another machine.
    fn cycles_on(&self, machine: &MachineConfig) -> Result<u64, Diagnostic> {
        let setup = Setup {
            machine: machine.clone(),
            ..self.setup.clone()
        };
        let (launch, mut memory) = self.start()?;
        let finished = self.run(&setup, &launch, &mut memory, &mut Silent)?;
        Ok(finished.cycles.0.0)
    }
}
