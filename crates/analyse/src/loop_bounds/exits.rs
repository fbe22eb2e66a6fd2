//! Exits of loops: branches that each iteration executes, with the conditions under which the loop goes on; and the
//! conditions under which a loop is entered.

use smallvec::SmallVec;
use warpbound_graph::LoopIndex;
use warpbound_ir::{Cell, ExecCondition, FurtherTest, OpIndex};
use warpbound_isa::Reg;
use warpbound_simt::NodeId;
use warpbound_simt::warp::Via;

use crate::symbolic::atoms::WordPolynomial;
use crate::symbolic::conditions::{Condition, conditions};
use crate::symbolic::integers::{Facts, Integers};
use crate::symbolic::span::Reading;
use crate::symbolic::values::Symbolic;

/// Branch of a loop that each completed iteration executes once.
#[derive(Clone, Debug)]
pub(super) struct Exit {
    /// The branch.
    pub(super) at: OpIndex,
    /// Word that decides it.
    pub(super) word: WordPolynomial,
    /// Whether the loop goes on where the word is not 0; else where it is 0.
    pub(super) goes_on: bool,
    /// Whether the loop goes on for certain by that side: all its targets are in the loop.
    pub(super) is_only_way_out: bool,
    /// Whether the word belongs to a lane which is active whenever the loop goes on.
    pub(super) is_of_lane: bool,
}

/// Sides of a branch: successors where its condition holds, and where not.
pub(crate) struct Sides {
    pub(crate) condition: ExecCondition,
    pub(crate) taken: Vec<Option<usize>>,
    pub(crate) not_taken: usize,
}

/// The sides of the branch at the end of a node; `None` if it has no condition, or one successor may belong to both.
pub(crate) fn sides(symbolic: &Symbolic<'_>, node: NodeId) -> Option<Sides> {
    all_sides(symbolic, node).filter(|sides| !sides.condition.has_further_test())
}

/// The same where more than the guard may decide.
fn all_sides(symbolic: &Symbolic<'_>, node: NodeId) -> Option<Sides> {
    let thread = symbolic.thread;
    let resolved = thread.resolved.get(node.index())?.as_ref()?;
    let condition = resolved.condition;
    if condition.is_always() || condition.is_never() {
        return None;
    }
    let next = resolved.next_where_condition_fails()?;
    let steps = thread.steps.get(node.index())?;
    let falls =
        |step: &&warpbound_simt::warp::WarpStep| step.via == Via::Walk && step.to == Some(next);
    let taken = steps.iter().filter(|step| !falls(step));
    let taken: Vec<Option<usize>> = taken.map(|step| step.to.map(NodeId::index)).collect();
    // A pop may resume at the next operation: then a step does not show which side was taken.
    if taken.contains(&Some(next.index())) {
        return None;
    }
    Some(Sides {
        condition,
        taken,
        not_taken: next.index(),
    })
}

/// Finds the exits of a loop with one header.
pub(super) fn find(symbolic: &mut Symbolic<'_>, index: LoopIndex, header: usize) -> Vec<Exit> {
    let dependence = symbolic.dependence;
    let body = dependence.loops.get(index);
    let closes = |node: usize| dependence.graph.successors(node).contains(&header);
    let latches: Vec<usize> = body.body.iter().copied().filter(|&n| closes(n)).collect();
    let mut exits = Vec::new();
    for &node in &body.body {
        // A branch in an inner loop may be executed several times in one iteration.
        let once = dependence.loops.innermost(node) == Some(index);
        // Each completed iteration ends at a latch, so a branch that dominates all latches is executed in each.
        let in_each = || {
            let mut latches = latches.iter();
            latches.all(|&latch| dependence.dominators.dominates(node, latch))
        };
        if !once || !in_each() {
            continue;
        }
        let node = NodeId(node as u32);
        let Some(sides) = all_sides(symbolic, node) else {
            continue;
        };
        let stays = |to: usize| body.contains(to);
        let taken_stays = sides.taken.iter().flatten().any(|&to| stays(to));
        // The loop goes on by one side only.
        let goes_on = match (taken_stays, stays(sides.not_taken)) {
            (true, false) => true,
            (false, true) => false,
            _ => continue,
        };
        let at = symbolic.thread.space.block(node).last;
        if sides.condition.has_further_test() {
            // Where the loop goes on by the taken side, each part of the condition holds.
            let parts = predicates_of(sides.condition);
            for (cell, negated) in parts.into_iter().filter(|_| goes_on) {
                exits.push(Exit {
                    at,
                    word: symbolic.before(node, at, cell),
                    goes_on: !negated,
                    is_only_way_out: false,
                    is_of_lane: false,
                });
            }
            continue;
        }
        let Some(guard) = sides.condition.guard else {
            continue;
        };
        let mut taken = sides.taken.iter();
        let is_only_way_out = !goes_on || taken.all(|to| to.is_some_and(stays));
        if guard.mask_words().is_some() {
            let exit = MaskExit {
                index,
                header,
                latches: &latches,
                node,
                at,
                mask: guard,
                goes_on_with_lanes: goes_on != sides.condition.negated,
            };
            exits.extend(exit.comparisons(symbolic));
            continue;
        }
        exits.push(Exit {
            at,
            word: symbolic.before(node, at, guard),
            goes_on: goes_on != sides.condition.negated,
            is_only_way_out,
            is_of_lane: false,
        });
    }
    exits
}

