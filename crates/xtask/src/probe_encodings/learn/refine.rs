//! Comparison of a hypothesis with the disassembler, and what differences say about it.
//!
//! Words that differ from the base word in one unit, in two, and in many are compared. A difference is reduced to the
//! fewest units that show it: two groups of bits that print otherwise together are joined, two that are illegal
//! together are a conflict, and a field whose extreme value is printed otherwise needs a narrower row.

use std::collections::{BTreeMap, BTreeSet};

use super::answers::Reading;
use super::model::{RowModel, Unit, UnitKind};
use super::row::{Hypothesis, Learner};
use super::word_bits::Bits;
use crate::disasm_compare::SplitMix;

/// Words of single units and pairs in each round.
const PAIRS: usize = 700;

/// Words with many units changed, for each density.
const DENSE: usize = 40;

/// Differences that are reduced in each round.
const REDUCED: usize = 16;

/// Rounds of reduction: each halves the units or removes one.
const REDUCTIONS: usize = 6;

/// Bits of groups that are joined, and of conflicts.
const JOINED: usize = 11;
const CONFLICTING: usize = 13;

/// Combinations of a conflict that are tried.
const COMBINATIONS: usize = 4200;

/// Values of a field that are printed in a special way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Special {
    pub(super) bits: Bits,
    pub(super) value: u64,
}

/// Result of a comparison.
#[derive(Default, Debug)]
pub(super) struct Refined {
    /// Words that differ.
    pub(super) wrong: usize,
    /// Whether the hypothesis was changed.
    pub(super) progress: bool,
    /// Bits that take part in differences that could not be explained.
    pub(super) suspects: Vec<u8>,
}

/// A word that differs, with its units that differ from the base word.
struct Difference {
    word: u128,
    units: Vec<Unit>,
}

/// Compares words with the texts that the row predicts and corrects the hypothesis.
pub(super) fn refine(
    learner: &mut Learner<'_>,
    model: &RowModel,
    predict: &dyn Fn(u128) -> Option<String>,
    hypothesis: &mut Hypothesis,
) -> anyhow::Result<Refined> {
    let units = model.units();
    let mut comparison = Comparison {
        learner,
        model,
        predict,
        units: &units,
    };
    let simple = comparison.simple_words();
    let dense = comparison.dense_words();
    comparison
        .learner
        .answers
        .ask(&[simple.clone(), dense.clone()].concat())?;
    let known = |word: u128| {
        hypothesis
            .specials
            .iter()
            .any(|special| special.bits.get(word) == special.value)
    };
    let differs = |comparison: &Comparison<'_, '_>, words: &[u128]| -> Vec<u128> {
        let words = words.iter().copied();
        words
            .filter(|word| !known(*word) && comparison.differs(*word))
            .collect()
    };
    let mut found = differs(&comparison, &simple);
    let dense = differs(&comparison, &dense);
    let mut refined = Refined {
        wrong: found.len() + dense.len(),
        ..Refined::default()
    };
    if found.is_empty() && !dense.is_empty() {
        found = comparison.reduce(dense)?;
    }
    let differences = comparison.with_units(found);
    comparison.explain(&differences, hypothesis, &mut refined)?;
    Ok(refined)
}

struct Comparison<'c, 'a> {
    learner: &'c mut Learner<'a>,
    model: &'c RowModel,
    predict: &'c dyn Fn(u128) -> Option<String>,
    units: &'c [Unit],
}

impl Comparison<'_, '_> {
    fn differs(&self, word: u128) -> bool {
        let theirs = self.learner.answers.get(word).map(|reading| &reading.text);
        (self.predict)(word).as_ref() != theirs
    }

    /// A value for a unit: one of the legal ones, or an extreme of a field every third time.
    fn value(&mut self, unit: &Unit) -> u64 {
        let random = &mut self.learner.random;
        let any = random.next() & unit.bits.ones();
        match unit.kind {
            UnitKind::Choice => {
                let legal = self.model.choices.legal.get(&unit.bits);
                let legal: Vec<u64> = legal.into_iter().flatten().copied().collect();
                random.choose(&legal).copied().unwrap_or(any)
            }
            UnitKind::Field => match random.next() % 12 {
                0..3 => unit.bits.ones(),
                3 => 0,
                _ => any,
            },
            UnitKind::Ignored => any,
        }
    }

