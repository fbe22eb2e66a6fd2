//! Values of the program as polynomials: gated single assignment, followed by the meanings of the operations.

use std::collections::HashSet;

use rustc_hash::FxHashMap;
use warpbound_base::{CodeAddr, Named};
use warpbound_graph::LoopIndex;
use warpbound_ir::{
    BinaryOp, Cell, Code, ControlEffect, Expr, Meaning, Op, OpIndex, OpScope, TernaryOp, UnaryOp,
    ValueDependence, ValueDomain, Width, WordHalf, eval,
};
use warpbound_isa::{Axis, SpecialReg};
use warpbound_simt::NodeId;

use super::atoms::{Atom, AtomId, Atoms, WordPolynomial, constant};
use super::span::{Reading, Span};
use crate::dependence::Dependence;
use crate::gsa::{Definition, Gsa, ValueId};
use crate::launch_ranges::LaunchRanges;
use crate::masks::Masks;
use crate::thread_cfg::ThreadCfg;

/// Maximum number of blocks of a cluster (CUDA C++ Programming Guide, thread block clusters).
const MAX_CLUSTER: u32 = 16;

/// Maximum length of a chain of values that is followed; a longer one ends with an unknown of its own.
const MAX_DEPTH: u32 = 400;

/// Maximum number of characters of a word as text.
const MAX_TEXT: usize = 120;

/// Symbolic values of a kernel.
///
/// A polynomial denotes the content of a cell in one thread, with each atom at its content where it was computed
/// last. In single assignment form that is one and the same execution for all atoms of a polynomial. Let the
/// definition of `x` dominate the definition of `y`, and let this dominate a use. Then no path to the use passes the
/// definition of `x` after the last one of `y`.
pub(crate) struct Symbolic<'a> {
    pub(crate) code: &'a Code,
    pub(crate) thread: &'a ThreadCfg,
    pub(crate) dependence: &'a Dependence,
    pub(crate) launch: &'a LaunchRanges,
    /// Facts about masks, in code that writes the mask of active lanes.
    pub(crate) masks: Option<&'a Masks<'a>>,
    pub(crate) gsa: Gsa<'a>,
    pub(crate) atoms: Atoms,
    known: FxHashMap<(ValueId, Cell), WordPolynomial>,
    /// Predicates of ballots, by the operation that takes one.
    ballots: FxHashMap<(NodeId, OpIndex), Option<WordPolynomial>>,
    depth: u32,
}

