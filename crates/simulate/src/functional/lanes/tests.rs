//! Each operation on rows of 64 lanes is that on the two halves, rows of 32 lanes.

use warpbound_ir::float::convert::{IntegerType, IntegralRounding};
use warpbound_ir::float::special::SpecialFunction;
use warpbound_ir::float::{Comparison, Format};

use super::*;

const ROUNDS: usize = 40;

const FLUSHES: [Flush; 3] = [Flush::Keep, Flush::Ftz, Flush::Fmz];
const FORMATS: [Format; 3] = [Format::Half, Format::Single, Format::Double];

/// Words that are special as integers or as floating-point numbers.
const SPECIAL_WORDS: [u32; 14] = [
    0,
    1,
    31,
    32,
    64,
    0x3c00,
    0x7fff,
    0xffff,
    0x3f80_0000,
    0x7f80_0000,
    0x7fc0_0000,
    0x0000_ffff,
    0x8000_0000,
    0xffff_ffff,
];

/// A random row with many special words.
fn random_row(random: &mut fastrand::Rng) -> LaneValues<64> {
    std::array::from_fn(|_| match random.u8(0..4) {
        0 => SPECIAL_WORDS[random.usize(0..SPECIAL_WORDS.len())],
        1 => random.u32(0..70),
        2 => random.f32().to_bits(),
        _ => random.u32(..),
    })
}

/// A random mask; masks without lanes, with all lanes and with one half are frequent.
fn random_mask(random: &mut fastrand::Rng) -> Mask {
    let mut part = || match random.u8(0..4) {
        0 => 0,
        1 => u32::MAX,
        _ => random.u32(..),
    };
    Mask::from(part()) | Mask::from(part()) << 32
}

fn halves(row: &LaneValues<64>) -> [LaneValues<32>; 2] {
    let [low, high] = [&row[..32], &row[32..]].map(|half| half.try_into().expect("32 lanes"));
    [low, high]
}

fn masks(mask: Mask) -> [Mask; 2] {
    [mask & 0xffff_ffff, mask >> 32]
}

#[test]
fn integer_operations() {
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..ROUNDS {
        let rows = [(); 3].map(|()| random_row(&mut random));
        let [a, b, c] = &rows;
        let [low, high] = [0, 1].map(|half| rows.map(|row| halves(&row)[half]));
        use UnaryOp::*;
        for op in [
            Neg,
            Not,
            AbsS,
            Popc,
            HighestOne,
            HighestNonSign,
            Reverse,
            SignExtend8,
            SignExtend16,
        ] {
            let parts = [&low, &high].map(|[a, ..]| unary(op, a));
            assert_eq!(halves(&unary(op, a)), parts, "{op:?}");
        }
        use BinaryOp::*;
        for op in [
            Add, Sub, Mul, MulHighU, MulHighS, DivS, RemS, And, Or, Xor, Shl, Shr, Sar, LtS, LeS,
            LtU, LeU, Eq, Ne, MinU, MaxU, MinS, MaxS,
        ] {
            let parts = [&low, &high].map(|[a, b, _]| binary(op, a, b));
            assert_eq!(halves(&binary(op, a, b)), parts, "{op:?}");
        }
        use TernaryOp::*;
        let mut ternary_ops = vec![Select, Carry, FunnelRight, FunnelLeft, Permute];
        // All truth tables of three bits.
        ternary_ops.extend((0..=255).map(Lut));
        for op in ternary_ops {
            let parts = [&low, &high].map(|[a, b, c]| ternary(op, a, b, c));
            assert_eq!(halves(&ternary(op, a, b, c)), parts, "{op:?}");
        }
    }
}

/// Floating-point operations with all their parameters.
fn float_ops() -> Vec<FloatOp> {
    use FloatOp::*;
    let mut ops = vec![
        SaturateSingle,
        MinDouble,
        MaxDouble,
        SaturateHalf,
        ReduceAngle,
        ReduceTurns,
        ReduceExponent,
        NeedsSlowPath,
    ];
    for rounding in Rounding::ALL {
        ops.extend([
            AddDouble(rounding),
            MulDouble(rounding),
            FmaDouble(rounding),
        ]);
    }
    ops.extend(Comparison::ALL.map(CompareDouble));
    ops.extend(SpecialFunction::ALL.map(Special));
    for flush in FLUSHES {
        for rounding in Rounding::ALL {
            ops.extend([AddSingle(rounding, flush), FmaSingle(rounding, flush)]);
            ops.extend(Scale::ALL.map(|scale| MulSingle(scale, rounding, flush)));
        }
        for comparison in Comparison::ALL {
            ops.extend([
                CompareSingle(comparison, flush),
                CompareHalf(comparison, flush),
            ]);
        }
        ops.extend([
            MinSingle(flush),
            MaxSingle(flush),
            AddHalf(flush),
            MulHalf(flush),
        ]);
        ops.extend([FmaHalf(flush), WidenHalf(flush), AddSinglesToHalf(flush)]);
        ops.extend([MulSinglesToHalf(flush), FmaSinglesToHalf(flush)]);
        ops.extend(conversions(flush));
    }
    ops
}

