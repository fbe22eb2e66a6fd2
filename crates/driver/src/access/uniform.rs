//! Accesses whose address is equal in all lanes that execute them, by agreement in the warp-level graph.

use std::collections::BTreeMap;

use warpbound_analyse::LaunchContext;
use warpbound_analyse::access::{AccessShape, constant_address};
use warpbound_analyse::addresses::LaneAddresses;
use warpbound_analyse::agreement::{
    GuardedWrites, UsedAssumptions, apply_data_effect,
};
use warpbound_ir::{Cell, Code, Expr, Meaning, Op, OpIndex};

use warpbound_simt::groups::ACTIVE;

use crate::KernelFlow;

/// Returns the accesses with one address in all lanes.
pub(super) fn find(
    code: &Code,
    flow: &KernelFlow,
    launch: &LaunchContext,
) -> BTreeMap<OpIndex, LaneAddresses> {
    let mut agree: BTreeMap<OpIndex, bool> = BTreeMap::new();
    let space = &flow.thread.space;
    for node in space.ids() {
        let Some(mut state) = flow.warp.state(node).cloned() else {
            continue;
        };
        let (mut halves, mut used) = (GuardedWrites::default(), UsedAssumptions::default());
        for at in space.block(node).ops() {
            let Some(op) = code.get(at) else {
                continue;
            };
            if AccessShape::of(op).is_some() {
                let agreed = state.agreement(ACTIVE);
                let is_agreed = |cell: &Cell| agreed.contains(cell.index());
                let same = cells(op).is_some_and(|cells| cells.iter().all(is_agreed));
                *agree.entry(at).or_insert(true) &= same;
            }
            apply_data_effect(&mut state, op, launch, &mut halves, &mut used);
        }
    }
    let uniform = LaneAddresses::Affine {
        coefficients: [0; 3],
        modulus: 1,
        residue: 0,
        range: None,
    };
    let agreeing = agree.into_iter().filter(|(_, same)| *same);
    agreeing.map(|(at, _)| (at, uniform.clone())).collect()
}

/// Returns the cells that the address of an access is a function of; `None` if it depends on more.
fn cells(op: &Op) -> Option<Vec<Cell>> {
    let parts: Vec<&Expr> = match op.meaning.as_ref()? {
        Meaning::Load { address, .. }
        | Meaning::Store { address, .. }
        | Meaning::Atomic { address, .. } => [Some(&address.low), address.high.as_ref()]
            .into_iter()
            .flatten()
            .collect(),
        _ => vec![constant_address(op)?],
    };
    let (mut found, mut is_function) = (Vec::new(), true);
    for part in parts {
        let models = |expr: &Expr| !matches!(expr, Expr::ThreadId | Expr::Special(_));
        part.for_each_cell(&models, &mut |cell| found.push(cell));
        is_function &= is_function_of_cells(part);
    }
    is_function.then_some(found)
}

/// Whether a value depends on cells and constants only.
fn is_function_of_cells(expr: &Expr) -> bool {
    match expr {
        Expr::Const(_) | Expr::Cell(_) => true,
        Expr::ThreadId | Expr::Special(_) | Expr::Float(..) => false,
        Expr::Constant(_, a) | Expr::Unary(_, a) => is_function_of_cells(a),
        Expr::Binary(_, a, b) => is_function_of_cells(a) && is_function_of_cells(b),
        Expr::Ternary(_, a, b, c) => [a, b, c].into_iter().all(|part| is_function_of_cells(part)),
    }
}
