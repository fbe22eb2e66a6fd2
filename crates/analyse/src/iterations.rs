//! Header executions of loops by the threads of a launch, where the predicate that ends the loop is affine
//! in the number of the iteration (SOUNDNESS 6.4).
//!
//! The predicate is traced through gated single assignment: a μ of the loop whose back-edge value is the μ plus a
//! constant step is an induction variable; everything else must follow from the launch and the thread's
//! number. Then the predicate is `a + k·b` in iteration `k`, or a comparison of such values, and the first `k` at
//! which it ends the loop is computed. Intermediate results are exact 64-bit numbers; if one would leave 32 bits before
//! the loop ends, the loop is not counted.

use std::collections::HashMap;

use warpbound_graph::LoopIndex;
use warpbound_ir::{
    BinaryOp, Cell, Code, ControlEffect, Expr, Meaning, OpIndex, UnaryOp, ValueDomain, eval,
};
use warpbound_simt::NodeId;

use crate::dependence::Dependence;
use crate::gsa::{Definition, Gsa, ValueId};
use crate::thread_cfg::ThreadCfg;

/// Initial values of the threads of a block.
#[derive(Clone, Copy, Debug)]
pub struct StartValues<'a> {
    /// Threads of the block.
    pub threads: u32,
    /// Cells that do not begin with 0, with their value in all threads.
    pub cells: &'a [(Cell, u32)],
}

/// Loop with the number of header executions of each thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CountedIterations {
    /// Header of the loop.
    pub header: NodeId,
    /// Branch that ends the loop.
    pub exit: OpIndex,
    /// For each thread, its header executions per entry of the loop.
    pub headers: Vec<u64>,
}

/// Maximum length of a chain of values that is followed; no loop counter needs more.
const MAX_DEPTH: u32 = 200;

/// Counts the iterations of the loops of `dependence`, in its order, where possible.
pub fn count_iterations(
    code: &Code,
    thread: &ThreadCfg,
    dependence: &Dependence,
    given: &StartValues<'_>,
) -> Vec<(LoopIndex, CountedIterations)> {
    let mut gsa = Gsa::new(code, thread, dependence);
    let mut found = Vec::new();
    for (index, _) in dependence.loops.loops() {
        if let Some(counted) = count_loop(code, thread, dependence, given, &mut gsa, index) {
            found.push((index, counted));
        }
    }
    found
}

fn count_loop(
    code: &Code,
    thread: &ThreadCfg,
    dependence: &Dependence,
    given: &StartValues<'_>,
    gsa: &mut Gsa<'_>,
    index: LoopIndex,
) -> Option<CountedIterations> {
    let body = dependence.loops.get(index);
    // Only a single header separates the edges that enter the loop from its back edges, as an induction variable needs.
    let &[header] = body.headers.as_slice() else {
        return None;
    };
    // Other exits only make the loop end earlier, so any exit branch that is executed in each iteration gives a bound.
    let closing = |node: usize| dependence.graph.successors(node).contains(&header);
    let mut best: Option<CountedIterations> = None;
    for &node in &body.body {
        let leaves = |&to: &usize| !body.contains(to);
        let successors = dependence.graph.successors(node);
        let in_each = || {
            let mut latches = body.body.iter().filter(|&&latch| closing(latch));
            latches.all(|&latch| dependence.dominators.dominates(node, latch))
        };
        // A branch in an inner loop may be executed several times in one iteration.
        let innermost = dependence.loops.innermost(node) == Some(index);
        if !innermost || successors.len() != 2 || !successors.iter().any(leaves) || !in_each() {
            continue;
        }
        let node = NodeId(node as u32);
        let at = thread.space.block(node).last;
        let Some(op) = code.get(at) else { continue };
        let (ControlEffect::Branch { .. } | ControlEffect::Jump(_), Some(guard)) =
            (&op.control, op.condition.guard)
        else {
            continue;
        };
        let resolved = thread.resolved.get(node.index())?.as_ref()?;
        let falls_through_into_loop = resolved
            .next
            .is_some_and(|next| body.contains(next.index()));
        // The branch is taken where the guard is zero (negated) or is not zero; one side ends the loop.
        let ends_at_zero = op.condition.negated == falls_through_into_loop;
        if op.condition.has_further_test() || successors.iter().all(leaves) {
            continue;
        }
        let predicate = gsa.value_before(node, at, guard);
        let mut counter = IterationCounter {
            code,
            gsa,
            given,
            header: NodeId(header as u32),
            thread: 0,
            known: HashMap::new(),
            steps: HashMap::new(),
            depth: 0,
        };
        let Some(iterations) = counter.header_executions(predicate, ends_at_zero) else {
            continue;
        };
        let counted = CountedIterations {
            header: NodeId(header as u32),
            exit: at,
            headers: iterations,
        };
        // Each exit alone gives a bound for every thread (SOUNDNESS 6.4), so any of them may be chosen.
        // The sum only chooses among valid bounds, so it may saturate.
        let sum = |c: &CountedIterations| c.headers.iter().fold(0u64, |s, &n| s.saturating_add(n));
        if best.as_ref().is_none_or(|b| sum(&counted) < sum(b)) {
            best = Some(counted);
        }
    }
    best
}

