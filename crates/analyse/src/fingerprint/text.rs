//! Canonical text of a slice. Two slices have equal texts only if they differ in nothing but names of registers,
//! addresses and the order of independent operations.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;

use warpbound_ir::{Cell, Code, Meaning, OpIndex};
use warpbound_simt::NodeId;

use crate::thread_cfg::ThreadCfg;

use super::events::{Side, Vertex};
use super::operands::{Operands, Piece, condition_text};
use super::reaching::Origin;
use super::slice::{Slice, Subject};
use super::values::{FixedPiece, FixedValue, Values};
use super::{CountSlice, FingerprintObstacle as Obstacle};

/// Writes the text of a slice.
pub(super) fn print<'a>(
    slice: &Slice,
    subject: &Subject<'_>,
    code: &'a Code,
    thread: &'a ThreadCfg,
    values: &mut Values<'a>,
) -> Result<CountSlice, Obstacle> {
    let mut writer = Writer {
        slice,
        subject,
        code,
        thread,
        values,
        text: String::new(),
        vertices: HashMap::new(),
        ops: HashMap::new(),
        fixed: HashMap::new(),
        open_ops: VecDeque::new(),
        open_fixed: VecDeque::new(),
    };
    writer.write_events()?;
    writer.write_ops();
    writer.write_fixed();
    Ok(CountSlice {
        text: writer.text,
        reads_data: slice.reads_data,
    })
}

struct Writer<'s, 'a, 'v> {
    slice: &'s Slice,
    subject: &'s Subject<'s>,
    code: &'a Code,
    thread: &'a ThreadCfg,
    values: &'v mut Values<'a>,
    text: String,
    /// Numbers of vertices, operations and fixed values, in the order that the text names them.
    vertices: HashMap<usize, usize>,
    ops: HashMap<(NodeId, OpIndex), usize>,
    fixed: HashMap<FixedValue, usize>,
    open_ops: VecDeque<(NodeId, OpIndex)>,
    open_fixed: VecDeque<FixedValue>,
}

