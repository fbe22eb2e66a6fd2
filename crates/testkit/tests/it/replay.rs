//! Replays of recorded warps: equal to the runs in each cycle, and different with a fault in the inputs of each rule.
//!
//! A fault is planted where a rule reads its input: the facts of the instructions, the numbers of the machine, or the
//! outcomes. The transfer functions with a faulty input are those of a faulty rule.

use std::sync::OnceLock;

use warpbound_audit::audit::{RecordedRun, ServiceOrder};
use warpbound_audit::record_warp;
use warpbound_cycles::{AccessDirection, MachineNumbers, RecordedTrace};
use warpbound_machine::{GpuModel, Parameter, Selection};
use warpbound_runs::TimedOptions;
use warpbound_simulate::timed::LOCAL_BASE;
use warpbound_testkit::control_words::program;
use warpbound_timing::{Completion, Distance, InstrFacts};

/// Programs of a test.
const PROGRAMS: u64 = 120;

/// Machines, and the architecture of their code.
const MACHINES: [(&str, u8); 3] = [("jetson-tx2", 62), ("gtx1080", 61), ("p100", 61)];

fn options(machine: &str, selection: Selection) -> TimedOptions {
    TimedOptions {
        selection,
        ..TimedOptions::new(GpuModel::built_in(machine).expect("it comes with the tool"))
    }
}

fn record(seed: u64, sm: u8, options: &TimedOptions) -> RecordedRun {
    let program = program(seed);
    let session = program.session(sm);
    let prepared = program.prepared(&session).expect("it is valid");
    let launch = program.launch(seed);
    let run = record_warp(&session, &prepared, &launch, options);
    run.expect("it has no faults")
}

/// Runs of random programs on one machine, at its slow end: there no number is 0.
fn runs() -> &'static Vec<RecordedRun> {
    static RUNS: OnceLock<Vec<RecordedRun>> = OnceLock::new();
    RUNS.get_or_init(|| {
        let options = options("gtx1080", Selection::Slow);
        (0..PROGRAMS)
            .map(|seed| record(seed, 61, &options))
            .collect()
    })
}

/// Each run of random programs with random control words is replayed to the cycle, on machines with any numbers.
#[test]
fn random_control_words_are_replayed_to_the_cycle() {
    for seed in 0..PROGRAMS {
        let (machine, sm) = MACHINES[seed as usize % MACHINES.len()];
        for selection in [
            Selection::Slow,
            Selection::Least,
            Selection::Most,
            Selection::Seed(seed),
        ] {
            let run = record(seed, sm, &options(machine, selection));
            assert!(run.trace.instrs.len() > 10, "{seed}");
            let found = run.compare(ServiceOrder::Gaps);
            assert_eq!(found, None, "program {seed} on {machine}, {selection}");
        }
    }
}

/// Servers in the order of requests, and the memory accesses of the bound, are never earlier than the run.
#[test]
fn random_control_words_are_never_early_in_the_bound() {
    for seed in 0..PROGRAMS {
        let (machine, sm) = MACHINES[seed as usize % MACHINES.len()];
        for selection in [Selection::Slow, Selection::Seed(seed)] {
            let run = record(seed, sm, &options(machine, selection));
            let in_order = run.replay(ServiceOrder::Requests);
            assert_eq!(run.first_earlier(&in_order), None, "{seed} {selection}");
            let bounded = run.replay_bounded();
            let found = run.first_earlier_than_refreshes(&bounded);
            assert_eq!(found, None, "{seed} {selection}");
        }
    }
}

/// Number of runs of which the replay differs after a change of its inputs.
fn caught(change: impl Fn(&mut RecordedRun)) -> usize {
    let differs = |run: &&RecordedRun| {
        let mut faulty = RecordedRun {
            facts: run.facts.clone(),
            trace: run.trace.clone(),
            numbers: run.numbers.clone(),
            simulated: run.simulated.clone(),
        };
        change(&mut faulty);
        faulty.compare(ServiceOrder::Gaps).is_some()
    };
    runs().iter().filter(differs).count()
}

