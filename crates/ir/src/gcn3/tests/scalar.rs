//! Scalar instructions.

use warpbound_isa::amd::{WAVE_LANES, scalar};
use warpbound_isa::instr::MemorySpace;
use warpbound_isa::{Reg, SpecialReg};

use super::machine::{Wave, assignments, meaning_of, row, sop1, sop2};
use crate::{Cell, Expr, Meaning};

const ALL: u32 = u32::MAX;
const MIN: u32 = 1 << 31;

/// Result and SCC of an instruction with sources in s4 and s6, destination s8; SCC is `code` before.
fn with_words(name: &str, a: u32, b: u32, code: u32) -> (u32, u32) {
    let mut wave = Wave::default();
    wave.set_scalar(4, a);
    wave.set_scalar(6, b);
    wave.set_scalar(scalar::SCC, code);
    wave.step(sop2(name, 8, 4, 6));
    (wave.scalar(8), wave.scalar(scalar::SCC))
}

/// The same with pairs; the second source is a pair, or a word in its low half.
fn with_pairs(name: &str, a: u64, b: u64, code: u32) -> (u64, u32) {
    let mut wave = Wave::default();
    wave.set_pair(4, a);
    wave.set_pair(6, b);
    wave.set_scalar(scalar::SCC, code);
    wave.step(sop2(name, 8, 4, 6));
    (wave.pair(8), wave.scalar(scalar::SCC))
}

/// Result and SCC of an instruction with one source, the pair s4; the destination is the pair s8, with `old` before.
fn with_source(name: &str, a: u64, old: u64, code: u32) -> (u64, u32) {
    let mut wave = Wave::default();
    wave.set_pair(4, a);
    wave.set_pair(8, old);
    wave.set_scalar(scalar::SCC, code);
    wave.step(sop1(name, 8, 4));
    (wave.pair(8), wave.scalar(scalar::SCC))
}

#[test]
fn sums_and_differences() {
    for (name, a, b, code, expected) in [
        ("s_add_u32", ALL, 1, 0, (0, 1)),
        ("s_add_u32", 1, 2, 1, (3, 0)),
        ("s_addc_u32", ALL, 0, 1, (0, 1)),
        ("s_addc_u32", ALL, ALL, 1, (ALL, 1)),
        ("s_addc_u32", 1, 2, 0, (3, 0)),
        ("s_sub_u32", 0, 1, 0, (ALL, 1)),
        ("s_sub_u32", 3, 3, 1, (0, 0)),
        ("s_subb_u32", 3, 3, 1, (ALL, 1)),
        ("s_subb_u32", 3, ALL, 1, (3, 1)),
        ("s_subb_u32", 4, 3, 1, (0, 0)),
        ("s_subb_u32", 0, 0, 0, (0, 0)),
        ("s_add_i32", 0x7fff_ffff, 1, 0, (MIN, 1)),
        ("s_add_i32", ALL, 1, 1, (0, 0)),
        ("s_add_i32", MIN, MIN, 0, (0, 1)),
        ("s_sub_i32", MIN, 1, 0, (0x7fff_ffff, 1)),
        ("s_sub_i32", 0, MIN, 0, (MIN, 1)),
        ("s_sub_i32", 5, 7, 1, (-2i32 as u32, 0)),
        ("s_mul_i32", 0x1_0001, 0x1_0001, 1, (0x2_0001, 1)),
        ("s_absdiff_i32", 3, 10, 0, (7, 1)),
        ("s_absdiff_i32", 3, 3, 1, (0, 0)),
        ("s_min_i32", ALL, 1, 0, (ALL, 1)),
        ("s_min_i32", 1, ALL, 1, (ALL, 0)),
        ("s_min_i32", 1, 1, 1, (1, 0)),
        ("s_min_u32", ALL, 1, 1, (1, 0)),
        // SCC keeps its value in the simulator; analyses do not know it.
        ("s_max_i32", ALL, 1, 0, (1, 0)),
        ("s_max_u32", ALL, 1, 0, (ALL, 0)),
        ("s_cselect_b32", 5, 6, 1, (5, 1)),
        ("s_cselect_b32", 5, 6, 0, (6, 0)),
    ] {
        assert_eq!(with_words(name, a, b, code), expected, "{name} {a:x} {b:x}");
    }
}

