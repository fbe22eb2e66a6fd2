//! Words of 128 bits compared with recorded output of NVIDIA's disassembler (`wide_spelling.txt`): rows of `SM word
//! text`, with `!` for a word that is no instruction. Targets are those of an instruction at address 0.

use std::collections::BTreeMap;

use warpbound_base::Family;
use warpbound_isa::nvidia::{SassProgram, table};
use warpbound_isa::{Arch, TargetStyle};

static RECORDED: &str = include_str!("../data/wide_spelling.txt");

/// Parses all rows and lists: they are parsed on demand, so a fault in one could remain undetected.
#[test]
fn every_wide_row_reads() {
    let table = table(Arch::Sm90);
    assert_eq!(table.check(), Ok(()));
    let rows = include_str!("../../../../isa/nvidia/volta.forms").lines();
    let rows = rows.filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    assert_eq!(table.forms().count(), rows.count());
}

#[test]
fn wide_masks_are_disjoint_or_nested() {
    let table = table(Arch::Sm90);
    for arch in Arch::of_family(Family::Volta) {
        let forms: Vec<_> = table
            .forms()
            .map(|(_, form)| form)
            .filter(|form| form.exists_on(arch))
            .collect();
        for (at, a) in forms.iter().enumerate() {
            for b in &forms[at + 1..] {
                let common = a.mask & b.mask;
                let nested = common == a.mask || common == b.mask;
                assert!(
                    (a.value ^ b.value) & common != 0 || nested && a.mask != b.mask,
                    "{arch}: {:032x}/{:032x} and {:032x}/{:032x} overlap",
                    a.value,
                    a.mask,
                    b.value,
                    b.mask,
                );
            }
        }
    }
}

#[test]
fn every_recorded_wide_word_is_spelled_as_recorded() {
    let mut wrong: BTreeMap<(u32, String), Vec<String>> = BTreeMap::new();
    let (mut compared, mut differ) = (0, 0);
    for line in RECORDED.lines().filter(|line| !line.starts_with('#')) {
        let mut columns = line.splitn(3, ' ');
        let (Some(sm), Some(word), Some(text)) = (columns.next(), columns.next(), columns.next())
        else {
            panic!("three columns expected: {line}");
        };
        let arch = sm
            .parse()
            .ok()
            .and_then(Arch::from_sm)
            .expect("an SM number");
        let word = u128::from_str_radix(word, 16).expect("a word");
        let program = SassProgram::decode(arch, &word.to_le_bytes()).expect("a word");
        let instr = program.instrs.first().expect("one instruction");
        let ours = program.text(instr, TargetStyle::Hex);
        let ours = ours.as_deref().unwrap_or("!");
        compared += 1;
        if ours != text {
            differ += 1;
            let shown = if text == "!" { ours } else { text };
            let mnemonic = shown.split(['.', ' ']).next().unwrap_or_default();
            let of_mnemonic = wrong.entry((arch.sm(), mnemonic.to_owned())).or_default();
            of_mnemonic.push(format!(
                "{word:032x}\n        ours     {ours}\n        recorded {text}"
            ));
        }
    }
    let report: Vec<String> = wrong
        .iter()
        .map(|((sm, mnemonic), words)| {
            let some: Vec<&str> = words.iter().take(2).map(String::as_str).collect();
            format!(
                "sm_{sm} {mnemonic}: {}\n    {}",
                words.len(),
                some.join("\n    ")
            )
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{differ} of {compared} words differ\n{}",
        report.join("\n")
    );
}
