//! Formulas of `wavefront-splitting-2022` 5.3 from longest paths and delays to the time of a kernel: as they are there, and
//! corrected. Times are in cycles; sums and products saturate, and a saturated one is larger than any time of a run.

/// Batches of workgroups by (5.1): `groups` of `threads` work-items each, on a machine with `slots` wave slots for waves
/// of 64 work-items. The machine is one pool of slots there.
pub(crate) fn batches_of_one_pool(groups: u64, threads: u64, slots: u64) -> u64 {
    groups.div_ceil(groups_of_one_pool(groups, threads, slots))
}

/// Groups of a batch by (5.1): `⌊W · 64 / threads⌋`, with `W` the smaller of the slots and the waves of the kernel; at
/// least 1.
pub(crate) fn groups_of_one_pool(groups: u64, threads: u64, slots: u64) -> u64 {
    let threads = threads.max(1);
    let waves = groups.saturating_mul(threads.div_ceil(64));
    let items = slots.min(waves).saturating_mul(64);
    (items / threads).max(1)
}

/// Batches of workgroups of which a machine holds `resident` at a time.
///
/// A group lives on one compute unit, so `resident` is the sum of what each of them holds. The kernel takes at most this
/// many times the time of a group, from the moment at which its room is free: of `n` groups that end, the last one ends
/// no later than `⌈n / resident⌉` such times after the start, by induction over the order of dispatch.
pub(crate) fn batches(groups: u64, resident: u64) -> u64 {
    groups.div_ceil(resident.max(1))
}

/// Delay and longest path of a split: `δ` and `L` of (5.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DelayedPath {
    pub(crate) delay: u64,
    pub(crate) longest: u64,
}

/// Largest time of a batch whose splits run in parallel: (5.3). The maximum is that of the sums, so that the delay of a
/// late split is not paired with the path of another one. `None` without splits.
pub(crate) fn parallel_batch(splits: impl IntoIterator<Item = DelayedPath>) -> Option<u64> {
    let sums = splits.into_iter();
    sums.map(|split| split.delay.saturating_add(split.longest))
        .max()
}

/// Largest time of a batch whose splits run one after the other: the maximum in (5.5), from the largest delay of a split
/// and the longest path of each split of a wave. `None` without splits.
pub(crate) fn serialised_batch(
    delays: impl IntoIterator<Item = u64>,
    longest: impl IntoIterator<Item = u64>,
) -> Option<u64> {
    let sum = longest.into_iter().fold(0, u64::saturating_add);
    Some(delays.into_iter().max()?.saturating_add(sum))
}

/// For each group in the order of dispatch, the cycle at which there is room for it: `start` for the first `resident`
/// ones, and for each further one the end of one more group. `ends` are the cycles at which the groups end, in any order.
pub(crate) fn room_times(start: u64, resident: u64, ends: &[u64]) -> Vec<u64> {
    let mut sorted = ends.to_vec();
    sorted.sort_unstable();
    let resident = usize::try_from(resident).unwrap_or(usize::MAX);
    let freed = sorted.into_iter();
    let first = std::iter::repeat_n(start, resident.min(ends.len()));
    first.chain(freed).take(ends.len()).collect()
}
