//! Integer operations of a lane.

use super::Kind::{I64, U16, U32, U64};
use super::lane_rule::{Compute, LaneEnv, LaneOutput, LaneRule};
use super::{ComparedBits, Kind};

fn value(inputs: &[Kind], output: Kind, compute: fn(&[u64]) -> u64) -> LaneRule {
    with(
        inputs,
        LaneOutput::Value(output),
        Box::new(move |_, x| Some((compute(x), false))),
    )
}

fn with(inputs: &[Kind], output: LaneOutput, compute: Compute) -> LaneRule {
    LaneRule {
        inputs: inputs.to_vec(),
        output,
        reads_destination: false,
        compute,
        compare: ComparedBits::Exact,
    }
}

fn s16(word: u64) -> i128 {
    (word as u16 as i16).into()
}

fn s32(word: u64) -> i128 {
    (word as u32 as i32).into()
}

/// The low 24 bits as a signed number.
fn s24(word: u64) -> i128 {
    let low = i128::from(word & 0xff_ffff);
    if low >> 23 == 1 { low - (1 << 24) } else { low }
}

fn u24(word: u64) -> u128 {
    u128::from(word & 0xff_ffff)
}

fn byte(word: u64, number: usize) -> i64 {
    (word >> (8 * number) & 0xff) as i64
}

/// Sum of the differences of four bytes.
fn sad(a: u64, b: u64, is_masked: bool) -> u64 {
    (0..4)
        .filter(|&n| !is_masked || byte(b, n) != 0)
        .map(|n| byte(a, n).abs_diff(byte(b, n)))
        .sum()
}

/// Four sums of differences of consecutive groups of bytes, each added to 16 bits of the third operand.
fn quad_sad(x: &[u64], is_masked: bool) -> u64 {
    (0..4).fold(0, |all, n| {
        let sum = sad(x[0] >> (8 * n), x[1], is_masked) + (x[2] >> (16 * n) & 0xffff);
        all | (sum & 0xffff) << (16 * n)
    })
}

fn median<T: Ord + Copy>(a: T, b: T, c: T) -> T {
    a.min(b).max(a.max(b).min(c))
}

pub(super) fn rule(name: &str) -> Option<LaneRule> {
    if let Some(rest) = name
        .strip_prefix("v_cmp_")
        .or_else(|| name.strip_prefix("v_cmpx_"))
    {
        return comparison(rest);
    }
    simple(name)
        .or_else(|| halves(name))
        .or_else(|| packed(name))
        .or_else(|| carries(name))
        .or_else(|| of_lane(name))
}

