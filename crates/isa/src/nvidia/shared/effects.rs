//! Effects of an instruction: reads, writes, control flow, memory access.
//!
//! Effects over-approximate: reads and writes may name more cells than the hardware touches, never fewer. Flow
//! analyses are sound with them without the meaning of the instruction. For example, `@P0 MOV R1, R2` has R1 among
//! its writes, although lanes without P0 keep it.

use super::super::REGISTERS;
use super::dialect::Dialect;
use super::field::Field;
use super::form::{FlowKind, Form, Origin};
use super::modifier::OperandWord;
use super::names::Names;
use super::operand::{self, OperandRole, OperandValue};
use super::program::SassProgram;
use super::register_number::{uniform_number, uniform_zero};
use super::sass_instr::SassInstr;
use super::template::{Item, ItemKind, Piece};
use super::transfer::Transfer;
use crate::instr::{CcTest, Effects, FurtherCondition, Guard, InstrFlow, ValueSource};
use crate::{Reg, RegisterKind, SpecialReg};
use warpbound_base::Bits;

impl SassProgram {
    /// Returns reads, writes, control flow and memory access of an instruction.
    ///
    /// Writes happen only in lanes where guard and condition-code test hold. Other lanes keep the old value, which
    /// callers account for. A word that is not an instruction has [`InstrFlow::Unsupported`] and no other effects.
    ///
    /// Reads may name more registers than the hardware reads: texture coordinates are always taken as the largest
    /// vector. Writes name every register that may be written. A register that may keep its old value although the
    /// condition holds is also among the reads.
    pub fn effects(&self, instr: &SassInstr) -> Effects {
        match self.form(instr) {
            // No analysis may follow code whose control flow is not stated.
            Some(form) if !form.dialect.has_effects => Effects {
                flow: InstrFlow::Unsupported,
                access: form.effects.memory_effect(),
                ..Effects::control_only(operand::guard(form, self.bits(instr)))
            },
            Some(form) => form_effects(form, self.names(), instr, self.bits(instr)),
            None => Effects {
                flow: InstrFlow::Unsupported,
                ..Effects::control_only(Guard::ALWAYS)
            },
        }
    }

    /// Returns [`SassProgram::effects`]. For an instruction that always falls through, only the guard and whether it
    /// is a barrier are filled in. Most instructions fall through, and decoding no operands takes a fraction of the
    /// time.
    pub fn control_effects(&self, instr: &SassInstr) -> Effects {
        match self.form(instr) {
            Some(form)
                if form.dialect.has_effects
                    && form.effects.flow == FlowKind::Next
                    && form.effects.refused.is_empty() =>
            {
                Effects {
                    barrier: form.effects.barrier,
                    ..Effects::control_only(operand::guard(form, self.bits(instr)))
                }
            }
            _ => self.effects(instr),
        }
    }
}

impl Effects {
    /// Effects of an instruction that only falls through.
    fn control_only(guard: Guard) -> Effects {
        Effects {
            guard,
            cc_test: CcTest::TRUE,
            further: FurtherCondition::None,
            reads: Vec::new(),
            writes: Vec::new(),
            flow: InstrFlow::Next,
            access: None,
            // Nothing is written, so the source is not used.
            source: ValueSource::Lane,
            barrier: false,
        }
    }
}

/// Source of a value that an instruction writes to the uniform datapath, once for the lanes that are together.
fn uniform_source(source: ValueSource) -> ValueSource {
    match source {
        // Which lane's number it is, no document says.
        ValueSource::Special(register) if register.differs_between_lanes() => ValueSource::Uniform,
        ValueSource::Function | ValueSource::Special(_) => source,
        ValueSource::Memory | ValueSource::Uniform | ValueSource::Lane => ValueSource::Uniform,
    }
}

