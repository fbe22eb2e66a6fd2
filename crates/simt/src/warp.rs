//! Abstract state of a warp and the effect of control instructions on it (`warp-cfg-2023` 3.4; SOUNDNESS 4).
//!
//! Differences from the paper: the name of an entry contains the node that pushes it ([`crate::EntrySite`]), tagged
//! entries cover the lanes above them ([`StackGraph::filter`]), and after a condition that may differ, the lanes of
//! each side agree on its predicate ([`KnownCondition::MayDiffer`]).

mod steps;

use smallvec::SmallVec;

use crate::groups::{ACTIVE, GroupRelation, Groups, Halting};
use crate::slots::SlotMap;
use crate::stack::{BOTTOM, Fate, StackGraph};
use crate::{AbstractModel, AbstractState, EntryId, EntrySite, EntryTable, NodeId, Tag};

/// Number of storage cells that a [`CellSet`] can contain.
pub const CELLS: usize = 704;

/// Set of storage cells, by numbers below [`CELLS`].
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

    /// Whether `cell` is in the set.
    pub fn contains(&self, cell: usize) -> bool {
        self.0[cell / 64] >> (cell % 64) & 1 == 1
    }

    /// Keeps the members of `other`; returns whether the set shrank.
    pub fn intersect(&mut self, other: &CellSet) -> bool {
        let before = *self;
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine &= theirs;
        }
        before != *self
    }

    /// Adds all of `other`; returns whether the set grew.
    pub fn union(&mut self, other: &CellSet) -> bool {
        let before = *self;
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine |= theirs;
        }
        before != *self
    }

    /// Passes the members to `visit`, in ascending order. Loops and no adapters of iterators, which take several times
    /// as long in builds with little optimization; audits ask this at each instruction.
    pub fn for_each(&self, mut visit: impl FnMut(usize)) {
        let mut word = 0;
        while word < self.0.len() {
            let mut rest = self.0[word];
            while rest != 0 {
                visit(word * 64 + rest.trailing_zeros() as usize);
                rest &= rest - 1;
            }
            word += 1;
        }
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

/// Precision of the stack domain (`warp-cfg-2023` 4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum StackDomain {
    /// Cyclic graphs.
    #[default]
    Full,
    /// Acyclic graphs; a graph that would become cyclic loses its order.
    Acyclic,
}

/// Precision of the group domain (`warp-cfg-2023` 4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum GroupDomain {
    /// Relations between all groups.
    #[default]
    Full,
    /// No relations.
    Off,
}

/// Precision of the agreement domain (`warp-cfg-2023` 4.2).
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

/// Side of a divergent branch that runs first: a property of the machine that no vendor documents.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DivergenceOrder {
    /// The lanes that take the branch (observed by `pastis-2022` III.A).
    TakenFirst,
    /// The lanes that do not take it.
    FallThroughFirst,
    /// Either side.
    #[default]
    Any,
}

/// Execution model of a warp, and the precision of the analysis.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WarpModel {
    /// Whether lanes may diverge; false for a lane that runs alone.
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

/// Knowledge about the condition of a control instruction in the active lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KnownCondition {
    /// Holds in every lane.
    Always,
    /// Holds in no lane.
    Never,
    /// Unknown, equal in all active lanes.
    Agreed,
    /// Unknown, may differ between active lanes.
    MayDiffer {
        /// Cell on which the lanes of each side agree once they are split by the condition. For example, after
        /// `@P0 BRA` the lanes that jump all have P0 true.
        deciding_cell: Option<usize>,
    },
}

/// Control effect of the last instruction of a node, when its condition holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ControlOp {
    /// None: continues at the next node.
    FallThrough,
    /// BRA and other jumps with one target.
    Jump(NodeId),
    /// BRX, JMX: one of several targets, for each lane.
    IndirectJump {
        /// Possible targets.
        targets: Vec<NodeId>,
        /// Whether all active lanes jump to the same one.
        agreed: bool,
    },
    /// Pushes an entry and continues at the next node.
    Push {
        /// Tag of the entry.
        tag: Tag,
        /// Node where its lanes will continue.
        resume: NodeId,
    },
    /// CAL: pushes a RET entry and jumps.
    Call {
        /// Return point.
        resume: NodeId,
        /// First node of the callee.
        callee: NodeId,
    },
    /// SYNC, BRK, CONT, RET: pops to the first entry of the tag.
    Pop(Tag),
    /// A jump that pushes a frame when it diverges, unless the topmost frame has its reconvergence point already.
    Branch {
        /// Node where the lanes that take it continue.
        target: NodeId,
        /// Node where the lanes reconverge; `None` is the end of the kernel.
        reconvergence: Option<ReconvergencePoint>,
    },
    /// Reconvergence point: pops to the topmost frame if it reconverges here.
    Reconverge,
    /// EXIT.
    Exit,
}

