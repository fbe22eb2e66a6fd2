//! Effects of an instruction: reads, writes, control flow, memory access.
//!
//! Effects over-approximate: reads and writes may name more registers than the hardware touches, never fewer. For
//! example, `v_movrels_b32 v0, v1` reads all vector registers, because M0 selects one of them.

use super::condition::GcnCondition;
use super::fields::Encoding;
use super::form::{FormFlow, GcnForm, GcnUnit, OperandAccess, VectorExtension};
use super::operand::{self, GcnModifiers, GcnOperand, GcnValue};
use super::program::GcnInstr;
use super::{REGISTERS, scalar};
use crate::instr::{BranchTarget, MemoryEffect};
use crate::{Reg, RegisterKind};
use warpbound_base::Bits;

/// Control flow of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GcnFlow {
    /// Falls through.
    Next,
    /// s_branch.
    Jump(BranchTarget),
    /// s_cbranch_*: jumps if the condition holds.
    Branch(GcnCondition, BranchTarget),
    /// s_swappc_b64: writes the address after it to the pair `link`; the wave continues at the address in the pair
    /// `to`.
    Call {
        /// First register of the pair that is written.
        link: u8,
        /// First register of the pair that is read.
        to: u8,
    },
    /// s_setpc_b64: the wave continues at the address in a pair.
    Indirect {
        /// First register of the pair.
        from: u8,
    },
    /// s_endpgm.
    Exit,
    /// Control flow that no analysis follows: a dword that is no instruction; traps, halts, forks; addressing modes
    /// of registers that affect later instructions; GDS; operands that GCN3 does not define.
    Unsupported,
}

/// Reads, writes, control flow and memory access of one instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GcnEffects {
    /// Registers read, including implicit ones: every register of a group, SCC, VCC, EXEC, M0, MODE. Vector
    /// instructions read EXEC.
    pub reads: Vec<Reg>,
    /// Registers written, including implicit ones. Vector registers are written in active lanes only, unless
    /// `is_warp_scope` holds. A register that may keep its value in an active lane is also among the reads.
    pub writes: Vec<Reg>,
    /// Control flow.
    pub flow: GcnFlow,
    /// Memory access.
    pub access: Option<MemoryEffect>,
    /// Whether the instruction executes once for the wave, whatever EXEC is.
    pub is_warp_scope: bool,
    /// Whether the instruction is s_barrier.
    pub barrier: bool,
}

impl GcnInstr {
    /// Returns reads, writes, control flow and memory access. A dword that is no instruction has
    /// [`GcnFlow::Unsupported`] and no other effects.
    pub fn effects(&self) -> GcnEffects {
        let mut out = GcnEffects {
            reads: Vec::new(),
            writes: Vec::new(),
            flow: GcnFlow::Unsupported,
            access: None,
            is_warp_scope: true,
            barrier: false,
        };
        if let Some(form) = self.form() {
            form_effects(form, self, &mut out);
        }
        // Operands and implicit effects may name a register twice.
        for list in [&mut out.reads, &mut out.writes] {
            list.sort_unstable();
            list.dedup();
        }
        out
    }
}

