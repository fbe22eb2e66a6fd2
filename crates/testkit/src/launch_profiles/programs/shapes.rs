//! Programs of one shape each, for single rules of launch profiles.

use std::collections::BTreeSet;

use fastrand::Rng;
use warpbound_analyse::launch_profile::StatedLoop;
use warpbound_ir::{
    Address, BinaryOp, Cell, ControlEffect, ControlTarget, ExecCondition, Expr, Meaning, OpIndex,
    VoteMode,
};
use warpbound_isa::instr::StackToken;
use warpbound_isa::{Axis, SpecialReg};

use super::{BUFFER_WORDS, BUFFERS, Builder, ProfiledProgram, guard};

/// Instructions whose repetition makes a difference that is seen.
const LONG: u32 = 100;

/// Register of a word that decides.
const WORD: Cell = Cell::gpr(2);

impl ProfiledProgram {
    /// Loaded words decide a branch before a push; both sides push entries of their own at the same operation, and
    /// each of the entries resumes.
    pub fn sides_that_push_the_same() -> ProfiledProgram {
        let mut builder = Builder::new(Rng::with_seed(0));
        builder.branch_on_loaded_word();
        let join = builder.push(StackToken::Sync);
        builder.pop(StackToken::Sync, ExecCondition::ALWAYS);
        builder.lands_here(join);
        builder.long_end();
        builder.finish()
    }

    /// Loaded words decide a branch, and thread indices a second one, without any push: each side of the first one
    /// has both sides of the second one, and all run to the end on their own.
    pub fn sides_that_never_meet() -> ProfiledProgram {
        let mut builder = Builder::new(Rng::with_seed(0));
        builder.branch_on_loaded_word();
        builder.compare(BinaryOp::LtU, Expr::Cell(Cell::gpr(0)), Expr::Const(16));
        let over = builder.jump(guard(false));
        builder.assign(WORD, Expr::Const(0));
        builder.lands_here(over);
        builder.long_end();
        builder.finish()
    }

    /// A loaded word decides which of two constants a register holds, and the register decides a branch.
    pub fn implicit_flow() -> ProfiledProgram {
        let mut builder = Builder::new(Rng::with_seed(0));
        let chosen = Cell::gpr(3);
        builder.branch_on_loaded_word();
        builder.assign(chosen, Expr::Const(0));
        let join = builder.push(StackToken::Sync);
        builder.compare(BinaryOp::Ne, Expr::Cell(WORD), Expr::Const(0));
        let other = builder.jump(guard(false));
        builder.assign(chosen, Expr::Const(1));
        builder.pop(StackToken::Sync, ExecCondition::ALWAYS);
        builder.lands_here(other);
        builder.pop(StackToken::Sync, ExecCondition::ALWAYS);
        builder.lands_here(join);
        builder.compare(BinaryOp::Ne, Expr::Cell(chosen), Expr::Const(0));
        let over = builder.jump(guard(false));
        builder.assign(WORD, Expr::Const(0));
        builder.lands_here(over);
        builder.op(ControlEffect::Exit, ExecCondition::ALWAYS, None);
        builder.finish()
    }

    /// Loaded words decide a branch without a push, so the lanes stay apart; each side votes whether it has a certain
    /// thread, and the result decides a branch: it hangs on which lanes vote, hence on the words.
    pub fn vote_of_some_lanes() -> ProfiledProgram {
        let mut builder = Builder::new(Rng::with_seed(0));
        builder.branch_on_loaded_word();
        let vote = Meaning::Vote {
            ballot: None,
            result: Some(WORD),
            mode: VoteMode::Any,
            predicate: Expr::binary(BinaryOp::Eq, Expr::Cell(Cell::gpr(0)), Expr::Const(3)),
        };
        builder.data(vote, ExecCondition::ALWAYS);
        builder.branch_on_word();
        builder.op(ControlEffect::Exit, ExecCondition::ALWAYS, None);
        builder.finish()
    }

    /// Lanes where an expression is not 0 skip an instruction.
    pub fn branch_on(value: Expr) -> ProfiledProgram {
        let mut builder = Builder::new(Rng::with_seed(0));
        builder.assign(WORD, value);
        builder.branch_on_word();
        builder.op(ControlEffect::Exit, ExecCondition::ALWAYS, None);
        builder.finish()
    }

