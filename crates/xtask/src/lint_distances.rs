//! `cargo xtask lint-distances`: the distances that control words must keep from Volta on, learned from compilers' code.

mod mutants;
mod samples;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use warpbound_base::Family;
use warpbound_isa::nvidia::Arch;
use warpbound_rewrite::lint::ControlHazard;

use crate::cubin::cubins_below;
use crate::repository::Repository;
use crate::workers::for_each_task;
use mutants::{Outcomes, Random, mutate};
use samples::{Learned, check, for_each_kernel};

pub(crate) const HELP: &str = "\
usage: cargo xtask lint-distances [--write] [--mutants COUNT [--seed NUMBER]] PLACE...

Checks the control words of cubins, and of all files *.cubin below directories, as `warpbound lint` does, and prints the findings and
the number of uses that have no required distance. Fails if there is a finding.

  --write          instead: learn the distances from these cubins and write isa/nvidia/volta.distances
  --mutants COUNT  instead: change one control word at a time (stall count, wait, scoreboards), COUNT times in each
                   kernel, and print how many changes are found
  --seed NUMBER    start of the random changes (1)";

struct Options {
    write: bool,
    mutants: Option<u64>,
    seed: u64,
    places: Vec<PathBuf>,
}

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let options = parse(arguments)?;
    let (directories, mut files): (Vec<PathBuf>, Vec<PathBuf>) = options
        .places
        .iter()
        .cloned()
        .partition(|place| place.is_dir());
    files.extend(cubins_below(&directories)?);
    if let Some(count) = options.mutants {
        return print_mutants(&files, count, options.seed);
    }
    let find = |file: &PathBuf| Totals::of(file);
    let add = |total: &mut Totals, file: &PathBuf, found: Totals| {
        total.append(&file.display().to_string(), found);
    };
    let total = for_each_task(&files, find, Totals::default(), add);
    if options.write && total.unreadable.is_empty() {
        return write_table(repository, &total);
    }
    total.print();
    match (total.findings.len(), total.unreadable.len()) {
        (0, 0) => Ok(()),
        (findings, unreadable) => bail!("{findings} findings, {unreadable} files not read"),
    }
}

fn parse(arguments: &[String]) -> anyhow::Result<Options> {
    let mut options = Options {
        write: false,
        mutants: None,
        seed: 1,
        places: Vec::new(),
    };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut number = || -> anyhow::Result<u64> {
            let text = rest.next();
            Ok(text
                .with_context(|| format!("{argument} needs a number"))?
                .parse()?)
        };
        match argument.as_str() {
            "--write" => options.write = true,
            "--mutants" => options.mutants = Some(number()?),
            "--seed" => options.seed = number()?,
            place if !place.starts_with('-') => options.places.push(place.into()),
            other => bail!("unknown argument {other}"),
        }
    }
    if options.places.is_empty() {
        bail!("no cubins are named");
    }
    Ok(options)
}

/// Totals of the check of cubins.
#[derive(Default)]
struct Totals {
    learned: Learned,
    kernels: usize,
    refused: usize,
    instructions: usize,
    uses: usize,
    not_judged: usize,
    possible: usize,
    findings: Vec<String>,
    /// Files that cannot be read, each with the reason.
    unreadable: Vec<String>,
    /// Files for other GPUs.
    others: usize,
}

impl Totals {
    /// Checks the kernels of a cubin for a GPU from Volta on.
    fn of(file: &Path) -> Totals {
        let mut totals = Totals::default();
        let found = for_each_kernel(file, |arch, kernel| {
            totals.kernels += 1;
            let Some(checked) = check(arch, kernel, kernel.code()) else {
                totals.refused += 1;
                return;
            };
            totals.learned.add(&checked);
            totals.instructions += checked.code.ops.len();
            let linted = &checked.linted;
            totals.uses += linted.dependences.len();
            let uses = linted.dependences.iter();
            totals.not_judged += uses.filter(|used| used.least.is_none()).count();
            for finding in &linted.findings {
                if finding.is_possible {
                    totals.possible += 1;
                    continue;
                }
                let at = checked.code.ops.get(finding.at.index());
                let hazard = ControlHazard::name(finding.hazard);
                totals.findings.push(format!(
                    "{} {:?}: {hazard}: {} {:?}",
                    kernel.demangled(),
                    at.map(|op| op.addr),
                    finding.cell,
                    finding.cycles
                ));
            }
        });
        match found {
            Ok(is_wide) => totals.others += usize::from(!is_wide),
            Err(why) => totals.unreadable.push(format!("{why:#}")),
        }
        totals
    }

