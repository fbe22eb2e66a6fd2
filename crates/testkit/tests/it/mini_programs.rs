//! Random mini-SIMT programs: simulated runs compared with every claim about them.

use warpbound_analyse::warp_profile::{ProfiledWarp, Region, RegionCost, Undecided, WarpProfiler};
use warpbound_ir::OpIndex;
use warpbound_machine::mini;
use warpbound_simt::warp::DivergenceOrder;
use warpbound_testkit::mini::audit::{BlockCase, BlockFindings, PlantedError, Subject, audit};
use warpbound_testkit::mini::campaign::{campaign, case, split_loop_entry_case, unstructured_case};
use warpbound_testkit::mini::generate::{Generated, MEMORY};

#[test]
fn no_claim_about_random_programs_is_wrong() {
    let total = campaign(case, 20261121, 2_500, None);
    println!(
        "{} programs, {} runs ({} did not end, {} deadlocks as claimed), {} warps diverged, {} programs unbounded, profiles {:?}, \
         bound/cycles median {:.3}, 90 % {:.3}, most {:.3}",
        total.programs,
        total.runs,
        total.stuck,
        total.deadlocks,
        total.diverged,
        total.unbounded,
        total.profiles,
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
    assert!(total.runs > 7_000 && total.diverged > 10_000 && total.deadlocks > 10);
    assert!(total.ratio(50) <= 2.0);
}

/// Programs in which the lanes of some warps reach a loop in parts, one of them after a barrier: late lanes become
/// active in the loop, and belong to the epoch of the last part.
#[test]
fn no_claim_about_loops_entered_in_parts_is_wrong() {
    let total = campaign(split_loop_entry_case, 20261126, 2_000, None);
    println!(
        "{} runs ({} did not end), {} deadlocks as claimed, profiles {:?}, median {:.3}",
        total.runs,
        total.stuck,
        total.deadlocks,
        total.profiles,
        total.ratio(50)
    );
    assert_eq!(total.problems, [""; 0]);
    let [_, regions, whole] = total.profiles;
    assert!(total.runs > 3_000 && total.diverged > 4_000 && regions > 2_000 && whole > 400);
    assert!(total.ratio(50) <= 2.0);
}

/// Programs whose branches and jumps have random targets.
#[test]
fn no_claim_about_unstructured_programs_is_wrong() {
    let total = campaign(unstructured_case, 20261125, 2_500, None);
    println!(
        "{} runs ({} did not end), {} warps diverged, {} programs unbounded",
        total.runs, total.stuck, total.diverged, total.unbounded
    );
    assert_eq!(total.problems, [""; 0]);
    assert!(total.runs > 6_000 && total.diverged > 10_000 && total.unbounded < 100);
}

/// The audit finds each planted error.
#[test]
fn planted_faults_are_found() {
    for (planted, message) in [
        (PlantedError::LowLoopBound, "more than"),
        (PlantedError::ShortMemoryLatency, "more than the bound"),
        (PlantedError::DroppedEdge, "no step from node"),
        (PlantedError::ExtraAgreement, "lanes do not agree"),
        (
            PlantedError::NoDivergence,
            "whose guard is claimed to agree",
        ),
        (PlantedError::SwappedOrder, "no step from node"),
    ] {
        let found = |programs| {
            let total = campaign(case, 20261122, programs, Some(planted));
            let mut problems = total.problems.iter();
            problems.any(|problem| problem.contains(message))
        };
        // More programs only where the first ones do not show the error.
        assert!(found(40) || found(400), "{planted:?} is not found");
    }
    assert_eq!(campaign(case, 20261122, 400, None).problems, [""; 0]);
}

/// A region that is entered elsewhere has other loops with the same headers: here `b` is the header of a loop of two
/// rounds, and of a larger one when the region begins at it.
#[test]
fn a_region_is_not_bounded_by_facts_about_another_loop() {
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
        &BlockCase {
            threads: 4,
            constants: vec![4, 50, 0],
            memories: vec![(0..MEMORY).map(|at| at + 1).collect()],
            ..case
        },
    );
    assert_eq!(findings.problems, [""; 0]);
}

/// Returns a launch of one program with one memory, on a machine with warps of 4 lanes.
fn small_case(threads: u32, constants: &[u32], memory: u64) -> BlockCase {
    let (_, case) = case(1);
    let mut machine = case.machine.clone();
    machine.warp_width = 4;
    machine.plain = mini::Latency::exactly(1);
    machine.memory = mini::Latency::exactly(memory);
    machine.barrier_release = mini::Latency::exactly(1);
    machine.policy = mini::Policy::RoundRobin;
    machine.order = DivergenceOrder::TakenFirst;
    let mut words = vec![0; MEMORY as usize];
    for (at, word) in words.iter_mut().enumerate().take(8) {
        *word = at as u32 % 4;
    }
    BlockCase {
        machine,
        threads,
        constants: constants.to_vec(),
        memories: vec![words],
        planted: None,
    }
}

