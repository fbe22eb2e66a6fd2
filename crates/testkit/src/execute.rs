//! A concrete warp. Each operation without a meaning is an unknown but fixed function
//! of what it reads. Control flow follows the SIMT rules exactly.

use std::collections::BTreeSet;

use smallvec::SmallVec;
use warpbound_analyse::LaunchContext;
use warpbound_base::CodeAddr;
use warpbound_ir::float::FloatOp;
use warpbound_ir::{Cell, Code, ControlEffect, Expr, Op, OpIndex, ControlTarget, ValueDependence};
use warpbound_isa::instr::{MemorySpace, StackToken};
use warpbound_simt::Tag;
use warpbound_simt::concrete::{ActivationStack, Mask, NoMatchingEntry, StackEntry};

use crate::audit::lanes;

pub use warpbound_driver::audit::Point;

/// Runs stop when this many entries are pending.
const MAX_DEPTH: usize = 32;

/// Machines that are wrong on purpose, to show that the checks bite.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlantedFault {
    /// SYNC, BRK, CONT and RET take the lanes out of the tagged entry as well.
    LosesTaggedEntry,
    /// They leave the entries above the tagged one as they are.
    KeepsEntriesAbove,
    /// EXIT removes lanes from the running entry only.
    ExitKeepsPending,
}

/// What makes one run differ from another.
#[derive(Clone, Copy, Debug)]
pub struct RunSeed {
    /// Seed of all uninterpreted functions.
    pub seed: u64,
    /// Lanes that are live at the start.
    pub lanes: Mask,
    /// The number in its block of the thread in lane 0.
    pub first_thread: u32,
    /// The fall-through side of a divergent branch runs first; random when `None`.
    pub fall_through_first: Option<bool>,
    /// Stop after this many warp steps.
    pub max_steps: usize,
    /// The machine is wrong in this way.
    pub fault: Option<PlantedFault>,
}

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// All lanes exited.
    Finished,
    /// The limit of steps or of stack entries was reached.
    Cut,
    /// A pop found no entry.
    Underflow(Tag),
    /// A lane would execute what has no operation or no concrete meaning.
    Stuck,
}

/// How to label points: what a call does to the label.
pub trait Labels {
    /// The label type.
    type Label: Copy + PartialEq;
    /// Label of the kernel itself.
    fn start(&self) -> Self::Label;
    /// Label inside `callee` when called from `site`.
    fn call(&mut self, caller: Self::Label, site: OpIndex, callee: OpIndex) -> Self::Label;
}

/// Labels of runs that need none.
pub struct NoLabels;

impl Labels for NoLabels {
    type Label = ();
    fn start(&self) {}
    fn call(&mut self, _: (), _: OpIndex, _: OpIndex) {}
}

/// One executed warp step, as observers see it.
pub struct WarpEvent<'a, C> {
    /// The stack before the step; its top is the operation executed.
    pub before: &'a ActivationStack<Point<C>>,
    /// The stack after it.
    pub after: &'a ActivationStack<Point<C>>,
    /// Lanes for which the condition held.
    pub taken: Mask,
    /// The running entry was left by all its lanes.
    pub exhausted: bool,
    /// Cell values before the step: `cells[lane][cell]`.
    pub cells: &'a [Vec<u64>],
}

/// A warp.
pub struct Warp<'a, L: Labels> {
    code: &'a Code,
    launch: &'a LaunchContext,
    run: RunSeed,
    labels: L,
    stack: ActivationStack<Point<L::Label>>,
    cells: Vec<Vec<u64>>,
    steps: usize,
    /// Functions outside the file that were issued.
    external_callees: u64,
    /// Results of warp-wide operations per lane, in order: recorded, or replayed.
    votes: Vec<Vec<u64>>,
    replay: Option<usize>,
    /// The kernel is given small numbers.
    small: bool,
}