/// Value as a function of the iteration `k`, counted from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum IterationValue {
    /// `first + k·step`, in signed numbers that fit 32 bits as long as the iterations go on.
    Affine { first: i64, step: i64 },
    /// Comparison of two such values, each as (first, step).
    Compared {
        op: BinaryOp,
        a: (i64, i64),
        b: (i64, i64),
    },
}

impl IterationValue {
    fn constant(value: u32) -> IterationValue {
        IterationValue::Affine {
            first: i64::from(value as i32),
            step: 0,
        }
    }
}

struct IterationCounter<'c, 'a> {
    code: &'c Code,
    gsa: &'c mut Gsa<'a>,
    given: &'c StartValues<'c>,
    header: NodeId,
    thread: u32,
    /// Values of this thread as functions of the iteration; `None` while one is being evaluated, or if it is unknown.
    known: HashMap<ValueId, Option<IterationValue>>,
    /// Differences between values and μ of this thread, likewise.
    steps: HashMap<(ValueId, ValueId), Option<i64>>,
    /// Depth of the recursion.
    depth: u32,
}

impl<'c> IterationCounter<'c, '_> {
    /// Computes the header executions of each thread, for a predicate that ends the loop at zero or at other values.
    fn header_executions(&mut self, predicate: ValueId, ends_at_zero: bool) -> Option<Vec<u64>> {
        let mut counts = Vec::with_capacity(self.given.threads as usize);
        for thread in 0..self.given.threads {
            self.thread = thread;
            self.known.clear();
            self.steps.clear();
            let predicate = self.evaluate(predicate)?;
            // The header is executed once more than iterations are completed.
            counts.push(first_exit(predicate, ends_at_zero)?.checked_add(1)?);
        }
        Some(counts)
    }

    /// Evaluates a value, with the results kept per thread.
    fn evaluate(&mut self, value: ValueId) -> Option<IterationValue> {
        // A value that depends on itself other than through a μ finds its own `None` here and is unknown.
        if let Some(known) = self.known.get(&value) {
            return *known;
        }
        self.known.insert(value, None);
        let found = self.with_depth_limit(|counter| counter.derive(value));
        self.known.insert(value, found);
        found
    }

    /// Runs one level of the recursion; `None` beyond [`MAX_DEPTH`].
    fn with_depth_limit<T>(&mut self, evaluate: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth >= MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let found = evaluate(self);
        self.depth -= 1;
        found
    }

    fn derive(&mut self, value: ValueId) -> Option<IterationValue> {
        match self.gsa.definition(value) {
            Definition::Entry(cell) => {
                let given = self.given.cells.iter().find(|(c, _)| *c == cell);
                let begins = self.code.agreed_at_entry.contains(&cell);
                // In code that declares initial agreement, cells without a given value begin with 0.
                begins.then(|| IterationValue::constant(given.map_or(0, |(_, v)| *v)))
            }
            Definition::Op(node, at) => self.evaluate_expr(self.written(at)?, node, at),
            Definition::Mu(node, cell) if node == self.header => {
                // Induction variable: equal initial values, and a constant step over each back edge.
                let [entering, closing] = self.gsa.entering_and_closing(node, cell);
                let mut first = None;
                for value in entering {
                    let found = self.evaluate(value)?;
                    if *first.get_or_insert(found) != found {
                        return None;
                    }
                }
                // The first content must not depend on the iteration.
                let IterationValue::Affine { first, step: 0 } = first? else {
                    return None;
                };
                let mut step = None;
                for closing in closing {
                    let found = self.step_from(closing, value)?;
                    if *step.get_or_insert(found) != found {
                        return None;
                    }
                }
                Some(IterationValue::Affine { first, step: step? })
            }
            Definition::Gamma(node, cell) => self.same_for_all_operands(node, cell),
            _ => None,
        }
    }

    /// The expression that an operation writes to its only destination.
    fn written(&self, at: OpIndex) -> Option<&'c Expr> {
        let code = self.code;
        match &code.get(at)?.meaning {
            Some(Meaning::Set(writes)) => match writes.as_slice() {
                [(_, value)] => Some(value),
                _ => None,
            },
            _ => None,
        }
    }

    /// The value of a γ whose operands are all equal.
    fn same_for_all_operands(&mut self, node: NodeId, cell: Cell) -> Option<IterationValue> {
        // A γ joins no back edges, so all its operands enter.
        let [values, _] = self.gsa.entering_and_closing(node, cell);
        let mut same = None;
        for value in values {
            let found = self.evaluate(value)?;
            if *same.get_or_insert(found) != found {
                return None;
            }
        }
        same
    }

    /// Difference between `value` and the μ; `None` if it is not a known constant.
    fn step_from(&mut self, value: ValueId, mu: ValueId) -> Option<i64> {
        if value == mu {
            return Some(0);
        }
        if let Some(known) = self.steps.get(&(value, mu)) {
            return *known;
        }
        // A value that depends on itself other than through the μ finds this entry.
        self.steps.insert((value, mu), None);
        let step = self.with_depth_limit(|counter| counter.derive_step(value, mu));
        self.steps.insert((value, mu), step);
        step
    }

    fn derive_step(&mut self, value: ValueId, mu: ValueId) -> Option<i64> {
        match self.gsa.definition(value) {
            Definition::Op(node, at) => match self.written(at)? {
                Expr::Cell(cell) => {
                    let from = self.gsa.value_before(node, at, *cell);
                    self.step_from(from, mu)
                }
                Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b) => {
                    let mut constant = |expr: &Expr| match self.evaluate_expr(expr, node, at)? {
                        IterationValue::Affine { first, step: 0 } => Some(first),
                        _ => None,
                    };
                    let (base, more) = match (constant(a), constant(b), op) {
                        (_, Some(n), BinaryOp::Add) => (a, n),
                        (_, Some(n), _) => (a, -n),
                        (Some(n), None, BinaryOp::Add) => (b, n),
                        // `n - x` changes the sign of the μ, so it is no step.
                        _ => return None,
                    };
                    let Expr::Cell(cell) = **base else {
                        return None;
                    };
                    let from = self.gsa.value_before(node, at, cell);
                    self.step_from(from, mu)?.checked_add(more)
                }
                _ => None,
            },
            Definition::Gamma(node, cell) => {
                let [values, _] = self.gsa.entering_and_closing(node, cell);
                let mut same = None;
                for value in values {
                    let step = self.step_from(value, mu)?;
                    if *same.get_or_insert(step) != step {
                        return None;
                    }
                }
                same
            }
            _ => None,
        }
    }

    fn evaluate_expr(&mut self, expr: &Expr, node: NodeId, at: OpIndex) -> Option<IterationValue> {
        let mut domain = OperandsAt {
            counter: self,
            node,
            at,
        };
        eval(expr, &mut domain)
    }
}

