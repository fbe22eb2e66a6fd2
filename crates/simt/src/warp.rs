//! Abstract state of a warp and what control instructions do to it (paper section 3.4).

mod steps;

use smallvec::SmallVec;

use crate::groups::{ACTIVE, Groups, Halting, GroupRelation};
use crate::slots::SlotMap;
use crate::stack::{BOTTOM, Fate, StackGraph};
use crate::{EntrySite, EntryId, EntryTable, NodeId, Tag};

/// Number of storage cells a [`CellSet`] can name.
pub const CELLS: usize = 320;

/// A set of storage cells (registers, predicates, condition code) by number below [`CELLS`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CellSet([u64; CELLS / 64]);

impl CellSet {
    /// Adds `cell`.
    pub fn insert(&mut self, cell: usize) {
        self.0[cell / 64] |= 1 << (cell % 64);
    }

    /// Removes `cell`.
    pub fn remove(&mut self, cell: usize) {
        self.0[cell / 64] &= !(1 << (cell % 64));
    }

    /// `cell` is in the set.
    pub fn contains(&self, cell: usize) -> bool {
        self.0[cell / 64] >> (cell % 64) & 1 == 1
    }

    /// Keeps what is also in `other`; true when something was lost.
    pub fn intersect(&mut self, other: &CellSet) -> bool {
        let before = *self;
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine &= theirs;
        }
        before != *self
    }

    /// Adds all of `other`; true when the set grew.
    pub fn union(&mut self, other: &CellSet) -> bool {
        let before = *self;
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine |= theirs;
        }
        before != *self
    }

    /// Members, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(i, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros() as usize;
                (rest != 0).then(|| {
                    rest &= rest - 1;
                    i * 64 + bit
                })
            })
        })
    }
}

impl FromIterator<usize> for CellSet {
    fn from_iter<I: IntoIterator<Item = usize>>(cells: I) -> Self {
        let mut set = CellSet::default();
        cells.into_iter().for_each(|cell| set.insert(cell));
        set
    }
}

/// How far the stack domain goes (paper section 4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum StackDomain {
    /// Cyclic graphs.
    #[default]
    Full,
    /// A graph that would become cyclic loses its order.
    Acyclic,
}

/// Whether relations between groups are kept (paper section 4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum GroupDomain {
    /// Relations are kept.
    #[default]
    Full,
    /// Nothing is known about groups.
    Off,
}

/// For which groups agreement is kept (paper section 4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AgreementDomain {
    /// Active and pending lanes.
    #[default]
    Full,
    /// Active lanes only.
    ActiveOnly,
    /// No agreement at all.
    Off,
}

/// Which side of a divergent branch runs first: a property of the machine that no vendor documents.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DivergenceOrder {
    /// The lanes that take the branch (observed by `pastis-2022`, section on thread divergence).
    TakenFirst,
    /// The lanes that do not take it.
    FallThroughFirst,
    /// Either side.
    #[default]
    Any,
}

/// What a warp is and how precisely it is followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WarpModel {
    /// Lanes may go different ways; off for a lane that runs alone.
    pub may_diverge: bool,
    /// Order of the sides of a divergent branch.
    pub order: DivergenceOrder,
    /// Stack domain.
    pub stack: StackDomain,
    /// Group domain.
    pub groups: GroupDomain,
    /// Agreement domain.
    pub agreement: AgreementDomain,
}

/// What is known about the condition of a control instruction for the active lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KnownCondition {
    /// Holds in every lane.
    Always,
    /// Holds in no lane.
    Never,
    /// Unknown, the same in all active lanes.
    Agreed,
    /// Unknown, may differ.
    Open {
        /// Cell that is known to agree within each side once the lanes are split by it.
        decides: Option<usize>,
    },
}

/// Control effect of the last instruction of a node, when its condition holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ControlOp {
    /// Goes on at the next node.
    FallThrough,
    /// BRA and other jumps with one target.
    Jump(NodeId),
    /// BRX, JMX: one of several targets, each lane its own; `agreed` when all lanes read the same.
    Scatter {
        /// Possible targets.
        targets: Vec<NodeId>,
        /// All active lanes jump to the same one.
        agreed: bool,
    },
    /// SSY, PBK, PCNT, PRET: pushes an entry and goes on.
    Push {
        /// Tag of the entry.
        tag: Tag,
        /// Where its lanes will go on.
        resume: NodeId,
    },
    /// CAL: pushes a RET entry and jumps.
    Call {
        /// Return point.
        resume: NodeId,
        /// First node of the callee.
        callee: NodeId,
    },
    /// SYNC, BRK, CONT, RET.
    Unwind(Tag),
    /// A jump that pushes a frame when it sends lanes apart, unless the topmost frame meets there already.
    Branch {
        /// Where the takers go on.
        target: NodeId,
        /// Where the lanes meet again; `None` is the end of the kernel.
        meet: Option<ReconvergencePoint>,
    },
    /// The node at which lanes meet: those of the topmost frame, when it is one that meets here.
    Meet,
    /// EXIT.
    Exit,
}

