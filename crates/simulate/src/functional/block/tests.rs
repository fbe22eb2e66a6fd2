//! Tests of the memory that a block takes.

use warpbound_ir::{Cell, Code, Op, OpScope, ValueDependence};
use warpbound_launch::PathOrder;
use warpbound_simt::activation_stack::{ActivationStack, StackEntry};

use super::*;

/// A block takes 4 bytes per register of each thread, and at most 64 bytes more per thread.
#[test]
fn memory_of_a_thread() {
    let limit = 1024 * (4 * usize::from(REGISTERS) + 64);
    for bytes in [bytes_of_block::<32>(), bytes_of_block::<64>()] {
        assert!(bytes <= limit, "{bytes} bytes, limit {limit}");
    }
}

const REGISTERS: u8 = 40;

/// Bytes of a block of 1024 threads in warps of `W` lanes.
fn bytes_of_block<const W: usize>() -> usize {
    let op = Op {
        addr: CodeAddr(8),
        condition: warpbound_ir::ExecCondition::ALWAYS,
        reads: [Cell::gpr(REGISTERS - 1)].into_iter().collect(),
        writes: Default::default(),
        value: ValueDependence::Function,
        control: warpbound_ir::ControlEffect::Exit,
        barrier: false,
        scope: OpScope::Lane,
        meaning: None,
    };
    let code = Code {
        ops: vec![op],
        ..Code::default()
    };
    let launch = Launch {
        grid: [1; 3],
        block: [1024, 1, 1],
        shared: 0,
        local: 0,
        constants: Vec::new(),
        textures: Vec::new(),
        surfaces: Vec::new(),
        max_instructions: 1,
        order: PathOrder::TakenFirst,
        wave_entry: None,
    };
    let program = Program::<W>::untimed(&code, &launch);
    let mut block = Block::<ActivationStack<u32>, W>::new(&program, &launch, [0; 3]);
    // Nested divergent branches; each splits off one lane.
    for warp in &mut block.warps {
        for lane in 0..8u32 {
            let above = (all_lanes::<W>() << lane << 1) & all_lanes::<W>();
            let sides = [(0, above), (0, 1 << lane)];
            let split = warp.model.apply(
                &ControlTransfer::Indirect(&sides),
                all_lanes::<W>() << lane & all_lanes::<W>(),
                0,
            );
            assert_eq!(split, Ok(true));
        }
    }
    let of_warp = |warp: &Warp<ActivationStack<u32>, W>| {
        let stages = warp.model.pending().len() + 1;
        size_of_val(warp.rows.as_slice()) + warp.local.len() + stages * size_of::<StackEntry<u32>>()
    };
    size_of_val(block.warps.as_slice())
        + block.warps.iter().map(of_warp).sum::<usize>()
        + size_of_val(block.scratch.as_slice())
        + size_of::<Block<'_, ActivationStack<u32>, W>>()
}
