//! Addresses that are near each other: clusters of lanes, and the largest distance within one (SOUNDNESS 5.13).
//!
//! Lanes whose thread indices are close have close addresses if the address is computed by operations that keep close
//! numbers close: a clamp, a quotient, a remainder, a selection. For example, `tid / 5` is the same in 5 consecutive
//! lanes, and one more in the next 5.

use std::collections::{BTreeSet, HashMap};

use warpbound_ir::{BinaryOp, TernaryOp, UnaryOp};
use warpbound_isa::{Axis, SpecialReg};

use super::finder::AddressFinder;
use super::lanes::{LaneAddresses, NearLanes};
use crate::symbolic::atoms::{Atom, AtomId, WordPolynomial};
use crate::symbolic::integers::{Facts, Integer, NumberId};
use crate::symbolic::span::Reading;

/// Distance of two addresses from which a claim is of no use.
const MOST_APART: u64 = 1 << 20;

/// Maximum number of clusters that are of use.
const MOST_CLUSTERS: u32 = 16;

/// Minimum change of a word for which the lanes on both sides of a step count as two clusters.
const WORTH_A_CLUSTER: u64 = 16;

/// Maximum nesting of operations that are followed.
const MAX_DEPTH: u32 = 32;

/// Thread indices of some lanes with consecutive numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct LaneGroup {
    /// Difference of the greatest and the least index in x, y, z.
    extent: [u64; 3],
    /// Lowest bit of the index in x from which on all lanes have the same bits. For example, 3 for the indices 8 to
    /// 15.
    agrees_from: u32,
}

impl LaneGroup {
    /// The group of the threads of a block with some numbers.
    fn new(block: [u32; 3], threads: std::ops::Range<u64>) -> LaneGroup {
        let [width, height, _] = block.map(|size| u64::from(size.max(1)));
        let indices = |axis: usize| {
            threads.clone().map(move |thread| match axis {
                0 => thread % width,
                1 => thread / width % height,
                _ => thread / width / height,
            })
        };
        let least = [0, 1, 2].map(|axis| indices(axis).min().unwrap_or(0));
        let most = [0, 1, 2].map(|axis| indices(axis).max().unwrap_or(0));
        LaneGroup {
            extent: [0, 1, 2].map(|axis| most[axis] - least[axis]),
            // Bits that the least and the greatest number have in common from some bit on are common to all numbers
            // between them.
            agrees_from: u64::BITS - (least[0] ^ most[0]).leading_zeros(),
        }
    }

    /// Whether the index in x is the same in all lanes after a shift right.
    fn agrees_above(&self, bits: u32) -> bool {
        bits >= self.agrees_from
    }
}

/// Step at which the lanes of a group fall into clusters.
#[derive(Clone, PartialEq, Eq)]
enum Step {
    /// The content of an atom, or the choice of one among several words.
    Content(AtomId),
    /// The bits of a word from some bit on.
    HighBits(WordPolynomial, u32),
    /// Whether the number of a word, in a reading, wraps.
    Wrap(WordPolynomial, Reading),
}

/// Words of a group of lanes: within a cluster, they are congruent modulo 2³² (addresses: 2⁶⁴) to numbers that are at
/// most `distance` apart.
#[derive(Clone, Default)]
struct Spread {
    distance: u64,
    /// Steps, and the clusters that each makes.
    steps: Vec<(Step, u32)>,
}

impl Spread {
    fn of_distance(distance: u64) -> Spread {
        Spread {
            distance,
            steps: Vec::new(),
        }
    }

    /// Product of the clusters of all steps; `None` if they are too many.
    fn clusters(&self) -> Option<u32> {
        let number = self
            .steps
            .iter()
            .try_fold(1u32, |all, (_, each)| all.checked_mul(*each))?;
        (number <= MOST_CLUSTERS).then_some(number)
    }

    /// The same words with the lanes in the clusters of a step.
    fn split(mut self, step: Step, clusters: u32) -> Spread {
        match self.steps.iter_mut().find(|(other, _)| *other == step) {
            Some((_, known)) => *known = clusters.min(*known),
            None => self.steps.push((step, clusters)),
        }
        self
    }

