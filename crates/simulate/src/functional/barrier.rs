//! Warps that wait for each other.

use warpbound_ir::{OpIndex, Question};

use super::Counts;
use super::block::Block;
use super::fault::{Fault, FaultKind, BarrierWait};
use super::lanes::LANES;
use super::warp::{ArrivedThreads, Warp};

impl Block<'_> {
    /// Counts a warp's threads at a barrier at which it does not wait.
    pub(super) fn arrive(&mut self, number: usize, barrier: u32, threads: Option<u32>) {
        let own = self.thread_count(&self.warps[number]);
        let wanted = threads.unwrap_or(self.launch.block.iter().product());
        match self.passed.iter_mut().find(|p| p.barrier == barrier) {
            Some(passed) => passed.threads += own,
            None => self.passed.push(ArrivedThreads {
                barrier,
                threads: own,
                expected: wanted,
            }),
        }
        // With nobody there to wait, the barrier opens and begins anew.
        let waiting: u32 = self
            .warps
            .iter()
            .filter(|warp| warp.barrier_wait.is_some_and(|w| w.barrier == barrier))
            .map(|warp| self.thread_count(warp))
            .sum();
        if waiting == 0 {
            self.passed
                .retain(|p| p.barrier != barrier || p.threads < p.expected);
        }
    }

    /// Threads that have passed a barrier since it opened last.
    fn arrived_at(&self, barrier: u32) -> u32 {
        let passed = self.passed.iter().filter(|p| p.barrier == barrier);
        passed.map(|p| p.threads).sum()
    }

    /// What the warps at a barrier are answered.
    fn reduce(&self, barrier: u32) -> Option<u32> {
        let waits = self.warps.iter().filter_map(|warp| warp.barrier_wait);
        let asks = waits.filter(|wait| wait.barrier == barrier);
        let mut found: Option<(Question, u32, u32)> = None;
        for (question, yes, all) in asks.filter_map(|wait| wait.reduction) {
            let sum = found.get_or_insert((question, 0, 0));
            sum.1 += yes;
            sum.2 += all;
        }
        found.map(|(question, yes, all)| match question {
            Question::Count => yes,
            Question::All => (yes == all).into(),
            Question::Any => (yes > 0).into(),
        })
    }

    /// Lets warps go that wait at a barrier with enough others. Whole warps count; those that have left are not waited
    /// for at a barrier of the whole block, which is noted.
    pub(crate) fn release(&mut self, counts: &mut Counts) {
        for number in 0..self.warps.len() {
            let Some(wait) = self.warps[number].barrier_wait else {
                continue;
            };
            let at_it = |warp: &&Warp| warp.barrier_wait.is_some_and(|w| w.barrier == wait.barrier);
            let arrived: u32 = self
                .warps
                .iter()
                .filter(at_it)
                .map(|warp| self.thread_count(warp))
                .sum::<u32>()
                + self.arrived_at(wait.barrier);
            let gone: u32 = self
                .warps
                .iter()
                .filter(|warp| warp.stack.top().is_none())
                .map(|warp| self.thread_count(warp))
                .sum();
            let all = self.launch.block.iter().product::<u32>();
            let wanted = wait.threads.unwrap_or(all - gone);
            if arrived < wanted {
                continue;
            }
            if wait.threads.is_none() && gone != 0 {
                counts.note_exited_threads(wait.at, self.index, gone);
            }
            let answer = self.reduce(wait.barrier);
            self.passed.retain(|passed| passed.barrier != wait.barrier);
            for warp in &mut self.warps {
                if warp.barrier_wait.is_some_and(|w| w.barrier == wait.barrier) {
                    warp.barrier_wait = None;
                    warp.barrier_result = answer.unwrap_or(warp.barrier_result);
                }
            }
        }
    }

    /// Threads of a warp.
    fn thread_count(&self, warp: &Warp) -> u32 {
        let all = self.launch.block.iter().product::<u32>();
        (all - warp.first_thread).min(LANES as u32)
    }

    pub(crate) fn deadlock(&self) -> Fault {
        let waiting = self.warps.iter().zip(0u32..);
        let waiters: Vec<BarrierWait> = waiting
            .filter_map(|(warp, number)| {
                let wait = warp.barrier_wait?;
                Some(BarrierWait {
                    warp: number,
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
