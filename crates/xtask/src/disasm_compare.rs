//! `cargo xtask disasm-compare`: our disassembly against NVIDIA's, word by word.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, bail};
use warpbound_isa::nvidia::{Arch, Form, FormId, Program, TargetStyle, table};
use warpbound_load::Image;

use crate::nvdisasm::Nvdisasm;
use crate::repository::{Repository, files_with_extension};

pub(crate) const HELP: &str = "\
usage: cargo xtask disasm-compare [--random COUNT] [--seed NUMBER] [--show COUNT]
       cargo xtask disasm-compare --record

Disassembles every instruction of kernels/built with this project's tables and with oracle/bin/nvdisasm and
compares the texts. Prints counts and the first differences; fails if there is a difference.

  --random COUNT   instead: COUNT random words for each architecture: uniform ones, words of our kernels
                   with a few bits changed, and words of every encoding form with random fields
  --seed NUMBER    start of the random sequence (1)
  --show COUNT     how many differences to print (20)
  --record         compare nothing, but write what nvdisasm prints for a selection of words to
                   crates/isa/tests/data/spelling.txt, which a test reads";

/// Where the selection goes, below the root of the repository.
const RECORD: &str = "crates/isa/tests/data/spelling.txt";

/// Of the words of one form that occur in kernels, how many are recorded.
const RECORDED_FROM_KERNELS: usize = 80;

/// Random words recorded of every form.
const RECORDED_RANDOM: usize = 6;

/// How many random words are drawn at most to find those.
const TRIES: usize = 200;

/// Words that nvdisasm calls NOP without a guard, whatever the instruction set says about them; no compiler
/// writes them and we do not follow.
const FILLERS: [u64; 2] = [0, 1 << 63];

/// Words per run of nvdisasm in random mode.
const BATCH: usize = 30_000;

/// A control word whose slots say nothing special (issue distance 15, no scoreboards, no reuse).
const PLAIN_CONTROL: u64 = 0x7ef | 0x7ef << 21 | 0x7ef << 42;

/// The bits of the slots that may show in the text: operand reuse, texture phase.
const SPELLED_CONTROL: u64 = 0xe_0000 | 0xe_0000 << 21 | 0xe_0000 << 42;

struct Options {
    random: Option<usize>,
    seed: u64,
    show: usize,
    record: bool,
}

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let options = parse(arguments)?;
    let nvdisasm = Nvdisasm::new(&repository.oracle())?;
    let kernels = built_code(repository)?;
    if options.record {
        return record(repository, &nvdisasm, &kernels, options.seed);
    }
    let mut tally = Tally::default();
    match options.random {
        None => {
            for (title, sm, code) in &kernels {
                compare(&nvdisasm, &mut tally, title, *sm, code)?;
            }
        }
        Some(count) => {
            let samples: Vec<u64> = kernels
                .iter()
                .flat_map(|(_, _, code)| instruction_words(code))
                .collect();
            let mut random = SplitMix(options.seed);
            for arch in Arch::ALL {
                let forms: Vec<&Form> = table()?
                    .forms()
                    .map(|(_, form)| form)
                    .filter(|form| form.exists_on(arch))
                    .collect();
                let mut left = count;
                while left > 0 {
                    let batch = left.min(BATCH);
                    let code = random_code(&mut random, batch, &samples, &forms);
                    compare(&nvdisasm, &mut tally, "random words", arch.sm(), &code)?;
                    left -= batch;
                }
            }
        }
    }
    tally.print(options.show);
    if tally.differences.is_empty() {
        Ok(())
    } else {
        bail!(
            "{} of {} words differ",
            tally.differences.len(),
            tally.compared
        )
    }
}

fn parse(arguments: &[String]) -> anyhow::Result<Options> {
    let mut options = Options {
        random: None,
        seed: 1,
        show: 20,
        record: false,
    };
    let mut arguments = arguments.iter();
    while let Some(flag) = arguments.next() {
        let mut number = || -> anyhow::Result<u64> {
            let text = arguments
                .next()
                .with_context(|| format!("{flag} needs a number"))?;
            text.parse()
                .with_context(|| format!("{flag} needs a number, not {text:?}"))
        };
        match flag.as_str() {
            "--random" => options.random = Some(usize::try_from(number()?)?),
            "--seed" => options.seed = number()?,
            "--show" => options.show = usize::try_from(number()?)?,
            "--record" => options.record = true,
            other => bail!("disasm-compare does not know the argument {other:?}"),
        }
    }
    Ok(options)
}

/// Title, SM number and code of a kernel.
type KernelCode = (String, u32, Vec<u8>);

