//! Probe of a block.

use std::collections::BTreeSet;

use warpbound_base::Diagnostic;
use warpbound_ir::OpIndex;
use warpbound_isa::instr::Guard;

use super::allocation::Allocation;
use super::sequence::{ProbeInstr, Sequence};
use super::{
    Increment, PREDICATE_LATENCY, ProbeFault, ProbeStyle, ProbedCode, ProbedQuantity,
    REGISTER_LATENCY, at_op,
};

/// Choice of the lane in which a probe counts for the warp.
#[derive(Clone, Copy)]
enum Leader {
    /// This predicate holds in one active lane.
    Predicate(u8),
    /// This register has all bits set in one active lane, and none in the others.
    Mask(u8),
}

/// Returns the instructions of the probe before `at`.
pub(super) fn probe(
    probed: &ProbedCode<'_>,
    style: ProbeStyle,
    allocation: &Allocation,
    at: OpIndex,
    increments: &BTreeSet<Increment>,
) -> Result<Vec<ProbeInstr>, Diagnostic> {
    let temporaries = allocation.temporaries.get(&at).copied();
    let Some([ballot, second]) = temporaries else {
        return Err(at_op(probed, at, "a probe has no registers"));
    };
    let mut body = Body {
        sequence: Sequence::new(probed.program.arch(), Guard::ALWAYS),
        probed,
        allocation,
        at,
        ballot,
        second,
        written: Vec::new(),
        memory_ready: 0,
        held: false,
    };
    let of = |quantity| increments.iter().filter(move |i| i.quantity == quantity);
    let by_leader = style == ProbeStyle::Paper;
    let has_leader = by_leader || of(ProbedQuantity::Issues).next().is_some();
    let voted = if has_leader {
        Some(body.sequence.ballot(ballot)?)
    } else {
        None
    };
    if !by_leader {
        for increment in of(ProbedQuantity::Lanes) {
            body.count_in_all_lanes(increment)?;
        }
    }
    if let Some(voted) = voted {
        let leader = body.find_leader(voted)?;
        if by_leader {
            body.count_population(
                &of(ProbedQuantity::Lanes).copied().collect::<Vec<_>>(),
                leader,
            )?;
        }
        for increment in of(ProbedQuantity::Issues) {
            body.count_once(increment, leader)?;
        }
    }
    body.finish()
}

struct Body<'a> {
    sequence: Sequence,
    probed: &'a ProbedCode<'a>,
    allocation: &'a Allocation,
    at: OpIndex,
    /// Register with the mask of the active lanes.
    ballot: u8,
    /// Register for the products of masks.
    second: u8,
    /// Cycles in which registers that live on were written.
    written: Vec<u32>,
    /// Cycle from which the value register can be read.
    memory_ready: u32,
    /// Whether an instruction of this probe may hold the scoreboard.
    held: bool,
}

