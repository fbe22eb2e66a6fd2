//! Operations in the form in which a warp executes them: what is the same in all lanes of the grid is computed once,
//! the rest is a list of steps on rows.

use std::collections::HashMap;

use warpbound_ir::{
    Address, BinaryOp, Cell, Code, Control, Expr, Meaning, Op, OpIndex, ShuffleMode, Target,
    TernaryOp, UnaryOp, Value, VoteMode, Width,
};
use warpbound_isa::instr::{Space, Token};
use warpbound_simt::Tag;

use super::Launch;
use super::lanes::{Row, binary, ternary, unary};

/// Where a row is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum At {
    /// A general register of the warp, by its row.
    Register(u16),
    /// A predicate of the warp.
    Predicate(u8),
    /// The condition code of the warp.
    Cc,
    /// A special register.
    Special(Special),
    /// The same in all warps.
    Shared(u16),
    /// A step before in the same operation.
    Scratch(u16),
}

/// A special register that a run without time can tell (numbers: fact table of S2R).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Special {
    /// The number of the lane.
    Lane,
    /// The thread's place in its block along an axis.
    Thread(u8),
    /// The block's place in the grid along an axis.
    Block(u8),
    /// The masks of lanes that stand to the own one as said.
    Equal,
    Below,
    BelowOrEqual,
    Above,
    AboveOrEqual,
}

impl Special {
    /// `None` for those that depend on time, or on what is not modelled.
    fn numbered(register: u8) -> Option<Special> {
        Some(match register {
            0 => Special::Lane,
            33..=35 => Special::Thread(register - 33),
            37..=39 => Special::Block(register - 37),
            56 => Special::Equal,
            57 => Special::Below,
            58 => Special::BelowOrEqual,
            59 => Special::Above,
            60 => Special::AboveOrEqual,
            _ => return None,
        })
    }
}

/// One step: its row is the next scratch row.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Unary(UnaryOp, At),
    Binary(BinaryOp, At, At),
    Ternary(TernaryOp, At, At, At),
}

/// What is done with the rows once all steps are.
#[derive(Clone, Debug)]
pub(super) enum Effect {
    /// Cells get rows.
    Write(Vec<(At, At)>),
    Load {
        dests: Vec<Option<u16>>,
        access: Access,
    },
    Store {
        values: Vec<At>,
        access: Access,
    },
    Shuffle {
        dest: Option<At>,
        in_range: Option<At>,
        mode: ShuffleMode,
        value: At,
        lane: At,
        limit: At,
    },
    Vote {
        ballot: Option<At>,
        result: Option<At>,
        mode: VoteMode,
        predicate: At,
    },
    /// Barrier number, threads (`None`: all of the block).
    Barrier(At, Option<At>),
    /// What it means is not known.
    Unknown,
}

/// An access to memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) space: Space,
    pub(super) width: Width,
    pub(super) low: At,
    pub(super) high: Option<At>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Flow {
    Next,
    Jump(u32),
    Push(Tag, u32),
    Call(u32),
    Unwind(Tag),
    Exit,
    Unknown,
}

#[derive(Clone, Debug)]
pub(super) struct Compiled {
    /// `None`: always. Else the predicate and whether it must not hold.
    pub(super) guard: Option<(u8, bool)>,
    /// The guard is `!PT`.
    pub(super) never: bool,
    pub(super) steps: Vec<Step>,
    pub(super) effect: Effect,
    pub(super) flow: Flow,
}

/// A kernel, ready to be launched.
pub(super) struct Program {
    pub(super) ops: Vec<Compiled>,
    /// Rows that all warps share.
    pub(super) shared: Vec<Row>,
    /// General registers of a thread.
    pub(super) registers: usize,
    /// The most scratch rows of an operation.
    pub(super) scratch: usize,
}

impl Program {
    pub(super) fn of(code: &Code, launch: &Launch) -> Program {
        let mut compiler = Compiler {
            launch,
            shared: Vec::new(),
            known: HashMap::new(),
            registers: 0,
        };
        let ops: Vec<Compiled> = code.ops.iter().map(|op| compiler.op(op)).collect();
        Program {
            scratch: ops.iter().map(|op| op.steps.len()).max().unwrap_or(0),
            ops,
            shared: compiler.shared,
            registers: compiler.registers,
        }
    }