    fn append(&mut self, file: &str, other: Totals) {
        self.learned.append(other.learned);
        self.kernels += other.kernels;
        self.refused += other.refused;
        self.instructions += other.instructions;
        self.uses += other.uses;
        self.not_judged += other.not_judged;
        self.possible += other.possible;
        self.unreadable.extend(other.unreadable);
        self.others += other.others;
        let findings = other.findings.into_iter();
        self.findings
            .extend(findings.map(|finding| format!("{file}: {finding}")));
    }

    fn print(&self) {
        for finding in self.findings.iter().take(20) {
            println!("  {finding}");
        }
        for why in &self.unreadable {
            println!("  {why}");
        }
        if self.others > 0 {
            println!("{} files are for GPUs before Volta", self.others);
        }
        println!(
            "{} kernels, {} refused, {} instructions, {} uses of results of fixed latency, {} not judged, {} possible findings, {} findings",
            self.kernels,
            self.refused,
            self.instructions,
            self.uses,
            self.not_judged,
            self.possible,
            self.findings.len()
        );
    }
}

/// Writes the table of required distances.
fn write_table(repository: &Repository, total: &Totals) -> anyhow::Result<()> {
    let archs: Vec<Arch> = Arch::of_family(Family::Volta)
        .filter(|arch| ![70, 72, 107].contains(&arch.sm()))
        .collect();
    let (table, known, unknown) = total.learned.table(&archs);
    let path = repository.root().join("isa/nvidia/volta.distances");
    std::fs::write(&path, format!("{TABLE_HEAD}{table}"))?;
    println!(
        "{} kernels, {} uses: {known} distances, {unknown} combinations of a chip without one",
        total.kernels, total.uses
    );
    Ok(())
}

/// Comment of the table.
const TABLE_HEAD: &str = "\
# Required distances from Volta on: cycles from the issue of a result of fixed latency to the issue of its user, by classes of
# volta.names, kind of the register and use (format: README.md). Written by `cargo xtask lint-distances --write`.
";

/// File, and the start of its random changes.
struct SeededFile<'a> {
    seed: u64,
    file: &'a PathBuf,
}

/// Makes mutants of each kernel and prints what became of them.
fn print_mutants(files: &[PathBuf], count: u64, seed: u64) -> anyhow::Result<()> {
    let numbered = (seed..).zip(files);
    let numbered: Vec<SeededFile<'_>> = numbered
        .map(|(seed, file)| SeededFile { seed, file })
        .collect();
    let find = |seeded: &SeededFile<'_>| {
        let mut outcomes = Outcomes::default();
        let mut random = Random(seeded.seed);
        for_each_kernel(seeded.file, |arch, kernel| {
            outcomes.append(mutate(arch, kernel, count, &mut random));
        })?;
        Ok(outcomes)
    };
    let add = |total: &mut anyhow::Result<Outcomes>, _: &SeededFile<'_>, found| match (total, found)
    {
        (Ok(total), Ok(found)) => total.append(found),
        (total @ Ok(_), Err(why)) => *total = Err(why),
        (Err(_), _) => {}
    };
    let total = for_each_task(&numbered, find, Ok(Outcomes::default()), add)?;
    for (change, outcome) in &total.by_change {
        println!(
            "{change:?}: {} made, {} found, {} possible, {} not judged, {} without a finding",
            outcome.made,
            outcome.found,
            outcome.possible,
            outcome.not_judged,
            outcome.made - outcome.found - outcome.possible - outcome.not_judged
        );
    }
    // At equal distances, so that the examples are of different kernels.
    let every = (total.silent.len() / 40).max(1);
    for text in total.silent.iter().step_by(every) {
        println!("  {text}");
    }
    Ok(())
}
