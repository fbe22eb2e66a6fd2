//! Words as polynomials modulo 2³² over atoms, and the rules by which operations form them.
//!
//! An atom stands for a word that is not a sum or product of others: a thread index, a word of a constant bank, a
//! value of the program that is not followed, or an operation on polynomials. Equal atoms have one number, so that
//! equal operations on equal operands are the same unknown and cancel. The low `k` bits of `x` are written
//! `x - 2^k·(x >> k)`; so the products of 16-bit halves, from which some compilers compute a product of words,
//! add up to that product.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use warpbound_graph::LoopIndex;
use warpbound_ir::{BinaryOp, Cell, TernaryOp, UnaryOp};
use warpbound_isa::SpecialReg;

use super::low_parts::LowParts;
use super::polynomial::Polynomial;
use super::span::{Reading, Span};
use crate::gsa::ValueId;

/// Maximum nesting of operations in an atom; a deeper one is an unknown of its own.
const MAX_NESTED: u32 = 48;

/// Maximum number of times that the spans of gates, and of what is made of them, are computed anew.
const MAX_REFRESHES: u32 = 4;

/// Number of an atom.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct AtomId(pub(crate) u32);

/// A word: a polynomial modulo 2³².
pub(crate) type WordPolynomial = Polynomial<AtomId, u32>;

/// Unknown word of one thread.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Atom {
    /// Special register that does not change while the thread runs.
    Special(SpecialReg),
    /// Word of a constant bank, at a byte address.
    Constant(u8, WordPolynomial),
    /// Number of completed iterations of a loop since it was entered last.
    Iteration(LoopIndex),
    /// Content of a cell where it is defined.
    Value(ValueId, Cell),
    /// Unary operation.
    Unary(UnaryOp, WordPolynomial),
    /// Binary operation.
    Binary(BinaryOp, [WordPolynomial; 2]),
    /// Ternary operation.
    Ternary(TernaryOp, [WordPolynomial; 3]),
    /// Operation on operations that are nested too deeply: each an unknown of its own.
    Nested(u32),
}

/// Low part and high part of a word: the polynomial is `low + 2^bits·high`, with `low` below `2^bits`.
#[derive(Clone, Debug)]
struct Parts {
    low: WordPolynomial,
    bits: u32,
    high: WordPolynomial,
}

/// All atoms, and facts about polynomials that hold whatever words the atoms are.
#[derive(Default)]
pub(crate) struct Atoms {
    atoms: Vec<Atom>,
    numbers: FxHashMap<Atom, AtomId>,
    /// For each atom, a span that contains it, and how deeply operations are nested in it.
    known: Vec<(Span, u32)>,
    /// Whether an atom was limited since the spans of operations were computed.
    is_changed: bool,
    /// For atoms that are not operations, a power of two and the remainder modulo it, if known.
    residues: FxHashMap<AtomId, (u64, u64)>,
    /// Spans of polynomials that are smaller than their terms show.
    spans: FxHashMap<WordPolynomial, Span>,
    /// For polynomials without their constants, the constants with which they are in `spans`.
    recorded: FxHashMap<WordPolynomial, Vec<u32>>,
    /// For each gate, the words that it chooses from.
    gates: BTreeMap<AtomId, Vec<WordPolynomial>>,
    parts: FxHashMap<WordPolynomial, Parts>,
    /// Words that are the low bits of others.
    pub(super) low_parts: LowParts,
}

/// The constant polynomial of a word.
pub(crate) fn constant(word: u32) -> WordPolynomial {
    WordPolynomial::constant(word)
}

impl Atoms {
    /// The atom with a number.
    pub(crate) fn get(&self, id: AtomId) -> &Atom {
        &self.atoms[id.0 as usize]
    }

    /// Number of atoms.
    pub(crate) fn len(&self) -> usize {
        self.atoms.len()
    }

