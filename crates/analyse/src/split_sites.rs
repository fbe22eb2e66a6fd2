//! Sites at which a wave may split into the lanes that are active and the others (`wavefront-splitting-2022` 4), and
//! the points at which its splits may merge (SOUNDNESS 12.6).
//!
//! A site is a branch on the mask of active lanes at which lanes may take both ways. After it, a split executes only
//! what its lanes need. For example, of an if-else one split executes only the first arm and the other only the
//! second. The whole wave has the same results if the values of each lane do not depend on the other lanes:
//! `relation` follows how the registers of the warp of a split differ from the registers of the whole wave, `idle`
//! what the wave does while none of the split's lanes is active. Whatever they do not follow is an obstacle.

mod idle;
mod join;
mod obstacle;
mod relation;
mod walk;

use std::collections::{BTreeMap, BTreeSet};

use warpbound_ir::{Cell, Code, ControlEffect, OpIndex};
use warpbound_isa::Reg;
use warpbound_simt::NodeId;

use crate::branch_sites::{BranchSite, classify_end};
use crate::dependence::Dependence;
use crate::masks::Masks;
use crate::refusal::{Reason, Refusal};
use crate::thread_cfg::ThreadCfg;
use idle::IdleRegion;
use join::{Liveness, MergePoint};
pub use obstacle::{DifferenceCause, DifferenceKind, ObstacleReason, SplitObstacle};
use relation::SplitPart;
pub use walk::SiteContext;
use walk::Walk;

/// Answer for a site.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SiteVerdict {
    /// Splitting changes no result, whether the splits merge or not.
    SplitsAndMerges,
    /// Splitting changes no result if the splits run apart until they end.
    Splits,
    /// Splitting changes no result if the splits merge at the merge point.
    Merges,
    /// Splitting may change results.
    Refused,
}

impl warpbound_base::Named for SiteVerdict {
    const ALL: &'static [(SiteVerdict, &'static str)] = &[
        (SiteVerdict::SplitsAndMerges, "splits and merges"),
        (SiteVerdict::Splits, "splits"),
        (SiteVerdict::Merges, "merges"),
        (SiteVerdict::Refused, "refused"),
    ];
}

/// Branch on the mask of active lanes, with the answer whether a wave may split at it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundSite {
    /// The branch.
    pub at: OpIndex,
    /// Nodes that end with it, one for each context.
    pub nodes: Vec<NodeId>,
    /// Kind of the branch.
    pub kind: BranchSite,
    /// First node that all paths from the branch reach; of the first context, `None` for the end of the kernel.
    pub join: Option<NodeId>,
    /// Operation before which the splits may merge.
    pub merge_point: Option<OpIndex>,
    /// Nodes of both arms, in the first context: those between the branch and the join, and those between the join
    /// and the merge point where other lanes are active there.
    pub arms: [Vec<NodeId>; 2],
    /// Obstacles to splits that run apart until they end.
    pub apart: Vec<SplitObstacle>,
    /// Obstacles to splits that merge.
    pub merged: Vec<SplitObstacle>,
}

impl FoundSite {
    /// The answer.
    pub fn verdict(&self) -> SiteVerdict {
        match (self.may_split(false), self.may_split(true)) {
            (true, true) => SiteVerdict::SplitsAndMerges,
            (true, false) => SiteVerdict::Splits,
            (false, true) => SiteVerdict::Merges,
            (false, false) => SiteVerdict::Refused,
        }
    }

    /// Whether a wave may split here, on a machine that merges the splits at the merge point, or that never merges.
    pub fn may_split(&self, merging: bool) -> bool {
        match merging {
            true => self.merged.is_empty(),
            false => self.apart.is_empty(),
        }
    }
}

