//! Timing of a family of GPUs: what differs between the multiprocessors of families. [`Core`] has all that does not.

use warpbound_launch::{GlobalMemory, Launch};
use warpbound_machine::BlockResources;
use warpbound_simt::{ExecutionModel, Mask};

use super::SingleWarp;
use super::core::{Core, IssueEffects};
use super::dispatch::Dispatcher;
use super::event::{EventListener, WarpPlace};
use super::l2::L2Cache;
use super::parameters::UsedParameters;
use super::warp::{Warp, WarpState};
use crate::functional::{Block, Counts, ExecutionListener, Fault, FaultKind, Program};

/// Timing of a family of GPUs whose warps have `W` lanes. A value of the type is the part of a multiprocessor that only
/// this family has: its units and caches, and how it numbers warp slots.
///
/// [`Core`] does the rest: it starts blocks, executes instructions, fetches code, opens barriers, ends warps and blocks,
/// accounts for each cycle of a warp, and reports events and outcomes. It asks the family, in the order of an instruction:
///
/// * which warps issue in a cycle: [`issue_cycle`](FamilyTiming::issue_cycle), which calls [`Core::issue`] for each, and
///   when a scheduler has to be asked again: [`earliest_issue`](FamilyTiming::earliest_issue);
/// * which unit held the warp up: [`accepts`](FamilyTiming::accepts);
/// * the time of the instruction: [`time`](FamilyTiming::time), which delays the warp with [`Warp::wait`];
/// * what the next instruction waits for, besides its code: [`wait_for_operands`](FamilyTiming::wait_for_operands).
///
/// A family whose multiprocessors have parts with a scheduler each, for example four from Volta on, answers with one
/// [`Scheduler`](FamilyTiming::Scheduler) for each part, which has the units of that part; units that the parts share
/// are fields of the type. It says in [`layout`](FamilyTiming::layout) how many there are, and in
/// [`take_slot`](FamilyTiming::take_slot) which slots a block gets: slot n belongs to scheduler n modulo their number.
/// If its control words are like those of `sm`, its warps can have the same state, and
/// [`wait_for_operands`](FamilyTiming::wait_for_operands) the same scoreboards. Its lanes have program counters of their
/// own: that is its execution model, [`Model`](FamilyTiming::Model), and which threads take part in a barrier is in the
/// functional state of the block, which this trait does not see.
pub(super) trait FamilyTiming<const W: usize>: Sized {
    /// Execution model of its warps.
    type Model: ExecutionModel<u32>;
    /// Scheduler: the warps that it selects from, and the units that serve these alone.
    type Scheduler;
    /// Timing state of a warp that only this family has.
    type WarpState: WarpState;
    /// Setup of a run, and what is known of each instruction before.
    type Run<'a>: Copy;
    /// Listener that records the facts about an executed instruction that its time depends on.
    type Probe<'a>: ExecutionListener<Self::Model>;

    /// Cycles from the start of a block to the first issue of its warps, at least.
    const FIRST_ISSUE_DELAY: u64;

    /// Returns the multiprocessors of a machine, the dispatcher of blocks to them, and what a block of the launch needs.
    fn layout(run: Self::Run<'_>, launch: &Launch, parameters: &UsedParameters) -> Layout<Self, W>;

    /// Lanes where the condition of the instruction executed last was true.
    fn taken(probe: &Self::Probe<'_>) -> Mask;

    /// Ends all warps of a block but one before their first instruction.
    fn end_others(block: &mut Block<'_, Self::Model, W>, number: u32);

    /// Takes a slot for a warp of a block that starts. The block has a number among the resident ones and `warps` warps,
    /// and the dispatcher assigns no more blocks than fit. The slot belongs to scheduler `slot % schedulers`.
    fn take_slot(
        core: &mut Core<'_, Self, W>,
        resident: usize,
        warps: usize,
        number: u32,
    ) -> Option<u32>;

    /// Frees the slots of a block that has ended.
    #[inline(always)]
    fn free_slots(_core: &mut Core<'_, Self, W>, _slots: &[u32]) {}

    /// Adds a warp that starts to its scheduler, as one that is not ready; returns its state.
    fn begin_warp<L>(
        core: &mut Core<'_, Self, W>,
        place: WarpPlace,
        context: &RunContext<'_, '_, Self, L, W>,
    ) -> Self::WarpState;

    /// Removes a warp that has ended from its scheduler.
    fn end_warp<'r, L: EventListener>(
        core: &mut Core<'r, Self, W>,
        now: u64,
        warp: &Warp<Self::WarpState>,
        context: &mut RunContext<'_, 'r, Self, L, W>,
    );

    /// Updates the scheduler's entry of a warp: the first cycle when it can issue, as far as that depends on the warp
    /// itself, and its next instruction.
    fn set_ready<L>(
        core: &mut Core<'_, Self, W>,
        warp: &Warp<Self::WarpState>,
        ready: u64,
        context: &RunContext<'_, '_, Self, L, W>,
    );

    /// Returns the first cycle, not before `from`, when a scheduler may issue; `NEVER` if that depends on others.
    fn earliest_issue<L>(
        core: &Core<'_, Self, W>,
        scheduler: usize,
        from: u64,
        context: &RunContext<'_, '_, Self, L, W>,
    ) -> u64;

    /// Issues what a scheduler selects in cycle `now`.
    fn issue_cycle<'r, L: EventListener>(
        core: &mut Core<'r, Self, W>,
        now: u64,
        scheduler: usize,
        context: &mut RunContext<'_, 'r, Self, L, W>,
        effects: &mut IssueEffects,
    ) -> Result<(), Fault>;

    /// First cycle when the unit of a warp's next instruction accepts it.
    fn accepts<L>(
        core: &Core<'_, Self, W>,
        warp: &Warp<Self::WarpState>,
        context: &RunContext<'_, '_, Self, L, W>,
    ) -> u64;

    /// Prepares the issue of a warp's next instruction, or refuses it: one without a time is a fault of the launch.
    #[inline(always)]
    fn before_issue<'r, L: EventListener>(
        _core: &mut Core<'r, Self, W>,
        _now: u64,
        _warp: &mut Warp<Self::WarpState>,
        _context: &mut RunContext<'_, 'r, Self, L, W>,
    ) -> Result<(), FaultKind> {
        Ok(())
    }

    /// Sets the special registers that depend on time and place, except the clock, before an instruction that may read
    /// them.
    #[inline(always)]
    fn set_registers<L>(
        _block: &mut Block<'_, Self::Model, W>,
        _now: u64,
        _place: WarpPlace,
        _context: &RunContext<'_, '_, Self, L, W>,
    ) {
    }

    /// Computes the times of the instruction that a warp has issued in cycle `now`: of its unit, its results, and the
    /// next issue of the warp, which is at `next` with these active lanes unless the warp has ended.
    fn time<'r, L: EventListener>(
        core: &mut Core<'r, Self, W>,
        now: u64,
        warp: &mut Warp<Self::WarpState>,
        next: Option<(u32, Mask)>,
        context: &mut RunContext<'_, 'r, Self, L, W>,
    );

