//! Decoding: the form of an instruction word.

use super::arch::Arch;
use super::form::{Form, FormId};
use super::names::{Names, NamesId};
use super::opcode::Opcode;
use super::rows::{ENCODINGS, OPCODES, ROWS};
use super::template::Field;
use std::sync::OnceLock;
use warpbound_base::Bits;

/// Instruction table of Maxwell and Pascal.
///
/// Masks, values and opcodes of the rows are parsed at compile time (module `rows`). The rest of a row is parsed when
/// a word first matches it, because a short listing needs few rows and parsing all of them would take most of its
/// time.
#[derive(Debug)]
pub struct FormTable {
    /// Parsed rows. An error names row and column; it is a fault in the compiled-in data files, which a test excludes.
    forms: [OnceLock<Result<Box<Form>, String>>; ROWS],
    archs: [ArchTable; 4],
}

/// Part of the table that depends on the architecture.
#[derive(Debug)]
pub(crate) struct ArchTable {
    names: Names,
    /// Fields of each row that have values which are not an instruction.
    partial_fields: [OnceLock<Vec<(NamesId, Field)>>; ROWS],
}

impl ArchTable {
    const fn new(arch: Arch) -> ArchTable {
        ArchTable {
            names: Names::new(arch),
            partial_fields: [const { OnceLock::new() }; ROWS],
        }
    }

    /// Names, register counts and timing classes.
    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    /// Whether a word that matches the row's mask has only legal field values.
    fn accepts(&self, row: usize, form: &Form, word: u64) -> bool {
        let word = u128::from(word);
        !form.effects.illegal
            && form
                .effects
                .zero_bits
                .is_none_or(|range| word.field(range) == 0)
            && self.partial_fields.get(row).is_some_and(|holes| {
                // Most lists name all their values, so few fields need this check.
                let holes = holes.get_or_init(|| partial_fields(form, &self.names));
                let mut fields = holes.iter();
                fields.all(|(id, field)| self.names.text(*id, field.get(word)).is_some())
            })
    }
}

impl FormTable {
    const fn new() -> FormTable {
        FormTable {
            forms: [const { OnceLock::new() }; ROWS],
            archs: [
                ArchTable::new(Arch::Sm50),
                ArchTable::new(Arch::Sm52),
                ArchTable::new(Arch::Sm60),
                ArchTable::new(Arch::Sm61),
            ],
        }
    }

    /// Parses everything that is otherwise parsed on demand. The error names the row or list that cannot be parsed.
    /// Fails only on a fault in the compiled-in data files, which a test excludes.
    pub fn check(&self) -> Result<(), String> {
        for arch in Arch::ALL {
            self.for_arch(arch).names().check()?;
        }
        for (row, head) in ENCODINGS.heads().iter().enumerate() {
            if let Some(Err(error)) = self.row(row) {
                return Err(format!("forms: {error}: {}", ENCODINGS.line(head)));
            }
        }
        Ok(())
    }

    /// Returns the row with index `row`, parsed on first use.
    fn row(&self, row: usize) -> Option<Result<&Form, &String>> {
        let form = self.forms.get(row)?;
        let form = form.get_or_init(|| Form::parse(row).map(Box::new));
        Some(form.as_ref().map(|form| &**form))
    }

    /// All rows, in the order of the file.
    pub fn forms(&self) -> impl Iterator<Item = (FormId, &Form)> {
        let ids = (0..ROWS).map(|at| FormId(at as u16));
        ids.filter_map(|id| Some((id, self.form(id)?)))
    }

    /// Rows with an opcode, in the order of the file.
    pub(crate) fn forms_of(&self, opcode: Opcode) -> impl Iterator<Item = (FormId, &Form)> {
        let rows = (0..).map(FormId).zip(&OPCODES);
        let rows = rows.filter(move |(_, of_row)| **of_row == opcode);
        rows.filter_map(|(id, _)| Some((id, self.form(id)?)))
    }

    /// Row with an id. Never `None`: ids come from this table.
    pub fn form(&self, id: FormId) -> Option<&Form> {
        self.row(usize::from(id.0))?.ok()
    }

    /// Part of the table for an architecture.
    pub(crate) fn for_arch(&self, arch: Arch) -> &ArchTable {
        let [sm50, sm52, sm60, sm61] = &self.archs;
        match arch {
            Arch::Sm50 => sm50,
            Arch::Sm52 => sm52,
            Arch::Sm60 => sm60,
            Arch::Sm61 => sm61,
        }
    }

    /// Finds the form that encodes `word` on `arch`: the most specific mask that matches. `None` if no row matches or
    /// a field has a value that the chip does not accept. For example, 0x5c10_0000_0007_0000 is `IADD R0, R0, R0`,
    /// and the word of all ones is no instruction.
    pub fn find(&self, arch: Arch, word: u64) -> Option<FormId> {
        // Only the most specific row counts: if it rejects a value, a wider row must not accept the word.
        let row = ENCODINGS.find(arch.index(), word)?;
        self.accept(self.for_arch(arch), row, word)
    }

    /// Form of a word that a row matches; `None` if a field has a value that the chip does not accept.
    pub(crate) fn accept(&self, on: &ArchTable, row: u16, word: u64) -> Option<FormId> {
        let id = FormId(row);
        let form = self.form(id)?;
        on.accepts(usize::from(id.0), form, word).then_some(id)
    }
}

fn partial_fields(form: &Form, names: &Names) -> Vec<(NamesId, Field)> {
    form.name_fields
        .iter()
        .filter(|(id, _)| names.has_invalid_values(*id))
        .cloned()
        .collect()
}

/// Returns the table.
pub fn table() -> &'static FormTable {
    static TABLE: FormTable = FormTable::new();
    &TABLE
}

#[cfg(test)]
mod tests {
    use super::{Arch, FormTable};

    /// Keeps the startup time of listings of small files low.
    #[test]
    fn rows_are_parsed_on_demand() {
        let table = FormTable::new();
        let on = table.for_arch(Arch::Sm61);
        // IADD R0, R0, R0, twice, and a word that is not an instruction.
        for (word, is_instruction) in [
            (0x5c10_0000_0007_0000, true),
            (0x5c10_0000_0017_0000, true),
            (0xffff_ffff_ffff_ffff, false),
        ] {
            assert_eq!(table.find(Arch::Sm61, word).is_some(), is_instruction);
        }
        let rows = table.forms.iter().filter(|form| form.get().is_some());
        assert_eq!(rows.count(), 1);
        assert!(on.names().lists_read() <= 2, "{}", on.names().lists_read());
    }
}
