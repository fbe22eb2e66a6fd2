//! Bounds of whole launches in cycles: launches with time against their bounds, and launches in which one term of the sum
//! is nearly everything, so that a bound without it is exceeded.

use std::fs;

use warpbound_audit::audit::{ExceededLaunch, LaunchTimeAudit, LaunchTimeRuns, PathOrder};
use warpbound_base::Diagnostic;
use warpbound_bounds::CycleOptions;
use warpbound_ipet::SchedulerClass;
use warpbound_launch::LaunchFile;
use warpbound_machine::{GpuModel, Parameter, SchedulerPolicy, Selection};
use warpbound_query::{CacheState, Session};
use warpbound_testkit::control_words::{ControlWordProgram, fixtures, program};
use warpbound_testkit::kernels;
use warpbound_testkit::short_launches::{compare_launch, compare_short_program};

/// Sources of kernels with barriers, atomic operations, shared and local memory, loops and early ends.
const SOURCES: [&str; 10] = [
    "transpose",
    "reduction",
    "matmul_int",
    "convolution",
    "histogram",
    "barrier_kinds",
    "atomics",
    "early_exit",
    "hotspot",
    "bitonic_sort",
];

/// Selections of numbers and policies of schedulers.
const RUNS: [(Selection, SchedulerPolicy); 6] = [
    (Selection::Slow, SchedulerPolicy::Oldest),
    (Selection::Slow, SchedulerPolicy::Gto),
    (Selection::Slow, SchedulerPolicy::ContendedUnit),
    (Selection::Typical, SchedulerPolicy::Youngest),
    (Selection::Seed(3), SchedulerPolicy::Random(7)),
    (Selection::Least, SchedulerPolicy::Lrr),
];

/// Runs of schedulers that follow one warp, and of one that does not.
const ANY_RUNS: [(Selection, SchedulerPolicy); 3] = [
    (Selection::Slow, SchedulerPolicy::RunToBarrier),
    (Selection::Typical, SchedulerPolicy::RunToBarrier),
    (Selection::Slow, SchedulerPolicy::Gto),
];

fn session(source: &str, chip: &str) -> Session {
    let file = format!("{source}.{chip}.cubin");
    let path = format!("{}/../../kernels/built/{file}", env!("CARGO_MANIFEST_DIR"));
    let contents = fs::read(path).expect("the cubin is in the repository");
    Session::open(&file, &contents).expect("it loads")
}

fn machine(name: &str, sms: u64) -> GpuModel {
    let machine = GpuModel::built_in(name).expect("it comes with the tool");
    machine.with(Parameter::SmCount, sms)
}

fn audit(
    session: &Session,
    launch: &LaunchFile,
    machine: GpuModel,
    caches: CacheState,
) -> LaunchTimeAudit {
    audit_for(
        session,
        launch,
        (machine, caches),
        SchedulerClass::WorkConserving,
    )
}

/// Compares runs of one warp at a time, and others, with the bound for any scheduler.
fn audit_for_any_scheduler(
    session: &Session,
    launch: &LaunchFile,
    machine: GpuModel,
    caches: CacheState,
) -> LaunchTimeAudit {
    audit_for(session, launch, (machine, caches), SchedulerClass::Any)
}

fn audit_for(
    session: &Session,
    launch: &LaunchFile,
    (machine, caches): (GpuModel, CacheState),
    schedulers: SchedulerClass,
) -> LaunchTimeAudit {
    let runs = LaunchTimeRuns {
        cycles: CycleOptions {
            counts: Default::default(),
            machine,
            caches,
            splitting: Default::default(),
        },
        runs: match schedulers {
            SchedulerClass::WorkConserving => RUNS.to_vec(),
            SchedulerClass::Any => ANY_RUNS.to_vec(),
        },
        order: PathOrder::TakenFirst,
        max_instructions: 2_000_000,
        schedulers,
        searches: false,
    };
    compare_launch(session, launch, &runs).expect("the launch suits the kernel")
}

