//! Lanes where operations take effect: active ones, all, or the warp as a whole.

use super::*;

/// Program that ends by storing `value` of each lane, active or not, in `out`.
fn stores(body: &str, value: &str) -> String {
    let end = format!(
        "0x1000: warp S126 = 0xffffffff, S127 = 0xffffffff set_active M1\n\
         0x1004: store global [S1:add(S0, shl(special.lane, 2))] = {value}\n\
         0x1008: warp exit\n"
    );
    format!("{body}\n{end}")
}

/// Values of the 64 lanes of one full wave at the end of a program.
fn lanes(body: &str, value: &str) -> Vec<u32> {
    WaveRun::new(&stores(body, value), 64, 64).words()
}

fn all(value: impl Fn(u32) -> u32) -> Vec<u32> {
    (0..64).map(value).collect()
}

/// Vector registers are written in the active lanes only, and words of the warp are written whatever lanes are active.
#[test]
fn exec_masks_writes_of_lanes() {
    let body = "\
        0x0: R1 = 5\n\
        0x4: warp S126 = 0xf0, S127 = 0x80000000 set_active M1\n\
        0x8: R1 = add(R0, 100)\n\
        0xc: warp S5 = 7\n\
        0x10: warp S126 = 0, S127 = 0 set_active M1\n\
        0x14: R1 = 9\n\
        0x18: warp S5 = add(S5, 1)\n";
    // R1 is lane + 100 in the lanes that were active and 5 in the others, and S5 is 8.
    let expected = all(|lane| match lane {
        4..=7 | 63 => lane + 108,
        _ => 13,
    });
    assert_eq!(lanes(body, "add(R1, S5)"), expected);
}

/// A comparison writes 0 for inactive lanes, and it writes its words also if no lane is active.
#[test]
fn words_of_comparisons_without_active_lanes() {
    let compare = "S106 = ballot.low(lt_u(R0, 40)), S107 = ballot.high(lt_u(R0, 40))";
    let body = |exec: &str| {
        format!(
            "0x0: warp S106 = 1, S107 = 2\n\
             0x4: warp {exec} set_active M1\n\
             0x8: {compare}\n"
        )
    };
    for (exec, [low, high]) in [
        ("S126 = 0xffffffff, S127 = 0xffffffff", [u32::MAX, 0xff]),
        ("S126 = 0xff00ff00, S127 = 0xf0", [0xff00_ff00, 0xf0]),
        ("S126 = 0, S127 = 0", [0, 0]),
    ] {
        assert_eq!(lanes(&body(exec), "S106"), [low; 64], "{exec}");
        assert_eq!(lanes(&body(exec), "S107"), [high; 64], "{exec}");
    }
}

/// A comparison that writes EXEC, too (`v_cmpx`), changes the active lanes.
#[test]
fn comparisons_that_write_exec() {
    let condition = "ne(and(R0, 3), 0)";
    let body = format!(
        "0x0: R1 = 1\n\
         0x4: S106 = ballot.low({condition}), S107 = ballot.high({condition}), \
              S126 = ballot.low({condition}), S127 = ballot.high({condition}) set_active M1\n\
         0x8: R1 = 2\n"
    );
    assert_eq!(lanes(&body, "R1"), all(|lane| 1 + u32::from(lane % 4 != 0)));
}

/// The carry of a sum goes to a mask, from which the next sum takes it: 64-bit addition in each lane.
#[test]
fn carries_of_sums_are_masks() {
    let carry = "carry(R1, R2, 0)";
    let own = "and(funnel_right(S106, S107, special.lane), 1)";
    let body = format!(
        "0x0: R1 = sub(0, R0), R2 = 3, R3 = 10\n\
         0x4: R4 = add(R1, R2), S106 = ballot.low({carry}), S107 = ballot.high({carry})\n\
         0x8: R5 = add(R3, {own})\n"
    );
    // -lane + 3 as unsigned words.
    let carries = |lane: u32| u32::from((1..=3).contains(&lane));
    assert_eq!(lanes(&body, "R5"), all(|lane| 10 + carries(lane)));
    assert_eq!(lanes(&body, "R4"), all(|lane| 3u32.wrapping_sub(lane)));
}

/// A mask bit of the own lane selects (`v_cndmask`), also of words that are no mask registers.
#[test]
fn own_bits_select() {
    let own = "and(funnel_right(S4, S5, special.lane), 1)";
    let body = "0x0: warp S4 = 0x0000ffff, S5 = 0xaaaaaaaa\n";
    let value = format!("select({own}, 7, R0)");
    let expected = all(|lane| match lane {
        0..16 => 7,
        32.. if lane % 2 == 1 => 7,
        _ => lane,
    });
    assert_eq!(lanes(body, &value), expected);
}

