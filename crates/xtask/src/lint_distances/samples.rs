//! Distances that compilers leave: samples by chip, classes and use, and the numbers that follow from them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context;
use warpbound_analyse::ThreadCfg;
use warpbound_base::Family;
use warpbound_ir::Code;
use warpbound_isa::Program;
use warpbound_isa::nvidia::{Arch, SassProgram};
use warpbound_load::{Image, Isa, Kernel};
use warpbound_rewrite::lint::{Distances, Linted, ResultUse, distances, lint};

/// Kernel that was lifted and checked.
pub(crate) struct Checked {
    pub(crate) program: SassProgram,
    pub(crate) code: Code,
    pub(crate) linted: Linted,
}

/// Checks code for a kernel; `None` if an analysis refuses it.
pub(crate) fn check(arch: Arch, kernel: &Kernel, code: &[u8]) -> Option<Checked> {
    let program = Program::Nvidia(SassProgram::decode(arch, code).ok()?);
    let code = warpbound_ir::lift(kernel, &program).ok()?;
    let Program::Nvidia(program) = program else {
        return None;
    };
    let cfg = ThreadCfg::build(&code, &Default::default()).ok()?;
    let linted = lint(&code, &program, &cfg);
    Some(Checked {
        program,
        code,
        linted,
    })
}

/// Calls `work` for the kernels of a cubin, with their architecture. Returns whether the cubin is for a GPU from Volta on;
/// the kernels of others are left out.
///
/// # Errors
///
/// The file cannot be read.
pub(crate) fn for_each_kernel(
    file: &Path,
    mut work: impl FnMut(Arch, &Kernel),
) -> anyhow::Result<bool> {
    let name = file.display();
    let data = std::fs::read(file).with_context(|| name.to_string())?;
    let to_error = |why| anyhow::anyhow!("{name}: {why}");
    let image = Image::parse(&data).map_err(to_error)?;
    let Isa::Sm(sm) = image.isa() else {
        return Ok(false);
    };
    let arch = Arch::from_sm(sm.number.into());
    let Some(arch) = arch.filter(|arch| arch.family() == Family::Volta) else {
        return Ok(false);
    };
    let kernels = image.kernels().map_err(to_error)?;
    kernels.iter().for_each(|kernel| work(arch, kernel));
    Ok(true)
}

/// Combination of classes and use.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Combination {
    pub(crate) producer: &'static str,
    pub(crate) user: &'static str,
    pub(crate) used: &'static str,
}

impl Combination {
    pub(crate) fn of(dependence: &ResultUse, distances: &Distances) -> Combination {
        let (producer, user) = dependence.classes;
        Combination {
            producer: distances.name(producer),
            user: distances.name(user),
            used: dependence.used.name(),
        }
    }

    /// Whether the register is written again.
    fn overwrites(self) -> bool {
        self.used.ends_with('=')
    }
}

/// Number of samples by distance.
#[derive(Clone, Default, Debug)]
struct Samples(BTreeMap<u8, u64>);

impl Samples {
    fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Least distance, and the number of its samples.
    fn least(&self) -> Option<(u8, u64)> {
        self.0
            .first_key_value()
            .map(|(&cycles, &count)| (cycles, count))
    }
}

/// Samples of kernels.
#[derive(Default)]
pub(crate) struct Learned {
    samples: BTreeMap<Combination, BTreeMap<Arch, Samples>>,
}

/// Number of samples below which nothing is learned.
const FEWEST: u64 = 20;

/// Number of samples at the least distance below which it is not believed, and their share of all samples: one fifth. Where
/// the distance is needed, compilers leave just that again and again. A least distance that occurs once was not needed.
const FEWEST_AT_LEAST: u64 = 8;
const SHARE_AT_LEAST: u64 = 5;

/// Readers of a class of results differ by no more cycles than this; a longer distance is one that no reader needed.
const SPREAD: u8 = 4;

/// Number of samples from which the least distance is believed whatever its share is.
const MANY: u64 = 1000;

