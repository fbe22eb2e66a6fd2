//! `cargo xtask encode-check`: words are put together again from their fields and from their operands.

mod wide;

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, bail};
use warpbound_base::{CodeAddr, Family};
use warpbound_isa::Arch;
use warpbound_isa::nvidia::{Form, FormId, InstrFields, WordBuilder, encode, table};
use warpbound_load::{EntryKind, FileSource, ImageDirectory};

use crate::cubin;
use crate::disasm_compare::{Slotted, SplitMix, instruction_words, random_words};
use crate::repository::Repository;

pub(crate) const HELP: &str = "\
usage: cargo xtask encode-check [--show COUNT] [--random COUNT [--seed NUMBER]] [--figures] [FILE|DIRECTORY...]
       cargo xtask encode-check --wide [--show COUNT] [--random COUNT [--seed NUMBER]] [FILE|DIRECTORY...]

Takes instruction words of Maxwell and Pascal apart into the fields of their rows and puts them together again: the
word must be the same. Of each distinct word the builder makes a word from opcode, guard, modifiers and operands: it
must decode to the same ones. Without arguments: every instruction of kernels/built.

  FILE             instead: every instruction of the cubins inside the file (cubin, fat binary, library, archive)
  DIRECTORY        the same for the files below it
  --random COUNT   instead: COUNT words that decode, over all architectures together: uniform ones, words of our
                   kernels with a few bits changed, and words of every encoding form with random fields
  --figures        all three: kernels/built, the files, and 40,000,000 random words or as many as COUNT says; prints a line
                   for each with words, instructions, those built anew from operands, forms and differences
  --wide           instead: words of 128 bits, all distinct words of cubins or, with --random, COUNT words for each of the
                   architectures sm_70 to sm_121, of every encoding form and words of the cubins with a few bits changed.
                   Each word must also follow from its operands together with the codes of its fields, and one with the same
                   operands from the operands alone. Without files: kernels/wide
  --seed NUMBER    start of the random sequence (1)
  --show COUNT     number of differences and of rows to print (20)

Of the words of files, the bits that no field names are counted by row.";

/// Random words that decode, for the figures.
const RANDOM: u64 = 40_000_000;

/// Random words that are drawn at a time.
const BATCH: usize = 1 << 16;

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let options = parse(arguments)?;
    let started = Instant::now();
    if options.is_wide {
        let kernels = [repository.wide_kernels()];
        wide::run(&wide::WideOptions {
            random: options.random.map(usize::try_from).transpose()?,
            seed: options.seed,
            paths: match options.paths.as_slice() {
                [] => &kernels,
                paths => paths,
            },
            show: options.show,
        })?;
        println!("{:.1} s", started.elapsed().as_secs_f64());
        return Ok(());
    }
    if options.figures {
        return figures(repository, &options);
    }
    let mut check = EncodeCheck::default();
    match options.random {
        Some(count) => check.random(repository, count, options.seed)?,
        None if options.paths.is_empty() => check.path(&repository.built_kernels())?,
        None => {
            for path in &options.paths {
                check.path(path)?;
            }
        }
    }
    check.print(options.show);
    println!("{:.1} s", started.elapsed().as_secs_f64());
    match check.differences.len() {
        0 => Ok(()),
        count => bail!("{count} words are encoded otherwise"),
    }
}

/// Checks our own kernels, the files and random words; prints a line for each.
fn figures(repository: &Repository, options: &Options) -> anyhow::Result<()> {
    let mut differences = 0;
    let mut part = |title: &str, run: &dyn Fn(&mut EncodeCheck) -> anyhow::Result<()>| {
        let started = Instant::now();
        let mut check = EncodeCheck::default();
        run(&mut check)?;
        check.print_line(title, started.elapsed().as_secs_f64());
        for difference in check.differences.iter().take(options.show) {
            println!("  {difference}");
        }
        differences += check.differences.len();
        anyhow::Ok(())
    };
    part("own kernels", &|check| {
        check.path(&repository.built_kernels())
    })?;
    for path in &options.paths {
        part(&path.display().to_string(), &|check| check.path(path))?;
    }
    let count = options.random.unwrap_or(RANDOM);
    part("random words", &|check| {
        check.random(repository, count, options.seed)
    })?;
    match differences {
        0 => Ok(()),
        count => bail!("{count} words are encoded otherwise"),
    }
}