    /// The steps of another spread, too.
    fn with_steps_of(self, other: &Spread) -> Spread {
        let steps = other.steps.iter().cloned();
        steps.fold(self, |all, (step, clusters)| all.split(step, clusters))
    }

    /// The spread of words that are, in all lanes of a cluster, the first or the second of two words; or the result
    /// of a function that changes no more than its operands, such as a minimum.
    fn either(self, other: &Spread) -> Spread {
        let distance = self.distance.max(other.distance);
        Spread { distance, ..self }.with_steps_of(other)
    }

    /// Sums of two words.
    fn plus(self, other: &Spread) -> Spread {
        let distance = self.distance.saturating_add(other.distance);
        Spread { distance, ..self }.with_steps_of(other)
    }
}

/// Search for the spread of words in one group of lanes that execute an access together.
struct NearSearch<'f, 'a> {
    finder: &'f mut AddressFinder<'a>,
    group: LaneGroup,
    known: HashMap<WordPolynomial, Option<Spread>>,
    depth: u32,
}

/// Address whose spread is computed.
#[derive(Clone, Copy)]
pub(super) enum FollowedAddress<'n> {
    /// A word.
    Word(&'n WordPolynomial),
    /// A number of 64 bits.
    Wide(&'n Integer),
}

impl AddressFinder<'_> {
    /// The clusters of the addresses in each group of lanes; `None` without a known block, or if the addresses may be
    /// far apart in all groups with more than one lane.
    pub(super) fn near(&mut self, address: FollowedAddress<'_>) -> Option<LaneAddresses> {
        let far = NearLanes::all_within(u64::MAX);
        let of_lanes = self.for_each_group(|finder, group| {
            let mut search = NearSearch {
                finder,
                group,
                known: HashMap::new(),
                depth: 0,
            };
            let spread = match address {
                FollowedAddress::Word(word) => search.spread(word),
                FollowedAddress::Wide(number) => search.spread_of_number(number),
            };
            let near = spread.and_then(|spread| {
                let clusters = spread.clusters()?;
                let distance = spread.distance;
                (distance < MOST_APART).then_some(NearLanes { clusters, distance })
            });
            near.unwrap_or(far)
        })?;
        // If all lanes have the same limits, and no others, a claim about groups says no more than these limits.
        let last = *of_lanes.last()?;
        let mut groups = of_lanes.iter().skip(1);
        let helps = groups.any(|near| *near != far) && (last.clusters > 1 || of_lanes[1] != last);
        helps.then_some(LaneAddresses::Near(of_lanes))
    }

    /// Addresses in the form of clusters, if they have one.
    pub(super) fn as_near(&mut self, addresses: &LaneAddresses) -> Option<LaneAddresses> {
        match addresses {
            LaneAddresses::Affine {
                coefficients,
                wraps,
                ..
            } => {
                let clusters = 1 + u32::from(*wraps);
                let of_lanes = self.for_each_group(|_, group| {
                    let parts = coefficients.iter().zip(group.extent);
                    let parts = parts.map(|(by, extent)| by.unsigned_abs().saturating_mul(extent));
                    NearLanes {
                        clusters,
                        distance: parts.fold(0, u64::saturating_add),
                    }
                });
                of_lanes.map(LaneAddresses::Near)
            }
            LaneAddresses::Within { least, most } => {
                let distance = most.checked_sub(*least)?;
                let of_lanes = self.for_each_group(|_, _| NearLanes::all_within(distance));
                of_lanes.map(LaneAddresses::Near)
            }
            LaneAddresses::Near(_) => Some(addresses.clone()),
            LaneAddresses::Unknown { .. } => None,
        }
    }

    /// The worst of all groups of 1, 2, 4, … lanes of the warps of a known block.
    fn for_each_group(
        &mut self,
        mut near: impl FnMut(&mut Self, LaneGroup) -> NearLanes,
    ) -> Option<Vec<NearLanes>> {
        let block = self.context.block?;
        let lanes = u64::from(self.context.warp_width);
        let sizes = block.map(u64::from);
        let threads = sizes
            .iter()
            .try_fold(1u64, |all, &size| all.checked_mul(size));
        let threads = threads.filter(|threads| (1..=1024).contains(threads))?;
        // The groups of lanes have sizes of 2^k up to the whole warp.
        if !lanes.is_power_of_two() {
            return None;
        }
        // Waves may switch lanes on that hold no thread.
        if self.keeps_masks && !threads.is_multiple_of(lanes) {
            return None;
        }
        let sizes = (1..=lanes.ilog2()).map(|bits| 1u64 << bits);
        let worst = sizes.map(|size| {
            let firsts = (0..threads).step_by(size as usize);
            let groups: BTreeSet<LaneGroup> = firsts
                .map(|first| LaneGroup::new(block, first..(first + size).min(threads)))
                .collect();
            let of_groups = groups.into_iter().map(|group| near(self, group));
            of_groups
                .reduce(NearLanes::join)
                .unwrap_or(NearLanes::all_within(0))
        });
        let one_lane = NearLanes::all_within(0);
        Some(std::iter::once(one_lane).chain(worst).collect())
    }
}

