//! Launches with warps of 64 lanes: each thread does what it does in warps of 32 lanes, also in partial warps; and
//! with another execution model ([`frames`]).

use std::num::NonZero;

use smallvec::{SmallVec, smallvec};
use warpbound_base::CodeAddr;
use warpbound_ir::{
    Address, AtomicKind, AtomicOp, BarrierArrival, BinaryOp, Cell, ControlEffect, ControlTarget,
    ExecCondition, Expr, Meaning, Op, OpScope, ShuffleMode, ValueDependence, VoteMode, Width,
};
use warpbound_isa::instr::{MemorySpace, StackToken};
use warpbound_isa::{Axis, SpecialReg};
use warpbound_launch::PathOrder;
use warpbound_simt::Mask;

use super::*;

mod frames;

/// Numbers of SR_TID.X and SR_CTAID.X.
const TID_X: SpecialReg = SpecialReg::ThreadIndex(Axis::X);
const CTAID_X: SpecialReg = SpecialReg::BlockIndex(Axis::X);

const BLOCKS: u32 = 5;

/// Constant bank of [`table`].
const TABLE_BANK: u8 = 3;

fn table(index: u32) -> u32 {
    index * index + 11
}

fn op(meaning: Meaning, control: ControlEffect) -> Op {
    // The simulator counts the registers of a kernel by the cells that its operations name.
    let writes = match &meaning {
        Meaning::Set(writes) => writes.iter().map(|(cell, _)| *cell).collect(),
        Meaning::Load { dests, .. } => dests.iter().flatten().copied().collect(),
        _ => SmallVec::new(),
    };
    Op {
        addr: CodeAddr(0),
        condition: ExecCondition::ALWAYS,
        reads: SmallVec::new(),
        writes,
        value: ValueDependence::Function,
        control,
        barrier: false,
        scope: OpScope::Lane,
        meaning: Some(meaning),
    }
}

fn set(cell: Cell, value: Expr) -> Op {
    op(Meaning::set(cell, value), ControlEffect::Next)
}

fn control(effect: ControlEffect) -> Op {
    op(Meaning::Set(SmallVec::new()), effect)
}

fn guarded(predicate: u8, negated: bool, op: Op) -> Op {
    let condition = ExecCondition {
        guard: Some(Cell::pred(predicate)),
        negated,
        ..ExecCondition::ALWAYS
    };
    Op { condition, ..op }
}

fn register(number: u8) -> Expr {
    Expr::Cell(Cell::gpr(number))
}

fn add(a: Expr, b: Expr) -> Expr {
    Expr::binary(BinaryOp::Add, a, b)
}

fn with_constant(op: BinaryOp, a: Expr, b: u32) -> Expr {
    Expr::binary(op, a, Expr::Const(b))
}

fn target(index: u32) -> ControlTarget {
    ControlTarget::Op(OpIndex(index))
}

/// Address of a word at `base` and an offset in bytes.
fn address(base: u64, offset: Expr) -> Address {
    Address {
        low: add(Expr::Const(base as u32), offset),
        // Addresses of shared and local memory have 32 bits.
        high: (base != 0).then_some(Expr::Const((base >> 32) as u32)),
        buffer: None,
        second_half: None,
    }
}

fn store(space: MemorySpace, address: Address, value: Expr) -> Op {
    let meaning = Meaning::Store {
        values: smallvec![value],
        width: Width::Words,
        space,
        address,
    };
    op(meaning, ControlEffect::Next)
}

fn load(space: MemorySpace, address: Address, dest: u8) -> Op {
    let meaning = Meaning::Load {
        dests: smallvec![Some(Cell::gpr(dest))],
        width: Width::Words,
        space,
        address,
    };
    op(meaning, ControlEffect::Next)
}

fn code(mut ops: Vec<Op>) -> Code {
    // Indirect jumps go to addresses, so each operation needs one.
    for (op, index) in ops.iter_mut().zip(0u32..) {
        op.addr = CodeAddr(8 * index);
    }
    Code {
        ops,
        ..Code::default()
    }
}

fn launch_of(block: Size) -> Launch {
    Launch {
        grid: [BLOCKS, 1, 1],
        block,
        shared: 4 * block.iter().product::<u32>(),
        // The kernel uses the word at 4.
        local: 8,
        constants: vec![(
            TABLE_BANK,
            (0..8)
                .flat_map(|index| table(index).to_le_bytes())
                .collect(),
        )],
        textures: Vec::new(),
        surfaces: Vec::new(),
        max_instructions: 1 << 20,
        order: PathOrder::TakenFirst,
        wave_entry: None,
    }
}

