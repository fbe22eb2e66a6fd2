use warpbound_base::Observed;

use super::*;

/// Times of a warp: path, services of the sub-partition, the SM and the GPU, first requests, time between starts.
#[derive(Clone, Copy, Default)]
pub(super) struct Numbers {
    pub(super) path: u64,
    pub(super) core: u64,
    pub(super) sm: u64,
    pub(super) gpu: u64,
    pub(super) first: u64,
    pub(super) apart: u64,
    pub(super) lines: u64,
    pub(super) ended: u64,
    pub(super) unfinished: u64,
    pub(super) stores: u64,
    pub(super) queued: u64,
    pub(super) barriers: u64,
    /// `None` for all of `core`.
    pub(super) segment: Option<u64>,
}

fn composed(shape: LaunchShape, chain: BlockChain, numbers: Numbers) -> LaunchBound {
    composed_for(shape, chain, SchedulerClass::WorkConserving, numbers)
}

fn composed_for(
    shape: LaunchShape,
    chain: BlockChain,
    schedulers: SchedulerClass,
    numbers: Numbers,
) -> LaunchBound {
    let bound = |cycles| WarpBound::from_profile(Cycles(cycles));
    let [path, core, sm, gpu] = [numbers.path, numbers.core, numbers.sm, numbers.gpu].map(bound);
    let last = bound(numbers.path + numbers.stores);
    let times = LaunchTimes {
        path: last,
        followed: path,
        chain,
        schedulers,
        queued: Cycles(numbers.queued),
        barriers: numbers.barriers,
        segment: Cycles(numbers.segment.unwrap_or(numbers.core)),
        core,
        sm,
        gpu,
        first: Cycles(numbers.first),
        lines: Cycles(numbers.lines),
        ended: Cycles(numbers.ended),
        unfinished: bound(numbers.unfinished),
        apart: Cycles(numbers.apart),
        executed: None,
    };
    LaunchBound::compose(&shape, &times, Delays::default()).expect("it fits")
}

pub(super) fn limit(shape: LaunchShape, chain: BlockChain, numbers: Numbers) -> u64 {
    composed(shape, chain, numbers).upper_bound().limit().0
}

const ALIGNED: BlockChain = BlockChain::Aligned;

pub(super) fn shape(blocks: u64, warps: u64, sms: u64, resident: (u64, u64)) -> LaunchShape {
    LaunchShape {
        blocks,
        warps,
        sms,
        most_sms: sms,
        resident,
        sub_partitions: 4,
    }
}

/// Warps wait for the other warps of their sub-partition. Four warps have one each; the fifth shares one.
#[test]
fn warps_wait_for_those_of_their_sub_partition() {
    let numbers = Numbers {
        path: 1000,
        core: 100,
        ..Numbers::default()
    };
    let of = |warps| limit(shape(1, warps, 1, (8, 8)), BlockChain::OneWarp, numbers);
    assert_eq!([1, 4, 5, 8, 9].map(of), [1000, 1000, 1200, 1200, 1300]);
}

/// Two blocks of four warps whose chains change the sub-partition with each of their barriers: the run of 8,212
/// cycles of a counterexample to twice the service of one sub-partition.
#[test]
fn chains_that_change_the_sub_partition() {
    let numbers = Numbers {
        path: 4151,
        core: 1005,
        apart: 130,
        barriers: 3,
        ..Numbers::default()
    };
    let found = limit(shape(2, 4, 1, (2, 2)), ALIGNED, numbers);
    assert!(found >= 8212, "{found}");
}

/// Of other blocks that start at once, a chain waits for the warps of the sub-partitions that its barriers let it
/// reach.
#[test]
fn few_barriers_reach_few_sub_partitions() {
    let of = |warps, barriers| {
        let numbers = Numbers {
            core: 100,
            barriers,
            ..Numbers::default()
        };
        limit(shape(3, warps, 1, (4, 4)), ALIGNED, numbers)
    };
    // Two warps of its own block, and of each other one two in each sub-partition that is reached.
    let of_eight = [0, 1, 2, 3, 4, u64::MAX].map(|barriers| of(8, barriers));
    assert_eq!(of_eight, [600, 1000, 1400, 1800, 1800, 1800]);
    // Six warps are no more than six.
    assert_eq!(
        [1, 2, 3].map(|barriers| of(6, barriers)),
        [1000, 1400, 1400]
    );
}

