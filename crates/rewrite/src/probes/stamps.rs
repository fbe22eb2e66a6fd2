//! Time stamps: instructions that read the clock at the entries of blocks and where threads exit. For each step
//! between two stamps, they keep the longest time of any thread.
//!
//! The first counter is the longest time of a thread, from its first stamp to its exit. Then follows a table. It has
//! a row for each place where a step may end (the points in order, then the exit), and in each row a column for each
//! place where it may begin (the points in order, then the start of the kernel). Times are modulo 2^32 cycles. For
//! example, with 2 points there are 10 counters, and the step from the start to the first point is counter 3.

use std::collections::BTreeSet;

use warpbound_base::Diagnostic;
use warpbound_ir::{ControlEffect, ExecCondition, OpIndex};
use warpbound_isa::instr::Guard;

use super::allocation::{Unused, choose_scoreboard};
use super::body::slot;
use super::flush::exits;
use super::sequence::{ProbeInstr, Sequence};
use super::{
    ProbeEdits, ProbeEntry, ProbeInsertion, ProbedCode, REGISTER_LATENCY, at_op, reached_ops,
    refuse_external_calls,
};
use crate::liveness::ALL_SCOREBOARDS;

/// Maximum number of points. The offset of an address must reach the whole table: 250 points need 63,002 counters of
/// 8 bytes, and an offset reaches 2^19 bytes.
pub const MOST_POINTS: usize = 250;

/// Number of counters of a kernel with `points` points.
pub const fn stamp_counters(points: usize) -> usize {
    1 + (points + 1) * (points + 1)
}

/// Counter of the step between two points. `None` for `from` is the start of the kernel, and for `to` the exit.
pub fn stamp_counter(points: usize, from: Option<usize>, to: Option<usize>) -> usize {
    let (column, row) = (from.unwrap_or(points), to.unwrap_or(points));
    1 + row * (points + 1) + column
}

/// Returns the points of a kernel in ascending order: the entries of all blocks that a thread may reach.
pub fn stamp_points(probed: &ProbedCode<'_>) -> Vec<OpIndex> {
    let space = &probed.cfg.space;
    let reached = space.ids().filter(|&node| probed.cfg.is_reached(node));
    let firsts: BTreeSet<OpIndex> = reached.map(|node| space.block(node).first).collect();
    let has_time = |at: &OpIndex| {
        let op = probed.code.get(*at);
        op.is_some_and(|op| op.control != ControlEffect::End)
    };
    firsts.into_iter().filter(has_time).collect()
}

/// Returns the changes that give a kernel a stamp at each of its points and exits.
///
/// # Errors
///
/// The kernel has more points than [`MOST_POINTS`] or no registers left, calls a function outside its section, or exits
/// under a condition code; the diagnostic has the address.
pub fn stamp_edits(probed: &ProbedCode<'_>, points: &[OpIndex]) -> Result<ProbeEdits, Diagnostic> {
    refuse_external_calls(probed)?;
    if points.len() > MOST_POINTS {
        let message = format!(
            "it has {} blocks: stamps are for at most {MOST_POINTS}",
            points.len()
        );
        return Err(at_op(probed, probed.code.entry, &message));
    }
    let exits = exits(probed, &reached_ops(probed.cfg))?;
    let mut unused = Unused::new(probed);
    let stamps = Stamps::choose(probed, points, &mut unused)?;
    let own = unused.greatest().map_or(0, |most| u16::from(most) + 1);
    let mut edits = ProbeEdits {
        insertions: Vec::new(),
        registers: probed.registers.max(own),
        homes: Vec::new(),
        controls: std::collections::BTreeMap::new(),
    };
    edits.insert(ProbeInsertion {
        at: probed.code.entry,
        entry: ProbeEntry::FallThrough,
        instrs: stamps.prologue()?,
    });
    for (number, &at) in points.iter().enumerate() {
        edits.insert(ProbeInsertion {
            at,
            entry: ProbeEntry::All,
            instrs: stamps.at_point(number)?,
        });
    }
    for &at in &exits {
        edits.insert(ProbeInsertion {
            at,
            entry: ProbeEntry::All,
            instrs: stamps.at_exit(at)?,
        });
    }
    Ok(edits)
}

/// Registers of the stamps. No instruction of the program names them.
struct Stamps<'a> {
    probed: &'a ProbedCode<'a>,
    points: &'a [OpIndex],
    /// Register with the byte offset of the column of the last stamp.
    column: u8,
    /// Registers with the clock at the last stamp and at the first one.
    last: u8,
    begin: u8,
    /// Registers with the clock and with the time of the step.
    clock: u8,
    time: u8,
    /// Pair of registers with the address of the step's column in the first row.
    address: u8,
    /// Scoreboard of the additions, and whether only the probes set it.
    scoreboard: u8,
    is_scoreboard_own: bool,
}

