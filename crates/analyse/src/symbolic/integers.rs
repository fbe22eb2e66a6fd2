//! Words as integers: exact polynomials over words read as numbers, their limits, and facts that guards imply.

use rustc_hash::FxHashMap;
use warpbound_ir::BinaryOp;

use super::atoms::{Atom, AtomId, Atoms, WordPolynomial};
use super::polynomial::Polynomial;
use super::ranges::{Overlay, product_residue};
use super::span::{Reading, Span};

/// Number of a word that is read in one way, in [`Integers`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct NumberId(u32);

/// An integer: a polynomial over words read as numbers.
pub(crate) type Integer = Polynomial<NumberId, i128>;

/// Conditions that hold at a place: integers that are not negative, and integers that are not 0.
#[derive(Clone, Default, Debug)]
pub(crate) struct Facts {
    pub(crate) not_negative: Vec<Integer>,
    pub(crate) not_zero: Vec<Integer>,
    /// Whether one of them never holds, so that the place is not reached.
    pub(crate) never_hold: bool,
    /// Spans of the atoms that they limit.
    pub(crate) limited: Overlay,
    /// Whether words are read by these limits: one that is natural under them is the same number in both readings.
    /// Formulas of counts keep the reading of the program.
    pub(crate) reads_by_limits: bool,
    /// Whether a word whose sum may wrap is read as a multiple of a power of two and the rest below it. This is done
    /// for addresses of lanes: in `64·block + thread` the block may be anything, and the threads are still next to
    /// each other.
    pub(crate) reads_in_parts: bool,
}

impl Facts {
    /// No conditions, for the words of addresses.
    pub(super) fn of_addresses() -> Facts {
        Facts {
            reads_in_parts: true,
            ..Facts::default()
        }
    }

    /// Limits of atoms that decide how words are read.
    fn limits_of_readings(&self) -> Option<&Overlay> {
        self.reads_by_limits.then_some(&self.limited)
    }
}

/// Words that are read as numbers.
#[derive(Default)]
pub(crate) struct Integers {
    numbers: Vec<(WordPolynomial, Reading)>,
    ids: FxHashMap<(WordPolynomial, Reading), NumberId>,
    /// For numbers of words at headers of loops, integers that are not negative wherever the word exists: below the
    /// header.
    of_header_words: FxHashMap<NumberId, Vec<Integer>>,
}

/// Maximum number of facts that are tried for the limits of an integer.
const MAX_FACTS: usize = 24;

impl Integers {
    /// The integer without unknowns.
    pub(crate) fn constant(value: i128) -> Integer {
        Integer::constant(value)
    }

    /// The word of a number, and how it is read.
    pub(crate) fn get(&self, id: NumberId) -> &(WordPolynomial, Reading) {
        &self.numbers[id.0 as usize]
    }

    /// A word read as one number.
    pub(super) fn number(
        &mut self,
        atoms: &Atoms,
        word: &WordPolynomial,
        reading: Reading,
    ) -> Integer {
        self.number_within(atoms, word, reading, None)
    }

    /// A word read as one number, where atoms are limited.
    fn number_within(
        &mut self,
        atoms: &Atoms,
        word: &WordPolynomial,
        reading: Reading,
        limited: Option<&Overlay>,
    ) -> Integer {
        // Where both readings are the same number, it has one id.
        let span = limited.map_or_else(
            || atoms.span(word),
            |limited| atoms.span_with(word, limited),
        );
        let is_same = span.as_numbers(Reading::Signed) == span.as_numbers(Reading::Unsigned);
        let key = match is_same {
            true => (word.clone(), Reading::Unsigned),
            false => (word.clone(), reading),
        };
        let next = NumberId(self.numbers.len() as u32);
        let id = *self.ids.entry(key.clone()).or_insert(next);
        if id == next {
            self.numbers.push(key);
        }
        Integer::unknown(id)
    }

