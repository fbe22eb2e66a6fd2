//! Selection of one value from the range of each parameter, for a run.

use std::fmt;
use std::ops::Index;
use std::str::FromStr;

use warpbound_base::{Diagnostic, Family};

use crate::{Domain, GpuModel, Parameter, SlowEnd, validity};

/// Rule that selects one value from the range of each parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Selection {
    /// The typical values.
    #[default]
    Typical,
    /// The minimum values.
    Least,
    /// The maximum values.
    Most,
    /// The slow end of each range that has one ([`Parameter::slow_end`]), else the typical value.
    Slow,
    /// The other end of each range that has a slow end, else the typical value.
    Fast,
    /// Pseudo-random values from the ranges, determined by the seed; together they describe a machine.
    Seed(u64),
}

impl Selection {
    /// Names of the selections without a seed.
    const NAMED: [(&str, Selection); 5] = [
        ("slow", Selection::Slow),
        ("typical", Selection::Typical),
        ("fast", Selection::Fast),
        ("lo", Selection::Least),
        ("hi", Selection::Most),
    ];
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = Selection::NAMED.iter().find(|(_, known)| known == self);
        match (named, self) {
            (Some((name, _)), _) => f.write_str(name),
            (None, Selection::Seed(seed)) => write!(f, "seed={seed}"),
            (None, selection) => write!(f, "{selection:?}"),
        }
    }
}

impl FromStr for Selection {
    type Err = Diagnostic;

    /// Parses the name of a selection; `seed=N` has a seed of 64 bits.
    fn from_str(text: &str) -> Result<Selection, Diagnostic> {
        if let Some((_, selection)) = Selection::NAMED.iter().find(|(name, _)| *name == text) {
            return Ok(*selection);
        }
        if let Some(seed) = text.strip_prefix("seed=") {
            return seed.parse().map(Selection::Seed).map_err(|_| {
                Diagnostic::new(format!("{seed:?} is not a whole number of 64 bits"))
            });
        }
        let names = Selection::NAMED.map(|(name, _)| name).join(", ");
        Err(Diagnostic::new(format!("there are {names} and seed=N")))
    }
}

/// Configuration of a machine: one value for each parameter of its family.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MachineConfig {
    family: Family,
    /// Values of all parameters; 0 for parameters of other families.
    values: Vec<u64>,
}

impl Index<Parameter> for MachineConfig {
    type Output = u64;

    #[inline(always)]
    fn index(&self, parameter: Parameter) -> &u64 {
        &self.values[parameter as usize]
    }
}

impl MachineConfig {
    /// Family of the machine.
    pub fn family(&self) -> Family {
        self.family
    }

    /// Returns the configuration with one value replaced.
    #[must_use]
    pub fn with(mut self, parameter: Parameter, value: u64) -> MachineConfig {
        self.values[parameter as usize] = value;
        self
    }

    /// Checks that the values together describe a machine. Selections from machine files do; other values may not.
    ///
    /// # Errors
    ///
    /// The first parameter in error, and its condition.
    pub fn check(&self) -> Result<(), Diagnostic> {
        let over = Parameter::ALL.iter().zip(&self.values);
        if let Some((parameter, value)) = over.into_iter().find(|(_, v)| **v > GpuModel::MAX_VALUE)
        {
            let (name, most) = (parameter.name(), GpuModel::MAX_VALUE);
            return Err(Diagnostic::new(format!(
                "{name} is {value}, but at most {most} is understood"
            )));
        }
        let values: Vec<[u64; 1]> = self.values.iter().map(|&value| [value]).collect();
        validity::check(self.family, &values).map_err(Diagnostic::new)
    }
}

impl GpuModel {
    /// Selects a value for each parameter.
    pub fn select(&self, selection: Selection) -> MachineConfig {
        let end = |parameter: Parameter, slow: bool| {
            let range = self.range(parameter);
            match (parameter.slow_end(), slow) {
                (SlowEnd::High, true) | (SlowEnd::Low, false) => range.most,
                (SlowEnd::High, false) | (SlowEnd::Low, true) => range.least,
                (SlowEnd::Either | SlowEnd::Each, _) => range.typical,
            }
        };
        let value = |&parameter: &Parameter| {
            let range = self.range(parameter);
            match selection {
                Selection::Typical => range.typical,
                Selection::Least => range.least,
                Selection::Most => range.most,
                Selection::Slow => end(parameter, true),
                Selection::Fast => end(parameter, false),
                Selection::Seed(seed) => {
                    // By parameter, so that a new range of one of them leaves the values of the others as they are.
                    let random = Random::of(seed, parameter).next();
                    match parameter.domain() {
                        // Any combination of stated sizes is valid (`validity::check`). Other sizes depend on each
                        // other and are drawn afterwards.
                        Domain::Size | Domain::PowerOfTwo | Domain::BankShift => {
                            range.stated()[(random % 3) as usize]
                        }
                        _ => range.least + random % (range.most - range.least + 1),
                    }
                }
            }
        };
        let config = MachineConfig {
            family: self.family(),
            values: Parameter::ALL.iter().map(value).collect(),
        };
        match selection {
            Selection::Seed(seed) => self.with_random_sizes(config, seed),
            _ => config,
        }
    }

