//! Functional runs of the repository's kernels, compared with the claims about them, and planted faults that must be
//! found.

use std::fs;

use warpbound_analyse::access::AccessCounts;
use warpbound_analyse::loop_bounds::DerivedBound;
use warpbound_audit::audit::{
    AuditObservations, BrokenStatement, Claim, Claims, DerivedPart, HeaderMaximum, PathOrder,
    StatedFacts,
};
use warpbound_audit::{claims, derived_for_all, derived_for_launch, monitor};
use warpbound_bounds::access_classes;
use warpbound_ipet::{Never, StatedCounts};
use warpbound_ir::{Cell, Op, OpIndex, ValueDependence};
use warpbound_launch::LaunchFile;
use warpbound_load::Kernel;
use warpbound_query::{BoundOptions, Session};
use warpbound_simt::Tag;
use warpbound_simt::warp::Via;
use warpbound_testkit::kernels::{self, TestLaunch};

const MOST_INSTRUCTIONS: u64 = 10_000_000;

fn session(file: &str) -> Session {
    let path = format!("{}/../../kernels/built/{file}", env!("CARGO_MANIFEST_DIR"));
    let contents = fs::read(path).expect("the cubin is in the repository");
    Session::open(file, &contents).expect("it loads")
}

/// Runs a launch to its end, with the claims changed by `plant`.
fn watch(
    file: &str,
    launch: &LaunchFile,
    plant: impl Fn(&mut Claims<'_>),
) -> (AuditObservations, StatedFacts) {
    let session = session(file);
    let kernel: &Kernel = session
        .launched_kernel(None, launch.kernel.as_deref())
        .expect("it has it");
    let prepared = session.prepare(kernel).expect("it decodes");
    let options = BoundOptions {
        block: Some(launch.block),
        ..BoundOptions::default()
    };
    let mut claims = claims(&session, &prepared, &options).expect("it is followed");
    let accesses = access_classes(&session, &prepared, &claims.flow, launch);
    claims.accesses = accesses.expect("the launch suits the kernel");
    plant(&mut claims);
    let watched = monitor(
        &session,
        &prepared,
        &claims,
        launch,
        PathOrder::TakenFirst,
        MOST_INSTRUCTIONS,
    );
    let watched = watched.expect("the launch suits the kernel");
    assert_eq!(watched.fault, None, "{file}");
    let seen = watched.observations;
    let of_loop = |most: &Option<_>| Some(most.map_or(0, |most: HeaderMaximum| most.count));
    let loops: Vec<Option<u64>> = seen.max_per_entry.iter().map(of_loop).collect();
    let totals: Vec<Option<u64>> = seen.max_totals.iter().map(of_loop).collect();
    let counts = StatedCounts {
        bounds: &loops,
        totals: &totals,
        never: &[],
    };
    let bound = claims.flow.bound_with(counts, |_| 0);
    let bound = bound.map(|bound| bound.limit().0);
    (
        seen,
        StatedFacts {
            loops,
            totals,
            bound,
        },
    )
}

fn nothing(_: &mut Claims<'_>) {}

/// Launch of nested loops with different iteration counts by thread; 40 threads, so the last warp has eight.
fn nested() -> (&'static str, LaunchFile) {
    let numbers: Vec<i32> = (0..100).collect();
    let launch = TestLaunch::of("nested_divergent", [2, 1, 1], [40, 1, 1])
        .input("in", &numbers)
        .scratch("out", &[0i32; 100])
        .value("n", 9i32);
    ("nested_loops.sm_61.cubin", launch.finish())
}

/// Launch with divergent branches and barriers.
fn sorting() -> (&'static str, LaunchFile) {
    let numbers: Vec<i32> = (0..512).map(|n| n * 7919 % 512).collect();
    let kernel = "void bitonic::block<int>(int*)";
    let launch = TestLaunch::of(kernel, [2, 1, 1], [256, 1, 1]).scratch("numbers", &numbers);
    ("bitonic_sort.sm_62.cubin", launch.finish())
}

fn matrices() -> (&'static str, LaunchFile) {
    let numbers: Vec<i32> = (0..121).collect();
    let launch = TestLaunch::of("matmul_int", [1; 3], [11, 11, 1])
        .input("a", &numbers)
        .input("b", &numbers)
        .scratch("product", &[0i32; 121])
        .value("n", 11i32);
    ("matmul_int.sm_61.cubin", launch.finish())
}

/// Launch with an early EXIT, and lanes with different data.
fn early() -> (&'static str, LaunchFile) {
    let numbers: Vec<i32> = (0..200).map(|n| n % 5 - 1).collect();
    let launch = TestLaunch::of("early_exit", [2, 1, 1], [45, 1, 1])
        .input("in", &numbers)
        .scratch("out", &[0i32; 200])
        .value("n", 70i32);
    ("early_exit.sm_61.cubin", launch.finish())
}

/// Launch with a range reduction by a call for some angles, built by the compiler that writes addresses of variables
/// into instructions.
fn trigonometry() -> (&'static str, LaunchFile) {
    let all = kernels::all();
    let reference = all
        .iter()
        .find(|reference| reference.kernel == "f64_trigonometry")
        .expect("it has a reference");
    (
        "f64_trigonometry.nvrtc11.sm_61.cubin",
        (reference.launch)(1),
    )
}

#[test]
fn nothing_is_found_without_a_planted_fault() {
    let older = |(_, launch), file| (file, launch);
    let cases = [
        nested(),
        sorting(),
        matrices(),
        early(),
        trigonometry(),
        older(nested(), "nested_loops.nvrtc11.sm_61.cubin"),
        older(early(), "early_exit.nvrtc11.sm_61.cubin"),
    ];
    for (file, launch) in cases {
        let (seen, stated) = watch(file, &launch, nothing);
        assert!(seen.violations.is_empty(), "{file}: {:?}", seen.violations);
        let warps = launch.block.iter().product::<u32>().div_ceil(32);
        let blocks: u32 = launch.grid.iter().product();
        assert_eq!(seen.ended_warps, u64::from(warps * blocks), "{file}");
        assert_eq!(stated.violated(&seen), [], "{file}");
        let (bound, worst) = (stated.bound.expect("a bound"), seen.worst.expect("a warp"));
        assert!(bound >= worst.issued.into(), "{file}");
    }
}

/// Returns the claims that a warp contradicts with a planted fault.
fn found(case: (&str, LaunchFile), plant: impl Fn(&mut Claims<'_>)) -> Vec<Claim> {
    let (seen, _) = watch(case.0, &case.1, plant);
    let mut claims: Vec<Claim> = seen.violations.keys().map(|v| v.claim).collect();
    claims.dedup();
    claims
}

fn drop_resumed(claims: &mut Claims<'_>, tag: Tag) {
    let entries = &claims.flow.thread.space.entries;
    let mut dropped = 0;
    for steps in &mut claims.flow.warp.graph.steps {
        let before = steps.len();
        steps.retain(|step| !matches!(step.via, Via::Resume(id) if entries.get(id).tag == tag));
        dropped += before - steps.len();
    }
    assert!(dropped > 0);
}

#[test]
fn dropped_edge_to_pending_lanes() {
    assert_eq!(
        found(nested(), |c| drop_resumed(c, Tag::Nil)),
        [Claim::Edge]
    );
}

#[test]
fn dropped_edge_to_a_reconvergence_point() {
    assert_eq!(
        found(nested(), |c| drop_resumed(c, Tag::Sync)),
        [Claim::Edge]
    );
}

#[test]
fn dropped_step_back_to_a_loop() {
    let claims = found(matrices(), |claims| {
        let header = claims.flow.loops.loops.first().expect("a loop").headers[0];
        let body = claims.flow.loops.loops[0].body.clone();
        for node in body {
            claims.flow.warp.graph.steps[node.index()].retain(|step| step.to != Some(header));
        }
    });
    assert_eq!(claims, [Claim::Edge]);
}

#[test]
fn pushes_that_are_on_no_edge() {
    let claims = found(nested(), |claims| {
        for step in claims.flow.warp.graph.steps.iter_mut().flatten() {
            step.pushes.clear();
        }
    });
    assert_eq!(claims, [Claim::Edge]);
}

/// Returns the first operation of a kernel that satisfies a predicate, and the first cell that it writes.
fn first(claims: &Claims<'_>, fits: impl Fn(&Op) -> bool) -> (OpIndex, Cell) {
    let ops = claims.code.ops.iter().enumerate();
    let found = ops
        .into_iter()
        .find(|(_, op)| fits(op))
        .expect("there is one");
    (OpIndex(found.0 as u32), found.1.writes[0])
}

#[test]
fn agreement_that_does_not_hold() {
    // Special register 33 is the thread index in x.
    let claims = found(matrices(), |claims| {
        let (at, cell) = first(claims, |op| {
            op.value
                == ValueDependence::Special(warpbound_isa::SpecialReg::ThreadIndex(
                    warpbound_isa::Axis::X,
                ))
        });
        claims.claim_agreement(at.next(), cell);
    });
    assert_eq!(claims, [Claim::Agreement]);
}

#[test]
fn thread_indices_claimed_to_agree() {
    let session = session("matmul_int.sm_61.cubin");
    let launch = matrices().1;
    let kernel = session
        .launched_kernel(None, launch.kernel.as_deref())
        .expect("it has it");
    let prepared = session.prepare(kernel).expect("it decodes");
    // The claims of a block with rows of 32 threads.
    let other = BoundOptions {
        block: Some([32, 8, 1]),
        ..BoundOptions::default()
    };
    let claims = claims(&session, &prepared, &other).expect("it is followed");
    let watched = monitor(
        &session,
        &prepared,
        &claims,
        &launch,
        PathOrder::TakenFirst,
        MOST_INSTRUCTIONS,
    );
    let seen = watched.expect("the launch suits the kernel").observations;
    let agreements = seen
        .violations
        .keys()
        .filter(|v| v.claim == Claim::Agreement);
    assert!(agreements.count() > 0, "{:?}", seen.violations);
}

/// Each number of each executed access is compared, and some access has it.
#[test]
fn access_with_a_number_less() {
    let numbers = [
        |counts: &mut AccessCounts| counts.requests = counts.requests.saturating_sub(1),
        |counts: &mut AccessCounts| counts.transactions = counts.transactions.saturating_sub(1),
        |counts: &mut AccessCounts| counts.sectors = counts.sectors.saturating_sub(1),
        |counts: &mut AccessCounts| counts.lines = counts.lines.saturating_sub(1),
    ];
    for reduce in numbers {
        let claims = found(matrices(), |claims| {
            for (_, counts) in claims
                .accesses
                .values_mut()
                .flat_map(|class| &mut class.limits)
            {
                reduce(counts);
            }
        });
        assert_eq!(claims, [Claim::Access]);
    }
}

/// Memory that is taken for the runtime's: each vector access to it is found, no scalar load from it.
#[test]
fn vector_accesses_to_memory_of_the_runtime() {
    const FIRST_BUFFER: u64 = 0x7_0000_0000;
    let case = || ("early_exit.gfx803.co", early().1);
    let claims = found(case(), |claims| {
        claims.runtime_memory = std::iter::once(FIRST_BUFFER..FIRST_BUFFER + 800).collect();
    });
    assert_eq!(claims, [Claim::RuntimeMemory]);
    // The arguments are there, too, which only scalar loads access.
    let claims = found(case(), |claims| {
        claims.runtime_memory = std::iter::once(FIRST_BUFFER + 0x1000..u64::MAX >> 1).collect();
    });
    assert_eq!(claims, []);
}

/// Blocks of 8 x 4 threads have several rows in a warp, those of 32 x 4 have one; the rows of the matrices are lines.
#[test]
fn accesses_classified_for_another_block() {
    let file = "matmul_int.sm_61.cubin";
    let launch = TestLaunch::of("matmul_int", [1; 3], [8, 4, 1])
        .input("a", &[1i32; 1024])
        .input("b", &[1i32; 1024])
        .scratch("product", &[0i32; 1024])
        .value("n", 32i32)
        .finish();
    let session = session(file);
    let kernel = session
        .launched_kernel(None, launch.kernel.as_deref())
        .expect("it has it");
    let prepared = session.prepare(kernel).expect("it decodes");
    let options = BoundOptions {
        block: Some(launch.block),
        ..BoundOptions::default()
    };
    let mut claims = claims(&session, &prepared, &options).expect("it is followed");
    let other = LaunchFile {
        block: [32, 4, 1],
        ..launch.clone()
    };
    let order = PathOrder::TakenFirst;
    for (claimed, is_found) in [(&launch, false), (&other, true)] {
        let accesses = access_classes(&session, &prepared, &claims.flow, claimed);
        claims.accesses = accesses.expect("the launch suits the kernel");
        let watched = monitor(
            &session,
            &prepared,
            &claims,
            &launch,
            order,
            MOST_INSTRUCTIONS,
        );
        let seen = watched.expect("the launch suits the kernel").observations;
        let mut kinds = seen.violations.keys().map(|violation| violation.claim);
        assert_eq!(kinds.any(|claim| claim == Claim::Access), is_found);
    }
}

#[test]
fn fact_one_too_small() {
    let (file, launch) = nested();
    let (seen, stated) = watch(file, &launch, nothing);
    assert_eq!(stated.loops.len(), 3);
    for number in 0..3 {
        let mut less = stated.clone();
        let bound = less.loops[number].as_mut().expect("a number");
        *bound -= 1;
        let less_by_one = *bound;
        let broken = less.violated(&seen);
        let [
            BrokenStatement::Fact {
                number: reported,
                stated,
                most,
            },
        ] = broken[..]
        else {
            panic!("{broken:?}");
        };
        assert_eq!(
            (reported, stated, most.count),
            (number, less_by_one, less_by_one + 1)
        );
    }
    // The outer loop runs 1 + i % 8 times in thread i: thread 7 is the first that runs it 8 times.
    let outer = seen.max_per_entry[0].expect("it ran");
    assert_eq!((outer.count, outer.thread, outer.block), (8, 7, [0, 0, 0]));
}

#[test]
fn bound_one_too_small() {
    let (file, launch) = sorting();
    let (seen, stated) = watch(file, &launch, nothing);
    let worst = seen.worst.expect("a warp");
    let exact = StatedFacts {
        bound: Some(worst.issued.into()),
        ..stated
    };
    assert_eq!(exact.violated(&seen), []);
    let bound = u128::from(worst.issued) - 1;
    let less = StatedFacts {
        bound: Some(bound),
        ..exact
    };
    assert_eq!(
        less.violated(&seen),
        [BrokenStatement::Bound { bound, worst }]
    );
}

/// Planted fault in totals: one less than the header executions of a thread in its whole run.
#[test]
fn total_one_too_small() {
    let (file, launch) = nested();
    let (seen, stated) = watch(file, &launch, nothing);
    assert!(
        seen.max_totals.iter().flatten().count() >= 2,
        "two loops ran"
    );
    for (number, most) in seen.max_totals.iter().enumerate() {
        let Some(most) = *most else {
            continue;
        };
        let mut less = stated.clone();
        less.totals[number] = Some(most.count - 1);
        // The total does not imply a bound per entry of the same size.
        less.loops[number] = None;
        let broken = BrokenStatement::Total {
            number,
            stated: most.count - 1,
            most,
        };
        assert_eq!(less.violated(&seen), [broken]);
    }
    // The inner loop is entered once for each iteration of the outer one, so its total exceeds the bound per entry.
    let (entry, total) = (
        seen.max_per_entry[1].expect("it ran"),
        seen.max_totals[1].expect("it ran"),
    );
    assert!(total.count > entry.count, "{total:?} {entry:?}");
}

/// A block or step that a thread executes is reported if it is stated as never executed; others are not.
/// Returns the parts of derived bounds, for the launch and for all launches, that a run contradicts after a change of
/// each bound, and the number of loops with a bound for the launch.
fn broken_derivations(
    (file, launch): (&str, LaunchFile),
    change: impl Fn(&mut DerivedBound),
) -> (Vec<DerivedPart>, usize) {
    let session = session(file);
    let kernel = session.launched_kernel(None, launch.kernel.as_deref());
    let prepared = session.prepare(kernel.expect("it has it"));
    let prepared = prepared.expect("it decodes");
    let options = BoundOptions::default();
    let claims = claims(&session, &prepared, &options).expect("it is followed");
    let run = monitor(
        &session,
        &prepared,
        &claims,
        &launch,
        PathOrder::TakenFirst,
        MOST_INSTRUCTIONS,
    );
    let run = run.expect("the launch suits the kernel");
    let mut for_launch = derived_for_launch(&session, &prepared, &claims.flow, &launch)
        .expect("the launch suits the kernel");
    let mut for_all =
        derived_for_all(&session, &prepared, &claims.flow).expect("the kernel can be launched");
    let bounds = (0..for_launch.verdicts().len()).filter(|&site| for_launch.bound(site).is_some());
    let bounds = bounds.count();
    for_launch.change(&change);
    for_all.change(&change);
    let seen = &run.observations;
    let broken = for_launch.violated(seen, &for_launch, run.fault.is_none());
    let of_all = for_all.violated(seen, &for_launch, run.fault.is_none());
    let parts = broken.iter().chain(&of_all).map(|broken| broken.part);
    (parts.collect(), bounds)
}

#[test]
fn derived_bounds_hold_in_runs() {
    for case in [nested(), sorting(), matrices(), early()] {
        let file = case.0;
        let (broken, _) = broken_derivations(case, |_| {});
        assert_eq!(broken, [], "{file}");
    }
    let (_, bounds) = broken_derivations(matrices(), |_| {});
    assert!(bounds > 0);
}

#[test]
fn derived_bound_one_too_small() {
    let (broken, _) = broken_derivations(matrices(), |bound| bound.per_entry -= 1);
    assert!(broken.contains(&DerivedPart::PerEntry), "{broken:?}");
}

#[test]
fn certain_number_one_too_large() {
    let (broken, _) = broken_derivations(matrices(), |bound| {
        bound.certain = Some(bound.per_entry + 1);
    });
    assert!(broken.contains(&DerivedPart::Certain), "{broken:?}");
}

#[test]
fn derived_formula_one_too_small() {
    let (broken, _) = broken_derivations(matrices(), |bound| {
        if let Some(count) = &mut bound.count {
            count.added -= 1;
        }
    });
    assert!(broken.contains(&DerivedPart::Formula), "{broken:?}");
}

#[test]
fn executed_code_stated_as_never_executed() {
    let (file, launch) = early();
    let session = session(file);
    let kernel = session
        .launched_kernel(None, launch.kernel.as_deref())
        .expect("it has it");
    let prepared = session.prepare(kernel).expect("it decodes");
    let options = BoundOptions {
        block: Some(launch.block),
        ..BoundOptions::default()
    };
    let happened = |never: &[Never]| {
        let claims = claims(&session, &prepared, &options).expect("it is followed");
        let claims = claims.with_never(never);
        let run = |order| {
            monitor(
                &session,
                &prepared,
                &claims,
                &launch,
                order,
                MOST_INSTRUCTIONS,
            )
        };
        let seen = run(PathOrder::TakenFirst)
            .expect("the launch suits the kernel")
            .observations;
        let broken = StatedFacts::default().violated(&seen);
        let numbers = broken.into_iter().map(|broken| match broken {
            BrokenStatement::Never { number, .. } => number,
            other => panic!("{other:?}"),
        });
        numbers.collect::<Vec<usize>>()
    };
    let claims = claims(&session, &prepared, &options).expect("it is followed");
    let thread = &claims.flow.thread;
    let addr = |op| prepared.code.get(op).expect("an instruction").addr;
    let steps: Vec<Never> = thread
        .edges()
        .filter_map(|(from, step)| {
            Some(Never::Step {
                from: addr(thread.space.block(from).last),
                to: addr(thread.space.block(step.to?).first),
            })
        })
        .collect();
    let blocks: Vec<Never> = thread
        .space
        .ids()
        .map(|id| Never::Block(addr(thread.space.block(id).last)))
        .collect();
    let (taken, entered) = (happened(&steps), happened(&blocks));
    assert!(
        taken.len() > 8 && entered.len() > 8,
        "{taken:?} {entered:?}"
    );
    // With true statements only, the integer program has the same bound; with a false one, a warp exceeds it.
    let worst = watch(file, &launch, nothing);
    let (seen, stated) = worst;
    let bound = |never: Vec<Never>| {
        let excluded = claims.flow.excluded_counts(&prepared.code, &never);
        let counts = StatedCounts {
            bounds: &stated.loops,
            totals: &stated.totals,
            never: &excluded,
        };
        let bound = claims.flow.bound_with(counts, |_| 0);
        bound.map(|bound| bound.limit().0)
    };
    let issued = u128::from(seen.worst.expect("a warp").issued);
    let others = |all: &[Never], these: &[usize]| {
        let rest = all.iter().enumerate().filter(|(n, _)| !these.contains(n));
        rest.map(|(_, never)| *never).collect::<Vec<_>>()
    };
    assert!(bound(others(&steps, &taken)) >= Some(issued));
    assert!(bound(others(&blocks, &entered)) >= Some(issued));
    let lower = |number: &&usize| bound(vec![steps[**number]]) < Some(issued);
    assert!(
        taken.iter().filter(lower).count() > 2,
        "no false statement lowers the bound"
    );
}