impl<'a, L: Labels> Warp<'a, L> {
    /// A warp at the start of `code`.
    pub fn new(code: &'a Code, launch: &'a LaunchContext, run: RunSeed, labels: L) -> Self {
        let start = Point {
            op: code.entry,
            label: labels.start(),
        };
        let width = launch.warp_width as usize;
        Warp {
            code,
            launch,
            stack: ActivationStack::new(start, run.lanes),
            // What registers hold at the start differs in every lane.
            cells: (0..width)
                .map(|lane| {
                    (0..Cell::COUNT)
                        .map(|cell| {
                            let value = mix(&[run.seed, 1, lane as u64, cell as u64]);
                            normal(cell, value, run.seed)
                        })
                        .collect()
                })
                .collect(),
            run,
            labels,
            steps: 0,
            external_callees: 0,
            votes: vec![Vec::new(); width],
            replay: None,
            // In most runs: else few loops end. Never where it jumps through a pointer, which must name a function.
            small: !mix(&[run.seed, 10]).is_multiple_of(4)
                && !code
                    .ops
                    .iter()
                    .any(|op| matches!(op.control, ControlEffect::Indirect { .. })),
        }
    }

    /// The same lane alone: one live lane, warp-wide results replayed from `recorded`.
    pub fn solo(
        code: &'a Code,
        launch: &'a LaunchContext,
        run: RunSeed,
        lane: usize,
        recorded: &[u64],
        labels: L,
    ) -> Self {
        let run = RunSeed {
            lanes: 1 << lane,
            ..run
        };
        let mut warp = Warp::new(code, launch, run, labels);
        warp.votes[lane] = recorded.iter().rev().copied().collect();
        warp.replay = Some(lane);
        warp
    }

    /// Warp-wide results that each lane received, in order.
    pub fn votes(&self) -> &[Vec<u64>] {
        &self.votes
    }

    /// Warp steps executed.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Functions outside the file that the warp issued: one after the other where its lanes call different ones.
    pub fn external_callees(&self) -> u64 {
        self.external_callees
    }

