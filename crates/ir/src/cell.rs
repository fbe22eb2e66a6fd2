use std::fmt;

use warpbound_isa::instr::Reg;

/// Storage cell private to a lane, as a dense number below [`Cell::COUNT`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell(u16);

impl Cell {
    /// Number of cells.
    pub const COUNT: usize = 272;
    /// Condition code.
    pub const CC: Cell = Cell(271);

    /// General register `Rn`.
    pub fn gpr(n: u8) -> Cell {
        Cell(u16::from(n))
    }

    /// Predicate `Pn`.
    pub fn pred(n: u8) -> Cell {
        Cell(256 + u16::from(n & 7))
    }

    /// Whether the cell is a predicate, which holds 0 or 1.
    pub fn is_predicate(self) -> bool {
        (256..264).contains(&self.0)
    }

    /// Index of the cell, below [`Cell::COUNT`].
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// Cell with an index; `None` from [`Cell::COUNT`] on.
    pub fn from_index(index: usize) -> Option<Cell> {
        (index < Cell::COUNT).then_some(Cell(index as u16))
    }
}

impl From<Reg> for Cell {
    fn from(reg: Reg) -> Cell {
        match reg {
            Reg::Gpr(n) => Cell::gpr(n),
            Reg::Pred(n) => Cell::pred(n),
            Reg::Cc => Cell::CC,
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n < 256 => write!(f, "R{n}"),
            n if n < 264 => write!(f, "P{}", n - 256),
            _ => f.write_str("CC"),
        }
    }
}

impl fmt::Debug for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
