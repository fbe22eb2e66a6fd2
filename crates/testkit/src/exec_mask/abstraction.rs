//! Abstract execution model with an EXEC mask, and compiled programs as inputs of the graph builder.
//!
//! A claim of agreement is about a mask: *the lanes of mask m hold equal values in cell c*. The state has the claims
//! for EXEC and for every scalar register, because EXEC grows back to saved masks. Rules:
//!
//! * A write under EXEC establishes (equal values) or ends (other values) agreement in EXEC and in the masks that
//!   EXEC is known to contain. In any other mask it ends agreement, whatever is written: lanes that are switched off
//!   keep their old values, and when EXEC grows back some lanes have old values and others new ones.
//! * A mask agrees on all cells on which a mask that contains it agrees. So an intersection has the claims of both
//!   operands, a difference the claims of its first, and lanes switched on again by the restore of a saved mask have
//!   the claims of that mask, which the writes since have reduced.
//! * A union has no claim of its own, not even one that both operands have: each may agree on another value. It has
//!   the claims of the masks that contain both.
//!
//! The wavefront has one program counter, so all its steps are walks. A lane alone branches over code for which it is
//! not active; so, where the wavefront does not take a branch on an empty EXEC, lanes alone may wait at the target
//! until it comes there. These are the pending entries on which the count rows of lockstep rest.

use warpbound_analyse::warp_graph::{NodeEnd, WarpProgram};
use warpbound_simt::warp::{CellSet, KnownCondition, MayUnderflow, Via, WarpStep};
use warpbound_simt::{AbstractModel, AbstractState, EntryId, EntrySite, EntryTable, NodeId, Tag};

use super::{
    BranchCondition, LaneComparison, LaneOperand, MaskFault, MaskInstr, MaskOp, MaskProgram,
    MaskReg, VECTORS,
};

/// Set of vector registers, by number.
type Cells = u32;

/// Set of mask registers, by [`MaskReg::index`].
type Registers = u64;

const ALL_CELLS: Cells = (1 << VECTORS) - 1;
const ALL_REGISTERS: Registers = (1 << MaskReg::COUNT) - 1;
const EXEC: usize = 0;

/// Abstract state of a wavefront, by mask register. Cells are numbers of vector registers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MaskState {
    /// Branches that lanes alone may have taken, with the targets where they wait; ascending.
    waiting: Vec<EntryId>,
    /// Cells on which the lanes of the mask agree.
    agree: [Cells; MaskReg::COUNT],
    /// Registers whose masks contain it.
    within: [Registers; MaskReg::COUNT],
    fault: Option<MaskFault>,
}

/// New content of a mask register.
struct MaskValue {
    agree: Cells,
    within: Registers,
    /// Registers whose masks it contains.
    contains: Registers,
}

impl MaskState {
    /// Whether the lanes of a mask agree on a vector register.
    pub fn agrees(&self, reg: MaskReg, vector: u8) -> bool {
        self.agree[reg.index()] >> vector & 1 == 1
    }

    /// Whether one mask contains another.
    pub fn is_within(&self, inner: MaskReg, outer: MaskReg) -> bool {
        self.within[inner.index()] >> outer.index() & 1 == 1
    }

    /// Adds lanes that wait in an entry.
    fn wait(&mut self, entry: Option<EntryId>) {
        let added = entry.filter(|id| !self.waiting.contains(id));
        self.waiting.extend(added);
        self.waiting.sort_unstable();
    }

    /// Whether the active lanes have equal values of an operand.
    fn is_uniform(&self, operand: LaneOperand) -> bool {
        match operand {
            LaneOperand::Vector(number) => self.active_agree([usize::from(number)]),
            LaneOperand::Scalar(_) | LaneOperand::Const(_) => true,
        }
    }

    /// Registers whose masks lie in a mask.
    fn inside(&self, outer: usize) -> Registers {
        (0..MaskReg::COUNT)
            .filter(|&inner| self.within[inner] >> outer & 1 == 1)
            .fold(0, |set: Registers, inner| set | 1 << inner)
    }

    /// The result of an operation on two masks.
    fn combine(&self, op: MaskOp, a: MaskReg, b: MaskReg) -> MaskValue {
        let (a, b) = (a.index(), b.index());
        let (inside_a, inside_b) = (self.inside(a), self.inside(b));
        match op {
            MaskOp::AndNot if a == b => MaskValue {
                agree: ALL_CELLS,
                within: ALL_REGISTERS,
                contains: 0,
            },
            MaskOp::And => MaskValue {
                agree: self.agree[a] | self.agree[b],
                within: self.within[a] | self.within[b],
                contains: inside_a & inside_b,
            },
            MaskOp::AndNot => MaskValue {
                agree: self.agree[a],
                within: self.within[a],
                contains: 0,
            },
            MaskOp::Or => {
                let within = self.within[a] & self.within[b];
                let containing = (0..MaskReg::COUNT).filter(|reg| within >> reg & 1 == 1);
                let mut agree = containing.fold(0, |cells, reg| cells | self.agree[reg]);
                if self.fault == Some(MaskFault::UnionKeepsAgreement) {
                    agree |= self.agree[a] & self.agree[b];
                }
                MaskValue {
                    agree,
                    within,
                    contains: inside_a | inside_b,
                }
            }
        }
    }

