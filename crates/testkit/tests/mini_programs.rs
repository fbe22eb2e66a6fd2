//! Random mini-SIMT programs: what the machine does, against everything that is said of it.

use warpbound_testkit::mini::audit::{Case, Planted, Subject, audit};
use warpbound_testkit::mini::campaign::{campaign, case, tangled_case};
use warpbound_testkit::mini::generate::{Generated, MEMORY};

#[test]
fn nothing_that_is_said_of_random_programs_is_wrong() {
    let total = campaign(case, 20261121, 2_500, None);
    println!(
        "{} programs, {} runs ({} did not end), {} warps diverged, {} programs unbounded, outlines {:?}, \
         bound/cycles median {:.3}, 90 % {:.3}, most {:.3}",
        total.programs,
        total.runs,
        total.stuck,
        total.diverged,
        total.unbounded,
        total.outlines,
        total.ratio(50),
        total.ratio(90),
        total.ratio(100)
    );
    assert!(
        total.problems.is_empty(),
        "{} problems:\n{}",
        total.problems.len(),
        total.problems[..total.problems.len().min(20)].join("\n")
    );
    assert!(total.runs > 7_000 && total.diverged > 10_000);
    assert!(total.ratio(50) <= 2.0);
}

/// The same for programs whose branches and jumps go anywhere.
#[test]
fn nothing_that_is_said_of_tangled_programs_is_wrong() {
    let total = campaign(tangled_case, 20261125, 2_500, None);
    println!(
        "{} runs ({} did not end), {} warps diverged, {} programs unbounded",
        total.runs, total.stuck, total.diverged, total.unbounded
    );
    assert_eq!(total.problems, [""; 0]);
    assert!(total.runs > 6_000 && total.diverged > 10_000 && total.unbounded < 100);
}

/// The audit finds each of these, so it can find mistakes.
#[test]
fn planted_faults_are_found() {
    for (planted, says) in [
        (Planted::BoundLessOne, "more than"),
        (Planted::ShorterMemory, "more than the bound"),
        (Planted::DroppedEdge, "no step from node"),
        (Planted::AgreementTooMany, "lanes do not agree"),
        (Planted::NothingDiverges, "which no agreement denies"),
        (Planted::OtherOrder, "no step from node"),
    ] {
        let total = campaign(case, 20261122, 400, Some(planted));
        assert!(
            total.problems.iter().any(|problem| problem.contains(says)),
            "{planted:?} is not found: {:?}",
            total.problems.first()
        );
    }
    assert_eq!(campaign(case, 20261122, 400, None).problems, [""; 0]);
}

/// Cut out and entered elsewhere, code has other loops with the same headers: here `b` is the header of a loop of two
/// rounds, and of a larger one when the region begins at it.
#[test]
fn a_region_is_not_bounded_by_what_is_known_of_another_loop() {
    let text = "
.kernel A
.param threads, n, m
start: const c = 0
h: binop c = c + 1
   const k = 0
   binop p = c > n
   bnz p, M
b: load x = c
   bnz x, h
   binop k = k + 1
   binop p = k < 2
   bnz p, b
M: sync
   const q = 0
   bnz q, h
E: sync
   store 100 = c
";
    let generated = Generated {
        text: text.to_owned(),
        facts: Vec::new(),
    };
    let subject = Subject::new(text).expect("a program");
    let (_, case) = case(1);
    let findings = audit(
        &generated,
        &subject,
        &Case {
            threads: 4,
            constants: vec![4, 50, 0],
            memories: vec![(0..MEMORY).map(|at| at + 1).collect()],
            ..case
        },
    );
    assert_eq!(findings.problems, [""; 0]);
}
