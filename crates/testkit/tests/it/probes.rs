//! Probes in machine code: their counters are the counts of the same run, and the kernel computes the same.

use warpbound_base::Family;
use warpbound_isa::Program;
use warpbound_isa::nvidia::Opcode;
use warpbound_launch::StartCaches;
use warpbound_machine::{GpuModel, Parameter};
use warpbound_measure::probes::{ProbeMetric, ProbedBlocks};
use warpbound_measure::{CounterKind, InstrumentOptions, InstrumentedKernel, instrument, plan_for};
use warpbound_query::Session;
use warpbound_rewrite::CubinRewriter;
use warpbound_rewrite::probes::{ProbeFault, ProbeStyle};
use warpbound_runs::TimedOptions;
use warpbound_testkit::kernels::{self, KernelReference};
use warpbound_testkit::probes::{ProbedKernel, ProbedRun, ProbedTime, overwrite_free_registers};

/// Kernels with divergent loops, calls, exits under a guard, division, barriers, recursion.
const SOURCES: [&str; 8] = [
    "lud_diagonal",
    "predicated_exit",
    "early_exit",
    "call_depth2",
    "recursion",
    "reduction",
    "bitonic_sort",
    "switch_table",
];

fn reference(source: &str) -> KernelReference {
    let mut all = kernels::all().into_iter();
    all.find(|reference| reference.source == source)
        .expect("a kernel of the repository")
}

fn contents(source: &str) -> Vec<u8> {
    let path = format!(
        "{}/../../kernels/built/{source}.sm_61.cubin",
        env!("CARGO_MANIFEST_DIR")
    );
    std::fs::read(path).expect("the cubin is in the repository")
}

fn timed() -> TimedOptions {
    TimedOptions {
        caches: Some(StartCaches::Warm),
        ..TimedOptions::new(GpuModel::built_in("jetson-tx2").expect("a machine"))
    }
}

/// Instruments the first kernel of a source with a fault, runs a launch, and returns what is wrong.
fn problems(
    source: &str,
    number: u64,
    (rule, style, counters): (ProbedBlocks, ProbeStyle, CounterKind),
    fault: Option<ProbeFault>,
    with_time: bool,
) -> Vec<String> {
    let reference = reference(source);
    let contents = contents(source);
    let session = Session::open(source, &contents).expect("it loads");
    let found = session.kernels(Some(reference.kernel)).expect("kernels");
    let kernel = found[0];
    let original = session.prepare(kernel).expect("it decodes");
    let launch = (reference.launch)(number);
    let plan = plan_for(
        &session,
        kernel,
        Some(&launch),
        rule,
        vec![ProbeMetric::Counts],
    );
    let plan = plan.expect("a plan");
    let options = InstrumentOptions {
        style,
        counters,
        fault,
        ..InstrumentOptions::default()
    };
    let instrumented =
        instrument(&session, &contents, kernel, &plan, &options).expect("it can be rewritten");
    let probed = ProbedKernel {
        original: &original,
        plan: &plan,
        counters,
        instrumented: &instrumented,
    };
    let mut found = probed.split_pairs().expect("it decodes");
    let timed = timed();
    let time = match with_time {
        true => ProbedTime::Timed(&timed),
        false => ProbedTime::Functional,
    };
    match probed.run(&launch, time) {
        Ok(run) => found.extend(ProbedRun::problems(&run)),
        Err(error) => found.push(error.to_string()),
    }
    found
}

/// Instruments the first kernel of a source with sums for the activity factor, runs a launch, and returns what is wrong:
/// the counters, and the sums over all instructions of the run that are decoded from them.
fn wrong_sums(
    source: &str,
    number: u64,
    (rule, style, knows_launch): (ProbedBlocks, ProbeStyle, bool),
    fault: Option<ProbeFault>,
    with_time: bool,
) -> Vec<String> {
    let reference = reference(source);
    let contents = contents(source);
    let session = Session::open(source, &contents).expect("it loads");
    let kernel = session.kernels(Some(reference.kernel)).expect("kernels")[0];
    let original = session.prepare(kernel).expect("it decodes");
    let launch = (reference.launch)(number);
    let known = knows_launch.then_some(&launch);
    let plan = plan_for(&session, kernel, known, rule, vec![ProbeMetric::Activity]);
    let plan = plan.expect("a plan");
    let options = InstrumentOptions {
        style,
        launch: known.map(|launch| launch.clone().into()),
        fault,
        ..InstrumentOptions::default()
    };
    let instrumented =
        instrument(&session, &contents, kernel, &plan, &options).expect("it can be rewritten");
    let probed = ProbedKernel {
        original: &original,
        plan: &plan,
        counters: CounterKind::Probes,
        instrumented: &instrumented,
    };
    let mut found = probed.split_pairs().expect("it decodes");
    let timed = timed();
    let time = match with_time {
        true => ProbedTime::Timed(&timed),
        false => ProbedTime::Functional,
    };
    match probed.run(&launch, time) {
        Ok(run) => {
            found.extend(run.problems());
            let decoded = probed.wrong_totals(&session, &launch, &run);
            found.extend(decoded.expect("it is decoded"));
        }
        Err(error) => found.push(error.to_string()),
    }
    found
}

