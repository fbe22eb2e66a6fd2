//! Bounds that a run attains, so that no sound constraint could lower them.

use std::fs;

use warpbound_audit::audit::{HeaderMaximum, PathOrder};
use warpbound_audit::{claims, monitor};
use warpbound_ipet::StatedCounts;
use warpbound_launch::LaunchFile;
use warpbound_query::{BoundOptions, Session};
use warpbound_testkit::kernels::TestLaunch;

/// Number of iterations of the outer loop of `loop_repush_break`.
const OUTER: usize = 6;

/// Returns an input with which thread 32 + t of `loop_repush_break` leaves the inner loop by its break in iteration t:
/// another lane in each iteration. The first 32 numbers are the threads of the second block, in an order in which the
/// threads of the first block, whose values they are, do not iterate more often.
fn leave_one_at_a_time() -> Vec<i32> {
    let mut numbers = vec![
        35, 39, 61, 52, 51, 37, 32, 42, 46, 58, 49, 53, 59, 55, 34, 54, 36, 57, 38, 50, 43, 62, 41,
        44, 47, 48, 40, 33, 45, 60, 63, 56,
    ];
    // Large, so that the comparison does not end the inner loop, with bits that the numbers read do not clear.
    numbers.extend([1 << 21; 4]);
    numbers.extend([1 << 20; 28]);
    numbers
}

fn launch() -> LaunchFile {
    TestLaunch::of("loop_repush_break", [2, 1, 1], [32, 1, 1])
        .input("in", &leave_one_at_a_time())
        .scratch("out", &[0i32; 64])
        .value("n", OUTER as i32)
        .finish()
}

/// Returns the instructions of the worst warp, and the bound for the loop bounds that the run shows.
fn issued_and_bound(file: &str) -> (u64, u128) {
    let path = format!("{}/../../kernels/built/{file}", env!("CARGO_MANIFEST_DIR"));
    let contents = fs::read(path).expect("the cubin is in the repository");
    let session = Session::open(file, &contents).expect("it loads");
    let launch = launch();
    let kernel = session
        .launched_kernel(None, launch.kernel.as_deref())
        .expect("it has it");
    let prepared = session.prepare(kernel).expect("it decodes");
    let options = BoundOptions {
        block: Some(launch.block),
        ..BoundOptions::default()
    };
    let claims = claims(&session, &prepared, &options).expect("it is followed");
    let watched = monitor(
        &session,
        &prepared,
        &claims,
        &launch,
        PathOrder::TakenFirst,
        1_000_000,
    )
    .expect("the launch suits the kernel");
    assert_eq!(watched.fault, None);
    let seen = watched.observations;
    assert!(seen.violations.is_empty(), "{:?}", seen.violations);
    let of_loop = |most: &Option<HeaderMaximum>| most.map(|most| most.count);
    let bounds: Vec<Option<u64>> = seen.max_per_entry.iter().map(of_loop).collect();
    let totals: Vec<Option<u64>> = seen.max_totals.iter().map(of_loop).collect();
    assert_eq!(bounds, [Some(OUTER as u64), Some(32)]);
    assert_eq!(totals, [Some(OUTER as u64), Some(32 * OUTER as u64)]);
    let counts = StatedCounts {
        bounds: &bounds,
        totals: &totals,
        never: &[],
    };
    let bound = claims.flow.bound_with(counts, |_| 0).expect("a bound");
    (seen.worst.expect("a warp").issued, bound.limit().0)
}

/// Fails if a constraint is unsound (the bound is less), or one is missing (it is more).
#[test]
fn lanes_that_leave_a_loop_one_by_one_attain_the_bound() {
    for chip in ["sm_50", "sm_61", "sm_62", "nvrtc11.sm_61"] {
        let (issued, bound) = issued_and_bound(&format!("loop_repush.{chip}.cubin"));
        assert_eq!(u128::from(issued), bound, "{chip}");
    }
}
