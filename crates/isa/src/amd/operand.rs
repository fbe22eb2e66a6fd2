//! Instructions as opcode, operands and modifiers. For example, `v_add_f32_e64 v0, -v1, |s2|` has three operands:
//! `v0` written, `v1` read and negated, `s2` read with its absolute value.

use super::fields::Encoding;
use super::form::{FieldKind, FormOperand, GcnForm, ImmediateText, OperandAccess, VectorExtension};
use super::opcode::GcnOpcode;
use super::program::GcnInstr;
use super::scalar;
use crate::BranchTarget;
use smallvec::SmallVec;
use warpbound_base::{BitRange, Bits, CodeAddr};

/// Value of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GcnValue {
    /// Scalar register, the first of a group: 0..=127 as encoded (see [`scalar`]).
    Scalar(u8),
    /// Vector register, the first of a group.
    Vector(u8),
    /// Inline integer, -16 to 64.
    Int(i32),
    /// Inline float by its source number: 240 to 247 are 0.5, -0.5, 1, -1, 2, -2, 4, -4 and 248 is 1/(2 pi), in the
    /// operand's format.
    InlineFloat(u8),
    /// Literal dword after the instruction.
    Literal(u32),
    /// 1 if VCC is 0, else 0.
    Vccz,
    /// 1 if EXEC is 0, else 0.
    Execz,
    /// SCC.
    Scc,
    /// Dword of LDS at the address in M0.
    LdsDirect,
    /// Source number that GCN3 does not define although disassemblers name it (235 to 239).
    Undefined(u8),
    /// Constant in a field of its own, as encoded: simm16, offset of scalar memory in bytes, export target ...
    Immediate(u32),
    /// Target of a branch.
    Target(BranchTarget),
    /// Attribute and channel of an interpolation.
    Attribute {
        /// Number of the attribute.
        number: u8,
        /// Channel 0 to 3: x, y, z, w.
        channel: u8,
    },
    /// No register: the address of a buffer access without offset and index, or an export source that is not enabled.
    Off,
}

/// Operand with its modifiers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GcnOperand {
    /// Whether the instruction reads or writes it.
    pub access: OperandAccess,
    /// Number of dwords of the registers or of the constant; 0 for immediates, targets and [`GcnValue::Off`].
    pub dwords: u8,
    /// Value.
    pub value: GcnValue,
    /// Whether it is negated, after `abs`.
    pub neg: bool,
    /// Whether its absolute value is taken.
    pub abs: bool,
    /// Whether the selected part is sign-extended.
    pub sext: bool,
}

/// Selection of bytes and words (SDWA).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sdwa {
    /// Part of the destination that is written: 0 to 3 for a byte, 4 and 5 for a word, 6 for all. Comparisons have 6.
    pub dst_sel: u8,
    /// Other bits of the destination: 0 zero, 1 sign extension, 2 kept.
    pub dst_unused: u8,
    /// Part of the first source that is read.
    pub src0_sel: u8,
    /// Part of the second source that is read; 6 if there is none.
    pub src1_sel: u8,
}

/// Exchange of lanes (DPP) in the first source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dpp {
    /// Control: permutation in quads, shift or rotation in rows ...
    pub ctrl: u16,
    /// Bit `bound_ctrl`: whether a lane whose source is invalid or inactive reads 0. Otherwise its destination keeps
    /// its value.
    pub bound_ctrl: bool,
    /// Banks of 4 lanes that are written.
    pub bank_mask: u8,
    /// Rows of 16 lanes that are written.
    pub row_mask: u8,
}

/// Modifiers; a modifier that the form does not have is false or 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs, reason = "the names of the fields in AMD's manual")]
pub struct GcnModifiers {
    pub clamp: bool,
    /// 0 none, 1 times 2, 2 times 4, 3 divided by 2.
    pub omod: u8,
    pub glc: bool,
    pub slc: bool,
    pub tfe: bool,
    pub lds: bool,
    pub gds: bool,
    pub offen: bool,
    pub idxen: bool,
    /// Offset in bytes, or the first of two offsets in elements of LDS instructions with two addresses.
    pub offset: u32,
    /// Second offset of LDS instructions with two addresses, in elements.
    pub offset1: u32,
    pub sdwa: Option<Sdwa>,
    pub dpp: Option<Dpp>,
    /// Components of images.
    pub dmask: u8,
    pub unorm: bool,
    pub r128: bool,
    pub lwe: bool,
    pub da: bool,
    pub d16: bool,
    /// Data format in bits 3:0 and number format in bits 6:4 of typed buffers.
    pub format: u8,
    /// High half of an interpolated pair.
    pub high: bool,
    pub done: bool,
    pub compr: bool,
    pub vm: bool,
}

