//! Functional runs: the result depends neither on the number of host threads nor on the order of diverged lanes.

use std::num::NonZero;

use warpbound_audit::audit::PathOrder;
use warpbound_launch::LaunchFile;
use warpbound_query::Session;
use warpbound_runs::{FunctionalRun, RunOptions, execute};
use warpbound_testkit::kernels::{self, KernelReference};

/// Build by the older compiler.
const OLDER: &str = "nvrtc11.sm_61";

/// Number of launches of each kernel.
const LAUNCHES: u64 = 4;

fn session(reference: &KernelReference) -> Session {
    built(reference, "sm_61").expect("the cubin is in the repository")
}

fn built(reference: &KernelReference, build: &str) -> Option<Session> {
    let file = format!("{}.{build}.cubin", reference.source);
    let path = format!("{}/../../kernels/built/{file}", env!("CARGO_MANIFEST_DIR"));
    let contents = std::fs::read(path).ok()?;
    Some(Session::open(&file, &contents).expect("it loads"))
}

fn run(
    session: &Session,
    reference: &KernelReference,
    launch: &LaunchFile,
    options: &RunOptions,
) -> Result<FunctionalRun, String> {
    session
        .launched_kernel(Some(reference.kernel), launch.kernel.as_deref())
        .and_then(|kernel| execute(session, kernel, launch, options, &mut |_| ()))
        .map_err(|diagnostic| diagnostic.to_string())
}

fn threads(threads: usize) -> RunOptions {
    RunOptions {
        threads: NonZero::new(threads).expect("some"),
        ..RunOptions::default()
    }
}

#[test]
fn threads_change_nothing() {
    for reference in kernels::all() {
        let session = session(&reference);
        for number in 0..LAUNCHES {
            let launch = (reference.launch)(number);
            let run = |count| run(&session, &reference, &launch, &threads(count));
            let one = run(1).expect("it runs");
            for count in [2, 3, 7] {
                let several = run(count).expect("it runs");
                let name = format!("{} launch {number}, {count} threads", reference.kernel);
                assert!(one.memory == several.memory, "{name}: other results");
                let text = |run: &FunctionalRun| format!("{:?}", run.report);
                assert_eq!(text(&one), text(&several), "{name}");
            }
        }
    }
}

/// Blocks that read the writes of earlier blocks: each counts the calls so far, and a limit ends the run halfway.
#[test]
fn threads_change_no_fault() {
    let reference = kernels::all()
        .into_iter()
        .find(|reference| reference.source == "histogram")
        .expect("a kernel with global atomics");
    let session = session(&reference);
    let launch = (reference.launch)(1);
    let all = run(&session, &reference, &launch, &threads(1)).expect("it runs");
    for part in [3, 5, 9] {
        let limit = all.report.issued.warp_instructions * part / 10;
        let fault = |count| {
            let options = RunOptions {
                max_instructions: Some(limit),
                ..threads(count)
            };
            run(&session, &reference, &launch, &options).expect_err("the limit is too low")
        };
        assert_eq!(fault(1), fault(4));
    }
}

#[test]
fn the_order_of_diverged_lanes_changes_no_result() {
    let mut older = 0;
    let all = kernels::all().into_iter();
    for reference in all.chain(kernels::of_nvrtc_11_8()) {
        // Not every source is built by both compilers.
        let sessions = ["sm_61", OLDER].map(|build| built(&reference, build));
        older += usize::from(sessions[1].is_some());
        for session in sessions.into_iter().flatten() {
            for number in 0..LAUNCHES {
                let launch = (reference.launch)(number);
                let options = RunOptions {
                    order: PathOrder::FallThroughFirst,
                    ..RunOptions::default()
                };
                let run = run(&session, &reference, &launch, &options).expect("it runs");
                let unexpected = run.unexpected.map(|diagnostic| diagnostic.to_string());
                assert_eq!(unexpected, None, "{} launch {number}", reference.kernel);
            }
        }
    }
    assert!(older > 140, "only {older} kernels of the older compiler");
}