impl Body<'_> {
    fn scoreboard_mask(&self) -> u8 {
        1 << self.allocation.scoreboard
    }

    /// Counts in each active lane.
    fn count_in_all_lanes(&mut self, increment: &Increment) -> Result<(), Diagnostic> {
        match self.allocation.register_of(increment.counter) {
            Some(register) => {
                let issue = self.sequence.increase(register, increment.weight)?;
                self.written.push(issue);
            }
            None => {
                self.load_value(increment.weight)?;
                self.add_value(increment.counter)?;
            }
        }
        Ok(())
    }

    /// Finds the active lane below which no lane is active.
    fn find_leader(&mut self, voted: u32) -> Result<Leader, Diagnostic> {
        let Some(below) = self.allocation.lanes_below else {
            return Err(at_op(self.probed, self.at, "a probe has no registers"));
        };
        self.sequence.until(voted + u32::from(REGISTER_LATENCY));
        if self.allocation.is_scoreboard_own {
            // The mask of the lanes below may still be on its way.
            self.sequence.wait(self.scoreboard_mask());
        }
        match self.allocation.predicates.get(&self.at) {
            Some(&pred) => {
                let issue = self.sequence.test_disjoint(pred, self.ballot, below)?;
                self.sequence.until(issue + u32::from(PREDICATE_LATENCY));
                Ok(Leader::Predicate(pred))
            }
            None => {
                let issue = self.sequence.and(self.ballot, self.ballot, below)?;
                self.sequence.until(issue + u32::from(REGISTER_LATENCY));
                let issue = self.sequence.mask_if_zero(self.ballot, self.ballot)?;
                self.sequence.until(issue + u32::from(REGISTER_LATENCY));
                Ok(Leader::Mask(self.ballot))
            }
        }
    }

    /// Counts in one lane.
    fn count_once(&mut self, increment: &Increment, leader: Leader) -> Result<(), Diagnostic> {
        let register = self.allocation.register_of(increment.counter);
        match (register, leader) {
            (Some(register), Leader::Predicate(pred)) => {
                self.sequence.guard = guard(pred);
                let issue = self.sequence.increase(register, increment.weight)?;
                self.sequence.guard = Guard::ALWAYS;
                self.written.push(issue);
            }
            (Some(register), Leader::Mask(mask)) => {
                let second = self.second;
                let issue = self.sequence.and_number(second, mask, increment.weight)?;
                self.sequence.until(issue + u32::from(REGISTER_LATENCY));
                let issue = self.sequence.increase_by(register, second)?;
                self.written.push(issue);
            }
            (None, Leader::Predicate(pred)) => {
                self.load_value(increment.weight)?;
                self.sequence.guard = guard(pred);
                self.add_value(increment.counter)?;
                self.sequence.guard = Guard::ALWAYS;
            }
            (None, Leader::Mask(mask)) => {
                let value = self.value()?;
                self.before_value_changes();
                let issue = self.sequence.and_number(value, mask, increment.weight)?;
                self.memory_ready = issue + u32::from(REGISTER_LATENCY);
                self.add_value(increment.counter)?;
            }
        }
        Ok(())
    }

    /// Counts the active lanes in one lane, by their population count.
    fn count_population(
        &mut self,
        increments: &[Increment],
        leader: Leader,
    ) -> Result<(), Diagnostic> {
        for increment in increments {
            let weight = u16::try_from(increment.weight);
            let weight = weight.map_err(|_| {
                at_op(
                    self.probed,
                    self.at,
                    "a block has more than 65,535 instructions",
                )
            })?;
            let value = self.value()?;
            let second = self.second;
            // The mask of the leader may have taken the place of the active lanes.
            let ballot = match leader {
                Leader::Predicate(_) => self.ballot,
                Leader::Mask(_) => {
                    let issue = self.sequence.ballot(second)?;
                    self.sequence.until(issue + u32::from(REGISTER_LATENCY));
                    second
                }
            };
            self.before_value_changes();
            self.sequence.wait(self.scoreboard_mask());
            self.sequence
                .population(value, ballot, self.allocation.scoreboard)?;
            self.sequence.wait(self.scoreboard_mask());
            let mut issue = self.sequence.times(value, value, weight)?;
            if let Leader::Mask(mask) = leader {
                self.sequence.until(issue + u32::from(REGISTER_LATENCY));
                issue = self.sequence.and(value, value, mask)?;
            }
            self.memory_ready = issue + u32::from(REGISTER_LATENCY);
            if let Leader::Predicate(pred) = leader {
                self.sequence.guard = guard(pred);
            }
            self.add_value(increment.counter)?;
            self.sequence.guard = Guard::ALWAYS;
        }
        Ok(())
    }

    fn value(&self) -> Result<u8, Diagnostic> {
        let value = self.allocation.value;
        value.ok_or_else(|| at_op(self.probed, self.at, "a probe has no registers"))
    }

    /// Waits until no addition reads the value register any more.
    fn before_value_changes(&mut self) {
        if self.held || self.allocation.is_scoreboard_own {
            self.sequence.wait(self.scoreboard_mask());
        }
    }

    /// Writes the number to add, unless the register always holds it.
    fn load_value(&mut self, weight: u32) -> Result<(), Diagnostic> {
        let value = self.value()?;
        if self.allocation.constant_value == Some(weight) {
            return Ok(());
        }
        self.before_value_changes();
        let issue = self.sequence.number(value, weight)?;
        self.memory_ready = issue + u32::from(REGISTER_LATENCY);
        Ok(())
    }

    /// Adds the value register to the variable.
    fn add_value(&mut self, counter: usize) -> Result<(), Diagnostic> {
        let (value, Some(address)) = (self.value()?, self.allocation.address) else {
            return Err(at_op(self.probed, self.at, "a probe has no registers"));
        };
        let offset = slot(self.probed, counter)?;
        self.sequence.until(self.memory_ready);
        let reads_only = self.allocation.constant_value.is_some()
            || self.probed.fault == Some(ProbeFault::SharesScoreboard);
        if !reads_only {
            self.sequence.wait(self.scoreboard_mask());
        }
        self.sequence.add_to_memory(address, offset, value)?;
        if !reads_only {
            self.sequence.holds(None, Some(self.allocation.scoreboard));
            self.held = true;
        }
        Ok(())
    }

    /// Ends the probe: the registers that it wrote are ready when the next probe reads them, and a scoreboard that the
    /// program uses too is free again.
    fn finish(mut self) -> Result<Vec<ProbeInstr>, Diagnostic> {
        let rest = least_cycles_of_block(self.probed, self.at);
        if let Some(&last) = self.written.iter().max() {
            let ready = last + u32::from(REGISTER_LATENCY);
            self.sequence.until(ready.saturating_sub(rest));
        }
        if self.held && !self.allocation.is_scoreboard_own {
            self.sequence.wait(self.scoreboard_mask());
        }
        self.sequence.finish()
    }
}

/// Guard of the lane that counts for the warp.
fn guard(pred: u8) -> Guard {
    Guard {
        pred: Some(pred),
        negated: false,
    }
}

/// Returns the byte offset of a counter in the variable.
pub(super) fn slot(probed: &ProbedCode<'_>, counter: usize) -> Result<u32, Diagnostic> {
    let bytes = u32::try_from(counter).ok().and_then(|n| n.checked_mul(8));
    let offset = bytes.and_then(|bytes| bytes.checked_add(probed.first_byte));
    // Offsets of memory operands have 20 bits with sign.
    let offset = offset.filter(|&offset| offset < 1 << 19);
    offset.ok_or_else(|| Diagnostic::new("there are more counters than addresses reach"))
}

/// Returns the cycles that the block from `at` on takes at least: the sum of the distances that its control words ask for.
fn least_cycles_of_block(probed: &ProbedCode<'_>, at: OpIndex) -> u32 {
    let blocks = &probed.cfg.space.blocks;
    let Some(block) = blocks.starting_at(at).map(|index| blocks.get(index)) else {
        return 0;
    };
    let instrs = block
        .ops()
        .filter_map(|at| probed.program.instrs.get(at.index()));
    instrs
        .map(|instr| u32::from(instr.control.min_distance()))
        .sum()
}
