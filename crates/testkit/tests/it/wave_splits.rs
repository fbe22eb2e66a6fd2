//! Results of launches do not depend on where waves split and merge, and planted faults in splitting are found.

use warpbound_simulate::functional::SplitFault;
use warpbound_testkit::wave_splits::campaign::{SplitCampaign, SplitFindings, campaign};
use warpbound_testkit::wave_splits::{sites, timed};

const SEED: u64 = 20261123;

fn with_fault(programs: usize, fault: Option<SplitFault>) -> SplitFindings {
    campaign(SplitCampaign {
        seed: SEED,
        programs,
        orders: 1,
        fault,
    })
}

#[test]
fn splits_change_no_result() {
    let found = with_fault(500, None);
    println!("{found:?}");
    assert_eq!(found.problems, [""; 0]);
    assert_eq!((found.wrong_alone, found.wrong, found.too_many), (0, 0, 0));
    assert_eq!((found.programs[0], found.runs), (500, 4_000));
    assert!(found.programs[1] > 300 && found.sites > 1_000);
    assert!(found.splits > 5_000 && found.merges > 2_500 && found.refused > 2_500);
}

/// The same programs on compute units with time, with the splits that issue followed from events.
#[test]
fn splits_with_time_change_no_result() {
    let found = timed::campaign(SEED, 50);
    println!("{found:?}");
    assert_eq!(found.problems, [""; 0]);
    assert_eq!((found.wrong, found.broken, found.without), (0, 0, [100, 0]));
    assert!(found.runs == 400 && found.splits > 500 && found.merges > 200);
}

/// Sites that the analysis accepts change no result, also where lanes influence each other, and it reports all known ones.
#[test]
fn accepted_sites_change_no_result() {
    let found = sites::campaign(SEED, 400);
    println!("{found:#?}");
    assert_eq!(found.runs.problems, [""; 0]);
    assert_eq!((found.missing, found.runs.wrong), (0, 0));
    assert!(found.programs[1] > 50 && found.runs.splits > 1_000 && found.runs.merges > 500);
    let [known, apart, merged] = found.plain;
    assert!(known > 300 && apart > known / 2 && merged > known / 2);
}

/// The child's mask is the bare complement of EXEC: lanes of siblings run twice (E1).
#[test]
fn a_child_with_lanes_of_siblings() {
    let found = with_fault(300, Some(SplitFault::BareComplement));
    println!("{} of {} runs wrong", found.wrong, found.runs);
    assert!(found.wrong > 100);
}

/// A split is not counted at barriers: they open early, or never (E4).
#[test]
fn barriers_that_do_not_count_splits() {
    let found = with_fault(300, Some(SplitFault::BarrierNotCounted));
    println!("{} of {} runs wrong", found.wrong, found.runs);
    assert!(found.wrong > 10);
}

/// EXEC as instructions read it has lanes of siblings: an aggregated counter counts them twice (E6).
#[test]
fn masks_read_with_lanes_of_siblings() {
    let found = with_fault(300, Some(SplitFault::UnmaskedReads));
    println!("{} of {} runs wrong", found.wrong, found.runs);
    assert!(found.wrong > 10);
}

/// A wave that is not full always has a mask that is neither empty nor all ones (E2): parts without lanes take slots.
#[test]
fn partial_waves_that_count_as_divergent() {
    let (right, found) = (
        with_fault(300, None),
        with_fault(300, Some(SplitFault::FullMask)),
    );
    println!("{} splits instead of {}", found.splits, right.splits);
    assert!(2 * found.splits > 3 * right.splits);
}

/// Splits of one mark in a loop take one slot (E7): more live than there are slots.
#[test]
fn marks_in_loops_counted_once() {
    let found = with_fault(300, Some(SplitFault::MarkCountedOnce));
    println!("{} runs with too many splits", found.too_many);
    assert!(found.too_many > 10 && found.wrong == 0);
}
