//! Floating-point instructions from Turing to Blackwell, as compilers write them: which operand goes where. The results of
//! the operations are in `ir/tests/it/float`; here operands are small whole numbers, so that nothing is rounded.

use warpbound_ir::{Cell, Expr, Meaning, UnaryOp, WordHalf, lift};
use warpbound_isa::nvidia::SassProgram;
use warpbound_isa::{Arch, Program, Reg, RegisterKind};
use warpbound_load::Kernel;
use warpbound_testkit::instructions::input_words::InputWords;

/// Registers of a lane.
type Registers = [u32; 256];

/// Word of a compiler, with the register that it writes.
struct Written {
    sm: u32,
    word: u128,
    register: u8,
}

const fn written(sm: u32, register: u8, low: u64, high: u64) -> Written {
    Written {
        sm,
        word: (high as u128) << 64 | low as u128,
        register,
    }
}

fn meaning(of: &Written) -> Option<Meaning> {
    let arch = Arch::from_sm(of.sm).expect("a table");
    let program = SassProgram::decode(arch, &of.word.to_le_bytes()).expect("a whole word");
    let code = lift(&Kernel::default(), &Program::Nvidia(program)).expect("it begins at 0");
    code.ops.into_iter().next().and_then(|op| op.meaning)
}

fn evaluate(expr: &Expr, registers: &Registers) -> u32 {
    let eval = |e: &Expr| evaluate(e, registers);
    match expr {
        Expr::Const(n) => *n,
        Expr::Cell(cell) => {
            let Reg { kind, number } = cell.register();
            assert_eq!(kind, RegisterKind::Vector);
            registers[usize::from(number)]
        }
        Expr::Unary(UnaryOp::Neg, a) => eval(a).wrapping_neg(),
        Expr::Binary(op, a, b) => op.apply(eval(a), eval(b)).expect("no division"),
        Expr::Ternary(op, a, b, c) => op.apply(eval(a), eval(b), eval(c)),
        Expr::Float(op, words, half) => {
            let mut all = [0; 6];
            for (place, word) in all.iter_mut().zip(words.iter()) {
                *place = eval(word);
            }
            let result = op.apply(all);
            match half {
                WordHalf::Low => result as u32,
                WordHalf::High => (result >> 32) as u32,
            }
        }
        other => unreachable!("{other:?}"),
    }
}

/// Compares the register that a word writes with a function of the registers, for random ones.
fn check(
    of: &Written,
    draw: impl Fn(&mut InputWords) -> u32,
    expected: impl Fn(&Registers) -> u32,
) {
    let Some(Meaning::Set(writes)) = meaning(of) else {
        unreachable!("sm_{} {:032x} has no meaning", of.sm, of.word);
    };
    let [(cell, value)] = writes.as_slice() else {
        unreachable!("{writes:?}");
    };
    assert_eq!(*cell, Cell::gpr(of.register));
    let mut random = InputWords::new(7);
    for _ in 0..2000 {
        let registers = std::array::from_fn(|_| draw(&mut random));
        let (got, expected) = (evaluate(value, &registers), expected(&registers));
        assert_eq!(
            got, expected,
            "sm_{} {:032x}: {got:08x} {expected:08x}",
            of.sm, of.word
        );
    }
}

/// Whole number of at most 3 bits and a sign.
fn small(random: &mut InputWords) -> f32 {
    (random.bits() % 15) as f32 - 7.0
}

fn whole_single(random: &mut InputWords) -> u32 {
    small(random).to_bits()
}

/// Pattern of a whole number of at most 7 bits as a half.
fn half(x: f32) -> u32 {
    let bits = x.to_bits();
    let magnitude = match bits << 1 {
        0 => 0,
        // Three bits less of the exponent, whose bias is 112 less, and 13 bits less of the fraction.
        _ => (bits & 0x7fff_ffff) - (112 << 23),
    };
    bits >> 31 << 15 | magnitude >> 13
}

/// Pattern of a whole number of at most 7 bits as bfloat16.
fn bfloat(x: f32) -> u32 {
    x.to_bits() >> 16
}

fn bfloat_pair(random: &mut InputWords) -> u32 {
    bfloat(small(random)) << 16 | bfloat(small(random))
}

/// Applies a function to the low and to the high numbers of registers with pairs of bfloat16.
fn by_pairs(registers: [u32; 3], of: impl Fn([f32; 3]) -> f32) -> u32 {
    let low = of(registers.map(|pair| f32::from_bits(pair << 16)));
    let high = of(registers.map(|pair| f32::from_bits(pair & 0xffff_0000)));
    bfloat(high) << 16 | bfloat(low)
}

fn single(registers: &Registers, number: usize) -> f32 {
    f32::from_bits(registers[number])
}

