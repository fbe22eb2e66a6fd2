//! Floating-point operations of a lane.

mod comparison;
mod conversion;
pub(super) mod mode;
mod rules;

use super::exact::{Exact, Number, Rounding};
use super::lane_rule::{LaneEnv, LaneOutput, LaneRule};
use super::{ComparedBits, FloatKind, Kind};
use comparison::comparison;
use conversion::conversion;
use mode::{FloatMode, is_nan, plus, times};
use rules::{kind_of, of_one, to_other};

use FloatKind::{F16, F32, F64};

pub(super) fn rule(name: &str) -> Option<LaneRule> {
    if let Some(rest) = name
        .strip_prefix("v_cmp_")
        .or_else(|| name.strip_prefix("v_cmpx_"))
    {
        return comparison(rest);
    }
    let (stem, kind) = match name.rsplit_once('_')? {
        (stem, "f16") => (stem, F16),
        (stem, "f32") => (stem, F32),
        (stem, "f64") => (stem, F64),
        _ => return conversion(name),
    };
    arithmetic(stem, kind)
        .or_else(|| parts(stem, kind))
        .or_else(|| approximate(stem, kind))
        .or_else(|| conversion(name))
        .or_else(|| cube(stem, kind))
}

fn arithmetic(stem: &str, kind: FloatKind) -> Option<LaneRule> {
    let flip = kind.sign(true);
    match stem {
        "v_add" => of_one(kind, 2, |m, x| m.add(x[0], x[1])),
        "v_sub" => of_one(kind, 2, move |m, x| m.add(x[0], x[1] ^ flip)),
        "v_subrev" => of_one(kind, 2, move |m, x| m.add(x[1], x[0] ^ flip)),
        "v_mul" => of_one(kind, 2, |m, x| m.mul(x[0], x[1])),
        "v_mul_legacy" => of_one(kind, 2, |m, x| m.mul_legacy(x[0], x[1])),
        "v_min" => of_one(kind, 2, |m, x| m.choose(x[0], x[1], false)),
        "v_max" => of_one(kind, 2, |m, x| m.choose(x[0], x[1], true)),
        "v_fma" => of_one(kind, 3, |m, x| m.fma(x[0], x[1], x[2])),
        "v_mad" | "v_madak" => of_one(kind, 3, |m, x| m.mad(x[0], x[1], x[2])),
        // In the text, the constant is the second operand.
        "v_madmk" => of_one(kind, 3, |m, x| m.mad(x[0], x[1], x[2])),
        "v_mac" => of_one(kind, 2, |m, x| m.mad(x[0], x[1], x[2])).map(|rule| LaneRule {
            reads_destination: true,
            ..rule
        }),
        "v_mad_legacy" => of_one(kind, 3, |m, x| {
            let flushing = m.flushing();
            flushing.add(flushing.mul_legacy(x[0], x[1]), x[2])
        }),
        "v_min3" => of_one(kind, 3, |m, x| {
            m.choose(m.choose(x[0], x[1], false), x[2], false)
        }),
        "v_max3" => of_one(kind, 3, |m, x| {
            m.choose(m.choose(x[0], x[1], true), x[2], true)
        }),
        "v_med3" => of_one(kind, 3, |m, x| m.median(x[0], x[1], x[2])),
        "v_trunc" => of_one(kind, 1, |m, x| m.integral(x[0], Rounding::Zero)),
        "v_ceil" => of_one(kind, 1, |m, x| m.integral(x[0], Rounding::Up)),
        "v_floor" => of_one(kind, 1, |m, x| m.integral(x[0], Rounding::Down)),
        "v_rndne" => of_one(kind, 1, |m, x| m.integral(x[0], Rounding::Even)),
        "v_fract" => of_one(kind, 1, |m, x| m.fraction(x[0])),
        _ => None,
    }
}