fn simple(name: &str) -> Option<LaneRule> {
    let two = |compute| Some(value(&[U32, U32], U32, compute));
    let one = |compute| Some(value(&[U32], U32, compute));
    let three = |compute| Some(value(&[U32, U32, U32], U32, compute));
    let shift64 = |kind, compute| Some(value(&[U32, kind], U64, compute));
    match name {
        "v_mov_b32" => one(|x| x[0]),
        "v_not_b32" => one(|x| !x[0] & 0xffff_ffff),
        "v_bfrev_b32" => one(|x| (0..32).fold(0, |all, n| all | (x[0] >> n & 1) << (31 - n))),
        "v_ffbh_u32" => one(|x| {
            let found = (0..32).find(|n| x[0] >> (31 - n) & 1 == 1);
            found.unwrap_or(0xffff_ffff)
        }),
        "v_ffbl_b32" => one(|x| (0..32).find(|n| x[0] >> n & 1 == 1).unwrap_or(0xffff_ffff)),
        "v_ffbh_i32" => one(|x| {
            let found = (0..32).find(|n| x[0] >> (31 - n) & 1 != x[0] >> 31 & 1);
            found.unwrap_or(0xffff_ffff)
        }),
        "v_mul_i32_i24" => two(|x| (s24(x[0]) * s24(x[1])) as u64),
        "v_mul_hi_i32_i24" => two(|x| ((s24(x[0]) * s24(x[1])) >> 32) as u64),
        "v_mul_u32_u24" => two(|x| (u24(x[0]) * u24(x[1])) as u64),
        "v_mul_hi_u32_u24" => two(|x| ((u24(x[0]) * u24(x[1])) >> 32) as u64),
        "v_mul_lo_u32" => two(|x| x[0].wrapping_mul(x[1])),
        "v_mul_hi_u32" => two(|x| (x[0] * x[1]) >> 32),
        "v_mul_hi_i32" => two(|x| ((s32(x[0]) * s32(x[1])) >> 32) as u64),
        "v_min_i32" => two(|x| s32(x[0]).min(s32(x[1])) as u64),
        "v_max_i32" => two(|x| s32(x[0]).max(s32(x[1])) as u64),
        "v_min_u32" => two(|x| x[0].min(x[1])),
        "v_max_u32" => two(|x| x[0].max(x[1])),
        "v_lshrrev_b32" => two(|x| x[1] >> (x[0] & 31)),
        "v_ashrrev_i32" => two(|x| (s32(x[1]) >> (x[0] & 31)) as u64),
        "v_lshlrev_b32" => two(|x| x[1] << (x[0] & 31)),
        "v_and_b32" => two(|x| x[0] & x[1]),
        "v_or_b32" => two(|x| x[0] | x[1]),
        "v_xor_b32" => two(|x| x[0] ^ x[1]),
        "v_bfm_b32" => two(|x| ((1 << (x[0] & 31)) - 1) << (x[1] & 31)),
        "v_bcnt_u32_b32" => two(|x| (0..32).map(|n| x[0] >> n & 1).sum::<u64>() + x[1]),
        "v_lshlrev_b64" => shift64(U64, |x| x[1] << (x[0] & 63)),
        "v_lshrrev_b64" => shift64(U64, |x| x[1] >> (x[0] & 63)),
        "v_ashrrev_i64" => shift64(I64, |x| (x[1] as i64 >> (x[0] & 63)) as u64),
        "v_mad_i32_i24" => three(|x| (s24(x[0]) * s24(x[1]) + s32(x[2])) as u64),
        "v_mad_u32_u24" => three(|x| (u24(x[0]) * u24(x[1])) as u64 + x[2]),
        "v_bfe_u32" => three(|x| x[0] >> (x[1] & 31) & ((1 << (x[2] & 31)) - 1)),
        "v_bfe_i32" => three(|x| {
            let (shifted, bits) = (s32(x[0]) >> (x[1] & 31), x[2] & 31);
            match bits {
                0 => 0,
                bits => (((shifted as u64) << (64 - bits)) as i64 >> (64 - bits)) as u64,
            }
        }),
        "v_bfi_b32" => three(|x| x[0] & x[1] | !x[0] & x[2]),
        "v_alignbit_b32" => three(|x| (x[0] << 32 | x[1]) >> (x[2] & 31)),
        "v_alignbyte_b32" => three(|x| (x[0] << 32 | x[1]) >> (8 * (x[2] & 3))),
        "v_min3_i32" => three(|x| s32(x[0]).min(s32(x[1])).min(s32(x[2])) as u64),
        "v_max3_i32" => three(|x| s32(x[0]).max(s32(x[1])).max(s32(x[2])) as u64),
        "v_med3_i32" => three(|x| median(s32(x[0]), s32(x[1]), s32(x[2])) as u64),
        "v_min3_u32" => three(|x| x[0].min(x[1]).min(x[2])),
        "v_max3_u32" => three(|x| x[0].max(x[1]).max(x[2])),
        "v_med3_u32" => three(|x| median(x[0], x[1], x[2])),
        _ => None,
    }
}

