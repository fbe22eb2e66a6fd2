//! Spans of words: the least and greatest number that a polynomial can be, from the spans of its atoms.

use rustc_hash::FxHashMap;
use warpbound_ir::{BinaryOp, TernaryOp, UnaryOp};

use super::atoms::{Atom, AtomId, Atoms, WordPolynomial, low_mask};
use super::span::{Reading, Span};

/// Spans that replace the spans of atoms, for one step of a loop.
pub(crate) type Overlay = FxHashMap<AtomId, Span>;

/// Spans of atoms in the order of their numbers.
type SpansInOrder = Vec<(AtomId, Span)>;

impl Atoms {
    /// Span of a word.
    pub(crate) fn span(&self, word: &WordPolynomial) -> Span {
        self.span_by(word, &|id| self.known_span(id))
    }

    /// Span of a word where some atoms have other spans.
    pub(crate) fn span_with(&self, word: &WordPolynomial, overlay: &Overlay) -> Span {
        let mut spans = SpansInOrder::new();
        for id in self.all_in(word) {
            let span = match overlay.get(&id) {
                Some(&span) => span,
                None => {
                    let of = |operand: &WordPolynomial| {
                        self.span_by(operand, &|id| self.span_among(&spans, id))
                    };
                    let span = self.operation_span(self.get(id), &of);
                    let known = self.known_span(id);
                    span.meet(known).unwrap_or(known)
                }
            };
            spans.push((id, span));
        }
        self.span_by(word, &|id| self.span_among(&spans, id))
    }

    fn span_among(&self, spans: &SpansInOrder, id: AtomId) -> Span {
        match spans.binary_search_by_key(&id, |&(own, _)| own) {
            Ok(at) => spans[at].1,
            Err(_) => self.known_span(id),
        }
    }

    /// Span of a word from the spans of its atoms.
    fn span_by(&self, word: &WordPolynomial, of: &dyn Fn(AtomId) -> Span) -> Span {
        if let Some(value) = word.as_constant() {
            return Span::one(value);
        }
        let summed = match word.as_unknown() {
            Some(atom) => of(atom),
            None => self.sum_span(word, of).unwrap_or(Span::ANY),
        };
        match self.recorded_span(word) {
            Some(recorded) => summed.meet(recorded).unwrap_or(recorded),
            None => summed,
        }
    }

    /// Span of the sum of the terms of a word, and of its low parts and the rest; `None` if it is too large to be computed.
    fn sum_span(&self, word: &WordPolynomial, of: &dyn Fn(AtomId) -> Span) -> Option<Span> {
        let (least, most) = sum_limits(word, of)?;
        let mut span = Span::of_numbers(least, most);
        if let Some((least, most)) = self.limits_with_shifts(word, of) {
            span = span.meet(Span::of_numbers(least, most)).unwrap_or(span);
        }
        let (parts, rest) = self.low_parts.taken_out_of(word);
        if parts.is_empty() {
            return Some(span);
        }
        let (mut least, mut most) = sum_limits(&rest, of)?;
        for (part, factor) in parts {
            let end = i128::from(factor) * i128::from(low_mask(part.bits));
            least = least.checked_add(end.min(0))?;
            most = most.checked_add(end.max(0))?;
        }
        let by_parts = Span::of_numbers(least, most);
        Some(span.meet(by_parts).unwrap_or(span))
    }

    /// Limits of a word such as `x - (x >> k)`, which grows with x. `None` if the word subtracts no right shift of a word that it
    /// contains, or if the limits are too large to be computed.
    fn limits_with_shifts(
        &self,
        word: &WordPolynomial,
        of: &dyn Fn(AtomId) -> Span,
    ) -> Option<(i128, i128)> {
        let mut rest = word.clone();
        let mut is_found = false;
        let (mut least, mut most) = (0i128, 0i128);
        for (unknowns, coefficient) in word.terms() {
            let &[id] = unknowns.as_slice() else {
                continue;
            };
            let Atom::Binary(BinaryOp::Shr, [shifted, bits]) = self.get(id) else {
                continue;
            };
            let (Some(shifted), Some(bits)) = (shifted.as_unknown(), bits.as_constant()) else {
                continue;
            };
            let times = i128::from((*coefficient as i32).checked_neg()?);
            let own = i128::from(rest.coefficient(&[shifted]) as i32);
            if times <= 0 || own < times || bits >= u32::BITS {
                continue;
            }
            let taken =
                WordPolynomial::unknown(shifted).plus(&WordPolynomial::unknown(id), u32::MAX)?;
            is_found = true;
            rest = rest.plus(&taken, *coefficient)?;
            let (low, high) = of(shifted).as_numbers(Reading::Unsigned);
            let left = |x: i64| i128::from(x - (x >> bits));
            least = least.checked_add(times.checked_mul(left(low))?)?;
            most = most.checked_add(times.checked_mul(left(high))?)?;
        }
        if !is_found {
            return None;
        }
        let (low, high) = sum_limits(&rest, of)?;
        Some((least.checked_add(low)?, most.checked_add(high)?))
    }