/// A segment of another block counts once more for each barrier at which the chain may change the sub-partition, and
/// for each end of a block: ten segments of a tenth of the service each.
#[test]
fn segments_count_once_more_for_each_change() {
    let numbers = Numbers {
        core: 100,
        barriers: 9,
        segment: Some(10),
        ..Numbers::default()
    };
    // Two warps of each block in a sub-partition.
    let at_once = limit(shape(3, 8, 1, (4, 4)), ALIGNED, numbers);
    assert_eq!(at_once, 3 * 2 * 100 + 2 * 2 * 9 * 10);
    // Eight blocks before the last one with ten changes each; one block of two sees each change. Then the last two
    // blocks.
    let queued = limit(shape(9, 8, 1, (2, 2)), ALIGNED, numbers);
    assert_eq!(queued, 10 * 2 * 100 + 2 * (8 * 10 / 2 + 9) * 10);
    // One long segment that the chain changes into at each barrier: all sub-partitions count.
    let numbers = Numbers {
        segment: Some(91),
        ..numbers
    };
    let long = limit(shape(9, 8, 1, (2, 2)), ALIGNED, numbers);
    assert_eq!(long, 9 * 8 * 100);
    // Changes find full queues: the changes of four blocks in each place, and of the last block.
    let numbers = Numbers {
        segment: Some(10),
        queued: 1,
        ..numbers
    };
    let found = limit(shape(9, 8, 1, (2, 2)), ALIGNED, numbers);
    assert_eq!(found, queued + 8 * 10 / 2 + 10);
}

/// 1,000 instructions of another warp for either pipe; each may take the pipe that is needed next: 4,001 cycles.
#[test]
fn instructions_for_either_pipe_count_in_full() {
    let numbers = Numbers {
        path: 2000,
        core: 2001,
        ..Numbers::default()
    };
    assert!(limit(shape(1, 5, 1, (1, 1)), BlockChain::OneWarp, numbers) >= 4001);
}

/// The SM that decides when the last block starts and the one that executes it request the same line first: the run of
/// 13 blocks on 2 SMs takes 2,200 cycles.
#[test]
fn first_requests_count_on_two_sms() {
    let numbers = Numbers {
        path: 100,
        first: 1000,
        ..Numbers::default()
    };
    let found = limit(shape(13, 1, 2, (1, 1)), BlockChain::OneWarp, numbers);
    assert_eq!(found, 7 * 100 + 2 * 1000);
    assert!(found >= 2200);
    // All at once: no chain of blocks.
    assert_eq!(
        limit(shape(2, 1, 2, (1, 1)), BlockChain::OneWarp, numbers),
        1100
    );
}

/// One block more than the SMs hold at once starts after another one has ended.
#[test]
fn one_block_more_than_fits() {
    let numbers = Numbers {
        path: 1000,
        ..Numbers::default()
    };
    let of = |blocks| limit(shape(blocks, 1, 3, (2, 2)), BlockChain::OneWarp, numbers);
    assert_eq!(of(6), 1000);
    assert_eq!(of(7), 2000);
    // The least number of resident blocks counts.
    let range = shape(7, 1, 3, (1, 2));
    assert_eq!(limit(range, BlockChain::OneWarp, numbers), 3000);
}

/// Blocks of an SM of its own services, blocks of the grid of the memory that all share, and starts one after the
/// other.
#[test]
fn services_count_for_each_warp_that_takes_them() {
    let numbers = Numbers {
        sm: 10,
        gpu: 1,
        apart: 7,
        ..Numbers::default()
    };
    let found = composed(shape(8, 3, 4, (2, 2)), BlockChain::OneWarp, numbers);
    assert_eq!(found.term(LaunchTerm::Sm), 2 * 3 * 10);
    assert_eq!(found.term(LaunchTerm::Gpu), 8 * 3);
    assert_eq!(found.term(LaunchTerm::Starts), 7);
    let found = composed(shape(9, 3, 4, (2, 2)), BlockChain::OneWarp, numbers);
    // Two blocks were dispatched to each SM before the last one, and two more run with it.
    assert_eq!(found.term(LaunchTerm::Sm), 4 * 3 * 10);
    assert_eq!(found.term(LaunchTerm::Starts), 4 * 7);
}

