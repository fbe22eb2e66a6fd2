//! Weights of the times of a launch, and the sum of the products. Launches of warps and launches of waves differ in
//! the weights (SOUNDNESS 20.5, 20.9), and add them up in the same way.

use super::{LaunchTerm, LaunchTimes};
use crate::warp_bound::Delays;

/// Number of times that a time counts, as a fraction. For example, the times of 5 blocks that follow each other in 2
/// places count 5/2 times on the average over the places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Weight {
    pub(crate) numerator: u128,
    pub(crate) denominator: u128,
}

impl Weight {
    /// A whole number of times.
    pub(crate) fn whole(number: u128) -> Weight {
        Weight {
            numerator: number,
            denominator: 1,
        }
    }

    /// Returns that many times a time, rounded up.
    pub(crate) fn of(self, time: u128) -> Option<u128> {
        let product = self.numerator.checked_mul(time)?;
        // Rounded up, because a mean over the places may be a fraction.
        Some(product.div_ceil(self.denominator.max(1)))
    }
}

/// Weights that warps and waves have in common: all but the one of the service by a sub-partition or SIMD.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CommonWeights {
    /// Warps that others follow, before the last one.
    pub(crate) followed: Weight,
    pub(crate) sm: u128,
    pub(crate) gpu: u128,
    pub(crate) first: u128,
    pub(crate) starts: u128,
    /// Number of SMs that request lines.
    pub(crate) lines: u128,
    pub(crate) ended: u128,
}

impl CommonWeights {
    /// Returns the services of all warps that count, of the SM and of the memory that all SMs share, from the services
    /// of one warp. `None` if a product has more than 128 bits.
    pub(crate) fn services(&self, sm: u128, gpu: u128) -> Option<[u128; 2]> {
        Some([self.sm.checked_mul(sm)?, self.gpu.checked_mul(gpu)?])
    }

    /// Adds the times that count once for each line, first request, start or ended block to the services `core`, `sm`
    /// and `gpu` of all warps. `None` if a product or sum has more than 128 bits.
    pub(crate) fn summands<T>(
        &self,
        times: &LaunchTimes<T>,
        cycles: impl Fn(&T) -> u128,
        [core, sm, gpu]: [u128; 3],
    ) -> Option<Summands> {
        let followed = self.followed.of(cycles(&times.followed))?;
        let path = followed.checked_add(cycles(&times.path))?;
        let sm = sm.checked_add(self.ended.checked_mul(times.ended.0.into())?)?;
        let gpu = gpu.checked_add(self.lines.checked_mul(times.lines.0.into())?)?;
        let first = self.first.checked_mul(times.first.0.into())?;
        let starts = self.starts.checked_mul(times.apart.0.into())?;
        Some([path, core, sm, gpu, first, starts])
    }
}

/// Terms other than the launch overhead and the refreshes, in the order of [`LaunchTerm::ALL`].
pub(crate) type Summands = [u128; 6];

/// Adds terms, the cycles before the first block and the refreshes of DRAM. `None` if the sum has more than 64 bits.
pub(super) fn add_terms(
    terms: Summands,
    delays: Delays,
) -> Option<(u64, [u64; LaunchTerm::ALL.len()])> {
    let [path, core, sm, gpu, first, starts] = terms;
    let sum = terms
        .iter()
        .try_fold(0u128, |sum, term| sum.checked_add(*term))?;
    let sum = sum.checked_add(delays.once)?;
    let delays = Delays { once: 0, ..delays };
    let total = delays.add_to(sum)?;
    let refresh = total.checked_sub(sum)?.checked_sub(delays.before)?;
    let terms = [delays.before, path, core, sm, gpu, first, starts, refresh];
    let mut narrow = [0; LaunchTerm::ALL.len()];
    for (narrow, term) in narrow.iter_mut().zip(terms) {
        *narrow = u64::try_from(term).ok()?;
    }
    Some((u64::try_from(total).ok()?, narrow))
}
