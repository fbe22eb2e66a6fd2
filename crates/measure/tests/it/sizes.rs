//! Launches that a GPU refuses are refused wherever a measurement gets one.

use std::sync::Arc;

use warpbound_base::Diagnostic;
use warpbound_launch::LaunchFile;
use warpbound_load::Kernel;
use warpbound_measure::instrument::{InstrumentOptions, instrument, plan_for};
use warpbound_measure::probes::{ProbeCounters, ProbedBlocks, decode_counters};
use warpbound_query::Session;

const CUBIN: &[u8] = include_bytes!("../../../../kernels/built/matmul_int.sm_61.cubin");
const LAUNCH: &str = include_str!("../../../../kernels/cuda/matmul_int.8x8.toml");

/// Sizes that exceed a limit along one axis, and what is said of them.
const BAD: [([u32; 3], [u32; 3], &str); 2] = [
    (
        [1, 1, 1],
        [2, 2, 65],
        "block has 65 elements in z, at most 64",
    ),
    (
        [1, 65_536, 1],
        [8, 8, 1],
        "grid has 65536 elements in y, at most 65535",
    ),
];

fn launch() -> LaunchFile {
    LaunchFile::parse("8x8", LAUNCH, &|_| Ok(Vec::new())).expect("a launch")
}

/// Checks that a task refuses the launches that are too large, and accepts the given one.
fn refuses<T>(task: impl Fn(&Session, &Kernel, LaunchFile) -> Result<T, Diagnostic>) {
    let session = Session::open("matmul_int", CUBIN).expect("it loads");
    let kernel = session.launched_kernel(Some("matmul_int"), None);
    let kernel = kernel.expect("a kernel");
    for (grid, block, message) in BAD {
        let bad = LaunchFile {
            grid,
            block,
            ..launch()
        };
        let refused = task(&session, kernel, bad).err().map(|d| d.to_string());
        let refused = refused.expect("it is too large");
        assert!(refused.contains(message), "{refused}");
    }
    assert!(task(&session, kernel, launch()).is_ok());
}

#[test]
fn plans_of_launches() {
    refuses(|session, kernel, launch| {
        let (rule, metrics) = (ProbedBlocks::Plan, Vec::new());
        plan_for(session, kernel, Some(&launch), rule, metrics)
    });
}

/// The plan is for a launch that the GPU accepts, or for none.
#[test]
fn launches_of_instrumented_kernels() {
    for planned in [None, Some(launch())] {
        refuses(|session, kernel, launch| {
            let (rule, metrics) = (ProbedBlocks::All, Vec::new());
            let plan = plan_for(session, kernel, planned.as_ref(), rule, metrics)?;
            let options = InstrumentOptions {
                launch: Some(Arc::new(launch)),
                ..InstrumentOptions::default()
            };
            instrument(session, CUBIN, kernel, &plan, &options)
        });
    }
}

#[test]
fn launches_of_counters() {
    refuses(|session, kernel, launch| {
        let plan = plan_for(session, kernel, None, ProbedBlocks::All, Vec::new())?;
        let counters = ProbeCounters {
            values: vec![0; plan.counters()],
            ..ProbeCounters::default()
        };
        let decoded = decode_counters(session, kernel, &plan, &counters, Some(&launch));
        match decoded {
            // The counters are of no run, which is found after the launch was accepted.
            Err(why) if why.message.contains("contradict") => Ok(()),
            decoded => decoded.map(|_| ()),
        }
    });
}
