//! Search for the bits of a row that give it certain modifiers and operands. It tries the values of each field in
//! turn and goes back if a later part does not fit. For example, if a list has the same text for two values of a
//! field, the second one is tried after the first has failed.

use super::super::arch::Arch;
use super::super::field::Field;
use super::super::form::{Form, FormId};
use super::super::names::{Names, NamesId};
use super::super::operand::{self, OperandValue};
use super::super::template::{Item, ItemKind, Piece};
use super::builder::words_of;
use super::error::OperandMismatch;
use super::new_operand::NewOperand;
use super::place::{self, Context, PartialWord};
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
    /// Every part fits, but the control field cannot keep an operand in the reuse cache.
    Reuse { index: usize },
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
            Shortfall::Reuse { .. } => (4, 0, false),
            Shortfall::Together => (5, 0, false),
        }
    }

    fn raise(&mut self, to: Shortfall) {
        if to.rank() > self.rank() {
            *self = to;
        }
    }
}

/// Number of bits of the widest list that is tried.
const LIST_BITS: u32 = 16;

/// Operand of a row, in the order of views.
#[derive(Clone, Copy)]
enum Slot<'a> {
    Item(&'a Item),
    /// Word of a list.
    Named(&'a Piece),
    /// Fixed text, such as RZ.
    Fixed(&'static str),
}

/// Requested instruction, without its opcode and guard.
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) arch: Arch,
    pub(super) addr: Option<CodeAddr>,
    /// Words of the modifiers.
    pub(super) words: &'a [&'static str],
    pub(super) given: &'a [NewOperand],
    /// Bits of a word whose codes are tried first.
    pub(super) codes: Option<u128>,
}

