//! Exchange of lanes.

use warpbound_isa::amd::{WAVE_LANES, scalar};

use super::machine::{Wave, assignments, decoded, meaning_of, row, vop3};

const V: u64 = 256;

/// Lane modifiers: control, bound_ctrl, masks of rows and banks.
fn dpp(name: &str, dest: u64, source: u64, control: u64, zero: bool, masks: u64) -> u64 {
    let second = source | control << 8 | u64::from(zero) << 19 | masks << 24;
    row(name) | dest << 17 | second << 32
}

/// Values that v2 has after a move of v1, which numbers the lanes from 100 on; v2 was 7.
fn moved(control: u64, zero: bool, masks: u64, active: u64) -> Vec<u32> {
    let mut wave = Wave::with_active(active);
    wave.set_vector(1, |lane| 100 + lane);
    wave.set_vector(2, |_| 7);
    wave.step(dpp("v_mov_b32{_dpp}", 2, 1, control, zero, masks));
    (0..WAVE_LANES).map(|lane| wave.vector(2, lane)).collect()
}

#[test]
fn controls_choose_the_source_lane() {
    let from = |source: fn(i64) -> Option<i64>| {
        let lanes = 0..i64::from(WAVE_LANES);
        lanes.map(source).collect::<Vec<Option<i64>>>()
    };
    for (control, sources) in [
        (0x1b, from(|lane| Some(lane ^ 3))),
        (0x00, from(|lane| Some(lane & !3))),
        (0xff, from(|lane| Some(lane | 3))),
        (0x101, from(|lane| (lane % 16 < 15).then_some(lane + 1))),
        (0x10f, from(|lane| (lane % 16 < 1).then_some(lane + 15))),
        (0x111, from(|lane| (lane % 16 > 0).then_some(lane - 1))),
        (0x118, from(|lane| (lane % 16 > 7).then_some(lane - 8))),
        (0x121, from(|lane| Some(lane / 16 * 16 + (lane + 15) % 16))),
        (0x12f, from(|lane| Some(lane / 16 * 16 + (lane + 1) % 16))),
        (0x130, from(|lane| (lane < 63).then_some(lane + 1))),
        (0x134, from(|lane| Some((lane + 1) % 64))),
        (0x138, from(|lane| (lane > 0).then_some(lane - 1))),
        (0x13c, from(|lane| Some((lane + 63) % 64))),
        (0x140, from(|lane| Some(lane / 16 * 16 + 15 - lane % 16))),
        (0x141, from(|lane| Some(lane / 8 * 8 + 7 - lane % 8))),
        (
            0x142,
            from(|lane| (lane > 15).then_some(lane / 16 * 16 - 1)),
        ),
        (0x143, from(|lane| (lane > 31).then_some(31))),
    ] {
        let value = |source: &Option<i64>, none| source.map_or(none, |lane| 100 + lane as u32);
        let expected: Vec<u32> = sources.iter().map(|source| value(source, 0)).collect();
        assert_eq!(
            moved(control, true, 0xff, u64::MAX),
            expected,
            "{control:x}"
        );
        let expected: Vec<u32> = sources.iter().map(|source| value(source, 7)).collect();
        assert_eq!(
            moved(control, false, 0xff, u64::MAX),
            expected,
            "{control:x}"
        );
    }
    let undefined = dpp("v_mov_b32{_dpp}", 2, 1, 0x135, true, 0xff);
    assert_eq!(meaning_of(undefined), None);
}

#[test]
fn lanes_that_are_not_active_are_no_sources() {
    // Lanes 1 and 3 are active and read lanes 0 and 2.
    let found = moved(0xb1, true, 0xff, 0b1011);
    assert_eq!(&found[..4], [101, 100, 7, 0]);
    let found = moved(0xb1, false, 0xff, 0b1011);
    assert_eq!(&found[..4], [101, 100, 7, 7]);
}