/// Every kernel in kernels/built.
fn built_code(repository: &Repository) -> anyhow::Result<Vec<KernelCode>> {
    let mut kernels = Vec::new();
    for file in files_with_extension(&repository.built_kernels(), "cubin")? {
        let name = file
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        let bytes = fs::read(&file).with_context(|| format!("cannot read {name}"))?;
        let image = Image::parse(&bytes).with_context(|| name.clone())?;
        let sm = u32::from(image.sm().number);
        let found = image.kernels().with_context(|| name.clone())?;
        for kernel in found {
            kernels.push((
                format!("{name} {}", kernel.name),
                sm,
                kernel.code().to_vec(),
            ));
        }
    }
    Ok(kernels)
}

/// The instruction words of a code section, control words left out.
fn instruction_words(code: &[u8]) -> Vec<u64> {
    let (words, _) = code.as_chunks::<8>();
    words
        .iter()
        .enumerate()
        .filter(|(position, _)| position % 4 != 0)
        .map(|(_, bytes)| u64::from_le_bytes(*bytes))
        .collect()
}

/// `count` words, rounded up to whole groups.
fn random_code(random: &mut SplitMix, count: usize, samples: &[u64], forms: &[&Form]) -> Vec<u8> {
    let mut code = Vec::with_capacity(count.div_ceil(3) * 32);
    for position in 0..count.div_ceil(3) * 4 {
        let word = if position % 4 == 0 {
            PLAIN_CONTROL | random.next() & SPELLED_CONTROL
        } else {
            random_word(random, samples, forms)
        };
        code.extend_from_slice(&word.to_le_bytes());
    }
    code
}

fn random_word(random: &mut SplitMix, samples: &[u64], forms: &[&Form]) -> u64 {
    match random.next() % 3 {
        0 => match random.choose(forms) {
            Some(form) => {
                let word = form.value | random_fields(random) & !form.mask;
                match random.next() % 128 {
                    // Every other word next to the form, for masks that ask for too much.
                    bit @ 0..64 => word ^ 1 << bit,
                    _ => word,
                }
            }
            None => random.next(),
        },
        1 => {
            let mut word = random.choose(samples).copied().unwrap_or_default();
            for _ in 0..1 + random.next() % 6 {
                word ^= 1 << (random.next() % 64);
            }
            word
        }
        _ => random.next(),
    }
}

/// Bits for the free fields of a form. Fields of all zeros or ones (RZ, PT, no modifier) are rare
/// among uniform bits but common in programs.
fn random_fields(random: &mut SplitMix) -> u64 {
    /// Where most forms have registers, constants, offsets and their third operand.
    const FIELDS: [u64; 5] = [0xff, 0xff00, 0xff << 20, 0xff << 28, 0xff << 39];
    let (a, b, c) = (random.next(), random.next(), random.next());
    let mut bits = match random.next() % 4 {
        0 => a,
        1 => a & b & c,
        2 => a | b | c,
        _ => a & b & c & random.next() & random.next(),
    };
    for field in FIELDS {
        match random.next() % 8 {
            0 => bits |= field,
            1 => bits &= !field,
            _ => {}
        }
    }
    // Half of the words are executed always.
    match random.next() % 2 {
        0 => bits & !0xf_0000 | 0x7_0000,
        _ => bits,
    }
}

/// A word and bits 19:17 of its slot of the control word.
type Recorded = (u64, u8);