/// No launch takes longer than its bound: any number of SMs, warm and cold caches, any policy.
#[test]
fn launches_keep_their_bounds() {
    let (mut runs, mut refused) = (0, Vec::new());
    let all = kernels::all();
    let selected = all.iter().filter(|kernel| SOURCES.contains(&kernel.source));
    for (number, kernel) in selected.enumerate() {
        let session = session(kernel.source, "sm_61");
        let mut launch = (kernel.launch)(number as u64 % 3);
        launch.kernel = Some(kernel.kernel.to_owned());
        let (name, caches) = match number % 2 {
            0 => ("jetson-tx2", CacheState::Warm),
            _ => ("gtx1080", CacheState::Cold),
        };
        for sms in [1, 3] {
            let of_any = audit_for_any_scheduler(&session, &launch, machine(name, sms), caches);
            assert!(
                of_any.exceeded.is_empty(),
                "{} on {sms} SMs, any scheduler: {:?}",
                kernel.kernel,
                of_any.exceeded
            );
            let found = audit(&session, &launch, machine(name, sms), caches);
            assert!(
                found.exceeded.is_empty(),
                "{} on {sms} SMs: {:?}",
                kernel.kernel,
                found.exceeded
            );
            runs += found.runs;
            refused.extend(found.refused.map(|why| format!("{}: {why}", kernel.kernel)));
        }
    }
    assert!(runs >= 150, "{runs} runs; without a bound: {refused:?}");
}

/// Programs of machine code for one warp, as launches of many blocks and warps, on machines whose numbers leave little
/// slack: no prefetches, no time between blocks, short queues, one, three or very many SMs.
fn compare_program(program: &ControlWordProgram, seed: u64, found: &mut (u64, Vec<String>)) {
    let session = program.session(60);
    let mut random = fastrand::Rng::with_seed(seed);
    let shapes = [(1, 96), (5, 64), (40, 32), (200, 1), (32, 1), (33, 3)];
    for (blocks, threads) in shapes {
        let mut launch = program.launch(seed);
        launch.grid = [blocks, 1, 1];
        launch.block = [threads, 1, 1];
        let sms = [1, 3, 56, 256][random.usize(..4)];
        let mut machine = machine("p100", sms).with(Parameter::LaunchBlock, 0);
        if random.bool() {
            machine = machine
                .with(Parameter::InstructionAhead, random.u64(0..3))
                .with(Parameter::OccupancyQueue, 2);
        }
        let caches = match random.bool() {
            true => CacheState::Warm,
            false => CacheState::Cold,
        };
        let own = match random.u32(..4) {
            0 => audit_for_any_scheduler(&session, &launch, machine, caches),
            _ => audit(&session, &launch, machine, caches),
        };
        found.0 += own.runs;
        let text = |exceeded: &ExceededLaunch| {
            format!(
                "{blocks} x {threads}, {sms} SMs: {}; {:?}",
                exceeded.text, own.terms
            )
        };
        found.1.extend(own.exceeded.iter().map(text));
    }
}

/// Programs in which a bound is easily too small keep it as launches.
#[test]
fn fixtures_keep_their_bounds() {
    let mut found = (0, Vec::new());
    for (number, fixture) in fixtures::all().iter().enumerate() {
        let before = found.1.len();
        compare_program(&fixture.program, number as u64, &mut found);
        if found.1.len() > before {
            found.1.insert(before, fixture.name.to_owned());
        }
    }
    assert!(found.1.is_empty(), "{}", found.1.join("\n"));
    assert!(found.0 >= 300, "{} runs", found.0);
}

/// Random programs with random control words keep their bounds as launches.
#[test]
fn random_programs_keep_their_bounds() {
    let mut found = (0, Vec::new());
    for seed in 0..30 {
        compare_program(&program(seed), seed, &mut found);
    }
    assert!(found.1.is_empty(), "{}", found.1.join("\n"));
    assert!(found.0 >= 200, "{} runs", found.0);
}

/// Programs of a few instructions keep their bounds on machines of which every number is known: a term that is too small
/// has no slack of a range to hide in.
#[test]
fn short_programs_keep_their_bounds() {
    let (mut runs, mut exceeded) = (0, Vec::new());
    for seed in 0..200 {
        let found = compare_short_program(seed).expect("the launch suits the program");
        runs += found.runs;
        let texts = found.exceeded.iter().map(|run| &run.text);
        exceeded.extend(texts.map(|text| format!("program {seed}: {text}; {:?}", found.terms)));
    }
    assert!(exceeded.is_empty(), "{}", exceeded.join("\n"));
    assert!(runs >= 300, "{runs} runs");
}

