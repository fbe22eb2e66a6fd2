//! Compilation of structured programs to masks, as compilers for GCN do it.
//!
//! At each point EXEC has the lanes that execute it. An if saves EXEC and gives each side its lanes; a loop drops lanes
//! from EXEC until it is empty. Lanes that break, continue or return are recorded in masks of their own, which all
//! restores of EXEC inside leave out.

use super::statement::{IfElse, LaneCondition, LeaveKind, Statement, WhileLoop};
use super::{BranchCondition, MaskFault, MaskInstr, MaskOp, MaskProgram, MaskReg, SCALARS};

/// Number of scalar registers for iteration numbers.
pub const COUNTERS: u8 = 4;

/// Scalar register of the lanes that have ended.
const ENDED: u8 = COUNTERS;

/// Compiles a program.
pub fn compile(program: &[Statement], fault: Option<MaskFault>) -> MaskProgram {
    let mut compiler = Compiler {
        program: MaskProgram::default(),
        next_scalar: ENDED + 1,
        has_returns: leaves(program, LeaveKind::Return),
        fault,
    };
    if compiler.has_returns {
        compiler.clear(ENDED);
    }
    compiler.block(program, Masks::default());
    compiler.emit(MaskInstr::End);
    compiler.program
}

/// Masks of the innermost loop: lanes that have left it, and lanes that wait for its next iteration. `None` where no
/// statement adds lanes.
#[derive(Clone, Copy, Default)]
struct Masks {
    broken: Option<u8>,
    continued: Option<u8>,
}

struct Compiler {
    program: MaskProgram,
    /// Lowest unused scalar register.
    next_scalar: u8,
    has_returns: bool,
    fault: Option<MaskFault>,
}

const EXEC: MaskReg = MaskReg::Exec;

impl Compiler {
    fn emit(&mut self, instr: MaskInstr) -> u32 {
        self.program.instrs.push(instr);
        self.program.statements.push(None);
        self.program.instrs.len() as u32 - 1
    }

    fn here(&self) -> u32 {
        self.program.instrs.len() as u32
    }

    fn scalar(&mut self) -> u8 {
        assert!(usize::from(self.next_scalar) < SCALARS, "registers suffice");
        self.next_scalar += 1;
        self.next_scalar - 1
    }

    fn mask(&mut self, dest: MaskReg, op: MaskOp, a: MaskReg, b: MaskReg) {
        self.emit(MaskInstr::Mask { dest, op, a, b });
    }

    fn clear(&mut self, dest: u8) {
        self.mask(MaskReg::Scalar(dest), MaskOp::AndNot, EXEC, EXEC);
    }

    fn remove_from_exec(&mut self, lanes: u8) {
        self.mask(EXEC, MaskOp::AndNot, EXEC, MaskReg::Scalar(lanes));
    }

    fn compare(&mut self, dest: u8, condition: LaneCondition) {
        let LaneCondition { comparison, a, b } = condition;
        self.emit(MaskInstr::Compare {
            dest,
            comparison,
            a,
            b,
        });
    }

    /// Emits a branch whose target is not known yet.
    fn branch(&mut self, condition: BranchCondition) -> u32 {
        self.emit(MaskInstr::Branch {
            condition,
            target: u32::MAX,
        })
    }

    /// Sets the target of a branch to the next instruction.
    fn land(&mut self, branch: u32) {
        let here = self.here();
        if let Some(MaskInstr::Branch { target, .. }) = self.program.instrs.get_mut(branch as usize)
        {
            *target = here;
        }
    }

    /// Emits a branch back to `header` as the last instruction of a loop.
    fn loop_back(&mut self, condition: BranchCondition, header: u32) {
        let target = header;
        let last = self.emit(MaskInstr::Branch { condition, target });
        self.program.loops.push((header, last));
    }

    /// Sets EXEC to the lanes of a saved mask that have not gone elsewhere since.
    fn restore(&mut self, saved: u8, inside: Masks) {
        let from = MaskReg::Scalar(saved);
        self.mask(EXEC, MaskOp::And, from, from);
        let keeps_broken = self.fault == Some(MaskFault::BrokenLanesReturn);
        if let Some(broken) = inside.broken.filter(|_| !keeps_broken) {
            self.remove_from_exec(broken);
        }
        if let Some(continued) = inside.continued {
            self.remove_from_exec(continued);
        }
        if self.has_returns && self.fault != Some(MaskFault::EndedLanesReturn) {
            self.remove_from_exec(ENDED);
        }
    }

    fn block(&mut self, statements: &[Statement], inside: Masks) {
        for statement in statements {
            self.statement(statement, inside);
        }
    }

