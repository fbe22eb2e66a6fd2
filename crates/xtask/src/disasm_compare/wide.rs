//! Words of 128 bits (sm_70 to sm_121), compared with the releases 12.4 and 13.5 of NVIDIA's disassembler.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::thread;

use anyhow::{Context, anyhow};
use warpbound_base::Family;
use warpbound_isa::nvidia::{Arch, Form, OperandKind, SassProgram, TargetStyle, table};

use super::{Difference, SplitMix, TextTally};
use crate::cubin;
use crate::nvdisasm::Nvdisasm;
use crate::repository::Repository;

/// Words per run of the tool.
const BATCH: usize = 30_000;

/// For each row, number of words that are asked although the tool stops at them.
const STOPS: usize = 10;

/// Control field of words that are compared for their texts: stall 1, no scoreboards, no reuse.
const PLAIN_CONTROL: u128 = 0x7e1 << 105;

/// Bits of the control field and the two bits above it.
const CONTROL: u128 = u128::MAX << 105;

/// Guard PT, not negated.
const ALWAYS: u128 = 0x7000;

/// Bits of the guard and its negation.
const GUARD: u128 = 0xf000;

/// The word with a plain control field.
pub(crate) fn with_plain_control(word: u128) -> u128 {
    word & !CONTROL | PLAIN_CONTROL
}

/// The word without a condition.
pub(crate) fn without_guard(word: u128) -> u128 {
    word & !GUARD | ALWAYS
}

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

    /// Text of each word on an architecture, at an address of its own in each batch.
    pub(crate) fn texts(&self, arch: Arch, words: &[u128]) -> anyhow::Result<Vec<Option<String>>> {
        let oracle = match arch.sm() {
            ..75 => &self.older,
            _ => &self.newer,
        };
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let batches: Vec<&[u128]> = words.chunks(BATCH).collect();
        let mut texts = Vec::with_capacity(words.len());
        for some in batches.chunks(cores) {
            let found: Vec<anyhow::Result<_>> = thread::scope(|scope| {
                let ask = |batch| scope.spawn(move || oracle.disassemble_wide(arch.sm(), batch));
                let runs: Vec<_> = some.iter().copied().map(ask).collect();
                let failed = || Err(anyhow!("a thread failed"));
                let found = runs.into_iter();
                found
                    .map(|run| run.join().unwrap_or_else(|_| failed()))
                    .collect()
            });
            for batch in found {
                texts.extend(batch?);
            }
        }
        Ok(texts)
    }
}

/// Words to compare.
pub(crate) struct WideOptions<'a> {
    /// Number of random words for each architecture; `None`: all words of the cubins.
    pub(crate) random: Option<usize>,
    /// Whether all random words are words of the cubins with one to three bits changed.
    pub(crate) changed: bool,
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
                let source = Source {
                    accepted: match options.changed {
                        true => Vec::new(),
                        false => accepted_opcodes(&oracles, arch)?,
                    },
                    forms: forms_of(arch),
                    samples,
                    changed: options.changed,
                    ignored: ignored_bits(arch),
                };
                (0..count).map(|_| source.draw(&mut random)).collect()
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

/// Distinct words of cubins and of all cubins below some directories, by SM number.
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
    let (asked, left_out) = without_most_stops(arch, words);
    if left_out > 0 {
        println!(
            "sm_{}: {left_out} more words like those at which nvdisasm stops are not instructions for us; \
             it was not asked",
            arch.sm()
        );
    }
    // The tool lists nothing if it rejects one word: words that it rejects need one run, mixed batches two.
    let ours = our_texts(arch, &asked)?;
    let (accepted, rejected): (Vec<_>, Vec<_>) = asked
        .into_iter()
        .zip(ours)
        .partition(|(_, text)| text.is_some());
    for words in [accepted, rejected] {
        let words: Vec<u128> = words.into_iter().map(|(word, _)| word).collect();
        let theirs = oracles.texts(arch, &words)?;
        for (some, theirs) in words.chunks(BATCH).zip(theirs.chunks(BATCH)) {
            let ours = our_texts(arch, some)?;
            compare_batch(tally, arch, some, &ours, theirs)?;
        }
    }
    Ok(())
}

/// Compares the texts of a batch.
fn compare_batch(
    tally: &mut TextTally,
    arch: Arch,
    words: &[u128],
    ours: &[Option<String>],
    theirs: &[Option<String>],
) -> anyhow::Result<()> {
    for (at, ((ours, theirs), word)) in ours.iter().zip(theirs).zip(words).enumerate() {
        tally.compared += 1;
        tally.legal += usize::from(theirs.is_some());
        if ours != theirs {
            tally.differences.push(Difference {
                title: "word".to_owned(),
                sm: arch.sm(),
                address: u32::try_from(16 * at)?,
                word: *word,
                ours: ours.clone(),
                theirs: theirs.clone(),
            });
        }
    }
    Ok(())
}

