//! From operations to steps: what is the same in all lanes of the grid is computed once, the rest is a list of steps on
//! rows.

use std::collections::HashMap;

use warpbound_ir::{
    Address, BarrierArrival, Cell, Code, ControlEffect, Expr, Meaning, Op, SurfaceAccess, SurfaceWhat, ControlTarget,
    TextureRead, ValueDependence, Width, cc_test,
};
use warpbound_isa::instr::{CcTest, MemorySpace, StackToken};
use warpbound_simt::Tag;

use super::Launch;
use super::lanes::{LANES, LaneValues};
use super::program::{
    MemoryOperand, ValueSlot, CompiledOp, Dest, Effect, Flow, ExtraRegister, Step, SurfaceEffect, SurfaceOperation, TextureEffect,
    ClockRegister,
};
use super::steps::{Operand, Steps};

pub(super) struct Compiler<'a> {
    pub(super) launch: &'a Launch,
    /// Somebody tells the time.
    pub(super) timed: bool,
    pub(super) registers: usize,
    pub(super) grid_values: Vec<LaneValues>,
    /// The rows that are the same in all lanes, by their value.
    pub(super) constant_slots: HashMap<u32, u16>,
    pub(super) scratch: usize,
    /// Some operation reads what a block is told.
    pub(super) reads_clock: bool,
}