    /// The number of an atom.
    pub(crate) fn number(&mut self, atom: Atom) -> AtomId {
        if let Some(&id) = self.numbers.get(&atom) {
            return id;
        }
        let id = AtomId(self.atoms.len() as u32);
        let depth = self.depth_of(&atom);
        let span = self.operation_span(&atom, &|operand| self.span(operand));
        // What is known of the operands of a deep operation is used, and no more of them.
        let kept = match depth > MAX_NESTED {
            true => Atom::Nested(id.0),
            false => atom.clone(),
        };
        let depth = if depth > MAX_NESTED { 0 } else { depth };
        self.atoms.push(kept);
        self.known.push((span, depth));
        self.numbers.insert(atom, id);
        id
    }

    /// Depth to which operations are nested in an atom.
    fn depth_of(&self, atom: &Atom) -> u32 {
        let operands = operands(atom).iter();
        let atoms = operands.flat_map(|operand| operand.unknowns());
        let deepest = atoms.map(|id| self.known[id.0 as usize].1 + 1).max();
        deepest.unwrap_or(0)
    }

    /// Computes the spans of all operations and gates again, from what has become known of their operands.
    pub(crate) fn refresh_spans(&mut self) {
        // The words of a gate may have larger numbers than what is made of it.
        for _ in 0..MAX_REFRESHES {
            if !std::mem::take(&mut self.is_changed) {
                return;
            }
            // Operands have smaller numbers than their operations.
            for number in 0..self.atoms.len() {
                let before = self.known[number].0;
                let atom = &self.atoms[number];
                let span = self.operation_span(atom, &|operand| self.span(operand));
                self.known[number].0 = before.meet(span).unwrap_or(span);
            }
            let of_all = |words: &Vec<WordPolynomial>| {
                let spans = words.iter().map(|word| self.span(word));
                spans.reduce(Span::join)
            };
            let gates = self.gates.iter();
            let spans: Vec<(AtomId, Span)> = gates
                .filter_map(|(&id, words)| Some((id, of_all(words)?)))
                .collect();
            for (id, span) in spans {
                self.limit_leaf(id, span);
            }
        }
    }

    /// Sets the words that an atom is chosen from, whichever path the program takes.
    pub(super) fn set_gate(&mut self, id: AtomId, words: &[WordPolynomial]) {
        let spans = words.iter().map(|word| self.span(word));
        if let Some(all) = spans.reduce(Span::join) {
            self.limit_leaf(id, all);
            self.gates.insert(id, words.to_vec());
        }
    }

    /// Words that an atom is chosen from, if it is a gate.
    pub(crate) fn gate(&self, id: AtomId) -> Option<&[WordPolynomial]> {
        self.gates.get(&id).map(Vec::as_slice)
    }

    /// The polynomial of an atom.
    pub(crate) fn word(&mut self, atom: Atom) -> WordPolynomial {
        WordPolynomial::unknown(self.number(atom))
    }

    /// Polynomials that are the operands of an atom.
    pub(crate) fn operands(&self, id: AtomId) -> &[WordPolynomial] {
        operands(self.get(id))
    }

    /// Atoms that a word is made of, operations and their operands, each once, operands first.
    pub(crate) fn all_in(&self, word: &WordPolynomial) -> Vec<AtomId> {
        let mut open: Vec<AtomId> = word.unknowns().collect();
        // Operands have smaller numbers than their operations.
        let limit = open.iter().map(|id| id.0 as usize + 1).max().unwrap_or(0);
        let mut is_found = vec![false; limit];
        while let Some(id) = open.pop() {
            let known = &mut is_found[id.0 as usize];
            if !std::mem::replace(known, true) {
                let operands = self.operands(id).iter();
                open.extend(operands.flat_map(|operand| operand.unknowns()));
            }
        }
        let ids = (0..limit as u32).map(AtomId);
        ids.filter(|id| is_found[id.0 as usize]).collect()
    }

    /// Result of a unary operation.
    pub(crate) fn unary(&mut self, op: UnaryOp, a: WordPolynomial) -> WordPolynomial {
        if let Some(a) = a.as_constant() {
            return constant(op.apply(a));
        }
        let negative = match op {
            UnaryOp::Neg => a.scaled(u32::MAX),
            // The complement of x is -x - 1.
            UnaryOp::Not => {
                let negative = a.scaled(u32::MAX);
                negative.and_then(|n| n.plus(&constant(u32::MAX), 1))
            }
            _ => None,
        };
        negative.unwrap_or_else(|| self.word(Atom::Unary(op, a)))
    }

