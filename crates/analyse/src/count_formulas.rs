//! Closed forms of counts: how often one thread executes each block, as a formula in the indices of thread and block,
//! in sizes and in parameters (SOUNDNESS 15.8).
//!
//! The branches on which a node depends decide how often a thread executes it. Their conditions become words of the
//! launch and of the thread. A value that changes in a loop by the same step, or by the same shift, becomes a word in
//! the number of completed iterations. The only exit of a loop says how long it goes on, which gives that number. For
//! example, a thread executes the body of `for (i = 0; i < n; i++)` `max(0, n)` times.

mod evaluate;
mod expression;
mod reason;
mod regions;
mod rounds;
mod sums;
mod text;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use warpbound_graph::LoopIndex;
use warpbound_ir::{Code, OpIndex};
use warpbound_simt::NodeId;

use crate::dependence::Dependence;
use crate::launch_ranges::LaunchRanges;
use crate::loop_bounds::exits::{Sides, sides};
use crate::symbolic::conditions::{Condition, conditions};
use crate::symbolic::values::Symbolic;
use crate::thread_cfg::ThreadCfg;

use expression::{Count, Factor, Test};
use regions::{Part, Region, part_of};
use rounds::LoopRounds;
use words::Words;

pub use evaluate::{FormulaLaunch, FormulaTotals};
pub use reason::{NoFormula, NoFormulaReason};
pub use text::LoopText;

/// Formula of the executions of a block by one thread.
pub struct BlockFormula {
    /// Parts of the sum: one for each context that the block is executed in. If all live lanes come together, a warp
    /// executes the block as often as its lane with the most executions.
    parts: Vec<BlockPart>,
}

/// Executions of a block in one context.
struct BlockPart {
    count: Count,
    /// Whether a warp executes the block there with all its live lanes.
    is_whole: bool,
}

/// Formulas of the counts of the blocks of a kernel.
pub struct CountFormulas<'a> {
    words: Words<'a>,
    rounds: BTreeMap<LoopIndex, LoopRounds>,
    blocks: BTreeMap<OpIndex, Result<BlockFormula, NoFormula>>,
}

impl<'a> CountFormulas<'a> {
    /// Finds the formulas of all blocks of a kernel, for the launches of a range. `is_whole` says whether warps
    /// execute a node with all their live lanes. With `is_shared`, calling contexts are shared, and there are no
    /// formulas.
    pub fn find(
        code: &'a Code,
        thread: &'a ThreadCfg,
        dependence: &'a Dependence,
        launch: &'a LaunchRanges,
        is_shared: bool,
        is_whole: &dyn Fn(NodeId) -> bool,
    ) -> CountFormulas<'a> {
        let symbolic = Symbolic::new(code, thread, dependence, launch, None);
        let mut formulas = CountFormulas {
            words: Words::new(symbolic),
            rounds: BTreeMap::new(),
            blocks: BTreeMap::new(),
        };
        if is_shared {
            let recursion = NoFormula::new(code.entry, NoFormulaReason::Recursion);
            for node in thread.space.ids().filter(|&node| thread.is_reached(node)) {
                let first = thread.space.block(node).first;
                formulas.blocks.insert(first, Err(recursion));
            }
            return formulas;
        }
        let mut finder = Finder {
            reasons: BTreeMap::new(),
            entered: BTreeMap::new(),
            nodes: BTreeMap::new(),
            formulas: &mut formulas,
        };
        finder.find_rounds();
        finder.find_nodes();
        let nodes = finder.nodes;
        for (node, count) in nodes {
            let node = NodeId(node as u32);
            let part = count.map(|count| BlockPart {
                count,
                is_whole: is_whole(node),
            });
            let first = thread.space.block(node).first;
            let empty = Ok(BlockFormula { parts: Vec::new() });
            let block = formulas.blocks.entry(first).or_insert(empty);
            match (block.as_mut(), part) {
                (Ok(block), Ok(part)) => block.parts.push(part),
                // One context without a formula leaves the block without one.
                (Ok(_), Err(why)) => *block = Err(why),
                (Err(_), _) => {}
            }
        }
        formulas
    }

    /// Blocks that a thread may execute, by their first operation: the formula, or the reason why there is none.
    pub fn blocks(&self) -> &BTreeMap<OpIndex, Result<BlockFormula, NoFormula>> {
        &self.blocks
    }

    /// Loops that a word mentions, and those that their iterations depend on.
    fn all_loops(&self, count: &Count) -> BTreeSet<LoopIndex> {
        let mut found = BTreeSet::new();
        self.add_loops(count, &mut found);
        let mut open: Vec<LoopIndex> = found.iter().copied().collect();
        // The iterations of these loops may depend on further loops.
        while let Some(index) = open.pop() {
            let words = self.rounds.get(&index).map(LoopRounds::words);
            for word in words.into_iter().flatten() {
                let more = self.words.loops_in(word).into_iter();
                open.extend(more.filter(|&of| found.insert(of)));
            }
        }
        found
    }

    fn add_loops(&self, count: &Count, found: &mut BTreeSet<LoopIndex>) {
        for factor in count.products.iter().flatten() {
            match factor {
                Factor::Holds(test) => {
                    let words = test.conditions.iter().flat_map(Condition::words);
                    found.extend(words.flat_map(|word| self.words.loops_in(word)));
                }
                Factor::GoesOn(index) | Factor::Rounds(index) | Factor::Headers(index) => {
                    found.insert(*index);
                }
                Factor::Sum { over, of, .. } => {
                    found.insert(*over);
                    self.add_loops(of, found);
                }
            }
        }
    }
}

