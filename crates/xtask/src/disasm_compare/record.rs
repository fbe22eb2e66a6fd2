//! Record of the output of nvdisasm for a selection of words, in a file that a test reads.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;
use std::fs;

use anyhow::Context;
use warpbound_base::Family;
use warpbound_isa::nvidia::{Arch, FormId, SassInstr, SassProgram, TargetStyle, table};

use super::random::{SplitMix, random_fields};
use super::{FILLERS, KernelCode, PLAIN_CONTROL, Slotted, opcode_with_modifiers};
use crate::nvdisasm::Nvdisasm;
use crate::repository::Repository;

/// Path of the record, relative to the root of the repository.
const RECORD: &str = "crates/isa/tests/data/spelling.txt";

/// Maximum number of recorded words of one form from kernels.
const RECORDED_FROM_KERNELS: usize = 80;

/// Number of random words recorded of every form.
const RECORDED_RANDOM: usize = 6;

/// Maximum number of random draws to find them.
const MAX_DRAWS: usize = 200;

/// Number of random words recorded for every opcode with modifiers that occurs in other cubins.
const RECORDED_LIKE_OTHERS: usize = 2;

/// Writes the output of nvdisasm for a selection of words on every architecture.
///
/// The words are laid out in sequence, so that each has an address of its own.
pub(super) fn run(
    repository: &Repository,
    nvdisasm: &Nvdisasm,
    kernels: &[KernelCode],
    seen: &BTreeMap<u32, HashSet<Slotted>>,
    seed: u64,
) -> anyhow::Result<()> {
    let words = selection(kernels, seen, seed)?;
    let code = layout(&words);
    let mut texts: Vec<BTreeMap<u32, Option<String>>> = Vec::new();
    for arch in Arch::of_family(Family::Maxwell) {
        texts.push(nvdisasm.disassemble(arch.sm(), &code)?);
    }
    let mut out = String::from(
        "# Output of nvdisasm 12.4: address, word, bits 19:17 of the control slot, architectures,\n\
         # text (`!`: no instruction). Written by `cargo xtask disasm-compare --record DIRECTORY...`.\n",
    );
    for (index, (word, reuse)) in words.iter().enumerate() {
        let address = slot_address(index)?;
        let mut by_text: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (arch, texts) in Arch::of_family(Family::Maxwell).zip(&texts) {
            let text = texts
                .get(&address)
                .with_context(|| format!("nvdisasm lists nothing at {address:#x}"))?;
            by_text
                .entry(text.as_deref().unwrap_or("!"))
                .or_default()
                .push(arch.sm().to_string());
        }
        for (text, archs) in by_text {
            let archs = match archs.len() {
                4 => "all".to_owned(),
                _ => archs.join(","),
            };
            writeln!(out, "{address:05x} {word:016x} {reuse} {archs} {text}")?;
        }
    }
    let path = repository.root().join(RECORD);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create the folder of {RECORD}"))?;
    }
    fs::write(&path, &out).with_context(|| format!("cannot write {RECORD}"))?;
    println!("{RECORD}: {} words, {} bytes", words.len(), out.len());
    Ok(())
}

/// Selects, for every form, words of kernels and random words, in a fixed order.
fn selection(
    kernels: &[KernelCode],
    seen: &BTreeMap<u32, HashSet<Slotted>>,
    seed: u64,
) -> anyhow::Result<Vec<Slotted>> {
    let mut by_form: BTreeMap<FormId, BTreeSet<Slotted>> = BTreeMap::new();
    for (title, sm, code) in kernels {
        let arch = Arch::from_sm(*sm).with_context(|| format!("no tables for sm_{sm}"))?;
        let program = SassProgram::decode(arch, code).with_context(|| title.clone())?;
        for instr in &program.instrs {
            let form = instr
                .form
                .with_context(|| format!("{title}: no instruction at {:#x}", instr.addr.0))?;
            by_form
                .entry(form)
                .or_default()
                .insert((instr.word as u64, instr.control.reuse));
        }
    }
    let mut random = SplitMix(seed);
    let mut selected = BTreeSet::new();
    let table = table(Arch::Sm61);
    for (id, form) in table.forms() {
        let known: Vec<Slotted> = by_form
            .remove(&id)
            .unwrap_or_default()
            .into_iter()
            .collect();
        let step = known.len().div_ceil(RECORDED_FROM_KERNELS).max(1);
        selected.extend(known.into_iter().step_by(step));
        // A more specific row may match a word of this form.
        let is_of_form = |word: &u64| {
            !form.is_instruction()
                || Arch::of_family(Family::Maxwell)
                    .any(|arch| table.find(arch, (*word).into()) == Some(id))
        };
        let words = std::iter::repeat_with(|| {
            let word = form.value as u64 | random_fields(&mut random) & !form.mask as u64;
            (word, (random.next() % 8) as u8)
        });
        selected.extend(
            words
                .take(MAX_DRAWS)
                .filter(|(word, _)| is_of_form(word))
                .take(RECORDED_RANDOM),
        );
    }
    for (sm, words) in seen {
        let arch = Arch::from_sm(*sm).with_context(|| format!("no tables for sm_{sm}"))?;
        selected.extend(words_like_others(arch, words, &mut random)?);
    }
    selected.retain(|(word, _)| !FILLERS.contains(word));
    Ok(selected.into_iter().collect())
}

