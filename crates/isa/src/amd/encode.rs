//! Encoding: the words of an instruction from its opcode, operands and modifiers. Each word is decoded again and
//! compared, so a word that means something else is never returned. For example, `s_mov_b32 s0, 0x12345678` takes two
//! dwords, because the constant is no inline constant.

use super::fields::Encoding;
use super::form::{FieldKind, FormOperand, GcnForm, OperandAccess, VectorExtension, table};
use super::opcode::GcnOpcode;
use super::operand::{Dpp, GcnModifiers, GcnOperand, GcnValue, GcnView, Sdwa};
use super::program::GcnInstr;
use super::rows;
use crate::BranchTarget;
use warpbound_base::{BitRange, CodeAddr};

impl GcnView {
    /// Instruction with an opcode in a format, operand values in spelled order, and modifiers. It has neither SDWA
    /// nor DPP, and no operand is negated. `None` if no form has this number of operands.
    pub fn new(
        opcode: GcnOpcode,
        encoding: Encoding,
        values: &[GcnValue],
        modifiers: GcnModifiers,
    ) -> Option<GcnView> {
        let mut forms = rows::with_opcode(opcode).filter_map(|id| table().form(id));
        let form = forms.find(|form| form.encoding == encoding && form.extension.is_none())?;
        // Atomic operations have a destination only with glc.
        let is_spelled = |item: &&FormOperand| {
            !item.needs_glc || modifiers.glc || item.access != OperandAccess::Write
        };
        let items: Vec<&FormOperand> = form.operands.iter().filter(is_spelled).collect();
        let operands = items.iter().zip(values).map(|(item, value)| GcnOperand {
            access: match item.needs_glc && !modifiers.glc {
                true => OperandAccess::Read,
                false => item.access,
            },
            dwords: match item.kind {
                FieldKind::Immediate(_) | FieldKind::Target => 0,
                _ => item.dwords,
            },
            value: *value,
            neg: false,
            abs: false,
            sext: false,
        });
        (items.len() == values.len()).then(|| GcnView {
            opcode,
            encoding,
            operands: operands.collect(),
            modifiers,
        })
    }

    /// Words of the instruction at an address and their number of bytes; the first dword is in the low half. Bits
    /// that GCN3 ignores are 0. `None` if no form has these operands and modifiers.
    pub fn encode(&self, addr: CodeAddr) -> Option<(u64, u8)> {
        let mut forms = rows::with_opcode(self.opcode).filter_map(|id| table().form(id));
        forms.find_map(|form| self.encode_as(form, addr))
    }

    fn encode_as(&self, form: &GcnForm, addr: CodeAddr) -> Option<(u64, u8)> {
        let extension = match (self.modifiers.sdwa, self.modifiers.dpp) {
            (Some(_), _) => Some(VectorExtension::Sdwa),
            (_, Some(_)) => Some(VectorExtension::Dpp),
            _ => None,
        };
        if form.encoding != self.encoding || form.extension != extension {
            return None;
        }
        let mut out = EncodedWord {
            word: form.head.value as u64,
            fixed: form.head.mask as u64,
            bytes: form.head.width.bytes() as u8,
        };
        let is_spelled = |item: &&FormOperand| {
            !item.needs_glc || self.modifiers.glc || item.access != OperandAccess::Write
        };
        let items = form.operands.iter().filter(is_spelled);
        let mut operands = self.operands.iter();
        for item in items {
            out.add_operand(form, item, operands.next()?, addr, self.modifiers.compr)?;
        }
        if operands.next().is_some() {
            return None;
        }
        for (name, range) in &form.modifiers {
            out.set(*range, modifier(name, &self.modifiers)?)?;
        }
        // Reading the word again finds modifiers that the form lacks and operands of another size.
        let second = (out.bytes == 8).then_some((out.word >> 32) as u32);
        let read = GcnInstr::decode(addr, out.word as u32, second);
        (read.view().as_ref() == Some(self)).then_some((out.word, out.bytes))
    }
}

/// Word whose fields are filled in.
struct EncodedWord {
    word: u64,
    /// Bits that the form fixes.
    fixed: u64,
    bytes: u8,
}

impl EncodedWord {
    /// Sets a field that is 0 so far. `None` if the value has too many bits or contradicts bits that the form fixes.
    fn set(&mut self, range: BitRange, value: u64) -> Option<()> {
        let mask = u64::MAX >> (64 - range.width());
        if value > mask {
            return None;
        }
        let (mask, bits) = (mask << range.lo, value << range.lo);
        if (self.word ^ bits) & self.fixed & mask != 0 {
            return None;
        }
        self.word |= bits;
        Some(())
    }

    fn set_bit(&mut self, bit: Option<u8>, value: bool) -> Option<()> {
        match (bit, value) {
            (Some(lo), true) => self.set(BitRange { hi: lo, lo }, 1),
            (None, true) => None,
            (_, false) => Some(()),
        }
    }