fn form_effects(form: &Form, names: &Names, instr: &SassInstr, word: u128) -> Effects {
    let declared = &form.effects;
    let mut out = Effects {
        access: declared.memory_effect(),
        source: source(form, names, word),
        barrier: declared.barrier,
        ..Effects::control_only(operand::guard(form, word))
    };
    let mut transfer = Transfer::default();
    for piece in form.template.pieces() {
        match piece {
            Piece::Flag { bit, reads_cc, .. } => {
                if *reads_cc && word.bit(*bit) {
                    out.reads.push(Reg::CC);
                }
            }
            Piece::Name {
                field, reads_cc, ..
            } => {
                if *reads_cc && field.get(word) != 0 {
                    out.reads.push(Reg::CC);
                }
            }
            Piece::Item(item) => {
                let operand = operand::operand(item, form.dialect, names, word, instr.addr);
                if let OperandValue::CcTest(test) = operand.value {
                    out.cc_test = test;
                }
                let is_condition = declared.flow.has_condition() && transfer.add(&operand);
                // The text hides operands that the modifiers leave unused, such as the carries of IADD3 without `.X`.
                let is_unused = operand::is_hidden(item, names, word);
                if !is_condition && !is_unused {
                    add_operand_cells(item, form.dialect, names, &operand, word, &mut out);
                }
                if operand.sets_cc {
                    out.writes.push(Reg::CC);
                }
            }
            Piece::Literal(_) | Piece::ImadAlias(_) => {}
        }
    }
    if declared.reads_cc {
        out.reads.push(Reg::CC);
    }
    if let Some(field) = declared.descriptor {
        let first = uniform_number(&Field::of_range(field), 0, form.dialect, names, word);
        push_group(Reg::uniform, first, DESCRIPTOR_REGISTERS, &mut out.reads);
    }
    restrict_pred_mask(form, word, &mut out);
    if let Some(range) = declared.quad_mask {
        // Lanes outside the quad mask keep the old value, so the result depends on it and on the lane.
        if word.field(range) != (1 << range.width()) - 1 {
            out.source = ValueSource::Lane;
            out.reads.extend(out.writes.clone());
        }
    }
    out.flow = transfer.flow(declared.flow, word, instr.addr, form.dialect);
    // A branch on state that no cell represents may go anywhere, so analyses must refuse it.
    let refused = declared
        .refused
        .iter()
        .any(|condition| condition.holds(word));
    if refused || out.flow != InstrFlow::Next && !out.cc_test.depends_on_cc_only() {
        out.flow = InstrFlow::Unsupported;
    }
    if !transfer.set_conditions(declared, word, &mut out) {
        out.flow = InstrFlow::Unsupported;
    }
    let is_uniform = |register: &Reg| {
        let kind = register.kind;
        matches!(kind, RegisterKind::Uniform | RegisterKind::UniformPredicate)
    };
    // The uniform datapath executes an instruction once for the lanes that are together.
    if !out.writes.is_empty() && out.writes.iter().all(is_uniform) {
        out.source = uniform_source(out.source);
    }
    for list in [&mut out.reads, &mut out.writes] {
        list.sort_unstable();
        list.dedup();
    }
    out
}

fn source(form: &Form, names: &Names, word: u128) -> ValueSource {
    match &form.effects.origin {
        Origin::Operands => ValueSource::Function,
        Origin::Memory => ValueSource::Memory,
        Origin::Lane => ValueSource::Lane,
        Origin::Uniform => ValueSource::Uniform,
        Origin::Special(list, field) => {
            let number = word.field(*field);
            let name = names.text(*list, number).unwrap_or_default();
            if OperandWord::parse(name) == OperandWord::Zero {
                return ValueSource::Function;
            }
            ValueSource::Special(SpecialReg::of_mnemonic(name, number as u8))
        }
    }
}