    /// Adds an integer that is not negative wherever the number, a word at the header of a loop, exists.
    pub(crate) fn add_of_header_word(&mut self, number: &Integer, fact: Integer) {
        if let Some(id) = number.as_unknown() {
            self.of_header_words.entry(id).or_default().push(fact);
        }
    }

    /// A word as a number of its own, in the reading with the closest limits.
    pub(crate) fn as_number(&mut self, atoms: &Atoms, word: &WordPolynomial) -> Integer {
        let width = |reading| {
            let (least, most) = atoms.span(word).as_numbers(reading);
            most - least
        };
        let reading = match width(Reading::Signed) < width(Reading::Unsigned) {
            true => Reading::Signed,
            false => Reading::Unsigned,
        };
        self.number(atoms, word, reading)
    }

    /// The number that a word is in a reading: in terms of its atoms where facts show that no sum or product wraps,
    /// else as one unknown. For example, `tid + 4` is read as a sum, while `a + b` of two unlimited words is one
    /// unknown.
    pub(crate) fn read(
        &mut self,
        atoms: &Atoms,
        word: &WordPolynomial,
        reading: Reading,
        facts: &Facts,
    ) -> Integer {
        if let Some(value) = word.as_constant() {
            return Integer::constant(match reading {
                Reading::Signed => (value as i32).into(),
                Reading::Unsigned => value.into(),
            });
        }
        let terms = word.plus(&WordPolynomial::constant(word.coefficient(&[])), u32::MAX);
        let base = terms.filter(|terms| atoms.has_recorded_span(terms));
        let exact = base
            .and_then(|base| self.read_near(atoms, word, base, reading, facts))
            .or_else(|| match atoms.low_parts.near(word) {
                Some(base) => self.read_near(atoms, word, base, reading, facts),
                None => None,
            })
            .or_else(|| self.expand(atoms, word, reading, facts));
        // A remainder of a sum with a constant has a constant of its own.
        let exact = exact.or_else(|| {
            let base = atoms.recorded_near(word)?;
            self.read_near(atoms, word, base, reading, facts)
        });
        let exact = exact.or_else(|| match facts.reads_in_parts {
            true => self.read_in_parts(atoms, word, reading, facts),
            false => None,
        });
        exact
            .unwrap_or_else(|| self.number_within(atoms, word, reading, facts.limits_of_readings()))
    }

    /// The number of a word as a multiple of a power of two, which is one unknown, and a part below that power: their
    /// sum does not carry, so it is the number in both readings.
    fn read_in_parts(
        &mut self,
        atoms: &Atoms,
        word: &WordPolynomial,
        reading: Reading,
        facts: &Facts,
    ) -> Option<Integer> {
        let zeros = word.terms().iter().map(|(_, c)| c.trailing_zeros());
        let mut powers: Vec<u32> = zeros.filter(|zeros| (1..=31).contains(zeros)).collect();
        powers.sort_unstable();
        powers.dedup();
        let parts = powers.into_iter().rev().find_map(|zeros| {
            let (low, high) = atoms.split(word, zeros)?;
            let is_divided = low.as_constant().is_none() && high.as_constant().is_none();
            is_divided.then_some(low)
        });
        let low = parts?;
        let multiple = word.plus(&low, u32::MAX)?;
        let below = self.read(atoms, &low, Reading::Unsigned, facts);
        self.number_within(atoms, &multiple, reading, facts.limits_of_readings())
            .plus(&below, 1)
    }

    /// The number of a word that is a constant plus another word, whose span is smaller than its terms show, such as
    /// the remainder of a division by a power of two.
    fn read_near(
        &mut self,
        atoms: &Atoms,
        word: &WordPolynomial,
        base: WordPolynomial,
        reading: Reading,
        facts: &Facts,
    ) -> Option<Integer> {
        if base.as_unknown().is_some() {
            return None;
        }
        let more = word.plus(&base, u32::MAX)?.as_constant()?;
        let more = i128::from(more as i32);
        let sum = self
            .number_within(atoms, &base, Reading::Unsigned, facts.limits_of_readings())
            .plus(&Integer::constant(more), 1)?;
        let (least, most) = self.limits(atoms, &sum, facts)?;
        let (low, high) = reading.limits();
        (least >= low.into() && most <= high.into()).then_some(sum)
    }

