//! `cargo xtask meanings`: instructions with a meaning.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, bail};
use warpbound_load::{Isa, Kernel};
use warpbound_query::{ImageSelection, Session};
use warpbound_testkit::instructions::census::{document, is_executable};

use crate::each_kernel::each_kernel;
use crate::repository::{Repository, files_with_extension};

pub(crate) const HELP: &str = "\
usage: cargo xtask meanings
       cargo run --release -p warpbound-xtask -- meanings --count [--all] [--arch ARCH] [FILE...]

Writes docs/instructions.md: for each instruction the share of its modifiers with a meaning, and its reference.

  --count     write nothing; count the instructions and kernels of the files (kernels/built) that have a meaning, and list
              the instructions without one, with an example of each
  --all       list all of them
  --arch ARCH  only images for this architecture";

/// Number of instructions without a meaning that are named.
const SHOWN: usize = 40;

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let (mut count, mut shown) = (false, SHOWN);
    let (mut files, mut selection) = (Vec::new(), ImageSelection::default());
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--count" => count = true,
            "--all" => shown = usize::MAX,
            "--arch" | "--sm" => {
                let sm = rest.next().context("--arch without a value")?;
                selection.isa = Some(sm.parse::<Isa>().map_err(anyhow::Error::msg)?);
            }
            flag if flag.starts_with('-') => bail!("unknown argument {flag:?}"),
            file => files.push(PathBuf::from(file)),
        }
    }
    if !count {
        let path = repository.root().join("docs/instructions.md");
        fs::create_dir_all(repository.root().join("docs")).context("cannot create docs")?;
        return fs::write(&path, document())
            .with_context(|| format!("cannot write {}", path.display()));
    }
    if files.is_empty() {
        files = files_with_extension(&repository.built_kernels(), "cubin")?;
    }
    let mut counts = Counts::default();
    let unreadable = each_kernel(&files, &selection, |session, kernel| {
        counts.kernel(session, kernel)
    })?;
    for why in unreadable {
        println!("cannot be read: {why}");
    }
    counts.print(shown);
    Ok(())
}

#[derive(Default)]
struct Counts {
    kernels: usize,
    known_kernels: usize,
    instructions: usize,
    known: usize,
    /// Opcodes with modifiers of instructions without a meaning, with their numbers and the text of the first.
    missing: BTreeMap<String, (usize, String)>,
}

impl Counts {
    fn kernel(&mut self, session: &Session, kernel: &Kernel) -> anyhow::Result<()> {
        let prepared = session.prepare(kernel)?;
        let ops = &prepared.code.ops;
        let known = ops.iter().filter(|op| is_executable(op)).count();
        self.kernels += 1;
        self.known_kernels += usize::from(known == ops.len());
        self.instructions += ops.len();
        self.known += known;
        for (place, _) in ops.iter().enumerate().filter(|(_, op)| !is_executable(op)) {
            let text = prepared.program.text(place).unwrap_or_default();
            let spelling = opcode(&text);
            self.missing.entry(spelling).or_insert((0, text)).0 += 1;
        }
        Ok(())
    }

    fn print(&self, shown: usize) {
        println!(
            "{} of {} instructions, {} of {} kernels have a meaning",
            self.known, self.instructions, self.known_kernels, self.kernels
        );
        let mut missing: Vec<_> = self.missing.iter().collect();
        missing.sort_by_key(|&(spelling, (count, _))| (std::cmp::Reverse(count), spelling));
        for (spelling, (count, example)) in missing.iter().take(shown) {
            println!("{count:>8}  {spelling:<32} {example}");
        }
        if missing.len() > shown {
            println!("          and {} more", missing.len() - shown);
        }
    }
}

/// Returns the opcode with its modifiers, without guard and operands; with `.CC` if an operand has it.
fn opcode(text: &str) -> String {
    let mut words = text
        .split_whitespace()
        .filter(|word| !word.starts_with('@'));
    let opcode = words.next().unwrap_or("?").trim_end_matches(';').to_owned();
    let rest: Vec<&str> = words.collect();
    let flags = rest.iter().any(|word| word.contains(".CC"));
    match (opcode.as_str(), flags) {
        ("S2R" | "CS2R", _) => format!("{opcode} {}", rest.last().unwrap_or(&"")),
        (_, true) => opcode + " .CC",
        _ => opcode,
    }
}