/// Instruction as opcode, operands in spelled order, and modifiers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GcnView {
    /// Opcode.
    pub opcode: GcnOpcode,
    /// Format.
    pub encoding: Encoding,
    /// Operands in spelled order, destinations first.
    pub operands: SmallVec<[GcnOperand; 6]>,
    /// Modifiers.
    pub modifiers: GcnModifiers,
}

/// Operand of an instruction with a form; `None` if its bits have no meaning there.
pub(crate) fn operand(form: &GcnForm, item: &FormOperand, instr: &GcnInstr) -> Option<GcnOperand> {
    let word = u128::from(instr.word);
    let bits = word.field(item.field) as u32;
    let set = |bit: Option<u8>| bit.is_some_and(|bit| word.bit(bit));
    let (value, dwords) = match item.kind {
        FieldKind::Scalar { scale } => {
            let number = bits * u32::from(scale);
            (
                GcnValue::Scalar(scalar_group(number, item.dwords)?),
                item.dwords,
            )
        }
        // The number of address registers depends on offen and idxen.
        FieldKind::Vector if item.is_buffer_address => buffer_address(form, bits, word)?,
        FieldKind::Vector => {
            let dwords = data_size(form, item, bits, word);
            (vector(bits, dwords)?, dwords)
        }
        FieldKind::Source(_) => (source(form, bits, item.dwords, word)?, item.dwords),
        FieldKind::Vcc => (GcnValue::Scalar(scalar::VCC), 2),
        FieldKind::Immediate(text) => (immediate(form.encoding, text, bits), 0),
        FieldKind::Target => (GcnValue::Target(target(instr.addr, bits)), 0),
        FieldKind::ScalarOffset => scalar_offset(bits, word)?,
        FieldKind::Export => export_source(item, word),
    };
    Some(GcnOperand {
        access: item.access,
        dwords,
        value,
        neg: set(item.neg),
        abs: set(item.abs),
        sext: set(item.sext),
    })
}

/// Operands that an instruction has, in spelled order, with their fields.
pub(crate) fn spelled<'f>(
    form: &'f GcnForm,
    instr: &'f GcnInstr,
) -> impl Iterator<Item = (&'f FormOperand, Option<GcnOperand>)> + 'f {
    let has_result = form.glc.is_some_and(|bit| u128::from(instr.word).bit(bit));
    form.operands.iter().filter_map(move |item| {
        if item.needs_glc && !has_result && item.access == OperandAccess::Write {
            return None;
        }
        let mut found = operand(form, item, instr);
        if let Some(found) = &mut found
            && item.needs_glc
            && !has_result
        {
            // Atomic operations without a result only read their data.
            found.access = OperandAccess::Read;
        }
        Some((item, found))
    })
}

/// Operands that an instruction has, in spelled order.
pub(crate) fn operands<'f>(
    form: &'f GcnForm,
    instr: &'f GcnInstr,
) -> impl Iterator<Item = Option<GcnOperand>> + 'f {
    spelled(form, instr).map(|(_, operand)| operand)
}

/// Whether the first register of a scalar group is aligned as GCN3 demands: pairs to 2, larger groups to 4.
pub(crate) fn is_aligned(item: &FormOperand, instr: &GcnInstr) -> bool {
    let bits = u128::from(instr.word).field(item.field);
    let number = match item.kind {
        FieldKind::Scalar { scale } => bits * u64::from(scale),
        FieldKind::Source(_) if bits < 128 => bits,
        _ => 0,
    };
    number.is_multiple_of(item.dwords.clamp(1, 4).into())
}

/// First register of a scalar group. Unaligned numbers are rounded down, as disassemblers do. For example, number 5
/// of a pair gives `s[4:5]`.
pub(crate) fn scalar_group(number: u32, dwords: u8) -> Option<u8> {
    let number = u8::try_from(number).ok()?;
    let align = dwords.min(4);
    // A group may run into the registers after it, because disassemblers name it; `is_defined` refuses what GCN3 does
    // not define.
    let (first, count) = match number {
        0..=101 => (0, 104),
        112..=123 => (112, 16),
        // Named words and pairs. Disassemblers print a group of four with the name of the pair.
        102..=127 => {
            // M0 has no high word, because 125 is a number of its own to disassemblers.
            let is_pair = number % 2 == 0 && number != scalar::M0 || number == NULL;
            return (dwords == 1 || dwords <= 4 && is_pair).then_some(number);
        }
        _ => return None,
    };
    let within = (number - first) / align.max(1) * align;
    (within + dwords <= count).then_some(first + within)
}