    fn expand(
        &mut self,
        atoms: &Atoms,
        word: &WordPolynomial,
        reading: Reading,
        facts: &Facts,
    ) -> Option<Integer> {
        if word.as_unknown().is_some() {
            return None;
        }
        let whole = self.expand_terms(atoms, word, reading, facts, Integer::constant(0));
        whole.or_else(|| {
            // The low bits of a word are closer limited than its terms.
            let (parts, rest) = atoms.low_parts.taken_out_of(word);
            let mut sum = Integer::constant(0);
            for (part, factor) in &parts {
                let low = self.number_within(
                    atoms,
                    &part.word,
                    Reading::Unsigned,
                    facts.limits_of_readings(),
                );
                sum = sum.plus(&low, (*factor).into())?;
            }
            match parts.is_empty() {
                true => None,
                false => self.expand_terms(atoms, &rest, reading, facts, sum),
            }
        })
    }

    /// The number of a word, term by term, and of a sum of numbers.
    fn expand_terms(
        &mut self,
        atoms: &Atoms,
        word: &WordPolynomial,
        reading: Reading,
        facts: &Facts,
        mut sum: Integer,
    ) -> Option<Integer> {
        for (unknowns, coefficient) in word.terms() {
            let mut term = Integer::constant((*coefficient as i32).into());
            for &atom in unknowns {
                let factor = self.atom_number(atoms, atom, reading, facts.limits_of_readings());
                term = term.times(&factor)?;
            }
            sum = sum.plus(&term, 1)?;
        }
        let (least, most) = self.limits(atoms, &sum, facts)?;
        let (low, high) = reading.limits();
        let (low, high) = (i128::from(low), i128::from(high));
        // The integer is the word modulo 2³²; it is the number itself if it is in the range of the reading.
        let window = 1i128 << 32;
        if most.checked_sub(least)? >= window {
            return None;
        }
        let shift = low.checked_sub(least)?.div_euclid(window) * window;
        [shift, shift.checked_add(window)?]
            .into_iter()
            .find_map(|shift| {
                let fits = least.checked_add(shift)? >= low && most.checked_add(shift)? <= high;
                fits.then(|| sum.plus(&Integer::constant(shift), 1))
                    .flatten()
            })
    }

    /// An atom as a number, in the reading with the closest limits; in `reading` if both are equally close.
    fn atom_number(
        &mut self,
        atoms: &Atoms,
        atom: AtomId,
        reading: Reading,
        limited: Option<&Overlay>,
    ) -> Integer {
        let word = WordPolynomial::unknown(atom);
        let span = limited.map_or_else(
            || atoms.span(&word),
            |limited| atoms.span_with(&word, limited),
        );
        let width = |reading| {
            let (least, most) = span.as_numbers(reading);
            most - least
        };
        let other = match reading {
            Reading::Signed => Reading::Unsigned,
            Reading::Unsigned => Reading::Signed,
        };
        let best = match width(other) < width(reading) {
            true => other,
            false => reading,
        };
        self.number_within(atoms, &word, best, limited)
    }

