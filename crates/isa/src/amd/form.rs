//! Encoding forms: the rows of `gfx803.forms` (format: `isa/amd/README.md`).
//!
//! A row is parsed when a word first matches it, because a short listing needs few of the 1600 rows. For example, the
//! row of `v_add_f32_e32` states the fixed bits of VOP2, the unit `valu`, and the operands `vdst`, `src0`, `vsrc1`.

use super::condition::GcnCondition;
use super::fields::Encoding;
use super::opcode::GcnOpcode;
use super::rows::{ENCODINGS, GcnFormId, OPCODES, ROWS};
use super::scalar;
use crate::encoding::RowHead;
use crate::instr::{MemoryEffect, MemorySpace};
use crate::{Reg, RegisterKind};
use std::sync::OnceLock;
use warpbound_base::{BitRange, Named};

/// Whether an operand is read, written or both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OperandAccess {
    /// Source.
    Read,
    /// Destination.
    Write,
    /// Source and destination.
    ReadWrite,
}

/// Hardware unit that executes an instruction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum GcnUnit {
    /// Scalar ALU.
    Scalar,
    /// Vector ALU.
    Vector,
    /// Vector ALU at a quarter of the rate.
    Transcendental,
    /// Scalar memory.
    ScalarMemory,
    /// LDS and GDS.
    Lds,
    /// Flat memory.
    Flat,
    /// Buffers.
    VectorMemory,
    /// Images.
    Image,
    /// Exports.
    Export,
    /// Branches.
    Branch,
    /// Messages.
    Message,
    /// No unit: waits, barriers, ends.
    Internal,
}

impl Named for GcnUnit {
    const ALL: &'static [(GcnUnit, &'static str)] = &[
        (GcnUnit::Scalar, "salu"),
        (GcnUnit::Vector, "valu"),
        (GcnUnit::Transcendental, "trans"),
        (GcnUnit::ScalarMemory, "smem"),
        (GcnUnit::Lds, "lds"),
        (GcnUnit::Flat, "flat"),
        (GcnUnit::VectorMemory, "vmem"),
        (GcnUnit::Image, "image"),
        (GcnUnit::Export, "export"),
        (GcnUnit::Branch, "branch"),
        (GcnUnit::Message, "message"),
        (GcnUnit::Internal, "internal"),
    ];
}

/// Second dword that modifies a vector instruction of 4 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum VectorExtension {
    Sdwa,
    Dpp,
}

/// Control flow of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum FormFlow {
    #[default]
    Next,
    Jump,
    Branch(GcnCondition),
    Call,
    Indirect,
    Exit,
    Unsupported,
}

/// Effects of a form apart from its operands: the second column of the row.
#[derive(Clone, Debug, Default)]
pub(crate) struct FormEffects {
    pub(crate) reads: Vec<Reg>,
    pub(crate) writes: Vec<Reg>,
    pub(crate) flow: FormFlow,
    pub(crate) access: Option<MemoryEffect>,
    pub(crate) barrier: bool,
    /// Whether the instruction executes once for the wave although its unit is the vector ALU.
    pub(crate) is_wave: bool,
    pub(crate) reads_indexed: bool,
    pub(crate) writes_indexed: bool,
}

/// Text of the constants that a source field may encode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ConstantText {
    /// A constant has no meaning here.
    Invalid,
    Int16,
    Float16,
    Word,
    Pair,
}

/// Constant that is not a source operand, by its meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ImmediateText {
    /// Hexadecimal.
    Hex,
    /// As constants of sources are printed: inline values in decimal, others in hexadecimal.
    Inline,
    /// Exit code, decimal, not printed if 0.
    Code,
    Wait,
    HardwareRegister,
    Message,
    GprIndex,
    Attribute,
    Parameter,
    ExportTarget,
}

/// Kind of an operand's field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FieldKind {
    /// Scalar register; the field counts in groups of registers.
    Scalar { scale: u8 },
    /// Vector register of 8 bits.
    Vector,
    /// Register or constant.
    Source(ConstantText),
    /// VCC, without a field.
    Vcc,
    /// Constant.
    Immediate(ImmediateText),
    /// Relative branch target.
    Target,
    /// Offset of scalar memory: constant or register.
    ScalarOffset,
    /// Source of an export.
    Export,
}