/// Number of runs in which a changed input of the bound's functions issues an instruction earlier than the run.
fn early(change: impl Fn(&mut RecordedRun)) -> usize {
    let is_early = |run: &&RecordedRun| {
        let mut faulty = RecordedRun {
            facts: run.facts.clone(),
            trace: run.trace.clone(),
            numbers: run.numbers.clone(),
            simulated: run.simulated.clone(),
        };
        change(&mut faulty);
        let replayed = faulty.replay_bounded();
        faulty.first_earlier_than_refreshes(&replayed).is_some()
    };
    runs().iter().filter(is_early).count()
}

fn change_facts(run: &mut RecordedRun, change: impl Fn(&mut InstrFacts)) {
    run.facts.iter_mut().for_each(change);
}

fn change_trace(run: &mut RecordedRun, change: impl Fn(&mut RecordedTrace)) {
    change(&mut run.trace);
}

/// Returns the numbers of the machine of [`runs`] with another value of a parameter.
fn numbers_with(parameter: Parameter, value: u64) -> MachineNumbers {
    let machine = GpuModel::built_in("gtx1080").expect("it comes with the tool");
    let machine = machine.select(Selection::Slow).with(parameter, value);
    MachineNumbers::of_config(&machine).expect("numbers for bounds")
}

/// Checks that a fault makes replays unequal.
fn assert_caught(change: impl Fn(&mut RecordedRun)) {
    assert!(caught(change) > 0);
}

/// Checks that a fault makes replays unequal, and the bound's functions early.
fn assert_caught_early(change: impl Fn(&mut RecordedRun)) {
    let (differ, early) = (caught(&change), early(&change));
    assert!(
        differ > 0 && early > 0,
        "{differ} differ, {early} are early"
    );
}

fn assert_parameter_caught(parameter: Parameter, value: u64) {
    assert_caught_early(|run| run.numbers = numbers_with(parameter, value));
}

#[test]
fn an_unchanged_run_is_equal() {
    assert_eq!(caught(|_| {}), 0);
    for (seed, run) in runs().iter().enumerate() {
        let found = run.first_earlier_than_refreshes(&run.replay_bounded());
        let instr = found.map(|found| &run.trace.instrs[found.position]);
        assert_eq!(found, None, "{seed}: {instr:?}");
    }
}

#[test]
fn fault_wait_mask_bit_ignored() {
    for bit in 0..6 {
        assert_caught_early(|run| change_facts(run, |facts| facts.wait_mask &= !(1 << bit)));
    }
}

#[test]
fn fault_wake_not_added() {
    assert_parameter_caught(Parameter::IssueWake, 0);
}

#[test]
fn fault_read_scoreboard_instead_of_write() {
    assert_caught_early(|run| {
        change_facts(run, |facts| {
            std::mem::swap(&mut facts.read_sb, &mut facts.write_sb);
        });
    });
}

/// The sources of an access are read before its result is there: a wait for them alone is too short.
#[test]
fn fault_result_releases_nothing() {
    assert_caught_early(|run| change_facts(run, |facts| facts.write_sb = None));
    assert_caught_early(|run| change_facts(run, |facts| facts.read_sb = None));
}

#[test]
fn fault_depbar_leaves_nothing_outstanding() {
    let change = |run: &mut RecordedRun| {
        change_facts(run, |facts| {
            if let Completion::Depbar { most, .. } = &mut facts.completion
                && *most != u8::MAX
            {
                *most = 0;
            }
        });
    };
    // Later, never earlier.
    assert!(caught(change) > 0);
    assert_eq!(early(change), 0);
}

#[test]
fn fault_depbar_leaves_one_more_outstanding() {
    assert_caught_early(|run| {
        change_facts(run, |facts| {
            if let Completion::Depbar { most, .. } = &mut facts.completion
                && *most != u8::MAX
            {
                *most += 1;
            }
        });
    });
}

