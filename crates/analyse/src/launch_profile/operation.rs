//! Execution of single operations of a warp with values that are known or unknown: conditions, results, writes.

use warpbound_ir::{Cell, Expr, Meaning, Op, ValueDependence, eval, further_test};
use warpbound_simt::lanes_of;

use super::decisive_cells::{DecisiveCells, may_write_memory};
use super::effects::{self, ActiveLanes, OpLanes, RowDomain};
use super::launch::{LaunchValues, ShapedWarp};
use super::row::{LaneRow, ValueOrigin};

/// Inputs of the operations of one warp, apart from the rows of its followed cells.
pub(crate) struct WarpInputs<'r, 'a> {
    pub(crate) values: &'r LaunchValues<'a>,
    pub(crate) cells: &'r DecisiveCells,
    pub(crate) warp: ShapedWarp,
}

impl WarpInputs<'_, '_> {
    /// Rows without any knowledge.
    pub(crate) fn unknown_rows(&self) -> Vec<LaneRow> {
        vec![LaneRow::UNKNOWN; self.cells.count()]
    }

    /// The value of a cell; unknown if the cell is not followed.
    pub(crate) fn row(&self, rows: &[LaneRow], cell: Cell) -> LaneRow {
        let row = self.cells.position(cell).and_then(|at| rows.get(at));
        row.copied().unwrap_or(LaneRow::UNKNOWN)
    }

    /// Adds knowledge about the content of a cell.
    pub(crate) fn learn(&self, rows: &mut [LaneRow], cell: Cell, known: &LaneRow) {
        let row = self.cells.position(cell).and_then(|at| rows.get_mut(at));
        let Some(row) = row else {
            return;
        };
        for lane in lanes_of(known.known().into()) {
            if let Some(word) = known.word(lane) {
                row.set(lane, word);
            }
        }
        row.origin = row.origin.with(known.origin);
    }

    /// The value of an expression over the rows.
    pub(crate) fn evaluate(&self, rows: &[LaneRow], expr: &Expr) -> LaneRow {
        let mut domain = RowDomain {
            values: self.values,
            cells: self.cells,
            warp: &self.warp,
            rows,
        };
        eval(expr, &mut domain).unwrap_or(LaneRow::UNKNOWN)
    }

    /// The lanes where the condition of an operation holds, and the properties of the launch that decide this.
    pub(crate) fn condition(
        &self,
        rows: &[LaneRow],
        op: &Op,
        active: ActiveLanes,
    ) -> (OpLanes, ValueOrigin) {
        let condition = op.condition;
        let mut lanes = OpLanes {
            certain: if condition.is_never() { 0 } else { active.mask },
            possible: 0,
            active,
        };
        let mut origin = ValueOrigin::NONE;
        let mut restrict = |row: &LaneRow, negated: bool| {
            let (holds, fails) = match negated {
                false => (row.known_true(), row.known_false()),
                true => (row.known_false(), row.known_true()),
            };
            // A lane stays possible unless some part of the condition fails, and certain as long as all parts hold.
            lanes.possible = (lanes.possible | lanes.certain) & !fails & !(lanes.certain & holds);
            lanes.certain &= holds;
            origin = origin.with(row.origin);
        };
        if let Some(guard) = condition.guard {
            restrict(&self.row(rows, guard), condition.negated);
        }
        if condition.has_further_test() {
            let row = match (further_test(condition), &op.meaning) {
                (Some(test), _) => self.evaluate(rows, &test),
                (None, Some(Meaning::Ask(mask))) => {
                    // No document says whether lanes that have exited are missing, so a mask of all lanes stands for none.
                    let all = Expr::Const(u32::MAX);
                    let mask = self.evaluate(rows, mask.as_ref().unwrap_or(&all));
                    is_missing(&mask, active)
                }
                (None, _) => LaneRow::UNKNOWN,
            };
            restrict(&row, false);
        }
        (lanes, origin)
    }