/// Operand of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FormOperand {
    pub(crate) access: OperandAccess,
    pub(crate) kind: FieldKind,
    pub(crate) field: BitRange,
    pub(crate) dwords: u8,
    pub(crate) neg: Option<u8>,
    pub(crate) abs: Option<u8>,
    pub(crate) sext: Option<u8>,
    /// Whether the operand exists only with glc.
    pub(crate) needs_glc: bool,
    /// Whether this is the data operand of a buffer or an image, whose size depends on modifiers.
    pub(crate) is_data: bool,
    /// Whether this is the address operand of a buffer.
    pub(crate) is_buffer_address: bool,
}

/// Encoding form: one row of the table.
#[derive(Clone, Debug)]
pub(crate) struct GcnForm {
    pub(crate) head: &'static RowHead,
    pub(crate) opcode: GcnOpcode,
    pub(crate) encoding: Encoding,
    pub(crate) extension: Option<VectorExtension>,
    pub(crate) unit: GcnUnit,
    /// Suffix printed after the mnemonic: `_e32`.
    pub(crate) suffix: &'static str,
    pub(crate) effects: FormEffects,
    pub(crate) operands: Vec<FormOperand>,
    /// Modifiers that the row has, with their bits, in spelled order.
    pub(crate) modifiers: Vec<(&'static str, BitRange)>,
    /// Bit of glc, if the form has it.
    pub(crate) glc: Option<u8>,
}

impl GcnForm {
    /// Bits of a modifier; `None` if the form does not have it.
    pub(crate) fn modifier(&self, name: &str) -> Option<BitRange> {
        let (_, range) = self.modifiers.iter().find(|(known, _)| *known == name)?;
        Some(*range)
    }

    /// Parses the row with an index; the error names what cannot be parsed.
    fn parse(row: usize) -> Result<GcnForm, String> {
        let (Some(head), Some(opcode)) = (ENCODINGS.heads().get(row), OPCODES.get(row)) else {
            return Err(format!("no row {row}"));
        };
        let mut columns = ENCODINGS.line(head).splitn(3, '|').skip(1);
        let (Some(effects), Some(template)) = (columns.next(), columns.next()) else {
            return Err("three columns expected".to_string());
        };
        let unit = GcnUnit::from_name(ENCODINGS.timing(head)).ok_or("unknown unit")?;
        let (operands, modifiers) = template.split_once(';').unwrap_or((template, ""));
        let mut words = operands.split_ascii_whitespace();
        let name = words.next().unwrap_or_default();
        // The row spells `v_add_f32{_e32}`, with the suffix in braces.
        let suffix = name.split_once('{').map_or("", |(_, suffix)| suffix);
        let mut form = GcnForm {
            head,
            opcode: *opcode,
            encoding: Encoding::of_word(head.value as u32).ok_or("unknown format")?,
            extension: None,
            unit,
            suffix: suffix.trim_end_matches('}'),
            effects: parse_effects(effects)?,
            operands: Vec::new(),
            modifiers: Vec::new(),
            glc: None,
        };
        // Operands have other bits with an extension, so it is found before they are parsed.
        form.extension = extension(&form, head);
        // Both formats of VOP3 have the same fixed bits: only the scalar destination distinguishes them.
        if form.encoding == Encoding::Vop3a && operands.contains("sdst:") {
            form.encoding = Encoding::Vop3b;
        }
        for word in words {
            let operand =
                parse_operand(word, &form).ok_or_else(|| format!("cannot read `{word}`"))?;
            form.operands.push(operand);
        }
        for name in modifiers.split_ascii_whitespace() {
            let range =
                modifier_bits(name, &form).ok_or_else(|| format!("cannot read `{name}`"))?;
            form.modifiers.push((name, range));
        }
        form.glc = form.modifier("glc").map(|range| range.lo);
        Ok(form)
    }
}

/// All rows, parsed when a word first matches them.
pub(crate) struct GcnTable {
    forms: [OnceLock<Result<Box<GcnForm>, String>>; ROWS],
}

impl GcnTable {
    /// Row with an id. Never `None`: ids come from the table, and a test parses all rows.
    pub(crate) fn form(&self, id: GcnFormId) -> Option<&GcnForm> {
        self.row(usize::from(id.0))?.ok()
    }

