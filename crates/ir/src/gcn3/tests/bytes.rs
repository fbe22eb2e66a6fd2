//! Bytes of words.

use super::machine::{Wave, meaning_of, vop3};

/// Result of an instruction with three sources.
fn result(name: &str, sources: [u32; 3]) -> u32 {
    let mut wave = Wave::with_active(1);
    for (register, value) in (1..).zip(sources) {
        wave.set_vector(register, |_| value);
    }
    wave.step(vop3(name, 4, [257, 258, 259]));
    wave.vector(4, 0)
}

#[test]
fn permutations() {
    let (high, low) = (0x8877_6655, 0x4433_2211);
    for (selection, expected) in [
        (0x0706_0504, 0x8877_6655),
        (0x0001_0203, 0x1122_3344),
        // Signs of bytes 1, 3, 5, 7.
        (0x0b0a_0908, 0xff00_0000),
        (0x0c0d_ff0c, 0x00ff_ff00),
        (0x070c_000d, 0x8800_11ff),
    ] {
        let found = result("v_perm_b32", [high, low, selection]);
        assert_eq!(found, expected, "{selection:x}: {found:x}");
    }
    let found = result("v_perm_b32", [0, 0x8000_8000, 0x0b0a_0908]);
    assert_eq!(found, 0x0000_ffff);
}

#[test]
fn averages() {
    let found = result("v_lerp_u8", [0xff03_0200, 0xff02_0301, 0x0001_0000]);
    assert_eq!(found, 0xff03_0200);
    assert_eq!(result("v_lerp_u8", [0x01ff, 0x02ff, 0x0101]), 0x02ff);
}

#[test]
fn sums_of_differences() {
    for (name, [a, b, c], expected) in [
        ("v_sad_u8", [0x0102_0304, 0x0403_0201, 100], 108),
        ("v_sad_u8", [0xff00_00ff, 0x00ff_ff00, u32::MAX], 1019),
        ("v_sad_hi_u8", [0x0102_0304, 0x0403_0201, 100], 0x8_0064),
        ("v_sad_u16", [0x0001_0005, 0x0003_0001, 1], 7),
        ("v_sad_u32", [1, u32::MAX, 1], u32::MAX),
        // Bytes 1 and 3 of the second source are 0.
        ("v_msad_u8", [0x0a0b_0c0d, 0x0001_0002, 1], 22),
    ] {
        let found = result(name, [a, b, c]);
        assert_eq!(found, expected, "{name}: {found}");
    }
}

/// Sums at four places of a pair, by hand: (1, 2, 3, 4, 5, 6, 7, 8) against 4, 0, 2, 1 from the lowest byte on.
#[test]
fn sums_of_differences_at_four_places() {
    let sums = |name: &str, dest: u64| {
        let mut wave = Wave::with_active(1);
        for (register, value) in [
            (1, 0x0403_0201),
            (2, 0x0807_0605),
            (3, 0x0102_0004),
            (4, 0x0001_0000),
            (5, 0xffff_0003),
            (6, 7),
            (7, 0xffff_ffff),
        ] {
            wave.set_vector(register, |_| value);
        }
        wave.step(vop3(name, dest, [257, 259, 260]));
        [0, 1, 2, 3].map(|word| wave.vector(dest as u8 + word, 0))
    };
    // |1-4| + |2-0| + |3-2| + |4-1| = 9, then 11, 13, 15; sums of 16 bits wrap around.
    let [low, high, ..] = sums("v_qsad_pk_u16_u8", 20);
    assert_eq!([low, high], [0x000c_0009, 0x000e_0010]);
    // Without the second byte: 7, 8, 9, 10.
    let [low, high, ..] = sums("v_mqsad_pk_u16_u8", 20);
    assert_eq!([low, high], [0x0009_0007, 0x0009_000c]);
    let wide = sums("v_mqsad_u32_u8", 20);
    assert_eq!(wide, [0x0001_0007, 0xffff_000b, 16, 9]);
    // The destination overlaps a source.
    assert_eq!(
        meaning_of(vop3("v_qsad_pk_u16_u8", 2, [257, 259, 260])),
        None
    );
}