/// Compares a fixture as a launch of blocks of one thread, with warm caches, short queues, no prefetches, and no time
/// between the starts of blocks, on a machine in which `slow` takes that many cycles.
fn compare_fixture(
    name: &str,
    (blocks, dynamic_shared): (u32, u32),
    sms: u64,
    slow: &[(Parameter, u64)],
) {
    let program = fixtures::named(name);
    let session = program.session(60);
    let mut launch = program.launch(0);
    (launch.grid, launch.block) = ([blocks, 1, 1], [1; 3]);
    launch.dynamic_shared = dynamic_shared;
    let machine = machine("p100", sms)
        .with(Parameter::LaunchBlock, 0)
        .with(Parameter::InstructionAhead, 0)
        .with(Parameter::OccupancyQueue, 2);
    let machine = slow.iter().fold(machine, |machine, &(parameter, cycles)| {
        machine.with(parameter, cycles)
    });
    let found = audit(&session, &launch, machine, CacheState::Warm);
    assert!(
        found.runs > 0 && found.exceeded.is_empty(),
        "{:?}",
        found.exceeded
    );
}

/// An access to shared memory holds its unit until the atomic operations of its warp before it are complete.
#[test]
fn units_held_by_atomic_operations_count() {
    let slow = [(Parameter::SharedAtomic, 200)];
    compare_fixture("shared atomics in a row", (32, 0), 1, &slow);
}

/// All SMs request the same line of the L2 cache in the same cycle.
#[test]
fn lines_of_each_sm_count() {
    compare_fixture("two lines", (256, 0), 256, &[]);
}

/// The first line of the code is lost when the next block of an SM starts.
#[test]
fn first_fetches_of_later_blocks_count() {
    let slow = [
        (Parameter::InstructionL15Hit, 900),
        (Parameter::InstructionL2Hit, 950),
    ];
    compare_fixture("lines in one set", (200, 40960), 1, &slow);
}

/// A short block ends before the next one starts in its place, and leaves a full queue.
#[test]
fn queues_of_ended_blocks_count() {
    let slow = [
        (Parameter::LaunchBlock, 40),
        (Parameter::OccupancyQueue, 8),
        (Parameter::OccupancyFp16, 64),
    ];
    for blocks in [2, 16] {
        compare_fixture("full queue at the end", (blocks, 0), 1, &slow);
    }
}

/// The last instruction of a block occupies its pipe when the next one starts on an SM that holds one block.
#[test]
fn pipes_of_ended_blocks_count() {
    let slow = [
        (Parameter::OccupancyFxu, 16),
        (Parameter::OccupancyFmai, 16),
    ];
    compare_fixture("busy pipe at the end", (1000, 40960), 1, &slow);
}

/// Loads of other warps fill the window until a page table has been walked, which no warp of the chain waits for itself.
#[test]
fn walks_of_others_count_where_windows_bind() {
    const WALK: u64 = 20_000;
    let program = fixtures::named("loads that nothing waits for");
    let mut launch = program.launch(0);
    (launch.grid, launch.block) = ([3, 1, 1], [33, 1, 1]);
    let machine = machine("jetson-tx2", 1)
        .with(Parameter::TlbWalk, WALK)
        .with(Parameter::L1Misses, 64)
        .with(Parameter::OccupancyQueue, 2);
    let found = audit(&program.session(62), &launch, machine, CacheState::Cold);
    assert!(found.exceeded.is_empty(), "{:?}", found.exceeded);
    let (worst, _) = found.worst.expect("runs");
    assert!(worst > WALK, "{worst}: no window was full");
}

/// Stores wait for lines that another warp loads: the bound of the same stores to a buffer that no warp loads is too small
/// for them.
#[test]
fn stores_wait_for_lines_that_others_load() {
    const DRAM: u64 = 50_000;
    let of = |name| {
        let program = fixtures::named(name);
        let mut launch = program.launch(0);
        (launch.grid, launch.block) = ([1, 1, 1], [64, 1, 1]);
        let machine = machine("jetson-tx2", 1)
            .with(Parameter::DramBeyond, DRAM)
            .with(Parameter::DramRefresh, 0)
            // The code is present.
            .with(Parameter::InstructionAhead, 8)
            .with(Parameter::L1Misses, 4096)
            .with(Parameter::L1Stores, 128);
        let found = audit(&program.session(62), &launch, machine, CacheState::Cold);
        assert!(found.exceeded.is_empty(), "{:?}", found.exceeded);
        let (run, _) = found.worst.expect("runs");
        (found.bound, run)
    };
    let (_, to_loaded_lines) = of("stores to lines on their way");
    let (bound, _) = of("stores beside lines on their way");
    assert!(to_loaded_lines > bound, "{to_loaded_lines} cycles, {bound}");
}

