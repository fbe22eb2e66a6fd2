//! Concrete execution of one warp with an activation stack (`warp-cfg-2023` 2), the oracle of the analyses.
//!
//! Control flow follows the stack rules exactly. An operation without a meaning is an uninterpreted function of its
//! inputs: its result is a hash of the run's seed, its address and the values that it reads. A run is therefore a
//! deterministic function of its [`RunSeed`].

mod barriers;

use std::collections::BTreeSet;

use smallvec::SmallVec;
use warpbound_analyse::LaunchContext;
use warpbound_base::CodeAddr;
use warpbound_ir::float::FloatOp;
use warpbound_ir::{
    Cell, Code, ControlEffect, ControlTarget, Expr, FurtherTest, Op, OpIndex, ValueDependence,
};
use warpbound_isa::instr::{MemorySpace, StackToken};
use warpbound_isa::{Axis, SpecialReg};
use warpbound_simt::activation_stack::{ActivationStack, StackEntry};
use warpbound_simt::warp::DivergenceOrder;
use warpbound_simt::{ControlTransfer, ExecutionModel, Mask, Tag, TransferError, lanes_of};

use barriers::BarrierTags;

pub use warpbound_audit::audit::Point;

/// Maximum number of pending stack entries of a run.
const MAX_DEPTH: usize = 32;

/// Order of the sides of a jump on the stack: the order of the list, because each run chooses an order for each
/// divergence.
const ORDER: DivergenceOrder = DivergenceOrder::Any;

/// Planted faults of the machine, to show that the checks catch them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlantedFault {
    /// SYNC, BRK, CONT and RET remove the lanes from the tagged entry as well.
    LosesTaggedEntry,
    /// SYNC, BRK, CONT and RET leave the entries above the tagged one unchanged.
    KeepsEntriesAbove,
    /// EXIT removes lanes from the running entry only.
    ExitKeepsPending,
}

/// Parameters that determine a run.
#[derive(Clone, Copy, Debug)]
pub struct RunSeed {
    /// Seed of all uninterpreted functions.
    pub seed: u64,
    /// Live lanes at the start.
    pub lanes: Mask,
    /// Index in the block of the thread in lane 0.
    pub first_thread: u32,
    /// Whether the fall-through side of a divergent branch runs first; random when `None`.
    pub fall_through_first: Option<bool>,
    /// Number of warp steps after which the run is cut off.
    pub max_steps: usize,
    /// Planted fault of the machine.
    pub fault: Option<PlantedFault>,
}

/// End of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// All lanes exited.
    Finished,
    /// Limit of steps or of stack entries reached.
    Cut,
    /// Pop without an entry of the tag.
    Underflow(Tag),
    /// Next operation missing or without a concrete control effect.
    Stuck,
}

/// Labels of program points, such as calling contexts, and the effect of a call on them.
pub trait Labels {
    /// Type of labels.
    type Label: Copy + PartialEq;
    /// Returns the label of the kernel itself.
    fn start(&self) -> Self::Label;
    /// Returns the label inside `callee` when it is called from `site`.
    fn call(&mut self, caller: Self::Label, site: OpIndex, callee: OpIndex) -> Self::Label;
    /// Returns the label after the indirect jump at a point to an operation.
    fn jump(&self, at: Point<Self::Label>, to: OpIndex) -> Self::Label;
}

/// Empty labels.
pub struct NoLabels;

impl Labels for NoLabels {
    type Label = ();
    fn start(&self) {}
    fn call(&mut self, _: (), _: OpIndex, _: OpIndex) {}
    fn jump(&self, _: Point<()>, _: OpIndex) {}
}

/// One executed warp step, as shown to observers.
pub struct WarpEvent<'a, C> {
    /// Stack before the step; its top entry has the executed operation.
    pub before: &'a ActivationStack<Point<C>>,
    /// Stack after the step.
    pub after: &'a ActivationStack<Point<C>>,
    /// Active lanes whose condition held.
    pub taken: Mask,
    /// Whether all lanes of the running entry left it.
    pub exhausted: bool,
    /// Cell values before the step: `cells[lane][cell]`.
    pub cells: &'a [Vec<u64>],
}

