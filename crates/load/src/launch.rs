//! Launch files: how many threads, with which constants and data, on which machine.

use std::collections::BTreeMap;

use serde::Deserialize;
use warpbound_base::Diagnostic;

/// A launch of one block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MiniLaunchFile {
    /// The file's name.
    pub file: String,
    /// The kernel, when the file names one.
    pub kernel: Option<String>,
    /// The machine: the name of one that comes with the tool, or a file beside this one.
    pub machine: Option<String>,
    /// Threads of the block, at least 1.
    pub threads: u32,
    /// Words of the memory.
    pub memory: u32,
    /// The most cycles that a run may take.
    pub max_cycles: Option<u64>,
    /// The run ends with an error, which has this word in it.
    pub fails: Option<String>,
    /// Launch constants by name; 32-bit two's complement.
    pub constants: BTreeMap<String, u32>,
    /// What the memory holds at the start; the rest is 0.
    pub data: Vec<MemoryWords>,
    /// What it holds at the end.
    pub expect: Vec<MemoryWords>,
}

/// Some words of the memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryWords {
    /// Address of the first.
    pub at: u32,
    /// The words.
    pub values: Vec<u32>,
}

impl MiniLaunchFile {
    /// The most threads of a block.
    pub const MOST_THREADS: u32 = 1 << 20;

    /// The most words of a memory.
    pub const MOST_MEMORY: u32 = 1 << 26;

    /// Reads a launch file; `file` is its name in messages.
    ///
    /// # Errors
    ///
    /// One line naming file, position and cause.
    pub fn parse(file: &str, text: &str) -> Result<MiniLaunchFile, Diagnostic> {
        let fault = |what: String| Diagnostic::new(what).in_file(file);
        let raw: Raw = toml::from_str(text).map_err(|error| {
            let at = error.span().map(|span| span.start);
            Diagnostic::of_text(file, text, error.message(), at)
        })?;
        if !(1..=MiniLaunchFile::MOST_THREADS).contains(&raw.threads) {
            return Err(fault(format!(
                "threads is {}; a block has 1 to {}",
                raw.threads,
                MiniLaunchFile::MOST_THREADS
            )));
        }
        if raw.memory > MiniLaunchFile::MOST_MEMORY {
            return Err(fault(format!(
                "memory is {} words; at most {} are possible",
                raw.memory,
                MiniLaunchFile::MOST_MEMORY
            )));
        }
        let words = |blocks: &[RawWords]| -> Result<Vec<MemoryWords>, Diagnostic> {
            blocks
                .iter()
                .map(|block| block.words(raw.memory).map_err(fault))
                .collect()
        };
        let constants = raw.constants.iter().map(|(name, &value)| {
            let value = word(value).ok_or_else(|| {
                fault(format!(
                    "constant {name} is {value}, which has more than 32 bits"
                ))
            })?;
            Ok((name.clone(), value))
        });
        Ok(MiniLaunchFile {
            file: file.to_owned(),
            constants: constants.collect::<Result<_, Diagnostic>>()?,
            data: words(&raw.data)?,
            expect: words(&raw.expect)?,
            kernel: raw.kernel,
            machine: raw.machine,
            threads: raw.threads,
            memory: raw.memory,
            max_cycles: raw.max_cycles,
            fails: raw.fails,
        })
    }

    /// The memory at the start.
    pub fn words(&self) -> Vec<u32> {
        let mut memory = vec![0; self.memory as usize];
        for words in &self.data {
            // They were found to fit when the file was read.
            let rest = memory.iter_mut().skip(words.at as usize);
            for (word, value) in rest.zip(&words.values) {
                *word = *value;
            }
        }
        memory
    }
}

/// A number of 32 bits, signed or not.
fn word(value: i64) -> Option<u32> {
    (i64::from(i32::MIN)..=i64::from(u32::MAX))
        .contains(&value)
        .then_some(value as u32)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    kernel: Option<String>,
    machine: Option<String>,
    threads: u32,
    memory: u32,
    max_cycles: Option<u64>,
    fails: Option<String>,
    #[serde(default)]
    constants: BTreeMap<String, i64>,
    #[serde(default)]
    data: Vec<RawWords>,
    #[serde(default)]
    expect: Vec<RawWords>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWords {
    at: u32,
    values: Option<Vec<i64>>,
    ramp: Option<Ramp>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ramp {
    first: i64,
    step: i64,
    count: u32,
}

impl RawWords {
    fn words(&self, memory: u32) -> Result<MemoryWords, String> {
        let at = self.at;
        let fits = |count: usize| match usize::try_from(memory.saturating_sub(at)) {
            Ok(room) if count <= room && at <= memory => Ok(()),
            _ => Err(format!(
                "{count} words at {at} reach beyond the memory of {memory} words"
            )),
        };
        let narrow = |value: i64| {
            word(value).ok_or_else(|| format!("{value} at {at} has more than 32 bits"))
        };
        let values = match (&self.values, &self.ramp) {
            (Some(values), None) => {
                fits(values.len())?;
                values
                    .iter()
                    .map(|&v| narrow(v))
                    .collect::<Result<_, _>>()?
            }
            (None, Some(ramp)) => {
                fits(ramp.count as usize)?;
                let value = |n: u32| {
                    ramp.step
                        .checked_mul(n.into())
                        .and_then(|more| ramp.first.checked_add(more))
                        .ok_or_else(|| format!("the ramp at {at} has more than 32 bits"))
                        .and_then(narrow)
                };
                (0..ramp.count).map(value).collect::<Result<_, _>>()?
            }
            _ => return Err(format!("the words at {at} have either values or a ramp")),
        };
        Ok(MemoryWords { at, values })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<MiniLaunchFile, String> {
        MiniLaunchFile::parse("l.toml", text).map_err(|d| d.to_string())
    }

    #[test]
    fn data_fills_the_memory() {
        let launch = parse(
            "threads = 2\nmemory = 6\n[constants]\nn = -1\n[[data]]\nat = 1\nvalues = [7, -1]\n\
             [[data]]\nat = 3\nramp = { first = 5, step = -5, count = 3 }\n",
        )
        .unwrap();
        assert_eq!(launch.words(), [0, 7, u32::MAX, 5, 0, 5u32.wrapping_neg()]);
        assert_eq!(launch.constants["n"], u32::MAX);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        for (text, message) in [
            ("threads = 0\nmemory = 0", "threads is 0"),
            ("threads = 1\nmemory = 99999999", "memory is 99999999 words"),
            ("threads = 1", "missing field `memory`"),
            (
                "threads = 1\nmemory = 1\nthread = 2",
                "line 3: unknown field",
            ),
            (
                "threads = 1\nmemory = 1\n[[data]]\nat = 1\nvalues = [1]",
                "1 words at 1 reach beyond",
            ),
            (
                "threads = 1\nmemory = 1\n[[data]]\nat = 0\nvalues = [4294967296]",
                "4294967296 at 0 has more than 32 bits",
            ),
            (
                "threads = 1\nmemory = 1\n[[data]]\nat = 0",
                "either values or a ramp",
            ),
            (
                "threads = 1\nmemory = 4\n[[data]]\nat = 0\nramp = {first = 1, step = 9223372036854775807, count = 3}",
                "the ramp at 0",
            ),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
