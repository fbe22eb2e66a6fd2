//! `cargo xtask probe-encodings`: what the table of 128-bit instructions gets wrong, found by asking NVIDIA's
//! disassembler.
//!
//! A sweep tries each opcode with all other bits 0; for an opcode without a row, the fields of a new row are proposed.
//! Then each row is probed on each of its architectures: some random words, and some legal ones among them with each
//! bit changed alone and with random pairs of bits changed. A word that differs is reported with both texts, so that a
//! row can be corrected, narrowed or split.

mod fields;
mod rows;

use anyhow::{Context, bail};
use warpbound_base::Family;
use warpbound_isa::nvidia::Arch;

use crate::disasm_compare::{Oracles, our_texts, with_plain_control, without_guard};
use crate::repository::Repository;

pub(crate) const HELP: &str = "\
usage: cargo xtask probe-encodings [--only SM] [--opcode HEX] [--show COUNT]

Asks oracle/bin/cu13/nvdisasm, and oracle/bin/nvdisasm for sm_70 and sm_72, what isa/nvidia/volta.forms gets wrong.
Prints the opcodes (bits 11:0 and, as bit 12, bit 91) that only one side accepts, with the fields of those without a
row, and the rows that differ with the smallest change of a word that shows it. Fails if anything differs.

  --only SM      only this architecture
  --opcode HEX   only this opcode
  --show COUNT   number of differences to print for each row (3)";

struct Options {
    only: Option<u32>,
    opcode: Option<u32>,
    show: usize,
}

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let options = parse(arguments)?;
    let oracles = Oracles::find(repository)?;
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
            other => bail!("unknown argument {other:?}"),
        }
    }
    Ok(options)
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
