//! Bound of a launch of waves: groups on compute units, in any order of dispatch in turn and of issue (SOUNDNESS 20.9).
//!
//! The sum is the one for warps, but units have no queues, and waves take any free slot of a SIMD.

use warpbound_base::Cycles;

use crate::composition::{
    BlockChain, CommonWeights, LaunchBound, LaunchShape, LaunchTimes, Weight,
};
use crate::warp_bound::{Delays, WarpBound};

/// Spread of the waves of a compute unit over its SIMDs, while groups end and others take their places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaveSpread {
    /// Largest part of the group places of a compute unit that may have a wave in one SIMD, as a fraction.
    pub part: (u64, u64),
    /// Maximum number of waves of a SIMD.
    pub most: u64,
}

/// Properties of waves that the bound of their launch depends on, in addition to their times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaveTerms {
    /// Spread of the waves over SIMDs.
    pub spread: WaveSpread,
    /// Whether the service of the compute unit contains waits for windows of requests, which a wave's own requests
    /// fill too.
    pub windows_bind: bool,
    /// Time of the end of the launch, which the path of a wave among others does not contain.
    pub end: Cycles,
}

impl LaunchBound {
    /// Composes the bound of a launch of waves; `delays` are the cycles before the first group and the refreshes of
    /// DRAM. In `times`, an SM is a compute unit, a sub-partition a SIMD, and the chain is one wave or all of a group.
    /// `None` if the bound has more than 64 bits.
    pub fn of_waves(
        shape: &LaunchShape,
        waves: &WaveTerms,
        times: &LaunchTimes<WarpBound<Cycles>>,
        delays: Delays,
    ) -> Option<LaunchBound> {
        let (weights, core) = weights_of(shape, waves, times.chain)?;
        let limit = |bound: &WarpBound<Cycles>| u128::from(bound.upper_bound().limit().0);
        let core = core.of(limit(&times.core))?;
        let [sm, gpu] = weights.services(limit(&times.sm), limit(&times.gpu))?;
        let [path, others @ ..] = weights.summands(times, limit, [core, sm, gpu])?;
        let path = path.checked_add(waves.end.0.into())?;
        let [core, sm, gpu, first, starts] = others;
        LaunchBound::of_terms([path, core, sm, gpu, first, starts], delays)
    }
}

/// Returns the weights of the times of a launch of waves, and the weight of the service that a wave takes from its
/// SIMD.
fn weights_of(
    shape: &LaunchShape,
    waves: &WaveTerms,
    chain: BlockChain,
) -> Option<(CommonWeights, Weight)> {
    let WaveTerms {
        spread,
        windows_bind,
        ..
    } = *waves;
    let [groups, waves, units, simds] =
        [shape.blocks, shape.warps, shape.sms, shape.sub_partitions].map(|n| u128::from(n.max(1)));
    let least = u128::from(shape.resident.0).max(1);
    let most = u128::from(shape.resident.1).max(least);
    let all = groups.checked_mul(waves)?;
    let lines = shape.requesting_sms();
    // A chain of one wave waits for others only: its own services are in its path.
    let is_one = chain == BlockChain::OneWarp;
    let own = u128::from(is_one);
    if groups <= units.checked_mul(least)? {
        // All groups start at once; the fullest compute unit has this many.
        let fullest = groups.div_ceil(units);
        let resident = fullest.checked_mul(waves)?;
        let core = Weight::whole(match is_one {
            true => resident.div_ceil(simds) - 1,
            false => resident,
        });
        let weights = CommonWeights {
            followed: Weight::whole(if is_one { 0 } else { waves - 1 }),
            // A wave's own sectors fill the windows as well, so all waves count where a window may be full
            // (SOUNDNESS 20.9).
            sm: match windows_bind && resident > 1 {
                true => resident,
                false => resident - own,
            },
            gpu: all - own,
            first: 1,
            starts: fullest - 1,
            lines,
            ended: 0,
        };
        return Some((weights, core));
    }
    // The compute unit with the fewest groups before the last dispatch has at most the mean (SOUNDNESS 20.5).
    let before = (groups - 1) / units;
    let on_unit = before.checked_add(most)?;
    // The last group may run on another compute unit, which serves other groups.
    let has_others = shape.has_several_sms();
    let on_unit = if has_others {
        on_unit
    } else {
        on_unit.min(groups)
    };
    let of_unit = on_unit.checked_mul(waves)?;
    let earlier = before.checked_mul(waves)?;
    let (followed, core) = match is_one {
        true => {
            let (part, of) = (u128::from(spread.part.0), u128::from(spread.part.1).max(1));
            let last = of_unit.min(spread.most.into()).checked_mul(of)?;
            // An instruction takes turns of one SIMD, so it delays only the chains with a wave there
            // (SOUNDNESS 20.9).
            let shared = earlier.checked_mul(part.min(of))?;
            let core = Weight {
                numerator: shared.checked_add(last)?,
                denominator: of,
            };
            (before, core)
        }
        false => {
            let chained = before.checked_add(least)?.checked_mul(waves)?;
            (chained - least, Weight::whole(of_unit))
        }
    };
    let weights = CommonWeights {
        followed: Weight {
            numerator: followed,
            denominator: least,
        },
        sm: of_unit,
        gpu: all,
        first: 1 + u128::from(shape.has_several_sms()),
        starts: on_unit,
        lines,
        ended: 1,
    };
    Some((weights, core))
}

#[cfg(test)]
mod tests;