/// Each SM requests all lines of the memory that all share; accesses of blocks that have ended count where blocks
/// follow each other.
#[test]
fn lines_count_for_each_sm() {
    let numbers = Numbers {
        lines: 4,
        ended: 50,
        ..Numbers::default()
    };
    let of = |blocks| limit(shape(blocks, 1, 256, (1, 1)), BlockChain::OneWarp, numbers);
    assert_eq!(of(3), 3 * 4);
    assert_eq!(of(256), 256 * 4);
    assert_eq!(of(257), 256 * 4 + 50);
}

/// Warps that may pass different barriers wait for each other in any order.
#[test]
fn warps_with_different_barriers_add_up() {
    let numbers = Numbers {
        path: 1000,
        core: 10,
        ..Numbers::default()
    };
    let one = shape(1, 6, 1, (1, 1));
    assert_eq!(limit(one, BlockChain::AllWarps, numbers), 6000 + 60);
    assert_eq!(limit(one, ALIGNED, numbers), 1000 + 20);
    let numbers = Numbers {
        queued: 5,
        barriers: 3,
        ..numbers
    };
    assert_eq!(limit(one, ALIGNED, numbers), 1000 + 20 + 3 * 5);
    // Each warp has a sub-partition and its queues for itself.
    let four = shape(1, 4, 1, (1, 1));
    assert_eq!(limit(four, ALIGNED, numbers), 1000);
}

/// Stores of a warp delay the end of the launch, but no block that follows.
#[test]
fn stores_count_at_the_end_of_the_launch() {
    let numbers = Numbers {
        path: 1000,
        stores: 300,
        ..Numbers::default()
    };
    let of = |blocks, chain| limit(shape(blocks, 3, 1, (2, 2)), chain, numbers);
    assert_eq!(of(2, BlockChain::OneWarp), 1300);
    // Four blocks before the last one, in two places.
    assert_eq!(of(5, BlockChain::OneWarp), 2 * 1000 + 1300);
    assert_eq!(of(1, BlockChain::AllWarps), 2 * 1000 + 1300);
    assert_eq!(of(5, BlockChain::AllWarps), (2 * 3 + 2) * 1000 + 1300);
}

/// Blocks that start later than others have ended find what these have left in the queues, even if each warp has a
/// sub-partition for itself: the run of two short blocks of a counterexample.
#[test]
fn blocks_that_start_late_find_full_queues() {
    // A warp leaves only a part of its own service in the queues.
    let numbers = Numbers {
        path: 100,
        core: 640,
        queued: 640,
        apart: 40,
        ..Numbers::default()
    };
    let of = |blocks, chain| limit(shape(blocks, 1, 1, (32, 32)), chain, numbers);
    assert_eq!(of(1, BlockChain::OneWarp), 100);
    assert_eq!(of(2, BlockChain::OneWarp), 100 + 40 + 640);
    assert_eq!(of(2, ALIGNED), 100 + 40 + 640);
    assert_eq!(of(16, BlockChain::OneWarp), 100 + 15 * 40 + 4 * 640 + 640);
}

/// The sum of all warps of an SM may take the place of one sub-partition and full queues.
#[test]
fn queues_hold_no_more_than_all_warps_issue() {
    let numbers = Numbers {
        core: 10,
        queued: 640,
        ..Numbers::default()
    };
    let of = |blocks, chain| limit(shape(blocks, 1, 1, (32, 32)), chain, numbers);
    assert_eq!(of(16, BlockChain::OneWarp), 16 * 10);
    // So where each warp has a sub-partition for itself; a single one finds empty queues.
    assert_eq!([1, 2, 4].map(|blocks| of(blocks, ALIGNED)), [0, 20, 40]);
    let barriers = Numbers {
        barriers: 3,
        ..numbers
    };
    let found = limit(shape(2, 8, 1, (4, 4)), ALIGNED, barriers);
    assert_eq!(found, 2 * 8 * 10);
}

