//! Floating-point operations on the 32 lanes of a warp: `cargo bench -p warpbound-ir --bench float`.
#![allow(clippy::expect_used, reason = "benchmarks")]

use std::hint::black_box;

use divan::Bencher;
use divan::counter::ItemsCount;
use warpbound_ir::float::convert::{self, IntegerType, IntegralRounding};
use warpbound_ir::float::single::{self, Scale};
use warpbound_ir::float::special::{self, SpecialFunction};
use warpbound_ir::float::{Comparison, Flush, Format, Rounding, double, half};

fn main() {
    divan::main();
}

type Lanes = [u32; 32];

/// Normal numbers between 1/16 and 16, half of them negative.
fn lanes(seed: u32) -> Lanes {
    let mut state = seed;
    std::array::from_fn(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let exponent = 123 + (state >> 28) / 2;
        (state & 0x8000_0000) | exponent << 23 | (state >> 5 & 0x7f_ffff)
    })
}

/// Times one warp instruction; the rate that divan prints is that of lanes.
fn lane_by_lane(bencher: Bencher, operation: impl Fn(u32, u32, u32) -> u32 + Sync) {
    let (a, b, c) = (lanes(1), lanes(2), lanes(3));
    bencher.counter(ItemsCount::new(32usize)).bench(|| {
        let (a, b, c) = (black_box(&a), black_box(&b), black_box(&c));
        let mut result = [0; 32];
        for lane in 0..32 {
            result[lane] = operation(a[lane], b[lane], c[lane]);
        }
        result
    });
}

const FLUSHES: [Flush; 3] = [Flush::Keep, Flush::Ftz, Flush::Fmz];

// As in `single`'s documentation: the modifier is a constant inside the loop.
fn with_flush(
    bencher: Bencher,
    flush: Flush,
    operation: impl Fn(u32, u32, u32, Flush) -> u32 + Sync,
) {
    match flush {
        Flush::Keep => lane_by_lane(bencher, |a, b, c| operation(a, b, c, Flush::Keep)),
        Flush::Ftz => lane_by_lane(bencher, |a, b, c| operation(a, b, c, Flush::Ftz)),
        Flush::Fmz => lane_by_lane(bencher, |a, b, c| operation(a, b, c, Flush::Fmz)),
    }
}

#[divan::bench(args = FLUSHES)]
fn fadd(bencher: Bencher, flush: Flush) {
    with_flush(bencher, flush, |a, b, _, flush| {
        single::add_nearest(a, b, flush)
    });
}

#[divan::bench(args = FLUSHES)]
fn fmul(bencher: Bencher, flush: Flush) {
    with_flush(bencher, flush, |a, b, _, flush| {
        single::mul_nearest(a, b, flush)
    });
}

#[divan::bench(args = FLUSHES)]
fn ffma(bencher: Bencher, flush: Flush) {
    with_flush(bencher, flush, single::fma_nearest);
}

#[divan::bench(args = FLUSHES)]
fn ffma_flush_as_argument(bencher: Bencher, flush: Flush) {
    let flush = black_box(flush);
    lane_by_lane(bencher, |a, b, c| single::fma_nearest(a, b, c, flush));
}

#[divan::bench]
fn ffma_rounding_as_argument(bencher: Bencher) {
    let (rounding, flush) = black_box((Rounding::Nearest, Flush::Keep));
    lane_by_lane(bencher, |a, b, c| single::fma(a, b, c, rounding, flush));
}

#[divan::bench]
fn ffma_rz(bencher: Bencher) {
    lane_by_lane(bencher, |a, b, c| {
        single::fma(a, b, c, Rounding::Zero, Flush::Keep)
    });
}

#[divan::bench]
fn fmul_m2(bencher: Bencher) {
    lane_by_lane(bencher, |a, b, _| {
        single::mul(a, b, Scale::M2, Rounding::Nearest, Flush::Keep)
    });
}

#[divan::bench]
fn fmnmx(bencher: Bencher) {
    lane_by_lane(bencher, |a, b, _| single::min(a, b, Flush::Keep));
}

#[divan::bench]
fn fsetp(bencher: Bencher) {
    let comparison = black_box(Comparison::Geu);
    lane_by_lane(bencher, |a, b, _| {
        single::compare(comparison, a, b, Flush::Keep).into()
    });
}

#[divan::bench]
fn hfma(bencher: Bencher) {
    lane_by_lane(bencher, |a, b, c| {
        half::fma((a >> 16) as u16, (b >> 16) as u16, c as u16, Flush::Keep).into()
    });
}

#[divan::bench]
fn dfma(bencher: Bencher) {
    let wide = |x: u32| f64::from(f32::from_bits(x)).to_bits() | 12345;
    lane_by_lane(bencher, |a, b, c| {
        double::fma(wide(a), wide(b), wide(c), Rounding::Nearest) as u32
    });
}

#[divan::bench]
fn f2i(bencher: Bencher) {
    lane_by_lane(bencher, |a, _, _| {
        convert::float_to_integer(
            a.into(),
            Format::Single,
            IntegerType::S32,
            IntegralRounding::Nearest,
            Flush::Keep,
        ) as u32
    });
}

#[divan::bench]
fn i2f(bencher: Bencher) {
    lane_by_lane(bencher, |a, _, _| {
        let value = IntegerType::S32.read(a.into());
        convert::integer_to_float(value, Format::Single, Rounding::Nearest) as u32
    });
}

#[divan::bench(args = SpecialFunction::ALL)]
fn mufu(bencher: Bencher, function: SpecialFunction) {
    lane_by_lane(bencher, |a, _, _| {
        let x = a & 0x7fff_ffff;
        function.apply(match function {
            SpecialFunction::Sin | SpecialFunction::Cos => special::reduce_angle(x),
            SpecialFunction::Ex2 => special::reduce_exponent(x),
            _ => x,
        })
    });
}