    /// Lanes that find another word than 0 at a literal address skip an instruction.
    pub fn branch_on_word_at(address: u64) -> ProfiledProgram {
        let mut builder = Builder::new(Rng::with_seed(0));
        builder.load_word(Address {
            low: Expr::Const(address as u32),
            high: Some(Expr::Const((address >> 32) as u32)),
            buffer: None,
            second_half: None,
        });
        builder.branch_on_word();
        builder.op(ControlEffect::Exit, ExecCondition::ALWAYS, None);
        builder.finish()
    }

    /// A loop of one round, and of this many in the block with the index 1: a write under a condition decides.
    pub fn rounds_set_in_one_block(rounds: u32) -> ProfiledProgram {
        let mut builder = Builder::new(Rng::with_seed(0));
        builder.assign(WORD, Expr::Const(1));
        let block = Expr::Special(SpecialReg::BlockIndex(Axis::X));
        builder.compare(BinaryOp::Eq, block, Expr::Const(1));
        builder.data(Meaning::set(WORD, Expr::Const(rounds)), guard(false));
        let head = builder.here();
        let next = Expr::binary(BinaryOp::Sub, Expr::Cell(WORD), Expr::Const(1));
        builder.assign(WORD, next);
        builder.compare(BinaryOp::Ne, Expr::Cell(WORD), Expr::Const(0));
        let back = builder.jump(guard(false));
        builder.lands_at(back, head);
        builder.op(ControlEffect::Exit, ExecCondition::ALWAYS, None);
        builder.finish()
    }

    /// A function that calls itself without end.
    pub fn endless_recursion() -> ProfiledProgram {
        let mut builder = Builder::new(Rng::with_seed(0));
        let own = ControlTarget::Op(OpIndex(0));
        builder.op(ControlEffect::Call(own), ExecCondition::ALWAYS, None);
        builder.finish()
    }

    /// A loop of this many rounds, and this many stated loops in code that is not executed.
    pub fn round_beside_loops(rounds: u32, loops: usize) -> ProfiledProgram {
        let mut builder = Builder::new(Rng::with_seed(0));
        builder.assign(WORD, Expr::Const(0));
        let head = builder.here();
        let next = Expr::binary(BinaryOp::Add, Expr::Cell(WORD), Expr::Const(1));
        builder.assign(WORD, next);
        builder.compare(BinaryOp::LtU, Expr::Cell(WORD), Expr::Const(rounds));
        let back = builder.jump(guard(false));
        builder.lands_at(back, head);
        builder.op(ControlEffect::Exit, ExecCondition::ALWAYS, None);
        let header = OpIndex(builder.here() as u32);
        let mut program = builder.finish();
        let other = StatedLoop {
            header,
            body: BTreeSet::from([header]),
            bound: 1,
        };
        program.loops = vec![other; loops];
        program
    }
}

impl Builder {
    fn load_word(&mut self, address: Address) {
        self.load_to(WORD, address);
    }

    /// Lanes whose word is not 0 skip an instruction.
    fn branch_on_word(&mut self) {
        self.compare(BinaryOp::Ne, Expr::Cell(WORD), Expr::Const(0));
        let over = self.jump(guard(false));
        self.assign(WORD, Expr::Const(0));
        self.lands_here(over);
    }

    /// Lanes skip an instruction, or not, by the words of the buffer that is only read.
    fn branch_on_loaded_word(&mut self) {
        self.start();
        let lane = Expr::binary(
            BinaryOp::And,
            Expr::Cell(Cell::gpr(0)),
            Expr::Const(BUFFER_WORDS - 1),
        );
        let offset = Expr::binary(BinaryOp::Shl, lane, Expr::Const(2));
        let constant = |at| Expr::Constant(0, Box::new(Expr::Const(at)));
        let [_, base] = BUFFERS;
        self.load_word(Address {
            low: Expr::binary(BinaryOp::Add, constant(base), offset),
            high: Some(constant(base + 4)),
            buffer: None,
            second_half: None,
        });
        let half = Expr::binary(BinaryOp::And, Expr::Cell(WORD), Expr::Const(1));
        self.assign(WORD, half);
        self.branch_on_word();
    }

    fn long_end(&mut self) {
        for number in 0..LONG {
            self.assign(WORD, Expr::Const(number));
        }
        self.op(ControlEffect::Exit, ExecCondition::ALWAYS, None);
    }
}
