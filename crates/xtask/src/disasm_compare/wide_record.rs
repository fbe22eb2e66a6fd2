//! Record of the output of NVIDIA's disassembler for a selection of words of 128 bits, in a file that a test reads.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use warpbound_base::Family;
use warpbound_isa::nvidia::{Arch, table};

use super::SplitMix;
use super::wide::{
    Oracles, accepted_opcodes, forms_of, real_words, with_bits_changed, with_plain_control,
    without_guard, word_of_form,
};
use crate::repository::Repository;

/// Path of the record, relative to the root of the repository.
const RECORD: &str = "crates/isa/tests/data/wide_spelling.txt";

/// Words of cubins for each row and architecture.
const REAL: usize = 2;

/// Random words of each row.
const RANDOM: usize = 2;

/// Writes what the disassembler prints for a selection of words on every architecture that has rows. All
/// architectures have the same words at the same addresses.
pub(super) fn run(
    repository: &Repository,
    directories: &[PathBuf],
    seed: u64,
) -> anyhow::Result<()> {
    let oracles = Oracles::find(repository)?;
    let archs: Vec<Arch> = Arch::of_family(Family::Volta)
        .filter(|arch| !forms_of(*arch).is_empty())
        .collect();
    let words: Vec<u128> = selection(&oracles, &archs, directories, seed)?
        .into_iter()
        .collect();
    let mut texts = Vec::new();
    for arch in &archs {
        texts.push(oracles.texts(*arch, &words)?);
    }
    let mut out = String::from(
        "# Output of nvdisasm 13.5, and of 12.4 for sm_70 and sm_72: address, word, architectures, text (`!`: no\n\
         # instruction). Written by `cargo xtask disasm-compare --wide --record DIRECTORY...`.\n",
    );
    for (index, word) in words.iter().enumerate() {
        let mut by_text: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (arch, texts) in archs.iter().zip(&texts) {
            let text = texts.get(index).and_then(Option::as_deref);
            let of_text = by_text.entry(text.unwrap_or("!")).or_default();
            of_text.push(arch.sm().to_string());
        }
        for (text, archs) in by_text {
            let archs = archs.join(",");
            writeln!(out, "{:05x} {word:032x} {archs} {text}", 16 * index)?;
        }
    }
    fs::write(repository.root().join(RECORD), &out)
        .with_context(|| format!("cannot write {RECORD}"))?;
    println!("{RECORD}: {} words, {} bytes", words.len(), out.len());
    Ok(())
}

/// Selects words of cubins, random words of every row, and opcodes that the disassembler accepts with a few bits set.
fn selection(
    oracles: &Oracles,
    archs: &[Arch],
    directories: &[PathBuf],
    seed: u64,
) -> anyhow::Result<BTreeSet<u128>> {
    let mut random = SplitMix(seed);
    let mut words = BTreeSet::new();
    for (sm, real) in real_words(directories)? {
        let arch = Arch::from_sm(sm).with_context(|| format!("no table for sm_{sm}"))?;
        let mut of_row: BTreeMap<_, usize> = BTreeMap::new();
        for word in real {
            let count = of_row.entry(table(arch).find(arch, word)).or_default();
            *count += 1;
            if *count <= REAL {
                words.insert(word);
            }
        }
    }
    for (_, form) in table(Arch::Sm90).forms() {
        if form.is_instruction() {
            for _ in 0..RANDOM {
                words.insert(without_guard(with_plain_control(word_of_form(
                    &mut random,
                    form,
                ))));
            }
        }
    }
    let mut opcodes = BTreeSet::new();
    for arch in archs {
        opcodes.extend(accepted_opcodes(oracles, *arch)?);
    }
    for opcode in opcodes {
        words.insert(with_plain_control(with_bits_changed(
            &mut random,
            opcode,
            4,
        )));
    }
    // The tool names no address for a word whose low half is 0.
    words.retain(|word| *word as u64 != 0);
    Ok(words)
}
