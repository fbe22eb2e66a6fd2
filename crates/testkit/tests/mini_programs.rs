//! Random mini-SIMT programs: what the machine does, against everything that is said of it.

use warpbound_testkit::mini::audit::Planted;
use warpbound_testkit::mini::campaign::{campaign, case, tangled_case};

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