/// Draws random words with the opcodes and modifiers of given words.
fn words_like_others(
    arch: Arch,
    words: &HashSet<Slotted>,
    random: &mut SplitMix,
) -> anyhow::Result<Vec<Slotted>> {
    let spell = WordDisassembler::new(arch)?;
    // The smallest word of each text, so that the choice does not depend on the order of the set.
    let mut examples: BTreeMap<(FormId, String), u64> = BTreeMap::new();
    for &(word, _) in words {
        if let Some(key) = spell.key(word) {
            let smallest = examples.entry(key).or_insert(word);
            *smallest = word.min(*smallest);
        }
    }
    let mut alike = Vec::new();
    for (key, word) in examples {
        let fixed = (0..64)
            .map(|bit| 1 << bit)
            .filter(|bit| spell.key(word ^ bit).as_ref() != Some(&key))
            .fold(0u64, |bits, bit| bits | bit);
        let draws = std::iter::repeat_with(|| {
            (
                word & fixed | random_fields(random) & !fixed,
                (random.next() % 8) as u8,
            )
        });
        alike.extend(
            draws
                .take(MAX_DRAWS)
                .filter(|(word, _)| spell.key(*word).as_ref() == Some(&key))
                .take(RECORDED_LIKE_OTHERS),
        );
    }
    Ok(alike)
}

/// Disassembler of single words at a fixed address.
struct WordDisassembler {
    program: SassProgram,
    place: SassInstr,
}

impl WordDisassembler {
    fn new(arch: Arch) -> anyhow::Result<Self> {
        let program = SassProgram::decode(arch, &layout(&[(0, 0)]))?;
        let place = *program.instrs.first().context("three instructions")?;
        Ok(Self { program, place })
    }

    /// Returns form, opcode and modifiers; `None` for a word that is not an instruction.
    fn key(&self, word: u64) -> Option<(FormId, String)> {
        let arch = self.program.arch();
        let form = table(arch).find(arch, word.into())?;
        let instr = SassInstr {
            word: word.into(),
            form: Some(form),
            ..self.place
        };
        let text = self.program.text(&instr, TargetStyle::Hex)?;
        Some((form, opcode_with_modifiers(&text).to_owned()))
    }
}

/// Encodes words in whole groups, padded with zero words.
pub(crate) fn layout(words: &[Slotted]) -> Vec<u8> {
    let mut code = Vec::with_capacity(words.len().div_ceil(3) * 32);
    for group in words.chunks(3) {
        let reuse = (0u32..).zip(group).fold(0, |bits, (slot, (_, reuse))| {
            bits | u64::from(*reuse) << (17 + 21 * slot)
        });
        code.extend_from_slice(&(PLAIN_CONTROL | reuse).to_le_bytes());
        for slot in 0..3 {
            let word = group.get(slot).map_or(0, |(word, _)| *word);
            code.extend_from_slice(&word.to_le_bytes());
        }
    }
    code
}

/// Returns the address of instruction `index`.
fn slot_address(index: usize) -> anyhow::Result<u32> {
    u32::try_from(index / 3 * 32 + index % 3 * 8 + 8).context("too many words")
}
