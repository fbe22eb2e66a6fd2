//! Bytes of words: permutations, averages, sums of differences. For example, v_sad_u8 of 0x00000105, 0x00000301 and
//! 10 is 2 + 4 + 10 = 16.

use warpbound_isa::amd::{GcnOpcode, GcnOperand};

use crate::gcn3::expressions::*;
use crate::gcn3::operands::{Operands, register};
use crate::{Cell, Expr, TernaryOp};
use GcnOpcode as Op;

/// Result; `None` if it is unknown or the instruction is another one.
pub(super) fn word(opcode: GcnOpcode, o: &Operands<'_>) -> Option<Expr> {
    let [a, b, c] = [o.word(0, 0)?, o.word(1, 0)?, o.word(2, 0)?];
    let distances = |bits| {
        let pairs = fields(&a, &b, bits).into_iter();
        total(pairs.map(|(a, b)| distance(a, b)))
    };
    Some(match opcode {
        Op::VPermB32 => permuted(&a, &b, &c),
        // Averages of bytes. The lowest bit of each byte of the third source rounds up.
        Op::VLerpU8 => {
            let averages = fields(&a, &b, 8).into_iter().zip(0u32..);
            let averages = averages.map(|((a, b), n)| {
                let rounding = field(c.clone(), 8 * n, 1);
                let average = shr(add(add(a, b), rounding), constant(1));
                shl(average, constant(8 * n))
            });
            averages.reduce(or)?
        }
        Op::VSadU8 => add(distances(8), c),
        Op::VSadHiU8 => add(shl(distances(8), constant(16)), c),
        Op::VSadU16 => add(distances(16), c),
        Op::VSadU32 => add(distance(a, b), c),
        // Bytes of the second source that are 0 do not count.
        Op::VMsadU8 => {
            let pairs = fields(&a, &b, 8).into_iter();
            let counted = pairs.map(|(a, b)| select(b.clone(), distance(a, b), constant(0)));
            add(total(counted), c)
        }
        _ => return None,
    })
}

/// Words of v_qsad and v_mqsad. Each field of the result adds to a field of the third source the sum of differences
/// of the second source and four bytes of the first one; these begin at each of its first four bytes. With `m`, bytes
/// of the second source that are 0 do not count.
///
/// `None` if they are unknown, also if the destination overlaps a source, which assemblers refuse (LLVM,
/// `VOP3_QSAD`).
pub(super) fn at_four_places(opcode: GcnOpcode, o: &Operands<'_>) -> Option<Vec<Expr>> {
    let (is_masked, bits) = match opcode {
        Op::VQsadPkU16U8 => (false, 16),
        Op::VMqsadPkU16U8 => (true, 16),
        Op::VMqsadU32U8 => (true, 32),
        _ => return None,
    };
    let cells = |operand: &GcnOperand| -> Vec<Cell> {
        let words = 0..operand.dwords;
        words.filter_map(|word| register(operand, word)).collect()
    };
    let written = cells(o.dest(0)?);
    let overlaps = |index| {
        let read = o.source(index).map(cells).unwrap_or_default();
        read.iter().any(|cell| written.contains(cell))
    };
    if (0..3).any(overlaps) {
        return None;
    }
    let ([low, high], pattern) = (o.pair(0)?, o.word(1, 0)?);
    let sums = (0..4u32).map(|place| {
        let [bytes, _] = shr64([low.clone(), high.clone()], constant(8 * place));
        let pairs = fields(&bytes, &pattern, 8).into_iter();
        let distances = pairs.map(|(a, b)| match is_masked {
            true => select(b.clone(), distance(a, b), constant(0)),
            false => distance(a, b),
        });
        let at = bits * place;
        let sum = o.word(2, (at / 32) as u8)?;
        Some(match bits {
            16 => low_bits(add(total(distances), field(sum, at % 32, 16)), 16),
            _ => add(total(distances), sum),
        })
    });
    let sums: Vec<Expr> = sums.collect::<Option<_>>()?;
    Some(match bits {
        16 => sums
            .chunks_exact(2)
            .map(|pair| or(pair[0].clone(), shl(pair[1].clone(), constant(16))))
            .collect(),
        _ => sums,
    })
}

/// Fields of two words, in pairs.
fn fields(a: &Expr, b: &Expr, bits: u32) -> Vec<(Expr, Expr)> {
    let pair = |n| {
        (
            field(a.clone(), n * bits, bits),
            field(b.clone(), n * bits, bits),
        )
    };
    (0..32 / bits).map(pair).collect()
}

fn total(terms: impl Iterator<Item = Expr>) -> Expr {
    terms.reduce(add).unwrap_or(constant(0))
}

/// Magnitude of the difference of unsigned numbers.
fn distance(a: Expr, b: Expr) -> Expr {
    sub(max_u(a.clone(), b.clone()), min_u(a, b))
}

/// v_perm_b32: selects bytes of `high:low`. Each byte of the third source selects one: 0 to 7 a byte, 8 to 11 the
/// sign of bytes 1, 3, 5, 7, 12 zero, and above that all ones.
fn permuted(high: &Expr, low: &Expr, selections: &Expr) -> Expr {
    let bytes = (0..4).map(|n| {
        let selection = || field(selections.clone(), 8 * n, 8);
        let shifted = |by| ternary(TernaryOp::FunnelRight, low.clone(), high.clone(), by);
        let byte = low_bits(shifted(shl(selection(), constant(3))), 8);
        // Bit 15 for 8, 31 for 9, and so on.
        let sign_bit = sub(shl(selection(), constant(4)), constant(8 * 16 - 15));
        let sign = mul(low_bits(shifted(sign_bit), 1), constant(0xff));
        let fixed = select(eq(selection(), constant(12)), constant(0), constant(0xff));
        let above = select(lt_u(selection(), constant(12)), sign, fixed);
        let value = select(lt_u(selection(), constant(8)), byte, above);
        shl(value, constant(8 * n))
    });
    bytes.reduce(or).unwrap_or(constant(0))
}