    /// Limits of an integer under facts; `None` if it is too large to be computed.
    pub(crate) fn limits(
        &self,
        atoms: &Atoms,
        of: &Integer,
        facts: &Facts,
    ) -> Option<(i128, i128)> {
        let (mut least, mut most) = self.interval(atoms, of, &facts.limited)?;
        if of.as_constant().is_some() {
            return Some((least, most));
        }
        let of_words = of.unknowns().filter_map(|id| self.of_header_words.get(&id));
        let all = facts.not_negative.iter().chain(of_words.flatten());
        let tried = all.map(|fact| (fact, factors(of, fact)));
        // Facts without a common term cannot help, so they do not count among those that are tried.
        let tried = tried.filter(|(_, factors)| !factors.is_empty());
        // `of = rest + c·fact` with a fact that is not negative: `of` is at least the least rest for c > 0.
        for (fact, factors) in tried.take(MAX_FACTS) {
            for times in factors {
                let rest = of.plus(fact, -times);
                let Some((low, high)) =
                    rest.and_then(|rest| self.interval(atoms, &rest, &facts.limited))
                else {
                    continue;
                };
                match times > 0 {
                    true => least = least.max(low),
                    false => most = most.min(high),
                }
            }
        }
        let (modulus, residue) = self.residue(atoms, of);
        let (modulus, residue) = (i128::from(modulus), i128::from(residue));
        let to_residue = |least: i128, most: i128| {
            let up = residue.checked_sub(least)?.rem_euclid(modulus);
            let down = most.checked_sub(residue)?.rem_euclid(modulus);
            Some((least.checked_add(up)?, most.checked_sub(down)?))
        };
        (least, most) = to_residue(least, most)?;
        for fact in &facts.not_zero {
            // `of` is a constant more than a number that is not 0, or than its negative: it is not that constant.
            for sign in [1, -1] {
                let excluded = of.plus(fact, -sign).and_then(|rest| rest.as_constant());
                if let Some(excluded) = excluded {
                    least += i128::from(least == excluded);
                    most -= i128::from(most == excluded);
                }
            }
        }
        let excluded = of.coefficient(&[]);
        if (least == excluded || most == excluded)
            && let Some(number) = number_in(of)
            && self.is_low_part_of_more(atoms, number, facts)
        {
            least += i128::from(least == excluded);
            most -= i128::from(most == excluded);
        }
        // The excluded constants may have moved the limits off the remainder.
        to_residue(least, most)
    }

    /// Whether a number is the low bits of a word that is not 0, because more low bits of the word are not 0 and their
    /// number shows that only these may be set. For example, if `x & 15` is not 0 and at most 7, then `x & 7` is not 0.
    fn is_low_part_of_more(&self, atoms: &Atoms, number: NumberId, facts: &Facts) -> bool {
        let Some(part) = atoms.low_parts.get(&self.get(number).0) else {
            return false;
        };
        let wider = atoms.low_parts.of_base(&part.base);
        let wider = wider.filter(|wider| wider.bits > part.bits);
        let mut wider: Vec<(u32, &WordPolynomial)> =
            wider.map(|wider| (wider.bits, &wider.word)).collect();
        wider.push((u32::BITS, &part.base));
        wider.sort_unstable_by_key(|(bits, _)| std::cmp::Reverse(*bits));
        // The greatest number that one of them has which is not 0; all bits below are the same in the narrower ones.
        let mut most_not_zero: Option<i128> = None;
        for (bits, word) in wider {
            let (is_not_zero, most) = self.natural_limits(atoms, word, facts);
            let is_same = most_not_zero.is_some_and(|most| most >> bits == 0);
            if is_not_zero || is_same {
                let known = most_not_zero.filter(|_| is_same);
                most_not_zero = Some(known.map_or(most, |known| known.min(most)));
            }
        }
        most_not_zero.is_some_and(|most| most >> part.bits == 0)
    }

