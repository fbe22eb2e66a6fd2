//! Registers of a wave that have a defined value.

use warpbound_ir::{Cell, Meaning, Op, OpScope};
use warpbound_isa::RegisterKind;
use warpbound_launch::gcn::LANES;
use warpbound_launch::{Launch, Size};
use warpbound_simt::Mask;

/// Words of FLAT_SCRATCH.
const FLAT_SCRATCH: [Cell; 2] = [Cell::scalar(102), Cell::scalar(103)];

/// For each cell, the lanes where it has a defined value; all or none for words of the warp.
pub(super) struct DefinedRegisters(Vec<Mask>);

impl DefinedRegisters {
    /// Returns the registers that the launch defines for a wave.
    pub(super) fn at_entry(launch: &Launch, block: Size, first_thread: u32) -> DefinedRegisters {
        let mut defined = DefinedRegisters(vec![0; Cell::COUNT]);
        if let Some(entry) = &launch.wave_entry {
            let wave = first_thread / LANES;
            for (number, _) in entry.scalars(block, wave) {
                defined.add(Cell::scalar(number), Mask::MAX);
            }
            for (number, _) in (0..).zip(entry.vectors(wave)) {
                defined.add(Cell::gpr(number), entry.lanes(wave));
            }
        }
        defined
    }

    fn add(&mut self, cell: Cell, lanes: Mask) {
        if let Some(mask) = self.0.get_mut(cell.index()) {
            *mask |= lanes;
        }
    }

    /// Returns the first cell that an operation reads where it is undefined, with the lane if the cell has a value
    /// per lane.
    pub(super) fn first_undefined(&self, op: &Op, taken: Mask) -> Option<(Cell, Option<u32>)> {
        let reads = op.reads.iter().copied().chain(op.condition.cells());
        let is_access = matches!(
            op.meaning,
            Some(Meaning::Load { .. } | Meaning::Store { .. } | Meaning::Atomic { .. })
        );
        for cell in reads {
            // Flat accesses read it for private addresses only, which fault if it is wrong.
            if is_access && FLAT_SCRATCH.contains(&cell) {
                continue;
            }
            let defined = self.0.get(cell.index()).copied().unwrap_or(0);
            let is_vector = cell.register().kind == RegisterKind::Vector;
            match is_vector {
                // Operations of the warp read other lanes than the active ones.
                true if op.scope == OpScope::Warp => {}
                true if taken & !defined != 0 => {
                    return Some((cell, Some((taken & !defined).trailing_zeros())));
                }
                false if defined == 0 => return Some((cell, None)),
                _ => {}
            }
        }
        None
    }

    /// Marks what an operation writes as defined.
    pub(super) fn write(&mut self, op: &Op, taken: Mask) {
        for &cell in &op.writes {
            let lanes = match cell.is_per_lane() && op.scope == OpScope::Lane {
                true => taken,
                false => Mask::MAX,
            };
            self.add(cell, lanes);
        }
    }
}