/// The lanes of a warp reconverge at the header of a loop that data may end, before a barrier for all of them.
#[test]
fn lanes_that_reconverge_at_a_loop_header_are_not_a_deadlock() {
    let text = "
.kernel LoopMeet
.param n
        binop p = Tid % 2
        bz    p, even
        binop a = a + 1
        jump  head
even:   binop b = b + 1
head:   sync
        load  x = Tid
        bnz   x, out
        binop i = i + 1
        binop q = i < n
        bnz   q, head
out:    sync
        barrier 0, 4
        store Tid = i
";
    let findings = audit_text(text, &[("head", 5)], &small_case(4, &[5], 10));
    assert_eq!(findings.problems, [""; 0]);
    assert_eq!(findings.profiles, [0, 1, 0]);
    assert_eq!((findings.runs.len(), findings.deadlocks), (1, 0));
}

/// Warps 0 and 1 reach the loop in parts, one part after a barrier: all lanes iterate after that barrier, when warp 2
/// has completed its own loads.
#[test]
fn waits_of_a_loop_entered_in_parts_belong_to_the_last_part() {
    let text = "
.kernel Unsound
.param  n, k
        binop g = Tid >= 8
        bnz   g, other
        binop p = Tid % 2
        bz    p, even
        barrier 0, 8
        jump  head
even:   const z = 1
head:   sync
        load  x = Tid
        binop u = x & 1
        bz    u, A
        binop v = x & 2
        bz    v, C
        load  y = 16
        load  y = 16
        load  y = 16
        jump  D
C:      load  y = 17
        load  y = 17
        load  y = 17
D:      sync
        jump  F
A:      binop v = x & 2
        bz    v, G
        load  y = 18
        load  y = 18
        load  y = 18
        jump  H
G:      load  y = 19
        load  y = 19
        load  y = 19
H:      sync
F:      sync
        binop i = i + 1
        bnz   y, out
        binop q = i < n
        bnz   q, head
out:    sync
        barrier 0, 8
        jump  end
other:  barrier 0, 8
        barrier 0, 8
        const j = 0
again:  load  y = 20
        binop j = j + 1
        binop q = j < k
        bnz   q, again
        sync
        barrier 0, 8
end:
";
    for memory in [10, 1000] {
        let facts = [("head", 10), ("again", 70)];
        let findings = audit_text(text, &facts, &small_case(12, &[10, 70], memory));
        assert_eq!(findings.problems, [""; 0], "memory {memory}");
        assert_eq!((findings.runs.len(), findings.stuck), (1, 0));
    }
}

/// A data-dependent loop whose second entry is the reconvergence point of the branch before it: lanes that enter at the
/// first entry wait there for those of the other side, and iterate with them, after their barrier. So there is no warp
/// profile, even if the loop could be bounded for the lanes of the first part alone.
#[test]
fn a_loop_with_a_second_entry_at_a_reconvergence_point_is_not_a_region() {
    let text = "
.kernel TwoWaysIn
.param n
        binop p = Tid % 2
        bz    p, even
        jump  before
even:   barrier 0, 2
        jump  head
before: load  y = 20
head:   sync
        load  x = Tid
        bnz   x, out
        binop i = i + 1
        binop q = i < n
        bnz   q, before
out:    sync
        barrier 0, 4
        store Tid = i
";
    let subject = Subject::new(text).expect("a program");
    let bounded = |_: Region, _: u32| {
        Some(RegionCost {
            issues: 1,
            stalls: 0,
        })
    };
    for order in [
        DivergenceOrder::TakenFirst,
        DivergenceOrder::FallThroughFirst,
    ] {
        let mut profiler = WarpProfiler::new(&subject.code, &|_| 0, &bounded, 1_000);
        let profile = profiler.profile(&ProfiledWarp {
            first: 0,
            count: 4,
            cells: &[(subject.params[0].1, 5)],
            order,
        });
        // The operation of the first entry.
        assert_eq!(profile, Err(Undecided { at: OpIndex(5) }), "{order:?}");
        let mut case = small_case(4, &[5], 10);
        case.machine.order = order;
        let findings = audit_text(text, &[("before head", 10)], &case);
        assert_eq!(findings.problems, [""; 0]);
        assert_eq!((findings.profiles, findings.runs.len()), ([0, 0, 1], 1));
    }
}

fn audit_text(text: &str, facts: &[(&str, u64)], case: &BlockCase) -> BlockFindings {
    let generated = Generated {
        text: text.to_owned(),
        facts: facts
            .iter()
            .map(|&(label, bound)| (label.to_owned(), bound))
            .collect(),
    };
    let subject = Subject::new(text).expect("a program");
    audit(&generated, &subject, case)
}
