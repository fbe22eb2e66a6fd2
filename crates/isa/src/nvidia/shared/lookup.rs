//! Decoding: the form of an instruction word.

use super::arch::Arch;
use super::dialect::Dialect;
use super::field::Field;
use super::form::{Form, FormId};
use super::names::{ListValues, Names, NamesId};
use super::opcode::Opcode;
use super::sass_instr::SassInstr;
use crate::encoding::{EncodingTable, RowHead};
use std::sync::OnceLock;
use warpbound_base::{Bits, CodeAddr, Diagnostic};

/// Instruction table of a family.
///
/// The build script parses masks, values and opcodes of the rows. The rest of a row is parsed when a word first
/// matches it, because a short listing needs few rows and parsing all of them would take most of its time.
#[derive(Debug)]
pub struct FormTable {
    dialect: &'static Dialect,
    code: CodeReader,
    rows: Rows,
    /// Parts that depend on the architecture, in the order of [`Dialect::archs`].
    archs: &'static [ArchTable],
}

/// Readers of code, which depend on the width of words and on what stands between them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CodeReader {
    /// Finds the row that matches a word on the architecture with an index: the most specific mask.
    pub(crate) find: fn(usize, u128) -> Option<u16>,
    /// Decodes a code section.
    pub(crate) decode: fn(Arch, &[u8]) -> Result<Vec<SassInstr>, Diagnostic>,
    /// Index of the instruction at an address, in a section without end.
    pub(crate) index_of: fn(CodeAddr) -> Option<usize>,
}

/// Rows of a table, each list in the order of the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows {
    /// Text of the file.
    source: &'static str,
    heads: &'static [RowHead],
    opcodes: &'static [Opcode],
    parsed: &'static [ParsedRow],
}

/// Row whose last columns are parsed on demand. An error names row and column; it is a fault in the compiled-in data
/// files, which a test excludes.
pub(crate) type ParsedRow = OnceLock<Result<Box<Form>, String>>;

impl Rows {
    /// Rows of an encoding table with their opcodes and as many rows that are not parsed yet.
    pub(crate) const fn new<W>(
        encodings: &EncodingTable<W>,
        opcodes: &'static [Opcode],
        parsed: &'static [ParsedRow],
    ) -> Rows {
        Rows {
            source: encodings.text(),
            heads: encodings.heads(),
            opcodes,
            parsed,
        }
    }
}

/// Fields of a row that have values which are not an instruction.
pub(crate) type PartialFields = OnceLock<Box<[(NamesId, Field)]>>;

/// Part of a table that depends on the architecture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArchTable {
    names: Names,
    /// For each row.
    partial_fields: &'static [PartialFields],
}

impl ArchTable {
    /// Part for the architecture with an index in the table.
    pub(crate) const fn new(
        dialect: &'static Dialect,
        arch: usize,
        values: &'static [ListValues],
        partial_fields: &'static [PartialFields],
    ) -> ArchTable {
        ArchTable {
            names: Names::new(arch, dialect.lists, values),
            partial_fields,
        }
    }

    /// Names, register counts and timing classes.
    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    /// Whether a word that matches the row's mask has only legal field values.
    pub(super) fn accepts(&self, row: usize, form: &Form, word: u128) -> bool {
        !form.effects.illegal
            && form.effects.hints.is_none_or(|hints| hints.allow(word))
            && !form.effects.never.iter().any(|cond| cond.holds(word))
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
    /// Table of a family.
    pub(crate) const fn new(
        dialect: &'static Dialect,
        code: CodeReader,
        rows: Rows,
        archs: &'static [ArchTable],
    ) -> FormTable {
        FormTable {
            dialect,
            code,
            rows,
            archs,
        }
    }

    /// Layout of its words.
    pub(crate) fn dialect(&self) -> &'static Dialect {
        self.dialect
    }

    /// Readers of its code.
    pub(crate) fn code(&self) -> CodeReader {
        self.code
    }

    /// Parses everything that is otherwise parsed on demand. The error names the row or list that cannot be parsed.
    /// Fails only on a fault in the compiled-in data files, which a test excludes.
    pub fn check(&self) -> Result<(), String> {
        for arch in self.archs {
            arch.names().check()?;
        }
        for (row, head) in self.rows.heads.iter().enumerate() {
            if let Some(Err(error)) = self.row(row) {
                let line = head.line.text(self.rows.source);
                return Err(format!("forms: {error}: {line}"));
            }
        }
        Ok(())
    }

    /// Returns the row with index `row`, parsed on first use.
    fn row(&self, row: usize) -> Option<Result<&Form, &String>> {
        let (parsed, head) = (self.rows.parsed.get(row)?, self.rows.heads.get(row)?);
        let opcode = self.rows.opcodes.get(row)?;
        let form = parsed.get_or_init(|| {
            let source = self.rows.source;
            let (line, timing) = (head.line.text(source), head.timing.text(source));
            Form::parse(self.dialect, *opcode, head, line, timing).map(Box::new)
        });
        Some(form.as_ref().map(|form| &**form))
    }

    /// All rows, in the order of the file.
    pub fn forms(&self) -> impl Iterator<Item = (FormId, &Form)> {
        let ids = (0..self.rows.heads.len()).map(|at| FormId(at as u16));
        ids.filter_map(|id| Some((id, self.form(id)?)))
    }

