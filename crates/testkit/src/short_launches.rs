//! Audit of bounds of launches with short programs: blocks end before others start. All numbers of the machines are
//! known, so that no range hides a term that is too small.

use fastrand::Rng;
use warpbound_audit::audit::{LaunchTimeAudit, LaunchTimeRuns, PathOrder};
use warpbound_audit::{audit_launch_time, claims};
use warpbound_base::Diagnostic;
use warpbound_bounds::{CycleOptions, LaunchCounts};
use warpbound_ipet::SchedulerClass;
use warpbound_launch::LaunchFile;
use warpbound_machine::{GpuModel, Parameter, SchedulerPolicy, Selection};
use warpbound_query::{BoundOptions, CacheState, Session};

use crate::control_words::{row_program, segment_program, short_program};
use crate::execute::mix;

/// Numbers of machines that decide what overlaps, with values on both sides of the built-in machines.
const DRAWN: [(Parameter, &[u64]); 21] = [
    (Parameter::SmBlocks, &[1, 2, 3, 4, 8, 32]),
    (Parameter::LaunchKernel, &[0]),
    (Parameter::LaunchBlock, &[0, 0, 1, 5, 20, 50, 200]),
    (Parameter::LaunchStores, &[0, 1]),
    (Parameter::OccupancyQueue, &[1, 2, 4, 8]),
    (Parameter::OccupancyLsu, &[2, 4, 30]),
    (Parameter::OccupancyFp64, &[2, 32]),
    (Parameter::OccupancyFp16, &[1, 2, 128]),
    (Parameter::OccupancyFxu, &[2, 16]),
    (Parameter::BarrierLatency, &[1, 13, 30]),
    (Parameter::SharedAtomic, &[1, 14, 100]),
    (Parameter::InstructionAhead, &[0, 0, 1, 3, 8]),
    (Parameter::InstructionL15Hit, &[1, 20, 96]),
    (Parameter::InstructionL2Hit, &[1, 150]),
    (Parameter::TlbL1Miss, &[0, 1, 50]),
    (Parameter::TlbL2Miss, &[1, 100]),
    (Parameter::TlbWalk, &[1, 300]),
    (Parameter::L1Misses, &[4, 8, 16, 64, 256]),
    (Parameter::L1Stores, &[4, 8, 64, 256]),
    (Parameter::AtomicLatency, &[1, 26, 300]),
    (Parameter::DramRefresh, &[0]),
];

/// Attempts to draw numbers that describe a machine together.
const ATTEMPTS: usize = 16;

/// Machines, with the architecture of the code that runs on each.
pub(crate) const MACHINES: [(&str, u8); 3] = [("p100", 60), ("gtx1080", 61), ("jetson-tx2", 62)];

const BLOCKS: [u32; 10] = [1, 2, 3, 4, 7, 8, 9, 33, 100, 200];
const THREADS: [u32; 9] = [1, 32, 33, 64, 64, 96, 128, 160, 256];
const SMS: [u64; 6] = [1, 1, 1, 2, 3, 56];

/// Returns a machine with one value for each number; the machine itself if none was drawn that is valid.
pub fn pinned_machine(machine: &GpuModel, seed: u64) -> GpuModel {
    let mut rng = Rng::with_seed(mix(&[0x919, seed]));
    for _ in 0..ATTEMPTS {
        let selection = match rng.u32(..4) {
            0 => Selection::Least,
            1 => Selection::Most,
            2 => Selection::Slow,
            _ => Selection::Seed(rng.u64(1..1 << 32)),
        };
        let mut numbers = machine.select(selection);
        for (parameter, values) in DRAWN {
            if parameter.is_of(machine.family()) && rng.u32(..3) > 0 {
                numbers = numbers.with(parameter, values[rng.usize(..values.len())]);
            }
        }
        if numbers.check().is_ok() {
            return machine
                .parameters()
                .fold(machine.clone(), |machine, parameter| {
                    machine.with(parameter, numbers[parameter])
                });
        }
    }
    machine.clone()
}

