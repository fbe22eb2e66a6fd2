//! What an instruction reads, writes and does to the control flow.

use super::form::{FlowKind, Form, Origin};
use super::names::Names;
use super::operand::{self, Role, Value};
use super::program::{Instr, Program};
use super::template::{Item, Kind, Piece};
use crate::instr::{Access, CcTest, Effects, Flow, Guard, Reg, Source, Target};
use warpbound_base::Bits;

impl Program {
    /// Everything analyses need of an instruction.
    ///
    /// `writes` happen only in lanes where guard and condition-code test hold; the others keep
    /// the old value, which callers add where it matters. A word that is no instruction has
    /// [`Flow::Unsupported`] and claims nothing else.
    ///
    /// Reads may name more registers than the hardware reads (texture coordinates are always
    /// taken as the largest vector); writes name every register that may be written, and where a
    /// register may keep its old value although the condition holds it is among the reads too.
    pub fn effects(&self, instr: &Instr) -> Effects {
        match self.form(instr) {
            Some(form) => of_form(form, self.names(), instr),
            None => Effects {
                flow: Flow::Unsupported,
                ..Effects::of_control(Guard::ALWAYS, false)
            },
        }
    }

    /// [`Program::effects`] as far as they are about the control flow: of an instruction that the next one always
    /// follows, only the guard and whether it is a barrier. That is most instructions, and takes a fraction of the
    /// time.
    pub fn control_effects(&self, instr: &Instr) -> Effects {
        match self.form(instr) {
            Some(form) if form.does.flow == FlowKind::Next && form.does.refuse.is_none() => {
                Effects::of_control(operand::guard(form, instr.bits()), form.does.barrier)
            }
            _ => self.effects(instr),
        }
    }
}

impl Effects {
    /// Nothing but going on.
    fn of_control(guard: Guard, barrier: bool) -> Effects {
        Effects {
            guard,
            cc_test: CcTest::TRUE,
            reads: Vec::new(),
            writes: Vec::new(),
            flow: Flow::Next,
            access: None,
            source: Source::Lane,
            barrier,
        }
    }
}

fn of_form(form: &Form, names: &Names, instr: &Instr) -> Effects {
    let word = instr.bits();
    let does = &form.does;
    let mut out = Effects {
        guard: operand::guard(form, word),
        cc_test: CcTest::TRUE,
        reads: Vec::new(),
        writes: Vec::new(),
        flow: Flow::Next,
        access: does.access.map(|(space, loads, stores)| Access {
            space,
            loads,
            stores,
        }),
        source: source(form, word),
        barrier: does.barrier,
    };
    let mut target = None;
    for piece in form.template.pieces() {
        match piece {
            Piece::Flag { bit, reads_cc, .. } => {
                if *reads_cc && word.bit(*bit) {
                    out.reads.push(Reg::Cc);
                }
            }
            Piece::Name {
                field, reads_cc, ..
            } => {
                if *reads_cc && field.get(word) != 0 {
                    out.reads.push(Reg::Cc);
                }
            }
            Piece::Item(item) => {
                let operand = operand::operand(item, names, word, instr.addr);
                match operand.value {
                    Value::CcTest(test) => out.cc_test = test,
                    Value::Target(_) | Value::RegTarget { .. } => target = Some(operand.value),
                    _ => {}
                }
                touch(item, names, &operand, word, &mut out);
                if operand.sets_cc {
                    out.writes.push(Reg::Cc);
                }
            }
            Piece::Literal(_) => {}
        }
    }
    if does.reads_cc {
        out.reads.push(Reg::Cc);
    }
    restrict_pred_mask(form, word, &mut out);
    if let Some(range) = does.quad {
        // Lanes left out of the quad mask keep the old value.
        if word.field(range) != (1 << range.width()) - 1 {
            out.source = Source::Lane;
            out.reads.extend(out.writes.clone());
        }
    }
    out.flow = flow(does.flow, target, instr);
    let refused = does.refuse.is_some_and(|bit| word.bit(bit));
    if refused || out.flow != Flow::Next && !out.cc_test.is_of_cc() {
        out.flow = Flow::Unsupported;
    }
    for list in [&mut out.reads, &mut out.writes] {
        list.sort_unstable();
        list.dedup();
    }
    out
}

