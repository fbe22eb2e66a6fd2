//! Reads, writes, dependence and barrier flag that follow from the meaning of an operation. For example, `R4 =
//! add(R2, R3)` implies the reads R2 and R3, the write R4, and the dependence `function`, so that text leaves them
//! out.

use std::collections::BTreeSet;

use smallvec::SmallVec;

use crate::{
    Address, BarrierArrival, Cell, ControlEffect, Expr, MatrixRegisters, Meaning, SurfaceAccess,
    SurfaceOp, TextureRead, ValueDependence,
};

/// Parts of an operation that text leaves out if they are implied.
#[derive(Debug)]
pub(super) struct Implied {
    /// Cells that the meaning reads, ascending.
    pub(super) reads: SmallVec<[Cell; 6]>,
    /// Cells that the meaning writes, ascending.
    pub(super) writes: SmallVec<[Cell; 4]>,
    /// Dependence of the written values.
    pub(super) value: ValueDependence,
    /// Whether the operation waits for other warps.
    pub(super) barrier: bool,
}

/// Returns the meaning of an operation whose text states none: no effect for GPU operations that only direct control
/// flow, else unknown.
pub(super) fn unstated_meaning(control: &ControlEffect) -> Option<Meaning> {
    match control {
        ControlEffect::Next
        | ControlEffect::Branch { .. }
        | ControlEffect::Reconverge
        | ControlEffect::SetActive(_)
        | ControlEffect::End
        | ControlEffect::Unsupported(_) => None,
        ControlEffect::Jump(_)
        | ControlEffect::Indirect { .. }
        | ControlEffect::Call(_)
        | ControlEffect::Push(..)
        | ControlEffect::Pop(_)
        | ControlEffect::LinkedCall(_)
        | ControlEffect::LinkedIndirect { .. }
        | ControlEffect::Return { .. }
        | ControlEffect::OpenBarrier(..)
        | ControlEffect::JoinBarrier(_)
        | ControlEffect::BreakBarrier(_)
        | ControlEffect::SaveBarrier(..)
        | ControlEffect::WriteBarrier { .. }
        | ControlEffect::Release
        | ControlEffect::Collective(_)
        | ControlEffect::FreeJump(_)
        | ControlEffect::Exit => Some(Meaning::Set(SmallVec::new())),
    }
}

impl Implied {
    /// Returns the parts that a meaning, or its absence, and a control effect imply.
    pub(super) fn by(meaning: Option<&Meaning>, control: &ControlEffect) -> Implied {
        let mut found = Found::default();
        if let ControlEffect::Indirect { base, .. }
        | ControlEffect::LinkedIndirect { base, .. }
        | ControlEffect::Return { base, .. } = control
        {
            found.reads.extend(base);
        }
        if let Some(meaning) = meaning {
            found.add_meaning(meaning);
        }
        Implied {
            reads: found.reads.iter().copied().collect(),
            writes: found.writes.iter().copied().collect(),
            value: meaning.map_or(ValueDependence::Function, |meaning| found.value(meaning)),
            barrier: matches!(meaning, Some(Meaning::Barrier { .. })),
        }
    }
}

/// Cells and sources that a meaning names.
#[derive(Default)]
struct Found {
    reads: BTreeSet<Cell>,
    writes: BTreeSet<Cell>,
    /// Whether an expression contains the thread number.
    thread: bool,
    /// Special register of an expression.
    special: Option<ValueDependence>,
}

