//! Compilation of expressions to steps, with constant folding and local value numbering: equal steps of one operation
//! are evaluated once.

use std::collections::{HashMap, HashSet};

use warpbound_ir::float::FloatOp;
use warpbound_ir::{BinaryOp, Cell, Expr, Op, TernaryOp, UnaryOp, ValueDomain, WordHalf, eval};
use warpbound_isa::SpecialReg;

use super::compile::{Compiler, word_number};
use super::lanes::{binary, ternary};
use super::program::{ClockRegister, Extent, Step, ValueSlot, predicate_mask};

/// Result of a compiled expression: a constant, or a slot.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Operand {
    Const(u32),
    Slot(ValueSlot),
}

/// Word that limits addresses of AMD's shared memory.
pub(super) const M0: u8 = 124;

/// The steps of one operation, value-numbered: for example, `add(x, y)` in two writes of an operation is one step.
pub(super) struct Steps {
    /// Lanes where the operation takes effect.
    pub(super) extent: Extent,
    /// Whether the operation reads the word M0.
    pub(super) reads_m0: bool,
    pub(super) list: Vec<(u16, Step)>,
    /// Number of scratch slots in use.
    pub(super) scratch_rows: u16,
    value_numbers: HashMap<(StepKind, [Operand; FloatOp::MAX_WORDS]), ValueSlot>,
    /// Slots whose lanes are all 0 or 1.
    booleans: HashSet<ValueSlot>,
}

/// Operator of a step, as part of its value number.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum StepKind {
    Predicate,
    Unary(u32),
    Binary(u32),
    Ternary(u32, u8),
    /// The debug text of the operation, which contains all its parameters.
    Float(String),
    Constant(u16),
    Splat(u8),
    OwnBit([u8; 2]),
    FromLane(u16),
}

