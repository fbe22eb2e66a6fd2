//! Abstract domain of the words of the warp at a point: their known subsets and supersets.

use std::collections::BTreeMap;

use warpbound_ir::{BinaryOp, Cell, Expr, Meaning, Op, TernaryOp, UnaryOp, ValueDomain, WordHalf};
use warpbound_simt::bitset::BitSet;

use super::literals::{Literal, LiteralHalves, Literals, MaskClaim, MaskSite};
use super::word::{Limits, MaskWord};

/// Facts about the words of the warp at a point. Words that are not in the map are unknown.
#[derive(Clone, Debug, Default)]
pub(super) struct MaskState {
    words: BTreeMap<Cell, MaskWord>,
    /// Sites at which some lane was active.
    occupied: BitSet,
    /// Whether some lane is active.
    pub(super) is_active: bool,
}

/// Predicate of an operation that compares: one that writes the ballot of a predicate to words of a mask, or all
/// lanes if a predicate of the warp holds, else none. `None` for other operations, and if there are several
/// predicates.
pub(super) fn predicate_of(op: &Op) -> Option<&Expr> {
    let Some(Meaning::Set(writes)) = &op.meaning else {
        return None;
    };
    let of_warp = writes.iter().filter(|(cell, _)| !cell.is_per_lane());
    let mut predicates = of_warp.filter_map(|(_, value)| match value {
        Expr::Ballot(predicate, _) => Some(&**predicate),
        _ => choice_of_all(value).map(|(predicate, _)| predicate),
    });
    let first = predicates.next()?;
    predicates.all(|other| other == first).then_some(first)
}

/// Whether an operation takes a ballot: the lanes where its predicate holds are active.
pub(super) fn takes_ballot(op: &Op) -> bool {
    let Some(Meaning::Set(writes)) = &op.meaning else {
        return false;
    };
    let mut values = writes.iter().map(|(_, value)| value);
    values.any(|value| matches!(value, Expr::Ballot(..)))
}

/// Predicate with which a word is all ones, else 0, or the other way round (`false`).
fn choice_of_all(value: &Expr) -> Option<(&Expr, bool)> {
    let Expr::Ternary(TernaryOp::Select, predicate, a, b) = value else {
        return None;
    };
    match (&**a, &**b) {
        (Expr::Const(u32::MAX), Expr::Const(0)) => Some((predicate, true)),
        (Expr::Const(0), Expr::Const(u32::MAX)) => Some((predicate, false)),
        _ => None,
    }
}

impl MaskState {
    fn word(&self, cell: Cell) -> MaskWord {
        self.words
            .get(&cell)
            .cloned()
            .unwrap_or_else(MaskWord::unknown)
    }

    pub(super) fn set(&mut self, cell: Cell, word: MaskWord) {
        match word.is_unknown() {
            true => self.words.remove(&cell),
            false => self.words.insert(cell, word),
        };
    }

    pub(super) fn forget_cell(&mut self, cell: Cell) {
        self.words.remove(&cell);
    }

    /// Removes all facts: a callee may write any word.
    pub(super) fn forget_all(&mut self) {
        *self = MaskState::default();
    }

    /// Removes the facts about a site, which is executed again.
    pub(super) fn forget_site(&mut self, site: u32) {
        for word in self.words.values_mut() {
            for limits in [&mut word.all, &mut word.active] {
                limits.above.forget(site);
                limits.below.forget(site);
            }
        }
        self.words.retain(|_, word| !word.is_unknown());
        self.occupied.remove(site as usize);
    }

    /// Records that the active lanes are the mask of a site, which was forgotten before.
    pub(super) fn name_active(&mut self, site: u32) {
        for (cell, number) in Cell::EXEC_WORDS.into_iter().zip(0..) {
            let mut word = self.word(cell);
            word.insert(Literal::new(site, number, false));
            self.set(cell, word);
        }
        if self.is_active {
            self.occupied.insert(site as usize);
        }
    }

    /// Records that the active lanes contain the mask of a site.
    pub(super) fn include_in_active(&mut self, site: u32) {
        for (cell, number) in Cell::EXEC_WORDS.into_iter().zip(0..) {
            let mut word = self.word(cell);
            word.insert_below(Literal::new(site, number, false));
            self.set(cell, word);
        }
    }

    /// Whether two words contain the words of a site's mask.
    pub(super) fn is_above(&self, words: [Cell; 2], site: u32) -> bool {
        words.into_iter().zip(0..).all(|(cell, number)| {
            let literal = Literal::new(site, number, false);
            self.words
                .get(&cell)
                .is_some_and(|word| word.all.below.contains(literal))
        })
    }