/// Modes of sums: in one word where the launch bounds them, in two, in memory.
const SUMS: [(ProbedBlocks, ProbeStyle, bool); 5] = [
    (ProbedBlocks::All, ProbeStyle::Registers, true),
    (ProbedBlocks::All, ProbeStyle::Registers, false),
    (ProbedBlocks::Plan, ProbeStyle::Registers, true),
    (ProbedBlocks::Plan, ProbeStyle::Registers, false),
    (ProbedBlocks::Plan, ProbeStyle::Memory, false),
];

#[test]
fn sums_decoded_are_those_of_the_same_run() {
    for source in SOURCES {
        for mode in SUMS {
            for with_time in [false, true] {
                let found = wrong_sums(source, 0, mode, None, with_time);
                assert!(found.is_empty(), "{source} {mode:?}: {found:?}");
            }
        }
    }
}

/// A factor that differs from the plan's, an exit without additions, a temporary that the block uses.
#[test]
fn faults_in_sums_are_found() {
    let faults = [
        (ProbeFault::WrongFactor, SUMS[0]),
        (ProbeFault::WrongFactor, SUMS[3]),
        (ProbeFault::MissesAnExit, SUMS[0]),
        (ProbeFault::NamesIgnored, SUMS[0]),
    ];
    for (fault, mode) in faults {
        let found = |source: &&str| !wrong_sums(source, 0, mode, Some(fault), false).is_empty();
        let sources: Vec<&str> = SOURCES.into_iter().filter(found).collect();
        assert!(!sources.is_empty(), "{fault:?} {mode:?}");
    }
}

/// Probes in cycles in which the warp waited, after which the stall is shorter than it was.
#[test]
fn a_stall_that_is_not_kept_is_found() {
    let fault = Some(ProbeFault::StallsLost);
    let found = SOURCES.map(|source| linted(source, ProbeStyle::Registers, fault));
    assert!(found.iter().any(|&findings| findings > 0), "{found:?}");
}

const REGISTERS: (ProbedBlocks, ProbeStyle, CounterKind) = (
    ProbedBlocks::All,
    ProbeStyle::Registers,
    CounterKind::Probes,
);

#[test]
fn counters_are_the_counts_of_the_same_run() {
    let modes = [
        REGISTERS,
        (ProbedBlocks::All, ProbeStyle::Memory, CounterKind::Probes),
        (ProbedBlocks::All, ProbeStyle::Paper, CounterKind::Sums),
        (
            ProbedBlocks::Plan,
            ProbeStyle::Registers,
            CounterKind::Probes,
        ),
    ];
    for source in SOURCES {
        for mode in modes {
            for with_time in [false, true] {
                let found = problems(source, 0, mode, None, with_time);
                assert!(found.is_empty(), "{source} {mode:?}: {found:?}");
            }
        }
    }
}

/// Registers that liveness calls free may hold anything.
#[test]
fn garbage_in_free_registers_changes_no_result() {
    for source in SOURCES {
        let reference = reference(source);
        for seed in 0..3 {
            let launch = (reference.launch)(seed);
            let found =
                overwrite_free_registers(&contents(source), reference.kernel, &launch, None, seed);
            assert_eq!(found.expect("it runs"), None, "{source} seed {seed}");
        }
    }
}

/// A write under a guard does not end a live range: where the guard fails, the old value is read.
#[test]
fn a_liveness_that_ignores_guards_is_found() {
    let fault = Some(ProbeFault::GuardedWritesKill);
    let found = SOURCES.iter().any(|source| {
        let reference = reference(source);
        (0..6).any(|seed| {
            let launch = (reference.launch)(seed % 3);
            let run =
                overwrite_free_registers(&contents(source), reference.kernel, &launch, fault, seed);
            !matches!(run, Ok(None))
        })
    });
    assert!(found, "no result differs");
}

#[test]
fn a_live_register_as_counter_is_found() {
    let found = problems(
        "lud_diagonal",
        0,
        REGISTERS,
        Some(ProbeFault::NothingUsed),
        false,
    );
    assert!(!found.is_empty());
}