    fn statement(&mut self, statement: &Statement, inside: Masks) {
        let first_free = self.next_scalar;
        match statement {
            Statement::Assign { id, dest, op, a, b } => {
                let (dest, op, a, b) = (*dest, *op, *a, *b);
                let at = self.emit(MaskInstr::Lane { dest, op, a, b });
                self.program.statements[at as usize] = Some(*id);
            }
            Statement::If(sides) => self.if_else(sides, inside),
            Statement::While(whole) => self.while_loop(whole, inside),
            Statement::Repeat {
                counter,
                times,
                body,
            } => {
                let (dest, value) = (*counter, 0);
                self.emit(MaskInstr::SetScalar { dest, value });
                let header = self.here();
                self.block(body, inside);
                self.emit(MaskInstr::AddScalar { dest, value: 1 });
                let (a, value) = (*counter, *times);
                self.emit(MaskInstr::TestScalar { a, value });
                self.loop_back(BranchCondition::Scc, header);
            }
            Statement::FirstIterations {
                counter,
                below,
                body,
            } => {
                let (a, value) = (*counter, *below);
                self.emit(MaskInstr::TestScalar { a, value });
                let skip = self.branch(BranchCondition::NotScc);
                self.block(body, inside);
                self.land(skip);
            }
            Statement::Leave(kind, condition) => {
                let lanes = self.scalar();
                self.compare(lanes, *condition);
                self.leave(*kind, lanes, inside);
            }
            Statement::LeaveUnless(kind, condition) => {
                let lanes = self.scalar();
                self.compare(lanes, *condition);
                let mask = MaskReg::Scalar(lanes);
                self.mask(mask, MaskOp::AndNot, EXEC, mask);
                self.leave(*kind, lanes, inside);
            }
        }
        self.next_scalar = first_free;
    }

    fn leave(&mut self, kind: LeaveKind, lanes: u8, inside: Masks) {
        let gone = match kind {
            LeaveKind::Break => inside.broken,
            LeaveKind::Continue => inside.continued,
            LeaveKind::Return => Some(ENDED),
        };
        if let Some(gone) = gone.map(MaskReg::Scalar) {
            self.mask(gone, MaskOp::Or, gone, MaskReg::Scalar(lanes));
        }
        self.remove_from_exec(lanes);
    }

    /// Emits the mask of the first side of an if.
    fn if_mask(&mut self, sides: &IfElse) -> u8 {
        let mask = self.scalar();
        self.compare(mask, sides.condition);
        if let Some(condition) = sides.or {
            let other = self.scalar();
            self.compare(other, condition);
            let [mask, other] = [mask, other].map(MaskReg::Scalar);
            self.mask(mask, MaskOp::Or, mask, other);
        }
        mask
    }

    /// Emits the condition of an if and its first side, for which EXEC is saved in `saved`; returns the mask of that
    /// side, and the branch over it.
    fn then_side(&mut self, sides: &IfElse, saved: u8, inside: Masks) -> (u8, Option<u32>) {
        let mask = self.if_mask(sides);
        self.emit(MaskInstr::SaveAnd { saved, mask });
        let skip = sides.skips.then(|| self.branch(BranchCondition::ExecZero));
        self.block(&sides.then, inside);
        (mask, skip)
    }

    fn if_else(&mut self, sides: &IfElse, inside: Masks) {
        let saved = self.scalar();
        let (mask, skip) = self.then_side(sides, saved, inside);
        if let Some(skip) = skip {
            self.land(skip);
        }
        if !sides.otherwise.is_empty() {
            // Lanes that went elsewhere in the first side are lanes of its mask.
            let op = match self.fault {
                Some(MaskFault::ElseNotComplemented) => MaskOp::And,
                _ => MaskOp::AndNot,
            };
            self.mask(EXEC, op, MaskReg::Scalar(saved), MaskReg::Scalar(mask));
            let skip = sides.skips.then(|| self.branch(BranchCondition::ExecZero));
            self.block(&sides.otherwise, inside);
            if let Some(skip) = skip {
                self.land(skip);
            }
        }
        self.restore(saved, inside);
    }

