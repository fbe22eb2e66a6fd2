//! Operations of a whole warp on matrices, and copies from global to shared memory.

use warpbound_ir::{MatrixAccess, transposed};
use warpbound_simt::{ExecutionModel, Mask};

use super::access::{Request, words};
use super::block::{Block, ExecContext};
use super::fault::{Fault, FaultKind};
use super::images::WarpOp;
use super::lanes::{LaneValues, all_lanes, gather};
use super::listen::ExecutionListener;
use super::memory::GlobalAccess;
use super::program::{
    CopyEffect, Dest, FragmentSlots, MatrixAccessEffect, ProductEffect, ValueSlot,
};

/// Lanes of the warps that have matrices.
const LANES: usize = 32;

/// Words that a lane loads or stores: a row of a matrix, or a copy.
const ROW_WORDS: usize = MatrixAccess::ROW_BYTES as usize / 4;

impl<E: ExecutionModel<u32>, const W: usize> Block<'_, E, W> {
    /// Refuses an operation of the whole warp that a part of its lanes executes, because PTX leaves its results undefined.
    fn check_whole_warp(&self, op: WarpOp) -> Result<(), Fault> {
        match W == LANES && op.taken == all_lanes::<W>() {
            true => Ok(()),
            false => Err(self.fault(op.at, FaultKind::PartOfWarp)),
        }
    }

    /// Values of a slot in the lanes of a warp of 32.
    fn fragment(&self, warp_index: usize, slot: ValueSlot) -> [u32; LANES] {
        // Warps of other machines have more lanes, and no matrices.
        let mut values = [0; LANES];
        values
            .iter_mut()
            .zip(self.rows(warp_index).get(slot))
            .for_each(|(value, word)| *value = *word);
        values
    }

    /// Writes the values of a fragment's word to a register.
    fn write_fragment(&mut self, op: WarpOp, dest: Option<Dest>, values: &[u32; LANES]) {
        let mut row = [0; W];
        row.iter_mut()
            .zip(values)
            .for_each(|(word, value)| *word = *value);
        if let Some(to) = dest {
            self.warps[op.warp_index].write(to, &row, op.taken);
        }
    }

    /// Multiplies matrices in the registers of a warp.
    pub(super) fn multiply_matrices(
        &mut self,
        op: WarpOp,
        effect: &ProductEffect,
    ) -> Result<(), Fault> {
        self.check_whole_warp(op)?;
        let fragments = |slots: &[ValueSlot]| -> Vec<[u32; LANES]> {
            let slots = slots.iter();
            slots
                .map(|&slot| self.fragment(op.warp_index, slot))
                .collect()
        };
        let (a, b, c) = (
            fragments(&effect.a),
            fragments(&effect.b),
            fragments(&effect.c),
        );
        // All words are read before the first one is written, because a result may replace a factor.
        let results = effect.product.multiply(&a, &b, &c);
        for (dest, values) in effect.dests.iter().zip(&results) {
            self.write_fragment(op, *dest, values);
        }
        Ok(())
    }

    /// Transposes a matrix in the registers of a warp.
    pub(super) fn transpose_matrix(
        &mut self,
        op: WarpOp,
        dest: Option<Dest>,
        value: ValueSlot,
    ) -> Result<(), Fault> {
        self.check_whole_warp(op)?;
        let values = transposed(&self.fragment(op.warp_index, value));
        self.write_fragment(op, dest, &values);
        Ok(())
    }

    /// Loads or stores matrices. The lanes that give addresses of rows access 16 bytes each.
    pub(super) fn access_matrices(
        &mut self,
        op: WarpOp,
        effect: &MatrixAccessEffect,
        context: &mut ExecContext<'_, impl GlobalAccess, impl ExecutionListener<E>>,
    ) -> Result<(), Fault> {
        self.check_whole_warp(op)?;
        let rows = MatrixAccess::ROWS * effect.registers.matrices();
        let request = Request {
            warp_index: op.warp_index,
            at: op.at,
            access: &effect.access,
            // The addresses of the other lanes do not count, even if they are invalid.
            taken: op.taken & Mask::MAX.checked_shr(Mask::BITS - rows as u32).unwrap_or(0),
        };
        let layout = |values: &[u32; LANES]| match effect.transposes {
            true => transposed(values),
            false => *values,
        };
        match &effect.registers {
            FragmentSlots::Load(dests) => {
                let loaded = self.gather(request, context, words::<16, ROW_WORDS>)?;
                for (number, dest) in dests.iter().enumerate() {
                    // Four lanes share a row: each has one word of it.
                    let word = |lane: usize| {
                        loaded[lane % ROW_WORDS][MatrixAccess::ROWS * number + lane / ROW_WORDS]
                    };
                    let values = std::array::from_fn(word);
                    self.write_fragment(op, *dest, &layout(&values));
                }
            }
            FragmentSlots::Store(slots) => {
                let mut stored = [[0; W]; ROW_WORDS];
                for (number, slot) in slots.iter().enumerate() {
                    let values = layout(&self.fragment(op.warp_index, *slot));
                    // The reverse of a load: the words of four lanes make a row, which another lane stores.
                    for (lane, value) in values.iter().enumerate() {
                        let row = MatrixAccess::ROWS * number + lane / ROW_WORDS;
                        stored[lane % ROW_WORDS][row] = *value;
                    }
                }
                let size = MatrixAccess::ROW_BYTES as usize;
                self.scatter(request, size, &stored, context)?;
            }
        }
        Ok(())
    }

    /// Copies from global to shared memory. The copy is complete at once, which a kernel that waits for it cannot tell.
    pub(super) fn copy_to_shared(
        &mut self,
        op: WarpOp,
        effect: &CopyEffect,
        context: &mut ExecContext<'_, impl GlobalAccess, impl ExecutionListener<E>>,
    ) -> Result<(), Fault> {
        let readers = gather(self.rows(op.warp_index).get(effect.reads)) & op.taken;
        let request = |access, taken| Request {
            warp_index: op.warp_index,
            at: op.at,
            access,
            taken,
        };
        let from = request(&effect.from, readers);
        let mut rows = [[0; W]; ROW_WORDS];
        let mut fill = |loaded: &[LaneValues<W>]| {
            rows.iter_mut()
                .zip(loaded)
                .for_each(|(row, words)| *row = *words);
        };
        match (effect.padding, effect.bytes) {
            // Listeners hear of no access that no lane makes.
            _ if readers == 0 => {}
            (Some(padding), bytes) => {
                let padding = *self.rows(op.warp_index).get(padding);
                // A thread reads no byte that it does not copy: its buffer may end there.
                let kept = padding.map(|padding| bytes.saturating_sub(padding as usize));
                fill(&self.gather_parts(from, bytes, &kept, context)?);
            }
            (None, 4) => fill(&self.gather(from, context, words::<4, 1>)?),
            (None, 8) => fill(&self.gather(from, context, words::<8, 2>)?),
            (None, _) => fill(&self.gather(from, context, words::<16, 4>)?),
        }
        self.scatter(request(&effect.to, op.taken), effect.bytes, &rows, context)
    }
}
