//! Each task about a run decodes and lifts its kernel once.

use warpbound_launch::{LaunchFile, LaunchSet};
use warpbound_load::Kernel;
use warpbound_measure::{MeasuredCounts, memory_divergence};
use warpbound_query::Session;
use warpbound_runs::{RunOptions, TimedOptions, execute_prepared, execute_set, simulate_set};

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

/// The set launches two kernels 11 times each, and one of them once more.
#[test]
fn a_launch_set_prepares_each_kernel_once() {
    let text = include_str!("../../../../kernels/sets/gaussian.toml");
    let again = "[[launch]]\nkernel = \"gaussian_multipliers\"\ngrid = [1]\nblock = [32]\n\
                 param = [{ buffer = \"multipliers\" }, { buffer = \"matrix\" }, \
                 { type = \"s32\", value = 12 }, { type = \"s32\", value = 0 }]\n";
    let text = format!("{text}\n{again}");
    let set = LaunchSet::parse("gaussian", &text, &|_| Ok(Vec::new())).expect("a set");
    let open = || {
        let cubin = include_bytes!("../../../../kernels/built/gaussian.sm_61.cubin");
        Session::open("gaussian", cubin).expect("it loads")
    };
    let session = open();
    let run = execute_set(&session, &set, &RunOptions::default(), &mut |_| ());
    let launches = run.expect("it runs").report.launches;
    let executed: Vec<u64> = launches.iter().map(|launch| launch.executions).collect();
    assert_eq!(executed, [11, 11, 1]);
    assert_eq!(session.preparations(), 2);
    let session = open();
    let machine = session.own_gpu_model().expect("a machine");
    let run = simulate_set(&session, &set, &TimedOptions::new(machine), &mut |_| ());
    assert!(run.is_ok());
    assert_eq!(session.preparations(), 2);
}