/// Predicates that must have a value for a condition to hold, each with whether it must not hold.
fn predicates_of(condition: ExecCondition) -> SmallVec<[(Cell, bool); 2]> {
    let guard = condition.guard.filter(|guard| guard.is_predicate());
    let guard = guard.map(|guard| (guard, condition.negated));
    let further = match condition.further {
        Some(FurtherTest::Predicate { cell, negated }) => Some((cell, negated)),
        Some(FurtherTest::Group) | None => None,
    };
    guard.into_iter().chain(further).collect()
}

/// Branch on a mask that leaves a loop.
struct MaskExit<'l> {
    index: LoopIndex,
    header: usize,
    latches: &'l [usize],
    node: NodeId,
    at: OpIndex,
    mask: Cell,
    /// Whether the loop goes on where some lane is in the mask; else where none is.
    goes_on_with_lanes: bool,
}

impl MaskExit<'_> {
    /// Comparisons that decide, in each iteration, in a lane that takes part in all of them, whether the loop goes on
    /// (SOUNDNESS 12.4).
    fn comparisons(&self, symbolic: &mut Symbolic<'_>) -> Vec<Exit> {
        let Some(masks) = symbolic.masks else {
            return Vec::new();
        };
        let header = NodeId(self.header as u32);
        // The lanes that the branch tells of are active there.
        let tells_of_active = self.mask == Cell::of(Reg::EXEC) || !self.goes_on_with_lanes;
        let keeps_lanes = tells_of_active && masks.keeps_lanes(header, self.node, self.latches);
        let dependence = symbolic.dependence;
        let mut exits = Vec::new();
        for passed in masks.passed(self.node, self.mask, self.goes_on_with_lanes) {
            // Executed once in each iteration, before the branch.
            let place = passed.node.index();
            let once = dependence.loops.innermost(place) == Some(self.index);
            if !once || !dependence.dominators.dominates(place, self.node.index()) {
                continue;
            }
            let Some(predicate) = masks.predicate(passed.at) else {
                continue;
            };
            let Some(word) = symbolic.expression(passed.node, passed.at, predicate) else {
                continue;
            };
            if keeps_lanes || symbolic.is_uniform(&word) {
                exits.push(Exit {
                    at: self.at,
                    word,
                    goes_on: passed.holds,
                    is_only_way_out: false,
                    is_of_lane: keeps_lanes,
                });
            }
        }
        exits
    }
}

/// Maximum number of branches above a place whose conditions are used.
const MAX_GUARDS: usize = 16;

/// Conditions of branches through which every path to a node leads, since it was last entered from outside the loops
/// whose header it is.
pub(super) fn facts_at(symbolic: &mut Symbolic<'_>, integers: &mut Integers, node: usize) -> Facts {
    let mut facts = Facts::default();
    let mut below = node;
    let mut found = Vec::new();
    while let Some(above) = symbolic.dependence.dominators.immediate(below) {
        if let Some(holding) = conditions_between(symbolic, above, below) {
            found.push(holding);
        }
        below = above;
        // Fewer facts are weaker, and as sound.
        if found.len() == MAX_GUARDS {
            break;
        }
    }
    // Outer conditions first: they may show that words of inner ones do not wrap.
    for all in found.into_iter().rev() {
        for holding in all {
            add_fact(symbolic, integers, &holding, &mut facts);
        }
        integers.limit_atoms(&symbolic.atoms, &mut facts);
    }
    facts
}

