//! Bound of a block: the cycles until all warps of a block have finished, on a processor that issues one instruction
//! per cycle whenever some warp is ready.
//!
//! Each cycle of a run either issues an instruction or is a stall. The number of issues is the number of instructions
//! of all warps. For the stalls, follow a run backwards from its last issue: stay with the warp that issued there
//! until the barrier that released it, continue with the warp that arrived at that barrier last, and so on. In a
//! stall cycle no warp is ready, and the followed warp is not blocked at a barrier, so it waits for the latency of an
//! instruction of its own. Hence the stalls are at most the waits of the followed warps. The bound of these waits
//! depends on what is known about the barriers ([`StallRule`]).
//!
//! For example, two warps without barriers issue 10 instructions each, and wait for 30 and 50 cycles. The bound is 20
//! cycles of issues and 50 of stalls.

use warpbound_base::{Cycles, Instructions, UpperBound};
use warpbound_simt::epochs::{Epoch, EpochArrival};

/// Work of one warp of a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WarpWork {
    /// Exact work, by epoch.
    Epochs(Vec<Epoch>),
    /// Bounds of the whole work.
    Total {
        /// Maximum number of instructions.
        issues: UpperBound<Instructions>,
        /// Maximum cycles of waiting for the latencies of its instructions.
        waits: UpperBound<Cycles>,
        /// Whether it may execute barriers.
        barriers: bool,
    },
}

impl WarpWork {
    fn issues(&self) -> u128 {
        match self {
            WarpWork::Epochs(epochs) => epochs.iter().map(|epoch| u128::from(epoch.issues)).sum(),
            WarpWork::Total { issues, .. } => issues.limit().0,
        }
    }

    fn waits(&self) -> u64 {
        match self {
            WarpWork::Epochs(epochs) => sum(epochs.iter().map(|epoch| epoch.stalls)),
            WarpWork::Total { waits, .. } => waits.limit().0,
        }
    }

    fn has_barriers(&self) -> bool {
        match self {
            WarpWork::Epochs(epochs) => epochs.iter().any(|epoch| epoch.barrier.is_some()),
            WarpWork::Total { barriers, .. } => *barriers,
        }
    }
}

/// Argument for the bound on the number of stalls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StallRule {
    /// No warp waits for another: the stalls are at most the waits of one warp.
    NoBarriers,
    /// All warps that still have a barrier ahead pass it together: between two barriers, the stalls are at most the
    /// waits of one warp.
    AlignedBarriers,
    /// Unknown which warps wait for each other: the stalls are at most the waits of all warps.
    AnyBarriers,
}

/// Bound of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockBound {
    /// Cycles from the first issue to the last.
    pub cycles: UpperBound<Cycles>,
    /// Instructions of all warps. Each is issued in a cycle of its own.
    pub issues: UpperBound<Instructions>,
    /// Cycles without an issue.
    pub stalls: UpperBound<Cycles>,
    /// Argument for the number of stalls.
    pub rule: StallRule,
}

/// Error: too few threads arrive at a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnsatisfiedBarrier {
    /// First arrival at the barrier.
    pub barrier: EpochArrival,
    /// Number of threads that arrive.
    pub arriving: u64,
}

/// Computes the bound of a block of warps, given as kinds of work with the number of warps of each kind.
///
/// # Errors
///
/// Fails if a barrier is certainly never satisfied, so that the block does not terminate.
pub fn block_bound(warps: &[(WarpWork, u64)]) -> Result<BlockBound, UnsatisfiedBarrier> {
    let issues = warps
        .iter()
        .map(|(work, count)| work.issues().saturating_mul((*count).into()))
        .fold(0, u128::saturating_add);
    let (stalls, rule) = if !warps.iter().any(|(work, _)| work.has_barriers()) {
        let waits = warps.iter().map(|(work, _)| work.waits());
        (waits.max().unwrap_or(0), StallRule::NoBarriers)
    } else if let Some(stalls) = aligned_stalls(warps)? {
        (stalls, StallRule::AlignedBarriers)
    } else {
        let waits = warps
            .iter()
            .map(|(work, count)| work.waits().saturating_mul(*count));
        (sum(waits), StallRule::AnyBarriers)
    };
    // Each cycle issues one instruction or is a stall (SOUNDNESS 6.1).
    // Saturation keeps the number an upper bound, since `u64::MAX` is above every limit on cycles.
    let issuing = Cycles(u64::try_from(issues).unwrap_or(u64::MAX));
    Ok(BlockBound {
        cycles: UpperBound::proven(issuing + Cycles(stalls)),
        issues: UpperBound::proven(Instructions(issues)),
        stalls: UpperBound::proven(Cycles(stalls)),
        rule,
    })
}