/// Conversions with all their parameters.
fn conversions(flush: Flush) -> Vec<FloatOp> {
    let mut ops = Vec::new();
    for from in FORMATS {
        for (to, rounding) in FORMATS
            .into_iter()
            .flat_map(|to| Rounding::ALL.map(|r| (to, r)))
        {
            ops.extend([false, true].map(|saturate| FloatOp::ToFormat {
                from,
                to,
                rounding,
                flush,
                saturate,
            }));
        }
        for integral in IntegralRounding::ALL {
            ops.extend([false, true].map(|saturate| FloatOp::ToIntegral {
                format: from,
                integral,
                flush,
                saturate,
            }));
            ops.extend(IntegerType::ALL.map(|to| FloatOp::ToInteger {
                from,
                to,
                integral,
                flush,
            }));
        }
    }
    for from in IntegerType::ALL {
        for (to, rounding) in FORMATS
            .into_iter()
            .flat_map(|to| Rounding::ALL.map(|r| (to, r)))
        {
            for (absolute, negate) in [(false, false), (true, false), (false, true), (true, true)] {
                ops.push(FloatOp::FromInteger {
                    from,
                    to,
                    rounding,
                    absolute,
                    negate,
                });
            }
        }
    }
    ops
}

/// Low and high words of the results.
fn float_words<const W: usize>(
    op: FloatOp,
    rows: &[LaneValues<W>; FloatOp::MAX_WORDS],
) -> [LaneValues<W>; 2] {
    let (mut low, mut high) = ([0; W], [0; W]);
    float(
        op,
        rows.each_ref(),
        &mut low,
        op.is_wide().then_some(&mut high),
    );
    [low, high]
}

#[test]
fn floating_point_operations() {
    let mut random = fastrand::Rng::with_seed(2);
    for _ in 0..4 {
        let rows = [(); FloatOp::MAX_WORDS].map(|()| random_row(&mut random));
        let parts = [0, 1].map(|half| rows.map(|row| halves(&row)[half]));
        for op in float_ops() {
            let [low, high] = float_words(op, &rows).map(|row| halves(&row));
            for half in [0, 1] {
                let expected = float_words(op, &parts[half]);
                assert_eq!([low[half], high[half]], expected, "{op:?}");
            }
        }
    }
}

#[test]
fn rows_and_masks() {
    let mut random = fastrand::Rng::with_seed(3);
    for _ in 0..100 * ROUNDS {
        let (old, new) = (random_row(&mut random), random_row(&mut random));
        let mask = random_mask(&mut random);
        assert_eq!(halves(&spread(mask)), masks(mask).map(spread), "{mask:#x}");
        assert_eq!(masks(gather(&old)), halves(&old).map(|half| gather(&half)));
        assert_eq!(gather(&spread::<64>(mask)), mask);
        let mut blended = old;
        blend(&mut blended, &new, mask);
        for (half, taken) in masks(mask).into_iter().enumerate() {
            let mut part = halves(&old)[half];
            blend(&mut part, &halves(&new)[half], taken);
            assert_eq!(halves(&blended)[half], part, "{mask:#x}");
        }
        let [low, high] = masks(mask).map(lanes_of::<32>);
        let lanes: Vec<usize> = low.chain(high.map(|lane| lane + 32)).collect();
        assert_eq!(lanes_of::<64>(mask).collect::<Vec<_>>(), lanes);
    }
}

/// Rows of one and of two parts, against lane after lane.
#[test]
fn masks_select_lanes() {
    fn check<const W: usize>(random: &mut fastrand::Rng) {
        let mask = random_mask(random) & all_lanes::<W>();
        let (old, new) = (random_row(random), random_row(random));
        let [old, new] = [old, new].map(|row| std::array::from_fn::<u32, W, _>(|lane| row[lane]));
        let is_in = |lane: usize| mask >> lane & 1 == 1;
        assert_eq!(
            spread::<W>(mask),
            std::array::from_fn(|lane| is_in(lane).into())
        );
        let mut blended = old;
        blend(&mut blended, &new, mask);
        let chosen = |lane| if is_in(lane) { new[lane] } else { old[lane] };
        assert_eq!(blended, std::array::from_fn(chosen));
        assert_eq!(count_lanes::<W>(mask), mask.count_ones().into());
        let lanes: Vec<usize> = (0..W).filter(|&lane| old[lane] != 0).collect();
        assert_eq!(lanes_of::<W>(gather(&old)).collect::<Vec<_>>(), lanes);
    }
    let mut random = fastrand::Rng::with_seed(4);
    for _ in 0..100 * ROUNDS {
        check::<32>(&mut random);
        check::<64>(&mut random);
    }
    assert_eq!(
        (all_lanes::<32>(), all_lanes::<64>()),
        (0xffff_ffff, u64::MAX)
    );
}
