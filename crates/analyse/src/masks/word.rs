//! Facts about one word of a mask: the literals that it lies between.

use warpbound_simt::bitset::BitSet;

use super::literals::{Literal, Literals};

/// Words that a word lies between.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    /// Words that contain it.
    pub(super) above: Literals,
    /// Words that it contains.
    pub(super) below: Literals,
}

impl Limits {
    /// No limits: nothing is known of the word.
    pub(super) fn unknown() -> Limits {
        Limits {
            above: Literals::none(),
            below: Literals::none(),
        }
    }

    /// Limits of the word without lanes.
    pub(super) fn zero() -> Limits {
        Limits {
            above: Literals::All,
            below: Literals::none(),
        }
    }

    pub(super) fn insert(&mut self, literal: Literal) {
        self.above.insert(literal);
        self.below.insert(literal);
    }

    pub(super) fn negated(&self) -> Limits {
        Limits {
            above: self.below.negated(),
            below: self.above.negated(),
        }
    }

    pub(super) fn and(&self, other: &Limits) -> Limits {
        // The intersection lies in whatever contains one operand, and contains only what both contain.
        Limits {
            above: self.above.clone().union(&other.above),
            below: self.below.intersection(&other.below),
        }
    }

    pub(super) fn or(&self, other: &Limits) -> Limits {
        // The union lies only in what contains both operands, and contains whatever one of them contains.
        Limits {
            above: self.above.intersection(&other.above),
            below: self.below.clone().union(&other.below),
        }
    }

    /// Either of two words.
    pub(super) fn join(&self, other: &Limits) -> Limits {
        Limits {
            above: self.above.intersection(&other.above),
            below: self.below.intersection(&other.below),
        }
    }

    pub(super) fn size(&self) -> (usize, usize) {
        (self.above.len(), self.below.len())
    }
}

/// Facts about one word.
#[derive(Clone, Debug)]
pub(super) struct MaskWord {
    /// Limits of all its lanes.
    pub(super) all: Limits,
    /// Limits of its lanes that are active now, at least as narrow as the limits of all lanes. A literal of lanes 0
    /// to 31 limits lanes of the low word of the active mask, a literal of lanes 32 to 63 lanes of the high word.
    pub(super) active: Limits,
}

impl MaskWord {
    /// A word whose active lanes have no narrower limits than all.
    pub(super) fn of_all(all: Limits) -> MaskWord {
        MaskWord {
            active: all.clone(),
            all,
        }
    }

    /// An unknown word.
    pub(super) fn unknown() -> MaskWord {
        MaskWord::of_all(Limits::unknown())
    }

    pub(super) fn insert(&mut self, literal: Literal) {
        self.all.insert(literal);
        self.active.insert(literal);
    }

    pub(super) fn insert_below(&mut self, literal: Literal) {
        self.all.below.insert(literal);
        self.active.below.insert(literal);
    }

    pub(super) fn map(&self, limits: impl Fn(&Limits) -> Limits) -> MaskWord {
        MaskWord {
            all: limits(&self.all),
            active: limits(&self.active),
        }
    }

    pub(super) fn with(
        &self,
        other: &MaskWord,
        limits: impl Fn(&Limits, &Limits) -> Limits,
    ) -> MaskWord {
        MaskWord {
            all: limits(&self.all, &other.all),
            active: limits(&self.active, &other.active),
        }
    }

    pub(super) fn negated(&self) -> MaskWord {
        self.map(Limits::negated)
    }

    /// Lanes of one word only. If one word contains the other, these are its lanes without the lanes of the other.
    pub(super) fn xor(&self, other: &MaskWord) -> MaskWord {
        if self.is_subset(other) {
            return other.with(&self.negated(), Limits::and);
        }
        if other.is_subset(self) {
            return self.with(&other.negated(), Limits::and);
        }
        // Without such a relation, the result is a part of the union, and nothing is known to be in it.
        self.with(other, |a, b| Limits {
            above: a.above.intersection(&b.above),
            below: Literals::none(),
        })
    }

    /// Either of two words.
    pub(super) fn join(&self, other: &MaskWord) -> MaskWord {
        self.with(other, Limits::join)
    }

    /// Whether it is certainly a subset of another word.
    pub(super) fn is_subset(&self, other: &MaskWord) -> bool {
        // Some literal contains this word, and the other word contains the literal.
        self.all.above.intersects(&other.all.below)
    }

    pub(super) fn size(&self) -> [(usize, usize); 2] {
        [self.all.size(), self.active.size()]
    }

    pub(super) fn is_unknown(&self) -> bool {
        self.size() == [(0, 0); 2]
    }

    /// Adds what follows for all lanes from the limits of the active ones, if the word is a part of a word of the
    /// active mask; `of_half` are the literals of that half.
    pub(super) fn narrow(&mut self, of_half: &BitSet) {
        if let Literals::Some(above) = &self.active.above {
            let of_half = Literals::Some(above.intersection(of_half));
            self.all.above = self.all.above.clone().union(&of_half);
        }
    }

    /// Drops the limits of active lanes if they are too many.
    pub(super) fn keep_few(&mut self) {
        let has_many = |active: &Literals, all: &Literals| match active {
            Literals::All => false,
            Literals::Some(_) => active.len() > all.len().saturating_add(MOST_OF_ACTIVE),
        };
        if has_many(&self.active.above, &self.all.above) {
            self.active.above = self.all.above.clone();
        }
        if has_many(&self.active.below, &self.all.below) {
            self.active.below = self.all.below.clone();
        }
    }
}

/// Maximum number of literals that limit only the active lanes. A copy of the active mask contains the active lanes
/// of every literal, and nothing is gained by keeping them all.
const MOST_OF_ACTIVE: usize = 64;