/// Byte offset of a word.
fn offset(index: Expr) -> Expr {
    with_constant(BinaryOp::Shl, index, 2)
}

/// Bits of the number of the thread, R0.
fn number_bits(mask: u32) -> Expr {
    with_constant(BinaryOp::And, register(0), mask)
}

/// Operations 0 to 4: R0 is the number of the thread in its block, R2 a value from the opposite thread through shared
/// memory, and local memory has R2 + 1.
fn exchange([x, y, z]: Size) -> Vec<Op> {
    let threads = x * y * z;
    let slab = add(
        Expr::Special(SpecialReg::ThreadIndex(Axis::Y)),
        with_constant(
            BinaryOp::Mul,
            Expr::Special(SpecialReg::ThreadIndex(Axis::Z)),
            y,
        ),
    );
    let number = add(Expr::Special(TID_X), with_constant(BinaryOp::Mul, slab, x));
    let opposite = Expr::binary(BinaryOp::Sub, Expr::Const(threads - 1), register(0));
    let all_wait = Meaning::Barrier {
        number: Expr::Const(0),
        threads: Expr::Const(0),
        arrival: BarrierArrival::Wait,
    };
    vec![
        set(Cell::gpr(0), number),
        store(
            MemorySpace::Shared,
            address(0, offset(register(0))),
            with_constant(BinaryOp::Mul, register(0), 7),
        ),
        op(all_wait, ControlEffect::Next),
        load(MemorySpace::Shared, address(0, offset(opposite)), 2),
        store(
            MemorySpace::Local,
            address(0, Expr::Const(4)),
            with_constant(BinaryOp::Add, register(2), 1),
        ),
    ]
}

/// Operations 5 to 10: a loop of 1 to 8 rounds, by the number of the thread, on R2.
fn divergent_loop() -> Vec<Op> {
    vec![
        control(ControlEffect::Push(StackToken::Sync, target(11))),
        set(Cell::gpr(1), number_bits(7)),
        set(
            Cell::gpr(2),
            add(with_constant(BinaryOp::Mul, register(2), 3), register(1)),
        ),
        op(
            Meaning::Set(smallvec![
                (Cell::gpr(1), with_constant(BinaryOp::Sub, register(1), 1)),
                (Cell::pred(1), with_constant(BinaryOp::Eq, register(1), 0)),
            ]),
            ControlEffect::Next,
        ),
        guarded(1, true, control(ControlEffect::Jump(target(7)))),
        control(ControlEffect::Pop(StackToken::Sync)),
    ]
}

/// Operations 11 to 16: an indirect jump, over an operation in odd threads; R3 is the word in local memory.
fn indirect_jump() -> Vec<Op> {
    let jump = ControlEffect::Indirect {
        base: Some(Cell::gpr(4)),
        // Operation 14 in even threads; odd threads skip it and go to 15.
        anchor: 8 * 14,
        relative: true,
    };
    vec![
        load(MemorySpace::Local, address(0, Expr::Const(4)), 3),
        op(
            Meaning::set(
                Cell::gpr(4),
                with_constant(BinaryOp::Shl, number_bits(1), 3),
            ),
            ControlEffect::Push(StackToken::Sync, target(17)),
        ),
        control(jump),
        set(Cell::gpr(2), with_constant(BinaryOp::Add, register(2), 5)),
        set(
            Cell::gpr(2),
            Expr::binary(BinaryOp::Xor, register(2), register(3)),
        ),
        control(ControlEffect::Pop(StackToken::Sync)),
    ]
}

/// Operation of [`kernel`] at which the odd threads exit.
const EXIT_OF_ODD: u32 = 20;

/// Kernel with barriers, all memories, divergence, and an exit of the odd threads; the others store R2.
fn kernel(block: Size, out: u64, sum: u64) -> Code {
    let threads = block.iter().product();
    let in_grid = add(
        register(0),
        with_constant(BinaryOp::Mul, Expr::Special(CTAID_X), threads),
    );
    let count = Meaning::Atomic {
        dests: SmallVec::new(),
        op: AtomicOp::Add,
        kind: AtomicKind::U32,
        space: MemorySpace::Global,
        address: address(sum, Expr::Const(0)),
        operands: smallvec![register(2)],
    };
    let entry = Expr::Constant(TABLE_BANK, offset(number_bits(7)).into());
    let mut ops = [exchange(block), divergent_loop(), indirect_jump()].concat();
    ops.extend([
        set(Cell::gpr(2), add(register(2), entry)),
        op(count, ControlEffect::Next),
        set(Cell::pred(2), number_bits(1)),
        guarded(2, false, control(ControlEffect::Exit)),
        store(
            MemorySpace::Global,
            address(out, offset(in_grid)),
            register(2),
        ),
        control(ControlEffect::Exit),
    ]);
    code(ops)
}

