//! Text of fields with a syntax of their own, as LLVM prints it. For example, the field 0x0f70 of s_waitcnt is
//! `vmcnt(0)`: the two other counters have their maximum, which waits for nothing.

use super::{push_hex, push_number};
use crate::amd::operand::{Dpp, Sdwa};

/// Appends the counters that s_waitcnt waits for; all counters if it waits for none.
pub(super) fn write_wait(simm16: u32, out: &mut String) {
    let counters = [
        ("vmcnt", simm16 & 15, 15),
        ("expcnt", simm16 >> 4 & 7, 7),
        ("lgkmcnt", simm16 >> 8 & 15, 15),
    ];
    let waits = |(_, count, most): &(&str, u32, u32)| count < most;
    // A wait for nothing prints all counters, otherwise it would have no operand.
    let is_idle = !counters.iter().any(waits);
    let mut separator = "";
    for counter in counters.iter().filter(|counter| is_idle || waits(counter)) {
        out.push_str(separator);
        out.push_str(counter.0);
        out.push('(');
        push_number(counter.1.into(), out);
        out.push(')');
        separator = " ";
    }
}

/// Appends `hwreg(NAME, offset, width)`.
pub(super) fn write_hardware_register(simm16: u32, out: &mut String) {
    const NAMES: [&str; 8] = [
        "",
        "HW_REG_MODE",
        "HW_REG_STATUS",
        "HW_REG_TRAPSTS",
        "HW_REG_HW_ID",
        "HW_REG_GPR_ALLOC",
        "HW_REG_LDS_ALLOC",
        "HW_REG_IB_STS",
    ];
    let (id, offset, width) = (simm16 & 63, simm16 >> 6 & 31, (simm16 >> 11 & 31) + 1);
    out.push_str("hwreg(");
    match NAMES.get(id as usize) {
        Some(name) if !name.is_empty() => out.push_str(name),
        _ => push_number(id.into(), out),
    }
    // The whole register is the default.
    if (offset, width) != (0, 32) {
        for number in [offset, width] {
            out.push_str(", ");
            push_number(number.into(), out);
        }
    }
    out.push(')');
}