impl Writer<'_, '_, '_> {
    /// Writes the observed vertices in the order of a depth-first search from the start.
    fn write_events(&mut self) -> Result<(), Obstacle> {
        let mut order = Vec::new();
        let mut open = vec![self.slice.events.start()];
        while let Some(vertex) = open.pop() {
            if self.vertices.contains_key(&vertex) {
                continue;
            }
            self.vertices.insert(vertex, order.len());
            let next = self.slice.events.successors(vertex);
            let next = next.ok_or_else(|| self.unclear(vertex))?;
            open.extend(next.iter().rev().map(|&(_, to)| to));
            order.push((vertex, next));
        }
        for (vertex, next) in order {
            let kind = match self.slice.events.vertex(vertex) {
                Vertex::Start => "start",
                Vertex::Enter => "enter",
                Vertex::End => "end",
                Vertex::Node(_) if self.slice.events.is_header(vertex) => "header",
                Vertex::Node(_) => "node",
            };
            let number = self.vertex(vertex);
            // Writing to a string cannot fail.
            let _ = write!(self.text, "{number} {kind}");
            if let Vertex::Node(node) = self.slice.events.vertex(vertex) {
                self.write_effects(node);
                self.write_access(node);
                if self.slice.events.is_decided(vertex) {
                    self.write_branch(node);
                }
            }
            for (side, to) in next {
                let side = match side {
                    None => "next",
                    Some(Side::Falls) => "else",
                    Some(Side::Taken) => "then",
                };
                let to = self.vertex(to);
                let _ = write!(self.text, " {side} {to}");
            }
            self.text.push('\n');
        }
        Ok(())
    }

    /// Reason why no single event follows a side of a branch.
    fn unclear(&self, vertex: usize) -> Obstacle {
        let at = match self.slice.events.vertex(vertex) {
            Vertex::Node(node) => self.code.get(self.thread.space.block(node).last),
            _ => None,
        };
        Obstacle::IndirectJump(at.map(|op| op.addr).unwrap_or_default())
    }

    /// Number of a vertex; every vertex that the text names has one.
    fn vertex(&self, vertex: usize) -> usize {
        self.vertices.get(&vertex).copied().unwrap_or(usize::MAX)
    }

    fn node(&self, node: NodeId) -> usize {
        self.vertex(node.index())
    }

    /// Writes the operations of a node whose order matters.
    fn write_effects(&mut self, node: NodeId) {
        let placed = self.slice.placed.get(&node).into_iter().flatten();
        for &at in placed {
            let meaning = self.code.get(at).and_then(|op| op.meaning.as_ref());
            let is_effect = match meaning {
                None | Some(Meaning::Set(_) | Meaning::TextureSize { .. }) => false,
                // Loads may change places as long as no operation of the slice writes memory or waits.
                Some(Meaning::Load { .. } | Meaning::Texture(_)) => self.slice.writes_memory,
                Some(_) => true,
            };
            if is_effect {
                let number = self.op(node, at);
                let _ = write!(self.text, " #{number}");
            }
        }
    }

    /// Writes the access that the slice is about, if the node has it.
    fn write_access(&mut self, node: NodeId) {
        let Subject::Access { at, address } = *self.subject else {
            return;
        };
        let op = self
            .code
            .get(at)
            .filter(|_| self.slice.accesses.contains(&node));
        let Some(op) = op else {
            return;
        };
        let _ = write!(self.text, " access {}", condition_text(op));
        for cell in op.condition.cells() {
            self.write_use(node, at, cell);
        }
        self.write_pieces(node, at, address);
    }

    fn write_branch(&mut self, node: NodeId) {
        let last = self.thread.space.block(node).last;
        let Some(op) = self.code.get(last) else {
            return;
        };
        let _ = write!(self.text, " {}", condition_text(op));
        for cell in op.condition.cells() {
            self.write_use(node, last, cell);
        }
    }

    /// Number of a placed operation, which is written later.
    fn op(&mut self, node: NodeId, at: OpIndex) -> usize {
        let next = self.ops.len();
        *self.ops.entry((node, at)).or_insert_with(|| {
            self.open_ops.push_back((node, at));
            next
        })
    }

    /// Number of a fixed value, which is written later.
    fn fixed(&mut self, value: FixedValue) -> usize {
        let next = self.fixed.len();
        *self.fixed.entry(value).or_insert_with(|| {
            self.open_fixed.push_back(value);
            next
        })
    }

    fn write_use(&mut self, node: NodeId, at: OpIndex, cell: Cell) {
        if let Some(value) = self.values.fixed(node, at, cell) {
            self.write_value(value);
            return;
        }
        let origins = self.values.origins(node, at, cell);
        self.text.push('(');
        for &write in &origins.local {
            self.text.push('<');
            self.write_origin(Origin::Op(node, write), cell);
        }
        let mut others: Vec<Origin> = origins.other.iter().copied().collect();
        // Nodes have other numbers in another build, while the numbers of vertices follow from the text.
        others.sort_by_key(|&origin| match origin {
            Origin::Entry | Origin::Callee(_) => None,
            Origin::Op(node, at) => Some((self.node(node), at)),
        });
        for origin in others {
            self.write_origin(origin, cell);
        }
        self.text.push(')');
    }

    /// Writes a fixed value: itself if it has no operands, else its number.
    fn write_value(&mut self, value: FixedValue) {
        if let Some(leaf) = self.values.leaf(value) {
            self.text.push_str(leaf);
            return;
        }
        let number = self.fixed(value);
        let _ = write!(self.text, "${number}");
    }

    fn write_origin(&mut self, origin: Origin, cell: Cell) {
        match origin {
            Origin::Op(node, at) => {
                if let Some(value) = self.values.written(node, at, cell) {
                    self.text.push(' ');
                    self.write_value(value);
                    let _ = write!(self.text, " in {}", self.node(node));
                    return;
                }
                let dest = self.values.operands(at).and_then(|op| op.dest(cell));
                let number = self.op(node, at);
                let _ = write!(self.text, " #{number}");
                // An operation of the slice with one destination has position 0.
                let _ = write!(self.text, ".{}", dest.unwrap_or_default());
            }
            Origin::Entry | Origin::Callee(_) => {
                let _ = write!(self.text, " entry {cell}");
            }
        }
    }

    /// Writes the placed operations that the text names, and those that they name.
    fn write_ops(&mut self) {
        // The queue grows meanwhile, because operations name others.
        while let Some((node, at)) = self.open_ops.pop_front() {
            let (number, vertex) = (self.op(node, at), self.node(node));
            let _ = write!(self.text, "#{number} in {vertex} ");
            let Some(op) = self.code.get(at) else {
                continue;
            };
            if !op.condition.is_always() {
                let _ = write!(self.text, "{}", condition_text(op));
                for cell in op.condition.cells() {
                    self.write_use(node, at, cell);
                }
                self.text.push(' ');
            }
            if let Some(operands) = self.values.operands(at) {
                self.write_pieces(node, at, &operands);
            }
            self.text.push('\n');
        }
    }

    fn write_pieces(&mut self, node: NodeId, at: OpIndex, operands: &Operands) {
        for piece in &operands.pieces {
            match piece {
                Piece::Text(text) => self.text.push_str(text),
                Piece::Dest(number, _) => {
                    let _ = write!(self.text, ".{number}");
                }
                Piece::Use(cell) => self.write_use(node, at, *cell),
            }
        }
    }

    /// Writes the fixed values that the text names, and those that they name.
    fn write_fixed(&mut self) {
        while let Some(value) = self.open_fixed.pop_front() {
            let number = self.fixed(value);
            let _ = write!(self.text, "${number} ");
            for piece in self.values.text(value).to_vec() {
                match piece {
                    FixedPiece::Text(text) => self.text.push_str(&text),
                    FixedPiece::Value(value) => self.write_value(value),
                }
            }
            self.text.push('\n');
        }
    }
}
