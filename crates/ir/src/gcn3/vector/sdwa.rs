//! Parts of registers that vector instructions select (SDWA). For example, `dst_sel:WORD_1
//! dst_unused:UNUSED_PRESERVE` writes the high half and keeps the low one.

use warpbound_isa::amd::Sdwa;

use crate::gcn3::expressions::{and, constant, low_bits, or, shl, shr, unary};
use crate::{Cell, Expr, UnaryOp};

/// Selection of the whole word.
const DWORD: u8 = 6;

/// Whether a selection is the whole word.
pub(super) fn is_whole(selection: u8) -> bool {
    selection == DWORD
}

/// First bit and number of bits of a selected byte or half.
fn part(selection: u8) -> Option<(u32, u32)> {
    match u32::from(selection) {
        byte @ 0..=3 => Some((8 * byte, 8)),
        half @ 4..=5 => Some((16 * (half - 4), 16)),
        _ => None,
    }
}

/// Lowest 8 or 16 bits of a word, sign-extended.
fn sign_extended(value: Expr, bits: u32) -> Expr {
    match bits {
        8 => unary(UnaryOp::SignExtend8, value),
        _ => unary(UnaryOp::SignExtend16, value),
    }
}

/// Selected part of a source, extended to a word.
pub(in crate::gcn3) fn selected(word: Expr, selection: u8, signed: bool) -> Option<Expr> {
    if selection == DWORD {
        return Some(word);
    }
    let (first, bits) = part(selection)?;
    let moved = shr(word, constant(first));
    Some(match signed {
        true => sign_extended(moved, bits),
        false => low_bits(moved, bits),
    })
}

/// Value of a destination after a result is written to the selected part.
pub(super) fn merged(dest: Cell, result: Expr, sdwa: Sdwa) -> Option<Expr> {
    if sdwa.dst_sel == DWORD {
        return Some(result);
    }
    let (first, bits) = part(sdwa.dst_sel)?;
    let mask = ((1u32 << bits) - 1) << first;
    let moved = |value| shl(value, constant(first));
    Some(match sdwa.dst_unused {
        0 => moved(low_bits(result, bits)),
        1 => moved(sign_extended(result, bits)),
        2 => or(
            and(Expr::Cell(dest), constant(!mask)),
            moved(low_bits(result, bits)),
        ),
        _ => return None,
    })
}