/// Operations on 16 bits; the upper half of the result is 0.
fn halves(name: &str) -> Option<LaneRule> {
    let two = |compute| Some(value(&[U16, U16], U16, compute));
    let three = |compute| Some(value(&[U16, U16, U16], U16, compute));
    match name {
        "v_add_u16" => two(|x| x[0] + x[1]),
        "v_sub_u16" => two(|x| x[0].wrapping_sub(x[1])),
        "v_subrev_u16" => two(|x| x[1].wrapping_sub(x[0])),
        "v_mul_lo_u16" => two(|x| x[0] * x[1]),
        "v_lshlrev_b16" => two(|x| x[1] << (x[0] & 15)),
        "v_lshrrev_b16" => two(|x| x[1] >> (x[0] & 15)),
        "v_ashrrev_i16" => two(|x| (s16(x[1]) >> (x[0] & 15)) as u64),
        "v_max_u16" => two(|x| x[0].max(x[1])),
        "v_min_u16" => two(|x| x[0].min(x[1])),
        "v_max_i16" => two(|x| s16(x[0]).max(s16(x[1])) as u64),
        "v_min_i16" => two(|x| s16(x[0]).min(s16(x[1])) as u64),
        "v_mad_u16" | "v_mad_i16" => three(|x| x[0] * x[1] + x[2]),
        _ => None,
    }
}

/// Operations on bytes and halves of a word.
fn packed(name: &str) -> Option<LaneRule> {
    let three = |compute| Some(value(&[U32, U32, U32], U32, compute));
    let quad = |compute| Some(value(&[U64, U32, U64], U64, compute));
    match name {
        "v_lerp_u8" => three(|x| {
            (0..4).fold(0, |all, n| {
                let sum = byte(x[0], n) + byte(x[1], n) + (byte(x[2], n) & 1);
                all | (sum as u64 >> 1) << (8 * n)
            })
        }),
        "v_sad_u8" => three(|x| sad(x[0], x[1], false) + x[2]),
        "v_sad_hi_u8" => three(|x| (sad(x[0], x[1], false) << 16) + x[2]),
        "v_msad_u8" => three(|x| sad(x[0], x[1], true) + x[2]),
        "v_sad_u16" => three(|x| {
            let half = |word: u64, n: u32| (word >> (16 * n) & 0xffff) as i64;
            (0..2)
                .map(|n| half(x[0], n).abs_diff(half(x[1], n)))
                .sum::<u64>()
                + x[2]
        }),
        "v_sad_u32" => three(|x| x[0].abs_diff(x[1]) + x[2]),
        "v_qsad_pk_u16_u8" => quad(|x| quad_sad(x, false)),
        "v_mqsad_pk_u16_u8" => quad(|x| quad_sad(x, true)),
        "v_perm_b32" => three(|x| {
            let all = x[0] << 32 | x[1];
            (0..4).fold(0, |found, n| {
                let chosen = match byte(x[2], n) {
                    number @ 0..8 => byte(all, number as usize) as u64,
                    number @ 8..12 => match byte(all, 2 * (number as usize - 8) + 1) >> 7 {
                        1 => 0xff,
                        _ => 0,
                    },
                    12 => 0,
                    _ => 0xff,
                };
                found | chosen << (8 * n)
            })
        }),
        "v_cvt_pk_u16_u32" => Some(value(&[U32, U32], U32, |x| {
            x[0].min(0xffff) | x[1].min(0xffff) << 16
        })),
        "v_cvt_pk_i16_i32" => Some(value(&[U32, U32], U32, |x| {
            let half = |word: u64| s32(word).clamp(-0x8000, 0x7fff) as u64 & 0xffff;
            half(x[0]) | half(x[1]) << 16
        })),
        _ => None,
    }
}

