//! Compilation of operations to steps and effects. Values that are equal in all lanes of the grid are computed here,
//! once; the others by steps on lane values.

use std::collections::HashMap;

use warpbound_ir::{
    Address, BarrierArrival, Cell, ControlEffect, ExecCondition, Expr, FurtherTest, Meaning, Op,
    OpScope, SurfaceAccess, SurfaceOp, TextureRead, ValueDependence, Width, WordHalf, further_test,
};
use warpbound_isa::instr::MemorySpace;
use warpbound_isa::{RegisterKind, SpecialReg};
use warpbound_launch::window;

use super::Launch;
use super::lanes::LaneValues;
use super::program::{
    AskedLanes, BarrierEffect, ClockRegister, CompiledOp, CompiledTest, Dest, Effect, Extent,
    ExtraRegister, FirstLaneEffect, Flow, Guard, MatchEffect, MemoryOperand, RegisterRows,
    ShuffleEffect, Step, SurfaceEffect, SurfaceOperation, TextureEffect, ValueSlot, VoteEffect,
    predicate_mask,
};
use super::steps::{Operand, Steps};

/// Compiler of the operations of one launch with warps of `W` lanes.
pub(super) struct Compiler<'a, const W: usize> {
    pub(super) launch: &'a Launch,
    /// Whether a simulation with time defines the clock registers.
    pub(super) timed: bool,
    /// Whether the launch is for an AMD machine, whose waves access memory by rules of their own.
    pub(super) has_waves: bool,
    pub(super) registers: RegisterRows,
    pub(super) grid_values: Vec<LaneValues<W>>,
    /// Indices in `grid_values` of the constants, by their value.
    pub(super) constant_slots: HashMap<u32, u16>,
    pub(super) scratch: usize,
    /// Whether some operation reads a [`ClockRegister`].
    pub(super) reads_clock: bool,
}

