//! `cargo xtask probe-encodings --learn`: rows of opcodes, learned from a disassembler.
//!
//! Learning begins with legal words of an opcode (`seeds.rs`). Flipping their bits shows which part of the text each
//! bit changes (`influence.rs`). From that follow fields of numbers (`fields.rs`), lists of texts (`partition.rs`,
//! `tabulate.rs`), operands that are left out (`hiding.rs`) and values that are not an instruction. The result is
//! spelled as a row (`spell.rs`), which the table's own reader applies to other words; where the texts differ, the
//! hypothesis is corrected (`refine.rs`), or the words are divided into several rows (`row.rs`). Rows of several chips
//! are folded into one with a column of chips (`fold.rs`).

mod agreement;
mod answers;
mod conditions;
mod fields;
mod fold;
mod frame;
mod hiding;
mod influence;
mod lists;
mod model;
mod partition;
mod printed;
mod refine;
mod row;
mod seeds;
mod spell;
mod tabulate;
#[cfg(test)]
mod tests;
mod together;
mod use_of_control;
mod word_bits;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::Context;
use warpbound_base::Family;
use warpbound_isa::nvidia::{Arch, ProposedRows};

use crate::disasm_compare::{Oracles, SplitMix};
use crate::repository::Repository;
use agreement::Agreement;
use answers::{Answers, Disassembler};
use influence::Scope;
use lists::{KnownLists, NamedLists};
use row::Learner;
use seeds::Seeds;
use spell::SpelledRow;
use together::Together;

/// Opcode bits: 11:0 and 91.
const OPCODE: u128 = 0xfff | 1 << 91;

/// Opcodes that are learned at the same time, each in a thread that mostly waits.
const THREADS: usize = 128;

/// Opcodes, chips and words of one run of the learner.
pub(super) struct LearnOptions {
    /// Opcodes: bits 11:0 and, as bit 12, bit 91.
    pub(super) opcodes: Vec<u32>,
    /// Chips.
    pub(super) archs: Vec<Arch>,
    /// Directories with cubins whose words are tried, too.
    pub(super) directories: Vec<PathBuf>,
    /// Random words for the comparison of each opcode.
    pub(super) words: usize,
    /// Differences to print for each opcode.
    pub(super) show: usize,
    /// File for the rows; lists are written beside it.
    pub(super) into: Option<PathBuf>,
}

/// Rows of an opcode on a chip.
struct Learned {
    opcode: u32,
    rows: Vec<SpelledRow>,
    doubts: Vec<String>,
    agreement: Agreement,
    seconds: u64,
}

/// Learns rows, prints them with their agreement, and writes them.
pub(super) fn run(
    repository: &Repository,
    oracles: &Oracles,
    options: &LearnOptions,
) -> anyhow::Result<()> {
    let names = repository.root().join("isa/nvidia/volta.names");
    let names = fs::read_to_string(&names).context("isa/nvidia/volta.names")?;
    let all: Vec<u32> = Arch::of_family(Family::Volta).map(Arch::sm).collect();
    let known = KnownLists::read(&names, &all);
    let mut rows: BTreeMap<u32, Vec<SpelledRow>> = BTreeMap::new();
    for &arch in &options.archs {
        let seeds = Seeds::read(&options.directories, arch)?;
        for learned in learn_all(oracles, arch, &seeds, options)? {
            rows.entry(arch.sm()).or_default().extend(learned.rows);
        }
    }
    let mut lists = NamedLists::new(&known);
    let lines = fold::lines(&rows, &all, &mut lists);
    let rows = lines.join("\n") + "\n";
    match &options.into {
        Some(file) => {
            fs::write(file, rows).with_context(|| file.display().to_string())?;
            let file = file.with_extension("names");
            fs::write(&file, lists.lines()).with_context(|| file.display().to_string())?;
        }
        None => print!("{rows}\n{}", lists.lines()),
    }
    Ok(())
}

