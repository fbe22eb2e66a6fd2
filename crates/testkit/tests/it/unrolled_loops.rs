//! Loops as compilers unroll them: bounds by the ways on which the parts are reached, and kernels of `kernels/plain`.

use warpbound_analyse::access::AccessPattern;
use warpbound_analyse::launch_ranges::WordRange;
use warpbound_analyse::loop_bounds::LoopVerdict;
use warpbound_audit::audit::{Claims, PathOrder};
use warpbound_audit::{claims, monitor};
use warpbound_bounds::access_classes;
use warpbound_launch::LaunchFile;
use warpbound_query::{BoundOptions, Session};

use super::counted_loops::{bound_of, code_of, compare, ranges_of};
use super::stored_kernels::{folder, stored};

/// A loop of `n` rounds as NVRTC unrolls it: rounds of 16, a step of 8, rounds of 4 (entered where the others were
/// skipped, or left something), and what is left one by one.
const UNROLLED: [&str; 31] = [
    "R0 = c[0][0x140]",
    "P0 = lt_s(R0, 1)",
    "if P0 jump 0x00f0",
    "R1 = and(R0, 3)",
    "P0 = lt_u(sub(R0, 1), 3)",
    "if P0 jump 0x00c8",
    "R2 = sub(R0, R1)",
    "P0 = le_s(R2, 0)",
    "if P0 jump 0x00b0",
    "P1 = 1",
    "P0 = le_s(R2, 12)",
    "if P0 jump 0x0080",
    "P1 = 0",
    "R2 = sub(R2, 16)",
    "P0 = lt_s(12, R2)",
    "if P0 jump 0x0068",
    "P0 = le_s(R2, 4)",
    "if P0 jump 0x00a0",
    "R2 = sub(R2, 8)",
    "P1 = 0",
    "P1 = or(ne(R2, 0), P1)",
    "if !P1 jump 0x00c8",
    "R2 = sub(R2, 4)",
    "P0 = ne(R2, 0)",
    "if P0 jump 0x00b0",
    "P0 = eq(R1, 0)",
    "if P0 jump 0x00f0",
    "R1 = sub(R1, 1)",
    "P0 = ne(R1, 0)",
    "if P0 jump 0x00d8",
    "exit",
];
/// The line that skips the rounds of 16, and the one with which they go on.
const SKIPS_MAIN: usize = 11;
const MAIN_GOES_ON: usize = 14;
/// The line that enters the rounds of 4.
const ENTERS_FOUR: usize = 20;

fn bounds_of(lines: &[&str], n: (i64, i64), runs: &[u32]) -> Vec<Option<u64>> {
    let ranges = ranges_of(&[Some(WordRange::between(n.0, n.1))]);
    let code = code_of(lines);
    let mut bounds = Vec::new();
    for &n in runs {
        let (verdicts, _, found) = compare(&code, &code, &[n], &ranges, |_| {});
        assert!(found.is_empty(), "{n}: {found:?}");
        bounds = verdicts.iter().map(bound_of).collect();
    }
    bounds
}

/// Fails if what the rounds of 16 leave is lost: the rounds of 4 would have no bound.
#[test]
fn rounds_of_four_begin_with_what_rounds_of_sixteen_leave() {
    let runs: Vec<u32> = (1..=70).chain([999, 1000]).collect();
    let bounds = bounds_of(&UNROLLED, (1, 1000), &runs);
    assert_eq!(bounds, [Some(62), Some(1), Some(3)]);
    // Nothing is stated of n but its width.
    let code = code_of(&UNROLLED);
    let (verdicts, _, found) = compare(&code, &code, &[77], &ranges_of(&[]), |_| {});
    assert!(found.is_empty(), "{found:?}");
    let bounds: Vec<Option<u64>> = verdicts.iter().map(bound_of).collect();
    assert_eq!(bounds[1..], [Some(1), Some(3)]);
}

/// Fails if a condition at the end of an iteration is taken for a condition on entry: without the guard, the rounds
/// of 16 may leave a number far below 0, and the rounds of 4 wrap around.
#[test]
fn what_holds_at_the_end_of_an_iteration_need_not_hold_on_entry() {
    let mut unguarded = UNROLLED;
    unguarded[SKIPS_MAIN] = "nop";
    let bounds = bounds_of(&unguarded, (17, 1000), &[17, 20, 33, 1000]);
    assert_eq!(bounds[1], Some(1));
    let looped = code_of(&unguarded);
    let ranges = ranges_of(&[Some(WordRange::between(1, 1000))]);
    let (verdicts, ..) = compare(&looped, &looped, &[64], &ranges, |_| {});
    assert!(
        verdicts[1..2]
            .iter()
            .all(|of| bound_of(of).is_none_or(|n| n > 1 << 20)),
        "{verdicts:?}"
    );
}

