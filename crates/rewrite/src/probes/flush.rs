//! Beginning and end of counting: counters are cleared where the kernel begins, and added to the variable where threads
//! exit.

use std::collections::BTreeSet;

use warpbound_base::Diagnostic;
use warpbound_ir::{ControlEffect, OpIndex};
use warpbound_isa::instr::Guard;

use super::allocation::{Allocation, CounterHome};
use super::body::slot;
use super::sequence::{ProbeInstr, Sequence};
use super::{ProbedCode, REGISTER_LATENCY, at_op};
use crate::liveness::ALL_SCOREBOARDS;

/// Returns the operations at which threads exit.
///
/// # Errors
///
/// A thread may end otherwise, or exits under a condition code, which no instruction of a flush can test.
pub(super) fn exits(
    probed: &ProbedCode<'_>,
    reached: &BTreeSet<OpIndex>,
) -> Result<Vec<OpIndex>, Diagnostic> {
    let mut exits = Vec::new();
    for &at in reached {
        let Some(op) = probed.code.get(at) else {
            continue;
        };
        match op.control {
            ControlEffect::Exit if op.condition.is_never() => {}
            ControlEffect::Exit if op.condition.tests_cc() => {
                let message = "exits under a condition code, where counters cannot be saved";
                return Err(at_op(probed, at, message));
            }
            ControlEffect::Exit => exits.push(at),
            ControlEffect::End => {
                return Err(at_op(probed, at, "ends without an exit"));
            }
            _ => {}
        }
    }
    Ok(exits)
}

/// Returns the instructions before the first of the kernel.
pub(super) fn prologue(
    probed: &ProbedCode<'_>,
    allocation: &Allocation,
) -> Result<Vec<ProbeInstr>, Diagnostic> {
    let mut sequence = Sequence::new(probed.program.arch(), Guard::ALWAYS);
    if let Some(below) = allocation.lanes_below {
        sequence.lanes_below(below, allocation.scoreboard)?;
    }
    let mut last = None;
    for home in &allocation.homes {
        if let CounterHome::Register(register) = home {
            last = Some(sequence.zero(*register)?);
        }
    }
    if let Some(address) = allocation.address {
        last = Some(sequence.address(address, probed.address_offset)?);
    }
    if let Some(value) = allocation.value {
        sequence.number(value, allocation.constant_value.unwrap_or(0))?;
        last = Some(sequence.zero(value + 1)?);
    }
    if let Some(last) = last {
        sequence.until(last + u32::from(REGISTER_LATENCY));
    }
    if allocation.lanes_below.is_some() && !allocation.is_scoreboard_own {
        sequence.wait(1 << allocation.scoreboard);
    }
    sequence.finish()
}

/// Returns the instructions before an exit: under its guard, since only the lanes that exit have no more use for the
/// registers that they write.
pub(super) fn flush(
    probed: &ProbedCode<'_>,
    allocation: &Allocation,
    at: OpIndex,
) -> Result<Vec<ProbeInstr>, Diagnostic> {
    let counters: Vec<(usize, u8)> = (0..allocation.homes.len())
        .filter_map(|counter| Some((counter, allocation.register_of(counter)?)))
        .collect();
    if counters.is_empty() {
        return Ok(Vec::new());
    }
    let pairs = allocation.flush_pairs.get(&at).map(Vec::as_slice);
    let (Some(op), Some([address, values @ ..])) = (probed.code.get(at), pairs) else {
        return Err(at_op(probed, at, "the exit has no registers for counters"));
    };
    if values.is_empty() {
        return Err(at_op(probed, at, "the exit has no registers for counters"));
    }
    let guard = Guard {
        pred: op.condition.guard.and_then(|cell| cell.predicate_number()),
        negated: op.condition.negated,
    };
    let mut sequence = Sequence::new(probed.program.arch(), guard);
    // Operations in flight may read or write the registers.
    sequence.wait(ALL_SCOREBOARDS);
    let mut ready = sequence.address(*address, probed.address_offset)?;
    for &value in values {
        ready = sequence.zero(value + 1)?;
    }
    for (round, counters) in counters.chunks(values.len().max(1)).enumerate() {
        for ((index, &(_, register)), &value) in counters.iter().enumerate().zip(values) {
            if round > 0 {
                sequence.wait(1 << index);
            }
            if round == 0 && index == 0 {
                // A probe right before may just have written it.
                sequence.until(u32::from(REGISTER_LATENCY));
            }
            ready = sequence.copy(value, register)?;
        }
        sequence.until(ready + u32::from(REGISTER_LATENCY));
        for ((index, &(counter, _)), &value) in counters.iter().enumerate().zip(values) {
            sequence.add_to_memory(*address, slot(probed, counter)?, value)?;
            sequence.holds(None, Some(index as u8));
        }
    }
    if !op.condition.is_always() {
        // The lanes that go on find the scoreboards as they were.
        let used = values.len().min(counters.len());
        sequence.wait((1_u8 << used) - 1);
    }
    sequence.finish()
}
