//! Block dispatch against the published experiments, and against a second implementation of the rules on random
//! kernels.
//!
//! From `AMERT17` ("GPU Scheduling on the NVIDIA TX2: Hidden Details Revealed", RTSS 2017) are taken: streams, launch
//! times, blocks, threads and shared memory of Table 1 and of Tables 2 to 5 (appendix B); the duration of one second of
//! each block in section 3.1; and, as results, the labels and positions of the blocks in Figures 3 and 4 and the
//! descriptions of Figures 5 to 8 in sections 4.1 and 4.2. Times here count from the end of the initialization, as in
//! the tables; the axis of Figure 3 starts 0.3 s earlier.

use fastrand::Rng;
use warpbound_machine::BlockResources;
use warpbound_simulate::timed::dispatch::{
    Assignment, Dispatcher, KernelId, KernelLaunch, Placement, Priority, Stream,
};

/// Resources of an SM of the TX2 (`AMERT17` 3.2).
const SM: BlockResources = BlockResources {
    threads: 2048,
    warps: 64,
    blocks: 32,
    registers: 65536,
    shared: 64 << 10,
    barriers: 0,
};

fn need(threads: u64, shared: u64) -> BlockResources {
    BlockResources {
        threads,
        warps: threads.div_ceil(32),
        blocks: 1,
        registers: 0,
        shared,
        barriers: 0,
    }
}

/// A launch. Times are in hundredths of a second.
struct Launch {
    at: u64,
    kernel: KernelLaunch,
    /// Duration of each block.
    duration: u64,
}

fn launch(at: u64, stream: u32, blocks: u64, threads: u64, duration: u64) -> Launch {
    Launch {
        at,
        kernel: KernelLaunch {
            stream: Stream(stream),
            priority: Priority::Low,
            blocks,
            need: need(threads, 0),
        },
        duration,
    }
}

fn high(mut launch: Launch) -> Launch {
    launch.kernel.priority = Priority::High;
    launch
}

/// A block's execution: kernel (from 1), block, SM, start, end.
type BlockRun = (usize, u64, usize, u64, u64);

/// Simulates launches. Blocks that end at the same time end SM by SM: bit `i` of `orders` reverses the order of the SMs
/// at the `i`-th time at which blocks end on several SMs. Free resources are assigned at once.
fn simulate(mut gpu: Dispatcher, launches: &[Launch], orders: u32) -> Vec<BlockRun> {
    let mut ids: Vec<KernelId> = Vec::new();
    let mut running: Vec<(u64, Assignment)> = Vec::new();
    let mut ran: Vec<BlockRun> = Vec::new();
    let mut ties = 0;
    loop {
        let ends = running.iter().map(|running| running.0);
        let begins = launches.get(ids.len()).map(|next| next.at);
        let Some(now) = ends.chain(begins).min() else {
            assert!(gpu.is_done());
            break;
        };
        let mut assign = |gpu: &mut Dispatcher, running: &mut Vec<_>, ids: &[KernelId]| {
            while let Some(new) = gpu.assign() {
                let known = ids.iter().position(|id| *id == new.kernel);
                let kernel = known.expect("a kernel that was submitted");
                let end = now + launches[kernel].duration;
                running.push((end, new));
                ran.push((kernel + 1, new.block, new.sm, now, end));
            }
        };
        let (ended, left): (Vec<_>, Vec<_>) = running.into_iter().partition(|r| r.0 == now);
        running = left;
        let mut sms: Vec<usize> = ended.iter().map(|(_, block)| block.sm).collect();
        sms.sort_unstable();
        sms.dedup();
        if sms.len() > 1 {
            if orders >> ties & 1 == 1 {
                sms.reverse();
            }
            ties += 1;
        }
        for sm in sms {
            for (_, block) in ended.iter().filter(|(_, block)| block.sm == sm) {
                gpu.block_finished(block.kernel, sm);
            }
            assign(&mut gpu, &mut running, &ids);
        }
        while let Some(next) = launches.get(ids.len()).filter(|next| next.at == now) {
            ids.push(gpu.submit(next.kernel).expect("it fits"));
            assign(&mut gpu, &mut running, &ids);
        }
    }
    ran.sort_unstable();
    ran
}

