//! Meanings of accesses to memory, by hand from the GCN3 manual. LLVM's assembler made the words.

use warpbound_base::CodeAddr;
use warpbound_isa::amd::GcnInstr;

use crate::float::Flush;
use crate::gcn3::MeaningContext;
use crate::gcn3::mode::ModeState;
use crate::{AtomicKind, AtomicOp};

/// Text of the meaning of an instruction with a register MODE; `none` without one.
pub(in crate::gcn3) fn text(word: u64, mode: u32) -> String {
    let instr = GcnInstr::decode(CodeAddr(0), word as u32, Some((word >> 32) as u32));
    let view = instr.view().expect("an instruction");
    let context = MeaningContext {
        mode: ModeState::of_descriptor(mode),
        instr: &instr,
    };
    let meaning = crate::gcn3::meaning(&view, &context);
    meaning.map_or("none".to_owned(), |meaning| meaning.to_string())
}

fn check(expected: &[(&str, u64, &str)]) {
    for (instruction, word, meaning) in expected {
        assert_eq!(text(*word, 0), *meaning, "{instruction}");
    }
}

#[test]
fn lds() {
    check(&[
        (
            "ds_read_b32 v1, v2 offset:16",
            0x0100_0002_d86c_0010,
            "R1 = load shared[add(R2, 16)]",
        ),
        (
            "ds_read_i8 v1, v2",
            0x0100_0002_d872_0000,
            "R1 = load.s8 shared[R2]",
        ),
        (
            "ds_read_b128 v[4:7], v2 offset:65520",
            0x0400_0002_d9fe_fff0,
            "R4, R5, R6, R7 = load shared[add(R2, 0xfff0)]",
        ),
        (
            "ds_write_b16 v2, v3 offset:2",
            0x0000_0302_d83e_0002,
            "store.u16 shared[add(R2, 2)] = R3",
        ),
        ("ds_add_u32 v2, v3 gds", 0x0000_0302_d801_0000, "none"),
    ]);
}

/// The second element may be before the first.
#[test]
fn two_elements_have_a_distance() {
    check(&[
        (
            "ds_read2_b32 v[4:5], v2 offset0:3 offset1:1",
            0x0400_0002_d86e_0103,
            "R4, R5 = load shared[add(R2, 12) second_half(0xfffffff8)]",
        ),
        (
            "ds_read2st64_b64 v[4:7], v2 offset1:2",
            0x0400_0002_d8f0_0200,
            "R4, R5, R6, R7 = load shared[R2 second_half(0x400)]",
        ),
        (
            "ds_write2_b32 v2, v3, v4 offset0:1 offset1:2",
            0x0004_0302_d81c_0201,
            "store shared[add(R2, 4) second_half(4)] = R3, R4",
        ),
        (
            "ds_write2_b32 v2, v3, v4 offset0:1 offset1:1",
            0x0004_0302_d81c_0101,
            "none",
        ),
    ]);
}

#[test]
fn atomic_operations_on_lds() {
    check(&[
        (
            "ds_add_rtn_u32 v1, v2, v3 offset:4",
            0x0100_0302_d840_0004,
            "R1 = atomic.add.u32 shared[add(R2, 4)] = R3",
        ),
        // The compared value comes first.
        (
            "ds_cmpst_rtn_b64 v[4:5], v2, v[6:7], v[8:9]",
            0x0408_0602_d8e0_0000,
            "R4, R5 = atomic.compare_swap.u64 shared[R2] = R6, R7, R8, R9",
        ),
        (
            "ds_mskor_b32 v2, v3, v4",
            0x0004_0302_d818_0000,
            "atomic.masked_or.u32 shared[R2] = R3, R4",
        ),
        (
            "ds_rsub_u64 v2, v[6:7]",
            0x0000_0602_d884_0000,
            "atomic.reverse_sub.u64 shared[R2] = R6, R7",
        ),
    ]);
}

#[test]
fn exchange_of_lanes() {
    let active = |lane: &str, register: &str| {
        let bit = format!("and(funnel_right(S126, S127, {lane}), 1)");
        format!("R1 = select({bit}, from_lane({register}, {lane}), 0)")
    };
    let own = "special.lane";
    // Bit 1 is kept, bit 2 inverted, bit 3 set, bits 0 and 4 are 0 and kept.
    let masked = format!("xor(or(and({own}, 38), 8), 2)");
    assert_eq!(text(0x0100_0002_d87a_0906, 0), active(&masked, "R2"));
    let chosen = format!("and(shr(27, shl(and({own}, 3), 1)), 3)");
    let quads = format!("or(and({own}, 60), {chosen})");
    assert_eq!(text(0x0100_0002_d87a_801b, 0), active(&quads, "R2"));
    let lane = "and(shr(add(R2, 4), 2), 63)";
    assert_eq!(text(0x0100_0302_d87e_0004, 0), active(lane, "R3"));
}

