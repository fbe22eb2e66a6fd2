//! Occupancy against a second implementation of NVIDIA's rules (`cuda_occupancy.h`), and well-known cases.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use warpbound_base::Family;
use warpbound_machine::{
    BlockResources, GpuModel, Limit, MachineConfig, Occupancy, Parameter, Selection,
};

fn machine(name: &str) -> MachineConfig {
    GpuModel::built_in(name).unwrap().select(Selection::Typical)
}

#[test]
fn well_known_cases_of_6_1() {
    use Limit::{Blocks, Registers, Shared, Threads, Warps};
    let machine = machine("gtx1080");
    type Case<'a> = (u64, u64, u64, u64, f64, &'a [Limit]);
    let cases: [Case; 15] = [
        // Threads, registers of a thread, shared memory: blocks, occupancy, limits.
        (256, 32, 0, 8, 1.0, &[Threads, Warps, Registers]),
        (256, 16, 0, 8, 1.0, &[Threads, Warps]),
        // 33 to 40 registers take 40: 48 warps.
        (256, 33, 0, 6, 0.75, &[Registers]),
        (256, 37, 0, 6, 0.75, &[Registers]),
        (256, 40, 0, 6, 0.75, &[Registers]),
        (256, 41, 0, 5, 0.625, &[Registers]),
        (256, 255, 0, 1, 0.125, &[Registers]),
        (1024, 64, 0, 1, 0.5, &[Registers]),
        // 32 blocks of one warp each.
        (32, 32, 0, 32, 0.5, &[Blocks]),
        (1, 32, 0, 32, 0.5, &[Blocks]),
        (64, 32, 0, 32, 1.0, &[Threads, Warps, Blocks, Registers]),
        // Shared memory: 96 KB in steps of 256 bytes.
        (128, 16, 48 << 10, 2, 0.125, &[Shared]),
        (128, 16, 8 << 10, 12, 0.75, &[Shared]),
        (128, 16, (8 << 10) + 1, 11, 0.6875, &[Shared]),
        (
            128,
            32,
            6 << 10,
            16,
            1.0,
            &[Threads, Warps, Registers, Shared],
        ),
    ];
    for (threads, registers, shared, blocks, ratio, limits) in cases {
        let said = Occupancy::of(&machine, threads, registers, shared).unwrap();
        let case = (threads, registers, shared);
        assert_eq!(
            (said.blocks, &said.limits[..]),
            (blocks, limits),
            "{case:?}"
        );
        assert_eq!((said.ratio(), said.most_warps), (ratio, 64), "{case:?}");
        assert_eq!(said.warps, blocks * threads.div_ceil(32), "{case:?}");
    }
    assert_eq!(Shared.name(), "shared memory");
}

