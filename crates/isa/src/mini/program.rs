//! Decoded program of one mini-SIMT kernel. Instructions have no encoding, so an address is a position: for example,
//! the label before the third instruction stands for 2.

use std::fmt::Write as _;

use smallvec::SmallVec;
use warpbound_base::Diagnostic;

use super::table::{Operation, Row, SyntaxItem, Table, table};
use crate::mini::parse;

/// Source operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SourceOperand {
    /// Constant, as its 32 bits.
    Number(u32),
    /// Variable, as an index into [`Program::variables`].
    Variable(u8),
    /// Number of the thread in its block.
    Tid,
}

/// Operand slot of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    /// Variable that is written.
    Write(u8),
    /// Operand that is read.
    Read(SourceOperand),
    /// Variable that decides a branch.
    Branch(u8),
    /// Position of the target instruction; the position after the last instruction is the end of the kernel.
    Label(u32),
    /// Operation to compute.
    Operator(Operation),
}

/// Decoded instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instr {
    /// Index of its row in the table.
    pub(crate) row: usize,
    /// Operand slots in the order of the syntax, without literal text.
    pub slots: SmallVec<[Slot; 4]>,
    /// Line in the text of the kernel, from 0.
    pub line: u32,
    /// Column in the line, from 1.
    pub column: u32,
}

/// Instructions of one kernel; the address of an instruction is its position.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) table: &'static Table,
    /// Instructions in program order.
    pub instrs: Vec<Instr>,
    /// Names of the variables, launch constants first.
    pub variables: Vec<String>,
    /// Number of launch constants.
    pub params: usize,
    /// Labels: name and position, ascending by position.
    pub(crate) labels: Vec<(String, u32)>,
}

impl Program {
    /// Parses the text of one kernel, which begins with its `.kernel` line. Diagnostics count lines from
    /// `first_line`.
    ///
    /// # Errors
    ///
    /// Names line, column and cause if the text is not a valid kernel.
    pub fn decode(text: &[u8], first_line: u32) -> Result<Program, Diagnostic> {
        parse::parse(table()?, text, first_line)
    }

    /// Table row of an instruction.
    pub fn row(&self, instr: &Instr) -> &'static Row {
        // In range: the parser takes row indices from this table only.
        &self.table.rows[instr.row]
    }

    /// Assembly text of an instruction.
    pub fn text(&self, instr: &Instr) -> String {
        let row = self.row(instr);
        let mut text = row.mnemonic.to_owned();
        let mut slots = instr.slots.iter();
        for item in &row.syntax {
            // A comma follows its operand without a blank.
            if *item != SyntaxItem::Text(",") {
                text.push(' ');
            }
            // Writing to a `String` cannot fail.
            let _ = match (item, item.literal()) {
                (_, Some(own)) => write!(text, "{own}"),
                _ => match slots.next() {
                    Some(Slot::Write(v) | Slot::Branch(v)) => {
                        write!(text, "{}", self.variable_name(*v))
                    }
                    // Printed as signed, which the parser reads as the same 32 bits.
                    Some(Slot::Read(SourceOperand::Number(n))) => write!(text, "{}", *n as i32),
                    Some(Slot::Read(SourceOperand::Variable(v))) => {
                        write!(text, "{}", self.variable_name(*v))
                    }
                    Some(Slot::Read(SourceOperand::Tid)) => write!(text, "Tid"),
                    Some(Slot::Label(to)) => write!(text, "{}", self.position_name(*to)),
                    Some(Slot::Operator(o)) => write!(text, "{}", self.table.spelling(*o)),
                    None => Ok(()),
                },
            };
        }
        text
    }

    /// Labels of a position.
    pub fn labels(&self, position: u32) -> impl Iterator<Item = &str> {
        // Labels are in the order of the text, so their positions ascend.
        let first = self.labels.partition_point(|(_, at)| *at < position);
        self.labels
            .iter()
            .skip(first)
            .take_while(move |(_, at)| *at == position)
            .map(|(name, _)| name.as_str())
    }

    /// Display name of a position: its label, else `label+distance` from the nearest label before it, else
    /// `#position`.
    pub fn position_name(&self, position: u32) -> String {
        if let Some(label) = self.labels(position).next() {
            return label.to_owned();
        }
        // Labels are in the order of the text, so their positions ascend.
        let after = self.labels.partition_point(|(_, at)| *at <= position);
        let nearest = after.checked_sub(1).and_then(|last| {
            let (_, at) = self.labels.get(last)?;
            Some((self.labels(*at).next()?, position - at))
        });
        match nearest {
            Some((label, distance)) => format!("{label}+{distance}"),
            None => format!("#{position}"),
        }
    }

    /// Name of a variable.
    pub fn variable_name(&self, index: u8) -> &str {
        self.variables.get(usize::from(index)).map_or("?", |v| v)
    }
}

impl SyntaxItem {
    fn literal(self) -> Option<&'static str> {
        match self {
            SyntaxItem::Text(text) => Some(text),
            _ => None,
        }
    }
}
