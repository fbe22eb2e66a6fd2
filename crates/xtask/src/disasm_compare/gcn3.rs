//! Our disassembly of GCN3 compared with LLVM's.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use warpbound_base::CodeAddr;
use warpbound_isa::TargetStyle;
use warpbound_isa::amd::{GcnInstr, GcnProgram, form_patterns};

use super::SplitMix;
use crate::cubin;
use crate::llvm_mc::{LlvmMc, SizedWord};
use crate::repository::Repository;

/// Words that are compared.
pub(super) struct GcnOptions<'a> {
    /// Number of random words; `None` for code objects.
    pub(super) random: Option<usize>,
    pub(super) seed: u64,
    pub(super) show: usize,
    pub(super) record: bool,
    /// Code objects, and text files with a word in hexadecimal on each line.
    pub(super) files: &'a [PathBuf],
}

pub(super) fn run(repository: &Repository, options: &GcnOptions<'_>) -> anyhow::Result<()> {
    let oracle = repository.oracle();
    let first = LlvmMc::find(&oracle, "14")?;
    let first = first.context("oracle/bin/llvm-mc-14 is missing; `cargo xtask oracle` makes it")?;
    if options.record {
        let second = LlvmMc::find(&oracle, "22")?;
        let second = second
            .context("oracle/bin/llvm-mc-22 is missing; `cargo xtask oracle --llvm-22` makes it")?;
        return record(repository, &first, &second, options.seed);
    }
    let mut tally = GcnTally {
        second: LlvmMc::find(&oracle, "22")?,
        ..GcnTally::default()
    };
    match options.random {
        Some(count) => {
            let words = random_words(&mut SplitMix(options.seed), count);
            tally.words(&first, &words)?;
        }
        None if options.files.is_empty() => {
            for file in code_objects(repository)? {
                tally.file(&first, &file)?;
            }
        }
        None => {
            for file in options.files {
                tally.file(&first, file)?;
            }
        }
    }
    tally.print(options.show);
    match tally.differences.len() + tally.re_encoded.1 {
        0 => Ok(()),
        count => bail!("{count} differences"),
    }
}

/// Own code objects, sorted by name.
fn code_objects(repository: &Repository) -> anyhow::Result<Vec<PathBuf>> {
    let folder = repository.built_kernels();
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "co") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Instruction that begins with the bytes of a word.
fn decode((word, bytes): SizedWord) -> GcnInstr {
    let second = (bytes == 8).then_some((word >> 32) as u32);
    GcnInstr::decode(CodeAddr(0), word as u32, second)
}

#[derive(Default)]
struct GcnTally {
    second: Option<LlvmMc>,
    compared: usize,
    instructions: usize,
    /// Words on which the two versions of LLVM disagree and we do not agree with version 14.
    disputed: usize,
    /// Instructions of code objects that encode to the same words, and that do not.
    re_encoded: (usize, usize),
    differences: Vec<(String, String, String)>,
}

impl GcnTally {
    /// Compares a code object, or the words of a text file.
    fn file(&mut self, first: &LlvmMc, path: &Path) -> anyhow::Result<()> {
        let name = path.display().to_string();
        let bytes = fs::read(path).with_context(|| name.clone())?;
        let Some(sections) = cubin::amd_code_sections(&bytes) else {
            let text = String::from_utf8(bytes).with_context(|| name.clone())?;
            let words: Result<Vec<SizedWord>, _> = text.lines().map(parse_word).collect();
            return self.words(first, &words.with_context(|| name)?);
        };
        for section in sections {
            self.code(first, &name, &section.code)?;
        }
        Ok(())
    }

    /// Compares the listing of a code section as a whole, and encodes its instructions again.
    fn code(&mut self, first: &LlvmMc, name: &str, code: &[u8]) -> anyhow::Result<()> {
        let program = GcnProgram::decode(code).map_err(|d| anyhow::anyhow!("{name}: {d}"))?;
        let theirs = first.code(code)?;
        let instrs = program.instrs.iter().filter(|instr| instr.form.is_some());
        let ours: Vec<&GcnInstr> = instrs.collect();
        self.compared += theirs.len().max(ours.len());
        self.instructions += theirs.len();
        let mut theirs = theirs.into_iter();
        let mut ours = ours.into_iter();
        loop {
            let (our, their) = (ours.next(), theirs.next());
            if our.is_none() && their.is_none() {
                return Ok(());
            }
            if let Some(instr) = our {
                let again = instr.view().and_then(|view| view.encode(instr.addr));
                match again == Some((instr.word, instr.bytes)) {
                    true => self.re_encoded.0 += 1,
                    false => self.re_encoded.1 += 1,
                }
            }
            let text = our.and_then(|instr| instr.text(TargetStyle::Hex));
            if text != their {
                let at = our.map_or(String::new(), |instr| instr.addr.to_string());
                self.difference(format!("{name} {at}"), text, their);
            }
        }
    }