/// On an SM that holds one block, a block waits for no other one, but for what the one before has left in the queues.
#[test]
fn blocks_one_by_one_leave_full_queues() {
    let numbers = Numbers {
        path: 1000,
        core: 100,
        queued: 30,
        barriers: 2,
        ..Numbers::default()
    };
    let of = |warps, chain| limit(shape(4, warps, 1, (1, 1)), chain, numbers);
    assert_eq!(of(4, BlockChain::OneWarp), 4 * 1000 + 4 * 30);
    assert_eq!(of(8, BlockChain::OneWarp), 4 * 1000 + 4 * 200 + 4 * 30);
    assert_eq!(of(4, ALIGNED), 4 * 1000 + 4 * 30);
    assert_eq!(of(8, ALIGNED), 4 * 1000 + 4 * 200 + 4 * 2 * 30 + 4 * 30);
    assert_eq!(of(2, BlockChain::AllWarps), 4 * 2 * 1000 + 4 * 200 + 4 * 30);
}

/// A scheduler that follows one warp until it ends executes the warps of a sub-partition one after the other; blocks
/// in a queue have all sub-partitions of their SM.
#[test]
fn any_scheduler_follows_one_warp_at_a_time() {
    let numbers = Numbers {
        path: 1000,
        ..Numbers::default()
    };
    let of = |shape, chain| {
        let found = composed_for(shape, chain, SchedulerClass::Any, numbers);
        found.upper_bound().limit().0
    };
    assert_eq!(of(shape(1, 8, 1, (1, 1)), BlockChain::OneWarp), 2000);
    assert_eq!(of(shape(1, 8, 1, (1, 1)), ALIGNED), 2000);
    assert_eq!(of(shape(1, 8, 1, (1, 1)), BlockChain::AllWarps), 8000);
    assert_eq!(of(shape(2, 8, 1, (2, 2)), BlockChain::OneWarp), 4000);
    assert_eq!(of(shape(2, 8, 1, (2, 2)), ALIGNED), 10_000);
    // Two before the last one; one of the two may run with it.
    assert_eq!(of(shape(3, 8, 1, (2, 2)), BlockChain::OneWarp), 24_000);
    // Two before the last one, and two that run with it on another SM.
    assert_eq!(of(shape(5, 8, 2, (2, 2)), BlockChain::OneWarp), 32_000);
}

/// A grid of a billion blocks costs no more to bound than one of ten; what has more than 64 bits has no bound.
#[test]
fn large_grids() {
    let numbers = Numbers {
        path: 1000,
        core: 100,
        ..Numbers::default()
    };
    let large = shape(1_000_000_000, 8, 20, (4, 4));
    let found = limit(large, BlockChain::OneWarp, numbers);
    assert!(found > 1_000_000_000 / 80 * 1000 && found < 1_000_000_000 / 20 * 1000);
    let path = WarpBound::from_profile(Cycles(u64::MAX));
    let none = WarpBound::from_profile(Cycles(0));
    let times = LaunchTimes {
        path: path.clone(),
        followed: path,
        chain: BlockChain::AllWarps,
        schedulers: SchedulerClass::WorkConserving,
        queued: Cycles(0),
        barriers: 0,
        segment: Cycles(0),
        core: none.clone(),
        sm: none.clone(),
        gpu: none.clone(),
        first: Cycles(0),
        lines: Cycles(0),
        ended: Cycles(0),
        unfinished: none,
        apart: Cycles(0),
        executed: None,
    };
    assert_eq!(
        LaunchBound::compose(&large, &times, Delays::default()),
        None
    );
}

