//! Evaluation of expressions, once for all interpreters. They differ only in the domain of values: for example, a
//! simulator has numbers, and the analysis of thread indices has sums of multiples of them.

use smallvec::SmallVec;
use warpbound_isa::SpecialReg;

use crate::float::FloatOp;
use crate::{BinaryOp, Cell, Expr, TernaryOp, UnaryOp, WordHalf};

/// Domain of the evaluation of expressions: its values, and the effect of each operation on them.
///
/// `None` is an unknown value, which makes every expression that contains it unknown. If operations of a domain may
/// have a known result for unknown operands, the domain needs a value of its own for unknown;
/// [`ValueDomain::unknown`] returns it.
pub trait ValueDomain {
    /// Value of an expression.
    type Value;

    /// Whether the domain evaluates an expression of this kind. If not, its value is unknown and its operands are not
    /// visited.
    #[inline(always)]
    fn models(&self, _expr: &Expr) -> bool {
        true
    }

    /// Value of an expression that the domain does not model.
    #[inline(always)]
    fn unknown(&mut self) -> Option<Self::Value> {
        None
    }

    /// Value of a constant.
    fn constant(&mut self, value: u32) -> Option<Self::Value>;

    /// Value of a cell.
    fn cell(&mut self, cell: Cell) -> Option<Self::Value>;

    /// Number of the thread in its block.
    fn thread_id(&mut self) -> Option<Self::Value> {
        self.unknown()
    }

    /// Word of a constant bank, at an address in bytes.
    fn constant_word(&mut self, _bank: u8, _address: Self::Value) -> Option<Self::Value> {
        self.unknown()
    }

    /// Value of a special register.
    fn special(&mut self, _register: SpecialReg) -> Option<Self::Value> {
        self.unknown()
    }

    /// Result of a unary operation.
    fn unary(&mut self, _op: UnaryOp, _a: Self::Value) -> Option<Self::Value> {
        self.unknown()
    }

    /// Result of a binary operation.
    fn binary(&mut self, _op: BinaryOp, _a: Self::Value, _b: Self::Value) -> Option<Self::Value> {
        self.unknown()
    }

    /// Result of a ternary operation.
    fn ternary(&mut self, _op: TernaryOp, _operands: [Self::Value; 3]) -> Option<Self::Value> {
        self.unknown()
    }

    /// One word of the result of a floating-point operation.
    fn float(
        &mut self,
        _op: FloatOp,
        _words: &[Self::Value],
        _half: WordHalf,
    ) -> Option<Self::Value> {
        self.unknown()
    }

    /// Word of the mask of active lanes whose value is not 0.
    fn ballot(&mut self, _value: Self::Value, _half: WordHalf) -> Option<Self::Value> {
        self.unknown()
    }

    /// Bit of a mask in the own lane, 0 or 1. With `None`, it is evaluated as its expression ([`Expr::own_bit`]).
    fn own_bit(&mut self, _words: [Cell; 2]) -> Option<Self::Value> {
        None
    }

    /// Value of a cell in another lane.
    fn value_in_lane(&mut self, _cell: Cell, _lane: Self::Value) -> Option<Self::Value> {
        self.unknown()
    }
}

/// Evaluates an expression. Operands are evaluated from left to right, up to the first unknown one.
pub fn eval<D: ValueDomain>(expr: &Expr, domain: &mut D) -> Option<D::Value> {
    if !domain.models(expr) {
        return domain.unknown();
    }
    match expr {
        Expr::Const(value) => domain.constant(*value),
        Expr::Cell(cell) => domain.cell(*cell),
        Expr::ThreadId => domain.thread_id(),
        Expr::Constant(bank, address) => {
            let address = eval(address, domain)?;
            domain.constant_word(*bank, address)
        }
        Expr::Special(register) => domain.special(*register),
        Expr::Unary(op, a) => {
            let a = eval(a, domain)?;
            domain.unary(*op, a)
        }
        Expr::Binary(op, a, b) => {
            // The bit is a shift by the lane number, which most domains do not know; a domain with masks answers
            // directly.
            if let Some(words) = expr.as_own_bit()
                && let Some(bit) = domain.own_bit(words)
            {
                return Some(bit);
            }
            let (a, b) = (eval(a, domain)?, eval(b, domain)?);
            domain.binary(*op, a, b)
        }
        Expr::Ternary(op, a, b, c) => {
            let operands = [eval(a, domain)?, eval(b, domain)?, eval(c, domain)?];
            domain.ternary(*op, operands)
        }
        Expr::Float(op, words, half) => {
            let words = words.iter().map(|word| eval(word, domain));
            // Collecting stops at the first unknown word, like the other operands.
            let words: Option<SmallVec<[D::Value; FloatOp::MAX_WORDS]>> = words.collect();
            domain.float(*op, &words?, *half)
        }
        Expr::Ballot(value, half) => {
            let value = eval(value, domain)?;
            domain.ballot(value, *half)
        }
        Expr::FromLane(cell, lane) => {
            let lane = eval(lane, domain)?;
            domain.value_in_lane(*cell, lane)
        }
    }
}

