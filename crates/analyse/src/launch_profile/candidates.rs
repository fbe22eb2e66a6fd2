//! Results that an approximation may have: values of cells for each of them, until they are the same for all.
//!
//! Compilers divide integers by an approximate reciprocal and correct the quotient, so that it is exact whatever the
//! last bit of the reciprocal is. MUFU.RCP is within one unit in the last place (PTX ISA, `rcp.approx`): at most four
//! results. The operations that use the reciprocal are executed for each result; where all agree, as after the
//! corrections, the value is known.
//!
//! A lane has one of the results, and another lane may have another one. So only operations within a lane are followed.

use smallvec::SmallVec;
use warpbound_ir::float::FloatOp;
use warpbound_ir::float::special::SpecialFunction;
use warpbound_ir::{Cell, Expr, Meaning, Op, WordHalf};
use warpbound_simt::lanes_of;

use super::effects::ActiveLanes;
use super::operation::WarpInputs;
use super::row::{LANES, LaneRow};

/// Distances of the results of a reciprocal, in units of the last place, from the one that is rounded correctly. A
/// result that is two units less is within one unit of the reciprocal only below a power of two, where the units
/// change.
const DISTANCES: [i32; 4] = [-2, -1, 0, 1];

/// Largest number of cells with candidates.
const MAX_CELLS: usize = 24;

/// Rows of a cell, one for each result.
type CandidateRows = [LaneRow; DISTANCES.len()];

/// Cells whose words are known for each result of an approximation.
#[derive(Clone, Debug, Default)]
pub(super) struct Candidates {
    cells: SmallVec<[Candidate; 4]>,
    /// Number of the last approximation.
    last: u64,
}

#[derive(Clone, Debug)]
struct Candidate {
    cell: Cell,
    /// Number of the approximation.
    source: u64,
    rows: Box<CandidateRows>,
}

/// Source of the values of an operation.
enum Sources {
    /// No operand has candidates.
    None,
    /// All candidates of the operands belong to one approximation.
    One(u64),
    /// The candidates belong to several approximations.
    Several,
}

impl Candidates {
    /// Whether an operation has to be followed: some cell has candidates, or its result will have them.
    pub(super) fn must_follow(&self, op: &Op) -> bool {
        let begins = || match &op.meaning {
            Some(Meaning::Set(sets)) => {
                matches!(sets.as_slice(), [(_, value)] if reciprocal_of(value).is_some())
            }
            _ => false,
        };
        !self.cells.is_empty() || begins()
    }

    /// Forgets all candidates, where values of several paths meet.
    pub(super) fn clear(&mut self) {
        self.cells.clear();
    }

    /// Follows an operation that the `active` lanes are about to execute; `rows` are those before it. Returns the rows of the cells that it writes, where more is known of them than
    /// `rows` will show.
    pub(super) fn follow(
        &mut self,
        inputs: &WarpInputs<'_, '_>,
        rows: &[LaneRow],
        op: &Op,
        active: ActiveLanes,
    ) -> SmallVec<[(Cell, LaneRow); 2]> {
        let mut found = SmallVec::new();
        let Some(Meaning::Set(sets)) = &op.meaning else {
            self.forget(op);
            return found;
        };
        if let [(dest, value)] = sets.as_slice()
            && let Some(operand) = reciprocal_of(value)
        {
            self.forget(op);
            if op.condition.is_always() && inputs.cells.position(*dest).is_some() {
                let old = inputs.row(rows, *dest);
                self.add(*dest, old, &inputs.evaluate(rows, operand), active.mask);
            }
            return found;
        }
        let source = match self.sources(op, sets) {
            Sources::One(source) => source,
            Sources::None | Sources::Several => {
                self.forget(op);
                return found;
            }
        };
        let after: Vec<Vec<LaneRow>> = (0..DISTANCES.len())
            .map(|number| {
                let mut own = self.rows_of(inputs, rows, source, number);
                let (lanes, origin) = inputs.condition(&own, op, active);
                inputs.apply_effect(&mut own, op, lanes, origin);
                own
            })
            .collect();
        // Only now, because the operation reads its operands before it writes.
        self.forget(op);
        for &cell in &op.writes {
            let Some(position) = inputs.cells.position(cell) else {
                continue;
            };
            let own = after.iter().filter_map(|rows| rows.get(position)).copied();
            let own: SmallVec<[LaneRow; 4]> = own.collect();
            let Ok(own) = CandidateRows::try_from(own.as_slice()) else {
                continue;
            };
            let agreed = agreed(&own);
            // Where the words are the same for all results, the ordinary row shows them.
            if own.iter().any(|row| row.known() & !agreed.known() != 0) {
                self.push(cell, source, own);
            }
            found.push((cell, agreed));
        }
        found
    }

