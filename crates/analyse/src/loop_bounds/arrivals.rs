//! Arrivals at a loop: each way from a place that every path passes to the header, with the words and conditions of
//! that way (SOUNDNESS 5.12).
//!
//! Compilers unroll a loop into a main loop, a step and a remainder. The counter of the remainder is what the loop
//! before left, or what it was if that loop was skipped, and each way alone gives a number that both together do not.
//! For example, a main loop that runs while `i + 3 < n` leaves at most 3 iterations.

use std::collections::{HashMap, HashSet};

use warpbound_graph::LoopIndex;
use warpbound_ir::Cell;
use warpbound_simt::NodeId;

use super::exits::{self, Exit, add_fact};
use super::progression::Step;
use super::solver::LoopSolver;
use crate::gsa::Definition;
use crate::symbolic::atoms::{Atom, AtomId, WordPolynomial};
use crate::symbolic::conditions::{Condition, conditions};
use crate::symbolic::integers::Facts;
use crate::symbolic::values::Symbolic;

/// Maximum number of ways that are followed, and of nodes visited in search of them.
const MAX_WAYS: usize = 24;
const MAX_VISITED: u32 = 600;
/// Maximum number of joins above the place below which the words of a loop are decided.
const MAX_JOINS_ABOVE: u32 = 3;
/// Maximum number of atoms that are searched for joins.
const MAX_FOLLOWED: usize = 1000;

/// Part of a way, from its beginning to the header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    /// An edge outside the loops on the way.
    Edge { from: usize, to: usize },
    /// A loop on the way, from its header to the edge by which it is left.
    Through {
        index: LoopIndex,
        header: usize,
        from: usize,
        to: usize,
    },
}

/// All ways from a place that every path passes to a loop.
pub(super) struct Ways {
    top: usize,
    all: Vec<Vec<Part>>,
}

/// One way on which a loop is reached.
pub(super) struct Arrival {
    /// Conditions that hold when the header is reached on this way.
    pub(super) facts: Facts,
    sources: Sources,
}

/// For each join on a way, the node from which it is reached. A way passes each of them once.
type Sources = HashMap<usize, usize>;

