//! Values that do not change during the run of a thread: functions of constants, parameters and fixed special
//! registers. For example, four times a parameter is fixed, while the counter of a loop is not. Where a use reads
//! nothing else, the place at which the value was computed does not matter.

use std::collections::HashMap;
use std::rc::Rc;

use warpbound_ir::{Cell, Code, OpIndex};
use warpbound_simt::NodeId;

use crate::thread_cfg::ThreadCfg;

use super::operands::{Operands, Piece};
use super::reaching::{Origin, Origins, Reaching};

/// Maximum length of a chain of fixed values; a longer one counts as values that change.
const MAX_CHAIN: usize = 200;

/// Number of a fixed value of [`Values`]; equal values have equal numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct FixedValue(pub(super) usize);

/// Part of the text of a fixed value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum FixedPiece {
    Text(String),
    Value(FixedValue),
}

/// State of the search for the value of a write.
#[derive(Clone, Copy)]
enum WriteSearch {
    Open,
    Done(Option<FixedValue>),
}

/// Values of the uses of a kernel, found on demand.
pub(super) struct Values<'a> {
    code: &'a Code,
    reaching: Reaching<'a>,
    operands: HashMap<OpIndex, Option<Rc<Operands>>>,
    writes: HashMap<(NodeId, OpIndex, Cell), WriteSearch>,
    numbers: HashMap<Vec<FixedPiece>, FixedValue>,
    texts: Vec<Vec<FixedPiece>>,
    /// Values that rest on data of the module.
    rests_on_data: Vec<bool>,
}

impl<'a> Values<'a> {
    pub(super) fn new(code: &'a Code, thread: &'a ThreadCfg) -> Values<'a> {
        Values {
            code,
            reaching: Reaching::new(code, thread),
            operands: HashMap::new(),
            writes: HashMap::new(),
            numbers: HashMap::new(),
            texts: Vec::new(),
            rests_on_data: Vec::new(),
        }
    }

    /// Text of the effect of an operation on data; `None` if the effect is unknown.
    pub(super) fn operands(&mut self, at: OpIndex) -> Option<Rc<Operands>> {
        let find = || Operands::of_op(self.code, self.code.get(at)?).map(Rc::new);
        self.operands.entry(at).or_insert_with(find).clone()
    }

    /// Origins of the value of `cell` before the operation `at` of `node`.
    pub(super) fn origins(&mut self, node: NodeId, at: OpIndex, cell: Cell) -> Origins {
        self.reaching.before(node, at, cell)
    }

    /// The fixed value of `cell` before the operation `at` of `node`; `None` if it may change.
    pub(super) fn fixed(&mut self, node: NodeId, at: OpIndex, cell: Cell) -> Option<FixedValue> {
        self.fixed_use(node, at, cell, 0)
    }

    /// The fixed value that the operation `at` of `node` writes to `cell`; `None` if it may change.
    pub(super) fn written(&mut self, node: NodeId, at: OpIndex, cell: Cell) -> Option<FixedValue> {
        self.fixed_write(node, at, cell, 0)
    }

    /// Text of a fixed value that has no operands: a constant, a parameter, a special register.
    pub(super) fn leaf(&self, value: FixedValue) -> Option<&str> {
        match self.text(value) {
            [FixedPiece::Text(text)] if !text.contains('(') => Some(text),
            _ => None,
        }
    }

    /// Text of a fixed value.
    pub(super) fn text(&self, value: FixedValue) -> &[FixedPiece] {
        self.texts.get(value.0).map_or(&[], Vec::as_slice)
    }

    /// Whether a fixed value rests on data of the module.
    pub(super) fn rests_on_data(&self, value: FixedValue) -> bool {
        self.rests_on_data.get(value.0).copied().unwrap_or(true)
    }

    fn fixed_use(
        &mut self,
        node: NodeId,
        at: OpIndex,
        cell: Cell,
        chain: usize,
    ) -> Option<FixedValue> {
        match self.origins(node, at, cell).single(node)? {
            Origin::Entry => {
                Some(self.number(vec![FixedPiece::Text(format!("entry {cell}"))], false))
            }
            Origin::Op(node, at) => self.fixed_write(node, at, cell, chain + 1),
            Origin::Callee(_) => None,
        }
    }

    fn fixed_write(
        &mut self,
        node: NodeId,
        at: OpIndex,
        cell: Cell,
        chain: usize,
    ) -> Option<FixedValue> {
        match self.writes.get(&(node, at, cell)) {
            Some(WriteSearch::Done(found)) => return *found,
            // A value that rests on itself changes from round to round.
            Some(WriteSearch::Open) => return None,
            None => {}
        }
        if chain > MAX_CHAIN {
            return None;
        }
        self.writes.insert((node, at, cell), WriteSearch::Open);
        let found = self.evaluate(node, at, cell, chain);
        self.writes
            .insert((node, at, cell), WriteSearch::Done(found));
        found
    }

    fn evaluate(
        &mut self,
        node: NodeId,
        at: OpIndex,
        cell: Cell,
        chain: usize,
    ) -> Option<FixedValue> {
        // A guarded write may leave the old value.
        let op = self.code.get(at).filter(|op| op.condition.is_always())?;
        let operands = Operands::of_value(self.code, op, cell)?;
        if operands.reads_changing_special || operands.reads_unknown_literals {
            return None;
        }
        let mut rests_on_data = operands.reads_module_data;
        let mut pieces = Vec::new();
        for piece in operands.pieces {
            pieces.push(match piece {
                Piece::Text(text) => FixedPiece::Text(text),
                Piece::Use(cell) | Piece::Dest(_, cell) => {
                    let value = self.fixed_use(node, at, cell, chain)?;
                    rests_on_data |= self.rests_on_data(value);
                    FixedPiece::Value(value)
                }
            });
        }
        // A copy is the value itself.
        if let [FixedPiece::Value(copied)] = pieces.as_slice() {
            return Some(*copied);
        }
        // A constant is the same in the operation and in a register.
        let mut inlined: Vec<FixedPiece> = Vec::new();
        for piece in pieces {
            let text = match &piece {
                FixedPiece::Text(text) => Some(text.as_str()),
                FixedPiece::Value(value) => self.leaf(*value),
            };
            match (inlined.last_mut(), text) {
                (Some(FixedPiece::Text(last)), Some(text)) => last.push_str(text),
                (_, Some(text)) => inlined.push(FixedPiece::Text(text.to_owned())),
                (_, None) => inlined.push(piece),
            }
        }
        let pieces = inlined;
        Some(self.number(pieces, rests_on_data))
    }

    fn number(&mut self, pieces: Vec<FixedPiece>, rests_on_data: bool) -> FixedValue {
        if let Some(known) = self.numbers.get(&pieces) {
            return *known;
        }
        let number = FixedValue(self.texts.len());
        self.texts.push(pieces.clone());
        self.rests_on_data.push(rests_on_data);
        self.numbers.insert(pieces, number);
        number
    }
}
