//! Random structured programs on the functional simulator: instructions are translated to operations of AMD's machines,
//! and each step and the result are compared with the machine of this module.

use fastrand::Rng;
use smallvec::{SmallVec, smallvec};
use warpbound_base::{CodeAddr, Family};
use warpbound_ir::{
    Address, BinaryOp, Cell, Code, ControlEffect, ControlTarget, ExecCondition, Expr, Meaning, Op,
    OpIndex, OpScope, TernaryOp, UnaryOp, ValueDependence, Width, WordHalf,
};
use warpbound_isa::instr::MemorySpace;
use warpbound_isa::{Reg, SpecialReg};
use warpbound_launch::{GlobalMemory, Launch, PathOrder, WaveEntry};
use warpbound_load::GcnDescriptor;
use warpbound_simt::{ExecutionModel, Mask};
use warpbound_simulate::functional::{ExecutionListener, Issue, WaveModel, launch_waves};

use super::audit::random_inputs;
use super::compile::compile;
use super::machine::{LANES, VectorFile, Wavefront};
use super::{
    BranchCondition, LaneComparison, LaneOp, LaneOperand, MaskInstr, MaskOp, MaskProgram, MaskReg,
    SCALARS, VECTORS, generate,
};

/// Results of runs on the simulator.
#[derive(Clone, Copy, Debug, Default)]
pub struct SimulatedRuns {
    /// Number of runs.
    pub runs: usize,
    /// Number of compared steps.
    pub steps: u64,
    /// Number of these without active lanes.
    pub empty_steps: u64,
    /// Number of runs that differ.
    pub differences: usize,
}

/// Runs random programs on the simulator and on the machine of this module.
pub fn simulate(seed: u64, programs: usize, inputs: usize) -> SimulatedRuns {
    let mut rng = Rng::with_seed(seed);
    let mut found = SimulatedRuns::default();
    for _ in 0..programs {
        let program = compile(&generate::program(&mut rng), None);
        for _ in 0..inputs {
            let (live, vectors) = random_inputs(&mut rng);
            found.runs += 1;
            if !is_same(&program, live, &vectors, &mut found) {
                found.differences += 1;
            }
        }
    }
    found
}

/// Listener that compares each step of the program with the step of the other machine.
struct StepCheck<'a> {
    wave: Wavefront<'a>,
    /// Operations of the program: the first, and the one after the last.
    body: [u32; 2],
    steps: u64,
    empty_steps: u64,
    is_same: bool,
}

impl ExecutionListener<WaveModel> for StepCheck<'_> {
    fn issue(&mut self, issue: &Issue<'_, WaveModel>) -> bool {
        let [first, end] = self.body;
        if issue.at.0 >= first && issue.at.0 < end {
            self.is_same &= self.wave.running() == Some((issue.at.0 - first, issue.active));
            self.is_same &= issue.model().running() == Some((issue.at.0, issue.active));
            self.steps += 1;
            self.empty_steps += u64::from(issue.active == 0);
            self.wave.step();
        }
        self.is_same
    }
}

/// Whether a run on the simulator is the same as on the machine of this module.
fn is_same(
    program: &MaskProgram,
    live: Mask,
    vectors: &VectorFile,
    found: &mut SimulatedRuns,
) -> bool {
    let wave = Wavefront::new(program, live, vectors, None);
    let mut memory = GlobalMemory::default();
    let flat = vectors.as_flattened().iter();
    let base = memory.add(
        "vectors",
        flat.flat_map(|word| word.to_le_bytes()).collect(),
    );
    let (code, body) = translate(program, live, &wave.scalars, base);
    let launch = launch_of_one_wave();
    let mut check = StepCheck {
        wave,
        body,
        steps: 0,
        empty_steps: 0,
        is_same: true,
    };
    let result = launch_waves(&code, &launch, &mut memory, &mut check);
    found.steps += check.steps;
    found.empty_steps += check.empty_steps;
    let expected = check.wave.vectors.as_flattened().iter();
    let expected = expected.flat_map(|word| word.to_le_bytes());
    let is_stored = memory.buffers()[0].bytes.iter().copied().eq(expected);
    result.is_ok() && check.is_same && check.wave.running().is_none() && is_stored
}

/// Launch of one wave with all its lanes.
pub(super) fn launch_of_one_wave() -> Launch {
    Launch {
        grid: [1; 3],
        block: [LANES as u32, 1, 1],
        shared: 0,
        local: 0,
        constants: Vec::new(),
        textures: Vec::new(),
        surfaces: Vec::new(),
        max_instructions: 1 << 20,
        order: PathOrder::TakenFirst,
        wave_entry: Some(WaveEntry::new(
            GcnDescriptor::default(),
            [[LANES as u32, 1, 1], [1; 3]],
            Vec::new(),
            0,
            0,
        )),
    }
}

/// Words of a mask register.
fn words(mask: MaskReg) -> [Cell; 2] {
    match mask {
        MaskReg::Exec => Cell::EXEC_WORDS,
        MaskReg::Scalar(number) => [0, 1].map(|half| Cell::scalar(2 * number + half)),
    }
}