impl<const W: usize> Compiler<'_, W> {
    /// Compiles an operation; one that is not modelled becomes [`Effect::Unsupported`].
    pub(super) fn compile_op(&mut self, op: &Op) -> CompiledOp {
        let condition = op.condition;
        let extent = extent(op, self.has_waves);
        let guard = guard(condition, extent);
        let mut steps = Steps::of(op, extent);
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
            // The flow of the operation writes the register.
            _ if matches!(op.control, ControlEffect::SaveBarrier(..)) => {
                Some(Effect::Write(Vec::new()))
            }
            _ => None,
        };
        let test = condition
            .has_further_test()
            .then(|| self.compile_further_test(condition, op.meaning.as_ref()));
        let (effect, flow) = match test {
            // An operation whose guard is not modelled must not execute unguarded.
            _ if guard.is_none() => (Effect::Unsupported, Flow::Unsupported),
            // The test is not modelled.
            Some(None) => (Effect::Unsupported, Flow::Unsupported),
            _ => {
                let effect = effect.unwrap_or(match reads_clock(op) {
                    true => Effect::NeedsTime,
                    false => Effect::Unsupported,
                });
                (effect, self.compile_flow(op, &mut steps))
            }
        };
        self.scratch = self.scratch.max(usize::from(steps.scratch_rows));
        CompiledOp {
            // If there is none, the effect faults.
            guard: guard.unwrap_or(Guard::Always),
            extent,
            further: test.flatten(),
            steps: steps.list,
            effect,
            flow,
        }
    }

    /// Compiles the part of a condition that is not its guard: its steps, and the slot of its result.
    fn compile_further_test(
        &mut self,
        condition: ExecCondition,
        meaning: Option<&Meaning>,
    ) -> Option<CompiledTest> {
        let mut steps = Steps::new(Extent::Lanes);
        // The test has steps of its own: it is evaluated first, in all active lanes, and its scratch slots are reused.
        let (asks, value) = match (condition.further, meaning) {
            (Some(FurtherTest::Group), Some(Meaning::Ask(lanes))) if !condition.tests_cc() => {
                let asked = match lanes {
                    Some(_) => AskedLanes::OfMask,
                    None => AskedLanes::Live,
                };
                (Some(asked), lanes.clone().unwrap_or(Expr::Const(u32::MAX)))
            }
            _ => (None, further_test(condition)?),
        };
        let row = self.compile_expr(&value, &mut steps)?;
        self.scratch = self.scratch.max(usize::from(steps.scratch_rows));
        Some(CompiledTest {
            steps: steps.list,
            result: self.slot_of(row),
            asks,
        })
    }

    /// Compiles the meaning of an operation; `None` if some part is not modelled.
    #[allow(clippy::too_many_lines, reason = "a table: one arm per meaning")]
    fn compile_effect(&mut self, meaning: &Meaning, steps: &mut Steps) -> Option<Effect> {
        Some(match meaning {
            Meaning::Set(writes) => Effect::Write(self.compile_writes(writes, steps)?),
            Meaning::Load { .. } | Meaning::Store { .. } | Meaning::Atomic { .. }
                if self.has_waves || steps.extent == Extent::Once =>
            {
                Effect::Wave(Box::new(self.compile_wave_access(meaning, steps)?))
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
                dests: self.optional_dests(dests)?,
                op: *op,
                kind: *kind,
                operands: self.compile_exprs(operands, steps)?,
                access: self.memory_operand(*space, Width::Words, address, steps)?,
            },
            // Instructions of warps of 32 lanes: shuffles have segments of up to 32 lanes, ballots are one register
            // with a bit per lane (PTX manual, `shfl`, `vote`).
            Meaning::Shuffle { .. } | Meaning::Vote { .. } | Meaning::Match { .. } if W > 32 => {
                return None;
            }
            Meaning::Match {
                mask,
                all_equal,
                mode,
                words,
            } => Effect::Match(MatchEffect {
                words: self.compile_exprs(words, steps)?,
                mask: self.optional_dest(*mask)?,
                all_equal: self.optional_dest(*all_equal)?,
                mode: *mode,
            }),
            Meaning::FirstLane {
                dest,
                differs,
                accumulates,
                value,
            } => Effect::FirstLane(FirstLaneEffect {
                value: self.compile_slot(value, steps)?,
                dest: self.optional_dest(*dest)?,
                // Without `.OR` the old truth is overwritten, so it must not be read.
                kept: match accumulates {
                    true => Some(self.compile_slot(&Expr::Cell(*differs), steps)?),
                    false => None,
                },
                differs: self.dest(*differs)?,
            }),
            Meaning::Reduce { dest, op, value } => {
                let value = self.compile_slot(value, steps)?;
                Effect::Reduce(*op, self.optional_dest(*dest)?, value)
            }
            Meaning::Shuffle {
                dest,
                in_range,
                mode,
                value,
                lane,
                limit,
            } => Effect::Shuffle(ShuffleEffect {
                value: self.compile_slot(value, steps)?,
                lane: self.compile_slot(lane, steps)?,
                limit: self.compile_slot(limit, steps)?,
                dest: self.optional_dest(*dest)?,
                in_range: self.optional_dest(*in_range)?,
                mode: *mode,
            }),
            Meaning::Vote {
                ballot,
                result,
                mode,
                predicate,
            } => Effect::Vote(VoteEffect {
                predicate: self.compile_slot(predicate, steps)?,
                ballot: self.optional_dest(*ballot)?,
                result: self.optional_dest(*result)?,
                mode: *mode,
            }),
            Meaning::MatrixProduct(product) => {
                Effect::MatrixProduct(Box::new(self.compile_product(product, steps)?))
            }
            Meaning::MatrixTranspose(transpose) => {
                let value = self.compile_slot(&transpose.value, steps)?;
                Effect::MatrixTranspose(self.optional_dest(transpose.dest)?, value)
            }
            Meaning::MatrixAccess(access) => {
                Effect::MatrixAccess(Box::new(self.compile_matrix_access(access, steps)?))
            }
            Meaning::MemoryCopy(copy) => {
                Effect::MemoryCopy(Box::new(self.compile_copy(copy, steps)?))
            }
            Meaning::Texture(read) => self.compile_texture(read, steps)?,
            Meaning::TextureSize { handle, dests, .. } => {
                let handle = self.compile_slot(handle, steps)?;
                Effect::TextureSize(handle, self.component_registers(dests)?)
            }
            Meaning::Surface(access) => self.compile_surface(access, steps)?,
            Meaning::Barrier {
                number,
                threads,
                arrival,
            } => Effect::Barrier(BarrierEffect {
                number: self.compile_slot(number, steps)?,
                threads: match threads {
                    Expr::Const(0) => None,
                    threads => Some(self.compile_slot(threads, steps)?),
                },
                waits: *arrival != BarrierArrival::Arrive,
                question: match arrival {
                    BarrierArrival::Reduce(question, predicate) => {
                        Some((*question, self.compile_slot(predicate, steps)?))
                    }
                    BarrierArrival::Wait | BarrierArrival::Arrive => None,
                },
            }),
            Meaning::BarrierResult { dest, truth } => {
                Effect::BarrierResult(self.optional_dest(*dest)?, self.optional_dest(*truth)?)
            }
            // The flow of the operation lets the lanes wait.
            Meaning::Meet(_) | Meaning::Part | Meaning::Ask(_) | Meaning::AnyLane(_) => {
                Effect::Write(Vec::new())
            }
            Meaning::Trap => Effect::Trap,
        })
    }

    /// Compiles simultaneous writes of cells to sequential ones.
    fn compile_writes(
        &mut self,
        writes: &[(Cell, Expr)],
        steps: &mut Steps,
    ) -> Option<Vec<(Dest, ValueSlot)>> {
        let mut list: Vec<(Dest, ValueSlot)> = Vec::with_capacity(writes.len());
        for (cell, value) in writes {
            if let Expr::Ballot(lanes, half) = value {
                let lanes = self.compile_slot(lanes, steps)?;
                self.add_ballot(*cell, *half, lanes, &mut list)?;
                continue;
            }
            let value = self.compile_slot(value, steps)?;
            let dest = match word_number(*cell) {
                Some(number) if steps.extent == Extent::Once => Dest::Word(number),
                _ => self.dest(*cell)?,
            };
            list.push((dest, value));
        }
        // All values are read before the operation writes, so a register that an earlier write changes is copied
        // first. For example, a swap of two registers copies the first one.
        for index in 1..list.len() {
            let (earlier, rest) = list.split_at_mut(index);
            let from = &mut rest[0].1;
            // Predicates need no copy: only steps read them (`Step::Predicate`), and steps precede all writes.
            let overwrites = |&(dest, _): &(Dest, ValueSlot)| match (dest, *from) {
                (Dest::Register(written), ValueSlot::Warp(read)) => written == read,
                (Dest::Word(written), ValueSlot::Word(read)) => written == read,
                _ => false,
            };
            if earlier.iter().any(overwrites) {
                *from = steps.push(Step::Copy(*from), 1);
            }
        }
        Some(list)
    }

    /// Adds the write of a word of a mask; both words of one mask are one write.
    fn add_ballot(
        &self,
        cell: Cell,
        half: WordHalf,
        lanes: ValueSlot,
        list: &mut Vec<(Dest, ValueSlot)>,
    ) -> Option<()> {
        let number = word_number(cell)?;
        let word = match half {
            WordHalf::Low => 0,
            WordHalf::High => 1,
        };
        if let Some((Dest::Ballot(words), from)) = list.last_mut()
            && *from == lanes
            && words[word].is_none()
        {
            words[word] = Some(number);
            return Some(());
        }
        let mut words = [None; 2];
        words[word] = Some(number);
        list.push((Dest::Ballot(words), lanes));
        Some(())
    }

    /// Returns the slot of a cell in an operation. Words of the warp have slots only where the operation is executed
    /// once.
    pub(super) fn cell_slot(&self, cell: Cell, steps: &Steps) -> Option<ValueSlot> {
        match steps.extent {
            Extent::Once => word_number(cell).map(ValueSlot::Word),
            _ => self.register_slot(cell),
        }
    }

    /// Compiles a texture read.
    fn compile_texture(&mut self, read: &TextureRead, steps: &mut Steps) -> Option<Effect> {
        let handle = self.compile_slot(&read.handle, steps)?;
        Some(Effect::Texture(Box::new(TextureEffect {
            operation: read.op,
            kind: read.kind,
            handle,
            coordinates: self.compile_exprs(&read.coordinates, steps)?,
            layer: self.compile_exprs(read.layer.as_slice(), steps)?.pop(),
            offsets: self.compile_exprs(&read.offsets, steps)?,
            dests: self.component_registers(&read.dests)?,
        })))
    }

    /// Compiles a surface access.
    fn compile_surface(&mut self, access: &SurfaceAccess, steps: &mut Steps) -> Option<Effect> {
        let handle = self.compile_slot(&access.handle, steps)?;
        Some(Effect::Surface(Box::new(SurfaceEffect {
            operation: match &access.op {
                SurfaceOp::Load(dests) => SurfaceOperation::Load(self.register_rows(dests)?),
                SurfaceOp::Store(values) => {
                    SurfaceOperation::Store(self.compile_exprs(values, steps)?)
                }
                SurfaceOp::Reduce(op, kind, values) => {
                    SurfaceOperation::Reduce(*op, *kind, self.compile_exprs(values, steps)?)
                }
            },
            width: access.width,
            size: access.size(),
            kind: access.kind,
            handle,
            coordinates: self.compile_exprs(&access.coordinates, steps)?,
            layer: self.compile_exprs(access.layer.as_slice(), steps)?.pop(),
            outside: access.out_of_bounds,
        })))
    }

    /// Components of a result and their destination registers.
    fn component_registers(&self, dests: &[(u8, Cell)]) -> Option<Vec<(u8, u16)>> {
        let row = |&(component, cell): &(u8, Cell)| match self.register_slot(cell)? {
            ValueSlot::Warp(row) => Some((component, row)),
            _ => None,
        };
        dests.iter().map(row).collect()
    }

    /// Compiles an expression to a slot; `None` if it is not modelled.
    pub(super) fn compile_slot(&mut self, expr: &Expr, steps: &mut Steps) -> Option<ValueSlot> {
        let operand = self.compile_expr(expr, steps)?;
        Some(self.slot_of(operand))
    }

    /// Compiles a list of expressions to slots.
    pub(super) fn compile_exprs(
        &mut self,
        values: &[Expr],
        steps: &mut Steps,
    ) -> Option<Vec<ValueSlot>> {
        let slots = values.iter().map(|value| self.compile_slot(value, steps));
        slots.collect()
    }

    /// Compiles the address of a memory access.
    pub(super) fn memory_operand(
        &mut self,
        space: MemorySpace,
        width: Width,
        address: &Address,
        steps: &mut Steps,
    ) -> Option<MemoryOperand> {
        // `compile_wave_access` compiles the other forms.
        if !address.is_plain() {
            return None;
        }
        Some(MemoryOperand {
            space,
            width,
            low: self.compile_slot(&address.low, steps)?,
            high: match &address.high {
                None => None,
                Some(high) => Some(self.compile_slot(high, steps)?),
            },
        })
    }

    /// Indices of destination registers; `None` elements are discarded results.
    pub(super) fn register_rows(&self, cells: &[Option<Cell>]) -> Option<Vec<Option<u16>>> {
        let row = |cell: &Option<Cell>| match cell {
            None => Some(None),
            Some(cell) => match self.register_slot(*cell) {
                Some(ValueSlot::Warp(row)) => Some(Some(row)),
                _ => None,
            },
        };
        cells.iter().map(row).collect()
    }

    /// Destination of an optional cell; `None` if the cell is not modelled.
    fn optional_dest(&self, cell: Option<Cell>) -> Option<Option<Dest>> {
        match cell {
            None => Some(None),
            Some(cell) => self.dest(cell).map(Some),
        }
    }

    /// Destinations of optional cells; `None` if one of them is not modelled.
    pub(super) fn optional_dests(&self, cells: &[Option<Cell>]) -> Option<Vec<Option<Dest>>> {
        cells.iter().map(|cell| self.optional_dest(*cell)).collect()
    }

    /// Destination of a cell; `None` if the cell is not modelled.
    fn dest(&self, cell: Cell) -> Option<Dest> {
        if let Some(number) = predicate_mask(cell) {
            return Some(Dest::Predicate(number));
        }
        match self.register_slot(cell)? {
            ValueSlot::Warp(row) => Some(Dest::Register(row)),
            _ => None,
        }
    }

    /// Slot of a cell other than a predicate.
    pub(super) fn register_slot(&self, cell: Cell) -> Option<ValueSlot> {
        let row = self.registers.row_of(cell)?;
        u16::try_from(row).ok().map(ValueSlot::Warp)
    }

    /// Slot of a special register; `None` for registers that are not modelled, and for clock registers in a simulation
    /// without time.
    pub(super) fn special_register(&mut self, register: SpecialReg) -> Option<ValueSlot> {
        let row: LaneValues<W> = match register {
            SpecialReg::LaneId => std::array::from_fn(|lane| lane as u32),
            SpecialReg::ThreadIndex(axis) => {
                let own = self
                    .registers
                    .extra(ExtraRegister::ThreadIndex(axis.index()));
                return u16::try_from(own).ok().map(ValueSlot::Warp);
            }
            SpecialReg::BlockIndex(axis) => return Some(ValueSlot::Block(axis.index())),
            // Each mask is one register of 32 bits, so warps with more lanes do not have them.
            SpecialReg::LanesEqual
            | SpecialReg::LanesBelow
            | SpecialReg::LanesUpTo
            | SpecialReg::LanesAbove
            | SpecialReg::LanesFrom
                if W > 32 =>
            {
                return None;
            }
            // The local memory of a launch begins at 0, and all of it is stack.
            SpecialReg::StackLimit => [0; W],
            // A block is alone in its cluster.
            SpecialReg::BlockInCluster => [0; W],
            SpecialReg::SharedWindowHigh => [window::HIGH; W],
            SpecialReg::LanesEqual => std::array::from_fn(|lane| 1 << lane),
            SpecialReg::LanesBelow => std::array::from_fn(|lane| (1 << lane) - 1),
            SpecialReg::LanesUpTo => std::array::from_fn(|lane| u32::MAX >> (31 - lane)),
            // Two shifts, because a single shift of the last lane would be by 32 bits.
            SpecialReg::LanesAbove => std::array::from_fn(|lane| (u32::MAX << lane) << 1),
            SpecialReg::LanesFrom => std::array::from_fn(|lane| u32::MAX << lane),
            _ => {
                let clock = ClockRegister::of_special(register).filter(|_| self.timed)?;
                self.reads_clock = true;
                return Some(ValueSlot::Block(3 + clock as u8));
            }
        };
        let index = self.grid_values.iter().position(|known| *known == row);
        let index = index.unwrap_or(self.grid_values.len());
        if index == self.grid_values.len() {
            self.grid_values.push(row);
        }
        Some(ValueSlot::Grid(index as u16))
    }

    /// Slot of an operand; constants are shared by value.
    pub(super) fn slot_of(&mut self, operand: Operand) -> ValueSlot {
        match operand {
            Operand::Slot(at) => at,
            Operand::Const(value) => {
                let fresh = self.grid_values.len() as u16;
                let row = *self.constant_slots.entry(value).or_insert(fresh);
                if row == fresh {
                    self.grid_values.push([value; W]);
                }
                ValueSlot::Grid(row)
            }
        }
    }
}