/// State of a warp in a concrete run.
pub struct Warp<'a, L: Labels> {
    code: &'a Code,
    launch: &'a LaunchContext,
    run: RunSeed,
    labels: L,
    stack: ActivationStack<Point<L::Label>>,
    /// Stack entries of convergence barriers.
    barriers: BarrierTags,
    /// Points after the calls of each lane whose return addresses are in registers.
    returns: Vec<Vec<Point<L::Label>>>,
    cells: Vec<Vec<u64>>,
    steps: usize,
    /// Number of functions outside the file that the warp executed.
    external_callees: u64,
    /// Results of warp-wide operations of each lane: recorded in order of execution, or replayed from the end.
    votes: Vec<Vec<u64>>,
    /// Lane whose warp-wide results are replayed.
    replay: Option<usize>,
    /// Whether the kernel's inputs are small numbers.
    has_small_inputs: bool,
}

impl<'a, L: Labels> Warp<'a, L> {
    /// Creates a warp at the start of `code`.
    pub fn new(code: &'a Code, launch: &'a LaunchContext, run: RunSeed, labels: L) -> Self {
        let start = Point {
            op: code.entry,
            label: labels.start(),
        };
        let width = launch.warp_width as usize;
        Warp {
            code,
            launch,
            stack: ActivationStack::new(start, run.lanes, ORDER),
            barriers: BarrierTags::of(code),
            returns: vec![Vec::new(); width],
            // Registers are not initialised: each lane starts with other values, so that they agree in no cell by
            // default.
            cells: (0..width)
                .map(|lane| {
                    (0..Cell::COUNT)
                        .map(|cell| {
                            // A register of the warp has one value, here the value of lane 0. Of a uniform register,
                            // each lane has a copy, and all of them begin with one value.
                            let cell_of = Cell::from_index(cell);
                            let differs = cell_of
                                .is_some_and(|cell| cell.is_per_lane() && !cell.is_uniform());
                            let holder = if differs { lane as u64 } else { 0 };
                            let value = mix(&[run.seed, 1, holder, cell as u64]);
                            reduce_to_cell(cell, value, run.seed)
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
            // Small inputs in most runs, since with random words few loops end. Never with indirect jumps, whose
            // pointers must be addresses of functions.
            has_small_inputs: !mix(&[run.seed, 10]).is_multiple_of(4)
                && !code
                    .ops
                    .iter()
                    .any(|op| matches!(op.control, ControlEffect::Indirect { .. })),
        }
    }

    /// Creates a warp with `lane` as its only live lane, whose warp-wide results are replayed from `recorded`: it must
    /// execute the same operations as that lane in its full warp.
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

    /// Returns the warp-wide results that each lane received, in order.
    pub fn votes(&self) -> &[Vec<u64>] {
        &self.votes
    }

    /// Returns the number of executed warp steps.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Returns the number of functions outside the file that the warp executed: one after the other where lanes call
    /// different ones.
    pub fn external_callees(&self) -> u64 {
        self.external_callees
    }

    /// Runs to the end or to a limit; calls `observe` for each step after its control effect and before its data
    /// effect.
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
            let taken = self.lanes_taken(op, top.mask);
            let before = self.stack.clone();
            let external = self.is_external(op, taken);
            let outcome = self.apply_control_effect(op, top.next, top.mask, taken);
            let removes_lanes = match op.control {
                ControlEffect::Pop(_) | ControlEffect::Exit => true,
                ControlEffect::JoinBarrier(_) => self.barriers.has_effect(top.next.op),
                _ => external,
            };
            let exhausted = removes_lanes && taken == top.mask;
            match outcome {
                Some(Ok(_)) => observe(&WarpEvent {
                    before: &before,
                    after: &self.stack,
                    taken,
                    exhausted,
                    cells: &self.cells,
                }),
                Some(Err(TransferError::MissingEntry(tag))) => return Ending::Underflow(tag),
                Some(Err(
                    TransferError::NotInModel
                    | TransferError::WaitsForEver
                    | TransferError::GathersApart,
                ))
                | None => {
                    return Ending::Stuck;
                }
            }
            let calls_outside = matches!(
                op.control,
                ControlEffect::Call(ControlTarget::External(_))
                    | ControlEffect::LinkedCall(ControlTarget::External(_))
            );
            if external || calls_outside {
                self.external_callees += self.count_callees(op, taken);
                self.clobber(top.next.op, taken);
            }
            self.apply_data_effect(op, top.next.op, taken);
        }
    }

    fn lanes_taken(&mut self, op: &Op, active: Mask) -> Mask {
        let address = u64::from(op.addr.0);
        // A property of the lanes that are active together: a lane alone has the results that it had among them.
        let group = match (op.condition.further, self.replay) {
            (Some(FurtherTest::Group), Some(lane)) => {
                Some(self.votes[lane].pop().unwrap_or_default())
            }
            (Some(FurtherTest::Group), None) => {
                let vote = mix(&[self.run.seed, 11, address, self.steps as u64]);
                for lane in lanes_of(active) {
                    self.votes[lane].push(vote);
                }
                Some(vote)
            }
            _ => None,
        };
        let holds = |lane: &usize| {
            let cells = &self.cells[*lane];
            let guard = op.condition.guard.is_none_or(|p| cells[p.index()] == 1);
            let further = match op.condition.further {
                Some(FurtherTest::Predicate { cell, negated }) => {
                    (cells[cell.index()] == 1) != negated
                }
                Some(FurtherTest::Group) | None => group.is_none_or(|vote| vote & 1 == 0),
            };
            let code = !op.condition.tests_cc()
                || mix(&[self.run.seed, 2, address, cells[Cell::CC.index()]]) & 1 == 0;
            (guard != op.condition.negated) && further && code
        };
        lanes_of(active)
            .filter(holds)
            .fold(0, |m, lane| m | 1 << lane)
    }

    fn apply_control_effect(
        &mut self,
        op: &Op,
        here: Point<L::Label>,
        active: Mask,
        taken: Mask,
    ) -> Option<Result<bool, TransferError>> {
        let point = |op, label| Point { op, label };
        let next = point(OpIndex(here.op.0 + 1), here.label);
        let transfer = match &op.control {
            ControlEffect::Next => ControlTransfer::Next,
            ControlEffect::Jump(ControlTarget::Op(to)) => {
                let parts = vec![(point(*to, here.label), taken), (next, active & !taken)];
                return Some(self.apply_parts(parts, active, next));
            }
            // A function outside the file returns to the entry that PRET pushed.
            ControlEffect::Indirect { .. } if self.is_external(op, taken) => {
                return Some(
                    self.stack
                        .apply(&ControlTransfer::Pop(Tag::Ret), taken, next),
                );
            }
            ControlEffect::Indirect { base, anchor, .. } => {
                let mut targets: Vec<(Point<L::Label>, Mask)> = vec![(next, active & !taken)];
                for lane in lanes_of(taken) {
                    let to = self.indirect_target(*base, *anchor, lane)?;
                    add_lane(&mut targets, point(to, self.labels.jump(here, to)), lane);
                }
                return Some(self.apply_parts(targets, active, next));
            }
            ControlEffect::Call(ControlTarget::Op(callee)) => {
                let label = self.labels.call(here.label, here.op, *callee);
                ControlTransfer::Call(point(*callee, label))
            }
            // An external function returns with all lanes and an unchanged stack.
            ControlEffect::Call(ControlTarget::External(_))
            | ControlEffect::LinkedCall(ControlTarget::External(_)) => ControlTransfer::Next,
            ControlEffect::Push(token, ControlTarget::Op(to)) => ControlTransfer::Push {
                tag: tag_of_token(*token)?,
                resume: point(*to, here.label),
            },
            ControlEffect::Pop(token) => ControlTransfer::Pop(tag_of_token(*token)?),
            ControlEffect::Exit => ControlTransfer::Exit,
            other => return self.apply_barrier_effect(other, here, active, taken),
        };
        Some(self.apply(&transfer, taken, next))
    }

    /// Applies a transfer to the stack, with the planted fault of the run.
    fn apply(
        &mut self,
        transfer: &ControlTransfer<'_, Point<L::Label>>,
        taken: Mask,
        next: Point<L::Label>,
    ) -> Result<bool, TransferError> {
        match (self.run.fault, transfer) {
            (Some(PlantedFault::LosesTaggedEntry), ControlTransfer::Pop(_)) => {
                self.stack.apply(&ControlTransfer::Exit, taken, next)
            }
            (Some(PlantedFault::KeepsEntriesAbove), ControlTransfer::Pop(_))
            | (Some(PlantedFault::ExitKeepsPending), ControlTransfer::Exit) => {
                self.leave_running(taken, next);
                Ok(false)
            }
            _ => self.stack.apply(transfer, taken, next),
        }
    }

    /// Lets parts of the active lanes go on at several points.
    fn apply_parts(
        &mut self,
        parts: Vec<(Point<L::Label>, Mask)>,
        active: Mask,
        next: Point<L::Label>,
    ) -> Result<bool, TransferError> {
        let parts = self.sides(parts);
        self.apply(&ControlTransfer::Indirect(&parts), active, next)
    }

    /// Removes lanes from the running entry and from no other (planted fault).
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
        self.stack = ActivationStack::from_entries(stages, ORDER);
    }

    /// The targets with lanes, in an order determined by the run.
    fn sides<P>(&self, mut targets: Vec<(P, Mask)>) -> Vec<(P, Mask)> {
        targets.retain(|(_, mask)| *mask != 0);
        if targets.len() < 2 {
            return targets;
        }
        let random = mix(&[self.run.seed, 3, self.steps as u64]);
        match self.run.fall_through_first {
            Some(true) => targets.reverse(),
            Some(false) => {}
            None => {
                let turn = random as usize % targets.len();
                targets.rotate_left(turn);
                if random >> 32 & 1 == 1 {
                    targets.reverse();
                }
            }
        }
        targets
    }

    /// Whether an indirect jump leaves the file: to an absolute address, or by a call whose targets are no code of the
    /// file.
    fn is_external(&self, op: &Op, taken: Mask) -> bool {
        let ControlEffect::Indirect {
            base,
            anchor,
            relative,
        } = op.control
        else {
            return false;
        };
        let has_no_target = |lane| self.indirect_target(base, anchor, lane).is_none();
        !relative || self.return_is_pushed() && lanes_of(taken).all(has_no_target)
    }

    /// Whether the topmost pushed entry is a return entry, as for an indirect call.
    fn return_is_pushed(&self) -> bool {
        // NIL entries of lanes that diverged since its push may lie above it.
        let mut tags = self.stack.pending().iter().rev().map(|entry| entry.tag);
        tags.find(|&tag| tag != Tag::Nil) == Some(Tag::Ret)
    }

    fn indirect_target(&self, base: Option<Cell>, anchor: i64, lane: usize) -> Option<OpIndex> {
        let word = base.map_or(0, |cell| self.cells[lane][cell.index()]);
        let addr = i64::from(word as u32 as i32) + anchor;
        self.code.at(CodeAddr(u32::try_from(addr).ok()?))
    }

    /// Number of distinct pointers through which the lanes `taken` call.
    fn count_callees(&self, op: &Op, taken: Mask) -> u64 {
        let base = match op.control {
            ControlEffect::Indirect { base, .. } => base,
            _ => None,
        };
        let pointer = |lane: usize| base.map(|cell| self.cells[lane][cell.index()]);
        lanes_of(taken).map(pointer).collect::<BTreeSet<_>>().len() as u64
    }

    /// Overwrites all cells of the lanes `taken`: a function outside the file may change any of them.
    fn clobber(&mut self, at: OpIndex, taken: Mask) {
        for lane in lanes_of(taken) {
            for cell in 0..Cell::COUNT {
                let old = self.cells[lane][cell];
                let new = mix(&[self.run.seed, 8, at.0.into(), lane as u64, cell as u64, old]);
                self.cells[lane][cell] = reduce_to_cell(cell, new, self.run.seed);
            }
        }
    }

    /// Value of SR_TID.X, SR_TID.Y or SR_TID.Z in a lane; `None` for other operations or an unknown block shape.
    fn thread_index_value(&self, value: ValueDependence, lane: usize) -> Option<u64> {
        let ValueDependence::Special(SpecialReg::ThreadIndex(axis)) = value else {
            return None;
        };
        let number = self.run.first_thread + lane as u32;
        let index = thread_index(self.launch.block?, number)?;
        index.get(usize::from(axis.index())).copied().map(u64::from)
    }

    /// Applies the data effect of an operation in the lanes `taken`.
    fn apply_data_effect(&mut self, op: &Op, at: OpIndex, taken: Mask) {
        if op.writes.is_empty() {
            return;
        }
        let seed = self.run.seed;
        let site = u64::from(at.0);
        for lane in lanes_of(taken) {
            let id = lane as u64;
            let mut inputs = vec![seed, 4, site];
            match op.value {
                ValueDependence::Uniform => {
                    let vote = if self.replay == Some(lane) {
                        self.votes[lane].pop().unwrap_or_default()
                    } else {
                        let vote = mix(&[seed, 5, site, self.steps as u64]);
                        self.votes[lane].push(vote);
                        vote
                    };
                    inputs.push(vote);
                }
                ValueDependence::Special(register) => {
                    inputs.push(number_of(register));
                    let agrees = LaunchContext {
                        global_is_stable: true,
                        ..*self.launch
                    };
                    if !is_warp_uniform(register, &agrees) {
                        inputs.push(id);
                    }
                }
                ValueDependence::Lane
                | ValueDependence::Load(MemorySpace::Local | MemorySpace::Generic) => {
                    inputs.push(id)
                }
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
                        Some(value) => u64::from(evaluate(
                            value,
                            cells,
                            self.code,
                            seed,
                            self.has_small_inputs,
                        )),
                        None => {
                            inputs.push(i);
                            let unknown = mix(&inputs);
                            inputs.pop();
                            let is_given = matches!(
                                op.value,
                                ValueDependence::Special(_) | ValueDependence::Load(_)
                            );
                            let value = reduce_input(unknown, is_given && self.has_small_inputs);
                            let own = self.thread_index_value(op.value, lane);
                            own.unwrap_or(reduce_to_cell(cell.index(), value, seed ^ site))
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

/// Adds a lane to the part that goes on at a point.
fn add_lane<P: PartialEq>(parts: &mut Vec<(P, Mask)>, to: P, lane: usize) {
    match parts.iter_mut().find(|(point, _)| *point == to) {
        Some((_, mask)) => *mask |= 1 << lane,
        None => parts.push((to, 1 << lane)),
    }
}

/// Index (x, y, z) of thread `number` of a block, found by enumeration with x fastest.
///
/// Source: CUDA C++ Programming Guide, thread hierarchy: thread (x, y, z) of a block of Dx times Dy times Dz has number
/// x + y Dx + z Dx Dy.
fn thread_index([dx, dy, dz]: [u32; 3], number: u32) -> Option<[u32; 3]> {
    let all = (0..dz).flat_map(|z| (0..dy).flat_map(move |y| (0..dx).map(move |x| [x, y, z])));
    all.into_iter().nth(number as usize)
}

/// Number that stands for a special register in random values: the one of S2R.
fn number_of(register: SpecialReg) -> u64 {
    match register {
        SpecialReg::LaneId => 0,
        SpecialReg::ThreadIndex(axis) => 33 + u64::from(axis.index()),
        SpecialReg::BlockIndex(axis) => 37 + u64::from(axis.index()),
        SpecialReg::Other(number) => number.into(),
        // No generated program reads another.
        _ => 255,
    }
}

/// Whether all lanes of a warp read the same value of a special register. A second definition on purpose: the analysis
/// must not define the machine for its own oracle.
fn is_warp_uniform(register: SpecialReg, launch: &LaunchContext) -> bool {
    let rows = |n: u64| n > 0 && n.is_multiple_of(u64::from(launch.warp_width));
    match (register, launch.block) {
        (
            SpecialReg::VirtualId
            | SpecialReg::BlockIndex(_)
            | SpecialReg::BlockSize
            | SpecialReg::SharedSize
            | SpecialReg::StackLimit,
            _,
        ) => true,
        (SpecialReg::ThreadIndex(Axis::Y), Some([x, ..])) => rows(x.into()),
        (SpecialReg::ThreadIndex(Axis::Z), Some([x, y, _])) => rows(u64::from(x) * u64::from(y)),
        _ => false,
    }
}

fn tag_of_token(token: StackToken) -> Option<Tag> {
    Some(match token {
        StackToken::Sync => Tag::Sync,
        StackToken::Brk => Tag::Brk,
        StackToken::Cont => Tag::Cont,
        StackToken::Ret => Tag::Ret,
        StackToken::LongJmp | StackToken::Exit => return None,
    })
}

/// Reduces a random value to the range of a cell: predicates to 0 or 1, with a probability that depends on `salt`;
/// other cells to 32 bits.
fn reduce_to_cell(cell: usize, value: u64, salt: u64) -> u64 {
    let is_predicate = (256..264).contains(&cell);
    if is_predicate {
        u64::from(value % 8 < 1 + mix(&[salt, 6]) % 7)
    } else {
        value & 0xffff_ffff
    }
}

/// Reduces a random input of a kernel to a number below 40 if inputs are small, so that loops over it end.
fn reduce_input(value: u64, small: bool) -> u64 {
    if small { value % 40 } else { value }
}

/// Value of an expression in one lane. Constant memory that the binary does not define is an uninterpreted function of
/// its address.
fn evaluate(expr: &Expr, cells: &[u64], code: &Code, seed: u64, small: bool) -> u32 {
    let eval = |e: &Expr| evaluate(e, cells, code, seed, small);
    match expr {
        Expr::Const(n) => *n,
        Expr::Cell(cell) => cells[cell.index()] as u32,
        Expr::Constant(bank, address) => {
            let address = eval(address);
            let unknown = mix(&[seed, 7, (*bank).into(), address.into()]);
            code.constant(*bank, address.into())
                .or_else(|| random_function_address(code, *bank, unknown))
                .unwrap_or(reduce_input(unknown, small) as u32)
        }
        // No generated program reads it.
        Expr::ThreadId => 0,
        Expr::Special(register) => mix(&[seed, 9, number_of(*register)]) as u32,
        Expr::Unary(op, a) => op.apply(eval(a)),
        Expr::Binary(op, a, b) => op.apply(eval(a), eval(b)).unwrap_or(0),
        Expr::Ternary(op, a, b, c) => op.apply(eval(a), eval(b), eval(c)),
        Expr::Float(op, operands, half) => {
            let mut words = [0; FloatOp::MAX_WORDS];
            for (word, operand) in words.iter_mut().zip(operands) {
                *word = eval(operand);
            }
            half.of(op.apply(words))
        }
        // Generated programs are NVIDIA's, which have neither.
        Expr::Ballot(..) | Expr::FromLane(..) => 0,
    }
}

/// Returns the address of a random function that a constant bank of the binary holds: a random read of such a bank is
/// most likely a look-up in a table of functions. `None` if the bank is undefined or holds no such address.
fn random_function_address(code: &Code, bank: u8, random: u64) -> Option<u32> {
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

/// Hashes several numbers (SplitMix64 steps).
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