fn op(scope: OpScope, meaning: Meaning, control: ControlEffect) -> Op {
    let writes: SmallVec<[Cell; 4]> = match &meaning {
        Meaning::Set(writes) => writes.iter().map(|(cell, _)| *cell).collect(),
        Meaning::Load { dests, .. } => dests.iter().flatten().copied().collect(),
        _ => SmallVec::new(),
    };
    let mut reads = SmallVec::new();
    if let Meaning::Set(values) = &meaning {
        for (_, value) in values {
            value.for_each_cell(&|_| true, &mut |cell| reads.push(cell));
        }
    }
    Op {
        addr: CodeAddr(0),
        condition: ExecCondition::ALWAYS,
        reads,
        writes,
        // Addresses depend on the lane.
        value: match &meaning {
            Meaning::Load { .. } => ValueDependence::Lane,
            _ => ValueDependence::Function,
        },
        control,
        barrier: false,
        scope,
        meaning: Some(meaning),
    }
}

/// Writes two words, once for the wave. The active lanes change if these are the words of EXEC.
fn set_mask(dest: [Cell; 2], values: [Expr; 2], more: Vec<(Cell, Expr)>) -> Op {
    let control = match dest == Cell::EXEC_WORDS {
        true => ControlEffect::SetActive(Cell::of(Reg::EXEC)),
        false => ControlEffect::Next,
    };
    let writes = dest.into_iter().zip(values).chain(more).collect();
    op(OpScope::Warp, Meaning::Set(writes), control)
}

fn constants(mask: Mask) -> [Expr; 2] {
    [mask as u32, (mask >> 32) as u32].map(Expr::Const)
}

/// Address of the word of the own lane of a vector register.
fn address(base: u64, vector: u8) -> Address {
    let row = u64::from(vector) * 4 * LANES as u64;
    let lane = Expr::binary(
        BinaryOp::Shl,
        Expr::Special(SpecialReg::LaneId),
        Expr::Const(2),
    );
    Address {
        low: Expr::binary(BinaryOp::Add, Expr::Const((base + row) as u32), lane),
        high: Some(Expr::Const((base >> 32) as u32)),
        buffer: None,
        second_half: None,
    }
}

/// Translates a program, between loads and stores of all vector registers; also returns where it is.
pub(super) fn translate(
    program: &MaskProgram,
    live: Mask,
    scalars: &[u64; SCALARS],
    base: u64,
) -> (Code, [u32; 2]) {
    let mut ops = Vec::new();
    for vector in 0..VECTORS as u8 {
        let load = Meaning::Load {
            dests: smallvec![Some(Cell::gpr(vector))],
            width: Width::Words,
            space: MemorySpace::Global,
            address: address(base, vector),
        };
        ops.push(op(OpScope::Lane, load, ControlEffect::Next));
    }
    for (number, value) in (0..).zip(scalars) {
        ops.push(set_mask(
            words(MaskReg::Scalar(number)),
            constants(*value),
            Vec::new(),
        ));
    }
    ops.push(set_mask(Cell::EXEC_WORDS, constants(live), Vec::new()));
    let first = ops.len() as u32;
    let end = first + program.instrs.len() as u32;
    let instrs = program.instrs.iter();
    ops.extend(instrs.map(|instr| translate_instr(*instr, first, end)));
    ops.push(set_mask(Cell::EXEC_WORDS, constants(Mask::MAX), Vec::new()));
    for vector in 0..VECTORS as u8 {
        let store = Meaning::Store {
            values: smallvec![Expr::Cell(Cell::gpr(vector))],
            width: Width::Words,
            space: MemorySpace::Global,
            address: address(base, vector),
        };
        ops.push(op(OpScope::Lane, store, ControlEffect::Next));
    }
    ops.push(op(OpScope::Warp, Meaning::nothing(), ControlEffect::Exit));
    for (op, index) in ops.iter_mut().zip(0..) {
        op.addr = CodeAddr(4 * index);
    }
    let code = Code {
        family: Family::Gcn3,
        ops,
        ..Code::default()
    };
    (code, [first, end])
}

