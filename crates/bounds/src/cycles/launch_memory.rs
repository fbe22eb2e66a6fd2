//! Part of the memory of a launch that the time of a warp depends on: whether everything stays in the L2 cache, and
//! how many pages are translated.
//!
//! For example, two buffers of 1 MiB fit into a cache of 3 MiB if no set gets more lines than it has ways. Then each
//! sector misses once at most.

use std::collections::BTreeSet;

use warpbound_analyse::access::MemoryUnits;
use warpbound_cycles::{AddressRange, MachineNumbers, fits_l1, fits_l2};
use warpbound_ir::Code;
use warpbound_launch::{Buffer, GlobalMemory, Launch};
use warpbound_machine::Parameter;

/// Addresses that the timing model gives to code, constant banks and local memory in the L2 cache, and the distance of
/// banks (docs/timing-model.md).
const CODE_AT: u64 = 0x20_0000_0000;
const CONSTANTS_AT: u64 = 0x21_0000_0000;
const BANK_STRIDE: u64 = 0x1_0000;
const LOCAL_AT: u64 = 0x30_0000_0000;

/// Memory of a launch with known addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LaunchMemory {
    /// Whether all lines that the launch may access stay in the L2 cache once they are in it.
    pub(crate) fits: bool,
    /// Whether all lines of buffers and of local memory that an SM may load stay in its L1 cache once they are in it.
    pub(crate) fits_l1: bool,
    /// Pages of the buffers that vector accesses may touch, and of local memory, in the first and in the second TLB.
    /// `None` if some may be translated more than once.
    pub(crate) pages: Option<[PageCount; 2]>,
    /// Sectors of the buffers.
    pub(crate) sectors: u64,
}

/// Memory that vector accesses of a launch may touch.
#[derive(Clone, Copy)]
pub(crate) struct AccessedMemory<'a> {
    /// Buffers.
    pub(crate) global: &'a GlobalMemory,
    /// Whether the accesses touch memory of the runtime: the queue, the code object, the arguments, the dispatch
    /// packet. Scalar loads and fetches of code are not translated, so they do not count.
    pub(crate) of_runtime: bool,
    /// Whether the accesses touch local memory.
    pub(crate) local: bool,
}

/// Number of pages of a range of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct PageCount {
    /// Pages of the first-level TLB.
    pub(crate) first: u64,
    /// Pages of the second-level TLB.
    pub(crate) second: u64,
}

impl LaunchMemory {
    /// Describes the memory of a launch on a machine.
    pub(crate) fn of(
        code: &Code,
        launch: &Launch,
        memory: AccessedMemory<'_>,
        numbers: &MachineNumbers,
        residents: Option<ResidentWarps>,
    ) -> LaunchMemory {
        let ranges = |is_counted: &dyn Fn(&Buffer) -> bool| -> Vec<AddressRange> {
            let buffers = memory.global.buffers().iter();
            let counted = buffers.filter(|buffer| is_counted(buffer));
            counted
                .map(|buffer| (buffer.address, buffer.address + buffer.bytes.len() as u64))
                .collect()
        };
        let buffers = ranges(&|_| true);
        let translated = ranges(&|buffer| memory.of_runtime || buffer.of_runtime.is_none());
        let lanes = lanes(numbers);
        let of_warp = u64::from(launch.local).next_multiple_of(4) * lanes;
        let residents = residents.unwrap_or_else(|| {
            // A lone warp may be in any slot of its block, on one SM.
            let threads: u64 = launch.block.iter().map(|&n| u64::from(n)).product();
            ResidentWarps {
                sms: 1,
                slots: threads.div_ceil(lanes).max(1),
                stride: 0,
            }
        });
        let local: Vec<AddressRange> = match memory.local {
            true => residents.local_memory(of_warp).collect(),
            false => Vec::new(),
        };
        // Lines after the end of the code may be prefetched, and take places in the cache as well.
        let ahead = numbers.range(Parameter::InstructionAhead).1 + 1;
        let line = numbers.slow(Parameter::InstructionLine);
        let code_end = code.ops.last().map_or(0, |op| u64::from(op.addr.0) + 8);
        let constants = launch.constants.iter();
        let constants = constants.filter(|(bank, _)| *bank != Code::ADDRESS_BANK);
        let constants = constants.map(|(bank, bytes)| {
            let first = CONSTANTS_AT + u64::from(*bank) * BANK_STRIDE;
            let line = numbers.slow(Parameter::ConstantL15Line).max(1);
            (first, first + (bytes.len() as u64).next_multiple_of(line))
        });
        let mut all: Vec<(u64, u64)> = constants.collect();
        all.push((
            CODE_AT,
            CODE_AT + code_end.next_multiple_of(line) + ahead * line,
        ));
        all.extend(&buffers);
        all.extend(&local);
        LaunchMemory {
            fits: fits_l2(&all, numbers),
            fits_l1: fits_l1(&buffers, &local, MemoryUnits::NVIDIA.line_bytes, numbers),
            pages: pages(&translated, &local, &all, numbers),
            sectors: {
                let sector = numbers.slow(Parameter::L2Sector).max(1);
                let sectors = buffers
                    .iter()
                    .map(|(first, end)| end.div_ceil(sector) - first / sector);
                sectors.sum()
            },
        }
    }
}

/// Warp slots that the blocks of a launch may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ResidentWarps {
    /// Number of SMs.
    pub(crate) sms: u64,
    /// Number of slots used of each SM.
    pub(crate) slots: u64,
    /// Number of slots of an SM.
    pub(crate) stride: u64,
}

impl ResidentWarps {
    /// Addresses of the local memory of all slots, of `of_warp` bytes each.
    fn local_memory(self, of_warp: u64) -> impl Iterator<Item = AddressRange> {
        (0..self.sms).map(move |sm| {
            let first = LOCAL_AT.saturating_add((sm * self.stride).saturating_mul(of_warp));
            (
                first,
                first.saturating_add(self.slots.saturating_mul(of_warp)),
            )
        })
    }
}

/// Lanes of a warp.
pub(crate) fn lanes(numbers: &MachineNumbers) -> u64 {
    numbers.family().lanes().into()
}

/// Pages of buffers and of local memory, if both TLBs hold all of them. `all` also has code and constants, whose
/// translations are in the second-level TLB when a launch begins, if the host has just written them.
fn pages(
    buffers: &[AddressRange],
    local: &[AddressRange],
    all: &[AddressRange],
    numbers: &MachineNumbers,
) -> Option<[PageCount; 2]> {
    let count = |ranges: &[AddressRange], page: Parameter| {
        let page = numbers.slow(page).max(1);
        let mut pages = BTreeSet::new();
        for (first, end) in ranges.iter().filter(|(first, end)| first < end) {
            pages.extend(first / page..=(end - 1) / page);
        }
        pages.len() as u64
    };
    let counts = [buffers, local].map(|ranges| PageCount {
        first: count(ranges, Parameter::TlbL1Page),
        second: count(ranges, Parameter::TlbL2Page),
    });
    // The smallest TLBs within the ranges have to hold all pages.
    let [first, second] = [Parameter::TlbL1Entries, Parameter::TlbL2Entries]
        .map(|parameter| numbers.range(parameter).0);
    let accessed: u64 = counts.iter().map(|count| count.first).sum();
    (accessed <= first && count(all, Parameter::TlbL2Page) <= second).then_some(counts)
}