    pub(super) fn unknown(&self) -> Vec<OpIndex> {
        let is_unknown = |op: &Compiled| {
            matches!(op.effect, Effect::Unknown) || matches!(op.flow, Flow::Unknown)
        };
        (0u32..)
            .zip(&self.ops)
            .filter(|(_, op)| is_unknown(op))
            .map(|(at, _)| OpIndex(at))
            .collect()
    }
}

struct Compiler<'a> {
    launch: &'a Launch,
    shared: Vec<Row>,
    known: HashMap<u32, u16>,
    registers: usize,
}

/// An operand while its operation is being compiled.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Operand {
    Const(u32),
    At(At),
}

/// The steps of one operation, each made once.
#[derive(Default)]
struct Steps {
    list: Vec<Step>,
    known: HashMap<(StepKind, [Operand; 3]), At>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum StepKind {
    Unary(u32),
    Binary(u32),
    Ternary(u32, u8),
}

impl Compiler<'_> {
    fn op(&mut self, op: &Op) -> Compiled {
        let condition = op.condition;
        let mut steps = Steps::default();
        let effect = match (&op.meaning, op.value) {
            (Some(meaning), _) => self.effect(meaning, &mut steps),
            (None, Value::Special(register)) => match op.writes.as_slice() {
                [] => Some(Effect::Write(Vec::new())),
                [dest] => self
                    .cell(*dest)
                    .zip(Special::numbered(register))
                    .map(|(dest, special)| Effect::Write(vec![(dest, At::Special(special))])),
                _ => None,
            },
            _ => None,
        };
        let tag = |token: Token| match token {
            Token::Sync => Some(Tag::Sync),
            Token::Brk => Some(Tag::Brk),
            Token::Cont => Some(Tag::Cont),
            Token::Ret => Some(Tag::Ret),
            Token::LongJmp | Token::Exit => None,
        };
        let flow = match &op.control {
            Control::Next => Flow::Next,
            Control::Jump(Target::Op(to)) => Flow::Jump(to.0),
            Control::Call(Target::Op(to)) => Flow::Call(to.0),
            Control::Push(token, Target::Op(to)) => {
                tag(*token).map_or(Flow::Unknown, |tag| Flow::Push(tag, to.0))
            }
            Control::Unwind(token) => tag(*token).map_or(Flow::Unknown, Flow::Unwind),
            Control::Exit => Flow::Exit,
            _ => Flow::Unknown,
        };
        let guard = condition.guard.filter(|guard| guard.is_predicate());
        Compiled {
            guard: guard.map(|cell| ((cell.index() - 256) as u8, condition.negated)),
            never: condition.is_never(),
            steps: steps.list,
            effect: effect.unwrap_or(Effect::Unknown),
            flow: if condition.tests_cc {
                Flow::Unknown
            } else {
                flow
            },
        }
    }

