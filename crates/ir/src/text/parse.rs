//! Parser of code: statements about the code, and operations with their control effects. For example, `0x0028:  if P0
//! jump 0x0050` is an operation with a condition, no stated meaning, and a control effect.

use std::collections::HashMap;

use smallvec::SmallVec;
use warpbound_base::{CodeAddr, Diagnostic, Family, Named};
use warpbound_isa::RegisterKind;
use warpbound_isa::instr::CcTest;

use super::cursor::{Cursor, Problem};
use super::implied::{Implied, unstated_meaning};
use super::lexer::{self, Placed, Token};
use super::parse_meaning::{Body, starts_meaning};
use crate::{
    AddressWord, Cell, Code, CodeFunction, ControlEffect, ControlTarget, ExecCondition, Expr,
    FurtherTest, Meaning, Op, OpIndex, OpScope, ValueDependence,
};

/// Words that begin a control effect.
pub(super) const CONTROL_EFFECTS: [&str; 22] = [
    "jump",
    "branch",
    "reconverge",
    "set_active",
    "indirect",
    "call",
    "push",
    "pop",
    "linked_call",
    "linked_indirect",
    "return",
    "open_barrier",
    "join_barrier",
    "break_barrier",
    "save_barrier",
    "write_barrier",
    "release",
    "collective",
    "free_jump",
    "exit",
    "end",
    "unsupported",
];

/// Parses the text of a code; `file` names it in errors.
///
/// # Errors
///
/// A line is not in the format, names an operation that the text does not have, or has an address that is not above
/// the one before. The diagnostic has the line and the column.
pub fn parse(file: &str, text: &str) -> Result<Code, Diagnostic> {
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let tokens = lexer::tokens(line).map_err(|(column, message)| {
            let hint = "comments begin with `;`";
            diagnostic(file, number, column, message, hint)
        })?;
        let end = line.chars().count() + 1;
        lines.push((number, tokens, end));
    }
    // Targets may be further down, so all addresses are indexed before any line is parsed.
    let ops = index_of_ops(lines.iter().map(|(_, tokens, _)| tokens.as_slice()));
    let mut code = Code::default();
    for (number, tokens, end) in &lines {
        let mut line = Line {
            cursor: Cursor::new(tokens, *end),
            ops: &ops,
        };
        line.parse_into(&mut code)
            .map_err(|p| diagnostic(file, *number, p.column, p.message, &p.hint))?;
    }
    code.functions.sort_by_key(|function| function.entry);
    Ok(code)
}

fn diagnostic(
    file: &str,
    line: usize,
    column: usize,
    message: impl Into<String>,
    hint: &str,
) -> Diagnostic {
    Diagnostic::new(message)
        .hint(hint)
        .in_file(file)
        .at(format_args!("line {line}, column {column}"))
}

/// Checks that an operation of the warp reads registers of lanes only through `from_lane`, unless it writes registers
/// of lanes ([`OpScope::Warp`]).
fn check_scope(op: &Op, column: usize) -> Result<(), Problem> {
    if op.scope == OpScope::Lane {
        return Ok(());
    }
    let mut cells: Vec<Cell> = op.condition.cells().collect();
    if let ControlEffect::Indirect { base, .. } | ControlEffect::LinkedIndirect { base, .. } =
        &op.control
    {
        cells.extend(base);
    }
    let writes_lanes = op.writes.iter().any(|cell| cell.is_per_lane());
    match &op.meaning {
        Some(Meaning::Set(writes)) if writes_lanes => {
            // All lanes are written, each with a value that may depend on its lane.
            cells.extend(
                writes
                    .iter()
                    .map(|(cell, _)| cell)
                    .filter(|cell| !cell.is_per_lane()),
            );
        }
        Some(Meaning::Set(writes)) => {
            for (_, value) in writes {
                let models = |part: &Expr| !matches!(part, Expr::FromLane(..));
                value.for_each_cell(&models, &mut |cell| cells.push(cell));
            }
        }
        // Without expressions, any of the cells may be read per lane.
        _ => cells.extend(op.reads.iter().chain(&op.writes)),
    }
    match cells.iter().find(|cell| cell.is_per_lane()) {
        Some(cell) => Err(Problem {
            column,
            message: format!("an operation of the warp names {cell}, which each lane has"),
            hint: "read it with `from_lane`, or remove `warp`".into(),
        }),
        None => Ok(()),
    }
}

