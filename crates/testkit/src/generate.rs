//! Random programs for the audits: structured ones, as a compiler emits them, and unstructured ones.
//!
//! A program is a deterministic function of the random generator: seeds in failure reports reproduce it, so the order
//! of random draws must not change.

mod shapes;
mod thread_index;

use smallvec::SmallVec;
use warpbound_base::CodeAddr;
use warpbound_ir::{
    BinaryOp, Cell, Code, CodeFunction, ControlEffect, ControlTarget, ExecCondition, Expr, Meaning,
    Op, OpIndex, OpScope, ValueDependence,
};
use warpbound_isa::instr::{CcTest, MemorySpace, StackToken};
use warpbound_isa::{Axis, SpecialReg};

pub use shapes::{
    divergent_external_call, jump_or_call, selected_targets, two_calls, two_headers,
    unwound_from_outside,
};
pub use thread_index::by_thread_index;

/// Numbers of general registers and of predicates that random programs use.
const REGISTERS: u8 = 6;
const PREDICATES: u8 = 3;
/// Special registers, the one that agrees in a warp twice.
const SPECIAL_REGISTERS: [SpecialReg; 5] = [
    SpecialReg::LaneId,
    SpecialReg::ThreadIndex(Axis::X),
    SpecialReg::ThreadIndex(Axis::Y),
    SpecialReg::BlockIndex(Axis::X),
    SpecialReg::BlockIndex(Axis::X),
];
/// Offset that indirect jumps add to table words, so that tests cover a non-zero anchor.
const ANCHOR: i64 = 16;

/// Label of an operation, bound when the operation is emitted.
#[derive(Clone, Copy)]
struct Label(usize);

/// Assembler of a random program, operation by operation.
struct ProgramWriter<'r> {
    rng: &'r mut fastrand::Rng,
    ops: Vec<Op>,
    labels: Vec<Option<OpIndex>>,
    /// Operations with a label as target: (operation, label).
    patches: Vec<(usize, Label)>,
    /// Labels of the words of the jump table in constant bank 2.
    table: Vec<Label>,
    /// Operations that write the address of a label: (operation, label).
    pointers: Vec<(usize, Label)>,
    functions: Vec<Label>,
}

/// Generates a structured program: nested conditionals, loops, switches and calls, with or without the reconvergence
/// instructions that compilers insert around them.
pub fn structured(rng: &mut fastrand::Rng) -> Code {
    let mut w = ProgramWriter::new(rng);
    let functions = w.rng.usize(0..4);
    w.functions = (0..functions).map(|_| w.new_label()).collect();
    let depth = w.rng.usize(1..4);
    w.data(3);
    w.body(depth, functions, 0);
    w.control(ExecCondition::ALWAYS, ControlEffect::Exit);
    for f in 0..functions {
        w.bind(w.functions[f]);
        let depth = w.rng.usize(0..3);
        // A function calls those with lower numbers, and sometimes itself after an early return.
        let recursive = w.rng.u8(0..6) == 0;
        if recursive || w.rng.bool() {
            let p = w.predicate();
            w.data(1);
            w.control(p, ControlEffect::Pop(StackToken::Ret));
        }
        w.body(depth, if recursive { f + 1 } else { f }, 0);
        w.control(ExecCondition::ALWAYS, ControlEffect::Pop(StackToken::Ret));
    }
    w.finish()
}