    fn effect(&mut self, meaning: &Meaning, steps: &mut Steps) -> Option<Effect> {
        Some(match meaning {
            Meaning::Set(writes) => {
                let mut list = Vec::with_capacity(writes.len());
                for (cell, value) in writes {
                    let value = self.expr(value, steps)?;
                    list.push((self.cell(*cell)?, self.at(value)));
                }
                Effect::Write(list)
            }
            Meaning::Load {
                dests,
                width,
                space,
                address,
            } => {
                let access = self.access(*space, *width, address, steps)?;
                let mut rows = Vec::with_capacity(dests.len());
                for dest in dests {
                    rows.push(match dest {
                        None => None,
                        Some(cell) => match self.cell(*cell)? {
                            At::Register(row) => Some(row),
                            _ => return None,
                        },
                    });
                }
                Effect::Load {
                    dests: rows,
                    access,
                }
            }
            Meaning::Store {
                values,
                width,
                space,
                address,
            } => {
                let access = self.access(*space, *width, address, steps)?;
                let mut rows = Vec::with_capacity(values.len());
                for value in values {
                    let value = self.expr(value, steps)?;
                    rows.push(self.at(value));
                }
                Effect::Store {
                    values: rows,
                    access,
                }
            }
            Meaning::Shuffle {
                dest,
                in_range,
                mode,
                value,
                lane,
                limit,
            } => {
                let value = self.expr(value, steps)?;
                let lane = self.expr(lane, steps)?;
                let limit = self.expr(limit, steps)?;
                Effect::Shuffle {
                    dest: self.optional(*dest)?,
                    in_range: self.optional(*in_range)?,
                    mode: *mode,
                    value: self.at(value),
                    lane: self.at(lane),
                    limit: self.at(limit),
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
            Meaning::Barrier { number, threads } => {
                let number = self.expr(number, steps)?;
                let threads = match threads {
                    Expr::Const(0) => None,
                    threads => {
                        let threads = self.expr(threads, steps)?;
                        Some(self.at(threads))
                    }
                };
                Effect::Barrier(self.at(number), threads)
            }
        })
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

    /// The row of a cell, if there is a cell.
    fn optional(&mut self, cell: Option<Cell>) -> Option<Option<At>> {
        match cell {
            None => Some(None),
            Some(cell) => self.cell(cell).map(Some),
        }
    }

    /// The row of a cell.
    fn cell(&mut self, cell: Cell) -> Option<At> {
        if cell == Cell::CC {
            return Some(At::Cc);
        }
        if cell.is_predicate() {
            return Some(At::Predicate((cell.index() - 256) as u8));
        }
        self.registers = self.registers.max(cell.index() + 1);
        u16::try_from(cell.index()).ok().map(At::Register)
    }

    /// A row for an operand.
    fn at(&mut self, operand: Operand) -> At {
        match operand {
            Operand::At(at) => at,
            Operand::Const(value) => {
                let fresh = self.shared.len() as u16;
                let row = *self.known.entry(value).or_insert(fresh);
                if row == fresh {
                    self.shared.push([value; 32]);
                }
                At::Shared(row)
            }
        }
    }

    fn expr(&mut self, expr: &Expr, steps: &mut Steps) -> Option<Operand> {
        Some(match expr {
            Expr::Const(value) => Operand::Const(*value),
            Expr::Cell(cell) => Operand::At(self.cell(*cell)?),
            Expr::Special(register) => Operand::At(At::Special(Special::numbered(*register)?)),
            Expr::ThreadId => return None,
            Expr::Constant(bank, address) => match self.expr(address, steps)? {
                Operand::Const(address) => Operand::Const(self.word(*bank, address)?),
                // An index into a constant bank.
                Operand::At(_) => return None,
            },
            Expr::Unary(op, a) => {
                let a = self.expr(a, steps)?;
                match a {
                    Operand::Const(a) => Operand::Const(unary(*op, &[a; 32])[0]),
                    Operand::At(at) => {
                        let kind = StepKind::Unary(*op as u32);
                        steps.add(kind, [a, a, a], Step::Unary(*op, at))
                    }
                }
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.expr(a, steps)?, self.expr(b, steps)?);
                if let (Operand::Const(a), Operand::Const(b)) = (a, b) {
                    return Some(Operand::Const(binary(*op, &[a; 32], &[b; 32])[0]));
                }
                let kind = StepKind::Binary(*op as u32);
                steps.add(kind, [a, b, b], Step::Binary(*op, self.at(a), self.at(b)))
            }
            Expr::Ternary(op, a, b, c) => {
                let a = self.expr(a, steps)?;
                let b = self.expr(b, steps)?;
                let c = self.expr(c, steps)?;
                if let (Operand::Const(a), Operand::Const(b), Operand::Const(c)) = (a, b, c) {
                    let row = ternary(*op, &[a; 32], &[b; 32], &[c; 32]);
                    return Some(Operand::Const(row[0]));
                }
                let kind = match op {
                    TernaryOp::Select => StepKind::Ternary(0, 0),
                    TernaryOp::Lut(table) => StepKind::Ternary(1, *table),
                    TernaryOp::Carry => StepKind::Ternary(2, 0),
                    TernaryOp::FunnelRight => StepKind::Ternary(3, 0),
                    TernaryOp::FunnelLeft => StepKind::Ternary(4, 0),
                    TernaryOp::Permute => StepKind::Ternary(5, 0),
                };
                let step = Step::Ternary(*op, self.at(a), self.at(b), self.at(c));
                steps.add(kind, [a, b, c], step)
            }
        })
    }

    /// A word of a constant bank; bytes that nobody gave are 0.
    fn word(&self, bank: u8, address: u32) -> Option<u32> {
        let (_, bytes) = self.launch.constants.iter().find(|(n, _)| *n == bank)?;
        let start = address as usize;
        let word = bytes.get(start..start.checked_add(4)?)?;
        Some(u32::from_le_bytes(word.try_into().ok()?))
    }
}

impl Steps {
    /// The row of a step, which is made when it is not known yet.
    fn add(&mut self, kind: StepKind, operands: [Operand; 3], step: Step) -> Operand {
        let next = At::Scratch(self.list.len() as u16);
        let at = *self.known.entry((kind, operands)).or_insert(next);
        if at == next {
            self.list.push(step);
        }
        Operand::At(at)
    }
}