/// Operations with a mask: carries and borrows.
fn carries(name: &str) -> Option<LaneRule> {
    let both = |inputs: &[Kind], output, compute: fn(&[u64]) -> (u64, bool)| {
        let compute = move |_: &LaneEnv, x: &[u64]| Some(compute(x));
        Some(with(inputs, LaneOutput::Both(output), Box::new(compute)))
    };
    let chained = |compute: fn(u64, u64, u64) -> (u64, bool)| {
        let compute =
            move |env: &LaneEnv, x: &[u64]| Some(compute(x[0], x[1], x[2] >> env.lane & 1));
        let output = LaneOutput::Both(U32);
        Some(with(&[U32, U32, U64], output, Box::new(compute)))
    };
    match name {
        "v_add_u32" => both(&[U32, U32], U32, |x| {
            (x[0] + x[1], x[0] + x[1] > 0xffff_ffff)
        }),
        "v_sub_u32" => both(&[U32, U32], U32, |x| (x[0].wrapping_sub(x[1]), x[0] < x[1])),
        "v_subrev_u32" => both(&[U32, U32], U32, |x| (x[1].wrapping_sub(x[0]), x[1] < x[0])),
        "v_addc_u32" => chained(|a, b, c| (a + b + c, a + b + c > 0xffff_ffff)),
        "v_subb_u32" => chained(|a, b, c| (a.wrapping_sub(b + c), a < b + c)),
        "v_subbrev_u32" => chained(|a, b, c| (b.wrapping_sub(a + c), b < a + c)),
        "v_mad_u64_u32" => both(&[U32, U32, U64], U64, |x| {
            let sum = u128::from(x[0] * x[1]) + u128::from(x[2]);
            (sum as u64, sum >> 64 != 0)
        }),
        _ => None,
    }
}

/// Operations on the lane's number or on its bit of a mask.
fn of_lane(name: &str) -> Option<LaneRule> {
    let counted = |first: u32| {
        let compute = move |env: &LaneEnv, x: &[u64]| {
            let below = env.lane.saturating_sub(first).min(32);
            let set = (0..below).filter(|n| x[0] >> n & 1 == 1).count();
            Some((set as u64 + x[1], false))
        };
        Some(with(&[U32, U32], LaneOutput::Value(U32), Box::new(compute)))
    };
    match name {
        "v_mbcnt_lo_u32_b32" => counted(0),
        "v_mbcnt_hi_u32_b32" => counted(32),
        "v_cndmask_b32" => {
            let compute = |env: &LaneEnv, x: &[u64]| {
                let chosen = if x[2] >> env.lane & 1 == 1 {
                    x[1]
                } else {
                    x[0]
                };
                Some((chosen, false))
            };
            let output = LaneOutput::Value(U32);
            Some(with(&[U32, U32, U64], output, Box::new(compute)))
        }
        _ => None,
    }
}

/// Comparisons: `lt_i32`.
fn comparison(name: &str) -> Option<LaneRule> {
    let (condition, kind) = name.split_once('_')?;
    let (operand, is_signed) = match kind {
        "i16" => (U16, true),
        "u16" => (U16, false),
        "i32" => (U32, true),
        "u32" => (U32, false),
        "i64" => (I64, true),
        "u64" => (U64, false),
        _ => return None,
    };
    let holds: fn(i128, i128) -> bool = match condition {
        "f" => |_, _| false,
        "lt" => |a, b| a < b,
        "eq" => |a, b| a == b,
        "le" => |a, b| a <= b,
        "gt" => |a, b| a > b,
        "ne" => |a, b| a != b,
        "ge" => |a, b| a >= b,
        "t" => |_, _| true,
        _ => return None,
    };
    let bits = operand.bits();
    let compute = move |_: &LaneEnv, x: &[u64]| {
        let number = |word: u64| {
            let word = i128::from(word);
            match is_signed && word >> (bits - 1) & 1 == 1 {
                true => word - (1i128 << bits),
                false => word,
            }
        };
        Some((0, holds(number(x[0]), number(x[1]))))
    };
    Some(with(
        &[operand, operand],
        LaneOutput::Mask,
        Box::new(compute),
    ))
}
