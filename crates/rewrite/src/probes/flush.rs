//! Beginning and end of counting: counters are cleared where the kernel begins and added to the variable where
//! threads exit.
//!
//! For example, before `@P0 EXIT` the flush runs under `@P0`: the other lanes go on, and their registers stay as they
//! are.

use std::collections::BTreeSet;

use warpbound_base::{Diagnostic, GroupedCode};
use warpbound_ir::{ControlEffect, Meaning, OpIndex};
use warpbound_isa::instr::Guard;
use warpbound_isa::{Axis, SpecialReg};

use super::allocation::{Allocation, CounterHome};
use super::body::slot;
use super::sequence::{ProbeInstr, Sequence};
use super::{CounterRange, ProbeRequest, ProbedCode, REGISTER_LATENCY, SharedSlots, at_op};
use crate::liveness::ALL_SCOREBOARDS;

/// Returns the operations at which threads exit.
///
/// # Errors
///
/// A thread may end in another way, or exits under a condition code, which no instruction of a flush can test.
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
            // No thread ends here.
            ControlEffect::Exit if op.condition.is_never() => {}
            // After a trap the host reads no counters.
            ControlEffect::Exit if op.meaning == Some(Meaning::Trap) => {}
            ControlEffect::Exit if op.condition.has_further_test() => {
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

/// Returns the instructions before the first one of the kernel, and the cycles after them until the registers are
/// ready.
pub(super) fn prologue(
    probed: &ProbedCode<'_>,
    request: &ProbeRequest,
    allocation: &Allocation,
) -> Result<(Vec<ProbeInstr>, u32), Diagnostic> {
    let mut sequence = Sequence::new(probed.program.arch(), Guard::ALWAYS);
    if let Some(below) = allocation.lanes_below {
        sequence.lanes_below(below, allocation.scoreboard)?;
    }
    if let Some([slot, one]) = allocation.shared {
        find_shared_slot(&mut sequence, request, allocation.scoreboard, [slot, one])?;
    }
    let mut last = None;
    for home in &allocation.homes {
        match *home {
            CounterHome::Register(register) => last = Some(sequence.zero(register)?),
            CounterHome::Pair(register) => {
                sequence.zero(register)?;
                last = Some(sequence.zero(register + 1)?);
            }
            CounterHome::Memory => {}
        }
    }
    if let Some(address) = allocation.address {
        last = Some(sequence.address(address)?);
    }
    if let Some(value) = allocation.value {
        let constant = allocation.constant_value.unwrap_or(0);
        sequence.number(value, constant)?;
        last = Some(match allocation.constant_high {
            0 => sequence.zero(value + 1)?,
            high => sequence.number(value + 1, high)?,
        });
        // A probe in memory may read both pairs in its first instruction.
        sequence.until(sequence.length() + u32::from(REGISTER_LATENCY));
    }
    let ready = last.map_or(0, |last| last + u32::from(REGISTER_LATENCY));
    let ready = ready.saturating_sub(sequence.length());
    // The program uses this scoreboard as well and must find it as it was.
    if (allocation.lanes_below.is_some() || allocation.shared.is_some())
        && !allocation.is_scoreboard_own
    {
        sequence.wait(1 << allocation.scoreboard);
    }
    Ok((sequence.finish()?, ready))
}

/// Computes the address of the warp's words in shared memory, and the register that holds 1.
fn find_shared_slot(
    sequence: &mut Sequence,
    request: &ProbeRequest,
    scoreboard: u8,
    [slot, one]: [u8; 2],
) -> Result<(), Diagnostic> {
    let Some(SharedSlots { first_byte, block }) = request.shared else {
        return Err(Diagnostic::new("the probes have no shared memory"));
    };
    let too_large = |_| Diagnostic::new("a block has more threads than a GPU allows");
    let latency = u32::from(REGISTER_LATENCY);
    sequence.special(slot, SpecialReg::ThreadIndex(Axis::X), scoreboard)?;
    let mut factor = block[0];
    for (axis, size) in [Axis::Y, Axis::Z]
        .map(SpecialReg::ThreadIndex)
        .into_iter()
        .zip([block[1], block[2]])
    {
        // The index in an axis of one thread is 0.
        if size > 1 {
            sequence.wait(1 << scoreboard);
            sequence.special(one, axis, scoreboard)?;
            sequence.wait(1 << scoreboard);
            let issue = sequence.add_times(slot, one, u16::try_from(factor).map_err(too_large)?)?;
            sequence.until(issue + latency);
        }
        // The next use refuses a factor that does not fit 16 bits.
        factor = factor.saturating_mul(size);
    }
    sequence.wait(1 << scoreboard);
    // Eight bytes for each warp of 32 lanes: the number of the thread, divided by 32 and multiplied by 8.
    for bits in [-5, 3] {
        let issue = sequence.shift(slot, bits)?;
        sequence.until(issue + latency);
    }
    sequence.increase(slot, first_byte)?;
    let issue = sequence.number(one, 1)?;
    sequence.until(issue + latency);
    Ok(())
}

/// Returns the instructions before an exit. They have the guard of the exit, because only the lanes that exit have no
/// more use for the registers that are written.
pub(super) fn flush(
    probed: &ProbedCode<'_>,
    request: &ProbeRequest,
    allocation: &Allocation,
    at: OpIndex,
) -> Result<Vec<ProbeInstr>, Diagnostic> {
    let homes = allocation.homes.iter().copied().enumerate();
    let counters: Vec<(usize, CounterHome)> = homes
        .filter(|(_, home)| *home != CounterHome::Memory)
        .collect();
    if counters.is_empty() {
        return Ok(Vec::new());
    }
    let pairs = allocation.flush_pairs.get(&at);
    let (Some(op), Some(pairs)) = (probed.code.get(at), pairs) else {
        return Err(at_op(probed, at, "the exit has no registers for counters"));
    };
    let guard = Guard::of_lanes(
        op.condition.guard.and_then(|cell| cell.predicate_number()),
        op.condition.negated,
    );
    let mut flush = Flush {
        sequence: Sequence::new(probed.program.arch(), guard),
        probed,
        request,
        address: pairs.address,
        goes_on: !op.condition.is_always(),
    };
    if pairs.waits {
        // Operations in flight may still read or write these registers.
        flush.sequence.wait(ALL_SCOREBOARDS);
    }
    flush.add_counters(&counters, &pairs.values)?;
    if flush.goes_on {
        // The lanes that go on must find the scoreboards as they were.
        let used = at_once(&pairs.values).min(counters.len());
        flush.sequence.wait(((1_u32 << used) - 1) as u8);
    }
    flush.sequence.finish()
}

/// Scoreboards of a warp.
const SCOREBOARDS: usize = GroupedCode::WITH_THREE_SLOTS.scoreboards as usize;

/// Number of counters that are added at the same time, each with a scoreboard. Counters in pairs need no other
/// registers.
fn at_once(values: &[u8]) -> usize {
    match values.len() {
        0 => SCOREBOARDS,
        pairs => pairs,
    }
}

struct Flush<'a> {
    sequence: Sequence,
    probed: &'a ProbedCode<'a>,
    request: &'a ProbeRequest,
    /// Pair for the address of the variable.
    address: u8,
    /// Whether some lanes may go on.
    goes_on: bool,
}

