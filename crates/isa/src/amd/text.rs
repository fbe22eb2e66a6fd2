//! Assembly text of instructions, as LLVM's disassembler prints it.

mod fields;

use super::form::{ConstantText, FieldKind, FormOperand, GcnForm, ImmediateText};
use super::operand::{self, GcnModifiers, GcnOperand, GcnValue, NULL};
use super::program::GcnInstr;
use super::{REGISTERS, scalar};
use crate::{BranchTarget, Reg, RegisterKind, TargetStyle};
use std::fmt::Write;

impl GcnInstr {
    /// Assembly text; `None` for a dword that is no instruction. A branch target without a label is printed as
    /// encoded, in dwords from the next instruction.
    pub fn text(&self, style: TargetStyle<'_>) -> Option<String> {
        let mut out = String::new();
        self.write_text(style, &mut out).then_some(out)
    }

    /// Appends [`GcnInstr::text`]; returns whether the dword is an instruction.
    pub fn write_text(&self, style: TargetStyle<'_>, out: &mut String) -> bool {
        let Some(form) = self.form() else {
            return false;
        };
        out.push_str(form.opcode.name());
        out.push_str(form.suffix);
        let mut separator = " ";
        for (item, operand) in operand::spelled(form, self) {
            let before = out.len();
            out.push_str(separator);
            let start = out.len();
            if let Some(operand) = operand {
                write_operand(form, item, &operand, self, style, out);
            }
            // Some operands have no text, such as the exit code 0; no separator may stay.
            if out.len() == start {
                out.truncate(before);
                continue;
            }
            // An export's target is set off like a mnemonic.
            separator = match item.kind {
                FieldKind::Immediate(ImmediateText::ExportTarget) => " ",
                _ => ", ",
            };
        }
        write_modifiers(form, &operand::modifiers(form, self), out);
        true
    }
}

fn write_operand(
    form: &GcnForm,
    item: &FormOperand,
    operand: &GcnOperand,
    instr: &GcnInstr,
    style: TargetStyle<'_>,
    out: &mut String,
) {
    let is_constant = matches!(
        operand.value,
        GcnValue::Int(_) | GcnValue::InlineFloat(_) | GcnValue::Literal(_)
    );
    let close = match (operand.neg, operand.abs, operand.sext) {
        (_, _, true) => {
            out.push_str("sext(");
            ")"
        }
        // A minus sign before a number would read as another constant.
        (true, false, _) if is_constant => {
            out.push_str("neg(");
            ")"
        }
        (neg, abs, _) => {
            out.push_str(if neg { "-" } else { "" });
            out.push_str(if abs { "|" } else { "" });
            if abs { "|" } else { "" }
        }
    };
    write_value(form, item, operand, instr, style, out);
    out.push_str(close);
}

fn write_value(
    form: &GcnForm,
    item: &FormOperand,
    operand: &GcnOperand,
    instr: &GcnInstr,
    style: TargetStyle<'_>,
    out: &mut String,
) {
    match operand.value {
        GcnValue::Scalar(first) => write_scalar(first, operand.dwords, out),
        GcnValue::Vector(first) => write_group("v", first, operand.dwords, out),
        GcnValue::Int(_) | GcnValue::InlineFloat(_) | GcnValue::Literal(_) => {
            write_constant(item, operand.value, out);
        }
        GcnValue::Vccz => out.push_str("src_vccz"),
        GcnValue::Execz => out.push_str("src_execz"),
        GcnValue::Scc => out.push_str("src_scc"),
        GcnValue::LdsDirect => out.push_str("src_lds_direct"),
        GcnValue::Undefined(number) => {
            const NAMES: [&str; 5] = [
                "src_shared_base",
                "src_shared_limit",
                "src_private_base",
                "src_private_limit",
                "src_pops_exiting_wave_id",
            ];
            let name = NAMES.get(usize::from(number.saturating_sub(235)));
            out.push_str(name.unwrap_or(&""));
        }
        GcnValue::Immediate(value) => write_immediate(item, value, out),
        GcnValue::Target(target) => {
            let label = match (target, style) {
                (BranchTarget::Code(addr), TargetStyle::Labels(label)) => label(addr),
                _ => None,
            };
            match label {
                Some(label) => out.push_str(&label),
                None => push_number(instr.word & 0xffff, out),
            }
        }
        GcnValue::Attribute { number, channel } => {
            out.push_str("attr");
            push_number(number.into(), out);
            out.push_str([".x", ".y", ".z", ".w"][usize::from(channel & 3)]);
        }
        GcnValue::Off => out.push_str("off"),
    }
    let _ = form;
}