/// Search for the formulas of a kernel.
struct Finder<'f, 'a> {
    formulas: &'f mut CountFormulas<'a>,
    /// Reason why the iterations of a loop are not counted.
    reasons: BTreeMap<LoopIndex, NoFormula>,
    /// Whether, in one iteration of the loop around, a loop is entered.
    entered: BTreeMap<LoopIndex, Result<Count, NoFormula>>,
    /// Executions of each node by one thread.
    nodes: BTreeMap<usize, Result<Count, NoFormula>>,
}

impl Finder<'_, '_> {
    /// Counts the iterations of all loops.
    fn find_rounds(&mut self) {
        let dependence = self.formulas.words.symbolic.dependence;
        let loops: Vec<LoopIndex> = dependence.loops.loops().map(|(index, _)| index).collect();
        for index in loops {
            match self.rounds(index) {
                Ok(rounds) => {
                    self.formulas.rounds.insert(index, rounds);
                }
                Err(why) => {
                    self.reasons.insert(index, why);
                }
            }
        }
    }

    /// The iterations of a loop by its only exit, which is executed in each iteration.
    fn rounds(&mut self, index: LoopIndex) -> Result<LoopRounds, NoFormula> {
        let words = &mut self.formulas.words;
        let (thread, dependence) = (words.symbolic.thread, words.symbolic.dependence);
        let body = dependence.loops.get(index);
        let first = |node: usize| thread.space.block(NodeId(node as u32)).first;
        let &[header] = body.headers.as_slice() else {
            let at = body.body.first().map_or(OpIndex(0), |&node| first(node));
            return Err(NoFormula::new(at, NoFormulaReason::Irreducible));
        };
        let several = NoFormula::new(first(header), NoFormulaReason::Exits);
        let leaves = |node: usize| {
            let mut successors = dependence.graph.successors(node).iter();
            successors.any(|&to| !body.contains(to))
        };
        let exits: Vec<usize> = body.body.iter().copied().filter(|&n| leaves(n)).collect();
        // With several exits, no single test says when the loop ends.
        let &[exit] = exits.as_slice() else {
            return Err(several);
        };
        let region = Region::new(dependence, Some(index), header);
        if dependence.loops.innermost(exit) != Some(index) || !region.is_in_each(Part::Node(exit)) {
            return Err(several);
        }
        let node = NodeId(exit as u32);
        let at = thread.space.block(node).last;
        let transfer = NoFormula::new(at, NoFormulaReason::Transfer);
        let sides = sides(&words.symbolic, node).ok_or(transfer)?;
        let &[taken] = sides.taken.as_slice() else {
            return Err(transfer);
        };
        let stays = |to: Option<usize>| to.is_some_and(|to| body.contains(to));
        let goes_on = match (stays(taken), stays(Some(sides.not_taken))) {
            (goes_on, other) if goes_on != other => goes_on,
            _ => return Err(transfer),
        };
        let test = self.test(&sides, node, at, goes_on)?;
        Ok(LoopRounds::new(&mut self.formulas.words, index, at, test))
    }

