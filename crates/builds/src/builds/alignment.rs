//! Alignment of the source lines and loops of a kernel in two builds.
//!
//! For example, if two lines are inserted at the head of a file, `k.cu:10` of the old build and `k.cu:12` of the new
//! one form one row. Lines are recognised by their instructions rather than their numbers, because an insertion
//! renumbers all lines below it. Source text is never compared: only the machine code and its line table are known.

use std::collections::{BTreeMap, BTreeSet};

use super::figures::{LineFigures, LoopFigures};

/// Upper bound on the entries of the alignment table; larger kernels are aligned by the names of their lines.
const MAX_TABLE: usize = 4 << 20;

/// Returns the lines of both builds in order, corresponding lines in one row.
///
/// Lines are recognised by the classes of their instructions, as a longest common subsequence. If equally many lines
/// of both builds are between two recognised lines, they correspond in their order; otherwise each of them gets a row
/// of its own. For example, with classes `ll`, `a`, `s` before and `ll`, `am`, `s`, `x` after, the first and third
/// lines are recognised, the second ones correspond because one is left on each side, and the fourth is new.
pub(super) fn align_lines(
    old: &[LineFigures],
    new: &[LineFigures],
) -> Vec<(Option<usize>, Option<usize>)> {
    // The table grows with the product of both lengths, so its size is limited; a product that overflows is over the
    // limit too.
    let anchors = match old.len().saturating_mul(new.len()) > MAX_TABLE {
        true => same_names(old, new),
        false => common_subsequence(old, new),
    };
    let mut rows = Vec::new();
    let (mut from_old, mut from_new) = (0, 0);
    // This anchor is the end of both builds and no line: it only closes the last gap.
    let ends = [(old.len(), new.len())];
    for (at_old, at_new) in anchors.into_iter().chain(ends) {
        let is_even = at_old - from_old == at_new - from_new;
        match is_even {
            true => rows.extend(
                (from_old..at_old)
                    .zip(from_new..at_new)
                    .map(|(old, new)| both(old, new)),
            ),
            false => {
                rows.extend((from_old..at_old).map(|at| (Some(at), None)));
                rows.extend((from_new..at_new).map(|at| (None, Some(at))));
            }
        }
        if at_old < old.len() && at_new < new.len() {
            rows.push((Some(at_old), Some(at_new)));
        }
        (from_old, from_new) = (at_old + 1, at_new + 1);
    }
    rows
}

fn both(old: usize, new: usize) -> (Option<usize>, Option<usize>) {
    (Some(old), Some(new))
}

/// Returns the lines with equal names, as far as they are in the same order in both builds.
fn same_names(old: &[LineFigures], new: &[LineFigures]) -> Vec<(usize, usize)> {
    let places: BTreeMap<&str, usize> = (new.iter().enumerate())
        .map(|(at, line)| (line.line.as_str(), at))
        .collect();
    let mut anchors: Vec<(usize, usize)> = Vec::new();
    for (at, line) in old.iter().enumerate() {
        let Some(&partner) = places.get(line.line.as_str()) else {
            continue;
        };
        // Anchors must ascend in both builds, otherwise the gap between two of them would have a negative length.
        if anchors.last().is_none_or(|&(_, last)| partner > last) {
            anchors.push((at, partner));
        }
    }
    anchors
}

/// Line as numbers, for fast comparison.
struct LineKey {
    classes: usize,
    name: usize,
    certainty: u32,
}

