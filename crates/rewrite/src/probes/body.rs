//! Probe of a block as one sequence before its first instruction.
//!
//! For example, a probe of lanes is `IADD32I R20, R20, 1`, which each active lane executes for its own counter. A
//! probe of issues first chooses one lane of the warp: `VOTE` gives the active lanes, and the lane that has no active
//! lane below it adds.

use std::collections::BTreeSet;

use warpbound_base::Diagnostic;
use warpbound_ir::OpIndex;
use warpbound_isa::instr::Guard;

use super::allocation::Allocation;
use super::sequence::{ProbeInstr, Sequence};
use super::{
    CounterRange, Increment, PREDICATE_LATENCY, ProbeFault, ProbeRequest, ProbeStyle, ProbedCode,
    ProbedQuantity, REGISTER_LATENCY, at_op,
};

/// Representation of the one lane that counts for the warp.
#[derive(Clone, Copy)]
enum Leader {
    /// Predicate that holds in one active lane.
    Predicate(u8),
    /// Register that has all bits set in one active lane, and none in the others.
    Mask(u8),
}

/// Returns the instructions of the probe before `at`.
pub(super) fn probe(
    probed: &ProbedCode<'_>,
    request: &ProbeRequest,
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
        request,
        allocation,
        at,
        ballot,
        second,
        written: Vec::new(),
        memory_ready: 0,
        held: false,
    };
    let of = |quantity| increments.iter().filter(move |i| i.quantity == quantity);
    let by_leader = request.style.by_leader();
    if request.style == ProbeStyle::PaperLocal {
        let lanes: Vec<Increment> = of(ProbedQuantity::Lanes).copied().collect();
        let leader = body.choose_in_shared_memory()?;
        body.count_population(&lanes, leader)?;
        for increment in of(ProbedQuantity::Issues) {
            body.count_once(increment, leader)?;
        }
        return body.finish();
    }
    let has_leader = by_leader || of(ProbedQuantity::Issues).next().is_some();
    let voted = if has_leader {
        Some(body.sequence.ballot(ballot)?)
    } else {
        None
    };
    if !by_leader {
        // The lanes are counted while the result of the ballot is under way.
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
    request: &'a ProbeRequest,
    allocation: &'a Allocation,
    at: OpIndex,
    /// Register with the mask of the active lanes.
    ballot: u8,
    /// Register for the products of masks.
    second: u8,
    /// Cycles of the writes to registers that stay in use after the probe.
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

    /// Adds to the counter in each active lane.
    fn count_in_all_lanes(&mut self, increment: &Increment) -> Result<(), Diagnostic> {
        match self.allocation.register_of(increment.counter) {
            Some(register) => self.increase(register, increment.weight)?,
            None => {
                self.load_value(increment.weight)?;
                self.add_value(increment.counter)?;
            }
        }
        Ok(())
    }

    /// Finds the active lane that has no active lane below it.
    fn find_leader(&mut self, voted: u32) -> Result<Leader, Diagnostic> {
        let Some(below) = self.allocation.lanes_below else {
            return Err(at_op(self.probed, self.at, "a probe has no registers"));
        };
        self.sequence.until(voted + u32::from(REGISTER_LATENCY));
        if self.allocation.is_scoreboard_own {
            // The prologue reads the mask of the lower lanes with S2R, which may still be under way.
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

    /// Counts the active lanes in one word of shared memory, and chooses the lane that finds another word zero.
    fn choose_in_shared_memory(&mut self) -> Result<Leader, Diagnostic> {
        let Some([slot, one]) = self.allocation.shared else {
            return Err(at_op(self.probed, self.at, "a probe has no registers"));
        };
        let (flag, scoreboard) = (self.ballot, self.allocation.scoreboard);
        self.sequence.wait(self.scoreboard_mask());
        self.sequence.clear_shared(slot, 0)?;
        self.sequence.clear_shared(slot, 4)?;
        self.sequence.fence()?;
        self.sequence.add_to_shared(slot, one)?;
        self.sequence.exchange_shared(flag, slot, one, scoreboard)?;
        self.sequence.wait(self.scoreboard_mask());
        self.sequence.fence()?;
        match self.allocation.predicates.get(&self.at) {
            Some(&pred) => {
                // A word and itself are disjoint only if it is zero: this lane came first.
                let issue = self.sequence.test_disjoint(pred, flag, flag)?;
                self.sequence.until(issue + u32::from(PREDICATE_LATENCY));
                Ok(Leader::Predicate(pred))
            }
            None => {
                let issue = self.sequence.mask_if_zero(flag, flag)?;
                self.sequence.until(issue + u32::from(REGISTER_LATENCY));
                Ok(Leader::Mask(flag))
            }
        }
    }

    /// Reads the number of active lanes into a register, from shared memory or as the population count of their mask.
    fn read_active(&mut self, value: u8, leader: Leader) -> Result<(), Diagnostic> {
        let scoreboard = self.allocation.scoreboard;
        if let Some([slot, _]) = self.allocation.shared {
            self.before_value_changes();
            self.sequence.wait(self.scoreboard_mask());
            self.sequence.load_shared(value, slot, scoreboard)?;
            return Ok(());
        }
        let second = self.second;
        // The mask of the leader has overwritten the mask of the active lanes, so VOTE is repeated.
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
        self.sequence.population(value, ballot, scoreboard)?;
        Ok(())
    }

    /// Adds to the counter in one lane.
    fn count_once(&mut self, increment: &Increment, leader: Leader) -> Result<(), Diagnostic> {
        let register = self.allocation.register_of(increment.counter);
        match (register, leader) {
            (Some(register), Leader::Predicate(pred)) => {
                self.sequence.guard = guard(pred);
                self.increase(register, increment.weight)?;
                self.sequence.guard = Guard::ALWAYS;
            }
            (Some(register), Leader::Mask(mask)) => {
                let second = self.second;
                let issue = self.sequence.and_number(second, mask, increment.weight)?;
                self.sequence.until(issue + u32::from(REGISTER_LATENCY));
                self.increase_by(register, second, mask, increment.weight)?;
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
                // Lanes other than the leader add zero.
                let mut issue = self.sequence.and_number(value, mask, increment.weight)?;
                if self.has_upper_halves() {
                    let high = self.request.high(increment.weight);
                    issue = self.sequence.and_number(value + 1, mask, high)?;
                }
                self.memory_ready = issue + u32::from(REGISTER_LATENCY);
                self.add_value(increment.counter)?;
            }
        }
        Ok(())
    }

    /// Adds the number of active lanes to each counter, in one lane.
    fn count_population(
        &mut self,
        increments: &[Increment],
        leader: Leader,
    ) -> Result<(), Diagnostic> {
        for increment in increments {
            // `times` multiplies by 16 bits.
            let weight = u16::try_from(increment.weight);
            let weight = weight.map_err(|_| {
                at_op(
                    self.probed,
                    self.at,
                    "a block has more than 65,535 instructions",
                )
            })?;
            let value = self.value()?;
            self.read_active(value, leader)?;
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

    /// Whether numbers to add may be negative, so that the upper register of a value must be written as well.
    fn has_upper_halves(&self) -> bool {
        self.request.range != CounterRange::Count
    }

    /// Adds a constant to a counter.
    fn increase(&mut self, register: u8, weight: u32) -> Result<(), Diagnostic> {
        if self.request.range != CounterRange::Double {
            let issue = self.sequence.increase(register, weight)?;
            self.written.push(issue);
            return Ok(());
        }
        let issue = self.sequence.increase_low(register, weight)?;
        self.sequence.until(issue + u32::from(REGISTER_LATENCY));
        let issue = match self.request.high(weight) {
            0 => self.sequence.increase_high_by(register + 1, 255)?,
            _ => self.sequence.decrease_high(register + 1)?,
        };
        self.written.push(issue);
        Ok(())
    }

    /// Adds a register that holds a weight or zero to a counter. The mask is all bits or none, in the same lanes.
    fn increase_by(
        &mut self,
        register: u8,
        by: u8,
        mask: u8,
        weight: u32,
    ) -> Result<(), Diagnostic> {
        if self.request.range != CounterRange::Double {
            let issue = self.sequence.increase_by(register, by)?;
            self.written.push(issue);
            return Ok(());
        }
        let issue = self.sequence.increase_low_by(register, by)?;
        self.sequence.until(issue + u32::from(REGISTER_LATENCY));
        // The upper half of a negative weight is all bits, which is what the mask holds where the weight is added.
        let high = if self.request.high(weight) == 0 {
            255
        } else {
            mask
        };
        let issue = self.sequence.increase_high_by(register + 1, high)?;
        self.written.push(issue);
        Ok(())
    }

    fn value(&self) -> Result<u8, Diagnostic> {
        let value = self.allocation.value;
        value.ok_or_else(|| at_op(self.probed, self.at, "a probe has no registers"))
    }

    /// Waits until no addition reads the value register any more.
    fn before_value_changes(&mut self) {
        // If the program uses the scoreboard as well, each probe has waited for it at its end.
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
        let mut issue = self.sequence.number(value, weight)?;
        if self.has_upper_halves() {
            issue = self.sequence.number(value + 1, self.request.high(weight))?;
        }
        self.memory_ready = issue + u32::from(REGISTER_LATENCY);
        Ok(())
    }

    /// Adds the value register to a counter in the variable.
    fn add_value(&mut self, counter: usize) -> Result<(), Diagnostic> {
        let (value, Some(address)) = (self.value()?, self.allocation.address) else {
            return Err(at_op(self.probed, self.at, "a probe has no registers"));
        };
        let offset = slot(self.probed, counter)?;
        self.sequence.until(self.memory_ready);
        // A value that never changes can be read late without harm.
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

    /// Ends the probe. The registers that it wrote must be ready when the next probe reads them, and a scoreboard
    /// that the program uses as well must be free again.
    fn finish(mut self) -> Result<Vec<ProbeInstr>, Diagnostic> {
        // The next probe begins after this block at the earliest, so the block's own distances count.
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
    Guard::of_lanes(Some(pred), false)
}

/// Returns the byte offset of a counter in the variable.
pub(super) fn slot(probed: &ProbedCode<'_>, counter: usize) -> Result<u32, Diagnostic> {
    let bytes = u32::try_from(counter).ok().and_then(|n| n.checked_mul(8));
    let offset = bytes.and_then(|bytes| bytes.checked_add(probed.first_byte));
    // Offsets of memory operands are signed, with 20 bits.
    let offset = offset.filter(|&offset| offset < 1 << 19);
    offset.ok_or_else(|| Diagnostic::new("there are more counters than addresses reach"))
}

/// Minimum number of cycles of the block from `at` on, that is the sum of the distances in its control words.
pub(super) fn least_cycles_of_block(probed: &ProbedCode<'_>, at: OpIndex) -> u32 {
    let blocks = &probed.cfg.space.blocks;
    let Some(block) = blocks.starting_at(at).map(|index| blocks.get(index)) else {
        // No block begins here, so nothing shortens the wait.
        return 0;
    };
    let instrs = block
        .ops()
        .filter_map(|at| probed.program.instrs.get(at.index()));
    instrs
        .map(|instr| u32::from(instr.control.min_distance()))
        .sum()
}
