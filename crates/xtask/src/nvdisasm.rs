//! NVIDIA's disassembler as an oracle for single instruction words.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

/// NOP, which is valid on every architecture; it replaces the words that the disassembler rejects.
const NOP: u64 = 0x50b0_0000_0007_0f00;

/// NOP of the instructions of 128 bits.
const WIDE_NOP: u128 = 0x000f_c000_0000_0000_0000_0000_0000_7918;

/// Bytes of an instruction of 128 bits.
const WIDE: usize = 16;

/// Maximum number of runs for one input, each with more rejected words replaced.
const ROUNDS: usize = 8;

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
    /// rejects or prints nothing for.
    pub(crate) fn disassemble_wide(
        &self,
        sm: u32,
        words: &[u128],
    ) -> anyhow::Result<Vec<Option<String>>> {
        let mut texts = vec![None; words.len()];
        let mut ranges = vec![(0, words.len())];
        while let Some((start, end)) = ranges.pop() {
            let range = start..end;
            // The others keep the addresses of the range.
            let mut batch = vec![WIDE_NOP; words.len()];
            batch[range.clone()].copy_from_slice(&words[range.clone()]);
            match self.disassemble_batch(sm, &batch)? {
                Some(found) => texts[range.clone()].clone_from_slice(&found[range]),
                // Each run reports some of the rejected words only, so smaller ranges come to an end.
                None if range.len() > 1 => {
                    let middle = start + range.len() / 2;
                    ranges.extend([(start, middle), (middle, end)]);
                }
                None => {}
            }
        }
        Ok(texts)
    }

    /// The same; `None` if there are rejected words after all rounds.
    fn disassemble_batch(
        &self,
        sm: u32,
        words: &[u128],
    ) -> anyhow::Result<Option<Vec<Option<String>>>> {
        let mut texts: Vec<Option<String>> = vec![None; words.len()];
        let mut rejected = vec![false; words.len()];
        // The tool names no address for a word whose low half is 0.
        for (bad, word) in rejected.iter_mut().zip(words) {
            *bad = *word as u64 == 0;
        }
        let input = self
            .scratch
            .join(format!("words.{}.bin", std::process::id()));
        for _ in 0..ROUNDS {
            let listed = rejected.iter().zip(words);
            let listed = listed.map(|(bad, word)| if *bad { WIDE_NOP } else { *word });
            let code: Vec<u8> = listed.flat_map(u128::to_le_bytes).collect();
            fs::write(&input, &code).context("cannot write the input of nvdisasm")?;
            let output = Command::new(&self.program)
                .args(["--binary", &format!("SM{sm}"), "-novliw", "-ndf"])
                .arg(&input)
                .output()
                .context("cannot start nvdisasm")?;
            let _ = fs::remove_file(&input);
            let messages = String::from_utf8_lossy(&output.stderr);
            let mut more = false;
            for address in messages.lines().filter_map(rejected_address) {
                if let Some(bad) = rejected.get_mut(address as usize / WIDE) {
                    *bad = true;
                    more = true;
                }
            }
            if more {
                continue;
            }
            if !output.status.success() {
                bail!(
                    "nvdisasm failed: {}",
                    messages.lines().next().unwrap_or("no message")
                );
            }
            for line in String::from_utf8_lossy(&output.stdout).lines() {
                if let Some((address, text)) = listed_instruction(line)
                    && let Some(at) = texts.get_mut(address as usize / WIDE)
                {
                    *at = Some(text);
                }
            }
            for (text, bad) in texts.iter_mut().zip(&rejected) {
                if *bad {
                    *text = None;
                }
            }
            return Ok(Some(texts));
        }
        Ok(None)
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