impl NearSearch<'_, '_> {
    /// The spread of an address of 64 bits.
    fn spread_of_number(&mut self, number: &Integer) -> Option<Spread> {
        let mut sum = Spread::default();
        for (unknowns, coefficient) in number.terms() {
            // Numbers are the address modulo 2⁶⁴.
            let mut factor = (*coefficient as i64).unsigned_abs();
            let mut differing: Option<NumberId> = None;
            for &id in unknowns {
                let (word, _) = self.finder.solver.number(id).clone();
                if self.finder.is_uniform(&word) {
                    let plain = Facts::default();
                    let (atoms, integers) = self.finder.solver.numbers();
                    let (least, most) = integers.limits(atoms, &Integer::unknown(id), &plain)?;
                    let greatest = least.unsigned_abs().max(most.unsigned_abs());
                    factor = factor.saturating_mul(u64::try_from(greatest).ok()?);
                } else if differing.replace(id).is_some() {
                    return None;
                }
            }
            if let Some(id) = differing {
                let (word, reading) = self.finder.solver.number(id).clone();
                let spread = self.read(&word, reading)?;
                let distance = spread.distance.saturating_mul(factor);
                sum = sum.plus(&Spread { distance, ..spread });
            }
        }
        Some(sum)
    }

    /// The spread of a word.
    fn spread(&mut self, word: &WordPolynomial) -> Option<Spread> {
        if let Some(known) = self.known.get(word) {
            return known.clone();
        }
        if self.depth >= MAX_DEPTH {
            return None;
        }
        // A word that depends on itself finds this entry.
        self.known.insert(word.clone(), None);
        self.depth += 1;
        let found = self.spread_of_sum(word);
        self.depth -= 1;
        let limit = self.limit(word);
        let by_limit = (limit < MOST_APART).then(|| Spread::of_distance(limit));
        let found = match found {
            // Too many clusters are of no use, while the limits may be.
            Some(spread) if spread.clusters().is_none() => by_limit.or(Some(spread)),
            // The limits need no steps.
            Some(spread) if spread.distance < limit => Some(spread),
            Some(spread) if spread.distance == limit && spread.steps.is_empty() => Some(spread),
            _ => by_limit,
        };
        self.known.insert(word.clone(), found.clone());
        found
    }

    /// The largest distance between two contents of a word, by its limits.
    fn limit(&mut self, word: &WordPolynomial) -> u64 {
        let span = self.finder.solver.span_under(word, &Facts::default());
        span.width().unsigned_abs()
    }

    fn spread_of_sum(&mut self, word: &WordPolynomial) -> Option<Spread> {
        if self.finder.is_uniform(word) {
            return Some(Spread::default());
        }
        let expanded = self.finder.expanded(word);
        let mut sum = Spread::default();
        for (unknowns, coefficient) in expanded.terms() {
            let mut factor = u64::from((*coefficient as i32).unsigned_abs());
            let mut differing: Option<AtomId> = None;
            for &id in unknowns {
                let word = WordPolynomial::unknown(id);
                if self.finder.is_uniform(&word) {
                    // Modulo 2³² a factor is any number that is congruent to it.
                    let span = self.finder.solver.span_under(&word, &Facts::default());
                    let (least, most) = span.as_numbers(Reading::Signed);
                    let greatest = least.unsigned_abs().max(most.unsigned_abs());
                    factor = factor.saturating_mul(greatest);
                } else if differing.replace(id).is_some() {
                    return None;
                }
            }
            if let Some(id) = differing {
                let spread = self.spread_of_atom(id, factor)?;
                let distance = spread.distance.saturating_mul(factor);
                sum = sum.plus(&Spread { distance, ..spread });
            }
        }
        (sum.distance < 1 << 31).then_some(sum)
    }