    fn while_loop(&mut self, whole: &WhileLoop, outer: Masks) {
        let saved = self.scalar();
        self.mask(MaskReg::Scalar(saved), MaskOp::And, EXEC, EXEC);
        let parts = [
            &whole.body[..],
            whole.after.as_ref().map_or(&[], |after| &after.then),
        ];
        let has = |kind| parts.iter().any(|part| leaves(part, kind));
        let mut flag = |kind| has(kind).then(|| self.scalar());
        let masks = Masks {
            broken: flag(LeaveKind::Break),
            continued: flag(LeaveKind::Continue),
        };
        for gone in [masks.broken, masks.continued].into_iter().flatten() {
            self.clear(gone);
        }
        let is_merged = whole.before.is_some() || whole.after.is_some();
        let arriving = is_merged.then(|| self.scalar());
        self.enter_loop(whole, arriving, outer);
        let header = self.here();
        if let Some(arriving) = arriving {
            self.restore(arriving, outer);
            if let Some(broken) = masks.broken {
                self.remove_from_exec(broken);
            }
            if let Some(continued) = masks.continued {
                self.clear(continued);
            }
        }
        let condition = self.scalar();
        let exit = (!whole.tests_last).then(|| {
            self.keep_iterating(condition, whole);
            self.branch(BranchCondition::ExecZero)
        });
        self.block(&whole.body, masks);
        match (&whole.after, arriving) {
            (Some(after), Some(arriving)) => self.end_with_if(after, arriving, masks, header),
            _ => self.end_iteration(whole, arriving, masks, condition, header),
        }
        if let Some(exit) = exit {
            self.land(exit);
        }
        self.restore(saved, outer);
    }

    /// Emits the if before a loop, whose lanes reconverge at the header: `arriving` has all lanes that arrive there.
    fn enter_loop(&mut self, whole: &WhileLoop, arriving: Option<u8>, outer: Masks) {
        match (&whole.before, arriving) {
            (Some(before), Some(arriving)) => {
                let (_, skip) = self.then_side(before, arriving, outer);
                if let Some(skip) = skip {
                    self.land(skip);
                }
            }
            (None, Some(arriving)) => {
                self.mask(MaskReg::Scalar(arriving), MaskOp::And, EXEC, EXEC);
            }
            (_, None) => {}
        }
    }

    /// Emits the end of a loop's body with an if whose lanes reconverge at the header.
    fn end_with_if(&mut self, after: &IfElse, arriving: u8, masks: Masks, header: u32) {
        let mask = self.if_mask(after);
        let (arriving, mask) = (MaskReg::Scalar(arriving), MaskReg::Scalar(mask));
        let waiting = masks.continued.map_or(EXEC, MaskReg::Scalar);
        self.mask(arriving, MaskOp::Or, EXEC, waiting);
        self.mask(EXEC, MaskOp::And, EXEC, mask);
        if after.skips {
            let condition = BranchCondition::ExecZero;
            let target = header;
            self.emit(MaskInstr::Branch { condition, target });
        }
        self.block(&after.then, masks);
        self.loop_back(BranchCondition::Always, header);
    }

    /// Emits the end of an iteration: lanes that continued become active again.
    fn end_iteration(
        &mut self,
        whole: &WhileLoop,
        arriving: Option<u8>,
        masks: Masks,
        condition: u8,
        header: u32,
    ) {
        if let Some(continued) = masks.continued {
            self.mask(EXEC, MaskOp::Or, EXEC, MaskReg::Scalar(continued));
            self.clear(continued);
        }
        if whole.tests_last {
            self.keep_iterating(condition, whole);
        }
        if let Some(arriving) = arriving {
            self.mask(MaskReg::Scalar(arriving), MaskOp::And, EXEC, EXEC);
        }
        let back = match whole.tests_last {
            true => BranchCondition::ExecNotZero,
            false => BranchCondition::Always,
        };
        self.loop_back(back, header);
    }

    /// Drops the lanes that leave a loop from EXEC: its condition does not hold in them.
    fn keep_iterating(&mut self, mask: u8, whole: &WhileLoop) {
        self.compare(mask, whole.condition);
        match whole.marks_leaving {
            true => {
                let leaving = MaskReg::Scalar(mask);
                self.mask(leaving, MaskOp::AndNot, EXEC, leaving);
                self.remove_from_exec(mask);
            }
            false => self.mask(EXEC, MaskOp::And, EXEC, MaskReg::Scalar(mask)),
        }
    }
}

/// Whether statements leave for the end of the program, or break or continue the loop around them.
fn leaves(statements: &[Statement], kind: LeaveKind) -> bool {
    let sides = |sides: &IfElse| leaves(&sides.then, kind) || leaves(&sides.otherwise, kind);
    statements.iter().any(|statement| match statement {
        Statement::Assign { .. } => false,
        Statement::If(both) => sides(both),
        Statement::While(whole) => {
            let inner = leaves(&whole.body, kind) || whole.after.as_ref().is_some_and(sides);
            whole.before.as_ref().is_some_and(sides) || kind == LeaveKind::Return && inner
        }
        Statement::Repeat { body, .. } | Statement::FirstIterations { body, .. } => {
            leaves(body, kind)
        }
        Statement::Leave(own, _) | Statement::LeaveUnless(own, _) => *own == kind,
    })
}
