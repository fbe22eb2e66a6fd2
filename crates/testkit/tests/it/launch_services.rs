//! Services that bounds of launches count, each compared with what the resource serves in runs.

use std::fs;

use warpbound_audit::audit::{LaunchTimeRuns, PathOrder};
use warpbound_bounds::CycleOptions;
use warpbound_ipet::SchedulerClass;
use warpbound_machine::{GpuModel, Parameter, SchedulerPolicy, Selection};
use warpbound_query::{CacheState, Session};
use warpbound_testkit::control_words::fixtures;
use warpbound_testkit::kernels;
use warpbound_testkit::service_accounting::compare_services;
use warpbound_testkit::short_launches::{pinned_machine, short_launch};

/// Thousandths of a cycle: the least difference that a service left out of a bound would make.
const CYCLE: u64 = 1000;

/// Warps of short programs take no more of any resource than the bound counts for them. In many programs the bound counts
/// what they take to the cycle: sub-partitions, SMs, L2 cache with DRAM, and sub-partitions between two barriers. A service
/// that a bound leaves out shows there.
#[test]
fn short_programs_take_the_services_that_bounds_count() {
    let (mut runs, mut exceeded, mut exact) = (0, Vec::new(), [0; 7]);
    for seed in 0..200 {
        let short = short_launch(seed).expect("a machine");
        let found = compare_services(&short.session, &short.launch, &short.runs);
        let found = found.expect("the launch suits the program");
        runs += found.runs;
        let texts = found.exceeded.iter();
        exceeded.extend(texts.map(|text| format!("program {seed}: {text}")));
        let [core, sm, gpu] = found.slack;
        let [core_of_blocks, sm_of_blocks, gpu_of_blocks] = found.of_blocks;
        let slacks = [
            core,
            sm,
            gpu,
            found.segment,
            core_of_blocks,
            sm_of_blocks,
            gpu_of_blocks,
        ];
        for (exact, slack) in exact.iter_mut().zip(slacks) {
            *exact += u64::from(slack.is_some_and(|slack| slack < CYCLE));
        }
    }
    assert!(exceeded.is_empty(), "{}", exceeded.join("\n"));
    assert!(runs >= 300, "{runs} runs");
    let least = [80, 15, 20, 5, 50, 6, 12];
    let suffice = exact
        .iter()
        .zip(least)
        .all(|(&exact, least)| exact >= least);
    assert!(suffice, "exact in {exact:?} programs");
}

/// Kernels with coalesced and scattered accesses, conflicts, atomic operations, barriers and shuffles take no more of any
/// resource than the bound counts for them, on machines of which every number is known.
#[test]
fn kernels_take_the_services_that_bounds_count() {
    const SOURCES: [&str; 8] = [
        "transpose",
        "reduction",
        "matmul_int",
        "histogram",
        "barrier_kinds",
        "atomics",
        "shuffle",
        "hotspot",
    ];
    let (mut runs, mut exceeded) = (0, Vec::new());
    let all = kernels::all();
    let selected = all.iter().filter(|kernel| SOURCES.contains(&kernel.source));
    for (seed, kernel) in (0..).zip(selected) {
        let file = format!("{}.sm_61.cubin", kernel.source);
        let path = format!("{}/../../kernels/built/{file}", env!("CARGO_MANIFEST_DIR"));
        let contents = fs::read(path).expect("the cubin is in the repository");
        let session = Session::open(&file, &contents).expect("it loads");
        let mut launch = (kernel.launch)(seed % 3);
        launch.kernel = Some(kernel.kernel.to_owned());
        let machine = GpuModel::built_in("gtx1080").expect("it comes with the tool");
        let of_launch = LaunchTimeRuns {
            cycles: CycleOptions {
                counts: Default::default(),
                machine: pinned_machine(&machine, seed),
                caches: match seed % 2 {
                    0 => CacheState::Warm,
                    _ => CacheState::Cold,
                },
                splitting: Default::default(),
            },
            runs: [SchedulerPolicy::Gto, SchedulerPolicy::Random(seed)]
                .map(|policy| (Selection::Typical, policy))
                .to_vec(),
            order: PathOrder::TakenFirst,
            max_instructions: 2_000_000,
            schedulers: SchedulerClass::WorkConserving,
            searches: false,
        };
        let found = compare_services(&session, &launch, &of_launch);
        let found = found.expect("the launch suits the kernel");
        runs += found.runs;
        let texts = found.exceeded.iter();
        exceeded.extend(texts.map(|text| format!("{}: {text}", kernel.kernel)));
    }
    assert!(exceeded.is_empty(), "{}", exceeded.join("\n"));
    assert!(runs >= 20, "{runs} runs");
}

/// Blocks whose rows begin within a sector take more sectors than others, and lines of code and constants that a cache loses
/// are served again, whichever warp requests them.
#[test]
fn shifted_rows_and_lost_lines_take_the_services_that_bounds_count() {
    const NAMES: [&str; 6] = [
        "rows that blocks shift",
        "code of 12 KiB in a loop",
        "code of 40 KiB in a loop",
        "jumps between lines of 12 KiB",
        "constants in one set",
        "lines in one set",
    ];
    let (mut runs, mut exceeded) = (0, Vec::new());
    for (seed, name) in (0..).zip(NAMES) {
        let program = fixtures::named(name);
        let mut launch = program.launch(0);
        (launch.grid, launch.block) = ([6, 1, 1], [64, 1, 1]);
        let machine = GpuModel::built_in("gtx1080").expect("it comes with the tool");
        let of_launch = LaunchTimeRuns {
            cycles: CycleOptions {
                counts: Default::default(),
                machine: pinned_machine(&machine, seed)
                    .with(Parameter::SmCount, 2)
                    // Prefetched lines would count more than those that are lost.
                    .with(Parameter::InstructionAhead, 0),
                caches: CacheState::Cold,
                splitting: Default::default(),
            },
            runs: vec![(Selection::Typical, SchedulerPolicy::Gto)],
            order: PathOrder::TakenFirst,
            max_instructions: 2_000_000,
            schedulers: SchedulerClass::WorkConserving,
            searches: false,
        };
        let found = compare_services(&program.session(61), &launch, &of_launch);
        let found = found.expect("the launch suits the program");
        runs += found.runs;
        let texts = found.exceeded.iter();
        exceeded.extend(texts.map(|text| format!("{name}: {text}")));
    }
    assert!(exceeded.is_empty(), "{}", exceeded.join("\n"));
    assert_eq!(runs, NAMES.len() as u64);
}
