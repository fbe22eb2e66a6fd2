//! One test per rule, on two SMs of a TX2 (`AMERT17` 3.2: 2048 threads, 64 KiB of shared memory, 65536 registers).

use super::*;

const SM: BlockResources = BlockResources {
    threads: 2048,
    warps: 64,
    blocks: 32,
    registers: 65536,
    shared: 64 << 10,
    barriers: 0,
};

fn kernel(stream: u32, blocks: u64, threads: u64) -> KernelLaunch {
    KernelLaunch {
        stream: Stream(stream),
        priority: Priority::Low,
        blocks,
        need: BlockResources {
            threads,
            warps: threads.div_ceil(32),
            blocks: 1,
            registers: 0,
            shared: 0,
            barriers: 0,
        },
    }
}

fn high(kernel: KernelLaunch) -> KernelLaunch {
    KernelLaunch {
        priority: Priority::High,
        ..kernel
    }
}

fn tx2() -> Dispatcher {
    Dispatcher::new(2, SM)
}

/// Assigns blocks until none can be assigned: kernel, block, SM.
fn assign_all(dispatcher: &mut Dispatcher) -> Vec<(usize, u64, usize)> {
    std::iter::from_fn(|| dispatcher.assign())
        .map(|assigned| (assigned.kernel.0, assigned.block, assigned.sm))
        .collect()
}

fn kernels(assigned: &[(usize, u64, usize)]) -> Vec<usize> {
    assigned.iter().map(|assigned| assigned.0).collect()
}

fn sms(assigned: &[(usize, u64, usize)]) -> Vec<usize> {
    assigned.iter().map(|assigned| assigned.2).collect()
}

#[test]
fn g1_a_stream_keeps_the_order_of_launches() {
    let mut gpu = tx2();
    for _ in 0..3 {
        gpu.submit(kernel(1, 1, 32)).unwrap();
    }
    for expected in 0..3 {
        assert_eq!(assign_all(&mut gpu), [(expected, 0, 0)]);
        assert!(!gpu.is_done());
        assert!(gpu.block_finished(KernelId(expected), 0));
    }
    assert!(gpu.is_done());
}

#[test]
fn g2_only_heads_of_streams_are_in_the_ee_queue() {
    let mut gpu = tx2();
    gpu.submit(kernel(1, 1, 32)).unwrap();
    gpu.submit(kernel(1, 1, 32)).unwrap();
    gpu.submit(kernel(2, 1, 32)).unwrap();
    // The second waits for the first, although it would fit; the third was launched later.
    assert_eq!(kernels(&assign_all(&mut gpu)), [0, 2]);
}

#[test]
fn g3_a_fully_dispatched_kernel_leaves_the_ee_queue() {
    let mut gpu = tx2();
    gpu.submit(kernel(1, 2, 32)).unwrap();
    gpu.submit(kernel(2, 1, 32)).unwrap();
    // Nothing has ended when the block of the second kernel is assigned.
    assert_eq!(kernels(&assign_all(&mut gpu)), [0, 0, 1]);
}

#[test]
fn g4_a_kernel_leaves_its_stream_with_its_last_block() {
    let mut gpu = tx2();
    let first = gpu.submit(kernel(1, 5, 1024)).unwrap();
    gpu.submit(kernel(1, 1, 32)).unwrap();
    assert_eq!(kernels(&assign_all(&mut gpu)), [0; 4]);
    for sm in [0, 0, 1, 1] {
        assert!(!gpu.block_finished(first, sm));
    }
    // All assigned blocks have ended, but one more is left; until it ends, the next kernel waits.
    assert_eq!(assign_all(&mut gpu), [(0, 4, 0)]);
    assert!(gpu.block_finished(first, 0));
    assert_eq!(kernels(&assign_all(&mut gpu)), [1]);
}

#[test]
fn x1_the_head_of_the_ee_queue_blocks_those_behind_it() {
    let mut gpu = tx2();
    let first = gpu.submit(kernel(1, 5, 1024)).unwrap();
    gpu.submit(kernel(2, 1, 32)).unwrap();
    assert_eq!(kernels(&assign_all(&mut gpu)), [0; 4]);
    gpu.block_finished(first, 1);
    // Resources are freed, for the last block of the first kernel.
    assert_eq!(assign_all(&mut gpu), [(0, 4, 1)]);

    // 512 threads are free on each SM, but the head needs more.
    let mut gpu = tx2();
    gpu.submit(kernel(1, 2, 1024)).unwrap();
    gpu.submit(kernel(2, 2, 512)).unwrap();
    gpu.submit(kernel(3, 1, 1024)).unwrap();
    gpu.submit(kernel(4, 1, 512)).unwrap();
    assert_eq!(kernels(&assign_all(&mut gpu)), [0, 0, 1, 1]);
}

