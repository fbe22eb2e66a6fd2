//! Executions of nodes within one iteration of the loop around them: sums over the branches on which they depend.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_graph::{Digraph, Dominators, LoopIndex};

use super::expression::{Count, Factor};
use super::reason::{NoFormula, NoFormulaReason};
use crate::dependence::Dependence;

/// Part of a region: a node, or a loop inside it, which an iteration enters at most once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Part {
    Node(usize),
    Loop(LoopIndex),
}

/// Body of a loop in one iteration, or the whole kernel: nodes, and loops inside it as one part each. Edges to the
/// header of the loop, and out of it, lead to the end.
pub(super) struct Region {
    parts: Vec<Part>,
    numbers: BTreeMap<Part, usize>,
    entry: usize,
    /// Edges between parts; the end is the number after the last.
    graph: Digraph,
    postdominators: Dominators,
}

impl Region {
    /// The region of a loop, or of the whole kernel, which begins at the node `entry`.
    pub(super) fn new(dependence: &Dependence, of: Option<LoopIndex>, entry: usize) -> Region {
        let nodes: Vec<usize> = match of {
            Some(index) => dependence.loops.get(index).body.clone(),
            None => {
                let all = 0..dependence.exit();
                all.filter(|&node| dependence.dominators.is_reached(node))
                    .collect()
            }
        };
        let parts: BTreeSet<Part> = (nodes.iter())
            .map(|&node| part_of(dependence, of, node))
            .collect();
        let parts: Vec<Part> = parts.into_iter().collect();
        let numbers: BTreeMap<Part, usize> = (parts.iter().enumerate())
            .map(|(at, &part)| (part, at))
            .collect();
        let end = parts.len();
        let entry = numbers
            .get(&part_of(dependence, of, entry))
            .copied()
            .unwrap_or(end);
        let mut edges = Vec::new();
        for &node in &nodes {
            let Some(&from) = numbers.get(&part_of(dependence, of, node)) else {
                continue;
            };
            for &to in dependence.graph.successors(node) {
                let to = match nodes.binary_search(&to) {
                    Ok(_) => numbers.get(&part_of(dependence, of, to)).copied(),
                    Err(_) => None,
                };
                match to {
                    // An edge inside a loop is not seen, since the loop is one part.
                    Some(to) if to == from && matches!(parts[from], Part::Loop(_)) => {}
                    Some(to) if to != entry => edges.push((from, to)),
                    _ => edges.push((from, end)),
                }
            }
        }
        edges.sort_unstable();
        edges.dedup();
        let inside = edges.iter().copied().filter(|&(_, to)| to != end);
        let last: Vec<usize> = (edges.iter())
            .filter(|&&(_, to)| to == end)
            .map(|&(from, _)| from)
            .collect();
        Region {
            postdominators: Dominators::compute_post(&Digraph::new(end, inside), last),
            graph: Digraph::new(end + 1, edges),
            parts,
            numbers,
            entry,
        }
    }

    /// All parts.
    pub(super) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Whether each iteration executes a part.
    pub(super) fn is_in_each(&self, part: Part) -> bool {
        let mut at = Some(self.entry);
        while let Some(number) = at {
            if self.parts.get(number) == Some(&part) {
                return true;
            }
            at = self.postdominators.immediate(number);
        }
        false
    }

    /// Executions of each part in one iteration, 0 or 1 (SOUNDNESS 15.8). A part on all paths from the entry to the
    /// end is executed once. Any other part is executed as often as an edge is taken from which all paths to the end
    /// lead through it, while not all paths from the source of the edge do.
    ///
    /// `edge` gives the factor of an edge between parts: 1 if an execution of its source takes it.
    pub(super) fn executions(
        &self,
        mut edge: impl FnMut(Part, Option<Part>) -> Result<Factor, NoFormula>,
    ) -> Vec<Result<Count, NoFormula>> {
        let mut deciding: Vec<Vec<(usize, usize)>> = vec![Vec::new(); self.parts.len()];
        for from in 0..self.parts.len() {
            let successors = self.graph.successors(from);
            if successors.len() < 2 {
                continue;
            }
            let stop = self.postdominators.immediate(from);
            for &to in successors {
                let mut at = Some(to);
                while let Some(number) = at.filter(|_| at != stop) {
                    // The end of the region is no part.
                    let Some(list) = deciding.get_mut(number) else {
                        break;
                    };
                    list.push((from, to));
                    at = self.postdominators.immediate(number);
                }
            }
        }
        let unknown = NoFormula::new(Default::default(), NoFormulaReason::Irreducible);
        let mut counts: Vec<Option<Result<Count, NoFormula>>> = vec![None; self.parts.len()];
        // Edges lead forward in this order, as the region has no cycles.
        for at in self.graph.reverse_postorder(self.entry) {
            let Some(&part) = self.parts.get(at) else {
                continue;
            };
            let count = match self.is_in_each(part) {
                true => Ok(Count::one()),
                false => deciding[at]
                    .iter()
                    .try_fold(Count::zero(), |sum, &(from, to)| {
                        // A branch that comes later would close a cycle.
                        let before = counts[from].clone().unwrap_or(Err(unknown))?;
                        let factor = edge(self.parts[from], self.parts.get(to).copied())?;
                        before.times(&Count::factor(factor))?.plus(&sum)
                    }),
            };
            counts[at] = Some(count);
        }
        (counts.into_iter())
            .map(|count| count.unwrap_or(Err(unknown)))
            .collect()
    }

    /// Number of a part in [`Region::parts`].
    pub(super) fn number(&self, part: Part) -> Option<usize> {
        self.numbers.get(&part).copied()
    }
}

/// The part of a region that contains a node.
pub(super) fn part_of(dependence: &Dependence, of: Option<LoopIndex>, node: usize) -> Part {
    let mut around = dependence.loops.innermost(node);
    let mut inner = None;
    while around != of {
        let Some(index) = around else {
            break;
        };
        inner = Some(index);
        around = dependence.loops.get(index).parent;
    }
    inner.map_or(Part::Node(node), Part::Loop)
}
