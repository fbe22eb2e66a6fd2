//! Words of 128 bits (sm_70 to sm_121), compared with the releases 12.4 and 13.5 of NVIDIA's disassembler.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::Context;
use warpbound_base::Family;
use warpbound_isa::nvidia::{Arch, Form, OperandKind, SassProgram, TargetStyle, table};

use super::{Difference, SplitMix, TextTally};
use crate::cubin;
use crate::nvdisasm::Nvdisasm;
use crate::repository::Repository;

/// Words per run of the tool.
const BATCH: usize = 30_000;

/// Control field of random words: stall 1, no scoreboards, no reuse.
const PLAIN_CONTROL: u128 = 0x7e1 << 105;

/// Bits of the control field and the two bits above it.
const CONTROL: u128 = u128::MAX << 105;

/// Guard PT, not negated.
const GUARD: u128 = 0xf000;

/// Both releases.
pub(crate) struct Oracles {
    older: Nvdisasm,
    newer: Nvdisasm,
}

impl Oracles {
    /// Finds both releases that `cargo xtask oracle` unpacked.
    pub(crate) fn find(repository: &Repository) -> anyhow::Result<Oracles> {
        Ok(Oracles {
            older: Nvdisasm::new(&repository.oracle())?,
            newer: Nvdisasm::release_13(&repository.oracle())?,
        })
    }

    /// Text of each word on an architecture.
    pub(crate) fn texts(&self, arch: Arch, words: &[u128]) -> anyhow::Result<Vec<Option<String>>> {
        let oracle = match arch.sm() {
            ..75 => &self.older,
            _ => &self.newer,
        };
        let mut texts = Vec::with_capacity(words.len());
        for some in words.chunks(BATCH) {
            texts.extend(oracle.disassemble_wide(arch.sm(), some)?);
        }
        Ok(texts)
    }
}

/// Words to compare.
pub(crate) struct WideOptions<'a> {
    /// Number of random words for each architecture; `None`: all words of the cubins.
    pub(crate) random: Option<usize>,
    /// Start of the random sequence.
    pub(crate) seed: u64,
    /// Directories with cubins.
    pub(crate) directories: &'a [PathBuf],
    /// SM number of the only architecture that is compared.
    pub(crate) only: Option<u32>,
}

/// Compares words of cubins or random words on each architecture.
pub(super) fn compare(
    repository: &Repository,
    tally: &mut TextTally,
    options: &WideOptions<'_>,
) -> anyhow::Result<()> {
    let oracles = Oracles::find(repository)?;
    let real = real_words(options.directories)?;
    let everywhere: Vec<u128> = real.values().flatten().copied().collect();
    let mut random = SplitMix(options.seed);
    for arch in Arch::of_family(Family::Volta) {
        if options
            .only
            .is_some_and(|sm| Arch::from_sm(sm) != Some(arch))
        {
            continue;
        }
        let own = real.get(&arch.sm());
        let words: Vec<u128> = match options.random {
            None => own.into_iter().flatten().copied().collect(),
            Some(count) => {
                let samples: Vec<u128> = match own {
                    Some(own) => own.iter().copied().collect(),
                    None => everywhere.clone(),
                };
                random_words(&mut random, count, arch, &samples)
            }
        };
        let before = (tally.compared, tally.differences.len());
        compare_words(&oracles, tally, arch, &words)?;
        println!(
            "sm_{}: {} words, {} differ",
            arch.sm(),
            tally.compared - before.0,
            tally.differences.len() - before.1
        );
    }
    Ok(())
}

