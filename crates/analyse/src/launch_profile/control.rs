//! Control transfers of a followed warp: the transfer of an operation, and the operations to which known lanes jump.
//!
//! The execution of a profile and the one of a prediction differ where values decide that are unknown, and share what
//! is known.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_base::CodeAddr;
use warpbound_ir::{Code, ControlEffect, ControlTarget, Op, OpIndex, OpScope};
use warpbound_simt::{ControlTransfer, Mask, Tag, lanes_of};

use super::effects::OpLanes;
use crate::convergence::BarrierEffects;
use crate::indirect::IndirectTargets;
use crate::thread_cfg::ThreadCfg;
use crate::warp_cfg::WarpCfg;

/// Knowledge about the control transfers of a code that its operations do not state, from the graph of a lane.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct KnownTransfers {
    /// For indirect jumps, all operations that they can reach. Jumps to functions outside the file have none.
    pub indirect: BTreeMap<OpIndex, BTreeSet<OpIndex>>,
    /// Effects of convergence barriers.
    pub barriers: BarrierEffects,
    /// Jumps over operations that all go on to the next one, on whose condition the lanes of a group agree: each with its
    /// target.
    pub agreed_skips: BTreeMap<OpIndex, OpIndex>,
}

impl KnownTransfers {
    /// Collects the knowledge of the graphs of a lane and of a warp.
    pub fn of_warps(code: &Code, thread: &ThreadCfg, warp: &WarpCfg) -> KnownTransfers {
        let mut divergent = BTreeSet::new();
        let mut reached = BTreeSet::new();
        for node in thread.space.ids() {
            let last = thread.space.block(node).last;
            if warp.state(node).is_some() {
                reached.insert(last);
            }
            if warp.divergent.contains(&node) {
                divergent.insert(last);
            }
        }
        let agreed = reached.difference(&divergent);
        KnownTransfers {
            agreed_skips: agreed
                .filter_map(|&at| Some((at, target_of_skip(code, at)?)))
                .collect(),
            ..KnownTransfers::of(thread)
        }
    }

    /// Operations that an indirect jump can reach; none if they are unknown.
    pub(crate) fn targets(&self, at: OpIndex) -> impl Iterator<Item = OpIndex> {
        self.indirect.get(&at).into_iter().flatten().copied()
    }

    /// Whether groups of lanes may come together at other places than the ends of regions that the stack joins, for example at
    /// a WARPSYNC. The stack then executes an operation more often than a run may.
    pub fn groups_join_elsewhere(&self, code: &Code) -> bool {
        let joins = |op: &Op| {
            matches!(
                op.control,
                ControlEffect::Release | ControlEffect::Collective(_)
            )
        };
        code.family.may_merge_groups()
            && (!self.barriers.ignored.is_empty() || code.ops.iter().any(joins))
    }

    /// Collects the knowledge of the graph of a lane.
    pub fn of(thread: &ThreadCfg) -> KnownTransfers {
        let targets = thread.indirect.iter();
        let in_code = targets.filter_map(|(&at, targets)| match targets {
            IndirectTargets::Code { ops, .. } => Some((at, ops.clone())),
            IndirectTargets::External(_) => None,
        });
        KnownTransfers {
            indirect: in_code.collect(),
            barriers: thread.space.barriers.clone(),
            agreed_skips: BTreeMap::new(),
        }
    }

