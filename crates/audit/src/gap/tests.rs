//! Chains of real kernels do not invert, and chains of wrong observations do.
#![allow(clippy::expect_used, reason = "tests")]

use crate::gap::gap_with;
use warpbound_analyse::access::{AccessClass, AccessCounts, AccessPattern, AccessShape};
use warpbound_isa::instr::MemorySpace;
use warpbound_launch::LaunchFile;
use warpbound_machine::GpuModel;
use warpbound_report::gap::GapReport;

use super::GapOptions;
use super::chain::{Chain, Observed, of_execution};
use warpbound_bounds::CycleOptions;
use warpbound_query::{CacheState, Session};

/// Integer matrix product of 8x8 elements, whose loop has 8 iterations.
fn matmul(caches: CacheState, change: impl FnOnce(&mut Observed)) -> GapReport {
    let read = |path: &str| std::fs::read(format!("../../kernels/{path}")).expect(path);
    let session = Session::open("matmul", &read("built/matmul_int.sm_61.cubin")).expect("a cubin");
    let text = String::from_utf8(read("cuda/matmul_int.8x8.toml")).expect("text");
    let files = |file: &str| Ok(read(&format!("cuda/{file}")));
    let grid = LaunchFile::parse("8x8", &text, &files).expect("a launch");
    let kernel = session
        .launched_kernel(Some("matmul_int"), None)
        .expect("a kernel");
    let machine = GpuModel::built_in("gtx1080").expect("a machine");
    let options = GapOptions {
        seeds: 1,
        contents: 1,
        ..GapOptions::new(CycleOptions {
            counts: Default::default(),
            machine,
            caches,
            splitting: Default::default(),
        })
    };
    let plant = |chain: &mut Chain<'_>| change(chain.observed.as_mut().expect("observations"));
    let report = gap_with(&session, kernel, &grid, &options, |_, _| {}, plant);
    report.expect("a gap")
}

#[test]
fn no_chain_inverts() {
    for caches in [CacheState::Any, CacheState::Warm, CacheState::Cold] {
        let report = matmul(caches, |_| {});
        assert_eq!(report.inversion(), None, "{}", report.text());
        let errors = report.notes.iter().filter(|note| note.starts_with("error"));
        assert_eq!(errors.count(), 0, "{}", report.text());
        let gap: i128 = report.shares.iter().map(|share| share.telescoped).sum();
        assert_eq!(
            gap,
            i128::from(report.bound) - i128::from(report.worst_simulated)
        );
    }
}

#[test]
fn steps_that_are_not_counted_invert_the_chain() {
    let report = matmul(CacheState::Warm, |observed| {
        for count in observed.steps.iter_mut().flatten().map(|(_, count)| count) {
            *count /= 2;
        }
    });
    assert_eq!(report.inversion(), Some("replay"), "{}", report.text());
}

#[test]
fn misses_that_are_not_seen_invert_the_chain() {
    let report = matmul(CacheState::Cold, |observed| {
        for seen in observed.record.accesses.values_mut() {
            *seen = Default::default();
        }
    });
    assert_eq!(report.inversion(), Some("replay"), "{}", report.text());
}

#[test]
fn loop_counts_above_the_bound_invert_the_chain() {
    let report = matmul(CacheState::Warm, |observed| {
        for count in observed
            .seen
            .bounds
            .iter_mut()
            .chain(&mut observed.seen.totals)
        {
            *count = count.map(|count| count + 8);
        }
    });
    assert_eq!(report.inversion(), Some("loops"), "{}", report.text());
}

/// Limits count both accesses of an instruction with two addresses, and the worse conflicts of banks of words and of
/// bytes. Observations that take their place must do so as well, because each access is recorded alone.
#[test]
fn observed_numbers_count_as_limits_do() {
    let seen = AccessCounts {
        requests: 2,
        transactions: 3,
        sectors: 4,
        lines: 5,
        conflicts: 1,
        byte_conflicts: 6,
    };
    let class = |second_half| AccessClass {
        shape: AccessShape {
            second_half,
            ..AccessShape::plain(MemorySpace::Shared, 4)
        },
        pattern: AccessPattern::Listed,
        limits: Vec::new(),
        lanes: 64,
        is_exact: false,
        needs_block: false,
    };
    assert_eq!(of_execution(seen, None).numbers(), [2, 3, 4, 5, 6, 6]);
    let one = of_execution(seen, Some(&class(None)));
    assert_eq!(one.numbers(), [2, 3, 4, 5, 6, 6]);
    let two = of_execution(seen, Some(&class(Some(256))));
    assert_eq!(two.numbers(), [4, 6, 8, 10, 12, 12]);
}
