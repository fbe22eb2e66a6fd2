//! Launch files of mini-SIMT programs: threads, constants, memory, machine.

use std::collections::BTreeMap;

use serde::Deserialize;
use warpbound_base::Diagnostic;

/// A launch of one block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaunchFile {
    /// Name of the file, for messages.
    pub file: String,
    /// Name of the kernel, if given.
    pub kernel: Option<String>,
    /// The machine, if given: name of a built-in one, or of a file next to this one.
    pub machine: Option<String>,
    /// Threads of the block, at least 1.
    pub threads: u32,
    /// Size of the memory in words.
    pub memory: u32,
    /// Limit of a run in cycles.
    pub max_cycles: Option<u64>,
    /// If given, the run must fail with a message that contains this text.
    pub fails: Option<String>,
    /// Launch constants by name; 32-bit two's complement.
    pub constants: BTreeMap<String, u32>,
    /// Initial contents of the memory; the rest is 0.
    pub data: Vec<MemoryWords>,
    /// Expected final contents of the memory.
    pub expect: Vec<MemoryWords>,
}

/// Consecutive words of the memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryWords {
    /// Address of the first word, in words.
    pub at: u32,
    /// The words.
    pub values: Vec<u32>,
}

impl LaunchFile {
    /// Maximum number of threads of a block.
    pub const MAX_THREADS: u32 = 1 << 20;

    /// Maximum size of the memory in words.
    pub const MAX_MEMORY: u32 = 1 << 26;

    /// Parses a launch file; `file` is its name in messages.
    ///
    /// # Errors
    ///
    /// A diagnostic with file, position and cause.
    pub fn parse(file: &str, text: &str) -> Result<LaunchFile, Diagnostic> {
        let fault = |message: String| Diagnostic::new(message).in_file(file);
        let raw: Raw = toml::from_str(text).map_err(|error| {
            let at = error.span().map(|span| span.start);
            Diagnostic::for_text(file, text, error.message(), at)
        })?;
        if !(1..=LaunchFile::MAX_THREADS).contains(&raw.threads) {
            return Err(fault(format!(
                "threads is {}; a block has 1 to {}",
                raw.threads,
                LaunchFile::MAX_THREADS
            )));
        }
        if raw.memory > LaunchFile::MAX_MEMORY {
            return Err(fault(format!(
                "memory is {} words; at most {} are possible",
                raw.memory,
                LaunchFile::MAX_MEMORY
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
        Ok(LaunchFile {
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

    /// Returns the initial memory.
    pub fn words(&self) -> Vec<u32> {
        let mut memory = vec![0; self.memory as usize];
        for words in &self.data {
            // `parse` has checked that the words fit.
            let rest = memory.iter_mut().skip(words.at as usize);
            for (word, value) in rest.zip(&words.values) {
                *word = *value;
            }
        }
        memory
    }
}

/// Converts a signed or unsigned 32-bit number; `None` if it is out of range. For example, -1 and 4294967295 are the
/// same word.
fn word(value: i64) -> Option<u32> {
    let signed = || i32::try_from(value).map(i32::cast_unsigned);
    u32::try_from(value).or_else(|_| signed()).ok()
}

/// The file as TOML states it.
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

/// Words of the file: either a list or a ramp.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWords {
    at: u32,
    values: Option<Vec<i64>>,
    ramp: Option<Ramp>,
}

/// An arithmetic sequence.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ramp {
    first: i64,
    step: i64,
    count: u32,
}

impl RawWords {
    /// Expands the words and checks that they fit a memory of `memory` words.
    fn words(&self, memory: u32) -> Result<MemoryWords, String> {
        let at = self.at;
        // Even an empty list of words has to begin within the memory.
        let fits = |count: usize| match usize::try_from(memory.saturating_sub(at)) {
            Ok(rest) if count <= rest && at <= memory => Ok(()),
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
                // Checked before the expansion, because a short file can state a ramp of any length.
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

    fn parse(text: &str) -> Result<LaunchFile, String> {
        LaunchFile::parse("l.toml", text).map_err(|d| d.to_string())
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
    fn values_out_of_range_are_refused() {
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