/// Domain of the values of one thread before an operation, as functions of the iteration.
struct OperandsAt<'o, 'c, 'a> {
    counter: &'o mut IterationCounter<'c, 'a>,
    node: NodeId,
    at: OpIndex,
}

impl ValueDomain for OperandsAt<'_, '_, '_> {
    type Value = IterationValue;

    fn models(&self, expr: &Expr) -> bool {
        // Operands of other operations would only use up the depth of the recursion.
        matches!(
            expr,
            Expr::Const(_)
                | Expr::ThreadId
                | Expr::Cell(_)
                | Expr::Unary(UnaryOp::Neg, _)
                | Expr::Binary(..)
        )
    }

    fn constant(&mut self, value: u32) -> Option<IterationValue> {
        Some(IterationValue::constant(value))
    }

    fn cell(&mut self, cell: Cell) -> Option<IterationValue> {
        let value = self.counter.gsa.value_before(self.node, self.at, cell);
        self.counter.evaluate(value)
    }

    fn thread_id(&mut self) -> Option<IterationValue> {
        Some(IterationValue::constant(self.counter.thread))
    }

    fn unary(&mut self, op: UnaryOp, a: IterationValue) -> Option<IterationValue> {
        match (op, a) {
            (UnaryOp::Neg, IterationValue::Affine { first, step }) => {
                affine(first.checked_neg()?, step.checked_neg()?)
            }
            _ => None,
        }
    }

    fn binary(
        &mut self,
        op: BinaryOp,
        a: IterationValue,
        b: IterationValue,
    ) -> Option<IterationValue> {
        combine(op, a, b)
    }
}