    /// Whether an instruction arrives at a barrier, with a wait or without one.
    fn arrives(run: Self::Run<'_>, at: u32) -> bool;

    /// Lets others go on that wait for a warp, which has arrived at a barrier.
    #[inline(always)]
    fn after_arrival<'r, L: EventListener>(
        _core: &mut Core<'r, Self, W>,
        _now: u64,
        _slot: u32,
        _context: &mut RunContext<'_, 'r, Self, L, W>,
    ) {
    }

    /// Whether a warp waits for another one, not at a barrier, before its next instruction.
    #[inline(always)]
    fn parks(_warp: &Warp<Self::WarpState>) -> bool {
        false
    }

    /// Lets a warp wait for which [`parks`](FamilyTiming::parks) holds.
    #[inline(always)]
    fn park<'r, L: EventListener>(
        _core: &mut Core<'r, Self, W>,
        _now: u64,
        _slot: u32,
        _context: &mut RunContext<'_, 'r, Self, L, W>,
    ) {
    }

    /// Address of an instruction, and its bytes that the fetch unit looks at; `None` past the last instruction.
    fn code_range(run: Self::Run<'_>, at: u32) -> Option<(u64, u64)>;

    /// Delays a warp until all else is ready that its next instruction waits for, in cycle `from`, which is not before
    /// `now`: operands and counters.
    fn wait_for_operands<'r, L: EventListener>(
        core: &mut Core<'r, Self, W>,
        now: u64,
        from: u64,
        warp: &mut Warp<Self::WarpState>,
        context: &mut RunContext<'_, 'r, Self, L, W>,
    );

    /// Counts a warp that arrives at a barrier in cycle `now`, or ends; returns the cycle when warps issue again that
    /// have waited for it.
    fn release_cycle<L>(
        core: &mut Core<'_, Self, W>,
        now: u64,
        context: &RunContext<'_, '_, Self, L, W>,
    ) -> u64;
}

/// Multiprocessors of a machine.
pub(super) struct Layout<F: FamilyTiming<W>, const W: usize> {
    /// Own part and schedulers of each.
    pub(super) cores: Vec<(F, Vec<F::Scheduler>)>,
    pub(super) dispatcher: Dispatcher,
    /// Resources that a block of the launch needs.
    pub(super) need: BlockResources,
}

/// State of a run that all multiprocessors share.
pub(super) struct RunContext<'a, 'r, F: FamilyTiming<W>, L, const W: usize> {
    pub(super) parameters: &'a UsedParameters,
    pub(super) run: F::Run<'a>,
    pub(super) program: &'r Program<'r, W>,
    pub(super) launch: &'r Launch,
    /// The only warp that runs.
    pub(super) only: Option<SingleWarp>,
    pub(super) l2: L2Cache<'a>,
    pub(super) memory: &'a mut GlobalMemory,
    pub(super) counts: Counts,
    /// Warp instructions left before the limit of the launch.
    pub(super) budget: u64,
    /// Cycle when the L2 cache has accepted all stores so far.
    pub(super) stores_done: u64,
    /// Number of blocks that have not started.
    pub(super) unstarted: u64,
    pub(super) probe: F::Probe<'a>,
    pub(super) listener: &'a mut L,
}

impl<F: FamilyTiming<W>, L: EventListener, const W: usize> RunContext<'_, '_, F, L, W> {
    /// Passes the outcomes recorded so far to the listener.
    #[inline(always)]
    pub(super) fn report_outcomes(&mut self) {
        if L::RECORDS {
            for outcome in self.l2.recorder.take() {
                self.listener.outcome(&outcome);
            }
        }
    }
}