#[test]
fn logic_of_words_and_pairs() {
    for (name, expected) in [
        ("and", 0x8000),
        ("or", 0xe000),
        ("xor", 0x6000),
        ("andn2", 0x4000),
        ("orn2", 0xffff_dfff),
        ("nand", 0xffff_7fff),
        ("nor", 0xffff_1fff),
        ("xnor", 0xffff_9fff),
    ] {
        let (a, b) = (0xc000, 0xa000);
        let word = with_words(&format!("s_{name}_b32"), a, b, 0);
        assert_eq!(word, (expected, 1), "{name}");
        let above = if expected >> 31 == 1 { ALL } else { 0 };
        let pair = with_pairs(&format!("s_{name}_b64"), a.into(), b.into(), 0);
        let expected = u64::from(above) << 32 | u64::from(expected);
        assert_eq!(pair, (expected, 1), "{name}");
    }
    assert_eq!(with_words("s_and_b32", 1, 2, 1), (0, 0));
    assert_eq!(with_pairs("s_and_b64", 1 << 40, 1 << 40, 0), (1 << 40, 1));
    assert_eq!(with_pairs("s_xor_b64", 7 << 40, 7 << 40, 1), (0, 0));
    assert_eq!(with_pairs("s_cselect_b64", 7 << 40, 9, 1), (7 << 40, 1));
    assert_eq!(with_pairs("s_cselect_b64", 7 << 40, 9, 0), (9, 0));
}

/// Analyses of masks read these forms.
#[test]
fn masks_are_combined_word_by_word() {
    let values = assignments(sop2("s_andn2_b64", 126, 126, 106)).unwrap();
    let [exec, vcc] = [126, 106].map(|number| Expr::Cell(Cell::scalar(number)));
    let expected = Expr::binary(
        crate::BinaryOp::And,
        exec,
        Expr::unary(crate::UnaryOp::Not, vcc),
    );
    assert_eq!(values[0], (Cell::scalar(126), expected));
    let values = assignments(sop1("s_mov_b64", 10, 193)).unwrap();
    assert_eq!(values[1], (Cell::scalar(11), Expr::Const(ALL)));
}

#[test]
fn shifts_take_amounts_modulo_their_size() {
    for (name, a, b, expected) in [
        ("s_lshl_b32", 1, 33, (2, 1)),
        ("s_lshl_b32", MIN, 1, (0, 0)),
        ("s_lshr_b32", MIN, 31, (1, 1)),
        ("s_ashr_i32", MIN, 31, (ALL, 1)),
        ("s_ashr_i32", MIN, 32, (MIN, 1)),
    ] {
        assert_eq!(with_words(name, a, b, 0), expected, "{name} {b}");
    }
    for (name, a, b, expected) in [
        ("s_lshl_b64", 1, 32, (1 << 32, 1)),
        ("s_lshl_b64", 3, 63, (1 << 63, 1)),
        ("s_lshl_b64", 3, 64, (3, 1)),
        ("s_lshr_b64", 1 << 63, 63, (1, 1)),
        ("s_lshr_b64", 5 << 32, 33, (2, 1)),
        ("s_ashr_i64", 1 << 63, 31, (0xffff_ffff << 32, 1)),
        ("s_ashr_i64", 1 << 63, 33, (0xffff_ffff_c000_0000, 1)),
        ("s_ashr_i64", 1 << 63, 63, (u64::MAX, 1)),
        ("s_ashr_i64", 6, 1, (3, 1)),
        ("s_ashr_i64", 6, 40, (0, 0)),
    ] {
        assert_eq!(with_pairs(name, a, b, 0), expected, "{name} {b}");
    }
}