#[test]
fn r1_r2_threads_must_be_free_on_one_sm() {
    let mut gpu = tx2();
    let first = gpu.submit(kernel(1, 2, 1536)).unwrap();
    gpu.submit(kernel(2, 1, 1024)).unwrap();
    // 512 threads are free on each: 1024 on both together.
    assert_eq!(kernels(&assign_all(&mut gpu)), [0, 0]);
    gpu.block_finished(first, 1);
    assert_eq!(assign_all(&mut gpu), [(1, 0, 1)]);
}

#[test]
fn r1_warps_and_blocks_limit_as_well() {
    // An SM holds at most 32 blocks of any size.
    let mut gpu = tx2();
    gpu.submit(kernel(1, 65, 32)).unwrap();
    assert_eq!(assign_all(&mut gpu).len(), 64);
    // Four blocks of two warps fit into nine warps.
    let mut few_warps = Dispatcher::new(1, BlockResources { warps: 9, ..SM });
    few_warps.submit(kernel(1, 10, 64)).unwrap();
    assert_eq!(assign_all(&mut few_warps).len(), 4);
}

#[test]
fn r3_shared_memory_and_registers_must_be_free_on_one_sm() {
    let mut shared = kernel(1, 5, 32);
    shared.need.shared = 32 << 10;
    let mut registers = kernel(1, 5, 32);
    registers.need.registers = 32768;
    for kernel in [shared, registers] {
        let mut gpu = tx2();
        let id = gpu.submit(kernel).unwrap();
        assert_eq!(assign_all(&mut gpu).len(), 4);
        gpu.block_finished(id, 0);
        assert_eq!(assign_all(&mut gpu), [(0, 4, 0)]);
    }
}

#[test]
fn n1_the_null_stream_waits_for_all_that_was_launched_before() {
    let mut gpu = tx2();
    let first = gpu.submit(kernel(1, 1, 32)).unwrap();
    let second = gpu.submit(kernel(2, 1, 32)).unwrap();
    gpu.submit(kernel(0, 1, 32)).unwrap();
    assert_eq!(kernels(&assign_all(&mut gpu)), [0, 1]);
    gpu.block_finished(second, 1);
    assert_eq!(gpu.assign(), None);
    gpu.block_finished(first, 0);
    assert_eq!(kernels(&assign_all(&mut gpu)), [2]);
}

#[test]
fn n2_all_that_was_launched_later_waits_for_the_null_stream() {
    let mut gpu = tx2();
    let null = gpu.submit(kernel(0, 1, 32)).unwrap();
    gpu.submit(kernel(1, 1, 32)).unwrap();
    gpu.submit(high(kernel(2, 1, 32))).unwrap();
    assert_eq!(kernels(&assign_all(&mut gpu)), [0]);
    gpu.block_finished(null, 0);
    // Both become heads when the NULL stream ends, and the high priority goes first (A2).
    assert_eq!(kernels(&assign_all(&mut gpu)), [2, 1]);
}

#[test]
fn a1_each_priority_has_a_fifo() {
    let mut gpu = tx2();
    gpu.submit(high(kernel(1, 1, 32))).unwrap();
    gpu.submit(kernel(2, 1, 32)).unwrap();
    gpu.submit(high(kernel(3, 1, 32))).unwrap();
    gpu.submit(kernel(4, 1, 32)).unwrap();
    assert_eq!(kernels(&assign_all(&mut gpu)), [0, 2, 1, 3]);
}

#[test]
fn a2_low_priority_waits_until_no_high_one_is_queued() {
    let mut gpu = tx2();
    let low = gpu.submit(kernel(1, 8, 1024)).unwrap();
    assert_eq!(kernels(&assign_all(&mut gpu)), [0; 4]);
    // It is dispatched between the blocks of the other kernel, and delays that kernel even if it does not fit itself.
    gpu.submit(high(kernel(2, 1, 2048))).unwrap();
    gpu.block_finished(low, 1);
    assert_eq!(gpu.assign(), None);
    gpu.block_finished(low, 1);
    assert_eq!(assign_all(&mut gpu), [(1, 0, 1)]);
    gpu.block_finished(low, 0);
    assert_eq!(assign_all(&mut gpu), [(0, 4, 0)]);
}

#[test]
fn a_stream_keeps_its_channel_until_its_kernels_are_fully_dispatched() {
    let mut gpu = tx2().with_channels(1);
    let first = gpu.submit(kernel(1, 1, 32)).unwrap();
    gpu.submit(kernel(2, 1, 32)).unwrap();
    gpu.submit(kernel(1, 1, 32)).unwrap();
    assert_eq!(kernels(&assign_all(&mut gpu)), [0]);
    gpu.block_finished(first, 0);
    // Once the last kernel of the stream is dispatched, the other stream continues: no kernel has to be complete.
    assert_eq!(kernels(&assign_all(&mut gpu)), [2, 1]);
}