impl<const W: usize> Compiler<'_, W> {
    /// Compiles an expression; `None` if it is not modelled.
    pub(super) fn compile_expr(&mut self, expr: &Expr, steps: &mut Steps) -> Option<Operand> {
        let mut domain = CompiledValues {
            compiler: self,
            steps,
        };
        eval(expr, &mut domain)
    }

    /// Compiles a binary operation: folds constants and neutral elements, otherwise adds a step.
    fn compile_binary(
        &mut self,
        op: BinaryOp,
        a: Operand,
        b: Operand,
        steps: &mut Steps,
    ) -> Operand {
        let is_boolean = |operand: &Operand| match operand {
            Operand::Const(value) => *value <= 1,
            Operand::Slot(at) => steps.booleans.contains(at),
        };
        let are_boolean = is_boolean(&a) && is_boolean(&b);
        match (op, a, b) {
            (_, Operand::Const(a), Operand::Const(b)) => {
                // Folded by the function that executes steps, so that folding cannot change a result.
                return Operand::Const(binary(op, &[a; W], &[b; W])[0]);
            }
            (BinaryOp::And, x, Operand::Const(u32::MAX))
            | (BinaryOp::And, Operand::Const(u32::MAX), x) => return x,
            (BinaryOp::And, x, Operand::Const(1)) | (BinaryOp::And, Operand::Const(1), x)
                if are_boolean =>
            {
                return x;
            }
            (BinaryOp::And, _, Operand::Const(0)) | (BinaryOp::And, Operand::Const(0), _) => {
                return Operand::Const(0);
            }
            (
                BinaryOp::Or
                | BinaryOp::Xor
                | BinaryOp::Add
                | BinaryOp::Sub
                | BinaryOp::Shl
                | BinaryOp::Shr
                | BinaryOp::Sar,
                x,
                Operand::Const(0),
            )
            | (BinaryOp::Or | BinaryOp::Xor | BinaryOp::Add, Operand::Const(0), x) => return x,
            _ => {}
        }
        let kind = StepKind::Binary(op as u32);
        let step = Step::Binary(op, self.slot_of(a), self.slot_of(b));
        let made = steps.get_or_push(kind, &[a, b], step, 1);
        let compares = matches!(
            op,
            BinaryOp::LtU
                | BinaryOp::LeU
                | BinaryOp::LtS
                | BinaryOp::LeS
                | BinaryOp::Eq
                | BinaryOp::Ne
        );
        let combines = matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor);
        // Comparisons give 0 or 1, and so do bit operations on such values.
        if compares || combines && are_boolean {
            steps.booleans.insert(made);
        }
        Operand::Slot(made)
    }

    /// Compiles a ternary operation: folds constants, otherwise adds a step.
    fn compile_ternary(
        &mut self,
        op: TernaryOp,
        operands: [Operand; 3],
        steps: &mut Steps,
    ) -> Operand {
        match (op, operands) {
            (_, [Operand::Const(a), Operand::Const(b), Operand::Const(c)]) => {
                let row = ternary(op, &[a; W], &[b; W], &[c; W]);
                return Operand::Const(row[0]);
            }
            (TernaryOp::Select, [Operand::Const(choice), b, c]) => {
                return if choice != 0 { b } else { c };
            }
            (TernaryOp::Carry, [_, Operand::Const(0), Operand::Const(0)])
            | (TernaryOp::Carry, [Operand::Const(0), _, Operand::Const(0)]) => {
                return Operand::Const(0);
            }
            _ => {}
        }
        let kind = match op {
            TernaryOp::Select => StepKind::Ternary(0, 0),
            TernaryOp::Lut(table) => StepKind::Ternary(1, table),
            TernaryOp::Carry => StepKind::Ternary(2, 0),
            TernaryOp::FunnelRight => StepKind::Ternary(3, 0),
            TernaryOp::FunnelLeft => StepKind::Ternary(4, 0),
            TernaryOp::Permute => StepKind::Ternary(5, 0),
        };
        let [a, b, c] = operands.map(|operand| self.slot_of(operand));
        Operand::Slot(steps.get_or_push(kind, &operands, Step::Ternary(op, a, b, c), 1))
    }

    /// Compiles one word of a floating-point operation. The two words of a wide result share one step.
    fn compile_float(
        &mut self,
        op: FloatOp,
        operands: &[Operand],
        half: WordHalf,
        steps: &mut Steps,
    ) -> Option<Operand> {
        if operands.len() != op.words() {
            return None;
        }
        // Words past the operands need a valid slot; the operation ignores them.
        let zero = self.slot_of(Operand::Const(0));
        let mut words = [zero; FloatOp::MAX_WORDS];
        for (word, operand) in words.iter_mut().zip(operands) {
            *word = self.slot_of(*operand);
        }
        let wide = op.is_wide();
        let kind = StepKind::Float(format!("{op:?}"));
        let step = Step::Float { op, words, wide };
        let made = steps.get_or_push(kind, operands, step, if wide { 2 } else { 1 });
        if op.is_truth() {
            steps.booleans.insert(made);
        }
        Some(match (half, made) {
            (WordHalf::Low, at) => Operand::Slot(at),
            (WordHalf::High, ValueSlot::Scratch(row)) if wide => {
                Operand::Slot(ValueSlot::Scratch(row + 1))
            }
            // A result of one word has no high word.
            (WordHalf::High, _) => Operand::Const(0),
        })
    }

    /// Returns the word at a byte offset of a constant bank.
    fn constant_word(&self, bank: u8, address: u32) -> Option<u32> {
        let (_, bytes) = self.launch.constants.iter().find(|(n, _)| *n == bank)?;
        let start = address as usize;
        let word = bytes.get(start..start.checked_add(4)?)?;
        Some(u32::from_le_bytes(word.try_into().ok()?))
    }
}

/// Domain of compiled values: where the steps of an operation leave them.
struct CompiledValues<'v, 'a, const W: usize> {
    compiler: &'v mut Compiler<'a, W>,
    steps: &'v mut Steps,
}

impl<const W: usize> ValueDomain for CompiledValues<'_, '_, W> {
    type Value = Operand;

    fn constant(&mut self, value: u32) -> Option<Operand> {
        Some(Operand::Const(value))
    }

    fn cell(&mut self, cell: Cell) -> Option<Operand> {
        let is_once = self.steps.extent == Extent::Once;
        if let Some(number) = word_number(cell) {
            return Some(Operand::Slot(match is_once {
                true => ValueSlot::Word(number),
                false => {
                    let (kind, step) = (StepKind::Splat(number), Step::Splat(number));
                    self.steps.get_or_push(kind, &[], step, 1)
                }
            }));
        }
        // Operations that are executed once read registers of lanes only by lane (`value_in_lane`).
        if is_once {
            return None;
        }
        let Some(number) = predicate_mask(cell) else {
            return self.compiler.register_slot(cell).map(Operand::Slot);
        };
        let operand = Operand::Const(number.into());
        let step = Step::Predicate(number);
        let made = self
            .steps
            .get_or_push(StepKind::Predicate, &[operand], step, 1);
        self.steps.booleans.insert(made);
        Some(Operand::Slot(made))
    }

