//! Addresses of accesses from symbolic words and agreement.

use std::collections::{BTreeMap, HashSet};

use smallvec::SmallVec;
use warpbound_graph::{Loop, LoopIndex};
use warpbound_ir::{BinaryOp, Cell, Code, Expr, Meaning, Op, OpIndex};
use warpbound_isa::instr::MemorySpace;
use warpbound_isa::{Axis, SpecialReg};
use warpbound_simt::NodeId;
use warpbound_simt::groups::ACTIVE;

use super::lanes::LaneAddresses;
use super::near::FollowedAddress;
use crate::access::constant_address;
use crate::agreement::{GuardedWrites, UsedAssumptions, apply_data_effect};
use crate::dependence::Dependence;
use crate::gsa::Definition;
use crate::loop_bounds::LoopSolver;
use crate::masks::Masks;
use crate::symbolic::atoms::{Atom, AtomId, WordPolynomial};
use crate::symbolic::integers::{Facts, Integer, Integers, NumberId};
use crate::symbolic::polynomial::Polynomial;
use crate::symbolic::span::Reading;
use crate::symbolic::values::Symbolic;
use crate::{LaunchContext, LaunchRanges, ThreadCfg, WarpCfg};

/// Largest change of an address per unit of a thread index. Its multiples by any index stay far below 2³¹.
const MAX_COEFFICIENT: i128 = 1 << 20;

/// Largest thread index in any direction: a block has at most 1024 threads.
const MOST_INDEX: u64 = 1023;

/// Largest modulus for the remainder of a base; the bytes of a line are fewer.
const MAX_MODULUS: u64 = 1 << 10;

/// Address of an access: one word or two.
struct Accessed<'o> {
    /// Whether the part of memory begins at address 0.
    is_from_zero: bool,
    low: &'o Expr,
    high: Option<&'o Expr>,
}

/// Kernel whose accesses are followed.
pub(super) struct AddressFinder<'a> {
    code: &'a Code,
    thread: &'a ThreadCfg,
    warp: &'a WarpCfg,
    pub(super) context: &'a LaunchContext,
    /// Whether warps choose their active lanes by masks of their own.
    pub(super) keeps_masks: bool,
    pub(super) solver: LoopSolver<'a>,
    /// Words that are the same in all active lanes, before the operation under consideration.
    agreed: HashSet<WordPolynomial>,
    /// Atoms that are the same in all active lanes there.
    uniform: HashSet<AtomId>,
    /// Loops in step: lanes that are active together in such a loop have completed equally many iterations.
    in_step: HashSet<LoopIndex>,
    /// Loops in step that contain the operation under consideration.
    around: HashSet<LoopIndex>,
}

