//! Maximum number of sectors of loads that a warp has in flight: the sectors that it has requested since it last
//! waited for their scoreboards. For example, loads of 4 and of 8 sectors, with one wait for both after them, have at
//! most 12 in flight.

use std::collections::VecDeque;

use warpbound_ir::OpIndex;
use warpbound_isa::instr::MemorySpace;
use warpbound_timing::Completion;

use crate::memory::AccessDirection;
use crate::potentials::Timing;
use crate::state::SCOREBOARDS;
use crate::step::Transfer;

/// Sectors in flight by scoreboard.
type InFlight = [u64; SCOREBOARDS];

/// Number of raises of a node's numbers after which they count as unlimited, so that the fixpoint is reached.
const MOST_RAISES: u32 = 8;

/// Number that stands for no limit, far from overflow in sums.
const UNLIMITED: u64 = 1 << 40;

/// Returns the maximum number of sectors of loads and atomic operations that a warp has in flight at once. `None` if
/// there is no limit, or if some are in flight when the warp ends.
pub(crate) fn most_outstanding(timing: &Timing<'_>, transfer: &Transfer<'_>) -> Option<u64> {
    let kernel = timing.kernel;
    let mut before: Vec<Option<(InFlight, u32)>> = vec![None; kernel.nodes.len()];
    *before.get_mut(kernel.entry)? = Some((InFlight::default(), 0));
    let mut work = VecDeque::from([kernel.entry]);
    let mut most = 0;
    while let Some(node) = work.pop_front() {
        let (mut state, _) = before.get(node).copied().flatten()?;
        // A change between groups has no instruction, and what is in flight stays so.
        let ends = kernel.nodes.get(node).copied().flatten().into_iter();
        for at in ends.flat_map(|(first, last)| (first.0..=last.0).map(OpIndex)) {
            step(&mut state, transfer, at)?;
            most = most.max(state.iter().sum::<u64>());
        }
        let outgoing = timing.outgoing.get(node).into_iter().flatten();
        for step in outgoing.filter_map(|&number| kernel.steps.get(number)) {
            let Some(to) = step.to else {
                // Loads of an ended warp would still hold places while another warp has its slot.
                if state.iter().any(|&sectors| sectors > 0) {
                    return None;
                }
                continue;
            };
            let entry = before.get_mut(to)?;
            let (known, raises) = entry.unwrap_or((InFlight::default(), 0));
            let mut joined = known;
            for (joined, own) in joined.iter_mut().zip(state) {
                if own > *joined {
                    *joined = if raises < MOST_RAISES { own } else { UNLIMITED };
                }
            }
            if entry.is_none() || joined != known {
                *entry = Some((joined, raises + 1));
                work.push_back(to);
            }
        }
    }
    (most < UNLIMITED).then_some(most)
}

/// Advances the numbers by an instruction; `None` if it loads without a scoreboard.
fn step(state: &mut InFlight, transfer: &Transfer<'_>, at: OpIndex) -> Option<()> {
    let facts = transfer.facts.get(at.index())?;
    // A DEPBAR that waits for a count may leave loads in flight, so only waits for 0 are used.
    let mut waited = facts.wait_mask;
    if let Completion::Depbar { zero, .. } = facts.completion {
        waited |= zero;
    }
    if facts.drains {
        waited = u8::MAX;
    }
    for (number, sectors) in state.iter_mut().enumerate() {
        if waited >> number & 1 == 1 {
            *sectors = 0;
        }
    }
    let Some(limits) = transfer.accesses.get(&at) else {
        return Some(());
    };
    // The window of stores is another one, and stores have no scoreboard for their end (SOUNDNESS 20.2).
    if limits.direction == AccessDirection::Store {
        return Some(());
    }
    let global = limits.spaces.iter();
    let global = global.filter(|space| space.space != MemorySpace::Shared);
    let sectors: u64 = global.map(|space| u64::from(space.sectors)).sum();
    if sectors > 0 {
        let own = state.get_mut(usize::from(facts.write_sb?))?;
        *own = (*own + sectors).min(UNLIMITED);
    }
    Some(())
}
