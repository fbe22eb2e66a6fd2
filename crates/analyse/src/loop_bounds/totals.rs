//! Header executions of an inner loop in all iterations of the loop around it (triangular nests).

use warpbound_graph::LoopIndex;

use super::counting::Count;
use super::exits;
use super::progression::Step;
use super::solver::LoopSolver;
use crate::symbolic::integers::{Integer, NumberId};

/// Maximum number of iterations of an outer loop that are added up.
const MAX_ADDED: u64 = 1 << 16;

impl LoopSolver<'_> {
    /// Upper bound on the header executions of a thread in its whole run, for a loop directly inside an outermost
    /// loop.
    ///
    /// The outer loop is entered once, and the inner one at most once in each of its iterations: a second time would
    /// need a cycle in the outer loop without its header, which would be a loop around the inner one. In iteration
    /// `k` the distance that the inner loop counts is linear in `k`. For example, it is `n - k` for the inner loop of
    /// `for (i = 0; i < n; i++) for (j = i; j < n; j++)`.
    pub(super) fn total(&mut self, count: &Count, index: LoopIndex) -> Option<u64> {
        let (distance, divisor) = count.distance.as_ref()?;
        let dependence = self.symbolic.dependence;
        let outer = dependence.loops.get(index).parent?;
        let body = dependence.loops.get(outer);
        // A loop around the outer one would enter it several times.
        if body.parent.is_some() {
            return None;
        }
        let &[header] = body.headers.as_slice() else {
            return None;
        };
        let executions = self.executions(outer).filter(|&n| n <= MAX_ADDED)?;
        let (number, slope, first) = self.outer_counter(distance, outer, header)?;
        // The distance in the first iteration: the counter has its first content.
        let in_first = distance.substituted(number, &first)?;
        let facts = exits::facts_at_loop(self, header);
        let (_, most) = self.limits(&in_first, &facts)?;
        let mut total = 0u128;
        for iteration in 0..executions {
            let distance = most.checked_add(slope.checked_mul(iteration.into())?)?;
            let distance = u128::try_from(distance.max(0)).ok()?;
            total += distance.div_ceil(*divisor) + u128::from(count.added);
        }
        u64::try_from(total).ok()
    }

    /// The only word at the header of the outer loop in a distance, with the change of the distance in each iteration,
    /// and its first content.
    fn outer_counter(
        &mut self,
        distance: &Integer,
        outer: LoopIndex,
        header: usize,
    ) -> Option<(NumberId, i128, Integer)> {
        let facts = exits::facts_at_loop(self, header);
        let mut found = None;
        let numbers: Vec<NumberId> = distance.unknowns().collect();
        for number in numbers {
            let (word, reading) = self.number(number).clone();
            if self.symbolic.is_invariant(&word, outer) {
                continue;
            }
            let id = word.as_unknown()?;
            let at_header = self.header_word(id, header)?;
            let [first] = at_header.entering.as_slice() else {
                return None;
            };
            let Step::Exact(step) = self.step_of(id, &at_header, outer, &facts)? else {
                return None;
            };
            let step = i128::from(step.as_constant()? as i32);
            // Read as a number, the word is its first content and all steps only if it never wraps; for that its limits
            // are too close.
            let span = self.symbolic.atoms.span(&word);
            let (least, most) = span.as_numbers(reading);
            let wraps = i128::from(most - least) + step.abs() >= 1 << 32;
            let coefficient = distance.coefficient(&[number]);
            if wraps || coefficient == 0 || found.is_some() {
                return None;
            }
            let first = self.read(first, reading, &facts);
            found = Some((number, coefficient.checked_mul(step)?, first));
        }
        // In a product with other unknowns, the counter would not change the distance by a constant.
        let (number, ..) = found.as_ref()?;
        let alone = distance.terms().iter();
        let mut with = alone.filter(|(unknowns, _)| unknowns.contains(number));
        match (with.next(), with.next()) {
            (Some((unknowns, _)), None) if unknowns.len() == 1 => found,
            _ => None,
        }
    }
}