/// `HSET2.BF.LT.AND R5, R0, R5, PT`
#[test]
fn comparisons_of_halves_write_ones_and_zeros() {
    for (sm, high) in [(75, 0x004f_d000_0380_1080), (120, 0x004f_ca00_0380_1080)] {
        check(
            &written(sm, 5, 0x0000_0005_0005_7233, high),
            |random| half(small(random)) << 16 | half(small(random)),
            |registers| {
                // Of whole numbers with a sign, the patterns order the magnitudes.
                let number = |pattern: u32| match pattern & 0x8000 {
                    0 => i64::from(pattern),
                    _ => -i64::from(pattern & 0x7fff),
                };
                let is_less = |shift: u32| {
                    let halves = [registers[0], registers[5]].map(|pair| pair >> shift & 0xffff);
                    number(halves[0]) < number(halves[1])
                };
                let one = |shift| u32::from(is_less(shift)) * 0x3c00;
                one(16) << 16 | one(0)
            },
        );
    }
}

#[test]
fn the_first_operand_of_a_pack_is_the_high_half() {
    // F2FP.PACK_AB R11, R0, R11 and F2FP.F16.F32.PACK_AB R13, R6, R13
    for (of, a, b) in [
        (
            written(80, 11, 0x0000_000b_000b_723e, 0x004f_ca00_0000_00ff),
            0,
            11,
        ),
        (
            written(90, 13, 0x0000_000d_060d_723e, 0x004f_ca00_0000_00ff),
            6,
            13,
        ),
        (
            written(120, 13, 0x0000_0008_0d0d_723e, 0x004f_ca00_0000_00ff),
            13,
            8,
        ),
    ] {
        check(&of, whole_single, |registers| {
            half(single(registers, a)) << 16 | half(single(registers, b))
        });
    }
    // F2FP.BF16.PACK_AB R13, R0, R13; F2FP.BF16.PACK_AB.RZ R7, R0, R7; F2FP.BF16.F32.PACK_AB R9, R6, R9; with .RZ
    for (of, a, b) in [
        (
            written(80, 13, 0x0000_000d_000d_723e, 0x004f_ca00_0000_10ff),
            0,
            13,
        ),
        (
            written(80, 7, 0x0000_0007_0007_723e, 0x008f_ca00_0001_90ff),
            0,
            7,
        ),
        (
            written(90, 9, 0x0000_0009_0609_723e, 0x004f_ca00_0000_10ff),
            6,
            9,
        ),
        (
            written(90, 15, 0x0000_000f_060f_723e, 0x004f_ca00_0001_90ff),
            6,
            15,
        ),
        (
            written(120, 7, 0x0000_0006_0707_723e, 0x004f_ca00_0000_10ff),
            7,
            6,
        ),
    ] {
        check(&of, whole_single, |registers| {
            bfloat(single(registers, a)) << 16 | bfloat(single(registers, b))
        });
    }
}

#[test]
fn packs_round_as_their_modifiers_say() {
    let word = |random: &mut InputWords| random.word() & 0xbfff_ffff;
    // F2FP.BF16.F32.PACK_AB.RZ R15, R6, R15
    let of = written(90, 15, 0x0000_000f_060f_723e, 0x004f_ca00_0001_90ff);
    check(&of, word, |registers| {
        registers[6] & 0xffff_0000 | registers[15] >> 16
    });
    // F2F.BF16.F32 R11, R6: the nearest number, and the even one of two.
    for sm in [80, 90, 120] {
        let of = written(sm, 11, 0x0000_0006_000b_7304, 0x001e_2400_0020_2000);
        check(&of, word, |registers| {
            let (high, low) = (registers[6] >> 16, registers[6] & 0xffff);
            let up = low > 0x8000 || low == 0x8000 && high & 1 == 1;
            high + u32::from(up)
        });
    }
}

