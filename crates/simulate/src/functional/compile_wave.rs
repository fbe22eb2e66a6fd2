//! Compilation of the memory accesses of waves of AMD's machines.

use warpbound_ir::{Cell, Meaning, Width};

use super::compile::{Compiler, word_number};
use super::program::{BufferSlots, Extent, MemoryOperand, WaveAccess, WaveOperation};
use super::steps::Steps;

impl<const W: usize> Compiler<'_, W> {
    /// Compiles a load, store or atomic operation of a wave.
    pub(super) fn compile_wave_access(
        &mut self,
        meaning: &Meaning,
        steps: &mut Steps,
    ) -> Option<WaveAccess> {
        let (operation, (space, width, address)) = match meaning {
            Meaning::Load {
                dests,
                width,
                space,
                address,
            } => (
                WaveOperation::Load(self.wave_dests(dests, steps)?),
                (*space, *width, address),
            ),
            Meaning::Store {
                values,
                width,
                space,
                address,
            } => (
                WaveOperation::Store(self.compile_exprs(values, steps)?),
                (*space, *width, address),
            ),
            Meaning::Atomic {
                dests,
                op,
                kind,
                space,
                address,
                operands,
            } => (
                WaveOperation::Atomic {
                    dests: self.wave_dests(dests, steps)?,
                    op: *op,
                    kind: *kind,
                    operands: self.compile_exprs(operands, steps)?,
                },
                (*space, Width::Words, address),
            ),
            _ => return None,
        };
        let buffer = match &address.buffer {
            None => None,
            Some(buffer) => {
                let descriptor = self.compile_exprs(&buffer.descriptor, steps)?;
                Some(BufferSlots {
                    descriptor: descriptor.try_into().ok()?,
                    index: match &buffer.index {
                        None => None,
                        Some(index) => Some(self.compile_slot(index, steps)?),
                    },
                    scalar_offset: self.compile_slot(&buffer.scalar_offset, steps)?,
                })
            }
        };
        Some(WaveAccess {
            operation,
            operand: MemoryOperand {
                space,
                width,
                low: self.compile_slot(&address.low, steps)?,
                high: match &address.high {
                    None => None,
                    Some(high) => Some(self.compile_slot(high, steps)?),
                },
            },
            buffer,
            second_half: address.second_half,
            is_limited: steps.reads_m0,
        })
    }

    /// Indices of destinations of an access: registers, or words of the warp if it is executed once.
    fn wave_dests(&self, cells: &[Option<Cell>], steps: &Steps) -> Option<Vec<Option<u16>>> {
        if steps.extent != Extent::Once {
            return self.register_rows(cells);
        }
        let number = |cell: &Option<Cell>| match cell {
            None => Some(None),
            Some(cell) => word_number(*cell).map(|number| Some(number.into())),
        };
        cells.iter().map(number).collect()
    }
}