/// Fails if limits are not rounded to the known remainder, or if a wrong remainder is taken for known: rounds of 4 from a number
/// that is no multiple of 4 miss 0.
#[test]
fn rounds_that_miss_their_end_have_no_small_bound() {
    let mut odd = UNROLLED;
    odd[6] = "R2 = add(R0, 1)";
    let code = code_of(&odd);
    let ranges = ranges_of(&[Some(WordRange::between(1, 1000))]);
    let (verdicts, _, found) = compare(&code, &code, &[39], &ranges, |_| {});
    assert!(found.is_empty(), "{found:?}");
    let small = |of: &LoopVerdict| bound_of(of).is_some_and(|bound| bound < 1 << 20);
    assert!(!small(&verdicts[1]), "{verdicts:?}");
}

/// Fails if a way on which the rounds of 4 are reached is left out, or if all of them count as one.
#[test]
fn each_way_to_a_loop_counts() {
    // After 16 rounds of any number, 20 may be left.
    let mut later = UNROLLED;
    later[MAIN_GOES_ON] = "P0 = lt_s(28, R2)";
    later[SKIPS_MAIN - 1] = "P0 = le_s(R2, 28)";
    let runs: Vec<u32> = (1..=90).collect();
    let bounds = bounds_of(&later, (1, 90), &runs);
    assert_eq!(bounds[1], Some(5));
    let mut entered = UNROLLED;
    entered[ENTERS_FOUR] = "P1 = ne(R2, 0)";
    let runs: Vec<u32> = (1..=70).collect();
    assert_eq!(bounds_of(&entered, (1, 70), &runs)[1], Some(1));
}

/// A loop of `n` rounds as NVRTC unrolls it for Blackwell: rounds of 16, a step of 8, a step of 4, and the rest one by one, which
/// is entered without a test: what was tested before implies that something is left.
const IMPLIED: [&str; 27] = [
    "R0 = c[0][0x140]",
    "P0 = lt_s(R0, 1)",
    "if P0 jump 0x00d0",
    "R1 = and(R0, 15)",
    "P0 = lt_u(R0, 16)",
    "if P0 jump 0x0060",
    "R2 = sub(0, and(R0, 0xfffffff0))",
    "R2 = add(R2, 16)",
    "P0 = ne(R2, 0)",
    "if P0 jump 0x0038",
    "P0 = eq(R1, 0)",
    "if P0 jump 0x00d0",
    "R3 = and(R0, 7)",
    "P0 = lt_u(R1, 8)",
    "if P0 jump 0x0088",
    "P0 = eq(R3, 0)",
    "if P0 jump 0x00d0",
    "R4 = and(R0, 3)",
    "P0 = lt_u(R3, 4)",
    "if P0 jump 0x00b0",
    "P0 = eq(R4, 0)",
    "if P0 jump 0x00d0",
    "R5 = sub(0, R4)",
    "R5 = add(R5, 1)",
    "P0 = ne(R5, 0)",
    "if P0 jump 0x00b8",
    "exit",
];

#[test]
fn remainders_whose_test_is_implied_are_counted() {
    let runs: Vec<u32> = (1..=70).chain([999, 1000]).collect();
    assert_eq!(bounds_of(&IMPLIED, (1, 1000), &runs), [Some(62), Some(3)]);
}

/// Fails if a test is taken for another one, or if one is not needed: without it, or with another number, some number of rounds
/// leaves nothing, and the last loop counts from 0 once around.
#[test]
fn each_test_that_implies_a_remainder_is_needed() {
    let changes = [
        (4, "P0 = lt_u(R0, 17)"),
        (11, "nop"),
        (13, "P0 = lt_u(R1, 9)"),
        (16, "nop"),
        (18, "P0 = lt_u(R3, 5)"),
        (21, "nop"),
    ];
    for (line, text) in changes {
        let mut changed = IMPLIED;
        changed[line] = text;
        let code = code_of(&changed);
        let ranges = ranges_of(&[Some(WordRange::between(1, 1000))]);
        let (verdicts, _, found) = compare(&code, &code, &[39], &ranges, |_| {});
        assert!(found.is_empty(), "{found:?}");
        let last = verdicts.last().and_then(bound_of);
        assert!(last.is_none_or(|bound| bound > 1 << 20), "{text}: {last:?}");
    }
}

