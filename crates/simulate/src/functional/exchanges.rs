//! Exchanges between the lanes of a warp: shuffles, votes, reductions, comparisons, and branches that ask for lanes.

use warpbound_ir::{VoteMode, WarpReduction};
use warpbound_simt::{ExecutionModel, Mask};

use super::block::Block;
use super::fault::{Fault, FaultKind};
use super::images::WarpOp;
use super::lanes::{LaneValues, gather, lanes_of};
use super::program::{
    AskedLanes, Dest, FirstLaneEffect, MatchEffect, ShuffleEffect, ValueSlot, VoteEffect,
};

impl<E: ExecutionModel<u32>, const W: usize> Block<'_, E, W> {
    /// Exchanges values between the lanes of a warp of 32 (programs for wider warps have no shuffles). The value of an
    /// inactive source lane is read as it is (PTX leaves it undefined).
    #[inline]
    pub(super) fn shuffle(&mut self, warp_index: usize, shuffle: &ShuffleEffect, taken: Mask) {
        let rows = self.rows(warp_index);
        let [value, lane, limit] =
            [shuffle.value, shuffle.lane, shuffle.limit].map(|slot| rows.get(slot));
        let (mut result, mut in_range) = ([0; W], [0; W]);
        for own in 0..W {
            let (source, is_in_range) = shuffle.mode.source(own as u32, lane[own], limit[own]);
            result[own] = value[source as usize % W];
            in_range[own] = is_in_range.into();
        }
        let warp = &mut self.warps[warp_index];
        if let Some(to) = shuffle.dest {
            warp.write(to, &result, taken);
        }
        if let Some(to) = shuffle.in_range {
            warp.write(to, &in_range, taken);
        }
    }

    /// Reduces a predicate over the `taken` lanes of a warp of 32, whose ballot is one register (programs for wider
    /// warps have no votes).
    #[inline]
    pub(super) fn vote(&mut self, warp_index: usize, vote: &VoteEffect, taken: Mask) {
        let ballot = gather(self.rows(warp_index).get(vote.predicate)) & taken;
        let result = match vote.mode {
            VoteMode::All => ballot == taken,
            VoteMode::Any => ballot != 0,
            VoteMode::Same => ballot == taken || ballot == 0,
        };
        let warp = &mut self.warps[warp_index];
        if let Some(to) = vote.ballot {
            warp.write(to, &[ballot as u32; W], taken);
        }
        if let Some(to) = vote.result {
            warp.write(to, &[result.into(); W], taken);
        }
    }

    /// Reduces a value over the `taken` lanes. All of them receive the result.
    pub(super) fn reduce_lanes(
        &mut self,
        warp_index: usize,
        op: WarpReduction,
        dest: Option<Dest>,
        value: ValueSlot,
        taken: Mask,
    ) {
        let row = self.rows(warp_index).get(value);
        let values = lanes_of::<W>(taken)
            .filter_map(|lane| row.get(lane))
            .copied();
        if let (Some(result), Some(to)) = (values.reduce(|a, b| op.combine(a, b)), dest) {
            self.warps[warp_index].write(to, &[result; W], taken);
        }
    }

    /// Gives the `taken` lanes the value of the first of them, and tells those whose own value differs.
    pub(super) fn first_lane(&mut self, warp_index: usize, first: &FirstLaneEffect, taken: Mask) {
        let rows = self.rows(warp_index);
        let own = rows.get(first.value);
        // Which lane the hardware takes is not documented; code that repeats for each value ends the same with any.
        let value = own[taken.trailing_zeros() as usize % W];
        let mut differs: LaneValues<W> = std::array::from_fn(|lane| (own[lane] != value).into());
        if let Some(kept) = first.kept {
            let kept = rows.get(kept).iter();
            differs
                .iter_mut()
                .zip(kept)
                .for_each(|(differs, kept)| *differs |= kept);
        }
        let warp = &mut self.warps[warp_index];
        if let Some(to) = first.dest {
            warp.write(to, &[value; W], taken);
        }
        warp.write(first.differs, &differs, taken);
    }

    /// Compares a value of the `taken` lanes of a warp of 32.
    pub(super) fn match_lanes(&mut self, warp_index: usize, compared: &MatchEffect, taken: Mask) {
        let rows = self.rows(warp_index);
        let words: Vec<&LaneValues<W>> =
            compared.words.iter().map(|&word| rows.get(word)).collect();
        let value = |lane: usize| -> u64 {
            let words = words.iter().rev();
            words.fold(0, |value, word| value << 32 | u64::from(word[lane % W]))
        };
        let mut masks = [0; W];
        for lane in lanes_of::<W>(taken) {
            masks[lane] = compared.mode.mask(lane, taken as u32, value);
        }
        let first = taken.trailing_zeros() as usize % W;
        let all_equal = lanes_of::<W>(taken).all(|lane| value(lane) == value(first));
        let warp = &mut self.warps[warp_index];
        if let Some(to) = compared.mask {
            warp.write(to, &masks, taken);
        }
        if let Some(to) = compared.all_equal {
            warp.write(to, &[all_equal.into(); W], taken);
        }
    }

    /// Lanes of a branch that asks for the lanes of a mask: all whose guard holds, if they lack one, else none.
    pub(super) fn lanes_that_miss_others(
        &self,
        op: WarpOp,
        asked: AskedLanes,
        masks: &LaneValues<W>,
        active: Mask,
    ) -> Result<Mask, Fault> {
        let WarpOp {
            warp_index,
            at,
            taken,
        } = op;
        if taken == 0 {
            return Ok(0);
        }
        let mask = Mask::from(masks[taken.trailing_zeros() as usize % W]);
        match self.warps[warp_index].model.misses_lanes(taken | !mask) {
            true => Ok(taken),
            false if taken == active && (taken == mask || asked == AskedLanes::Live) => Ok(0),
            // No document says whether lanes that have exited, or do not exist, are missing.
            false => Err(self.fault(at, FaultKind::UncertainGroup)),
        }
    }
}
