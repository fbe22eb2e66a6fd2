//! NVIDIA's disassembler as an oracle for single instruction words.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, bail};

/// NOP, which is valid on every architecture; it replaces the words that the disassembler rejects.
const NOP: u64 = 0x50b0_0000_0007_0f00;

/// NOP of the instructions of 128 bits.
const WIDE_NOP: u128 = 0x000f_c000_0000_0000_0000_0000_0000_7918;

/// Bytes of an instruction of 128 bits.
const WIDE: usize = 16;

/// Word that every architecture of 128-bit instructions rejects.
const WIDE_REJECTED: u128 = u128::MAX;

/// Maximum number of runs for one input, each with more rejected words replaced.
const ROUNDS: usize = 8;

/// Report of a run of the tool on words of 128 bits, by index of a word.
struct WideRun {
    rejected: Vec<usize>,
    /// Whether the tool stopped at a word that two of its operation classes match.
    stopped: bool,
    /// Texts; none if a word is rejected.
    listed: Vec<(usize, String)>,
}

/// The words with NOP in place of the rejected ones, so that the others keep their addresses.
fn without_rejected(words: &[u128], rejected: &[bool]) -> Vec<u128> {
    let words = words.iter().zip(rejected);
    words
        .map(|(word, bad)| if *bad { WIDE_NOP } else { *word })
        .collect()
}

/// Whether the tool names no address when it rejects the word: the low half is 0, but perhaps for bit 63. No instruction
/// has the opcode 0.
fn is_unnamed(word: u128) -> bool {
    word as u64 & (u64::MAX >> 1) == 0
}

/// Whether the message says that the tool stops at a word that two operation classes match.
fn is_stop(message: &str) -> bool {
    message.contains("More than one pattern matched during instruction decoding")
}

/// NVIDIA's disassembler, with a directory for its input files.
pub(crate) struct Nvdisasm {
    program: PathBuf,
    scratch: PathBuf,
}

impl Nvdisasm {
    /// Finds the tool that `cargo xtask oracle` unpacked into `oracle`.
    pub(crate) fn new(oracle: &Path) -> anyhow::Result<Self> {
        Self::named(oracle, "nvdisasm")
    }

    /// Finds the release of CUDA 13, which knows sm_75 and later.
    pub(crate) fn release_13(oracle: &Path) -> anyhow::Result<Self> {
        Self::named(oracle, "cu13/nvdisasm")
    }

    fn named(oracle: &Path, name: &str) -> anyhow::Result<Self> {
        let program = oracle.join("bin").join(name);
        if !program.is_file() {
            bail!(
                "{} is missing; `cargo xtask oracle` fetches it",
                program.display()
            );
        }
        let scratch = oracle.join("scratch");
        fs::create_dir_all(&scratch).context("cannot create oracle/scratch")?;
        Ok(Self { program, scratch })
    }

    /// Returns the text of each word of 128 bits, at the address 16 times its index; `None` for a word that the tool
    /// rejects, stops at or prints nothing for.
    pub(crate) fn disassemble_wide(
        &self,
        sm: u32,
        words: &[u128],
    ) -> anyhow::Result<Vec<Option<String>>> {
        let mut rejected: Vec<bool> = words.iter().map(|word| is_unnamed(*word)).collect();
        loop {
            if rejected.iter().all(|bad| *bad) {
                return Ok(vec![None; words.len()]);
            }
            let run = self.run_wide(sm, &without_rejected(words, &rejected))?;
            let mut more = false;
            for at in run.rejected {
                if let Some(bad) = rejected.get_mut(at) {
                    more |= !*bad;
                    *bad = true;
                }
            }
            if run.stopped {
                let at = self.stopping_word(sm, words, &rejected)?;
                *rejected.get_mut(at).context("it stops at no word")? = true;
            } else if !more {
                let mut texts = vec![None; words.len()];
                for (at, text) in run.listed {
                    if let Some(place) = texts.get_mut(at) {
                        *place = Some(text);
                    }
                }
                for (text, _) in texts.iter_mut().zip(&rejected).filter(|(_, bad)| **bad) {
                    *text = None;
                }
                return Ok(texts);
            }
        }
    }

    /// Index of the first word at which the tool stops. It reports all rejected words before it, so a rejected word
    /// after each one tells how far it came.
    fn stopping_word(&self, sm: u32, words: &[u128], rejected: &[bool]) -> anyhow::Result<usize> {
        let words = without_rejected(words, rejected);
        let marked: Vec<u128> = words
            .iter()
            .flat_map(|word| [*word, WIDE_REJECTED])
            .collect();
        let run = self.run_wide(sm, &marked)?;
        if !run.stopped {
            bail!("nvdisasm stops at a word, but not among rejected ones");
        }
        Ok(run.rejected.iter().max().map_or(0, |last| last / 2 + 1))
    }