/// Waits for DRAM count once for each line that a warp loads again and again, and for each segment between barriers whose
/// warp loads a line of its own: with one fewer, a run exceeds the bound.
#[test]
fn waits_for_lines_from_dram_count_once() {
    const DRAM: u64 = 50_000;
    for (name, threads) in [
        ("lines again and again", 64),
        ("lines from warp to warp", 128),
    ] {
        let program = fixtures::named(name);
        let mut launch = program.launch(0);
        (launch.grid, launch.block) = ([1, 1, 1], [threads, 1, 1]);
        let machine = machine("jetson-tx2", 1)
            .with(Parameter::DramBeyond, DRAM)
            .with(Parameter::DramRefresh, 0)
            // Lines of code wait for DRAM as well.
            .with(Parameter::InstructionAhead, 8)
            .with(Parameter::TlbWalk, 0)
            .with(Parameter::L1Misses, 4096);
        let found = audit(&program.session(62), &launch, machine, CacheState::Cold);
        assert!(found.exceeded.is_empty(), "{name}: {:?}", found.exceeded);
        let (worst, run) = found.worst.expect("runs");
        // Each of the loads waits four times, or six, if each execution does.
        assert!(found.bound < 16 * DRAM, "{name}: {}", found.bound);
        assert!(
            worst > found.bound - DRAM / 2,
            "{name}: {worst} cycles ({run}), {} with {:?}",
            found.bound,
            found.terms
        );
    }
}

/// A load from a generic address may touch any line, so it waits for DRAM each time.
#[test]
fn lines_of_generic_addresses_count() {
    const DRAM: u64 = 50_000;
    let program = fixtures::named("lines of generic addresses");
    let mut launch = program.launch(0);
    // There is no local memory, which a generic address may be in as well.
    launch.stack = Some(0);
    (launch.grid, launch.block) = ([1, 1, 1], [64, 1, 1]);
    let machine = machine("jetson-tx2", 1)
        .with(Parameter::DramBeyond, DRAM)
        .with(Parameter::DramRefresh, 0);
    let found = audit(&program.session(62), &launch, machine, CacheState::Cold);
    assert!(found.exceeded.is_empty(), "{:?}", found.exceeded);
    let (worst, run) = found.worst.expect("runs");
    assert!(worst > 60 * DRAM, "{worst} cycles ({run})");
}

/// A block waits for another one in each sub-partition in turn, as its barriers let it reach them: the services of one
/// sub-partition are not enough.
#[test]
fn changes_of_the_sub_partition_count() {
    const QUEUED: u64 = 4;
    let program = fixtures::named("long segment from warp to warp");
    let mut launch = program.launch(0);
    (launch.grid, launch.block) = ([2, 1, 1], [128, 1, 1]);
    let machine = machine("gtx1080", 1)
        .with(Parameter::LaunchBlock, 1200)
        // Nine of them take a little less than the unit is occupied.
        .with(Parameter::FenceBlock, 200)
        .with(Parameter::InstructionAhead, 0)
        .with(Parameter::InstructionL15Hit, 1)
        .with(Parameter::InstructionL2Hit, 2)
        .with(Parameter::OccupancyQueue, QUEUED)
        .with(Parameter::OccupancyFp64, 32);
    let found = audit(&program.session(61), &launch, machine, CacheState::Warm);
    assert!(found.exceeded.is_empty(), "{:?}", found.exceeded);
    assert!(found.shape.ends_with("Aligned"), "{}", found.shape);
    let (worst, run) = found.worst.expect("runs");
    let core = found
        .terms
        .iter()
        .find(|(name, _)| *name == "issue and units of others");
    let (_, core) = core.expect("a term of the sum");
    // One warp of each block in a sub-partition, and full queues at four barriers.
    let of_one = 2 * found.services.expect("a bound").core.limit().0 + 4 * QUEUED * 32;
    assert!(*core > of_one, "{core} of {of_one}");
    let without = found.bound - core + of_one;
    assert!(
        worst > without,
        "{worst} cycles ({run}), without {without} of {}: {:?}",
        found.bound,
        found.terms
    );
}

/// A wait for a scoreboard that was never raised delays nothing, in the first cycles of a launch either.
#[test]
fn scoreboards_that_were_never_raised_delay_nothing() {
    let worst = |name| {
        let program = fixtures::named(name);
        let machine = machine("p100", 1).with(Parameter::LaunchKernel, 0);
        let session = program.session(60);
        let found = audit(&session, &program.launch(0), machine, CacheState::Warm);
        found.worst.expect("runs").0
    };
    assert_eq!(
        worst("wait for what was never raised"),
        worst("busy pipe at the end")
    );
}