/// Where the lanes of a frame meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReconvergencePoint {
    /// The node whose last instruction lets them meet.
    pub at: NodeId,
    /// The node after it.
    pub resume: NodeId,
}

/// How a warp gets from one node to the next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Via {
    /// Active lanes walk from one to the other.
    Walk,
    /// The running entry is exhausted; this entry becomes the running one.
    Resume(EntryId),
}

/// One step of a warp.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WarpStep {
    /// Next node; `None` when the warp has finished.
    pub to: Option<NodeId>,
    /// How it gets there.
    pub via: Via,
    /// Entries that the step may push, each at most once.
    pub pushes: SmallVec<[EntryId; 2]>,
}

/// SYNC, BRK, CONT or RET may find no entry of its tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MayUnderflow {
    /// The tag looked for.
    pub tag: Tag,
}

/// What is known when the warp is about to execute a node: pending stack, relations between the
/// groups, and for each group the cells on which its lanes agree.
#[derive(Clone, Debug)]
pub struct WarpState {
    stack: StackGraph,
    groups: Groups,
    agree: Vec<CellSet>,
}

impl WarpState {
    /// A warp at the kernel's entry; its lanes agree on `agree`.
    pub fn entry(agree: CellSet, model: &WarpModel) -> Self {
        let mut state = WarpState {
            stack: StackGraph::empty(),
            groups: Groups::active_only(),
            agree: vec![agree],
        };
        state.limit(model);
        state
    }

    /// Pending stacks.
    pub fn stack(&self) -> &StackGraph {
        &self.stack
    }

    /// Relations; group numbers are stack slots, [`ACTIVE`] for the active lanes.
    pub fn groups(&self) -> &Groups {
        &self.groups
    }

    /// Cells on which the lanes of a group agree (of each entry, when the slot stands for several).
    pub fn agreement(&self, group: usize) -> &CellSet {
        &self.agree[group]
    }

    /// All of `cells` agree among the active lanes.
    pub fn active_agree(&self, cells: impl IntoIterator<Item = usize>) -> bool {
        cells.into_iter().all(|c| self.agree[ACTIVE].contains(c))
    }

    /// The active lanes write `cells`. `agrees`: they all write the same values if they write.
    /// `guarded`: under a condition, so that the old value may stay.
    pub fn write(&mut self, cells: &[usize], agrees: bool, guarded: bool) {
        for &cell in cells {
            if !agrees {
                self.agree[ACTIVE].remove(cell);
            } else if !guarded {
                self.agree[ACTIVE].insert(cell);
            }
        }
        for group in 1..self.agree.len() {
            if self.groups.disjoint(group, ACTIVE) {
                continue;
            }
            let same = self.groups.equal(group, ACTIVE);
            for &cell in cells {
                if !(same && self.agree[ACTIVE].contains(cell)) {
                    self.agree[group].remove(cell);
                } else if !guarded {
                    self.agree[group].insert(cell);
                }
            }
        }
    }

    /// Keeps in the agreement of every group only what the domain allows.
    fn limit(&mut self, model: &WarpModel) {
        if model.agreement == AgreementDomain::Off {
            self.agree.fill(CellSet::default());
        }
        if model.agreement == AgreementDomain::ActiveOnly {
            self.agree[1..].fill(CellSet::default());
        }
        if model.groups == GroupDomain::Off {
            self.groups.forget();
        }
        if model.stack == StackDomain::Acyclic && self.stack.is_cyclic() {
            self.stack.saturate();
        }
    }

    /// Renumbers groups and agreements after the stack's slots moved.
    fn remap(&mut self, moves: &SlotMap) {
        self.groups.remap(moves);
        // No entry stands in a new slot yet, so all its lanes agree on everything.
        self.agree = moves.list(&self.agree, CellSet([u64::MAX; CELLS / 64]));
    }

    /// Slots for `entries`.
    fn make_room(&mut self, entries: &[EntryId]) -> SmallVec<[usize; 4]> {
        if let Some(moves) = self.stack.make_room(entries) {
            self.remap(&moves);
        }
        entries.iter().filter_map(|&e| self.stack.slot(e)).collect()
    }

    /// The active lanes are saved as a tagged entry and go on.
    fn pushed(&self, entry: EntryId) -> WarpState {
        let mut state = self.clone();
        for slot in state.make_room(&[entry]) {
            state.stack.push_any_order(&[slot]);
            state.groups.push_copy_of_active(slot);
            let active = state.agree[ACTIVE];
            state.agree[slot].intersect(&active);
        }
        state
    }

