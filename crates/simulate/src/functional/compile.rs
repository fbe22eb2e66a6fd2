//! From operations to steps: what is the same in all lanes of the grid is computed once, the rest is a list of steps on
//! rows.

use std::collections::HashMap;

use warpbound_ir::{
    Address, Arrival, Cell, Code, Control, Expr, Meaning, Op, SurfaceAccess, SurfaceWhat, Target,
    TextureRead, Value, Width, cc_test,
};
use warpbound_isa::instr::{CcTest, Space, Token};
use warpbound_simt::Tag;

use super::Launch;
use super::lanes::{LANES, Row};
use super::program::{
    Access, At, Compiled, Dest, Effect, Flow, Own, Step, SurfaceEffect, SurfaceStep, TextureEffect,
    Told,
};
use super::steps::{Operand, Steps};

pub(super) struct Compiler<'a> {
    pub(super) launch: &'a Launch,
    /// Somebody tells the time.
    pub(super) timed: bool,
    pub(super) registers: usize,
    pub(super) shared: Vec<Row>,
    /// The rows that are the same in all lanes, by their value.
    pub(super) known: HashMap<u32, u16>,
    pub(super) scratch: usize,
    /// Some operation reads what a block is told.
    pub(super) is_told: bool,
}

impl Compiler<'_> {
    /// General registers that a code names.
    pub(super) fn registers_of(code: &Code) -> usize {
        let named = |op: &Op| {
            let cells = op.reads.iter().chain(&op.writes).copied();
            let general = cells.filter(|cell| cell.index() < 256);
            general.map(|cell| cell.index() + 1).max().unwrap_or(0)
        };
        code.ops.iter().map(named).max().unwrap_or(0)
    }

    pub(super) fn op(&mut self, op: &Op) -> Compiled {
        let condition = op.condition;
        let mut steps = Steps::default();
        let effect = match (&op.meaning, op.value) {
            (Some(meaning), _) => self.effect(meaning, &mut steps),
            (None, Value::Special(register)) => match op.writes.as_slice() {
                [] => Some(Effect::Write(Vec::new())),
                [dest] => self
                    .dest(*dest)
                    .zip(self.special(register))
                    .map(|(dest, from)| Effect::Write(vec![(dest, from)])),
                _ => None,
            },
            _ => None,
        };
        let test = condition.tests_cc().then(|| self.test(condition.cc_test));
        let (effect, flow) = match test {
            // It asks for what is not modelled.
            Some(None) => (Effect::Unknown, Flow::Unknown),
            _ => {
                let effect = effect.unwrap_or(match op.value {
                    Value::Special(register) if depends_on_time(register) => Effect::NeedsTime,
                    _ => Effect::Unknown,
                });
                (effect, self.flow(&op.control))
            }
        };
        self.scratch = self.scratch.max(usize::from(steps.rows));
        let guard = condition.guard.filter(|guard| guard.is_predicate());
        Compiled {
            guard: guard.map(|cell| ((cell.index() - 256) as u8, condition.negated)),
            never: condition.is_never(),
            test: test.flatten(),
            steps: steps.list,
            effect,
            flow,
        }
    }

    /// The row of a test of the condition code, and the steps that make it.
    fn test(&mut self, test: CcTest) -> Option<(Vec<(u16, Step)>, At)> {
        let mut steps = Steps::default();
        let row = self.expr(&cc_test(test)?, &mut steps)?;
        self.scratch = self.scratch.max(usize::from(steps.rows));
        Some((steps.list, self.at(row)))
    }

    fn flow(&mut self, control: &Control) -> Flow {
        let tag = |token: Token| match token {
            Token::Sync => Some(Tag::Sync),
            Token::Brk => Some(Tag::Brk),
            Token::Cont => Some(Tag::Cont),
            Token::Ret => Some(Tag::Ret),
            Token::LongJmp | Token::Exit => None,
        };
        match control {
            Control::Next => Flow::Next,
            Control::Jump(Target::Op(to)) => Flow::Jump(to.0),
            Control::Call(Target::Op(to)) => Flow::Call(to.0),
            Control::Call(Target::External(name)) => Flow::Outside(name.clone()),
            Control::Push(token, Target::Op(to)) => {
                tag(*token).map_or(Flow::Unknown, |tag| Flow::Push(tag, to.0))
            }
            Control::Unwind(token) => tag(*token).map_or(Flow::Unknown, Flow::Unwind),
            Control::Exit => Flow::Exit,
            Control::Indirect {
                base,
                anchor,
                relative: true,
            } => {
                let base = match base {
                    None => Operand::Const(0),
                    Some(cell) => match self.own(*cell) {
                        Some(at) => Operand::At(at),
                        None => return Flow::Unknown,
                    },
                };
                Flow::Indirect(self.at(base), *anchor)
            }
            Control::Indirect {
                relative: false, ..
            } => Flow::Outside("a function outside the file".to_owned()),
            _ => Flow::Unknown,
        }
    }

    fn effect(&mut self, meaning: &Meaning, steps: &mut Steps) -> Option<Effect> {
        Some(match meaning {
            Meaning::Set(writes) => {
                let mut list: Vec<(Dest, At)> = Vec::with_capacity(writes.len());
                for (cell, value) in writes {
                    let value = self.expr(value, steps)?;
                    list.push((self.dest(*cell)?, self.at(value)));
                }
                // What an earlier write changes is read before.
                for number in 1..list.len() {
                    let (written, rest) = list.split_at_mut(number);
                    let from = &mut rest[0].1;
                    let changed = |&(dest, _): &(Dest, At)| match (dest, *from) {
                        (Dest::Own(row), At::Own(read)) => row == read,
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
                dests: self.rows_of(dests)?,
                access: self.access(*space, *width, address, steps)?,
            },
            Meaning::Store {
                values,
                width,
                space,
                address,
            } => Effect::Store {
                values: self.values(values, steps)?,
                access: self.access(*space, *width, address, steps)?,
            },
            Meaning::Atomic {
                dests,
                op,
                kind,
                space,
                address,
                operands,
            } => Effect::Atomic {
                dests: self.rows_of(dests)?,
                op: *op,
                kind: *kind,
                operands: self.values(operands, steps)?,
                access: self.access(*space, Width::Words, address, steps)?,
            },
            Meaning::Shuffle {
                dest,
                in_range,
                mode,
                value,
                lane,
                limit,
            } => {
                let [value, lane, limit] = [value, lane, limit].map(|e| self.expr(e, steps));
                Effect::Shuffle {
                    dest: self.optional(*dest)?,
                    in_range: self.optional(*in_range)?,
                    mode: *mode,
                    value: self.at(value?),
                    lane: self.at(lane?),
                    limit: self.at(limit?),
                }
            }
            Meaning::Vote {
                ballot,
                result,
                mode,
                predicate,
            } => {
                let predicate = self.expr(predicate, steps)?;
                Effect::Vote {
                    ballot: self.optional(*ballot)?,
                    result: self.optional(*result)?,
                    mode: *mode,
                    predicate: self.at(predicate),
                }
            }
            Meaning::Texture(read) => self.texture(read, steps)?,
            Meaning::TextureSize { handle, dests, .. } => {
                let handle = self.expr(handle, steps)?;
                Effect::TextureSize(self.at(handle), self.components(dests)?)
            }
            Meaning::Surface(access) => self.surface(access, steps)?,
            Meaning::Barrier {
                number,
                threads,
                arrival,
            } => {
                let number = self.expr(number, steps)?;
                let threads = match threads {
                    Expr::Const(0) => None,
                    threads => {
                        let threads = self.expr(threads, steps)?;
                        Some(self.at(threads))
                    }
                };
                let question = match arrival {
                    Arrival::Ask(question, predicate) => {
                        let predicate = self.expr(predicate, steps)?;
                        Some((*question, self.at(predicate)))
                    }
                    Arrival::Wait | Arrival::Pass => None,
                };
                Effect::Barrier {
                    number: self.at(number),
                    threads,
                    waits: *arrival != Arrival::Pass,
                    question,
                }
            }
            Meaning::BarrierResult { dest, truth } => {
                Effect::BarrierResult(self.optional(*dest)?, self.optional(*truth)?)
            }
            Meaning::Trap => Effect::Trap,
        })
    }

    fn texture(&mut self, read: &TextureRead, steps: &mut Steps) -> Option<Effect> {
        let handle = self.expr(&read.handle, steps)?;
        Some(Effect::Texture(Box::new(TextureEffect {
            what: read.what,
            kind: read.kind,
            handle: self.at(handle),
            coordinates: self.values(&read.coordinates, steps)?,
            layer: self.values(read.layer.as_slice(), steps)?.pop(),
            offsets: self.values(&read.offsets, steps)?,
            dests: self.components(&read.dests)?,
        })))
    }

    fn surface(&mut self, access: &SurfaceAccess, steps: &mut Steps) -> Option<Effect> {
        let handle = self.expr(&access.handle, steps)?;
        Some(Effect::Surface(Box::new(SurfaceEffect {
            what: match &access.what {
                SurfaceWhat::Load(dests) => SurfaceStep::Load(self.rows_of(dests)?),
                SurfaceWhat::Store(values) => SurfaceStep::Store(self.values(values, steps)?),
                SurfaceWhat::Reduce(op, kind, values) => {
                    SurfaceStep::Reduce(*op, *kind, self.values(values, steps)?)
                }
            },
            width: access.width,
            size: access.size(),
            kind: access.kind,
            handle: self.at(handle),
            coordinates: self.values(&access.coordinates, steps)?,
            layer: self.values(access.layer.as_slice(), steps)?.pop(),
            outside: access.outside,
        })))
    }

    /// Components of a result and the rows that get them.
    fn components(&self, dests: &[(u8, Cell)]) -> Option<Vec<(u8, u16)>> {
        let row = |&(component, cell): &(u8, Cell)| match self.own(cell)? {
            At::Own(row) => Some((component, row)),
            _ => None,
        };
        dests.iter().map(row).collect()
    }

    fn values(&mut self, values: &[Expr], steps: &mut Steps) -> Option<Vec<At>> {
        let mut rows = Vec::with_capacity(values.len());
        for value in values {
            let value = self.expr(value, steps)?;
            rows.push(self.at(value));
        }
        Some(rows)
    }

    fn access(
        &mut self,
        space: Space,
        width: Width,
        address: &Address,
        steps: &mut Steps,
    ) -> Option<Access> {
        let low = self.expr(&address.low, steps)?;
        let high = match &address.high {
            None => None,
            Some(high) => {
                let high = self.expr(high, steps)?;
                Some(self.at(high))
            }
        };
        Some(Access {
            space,
            width,
            low: self.at(low),
            high,
        })
    }

    /// The rows of general registers.
    fn rows_of(&self, cells: &[Option<Cell>]) -> Option<Vec<Option<u16>>> {
        let row = |cell: &Option<Cell>| match cell {
            None => Some(None),
            Some(cell) => match self.own(*cell) {
                Some(At::Own(row)) => Some(Some(row)),
                _ => None,
            },
        };
        cells.iter().map(row).collect()
    }

    /// What gets a row, if there is a cell.
    fn optional(&self, cell: Option<Cell>) -> Option<Option<Dest>> {
        match cell {
            None => Some(None),
            Some(cell) => self.dest(cell).map(Some),
        }
    }

    fn dest(&self, cell: Cell) -> Option<Dest> {
        if cell.is_predicate() {
            return Some(Dest::Predicate((cell.index() - 256) as u8));
        }
        match self.own(cell)? {
            At::Own(row) => Some(Dest::Own(row)),
            _ => None,
        }
    }

    /// The row of a cell that is no predicate.
    pub(super) fn own(&self, cell: Cell) -> Option<At> {
        let index = match cell {
            Cell::CC => self.registers + Own::Cc.index(),
            cell if cell.index() < self.registers => cell.index(),
            _ => return None,
        };
        u16::try_from(index).ok().map(At::Own)
    }

    /// A special register that a run without time can tell (numbers: fact table of S2R); `None` for those that depend
    /// on time, or on what is not modelled.
    pub(super) fn special(&mut self, register: u8) -> Option<At> {
        let row: Row = match register {
            0 => std::array::from_fn(|lane| lane as u32),
            33..=35 => {
                let own = self.registers + Own::Thread(register - 33).index();
                return u16::try_from(own).ok().map(At::Own);
            }
            37..=39 => return Some(At::Block(register - 37)),
            // The masks of the lanes that stand to the own one as the name says: EQ, LT, LE, GT, GE.
            56 => std::array::from_fn(|lane| 1 << lane),
            57 => std::array::from_fn(|lane| (1 << lane) - 1),
            58 => std::array::from_fn(|lane| u32::MAX >> (31 - lane)),
            59 => std::array::from_fn(|lane| (u32::MAX << lane) << 1),
            60 => std::array::from_fn(|lane| u32::MAX << lane),
            _ => {
                let told = Told::of(register).filter(|_| self.timed)?;
                self.is_told = true;
                return Some(At::Block(3 + told as u8));
            }
        };
        let place = self.shared.iter().position(|known| *known == row);
        let place = place.unwrap_or(self.shared.len());
        if place == self.shared.len() {
            self.shared.push(row);
        }
        Some(At::Shared(place as u16))
    }

    /// A row for an operand.
    pub(super) fn at(&mut self, operand: Operand) -> At {
        match operand {
            Operand::At(at) => at,
            Operand::Const(value) => {
                let fresh = self.shared.len() as u16;
                let row = *self.known.entry(value).or_insert(fresh);
                if row == fresh {
                    self.shared.push([value; LANES]);
                }
                At::Shared(row)
            }
        }
    }
}

/// Whether a special register tells when or where among others a warp runs: SR_CLOCK, SR_VIRTCFG, SR_VIRTID, the clocks,
/// the timers (numbers: fact table of S2R).
fn depends_on_time(register: u8) -> bool {
    matches!(register, 1..=3 | 80..=83)
}