/// Exponents, mantissas, division.
#[allow(clippy::too_many_lines, reason = "a table: one row per instruction")]
fn parts(stem: &str, kind: FloatKind) -> Option<LaneRule> {
    let operand = kind_of(kind);
    let exponent = |output| {
        to_other(&[operand], output, move |env, x| {
            match FloatMode::of(kind, env.mode).input(x[0]) {
                Number::Finite(x) if !x.is_zero() => {
                    let top = 128 - x.mantissa.leading_zeros() as i32;
                    i64::from(x.exponent + top) as u64
                }
                _ => 0,
            }
        })
    };
    match stem {
        "v_frexp_exp_i32" => exponent(Kind::U32),
        "v_frexp_exp_i16" => exponent(Kind::U16),
        "v_frexp_mant" => of_one(kind, 1, |m, x| match m.input(x[0]) {
            Number::Finite(x) if !x.is_zero() => {
                let top = 128 - x.mantissa.leading_zeros() as i32;
                m.kind.round(
                    Exact {
                        exponent: -top,
                        ..x
                    },
                    Rounding::Even,
                )
            }
            Number::Finite(zero) => m.kind.sign(zero.negative),
            other => m.encode(other),
        }),
        "v_ldexp" => {
            let by = if kind == F16 { Kind::U16 } else { Kind::U32 };
            let compute = move |env: &LaneEnv, x: &[u64]| {
                let by = match by {
                    Kind::U16 => i64::from(x[1] as u16 as i16),
                    _ => i64::from(x[1] as u32 as i32),
                };
                FloatMode::of(kind, env.mode).scale(x[0], by)
            };
            to_other(&[operand, by], operand, compute)
        }
        "v_div_fmas" => {
            let by = if kind == F64 { 128 } else { 64 };
            of_one(kind, 3, |m, x| m.fma(x[0], x[1], x[2])).map(|rule| LaneRule {
                compute: Box::new(move |env: &LaneEnv, x: &[u64]| {
                    let m = FloatMode::of(kind, env.mode);
                    let product = times(m.input(x[0]), m.input(x[1]));
                    let sum = plus(product, m.input(x[2]), m.rounding);
                    // Up for a large addend, else down (CLRX documentation; the manual names one direction only, with
                    // which the divisions of compilers would be wrong).
                    let is_large = kind.field(x[2]) as i32 > kind.bias();
                    let by = if is_large { by } else { -by };
                    let scaled = match sum {
                        Number::Finite(sum) if env.vcc => Number::Finite(Exact {
                            exponent: sum.exponent + by,
                            ..sum
                        }),
                        other => other,
                    };
                    Some((m.encode(scaled), false))
                }),
                ..rule
            })
        }
        "v_div_fixup" => of_one(kind, 3, |_, _| 0).map(|rule| LaneRule {
            compute: Box::new(move |env: &LaneEnv, x: &[u64]| {
                let m = FloatMode::of(kind, env.mode);
                env.is_unknown.set(is_unusual_quotient(kind, x));
                Some((fixup(m, x), false))
            }),
            ..rule
        }),
        "v_div_scale" if kind != F16 => of_one(kind, 3, |_, _| 0).map(|rule| LaneRule {
            output: LaneOutput::Both(operand),
            compute: Box::new(move |env: &LaneEnv, x: &[u64]| {
                let m = FloatMode::of(kind, env.mode);
                let x = [0, 1, 2].map(|n| m.operand(x[n]));
                let (result, flag, is_unknown) = scaled_for_division(m, x);
                env.is_unknown.set(is_unknown);
                Some((result, flag))
            }),
            ..rule
        }),
        _ => None,
    }
}

/// Scales the first operand, which is the second or the third, for the division of the third by the second, and whether
/// the quotient has to be scaled back; then whether the case is not documented.
fn scaled_for_division(m: FloatMode, [of, bottom, top]: [u64; 3]) -> (u64, bool, bool) {
    let kind = m.kind;
    let (far, by, tiny) = match kind {
        F32 => (96, 64, 23),
        _ => (768, 128, 53),
    };
    let number = |bits: u64| match kind {
        F32 => f64::from(f32::from_bits(bits as u32)),
        _ => f64::from_bits(bits),
    };
    let is_subnormal = |a: f64, b: f64| {
        let least = match kind {
            F32 => f64::from(f32::MIN_POSITIVE),
            _ => f64::MIN_POSITIVE,
        };
        a.is_finite() && b.is_finite() && a != 0.0 && (a / b).abs() < least
    };
    let (field_top, field_bottom) = (kind.field(top) as i64, kind.field(bottom) as i64);
    let inverse_is_subnormal = is_subnormal(1.0, number(bottom));
    let quotient_is_subnormal = is_subnormal(number(top), number(bottom));
    let up = |is_scaled: bool| if is_scaled { m.scale(of, by) } else { of };
    let (is_bottom, is_top) = (of == bottom, of == top);
    let (result, flag) = if number(top) == 0.0 || number(bottom) == 0.0 {
        (kind.quiet_nan(), false)
    } else if field_top - field_bottom >= far {
        (up(is_bottom), true)
    } else if field_bottom == 0 {
        (up(true), false)
    } else if inverse_is_subnormal {
        (m.scale(of, -by), false)
    } else if quotient_is_subnormal {
        (up(is_top), true)
    } else {
        (up(field_top <= tiny), false)
    };
    // The first operand has to be one of the others; documents differ where both tests hold.
    let is_unknown = !is_bottom && !is_top || inverse_is_subnormal && quotient_is_subnormal;
    (result, flag, is_unknown)
}

/// Whether the quotient of a division is beyond the format, or its approximation is no normal number: documents differ.
fn is_unusual_quotient(kind: FloatKind, x: &[u64]) -> bool {
    let lowest = match kind {
        F16 => -15,
        F32 => -150,
        F64 => -1075,
    };
    let gap = kind.field(x[2]) as i64 - kind.field(x[1]) as i64;
    is_nan(kind, x[0]) || kind.is_subnormal(x[0]) || gap < lowest
}