impl Found {
    fn value(&self, meaning: &Meaning) -> ValueDependence {
        match meaning {
            // The number of the thread differs in every lane.
            _ if self.thread => ValueDependence::Lane,
            Meaning::Set(writes) => match (self.special, writes.as_slice()) {
                (None, _) => ValueDependence::Function,
                // Only a plain copy of a special register has its dependence.
                (Some(special), [(_, Expr::Special(_))]) => special,
                // A function of special registers is not a special register itself.
                (Some(_), _) => ValueDependence::Lane,
            },
            Meaning::Load { space, .. } => ValueDependence::Load(*space),
            Meaning::Vote { .. } | Meaning::Reduce { .. } => ValueDependence::Uniform,
            Meaning::MatrixAccess(access) => match access.registers {
                // Each lane receives another part, even of one address.
                MatrixRegisters::Load(_) => ValueDependence::Lane,
                MatrixRegisters::Store(_) => ValueDependence::Function,
            },
            // Reductions write no cell.
            Meaning::Atomic { dests, .. } if dests.is_empty() => ValueDependence::Function,
            Meaning::Surface(access) if !matches!(access.op, SurfaceOp::Load(_)) => {
                ValueDependence::Function
            }
            Meaning::Shuffle { .. }
            | Meaning::Match { .. }
            | Meaning::FirstLane { .. }
            | Meaning::MatrixProduct(_)
            | Meaning::MatrixTranspose(_)
            | Meaning::Atomic { .. }
            | Meaning::Texture(_)
            | Meaning::TextureSize { .. }
            | Meaning::Surface(_)
            | Meaning::BarrierResult { .. } => ValueDependence::Lane,
            Meaning::Store { .. }
            | Meaning::MemoryCopy(_)
            | Meaning::Barrier { .. }
            | Meaning::Meet(_)
            | Meaning::Part
            | Meaning::Ask(_)
            | Meaning::AnyLane(_)
            | Meaning::Trap => ValueDependence::Function,
        }
    }

    fn add_meaning(&mut self, meaning: &Meaning) {
        match meaning {
            Meaning::Set(assignments) => {
                for (dest, value) in assignments {
                    self.writes.insert(*dest);
                    self.add(value);
                }
            }
            Meaning::Load { dests, address, .. } => {
                self.writes.extend(dests.iter().flatten());
                self.add_address(address);
            }
            Meaning::Store {
                values, address, ..
            } => {
                self.add_all(values);
                self.add_address(address);
            }
            Meaning::Shuffle { .. }
            | Meaning::Vote { .. }
            | Meaning::Reduce { .. }
            | Meaning::Match { .. }
            | Meaning::FirstLane { .. } => self.add_exchange(meaning),
            Meaning::Meet(lanes) => self.add_all(lanes),
            Meaning::Ask(lanes) => self.add_all(lanes),
            Meaning::AnyLane(holds) => self.add(holds),
            Meaning::Part => {}
            Meaning::Atomic {
                dests,
                address,
                operands,
                ..
            } => {
                self.writes.extend(dests.iter().flatten());
                self.add_address(address);
                self.add_all(operands);
            }
            Meaning::Texture(read) => self.add_texture(read),
            Meaning::TextureSize {
                handle,
                level,
                dests,
            } => {
                self.writes.extend(dests.iter().map(|(_, cell)| cell));
                self.add_all([handle, level]);
            }
            Meaning::Surface(access) => self.add_surface(access),
            Meaning::MatrixProduct(_)
            | Meaning::MatrixTranspose(_)
            | Meaning::MatrixAccess(_)
            | Meaning::MemoryCopy(_) => self.add_matrices(meaning),
            Meaning::Barrier {
                number,
                threads,
                arrival,
            } => {
                self.add_all([number, threads]);
                if let BarrierArrival::Reduce(_, predicate) = arrival {
                    self.add(predicate);
                }
            }
            Meaning::BarrierResult { dest, truth } => {
                self.writes.extend([dest, truth].into_iter().flatten());
            }
            Meaning::Trap => {}
        }
    }

