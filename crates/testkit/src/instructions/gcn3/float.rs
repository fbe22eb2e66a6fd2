//! Floating-point operations of a lane.

use super::exact::{Exact, Number, Rounding};
use super::lanes::{LaneEnv, LaneOutput, LaneRule};
use super::{ComparedBits, FloatKind, Kind};

use FloatKind::{F16, F32, F64};

/// Arithmetic of a format: rounding, and what happens to subnormal numbers.
#[derive(Clone, Copy)]
struct FloatMode {
    kind: FloatKind,
    rounding: Rounding,
    keeps_inputs: bool,
    keeps_results: bool,
    /// Whether signalling NaNs become quiet in minima and maxima.
    is_ieee: bool,
}

impl FloatMode {
    fn of(kind: FloatKind, mode: u32) -> FloatMode {
        let (rounding, subnormals) = match kind {
            F32 => (mode, mode >> 4),
            F16 | F64 => (mode >> 2, mode >> 6),
        };
        FloatMode {
            kind,
            rounding: Rounding::of(rounding),
            keeps_inputs: subnormals & 1 == 1,
            keeps_results: subnormals & 2 == 2,
            is_ieee: mode >> 9 & 1 == 1,
        }
    }

    /// The same without subnormal numbers.
    fn flushing(self) -> FloatMode {
        FloatMode {
            keeps_inputs: false,
            keeps_results: false,
            ..self
        }
    }

    fn input(self, bits: u64) -> Number {
        self.kind.decode(self.operand(bits))
    }

    /// The operand, or a zero in place of a subnormal one.
    fn operand(self, bits: u64) -> u64 {
        match self.keeps_inputs {
            true => bits,
            false => self.kind.flushed(bits),
        }
    }

    fn result(self, x: Exact) -> u64 {
        let rounded = self.kind.round(x, self.rounding);
        match self.keeps_results {
            true => rounded,
            false => self.kind.flushed(rounded),
        }
    }

    fn encode(self, x: Number) -> u64 {
        match x {
            Number::Nan(_) => self.kind.quiet_nan(),
            Number::Infinite(negative) => self.kind.infinity(negative),
            Number::Finite(x) => self.result(x),
        }
    }

    fn add(self, a: u64, b: u64) -> u64 {
        self.encode(plus(self.input(a), self.input(b), self.rounding))
    }

    fn mul(self, a: u64, b: u64) -> u64 {
        self.encode(times(self.input(a), self.input(b)))
    }

    fn fma(self, a: u64, b: u64, c: u64) -> u64 {
        let product = times(self.input(a), self.input(b));
        self.encode(plus(product, self.input(c), self.rounding))
    }

    /// The product is rounded before the sum; subnormal numbers are zeros throughout.
    fn mad(self, a: u64, b: u64, c: u64) -> u64 {
        let flushing = self.flushing();
        flushing.add(flushing.mul(a, b), c)
    }

    /// A zero, whatever the other factor is.
    fn mul_legacy(self, a: u64, b: u64) -> u64 {
        let is_zero = |x| matches!(self.input(x), Number::Finite(x) if x.is_zero());
        match is_zero(a) || is_zero(b) {
            true => 0,
            false => self.mul(a, b),
        }
    }

    /// The smaller or the greater number; subnormal numbers are kept on this generation.
    fn choose(self, a: u64, b: u64, is_max: bool) -> u64 {
        let nan = |x| match self.kind.decode(x) {
            Number::Nan(signals) => Some(signals),
            _ => None,
        };
        match (nan(a), nan(b)) {
            (Some(true), _) | (_, Some(true)) if self.is_ieee => self.kind.quiet_nan(),
            (Some(_), _) => b,
            (_, Some(_)) => a,
            (None, None) => match (rank(self.kind, a) > rank(self.kind, b)) == is_max {
                true => a,
                false => b,
            },
        }
    }

    fn median(self, a: u64, b: u64, c: u64) -> u64 {
        let is_nan = |x| matches!(self.kind.decode(x), Number::Nan(_));
        if is_nan(a) || is_nan(b) || is_nan(c) {
            return self.choose(self.choose(a, b, false), c, false);
        }
        let mut all = [a, b, c];
        all.sort_by_key(|&x| rank(self.kind, x));
        all[1]
    }

