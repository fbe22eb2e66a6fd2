//! Bounds of launches on machines with odd numbers: launches whose runs exceeded bounds that took the order of the levels of
//! memory for granted, random ones, and bounds of launches that grow.

use std::fs;

use warpbound_audit::audit::{LaunchTimeAudit, LaunchTimeRuns, PathOrder};
use warpbound_base::Diagnostic;
use warpbound_bounds::CycleOptions;
use warpbound_ipet::SchedulerClass;
use warpbound_launch::LaunchFile;
use warpbound_machine::{GpuModel, Parameter as P, SchedulerPolicy, Selection};
use warpbound_query::{CacheState, Session};
use warpbound_testkit::control_words::{
    ControlWordProgram, barriers_in_lines, lines_before_a_loop, parts_of_constant_lines,
    shuffles_without_scoreboards, stores_of_ended_blocks,
};
use warpbound_testkit::odd_machines::{compare_odd_launch, grown_bounds};
use warpbound_testkit::short_launches::compare_launch;

/// The typical numbers of the GTX 1080 but for some.
fn machine(numbers: &[(P, u64)]) -> GpuModel {
    let model = GpuModel::built_in("gtx1080").expect("it comes with the tool");
    let typical = model.select(Selection::Typical);
    let pinned = model
        .parameters()
        .fold(model.clone(), |model, p| model.with(p, typical[p]));
    let numbers = numbers.iter();
    numbers.fold(pinned, |model, &(p, value)| model.with(p, value))
}

fn compare(session: &Session, launch: &LaunchFile, machine: GpuModel) -> LaunchTimeAudit {
    let policies = [
        SchedulerPolicy::Gto,
        SchedulerPolicy::Lrr,
        SchedulerPolicy::Oldest,
    ];
    let runs = LaunchTimeRuns {
        cycles: CycleOptions {
            counts: Default::default(),
            machine,
            caches: CacheState::Any,
            splitting: Default::default(),
        },
        runs: policies.map(|policy| (Selection::Typical, policy)).to_vec(),
        order: PathOrder::TakenFirst,
        max_instructions: 3_000_000,
        schedulers: SchedulerClass::WorkConserving,
        searches: false,
    };
    let found = compare_launch(session, launch, &runs).expect("the launch suits the kernel");
    assert_eq!(found.refused, None);
    assert_eq!(found.skipped, 0);
    found
}

/// Compares a launch of `kernels/limits` with its bound on a machine; returns the slowest run.
fn keeps_its_bound(name: &str, numbers: &[(P, u64)]) -> u64 {
    let folder = format!("{}/../../kernels/limits", env!("CARGO_MANIFEST_DIR"));
    let read = |file: &str| fs::read(format!("{folder}/{file}")).expect("a file of the repository");
    let file = format!("{name}.sm_61.cubin");
    let session = Session::open(&file, &read(&file)).expect("it loads");
    let text = String::from_utf8(read(&format!("{name}.toml"))).expect("text");
    let launch = LaunchFile::parse(name, &text, &|file| {
        Err(Diagnostic::new(format!(
            "{file} is not a part of the launch"
        )))
    })
    .expect("a launch file");
    checked(&compare(&session, &launch, machine(numbers)))
}

fn checked(found: &LaunchTimeAudit) -> u64 {
    assert!(found.exceeded.is_empty(), "{:?}", found.exceeded);
    found.worst.as_ref().map_or(0, |(worst, _)| *worst)
}

/// Few lines, of the first and of the second cache of constants: all that a kernel reads is in one set.
const SMALL_CONSTANTS: [(P, u64); 3] = [
    (P::ConstantL1Bytes, 128),
    (P::ConstantL1Ways, 1),
    (P::ConstantL15Ways, 1),
];

fn with(numbers: &[(P, u64)]) -> Vec<(P, u64)> {
    [&SMALL_CONSTANTS[..], numbers].concat()
}