impl LoopSolver<'_> {
    /// Ways on which a loop is reached from a place above it: first from the place below which its words are decided, then
    /// from places above further joins, because what a branch above a join says of a word holds on some of the ways only.
    /// As long as there are few ways.
    pub(super) fn ways_from_above(
        &mut self,
        index: LoopIndex,
        header: usize,
        joins: &[usize],
    ) -> Vec<Ways> {
        let mut found = Vec::new();
        let Some((mut top, mut ways)) = self.ways_to(index, header, header) else {
            return found;
        };
        // From a place above further joins at which a word of the loop is decided.
        while let Some(&join) = self.nearest_above(joins, top) {
            let Some(above) = self.ways_to(index, header, join) else {
                break;
            };
            (top, ways) = above;
        }
        for _ in 0..=MAX_JOINS_ABOVE {
            // On a single way without loops, no more conditions hold than above the header.
            let is_edge = |part: &Part| matches!(part, Part::Edge { .. });
            if ways.len() > 1 || !ways.iter().flatten().all(is_edge) {
                found.push(Ways { top, all: ways });
            }
            let above = self.join_above(top);
            let Some(above) = above.and_then(|join| self.ways_to(index, header, join)) else {
                break;
            };
            (top, ways) = above;
        }
        found
    }

    /// The arrivals by some ways, without those whose conditions exclude each other.
    pub(super) fn arrivals(&mut self, ways: &Ways) -> Vec<Arrival> {
        let all = ways.all.iter();
        all.filter_map(|way| self.arrival(ways.top, way)).collect()
    }

    /// Ways to a loop from a place above a node that every path passes, and the place.
    fn ways_to(
        &mut self,
        index: LoopIndex,
        header: usize,
        below: usize,
    ) -> Option<(usize, Vec<Vec<Part>>)> {
        let top = self.top_of_ways(below, header)?;
        Some((top, self.ways(index, header, top)?))
    }

    /// The lowest join that is a node or dominates it.
    fn join_above(&self, node: usize) -> Option<usize> {
        let dependence = self.symbolic.dependence;
        let is_join = |&node: &usize| {
            let before = dependence.reversed.successors(node).iter();
            let reached = before.filter(|&&before| dependence.dominators.is_reached(before));
            reached.count() > 1
        };
        let mut above =
            std::iter::successors(Some(node), |&node| dependence.dominators.immediate(node));
        above.find(is_join)
    }

    fn ways(&mut self, index: LoopIndex, header: usize, top: usize) -> Option<Vec<Vec<Part>>> {
        let mut search = Search {
            solver: self,
            top,
            visited: 0,
            ways: Vec::new(),
        };
        search.enter(index, header, &mut Vec::new())?;
        Some(search.ways)
    }

    /// Joins that decide the words of exits, or the words from which these come.
    pub(super) fn joins_of(&mut self, exits: &[Exit]) -> Vec<usize> {
        let mut open: Vec<WordPolynomial> = exits.iter().map(|exit| exit.word.clone()).collect();
        let mut seen: HashSet<AtomId> = HashSet::new();
        let mut joins = Vec::new();
        while let Some(word) = open.pop() {
            for id in self.symbolic.atoms.all_in(&word) {
                // A join that is not found only makes the ways begin lower.
                if seen.len() == MAX_FOLLOWED || !seen.insert(id) {
                    continue;
                }
                let Atom::Value(value, cell) = *self.symbolic.atoms.get(id) else {
                    continue;
                };
                match self.symbolic.gsa.definition(value) {
                    Definition::Gamma(join, _) => {
                        joins.push(join.index());
                        open.extend_from_slice(self.symbolic.atoms.gate(id).unwrap_or_default());
                    }
                    Definition::Mu(header, _) => {
                        open.extend(self.symbolic.joined(header, cell).into_iter().flatten());
                    }
                    _ => {}
                }
            }
        }
        joins.sort_unstable();
        joins.dedup();
        joins
    }

    /// The lowest of some joins that is a node or dominates it.
    fn nearest_above<'j>(&self, joins: &'j [usize], node: usize) -> Option<&'j usize> {
        let dominators = &self.symbolic.dependence.dominators;
        let above = joins
            .iter()
            .filter(|&&join| dominators.dominates(join, node));
        above.max_by_key(|&&join| dominators.span(join).0)
    }

    /// Node above another that every path passes, outside all loops that do not contain the header of a loop.
    fn top_of_ways(&self, below: usize, header: usize) -> Option<usize> {
        let dependence = self.symbolic.dependence;
        let mut top = dependence.dominators.immediate(below)?;
        // A way that began inside a loop could begin in any of its iterations.
        while let Some(left) = self.outermost_left(top, header) {
            let &[above] = dependence.loops.get(left).headers.as_slice() else {
                return None;
            };
            top = dependence.dominators.immediate(above)?;
        }
        Some(top)
    }

    /// The outermost loop that contains one node and not another.
    fn outermost_left(&self, node: usize, other: usize) -> Option<LoopIndex> {
        let loops = &self.symbolic.dependence.loops;
        let mut around = loops.innermost(node);
        let mut outermost = None;
        while let Some(index) = around.filter(|&index| !loops.get(index).contains(other)) {
            outermost = Some(index);
            around = loops.get(index).parent;
        }
        outermost
    }

    /// Conditions and sources of a way; `None` if its conditions exclude each other.
    fn arrival(&mut self, top: usize, way: &[Part]) -> Option<Arrival> {
        let facts = {
            let (symbolic, integers) = self.parts();
            exits::facts_at(symbolic, integers, top)
        };
        let mut arrival = Arrival {
            facts: Facts {
                reads_by_limits: true,
                ..facts
            },
            sources: Sources::new(),
        };
        for part in way {
            match *part {
                Part::Edge { from, to } => {
                    self.pass_edge(from, to, &mut arrival)?;
                    arrival.sources.insert(to, from);
                }
                Part::Through {
                    index,
                    header,
                    from,
                    to,
                } => {
                    self.pass_header(index, header, &mut arrival);
                    self.pass_iteration(header, from, &mut arrival)?;
                    self.pass_edge(from, to, &mut arrival)?;
                    arrival.sources.insert(to, from);
                }
            }
        }
        let (symbolic, integers) = self.parts();
        let excluded = integers.exclude_each_other(&symbolic.atoms, &arrival.facts);
        (!excluded).then_some(arrival)
    }

    /// Adds the condition of an edge; `None` if it excludes the way.
    fn pass_edge(&mut self, from: usize, to: usize, arrival: &mut Arrival) -> Option<()> {
        let Some((word, holds)) = exits::edge_condition(&mut self.symbolic, from, to) else {
            return Some(());
        };
        self.pass_condition(&word, holds, arrival)
    }

    fn pass_condition(
        &mut self,
        word: &WordPolynomial,
        holds: bool,
        arrival: &mut Arrival,
    ) -> Option<()> {
        let (symbolic, integers) = self.parts();
        let word = on_way(symbolic, word, &arrival.sources);
        for holding in conditions(&symbolic.atoms, &word, holds).all {
            if holding == Condition::Never {
                return None;
            }
            add_fact(symbolic, integers, &holding, &mut arrival.facts);
        }
        // Known limits show that words of later conditions do not wrap.
        integers.limit_atoms(&symbolic.atoms, &mut arrival.facts);
        Some(())
    }

    /// Adds the conditions of branches in the last iteration of a loop, up to the node from which it is left.
    fn pass_iteration(&mut self, header: usize, last: usize, arrival: &mut Arrival) -> Option<()> {
        let dominators = &self.symbolic.dependence.dominators;
        let mut chain = vec![last];
        while let Some(&below) = chain.last().filter(|&&below| below != header) {
            chain.push(dominators.immediate(below)?);
        }
        // From the header down: conditions above may show that words of those below do not wrap.
        for pair in chain.windows(2).rev() {
            if let &[below, above] = pair
                && let Some((word, holds)) =
                    exits::dominating_condition(&mut self.symbolic, above, below)
            {
                self.pass_condition(&word, holds, arrival)?;
            }
        }
        Some(())
    }

    /// Adds conditions that hold whenever the header of a loop on the way is executed: they hold on entry, and again
    /// at the end of each iteration after which the loop goes on.
    fn pass_header(&mut self, index: LoopIndex, header: usize, arrival: &mut Arrival) {
        for exit in exits::find(&mut self.symbolic, index, header) {
            let holding = conditions(&self.symbolic.atoms, &exit.word, exit.goes_on).all;
            for condition in holding.iter().filter(|_| !exit.is_of_lane) {
                let Some((next, first)) = self.at_next_header(condition, index, header, arrival)
                else {
                    continue;
                };
                // By induction: it holds on entry, and each iteration that is completed hands it on to the next
                // header.
                if self.follows(&first, &arrival.facts) {
                    let (symbolic, integers) = self.parts();
                    add_fact(symbolic, integers, &next, &mut arrival.facts);
                    integers.limit_atoms(&symbolic.atoms, &mut arrival.facts);
                }
            }
        }
    }

    /// A condition at the end of an iteration in terms of the words at the header, where the next iteration begins;
    /// and the same condition of the words with which the loop is entered on the way. `None` if a word of it is
    /// neither invariant nor a word at the header that changes by the same step in all iterations.
    fn at_next_header(
        &mut self,
        condition: &Condition,
        index: LoopIndex,
        header: usize,
        arrival: &Arrival,
    ) -> Option<(Condition, Condition)> {
        let mut ids: Vec<AtomId> = condition
            .words()
            .flat_map(|word| word.unknowns().collect::<Vec<_>>())
            .collect();
        ids.sort_unstable();
        ids.dedup();
        let (mut back, mut entering) = (Vec::new(), Vec::new());
        for id in ids {
            let itself = WordPolynomial::unknown(id);
            if self.symbolic.is_invariant(&itself, index) {
                continue;
            }
            let word = self.header_word(id, header)?;
            let Step::Exact(step) = self.step_of(id, &word, index, &Facts::default())? else {
                return None;
            };
            back.push((id, itself.plus(&step, u32::MAX)?));
            let (_, cell) = self.header_value(id, header)?;
            entering.push((id, self.entering_word(header, cell, arrival)?));
            self.align(id, &word, &step);
        }
        // Invariant words: their conditions hold on the way in any case.
        if back.is_empty() {
            return None;
        }
        let next = condition.map(|word| word.substituted_all(&back))?;
        let first = next.map(|word| word.substituted_all(&entering))?;
        Some((next, first))
    }

    /// Whether a comparison follows from facts.
    fn follows(&mut self, condition: &Condition, facts: &Facts) -> bool {
        let Condition::Less {
            a,
            b,
            or_equal,
            reading,
        } = condition
        else {
            return false;
        };
        let a = self.read(a, *reading, facts);
        let b = self.read(b, *reading, facts);
        let least = b.plus(&a, -1).and_then(|d| self.limits(&d, facts));
        least.is_some_and(|(least, _)| least >= i128::from(!or_equal))
    }

    /// Word of a cell with which the loop of a header is entered on a way.
    fn entering_word(
        &mut self,
        header: usize,
        cell: Cell,
        arrival: &Arrival,
    ) -> Option<WordPolynomial> {
        let source = *arrival.sources.get(&header)?;
        let node = NodeId(header as u32);
        let value = self
            .symbolic
            .gsa
            .arriving_value(node, cell, NodeId(source as u32));
        let word = self.symbolic.value(value, cell);
        Some(on_way(&mut self.symbolic, &word, &arrival.sources))
    }

    /// Words with which a word at the header of a loop begins: on one way, or on all.
    pub(super) fn entering_words(
        &mut self,
        id: AtomId,
        header: usize,
        all: &[WordPolynomial],
        arrival: Option<&Arrival>,
    ) -> Vec<WordPolynomial> {
        let on_one = arrival.and_then(|arrival| {
            let (_, cell) = self.header_value(id, header)?;
            self.entering_word(header, cell, arrival)
        });
        match on_one {
            Some(word) => vec![word],
            None => all.to_vec(),
        }
    }

    /// A condition with the words of a way.
    pub(super) fn condition_on_way(
        &mut self,
        word: &WordPolynomial,
        arrival: Option<&Arrival>,
    ) -> WordPolynomial {
        match arrival {
            Some(arrival) => on_way(&mut self.symbolic, word, &arrival.sources),
            None => word.clone(),
        }
    }
}