/// Generates a program of random blocks that jump, push and pop at random. Most programs that the analyses accept
/// reconverge as no compiler's code would.
pub fn unstructured(rng: &mut fastrand::Rng) -> Code {
    let mut w = ProgramWriter::new(rng);
    let blocks = w.rng.usize(3..9);
    let labels: Vec<Label> = (0..blocks).map(|_| w.new_label()).collect();
    let tokens = [StackToken::Sync, StackToken::Brk, StackToken::Cont];
    for _ in 0..w.rng.usize(0..3) {
        let token = tokens[w.rng.usize(0..3)];
        let to = labels[w.rng.usize(0..blocks)];
        w.push(token, to);
    }
    for &label in &labels {
        w.bind(label);
        w.emit_block_data();
        let to = labels[w.rng.usize(0..blocks)];
        let token = tokens[w.rng.usize(0..3)];
        let condition = match w.rng.u8(0..8) {
            0..=1 => ExecCondition::ALWAYS,
            2 => w.predicate(),
            _ => w.fresh_predicate(),
        };
        match w.rng.u8(0..10) {
            0..=3 => w.jump(condition, to),
            4..=5 => w.push(token, to),
            6 => w.control(condition, ControlEffect::Pop(token)),
            7 => w.control(condition, ControlEffect::Exit),
            8 => {
                let n = w.rng.usize(2..4);
                let targets = (0..n).map(|_| labels[w.rng.usize(0..blocks)]).collect();
                w.indirect_jump(targets);
            }
            _ => {}
        }
    }
    w.control(ExecCondition::ALWAYS, ControlEffect::Exit);
    w.finish()
}

/// Generates a program of functions of random blocks: pushes and pops of any token anywhere, also of entries of the
/// caller; guarded returns; direct and indirect calls of any function, recursion included; guarded indirect jumps, also
/// to the next operation. The analyses refuse about half of these programs.
pub fn exotic(rng: &mut fastrand::Rng) -> Code {
    let mut w = ProgramWriter::new(rng);
    let functions = w.rng.usize(0..4);
    w.functions = (0..functions).map(|_| w.new_label()).collect();
    w.exotic_function(false);
    w.control(ExecCondition::ALWAYS, ControlEffect::Exit);
    for function in 0..functions {
        w.bind(w.functions[function]);
        w.exotic_function(true);
        w.control(ExecCondition::ALWAYS, ControlEffect::Pop(StackToken::Ret));
    }
    w.finish()
}

impl<'r> ProgramWriter<'r> {
    fn exotic_function(&mut self, may_return: bool) {
        const TOKENS: [StackToken; 3] = [StackToken::Sync, StackToken::Brk, StackToken::Cont];
        let blocks = self.rng.usize(2..7);
        let labels: Vec<Label> = (0..blocks).map(|_| self.new_label()).collect();
        let mut pushed = vec![];
        for _ in 0..self.rng.usize(0..3) {
            let token = TOKENS[self.rng.usize(0..3)];
            let to = labels[self.rng.usize(0..blocks)];
            self.push(token, to);
            pushed.push(token);
        }
        self.start_chain();
        for &label in &labels {
            self.bind(label);
            self.emit_block_data();
            let to = labels[self.rng.usize(0..blocks)];
            let condition = match self.rng.u8(0..8) {
                0 => ExecCondition::ALWAYS,
                1..=2 => self.predicate(),
                _ => self.fresh_predicate(),
            };
            let any = TOKENS[self.rng.usize(0..3)];
            match self.rng.u8(0..16) {
                0..=3 => self.jump(condition, to),
                4 => self.push(any, to),
                5..=6 if !pushed.is_empty() => {
                    let token = pushed[self.rng.usize(0..pushed.len())];
                    self.control(condition, ControlEffect::Pop(token));
                }
                7 => self.control(condition, ControlEffect::Exit),
                8 => self.guarded_indirect_jump(&labels),
                9..=11 if !self.functions.is_empty() => {
                    let callee = self.functions[self.rng.usize(0..self.functions.len())];
                    self.call(callee);
                }
                12 if !self.functions.is_empty() => {
                    let callees = (0..self.rng.usize(1..3))
                        .map(|_| self.functions[self.rng.usize(0..self.functions.len())])
                        .collect();
                    self.push(StackToken::Ret, to);
                    self.indirect_jump(callees);
                }
                13 if may_return => self.control(condition, ControlEffect::Pop(StackToken::Ret)),
                15 => self.unknown_call(to),
                14 => self.control(condition, ControlEffect::Pop(any)),
                _ => {}
            }
        }
    }

