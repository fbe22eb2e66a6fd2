//! Random words of 128 bits of every form, in generated cubins, since the tool prints life ranges of ELF files only.

use warpbound_base::Family;
use warpbound_isa::nvidia::{Form, FormId, SassProgram, table};
use warpbound_isa::{Arch, InstrFlow};

use super::{LifeRangeTally, Releases, compare};
use crate::disasm_compare::{Oracles, SplitMix, with_plain_control, without_guard, word_of_form};
use crate::repository::Repository;

/// Words of a file; the tool's time grows faster than their number.
const BATCH: usize = 250;

/// Maximum number of random draws for one suitable word.
const MAX_DRAWS: usize = 60;

/// `EXIT`, unconditional, stall 1.
const EXIT: u128 = 0x94d | 7 << 12 | 7 << 87 | 0x7e1 << 105;

/// Compares `count` words of every form without control flow, on each architecture that release 13.5 reads.
pub(super) fn compare_forms(
    repository: &Repository,
    nvdisasm: &Releases,
    tally: &mut LifeRangeTally,
    count: usize,
    seed: u64,
) -> anyhow::Result<()> {
    let oracles = Oracles::find(repository)?;
    let mut random = SplitMix(seed);
    for arch in Arch::of_family(Family::Volta).filter(|arch| arch.sm() >= 75) {
        let mut words = Vec::new();
        for (id, form) in table(arch).forms() {
            if form.is_instruction() && form.exists_on(arch) {
                words.extend((0..count).filter_map(|_| plain_word(arch, id, form, &mut random)));
            }
        }
        let legal = oracles.texts(arch, &words)?;
        let words: Vec<u128> = words
            .into_iter()
            .zip(legal)
            .filter_map(|(word, text)| text.map(|_| word))
            .collect();
        // The tool crashes on some words; bisection of the batch finds them.
        let mut batches: Vec<&[u128]> = words.chunks(BATCH).rev().collect();
        while let Some(batch) = batches.pop() {
            match (compare(nvdisasm, tally, &cubin(arch, batch)), batch) {
                (Ok(()), _) => {}
                (Err(_), [_]) => {
                    tally.count_exception("words on which nvdisasm -plr crashes");
                }
                (Err(_), _) => {
                    let (front, back) = batch.split_at(batch.len() / 2);
                    batches.extend([back, front]);
                }
            }
        }
        println!("sm_{}: {} words", arch.sm(), words.len());
    }
    Ok(())
}

/// Draws a word of the form that is an instruction without control flow.
fn plain_word(arch: Arch, id: FormId, form: &Form, random: &mut SplitMix) -> Option<u128> {
    (0..MAX_DRAWS)
        .map(|_| without_guard(with_plain_control(word_of_form(random, form))))
        .find(|&word| {
            let program = SassProgram::decode(arch, &word.to_le_bytes()).ok();
            program.is_some_and(|program| {
                let instr = &program.instrs[0];
                instr.form == Some(id) && program.effects(instr).flow == InstrFlow::Next
            })
        })
}

/// Returns a cubin with a function of these words and an EXIT.
fn cubin(arch: Arch, words: &[u128]) -> Vec<u8> {
    let code: Vec<u8> = words
        .iter()
        .chain([&EXIT])
        .flat_map(|word| word.to_le_bytes())
        .collect();
    let names = b"\0.shstrtab\0.strtab\0.symtab\0.text.f\0";
    let strings = b"\0f\0";
    // A null symbol, then the function: name 1, type FUNC, global, section 4.
    let mut symbols = vec![0; 24];
    symbols.extend(1u32.to_le_bytes());
    symbols.extend([0x12, 0x10, 4, 0]);
    symbols.extend(0u64.to_le_bytes());
    symbols.extend((code.len() as u64).to_le_bytes());
    let mut file = vec![0; 64];
    let mut sections = vec![0; 64];
    // Name, type, flags, alignment, link, information, size of an entry.
    let mut add = |head: [u32; 7], bytes: &[u8]| {
        let [name, kind, flags, align, link, info, entry] = head;
        file.resize(file.len().next_multiple_of(align as usize), 0);
        sections.extend(name.to_le_bytes());
        sections.extend(kind.to_le_bytes());
        for word in [flags.into(), 0, file.len() as u64, bytes.len() as u64] {
            sections.extend(u64::to_le_bytes(word));
        }
        sections.extend(link.to_le_bytes());
        sections.extend(info.to_le_bytes());
        sections.extend(u64::from(align).to_le_bytes());
        sections.extend(u64::from(entry).to_le_bytes());
        file.extend(bytes);
    };
    add([1, 3, 0, 1, 0, 0, 0], names);
    add([11, 3, 0, 1, 0, 0, 0], strings);
    add([19, 2, 0, 8, 2, 1, 24], &symbols);
    add([27, 1, 6, 128, 3, 0xff00_0001, 0], &code);
    file.resize(file.len().next_multiple_of(8), 0);
    let table = file.len() as u64;
    file.extend(sections);
    let mut head = Vec::from(*b"\x7fELF\x02\x01\x01\x41\x08\0\0\0\0\0\0\0");
    head.extend(2u16.to_le_bytes());
    head.extend(190u16.to_le_bytes());
    head.extend(1u32.to_le_bytes());
    head.extend([0; 16]);
    head.extend(table.to_le_bytes());
    head.extend((0x0600_0004 | arch.sm() << 8).to_le_bytes());
    for half in [64u16, 0, 0, 64, 5, 1] {
        head.extend(half.to_le_bytes());
    }
    file[..64].copy_from_slice(&head);
    file
}
