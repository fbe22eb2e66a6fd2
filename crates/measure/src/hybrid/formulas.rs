//! Formulas of `wavefront-splitting-2022` 5.3 that make the time of a kernel from longest paths and delays, as in the
//! thesis and corrected. Times are in cycles. Sums and products saturate, and a saturated one is larger than any time
//! of a run.

use warpbound_base::Family;

/// Lanes of a wave, which the formulas take for work-items of a slot.
const LANES: u64 = Family::Gcn3.lanes() as u64;

/// Returns the batches of workgroups by (5.1): `groups` of `threads` work-items each, on a machine with `slots` wave
/// slots for waves of 64 work-items. The formula takes the machine for one pool of slots.
pub(crate) fn batches_of_one_pool(groups: u64, threads: u64, slots: u64) -> u64 {
    groups.div_ceil(groups_of_one_pool(groups, threads, slots))
}

/// Returns the groups of a batch by (5.1): `⌊W · 64 / threads⌋`, where `W` is the smaller of the slots and the waves
/// of the kernel; at least 1. For example, 160 slots hold ⌊160 · 64 / 192⌋ = 53 groups of 192 work-items.
pub(crate) fn groups_of_one_pool(groups: u64, threads: u64, slots: u64) -> u64 {
    let threads = threads.max(1);
    let waves = groups.saturating_mul(threads.div_ceil(LANES));
    let items = slots.min(waves).saturating_mul(LANES);
    (items / threads).max(1)
}

/// Returns the batches of workgroups on a machine that holds `resident` of them at a time.
///
/// A group lives on one compute unit, so `resident` is the sum over the units. The kernel takes at most this many
/// times the time of a group, counted from when its room is free. By induction over the order of dispatch, `n` groups
/// have ended after at most `⌈n / resident⌉` such times.
pub(crate) fn batches(groups: u64, resident: u64) -> u64 {
    groups.div_ceil(resident.max(1))
}

/// Delay and longest path of a split: `δ` and `L` of (5.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DelayedPath {
    pub(crate) delay: u64,
    pub(crate) longest: u64,
}

/// Returns the largest time of a batch whose splits run in parallel, by (5.3); `None` without splits. It is the
/// maximum of sums, so that the delay of a late split is not paired with the path of another one.
pub(crate) fn parallel_batch(splits: impl IntoIterator<Item = DelayedPath>) -> Option<u64> {
    let sums = splits.into_iter();
    sums.map(|split| split.delay.saturating_add(split.longest))
        .max()
}

/// Returns the largest time of a batch whose splits run one after the other: the maximum in (5.5), from the largest
/// delay of a split and the longest path of each split of a wave; `None` without splits.
pub(crate) fn serialised_batch(
    delays: impl IntoIterator<Item = u64>,
    longest: impl IntoIterator<Item = u64>,
) -> Option<u64> {
    let sum = longest.into_iter().fold(0, u64::saturating_add);
    Some(delays.into_iter().max()?.saturating_add(sum))
}

/// Returns, for each group in the order of dispatch, the cycle at which there is room for it: `start` for the first
/// `resident` groups, and for each further one the end of one more group. `ends` has the cycles at which the groups
/// end, in any order.
pub(crate) fn room_times(start: u64, resident: u64, ends: &[u64]) -> Vec<u64> {
    let mut sorted = ends.to_vec();
    sorted.sort_unstable();
    let resident = usize::try_from(resident).unwrap_or(usize::MAX);
    let freed = sorted.into_iter();
    let first = std::iter::repeat_n(start, resident.min(ends.len()));
    first.chain(freed).take(ends.len()).collect()
}