/// Values of other lanes are read whether they are active or not.
#[test]
fn values_of_inactive_lanes() {
    let body = "\
        0x0: R1 = mul(R0, 10), R2 = 0\n\
        0x4: warp S126 = 0x10, S127 = 0 set_active M1\n\
        0x8: R1 = 1000\n\
        0xc: R2 = from_lane(R1, xor(special.lane, 1))\n\
        0x10: warp S5 = from_lane(R1, 4), S6 = from_lane(R1, 127)\n\
        0x14: warp R3 = select(eq(special.lane, 40), S5, R2)\n";
    // Lane 4 reads the inactive lane 5.
    let expected = all(|lane| if lane == 4 { 50 } else { 0 });
    assert_eq!(lanes(body, "R2"), expected);
    assert_eq!(lanes(body, "S6"), [630; 64]);
    // A write of one lane reaches it although it is inactive.
    let written = all(|lane| match lane {
        4 => 50,
        40 => 1000,
        _ => 0,
    });
    assert_eq!(lanes(body, "R3"), written);
}

/// Writes of one operation read the values before it.
#[test]
fn writes_are_simultaneous() {
    let body = "\
        0x0: warp S4 = 1, S5 = 2\n\
        0x4: warp S4 = S5, S5 = S4, S6 = add(S4, S5)\n\
        0x8: R1 = S4, R2 = S5\n\
        0xc: R1 = R2, R2 = R1, S8 = ballot.low(eq(R1, 2)), S9 = ballot.high(eq(R2, 2))\n\
        0x10: R3 = add(R1, shl(R2, 8))\n\
        0x14: R4 = add(S8, S9)\n";
    assert_eq!(lanes(body, "R3"), [1 | 2 << 8; 64]);
    assert_eq!(lanes(body, "S6"), [3; 64]);
    assert_eq!(lanes(body, "R4"), [u32::MAX; 64]);
}

/// A wave branches on words, once for all lanes, also while none is active.
#[test]
fn branches_of_the_wave() {
    let body = "\
        0x0: warp S4 = 0, S128 = 0\n\
        0x4: warp S126 = 0, S127 = 0 set_active M1\n\
        0x8: if M1 warp jump 0x30\n\
        0xc: warp S4 = add(S4, 1)\n\
        0x10: if !M1 warp jump 0x18\n\
        0x14: warp S4 = 100\n\
        0x18: warp S128 = lt_u(S4, 5)\n\
        0x1c: if S128 warp jump 0xc\n\
        0x20: warp S107 = 0x40, S106 = 0\n\
        0x24: if !M0 warp jump 0x30\n\
        0x28: warp S4 = add(S4, 10)\n\
        0x2c: warp jump 0x34\n\
        0x30: warp S4 = 200\n\
        0x34: nop\n";
    assert_eq!(lanes(body, "S4"), [15; 64]);
    let result = WaveRun::new(&stores(body, "S4"), 64, 64)
        .run()
        .expect("no fault");
    // Issued, with no lane active.
    assert_eq!((result.counts.issues[3], result.counts.active[3]), (5, 0));
}

/// A jump to an address in words: calls and returns.
#[test]
fn jumps_to_addresses() {
    let body = "\
        0x0: warp S4 = 0x1020, S5 = 0, S6 = 0x1008, S7 = 0\n\
        0x4: warp indirect absolute S4 + 0x0\n\
        0x8: warp S8 = add(S8, 1)\n\
        0xc: warp jump 0x30\n\
        0x20: warp S8 = 10\n\
        0x24: warp indirect absolute S6 + 0x0\n\
        0x30: nop\n";
    assert_eq!(lanes(body, "S8"), [11; 64]);
    let wrong = body.replace("S5 = 0,", "S5 = 1,");
    let fault = WaveRun::new(&stores(&wrong, "S8"), 64, 64).run();
    let kind = fault.expect_err("no instruction there").kind;
    assert_eq!(kind, FaultKind::InvalidJumpTarget(0x1_0000_0020));
}

/// Partial waves begin with the lanes that exist; words have their values at the start, block by block.
#[test]
fn partial_waves_and_blocks() {
    let program = "\
        0x0: R1 = add(R0, mul(S2, 100))\n\
        0x4: store global [S1:add(S0, shl(R1, 2))] = add(R1, 1)\n\
        0x8: warp exit\n";
    let words = WaveRun::new(program, 70, 300).blocks(3).words();
    let expected = |at: u32| if at % 100 < 70 { at + 1 } else { 0 };
    let expected: Vec<u32> = (0..300).map(expected).collect();
    assert_eq!(words, expected);
}

/// Operations that read lanes without saying which are no operations of the warp.
#[test]
fn words_depend_on_no_lane() {
    for (at, body) in [
        "0x0: warp S4 = special.lane\n",
        "0x0: warp S4 = and(funnel_right(S4, S5, special.lane), 1)\n",
        "0x0: S4 = R0\n",
    ]
    .into_iter()
    .enumerate()
    {
        let run = WaveRun::new(&stores(body, "S4"), 64, 64);
        assert_eq!(
            unsupported_ops(&run.code, &run.launch),
            [OpIndex(0)],
            "{at}"
        );
        let fault = run.run().expect_err("not modelled");
        assert_eq!((fault.at, fault.kind), (OpIndex(0), FaultKind::Unsupported));
    }
}