/// Repairs a quotient: the first operand, of the third by the second.
fn fixup(m: FloatMode, x: &[u64]) -> u64 {
    let kind = m.kind;
    let (quotient, bottom, top) = (x[0], x[1], x[2]);
    let negative = (bottom ^ top) & kind.sign(true) != 0;
    let is_zero = |x| matches!(x, Number::Finite(x) if x.is_zero());
    let magnitude = quotient & !kind.sign(true);
    match (m.input(top), m.input(bottom)) {
        (Number::Nan(_), _) | (_, Number::Nan(_)) => kind.quiet_nan(),
        (Number::Infinite(_), Number::Infinite(_)) => kind.quiet_nan(),
        (top, bottom) if is_zero(top) && is_zero(bottom) => kind.quiet_nan(),
        (Number::Infinite(_), _) => kind.infinity(negative),
        (_, bottom) if is_zero(bottom) => kind.infinity(negative),
        (_, Number::Infinite(_)) => kind.sign(negative),
        (top, _) if is_zero(top) => kind.sign(negative),
        _ => magnitude | kind.sign(negative),
    }
}

/// Operations that hardware approximates: the correctly rounded result, and the units in the last place of the
/// comparison.
fn approximate(stem: &str, kind: FloatKind) -> Option<LaneRule> {
    let compute: fn(f64) -> f64 = match stem {
        "v_rcp" | "v_rcp_iflag" => |x| 1.0 / x,
        "v_rsq" => |x| 1.0 / x.sqrt(),
        "v_sqrt" => f64::sqrt,
        "v_exp" | "v_exp_legacy" => f64::exp2,
        "v_log" | "v_log_legacy" => f64::log2,
        // The operand is in turns; beyond 256 of them the result is a constant.
        "v_sin" => |x| match x.abs() {
            f64::INFINITY => f64::NAN,
            size if size > 256.0 => 0.0,
            _ => turns(x).sin(),
        },
        "v_cos" => |x| match x.abs() {
            f64::INFINITY => f64::NAN,
            size if size > 256.0 => 1.0,
            _ => turns(x).cos(),
        },
        _ => return None,
    };
    let ulps = match stem {
        "v_sin" | "v_cos" => 4,
        _ => 2,
    };
    let rule = of_one(kind, 1, move |m, x| {
        // Operations of 32 bits have no subnormal numbers (LLVM, "AMDGPU backend").
        let m = if kind == F32 { m.flushing() } else { m };
        let wide = match m.input(x[0]) {
            Number::Nan(_) => f64::NAN,
            Number::Infinite(true) => f64::NEG_INFINITY,
            Number::Infinite(false) => f64::INFINITY,
            Number::Finite(x) => f64::from_bits(F64.round(x, Rounding::Even)),
        };
        match F64.decode(compute(wide).to_bits()) {
            Number::Finite(x) => m.result(x),
            other => m.encode(other),
        }
    })?;
    Some(LaneRule {
        // The sine of an angle near a multiple of half a turn is as exact as the angle.
        compare: match (stem, kind) {
            ("v_sin" | "v_cos", F32) => ComparedBits::Absolute,
            _ => ComparedBits::Ulps(kind, ulps),
        },
        ..rule
    })
}

/// The angle of a number of turns, in radians, of at most half a turn.
fn turns(x: f64) -> f64 {
    (x - x.round()) * std::f64::consts::TAU
}

/// Coordinates on the faces of a cube.
fn cube(stem: &str, kind: FloatKind) -> Option<LaneRule> {
    if kind != F32 {
        return None;
    }
    let finite = |x: &[u64]| {
        let number = |bits: u64| f32::from_bits(bits as u32);
        [number(x[0]), number(x[1]), number(x[2])]
    };
    let is_major = |x: f32, y: f32, z: f32| -> usize {
        if z.abs() >= x.abs() && z.abs() >= y.abs() {
            2
        } else if y.abs() >= x.abs() {
            1
        } else {
            0
        }
    };
    let compute: fn([f32; 3], usize) -> f32 = match stem {
        "v_cubeid" => |v, major| (2 * major) as f32 + f32::from(u8::from(v[major] < 0.0)),
        "v_cubema" => |v, major| 2.0 * v[major],
        "v_cubesc" => |[x, _, z], major| match major {
            2 if z < 0.0 => -x,
            2 | 1 => x,
            _ if x < 0.0 => z,
            _ => -z,
        },
        "v_cubetc" => |[_, y, z], major| match major {
            1 if y < 0.0 => -z,
            1 => z,
            _ => -y,
        },
        _ => return None,
    };
    of_one(F32, 3, move |_, bits| {
        let v = finite(bits);
        compute(v, is_major(v[0], v[1], v[2])).to_bits().into()
    })
}