/// Number that disassemblers call `null`; GCN3 has no such register.
pub(crate) const NULL: u8 = 125;

fn vector(number: u32, dwords: u8) -> Option<GcnValue> {
    let number = u8::try_from(number).ok()?;
    // A group that runs past v255 encodes no operand.
    (u32::from(number) + u32::from(dwords) <= 256).then_some(GcnValue::Vector(number))
}

/// Source operand from a field of 8 or 9 bits.
fn source(form: &GcnForm, bits: u32, dwords: u8, word: u128) -> Option<GcnValue> {
    let is_literal_form = form.head.has_literal(word);
    Some(match bits {
        0..=127 => GcnValue::Scalar(scalar_group(bits, dwords)?),
        // Inline constants: 128 to 192 are 0 to 64, 193 to 208 are -1 to -16.
        128..=192 => GcnValue::Int(bits as i32 - 128),
        193..=208 => GcnValue::Int(192 - bits as i32),
        235..=239 => GcnValue::Undefined(bits as u8),
        240..=248 => GcnValue::InlineFloat(bits as u8),
        251 => GcnValue::Vccz,
        252 => GcnValue::Execz,
        253 => GcnValue::Scc,
        254 if dwords == 1 => GcnValue::LdsDirect,
        // In other rows, this number has no dword to refer to.
        255 if is_literal_form || has_constant_dword(form) => {
            GcnValue::Literal((word >> 32) as u32)
        }
        256..=511 => vector(bits - 256, dwords)?,
        _ => return None,
    })
}

/// Whether the form's second dword is a constant that a source can also refer to (v_madmk, v_madak).
fn has_constant_dword(form: &GcnForm) -> bool {
    form.encoding == Encoding::Vop2 && form.extension.is_none() && form.head.width.bytes() == 8
}

fn buffer_address(form: &GcnForm, bits: u32, word: u128) -> Option<(GcnValue, u8)> {
    let set = |name| {
        form.modifier(name)
            .map_or(0, |range| word.field(range) as u8)
    };
    match set("offen") + set("idxen") {
        0 => Some((GcnValue::Off, 0)),
        dwords => Some((vector(bits, dwords)?, dwords)),
    }
}

/// Dwords of the data of an image instruction with a component mask, without a status. Each component of 16 bits has
/// a dword of its own.
pub(crate) fn image_components(form: &GcnForm, dmask: u8) -> u8 {
    match form.opcode.name().starts_with("image_gather4") {
        // A gather returns one component of four texels, so the mask selects and does not count.
        true => 4,
        false => dmask.count_ones().max(1) as u8,
    }
}

/// Number of dwords of a vector operand. Image data has a dword for each component of the mask, and one more with
/// tfe.
///
/// Disassemblers print other numbers for some words of atomic operations, and do not count the dword of lwe;
/// [`image_components`] gives the dwords that the hardware accesses.
fn data_size(form: &GcnForm, item: &FormOperand, bits: u32, word: u128) -> u8 {
    if form.encoding != Encoding::Mimg || !item.is_data {
        return item.dwords;
    }
    let field = |name| form.modifier(name).map_or(0, |range| word.field(range));
    let dwords = image_components(form, field("dmask") as u8) + field("tfe") as u8;
    // Atomic operations have one size or its double. With other masks, and for data past v255, the size of the row
    // stays.
    let is_atomic = form.opcode.name().starts_with("image_atomic");
    let exists = !is_atomic || dwords == item.dwords || dwords == 2 * item.dwords;
    match vector(bits, dwords) {
        Some(_) if exists => dwords,
        _ => item.dwords,
    }
}

fn immediate(encoding: Encoding, text: ImmediateText, bits: u32) -> GcnValue {
    match (text, encoding) {
        (ImmediateText::Attribute, Encoding::Vintrp) => GcnValue::Attribute {
            number: (bits >> 2) as u8,
            channel: bits as u8 & 3,
        },
        (ImmediateText::Attribute, _) => GcnValue::Attribute {
            number: bits as u8 & 0x3f,
            channel: (bits >> 6) as u8,
        },
        _ => GcnValue::Immediate(bits),
    }
}

