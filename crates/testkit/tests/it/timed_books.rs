//! Real runs with time: every cycle of every warp is accounted for.

use warpbound_driver::{Parameter, Session, TimedOptions, SchedulerPolicy};
use warpbound_simulate::timed::Interlock;
use warpbound_testkit::kernels;
use warpbound_testkit::cycle_accounting::CycleAccounting;

/// Each kernel with each scheduler in turn, every fifth by a scoreboard, every third with instructions fetched in small pieces.
#[test]
fn cycles_of_warps_add_up() {
    let policies = [
        SchedulerPolicy::Gto,
        SchedulerPolicy::Lrr,
        SchedulerPolicy::Oldest,
        SchedulerPolicy::RunToBarrier,
    ];
    let mut mistakes = Vec::new();
    for (number, reference) in kernels::all().iter().enumerate() {
        let file = format!("{}.sm_61.cubin", reference.source);
        let path = format!("{}/../../kernels/built/{file}", env!("CARGO_MANIFEST_DIR"));
        let contents = std::fs::read(path).expect("the cubin is in the repository");
        let session = Session::open(&file, &contents).expect("it loads");
        let launch = (reference.launch)(0);
        let kernel = session
            .launched_grid(Some(reference.kernel), &launch)
            .expect("it has the kernel");
        let prepared = session.prepare(kernel).expect("it decodes");
        let options = TimedOptions {
            scheduler: policies.get(number % policies.len()).copied(),
            interlock: match number % 5 {
                0 => Interlock::Scoreboard,
                _ => Interlock::ControlWords,
            },
            // Little is fetched at once: whoever goes on, behind a barrier too, often waits for instructions.
            set: match number % 3 {
                0 => vec![
                    (Parameter::InstructionAhead, 0),
                    (Parameter::InstructionLine, 32),
                ],
                _ => Vec::new(),
            },
            ..TimedOptions::new(session.own_gpu_model().expect("a machine is for it"))
        };
        let mut ledger = CycleAccounting::new();
        let name = &reference.kernel;
        match session.time(&prepared, &launch, &options, &mut ledger) {
            Err(diagnostic) => mistakes.push(diagnostic.to_string()),
            Ok(finished) => match ledger.finish() {
                Ok(issued) => assert_eq!(issued, finished.counts.issued(), "{name}"),
                Err(what) => mistakes.push(format!("{name}:\n{what}")),
            },
        }
    }
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
}
