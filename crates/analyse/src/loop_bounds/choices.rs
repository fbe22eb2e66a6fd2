//! Words that are one of two others: selections, minima and maxima, with the condition under which they are each. For
//! example, `min(x, y)` is `x` where `x <= y`, and `y` where `y <= x`.

use warpbound_ir::{BinaryOp, TernaryOp};

use crate::symbolic::atoms::{Atom, AtomId, Atoms, WordPolynomial};
use crate::symbolic::conditions::{Condition, conditions};
use crate::symbolic::span::Reading;

/// One of the words that an atom may be.
pub(super) struct Choice {
    pub(super) word: WordPolynomial,
    /// Conditions that all hold where the atom is that word.
    pub(super) conditions: Vec<Condition>,
}

/// The first atom that is one of two words, with both.
pub(super) fn choice_among(
    atoms: &Atoms,
    mut ids: impl Iterator<Item = AtomId>,
) -> Option<(AtomId, [Choice; 2])> {
    ids.find_map(|id| Some((id, choices(atoms, atoms.get(id))?)))
}

fn choices(atoms: &Atoms, atom: &Atom) -> Option<[Choice; 2]> {
    match atom {
        Atom::Ternary(TernaryOp::Select, [truth, yes, no]) => {
            let choice = |word: &WordPolynomial, holds| Choice {
                word: word.clone(),
                conditions: conditions(atoms, truth, holds).all,
            };
            Some([choice(yes, true), choice(no, false)])
        }
        Atom::Binary(op, [x, y]) => {
            let (reading, is_least) = match op {
                BinaryOp::MinS => (Reading::Signed, true),
                BinaryOp::MaxS => (Reading::Signed, false),
                BinaryOp::MinU => (Reading::Unsigned, true),
                BinaryOp::MaxU => (Reading::Unsigned, false),
                _ => return None,
            };
            let choice = |word: &WordPolynomial, other: &WordPolynomial| {
                let (a, b) = match is_least {
                    true => (word, other),
                    false => (other, word),
                };
                Choice {
                    word: word.clone(),
                    conditions: vec![Condition::Less {
                        a: a.clone(),
                        b: b.clone(),
                        or_equal: true,
                        reading,
                    }],
                }
            };
            Some([choice(x, y), choice(y, x)])
        }
        _ => None,
    }
}
