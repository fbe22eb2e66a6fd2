//! Comparison of every instruction of many cubins, each distinct word once.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use warpbound_isa::nvidia::Arch;

use super::record::layout;
use super::{BATCH, Slotted, TextTally, compare, instruction_words};
use crate::cubin;
use crate::nvdisasm::Nvdisasm;

/// Words of the cubins below some directories.
#[derive(Default)]
pub(super) struct DistinctWords {
    files: usize,
    /// Number of files for other architectures or that are not cubins.
    skipped: usize,
    sections: usize,
    /// Number of instructions, with repetitions, by SM number.
    instructions: BTreeMap<u32, u64>,
    /// Words and the slot bits that affect the text, by SM number (53 counts as 52, 62 as 61).
    pub(super) by_arch: BTreeMap<u32, HashSet<Slotted>>,
}

/// Reads all cubins, one at a time, and collects their distinct words.
pub(super) fn distinct_words(directories: &[PathBuf]) -> anyhow::Result<DistinctWords> {
    let mut words = DistinctWords::default();
    for file in cubin::cubins_below(directories)? {
        let contents = cubin::read(&file)?;
        let found = cubin::code_sections(&contents)
            .and_then(|(sm, sections)| Some((Arch::from_sm(sm)?, sections)));
        let Some((arch, sections)) = found else {
            words.skipped += 1;
            continue;
        };
        words.files += 1;
        words.sections += sections.len();
        let distinct = words.by_arch.entry(arch.sm()).or_default();
        let count = words.instructions.entry(arch.sm()).or_default();
        for section in sections {
            for word in instruction_words(&section.code) {
                *count += 1;
                distinct.insert(word);
            }
        }
    }
    Ok(words)
}

/// Compares each distinct word of the cubins once per architecture.
pub(super) fn compare_all(
    nvdisasm: &Nvdisasm,
    tally: &mut TextTally,
    directories: &[PathBuf],
) -> anyhow::Result<()> {
    let words = distinct_words(directories)?;
    println!(
        "{} cubins with {} code sections; {} other files",
        words.files, words.sections, words.skipped
    );
    for (sm, distinct) in words.by_arch {
        println!(
            "sm_{sm}: {} instructions, {} distinct words",
            words.instructions.get(&sm).copied().unwrap_or_default(),
            distinct.len()
        );
        // The iteration order of a hash set is random.
        let mut distinct: Vec<Slotted> = distinct.into_iter().collect();
        distinct.sort_unstable();
        for batch in distinct.chunks(BATCH) {
            compare(nvdisasm, tally, "word of a cubin", sm, &layout(batch))?;
        }
    }
    Ok(())
}