fn source(form: &Form, word: u128) -> Source {
    match &form.does.origin {
        Origin::Operands => Source::Function,
        Origin::Memory => Source::Memory,
        Origin::Lane => Source::Lane,
        Origin::Uniform => Source::Uniform,
        Origin::Special(field) => Source::Special(word.field(field.0) as u8),
    }
}

/// Registers of an operand.
fn touch(item: &Item, names: &Names, operand: &operand::Operand, word: u128, out: &mut Effects) {
    let mut cells = Vec::new();
    match operand.value {
        Value::Reg(first) => push_group(first, operand.count, &mut cells),
        Value::RegPair(first) => {
            push_group(first, operand.count.saturating_mul(2), &mut cells);
        }
        Value::Pred { pred: Some(p), .. } => cells.push(Reg::Pred(p)),
        Value::AllPreds => cells.extend((0..7).map(Reg::Pred)),
        Value::ConditionCode => cells.push(Reg::Cc),
        Value::Memory { base, .. } => {
            push_group(base, operand::count(item, names, word), &mut cells);
        }
        Value::ConstIndexed { base, .. } | Value::RegTarget { base, .. } => {
            push_group(base, 1, &mut cells);
        }
        _ => {}
    }
    match operand.role {
        Role::Read => out.reads.extend(cells),
        Role::Write => out.writes.extend(cells),
        Role::ReadWrite => {
            out.reads.extend(cells.iter().copied());
            out.writes.extend(cells);
        }
    }
}

/// `count` registers from `first` on; the file ends at R254.
fn push_group(first: Option<u8>, count: u8, cells: &mut Vec<Reg>) {
    if let Some(first) = first {
        let last = first.saturating_add(count);
        cells.extend((first..last).map(Reg::Gpr));
    }
}

/// An instruction that writes all predicates at once (R2P) writes those its mask names. With an
/// immediate mask and no byte select that is exact; otherwise any of them may keep its old value,
/// so all are read as well. The condition code in their place is written in part, too.
fn restrict_pred_mask(form: &Form, word: u128, out: &mut Effects) {
    let writes_all = |item: &Item| item.writes && matches!(item.kind, Kind::PredSet(_));
    if !form.template.items().any(writes_all) {
        return;
    }
    let mask = form.template.items().find_map(|item| match &item.kind {
        Kind::Unsigned(field) => Some(field.get(word)),
        _ => None,
    });
    let byte_selected = form
        .template
        .items()
        .filter_map(|item| item.select.as_ref())
        .any(|(_, field)| field.get(word) != 0);
    match mask {
        Some(mask) if !byte_selected && !out.writes.contains(&Reg::Cc) => out
            .writes
            .retain(|cell| !matches!(cell, Reg::Pred(p) if mask >> p & 1 == 0)),
        _ => out.reads.extend(out.writes.iter().copied()),
    }
}

fn flow(kind: FlowKind, target: Option<Value>, instr: &Instr) -> Flow {
    let direct = match target {
        Some(Value::Target(target)) => target,
        _ => Target::Outside,
    };
    let through_register = |relative: bool| match target {
        Some(Value::RegTarget { base, offset }) => Flow::Indirect {
            base,
            anchor: if relative {
                i64::from(instr.addr.0)
                    .saturating_add(8)
                    .saturating_add(offset)
            } else {
                offset
            },
            relative,
        },
        _ => Flow::Unsupported,
    };
    match kind {
        FlowKind::Next => Flow::Next,
        FlowKind::Branch => Flow::Branch(direct),
        FlowKind::BranchRegister => through_register(true),
        FlowKind::JumpRegister => through_register(false),
        FlowKind::Call => Flow::Call(direct),
        FlowKind::Push(token) => Flow::Push(token, direct),
        FlowKind::Pop(token) => Flow::Pop(token),
        FlowKind::Exit => Flow::Exit,
        FlowKind::Unsupported => Flow::Unsupported,
    }
}
