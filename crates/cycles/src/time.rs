//! Time of a kernel: costs of all steps, for a choice of vectors.

use std::collections::BTreeSet;

use warpbound_ir::OpIndex;

use crate::account::{Account, Term, TermCycles};
use crate::code::TimedCode;
use crate::contention::{Contention, NodeServices};
use crate::demands::{Demands, DramTransfers};
use crate::kernel::{OnceCost, OtherWarps, TimedKernel};
use crate::memory::AccessLimits;
use crate::numbers::{MILLI, MachineNumbers};
use crate::potentials::{NodeTimes, StepCost, Timing};
use crate::rules::StepRules;
use crate::siblings::SiblingCosts;
use crate::state::Layout;
use crate::waits::KernelWaits;

/// Limits of the time of the steps of a warp that runs alone.
pub struct KernelTime<'a> {
    timing: Timing<'a>,
    /// Headers of loops whose entries can pay for the scoreboards that they bring.
    headers: Vec<usize>,
    paid: BTreeSet<usize>,
    times: Vec<Option<NodeTimes>>,
}

/// Vectors of the nodes of a kernel. The vectors for one machine and some limits of accesses may be used for others,
/// because the costs of steps limit the time of a path whatever the vectors are (SOUNDNESS 11.5).
#[derive(Clone)]
pub struct NodeVectors {
    layout: Layout,
    paid: BTreeSet<usize>,
    times: Vec<Option<NodeTimes>>,
}

/// Costs of the steps of a warp.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathTime {
    /// Cost of each step, in the order of [`TimedKernel::steps`]; `None` for steps that are never taken.
    pub steps: Vec<Option<StepCost>>,
    /// Costs of the steps that end a warp, by number, if it ends with its exit.
    pub exits: Vec<(usize, StepCost)>,
    /// Cost of the start.
    pub start: StepCost,
    /// Costs that are paid a limited number of times.
    pub once: Vec<OnceCost>,
}

impl PathTime {
    /// Returns the costs for a warp that others follow: it ends when it has exited, whatever it has stored.
    pub fn followed(mut self) -> PathTime {
        for (number, cost) in self.exits.drain(..) {
            if let Some(step) = self.steps.get_mut(number) {
                *step = Some(cost);
            }
        }
        self
    }
}