fn launch(text: &str) -> LaunchFile {
    let no_files = |name: &str| Err(Diagnostic::new("no files").in_file(name));
    LaunchFile::parse("launch", text, &no_files).expect("a launch")
}

/// Asserts that runs keep their bound, and that they exceed it without one of its terms.
fn needs_term(found: &LaunchTimeAudit, term: &str) {
    assert_eq!(found.refused, None);
    assert!(found.exceeded.is_empty(), "{:?}", found.exceeded);
    let (worst, run) = found.worst.as_ref().expect("runs");
    let own = found.terms.iter().find(|(name, _)| *name == term);
    let (_, cycles) = own.expect("a term of the sum");
    let without = found.bound - cycles;
    assert!(
        *worst > without,
        "{worst} cycles ({run}) of {}, without {term} {without}: {:?}",
        found.bound,
        found.terms
    );
}

/// 64 warps of double precision on one SM wait for the units of their sub-partitions.
#[test]
fn units_of_others_count() {
    let text = "kernel = 'latency_dfma'\ngrid = [16]\nblock = [128]\n\
                param = [{name = 'cycles', type = 'u32', shape = [32]}, {name = 'values', type = 'f64', shape = [1088]}]";
    let session = session("microbenchmarks", "sm_61");
    let found = audit(
        &session,
        &launch(text),
        machine("gtx1080", 1),
        CacheState::Warm,
    );
    needs_term(&found, "issue and units of others");
}

/// A scheduler that follows one warp until it ends leaves the others waiting: the bound for work-conserving schedulers is
/// not for it.
#[test]
fn followed_warps_need_the_bound_for_any_scheduler() {
    let text = "kernel = 'chase_shared'\ngrid = [32]\nblock = [32]\n\
                param = [{name = 'cycles', type = 'u32', shape = [32]}, {name = 'values', type = 'u32', shape = [1088]}]";
    let session = session("microbenchmarks", "sm_61");
    let machine = || machine("gtx1080", 1).with(Parameter::LaunchBlock, 0);
    let any = audit_for_any_scheduler(&session, &launch(text), machine(), CacheState::Warm);
    assert!(any.exceeded.is_empty(), "{:?}", any.exceeded);
    let (followed, run) = any.worst.expect("it runs");
    assert!(run.contains("run-to-barrier"), "{run}");
    let conserving = audit(&session, &launch(text), machine(), CacheState::Warm);
    assert!(
        followed > conserving.bound,
        "{followed} of {}",
        conserving.bound
    );
}

/// Conflicts of 32 words in one bank hold up all other warps of the SM.
#[test]
fn conflicts_of_others_count() {
    let text = "kernel = 'bank_conflict'\ngrid = [32]\nblock = [32]\n\
                param = [{name = 'cycles', type = 'u32', shape = [32]}, {name = 'last', type = 'u32', shape = [32]}, \
                {name = 'stride', type = 'u32', value = 32}]";
    let session = session("microbenchmarks", "sm_61");
    let found = audit(
        &session,
        &launch(text),
        machine("gtx1080", 1),
        CacheState::Warm,
    );
    needs_term(&found, "memory of the SM");
}

/// Forty SMs share the DRAM of a small board.
#[test]
fn memory_of_all_sms_counts() {
    let text = "kernel = 'stream_copy<double>'\ngrid = [80]\nblock = [1024]\n\
                param = [{type = 'f64', shape = [81920]}, {type = 'f64', shape = [81920]}]";
    let session = session("rates", "sm_62");
    let machine = machine("jetson-tx2", 40).with(Parameter::DramRefresh, 0);
    let found = audit(&session, &launch(text), machine, CacheState::Cold);
    needs_term(&found, "L2 cache and DRAM");
}

/// Blocks of an SM start one after the other, and the places of ended blocks are taken again.
#[test]
fn blocks_start_one_after_the_other() {
    let text = "kernel = 'latency_ffma'\ngrid = [200]\nblock = [32]\n\
                param = [{name = 'cycles', type = 'u32', shape = [32]}, {name = 'values', type = 'f32', shape = [1088]}]";
    let session = session("microbenchmarks", "sm_61");
    let found = audit(
        &session,
        &launch(text),
        machine("gtx1080", 1),
        CacheState::Warm,
    );
    needs_term(&found, "starts of blocks");
}