    /// Runs to an end, showing each step to `observe`.
    pub fn run(&mut self, mut observe: impl FnMut(&WarpEvent<'_, L::Label>)) -> Ending {
        loop {
            let Some(top) = self.stack.top().copied() else {
                return Ending::Finished;
            };
            let too_deep = self.stack.pending().len() > MAX_DEPTH;
            if self.steps >= self.run.max_steps || too_deep {
                return Ending::Cut;
            }
            self.steps += 1;
            let Some(op) = self.code.get(top.next.op) else {
                return Ending::Stuck;
            };
            let taken = self.condition(op, top.mask);
            let before = self.stack.clone();
            let external = self.is_external(op, taken);
            let outcome = self.control(op, top.next, top.mask, taken);
            let leaves = matches!(op.control, ControlEffect::Unwind(_) | ControlEffect::Exit) || external;
            let exhausted = leaves && taken == top.mask;
            match outcome {
                Some(Ok(())) => observe(&WarpEvent {
                    before: &before,
                    after: &self.stack,
                    taken,
                    exhausted,
                    cells: &self.cells,
                }),
                Some(Err(NoMatchingEntry { tag })) => return Ending::Underflow(tag),
                None => return Ending::Stuck,
            }
            let calls_outside = matches!(op.control, ControlEffect::Call(ControlTarget::External(_)));
            if external || calls_outside {
                self.external_callees += self.callees(op, taken);
                self.clobber(top.next.op, taken);
            }
            self.data(op, top.next.op, taken);
        }
    }

    fn condition(&self, op: &Op, active: Mask) -> Mask {
        let holds = |lane: &usize| {
            let cells = &self.cells[*lane];
            let guard = op.condition.guard.is_none_or(|p| cells[p.index()] == 1);
            let cc = !op.condition.tests_cc()
                || mix(&[self.run.seed, 2, op.addr.0.into(), cells[Cell::CC.index()]]) & 1 == 0;
            (guard != op.condition.negated) && cc
        };
        lanes(active).filter(holds).fold(0, |m, lane| m | 1 << lane)
    }

    fn control(
        &mut self,
        op: &Op,
        here: Point<L::Label>,
        active: Mask,
        taken: Mask,
    ) -> Option<Result<(), NoMatchingEntry>> {
        let point = |op, label| Point { op, label };
        let next = point(OpIndex(here.op.0 + 1), here.label);
        match &op.control {
            ControlEffect::Next => self.stack.advance(next),
            ControlEffect::Jump(ControlTarget::Op(to)) => {
                let to = point(*to, here.label);
                self.split(vec![(to, taken), (next, active & !taken)]);
            }
            // A function outside the file: its lanes return to the entry that PRET pushed.
            ControlEffect::Indirect { .. } if self.is_external(op, taken) => {
                return Some(self.stack.unwind(Tag::Ret, taken, next));
            }
            ControlEffect::Indirect { base, anchor, .. } => {
                let mut ways: Vec<(Point<L::Label>, Mask)> = vec![(next, active & !taken)];
                for lane in lanes(taken) {
                    let to = self.indirect_target(*base, *anchor, lane)?;
                    // A jump to a function behind a PRET is a call.
                    let is_call = self.code.function_at(to).is_some() && self.return_is_pushed();
                    let label = if is_call {
                        self.labels.call(here.label, here.op, to)
                    } else {
                        here.label
                    };
                    let to = point(to, label);
                    match ways.iter_mut().find(|(p, _)| *p == to) {
                        Some((_, mask)) => *mask |= 1 << lane,
                        None => ways.push((to, 1 << lane)),
                    }
                }
                self.split(ways);
            }
            ControlEffect::Call(ControlTarget::Op(callee)) => {
                let label = self.labels.call(here.label, here.op, *callee);
                self.stack.push(Tag::Ret, next, point(*callee, label));
            }
            // It returns with all its lanes and the stack as it was.
            ControlEffect::Call(ControlTarget::External(_)) => self.stack.advance(next),
            ControlEffect::Push(token, ControlTarget::Op(to)) => {
                self.stack.push(tag(*token)?, point(*to, here.label), next);
            }
            ControlEffect::Unwind(token) => return Some(self.unwind(tag(*token)?, taken, next)),
            ControlEffect::Exit if self.run.fault == Some(PlantedFault::ExitKeepsPending) => {
                self.leave_running(taken, next);
            }
            ControlEffect::Exit => self.stack.exit(taken, next),
            _ => return None,
        }
        Some(Ok(()))
    }

    fn unwind(
        &mut self,
        tag: Tag,
        taken: Mask,
        next: Point<L::Label>,
    ) -> Result<(), NoMatchingEntry> {
        match self.run.fault {
            Some(PlantedFault::LosesTaggedEntry) => {
                self.stack.exit(taken, next);
                Ok(())
            }
            Some(PlantedFault::KeepsEntriesAbove) => {
                self.leave_running(taken, next);
                Ok(())
            }
            _ => self.stack.unwind(tag, taken, next),
        }
    }

    /// What no machine does: lanes leave the running entry and no other.
    fn leave_running(&mut self, taken: Mask, next: Point<L::Label>) {
        let Some(top) = self.stack.top().copied() else {
            return;
        };
        let mut stages = self.stack.pending().to_vec();
        stages.push(StackEntry {
            next,
            mask: top.mask & !taken,
            ..top
        });
        self.stack = ActivationStack::from_stages(stages);
    }

    /// Sends lanes several ways, in an order that the run chooses.
    fn split(&mut self, mut ways: Vec<(Point<L::Label>, Mask)>) {
        ways.retain(|(_, mask)| *mask != 0);
        if let [(to, _)] = ways[..] {
            self.stack.advance(to);
            return;
        }
        let random = mix(&[self.run.seed, 3, self.steps as u64]);
        match self.run.fall_through_first {
            Some(true) => ways.reverse(),
            Some(false) => {}
            None => {
                let turn = random as usize % ways.len();
                ways.rotate_left(turn);
                if random >> 32 & 1 == 1 {
                    ways.reverse();
                }
            }
        }
        self.stack.diverge(&ways);
    }

    /// A jump to an absolute address leaves the file, and so does a call of what is no code of the file.
    fn is_external(&self, op: &Op, taken: Mask) -> bool {
        let ControlEffect::Indirect {
            base,
            anchor,
            relative,
        } = op.control
        else {
            return false;
        };
        let nowhere = |lane| self.indirect_target(base, anchor, lane).is_none();
        !relative || self.return_is_pushed() && lanes(taken).all(nowhere)
    }

    /// A return entry was pushed for the next jump.
    fn return_is_pushed(&self) -> bool {
        self.stack.topmost_tag() == Some(Tag::Ret)
    }

    fn indirect_target(&self, base: Option<Cell>, anchor: i64, lane: usize) -> Option<OpIndex> {
        let word = base.map_or(0, |cell| self.cells[lane][cell.index()]);
        let addr = i64::from(word as u32 as i32) + anchor;
        self.code.at(CodeAddr(u32::try_from(addr).ok()?))
    }

    /// Different pointers that the lanes `taken` call.
    fn callees(&self, op: &Op, taken: Mask) -> u64 {
        let base = match op.control {
            ControlEffect::Indirect { base, .. } => base,
            _ => None,
        };
        let pointer = |lane: usize| base.map(|cell| self.cells[lane][cell.index()]);
        lanes(taken).map(pointer).collect::<BTreeSet<_>>().len() as u64
    }

    /// A function outside the file may leave anything in any cell.
    fn clobber(&mut self, at: OpIndex, taken: Mask) {
        for lane in lanes(taken) {
            for cell in 0..Cell::COUNT {
                let old = self.cells[lane][cell];
                let new = mix(&[self.run.seed, 8, at.0.into(), lane as u64, cell as u64, old]);
                self.cells[lane][cell] = normal(cell, new, self.run.seed);
            }
        }
    }

    /// What a lane reads as its place in x, y or z, where the block is known.
    fn place_of_thread(&self, value: ValueDependence, lane: usize) -> Option<u64> {
        let ValueDependence::Special(register @ 33..=35) = value else {
            return None;
        };
        let number = self.run.first_thread + lane as u32;
        let place = place(self.launch.block?, number)?;
        place
            .get(usize::from(register - 33))
            .copied()
            .map(u64::from)
    }

    /// The data effect, in the lanes `taken`.
    fn data(&mut self, op: &Op, at: OpIndex, taken: Mask) {
        if op.writes.is_empty() {
            return;
        }
        let seed = self.run.seed;
        let place = u64::from(at.0);
        for lane in lanes(taken) {
            let id = lane as u64;
            let mut inputs = vec![seed, 4, place];
            match op.value {
                ValueDependence::Uniform => {
                    let vote = if self.replay == Some(lane) {
                        self.votes[lane].pop().unwrap_or_default()
                    } else {
                        let vote = mix(&[seed, 5, place, self.steps as u64]);
                        self.votes[lane].push(vote);
                        vote
                    };
                    inputs.push(vote);
                }
                ValueDependence::Special(register) => {
                    inputs.push(register.into());
                    let agrees = LaunchContext {
                        global_is_stable: true,
                        ..*self.launch
                    };
                    if !special_is_uniform(register, &agrees) {
                        inputs.push(id);
                    }
                }
                ValueDependence::Lane | ValueDependence::Load(MemorySpace::Local | MemorySpace::Generic) => inputs.push(id),
                ValueDependence::Function | ValueDependence::Load(_) => {}
            }
            let reads = op.reads.iter().map(|c| self.cells[lane][c.index()]);
            if op.value != ValueDependence::Uniform {
                inputs.extend(reads);
            }
            let cells = &self.cells[lane];
            let values: SmallVec<[u64; 4]> = (0u64..)
                .zip(&op.writes)
                .map(|(i, &cell)| {
                    let meaning = op.meaning.as_ref();
                    match meaning.and_then(|meaning| meaning.value_of(cell)) {
                        Some(value) => {
                            u64::from(evaluate(value, cells, self.code, seed, self.small))
                        }
                        None => {
                            inputs.push(i);
                            let unknown = mix(&inputs);
                            inputs.pop();
                            let is_given = matches!(op.value, ValueDependence::Special(_) | ValueDependence::Load(_));
                            let value = given(unknown, is_given && self.small);
                            let own = self.place_of_thread(op.value, lane);
                            own.unwrap_or(normal(cell.index(), value, seed ^ place))
                        }
                    }
                })
                .collect();
            for (cell, value) in op.writes.iter().zip(values) {
                self.cells[lane][cell.index()] = value;
            }
        }
    }
}

/// Counts the threads of a block, x fastest, to the one of this number.
///
/// Source: CUDA C++ Programming Guide, thread hierarchy: the thread (x, y, z) of a block of Dx times Dy times Dz is that of
/// number x + y Dx + z Dx Dy.
fn place([dx, dy, dz]: [u32; 3], number: u32) -> Option<[u32; 3]> {
    let all = (0..dz).flat_map(|z| (0..dy).flat_map(move |y| (0..dx).map(move |x| [x, y, z])));
    all.into_iter().nth(number as usize)
}

/// Written out a second time on purpose: which special registers a warp shares is a fact of the
/// machine that the analysis must not define for its own oracle.
fn special_is_uniform(register: u8, launch: &LaunchContext) -> bool {
    let rows = |n: u64| n > 0 && n.is_multiple_of(u64::from(launch.warp_width));
    match (register, launch.block) {
        (3 | 37 | 38 | 39 | 40 | 50, _) => true,
        (34, Some([x, ..])) => rows(x.into()),
        (35, Some([x, y, _])) => rows(u64::from(x) * u64::from(y)),
        _ => false,
    }
}

fn tag(token: StackToken) -> Option<Tag> {
    Some(match token {
        StackToken::Sync => Tag::Sync,
        StackToken::Brk => Tag::Brk,
        StackToken::Cont => Tag::Cont,
        StackToken::Ret => Tag::Ret,
        StackToken::LongJmp | StackToken::Exit => return None,
    })
}

/// Predicates hold 0 or 1, the more often 1 the less likely loops end; registers hold 32 bits.
fn normal(cell: usize, value: u64, salt: u64) -> u64 {
    let is_predicate = (256..264).contains(&cell);
    if is_predicate {
        u64::from(value % 8 < 1 + mix(&[salt, 6]) % 7)
    } else {
        value & 0xffff_ffff
    }
}

/// What a kernel is given: sizes and places that it can count through, or anything.
fn given(value: u64, small: bool) -> u64 {
    if small { value % 40 } else { value }
}

/// The value of an expression in one lane; constant memory that the binary does not fix is an
/// uninterpreted function of its address.
fn evaluate(expr: &Expr, cells: &[u64], code: &Code, seed: u64, small: bool) -> u32 {
    let eval = |e: &Expr| evaluate(e, cells, code, seed, small);
    match expr {
        Expr::Const(n) => *n,
        Expr::Cell(cell) => cells[cell.index()] as u32,
        Expr::Constant(bank, address) => {
            let address = eval(address);
            let unknown = mix(&[seed, 7, (*bank).into(), address.into()]);
            code.constant(*bank, address.into())
                .or_else(|| some_function(code, *bank, unknown))
                .unwrap_or(given(unknown, small) as u32)
        }
        // No generated program asks for it.
        Expr::ThreadId => 0,
        Expr::Special(register) => mix(&[seed, 9, (*register).into()]) as u32,
        Expr::Unary(op, a) => op.apply(eval(a)),
        Expr::Binary(op, a, b) => op.apply(eval(a), eval(b)).unwrap_or(0),
        Expr::Ternary(op, a, b, c) => op.apply(eval(a), eval(b), eval(c)),
        Expr::Float(op, operands, half) => {
            let mut words = [0; FloatOp::MOST_WORDS];
            for (word, operand) in words.iter_mut().zip(operands) {
                *word = eval(operand);
            }
            half.of(op.apply(words))
        }
    }
}

/// A random word of a bank that the binary fixes is most likely an index into a table of functions.
fn some_function(code: &Code, bank: u8, random: u64) -> Option<u32> {
    let (_, bytes) = code.constants.iter().find(|(b, _)| *b == bank)?;
    let is_function = |word: &u32| {
        let at = code.at(CodeAddr(*word));
        at.is_some_and(|op| op != code.entry && code.function_at(op).is_some())
    };
    let words = bytes
        .as_chunks::<4>()
        .0
        .iter()
        .map(|w| u32::from_le_bytes(*w));
    let functions: Vec<u32> = words.filter(is_function).collect();
    functions
        .get(random.checked_rem(functions.len() as u64)? as usize)
        .copied()
}

/// A hash of several numbers (splitmix64 steps).
pub fn mix(parts: &[u64]) -> u64 {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for &part in parts {
        state = state.wrapping_add(part).wrapping_add(0x9e37_79b9_7f4a_7c15);
        state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        state ^= state >> 31;
    }
    state
}
