//! Each task about a run decodes and lifts its kernel once.

use warpbound_launch::LaunchFile;
use warpbound_load::Kernel;
use warpbound_measure::{MeasuredCounts, memory_divergence};
use warpbound_query::Session;
use warpbound_runs::{RunOptions, execute_prepared};

const CUBIN: &[u8] = include_bytes!("../../../../kernels/built/matmul_int.sm_61.cubin");
const LAUNCH: &str = include_str!("../../../../kernels/cuda/matmul_int.8x8.toml");

/// Runs a task on a fresh image, and returns how many times it prepared the kernel.
fn preparations<T>(task: impl Fn(&Session, &Kernel, &LaunchFile) -> T) -> (usize, T) {
    let session = Session::open("matmul_int", CUBIN).expect("it loads");
    let files = |_: &str| Ok(Vec::new());
    let launch = LaunchFile::parse("8x8", LAUNCH, &files).expect("a launch");
    let kernel = session.launched_kernel(Some("matmul_int"), None);
    let done = task(&session, kernel.expect("a kernel"), &launch);
    (session.preparations(), done)
}

#[test]
fn a_task_about_a_run_prepares_its_kernel_once() {
    let options = RunOptions::default();
    let (counted, text) = preparations(|session, kernel, launch| {
        let prepared = session.prepare(kernel).expect("it lifts");
        let run = execute_prepared(session, &prepared, launch, &options, &mut |_| ());
        MeasuredCounts::of_run(&prepared, &run.expect("it runs").counts)
    });
    let (measured, _) = preparations(|session, kernel, launch| {
        let prepared = session.prepare(kernel).expect("it lifts");
        let run = execute_prepared(session, &prepared, launch, &options, &mut |_| ());
        let metrics = run.expect("it runs").metrics(&prepared, launch);
        let memory = memory_divergence(session, &prepared, launch, &options);
        (metrics.expect("metrics"), memory.expect("it runs"))
    });
    assert!(MeasuredCounts::parse("counts", &text).is_ok());
    assert_eq!([counted, measured], [1; 2]);
}