/// Bounds the stalls of a block whose warps pass each barrier together; `None` if they may not.
///
/// By induction: assume that all warps have passed their first n barriers, each together with all others that have as
/// many. Those with a further barrier arrive at it; if it is the same for all of them and expects exactly their number
/// of threads, it opens when the last of them arrives, and not before.
fn aligned_stalls(warps: &[(WarpWork, u64)]) -> Result<Option<u64>, UnsatisfiedBarrier> {
    let mut epochs = Vec::with_capacity(warps.len());
    for (work, count) in warps {
        match work {
            WarpWork::Epochs(of_warp) => epochs.push((of_warp.as_slice(), *count)),
            // The barriers that this warp reaches, and their order, are unknown.
            WarpWork::Total { .. } => return Ok(None),
        }
    }
    // Warps with fewer epochs have ended by then and take part in no later barrier.
    let most = epochs.iter().map(|(of_warp, _)| of_warp.len()).max();
    let mut stalls = 0u64;
    for number in 0..most.unwrap_or(0) {
        let here = || {
            epochs
                .iter()
                .filter_map(|(of_warp, count)| Some((of_warp.get(number)?, *count)))
        };
        stalls = stalls.saturating_add(here().map(|(epoch, _)| epoch.stalls).max().unwrap_or(0));
        let arrivals = || here().filter_map(|(epoch, count)| Some((epoch.barrier?, count)));
        let Some((first, _)) = arrivals().next() else {
            continue;
        };
        let same = arrivals()
            .all(|(other, _)| (other.number, other.expected) == (first.number, first.expected));
        if !same {
            return Ok(None);
        }
        let arrive = sum(arrivals().map(|(a, count)| u64::from(a.lanes).saturating_mul(count)));
        // By the induction no other warp can arrive, so the barrier never opens.
        if i128::from(arrive) < i128::from(first.expected) {
            return Err(UnsatisfiedBarrier {
                barrier: first,
                arriving: arrive,
            });
        }
        // The barrier may open before the last warp arrives, which breaks the induction (SOUNDNESS 6.2).
        if i128::from(arrive) > i128::from(first.expected) {
            return Ok(None);
        }
    }
    Ok(Some(stalls))
}

fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epoch(issues: u64, waits: u64, ends: Option<(i64, u32)>) -> Epoch {
        Epoch {
            issues,
            stalls: waits,
            barrier: ends.map(|(expected, lanes)| EpochArrival {
                at: 0,
                number: 0,
                expected,
                lanes,
            }),
        }
    }

    /// Issues and stalls.
    fn parts(bound: &BlockBound) -> (u128, u64) {
        (bound.issues.limit().0, bound.stalls.limit().0)
    }

    #[test]
    fn without_barriers_the_longest_wait_counts() {
        let work = |issues, waits| WarpWork::Total {
            issues: UpperBound::proven(Instructions(issues)),
            waits: UpperBound::proven(Cycles(waits)),
            barriers: false,
        };
        let bound = block_bound(&[(work(10, 9), 3), (work(4, 18), 1)]).unwrap();
        assert_eq!(parts(&bound), (34, 18));
        assert_eq!(bound.rule, StallRule::NoBarriers);
    }

    #[test]
    fn aligned_barriers_cut_the_stalls_into_epochs() {
        let a = WarpWork::Epochs(vec![epoch(5, 9, Some((8, 4))), epoch(2, 0, None)]);
        let b = WarpWork::Epochs(vec![epoch(5, 0, Some((8, 4))), epoch(2, 9, None)]);
        let bound = block_bound(&[(a.clone(), 1), (b, 1)]).unwrap();
        assert_eq!(parts(&bound), (14, 18));
        assert_eq!(bound.rule, StallRule::AlignedBarriers);
        // A barrier that opens for fewer threads than arrive: which warps wait for each other is unknown.
        let c = WarpWork::Epochs(vec![epoch(5, 9, Some((6, 4))), epoch(2, 0, None)]);
        let bound = block_bound(&[(c, 2)]).unwrap();
        assert_eq!(parts(&bound).1, 18);
        assert_eq!(bound.rule, StallRule::AnyBarriers);
        // A barrier that never opens.
        assert_eq!(block_bound(&[(a, 1)]).unwrap_err().arriving, 4);
    }
}