    /// The base word with each unit changed, and each pair of them.
    fn simple_words(&mut self) -> Vec<u128> {
        let base = self.model.base;
        let mut chosen = Vec::new();
        for unit in self.units {
            if unit.kind != UnitKind::Ignored || self.learner.random.next().is_multiple_of(5) {
                chosen.push(unit.clone());
            }
        }
        let mut words = Vec::new();
        for (at, unit) in chosen.iter().enumerate() {
            let mut values = vec![0, unit.bits.ones()];
            if unit.kind == UnitKind::Choice {
                values.clear();
            }
            values.extend((0..3).map(|_| self.value(unit)));
            words.extend(values.into_iter().map(|value| unit.bits.put(base, value)));
            for other in chosen.iter().skip(at + 1) {
                let kinds = (unit.kind, other.kind);
                let tries = match kinds {
                    (UnitKind::Ignored, UnitKind::Ignored) => 0,
                    (UnitKind::Ignored, _) | (_, UnitKind::Ignored) => 1,
                    (UnitKind::Field, UnitKind::Field) => 1,
                    _ => 3,
                };
                for _ in 0..tries {
                    let word = unit.bits.put(base, self.value(unit));
                    words.push(other.bits.put(word, self.value(other)));
                }
            }
        }
        shuffle(&mut words, &mut self.learner.random);
        words.truncate(PAIRS);
        words
    }

    /// The base word with all units changed, half of them, or a third.
    fn dense_words(&mut self) -> Vec<u128> {
        let mut words = Vec::new();
        for density in 1..=3 {
            for _ in 0..DENSE {
                let mut word = self.model.base;
                for unit in self.units {
                    if self.learner.random.next().is_multiple_of(density) {
                        word = unit.bits.put(word, self.value(unit));
                    }
                }
                words.push(word);
            }
        }
        words
    }

    /// Units whose value in a word is not the value in the base word.
    fn changed(&self, word: u128) -> Vec<Unit> {
        let base = self.model.base;
        let units = self.units.iter().cloned();
        units
            .filter(|unit| unit.bits.get(word) != unit.bits.get(base))
            .collect()
    }

    fn with_units(&self, words: Vec<u128>) -> Vec<Difference> {
        let words = words.into_iter().map(|word| Difference {
            word,
            units: self.changed(word),
        });
        let mut differences: Vec<Difference> = words.collect();
        differences.sort_by_key(|difference| difference.units.len());
        differences
    }