impl Flush<'_> {
    /// Adds the counters to the variable. Counters of one register pass through the pairs for values, as many at a
    /// time as there are pairs.
    fn add_counters(
        &mut self,
        counters: &[(usize, CounterHome)],
        values: &[u8],
    ) -> Result<(), Diagnostic> {
        let mut ready = self.sequence.address(self.address)?;
        // Counts have no sign, so the upper halves of all values are zero.
        if self.request.range == CounterRange::Count {
            for &value in values {
                ready = self.sequence.zero(value + 1)?;
            }
        }
        // A probe directly before the exit may just have written the counters.
        self.sequence.until(u32::from(REGISTER_LATENCY));
        let at_once = at_once(values);
        let several = counters.len() > at_once;
        for (round, counters) in counters.chunks(at_once).enumerate() {
            let mut sources = Vec::new();
            for (index, &(counter, home)) in counters.iter().enumerate() {
                let source = match (home, values.get(index)) {
                    (CounterHome::Pair(pair), _) => pair,
                    (CounterHome::Register(register), Some(&value)) => {
                        // The addition of the round before must have read the pair.
                        if round > 0 {
                            self.sequence.wait(1 << index);
                        }
                        ready = self.sequence.copy(value, register)?;
                        if self.request.range == CounterRange::SignedWord {
                            ready = self.sequence.sign(value + 1, register)?;
                        }
                        value
                    }
                    _ => return Err(Diagnostic::new("an exit has no registers for counters")),
                };
                sources.push((counter, source));
            }
            self.sequence.until(ready + u32::from(REGISTER_LATENCY));
            for (index, (counter, source)) in sources.into_iter().enumerate() {
                let offset = slot(self.probed, counter)?;
                self.sequence.add_to_memory(self.address, offset, source)?;
                // If all lanes exit after one round, nothing is left to wait for.
                if several || self.goes_on {
                    self.sequence.holds(None, Some(index as u8));
                }
            }
        }
        Ok(())
    }
}
