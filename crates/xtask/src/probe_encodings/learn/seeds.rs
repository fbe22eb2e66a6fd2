//! Words from which learning begins: words of the rows of other chips, of related opcodes, and of cubins.

use std::collections::BTreeSet;
use std::path::PathBuf;

use warpbound_base::Family;
use warpbound_isa::nvidia::{Arch, Form, table};

use crate::disasm_compare::{SplitMix, real_words, word_of_form};
use crate::disasm_compare::{with_plain_control, without_guard};
use crate::probe_encodings::rows::opcode;
use crate::probe_encodings::word_of_opcode;

/// Words of each row.
const OF_ROW: usize = 14;

/// Bits that tell forms of the same operation apart: the kinds of its operands.
const FORM: u32 = 0xe00 | 1 << 12;

/// Words of an opcode, with guard PT and a plain control field.
pub(super) struct Seeds {
    /// Words of cubins of the chip, or of all chips if it has none.
    real: Vec<u128>,
}

impl Seeds {
    /// Reads the cubins below some directories.
    pub(super) fn read(directories: &[PathBuf], arch: Arch) -> anyhow::Result<Seeds> {
        let mut words = real_words(directories)?;
        let own = words.remove(&arch.sm());
        let real = match own {
            Some(own) => own.into_iter().collect(),
            None => words.into_values().flatten().collect(),
        };
        Ok(Seeds { real })
    }

    /// Words of an opcode that may be legal on a chip. Rows of the chip itself are not used, so that it can be learned as
    /// if the table did not have it.
    pub(super) fn of(&self, random: &mut SplitMix, wanted: u32, arch: Arch) -> Vec<u128> {
        let plain = word_of_opcode(wanted);
        let bits = 0xfff | 1 << 91;
        let mut words = BTreeSet::from([plain]);
        let mut add = |word: u128| {
            let word = with_plain_control(without_guard(word));
            words.insert(word & !bits | plain & bits);
        };
        let real = self.real.iter().filter(|word| opcode(**word) == wanted);
        real.for_each(|word| add(*word));
        let others = Arch::of_family(Family::Volta).filter(|other| *other != arch);
        let others: Vec<Arch> = others.collect();
        let rows = table(arch).forms().map(|(_, form)| form);
        let on_others = |form: &&Form| others.iter().any(|other| form.exists_on(*other));
        let rows = rows.filter(|form| form.is_instruction()).filter(on_others);
        for form in rows.filter(|form| opcode(form.value) & !FORM == wanted & !FORM) {
            for _ in 0..OF_ROW {
                add(word_of_form(random, form));
            }
        }
        words.into_iter().collect()
    }
}