/// Result of a thread of [`kernel`].
fn result(thread: u32, threads: u32) -> u32 {
    // The opposite thread has stored 7 times its number.
    let mut result = 7 * (threads - 1 - thread);
    let kept = result + 1;
    // As R1 counts down, 1 to 8 rounds.
    for left in (0..=thread & 7).rev() {
        result = result.wrapping_mul(3).wrapping_add(left);
    }
    if thread & 1 == 0 {
        result = result.wrapping_add(5);
    }
    (result ^ kept).wrapping_add(table(thread & 7))
}

/// Memory of a launch of [`kernel`], with the addresses of the results and of their sum.
fn memory(threads: u32) -> (GlobalMemory, u64, u64) {
    let mut memory = GlobalMemory::default();
    let out = memory.add("out", vec![0; (4 * threads * BLOCKS) as usize]);
    let sum = memory.add("sum", vec![0; 4]);
    (memory, out, sum)
}

fn bytes(memory: &GlobalMemory) -> Vec<Vec<u8>> {
    let buffers = memory.buffers().iter();
    buffers.map(|buffer| buffer.bytes.clone()).collect()
}

/// Listener that checks the lanes of each issue and access.
struct LaneCheck {
    lanes: u32,
    threads: u32,
    partial_warps: u64,
}

impl LaneCheck {
    /// The lanes that a warp has threads for.
    fn all(&self, first: u32) -> Mask {
        Mask::MAX >> (64 - (self.threads - first).min(self.lanes))
    }
}

impl<E> ExecutionListener<E> for LaneCheck {
    fn issue(&mut self, issue: &Issue<'_, E>) -> bool {
        let first = issue.first_thread();
        let all = self.all(first);
        assert!(first.is_multiple_of(self.lanes));
        assert_eq!((issue.active & !all, issue.taken & !issue.active), (0, 0));
        if issue.at.0 == 0 {
            assert_eq!(issue.active, all);
            self.partial_warps += u64::from(all.count_ones() < self.lanes);
            return true;
        }
        for lane in (0..self.lanes).filter(|lane| issue.active >> lane & 1 == 1) {
            let value = |cell| issue.cell(cell).get(lane as usize);
            assert_eq!(value(Cell::gpr(0)), first + lane);
            // The instruction before the exit writes the predicate.
            if issue.at.0 == EXIT_OF_ODD {
                assert_eq!(value(Cell::pred(2)), (first + lane) & 1);
            }
        }
        true
    }

    fn access(&mut self, access: &MemoryAccess<'_>) {
        assert_eq!(access.addresses.len(), self.lanes as usize);
    }
}

/// Buffers and counts of a launch with warps of `W` lanes.
fn run<const W: usize>(block: Size, order: PathOrder) -> (Vec<Vec<u8>>, Counts) {
    let threads = block.iter().product();
    let (mut memory, out, sum) = memory(threads);
    let code = kernel(block, out, sum);
    let launch = Launch {
        order,
        wave_entry: None,
        ..launch_of(block)
    };
    let program = Program::<W>::untimed(&code, &launch);
    assert_eq!(program.unsupported_ops(), []);
    let mut check = LaneCheck {
        lanes: W as u32,
        threads,
        partial_warps: 0,
    };
    let counts =
        run_blocks::<NvidiaModel, W>(&program, &launch, &mut memory, &mut check).expect("no fault");
    let partial = !threads.is_multiple_of(W as u32);
    assert_eq!(check.partial_warps, u64::from(partial) * u64::from(BLOCKS));
    assert_eq!(
        counts.issues[0],
        u64::from(threads.div_ceil(W as u32) * BLOCKS)
    );
    let (mut again, ..) = self::memory(threads);
    let in_parallel = parallel::run::<NvidiaModel, W>(
        &program,
        &launch,
        &mut again,
        NonZero::new(3).expect("not 0"),
        &mut |_| (),
    );
    assert_eq!(in_parallel.expect("no fault"), counts);
    assert_eq!(bytes(&again), bytes(&memory));
    (bytes(&memory), counts)
}

