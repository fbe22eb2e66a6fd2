//! Rules of splitting with time: lanes and times of splits, refusals, merges.

use super::*;

/// Two arms of vector instructions, nested once more in the first: lanes below 32 take the first arm, those below 16 its
/// first arm. Each lane adds a number for each arm; the sums are stored at the end.
struct TwoArms {
    words: Vec<u32>,
    outer: OpIndex,
    inner: OpIndex,
    merge_inner: OpIndex,
    merge_outer: OpIndex,
}

fn two_arms(length: u32) -> TwoArms {
    let mut words: Vec<u32> = Vec::new();
    // Position of each instruction; all have one dword, up to the store.
    let compare = |limit: u32| 0x7d98_0080 + limit;
    // v_add_u32 v2, vcc, number, v2
    let add = |number: u32| 0x3204_0480 + number;
    let begin = |words: &mut Vec<u32>, save: u32, limit: u32| {
        // v_cmp_gt_u32 vcc, limit, v0; s_and_saveexec s[save], vcc; s_xor s[save], exec, s[save]; s_cbranch_execz
        words.push(compare(limit));
        words.push(0xbe80_206a | save << 16);
        words.push(0x8880_007e | save << 16 | save << 8);
        words.push(0xbf88_0000);
        words.len() - 1
    };
    let other = |words: &mut Vec<u32>, save: u32| {
        // s_or_saveexec s[save], s[save]; s_xor exec, exec, s[save]; s_cbranch_execz
        let first = words.len();
        words.push(0xbe80_2100 | save << 16 | save);
        words.push(0x88fe_007e | save << 8);
        words.push(0xbf88_0000);
        (first, words.len() - 1)
    };
    let join = |words: &mut Vec<u32>, save: u32| {
        words.push(0x87fe_007e | save << 8);
        words.len()
    };
    let patch = |words: &mut Vec<u32>, branch: usize, target: usize| {
        words[branch] |= (target - branch - 1) as u32;
    };
    // v_mov_b32 v2, 0
    words.push(0x7e04_0280);
    let outer = begin(&mut words, 4, 32);
    let inner = begin(&mut words, 6, 16);
    words.extend((0..length).map(|_| add(1)));
    let (inner_other, inner_skip) = other(&mut words, 6);
    words.extend((0..length).map(|_| add(2)));
    let merge_inner = join(&mut words, 6);
    let (outer_other, outer_skip) = other(&mut words, 4);
    words.extend((0..length).map(|_| add(3)));
    let merge_outer = join(&mut words, 4);
    patch(&mut words, inner, inner_other);
    patch(&mut words, inner_skip, merge_inner - 1);
    patch(&mut words, outer, outer_other);
    patch(&mut words, outer_skip, merge_outer - 1);
    // v_lshlrev_b32 v3, 2, v0; v_add_u32 v4, vcc, s0, v3; v_mov_b32 v5, s1; v_addc_u32 v5, vcc, 0, v5, vcc
    words.extend([0x2406_0082, 0x3208_0600, 0x7e0a_0201, 0x380a_0a80]);
    // flat_store_dword v[4:5], v2
    words.extend([0xdc70_0000, 0x0000_0204, words::END]);
    let at = |number: usize| OpIndex(number as u32);
    TwoArms {
        words,
        outer: at(outer),
        inner: at(inner),
        merge_inner: at(merge_inner),
        merge_outer: at(merge_outer),
    }
}

impl TwoArms {
    fn case(&self, threads: u32, splits: u32, pipelines: SplitPipelines, merge: bool) -> WaveCase {
        let mut case = WaveCase::new(&self.words, 1, threads);
        let site = |merge_point| SplitSite {
            merge_point: Some(merge_point),
        };
        case.setup.splitting = SplitSetup {
            splits,
            pipelines,
            marking: SplitMarking::Sites,
            sites: [
                (self.outer, site(self.merge_outer)),
                (self.inner, site(self.merge_inner)),
            ]
            .into(),
            merge,
        };
        case
    }
}

/// Sums that lanes of a wave of `two_arms` leave.
fn sums(length: u32, threads: u32) -> Vec<u32> {
    let sum = |lane: u32| match lane {
        0..16 => length,
        16..32 => 2 * length,
        _ => 3 * length,
    };
    (0..threads).map(sum).collect()
}

/// Splits have the lanes of Table 4.1 of `wavefront-splitting-2022`, results do not depend on splitting, and two arms take
/// the time of one where pipelines are parallel.
#[test]
fn splits_of_two_arms() {
    const LENGTH: u32 = 20;
    let arms = two_arms(LENGTH);
    let whole = arms.case(64, 0, SplitPipelines::Parallel, false).run();
    assert_eq!(whole.words, sums(LENGTH, 64));
    for pipelines in [SplitPipelines::Parallel, SplitPipelines::Serialised] {
        for merge in [false, true] {
            let run = arms.case(64, 2, pipelines, merge).run();
            assert_eq!(run.words, whole.words, "{pipelines:?} {merge}");
            let lanes = run.events.iter().filter_map(|(_, event)| match event {
                Event::Split {
                    parent_lanes,
                    child_lanes,
                    parent,
                    child,
                    ..
                } => Some((*parent_lanes, *child_lanes, parent.slot, child.slot)),
                _ => None,
            });
            let low = 0xffff_ffff;
            let expected = [(low, !low, 0, 40), (0xffff, 0xffff_0000, 0, 41)];
            assert_eq!(lanes.collect::<Vec<_>>(), expected);
            let merges = |(_, event): &&(u64, Event)| matches!(event, Event::Merge { .. });
            assert_eq!(
                run.events.iter().filter(merges).count(),
                if merge { 2 } else { 0 }
            );
            let together = run.by_turn().values().any(|issues| {
                let vectors = issues.iter().filter(|issue| issue.0 == IssueKind::Vector);
                vectors.count() > 1
            });
            assert_eq!(together, pipelines == SplitPipelines::Parallel);
            let arm = u64::from(LENGTH) * 4;
            match pipelines {
                // Three arms of the length one after the other become two and one beside each other.
                SplitPipelines::Parallel => {
                    assert!(
                        run.cycles + arm < whole.cycles,
                        "{} {}",
                        run.cycles,
                        whole.cycles
                    );
                }
                SplitPipelines::Serialised => assert!(run.cycles + arm > whole.cycles),
            }
        }
    }
}