    /// Executes the effect of an operation on the followed cells, and reports its writes of global memory. Returns the
    /// properties of the launch that decide which addresses are written.
    ///
    /// Without lanes nothing is written. That follows from `origin`, just as a written value would: in a warp that
    /// differs in it, the condition may hold.
    pub(crate) fn apply_effect(
        &self,
        rows: &mut [LaneRow],
        op: &Op,
        lanes: OpLanes,
        origin: ValueOrigin,
    ) -> ValueOrigin {
        if !lanes.any() {
            for &cell in &op.writes {
                let row = self.cells.position(cell).and_then(|at| rows.get_mut(at));
                let Some(row) = row else { continue };
                // A GPU may execute the operation together with other lanes, whose guard holds.
                if cell.is_uniform() && !lanes.active.are_group {
                    row.forget(lanes.active.mask);
                }
                row.origin = row.origin.with(origin);
            }
            return match self.values.contents {
                Some(_) if may_write_memory(op) => origin,
                _ => ValueOrigin::NONE,
            };
        }
        let decided = self.write_memory(rows, op, lanes, origin);
        if !self.cells.are_written_by(op) {
            return decided;
        }
        let evaluate = |expr: &Expr| self.evaluate(rows, expr);
        let results = match (&op.meaning, op.value) {
            (Some(meaning), _) => effects::results(meaning, lanes, self.values.contents, evaluate),
            (None, ValueDependence::Special(register)) => {
                let row = evaluate(&Expr::Special(register));
                op.writes.iter().map(|&cell| (cell, row)).collect()
            }
            _ => effects::Results::new(),
        };
        for &cell in &op.writes {
            // Of two results for one cell the later one stays.
            let result = results.iter().rev().find(|(dest, _)| *dest == cell);
            let row = result.map_or(LaneRow::UNKNOWN, |(_, row)| *row);
            let position = self.cells.position(cell);
            let Some(old) = position.and_then(|at| rows.get_mut(at)) else {
                continue;
            };
            // All active lanes read what some of them wrote (SOUNDNESS 21.11).
            if cell.is_uniform() && !writes_one_word(&row, lanes) {
                old.forget(lanes.active.mask);
                old.origin = old.origin.with(row.origin).with(origin);
                continue;
            }
            // The old content is gone only if it is replaced in all lanes of the warp.
            let kept = match lanes.certain & self.warp.lanes == self.warp.lanes {
                true => ValueOrigin::NONE,
                false => old.origin,
            };
            old.overwrite(&row, lanes.certain, lanes.possible);
            old.origin = row.origin.with(kept).with(origin);
        }
        decided
    }

    /// Reports the writes of an operation to global memory, if its contents are followed. Returns the properties of the
    /// launch that decide which addresses are written: they decide what may be read later.
    fn write_memory(
        &self,
        rows: &[LaneRow],
        op: &Op,
        lanes: OpLanes,
        origin: ValueOrigin,
    ) -> ValueOrigin {
        let Some(contents) = self.values.contents.filter(|_| may_write_memory(op)) else {
            return ValueOrigin::NONE;
        };
        match effects::written_addresses(op, |expr| self.evaluate(rows, expr)) {
            None => {
                // The operation may write anywhere.
                contents.write(None, 0);
                origin
            }
            Some(access) => {
                for lane in lanes_of(lanes.all().into()) {
                    contents.write(access.address(lane), access.bytes);
                }
                origin.with(access.origin)
            }
        }
    }
}

/// Whether all active lanes execute an operation and give the same known word.
fn writes_one_word(row: &LaneRow, lanes: OpLanes) -> bool {
    let active = lanes.active.mask;
    let mut words = lanes_of(active.into()).map(|lane| row.word(lane));
    let first = words.next().flatten();
    lanes.certain == active && first.is_some() && words.all(|word| word == first)
}

/// Whether a lane of a mask is not among the active ones, as far as it is known: none is if the mask has no other lanes.
fn is_missing(mask: &LaneRow, active: ActiveLanes) -> LaneRow {
    let has_others = |lane| mask.word(lane).is_none_or(|mask| mask & !active.mask != 0);
    match active.are_certain && !lanes_of(active.mask.into()).any(has_others) {
        true => LaneRow::splat(0, mask.origin),
        false => LaneRow::unknown_from(mask.origin),
    }
}
