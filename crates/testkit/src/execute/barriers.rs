//! Transfers of code with convergence barriers, by the warp with a stack that the claims are about (SOUNDNESS 21.2).
//! Another test checks that its steps cover the steps of a GPU: a machine of groups (`convergence`).

use std::collections::BTreeMap;

use warpbound_analyse::ThreadCfg;
use warpbound_analyse::convergence::ConvergenceRegions;
use warpbound_analyse::thread_cfg::Limits;
use warpbound_ir::{Code, ControlEffect, ControlTarget, OpIndex};
use warpbound_simt::{ControlTransfer, Mask, Tag, TransferError, lanes_of};

use super::{Labels, Point, Warp, add_lane, mix};

/// Tags of the stack entries that operations push and pop. Operations of demoted regions have no effect.
#[derive(Clone, Default, Debug)]
pub(super) struct BarrierTags(BTreeMap<OpIndex, Tag>);

impl BarrierTags {
    /// Tags of the regions of the code; none if the analyses refuse it.
    pub(super) fn of(code: &Code) -> BarrierTags {
        let mut tags = BTreeMap::new();
        if !ConvergenceRegions::exist_in(code) {
            return BarrierTags(tags);
        }
        if let Ok(thread) = ThreadCfg::build(code, &Limits::default()) {
            for (&region, ends) in &thread.regions.ends {
                let opens = code.get(region).map(|op| &op.control);
                if let Some(&ControlEffect::OpenBarrier(barrier, _)) = opens
                    && !thread.regions.demoted.contains_key(&region)
                {
                    let operations = ends.iter().chain([&region]);
                    tags.extend(operations.map(|&at| (at, Tag::Barrier(barrier))));
                }
            }
        }
        BarrierTags(tags)
    }

    /// Whether an operation pushes an entry or lets lanes leave for one.
    pub(super) fn has_effect(&self, at: OpIndex) -> bool {
        self.0.contains_key(&at)
    }
}

impl<L: Labels> Warp<'_, L> {
    /// Random number of a lane at an operation: a lane alone has the one that it had among the others.
    fn choice_of(&mut self, lane: usize, at: OpIndex) -> u64 {
        if self.replay == Some(lane) {
            return self.votes[lane].pop().unwrap_or_default();
        }
        let steps = self.steps as u64;
        let draw = mix(&[self.run.seed, 12, at.0.into(), lane as u64, steps]);
        self.votes[lane].push(draw);
        draw
    }

    /// Applies the effect of an operation on barriers, or of a call whose return address is in registers. `None` if it
    /// has neither.
    pub(super) fn apply_barrier_effect(
        &mut self,
        effect: &ControlEffect,
        here: Point<L::Label>,
        active: Mask,
        taken: Mask,
    ) -> Option<Result<bool, TransferError>> {
        let point = |op, label| Point { op, label };
        let next = point(here.op.next(), here.label);
        let tag = self.barriers.0.get(&here.op).copied();
        let transfer = match effect {
            ControlEffect::OpenBarrier(_, ControlTarget::Op(to)) => match tag {
                Some(tag) => ControlTransfer::Push {
                    tag,
                    resume: point(*to, here.label),
                },
                None => ControlTransfer::Next,
            },
            ControlEffect::JoinBarrier(_) => {
                tag.map_or(ControlTransfer::Next, ControlTransfer::Pop)
            }
            ControlEffect::BreakBarrier(_)
            | ControlEffect::SaveBarrier(..)
            | ControlEffect::WriteBarrier { .. }
            | ControlEffect::Release => ControlTransfer::Next,
            ControlEffect::LinkedCall(ControlTarget::Op(callee)) => {
                let label = self.labels.call(here.label, here.op, *callee);
                for lane in lanes_of(taken) {
                    self.returns[lane].push(next);
                }
                let parts = vec![(point(*callee, label), taken), (next, active & !taken)];
                return Some(self.apply_parts(parts, active, next));
            }
            ControlEffect::Return { .. } => {
                let mut parts = Vec::new();
                for lane in lanes_of(taken) {
                    add_lane(&mut parts, self.returns[lane].pop()?, lane);
                }
                parts.push((next, active & !taken));
                return Some(self.apply_parts(parts, active, next));
            }
            ControlEffect::Collective(ControlTarget::Op(to))
            | ControlEffect::FreeJump(ControlTarget::Op(to)) => {
                let target = point(*to, here.label);
                let mut parts = vec![(next, active & !taken)];
                for lane in lanes_of(taken) {
                    let draw = self.choice_of(lane, here.op);
                    add_lane(&mut parts, if draw & 1 == 0 { target } else { next }, lane);
                }
                return Some(self.apply_parts(parts, active, next));
            }
            _ => return None,
        };
        Some(self.apply(&transfer, taken, next))
    }
}
