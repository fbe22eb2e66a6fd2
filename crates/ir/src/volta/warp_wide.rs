//! Operations of the warp as a whole with a result in a uniform register: REDUX, R2UR. For example, `REDUX.SUM UR4, R2` adds
//! a register over the lanes that are active.

use warpbound_isa::nvidia::{Modifier, Modifier as M};

use crate::nvidia::operands::Operands;
use crate::{Expr, Meaning, WarpReduction};

/// REDUX and CREDUX (PTX manual, `redux.sync`).
pub(super) fn reduction(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let op = match modifiers {
        [] | [M::And] => WarpReduction::And,
        [M::Or] => WarpReduction::Or,
        [M::Xor] => WarpReduction::Xor,
        [M::Sum] => WarpReduction::Sum,
        [M::Min] => WarpReduction::MinUnsigned,
        [M::Max] => WarpReduction::MaxUnsigned,
        [M::Min, M::S32] => WarpReduction::MinSigned,
        [M::Max, M::S32] => WarpReduction::MaxSigned,
        _ => return None,
    };
    over_lanes(op, operands)
}

/// R2UR: the value of a register, which compilers know to be the same in all lanes.
pub(super) fn first_lane(operands: &Operands<'_>) -> Option<Meaning> {
    over_lanes(WarpReduction::First, operands)
}

fn over_lanes(op: WarpReduction, operands: &Operands<'_>) -> Option<Meaning> {
    Some(Meaning::Reduce {
        dest: operands.only_register()?,
        op,
        value: operands.word(0)?,
    })
}

/// WARPSYNC: lanes wait for the lanes of a mask. With `.COLLECTIVE` they execute the code up to ENDCOLLECTIVE as one group,
/// which its control effect says.
pub(super) fn meeting(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let rest = match modifiers {
        [M::Collective, rest @ ..] => rest,
        rest => rest,
    };
    match rest {
        [M::All] => Some(Meaning::Meet(None)),
        [] => {
            // A predicate that must hold besides precedes the mask.
            let mut masks = (0..operands.reads.len()).filter_map(|index| operands.word(index));
            masks.next().map(|mask| Meaning::Meet(Some(mask)))
        }
        _ => None,
    }
}

/// ENDCOLLECTIVE: lanes that met go on apart.
pub(super) fn parting(operands: &Operands<'_>) -> Option<Meaning> {
    // A predicate that must hold besides would let a part of the lanes go.
    let mut conditions = (0..operands.reads.len()).map(|index| operands.predicate(index));
    conditions
        .all(|condition| condition == Some(Expr::Const(1)))
        .then_some(Meaning::Part)
}

/// BRA: with `.DIV` and a mask, it is taken if lanes of the mask are missing. Compilers let it lead to a
/// WARPSYNC.COLLECTIVE, and have an operation for all of these lanes after it.
pub(super) fn branch(modifiers: &[Modifier], operands: &Operands<'_>) -> Meaning {
    let mask = match modifiers {
        [M::Div] => (0..operands.reads.len()).find_map(|index| operands.bits(index)),
        _ => None,
    };
    mask.map_or(Meaning::nothing(), Meaning::Ask)
}
