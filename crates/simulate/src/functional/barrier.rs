//! Barriers of a block.
//!
//! A barrier opens when the expected number of threads has arrived. Whole warps count, as on GPUs with one program
//! counter for each warp: a warp with diverged lanes arrives with all its threads. For example, if one lane of a warp
//! executes BAR.SYNC, all 32 threads count as arrived. GPUs from Volta on count threads, so that there a run ends unless all lanes arrive. A split arrives with the threads of its lanes, so a barrier waits for all splits.

use warpbound_ir::{BarrierReduction, OpIndex};
use warpbound_simt::ExecutionModel;

use super::Counts;
use super::block::Block;
use super::fault::{BarrierWait, Fault, FaultKind};
use super::warp::{ArrivedThreads, Warp};

impl<E: ExecutionModel<u32>, const W: usize> Block<'_, E, W> {
    /// Counts the threads of a warp that arrives at a barrier without waiting (`barrier.arrive`).
    pub(super) fn arrive(&mut self, warp_index: usize, barrier: u32, threads: Option<u32>) {
        let own = self.warps[warp_index].threads;
        let expected = threads.unwrap_or(self.launch.block.iter().product());
        match self.arrived.iter_mut().find(|p| p.barrier == barrier) {
            Some(arrived) => arrived.threads += own,
            None => self.arrived.push(ArrivedThreads {
                barrier,
                threads: own,
                expected,
            }),
        }
        // If no warp waits, enough arrivals complete the barrier: it is reset for its next use.
        let waiting: u32 = self
            .warps
            .iter()
            .filter(|warp| warp.barrier_wait.is_some_and(|w| w.barrier == barrier))
            .map(|warp| warp.threads)
            .sum();
        if waiting == 0 {
            self.arrived
                .retain(|p| p.barrier != barrier || p.threads < p.expected);
        }
    }

    /// Number of threads that arrived at a barrier without waiting since it was last reset.
    fn arrived_at(&self, barrier: u32) -> u32 {
        let arrived = self.arrived.iter().filter(|a| a.barrier == barrier);
        arrived.map(|a| a.threads).sum()
    }

    /// Result of the reduction over the threads that wait at a barrier; `None` if there is no reduction.
    fn reduce(&self, barrier: u32) -> Option<u32> {
        let waits = self.warps.iter().filter_map(|warp| warp.barrier_wait);
        let waits_here = waits.filter(|wait| wait.barrier == barrier);
        let mut found: Option<(BarrierReduction, u32, u32)> = None;
        for (question, holds, all) in waits_here.filter_map(|wait| wait.reduction) {
            let sum = found.get_or_insert((question, 0, 0));
            sum.1 += holds;
            sum.2 += all;
        }
        found.map(|(question, holds, all)| match question {
            BarrierReduction::Count => holds,
            BarrierReduction::All => (holds == all).into(),
            BarrierReduction::Any => (holds > 0).into(),
        })
    }

    /// Unblocks the warps at each barrier that has enough arrivals. A barrier of the whole block does not wait for
    /// exited threads; such a release is noted.
    pub(crate) fn release(&mut self, counts: &mut Counts) {
        for warp_index in 0..self.warps.len() {
            let Some(wait) = self.warps[warp_index].barrier_wait else {
                continue;
            };
            let waits_here =
                |warp: &&Warp<E, W>| warp.barrier_wait.is_some_and(|w| w.barrier == wait.barrier);
            // Threads that arrived without waiting count as well.
            let arrived: u32 = self
                .warps
                .iter()
                .filter(waits_here)
                .map(|warp| warp.threads)
                .sum::<u32>()
                + self.arrived_at(wait.barrier);
            let exited: u32 = self
                .warps
                .iter()
                .filter(|warp| warp.model.running().is_none())
                .map(|warp| warp.threads)
                .sum();
            let all = self.launch.block.iter().product::<u32>();
            // Chips before Volta do not wait for warps that have exited (SOUNDNESS 7).
            let expected = wait.threads.unwrap_or(all.saturating_sub(exited));
            if arrived < expected {
                continue;
            }
            // A barrier with a stated count does not depend on exited threads.
            if wait.threads.is_none() && exited != 0 {
                let ended = self.ended_threads();
                if ended != 0 {
                    counts.note_exited_threads(wait.at, self.index, ended);
                }
            }
            let result = self.reduce(wait.barrier);
            self.arrived
                .retain(|arrived| arrived.barrier != wait.barrier);
            for warp in &mut self.warps {
                if warp.barrier_wait.is_some_and(|w| w.barrier == wait.barrier) {
                    warp.barrier_wait = None;
                    // A barrier without a reduction leaves the result of the last one.
                    warp.barrier_result = result.unwrap_or(warp.barrier_result);
                }
            }
        }
    }

    /// Number of threads of the warps that have exited with all their splits. A split that ends before its siblings
    /// says nothing about the kernel.
    fn ended_threads(&self) -> u32 {
        let is_running = |first_thread: u32| {
            // The splits of a warp have the same first thread.
            let mut parts = self.warps.iter().filter(|w| w.first_thread == first_thread);
            parts.any(|part| part.model.running().is_some())
        };
        let ended = self.warps.iter().filter(|w| !is_running(w.first_thread));
        ended.map(|warp| warp.threads).sum()
    }

    /// Returns the fault of a block whose warps are all exited or blocked.
    pub(crate) fn deadlock(&self) -> Fault {
        let waiters: Vec<BarrierWait> = self
            .warps
            .iter()
            .filter_map(|warp| {
                let wait = warp.barrier_wait?;
                Some(BarrierWait {
                    warp: warp.first_thread / W as u32,
                    at: OpIndex(wait.at),
                    barrier: wait.barrier,
                    threads: wait.threads,
                })
            })
            .collect();
        let at = waiters.first().map_or(0, |waiter| waiter.at.0);
        self.fault(at, FaultKind::Deadlock(waiters))
    }
}
