//! Memories of waves: global, shared, private through both of its ways, buffers, scalar loads; barriers.

use super::*;

/// Lanes store in shared memory, all waves wait, and each lane reads what the opposite one stored.
#[test]
fn shared_memory_and_barriers() {
    let program = "\
        0x0: warp S124 = 0xffffffff\n\
        0x4: store shared [shl(R0, 2)] = mul(R0, 3) reads(R0, S124)\n\
        0x8: warp barrier.wait number(0) threads(0)\n\
        0xc: R1 = load shared [shl(sub(199, R0), 2)] reads(R0, S124)\n\
        0x10: store global [S1:add(S0, shl(R0, 2))] = R1\n\
        0x14: warp exit\n";
    let result = WaveRun::new(program, 200, 200).shared(800).run();
    let result = result.expect("no fault");
    let expected: Vec<u32> = (0..200).map(|lane| 3 * (199 - lane)).collect();
    assert_eq!(result.words(), expected);
    assert_eq!(result.counts.notes, []);
}

/// Past the end of shared memory, or past M0, reads give 0 and writes are dropped; both are noted.
#[test]
fn shared_memory_has_an_end() {
    let program = |m0: u32| {
        format!(
            "0x0: warp S124 = {m0}\n\
             0x4: store shared [shl(R0, 2)] = add(R0, 1) reads(R0, S124)\n\
             0x8: R1 = load shared [shl(R0, 2)] reads(R0, S124)\n\
             0xc: store global [S1:add(S0, shl(R0, 2))] = R1\n\
             0x10: warp exit\n"
        )
    };
    // 200 bytes hold 50 words, and a limit of 160 bytes in M0 leaves 40.
    for (m0, lanes) in [(u32::MAX, 50), (160, 40)] {
        let result = WaveRun::new(&program(m0), 64, 64).shared(200).run();
        let result = result.expect("no fault");
        let expected = |lane| if lane < lanes { lane + 1 } else { 0 };
        let expected: Vec<u32> = (0..64).map(expected).collect();
        assert_eq!(result.words(), expected);
        let noted: Vec<_> = result
            .counts
            .notes
            .iter()
            .map(|note| (note.at.0, note.times))
            .collect();
        assert_eq!(
            noted,
            [(1, u64::from(64 - lanes)), (2, u64::from(64 - lanes))]
        );
        assert_eq!(
            result.counts.notes[0].kind,
            NoteKind::PastShared {
                thread: [lanes, 0, 0],
                address: u64::from(4 * lanes)
            }
        );
    }
}

/// Flat addresses of the windows: shared memory, and the private memory of each lane, which buffer instructions reach
/// swizzled.
#[test]
fn flat_windows_and_scratch() {
    let program = "\
        0x0: warp S103 = shr(add(S6, S9), 8), S102 = S7\n\
        0x4: warp S124 = 0xffffffff, S9 = add(S9, 0)\n\
        0x8: store generic [0x20000000:shl(R0, 2)] = add(R0, 5)\n\
        0xc: store generic [0x20000001:8] = mul(R0, 2), mul(R0, 3)\n\
        0x10: R1 = load shared [shl(R0, 2)] reads(R0, S124)\n\
        0x14: R2 = load global [8 buffer(S0, S1, S2, S3) offset(S9)]\n\
        0x18: store global [12 buffer(S0, S1, S2, S3) offset(S9)] = add(R2, 1)\n\
        0x1c: R3, R4 = load generic [0x20000001:8]\n\
        0x20: store generic [S5:add(S4, shl(R0, 4))] = R1, R2, R3, R4\n\
        0x24: warp exit\n";
    let run = WaveRun::with_scratch(program, 130, 520, 32).shared(520);
    let expected: Vec<u32> = (0..130)
        .flat_map(|lane| [lane + 5, 2 * lane, 2 * lane, 2 * lane + 1])
        .collect();
    assert_eq!(run.words(), expected);
    // Without FLAT_SCRATCH, private memory has no place.
    let without = program.replace("S102 = S7", "S102 = 0");
    let fault = WaveRun::with_scratch(&without, 130, 520, 32)
        .shared(520)
        .run();
    let fault = fault.expect_err("no private memory");
    assert!(
        matches!(
            fault.kind,
            FaultKind::OutOfBounds {
                space: warpbound_isa::instr::MemorySpace::Local,
                address: 8,
                ..
            }
        ),
        "{fault}"
    );
    assert_eq!((fault.at, fault.thread), (OpIndex(3), Some([0, 0, 0])));
}

/// Loads of the warp write words; the two lowest bits of their addresses do not count.
#[test]
fn scalar_loads() {
    let program = "\
        0x0: store global [S1:add(S0, shl(R0, 2))] = add(R0, 1)\n\
        0x4: warp S126 = 0, S127 = 0 set_active M1\n\
        0x8: warp S8, S9, S10, S11 = load global [S1:add(S0, 10)]\n\
        0xc: warp S0, S1 = load global [S1:S0]\n\
        0x10: warp S12 = load global [0 buffer(S16, S17, 8, 0) offset(4)]\n\
        0x14: warp exit\n";
    struct Words(Vec<u32>);
    impl ExecutionListener<WaveModel> for Words {
        fn issue(&mut self, issue: &Issue<'_, WaveModel>) -> bool {
            let word = |number| issue.cell(warpbound_ir::Cell::scalar(number)).get(9);
            self.0 = [8, 9, 10, 11, 0, 1].map(word).to_vec();
            issue.at.0 < 4
        }
    }
    let mut run = WaveRun::new(program, 64, 64);
    let mut words = Words(Vec::new());
    let stopped = launch_waves(&run.code, &run.launch, &mut run.memory, &mut words);
    assert_eq!(stopped.expect_err("stopped").kind, FaultKind::Stopped);
    assert_eq!(words.0, [3, 4, 5, 6, 1, 2]);
}

