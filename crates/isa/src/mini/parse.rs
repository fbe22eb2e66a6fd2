//! Parser of mini-SIMT text: splits a line into tokens, then reads the syntax items of the mnemonic's table row, in
//! order. For example, `loop: binop x = x + 1` is a label and an instruction; the row of `binop` has the items write,
//! `=`, read, operator, read.

use std::collections::BTreeMap;

use smallvec::SmallVec;
use warpbound_base::Diagnostic;

use super::program::{Instr, Program, Slot, SourceOperand};
use super::table::{SyntaxItem, Table};

/// Maximum number of variables of a kernel: `ir` maps each to one general register.
const MOST_VARIABLES: usize = 255;

/// Thread number within the block; read-only.
const TID: &str = "Tid";

/// Word, number or punctuation of a line.
#[derive(Clone, Copy)]
struct Token<'a> {
    text: &'a str,
    /// Column, from 1.
    column: u32,
}

pub(crate) fn parse(
    table: &'static Table,
    text: &[u8],
    first_line: u32,
) -> Result<Program, Diagnostic> {
    let mut reader = Parser {
        program: Program {
            table,
            instrs: Vec::new(),
            variables: Vec::new(),
            params: 0,
            labels: Vec::new(),
        },
        first_line,
        line: 0,
        variables: BTreeMap::new(),
        labels: BTreeMap::new(),
        targets: Vec::new(),
    };
    for (number, line) in (0..).zip(text.split(|&byte| byte == b'\n')) {
        reader.line = number;
        let line = std::str::from_utf8(line)
            .map_err(|e| reader.error(e.valid_up_to() as u32 + 1, "this is not UTF-8 text"))?;
        reader.parse_line(line)?;
    }
    reader.finish()
}

struct Parser<'a> {
    program: Program,
    first_line: u32,
    line: u32,
    variables: BTreeMap<&'a str, VariableUse>,
    labels: BTreeMap<&'a str, u32>,
    /// Label operands to resolve at the end: instruction, slot, label, (line, column).
    targets: Vec<(usize, usize, &'a str, (u32, u32))>,
}

/// Definition and first use of a variable.
struct VariableUse {
    index: u8,
    /// Whether the variable is a launch constant or some instruction writes it.
    is_defined: bool,
    /// Line and column of the first read.
    first_read: Option<(u32, u32)>,
}

impl<'a> Parser<'a> {
    fn error(&self, column: u32, message: impl Into<String>) -> Diagnostic {
        self.error_at(self.line, column, message)
    }

    fn error_at(&self, line: u32, column: u32, message: impl Into<String>) -> Diagnostic {
        let line = self.first_line.saturating_add(line);
        Diagnostic::new(message).at(format_args!("line {line}, column {column}"))
    }

    fn parse_line(&mut self, line: &'a str) -> Result<(), Diagnostic> {
        let tokens = tokens(line)
            .map_err(|(column, c)| self.error(column, format!("{c:?} has no meaning here")))?;
        let mut rest = tokens.as_slice();
        if let [dot, directive, rest @ ..] = rest
            && dot.text == "."
        {
            return self.parse_directive(*directive, rest);
        }
        // Several labels may name one position.
        while let [name, colon, after @ ..] = rest
            && colon.text == ":"
        {
            self.check_name(*name)?;
            let here = self.program.instrs.len() as u32;
            if self.labels.insert(name.text, here).is_some() {
                return Err(self.error(name.column, format!("second label {}", name.text)));
            }
            self.program.labels.push((name.text.to_owned(), here));
            rest = after;
        }
        match rest {
            [] => Ok(()),
            [mnemonic, operands @ ..] => {
                // A missing operand is reported after the last character that is no comment.
                let end = line.split(';').next().unwrap_or(line).trim_end();
                self.parse_instruction(*mnemonic, operands, end.chars().count() as u32 + 1)
            }
        }
    }