    fn row(&self, row: usize) -> Option<Result<&GcnForm, &String>> {
        let form = self.forms.get(row)?;
        let form = form.get_or_init(|| GcnForm::parse(row).map(Box::new));
        Some(form.as_ref().map(|form| &**form))
    }
}

/// Returns the table.
pub(crate) fn table() -> &'static GcnTable {
    static TABLE: GcnTable = GcnTable {
        forms: [const { OnceLock::new() }; ROWS],
    };
    &TABLE
}

/// SDWA or DPP, by the fixed first source.
fn extension(form: &GcnForm, head: &RowHead) -> Option<VectorExtension> {
    let is_vector = matches!(
        form.encoding,
        Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc
    );
    match (head.value & 0x1ff, head.mask & 0x1ff) {
        (0xf9, 0x1ff) if is_vector => Some(VectorExtension::Sdwa),
        (0xfa, 0x1ff) if is_vector => Some(VectorExtension::Dpp),
        _ => None,
    }
}

fn modifier_bits(name: &str, form: &GcnForm) -> Option<BitRange> {
    let bits = |hi, lo| Some(BitRange { hi, lo });
    match name {
        "dpp" => bits(63, 40),
        "sdwa_dst" => bits(44, 40),
        "sdwa0" => bits(50, 48),
        "sdwa1" => bits(58, 56),
        // The others have the same bits in all rows of a format.
        _ => form.encoding.field(name),
    }
}

/// Bits of neg, abs and sext of a source field.
fn source_bits(name: &str, form: &GcnForm) -> Option<(u8, u8, u8)> {
    match (form.extension, name) {
        (Some(VectorExtension::Sdwa), "src0") => Some((52, 53, 51)),
        (Some(VectorExtension::Sdwa), "vsrc1") => Some((60, 61, 59)),
        (Some(VectorExtension::Dpp), "src0") => Some((52, 53, 0)),
        // DPP has no sign extension, and no row asks for it: the last number is a placeholder.
        (Some(VectorExtension::Dpp), "vsrc1") => Some((54, 55, 54)),
        // VOP3 has no sign extension either.
        (None, "src0") => Some((61, 8, 61)),
        (None, "src1") => Some((62, 9, 62)),
        (None, "src2") => Some((63, 10, 63)),
        _ => None,
    }
}

/// Parses `=vdst:v1`, `src0:b32/na`, `=vdst:v1?glc`, `vcc`.
fn parse_operand(word: &str, form: &GcnForm) -> Option<FormOperand> {
    let (access, word) = match word.as_bytes().first()? {
        b'=' => (OperandAccess::Write, word.get(1..)?),
        b'+' => (OperandAccess::ReadWrite, word.get(1..)?),
        _ => (OperandAccess::Read, word),
    };
    let (word, needs_glc) = match word.strip_suffix("?glc") {
        Some(word) => (word, true),
        None => (word, false),
    };
    let (word, attributes) = word.split_once('/').unwrap_or((word, ""));
    let (name, kind) = word.split_once(':').unwrap_or((word, "vcc"));
    let (kind, dwords) = field_kind(name, kind, form.encoding)?;
    let field = match (kind, form.extension, name) {
        // A placeholder: VCC is implied and has no bits.
        (FieldKind::Vcc, ..) => BitRange { hi: 0, lo: 0 },
        // With SDWA or DPP, the first source field holds a marker, and the register is in the second dword.
        (_, Some(_), "src0") => BitRange { hi: 39, lo: 32 },
        _ => form.encoding.field(name)?,
    };
    let (neg, abs, sext) = source_bits(name, form).unwrap_or_default();
    let has = |letter: char, bit: u8| attributes.contains(letter).then_some(bit);
    let is_buffer = matches!(form.encoding, Encoding::Mubuf | Encoding::Mtbuf);
    Some(FormOperand {
        access,
        kind,
        field,
        dwords,
        neg: has('n', neg),
        abs: has('a', abs),
        sext: has('x', sext),
        needs_glc,
        is_data: name == "vdata",
        is_buffer_address: is_buffer && name == "vaddr",
    })
}

