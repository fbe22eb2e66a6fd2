//! Parser of the table of life ranges that `nvdisasm -plr -lrm narrow` prints next to the instructions.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_isa::Reg;

/// Registers that one instruction reads and writes according to the disassembler.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Marks {
    /// Registers marked `v` (usage) or `x` (usage and assignment).
    pub(super) reads: BTreeSet<Reg>,
    /// Registers marked `^` (assignment) or `x`.
    pub(super) writes: BTreeSet<Reg>,
    /// Text of the instruction.
    pub(super) text: String,
}

/// Marks of every instruction by section and address.
pub(super) type Sections = BTreeMap<String, BTreeMap<u32, Marks>>;

/// Parses a whole output.
///
/// The table of each code section begins with a box of a few lines: the names of the register files, then the register
/// numbers with their digits in a column.
pub(super) fn read(output: &str) -> Sections {
    let mut sections = Sections::new();
    let mut section = String::new();
    let mut head = Head::default();
    for line in output.lines() {
        if let Some(rest) = line.trim_start().strip_prefix(".section\t") {
            section = rest
                .trim_start()
                .split(',')
                .next()
                .unwrap_or_default()
                .to_owned();
            head = Head::default();
            continue;
        }
        let Some((code, table)) = line.rsplit_once("// ") else {
            continue;
        };
        if code.trim().is_empty() {
            head.line(table);
        } else if let Some((address, text)) = instruction(code) {
            let mut marks = head.marks(table);
            marks.text = text;
            sections
                .entry(section.clone())
                .or_default()
                .insert(address, marks);
        }
    }
    sections
}

/// Splits `   /*0028*/  @P0 BRA `(.L_x_1) ;` into address and text.
fn instruction(code: &str) -> Option<(u32, String)> {
    let (address, text) = code.trim_start().strip_prefix("/*")?.split_once("*/")?;
    let address = u32::from_str_radix(address, 16).ok()?;
    Some((address, text.trim().to_owned()))
}

/// Header of a table.
#[derive(Default)]
struct Head {
    /// Register file of each cell between bars.
    files: Vec<String>,
    /// Cell and register number by column of the line.
    columns: BTreeMap<usize, (usize, u32)>,
    /// Number of frame lines of the box so far.
    frames: usize,
}

impl Head {
    fn line(&mut self, table: &str) {
        if table.starts_with("+-") {
            self.frames += 1;
            return;
        }
        if self.frames != 1 || !table.starts_with('|') {
            return;
        }
        for (cell, at, content) in cells(table) {
            let name = content.trim();
            if self.files.len() <= cell {
                self.files.push(name.to_owned());
                continue;
            }
            for (column, digit) in content.bytes().enumerate() {
                let Some(digit) = char::from(digit).to_digit(10) else {
                    continue;
                };
                let number = self.columns.entry(at + column).or_insert((cell, 0));
                number.1 = number.1 * 10 + digit;
            }
        }
    }

    fn marks(&self, table: &str) -> Marks {
        let mut marks = Marks::default();
        for (&column, &(cell, number)) in &self.columns {
            let register = match (self.files.get(cell).map(String::as_str), number) {
                (Some("GPR"), number @ 0..255) => Reg::vector(number as u8),
                (Some("PRED"), number @ 0..7) => Reg::predicate(number as u8),
                (Some("UGPR"), number @ 0..255) => Reg::uniform(number as u8),
                (Some("UPRED"), number @ 0..7) => Reg::uniform_predicate(number as u8),
                _ => continue,
            };
            let mark = table.as_bytes().get(column).copied().unwrap_or(b' ');
            if matches!(mark, b'v' | b'x') {
                marks.reads.insert(register);
            }
            if matches!(mark, b'^' | b'x') {
                marks.writes.insert(register);
            }
        }
        marks
    }
}

/// Returns index, first column and content of the cells between bars.
fn cells(table: &str) -> impl Iterator<Item = (usize, usize, &str)> {
    let mut at = 0;
    table
        .split('|')
        .map(move |content| {
            let start = at;
            at += content.len() + 1;
            (start, content)
        })
        .skip(1)
        .enumerate()
        .map(|(cell, (start, content))| (cell, start, content))
}

#[cfg(test)]
mod tests {
    use super::{Reg, read};

    /// A table in the tool's format.
    const OUTPUT: &str = "\
\t.section\t.text.f,\"ax\",@progbits
                          // +-----------------+---------+
                          // |    GPR          |  PRED   |
                          // |                 |         |
                          // |    000000000011 |         |
                          // |  # 012345678901 | # 0123  |
                          // +-----------------+---------+
.text.f:                  // |                 |         |
        /*0008*/  A ;     // |  2 ^:        x  |         |
        /*0010*/  @P2 B ; // | 12 v::       v^ | 1   v   |
";

    #[test]
    fn columns_have_the_numbers_of_the_header() {
        let sections = read(OUTPUT);
        let section = &sections[".text.f"];
        let first = &section[&8];
        assert!(first.writes.iter().eq(&[Reg::vector(0), Reg::vector(10)]));
        assert!(first.reads.iter().eq(&[Reg::vector(10)]));
        let second = &section[&0x10];
        assert!(
            second
                .reads
                .iter()
                .eq(&[Reg::vector(0), Reg::vector(10), Reg::predicate(2)])
        );
        assert!(second.writes.iter().eq(&[Reg::vector(11)]));
        assert_eq!(second.text, "@P2 B ;");
    }
}
