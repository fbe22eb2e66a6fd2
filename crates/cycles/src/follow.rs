//! Warps on observed paths: the transfer functions of the bound along the nodes that a warp of a run has passed, with
//! the numbers of each of its accesses.
//!
//! The bound adds the costs of steps between vectors that hold for all paths. Here the vector belongs to this path
//! alone. Waits for other warps are left out, and so are costs that are paid a limited number of times, as in the
//! bound.

use warpbound_ir::OpIndex;

use crate::account::{Account, Term};
use crate::memory::AccessLimits;
use crate::numbers::MILLI;
use crate::outcomes::WorstOutcomes;
use crate::rules::StepRules;
use crate::state::{SCOREBOARDS, TimeVector};
use crate::time::KernelTime;

/// Place where a followed warp stops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// Arrival at a barrier that opens for it alone.
    Barrier,
    /// End: cycles until all its stores have arrived, and until its last instruction.
    End {
        /// Stores included.
        path: u64,
        /// Without stores.
        followed: u64,
    },
}

/// Warp that is followed on its path.
pub struct FollowedWarp<'a> {
    time: &'a KernelTime<'a>,
    /// Nodes in the order of the path.
    nodes: &'a [u32],
    /// Accesses in the order of their execution; an instruction without an active lane has none.
    accesses: &'a [(OpIndex, AccessLimits)],
    /// Next instruction of the first of the nodes.
    next: Option<OpIndex>,
    vector: TimeVector,
}

impl<'a> FollowedWarp<'a> {
    /// Begins at the start of a warp. `None` if the code has no warps, or the path no node.
    pub fn start(
        time: &'a KernelTime<'a>,
        nodes: &'a [u32],
        accesses: &'a [(OpIndex, AccessLimits)],
    ) -> Option<FollowedWarp<'a>> {
        let timing = time.timing();
        let StepRules::Warps(_) = timing.transfer else {
            return None;
        };
        let mut warp = FollowedWarp {
            time,
            nodes,
            accesses,
            next: None,
            vector: TimeVector::start(timing.transfer.layout(), time.first_fetch()),
        };
        warp.next = Some(warp.ends()?.0);
        Some(warp)
    }

    /// First and last instruction of the present node.
    fn ends(&self) -> Option<(OpIndex, OpIndex)> {
        let node = *self.nodes.first()? as usize;
        self.time.timing().kernel.nodes.get(node).copied().flatten()
    }

    /// Goes on to the next barrier or to the end. `None` if the kernel does not have the path.
    pub fn run(&mut self) -> Option<Stop> {
        let timing = self.time.timing();
        let StepRules::Warps(transfer) = &timing.transfer else {
            return None;
        };
        let mut account = Account::new([Term::Dependencies; SCOREBOARDS]);
        loop {
            let node = *self.nodes.first()? as usize;
            let (first, last) = self.ends()?;
            let waits = timing.waits.nodes.get(node)?;
            while let Some(at) = self.next.filter(|at| *at <= last) {
                let waits = waits.get((at.0 - first.0) as usize)?;
                if at != first {
                    let before = OpIndex(at.0 - 1);
                    timing.fetch(before, at, &mut self.vector, waits, &mut account);
                }
                let access = match self.accesses.split_first() {
                    Some(((own, access), rest)) if *own == at => {
                        self.accesses = rest;
                        Some(access)
                    }
                    _ => None,
                };
                let mut outcomes = WorstOutcomes {
                    memory: &transfer.memory,
                    access,
                    most_sectors: transfer.most_sectors,
                    waits,
                };
                transfer.issue_with(&mut self.vector, at, &mut outcomes, &mut account);
                self.next = Some(at.next());
                if transfer.facts.get(at.index())?.arrives {
                    return Some(Stop::Barrier);
                }
            }
            let to = self.nodes.get(1).map(|&to| to as usize);
            let mut steps = timing.kernel.steps.iter();
            let step = steps.find(|step| step.from == node && step.to == to)?;
            timing.advance(*step, &mut self.vector, &mut account);
            if to.is_none() {
                let cycles = |milli: i64| (milli.max(0).unsigned_abs()).div_ceil(MILLI as u64);
                return Some(Stop::End {
                    path: cycles(timing.transfer.end(&self.vector)),
                    followed: cycles(timing.transfer.exit(&self.vector)),
                });
            }
            self.nodes = self.nodes.get(1..)?;
            self.next = Some(self.ends()?.0);
        }
    }

    /// Raises the times of warps that wait at a barrier to the latest of all, component by component.
    pub fn meet(warps: &mut [FollowedWarp<'_>]) {
        let Some((first, rest)) = warps.split_first_mut() else {
            return;
        };
        // An aligned barrier opens at the latest arrival, so the maximum bounds every warp from there on
        // (SOUNDNESS 20.4).
        for warp in rest.iter() {
            for (latest, own) in first.vector.0.iter_mut().zip(&warp.vector.0) {
                *latest = (*latest).max(*own);
            }
        }
        for warp in rest {
            warp.vector.0.clone_from(&first.vector.0);
        }
    }
}
