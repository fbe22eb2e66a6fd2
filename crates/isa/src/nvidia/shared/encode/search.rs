//! Search for the bits of a row that give it certain modifiers and operands. It tries the values of each field in
//! turn and goes back if a later part does not fit. For example, if a list has the same text for two values of a
//! field, the second one is tried after the first has failed.

use super::super::arch::Arch;
use super::super::form::{Form, FormId};
use super::super::names::Names;
use super::super::operand::{self, OperandValue};
use super::super::template::{Item, Piece};
use super::builder::words_of;
use super::error::OperandMismatch;
use super::new_operand::NewOperand;
use super::place::{self, PartialWord};
use crate::instr::CcTest;
use crate::nvidia::tables::table;
use smallvec::SmallVec;
use warpbound_base::CodeAddr;

/// Progress of the closest row, for the error. Later variants are closer, and so are operands with a larger index.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Shortfall {
    /// No row has the modifiers.
    #[default]
    Modifiers,
    /// An operand does not fit.
    Operand {
        index: usize,
        mismatch: OperandMismatch,
    },
    /// The row has fewer operands than were given.
    TooMany,
    /// All given operands fit, but the row needs more.
    TooFew,
    /// Every part fits, but the word decodes to something else.
    Together,
}

impl Shortfall {
    /// Order of closeness. A number out of range is closer than a wrong kind.
    fn rank(self) -> (usize, usize, bool) {
        match self {
            Shortfall::Modifiers => (0, 0, false),
            Shortfall::Operand { index, mismatch } => (1, index, mismatch != OperandMismatch::Kind),
            Shortfall::TooMany => (2, 0, false),
            Shortfall::TooFew => (3, 0, false),
            Shortfall::Together => (4, 0, false),
        }
    }

    fn raise(&mut self, to: Shortfall) {
        if to.rank() > self.rank() {
            *self = to;
        }
    }
}

