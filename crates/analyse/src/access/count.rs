//! Counts of an access whose addresses are known.

use smallvec::SmallVec;
use warpbound_isa::instr::MemorySpace;

use super::numbers::AccessCounts;
use super::shape::{AccessMode, CountedForm};
use super::units::{BankRule, MemoryUnits};

/// Lanes of the widest warps.
const MOST_LANES: usize = 64;

/// Counts an access to one memory space by lanes of a warp whose aligned addresses are given.
///
/// Each number is monotone in the lanes: without some of them, none becomes greater.
pub(super) fn count(
    units: &MemoryUnits,
    space: MemorySpace,
    form: &CountedForm,
    addresses: &[Option<u64>],
) -> AccessCounts {
    match (space, units.banks) {
        (MemorySpace::Shared, BankRule::Pools(lanes)) => pools(lanes, form.bytes, addresses),
        (MemorySpace::Shared, BankRule::ActivePools(lanes)) => active_pools(lanes, form, addresses),
        (MemorySpace::Shared, BankRule::Groups(lanes)) => groups(lanes, form, addresses),
        (MemorySpace::Local, _) => local(units, form.bytes, addresses),
        (MemorySpace::Constant, _) => constant(addresses),
        _ => global(units, form.bytes, addresses),
    }
}

/// Counts a global access: requests of some consecutive lanes, each with lines and sectors of its own.
fn global(units: &MemoryUnits, bytes: u32, addresses: &[Option<u64>]) -> AccessCounts {
    // An access is no longer than a unit, so its first and its last byte are in all units that it touches. Addresses
    // wrap around modulo 2⁶⁴.
    let touched = |unit: u64| {
        move |first: u64| {
            [
                first / unit,
                first.wrapping_add(u64::from(bytes) - 1) / unit,
            ]
        }
    };
    let (line, sector) = (touched(units.line_bytes), touched(units.sector_bytes));
    let mut counts = AccessCounts {
        lines: distinct(addresses, line),
        ..AccessCounts::default()
    };
    for lanes in addresses.chunks(units.lanes_of_request(bytes)) {
        counts.requests += u32::from(lanes.iter().any(Option::is_some));
        counts.transactions += distinct(lanes, line);
        counts.sectors += distinct(lanes, sector);
    }
    counts
}

/// Counts a local access. The words of the lanes at one offset form a row, and the lanes of one request share a
/// sector of the row. Each word of an access is a set of requests of its own.
fn local(units: &MemoryUnits, bytes: u32, addresses: &[Option<u64>]) -> AccessCounts {
    let words = bytes.div_ceil(4);
    let row = |address: u64| [address / 4; 2];
    let mut counts = AccessCounts {
        // Accesses of several words are aligned, so that two of them have all words in common or none.
        lines: words * distinct(addresses, row),
        ..AccessCounts::default()
    };
    for lanes in addresses.chunks(units.lanes_of_request(4)) {
        counts.requests += words * u32::from(lanes.iter().any(Option::is_some));
        counts.transactions += words * distinct(lanes, row);
        // The lanes of a sector have a word each in it.
        let sectors = lanes.chunks(units.lanes_of_sector());
        counts.sectors += words * sectors.map(|lanes| distinct(lanes, row)).sum::<u32>();
    }
    counts
}

/// Counts an access to shared memory: pools of lanes, each served as often as the fullest bank has distinct words
/// (`pastis-2022` III.B). For example, 8 bytes per lane make pools of half as many lanes, which access 16 banks of 8
/// bytes.
/// A pool without active lanes takes a transaction, too.
fn pools(lanes: u32, bytes: u32, addresses: &[Option<u64>]) -> AccessCounts {
    let unit = u64::from(bytes.max(4));
    let banks = MemoryUnits::BANKS * 4 / unit;
    let mut counts = AccessCounts::default();
    for lanes in addresses.chunks(MemoryUnits::group_lanes(lanes, bytes)) {
        let degree = fullest_bank(lanes, banks, true, |address| address / unit).max(1);
        counts.requests += 1;
        counts.conflicts += degree - 1;
        counts.transactions += degree;
    }
    counts
}

/// Counts an access to shared memory whose pools without active lanes take no turn. Lanes of atomic operations are not
/// merged.
fn active_pools(lanes: u32, form: &CountedForm, addresses: &[Option<u64>]) -> AccessCounts {
    let unit = u64::from(form.bytes.max(4));
    let banks = MemoryUnits::BANKS * 4 / unit;
    let merges = form.mode != AccessMode::Atomic;
    let mut counts = AccessCounts::default();
    for lanes in addresses.chunks(MemoryUnits::group_lanes(lanes, form.bytes)) {
        let degree = fullest_bank(lanes, banks, merges, |address| address / unit);
        counts.requests += u32::from(degree > 0);
        counts.transactions += degree;
        counts.conflicts += degree.saturating_sub(1);
    }
    counts
}

/// Counts an access to LDS: groups of lanes for each word of the access, each served as often as the fullest bank has
/// distinct words; and distinct addresses, with banks of bytes. Lanes of atomic operations are not merged.
fn groups(lanes: u32, form: &CountedForm, addresses: &[Option<u64>]) -> AccessCounts {
    let merges = form.mode != AccessMode::Atomic;
    let mut counts = AccessCounts::default();
    for word in 0..u64::from(form.bytes.div_ceil(4)) {
        for lanes in addresses.chunks(lanes as usize) {
            let degree = |shift: u32| {
                let unit = |address: u64| address.wrapping_add(4 * word) >> shift;
                fullest_bank(lanes, MemoryUnits::BANKS, merges, unit)
            };
            let (words, bytes) = (degree(2), degree(0));
            // Unlike a pool, a group without active lanes takes no turn.
            counts.requests += u32::from(words > 0);
            counts.transactions += words;
            counts.conflicts += words.saturating_sub(1);
            counts.byte_conflicts += bytes.saturating_sub(1);
        }
    }
    counts
}

/// Returns the number of requests to the fullest bank. The remainder of `unit` of an address is its bank; equal units
/// are one request if they are merged.
fn fullest_bank(lanes: &[Option<u64>], banks: u64, merges: bool, unit: impl Fn(u64) -> u64) -> u32 {
    let mut units: SmallVec<[u64; MOST_LANES]> = SmallVec::new();
    units.extend(lanes.iter().flatten().map(|&address| unit(address)));
    // The bank comes first, so that the units of one bank are adjacent, and equal units are adjacent as well.
    units.sort_unstable_by_key(|unit| (unit % banks, *unit));
    if merges {
        units.dedup();
    }
    let in_one_bank = units.chunk_by(|a, b| a % banks == b % banks);
    in_one_bank.map(<[u64]>::len).max().unwrap_or(0) as u32
}

/// Counts an indexed read of a constant bank: the cache serves one word at a time.
fn constant(addresses: &[Option<u64>]) -> AccessCounts {
    let words = distinct(addresses, |address| [address / 4; 2]);
    AccessCounts {
        requests: words.min(1),
        transactions: words,
        ..AccessCounts::default()
    }
}

/// Returns the number of distinct units; each access touches one or two.
fn distinct(addresses: &[Option<u64>], of: impl Fn(u64) -> [u64; 2]) -> u32 {
    let mut units: SmallVec<[u64; MOST_LANES]> = SmallVec::new();
    units.extend(addresses.iter().flatten().flat_map(|&address| of(address)));
    units.sort_unstable();
    units.dedup();
    units.len() as u32
}