#[test]
fn masks_of_rows_and_banks_keep_the_destination() {
    // Row 1 and bank 2.
    let found = moved(0xe4, true, 0x24, u64::MAX);
    for (lane, &value) in (0u32..).zip(&found) {
        let is_written = (24..28).contains(&lane);
        assert_eq!(
            value,
            if is_written { 100 + lane } else { 7 },
            "lane {lane}"
        );
    }
}

/// Sums of a prefix: the idiom of compilers for reductions.
#[test]
fn sums_with_exchange() {
    let add = |control, zero, masks| dpp("v_add_u32{_dpp}", 2, 1, control, zero, masks) | 1 << 9;
    let mut wave = Wave::with_active(u64::MAX);
    wave.set_vector(1, |lane| u32::MAX - lane % 2);
    wave.step(add(0x111, true, 0xff));
    let lanes = [0, 1, 2].map(|lane| wave.vector(2, lane));
    assert_eq!(lanes, [u32::MAX, u32::MAX - 2, u32::MAX - 2]);
    // Lanes that read 0 have no carry.
    assert_eq!(wave.pair(scalar::VCC), 0xfffe_fffe_fffe_fffe);
    // Lanes that are not written: it is not known what their bits of the mask are.
    for word in [add(0x142, true, 0xaf), add(0x111, false, 0xff)] {
        let values = assignments(word).unwrap();
        assert!(values.iter().all(|(dest, _)| dest.is_per_lane()));
        let writes = decoded(word).effects().writes;
        assert!(writes.contains(&crate::Cell::scalar(106).register()));
    }
}

#[test]
fn single_lanes() {
    let mut wave = Wave::with_active(0x30);
    wave.set_vector(1, |lane| 100 + lane);
    wave.set_scalar(8, 67);
    // Whether the lane is active does not matter; its number counts modulo 64.
    wave.step(vop3("v_readlane_b32", 4, [V + 1, 8, 0]));
    assert_eq!(wave.scalar(4), 103);
    wave.step(vop3("v_readlane_b32", 4, [V + 1, 128 + 63, 0]));
    assert_eq!(wave.scalar(4), 163);
    let first = row("v_readfirstlane_b32") | 5 << 17 | (V + 1);
    for (active, expected) in [(0x30, 104), (1 << 40, 140), (0, 100), (u64::MAX, 100)] {
        wave.set_pair(scalar::EXEC, active);
        wave.step(first);
        assert_eq!(wave.scalar(5), expected);
    }
    wave.set_pair(scalar::EXEC, 0);
    wave.step(vop3("v_writelane_b32", 1, [8, 128 + 9, 0]));
    let lanes = [8, 9, 10].map(|lane| wave.vector(1, lane));
    assert_eq!(lanes, [108, 67, 110]);
    // A register of the lanes cannot choose the lane.
    assert_eq!(
        meaning_of(vop3("v_readlane_b32", 4, [V + 1, V + 2, 0])),
        None
    );
}

#[test]
fn counts_of_lanes_below() {
    let mut wave = Wave::with_active(u64::MAX);
    // v_mbcnt_lo_u32_b32 v1, -1, 0; v_mbcnt_hi_u32_b32 v1, -1, v1: the number of the lane.
    wave.step(vop3("v_mbcnt_lo_u32_b32", 1, [193, 128, 0]));
    wave.step(vop3("v_mbcnt_hi_u32_b32", 1, [193, V + 1, 0]));
    for lane in 0..WAVE_LANES {
        assert_eq!(wave.vector(1, lane), lane);
    }
    wave.set_pair(4, 0x8000_0001_0000_0105);
    wave.step(vop3("v_mbcnt_lo_u32_b32", 2, [4, 128 + 10, 0]));
    wave.step(vop3("v_mbcnt_hi_u32_b32", 2, [5, V + 2, 0]));
    for (lane, expected) in [(0, 10), (1, 11), (3, 12), (32, 13), (33, 14), (63, 14)] {
        assert_eq!(wave.vector(2, lane), expected, "lane {lane}");
    }
}