    /// The test that a side of a branch is taken.
    fn test(
        &mut self,
        sides: &Sides,
        node: NodeId,
        at: OpIndex,
        taken: bool,
    ) -> Result<Test, NoFormula> {
        let transfer = NoFormula::new(at, NoFormulaReason::Transfer);
        let guard = sides.condition.guard.ok_or(transfer)?;
        let words = &mut self.formulas.words;
        let word = words.symbolic.before(node, at, guard);
        let word = words.resolve(&word)?;
        let holds = taken != sides.condition.negated;
        let atoms = &words.symbolic.atoms;
        // Conditions that the test only implies are too weak for a formula, which needs an equivalence.
        let direct = conditions(atoms, &word, holds);
        if direct.is_equivalent {
            return Ok(Test {
                conditions: direct.all,
                all_hold: true,
            });
        }
        let other = conditions(atoms, &word, !holds);
        Ok(match other.is_equivalent {
            true => Test {
                conditions: other.all,
                all_hold: false,
            },
            false => Test {
                // The word itself is tested if neither the condition nor its opposite can be taken apart.
                conditions: vec![Condition::NotZero(word)],
                all_hold: holds,
            },
        })
    }

    /// Counts the executions of all nodes, outer loops first.
    fn find_nodes(&mut self) {
        let symbolic = &self.formulas.words.symbolic;
        let (dependence, entry) = (symbolic.dependence, symbolic.thread.entry.index());
        // Totals multiply by the entries of a loop, which the region around it has counted before.
        let mut order: Vec<(u32, LoopIndex)> = (dependence.loops.loops())
            .map(|(index, body)| (body.depth, index))
            .collect();
        order.sort_unstable();
        self.find_region(None, entry);
        for (_, index) in order {
            match dependence.loops.get(index).headers.as_slice() {
                &[header] => self.find_region(Some(index), header),
                _ => {
                    let why = self.reasons.get(&index).copied();
                    let why =
                        why.unwrap_or(NoFormula::new(OpIndex(0), NoFormulaReason::Irreducible));
                    for &node in &dependence.loops.get(index).body {
                        self.nodes.insert(node, Err(why));
                    }
                }
            }
        }
    }

    /// Counts the executions of the nodes of a region, and whether it enters the loops inside it.
    fn find_region(&mut self, of: Option<LoopIndex>, entry: usize) {
        let dependence = self.formulas.words.symbolic.dependence;
        let region = Region::new(dependence, of, entry);
        let counts = region.executions(|from, to| self.edge(of, from, to));
        for &part in region.parts() {
            let at = region.number(part);
            let Some(count) = at.and_then(|at| counts.get(at)).cloned() else {
                continue;
            };
            match part {
                Part::Loop(index) => {
                    self.entered.insert(index, count);
                }
                Part::Node(node) => {
                    let total = count.and_then(|count| self.total(of, count));
                    self.nodes.insert(node, total);
                }
            }
        }
    }