/// Operand of a row, in the order of views.
#[derive(Clone, Copy)]
enum Slot<'a> {
    Item(&'a Item),
    /// Word of a list.
    Named(&'a Piece),
    /// Fixed RZ.
    Zero,
}

/// Search in one row.
pub(super) struct Search<'a> {
    id: FormId,
    form: &'a Form,
    names: &'a Names,
    arch: Arch,
    addr: Option<CodeAddr>,
    words: &'a [&'static str],
    given: &'a [NewOperand],
    slots: SmallVec<[Slot<'a>; 8]>,
    /// Index of the given operand for each filled slot; `None` for a slot that is left out.
    filled: SmallVec<[Option<usize>; 8]>,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        id: FormId,
        form: &'a Form,
        names: &'a Names,
        arch: Arch,
        addr: Option<CodeAddr>,
        words: &'a [&'static str],
        given: &'a [NewOperand],
    ) -> Search<'a> {
        let template = &form.template;
        let in_opcode = template.opcode.iter();
        let in_opcode = in_opcode.filter(|piece| matches!(piece, Piece::Item(_)));
        let pieces = template.operands.iter().flatten().chain(in_opcode);
        let slots = pieces.filter_map(|piece| match piece {
            Piece::Item(item) => Some(Slot::Item(item)),
            Piece::Name { .. } => Some(Slot::Named(piece)),
            Piece::Literal("RZ") => Some(Slot::Zero),
            Piece::Literal(_) | Piece::Flag { .. } | Piece::ImadAlias(_) => None,
        });
        Search {
            id,
            form,
            names,
            arch,
            addr,
            words,
            given,
            slots: slots.collect(),
            filled: SmallVec::new(),
        }
    }

    /// Finds the first fitting bits in the order of the lists; `None` if there are none.
    pub(super) fn run(&mut self, start: PartialWord, shortfall: &mut Shortfall) -> Option<u128> {
        let form = self.form;
        self.modifiers(&form.template.opcode, self.words, start, shortfall)
    }

    /// Chooses the bits of the modifiers. The remaining pieces must print `words`.
    fn modifiers(
        &mut self,
        pieces: &'a [Piece],
        words: &'a [&'static str],
        word: PartialWord,
        shortfall: &mut Shortfall,
    ) -> Option<u128> {
        let Some((piece, rest)) = pieces.split_first() else {
            return match words {
                [] => self.operands(0, 0, word, shortfall),
                _ => None,
            };
        };
        match piece {
            // Operands inside the opcode follow later, with the other operands.
            Piece::Item(_) | Piece::ImadAlias(_) => self.modifiers(rest, words, word, shortfall),
            Piece::Literal(text) => {
                let words = after(words, text)?;
                self.modifiers(rest, words, word, shortfall)
            }
            Piece::Flag { text, bit, .. } => {
                let field = super::super::field::Field::of_bit(*bit);
                let on = after(words, text).zip(word.with_field(&field, 1));
                let on = on.and_then(|(words, word)| self.modifiers(rest, words, word, shortfall));
                // The same word may come from a later piece, so the bit is also tried as 0.
                on.or_else(|| self.modifiers(rest, words, word.with_field(&field, 0)?, shortfall))
            }
            Piece::Name {
                names, field, hide, ..
            } => {
                // Lists have few values; the limit keeps a wide field from taking forever.
                for value in 0..1u64 << field.width().min(16) {
                    let Some(chosen) = word.with_field(field, value) else {
                        continue;
                    };
                    let Some(text) = self.names.text(*names, value) else {
                        continue;
                    };
                    let is_hidden = chosen.holds(hide);
                    if is_hidden != Some(true)
                        && let Some(words) = after(words, text)
                        && let Some(found) = self.modifiers(rest, words, chosen, shortfall)
                    {
                        return Some(found);
                    }
                    // A hidden piece prints nothing, so it takes none of the words.
                    if is_hidden != Some(false)
                        && let Some(hidden) = chosen.with_condition(hide, true)
                        && let Some(found) = self.modifiers(rest, words, hidden, shortfall)
                    {
                        return Some(found);
                    }
                }
                None
            }
        }
    }

    /// Fills the slots from `slot` on with the operands from `next` on.
    fn operands(
        &mut self,
        slot: usize,
        next: usize,
        word: PartialWord,
        shortfall: &mut Shortfall,
    ) -> Option<u128> {
        let Some(at) = self.slots.get(slot).copied() else {
            if next < self.given.len() {
                shortfall.raise(Shortfall::TooMany);
                return None;
            }
            return self.check(word, shortfall);
        };
        if let Some(given) = self.given.get(next) {
            // `place` returns `None` after the last choice, which ends the loop.
            for choice in 0.. {
                let placed = match self.place(at, given, choice, word) {
                    Placed::None => break,
                    Placed::Mismatch(mismatch) => {
                        let index = next;
                        shortfall.raise(Shortfall::Operand { index, mismatch });
                        continue;
                    }
                    Placed::Word(placed) => placed,
                };
                self.filled.push(Some(next));
                let found = self.operands(slot + 1, next + 1, placed, shortfall);
                if found.is_some() {
                    return found;
                }
                self.filled.pop();
            }
        }
        let Some(left_out) = self.leave_out(at, word) else {
            if next >= self.given.len() {
                shortfall.raise(Shortfall::TooFew);
            }
            return None;
        };
        self.filled.push(None);
        let found = self.operands(slot + 1, next, left_out, shortfall);
        if found.is_none() {
            self.filled.pop();
        }
        found
    }

    /// Places a given operand in one of several ways. `choice` counts the values of a list with its text, or the
    /// values of the field that selects a part.
    fn place(&self, slot: Slot<'_>, given: &NewOperand, choice: u64, word: PartialWord) -> Placed {
        match slot {
            Slot::Zero => match (choice, given.value) {
                (0, OperandValue::Reg(None) | OperandValue::Word { text: "RZ", .. }) => {
                    Placed::Word(word)
                }
                (0, _) => Placed::Mismatch(OperandMismatch::Kind),
                _ => Placed::None,
            },
            Slot::Named(Piece::Name { names, field, .. }) => {
                if choice >> field.width().min(16) != 0 {
                    return Placed::None;
                }
                let OperandValue::Word { text, .. } = given.value else {
                    return Placed::Mismatch(OperandMismatch::Kind);
                };
                let is_it = self.names.text(*names, choice) == Some(text);
                let placed = word.with_field(field, choice).filter(|_| is_it);
                placed.map_or(Placed::Mismatch(OperandMismatch::Kind), Placed::Word)
            }
            // Only pieces with a list become `Named`.
            Slot::Named(_) => Placed::None,
            Slot::Item(item) => {
                let selections = match &item.select {
                    None => 1,
                    Some((_, field)) => 1 << field.width().min(16),
                };
                if choice >= selections {
                    return Placed::None;
                }
                let selected = match (&item.select, given.select) {
                    (None, Some("")) => Some(word),
                    (Some((names, field)), Some(text)) => word
                        .with_field(field, choice)
                        .filter(|_| self.names.text(*names, choice) == Some(text)),
                    _ => None,
                };
                let Some(selected) = selected else {
                    return Placed::Mismatch(OperandMismatch::Modifier);
                };
                match place::operand(item, given, selected, self.form.dialect, self.addr) {
                    Ok(word) => Placed::Word(word),
                    Err(mismatch) => Placed::Mismatch(mismatch),
                }
            }
        }
    }

    /// Chooses the bits of an operand that is left out; `None` if it must be given.
    fn leave_out(&self, slot: Slot<'_>, word: PartialWord) -> Option<PartialWord> {
        let Slot::Item(item) = slot else {
            return None;
        };
        // The text leaves out these values, and `check` rejects any that it would show.
        let candidates = [
            item.optional.then_some(OperandValue::Reg(None)),
            item.optional.then_some(OperandValue::Pred {
                pred: None,
                negated: false,
            }),
            Some(OperandValue::CcTest(CcTest::TRUE)),
            item.omit
                .and_then(|omit| Some(OperandValue::Int(i64::try_from(omit).ok()?))),
        ];
        let mut candidates = candidates.into_iter().flatten();
        candidates.find_map(|value| {
            let given = NewOperand::new(value);
            place::operand(item, &given, word, self.form.dialect, self.addr).ok()
        })
    }

    /// Checks that the word belongs to this row and has the requested modifiers and operands; returns its bits.
    fn check(&self, word: PartialWord, shortfall: &mut Shortfall) -> Option<u128> {
        // All parts fit at this point; only the whole may fail.
        shortfall.raise(Shortfall::Together);
        let bits = word.value();
        // A narrower row may match the word, which then means something else.
        let in_word = bits & self.form.dialect.word_mask();
        if table(self.arch).find(self.arch, in_word) != Some(self.id) {
            return None;
        }
        let spelling = operand::spelling(self.form, self.names, bits);
        let mut spelled = spelling.modifiers.iter().copied().flat_map(words_of);
        if !self.words.iter().all(|word| spelled.next() == Some(word)) || spelled.next().is_some() {
            return None;
        }
        let addr = self.addr.unwrap_or(CodeAddr(0));
        let view = operand::view(self.form, self.names, bits, addr);
        let is_same = view.operands.len() == self.filled.len()
            && view.operands.iter().zip(&self.filled).all(|(decoded, of)| {
                match of.and_then(|index| self.given.get(index)) {
                    // An operand that was not given must be one that the text leaves out.
                    None => !decoded.shown,
                    // A fixed RZ is a word for the decoder.
                    Some(given) if given.value == OperandValue::Reg(None) => {
                        matches!(decoded.value, OperandValue::Word { text: "RZ", .. })
                            || given.is(decoded)
                    }
                    Some(given) => given.is(decoded),
                }
            });
        is_same.then_some(bits)
    }
}

/// Result of placing an operand.
enum Placed {
    Word(PartialWord),
    Mismatch(OperandMismatch),
    /// No further choice exists.
    None,
}

/// Remaining words after the words of a text; `None` if they begin otherwise.
fn after<'w>(words: &'w [&'static str], text: &'static str) -> Option<&'w [&'static str]> {
    let mut rest = words;
    for word in words_of(text) {
        let (first, after) = rest.split_first()?;
        if *first != word {
            return None;
        }
        rest = after;
    }
    Some(rest)
}
