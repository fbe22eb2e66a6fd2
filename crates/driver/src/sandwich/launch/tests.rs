//! Chains of launches do not invert, and those of wrong observations do.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "tests")]

use warpbound_launch::LaunchFile;
use warpbound_machine::{GpuModel, Parameter};
use warpbound_report::sandwich::SandwichReport;

use super::chain::{LaunchChain, LaunchObservation};
use crate::{CacheState, CycleOptions, SandwichOptions, Session};

/// Machine with as many SMs.
fn machine(sms: u64) -> GpuModel {
    let machine = GpuModel::built_in("gtx1080").expect("a machine");
    machine.with(Parameter::SmCount, sms)
}

/// Sandwich of a kernel and launch, with a changed chain.
fn sandwich(
    (kernel, launch): (&str, &str),
    (sms, caches): (u64, CacheState),
    change: impl FnOnce(&mut LaunchObservation),
) -> SandwichReport {
    let read = |path: &str| std::fs::read(format!("../../kernels/{path}")).expect(path);
    let cubin = read(&format!("built/{kernel}.sm_61.cubin"));
    let session = Session::open(kernel, &cubin).expect("a cubin");
    let text = String::from_utf8(read(launch)).expect("text");
    let folder = launch.rsplit_once('/').expect("a folder").0;
    let files = |file: &str| Ok(read(&format!("{folder}/{file}")));
    let grid = LaunchFile::parse(launch, &text, &files).expect("a launch");
    let kernel = session.launched_kernel(None, grid.kernel.as_deref());
    let kernel = kernel.expect("a kernel");
    let options = SandwichOptions {
        seeds: 1,
        contents: 1,
        most_runs: 8,
        ..SandwichOptions::new(CycleOptions {
            machine: machine(sms),
            caches,
            splitting: Default::default(),
        })
    };
    let plant =
        |chain: &mut LaunchChain<'_>| change(chain.observed.as_mut().expect("observations"));
    let report = session.launch_sandwich_with(kernel, &grid, &options, &mut |_, _| {}, plant);
    report.expect("a sandwich")
}

/// Launch of several blocks of several warps, without barriers.
const MATMUL: (&str, &str) = ("matmul_int", "cuda/matmul_int.8x8.toml");

#[test]
fn no_chain_of_a_launch_inverts() {
    for caches in [CacheState::Any, CacheState::Warm, CacheState::Cold] {
        for sms in [1, 20] {
            let report = sandwich(MATMUL, (sms, caches), |_| {});
            assert_eq!(report.inversion(), None, "{}", report.text());
            let errors = report.notes.iter().filter(|note| note.starts_with("error"));
            assert_eq!(errors.count(), 0, "{}", report.text());
            let names: Vec<&str> = report.chain.iter().map(|element| element.name).collect();
            assert_eq!(names, SandwichReport::LAUNCH_CHAIN, "{}", report.text());
            let gap: i128 = report.shares.iter().map(|share| share.telescoped).sum();
            let whole = i128::from(report.bound) - i128::from(report.worst_simulated);
            assert_eq!(gap, whole);
            let terms: u64 = report.composition.iter().map(|part| part.cycles).sum();
            assert_eq!(terms, report.chain[6].value, "{}", report.text());
        }
    }
}
