//! Sets of registers. Each lane of an NVIDIA GPU has its own copy of them.

use warpbound_ir::Cell;
use warpbound_isa::{Reg, RegisterKind};

/// Set of general registers `R0`..`R254`, predicates `P0`..`P6`, and the condition code.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RegisterSet {
    general: [u64; 4],
    predicates: u8,
    condition_code: bool,
}

impl RegisterSet {
    /// Set of all registers.
    pub const ALL: RegisterSet = RegisterSet {
        general: [u64::MAX; 4],
        predicates: u8::MAX,
        condition_code: true,
    };

    /// Whether a cell is in the set. Cells of other kinds, which lanes share, always are.
    pub fn contains(&self, cell: Cell) -> bool {
        let Reg { kind, number } = cell.register();
        match kind {
            RegisterKind::Vector => self.has_general(number),
            RegisterKind::Predicate => self.has_predicate(number),
            RegisterKind::Flag => self.condition_code,
            // A probe must never write a register that other lanes share.
            RegisterKind::Mask
            | RegisterKind::Scalar
            | RegisterKind::Uniform
            | RegisterKind::UniformPredicate => true,
        }
    }

    /// Whether a general register is in the set.
    pub fn has_general(&self, number: u8) -> bool {
        self.general[usize::from(number >> 6)] >> (number & 63) & 1 == 1
    }

    /// Whether a predicate is in the set.
    pub fn has_predicate(&self, number: u8) -> bool {
        self.predicates >> (number & 7) & 1 == 1
    }

    /// Adds a cell; cells of other kinds have no effect.
    pub fn insert(&mut self, cell: Cell) {
        let Reg { kind, number } = cell.register();
        match kind {
            RegisterKind::Vector => {
                self.general[usize::from(number >> 6)] |= 1 << (number & 63);
            }
            RegisterKind::Predicate => self.predicates |= 1 << (number & 7),
            RegisterKind::Flag => self.condition_code = true,
            RegisterKind::Mask
            | RegisterKind::Scalar
            | RegisterKind::Uniform
            | RegisterKind::UniformPredicate => {}
        }
    }

    /// Removes a cell.
    pub fn remove(&mut self, cell: Cell) {
        let Reg { kind, number } = cell.register();
        match kind {
            RegisterKind::Vector => {
                self.general[usize::from(number >> 6)] &= !(1 << (number & 63));
            }
            RegisterKind::Predicate => self.predicates &= !(1 << (number & 7)),
            RegisterKind::Flag => self.condition_code = false,
            RegisterKind::Mask
            | RegisterKind::Scalar
            | RegisterKind::Uniform
            | RegisterKind::UniformPredicate => {}
        }
    }

    /// Adds all members of another set. Returns whether the set grew.
    pub fn join(&mut self, other: &RegisterSet) -> bool {
        let before = *self;
        for (own, others) in self.general.iter_mut().zip(other.general) {
            *own |= others;
        }
        self.predicates |= other.predicates;
        self.condition_code |= other.condition_code;
        *self != before
    }
}

impl FromIterator<Cell> for RegisterSet {
    fn from_iter<I: IntoIterator<Item = Cell>>(cells: I) -> RegisterSet {
        let mut set = RegisterSet::default();
        cells.into_iter().for_each(|cell| set.insert(cell));
        set
    }
}
