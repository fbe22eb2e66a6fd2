//! Chains of launches do not invert, and chains of wrong observations do.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "tests")]

use crate::gap::launch::launch_gap_with;
use warpbound_launch::LaunchFile;
use warpbound_machine::{GpuModel, Parameter};
use warpbound_report::gap::GapReport;

use super::chain::{LaunchChain, LaunchObservation};
use crate::GapOptions;
use warpbound_bounds::CycleOptions;
use warpbound_query::{CacheState, Session};

/// Machine with other numbers.
fn machine(numbers: &[(Parameter, u64)]) -> GpuModel {
    let machine = GpuModel::built_in("gtx1080").expect("a machine");
    let numbers = numbers.iter();
    numbers.fold(machine, |machine, &(parameter, value)| {
        machine.with(parameter, value)
    })
}

/// Gap breakdown of a kernel and launch, with a changed chain.
fn gap(
    (kernel, launch): (&str, &str),
    (numbers, caches): (&[(Parameter, u64)], CacheState),
    change: impl FnOnce(&mut LaunchObservation),
) -> GapReport {
    let read = |path: &str| std::fs::read(format!("../../kernels/{path}")).expect(path);
    let cubin = read(&format!("built/{kernel}.sm_61.cubin"));
    let session = Session::open(kernel, &cubin).expect("a cubin");
    let text = String::from_utf8(read(launch)).expect("text");
    let folder = launch.rsplit_once('/').expect("a folder").0;
    let files = |file: &str| Ok(read(&format!("{folder}/{file}")));
    let grid = LaunchFile::parse(launch, &text, &files).expect("a launch");
    let kernel = session.launched_kernel(None, grid.kernel.as_deref());
    let kernel = kernel.expect("a kernel");
    let options = GapOptions {
        seeds: 1,
        contents: 1,
        most_runs: 8,
        ..GapOptions::new(CycleOptions {
            counts: Default::default(),
            machine: machine(numbers),
            caches,
            splitting: Default::default(),
        })
    };
    let plant =
        |chain: &mut LaunchChain<'_>| change(chain.observed.as_mut().expect("observations"));
    let report = launch_gap_with(&session, kernel, &grid, &options, &mut |_, _| {}, plant);
    report.expect("a gap")
}

/// Block of two warps whose loop has 8 iterations.
const MATMUL: (&str, &str) = ("matmul_int", "cuda/matmul_int.8x8.toml");

/// Six blocks of eight warps, whose accesses have a sector for each lane.
const TRANSPOSE: (&str, &str) = ("transpose", "launches/transpose.transpose_naive.1.toml");

/// The same with barriers.
const ALIGNED: (&str, &str) = ("transpose", "launches/transpose.transpose.1.toml");

#[test]
fn no_chain_of_a_launch_inverts() {
    for caches in [CacheState::Any, CacheState::Warm, CacheState::Cold] {
        for (launch, sms) in [(MATMUL, 20), (TRANSPOSE, 1), (ALIGNED, 1), (ALIGNED, 20)] {
            let report = gap(launch, (&[(Parameter::SmCount, sms)], caches), |_| {});
            assert_eq!(report.inversion(), None, "{}", report.text());
            let errors = report.notes.iter().filter(|note| note.starts_with("error"));
            assert_eq!(errors.count(), 0, "{}", report.text());
            let names: Vec<&str> = report.chain.iter().map(|element| element.name).collect();
            assert_eq!(names, GapReport::LAUNCH_CHAIN, "{}", report.text());
            let gap: i128 = report.shares.iter().map(|share| share.telescoped).sum();
            let whole = i128::from(report.bound) - i128::from(report.worst_simulated);
            assert_eq!(gap, whole);
            let terms: u64 = report.composition.iter().map(|part| part.cycles).sum();
            assert_eq!(terms, report.chain[6].value, "{}", report.text());
        }
    }
}

/// Name of the element at which a chain inverts, with the report for a failing test.
fn inversion(report: &GapReport) -> (Option<&'static str>, String) {
    (report.inversion(), report.text())
}

#[test]
fn more_steps_than_loops_allow_invert_the_chain() {
    let report = gap(MATMUL, (&[], CacheState::Warm), |observed| {
        let paths = observed.paths.as_mut().expect("paths");
        for (_, count) in paths.segments.iter_mut().flatten() {
            *count *= 2;
        }
    });
    let (at, text) = inversion(&report);
    assert_eq!(at, Some("paths"), "{text}");
}

#[test]
fn fewer_loop_counts_than_steps_invert_the_chain() {
    let report = gap(MATMUL, (&[], CacheState::Warm), |observed| {
        let seen = observed.seen.as_mut().expect("loop counts");
        for count in seen.bounds.iter_mut().chain(&mut seen.totals) {
            *count = count.map(|count| count.div_ceil(2));
        }
    });
    let (at, text) = inversion(&report);
    assert_eq!(at, Some("paths"), "{text}");
}

/// Data that another warp has requested is on its way: a warp that finds it in the cache waits for it.
#[test]
fn misses_that_are_not_seen_invert_the_chain() {
    let slow = [(Parameter::DramBeyond, 5000)];
    let report = gap(MATMUL, (&slow, CacheState::Cold), |observed| {
        let recorded = observed.record.warps.values_mut();
        let accesses = recorded.flat_map(|warp| &mut warp.accesses);
        let limits = accesses.map(|access| &mut access.limits);
        for limits in limits.chain(observed.accesses.values_mut()) {
            for space in &mut limits.spaces {
                space.may_miss = false;
            }
        }
    });
    let (at, text) = inversion(&report);
    assert_eq!(at, Some("worst simulated"), "{text}");
}

/// The port of an SM is what the launch waits for: without the sectors of others the sum is too small.
#[test]
fn services_that_are_left_out_invert_the_chain() {
    let slow = [
        (Parameter::SmCount, 1),
        (Parameter::LaunchBlock, 1),
        (Parameter::SmBandwidth, 4000),
    ];
    let report = gap(TRANSPOSE, (&slow, CacheState::Warm), |observed| {
        let recorded = observed.record.warps.values_mut();
        for access in recorded.flat_map(|warp| &mut warp.accesses) {
            for space in &mut access.limits.spaces {
                (space.requests, space.lines, space.sectors) = (1, 1, 1);
            }
        }
    });
    let (at, text) = inversion(&report);
    assert_eq!(at, Some("worst simulated"), "{text}");
}