    /// Runs the tool on words of 128 bits.
    fn run_wide(&self, sm: u32, words: &[u128]) -> anyhow::Result<WideRun> {
        /// Tells the inputs of concurrent runs of this process apart.
        static RUNS: AtomicUsize = AtomicUsize::new(0);
        let number = RUNS.fetch_add(1, Ordering::Relaxed);
        let name = format!("words.{}.{number}.bin", std::process::id());
        let input = self.scratch.join(name);
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        fs::write(&input, &code).context("cannot write the input of nvdisasm")?;
        let output = Command::new(&self.program)
            .args(["--binary", &format!("SM{sm}"), "-novliw", "-ndf"])
            .arg(&input)
            .output();
        let _ = fs::remove_file(&input);
        let output = output.context("cannot start nvdisasm")?;
        let messages = String::from_utf8_lossy(&output.stderr);
        // The message of a stop names an address before the word.
        let stopped = messages.lines().any(is_stop);
        let reports = messages.lines().filter(|line| !is_stop(line));
        let rejected: Vec<usize> = reports
            .filter_map(rejected_address)
            .map(|address| address as usize / WIDE)
            .collect();
        if !output.status.success() && rejected.is_empty() && !stopped {
            bail!(
                "nvdisasm failed: {}",
                messages.lines().next().unwrap_or("no message")
            );
        }
        let listing = String::from_utf8_lossy(&output.stdout);
        let listed = listing.lines().filter_map(listed_instruction);
        Ok(WideRun {
            rejected,
            stopped,
            listed: listed
                .map(|(address, text)| (address as usize / WIDE, text))
                .collect(),
        })
    }

    /// Returns the text of every instruction of `code` (whole groups of a control word and three instructions) by byte
    /// offset, without the semicolon; `None` for a word that the tool rejects.
    ///
    /// Pairs have no braces and branch targets are numbers.
    pub(crate) fn disassemble(
        &self,
        sm: u32,
        code: &[u8],
    ) -> anyhow::Result<BTreeMap<u32, Option<String>>> {
        let mut code = code.to_vec();
        let mut texts: BTreeMap<u32, Option<String>> = BTreeMap::new();
        // The process id in the name separates the inputs of concurrent runs.
        let input = self
            .scratch
            .join(format!("words.{}.bin", std::process::id()));
        // One rejected word suppresses the whole listing, but the tool reports all of them at once.
        for _ in 0..ROUNDS {
            fs::write(&input, &code).context("cannot write the input of nvdisasm")?;
            let output = Command::new(&self.program)
                .args(["--binary", &format!("SM{sm}"), "-novliw", "-ndf"])
                .arg(&input)
                .output()
                .context("cannot start nvdisasm")?;
            let messages = String::from_utf8_lossy(&output.stderr);
            let rejected: Vec<u32> = messages.lines().filter_map(rejected_address).collect();
            if rejected.is_empty() {
                let _ = fs::remove_file(&input);
                if !output.status.success() {
                    bail!(
                        "nvdisasm failed: {}",
                        messages.lines().next().unwrap_or("no message")
                    );
                }
                for line in String::from_utf8_lossy(&output.stdout).lines() {
                    if let Some((address, text)) = listed_instruction(line) {
                        texts.entry(address).or_insert(Some(text));
                    }
                }
                return Ok(texts);
            }
            for address in rejected {
                texts.insert(address, None);
                let at = address as usize;
                let word = code
                    .get_mut(at..at + 8)
                    .context("nvdisasm names an address outside its input")?;
                word.copy_from_slice(&NOP.to_le_bytes());
            }
            if texts.len() == code.len() / 32 * 3 {
                let _ = fs::remove_file(&input);
                return Ok(texts);
            }
        }
        bail!("nvdisasm still rejects words after {ROUNDS} rounds")
    }
}

impl Nvdisasm {
    /// Path of the tool.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// Returns the tool's output for a cubin with these options.
    pub(crate) fn cubin(&self, options: &[&str], contents: &[u8]) -> anyhow::Result<String> {
        let input = self
            .scratch
            .join(format!("cubin.{}.bin", std::process::id()));
        fs::write(&input, contents).context("cannot write the input of nvdisasm")?;
        let output = Command::new(&self.program)
            .args(options)
            .arg(&input)
            .output()
            .context("cannot start nvdisasm")?;
        let _ = fs::remove_file(&input);
        if !output.status.success() {
            let messages = String::from_utf8_lossy(&output.stderr);
            bail!(
                "nvdisasm failed ({}): {}",
                output.status,
                messages.lines().next().unwrap_or("no message")
            );
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// Address in an error message: 0x18 of `... at address 0x00000018`.
fn rejected_address(message: &str) -> Option<u32> {
    let (_, rest) = message.split_once("at address 0x")?;
    let digits = rest
        .split(|c: char| !c.is_ascii_hexdigit())
        .next()
        .unwrap_or_default();
    u32::from_str_radix(digits, 16).ok()
}

/// Address and text of a listed line: (0x18, "@P0 BRA 0x518") of `        /*0018*/    @P0 BRA 0x518 ;`.
pub(crate) fn listed_instruction(line: &str) -> Option<(u32, String)> {
    let (address, text) = line.trim_start().strip_prefix("/*")?.split_once("*/")?;
    let address = u32::from_str_radix(address, 16).ok()?;
    let text = text.trim().trim_end_matches(';');
    // The tool prints a random number of blanks before its words for invalid values.
    let words: Vec<&str> = text.split_whitespace().collect();
    Some((address, words.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_listing() {
        let line = "        /*00e8*/               @P0 BRA 0x518 ;";
        assert_eq!(
            listed_instruction(line),
            Some((0xe8, "@P0 BRA 0x518".to_owned()))
        );
        assert_eq!(listed_instruction("\t.headerflags\t@\"X\""), None);
    }

    #[test]
    fn reads_the_errors() {
        let message = "nvdisasm error   : Unrecognized operation for functional unit 'uC' at address 0x00000018";
        assert_eq!(rejected_address(message), Some(0x18));
        assert_eq!(
            rejected_address("nvdisasm fatal   : Cannot open object file x"),
            None
        );
    }
}