#[test]
fn bit_fields() {
    let code = |offset: u32, width: u32| width << 16 | offset;
    for (name, a, b, expected) in [
        ("s_bfe_u32", 0xabcd_1234, code(8, 8), (0x12, 1)),
        ("s_bfe_u32", 0xabcd_1234, code(24, 16), (0xab, 1)),
        ("s_bfe_u32", ALL, code(0, 32), (ALL, 1)),
        ("s_bfe_u32", ALL, code(0, 100), (ALL, 1)),
        ("s_bfe_u32", ALL, code(4, 0), (0, 0)),
        ("s_bfe_i32", 0xabcd_1234, code(24, 4), (0xffff_fffb, 1)),
        ("s_bfe_i32", 0x0000_7000, code(12, 4), (7, 1)),
        ("s_bfe_i32", MIN, code(30, 8), (0xffff_fffe, 1)),
        ("s_bfe_i32", ALL, code(4, 0), (0, 0)),
        ("s_bfm_b32", 4, 8, (0xf00, 0)),
        ("s_bfm_b32", 0, 8, (0, 0)),
        ("s_bfm_b32", 36, 30, (0xc000_0000, 0)),
    ] {
        assert_eq!(with_words(name, a, b, 0), expected, "{name} {a:x} {b:x}");
    }
    let wide = 0x8765_4321_0fed_cba9;
    for (name, a, b, expected) in [
        ("s_bfe_u64", wide, code(28, 8), (0x10, 1)),
        ("s_bfe_u64", wide, code(32, 64), (0x8765_4321, 1)),
        ("s_bfe_u64", wide, code(0, 64), (wide, 1)),
        ("s_bfe_u64", wide, code(0, 0), (0, 0)),
        ("s_bfe_i64", wide, code(60, 4), (-8i64 as u64, 1)),
        ("s_bfe_i64", wide, code(0, 4), (-7i64 as u64, 1)),
        // Bits 39:4 are 0x210fedcba, positive in 36 bits, negative in 34.
        ("s_bfe_i64", wide, code(4, 36), (0x2_10fe_dcba, 1)),
        ("s_bfe_i64", wide, code(4, 34), (0xffff_fffe_10fe_dcba, 1)),
        ("s_bfm_b64", 40, 8, (0xffff_ffff_ff00, 0)),
        ("s_bfm_b64", 63, 63, (1 << 63, 0)),
    ] {
        let found = with_pairs(name, a, b.into(), 0);
        assert_eq!(found, expected, "{name} {a:x} {b:x}");
    }
}

#[test]
fn moves_and_single_bits() {
    for (name, a, old, code, expected) in [
        ("s_mov_b32", 5, 9 << 32, 1, (9 << 32 | 5, 1)),
        ("s_mov_b64", 5 << 32, 9, 0, (5 << 32, 0)),
        ("s_cmov_b32", 5, 9, 1, (5, 1)),
        ("s_cmov_b32", 5, 9, 0, (9, 0)),
        ("s_cmov_b64", 5 << 32, 9, 1, (5 << 32, 1)),
        ("s_cmov_b64", 5 << 32, 9, 0, (9, 0)),
        ("s_bitset0_b32", 33, 7, 0, (5, 0)),
        ("s_bitset1_b32", 3, 7, 0, (15, 0)),
        ("s_bitset0_b64", 35, 9 << 32, 0, (1 << 32, 0)),
        ("s_bitset1_b64", 63, 9, 0, (1 << 63 | 9, 0)),
        ("s_bitset1_b64", 64, 8, 0, (9, 0)),
    ] {
        assert_eq!(with_source(name, a, old, code), expected, "{name}");
    }
}