    /// Emits a call through a register that holds no address of this code; it returns to `to`.
    fn unknown_call(&mut self, to: Label) {
        let guard = match self.rng.bool() {
            true => ExecCondition::ALWAYS,
            false => self.predicate(),
        };
        self.push(StackToken::Ret, to);
        let base = Some(self.register());
        let control = ControlEffect::Indirect {
            base,
            anchor: 1 << 40,
            relative: true,
        };
        self.control(guard, control);
    }

    /// Emits an indirect jump, in half of the cases guarded, in half of them also to the next operation.
    fn guarded_indirect_jump(&mut self, labels: &[Label]) {
        let mut targets: Vec<Label> = (0..self.rng.usize(2..4))
            .map(|_| labels[self.rng.usize(0..labels.len())])
            .collect();
        let after = self.new_label();
        if self.rng.bool() {
            targets.push(after);
        }
        self.indirect_jump(targets);
        if self.rng.bool() {
            let guard = self.predicate();
            if let Some(op) = self.ops.last_mut() {
                op.condition = guard;
            }
        }
        self.bind(after);
    }

    fn new(rng: &'r mut fastrand::Rng) -> Self {
        ProgramWriter {
            rng,
            ops: Vec::new(),
            labels: Vec::new(),
            patches: Vec::new(),
            table: Vec::new(),
            pointers: Vec::new(),
            functions: Vec::new(),
        }
    }

    fn new_label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    fn bind(&mut self, label: Label) {
        self.labels[label.0] = Some(OpIndex(self.ops.len() as u32));
    }

    fn bind_new_label(&mut self) -> Label {
        let label = self.new_label();
        self.bind(label);
        label
    }

    fn register(&mut self) -> Cell {
        Cell::gpr(self.rng.u8(0..REGISTERS))
    }

    fn predicate(&mut self) -> ExecCondition {
        ExecCondition {
            guard: Some(Cell::pred(self.rng.u8(0..PREDICATES))),
            negated: self.rng.bool(),
            cc_test: self.cc_test(),
            further: None,
        }
    }

    fn emit(&mut self, op: Op) {
        self.ops.push(op);
    }

    fn control(&mut self, condition: ExecCondition, control: ControlEffect) {
        self.emit(Op {
            addr: CodeAddr::default(),
            condition,
            reads: SmallVec::new(),
            writes: SmallVec::new(),
            value: ValueDependence::Function,
            control,
            barrier: false,
            scope: OpScope::Lane,
            meaning: None,
        });
    }

    fn jump(&mut self, condition: ExecCondition, to: Label) {
        self.patches.push((self.ops.len(), to));
        self.control(
            condition,
            ControlEffect::Jump(ControlTarget::Op(OpIndex(0))),
        );
    }

    fn push(&mut self, token: StackToken, to: Label) {
        self.patches.push((self.ops.len(), to));
        self.control(
            ExecCondition::ALWAYS,
            ControlEffect::Push(token, ControlTarget::Op(OpIndex(0))),
        );
    }

    fn call(&mut self, to: Label) {
        self.patches.push((self.ops.len(), to));
        self.control(
            ExecCondition::ALWAYS,
            ControlEffect::Call(ControlTarget::Op(OpIndex(0))),
        );
    }

    /// Emits a step of a chain `R = f(R)` and a predicate computed from it. A loop guarded by it ends in most runs,
    /// since the predicate changes from round to round. Chains that begin with a constant agree.
    fn fresh_predicate(&mut self) -> ExecCondition {
        let mut condition = self.predicate();
        condition.cc_test = CcTest::TRUE;
        let chain = Cell::gpr(REGISTERS + 1);
        let Some(guard) = condition.guard else {
            return condition;
        };
        for (read, write) in [(chain, chain), (chain, guard)] {
            self.write(
                ExecCondition::ALWAYS,
                &[read],
                &[write],
                ValueDependence::Function,
            );
        }
        condition
    }

    /// Starts the chain of [`ProgramWriter::fresh_predicate`] with a constant in half of the cases, so that lanes agree
    /// on it.
    fn start_chain(&mut self) {
        if self.rng.bool() {
            let chain = Cell::gpr(REGISTERS + 1);
            self.write(
                ExecCondition::ALWAYS,
                &[],
                &[chain],
                ValueDependence::Function,
            );
        }
    }

