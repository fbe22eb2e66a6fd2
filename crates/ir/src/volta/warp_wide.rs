//! Operations of the warp as a whole: REDUX, R2UR, MATCH, and meetings of lanes. For example, `REDUX.SUM UR4, R2` adds
//! a register over the lanes that are active.

use smallvec::{SmallVec, smallvec};
use warpbound_isa::nvidia::{Modifier, Modifier as M};
use warpbound_isa::{Operand, OperandValue, View};

use crate::nvidia::operands::{Operands, and, predicate};
use crate::{BinaryOp, Cell, Expr, MatchMode, Meaning, WarpReduction};

/// REDUX and CREDUX (PTX manual, `redux.sync`).
pub(super) fn reduction(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let op = match modifiers {
        [] | [M::And] => WarpReduction::And,
        [M::Or] => WarpReduction::Or,
        [M::Xor] => WarpReduction::Xor,
        [M::Sum] | [M::Sum, M::S32] => WarpReduction::Sum,
        [M::Min] => WarpReduction::MinUnsigned,
        [M::Max] => WarpReduction::MaxUnsigned,
        [M::Min, M::S32] => WarpReduction::MinSigned,
        [M::Max, M::S32] => WarpReduction::MaxSigned,
        _ => return None,
    };
    over_lanes(op, operands)
}

/// R2UR: the value of a register, which compilers know to be the same in all lanes. With a predicate it tells lanes whose value
/// differs: of two words, the second instruction has `.OR`, and keeps what the first one found.
pub(super) fn first_lane(view: &View) -> Option<Meaning> {
    let accumulates = match view.modifiers.as_slice() {
        [] => false,
        [M::Or] => true,
        _ => return None,
    };
    let operands = &Operands::new(view);
    let predicate = view
        .operands
        .iter()
        .find(|operand| operand.shown && is_predicate(operand));
    // Tables give each form a predicate, which the text leaves out if it is PT.
    let Some(predicate) = predicate else {
        let is_plain = !accumulates;
        return is_plain
            .then(|| over_lanes(WarpReduction::First, operands))
            .flatten();
    };
    let OperandValue::Pred {
        pred: Some(number), ..
    } = predicate.value
    else {
        return None;
    };
    Some(Meaning::FirstLane {
        dest: operands.register()?,
        differs: Cell::pred(number),
        accumulates,
        value: operands.word(0)?,
    })
}

fn is_predicate(operand: &Operand) -> bool {
    let value = &operand.value;
    matches!(
        value,
        OperandValue::Pred { .. } | OperandValue::UniformPred { .. }
    )
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

/// MATCH (PTX manual, `match.sync`).
pub(super) fn matching(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let (mode, rest) = match modifiers {
        [M::Any, rest @ ..] => (MatchMode::Any, rest),
        [M::All, rest @ ..] => (MatchMode::All, rest),
        _ => return None,
    };
    let words: SmallVec<[Expr; 2]> = match rest {
        [] => smallvec![operands.word(0)?],
        [M::U64] => operands.long(0)?.into(),
        _ => return None,
    };
    Some(Meaning::Match {
        mask: operands.register()?,
        all_equal: operands.predicates().first().copied().flatten(),
        mode,
        words,
    })
}

/// BRA: with `.DIV` it is taken if lanes of a mask are missing. Compilers let it lead to a WARPSYNC, and have an operation
/// for all of these lanes after it. On sm_75 it has no mask and asks for all lanes of the warp. With `.ANY` it is taken by all
/// active lanes if the guard and the predicate hold in one of them.
pub(super) fn branch(view: &View) -> Option<Meaning> {
    let operands = Operands::new(view);
    match view.modifiers.as_slice() {
        [M::Div] => {
            let mut masks = (0..operands.reads.len()).map(|index| operands.bits(index));
            Some(Meaning::Ask(masks.find_map(|mask| mask)))
        }
        // `.U` promises that the active lanes stay together.
        [M::Any] | [M::U, M::Any] => {
            // A predicate of lanes and one of the uniform datapath must hold besides the guard.
            let further = view.operands.iter().filter(|operand| is_predicate(operand));
            let holds = further
                .map(predicate)
                .try_fold(guard(view), |holds, further| {
                    let further = further?;
                    Some(match further {
                        Expr::Const(1) => holds,
                        further => and(holds, further),
                    })
                });
            holds.map(Meaning::AnyLane)
        }
        _ => Some(Meaning::nothing()),
    }
}

/// Guard of an instruction as a number, 0 or 1.
fn guard(view: &View) -> Expr {
    let holds = match view.guard.register() {
        Some(register) => Expr::Cell(Cell::of(register)),
        None => Expr::Const(1),
    };
    match view.guard.negated {
        true => Expr::binary(BinaryOp::Xor, holds, Expr::Const(1)),
        false => holds,
    }
}
