//! Loads and stores of a wave as a whole, to and from words of the warp: scalar memory of AMD's machines.

use warpbound_ir::Width;
use warpbound_isa::instr::MemorySpace;
use warpbound_simt::ExecutionModel;

use super::access::Request;
use super::block::{Block, ExecContext};
use super::buffer::BufferLayout;
use super::fault::{Fault, FaultKind};
use super::listen::{ExecutionListener, MemoryAccess};
use super::memory::{GlobalAccess, read_word, write_word};
use super::program::{ValueSlot, WaveAccess, WaveOperation};
use super::wave_access::Place;

/// Address of an access of the warp as a whole.
#[derive(Clone, Copy)]
struct OnceAddress {
    plain: u64,
    /// Offset in the buffer, if there is one.
    offset: u32,
    layout: Option<BufferLayout>,
}

impl OnceAddress {
    /// Returns the address of a byte; `None` if it is out of range of the buffer.
    fn get(&self, byte: u32) -> Option<u64> {
        match &self.layout {
            None => Some(self.plain.wrapping_add(byte.into())),
            Some(layout) => layout.address(self.offset.wrapping_add(byte), 0, 0),
        }
    }
}

impl<E: ExecutionModel<u32>, const W: usize> Block<'_, E, W> {
    /// Executes an access of the warp as a whole, to words of the warp. The two lowest bits of its address do not count
    /// (GCN3 ISA manual, 7.3 "Scalar memory reads").
    pub(super) fn access_once(
        &mut self,
        request: Request<'_>,
        access: &WaveAccess,
        context: &mut ExecContext<'_, impl GlobalAccess, impl ExecutionListener<E>>,
    ) -> Result<(), Fault> {
        let word = |slot: ValueSlot| self.word(request.warp_index, slot);
        let low = word(access.operand.low) & !3;
        let high = access.operand.high.map_or(0, word);
        let address = OnceAddress {
            plain: u64::from(low) | u64::from(high) << 32,
            offset: low,
            layout: access.buffer.map(|buffer| {
                let descriptor = buffer.descriptor.map(word);
                BufferLayout::new(descriptor, word(buffer.scalar_offset))
            }),
        };
        let first = address.get(0);
        context.listener.access(&MemoryAccess {
            space: access.operand.space,
            kind: access.kind(),
            size: access.part_size() as u32,
            addresses: first.as_slice(),
            taken: first.is_some().into(),
        });
        match &access.operation {
            WaveOperation::Load(dests) if access.operand.width == Width::Words => {
                self.load_once(request, address, dests, context)
            }
            WaveOperation::Store(values) if access.operand.width == Width::Words => {
                self.store_once(request, address, values, context)
            }
            _ => Err(self.fault(request.at, FaultKind::Unsupported)),
        }
    }

    fn load_once(
        &mut self,
        request: Request<'_>,
        address: OnceAddress,
        dests: &[Option<u16>],
        context: &mut ExecContext<'_, impl GlobalAccess, impl ExecutionListener<E>>,
    ) -> Result<(), Fault> {
        let mut values = Vec::with_capacity(dests.len());
        for byte in (0..).step_by(4).take(dests.len()) {
            // Loads out of range of the buffer give 0.
            let Some(address) = address.get(byte) else {
                values.push(0);
                continue;
            };
            match self.bytes_at(Place::Global(address), 4, context.memory) {
                Some(bytes) => values.push(read_word(Width::Words, bytes)),
                None => return Err(self.outside_once(request, address, context.memory)),
            }
        }
        // Written last: destinations may be words of the address.
        let warp = &mut self.warps[request.warp_index];
        for (dest, value) in dests.iter().zip(values) {
            if let Some(number) = dest.and_then(|number| u8::try_from(number).ok()) {
                warp.set_word(number, value);
            }
        }
        Ok(())
    }

    fn store_once(
        &mut self,
        request: Request<'_>,
        address: OnceAddress,
        values: &[ValueSlot],
        context: &mut ExecContext<'_, impl GlobalAccess, impl ExecutionListener<E>>,
    ) -> Result<(), Fault> {
        for (&value, byte) in values.iter().zip((0..).step_by(4)) {
            let value = self.word(request.warp_index, value);
            // Stores out of range of the buffer are dropped.
            let Some(address) = address.get(byte) else {
                continue;
            };
            match self.bytes_at_mut(Place::Global(address), 4, context.memory) {
                Some(bytes) => write_word(bytes, value),
                None => return Err(self.outside_once(request, address, context.memory)),
            }
        }
        Ok(())
    }

    /// Returns the fault of an access of the warp as a whole outside of memory.
    #[cold]
    fn outside_once(
        &self,
        request: Request<'_>,
        address: u64,
        memory: &impl GlobalAccess,
    ) -> Fault {
        let kind = FaultKind::OutOfBounds {
            space: MemorySpace::Global,
            address,
            context: memory.describe_address(address),
        };
        self.fault(request.at, kind)
    }
}
