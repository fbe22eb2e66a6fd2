//! Splits of waves: masks, registers and memory of both parts, barriers, merges, faults.

use std::collections::BTreeMap;

use warpbound_simt::Mask;

use super::*;

/// Splitting without sites: one split per wave, no marks and no merges.
const SPLITTING: UntimedSplits = UntimedSplits {
    splits: 1,
    sites: BTreeMap::new(),
    only_marked: false,
    merges: false,
    fault: None,
};

/// Masks of the instructions that were executed, by operation.
#[derive(Debug, Default)]
struct Issues(BTreeMap<u32, Vec<Mask>>);

impl ExecutionListener<WaveModel> for Issues {
    fn issue(&mut self, issue: &Issue<'_, WaveModel>) -> bool {
        self.0.entry(issue.at.0).or_default().push(issue.active);
        MaskCheck.issue(issue)
    }
}

impl WaveRun {
    /// Runs the launch with splits; the schedule takes the last ready wave if `last`, else the first.
    fn split(
        &mut self,
        splitting: &UntimedSplits,
        last: bool,
    ) -> Result<(SplitCounts, Issues), Fault> {
        let mut issues = Issues::default();
        let mut schedule = |count: usize| if last { count - 1 } else { 0 };
        let counts = launch_split(
            &self.code,
            &self.launch,
            splitting,
            &mut schedule,
            &mut self.memory,
            &mut issues,
        )?;
        Ok((counts, issues))
    }

    /// Words of `out`.
    fn stored(&self) -> Vec<u32> {
        let words = self.memory.buffers()[0].bytes.as_chunks::<4>().0.iter();
        words.map(|word| u32::from_le_bytes(*word)).collect()
    }
}

/// Splits at the operations `sites`, with the operation before which both parts merge.
fn at(sites: &[(u32, Option<u32>)]) -> UntimedSplits {
    let sites = sites.iter();
    UntimedSplits {
        sites: sites
            .map(|(at, point)| (OpIndex(*at), point.map(OpIndex)))
            .collect(),
        ..SPLITTING
    }
}

/// If-else as LLVM 22 emits it, with stores of 1 or 2, then a store of 4 words further by all lanes.
const IF_ELSE: &str = "\
    0x0: S8 = ballot.low(lt_u(R0, 3)), S9 = ballot.high(lt_u(R0, 3))\n\
    0x4: warp S10 = S126, S11 = S127, S126 = and(S126, S8), S127 = and(S127, S9) set_active M1\n\
    0x8: warp S10 = xor(S10, S126), S11 = xor(S11, S127)\n\
    0xc: if !M1 warp jump 0x14\n\
    0x10: R1 = add(R1, 1)\n\
    0x14: warp S10 = S126, S11 = S127, S126 = or(S126, S10), S127 = or(S127, S11) set_active M1\n\
    0x18: warp S126 = xor(S126, S10), S127 = xor(S127, S11) set_active M1\n\
    0x1c: if !M1 warp jump 0x24\n\
    0x20: R1 = add(R1, 2)\n\
    0x24: warp S126 = or(S126, S10), S127 = or(S127, S11) set_active M1\n\
    0x28: store global [S1:add(S0, shl(R0, 2))] = R1\n\
    0x2c: warp exit\n";

/// Table 4.1 of `wavefront-splitting-2022`: three of four lanes take the first side.
#[test]
fn masks_of_both_parts() {
    let sites = at(&[(3, None)]);
    for last in [false, true] {
        let mut run = WaveRun::new(IF_ELSE, 4, 4);
        let (counts, issues) = run.split(&sites, last).expect("no fault");
        assert_eq!((counts.splits, counts.refused, counts.most), (1, 0, 1));
        let masks = |at: u32| {
            let mut masks = issues.0[&at].clone();
            masks.sort_unstable();
            masks
        };
        // The child issues the branch without an active lane.
        assert_eq!(masks(3), [0, 0b0111]);
        assert_eq!(masks(7), [0, 0b1000]);
        // Each side, and all that follows, by the part that has the lanes.
        assert_eq!((masks(4), masks(8)), (vec![0b0111], vec![0b1000]));
        assert_eq!(masks(10), [0b0111, 0b1000]);
        assert_eq!(run.stored(), [1, 1, 1, 2]);
    }
}