impl Expr {
    /// Visits the cells of the expression that [`eval`] reads in a domain with this [`ValueDomain::models`]: cells
    /// below a part that `models` rejects are left out.
    pub fn for_each_cell(&self, models: &impl Fn(&Expr) -> bool, visit: &mut impl FnMut(Cell)) {
        if !models(self) {
            return;
        }
        let mut descend = |part: &Expr| part.for_each_cell(models, visit);
        match self {
            Expr::Cell(cell) => visit(*cell),
            Expr::Const(_) | Expr::ThreadId | Expr::Special(_) => {}
            Expr::Constant(_, a) | Expr::Unary(_, a) | Expr::Ballot(a, _) => descend(a),
            Expr::FromLane(cell, lane) => {
                // [`eval`] evaluates the lane before it reads the cell.
                descend(lane);
                visit(*cell);
            }
            Expr::Binary(_, a, b) => [a, b].into_iter().for_each(|part| descend(part)),
            Expr::Ternary(_, a, b, c) => [a, b, c].into_iter().for_each(|part| descend(part)),
            Expr::Float(_, words, _) => words.iter().for_each(descend),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known words; R0 is unknown, R1 is 6. Records the cells that are read.
    struct Words {
        read: Vec<Cell>,
    }

    impl ValueDomain for Words {
        type Value = u32;

        fn models(&self, expr: &Expr) -> bool {
            models(expr)
        }

        fn constant(&mut self, value: u32) -> Option<u32> {
            Some(value)
        }

        fn cell(&mut self, cell: Cell) -> Option<u32> {
            self.read.push(cell);
            (cell == Cell::gpr(1)).then_some(6)
        }

        fn binary(&mut self, op: BinaryOp, a: u32, b: u32) -> Option<u32> {
            op.apply(a, b)
        }
    }

    fn models(expr: &Expr) -> bool {
        !matches!(expr, Expr::Unary(..))
    }

    fn sum(a: Expr, b: Expr) -> Expr {
        Expr::binary(BinaryOp::Add, a, b)
    }

    #[test]
    fn operands_after_an_unknown_one_are_not_evaluated() {
        let [unknown, known] = [0, 1].map(|number| Expr::Cell(Cell::gpr(number)));
        let mut domain = Words { read: Vec::new() };
        let value = eval(
            &sum(known.clone(), sum(known.clone(), Expr::Const(2))),
            &mut domain,
        );
        assert_eq!(value, Some(14));
        domain.read.clear();
        assert_eq!(eval(&sum(unknown, known), &mut domain), None);
        assert_eq!(domain.read, [Cell::gpr(0)]);
    }

    #[test]
    fn operands_of_what_a_domain_does_not_model_are_neither_evaluated_nor_visited() {
        let [a, b] = [1, 2].map(|number| Expr::Cell(Cell::gpr(number)));
        let expr = sum(a, Expr::unary(UnaryOp::Neg, b));
        let mut domain = Words { read: Vec::new() };
        assert_eq!(eval(&expr, &mut domain), None);
        assert_eq!(domain.read, [Cell::gpr(1)]);
        let mut visited = Vec::new();
        expr.for_each_cell(&models, &mut |cell| visited.push(cell));
        assert_eq!(visited, domain.read);
        let mut all = Vec::new();
        expr.for_each_cell(&|_| true, &mut |cell| all.push(cell));
        assert_eq!(all, [Cell::gpr(1), Cell::gpr(2)]);
    }
}
