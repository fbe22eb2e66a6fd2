//! From warps to a block: a bound of the cycles in which all warps of a block are done, on a processor that issues
//! one instruction per cycle as long as some warp is ready.
//!
//! Each cycle of a run either issues an instruction or does not (a stall). Issues are as many as all warps have
//! instructions. For the stalls, follow a run backwards from its last issue: stay with the warp that issued there until
//! the barrier that released it, go on with the warp that came to that barrier last, and so on. In a stall nobody is
//! ready, and the warp that is followed does not wait at a barrier, so it waits behind an instruction of its own.
//! So there are no more stalls than the warps that are followed wait. How long that is at most depends on what is
//! known of the barriers ([`Rule`]).

use warpbound_base::{Cycles, UpperBound};
use warpbound_simt::epochs::{EpochArrival, Epoch};

/// What one warp of a block does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WarpWork {
    /// Epoch by epoch.
    Epochs(Vec<Epoch>),
    /// Altogether.
    Total {
        /// Instructions that it issues at most.
        issues: u64,
        /// Cycles that it waits behind them at most.
        waits: u64,
        /// It may come to barriers.
        barriers: bool,
    },
}

impl WarpWork {
    fn issues(&self) -> u64 {
        match self {
            WarpWork::Epochs(epochs) => sum(epochs.iter().map(|epoch| epoch.issues)),
            WarpWork::Total { issues, .. } => *issues,
        }
    }

    fn waits(&self) -> u64 {
        match self {
            WarpWork::Epochs(epochs) => sum(epochs.iter().map(|epoch| epoch.stalls)),
            WarpWork::Total { waits, .. } => *waits,
        }
    }

    fn has_barriers(&self) -> bool {
        match self {
            WarpWork::Epochs(epochs) => epochs.iter().any(|epoch| epoch.barrier.is_some()),
            WarpWork::Total { barriers, .. } => *barriers,
        }
    }
}

/// Why there are no more stalls than counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StallRule {
    /// No warp waits for another: the stalls are the waits of one warp.
    NoBarriers,
    /// Each barrier is passed by all warps together that will still come to one: between two of them, the stalls are
    /// the waits of one warp.
    AlignedBarriers,
    /// Nothing is known of who waits for whom: the stalls are waits of any warps.
    AnyBarriers,
}

/// A bound of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockBound {
    /// The cycles from the first issue to the last.
    pub cycles: UpperBound,
    /// Cycles in which an instruction is issued.
    pub issues: u64,
    /// Cycles in which none is.
    pub stalls: u64,
    /// Why that is so.
    pub rule: StallRule,
}

/// A barrier that not enough threads come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnsatisfiedBarrier {
    /// The first arrival at it.
    pub barrier: EpochArrival,
    /// Threads that come.
    pub arriving: u64,
}

/// The bound of a block of these warps, each with how many of its kind there are.
///
/// # Errors
///
/// Where a barrier is certainly never satisfied, so that the block does not end.
pub fn block_bound(warps: &[(WarpWork, u64)]) -> Result<BlockBound, UnsatisfiedBarrier> {
    let issues = sum(warps
        .iter()
        .map(|(work, count)| work.issues().saturating_mul(*count)));
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
    Ok(BlockBound {
        cycles: UpperBound(Cycles(issues.saturating_add(stalls))),
        issues,
        stalls,
        rule,
    })
}

/// The stalls of a block whose warps pass each barrier together.
///
/// Say that all warps have passed their first n barriers, each with all others that have as many. Those that have a
/// further one come to it; if it is the same for all and waits for exactly as many threads as they are, then it opens
/// when the last of them is there, and not before.
fn aligned_stalls(warps: &[(WarpWork, u64)]) -> Result<Option<u64>, UnsatisfiedBarrier> {
    let mut epochs = Vec::with_capacity(warps.len());
    for (work, count) in warps {
        match work {
            WarpWork::Epochs(of_warp) => epochs.push((of_warp.as_slice(), *count)),
            WarpWork::Total { .. } => return Ok(None),
        }
    }
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
        if i128::from(arrive) < i128::from(first.expected) {
            return Err(UnsatisfiedBarrier {
                barrier: first,
                arriving: arrive,
            });
        }
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

    #[test]
    fn without_barriers_the_longest_wait_counts() {
        let work = |issues, waits| WarpWork::Total {
            issues,
            waits,
            barriers: false,
        };
        let bound = block_bound(&[(work(10, 9), 3), (work(4, 18), 1)]).unwrap();
        assert_eq!((bound.issues, bound.stalls), (34, 18));
        assert_eq!(bound.rule, StallRule::NoBarriers);
    }

    #[test]
    fn aligned_barriers_cut_the_stalls_into_epochs() {
        let a = WarpWork::Epochs(vec![epoch(5, 9, Some((8, 4))), epoch(2, 0, None)]);
        let b = WarpWork::Epochs(vec![epoch(5, 0, Some((8, 4))), epoch(2, 9, None)]);
        let bound = block_bound(&[(a.clone(), 1), (b, 1)]).unwrap();
        assert_eq!((bound.issues, bound.stalls), (14, 18));
        assert_eq!(bound.rule, StallRule::AlignedBarriers);
        // A barrier that fewer threads open than come: nobody knows who waits for whom.
        let c = WarpWork::Epochs(vec![epoch(5, 9, Some((6, 4))), epoch(2, 0, None)]);
        let bound = block_bound(&[(c, 2)]).unwrap();
        assert_eq!((bound.stalls, bound.rule), (18, StallRule::AnyBarriers));
        // One that never opens.
        assert_eq!(block_bound(&[(a, 1)]).unwrap_err().arriving, 4);
    }
}