    fn constant_word(&mut self, bank: u8, address: Operand) -> Option<Operand> {
        let slot = match address {
            // Constant banks do not change during a launch, so the word at a known address is a constant.
            Operand::Const(address) => {
                return self
                    .compiler
                    .constant_word(bank, address)
                    .map(Operand::Const);
            }
            Operand::Slot(slot) => slot,
        };
        let banks = &self.compiler.launch.constants;
        if self.steps.extent == Extent::Once {
            return None;
        }
        let index = banks.iter().position(|(number, _)| *number == bank)? as u16;
        let (kind, step) = (StepKind::Constant(index), Step::Constant(index, slot));
        let made = self.steps.get_or_push(kind, &[address], step, 1);
        Some(Operand::Slot(made))
    }

    fn special(&mut self, register: SpecialReg) -> Option<Operand> {
        let is_of_block = matches!(register, SpecialReg::BlockIndex(_))
            || ClockRegister::of_special(register).is_some();
        // Other special registers have a value per lane.
        if self.steps.extent == Extent::Once && !is_of_block {
            return None;
        }
        self.compiler.special_register(register).map(Operand::Slot)
    }

    fn own_bit(&mut self, words: [Cell; 2]) -> Option<Operand> {
        // The wave as a whole has no bit of its own in a mask.
        if self.steps.extent == Extent::Once {
            return None;
        }
        let [low, high] = words.map(word_number);
        let words = [low?, high?];
        let (kind, step) = (StepKind::OwnBit(words), Step::OwnBit(words));
        let made = self.steps.get_or_push(kind, &[], step, 1);
        self.steps.booleans.insert(made);
        Some(Operand::Slot(made))
    }

    fn value_in_lane(&mut self, cell: Cell, lane: Operand) -> Option<Operand> {
        if !cell.is_per_lane() {
            return None;
        }
        let ValueSlot::Warp(row) = self.compiler.register_slot(cell)? else {
            return None;
        };
        let step = Step::FromLane(row, self.compiler.slot_of(lane));
        let made = self
            .steps
            .get_or_push(StepKind::FromLane(row), &[lane], step, 1);
        Some(Operand::Slot(made))
    }

    fn unary(&mut self, op: UnaryOp, a: Operand) -> Option<Operand> {
        let slot = match a {
            Operand::Const(value) => return Some(Operand::Const(op.apply(value))),
            Operand::Slot(slot) => slot,
        };
        let (kind, step) = (StepKind::Unary(op as u32), Step::Unary(op, slot));
        let made = self.steps.get_or_push(kind, &[a], step, 1);
        Some(Operand::Slot(made))
    }

    fn binary(&mut self, op: BinaryOp, a: Operand, b: Operand) -> Option<Operand> {
        Some(self.compiler.compile_binary(op, a, b, self.steps))
    }

    fn ternary(&mut self, op: TernaryOp, operands: [Operand; 3]) -> Option<Operand> {
        Some(self.compiler.compile_ternary(op, operands, self.steps))
    }

    fn float(&mut self, op: FloatOp, words: &[Operand], half: WordHalf) -> Option<Operand> {
        self.compiler.compile_float(op, words, half, self.steps)
    }
}

impl Steps {
    /// Returns an empty list of steps for an operation that takes effect in these lanes.
    pub(super) fn new(extent: Extent) -> Steps {
        Steps {
            extent,
            reads_m0: false,
            list: Vec::new(),
            scratch_rows: 0,
            value_numbers: HashMap::new(),
            booleans: HashSet::new(),
        }
    }

    /// Returns an empty list of steps for an operation.
    pub(super) fn of(op: &Op, extent: Extent) -> Steps {
        Steps {
            reads_m0: op.reads.contains(&Cell::scalar(M0)),
            ..Steps::new(extent)
        }
    }

    /// Returns the slot of a step; adds the step, with `rows` scratch slots, if it has no value number yet.
    fn get_or_push(
        &mut self,
        kind: StepKind,
        operands: &[Operand],
        step: Step,
        rows: u16,
    ) -> ValueSlot {
        let mut key = [Operand::Const(0); FloatOp::MAX_WORDS];
        for (word, operand) in key.iter_mut().zip(operands) {
            *word = *operand;
        }
        // All steps of an operation precede its writes, so a value number stays valid.
        if let Some(&known) = self.value_numbers.get(&(kind.clone(), key)) {
            return known;
        }
        let made = self.push(step, rows);
        self.value_numbers.insert((kind, key), made);
        made
    }

    /// Adds a step with `rows` scratch slots; returns the first.
    pub(super) fn push(&mut self, step: Step, rows: u16) -> ValueSlot {
        let made = ValueSlot::Scratch(self.scratch_rows);
        self.list.push((self.scratch_rows, step));
        self.scratch_rows += rows;
        made
    }
}