impl<'a> Stamps<'a> {
    fn choose(
        probed: &'a ProbedCode<'a>,
        points: &'a [OpIndex],
        unused: &mut Unused,
    ) -> Result<Stamps<'a>, Diagnostic> {
        let (scoreboard, is_scoreboard_own) = choose_scoreboard(probed.program);
        let limit = u16::from(u8::MAX);
        Ok(Stamps {
            address: unused.pair()?,
            column: unused.one(limit)?,
            last: unused.one(limit)?,
            begin: unused.one(limit)?,
            clock: unused.one(limit)?,
            time: unused.one(limit)?,
            probed,
            points,
            scoreboard,
            is_scoreboard_own,
        })
    }

    fn sequence(&self, guard: Guard) -> Sequence {
        Sequence::new(self.probed.program.arch(), guard)
    }

    /// Byte offset of a column.
    fn column_bytes(&self, from: Option<usize>) -> Result<u32, Diagnostic> {
        let bytes = u32::try_from(8 * from.unwrap_or(self.points.len()));
        bytes.map_err(|_| Diagnostic::new("there are too many points"))
    }

    /// Returns the instructions before the first one of the kernel.
    fn prologue(&self) -> Result<Vec<ProbeInstr>, Diagnostic> {
        let mut sequence = self.sequence(Guard::ALWAYS);
        let read = sequence.clock(self.last)?;
        sequence.number(self.column, self.column_bytes(None)?)?;
        sequence.until(read + u32::from(REGISTER_LATENCY));
        let copied = sequence.copy(self.begin, self.last)?;
        sequence.until(copied + u32::from(REGISTER_LATENCY));
        sequence.finish()
    }

    /// Returns the stamp of a point.
    fn at_point(&self, number: usize) -> Result<Vec<ProbeInstr>, Diagnostic> {
        let mut sequence = self.sequence(Guard::ALWAYS);
        self.add_step(&mut sequence, Some(number))?;
        if !self.is_scoreboard_own {
            sequence.wait(1 << self.scoreboard);
        }
        sequence.finish()
    }

    /// Returns the stamp before an exit, under its guard.
    fn at_exit(&self, at: OpIndex) -> Result<Vec<ProbeInstr>, Diagnostic> {
        let op = self.probed.code.get(at);
        let condition = op.map_or(ExecCondition::ALWAYS, |op| op.condition);
        let guard = Guard::of_lanes(
            condition.guard.and_then(|cell| cell.predicate_number()),
            condition.negated,
        );
        let mut sequence = self.sequence(guard);
        // An operation in flight may still write the guard.
        sequence.wait(ALL_SCOREBOARDS);
        self.add_step(&mut sequence, None)?;
        sequence.wait(1 << self.scoreboard);
        let ready = sequence.address(self.address)?;
        let whole = sequence.difference(self.time, self.clock, self.begin)?;
        sequence.until(ready.max(whole) + u32::from(REGISTER_LATENCY));
        sequence.raise_memory(self.address, slot(self.probed, 0)?, self.time)?;
        sequence.holds(None, Some(self.scoreboard));
        if !self.is_scoreboard_own {
            sequence.wait(1 << self.scoreboard);
        }
        sequence.finish()
    }

    /// Reads the clock, raises the time of the step that ends here, and begins the next step.
    fn add_step(&self, sequence: &mut Sequence, to: Option<usize>) -> Result<(), Diagnostic> {
        let latency = u32::from(REGISTER_LATENCY);
        let offset = self.probed.address_offset;
        let (low, high) = (self.address, self.address + 1);
        let read = sequence.clock(self.clock)?;
        // The atomic operation of the previous step may still read its address and its time.
        sequence.wait(1 << self.scoreboard);
        let sum = sequence.add_constant(low, self.column, offset, false)?;
        sequence.until(read + latency);
        sequence.difference(self.time, self.clock, self.last)?;
        sequence.until(sum + latency);
        // The condition code may be live, so the carry is found by a comparison: a sum below a summand has
        // overflowed. The result is 0 or -1, and its subtraction adds the carry.
        let carry = sequence.mask_if_below(high, low, self.column)?;
        sequence.copy(self.last, self.clock)?;
        if let Some(number) = to {
            sequence.number(self.column, self.column_bytes(Some(number))?)?;
        }
        sequence.until(carry + latency);
        let sum = sequence.add_constant(high, high, offset.saturating_add(4), true)?;
        sequence.until(sum + latency);
        let row = stamp_counter(self.points.len(), Some(0), to);
        sequence.raise_memory(low, slot(self.probed, row)?, self.time)?;
        sequence.holds(None, Some(self.scoreboard));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_steps_differ() {
        let points = 5;
        let places: Vec<Option<usize>> = (0..points).map(Some).chain([None]).collect();
        let mut seen = BTreeSet::from([0]);
        for &from in &places {
            for &to in &places {
                let counter = stamp_counter(points, from, to);
                assert!(counter < stamp_counters(points) && seen.insert(counter));
            }
        }
        assert_eq!(seen.len(), stamp_counters(points));
    }
}
