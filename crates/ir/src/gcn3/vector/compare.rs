//! Comparisons of integers (VOPC). For example, `v_cmp_lt_u32 vcc, v0, v1` sets the bit of each active lane with v0 <
//! v1, and clears the bits of inactive lanes.

use warpbound_isa::amd::GcnView;

use crate::gcn3::expressions::*;
use crate::gcn3::operands::{Operands, assign};
use crate::{Cell, Expr, Meaning, WordHalf};

/// Returns the meaning; `None` if it is unknown or not a comparison of integers.
pub(super) fn meaning(view: &GcnView, o: &Operands<'_>) -> Option<Meaning> {
    let (name, writes_exec) = match view.opcode.name() {
        name if name.starts_with("v_cmpx_") => (name.strip_prefix("v_cmpx_")?, true),
        name => (name.strip_prefix("v_cmp_")?, false),
    };
    let (relation, format) = name.split_once('_')?;
    let is_signed = format.starts_with('i');
    if !(is_signed || format.starts_with('u')) || !o.is_plain() {
        return None;
    }
    let holds = match format.get(1..)? {
        "16" => {
            let [a, b] = [o.half(0, is_signed)?, o.half(1, is_signed)?];
            word_relation(relation, a, b, is_signed)
        }
        "32" => word_relation(relation, o.word(0, 0)?, o.word(1, 0)?, is_signed),
        "64" => pair_relation(relation, o.pair(0)?, o.pair(1)?, is_signed),
        _ => None,
    }?;
    masks(o, holds, writes_exec)
}

/// Masks of the active lanes whose condition holds, in the destination and, for `v_cmpx`, in EXEC.
fn masks(o: &Operands<'_>, holds: Expr, writes_exec: bool) -> Option<Meaning> {
    let halves = [WordHalf::Low, WordHalf::High];
    let words = halves.map(|half| Expr::Ballot(holds.clone().into(), half));
    let exec = Cell::EXEC_WORDS.into_iter().zip(words.clone());
    let dests = [o.dest_cell(0, 0)?, o.dest_cell(0, 1)?];
    let dests = dests.into_iter().zip(words);
    assign(dests.chain(exec.filter(|_| writes_exec)))
}

fn word_relation(relation: &str, a: Expr, b: Expr, is_signed: bool) -> Option<Expr> {
    let (less, less_or_equal) = match is_signed {
        true => (
            lt_s as fn(Expr, Expr) -> Expr,
            le_s as fn(Expr, Expr) -> Expr,
        ),
        false => (
            lt_u as fn(Expr, Expr) -> Expr,
            le_u as fn(Expr, Expr) -> Expr,
        ),
    };
    Some(match relation {
        "f" => constant(0),
        "t" => constant(1),
        "lt" => less(a, b),
        "le" => less_or_equal(a, b),
        "gt" => less(b, a),
        "ge" => less_or_equal(b, a),
        "eq" => eq(a, b),
        "ne" => ne(a, b),
        _ => return None,
    })
}

fn pair_relation(relation: &str, a: WordPair, b: WordPair, is_signed: bool) -> Option<Expr> {
    // a <= b is the opposite of b < a.
    let fails = |holds| eq(holds, constant(0));
    Some(match relation {
        "f" => constant(0),
        "t" => constant(1),
        "lt" => lt64(a, b, is_signed),
        "le" => fails(lt64(b, a, is_signed)),
        "gt" => lt64(b, a, is_signed),
        "ge" => fails(lt64(a, b, is_signed)),
        "eq" => eq64(a, b),
        "ne" => fails(eq64(a, b)),
        _ => return None,
    })
}