/// Without reserve slots, or without sites, the events are those of a machine that does not split.
#[test]
fn no_splits_no_difference() {
    let arms = two_arms(6);
    let mut plain = arms.case(200, 0, SplitPipelines::Parallel, false);
    let none = plain.run();
    plain.setup.splitting = SplitSetup::default();
    assert_eq!(plain.run().events, none.events);
    let mut without_sites = arms.case(200, 7, SplitPipelines::Parallel, true);
    without_sites.setup.splitting.sites.clear();
    assert_eq!(without_sites.run().events, none.events);
    // Units that stay busy for longer than a turn, with instructions that depend on none.
    let mut program: Vec<u32> = Vec::new();
    for number in 0..8 {
        // v_mul_lo_u32 vN, v40, v40; s_mov_b32
        program.extend([0xd285_0000 | number, 0x0002_5128, words::SCALAR]);
    }
    program.push(words::END);
    let busy = |splits| {
        let case = WaveCase::new(&program, 1, 512).with(Parameter::ValuQuarter, 16);
        let mut case = case.with(Parameter::SaluCycles, 9);
        case.setup.splitting.splits = splits;
        case.run().events
    };
    assert_eq!(busy(0), busy(7));
    // The bit of MODE is not set.
    let mut unmarked = arms.case(200, 7, SplitPipelines::Parallel, true);
    unmarked.setup.splitting.marking = SplitMarking::Mode;
    assert_eq!(unmarked.run().events, none.events);
}

/// One slot: the second split is refused, and the wave goes on as one; without registers each is.
#[test]
fn splits_without_a_place() {
    let arms = two_arms(6);
    let refusals = |case: WaveCase| {
        let run = case.run();
        assert_eq!(run.words, sums(6, 64));
        let reason = |(_, event): &(u64, Event)| match event {
            Event::SplitRefused { reason, .. } => Some(*reason),
            _ => None,
        };
        run.events.iter().filter_map(reason).collect::<Vec<_>>()
    };
    let case = |splits| arms.case(64, splits, SplitPipelines::Parallel, true);
    assert_eq!(refusals(case(2)), []);
    // More splits than lanes cannot live.
    let most = case(u32::MAX).run();
    assert_eq!(most.events, case(63).run().events);
    assert_eq!(refusals(case(1)), [SplitRefusal::NoSlot]);
    let mut full = case(2).with(Parameter::SplitRegisters, 0);
    full.setup.vgprs = 256;
    let full = full.with(Parameter::SimdVgprs, 256);
    assert_eq!(refusals(full), [SplitRefusal::NoRegisters; 2]);
    // Registers for two waves: the wave and its first child.
    let half = || {
        let mut half = case(2).with(Parameter::SplitRegisters, 0);
        half.setup.vgprs = 128;
        half.with(Parameter::SimdVgprs, 256)
    };
    assert_eq!(refusals(half()), [SplitRefusal::NoRegisters]);
    // They are kept for groups that have not started: the first of these starts a million cycles later.
    let mut later = half();
    later.launch.grid = [2, 1, 1];
    later.setup.splitting.splits = 1;
    let later = later.with(Parameter::LaunchBlock, 1_000_000).run();
    let splits = later.events.iter().filter_map(|(_, event)| match event {
        Event::Split { parent, .. } => Some(parent.block),
        _ => None,
    });
    assert_eq!(splits.collect::<Vec<_>>(), [1]);
}

/// Waves and splits account for all cycles between their issues; slots are free again after a merge or an end.
#[test]
fn cycles_between_issues_add_up() {
    let arms = two_arms(9);
    for splits in [0, 1, 2, 3] {
        for pipelines in [SplitPipelines::Parallel, SplitPipelines::Serialised] {
            for merge in [false, true] {
                let run = arms.case(1000, splits, pipelines, merge).run();
                let mut last: BTreeMap<u32, u64> = BTreeMap::new();
                for (cycle, event) in &run.events {
                    match event {
                        Event::Issue { warp, waited, .. } => {
                            let before = last.insert(warp.slot, *cycle).unwrap_or(0);
                            assert_eq!(waited.iter().sum::<u64>(), cycle - before, "{event:?}");
                        }
                        Event::Split { child, .. } => {
                            assert_eq!(last.insert(child.slot, *cycle), None);
                        }
                        Event::Merge { from: place, .. } | Event::WarpEnds { warp: place } => {
                            assert!(last.remove(&place.slot).is_some());
                        }
                        _ => {}
                    }
                }
                assert!(last.is_empty());
                assert_eq!(run.words, sums_of_group(9, 1000));
            }
        }
    }
}

/// Sums that a group of several waves leaves: lanes are compared by their number in the group.
fn sums_of_group(length: u32, threads: u32) -> Vec<u32> {
    sums(length, threads)
}
