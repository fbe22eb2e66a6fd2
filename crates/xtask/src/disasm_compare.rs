//! `cargo xtask disasm-compare`: our disassembly compared with NVIDIA's and LLVM's, word by word.

mod gcn3;
mod library;
mod random;
mod record;
mod relocated;
mod wide;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, bail};
use warpbound_base::Family;
use warpbound_isa::nvidia::{Arch, Form, SassProgram, TargetStyle, table};

use crate::cubin;
use crate::nvdisasm::Nvdisasm;
use crate::repository::Repository;
pub(crate) use random::{SplitMix, random_fields, random_words};
pub(crate) use record::layout;
pub(crate) use wide::{Oracles, our_texts, real_words, word_of_form};

pub(crate) const HELP: &str = "\
usage: cargo xtask disasm-compare [--show COUNT]
       cargo xtask disasm-compare [--show COUNT] DIRECTORY...
       cargo xtask disasm-compare [--show COUNT] [--seed NUMBER] --random COUNT
       cargo xtask disasm-compare [--show COUNT] --relocated DIRECTORY...
       cargo xtask disasm-compare [--seed NUMBER] --record [DIRECTORY...]
       cargo xtask disasm-compare --wide [--show COUNT] [--only SM] [--seed NUMBER --random COUNT] [DIRECTORY...]
       cargo xtask disasm-compare --gfx803 [--show COUNT] [--seed NUMBER] [--random COUNT | --record | FILE...]

Disassembles instructions with this project's tables and with oracle/bin/nvdisasm and compares the texts.
A word that is an instruction for one side only is a difference. Prints counts and the first differences;
fails if there is a difference. Without arguments: every instruction of kernels/built, at its own address.

  DIRECTORY...     instead: every instruction of the files *.cubin below these directories. Equal words are
                   compared once for each architecture, at an address of their own, so that relative targets
                   differ from those in the file
  --random COUNT   instead: COUNT random words for each architecture: uniform ones, words of our kernels
                   with a few bits changed, and words of every encoding form with random fields
  --relocated      instead: the operands with a relocation, in the files *.cubin below these
                   directories, as both print them
  --seed NUMBER    start of the random sequence (1)
  --show COUNT     number of differences to print (20)
  --record         compare nothing, but write the output of nvdisasm for a selection of words to
                   crates/isa/tests/data/spelling.txt, which a test reads. The words of the cubins below
                   DIRECTORY are not copied: random words with the same modifiers are recorded
  --wide           instead: words of 128 bits (sm_70 to sm_121), against oracle/bin/cu13/nvdisasm, and oracle/bin/nvdisasm
                   for sm_70 and sm_72: the distinct words of the files *.cubin below these directories, or COUNT
                   random ones for each architecture, half of them words of these files with a few bits changed
  --only SM        only this architecture
  --gfx803         instead: GCN3, against oracle/bin/llvm-mc-14: whole listings of all code objects of
                   kernels/built, or of FILE...; their instructions are also encoded again. A FILE that is none has
                   a word in hexadecimal on each line. --random: words of all forms in turn. Where LLVM 14 differs
                   from us and oracle/bin/llvm-mc-22 from LLVM 14, the word counts as disputed. --record writes
                   crates/isa/tests/data/gcn3.txt";

/// Words that nvdisasm lists as NOP without a guard, against the encoding; no compiler emits them, and we do not
/// imitate it.
const FILLERS: [u64; 2] = [0, 1 << 63];

/// Number of words per run of nvdisasm, a multiple of a group.
const BATCH: usize = 60_000;

/// Control word with neutral slots (stall 15, no scoreboards, no reuse).
const PLAIN_CONTROL: u64 = 0x7ef | 0x7ef << 21 | 0x7ef << 42;

struct Options {
    random: Option<usize>,
    seed: u64,
    show: usize,
    record: bool,
    relocated: bool,
    gfx803: bool,
    wide: bool,
    only: Option<u32>,
    directories: Vec<PathBuf>,
}

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let options = parse(arguments)?;
    if options.gfx803 {
        let options = gcn3::GcnOptions {
            random: options.random,
            seed: options.seed,
            show: options.show,
            record: options.record,
            files: &options.directories,
        };
        return gcn3::run(repository, &options);
    }
    if options.wide {
        let mut tally = TextTally::default();
        let wide = wide::WideOptions {
            random: options.random,
            seed: options.seed,
            directories: &options.directories,
            only: options.only,
        };
        wide::compare(repository, &mut tally, &wide)?;
        return tally.result(options.show);
    }
    let nvdisasm = Nvdisasm::new(&repository.oracle())?;
    if options.relocated {
        return relocated::run(&nvdisasm, &options.directories, options.show);
    }
    let kernels = built_code(repository)?;
    if options.record {
        let seen = match options.directories.as_slice() {
            [] => BTreeMap::new(),
            directories => library::distinct_words(directories)?.by_arch,
        };
        return record::run(repository, &nvdisasm, &kernels, &seen, options.seed);
    }
    let mut tally = TextTally::default();
    if !options.directories.is_empty() {
        library::compare_all(&nvdisasm, &mut tally, &options.directories)?;
    } else if let Some(count) = options.random {
        compare_random(&nvdisasm, &mut tally, &kernels, count, options.seed)?;
    } else {
        for (title, sm, code) in &kernels {
            compare(&nvdisasm, &mut tally, title, *sm, code)?;
        }
    }
    tally.result(options.show)
}