#[test]
fn searches_and_counts() {
    let none = u64::from(ALL);
    for (name, a, code, expected) in [
        ("s_not_b32", 0xffff_fffe, 0, (1, 1)),
        ("s_not_b64", u64::MAX, 1, (0, 0)),
        ("s_brev_b32", 1, 0, (MIN.into(), 0)),
        ("s_brev_b64", 1, 0, (1 << 63, 0)),
        ("s_bcnt0_i32_b32", 0xf, 0, (28, 1)),
        ("s_bcnt0_i32_b32", 0xffff_ffff, 1, (0, 0)),
        ("s_bcnt0_i32_b64", 0xf, 0, (60, 1)),
        ("s_bcnt1_i32_b32", 0xf, 0, (4, 1)),
        ("s_bcnt1_i32_b64", 3 << 31, 0, (2, 1)),
        ("s_bcnt1_i32_b64", 0, 1, (0, 0)),
        ("s_ff0_i32_b32", 0b1011, 0, (2, 0)),
        ("s_ff0_i32_b32", 0xffff_ffff, 0, (none, 0)),
        ("s_ff0_i32_b64", 0x7f_ffff_ffff, 0, (39, 0)),
        ("s_ff0_i32_b64", u64::MAX, 0, (none, 0)),
        ("s_ff1_i32_b32", 0b1000, 0, (3, 0)),
        ("s_ff1_i32_b32", 0, 0, (none, 0)),
        ("s_ff1_i32_b64", 1 << 63, 0, (63, 0)),
        ("s_ff1_i32_b64", 0, 0, (none, 0)),
        ("s_flbit_i32_b32", 1, 0, (31, 0)),
        ("s_flbit_i32_b32", 0, 0, (none, 0)),
        ("s_flbit_i32_b64", 1, 0, (63, 0)),
        ("s_flbit_i32_b64", 1 << 35, 0, (28, 0)),
        ("s_flbit_i32_b64", 0, 0, (none, 0)),
        ("s_flbit_i32", 0xffff_fff0, 0, (28, 0)),
        ("s_flbit_i32", 0x7fff_ffff, 0, (1, 0)),
        ("s_flbit_i32", 0xffff_ffff, 0, (none, 0)),
        ("s_flbit_i32", 0, 0, (none, 0)),
        ("s_flbit_i32_i64", !0xf, 0, (60, 0)),
        ("s_flbit_i32_i64", u64::MAX, 0, (none, 0)),
        ("s_flbit_i32_i64", 1 << 32, 0, (31, 0)),
        ("s_sext_i32_i8", 0x180, 0, (0xffff_ff80, 0)),
        ("s_sext_i32_i16", 0x8000, 0, (0xffff_8000, 0)),
        ("s_abs_i32", 0xffff_fffd, 0, (3, 1)),
        ("s_abs_i32", MIN.into(), 0, (MIN.into(), 1)),
        ("s_wqm_b32", 0x8000_0210, 0, (0xf000_0ff0, 1)),
        ("s_wqm_b64", 1 << 34, 0, (0xf << 32, 1)),
        ("s_wqm_b64", 0, 1, (0, 0)),
    ] {
        assert_eq!(with_source(name, a, 0, code), expected, "{name} {a:x}");
    }
}

/// Planted fault: the write of SCC by s_quadmask, which descriptions of LLVM lack.
#[test]
fn quad_masks_set_the_condition_code() {
    let pair = |a, code| with_source("s_quadmask_b64", a, 0, code);
    assert_eq!(with_source("s_quadmask_b32", 0x8000_0210, 0, 0), (0x86, 1));
    assert_eq!(with_source("s_quadmask_b32", 0, 0, 1), (0, 0));
    assert_eq!(pair(0x8000_0210_0000_000f, 0), (0x8601, 1));
    assert_eq!(pair(u64::MAX, 0), (0xffff, 1));
    assert_eq!(pair(0, 1), (0, 0));
    for bit in 0..WAVE_LANES {
        assert_eq!(pair(1 << bit, 0), (1 << (bit / 4), 1));
    }
}

#[test]
fn saved_masks() {
    let (mask, active) = (0xff00_0000_0000_00f0, 0x0f00_0000_0000_0033);
    for (name, expected) in [
        ("and", mask & active),
        ("or", mask | active),
        ("xor", mask ^ active),
        ("andn2", mask & !active),
        ("orn2", mask | !active),
        ("nand", !(mask & active)),
        ("nor", !(mask | active)),
        ("xnor", !(mask ^ active)),
    ] {
        let mut wave = Wave::with_active(active);
        wave.set_pair(4, mask);
        wave.step(sop1(&format!("s_{name}_saveexec_b64"), 8, 4));
        assert_eq!(wave.pair(8), active, "{name}");
        assert_eq!(wave.pair(scalar::EXEC), expected, "{name}");
        assert_eq!(wave.scalar(scalar::SCC), 1, "{name}");
    }
    let mut wave = Wave::with_active(12);
    wave.set_pair(4, 3);
    wave.set_scalar(scalar::SCC, 1);
    wave.step(sop1("s_and_saveexec_b64", 4, 4));
    assert_eq!((wave.pair(4), wave.pair(scalar::EXEC)), (12, 0));
    assert_eq!(wave.scalar(scalar::SCC), 0);
    // One register cannot take both masks.
    assert_eq!(meaning_of(sop1("s_and_saveexec_b64", 126, 4)), None);
}