#[test]
fn parts_merge_at_the_join() {
    // Operation 9 unites the lanes of both sides, and 10 follows it.
    for point in [9, 10] {
        let sites = UntimedSplits {
            merges: true,
            ..at(&[(3, Some(point))])
        };
        for last in [false, true] {
            let mut run = WaveRun::new(IF_ELSE, 4, 4);
            let (counts, issues) = run.split(&sites, last).expect("no fault");
            assert_eq!((counts.splits, counts.merges), (1, 1));
            // All lanes are together again.
            assert_eq!(issues.0[&10], [0b1111]);
            assert_eq!(run.stored(), [1, 1, 1, 2]);
        }
    }
}

/// A branch that all lanes of a partial wave take, or none, is no divergence (E2).
#[test]
fn partial_waves_do_not_split_at_uniform_branches() {
    for (program, sides) in [("100", "0x14"), ("0", "0x20")] {
        let program = IF_ELSE.replace("lt_u(R0, 3)", &format!("lt_u(R0, {program})"));
        let mut run = WaveRun::new(&program, 40, 40);
        let sites = at(&[(3, None), (7, None)]);
        let (counts, _) = run.split(&sites, false).expect("no fault");
        assert_eq!((counts.splits, counts.refused), (0, 0), "{sides}");
        let faulty = UntimedSplits {
            fault: Some(SplitFault::FullMask),
            ..sites
        };
        let (counts, _) = WaveRun::new(&program, 40, 40)
            .split(&faulty, false)
            .expect("no fault");
        assert!(counts.splits > 0);
    }
}

/// A wave splits only while the bit of MODE is set.
#[test]
fn marks_by_the_mode() {
    for (value, splits) in [(0x0020_0000, 1), (0xffdf_ffffu32, 0)] {
        let program = format!("0x-4: warp S129 = {value}\n").replace("0x-4", "0x0");
        let rest = IF_ELSE.lines().map(|line| {
            let (address, rest) = line.trim().split_once(": ").expect("an address");
            // The new operation moves all others by 4 bytes.
            let number = |text: &str| {
                let digits = text.trim_start_matches("0x");
                u32::from_str_radix(digits, 16).expect("a number") + 4
            };
            let rest = match rest.split_once("jump ") {
                Some((start, target)) => format!("{start}jump 0x{:x}", number(target)),
                None => rest.to_owned(),
            };
            format!("0x{:x}: {rest}\n", number(address))
        });
        let program = program + &rest.collect::<String>();
        let mut run = WaveRun::new(&program, 64, 64);
        let sites = UntimedSplits {
            only_marked: true,
            ..at(&[(4, None)])
        };
        let (counts, _) = run.split(&sites, false).expect("no fault");
        assert_eq!(counts.splits, splits, "0x{value:x}");
    }
}

/// Two waves that split before a barrier, and each lane reads what the opposite lane stored: all splits have to arrive.
#[test]
fn barriers_wait_for_all_splits() {
    let program = "\
        0x0: S8 = ballot.low(and(R0, 1)), S9 = ballot.high(and(R0, 1))\n\
        0x4: warp S124 = 0xffffffff, S10 = S126, S11 = S127, S126 = and(S126, S8), S127 = and(S127, S9) set_active M1\n\
        0x8: if !M1 warp jump 0x10\n\
        0xc: R1 = 100\n\
        0x10: warp S126 = S10, S127 = S11 set_active M1\n\
        0x14: store shared [shl(R0, 2)] = add(R0, R1) reads(R0, S124)\n\
        0x18: warp barrier.wait number(0) threads(0)\n\
        0x1c: R2 = load shared [shl(sub(99, R0), 2)] reads(R0, S124)\n\
        0x20: store global [S1:add(S0, shl(R0, 2))] = R2\n\
        0x24: warp exit\n";
    let value = |lane: u32| lane + 100 * (lane & 1);
    let expected: Vec<u32> = (0..100).map(|lane| value(99 - lane)).collect();
    for last in [false, true] {
        let mut run = WaveRun::new(program, 100, 100).shared(400);
        let (counts, _) = run.split(&at(&[(2, None)]), last).expect("no fault");
        // Each of the two waves splits once.
        assert_eq!((counts.splits, counts.most), (2, 1));
        assert_eq!(counts.counts.notes, []);
        assert_eq!(run.stored(), expected);
    }
    let faulty = UntimedSplits {
        fault: Some(SplitFault::BarrierNotCounted),
        ..at(&[(2, None)])
    };
    let mut run = WaveRun::new(program, 100, 100).shared(400);
    let found = run.split(&faulty, false);
    // The barrier opens too early, or never.
    assert!(found.is_err() || run.stored() != expected);
}