    fn write(
        &mut self,
        condition: ExecCondition,
        reads: &[Cell],
        writes: &[Cell],
        value: ValueDependence,
    ) {
        self.emit(Op {
            addr: CodeAddr::default(),
            condition,
            reads: SmallVec::from_slice(reads),
            writes: SmallVec::from_slice(writes),
            value,
            control: ControlEffect::Next,
            barrier: false,
            scope: OpScope::Lane,
            meaning: None,
        });
    }

    /// Emits the data operations of a block: up to two, and in one block of six a pair of guarded writes.
    fn emit_block_data(&mut self) {
        let count = self.rng.usize(0..3);
        self.data(count);
        if self.rng.u8(0..6) == 0 {
            self.complementary_writes();
        }
    }

    /// Emits `count` data operations.
    fn data(&mut self, count: usize) {
        for _ in 0..count {
            let condition = if self.rng.u8(0..4) == 0 {
                self.predicate()
            } else {
                ExecCondition::ALWAYS
            };
            let (a, b, d) = (self.register(), self.register(), self.register());
            let p = Cell::pred(self.rng.u8(0..PREDICATES));
            let spaces = [
                MemorySpace::Global,
                MemorySpace::Shared,
                MemorySpace::Local,
                MemorySpace::Constant,
                MemorySpace::Generic,
            ];
            let load = ValueDependence::Load(spaces[self.rng.usize(0..5)]);
            let special = ValueDependence::Special(SPECIAL_REGISTERS[self.rng.usize(0..5)]);
            let (reads, writes, value): (Vec<Cell>, Vec<Cell>, ValueDependence) =
                match self.rng.u8(0..12) {
                    0..=2 => (vec![a, b], vec![d], ValueDependence::Function),
                    3..=6 => (vec![a], vec![p], ValueDependence::Function),
                    7 => (vec![], vec![d], special),
                    8 => (vec![a], vec![d], load),
                    9 => (vec![p], vec![d], ValueDependence::Uniform),
                    10 => (vec![a], vec![d, Cell::CC], ValueDependence::Function),
                    _ => (vec![a], vec![d], ValueDependence::Lane),
                };
            // Constants restore agreement, which random reads soon destroy.
            let reads = if self.rng.u8(0..3) == 0 {
                vec![]
            } else {
                reads
            };
            self.write(condition, &reads, &writes, value);
        }
    }

    /// Emits a jump to one of `targets`: by a clamped index into a table in bank 2, or through a selected pointer.
    fn indirect_jump(&mut self, targets: Vec<Label>) {
        match self.rng.u8(0..3) {
            0 => self.select_pointer(&targets),
            _ => self.load_pointer(targets),
        }
        self.jump_to_pointer();
    }

    fn jump_to_pointer(&mut self) {
        self.control(
            ExecCondition::ALWAYS,
            ControlEffect::Indirect {
                base: Some(Cell::gpr(REGISTERS)),
                anchor: ANCHOR,
                relative: true,
            },
        );
    }

    fn load_pointer(&mut self, targets: Vec<Label>) {
        let register = Cell::gpr(REGISTERS);
        let limit = targets.len() as u32 - 1;
        let first = self.table.len() as u32 * 4;
        self.table.extend(targets);
        let index = self.register();
        let with = |op, c, n| Expr::binary(op, Expr::Cell(c), Expr::Const(n));
        for value in [
            with(BinaryOp::MinU, index, limit),
            with(BinaryOp::Shl, register, 2),
            Expr::Constant(2, with(BinaryOp::Add, register, first).into()),
        ] {
            let loads = matches!(value, Expr::Constant(..));
            self.emit(Op {
                addr: CodeAddr::default(),
                condition: ExecCondition::ALWAYS,
                reads: SmallVec::from_slice(&[index, register]),
                writes: SmallVec::from_slice(&[register]),
                value: if loads {
                    ValueDependence::Load(MemorySpace::Constant)
                } else {
                    ValueDependence::Function
                },
                control: ControlEffect::Next,
                barrier: false,
                scope: OpScope::Lane,
                meaning: Some(Meaning::set(register, value)),
            });
        }
    }

