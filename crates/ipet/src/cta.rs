//! Abstract CTA simulation (`abstract-cta-2014`, section 3.3): the estimate of the paper, as published.
//!
//! One abstract warp represents all warps; between `N_low` and `N_high` warps execute an element. The estimate is
//! not a bound: it omits the last evaluation of each loop's predicate ([`Estimate::corrected`] adds it) and sync
//! instructions that lanes of a warp execute one after the other. For a bound see [`crate::block`].

use std::collections::BTreeMap;

use warpbound_graph::LoopIndex;

use crate::abstract_warp::{AbstractWarp, WarpElement};

/// Iteration counts of each loop per entry: one number for each warp of the block, in any order.
pub type Iterations = BTreeMap<LoopIndex, Vec<u64>>;

/// Step of the simulation, or several equal steps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CtaStep {
    /// Element outside all loops.
    Element {
        /// Position in the abstract warp.
        element: usize,
        /// Cycles of instructions that it adds.
        instr: u64,
        /// Cycles of stalls that were added while it was simulated.
        stall: u64,
        /// Minimum and maximum number of warps that execute it (`N_low`, `N_high`).
        warps: (u64, u64),
        /// `T_SHIFT` after it.
        shift: u64,
    },
    /// Iterations of an outermost loop.
    Iterations {
        /// Position of the loop in the abstract warp.
        element: usize,
        /// Number of iterations.
        count: u64,
        /// Cycles of instructions per iteration.
        instr: u64,
        /// Cycles of stalls per iteration.
        stall: u64,
        /// Number of warps that execute them.
        warps: u64,
    },
    /// Flush of the accesses left in the LOG at the end.
    Flush {
        /// Cycles of stalls.
        stall: u64,
    },
}

/// Estimate of a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Estimate {
    /// Cycles with an issue (`T_instr`).
    pub instr: u64,
    /// Cycles of stalls (`T_stall`).
    pub stall: u64,
    /// Cycles of the last evaluations of the loop predicates, which the paper omits.
    pub omitted: u64,
    /// Steps of the simulation.
    pub steps: Vec<CtaStep>,
}

impl Estimate {
    /// Execution time as published (`T_exec`), in cycles.
    pub fn cycles(&self) -> u64 {
        self.instr.saturating_add(self.stall)
    }

    /// Execution time with the cycles that the paper omits.
    pub fn corrected(&self) -> u64 {
        self.cycles().saturating_add(self.omitted)
    }
}

/// Reason why there is no estimate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoEstimate {
    /// Loop with unknown iteration counts.
    Unknown(LoopIndex),
    /// Simulation with too many steps.
    TooLong,
}

/// Maximum number of elements to simulate.
const MAX_STEPS: u64 = 50_000_000;

/// Simulates a block of `warps` warps with a memory latency of `memory` cycles.
///
/// # Errors
///
/// Fails if the iteration counts of a loop are unknown, or if the simulation would take too many steps.
pub fn simulate(
    warp: &AbstractWarp,
    warps: u64,
    memory: u64,
    iterations: &Iterations,
) -> Result<Estimate, NoEstimate> {
    let mut simulation = CtaSimulation {
        memory,
        iterations,
        state: CtaState {
            low: warps,
            high: warps,
            shift: 0,
            log: Vec::new(),
        },
        instr: 0,
        stall: 0,
        omitted: 0,
        steps_left: MAX_STEPS,
    };
    let mut steps = Vec::new();
    let all: Vec<usize> = (0..warps as usize).collect();
    for (position, element) in warp.elements.iter().enumerate() {
        let before = (simulation.instr, simulation.stall);
        let warps = (simulation.state.low, simulation.state.high);
        match element {
            WarpElement::Loop { index, head, body } => {
                let mut record = |count, instr, stall, warps| match steps.last_mut() {
                    Some(CtaStep::Iterations {
                        element,
                        count: known,
                        instr: i,
                        stall: s,
                        warps: w,
                    }) if (*element, *i, *s, *w) == (position, instr, stall, warps) => {
                        *known += count;
                    }
                    _ => steps.push(CtaStep::Iterations {
                        element: position,
                        count,
                        instr,
                        stall,
                        warps,
                    }),
                };
                simulation.iterate(*index, head, body, &all, &mut record)?;
            }
            element => {
                simulation.element(element, &all)?;
                steps.push(CtaStep::Element {
                    element: position,
                    instr: simulation.instr - before.0,
                    stall: simulation.stall - before.1,
                    warps,
                    shift: simulation.state.shift,
                });
            }
        }
    }
    let before = simulation.stall;
    simulation.flush();
    if simulation.stall > before {
        steps.push(CtaStep::Flush {
            stall: simulation.stall - before,
        });
    }
    Ok(Estimate {
        instr: simulation.instr,
        stall: simulation.stall,
        omitted: simulation.omitted,
        steps,
    })
}

/// Memory access in the LOG, whose stall is not yet counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Access {
    /// Minimum of `N_low` since the access.
    low: u64,
    /// Cycles of instructions that a warp has executed since the access.
    distance: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct CtaState {
    low: u64,
    high: u64,
    shift: u64,
    log: Vec<Access>,
}