/// The first lines of the bank stay in the second cache, and those that are loaded do not.
#[test]
fn loads_of_constants_wait_for_any_line_of_their_bank() {
    let numbers = with(&[
        (P::ConstantL15Bytes, 2560),
        (P::ConstantL15Beyond, 1),
        (P::ConstantL2Beyond, 2000),
    ]);
    let worst = keeps_its_bound("constant_lines", &numbers);
    assert!(worst > 161_564, "{worst}: the run of the fault took longer");
}

/// A line that may be absent from the second cache may also be there, and that may take longer.
#[test]
fn a_second_cache_may_be_slower_than_the_l2_cache() {
    let numbers = with(&[
        (P::ConstantL15Bytes, 2560),
        (P::ConstantL15Beyond, 3000),
        (P::ConstantL2Beyond, 10),
    ]);
    let worst = keeps_its_bound("slow_second_cache", &numbers);
    assert!(worst > 417_755, "{worst}: the run of the fault took longer");
}

/// As [`a_second_cache_may_be_slower_than_the_l2_cache`], for lines of a loop that the first cache does not hold, and that
/// the code before the loop could take from the second.
#[test]
fn a_second_cache_of_code_may_be_slower_than_the_l2_cache() {
    let numbers = [
        (P::InstructionL1Bytes, 256),
        (P::InstructionL1Ways, 1),
        (P::InstructionL15Bytes, 1024),
        (P::InstructionL15Ways, 1),
        (P::InstructionAhead, 0),
        (P::InstructionL15Hit, 3000),
        (P::InstructionL2Hit, 10),
    ];
    runs_code(&lines_before_a_loop(10, 4), 32, &numbers);
}

/// Lines that another SM has requested, and that are still in front of its full window: a warp waits for DRAM with each load,
/// and not once for each line.
#[test]
fn lines_of_other_sms_are_waited_for_with_each_load() {
    let numbers = [
        (P::SmCount, 60),
        (P::L1Misses, 64),
        (P::OccupancyQueue, 8),
        (P::DramBeyond, 20_000),
        (P::DramRefresh, 0),
    ];
    let worst = keeps_its_bound("lines_of_other_sms", &numbers);
    assert!(
        worst > 3_788_857,
        "{worst}: the run of the fault took longer"
    );
}

/// A line that another warp has requested and the first cache has lost arrives in the second cache first.
#[test]
fn lines_on_their_way_come_from_the_second_cache_afterwards() {
    let small = [(P::ConstantL15Bytes, 1024), (P::BarrierLatency, 1)];
    let slow = [
        (P::ConstantL15Beyond, 500),
        (P::ConstantL2Beyond, 600),
        (P::L2Bandwidth, 64_000),
    ];
    let worst = keeps_its_bound("line_on_its_way", &with(&[&small[..], &slow].concat()));
    assert!(worst > 56_429, "{worst}: the run of the fault took longer");
    let of_gtx1080 = [
        (P::SmSchedulers, 2),
        (P::LaunchStores, 0),
        (P::IssueDual, 0),
        (P::IssueOffDeck, 5),
        (P::OccupancyLsu, 0),
        (P::ConstantL1Hit, 1),
        (P::L2Bandwidth, 1_000_000),
    ];
    let worst = keeps_its_bound(
        "line_on_its_way",
        &with(&[&small[..], &of_gtx1080].concat()),
    );
    assert!(worst > 24_179, "{worst}: the run of the fault took longer");
}

/// As [`lines_on_their_way_come_from_the_second_cache_afterwards`], for code: all warps request the same line after a
/// barrier, and the first cache loses it to lines that are prefetched.
#[test]
fn lines_of_code_on_their_way_come_from_the_second_cache_afterwards() {
    let numbers = [
        (P::BarrierLatency, 1),
        (P::InstructionL1Bytes, 256),
        (P::InstructionL1Ways, 1),
        (P::InstructionL15Bytes, 1024),
        (P::InstructionL15Ways, 1),
        (P::InstructionAhead, 2),
        (P::InstructionAheadBandwidth, 1_000_000),
        (P::InstructionL15Hit, 500),
        (P::InstructionL2Hit, 600),
        (P::L2Bandwidth, 1_000_000),
    ];
    runs_code(&barriers_in_lines(16), 64, &numbers);
}

