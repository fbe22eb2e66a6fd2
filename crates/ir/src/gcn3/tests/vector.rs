//! Integer vector instructions in each lane.

use warpbound_isa::amd::WAVE_LANES;

use super::machine::{Wave, meaning_of, vop2, vop3};

const ALL: u32 = u32::MAX;
const MIN: u32 = 1 << 31;

/// Vector register as a source.
const V: u64 = 256;

/// Result of an instruction in 8 bytes with sources in v1, v2, v3.
fn result(name: &str, [a, b, c]: [u32; 3]) -> u32 {
    let mut wave = Wave::with_active(1);
    for (register, value) in [(1, a), (2, b), (3, c)] {
        wave.set_vector(register, |_| value);
    }
    wave.set_vector(4, |_| 0xdead);
    wave.step(vop3(name, 4, sources(name)));
    assert_eq!(
        wave.vector(4, 1),
        0xdead,
        "{name} in a lane that is not active"
    );
    wave.vector(4, 0)
}

/// Fields of the sources that an instruction has: unused ones are 0.
fn sources(name: &str) -> [u64; 3] {
    let one = ["mov", "not", "bfrev", "ffb"];
    let three = [
        "mad_", "bfe", "bfi", "align", "min3", "max3", "med3", "perm", "lerp", "sad",
    ];
    match () {
        _ if one.iter().any(|part| name.contains(part)) => [V + 1, 0, 0],
        _ if three.iter().any(|part| name.contains(part)) => [V + 1, V + 2, V + 3],
        _ => [V + 1, V + 2, 0],
    }
}

#[test]
fn words_of_one_and_two_sources() {
    for (name, a, b, expected) in [
        ("v_mov_b32{_e64}", 5, 0, 5),
        ("v_not_b32{_e64}", 5, 0, !5),
        ("v_bfrev_b32{_e64}", 1, 0, MIN),
        ("v_ffbh_u32{_e64}", 0x0010_0000, 0, 11),
        ("v_ffbh_u32{_e64}", 0, 0, ALL),
        ("v_ffbl_b32{_e64}", 0x0010_0000, 0, 20),
        ("v_ffbl_b32{_e64}", 0, 0, ALL),
        ("v_ffbh_i32{_e64}", 0xffff_0000, 0, 16),
        ("v_ffbh_i32{_e64}", ALL, 0, ALL),
        ("v_and_b32{_e64}", 0xc, 0xa, 8),
        ("v_or_b32{_e64}", 0xc, 0xa, 14),
        ("v_xor_b32{_e64}", 0xc, 0xa, 6),
        ("v_min_i32{_e64}", ALL, 1, ALL),
        ("v_max_i32{_e64}", ALL, 1, 1),
        ("v_min_u32{_e64}", ALL, 1, 1),
        ("v_max_u32{_e64}", ALL, 1, ALL),
        ("v_lshlrev_b32{_e64}", 33, 5, 10),
        ("v_lshrrev_b32{_e64}", 31, MIN, 1),
        ("v_ashrrev_i32{_e64}", 31, MIN, ALL),
        ("v_bfm_b32", 4, 8, 0xf00),
        ("v_bcnt_u32_b32", 0xff, 10, 18),
        ("v_cvt_pk_u16_u32", 0x1_0000, 5, 0x5_ffff),
        ("v_cvt_pk_i16_i32", 0x8000, -0x9000i32 as u32, 0x8000_7fff),
        ("v_cvt_pk_i16_i32", ALL, 3, 0x3_ffff),
        ("v_mul_lo_u32", 0x1_0001, 0x1_0001, 0x2_0001),
        ("v_mul_hi_u32", ALL, ALL, 0xffff_fffe),
        ("v_mul_hi_i32", ALL, ALL, 0),
        ("v_mul_hi_i32", MIN, 2, ALL),
        ("v_mul_i32_i24{_e64}", 0xff_ffff, 3, -3i32 as u32),
        ("v_mul_i32_i24{_e64}", 0x1200_0002, 0x3400_0003, 6),
        ("v_mul_hi_i32_i24{_e64}", 0xff_ffff, 3, ALL),
        ("v_mul_hi_i32_i24{_e64}", 0x80_0000, 0x80_0000, 0x4000),
        ("v_mul_u32_u24{_e64}", 0xab00_0003, 0xff_ffff, 0x2ff_fffd),
        ("v_mul_hi_u32_u24{_e64}", 0xff_ffff, 0xff_ffff, 0xffff),
    ] {
        let found = result(name, [a, b, 0]);
        assert_eq!(found, expected, "{name} {a:x} {b:x}: {found:x}");
    }
}

#[test]
fn words_of_three_sources() {
    for (name, sources, expected) in [
        ("v_mad_i32_i24", [0xff_ffff, 3, 5], 2),
        ("v_mad_u32_u24", [0xff00_0002, 3, 5], 11),
        ("v_bfe_u32", [0xabcd_1234, 8, 8], 0x12),
        ("v_bfe_u32", [0xabcd_1234, 24, 16], 0xab),
        ("v_bfe_u32", [ALL, 4, 32], 0),
        ("v_bfe_i32", [0xabcd_1234, 24, 4], 0xffff_fffb),
        ("v_bfe_i32", [0xabcd_1234, 36, 4], 3),
        (
            "v_bfi_b32",
            [0xffff_0000, 0x1234_5678, 0x9abc_def0],
            0x1234_def0,
        ),
        ("v_alignbit_b32", [0x1234_5678, 0x9abc_def0, 8], 0x789a_bcde),
        (
            "v_alignbit_b32",
            [0x1234_5678, 0x9abc_def0, 32],
            0x9abc_def0,
        ),
        (
            "v_alignbyte_b32",
            [0x1234_5678, 0x9abc_def0, 5],
            0x789a_bcde,
        ),
        ("v_min3_i32", [ALL, 1, 7], ALL),
        ("v_min3_u32", [ALL, 7, 1], 1),
        ("v_max3_i32", [ALL, 1, 7], 7),
        ("v_max3_u32", [1, 7, ALL], ALL),
        ("v_med3_i32", [ALL, 7, 1], 1),
        ("v_med3_i32", [7, ALL, 1], 1),
        ("v_med3_u32", [ALL, 7, 1], 7),
        ("v_med3_u32", [1, 1, 7], 1),
    ] {
        let found = result(name, sources);
        assert_eq!(found, expected, "{name} {sources:x?}: {found:x}");
    }
}

