//! Evaluation of formulas in one launch.

use std::collections::BTreeSet;

use warpbound_graph::LoopIndex;
use warpbound_ir::OpIndex;
use warpbound_isa::nvidia::WARP_LANES;
use warpbound_isa::{Axis, SpecialReg};

use super::expression::{Count, Factor, Test};
use super::rounds::Distance;
use super::sums::{GuardedIndex, LaunchSum};
use super::{BlockPart, CountFormulas};
use crate::symbolic::atoms::{Atom, AtomId, WordPolynomial};
use crate::symbolic::conditions::Condition;
use crate::symbolic::span::Reading;

/// Maximum number of iterations that are searched for the first one that fails a test: a shift leaves nothing after
/// 32.
const MAX_SEARCHED: u64 = 64;

/// Maximum nesting of loops whose iterations depend on one another.
const MAX_NESTED: u32 = 32;

/// Limit on the completed iterations of a loop as a word. Amounts of shifts, at most 31 for each iteration, do not
/// wrap below this limit.
const MAX_ITERATION: u64 = 1 << 27;

/// Launch for which formulas are evaluated.
#[derive(Clone, Copy)]
pub struct FormulaLaunch<'l> {
    /// Blocks of the grid in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Word of a constant bank at a byte address.
    pub constant: &'l dyn Fn(u8, u32) -> Option<u32>,
    /// Maximum number of atoms of words that are evaluated for one block of the code.
    pub steps: u64,
}

/// Sums of a formula over the threads of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FormulaTotals {
    /// Executions by threads.
    pub lanes: u128,
    /// The same number by a closed sum over all threads, if there is a simple one that holds for the launch.
    pub by_sum: Option<u128>,
    /// Executions by warps, where all live lanes come together.
    pub issues: Option<u128>,
}

/// Axes of indices that a count depends on.
#[derive(Clone, Copy, Default)]
pub(super) struct UsedIndices {
    pub(super) blocks: [bool; 3],
    pub(super) threads: bool,
}