/// Kernel, start and end of all blocks.
fn times(ran: &[BlockRun]) -> Vec<(usize, u64, u64)> {
    let mut times: Vec<_> = ran.iter().map(|r| (r.0, r.3, r.4)).collect();
    times.sort_unstable();
    times
}

/// Start times of the blocks of a kernel, ascending.
fn start_times(ran: &[BlockRun], kernel: usize) -> Vec<u64> {
    let times = times(ran).into_iter().filter(|time| time.0 == kernel);
    times.map(|time| time.1).collect()
}

/// `AMERT17`, Table 1. Copies are not dispatched: K3 is submitted after the earlier copies of its stream, at 3.03 s in
/// Figure 3.
fn six_kernels() -> Vec<Launch> {
    let with_shared = |mut launch: Launch| {
        launch.kernel.need.shared = 32 << 10;
        launch
    };
    vec![
        launch(0, 1, 6, 768, 100),
        launch(0, 1, 2, 512, 100),
        with_shared(launch(20, 2, 4, 256, 100)),
        with_shared(launch(40, 3, 2, 256, 100)),
        launch(280, 2, 2, 512, 100),
        launch(303, 1, 2, 1024, 100),
    ]
}

/// The names of the kernels above: K3 is submitted last.
const NAMES: [usize; 6] = [1, 2, 4, 5, 6, 3];

/// `AMERT17`, Figure 3, to a hundredth of a second; Figure 4 has the same SMs.
const FIGURE_3: [BlockRun; 18] = [
    (1, 0, 0, 0, 100),
    (1, 1, 1, 0, 100),
    (1, 2, 0, 0, 100),
    (1, 3, 1, 0, 100),
    (1, 4, 0, 100, 200),
    (1, 5, 0, 100, 200),
    (2, 0, 0, 200, 300),
    (2, 1, 0, 200, 300),
    (3, 0, 0, 303, 403),
    (3, 1, 1, 303, 403),
    (4, 0, 0, 100, 200),
    (4, 1, 1, 100, 200),
    (4, 2, 0, 100, 200),
    (4, 3, 1, 100, 200),
    (5, 0, 1, 200, 300),
    (5, 1, 1, 200, 300),
    (6, 0, 1, 280, 380),
    (6, 1, 0, 280, 380),
];

/// Twice in the experiment all blocks end at the same time, at the precision of the figure, and the order of their ends
/// determines the placement of the next blocks. So every order of the two SMs is simulated, at each of the five times
/// at which blocks end on both.
fn all_orders(gpu: &Dispatcher) -> Vec<(u32, Vec<BlockRun>)> {
    let run = |orders| {
        let mut ran = simulate(gpu.clone(), &six_kernels(), orders);
        for block in &mut ran {
            block.0 = NAMES[block.0 - 1];
        }
        ran.sort_unstable();
        (orders, ran)
    };
    (0..1 << 5).map(run).collect()
}

#[test]
fn six_kernels_of_the_tx2() {
    let gpu = Dispatcher::new(2, SM);
    for (orders, ran) in all_orders(&gpu) {
        // The times do not depend on the order.
        assert_eq!(times(&ran), times(&FIGURE_3), "{orders:05b}");
        // On the board, SM 0 was first when the first blocks of K1 ended, and SM 1 when those of K4 ended; the later
        // times do not matter. With exactly these orders every block is placed as on the board.
        assert_eq!(ran == FIGURE_3, orders & 0b11 == 0b10, "{orders:05b}");
    }
}

#[test]
fn six_kernels_exclude_round_robin_placement() {
    let gpu = Dispatcher::new(2, SM).with_placement(Placement::RoundRobin);
    for (orders, ran) in all_orders(&gpu) {
        assert_ne!(ran, FIGURE_3, "{orders:05b}");
    }
}