    /// Compares single words: text, and number of bytes.
    fn words(&mut self, first: &LlvmMc, words: &[SizedWord]) -> anyhow::Result<()> {
        let theirs = first.words(words)?;
        let halves: Vec<SizedWord> = words.iter().map(|(word, _)| (*word, 4)).collect();
        let short = first.words(&halves)?;
        let mut doubtful = Vec::new();
        for (index, word) in words.iter().enumerate() {
            let (Some(theirs), Some(short)) = (theirs.get(index), short.get(index)) else {
                bail!("words without an answer");
            };
            self.compared += 1;
            self.instructions += usize::from(theirs.is_some());
            let ours = decode(*word);
            // An instruction of 8 bytes cannot be read from 4.
            let bytes = if short.is_some() || theirs.is_none() {
                4
            } else {
                8
            };
            if ours.text(TargetStyle::Hex) != *theirs || ours.bytes != bytes {
                doubtful.push((*word, theirs.clone(), bytes));
            }
        }
        let asked: Vec<SizedWord> = doubtful.iter().map(|(word, ..)| *word).collect();
        let second = match &self.second {
            Some(second) => second.words(&asked)?,
            None => Vec::new(),
        };
        for (index, (word, theirs, bytes)) in doubtful.into_iter().enumerate() {
            if second.get(index).is_some_and(|second| *second != theirs) {
                self.disputed += 1;
                continue;
            }
            let ours = decode(word);
            let title = format!("{:016x} {}/{bytes} bytes", word.0, ours.bytes);
            self.difference(title, ours.text(TargetStyle::Hex), theirs);
        }
        Ok(())
    }

    fn difference(&mut self, title: String, ours: Option<String>, theirs: Option<String>) {
        let shown = |text: Option<String>| text.unwrap_or_else(|| "(no instruction)".to_owned());
        self.differences.push((title, shown(ours), shown(theirs)));
    }

    fn print(&self, show: usize) {
        println!(
            "{} words compared, {} of them instructions for LLVM 14",
            self.compared, self.instructions
        );
        println!("{:>8} differ", self.differences.len());
        let second = match &self.second {
            Some(_) => "differ, and LLVM 22 differs from LLVM 14",
            None => {
                "differ, and LLVM 22 differs from LLVM 14 (not there; `cargo xtask oracle --llvm-22`)"
            }
        };
        println!("{:>8} {second}", self.disputed);
        if self.re_encoded != (0, 0) {
            let (same, other) = self.re_encoded;
            println!("{same:>8} encoded again to the same words, {other} to others");
        }
        for (title, ours, theirs) in self.differences.iter().take(show) {
            println!("{title}\n    ours   {ours}\n    theirs {theirs}");
        }
    }
}

/// Reads 8 or 16 digits; 16 have the second dword first.
fn parse_word(line: &str) -> anyhow::Result<SizedWord> {
    let digits = line.trim().trim_start_matches("0x");
    let word = u64::from_str_radix(digits, 16).with_context(|| format!("word {line:?}"))?;
    Ok((word, if digits.len() > 8 { 8 } else { 4 }))
}

/// Draws words of all forms in turn: uniform fields, fields with few bits, literals, and words with a fixed bit
/// flipped.
fn random_words(random: &mut SplitMix, count: usize) -> Vec<SizedWord> {
    let forms: Vec<(u64, u64)> = form_patterns().collect();
    let mut words = Vec::with_capacity(count);
    while words.len() < count {
        let Some((value, mask)) = forms.get(words.len() % forms.len()) else {
            break;
        };
        let mut fields = random.next();
        for _ in 0..random.next() % 3 {
            fields &= random.next();
        }
        let mut word = value | fields & !mask;
        match random.next() % 16 {
            0..2 => word ^= 1 << (random.next() % 64),
            // Literals near the ones that could be inline.
            2 => {
                let list = [
                    0,
                    5,
                    64,
                    0xffff_fff0,
                    0x3f80_0000,
                    0x3e22_f983,
                    0x3c00,
                    0x3118,
                ];
                let literal = random.choose(&list).copied().unwrap_or_default();
                if value >> 32 == 0 && mask >> 32 == 0 {
                    word = word & 0xffff_ff00 | literal << 32 | 0xff;
                    word = word & !mask | value;
                }
            }
            _ => {}
        }
        words.push((defined_selection(word), 8));
    }
    words
}

