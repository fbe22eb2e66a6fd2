//! Conditions on words: comparisons that hold where a guard holds.

use warpbound_ir::{BinaryOp, TernaryOp};

use super::atoms::{Atom, Atoms, WordPolynomial, constant};
use super::span::{Reading, Span};

/// Comparison of two words that holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Condition {
    /// `a < b`, or `a <= b` if `or_equal`.
    Less {
        a: WordPolynomial,
        b: WordPolynomial,
        or_equal: bool,
        reading: Reading,
    },
    /// The word is 0.
    Zero(WordPolynomial),
    /// The word is not 0.
    NotZero(WordPolynomial),
    /// A condition that never holds.
    Never,
}

impl Condition {
    /// The words that are compared.
    pub(crate) fn words(&self) -> impl Iterator<Item = &WordPolynomial> {
        let (a, b) = match self {
            Condition::Less { a, b, .. } => (Some(a), Some(b)),
            Condition::Zero(a) | Condition::NotZero(a) => (Some(a), None),
            Condition::Never => (None, None),
        };
        a.into_iter().chain(b)
    }

    /// The same comparison of other words; `None` if one of them is not known.
    pub(crate) fn map(
        &self,
        mut word: impl FnMut(&WordPolynomial) -> Option<WordPolynomial>,
    ) -> Option<Condition> {
        Some(match self {
            Condition::Less {
                a,
                b,
                or_equal,
                reading,
            } => Condition::Less {
                a: word(a)?,
                b: word(b)?,
                or_equal: *or_equal,
                reading: *reading,
            },
            Condition::Zero(a) => Condition::Zero(word(a)?),
            Condition::NotZero(a) => Condition::NotZero(word(a)?),
            Condition::Never => Condition::Never,
        })
    }
}

/// Conditions that follow from another.
#[derive(Clone, Debug)]
pub(crate) struct Conditions {
    /// Conditions that all hold.
    pub(crate) all: Vec<Condition>,
    /// Whether they imply the other condition in turn.
    pub(crate) is_equivalent: bool,
}

/// Conditions that all hold where a word is not 0 (`holds`), or is 0.
///
/// A disjunction is one condition. For example, both comparisons follow where `(x < y) & (y < z)` holds, while its
/// failure stays one condition.
pub(crate) fn conditions(atoms: &Atoms, word: &WordPolynomial, holds: bool) -> Conditions {
    let mut found = Conditions {
        all: Vec::new(),
        is_equivalent: true,
    };
    add_conditions(atoms, word, holds, &mut found, 16);
    found
}

/// Whether a word is 0 or 1.
fn is_truth(atoms: &Atoms, word: &WordPolynomial) -> bool {
    let span = atoms.span(word);
    span.meet(Span::between(0, 1)) == Some(span)
}

fn add_conditions(
    atoms: &Atoms,
    word: &WordPolynomial,
    holds: bool,
    found: &mut Conditions,
    depth: u32,
) {
    let itself = || match holds {
        true => Condition::NotZero(word.clone()),
        false => Condition::Zero(word.clone()),
    };
    if let Some(value) = word.as_constant() {
        if (value != 0) != holds {
            found.all.push(Condition::Never);
        }
        return;
    }
    // A word is 0 if its negative is.
    if let Some(negative) = word.scaled(u32::MAX).filter(|n| n.as_unknown().is_some()) {
        return add_conditions(atoms, &negative, holds, found, depth);
    }
    // A word that is not taken apart is a condition of its own.
    if depth == 0 {
        found.all.push(itself());
        return;
    }
    if let Some((truth, value)) = truth_value(atoms, word, holds) {
        return add_conditions(atoms, &truth, value, found, depth - 1);
    }
    let atom = word.as_unknown().map(|id| atoms.get(id));
    let mut add = |part: &WordPolynomial, holds| {
        add_conditions(atoms, part, holds, found, depth - 1);
    };
    match atom {
        Some(Atom::Binary(op, [a, b])) => match (op, holds) {
            (BinaryOp::And, true) | (BinaryOp::Or, false) => {
                add(a, holds);
                add(b, holds);
                if let (false, Some(lower)) = (holds, comparison_of_low_words(atoms, a, b)) {
                    add(&lower, false);
                }
                // Numbers other than 0 may have no bit in common.
                let exact = !holds || is_truth(atoms, a) && is_truth(atoms, b);
                found.is_equivalent &= exact;
            }
            (BinaryOp::Eq | BinaryOp::Ne, _) => {
                let equal = (*op == BinaryOp::Eq) == holds;
                match a.plus(b, u32::MAX) {
                    Some(difference) => add(&difference, !equal),
                    // The difference has too many terms, so the comparison stays a condition of the word.
                    None => found.all.push(itself()),
                }
            }
            _ => match comparison(*op) {
                Some((reading, or_equal)) => found.all.push(match holds {
                    true => Condition::Less {
                        a: a.clone(),
                        b: b.clone(),
                        or_equal,
                        reading,
                    },
                    // Not a < b is b <= a.
                    false => Condition::Less {
                        a: b.clone(),
                        b: a.clone(),
                        or_equal: !or_equal,
                        reading,
                    },
                }),
                None => found.all.push(itself()),
            },
        },
        // A sum with the greatest word has no carry only if the other words are 0.
        Some(Atom::Ternary(TernaryOp::Carry, [a, greatest, carry]))
        | Some(Atom::Ternary(TernaryOp::Carry, [greatest, a, carry]))
            if !holds
                && greatest.as_constant() == Some(u32::MAX)
                && carry.as_constant().is_none() =>
        {
            add(a, false);
            add(carry, false);
        }
        Some(Atom::Ternary(TernaryOp::Carry, operands)) => {
            match carry_comparison(atoms, operands, holds) {
                Some(condition) => found.all.push(condition),
                None => found.all.push(itself()),
            }
        }
        _ => found.all.push(itself()),
    }
}