/// Equal blocks, dispatched in turn to `sms` SMs of `places` places, one wave of them after the other.
fn observed(
    blocks: u64,
    sms: u64,
    places: u64,
    chain: BlockChain,
    barriers: u64,
    warps: u64,
) -> ObservedLaunch {
    // The slots of the warps of an SM are consecutive.
    let parts = |before: u64| -> Vec<PartLoad> {
        let parts = (0..4).map(|part| {
            let slot = (part + 4 - before * warps % 4) % 4;
            let own = warps / 4 + u64::from(slot < warps % 4);
            PartLoad {
                warps: own,
                path: if own > 0 { 1000 } else { 0 },
                core: 100 * own,
            }
        });
        parts.collect()
    };
    let longest = if chain == BlockChain::AllWarps {
        warps
    } else {
        1
    };
    let block = |number: u64| {
        let wave = number / (sms * places);
        ObservedBlock {
            sm: (number % sms) as u32,
            life: (2000 * wave, 2000 * (wave + 1)),
            path: 1000 * longest,
            followed: 1000 * longest,
            core: 100 * warps.div_ceil(4),
            barriers,
            segment: 100 / (barriers + 1) * warps.div_ceil(4),
            parts: parts(number / sms),
            sm_service: 10 * warps,
            unfinished: 0,
        }
    };
    ObservedLaunch {
        blocks: (0..blocks).map(block).collect(),
        chain,
        sms,
        resident: places,
        gpu: blocks * warps,
        queued: 7,
        first: 50,
        ended: 40,
        apart: 3,
    }
}

/// Observed blocks count no more than the bound of equal blocks, and as much where nothing can be saved.
#[test]
fn observed_blocks_are_within_the_bound_of_equal_ones() {
    let numbers = Numbers {
        path: 1000,
        core: 100,
        sm: 10,
        gpu: 1,
        queued: 7,
        first: 50,
        ended: 40,
        apart: 3,
        ..Numbers::default()
    };
    let mut equal = 0;
    for blocks in 1..40 {
        for (sms, places) in [(1, 1), (1, 3), (2, 1), (2, 4), (5, 2), (40, 1)] {
            for warps in [1, 3, 4, 5, 8] {
                for (chain, barriers) in [
                    (BlockChain::OneWarp, 0),
                    (ALIGNED, 0),
                    (ALIGNED, 3),
                    (BlockChain::AllWarps, 0),
                ] {
                    // Equal segments between barriers.
                    let numbers = Numbers {
                        barriers,
                        segment: Some(100 / (barriers + 1)),
                        ..numbers
                    };
                    let bound = limit(shape(blocks, warps, sms, (places, places)), chain, numbers);
                    let run = observed(blocks, sms, places, chain, barriers, warps);
                    let found = run.compose(Delays::default()).expect("it fits").cycles();
                    let Observed(Cycles(found)) = found;
                    assert!(found <= bound, "{found} > {bound}: {run:?}");
                    assert!(2 * found > bound, "{found} of {bound}: {run:?}");
                    equal += usize::from(found == bound);
                }
            }
        }
    }
    assert!(equal > 500, "{equal}");
}

/// Blocks of different length count with their own times: the mean over the places, and the last one.
#[test]
fn observed_blocks_count_with_their_own_times() {
    let mut run = observed(3, 1, 1, BlockChain::OneWarp, 0, 1);
    (run.queued, run.first, run.ended, run.apart, run.gpu) = (0, 0, 0, 0, 0);
    for (block, cycles) in run.blocks.iter_mut().zip([100, 300, 50]) {
        (block.path, block.followed, block.sm_service) = (cycles, cycles, 0);
        block.parts[0].path = cycles;
        block.life = (0, 0);
    }
    run.blocks[2].life = (400, 450);
    let found = run.compose(Delays::default()).expect("it fits");
    assert_eq!(found.cycles(), Observed(Cycles(450)));
    // A sub-partition that warps share adds their services.
    run.blocks[1].parts = vec![PartLoad {
        warps: 2,
        path: 300,
        core: 80,
    }];
    let found = run.compose(Delays::default()).expect("it fits");
    assert_eq!(found.cycles(), Observed(Cycles(530)));
}

/// All services that warps leave unfinished, where no queue limits them, may be on the SM of the last block; only the
/// blocks that fill the other SMs leave none there.
#[test]
fn unfinished_services_count_for_each_ended_warp() {
    let numbers = Numbers {
        unfinished: 7,
        ..Numbers::default()
    };
    let of = |blocks, sms| limit(shape(blocks, 2, sms, (1, 1)), BlockChain::OneWarp, numbers);
    assert_eq!(of(195, 100), 2 * 7 * (194 - 99));
    assert_eq!(of(195, 1), 2 * 7 * 194);
    // All blocks that start at once count in full.
    assert_eq!(of(100, 100), 0);
}