    /// Draws sizes one after the other, each so that the configuration remains valid. One size in four keeps a stated
    /// value, because the ends of a range are special cases.
    fn with_random_sizes(&self, mut config: MachineConfig, seed: u64) -> MachineConfig {
        for &parameter in Parameter::ALL {
            let range = self.range(parameter);
            let is_size = matches!(parameter.domain(), Domain::Size | Domain::PowerOfTwo);
            if !is_size || range.least == range.most {
                continue;
            }
            // Inverted, so that these draws differ from the draws of `select`.
            let mut random = Random::of(!seed, parameter);
            if random.next().is_multiple_of(4) {
                continue;
            }
            let candidates = self.candidates(parameter, &config);
            // Most candidates satisfy the other conditions; if 64 draws do not, the value stays.
            for _ in 0..64 {
                let value = candidates.at(random.next() % candidates.count());
                let other = config.clone().with(parameter, value);
                if other.check().is_ok() {
                    config = other;
                    break;
                }
            }
        }
        config
    }

    /// Returns valid values of a parameter in ascending order, with the other parameters as configured: both ends of
    /// its range and, for a parameter without a slow end ([`SlowEnd::Each`]), at most `most` values between them at
    /// about equal distances.
    pub fn candidate_values(
        &self,
        parameter: Parameter,
        config: &MachineConfig,
        most: usize,
    ) -> Vec<u64> {
        let range = self.range(parameter);
        let mut values = vec![range.least, range.most];
        if parameter.slow_end() == SlowEnd::Each {
            let candidates = self.candidates(parameter, config);
            let stride = candidates.count().div_ceil(most.max(1) as u64);
            let between = (0..candidates.count()).step_by(stride.max(1) as usize);
            values.extend(between.map(|number| candidates.at(number)));
        }
        values.sort_unstable();
        values.dedup();
        values.retain(|&value| config.clone().with(parameter, value).check().is_ok());
        values
    }

    /// Returns the values in the range of a parameter that satisfy its conditions on multiples and powers of two,
    /// with the other parameters as configured.
    fn candidates(&self, parameter: Parameter, config: &MachineConfig) -> Candidates {
        let range = self.range(parameter);
        let (least, most) = (range.least, range.most);
        if parameter.domain() == Domain::PowerOfTwo {
            // Valid machine files state powers of two, so both ends are candidates.
            return Candidates::Powers {
                first: least.max(1).ilog2(),
                last: most.max(1).ilog2(),
            };
        }
        let step = validity::required_multiple(parameter, |part| config[part]);
        let first = least.next_multiple_of(step);
        // If no multiple lies in the range, `check` rejects the candidates in the callers.
        if first <= most {
            return Candidates::Multiples { first, step, most };
        }
        Candidates::Multiples {
            first: least,
            step: 1,
            most,
        }
    }
}

/// Candidate values of a parameter: multiples or powers of two.
#[derive(Clone, Copy)]
enum Candidates {
    Multiples { first: u64, step: u64, most: u64 },
    Powers { first: u32, last: u32 },
}

impl Candidates {
    /// Number of values, at least one.
    fn count(self) -> u64 {
        match self {
            Candidates::Multiples { first, step, most } => (most - first) / step + 1,
            Candidates::Powers { first, last } => u64::from(last - first) + 1,
        }
    }

    /// Returns a value by its index.
    fn at(self, number: u64) -> u64 {
        match self {
            Candidates::Multiples { first, step, .. } => first + number * step,
            Candidates::Powers { first, .. } => 1 << (u64::from(first) + number),
        }
    }
}

/// Pseudo-random numbers that depend on a seed and a parameter alone (SplitMix64: Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn of(seed: u64, parameter: Parameter) -> Random {
        // The seed is hashed first: otherwise the seeds n and n ^ 1 would only exchange the numbers of two
        // parameters.
        Random(Random(seed).next() ^ parameter.draw_number())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let number = self.0;
        let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ number >> 31
    }
}
