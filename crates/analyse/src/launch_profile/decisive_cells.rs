//! Cells that may decide which instructions a warp issues: the only ones whose values a profile follows.
//!
//! A slice over all operations together, whatever their order: the conditions and targets of control transfers, and
//! what the values of these cells are computed from. No operation that is evaluated reads a cell that is left out; if
//! one did, the cell would count as unknown.

use warpbound_ir::{Cell, Code, ControlEffect, Expr, Meaning, Op, ValueDependence};
use warpbound_isa::instr::MemorySpace;
use warpbound_simt::warp::CellSet;

use crate::access::constant_address;
use crate::indirect::IndirectJump;

/// Followed cells, each with its position in the rows of a warp.
#[derive(Clone, Debug)]
pub(crate) struct DecisiveCells {
    positions: Vec<Option<u16>>,
    count: usize,
}

impl DecisiveCells {
    /// Finds the cells. With `memory`, loads from global memory may be known, and the address of every access to it is
    /// followed; with `accesses`, guard and address of every access.
    pub(crate) fn find(code: &Code, memory: bool, accesses: bool) -> DecisiveCells {
        let mut cells = CellSet::default();
        for op in &code.ops {
            if op.control != ControlEffect::Next {
                op.condition
                    .cells()
                    .for_each(|cell| cells.insert(cell.index()));
            }
            if let Some(base) = IndirectJump::of(&op.control).and_then(|jump| jump.base) {
                cells.insert(base.index());
            }
            if let Some(Meaning::Ask(Some(mask))) = &op.meaning {
                mask.for_each_cell(&|_| true, &mut |cell| cells.insert(cell.index()));
            }
            if accesses && is_access(op) {
                insert_address_cells(op, &mut cells);
                op.condition
                    .cells()
                    .for_each(|cell| cells.insert(cell.index()));
            }
            if memory && is_of_global_memory(op) {
                insert_address_cells(op, &mut cells);
            }
            // Whether a write happens decides which contents later loads may still read as constants.
            if memory && may_write_memory(op) {
                op.condition
                    .cells()
                    .for_each(|cell| cells.insert(cell.index()));
            }
        }
        // Each round adds a cell or is the last.
        loop {
            let before = cells;
            for op in &code.ops {
                // Operations that write no followed cell need no operands.
                let is_followed = op.writes.iter().any(|cell| cells.contains(cell.index()));
                if is_followed {
                    op.condition
                        .cells()
                        .for_each(|cell| cells.insert(cell.index()));
                    insert_operands(op, &mut cells);
                }
            }
            if cells == before {
                break;
            }
        }
        let mut positions = vec![None; Cell::COUNT];
        let mut count = 0u16;
        for (index, position) in positions.iter_mut().enumerate() {
            if cells.contains(index) {
                *position = Some(count);
                count += 1;
            }
        }
        DecisiveCells {
            positions,
            count: usize::from(count),
        }
    }

    /// Number of cells.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Position of a cell among the followed ones.
    pub(crate) fn position(&self, cell: Cell) -> Option<usize> {
        let position = self.positions.get(cell.index()).copied().flatten();
        position.map(usize::from)
    }

    /// Whether an operation writes a followed cell.
    pub(crate) fn are_written_by(&self, op: &Op) -> bool {
        op.writes.iter().any(|&cell| self.position(cell).is_some())
    }
}

/// Adds the cells from which the operation computes what it writes; none if the result is unknown in any case.
fn insert_operands(op: &Op, cells: &mut CellSet) {
    match &op.meaning {
        Some(Meaning::Set(writes)) => {
            for (dest, value) in writes {
                if cells.contains(dest.index()) {
                    value.for_each_cell(&|_| true, &mut |cell| cells.insert(cell.index()));
                }
            }
        }
        Some(Meaning::Shuffle {
            value, lane, limit, ..
        }) => {
            for expr in [value, lane, limit] {
                expr.for_each_cell(&|_| true, &mut |cell| cells.insert(cell.index()));
            }
        }
        Some(Meaning::Vote { predicate, .. }) => {
            predicate.for_each_cell(&|_| true, &mut |cell| cells.insert(cell.index()));
        }
        Some(Meaning::Reduce { value, .. }) => {
            value.for_each_cell(&|_| true, &mut |cell| cells.insert(cell.index()));
        }
        _ => {}
    }
}

/// Whether an operation accesses global memory at an address.
pub(super) fn is_of_global_memory(op: &Op) -> bool {
    let accesses = op.meaning.iter().flat_map(Meaning::accesses);
    accesses.into_iter().any(|access| is_global(access.space))
}

/// Whether addresses of a space may lie in global memory.
fn is_global(space: MemorySpace) -> bool {
    matches!(space, MemorySpace::Global | MemorySpace::Generic)
}

/// Whether an operation accesses memory at an address.
fn is_access(op: &Op) -> bool {
    let by_address = matches!(
        op.meaning,
        Some(Meaning::Load { .. } | Meaning::Store { .. } | Meaning::Atomic { .. })
    );
    by_address || constant_address(op).is_some()
}

/// Adds the cells of the address of an access.
fn insert_address_cells(op: &Op, cells: &mut CellSet) {
    let mut insert = |part: &Expr| {
        part.for_each_cell(&|_| true, &mut |cell| cells.insert(cell.index()));
    };
    match &op.meaning {
        Some(
            Meaning::Load { address, .. }
            | Meaning::Store { address, .. }
            | Meaning::Atomic { address, .. },
        ) => std::iter::once(&address.low)
            .chain(&address.high)
            .for_each(insert),
        _ => constant_address(op).into_iter().for_each(&mut insert),
    }
}

/// Whether an operation may write global memory.
pub(crate) fn may_write_memory(op: &Op) -> bool {
    match &op.meaning {
        Some(Meaning::Surface(_)) => true,
        Some(meaning) => {
            let accesses = meaning.accesses();
            let mut stores = accesses.iter().filter(|access| access.stores);
            stores.any(|access| is_global(access.space))
        }
        // Special registers are read; nothing is known of any other operation without a meaning.
        None => {
            op.control == ControlEffect::Next && !matches!(op.value, ValueDependence::Special(_))
        }
    }
}