impl<'a> AddressFinder<'a> {
    pub(super) fn new(
        code: &'a Code,
        thread: &'a ThreadCfg,
        warp: &'a WarpCfg,
        dependence: &'a Dependence,
        ranges: &'a LaunchRanges,
        context: &'a LaunchContext,
        masks: Option<&'a Masks<'a>>,
    ) -> AddressFinder<'a> {
        let mut solver = LoopSolver::new(code, thread, dependence, ranges, masks);
        solver.solve_all();
        let in_step = match masks {
            None => loops_in_step(thread, warp, dependence),
            // A wave has one path, so all its lanes are in the same iteration.
            Some(_) => loops_with_one_header(dependence).collect(),
        };
        AddressFinder {
            code,
            thread,
            warp,
            context,
            keeps_masks: masks.is_some(),
            solver,
            agreed: HashSet::new(),
            uniform: HashSet::new(),
            in_step,
            around: HashSet::new(),
        }
    }

    /// Addresses of all accesses, each for all contexts.
    pub(super) fn find(mut self) -> BTreeMap<OpIndex, LaneAddresses> {
        let mut found: BTreeMap<OpIndex, LaneAddresses> = BTreeMap::new();
        for node in self.thread.space.ids() {
            let Some(mut state) = self.warp.state(node).cloned() else {
                continue;
            };
            self.around = self.loops_around(node);
            let (mut writes, mut used) = (GuardedWrites::default(), UsedAssumptions::default());
            let block = self.thread.space.block(node);
            for at in block.ops() {
                let Some(op) = self.code.get(at) else {
                    continue;
                };
                if let Some(accessed) = accessed(op) {
                    let agreed = state.agreement(ACTIVE);
                    let agreed: Vec<Cell> = agreed.iter().filter_map(Cell::from_index).collect();
                    self.note_agreement(node, at, &agreed);
                    let addresses = self.addresses(node, at, &accessed);
                    let joined = match found.remove(&at) {
                        Some(before) => self.joined(before, addresses),
                        None => addresses,
                    };
                    found.insert(at, joined);
                }
                apply_data_effect(&mut state, op, self.context, &mut writes, &mut used);
            }
        }
        found
    }

    /// Addresses that cover two contexts of an access.
    fn joined(&mut self, a: LaneAddresses, b: LaneAddresses) -> LaneAddresses {
        let joined = a.clone().join(b.clone());
        if !matches!(joined, LaneAddresses::Unknown { .. }) {
            return joined;
        }
        // Claims of different forms have no common form but clusters.
        match self.as_near(&a).zip(self.as_near(&b)) {
            Some((a, b)) => a.join(b),
            None => joined,
        }
    }

    fn loops_around(&self, node: NodeId) -> HashSet<LoopIndex> {
        let loops = &self.solver.symbolic.dependence.loops;
        let outwards = std::iter::successors(loops.innermost(node.index()), |&index| {
            loops.get(index).parent
        });
        outwards
            .filter(|index| self.in_step.contains(index))
            .collect()
    }

    fn symbolic(&mut self) -> &mut Symbolic<'a> {
        &mut self.solver.symbolic
    }

    /// Records which words and atoms are equal in the lanes that execute an operation together.
    fn note_agreement(&mut self, node: NodeId, at: OpIndex, agreed: &[Cell]) {
        self.agreed.clear();
        self.uniform.clear();
        for &cell in agreed {
            let word = self.symbolic().before(node, at, cell);
            if word.as_constant().is_none() {
                let expanded = self.expanded(&word);
                // Words are looked up as they are, and with the counters of loops replaced.
                self.agreed.extend([word, expanded]);
            }
        }
        // If a word agrees, and all of its atoms but one do, then that one agrees as well, provided that its
        // multiples differ.
        loop {
            let before = self.uniform.len();
            let words: Vec<WordPolynomial> = self.agreed.iter().cloned().collect();
            for word in words {
                let other: SmallVec<[AtomId; 2]> = word
                    .unknowns()
                    .filter(|&id| !self.is_uniform_atom(id))
                    .collect();
                if let [only] = other.as_slice()
                    && self.is_injective(&word, *only)
                {
                    self.uniform.insert(*only);
                }
            }
            if self.uniform.len() == before {
                return;
            }
        }
    }

    /// Whether words that differ in an atom alone are different for different atoms: its coefficient is odd, or its
    /// multiples stay below 2³².
    fn is_injective(&self, word: &WordPolynomial, id: AtomId) -> bool {
        let coefficient = word.coefficient(&[id]);
        let alone = word.unknowns().filter(|&of| of == id).count() == 1;
        let span = self
            .solver
            .symbolic
            .atoms
            .span(&WordPolynomial::unknown(id));
        let size = i64::from((coefficient as i32).unsigned_abs());
        // An odd coefficient has an inverse modulo 2³². Multiples by another one may collide only if they span 2³² or
        // more.
        let small = size != 0 && size.saturating_mul(span.width()) < 1 << 32;
        alone && (coefficient % 2 == 1 || small)
    }

    /// Whether a word is the same in all active lanes.
    pub(super) fn is_uniform(&self, word: &WordPolynomial) -> bool {
        let atoms = &self.solver.symbolic.atoms;
        let mut uniform: HashSet<AtomId> = HashSet::new();
        // Operands come before their operations, so one pass suffices.
        for id in atoms.all_in(word) {
            let is_operation = || !atoms.operands(id).is_empty();
            let mut operands = atoms.operands(id).iter();
            let is_uniform = self.uniform.contains(&id)
                || match atoms.get(id) {
                    Atom::Special(register) => self.is_uniform_special(*register),
                    Atom::Iteration(index) => self.around.contains(index),
                    // A value of the program agrees only where that is known, as for the words and atoms above.
                    Atom::Value(..) | Atom::Nested(_) => false,
                    Atom::Binary(BinaryOp::Shr, [of, by]) if self.is_warp_number(of, by) => true,
                    _ => is_operation() && operands.all(|word| self.is_among(&uniform, word)),
                };
            if is_uniform {
                uniform.insert(id);
            }
        }
        self.is_among(&uniform, word)
    }

    /// Whether a word agrees, or consists of atoms that do.
    fn is_among(&self, uniform: &HashSet<AtomId>, word: &WordPolynomial) -> bool {
        self.agreed.contains(word) || word.unknowns().all(|id| uniform.contains(&id))
    }

    fn is_uniform_atom(&self, id: AtomId) -> bool {
        self.is_uniform(&WordPolynomial::unknown(id))
    }

    fn is_uniform_special(&self, register: SpecialReg) -> bool {
        let whole = |threads: u64| threads.is_multiple_of(u64::from(self.context.warp_width));
        match (register, self.context.block) {
            (
                SpecialReg::BlockIndex(_)
                | SpecialReg::BlockInCluster
                | SpecialReg::SharedWindowHigh,
                _,
            ) => true,
            (SpecialReg::ThreadIndex(Axis::Y), Some([x, _, _])) => whole(x.into()),
            (SpecialReg::ThreadIndex(Axis::Z), Some([x, y, _])) => {
                whole(u64::from(x) * u64::from(y))
            }
            _ => false,
        }
    }

    /// Whether a shift right of the thread index leaves only the number of the warp in its row, or fewer bits.
    fn is_warp_number(&self, of: &WordPolynomial, by: &WordPolynomial) -> bool {
        let atoms = &self.solver.symbolic.atoms;
        let is_index = of
            .as_unknown()
            .is_some_and(|id| *atoms.get(id) == Atom::Special(SpecialReg::ThreadIndex(Axis::X)));
        let by = by.as_constant().filter(|&bits| bits < 32);
        let least = self.context.bits_within_warp();
        is_index && least.zip(by).is_some_and(|(least, by)| by >= least)
    }

    /// Addresses of an access in one node.
    fn addresses(&mut self, node: NodeId, at: OpIndex, accessed: &Accessed<'_>) -> LaneAddresses {
        const UNKNOWN: LaneAddresses = LaneAddresses::Unknown { decided_by: None };
        let Some(low) = self.symbolic().expression(node, at, accessed.low) else {
            return UNKNOWN;
        };
        let high = match accessed.high {
            Some(high) => match self.symbolic().expression(node, at, high) {
                Some(high) => Some(high),
                None => return UNKNOWN,
            },
            None => None,
        };
        let low = self.where_guard_holds(node, at, low);
        let high = high.map(|high| self.where_guard_holds(node, at, high));
        let parts = [Some(&low), high.as_ref()];
        if parts
            .into_iter()
            .flatten()
            .all(|word| self.is_uniform(word))
        {
            // Words that are equal in all lanes are one address, whatever their form is.
            return self.uniform_address(&low, accessed.is_from_zero);
        }
        let number = match &high {
            Some(high) => {
                let (atoms, integers) = self.solver.numbers();
                integers.wide(atoms, &low, high)
            }
            // Valid addresses are far below 2³¹, so that they differ by the multiples of the indices.
            None => {
                let expanded = self.expanded(&low);
                self.modular(&expanded)
            }
        };
        let number = number.map(|number| self.with_iterations(number));
        if let Some(number) = &number {
            let affine = self.affine(number, accessed.is_from_zero, &low);
            let found = match high {
                Some(_) => affine.or_else(|| self.wrapping(number)),
                None => affine,
            };
            if let Some(found) = found {
                return found;
            }
        }
        let (within, near) = match (&high, &number) {
            (None, _) => (self.within(&low), self.near(FollowedAddress::Word(&low))),
            (Some(_), Some(number)) => (None, self.near(FollowedAddress::Wide(number))),
            (Some(_), None) => (None, None),
        };
        // Clusters are found only where they say more than the limits of all lanes.
        near.or(within).unwrap_or_else(|| LaneAddresses::Unknown {
            decided_by: self.decided_by(&low),
        })
    }

    /// Limits of an address in a part of memory that begins at 0, if they are close.
    fn within(&mut self, low: &WordPolynomial) -> Option<LaneAddresses> {
        let span = self.solver.span_under(low, &Facts::default());
        let (least, most) = span.as_numbers(Reading::Unsigned);
        (most - least < 1 << 20).then_some(LaneAddresses::Within {
            least: least.unsigned_abs(),
            most: most.unsigned_abs(),
        })
    }

    /// The form of an address with one number that differs between lanes: a word that is the same in all lanes except
    /// for multiples of their thread indices, as long as it does not wrap around. For example, with
    /// `n = block·width + tid`, the address `a + 4·n` has this form for any grid. The multiples span less than 2³² in
    /// a block, so among the lanes of a warp the word wraps once at most.
    fn wrapping(&mut self, address: &Integer) -> Option<LaneAddresses> {
        let differs = |unknowns: &[NumberId], finder: &mut Self| {
            unknowns.iter().any(|&id| {
                let word = finder.solver.number(id).0.clone();
                !finder.is_uniform(&word)
            })
        };
        let terms: Vec<Vec<NumberId>> = address
            .terms()
            .iter()
            .map(|(unknowns, _)| unknowns.to_vec())
            .collect();
        let mut differing = terms.into_iter().filter(|of| differs(of, self));
        // With a second such number, the lanes could fall into more than two groups.
        let (Some(term), None) = (differing.next(), differing.next()) else {
            return None;
        };
        let &[index] = term.as_slice() else {
            return None;
        };
        let word = self.solver.number(index).0.clone();
        let word = self.expanded(&word);
        let in_lanes = self.modular(&word)?;
        let LaneAddresses::Affine { coefficients, .. } = self.affine(&in_lanes, false, &word)?
        else {
            return None;
        };
        let spans = coefficients.map(|by| by.unsigned_abs().saturating_mul(MOST_INDEX));
        let span = spans.into_iter().fold(0u64, u64::saturating_add);
        // Otherwise the lanes could lie in more than two intervals of the reading (SOUNDNESS 5.13).
        if span >= 1 << 32 {
            return None;
        }
        let address = address.substituted(index, &in_lanes)?;
        match self.affine(&address, false, &word)? {
            LaneAddresses::Affine {
                coefficients,
                modulus,
                residue,
                ..
            } => Some(LaneAddresses::Affine {
                coefficients,
                modulus,
                residue,
                range: None,
                wraps: true,
            }),
            _ => None,
        }
    }

    /// A word in the lanes that execute an operation: a cell that was written under the same condition has its new
    /// content there. For example, the lanes that execute `@P0 LDG R0, [R2]` have the new R2 of an earlier
    /// `@P0 MOV R2, R4`.
    fn where_guard_holds(
        &mut self,
        node: NodeId,
        at: OpIndex,
        word: WordPolynomial,
    ) -> WordPolynomial {
        let code = self.code;
        let condition = code.get(at).map(|op| op.condition);
        let Some(condition) = condition.filter(|of| of.decided_by().is_some()) else {
            return word;
        };
        let Some(guard) = condition.guard else {
            return word;
        };
        let symbolic = self.symbolic();
        let holding = symbolic.gsa.value_before(node, at, guard);
        symbolic.replaced(&word, &|symbolic, value, cell| {
            let Definition::Conditional(node, at, _) = symbolic.gsa.definition(value) else {
                return None;
            };
            let is_same = code.get(at)?.condition == condition
                && symbolic.gsa.value_before(node, at, guard) == holding;
            let written = symbolic.gsa.result_of(node, at);
            is_same.then(|| symbolic.value(written, cell))
        })
    }

    /// Load that decides the part of an address by which lanes differ.
    fn decided_by(&mut self, low: &WordPolynomial) -> Option<warpbound_base::CodeAddr> {
        let ids: Vec<AtomId> = low.unknowns().collect();
        let differing = ids.into_iter().filter(|&id| !self.is_uniform_atom(id));
        let words: Vec<WordPolynomial> = differing.map(WordPolynomial::unknown).collect();
        words
            .iter()
            .find_map(|word| self.solver.symbolic.decided_by(word))
    }

    fn uniform_address(&mut self, low: &WordPolynomial, is_from_zero: bool) -> LaneAddresses {
        let (modulus, residue) = self.solver.symbolic.atoms.residue(low);
        let modulus = modulus.min(MAX_MODULUS);
        LaneAddresses::Affine {
            coefficients: [0; 3],
            modulus,
            residue: residue % modulus,
            range: self.range(low, is_from_zero),
            wraps: false,
        }
    }

    /// Limits of an address in a part of memory that begins at 0, as a pair.
    fn range(&mut self, low: &WordPolynomial, is_from_zero: bool) -> Option<(u64, u64)> {
        if !is_from_zero {
            return None;
        }
        let span = self.solver.span_under(low, &Facts::default());
        let (least, most) = span.as_numbers(Reading::Unsigned);
        (most - least < 1 << 20).then_some((least.unsigned_abs(), most.unsigned_abs()))
    }

    /// An integer that is congruent to a word modulo 2³².
    fn modular(&mut self, word: &WordPolynomial) -> Option<Integer> {
        let (atoms, integers) = self.solver.numbers();
        let mut sum = Polynomial::constant(0);
        for (unknowns, coefficient) in word.terms() {
            let mut term = Integers::constant((*coefficient as i32).into());
            for &id in unknowns {
                let word = WordPolynomial::unknown(id);
                term = term.times(&integers.as_number(atoms, &word))?;
            }
            sum = sum.plus(&term, 1)?;
        }
        Some(sum)
    }

    /// The form of an address whose lanes differ by their thread indices alone.
    fn affine(
        &mut self,
        number: &Integer,
        is_from_zero: bool,
        low: &WordPolynomial,
    ) -> Option<LaneAddresses> {
        let mut coefficients = [0i64; 3];
        let mut base = Integers::constant(0);
        for (unknowns, coefficient) in number.terms() {
            let mut term = Integers::constant(*coefficient);
            for &id in unknowns {
                term = term.times(&Polynomial::unknown(id))?;
            }
            let words = unknowns.iter();
            let words: Vec<WordPolynomial> = {
                let (_, integers) = self.solver.numbers();
                words.map(|&id| integers.get(id).0.clone()).collect()
            };
            if words.iter().all(|word| self.is_uniform(word)) {
                base = base.plus(&term, 1)?;
                continue;
            }
            let [word] = words.as_slice() else {
                return None;
            };
            let Atom::Special(SpecialReg::ThreadIndex(axis)) =
                self.solver.symbolic.atoms.get(word.as_unknown()?)
            else {
                return None;
            };
            let axis = usize::from(axis.index());
            if coefficient.abs() > MAX_COEFFICIENT {
                return None;
            }
            let more = i64::try_from(*coefficient).ok()?;
            coefficients[axis] = coefficients[axis].checked_add(more)?;
        }
        let (atoms, integers) = self.solver.numbers();
        let (modulus, residue) = integers.residue(atoms, &base);
        let modulus = modulus.min(MAX_MODULUS);
        Some(LaneAddresses::Affine {
            coefficients,
            modulus,
            residue: residue % modulus,
            range: self.range(low, is_from_zero),
            wraps: false,
        })
    }
}