    /// Result of a binary operation; `None` for a division by zero.
    pub(crate) fn binary(
        &mut self,
        op: BinaryOp,
        a: WordPolynomial,
        b: WordPolynomial,
    ) -> Option<WordPolynomial> {
        if let (Some(a), Some(b)) = (a.as_constant(), b.as_constant()) {
            return op.apply(a, b).map(constant);
        }
        let formed = match op {
            BinaryOp::Add => a.plus(&b, 1),
            BinaryOp::Sub => a.plus(&b, u32::MAX),
            BinaryOp::Mul => a.times(&b),
            BinaryOp::Shl => match b.as_constant() {
                Some(bits @ 0..=31) => a.scaled(1 << bits),
                Some(_) => Some(constant(0)),
                None => None,
            },
            BinaryOp::Shr => match b.as_constant() {
                Some(bits @ 0..=31) => Some(self.shifted_right(&a, bits)),
                Some(_) => Some(constant(0)),
                None => None,
            },
            BinaryOp::Sar => self.arithmetic_shift(&a, &b),
            BinaryOp::And => self.and(&a, &b),
            BinaryOp::Or => self.or(&a, &b),
            BinaryOp::Xor => self.xor(&a, &b),
            BinaryOp::MinS | BinaryOp::MaxS | BinaryOp::MinU | BinaryOp::MaxU if a == b => {
                Some(a.clone())
            }
            _ => None,
        };
        let formed = formed.unwrap_or_else(|| {
            // The order of the operands does not matter for these, so a fixed one gives equal operations one atom.
            let swaps = matches!(
                op,
                BinaryOp::Add
                    | BinaryOp::Mul
                    | BinaryOp::And
                    | BinaryOp::Or
                    | BinaryOp::Xor
                    | BinaryOp::Eq
                    | BinaryOp::Ne
                    | BinaryOp::MinS
                    | BinaryOp::MaxS
                    | BinaryOp::MinU
                    | BinaryOp::MaxU
            );
            let (a, b) = match swaps && b.terms() < a.terms() {
                true => (b, a),
                false => (a, b),
            };
            self.word(Atom::Binary(op, [a, b]))
        });
        Some(formed)
    }

    /// Result of a ternary operation.
    pub(crate) fn ternary(
        &mut self,
        op: TernaryOp,
        operands: [WordPolynomial; 3],
    ) -> WordPolynomial {
        let [a, b, c] = &operands;
        let constants = [a, b, c].map(|operand| operand.as_constant());
        if let [Some(a), Some(b), Some(c)] = constants {
            return constant(op.apply(a, b, c));
        }
        match (op, constants) {
            (TernaryOp::Select, [Some(0), ..]) => return c.clone(),
            (TernaryOp::Select, [Some(_), ..]) => return b.clone(),
            (TernaryOp::Select, _) if b == c => return b.clone(),
            (TernaryOp::Carry, _) => {
                let most =
                    |operand: &WordPolynomial| self.span(operand).as_numbers(Reading::Unsigned);
                let all = [a, b, c].map(most);
                let least: i64 = all.iter().map(|(least, _)| least).sum();
                let most: i64 = all.iter().map(|(_, most)| most).sum();
                // The carry is the same for all words in these spans.
                if least >> 32 == most >> 32 {
                    return constant((most >> 32) as u32);
                }
                // The sum is one below 2³², or the carry in makes it so.
                let is_one_short = |sum: Option<u32>| sum == Some(u32::MAX);
                let carries = all[2].1 <= 1;
                if let ([Some(a), Some(b), None], true) = (constants, carries)
                    && is_one_short(a.checked_add(b))
                {
                    return c.clone();
                }
            }
            // The high word is 0: a shift of the low word alone.
            (TernaryOp::FunnelRight, [_, Some(0), Some(bits @ 0..=31)]) => {
                return self.shifted_right(&a.clone(), bits);
            }
            // The low word alone is shifted out at the top.
            (TernaryOp::FunnelLeft, [_, Some(0), Some(bits @ 1..=31)]) => {
                return self.shifted_right(&a.clone(), 32 - bits);
            }
            (TernaryOp::FunnelLeft, [Some(0), _, Some(bits @ 0..=31)]) => {
                if let Some(shifted) = b.scaled(1 << bits) {
                    return shifted;
                }
            }
            _ => {}
        }
        self.word(Atom::Ternary(op, operands))
    }

