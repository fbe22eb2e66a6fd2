//! Warp-wide operations: SHFL and VOTE. For example, `SHFL.DOWN PT, R0, R1, 0x1, 0x1f` gives each lane the value of
//! the next one; the last lane keeps its own.

use warpbound_isa::nvidia::{Modifier, Modifier as M};

use crate::nvidia::operands::Operands;
use crate::{Meaning, ShuffleMode, VoteMode};

/// SHFL.
pub(crate) fn shuffle(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let mode = match modifiers {
        [M::Idx] => ShuffleMode::Index,
        [M::Up] => ShuffleMode::Up,
        [M::Down] => ShuffleMode::Down,
        [M::Bfly] => ShuffleMode::Butterfly,
        _ => return None,
    };
    Some(Meaning::Shuffle {
        dest: operands.register()?,
        in_range: operands.predicates().first().copied().flatten(),
        mode,
        value: operands.word(0)?,
        lane: operands.word(1)?,
        limit: operands.word(2)?,
    })
}

/// VOTE.
pub(crate) fn vote(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let mode = match modifiers {
        [M::All] => VoteMode::All,
        [M::Any] => VoteMode::Any,
        [M::Eq] => VoteMode::Same,
        _ => return None,
    };
    Some(Meaning::Vote {
        ballot: operands.register()?,
        result: operands.predicates().first().copied().flatten(),
        mode,
        predicate: operands.predicate(0)?,
    })
}
