//! Conversions between floats, and between floats and integers.

use super::super::FloatKind::{self, F16, F32, F64};
use super::super::Kind;
use super::super::exact::{Exact, Number, Rounding};
use super::super::lane_rule::LaneRule;
use super::mode::{FloatMode, is_nan};
use super::rules::{kind_of, to_other};

/// Conversions, by the whole name.
#[allow(clippy::too_many_lines, reason = "a table: one row per instruction")]
pub(in crate::instructions::gcn3) fn conversion(name: &str) -> Option<LaneRule> {
    let to_float = |input: Kind, output: FloatKind, number: fn(u64) -> i128| {
        to_other(&[input], kind_of(output), move |env, x| {
            FloatMode::of(output, env.mode).result(Exact::integer(number(x[0])))
        })
    };
    let to_integer = |input: FloatKind, output: Kind, least: i128, most: i128, half: bool, to| {
        to_other(&[kind_of(input)], output, move |env, x| {
            let value = match FloatMode::of(input, env.mode).input(x[0]) {
                Number::Nan(_) => {
                    // With another rounding than to zero, documents differ on NaN.
                    env.is_unknown.set(to != Rounding::Zero);
                    0
                }
                Number::Infinite(true) => least,
                Number::Infinite(false) => most,
                Number::Finite(x) => {
                    let x = match half {
                        true => x.plus(Exact::new(false, 1, -1), Rounding::Even),
                        false => x,
                    };
                    // A number of more than 120 bits is outside of every type.
                    let beyond = if x.negative { least } else { most };
                    truncated(x, to).unwrap_or(beyond).clamp(least, most)
                }
            };
            value as u64
        })
    };
    let between = |input: FloatKind, output: FloatKind| {
        to_other(&[kind_of(input)], kind_of(output), move |env, x| {
            let (from, to) = (
                FloatMode::of(input, env.mode),
                FloatMode::of(output, env.mode),
            );
            // Narrowing rounds as the formats of 16 and 64 bits do.
            let rounding = FloatMode::of(F64, env.mode).rounding;
            FloatMode { rounding, ..to }.encode(from.input(x[0]))
        })
    };
    let (s32, u32) = ((i32::MIN.into(), i32::MAX.into()), (0, u32::MAX.into()));
    let zero = Rounding::Zero;
    match name {
        "v_cvt_f32_i32" => to_float(Kind::U32, F32, |x| (x as u32 as i32).into()),
        "v_cvt_f32_u32" => to_float(Kind::U32, F32, i128::from),
        "v_cvt_f64_i32" => to_float(Kind::U32, F64, |x| (x as u32 as i32).into()),
        "v_cvt_f64_u32" => to_float(Kind::U32, F64, i128::from),
        "v_cvt_f16_u16" => to_float(Kind::U16, F16, i128::from),
        "v_cvt_f16_i16" => to_float(Kind::U16, F16, |x| (x as u16 as i16).into()),
        "v_cvt_f32_ubyte0" => to_float(Kind::U32, F32, |x| (x & 0xff).into()),
        "v_cvt_f32_ubyte1" => to_float(Kind::U32, F32, |x| (x >> 8 & 0xff).into()),
        "v_cvt_f32_ubyte2" => to_float(Kind::U32, F32, |x| (x >> 16 & 0xff).into()),
        "v_cvt_f32_ubyte3" => to_float(Kind::U32, F32, |x| (x >> 24 & 0xff).into()),
        "v_cvt_u32_f32" => to_integer(F32, Kind::U32, u32.0, u32.1, false, zero),
        "v_cvt_i32_f32" => to_integer(F32, Kind::U32, s32.0, s32.1, false, zero),
        "v_cvt_u32_f64" => to_integer(F64, Kind::U32, u32.0, u32.1, false, zero),
        "v_cvt_i32_f64" => to_integer(F64, Kind::U32, s32.0, s32.1, false, zero),
        "v_cvt_u16_f16" => to_integer(F16, Kind::U16, 0, 0xffff, false, zero),
        "v_cvt_i16_f16" => to_integer(F16, Kind::U16, -0x8000, 0x7fff, false, zero),
        "v_cvt_rpi_i32_f32" => to_integer(F32, Kind::U32, s32.0, s32.1, true, Rounding::Down),
        "v_cvt_flr_i32_f32" => to_integer(F32, Kind::U32, s32.0, s32.1, false, Rounding::Down),
        "v_cvt_f16_f32" => between(F32, F16),
        "v_cvt_f32_f16" => between(F16, F32),
        "v_cvt_f32_f64" => between(F64, F32),
        "v_cvt_f64_f32" => between(F32, F64),
        "v_cvt_off_f32_i4" => to_other(&[Kind::U32], Kind::F32, |_, x| {
            let low = (x[0] & 15) as i128;
            let signed = Exact::integer(if low > 7 { low - 16 } else { low });
            let scaled = Exact {
                exponent: -4,
                ..signed
            };
            F32.round(scaled, Rounding::Even)
        }),
        "v_cvt_pkrtz_f16_f32" => to_other(&[Kind::F32, Kind::F32], Kind::U32, |env, x| {
            let half = |bits| {
                let from = FloatMode::of(F32, env.mode);
                let to = FloatMode {
                    rounding: Rounding::Zero,
                    ..FloatMode::of(F16, env.mode)
                };
                // The bits of NaN are not documented.
                env.is_unknown
                    .set(env.is_unknown.get() || is_nan(F32, bits));
                to.encode(from.input(bits))
            };
            half(x[0]) | half(x[1]) << 16
        }),
        _ => None,
    }
}

/// The integer next to an exact number, which may have a rest.
fn truncated(x: Exact, rounding: Rounding) -> Option<i128> {
    let x = match x.has_rest {
        // Only whether there is a rest counts, so a bit of it stands for all.
        true => Exact {
            mantissa: x.mantissa | 1,
            has_rest: false,
            ..x
        },
        false => x,
    };
    x.to_integer(rounding)
}
