//! Masks that vector instructions write: carries and comparisons.

use warpbound_isa::amd::scalar;

use super::machine::{Wave, assignments, decoded, row, vop2, vop3};
use crate::{Cell, Expr};

const ALL: u32 = u32::MAX;
const V: u64 = 256;

/// Sums of lanes 0 and 1, and the carry mask. Lanes 0, 1, 2 are active, and lane 2 has no carry.
fn carried(word: u64, carry_in: u64, lanes: [(u32, u32); 3]) -> ([u32; 3], u64) {
    let mut wave = Wave::with_active(7);
    wave.set_pair(scalar::VCC, carry_in | 1 << 63);
    let of = |lane: u32| lanes[lane.min(2) as usize];
    wave.set_vector(1, |lane| of(lane).0);
    wave.set_vector(2, |lane| of(lane).1);
    wave.step(word);
    (
        [0, 1, 2].map(|lane| wave.vector(3, lane)),
        wave.pair(scalar::VCC),
    )
}

/// Planted fault: sums without their carry.
#[test]
fn sums_write_the_mask_of_carries() {
    let add = |name| vop2(name, 3, V + 1, 2);
    let lanes = [(ALL, 1), (ALL, ALL), (1, 2)];
    let found = carried(add("v_add_u32{_e32}"), 0, lanes);
    assert_eq!(found, ([0, ALL - 1, 3], 0b011));
    let found = carried(add("v_addc_u32{_e32}"), 0b110, lanes);
    assert_eq!(found, ([0, ALL, 4], 0b011));
    let lanes = [(1, 2), (2, 2), (2, 1)];
    let found = carried(add("v_sub_u32{_e32}"), 0, lanes);
    assert_eq!(found, ([ALL, 0, 1], 0b001));
    let found = carried(add("v_subrev_u32{_e32}"), 0, lanes);
    assert_eq!(found, ([1, 0, ALL], 0b100));
    let found = carried(add("v_subb_u32{_e32}"), 0b010, lanes);
    assert_eq!(found, ([ALL, ALL, 1], 0b011));
    let found = carried(add("v_subbrev_u32{_e32}"), 0b010, lanes);
    assert_eq!(found, ([1, ALL, ALL], 0b110));
    // The carry of s[6:7] in another pair.
    let word = vop3("v_addc_u32{_e64}", 3, [V + 1, V + 2, 6]) | 8 << 8;
    let mut wave = Wave::with_active(u64::MAX);
    wave.set_pair(6, 1 << 40);
    wave.set_vector(1, |_| ALL);
    wave.step(word);
    assert_eq!(wave.pair(8), 1 << 40);
    assert_eq!((wave.vector(3, 40), wave.vector(3, 41)), (0, ALL));
}

#[test]
fn products_of_64_bits() {
    let run = |name: &str, a: u32, b: u32, c: u64| {
        let mut wave = Wave::with_active(1);
        wave.set_vector(1, |_| a);
        wave.set_vector(2, |_| b);
        wave.set_pair(6, c);
        wave.set_pair(10, 0xff);
        wave.step(vop3(name, 4, [V + 1, V + 2, 6]) | 10 << 8);
        let value = u64::from(wave.vector(5, 0)) << 32 | u64::from(wave.vector(4, 0));
        (value, wave.pair(10))
    };
    let square = 0xffff_fffe_0000_0001;
    assert_eq!(run("v_mad_u64_u32", ALL, ALL, 0), (square, 0));
    let added = 0x1_ffff_ffff;
    assert_eq!(run("v_mad_u64_u32", ALL, ALL, added), (0, 1));
    assert_eq!(run("v_mad_u64_u32", 3, 5, 1 << 40), (1 << 40 | 15, 0));
    let (value, _) = run("v_mad_i64_i32", ALL, 5, 3);
    assert_eq!(value, -2i64 as u64);
    let (value, _) = run("v_mad_i64_i32", 1 << 31, 1 << 31, u64::MAX);
    assert_eq!(value, (1 << 62) - 1);
    // The carry of a signed sum is not known.
    let word = vop3("v_mad_i64_i32", 4, [V + 1, V + 2, 6]) | 10 << 8;
    let values = assignments(word).unwrap();
    assert!(values.iter().all(|(dest, _)| dest.is_per_lane()));
    let writes = decoded(word).effects().writes;
    assert!(writes.contains(&Cell::scalar(10).register()));
}