struct Options {
    random: Option<u64>,
    figures: bool,
    is_wide: bool,
    seed: u64,
    show: usize,
    paths: Vec<PathBuf>,
}

fn parse(arguments: &[String]) -> anyhow::Result<Options> {
    let mut options = Options {
        random: None,
        figures: false,
        is_wide: false,
        seed: 1,
        show: 20,
        paths: Vec::new(),
    };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut number = || -> anyhow::Result<u64> {
            let text = rest.next();
            let text = text.with_context(|| format!("{argument} needs a number"))?;
            Ok(text.parse()?)
        };
        match argument.as_str() {
            "--wide" => options.is_wide = true,
            "--figures" => options.figures = true,
            "--random" => options.random = Some(number()?),
            "--seed" => options.seed = number()?,
            "--show" => options.show = usize::try_from(number()?)?,
            other if other.starts_with('-') => bail!("unknown argument {other:?}"),
            path => options.paths.push(PathBuf::from(path)),
        }
    }
    if options.is_wide && options.figures {
        bail!("--wide excludes --figures");
    }
    if options.random.is_some() && !options.figures && !options.is_wide && !options.paths.is_empty()
    {
        bail!("--random excludes files");
    }
    Ok(options)
}

/// Counts of checks, and what they found.
#[derive(Default)]
struct EncodeCheck {
    files: usize,
    cubins: usize,
    /// Words that were drawn, or that code sections have.
    words: u64,
    /// Words by architecture that are instructions: all, and distinct ones with their slot bits.
    by_arch: BTreeMap<Arch, (u64, u64)>,
    seen: BTreeMap<Arch, HashSet<Slotted>>,
    forms: BTreeMap<FormId, FormTally>,
    differences: Vec<String>,
}

/// Words of a row.
#[derive(Default)]
struct FormTally {
    count: u64,
    /// Bits without a name that are set in some word, and in every word.
    some: u128,
    every: u128,
}

impl EncodeCheck {
    /// Checks a file, or the files below a directory.
    fn path(&mut self, path: &Path) -> anyhow::Result<()> {
        if !path.is_dir() {
            return self.file(path);
        }
        let entries = std::fs::read_dir(path).with_context(|| path.display().to_string())?;
        let mut paths = Vec::new();
        for entry in entries {
            paths.push(entry?.path());
        }
        paths.sort();
        paths.iter().try_for_each(|path| self.path(path))
    }

    fn file(&mut self, path: &Path) -> anyhow::Result<()> {
        self.files += 1;
        let source =
            FileSource::new(File::open(path).with_context(|| path.display().to_string())?)?;
        // Files without code, such as texts next to libraries, are no error.
        let Ok(library) = ImageDirectory::open(source) else {
            return Ok(());
        };
        for entry in library.entries() {
            if entry.kind != EntryKind::Cubin || !entry.isa.is_supported() {
                continue;
            }
            let contents = library.contents(entry)?;
            let found = cubin::code_sections(&contents);
            let found = found.and_then(|(sm, sections)| Some((Arch::from_sm(sm)?, sections)));
            let Some((arch, sections)) = found else {
                continue;
            };
            self.cubins += 1;
            for section in sections {
                for word in instruction_words(&section.code) {
                    self.words += 1;
                    self.word(arch, word, true);
                }
            }
        }
        Ok(())
    }

    /// Checks random words until `count` of them were instructions.
    fn random(&mut self, repository: &Repository, count: u64, seed: u64) -> anyhow::Result<()> {
        let mut samples = Vec::new();
        for file in cubin::cubins_below(&[repository.built_kernels()])? {
            let sections = cubin::code_sections(&cubin::read(&file)?);
            let sections = sections.map(|(_, sections)| sections).unwrap_or_default();
            let words = sections
                .iter()
                .flat_map(|section| instruction_words(&section.code));
            samples.extend(words.map(|(word, _)| word));
        }
        let mut random = SplitMix(seed);
        for (at, arch) in (0u64..).zip(Arch::of_family(Family::Maxwell)) {
            let archs = Arch::of_family(Family::Maxwell).count() as u64;
            let share = (count + at) / archs;
            let forms = table(arch).forms().map(|(_, form)| form);
            let forms: Vec<&Form> = forms.filter(|form| form.exists_on(arch)).collect();
            let mut decoded = 0;
            while decoded < share {
                for word in random_words(&mut random, BATCH, &samples, &forms) {
                    if decoded < share {
                        self.words += 1;
                        decoded += u64::from(self.word(arch, word, false));
                    }
                }
            }
        }
        Ok(())
    }