    fn parse_directive(
        &mut self,
        directive: Token<'a>,
        rest: &[Token<'a>],
    ) -> Result<(), Diagnostic> {
        match directive.text {
            // `load` splits the file into kernels at lines that begin with `.kernel`.
            "kernel" if self.line == 0 => Ok(()),
            "kernel" => Err(self.error(
                directive.column,
                "this begins no kernel: only blanks may stand before .kernel, and none in it",
            )),
            "param" => {
                if !self.program.instrs.is_empty() {
                    return Err(self.error(
                        directive.column,
                        ".param must stand before the first instruction",
                    ));
                }
                // Names and commas alternate.
                for (i, token) in rest.iter().enumerate() {
                    if i % 2 == 1 && token.text == "," {
                        continue;
                    }
                    if i % 2 == 1 {
                        return Err(self.error(token.column, "a comma is missing"));
                    }
                    self.check_name(*token)?;
                    if self.variables.contains_key(token.text) {
                        let message = format!("second launch constant {}", token.text);
                        return Err(self.error(token.column, message));
                    }
                    self.variable_index(*token, true)?;
                    // Launch constants have the first indices, since `.param` precedes all instructions.
                    self.program.params = self.program.variables.len();
                }
                Ok(())
            }
            other => Err(self
                .error(directive.column, format!("unknown directive .{other}"))
                .hint("there are .kernel and .param")),
        }
    }

    fn check_name(&self, token: Token<'a>) -> Result<(), Diagnostic> {
        let message = match token.text {
            TID => format!("{TID} is the number of the thread and cannot be changed"),
            text if is_name(text) => return Ok(()),
            text => format!("{text:?} is not a name"),
        };
        Err(self.error(token.column, message))
    }

    fn variable_index(&mut self, token: Token<'a>, defines: bool) -> Result<u8, Diagnostic> {
        // A variable that is known already needs no new register.
        if self.variables.len() >= MOST_VARIABLES && !self.variables.contains_key(token.text) {
            let message = format!("more than {MOST_VARIABLES} variables");
            return Err(self.error(token.column, message));
        }
        let here = (self.line, token.column);
        // The index of a new variable fits: `MOST_VARIABLES` is 255.
        let fresh = self.program.variables.len() as u8;
        let known = self.variables.entry(token.text).or_insert_with(|| {
            self.program.variables.push(token.text.to_owned());
            VariableUse {
                index: fresh,
                is_defined: false,
                first_read: None,
            }
        });
        known.is_defined |= defines;
        if !defines {
            known.first_read.get_or_insert(here);
        }
        Ok(known.index)
    }

    fn parse_instruction(
        &mut self,
        mnemonic: Token<'a>,
        operands: &[Token<'a>],
        end: u32,
    ) -> Result<(), Diagnostic> {
        let table = self.program.table;
        let unknown = || {
            let names: Vec<&str> = table.rows.iter().map(|row| row.mnemonic).collect();
            self.error(
                mnemonic.column,
                format!("unknown instruction {:?}", mnemonic.text),
            )
            .hint(format!("there are {}", names.join(", ")))
        };
        let row = table.find(mnemonic.text).ok_or_else(unknown)?;
        let syntax = &table.rows[row].syntax;
        let mut slots = SmallVec::new();
        let mut rest = operands.iter().copied().peekable();
        for item in syntax {
            let Some(token) = rest.next() else {
                let message = format!("{} is missing", expectation(*item));
                return Err(self.error(end, message));
            };
            let unexpected = || {
                let message = format!("{} is expected, not {:?}", expectation(*item), token.text);
                self.error(token.column, message)
            };
            slots.push(match item {
                SyntaxItem::Text(text) if *text == token.text => continue,
                SyntaxItem::Text(_) => return Err(unexpected()),
                SyntaxItem::Operator => {
                    Slot::Operator(table.operation(token.text).ok_or_else(unexpected)?)
                }
                // The branch variable becomes a guard cell, and `Tid` has no cell.
                SyntaxItem::Branch if token.text == TID => {
                    let message = format!("{TID} cannot decide a branch");
                    return Err(self
                        .error(token.column, message)
                        .hint("copy it into a variable with const"));
                }
                SyntaxItem::Write | SyntaxItem::Branch => {
                    self.check_name(token)?;
                    let writes = *item == SyntaxItem::Write;
                    let variable = self.variable_index(token, writes)?;
                    if writes {
                        Slot::Write(variable)
                    } else {
                        Slot::Branch(variable)
                    }
                }
                SyntaxItem::Label => {
                    self.check_name(token)?;
                    let here = (self.line, token.column);
                    let instr = self.program.instrs.len();
                    self.targets.push((instr, slots.len(), token.text, here));
                    // The label may be defined further down, so `finish` sets its position.
                    Slot::Label(0)
                }
                SyntaxItem::Read => Slot::Read(match token.text {
                    TID => SourceOperand::Tid,
                    "-" => {
                        let digits = rest.next().ok_or_else(unexpected)?;
                        // The sign is a token of its own, because `a-1` has the same tokens as `a - 1`.
                        let value = parse_number(digits.text).and_then(i64::checked_neg);
                        self.number_operand(digits, value)?
                    }
                    text if text.starts_with(|c: char| c.is_ascii_digit()) => {
                        self.number_operand(token, parse_number(text))?
                    }
                    text if is_name(text) => {
                        SourceOperand::Variable(self.variable_index(token, false)?)
                    }
                    _ => return Err(unexpected()),
                }),
            });
        }
        if let Some(token) = rest.next() {
            let message = format!("{:?} is too much", token.text);
            return Err(self.error(token.column, message));
        }
        self.program.instrs.push(Instr {
            row,
            slots,
            line: self.line,
            column: mnemonic.column,
        });
        Ok(())
    }

    fn number_operand(
        &self,
        token: Token<'a>,
        value: Option<i64>,
    ) -> Result<SourceOperand, Diagnostic> {
        // A number may be written as signed or unsigned; both give 32 bits.
        let word = value.filter(|v| (i64::from(i32::MIN)..=i64::from(u32::MAX)).contains(v));
        word.map(|value| SourceOperand::Number(value as u32))
            .ok_or_else(|| {
                let message = format!("{:?} is not a 32-bit number", token.text);
                self.error(token.column, message)
            })
    }

    fn finish(mut self) -> Result<Program, Diagnostic> {
        for &(instr, slot, name, (line, column)) in &self.targets {
            let Some(&to) = self.labels.get(name) else {
                return Err(self.error_at(line, column, format!("unknown label {name}")));
            };
            if let Some(slot) = self
                .program
                .instrs
                .get_mut(instr)
                .and_then(|instr| instr.slots.get_mut(slot))
            {
                *slot = Slot::Label(to);
            }
        }
        // The first use in the text is reported, so the message does not depend on the order of names.
        let undefined = self
            .variables
            .iter()
            .filter(|(_, known)| !known.is_defined)
            .filter_map(|(name, known)| Some((known.first_read?, *name)))
            .min();
        if let Some(((line, column), name)) = undefined {
            return Err(self
                .error_at(line, column, format!("unknown variable {name}"))
                .hint("no instruction writes it; launch constants are declared with .param"));
        }
        if self.program.instrs.is_empty() {
            return Err(self.error_at(0, 1, "the kernel has no instructions"));
        }
        Ok(self.program)
    }
}

fn expectation(item: SyntaxItem) -> String {
    match item {
        SyntaxItem::Write | SyntaxItem::Branch => "a variable".to_owned(),
        SyntaxItem::Read => "a number or a variable".to_owned(),
        SyntaxItem::Label => "a label".to_owned(),
        SyntaxItem::Operator => "an operator".to_owned(),
        SyntaxItem::Text(text) => format!("{text:?}"),
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Parses a decimal or hexadecimal number.
fn parse_number(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Splits a line into tokens, without its comment.
///
/// # Errors
///
/// Returns column and value of the first character that begins no token.
fn tokens(line: &str) -> Result<Vec<Token<'_>>, (u32, char)> {
    let line = line.split(';').next().unwrap_or(line);
    let mut tokens = Vec::new();
    let mut rest = line;
    let mut column = 1;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = if first.is_whitespace() {
            first.len_utf8()
        } else if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else if ["<<", ">>", "<=", ">=", "==", "!="]
            .iter()
            .any(|sign| rest.starts_with(sign))
        {
            2
        } else if first.is_ascii_graphic() {
            1
        } else {
            return Err((column, first));
        };
        let (text, after) = rest.split_at(length);
        if !first.is_whitespace() {
            tokens.push(Token { text, column });
        }
        // Columns count characters, as editors show them, and not bytes.
        column += text.chars().count() as u32;
        rest = after;
    }
    Ok(tokens)
}