    /// Whether two words are subsets of the words of a site's mask, or of their complements.
    pub(super) fn is_below(&self, words: [Cell; 2], site: u32, negated: bool) -> bool {
        words.into_iter().zip(0..).all(|(cell, number)| {
            let literal = Literal::new(site, number, negated);
            self.words
                .get(&cell)
                .is_some_and(|word| word.all.above.contains(literal))
        })
    }

    /// Whether the active lanes are a subset of the mask of a site.
    pub(super) fn active_is_below(&self, site: u32) -> bool {
        self.is_below(Cell::EXEC_WORDS, site, false)
    }

    /// Numbers of the sites whose masks contain the active lanes; `sites` is the number of all.
    pub(super) fn sites_around_active(&self, sites: usize) -> impl Iterator<Item = usize> {
        let [low, _] = Cell::EXEC_WORDS;
        let found: Vec<usize> = match self.words.get(&low).map(|word| &word.all.above) {
            None => Vec::new(),
            Some(Literals::All) => (0..sites).collect(),
            Some(Literals::Some(set)) => set
                .iter()
                .filter(|literal| literal % 4 == 0)
                .map(|literal| literal / 4)
                .collect(),
        };
        found
            .into_iter()
            .filter(|&number| self.active_is_below(number as u32))
    }

    /// Whether the active lanes are among the lanes that were active before, in another state. No site that the other
    /// state has facts about may have been executed since.
    pub(super) fn active_is_within(&self, before: &MaskState) -> bool {
        let mut words = Cell::EXEC_WORDS.into_iter();
        words.all(|cell| self.word(cell).is_subset(&before.word(cell)))
    }

    /// Whether no active lane was active in another state, if no site was executed between.
    pub(super) fn active_excludes(&self, before: &MaskState) -> bool {
        let mut words = Cell::EXEC_WORDS.into_iter();
        words.all(|cell| {
            // One mask lies in a literal and the other in its complement.
            let others = before.word(cell).all.above.negated();
            self.word(cell).all.above.intersects(&others)
        })
    }

    /// Words whose bits are known for the lanes that are not active, as the low half of a mask and as the high half.
    pub(super) fn bits_of_idle_lanes(&self) -> Vec<(Cell, [Option<bool>; 2])> {
        let active = Cell::EXEC_WORDS.map(|cell| self.word(cell));
        let known = |word: &MaskWord| {
            active.each_ref().map(|active| {
                let is_zero = word.is_subset(active);
                let is_one = word.negated().is_subset(active);
                // Both hold only if no lane is idle.
                (is_zero != is_one).then_some(is_one)
            })
        };
        let bits = self.words.iter().map(|(&cell, word)| (cell, known(word)));
        bits.collect()
    }

    /// All claims.
    pub(super) fn claims(&self, sites: &[MaskSite]) -> Vec<MaskClaim> {
        let mut claims = Vec::new();
        for (&word, known) in &self.words {
            for (is_within, literals) in [(true, &known.all.above), (false, &known.all.below)] {
                let Literals::Some(set) = literals else {
                    // Contained in all words: it is 0. Containing all: all ones, the complement of 0.
                    claims.push(MaskClaim {
                        word,
                        is_within,
                        site: None,
                        half: 0,
                        complement: !is_within,
                    });
                    continue;
                };
                claims.extend(set.iter().filter_map(|literal| {
                    Some(MaskClaim {
                        word,
                        is_within,
                        site: Some(*sites.get(literal / 4)?),
                        half: literal / 2 % 2,
                        complement: literal % 2 == 1,
                    })
                }));
            }
        }
        claims
    }

    /// Whether some lane of a site that has active lanes is certainly active.
    pub(super) fn contains_occupied_site(&self) -> bool {
        // A mask that contains all lanes of a site with an active lane has an active lane.
        let mut sites = self.occupied.iter();
        sites.any(|site| self.is_above(Cell::EXEC_WORDS, site as u32))
    }

    /// Records that no lane is in a mask.
    pub(super) fn empty(&mut self, words: [Cell; 2]) {
        for cell in words {
            let mut word = self.word(cell);
            word.all.above = Literals::All;
            word.active.above = Literals::All;
            self.set(cell, word);
        }
        if words == Cell::EXEC_WORDS {
            self.is_active = false;
        }
    }

    /// Records that some lane is active; `sites` is the number of sites.
    pub(super) fn occupy(&mut self, sites: u32) {
        self.is_active = true;
        for site in 0..sites {
            if self.active_is_below(site) {
                self.occupied.insert(site as usize);
            }
        }
    }

