//! Random words of every form inside a cubin, since the tool prints life ranges of ELF files only.

use anyhow::Context;
use warpbound_base::Family;
use warpbound_isa::nvidia::{Form, FormId, SassProgram, table};
use warpbound_isa::{Arch, InstrFlow, SassInstr};

use super::{LifeRangeTally, Releases, compare};
use crate::cubin::{self, CodeSection};
use crate::disasm_compare::{SplitMix, layout, random_fields};
use crate::repository::Repository;

/// Cubin whose largest code section is replaced by the words.
const HOST: &str = "f64_division.sm_61.cubin";

/// `EXIT`, unconditional.
const EXIT: u64 = 0xe300_0000_0007_000f;

/// Maximum number of random draws for one suitable word.
const MAX_DRAWS: usize = 200;

/// Compares `count` words of every form without control flow.
pub(super) fn compare_forms(
    repository: &Repository,
    nvdisasm: &Releases,
    tally: &mut LifeRangeTally,
    count: usize,
    seed: u64,
) -> anyhow::Result<()> {
    let host = cubin::read(&repository.built_kernels().join(HOST))?;
    let (_, sections) = cubin::code_sections(&host).context("the host is a cubin")?;
    let section = sections
        .iter()
        .max_by_key(|section| section.code.len())
        .context("the host has code")?;
    // The last group is reserved for the final EXIT.
    let capacity = (section.code.len() / 32 - 1) * 3;
    let mut random = SplitMix(seed);
    for arch in Arch::of_family(Family::Maxwell) {
        let mut words = Vec::new();
        for (id, form) in table(arch).forms() {
            if form.is_instruction() && form.exists_on(arch) {
                words.extend((0..count).filter_map(|_| plain_word(arch, id, form, &mut random)));
            }
        }
        // The tool crashes on some words; bisection of the batch finds them.
        let mut batches: Vec<&[(u64, u8)]> = words.chunks(capacity).rev().collect();
        while let Some(batch) = batches.pop() {
            let outcome = compare(nvdisasm, tally, &with_code(&host, section, arch, batch));
            match (outcome, batch) {
                (Ok(()), _) => {}
                (Err(error), [(word, _)]) => {
                    tally.count_exception("words on which nvdisasm -plr crashes");
                    println!("sm_{} {word:#018x}: {error}", arch.sm());
                }
                (Err(_), _) => {
                    let (front, back) = batch.split_at(batch.len() / 2);
                    batches.extend([back, front]);
                }
            }
        }
    }
    Ok(())
}

/// Draws a word of the form that is an instruction without control flow.
fn plain_word(arch: Arch, id: FormId, form: &Form, random: &mut SplitMix) -> Option<(u64, u8)> {
    let program = SassProgram::decode(arch, &layout(&[(0, 0)])).ok()?;
    let template = *program.instrs.first()?;
    (0..MAX_DRAWS)
        .map(|_| form.value as u64 | random_fields(random) & !form.mask as u64)
        .find(|&word| {
            let instr = SassInstr {
                word: word.into(),
                form: Some(id),
                ..template
            };
            table(arch).find(arch, word.into()) == Some(id)
                && program.effects(&instr).flow == InstrFlow::Next
        })
        .map(|word| (word, 0))
}

/// Returns the host cubin with these words and then EXIT to the end of the section, as a file for `arch`.
fn with_code(host: &[u8], section: &CodeSection, arch: Arch, words: &[(u64, u8)]) -> Vec<u8> {
    let mut all = words.to_vec();
    all.resize(section.code.len() / 32 * 3, (EXIT, 0));
    let code = layout(&all);
    let mut file = host.to_vec();
    if let Some(bytes) = file.get_mut(section.offset..section.offset + code.len()) {
        bytes.copy_from_slice(&code);
    }
    if let Some(flags) = file.get_mut(0x30) {
        *flags = arch.sm() as u8;
    }
    file
}