    /// Emits a sequence of statements, which may call the first `callable` functions. `loops` is the number of
    /// enclosing loops.
    fn body(&mut self, depth: usize, callable: usize, loops: usize) {
        for _ in 0..self.rng.usize(1..4) {
            self.emit_block_data();
            self.statement(depth, callable, loops);
        }
    }

    /// Emits a statement: a simple one at depth 0, otherwise a construct whose bodies have the next lower depth.
    fn statement(&mut self, depth: usize, callable: usize, loops: usize) {
        if depth == 0 {
            self.simple_statement(callable);
            return;
        }
        // All labels and the predicate are drawn before the construct, which may use none of them.
        let (end, other) = (self.new_label(), self.new_label());
        let p = self.predicate();
        let always = ExecCondition::ALWAYS;
        let sync = ControlEffect::Pop(StackToken::Sync);
        let depth = depth - 1;
        match self.rng.u8(0..11) {
            // if/else with reconvergence
            0 | 1 => {
                self.push(StackToken::Sync, end);
                self.jump(p, other);
                self.body(depth, callable, loops);
                self.control(always, sync.clone());
                self.bind(other);
                self.body(depth, callable, loops);
                self.control(always, sync);
            }
            // if with a predicated SYNC as its branch
            2 => {
                self.push(StackToken::Sync, end);
                self.control(p, sync.clone());
                self.body(depth, callable, loops);
                self.control(always, sync);
            }
            // if without reconvergence
            3 => {
                self.jump(p, end);
                self.body(depth, callable, loops);
            }
            // do-while without and with reconvergence
            4 if loops < 2 => {
                self.start_chain();
                let head = self.bind_new_label();
                self.body(depth, callable, loops + 1);
                let again = self.fresh_predicate();
                self.jump(again, head);
            }
            5 if loops < 2 => {
                self.start_chain();
                self.push(StackToken::Sync, end);
                let head = self.bind_new_label();
                self.body(depth, callable, loops + 1);
                let again = self.fresh_predicate();
                self.jump(again, head);
                self.control(always, sync);
            }
            6 if loops < 2 => self.loop_with_break(depth, callable, loops, end, other),
            7 if loops < 2 => self.loop_with_continue(depth, callable, loops, p, other),
            8 => self.switch(depth, callable, loops, end),
            9 if callable > 0 => self.pointer_call(callable, end),
            10 if loops == 0 => {
                self.loop_with_repeated_push(end);
                return;
            }
            _ => self.body(depth, callable, loops),
        }
        self.bind(end);
    }

    /// Emits an exit, a call or a data operation.
    fn simple_statement(&mut self, callable: usize) {
        let p = self.predicate();
        match self.rng.u8(0..10) {
            0 => self.control(p, ControlEffect::Exit),
            1..=3 if callable > 0 => {
                let f = self.functions[self.rng.usize(0..callable)];
                self.call(f);
            }
            _ => self.data(1),
        }
    }

    /// Emits a loop that is left by BRK, also out of an SSY region.
    fn loop_with_break(
        &mut self,
        depth: usize,
        callable: usize,
        loops: usize,
        end: Label,
        other: Label,
    ) {
        let always = ExecCondition::ALWAYS;
        let brk = ControlEffect::Pop(StackToken::Brk);
        self.start_chain();
        self.push(StackToken::Brk, end);
        let head = self.bind_new_label();
        self.body(depth, callable, loops + 1);
        let p = self.fresh_predicate();
        if self.rng.bool() {
            self.control(p, brk);
        } else {
            let join = self.new_label();
            self.push(StackToken::Sync, join);
            self.jump(p, other);
            self.data(1);
            self.control(always, ControlEffect::Pop(StackToken::Sync));
            self.bind(other);
            self.control(always, brk);
            self.bind(join);
        }
        self.jump(always, head);
    }

