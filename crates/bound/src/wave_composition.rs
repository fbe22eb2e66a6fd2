//! Bound of a launch of waves: groups on compute units, in any order of dispatch in turn and of issue (SOUNDNESS 20.9).
//!
//! The sum is the one for warps, but units have no queues, and waves take any free slot of a SIMD.

use warpbound_base::Cycles;

use crate::composition::{BlockChain, LaunchBound, LaunchShape};
use crate::warp_bound::{Delays, WarpBound};

/// Spread of the waves of a compute unit over its SIMDs, while groups end and others take their places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaveSpread {
    /// Largest part of the group places of a compute unit that may have a wave in one SIMD, as a fraction.
    pub part: (u64, u64),
    /// Maximum number of waves of a SIMD.
    pub most: u64,
}

/// Times that compose the bound of a launch of waves.
#[derive(Clone, Copy, Debug)]
pub struct WaveTimes<'a> {
    /// Time of a wave among others, without its waits for them and without the end of the launch, until all its
    /// stores have arrived.
    pub path: &'a WarpBound<Cycles>,
    /// Time of such a wave until its last instruction: then another wave, or another group, follows it.
    pub followed: &'a WarpBound<Cycles>,
    /// Chain of waves in a group: one, or all of them.
    pub chain: BlockChain,
    /// Service that a wave takes from its SIMD.
    pub core: &'a WarpBound<Cycles>,
    /// Service that a wave takes from the compute unit.
    pub sm: &'a WarpBound<Cycles>,
    /// Service that a wave takes from the memory that all share.
    pub gpu: &'a WarpBound<Cycles>,
    /// Whether the service of the compute unit contains waits for windows of requests, which a wave's own requests
    /// fill too.
    pub windows_bind: bool,
    /// Time of the first requests of lines and translations by one compute unit.
    pub first: Cycles,
    /// Service of all lines that a compute unit requests, each once, by the memory that all share.
    pub lines: Cycles,
    /// Time for which accesses of ended groups occupy resources of a compute unit.
    pub ended: Cycles,
    /// Time between the starts of two groups on a compute unit.
    pub apart: Cycles,
    /// Time of the end of the launch.
    pub end: Cycles,
}

impl LaunchBound {
    /// Composes the bound of a launch of waves; `delays` are the cycles before the first group and the refreshes of
    /// DRAM. `None` if it has more than 64 bits.
    pub fn of_waves(
        shape: &LaunchShape,
        spread: WaveSpread,
        times: &WaveTimes<'_>,
        delays: Delays,
    ) -> Option<LaunchBound> {
        let weights = Weights::of(shape, spread, times)?;
        let limit = |bound: &WarpBound<Cycles>| u128::from(bound.upper_bound().limit().0);
        let path = weights.followed.of(limit(times.followed))?;
        let path = path.checked_add(limit(times.path))?;
        let path = path.checked_add(times.end.0.into())?;
        let core = weights.core.of(limit(times.core))?;
        let sm = weights.sm.checked_mul(limit(times.sm))?;
        let sm = sm.checked_add(weights.ended.checked_mul(times.ended.0.into())?)?;
        let gpu = weights.gpu.checked_mul(limit(times.gpu))?;
        let gpu = gpu.checked_add(weights.lines.checked_mul(times.lines.0.into())?)?;
        let first = weights.first.checked_mul(times.first.0.into())?;
        let starts = weights.starts.checked_mul(times.apart.0.into())?;
        LaunchBound::of_terms([path, core, sm, gpu, first, starts], delays)
    }
}

/// Number of times that a time counts, as a fraction. For example, a time that half of the chains wait for counts 1/2
/// times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Part {
    numerator: u128,
    denominator: u128,
}

impl Part {
    fn whole(number: u128) -> Part {
        Part {
            numerator: number,
            denominator: 1,
        }
    }

    /// Returns that many times a time, rounded up.
    fn of(self, time: u128) -> Option<u128> {
        let product = self.numerator.checked_mul(time)?;
        // Rounded up, because a mean over the places may be a fraction.
        Some(product.div_ceil(self.denominator.max(1)))
    }
}

/// Weights of the times of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Weights {
    /// Waves that others follow, before the last one.
    followed: Part,
    core: Part,
    sm: u128,
    gpu: u128,
    first: u128,
    starts: u128,
    /// Number of compute units that request lines.
    lines: u128,
    ended: u128,
}

impl Weights {
    fn of(shape: &LaunchShape, spread: WaveSpread, times: &WaveTimes<'_>) -> Option<Weights> {
        let [groups, waves, units, simds] =
            [shape.blocks, shape.warps, shape.sms, shape.sub_partitions]
                .map(|n| u128::from(n.max(1)));
        let least = u128::from(shape.resident.0).max(1);
        let most = u128::from(shape.resident.1).max(least);
        let all = groups.checked_mul(waves)?;
        let lines = groups.min(u128::from(shape.most_sms.max(shape.sms)).max(1));
        // A chain of one wave waits for others only: its own services are in its path.
        let is_one = times.chain == BlockChain::OneWarp;
        let own = u128::from(is_one);
        if groups <= units.checked_mul(least)? {
            // All groups start at once; the fullest compute unit has this many.
            let fullest = groups.div_ceil(units);
            let resident = fullest.checked_mul(waves)?;
            return Some(Weights {
                followed: Part::whole(if is_one { 0 } else { waves - 1 }),
                core: Part::whole(match is_one {
                    true => resident.div_ceil(simds) - 1,
                    false => resident,
                }),
                // A wave's own sectors fill the windows as well, so all waves count where a window may be full
                // (SOUNDNESS 20.9).
                sm: match times.windows_bind && resident > 1 {
                    true => resident,
                    false => resident - own,
                },
                gpu: all - own,
                first: 1,
                starts: fullest - 1,
                lines,
                ended: 0,
            });
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
                let core = Part {
                    numerator: shared.checked_add(last)?,
                    denominator: of,
                };
                (before, core)
            }
            false => {
                let chained = before.checked_add(least)?.checked_mul(waves)?;
                (chained - least, Part::whole(of_unit))
            }
        };
        Some(Weights {
            followed: Part {
                numerator: followed,
                denominator: least,
            },
            core,
            sm: of_unit,
            gpu: all,
            first: 1 + u128::from(shape.has_several_sms()),
            starts: on_unit,
            lines,
            ended: 1,
        })
    }
}

#[cfg(test)]
mod tests;