/// ds_permute_b32 v1, v2, v3 offset:4: the highest lane that sends counts, so it is asked first.
#[test]
fn lanes_send_to_others() {
    let found = text(0x0100_0302_d87c_0004, 0);
    let sends = |lane: u32| {
        let to = format!("and(shr(add(from_lane(R2, {lane}), 4), 2), 63)");
        let active = format!("and(funnel_right(S126, S127, {lane}), 1)");
        format!("select(and(eq({to}, special.lane), {active}), from_lane(R3, {lane}), ")
    };
    let lanes: String = (0..64).rev().map(sends).collect();
    assert_eq!(found, format!("R1 = {lanes}0{}", ")".repeat(64)));
}

#[test]
fn flat_addresses() {
    check(&[
        (
            "flat_load_dwordx3 v[4:6], v[2:3]",
            0x0400_0002_dc58_0000,
            "R4, R5, R6 = load generic[R3:R2]",
        ),
        (
            "flat_store_byte v[2:3], v1",
            0x0000_0102_dc60_0000,
            "store.u8 generic[R3:R2] = R1",
        ),
        (
            "flat_load_sshort v1, v[2:3] slc",
            0x0100_0002_dc4e_0000,
            "R1 = load.s16 generic[R3:R2]",
        ),
        // The new value comes first, other than in LDS.
        (
            "flat_atomic_cmpswap_x2 v[10:11], v[2:3], v[4:7] glc",
            0x0a00_0402_dd85_0000,
            "R10, R11 = atomic.compare_swap.u64 generic[R3:R2] = R6, R7, R4, R5",
        ),
        (
            "flat_atomic_add v[2:3], v1",
            0x0000_0102_dd08_0000,
            "atomic.add.u32 generic[R3:R2] = R1",
        ),
    ]);
}

#[test]
fn buffers() {
    check(&[
        (
            "buffer_load_sbyte v1, off, s[4:7], 16 offset:291",
            0x9001_0100_e044_0123,
            "R1 = load.s8 generic[0x123 buffer(S4, S5, S6, S7) offset(16)]",
        ),
        (
            "buffer_store_dwordx2 v[1:2], v3, s[4:7], s9 offen offset:4",
            0x0901_0103_e074_1004,
            "store generic[add(R3, 4) buffer(S4, S5, S6, S7) offset(S9)] = R1, R2",
        ),
        (
            "buffer_load_dword v1, v[2:3], s[4:7], s9 idxen offen offset:8",
            0x0901_0102_e050_3008,
            "R1 = load generic[add(R3, 8) buffer(S4, S5, S6, S7) index(R2) offset(S9)]",
        ),
        (
            "buffer_load_dword v1, v2, s[4:7], s9 idxen",
            0x0901_0102_e050_2000,
            "R1 = load generic[0 buffer(S4, S5, S6, S7) index(R2) offset(S9)]",
        ),
        (
            "buffer_atomic_cmpswap v[1:2], v3, s[4:7], 0 idxen glc",
            0x8001_0103_e104_6000,
            "R1 = atomic.compare_swap.u32 generic[0 buffer(S4, S5, S6, S7) index(R3) offset(0)] = R2, R1",
        ),
        (
            "buffer_atomic_umax v1, v3, s[4:7], 0 offen",
            0x8001_0103_e11c_1000,
            "atomic.max.u32 generic[R3 buffer(S4, S5, S6, S7) offset(0)] = R1",
        ),
        (
            "buffer_load_dword v1, v2, s[4:7], s9 offen lds",
            0x0901_0102_e051_1000,
            "none",
        ),
        ("buffer_wbinvl1_vol", 0x0000_0000_e0fc_0000, "nop"),
        (
            "tbuffer_load_format_xy v[1:2], off, s[4:7], 0, 32_32 float",
            0x8001_0100_ebd8_8000,
            "R1, R2 = load generic[0 buffer(S4, S5, S6, S7) offset(0)]",
        ),
        (
            "tbuffer_load_format_x v1, off, s[4:7], 0, 16 float",
            0x8001_0100_eb90_0000,
            "none",
        ),
    ]);
}

#[test]
fn new_atomic_operations() {
    let apply = |op: AtomicOp, kind, old, operand| op.apply(kind, old, operand, 0x0f);
    let word = AtomicKind::U32;
    assert_eq!(apply(AtomicOp::Sub, word, 1, 3), Some(0xffff_fffe));
    assert_eq!(apply(AtomicOp::ReverseSub, word, 3, 1), Some(0xffff_fffe));
    assert_eq!(apply(AtomicOp::MaskedOr, word, 0xabff, 0xff), Some(0xab0f));
    let wide = AtomicKind::U64;
    assert_eq!(apply(AtomicOp::Sub, wide, 0, 1), Some(u64::MAX));
    assert_eq!(apply(AtomicOp::ReverseSub, wide, 1, 0), Some(u64::MAX));
    assert_eq!(apply(AtomicOp::Sub, AtomicKind::F32, 0, 1), None);
}