/// Reconvergence point of the frames of a branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReconvergencePoint {
    /// Node that ends with [`ControlOp::Reconverge`].
    pub at: NodeId,
    /// Node after it.
    pub resume: NodeId,
}

/// Kind of a step of a warp.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Via {
    /// Active lanes follow an edge.
    Walk,
    /// No active lane is left; this entry becomes the running one.
    Resume(EntryId),
}

/// Step of a warp from one node to the next: an edge of the warp-level CFG.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WarpStep {
    /// Next node; `None` when the warp has finished.
    pub to: Option<NodeId>,
    /// Kind of the step.
    pub via: Via,
    /// Entries that the step may push, each at most once.
    pub pushes: SmallVec<[EntryId; 2]>,
}

/// Possible underflow: SYNC, BRK, CONT or RET may find no entry of its tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MayUnderflow {
    /// The tag.
    pub tag: Tag,
}

/// Abstract state of a warp about to execute a node: pending stack, relations between the
/// groups, and for each group the cells on which its lanes agree (`warp-cfg-2023` 3.4).
#[derive(Clone, Debug)]
pub struct WarpState {
    stack: StackGraph,
    groups: Groups,
    /// By group: the cells on which the lanes of each of its entries agree.
    agree: Vec<CellSet>,
}

impl WarpState {
    /// Pending stacks.
    pub fn stack(&self) -> &StackGraph {
        &self.stack
    }

    /// Relations; group numbers are stack slots, [`ACTIVE`] for the active lanes.
    pub fn groups(&self) -> &Groups {
        &self.groups
    }

    /// Cells on which the lanes of a group agree; if the slot stands for several entries, the lanes of each entry.
    pub fn agreement(&self, group: usize) -> &CellSet {
        &self.agree[group]
    }

    /// Reduces every component of the state to what the domains of `model` can express.
    fn apply_domain_limits(&mut self, model: &WarpModel) {
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
            self.stack.forget_order();
        }
    }

    /// Renumbers groups and agreements after a renumbering of the stack's slots.
    fn remap(&mut self, moves: &SlotMap) {
        self.groups.remap(moves);
        // An added slot has no entry yet, so agreement on all cells holds vacuously.
        self.agree = moves.map_list(&self.agree, CellSet([u64::MAX; CELLS / 64]));
    }

    /// Adds slots for `entries` where they have none; returns their slots.
    fn add_slots(&mut self, entries: &[EntryId]) -> SmallVec<[usize; 4]> {
        if let Some(moves) = self.stack.add_slots(entries) {
            self.remap(&moves);
        }
        entries.iter().filter_map(|&e| self.stack.slot(e)).collect()
    }

    /// Returns the state after the push of a tagged entry with the active lanes.
    fn after_push(&self, entry: EntryId) -> WarpState {
        let mut state = self.clone();
        for slot in state.add_slots(&[entry]) {
            state.stack.push_any_order(&[slot]);
            state.groups.push_copy_of_active(slot);
            let active = state.agree[ACTIVE];
            // The slot may stand for older entries too, so it keeps only cells on which all of them agree.
            state.agree[slot].intersect(&active);
        }
        state
    }

    /// Returns the state after a divergence: some lanes stay active, the others are pending in (some of) `entries`.
    fn after_divergence(&self, entries: &[EntryId]) -> WarpState {
        let mut state = self.clone();
        let slots = state.add_slots(entries);
        state.stack.push_any_order(&slots);
        state.groups.split_active(&slots);
        let active = state.agree[ACTIVE];
        for &slot in &slots {
            // A part of the active lanes agrees on all cells on which all of them agree.
            state.agree[slot].intersect(&active);
        }
        state
    }

    /// Removes the active lanes, or some of them, from the entries above the first for which `is_target` holds, or
    /// from all entries (`None`). Returns the state and whether some stack may have no such entry.
    ///
    /// With [`Halting::Some`] the returned state describes the lanes that stay active. With [`Halting::All`] an entry
    /// must be resumed ([`WarpState::emit_resumptions`]).
    fn after_halt(
        &self,
        is_target: Option<&dyn Fn(EntrySite) -> bool>,
        halting: Halting,
        entries: &EntryTable,
    ) -> (WarpState, bool) {
        let stops = |slot| {
            self.stack
                .id(slot)
                .is_some_and(|id| is_target.is_some_and(|is_target| is_target(entries.get(id))))
        };
        // An entry with a lane that does not halt is kept, one whose lanes all halt is dropped.
        let fate = |slot| {
            let relation = self.groups.against_halting(slot, halting);
            // The lanes that stay active are lanes of the entry.
            let holds_others = halting == Halting::Some
                && self.groups.get(ACTIVE, slot).has(GroupRelation::SUBSET);
            if relation.has(GroupRelation::EXCEEDS) || holds_others {
                Fate::Keep
            } else if relation.has(GroupRelation::SUBSET) {
                Fate::Drop
            } else {
                Fate::Any
            }
        };
        // The lanes of all entries above a tagged one are lanes of it (SOUNDNESS 3.2).
        let covers = |slot| {
            self.stack
                .id(slot)
                .is_some_and(|id| entries.get(id).tag != Tag::Nil)
        };
        // Entries lose lanes but no agreement: a subset of lanes agrees on all cells on which the set agrees.
        let filtered = self.stack.filter(is_target.is_none(), stops, fate, covers);
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

    /// Emits every resumption when no active lane is left: each entry that may be on top, or the end of the warp.
    fn emit_resumptions(
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
            // The lanes of the resumed entry agree on the cells of its slot, whatever the previous lanes agreed on.
            state.groups.resume(slot);
            state.agree[ACTIVE] = self.agree[slot];
            if state.drop_infeasible_entries(model) {
                let step = WarpStep {
                    to: Some(entries.get(id).resume),
                    via: Via::Resume(id),
                    pushes: SmallVec::new(),
                };
                emit(step, Some(state));
            }
        }
    }

    /// Drops entries whose relations to the active lanes contradict each other (SOUNDNESS 4.2), and applies the limits
    /// of the domains. Returns whether a stack is left.
    fn drop_infeasible_entries(&mut self, model: &WarpModel) -> bool {
        // Two pending slots may contradict each other where no stack holds both; the active lanes always exist, so a
        // contradiction with them excludes the slot.
        let gone = (1..self.stack.slots())
            .filter(|&slot| {
                self.groups.get(ACTIVE, slot).is_contradictory()
                    || self.groups.get(slot, ACTIVE).is_contradictory()
            })
            .collect();
        if let Some(moves) = self.stack.remove_slots(&gone) {
            self.remap(&moves);
        }
        self.apply_domain_limits(model);
        !self.stack.is_infeasible()
    }
}