    /// Low and high part of a word: `low + 2^bits·high`, with `low` below `2^bits`; `None` if its terms do not show
    /// them. For example, `64·block + thread` with threads below 64 has the parts `thread` and `block` at 6 bits.
    pub(crate) fn split(
        &self,
        word: &WordPolynomial,
        bits: u32,
    ) -> Option<(WordPolynomial, WordPolynomial)> {
        if let Some(parts) = self.parts.get(word)
            && parts.bits == bits
        {
            return Some((parts.low.clone(), parts.high.clone()));
        }
        let (mut low, mut high) = (constant(0), constant(0));
        for (unknowns, coefficient) in word.terms() {
            let product = unknowns.iter().try_fold(constant(1), |product, &unknown| {
                product.times(&WordPolynomial::unknown(unknown))
            })?;
            if coefficient.trailing_zeros() >= bits {
                high = high.plus(&product, coefficient >> bits)?;
            } else {
                low = low.plus(&product, *coefficient)?;
            }
        }
        let is_below = |low: &WordPolynomial| {
            let (_, most) = self.span(low).as_numbers(Reading::Unsigned);
            most <= i64::from(low_mask(bits))
        };
        if is_below(&low) {
            return Some((low, high));
        }
        // A constant has a low and a high part of its own.
        let own = low.coefficient(&[]);
        let own_high = own & !low_mask(bits);
        let low = low.plus(&constant(own_high), u32::MAX)?;
        let high = high.plus(&constant(own >> bits), 1)?;
        is_below(&low).then_some((low, high))
    }

    /// Logical shift right by a number of bits below 32.
    fn shifted_right(&mut self, a: &WordPolynomial, bits: u32) -> WordPolynomial {
        if bits == 0 {
            return a.clone();
        }
        let (_, most) = self.span(a).as_numbers(Reading::Unsigned);
        if most >> bits == 0 {
            return constant(0);
        }
        if let Some((_, high)) = self.split(a, bits) {
            // The high part modulo what its shift left keeps.
            return self.low_bits(&high, 32 - bits);
        }
        // Shifts one after the other are one.
        if let Some(Atom::Binary(BinaryOp::Shr, [inner, by])) =
            a.as_unknown().map(|id| self.get(id).clone())
            && let Some(before) = by.as_constant()
        {
            return match before + bits {
                total @ 0..=31 => self.shifted_right(&inner, total),
                _ => constant(0),
            };
        }
        // No bits are lost where all coefficients are multiples and the products do not wrap.
        if let Some(quotient) = self.exact_quotient(a, bits) {
            return quotient;
        }
        let word = self.word(Atom::Binary(BinaryOp::Shr, [a.clone(), constant(bits)]));
        let (least, most) = self.span(a).as_numbers(Reading::Unsigned);
        self.limit(&word, Span::between(least >> bits, most >> bits));
        word
    }

    /// Quotient of a natural number, all of whose coefficients are multiples of `2^bits`.
    fn exact_quotient(&self, a: &WordPolynomial, bits: u32) -> Option<WordPolynomial> {
        let mut quotient = constant(0);
        for (unknowns, coefficient) in a.terms() {
            if coefficient.trailing_zeros() < bits {
                return None;
            }
            let mut product = constant(1);
            for &unknown in unknowns {
                product = product.times(&WordPolynomial::unknown(unknown))?;
            }
            // Coefficients are read as signed numbers, so that differences stay small.
            let shifted = (*coefficient as i32 >> bits) as u32;
            quotient = quotient.plus(&product, shifted)?;
        }
        // The quotient is right where it is a natural number that fits when it is shifted back.
        let (_, most) = self.span(&quotient).as_numbers(Reading::Unsigned);
        let fits = !self.span(&quotient).is_any() && most < 1i64 << (32 - bits);
        fits.then_some(quotient)
    }

