//! Kernels of libraries, drawn at random and written again.

use std::collections::BTreeMap;
use std::fs::File;
use std::time::{Duration, Instant};

use anyhow::Context;
use fastrand::Rng;
use warpbound_load::{EntryKind, FileSource, Image, ImageDirectory, Isa};
use warpbound_query::rewritten;
use warpbound_testkit::rewriting::with_nops_in;

use super::Options;
use super::listing::Listing;
use crate::cubin;
use crate::nvdisasm::Nvdisasm;
use crate::repository::Repository;

/// A NOP is inserted before one in this many instructions.
const ONE_IN: u32 = 4;

/// Instructions for which times are stated.
const STATED: f64 = 12_000.0;

/// Instructions of a cubin from which its time counts: below, the file's other parts decide.
const LONG: usize = 3_000;

/// Instructions of a kernel up to which listings are compared: the disassembler's time grows faster than the code.
const COMPARED: usize = 40_000;

/// A library with its cubins that are yet to be drawn.
struct Urn {
    name: String,
    library: ImageDirectory,
    numbers: Vec<usize>,
}

/// Results.
#[derive(Default)]
struct Tally {
    drawn: usize,
    rewritten: usize,
    refused: BTreeMap<String, usize>,
    /// Kernels compared with the disassembler, their instructions, and kernels that are too long for it.
    compared: usize,
    instructions: usize,
    too_long: usize,
    nops: usize,
    /// Milliseconds for [`STATED`] instructions, by cubin.
    rates: Vec<f64>,
    time: Duration,
    all_instructions: usize,
    problems: Vec<String>,
}

/// Draws kernels of libraries, writes their cubins again, and compares the disassembly; returns the differences.
pub(super) fn sample(
    repository: &Repository,
    count: usize,
    options: &Options,
) -> anyhow::Result<Vec<String>> {
    let oracle = Nvdisasm::new(&repository.oracle())?;
    let mut rng = Rng::with_seed(options.seed);
    let mut urns = urns(options, &mut rng)?;
    let mut tally = Tally::default();
    let started = Instant::now();
    while tally.drawn < count && urns.iter().any(|urn| !urn.numbers.is_empty()) {
        for urn in &mut urns {
            if tally.drawn < count
                && let Some(number) = urn.numbers.pop()
            {
                let contents = urn.library.contents(&urn.library.entries()[number])?;
                let title = format!("{} image {number}", urn.name);
                tally.cubin(&oracle, &title, &contents, &mut rng)?;
            }
        }
    }
    tally.print(started.elapsed());
    Ok(tally.problems)
}

/// Opens the libraries, with their cubins in a random order.
fn urns(options: &Options, rng: &mut Rng) -> anyhow::Result<Vec<Urn>> {
    let mut urns = Vec::new();
    for path in &options.files {
        let name = path.display().to_string();
        let source = FileSource::new(File::open(path).with_context(|| name.clone())?)?;
        let library = ImageDirectory::open(source)?;
        let mut numbers: Vec<usize> = (0..library.entries().len()).collect();
        numbers.retain(|&number| {
            let entry = &library.entries()[number];
            entry.kind == EntryKind::Cubin && entry.isa.is_supported()
        });
        rng.shuffle(&mut numbers);
        urns.push(Urn {
            name,
            library,
            numbers,
        });
    }
    Ok(urns)
}

impl Tally {
    /// Draws a kernel of a cubin, if it has one.
    fn cubin(
        &mut self,
        oracle: &Nvdisasm,
        title: &str,
        contents: &[u8],
        rng: &mut Rng,
    ) -> anyhow::Result<()> {
        let image = Image::parse(contents)?;
        let kernels = image.kernels()?;
        let (Some(kernel), Isa::Sm(sm)) = (rng.choice(kernels), image.isa()) else {
            return Ok(());
        };
        self.drawn += 1;
        let title = format!("{title} {}", kernel.name);
        let instructions: usize = kernels.iter().map(|k| k.code().len() / 32 * 3).sum();
        let started = Instant::now();
        let again = rewritten(contents);
        let time = started.elapsed();
        let padded = again.and_then(|again| {
            // Stubs, which the listing would show as further jumps, have a file of their own.
            with_nops_in(contents, &kernel.name, rng.u64(..), ONE_IN, true)?;
            let padded = with_nops_in(contents, &kernel.name, rng.u64(..), ONE_IN, false)?;
            Ok((again, padded))
        });
        let (again, padded) = match padded {
            Ok(padded) => padded,
            Err(diagnostic) => {
                println!("  refused: {title}: {diagnostic}");
                *self.refused.entry(diagnostic.message).or_default() += 1;
                return Ok(());
            }
        };
        self.rewritten += 1;
        self.nops += padded.nops;
        self.time += time;
        self.all_instructions += instructions;
        if instructions >= LONG {
            let rate = time.as_secs_f64() * 1_000.0 * STATED / instructions as f64;
            self.rates.push(rate);
        }
        if again != *contents {
            self.problems
                .push(format!("{title}: other bytes without insertions"));
        }
        if kernel.code().len() / 32 * 3 > COMPARED {
            self.too_long += 1;
            return Ok(());
        }
        let section = |contents: &[u8]| {
            let (_, sections) = cubin::code_sections(contents)?;
            let mut sections = sections.into_iter();
            sections.find(|section| section.name == format!(".text.{}", kernel.name))
        };
        let codes = section(contents).zip(section(&padded.bytes));
        let (old, new) = codes.with_context(|| format!("{title}: has no code section"))?;
        let old = Listing::of(oracle, sm.number.into(), &old.code)?;
        let new = Listing::of(oracle, sm.number.into(), &new.code)?;
        self.compared += 1;
        self.instructions += old.len();
        let found = old.difference(&new);
        self.problems
            .extend(found.map(|found| format!("{title}: {found}")));
        Ok(())
    }

    fn print(&mut self, elapsed: Duration) {
        let refused: usize = self.refused.values().sum();
        println!(
            "{} kernels drawn, {} rewritten ({:.1} %), {refused} refused",
            self.drawn,
            self.rewritten,
            100.0 * self.rewritten as f64 / self.drawn.max(1) as f64,
        );
        for (reason, count) in &self.refused {
            println!("  {count} refused: {reason}");
        }
        println!(
            "nvdisasm: {} kernels, {} instructions between {} NOPs, {} differences; {} kernels too long for it",
            self.compared,
            self.instructions,
            self.nops,
            self.problems.len(),
            self.too_long
        );
        self.rates.sort_by(f64::total_cmp);
        let median = self.rates.get(self.rates.len() / 2);
        println!(
            "{} instructions of whole cubins written again in {:.2} s; 12,000 of them: median {:.1} ms, worst {:.1} ms ({} cubins of {LONG} or more)",
            self.all_instructions,
            self.time.as_secs_f64(),
            median.unwrap_or(&0.0),
            self.rates.last().unwrap_or(&0.0),
            self.rates.len()
        );
        println!("{:.1} s", elapsed.as_secs_f64());
    }
}