/// Session and launch of `kernels/plain`.
fn plain(cubin: &str, launch: &str) -> (Session, LaunchFile) {
    stored(
        &folder("plain").join(format!("{cubin}.sm_61.cubin")),
        launch,
    )
}

/// Runs a launch of `kernels/plain` and compares each access with its class, after a change of the claims; returns the
/// patterns of the accesses and the number of contradictions.
fn accesses(
    cubin: &str,
    launch: &str,
    plant: impl Fn(&mut Claims<'_>),
) -> (Vec<AccessPattern>, usize) {
    let (session, launch) = plain(cubin, launch);
    let kernel = session
        .launched_kernel(None, launch.kernel.as_deref())
        .expect("it has it");
    let prepared = session.prepare(kernel).expect("it decodes");
    let options = BoundOptions {
        block: Some(launch.block),
        ..BoundOptions::default()
    };
    let mut claims = claims(&session, &prepared, &options).expect("it is followed");
    let classes = access_classes(&session, &prepared, &claims.flow, &launch);
    claims.accesses = classes.expect("the launch suits the kernel");
    let patterns = claims.accesses.values().map(|class| class.pattern);
    let patterns = patterns.collect();
    plant(&mut claims);
    let seen = monitor(
        &session,
        &prepared,
        &claims,
        &launch,
        PathOrder::TakenFirst,
        1_000_000,
    )
    .expect("the launch suits the kernel");
    assert_eq!(seen.fault, None);
    (patterns, seen.observations.violations.len())
}

/// Fails if the counter of a loop that begins at the thread index may differ in lanes that are in step, or if the lanes that
/// skip the body of a round are taken for lanes out of step.
#[test]
fn counters_from_a_thread_index_on_are_in_step() {
    let (patterns, contradictions) = accesses("grid_stride", "grid_stride", |_| {});
    assert_eq!(patterns, [AccessPattern::Coalesced; 3]);
    assert_eq!(contradictions, 0);
    let (patterns, contradictions) = accesses("grid_stride", "grid_stride_some", |_| {});
    assert_eq!(patterns[0], AccessPattern::Coalesced);
    assert_eq!(contradictions, 0);
}

/// Fails if the number of the iteration counts as equal in all lanes after the loop, too. The planted class is the one that
/// it would have.
#[test]
fn lanes_have_left_a_loop_in_different_iterations() {
    let (patterns, contradictions) = accesses("grid_stride", "first_past", |_| {});
    assert!(
        !patterns.contains(&AccessPattern::Coalesced),
        "{patterns:?}"
    );
    assert_eq!(contradictions, 0);
    let as_in_step = |claims: &mut Claims<'_>| {
        for class in claims.accesses.values_mut() {
            for (_, counts) in &mut class.limits {
                (counts.transactions, counts.sectors, counts.lines) = (4, 4, 1);
            }
        }
    };
    let (_, contradictions) = accesses("grid_stride", "first_past", as_in_step);
    assert!(contradictions > 0);
}

/// Fails if addresses that the launch fixes one by one are not followed, or if a number of them is too small: the planted
/// class has one sector less.
#[test]
fn addresses_that_follow_from_a_launch_are_listed() {
    let (patterns, contradictions) = accesses("halo", "halo", |_| {});
    assert!(patterns.contains(&AccessPattern::Listed), "{patterns:?}");
    assert_eq!(contradictions, 0);
    let one_less = |claims: &mut Claims<'_>| {
        let classes = claims.accesses.values_mut();
        for class in classes.filter(|class| class.pattern == AccessPattern::Listed) {
            for (_, counts) in &mut class.limits {
                counts.sectors -= 1;
            }
        }
    };
    let (_, contradictions) = accesses("halo", "halo", one_less);
    assert!(contradictions > 0);
}

/// Fails if blocks in which a guard fails in all lanes are taken for equal to the one in which it holds: the numbers would be
/// those of an access by one lane.
#[test]
fn an_access_that_a_guard_leaves_out_of_a_block_counts_in_others() {
    let (patterns, contradictions) = accesses("last_block", "last_block", |_| {});
    assert!(patterns.contains(&AccessPattern::Listed), "{patterns:?}");
    assert_eq!(contradictions, 0);
}
