//! Parameter overrides of a timed run. For example, 30 cycles for `shared.latency`, whatever the machine has.

use warpbound_base::Diagnostic;
use warpbound_machine::{Parameter, ParameterSum};

use super::TimedOptions;

/// New value of a parameter, or of a sum of two parameters.
#[derive(Clone, Copy, Debug)]
pub enum Override {
    /// Value of a parameter.
    Number(Parameter, u64),
    /// Sum of a parameter and another one, which keeps its value.
    Sum(ParameterSum, u64),
}

impl Override {
    /// Returns the override of the parameter or sum with this name in machine files.
    ///
    /// # Errors
    ///
    /// No number of machines has the name.
    pub fn named(name: &str, value: u64) -> Result<Override, Diagnostic> {
        if let Some(sum) = ParameterSum::named(name) {
            return Ok(Override::Sum(sum, value));
        }
        Ok(Override::Number(Parameter::named(name)?, value))
    }

    /// Returns the parameter whose value changes.
    pub fn parameter(self) -> Parameter {
        match self {
            Override::Number(parameter, _) => parameter,
            Override::Sum(sum, _) => sum.part(),
        }
    }

    /// Checks that each parameter changes at most once.
    ///
    /// # Errors
    ///
    /// A parameter changes twice; the diagnostic names it.
    pub fn check_distinct(overrides: &[Override]) -> Result<(), Diagnostic> {
        let mut names: Vec<&str> = overrides.iter().map(|o| o.parameter().name()).collect();
        // Sorted, so that equal names are neighbours. A sum has the name of the part that changes.
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(Diagnostic::new(format!("--set {} is given twice", pair[0]))),
            None => Ok(()),
        }
    }
}

impl TimedOptions {
    /// Returns the options with other values of parameters, which are distinct ([`Override::check_distinct`]).
    #[must_use]
    pub fn with_overrides(mut self, overrides: &[Override]) -> TimedOptions {
        for &change in overrides {
            match change {
                Override::Number(parameter, value) => self.set.push((parameter, value)),
                Override::Sum(sum, value) => self.sums.push((sum, value)),
            }
        }
        self
    }
}
