//! Substitution of words for values, also inside operations.

use warpbound_ir::Cell;

use super::atoms::{Atom, AtomId, WordPolynomial};
use super::values::Symbolic;
use crate::gsa::ValueId;

/// Maximum nesting of values inside values that are replaced.
const MAX_DEPTH: u32 = 64;

/// Word of a value in one case, where it is known: the operand of a gate on one way, for example.
pub(crate) type KnownValue<'k> =
    dyn Fn(&mut Symbolic<'_>, ValueId, Cell) -> Option<WordPolynomial> + 'k;

impl Symbolic<'_> {
    /// Replaces values in a word by the words of `known`; returns the word itself if the result is too large.
    pub(crate) fn replaced(
        &mut self,
        word: &WordPolynomial,
        known: &KnownValue<'_>,
    ) -> WordPolynomial {
        self.replaced_within(word, known, MAX_DEPTH)
            .unwrap_or_else(|| word.clone())
    }

    fn replaced_within(
        &mut self,
        word: &WordPolynomial,
        known: &KnownValue<'_>,
        depth: u32,
    ) -> Option<WordPolynomial> {
        let depth = depth.checked_sub(1)?;
        let mut found: Vec<(AtomId, WordPolynomial)> = Vec::new();
        // Operands come before their operations.
        for id in self.atoms.all_in(word) {
            let by = match self.atoms.get(id).clone() {
                Atom::Value(value, cell) => match known(self, value, cell) {
                    // The new word may contain values that are replaced in turn.
                    Some(by) => self.replaced_within(&by, known, depth)?,
                    None => continue,
                },
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
                Atom::Special(_) | Atom::Iteration(_) | Atom::Constant(..) | Atom::Nested(_) => {
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