/// Replaces the selections of SDWA that do not exist, at which LLVM 14 aborts.
fn defined_selection(mut word: u64) -> u64 {
    const SDWA: u64 = 0xf9;
    if word & 0x8000_01ff == SDWA {
        for part in [40, 48, 56] {
            if word >> part & 7 == 7 {
                word ^= 1 << part;
            }
        }
        if word >> 43 & 3 == 3 {
            word ^= 1 << 43;
        }
    }
    word
}

/// Writes the answers for words of each form, and for words of own code objects.
fn record(
    repository: &Repository,
    first: &LlvmMc,
    second: &LlvmMc,
    seed: u64,
) -> anyhow::Result<()> {
    let mut own: BTreeSet<(u64, u8)> = BTreeSet::new();
    for file in code_objects(repository)? {
        let bytes = fs::read(&file).with_context(|| file.display().to_string())?;
        for section in cubin::amd_code_sections(&bytes).unwrap_or_default() {
            let program = GcnProgram::decode(&section.code).map_err(|d| anyhow::anyhow!("{d}"))?;
            let instrs = program.instrs.iter().filter(|instr| instr.form.is_some());
            own.extend(instrs.map(|instr| (instr.word, instr.bytes)));
        }
    }
    // One word of own code for each text without its numbers.
    let own: Vec<SizedWord> = own.into_iter().collect();
    let texts = first.words(&own)?;
    let mut shapes: BTreeMap<String, (SizedWord, String)> = BTreeMap::new();
    for (word, text) in own.iter().zip(texts) {
        let text = text.with_context(|| format!("LLVM rejects {:016x}", word.0))?;
        let shape: String = text.chars().filter(|c| !c.is_ascii_digit()).collect();
        shapes.entry(shape).or_insert((*word, text));
    }
    let mut out = String::from(
        "# Output of llvm-mc 14 for gfx803: the word (second dword first), its bytes, the text (`!`: no instruction).\n\
         # Written by `cargo xtask disasm-compare --gfx803 --record`. First the words of our kernels, after the empty line\n\
         # random words of each form.\n",
    );
    for (word, text) in shapes.values() {
        let _ = writeln!(out, "{:016x} {} {text}", word.0, word.1);
    }
    let words = random_words(&mut SplitMix(seed), 2 * form_patterns().count());
    let texts = first.words(&words)?;
    let halves: Vec<SizedWord> = words.iter().map(|(word, _)| (*word, 4)).collect();
    let short = first.words(&halves)?;
    let answers = words.iter().zip(texts).zip(short);
    let (mut answers, doubtful): (Vec<_>, Vec<_>) =
        answers.partition(|((word, text), _)| decode(**word).text(TargetStyle::Hex) == *text);
    // Of words on which versions of LLVM disagree, no answer is recorded.
    let asked: Vec<SizedWord> = doubtful.iter().map(|((word, _), _)| **word).collect();
    let agrees = |((_, text), _): &((_, Option<String>), _), other: &Option<String>| text == other;
    let others = second.words(&asked)?;
    let disputed = doubtful.into_iter().zip(&others);
    answers.extend(disputed.filter_map(|(answer, other)| agrees(&answer, other).then_some(answer)));
    out.push('\n');
    for (((word, _), text), short) in &answers {
        let bytes = if short.is_some() || text.is_none() {
            4
        } else {
            8
        };
        let _ = writeln!(
            out,
            "{word:016x} {bytes} {}",
            text.as_deref().unwrap_or("!")
        );
    }
    let path = repository.root().join("crates/isa/tests/data/gcn3.txt");
    fs::write(&path, out).with_context(|| path.display().to_string())?;
    println!("{} words recorded", shapes.len() + answers.len());
    Ok(())
}