/// Finds the sites of a kernel, in order of address: all branches on the mask of active lanes that a wave may reach.
///
/// # Errors
///
/// A refusal after the time limit.
pub fn find_sites(
    code: &Code,
    thread: &ThreadCfg,
    dependence: &Dependence,
    context: &SiteContext,
) -> Result<Vec<FoundSite>, Refusal> {
    let Some(masks) = Masks::compute(code, thread)? else {
        return Ok(Vec::new());
    };
    let mut finder = SiteFinder {
        walk: Walk {
            code,
            thread,
            dependence,
            context,
        },
        masks,
        split_masks: Masks::compute_for_splits(code, thread)?,
        live: Liveness::compute(code, dependence, thread),
        regions: BTreeMap::new(),
    };
    let mut sites: BTreeMap<OpIndex, FoundSite> = BTreeMap::new();
    for node in thread.space.ids() {
        if !finder.walk.ends_with_site(node) {
            continue;
        }
        let at = thread.space.block(node).last;
        if thread.deadline.is_past() {
            let at = code.get(at).map(|op| op.addr).unwrap_or_default();
            return Err(Refusal {
                at,
                reason: Reason::TimeLimit,
            });
        }
        let Some(found) = finder.site(node) else {
            continue;
        };
        match sites.get_mut(&at) {
            None => {
                sites.insert(at, found);
            }
            Some(known) => add_context(known, found),
        }
    }
    Ok(sites.into_values().collect())
}

/// Adds the answer for another context of a site.
fn add_context(known: &mut FoundSite, found: FoundSite) {
    known.nodes.extend(found.nodes);
    known.kind = known.kind.max(found.kind);
    let same_point = known.merge_point == found.merge_point;
    known.apart.extend(found.apart);
    known.merged.extend(found.merged);
    // Splits merge before one operation, which has to be the same in all contexts.
    if !same_point {
        known.merged.push(SplitObstacle {
            at: known.at,
            reason: ObstacleReason::NoJoin,
        });
    }
    for list in [&mut known.apart, &mut known.merged] {
        list.sort_unstable();
        list.dedup();
    }
}

struct SiteFinder<'a> {
    walk: Walk<'a>,
    masks: Masks<'a>,
    /// Facts that hold for each split as well.
    split_masks: Option<Masks<'a>>,
    live: Liveness,
    /// Regions of branches on the mask of active lanes, by node.
    regions: BTreeMap<usize, IdleRegion>,
}