    /// Checks a word; returns whether it is an instruction. Words of files repeat, and are built once each.
    fn word(&mut self, arch: Arch, (word, slot): Slotted, repeats: bool) -> bool {
        let reuse = slot & 7;
        let Some(fields) = InstrFields::decode_slot(arch, word.into(), reuse) else {
            return false;
        };
        let (all, distinct) = self.by_arch.entry(arch).or_default();
        *all += 1;
        let encoded = encode(&fields);
        if encoded != word.into() || fields.control_bits() & !reuse != 0 {
            let difference = format!("{arch} {word:016x}/{reuse}: fields give {encoded:016x}");
            self.differences.push(difference);
        }
        let tally = self.forms.entry(fields.form()).or_default();
        tally.every = match tally.count {
            0 => fields.unnamed(),
            _ => tally.every & fields.unnamed(),
        };
        tally.some |= fields.unnamed();
        tally.count += 1;
        if repeats && !self.seen.entry(arch).or_default().insert((word, reuse)) {
            return true;
        }
        *distinct += 1;
        // Far from both ends of the address space, but for a few words.
        let addr = CodeAddr(0x0800_0008);
        if let Err(difference) = build_again(arch, word, reuse, addr) {
            self.differences.push(difference);
        }
        true
    }

    fn print_line(&self, title: &str, seconds: f64) {
        let instructions: u64 = self.by_arch.values().map(|(all, _)| all).sum();
        let built: u64 = self.by_arch.values().map(|(_, built)| built).sum();
        println!(
            "{title}: {} cubins, {} words, {instructions} instructions of {} of {} forms, {built} built anew from operands, {} differences, {seconds:.0} s",
            self.cubins,
            self.words,
            self.forms.len(),
            table(Arch::Sm61).forms().count(),
            self.differences.len()
        );
    }

    fn print(&self, show: usize) {
        if self.files > 0 {
            println!("{} files, {} cubins", self.files, self.cubins);
        }
        let instructions: u64 = self.by_arch.values().map(|(all, _)| all).sum();
        println!("{} words, {instructions} instructions", self.words);
        for (arch, (all, distinct)) in &self.by_arch {
            println!("{arch}: {all} encoded from fields, {distinct} built from operands");
        }
        println!("{} forms", self.forms.len());
        println!("{} differences", self.differences.len());
        for difference in self.differences.iter().take(show) {
            println!("{difference}");
        }
        if self.files == 0 {
            return;
        }
        let mut unnamed = self.forms.iter().filter(|(_, tally)| tally.some != 0);
        println!(
            "{} forms with bits that no field names",
            unnamed.clone().count()
        );
        for (id, tally) in unnamed.by_ref().take(show) {
            let Some(form) = table(Arch::Sm61).form(*id) else {
                continue;
            };
            println!(
                "{:016x}/{:016x} {}: {} words, set in some {:016x}, in every one {:016x}",
                form.value,
                form.mask,
                form.mnemonic(),
                tally.count,
                tally.some,
                tally.every
            );
        }
    }
}

/// Builds a word from its operands, and compares what it decodes to.
fn build_again(arch: Arch, word: u64, reuse: u8, addr: CodeAddr) -> Result<(), String> {
    let title = || format!("{arch} {word:016x}/{reuse}");
    let builder = WordBuilder::of_word(arch, word.into(), reuse, addr);
    let builder = builder.ok_or_else(|| format!("{}: has no operands", title()))?;
    let built = builder.build_slot();
    let built = built.map_err(|error| format!("{}: {error}", title()))?;
    let again = WordBuilder::of_word(arch, built.word, built.reuse, addr);
    if again.as_ref() == Some(&builder) {
        return Ok(());
    }
    Err(format!("{}: operands give {:016x}", title(), built.word))
}
