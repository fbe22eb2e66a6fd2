//! Literals: words of the masks of sites and their complements, with which masks are compared.

use warpbound_ir::{Cell, OpIndex};
use warpbound_simt::NodeId;
use warpbound_simt::bitset::BitSet;

/// Place whose mask, at its last execution, serves for comparisons.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MaskSite {
    /// The active lanes at the kernel's entry.
    Entry,
    /// The active lanes when a node with several predecessors is entered.
    Join(NodeId),
    /// The active lanes after an operation that writes them.
    Active(NodeId, OpIndex),
    /// The active lanes at an operation that compares.
    Compared(NodeId, OpIndex),
    /// The active lanes at a branch on a mask, at the end of a node.
    Branch(NodeId),
    /// The lanes where the predicate of an operation that compares holds: active ones for a ballot; all or none, if
    /// the predicate is one of the warp.
    Holds(NodeId, OpIndex),
}

/// Claim about a word of the warp: it is contained in, or contains, a word of a site's mask or of its complement. For
/// example, a copy of the active mask at the kernel's entry is within the mask of [`MaskSite::Entry`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MaskClaim {
    /// The word.
    pub word: Cell,
    /// Whether the word is contained in the other; else it contains it.
    pub is_within: bool,
    /// The site; `None` is the word without bits.
    pub site: Option<MaskSite>,
    /// Number of the word of the site's mask, 0 for lanes 0 to 31.
    pub half: usize,
    /// Whether the other word is the complement of the site's.
    pub complement: bool,
}

/// Word of the mask of a site, or its complement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Literal(usize);

impl Literal {
    pub(super) fn new(site: u32, word: u32, negated: bool) -> Literal {
        Literal(site as usize * 4 + word as usize * 2 + usize::from(negated))
    }
}

/// Set of literals.
#[derive(Clone, Debug)]
pub(super) enum Literals {
    /// All literals: all of them contain a word that is 0, and all are contained in a word of ones.
    All,
    /// The literals of a set.
    Some(BitSet),
}

impl Literals {
    pub(super) fn none() -> Literals {
        Literals::Some(BitSet::new())
    }

    pub(super) fn contains(&self, literal: Literal) -> bool {
        match self {
            Literals::All => true,
            Literals::Some(set) => set.contains(literal.0),
        }
    }

    pub(super) fn insert(&mut self, literal: Literal) {
        if let Literals::Some(set) = self {
            set.insert(literal.0);
        }
    }

    pub(super) fn union(mut self, other: &Literals) -> Literals {
        match (&mut self, other) {
            (Literals::All, _) | (_, Literals::All) => Literals::All,
            (Literals::Some(mine), Literals::Some(theirs)) => {
                mine.union(theirs);
                self
            }
        }
    }

    pub(super) fn intersection(&self, other: &Literals) -> Literals {
        match (self, other) {
            (Literals::All, some) | (some, Literals::All) => some.clone(),
            (Literals::Some(a), Literals::Some(b)) => Literals::Some(a.intersection(b)),
        }
    }

    /// Whether a word with the supersets `self` certainly lies within a word with the subsets `other`: some literal is
    /// in both sets, or one word is 0 or all ones.
    pub(super) fn intersects(&self, other: &Literals) -> bool {
        match (self, other) {
            (Literals::All, _) | (_, Literals::All) => true,
            (Literals::Some(a), Literals::Some(b)) => a.intersects(b),
        }
    }

    /// The complements of the literals.
    pub(super) fn negated(&self) -> Literals {
        match self {
            Literals::All => Literals::All,
            // The lowest bit of a literal says whether it is a complement.
            Literals::Some(set) => Literals::Some(set.iter().map(|literal| literal ^ 1).collect()),
        }
    }

    /// Removes the literals of a site.
    pub(super) fn forget(&mut self, site: u32) {
        if let Literals::Some(set) = self {
            for literal in 0..4 {
                set.remove(site as usize * 4 + literal);
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Literals::All => usize::MAX,
            Literals::Some(set) => set.len(),
        }
    }
}

/// Literals of the words of each half.
#[derive(Clone, Debug, Default)]
pub(super) struct LiteralHalves(pub(super) [BitSet; 2]);

impl LiteralHalves {
    /// Literals of a number of sites.
    pub(super) fn of(sites: usize) -> LiteralHalves {
        let of_half = |half: usize| {
            let literals = (0..sites).flat_map(|site| [0, 1].map(|bit| site * 4 + half * 2 + bit));
            literals.collect()
        };
        LiteralHalves([of_half(0), of_half(1)])
    }
}
