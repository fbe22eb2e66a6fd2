//! State of a run that all compute units share.

use warpbound_launch::{GlobalMemory, Launch};
use warpbound_timing::{IssueKind, WaveFacts};

use super::super::SingleWarp;
use super::super::event::{Event, EventListener};
use super::super::gpu::RunContext;
use super::super::l2::L2Cache;
use super::super::parameters::UsedParameters;
use super::WaveSetup;
use super::probe::WaveProbe;
use crate::functional::{Counts, Program, WAVE_LANES};

/// State of a run that all compute units share.
pub(super) struct WaveContext<'a, 'r, L> {
    pub(super) parameters: &'a UsedParameters,
    pub(super) setup: &'a WaveSetup,
    pub(super) program: &'r Program<'r, WAVE_LANES>,
    pub(super) launch: &'r Launch,
    pub(super) facts: &'a [WaveFacts],
    pub(super) l2: L2Cache<'a>,
    pub(super) memory: &'a mut GlobalMemory,
    pub(super) counts: Counts,
    /// Wave instructions left before the limit of the launch.
    pub(super) budget: u64,
    /// Cycle when the L2 cache has accepted all stores so far.
    pub(super) stores_done: u64,
    /// Number of groups that have not started.
    pub(super) unstarted: u64,
    pub(super) probe: WaveProbe,
    pub(super) listener: &'a mut L,
}

impl<L: EventListener> RunContext for WaveContext<'_, '_, L> {
    #[inline(always)]
    fn parameters(&self) -> &UsedParameters {
        self.parameters
    }

    #[inline(always)]
    fn launch(&self) -> &Launch {
        self.launch
    }

    #[inline(always)]
    fn only(&self) -> Option<SingleWarp> {
        self.setup.only
    }

    #[inline(always)]
    fn set_now(&mut self, now: u64) {
        self.l2.now = now;
    }

    #[inline(always)]
    fn stores_done(&self) -> u64 {
        self.stores_done
    }

    #[inline(always)]
    fn report(&mut self, cycle: u64, event: &Event) {
        self.listener.event(cycle, event);
    }

    #[inline(always)]
    fn report_outcomes(&mut self) {
        if L::RECORDS {
            for outcome in self.l2.recorder.take() {
                self.listener.outcome(&outcome);
            }
        }
    }
}

impl<L> WaveContext<'_, '_, L> {
    /// Kind of an instruction.
    pub(super) fn kind_of(&self, at: u32) -> IssueKind {
        let facts = self.facts.get(at as usize);
        facts.map_or(IssueKind::Internal, |facts| facts.kind)
    }
}
