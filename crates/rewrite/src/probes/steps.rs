//! Probe of a block whose counters are in registers, as steps that are placed one by one in the block.

use std::collections::BTreeSet;

use warpbound_base::Diagnostic;
use warpbound_ir::{Cell, OpIndex};
use warpbound_isa::instr::Guard;

use super::allocation::{Allocation, is_carry_free};
use super::schedule::{Placed, PrivateCells, Step, place};
use super::sequence::Sequence;
use super::{
    CounterRange, Increment, PREDICATE_LATENCY, ProbeFault, ProbeRequest, ProbeStyle, ProbedCode,
    ProbedQuantity, REGISTER_LATENCY,
};

/// Returns the placed instructions of the probe. Returns `None` if a counter is in memory or if no predicate is free.
/// The counters are ready `start` cycles after the block begins.
pub(super) fn probe(
    probed: &ProbedCode<'_>,
    request: &ProbeRequest,
    allocation: &Allocation,
    at: OpIndex,
    increments: &BTreeSet<Increment>,
    start: u32,
) -> Result<Option<Placed>, Diagnostic> {
    let in_memory = |i: &Increment| allocation.register_of(i.counter).is_none();
    if request.style != ProbeStyle::Registers || increments.iter().any(in_memory) {
        return Ok(None);
    }
    let mut steps = Steps {
        probed,
        request,
        allocation,
        start,
        steps: Vec::new(),
        last_write: Vec::new(),
        private: Vec::new(),
    };
    let of = |quantity| increments.iter().filter(move |i| i.quantity == quantity);
    for increment in of(ProbedQuantity::Lanes) {
        steps.count(increment, Guard::ALWAYS, None)?;
    }
    if of(ProbedQuantity::Issues).next().is_some() {
        let temporary = allocation.temporaries.get(&at).map(|[ballot, _]| *ballot);
        let predicate = allocation.predicates.get(&at).copied();
        let (Some(ballot), Some(pred), Some(below)) =
            (temporary, predicate, allocation.lanes_below)
        else {
            return Ok(None);
        };
        let tested = steps.find_leader(ballot, pred, below)?;
        let guard = Guard::of_lanes(Some(pred), false);
        for increment in of(ProbedQuantity::Issues) {
            steps.count(
                increment,
                guard,
                Some((tested, u32::from(PREDICATE_LATENCY))),
            )?;
        }
    }
    Ok(steps.place(at))
}

struct Steps<'a> {
    probed: &'a ProbedCode<'a>,
    request: &'a ProbeRequest,
    allocation: &'a Allocation,
    /// Cycle from which the counters can be read, counted from the start of the block.
    start: u32,
    steps: Vec<Step>,
    /// Registers of counters, each with the step that wrote it last.
    last_write: Vec<(u8, usize)>,
    /// Registers that nothing needs after the probe.
    private: Vec<Cell>,
}

impl Steps<'_> {
    /// Adds an instruction and returns its number.
    fn push(
        &mut self,
        guard: Guard,
        after: Vec<(usize, u32)>,
        build: impl FnOnce(&mut Sequence) -> Result<u32, Diagnostic>,
    ) -> Result<usize, Diagnostic> {
        let mut sequence = Sequence::new(self.probed.program.arch(), guard);
        build(&mut sequence)?;
        let instrs = sequence.finish()?;
        // A wait that is left over would add a NOP, which has no place of its own.
        let [instr] = instrs[..] else {
            return Err(Diagnostic::new("a step of a probe is one instruction"));
        };
        self.steps.push(Step {
            instr,
            after,
            not_before: 0,
            writes_counter: false,
        });
        Ok(self.steps.len() - 1)
    }

    /// Finds the active lane that has no active lane below it. The predicate holds in that lane.
    fn find_leader(&mut self, ballot: u8, pred: u8, below: u8) -> Result<usize, Diagnostic> {
        self.private.extend([Cell::gpr(ballot), Cell::pred(pred)]);
        let voted = self.push(Guard::ALWAYS, Vec::new(), |s| s.ballot(ballot))?;
        let after = vec![(voted, u32::from(REGISTER_LATENCY))];
        let own = self.allocation.is_scoreboard_own;
        let scoreboard = 1 << self.allocation.scoreboard;
        self.push(Guard::ALWAYS, after, |s| {
            if own {
                // The prologue reads the mask of the lower lanes with S2R, which may still be under way.
                s.wait(scoreboard);
            }
            s.test_disjoint(pred, ballot, below)
        })
    }

    /// Adds the weight to a counter, in the lanes where the guard holds.
    fn count(
        &mut self,
        increment: &Increment,
        guard: Guard,
        tested: Option<(usize, u32)>,
    ) -> Result<(), Diagnostic> {
        let Some(register) = self.allocation.register_of(increment.counter) else {
            return Err(Diagnostic::new("a counter in memory is no step"));
        };
        let weight = increment.weight;
        let low = self.after(register, tested);
        if self.request.range != CounterRange::Double {
            let step = self.push(guard, low, |s| s.increase(register, weight))?;
            self.wrote(register, step);
            return Ok(());
        }
        // The condition code holds the carry between the two additions.
        self.private.push(Cell::CC);
        let carry = self.push(guard, low, |s| s.increase_low(register, weight))?;
        self.wrote(register, carry);
        let mut high = self.after(register + 1, tested);
        high.push((carry, u32::from(REGISTER_LATENCY)));
        let negative = self.request.high(weight) != 0;
        let step = self.push(guard, high, |s| match negative {
            false => s.increase_high_by(register + 1, 255),
            true => s.decrease_high(register + 1),
        })?;
        self.wrote(register + 1, step);
        Ok(())
    }

    /// Results that a change of a register must wait for.
    fn after(&self, register: u8, tested: Option<(usize, u32)>) -> Vec<(usize, u32)> {
        let writes = self.last_write.iter().rev();
        let written = writes.filter(|(of, _)| *of == register).take(1);
        let written = written.map(|(_, step)| (*step, u32::from(REGISTER_LATENCY)));
        written.chain(tested).collect()
    }

    /// Records that a step writes a register that stays in use after the probe.
    fn wrote(&mut self, register: u8, step: usize) {
        self.last_write.push((register, step));
        if let Some(step) = self.steps.get_mut(step) {
            step.writes_counter = true;
            step.not_before = self.start;
        }
    }

    fn place(self, at: OpIndex) -> Option<Placed> {
        let probed = self.probed;
        let is_free = |at: OpIndex, cell: Cell| match cell {
            Cell::CC => is_carry_free(probed, at),
            // Registers that the program never names belong to the probes alone.
            cell if !probed.liveness.used().contains(cell) => true,
            cell => probed.liveness.is_free(at, cell),
        };
        let is_named = |at: OpIndex, cell: Cell| {
            if ProbeFault::NamesIgnored.is_in(probed.fault) {
                return false;
            }
            let op = probed.code.get(at);
            op.is_none_or(|op| {
                let reads = op.reads.iter().copied().chain(op.condition.cells());
                reads
                    .chain(op.writes.iter().copied())
                    .any(|named| named == cell)
            })
        };
        let private = PrivateCells {
            cells: &self.private,
            is_free: &is_free,
            is_named: &is_named,
        };
        place(probed, at, &self.steps, &private)
    }
}