/// Returns a common subsequence by the classes of instructions with the largest weight; an equal name adds to the
/// weight.
fn common_subsequence(old: &[LineFigures], new: &[LineFigures]) -> Vec<(usize, usize)> {
    // Each pair of lines is compared, so each list of classes and each name gets a number.
    let mut classes: BTreeMap<&[String], usize> = BTreeMap::new();
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut old_keys, mut new_keys) = (Vec::new(), Vec::new());
    for (lines, keys) in [(old, &mut old_keys), (new, &mut new_keys)] {
        for line in lines {
            let (next_class, next_name) = (classes.len(), names.len());
            keys.push(LineKey {
                classes: *classes.entry(&line.classes).or_insert(next_class),
                name: *names.entry(&line.line).or_insert(next_name),
                // Lines with many instructions are recognised with more certainty. Doubled, so that an equal name
                // counts less than one instruction: names change with every line inserted above.
                certainty: u32::try_from(line.classes.len().min(8)).unwrap_or(8) * 2,
            });
        }
    }
    let weight = |old: &LineKey, new: &LineKey| match old.classes == new.classes {
        false => 0_u32,
        true => old.certainty + u32::from(old.name == new.name),
    };
    let (old, new) = (old_keys.as_slice(), new_keys.as_slice());
    let width = new.len() + 1;
    // The last row and column stay 0, because nothing is left to align there.
    let mut table = vec![0_u32; (old.len() + 1) * width];
    let best = |table: &[u32], i: usize, j: usize| table.get(i * width + j).copied().unwrap_or(0);
    // The table is filled from the ends, so that the anchors can be read from the start in ascending order.
    for (i, old) in old.iter().enumerate().rev() {
        for (j, new) in new.iter().enumerate().rev() {
            let skipped = best(&table, i + 1, j).max(best(&table, i, j + 1));
            let value = match weight(old, new) {
                0 => skipped,
                own => skipped.max(own + best(&table, i + 1, j + 1)),
            };
            if let Some(cell) = table.get_mut(i * width + j) {
                *cell = value;
            }
        }
    }
    let mut anchors = Vec::new();
    let (mut i, mut j) = (0, 0);
    while let (Some(one), Some(other)) = (old.get(i), new.get(j)) {
        let own = weight(one, other);
        let here = best(&table, i, j);
        if own > 0 && here == own + best(&table, i + 1, j + 1) {
            anchors.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if here == best(&table, i + 1, j) {
            i += 1;
        } else {
            j += 1;
        }
    }
    anchors
}

/// Corresponding loops, with the reason for each pair.
pub(super) struct AlignedLoops {
    /// Positions in both builds.
    pub(super) pairs: Vec<(usize, usize, &'static str)>,
    /// Loops of the old build only.
    pub(super) lost: Vec<usize>,
    /// Loops of the new build only.
    pub(super) gained: Vec<usize>,
}

/// Pairs the loops of two builds. The keys are, in this order: the fingerprint of the code that decides their counts,
/// the fingerprint of their instructions, and the source line of their header, where `new_line` maps old names of
/// lines to new ones. If equally many loops of one nesting depth are left, their order pairs them.
pub(super) fn align_loops(
    old: &[LoopFigures],
    new: &[LoopFigures],
    new_line: &BTreeMap<&str, &str>,
) -> AlignedLoops {
    let mut aligned = AlignedLoops {
        pairs: Vec::new(),
        lost: (0..old.len()).collect(),
        gained: (0..new.len()).collect(),
    };
    let decides = |one: &LoopFigures| one.identity.decides.clone().map(|key| (1, key));
    aligned.pair_unique(old, new, "fingerprint", decides, decides);
    let body = |one: &LoopFigures| one.identity.body.clone().map(|key| (one.report.depth, key));
    aligned.pair_unique(old, new, "body", body, body);
    let line = |one: &LoopFigures| Some((one.report.depth, one.report.source.clone()?));
    let old_line = |one: &LoopFigures| {
        let (depth, line) = line(one)?;
        Some((depth, (*new_line.get(line.as_str())?).to_owned()))
    };
    aligned.pair_unique(old, new, "source line", old_line, line);
    let depths: BTreeSet<u32> = old.iter().map(|one| one.report.depth).collect();
    for depth in depths {
        let of_depth = |all: &[LoopFigures], left: &[usize]| -> Vec<usize> {
            let is_of = |at: &&usize| all.get(**at).is_some_and(|one| one.report.depth == depth);
            left.iter().filter(is_of).copied().collect()
        };
        let (left, other) = (of_depth(old, &aligned.lost), of_depth(new, &aligned.gained));
        // With different numbers of loops, nothing says which of them is gone or new.
        if left.len() == other.len() {
            let pairs = left.into_iter().zip(other);
            aligned.take(pairs.map(|(old, new)| (old, new, "order")).collect());
        }
    }
    aligned.pairs.sort_by_key(|&(_, new, _)| new);
    aligned
}

impl AlignedLoops {
    /// Pairs the remaining loops with equal keys, if equally many loops of both builds have the key.
    fn pair_unique<K: Ord>(
        &mut self,
        old: &[LoopFigures],
        new: &[LoopFigures],
        reason: &'static str,
        old_key: impl Fn(&LoopFigures) -> Option<K>,
        new_key: impl Fn(&LoopFigures) -> Option<K>,
    ) {
        let mut partners: BTreeMap<K, Vec<usize>> = BTreeMap::new();
        for &at in &self.gained {
            if let Some(key) = new.get(at).and_then(&new_key) {
                partners.entry(key).or_default().push(at);
            }
        }
        let mut keys: BTreeMap<K, Vec<usize>> = BTreeMap::new();
        for &at in &self.lost {
            if let Some(key) = old.get(at).and_then(&old_key) {
                keys.entry(key).or_default().push(at);
            }
        }
        let mut pairs = Vec::new();
        for (key, left) in keys {
            let Some(other) = partners.get(&key).filter(|other| other.len() == left.len()) else {
                continue;
            };
            let of_key = left.iter().zip(other);
            pairs.extend(of_key.map(|(&old, &new)| (old, new, reason)));
        }
        self.take(pairs);
    }