    /// Span of an operation from the spans of its operands; all words for other atoms.
    pub(super) fn operation_span(
        &self,
        atom: &Atom,
        span: &dyn Fn(&WordPolynomial) -> Span,
    ) -> Span {
        let readings = |word: &WordPolynomial| {
            let span = span(word);
            let of = |reading| span.as_numbers(reading);
            (of(Reading::Unsigned), of(Reading::Signed))
        };
        match atom {
            Atom::Special(_)
            | Atom::Iteration(_)
            | Atom::Constant(..)
            | Atom::Value(..)
            | Atom::Nested(_) => Span::ANY,
            Atom::Unary(op, a) => {
                let (natural, signed) = readings(a);
                unary_span(*op, natural, signed)
            }
            Atom::Binary(op, [a, b]) => {
                let (a, b) = (readings(a), readings(b));
                binary_span(*op, [a.0, b.0], [a.1, b.1])
            }
            Atom::Ternary(TernaryOp::Select, [_, b, c]) => span(b).join(span(c)),
            Atom::Ternary(TernaryOp::Carry, operands) => {
                // No sum has a greater carry than the sum of the greatest operands.
                let most: i64 = operands.iter().map(|operand| readings(operand).0.1).sum();
                Span::between(0, most >> 32)
            }
            Atom::Ternary(..) => Span::ANY,
        }
    }

    /// Largest power of two modulo which the remainder of a word is known, and the remainder.
    pub(crate) fn residue(&self, word: &WordPolynomial) -> (u64, u64) {
        const ALL: u64 = 1 << 32;
        let (mut modulus, mut residue) = (ALL, 0u64);
        for (unknowns, coefficient) in word.terms() {
            let mut term = (ALL, u64::from(*coefficient));
            for &atom in unknowns {
                term = product_residue(term, self.atom_residue(atom));
            }
            modulus = modulus.min(term.0);
            residue = residue.wrapping_add(term.1) % ALL;
        }
        (modulus, residue % modulus)
    }

    fn atom_residue(&self, id: AtomId) -> (u64, u64) {
        match self.get(id) {
            Atom::Binary(BinaryOp::Mul, [a, b]) => {
                product_residue(self.residue(a), self.residue(b))
            }
            _ => self.leaf_residue(id),
        }
    }
}

/// Limits of the sum of the terms of a word; `None` if it is too large to be computed.
fn sum_limits(word: &WordPolynomial, of: &dyn Fn(AtomId) -> Span) -> Option<(i128, i128)> {
    let (mut least, mut most) = (0i128, 0i128);
    for (unknowns, coefficient) in word.terms() {
        // Read as a signed number, a large coefficient is a small difference.
        let signed = i128::from(*coefficient as i32);
        let mut product = (signed, signed);
        for &atom in unknowns {
            product = multiplied(product, closest_numbers(of(atom)))?;
        }
        least = least.checked_add(product.0)?;
        most = most.checked_add(product.1)?;
    }
    Some((least, most))
}

/// Limits of a span as numbers, in the reading with the closest limits.
fn closest_numbers(span: Span) -> (i128, i128) {
    let of = |reading| span.as_numbers(reading);
    let (unsigned, signed) = (of(Reading::Unsigned), of(Reading::Signed));
    let closest = match signed.1 - signed.0 < unsigned.1 - unsigned.0 {
        true => signed,
        false => unsigned,
    };
    (closest.0.into(), closest.1.into())
}

/// Remainder of a product of numbers with known remainders. For example, 4 modulo 8 times 2 modulo 4 is 8 modulo 16.
pub(super) fn product_residue(a: (u64, u64), b: (u64, u64)) -> (u64, u64) {
    let ((m, r), (n, s)) = (a, b);
    // (r + m·i)·(s + n·j) = r·s + r·n·j + s·m·i + m·n·i·j.
    let power = |x: u64| 1u64 << x.trailing_zeros().min(32);
    let modulus = (power(r).min(m).saturating_mul(n)).min(power(s).min(n).saturating_mul(m));
    let modulus = modulus.min(1 << 32);
    (modulus, r.wrapping_mul(s) % modulus)
}

/// Largest power of two modulo which two numbers have the same known remainder, and the remainder.
pub(crate) fn joined_residue(a: (u64, u64), b: (u64, u64)) -> (u64, u64) {
    let ((m, r), (n, s)) = (a, b);
    let modulus = m.min(n).min(1 << r.abs_diff(s).trailing_zeros().min(32));
    (modulus, r % modulus)
}

