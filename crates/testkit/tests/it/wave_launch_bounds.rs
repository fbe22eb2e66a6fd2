//! Bounds of whole launches of waves in cycles: launches with time against their bounds, and launches in which one term of the
//! sum is nearly everything, so that a bound without it is exceeded.

use std::fs;

use warpbound_audit::audit::{LaunchTimeAudit, LaunchTimeRuns, PathOrder};
use warpbound_audit::{audit_launch_time, claims};
use warpbound_bounds::CycleOptions;
use warpbound_ipet::SchedulerClass;
use warpbound_launch::LaunchFile;
use warpbound_machine::{GpuModel, Parameter, SchedulerPolicy, Selection};
use warpbound_query::{BoundOptions, CacheState, Session, SplitOptions};
use warpbound_testkit::kernels;
use warpbound_testkit::wave_programs::{WaveProgram, wave_program};

/// Sources of kernels with barriers, atomic operations, LDS, scratch, loops, calls and early ends.
const SOURCES: [&str; 9] = [
    "aggregated_atomics",
    "barrier_phases",
    "bitonic_network",
    "early_exit",
    "histogram",
    "hotspot",
    "local_memory",
    "lud_diagonal",
    "dpp_reduction",
];

/// Selections of numbers and policies.
const RUNS: [(Selection, SchedulerPolicy); 6] = [
    (Selection::Slow, SchedulerPolicy::Oldest),
    (Selection::Slow, SchedulerPolicy::Lrr),
    (Selection::Typical, SchedulerPolicy::Oldest),
    (Selection::Most, SchedulerPolicy::Lrr),
    (Selection::Seed(5), SchedulerPolicy::Oldest),
    (Selection::Least, SchedulerPolicy::Lrr),
];

const ENDPGM: u32 = 0xbf81_0000;
const BARRIER: u32 = 0xbf8a_0000;
/// s_waitcnt vmcnt(0) & lgkmcnt(0).
const WAIT: u32 = 0xbf8c_0070;
/// s_sleep 10: 640 cycles.
const SLEEP: u32 = 0xbf8e_000a;
/// v_mul_lo_u32 v8, v8, v9.
const MUL: [u32; 2] = [0xd285_0008, 0x0002_1308];
/// v_and_b32 v2, 63, v0; v_lshlrev_b32 v3, 6, v2: lanes of a wave in one bank; ds_read_b32 v8, v3.
const ONE_BANK: [u32; 2] = [0x2604_00bf, 0x2406_0486];
const LDS_READ: [u32; 2] = [0xd86c_0000, 0x0800_0003];
/// flat_load_dword v8, v[4:5].
const LOAD: [u32; 2] = [0xdc50_0000, 0x0800_0004];
/// flat_atomic_add v[4:5], v9.
const ATOMIC: [u32; 2] = [0xdd08_0000, 0x0000_0904];
/// s_add_u32 s16, s16, s16; s_add_u32 s18, s18, s18.
const ADDS: [u32; 2] = [0x8010_1010, 0x8012_1212];

fn machine(name: &str, units: u64) -> GpuModel {
    let machine = GpuModel::built_in(name).expect("it comes with the tool");
    machine.with(Parameter::CuCount, units)
}

fn audit(
    session: &Session,
    launch: &LaunchFile,
    machine: GpuModel,
    caches: CacheState,
) -> LaunchTimeAudit {
    audit_with(session, launch, (machine, caches), SplitOptions::default())
}

fn audit_with(
    session: &Session,
    launch: &LaunchFile,
    (machine, caches): (GpuModel, CacheState),
    splitting: SplitOptions,
) -> LaunchTimeAudit {
    let kernel = session.launched_kernel(None, launch.kernel.as_deref());
    let prepared = session.prepare(kernel.expect("its kernel"));
    let prepared = prepared.expect("it decodes");
    let options = BoundOptions {
        block: Some(launch.block),
        ..BoundOptions::default()
    };
    let claims = claims(session, &prepared, &options).expect("it is followed");
    let runs = LaunchTimeRuns {
        cycles: CycleOptions {
            counts: Default::default(),
            machine,
            caches,
            splitting,
        },
        runs: RUNS.to_vec(),
        order: PathOrder::TakenFirst,
        max_instructions: 2_000_000,
        schedulers: SchedulerClass::WorkConserving,
        searches: false,
    };
    let found = audit_launch_time(session, &prepared, &claims, launch, &runs);
    found.expect("the launch suits the kernel")
}

/// No launch takes longer than its bound: one compute unit and three, warm and cold caches, both policies.
#[test]
fn launches_keep_their_bounds() {
    let (mut runs, mut refused) = (0, Vec::new());
    let all = kernels::gcn3();
    let selected = all.iter().filter(|kernel| SOURCES.contains(&kernel.source));
    for (number, kernel) in selected.enumerate() {
        let file = format!("{}.gfx803.co", kernel.source);
        let path = format!("{}/../../kernels/built/{file}", env!("CARGO_MANIFEST_DIR"));
        let contents = fs::read(path).expect("the code object is in the repository");
        let session = Session::open(&file, &contents).expect("it loads");
        let mut launch = (kernel.launch)(number as u64 % 3);
        launch.kernel = Some(kernel.kernel.to_owned());
        let (name, caches) = match number % 2 {
            0 => ("gem5-apu", CacheState::Warm),
            _ => ("r9-nano", CacheState::Cold),
        };
        for units in [1, 3] {
            let found = audit(&session, &launch, machine(name, units), caches);
            let text = format!("{} on {units} CUs: {:?}", kernel.kernel, found.exceeded);
            assert!(found.exceeded.is_empty(), "{text}; {:?}", found.terms);
            runs += found.runs;
            refused.extend(found.refused.map(|why| format!("{}: {why}", kernel.kernel)));
        }
    }
    assert!(runs >= 100, "{runs} runs; without a bound: {refused:?}");
}

