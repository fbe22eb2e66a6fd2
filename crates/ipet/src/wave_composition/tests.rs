use super::*;
use crate::composition::{LaunchTerm, SchedulerClass};

const SPREAD: WaveSpread = WaveSpread {
    part: (2, 8),
    most: 2,
};

fn shape(blocks: u64, warps: u64, sms: u64, resident: (u64, u64)) -> LaunchShape {
    LaunchShape {
        blocks,
        warps,
        sms,
        most_sms: sms,
        resident,
        sub_partitions: 4,
    }
}

/// Composes times of 100 cycles each, and an end of 7.
fn composed(shape: LaunchShape, chain: BlockChain, windows_bind: bool) -> LaunchBound {
    let one = WarpBound::from_profile(Cycles(100));
    let times = LaunchTimes {
        path: one.clone(),
        followed: one.clone(),
        chain,
        schedulers: SchedulerClass::WorkConserving,
        queued: Cycles(0),
        barriers: 0,
        segment: Cycles(0),
        core: one.clone(),
        sm: one.clone(),
        gpu: one.clone(),
        first: Cycles(0),
        lines: Cycles(0),
        ended: Cycles(11),
        unfinished: one,
        apart: Cycles(0),
        executed: None,
    };
    let waves = WaveTerms {
        spread: SPREAD,
        windows_bind,
        end: Cycles(7),
    };
    LaunchBound::of_waves(&shape, &waves, &times, Delays::default()).expect("it fits")
}

/// A wave whose own services are in its path waits for the services of others only, unless it finds windows full.
#[test]
fn own_services_are_in_the_path() {
    let limit = |shape, windows_bind| {
        let found = composed(shape, BlockChain::OneWarp, windows_bind);
        found.upper_bound().limit().0
    };
    assert_eq!(limit(shape(1, 1, 1, (1, 1)), true), 107);
    // Five waves on a compute unit: one other wave in the SIMD of the wave, and four others on the unit.
    assert_eq!(
        limit(shape(1, 5, 1, (1, 1)), false),
        100 + 100 + 400 + 400 + 7
    );
    assert_eq!(
        limit(shape(1, 5, 1, (1, 1)), true),
        100 + 100 + 500 + 400 + 7
    );
}

/// The waves of a group with barriers follow each other, and the services of all of them count.
#[test]
fn waves_with_barriers_follow_each_other() {
    let found = composed(shape(3, 5, 1, (4, 4)), BlockChain::AllWarps, false);
    let term = |term| found.term(term);
    assert_eq!(term(LaunchTerm::Path), 5 * 100 + 7);
    assert_eq!(term(LaunchTerm::Core), 15 * 100);
    assert_eq!(term(LaunchTerm::Sm), 15 * 100);
}

/// With eight places for groups of one wave, two waves are in a SIMD at a time. So each instruction of earlier groups
/// delays two of the eight chains, and at most two waves run together with the last one.
#[test]
fn waves_in_free_slots_share_the_simds() {
    let found = composed(shape(17, 1, 1, (8, 8)), BlockChain::OneWarp, false);
    assert_eq!(found.term(LaunchTerm::Core), (16 * 100) / 4 + 2 * 100);
    assert_eq!(found.term(LaunchTerm::Path), 16 * 100 / 8 + 100 + 7);
    assert_eq!(found.term(LaunchTerm::Sm), 17 * 100 + 11);
    let found = composed(shape(33, 1, 2, (8, 8)), BlockChain::OneWarp, false);
    assert_eq!(found.term(LaunchTerm::Sm), (16 + 8) * 100 + 11);
}