/// The comparison `low` in the disjunction `high or (high words are equal and low)` of two truth values, if the high
/// words are equal wherever `high` does not hold. Then `low` does not hold either where the disjunction does not.
fn comparison_of_low_words(
    atoms: &Atoms,
    one: &WordPolynomial,
    other: &WordPolynomial,
) -> Option<WordPolynomial> {
    let parts = |word: &WordPolynomial| match atoms.get(word.as_unknown()?) {
        // Of other words, both may be set without a bit in common.
        Atom::Binary(BinaryOp::And, [a, b]) if is_truth(atoms, a) && is_truth(atoms, b) => {
            Some([a.clone(), b.clone()])
        }
        _ => None,
    };
    let mut orders = [(one, other), (other, one)].into_iter();
    orders.find_map(|(high, both)| {
        let [a, b] = parts(both)?;
        match are_equal_without(atoms, high, &a) {
            true => Some(b),
            false => are_equal_without(atoms, high, &b).then_some(a),
        }
    })
}

/// Whether two words that `equal` compares are equal where `less`, a comparison of the same words, does not hold.
fn are_equal_without(atoms: &Atoms, less: &WordPolynomial, equal: &WordPolynomial) -> bool {
    let binary = |word: &WordPolynomial| match word.as_unknown().map(|id| atoms.get(id)) {
        Some(Atom::Binary(op, [a, b])) => Some((*op, a.clone(), b.clone())),
        _ => None,
    };
    let (Some((BinaryOp::Eq, x, y)), Some((op, a, b))) = (binary(equal), binary(less)) else {
        return false;
    };
    if (&a, &b) != (&x, &y) && (&a, &b) != (&y, &x) {
        return false;
    }
    // Not a < b is b <= a: equal, if b is never less than a.
    comparison(op).is_some_and(|(reading, or_equal)| {
        let greatest = atoms.span(&a).as_numbers(reading).1;
        let least = atoms.span(&b).as_numbers(reading).0;
        !or_equal && least >= greatest
    })
}

/// Comparison that is equivalent to the carry of a sum with a constant carry in: `a + b + 1` exceeds words if `a` is
/// at least the complement of `b`, and `a + b` if it is above it.
fn carry_comparison(
    atoms: &Atoms,
    operands: &[WordPolynomial; 3],
    holds: bool,
) -> Option<Condition> {
    let [a, b, carry] = operands;
    let or_equal = match carry.as_constant()? {
        0 => false,
        1 => true,
        _ => return None,
    };
    // The complement of the operand that is one itself, so that words stay simple.
    let complement = |word: &WordPolynomial| constant(u32::MAX).plus(word, u32::MAX);
    let width = |word: &WordPolynomial| atoms.span(word).width();
    let (a, b) = match complement(b) {
        Some(of_b) if width(&of_b) <= width(b) || of_b.terms().len() <= b.terms().len() => {
            (a.clone(), of_b)
        }
        _ => (b.clone(), complement(a)?),
    };
    Some(match holds {
        // b < a, or b <= a.
        true => Condition::Less {
            a: b,
            b: a,
            or_equal,
            reading: Reading::Unsigned,
        },
        false => Condition::Less {
            a,
            b,
            or_equal: !or_equal,
            reading: Reading::Unsigned,
        },
    })
}

/// Comparison of an operation: the reading, and whether it holds for equal words.
fn comparison(op: BinaryOp) -> Option<(Reading, bool)> {
    match op {
        BinaryOp::LtS => Some((Reading::Signed, false)),
        BinaryOp::LeS => Some((Reading::Signed, true)),
        BinaryOp::LtU => Some((Reading::Unsigned, false)),
        BinaryOp::LeU => Some((Reading::Unsigned, true)),
        _ => None,
    }
}

/// Truth value that decides whether a word is 0, with the value that it has: the word is `c + k·t` with a truth value
/// `t`, or with a choice of two constants by `t`.
pub(crate) fn truth_value(
    atoms: &Atoms,
    word: &WordPolynomial,
    holds: bool,
) -> Option<(WordPolynomial, bool)> {
    let mut unknowns = word.unknowns();
    let (Some(id), None) = (unknowns.next(), unknowns.next()) else {
        return None;
    };
    let unknown = WordPolynomial::unknown(id);
    let (truth, no, yes) = match atoms.get(id) {
        Atom::Ternary(TernaryOp::Select, [truth, yes, no]) => {
            (truth.clone(), no.as_constant()?, yes.as_constant()?)
        }
        _ if unknown == *word => return None,
        _ => {
            if !is_truth(atoms, &unknown) {
                return None;
            }
            (unknown, 0, 1)
        }
    };
    let at = |value| word.substituted(id, &constant(value))?.as_constant();
    match (at(no)? == 0, at(yes)? == 0) {
        (true, false) => Some((truth, holds)),
        (false, true) => Some((truth, !holds)),
        _ => None,
    }
}