    /// Arithmetic shift right.
    fn arithmetic_shift(
        &mut self,
        a: &WordPolynomial,
        b: &WordPolynomial,
    ) -> Option<WordPolynomial> {
        // A shift by more bits leaves the sign as well.
        let bits = b.as_constant()?.min(31);
        let (least, most) = self.span(a).as_numbers(Reading::Signed);
        if least >= 0 {
            return Some(self.shifted_right(a, bits));
        }
        let word = self.word(Atom::Binary(BinaryOp::Sar, [a.clone(), constant(bits)]));
        self.limit(&word, Span::between(least >> bits, most >> bits));
        Some(word)
    }

    /// The low bits of a word.
    fn low_bits(&mut self, a: &WordPolynomial, bits: u32) -> WordPolynomial {
        let mask = low_mask(bits);
        let (_, most) = self.span(a).as_numbers(Reading::Unsigned);
        if most <= i64::from(mask) {
            return a.clone();
        }
        if let Some((low, _)) = self.split(a, bits) {
            return low;
        }
        let high = self.shifted_right(a, bits);
        let low = high
            .scaled(0u32.wrapping_sub(mask.wrapping_add(1)))
            .and_then(|high| a.plus(&high, 1));
        match low {
            Some(low) => {
                self.limit(&low, Span::between(0, mask.into()));
                self.low_parts.record(&low, a, bits, high.as_unknown());
                low
            }
            None => {
                let (a, mask) = (a.clone(), constant(mask));
                self.word(Atom::Binary(BinaryOp::And, [a, mask]))
            }
        }
    }

    fn and(&mut self, a: &WordPolynomial, b: &WordPolynomial) -> Option<WordPolynomial> {
        if a == b {
            return Some(a.clone());
        }
        let (value, mask) = match (a.as_constant(), b.as_constant()) {
            (Some(mask), None) => (b, mask),
            (None, Some(mask)) => (a, mask),
            _ => return None,
        };
        let width = mask.count_ones();
        if mask == low_mask(width) {
            return Some(self.low_bits(value, width));
        }
        // A mask of high bits takes the low ones away.
        if mask == !low_mask(32 - width) {
            let low = self.low_bits(value, 32 - width);
            return value.plus(&low, u32::MAX);
        }
        // A mask in the middle: the high bits without the higher ones.
        let lowest = mask.trailing_zeros();
        if mask >> lowest == low_mask(width) {
            let high = self.shifted_right(value, lowest);
            return self.low_bits(&high, width).scaled(1 << lowest);
        }
        None
    }

    fn or(&mut self, a: &WordPolynomial, b: &WordPolynomial) -> Option<WordPolynomial> {
        if a == b {
            return Some(a.clone());
        }
        for (low, high) in [(a, b), (b, a)] {
            if low.as_constant() == Some(0) {
                return Some(high.clone());
            }
            let zeros = high.terms().iter().map(|(_, c)| c.trailing_zeros()).min();
            let zeros = zeros.unwrap_or(32);
            let (_, most) = self.span(low).as_numbers(Reading::Unsigned);
            // The operands have no bit in common, so the result is their sum.
            if (1..32).contains(&zeros) && most >> zeros == 0 {
                let word = low.plus(high, 1)?;
                let (_, quotient) = self.split(high, zeros)?;
                let parts = Parts {
                    low: low.clone(),
                    bits: zeros,
                    high: quotient,
                };
                self.parts.insert(word.clone(), parts);
                return Some(word);
            }
        }
        None
    }