/// The words without most of those at which the disassembler stops according to their rows (`ambiguous:`), and how many
/// these are. Each costs two runs of the tool.
fn without_most_stops(arch: Arch, words: &[u128]) -> (Vec<u128>, usize) {
    let stopping: Vec<&Form> = table(arch)
        .forms()
        .map(|(_, form)| form)
        .filter(|form| form.exists_on(arch) && form.has_ambiguous_words())
        .collect();
    let mut left = STOPS * stopping.len();
    let mut is_left_out = |word: u128| {
        let stops = stopping.iter().any(|form| form.is_ambiguous(word))
            && table(arch).find(arch, word).is_none();
        if stops && left > 0 {
            left -= 1;
            return false;
        }
        stops
    };
    let mut asked = words.to_vec();
    asked.retain(|word| !is_left_out(*word));
    let left_out = words.len() - asked.len();
    (asked, left_out)
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

/// Rows of an architecture that are instructions.
pub(super) fn forms_of(arch: Arch) -> Vec<&'static Form> {
    table(arch)
        .forms()
        .map(|(_, form)| form)
        .filter(|form| form.exists_on(arch) && form.is_instruction())
        .collect()
}

/// Words that have only an opcode and that the disassembler accepts. They reach instructions without a row.
pub(super) fn accepted_opcodes(oracles: &Oracles, arch: Arch) -> anyhow::Result<Vec<u128>> {
    /// Values of bits 11:0 and 91.
    const OPCODES: u128 = 1 << 13;
    let words: Vec<u128> = (0..OPCODES)
        .map(|opcode| opcode & 0xfff | (opcode >> 12) << 91 | PLAIN_CONTROL | ALWAYS)
        .collect();
    let texts = oracles.texts(arch, &words)?;
    let accepted = words.into_iter().zip(texts);
    Ok(accepted
        .filter_map(|(word, text)| text.map(|_| word))
        .collect())
}

/// Draws words of the forms of an architecture and real ones with a few bits changed.
pub(crate) fn random_words(
    random: &mut SplitMix,
    count: usize,
    arch: Arch,
    samples: &[u128],
) -> Vec<u128> {
    let source = Source {
        accepted: Vec::new(),
        forms: forms_of(arch),
        samples: samples.to_vec(),
        changed: false,
        ignored: ignored_bits(arch),
    };
    (0..count).map(|_| source.draw(random)).collect()
}

/// Bits that an architecture ignores. Volta has no uniform datapath, whose opcodes need bit 91.
fn ignored_bits(arch: Arch) -> u128 {
    u128::from(arch.sm() < 75) << 91
}

/// Sources of random words.
struct Source {
    /// Opcodes that the disassembler accepts.
    accepted: Vec<u128>,
    forms: Vec<&'static Form>,
    /// Words of cubins.
    samples: Vec<u128>,
    /// Whether only words of cubins are changed, in one to three bits.
    changed: bool,
    /// Bits that the architecture ignores; a row has one value of them, and compilers emit no other.
    ignored: u128,
}

impl Source {
    /// Draws a word: a real one or an accepted opcode with a few bits changed, or one of a form with random fields.
    /// Only words with a plain control field, and a part of them with a guard.
    fn draw(&self, random: &mut SplitMix) -> u128 {
        let kind = if self.changed { 0 } else { random.next() % 5 };
        let most = if self.changed { 3 } else { 4 };
        let word = match kind {
            0 | 1 => random
                .choose(&self.samples)
                .map(|sample| with_bits_changed(random, *sample, most)),
            2 => random
                .choose(&self.accepted)
                .map(|opcode| with_bits_changed(random, *opcode, 8)),
            _ => random
                .choose(&self.forms)
                .map(|form| word_of_form(random, form)),
        };
        let word = with_plain_control(word.unwrap_or_else(|| wide(random))) & !self.ignored;
        match random.next() % 4 {
            0 => word,
            _ => without_guard(word),
        }
    }
}

/// Random bits.
fn wide(random: &mut SplitMix) -> u128 {
    u128::from(random.next()) << 64 | u128::from(random.next())
}

/// Changes one to `most` bits below the control field.
pub(super) fn with_bits_changed(random: &mut SplitMix, word: u128, most: u64) -> u128 {
    let count = 1 + random.next() % most;
    (0..count).fold(word, |word, _| word ^ 1 << (random.next() % 105))
}

/// Draws the free bits of a form: modifiers few at a time, because most rare combinations are not legal, and operands
/// at will.
pub(crate) fn word_of_form(random: &mut SplitMix, form: &Form) -> u128 {
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
