//! Agreement of rows with the disassembler on random words, as a count.

use warpbound_base::CodeAddr;
use warpbound_isa::nvidia::{Arch, Form, ProposedRows, table};

use super::answers::Disassembler;
use crate::disasm_compare::{SplitMix, our_texts, word_of_form};
use crate::disasm_compare::{with_plain_control, without_guard};
use crate::probe_encodings::rows::opcode;

/// Agreement of the rows of an opcode.
#[derive(Default)]
pub(super) struct Agreement {
    /// Random words, and how many of them are legal.
    pub(super) words: usize,
    pub(super) legal: usize,
    /// Words on which the learned rows agree.
    pub(super) learned: usize,
    /// Words on which the rows of the table agree.
    pub(super) table: usize,
    /// Mask and value of each row, its words and those on which it agrees.
    pub(super) rows: Vec<(u128, u128, usize, usize)>,
    /// Words on which the learned rows differ.
    pub(super) differing: Vec<Differing>,
}

/// A word on which a learned row differs.
pub(super) struct Differing {
    pub(super) word: u128,
    pub(super) ours: Option<String>,
    pub(super) theirs: Option<String>,
}

/// Compares rows on random words of an opcode: half of them drawn by the learned rows, half by the rows of the table, or
/// all by one if the other has none.
pub(super) fn measure(
    disassembler: &dyn Disassembler,
    arch: Arch,
    wanted: u32,
    rows: &ProposedRows,
    count: usize,
) -> anyhow::Result<Agreement> {
    let mut random = SplitMix(u64::from(wanted) << 16 | u64::from(arch.sm()));
    let learned: Vec<&Form> = rows.forms().filter(|form| form.is_instruction()).collect();
    let known = table(arch).forms().map(|(_, form)| form);
    let known = known.filter(|form| form.is_instruction() && form.exists_on(arch));
    let known: Vec<&Form> = known.filter(|form| opcode(form.value) == wanted).collect();
    let mut words = Vec::new();
    for at in 0..count * 4 {
        let (first, second) = match at % 2 {
            0 => (&learned, &known),
            _ => (&known, &learned),
        };
        let Some(form) = random.choose(first).or_else(|| random.choose(second)) else {
            break;
        };
        let word = with_plain_control(without_guard(word_of_form(&mut random, form)));
        // A fixed bit may have been flipped.
        if opcode(word) == wanted && words.len() < count {
            words.push(word);
        }
    }
    let table_texts = our_texts(arch, &words)?;
    let lines = disassembler.lines(&words)?;
    let mut agreement = Agreement::default();
    let mut forms: Vec<&Form> = rows.forms().collect();
    forms.sort_by_key(|form| std::cmp::Reverse(form.mask.count_ones()));
    agreement.rows = forms
        .iter()
        .map(|form| (form.mask, form.value, 0, 0))
        .collect();
    for (at, (word, (address, theirs))) in words.iter().zip(lines).enumerate() {
        let ours = rows.text(*word, CodeAddr(address));
        let equal = ours == theirs;
        agreement.words += 1;
        agreement.legal += usize::from(theirs.is_some());
        agreement.learned += usize::from(equal);
        let table_text = table_texts.get(at).cloned().flatten();
        agreement.table += usize::from(same_elsewhere(&table_text, &theirs, at, address));
        let mut rows = agreement.rows.iter_mut();
        if let Some(row) = rows.find(|(mask, value, ..)| word & mask == *value) {
            row.2 += 1;
            row.3 += usize::from(equal);
        }
        if !equal {
            agreement.differing.push(Differing {
                word: *word,
                ours,
                theirs,
            });
        }
    }
    Ok(agreement)
}

/// Whether two texts are equal but for the addresses at which the words were: the table listed word `at` of a sequence.
fn same_elsewhere(ours: &Option<String>, theirs: &Option<String>, at: usize, address: u32) -> bool {
    let (Some(ours), Some(theirs)) = (ours, theirs) else {
        return ours == theirs;
    };
    let moved = |text: &str, by: i64| {
        let digits = text.rfind("0x")?;
        let number = u64::from_str_radix(text.get(digits + 2..)?, 16).ok()? as i64;
        let negative = text.get(..digits)?.ends_with('-');
        let number = if negative {
            number.wrapping_neg()
        } else {
            number
        };
        Some((
            text.get(..digits)?.trim_end_matches('-').to_owned(),
            number.wrapping_sub(by),
        ))
    };
    let by = i64::try_from(at).unwrap_or_default() * 16;
    ours == theirs || {
        let ours = moved(ours, by);
        ours.is_some() && ours == moved(theirs, address.into())
    }
}
