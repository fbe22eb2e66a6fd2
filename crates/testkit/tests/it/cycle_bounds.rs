//! Bounds in cycles compared with simulated runs: programs with random control words, and programs in which a bound is
//! easily too small, also on machines with small caches and buffers.

mod faults;
mod fixtures;
mod machines;

use warpbound_base::Diagnostic;
use warpbound_bounds::CycleInputs;
use warpbound_machine::GpuModel;
use warpbound_query::{CacheState, SplitOptions};
use warpbound_testkit::control_words::{ControlWordProgram, KERNEL, program};
use warpbound_testkit::cycle_bounds::{
    ComparedCycles, CycleSubject, RunSetup, compare_program, machines, starts,
};

/// Random programs that are compared.
const SEEDS: u64 = 60;

/// Compares a program on a machine with the bound for another one, for the state of caches that it assumes and those of
/// the runs; `change` changes the inputs of the bound.
fn compare_states(
    program: &ControlWordProgram,
    (machine, bounded): (&GpuModel, &GpuModel),
    (assumed, caches): (CacheState, CacheState),
    change: &dyn Fn(&mut CycleInputs),
) -> Result<ComparedCycles, Diagnostic> {
    let session = program.session(61);
    let subject = CycleSubject {
        session: &session,
        kernel: KERNEL,
        launches: vec![program.launch(0), program.launch(1)],
        loops: program
            .loops
            .iter()
            .map(|fact| (fact.header, fact.per_entry))
            .collect(),
        machine: bounded,
        caches: assumed,
        splitting: SplitOptions::default(),
    };
    let setups: Vec<RunSetup> = starts(caches)
        .iter()
        .flat_map(|&start| RunSetup::selections(machine, start, &[1, 2, 3]))
        .collect();
    subject.compare(machine, &setups, change)
}

/// Compares a program on a machine.
fn compare(program: &ControlWordProgram, machine: &GpuModel, caches: CacheState) -> ComparedCycles {
    let found = compare_states(program, (machine, machine), (caches, caches), &|_| {});
    found.expect("it has a bound")
}

#[test]
fn no_run_of_a_random_program_exceeds_its_bound() {
    let machines = machines();
    let mut compared = 0;
    for seed in 0..SEEDS {
        // Instructions of later architectures than that of the machine are refused.
        if let Ok(found) = compare_program(&program(seed), &machines) {
            assert_eq!(found.violations, Vec::<String>::new(), "program {seed}");
            compared += 1;
        }
    }
    assert!(compared > SEEDS * 3 / 4, "{compared}");
}
