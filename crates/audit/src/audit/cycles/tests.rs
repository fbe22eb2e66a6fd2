//! Tests of the comparison: it is complete, and finds bounds that are too small.

use std::path::Path;

use crate::audit::empty_report;
use crate::{claims, derived_for_all};
use warpbound_machine::GpuModel;

use super::*;
use warpbound_bounds::{CycleOptions, bound};
use warpbound_query::{BoundOptions, Session};

const CUBIN: &str = "matmul_int.sm_61.cubin";

/// Reads the code and a launch of 2 warps.
fn product() -> (Session, LaunchFile) {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
    let code = std::fs::read(kernels.join("built").join(CUBIN)).expect("a cubin");
    let session = Session::open(CUBIN, &code).expect("it loads");
    let name = "cuda/matmul_int.8x8.toml";
    let text = std::fs::read_to_string(kernels.join(name)).expect("a text");
    let files = |file: &str| Err(Diagnostic::new(format!("{file} is not needed")));
    let launch = LaunchFile::parse(name, &text, &files).expect("a launch");
    (session, launch)
}

fn lone_warp_runs(caches: CacheState) -> LoneWarpRuns {
    let cycles = CycleOptions {
        counts: Default::default(),
        machine: GpuModel::built_in("gtx1080").expect("a machine"),
        caches,
        splitting: Default::default(),
    };
    LoneWarpRuns::of_audit(&cycles, 1, 1, u64::MAX)
}

/// Compares the launch with bounds that are smaller by `planted` cycles.
fn compared(caches: CacheState, planted: u64) -> LoneWarpAudit {
    let (session, launch) = product();
    let kernel = session.launched_kernel(None, launch.kernel.as_deref());
    let prepared = session.prepare(kernel.expect("a kernel")).expect("code");
    let options = BoundOptions {
        block: Some(launch.block),
        ..BoundOptions::default()
    };
    let claims = claims(&session, &prepared, &options).expect("claims");
    let runs = lone_warp_runs(caches);
    let found = lone_warps(&session, &prepared, &claims, &launch, &runs, planted);
    found.expect("it suits the kernel")
}

#[test]
fn every_warp_selection_order_and_state_is_run() {
    let found = compared(CacheState::Any, 0);
    assert_eq!(found.refused, None);
    assert_eq!(
        (found.warps, found.launched_warps, found.skipped),
        (2, 2, 0)
    );
    // Five selections; the searched slow end, also with refreshes at four different times.
    assert_eq!(found.runs, 2 * (5 + 1 + 4) * 2 * 2);
    assert_eq!(found.exceeded, []);
    let worst = found.worst.expect("a run");
    assert!(0 < worst.cycles && worst.cycles <= found.bound);
    let sum: u64 = found.terms.iter().map(|(_, cycles)| cycles).sum();
    assert!(sum >= found.bound);
}

#[test]
fn one_state_of_the_caches_is_half_of_the_runs() {
    let warm = compared(CacheState::Warm, 0);
    let any = compared(CacheState::Any, 0);
    assert_eq!(2 * warm.runs, any.runs);
    assert!(warm.bound < any.bound);
}

/// Planted: a bound that is smaller by one cycle more than its distance from the longest run.
#[test]
fn a_bound_below_a_run_is_found() {
    let sound = compared(CacheState::Warm, 0);
    let worst = sound.worst.clone().expect("a run");
    let distance = sound.bound - worst.cycles;
    let just_sound = compared(CacheState::Warm, distance);
    assert_eq!(
        (just_sound.exceeded, just_sound.bound),
        (vec![], worst.cycles)
    );
    let planted = compared(CacheState::Warm, distance + 1);
    assert!(!planted.exceeded.is_empty());
    let text = &planted.exceeded[0].text;
    assert!(text.starts_with(&worst.run), "{text}");
}

/// Planted bounds reach the report of the audit: a finding for each warp, and the numbers.
#[test]
fn runs_above_their_bounds_are_violations_of_the_audit() {
    let (session, launch) = product();
    let kernel = session.launched_kernel(None, launch.kernel.as_deref());
    let kernel = kernel.expect("a kernel");
    let prepared = session.prepare(kernel).expect("code");
    let options = BoundOptions {
        block: Some(launch.block),
        ..BoundOptions::default()
    };
    let bound = bound(&session, kernel, &options).expect("a report");
    let claims = claims(&session, &prepared, &options).expect("claims");
    let derived = derived_for_all(&session, &prepared, &claims.flow);
    let mut report = empty_report(&session, kernel, &launch, &bound);
    let mut audit = Audit::new(&prepared, &bound, derived.expect("claims"), &mut report);
    let runs = lone_warp_runs(CacheState::Warm);
    let planted = compared(CacheState::Warm, 1 << 40);
    assert_eq!(planted.exceeded.len() as u64, planted.runs);
    audit.add_cycles(7, &runs.cycles, planted);
    audit.finish();
    assert_eq!(report.violations, 2);
    let claims: Vec<_> = report.findings.iter().map(|f| (f.claim, f.run)).collect();
    assert_eq!(claims, [("cycles", 7), ("cycles", 7)]);
    let cycles = report.cycles.expect("numbers");
    assert_eq!((cycles.runs, cycles.violations), (40, 40));
    assert_eq!((cycles.bound, cycles.ratio), (Some(0), Some(0.0)));
}

#[test]
fn warps_are_spread_over_the_launch() {
    let of = |all, most| spread(all, most).collect::<Vec<u64>>();
    assert_eq!(of(3, 64), [0, 1, 2]);
    assert_eq!(of(101, 3), [0, 50, 100]);
    assert_eq!(of(5, 1), [0]);
    assert_eq!(of(u64::MAX, 2), [0, u64::MAX - 1]);
}