    /// The active lanes split: some stay active, others wait in (some of) `entries`.
    fn diverged(&self, entries: &[EntryId]) -> WarpState {
        let mut state = self.clone();
        let slots = state.make_room(entries);
        state.stack.push_any_order(&slots);
        state.groups.split_active(&slots);
        let active = state.agree[ACTIVE];
        for &slot in &slots {
            state.agree[slot].intersect(&active);
        }
        state
    }

    /// The active lanes, or some of them, leave: up to the first entry for which `keeps` holds, or
    /// altogether (`None`). With [`Halting::Some`] the result is the state of those that go on; with
    /// [`Halting::All`] the top of the stack must then be resumed. Beside it: some stack may have no such
    /// entry.
    fn halted(
        &self,
        keeps: Option<&dyn Fn(EntrySite) -> bool>,
        halting: Halting,
        entries: &EntryTable,
    ) -> (WarpState, bool) {
        let stops = |slot| {
            self.stack
                .id(slot)
                .is_some_and(|id| keeps.is_some_and(|keeps| keeps(entries.get(id))))
        };
        let fate = |slot| {
            let relation = self.groups.against_halting(slot, halting);
            let holds_others =
                halting == Halting::Some && self.groups.get(ACTIVE, slot).has(GroupRelation::SUBSET);
            if relation.has(GroupRelation::EXCEEDS) || holds_others {
                Fate::Keep
            } else if relation.has(GroupRelation::SUBSET) {
                Fate::Drop
            } else {
                Fate::Any
            }
        };
        // Everything above a tagged entry was pushed by (some of) its lanes.
        let covers = |slot| {
            self.stack
                .id(slot)
                .is_some_and(|id| entries.get(id).tag != Tag::Nil)
        };
        let filtered = self.stack.filter(keeps.is_none(), stops, fate, covers);
        let mut groups = self.groups.clone();
        groups.halt(
            halting,
            |slot| filtered.may_lose.contains(slot),
            |slot| filtered.may_stay.contains(slot),
        );
        let state = WarpState {
            stack: filtered.stack,
            groups,
            agree: self.agree.clone(),
        };
        (state, filtered.may_underflow)
    }

    /// The running entry is exhausted: every way to go on.
    fn resumptions(
        &self,
        model: &WarpModel,
        entries: &EntryTable,
        emit: &mut dyn FnMut(WarpStep, Option<WarpState>),
    ) {
        for slot in self.stack.top().iter() {
            let Some(id) = self.stack.id(slot) else {
                emit(WarpStep::finish(), None);
                continue;
            };
            let mut state = WarpState {
                stack: self.stack.pop(slot),
                groups: self.groups.clone(),
                agree: self.agree.clone(),
            };
            state.groups.resume(slot);
            state.agree[ACTIVE] = self.agree[slot];
            if state.reduce(model) {
                let step = WarpStep {
                    to: Some(entries.get(id).resume),
                    via: Via::Resume(id),
                    pushes: SmallVec::new(),
                };
                emit(step, Some(state));
            }
        }
    }

    /// Drops entries that cannot be there and applies the limits of the domains. False when no
    /// stack is left.
    fn reduce(&mut self, model: &WarpModel) -> bool {
        let gone = (1..self.stack.slots())
            .filter(|&slot| {
                self.groups.get(ACTIVE, slot).is_contradictory()
                    || self.groups.get(slot, ACTIVE).is_contradictory()
            })
            .collect();
        if let Some(moves) = self.stack.restrict(&gone) {
            self.remap(&moves);
        }
        self.limit(model);
        !self.stack.is_infeasible()
    }

    /// Joins `other` into this state; true when this state grew.
    pub fn join(&mut self, other: &WarpState, model: &WarpModel) -> bool {
        let mut grew = false;
        if self.stack.ids() != other.stack.ids() {
            let slots = self.stack.slots();
            self.make_room(other.stack.ids());
            grew = slots < self.stack.slots();
        }
        // What holds of a slot that `other` has not is what holds of no entry: it takes nothing away.
        let moves = other.stack.places_in(&self.stack);
        grew |= self.stack.union(&other.stack, &moves);
        grew |= self.groups.join(&other.groups, &moves);
        for run in moves.runs() {
            let mine = self.agree[run.new..].iter_mut();
            for (mine, theirs) in mine.zip(&other.agree[run.old..run.old + run.length]) {
                grew |= mine.intersect(theirs);
            }
        }
        if grew {
            self.limit(model);
        }
        grew
    }
}

// `BOTTOM` and `ACTIVE` share number 0: a slot is the group of its entry, and the running entry
// is the one group that has no slot.
const _: () = assert!(BOTTOM == ACTIVE);