    /// Adds the results of a reciprocal in the active lanes; the others keep what the cell holds.
    fn add(&mut self, cell: Cell, old: LaneRow, operand: &LaneRow, active: u32) {
        self.last += 1;
        let mut kept = old;
        kept.forget(active);
        kept.origin = old.origin.with(operand.origin);
        let mut rows = [kept; DISTANCES.len()];
        for lane in lanes_of(active.into()) {
            let Some(result) = operand.word(lane).and_then(normal_reciprocal) else {
                continue;
            };
            for (row, distance) in rows.iter_mut().zip(DISTANCES) {
                row.set(lane, result.wrapping_add_signed(distance));
            }
        }
        self.push(cell, self.last, rows);
    }

    fn push(&mut self, cell: Cell, source: u64, rows: CandidateRows) {
        // The oldest candidates are the least likely to be needed, and to forget them only loses knowledge.
        if self.cells.len() >= MAX_CELLS {
            self.cells.remove(0);
        }
        self.cells.push(Candidate {
            cell,
            source,
            rows: Box::new(rows),
        });
    }

    /// Removes the cells that an operation writes.
    fn forget(&mut self, op: &Op) {
        self.cells.retain(|own| !op.writes.contains(&own.cell));
    }

    /// The approximations on which the results of an operation depend.
    fn sources(&self, op: &Op, sets: &[(Cell, Expr)]) -> Sources {
        let mut found = Sources::None;
        let mut add = |cell: Cell| {
            for own in self.cells.iter().filter(|own| own.cell == cell) {
                found = match found {
                    Sources::None => Sources::One(own.source),
                    Sources::One(source) if source == own.source => Sources::One(source),
                    Sources::One(_) | Sources::Several => Sources::Several,
                };
            }
        };
        for (dest, value) in sets {
            value.for_each_cell(&|_| true, &mut add);
            // A guarded write may keep the old content, which is an operand then.
            if !op.condition.is_always() {
                add(*dest);
            }
        }
        op.condition.cells().for_each(add);
        found
    }

    /// The rows for one result of an approximation: other words in the cells that depend on it.
    fn rows_of(
        &self,
        inputs: &WarpInputs<'_, '_>,
        rows: &[LaneRow],
        source: u64,
        number: usize,
    ) -> Vec<LaneRow> {
        let mut own = rows.to_vec();
        for candidate in self.cells.iter().filter(|own| own.source == source) {
            let position = inputs.cells.position(candidate.cell);
            let row = position.and_then(|at| own.get_mut(at));
            if let (Some(row), Some(of_result)) = (row, candidate.rows.get(number)) {
                *row = *of_result;
            }
        }
        own
    }
}

/// Operand of an expression that is a reciprocal of a single-precision number.
fn reciprocal_of(value: &Expr) -> Option<&Expr> {
    match value {
        Expr::Float(FloatOp::Special(SpecialFunction::Rcp), operands, WordHalf::Low) => {
            match &**operands {
                [operand] => Some(operand),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Reciprocal of a number, rounded correctly, if it and its neighbours are normal numbers.
fn normal_reciprocal(word: u32) -> Option<u32> {
    let result = SpecialFunction::Rcp.apply(word);
    let (number, reciprocal) = (f32::from_bits(word), f32::from_bits(result));
    let is_inner = |number: f32| {
        number.is_normal()
            && number.abs() > 4.0 * f32::MIN_POSITIVE
            && number.abs() < f32::MAX / 4.0
    };
    (is_inner(number) && is_inner(reciprocal)).then_some(result)
}

/// The words that all rows have.
fn agreed(rows: &CandidateRows) -> LaneRow {
    let [first, others @ ..] = rows;
    let mut agreed = *first;
    for row in others {
        agreed.origin = agreed.origin.with(row.origin);
    }
    // Bits of an unknown word that are known in one row need not be known in another.
    let differs = |lane: usize| {
        let word = first.word(lane);
        word.is_none() || others.iter().any(|row| row.word(lane) != word)
    };
    let different = (0..LANES).filter(|&lane| differs(lane));
    agreed.forget(different.fold(0, |lanes, lane| lanes | 1 << lane));
    agreed
}