/// Launches a program of one wave as groups of threads.
fn launch_of(program: &WaveProgram, groups: u32, threads: u32) -> LaunchFile {
    let mut launch = program.launch(0);
    launch.grid = [groups, 1, 1];
    launch.block = [threads, 1, 1];
    launch
}

/// Random programs keep their bounds as launches: groups of one lane to four waves, fewer and more than fit at once, on
/// machines that keep few lines of code.
#[test]
fn random_programs_keep_their_bounds() {
    let shapes = [(2, 192), (5, 128), (40, 64), (33, 1), (17, 100), (9, 256)];
    let (mut runs, mut exceeded) = (0, Vec::new());
    for seed in 0..36 {
        let program = wave_program(seed);
        let session = program.session();
        let mut random = fastrand::Rng::with_seed(seed);
        for (groups, threads) in [shapes[seed as usize % 6], shapes[random.usize(..6)]] {
            let launch = launch_of(&program, groups, threads);
            let name = ["gem5-apu", "r9-nano"][random.usize(..2)];
            let mut machine = machine(name, [1, 3, 40][random.usize(..3)]);
            if random.bool() {
                machine = machine
                    .with(Parameter::LaunchBlock, 0)
                    .with(Parameter::InstructionAhead, 0)
                    .with(Parameter::InstructionL1Bytes, 1024);
            }
            let caches = match random.bool() {
                true => CacheState::Warm,
                false => CacheState::Cold,
            };
            let own = audit(&session, &launch, machine, caches);
            runs += own.runs;
            let text = |run: &str| format!("{seed}, {groups} x {threads}: {run}; {:?}", own.terms);
            exceeded.extend(own.exceeded.iter().map(|own| text(&own.text)));
        }
    }
    assert!(exceeded.is_empty(), "{}", exceeded.join("\n"));
    assert!(runs >= 200, "{runs} runs");
}

/// Launches some words after the prologue, as groups on some compute units.
fn audit_words(words: &[u32], (groups, threads): (u32, u32), units: u64) -> LaunchTimeAudit {
    let mut words = words.to_vec();
    words.push(ENDPGM);
    let program = WaveProgram::with_prologue(&words);
    let launch = launch_of(&program, groups, threads);
    let machine = machine("gem5-apu", units);
    audit(&program.session(), &launch, machine, CacheState::Warm)
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

/// Sixteen waves share four vector ALUs.
#[test]
fn vector_units_of_others_count() {
    let found = audit_words(&MUL.repeat(80), (4, 256), 1);
    needs_term(&found, "issue and units of others");
}

/// Sixteen waves share one scalar ALU, which SIMDs take in turn.
#[test]
fn scalar_unit_of_all_simds_counts() {
    let found = audit_words(&ADDS.repeat(100), (4, 256), 1);
    needs_term(&found, "memory of the SM");
}

/// Conflicts of LDS hold up all other waves of the compute unit.
#[test]
fn conflicts_of_others_count() {
    let mut words = ONE_BANK.to_vec();
    words.extend(LDS_READ.repeat(80));
    words.push(WAIT);
    let found = audit_words(&words, (4, 256), 1);
    needs_term(&found, "memory of the SM");
}

/// Atomic operations of all lanes of many waves on many compute units meet in the slices of the L2 cache.
#[test]
fn memory_of_all_units_counts() {
    let mut words = ATOMIC.repeat(40);
    words.push(WAIT);
    let found = audit_words(&words, (64, 64), 64);
    needs_term(&found, "L2 cache and DRAM");
}

/// More groups of one wave than fit at once, which take no units.
#[test]
fn groups_follow_each_other() {
    let found = audit_words(&[SLEEP; 20], (64, 64), 1);
    needs_term(&found, "warps one after the other");
}

/// Waves of a group wait for each other at barriers, where others compute and access LDS.
#[test]
fn barriers_count() {
    let found = audit_words(&[SLEEP, BARRIER].repeat(12), (3, 256), 1);
    needs_term(&found, "warps one after the other");
    let mut words = ONE_BANK.to_vec();
    for _ in 0..12 {
        words.extend(LDS_READ.repeat(2));
        words.extend([WAIT, BARRIER]);
        words.extend(MUL.repeat(3));
    }
    let found = audit_words(&words, (3, 256), 1);
    assert_eq!(found.refused, None);
    assert!(found.exceeded.is_empty(), "{:?}", found.exceeded);
}

/// Loads with the scratch and LDS of other groups in between: groups that end leave their places at different times.
#[test]
fn groups_of_loads_keep_their_bounds() {
    let mut words = [LOAD.as_slice(), &[WAIT]].concat().repeat(20);
    words.extend(MUL.repeat(20));
    for (groups, units) in [(64, 1), (65, 3), (9, 1)] {
        let found = audit_words(&words, (groups, 64), units);
        assert_eq!(found.refused, None);
        assert!(found.exceeded.is_empty(), "{:?}", found.exceeded);
    }
}

/// Launches of waves that may split, and any scheduler, have no bound: the reasons are stated.
#[test]
fn splits_are_refused() {
    let program = WaveProgram::with_prologue(&[ENDPGM]);
    let session = program.session();
    let launch = launch_of(&program, 2, 64);
    let splitting = SplitOptions {
        splits: 1,
        ..SplitOptions::default()
    };
    let found = audit_with(
        &session,
        &launch,
        (machine("gem5-apu", 1), CacheState::Warm),
        splitting,
    );
    let why = found.refused.expect("it is refused");
    assert!(why.contains("split"), "{why}");
}
