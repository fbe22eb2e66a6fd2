//! Counts of the memory accesses of warps by the rules in words (`docs/timing-model.md`), from the addresses of the
//! lanes.
//!
//! Shares nothing with the classes of accesses, nor with the timing model, because audits and tests compare claims
//! with these counts. For example, 32 lanes that load consecutive words make 4 requests, and touch one line of 128
//! bytes if the first address is a multiple of 128.

mod waves;
mod whole_warps;

use std::collections::{BTreeMap, BTreeSet};

use warpbound_analyse::access::AccessCounts;
use warpbound_isa::instr::MemorySpace;
use warpbound_launch::window;
use warpbound_simt::lanes_of;
use warpbound_simulate::functional::MemoryAccess;

pub use waves::count_access_of_wave;
pub use whole_warps::count_access_of_whole_warp;

/// Counts an access from the addresses of its lanes. Lanes of one generic access may use different memory spaces, so
/// there is an entry for each space that some of them access.
pub fn count_access(access: &MemoryAccess<'_>) -> Vec<(MemorySpace, AccessCounts)> {
    let mut lanes_by_space: Vec<(MemorySpace, Vec<(u64, u64)>)> = Vec::new();
    for lane in lanes_of(access.taken) {
        let Some(&address) = access.addresses.get(lane) else {
            continue;
        };
        let (space, address) = match access.space {
            MemorySpace::Generic => space_of_generic(address),
            space => (space, address),
        };
        let own = (lane as u64, address);
        match lanes_by_space.iter_mut().find(|(known, _)| *known == space) {
            Some((_, lanes)) => lanes.push(own),
            None => lanes_by_space.push((space, vec![own])),
        }
    }
    let size = u64::from(access.size);
    let counted = |(space, lanes): (MemorySpace, Vec<(u64, u64)>)| {
        let counts = match space {
            MemorySpace::Shared => count_shared(size, &lanes),
            MemorySpace::Local => count_local(size, &lanes),
            _ => count_global(size, &lanes),
        };
        (space, counts)
    };
    lanes_by_space.into_iter().map(counted).collect()
}

/// Returns the memory space that a generic address refers to, and the address in it.
fn space_of_generic(address: u64) -> (MemorySpace, u64) {
    for (space, base) in [
        (MemorySpace::Shared, u64::from(window::SHARED)),
        (MemorySpace::Shared, u64::from(window::HIGH) << 32),
        (MemorySpace::Local, u64::from(window::LOCAL)),
    ] {
        // An address below the window wraps around to an offset beyond its size.
        let offset = address.wrapping_sub(base);
        if offset < window::SIZE {
            return (space, offset);
        }
    }
    (MemorySpace::Global, address)
}

/// Returns the number of distinct values.
fn distinct<T: Ord>(values: impl Iterator<Item = T>) -> u32 {
    values.collect::<BTreeSet<T>>().len() as u32
}

/// Counts the access of lanes (number, address) to global memory: 8 threads of 4 bytes, 4 of 8 or 2 of 16 share a
/// request.
fn count_global(size: u64, lanes: &[(u64, u64)]) -> AccessCounts {
    // Accesses of 1 and 2 bytes are grouped like words.
    let request = |lane: u64| lane / (32 / size.max(4));
    let units = |bytes: u64| {
        // Per request, because two requests for one sector are two transfers.
        let unit = |&(lane, address): &(u64, u64)| (request(lane), address / bytes);
        distinct(lanes.iter().map(unit))
    };
    AccessCounts {
        requests: distinct(lanes.iter().map(|&(lane, _)| request(lane))),
        transactions: units(128),
        sectors: units(32),
        lines: distinct(lanes.iter().map(|(_, address)| address / 128)),
        ..AccessCounts::default()
    }
}

/// Counts the access of lanes to local memory: word after word, at the addresses where the words of the lanes are
/// interleaved. For example, lanes that all access offset 8 touch the 128 bytes from 256 on.
fn count_local(size: u64, lanes: &[(u64, u64)]) -> AccessCounts {
    let mut sum = AccessCounts::default();
    let mut lines = BTreeSet::new();
    for word in 0..size.div_ceil(4) {
        let interleaved: Vec<(u64, u64)> = lanes
            .iter()
            .map(|&(lane, address)| {
                let offset = address.wrapping_add(4 * word);
                let row = (offset / 4).wrapping_mul(128);
                (lane, row.wrapping_add(lane * 4 + offset % 4))
            })
            .collect();
        let counts = count_global(size.min(4), &interleaved);
        lines.extend(interleaved.iter().map(|(_, address)| address / 128));
        sum.requests += counts.requests;
        sum.transactions += counts.transactions;
        sum.sectors += counts.sectors;
    }
    AccessCounts {
        // Requests of different words add up, while a line that several words touch counts once.
        lines: lines.len() as u32,
        ..sum
    }
}

/// Counts the access of lanes to shared memory by the formula of `pastis-2022` III.B: for each pool of threads, the
/// maximum number of words that they request from one bank. All but the first are conflicts. For example, accesses of
/// 8 bytes form two pools of 16 threads, since a pool requests at most 32 words.
fn count_shared(size: u64, lanes: &[(u64, u64)]) -> AccessCounts {
    let words = size.div_ceil(4);
    let mut conflicts = 0;
    for pool in 0..words {
        let mut requested: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        for &(lane, address) in lanes.iter().filter(|(lane, _)| lane * words / 32 == pool) {
            debug_assert!(lane < 32, "warps of GPUs have 32 lanes");
            for word in address / 4..address / 4 + words {
                requested.entry(word % 32).or_default().insert(word);
            }
        }
        // A pool without active lanes has its turn all the same, so it counts as one word.
        let most = requested.values().map(BTreeSet::len).max().unwrap_or(1);
        conflicts += most as u32 - 1;
    }
    AccessCounts {
        requests: words as u32,
        transactions: words as u32 + conflicts,
        conflicts,
        ..AccessCounts::default()
    }
}