/// Learns the rows of all wanted opcodes of a chip, many at the same time.
fn learn_all(
    oracles: &Oracles,
    arch: Arch,
    seeds: &Seeds,
    options: &LearnOptions,
) -> anyhow::Result<Vec<Learned>> {
    let threads = options.opcodes.len().min(THREADS);
    let together = Together::new(oracles, arch, threads);
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    let work = || {
        let asker = together.asker();
        while let Some(&opcode) = options.opcodes.get(next.fetch_add(1, Ordering::Relaxed)) {
            let learned = learn(&asker, arch, opcode, seeds, options.words);
            if let Ok(learned) = &learned {
                report(arch, learned, options.show);
            }
            if let Ok(mut results) = results.lock() {
                results.push(learned);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let results = results.into_inner().unwrap_or_default();
    let mut learned = results
        .into_iter()
        .collect::<anyhow::Result<Vec<Learned>>>()?;
    learned.sort_by_key(|learned| learned.opcode);
    Ok(learned)
}

/// Learns the rows of an opcode.
fn learn(
    disassembler: &dyn Disassembler,
    arch: Arch,
    opcode: u32,
    seeds: &Seeds,
    words: usize,
) -> anyhow::Result<Learned> {
    let start = Instant::now();
    let mut random = SplitMix(u64::from(opcode));
    let seeds = seeds.of(&mut random, opcode, arch);
    let (rows, doubts) = learn_from(disassembler, arch, opcode, &seeds, random)?;
    let reader = read_all(arch, &rows)?;
    let agreement = agreement::measure(disassembler, arch, opcode, &reader, words)?;
    Ok(Learned {
        opcode,
        rows,
        doubts,
        agreement,
        seconds: start.elapsed().as_secs(),
    })
}

/// Rows of an opcode from words that may be legal, and what was given up.
fn learn_from(
    disassembler: &dyn Disassembler,
    arch: Arch,
    opcode: u32,
    seeds: &[u128],
    random: SplitMix,
) -> anyhow::Result<(Vec<SpelledRow>, Vec<String>)> {
    let uniform_zero = match arch.sm() {
        ..100 => 63,
        _ => 255,
    };
    let mut learner = Learner {
        answers: Answers::new(disassembler, uniform_zero),
        random,
        arch,
        doubts: Vec::new(),
    };
    learner.answers.begin(seeds)?;
    let scope = Scope {
        mask: OPCODE,
        value: super::word_of_opcode(opcode) & OPCODE,
    };
    let rows = learner.rows(scope, 0, None)?;
    Ok((fold::join_halves(rows), learner.doubts))
}

/// Reads the rows of an opcode with lists of their own.
fn read_all(arch: Arch, rows: &[SpelledRow]) -> anyhow::Result<ProposedRows> {
    let known = KnownLists::read("", &[]);
    let mut names = NamedLists::new(&known);
    let rows = BTreeMap::from([(arch.sm(), rows.to_vec())]);
    let all: Vec<u32> = Arch::of_family(Family::Volta).map(Arch::sm).collect();
    let lines = fold::lines(&rows, &all, &mut names).join("\n");
    let lists = format!(
        "timing unknown scoreboard_rw 0 - - none other\n{}",
        names.lines()
    );
    ProposedRows::read(arch, &lines, &lists).map_err(anyhow::Error::msg)
}

fn report(arch: Arch, learned: &Learned, show: usize) {
    let agreement = &learned.agreement;
    if learned.rows.is_empty() && agreement.legal == 0 {
        return;
    }
    println!(
        "sm_{} {:#06x}: {} rows in {} s; of {} random words, {} of them legal, the learned rows agree on {}, the table on {}",
        arch.sm(),
        learned.opcode,
        learned.rows.len(),
        learned.seconds,
        agreement.words,
        agreement.legal,
        agreement.learned,
        agreement.table
    );
    for (mask, value, words, equal) in &agreement.rows {
        println!("    {value:032x}/{mask:032x} {equal} of {words}");
    }
    for doubt in &learned.doubts {
        println!("    {doubt}");
    }
    for differing in agreement.differing.iter().take(show) {
        println!(
            "    {:032x}\n        ours   {}\n        theirs {}",
            differing.word,
            differing.ours.as_deref().unwrap_or("(no instruction)"),
            differing.theirs.as_deref().unwrap_or("(rejected)")
        );
    }
}