#[test]
fn comparisons() {
    let holds = |name: &str, a: u64, b: u64| {
        let mut wave = Wave::default();
        wave.set_pair(4, a);
        wave.set_pair(6, b);
        wave.step(row(name) | 6 << 8 | 4);
        wave.scalar(scalar::SCC) == 1
    };
    let (minus, one) = (u64::from(ALL), 1);
    for (name, of_less, of_equal, of_greater) in [
        ("eq", false, true, false),
        ("lg", true, false, true),
        ("gt", false, false, true),
        ("ge", false, true, true),
        ("lt", true, false, false),
        ("le", true, true, false),
    ] {
        let signed = format!("s_cmp_{name}_i32");
        assert_eq!(holds(&signed, minus, one), of_less, "{signed}");
        assert_eq!(holds(&signed, minus, minus), of_equal, "{signed}");
        assert_eq!(holds(&signed, one, minus), of_greater, "{signed}");
        let unsigned = format!("s_cmp_{name}_u32");
        assert_eq!(holds(&unsigned, one, minus), of_less, "{unsigned}");
        assert_eq!(holds(&unsigned, one, one), of_equal, "{unsigned}");
        assert_eq!(holds(&unsigned, minus, one), of_greater, "{unsigned}");
    }
    assert!(holds("s_cmp_eq_u64", 1 << 40, 1 << 40));
    assert!(!holds("s_cmp_eq_u64", 1 << 40, 0));
    assert!(holds("s_cmp_lg_u64", 1 << 40, 0));
    assert!(!holds("s_cmp_lg_u64", 9, 9));
    assert!(holds("s_bitcmp1_b32", 4, 34));
    assert!(holds("s_bitcmp0_b32", 4, 3));
    assert!(holds("s_bitcmp1_b64", 4 << 32, 34));
    assert!(holds("s_bitcmp0_b64", 4 << 32, 2));
}

#[test]
fn constants_of_16_bits() {
    let run = |name: &str, old: u32, constant: u64, code: u32| {
        let mut wave = Wave::default();
        wave.set_scalar(8, old);
        wave.set_scalar(scalar::SCC, code);
        wave.step(row(name) | 8 << 16 | constant);
        (wave.scalar(8), wave.scalar(scalar::SCC))
    };
    for (name, old, constant, code, expected) in [
        ("s_movk_i32", 7, 0x8000, 1, (0xffff_8000, 1)),
        ("s_cmovk_i32", 7, 5, 0, (7, 0)),
        ("s_cmovk_i32", 7, 5, 1, (5, 1)),
        ("s_addk_i32", 0x7fff_ffff, 1, 0, (MIN, 1)),
        ("s_addk_i32", 5, 0xffff, 1, (4, 0)),
        ("s_mulk_i32", 5, 0xffff, 1, (-5i32 as u32, 1)),
        ("s_cmpk_eq_i32", ALL, 0xffff, 0, (ALL, 1)),
        ("s_cmpk_eq_u32", ALL, 0xffff, 1, (ALL, 0)),
        ("s_cmpk_lg_u32", 0xffff, 0xffff, 1, (0xffff, 0)),
        ("s_cmpk_lt_i32", ALL, 0, 0, (ALL, 1)),
        ("s_cmpk_gt_u32", ALL, 0xffff, 0, (ALL, 1)),
        ("s_cmpk_ge_i32", 0, 0xffff, 0, (0, 1)),
        ("s_cmpk_le_u32", 0, 0xffff, 0, (0, 1)),
    ] {
        assert_eq!(run(name, old, constant, code), expected, "{name}");
    }
}

/// Sources differ on whether s_mulk_i32 writes SCC: it is written, and its value is not known.
#[test]
fn a_disputed_condition_code_has_no_value() {
    for word in [row("s_mulk_i32") | 8 << 16 | 3, sop2("s_max_i32", 8, 4, 6)] {
        let values = assignments(word).unwrap();
        let code = Cell::of(Reg::SCC);
        assert!(values.iter().all(|(dest, _)| *dest != code));
        let effects = super::machine::decoded(word).effects();
        assert!(effects.writes.contains(&Reg::SCC));
        let meaning = meaning_of(word);
        let dependence = crate::gcn3::value_dependence(&effects, meaning.as_ref());
        assert_eq!(dependence, crate::ValueDependence::Lane);
    }
}