/// Code 16 without dual issue is one cycle.
#[test]
fn fault_pairs_without_dual_issue() {
    let mut machine = options("gtx1080", Selection::Slow);
    machine.set = vec![(Parameter::IssueDual, 0)];
    let mut differ = 0;
    for seed in 0..PROGRAMS {
        let mut run = record(seed, 61, &machine);
        assert_eq!(run.compare(ServiceOrder::Gaps), None, "{seed}");
        run.numbers = numbers_with(Parameter::IssueDual, 1);
        differ += usize::from(run.compare(ServiceOrder::Gaps).is_some());
    }
    assert!(differ > 0);
}

/// Codes 29 to 31 are parameters.
#[test]
fn fault_yield_codes_are_their_number() {
    for parameter in [
        Parameter::IssueYield6,
        Parameter::IssueYield8,
        Parameter::IssueOffDeck,
    ] {
        assert_parameter_caught(parameter, 1);
    }
}

#[test]
fn fault_bank_cycles_dropped() {
    assert_parameter_caught(Parameter::IssueBankConflict, 0);
}

#[test]
fn fault_drain_waits_for_nothing() {
    assert_caught_early(|run| change_facts(run, |facts| facts.drains = false));
}

#[test]
fn fault_jump_not_added() {
    assert_parameter_caught(Parameter::IssueJump, 0);
}

#[test]
fn fault_longer_queue() {
    assert_parameter_caught(Parameter::OccupancyQueue, 40);
}

#[test]
fn fault_width_of_the_unit() {
    assert_caught(|run| {
        change_trace(run, |trace| {
            for instr in &mut trace.instrs {
                instr.bytes = instr.bytes.min(4);
            }
        });
    });
}

#[test]
fn fault_shared_conflicts_of_one_cycle() {
    assert_parameter_caught(Parameter::SharedConflict, 1);
}

#[test]
fn fault_serial_part_of_shared_atomics() {
    assert_caught(|run| {
        change_trace(run, |trace| {
            for shared in trace
                .instrs
                .iter_mut()
                .filter_map(|instr| instr.shared.as_mut())
            {
                shared.same_word = 0;
            }
        });
    });
}

#[test]
fn fault_hit_ignores_lines_in_flight() {
    let change = |run: &mut RecordedRun| {
        change_trace(run, |trace| {
            let accesses = trace
                .instrs
                .iter_mut()
                .flat_map(|instr| &mut instr.accesses);
            let lines = accesses.flat_map(|access| access.requests.iter_mut().flatten());
            // A line that nothing has requested.
            for line in lines.filter(|line| line.l1_hits != 0) {
                line.line = LOCAL_BASE * 2;
            }
        });
    };
    assert!(caught(change) > 0);
}

#[test]
fn fault_fence_without_stores() {
    let machine = GpuModel::built_in("gtx1080").expect("it comes with the tool");
    let device = machine.select(Selection::Slow)[Parameter::FenceDevice];
    assert_caught_early(|run| {
        run.numbers = numbers_with(Parameter::FenceBlock, device);
        change_facts(run, |facts| {
            if let Completion::Fence { device } = &mut facts.completion {
                *device = false;
            }
        });
    });
}

/// The end of a launch waits for stores.
#[test]
fn fault_stores_complete_at_once() {
    let change = |run: &mut RecordedRun| {
        change_trace(run, |trace| {
            let accesses = trace
                .instrs
                .iter_mut()
                .flat_map(|instr| &mut instr.accesses);
            for access in accesses.filter(|access| access.direction == AccessDirection::Store) {
                access.direction = AccessDirection::Load;
            }
        });
    };
    assert!(caught(change) > 0);
}

/// Distances of control words are at least those of the timing class.
#[test]
fn fault_distances_of_one_cycle() {
    assert_caught_early(|run| {
        change_facts(run, |facts| {
            if let Distance::Cycles(cycles) = &mut facts.distance {
                *cycles = (*cycles).min(1);
                facts.least = 1;
            }
        });
    });
}