/// Appends a decimal number. The formatting machinery would take several times as long.
fn push_number(number: u64, out: &mut String) {
    if number >= 10 {
        push_number(number / 10, out);
    }
    out.push((b'0' + (number % 10) as u8) as char);
}

fn push_hex(number: u64, out: &mut String) {
    // Writing to a string cannot fail.
    let _ = write!(out, "0x{number:x}");
}

/// Appends `v5`, `v[5:6]`.
fn write_group(prefix: &str, first: u8, dwords: u8, out: &mut String) {
    out.push_str(prefix);
    if dwords == 1 {
        push_number(first.into(), out);
        return;
    }
    out.push('[');
    push_number(first.into(), out);
    out.push(':');
    // Wider than a byte, because a word may encode a group that ends after v255.
    push_number(u64::from(first) + u64::from(dwords) - 1, out);
    out.push(']');
}

fn write_scalar(first: u8, dwords: u8, out: &mut String) {
    let pair = match first {
        scalar::FLAT_SCRATCH => "flat_scratch",
        scalar::XNACK_MASK => "xnack_mask",
        scalar::VCC => "vcc",
        scalar::TBA => "tba",
        scalar::TMA => "tma",
        NULL => "null",
        scalar::EXEC => "exec",
        _ => "",
    };
    match first {
        0..=101 => write_group("s", first, dwords, out),
        112..=123 => write_group("ttmp", first - 112, dwords, out),
        // A pair has the name of both words, without their suffixes.
        _ if dwords > 1 => out.push_str(pair),
        _ => {
            let name = REGISTERS.name(Reg {
                kind: RegisterKind::Scalar,
                number: first,
            });
            out.push_str(&name.unwrap_or_default());
        }
    }
}

/// Bits of the inline floats 240 to 248 in formats of 16 and 32 bits, and their text.
const INLINE_FLOATS: [(u16, u32, &str); 9] = [
    (0x3800, 0x3f00_0000, "0.5"),
    (0xb800, 0xbf00_0000, "-0.5"),
    (0x3c00, 0x3f80_0000, "1.0"),
    (0xbc00, 0xbf80_0000, "-1.0"),
    (0x4000, 0x4000_0000, "2.0"),
    (0xc000, 0xc000_0000, "-2.0"),
    (0x4400, 0x4080_0000, "4.0"),
    (0xc400, 0xc080_0000, "-4.0"),
    (0x3118, 0x3e22_f983, "0.15915494"),
];

/// Appends a constant of a source. A literal is spelled by its value, so one that could be an inline constant is
/// printed as one.
fn write_constant(item: &FormOperand, value: GcnValue, out: &mut String) {
    let FieldKind::Source(text) = item.kind else {
        return;
    };
    if text == ConstantText::Invalid {
        out.push_str("/*invalid immediate*/");
        return;
    }
    match value {
        GcnValue::Int(value) => push_signed(value, out),
        GcnValue::InlineFloat(number) => {
            let float = INLINE_FLOATS.get(usize::from(number.saturating_sub(240)));
            match (float, text, number) {
                (Some((bits, ..)), ConstantText::Int16, _) => push_hex((*bits).into(), out),
                // A double prints more digits of 1/(2π) than a single.
                (_, ConstantText::Pair, 248) => out.push_str("0.15915494309189532"),
                (Some((.., text)), ..) => out.push_str(text),
                (None, ..) => {}
            }
        }
        GcnValue::Literal(literal) => match text {
            ConstantText::Word => write_word(literal, out),
            ConstantText::Pair => match literal {
                0..=64 => push_number(literal.into(), out),
                _ => push_hex(literal.into(), out),
            },
            ConstantText::Int16 | ConstantText::Float16 => {
                let half = literal as u16;
                // A literal is a float only if its high half is 0.
                let mut floats = INLINE_FLOATS.iter();
                let float = floats.find(|(bits, ..)| u32::from(*bits) == literal);
                match (float, half as i16) {
                    (_, value @ -16..=64) => push_signed(value.into(), out),
                    (Some((.., name)), _) if text == ConstantText::Float16 => out.push_str(name),
                    _ => push_hex(half.into(), out),
                }
            }
            ConstantText::Invalid => {}
        },
        _ => {}
    }
}