    /// Whether facts about a word alone show that it is not 0, and the greatest natural number that it may be.
    fn natural_limits(&self, atoms: &Atoms, word: &WordPolynomial, facts: &Facts) -> (bool, i128) {
        let span = atoms.span_with(word, &facts.limited);
        let (least, most) = span.as_numbers(Reading::Unsigned);
        let (mut is_not_zero, mut most) = (least > 0, i128::from(most));
        for reading in [Reading::Unsigned, Reading::Signed] {
            let Some(&id) = self.ids.get(&(word.clone(), reading)) else {
                continue;
            };
            let own = |fact: &&Integer| number_in(fact) == Some(id);
            let is_not_negative = |fact: &Integer| {
                let (factor, more) = (fact.coefficient(&[id]), fact.coefficient(&[]));
                factor > 0 && more <= 0
            };
            let mut least_of_reading = span.as_numbers(reading).0;
            for fact in facts.not_negative.iter().filter(own) {
                let (factor, more) = (fact.coefficient(&[id]), fact.coefficient(&[]));
                is_not_zero |= factor > 0 && more < 0;
                if is_not_negative(fact) {
                    least_of_reading = least_of_reading.max(0);
                }
            }
            for fact in facts.not_negative.iter().filter(own) {
                let (factor, more) = (fact.coefficient(&[id]), fact.coefficient(&[]));
                if factor < 0 && least_of_reading >= 0 {
                    most = most.min(more.div_euclid(-factor));
                }
            }
            let excludes_zero = |fact: &Integer| fact.coefficient(&[]) == 0;
            is_not_zero |= facts.not_zero.iter().filter(own).any(excludes_zero);
        }
        (is_not_zero, most)
    }

    /// Limits of an integer by the spans of the words alone.
    fn interval(&self, atoms: &Atoms, of: &Integer, limited: &Overlay) -> Option<(i128, i128)> {
        let (mut least, mut most) = (0i128, 0i128);
        for (unknowns, coefficient) in of.terms() {
            let mut product = (*coefficient, *coefficient);
            for &id in unknowns {
                let (word, reading) = self.get(id);
                let span = match limited.is_empty() {
                    true => atoms.span(word),
                    false => atoms.span_with(word, limited),
                };
                let (low, high) = span.as_numbers(*reading);
                // The limits of a product of two intervals are among the products of their limits.
                let corners = [
                    product.0.checked_mul(low.into())?,
                    product.0.checked_mul(high.into())?,
                    product.1.checked_mul(low.into())?,
                    product.1.checked_mul(high.into())?,
                ];
                product = (
                    corners.iter().copied().min()?,
                    corners.iter().copied().max()?,
                );
            }
            least = least.checked_add(product.0)?;
            most = most.checked_add(product.1)?;
        }
        Some((least, most))
    }

    /// Limits atoms by the facts about them alone.
    pub(crate) fn limit_atoms(&self, atoms: &Atoms, facts: &mut Facts) {
        for fact in &facts.not_negative {
            let mut terms = fact
                .terms()
                .iter()
                .filter(|(unknowns, _)| !unknowns.is_empty());
            let (Some((unknowns, coefficient)), None) = (terms.next(), terms.next()) else {
                continue;
            };
            let &[id] = unknowns.as_slice() else {
                continue;
            };
            let (word, reading) = self.get(id);
            let Some(atom) = word.as_unknown() else {
                continue;
            };
            // c·x + k >= 0: x is at least -k/c, or at most k/-c.
            let more = fact.coefficient(&[]);
            let (low, high) = reading.limits();
            let (mut least, mut most) = (i128::from(low), i128::from(high));
            match *coefficient > 0 {
                true => least = least.max(-more.div_euclid(*coefficient)),
                false => most = most.min(more.div_euclid(-coefficient)),
            }
            let span = atoms.span_with(word, &facts.limited);
            if least <= most
                && let Some(span) = span.meet(Span::of_numbers(least, most))
            {
                facts.limited.insert(atom, span);
            }
        }
    }

    /// Limits the right shifts in a word by what facts say of the words that are shifted. For example, if `x + y` is from 0 to
    /// 479, then `x + y >> 5` is at most 14.
    pub(crate) fn limit_shifts(&mut self, atoms: &Atoms, word: &WordPolynomial, facts: &mut Facts) {
        // Operands come before their operations.
        for id in atoms.all_in(word) {
            let Atom::Binary(BinaryOp::Shr, [shifted, bits]) = atoms.get(id) else {
                continue;
            };
            let Some(bits) = bits.as_constant().filter(|bits| *bits < u32::BITS) else {
                continue;
            };
            let span = self.span_under(atoms, shifted, facts);
            let (least, most) = span.as_numbers(Reading::Unsigned);
            let own = atoms.span_with(&WordPolynomial::unknown(id), &facts.limited);
            if let Some(span) = own.meet(Span::between(least >> bits, most >> bits)) {
                facts.limited.insert(id, span);
            }
        }
    }