impl Learned {
    /// Adds the dependences of a kernel.
    pub(crate) fn add(&mut self, checked: &Checked) {
        let (arch, distances) = (checked.program.arch(), distances(&checked.program));
        for dependence in &checked.linted.dependences {
            let combination = Combination::of(dependence, distances);
            let by_arch = self.samples.entry(combination).or_default();
            let samples = by_arch.entry(arch).or_default();
            *samples.0.entry(dependence.cycles).or_default() += 1;
        }
    }

    /// Adds the samples of other kernels.
    pub(crate) fn append(&mut self, other: Learned) {
        for (combination, by_arch) in other.samples {
            let own = self.samples.entry(combination).or_default();
            for (arch, samples) in by_arch {
                let own = own.entry(arch).or_default();
                for (cycles, count) in samples.0 {
                    *own.0.entry(cycles).or_default() += count;
                }
            }
        }
    }

    /// Least distance at which a result of a class is read on a chip, whatever reads it.
    fn least_read(&self, producer: &str, kind: &str, arch: Arch) -> Option<u8> {
        let reads = self.samples.iter().filter(|(combination, _)| {
            combination.producer == producer && combination.used == kind
        });
        let least = reads.filter_map(|(_, by_arch)| by_arch.get(&arch)?.least());
        least.map(|(cycles, _)| cycles).min()
    }

    /// Samples of a combination on a chip. A guard is read at the issue, whatever it guards, so all users of a class of
    /// results have their samples in common.
    fn samples(&self, combination: Combination, arch: Arch) -> Option<Samples> {
        if !combination.used.starts_with('@') {
            return self.samples.get(&combination)?.get(&arch).cloned();
        }
        let mut all = Samples::default();
        for (other, by_arch) in &self.samples {
            if (other.producer, other.used) == (combination.producer, combination.used) {
                for (&cycles, count) in by_arch.get(&arch).iter().flat_map(|samples| &samples.0) {
                    *all.0.entry(cycles).or_default() += count;
                }
            }
        }
        Some(all)
    }

    /// Required distance that follows from the samples; `None` if they do not suffice.
    fn required(&self, combination: Combination, arch: Arch) -> Option<(u8, u64)> {
        let samples = self.samples(combination, arch)?;
        let ((cycles, at_least), total) = (samples.least()?, samples.total());
        // Nothing is known of instructions without a class, and they have nothing in common.
        if combination.producer == Distances::UNLISTED || combination.user == Distances::UNLISTED {
            return None;
        }
        let is_believed = match combination.overwrites() {
            // Between most pairs of writes the first result is read, so that the reader decides the distance. Only a
            // shorter one says something about writes.
            true => {
                let kind = combination.used.trim_end_matches('=');
                let read = self.least_read(combination.producer, kind, arch);
                at_least > 1 && read.is_some_and(|read| cycles < read)
            }
            false => {
                let read = self.least_read(combination.producer, combination.used, arch);
                at_least >= FEWEST_AT_LEAST
                    && (at_least * SHARE_AT_LEAST >= total || total >= MANY)
                    && read.is_some_and(|read| cycles <= read + SPREAD)
            }
        };
        (total >= FEWEST && is_believed).then_some((cycles, total))
    }

    /// The table of required distances: a row for each combination with a number on any of these chips. Also the number
    /// of numbers, and of combinations of a chip that have too few samples.
    pub(crate) fn table(&self, archs: &[Arch]) -> (String, usize, usize) {
        let mut text = String::from("producer user use");
        for arch in archs {
            let _ = write!(text, " {}", arch.sm());
        }
        text.push('\n');
        let (mut known, mut unknown) = (0, 0);
        for (&combination, by_arch) in &self.samples {
            let numbers: Vec<String> = archs
                .iter()
                .map(|&arch| match self.required(combination, arch) {
                    Some((cycles, total)) => format!("{cycles}:{total}"),
                    None => "-".to_owned(),
                })
                .collect();
            let found = numbers.iter().filter(|number| *number != "-").count();
            known += found;
            unknown += by_arch.len() - found.min(by_arch.len());
            if found > 0 {
                let Combination {
                    producer,
                    user,
                    used,
                } = combination;
                let _ = writeln!(text, "{producer} {user} {used} {}", numbers.join(" "));
            }
        }
        (text, known, unknown)
    }
}
