//! Lines and translations that every path to a node has requested.

use std::collections::BTreeSet;

use warpbound_ir::OpIndex;

use super::Builder;
use super::accesses::space_number;
use super::ranges::preloaded_constants;

/// Numbers of the lines that every path has requested, of the first and of the second cache.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Requested {
    pub(super) code: BTreeSet<u64>,
    /// Lines of code of instructions that every path has executed. A launch loads further lines, and enters none.
    pub(super) entered: BTreeSet<u64>,
    pub(super) constants: [BTreeSet<u64>; 2],
    /// Whether some address of global, and of local memory has been translated.
    pub(super) translated: [bool; 2],
}

impl Requested {
    fn intersect(&mut self, other: &Requested) -> bool {
        let mut changed = false;
        let [first, second] = &mut self.constants;
        let [other_first, other_second] = &other.constants;
        for (own, other) in [
            (&mut self.code, &other.code),
            (&mut self.entered, &other.entered),
            (first, other_first),
            (second, other_second),
        ] {
            let before = own.len();
            // A line is known only if all paths to the node request it.
            own.retain(|line| other.contains(line));
            changed |= own.len() != before;
        }
        for (own, other) in self.translated.iter_mut().zip(other.translated) {
            changed |= *own && !other;
            *own &= other;
        }
        changed
    }
}

impl Builder<'_> {
    /// Returns for each space the only access that may be the first one, if it is executed at most once. Then the
    /// walk is part of its time. If several accesses may be first, the walks are counted instead.
    pub(super) fn first_accesses(&self, requested: &[Option<Requested>]) -> [Option<OpIndex>; 2] {
        let mut first: [Vec<(OpIndex, bool)>; 2] = Default::default();
        for (node, requested) in requested.iter().enumerate() {
            let Some((known, (begin, end))) = requested.as_ref().zip(self.kernel.nodes[node])
            else {
                continue;
            };
            let mut translated = known.translated;
            for op in (begin.0..=end.0).map(OpIndex) {
                let Some(limits) = self.kernel.accesses.get(&op) else {
                    continue;
                };
                let spaces = limits.spaces.iter().filter(|limit| !limit.may_walk);
                for space in spaces.filter_map(|limit| space_number(limit.space)) {
                    if !translated[space] {
                        first[space].push((op, self.once[node]));
                    }
                }
                if let Some(space) = self.translates(limits) {
                    translated[space] = true;
                }
            }
        }
        let walks = self.kernel.translations.map(|pages| pages.walks);
        let mut found = [None; 2];
        for (space, first) in first.iter().enumerate() {
            if let [(op, true)] = **first
                && walks[space] == 1
            {
                found[space] = Some(op);
            }
        }
        found
    }

    /// Returns the lines and translations that every path to a node has requested, for each node that is reached.
    pub(super) fn requested(&self, ahead: u64) -> Vec<Option<Requested>> {
        let kernel = self.kernel;
        let mut before: Vec<Option<Requested>> = vec![None; kernel.nodes.len()];
        let mut start = Requested::default();
        if let Some(Some((first, _))) = kernel.nodes.get(kernel.entry) {
            // A launch loads the first line and those prefetched with it.
            let [line, _] = self.lines(*first);
            start.code.extend(line..=line + ahead);
        }
        for (level, known) in start.constants.iter_mut().enumerate() {
            let line = self.constants.line[level];
            let [certain, _] = preloaded_constants(kernel, level);
            // Banks begin with a line, and the last line is loaded as a whole.
            known.extend(
                certain
                    .into_iter()
                    .flat_map(|(begin, end)| begin / line..end.div_ceil(line)),
            );
        }
        let mut successors = vec![Vec::new(); kernel.nodes.len()];
        for step in kernel.steps {
            if let (Some(list), Some(to)) = (successors.get_mut(step.from), step.to) {
                list.push(to);
            }
        }
        if let Some(entry) = before.get_mut(kernel.entry) {
            *entry = Some(start);
        }
        let mut work = vec![kernel.entry];
        while let Some(node) = work.pop() {
            let Some(mut after) = before.get(node).cloned().flatten() else {
                continue;
            };
            self.request(node, &mut after);
            for &to in &successors[node] {
                let changed = match &mut before[to] {
                    Some(known) => known.intersect(&after),
                    none => {
                        *none = Some(after.clone());
                        true
                    }
                };
                if changed {
                    work.push(to);
                }
            }
        }
        before
    }

    /// Adds the lines that a node requests.
    fn request(&self, node: usize, requested: &mut Requested) {
        let Some(Some((first, last))) = self.kernel.nodes.get(node).copied() else {
            return;
        };
        for op in first.0..=last.0 {
            let op = OpIndex(op);
            let limits = self.kernel.accesses.get(&op);
            if let Some(space) = limits.and_then(|limits| self.translates(limits)) {
                requested.translated[space] = true;
            }
            requested.code.extend(self.lines(op));
            requested.entered.extend(self.lines(op));
            for address in self.constant_addresses(op) {
                for (level, known) in requested.constants.iter_mut().enumerate() {
                    known.insert(address / self.constants.line[level]);
                }
            }
        }
    }
}