impl<'a> Symbolic<'a> {
    /// Values of a kernel before any is computed; with `masks`, `code` is their [`Masks::lane_view`].
    pub(crate) fn new(
        code: &'a Code,
        thread: &'a ThreadCfg,
        dependence: &'a Dependence,
        launch: &'a LaunchRanges,
        masks: Option<&'a Masks<'a>>,
    ) -> Symbolic<'a> {
        Symbolic {
            masks,
            code,
            thread,
            dependence,
            launch,
            gsa: Gsa::new(code, thread, dependence),
            atoms: Atoms::default(),
            known: FxHashMap::default(),
            ballots: FxHashMap::default(),
            depth: 0,
        }
    }

    /// Content of a cell before an operation of a node.
    pub(crate) fn before(&mut self, node: NodeId, at: OpIndex, cell: Cell) -> WordPolynomial {
        let value = self.gsa.value_before(node, at, cell);
        self.value(value, cell)
    }

    /// Value of an expression before an operation of a node; `None` if part of it is not modelled.
    pub(crate) fn expression(
        &mut self,
        node: NodeId,
        at: OpIndex,
        expr: &Expr,
    ) -> Option<WordPolynomial> {
        let mut domain = Operands {
            symbolic: self,
            node,
            at,
        };
        eval(expr, &mut domain)
    }

    /// Value of a definition, as the content of a cell.
    pub(crate) fn value(&mut self, value: ValueId, cell: Cell) -> WordPolynomial {
        if let Some(known) = self.known.get(&(value, cell)) {
            return known.clone();
        }
        // What a value that depends on itself finds: the unknown content.
        let itself = self.atoms.word(Atom::Value(value, cell));
        self.known.insert((value, cell), itself.clone());
        // An unknown of its own may hold anything, so it is always right.
        if self.depth >= MAX_DEPTH {
            return itself;
        }
        self.depth += 1;
        let found = self.derive(value, cell).unwrap_or(itself);
        self.depth -= 1;
        self.known.insert((value, cell), found.clone());
        found
    }

    /// Value of a definition in terms of others; `None` if it is an unknown of its own.
    fn derive(&mut self, value: ValueId, cell: Cell) -> Option<WordPolynomial> {
        match self.gsa.definition(value) {
            Definition::Op(node, at) => self.written(node, at, value, cell),
            Definition::Conditional(node, at, _) => {
                let operands = self.conditional(node, at, cell);
                self.same(value, cell, &operands)
            }
            Definition::Gamma(node, _) => {
                let [operands, _] = self.joined(node, cell);
                self.same(value, cell, &operands)
            }
            // After the loop, each atom stands for its content where it was computed last.
            Definition::Eta(_, inner, _) => Some(self.value(inner, cell)),
            Definition::Entry(cell) => self.at_entry(cell),
            // A word at the header of a loop is followed by those who ask for its contents on entry and at the end of
            // an iteration: here it would be found while values of the loop are being computed.
            Definition::Mu(..)
            | Definition::Callee(_)
            | Definition::JoinEdge(..)
            | Definition::LoopExit(_)
            | Definition::BranchOutcome(_) => None,
        }
    }

    /// Content of a cell when the kernel begins, if it has a name.
    fn at_entry(&mut self, cell: Cell) -> Option<WordPolynomial> {
        let code = self.code;
        let mut values = code.entry_values.iter();
        let (_, expr) = values.find(|(of, _)| *of == cell)?;
        match expr {
            Expr::Special(register) => self.special(*register),
            Expr::Constant(bank, address) => match **address {
                Expr::Const(address) => self.constant_word(*bank, constant(address)),
                _ => None,
            },
            _ => None,
        }
    }

    /// New content and previous content of a cell that an operation with a condition writes.
    pub(crate) fn conditional(
        &mut self,
        node: NodeId,
        at: OpIndex,
        cell: Cell,
    ) -> Vec<WordPolynomial> {
        let new = self.gsa.result_of(node, at);
        let new = self.value(new, cell);
        let old = self.before(node, at, cell);
        vec![new, old]
    }

    /// Words that enter a join, and the words of the previous iteration if it is the header of a loop.
    pub(crate) fn joined(&mut self, node: NodeId, cell: Cell) -> [Vec<WordPolynomial>; 2] {
        let operands = self.gsa.entering_and_closing(node, cell);
        operands.map(|values| {
            let mut words: Vec<WordPolynomial> = Vec::new();
            for value in values {
                let word = self.value(value, cell);
                if !words.contains(&word) {
                    words.push(word);
                }
            }
            words
        })
    }

    /// The word that all operands of a gate are; otherwise the gate gets a span that covers all of them.
    fn same(
        &mut self,
        value: ValueId,
        cell: Cell,
        operands: &[WordPolynomial],
    ) -> Option<WordPolynomial> {
        let (first, others) = operands.split_first()?;
        if others.iter().all(|other| other == first) {
            return Some(first.clone());
        }
        let gate = self.atoms.number(Atom::Value(value, cell));
        self.atoms.set_gate(gate, operands);
        None
    }

    /// Word that an operation writes.
    fn written(
        &mut self,
        node: NodeId,
        at: OpIndex,
        value: ValueId,
        cell: Cell,
    ) -> Option<WordPolynomial> {
        let code = self.code;
        let op = code.get(at)?;
        if let Some(expr) = op
            .meaning
            .as_ref()
            .and_then(|meaning| meaning.value_of(cell))
        {
            return self.expression(node, at, expr);
        }
        match (&op.meaning, op.value) {
            // Of several results it would be open which one is the register.
            (_, ValueDependence::Special(register)) if op.writes.len() == 1 => {
                self.special(register)
            }
            (Some(Meaning::Load { .. }), _) if op.scope == OpScope::Warp => {
                self.loaded_from_segment(node, at, cell)
            }
            (Some(Meaning::Load { .. }), _) if self.stated_data(node, at).is_some() => {
                let (_, (least, most)) = self.stated_data(node, at)?;
                let loaded = self.atoms.number(Atom::Value(value, cell));
                self.atoms.limit_leaf(loaded, Span::between(least, most));
                None
            }
            (Some(Meaning::Load { width, dests, .. }), _) => {
                let narrow = match width {
                    Width::U8 => Span::between(0, 0xff),
                    Width::S8 => Span::between(-0x80, 0x7f),
                    Width::U16 => Span::between(0, 0xffff),
                    Width::S16 => Span::between(-0x8000, 0x7fff),
                    Width::Words => return None,
                };
                if dests.len() == 1 {
                    let loaded = self.atoms.number(Atom::Value(value, cell));
                    self.atoms.limit_leaf(loaded, narrow);
                }
                None
            }
            _ => None,
        }
    }

    /// Word that an operation of the warp loads from a segment of the launch, whose contents no store changes
    /// (assumption `constant-segments`, SOUNDNESS 2): arguments, dispatch packet.
    fn loaded_from_segment(
        &mut self,
        node: NodeId,
        at: OpIndex,
        cell: Cell,
    ) -> Option<WordPolynomial> {
        let Some(Meaning::Load {
            dests,
            width: Width::Words,
            address,
            ..
        }) = self.code.get(at)?.meaning.as_ref()
        else {
            return None;
        };
        let place = dests.iter().position(|dest| *dest == Some(cell))?;
        let (low, high) = (&address.low, address.high.as_ref()?);
        let low = self.expression(node, at, low)?;
        let high = self.expression(node, at, high)?;
        let segments = [
            (Code::KERNARG_POINTER, Code::KERNARG_BANK),
            (Code::DISPATCH_POINTER, Code::DISPATCH_BANK),
        ];
        for (pointer, bank) in segments {
            let [base_low, base_high] = [pointer, pointer + 4]
                .map(|at| self.constant_word(Code::POINTER_BANK, constant(at)));
            let (base_low, base_high) = (base_low?, base_high?);
            let Some(offset) = low.plus(&base_low, u32::MAX).and_then(|d| d.as_constant()) else {
                continue;
            };
            // The carry of the low words has to be in the high word.
            let operands = [base_low, constant(offset), constant(0)];
            let carry = self.atoms.ternary(TernaryOp::Carry, operands);
            let is_segment =
                base_high.plus(&carry, 1) == Some(high.clone()) || offset == 0 && high == base_high;
            if is_segment {
                let at = offset.checked_add(4 * u32::try_from(place).ok()?)?;
                return self.constant_word(bank, constant(at));
            }
        }
        None
    }

    /// Bit of the own lane in a mask before an operation of a node: whether the predicate holds of the ballot that
    /// wrote both words of the mask. `None` if the lanes that are active now may have been inactive then.
    fn own_bit_of_ballot(
        &mut self,
        node: NodeId,
        at: OpIndex,
        words: [Cell; 2],
    ) -> Option<WordPolynomial> {
        let code = self.code;
        let [low, high] = words.map(|word| {
            let value = self.gsa.value_before(node, at, word);
            self.gsa.definition(value)
        });
        let (Definition::Op(place, ballot), Definition::Op(_, other)) = (low, high) else {
            return None;
        };
        // Both words have to come from one ballot earlier in this block.
        if place != node || ballot != other || ballot >= at {
            return None;
        }
        // The same lanes are active as long as no operation writes their mask.
        let mut since = (ballot.0..at.0).map(OpIndex);
        let keeps_lanes = since.all(|at| {
            code.get(at)
                .is_some_and(|op| !matches!(op.control, ControlEffect::SetActive(_)))
        });
        let op = code
            .get(ballot)
            .filter(|op| keeps_lanes && op.condition.is_always())?;
        let of_word = |word| op.meaning.as_ref()?.value_of(word);
        let [low, high] = words.map(of_word);
        let (
            Some(Expr::Ballot(predicate, WordHalf::Low)),
            Some(Expr::Ballot(same, WordHalf::High)),
        ) = (low, high)
        else {
            return None;
        };
        if predicate != same {
            return None;
        }
        if let Some(known) = self.ballots.get(&(node, ballot)) {
            return known.clone();
        }
        // Ballots whose predicates read the bit of an earlier one follow each other.
        if self.depth >= MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let holds = self.truth(node, ballot, predicate);
        self.depth -= 1;
        self.ballots.insert((node, ballot), holds.clone());
        holds
    }

    /// Whether a predicate is not 0 before an operation of a node: 0 or 1.
    fn truth(&mut self, node: NodeId, at: OpIndex, predicate: &Expr) -> Option<WordPolynomial> {
        let holds = self.expression(node, at, predicate)?;
        let (_, most) = self.atoms.span(&holds).as_numbers(Reading::Unsigned);
        match most <= 1 {
            true => Some(holds),
            false => self.atoms.binary(BinaryOp::Ne, holds, constant(0)),
        }
    }

    /// Content of a special register, if it does not change while a thread runs.
    fn special(&mut self, register: SpecialReg) -> Option<WordPolynomial> {
        let most = match register {
            SpecialReg::LaneId => self.code.lanes() - 1,
            SpecialReg::ThreadIndex(axis) => self.launch.most_threads(axis) - 1,
            SpecialReg::BlockIndex(axis) => self.launch.most_blocks(axis) - 1,
            SpecialReg::BlockInCluster => MAX_CLUSTER - 1,
            SpecialReg::SharedWindowHigh => u32::MAX,
            _ => return None,
        };
        // With one thread or block along the axis, the index is always 0.
        if most == 0 {
            return Some(constant(0));
        }
        let id = self.atoms.number(Atom::Special(register));
        self.atoms.limit_leaf(id, Span::between(0, most.into()));
        Some(WordPolynomial::unknown(id))
    }

    /// Word of a constant bank.
    fn constant_word(&mut self, bank: u8, address: WordPolynomial) -> Option<WordPolynomial> {
        let at = address.as_constant();
        // The binary fixes the words of some banks.
        if let Some(word) = at.and_then(|at| self.code.constant(bank, at.into())) {
            return Some(constant(word));
        }
        let launch = self.launch;
        if let Some(split) = at.and_then(|at| launch.split.get(&(bank, at))) {
            // The parts have no bits in common, so the word is their sum.
            let mut sum = constant(split.known);
            for &(lowest, part) in &split.parts {
                let part = self.constant_word(LaunchRanges::PART_BANK, constant(part))?;
                sum = sum.plus(&part.scaled(1 << lowest)?, 1)?;
            }
            return Some(sum);
        }
        let stated = at.and_then(|at| self.launch.words.get(&(bank, at)));
        let range = stated.and_then(|word| word.range);
        if let Some(word) = range.and_then(|range| range.only()) {
            return Some(constant(word));
        }
        let id = self.atoms.number(Atom::Constant(bank, address));
        if let Some(range) = range {
            self.atoms.limit_leaf(id, Span::of_range(range));
            if range.modulus.is_power_of_two() {
                let (modulus, residue) = (range.modulus.into(), range.residue.into());
                self.atoms.set_leaf_residue(id, modulus, residue);
            }
        }
        Some(WordPolynomial::unknown(id))
    }

    /// Whether a word is the same in all iterations of one run of a loop: no atom is defined in it.
    pub(crate) fn is_invariant(&self, word: &WordPolynomial, index: LoopIndex) -> bool {
        let body = self.dependence.loops.get(index);
        let mut all = self.atoms.all_in(word).into_iter();
        all.all(|id| match self.atoms.get(id) {
            Atom::Iteration(of) => {
                let header = self.dependence.loops.get(*of).headers.first();
                header.is_some_and(|&header| !body.contains(header))
            }
            Atom::Value(value, _) => match self.defined_at(*value) {
                Some(node) => !body.contains(node.index()),
                None => matches!(self.gsa.definition(*value), Definition::Entry(_)),
            },
            // Nothing is known of the parts of an operation that is nested too deeply.
            Atom::Nested(_) => false,
            Atom::Special(_)
            | Atom::Constant(..)
            | Atom::Unary(..)
            | Atom::Binary(..)
            | Atom::Ternary(..) => true,
        })
    }

    /// Whether a word is the same in all lanes of the warp: it is made of registers of the warp and of what all threads
    /// of a block share.
    pub(crate) fn is_uniform(&self, word: &WordPolynomial) -> bool {
        let mut all = self.atoms.all_in(word).into_iter();
        all.all(|id| match self.atoms.get(id) {
            Atom::Value(_, cell) => !cell.is_per_lane(),
            Atom::Special(register) => matches!(
                register,
                SpecialReg::BlockIndex(_)
                    | SpecialReg::BlockInCluster
                    | SpecialReg::SharedWindowHigh
            ),
            Atom::Iteration(_) | Atom::Nested(_) => false,
            Atom::Constant(..) | Atom::Unary(..) | Atom::Binary(..) | Atom::Ternary(..) => true,
        })
    }

    /// Node that defines a value, if one does.
    pub(crate) fn defined_at(&self, value: ValueId) -> Option<NodeId> {
        match self.gsa.definition(value) {
            Definition::Op(node, _)
            | Definition::Conditional(node, ..)
            | Definition::Callee(node)
            | Definition::Gamma(node, _)
            | Definition::Mu(node, _) => Some(node),
            Definition::Eta(_, inner, _) => self.defined_at(inner),
            Definition::Entry(_)
            | Definition::JoinEdge(..)
            | Definition::LoopExit(_)
            | Definition::BranchOutcome(_) => None,
        }
    }

    /// Address of an access to memory on whose result a word depends.
    pub(crate) fn decided_by(&mut self, word: &WordPolynomial) -> Option<CodeAddr> {
        let loads = |op: &Op| {
            let accesses = matches!(
                op.meaning,
                Some(Meaning::Load { .. } | Meaning::Atomic { .. } | Meaning::Texture(_))
            );
            accesses || matches!(op.value, ValueDependence::Load(_))
        };
        self.first_among(word, &loads)
    }

    /// Address of a read of a special register that is not followed, on which a word depends.
    pub(crate) fn read_of_special(&mut self, word: &WordPolynomial) -> Option<CodeAddr> {
        self.first_among(word, &|op| matches!(op.value, ValueDependence::Special(_)))
    }

    /// Address of an operation of a kind on whose result a word depends.
    fn first_among(
        &mut self,
        word: &WordPolynomial,
        is_of_kind: &dyn Fn(&Op) -> bool,
    ) -> Option<CodeAddr> {
        let mut visited = HashSet::new();
        let mut open: Vec<AtomId> = word.unknowns().collect();
        // In the order of the terms.
        open.reverse();
        while let Some(id) = open.pop() {
            if !visited.insert(id) {
                continue;
            }
            match self.atom_among(id, is_of_kind) {
                Ok(addr) => return Some(addr),
                Err(words) => {
                    let atoms = words.iter().rev().flat_map(|word| word.unknowns());
                    open.extend(atoms);
                }
            }
        }
        None
    }

    /// Address of the operation whose result an atom is, if the operation is of a kind; otherwise the words on which
    /// the atom depends.
    fn atom_among(
        &mut self,
        id: AtomId,
        is_of_kind: &dyn Fn(&Op) -> bool,
    ) -> Result<CodeAddr, Vec<WordPolynomial>> {
        let Atom::Value(value, cell) = *self.atoms.get(id) else {
            return Err(self.atoms.operands(id).to_vec());
        };
        Err(match self.gsa.definition(value) {
            Definition::Op(node, at) => {
                let Some(op) = self.code.get(at) else {
                    return Err(Vec::new());
                };
                if is_of_kind(op) {
                    return Ok(op.addr);
                }
                let reads = op.reads.iter();
                reads.map(|&cell| self.before(node, at, cell)).collect()
            }
            Definition::Conditional(node, at, _) => self.conditional(node, at, cell),
            Definition::Gamma(node, _) | Definition::Mu(node, _) => {
                self.joined(node, cell).concat()
            }
            _ => Vec::new(),
        })
    }

    /// Name of a word of a constant bank in reports.
    pub(crate) fn constant_name(&self, bank: u8, address: u32) -> String {
        match self.launch.words.get(&(bank, address)) {
            Some(word) => word.name.clone(),
            None => format!("c[{bank:#x}][{address:#x}]"),
        }
    }

    /// A word as text, in terms of the launch; a long one ends with an ellipsis.
    pub(crate) fn text(&self, word: &WordPolynomial) -> String {
        let text = self.text_within(word, 2);
        match text.char_indices().nth(MAX_TEXT) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }

    fn text_within(&self, word: &WordPolynomial, depth: u32) -> String {
        let mut text = String::new();
        for (unknowns, coefficient) in word.terms() {
            let signed = *coefficient as i32;
            let sign = match (signed < 0, text.is_empty()) {
                (true, true) => "-",
                (true, false) => " - ",
                (false, true) => "",
                (false, false) => " + ",
            };
            let mut factors: Vec<String> = Vec::new();
            if signed.unsigned_abs() != 1 || unknowns.is_empty() {
                factors.push(signed.unsigned_abs().to_string());
            }
            factors.extend(unknowns.iter().map(|&id| self.atom_text(id, depth)));
            text.push_str(sign);
            text.push_str(&factors.join("*"));
        }
        match text.is_empty() {
            true => "0".to_owned(),
            false => text,
        }
    }

    fn atom_text(&self, id: AtomId, depth: u32) -> String {
        let operand = |word: &WordPolynomial| match depth {
            0 => "…".to_owned(),
            _ => self.text_within(word, depth - 1),
        };
        match self.atoms.get(id) {
            Atom::Special(register) => special_text(*register),
            Atom::Iteration(index) => format!("iteration{}", index.0),
            Atom::Nested(number) => format!("value{number}"),
            Atom::Constant(bank, address) => match address.as_constant() {
                Some(address) => self.constant_name(*bank, address),
                None => format!("c[{bank:#x}][{}]", operand(address)),
            },
            Atom::Value(value, cell) => match self.defined_at(*value) {
                Some(node) => {
                    let at = match self.gsa.definition(*value) {
                        Definition::Op(_, at) | Definition::Conditional(_, at, _) => at,
                        _ => self.thread.space.block(node).first,
                    };
                    let addr = self.code.get(at).map(|op| op.addr).unwrap_or_default();
                    format!("{cell}@{addr}")
                }
                None => format!("{cell} at entry"),
            },
            Atom::Unary(op, a) => format!("{}({})", op.name(), operand(a)),
            Atom::Binary(BinaryOp::Shr, [a, b]) => format!("({} >> {})", operand(a), operand(b)),
            Atom::Binary(op, [a, b]) => format!("{}({}, {})", op.name(), operand(a), operand(b)),
            Atom::Ternary(op, operands) => {
                let operands = operands.iter().map(operand).collect::<Vec<_>>();
                format!("{}({})", ternary_name(*op), operands.join(", "))
            }
        }
    }
}