fn form_effects(form: &GcnForm, instr: &GcnInstr, out: &mut GcnEffects) {
    let declared = &form.effects;
    let modifiers = operand::modifiers(form, instr);
    out.reads.extend_from_slice(&declared.reads);
    out.writes.extend_from_slice(&declared.writes);
    out.access = declared.access;
    out.barrier = declared.barrier;
    // v_readlane and its like use the vector ALU, but execute once for the wave.
    out.is_warp_scope = declared.is_wave || is_scalar(form.unit);
    let mut operands = Vec::new();
    for (item, operand) in operand::spelled(form, instr) {
        let Some(mut operand) = operand else {
            continue;
        };
        if form.encoding == Encoding::Mimg && matches!(operand.value, GcnValue::Vector(_)) {
            // The text names fewer registers than the hardware accesses, so the count of the text would miss some.
            operand.dwords = match item.is_data {
                true => operand::image_components(form, modifiers.dmask),
                false => MAX_IMAGE_ADDRESS,
            };
        }
        add_operand(&operand, out);
        if item.is_data {
            add_status(&operand, &modifiers, out);
        }
        operands.push(operand);
    }
    add_kept(form, &modifiers, &operands, out);
    add_indexed(form, &operands, out);
    if modifiers.lds
        && let Some(access) = &mut out.access
    {
        // The load writes LDS. The row names the buffer as the memory space, which stands for both.
        access.stores = true;
        out.reads.push(scalar_register(scalar::M0));
    }
    // GCN3 has no offset of flat addresses, although disassemblers print one.
    let has_flat_offset = form.encoding == Encoding::Flat && modifiers.offset != 0;
    // Bit of a status dword, which these forms do not have.
    const STATUS_DWORD: u8 = 55;
    let is_memory = matches!(
        form.encoding,
        Encoding::Flat | Encoding::Mubuf | Encoding::Mtbuf
    );
    let has_status = is_memory && u128::from(instr.word).bit(STATUS_DWORD) && !modifiers.tfe;
    let is_aligned = |item| operand::is_aligned(item, instr);
    let is_defined = operands.iter().all(is_defined)
        && form.operands.iter().all(is_aligned)
        && !has_flat_offset
        && !has_status
        && !modifiers.gds
        && modifiers.dpp.is_none_or(|dpp| dpp.is_defined());
    // An operand that GCN3 does not define may have any effect, so analyses must refuse the instruction.
    out.flow = match is_defined {
        true => flow(form, &operands),
        false => GcnFlow::Unsupported,
    };
    if let GcnFlow::Branch(condition, _) = out.flow {
        // The tested registers are no operands, so they are not among the reads yet.
        let (first, count) = condition.registers();
        out.reads
            .extend((first..first + count).map(scalar_register));
    }
}

fn is_scalar(unit: GcnUnit) -> bool {
    matches!(
        unit,
        GcnUnit::Scalar
            | GcnUnit::ScalarMemory
            | GcnUnit::Branch
            | GcnUnit::Message
            | GcnUnit::Internal
    )
}

fn scalar_register(number: u8) -> Reg {
    Reg {
        kind: RegisterKind::Scalar,
        number,
    }
}

/// Registers of an operand.
fn registers(operand: &GcnOperand) -> impl Iterator<Item = Reg> {
    let (kind, first, count) = match operand.value {
        GcnValue::Scalar(first) => (RegisterKind::Scalar, first, operand.dwords),
        GcnValue::Vector(first) => (RegisterKind::Vector, first, operand.dwords),
        // The hardware computes these sources from the registers.
        GcnValue::Vccz => (RegisterKind::Scalar, scalar::VCC, 2),
        GcnValue::Execz => (RegisterKind::Scalar, scalar::EXEC, 2),
        GcnValue::Scc => (RegisterKind::Scalar, scalar::SCC, 1),
        // M0 holds the address.
        GcnValue::LdsDirect => (RegisterKind::Scalar, scalar::M0, 1),
        _ => (RegisterKind::Scalar, 0, 0),
    };
    let last = u16::from(first) + u16::from(count);
    (u16::from(first)..last).filter_map(move |number| {
        // A group that ends past the last register has no more registers there.
        let number = u8::try_from(number).ok()?;
        Some(Reg { kind, number })
    })
}

fn add_operand(operand: &GcnOperand, out: &mut GcnEffects) {
    if operand.access != OperandAccess::Write {
        out.reads.extend(registers(operand));
    }
    if operand.access != OperandAccess::Read {
        out.writes.extend(registers(operand));
    }
}

/// Upper bound on the address dwords of an image instruction: the image resource decides the actual number.
const MAX_IMAGE_ADDRESS: u8 = 16;

/// Adds the status dword, which a load or an atomic operation with tfe or lwe writes after its data. It is a read as
/// well, because hardware writes it only if an access fails.
fn add_status(data: &GcnOperand, modifiers: &GcnModifiers, out: &mut GcnEffects) {
    if let GcnValue::Vector(first) = data.value
        && (modifiers.tfe || modifiers.lwe)
        && let Some(status) = first.checked_add(data.dwords)
    {
        out.reads.push(Reg::vector(status));
        out.writes.push(Reg::vector(status));
    }
}