/// Scratch belongs to the wave: a part reads what a lane stored before the split, and merged parts what each stored.
#[test]
fn scratch_of_splits() {
    let program = "\
        0x0: warp S103 = shr(add(S6, S9), 8), S102 = S7\n\
        0x4: store generic [0x20000001:0] = mul(R0, 3)\n\
        0x8: S12 = ballot.low(and(R0, 1)), S13 = ballot.high(and(R0, 1))\n\
        0xc: warp S14 = S126, S15 = S127, S126 = and(S126, S12), S127 = and(S127, S13) set_active M1\n\
        0x10: if !M1 warp jump 0x1c\n\
        0x14: R1 = load generic [0x20000001:0]\n\
        0x18: store generic [0x20000001:0] = add(R1, 7)\n\
        0x1c: warp S126 = S14, S127 = S15 set_active M1\n\
        0x20: R2 = load generic [0x20000001:0]\n\
        0x24: store global [S5:add(S4, shl(R0, 2))] = R2\n\
        0x28: warp exit\n";
    let expected: Vec<u32> = (0..100).map(|lane| 3 * lane + 7 * (lane & 1)).collect();
    for (merges, last) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut run = WaveRun::with_scratch(program, 100, 100, 16);
        let sites = UntimedSplits {
            merges,
            ..at(&[(4, Some(8))])
        };
        let (counts, _) = run.split(&sites, last).expect("no fault");
        assert_eq!((counts.splits, counts.merges), (2, 2 * u64::from(merges)));
        assert_eq!(run.stored(), expected);
    }
}

/// A fault in a split names the block and the lane; a deadlock names the wave.
#[test]
fn faults_of_splits() {
    let program = IF_ELSE.replace("store global [S1:", "store global [add(S1, and(R0, 1)):");
    let mut run = WaveRun::new(&program, 70, 70).blocks(2);
    let fault = run.split(&at(&[(3, None)]), true).expect_err("outside");
    assert!(
        matches!(fault.kind, FaultKind::OutOfBounds { .. }),
        "{fault}"
    );
    // The last waves go first: the second wave does not split, its first odd lane is 65.
    assert_eq!(
        (fault.at, fault.block, fault.thread),
        (OpIndex(10), [0; 3], Some([65, 0, 0]))
    );
    let fault = run.split(&at(&[(3, None)]), false).expect_err("outside");
    assert_eq!((fault.block, fault.thread), ([0; 3], Some([1, 0, 0])));
}

/// A mark in a loop splits again and again; slots bound the splits that live at a time (E7).
#[test]
fn slots_bound_splits_in_a_loop() {
    let program = "\
        0x0: R1 = 0\n\
        0x4: R1 = add(R1, 1)\n\
        0x8: S8 = ballot.low(le_u(R1, R0)), S9 = ballot.high(le_u(R1, R0))\n\
        0xc: warp S126 = and(S126, S8), S127 = and(S127, S9) set_active M1\n\
        0x10: if M1 warp jump 0x4\n\
        0x14: warp S126 = 0xffffffff, S127 = 0xffffffff set_active M1\n\
        0x18: store global [S1:add(S0, shl(R0, 2))] = R1\n\
        0x1c: warp exit\n";
    let expected: Vec<u32> = (1..=64).collect();
    for slots in [1, 3, 7, 63] {
        for (merges, last) in [(false, false), (false, true), (true, false), (true, true)] {
            let sites = UntimedSplits {
                splits: slots,
                merges,
                ..at(&[(4, Some(5))])
            };
            let mut run = WaveRun::new(program, 64, 64);
            let (counts, _) = run.split(&sites, last).expect("no fault");
            assert_eq!(run.stored(), expected);
            assert!(counts.most <= slots && counts.splits >= u64::from(slots));
            assert_eq!(counts.merges, if merges { counts.splits } else { 0 });
        }
    }
    let faulty = UntimedSplits {
        splits: 3,
        fault: Some(SplitFault::MarkCountedOnce),
        ..at(&[(4, None)])
    };
    let (counts, _) = WaveRun::new(program, 64, 64)
        .split(&faulty, false)
        .expect("no fault");
    assert!(counts.most > 3);
}