/// Returns the lanes where an operation takes effect.
fn extent(op: &Op, has_waves: bool) -> Extent {
    let moves_wave = !matches!(
        op.control,
        ControlEffect::Next | ControlEffect::SetActive(_)
    );
    let writes_lanes = op.writes.iter().any(|cell| cell.is_per_lane());
    let writes_words = op.writes.iter().any(|cell| !cell.is_per_lane());
    match op.scope {
        OpScope::Warp if writes_lanes => Extent::AllLanes,
        OpScope::Warp => Extent::Once,
        // All lanes of a wave have one program counter, so it changes once for the wave.
        OpScope::Lane if has_waves && moves_wave && !writes_lanes => Extent::Once,
        OpScope::Lane if writes_words => Extent::LanesAndWords,
        OpScope::Lane => Extent::Lanes,
    }
}

/// Compiles the guard of an operation; `None` if it is not modelled.
fn guard(condition: ExecCondition, extent: Extent) -> Option<Guard> {
    let is_for_lanes = matches!(extent, Extent::Lanes | Extent::LanesAndWords);
    // The condition code is a value per lane, so an operation of the warp cannot test it.
    if condition.has_further_test() && !is_for_lanes {
        return None;
    }
    let Some(cell) = condition.guard else {
        return Some(match condition.negated {
            true => Guard::Never,
            false => Guard::Always,
        });
    };
    if let Some(number) = predicate_mask(cell) {
        return is_for_lanes.then_some(Guard::Predicate(number, condition.negated));
    }
    let words = match cell.mask_words() {
        Some(words) => words,
        // A guard by a single word: only whether some word is not 0 matters, so it may count twice.
        None => [cell, cell],
    };
    let [low, high] = words.map(word_number);
    Some(Guard::Words([low?, high?], condition.negated))
}

/// Number of a word of the warp; `None` for other cells.
pub(super) fn word_number(cell: Cell) -> Option<u8> {
    cell.number_in(RegisterKind::Scalar)
}

/// Whether an operation reads a register that only a simulation with time can define.
fn reads_clock(op: &Op) -> bool {
    let is_clock = |register: SpecialReg| ClockRegister::of_special(register).is_some();
    match (op.value, &op.meaning) {
        (ValueDependence::Special(register), _) => is_clock(register),
        (_, Some(Meaning::Set(values))) => values
            .iter()
            .any(|(_, value)| matches!(value, Expr::Special(register) if is_clock(*register))),
        _ => false,
    }
}
