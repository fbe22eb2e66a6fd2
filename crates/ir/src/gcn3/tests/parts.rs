//! Parts of registers (SDWA).

use warpbound_isa::amd::scalar;

use super::machine::{Wave, meaning_of, row};

/// Selections: of the destination with its unused bits, and of the sources with their signs.
struct Parts {
    dest: u64,
    unused: u64,
    sources: [u64; 2],
    signed: [bool; 2],
}

const WHOLE: Parts = Parts {
    dest: 6,
    unused: 0,
    sources: [6, 6],
    signed: [false, false],
};

/// Instruction with sources in v1 and v2 and destination v3.
fn sdwa(name: &str, parts: &Parts) -> u64 {
    let [a, b] = parts.sources;
    let [sign_a, sign_b] = parts.signed.map(u64::from);
    let selected = a << 16 | sign_a << 19 | b << 24 | sign_b << 27;
    row(name) | 3 << 17 | 2 << 9 | (1 | parts.dest << 8 | parts.unused << 11 | selected) << 32
}

fn result(name: &str, parts: &Parts) -> u32 {
    let mut wave = Wave::with_active(1);
    wave.set_vector(1, |_| 0x8182_8384);
    wave.set_vector(2, |_| 0x0102_0304);
    wave.set_vector(3, |_| 0x5555_5555);
    wave.step(sdwa(name, parts));
    wave.vector(3, 0)
}

#[test]
fn selected_sources() {
    for (source, signed, expected) in [
        (0, false, 0x84),
        (1, false, 0x83),
        (2, false, 0x82),
        (3, false, 0x81),
        (4, false, 0x8384),
        (5, false, 0x8182),
        (6, false, 0x8182_8384),
        (1, true, 0xffff_ff83),
        (5, true, 0xffff_8182),
        (6, true, 0x8182_8384),
    ] {
        let sources = [source, 0];
        let signed = [signed, false];
        let parts = Parts {
            sources,
            signed,
            ..WHOLE
        };
        // The second source has the byte 4.
        let found = result("v_or_b32{_sdwa}", &parts);
        assert_eq!(found, expected | 4, "{source} {signed:?}: {found:x}");
    }
    let parts = Parts {
        sources: [0, 3],
        ..WHOLE
    };
    assert_eq!(result("v_lshlrev_b32{_sdwa}", &parts), 1 << 4);
}

#[test]
fn selected_destinations() {
    // The sum of bytes 1: 0x83 + 0x03.
    for (dest, unused, expected) in [
        (0, 0, 0x0000_0086),
        (1, 0, 0x0000_8600),
        (3, 0, 0x8600_0000),
        (4, 0, 0x0000_0086),
        (5, 0, 0x0086_0000),
        (1, 1, 0xffff_8600),
        (5, 1, 0x0086_0000),
        (0, 2, 0x5555_5586),
        (2, 2, 0x5586_5555),
        (4, 2, 0x5555_0086),
        (5, 2, 0x0086_5555),
        (6, 2, 0x0000_0086),
    ] {
        let parts = Parts {
            dest,
            unused,
            sources: [1, 1],
            ..WHOLE
        };
        let found = result("v_add_u32{_sdwa}", &parts);
        assert_eq!(found, expected, "{dest} {unused}: {found:x}");
    }
}

#[test]
fn masks_are_written_whole() {
    let mut wave = Wave::with_active(3);
    wave.set_vector(1, |lane| 0xff00 << lane.min(1));
    wave.set_vector(2, |_| 0xff);
    let word = row("v_cmp_eq_u32") | 2 << 9 | (1 | 1 << 16 | 6 << 24) << 32;
    wave.step(word);
    assert_eq!(wave.pair(scalar::VCC), 1);
    const CLAMP: u64 = 1 << 45;
    assert_eq!(meaning_of(word | CLAMP), None);
    let sum = sdwa("v_add_u32{_sdwa}", &WHOLE);
    assert!(meaning_of(sum).is_some());
    assert_eq!(meaning_of(sum | CLAMP), None);
}