#[test]
fn six_kernels_need_two_channels() {
    // Hence the experiment does not show that the board had one channel for each of its three streams.
    let gpu = |channels| Dispatcher::new(2, SM).with_channels(channels);
    assert_eq!(all_orders(&gpu(2)), all_orders(&gpu(usize::MAX)));
    for (_, ran) in all_orders(&gpu(1)) {
        assert_ne!(times(&ran), times(&FIGURE_3));
    }
}

#[test]
fn null_stream_of_the_tx2() {
    // Table 2, section 4.1.
    let ran = simulate(
        Dispatcher::new(2, SM),
        &[
            launch(0, 1, 6, 768, 100),
            launch(20, 0, 1, 1024, 100),
            launch(20, 2, 4, 256, 100),
            launch(40, 2, 4, 256, 100),
            launch(60, 0, 1, 1024, 100),
            launch(80, 3, 2, 256, 100),
        ],
        0,
    );
    assert_eq!(start_times(&ran, 1), [0, 0, 0, 0, 100, 100]);
    // K2 waits for K1, and all others for K2; K5 waits for K3 and K4, and K6 for K5.
    assert_eq!(start_times(&ran, 2), [200]);
    assert_eq!(start_times(&ran, 3), [300; 4]);
    assert_eq!(start_times(&ran, 4), [400; 4]);
    assert_eq!(start_times(&ran, 5), [500]);
    assert_eq!(start_times(&ran, 6), [600; 2]);
}

#[test]
fn starvation_of_low_priority_on_the_tx2() {
    // Table 3, Figure 6: four of eight blocks of K1 run, then K2, then K3, then the others.
    let ran = simulate(
        Dispatcher::new(2, SM),
        &[
            launch(0, 1, 8, 1024, 50),
            high(launch(20, 2, 16, 1024, 50)),
            high(launch(50, 3, 16, 1024, 50)),
        ],
        0,
    );
    assert_eq!(start_times(&ran, 1), [[0; 4], [450; 4]].concat());
    assert_eq!(
        start_times(&ran, 2),
        [[50; 4], [100; 4], [150; 4], [200; 4]].concat()
    );
    assert_eq!(
        start_times(&ran, 3),
        [[250; 4], [300; 4], [350; 4], [400; 4]].concat()
    );
}

#[test]
fn two_priorities_of_the_tx2() {
    // Table 4, Figure 7: K3 preempts K1 between its blocks; then K1, K2, K4 in launch order.
    let ran = simulate(
        Dispatcher::new(2, SM),
        &[
            launch(0, 1, 8, 1024, 50),
            launch(20, 2, 8, 1024, 50),
            high(launch(30, 3, 8, 1024, 50)),
            launch(120, 4, 8, 1024, 50),
        ],
        0,
    );
    assert_eq!(start_times(&ran, 1), [[0; 4], [150; 4]].concat());
    assert_eq!(start_times(&ran, 3), [[50; 4], [100; 4]].concat());
    assert_eq!(start_times(&ran, 2), [[200; 4], [250; 4]].concat());
    assert_eq!(start_times(&ran, 4), [[300; 4], [350; 4]].concat());
}

#[test]
fn priority_and_resources_on_the_tx2() {
    // Table 5, Figure 8. Half of one SM is free when K8 is launched, and half of each when K1 has ended: K8 needs half
    // of one SM more, and K9, which would fit, has the low priority. Both start when K2 has ended.
    let mut launches: Vec<_> = (0..7)
        .map(|i| launch(10 * i, i as u32 + 1, 1, 512, 100))
        .collect();
    launches.push(high(launch(65, 8, 1, 1024, 50)));
    launches.push(launch(70, 9, 1, 512, 100));
    let ran = simulate(Dispatcher::new(2, SM), &launches, 0);
    for kernel in 1..=7 {
        assert_eq!(start_times(&ran, kernel), [10 * (kernel as u64 - 1)]);
    }
    assert_eq!(start_times(&ran, 8), [110]);
    assert_eq!(start_times(&ran, 9), [110]);
    // In the text the free half is not on the SM of K1, and K8 runs on that of K2.
    let sm = |kernel: usize| ran.iter().find(|block| block.0 == kernel).unwrap().2;
    assert_ne!(sm(1), sm(2));
    assert_eq!(sm(8), sm(2));
    assert_ne!(sm(9), sm(8));
}