impl Compiler<'_> {
    /// General registers that a code names.
    pub(super) fn register_count(code: &Code) -> usize {
        let named = |op: &Op| {
            let cells = op.reads.iter().chain(&op.writes).copied();
            let general = cells.filter(|cell| cell.index() < 256);
            general.map(|cell| cell.index() + 1).max().unwrap_or(0)
        };
        code.ops.iter().map(named).max().unwrap_or(0)
    }

    pub(super) fn compile_op(&mut self, op: &Op) -> CompiledOp {
        let condition = op.condition;
        let mut steps = Steps::default();
        let effect = match (&op.meaning, op.value) {
            (Some(meaning), _) => self.compile_effect(meaning, &mut steps),
            (None, ValueDependence::Special(register)) => match op.writes.as_slice() {
                [] => Some(Effect::Write(Vec::new())),
                [dest] => self
                    .dest(*dest)
                    .zip(self.special_register(register))
                    .map(|(dest, from)| Effect::Write(vec![(dest, from)])),
                _ => None,
            },
            _ => None,
        };
        let test = condition.tests_cc().then(|| self.compile_cc_test(condition.cc_test));
        let (effect, flow) = match test {
            // It asks for what is not modelled.
            Some(None) => (Effect::Unsupported, Flow::Unsupported),
            _ => {
                let effect = effect.unwrap_or(match op.value {
                    ValueDependence::Special(register) if ClockRegister::from_number(register).is_some() => Effect::NeedsTime,
                    _ => Effect::Unsupported,
                });
                (effect, self.compile_flow(&op.control))
            }
        };
        self.scratch = self.scratch.max(usize::from(steps.scratch_rows));
        let guard = condition.guard.filter(|guard| guard.is_predicate());
        CompiledOp {
            guard: guard.map(|cell| ((cell.index() - 256) as u8, condition.negated)),
            never: condition.is_never(),
            cc_test: test.flatten(),
            steps: steps.list,
            effect,
            flow,
        }
    }

    /// The row of a test of the condition code, and the steps that make it.
    fn compile_cc_test(&mut self, test: CcTest) -> Option<(Vec<(u16, Step)>, ValueSlot)> {
        let mut steps = Steps::default();
        let row = self.compile_expr(&cc_test(test)?, &mut steps)?;
        self.scratch = self.scratch.max(usize::from(steps.scratch_rows));
        Some((steps.list, self.slot_of(row)))
    }

    fn compile_flow(&mut self, control: &ControlEffect) -> Flow {
        let tag = |token: StackToken| match token {
            StackToken::Sync => Some(Tag::Sync),
            StackToken::Brk => Some(Tag::Brk),
            StackToken::Cont => Some(Tag::Cont),
            StackToken::Ret => Some(Tag::Ret),
            StackToken::LongJmp | StackToken::Exit => None,
        };
        match control {
            ControlEffect::Next => Flow::Next,
            ControlEffect::Jump(ControlTarget::Op(to)) => Flow::Jump(to.0),
            ControlEffect::Call(ControlTarget::Op(to)) => Flow::Call(to.0),
            ControlEffect::Call(ControlTarget::External(name)) => Flow::External(name.clone()),
            ControlEffect::Push(token, ControlTarget::Op(to)) => {
                tag(*token).map_or(Flow::Unsupported, |tag| Flow::Push(tag, to.0))
            }
            ControlEffect::Unwind(token) => tag(*token).map_or(Flow::Unsupported, Flow::Unwind),
            ControlEffect::Exit => Flow::Exit,
            ControlEffect::Indirect {
                base,
                anchor,
                relative: true,
            } => {
                let base = match base {
                    None => Operand::Const(0),
                    Some(cell) => match self.register_slot(*cell) {
                        Some(at) => Operand::Slot(at),
                        None => return Flow::Unsupported,
                    },
                };
                Flow::Indirect(self.slot_of(base), *anchor)
            }
            ControlEffect::Indirect {
                relative: false, ..
            } => Flow::External("a function outside the file".to_owned()),
            _ => Flow::Unsupported,
        }
    }

    fn compile_effect(&mut self, meaning: &Meaning, steps: &mut Steps) -> Option<Effect> {
        Some(match meaning {
            Meaning::Set(writes) => {
                let mut list: Vec<(Dest, ValueSlot)> = Vec::with_capacity(writes.len());
                for (cell, value) in writes {
                    let value = self.compile_expr(value, steps)?;
                    list.push((self.dest(*cell)?, self.slot_of(value)));
                }
                // What an earlier write changes is read before.
                for number in 1..list.len() {
                    let (written, rest) = list.split_at_mut(number);
                    let from = &mut rest[0].1;
                    let changed = |&(dest, _): &(Dest, ValueSlot)| match (dest, *from) {
                        (Dest::Register(row), ValueSlot::Warp(read)) => row == read,
                        _ => false,
                    };
                    if written.iter().any(changed) {
                        *from = steps.push(Step::Copy(*from), 1);
                    }
                }
                Effect::Write(list)
            }
            Meaning::Load {
                dests,
                width,
                space,
                address,
            } => Effect::Load {
                dests: self.register_rows(dests)?,
                access: self.memory_operand(*space, *width, address, steps)?,
            },
            Meaning::Store {
                values,
                width,
                space,
                address,
            } => Effect::Store {
                values: self.compile_exprs(values, steps)?,
                access: self.memory_operand(*space, *width, address, steps)?,
            },
            Meaning::Atomic {
                dests,
                op,
                kind,
                space,
                address,
                operands,
            } => Effect::Atomic {
                dests: self.register_rows(dests)?,
                op: *op,
                kind: *kind,
                operands: self.compile_exprs(operands, steps)?,
                access: self.memory_operand(*space, Width::Words, address, steps)?,
            },
            Meaning::Shuffle {
                dest,
                in_range,
                mode,
                value,
                lane,
                limit,
            } => {
                let [value, lane, limit] = [value, lane, limit].map(|e| self.compile_expr(e, steps));
                Effect::Shuffle {
                    dest: self.optional_dest(*dest)?,
                    in_range: self.optional_dest(*in_range)?,
                    mode: *mode,
                    value: self.slot_of(value?),
                    lane: self.slot_of(lane?),
                    limit: self.slot_of(limit?),
                }
            }
            Meaning::Vote {
                ballot,
                result,
                mode,
                predicate,
            } => {
                let predicate = self.compile_expr(predicate, steps)?;
                Effect::Vote {
                    ballot: self.optional_dest(*ballot)?,
                    result: self.optional_dest(*result)?,
                    mode: *mode,
                    predicate: self.slot_of(predicate),
                }
            }
            Meaning::Texture(read) => self.compile_texture(read, steps)?,
            Meaning::TextureSize { handle, dests, .. } => {
                let handle = self.compile_expr(handle, steps)?;
                Effect::TextureSize(self.slot_of(handle), self.component_registers(dests)?)
            }
            Meaning::Surface(access) => self.compile_surface(access, steps)?,
            Meaning::Barrier {
                number,
                threads,
                arrival,
            } => {
                let number = self.compile_expr(number, steps)?;
                let threads = match threads {
                    Expr::Const(0) => None,
                    threads => {
                        let threads = self.compile_expr(threads, steps)?;
                        Some(self.slot_of(threads))
                    }
                };
                let question = match arrival {
                    BarrierArrival::Ask(question, predicate) => {
                        let predicate = self.compile_expr(predicate, steps)?;
                        Some((*question, self.slot_of(predicate)))
                    }
                    BarrierArrival::Wait | BarrierArrival::Pass => None,
                };
                Effect::Barrier {
                    number: self.slot_of(number),
                    threads,
                    waits: *arrival != BarrierArrival::Pass,
                    question,
                }
            }
            Meaning::BarrierResult { dest, truth } => {
                Effect::BarrierResult(self.optional_dest(*dest)?, self.optional_dest(*truth)?)
            }
            Meaning::Trap => Effect::Trap,
        })
    }

    fn compile_texture(&mut self, read: &TextureRead, steps: &mut Steps) -> Option<Effect> {
        let handle = self.compile_expr(&read.handle, steps)?;
        Some(Effect::Texture(Box::new(TextureEffect {
            operation: read.what,
            kind: read.kind,
            handle: self.slot_of(handle),
            coordinates: self.compile_exprs(&read.coordinates, steps)?,
            layer: self.compile_exprs(read.layer.as_slice(), steps)?.pop(),
            offsets: self.compile_exprs(&read.offsets, steps)?,
            dests: self.component_registers(&read.dests)?,
        })))
    }

    fn compile_surface(&mut self, access: &SurfaceAccess, steps: &mut Steps) -> Option<Effect> {
        let handle = self.compile_expr(&access.handle, steps)?;
        Some(Effect::Surface(Box::new(SurfaceEffect {
            operation: match &access.what {
                SurfaceWhat::Load(dests) => SurfaceOperation::Load(self.register_rows(dests)?),
                SurfaceWhat::Store(values) => SurfaceOperation::Store(self.compile_exprs(values, steps)?),
                SurfaceWhat::Reduce(op, kind, values) => {
                    SurfaceOperation::Reduce(*op, *kind, self.compile_exprs(values, steps)?)
                }
            },
            width: access.width,
            size: access.size(),
            kind: access.kind,
            handle: self.slot_of(handle),
            coordinates: self.compile_exprs(&access.coordinates, steps)?,
            layer: self.compile_exprs(access.layer.as_slice(), steps)?.pop(),
            outside: access.outside,
        })))
    }

    /// Components of a result and the rows that get them.
    fn component_registers(&self, dests: &[(u8, Cell)]) -> Option<Vec<(u8, u16)>> {
        let row = |&(component, cell): &(u8, Cell)| match self.register_slot(cell)? {
            ValueSlot::Warp(row) => Some((component, row)),
            _ => None,
        };
        dests.iter().map(row).collect()
    }

    fn compile_exprs(&mut self, values: &[Expr], steps: &mut Steps) -> Option<Vec<ValueSlot>> {
        let mut rows = Vec::with_capacity(values.len());
        for value in values {
            let value = self.compile_expr(value, steps)?;
            rows.push(self.slot_of(value));
        }
        Some(rows)
    }

    fn memory_operand(
        &mut self,
        space: MemorySpace,
        width: Width,
        address: &Address,
        steps: &mut Steps,
    ) -> Option<MemoryOperand> {
        let low = self.compile_expr(&address.low, steps)?;
        let high = match &address.high {
            None => None,
            Some(high) => {
                let high = self.compile_expr(high, steps)?;
                Some(self.slot_of(high))
            }
        };
        Some(MemoryOperand {
            space,
            width,
            low: self.slot_of(low),
            high,
        })
    }

    /// The rows of general registers.
    fn register_rows(&self, cells: &[Option<Cell>]) -> Option<Vec<Option<u16>>> {
        let row = |cell: &Option<Cell>| match cell {
            None => Some(None),
            Some(cell) => match self.register_slot(*cell) {
                Some(ValueSlot::Warp(row)) => Some(Some(row)),
                _ => None,
            },
        };
        cells.iter().map(row).collect()
    }

    /// What gets a row, if there is a cell.
    fn optional_dest(&self, cell: Option<Cell>) -> Option<Option<Dest>> {
        match cell {
            None => Some(None),
            Some(cell) => self.dest(cell).map(Some),
        }
    }

    fn dest(&self, cell: Cell) -> Option<Dest> {
        if cell.is_predicate() {
            return Some(Dest::Predicate((cell.index() - 256) as u8));
        }
        match self.register_slot(cell)? {
            ValueSlot::Warp(row) => Some(Dest::Register(row)),
            _ => None,
        }
    }

    /// The row of a cell that is no predicate.
    pub(super) fn register_slot(&self, cell: Cell) -> Option<ValueSlot> {
        let index = match cell {
            Cell::CC => self.registers + ExtraRegister::Cc.index(),
            cell if cell.index() < self.registers => cell.index(),
            _ => return None,
        };
        u16::try_from(index).ok().map(ValueSlot::Warp)
    }

    /// A special register that a run without time can tell (numbers: fact table of S2R); `None` for those that depend
    /// on time, or on what is not modelled.
    pub(super) fn special_register(&mut self, register: u8) -> Option<ValueSlot> {
        let row: LaneValues = match register {
            0 => std::array::from_fn(|lane| lane as u32),
            33..=35 => {
                let own = self.registers + ExtraRegister::ThreadIndex(register - 33).index();
                return u16::try_from(own).ok().map(ValueSlot::Warp);
            }
            37..=39 => return Some(ValueSlot::Block(register - 37)),
            // The masks of the lanes that stand to the own one as the name says: EQ, LT, LE, GT, GE.
            56 => std::array::from_fn(|lane| 1 << lane),
            57 => std::array::from_fn(|lane| (1 << lane) - 1),
            58 => std::array::from_fn(|lane| u32::MAX >> (31 - lane)),
            59 => std::array::from_fn(|lane| (u32::MAX << lane) << 1),
            60 => std::array::from_fn(|lane| u32::MAX << lane),
            _ => {
                let told = ClockRegister::from_number(register).filter(|_| self.timed)?;
                self.reads_clock = true;
                return Some(ValueSlot::Block(3 + told as u8));
            }
        };
        let place = self.grid_values.iter().position(|known| *known == row);
        let place = place.unwrap_or(self.grid_values.len());
        if place == self.grid_values.len() {
            self.grid_values.push(row);
        }
        Some(ValueSlot::Grid(place as u16))
    }

    /// A row for an operand.
    pub(super) fn slot_of(&mut self, operand: Operand) -> ValueSlot {
        match operand {
            Operand::Slot(at) => at,
            Operand::Const(value) => {
                let fresh = self.grid_values.len() as u16;
                let row = *self.constant_slots.entry(value).or_insert(fresh);
                if row == fresh {
                    self.grid_values.push([value; LANES]);
                }
                ValueSlot::Grid(row)
            }
        }
    }
}