    /// Whether facts exclude each other, as far as the limits of one under the others show.
    pub(crate) fn exclude_each_other(&self, atoms: &Atoms, facts: &Facts) -> bool {
        let negative = |fact| {
            let limits = self.limits(atoms, fact, facts);
            // Limits in the wrong order come from facts that exclude each other.
            limits.is_some_and(|(least, most)| most < 0 || least > most)
        };
        let zero = |fact| {
            let limits = self.limits(atoms, fact, facts);
            limits.is_some_and(|(least, most)| least > most || (least, most) == (0, 0))
        };
        facts.never_hold
            || facts.not_negative.iter().any(negative)
            || facts.not_zero.iter().any(zero)
    }

    /// Span of a word under facts.
    pub(crate) fn span_under(
        &mut self,
        atoms: &Atoms,
        word: &WordPolynomial,
        facts: &Facts,
    ) -> Span {
        let mut span = atoms.span_with(word, &facts.limited);
        for reading in [Reading::Signed, Reading::Unsigned] {
            let number = self.read(atoms, word, reading, facts);
            if let Some((least, most)) = self.limits(atoms, &number, facts)
                && least <= most
            {
                span = span.meet(Span::of_numbers(least, most)).unwrap_or(span);
            }
        }
        span
    }

    /// Whether an integer is a multiple of a positive number, whatever its unknowns are.
    pub(crate) fn is_multiple(&self, atoms: &Atoms, of: &Integer, divisor: i128) -> bool {
        let by_coefficients = of.terms().iter().all(|(_, c)| c % divisor == 0);
        if by_coefficients {
            return true;
        }
        let power = u64::try_from(divisor).ok().filter(|d| d.is_power_of_two());
        let (modulus, residue) = self.residue(atoms, of);
        power.is_some_and(|power| power <= modulus && residue.is_multiple_of(power))
    }

    /// Largest power of two up to 2³² modulo which the remainder of an integer is known, and the remainder. The
    /// remainders of its words serve, because the words are congruent to their numbers modulo 2³².
    pub(crate) fn residue(&self, atoms: &Atoms, of: &Integer) -> (u64, u64) {
        const ALL: u64 = 1 << 32;
        let (mut modulus, mut sum) = (ALL, 0u64);
        for (unknowns, coefficient) in of.terms() {
            let mut term = (ALL, coefficient.rem_euclid(ALL.into()) as u64);
            for &id in unknowns {
                term = product_residue(term, atoms.residue(&self.get(id).0));
            }
            modulus = modulus.min(term.0);
            sum = sum.wrapping_add(term.1) % ALL;
        }
        (modulus, sum % modulus)
    }
}

/// The number in an integer that has only one, and once.
fn number_in(of: &Integer) -> Option<NumberId> {
    let mut terms = of
        .terms()
        .iter()
        .filter(|(unknowns, _)| !unknowns.is_empty());
    match (terms.next(), terms.next()) {
        (Some((unknowns, _)), None) => match unknowns.as_slice() {
            &[id] => Some(id),
            _ => None,
        },
        _ => None,
    }
}

/// Multiples of a fact that cancel a term of an integer.
fn factors(of: &Integer, fact: &Integer) -> Vec<i128> {
    let mut found: Vec<i128> = Vec::new();
    for (unknowns, coefficient) in fact.terms() {
        let own = of.coefficient(unknowns);
        // Only whole multiples keep the coefficients integers.
        if !unknowns.is_empty() && own != 0 && own % coefficient == 0 {
            let times = own / coefficient;
            if !found.contains(&times) {
                found.push(times);
            }
        }
    }
    found
}