#[test]
fn nine_streams_need_nine_channels() {
    // `BAKITA24`, Figure 5: four kernels in each of nine streams. With eight channels the ninth stream waits until all
    // kernels of the first are fully dispatched, although resources are free; with nine it does not. (Sizes and times
    // are not in the text.)
    let launches: Vec<_> = (0..36)
        .map(|i| launch(i, i as u32 / 4 + 1, 1, 32, 100))
        .collect();
    let gpu = || Dispatcher::new(2, SM);
    let ran = simulate(gpu().with_channels(8), &launches, 0);
    assert_eq!(start_times(&ran, 33), start_times(&ran, 4));
    assert_eq!(start_times(&ran, 33), [300]);
    let ran = simulate(gpu().with_channels(9), &launches, 0);
    assert_eq!(start_times(&ran, 33), [32]);
}

/// Second implementation of the rules, without queues: computed from the launched kernels and the ended blocks.
struct Oracle {
    kernels: Vec<KernelLaunch>,
    assigned: Vec<u64>,
    ended: Vec<u64>,
    /// Kernels in the order in which they entered an EE queue.
    order: Vec<usize>,
    used: Vec<Vec<usize>>,
}

impl Oracle {
    /// Whether a kernel may start (G2, G4, N1, N2): it waits for all earlier kernels of its stream; kernels of the NULL
    /// stream wait for all earlier ones, and all later ones wait for them.
    fn may_start(&self, kernel: usize) -> bool {
        let stream = |kernel: usize| self.kernels[kernel].stream;
        (0..kernel)
            .filter(|&before| {
                stream(before) == stream(kernel)
                    || stream(before) == Stream::NULL
                    || stream(kernel) == Stream::NULL
            })
            .all(|before| self.ended[before] == self.kernels[before].blocks)
    }

    fn enqueue(&mut self) {
        for kernel in 0..self.kernels.len() {
            if !self.order.contains(&kernel) && self.may_start(kernel) {
                self.order.push(kernel);
            }
        }
    }

    /// The kernel whose blocks are assigned next (X1, A2).
    fn head(&self) -> Option<usize> {
        let waits = |&kernel: &usize| self.assigned[kernel] < self.kernels[kernel].blocks;
        let mut waiting = self.order.iter().copied().filter(waits);
        let is_high = |&kernel: &usize| self.kernels[kernel].priority == Priority::High;
        waiting.clone().find(is_high).or_else(|| waiting.next())
    }

    /// Number of further blocks of the kernel that fit on an SM, by trial.
    fn fit_count(&self, sm: usize, kernel: usize) -> u64 {
        let used = self.used[sm]
            .iter()
            .map(|&kernel| self.kernels[kernel].need);
        let mut free = used.fold(SM, |free, need| {
            free.without(&need).expect("an SM is too full")
        });
        let mut fit = 0;
        while let Some(less) = free.without(&self.kernels[kernel].need) {
            free = less;
            fit += 1;
        }
        fit
    }

    /// The SM on which the most blocks of the kernel fit, the lowest of equal ones.
    fn select_sm(&self, kernel: usize) -> Option<usize> {
        let fits = |sm: &usize| self.fit_count(*sm, kernel) > 0;
        let sms = (0..self.used.len()).filter(fits);
        sms.max_by_key(|&sm| (self.fit_count(sm, kernel), usize::MAX - sm))
    }
}