#[test]
fn bytes_are_rounded_and_clamped() {
    let near = |random: &mut InputWords| match random.bits() % 8 {
        0 => f32::NAN.to_bits(),
        1 => random.word(),
        // Halves of whole numbers: every second one is a tie.
        _ => ((random.bits() % 1200) as f32 / 2.0 - 300.0).to_bits(),
    };
    // F2I.U8.NTZ R9, R6; F2I.U8.NTZ R13, R8; F2IP.U8.F32.NTZ R11, RZ, R0, RZ
    for (of, a) in [
        (
            written(75, 9, 0x0000_0006_0009_7305, 0x004e_6400_0020_2000),
            6,
        ),
        (
            written(80, 13, 0x0000_0008_000d_7305, 0x004e_6400_0020_2000),
            8,
        ),
        (
            written(90, 11, 0x0000_0000_ff0b_7243, 0x001f_ca00_0000_04ff),
            0,
        ),
        (
            written(120, 11, 0x0000_0000_ff0b_7243, 0x001f_ca00_0000_04ff),
            0,
        ),
    ] {
        check(&of, near, |registers| {
            // The conversion of the host clamps, and makes a NaN 0.
            u32::from(single(registers, a).round_ties_even() as u8)
        });
    }
    // F2I.U8.TRUNC.NTZ R7, R0; F2IP.U8.F32.TRUNC.NTZ R17, RZ, R6, RZ
    for (of, a) in [
        (
            written(75, 7, 0x0000_0000_0007_7305, 0x001e_2400_0020_e000),
            0,
        ),
        (
            written(90, 17, 0x0000_0006_ff11_7243, 0x002f_ca00_0000_c4ff),
            6,
        ),
    ] {
        check(&of, near, |registers| u32::from(single(registers, a) as u8));
    }
    // F2I.S8.NTZ R11, R8; F2I.S8.NTZ R15, R0
    for (of, a) in [
        (
            written(75, 11, 0x0000_0008_000b_7305, 0x004e_6400_0020_2100),
            8,
        ),
        (
            written(90, 15, 0x0000_0000_000f_7305, 0x004e_2400_0020_2100),
            0,
        ),
    ] {
        check(&of, near, |registers| {
            i32::from(single(registers, a).round_ties_even() as i8).cast_unsigned()
        });
    }
    // F2I.U16.NTZ R13, R10
    let of = written(75, 13, 0x0000_000a_000d_7305, 0x004e_6400_0020_2800);
    check(&of, near, |registers| {
        u32::from(single(registers, 10).round_ties_even() as u16)
    });
    // F2IP.U8.F32.NTZ R11, R1, R0, RZ: where the two bytes go is not known.
    let of = written(90, 11, 0x0000_0000_010b_7243, 0x001f_ca00_0000_04ff);
    assert_eq!(meaning(&of), None);
}

#[test]
fn pairs_of_bfloat16_are_added_and_multiplied() {
    // HFMA2.BF16_V2 R9, R0, R5, R4; HFMA2.MMA.BF16_V2 R11, R0, R7, R6; HFMA2.BF16_V2 R11, R0, R9, R8
    for (of, a, b, c) in [
        (
            written(80, 9, 0x0000_0005_0009_7231, 0x004f_c600_0020_0004),
            0,
            5,
            4,
        ),
        (
            written(90, 11, 0x0000_0007_000b_7235, 0x008f_ce00_0020_0006),
            0,
            7,
            6,
        ),
        (
            written(120, 11, 0x0000_0009_000b_7231, 0x004f_ca00_0020_0008),
            0,
            9,
            8,
        ),
    ] {
        check(&of, bfloat_pair, |registers| {
            let pairs = [a, b, c].map(|number: usize| registers[number]);
            by_pairs(pairs, |[a, b, c]| a * b + c)
        });
    }
    // HFMA2.MMA.BF16_V2 R9, R0, 1, 1, -R7 and HFMA2.BF16_V2 R7, R0, 1, 1, -R9
    for (of, a, c) in [
        (
            written(90, 9, 0x3f80_3f80_0009_7835, 0x002f_e200_0030_0007),
            0,
            7,
        ),
        (
            written(120, 7, 0x3f80_3f80_0007_7831, 0x042f_e400_0030_0009),
            0,
            9,
        ),
    ] {
        check(&of, bfloat_pair, |registers| {
            by_pairs([registers[a], registers[c], 0], |[a, c, _]| a - c)
        });
    }
    // HADD2.BF16_V2 R17, R0, R7 and R17, R0, R9; HMUL2.BF16_V2 R7, R0, R7
    for (of, a, b) in [
        (
            written(90, 17, 0x0000_0007_0011_7230, 0x000f_c400_0020_0000),
            0,
            7,
        ),
        (
            written(120, 17, 0x0000_0009_0011_7230, 0x000f_c400_0020_0000),
            0,
            9,
        ),
    ] {
        check(&of, bfloat_pair, |registers| {
            by_pairs([registers[a], registers[b], 0], |[a, b, _]| a + b)
        });
    }
    let of = written(90, 7, 0x0000_0007_0007_7232, 0x000f_c600_0020_0000);
    check(&of, bfloat_pair, |registers| {
        by_pairs([registers[0], registers[7], 0], |[a, b, _]| a * b)
    });
    // HFMA2.BF16_V2 R9, R0.H1_H1, R5.H0_H0, R4: halves of operands
    let of = written(80, 9, 0x2000_0005_0009_7231, 0x004f_c600_0020_0c04);
    check(&of, bfloat_pair, |registers| {
        let high = registers[0] >> 16;
        let low = registers[5] & 0xffff;
        let pairs = [high << 16 | high, low << 16 | low, registers[4]];
        by_pairs(pairs, |[a, b, c]| a * b + c)
    });
    // With .FTZ, which the PTX manual does not define for these numbers
    let of = written(80, 9, 0x0000_0005_0009_7231, 0x004f_c600_0021_0004);
    assert_eq!(meaning(&of), None);
}