/// Adds the cells of an operand to the reads and writes.
fn add_operand_cells(
    item: &Item,
    dialect: &Dialect,
    names: &Names,
    operand: &operand::Operand,
    word: u128,
    out: &mut Effects,
) {
    let mut cells = Vec::new();
    match operand.value {
        OperandValue::Reg(first) => push_registers(first, operand.count, &mut cells),
        OperandValue::RegPair(first) => {
            // Compare-and-swap has two groups, the value to compare and the new value.
            push_registers(first, operand.count.saturating_mul(2), &mut cells);
        }
        // PT is a constant and has no cell.
        OperandValue::Pred { pred: Some(p), .. } => cells.push(Reg::predicate(p)),
        OperandValue::Uniform(first) => {
            push_group(Reg::uniform, first, operand.count, &mut cells);
        }
        OperandValue::UniformPred { pred: Some(p), .. } => cells.push(Reg::uniform_predicate(p)),
        OperandValue::Address(address) => {
            let base = operand::count(item, names, word);
            push_registers(address.base.flatten(), base, &mut cells);
            let groups = [
                (address.uniform, &item.uniform_count),
                (address.descriptor, &item.descriptor_count),
            ];
            for (first, count) in groups {
                push_group(
                    Reg::uniform,
                    first.flatten(),
                    count.of(names, word),
                    &mut cells,
                );
            }
        }
        OperandValue::AllPreds(kind) => {
            let all = (0..PREDICATES).map(|number| Reg { kind, number });
            cells.extend(all);
        }
        OperandValue::ConditionCode => cells.push(Reg::CC),
        OperandValue::Memory { base, .. } => {
            // A 64-bit address takes two registers.
            push_registers(base, operand::count(item, names, word), &mut cells);
        }
        OperandValue::ConstIndexed { base, .. } | OperandValue::RegTarget { base, .. } => {
            push_registers(base, 1, &mut cells);
        }
        _ => {}
    }
    let zero = uniform_zero(dialect, names);
    let is_register = |cell: &Reg| cell.kind != RegisterKind::Uniform || cell.number < zero;
    cells.retain(is_register);
    match operand.role {
        OperandRole::Read => out.reads.extend(cells),
        OperandRole::Write => out.writes.extend(cells),
        OperandRole::ReadWrite => {
            // A part of the old value is kept, so it is read.
            out.reads.extend(cells.iter().copied());
            out.writes.extend(cells);
        }
    }
}

/// Number of uniform registers of the descriptor of a memory access.
const DESCRIPTOR_REGISTERS: u8 = 2;

/// Number of predicates that `PR` and `UPR` stand for.
const PREDICATES: u8 = REGISTERS.count(RegisterKind::Predicate) as u8;

/// Adds `count` registers from `first` on. R255 is RZ and not a register, hence the saturation.
fn push_registers(first: Option<u8>, count: u8, cells: &mut Vec<Reg>) {
    push_group(Reg::vector, first, count, cells);
}

/// Adds `count` registers of a file from `first` on.
fn push_group(file: fn(u8) -> Reg, first: Option<u8>, count: u8, cells: &mut Vec<Reg>) {
    if let Some(first) = first {
        let last = first.saturating_add(count);
        cells.extend((first..last).map(file));
    }
}

/// Restricts the writes of an instruction that writes all predicates at once (R2P, UR2UP) to the predicates in its mask.
///
/// With an immediate mask and no byte select this is exact. Otherwise any predicate may keep its old value, so all of
/// them count as read too. The same holds for the condition code as destination, because the mask selects some of its
/// bits. For example, `R2P PR, R0, 0x3` writes P0 and P1.
fn restrict_pred_mask(form: &Form, word: u128, out: &mut Effects) {
    let is_set = |kind: &ItemKind| matches!(kind, ItemKind::PredSet(_) | ItemKind::PredSetOrCc(_));
    let writes_all = |item: &Item| item.writes && is_set(&item.kind);
    if !form.template.items().any(writes_all) {
        return;
    }
    let mask = form.template.items().find_map(|item| match &item.kind {
        ItemKind::Unsigned(field) => Some(field.get(word)),
        _ => None,
    });
    let byte_selected = form
        .template
        .items()
        .filter_map(|item| item.select.as_ref())
        .any(|(_, field)| field.get(word) != 0);
    match mask {
        Some(mask) if !byte_selected && !out.writes.contains(&Reg::CC) => {
            out.writes.retain(|register| {
                let is_predicate = matches!(
                    register.kind,
                    RegisterKind::Predicate | RegisterKind::UniformPredicate
                );
                !is_predicate || mask >> register.number & 1 == 1
            })
        }
        _ => out.reads.extend(out.writes.iter().copied()),
    }
}