/// Mask of a comparison of v[1:2] with v[4:5] in 64 lanes; `active` of them are active.
fn compared(name: &str, active: u64, a: impl Fn(u32) -> u64, b: u64) -> Wave {
    let mut wave = Wave::with_active(active);
    wave.set_vector(1, |lane| a(lane) as u32);
    wave.set_vector(2, |lane| (a(lane) >> 32) as u32);
    wave.set_vector(4, |_| b as u32);
    wave.set_vector(5, |_| (b >> 32) as u32);
    wave.set_pair(8, u64::MAX);
    wave.step(vop3(name, 8, [V + 1, V + 4, 0]));
    wave
}

#[test]
fn comparisons_give_masks_of_active_lanes() {
    // Lane 0 has less, lane 1 the same, lane 2 more as signed numbers; lane 3 is not active.
    let relations = [
        ("f", 0b000),
        ("lt", 0b001),
        ("eq", 0b010),
        ("le", 0b011),
        ("gt", 0b100),
        ("ne", 0b101),
        ("ge", 0b110),
        ("t", 0b111),
    ];
    for (format, lanes) in [
        ("i16", [0xffff_8000, 1, 2]),
        ("u16", [0xffff_0000, 1, 2]),
        ("i32", [u64::from(ALL), 1, 2]),
        ("u32", [0, 1, 2]),
        ("i64", [1 << 63, 1, 1 << 32]),
        ("u64", [0, 1, 1 << 63]),
    ] {
        for (relation, expected) in relations {
            let of = |lane: u32| lanes[lane as usize % 3];
            let name = format!("v_cmp_{relation}_{format}{{_e64}}");
            let wave = compared(&name, 7, of, 1);
            assert_eq!(wave.pair(8), expected, "{name}");
            assert_eq!(wave.pair(scalar::EXEC), 7, "{name}");
        }
    }
    let wave = compared("v_cmp_lt_u32{_e64}", 1 << 63 | 1, |_| 0, 1);
    assert_eq!(wave.pair(8), 1 << 63 | 1);
    let wave = compared("v_cmp_gt_u64{_e64}", u64::MAX, u64::from, 31);
    assert_eq!(wave.pair(8), 0xffff_ffff << 32);
}

/// Planted fault: v_cmpx that leaves EXEC alone.
#[test]
fn comparisons_that_write_exec() {
    for format in ["i16", "u16", "i32", "u32", "i64", "u64"] {
        let name = format!("v_cmpx_ge_{format}{{_e64}}");
        let wave = compared(&name, 0xff00, u64::from, 12);
        assert_eq!(wave.pair(8), 0xf000, "{name}");
        assert_eq!(wave.pair(scalar::EXEC), 0xf000, "{name}");
    }
    // In 4 bytes: VCC and EXEC; with EXEC as the destination.
    let mut wave = Wave::with_active(0xff);
    wave.set_vector(1, |lane| lane);
    wave.step(row("v_cmpx_lt_u32{_e32}") | 1 << 9 | 130);
    assert_eq!(wave.pair(scalar::VCC), 0xf8);
    assert_eq!(wave.pair(scalar::EXEC), 0xf8);
    let mut wave = Wave::with_active(0xff);
    wave.set_vector(1, |lane| lane);
    wave.step(vop3("v_cmpx_lt_u32{_e64}", 126, [130, V + 1, 0]));
    assert_eq!(wave.pair(scalar::EXEC), 0xf8);
}

/// Analyses of masks find the predicate of a comparison below the ballots.
#[test]
fn masks_are_ballots_of_one_predicate() {
    let values = assignments(row("v_cmp_lt_u32{_e32}") | 1 << 9 | V).unwrap();
    let predicates = values.iter().map(|(_, value)| match value {
        Expr::Ballot(predicate, _) => predicate,
        _ => panic!("no ballot"),
    });
    let predicates: Vec<_> = predicates.collect();
    assert_eq!(predicates.len(), 2);
    assert_eq!(predicates[0], predicates[1]);
}