    /// Writes a mask register.
    fn set(&mut self, dest: MaskReg, value: &MaskValue) {
        let own = dest.index();
        let bit: Registers = 1 << own;
        self.agree[own] = value.agree;
        // Relations to the old content are void; each mask contains itself.
        self.within[own] = value.within | bit;
        for (reg, within) in self.within.iter_mut().enumerate() {
            if reg != own {
                // An empty mask lies in every other, also in new ones.
                let is_empty = *within == ALL_REGISTERS;
                let is_inside = is_empty || value.contains >> reg & 1 == 1;
                *within = *within & !bit | Registers::from(is_inside) << own;
            }
        }
    }

    /// Applies the effect of an instruction that does not write EXEC.
    fn apply_data_effect(&mut self, instr: MaskInstr) {
        match instr {
            MaskInstr::Lane { dest, a, b, .. } => {
                let agrees = self.is_uniform(a) && self.is_uniform(b);
                self.write(&[usize::from(dest)], agrees, false);
            }
            MaskInstr::Compare {
                dest,
                comparison,
                a,
                b,
            } => {
                let mut agree = self.agree[EXEC];
                // Lanes whose value equals one value agree on it.
                for (value, other) in [(a, b), (b, a)] {
                    if let (LaneComparison::Equal, LaneOperand::Vector(number)) =
                        (comparison, value)
                        && self.is_uniform(other)
                    {
                        agree |= 1 << number;
                    }
                }
                let within = self.within[EXEC];
                let value = MaskValue {
                    agree,
                    within,
                    contains: 0,
                };
                self.set(MaskReg::Scalar(dest), &value);
            }
            MaskInstr::Mask { dest, op, a, b } if dest != MaskReg::Exec => {
                let value = self.combine(op, a, b);
                self.set(dest, &value);
            }
            MaskInstr::SetScalar { dest, .. }
            | MaskInstr::AddScalar { dest, .. }
            | MaskInstr::ReadFirst { dest, .. } => {
                // A number, of whose bits as a mask nothing is known.
                let unknown = MaskValue {
                    agree: 0,
                    within: 0,
                    contains: 0,
                };
                self.set(MaskReg::Scalar(dest), &unknown);
            }
            _ => {}
        }
    }
}

impl AbstractState for MaskState {
    fn active_agree(&self, cells: impl IntoIterator<Item = usize>) -> bool {
        let mut cells = cells.into_iter();
        cells.all(|cell| self.agree[EXEC] >> cell & 1 == 1)
    }

    fn write(&mut self, cells: &[usize], agrees: bool, guarded: bool) {
        let written = cells.iter().fold(0, |set: Cells, cell| set | 1 << cell);
        let keeps = self.fault == Some(MaskFault::PartialWriteKeepsAgreement);
        for (agree, within) in self.agree.iter_mut().zip(self.within) {
            let is_covered = within >> EXEC & 1 == 1;
            match (agrees, is_covered) {
                (true, true) if !guarded => *agree |= written,
                (true, true) => {}
                (true, false) if keeps => {}
                _ => *agree &= !written,
            }
        }
    }

    fn pending(&self) -> &[EntryId] {
        &self.waiting
    }
}

/// Control operation of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MaskControl {
    /// None.
    Next,
    /// Replaces EXEC, after a copy of it in a scalar register.
    SetExec {
        /// Register of the copy.
        saved: Option<u8>,
        /// The operation.
        op: MaskOp,
        /// First operand.
        a: MaskReg,
        /// Second operand.
        b: MaskReg,
    },
    /// Moves the program counter.
    Branch {
        /// The condition.
        condition: BranchCondition,
        /// The target.
        target: NodeId,
    },
    /// Ends the wavefront.
    End,
}

/// Abstract execution model.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MaskModel {
    /// Planted fault.
    pub fault: Option<MaskFault>,
}

impl AbstractModel for MaskModel {
    type State = MaskState;
    type Control = MaskControl;

    fn may_diverge(&self) -> bool {
        false
    }

    fn has_agreement(&self) -> bool {
        true
    }

    fn entry(&self, agree: CellSet) -> MaskState {
        let mut state = MaskState {
            waiting: Vec::new(),
            agree: [0; MaskReg::COUNT],
            within: std::array::from_fn(|reg| 1 << reg),
            fault: self.fault,
        };
        state.agree[EXEC] = agree.iter().fold(0, |cells, cell| cells | 1 << cell);
        state
    }