#[test]
fn other_chips_have_other_limits() {
    // 64 KB of shared memory, half the registers for a block (Jetson TX2); two sub-partitions (P100).
    let blocks = |name: &str, threads, registers, shared| {
        Occupancy::of(&machine(name), threads, registers, shared)
            .unwrap()
            .blocks
    };
    assert_eq!(blocks("jetson-tx2", 256, 32, 32 << 10), 2);
    assert_eq!(blocks("gtx1080", 256, 32, 32 << 10), 3);
    assert_eq!(blocks("jetson-tx2", 1024, 32, 0), 2);
    // Warps of 168 registers: 12 in four sub-partitions of 16384, and 12 in two of 32768; of 160: 12, and 12 of 12.8.
    assert_eq!(blocks("gtx1080", 64, 168, 0), 6);
    assert_eq!(blocks("p100", 64, 168, 0), 6);
    // Of 144 registers: 3 in each of four, 7 in each of two.
    assert_eq!(blocks("gtx1080", 64, 144, 0), 6);
    assert_eq!(blocks("p100", 64, 144, 0), 7);
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table: one row per case")]
fn a_block_that_fits_nowhere_says_why() {
    let tx2 = machine("jetson-tx2");
    let small = |parameter, value| tx2.clone().with(parameter, value);
    for (machine, threads, registers, shared, limit, takes, has) in [
        (
            tx2.clone(),
            1025,
            16,
            0,
            Parameter::BlockThreads,
            1025,
            1024,
        ),
        (
            tx2.clone(),
            1024,
            33,
            0,
            Parameter::BlockRegisters,
            40960,
            32768,
        ),
        // 3 warps of 255 registers would take 24576, but are allocated as 4.
        (
            small(Parameter::BlockRegisters, 32767),
            96,
            255,
            0,
            Parameter::BlockRegisters,
            32768,
            32767,
        ),
        (
            tx2.clone(),
            32,
            16,
            49153,
            Parameter::BlockShared,
            49408,
            49152,
        ),
        (
            small(Parameter::SmThreads, 512),
            513,
            16,
            0,
            Parameter::SmThreads,
            513,
            512,
        ),
        (
            small(Parameter::SmWarps, 16),
            513,
            16,
            0,
            Parameter::SmWarps,
            17,
            16,
        ),
        (
            small(Parameter::SmRegisters, 16384),
            1024,
            32,
            0,
            Parameter::SmRegisters,
            32768,
            16384,
        ),
        (
            small(Parameter::SmShared, 32768),
            32,
            16,
            32769,
            Parameter::SmShared,
            33024,
            32768,
        ),
    ] {
        let excess = Occupancy::of(&machine, threads, registers, shared).unwrap_err();
        assert_eq!(
            (excess.limit, excess.takes, excess.has),
            (limit, takes, has)
        );
        let said = excess.to_string();
        assert_eq!(
            said,
            format!("a block takes {takes}, but {} is {has}", limit.name())
        );
    }
    // No number panics.
    for registers in [u64::MAX, 1 << 40] {
        assert!(Occupancy::of(&tx2, 32, registers, 0).is_err());
    }
    assert!(Occupancy::of(&tx2, u64::MAX, 0, u64::MAX).is_err());
    assert!(Occupancy::of(&tx2, 0, 0, 0).is_ok());
}

/// Number of blocks by NVIDIA's rules, without resources that are subtracted one by one.
fn blocks_by_nvidias_rules(
    machine: &MachineConfig,
    threads: u64,
    registers: u64,
    shared: u64,
) -> u64 {
    use Parameter as P;
    let up = |count: u64, step: u64| count.div_ceil(step) * step;
    let parts = machine[P::WarpStep];
    let warps = up(threads, 32) / 32;
    let of_warp = up(registers * 32, machine[P::RegisterStep]);
    let shared = up(shared, machine[P::SharedStep]);
    if threads > machine[P::BlockThreads]
        || of_warp * up(warps, parts) > machine[P::BlockRegisters]
        || shared > machine[P::BlockShared]
    {
        return 0;
    }
    let mut blocks = (machine[P::SmWarps] / warps).min(machine[P::SmBlocks]);
    blocks = blocks.min(machine[P::SmThreads] / threads);
    // Blocks without registers or shared memory are not limited by them.
    if let Some(in_a_part) = (machine[P::SmRegisters] / parts).checked_div(of_warp) {
        blocks = blocks.min(in_a_part * parts / warps);
    }
    if let Some(held) = machine[P::SmShared].checked_div(shared) {
        blocks = blocks.min(held);
    }
    blocks
}

/// The rules above, and blocks subtracted one by one until none fits, for block sizes and register counts in all
/// combinations.
#[test]
fn subtracted_blocks_agree_with_the_rules() {
    for name in GpuModel::names_of(Family::Maxwell) {
        let machine = machine(name);
        for threads in (1..=1056).step_by(31) {
            for registers in 0..=255 {
                for shared in [0, 1, 3000, 17_000, 50_000] {
                    let case = (name, threads, registers, shared);
                    let expected = blocks_by_nvidias_rules(&machine, threads, registers, shared);
                    let Ok(said) = Occupancy::of(&machine, threads, registers, shared) else {
                        assert_eq!(expected, 0, "{case:?}");
                        continue;
                    };
                    assert_eq!(said.blocks, expected, "{case:?}");
                    let block = BlockResources::of_block(&machine, threads, registers, shared);
                    let next = |free: &BlockResources| free.without(&block);
                    let states = std::iter::successors(Some(BlockResources::of_sm(&machine)), next);
                    assert_eq!(states.count() as u64, expected + 1, "{case:?}");
                }
            }
        }
    }
}
