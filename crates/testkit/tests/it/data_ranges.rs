//! Stated ranges of the numbers in buffers: loops and loads of kernels of `kernels/plain`, in runs with any contents of the
//! ranges.

use warpbound_audit::audit::{Claim, PathOrder, variation};
use warpbound_audit::{claims, derived_for_launch, monitor, ranged_loads};
use warpbound_launch::LaunchFile;
use warpbound_launch::{DataRange, ParamValue};
use warpbound_query::{BoundOptions, Session};

use super::stored_kernels::{folder, stored};

/// Session and launch of `kernels/plain`, with the ranges changed.
fn plain(name: &str, change: impl Fn(&str, &mut Option<DataRange>)) -> (Session, LaunchFile) {
    let image = folder("plain").join(format!("{name}.sm_61.cubin"));
    let (session, mut launch) = stored(&image, name);
    for param in &mut launch.params {
        if let ParamValue::Buffer(buffer) = &mut param.value {
            change(&param.name, &mut buffer.range);
        }
    }
    (session, launch)
}

/// Claims that runs with contents of the ranges contradict.
#[derive(Default, Debug, PartialEq, Eq)]
struct Contradicted {
    loads: usize,
    loops: usize,
    /// Greatest derived bound of a loop, and the greatest number of executions of a header.
    most: (u64, u64),
}

/// Derives with the ranges of `claimed`, and runs `given` with other contents of its own ranges.
fn contradicted(session: &Session, claimed: &LaunchFile, given: &LaunchFile) -> Contradicted {
    let kernel = session
        .launched_kernel(None, given.kernel.as_deref())
        .expect("it has it");
    let prepared = session.prepare(kernel).expect("it decodes");
    let options = BoundOptions {
        block: Some(given.block),
        ..BoundOptions::default()
    };
    let mut claims = claims(session, &prepared, &options).expect("it is followed");
    let loaded = ranged_loads(session, &prepared, &claims.flow, claimed);
    claims.loaded = loaded.expect("the launch suits the kernel");
    let derived = derived_for_launch(session, &prepared, &claims.flow, claimed);
    let derived = derived.expect("the launch suits the kernel");
    let mut found = Contradicted::default();
    for number in 0..derived.verdicts().len() {
        let bound = derived
            .bound(number)
            .map_or(u64::MAX, |bound| bound.per_entry);
        found.most.0 = found.most.0.max(bound);
    }
    for seed in 0..24 {
        let run = match seed {
            0 => given.clone(),
            _ => variation(given, seed).launch,
        };
        let seen = monitor(
            session,
            &prepared,
            &claims,
            &run,
            PathOrder::TakenFirst,
            1_000_000,
        )
        .expect("the launch suits the kernel");
        let of_data = |claim: Claim| usize::from(claim == Claim::Data);
        let violations = seen.observations.violations.keys();
        found.loads += violations.map(|own| of_data(own.claim)).sum::<usize>();
        let broken = derived.violated(&seen.observations, &derived, seen.fault.is_none());
        found.loops += broken.len();
        let counts = seen.observations.max_per_entry.iter().flatten();
        found.most.1 = counts.map(|most| most.count).fold(found.most.1, u64::max);
    }
    found
}

#[test]
fn loops_that_words_of_a_range_end_are_bounded() {
    for (name, most) in [("packets", 15), ("sparse_rows", 22)] {
        let (session, launch) = plain(name, |_, _| {});
        let found = contradicted(&session, &launch, &launch);
        assert_eq!((found.loads, found.loops), (0, 0), "{name}");
        assert!(found.most.0 <= most, "{name}: {found:?}");
        // The contents of the ranges reach the bound, or nearly do.
        assert!(2 * found.most.1 > found.most.0, "{name}: {found:?}");
    }
}

/// Fails if the ranges are not compared with what a run loads, or if runs do not reach the bounds that they give.
#[test]
fn planted_ranges_that_contents_leave_are_found() {
    for (name, buffer) in [("packets", "length"), ("sparse_rows", "row_start")] {
        let (session, launch) = plain(name, |_, _| {});
        let (_, claimed) = plain(name, |own, range| {
            if let Some(range) = range.as_mut().filter(|_| own == buffer) {
                range.most /= 3;
            }
        });
        let found = contradicted(&session, &claimed, &launch);
        assert!(found.loads > 0, "{name}: {found:?}");
        // The rounds of a row are so few that a third of the range allows as many.
        assert!(
            found.loops > 0 || name == "sparse_rows",
            "{name}: {found:?}"
        );
    }
}

/// Fails if the range of one buffer is taken for that of a load from one of two.
#[test]
fn a_load_from_one_of_two_buffers_has_no_range() {
    let (session, launch) = plain("either", |_, _| {});
    let kernel = session
        .launched_kernel(None, launch.kernel.as_deref())
        .expect("it has it");
    let prepared = session.prepare(kernel).expect("it decodes");
    let claims = claims(&session, &prepared, &BoundOptions::default()).expect("it is followed");
    let loaded = ranged_loads(&session, &prepared, &claims.flow, &launch)
        .expect("the launch suits the kernel");
    let buffers: Vec<&str> = loaded.values().map(|load| load.buffer.as_str()).collect();
    assert_eq!(buffers, ["flags"]);
    let found = contradicted(&session, &launch, &launch);
    assert_eq!((found.loads, found.loops), (0, 0));
    assert!(found.most.0 > 9, "{found:?}");
}