/// A special register as programmers name it.
pub(crate) fn special_text(register: SpecialReg) -> String {
    let axis = |axis| match axis {
        Axis::X => "x",
        Axis::Y => "y",
        Axis::Z => "z",
    };
    match register {
        SpecialReg::ThreadIndex(of) => format!("threadIdx.{}", axis(of)),
        SpecialReg::BlockIndex(of) => format!("blockIdx.{}", axis(of)),
        SpecialReg::LaneId => "laneid".to_owned(),
        other => other.to_string(),
    }
}

/// Name of a ternary operation.
pub(crate) fn ternary_name(op: TernaryOp) -> &'static str {
    match op {
        TernaryOp::Select => "select",
        TernaryOp::Lut(_) => "lut",
        TernaryOp::Carry => "carry",
        TernaryOp::FunnelRight => "funnel_right",
        TernaryOp::FunnelLeft => "funnel_left",
        TernaryOp::Permute => "permute",
    }
}

/// Domain of the words before an operation.
struct Operands<'s, 'a> {
    symbolic: &'s mut Symbolic<'a>,
    node: NodeId,
    at: OpIndex,
}

impl ValueDomain for Operands<'_, '_> {
    type Value = WordPolynomial;

    fn models(&self, expr: &Expr) -> bool {
        !matches!(expr, Expr::Float(..))
    }