/// Operations by address.
fn index_of_ops<'a>(lines: impl Iterator<Item = &'a [Placed]>) -> HashMap<u64, OpIndex> {
    let addr = |tokens: &[Placed]| match tokens.first()?.token {
        Token::Number(addr) => Some(addr),
        _ => None,
    };
    lines.filter_map(addr).zip((0..).map(OpIndex)).collect()
}

/// Parts of an operation that a line states in addition to its meaning.
#[derive(Default)]
struct Stated {
    reads: Option<Vec<Cell>>,
    writes: Option<Vec<Cell>>,
    value: Option<ValueDependence>,
    barrier: Option<bool>,
}

/// Line that is being parsed.
struct Line<'a> {
    cursor: Cursor<'a>,
    ops: &'a HashMap<u64, OpIndex>,
}

impl Line<'_> {
    fn parse_into(&mut self, code: &mut Code) -> Result<(), Problem> {
        match self.cursor.peek() {
            None => return Ok(()),
            Some(Token::Number(_)) => {
                let op = self.op(code.ops.last())?;
                code.ops.push(op);
            }
            Some(_) => self.statement(code)?,
        }
        match self.cursor.is_at_end() {
            true => Ok(()),
            false => Err(self.cursor.problem(
                "the line goes on after its end",
                "remove the rest, or make it a comment with `;`",
            )),
        }
    }

    /// Statement about the code.
    fn statement(&mut self, code: &mut Code) -> Result<(), Problem> {
        let hint = "lines begin with an address, family, entry, group, function, bank, external_word, address_word or agreed";
        let keyword = self.cursor.word("an address or a statement", hint)?;
        match keyword {
            "family" => {
                let names: Vec<&str> = Family::ALL.iter().map(|(_, name)| *name).collect();
                let hint = match names.split_last() {
                    Some((last, others)) => {
                        format!("families are {} and {last}", others.join(", "))
                    }
                    None => String::new(),
                };
                let name = self.cursor.one_of(&names, hint)?;
                let mut all = Family::ALL.iter();
                let found = all.find(|(_, known)| *known == name);
                code.family = found.map(|(family, _)| *family).unwrap_or_default();
            }
            "entry" => code.entry = self.place()?,
            "group" => code.group_bytes = self.cursor.number("a number of bytes")?,
            "function" => {
                let entry = self.place()?;
                let name = self.cursor.text()?;
                code.functions.push(CodeFunction { name, entry });
            }
            "bank" => {
                let bank = self.cursor.number("the number of a bank")?;
                let bytes = self.bytes()?;
                match code.constants.last_mut() {
                    // A long bank takes several lines, each with the number of the bank.
                    Some((last, row)) if *last == bank => row.extend(bytes),
                    _ => code.constants.push((bank, bytes)),
                }
            }
            "external_word" => {
                if !self.cursor.accept_word("c") {
                    return Err(self.cursor.problem("no constant", "write c[BANK][OFFSET]"));
                }
                let bank = self.in_brackets("the number of a bank")?;
                let offset = self.in_brackets("an offset in a bank")?;
                code.external_words
                    .push((bank, offset, self.cursor.text()?));
            }
            "address_word" => code.address_words.push(AddressWord {
                half: self.cursor.named("low or high")?,
                symbol: self.cursor.text()?,
                addend: self.cursor.offset()?,
            }),
            "agreed" => code.agreed_at_entry.extend(self.cursor.list(Cursor::cell)?),
            _ => {
                let message = format!("`{keyword}` begins no line");
                return Err(self.cursor.problem_before(message, hint));
            }
        }
        Ok(())
    }

    fn in_brackets<T: TryFrom<u64>>(&mut self, what: &str) -> Result<T, Problem> {
        self.cursor.expect('[')?;
        let number = self.cursor.number(what)?;
        self.cursor.expect(']')?;
        Ok(number)
    }

    /// Bytes in hexadecimal.
    fn bytes(&mut self) -> Result<Vec<u8>, Problem> {
        let digits = self.cursor.text()?;
        let digit = |c: char| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let nibbles: Option<Vec<u8>> = digits.chars().map(digit).collect();
        match nibbles {
            // An odd digit would belong to half a byte.
            Some(nibbles) if nibbles.len() % 2 == 0 => {
                let byte = |pair: &[u8]| pair.iter().fold(0, |byte, nibble| byte << 4 | nibble);
                Ok(nibbles.chunks(2).map(byte).collect())
            }
            _ => Err(self.cursor.problem_before(
                "the text is not a number of bytes in hexadecimal",
                "write two digits for each byte",
            )),
        }
    }

    /// Operation at an address.
    fn place(&mut self) -> Result<OpIndex, Problem> {
        let addr: u64 = self.cursor.number("an address")?;
        self.ops.get(&addr).copied().ok_or_else(|| {
            let message = format!("no line has the address 0x{addr:04x}");
            let hint = "name an operation of this text, or write invalid \"TEXT\"";
            self.cursor.problem_before(message, hint)
        })
    }

    fn op(&mut self, last: Option<&Op>) -> Result<Op, Problem> {
        let addr = CodeAddr(self.cursor.number("an address")?);
        // `Code::at` finds operations by binary search.
        if last.is_some_and(|last| last.addr >= addr) {
            let message = "the address is not above that of the operation before";
            return Err(self
                .cursor
                .problem_before(message, "order the lines by address"));
        }
        self.cursor.expect(':')?;
        let condition = match self.cursor.accept_word("if") {
            true => self.condition()?,
            false => ExecCondition::ALWAYS,
        };
        // The check of the scope follows the whole line, but its problem belongs to this word.
        let scope_column = self.cursor.column();
        let scope = match self.cursor.accept_word("warp") {
            true => OpScope::Warp,
            false => OpScope::Lane,
        };
        let body = match starts_meaning(&self.cursor) {
            true => Some(Body::parse(&mut self.cursor)?),
            false => None,
        };
        let stated = self.attributes()?;
        let control = self.control()?;
        let (meaning, unknown) = match body {
            Some(Body::Known(meaning)) => (Some(meaning), None),
            Some(Body::Unknown(unknown)) => (None, Some(unknown)),
            None => (unstated_meaning(&control), None),
        };
        // An unknown meaning states its own reads and writes.
        let implied = unknown.unwrap_or_else(|| Implied::by(meaning.as_ref(), &control));
        let op = Op {
            addr,
            condition,
            reads: stated.reads.map_or(implied.reads, SmallVec::from_vec),
            writes: stated.writes.map_or(implied.writes, SmallVec::from_vec),
            value: stated.value.unwrap_or(implied.value),
            control,
            barrier: stated.barrier.unwrap_or(implied.barrier),
            scope,
            meaning,
        };
        check_scope(&op, scope_column)?;
        Ok(op)
    }

    fn condition(&mut self) -> Result<ExecCondition, Problem> {
        let mut condition = ExecCondition::ALWAYS;
        let is_test = |word| matches!(word, Some("cc" | "group"));
        if !is_test(self.cursor.peek_word()) {
            if self.cursor.accept_word("never") {
                condition.negated = true;
            } else {
                condition.negated = self.cursor.accept('!');
                condition.guard = Some(self.cursor.cell()?);
            }
            // A guard and a test may be combined.
            if !self.cursor.accept('&') {
                return Ok(condition);
            }
        }
        if self.cursor.accept_word("group") {
            condition.further = Some(FurtherTest::Group);
            return Ok(condition);
        }
        if !self.cursor.accept_word("cc") {
            let negated = self.cursor.accept('!');
            let cell = self.cursor.cell()?;
            condition.further = Some(FurtherTest::Predicate { cell, negated });
            return Ok(condition);
        }
        self.cursor.expect('(')?;
        let test: u8 = self.cursor.number("a test")?;
        if test > 31 {
            let message = "no such test of the condition code";
            return Err(self.cursor.problem_before(message, "tests are 0 to 31"));
        }
        condition.cc_test = CcTest(test);
        self.cursor.expect(')')?;
        Ok(condition)
    }

    /// Attributes: parts that the meaning does not imply.
    fn attributes(&mut self) -> Result<Stated, Problem> {
        let mut stated = Stated::default();
        let cursor = &mut self.cursor;
        // No keyword of a control effect has a parenthesis after it, so the loop ends there.
        while cursor.peek_at(1) == Some(&Token::Sign('(')) {
            if cursor.accept_word("reads") {
                stated.reads = Some(cursor.in_parentheses(Cursor::cell)?);
            } else if cursor.accept_word("writes") {
                stated.writes = Some(cursor.in_parentheses(Cursor::cell)?);
            } else if cursor.accept_word("value") {
                cursor.expect('(')?;
                stated.value = Some(cursor.value()?);
                cursor.expect(')')?;
            } else if cursor.accept_word("barrier") {
                cursor.expect('(')?;
                let word = cursor.one_of(&["yes", "no"], "write yes or no")?;
                stated.barrier = Some(word == "yes");
                cursor.expect(')')?;
            } else {
                break;
            }
        }
        Ok(stated)
    }

    fn control(&mut self) -> Result<ControlEffect, Problem> {
        if self.cursor.is_at_end() {
            return Ok(ControlEffect::Next);
        }
        let (last, others) = CONTROL_EFFECTS.split_last().unwrap_or((&"", &[]));
        let hint = format!("control effects are {} and {last}", others.join(", "));
        let keyword = self.cursor.word("a control effect", hint.clone())?;
        Ok(match keyword {
            "jump" => ControlEffect::Jump(self.target()?),
            "branch" => self.branch()?,
            "reconverge" => ControlEffect::Reconverge,
            "set_active" => ControlEffect::SetActive(self.mask()?),
            "indirect" => {
                let (base, anchor, relative) = self.register_target()?;
                ControlEffect::Indirect {
                    base,
                    anchor,
                    relative,
                }
            }
            "linked_indirect" => {
                let (base, anchor, relative) = self.register_target()?;
                ControlEffect::LinkedIndirect {
                    base,
                    anchor,
                    relative,
                }
            }
            "call" => ControlEffect::Call(self.target()?),
            "push" => {
                let tag = self.cursor.named("a tag")?;
                ControlEffect::Push(tag, self.target()?)
            }
            "pop" => ControlEffect::Pop(self.cursor.named("a tag")?),
            "linked_call" => ControlEffect::LinkedCall(self.target()?),
            "return" if self.cursor.is_at_end() => ControlEffect::RETURN,
            "return" => {
                let (base, anchor, relative) = self.register_target()?;
                ControlEffect::Return {
                    base,
                    anchor,
                    relative,
                }
            }
            "open_barrier" => {
                let barrier = self.cursor.number("a barrier")?;
                ControlEffect::OpenBarrier(barrier, self.target()?)
            }
            "join_barrier" => ControlEffect::JoinBarrier(self.cursor.number("a barrier")?),
            "break_barrier" => ControlEffect::BreakBarrier(self.cursor.number("a barrier")?),
            "save_barrier" => {
                let barrier = self.cursor.number("a barrier")?;
                ControlEffect::SaveBarrier(barrier, self.cursor.dest()?)
            }
            "write_barrier" => self.write_barrier()?,
            "release" => ControlEffect::Release,
            "collective" => ControlEffect::Collective(self.target()?),
            "free_jump" => ControlEffect::FreeJump(self.target()?),
            "exit" => ControlEffect::Exit,
            "end" => ControlEffect::End,
            "unsupported" => ControlEffect::Unsupported(self.cursor.text()?),
            _ => {
                let message = format!("`{keyword}` is no control effect");
                return Err(self.cursor.problem_before(message, hint));
            }
        })
    }

    fn write_barrier(&mut self) -> Result<ControlEffect, Problem> {
        Ok(ControlEffect::WriteBarrier {
            barrier: self.cursor.number("a barrier")?,
            source: self.cursor.dest()?,
            cleared: match self.cursor.accept_word("clear") {
                true => Some(self.cursor.number("a barrier")?),
                false => None,
            },
        })
    }

    /// Mask register.
    fn mask(&mut self) -> Result<Cell, Problem> {
        let cell = self.cursor.cell()?;
        match cell.register().kind {
            RegisterKind::Mask => Ok(cell),
            _ => Err(self.cursor.problem_before(
                format!("{cell} is no mask register"),
                "mask registers are M0 to M7",
            )),
        }
    }

    fn branch(&mut self) -> Result<ControlEffect, Problem> {
        let to = self.target()?;
        if !self.cursor.accept_word("reconvergence") {
            let hint = "write reconvergence ADDRESS or reconvergence end";
            return Err(self.cursor.problem("no reconvergence point", hint));
        }
        let reconvergence = match self.cursor.accept_word("end") {
            true => None,
            false => Some(self.place()?),
        };
        Ok(ControlEffect::Branch { to, reconvergence })
    }

    /// Register and constant of an address, and whether the sum is an address of this code.
    fn register_target(&mut self) -> Result<(Option<Cell>, i64, bool), Problem> {
        let hint = "write indirect relative CELL + OFFSET, or absolute";
        let kind = self.cursor.one_of(&["relative", "absolute"], hint)?;
        Ok((
            self.cursor.dest()?,
            self.cursor.offset()?,
            kind == "relative",
        ))
    }

    fn target(&mut self) -> Result<ControlTarget, Problem> {
        if self.cursor.accept_word("external") {
            return self.cursor.text().map(ControlTarget::External);
        }
        if self.cursor.accept_word("invalid") {
            return self.cursor.text().map(ControlTarget::Invalid);
        }
        self.place().map(ControlTarget::Op)
    }
}