impl<'a> KernelTime<'a> {
    /// Prepares the limits for a kernel on a machine.
    pub fn new(kernel: &'a TimedKernel<'a>, numbers: &MachineNumbers) -> KernelTime<'a> {
        let transfer = StepRules::new(kernel, numbers);
        let waits = KernelWaits::compute(kernel, numbers, transfer.memory());
        let timing = Timing::new(kernel, transfer, waits);
        let headers = timing.headers();
        let mut time = KernelTime {
            timing,
            // Results that an entry of a loop leaves pending are rarely pending in later iterations.
            paid: headers.iter().copied().collect(),
            headers,
            times: Vec::new(),
        };
        time.times = time.timing.vectors(&time.paid);
        time
    }

    pub(crate) fn timing(&self) -> &Timing<'a> {
        &self.timing
    }

    /// Time from the start of a warp to the arrival of its first line, in thousandths of cycles.
    pub(crate) fn first_fetch(&self) -> i64 {
        self.timing.first_fetch()
    }

    /// Returns the demands of one execution of an instruction; `None` for waves. The access of the execution has its
    /// own limits and its own transfers from and to DRAM.
    pub fn demands(
        &self,
        at: OpIndex,
        access: Option<(&AccessLimits, DramTransfers)>,
    ) -> Option<Demands> {
        let StepRules::Warps(transfer) = &self.timing.transfer else {
            return None;
        };
        let transfers = access.map(|(_, transfers)| transfers);
        let limits = access.map(|(limits, _)| limits);
        Some(Demands::of(transfer, at, limits, transfers))
    }

    /// Services of one execution of an instruction whose access has these limits. `None` for waves.
    pub fn services(&self, at: OpIndex, access: &AccessLimits) -> Option<NodeServices> {
        let StepRules::Warps(transfer) = &self.timing.transfer else {
            return None;
        };
        Some(Demands::of(transfer, at, Some(access), None).by_service())
    }

    /// Thousandths of cycles for which sectors of a line of code or constants occupy a slice, and for which their
    /// transfers occupy DRAM: sectors that are read, and lines that are evicted.
    pub fn line_demands(&self, sectors: u64, read: u64, evicted_lines: u64) -> (u64, u64) {
        let memory = self.timing.transfer.memory();
        let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let (slice, _) = memory.line_service(whole(sectors), false);
        let dram = memory.dram_service(whole(read), whole(evicted_lines));
        (slice.unsigned_abs(), dram.unsigned_abs())
    }

    /// Returns the vectors of the nodes.
    pub fn vectors(&self) -> NodeVectors {
        NodeVectors {
            layout: self.timing.transfer.layout().clone(),
            paid: self.paid.clone(),
            times: self.times.clone(),
        }
    }

    /// Replaces the vectors by the vectors of the same kernel with other limits.
    pub fn use_vectors(&mut self, vectors: &NodeVectors) {
        let layout = self.timing.transfer.layout();
        let convert = |times: &NodeTimes| NodeTimes {
            vector: times.vector.in_layout(&vectors.layout, layout),
            ..times.clone()
        };
        let times = vectors
            .times
            .iter()
            .map(|times| times.as_ref().map(convert));
        self.times = times.collect();
        self.paid = vectors.paid.clone();
    }

    /// Returns the maximum delays of a split by operations of another one; `None` unless the wave may split.
    pub fn sibling_costs(&self, numbers: &MachineNumbers) -> Option<SiblingCosts> {
        SiblingCosts::of(&self.timing, numbers)
    }

    /// Returns the times for which a warp occupies what others need; `None` if the code has no services of a warp.
    pub fn contention(&self, numbers: &MachineNumbers) -> Option<Contention> {
        Contention::of(&self.timing, numbers)
    }

    /// Returns the costs of all steps.
    pub fn costs(&self) -> PathTime {
        PathTime {
            steps: self.timing.costs(&self.times, |_| true),
            exits: self.timing.exits(&self.times),
            start: self.timing.start_cost(&self.times),
            once: self.timing.waits.once_by_payer(self.timing.kernel.others).0,
        }
    }

    /// Improves the costs for a path on which each step is taken `counts` times: tries the other choice for each loop,
    /// and keeps it if the path gets cheaper. Returns whether a choice changed.
    pub fn improve(&mut self, counts: &[u128]) -> bool {
        let path_cost = |time: &KernelTime<'_>| {
            let is_taken = |number: usize| counts.get(number).is_some_and(|&count| count > 0);
            // Only steps on the path decide, so the others need no cost here.
            let costs = time.timing.costs(&time.times, is_taken);
            let steps = costs.iter().zip(counts);
            let steps = steps.map(|(cost, count)| {
                let cycles = cost.as_ref().map_or(0, |cost| u128::from(cost.cycles));
                cycles.saturating_mul(*count)
            });
            let start = time.timing.start_cost(&time.times);
            steps.fold(u128::from(start.cycles), u128::saturating_add)
        };
        // Any choice is sound, so one that makes this path cheaper is kept even if other paths get dearer.
        let mut best = path_cost(self);
        let mut changed = false;
        for header in self.headers.clone().into_iter().take(MOST_CHOICES) {
            let before = (self.paid.clone(), self.times.clone());
            if !self.paid.remove(&header) {
                self.paid.insert(header);
            }
            self.times = self.timing.vectors(&self.paid);
            let found = path_cost(self);
            if found < best {
                best = found;
                changed = true;
            } else {
                (self.paid, self.times) = before;
            }
        }
        changed
    }

    /// Returns the time of each instruction on a path, in thousandths of cycles; counts as in [`KernelTime::improve`].
    pub fn instructions(&self, counts: &[u128]) -> Vec<f64> {
        let mut all = vec![0.0; self.timing.kernel.facts.len()];
        let mut own = vec![0; all.len()];
        for (step, count) in self.timing.kernel.steps.iter().zip(counts) {
            if *count == 0 {
                continue;
            }
            let Some(times) = self.times.get(step.from).and_then(Option::as_ref) else {
                continue;
            };
            let ends = self.timing.kernel.nodes.get(step.from).copied().flatten();
            let Some((first, last)) = ends else {
                continue;
            };
            let mut account = Account::new(times.raised_by);
            account.ops = Some(&mut own);
            self.timing.execute(step.from, times, &mut account);
            let range = first.index()..last.index() + 1;
            let of_node = all.get_mut(range.clone()).into_iter().flatten();
            for (all, own) in of_node.zip(own.get_mut(range).into_iter().flatten()) {
                *all += *own as f64 * *count as f64;
                *own = 0;
            }
        }
        all
    }
}

/// Maximum number of loops for which both choices are tried.
const MOST_CHOICES: usize = 12;

impl Timing<'_> {
    /// Wait of a warp for the lines of its first instruction. A launch loads them for its first warps, together with
    /// the lines that are prefetched. The first cache may have lost them to these lines, or to lines of other warps.
    fn first_fetch(&self) -> i64 {
        let is_alone = self.kernel.others == OtherWarps::Absent;
        let first = self.waits.nodes.get(self.kernel.entry);
        let Some(first) = first.and_then(|waits| waits.first()) else {
            return 0;
        };
        let waits = [first.fetch, first.fetch_last].into_iter();
        let waits = waits.filter(|wait| wait.waits);
        waits
            .map(|wait| {
                // What a launch has loaded is present when it begins.
                let backlog = if is_alone { 0 } else { wait.backlog };
                wait.latency + backlog + wait.service.0 + wait.service.1
            })
            .sum()
    }

    /// Cost of the start: the excess over the vector of the first node.
    fn start_cost(&self, times: &[Option<NodeTimes>]) -> StepCost {
        // A wave starts at any time of a turn.
        let late = match self.kernel.facts {
            TimedCode::Warps(_) => 0,
            // It starts in a turn after its group does, not in the same cycle.
            TimedCode::Waves(_) => MILLI,
        };
        // A wave that is ready just after its turn waits for almost a whole one.
        let missed = self.transfer.turn() - MILLI + late;
        let milli = self.start_excess(times) + missed + self.first_fetch();
        let cycles = (milli + MILLI - 1).div_euclid(MILLI);
        let mut terms: TermCycles = [0; Term::ALL.len()];
        terms[Term::Issue as usize] = cycles * MILLI;
        StepCost {
            cycles: cycles as u64,
            terms,
        }
    }
}
