use crate::Cell;

/// A 32-bit value as a function of the lane's cells and of constant memory.
///
/// Grows with the instructions that have a meaning; every interpreter must treat an operation
/// without one as writing an unknown value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expr {
    /// A constant.
    Const(u32),
    /// A general register.
    Cell(Cell),
    /// `c[bank][address]`, address in bytes.
    Constant(u8, Box<Expr>),
    /// Wrapping sum.
    Add(Box<Expr>, Box<Expr>),
    /// Wrapping negation.
    Neg(Box<Expr>),
    /// Left shift; amounts of 32 and more give 0.
    Shl(Box<Expr>, Box<Expr>),
    /// Logical right shift; amounts of 32 and more give 0.
    Shr(Box<Expr>, Box<Expr>),
    /// Bitwise and.
    And(Box<Expr>, Box<Expr>),
    /// The smaller, as unsigned numbers.
    MinU(Box<Expr>, Box<Expr>),
    /// The larger, as unsigned numbers.
    MaxU(Box<Expr>, Box<Expr>),
    /// The smaller, as signed numbers.
    MinS(Box<Expr>, Box<Expr>),
    /// The larger, as signed numbers.
    MaxS(Box<Expr>, Box<Expr>),
}

/// What an operation writes: one cell gets the value of an expression over the state before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Meaning {
    /// The cell written.
    pub dest: Cell,
    /// Its new value.
    pub value: Expr,
}
