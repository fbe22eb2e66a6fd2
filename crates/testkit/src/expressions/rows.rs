//! Operators and functions of expressions: one row each, with its CUDA C template and its definition in Rust.
//!
//! Two optimisations of NVRTC 12.9 that change results are avoided: it takes `x >> 37 & 0xffffffffffll` of a `long
//! long` for 27 unsigned bits, and a square by `__mul24` for a non-negative number although it has more than 31 bits.

use half::f16;

use super::directed::{self, Direction};
use super::value::{NativeNumber, Type};

/// Operator or function of expressions.
pub struct OperatorRow {
    /// CUDA C text, with `$0`, `$1`, `$2` for the operands.
    pub template: &'static str,
    /// Types of the operands.
    pub operands: &'static [Type],
    /// Type of the result.
    pub result: Type,
    /// Definition: bits of the result from bits of the operands.
    pub value: fn(&[u64]) -> u64,
    /// Maximum error in units of the last place (CUDA C++ Programming Guide, "Mathematical Functions"; one more for the
    /// error of Rust's function).
    pub ulps: u32,
    /// Whether operands must be variables, since the bits of NaNs from arithmetic are unspecified.
    pub takes_variables_only: bool,
}

macro_rules! rows {
    ($name:ident: $($template:literal ($($operand:ident: $type:ident),*) -> $result:ident
        $(@ $ulps:literal)? $(# $of_variables:literal)? $body:block)*) => {
        const $name: &[OperatorRow] = &[$(OperatorRow {
            template: $template,
            operands: &[$(<$type as NativeNumber>::TYPE),*],
            result: <$result as NativeNumber>::TYPE,
            value: |operands| {
                let mut operands = operands.iter().copied();
                $(let $operand = <$type as NativeNumber>::from_bits(operands.next().unwrap_or(0));)*
                let result: $result = $body;
                result.bits()
            },
            ulps: 0 $(+ $ulps)?,
            takes_variables_only: false $(|| $of_variables)?,
        }),*];
    };
}

/// Returns all rows.
pub fn rows() -> impl Iterator<Item = &'static OperatorRow> {
    let groups = [
        SUMS,
        BITS,
        COMPARISONS,
        CASTS,
        CONVERSIONS,
        FLOATS,
        DOUBLES,
        DIRECTED,
        HALVES,
        APPROXIMATE,
    ];
    groups.into_iter().flatten()
}

rows! { SUMS:
    "(int)((unsigned)$0 + (unsigned)$1)" (a: i32, b: i32) -> i32 { a.wrapping_add(b) }
    "(int)((unsigned)$0 - (unsigned)$1)" (a: i32, b: i32) -> i32 { a.wrapping_sub(b) }
    "(int)((unsigned)$0 * (unsigned)$1)" (a: i32, b: i32) -> i32 { a.wrapping_mul(b) }
    "(int)((unsigned)$0 * (unsigned)$1 + (unsigned)$2)" (a: i32, b: i32, c: i32) -> i32 {
        a.wrapping_mul(b).wrapping_add(c)
    }
    "(int)(0u - (unsigned)$0)" (a: i32) -> i32 { a.wrapping_neg() }
    "($0 / (($1 & 0xffff) + 1))" (a: i32, b: i32) -> i32 { a / ((b & 0xffff) + 1) }
    "($0 % (($1 & 0xffff) + 1))" (a: i32, b: i32) -> i32 { a % ((b & 0xffff) + 1) }
    "($0 / -(($1 & 0xfff) + 2))" (a: i32, b: i32) -> i32 { a / -((b & 0xfff) + 2) }
    "($0 / 7)" (a: i32) -> i32 { a / 7 }
    "($0 % 10)" (a: i32) -> i32 { a % 10 }
    "($0 / -3)" (a: i32) -> i32 { a / -3 }
    "($0 / 16)" (a: i32) -> i32 { a / 16 }
    "($0 + $1)" (a: u32, b: u32) -> u32 { a.wrapping_add(b) }
    "($0 - $1)" (a: u32, b: u32) -> u32 { a.wrapping_sub(b) }
    "($0 * $1)" (a: u32, b: u32) -> u32 { a.wrapping_mul(b) }
    "($0 * $1 + $2)" (a: u32, b: u32, c: u32) -> u32 { a.wrapping_mul(b).wrapping_add(c) }
    "($0 / ($1 | 1u))" (a: u32, b: u32) -> u32 { a / (b | 1) }
    "($0 % ($1 | 1u))" (a: u32, b: u32) -> u32 { a % (b | 1) }
    "($0 / 1000u)" (a: u32) -> u32 { a / 1000 }
    "($0 % 7u)" (a: u32) -> u32 { a % 7 }
    "(long long)((unsigned long long)$0 + (unsigned long long)$1)" (a: i64, b: i64) -> i64 {
        a.wrapping_add(b)
    }
    "(long long)((unsigned long long)$0 - (unsigned long long)$1)" (a: i64, b: i64) -> i64 {
        a.wrapping_sub(b)
    }
    "(long long)((unsigned long long)$0 * (unsigned long long)$1)" (a: i64, b: i64) -> i64 {
        a.wrapping_mul(b)
    }
    "((long long)$0 * (long long)$1)" (a: i32, b: i32) -> i64 { i64::from(a) * i64::from(b) }
    "($0 / (($1 & 0xffffffffffll) + 1ll))" (a: i64, b: i64) -> i64 { a / ((b & 0xff_ffff_ffff) + 1) }
    "($0 % (($1 & 0xffffffffffll) + 1ll))" (a: i64, b: i64) -> i64 { a % ((b & 0xff_ffff_ffff) + 1) }
    "($0 / 1000000007ll)" (a: i64) -> i64 { a / 1_000_000_007 }
    "($0 + $1)" (a: u64, b: u64) -> u64 { a.wrapping_add(b) }
    "($0 - $1)" (a: u64, b: u64) -> u64 { a.wrapping_sub(b) }
    "($0 * $1)" (a: u64, b: u64) -> u64 { a.wrapping_mul(b) }
    "((unsigned long long)$0 * (unsigned long long)$1 + $2)" (a: u32, b: u32, c: u64) -> u64 {
        (u64::from(a) * u64::from(b)).wrapping_add(c)
    }
    "($0 / ($1 | 1ull))" (a: u64, b: u64) -> u64 { a / (b | 1) }
    "($0 % ($1 | 1ull))" (a: u64, b: u64) -> u64 { a % (b | 1) }
    "min($0, $1)" (a: i32, b: i32) -> i32 { a.min(b) }
    "max($0, $1)" (a: i32, b: i32) -> i32 { a.max(b) }
    "min($0, $1)" (a: u32, b: u32) -> u32 { a.min(b) }
    "max($0, $1)" (a: u32, b: u32) -> u32 { a.max(b) }
    "min($0, $1)" (a: i64, b: i64) -> i64 { a.min(b) }
    "max($0, $1)" (a: i64, b: i64) -> i64 { a.max(b) }
    "min($0, $1)" (a: u64, b: u64) -> u64 { a.min(b) }
    "max($0, $1)" (a: u64, b: u64) -> u64 { a.max(b) }
    "abs($0 >> 1)" (a: i32) -> i32 { (a >> 1).abs() }
    "llabs($0 >> 1)" (a: i64) -> i64 { (a >> 1).abs() }
    "__mul24($0 >> 12, $1 >> 20)" (a: i32, b: i32) -> i32 { (a >> 12 << 8 >> 8) * (b >> 20) }
    "__umul24($0, $1)" (a: u32, b: u32) -> u32 { (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff) }
    "__mulhi($0, $1)" (a: i32, b: i32) -> i32 { ((i64::from(a) * i64::from(b)) >> 32) as i32 }
    "__umulhi($0, $1)" (a: u32, b: u32) -> u32 { ((u64::from(a) * u64::from(b)) >> 32) as u32 }
    "__mul64hi($0, $1)" (a: i64, b: i64) -> i64 { ((i128::from(a) * i128::from(b)) >> 64) as i64 }
    "__umul64hi($0, $1)" (a: u64, b: u64) -> u64 { ((u128::from(a) * u128::from(b)) >> 64) as u64 }
    "__sad($0, $1, $2)" (a: i32, b: i32, c: u32) -> u32 { a.abs_diff(b).wrapping_add(c) }
    "__usad($0, $1, $2)" (a: u32, b: u32, c: u32) -> u32 { a.abs_diff(b).wrapping_add(c) }
    "__hadd($0, $1)" (a: i32, b: i32) -> i32 { ((i64::from(a) + i64::from(b)) >> 1) as i32 }
    "__rhadd($0, $1)" (a: i32, b: i32) -> i32 { ((i64::from(a) + i64::from(b) + 1) >> 1) as i32 }
    "__uhadd($0, $1)" (a: u32, b: u32) -> u32 { ((u64::from(a) + u64::from(b)) >> 1) as u32 }
    "__dp4a($0, $1, $2)" (a: i32, b: i32, c: i32) -> i32 {
        let part = |x: i32, at: usize| i32::from(x.to_le_bytes()[at] as i8);
        (0..4).fold(c, |sum, at| sum.wrapping_add(part(a, at) * part(b, at)))
    }
    "__dp4a($0, $1, $2)" (a: u32, b: u32, c: u32) -> u32 {
        let part = |x: u32, at: usize| u32::from(x.to_le_bytes()[at]);
        (0..4).fold(c, |sum, at| sum.wrapping_add(part(a, at) * part(b, at)))
    }
}

rows! { BITS:
    "($0 & $1)" (a: i32, b: i32) -> i32 { a & b }
    "($0 | $1)" (a: u32, b: u32) -> u32 { a | b }
    "($0 ^ $1)" (a: i32, b: i32) -> i32 { a ^ b }
    "(($0 & $1) | (~$0 & $2))" (a: u32, b: u32, c: u32) -> u32 { a & b | !a & c }
    "($0 ^ $1 ^ $2)" (a: i32, b: i32, c: i32) -> i32 { a ^ b ^ c }
    "~$0" (a: u32) -> u32 { !a }
    "($0 & $1)" (a: i64, b: i64) -> i64 { a & b }
    "($0 | $1)" (a: u64, b: u64) -> u64 { a | b }
    "($0 ^ $1)" (a: u64, b: u64) -> u64 { a ^ b }
    "~$0" (a: i64) -> i64 { !a }
    "(int)((unsigned)$0 << ($1 & 31))" (a: i32, b: i32) -> i32 { a << (b & 31) }
    "($0 >> ($1 & 31))" (a: i32, b: i32) -> i32 { a >> (b & 31) }
    "($0 << ($1 & 31u))" (a: u32, b: u32) -> u32 { a << (b & 31) }
    "($0 >> ($1 & 31u))" (a: u32, b: u32) -> u32 { a >> (b & 31) }
    "($0 >> 5)" (a: i32) -> i32 { a >> 5 }
    "(($0 >> 11) & 0x1fu)" (a: u32) -> u32 { a >> 11 & 0x1f }
    "(($0 << 9) + $1)" (a: u32, b: u32) -> u32 { (a << 9).wrapping_add(b) }
    "($0 << ($1 & 63))" (a: u64, b: i32) -> u64 { a << (b & 63) }
    "($0 >> ($1 & 63))" (a: u64, b: i32) -> u64 { a >> (b & 63) }
    "($0 >> ($1 & 63))" (a: i64, b: i32) -> i64 { a >> (b & 63) }
    "($0 << 13)" (a: u64) -> u64 { a << 13 }
    "($0 >> 17)" (a: i64) -> i64 { a >> 17 }
    "__popc($0)" (a: u32) -> i32 { a.count_ones() as i32 }
    "__popcll($0)" (a: u64) -> i32 { a.count_ones() as i32 }
    "__clz($0)" (a: i32) -> i32 { a.leading_zeros() as i32 }
    "__clzll($0)" (a: i64) -> i32 { a.leading_zeros() as i32 }
    "__ffs($0)" (a: i32) -> i32 { if a == 0 { 0 } else { a.trailing_zeros() as i32 + 1 } }
    "__ffsll($0)" (a: i64) -> i32 { if a == 0 { 0 } else { a.trailing_zeros() as i32 + 1 } }
    "__brev($0)" (a: u32) -> u32 { a.reverse_bits() }
    "__brevll($0)" (a: u64) -> u64 { a.reverse_bits() }
    "__byte_perm($0, $1, $2 & 0x7777u)" (a: u32, b: u32, c: u32) -> u32 {
        let bytes = (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
        u32::from_le_bytes(std::array::from_fn(|at| bytes[(c >> (4 * at) & 7) as usize]))
    }
    "permuted($0, $1, $2)" (a: u32, b: u32, c: u32) -> u32 {
        let bytes = (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
        // Bit 3 of a selector repeats the sign (PTX ISA, `prmt`).
        u32::from_le_bytes(std::array::from_fn(|at| {
            let digit = c >> (4 * at) & 15;
            let byte = bytes[(digit & 7) as usize];
            if digit & 8 == 0 { byte } else { (byte as i8 >> 7) as u8 }
        }))
    }
    "__funnelshift_l($0, $1, $2)" (a: u32, b: u32, c: u32) -> u32 {
        (((u64::from(b) << 32 | u64::from(a)) << (c & 31)) >> 32) as u32
    }
    "__funnelshift_r($0, $1, $2)" (a: u32, b: u32, c: u32) -> u32 {
        ((u64::from(b) << 32 | u64::from(a)) >> (c & 31)) as u32
    }
    "__funnelshift_lc($0, $1, $2)" (a: u32, b: u32, c: u32) -> u32 {
        (((u64::from(b) << 32 | u64::from(a)) << c.min(32)) >> 32) as u32
    }
    "__funnelshift_rc($0, $1, $2)" (a: u32, b: u32, c: u32) -> u32 {
        ((u64::from(b) << 32 | u64::from(a)) >> c.min(32)) as u32
    }
}

rows! { COMPARISONS:
    "($0 < $1)" (a: i32, b: i32) -> i32 { (a < b).into() }
    "($0 <= $1)" (a: i32, b: i32) -> i32 { (a <= b).into() }
    "($0 == $1)" (a: i32, b: i32) -> i32 { (a == b).into() }
    "($0 < $1)" (a: u32, b: u32) -> i32 { (a < b).into() }
    "($0 >= $1)" (a: u32, b: u32) -> i32 { (a >= b).into() }
    "($0 < $1)" (a: i64, b: i64) -> i32 { (a < b).into() }
    "($0 != $1)" (a: i64, b: i64) -> i32 { (a != b).into() }
    "($0 <= $1)" (a: u64, b: u64) -> i32 { (a <= b).into() }
    "($0 > $1)" (a: u64, b: u64) -> i32 { (a > b).into() }
    "($0 < $1)" (a: f32, b: f32) -> i32 { (a < b).into() }
    "($0 <= $1)" (a: f32, b: f32) -> i32 { (a <= b).into() }
    "($0 == $1)" (a: f32, b: f32) -> i32 { (a == b).into() }
    "($0 != $1)" (a: f32, b: f32) -> i32 { (a != b).into() }
    "!($0 >= $1)" (a: f32, b: f32) -> i32 { (!matches!(a.partial_cmp(&b), Some(o) if o.is_ge())).into() }
    "($0 > $1)" (a: f64, b: f64) -> i32 { (a > b).into() }
    "($0 >= $1)" (a: f64, b: f64) -> i32 { (a >= b).into() }
    "($0 != $1)" (a: f64, b: f64) -> i32 { (a != b).into() }
    "!($0 < $1)" (a: f64, b: f64) -> i32 { (!matches!(a.partial_cmp(&b), Some(o) if o.is_lt())).into() }
    "($0 && $1)" (a: i32, b: i32) -> i32 { (a != 0 && b != 0).into() }
    "($0 || $1)" (a: i32, b: i32) -> i32 { (a != 0 || b != 0).into() }
    "!$0" (a: i32) -> i32 { (a == 0).into() }
    "($0 ? $1 : $2)" (c: i32, a: i32, b: i32) -> i32 { if c != 0 { a } else { b } }
    "($0 ? $1 : $2)" (c: i32, a: u32, b: u32) -> u32 { if c != 0 { a } else { b } }
    "($0 ? $1 : $2)" (c: i32, a: i64, b: i64) -> i64 { if c != 0 { a } else { b } }
    "($0 ? $1 : $2)" (c: i32, a: u64, b: u64) -> u64 { if c != 0 { a } else { b } }
    "($0 ? $1 : $2)" (c: i32, a: f32, b: f32) -> f32 { if c != 0 { a } else { b } }
    "($0 ? $1 : $2)" (c: i32, a: f64, b: f64) -> f64 { if c != 0 { a } else { b } }
    "($0 < $1 ? $0 : $1)" (a: f32, b: f32) -> f32 { if a < b { a } else { b } }
    "($0 > $1 ? $0 : $1)" (a: f64, b: f64) -> f64 { if a > b { a } else { b } }
}

rows! { CASTS:
    "(int)(signed char)$0" (a: i32) -> i32 { (a as i8).into() }
    "(int)(unsigned char)$0" (a: i32) -> i32 { (a as u8).into() }
    "(int)(short)$0" (a: i32) -> i32 { (a as i16).into() }
    "(int)(unsigned short)$0" (a: u32) -> i32 { (a as u16).into() }
    "(unsigned)(short)($0 >> 16)" (a: u32) -> u32 { (a >> 16) as i16 as u32 }
    "(unsigned)(unsigned char)($0 >> 8)" (a: u32) -> u32 { (a >> 8) as u8 as u32 }
    "(int)$0" (a: u32) -> i32 { a as i32 }
    "(int)$0" (a: i64) -> i32 { a as i32 }
    "(unsigned)$0" (a: i32) -> u32 { a as u32 }
    "(unsigned)($0 >> 32)" (a: u64) -> u32 { (a >> 32) as u32 }
    "(long long)$0" (a: i32) -> i64 { a.into() }
    "(long long)$0" (a: u32) -> i64 { a.into() }
    "(long long)$0" (a: u64) -> i64 { a as i64 }
    "(unsigned long long)$0" (a: u32) -> u64 { a.into() }
    "(unsigned long long)$0" (a: i64) -> u64 { a as u64 }
    "__float_as_int($0)" (a: f32) -> i32 # true { a.to_bits() as i32 }
    "__float_as_uint($0)" (a: f32) -> u32 # true { a.to_bits() }
    "__int_as_float($0)" (a: i32) -> f32 { f32::from_bits(a as u32) }
    "__double_as_longlong($0)" (a: f64) -> i64 # true { a.to_bits() as i64 }
    "__double2hiint($0)" (a: f64) -> i32 # true { (a.to_bits() >> 32) as i32 }
    "__longlong_as_double($0)" (a: i64) -> f64 { f64::from_bits(a as u64) }
    "__hiloint2double($0, $1)" (a: i32, b: i32) -> f64 {
        f64::from_bits(u64::from(a as u32) << 32 | u64::from(b as u32))
    }
}

// Conversions from floats to integers saturate; the result for a NaN depends on the types (PTX ISA, `cvt`).
rows! { CONVERSIONS:
    "(float)$0" (a: i32) -> f32 { a as f32 }
    "(float)$0" (a: u32) -> f32 { a as f32 }
    "(float)$0" (a: i64) -> f32 { a as f32 }
    "(float)$0" (a: u64) -> f32 { a as f32 }
    "(float)(signed char)$0" (a: i32) -> f32 { (a as i8).into() }
    "(float)(unsigned char)($0 >> 16)" (a: u32) -> f32 { ((a >> 16) as u8).into() }
    "(float)(short)$0" (a: i32) -> f32 { (a as i16).into() }
    "(float)(unsigned short)($0 >> 16)" (a: u32) -> f32 { ((a >> 16) as u16).into() }
    "(double)$0" (a: i32) -> f64 { a.into() }
    "(double)$0" (a: u32) -> f64 { a.into() }
    "(double)$0" (a: i64) -> f64 { a as f64 }
    "(double)$0" (a: u64) -> f64 { a as f64 }
    "(double)(unsigned char)($0 >> 8)" (a: u32) -> f64 { ((a >> 8) as u8).into() }
    "(double)$0" (a: f32) -> f64 { a.into() }
    "(float)$0" (a: f64) -> f32 { a as f32 }
    "__int2float_rz($0)" (a: i32) -> f32 { directed::round(a.into(), 0.0, Direction::Zero) }
    "__int2float_ru($0)" (a: i32) -> f32 { directed::round(a.into(), 0.0, Direction::Up) }
    "__uint2float_rd($0)" (a: u32) -> f32 { directed::round(a.into(), 0.0, Direction::Down) }
    "__double2float_rz($0)" (a: f64) -> f32 { directed::round(a, 0.0, Direction::Zero) }
    "__double2float_ru($0)" (a: f64) -> f32 { directed::round(a, 0.0, Direction::Up) }
    "__double2float_rd($0)" (a: f64) -> f32 { directed::round(a, 0.0, Direction::Down) }
    "__float2int_rn($0)" (a: f32) -> i32 { a.round_ties_even() as i32 }
    "__float2int_rz($0)" (a: f32) -> i32 { a as i32 }
    "__float2int_ru($0)" (a: f32) -> i32 { a.ceil() as i32 }
    "__float2int_rd($0)" (a: f32) -> i32 { a.floor() as i32 }
    "__float2uint_rn($0)" (a: f32) -> u32 { a.round_ties_even() as u32 }
    "__float2uint_rz($0)" (a: f32) -> u32 { a as u32 }
    "__float2ll_rz($0)" (a: f32) -> i64 { if a.is_nan() { i64::MIN } else { a as i64 } }
    "__float2ull_rn($0)" (a: f32) -> u64 { if a.is_nan() { 1 << 63 } else { a.round_ties_even() as u64 } }
    "__double2int_rn($0)" (a: f64) -> i32 { if a.is_nan() { i32::MIN } else { a.round_ties_even() as i32 } }
    "__double2int_rd($0)" (a: f64) -> i32 { if a.is_nan() { i32::MIN } else { a.floor() as i32 } }
    "__double2uint_rz($0)" (a: f64) -> u32 { if a.is_nan() { 1 << 31 } else { a as u32 } }
    "__double2ll_rn($0)" (a: f64) -> i64 { if a.is_nan() { i64::MIN } else { a.round_ties_even() as i64 } }
    "__double2ll_rz($0)" (a: f64) -> i64 { if a.is_nan() { i64::MIN } else { a as i64 } }
    "__double2ull_ru($0)" (a: f64) -> u64 { if a.is_nan() { 1 << 63 } else { a.ceil() as u64 } }
}

/// Minimum or maximum of two floats: -0 is less than +0, and a NaN loses against a number.
macro_rules! chosen {
    ($a:expr, $b:expr, $less:ident) => {
        if $a.is_nan() {
            $b
        } else if $b.is_nan() || $a.total_cmp(&$b).$less() {
            $a
        } else {
            $b
        }
    };
}

rows! { FLOATS:
    "($0 + $1)" (a: f32, b: f32) -> f32 { a + b }
    "($0 - $1)" (a: f32, b: f32) -> f32 { a - b }
    "($0 * $1)" (a: f32, b: f32) -> f32 { a * b }
    "($0 / $1)" (a: f32, b: f32) -> f32 { a / b }
    "($0 * $1 + $2)" (a: f32, b: f32, c: f32) -> f32 { a * b + c }
    "($0 * 2.0f)" (a: f32) -> f32 { a * 2.0 }
    "(-$0)" (a: f32) -> f32 { -a }
    "fabsf($0)" (a: f32) -> f32 { a.abs() }
    "fminf($0, $1)" (a: f32, b: f32) -> f32 { chosen!(a, b, is_lt) }
    "fmaxf($0, $1)" (a: f32, b: f32) -> f32 { chosen!(a, b, is_gt) }
    "fmaf($0, $1, $2)" (a: f32, b: f32, c: f32) -> f32 { a.mul_add(b, c) }
    "fmaf(-$0, $1, fabsf($2))" (a: f32, b: f32, c: f32) -> f32 { (-a).mul_add(b, c.abs()) }
    "__saturatef($0)" (a: f32) -> f32 { if a > 0.0 { a.min(1.0) } else { 0.0 } }
    "__saturatef($0 * $1)" (a: f32, b: f32) -> f32 {
        let product = a * b;
        if product > 0.0 { product.min(1.0) } else { 0.0 }
    }
    "sqrtf($0)" (a: f32) -> f32 { a.sqrt() }
    "__frcp_rn($0)" (a: f32) -> f32 { 1.0 / a }
    "__frsqrt_rn($0)" (a: f32) -> f32 @ 1 { (1.0 / f64::from(a).sqrt()) as f32 }
    "floorf($0)" (a: f32) -> f32 { a.floor() }
    "ceilf($0)" (a: f32) -> f32 { a.ceil() }
    "truncf($0)" (a: f32) -> f32 { a.trunc() }
    "rintf($0)" (a: f32) -> f32 { a.round_ties_even() }
    "fmodf($0, $1)" (a: f32, b: f32) -> f32 { a % b }
}

rows! { DOUBLES:
    "($0 + $1)" (a: f64, b: f64) -> f64 { a + b }
    "($0 - $1)" (a: f64, b: f64) -> f64 { a - b }
    "($0 * $1)" (a: f64, b: f64) -> f64 { a * b }
    "($0 / $1)" (a: f64, b: f64) -> f64 { a / b }
    "(-$0)" (a: f64) -> f64 { -a }
    "fabs($0)" (a: f64) -> f64 { a.abs() }
    "fmin($0, $1)" (a: f64, b: f64) -> f64 { chosen!(a, b, is_lt) }
    "fmax($0, $1)" (a: f64, b: f64) -> f64 { chosen!(a, b, is_gt) }
    "fma($0, $1, $2)" (a: f64, b: f64, c: f64) -> f64 { a.mul_add(b, c) }
    "sqrt($0)" (a: f64) -> f64 { a.sqrt() }
    "__drcp_rn($0)" (a: f64) -> f64 { 1.0 / a }
    "floor($0)" (a: f64) -> f64 { a.floor() }
    "ceil($0)" (a: f64) -> f64 { a.ceil() }
    "trunc($0)" (a: f64) -> f64 { a.trunc() }
    "rint($0)" (a: f64) -> f64 { a.round_ties_even() }
}

rows! { DIRECTED:
    "__fadd_rz($0, $1)" (a: f32, b: f32) -> f32 { directed::add(a, b, Direction::Zero) }
    "__fadd_ru($0, $1)" (a: f32, b: f32) -> f32 { directed::add(a, b, Direction::Up) }
    "__fadd_rd($0, $1)" (a: f32, b: f32) -> f32 { directed::add(a, b, Direction::Down) }
    "__fmul_rz($0, $1)" (a: f32, b: f32) -> f32 { directed::mul(a, b, Direction::Zero) }
    "__fmul_ru($0, $1)" (a: f32, b: f32) -> f32 { directed::mul(a, b, Direction::Up) }
    "__fmul_rd($0, $1)" (a: f32, b: f32) -> f32 { directed::mul(a, b, Direction::Down) }
    "__fmaf_rz($0, $1, $2)" (a: f32, b: f32, c: f32) -> f32 { directed::fma(a, b, c, Direction::Zero) }
    "__fmaf_ru($0, $1, $2)" (a: f32, b: f32, c: f32) -> f32 { directed::fma(a, b, c, Direction::Up) }
    "__fmaf_rd($0, $1, $2)" (a: f32, b: f32, c: f32) -> f32 { directed::fma(a, b, c, Direction::Down) }
}

// Halves are the low 16 bits of unsigned numbers, and the functions are in the prelude of `generate.rs`.
rows! { HALVES:
    "half_of($0)" (a: f32) -> f32 { f16::from_f32(a).to_f32() }
    "float_of_half($0)" (a: u32) -> f32 { f16::from_bits(a as u16).to_f32() }
    "half_sum($0, $1)" (a: u32, b: u32) -> f32 {
        // The significand of a single has 24 = 2 x 11 + 2 bits, so rounding to a single first is harmless (Figueroa
        // 1995).
        let [a, b] = [a, b].map(|x| f16::from_bits(x as u16).to_f32());
        f16::from_f32(a + b).to_f32()
    }
    "half_product($0, $1)" (a: u32, b: u32) -> f32 {
        let [a, b] = [a, b].map(|x| f16::from_bits(x as u16).to_f32());
        f16::from_f32(a * b).to_f32()
    }
}

rows! { APPROXIMATE:
    "rsqrtf($0)" (a: f32) -> f32 @ 3 { (1.0 / f64::from(a).sqrt()) as f32 }
    "sinf($0)" (a: f32) -> f32 @ 3 { f64::from(a).sin() as f32 }
    "cosf($0)" (a: f32) -> f32 @ 3 { f64::from(a).cos() as f32 }
    "tanf($0)" (a: f32) -> f32 @ 5 { f64::from(a).tan() as f32 }
    "expf($0)" (a: f32) -> f32 @ 3 { f64::from(a).exp() as f32 }
    "exp2f($0)" (a: f32) -> f32 @ 3 { f64::from(a).exp2() as f32 }
    "logf($0)" (a: f32) -> f32 @ 2 { f64::from(a).ln() as f32 }
    "log2f($0)" (a: f32) -> f32 @ 4 { f64::from(a).log2() as f32 }
    "log10f($0)" (a: f32) -> f32 @ 4 { f64::from(a).log10() as f32 }
    "cbrtf($0)" (a: f32) -> f32 @ 2 { f64::from(a).cbrt() as f32 }
    "hypotf($0, $1)" (a: f32, b: f32) -> f32 @ 4 { f64::from(a).hypot(b.into()) as f32 }
    "atanf($0)" (a: f32) -> f32 @ 3 { f64::from(a).atan() as f32 }
    "tanhf($0)" (a: f32) -> f32 @ 3 { f64::from(a).tanh() as f32 }
    "powf($0, $1)" (a: f32, b: f32) -> f32 @ 10 { f64::from(a).powf(b.into()) as f32 }
    "exp($0)" (a: f64) -> f64 @ 2 { a.exp() }
    "log($0)" (a: f64) -> f64 @ 2 { a.ln() }
    "sin($0)" (a: f64) -> f64 @ 3 { a.sin() }
    "cos($0)" (a: f64) -> f64 @ 3 { a.cos() }
    "cbrt($0)" (a: f64) -> f64 @ 3 { a.cbrt() }
}