    fn take(&mut self, pairs: Vec<(usize, usize, &'static str)>) {
        self.lost
            .retain(|at| pairs.iter().all(|(old, ..)| old != at));
        self.gained
            .retain(|at| pairs.iter().all(|(_, new, _)| new != at));
        self.pairs.extend(pairs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines with a class for each letter.
    fn lines(all: &[(&str, &str)]) -> Vec<LineFigures> {
        let line = |(name, classes): &(&str, &str)| LineFigures {
            line: (*name).to_owned(),
            classes: classes.chars().map(String::from).collect(),
            instructions: 0,
            local_accesses: 0,
        };
        all.iter().map(line).collect()
    }

    #[test]
    fn lines_are_recognised_after_they_moved() {
        let old = lines(&[("a:1", "lla"), ("a:2", "am"), ("a:3", "s")]);
        // Two lines more at the head, one changed, one new.
        let new = lines(&[("b:3", "lla"), ("b:4", "amm"), ("b:5", "s"), ("b:6", "x")]);
        let rows = align_lines(&old, &new);
        let expected = [
            (Some(0), Some(0)),
            (Some(1), Some(1)),
            (Some(2), Some(2)),
            (None, Some(3)),
        ];
        assert_eq!(rows, expected);
        assert_eq!(align_lines(&[], &new).len(), 4);
        assert_eq!(align_lines(&old, &[]).len(), 3);
        assert_eq!(
            align_lines(&old, &old),
            [0, 1, 2].map(|at| (Some(at), Some(at)))
        );
    }

    /// Each line of both builds is in one row, in any case.
    #[test]
    fn no_line_is_lost() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..300 {
            let mut draw = || -> Vec<(String, String)> {
                let count = random.usize(0..9);
                let one = |at: usize| {
                    let classes = ["a", "b", "ab", "c"];
                    let class = classes.get(random.usize(0..4)).copied().unwrap_or("a");
                    (format!("f:{at}"), class.to_owned())
                };
                (0..count).map(one).collect()
            };
            let (old, new) = (draw(), draw());
            let of = |all: &[(String, String)]| {
                let all: Vec<(&str, &str)> = all
                    .iter()
                    .map(|(name, class)| (name.as_str(), class.as_str()))
                    .collect();
                lines(&all)
            };
            for rows in [
                align_lines(&of(&old), &of(&new)),
                align_lines(&of(&new), &of(&old))
                    .into_iter()
                    .map(|(a, b)| (b, a))
                    .collect(),
            ] {
                let olds: Vec<usize> = rows.iter().filter_map(|(old, _)| *old).collect();
                let news: Vec<usize> = rows.iter().filter_map(|(_, new)| *new).collect();
                assert_eq!(olds, (0..old.len()).collect::<Vec<_>>());
                assert_eq!(news, (0..new.len()).collect::<Vec<_>>());
            }
        }
    }
}