/// Buffers: loads out of range give 0, stores out of range are dropped.
#[test]
fn buffers_have_a_range() {
    let program = "\
        0x0: R1 = add(R0, 1)\n\
        0x4: store global [mul(R0, 4) buffer(S0, S1, 160, 0) offset(0)] = R1\n\
        0x8: R2 = load global [0 buffer(S0, or(S1, 0x40000), 120, 0) index(R0) offset(4)]\n\
        0xc: store global [mul(R0, 4) buffer(S0, S1, 512, 0) offset(256)] = add(R2, 0)\n\
        0x10: warp exit\n";
    let words = WaveRun::new(program, 64, 128).words();
    // The first store has a buffer of 160 bytes, or 40 words.
    let stored: Vec<u32> = (0..64)
        .map(|lane| if lane < 40 { lane + 1 } else { 0 })
        .collect();
    assert_eq!(words[..64], stored);
    // Records of 4 bytes from word 1 on; the size, less the offset, is 116 bytes.
    let loaded: Vec<u32> = (0..64)
        .map(|lane| if lane < 29 { lane + 2 } else { 0 })
        .collect();
    assert_eq!(words[64..], loaded);
}

/// Atomic operations in each memory, lane after lane, with the old values.
#[test]
fn atomic_operations() {
    let program = "\
        0x0: warp S103 = shr(add(S6, S9), 8), S102 = S7, S124 = 0xffffffff\n\
        0x4: store shared [0] = 100 reads(S124)\n\
        0x8: R1 = atomic.add.u32 shared [0] = 2 reads(S124)\n\
        0xc: R2 = atomic.add.u32 generic [0x20000000:0] = 1\n\
        0x10: store generic [0x20000001:0] = R0\n\
        0x14: R3 = atomic.max.u32 generic [0x20000001:0] = 30\n\
        0x18: R4 = load generic [0x20000001:0]\n\
        0x1c: store generic [S5:add(S4, shl(R0, 4))] = R1, R2, R3, R4\n\
        0x20: atomic.add.u32 global [S5:add(S4, 1024)] = R0\n\
        0x24: warp exit\n";
    let words = WaveRun::with_scratch(program, 64, 257, 16)
        .shared(4)
        .words();
    let expected: Vec<u32> = (0..64)
        .flat_map(|lane| [100 + 2 * lane, 228 + lane, lane, lane.max(30)])
        .chain([63 * 32])
        .collect();
    assert_eq!(words, expected);
}

/// Accesses of three words, and of words at multiples of 4 only.
#[test]
fn words_without_larger_alignment() {
    let program = "\
        0x0: store global [S1:add(S0, mul(R0, 12))] = R0, 1, 2\n\
        0x4: R1, R2, R3 = load global [S1:add(S0, mul(R0, 12))]\n\
        0x8: store global [S1:add(S0, add(mul(R0, 12), 4))] = add(R1, R2), add(R3, R0)\n\
        0xc: warp exit\n";
    let words = WaveRun::new(program, 64, 192).words();
    let expected: Vec<u32> = (0..64)
        .flat_map(|lane| [lane, lane + 1, 2 + lane])
        .collect();
    assert_eq!(words, expected);
    // Shared memory needs multiples of the size.
    let program = "0x0: warp S124 = 0xffffffff\n\
        0x4: R1, R2 = load shared [4] reads(S124)\n\
        0x8: warp exit\n";
    let fault = WaveRun::new(program, 64, 1).shared(64).run();
    assert!(matches!(
        fault.expect_err("misaligned").kind,
        FaultKind::Misaligned { size: 8, .. }
    ));
}

/// Waves that have ended count as arrived.
#[test]
fn barriers_without_ended_waves() {
    let program = "\
        0x0: warp S4 = from_lane(R0, 0)\n\
        0x4: warp S128 = eq(S4, 64)\n\
        0x8: if S128 warp jump 0x14\n\
        0xc: warp barrier.wait number(0) threads(0)\n\
        0x10: store global [S1:add(S0, shl(R0, 2))] = 1\n\
        0x14: warp exit\n";
    let result = WaveRun::new(program, 192, 192).run().expect("no fault");
    let expected: Vec<u32> = (0..192).map(|lane| u32::from(lane / 64 != 1)).collect();
    assert_eq!(result.words(), expected);
    assert_eq!(result.counts.notes[0].kind, NoteKind::ExitedThreads(64));
}

/// Two halves of an access at a distance (`ds_read2`, `ds_write2`).
#[test]
fn accesses_in_two_halves() {
    let program = "\
        0x0: warp S124 = 0xffffffff\n\
        0x4: store shared [shl(R0, 3) second_half(512)] = R0, add(R0, 1), add(R0, 2), add(R0, 3) reads(R0, S124)\n\
        0x8: R1, R2 = load shared [add(shl(R0, 3), 516) second_half(0xfffffe00)] reads(R0, S124)\n\
        0xc: store global [S1:add(S0, shl(R0, 3))] = R1, R2\n\
        0x10: warp exit\n";
    let words = WaveRun::new(program, 64, 128).shared(1024).words();
    let expected: Vec<u32> = (0..64).flat_map(|lane| [lane + 3, lane + 1]).collect();
    assert_eq!(words, expected);
}