/// Search for the ways to a header, backwards.
struct Search<'s, 'a> {
    solver: &'s LoopSolver<'a>,
    top: usize,
    visited: u32,
    ways: Vec<Vec<Part>>,
}

impl Search<'_, '_> {
    /// Follows the edges that enter a loop. `None` if there are too many ways, or one that is not followed.
    fn enter(&mut self, index: LoopIndex, header: usize, after: &mut Vec<Part>) -> Option<()> {
        let dependence = self.solver.symbolic.dependence;
        let body = dependence.loops.get(index);
        for &from in dependence.reversed.successors(header) {
            if dependence.dominators.is_reached(from) && !body.contains(from) {
                self.follow(from, header, after)?;
            }
        }
        Some(())
    }

    /// Follows an edge.
    fn follow(&mut self, from: usize, to: usize, after: &mut Vec<Part>) -> Option<()> {
        self.visited += 1;
        if self.visited > MAX_VISITED {
            return None;
        }
        let dependence = self.solver.symbolic.dependence;
        if let Some(index) = self.solver.outermost_left(from, to) {
            let &[header] = dependence.loops.get(index).headers.as_slice() else {
                return None;
            };
            after.push(Part::Through {
                index,
                header,
                from,
                to,
            });
            self.enter(index, header, after)?;
            after.pop();
            return Some(());
        }
        after.push(Part::Edge { from, to });
        if from == self.top {
            if self.ways.len() == MAX_WAYS {
                return None;
            }
            self.ways.push(after.iter().rev().copied().collect());
        } else {
            // Backwards, all ways meet the top before they pass the header of a loop around it, or the entry.
            let around = dependence.loops.innermost(from);
            let is_header =
                around.is_some_and(|index| dependence.loops.get(index).headers.contains(&from));
            if is_header || from == dependence.dominators.root() {
                return None;
            }
            let mut before = dependence.reversed.successors(from).iter();
            before.try_for_each(|&before| match dependence.dominators.is_reached(before) {
                true => self.follow(before, from, after),
                false => Some(()),
            })?;
        }
        after.pop();
        Some(())
    }
}

/// Replaces the gates at the joins of a way by the words that arrive on it.
fn on_way(symbolic: &mut Symbolic<'_>, word: &WordPolynomial, sources: &Sources) -> WordPolynomial {
    symbolic.replaced(word, &|symbolic, value, cell| {
        let Definition::Gamma(join, _) = symbolic.gsa.definition(value) else {
            return None;
        };
        let source = NodeId(*sources.get(&join.index())? as u32);
        let arriving = symbolic.gsa.arriving_value(join, cell, source);
        Some(symbolic.value(arriving, cell))
    })
}