fn field_kind(name: &str, kind: &str, encoding: Encoding) -> Option<(FieldKind, u8)> {
    use ImmediateText as Text;
    let immediate = |text| Some((FieldKind::Immediate(text), 0));
    let source = |text, dwords| Some((FieldKind::Source(text), dwords));
    let scale = match (name, encoding) {
        // The field counts pairs or groups of four, since these groups must be aligned.
        ("sbase", _) => 2,
        ("srsrc" | "ssamp", _) => 4,
        _ => 1,
    };
    match kind {
        "vcc" => Some((FieldKind::Vcc, 2)),
        "i16" => source(ConstantText::Int16, 1),
        "f16" => source(ConstantText::Float16, 1),
        "b32" => source(ConstantText::Word, 1),
        "b64" => source(ConstantText::Pair, 2),
        "r32" => source(ConstantText::Invalid, 1),
        "r64" => source(ConstantText::Invalid, 2),
        "r128" => source(ConstantText::Invalid, 4),
        "hex" => immediate(Text::Hex),
        "inline" => immediate(Text::Inline),
        "code" => immediate(Text::Code),
        "wait" => immediate(Text::Wait),
        "hwreg" => immediate(Text::HardwareRegister),
        "msg" => immediate(Text::Message),
        "gpr" => immediate(Text::GprIndex),
        "attr" => immediate(Text::Attribute),
        "param" => immediate(Text::Parameter),
        "export" => immediate(Text::ExportTarget),
        "target" => Some((FieldKind::Target, 0)),
        "smem" => Some((FieldKind::ScalarOffset, 1)),
        "exp" => Some((FieldKind::Export, 1)),
        _ => {
            // The other kinds are a letter and a number of dwords.
            let dwords = kind.get(1..)?.parse().ok()?;
            match kind.as_bytes().first()? {
                b's' => Some((FieldKind::Scalar { scale }, dwords)),
                b'v' => Some((FieldKind::Vector, dwords)),
                _ => None,
            }
        }
    }
}

fn parse_effects(text: &str) -> Result<FormEffects, String> {
    let mut effects = FormEffects::default();
    for word in text.split_ascii_whitespace() {
        parse_effect(word, &mut effects).ok_or_else(|| format!("cannot read `{word}`"))?;
    }
    Ok(effects)
}

fn parse_effect(word: &str, effects: &mut FormEffects) -> Option<()> {
    let (name, value) = word.split_once(':').unwrap_or((word, ""));
    match name {
        "-" => {}
        "barrier" => effects.barrier = true,
        "wave" => effects.is_wave = true,
        "indexed_read" => effects.reads_indexed = true,
        "indexed_write" => effects.writes_indexed = true,
        "jump" => effects.flow = FormFlow::Jump,
        "branch" => effects.flow = FormFlow::Branch(GcnCondition::from_name(value)?),
        "swappc" => effects.flow = FormFlow::Call,
        "setpc" => effects.flow = FormFlow::Indirect,
        "exit" => effects.flow = FormFlow::Exit,
        "unsupported" => effects.flow = FormFlow::Unsupported,
        "access" => {
            let (space, kind) = value.split_once(':')?;
            effects.access = Some(MemoryEffect {
                space: MemorySpace::from_name(space)?,
                loads: matches!(kind, "ld" | "rw"),
                stores: matches!(kind, "st" | "rw"),
            });
        }
        _ => {
            let registers = implicit_registers(name.get(1..)?)?;
            match name.as_bytes().first()? {
                b'<' => effects.reads.extend(registers),
                b'>' => effects.writes.extend(registers),
                _ => return None,
            }
        }
    }
    Some(())
}

/// Scalar registers with a name in the effects.
fn implicit_registers(name: &str) -> Option<impl Iterator<Item = Reg>> {
    let (first, count) = match name {
        "scc" => (scalar::SCC, 1),
        "mode" => (scalar::MODE, 1),
        "m0" => (scalar::M0, 1),
        "vcc" => (scalar::VCC, 2),
        "exec" => (scalar::EXEC, 2),
        "flat_scratch" => (scalar::FLAT_SCRATCH, 2),
        _ => return None,
    };
    Some((first..first + count).map(|number| Reg {
        kind: RegisterKind::Scalar,
        number,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rows_can_be_parsed() {
        for row in 0..ROWS {
            if let Err(error) = GcnForm::parse(row) {
                let line = ENCODINGS.heads().get(row).map(|head| ENCODINGS.line(head));
                panic!("{error}: {line:?}");
            }
        }
    }

    #[test]
    fn each_opcode_has_a_row() {
        for opcode in GcnOpcode::ALL {
            assert!(OPCODES.contains(opcode), "{opcode}");
        }
    }
}