    /// The integer next to the number, as a float; a zero keeps the sign.
    fn integral(self, bits: u64, rounding: Rounding) -> u64 {
        match self.input(bits) {
            Number::Finite(x) => match x.to_integer(rounding) {
                Some(0) => self.kind.sign(x.negative),
                Some(value) => self.kind.round(Exact::integer(value), Rounding::Even),
                None => bits,
            },
            other => self.encode(other),
        }
    }

    /// The part above the integer below, less than 1.
    fn fraction(self, bits: u64) -> u64 {
        let Number::Finite(x) = self.input(bits) else {
            return self.kind.quiet_nan();
        };
        let below = x.to_integer(Rounding::Down).map(|n| Exact::integer(-n));
        let part = match below {
            Some(below) if !x.is_zero() => x.plus(below, self.rounding),
            _ => Exact::new(false, 0, 0),
        };
        let one = self.kind.round(Exact::new(false, 1, 0), Rounding::Even);
        match part.mantissa {
            0 => 0,
            _ => self.result(part).min(one - 1),
        }
    }

    fn scale(self, bits: u64, by: i64) -> u64 {
        match self.input(bits) {
            Number::Finite(x) => {
                let by = by.clamp(-5000, 5000) as i32;
                self.result(Exact {
                    exponent: x.exponent + by,
                    ..x
                })
            }
            other => self.encode(other),
        }
    }
}

/// Position of a number that is no NaN in their order; -0 is before +0.
fn rank(kind: FloatKind, bits: u64) -> i128 {
    let magnitude = i128::from(bits & !kind.sign(true));
    match bits & kind.sign(true) {
        0 => magnitude,
        _ => -magnitude - 1,
    }
}

fn plus(a: Number, b: Number, rounding: Rounding) -> Number {
    match (a, b) {
        (Number::Nan(_), _) | (_, Number::Nan(_)) => Number::Nan(false),
        (Number::Infinite(a), Number::Infinite(b)) if a != b => Number::Nan(false),
        (Number::Infinite(sign), _) | (_, Number::Infinite(sign)) => Number::Infinite(sign),
        (Number::Finite(a), Number::Finite(b)) => Number::Finite(a.plus(b, rounding)),
    }
}

fn times(a: Number, b: Number) -> Number {
    let negative = |x: Number| match x {
        Number::Nan(_) => false,
        Number::Infinite(sign) => sign,
        Number::Finite(x) => x.negative,
    };
    let is_zero = |x: Number| matches!(x, Number::Finite(x) if x.is_zero());
    match (a, b) {
        (Number::Nan(_), _) | (_, Number::Nan(_)) => Number::Nan(false),
        (Number::Finite(a), Number::Finite(b)) => Number::Finite(a.times(b)),
        _ if is_zero(a) || is_zero(b) => Number::Nan(false),
        _ => Number::Infinite(negative(a) != negative(b)),
    }
}

/// Limits a result to 0 to 1; NaN becomes 0 where MODE says so.
pub(super) fn clamp(kind: FloatKind, bits: u64, mode: u32) -> u64 {
    let one = kind.round(Exact::new(false, 1, 0), Rounding::Even);
    match kind.decode(bits) {
        Number::Nan(_) if mode >> 8 & 1 == 1 => 0,
        Number::Nan(_) => bits,
        // -0 is not below 0, so it stays.
        _ if bits == kind.sign(true) => bits,
        _ if bits & kind.sign(true) != 0 => 0,
        _ => bits.min(one),
    }
}

fn kind_of(float: FloatKind) -> Kind {
    match float {
        F16 => Kind::F16,
        F32 => Kind::F32,
        F64 => Kind::F64,
    }
}

/// Operation of one format.
fn of_one(
    kind: FloatKind,
    sources: usize,
    compute: impl Fn(FloatMode, &[u64]) -> u64 + 'static,
) -> Option<LaneRule> {
    let operand = kind_of(kind);
    Some(LaneRule {
        inputs: vec![operand; sources],
        output: LaneOutput::Value(operand),
        reads_destination: false,
        compute: Box::new(move |env: &LaneEnv, x: &[u64]| {
            Some((compute(FloatMode::of(kind, env.mode), x), false))
        }),
        compare: ComparedBits::of(kind),
    })
}