/// Translates an instruction of a program that begins at the operation `first`; its end goes to `end`.
fn translate_instr(instr: MaskInstr, first: u32, end: u32) -> Op {
    let once = |writes: Vec<(Cell, Expr)>| {
        op(
            OpScope::Warp,
            Meaning::Set(writes.into()),
            ControlEffect::Next,
        )
    };
    let low = |number: u8| words(MaskReg::Scalar(number))[0];
    match instr {
        MaskInstr::Lane { dest, op: of, a, b } => {
            let of = match of {
                LaneOp::Add => BinaryOp::Add,
                LaneOp::Mul => BinaryOp::Mul,
                LaneOp::And => BinaryOp::And,
                LaneOp::Xor => BinaryOp::Xor,
            };
            let value = Expr::binary(of, operand(a), operand(b));
            op(
                OpScope::Lane,
                Meaning::set(Cell::gpr(dest), value),
                ControlEffect::Next,
            )
        }
        MaskInstr::Compare {
            dest,
            comparison,
            a,
            b,
        } => {
            let of = match comparison {
                LaneComparison::Less => BinaryOp::LtU,
                LaneComparison::Equal => BinaryOp::Eq,
            };
            let value = Expr::binary(of, operand(a), operand(b));
            let [low, high] = words(MaskReg::Scalar(dest));
            let ballot = |half| Expr::Ballot(value.clone().into(), half);
            let writes = smallvec![(low, ballot(WordHalf::Low)), (high, ballot(WordHalf::High))];
            op(OpScope::Lane, Meaning::Set(writes), ControlEffect::Next)
        }
        MaskInstr::Mask { dest, op: of, a, b } => {
            set_mask(words(dest), combine(of, words(a), words(b)), Vec::new())
        }
        MaskInstr::SaveAnd { saved, mask } => {
            let mask = words(MaskReg::Scalar(mask));
            let saved = words(MaskReg::Scalar(saved)).into_iter();
            let saved = saved.zip(Cell::EXEC_WORDS.map(Expr::Cell)).collect();
            let kept = combine(MaskOp::And, Cell::EXEC_WORDS, mask);
            set_mask(Cell::EXEC_WORDS, kept, saved)
        }
        MaskInstr::SetScalar { dest, value } => {
            let [low, high] = words(MaskReg::Scalar(dest));
            once(vec![(low, Expr::Const(value)), (high, Expr::Const(0))])
        }
        MaskInstr::ReadFirst { dest, from } => {
            let [low, high] = words(MaskReg::Scalar(dest));
            let value = Expr::FromLane(Cell::gpr(from), first_active().into());
            once(vec![(low, value), (high, Expr::Const(0))])
        }
        MaskInstr::AddScalar { dest, value } => {
            let [low, high] = words(MaskReg::Scalar(dest));
            let sum = Expr::binary(BinaryOp::Add, Expr::Cell(low), Expr::Const(value));
            once(vec![(low, sum), (high, Expr::Const(0))])
        }
        MaskInstr::TestScalar { a, value } => {
            let test = Expr::binary(BinaryOp::LtU, Expr::Cell(low(a)), Expr::Const(value));
            once(vec![(Cell::of(Reg::SCC), test)])
        }
        MaskInstr::Branch { condition, target } => branch(condition, first + target),
        MaskInstr::End => branch(BranchCondition::Always, end),
    }
}

fn branch(condition: BranchCondition, target: u32) -> Op {
    let (guard, negated) = match condition {
        BranchCondition::Always => (None, false),
        BranchCondition::ExecZero => (Some(Reg::EXEC), true),
        BranchCondition::ExecNotZero => (Some(Reg::EXEC), false),
        BranchCondition::Scc => (Some(Reg::SCC), false),
        BranchCondition::NotScc => (Some(Reg::SCC), true),
    };
    let jump = ControlEffect::Jump(ControlTarget::Op(OpIndex(target)));
    Op {
        condition: ExecCondition {
            guard: guard.map(Cell::of),
            negated,
            ..ExecCondition::ALWAYS
        },
        ..op(OpScope::Warp, Meaning::nothing(), jump)
    }
}

fn operand(operand: LaneOperand) -> Expr {
    match operand {
        LaneOperand::Vector(number) => Expr::Cell(Cell::gpr(number)),
        LaneOperand::Scalar(number) => Expr::Cell(words(MaskReg::Scalar(number))[0]),
        LaneOperand::Const(value) => Expr::Const(value),
    }
}

fn combine(of: MaskOp, a: [Cell; 2], b: [Cell; 2]) -> [Expr; 2] {
    [0, 1].map(|half| {
        let (a, b) = (Expr::Cell(a[half]), Expr::Cell(b[half]));
        match of {
            MaskOp::And => Expr::binary(BinaryOp::And, a, b),
            MaskOp::Or => Expr::binary(BinaryOp::Or, a, b),
            MaskOp::AndNot => Expr::binary(BinaryOp::And, a, Expr::unary(UnaryOp::Not, b)),
        }
    })
}

/// Number of the lowest active lane; 0 if there is none.
fn first_active() -> Expr {
    let [low, high] = Cell::EXEC_WORDS.map(Expr::Cell);
    let lowest = |word: &Expr| {
        let negated = Expr::unary(UnaryOp::Neg, word.clone());
        Expr::unary(
            UnaryOp::HighestOne,
            Expr::binary(BinaryOp::And, word.clone(), negated),
        )
    };
    let in_high = Expr::binary(BinaryOp::Add, lowest(&high), Expr::Const(32));
    let in_high = Expr::ternary(TernaryOp::Select, high, in_high, Expr::Const(0));
    let in_low = lowest(&low);
    Expr::ternary(TernaryOp::Select, low, in_low, in_high)
}