/// Floats in LDS, under modes that keep subnormals (0x30 of singles, 0xc0 of doubles), flush them, or do either half.
#[test]
fn floats_in_lds() {
    let add = 0x0000_0302_d82a_0000;
    let exchange = 0x0100_0302_d862_0000 | 4 << 48;
    for (word, mode, expected) in [
        (add, 0, "atomic.add.lds_f32_ftz shared[R2] = R3"),
        (add, 0x30, "atomic.add.lds_f32 shared[R2] = R3"),
        (add, 0x10, "none"),
        (
            0x0100_0302_d86a_0008,
            0x30,
            "R1 = atomic.add.lds_f32 shared[add(R2, 8)] = R3",
        ),
        (
            0x0000_0302_d824_0000,
            0x30,
            "atomic.min.lds_f32 shared[R2] = R3",
        ),
        (
            exchange,
            0x30,
            "R1 = atomic.compare_swap.lds_f32 shared[R2] = R3, R4",
        ),
        (
            0x0000_0402_d8a4_0000,
            0x30,
            "atomic.min.lds_f64_ftz shared[R2] = R4, R5",
        ),
        (
            0x0000_0402_d8a6_0000,
            0xc0,
            "atomic.max.lds_f64 shared[R2] = R4, R5",
        ),
        // ds_append: which half of M0 has its address is open.
        (0x0100_0000_d97c_0000, 0x30, "none"),
    ] {
        assert_eq!(text(word, mode), expected, "{word:016x} {mode:x}");
    }
}

/// Results against the arithmetic of the host, which rounds to nearest and keeps subnormals.
#[test]
fn results_of_floats_in_lds() {
    let keep = AtomicKind::LdsF32(Flush::Keep);
    let flush = AtomicKind::LdsF32(Flush::Ftz);
    let bits = |x: f32| u64::from(x.to_bits());
    let apply = |op: AtomicOp, kind, a: f32, b: f32| op.apply(kind, bits(a), bits(b), 0x77);
    let tiny = f32::from_bits(3);
    let numbers = [
        0.0,
        -0.0,
        1.0,
        1.5e-7,
        -3.25,
        f32::MAX,
        f32::INFINITY,
        1e-38,
        tiny,
        -tiny,
    ];
    for a in numbers {
        for b in numbers {
            let sum = a + b;
            let expected = (!sum.is_nan()).then(|| bits(sum));
            assert_eq!(apply(AtomicOp::Add, keep, a, b), expected, "{a} + {b}");
            let zero = |x: f32| if x.is_subnormal() { x * 0.0 } else { x };
            let flushed = zero(zero(a) + zero(b));
            assert_eq!(
                apply(AtomicOp::Add, flush, a, b),
                Some(bits(flushed)),
                "{a} + {b}"
            );
            let is_open = a == b && bits(a) != bits(b);
            let least = (!is_open).then(|| bits(a.min(b)));
            assert_eq!(apply(AtomicOp::Min, keep, a, b), least, "min {a} {b}");
            let most = (!is_open).then(|| bits(a.max(b)));
            assert_eq!(apply(AtomicOp::Max, keep, a, b), most, "max {a} {b}");
            let swapped = Some(if a == b { 0x77 } else { bits(a) });
            assert_eq!(
                apply(AtomicOp::CompareSwap, keep, a, b),
                swapped,
                "{a} == {b}"
            );
        }
        for op in [AtomicOp::Add, AtomicOp::Min, AtomicOp::Max] {
            assert_eq!(apply(op, keep, a, f32::NAN), None);
            assert_eq!(apply(op, flush, f32::NAN, a), None);
        }
        let kept = Some(bits(f32::NAN));
        assert_eq!(apply(AtomicOp::CompareSwap, keep, f32::NAN, a), kept);
    }
    let opposite = apply(AtomicOp::Add, keep, f32::INFINITY, f32::NEG_INFINITY);
    assert_eq!(opposite, None);
    for op in [AtomicOp::Min, AtomicOp::CompareSwap] {
        assert_eq!(apply(op, flush, tiny, 1.0), None);
    }
    let double = AtomicKind::LdsF64(Flush::Keep);
    let [a, b] = [1e300f64, -2.5].map(f64::to_bits);
    assert_eq!(AtomicOp::Min.apply(double, a, b, 0), Some(b));
    assert_eq!(AtomicOp::Max.apply(double, a, b, 0), Some(a));
    // GCN3 has no sum of doubles in LDS.
    assert_eq!(AtomicOp::Add.apply(double, a, b, 0), None);
}