/// `first + k·step`, if both fit 32 bits.
fn affine(first: i64, step: i64) -> Option<IterationValue> {
    i32::try_from(first).ok()?;
    i32::try_from(step).ok()?;
    Some(IterationValue::Affine { first, step })
}

fn combine(op: BinaryOp, a: IterationValue, b: IterationValue) -> Option<IterationValue> {
    let (
        IterationValue::Affine { first: a, step: da },
        IterationValue::Affine { first: b, step: db },
    ) = (a, b)
    else {
        return None;
    };
    // Numbers that do not change are computed as words, so wrap-around is exact.
    if da == 0 && db == 0 {
        return op
            .apply(a as i32 as u32, b as i32 as u32)
            .map(IterationValue::constant);
    }
    match op {
        // Both operands fit 32 bits, so sums cannot overflow 64.
        BinaryOp::Add => affine(a + b, da + db),
        // A difference that overflows is still zero exactly if both operands are equal.
        BinaryOp::Sub => affine(a - b, da - db).or(Some(IterationValue::Compared {
            op: BinaryOp::Ne,
            a: (a, da),
            b: (b, db),
        })),
        BinaryOp::Mul if da == 0 => affine(a.checked_mul(b)?, a.checked_mul(db)?),
        BinaryOp::Mul if db == 0 => affine(a.checked_mul(b)?, b.checked_mul(da)?),
        // No unsigned comparison: the values are signed numbers, whose unsigned order differs where one is negative.
        BinaryOp::LtS | BinaryOp::LeS | BinaryOp::Eq | BinaryOp::Ne => {
            Some(IterationValue::Compared {
                op,
                a: (a, da),
                b: (b, db),
            })
        }
        _ => None,
    }
}