/// Conditions that hold, when a loop is entered, in the lanes that are active then: the conditions of [`facts_at`],
/// and of comparisons that these lanes have passed (SOUNDNESS 12.4). They say nothing where no lane is active.
pub(super) fn facts_of_lanes(
    symbolic: &mut Symbolic<'_>,
    integers: &mut Integers,
    header: usize,
) -> Facts {
    let mut facts = facts_at(symbolic, integers, header);
    let Some(masks) = symbolic.masks else {
        return facts;
    };
    let dependence = symbolic.dependence;
    for passed in masks.passed_on_entry(NodeId(header as u32)) {
        let place = passed.node.index();
        // Every path to the header leads through the comparison, which is the last one of its kind (as for branches).
        if place == header || !dependence.dominators.dominates(place, header) {
            continue;
        }
        let predicate = masks.predicate(passed.at);
        let word = predicate.and_then(|p| symbolic.expression(passed.node, passed.at, p));
        let Some(word) = word else {
            continue;
        };
        for holding in conditions(&symbolic.atoms, &word, passed.holds).all {
            add_fact(symbolic, integers, &holding, &mut facts);
        }
    }
    integers.limit_atoms(&symbolic.atoms, &mut facts);
    facts
}

/// Conditions that hold when a loop is entered.
pub(super) fn facts_at_loop(solver: &mut super::LoopSolver<'_>, header: usize) -> Facts {
    let (symbolic, integers) = solver.parts();
    facts_at(symbolic, integers, header)
}

/// Conditions of the branch at the end of `above` that hold in `below`, which it immediately dominates.
fn conditions_between(
    symbolic: &mut Symbolic<'_>,
    above: usize,
    below: usize,
) -> Option<Vec<Condition>> {
    let (word, holds) = dominating_condition(symbolic, above, below)?;
    Some(conditions(&symbolic.atoms, &word, holds).all)
}

/// Word of the branch at the end of `above`, and whether it is other than 0 in `below`, which it immediately dominates.
pub(super) fn dominating_condition(
    symbolic: &mut Symbolic<'_>,
    above: usize,
    below: usize,
) -> Option<(WordPolynomial, bool)> {
    let dependence = symbolic.dependence;
    // All edges into `below` but back edges come from `above`.
    let entering = dependence.reversed.successors(below).iter();
    let mut entering = entering.filter(|&&from| !dependence.dominators.dominates(below, from));
    match entering.all(|&from| from == above) {
        true => edge_condition(symbolic, above, below),
        false => None,
    }
}

/// Word of the branch at the end of `from`, and whether it is other than 0 where the thread goes on to `to`; `None` if
/// no word decides it.
pub(super) fn edge_condition(
    symbolic: &mut Symbolic<'_>,
    from: usize,
    to: usize,
) -> Option<(WordPolynomial, bool)> {
    let node = NodeId(from as u32);
    let sides = sides(symbolic, node)?;
    let taken = sides.taken.contains(&Some(to));
    // Both sides lead there, or neither does.
    if taken == (sides.not_taken == to) {
        return None;
    }
    let at = symbolic.thread.space.block(node).last;
    // A mask says something of its lanes, not of a word.
    let guard = sides
        .condition
        .guard
        .filter(|guard| guard.mask_words().is_none())?;
    let word = symbolic.before(node, at, guard);
    Some((word, taken != sides.condition.negated))
}

/// Adds the facts about integers that a condition gives.
pub(super) fn add_fact(
    symbolic: &Symbolic<'_>,
    integers: &mut Integers,
    condition: &Condition,
    facts: &mut Facts,
) {
    let atoms = &symbolic.atoms;
    match condition {
        Condition::Less {
            a,
            b,
            or_equal,
            reading,
        } => {
            let a = integers.read(atoms, a, *reading, facts);
            let b = integers.read(atoms, b, *reading, facts);
            let strict = i128::from(!or_equal);
            let difference = b.plus(&a, -1);
            let fact = difference.and_then(|d| d.plus(&Integers::constant(strict), -1));
            facts.not_negative.extend(fact);
        }
        Condition::Never => facts.never_hold = true,
        Condition::Zero(word) => {
            let number = integers.read(atoms, word, Reading::Signed, facts);
            // Neither the number nor its negative is negative, so it is 0.
            facts.not_negative.extend(number.scaled(-1));
            facts.not_negative.push(number);
        }
        Condition::NotZero(word) => {
            // Of a word and its negative, the one that is read as a number of its own.
            let negative = word.scaled(u32::MAX);
            let word = match &negative {
                Some(negative) if atoms.has_recorded_span(negative) => negative,
                _ => word,
            };
            for reading in [Reading::Signed, Reading::Unsigned] {
                let number = integers.read(atoms, word, reading, facts);
                facts.not_zero.push(number);
            }
        }
    }
}