/// Appends a word: inline values in decimal or as a float, others in hexadecimal.
fn write_word(word: u32, out: &mut String) {
    let float = INLINE_FLOATS.iter().find(|(_, bits, _)| *bits == word);
    match (float, word as i32) {
        (_, value @ -16..=64) => push_signed(value, out),
        (Some((.., text)), _) => out.push_str(text),
        _ => push_hex(word.into(), out),
    }
}

fn push_signed(value: i32, out: &mut String) {
    out.push_str(if value < 0 { "-" } else { "" });
    push_number(value.unsigned_abs().into(), out);
}

fn write_immediate(item: &FormOperand, value: u32, out: &mut String) {
    let FieldKind::Immediate(text) = item.kind else {
        // Other immediates are offsets of scalar memory.
        push_hex(value.into(), out);
        return;
    };
    match text {
        ImmediateText::Hex => push_hex(value.into(), out),
        ImmediateText::Inline => write_word(value, out),
        ImmediateText::Code if value == 0 => {}
        ImmediateText::Code => push_number(value.into(), out),
        ImmediateText::Wait => fields::write_wait(value, out),
        ImmediateText::HardwareRegister => fields::write_hardware_register(value, out),
        ImmediateText::Message => fields::write_message(value, out),
        ImmediateText::GprIndex => fields::write_gpr_index(value, out),
        ImmediateText::Parameter => match value {
            0 => out.push_str("p10"),
            1 => out.push_str("p20"),
            2 => out.push_str("p0"),
            _ => {
                out.push_str("invalid_param_");
                push_number(value.into(), out);
            }
        },
        ImmediateText::ExportTarget => fields::write_export_target(value, out),
        ImmediateText::Attribute => {}
    }
}

fn write_modifiers(form: &GcnForm, modifiers: &GcnModifiers, out: &mut String) {
    for (name, _) in &form.modifiers {
        let flag = match *name {
            "clamp" => modifiers.clamp,
            "glc" => modifiers.glc,
            "slc" => modifiers.slc,
            "tfe" => modifiers.tfe,
            "lds" => modifiers.lds,
            "gds" => modifiers.gds,
            "offen" => modifiers.offen,
            "idxen" => modifiers.idxen,
            "unorm" => modifiers.unorm,
            "r128" => modifiers.r128,
            "lwe" => modifiers.lwe,
            "da" => modifiers.da,
            "d16" => modifiers.d16,
            "high" => modifiers.high,
            "done" => modifiers.done,
            "compr" => modifiers.compr,
            "vm" => modifiers.vm,
            _ => {
                write_modifier(name, modifiers, out);
                false
            }
        };
        if flag {
            out.push(' ');
            out.push_str(name);
        }
    }
}

/// Appends a modifier with a value.
fn write_modifier(name: &str, modifiers: &GcnModifiers, out: &mut String) {
    let mut number = |value: u32| {
        if value != 0 {
            out.push(' ');
            out.push_str(name);
            out.push(':');
            push_number(value.into(), out);
        }
    };
    match name {
        "offset" | "offset0" => number(modifiers.offset),
        "offset1" => number(modifiers.offset1),
        "omod" => out.push_str(["", " mul:2", " mul:4", " div:2"][usize::from(modifiers.omod & 3)]),
        "dmask" if modifiers.dmask != 0 => {
            out.push_str(" dmask:");
            push_hex(modifiers.dmask.into(), out);
        }
        "swizzle" => fields::write_swizzle(modifiers.offset, out),
        "format" => fields::write_format(modifiers.format, out),
        "dpp" => {
            if let Some(dpp) = &modifiers.dpp {
                fields::write_dpp(dpp, out);
            }
        }
        "sdwa_dst" | "sdwa0" | "sdwa1" => {
            if let Some(sdwa) = &modifiers.sdwa {
                fields::write_sdwa(name, sdwa, out);
            }
        }
        _ => {}
    }
}
