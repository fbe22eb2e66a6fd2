//! Warp-wide operations: SHFL and VOTE.

use warpbound_isa::View;

use super::operands::Operands;
use crate::{Meaning, ShuffleMode, VoteMode};

pub(super) fn meaning(view: &View, operands: &Operands<'_>) -> Option<Meaning> {
    let [modifier] = view.modifiers.as_slice() else {
        return None;
    };
    match view.mnemonic {
        "SHFL" => Some(Meaning::Shuffle {
            dest: operands.register()?,
            in_range: operands.predicates().first().copied().flatten(),
            mode: match *modifier {
                ".IDX" => ShuffleMode::Index,
                ".UP" => ShuffleMode::Up,
                ".DOWN" => ShuffleMode::Down,
                ".BFLY" => ShuffleMode::Butterfly,
                _ => return None,
            },
            value: operands.word(0)?,
            lane: operands.word(1)?,
            limit: operands.word(2)?,
        }),
        "VOTE" => Some(Meaning::Vote {
            ballot: operands.register()?,
            result: operands.predicates().first().copied().flatten(),
            mode: match *modifier {
                ".ALL" => VoteMode::All,
                ".ANY" => VoteMode::Any,
                ".EQ" => VoteMode::Same,
                _ => return None,
            },
            predicate: operands.predicate(0)?,
        }),
        _ => None,
    }
}