    /// The factor of an edge between two parts of a region; `None` is the end of the region.
    fn edge(
        &mut self,
        of: Option<LoopIndex>,
        from: Part,
        to: Option<Part>,
    ) -> Result<Factor, NoFormula> {
        let symbolic = &self.formulas.words.symbolic;
        let (thread, dependence) = (symbolic.thread, symbolic.dependence);
        let node = match from {
            Part::Node(node) => node,
            // By which of its exits a loop is left is unknown.
            Part::Loop(index) => {
                let header = dependence.loops.get(index).headers.first();
                let header = header.map_or(0, |&header| header);
                let at = thread.space.block(NodeId(header as u32)).first;
                return Err(NoFormula::new(at, NoFormulaReason::Exits));
            }
        };
        let at = thread.space.block(NodeId(node as u32)).last;
        if let Some(index) = of
            && let Some(rounds) = self.formulas.rounds.get(&index)
            && rounds.exit == at
        {
            // The other side leads out of the loop.
            return Ok(Factor::GoesOn(index));
        }
        let transfer = NoFormula::new(at, NoFormulaReason::Transfer);
        let id = NodeId(node as u32);
        let sides = sides(symbolic, id).ok_or(transfer)?;
        let header = of.and_then(|index| dependence.loops.get(index).headers.first().copied());
        let target = |to: Option<usize>| {
            let inside = to.filter(|&to| {
                let stays = of.is_none_or(|index| dependence.loops.get(index).contains(to));
                stays && Some(to) != header && to != dependence.exit()
            });
            inside.map(|to| part_of(dependence, of, to))
        };
        let by_taken: Vec<bool> = (sides.taken.iter())
            .map(|&taken| target(taken) == to)
            .collect();
        let by_other = target(Some(sides.not_taken)) == to;
        // The taken side may have several targets, of a pop for example; all of them must lead to the part, or none.
        let all = by_taken.iter().all(|&is| is);
        let any = by_taken.iter().any(|&is| is);
        let taken = match (all, any, by_other) {
            (true, true, false) => true,
            (_, false, true) => false,
            _ => return Err(transfer),
        };
        Ok(Factor::Holds(self.test(&sides, id, at, taken)?))
    }

    /// Executions in all iterations of a loop and of the loops around it, from the executions in one iteration.
    fn total(&mut self, of: Option<LoopIndex>, count: Count) -> Result<Count, NoFormula> {
        let dependence = self.formulas.words.symbolic.dependence;
        let (mut count, mut of) = (count, of);
        while let Some(index) = of {
            if let Some(why) = self.reasons.get(&index) {
                return Err(*why);
            }
            let entered = self.entered.get(&index).cloned();
            let unknown = NoFormula::new(OpIndex(0), NoFormulaReason::Irreducible);
            let entered = entered.unwrap_or(Err(unknown))?;
            count = entered.times(&self.summed(index, &count)?)?;
            of = dependence.loops.get(index).parent;
        }
        // Words may mention loops that have been left, in their last iteration.
        for index in self.formulas.all_loops(&count) {
            if let Some(why) = self.reasons.get(&index) {
                return Err(*why);
            }
        }
        Ok(count)
    }

    /// The sum over the iterations of a loop.
    fn summed(&self, index: LoopIndex, count: &Count) -> Result<Count, NoFormula> {
        let mut sum = Count::zero();
        for product in &count.products {
            let goes_on = product.contains(&Factor::GoesOn(index));
            let others = product
                .iter()
                .filter(|&factor| *factor != Factor::GoesOn(index));
            let rest = Count {
                products: vec![others.cloned().collect()],
            };
            let words = &self.formulas.words;
            // A count that is the same in all iterations is multiplied by their number; only others need a sum.
            let mut mentioned = self.formulas.all_loops(&rest).into_iter();
            let varies = mentioned.any(|of| words.is_inside(of, index) && self.varies(of, index));
            let part = match (varies, goes_on) {
                (true, _) => Count::factor(Factor::Sum {
                    over: index,
                    with_last: !goes_on,
                    of: rest,
                }),
                (false, true) => rest.times(&Count::factor(Factor::Rounds(index)))?,
                (false, false) => rest.times(&Count::factor(Factor::Headers(index)))?,
            };
            sum = sum.plus(&part)?;
        }
        Ok(sum)
    }

    /// Whether the number of iterations of a loop `of`, or which of them is being executed, may differ between the
    /// iterations of a loop around it.
    fn varies(&self, of: LoopIndex, index: LoopIndex) -> bool {
        if of == index {
            return true;
        }
        let all = self.formulas.all_loops(&Count::factor(Factor::Rounds(of)));
        all.contains(&index)
    }
}
