//! Largest times over the configurations of waves and splits, from delays and longest paths, or from longest paths
//! alone.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

use warpbound_ipet::{MeasuredEdge, NoLongestPath};

use super::combine::{Configuration, ConfigurationRuns, SplitRuns};
use super::paths::PathFinder;
use super::traces::SplitOrigin;

/// Longest paths of the configurations of runs.
pub(super) struct LongestPaths<'a> {
    finder: &'a PathFinder<'a>,
    runs: &'a SplitRuns,
    splits: u32,
    edges: Vec<MeasuredEdge>,
    /// Longest paths that were already computed; each costs an integer program.
    known: RefCell<HashMap<Configuration, Result<u64, NoLongestPath>>>,
}

/// Configuration with its runs.
type Member<'a> = (&'a Configuration, &'a ConfigurationRuns);

impl<'a> LongestPaths<'a> {
    pub(super) fn new(finder: &'a PathFinder<'a>, runs: &'a SplitRuns, splits: u32) -> Self {
        LongestPaths {
            finder,
            runs,
            splits,
            edges: finder.measured(&runs.traces, |_| false),
            known: RefCell::new(HashMap::new()),
        }
    }

    /// Origins of the waves and splits, ascending.
    pub(super) fn origins(&self) -> BTreeSet<SplitOrigin> {
        let all = self.runs.configurations.keys();
        all.map(|configuration| configuration.origin).collect()
    }

    /// Returns the configurations of an origin that reach the end of the program; if there are none, the
    /// configurations that merge. After a merge the split that goes on supplies the rest of the path.
    pub(super) fn of_origin(&self, origin: SplitOrigin) -> Vec<Member<'a>> {
        let all = self.runs.configurations.iter();
        let all: Vec<_> = all.filter(|(of, _)| of.origin == origin).collect();
        let reaches_end = all.iter().any(|(of, _)| of.reaches_end);
        let mut chosen = all;
        chosen.retain(|(of, _)| of.reaches_end == reaches_end);
        chosen
    }

    /// Returns the configurations of splits that had a place.
    pub(super) fn of_place(&self, place: u32) -> Vec<Member<'a>> {
        let all = self.runs.configurations.iter();
        all.filter(|(_, of)| of.places.contains(&place)).collect()
    }

    /// Returns the largest sum of a delay and a longest path, or the largest path if `with_delay` is false; 0 without
    /// configurations.
    ///
    /// Among configurations of the same origin and end, one that is undivided at more branches has no shorter path.
    /// So the path of a configuration that is undivided at all branches of a set, plus the largest delay in the set,
    /// limits the whole set. A set whose limit is no larger than the largest sum so far is skipped, and otherwise
    /// halved.
    ///
    /// # Errors
    ///
    /// A configuration has no longest path.
    pub(super) fn largest(
        &self,
        members: Vec<Member<'a>>,
        with_delay: bool,
    ) -> Result<u64, NoLongestPath> {
        let mut most = 0;
        let mut pending: Vec<Vec<Member<'a>>> = Vec::new();
        let key = |of: &Configuration| (of.origin, of.reaches_end);
        // Configurations are in ascending order, so equal keys are adjacent.
        for group in members.chunk_by(|a, b| key(a.0) == key(b.0)) {
            pending.push(group.to_vec());
        }
        while let Some(mut group) = pending.pop() {
            let Some((first, _)) = group.first() else {
                continue;
            };
            let undivided = group
                .iter()
                .flat_map(|(of, _)| of.undivided.iter().copied());
            let all = Configuration {
                undivided: undivided.collect(),
                ..(*first).clone()
            };
            let delay = group.iter().map(|(_, of)| of.delay).max();
            let delay = delay.filter(|_| with_delay).unwrap_or(0);
            let limit = self.longest(&all)?.saturating_add(delay);
            if limit <= most {
                continue;
            }
            if group.len() == 1 {
                most = limit;
                continue;
            }
            let half = group.split_off(group.len() / 2);
            pending.extend([half, group]);
        }
        Ok(most)
    }

    /// Returns the longest path of a configuration, with the time to the end of its group if it reaches the end of
    /// the program.
    fn longest(&self, of: &Configuration) -> Result<u64, NoLongestPath> {
        if let Some(known) = self.known.borrow().get(of) {
            return known.clone();
        }
        let merged = self.runs.merged.get(&of.origin).into_iter().flatten();
        let merged: Vec<usize> = merged.copied().collect();
        let (ends, tail) = match of.reaches_end {
            true => (&self.finder.ends, self.runs.traces.tail),
            false => (&merged, 0),
        };
        let exclusive = self
            .finder
            .exclusive_arms(|branch| self.is_site(branch) && !of.undivided.contains(&branch));
        let path = self
            .finder
            .longest(&self.edges, of.origin, ends, &exclusive);
        let time = path.map(|path| path.time.0.0.saturating_add(tail));
        self.known.borrow_mut().insert(of.clone(), time.clone());
        time
    }

    /// Whether waves whose lanes disagree split at a branch if a slot is free.
    fn is_site(&self, branch: usize) -> bool {
        let graph = self.finder.graph;
        let Some(branch) = graph.branches.get(branch).filter(|_| self.splits > 0) else {
            return false;
        };
        // MODE may have no mark at some executions of a branch. If some wave has split there, the mark is taken to be
        // always set.
        let runs = self.runs;
        let is_marked = !runs.marked_by_mode || runs.traces.splits.contains_key(&branch.point);
        let point = graph.points.get(branch.point);
        is_marked && point.is_some_and(|point| runs.sites.contains(&point.at))
    }

    /// Returns the numbers of the edges whose times are missing, see [`PathFinder::missing`]. Splits that always
    /// merge are skipped, because their paths are parts of the paths of waves.
    pub(super) fn missing(&self) -> BTreeSet<usize> {
        let mut all = BTreeSet::new();
        for origin in self.origins() {
            let mut of = self.of_origin(origin);
            of.retain(|(of, _)| of.reaches_end);
            if of.is_empty() {
                continue;
            }
            // One undivided wave is enough to put both arms on a path.
            let undivided = |branch: usize| of.iter().any(|(of, _)| of.undivided.contains(&branch));
            let exclusive = self
                .finder
                .exclusive_arms(|branch| self.is_site(branch) && !undivided(branch));
            all.extend(self.finder.missing(&self.runs.traces, origin, &exclusive));
        }
        all
    }
}