/// Compares a launch of one block of a program with its bound.
fn runs_code(program: &ControlWordProgram, threads: u32, numbers: &[(P, u64)]) {
    let mut launch = program.launch(0);
    launch.block = [threads, 1, 1];
    let found = compare(&program.session(61), &launch, machine(numbers));
    assert!(checked(&found) > 0);
}

/// Blocks end without a wait for their shuffles: shared memory serves these when the last block needs it.
#[test]
fn unfinished_shuffles_of_ended_blocks_count() {
    let numbers = [
        (P::SmCount, 100),
        (P::SmBlocks, 1),
        (P::OccupancyShuffle, 32),
    ];
    let worst = keeps_its_bound("unfinished_shuffles", &numbers);
    assert!(worst > 55_311, "{worst}: the run of the fault took longer");
}

/// A drain waits for scoreboards that are raised: it is no wait for a shuffle without one.
#[test]
fn shuffles_without_a_scoreboard_are_unfinished_after_a_drain() {
    let numbers = [
        (P::SmCount, 100),
        (P::SmBlocks, 1),
        (P::OccupancyShuffle, 1000),
    ];
    let bounds = [true, false].map(|drain| {
        let program = shuffles_without_scoreboards(drain);
        runs_grid(&program, 195, &numbers).bound
    });
    assert!(bounds[0] >= bounds[1], "{bounds:?}");
}

/// Stores that ended blocks have left in the queue of their unit wait for a window of one sector.
#[test]
fn accesses_in_queues_of_ended_blocks_wait_for_windows() {
    let numbers = [
        (P::SmCount, 100),
        (P::SmBlocks, 1),
        (P::OccupancyQueue, 128),
        (P::L1Stores, 1),
        (P::L2Hit, 2000),
    ];
    runs_grid(&stores_of_ended_blocks(), 195, &numbers);
}

/// Each SM fetches a line that its second cache loses once for each part that its first cache keeps.
#[test]
fn lines_are_fetched_for_each_part_by_each_sm() {
    let numbers = [
        (P::SmCount, 256),
        (P::ConstantL1Line, 32),
        (P::ConstantL1Bytes, 8192),
        (P::ConstantL1Ways, 1),
        (P::ConstantL15Line, 1024),
        (P::ConstantL15Bytes, 1024),
        (P::ConstantL15Ways, 1),
        (P::L2Slices, 1),
        (P::L2Bandwidth, 32_000),
    ];
    runs_grid(&parts_of_constant_lines(), 256, &numbers);
}

/// Compares a launch of blocks of one warp with its bound.
fn runs_grid(program: &ControlWordProgram, blocks: u32, numbers: &[(P, u64)]) -> LaunchTimeAudit {
    let mut launch = program.launch(0);
    launch.grid = [blocks, 1, 1];
    let found = compare(&program.session(61), &launch, machine(numbers));
    assert!(checked(&found) > 0);
    found
}

/// A part of `cargo xtask audit --odd`.
#[test]
fn odd_machines_keep_their_bounds() {
    let mut runs = 0;
    for seed in 0..200 {
        let Ok(found) = compare_odd_launch(seed) else {
            continue;
        };
        assert!(found.exceeded.is_empty(), "{seed}: {:?}", found.exceeded);
        runs += found.runs;
    }
    assert!(runs > 200, "{runs} runs");
}

/// A part of `cargo xtask audit --grown`.
#[test]
fn bounds_of_launches_that_grow_do_not_fall() {
    let mut bounds = 0;
    for seed in 0..40 {
        for grown in grown_bounds(seed).unwrap_or_default() {
            assert!(grown.bounds.0 <= grown.bounds.1, "{seed}: {grown:?}");
            bounds += 1;
        }
    }
    assert!(bounds > 200, "{bounds} bounds");
}