fn target(addr: CodeAddr, simm16: u32) -> BranchTarget {
    // The field is signed and counts dwords from the next instruction.
    let relative = i64::from(simm16 as u16 as i16) * 4;
    let target = i64::from(addr.0) + 4 + relative;
    match u32::try_from(target) {
        Ok(target) => BranchTarget::Code(CodeAddr(target)),
        // A target below 0 or above 4 GiB cannot be in the code.
        Err(_) => BranchTarget::Outside,
    }
}

fn scalar_offset(bits: u32, word: u128) -> Option<(GcnValue, u8)> {
    const IMM: u8 = 17;
    if word.bit(IMM) {
        return Some((GcnValue::Immediate(bits), 0));
    }
    Some((GcnValue::Scalar(scalar_group(bits & 0x7f, 1)?), 1))
}

fn export_source(item: &FormOperand, word: u128) -> (GcnValue, u8) {
    const ENABLED: BitRange = BitRange { hi: 3, lo: 0 };
    const COMPRESSED: u8 = 10;
    let number = (item.field.lo - 32) / 8;
    if word.field(ENABLED) >> number & 1 == 0 {
        return (GcnValue::Off, 0);
    }
    // Compressed exports have two halves in each register.
    let source = match word.bit(COMPRESSED) {
        true => number / 2,
        false => number,
    };
    let lo = 32 + 8 * source;
    let register = word.field(BitRange { hi: lo + 7, lo });
    (GcnValue::Vector(register as u8), 1)
}

/// Modifiers of an instruction.
pub(crate) fn modifiers(form: &GcnForm, instr: &GcnInstr) -> GcnModifiers {
    let word = u128::from(instr.word);
    let mut out = GcnModifiers::default();
    for (name, range) in &form.modifiers {
        let value = word.field(*range);
        let is_set = value != 0;
        match *name {
            "clamp" => out.clamp = is_set,
            "omod" => out.omod = value as u8,
            "glc" => out.glc = is_set,
            "slc" => out.slc = is_set,
            "tfe" => out.tfe = is_set,
            "lds" => out.lds = is_set,
            "gds" => out.gds = is_set,
            "offen" => out.offen = is_set,
            "idxen" => out.idxen = is_set,
            "offset" | "offset0" | "swizzle" => out.offset = value as u32,
            "offset1" => out.offset1 = value as u32,
            "dmask" => out.dmask = value as u8,
            "unorm" => out.unorm = is_set,
            "r128" => out.r128 = is_set,
            "lwe" => out.lwe = is_set,
            "da" => out.da = is_set,
            "d16" => out.d16 = is_set,
            "format" => out.format = value as u8,
            "high" => out.high = is_set,
            "done" => out.done = is_set,
            "compr" => out.compr = is_set,
            "vm" => out.vm = is_set,
            _ => {}
        }
    }
    // A load into LDS has no status dword; the bit means nothing there.
    out.tfe &= !out.lds;
    match form.extension {
        Some(VectorExtension::Sdwa) => out.sdwa = Some(sdwa(form, word)),
        Some(VectorExtension::Dpp) => {
            out.dpp = Some(Dpp {
                ctrl: word.field(BitRange { hi: 48, lo: 40 }) as u16,
                bound_ctrl: word.bit(51),
                bank_mask: word.field(BitRange { hi: 59, lo: 56 }) as u8,
                row_mask: word.field(BitRange { hi: 63, lo: 60 }) as u8,
            });
        }
        None => {}
    }
    out
}

impl Dpp {
    /// Whether GCN3 defines the control.
    pub(crate) fn is_defined(&self) -> bool {
        match self.ctrl {
            0..=0xff | 0x130 | 0x134 | 0x138 | 0x13c | 0x140..=0x143 => true,
            // A shift or rotation by 0 lanes is not defined.
            0x101..=0x12f => self.ctrl & 15 != 0,
            _ => false,
        }
    }
}

/// Selection of a whole dword.
const DWORD: u8 = 6;

fn sdwa(form: &GcnForm, word: u128) -> Sdwa {
    let field = |name| form.modifier(name).map(|range| word.field(range) as u8);
    let destination = field("sdwa_dst");
    Sdwa {
        // Comparisons write a mask, and have no such field.
        dst_sel: destination.map_or(DWORD, |bits| bits & 7),
        dst_unused: destination.map_or(0, |bits| bits >> 3),
        src0_sel: field("sdwa0").unwrap_or(DWORD),
        src1_sel: field("sdwa1").unwrap_or(DWORD),
    }
}
