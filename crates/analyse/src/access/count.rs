//! Numbers of an access whose addresses are known.

use smallvec::SmallVec;
use warpbound_isa::instr::MemorySpace;

use super::{
    AccessCounts, BANK_ROW_BYTES, LANES, LINE_BYTES, POOL_LANES, REQUEST_LANES, SECTOR_BYTES,
};

/// Byte addresses of the lanes that take part.
pub(super) type LaneBytes = [Option<u64>; LANES];

/// Counts an access of `bytes` per lane to one memory space; addresses are multiples of `bytes`.
///
/// Each number is monotone in the lanes: without some of them, none becomes greater.
pub(super) fn count(space: MemorySpace, bytes: u32, addresses: &LaneBytes) -> AccessCounts {
    match space {
        MemorySpace::Shared => shared(bytes, addresses),
        MemorySpace::Local => local(bytes, addresses),
        MemorySpace::Constant => constant(addresses),
        _ => global(bytes, addresses),
    }
}

/// Returns the lanes of a group that is served together, of `lanes` lanes for words.
pub(super) fn group_lanes(lanes: u32, bytes: u32) -> usize {
    (lanes / (bytes / 4).max(1)).max(1) as usize
}

/// Counts a global access: requests of some consecutive lanes, each with lines and sectors of its own.
fn global(bytes: u32, addresses: &LaneBytes) -> AccessCounts {
    let mut counts = AccessCounts {
        lines: distinct(addresses, |address| address / LINE_BYTES),
        ..AccessCounts::default()
    };
    for lanes in addresses.chunks(group_lanes(REQUEST_LANES, bytes)) {
        counts.requests += u32::from(lanes.iter().any(Option::is_some));
        counts.transactions += distinct(lanes, |address| address / LINE_BYTES);
        counts.sectors += distinct(lanes, |address| address / SECTOR_BYTES);
    }
    counts
}

/// Counts a local access. The words of the lanes at one offset are a line, in which 8 lanes have a sector; each word
/// of an access is a set of requests of its own.
fn local(bytes: u32, addresses: &LaneBytes) -> AccessCounts {
    let words = bytes.div_ceil(4);
    let row = |address| address / 4;
    let mut counts = AccessCounts {
        // Accesses of several words are aligned, so that two of them have all words in common or none.
        lines: words * distinct(addresses, row),
        ..AccessCounts::default()
    };
    for lanes in addresses.chunks(REQUEST_LANES as usize) {
        let rows = words * distinct(lanes, row);
        counts.requests += words * u32::from(lanes.iter().any(Option::is_some));
        counts.transactions += rows;
        counts.sectors += rows;
    }
    counts
}

/// Counts an access to shared memory: pools of lanes, each with the most distinct words in one bank
/// (`pastis-2022` III.B). A pool without active lanes takes a transaction, too.
fn shared(bytes: u32, addresses: &LaneBytes) -> AccessCounts {
    let unit = u64::from(bytes.max(4));
    let banks = BANK_ROW_BYTES / unit;
    let mut counts = AccessCounts::default();
    for lanes in addresses.chunks(group_lanes(POOL_LANES, bytes)) {
        let mut words: SmallVec<[u64; LANES]> = SmallVec::new();
        words.extend(lanes.iter().flatten().map(|address| address / unit));
        words.sort_unstable_by_key(|word| (word % banks, *word));
        words.dedup();
        let in_one_bank = words.chunk_by(|a, b| a % banks == b % banks);
        let degree = in_one_bank.map(<[u64]>::len).max().unwrap_or(1) as u32;
        counts.requests += 1;
        counts.conflicts += degree - 1;
        counts.transactions += degree;
    }
    counts
}

/// Counts an indexed read of a constant bank: the cache serves one word at a time.
fn constant(addresses: &LaneBytes) -> AccessCounts {
    let words = distinct(addresses, |address| address / 4);
    AccessCounts {
        requests: words.min(1),
        transactions: words,
        ..AccessCounts::default()
    }
}

/// Returns the number of distinct values of a function of the addresses.
fn distinct(addresses: &[Option<u64>], of: impl Fn(u64) -> u64) -> u32 {
    let mut values: SmallVec<[u64; LANES]> = SmallVec::new();
    values.extend(addresses.iter().flatten().map(|&address| of(address)));
    values.sort_unstable();
    values.dedup();
    values.len() as u32
}