/// Services of whole blocks count where they are less; blocks that have ended before leave services of the worst warp.
#[test]
fn executed_services_count_where_they_are_less() {
    let bound = |cycles| WarpBound::from_profile(Cycles(cycles));
    let of = |blocks, resident, executed| {
        let shape = LaunchShape {
            blocks,
            warps: 4,
            sms: 2,
            most_sms: 2,
            resident: (resident, resident),
            sub_partitions: 4,
        };
        let times = LaunchTimes {
            path: bound(0),
            followed: bound(0),
            chain: BlockChain::AllWarps,
            schedulers: SchedulerClass::WorkConserving,
            queued: Cycles(0),
            barriers: 0,
            segment: Cycles(10),
            core: bound(10),
            sm: bound(100),
            gpu: bound(1000),
            first: Cycles(0),
            lines: Cycles(0),
            ended: Cycles(0),
            unfinished: bound(0),
            apart: Cycles(0),
            executed,
        };
        let found = LaunchBound::compose(&shape, &times, Delays::default()).expect("it fits");
        [LaunchTerm::Core, LaunchTerm::Sm, LaunchTerm::Gpu].map(|term| found.term(term))
    };
    let each = |blocks: u64, core: u128| ServicesOfBlocks {
        blocks,
        core,
        sm: 10 * core,
        gpu: 100 * core,
    };
    let of_kinds = |kinds: &[ServicesOfBlocks]| {
        Some(ExecutedServices {
            kinds: kinds.to_vec(),
            gpu_of_launch: None,
        })
    };
    // One of the four warps of a block does all; one block of the launch does nothing.
    let executed = |blocks: u64| of_kinds(&[each(1, 0), each(blocks - 1, 10)]);
    // Four blocks at once, two on an SM.
    assert_eq!(of(4, 2, None), [80, 800, 16_000]);
    assert_eq!(of(4, 2, executed(4)), [20, 200, 3000]);
    // Of nine blocks four are dispatched to the SM before the last one, and two run with it: six, and the worst warp.
    assert_eq!(of(9, 2, None), [240, 2400, 36_000]);
    assert_eq!(of(9, 2, executed(9)), [70, 700, 8000]);
    // On an SM that holds one block, queues hold instructions of the block before: the sub-partitions keep their rule.
    let [core, sm, _] = of(9, 1, executed(9));
    assert_eq!([core, sm], [of(9, 1, None)[0], 600]);
    // The blocks of an SM are those with the greatest services: one of 20 and one of 10, of both SMs all.
    let kinds = [each(2, 0), each(1, 20), each(1, 10)];
    assert_eq!(of(4, 2, of_kinds(&kinds)), [30, 300, 3000]);
    assert_eq!(of(4, 2, of_kinds(&[each(4, 10)])), [20, 200, 4000]);
    let limited = of_kinds(&kinds).map(|executed| ExecutedServices {
        gpu_of_launch: Some(2999),
        ..executed
    });
    assert_eq!(of(4, 2, limited)[2], 2999);
    // More than the worst warp as often as there are warps is no gain.
    assert_eq!(of(4, 2, of_kinds(&[each(4, 1000)])), of(4, 2, None));
}

/// Until the last block is dispatched and afterwards, an only SM serves each block once in all, and requests a line
/// once.
#[test]
fn an_only_sm_serves_each_block_once() {
    let numbers = Numbers {
        core: 1,
        sm: 10,
        first: 1000,
        apart: 100_000,
        ..Numbers::default()
    };
    let terms = |sms| {
        let found = composed(shape(9, 4, sms, (4, 4)), BlockChain::AllWarps, numbers);
        let terms = [
            LaunchTerm::Core,
            LaunchTerm::Sm,
            LaunchTerm::First,
            LaunchTerm::Starts,
        ];
        terms.map(|term| found.term(term))
    };
    assert_eq!(terms(1), [36, 360, 1000, 900_000]);
    // Four are dispatched before the last one, and four run with it on another SM.
    assert_eq!(terms(2), [32, 320, 2000, 800_000]);
}
