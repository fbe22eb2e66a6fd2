//! Meanings of floating-point instructions, by hand from the GCN3 manual. LLVM's assembler made the words.

use crate::gcn3::memory::tests::text;

/// Modes that compilers choose: subnormal singles flushed, doubles and halves kept, DX10 clamp, IEEE.
const DEFAULT: u32 = 0x3c0;

/// The same with subnormal singles.
const KEEP: u32 = DEFAULT | 0x30;

fn check(expected: &[(&str, u64, &str)]) {
    for (instruction, word, meaning) in expected {
        let meaning = meaning.replace("~", ".flush_operands.flush_results");
        assert_eq!(text(*word, DEFAULT), meaning, "{instruction}");
    }
}

#[test]
fn single_arithmetic() {
    check(&[
        (
            "v_add_f32 v1, v2, v3",
            0x0202_0702,
            "R1 = gcn.f32.add~(R2, R3)",
        ),
        (
            "v_sub_f32 v1, 2.0, v3",
            0x0402_06f4,
            "R1 = gcn.f32.add~(0x40000000, xor(R3, 0x80000000))",
        ),
        (
            "v_subrev_f32 v1, v2, v3",
            0x0602_0702,
            "R1 = gcn.f32.add~(xor(R2, 0x80000000), R3)",
        ),
        (
            "v_mul_f32 v1, -|v2|, s3 clamp",
            0x2000_0702_d105_8101,
            "R1 = gcn.f32.clamp(gcn.f32.mul~(xor(and(R2, 0x7fffffff), 0x80000000), S3))",
        ),
        (
            "v_mac_f32 v1, v2, v3",
            0x2c02_0702,
            "R1 = gcn.f32.mad~(R2, R3, R1)",
        ),
        (
            "v_madmk_f32 v1, v2, 0x40400000, v3",
            0x4040_0000_2e02_0702,
            "R1 = gcn.f32.mad~(R2, 0x40400000, R3)",
        ),
        (
            "v_madak_f32 v1, v2, v3, 0x40400000",
            0x4040_0000_3002_0702,
            "R1 = gcn.f32.mad~(R2, R3, 0x40400000)",
        ),
        // With the bit IEEE the hardware ignores the output modifier.
        (
            "v_fma_f32 v1, v2, v3, v4 mul:2",
            0x0c12_0702_d1cb_0001,
            "R1 = gcn.f32.fma~(R2, R3, R4)",
        ),
        (
            "v_max_f32 v1, v2, v3",
            0x1602_0702,
            "R1 = gcn.f32.max(R2, R3)",
        ),
        (
            "v_med3_f32 v1, v2, v3, v4",
            0x0412_0702_d1d6_0001,
            "R1 = gcn.f32.med3(R2, R3, R4)",
        ),
        (
            "v_log_legacy_f32 v1, v2",
            0x7e02_9902,
            "R1 = gcn.f32.log~(R2)",
        ),
        (
            "v_frexp_exp_i32_f32 v1, v2",
            0x7e02_6702,
            "R1 = gcn.f32.frexp_exponent~(R2)",
        ),
    ]);
}

#[test]
fn half_and_double_arithmetic() {
    check(&[
        (
            "v_add_f64 v[2:3], v[4:5], -1.0",
            0x0001_e704_d280_0002,
            "R2 = gcn.f64.add(R4, R5, 0, 0xbff00000), R3 = gcn.f64.add.high(R4, R5, 0, 0xbff00000)",
        ),
        (
            "v_mul_f16 v1, 0.5, v3",
            0x4402_06f0,
            "R1 = gcn.f16.mul(0x3800, R3)",
        ),
        (
            "v_mul_f16 v1, 0.15915494, v3",
            0x4402_06f8,
            "R1 = gcn.f16.mul(0x3118, R3)",
        ),
        (
            "v_add_f16 v1, 1, v3",
            0x3e02_0681,
            "R1 = gcn.f16.add(1, R3)",
        ),
        // What an unfused product does with the subnormal halves that MODE keeps is not known.
        ("v_mad_f16 v1, v2, v3, v4", 0x0412_0702_d1ea_0001, "none"),
        (
            "v_rcp_f64 v[2:3], v[4:5]",
            0x7e04_4b04,
            "R2 = gcn.f64.rcp(R4, R5), R3 = gcn.f64.rcp.high(R4, R5)",
        ),
        (
            "v_ldexp_f64 v[2:3], v[4:5], v6",
            0x0002_0d04_d284_0002,
            "R2 = gcn.f64.ldexp(R4, R5, R6), R3 = gcn.f64.ldexp.high(R4, R5, R6)",
        ),
    ]);
    // Both words of a clamped result belong to one number.
    let sum = "(R4, and(R5, 0x7fffffff), R6, xor(R7, 0x80000000))";
    let words = format!("(gcn.f64.add{sum}, gcn.f64.add.high{sum})");
    let expected = format!("R2 = gcn.f64.clamp{words}, R3 = gcn.f64.clamp.high{words}");
    assert_eq!(text(0x4002_0d04_d280_8102, DEFAULT), expected);
}

