//! Cells: registers as dense numbers, so that analyses can index tables by them. For example, NVIDIA's R5 is cell 5,
//! and P0 is the first cell after the 256 vector registers.

use std::fmt;

use warpbound_isa::{Reg, RegisterKind};

/// Storage cell of a register, as a dense number below [`Cell::COUNT`].
///
/// Each kind of register file has a range of numbers that does not depend on the instruction set, so that sets and
/// tables of cells need no description of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell(u16);

/// First cells of all kinds of register files, in the order of [`RegisterKind::ALL`].
const FIRST_CELLS: [u16; RegisterKind::ALL.len()] = {
    let mut first = [0; RegisterKind::ALL.len()];
    let mut at = 0;
    while at < first.len() {
        first[at] = base(RegisterKind::ALL[at]);
        at += 1;
    }
    first
};

/// First cell of a kind of register file.
const fn base(kind: RegisterKind) -> u16 {
    let mut first = 0;
    let mut at = 0;
    while at < RegisterKind::ALL.len() {
        if RegisterKind::ALL[at] as u8 == kind as u8 {
            return first;
        }
        first += RegisterKind::ALL[at].capacity();
        at += 1;
    }
    first
}

impl Cell {
    /// Number of cells.
    pub const COUNT: usize = {
        let last = RegisterKind::Scalar;
        (base(last) + last.capacity()) as usize
    };
    /// AMD's mask of active lanes, as two words of the warp.
    pub const EXEC_WORDS: [Cell; 2] = [Cell::scalar(126), Cell::scalar(127)];
    /// Condition code.
    pub const CC: Cell = Cell(base(RegisterKind::Flag));

    /// Cell of a register.
    pub const fn of(register: Reg) -> Cell {
        // A register file has at most as many registers as its kind allows, because `RegisterFiles::parse` checks it.
        // The remainder therefore changes nothing.
        Cell(base(register.kind) + register.number as u16 % register.kind.capacity())
    }

    /// Vector register `Rn`.
    pub const fn gpr(n: u8) -> Cell {
        Cell(n as u16)
    }

    /// Word of the warp `n` ([`Reg::scalar`]).
    pub const fn scalar(n: u8) -> Cell {
        Cell::of(Reg::scalar(n))
    }

    /// Predicate `Pn`.
    pub const fn pred(n: u8) -> Cell {
        Cell::of(Reg::predicate(n))
    }

    /// Words of the warp that make up a mask, low word first; `None` for cells that are no masks.
    pub fn mask_words(self) -> Option<[Cell; 2]> {
        let [low, high] = self.register().mask_words()?;
        Some([Cell::of(low), Cell::of(high)])
    }

    /// Register of the cell.
    pub fn register(self) -> Reg {
        // A loop and no adapters, because interpreters ask this in builds without optimization too.
        let mut at = FIRST_CELLS.len() - 1;
        while FIRST_CELLS[at] > self.0 {
            at -= 1;
        }
        Reg {
            kind: RegisterKind::ALL[at],
            // A kind has at most 256 registers.
            number: (self.0 - FIRST_CELLS[at]) as u8,
        }
    }

    /// Number of the register among the registers of a kind; `None` if it is of another kind.
    #[inline]
    pub fn number_in(self, kind: RegisterKind) -> Option<u8> {
        let number = self.0.wrapping_sub(FIRST_CELLS[kind as usize]);
        (number < kind.capacity()).then_some(number as u8)
    }

    /// Whether the cell is a predicate, of lanes or of the uniform datapath, which holds 0 or 1.
    pub fn is_predicate(self) -> bool {
        self.predicate_number().is_some()
            || self.number_in(RegisterKind::UniformPredicate).is_some()
    }

    /// Number of the predicate of lanes; `None` for other cells.
    #[inline]
    pub fn predicate_number(self) -> Option<u8> {
        self.number_in(RegisterKind::Predicate)
    }

    /// Whether each lane has a value of its own. Otherwise all lanes of a warp read the same value.
    #[inline]
    pub fn is_per_lane(self) -> bool {
        // Masks and scalars are the last kinds, so one comparison decides.
        const FIRST_OF_WARP: u16 = base(RegisterKind::Mask);
        self.0 < FIRST_OF_WARP
    }

    /// Whether it is a register of the uniform datapath. Each lane has a copy of it.
    pub fn is_uniform(self) -> bool {
        const KINDS: [RegisterKind; 2] = [RegisterKind::Uniform, RegisterKind::UniformPredicate];
        KINDS.iter().any(|&kind| self.number_in(kind).is_some())
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
    fn from(register: Reg) -> Cell {
        Cell::of(register)
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.register(), f)
    }
}

impl fmt::Debug for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranges have the order of the kinds, and the registers of a warp are last.
    #[test]
    fn each_cell_is_of_one_register() {
        let cells = (0..Cell::COUNT).filter_map(Cell::from_index);
        for cell in cells {
            let register = cell.register();
            assert_eq!(Cell::of(register), cell);
            assert_eq!(cell.is_per_lane(), register.kind.is_per_lane());
            let predicate = register.kind == RegisterKind::Predicate;
            assert_eq!(
                cell.predicate_number(),
                predicate.then_some(register.number)
            );
        }
        assert_eq!(Cell::from_index(Cell::COUNT), None);
        assert_eq!(Cell::CC.to_string(), "CC");
    }
}