#[test]
fn free_channels_go_to_streams_in_the_order_of_launches() {
    let mut gpu = tx2().with_channels(1);
    gpu.submit(kernel(3, 1, 32)).unwrap();
    for stream in [2, 1, 4] {
        gpu.submit(kernel(stream, 1, 32)).unwrap();
    }
    assert_eq!(kernels(&assign_all(&mut gpu)), [0, 1, 2, 3]);
}

#[test]
fn channels_are_no_reason_to_wait_for_the_null_stream_for_ever() {
    // The third waits for the second, which waits for the fourth stream, which has no channel while the first has it.
    let mut gpu = tx2().with_channels(1);
    let first = gpu.submit(kernel(1, 1, 32)).unwrap();
    let other = gpu.submit(kernel(2, 1, 32)).unwrap();
    let null = gpu.submit(kernel(0, 1, 32)).unwrap();
    let third = gpu.submit(kernel(1, 1, 32)).unwrap();
    for (id, sm) in [(first, 0), (other, 1)] {
        let assigned = gpu.assign().unwrap();
        assert_eq!((assigned.kernel, assigned.sm), (id, sm));
    }
    for (id, sm) in [(first, 0), (other, 1)] {
        assert_eq!(gpu.assign(), None);
        assert!(gpu.block_finished(id, sm));
    }
    for id in [null, third] {
        assert_eq!(gpu.assign().unwrap().kernel, id);
        assert!(gpu.block_finished(id, 0));
    }
    assert!(gpu.is_done());
}

/// Returns five SMs, each with a block of some threads except the first, whose block has ended: `GILMAN21` 4.1, on a
/// Pascal GPU.
fn first_one_empty(placement: Placement, threads: u64) -> Dispatcher {
    let mut gpu = Dispatcher::new(5, SM).with_placement(placement);
    let first = gpu.submit(kernel(1, 5, threads)).unwrap();
    assert_eq!(sms(&assign_all(&mut gpu)), [0, 1, 2, 3, 4]);
    gpu.block_finished(first, 0);
    gpu
}

#[test]
fn most_room_counts_blocks_of_the_kernel() {
    // Three blocks of 160 threads: 12 of them fit, or 11 (4.1).
    let mut gpu = first_one_empty(Placement::MostRoom, 256);
    gpu.submit(kernel(2, 3, 160)).unwrap();
    assert_eq!(sms(&assign_all(&mut gpu)), [0, 0, 1]);
}

#[test]
fn most_room_is_limited_by_the_resource_that_runs_out_first() {
    // 4.2. Blocks of 32 threads: 32 fit on the empty SM, 31 on the others, as an SM holds at most 32 blocks.
    let mut gpu = first_one_empty(Placement::MostRoom, 1024);
    gpu.submit(kernel(2, 3, 32)).unwrap();
    assert_eq!(sms(&assign_all(&mut gpu)), [0, 0, 1]);
    // Blocks of 33 threads have two warps: 32 fit, or 16.
    let mut gpu = first_one_empty(Placement::MostRoom, 1024);
    gpu.submit(kernel(2, 3, 33)).unwrap();
    assert_eq!(sms(&assign_all(&mut gpu)), [0, 0, 0]);
}

#[test]
fn round_robin_goes_on_behind_the_last_sm() {
    let mut gpu = first_one_empty(Placement::RoundRobin, 256);
    gpu.submit(kernel(2, 3, 160)).unwrap();
    assert_eq!(sms(&assign_all(&mut gpu)), [0, 1, 2]);
    // SMs on which it does not fit are skipped.
    let mut gpu = first_one_empty(Placement::RoundRobin, 2048);
    gpu.submit(kernel(2, 3, 512)).unwrap();
    assert_eq!(sms(&assign_all(&mut gpu)), [0, 0, 0]);
}

#[test]
fn what_can_never_run_is_not_taken() {
    let mut gpu = tx2();
    assert_eq!(gpu.submit(kernel(1, 0, 32)), None);
    assert_eq!(gpu.submit(kernel(1, 1, 2049)), None);
    assert_eq!(Dispatcher::new(0, SM).submit(kernel(1, 1, 32)), None);
    assert!(gpu.is_done());
    gpu.submit(kernel(1, 1, 2048)).unwrap();
    assert_eq!(assign_all(&mut gpu).len(), 1);
}

#[test]
fn millions_of_blocks_take_no_memory() {
    let mut gpu = tx2();
    let id = gpu.submit(kernel(1, 2_000_000, 1024)).unwrap();
    let mut running = VecDeque::from(assign_all(&mut gpu));
    let mut most = 0;
    while let Some((_, block, sm)) = running.pop_front() {
        most = most.max(block);
        gpu.block_finished(id, sm);
        running.extend(gpu.assign().map(|new| (0, new.block, new.sm)));
        assert!(running.len() <= 4);
    }
    assert_eq!(most, 1_999_999);
    assert!(gpu.is_done());
    assert_eq!(
        gpu.kernels.len() + gpu.ee_queues[0].len() + gpu.ee_queues[1].len(),
        1
    );
}