/// Kernels in which an exit issues together with the instruction before it: with the pair's control word in the
/// instrumented file, the flush before the exit is in the pair.
#[test]
fn a_probe_in_a_pair_of_dual_issue_is_found() {
    let mut pairs = 0;
    let all = kernels::all().into_iter();
    let has_pair =
        |source: &str| ["row_leader", "nested_loops", "stream_cluster"].contains(&source);
    for reference in all.filter(|reference| has_pair(reference.source)) {
        let source = reference.source;
        let contents = contents(source);
        let session = Session::open(source, &contents).expect("it loads");
        let kernel = session.kernels(Some(reference.kernel)).expect("kernels")[0];
        let original = session.prepare(kernel).expect("it decodes");
        let counts = vec![ProbeMetric::Counts];
        let plan = plan_for(&session, kernel, None, ProbedBlocks::All, counts);
        let plan = plan.expect("a plan");
        let options = InstrumentOptions::default();
        let mut instrumented =
            instrument(&session, &contents, kernel, &plan, &options).expect("it can be rewritten");
        let probed = |instrumented: &InstrumentedKernel| {
            let probed = ProbedKernel {
                original: &original,
                plan: &plan,
                counters: options.counters,
                instrumented,
            };
            probed.split_pairs().expect("it decodes")
        };
        assert_eq!(probed(&instrumented), [""; 0], "{source}");
        let Program::Nvidia(program) = &original.program else {
            unreachable!("a cubin");
        };
        let first = program.instrs.windows(2).find(|pair| {
            let is_exit = program.opcode(&pair[1]) == Some(Opcode::Exit);
            is_exit && pair[0].control.dual_issue()
        });
        let Some([first, _]) = first else {
            continue;
        };
        pairs += 1;
        let moved = instrumented.moved(first.addr).expect("a new address");
        let mut rewriter = CubinRewriter::open(&instrumented.bytes).expect("it opens");
        let code = rewriter.code(&kernel.name).expect("its code");
        code.set_control(moved, first.control)
            .expect("an instruction");
        let damaged = rewriter.finish().expect("it is written");
        instrumented.bytes = damaged;
        assert!(
            !probed(&instrumented).is_empty(),
            "{source}: the pair is not found"
        );
    }
    assert!(pairs > 0, "no kernel has a pair");
}

/// Findings of the check of control words in an instrumented kernel.
fn linted(source: &str, style: ProbeStyle, fault: Option<ProbeFault>) -> usize {
    let reference = reference(source);
    let contents = contents(source);
    let session = Session::open(source, &contents).expect("it loads");
    let kernel = session.kernels(Some(reference.kernel)).expect("kernels")[0];
    let counts = vec![ProbeMetric::Counts];
    let plan = plan_for(&session, kernel, None, ProbedBlocks::All, counts);
    let options = InstrumentOptions {
        style,
        fault,
        ..InstrumentOptions::default()
    };
    let instrumented = instrument(
        &session,
        &contents,
        kernel,
        &plan.expect("a plan"),
        &options,
    )
    .expect("it can be rewritten");
    let session = Session::open(source, &instrumented.bytes).expect("it loads");
    let kernel = session.kernels(Some(reference.kernel)).expect("kernels")[0];
    session.lint(kernel).expect("it is checked").findings.len()
}

/// Additions to memory whose value is written anew before it was read.
#[test]
fn a_scoreboard_that_is_not_awaited_is_found() {
    for source in SOURCES {
        for style in [ProbeStyle::Registers, ProbeStyle::Memory, ProbeStyle::Paper] {
            assert_eq!(linted(source, style, None), 0, "{source} {style:?}");
        }
    }
    let fault = Some(ProbeFault::SharesScoreboard);
    let found = SOURCES.map(|source| linted(source, ProbeStyle::Paper, fault));
    assert!(found.iter().any(|&findings| findings > 0), "{found:?}");
}

/// Latencies on which the stall counts of probes rest, against the slow ends of all machines.
#[test]
fn latencies_cover_all_machines() {
    for name in GpuModel::names_of(Family::Maxwell) {
        let machine = GpuModel::built_in(name).expect("a machine");
        let slow = |parameter: Parameter| Some(machine.range(parameter).most);
        let register = u64::from(warpbound_rewrite::probes::REGISTER_LATENCY);
        let predicate = u64::from(warpbound_rewrite::probes::PREDICATE_LATENCY);
        assert!(slow(Parameter::LatencyAlu) <= Some(register), "{name}");
        assert!(
            slow(Parameter::LatencyPredicate) <= Some(predicate),
            "{name}"
        );
    }
}