struct CtaSimulation<'a> {
    memory: u64,
    iterations: &'a Iterations,
    state: CtaState,
    instr: u64,
    stall: u64,
    omitted: u64,
    steps_left: u64,
}

impl CtaSimulation<'_> {
    fn element(&mut self, element: &WarpElement, warps: &[usize]) -> Result<(), NoEstimate> {
        self.steps_left = self.steps_left.checked_sub(1).ok_or(NoEstimate::TooLong)?;
        match element {
            WarpElement::Time { instr, shift, .. } => {
                self.instr = self
                    .instr
                    .saturating_add(self.state.high.saturating_mul(*instr));
                self.state.shift = self.state.shift.saturating_add(*shift);
                for access in &mut self.state.log {
                    access.distance = access.distance.saturating_add(*instr);
                }
                // An access further back than the warps are apart (`T_SHIFT`) no longer overlaps with other warps.
                let window = self.state.shift;
                self.flush_if(|access| access.distance > window);
            }
            WarpElement::Memory(_) => {
                self.state.log.push(Access {
                    low: self.state.low,
                    distance: 0,
                });
                // In the paper's example 4 warps that read one after the other have a `T_SHIFT` of 3.
                self.state.shift = self.state.shift.max(self.state.low.saturating_sub(1));
            }
            WarpElement::Barrier(_) => {
                self.flush();
                self.state.shift = 0;
                let here = warps.len() as u64;
                (self.state.low, self.state.high) = (here, here);
            }
            WarpElement::Loop { index, head, body } => {
                self.iterate(*index, head, body, warps, &mut |_, _, _, _| ())?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) {
        self.flush_if(|_| true);
    }

    fn flush_if(&mut self, flushed: impl Fn(&Access) -> bool) {
        let memory = self.memory;
        let mut stall = 0u64;
        self.state.log.retain(|access| {
            let leaves = flushed(access);
            if leaves {
                // The other warps issue meanwhile: in the paper's example a latency of 10 leaves 4 warps 6 stall
                // cycles.
                stall = stall.saturating_add(memory.saturating_sub(access.low));
            }
            !leaves
        });
        self.stall = self.stall.saturating_add(stall);
    }

    /// Simulates a loop; calls `record` with (iterations, instruction cycles and stall cycles of one, warps).
    fn iterate(
        &mut self,
        index: LoopIndex,
        head: &[WarpElement],
        body: &[WarpElement],
        warps: &[usize],
        record: &mut dyn FnMut(u64, u64, u64, u64),
    ) -> Result<(), NoEstimate> {
        let known = self.iterations.get(&index);
        let known = known.ok_or(NoEstimate::Unknown(index))?;
        let count_of = |warp: usize| known.get(warp).copied().unwrap_or(0);
        // Ascending iteration counts, so that warps leave the loop from the front.
        let mut order: Vec<usize> = warps.to_vec();
        order.sort_by_key(|&warp| count_of(warp));
        let outside = (self.state.low, self.state.high);
        let mut left = 0;
        let mut done = 0;
        while let Some(&next) = order.get(left) {
            let until = count_of(next);
            let inside = &order[left..];
            let here = inside.len() as u64;
            if until > done {
                (self.state.low, self.state.high) = (here, here);
                for access in &mut self.state.log {
                    access.low = access.low.min(here);
                }
            }
            while done < until {
                let before = (self.state.clone(), self.instr, self.stall, self.omitted);
                for element in head.iter().chain(body) {
                    self.element(element, inside)?;
                }
                let (instr, stall) = (self.instr - before.1, self.stall - before.2);
                let mut repeated = 1;
                if self.state == before.0 {
                    // The state is a fixpoint of the iteration, so all further iterations are equal.
                    repeated = until - done;
                    let more = repeated - 1;
                    let times = |one: u64| one.saturating_mul(more);
                    self.instr = self.instr.saturating_add(times(instr));
                    self.stall = self.stall.saturating_add(times(stall));
                    let forgotten = self.omitted - before.3;
                    self.omitted = self.omitted.saturating_add(times(forgotten));
                }
                record(repeated, instr, stall, here);
                done += repeated;
            }
            left += inside.partition_point(|&warp| count_of(warp) == until);
        }
        let head_time: u64 = head
            .iter()
            .map(|element| match element {
                WarpElement::Time { instr, .. } => *instr,
                _ => 0,
            })
            .sum();
        // A loop with its test at the end has no extra evaluation: the test is part of the last iteration.
        if !body.is_empty() {
            let all = head_time.saturating_mul(order.len() as u64);
            self.omitted = self.omitted.saturating_add(all);
        }
        // Warps that leave at different times may execute the code after the loop one by one, so N_low drops to 1.
        let together = order.first().map(|&w| count_of(w)) == order.last().map(|&w| count_of(w));
        (self.state.low, self.state.high) = match together {
            true => outside,
            false => (outside.0.min(1), outside.1),
        };
        Ok(())
    }
}