/// Limits of the product of two intervals.
fn multiplied(a: (i128, i128), b: (i128, i128)) -> Option<(i128, i128)> {
    let corners = [
        a.0.checked_mul(b.0)?,
        a.0.checked_mul(b.1)?,
        a.1.checked_mul(b.0)?,
        a.1.checked_mul(b.1)?,
    ];
    let least = corners.iter().copied().min()?;
    let most = corners.iter().copied().max()?;
    Some((least, most))
}

fn unary_span(op: UnaryOp, natural: (i64, i64), signed: (i64, i64)) -> Span {
    match op {
        UnaryOp::Popc => Span::between(0, 32),
        // All ones, or the position of a bit.
        UnaryOp::HighestOne => {
            let bit = |value: i64| 31 - i64::from((value as u32).leading_zeros());
            Span::between(bit(natural.0), bit(natural.1))
        }
        UnaryOp::HighestNonSign => Span::between(-1, 30),
        UnaryOp::AbsS => {
            let most = signed.0.abs().max(signed.1.abs());
            let least = match signed.0 <= 0 && signed.1 >= 0 {
                true => 0,
                false => signed.0.abs().min(signed.1.abs()),
            };
            Span::between(least, most)
        }
        UnaryOp::SignExtend8 if natural.1 <= 0x7f => Span::between(natural.0, natural.1),
        UnaryOp::SignExtend8 => Span::between(-0x80, 0x7f),
        UnaryOp::SignExtend16 if natural.1 <= 0x7fff => Span::between(natural.0, natural.1),
        UnaryOp::SignExtend16 => Span::between(-0x8000, 0x7fff),
        // Negatives and complements are polynomials unless these are too long; a reversed word may have its bits
        // anywhere.
        UnaryOp::Neg | UnaryOp::Not | UnaryOp::Reverse => Span::ANY,
    }
}

fn binary_span(op: BinaryOp, natural: [(i64, i64); 2], signed: [(i64, i64); 2]) -> Span {
    let [a, b] = natural;
    let [sa, sb] = signed;
    // Ones in all places up to the highest one of either operand.
    let filled = |most: i64| i64::from(low_mask(64 - most.leading_zeros()));
    match op {
        BinaryOp::And => Span::between(0, a.1.min(b.1)),
        BinaryOp::Or => Span::between(a.0.max(b.0), filled(a.1.max(b.1))),
        BinaryOp::Xor => Span::between(0, filled(a.1.max(b.1))),
        // The numbers have 32 bits, so any shift by 32 or more leaves 0 of them.
        BinaryOp::Shr => Span::between(a.0 >> b.1.min(63), a.1 >> b.0.min(63)),
        BinaryOp::Sar => {
            let by = (b.0.min(31), b.1.min(31));
            let corners = [sa.0 >> by.0, sa.0 >> by.1, sa.1 >> by.0, sa.1 >> by.1];
            span_of(&corners)
        }
        // Only where no bit is shifted out.
        BinaryOp::Shl if b.1 < 32 && a.1 <= i64::from(u32::MAX) >> b.1 => {
            Span::between(a.0 << b.0, a.1 << b.1)
        }
        BinaryOp::MulHighU => {
            let product = |x: i64, y: i64| ((i128::from(x) * i128::from(y)) >> 32) as i64;
            Span::between(product(a.0, b.0), product(a.1, b.1))
        }
        BinaryOp::MulHighS => {
            let product = |x: i64, y: i64| (x * y) >> 32;
            span_of(&[
                product(sa.0, sb.0),
                product(sa.0, sb.1),
                product(sa.1, sb.0),
                product(sa.1, sb.1),
            ])
        }
        BinaryOp::MinU => Span::between(a.0.min(b.0), a.1.min(b.1)),
        BinaryOp::MaxU => Span::between(a.0.max(b.0), a.1.max(b.1)),
        BinaryOp::MinS => Span::between(sa.0.min(sb.0), sa.1.min(sb.1)),
        BinaryOp::MaxS => Span::between(sa.0.max(sb.0), sa.1.max(sb.1)),
        BinaryOp::LtU
        | BinaryOp::LeU
        | BinaryOp::LtS
        | BinaryOp::LeS
        | BinaryOp::Eq
        | BinaryOp::Ne => Span::between(0, 1),
        BinaryOp::DivS if sa.0 >= 0 && sb.0 > 0 => Span::between(sa.0 / sb.1, sa.1 / sb.0),
        BinaryOp::RemS if sa.0 >= 0 && sb.0 > 0 => Span::between(0, sa.1.min(sb.1 - 1)),
        // Sums and products are polynomials unless these are too long, and may wrap around.
        BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Mul
        | BinaryOp::Shl
        | BinaryOp::DivS
        | BinaryOp::RemS => Span::ANY,
    }
}

/// The least span of all numbers.
fn span_of(numbers: &[i64]) -> Span {
    let least = numbers.iter().copied().min().unwrap_or(0);
    let most = numbers.iter().copied().max().unwrap_or(0);
    Span::between(least, most)
}