fn loops_with_one_header(dependence: &Dependence) -> impl Iterator<Item = LoopIndex> {
    let loops = dependence.loops.loops();
    loops.filter_map(|(index, body)| (body.headers.len() == 1).then_some(index))
}

/// Loops in step: lanes that are active together in such a loop have completed equally many iterations, because no
/// entry that resumes in the loop is pending at its header (SOUNDNESS 5.13).
fn loops_in_step(
    thread: &ThreadCfg,
    warp: &WarpCfg,
    dependence: &Dependence,
) -> HashSet<LoopIndex> {
    let entries = &thread.space.entries;
    let is_in_step = |body: &Loop| {
        let &[header] = body.headers.as_slice() else {
            return false;
        };
        warp.state(NodeId(header as u32)).is_some_and(|state| {
            let mut pending = state.stack().ids().iter();
            pending.all(|&id| !body.contains(entries.get(id).resume.index()))
        })
    };
    let loops = dependence.loops.loops();
    let in_step = loops.filter(|(_, body)| is_in_step(body));
    in_step.map(|(index, _)| index).collect()
}

/// The address that an operation accesses.
fn accessed(op: &Op) -> Option<Accessed<'_>> {
    match op.meaning.as_ref()? {
        Meaning::Load { space, address, .. }
        | Meaning::Store { space, address, .. }
        // A descriptor decides the addresses of a buffer, and is not followed.
        | Meaning::Atomic { space, address, .. } => address.buffer.is_none().then_some(Accessed {
            is_from_zero: matches!(space, MemorySpace::Shared | MemorySpace::Local),
            low: &address.low,
            high: address.high.as_ref(),
        }),
        _ => Some(Accessed {
            is_from_zero: false,
            low: constant_address(op)?,
            high: None,
        }),
    }
}