/// Writes what nvdisasm says about a selection of words on every architecture.
///
/// The words are laid out one after the other, so that each has an address of its own.
fn record(
    repository: &Repository,
    nvdisasm: &Nvdisasm,
    kernels: &[KernelCode],
    seed: u64,
) -> anyhow::Result<()> {
    let words = selection(kernels, seed)?;
    let code = layout(&words);
    let mut texts: Vec<BTreeMap<u32, Option<String>>> = Vec::new();
    for arch in Arch::ALL {
        texts.push(nvdisasm.disassemble(arch.sm(), &code)?);
    }
    let mut out = String::from(
        "# What nvdisasm 12.4 prints: address, word, bits 19:17 of the control slot, architectures,\n\
         # text (`!`: no instruction). Written by `cargo xtask disasm-compare --record`.\n",
    );
    for (index, (word, reuse)) in words.iter().enumerate() {
        let address = slot_address(index)?;
        let mut by_text: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (arch, texts) in Arch::ALL.iter().zip(&texts) {
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

/// For every form, words that occur in kernels and random ones, in a fixed order.
fn selection(kernels: &[KernelCode], seed: u64) -> anyhow::Result<Vec<Recorded>> {
    let mut by_form: BTreeMap<FormId, BTreeSet<Recorded>> = BTreeMap::new();
    for (title, sm, code) in kernels {
        let arch = Arch::from_sm(*sm).with_context(|| format!("no tables for sm_{sm}"))?;
        let program = Program::decode(arch, code).with_context(|| title.clone())?;
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
    let table = table()?;
    for (id, form) in table.forms() {
        let known: Vec<Recorded> = by_form
            .remove(&id)
            .unwrap_or_default()
            .into_iter()
            .collect();
        let step = known.len().div_ceil(RECORDED_FROM_KERNELS).max(1);
        selected.extend(known.into_iter().step_by(step));
        // A word may also match a more specific row.
        let is_of_form = |word: &u64| {
            !form.is_instruction()
                || Arch::ALL
                    .iter()
                    .any(|&arch| table.find(arch, *word) == Some(id))
        };
        let words = std::iter::repeat_with(|| {
            let word = form.value | random_fields(&mut random) & !form.mask;
            (word, (random.next() % 8) as u8)
        });
        selected.extend(
            words
                .take(TRIES)
                .filter(|(word, _)| is_of_form(word))
                .take(RECORDED_RANDOM),
        );
    }
    selected.retain(|(word, _)| !FILLERS.contains(word));
    Ok(selected.into_iter().collect())
}

/// Whole groups of these words, filled up with words of zeros.
fn layout(words: &[Recorded]) -> Vec<u8> {
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

/// The address of instruction `index`.
fn slot_address(index: usize) -> anyhow::Result<u32> {
    u32::try_from(index / 3 * 32 + index % 3 * 8 + 8).context("too many words")
}

/// One word on which the two disagree.
struct Difference {
    title: String,
    sm: u32,
    address: u32,
    word: u64,
    ours: Option<String>,
    theirs: Option<String>,
}

#[derive(Default)]
struct Tally {
    compared: usize,
    legal: usize,
    differences: Vec<Difference>,
}

fn compare(
    nvdisasm: &Nvdisasm,
    tally: &mut Tally,
    title: &str,
    sm: u32,
    code: &[u8],
) -> anyhow::Result<()> {
    let arch = Arch::from_sm(sm).with_context(|| format!("no tables for sm_{sm}"))?;
    let program = Program::decode(arch, code).with_context(|| title.to_owned())?;
    let theirs = nvdisasm
        .disassemble(sm, code)
        .with_context(|| title.to_owned())?;
    for instr in &program.instrs {
        if FILLERS.map(u128::from).contains(&instr.word) {
            continue;
        }
        let address = instr.addr.0;
        let theirs = theirs
            .get(&address)
            .with_context(|| format!("{title}: nvdisasm lists nothing at {address:#x}"))?;
        let ours = program.text(instr, TargetStyle::Hex);
        tally.compared += 1;
        tally.legal += usize::from(theirs.is_some());
        if ours != *theirs {
            tally.differences.push(Difference {
                title: title.to_owned(),
                sm,
                address,
                word: instr.word as u64,
                ours,
                theirs: theirs.clone(),
            });
        }
    }
    Ok(())
}

impl Tally {
    fn print(&self, show: usize) {
        let count =
            |wanted: fn(&Difference) -> bool| self.differences.iter().filter(|d| wanted(d)).count();
        println!(
            "{} words compared, {} of them legal for nvdisasm",
            self.compared, self.legal
        );
        println!("{:>8} equal", self.compared - self.differences.len());
        println!(
            "{:>8} text differs",
            count(|d| d.ours.is_some() && d.theirs.is_some())
        );
        println!("{:>8} only nvdisasm accepts", count(|d| d.ours.is_none()));
        println!("{:>8} only we accept", count(|d| d.theirs.is_none()));
        let mut by_opcode: BTreeMap<String, usize> = BTreeMap::new();
        for difference in &self.differences {
            let text = difference.theirs.as_ref().or(difference.ours.as_ref());
            *by_opcode
                .entry(opcode(text.map_or("", String::as_str)).to_owned())
                .or_default() += 1;
        }
        let mut by_opcode: Vec<_> = by_opcode.into_iter().collect();
        by_opcode.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        for (opcode, count) in by_opcode.iter().take(show) {
            println!("{count:>8} {opcode}");
        }
        for difference in self.differences.iter().take(show) {
            println!(
                "{} sm_{} {:#06x} {:#018x}\n    ours   {}\n    theirs {}",
                difference.title,
                difference.sm,
                difference.address,
                difference.word,
                difference.ours.as_deref().unwrap_or("(no instruction)"),
                difference.theirs.as_deref().unwrap_or("(rejected)"),
            );
        }
    }
}

/// `@!P0 FADD.FTZ R0, ...` gives `FADD`.
fn opcode(text: &str) -> &str {
    text.split_whitespace()
        .find(|token| !token.starts_with('@'))
        .and_then(|token| token.split('.').next())
        .unwrap_or_default()
}

/// A small generator with a fixed sequence for each seed (Steele, Lea, Flood 2014).
struct SplitMix(u64);

impl SplitMix {
    fn choose<'a, T>(&mut self, list: &'a [T]) -> Option<&'a T> {
        let index = self.next().checked_rem(list.len() as u64)?;
        list.get(usize::try_from(index).ok()?)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
