//! Rows of the table against the disassembler: random words, and legal words with one or two bits changed.

use std::collections::BTreeMap;

use warpbound_isa::nvidia::{Arch, Form, table};

use crate::disasm_compare::{
    Oracles, SplitMix, our_texts, with_plain_control, without_guard, word_of_form,
};

/// Random words of each row from which the legal ones are taken that are changed.
const TRIES: usize = 40;

/// Legal words of each row that are changed, at most.
const BASES: usize = 2;

/// Random pairs of bits that are changed in each legal word.
const PAIRS: usize = 120;

/// Bits that are changed: all between the guard and the control field, with bit 91, which belongs to the opcode.
const BITS: std::ops::Range<u32> = 16..105;

/// Probes all rows of an architecture; returns the number of rows that differ.
pub(super) fn probe(
    oracles: &Oracles,
    arch: Arch,
    only: Option<u32>,
    show: usize,
) -> anyhow::Result<usize> {
    let forms: Vec<&Form> = table(arch)
        .forms()
        .map(|(_, form)| form)
        .filter(|form| form.exists_on(arch) && form.is_instruction())
        .filter(|form| only.is_none_or(|only| only == opcode(form.value)))
        .collect();
    let mut random = SplitMix(arch.sm().into());
    let tries: Vec<(usize, u128)> = (0..forms.len() * TRIES)
        .filter_map(|at| {
            let row = at / TRIES;
            let word = word_of_form(&mut random, forms.get(row)?);
            Some((row, with_plain_control(without_guard(word))))
        })
        .collect();
    let words: Vec<u128> = tries.iter().map(|(_, word)| *word).collect();
    let texts = oracles.texts(arch, &words)?;
    let mut bases: BTreeMap<usize, Vec<u128>> = BTreeMap::new();
    for ((row, word), text) in tries.iter().zip(&texts) {
        let of_row = bases.entry(*row).or_default();
        if text.is_some() && of_row.len() < BASES {
            of_row.push(*word);
        }
    }
    let mut probes = tries;
    for (row, bases) in &bases {
        for base in bases {
            probes.extend(changes(&mut random, *base).map(|word| (*row, word)));
        }
    }
    report(oracles, arch, &forms, &probes, show)
}

/// The word with each bit changed alone, and with pairs of bits.
fn changes(random: &mut SplitMix, base: u128) -> impl Iterator<Item = u128> {
    let mut words: Vec<u128> = BITS.map(|bit| base ^ 1 << bit).collect();
    let width = u64::from(BITS.end - BITS.start);
    for _ in 0..PAIRS {
        let bit = |random: &mut SplitMix| 1u128 << (u64::from(BITS.start) + random.next() % width);
        words.push(base ^ bit(random) ^ bit(random));
    }
    words.into_iter()
}

/// Compares the probes and prints the rows that differ.
fn report(
    oracles: &Oracles,
    arch: Arch,
    forms: &[&Form],
    probes: &[(usize, u128)],
    show: usize,
) -> anyhow::Result<usize> {
    let words: Vec<u128> = probes.iter().map(|(_, word)| *word).collect();
    let theirs = oracles.texts(arch, &words)?;
    let ours = our_texts(arch, &words)?;
    let mut by_row: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for (((row, word), ours), theirs) in probes.iter().zip(ours).zip(theirs) {
        if ours == theirs {
            continue;
        }
        by_row.entry(*row).or_default().push(format!(
            "    {word:032x}\n        ours   {}\n        theirs {}",
            ours.as_deref().unwrap_or("(no instruction)"),
            theirs.as_deref().unwrap_or("(rejected)")
        ));
    }
    for (row, differences) in &by_row {
        let Some(form) = forms.get(*row) else {
            continue;
        };
        println!(
            "sm_{} {} {:032x}/{:032x}: {} differ",
            arch.sm(),
            form.mnemonic(),
            form.value,
            form.mask,
            differences.len()
        );
        for difference in differences.iter().take(show) {
            println!("{difference}");
        }
    }
    println!(
        "sm_{}: {} words of {} rows, {} rows differ",
        arch.sm(),
        probes.len(),
        forms.len(),
        by_row.len()
    );
    Ok(by_row.len())
}

/// Opcode of a word: bits 11:0, and bit 91 as bit 12.
pub(super) fn opcode(word: u128) -> u32 {
    (word & 0xfff) as u32 | ((word >> 91 & 1) as u32) << 12
}
