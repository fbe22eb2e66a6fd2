//! From a word to its form.

use super::arch::Arch;
use super::form::{Form, FormId};
use super::names::{Names, NamesId};
use super::template::Field;
use std::sync::OnceLock;
use warpbound_base::{Bits, Diagnostic};

static FORMS: &str = include_str!("../../../../isa/nvidia/maxwell.forms");
static NAMES: &str = include_str!("../../../../isa/nvidia/maxwell.names");

/// Words are bucketed by this many top bits.
const INDEX_BITS: u32 = 13;

/// The instruction table of Maxwell and Pascal, indexed for decoding.
#[derive(Debug)]
pub struct Table {
    forms: Vec<Form>,
    names: [Names; 4],
    /// Per architecture and row, the fields with values that are no instruction.
    holes: [Vec<Vec<(NamesId, Field)>>; 4],
    /// Per architecture and bucket, the rows that can match, most specific mask first.
    index: [Vec<Vec<u16>>; 4],
}

impl Table {
    fn parse() -> Result<Table, String> {
        let [sm50, sm52, sm60, sm61] = Arch::ALL.map(|arch| Names::parse(NAMES, arch));
        let names = [sm50?, sm52?, sm60?, sm61?];
        let shared = names.first().ok_or("no architecture")?;
        let mut forms = Vec::new();
        for (number, line) in FORMS.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let form = Form::parse(line, shared)
                .map_err(|error| format!("forms: line {}: {error}", number + 1))?;
            forms.push(form);
        }
        if forms.len() > usize::from(u16::MAX) {
            return Err("forms: too many rows".to_string());
        }
        let index = Arch::ALL.map(|arch| buckets(&forms, arch));
        let holes = names
            .each_ref()
            .map(|names| forms.iter().map(|form| holes(form, names)).collect());
        Ok(Table {
            forms,
            names,
            holes,
            index,
        })
    }

    /// The rows, in the order of the file.
    pub fn forms(&self) -> impl Iterator<Item = (FormId, &Form)> {
        self.forms
            .iter()
            .enumerate()
            .map(|(at, form)| (FormId(at as u16), form))
    }

    /// The row of that id; ids come from this table, so `None` does not happen.
    pub fn form(&self, id: FormId) -> Option<&Form> {
        self.forms.get(usize::from(id.0))
    }

    /// Spellings and counts of an architecture.
    pub(crate) fn names(&self, arch: Arch) -> &Names {
        let [sm50, sm52, sm60, sm61] = &self.names;
        match arch {
            Arch::Sm50 => sm50,
            Arch::Sm52 => sm52,
            Arch::Sm60 => sm60,
            Arch::Sm61 => sm61,
        }
    }

    /// The form that encodes `word` on `arch`: the most specific mask that matches. `None` when
    /// no row matches or a field has a value that the chip does not accept.
    pub fn find(&self, arch: Arch, word: u64) -> Option<FormId> {
        let bucket = self
            .index
            .get(arch.index())?
            .get((word >> (64 - INDEX_BITS)) as usize)?;
        for &row in bucket {
            let form = self.forms.get(usize::from(row))?;
            if word & form.mask == form.value {
                return self.legal(arch, row, form, word).then_some(FormId(row));
            }
        }
        None
    }

    /// Whether the row that matches does not exclude the word by a field's value.
    fn legal(&self, arch: Arch, row: u16, form: &Form, word: u64) -> bool {
        let names = self.names(arch);
        let word = u128::from(word);
        let holes = self
            .holes
            .get(arch.index())
            .and_then(|rows| rows.get(usize::from(row)));
        !form.does.illegal
            && form.does.zero.is_none_or(|range| word.field(range) == 0)
            && holes.is_some_and(|fields| {
                fields
                    .iter()
                    .all(|(id, field)| names.text(*id, field.get(word)).is_some())
            })
    }
}

fn holes(form: &Form, names: &Names) -> Vec<(NamesId, Field)> {
    form.spelled
        .iter()
        .filter(|(id, _)| names.has_holes(*id))
        .cloned()
        .collect()
}

fn buckets(forms: &[Form], arch: Arch) -> Vec<Vec<u16>> {
    let mut order: Vec<(u16, &Form)> = forms
        .iter()
        .enumerate()
        .filter(|(_, form)| form.exists_on(arch))
        .map(|(at, form)| (at as u16, form))
        .collect();
    order.sort_by_key(|(_, form)| std::cmp::Reverse(form.mask.count_ones()));
    let shift = 64 - INDEX_BITS;
    let mut buckets = vec![Vec::new(); 1 << INDEX_BITS];
    for (row, form) in order {
        let fixed = (form.value >> shift) as usize;
        let free = !((form.mask >> shift) as usize) & ((1 << INDEX_BITS) - 1);
        // Every subset of the free bits in ascending order: a test of each row against each bucket would be
        // most of the time that a short listing takes.
        let mut subset = 0;
        loop {
            if let Some(bucket) = buckets.get_mut(fixed | subset) {
                bucket.push(row);
            }
            if subset == free {
                break;
            }
            subset = subset.wrapping_sub(free) & free;
        }
    }
    buckets
}

/// The table, read once.
///
/// Fails only when the data files inside this program are wrong, which a test rules out.
pub fn table() -> Result<&'static Table, Diagnostic> {
    static TABLE: OnceLock<Result<Table, String>> = OnceLock::new();
    TABLE.get_or_init(Table::parse).as_ref().map_err(|error| {
        Diagnostic::new(format!("instruction table is damaged: {error}"))
            .hint("this is a fault of the program, not of its input; please report it")
    })
}