/// Computes the first iteration where the predicate is zero (`ends_at_zero`) or is not zero; `None` if there is no
/// such iteration, or a value leaves 32 bits before it. For example, a loop that goes on while `2·k < 5` ends in
/// iteration 3.
fn first_exit(form: IterationValue, ends_at_zero: bool) -> Option<u64> {
    let (op, (a, da), (b, db)) = match form {
        IterationValue::Affine { first, step } => (BinaryOp::Ne, (first, step), (0, 0)),
        IterationValue::Compared { op, a, b } => (op, a, b),
    };
    // The loop ends in the first iteration where `a op b` is not `ends_at_zero`.
    let (difference, slope) = (a - b, da - db);
    let holds = |d: i64| match op {
        BinaryOp::LtS => d < 0,
        BinaryOp::LeS => d <= 0,
        BinaryOp::Eq => d == 0,
        _ => d != 0,
    };
    let k = if holds(difference) != ends_at_zero {
        0
    } else if slope == 0 {
        return None;
    } else {
        // The difference is monotone in k; the comparison changes only where it reaches or crosses 0.
        let distance = -difference;
        let exact = distance % slope == 0 && distance / slope >= 0;
        let k = match op {
            // Ends at equality, which the difference reaches exactly or never.
            BinaryOp::Ne if ends_at_zero => exact.then(|| distance / slope)?,
            BinaryOp::Eq if !ends_at_zero => exact.then(|| distance / slope)?,
            BinaryOp::Ne | BinaryOp::Eq => 1,
            _ => {
                // A difference that moves away from zero never changes the comparison.
                if distance.signum() == -slope.signum() {
                    return None;
                }
                // The quotient is rounded down, and a strict comparison may change one iteration after equality.
                let reached = (distance / slope).max(0);
                (reached..reached + 3).find(|&k| holds(difference + k * slope) != ends_at_zero)?
            }
        };
        u64::try_from(k).ok()?
    };
    // Values are affine in k, so they fit 32 bits in all iterations up to k if they do at k (and at 0).
    let fits = |(first, step): (i64, i64)| {
        let last = i64::try_from(k)
            .ok()
            .and_then(|k| step.checked_mul(k))
            .and_then(|more| first.checked_add(more));
        last.is_some_and(|last| i32::try_from(last).is_ok())
    };
    (fits((a, da)) && fits((b, db))).then_some(k)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first iteration that ends the loop, by executing up to 2000.
    fn tried(op: BinaryOp, a: (i64, i64), b: (i64, i64), ends_at_zero: bool) -> Option<u64> {
        (0..2000u64).find(|&k| {
            let at = |(first, step): (i64, i64)| (first + step * k as i64) as i32 as u32;
            (op.apply(at(a), at(b)) == Some(0)) == ends_at_zero
        })
    }

    #[test]
    fn first_exit_equals_execution() {
        let mut seed = 5u64;
        let mut random = |low: i64, high: i64| {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            low + ((seed >> 33) % (high - low + 1) as u64) as i64
        };
        let ops = [BinaryOp::LtS, BinaryOp::LeS, BinaryOp::Eq, BinaryOp::Ne];
        let mut found = 0;
        for _ in 0..20_000 {
            let op = ops[random(0, 3) as usize];
            let a = (random(-30, 30), random(-4, 4));
            let b = (random(-30, 30), random(-4, 4));
            let ends_at_zero = random(0, 1) == 1;
            let form = IterationValue::Compared { op, a, b };
            let expected = tried(op, a, b, ends_at_zero);
            assert_eq!(
                first_exit(form, ends_at_zero),
                expected,
                "{form:?} {ends_at_zero}"
            );
            found += usize::from(expected.is_some());
        }
        assert!(found > 5_000);
    }

    #[test]
    fn loops_whose_values_overflow_are_not_counted() {
        let large = i64::from(i32::MAX);
        let form = IterationValue::Compared {
            op: BinaryOp::LtS,
            a: (large - 1, 2),
            b: (large, 0),
        };
        assert_eq!(first_exit(form, true), None);
    }
}