#[test]
fn halves_become_words_with_a_high_half_of_zeros() {
    for (name, [a, b, c], expected) in [
        ("v_add_u16{_e64}", [0xffff_ffff, 2, 0], 1),
        ("v_sub_u16{_e64}", [1, 2, 0], 0xffff),
        ("v_subrev_u16{_e64}", [1, 0x9_0002, 0], 1),
        ("v_mul_lo_u16{_e64}", [0x101, 0x101, 0], 0x201),
        ("v_lshlrev_b16{_e64}", [17, 0xffff_8001, 0], 2),
        ("v_lshrrev_b16{_e64}", [15, 0xffff_8001, 0], 1),
        ("v_ashrrev_i16{_e64}", [15, 0x8001, 0], 0xffff),
        ("v_min_u16{_e64}", [0x1_ffff, 1, 0], 1),
        ("v_max_u16{_e64}", [0x1_ffff, 1, 0], 0xffff),
        ("v_min_i16{_e64}", [0x1_ffff, 1, 0], 0xffff),
        ("v_max_i16{_e64}", [0x1_ffff, 1, 0], 1),
        ("v_mad_u16", [0x101, 0x101, 0xffff], 0x200),
        ("v_mad_i16", [0xffff, 3, 1], 0xfffe),
    ] {
        let found = result(name, [a, b, c]);
        assert_eq!(found, expected, "{name}: {found:x}");
    }
}

#[test]
fn limited_sums() {
    const CLAMP: u64 = 1 << 15;
    let run = |name: &str, a: u32, b: u32| {
        let mut wave = Wave::with_active(1);
        wave.set_vector(1, |_| a);
        wave.set_vector(2, |_| b);
        wave.step(vop3(name, 4, [V + 1, V + 2, 0]) | CLAMP);
        wave.vector(4, 0)
    };
    assert_eq!(run("v_add_u16{_e64}", 0xfffe, 3), 0xffff);
    assert_eq!(run("v_add_u16{_e64}", 0xfffc, 3), 0xffff);
    assert_eq!(run("v_sub_u16{_e64}", 2, 3), 0);
    assert_eq!(run("v_sub_u16{_e64}", 3, 2), 1);
    assert_eq!(run("v_subrev_u16{_e64}", 2, 3), 1);
    assert_eq!(run("v_add_u32{_e64}", ALL, 3), ALL);
    assert_eq!(run("v_add_u32{_e64}", 1, 3), 4);
    assert_eq!(run("v_sub_u32{_e64}", 1, 3), 0);
    assert_eq!(run("v_subrev_u32{_e64}", 1, 3), 2);
    let sad = vop3("v_sad_u8", 4, [V + 1, V + 2, V + 3]);
    assert!(meaning_of(sad).is_some());
    assert_eq!(meaning_of(sad | CLAMP), None);
}

#[test]
fn shifts_of_pairs() {
    let run = |name: &str, amount: u32, value: u64| {
        let mut wave = Wave::with_active(1);
        wave.set_vector(1, |_| amount);
        wave.set_vector(2, |_| value as u32);
        wave.set_vector(3, |_| (value >> 32) as u32);
        wave.step(vop3(name, 6, [V + 1, V + 2, 0]));
        u64::from(wave.vector(7, 0)) << 32 | u64::from(wave.vector(6, 0))
    };
    assert_eq!(run("v_lshlrev_b64", 33, 3), 6 << 32);
    assert_eq!(run("v_lshlrev_b64", 68, 3), 48);
    assert_eq!(run("v_lshrrev_b64", 33, 6 << 32), 3);
    assert_eq!(run("v_ashrrev_i64", 40, 1 << 63), 0xffff_ffff_ff80_0000);
    assert_eq!(
        run("v_ashrrev_i64", 4, 0x7654_3210_fedc_ba98),
        0x0765_4321_0fed_cba9
    );
}

#[test]
fn choices_by_a_mask() {
    let mut wave = Wave::with_active(u64::MAX);
    wave.set_pair(106, 0x8000_0000_0000_0005);
    wave.set_vector(1, |_| 10);
    wave.set_vector(2, |_| 20);
    wave.step(vop2("v_cndmask_b32{_e32}", 3, V + 1, 2));
    for lane in 0..WAVE_LANES {
        let is_set = [0, 2, 63].contains(&lane);
        assert_eq!(wave.vector(3, lane), if is_set { 20 } else { 10 });
    }
    // The second source is negated: bit 31, as of a floating-point number.
    const NEGATED: u64 = 1 << 62;
    let word = vop3("v_cndmask_b32{_e64}", 3, [V + 1, V + 2, 106]);
    wave.step(word | NEGATED);
    assert_eq!(wave.vector(3, 63), MIN | 20);
    assert_eq!(wave.vector(3, 62), 10);
    // Others do not have negation.
    assert!(meaning_of(word).is_some());
}