/// Blocks whose last warp is partial, full, or the only one.
const BLOCK_SIZES: [Size; 12] = [
    [1, 1, 1],
    [31, 1, 1],
    [32, 1, 1],
    [33, 1, 1],
    [63, 1, 1],
    [64, 1, 1],
    [65, 1, 1],
    [96, 1, 1],
    [10, 7, 1],
    [7, 3, 5],
    [16, 8, 1],
    [5, 9, 3],
];

#[test]
fn launches_with_partial_warps() {
    for block in BLOCK_SIZES {
        let threads: u32 = block.iter().product();
        let results = (0..threads).map(|thread| result(thread, threads));
        // All blocks have the same results.
        let sum = results.fold(0, u32::wrapping_add).wrapping_mul(BLOCKS);
        let stored = |thread| match thread & 1 {
            0 => result(thread, threads),
            _ => 0,
        };
        let out = (0..BLOCKS).flat_map(|_| (0..threads).map(stored));
        let expected = vec![
            out.flat_map(u32::to_le_bytes).collect(),
            sum.to_le_bytes().to_vec(),
        ];
        for order in [PathOrder::TakenFirst, PathOrder::FallThroughFirst] {
            let (narrow, narrow_counts) = run::<32>(block, order);
            let (wide, counts) = run::<64>(block, order);
            assert_eq!(narrow, expected, "{block:?}");
            assert_eq!(wide, expected, "{block:?}");
            // The executions of the threads do not depend on their grouping into warps.
            assert_eq!(counts.active, narrow_counts.active);
            assert_eq!(counts.executed, narrow_counts.executed);
            assert!(counts.issued() <= narrow_counts.issued());
        }
    }
}

/// A fault names the thread of its lane, here one in the upper half of a partial warp.
#[test]
fn faults_in_upper_lanes() {
    fn fault<const W: usize>() -> Fault {
        let number = || Expr::Special(TID_X);
        let code = code(vec![
            set(Cell::pred(0), with_constant(BinaryOp::Eq, number(), 125)),
            guarded(
                0,
                false,
                load(MemorySpace::Shared, address(1 << 40, number()), 0),
            ),
            control(ControlEffect::Exit),
        ]);
        let launch = launch_of([126, 1, 1]);
        let program = Program::<W>::untimed(&code, &launch);
        let mut memory = GlobalMemory::default();
        let result = run_blocks::<NvidiaModel, W>(&program, &launch, &mut memory, &mut NoListener);
        result.expect_err("an address without memory")
    }
    let wide = fault::<64>();
    assert_eq!(wide.thread, Some([125, 0, 0]));
    assert_eq!(wide, fault::<32>());
}

/// Shuffles, votes and lane masks exist in warps of 32 lanes only: wider warps refuse them.
#[test]
fn operations_of_warps_of_32_lanes() {
    let shuffle = Meaning::Shuffle {
        dest: Some(Cell::gpr(0)),
        in_range: None,
        mode: ShuffleMode::Down,
        value: Expr::Special(TID_X),
        lane: Expr::Const(1),
        limit: Expr::Const(31),
    };
    let vote = Meaning::Vote {
        ballot: Some(Cell::gpr(0)),
        result: None,
        mode: VoteMode::Any,
        predicate: Expr::Const(1),
    };
    let mut ops = vec![
        op(shuffle, ControlEffect::Next),
        op(vote, ControlEffect::Next),
    ];
    let masks = [
        SpecialReg::LanesEqual,
        SpecialReg::LanesBelow,
        SpecialReg::LanesUpTo,
        SpecialReg::LanesAbove,
        SpecialReg::LanesFrom,
    ];
    ops.extend(masks.map(|mask| set(Cell::gpr(0), Expr::Special(mask))));
    ops.push(set(Cell::gpr(0), Expr::Special(SpecialReg::LaneId)));
    let code = code(ops);
    let launch = launch_of([64, 1, 1]);
    assert_eq!(Program::<32>::untimed(&code, &launch).unsupported_ops(), []);
    let refused: Vec<OpIndex> = (0..7).map(OpIndex).collect();
    let wide = Program::<64>::untimed(&code, &launch);
    assert_eq!(wide.unsupported_ops(), refused);
}
