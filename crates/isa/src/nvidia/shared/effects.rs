//! Effects of an instruction: reads, writes, control flow, memory access.
//!
//! Effects over-approximate: reads and writes may name more cells than the hardware touches, never fewer. Flow
//! analyses are sound with them without the meaning of the instruction. For example, `@P0 MOV R1, R2` has R1 among
//! its writes, although lanes without P0 keep it.

use super::super::REGISTERS;
use super::dialect::Dialect;
use super::form::{FlowKind, Form, Origin};
use super::names::Names;
use super::operand::{self, OperandRole, OperandValue};
use super::program::SassProgram;
use super::sass_instr::SassInstr;
use super::template::{Item, ItemKind, Piece};
use crate::instr::{BranchTarget, CcTest, Effects, Guard, InstrFlow, ValueSource};
use crate::{Reg, RegisterKind, SpecialReg};
use warpbound_base::{Bits, CodeAddr};

impl SassProgram {
    /// Returns reads, writes, control flow and memory access of an instruction.
    ///
    /// Writes happen only in lanes where guard and condition-code test hold. Other lanes keep the old value, which
    /// callers account for. A word that is not an instruction has [`InstrFlow::Unsupported`] and no other effects. From
    /// Volta on, the rows state only memory accesses: every instruction has [`InstrFlow::Unsupported`], no reads and no
    /// writes.
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
                ..Effects::control_only(operand::guard(form, self.bits(instr)), false)
            },
            Some(form) => form_effects(form, self.names(), instr, self.bits(instr)),
            None => Effects {
                flow: InstrFlow::Unsupported,
                ..Effects::control_only(Guard::ALWAYS, false)
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
                    && form.effects.refuse_bit.is_none() =>
            {
                Effects::control_only(operand::guard(form, self.bits(instr)), form.effects.barrier)
            }
            _ => self.effects(instr),
        }
    }
}

impl Effects {
    /// Effects of an instruction that only falls through.
    fn control_only(guard: Guard, barrier: bool) -> Effects {
        Effects {
            guard,
            cc_test: CcTest::TRUE,
            reads: Vec::new(),
            writes: Vec::new(),
            flow: InstrFlow::Next,
            access: None,
            // Nothing is written, so the source is not used.
            source: ValueSource::Lane,
            barrier,
        }
    }
}

fn form_effects(form: &Form, names: &Names, instr: &SassInstr, word: u128) -> Effects {
    let declared = &form.effects;
    let mut out = Effects {
        guard: operand::guard(form, word),
        cc_test: CcTest::TRUE,
        reads: Vec::new(),
        writes: Vec::new(),
        flow: InstrFlow::Next,
        access: declared.memory_effect(),
        source: source(form, names, word),
        barrier: declared.barrier,
    };
    let mut target = None;
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
                match operand.value {
                    OperandValue::CcTest(test) => out.cc_test = test,
                    OperandValue::Target(_) | OperandValue::RegTarget { .. } => {
                        target = Some(operand.value)
                    }
                    _ => {}
                }
                add_operand_cells(item, names, &operand, word, &mut out);
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
    restrict_pred_mask(form, word, &mut out);
    if let Some(range) = declared.quad_mask {
        // Lanes outside the quad mask keep the old value, so the result depends on it and on the lane.
        if word.field(range) != (1 << range.width()) - 1 {
            out.source = ValueSource::Lane;
            out.reads.extend(out.writes.clone());
        }
    }
    out.flow = flow(declared.flow, target, instr.addr, form.dialect);
    // A branch on state that no cell represents may go anywhere, so analyses must refuse it.
    let refused = declared.refuse_bit.is_some_and(|bit| word.bit(bit));
    if refused || out.flow != InstrFlow::Next && !out.cc_test.depends_on_cc_only() {
        out.flow = InstrFlow::Unsupported;
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
            ValueSource::Special(SpecialReg::of_mnemonic(name, number as u8))
        }
    }
}

/// Adds the cells of an operand to the reads and writes.
fn add_operand_cells(
    item: &Item,
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
        OperandValue::AllPreds => cells.extend((0..PREDICATES).map(Reg::predicate)),
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

/// Number of predicates that `PR` stands for.
const PREDICATES: u8 = REGISTERS.count(RegisterKind::Predicate) as u8;

/// Adds `count` registers from `first` on. R255 is RZ and not a register, hence the saturation.
fn push_registers(first: Option<u8>, count: u8, cells: &mut Vec<Reg>) {
    if let Some(first) = first {
        let last = first.saturating_add(count);
        cells.extend((first..last).map(Reg::vector));
    }
}

/// Restricts the writes of an instruction that writes all predicates at once (R2P) to the predicates in its mask.
///
/// With an immediate mask and no byte select this is exact. Otherwise any predicate may keep its old value, so all of
/// them count as read too. The same holds for the condition code as destination, because the mask selects some of its
/// bits. For example, `R2P PR, R0, 0x3` writes P0 and P1.
fn restrict_pred_mask(form: &Form, word: u128, out: &mut Effects) {
    let writes_all = |item: &Item| item.writes && matches!(item.kind, ItemKind::PredSet(_));
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
                register.kind != RegisterKind::Predicate || mask >> register.number & 1 == 1
            })
        }
        _ => out.reads.extend(out.writes.iter().copied()),
    }
}

fn flow(
    kind: FlowKind,
    target: Option<OperandValue>,
    addr: CodeAddr,
    dialect: &Dialect,
) -> InstrFlow {
    // A row without a target operand ignores this value.
    let direct = match target {
        Some(OperandValue::Target(target)) => target,
        _ => BranchTarget::Outside,
    };
    let through_register = |relative: bool| match target {
        Some(OperandValue::RegTarget { base, offset }) => InstrFlow::Indirect {
            base,
            // Relative targets count from the address after the instruction.
            anchor: if relative {
                i64::from(addr.0)
                    .saturating_add(dialect.bytes().into())
                    .saturating_add(offset)
            } else {
                offset
            },
            relative,
        },
        // Without the operand the target is unknown.
        _ => InstrFlow::Unsupported,
    };
    match kind {
        FlowKind::Next => InstrFlow::Next,
        FlowKind::Branch => InstrFlow::Branch(direct),
        FlowKind::BranchRegister => through_register(true),
        FlowKind::JumpRegister => through_register(false),
        FlowKind::Call => InstrFlow::Call(direct),
        FlowKind::Push(token) => InstrFlow::Push(token, direct),
        FlowKind::Pop(token) => InstrFlow::Pop(token),
        FlowKind::Exit => InstrFlow::Exit,
        FlowKind::Unsupported => InstrFlow::Unsupported,
    }
}