#[test]
fn fields_of_the_mode() {
    // hwreg(HW_REG_MODE, 4, 2).
    let code = 1 << 11 | 4 << 6 | 1;
    let mut wave = Wave::default();
    wave.set_scalar(scalar::MODE, 0x2001c0);
    wave.step(row("s_setreg_imm32_b32") | code | 3 << 32);
    assert_eq!(wave.scalar(scalar::MODE), 0x2001f0);
    wave.set_scalar(8, 0xfffd);
    wave.step(row("s_setreg_b32") | 8 << 16 | code);
    assert_eq!(wave.scalar(scalar::MODE), 0x2001d0);
    // hwreg(HW_REG_MODE, 21, 1): the mark of branches at which waves split.
    let mark = 21 << 6 | 1;
    for (value, mode) in [(0, 0x1d0), (1, 0x2001d0)] {
        wave.step(row("s_setreg_imm32_b32") | mark | value << 32);
        assert_eq!(wave.scalar(scalar::MODE), mode);
    }
    // Bits 27 and 28 address registers by an index and skip vector instructions; another register.
    let all = 31 << 11 | 1;
    let trap_status = 3;
    for code in [all, trap_status] {
        assert_eq!(meaning_of(row("s_setreg_imm32_b32") | code), None);
    }
}

#[test]
fn constants_of_64_bits() {
    let words =
        |source: u64, literal: u64| assignments(sop1("s_mov_b64", 8, source) | literal << 32);
    let value = |source, literal| {
        let words = words(source, literal)?;
        let [(_, Expr::Const(low)), (_, Expr::Const(high))] = words.as_slice() else {
            panic!("not constant");
        };
        Some(u64::from(*high) << 32 | u64::from(*low))
    };
    // -1, 64, 1.0, 1/(2 pi).
    assert_eq!(value(193, 0), Some(u64::MAX));
    assert_eq!(value(192, 0), Some(64));
    assert_eq!(value(242, 0), Some(1f64.to_bits()));
    let inverse = std::f64::consts::FRAC_1_PI / 2.0;
    assert_eq!(value(248, 0), Some(inverse.to_bits() - 1));
    assert_eq!(value(255, 0x7fff_ffff), Some(0x7fff_ffff));
    // Extended by its sign, or by zeros.
    assert_eq!(value(255, 0x8000_0000), None);
}

#[test]
fn flags_of_masks_are_sources() {
    let mut wave = Wave::with_active(1 << 40);
    wave.step(sop1("s_mov_b32", 8, 252));
    wave.step(sop1("s_mov_b32", 9, 251));
    assert_eq!((wave.scalar(8), wave.scalar(9)), (0, 1));
}

#[test]
fn loads_of_words() {
    // s_load_dwordx4 s[8:11], s[4:5], 0x10
    let word = row("s_load_dwordx4") | 0x10 << 32 | 1 << 17 | 8 << 6 | 2;
    let Some(Meaning::Load {
        dests,
        space,
        address,
        ..
    }) = meaning_of(word)
    else {
        panic!("no load");
    };
    let expected = (8..12).map(|number| Some(Cell::scalar(number)));
    assert!(dests.into_iter().eq(expected));
    assert_eq!(space, MemorySpace::Global);
    let mut wave = Wave::default();
    wave.set_pair(4, 0x1_ffff_fff8);
    assert_eq!(wave.value(&address.low), 8);
    assert_eq!(wave.value(&address.high.unwrap()), 2);
    assert_eq!(meaning_of(row("s_buffer_load_dword") | 1 << 17), None);
    assert_eq!(meaning_of(row("s_memrealtime")), None);
}

/// The clock is no function of registers: no analysis knows its value before a run.
#[test]
fn clock_of_the_compute_unit() {
    let words = assignments(row("s_memtime") | 8 << 6).expect("assignments");
    let clock = [SpecialReg::ClockLow, SpecialReg::ClockHigh].map(Expr::Special);
    let cells = [8, 9].map(Cell::scalar);
    assert!(words.into_iter().eq(cells.into_iter().zip(clock)));
}

#[test]
fn control_has_no_effect_on_data() {
    for name in [
        "s_waitcnt",
        "s_nop",
        "s_endpgm",
        "s_branch",
        "s_cbranch_vccz",
    ] {
        assert_eq!(meaning_of(row(name)), Some(Meaning::nothing()), "{name}");
    }
    assert!(matches!(
        meaning_of(row("s_barrier")),
        Some(Meaning::Barrier { .. })
    ));
}
