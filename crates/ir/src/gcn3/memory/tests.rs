//! Meanings of accesses to memory, by hand from the GCN3 manual. The words are those of LLVM's assembler.

use warpbound_base::CodeAddr;
use warpbound_isa::amd::GcnInstr;

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
        ("ds_min_f32 v2, v3", 0x0000_0302_d824_0000, "none"),
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
