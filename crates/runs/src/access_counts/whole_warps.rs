//! Counts of the memory accesses of warps from Volta on by the rules in words (`docs/soundness/warps.md`): an access of a warp
//! is one request, and shared memory serves pools of lanes, as far as they have active lanes.
//!
//! Shares nothing with the classes of accesses, because audits and tests compare claims with these counts. For example, 32
//! lanes that load consecutive doubles from a multiple of 256 make one request of 2 lines with 8 sectors.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_analyse::access::AccessCounts;
use warpbound_isa::instr::MemorySpace;
use warpbound_simt::lanes_of;
use warpbound_simulate::functional::{AccessKind, MemoryAccess};

use super::{distinct, space_of_generic};

/// Counts an access from the addresses of its lanes, with an entry for each memory space that some of them access.
pub fn count_access_of_whole_warp(access: &MemoryAccess<'_>) -> Vec<(MemorySpace, AccessCounts)> {
    let mut by_space: BTreeMap<MemorySpace, Vec<(u64, u64)>> = BTreeMap::new();
    for lane in lanes_of(access.taken) {
        if let Some(&address) = access.addresses.get(lane) {
            let (space, address) = match access.space {
                MemorySpace::Generic => space_of_generic(address),
                space => (space, address),
            };
            by_space
                .entry(space)
                .or_default()
                .push((lane as u64, address));
        }
    }
    let size = u64::from(access.size);
    let counted = |(space, lanes): (MemorySpace, Vec<(u64, u64)>)| {
        let counts = match space {
            MemorySpace::Shared => in_shared(size, &lanes, access.kind == AccessKind::Atomic),
            MemorySpace::Local => in_local(size, &lanes),
            _ => in_global(size, &lanes),
        };
        (space, counts)
    };
    by_space.into_iter().map(counted).collect()
}

/// Units of `bytes` that accesses of `size` bytes touch.
fn touched(size: u64, lanes: &[(u64, u64)], bytes: u64) -> u32 {
    let of_lane = |&(_, first): &(u64, u64)| [first / bytes, first.wrapping_add(size - 1) / bytes];
    distinct(lanes.iter().flat_map(of_lane))
}

fn in_global(size: u64, lanes: &[(u64, u64)]) -> AccessCounts {
    let lines = touched(size, lanes, 128);
    AccessCounts {
        requests: 1,
        transactions: lines,
        sectors: touched(size, lanes, 32),
        lines,
        ..AccessCounts::default()
    }
}

/// Words of the lanes at one offset are 128 bytes one after the other.
fn in_local(size: u64, lanes: &[(u64, u64)]) -> AccessCounts {
    let mut sum = AccessCounts::default();
    for word in 0..size.div_ceil(4) {
        let place = |&(lane, address): &(u64, u64)| {
            let row = address.wrapping_add(4 * word) / 4;
            (lane, row.wrapping_mul(128).wrapping_add(4 * lane))
        };
        let places: Vec<(u64, u64)> = lanes.iter().map(place).collect();
        let counts = in_global(4, &places);
        sum.requests += 1;
        sum.transactions += counts.transactions;
        sum.sectors += counts.sectors;
        sum.lines += counts.lines;
    }
    sum
}

/// A pool is served as often as the fullest of its banks has words, or lanes with atomic operations.
fn in_shared(size: u64, lanes: &[(u64, u64)], atomic: bool) -> AccessCounts {
    let words = size.div_ceil(4);
    let mut pools: BTreeMap<u64, BTreeMap<u64, BTreeSet<(u64, u64)>>> = BTreeMap::new();
    for &(lane, address) in lanes {
        let pool = pools.entry(lane * words / 32).or_default();
        for word in address / 4..address / 4 + words {
            // Equal words are one, unless each lane needs a turn.
            let own = if atomic { lane } else { 0 };
            pool.entry(word % 32).or_default().insert((word, own));
        }
    }
    let served = |pool: &BTreeMap<u64, BTreeSet<(u64, u64)>>| {
        let turns = pool.values().map(BTreeSet::len).max();
        turns.unwrap_or(0) as u32
    };
    let transactions = pools.values().map(served).sum();
    AccessCounts {
        requests: pools.len() as u32,
        transactions,
        conflicts: transactions - pools.len() as u32,
        ..AccessCounts::default()
    }
}