/// Compares timed runs of a launch with its bound.
///
/// # Errors
///
/// If the kernel is not followed, or the launch does not suit it.
pub fn compare_launch(
    session: &Session,
    launch: &LaunchFile,
    runs: &LaunchTimeRuns,
) -> Result<LaunchTimeAudit, Diagnostic> {
    let kernel = session.launched_kernel(None, launch.kernel.as_deref())?;
    let prepared = session.prepare(kernel)?;
    let options = BoundOptions {
        block: Some(launch.block),
        ..BoundOptions::default()
    };
    let claims = claims(session, &prepared, &options)?;
    audit_launch_time(session, &prepared, &claims, launch, runs)
}

/// Short program as a launch, with runs for which it is compared with its bound.
pub struct ShortLaunch {
    /// Its code.
    pub session: Session,
    /// Launch of it.
    pub launch: LaunchFile,
    /// Machine and runs.
    pub runs: LaunchTimeRuns,
}

/// Compares the short program of a seed, as a launch on a machine that is drawn too.
///
/// # Errors
///
/// As [`compare_launch`].
pub fn compare_short_program(seed: u64) -> Result<LaunchTimeAudit, Diagnostic> {
    let ShortLaunch {
        session,
        launch,
        runs,
    } = short_launch(seed)?;
    compare_launch(&session, &launch, &runs)
}

/// Returns the short program of a seed, as a launch on a machine that is drawn too.
///
/// # Errors
///
/// If the machine does not come with the tool.
pub fn short_launch(seed: u64) -> Result<ShortLaunch, Diagnostic> {
    // Each fifth program has segments between barriers, and blocks of as many warps as sub-partitions or more.
    let has_segments = seed % 5 == 4;
    // Each tenth program accesses the same lines again and again.
    let has_rows = seed % 10 == 3;
    let program = match (has_segments, has_rows) {
        (true, _) => segment_program(seed),
        (_, true) => row_program(seed),
        _ => short_program(seed),
    };
    let mut rng = Rng::with_seed(mix(&[0x1a0c4, seed]));
    let (name, sm) = MACHINES[rng.usize(..MACHINES.len())];
    let machine = pinned_machine(&GpuModel::built_in(name)?, seed);
    let sms = SMS[rng.usize(..SMS.len())];
    let mut launch = program.launch(seed);
    launch.grid = [BLOCKS[rng.usize(..BLOCKS.len())], 1, 1];
    launch.block = [THREADS[rng.usize(..THREADS.len())], 1, 1];
    if has_segments {
        launch.grid = [[2, 2, 3, 4, 7, 9][rng.usize(..6)], 1, 1];
        launch.block = [[128, 128, 160, 256][rng.usize(..4)], 1, 1];
    }
    if has_rows {
        launch.grid = [[1, 1, 2, 3, 9][rng.usize(..5)], 1, 1];
        launch.block = [[32, 64, 128, 128, 256][rng.usize(..5)], 1, 1];
    }
    let others = [
        SchedulerPolicy::Lrr,
        SchedulerPolicy::Oldest,
        SchedulerPolicy::Youngest,
        SchedulerPolicy::ContendedUnit,
        SchedulerPolicy::Random(seed),
    ];
    let (schedulers, first) = match rng.u32(..4) {
        0 => (SchedulerClass::Any, SchedulerPolicy::RunToBarrier),
        _ => (SchedulerClass::WorkConserving, SchedulerPolicy::Gto),
    };
    let policies = [first, others[rng.usize(..others.len())]];
    let runs = LaunchTimeRuns {
        cycles: CycleOptions {
            counts: counts_of(seed),
            machine: machine.with(Parameter::SmCount, sms),
            caches: match rng.u32(..3) {
                _ if has_rows => CacheState::Cold,
                0 => CacheState::Cold,
                _ => CacheState::Warm,
            },
            splitting: Default::default(),
        },
        runs: policies.map(|policy| (Selection::Typical, policy)).to_vec(),
        order: PathOrder::TakenFirst,
        max_instructions: 2_000_000,
        schedulers,
        searches: false,
    };
    Ok(ShortLaunch {
        session: program.session(sm),
        launch,
        runs,
    })
}

/// Grounds of the counts of the launch of a seed: its execution for every second one, so that the rows of all
/// launches are tested too.
pub(crate) fn counts_of(seed: u64) -> LaunchCounts {
    match seed % 2 {
        0 => LaunchCounts::Executed,
        _ => LaunchCounts::Stated,
    }
}