/// Operation with a result of another kind.
fn to_other(
    inputs: &[Kind],
    output: Kind,
    compute: impl Fn(&LaneEnv, &[u64]) -> u64 + 'static,
) -> Option<LaneRule> {
    Some(LaneRule {
        inputs: inputs.to_vec(),
        output: LaneOutput::Value(output),
        reads_destination: false,
        compute: Box::new(move |env: &LaneEnv, x: &[u64]| Some((compute(env, x), false))),
        compare: output.float().map_or(ComparedBits::Exact, ComparedBits::of),
    })
}

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

pub(super) fn is_nan(kind: FloatKind, bits: u64) -> bool {
    matches!(kind.decode(bits), Number::Nan(_))
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

/// Conversions, by the whole name.
#[allow(clippy::too_many_lines, reason = "a table: one row per instruction")]
fn conversion(name: &str) -> Option<LaneRule> {
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

/// Comparisons: `nlt_f32`, `class_f64`.
fn comparison(name: &str) -> Option<LaneRule> {
    let (condition, kind) = name.split_once('_')?;
    let kind = match kind {
        "f16" => F16,
        "f32" => F32,
        "f64" => F64,
        _ => return None,
    };
    let operand = kind_of(kind);
    let (inputs, compute): (Vec<Kind>, super::lanes::Compute) = if condition == "class" {
        let second = if kind == F16 { Kind::U16 } else { Kind::U32 };
        let compute = move |_: &LaneEnv, x: &[u64]| Some((0, x[1] >> class(kind, x[0]) & 1 == 1));
        (vec![operand, second], Box::new(compute))
    } else {
        let holds = condition_holds(condition)?;
        let compute = move |env: &LaneEnv, x: &[u64]| {
            let mode = FloatMode::of(kind, env.mode);
            let order = |bits: u64| match mode.input(bits) {
                Number::Nan(_) => None,
                Number::Finite(x) if x.is_zero() => Some(0),
                _ => Some(rank(kind, bits) + i128::from(bits & kind.sign(true) != 0)),
            };
            let order = order(x[0]).zip(order(x[1])).map(|(a, b)| a.cmp(&b));
            Some((0, holds(order)))
        };
        (vec![operand, operand], Box::new(compute))
    };
    Some(LaneRule {
        inputs,
        output: LaneOutput::Mask,
        reads_destination: false,
        compute,
        compare: ComparedBits::Exact,
    })
}

type Order = Option<std::cmp::Ordering>;

fn condition_holds(condition: &str) -> Option<fn(Order) -> bool> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    Some(match condition {
        "f" => |_| false,
        "lt" => |order| order == Some(Less),
        "eq" => |order| order == Some(Equal),
        "le" => |order| matches!(order, Some(Less | Equal)),
        "gt" => |order| order == Some(Greater),
        "lg" => |order| matches!(order, Some(Less | Greater)),
        "ge" => |order| matches!(order, Some(Greater | Equal)),
        "o" => |order| order.is_some(),
        "u" => |order| order.is_none(),
        "nge" => |order| !matches!(order, Some(Greater | Equal)),
        "nlg" => |order| !matches!(order, Some(Less | Greater)),
        "ngt" => |order| order != Some(Greater),
        "nle" => |order| !matches!(order, Some(Less | Equal)),
        "neq" => |order| order != Some(Equal),
        "nlt" => |order| order != Some(Less),
        "tru" => |_| true,
        _ => return None,
    })
}

/// Number of the class of a float in the mask of `v_cmp_class`.
fn class(kind: FloatKind, bits: u64) -> u32 {
    let positive = match kind.decode(bits) {
        Number::Nan(true) => return 0,
        Number::Nan(false) => return 1,
        Number::Infinite(_) => 9,
        Number::Finite(x) if x.is_zero() => 6,
        Number::Finite(_) if kind.is_subnormal(bits) => 7,
        Number::Finite(_) => 8,
    };
    match bits & kind.sign(true) {
        0 => positive,
        // The classes of negative numbers are in the opposite order.
        _ => 11 - positive,
    }
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