    /// Rows with an opcode, in the order of the file.
    pub(crate) fn forms_of(&self, opcode: Opcode) -> impl Iterator<Item = (FormId, &Form)> {
        let rows = (0..).map(FormId).zip(self.rows.opcodes);
        let rows = rows.filter(move |(_, of_row)| **of_row == opcode);
        rows.filter_map(|(id, _)| Some((id, self.form(id)?)))
    }

    /// Row with an id. Never `None` for an id of this table.
    pub fn form(&self, id: FormId) -> Option<&Form> {
        self.row(usize::from(id.0))?.ok()
    }

    /// Part of the table for an architecture; for one of another family, the last part.
    pub(crate) fn for_arch(&self, arch: Arch) -> &ArchTable {
        let index = self.dialect.index_of(arch.sm());
        // A table has at least one architecture.
        &self.archs[index.min(self.archs.len() - 1)]
    }

    /// Finds the form that encodes `word` on `arch`: the most specific mask that matches. `None` if no row matches or
    /// a field has a value that the chip does not accept. For example, 0x5c10_0000_0007_0000 is `IADD R0, R0, R0` on
    /// Maxwell, and the word of all ones is no instruction.
    pub fn find(&self, arch: Arch, word: u128) -> Option<FormId> {
        let index = self.dialect.index_of(arch.sm());
        // Only the most specific row counts: if it rejects a value, a wider row must not accept the word.
        let row = (self.code.find)(index, word)?;
        self.accept(self.for_arch(arch), row, word)
    }

    /// Row with the most specific mask that matches a word, whether the chip accepts its fields or not.
    pub(crate) fn matching(&self, arch: Arch, word: u128) -> Option<FormId> {
        (self.code.find)(self.dialect.index_of(arch.sm()), word).map(FormId)
    }

    /// Form of a word that a row matches; `None` if a field has a value that the chip does not accept.
    pub(crate) fn accept(&self, on: &ArchTable, row: u16, word: u128) -> Option<FormId> {
        let id = FormId(row);
        let form = self.form(id)?;
        on.accepts(usize::from(id.0), form, word).then_some(id)
    }
}

fn partial_fields(form: &Form, names: &Names) -> Box<[(NamesId, Field)]> {
    form.name_fields
        .iter()
        .filter(|(id, _)| names.has_invalid_values(*id))
        .cloned()
        .collect()
}

/// Defines the table of a family from its encodings, its layout of words, the readers of its code, the opcodes of its rows, the number of its architectures and the
/// number of entries of its file of lists.
macro_rules! form_table {
    ($(#[$attribute:meta])* $visibility:vis static $name:ident = $encodings:ident, $dialect:ident, $code:ident,
     opcodes: $opcodes:ident, archs: $archs:expr, lists: $lists:expr;) => {
        $(#[$attribute])*
        $visibility static $name: $crate::nvidia::shared::lookup::FormTable = {
            use std::sync::OnceLock;
            use $crate::nvidia::shared::lookup::{
                ArchTable, FormTable, ParsedRow, PartialFields, Rows,
            };
            use $crate::nvidia::shared::names::ListValues;
            const ROWS: usize = $encodings.heads().len();
            static PARSED: [ParsedRow; ROWS] = [const { OnceLock::new() }; ROWS];
            static VALUES: [[ListValues; $lists]; $archs] =
                [const { [const { ListValues::EMPTY }; $lists] }; $archs];
            static PARTIAL: [[PartialFields; ROWS]; $archs] =
                [const { [const { OnceLock::new() }; ROWS] }; $archs];
            static ARCH_TABLES: [ArchTable; $archs] = {
                let mut archs = [ArchTable::new(&$dialect, 0, &VALUES[0], &PARTIAL[0]); $archs];
                let mut at = 0;
                while at < $archs {
                    archs[at] = ArchTable::new(&$dialect, at, &VALUES[at], &PARTIAL[at]);
                    at += 1;
                }
                archs
            };
            FormTable::new(&$dialect, $code, Rows::new(&$encodings, &$opcodes, &PARSED), &ARCH_TABLES)
        };
    };
}

pub(crate) use form_table;

#[cfg(test)]
mod tests {
    use super::Arch;
    use crate::nvidia::tables::table;

    /// Keeps the startup time of listings of small files low.
    #[test]
    fn rows_are_parsed_on_demand() {
        // No other test of this process decodes for sm_60 without a table of its own.
        let table = table(Arch::Sm60);
        let on = table.for_arch(Arch::Sm60);
        let parsed = || table.rows.parsed.iter().filter(|form| form.get().is_some());
        let (rows, lists) = (parsed().count(), on.names().lists_read());
        // IADD R0, R0, R0, twice, and a word that is not an instruction.
        for (word, is_instruction) in [
            (0x5c10_0000_0007_0000, true),
            (0x5c10_0000_0017_0000, true),
            (0xffff_ffff_ffff_ffff, false),
        ] {
            assert_eq!(table.find(Arch::Sm60, word).is_some(), is_instruction);
        }
        assert!(parsed().count() <= rows + 1);
        assert!(on.names().lists_read() <= lists + 2);
    }
}