    /// Gives units of words the values of the base word as long as the words still differ.
    fn reduce(&mut self, words: Vec<u128>) -> anyhow::Result<Vec<u128>> {
        let mut words = words;
        words.truncate(REDUCED);
        for _ in 0..REDUCTIONS {
            let mut smaller: Vec<(usize, u128)> = Vec::new();
            for (at, word) in words.iter().enumerate() {
                let mut units = self.changed(*word);
                shuffle(&mut units, &mut self.learner.random);
                let restore = |units: &[Unit]| {
                    let base = self.model.base;
                    let restored = units.iter();
                    restored.fold(*word, |word, unit| unit.bits.put(word, unit.bits.get(base)))
                };
                let (first, second) = units.split_at(units.len() / 2);
                if units.len() > 3 {
                    smaller.extend([first, second].map(|half| (at, restore(half))));
                }
                smaller.extend(
                    units
                        .iter()
                        .map(|unit| (at, restore(std::slice::from_ref(unit)))),
                );
            }
            let asked: Vec<u128> = smaller.iter().map(|(_, word)| *word).collect();
            self.learner.answers.ask(&asked)?;
            let mut changed = false;
            for (at, word) in smaller {
                let size = self.changed(word).len();
                if self.differs(word)
                    && let Some(best) = words.get(at)
                    && size < self.changed(*best).len()
                    && let Some(best) = words.get_mut(at)
                {
                    *best = word;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        Ok(words)
    }

    /// Operands that the disassembler prints as an error, by place in the text.
    fn bad_operands(&self, reading: &Reading, word: u128) -> Vec<usize> {
        let expected = self.model.expected(word);
        let aligned = self.model.frame.align(&reading.printed, &expected);
        let operands = aligned.iter().flatten().enumerate();
        let bad = operands.filter(|(_, slots)| {
            slots.is_some_and(|slots| slots.contains_key(&super::printed::Slot::Bad))
        });
        bad.map(|(at, _)| at).collect()
    }

    /// Corrects the hypothesis by differences, those with the fewest units first.
    fn explain(
        &mut self,
        differences: &[Difference],
        hypothesis: &mut Hypothesis,
        refined: &mut Refined,
    ) -> anyhow::Result<()> {
        let single: BTreeSet<&Unit> = differences
            .iter()
            .filter(|difference| difference.units.len() == 1)
            .flat_map(|difference| &difference.units)
            .collect();
        let mut seen: BTreeSet<(Vec<Unit>, bool)> = BTreeSet::new();
        let mut conflicts: BTreeSet<Vec<Bits>> = BTreeSet::new();
        let calm = self.calm_fields(differences)?;
        for (difference, calm) in differences.iter().zip(calm) {
            let word = difference.word;
            let units = &difference.units;
            if units.len() > 1 && units.iter().any(|unit| single.contains(unit)) {
                continue;
            }
            let reading = self.learner.answers.get(word).cloned();
            let legal = reading.is_some();
            if let Some(reading) = &reading
                && self.is_bad_zero(&reading.text, word)
            {
                for at in self.bad_operands(reading, word) {
                    refined.progress |= hypothesis.bad.insert(at);
                }
                continue;
            }
            if let Some(special) = calm {
                if !hypothesis.specials.contains(&special) {
                    hypothesis.specials.push(special);
                    refined.progress = true;
                }
                continue;
            }
            if !seen.insert((units.clone(), legal)) {
                continue;
            }
            let only_choices = units.iter().all(|unit| unit.kind == UnitKind::Choice);
            let groups: Vec<Bits> = units.iter().map(|unit| unit.bits.clone()).collect();
            let width: usize = groups.iter().map(Bits::width).sum();
            if only_choices && groups.len() > 1 && !legal && width <= CONFLICTING {
                let mut groups = groups;
                groups.sort();
                match self.are_one_list(&groups) {
                    true => {
                        hypothesis
                            .partition
                            .join_all(&groups.iter().map(Bits::low).collect::<Vec<u8>>());
                        refined.progress = true;
                    }
                    false => {
                        conflicts.insert(groups);
                    }
                }
            } else if only_choices && groups.len() > 1 && legal && width <= JOINED {
                for group in groups.iter().skip(1) {
                    if let Some(first) = groups.first() {
                        hypothesis.partition.join(first.low(), group.low());
                    }
                }
                refined.progress = true;
            } else {
                self.suspect(word, units, refined);
                self.adopt(units, hypothesis, refined);
            }
        }
        self.companions(differences, &mut conflicts)?;
        for groups in conflicts {
            if !hypothesis.conflicts.contains_key(&groups) {
                self.settle(groups, hypothesis, refined)?;
            }
        }
        Ok(())
    }

    /// Whether groups that are illegal together are neighbours and choose modifiers: then they are one list with values
    /// that are no instruction.
    fn are_one_list(&self, groups: &[Bits]) -> bool {
        let choices = &self.model.choices;
        let [first, second] = groups else {
            return false;
        };
        let modifiers = groups
            .iter()
            .all(|bits| choices.modifier_texts.contains_key(bits));
        let last = first.positions().last().copied().unwrap_or_default();
        modifiers && last + 1 == second.low()
    }

    /// A bit that seemed to do nothing, or a few, become groups of their own, so that later rounds relate them to others.
    fn adopt(&self, units: &[Unit], hypothesis: &mut Hypothesis, refined: &mut Refined) {
        for unit in units.iter().filter(|unit| unit.kind == UnitKind::Ignored) {
            hypothesis.partition.add(unit.bits.low());
            refined.progress = true;
        }
    }

    fn suspect(&self, word: u128, units: &[Unit], refined: &mut Refined) {
        let units = units.iter().filter(|unit| unit.kind != UnitKind::Field);
        let bits = units.flat_map(|unit| unit.bits.positions()).copied();
        let changed = word ^ self.model.base;
        refined
            .suspects
            .extend(bits.filter(|bit| changed >> bit & 1 == 1));
    }

    /// Whether the texts differ only in that register 255 is printed as an error.
    fn is_bad_zero(&self, theirs: &str, word: u128) -> bool {
        let ours = (self.predict)(word);
        ours.is_some_and(|ours| {
            let plain = theirs.replace("???255", "RZ").replace("???7", "PT");
            theirs.contains("???") && (plain == ours || plain == ours.replace("???255", "RZ"))
        })
    }

    /// For each difference with extreme values of fields: whether other values remove it, so that they are special.
    fn calm_fields(&mut self, differences: &[Difference]) -> anyhow::Result<Vec<Option<Special>>> {
        let extreme = |difference: &Difference| -> Vec<Bits> {
            let units = difference.units.iter();
            let fields = units.filter(|unit| unit.kind == UnitKind::Field);
            let extreme = fields.filter(|unit| {
                let value = unit.bits.get(difference.word);
                value == 0 || value == unit.bits.ones()
            });
            extreme.map(|unit| unit.bits.clone()).collect()
        };
        let mut variants = Vec::new();
        for difference in differences {
            let fields = extreme(difference);
            let calmed = fields.iter().fold(difference.word, |word, bits| {
                // Neither extreme, and even, because odd registers may be illegal.
                bits.put(
                    word,
                    (self.learner.random.next() & bits.ones() | 2) & !1 & (bits.ones() >> 1 | 2),
                )
            });
            variants.push((fields, calmed));
        }
        let asked: Vec<u128> = variants.iter().map(|(_, word)| *word).collect();
        self.learner.answers.ask(&asked)?;
        let specials =
            variants
                .into_iter()
                .zip(differences)
                .map(|((fields, calmed), difference)| {
                    let mut positions: Vec<u8> =
                        fields.iter().flat_map(|b| b.positions()).copied().collect();
                    positions.sort_unstable();
                    positions.dedup();
                    let bits = Bits::new(positions);
                    let small = (1..=24).contains(&bits.width());
                    (small && !self.differs(calmed)).then(|| Special {
                        value: bits.get(difference.word),
                        bits,
                    })
                });
        Ok(specials.collect())
    }

    /// Values that are illegal in the base word and legal elsewhere depend on another group: the one that makes a legal
    /// word illegal when it is set as in the base word.
    fn companions(
        &mut self,
        differences: &[Difference],
        conflicts: &mut BTreeSet<Vec<Bits>>,
    ) -> anyhow::Result<()> {
        let mut tried: Vec<(Bits, Bits, u128)> = Vec::new();
        let base = self.model.base;
        let scope = self.model.scope;
        let legal = self.learner.answers.legal(scope.mask, scope.value);
        let mut values: BTreeMap<(Bits, u64), ()> = BTreeMap::new();
        for difference in differences {
            let [unit] = &difference.units[..] else {
                continue;
            };
            let word = difference.word;
            if unit.kind == UnitKind::Choice && self.learner.answers.get(word).is_none() {
                values.insert((unit.bits.clone(), unit.bits.get(word)), ());
            }
        }
        for (bits, value) in values.keys().take(24) {
            let with = legal.iter().filter(|(word, _)| bits.get(*word) == *value);
            for (word, _) in with.take(2) {
                for other in self.model.choices.legal.keys() {
                    let plain = other.get(base);
                    if other != bits && other.get(*word) != plain {
                        tried.push((bits.clone(), other.clone(), other.put(*word, plain)));
                    }
                }
            }
        }
        let asked: Vec<u128> = tried.iter().map(|(.., word)| *word).collect();
        self.learner.answers.ask(&asked)?;
        for (bits, other, word) in tried {
            let small = bits.width() + other.width() < CONFLICTING;
            if small && self.learner.answers.get(word).is_none() {
                let mut groups = vec![bits, other];
                groups.sort();
                conflicts.insert(groups);
            }
        }
        Ok(())
    }

    /// Tries all combinations of the values of some groups in two base words.
    fn settle(
        &mut self,
        groups: Vec<Bits>,
        hypothesis: &mut Hypothesis,
        refined: &mut Refined,
    ) -> anyhow::Result<()> {
        let mut combinations: Vec<Vec<u64>> = vec![Vec::new()];
        for bits in &groups {
            let legal = self.model.choices.legal.get(bits);
            let legal: Vec<u64> = legal.into_iter().flatten().copied().collect();
            let extended = combinations.iter().flat_map(|values| {
                legal
                    .iter()
                    .map(move |value| [&values[..], &[*value]].concat())
            });
            combinations = extended.collect();
        }
        if combinations.len() > COMBINATIONS {
            return Ok(());
        }
        let scope = self.model.scope;
        let legal = self.learner.answers.legal(scope.mask, scope.value);
        let other = self.learner.random.choose(&legal).map(|(word, _)| *word);
        let mut illegal: BTreeSet<Vec<u64>> = combinations.into_iter().collect();
        for base in [Some(self.model.base), other].into_iter().flatten() {
            let word = |values: &Vec<u64>| {
                let pairs = groups.iter().zip(values);
                pairs.fold(base, |word, (bits, value)| bits.put(word, *value))
            };
            let asked: Vec<u128> = illegal.iter().map(word).collect();
            self.learner.answers.ask(&asked)?;
            illegal.retain(|values| self.learner.answers.get(word(values)).is_none());
        }
        // Words that were seen decide, too.
        for (word, _) in &legal {
            illegal.remove(
                &groups
                    .iter()
                    .map(|bits| bits.get(*word))
                    .collect::<Vec<u64>>(),
            );
        }
        hypothesis.conflicts.insert(groups, illegal);
        refined.progress = true;
        Ok(())
    }
}

/// Shuffles a list.
fn shuffle<T>(list: &mut [T], random: &mut SplitMix) {
    for at in (1..list.len()).rev() {
        let other = random.next() % (at as u64 + 1);
        list.swap(at, usize::try_from(other).unwrap_or(at));
    }
}