impl SiteFinder<'_> {
    /// Answer for the branch at the end of a node; `None` if no run decides there.
    fn site(&mut self, node: NodeId) -> Option<FoundSite> {
        let Walk {
            code,
            thread,
            dependence,
            ..
        } = self.walk;
        let at = thread.space.block(node).last;
        let kind = classify_end(code, thread, dependence, &self.masks, node)?;
        let join = self.walk.join(node.index());
        let mut found = FoundSite {
            at,
            nodes: vec![node],
            kind,
            join: (join != dependence.exit()).then_some(NodeId(join as u32)),
            merge_point: None,
            arms: [Vec::new(), Vec::new()],
            apart: Vec::new(),
            merged: Vec::new(),
        };
        if let Some(reason) = self.refused_kind(node, kind) {
            let obstacle = SplitObstacle { at, reason };
            found.apart.push(obstacle);
            found.merged.push(obstacle);
            return Some(found);
        }
        let region = self.walk.region(node.index());
        let point = MergePoint::find(self.walk, &self.masks, node);
        let second = point.as_ref().map(|point| point.second_arm(self.walk));
        found.merge_point = point.as_ref().map(|point| point.at);
        found.arms = [
            region.iter().map(|&node| NodeId(node as u32)).collect(),
            second.unwrap_or_default(),
        ];
        let mut in_region = self.region(node.index()).obstacles.clone();
        // If the compiler left out barriers, lanes of both arms may exchange data there.
        in_region.extend(idle::exchanges(self.walk, region.iter().copied()));
        // First, because it computes the regions that both kinds of obstacles need.
        found.apart = self.obstacles_apart(node.index(), &in_region);
        found.merged = match point {
            Some(point) => self.obstacles_merged(node.index(), &point, in_region),
            None => vec![SplitObstacle {
                at,
                reason: ObstacleReason::NoJoin,
            }],
        };
        Some(found)
    }

    /// Reason why a branch is not a site, whatever follows.
    fn refused_kind(&self, node: NodeId, kind: BranchSite) -> Option<ObstacleReason> {
        let Walk { code, thread, .. } = self.walk;
        if !matches!(kind, BranchSite::Split | BranchSite::Skip) {
            return Some(ObstacleReason::Kind(kind));
        }
        let writes_active = |at: OpIndex| {
            let op = code.get(at);
            op.is_some_and(|op| matches!(op.control, ControlEffect::SetActive(_)))
        };
        if !self.walk.ops(node.index()).any(writes_active) {
            return Some(ObstacleReason::NoMaskWrite);
        }
        // The same node may stand for several activations of a function.
        (!thread.space.shared_calls.is_empty()).then_some(ObstacleReason::SharedCalls)
    }

    /// Whether the branch at the end of a node is of a kind at which waves split.
    fn may_be_site(&self, node: NodeId) -> bool {
        let Walk {
            code,
            thread,
            dependence,
            ..
        } = self.walk;
        let kind = classify_end(code, thread, dependence, &self.masks, node);
        kind.is_some_and(|kind| self.refused_kind(node, kind).is_none())
    }

    fn region(&mut self, branch: usize) -> &IdleRegion {
        // A split may be anywhere without lanes, so only facts that claim no active lane hold of it.
        let (walk, masks) = (self.walk, &self.split_masks);
        self.regions.entry(branch).or_insert_with(|| {
            let masks = masks.as_ref();
            let known = masks.map(|masks| masks.bits_of_idle_lanes(NodeId(branch as u32)));
            IdleRegion::of_branch(walk, branch, &known.unwrap_or_default())
        })
    }

    /// Computes the regions of all branches on the mask of active lanes that the splits of a site may reach.
    fn compute_regions(&mut self, from: usize) {
        let reached = self.walk.dependence.graph.reachable([from]);
        for node in self.walk.thread.space.ids() {
            if reached[node.index()] && self.walk.ends_with_site(node) {
                self.region(node.index());
            }
        }
    }

    fn obstacles_apart(
        &mut self,
        branch: usize,
        in_region: &BTreeSet<SplitObstacle>,
    ) -> Vec<SplitObstacle> {
        self.compute_regions(branch);
        let tail = relation::follow(self.walk, &self.regions, branch, SplitPart::Any, None);
        in_region.union(&tail.obstacles).copied().collect()
    }

    fn obstacles_merged(
        &mut self,
        branch: usize,
        point: &MergePoint,
        mut obstacles: BTreeSet<SplitObstacle>,
    ) -> Vec<SplitObstacle> {
        let follow = |part| relation::follow(self.walk, &self.regions, branch, part, Some(point));
        let tail = follow(SplitPart::Any);
        obstacles.extend(tail.obstacles);
        if tail.nodes.contains(&branch) {
            obstacles.insert(SplitObstacle {
                at: self.walk.thread.space.block(NodeId(branch as u32)).last,
                reason: ObstacleReason::BranchAgain,
            });
        }
        obstacles.extend(self.later_joins(branch, point, &tail.nodes));
        let live = self.live.before(self.walk, point);
        // The merged wave has the scalar registers of the split that was active at the branch.
        for (&cell, relation) in &follow(SplitPart::Active).at_end.words {
            if live.contains(cell.index()) && !is_followed_apart(cell) {
                obstacles.insert(SplitObstacle {
                    at: point.at,
                    reason: ObstacleReason::LiveWord(cell, relation.cause),
                });
            }
        }
        obstacles.into_iter().collect()
    }
}

impl SiteFinder<'_> {
    /// Branches before a merge point whose splits would merge after it, although the splits of the branches around
    /// wait for them.
    fn later_joins(
        &self,
        branch: usize,
        point: &MergePoint,
        tail: &BTreeSet<usize>,
    ) -> Vec<SplitObstacle> {
        let mut inside = self.walk.region(branch);
        inside.extend(tail);
        let is_before = |node: &usize| *node != point.node && *node != branch;
        let branches = inside.iter().copied().filter(is_before);
        let branches = branches.map(|node| NodeId(node as u32));
        let sites =
            branches.filter(|&node| self.walk.ends_with_site(node) && self.may_be_site(node));
        let later = sites.filter(|&node| {
            let own = MergePoint::find(self.walk, &self.masks, node);
            own.is_some_and(|own| match own.node == point.node {
                true => own.at > point.at,
                false => !inside.contains(&own.node),
            })
        });
        let obstacles = later.map(|node| SplitObstacle {
            at: self.walk.thread.space.block(node).last,
            reason: ObstacleReason::LaterJoin,
        });
        obstacles.collect()
    }
}

/// Whether splits may differ in a register of the warp when they merge: the masks of active lanes are united, and the
/// meaning of an operation holds with all contents of MODE with which it may be reached.
fn is_followed_apart(cell: Cell) -> bool {
    Cell::EXEC_WORDS.contains(&cell) || cell == Cell::of(Reg::MODE)
}
