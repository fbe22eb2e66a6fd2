//! Cycle accounting of timed runs of the repository's kernels: every cycle of every warp is accounted for.

use warpbound_machine::{Parameter, SchedulerPolicy};

use warpbound_query::Session;

use warpbound_runs::{TimedOptions, simulate_with};
use warpbound_simulate::timed::Interlock;
use warpbound_testkit::cycle_accounting::CycleAccounting;
use warpbound_testkit::kernels;

/// Runs each kernel with one of the schedulers in turn, every fifth with the register scoreboard, every third with
/// small instruction lines.
#[test]
fn cycles_of_warps_add_up() {
    let policies = [
        SchedulerPolicy::Gto,
        SchedulerPolicy::Lrr,
        SchedulerPolicy::Oldest,
        SchedulerPolicy::RunToBarrier,
    ];
    let mut problems = Vec::new();
    for (number, reference) in kernels::all().iter().enumerate() {
        let file = format!("{}.sm_61.cubin", reference.source);
        let path = format!("{}/../../kernels/built/{file}", env!("CARGO_MANIFEST_DIR"));
        let contents = std::fs::read(path).expect("the cubin is in the repository");
        let session = Session::open(&file, &contents).expect("it loads");
        let launch = (reference.launch)(0);
        let kernel = session
            .launched_kernel(Some(reference.kernel), launch.kernel.as_deref())
            .expect("it has the kernel");
        let prepared = session.prepare(kernel).expect("it decodes");
        let options = TimedOptions {
            scheduler: policies.get(number % policies.len()).copied(),
            interlock: match number % 5 {
                0 => Interlock::Scoreboard,
                _ => Interlock::ControlWords,
            },
            // Small lines without prefetch: warps often wait for instructions, also after barriers.
            set: match number % 3 {
                0 => vec![
                    (Parameter::InstructionAhead, 0),
                    (Parameter::InstructionLine, 32),
                ],
                _ => Vec::new(),
            },
            ..TimedOptions::new(session.own_gpu_model().expect("a machine is for it"))
        };
        let mut accounting = CycleAccounting::new();
        let name = &reference.kernel;
        match simulate_with(&session, &prepared, &launch, &options, &mut accounting) {
            Err(diagnostic) => problems.push(diagnostic.to_string()),
            Ok(finished) => match accounting.finish() {
                Ok(issued) => assert_eq!(issued, finished.counts.issued(), "{name}"),
                Err(violations) => problems.push(format!("{name}:\n{violations}")),
            },
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