    fn xor(&mut self, a: &WordPolynomial, b: &WordPolynomial) -> Option<WordPolynomial> {
        if a == b {
            return Some(constant(0));
        }
        let (value, mask) = match (a.as_constant(), b.as_constant()) {
            (Some(mask), None) => (b, mask),
            (None, Some(mask)) => (a, mask),
            _ => return None,
        };
        let (_, most) = self.span(value).as_numbers(Reading::Unsigned);
        // All bits that the value may have are inverted.
        let inverts = mask == low_mask(mask.count_ones()) && most <= i64::from(mask);
        match mask {
            0 => Some(value.clone()),
            _ if inverts => {
                let result = constant(mask).plus(value, u32::MAX)?;
                self.limit(&result, Span::between(0, mask.into()));
                Some(result)
            }
            _ => None,
        }
    }

    /// Span of an atom.
    pub(super) fn known_span(&self, id: AtomId) -> Span {
        self.known[id.0 as usize].0
    }

    /// Limits an atom that is not an operation to a span.
    pub(crate) fn limit_leaf(&mut self, id: AtomId, span: Span) {
        let known = &mut self.known[id.0 as usize].0;
        let before = *known;
        *known = known.meet(span).unwrap_or(span);
        self.is_changed |= *known != before;
    }

    /// Power of two modulo which the remainder of an atom that is not an operation is known, and the remainder.
    pub(super) fn leaf_residue(&self, id: AtomId) -> (u64, u64) {
        self.residues.get(&id).copied().unwrap_or((1, 0))
    }

    /// Sets the remainder of an atom that is not an operation, modulo a power of two.
    pub(crate) fn set_leaf_residue(&mut self, id: AtomId, modulus: u64, residue: u64) {
        self.residues
            .insert(id, (modulus, residue % modulus.max(1)));
    }

    /// Whether the span of a polynomial is known to be smaller than its terms show.
    pub(crate) fn has_recorded_span(&self, word: &WordPolynomial) -> bool {
        self.spans.contains_key(word)
    }

    /// Span of a polynomial that holds whatever words its atoms are.
    pub(super) fn recorded_span(&self, word: &WordPolynomial) -> Option<Span> {
        self.spans.get(word).copied()
    }

    /// A polynomial with a recorded span that differs from a word by a constant: the word itself, or the closest one.
    pub(super) fn recorded_near(&self, word: &WordPolynomial) -> Option<WordPolynomial> {
        let own = word.coefficient(&[]);
        let terms = word.plus(&constant(own), u32::MAX)?;
        let mut constants = self.recorded.get(&terms)?.iter();
        let first = *constants.next()?;
        let distance = |of: u32| (own.wrapping_sub(of) as i32).unsigned_abs();
        let nearest = constants.fold(first, |nearest, &of| {
            match (distance(of), of) < (distance(nearest), nearest) {
                true => of,
                false => nearest,
            }
        });
        terms.plus(&constant(nearest), 1)
    }

    /// Records that a polynomial is in a span whatever the atoms are.
    fn limit(&mut self, word: &WordPolynomial, span: Span) {
        let own = word.coefficient(&[]);
        if let (false, Some(terms)) = (
            self.spans.contains_key(word),
            word.plus(&constant(own), u32::MAX),
        ) {
            self.recorded.entry(terms).or_default().push(own);
        }
        let known = self.spans.entry(word.clone()).or_insert(span);
        // Both hold; that they exclude each other would need an impossible operand.
        *known = known.meet(span).unwrap_or(span);
    }
}

/// Polynomials that are the operands of an atom.
fn operands(atom: &Atom) -> &[WordPolynomial] {
    match atom {
        Atom::Special(_) | Atom::Iteration(_) | Atom::Value(..) | Atom::Nested(_) => &[],
        Atom::Constant(_, a) | Atom::Unary(_, a) => std::slice::from_ref(a),
        Atom::Binary(_, operands) => operands,
        Atom::Ternary(_, operands) => operands,
    }
}

/// Word with ones in the lowest bits.
pub(super) fn low_mask(bits: u32) -> u32 {
    match bits {
        0..=31 => (1 << bits) - 1,
        _ => u32::MAX,
    }
}

#[cfg(test)]
mod tests;