    fn step(
        &self,
        mut state: MaskState,
        op: &MaskControl,
        _: KnownCondition,
        (here, next): (NodeId, Option<NodeId>),
        entries: &mut EntryTable,
        emit: &mut dyn FnMut(WarpStep, Option<MaskState>),
    ) -> Result<(), MayUnderflow> {
        let mut walk = |to: Option<NodeId>, state: Option<MaskState>, skipped: Option<NodeId>| {
            let skipped = skipped.filter(|_| self.fault != Some(MaskFault::WaitingForgotten));
            let pushed = skipped.map(|resume| {
                entries.intern(EntrySite {
                    pushed_by: here,
                    resume,
                    tag: Tag::Nil,
                    reconvergence: None,
                })
            });
            let state = state.map(|mut state| {
                state.wait(pushed);
                state
                    .waiting
                    .retain(|&id| Some(entries.get(id).resume) != to);
                state
            });
            let step = WarpStep {
                to,
                via: Via::Walk,
                pushes: pushed.into_iter().collect(),
            };
            emit(step, state);
        };
        // Where EXEC is empty, its lanes agree on everything and are lanes of every mask.
        let mut without_lanes = state.clone();
        without_lanes.agree[EXEC] = ALL_CELLS;
        without_lanes.within[EXEC] = ALL_REGISTERS;
        match *op {
            MaskControl::Next => walk(next, Some(state), None),
            MaskControl::SetExec { saved, op, a, b } => {
                if let Some(saved) = saved {
                    let copy = state.combine(MaskOp::And, MaskReg::Exec, MaskReg::Exec);
                    state.set(MaskReg::Scalar(saved), &copy);
                }
                let value = state.combine(op, a, b);
                state.set(MaskReg::Exec, &value);
                walk(next, Some(state), None);
            }
            MaskControl::Branch { condition, target } => {
                let target = Some(target);
                match condition {
                    BranchCondition::Always => walk(target, Some(state), None),
                    BranchCondition::ExecZero => {
                        if self.fault != Some(MaskFault::SkipDropped) {
                            walk(target, Some(without_lanes), None);
                        }
                        walk(next, Some(state), target);
                    }
                    BranchCondition::ExecNotZero => {
                        walk(target, Some(state), next);
                        walk(next, Some(without_lanes), None);
                    }
                    BranchCondition::Scc | BranchCondition::NotScc => {
                        walk(target, Some(state.clone()), None);
                        walk(next, Some(state), None);
                    }
                }
            }
            MaskControl::End => walk(None, None, None),
        }
        Ok(())
    }

    fn join(&self, state: &mut MaskState, other: &MaskState) -> bool {
        let before = state.clone();
        for &id in &other.waiting {
            state.wait(Some(id));
        }
        for (mine, theirs) in state.agree.iter_mut().zip(other.agree) {
            *mine &= theirs;
        }
        for (mine, theirs) in state.within.iter_mut().zip(other.within) {
            *mine &= theirs;
        }
        *state != before
    }
}

/// A compiled program whose instructions are the nodes of its graph.
pub struct MaskNodes<'a> {
    program: &'a MaskProgram,
    entries: EntryTable,
}

impl<'a> MaskNodes<'a> {
    /// The nodes of a program.
    pub fn new(program: &'a MaskProgram) -> Self {
        MaskNodes {
            program,
            entries: EntryTable::default(),
        }
    }
}

impl WarpProgram<MaskModel> for MaskNodes<'_> {
    type Error = MayUnderflow;

    fn execute(
        &mut self,
        node: NodeId,
        state: &mut MaskState,
    ) -> Result<Option<NodeEnd<MaskControl>>, MayUnderflow> {
        let Some(&instr) = self.program.instrs.get(node.index()) else {
            return Ok(None);
        };
        state.apply_data_effect(instr);
        let op = match instr {
            MaskInstr::Mask {
                dest: MaskReg::Exec,
                op,
                a,
                b,
            } => {
                let saved = None;
                MaskControl::SetExec { saved, op, a, b }
            }
            MaskInstr::SaveAnd { saved, mask } => MaskControl::SetExec {
                saved: Some(saved),
                op: MaskOp::And,
                a: MaskReg::Exec,
                b: MaskReg::Scalar(mask),
            },
            MaskInstr::Branch { condition, target } => MaskControl::Branch {
                condition,
                target: NodeId(target),
            },
            MaskInstr::End => MaskControl::End,
            _ => MaskControl::Next,
        };
        let following = NodeId(node.0 + 1);
        Ok(Some(NodeEnd {
            op,
            // A branch of the wavefront has one outcome for all its lanes.
            condition: KnownCondition::Agreed,
            next: (following.index() < self.program.instrs.len()).then_some(following),
        }))
    }

    fn entries(&mut self) -> &mut EntryTable {
        &mut self.entries
    }

    fn underflow(&self, _: NodeId, error: MayUnderflow) -> MayUnderflow {
        error
    }

    fn priority(&self, node: NodeId) -> u64 {
        node.0.into()
    }
}
