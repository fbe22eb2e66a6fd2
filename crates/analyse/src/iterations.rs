//! How often the threads of a launch execute the header of a loop, where the predicate that ends the loop is affine
//! in the number of the iteration.
//!
//! The predicate is followed back through gated single assignment: a μ of the loop whose closing value is itself and a
//! step that does not change is an induction value; everything else must follow from the launch and the thread's
//! number. Then the predicate is `a + k·b` in iteration `k`, or a comparison of such values, and the first `k` at
//! which it ends the loop can be computed. Intermediate results are computed without limit of size; where
//! one would leave the 32 bits before the loop ends, nothing is said.

use std::collections::HashMap;

use warpbound_graph::LoopIndex;
use warpbound_ir::{BinaryOp, Cell, Code, ControlEffect, Expr, Meaning, OpIndex, UnaryOp};
use warpbound_simt::NodeId;

use crate::dependence::Dependence;
use crate::gsa::{Definition, Gsa, ValueId};
use crate::thread_cfg::ThreadCfg;

/// The values that threads begin with.
#[derive(Clone, Copy, Debug)]
pub struct StartValues<'a> {
    /// Threads of the block.
    pub threads: u32,
    /// Cells that do not begin with 0, the same in all threads.
    pub cells: &'a [(Cell, u32)],
}

/// A loop of which the iterations of each thread are known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CountedIterations {
    /// The header.
    pub header: NodeId,
    /// The branch that ends the loop.
    pub exit: OpIndex,
    /// For each thread, how often it executes the header each time that it comes to the loop.
    pub headers: Vec<u64>,
}

/// The longest chain of values that is followed; no loop counter needs more.
const MOST_DEPTH: u32 = 200;

/// The loops of `dependence` whose iterations are known, in its order.
pub fn count_iterations(
    code: &Code,
    thread: &ThreadCfg,
    dependence: &Dependence,
    given: &StartValues<'_>,
) -> Vec<(LoopIndex, CountedIterations)> {
    let mut gsa = Gsa::new(code, thread, dependence);
    let mut found = Vec::new();
    for (index, _) in dependence.loops.loops() {
        if let Some(counted) = count(code, thread, dependence, given, &mut gsa, index) {
            found.push((index, counted));
        }
    }
    found
}

fn count(
    code: &Code,
    thread: &ThreadCfg,
    dependence: &Dependence,
    given: &StartValues<'_>,
    gsa: &mut Gsa<'_>,
    index: LoopIndex,
) -> Option<CountedIterations> {
    let body = dependence.loops.get(index);
    let &[header] = body.headers.as_slice() else {
        return None;
    };
    // Other ways out only make the loop end earlier, so any branch will do that is passed in each iteration.
    let closing = |node: usize| dependence.graph.successors(node).contains(&header);
    let mut best: Option<CountedIterations> = None;
    for &node in &body.body {
        let leaves = |&to: &usize| !body.contains(to);
        let ways = dependence.graph.successors(node);
        let in_each = || {
            let mut latches = body.body.iter().filter(|&&latch| closing(latch));
            latches.all(|&latch| dependence.dominators.dominates(node, latch))
        };
        let innermost = dependence.loops.innermost(node) == Some(index);
        if !innermost || ways.len() != 2 || !ways.iter().any(leaves) || !in_each() {
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
        let stays_behind = resolved
            .next
            .is_some_and(|next| body.contains(next.index()));
        // The branch is taken where the guard is zero or is not; one of the two ends the loop.
        let ends_at_zero = op.condition.negated == stays_behind;
        if op.condition.tests_cc() || ways.iter().all(leaves) {
            continue;
        }
        let predicate = gsa.before(node, at, guard);
        let mut counter = Counter {
            code,
            gsa,
            given,
            header: NodeId(header as u32),
            thread: 0,
            known: HashMap::new(),
            steps: HashMap::new(),
            depth: 0,
        };
        let Some(iterations) = counter.all_threads(predicate, ends_at_zero) else {
            continue;
        };
        let counted = CountedIterations {
            header: NodeId(header as u32),
            exit: at,
            headers: iterations,
        };
        let sum = |c: &CountedIterations| c.headers.iter().fold(0u64, |s, &n| s.saturating_add(n));
        if best.as_ref().is_none_or(|b| sum(&counted) < sum(b)) {
            best = Some(counted);
        }
    }
    best
}

/// A value in iteration `k`, counted from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    /// `first + k·step`, in signed numbers that fit 32 bits as long as the iterations go on.
    Affine { first: i64, step: i64 },
    /// The combination of two such values.
    Compared {
        op: BinaryOp,
        a: (i64, i64),
        b: (i64, i64),
    },
}