#[test]
fn comparisons() {
    let both = |low, high, truth: &str| {
        format!("{low} = ballot.low({truth}), {high} = ballot.high({truth})")
    };
    let less = "gcn.f32.compare.lt.flush_operands(R2, R3)";
    assert_eq!(text(0x7c82_0702, DEFAULT), both("S106", "S107", less));
    let kept = "gcn.f32.compare.lt(R2, R3)";
    assert_eq!(text(0x7c82_0702, KEEP), both("S106", "S107", kept));
    let half = "gcn.f16.compare.lt(R2, R3)";
    assert_eq!(text(0x7c42_0702, DEFAULT), both("S106", "S107", half));
    let class = "gcn.f32.class(xor(R2, 0x80000000), R3)";
    assert_eq!(text(0x2002_0702_d010_000a, 0), both("S10", "S11", class));
}

/// v_cmpx writes the mask of active lanes too.
#[test]
fn comparisons_that_set_exec() {
    let truth = "gcn.f32.compare.ltu.flush_operands(R2, R3)";
    let expected = format!(
        "S106 = ballot.low({truth}), S107 = ballot.high({truth}), \
         S126 = ballot.low({truth}), S127 = ballot.high({truth})"
    );
    assert_eq!(text(0x7cb2_0702, DEFAULT), expected);
    let truth = "gcn.f64.compare.eq(R2, R3, R4, xor(R5, 0x80000000))";
    let expected = format!(
        "S10 = ballot.low({truth}), S11 = ballot.high({truth}), \
         S126 = ballot.low({truth}), S127 = ballot.high({truth})"
    );
    assert_eq!(text(0x4002_0902_d072_000a, DEFAULT), expected);
}

#[test]
fn conversions() {
    check(&[
        (
            "v_cvt_i32_f64 v1, v[2:3]",
            0x7e02_0702,
            "R1 = select(gcn.f64.compare.nan(R2, R3, R2, R3), 0, convert.f64.s32.trunc(R2, R3))",
        ),
        (
            "v_cvt_i16_f16 v1, v2",
            0x7e02_7902,
            "R1 = and(convert.f16.s16.trunc(R2), 0xffff)",
        ),
        (
            "v_cvt_flr_i32_f32 v1, v2",
            0x7e02_1b02,
            "R1 = select(gcn.f32.compare.nan(R2, R2), xor(sar(R2, 31), 0x7fffffff), \
             convert.f32.s32.floor.ftz(R2))",
        ),
        (
            "v_cvt_f32_ubyte2 v1, v2",
            0x7e02_2702,
            "R1 = convert.u8.f32(shr(R2, 16))",
        ),
        (
            "v_cvt_off_f32_i4 v1, v2",
            0x7e02_1d02,
            "R1 = gcn.f32.ldexp(convert.s32.f32(sar(shl(R2, 28), 28)), 0xfffffffc)",
        ),
        (
            "v_cvt_pkrtz_f16_f32 v1, v2, v3",
            0x0002_0702_d296_0001,
            "R1 = or(gcn.f32.convert.f16.zero.flush_operands(R2), \
             shl(gcn.f32.convert.f16.zero.flush_operands(R3), 16))",
        ),
        (
            "v_cvt_f32_u32 v1, v2",
            0x7e02_0d02,
            "R1 = convert.u32.f32(R2)",
        ),
        (
            "v_cvt_f16_f32 v1, v2",
            0x7e02_1502,
            "R1 = gcn.f32.convert.f16.flush_operands(R2)",
        ),
        (
            "v_cvt_f64_f32 v[2:3], v4",
            0x7e04_2104,
            "R2 = gcn.f32.convert.f64.flush_operands(R4), R3 = gcn.f32.convert.f64.flush_operands.high(R4)",
        ),
    ]);
    // MODE's bits 3:2 are the rounding of halves and doubles.
    let down = text(0x7e02_1502, KEEP | 2 << 2);
    assert_eq!(down, "R1 = gcn.f32.convert.f16.down(R2)");
}

#[test]
fn division() {
    check(&[
        (
            "v_div_scale_f32 v1, vcc, v2, v3, v2",
            0x040a_0702_d1e0_6a01,
            "R1 = gcn.f32.div_scale~(R2, R3, R2), \
             S106 = ballot.low(gcn.f32.div_scale_flag~(R2, R3, R2)), \
             S107 = ballot.high(gcn.f32.div_scale_flag~(R2, R3, R2))",
        ),
        (
            "v_div_fmas_f32 v1, v2, v3, v4",
            0x0412_0702_d1e2_0001,
            "R1 = select(and(funnel_right(S106, S107, special.lane), 1), \
             gcn.f32.div_fmas_scaled~(R2, R3, R4), gcn.f32.fma~(R2, R3, R4))",
        ),
        (
            "v_div_fixup_f32 v1, v2, v3, v4",
            0x0412_0702_d1de_0001,
            "R1 = gcn.f32.div_fixup~(R2, R3, R4)",
        ),
    ]);
}

#[test]
fn unknown_modes_leave_no_meaning() {
    // Without the bit IEEE signalling NaNs pass.
    assert_eq!(text(0x0202_0702, DEFAULT & !0x200), "none");
    // v_div_fixup in another rounding.
    assert_eq!(text(0x0412_0702_d1de_0001, DEFAULT | 1), "none");
    let up = text(0x0202_0702, KEEP | 1);
    assert_eq!(up, "R1 = gcn.f32.add.up(R2, R3)");
    let number = text(0x2000_0702_d105_8101, KEEP & !0x100);
    assert!(number.starts_with("R1 = gcn.f32.clamp_number("), "{number}");
}