fn random_kernel(rng: &mut Rng) -> KernelLaunch {
    let mut need = need(rng.u64(1..=2048), 0);
    if rng.bool() {
        need.threads = rng.u64(1..=300);
        need.warps = need.threads.div_ceil(32);
    }
    if rng.bool() {
        need.shared = rng.u64(0..=48) << 10;
    }
    // Independent of each other, unlike in kernels, so that each resource limits some launches.
    need.warps = rng.u64(1..=need.warps);
    need.registers = rng.u64(0..=(need.threads * 100).min(SM.registers));
    let stream = Stream(rng.u32(0..5));
    KernelLaunch {
        stream,
        priority: if stream.0 % 2 == 1 {
            Priority::High
        } else {
            Priority::Low
        },
        blocks: rng.u64(1..12),
        need,
    }
}

/// Launches random kernels at random times, ends random blocks, and compares each assignment and each absence of one.
/// With few channels, checks only the rules that hold with channels as well.
fn random_run(seed: u64, channels: Option<usize>) {
    let mut rng = Rng::with_seed(seed);
    let sms = rng.usize(1..5);
    let mut gpu = Dispatcher::new(sms, SM);
    if let Some(channels) = channels {
        gpu = gpu.with_channels(channels);
    }
    let mut ids = Vec::new();
    let mut oracle = Oracle {
        kernels: Vec::new(),
        assigned: Vec::new(),
        ended: Vec::new(),
        order: Vec::new(),
        used: vec![Vec::new(); sms],
    };
    let launches = rng.usize(1..14);
    let mut running: Vec<(usize, usize)> = Vec::new();
    while ids.len() < launches || !running.is_empty() {
        if ids.len() < launches && (running.is_empty() || rng.bool()) {
            let kernel = random_kernel(&mut rng);
            ids.push(gpu.submit(kernel).expect("it fits"));
            oracle.kernels.push(kernel);
            oracle.assigned.push(0);
            oracle.ended.push(0);
        } else {
            let (kernel, sm) = running.swap_remove(rng.usize(..running.len()));
            oracle.ended[kernel] += 1;
            let index = oracle.used[sm].iter().position(|&used| used == kernel);
            oracle.used[sm].swap_remove(index.expect("it runs there"));
            let complete = oracle.ended[kernel] == oracle.kernels[kernel].blocks;
            assert_eq!(gpu.block_finished(ids[kernel], sm), complete, "seed {seed}");
        }
        oracle.enqueue();
        // Sometimes skip the assignment, so that several events precede one.
        if rng.u8(..8) == 0 && !running.is_empty() {
            continue;
        }
        loop {
            let expected = oracle.head();
            let expected_sm = expected.and_then(|kernel| oracle.select_sm(kernel));
            let Some(assigned) = gpu.assign() else {
                let none = channels.is_some() || expected_sm.is_none();
                assert!(none, "seed {seed}: a block that fits is not assigned");
                break;
            };
            let known = ids.iter().position(|id| *id == assigned.kernel);
            let kernel = known.expect("a kernel that was submitted");
            assert!(oracle.may_start(kernel), "seed {seed}: out of order");
            if channels.is_none() {
                assert_eq!(Some(kernel), expected, "seed {seed}: the wrong kernel");
                assert_eq!(Some(assigned.sm), expected_sm, "seed {seed}: the wrong SM");
            }
            assert!(
                oracle.fit_count(assigned.sm, kernel) > 0,
                "seed {seed}: no resources"
            );
            assert_eq!(assigned.block, oracle.assigned[kernel], "seed {seed}");
            oracle.assigned[kernel] += 1;
            oracle.used[assigned.sm].push(kernel);
            running.push((kernel, assigned.sm));
        }
    }
    for (kernel, &ended) in oracle.kernels.iter().zip(&oracle.ended) {
        assert_eq!(ended, kernel.blocks, "seed {seed}: blocks are left");
    }
    assert!(gpu.is_done(), "seed {seed}");
}

#[test]
fn random_kernels_follow_the_rules() {
    for seed in 0..4000 {
        random_run(seed, None);
    }
}

#[test]
fn random_kernels_finish_with_few_channels() {
    for seed in 0..4000 {
        random_run(seed, Some(1 + seed as usize % 3));
    }
}