impl Form {
    fn constant(value: u32) -> Form {
        Form::Affine {
            first: i64::from(value as i32),
            step: 0,
        }
    }
}

struct Counter<'c, 'a> {
    code: &'c Code,
    gsa: &'c mut Gsa<'a>,
    given: &'c StartValues<'c>,
    header: NodeId,
    thread: u32,
    /// Forms of values, for this thread; `None` while a value is being evaluated, or when nothing is known.
    known: HashMap<ValueId, Option<Form>>,
    /// By how much values are more than μ, for this thread, in the same way.
    steps: HashMap<(ValueId, ValueId), Option<i64>>,
    /// Values that are being evaluated, one for the other.
    depth: u32,
}

impl<'c> Counter<'c, '_> {
    fn all_threads(&mut self, predicate: ValueId, ends_at_zero: bool) -> Option<Vec<u64>> {
        let mut counts = Vec::with_capacity(self.given.threads as usize);
        for thread in 0..self.given.threads {
            self.thread = thread;
            self.known.clear();
            self.steps.clear();
            let form = self.form(predicate)?;
            counts.push(first_end(form, ends_at_zero)?.checked_add(1)?);
        }
        Some(counts)
    }

    fn form(&mut self, value: ValueId) -> Option<Form> {
        if let Some(known) = self.known.get(&value) {
            return *known;
        }
        self.known.insert(value, None);
        let form = self.deeper(|counter| counter.find(value));
        self.known.insert(value, form);
        form
    }

    /// Evaluates what another value needs; chains that are too long have no form.
    fn deeper<T>(&mut self, evaluate: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth >= MOST_DEPTH {
            return None;
        }
        self.depth += 1;
        let found = evaluate(self);
        self.depth -= 1;
        found
    }

    fn find(&mut self, value: ValueId) -> Option<Form> {
        match self.gsa.definition(value) {
            Definition::Entry(cell) => {
                let given = self.given.cells.iter().find(|(c, _)| *c == cell);
                let begins = self.code.agreed_at_entry.contains(&cell);
                // What is not given begins with 0, in code that says what its cells begin with.
                begins.then(|| Form::constant(given.map_or(0, |(_, v)| *v)))
            }
            Definition::Op(node, at) => self.expr(self.written(at)?, node, at),
            Definition::Mu(node, cell) if node == self.header => {
                let [entering, closing] = self.gsa.entering_and_closing(node, cell);
                let mut first = None;
                for value in entering {
                    let form = self.form(value)?;
                    if *first.get_or_insert(form) != form {
                        return None;
                    }
                }
                let Form::Affine { first, step: 0 } = first? else {
                    return None;
                };
                let mut step = None;
                for closing in closing {
                    let found = self.step_from(closing, value)?;
                    if *step.get_or_insert(found) != found {
                        return None;
                    }
                }
                Some(Form::Affine { first, step: step? })
            }
            Definition::Gamma(node, cell) => self.same_everywhere(node, cell),
            _ => None,
        }
    }

    /// What an operation writes to its only destination.
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

    /// γ of values that are all the same.
    fn same_everywhere(&mut self, node: NodeId, cell: Cell) -> Option<Form> {
        let [values, _] = self.gsa.entering_and_closing(node, cell);
        let mut same = None;
        for value in values {
            let form = self.form(value)?;
            if *same.get_or_insert(form) != form {
                return None;
            }
        }
        same
    }

    /// By how much `value` is more than the μ; `None` when the difference changes or is not known.
    fn step_from(&mut self, value: ValueId, mu: ValueId) -> Option<i64> {
        if value == mu {
            return Some(0);
        }
        if let Some(known) = self.steps.get(&(value, mu)) {
            return *known;
        }
        self.steps.insert((value, mu), None);
        let step = self.deeper(|counter| counter.find_step(value, mu));
        self.steps.insert((value, mu), step);
        step
    }

    fn find_step(&mut self, value: ValueId, mu: ValueId) -> Option<i64> {
        match self.gsa.definition(value) {
            Definition::Op(node, at) => match self.written(at)? {
                Expr::Cell(cell) => {
                    let from = self.gsa.before(node, at, *cell);
                    self.step_from(from, mu)
                }
                Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b) => {
                    let mut constant = |expr: &Expr| match self.expr(expr, node, at)? {
                        Form::Affine { first, step: 0 } => Some(first),
                        _ => None,
                    };
                    let (base, more) = match (constant(a), constant(b), op) {
                        (_, Some(n), BinaryOp::Add) => (a, n),
                        (_, Some(n), _) => (a, -n),
                        (Some(n), None, BinaryOp::Add) => (b, n),
                        _ => return None,
                    };
                    let Expr::Cell(cell) = **base else {
                        return None;
                    };
                    let from = self.gsa.before(node, at, cell);
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

    fn expr(&mut self, expr: &Expr, node: NodeId, at: OpIndex) -> Option<Form> {
        match expr {
            Expr::Const(n) => Some(Form::constant(*n)),
            Expr::ThreadId => Some(Form::constant(self.thread)),
            Expr::Cell(cell) => {
                let value = self.gsa.before(node, at, *cell);
                self.form(value)
            }
            Expr::Unary(UnaryOp::Neg, a) => match self.expr(a, node, at)? {
                Form::Affine { first, step } => affine(first.checked_neg()?, step.checked_neg()?),
                Form::Compared { .. } => None,
            },
            Expr::Constant(..)
            | Expr::Special(_)
            | Expr::Unary(..)
            | Expr::Ternary(..)
            | Expr::Float(..) => None,
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.expr(a, node, at)?, self.expr(b, node, at)?);
                combine(*op, a, b)
            }
        }
    }
}

