//! Reading position in the tokens of a line. For example, for `jump 0x0050` the parser takes the word `jump`, then
//! the number; a problem with the number has its column.

use std::borrow::Cow;

use warpbound_base::Named;
use warpbound_isa::{Reg, SpecialReg};

use super::lexer::{Placed, Token};
use crate::{Cell, ValueDependence};

/// Problem in a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Problem {
    /// Column, from 1.
    pub(super) column: usize,
    /// Message.
    pub(super) message: String,
    /// Suggested action.
    pub(super) hint: Cow<'static, str>,
}

/// Position in the tokens of a line.
pub(super) struct Cursor<'a> {
    tokens: &'a [Placed],
    at: usize,
    /// Column after the last token.
    end: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(tokens: &'a [Placed], end: usize) -> Cursor<'a> {
        Cursor { tokens, at: 0, end }
    }

    /// Column of the current token.
    pub(super) fn column(&self) -> usize {
        let placed = self.tokens.get(self.at);
        placed.map_or(self.end, |placed| placed.column)
    }

    /// Problem with the current token.
    pub(super) fn problem(
        &self,
        message: impl Into<String>,
        hint: impl Into<Cow<'static, str>>,
    ) -> Problem {
        Problem {
            column: self.column(),
            message: message.into(),
            hint: hint.into(),
        }
    }

    /// Problem with the token before the current one.
    pub(super) fn problem_before(
        &mut self,
        message: impl Into<String>,
        hint: impl Into<Cow<'static, str>>,
    ) -> Problem {
        // Only the column matters now, because parsing ends with the problem.
        self.at = self.at.saturating_sub(1);
        self.problem(message, hint)
    }

    /// Problem: the current token is not what the format demands.
    fn expected(&self, what: &str, hint: impl Into<Cow<'static, str>>) -> Problem {
        let found = match self.peek() {
            Some(Token::Word(word)) => format!("`{word}`"),
            Some(Token::Number(number)) => format!("{number}"),
            Some(Token::Text(_)) => "a text".to_owned(),
            Some(Token::Sign(sign)) => format!("`{sign}`"),
            None => "the end of the line".to_owned(),
        };
        self.problem(format!("{found} in place of {what}"), hint)
    }

    pub(super) fn peek(&self) -> Option<&'a Token> {
        self.peek_at(0)
    }

    /// Token `ahead` of the current one.
    pub(super) fn peek_at(&self, ahead: usize) -> Option<&'a Token> {
        let placed = self.tokens.get(self.at.saturating_add(ahead));
        placed.map(|placed| &placed.token)
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.peek().is_none()
    }

    /// Current word.
    pub(super) fn peek_word(&self) -> Option<&'a str> {
        match self.peek() {
            Some(Token::Word(word)) => Some(word),
            _ => None,
        }
    }

    pub(super) fn advance(&mut self) {
        self.at += 1;
    }

    /// Passes a sign if it is the current token.
    pub(super) fn accept(&mut self, sign: char) -> bool {
        let found = self.peek() == Some(&Token::Sign(sign));
        self.at += usize::from(found);
        found
    }

    /// Passes a word if it is the current token.
    pub(super) fn accept_word(&mut self, word: &str) -> bool {
        let found = self.peek_word() == Some(word);
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, sign: char) -> Result<(), Problem> {
        match self.accept(sign) {
            true => Ok(()),
            false => Err(self.expected(&format!("`{sign}`"), "write it here")),
        }
    }

    pub(super) fn word(
        &mut self,
        what: &str,
        hint: impl Into<Cow<'static, str>>,
    ) -> Result<&'a str, Problem> {
        let word = self.peek_word().ok_or_else(|| self.expected(what, hint))?;
        self.advance();
        Ok(word)
    }

    /// One of the words that the format allows here.
    pub(super) fn one_of(
        &mut self,
        words: &[&str],
        hint: impl Into<Cow<'static, str>>,
    ) -> Result<&'a str, Problem> {
        let word = self.peek_word().filter(|word| words.contains(word));
        let word = word.ok_or_else(|| self.expected(&words.join(" or "), hint))?;
        self.advance();
        Ok(word)
    }

    pub(super) fn text(&mut self) -> Result<String, Problem> {
        match self.peek() {
            Some(Token::Text(text)) => {
                self.advance();
                Ok(text.clone())
            }
            _ => Err(self.expected("a text", "write it in quotation marks")),
        }
    }

    /// Number that fits into a type.
    pub(super) fn number<T: TryFrom<u64>>(&mut self, what: &str) -> Result<T, Problem> {
        let hint = "write a number, decimal or hexadecimal (0x…)";
        let Some(&Token::Number(number)) = self.peek() else {
            return Err(self.expected(what, hint));
        };
        // The position stays at the number until it is known to fit, so the problem has its column.
        let found = T::try_from(number)
            .map_err(|_| self.problem(format!("{number} is too large for {what}"), hint))?;
        self.advance();
        Ok(found)
    }

    /// Sign and magnitude.
    pub(super) fn offset(&mut self) -> Result<i64, Problem> {
        let is_negative = self.accept('-');
        if !is_negative {
            self.expect('+')?;
        }
        let magnitude: u64 = self.number("an offset")?;
        let signed = match is_negative {
            // The smallest number has no positive counterpart that could be negated.
            true => 0i64.checked_sub_unsigned(magnitude),
            false => i64::try_from(magnitude).ok(),
        };
        signed.ok_or_else(|| self.problem_before("the offset has more than 64 bits", "reduce it"))
    }

    pub(super) fn cell(&mut self) -> Result<Cell, Problem> {
        let hint = "cells are R0 to R255, P0 to P7, CC, M0 to M7 and S0 to S129";
        let cell = self.peek_word().and_then(cell);
        let cell = cell.ok_or_else(|| self.expected("a cell", hint))?;
        self.advance();
        Ok(cell)
    }

    /// Cell, or `_` for none.
    pub(super) fn dest(&mut self) -> Result<Option<Cell>, Problem> {
        match self.accept_word("_") {
            true => Ok(None),
            false => self.cell().map(Some),
        }
    }

    /// Word that names a value of a type.
    pub(super) fn named<T: Named>(&mut self, what: &str) -> Result<T, Problem> {
        let hint = "write one of the names that `warpbound disasm --ir` prints";
        let found = self.peek_word().and_then(T::from_name);
        let found = found.ok_or_else(|| self.expected(what, hint))?;
        self.advance();
        Ok(found)
    }

    /// Elements with commas between them.
    pub(super) fn list<T>(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<T, Problem>,
    ) -> Result<Vec<T>, Problem> {
        let mut found = vec![element(self)?];
        while self.accept(',') {
            found.push(element(self)?);
        }
        Ok(found)
    }

    /// Elements in parentheses; there may be none.
    pub(super) fn in_parentheses<T>(
        &mut self,
        element: impl FnMut(&mut Self) -> Result<T, Problem>,
    ) -> Result<Vec<T>, Problem> {
        self.expect('(')?;
        if self.accept(')') {
            return Ok(Vec::new());
        }
        let found = self.list(element)?;
        self.expect(')')?;
        Ok(found)
    }

    /// Whether the current token is a dependence of values.
    pub(super) fn is_at_value(&self) -> bool {
        self.peek_word().and_then(value).is_some()
    }

    /// Dependence of values.
    pub(super) fn value(&mut self) -> Result<ValueDependence, Problem> {
        let hint = "dependences are function, load.SPACE, special.NAME, uniform and lane";
        let found = self.peek_word().and_then(value);
        let found = found.ok_or_else(|| self.expected("a dependence", hint))?;
        self.advance();
        Ok(found)
    }
}

/// Cell with a name.
pub(super) fn cell(word: &str) -> Option<Cell> {
    Reg::named(word).map(Cell::of)
}

/// Special register with a name.
pub(super) fn special(word: &str) -> Option<SpecialReg> {
    SpecialReg::named(word.strip_prefix("special.")?)
}

/// Dependence with a name.
fn value(word: &str) -> Option<ValueDependence> {
    Some(match word {
        "function" => ValueDependence::Function,
        "uniform" => ValueDependence::Uniform,
        "lane" => ValueDependence::Lane,
        _ => match word.strip_prefix("load.") {
            Some(space) => ValueDependence::Load(Named::from_name(space)?),
            None => ValueDependence::Special(special(word)?),
        },
    })
}