/// Distinct words of all cubins below some directories, by SM number.
pub(crate) fn real_words(directories: &[PathBuf]) -> anyhow::Result<BTreeMap<u32, BTreeSet<u128>>> {
    let mut words: BTreeMap<u32, BTreeSet<u128>> = BTreeMap::new();
    if directories.is_empty() {
        return Ok(words);
    }
    for file in cubin::cubins_below(directories)? {
        let Some((sm, sections)) = cubin::code_sections(&cubin::read(&file)?) else {
            continue;
        };
        let Some(arch) = Arch::from_sm(sm).filter(|arch| arch.family() == Family::Volta) else {
            continue;
        };
        for section in sections {
            let (chunks, _) = section.code.as_chunks::<16>();
            let of_arch = words.entry(arch.sm()).or_default();
            of_arch.extend(chunks.iter().map(|bytes| u128::from_le_bytes(*bytes)));
        }
    }
    Ok(words)
}

/// Compares words, each at an address of its own.
fn compare_words(
    oracles: &Oracles,
    tally: &mut TextTally,
    arch: Arch,
    words: &[u128],
) -> anyhow::Result<()> {
    for some in words.chunks(BATCH) {
        let theirs = oracles.texts(arch, some)?;
        let ours = our_texts(arch, some)?;
        for (at, ((ours, theirs), word)) in ours.into_iter().zip(theirs).zip(some).enumerate() {
            tally.compared += 1;
            tally.legal += usize::from(theirs.is_some());
            if ours != theirs {
                tally.differences.push(Difference {
                    title: "word".to_owned(),
                    sm: arch.sm(),
                    address: u32::try_from(16 * at)?,
                    word: *word,
                    ours,
                    theirs,
                });
            }
        }
    }
    Ok(())
}

/// Our text of each word, at the address 16 times its index; `None` for a word that is no instruction.
pub(crate) fn our_texts(arch: Arch, words: &[u128]) -> anyhow::Result<Vec<Option<String>>> {
    let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let program = SassProgram::decode(arch, &code).context("words of 128 bits")?;
    let texts = program.instrs.iter();
    Ok(texts
        .map(|instr| program.text(instr, TargetStyle::Hex))
        .collect())
}

/// Draws words: of every form with random fields, and real ones with a few bits changed. Only unconditional words with
/// a plain control field, and a part of them with a guard.
fn random_words(random: &mut SplitMix, count: usize, arch: Arch, samples: &[u128]) -> Vec<u128> {
    let forms: Vec<&Form> = table(arch)
        .forms()
        .map(|(_, form)| form)
        .filter(|form| form.exists_on(arch) && form.is_instruction())
        .collect();
    (0..count)
        .map(|_| {
            let real = random.next().is_multiple_of(2);
            let word = match (real, random.choose(samples), random.choose(&forms)) {
                (true, Some(sample), _) => {
                    let mut word = *sample;
                    for _ in 0..1 + random.next() % 4 {
                        word ^= 1 << (random.next() % 105);
                    }
                    word
                }
                (_, _, Some(form)) => word_of_form(random, form),
                _ => u128::from(random.next()) << 64 | u128::from(random.next()),
            };
            let word = word & !CONTROL | PLAIN_CONTROL;
            match random.next() % 4 {
                0 => word,
                _ => word & !GUARD | 0x7000,
            }
        })
        .collect()
}

/// Draws the free bits of a form: modifiers few at a time, because most rare combinations are not legal, and operands
/// at will.
pub(crate) fn word_of_form(random: &mut SplitMix, form: &Form) -> u128 {
    let wide = |random: &mut SplitMix| u128::from(random.next()) << 64 | u128::from(random.next());
    let sparse = match random.next() % 3 {
        0 => wide(random),
        1 => wide(random) & wide(random),
        _ => wide(random) & wide(random) & wide(random),
    };
    let mut word = form.value | sparse & !form.mask;
    for operand in form.operand_bits() {
        let value = match (random.next() % 6, operand.kind) {
            (0, _) => u64::MAX,
            (1, OperandKind::Predicate) => 7,
            _ => random.next(),
        };
        word = operand.put(word, value);
    }
    let word = word & !form.mask | form.value;
    match random.next() % 16 {
        // A bit of the fixed part, to find masks with too many bits.
        0 => word ^ 1 << (random.next() % 105),
        _ => word,
    }
}
