use super::*;

/// Times of a warp: path, services of the sub-partition, the SM and the GPU, first requests, time between starts.
#[derive(Clone, Copy, Default)]
struct Numbers {
    path: u64,
    core: u64,
    sm: u64,
    gpu: u64,
    first: u64,
    apart: u64,
    lines: u64,
    ended: u64,
}

fn composed(shape: LaunchShape, chain: BlockChain, numbers: Numbers) -> LaunchBound {
    let bound = |cycles| WarpBound::from_profile(Cycles(cycles));
    let [path, core, sm, gpu] = [numbers.path, numbers.core, numbers.sm, numbers.gpu].map(bound);
    let times = LaunchTimes {
        path: &path,
        chain,
        core: &core,
        sm: &sm,
        gpu: &gpu,
        first: Cycles(numbers.first),
        lines: Cycles(numbers.lines),
        ended: Cycles(numbers.ended),
        end: Cycles(0),
        own: [true; 3],
        apart: Cycles(numbers.apart),
    };
    LaunchBound::compose(&shape, &times, Delays::default()).expect("it fits")
}

fn limit(shape: LaunchShape, chain: BlockChain, numbers: Numbers) -> u64 {
    composed(shape, chain, numbers).upper_bound().limit().0
}

const ALIGNED: BlockChain = BlockChain::Aligned {
    left_over: Cycles(0),
};

fn shape(blocks: u64, warps: u64, sms: u64, resident: (u64, u64)) -> LaunchShape {
    LaunchShape {
        blocks,
        warps,
        sms,
        most_sms: sms,
        resident,
        sub_partitions: 4,
        spread: Spread::EachBlock,
    }
}

/// Warps wait for those of their sub-partition: of four, each has one for itself; the fifth shares one.
#[test]
fn warps_wait_for_those_of_their_sub_partition() {
    let numbers = Numbers {
        path: 1000,
        core: 100,
        ..Numbers::default()
    };
    let of = |warps| limit(shape(1, warps, 1, (8, 8)), BlockChain::OneWarp, numbers);
    assert_eq!([1, 4, 5, 8, 9].map(of), [1100, 1100, 1200, 1200, 1300]);
}

/// Two blocks of four warps whose chains change the sub-partition with each of their barriers: the run of 8,212 cycles of
/// a counterexample to twice the service of one sub-partition.
#[test]
fn chains_that_change_the_sub_partition() {
    let numbers = Numbers {
        path: 4151,
        core: 1005,
        apart: 130,
        ..Numbers::default()
    };
    let found = limit(shape(2, 4, 1, (2, 2)), ALIGNED, numbers);
    assert!(found >= 8212, "{found}");
}

/// 1,000 instructions for either pipe of another warp, each of which may take the pipe that is needed next: 4,001 cycles.
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

/// Blocks of an SM of its own services, blocks of the grid of the memory that all share, and starts one after the other.
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

/// Each SM requests all lines of the memory that all share; accesses of blocks that have ended count where blocks follow
/// each other.
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
    let left = BlockChain::Aligned {
        left_over: Cycles(5),
    };
    assert_eq!(limit(one, left, numbers), 1000 + 20 + 5);
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
        path: &path,
        chain: BlockChain::AllWarps,
        core: &none,
        sm: &none,
        gpu: &none,
        first: Cycles(0),
        lines: Cycles(0),
        ended: Cycles(0),
        end: Cycles(0),
        own: [true; 3],
        apart: Cycles(0),
    };
    assert_eq!(
        LaunchBound::compose(&large, &times, Delays::default()),
        None
    );
}

/// Warps that take any free slot: of eight places for blocks of one warp two are in a sub-partition at a time, so that each
/// instruction of earlier blocks delays two of eight chains, and two warps at most run beside the last.
#[test]
fn warps_in_free_slots_share_the_sub_partitions() {
    let numbers = Numbers {
        core: 100,
        ..Numbers::default()
    };
    let slots = |part, most| LaunchShape {
        spread: Spread::Slots { part, most },
        ..shape(17, 1, 1, (8, 8))
    };
    let found = |shape| composed(shape, BlockChain::OneWarp, numbers).term(LaunchTerm::Core);
    assert_eq!(found(slots((2, 8), 2)), (16 * 100) / 4 + 2 * 100);
    assert_eq!(found(slots((1, 1), 2)), 16 * 100 + 2 * 100);
    assert_eq!(found(shape(17, 1, 1, (8, 8))), (16 + 8) * 100);
}

/// A warp whose own services are in its path waits for those of others only.
#[test]
fn own_services_are_in_the_path() {
    let one = WarpBound::from_profile(Cycles(100));
    let times = |own| LaunchTimes {
        path: &one,
        chain: BlockChain::OneWarp,
        core: &one,
        sm: &one,
        gpu: &one,
        first: Cycles(0),
        lines: Cycles(0),
        ended: Cycles(0),
        apart: Cycles(0),
        end: Cycles(7),
        own,
    };
    let compose = |shape, own| {
        let found = LaunchBound::compose(&shape, &times(own), Delays::default());
        found.expect("it fits").upper_bound().limit().0
    };
    assert_eq!(compose(shape(1, 1, 1, (1, 1)), [true; 3]), 407);
    assert_eq!(compose(shape(1, 1, 1, (1, 1)), [false; 3]), 107);
    // Five warps on one SM: one more in the sub-partition, four more beside it.
    assert_eq!(compose(shape(1, 5, 1, (1, 1)), [false; 3]), 100 + 100 + 400 + 400 + 7);
}
