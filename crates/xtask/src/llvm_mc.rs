//! LLVM's assembler as a disassembler of GCN3.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, bail};

/// s_nop that stands before each word, so that the lines of the output can be separated.
const MARKER: (&str, &str) = ("[0x55,0x12,0x80,0xbf]", "s_nop 0x1255");

/// Words per run of the assembler; each processor has one run at a time.
const BATCH: usize = 20_000;

/// LLVM's assembler, with a directory for its input files.
pub(crate) struct LlvmMc {
    program: PathBuf,
    scratch: PathBuf,
}

/// Word with the number of its bytes that are given: 4 or 8.
pub(crate) type SizedWord = (u64, u8);

impl LlvmMc {
    /// Finds the tool of a version that `cargo xtask oracle` made available; `None` if it is not there.
    pub(crate) fn find(oracle: &Path, version: &str) -> anyhow::Result<Option<LlvmMc>> {
        let program = oracle.join(format!("bin/llvm-mc-{version}"));
        if !program.is_file() {
            return Ok(None);
        }
        let scratch = oracle.join("scratch");
        fs::create_dir_all(&scratch).context("cannot create oracle/scratch")?;
        Ok(Some(LlvmMc { program, scratch }))
    }

    /// Returns the text of the instruction with which each word begins; `None` where there is none.
    pub(crate) fn words(&self, words: &[SizedWord]) -> anyhow::Result<Vec<Option<String>>> {
        let next = AtomicUsize::new(0);
        let batches: Vec<&[SizedWord]> = words.chunks(BATCH).collect();
        let work = || -> anyhow::Result<Vec<(usize, Vec<Option<String>>)>> {
            let mut done = Vec::new();
            while let Some((at, batch)) = {
                let at = next.fetch_add(1, Ordering::Relaxed);
                batches.get(at).map(|batch| (at, *batch))
            } {
                done.push((at, self.batch(batch)?));
            }
            Ok(done)
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let mut done = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let mut done = Vec::new();
            for thread in threads {
                let part = thread
                    .join()
                    .map_err(|_| anyhow::anyhow!("a thread failed"))??;
                done.extend(part);
            }
            anyhow::Ok(done)
        })?;
        done.sort_by_key(|(at, _)| *at);
        Ok(done.into_iter().flat_map(|(_, texts)| texts).collect())
    }

    fn batch(&self, words: &[SizedWord]) -> anyhow::Result<Vec<Option<String>>> {
        let mut input = String::new();
        for (word, bytes) in words {
            let _ = writeln!(input, "{}", MARKER.0);
            input.push_str(&group(&word.to_le_bytes()[..usize::from(*bytes)]));
        }
        let (output, rejected) = self.run(&input)?;
        let mut texts: Vec<Option<String>> = Vec::with_capacity(words.len());
        let mut is_first = false;
        for line in output.lines().map(str::trim) {
            if line == MARKER.1 {
                texts.push(None);
                is_first = true;
            } else if let Some(last) = texts.last_mut()
                && is_first
                && !line.is_empty()
            {
                *last = Some(line.replace('\t', " "));
                is_first = false;
            }
        }
        if texts.len() != words.len() {
            bail!(
                "the disassembler lists {} of {} words",
                texts.len(),
                words.len()
            );
        }
        for (text, line) in texts.iter_mut().zip((2u64..).step_by(2)) {
            if rejected.contains(&line) {
                *text = None;
            }
        }
        Ok(texts)
    }

    /// Returns the texts of all instructions of a code section, without the dwords that are none.
    pub(crate) fn code(&self, code: &[u8]) -> anyhow::Result<Vec<String>> {
        // In brackets, the tool would stop at a dword that is no instruction.
        let (output, _) = self.run(group(code).trim_matches(['[', ']', '\n']))?;
        let lines = output.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && *line != ".text");
        Ok(lines.map(|line| line.replace('\t', " ")).collect())
    }

    /// Returns the output, and the lines of the input whose first byte begins no instruction.
    fn run(&self, input: &str) -> anyhow::Result<(String, BTreeSet<u64>)> {
        static RUN: AtomicUsize = AtomicUsize::new(0);
        let number = RUN.fetch_add(1, Ordering::Relaxed);
        let file = format!("words.{}.{number}.txt", std::process::id());
        let path = self.scratch.join(&file);
        fs::write(&path, input).context("cannot write the input of llvm-mc")?;
        let output = Command::new(&self.program)
            .args(["--disassemble", "-triple=amdgcn-amd-amdhsa", "-mcpu=gfx803"])
            .arg(&file)
            .current_dir(&self.scratch)
            .output()
            .context("cannot start llvm-mc");
        let _ = fs::remove_file(&path);
        let output = output?;
        // 1 stands for words that are no instruction.
        if !matches!(output.status.code(), Some(0 | 1)) {
            bail!("llvm-mc failed: {}", output.status);
        }
        let messages = String::from_utf8_lossy(&output.stderr);
        let rejected = messages.lines().filter_map(|line| {
            let place = line.strip_prefix(&file)?.strip_prefix(':')?;
            let (line, place) = place.split_once(':')?;
            place
                .starts_with("2: warning: invalid instruction")
                .then(|| line.parse().ok())?
        });
        Ok((
            String::from_utf8_lossy(&output.stdout).into_owned(),
            rejected.collect(),
        ))
    }
}

/// Bytes as one line of input.
fn group(bytes: &[u8]) -> String {
    let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:#04x}")).collect();
    format!("[{}]\n", bytes.join(","))
}