/// A launch for waves is no launch of NVIDIA's machines, nor the other way round.
#[test]
fn launches_of_other_machines_are_refused() {
    let mut run = WaveRun::new("0x0: warp exit\n", 64, 1);
    let refused = launch_with_listener(&run.code, &run.launch, &mut run.memory, &mut NoListener);
    assert_eq!(refused.expect_err("refused").kind, FaultKind::OtherMachine);
    run.launch.wave_entry = None;
    let refused = launch_waves(&run.code, &run.launch, &mut run.memory, &mut NoListener);
    assert_eq!(refused.expect_err("refused").kind, FaultKind::OtherMachine);
}

/// Reads of registers that nothing has written are noted, by lane; words of the warp as a whole.
#[test]
fn reads_of_undefined_registers() {
    use warpbound_ir::Cell;
    let program = "\
        0x0: R1 = add(R0, R2)\n\
        0x4: warp S126 = 0xff, S127 = 0 set_active M1\n\
        0x8: R3 = R0\n\
        0xc: R4 = R3\n\
        0x10: warp S126 = 0x1ff set_active M1\n\
        0x14: R4 = R3\n\
        0x18: warp S10 = add(S0, S106)\n\
        0x1c: if !S128 warp jump 0x20\n\
        0x20: warp exit\n";
    let mut run = WaveRun::new(program, 64, 1);
    let program = warpbound_isa::amd::GcnProgram::decode(&[]).expect("no code");
    let counts = launch_checked(&run.code, &program, &run.launch, &mut run.memory);
    let notes = counts.expect("no fault").notes;
    let found: Vec<_> = notes
        .iter()
        .map(|note| (note.at.0, note.kind.clone()))
        .collect();
    let undefined = |cell, lane| NoteKind::Undefined { cell, lane };
    assert_eq!(
        found,
        [
            (0, undefined(Cell::gpr(2), Some(0))),
            (5, undefined(Cell::gpr(3), Some(8))),
            (6, undefined(Cell::scalar(106), None)),
            (7, undefined(Cell::scalar(128), None)),
        ]
    );
}

/// Faults in what operations do, each planted in a program: the results differ from the program without it.
#[test]
fn planted_faults_change_results() {
    let own = "and(funnel_right(S106, S107, special.lane), 1)";
    let odd = "and(R0, 1)";
    let cases = [
        // A comparison that writes EXEC, too, without that write.
        (
            format!("0x0: S126 = ballot.low({odd}), S127 = ballot.high({odd}) set_active M1\n0x4: R1 = 2\n"),
            "0x0: nop\n0x4: R1 = 2\n".to_owned(),
        ),
        // A sum whose carry is dropped.
        (
            format!(
                "0x0: R2 = sub(0, R0)\n\
                 0x4: R1 = add(R2, 3), S106 = ballot.low(carry(R2, 3, 0)), S107 = ballot.high(carry(R2, 3, 0))\n\
                 0x8: R1 = add(R1, {own})\n"
            ),
            format!("0x0: R2 = sub(0, R0)\n0x4: R1 = add(R2, 3)\n0x8: R1 = add(R1, {own})\n"),
        ),
        // EXEC read without regard to the lanes that are not active.
        (
            "0x0: warp S126 = 0xf0 set_active M1\n0x4: warp S4 = S126, S126 = 0xff set_active M1\n0x8: R1 = S4\n".to_owned(),
            "0x0: warp S126 = 0xf0 set_active M1\n0x4: warp S4 = 0xffffffff, S126 = 0xff set_active M1\n0x8: R1 = S4\n"
                .to_owned(),
        ),
        // A comparison that writes no word where no lane is active.
        (
            format!(
                "0x0: warp S106 = 0xff, S126 = 0, S127 = 0 set_active M1\n\
                 0x4: S106 = ballot.low({odd}), S107 = ballot.high({odd})\n\
                 0x8: warp S126 = 0xff set_active M1\n\
                 0xc: R1 = S106\n"
            ),
            "0x0: warp S106 = 0xff, S126 = 0, S127 = 0 set_active M1\n\
             0x8: warp S126 = 0xff set_active M1\n\
             0xc: R1 = S106\n"
                .to_owned(),
        ),
        // The value of a lane that is not active, read as 0.
        (
            "0x0: R2 = 7\n0x4: warp S126 = 1, S127 = 0 set_active M1\n0x8: R1 = from_lane(R2, 5)\n".to_owned(),
            "0x0: R2 = 7\n0x4: warp S126 = 1, S127 = 0 set_active M1\n\
             0x8: R1 = select(and(shr(S126, 5), 1), from_lane(R2, 5), 0)\n"
                .to_owned(),
        ),
    ];
    for (number, (right, wrong)) in cases.iter().enumerate() {
        assert_ne!(lanes(right, "R1"), lanes(wrong, "R1"), "{number}");
    }
}