    /// The spread of the numbers of a word in a reading.
    fn read(&mut self, word: &WordPolynomial, reading: Reading) -> Option<Spread> {
        let spread = self.spread(word)?;
        let span = self.finder.solver.span_under(word, &Facts::default());
        let (least, most) = span.as_numbers(reading);
        let limit = (most - least).unsigned_abs();
        // Two numbers differ by at most `limit`, and the integers that they are congruent to by at most `distance`. If
        // both together are below 2³², the numbers differ as the integers do.
        if spread.distance == 0 || spread.distance.saturating_add(limit) < 1 << 32 {
            return Some(spread);
        }
        // Numbers that span less than 2³² are in at most two of the intervals of a reading.
        Some(spread.split(Step::Wrap(word.clone(), reading), 2))
    }

    /// The spread of an atom that is multiplied by `factor`.
    fn spread_of_atom(&mut self, id: AtomId, factor: u64) -> Option<Spread> {
        let quotient = |of: Spread, by: u64| {
            let distance = of.distance.div_ceil(by.max(1));
            let clusters = u32::try_from(distance).ok().and_then(|d| d.checked_add(1));
            match clusters {
                // Lanes on both sides of a multiple.
                Some(clusters @ 2) if factor.saturating_mul(distance) >= WORTH_A_CLUSTER => {
                    Spread { distance: 0, ..of }.split(Step::Content(id), clusters)
                }
                _ => Spread { distance, ..of },
            }
        };
        let atom = self.finder.solver.symbolic.atoms.get(id).clone();
        let found = match &atom {
            Atom::Special(SpecialReg::ThreadIndex(axis)) => {
                let axis = usize::from(axis.index());
                return Some(Spread::of_distance(self.group.extent[axis]));
            }
            Atom::Unary(UnaryOp::AbsS, a) => self.read(a, Reading::Signed),
            Atom::Binary(op, [a, b]) => match op {
                BinaryOp::MinS | BinaryOp::MaxS => self.extremum(a, b, Reading::Signed),
                BinaryOp::MinU | BinaryOp::MaxU => self.extremum(a, b, Reading::Unsigned),
                BinaryOp::Shr if self.is_index_above(a, b) => return Some(Spread::default()),
                BinaryOp::Shr | BinaryOp::Sar => {
                    let reading = match op {
                        BinaryOp::Shr => Reading::Unsigned,
                        _ => Reading::Signed,
                    };
                    // A shift by 32 bits or more leaves no more differences than a shift by 31.
                    let by = match b.as_constant() {
                        Some(bits) => 1 << bits.min(31),
                        // A shift by an unknown number of bits that is the same in all lanes increases no distance.
                        None if self.finder.is_uniform(b) => 1,
                        None => return self.limited(id),
                    };
                    self.read(a, reading).map(|of| quotient(of, by))
                }
                BinaryOp::DivS | BinaryOp::RemS => {
                    let by = match b.as_constant() {
                        Some(by) => u64::from((by as i32).unsigned_abs()),
                        None if self.finder.is_uniform(b) => 1,
                        None => return self.limited(id),
                    };
                    let of = self.read(a, Reading::Signed);
                    match op {
                        BinaryOp::DivS => of.map(|of| quotient(of, by)),
                        // Where the quotient is the same, remainders are as far apart as the numbers.
                        _ => of
                            .filter(|of| of.distance <= by)
                            .map(|of| match of.distance {
                                0 => of,
                                _ => of.split(Step::Content(id), 2),
                            }),
                    }
                }
                BinaryOp::MulHighU => match (a.as_constant(), b.as_constant()) {
                    (Some(by), None) => self.high_word(b, by).map(|of| quotient(of, 1)),
                    (None, Some(by)) => self.high_word(a, by).map(|of| quotient(of, 1)),
                    _ => None,
                },
                BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => self.bitwise(a, b),
                _ => None,
            },
            Atom::Ternary(TernaryOp::Select, [condition, a, b]) => {
                let either = self.spread(a).zip(self.spread(b));
                let either = either.map(|(a, b)| a.either(&b));
                match self.spread(condition) {
                    // Lanes for which the condition is equal choose the same operand.
                    Some(of) if of.distance == 0 => either.map(|either| either.with_steps_of(&of)),
                    _ => either.map(|either| either.split(Step::Content(id), 2)),
                }
            }
            Atom::Value(..) => self.chosen(id),
            _ => None,
        };
        found.or_else(|| self.limited(id))
    }