impl CountFormulas<'_> {
    /// The sums of the formula of a block over the threads of a launch; `None` where the block has no formula, the
    /// launch is outside its range, or there are too many threads to evaluate it for each.
    pub fn totals(&self, block: OpIndex, launch: &FormulaLaunch<'_>) -> Option<FormulaTotals> {
        let formula = self.blocks.get(&block)?.as_ref().ok()?;
        let mut steps = launch.steps;
        let zero = FormulaTotals {
            lanes: 0,
            by_sum: Some(0),
            issues: Some(0),
        };
        let added = |sum: Option<u128>, more: Option<u128>| sum?.checked_add(more?);
        formula.parts.iter().try_fold(zero, |sum, part| {
            let more = self.part_totals(part, launch, &mut steps)?;
            Some(FormulaTotals {
                lanes: sum.lanes.checked_add(more.lanes)?,
                by_sum: added(sum.by_sum, more.by_sum),
                issues: added(sum.issues, more.issues),
            })
        })
    }

    /// The sum of a count over all threads by [`LaunchSum`], without evaluating each thread.
    fn evaluate_sum(&self, sum: &LaunchSum, evaluator: &mut Evaluator<'_, '_>) -> Option<u128> {
        let size = |sizes: [u32; 3]| sizes.iter().map(|&size| u128::from(size)).product::<u128>();
        let launch = evaluator.launch;
        let all = size(launch.grid).checked_mul(size(launch.block))?;
        evaluator.block = [0; 3];
        evaluator.set_thread(0);
        let equal = evaluator.count(&sum.equal)?;
        let Some(guard) = &sum.guard else {
            return equal.checked_mul(all);
        };
        let axis = usize::from(guard.axis.index());
        let (blocks, threads) = (
            u128::from(launch.grid[axis]),
            u128::from(launch.block[axis]),
        );
        let indices = match guard.index {
            GuardedIndex::Thread => threads,
            GuardedIndex::Block => blocks,
            GuardedIndex::Global => blocks.checked_mul(threads)?,
        };
        // The guard compares numbers of the reading, so the greatest index must be one of them.
        let (_, high) = guard.reading.limits();
        if indices > u128::try_from(high).ok()? + 1 {
            return None;
        }
        let limit = i128::from(evaluator.number(&guard.word, guard.reading)?);
        let limit = limit + i128::from(guard.with_equal);
        let below = u128::try_from(limit.max(0)).ok()?.min(indices);
        let passing = match guard.is_complement {
            true => indices - below,
            false => below,
        };
        // Each value of the index belongs to equally many threads.
        equal
            .checked_mul(passing)?
            .checked_mul(all / indices.max(1))
    }

    fn part_totals(
        &self,
        part: &BlockPart,
        launch: &FormulaLaunch<'_>,
        steps: &mut u64,
    ) -> Option<FormulaTotals> {
        let used = self.used_indices(&part.count);
        let threads: u64 = launch.block.iter().map(|&size| u64::from(size)).product();
        let lanes = u64::from(WARP_LANES);
        // Blocks that differ only along an axis that the count does not mention have the same sum.
        let mut equal_blocks = 1u128;
        let mut blocks = [1u32; 3];
        for (axis, &size) in launch.grid.iter().enumerate() {
            match used.blocks[axis] {
                true => blocks[axis] = size,
                false => equal_blocks *= u128::from(size),
            }
        }
        let (mut sum, mut issues) = (0u128, 0u128);
        let mut evaluator = Evaluator::new(self, launch, steps);
        for z in 0..blocks[2] {
            for y in 0..blocks[1] {
                for x in 0..blocks[0] {
                    evaluator.block = [x, y, z];
                    // All threads of the block have the same count, and so has each warp.
                    if !used.threads {
                        evaluator.set_thread(0);
                        let count = evaluator.count(&part.count)?;
                        sum = sum.checked_add(count.checked_mul(threads.into())?)?;
                        let warps = u128::from(threads.div_ceil(lanes));
                        issues = issues.checked_add(count.checked_mul(warps)?)?;
                        continue;
                    }
                    let mut most = 0u128;
                    for thread in 0..threads {
                        evaluator.set_thread(thread);
                        let count = evaluator.count(&part.count)?;
                        sum = sum.checked_add(count)?;
                        // A warp executes the block as often as the lane that executes it most often.
                        most = most.max(count);
                        if (thread + 1) % lanes == 0 || thread + 1 == threads {
                            issues = issues.checked_add(most)?;
                            most = 0;
                        }
                    }
                }
            }
        }
        let by_sum = self.launch_sum(&part.count);
        Some(FormulaTotals {
            by_sum: by_sum.and_then(|sum| self.evaluate_sum(&sum, &mut evaluator)),
            lanes: sum.checked_mul(equal_blocks)?,
            issues: match part.is_whole {
                true => Some(issues.checked_mul(equal_blocks)?),
                false => None,
            },
        })
    }

    /// The number of iterations of a distance between constants, if its conditions hold.
    pub(super) fn constant_distance(&self, distance: &Distance) -> Option<u64> {
        let launch = FormulaLaunch {
            grid: [1; 3],
            block: [1; 3],
            constant: &|_, _| None,
            steps: 0,
        };
        Evaluator::new(self, &launch, &mut 0).distance(distance)
    }

    /// The indices of thread and block that a count mentions.
    pub(super) fn used_indices(&self, count: &Count) -> UsedIndices {
        let mut used = UsedIndices::default();
        let mut words: Vec<&WordPolynomial> = Vec::new();
        add_words(count, &mut words);
        let loops: BTreeSet<LoopIndex> = self.all_loops(count);
        let of_loops = loops.iter().filter_map(|index| self.rounds.get(index));
        words.extend(of_loops.flat_map(|rounds| rounds.words()));
        for id in words
            .into_iter()
            .flat_map(|word| self.words.symbolic.atoms.all_in(word))
        {
            match self.words.symbolic.atoms.get(id) {
                Atom::Special(SpecialReg::BlockIndex(axis)) => {
                    used.blocks[usize::from(axis.index())] = true;
                }
                Atom::Special(_) => used.threads = true,
                _ => {}
            }
        }
        used
    }
}

/// Adds the words that a count mentions itself.
fn add_words<'c>(count: &'c Count, words: &mut Vec<&'c WordPolynomial>) {
    for factor in count.products.iter().flatten() {
        match factor {
            Factor::Holds(test) => words.extend(test.conditions.iter().flat_map(Condition::words)),
            Factor::Sum { of, .. } => add_words(of, words),
            Factor::GoesOn(_) | Factor::Rounds(_) | Factor::Headers(_) => {}
        }
    }
}