    /// Value of an expression; `holds` is the site of the lanes where the predicate of the operation holds, if it
    /// takes the ballot of one.
    pub(super) fn evaluate(
        &self,
        expr: &Expr,
        holds: Option<u32>,
        halves: &LiteralHalves,
    ) -> MaskWord {
        if let Expr::Ballot(_, half) = expr {
            let (cell, number) = match half {
                WordHalf::Low => (Cell::EXEC_WORDS[0], 0),
                WordHalf::High => (Cell::EXEC_WORDS[1], 1),
            };
            // A ballot is a subset of the active lanes.
            let mut word = MaskWord::of_all(Limits {
                above: self.word(cell).all.above,
                below: Literals::none(),
            });
            if let Some(site) = holds {
                word.insert(Literal::new(site, number, false));
            }
            return word;
        }
        if let (Some((_, holds_with_all)), Some(site)) = (choice_of_all(expr), holds) {
            // Both words of the site are alike.
            let mut word = MaskWord::unknown();
            for number in [0, 1] {
                word.insert(Literal::new(site, number, false));
            }
            return match holds_with_all {
                true => word,
                false => word.negated(),
            };
        }
        let mut domain = WordDomain {
            state: self,
            halves,
        };
        let mut word = warpbound_ir::eval(expr, &mut domain).unwrap_or_else(MaskWord::unknown);
        for (cell, of_half) in Cell::EXEC_WORDS.into_iter().zip(&halves.0) {
            if word.is_subset(&self.word(cell)) {
                word.narrow(of_half);
            }
        }
        word.keep_few();
        word
    }

    /// Records that the active mask is written, with some of these words: facts about the active lanes of words hold
    /// for the lanes that are left, and for no others.
    pub(super) fn change_active(&mut self, written: &mut [(Cell, MaskWord)]) {
        let narrows = Cell::EXEC_WORDS.into_iter().all(|cell| {
            let found = written.iter().find(|(own, _)| *own == cell);
            found.is_some_and(|(_, word)| word.is_subset(&self.word(cell)))
        });
        // Whatever holds of all active lanes holds of fewer.
        if narrows {
            return;
        }
        // Lanes may have become active, for which only the limits of all lanes hold.
        let written = written.iter_mut().map(|(_, word)| word);
        for word in self.words.values_mut().chain(written) {
            word.active = word.all.clone();
        }
        self.words.retain(|_, word| !word.is_unknown());
    }

    /// Joins another state; returns whether facts were lost.
    pub(super) fn join(&mut self, other: &MaskState) -> bool {
        let mut lost = false;
        self.words.retain(|cell, word| {
            let before = word.size();
            let joined = match other.words.get(cell) {
                Some(theirs) => word.join(theirs),
                None => MaskWord::unknown(),
            };
            // Joins only remove literals, so sets of equal size are equal.
            lost |= joined.size() != before;
            *word = joined;
            !word.is_unknown()
        });
        let occupied = self.occupied.intersection(&other.occupied);
        lost |= occupied.len() != self.occupied.len();
        self.occupied = occupied;
        lost |= self.is_active && !other.is_active;
        self.is_active &= other.is_active;
        lost
    }
}

/// Domain of mask words.
struct WordDomain<'a> {
    state: &'a MaskState,
    halves: &'a LiteralHalves,
}

impl ValueDomain for WordDomain<'_> {
    type Value = MaskWord;

    fn unknown(&mut self) -> Option<MaskWord> {
        Some(MaskWord::unknown())
    }

    fn constant(&mut self, value: u32) -> Option<MaskWord> {
        Some(match value {
            0 => MaskWord::of_all(Limits::zero()),
            u32::MAX => MaskWord::of_all(Limits::zero().negated()),
            _ => MaskWord::unknown(),
        })
    }

    fn cell(&mut self, cell: Cell) -> Option<MaskWord> {
        let mut word = self.state.word(cell);
        let mut active = Cell::EXEC_WORDS.into_iter().zip(&self.halves.0);
        if let Some((_, of_half)) = active.find(|(own, _)| *own == cell) {
            // The active mask contains the active lanes of every literal of its half.
            let every = Literals::Some(of_half.clone());
            word.active.below = word.active.below.union(&every);
        }
        Some(word)
    }

    fn unary(&mut self, op: UnaryOp, a: MaskWord) -> Option<MaskWord> {
        Some(match op {
            UnaryOp::Not => a.negated(),
            _ => MaskWord::unknown(),
        })
    }

    fn binary(&mut self, op: BinaryOp, a: MaskWord, b: MaskWord) -> Option<MaskWord> {
        Some(match op {
            BinaryOp::And => a.with(&b, Limits::and),
            BinaryOp::Or => a.with(&b, Limits::or),
            BinaryOp::Xor => a.xor(&b),
            _ => MaskWord::unknown(),
        })
    }

    fn ternary(&mut self, op: TernaryOp, [_, b, c]: [MaskWord; 3]) -> Option<MaskWord> {
        Some(match op {
            TernaryOp::Select => b.join(&c),
            _ => MaskWord::unknown(),
        })
    }
}