    /// Returns the transfer of an operation in a warp with a stack, as [`transfer_of`]. Convergence barriers push and pop
    /// entries, and linked calls jump (SOUNDNESS 21.2).
    pub(crate) fn transfer<P>(
        &self,
        op: &Op,
        at: OpIndex,
        any: bool,
        mut point: impl FnMut(OpIndex) -> Option<P>,
    ) -> Option<ControlTransfer<'static, P>> {
        match &op.control {
            ControlEffect::OpenBarrier(..) | ControlEffect::JoinBarrier(_)
                if self.barriers.ignored.contains(&at) =>
            {
                Some(ControlTransfer::Next)
            }
            // Regions are nested only if all active lanes open and end them.
            ControlEffect::OpenBarrier(..) | ControlEffect::JoinBarrier(_)
                if !op.condition.is_always() =>
            {
                None
            }
            ControlEffect::OpenBarrier(barrier, ControlTarget::Op(to)) => {
                Some(ControlTransfer::Push {
                    tag: Tag::Barrier(*barrier),
                    resume: point(*to)?,
                })
            }
            ControlEffect::JoinBarrier(_) => {
                let opened_as = self.barriers.ended.get(&at)?;
                Some(ControlTransfer::Pop(Tag::Barrier(*opened_as)))
            }
            ControlEffect::BreakBarrier(_)
            | ControlEffect::SaveBarrier(..)
            | ControlEffect::WriteBarrier { .. }
            | ControlEffect::Release => Some(ControlTransfer::Next),
            ControlEffect::LinkedCall(ControlTarget::Op(to)) if any => {
                Some(ControlTransfer::Jump(point(*to)?))
            }
            _ => transfer_of(op, any, point),
        }
    }
}

/// Returns the target of a conditional jump forward, if all operations that it skips go on to the next one.
fn target_of_skip(code: &Code, at: OpIndex) -> Option<OpIndex> {
    let jump = code.get(at)?;
    let ControlEffect::Jump(ControlTarget::Op(target)) = jump.control else {
        return None;
    };
    let goes_on = |op: &Op| {
        let is_next = matches!(
            op.control,
            ControlEffect::Next
                | ControlEffect::SaveBarrier(..)
                | ControlEffect::WriteBarrier { .. }
        );
        is_next && !op.barrier && op.scope == OpScope::Lane
    };
    let mut skipped = (at.0 + 1..target.0).map(|op| code.get(OpIndex(op)));
    let skips = target > at.next() && skipped.all(|op| op.is_some_and(goes_on));
    (skips && !jump.condition.is_always()).then_some(target)
}

/// Returns the transfer of an operation whose condition may hold in a lane or not (`any`), at the points that `point`
/// has for operations. `None` if it is not followed: an indirect one, or one to a place without a point.
pub(crate) fn transfer_of<P>(
    op: &Op,
    any: bool,
    point: impl FnMut(OpIndex) -> Option<P>,
) -> Option<ControlTransfer<'static, P>> {
    match &op.control {
        // Pushes apply to all active lanes, so that a condition has no clear meaning.
        ControlEffect::Call(_) | ControlEffect::Push(..) if !op.condition.is_always() => None,
        _ if !any => Some(ControlTransfer::Next),
        direct => direct.transfer(point),
    }
}

/// Returns the operations to which lanes jump through `anchor` and a word of their own, and the lanes of each, in the
/// order of the lowest lanes. `None` if there is no operation at an address.
pub(crate) fn indirect_targets(
    code: &Code,
    anchor: i64,
    lanes: u32,
    word: impl Fn(usize) -> u32,
) -> Option<Vec<(OpIndex, Mask)>> {
    let mut targets: Vec<(OpIndex, Mask)> = Vec::new();
    for lane in lanes_of(lanes.into()) {
        // The sum as a signed number of 32 bits, which the base is.
        let address = i64::from(word(lane) as i32).checked_add(anchor)?;
        let target = code.at(CodeAddr(u32::try_from(address).ok()?))?;
        match targets.iter_mut().find(|(to, _)| *to == target) {
            Some((_, lanes)) => *lanes |= 1 << lane,
            None => targets.push((target, 1 << lane)),
        }
    }
    Some(targets)
}

/// Whether some of the active lanes may take the transfer of an operation and others may go on. Lanes that end are no group.
pub(crate) fn splits(op: &Op, lanes: OpLanes) -> bool {
    let moves_lanes = !matches!(
        op.control,
        ControlEffect::Exit
            | ControlEffect::BreakBarrier(_)
            | ControlEffect::SaveBarrier(..)
            | ControlEffect::WriteBarrier { .. }
            | ControlEffect::Release
    );
    moves_lanes && lanes.any() && (lanes.possible != 0 || lanes.certain != lanes.active.mask)
}