/// Evaluation for one thread.
struct Evaluator<'e, 'a> {
    formulas: &'e CountFormulas<'a>,
    launch: &'e FormulaLaunch<'e>,
    block: [u32; 3],
    thread: [u32; 3],
    lane: u32,
    /// Completed iterations of the loops over which sums are formed.
    iterations: Vec<Option<u64>>,
    steps: &'e mut u64,
    nested: u32,
}

impl<'e, 'a> Evaluator<'e, 'a> {
    fn new(
        formulas: &'e CountFormulas<'a>,
        launch: &'e FormulaLaunch<'e>,
        steps: &'e mut u64,
    ) -> Evaluator<'e, 'a> {
        let loops = formulas.words.symbolic.dependence.loops.len();
        Evaluator {
            formulas,
            launch,
            block: [0; 3],
            thread: [0; 3],
            lane: 0,
            iterations: vec![None; loops],
            steps,
            nested: 0,
        }
    }

    fn set_thread(&mut self, thread: u64) {
        let [x, y, _] = self.launch.block.map(|size| u64::from(size.max(1)));
        self.thread = [thread % x, thread / x % y, thread / (x * y)].map(|index| index as u32);
        self.lane = (thread % u64::from(WARP_LANES)) as u32;
    }

    fn count(&mut self, count: &Count) -> Option<u128> {
        let mut sum = 0u128;
        for product in &count.products {
            let mut value = 1u128;
            for factor in product {
                value = value.checked_mul(self.factor(factor)?)?;
                // Later factors may have no value where an earlier test fails.
                if value == 0 {
                    break;
                }
            }
            sum = sum.checked_add(value)?;
        }
        Some(sum)
    }

    fn factor(&mut self, factor: &Factor) -> Option<u128> {
        Some(match factor {
            Factor::Holds(test) => self.test(test)?.into(),
            // Sums over the loop leave it out.
            Factor::GoesOn(_) => return None,
            Factor::Rounds(index) => self.rounds(*index)?.into(),
            Factor::Headers(index) => u128::from(self.rounds(*index)?) + 1,
            Factor::Sum {
                over,
                with_last,
                of,
            } => {
                let end = self.rounds(*over)?.checked_add(u64::from(*with_last))?;
                let mut sum = 0u128;
                for iteration in 0..end {
                    *self.iterations.get_mut(over.0)? = Some(iteration);
                    let value = self.count(of);
                    *self.iterations.get_mut(over.0)? = None;
                    sum = sum.checked_add(value?)?;
                }
                sum
            }
        })
    }

    fn test(&mut self, test: &Test) -> Option<bool> {
        let mut holds = true;
        for condition in &test.conditions {
            holds &= match condition {
                Condition::Less {
                    a,
                    b,
                    or_equal,
                    reading,
                } => {
                    let (a, b) = (self.number(a, *reading)?, self.number(b, *reading)?);
                    a < b || *or_equal && a == b
                }
                Condition::Zero(word) => self.word(word)? == 0,
                Condition::NotZero(word) => self.word(word)? != 0,
                Condition::Never => false,
            };
        }
        Some(holds == test.all_hold)
    }

    fn number(&mut self, word: &WordPolynomial, reading: Reading) -> Option<i64> {
        let word = self.word(word)?;
        Some(match reading {
            Reading::Signed => (word as i32).into(),
            Reading::Unsigned => word.into(),
        })
    }

    /// Iterations of a loop after which it goes on; `None` outside the range of the formula.
    fn rounds(&mut self, index: LoopIndex) -> Option<u64> {
        let formulas = self.formulas;
        let rounds = formulas.rounds.get(&index)?;
        if self.nested >= MAX_NESTED {
            return None;
        }
        self.nested += 1;
        let before = self.iterations.get(index.0).copied().flatten();
        let found = match rounds.distances.as_slice() {
            [] => self.search(index, &rounds.test),
            distances => {
                let counts = distances.iter().map(|distance| self.distance(distance));
                counts
                    .collect::<Option<Vec<u64>>>()
                    .and_then(|all| all.into_iter().min())
            }
        };
        // The search has overwritten the iteration, which a sum around it may have set.
        *self.iterations.get_mut(index.0)? = before;
        self.nested -= 1;
        found
    }

