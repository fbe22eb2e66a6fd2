//! Bounds of the loops of a kernel, outer loops first.

use std::collections::HashSet;

use warpbound_base::CodeAddr;
use warpbound_graph::LoopIndex;

use super::arrivals::Arrival;
use super::counting::{Count, CountedLoop, step_text};
use super::exits::{self, Exit};
use super::footing::MAX_BOUND;
use super::solver::LoopSolver;
use super::verdict::{CountFormula, CountPattern, DerivedBound, Evidence, LoopVerdict, WhyUnknown};
use crate::launch_ranges::LaunchRanges;
use crate::symbolic::atoms::{Atom, AtomId, WordPolynomial};
use crate::symbolic::conditions::{Condition, conditions};
use crate::symbolic::integers::{Facts, NumberId};
use warpbound_simt::NodeId;

/// Maximum number of earlier iterations whose conditions are tried.
const MAX_DELAY: u32 = 2;

/// Bound by one condition of one exit.
struct Candidate {
    most: u128,
    least: u128,
    pattern: CountPattern,
    exit: CodeAddr,
    count: Option<Count>,
    /// Whether the loop goes on wherever this condition holds at the exit.
    is_only_way_out: bool,
}

impl LoopSolver<'_> {
    /// Bounds all loops with one header; returns the verdicts by header.
    pub(crate) fn solve_all(&mut self) -> Vec<(NodeId, LoopVerdict)> {
        let dependence = self.symbolic.dependence;
        let first_to_last = dependence
            .graph
            .reverse_postorder(dependence.dominators.root());
        let mut order: Vec<(u32, LoopIndex, usize)> = Vec::new();
        for header in first_to_last {
            if let Some(index) = dependence.header_of(header) {
                order.push((dependence.loops.get(index).depth, index, header));
            }
        }
        // Outer loops first: their counters appear in the limits of inner ones. Then those that come first: what they
        // leave is what later ones begin with.
        order.sort_by_key(|&(depth, ..)| depth);
        let solved = order
            .into_iter()
            .map(|(_, index, header)| (NodeId(header as u32), self.solve(index)));
        solved.collect()
    }

    /// Bounds a loop; loops around it must have been bounded before.
    fn solve(&mut self, index: LoopIndex) -> LoopVerdict {
        let dependence = self.symbolic.dependence;
        let &[header] = dependence.loops.get(index).headers.as_slice() else {
            return unknown("the loop has several headers");
        };
        let found = exits::find(&mut self.symbolic, index, header);
        if found.is_empty() {
            return unknown("no branch that each iteration executes leaves the loop");
        }
        // The words from which exits are computed exist before their limits are set.
        let joins = self.joins_of(&found);
        self.settle();
        let facts = exits::facts_at(&mut self.symbolic, &mut self.integers, header);
        if (self.integers).exclude_each_other(&self.symbolic.atoms, &facts) {
            let never = self.never_entered(&found);
            return LoopVerdict::Bounded(self.bounded_by(never, index));
        }
        let of_lanes = exits::facts_of_lanes(&mut self.symbolic, &mut self.integers, header);
        let node = NodeId(header as u32);
        let is_active = self
            .symbolic
            .masks
            .is_some_and(|masks| masks.is_active_on_entry(node));
        let only_narrows = self.only_narrows(index);
        let of_exit = |exit: &Exit| CountedLoop {
            index,
            header,
            facts: match exit.is_of_lane || is_active {
                true => &of_lanes,
                false => &facts,
            },
            // A wave may execute the header without lanes: facts of lanes then say nothing about words, and nothing
            // about a lane that becomes active after the header.
            facts_always_hold: !exit.is_of_lane || (is_active && only_narrows),
            arrival: None,
        };
        let (mut best, why) = self.best_of(&found, of_exit);
        let is_exact = best.as_ref().is_some_and(|best| best.least == best.most);
        if !is_exact && let Some(most) = self.best_by_arrivals(&found, &joins, index, header) {
            let is_less = best
                .as_ref()
                .is_none_or(|best| most.most < best.most || best.pattern == CountPattern::Width);
            if is_less {
                best = Some(most);
            }
        }
        match best {
            Some(best) => LoopVerdict::Bounded(self.bounded_by(best, index)),
            None => {
                LoopVerdict::Unknown(why.unwrap_or_else(|| {
                    WhyUnknown::Pattern("no pattern that is counted".to_owned())
                }))
            }
        }
    }

    /// Whether lanes that are active in the body of a loop were active at its header in the same iteration.
    fn only_narrows(&self, index: LoopIndex) -> bool {
        let Some(masks) = self.symbolic.masks else {
            return true;
        };
        let body = &self.symbolic.dependence.loops.get(index).body;
        body.iter()
            .all(|&node| masks.only_narrows_in(NodeId(node as u32)))
    }

    /// Turns a candidate into the bound of a loop, and records it for the loops that follow.
    fn bounded_by(&mut self, best: Candidate, index: LoopIndex) -> DerivedBound {
        if best.pattern == CountPattern::Width {
            self.of_width.insert(index);
        }
        let bounded = self.bounded(best, index);
        self.bounded.insert(index, bounded.per_entry);
        bounded
    }

    /// The bound of a loop whose header no thread reaches.
    fn never_entered(&self, exits: &[Exit]) -> Candidate {
        let exit = exits
            .first()
            .and_then(|exit| self.symbolic.code.get(exit.at));
        Candidate {
            most: 1,
            least: 1,
            pattern: CountPattern::Never,
            exit: exit.map(|op| op.addr).unwrap_or_default(),
            count: None,
            is_only_way_out: false,
        }
    }

    /// The smallest bound by one of the exits, and the best reason among the exits that give none.
    fn best_of<'f>(
        &mut self,
        exits: &[Exit],
        of_exit: impl Fn(&Exit) -> CountedLoop<'f>,
    ) -> (Option<Candidate>, Option<WhyUnknown>) {
        let mut best: Option<Candidate> = None;
        let mut why: Option<WhyUnknown> = None;
        for exit in exits {
            for candidate in self.candidates(exit, of_exit(exit)) {
                match candidate {
                    Ok(candidate) => {
                        if best.as_ref().is_none_or(|best| candidate.most < best.most) {
                            best = Some(candidate);
                        }
                    }
                    Err(reason) => {
                        let is_better = why.as_ref().is_none_or(|w| rank(&reason) < rank(w));
                        if is_better {
                            why = Some(reason);
                        }
                    }
                }
            }
        }
        (best, why)
    }

    /// The greatest of the bounds on each way to the loop, from the first place above it that gives one.
    fn best_by_arrivals(
        &mut self,
        exits: &[Exit],
        joins: &[usize],
        index: LoopIndex,
        header: usize,
    ) -> Option<Candidate> {
        // A wave takes other ways than its lanes.
        if self.symbolic.masks.is_some() {
            return None;
        }
        let mut least: Option<Candidate> = None;
        for ways in self.ways_from_above(index, header, joins) {
            let arrivals = self.arrivals(&ways);
            let Some(greatest) = self.greatest_on(&arrivals, exits, index, header) else {
                continue;
            };
            if least
                .as_ref()
                .is_none_or(|least| greatest.most < least.most)
            {
                least = Some(greatest);
            }
            // Ways from further above say more, but rarely make such a bound smaller.
            if least
                .as_ref()
                .is_some_and(|least| least.pattern != CountPattern::Width)
            {
                break;
            }
        }
        let greatest = least?;
        // A formula or a certain count would hold on one way only.
        Some(Candidate {
            least: 1,
            count: greatest.count.map(|count| Count {
                distance: None,
                ..count
            }),
            is_only_way_out: false,
            ..greatest
        })
    }

    /// The greatest of the bounds on some ways to a loop; `None` if one of them has none.
    fn greatest_on(
        &mut self,
        arrivals: &[Arrival],
        exits: &[Exit],
        index: LoopIndex,
        header: usize,
    ) -> Option<Candidate> {
        let mut greatest: Option<Candidate> = None;
        for arrival in arrivals {
            let of_exit = |_: &Exit| CountedLoop {
                index,
                header,
                facts: &arrival.facts,
                // They hold on this way.
                facts_always_hold: false,
                arrival: Some(arrival),
            };
            // The greatest count is a bound only if each way has one.
            let best = self.best_of(exits, of_exit).0?;
            if greatest
                .as_ref()
                .is_none_or(|so_far| so_far.most < best.most)
            {
                greatest = Some(best);
            }
        }
        // Where all ways exclude themselves, the header is never executed.
        Some(greatest.unwrap_or_else(|| self.never_entered(exits)))
    }

    /// Bounds by the conditions of an exit, or the reasons why there is none.
    fn candidates(
        &mut self,
        exit: &Exit,
        of: CountedLoop<'_>,
    ) -> Vec<Result<Candidate, WhyUnknown>> {
        let mut word = self.condition_on_way(&exit.word, of.arrival);
        let addr = self.symbolic.code.get(exit.at);
        let addr = addr.map(|op| op.addr).unwrap_or_default();
        let mut found = Vec::new();
        for delay in 0..=MAX_DELAY {
            let holding = conditions(&self.symbolic.atoms, &word, exit.goes_on);
            // Another condition of the same branch may end the loop earlier.
            let is_only = holding.is_equivalent && holding.all.len() == 1;
            for condition in holding.all {
                let mut shifted = Some(condition);
                for more in 0..=MAX_DELAY {
                    let Some(condition) = shifted.take() else {
                        break;
                    };
                    match self.candidate(&condition, delay + more, addr, of) {
                        Ok(mut candidate) => {
                            candidate.is_only_way_out = is_only && exit.is_only_way_out;
                            found.push(Ok(candidate));
                            break;
                        }
                        Err(reason) => found.push(Err(reason)),
                    }
                    shifted = self.one_iteration_before(&condition, of);
                }
            }
            if found.iter().any(Result::is_ok) {
                break;
            }
            // A predicate that the iteration before computed.
            let truth = word.as_unknown();
            let at_header = truth.and_then(|id| self.header_word(id, of.header));
            match at_header.as_ref().map(|word| word.closing.as_slice()) {
                Some([closing]) => word = self.condition_on_way(closing, of.arrival),
                _ => break,
            }
        }
        found
    }

    /// Bound by a condition that holds in all iterations but the first `delay`, if the loop goes on.
    fn candidate(
        &mut self,
        condition: &Condition,
        delay: u32,
        exit: CodeAddr,
        of: CountedLoop<'_>,
    ) -> Result<Candidate, WhyUnknown> {
        let counted = self.count(condition, of);
        let most = counted.as_ref().map(|count| count.most);
        let is_counted = counted.is_some();
        if let Some(count) = counted {
            // The header is executed once more than iterations are completed, and the condition may fail to hold in
            // the first `delay` of these.
            let most = count.most + u128::from(delay) + 1;
            // A delayed condition may fail in the first iterations already.
            let least = if delay == 0 { count.least + 1 } else { 1 };
            if let Some(pattern) = self.pattern_of(least, most, condition, of) {
                let added = count.added + delay + 1;
                return Ok(Candidate {
                    most,
                    least,
                    pattern,
                    exit,
                    count: Some(Count { added, ..count }),
                    is_only_way_out: true,
                });
            }
        }
        // What is counted, but too large, does not become smaller by following it.
        let unrolled = match is_counted {
            true => None,
            false => self.unroll(condition, of),
        };
        if let Some(unrolled) = unrolled {
            // The spans are kept for other uses of the words, where these facts must hold, too (SOUNDNESS 12.4).
            if delay == 0 && of.facts_always_hold {
                for (id, span) in &unrolled.words {
                    self.symbolic.atoms.limit_leaf(*id, *span);
                    self.settled.insert(*id);
                }
            }
            return Ok(Candidate {
                most: unrolled.most + u128::from(delay) + 1,
                least: 1,
                pattern: CountPattern::Unrolled,
                exit,
                count: None,
                is_only_way_out: false,
            });
        }
        if let Some(halvings) = self.halvings(condition, of) {
            return Ok(Candidate {
                most: halvings + u128::from(delay) + 1,
                least: 1,
                pattern: CountPattern::Halving,
                exit,
                count: None,
                is_only_way_out: false,
            });
        }
        Err(self.reason(condition, exit, most))
    }

    /// The reason why a condition gives no bound: the load or the word of the launch that decides it, or the count, if
    /// there is one that is too large.
    fn reason(&mut self, condition: &Condition, exit: CodeAddr, most: Option<u128>) -> WhyUnknown {
        let words: Vec<WordPolynomial> = condition.words().cloned().collect();
        for word in &words {
            if let Some(load) = self.symbolic.decided_by(word) {
                return WhyUnknown::Memory { load, exit };
            }
        }
        for word in &words {
            if let Some(read) = self.symbolic.read_of_special(word) {
                let why = format!("a special register that {read} reads decides the count");
                return WhyUnknown::Pattern(why);
            }
        }
        for word in &words {
            if let Some(name) = self.unlimited_word(word) {
                return WhyUnknown::Parameter { name, exit };
            }
        }
        WhyUnknown::Pattern(match most {
            Some(most) => format!(
                "the branch at {exit} allows {most} iterations, and counts above {MAX_BOUND} are taken for unknown: state a \
                 smaller range or a fact"
            ),
            None => "no pattern that is counted".to_owned(),
        })
    }

    /// Name of a word of the launch about which nothing is known, in a word or in one from which it starts.
    fn unlimited_word(&mut self, word: &WordPolynomial) -> Option<String> {
        let mut open: Vec<AtomId> = word.unknowns().collect();
        let mut seen = HashSet::new();
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            match self.symbolic.atoms.get(id).clone() {
                Atom::Constant(bank, address) => {
                    let address = address.as_constant();
                    let words = &self.symbolic.launch.words;
                    let is_stated = |address| {
                        let word = words.get(&(bank, address));
                        word.is_some_and(|word| word.range.is_some())
                    };
                    // What is stated is not asked for again.
                    if let Some(address) = address.filter(|&address| !is_stated(address)) {
                        return Some(self.symbolic.constant_name(bank, address));
                    }
                }
                Atom::Value(value, cell) => {
                    use crate::gsa::Definition;
                    if let Definition::Mu(node, _) | Definition::Gamma(node, _) =
                        self.symbolic.gsa.definition(value)
                    {
                        let words = self.symbolic.joined(node, cell).concat();
                        open.extend(words.iter().flat_map(|w| w.unknowns().collect::<Vec<_>>()));
                    }
                }
                _ => {
                    let operands = self.symbolic.atoms.operands(id).iter();
                    open.extend(operands.flat_map(|o| o.unknowns().collect::<Vec<_>>()));
                }
            }
        }
        None
    }

    /// The bound with its evidence.
    fn bounded(&mut self, best: Candidate, index: LoopIndex) -> DerivedBound {
        let text =
            |word: Option<&Count>, of: &dyn Fn(&Count) -> String| word.map(of).unwrap_or_default();
        let count = best.count.as_ref();
        DerivedBound {
            per_entry: u64::try_from(best.most).unwrap_or(u64::MAX),
            total: self.smaller_total(&best, index),
            certain: self.certain(&best, index),
            evidence: Evidence {
                exit: best.exit,
                pattern: best.pattern,
                start: text(count, &|count| self.symbolic.text(&count.start)),
                step: text(count, &|count| step_text(self, &count.step)),
                limit: text(count, &|count| count.limit.clone()),
            },
            count: count.and_then(|count| self.formula(count)),
        }
    }

    /// The total of a loop, if it is smaller than the bound per entry in each iteration of the loop around.
    fn smaller_total(&mut self, best: &Candidate, index: LoopIndex) -> Option<u64> {
        if best.pattern == CountPattern::Width {
            return None;
        }
        let total = self.total(best.count.as_ref()?, index)?;
        let outer = self.symbolic.dependence.loops.get(index).parent?;
        let all = best.most.checked_mul(self.executions(outer)?.into())?;
        (u128::from(total) < all).then_some(total)
    }

    /// Header executions that are certain, for a loop that all threads enter and that has one exit.
    fn certain(&self, best: &Candidate, index: LoopIndex) -> Option<u64> {
        let dependence = self.symbolic.dependence;
        let body = dependence.loops.get(index);
        let header = body.headers.first().copied()?;
        let leaves = |node: &&usize| {
            let mut successors = dependence.graph.successors(**node).iter();
            successors.any(|&to| !body.contains(to))
        };
        let exits = body.body.iter().filter(leaves).count();
        // Only branches of the loop itself decide whether its header is executed.
        let entered = dependence.controllers.get(header)?;
        let always = entered.iter().all(|&node| body.contains(node));
        let one_condition = best.count.is_some() && best.is_only_way_out;
        (exits == 1 && always && one_condition)
            .then(|| u64::try_from(best.least).ok())
            .flatten()
    }

    /// The count in terms of words of the launch.
    fn formula(&self, count: &Count) -> Option<CountFormula> {
        let (distance, divisor) = count.distance.as_ref()?;
        // A distance below 0 counts as 0, which the least value of the formula, 1, shows only where 1 is added to it.
        let (least, _) = self.limits(distance, &Facts::default())?;
        if count.added > 1 && least < 0 {
            return None;
        }
        let mut numerator = Vec::new();
        let mut valid = Vec::new();
        let launch = self.symbolic.launch;
        for (unknowns, coefficient) in distance.terms() {
            let mut words = Vec::new();
            let mut largest = i64::try_from(*coefficient).ok()?;
            let is_natural = |id: &NumberId| {
                let (word, reading) = self.integers.get(*id);
                self.symbolic.atoms.span(word).as_numbers(*reading).0 >= 0
            };
            for &id in unknowns {
                let (word, reading) = self.integers.get(id);
                match self.symbolic.atoms.get(word.as_unknown()?) {
                    // Formulas are in terms of words.
                    Atom::Constant(LaunchRanges::PART_BANK, _) => return None,
                    Atom::Constant(bank, address) => {
                        let key = (*bank, address.as_constant()?);
                        launch.words.get(&key)?;
                        let (least, most) = self.symbolic.atoms.span(word).as_numbers(*reading);
                        if !valid.contains(&(key, least, most)) {
                            valid.push((key, least, most));
                        }
                        words.push(key);
                    }
                    // Indices of threads and blocks are 0 in the thread that runs longest.
                    Atom::Special(_) if *coefficient < 0 && unknowns.iter().all(is_natural) => {
                        largest = 0;
                    }
                    _ => return None,
                }
            }
            if largest != 0 {
                numerator.push((largest, words));
            }
        }
        Some(CountFormula {
            numerator,
            divisor: u64::try_from(*divisor).ok()?,
            added: count.added.into(),
            valid,
        })
    }
}

/// Order of the reasons in reports: the first is the one that helps most.
fn rank(why: &WhyUnknown) -> u32 {
    match why {
        WhyUnknown::Parameter { .. } => 0,
        WhyUnknown::Memory { .. } => 1,
        WhyUnknown::Pattern(_) => 2,
    }
}

fn unknown(why: &str) -> LoopVerdict {
    LoopVerdict::Unknown(WhyUnknown::Pattern(why.to_owned()))
}