/// Appends a message: by name if it is known, as three numbers if they make up the whole code, else as the code.
pub(super) fn write_message(simm16: u32, out: &mut String) {
    let (id, operation, stream) = (simm16 & 15, simm16 >> 4 & 7, simm16 >> 8 & 3);
    let graphics = ["GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"];
    let system = [
        "",
        "SYSMSG_OP_ECC_ERR_INTERRUPT",
        "SYSMSG_OP_REG_RD",
        "SYSMSG_OP_HOST_TRAP_ACK",
        "SYSMSG_OP_TTRACE_PC",
    ];
    let operation_name = |names: &[&'static str]| names.get(operation as usize).copied();
    let found = match (id, operation, stream) {
        (1, 0, 0) => Some(("MSG_INTERRUPT", None)),
        (4, 0, 0) => Some(("MSG_SAVEWAVE", None)),
        (3, 0, 0) => Some(("MSG_GS_DONE", operation_name(&graphics))),
        (2, 1..=3, _) => Some(("MSG_GS", operation_name(&graphics))),
        (3, 1..=3, _) => Some(("MSG_GS_DONE", operation_name(&graphics))),
        (15, 1..=4, 0) => Some(("MSG_SYSMSG", operation_name(&system))),
        _ => None,
    };
    match found {
        Some((name, operation_name)) => {
            out.push_str("sendmsg(");
            out.push_str(name);
            if let Some(operation_name) = operation_name {
                out.push_str(", ");
                out.push_str(operation_name);
            }
            // Only messages of geometry shaders with an operation have a stream.
            if matches!(id, 2 | 3) && operation != 0 {
                out.push_str(", ");
                push_number(stream.into(), out);
            }
            out.push(')');
        }
        // Numbers are printed only if no other bit would be lost.
        None if simm16 == id | operation << 4 | stream << 8 => {
            out.push_str("sendmsg(");
            push_number(id.into(), out);
            for number in [operation, stream] {
                out.push_str(", ");
                push_number(number.into(), out);
            }
            out.push(')');
        }
        None => push_number(simm16.into(), out),
    }
}

/// Appends `gpr_idx(SRC0,DST)`, or the code if it has other bits.
pub(super) fn write_gpr_index(code: u32, out: &mut String) {
    if code > 15 {
        push_hex(code.into(), out);
        return;
    }
    out.push_str("gpr_idx(");
    let mut separator = "";
    for (bit, name) in ["SRC0", "SRC1", "SRC2", "DST"].iter().enumerate() {
        if code >> bit & 1 == 1 {
            out.push_str(separator);
            out.push_str(name);
            separator = ",";
        }
    }
    out.push(')');
}

/// Appends the target of an export.
pub(super) fn write_export_target(target: u32, out: &mut String) {
    let (name, number) = match target {
        0..=7 => ("mrt", Some(target)),
        8 => ("mrtz", None),
        9 => ("null", None),
        12..=15 => ("pos", Some(target - 12)),
        32..=63 => ("param", Some(target - 32)),
        _ => ("invalid_target_", Some(target)),
    };
    out.push_str(name);
    if let Some(number) = number {
        push_number(number.into(), out);
    }
}

/// Appends the offset of ds_swizzle_b32.
pub(super) fn write_swizzle(code: u32, out: &mut String) {
    if code == 0 {
        return;
    }
    out.push_str(" offset:");
    if code & 0xff00 == 0x8000 {
        out.push_str("swizzle(QUAD_PERM");
        for lane in 0..4 {
            out.push(',');
            push_number((code >> (2 * lane) & 3).into(), out);
        }
        out.push(')');
    } else if code & 0x8000 == 0 {
        write_bitmask_swizzle(code & 31, code >> 5 & 31, code >> 10 & 31, out);
    } else {
        push_number(code.into(), out);
    }
}

/// Appends a swizzle whose source lane is `(lane & and | or) ^ xor`.
fn write_bitmask_swizzle(and: u32, or: u32, xor: u32, out: &mut String) {
    // A broadcast clears the low bits of the lane number, so `and` is 32 minus the size of the group.
    let group = 32 - and;
    let keeps = and == 31 && or == 0;
    let (name, numbers) = if keeps && xor.count_ones() == 1 {
        ("SWAP", [Some(xor), None])
    } else if keeps && xor > 0 && (xor + 1).is_power_of_two() {
        ("REVERSE", [Some(xor + 1), None])
    } else if group > 1 && group.is_power_of_two() && or < group && xor == 0 {
        ("BROADCAST", [Some(group), Some(or)])
    } else {
        out.push_str("swizzle(BITMASK_PERM,\"");
        // The pattern states for each bit of the lane number whether it is 0, 1, kept (`p`) or inverted (`i`).
        for bit in (0..5).rev() {
            let of_zero = (or ^ xor) >> bit & 1;
            let of_one = ((and | or) ^ xor) >> bit & 1;
            out.push(match (of_zero, of_one) {
                (0, 0) => '0',
                (1, 1) => '1',
                (0, _) => 'p',
                _ => 'i',
            });
        }
        out.push_str("\")");
        return;
    };
    out.push_str("swizzle(");
    out.push_str(name);
    for number in numbers.into_iter().flatten() {
        out.push(',');
        push_number(number.into(), out);
    }
    out.push(')');
}

/// Appends the formats of a typed buffer that differ from the defaults.
pub(super) fn write_format(format: u8, out: &mut String) {
    const DATA: [&str; 16] = [
        "INVALID",
        "8",
        "16",
        "8_8",
        "32",
        "16_16",
        "10_11_11",
        "11_11_10",
        "10_10_10_2",
        "2_10_10_10",
        "8_8_8_8",
        "32_32",
        "16_16_16_16",
        "32_32_32",
        "32_32_32_32",
        "RESERVED_15",
    ];
    const NUMBER: [&str; 8] = [
        "UNORM",
        "SNORM",
        "USCALED",
        "SSCALED",
        "UINT",
        "SINT",
        "RESERVED_6",
        "FLOAT",
    ];
    let (data, number) = (usize::from(format & 15), usize::from(format >> 4 & 7));
    // LLVM does not print the default formats, `8` and `UNORM`.
    let data = DATA.get(data).filter(|_| data != 1);
    let number = NUMBER.get(number).filter(|_| number != 0);
    if data.is_none() && number.is_none() {
        return;
    }
    out.push_str(" format:[");
    if let Some(data) = data {
        out.push_str("BUF_DATA_FORMAT_");
        out.push_str(data);
    }
    if let Some(number) = number {
        out.push_str(if data.is_some() { "," } else { "" });
        out.push_str("BUF_NUM_FORMAT_");
        out.push_str(number);
    }
    out.push(']');
}

/// Appends the control of DPP.
pub(super) fn write_dpp(dpp: &Dpp, out: &mut String) {
    let lanes = |ctrl: u16| Some(u64::from(ctrl & 15));
    let (name, number) = match dpp.ctrl {
        0..=0xff => ("quad_perm", None),
        0x101..=0x10f => ("row_shl", lanes(dpp.ctrl)),
        0x111..=0x11f => ("row_shr", lanes(dpp.ctrl)),
        0x121..=0x12f => ("row_ror", lanes(dpp.ctrl)),
        0x130 => ("wave_shl", Some(1)),
        0x134 => ("wave_rol", Some(1)),
        0x138 => ("wave_shr", Some(1)),
        0x13c => ("wave_ror", Some(1)),
        0x140 => ("row_mirror", None),
        0x141 => ("row_half_mirror", None),
        0x142 => ("row_bcast", Some(15)),
        0x143 => ("row_bcast", Some(31)),
        // The text of LLVM, including its two blanks.
        0x150..=0x15f => (
            " /* row_newbcast/row_share is not supported on ASICs earlier than GFX90A/GFX10 */",
            None,
        ),
        0x160..=0x16f => (
            "/* row_xmask is not supported on ASICs earlier than GFX10 */",
            None,
        ),
        _ => ("/* Invalid dpp_ctrl value */", None),
    };
    out.push(' ');
    out.push_str(name);
    // A permutation of quads has two bits for each of the four lanes.
    if dpp.ctrl <= 0xff {
        let mut separator = ":[";
        for lane in 0..4 {
            out.push_str(separator);
            push_number((dpp.ctrl >> (2 * lane) & 3).into(), out);
            separator = ",";
        }
        out.push(']');
    }
    if let Some(number) = number {
        out.push(':');
        push_number(number, out);
    }
    out.push_str(" row_mask:");
    push_hex(dpp.row_mask.into(), out);
    out.push_str(" bank_mask:");
    push_hex(dpp.bank_mask.into(), out);
    if dpp.bound_ctrl {
        out.push_str(" bound_ctrl:1");
    }
}

/// Appends the selections of one source operand, or of the destination.
pub(super) fn write_sdwa(name: &str, sdwa: &Sdwa, out: &mut String) {
    let part = |selection: u8| match selection {
        0 => "BYTE_0",
        1 => "BYTE_1",
        2 => "BYTE_2",
        3 => "BYTE_3",
        4 => "WORD_0",
        5 => "WORD_1",
        _ => "DWORD",
    };
    match name {
        "sdwa0" => {
            out.push_str(" src0_sel:");
            out.push_str(part(sdwa.src0_sel));
        }
        "sdwa1" => {
            out.push_str(" src1_sel:");
            out.push_str(part(sdwa.src1_sel));
        }
        _ => {
            out.push_str(" dst_sel:");
            out.push_str(part(sdwa.dst_sel));
            out.push_str(match sdwa.dst_unused {
                0 => " dst_unused:UNUSED_PAD",
                1 => " dst_unused:UNUSED_SEXT",
                _ => " dst_unused:UNUSED_PRESERVE",
            });
        }
    }
}
