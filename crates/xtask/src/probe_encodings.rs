//! `cargo xtask probe-encodings`: what the table of 128-bit instructions gets wrong, found by asking NVIDIA's
//! disassembler.
//!
//! A sweep tries each opcode with all other bits 0; for an opcode without a row, the fields of a new row are proposed.
//! Then each row is probed on each of its architectures: some random words, and some legal ones among them with each
//! bit changed alone and with random pairs of bits changed. A word that differs is reported with both texts, so that a
//! row can be corrected, narrowed or split. With `--learn`, whole rows are
//! learned.

mod fields;
mod learn;
mod rows;

use std::path::PathBuf;

use anyhow::{Context, bail};
use warpbound_base::Family;
use warpbound_isa::nvidia::Arch;

use crate::disasm_compare::{Oracles, our_texts, with_plain_control, without_guard};
use crate::repository::Repository;

pub(crate) const HELP: &str = "\
usage: cargo xtask probe-encodings [--only SM] [--opcode HEX] [--show COUNT]
       cargo xtask probe-encodings --learn HEX[,HEX...] --chip SM[,SM...] [--from DIRECTORY] [--words COUNT]
                                   [--into FILE] [--show COUNT]

Asks oracle/bin/cu13/nvdisasm, and oracle/bin/nvdisasm for sm_70 and sm_72, what isa/nvidia/volta.forms gets wrong.
Prints the opcodes (bits 11:0 and, as bit 12, bit 91) that only one side accepts, with the fields of those without a
row, and the rows that differ with the smallest change of a word that shows it. Fails if anything differs.

  --only SM      only this architecture
  --opcode HEX   only this opcode
  --show COUNT   number of differences to print for each row, or each learned opcode (3)

With --learn, rows of opcodes are learned as if the table did not have the chip: from words of the rows of other
chips and of related opcodes. Prints for each opcode on how many random words the learned rows and those of the table
agree with the disassembler, for each row the same, what no row can say, and then rows and new lists for
volta.forms and volta.names, with those of several chips folded into one.

  --learn HEX    opcodes, separated by commas; `all`: every opcode that the disassembler or the table accepts
  --chip SM      chips, separated by commas
  --from DIRECTORY  words of the files *.cubin below it are tried, too
  --words COUNT  random words for each opcode (1000)
  --into FILE    write the rows to this file, and the lists to the file of this name that ends in .names";

struct Options {
    only: Option<u32>,
    opcode: Option<u32>,
    show: usize,
    learn: Option<String>,
    chips: Vec<Arch>,
    directories: Vec<PathBuf>,
    words: usize,
    into: Option<PathBuf>,
}

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let options = parse(arguments)?;
    let oracles = Oracles::find(repository)?;
    if let Some(opcodes) = &options.learn {
        return run_learn(repository, &oracles, opcodes, &options);
    }
    let mut differences = 0;
    for arch in Arch::of_family(Family::Volta) {
        if options
            .only
            .is_some_and(|sm| Arch::from_sm(sm) != Some(arch))
        {
            continue;
        }
        differences += sweep(&oracles, arch, options.opcode)?;
        differences += rows::probe(&oracles, arch, options.opcode, options.show)?;
    }
    match differences {
        0 => Ok(()),
        _ => bail!("{differences} differences"),
    }
}

fn parse(arguments: &[String]) -> anyhow::Result<Options> {
    let mut options = Options {
        only: None,
        opcode: None,
        show: 3,
        learn: None,
        chips: Vec::new(),
        directories: Vec::new(),
        words: 1000,
        into: None,
    };
    let mut arguments = arguments.iter();
    while let Some(flag) = arguments.next() {
        let value = arguments
            .next()
            .with_context(|| format!("{flag} needs a value"))?;
        match flag.as_str() {
            "--only" => options.only = Some(value.parse()?),
            "--opcode" => options.opcode = Some(u32::from_str_radix(value, 16)?),
            "--show" => options.show = value.parse()?,
            "--learn" => options.learn = Some(value.clone()),
            "--chip" => options.chips = chips(value)?,
            "--from" => options.directories.push(PathBuf::from(value)),
            "--words" => options.words = value.parse()?,
            "--into" => options.into = Some(PathBuf::from(value)),
            other => bail!("unknown argument {other:?}"),
        }
    }
    Ok(options)
}

/// Chips of a list of SM numbers.
fn chips(text: &str) -> anyhow::Result<Vec<Arch>> {
    let chip = |sm: &str| {
        let arch = Arch::from_sm(sm.parse()?).filter(|arch| arch.family() == Family::Volta);
        arch.with_context(|| format!("no chip of 128-bit instructions is sm_{sm}"))
    };
    text.split(',').map(chip).collect()
}

fn run_learn(
    repository: &Repository,
    oracles: &Oracles,
    opcodes: &str,
    options: &Options,
) -> anyhow::Result<()> {
    if options.chips.is_empty() {
        bail!("--learn needs --chip");
    }
    let opcodes: Vec<u32> = match opcodes {
        "all" => (0..1 << 13).collect(),
        list => list
            .split(',')
            .map(|opcode| u32::from_str_radix(opcode.trim_start_matches("0x"), 16))
            .collect::<Result<_, _>>()?,
    };
    let options = learn::LearnOptions {
        opcodes,
        archs: options.chips.clone(),
        directories: options.directories.clone(),
        words: options.words,
        show: options.show,
        into: options.into.clone(),
    };
    learn::run(repository, oracles, &options)
}

/// Word with an opcode of 13 bits and nothing else.
fn word_of_opcode(opcode: u32) -> u128 {
    let word = u128::from(opcode & 0xfff) | u128::from(opcode >> 12) << 91;
    with_plain_control(without_guard(word))
}

/// Tries all opcodes; returns the number of those that only one side accepts or that have another text.
fn sweep(oracles: &Oracles, arch: Arch, only: Option<u32>) -> anyhow::Result<usize> {
    let opcodes: Vec<u32> = (0..1 << 13)
        .filter(|opcode| only.is_none_or(|only| only == *opcode))
        .collect();
    let words: Vec<u128> = opcodes
        .iter()
        .map(|&opcode| word_of_opcode(opcode))
        .collect();
    let theirs = oracles.texts(arch, &words)?;
    let ours = our_texts(arch, &words)?;
    let mut accepted = 0;
    let mut differ = 0;
    for ((opcode, theirs), ours) in opcodes.iter().zip(&theirs).zip(&ours) {
        accepted += usize::from(theirs.is_some());
        if ours == theirs {
            continue;
        }
        differ += 1;
        let shown = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        println!(
            "sm_{} opcode {opcode:#06x}: ours {}, theirs {}",
            arch.sm(),
            shown(ours),
            shown(theirs)
        );
        if let (Some(text), None) = (theirs, ours) {
            fields::propose(oracles, arch, word_of_opcode(*opcode), text)?;
        }
    }
    println!(
        "sm_{}: {accepted} opcodes with all other bits 0 are legal, {differ} differ",
        arch.sm()
    );
    Ok(differ)
}
