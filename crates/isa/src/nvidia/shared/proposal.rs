//! Rows that are not compiled in: rows and lists as text, for one architecture, so that a tool can compare a row with
//! a disassembler before it is added to a table.
//!
//! For example, the row `...0202/...0fff 90 unknown | - | MOV {=R23:16}, {R39:32}` prints `MOV R1, R2`. A mnemonic
//! that `opcode.rs` does not name is printed as the row spells it.

use super::arch::Arch;
use super::control::ControlWord;
use super::dialect::Dialect;
use super::form::Form;
use super::list_entry::read_entries;
use super::lookup::{ArchTable, PartialFields};
use super::names::{ListFile, ListValues, Names};
use super::opcode::Opcode;
use super::sass_instr::SassInstr;
use super::text;
use crate::encoding::RowHead;
use crate::encoding::span::Lines;
use crate::nvidia::tables::table;
use std::sync::OnceLock;
use warpbound_base::CodeAddr;

/// Rows of one architecture that are read at run time. What it reads stays in memory until the process ends, as a
/// compiled table does.
#[derive(Debug)]
pub struct ProposedRows {
    dialect: &'static Dialect,
    on: ArchTable,
    /// Most specific mask first.
    rows: Vec<ProposedRow>,
}

#[derive(Debug)]
struct ProposedRow {
    /// Place among the rows of the text.
    number: usize,
    mnemonic: &'static str,
    form: Form,
}

impl ProposedRows {
    /// Reads rows in the format of `isa/nvidia/volta.forms`, and the lists to which they refer in the format of
    /// `volta.names`. Rows of other architectures are left out.
    ///
    /// # Errors
    ///
    /// Names the row or the list that cannot be read.
    pub fn read(arch: Arch, rows: &str, lists: &str) -> Result<ProposedRows, String> {
        let compiled = table(arch).dialect();
        let lists: &'static str = lists.to_owned().leak();
        let entries: &'static _ = read_entries(lists, compiled.archs)?.leak();
        let dialect: &'static Dialect = Box::leak(Box::new(Dialect {
            lists: Box::leak(Box::new(ListFile::new(lists, entries))),
            ..*compiled
        }));
        let source: &'static str = rows.to_owned().leak();
        let index = dialect.index_of(arch.sm());
        let mut read = Vec::new();
        let mut lines = Lines::new(source);
        while let Some(line) = lines.next() {
            let text = line.text(source);
            let head = RowHead::parse(source, line, dialect.archs)
                .ok_or_else(|| format!("cannot read the head of `{text}`"))?;
            if !head.archs.has(index) {
                continue;
            }
            let head: &'static RowHead = Box::leak(Box::new(head));
            let mnemonic = head.mnemonic.text(source);
            // The opcode of an unknown mnemonic is never used: the text has the mnemonic of the row.
            let opcode = Opcode::with_name(mnemonic);
            let line = match opcode {
                Some(_) => text.to_owned(),
                None => text.replacen(mnemonic, Opcode::Nop.name(), 1),
            };
            let timing = head.timing.text(source);
            let opcode = opcode.unwrap_or(Opcode::Nop);
            let form = Form::parse(dialect, opcode, head, line.leak(), timing);
            read.push(ProposedRow {
                number: read.len(),
                mnemonic,
                form: form.map_err(|error| format!("{error}: {text}"))?,
            });
        }
        let values: Vec<ListValues> = entries.iter().map(|_| ListValues::EMPTY).collect();
        let partial: Vec<PartialFields> = read.iter().map(|_| OnceLock::new()).collect();
        let on = ArchTable::new(dialect, index, values.leak(), partial.leak());
        on.names().check()?;
        read.sort_by_key(|row| std::cmp::Reverse(row.form.mask.count_ones()));
        Ok(ProposedRows {
            dialect,
            on,
            rows: read,
        })
    }

    /// Text of a word at an address, as the table would print it; `None` if no row has the word or its row rejects a
    /// value.
    pub fn text(&self, word: u128, addr: CodeAddr) -> Option<String> {
        let mut rows = self.rows.iter();
        let row = rows.find(|row| word & row.form.mask == row.form.value)?;
        let instr = SassInstr {
            addr,
            word,
            control: ControlWord::of_field(word),
            form: None,
        };
        let accepted = self.on.accepts(row.number, &row.form, word);
        accepted.then(|| text::of_row(&row.form, row.mnemonic, self.names(), self.dialect, &instr))
    }

    /// Rows, most specific mask first.
    pub fn forms(&self) -> impl Iterator<Item = &Form> {
        self.rows.iter().map(|row| &row.form)
    }

    fn names(&self) -> &Names {
        self.on.names()
    }
}

#[cfg(test)]
mod tests {
    use super::ProposedRows;
    use crate::nvidia::Arch;
    use warpbound_base::CodeAddr;

    const LISTS: &str = "timing unknown scoreboard_rw 0 - - none other\nnames size .U8 - ! .64\n";

    /// Guard PT, stall 1.
    const PLAIN: u128 = 0x7e1 << 105 | 0x7000;

    #[test]
    fn rows_are_read_at_run_time() {
        let rows = "\
00000000000000000000000000000123/00000000000000000000000000000fff 90  unknown | - | NEWOP{size 73:72} {=R23:16}, {R31:24}
00000000000000000000000000020123/000000000000000000000000000f0fff all unknown | illegal | NOP
00000000000000000000000000000124/00000000000000000000000000000fff 80  unknown | - | NOP
";
        let rows = ProposedRows::read(Arch::Sm90, rows, LISTS).expect("rows");
        assert_eq!(rows.forms().count(), 2);
        let text = |word: u128| rows.text(word | PLAIN, CodeAddr(0));
        assert_eq!(text(0x0500_0123 | 1 << 72).as_deref(), Some("NEWOP R0, R5"));
        assert_eq!(
            text(0x0501_0123 | 3 << 72).as_deref(),
            Some("NEWOP.64 R1, R5")
        );
        assert_eq!(
            text(0x0501_0123 | 2 << 72),
            None,
            "no instruction by the list"
        );
        assert_eq!(
            text(0x0502_0123),
            None,
            "no instruction by the narrower row"
        );
        assert_eq!(text(0x124), None, "a row of another chip");
        let faults = [
            "x",
            "1/ff 90 unknown | - | NOP",
            &rows_with("{=R23:16 what=3}"),
        ];
        for fault in faults {
            assert!(
                ProposedRows::read(Arch::Sm90, fault, LISTS).is_err(),
                "{fault}"
            );
        }
    }

    fn rows_with(operand: &str) -> String {
        let bits = format!("{:032x}/{:032x}", 0x123, 0xfff);
        format!("{bits} 90 unknown | - | MOV {operand}")
    }
}