    fn constant(&mut self, value: u32) -> Option<WordPolynomial> {
        Some(constant(value))
    }

    fn cell(&mut self, cell: Cell) -> Option<WordPolynomial> {
        Some(self.symbolic.before(self.node, self.at, cell))
    }

    fn constant_word(&mut self, bank: u8, address: WordPolynomial) -> Option<WordPolynomial> {
        self.symbolic.constant_word(bank, address)
    }

    fn special(&mut self, register: SpecialReg) -> Option<WordPolynomial> {
        self.symbolic.special(register)
    }

    fn unary(&mut self, op: UnaryOp, a: WordPolynomial) -> Option<WordPolynomial> {
        Some(self.symbolic.atoms.unary(op, a))
    }

    fn binary(
        &mut self,
        op: BinaryOp,
        a: WordPolynomial,
        b: WordPolynomial,
    ) -> Option<WordPolynomial> {
        self.symbolic.atoms.binary(op, a, b)
    }

    fn ternary(&mut self, op: TernaryOp, operands: [WordPolynomial; 3]) -> Option<WordPolynomial> {
        Some(self.symbolic.atoms.ternary(op, operands))
    }

    fn own_bit(&mut self, words: [Cell; 2]) -> Option<WordPolynomial> {
        self.symbolic.own_bit_of_ballot(self.node, self.at, words)
    }
}
