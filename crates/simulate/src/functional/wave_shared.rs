//! Loads and stores of words of shared memory by waves, where all of them exist: the frequent accesses of LDS.

use warpbound_ir::Width;
use warpbound_isa::instr::MemorySpace;
use warpbound_simt::ExecutionModel;

use super::access::Request;
use super::block::{Block, ExecContext};
use super::lanes::{LaneValues, all_lanes, bits_and_most, lanes_of};
use super::listen::{ExecutionListener, MemoryAccess};
use super::memory::GlobalAccess;
use super::program::{Dest, WaveAccess, WaveOperation};

/// Maximum number of words of an access per lane.
const MAX_WORDS: usize = 4;

impl<E: ExecutionModel<u32>, const W: usize> Block<'_, E, W> {
    /// Executes an access if it loads or stores existing words of shared memory at multiples of its size;
    /// returns whether it does.
    pub(super) fn access_shared(
        &mut self,
        request: Request<'_>,
        access: &WaveAccess,
        context: &mut ExecContext<'_, impl GlobalAccess, impl ExecutionListener<E>>,
    ) -> bool {
        let (words, size) = (access.words(), access.part_size() as u32);
        let is_plain = access.operand.space == MemorySpace::Shared
            && access.operand.width == Width::Words
            && access.buffer.is_none()
            && words <= MAX_WORDS
            && size.is_power_of_two();
        if !is_plain || matches!(access.operation, WaveOperation::Atomic { .. }) {
            return false;
        }
        // A copy, because the destination of an earlier word may be the register of the address.
        let low = *self.rows(request.warp_index).get(access.operand.low);
        let (bits, most) = bits_and_most(&low, request.taken);
        // End of the second half, or of the whole if there are no halves. A negative distance wraps around and
        // exceeds the limit, so such an access is executed word by word.
        let distance = access.second_half.unwrap_or(0);
        let limit = self.shared_limit(request.warp_index, access.is_limited);
        let end = u64::from(most) + u64::from(distance) + u64::from(size);
        if (bits | distance) & (size - 1) != 0 || end > limit {
            return false;
        }
        self.report_shared(request, access, &low, context);
        match &access.operation {
            WaveOperation::Load(dests) => {
                for (word, dest) in dests.iter().enumerate() {
                    let row = self.load_shared(request, access.byte_of(word), &low, context);
                    if let Some(dest) = dest {
                        let warp = &mut self.warps[request.warp_index];
                        warp.write(Dest::Register(*dest), &row, request.taken);
                    }
                }
            }
            WaveOperation::Store(values) => {
                for (word, &value) in values.iter().enumerate() {
                    let row = *self.rows(request.warp_index).get(value);
                    self.store_shared(request, access.byte_of(word), &low, &row);
                }
            }
            WaveOperation::Atomic { .. } => {}
        }
        true
    }

    /// Reports an access to a listener, one for each of its halves if they are apart.
    #[inline(always)]
    fn report_shared(
        &self,
        request: Request<'_>,
        access: &WaveAccess,
        low: &LaneValues<W>,
        context: &mut ExecContext<'_, impl GlobalAccess, impl ExecutionListener<E>>,
    ) {
        for distance in [Some(0), access.second_half].into_iter().flatten() {
            let addresses = low.map(|low| u64::from(low.wrapping_add(distance)));
            context.listener.access(&MemoryAccess {
                space: access.operand.space,
                kind: access.kind(),
                size: access.part_size() as u32,
                addresses: &addresses,
                taken: request.taken,
            });
        }
    }

    /// Loads a word of each lane, `byte` bytes after its address.
    #[inline]
    fn load_shared(
        &self,
        request: Request<'_>,
        byte: u32,
        low: &LaneValues<W>,
        context: &mut ExecContext<'_, impl GlobalAccess, impl ExecutionListener<E>>,
    ) -> LaneValues<W> {
        let words = self.shared.bytes.as_chunks::<4>().0;
        let load = |lane: usize| {
            let word = words.get((low[lane] + byte) as usize / 4);
            word.map_or(0, |word| u32::from_le_bytes(*word))
        };
        let mut row = [0; W];
        if request.taken == all_lanes::<W>() {
            row = std::array::from_fn(load);
        } else {
            for lane in lanes_of::<W>(request.taken) {
                row[lane] = load(lane);
            }
        }
        if !self.shared.is_all_written() {
            for lane in lanes_of::<W>(request.taken) {
                let address = u64::from(low[lane] + byte);
                self.note_unwritten(request, address, 4, lane, context.counts);
            }
        }
        row
    }

    /// Stores a word of each lane, `byte` bytes after its address; if lanes have the same address, the highest wins.
    #[inline]
    fn store_shared(
        &mut self,
        request: Request<'_>,
        byte: u32,
        low: &LaneValues<W>,
        row: &LaneValues<W>,
    ) {
        let words = self.shared.bytes.as_chunks_mut::<4>().0;
        for lane in lanes_of::<W>(request.taken) {
            if let Some(word) = words.get_mut((low[lane] + byte) as usize / 4) {
                *word = row[lane].to_le_bytes();
            }
        }
        if !self.shared.is_all_written() {
            for lane in lanes_of::<W>(request.taken) {
                self.shared.mark_written(u64::from(low[lane] + byte), 4);
            }
        }
    }
}
