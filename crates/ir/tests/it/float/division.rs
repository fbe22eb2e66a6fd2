//! The division sequences of compilers, on these operations, against the host's quotients.

use warpbound_ir::float::divide::needs_slow_path;
use warpbound_ir::float::special::{rcp, rcp64h, rsq64h};
use warpbound_ir::float::{Flush, Format, Rounding, double, single};

use super::reference::{Random, specials};

/// The short sequence of CUDA's single division (kernel `f32_division`), with the reciprocal as the
/// hardware may give it: up to one unit off.
fn quotient(a: u32, b: u32, off: i32) -> u32 {
    let fma = |a, b, c| single::fma_nearest(a, b, c, Flush::Keep);
    let minus_b = single::negate(b);
    let y = rcp(b).wrapping_add_signed(off);
    let e = fma(y, minus_b, 1f32.to_bits());
    let y = fma(y, e, y);
    let q = fma(a, y, 0);
    let rest = fma(q, minus_b, a);
    fma(y, rest, q)
}

#[test]
fn short_division_is_right_where_fchk_says_so() {
    let mut random = Random(40);
    let (mut short, mut all) = (0, 0);
    let mut check = |a: u32, b: u32| {
        all += 1;
        if needs_slow_path(a, b) {
            return;
        }
        short += 1;
        let expected = (f32::from_bits(a) / f32::from_bits(b)).to_bits();
        // A significand of ones needs the reciprocal rounded correctly (Markstein, "Computation of
        // elementary functions on the IBM RISC System/6000 processor", 1990).
        let ones = b & 0x7f_ffff == 0x7f_ffff;
        for off in if ones { 0..1 } else { -1..2 } {
            assert_eq!(quotient(a, b, off), expected, "{a:08x} / {b:08x} {off}");
        }
    };
    for _ in 0..200_000 {
        let (a, b) = (
            random.pattern(Format::Single),
            random.pattern(Format::Single),
        );
        check(a as u32, b as u32);
        // At the edges of the condition.
        let exponent = |x: &mut Random| {
            [1, 2, 26, 27, 28, 126, 127, 128, 251, 252, 253, 254][x.below(12) as usize]
        };
        let (p, q) = (exponent(&mut random), exponent(&mut random));
        let sign = 0x807f_ffff;
        check(a as u32 & sign | p << 23, b as u32 & sign | q << 23);
        let distance = 122 + random.below(7) as u32;
        if q + distance < 255 {
            check(
                a as u32 & sign | (q + distance) << 23,
                b as u32 & sign | q << 23,
            );
            check(
                a as u32 & sign | q << 23,
                b as u32 & sign | (q + distance) << 23,
            );
        }
    }
    assert!(short * 3 > all, "{short} of {all}");
}

#[test]
fn fchk_refuses_special_operands() {
    let one = 1f32.to_bits();
    assert!(!needs_slow_path(one, one));
    for x in specials(Format::Single) {
        let x = x as u32;
        if !f32::from_bits(x).is_normal() {
            assert!(needs_slow_path(x, one), "{x:08x}");
            assert!(needs_slow_path(one, x), "{x:08x}");
        }
    }
}

/// The short sequences of CUDA's double division and square root (kernel `f64_division`).
#[test]
fn double_division_and_square_root() {
    let near = Rounding::Nearest;
    let fma = |a, b, c| double::fma(a, b, c, near);
    let one = 1f64.to_bits();
    let mut random = Random(41);
    for _ in 0..10_000 {
        let operand = |random: &mut Random| {
            let exponent = 1023 - 400 + random.below(800);
            random.pattern(Format::Double) & 0x800f_ffff_ffff_ffff | exponent << 52
        };
        let (a, b) = (operand(&mut random), operand(&mut random));
        let minus_b = double::negate(b);
        let y = u64::from(rcp64h((b >> 32) as u32)) << 32 | 1;
        let e = fma(minus_b, y, one);
        let e = fma(e, e, e);
        let y = fma(y, e, y);
        let e = fma(minus_b, y, one);
        let y = fma(y, e, y);
        let q = double::mul(a, y, near);
        let rest = fma(minus_b, q, a);
        let q = fma(y, rest, q);
        let expected = f64::from_bits(a) / f64::from_bits(b);
        assert_eq!(q, expected.to_bits(), "{a:x} / {b:x}");

        let x = double::absolute(a);
        let r = u64::from(rsq64h((x >> 32) as u32)) << 32;
        let e = fma(double::mul(r, r, near), double::negate(x), one);
        let f = fma(e, 0.375f64.to_bits(), 0.5f64.to_bits());
        let r = fma(f, double::mul(r, e, near), r);
        let s = double::mul(r, x, near);
        let rest = fma(s, double::negate(s), x);
        let half = double::mul(r, 0.5f64.to_bits(), near);
        let s = fma(rest, half, s);
        let expected = f64::from_bits(x).sqrt();
        assert_eq!(s, expected.to_bits(), "sqrt {x:x}");
    }
}