/// `first + k·step`, when it is in range at the start.
fn affine(first: i64, step: i64) -> Option<Form> {
    i32::try_from(first).ok()?;
    i32::try_from(step).ok()?;
    Some(Form::Affine { first, step })
}

fn combine(op: BinaryOp, a: Form, b: Form) -> Option<Form> {
    let (Form::Affine { first: a, step: da }, Form::Affine { first: b, step: db }) = (a, b) else {
        return None;
    };
    if da == 0 && db == 0 {
        return op
            .apply(a as i32 as u32, b as i32 as u32)
            .map(Form::constant);
    }
    match op {
        BinaryOp::Add => affine(a + b, da + db),
        // A difference is zero when both are equal, however large it is otherwise.
        BinaryOp::Sub => affine(a - b, da - db).or(Some(Form::Compared {
            op: BinaryOp::Ne,
            a: (a, da),
            b: (b, db),
        })),
        BinaryOp::Mul if da == 0 => affine(a.checked_mul(b)?, a.checked_mul(db)?),
        BinaryOp::Mul if db == 0 => affine(a.checked_mul(b)?, b.checked_mul(da)?),
        BinaryOp::LtS | BinaryOp::LeS | BinaryOp::Eq | BinaryOp::Ne => Some(Form::Compared {
            op,
            a: (a, da),
            b: (b, db),
        }),
        _ => None,
    }
}

/// The first iteration in which the predicate is zero, or is not.
fn first_end(form: Form, ends_at_zero: bool) -> Option<u64> {
    let (op, (a, da), (b, db)) = match form {
        Form::Affine { first, step } => (BinaryOp::Ne, (first, step), (0, 0)),
        Form::Compared { op, a, b } => (op, a, b),
    };
    // The loop ends in the first iteration in which `a op b` is not `ends_at_zero`.
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
        // The difference goes one way; it must cross 0 to change what holds of it.
        let distance = -difference;
        let exact = distance % slope == 0 && distance / slope >= 0;
        let k = match op {
            // Ends when equal: hit exactly, or never.
            BinaryOp::Ne if ends_at_zero => exact.then(|| distance / slope)?,
            BinaryOp::Eq if !ends_at_zero => exact.then(|| distance / slope)?,
            BinaryOp::Ne | BinaryOp::Eq => 1,
            _ => {
                // Towards zero, or it never ends.
                if distance.signum() == -slope.signum() {
                    return None;
                }
                let reached = (distance / slope).max(0);
                (reached..reached + 3).find(|&k| holds(difference + k * slope) != ends_at_zero)?
            }
        };
        u64::try_from(k).ok()?
    };
    // Nothing may leave the 32 bits on the way.
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

    /// The first iteration that ends, found by trying.
    fn tried(op: BinaryOp, a: (i64, i64), b: (i64, i64), ends_at_zero: bool) -> Option<u64> {
        (0..2000u64).find(|&k| {
            let at = |(first, step): (i64, i64)| (first + step * k as i64) as i32 as u32;
            (op.apply(at(a), at(b)) == Some(0)) == ends_at_zero
        })
    }

    #[test]
    fn the_first_end_is_found_as_if_tried() {
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
            let form = Form::Compared { op, a, b };
            let expected = tried(op, a, b, ends_at_zero);
            assert_eq!(
                first_end(form, ends_at_zero),
                expected,
                "{form:?} {ends_at_zero}"
            );
            found += usize::from(expected.is_some());
        }
        assert!(found > 5_000);
    }

    #[test]
    fn what_leaves_the_32_bits_is_not_counted() {
        let large = i64::from(i32::MAX);
        let form = Form::Compared {
            op: BinaryOp::LtS,
            a: (large - 1, 2),
            b: (large, 0),
        };
        assert_eq!(first_end(form, true), None);
    }
}