    fn add_operand(
        &mut self,
        form: &GcnForm,
        item: &FormOperand,
        operand: &GcnOperand,
        addr: CodeAddr,
        is_compressed: bool,
    ) -> Option<()> {
        self.set_bit(item.neg, operand.neg)?;
        self.set_bit(item.abs, operand.abs)?;
        self.set_bit(item.sext, operand.sext)?;
        let bits =
            match (item.kind, operand.value) {
                // VCC has no field; reading the word again checks that it was given.
                (FieldKind::Vcc, _) => return Some(()),
                (FieldKind::Scalar { scale }, GcnValue::Scalar(first)) => first
                    .is_multiple_of(scale)
                    .then_some(u64::from(first / scale))?,
                (FieldKind::Vector, GcnValue::Off) => 0,
                (FieldKind::Vector, GcnValue::Vector(first)) => first.into(),
                (FieldKind::Source(_), value) => self.source(value)?,
                (FieldKind::Immediate(_), GcnValue::Immediate(value)) => value.into(),
                // VINTRP and VOP3 pack attribute and channel in opposite orders.
                (FieldKind::Immediate(_), GcnValue::Attribute { number, channel }) => {
                    match form.encoding {
                        Encoding::Vintrp => u64::from(number) << 2 | u64::from(channel),
                        _ => u64::from(number) | u64::from(channel) << 6,
                    }
                }
                (FieldKind::Target, GcnValue::Target(target)) => relative(addr, target)?,
                (FieldKind::ScalarOffset, GcnValue::Scalar(number)) => number.into(),
                (FieldKind::ScalarOffset, GcnValue::Immediate(offset)) => {
                    // The bit says that the offset is a constant and not a register.
                    self.set(form.encoding.field("imm")?, 1)?;
                    offset.into()
                }
                (FieldKind::Export, value) => return self.add_export(item, value, is_compressed),
                _ => return None,
            };
        self.set(item.field, bits)
    }

    /// Number of a source; a literal becomes the second dword.
    fn source(&mut self, value: GcnValue) -> Option<u64> {
        const LITERAL: u64 = 255;
        Some(match value {
            GcnValue::Scalar(number) => number.into(),
            GcnValue::Vector(number) => 256 + u64::from(number),
            // Inline integers: 128 to 192 are 0 to 64, and 193 to 208 are -1 to -16.
            GcnValue::Int(value @ 0..=64) => 128 + u64::from(value.unsigned_abs()),
            GcnValue::Int(value @ -16..=-1) => 192 + u64::from(value.unsigned_abs()),
            GcnValue::InlineFloat(number) | GcnValue::Undefined(number) => number.into(),
            GcnValue::Vccz => 251,
            GcnValue::Execz => 252,
            GcnValue::Scc => 253,
            GcnValue::LdsDirect => 254,
            GcnValue::Literal(literal) => {
                // The literal makes the instruction one dword longer than its row.
                self.bytes = 8;
                self.word |= u64::from(literal) << 32;
                LITERAL
            }
            _ => return None,
        })
    }

    /// Register of an export; with compression, two sources share one field.
    fn add_export(
        &mut self,
        item: &FormOperand,
        value: GcnValue,
        is_compressed: bool,
    ) -> Option<()> {
        // The sources of an export are the bytes of the second dword.
        let number = (item.field.lo - 32) / 8;
        let GcnValue::Vector(register) = value else {
            return (value == GcnValue::Off).then_some(());
        };
        let field = if is_compressed { number / 2 } else { number };
        // The enable bits of the four sources are bits 3:0.
        self.word |= 1 << number;
        let lo = 32 + 8 * field;
        self.set(BitRange { hi: lo + 7, lo }, register.into())
    }
}

/// Distance of a target from the next instruction, in dwords.
fn relative(addr: CodeAddr, target: BranchTarget) -> Option<u64> {
    let BranchTarget::Code(target) = target else {
        return None;
    };
    // Targets count from the next instruction; all branches have four bytes.
    let bytes = i64::from(target.0) - i64::from(addr.0) - 4;
    let dwords = i16::try_from(bytes / 4).ok()?;
    (bytes % 4 == 0).then_some(u64::from(dwords as u16))
}

/// Value of a modifier.
fn modifier(name: &str, modifiers: &GcnModifiers) -> Option<u64> {
    Some(match name {
        "clamp" => modifiers.clamp.into(),
        "omod" => modifiers.omod.into(),
        "glc" => modifiers.glc.into(),
        "slc" => modifiers.slc.into(),
        "tfe" => modifiers.tfe.into(),
        "lds" => modifiers.lds.into(),
        "gds" => modifiers.gds.into(),
        "offen" => modifiers.offen.into(),
        "idxen" => modifiers.idxen.into(),
        "offset" | "offset0" | "swizzle" => modifiers.offset.into(),
        "offset1" => modifiers.offset1.into(),
        "dmask" => modifiers.dmask.into(),
        "unorm" => modifiers.unorm.into(),
        "r128" => modifiers.r128.into(),
        "lwe" => modifiers.lwe.into(),
        "da" => modifiers.da.into(),
        "d16" => modifiers.d16.into(),
        "format" => modifiers.format.into(),
        "high" => modifiers.high.into(),
        "done" => modifiers.done.into(),
        "compr" => modifiers.compr.into(),
        "vm" => modifiers.vm.into(),
        "dpp" => dpp(modifiers.dpp?),
        "sdwa_dst" => destination(modifiers.sdwa?),
        "sdwa0" => modifiers.sdwa?.src0_sel.into(),
        "sdwa1" => modifiers.sdwa?.src1_sel.into(),
        _ => return None,
    })
}

fn dpp(dpp: Dpp) -> u64 {
    // Relative to bit 40. The bits of sources lie in between; the operands set them.
    u64::from(dpp.ctrl)
        | u64::from(dpp.bound_ctrl) << 11
        | u64::from(dpp.bank_mask) << 16
        | u64::from(dpp.row_mask) << 20
}

fn destination(sdwa: Sdwa) -> u64 {
    u64::from(sdwa.dst_sel) | u64::from(sdwa.dst_unused) << 3
}
