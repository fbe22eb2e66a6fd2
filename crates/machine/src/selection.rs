//! Which values of the numbers a run takes.

use std::ops::Index;

use warpbound_base::Diagnostic;

use crate::{GpuModel, Domain, Parameter, SlowEnd, validity};

/// Which values of the numbers a run takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Selection {
    /// Those that a file names as typical.
    #[default]
    Typical,
    /// The least of each.
    Least,
    /// The most of each.
    Most,
    /// Of each number with a slow end ([`Parameter::slow`]) the value there; of others the typical one.
    Slow,
    /// Of each number with a slow end the value at the other end; of others the typical one.
    Fast,
    /// Each at random between its least and its most, the same for the same seed; together they make a machine.
    Seed(u64),
}

/// A value for each parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MachineConfig {
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
    /// The same but for one value.
    #[must_use]
    pub fn with(mut self, parameter: Parameter, value: u64) -> MachineConfig {
        self.values[parameter as usize] = value;
        self
    }

    /// Whether the values together describe a machine: those that a file states do, others need not.
    ///
    /// # Errors
    ///
    /// What is wrong with which number.
    pub fn check(&self) -> Result<(), Diagnostic> {
        let over = Parameter::ALL.iter().zip(&self.values);
        if let Some((parameter, value)) = over.into_iter().find(|(_, v)| **v > GpuModel::MAX_VALUE) {
            let (name, most) = (parameter.name(), GpuModel::MAX_VALUE);
            return Err(Diagnostic::new(format!(
                "{name} is {value}, but at most {most} is understood"
            )));
        }
        let candidate_values: Vec<[u64; 1]> = self.values.iter().map(|&value| [value]).collect();
        validity::check(&candidate_values).map_err(Diagnostic::new)
    }
}

impl GpuModel {
    /// A value for each parameter.
    pub fn select(&self, pick: Selection) -> MachineConfig {
        let end = |parameter: Parameter, slow: bool| {
            let figure = self.range(parameter);
            match (parameter.slow(), slow) {
                (SlowEnd::High, true) | (SlowEnd::Low, false) => figure.most,
                (SlowEnd::High, false) | (SlowEnd::Low, true) => figure.least,
                (SlowEnd::Either | SlowEnd::Each, _) => figure.typical,
            }
        };
        let value = |&parameter: &Parameter| {
            let figure = self.range(parameter);
            match pick {
                Selection::Typical => figure.typical,
                Selection::Least => figure.least,
                Selection::Most => figure.most,
                Selection::Slow => end(parameter, true),
                Selection::Fast => end(parameter, false),
                Selection::Seed(seed) => {
                    let random = Random::of(seed, parameter).next();
                    match parameter.domain() {
                        Domain::Size | Domain::PowerOfTwo => figure.stated()[(random % 3) as usize],
                        _ => figure.least + random % (figure.most - figure.least + 1),
                    }
                }
            }
        };
        let picked = MachineConfig {
            values: Parameter::ALL.iter().map(value).collect(),
        };
        match pick {
            Selection::Seed(seed) => self.with_sizes(picked, seed),
            _ => picked,
        }
    }

    /// Sizes at random, one after the other, each such that it makes a machine with the others; one in four stays what the
    /// file states, which is where caches are smallest and largest.
    fn with_sizes(&self, mut picked: MachineConfig, seed: u64) -> MachineConfig {
        for &parameter in Parameter::ALL {
            let figure = self.range(parameter);
            let is_size = matches!(parameter.domain(), Domain::Size | Domain::PowerOfTwo);
            if !is_size || figure.least == figure.most {
                continue;
            }
            let mut random = Random::of(!seed, parameter);
            if random.next().is_multiple_of(4) {
                continue;
            }
            let values = self.steps(parameter, &picked);
            for _ in 0..64 {
                let other = values.at(random.next() % values.count());
                let other = picked.clone().with(parameter, other);
                if other.check().is_ok() {
                    picked = other;
                    break;
                }
            }
        }
        picked
    }

    /// Values that a number may have, ascending, where the others are as picked: the least and the most, and of a number
    /// that has to be tried value by value ([`Slow::Each`]) those between them, too. Where there are more than `most` of
    /// them: as many as are allowed, at about equal distances.
    pub fn values(&self, parameter: Parameter, picked: &MachineConfig, most: usize) -> Vec<u64> {
        let figure = self.range(parameter);
        let mut values = vec![figure.least, figure.most];
        if parameter.slow() == SlowEnd::Each {
            let steps = self.steps(parameter, picked);
            let apart = steps.count().div_ceil(most.max(1) as u64);
            let between = (0..steps.count()).step_by(apart.max(1) as usize);
            values.extend(between.map(|number| steps.at(number)));
        }
        values.sort_unstable();
        values.dedup();
        values.retain(|&value| picked.clone().with(parameter, value).check().is_ok());
        values
    }

    /// The values between the least and the most of a number that may make a machine with the others.
    fn steps(&self, parameter: Parameter, picked: &MachineConfig) -> Steps {
        let figure = self.range(parameter);
        let (least, most) = (figure.least, figure.most);
        if parameter.domain() == Domain::PowerOfTwo {
            return Steps::Powers {
                first: least.max(1).ilog2(),
                last: most.max(1).ilog2(),
            };
        }
        let step = validity::step(parameter, |part| picked[part]);
        let steps = |step: u64| {
            let first = least.next_multiple_of(step);
            (first <= most).then_some(Steps::Multiples { first, step, most })
        };
        let all = Steps::Multiples {
            first: least,
            step: 1,
            most,
        };
        steps(step).unwrap_or(all)
    }
}

/// Values of a number at equal distances, or powers of two.
#[derive(Clone, Copy)]
enum Steps {
    Multiples { first: u64, step: u64, most: u64 },
    Powers { first: u32, last: u32 },
}

impl Steps {
    /// Number of them, at least one.
    fn count(self) -> u64 {
        match self {
            Steps::Multiples { first, step, most } => (most - first) / step + 1,
            Steps::Powers { first, last } => u64::from(last - first) + 1,
        }
    }

    fn at(self, number: u64) -> u64 {
        match self {
            Steps::Multiples { first, step, .. } => first + number * step,
            Steps::Powers { first, .. } => 1 << (u64::from(first) + number),
        }
    }
}

/// Numbers that look random, the same for the same seed and parameter (SplitMix64).
struct Random(u64);

impl Random {
    fn of(seed: u64, parameter: Parameter) -> Random {
        Random(Random(seed).next() ^ parameter as u64)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let number = self.0;
        let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ number >> 31
    }
}