impl AbstractState for WarpState {
    fn active_agree(&self, cells: impl IntoIterator<Item = usize>) -> bool {
        cells.into_iter().all(|c| self.agree[ACTIVE].contains(c))
    }

    fn write(&mut self, cells: &[usize], agrees: bool, guarded: bool) {
        for &cell in cells {
            // A guarded write of equal values keeps agreement that was there, and cannot establish it.
            if !agrees {
                self.agree[ACTIVE].remove(cell);
            } else if !guarded {
                self.agree[ACTIVE].insert(cell);
            }
        }
        // After the active lanes: a group equal to them takes over their new agreement.
        for group in 1..self.agree.len() {
            // Strong update of groups equal to the active lanes, weak update of those that intersect them.
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

    fn pending(&self) -> &[EntryId] {
        self.stack.ids()
    }
}

/// Activation stacks and synchronisation frames, in one state.
impl AbstractModel for WarpModel {
    type State = WarpState;
    type Control = ControlOp;

    fn may_diverge(&self) -> bool {
        self.may_diverge
    }

    fn has_agreement(&self) -> bool {
        self.agreement != AgreementDomain::Off
    }

    fn entry(&self, agree: CellSet) -> WarpState {
        let mut state = WarpState {
            stack: StackGraph::empty(),
            groups: Groups::active_only(),
            agree: vec![agree],
        };
        state.apply_domain_limits(self);
        state
    }

    fn step(
        &self,
        state: WarpState,
        op: &ControlOp,
        condition: KnownCondition,
        position: (NodeId, Option<NodeId>),
        entries: &mut EntryTable,
        emit: &mut dyn FnMut(WarpStep, Option<WarpState>),
    ) -> Result<(), MayUnderflow> {
        state.step(op, condition, position, self, entries, emit)
    }

    fn join(&self, state: &mut WarpState, other: &WarpState) -> bool {
        let mut grew = false;
        if state.stack.ids() != other.stack.ids() {
            let slots = state.stack.slots();
            state.add_slots(other.stack.ids());
            grew = slots < state.stack.slots();
        }
        // Facts about slots that `other` lacks hold vacuously in `other`, so they are kept.
        let moves = other.stack.slot_map_into(&state.stack);
        grew |= state.stack.union(&other.stack, &moves);
        grew |= state.groups.join(&other.groups, &moves);
        for run in moves.runs() {
            let mine = state.agree[run.new..].iter_mut();
            for (mine, theirs) in mine.zip(&other.agree[run.old..run.old + run.length]) {
                // The lanes may come from either state, so they agree only on the cells of both.
                grew |= mine.intersect(theirs);
            }
        }
        // A state that did not grow is still within the limits.
        if grew {
            state.apply_domain_limits(self);
        }
        grew
    }
}

// `BOTTOM` and `ACTIVE` share number 0: a slot and its group have the same number, and the active lanes are the one
// group that has no slot.
const _: () = assert!(BOTTOM == ACTIVE);