/// Compares `count` random words on each architecture.
fn compare_random(
    nvdisasm: &Nvdisasm,
    tally: &mut TextTally,
    kernels: &[KernelCode],
    count: usize,
    seed: u64,
) -> anyhow::Result<()> {
    let samples: Vec<u64> = kernels
        .iter()
        .flat_map(|(_, _, code)| instruction_words(code).map(|(word, _)| word))
        .collect();
    let mut random = SplitMix(seed);
    for arch in Arch::of_family(Family::Maxwell) {
        let forms: Vec<&Form> = table(arch)
            .forms()
            .map(|(_, form)| form)
            .filter(|form| form.exists_on(arch))
            .collect();
        // The disassembler lists nothing if it rejects one word. Batches of words that it rejects need one run, mixed
        // batches two.
        let mut apart: [Vec<Slotted>; 2] = Default::default();
        let mut left = count;
        while left > 0 {
            let some = left.min(BATCH);
            left -= some;
            for word in random_words(&mut random, some, &samples, &forms) {
                let legal = table(arch).find(arch, word.0.into()).is_some();
                let [rejected, accepted] = &mut apart;
                if legal { accepted } else { rejected }.push(word);
            }
            for words in &mut apart {
                while words.len() >= BATCH || left == 0 && !words.is_empty() {
                    let rest = words.split_off(words.len().min(BATCH));
                    compare(nvdisasm, tally, "random word", arch.sm(), &layout(words))?;
                    *words = rest;
                }
            }
        }
    }
    Ok(())
}

fn parse(arguments: &[String]) -> anyhow::Result<Options> {
    let mut options = Options {
        random: None,
        seed: 1,
        show: 20,
        record: false,
        relocated: false,
        gfx803: false,
        wide: false,
        only: None,
        directories: Vec::new(),
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
            "--gfx803" => options.gfx803 = true,
            "--wide" => options.wide = true,
            "--only" => options.only = Some(u32::try_from(number()?)?),
            "--relocated" => options.relocated = true,
            other if other.starts_with('-') => {
                bail!("unknown argument {other:?}")
            }
            directory => options.directories.push(PathBuf::from(directory)),
        }
    }
    let files = !options.directories.is_empty() && !options.wide;
    if options.random.is_some() && (options.record || files) {
        bail!("--random excludes --record and directories");
    }
    Ok(options)
}

/// Title, SM number and code of a kernel.
type KernelCode = (String, u32, Vec<u8>);

/// Returns every code section of kernels/built.
fn built_code(repository: &Repository) -> anyhow::Result<Vec<KernelCode>> {
    let mut kernels = Vec::new();
    for file in cubin::cubins_below(&[repository.built_kernels()])? {
        let name = file
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        let (sm, sections) = cubin::code_sections(&cubin::read(&file)?)
            .with_context(|| format!("{name} is not a cubin"))?;
        kernels.extend(
            sections
                .into_iter()
                .map(|section| (format!("{name} {}", section.name), sm, section.code)),
        );
    }
    Ok(kernels)
}

/// Returns the instruction words of a code section with bits 20:17 of their slots of the control words.
pub(crate) fn instruction_words(code: &[u8]) -> impl Iterator<Item = Slotted> {
    let (groups, _) = code.as_chunks::<32>();
    groups.iter().flat_map(|group| {
        let (words, _) = group.as_chunks::<8>();
        let mut words = words.iter().map(|bytes| u64::from_le_bytes(*bytes));
        let control = words.next().unwrap_or_default();
        (0u32..)
            .zip(words)
            .map(move |(slot, word)| (word, (control >> (17 + 21 * slot) & 0xf) as u8))
    })
}

/// A word and bits 20:17 of its slot of the control word.
pub(crate) type Slotted = (u64, u8);

/// A word on which the two disassemblers disagree.
struct Difference {
    title: String,
    sm: u32,
    address: u32,
    word: u128,
    ours: Option<String>,
    theirs: Option<String>,
}

#[derive(Default)]
struct TextTally {
    compared: usize,
    legal: usize,
    differences: Vec<Difference>,
}

fn compare(
    nvdisasm: &Nvdisasm,
    tally: &mut TextTally,
    title: &str,
    sm: u32,
    code: &[u8],
) -> anyhow::Result<()> {
    let arch = Arch::from_sm(sm).with_context(|| format!("no tables for sm_{sm}"))?;
    let program = SassProgram::decode(arch, code).with_context(|| title.to_owned())?;
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
                word: instr.word,
                ours,
                theirs: theirs.clone(),
            });
        }
    }
    Ok(())
}

impl TextTally {
    /// Prints the counts; an error if there is a difference.
    fn result(&self, show: usize) -> anyhow::Result<()> {
        self.print(show);
        if self.differences.is_empty() {
            return Ok(());
        }
        bail!(
            "{} of {} words differ",
            self.differences.len(),
            self.compared
        )
    }

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

/// Returns opcode and modifiers: `FADD.FTZ` of `@!P0 FADD.FTZ R0, ...`.
fn opcode_with_modifiers(text: &str) -> &str {
    text.split_whitespace()
        .find(|token| !token.starts_with('@'))
        .unwrap_or_default()
}

/// Returns the opcode: `FADD` of `@!P0 FADD.FTZ R0, ...`.
fn opcode(text: &str) -> &str {
    opcode_with_modifiers(text)
        .split('.')
        .next()
        .unwrap_or_default()
}
