//! Launches whose warps of 64 lanes have synchronisation frames instead of an activation stack.

use warpbound_simt::frame_stack::FrameStack;

use super::*;

type FrameModel = FrameStack<u32>;

const THREADS: u32 = 100;

/// Operation of [`kernel`] at which the lanes of the outer branch reconverge.
const OUTER: u32 = 10;

/// Branch on a predicate, or its negation.
fn branch(predicate: u8, negated: bool, to: u32, reconvergence: u32) -> Op {
    let effect = ControlEffect::Branch {
        to: target(to),
        reconvergence: Some(OpIndex(reconvergence)),
    };
    guarded(predicate, negated, control(effect))
}

/// Kernel whose odd threads run a loop of 1 to 8 rounds while even threads skip it; each stores R2. Blocks are of
/// `threads` threads.
fn kernel(threads: u32, out: u64) -> Code {
    let first = with_constant(BinaryOp::Mul, Expr::Special(CTAID_X), threads);
    let update = |value: Expr| set(Cell::gpr(2), value);
    code(vec![
        set(Cell::gpr(0), add(Expr::Special(TID_X), first)),
        update(with_constant(BinaryOp::Mul, register(0), 7)),
        set(Cell::pred(0), number_bits(1)),
        branch(0, true, 9, OUTER),
        // 4 to 6: the loop; operation 7 is its reconvergence point.
        op(
            Meaning::Set(smallvec![(
                Cell::gpr(1),
                with_constant(BinaryOp::Shr, number_bits(14), 1),
            )]),
            ControlEffect::Next,
        ),
        op(
            Meaning::Set(smallvec![
                (
                    Cell::gpr(2),
                    add(with_constant(BinaryOp::Mul, register(2), 3), register(1)),
                ),
                (Cell::gpr(1), with_constant(BinaryOp::Sub, register(1), 1)),
                (Cell::pred(1), with_constant(BinaryOp::Eq, register(1), 0)),
            ]),
            ControlEffect::Next,
        ),
        branch(1, true, 5, 7),
        control(ControlEffect::Reconverge),
        control(ControlEffect::Jump(target(OUTER))),
        update(with_constant(BinaryOp::Add, register(2), 5)),
        control(ControlEffect::Reconverge),
        store(
            MemorySpace::Global,
            address(out, offset(register(0))),
            register(2),
        ),
        control(ControlEffect::Exit),
    ])
}

/// Result of a thread of [`kernel`].
fn result(thread: u32) -> u32 {
    let mut result = 7 * thread;
    if thread & 1 == 0 {
        return result + 5;
    }
    for left in (0..=(thread >> 1 & 7)).rev() {
        result = result.wrapping_mul(3).wrapping_add(left);
    }
    result
}

/// Listener that checks the frames of each issue.
struct FrameCheck {
    /// Largest number of frames of a warp.
    depth: usize,
}

impl ExecutionListener<FrameModel> for FrameCheck {
    fn issue(&mut self, issue: &Issue<'_, FrameModel>) -> bool {
        let frames = issue.model().frames();
        self.depth = self.depth.max(frames.len());
        assert_eq!(issue.model().running(), Some((issue.at.0, issue.active)));
        for frame in frames {
            let waiting = frame.done | frame.to_do;
            assert!(waiting != 0 && waiting & issue.active == 0);
        }
        // All lanes are together before the outer branch and after its reconvergence.
        if issue.at.0 <= 3 || issue.at.0 > OUTER {
            assert_eq!(frames, []);
        }
        true
    }
}

/// Results of [`kernel`] in `blocks` blocks of `threads` threads, with their counts and the greatest number of frames
/// of a warp.
fn run(blocks: u32, threads: u32, order: PathOrder) -> (Vec<u8>, Counts, usize) {
    let memory = || {
        let mut memory = GlobalMemory::default();
        let out = memory.add("out", vec![0; (4 * blocks * threads) as usize]);
        (memory, out)
    };
    let (mut sequential, out) = memory();
    let code = kernel(threads, out);
    let launch = Launch {
        grid: [blocks, 1, 1],
        order,
        wave_entry: None,
        ..launch_of([threads, 1, 1])
    };
    let program = Program::<64>::untimed(&code, &launch);
    assert_eq!(program.unsupported_ops(), []);
    let mut check = FrameCheck { depth: 0 };
    let counts =
        run_blocks::<FrameModel, 64>(&program, &launch, &mut sequential, &mut check).expect("runs");
    let (mut parallel, _) = memory();
    let host_threads = NonZero::new(2).expect("not 0");
    let in_parallel = parallel::run::<FrameModel, 64>(
        &program,
        &launch,
        &mut parallel,
        host_threads,
        &mut |_| (),
    );
    assert_eq!(in_parallel.expect("runs"), counts);
    assert_eq!(bytes(&parallel), bytes(&sequential));
    (bytes(&sequential).concat(), counts, check.depth)
}

/// Lanes that diverge and reconverge at frames compute what each of them computes alone.
#[test]
fn lanes_with_frames_compute_what_each_computes_alone() {
    let expected: Vec<u8> = (0..THREADS).flat_map(|t| result(t).to_le_bytes()).collect();
    for order in [PathOrder::TakenFirst, PathOrder::FallThroughFirst] {
        let (alone, each, depth) = run(THREADS, 1, order);
        assert_eq!((&alone, depth), (&expected, 0), "{order:?}");
        assert_eq!(each.divergences.iter().sum::<u64>(), 0);
        let (together, counts, depth) = run(1, THREADS, order);
        assert_eq!(together, expected, "{order:?}");
        // Of two warps, a full one and a partial one.
        assert_eq!((counts.issues[0], counts.divergences[3]), (2, 2));
        // Rounds of the loop end in other lanes each, seven times before the last.
        assert_eq!(counts.divergences[6], 2 * 7);
        // One frame of the outer branch, and one for each round after which lanes left the loop.
        assert_eq!(depth, 1 + 7, "{order:?}");
        assert_eq!(
            (&counts.active, &counts.executed),
            (&each.active, &each.executed)
        );
        assert_eq!(
            (counts.issues[11], counts.active[11]),
            (2, u64::from(THREADS))
        );
    }
}

/// The activation stack has no branches with a reconvergence point, and frames have no stack entries.
#[test]
fn transfers_of_other_models_fault() {
    fn fault<E: ExecutionModel<u32>>(code: &Code) -> Fault {
        let launch = launch_of([2, 1, 1]);
        let program = Program::<64>::untimed(code, &launch);
        let mut memory = GlobalMemory::default();
        let result = run_blocks::<E, 64>(&program, &launch, &mut memory, &mut NoListener);
        result.expect_err("a transfer that the model does not have")
    }
    let branches = code(vec![
        branch(0, false, 1, 1),
        control(ControlEffect::Reconverge),
    ]);
    let found = fault::<NvidiaModel>(&branches);
    assert_eq!((found.at, found.kind), (OpIndex(0), FaultKind::Unsupported));
    let pushes = code(vec![control(ControlEffect::Push(
        StackToken::Sync,
        target(1),
    ))]);
    let found = fault::<FrameModel>(&pushes);
    assert_eq!((found.at, found.kind), (OpIndex(0), FaultKind::Unsupported));
}
