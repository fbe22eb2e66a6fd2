//! Lines of code that have arrived when a warp needs them, because an earlier wait was long enough for them (SOUNDNESS 11.3).
//!
//! A warp that enters a line requests the lines after it, too. If it waits for the entered line as long as for one that is
//! requested last, the lines after it have arrived as well, and nothing waits for them. For example, with two lines ahead
//! and straight-line code in the lines 4 to 9, the first requests of the lines 4 and 7 are counted. Lines 5 and 6 arrive with
//! line 4, and lines 8 and 9 with line 7.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use warpbound_ir::OpIndex;

use super::Builder;
use super::requested::Requested;
use crate::code::TimedCode;

impl Builder<'_> {
    /// Returns the lines that have arrived whenever an instruction needs them. `requested` has what every path to a node has
    /// entered, and `ahead` lines are prefetched at least.
    pub(super) fn covered_lines(
        &self,
        requested: &[Option<Requested>],
        ahead: u64,
    ) -> BTreeSet<u64> {
        let mut covered = BTreeSet::new();
        // What the second cache loses may be prefetched again, and its services count with each wait.
        if ahead == 0
            || self.refetched.is_some()
            || !matches!(self.kernel.facts, TimedCode::Warps(_))
        {
            return covered;
        }
        let first = self.first_lines(ahead);
        let [mut paid, mut paid_beyond] = [const { BTreeSet::new() }; 2];
        // By ascending line, so that it is known of the lines before it whether they are paid for.
        for (line, entries) in self.first_entries(requested, ahead) {
            if !self.code.stays_in_first(line) {
                continue;
            }
            // A wait for the second cache is too short for a line that comes from elsewhere.
            let in_second = self.in_second.contains(&line);
            let payers: &BTreeSet<u64> = if in_second { &paid } else { &paid_beyond };
            let is_paid = |entered: &BTreeSet<u64>| !entered.is_disjoint(payers);
            let is_first = first.as_ref().is_some_and(|lines| lines.contains(&line));
            if is_first || entries.iter().all(is_paid) {
                covered.insert(line);
                continue;
            }
            paid.insert(line);
            if !in_second {
                paid_beyond.insert(line);
            }
        }
        covered
    }

    /// Lines that a launch loads into the first cache before it begins.
    fn first_lines(&self, ahead: u64) -> Option<RangeInclusive<u64>> {
        let (first, _) = self
            .kernel
            .nodes
            .get(self.kernel.entry)
            .copied()
            .flatten()?;
        let [line, _] = self.lines(first);
        Some(line..=line + ahead)
    }

    /// Returns for each line what every path has entered of the lines before it, as far as one prefetches the line, at each
    /// place where the line may be entered for the first time.
    fn first_entries(
        &self,
        requested: &[Option<Requested>],
        ahead: u64,
    ) -> BTreeMap<u64, Vec<BTreeSet<u64>>> {
        let mut entries: BTreeMap<u64, Vec<BTreeSet<u64>>> = BTreeMap::new();
        for (node, requested) in self.kernel.nodes.iter().zip(requested) {
            let (Some((first, last)), Some(requested)) = (*node, requested) else {
                continue;
            };
            let mut entered = requested.entered.clone();
            for line in (first.0..=last.0).flat_map(|op| self.lines(OpIndex(op))) {
                if !entered.contains(&line) {
                    let before = entered.range(line.saturating_sub(ahead)..line).copied();
                    entries.entry(line).or_default().push(before.collect());
                    entered.insert(line);
                }
            }
        }
        entries
    }
}