    /// First iteration that fails a test, if it is among the first [`MAX_SEARCHED`].
    fn search(&mut self, index: LoopIndex, test: &Test) -> Option<u64> {
        for iteration in 0..MAX_SEARCHED {
            *self.iterations.get_mut(index.0)? = Some(iteration);
            if !self.test(test)? {
                return Some(iteration);
            }
        }
        None
    }

    /// First iteration that fails a condition. None of the words up to that iteration wraps: as a number, each is the
    /// first word plus as many steps.
    fn distance(&mut self, distance: &Distance) -> Option<u64> {
        match distance {
            Distance::Less {
                a,
                b,
                or_equal,
                reading,
            } => {
                let [a_first, b_first] = [a, b].map(|word| self.number(&word[0], *reading));
                let (a_first, b_first) = (i128::from(a_first?), i128::from(b_first?));
                let missing = b_first - a_first + i128::from(*or_equal);
                if missing <= 0 {
                    return Some(0);
                }
                let [a_step, b_step] = [a, b].map(|word| self.number(&word[1], Reading::Signed));
                let (a_step, b_step) = (i128::from(a_step?), i128::from(b_step?));
                let closed = a_step - b_step;
                // The distance does not shrink, so the loop ends only after a wrap-around.
                if closed <= 0 {
                    return None;
                }
                let rounds = missing.unsigned_abs().div_ceil(closed.unsigned_abs());
                let count = i128::try_from(rounds).ok()?;
                let (low, high) = reading.limits();
                let fits = |first: i128, step: i128| {
                    (i128::from(low)..=i128::from(high)).contains(&(first + step * count))
                };
                // The words of the last iteration must be in the range of the reading, otherwise they have wrapped
                // before.
                (fits(a_first, a_step) && fits(b_first, b_step)).then_some(rounds as u64)
            }
            Distance::NotZero { first, step } => {
                let first = self.word(first)?;
                // The distance to 0 in the direction of the steps.
                let distance = match *step > 0 {
                    true => first.wrapping_neg(),
                    false => first,
                };
                let size = step.unsigned_abs();
                // Steps that miss 0 wrap around, so the number of iterations is no longer a quotient.
                (distance % size == 0).then_some(u64::from(distance / size))
            }
        }
    }

    fn word(&mut self, word: &WordPolynomial) -> Option<u32> {
        let mut sum = 0u32;
        for (unknowns, coefficient) in word.terms() {
            let mut product = *coefficient;
            for &id in unknowns {
                product = product.wrapping_mul(self.atom(id)?);
            }
            sum = sum.wrapping_add(product);
        }
        Some(sum)
    }

    fn atom(&mut self, id: AtomId) -> Option<u32> {
        *self.steps = self.steps.checked_sub(1)?;
        let formulas = self.formulas;
        let axis = |axis: &Axis| usize::from(axis.index());
        match formulas.words.symbolic.atoms.get(id) {
            Atom::Special(SpecialReg::LaneId) => Some(self.lane),
            Atom::Special(SpecialReg::ThreadIndex(of)) => Some(self.thread[axis(of)]),
            Atom::Special(SpecialReg::BlockIndex(of)) => Some(self.block[axis(of)]),
            Atom::Constant(bank, address) => {
                let address = self.word(address)?;
                (self.launch.constant)(*bank, address)
            }
            Atom::Iteration(index) => {
                let iteration = match self.iterations.get(index.0).copied().flatten() {
                    Some(iteration) => iteration,
                    // The loop has been left: in its last iteration.
                    None => self.rounds(*index)?,
                };
                (iteration < MAX_ITERATION).then_some(iteration as u32)
            }
            Atom::Unary(op, a) => Some(op.apply(self.word(a)?)),
            Atom::Binary(op, [a, b]) => {
                let (a, b) = (self.word(a)?, self.word(b)?);
                op.apply(a, b)
            }
            Atom::Ternary(op, [a, b, c]) => {
                let (a, b, c) = (self.word(a)?, self.word(b)?, self.word(c)?);
                Some(op.apply(a, b, c))
            }
            Atom::Special(_) | Atom::Value(..) | Atom::Nested(_) => None,
        }
    }
}
