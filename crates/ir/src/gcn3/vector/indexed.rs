//! Vector registers that M0 selects (v_movrels, v_movreld, v_movrelsd). For example, with M0 = 3, `v_movrels_b32 v0,
//! v4` copies v7 to v0.

use warpbound_isa::amd::{GcnOpcode, GcnView, scalar};

use crate::gcn3::expressions::{constant, eq, lt_u, select};
use crate::gcn3::operands::{Operands, assign};
use crate::{Cell, Expr, Meaning};

/// Returns the meaning in a wave with `count` vector registers; `None` for other instructions.
///
/// Beyond the last register, v0 is read (CLRX documentation, "GPR indexing mode"), and writes are dropped (GCN3
/// manual, "Out-of-range behavior").
pub(in crate::gcn3) fn meaning(view: &GcnView, count: u16) -> Option<Meaning> {
    let o = &Operands::new(view);
    let is_dest_indexed = match view.opcode {
        GcnOpcode::VMovrelsB32 => false,
        GcnOpcode::VMovreldB32 | GcnOpcode::VMovrelsdB32 => true,
        _ => return None,
    };
    let dest = o.dest_cell(0, 0)?;
    // A destination that M0 selects is also the first source, because other registers keep their value.
    let source = usize::from(is_dest_indexed);
    let value = match view.opcode {
        GcnOpcode::VMovreldB32 => o.word(source, 0)?,
        _ => match o.word(source, 0)? {
            Expr::Cell(first) if first.is_per_lane() => indexed(first, count),
            _ => return None,
        },
    };
    if !is_dest_indexed {
        return Some(Meaning::set(dest, value));
    }
    let writes = registers(dest, count).map(|(cell, distance)| {
        let is_dest = eq(index(), constant(distance));
        (cell, select(is_dest, value.clone(), Expr::Cell(cell)))
    });
    assign(writes)
}

fn index() -> Expr {
    Expr::Cell(Cell::scalar(scalar::M0))
}

/// Registers from `first` on, with their distances from it.
fn registers(first: Cell, count: u16) -> impl Iterator<Item = (Cell, u32)> {
    let first = first.register().number;
    let numbers = (first..=u8::MAX).take_while(move |number| u16::from(*number) < count);
    numbers.map(Cell::gpr).zip(0..)
}

/// Value of the register that is M0 registers after `first`; v0 beyond the last.
fn indexed(first: Cell, count: u16) -> Expr {
    let cells: Vec<(Cell, u32)> = registers(first, count).collect();
    let beyond = Expr::Cell(Cell::gpr(0));
    match cells.last() {
        None => beyond,
        Some((_, last)) => {
            let is_inside = lt_u(index(), constant(last + 1));
            select(is_inside, chosen(&cells), beyond)
        }
    }
}

/// Value of one of several registers, by binary search.
fn chosen(cells: &[(Cell, u32)]) -> Expr {
    let (below, above) = cells.split_at(cells.len() / 2);
    match (below, above) {
        (_, [(cell, _)]) if below.is_empty() => Expr::Cell(*cell),
        (_, [(_, first), ..]) => {
            let is_below = lt_u(index(), constant(*first));
            select(is_below, chosen(below), chosen(above))
        }
        // Not reached, because there is at least one register.
        (_, []) => constant(0),
    }
}