    /// Emits a loop with a guarded CONT in its body.
    fn loop_with_continue(
        &mut self,
        depth: usize,
        callable: usize,
        loops: usize,
        guard: ExecCondition,
        latch: Label,
    ) {
        let cont = ControlEffect::Pop(StackToken::Cont);
        let head = self.bind_new_label();
        self.push(StackToken::Cont, latch);
        self.body(depth, callable, loops + 1);
        self.control(guard, cont.clone());
        self.body(depth, callable, loops + 1);
        self.control(ExecCondition::ALWAYS, cont);
        self.bind(latch);
        let again = self.fresh_predicate();
        self.jump(again, head);
    }

    /// Emits a switch: an indirect jump to cases that BRK leaves.
    fn switch(&mut self, depth: usize, callable: usize, loops: usize, end: Label) {
        let brk = ControlEffect::Pop(StackToken::Brk);
        let n = self.rng.usize(2..5);
        let targets: Vec<Label> = (0..n).map(|_| self.new_label()).collect();
        self.push(StackToken::Brk, end);
        self.indirect_jump(targets.clone());
        for target in targets {
            self.bind(target);
            self.body(depth, callable, loops);
            // One case of four falls through into the next one.
            if self.rng.u8(0..4) != 0 {
                self.control(ExecCondition::ALWAYS, brk.clone());
            }
        }
        self.control(ExecCondition::ALWAYS, brk);
    }

    /// Emits a call through a pointer that returns to `end`.
    fn pointer_call(&mut self, callable: usize, end: Label) {
        let n = self.rng.usize(1..3);
        let targets = (0..n)
            .map(|_| self.functions[self.rng.usize(0..callable)])
            .collect();
        // PRET before the clamp: the operations in between belong to the caller.
        self.push(StackToken::Ret, end);
        self.indirect_jump(targets);
    }

    /// Emits a loop that pushes a stack entry in each round and pops it once, and an exit after it.
    fn loop_with_repeated_push(&mut self, end: Label) {
        let head = self.bind_new_label();
        self.push(StackToken::Sync, end);
        self.data(2);
        let again = self.fresh_predicate();
        self.jump(again, head);
        self.control(ExecCondition::ALWAYS, ControlEffect::Pop(StackToken::Sync));
        self.bind(end);
        self.data(1);
        self.control(ExecCondition::ALWAYS, ControlEffect::Exit);
    }

    fn finish(mut self) -> Code {
        // A label bound at the end must name an operation.
        self.control(ExecCondition::ALWAYS, ControlEffect::Exit);
        // Addresses as on Maxwell: groups of a control word and three operations.
        let addr = |i: usize| CodeAddr((i / 3 * 32 + i % 3 * 8 + 8) as u32);
        for (i, op) in self.ops.iter_mut().enumerate() {
            op.addr = addr(i);
        }
        for (op, label) in std::mem::take(&mut self.patches) {
            let to = ControlTarget::Op(self.labels[label.0].unwrap_or_default());
            match &mut self.ops[op].control {
                ControlEffect::Jump(target)
                | ControlEffect::Call(target)
                | ControlEffect::Push(_, target) => {
                    *target = to;
                }
                _ => {}
            }
        }
        let address = |label: &Label| addr(self.labels[label.0].unwrap_or_default().index());
        for (op, label) in &self.pointers {
            shapes::set_pointer(&mut self.ops[*op], address(label));
        }
        let words = self
            .table
            .iter()
            .flat_map(|label| shapes::pointer_word(address(label)).to_le_bytes());
        let constants = vec![(2, words.collect())];
        let mut functions: Vec<CodeFunction> = self
            .functions
            .iter()
            .enumerate()
            .map(|(i, label)| CodeFunction {
                name: format!("f{i}"),
                entry: self.labels[label.0].unwrap_or_default(),
            })
            .collect();
        functions.sort_by_key(|f| f.entry);
        Code {
            ops: self.ops,
            functions,
            constants,
            external_words: Vec::new(),
            address_words: Vec::new(),
            agreed_at_entry: Vec::new(),
            entry: OpIndex(0),
            group_bytes: 32,
            ..Code::default()
        }
    }
}