/// Search in one row.
pub(super) struct Search<'a> {
    id: FormId,
    form: &'a Form,
    request: Request<'a>,
    context: Context<'a>,
    slots: SmallVec<[Slot<'a>; 8]>,
    /// Index of the given operand for each filled slot; `None` for a slot that is left out.
    filled: SmallVec<[Option<usize>; 8]>,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        id: FormId,
        form: &'a Form,
        names: &'a Names,
        request: Request<'a>,
    ) -> Search<'a> {
        let pieces = form.template.operand_pieces(form.dialect);
        let slots = pieces.filter_map(|piece| match piece {
            Piece::Item(item) => Some(Slot::Item(item)),
            Piece::Name { .. } => Some(Slot::Named(piece)),
            Piece::Literal(text) => Some(Slot::Fixed(text)),
            Piece::Flag { .. } | Piece::ImadAlias(_) => None,
        });
        Search {
            id,
            form,
            request,
            context: Context {
                dialect: form.dialect,
                names,
                addr: request.addr,
                codes: request.codes,
            },
            slots: slots.collect(),
            filled: SmallVec::new(),
        }
    }

    /// Finds the first fitting bits in the order of the lists; `None` if there are none.
    pub(super) fn run(&mut self, start: PartialWord, shortfall: &mut Shortfall) -> Option<u128> {
        let form = self.form;
        self.modifiers(&form.template.opcode, self.request.words, start, shortfall)
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
                let field = Field::of_bit(*bit);
                let first = self.request.codes.map_or(1, |codes| field.get(codes));
                // The same word may come from a later piece, so the bit is also tried as 0.
                for value in [first, first ^ 1] {
                    let words = match value {
                        0 => Some(words),
                        _ => after(words, text),
                    };
                    let chosen = words.zip(word.with_field(&field, value));
                    let found = chosen
                        .and_then(|(words, word)| self.modifiers(rest, words, word, shortfall));
                    if found.is_some() {
                        return found;
                    }
                }
                None
            }
            Piece::Name {
                names, field, hide, ..
            } => {
                for value in self.codes_of(field) {
                    let Some(chosen) = word.with_field(field, value) else {
                        continue;
                    };
                    let Some(text) = self.context.names.text(*names, value) else {
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
                        && let Some(hidden) = chosen.with_condition(hide, true, None)
                        && let Some(found) = self.modifiers(rest, words, hidden, shortfall)
                    {
                        return Some(found);
                    }
                }
                None
            }
        }
    }

    /// Values of a field that a list spells, in the order of trying.
    fn codes_of(&self, field: &Field) -> impl Iterator<Item = u64> + use<> {
        let first = self.request.codes.map(|codes| field.get(codes));
        // Lists have few values; the limit keeps a wide field from taking forever.
        first
            .into_iter()
            .chain(0..1u64 << field.width().min(LIST_BITS))
    }

    /// Values of two fields that lists spell, by the number of the choice; `None` after the last choice.
    fn codes_of_choice(&self, fields: [Option<&Field>; 2], choice: u64) -> Option<[u64; 2]> {
        let number = match (self.request.codes, choice) {
            (Some(codes), 0) => return Some(fields.map(|field| field.map_or(0, |f| f.get(codes)))),
            (Some(_), choice) => choice - 1,
            (None, choice) => choice,
        };
        let [low, high] = fields.map(|field| field.map_or(0, |field| field.width().min(LIST_BITS)));
        let (first, second) = (number & ((1 << low) - 1), number >> low);
        (second >> high == 0).then_some([first, second])
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
            if next < self.request.given.len() {
                shortfall.raise(Shortfall::TooMany);
                return None;
            }
            return self.check(word, shortfall);
        };
        if let Some(given) = self.request.given.get(next) {
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
            if next >= self.request.given.len() {
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
            Slot::Fixed(text) => match choice {
                0 if given.is_fixed(text) => Placed::Word(word),
                0 => Placed::Mismatch(OperandMismatch::Kind),
                _ => Placed::None,
            },
            Slot::Named(Piece::Name { names, field, .. }) => {
                let Some([code, _]) = self.codes_of_choice([Some(field), None], choice) else {
                    return Placed::None;
                };
                let OperandValue::Word { text, .. } = given.value else {
                    return Placed::Mismatch(OperandMismatch::Kind);
                };
                let is_it = self.context.names.text(*names, code) == Some(text);
                let placed = word.with_field(field, code).filter(|_| is_it);
                placed.map_or(Placed::Mismatch(OperandMismatch::Kind), Placed::Word)
            }
            // Only pieces with a list become `Named`.
            Slot::Named(_) => Placed::None,
            Slot::Item(item) => {
                let select = item.select.as_ref().map(|(names, field)| (*names, field));
                let suffix = match &item.kind {
                    ItemKind::Brackets(brackets) => brackets.lists().next(),
                    _ => None,
                };
                let fields = [select, suffix].map(|list| list.map(|(_, field)| field));
                let Some([part, after]) = self.codes_of_choice(fields, choice) else {
                    return Placed::None;
                };
                let selected = self.place_text(select, part, given.select, word);
                let selected = selected.and_then(|word| match suffix {
                    None => Some(word),
                    Some(_) => self.place_text(suffix, after, given.suffix(), word),
                });
                let Some(selected) = selected else {
                    return Placed::Mismatch(OperandMismatch::Modifier);
                };
                match place::operand(item, given, selected, &self.context) {
                    Ok(word) => Placed::Word(word),
                    Err(mismatch) => Placed::Mismatch(mismatch),
                }
            }
        }
    }

    /// Places a code of a list with a certain text; without a list the text must be empty.
    fn place_text(
        &self,
        list: Option<(NamesId, &Field)>,
        code: u64,
        text: Option<&'static str>,
        word: PartialWord,
    ) -> Option<PartialWord> {
        match list {
            None => (text == Some("")).then_some(word),
            Some((names, field)) => {
                let is_it = text.is_some() && self.context.names.text(names, code) == text;
                word.with_field(field, code).filter(|_| is_it)
            }
        }
    }

    /// Chooses the bits of an operand that is left out; `None` if it must be given. The text leaves out these values, and
    /// `check` rejects any that it would show.
    fn leave_out(&self, slot: Slot<'_>, word: PartialWord) -> Option<PartialWord> {
        let Slot::Item(item) = slot else {
            return None;
        };
        let can_hide = item.hide.required().is_some() && word.holds(&item.hide) != Some(false)
            || item.hide_by.is_some();
        let can_be_absent = item.optional || can_hide;
        let omitted = item.omit.and_then(|omit| i64::try_from(omit).ok());
        let value = match item.kind {
            ItemKind::Reg(_) => can_be_absent.then_some(OperandValue::Reg(None)),
            ItemKind::Uniform(_) => can_be_absent.then_some(OperandValue::Uniform(None)),
            ItemKind::Pred(_) => can_be_absent.then_some(OperandValue::Pred {
                pred: None,
                negated: false,
            }),
            ItemKind::UniformPred(_) => can_be_absent.then_some(OperandValue::UniformPred {
                pred: None,
                negated: false,
            }),
            ItemKind::CcTest(_) => Some(OperandValue::CcTest(CcTest::TRUE)),
            ItemKind::Unsigned(_) | ItemKind::Signed(_) | ItemKind::Mixed(_) => omitted
                .or(can_be_absent.then_some(0))
                .map(OperandValue::Int),
            // The text hides it, so its bits mean nothing and stay zero.
            _ if can_hide => return Some(word),
            _ => None,
        };
        place::operand(item, &NewOperand::new(value?), word, &self.context).ok()
    }

    /// Checks that the word belongs to this row and has the requested modifiers and operands; returns its bits.
    fn check(&self, word: PartialWord, shortfall: &mut Shortfall) -> Option<u128> {
        let mut bits = word.value();
        if let Some(codes) = self.request.codes {
            // Bits that no part has chosen, such as a sign that another modifier switches off.
            bits |= codes & self.form.condition_bits() & !word.known();
        }
        if let Some(index) = self.lost_reuse(bits) {
            shortfall.raise(Shortfall::Reuse { index });
            return None;
        }
        // All parts fit at this point; only the whole may fail.
        shortfall.raise(Shortfall::Together);
        let bits = self.in_row(bits, word.known())?;
        let mut spelled = modifier_words(self.form, self.context.names, bits);
        let mut words = self.request.words.iter();
        if !words.all(|word| spelled.next() == Some(word)) || spelled.next().is_some() {
            return None;
        }
        let addr = self.request.addr.unwrap_or(CodeAddr(0));
        let view = operand::view(self.form, self.context.names, bits, addr);
        let is_same = view.operands.len() == self.filled.len()
            && view.operands.iter().zip(&self.filled).all(|(decoded, of)| {
                match of.and_then(|index| self.request.given.get(index)) {
                    // An operand that was not given must be one that the text leaves out.
                    None => !decoded.shown,
                    // A fixed register is a word for the decoder.
                    Some(given) => given.is(decoded) || given.stands_for(decoded.value),
                }
            });
        is_same.then_some(bits)
    }

    /// Word that belongs to the row: a narrower row may match the bits, and then they mean something else. A bit that no
    /// part has chosen is changed if this leaves the narrower row.
    fn in_row(&self, mut bits: u128, mut known: u128) -> Option<u128> {
        /// Narrower rows that can match one after the other.
        const ROWS: usize = 4;
        let (arch, mask) = (self.request.arch, self.form.dialect.word_mask());
        let table = table(arch);
        for _ in 0..ROWS {
            if table.find(arch, bits & mask) == Some(self.id) {
                return Some(bits);
            }
            let narrower = table.form(table.matching(arch, bits & mask)?)?;
            let free = narrower.mask & mask & !known;
            if free == 0 {
                return None;
            }
            let lowest = free & free.wrapping_neg();
            bits ^= lowest;
            // Otherwise the next step might go back.
            known |= lowest;
        }
        None
    }

    /// Index of an operand that is to be kept in the reuse cache although the control field of the word has a code for
    /// batches instead.
    fn lost_reuse(&self, bits: u128) -> Option<usize> {
        self.form.dialect.control?;
        let hints = self.form.effects.hints;
        match hints.is_some_and(|hints| hints.are_reuse(bits)) {
            true => None,
            false => self.request.given.iter().position(|given| given.reuse),
        }
    }
}

/// Words of the modifiers that a word of a row has, without names that follow from the operands (`IMAD.MOV`).
pub(super) fn modifier_words(
    form: &Form,
    names: &Names,
    bits: u128,
) -> impl Iterator<Item = &'static str> {
    let pieces = form.template.opcode.iter();
    let pieces = pieces.filter(|piece| !matches!(piece, Piece::ImadAlias(_)));
    pieces.flat_map(move |piece| words_of(operand::modifier(piece, names, bits)))
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
