//! Warp instructions per second of untimed execution and timed simulation, on kernels of the repository:
//! `cargo bench -p warpbound-runs --bench runs`.
#![allow(clippy::expect_used, reason = "benchmarks")]

use divan::Bencher;
use divan::counter::ItemsCount;
use warpbound_base::Diagnostic;
use warpbound_launch::LaunchFile;
use warpbound_machine::GpuModel;
use warpbound_query::Session;
use warpbound_report::timed::TimedReport;
use warpbound_runs::{FunctionalRun, RunHooks, RunOptions, TimedOptions};

fn main() {
    divan::main();
}

/// Kernel of the repository and a launch of it.
struct Case {
    name: &'static str,
    file: &'static str,
    kernel: &'static str,
    launch: &'static str,
}

const CASES: [Case; 6] = [
    Case {
        name: "matmul f32",
        file: "matmul_tiled",
        kernel: "void product::tiled<float, 16, true>(float const*, float const*, float*, int)",
        launch: "grid = [16, 16]\nblock = [16, 16]\n\
            param = [{name = 'a', type = 'f32', shape = [256, 256], fill = {random = 1}},\
            {name = 'b', type = 'f32', shape = [256, 256], fill = {random = 2}},\
            {name = 'c', type = 'f32', shape = [256, 256]}, {name = 'tiles', type = 's32', value = 16}]",
    },
    Case {
        name: "hotspot",
        file: "hotspot",
        kernel: "hotspot",
        launch: "grid = [40, 40]\nblock = [16, 16]\n\
            param = [{name = 'power', type = 'f32', shape = [480, 480], fill = {random = 1}},\
            {name = 'before', type = 'f32', shape = [480, 480], fill = {random = 2}},\
            {name = 'after', type = 'f32', shape = [480, 480]},\
            {name = 'width', type = 's32', value = 480}, {name = 'height', type = 's32', value = 480},\
            {name = 'steps', type = 's32', value = 2}, {name = 'capacity', type = 'f32', value = 0.1},\
            {name = 'across', type = 'f32', value = 0.2}, {name = 'down', type = 'f32', value = 0.3},\
            {name = 'ambient', type = 'f32', value = 0.01}]",
    },
    Case {
        name: "matmul f64",
        file: "matmul_tiled",
        kernel: "void product::tiled<double, 8, false>(double const*, double const*, double*, int)",
        launch: "grid = [16, 16]\nblock = [8, 8]\n\
            param = [{name = 'a', type = 'f64', shape = [128, 128], fill = {random = 1}},\
            {name = 'b', type = 'f64', shape = [128, 128], fill = {random = 2}},\
            {name = 'c', type = 'f64', shape = [128, 128]}, {name = 'tiles', type = 's32', value = 16}]",
    },
    Case {
        name: "matmul s32",
        file: "matmul_tiled",
        kernel: "void product::tiled<int, 8, false>(int const*, int const*, int*, int)",
        launch: "grid = [16, 16]\nblock = [8, 8]\n\
            param = [{name = 'a', type = 's32', shape = [128, 128], fill = {random = 1}},\
            {name = 'b', type = 's32', shape = [128, 128], fill = {random = 2}},\
            {name = 'c', type = 's32', shape = [128, 128]}, {name = 'tiles', type = 's32', value = 16}]",
    },
    Case {
        name: "bitonic sort",
        file: "bitonic_sort",
        kernel: "void bitonic::block<int>(int*)",
        launch: "grid = [16]\nblock = [512]\n\
            param = [{name = 'keys', type = 's32', shape = [8192], fill = {random = 1}}]",
    },
    Case {
        name: "mandelbrot",
        file: "mandelbrot",
        kernel: "mandelbrot",
        launch: "grid = [16, 32]\nblock = [16, 8]\n\
            param = [{name = 'escape', type = 's32', shape = [256, 256]}, {name = 'width', type = 's32', value = 256},\
            {name = 'left', type = 'f32', value = -2.0}, {name = 'top', type = 'f32', value = -1.0},\
            {name = 'step', type = 'f32', value = 0.01}, {name = 'limit', type = 's32', value = 100}]",
    },
];

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Loaded case, from a build of `kernels`: `built/FILE.sm_61`, `wide/FILE.sm_87`.
fn open(case: &Case, folder: &str, chip: &str) -> (Session, LaunchFile) {
    let root = env!("CARGO_MANIFEST_DIR");
    let path = format!("{root}/../../kernels/{folder}/{}.{chip}.cubin", case.file);
    let bytes = std::fs::read(path).expect("the cubin is in the repository");
    let session = Session::open(case.file, &bytes).expect("it loads");
    let grid = LaunchFile::parse("launch", case.launch, &|name| {
        Err(Diagnostic::new("no launch here names files").in_file(name))
    });
    (session, grid.expect("a launch"))
}

#[divan::bench(args = &CASES)]
fn functional(bencher: Bencher, case: &Case) {
    bench_functional(bencher, case, "built", "sm_61");
}

/// The same kernels for a GPU with convergence barriers.
#[divan::bench(args = &CASES)]
fn functional_with_convergence_barriers(bencher: Bencher, case: &Case) {
    bench_functional(bencher, case, "wide", "sm_87");
}

fn bench_functional(bencher: Bencher, case: &Case, folder: &str, chip: &str) {
    let (session, grid) = open(case, folder, chip);
    let kernel = session
        .launched_kernel(Some(case.kernel), grid.kernel.as_deref())
        .expect("it has the kernel");
    let run = || {
        warpbound_runs::execute(&session, kernel, &grid, &RunOptions::default(), &mut |_| ())
            .and_then(FunctionalRun::as_expected)
            .expect("it runs")
    };
    let count = run().report.issued.warp_instructions;
    bencher.counter(ItemsCount::new(count)).bench_local(run);
}

/// Simulates a case on a machine, and counts the instructions of its report.
fn bench_timed(bencher: Bencher, case: &Case, machine: &str, count: fn(&TimedReport) -> u64) {
    let (session, grid) = open(case, "built", "sm_61");
    let kernel = session
        .launched_kernel(Some(case.kernel), grid.kernel.as_deref())
        .expect("it has the kernel");
    let options = TimedOptions::new(GpuModel::built_in(machine).expect("it comes with the tool"));
    let run = || {
        let hooks = RunHooks {
            events: None,
            timeline: None,
            progress: &mut |_| (),
        };
        warpbound_runs::simulate(&session, kernel, &grid, &options, hooks).expect("it runs")
    };
    let count = count(&run().report);
    bencher.counter(ItemsCount::new(count)).bench_local(run);
}

#[divan::bench(args = &CASES)]
fn timed(bencher: Bencher, case: &Case) {
    bench_timed(bencher, case, "gtx1080", |report| {
        report.issued.warp_instructions
    });
}

/// Simulated cycles per second of a single warp on a GPU: cycles without events cost nothing.
#[divan::bench]
fn lone_warp(bencher: Bencher) {
    let case = Case {
        name: "lone warp",
        file: "matmul_int",
        kernel: "matmul_int",
        launch: "grid = [1]\nblock = [4, 4]\n\
            param = [{name = 'a', type = 's32', shape = [16384], fill = 'iota'},\
            {name = 'b', type = 's32', shape = [65536], fill = 'iota'},\
            {name = 'product', type = 's32', shape = [16384]}, {name = 'n', type = 's32', value = 30}]",
    };
    bench_timed(bencher, &case, "jetson-tx2", |report| report.cycles);
}
