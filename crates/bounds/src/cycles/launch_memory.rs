//! Part of the memory of a launch that the time of a warp depends on: whether everything stays in the L2 cache, and
//! how many pages are translated.
//!
//! For example, two buffers of 1 MiB fit into a cache of 3 MiB if no set gets more lines than it has ways. Then each
//! sector misses once at most.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_analyse::access::MemoryUnits;
use warpbound_cycles::MachineNumbers;
use warpbound_ir::Code;
use warpbound_launch::{Buffer, GlobalMemory, Launch};
use warpbound_machine::Parameter;

/// Addresses that the timing model gives to code, constant banks and local memory in the L2 cache, and the distance of
/// banks (docs/timing-model.md).
const CODE_AT: u64 = 0x20_0000_0000;
const CONSTANTS_AT: u64 = 0x21_0000_0000;
const BANK_STRIDE: u64 = 0x1_0000;
const LOCAL_AT: u64 = 0x30_0000_0000;

/// First address of a range, and the address after its last one.
type AddressRange = (u64, u64);

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
            fits: fits(&all, numbers),
            fits_l1: fits_l1(&buffers, &local, numbers),
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

/// Whether the lines of all ranges fit into the L2 cache, set by set. For example, with 2 ways and 1024 sets, lines
/// 0, 1024 and 2048 do not fit, because all three are in set 0.
fn fits(ranges: &[AddressRange], numbers: &MachineNumbers) -> bool {
    let [bytes, line, ways] =
        [Parameter::L2Bytes, Parameter::L2Line, Parameter::L2Ways].map(|parameter| {
            let (least, most) = numbers.range(parameter);
            (least == most).then_some(least.max(1))
        });
    // With a range of sizes, the sets of lines are not known, so nothing is presumed to stay.
    let (Some(bytes), Some(line), Some(ways)) = (bytes, line, ways) else {
        return false;
    };
    let total: u64 = ranges.iter().map(|(first, end)| end - first).sum();
    // Checked first, because the lines of far larger memory would be collected one by one below.
    if total > bytes {
        return false;
    }
    let sets = (bytes / line / ways).max(1);
    let mut lines = BTreeSet::new();
    for (first, end) in ranges.iter().filter(|(first, end)| first < end) {
        lines.extend(first / line..=(end - 1) / line);
    }
    let mut count: BTreeMap<u64, u64> = BTreeMap::new();
    for line in lines {
        *count.entry(line % sets).or_default() += 1;
    }
    count.values().all(|&count| count <= ways)
}

/// Maximum number of sizes of the L1 cache that are tried. A cache with more is taken to keep nothing.
const MOST_SIZES: u64 = 1 << 16;

/// Whether the lines of all buffers, and of the local memory of an SM, fit into the L1 cache, set by set, for each of its
/// sizes. With several caches for an SM, or lines longer than those for which waits are counted
/// ([`MemoryUnits`](warpbound_analyse::access::MemoryUnits)), nothing is presumed.
fn fits_l1(buffers: &[AddressRange], local: &[AddressRange], numbers: &MachineNumbers) -> bool {
    let [units, (line, longest), (sets, most_sets)] =
        [Parameter::L1Units, Parameter::L1Line, Parameter::L1Sets]
            .map(|parameter| numbers.range(parameter));
    let (bytes, most_bytes) = numbers.range(Parameter::L1Bytes);
    let is_one_shape = line == longest && sets == most_sets && line > 0 && sets > 0;
    if units.1 != 1 || !is_one_shape || line > MemoryUnits::NVIDIA.line_bytes {
        return false;
    }
    let total = buffers
        .iter()
        .map(|(first, end)| end.saturating_sub(*first));
    let total = total.fold(0, u64::saturating_add);
    if total > bytes {
        return false;
    }
    let mut lines = BTreeSet::new();
    for (first, end) in buffers.iter().filter(|(first, end)| first < end) {
        lines.extend(first / line..=(end - 1) / line);
    }
    // Each SM has other addresses of local memory, so its lines may begin in any set.
    let of_local = local
        .iter()
        .map(|(first, end)| end.saturating_sub(*first).div_ceil(line) + 1);
    let of_local = of_local.max().unwrap_or(0);
    // A machine file states sets, and a cache has as many ways as its lines give for them, and then as many sets as its lines
    // give for these ways. The fewest ways count for each number of sets.
    let (fewest, most) = (bytes / line, most_bytes / line);
    if most - fewest > MOST_SIZES {
        return false;
    }
    let mut ways_of_sets: BTreeMap<u64, u64> = BTreeMap::new();
    for size in fewest..=most {
        let ways = (size / sets).max(1);
        let least = ways_of_sets.entry((size / ways).max(1)).or_insert(ways);
        *least = ways.min(*least);
    }
    ways_of_sets.into_iter().all(|(sets, ways)| {
        let mut count: BTreeMap<u64, u64> = BTreeMap::new();
        for line in &lines {
            *count.entry(line % sets).or_default() += 1;
        }
        let of_buffers = count.into_values().max().unwrap_or(0);
        of_buffers + of_local.div_ceil(sets) <= ways
    })
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