/// Adds destinations that may keep a part of their value to the reads.
fn add_kept(
    form: &GcnForm,
    modifiers: &GcnModifiers,
    operands: &[GcnOperand],
    out: &mut GcnEffects,
) {
    const KEPT: u8 = 2;
    let destinations = || {
        let written = operands
            .iter()
            .filter(|operand| operand.access != OperandAccess::Read);
        written.filter(|operand| matches!(operand.value, GcnValue::Vector(_)))
    };
    // Lanes outside the masks of DPP, or without a source lane, keep the destination.
    let is_kept = form.extension == Some(VectorExtension::Dpp)
        || modifiers.sdwa.is_some_and(|sdwa| sdwa.dst_unused == KEPT);
    for operand in destinations() {
        // A failed access may leave its data as it was, and a load into LDS writes no register.
        if is_kept || modifiers.tfe || modifiers.lds || modifiers.lwe {
            out.reads.extend(registers(operand));
        }
    }
}

/// Adds all registers of a kind where M0 selects one.
fn add_indexed(form: &GcnForm, operands: &[GcnOperand], out: &mut GcnEffects) {
    let all = |operand: &GcnOperand| match operand.value {
        GcnValue::Vector(_) => Some(RegisterKind::Vector),
        GcnValue::Scalar(_) => Some(RegisterKind::Scalar),
        _ => None,
    };
    for kind in operands.iter().filter_map(all) {
        let count = match kind {
            // M0 cannot select SCC and MODE, which are numbered after the operands.
            RegisterKind::Scalar => u16::from(scalar::SCC),
            _ => REGISTERS.count(kind),
        };
        let registers = (0..count).map(|number| Reg {
            kind,
            number: number as u8,
        });
        if form.effects.reads_indexed || form.effects.writes_indexed {
            out.reads.extend(registers.clone());
        }
        if form.effects.writes_indexed {
            out.writes.extend(registers);
        }
    }
}

/// Whether GCN3 defines an operand. Disassemblers also name groups that are not aligned, constants instead of
/// registers, groups of four with the name of a pair, and numbers of later generations.
fn is_defined(operand: &GcnOperand) -> bool {
    match operand.value {
        GcnValue::Scalar(first) => {
            let last = u16::from(first) + u16::from(operand.dwords) - 1;
            first != operand::NULL
                && match first {
                    // A group that begins in s0 to s101 may extend into FLAT_SCRATCH (102 and 103), but no further.
                    0..=101 => last < 104,
                    112..=123 => last < 124,
                    // Named registers are words or pairs.
                    _ => operand.dwords <= 2,
                }
        }
        GcnValue::Undefined(_) => false,
        // A constant cannot be a destination.
        GcnValue::Int(_) | GcnValue::InlineFloat(_) | GcnValue::Literal(_) => {
            operand.access == OperandAccess::Read
        }
        _ => true,
    }
}

fn flow(form: &GcnForm, operands: &[GcnOperand]) -> GcnFlow {
    let target = operands.iter().find_map(|operand| match operand.value {
        GcnValue::Target(target) => Some(target),
        _ => None,
    });
    // Every row with a direct transfer has a target operand; other rows ignore this value.
    let target = target.unwrap_or(BranchTarget::Outside);
    let pairs: Vec<u8> = operands
        .iter()
        .filter_map(|operand| match operand.value {
            GcnValue::Scalar(first) => Some(first),
            _ => None,
        })
        .collect();
    match (form.effects.flow, pairs.as_slice()) {
        (FormFlow::Next, _) => GcnFlow::Next,
        (FormFlow::Jump, _) => GcnFlow::Jump(target),
        (FormFlow::Branch(condition), _) => GcnFlow::Branch(condition, target),
        (FormFlow::Call, &[link, to]) => GcnFlow::Call { link, to },
        (FormFlow::Indirect, &[from]) => GcnFlow::Indirect { from },
        (FormFlow::Exit, _) => GcnFlow::Exit,
        _ => GcnFlow::Unsupported,
    }
}
