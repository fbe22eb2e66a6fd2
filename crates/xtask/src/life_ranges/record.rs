//! Record of the marks of random words, in a file that a test reads.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use anyhow::Context;
use warpbound_base::Family;
use warpbound_isa::{Arch, Reg};

use crate::repository::Repository;

/// Paths of the records, relative to the root of the repository.
const RECORDS: [&str; 2] = [
    "crates/isa/tests/data/life_ranges.txt",
    "crates/isa/tests/data/wide_life_ranges.txt",
];

/// Registers read and written by word and SM number.
pub(super) type Marked = BTreeMap<u128, BTreeMap<u32, (BTreeSet<Reg>, BTreeSet<Reg>)>>;

pub(super) fn write(repository: &Repository, marked: &Marked, wide: bool) -> anyhow::Result<()> {
    let (release, option, digits) = match wide {
        false => ("12.4", "", 16),
        true => ("13.5", " --wide", 32),
    };
    let path = RECORDS[usize::from(wide)];
    let mut out = format!(
        "# Marks of nvdisasm {release} -plr: word, architectures, registers read, `>`, registers written.\n\
         # Written by `cargo xtask life-ranges --forms COUNT{option} --record`.\n",
    );
    for (word, by_arch) in marked {
        let mut by_marks: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (sm, (reads, writes)) in by_arch {
            let marks = format!("{}> {}", names(reads), names(writes));
            by_marks.entry(marks).or_default().push(sm.to_string());
        }
        for (marks, archs) in by_marks {
            let archs = if !wide && archs.len() == Arch::of_family(Family::Maxwell).count() {
                "all".to_owned()
            } else {
                archs.join(",")
            };
            writeln!(out, "{word:0digits$x} {archs} {}", marks.trim_end())?;
        }
    }
    fs::write(repository.root().join(path), &out)
        .with_context(|| format!("cannot write {path}"))?;
    println!("{path}: {} words, {} bytes", marked.len(), out.len());
    Ok(())
}

/// Returns the names of registers, each followed by a blank: `R0 P1 `.
fn names(registers: &BTreeSet<Reg>) -> String {
    registers
        .iter()
        .map(|register| format!("{register} "))
        .collect()
}