    /// Adds the cells of an operation on matrices or of a copy; none for other meanings.
    fn add_matrices(&mut self, meaning: &Meaning) {
        match meaning {
            Meaning::MatrixProduct(product) => {
                self.writes.extend(product.dests.iter().flatten());
                self.add_all(product.a.iter().chain(&product.b).chain(&product.c));
            }
            Meaning::MatrixTranspose(transpose) => {
                self.writes.extend(transpose.dest);
                self.add(&transpose.value);
            }
            Meaning::MatrixAccess(access) => {
                match &access.registers {
                    MatrixRegisters::Load(dests) => self.writes.extend(dests.iter().flatten()),
                    MatrixRegisters::Store(values) => self.add_all(values),
                }
                self.add_address(&access.address);
            }
            Meaning::MemoryCopy(copy) => {
                self.add_address(&copy.to);
                self.add_address(&copy.from);
                self.add(&copy.reads);
            }
            _ => {}
        }
    }

    /// Adds the cells of an exchange between lanes; none for other meanings.
    fn add_exchange(&mut self, meaning: &Meaning) {
        match meaning {
            Meaning::Shuffle {
                dest,
                in_range,
                value,
                lane,
                limit,
                ..
            } => {
                self.writes.extend([dest, in_range].into_iter().flatten());
                self.add_all([value, lane, limit]);
            }
            Meaning::Vote {
                ballot,
                result,
                predicate,
                ..
            } => {
                self.writes.extend([ballot, result].into_iter().flatten());
                self.add(predicate);
            }
            Meaning::Reduce { dest, value, .. } => {
                self.writes.extend(dest);
                self.add(value);
            }
            Meaning::Match {
                mask,
                all_equal,
                words,
                ..
            } => {
                self.writes.extend([mask, all_equal].into_iter().flatten());
                self.add_all(words);
            }
            Meaning::FirstLane {
                dest,
                differs,
                accumulates,
                value,
            } => {
                self.writes.extend(dest);
                self.writes.insert(*differs);
                if *accumulates {
                    self.reads.insert(*differs);
                }
                self.add(value);
            }
            _ => {}
        }
    }

    fn add_texture(&mut self, read: &TextureRead) {
        self.writes.extend(read.dests.iter().map(|(_, cell)| cell));
        self.add(&read.handle);
        self.add_all(&read.coordinates);
        self.add_all(&read.layer);
        self.add_all(&read.level);
        self.add_all(&read.offsets);
    }

    fn add_surface(&mut self, access: &SurfaceAccess) {
        match &access.op {
            SurfaceOp::Load(dests) => self.writes.extend(dests.iter().flatten()),
            SurfaceOp::Store(values) => self.add_all(values),
            SurfaceOp::Reduce(_, _, operands) => self.add_all(operands),
        }
        self.add(&access.handle);
        self.add_all(&access.coordinates);
        self.add_all(&access.layer);
    }

    fn add_address(&mut self, address: &Address) {
        self.add(&address.low);
        self.add_all(&address.high);
        if let Some(buffer) = &address.buffer {
            self.add_all(&buffer.descriptor);
            self.add_all(&buffer.index);
            self.add(&buffer.scalar_offset);
        }
    }

    fn add_all<'a>(&mut self, exprs: impl IntoIterator<Item = &'a Expr>) {
        exprs.into_iter().for_each(|expr| self.add(expr));
    }

    fn add(&mut self, expr: &Expr) {
        match expr {
            Expr::Const(_) => {}
            Expr::Cell(cell) => {
                self.reads.insert(*cell);
            }
            Expr::ThreadId => self.thread = true,
            Expr::Special(number) => self.special = Some(ValueDependence::Special(*number)),
            Expr::Constant(_, a) | Expr::Unary(_, a) => self.add(a),
            Expr::Binary(_, a, b) => self.add_all([&**a, b]),
            Expr::Ternary(_, a, b, c) => self.add_all([&**a, b, c]),
            Expr::Float(_, operands, _) => self.add_all(operands),
            Expr::Ballot(a, _) => self.add(a),
            Expr::FromLane(cell, lane) => {
                self.reads.insert(*cell);
                self.add(lane);
            }
        }
    }
}