    /// The spread of an atom by its limits.
    fn limited(&mut self, id: AtomId) -> Option<Spread> {
        let limit = self.limit(&WordPolynomial::unknown(id));
        (limit < MOST_APART).then(|| Spread::of_distance(limit))
    }

    /// The spread of the minimum or maximum of two numbers: it differs between lanes no more than the numbers do.
    fn extremum(
        &mut self,
        a: &WordPolynomial,
        b: &WordPolynomial,
        reading: Reading,
    ) -> Option<Spread> {
        let (a, b) = self.read(a, reading).zip(self.read(b, reading))?;
        Some(a.either(&b))
    }

    /// The spread of the high word of a product with a constant: ⌊a·by / 2³²⌋.
    fn high_word(&mut self, a: &WordPolynomial, by: u32) -> Option<Spread> {
        let of = self.read(a, Reading::Unsigned)?;
        let product = u128::from(of.distance) * u128::from(by);
        let distance = u64::try_from(product.div_ceil(1 << 32)).ok()?;
        Some(Spread { distance, ..of })
    }

    /// The spread of a bitwise operation with a word that is the same in all lanes: numbers with equal high bits keep
    /// them equal.
    fn bitwise(&mut self, a: &WordPolynomial, b: &WordPolynomial) -> Option<Spread> {
        let (a, _) = match (self.finder.is_uniform(a), self.finder.is_uniform(b)) {
            (false, true) => (a, b),
            (true, false) => (b, a),
            _ => return None,
        };
        let of = self.spread(a)?;
        if of.distance == 0 {
            return Some(of);
        }
        let bits = (of.distance + 1).next_power_of_two().ilog2();
        if bits >= 32 {
            return None;
        }
        let distance = (1 << bits) - 1;
        let low = Spread { distance, ..of };
        if self.agrees_above(a, bits) {
            return Some(low);
        }
        Some(low.split(Step::HighBits(a.clone(), bits), 2))
    }

    /// Whether the bits of a word from some bit on are the same in all lanes.
    fn agrees_above(&mut self, word: &WordPolynomial, bits: u32) -> bool {
        if self.is_index(word) {
            return self.group.agrees_above(bits);
        }
        let parts = self.finder.solver.symbolic.atoms.split(word, bits);
        parts.is_some_and(|(_, high)| self.finder.is_uniform(&high))
    }

    /// Whether a word is the thread index in x.
    fn is_index(&self, word: &WordPolynomial) -> bool {
        let atoms = &self.finder.solver.symbolic.atoms;
        let index = Atom::Special(SpecialReg::ThreadIndex(Axis::X));
        word.as_unknown().is_some_and(|id| *atoms.get(id) == index)
    }

    /// Whether a shift right of the thread index leaves bits that are the same in all lanes.
    fn is_index_above(&self, a: &WordPolynomial, by: &WordPolynomial) -> bool {
        let bits = by.as_constant();
        self.is_index(a) && bits.is_some_and(|bits| self.group.agrees_above(bits))
    }

    /// The spread of a word that is one of several, by the way that a lane took.
    fn chosen(&mut self, id: AtomId) -> Option<Spread> {
        let words = self.finder.solver.symbolic.atoms.gate(id)?.to_vec();
        let clusters = u32::try_from(words.len()).ok()?;
        let mut all = Spread::default();
        for word in &words {
            all = all.either(&self.spread(word)?);
        }
        Some(all.split(Step::Content(id), clusters))
    }
}
