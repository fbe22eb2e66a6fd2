//! Substitution of words for atoms, also inside operations.

use warpbound_ir::Cell;

use super::atoms::{Atom, AtomId, WordPolynomial};
use super::values::Symbolic;
use crate::gsa::ValueId;

/// Maximum nesting of atoms inside words that replace atoms.
const MAX_DEPTH: u32 = 64;

/// Word of an atom in one case, where it is known.
type KnownAtom<'k> = dyn Fn(&mut Symbolic<'_>, AtomId) -> Option<WordPolynomial> + 'k;

impl Symbolic<'_> {
    /// Replaces values in a word by the words of `known`: by the operand of a gate on one way, for example. Returns the word
    /// itself if the result is too large.
    pub(crate) fn replaced(
        &mut self,
        word: &WordPolynomial,
        known: &dyn Fn(&mut Symbolic<'_>, ValueId, Cell) -> Option<WordPolynomial>,
    ) -> WordPolynomial {
        let known_atom = |symbolic: &mut Symbolic<'_>, id: AtomId| match *symbolic.atoms.get(id) {
            Atom::Value(value, cell) => known(symbolic, value, cell),
            _ => None,
        };
        self.replaced_within(word, &known_atom, MAX_DEPTH)
            .unwrap_or_else(|| word.clone())
    }

    /// Replaces an atom in a word; `None` if the result is too large.
    pub(crate) fn with_atom(
        &mut self,
        word: &WordPolynomial,
        atom: AtomId,
        by: &WordPolynomial,
    ) -> Option<WordPolynomial> {
        let known = |_: &mut Symbolic<'_>, id: AtomId| (id == atom).then(|| by.clone());
        self.replaced_within(word, &known, MAX_DEPTH)
    }

    fn replaced_within(
        &mut self,
        word: &WordPolynomial,
        known: &KnownAtom<'_>,
        depth: u32,
    ) -> Option<WordPolynomial> {
        let depth = depth.checked_sub(1)?;
        let mut found: Vec<(AtomId, WordPolynomial)> = Vec::new();
        // Operands come before their operations.
        for id in self.atoms.all_in(word) {
            if let Some(by) = known(self, id) {
                // The new word may contain atoms that are replaced in turn.
                found.push((id, self.replaced_within(&by, known, depth)?));
                continue;
            }
            let by = match self.atoms.get(id).clone() {
                Atom::Unary(op, a) => {
                    let a = a.substituted_all(&found)?;
                    self.atoms.unary(op, a)
                }
                Atom::Binary(op, [a, b]) => {
                    let (a, b) = (a.substituted_all(&found)?, b.substituted_all(&found)?);
                    self.atoms.binary(op, a, b)?
                }
                Atom::Ternary(op, [a, b, c]) => {
                    let operands = [
                        a.substituted_all(&found)?,
                        b.substituted_all(&found)?,
                        c.substituted_all(&found)?,
                    ];
                    self.atoms.ternary(op, operands)
                }
                Atom::Value(..)
                | Atom::Special(_)
                | Atom::Iteration(_)
                | Atom::Constant(..)
                | Atom::Nested(_) => {
                    continue;
                }
            };
            if by.as_unknown() != Some(id) {
                found.push((id, by));
            }
        }
        match found.is_empty() {
            true => Some(word.clone()),
            false => word.substituted_all(&found),
        }
    }
}
