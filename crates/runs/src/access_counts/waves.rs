//! Counts of the memory accesses of waves by the rules in words (`docs/timing-model-gcn3.md`): lines of 64 bytes,
//! passes over the banks of LDS.
//!
//! Shares nothing with the classes of accesses, nor with the timing model, because audits and tests compare claims
//! with these counts. For example, 64 lanes that load consecutive words from a multiple of 64 make one request of 4
//! lines.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_analyse::access::{AccessCounts, AccessMode};
use warpbound_isa::instr::MemorySpace;
use warpbound_launch::gcn::aperture;
use warpbound_simt::lanes_of;
use warpbound_simulate::functional::{AccessKind, MemoryAccess};

/// Bytes of a line.
const LINE: u64 = 64;

/// Counts an access from the addresses of its lanes, with an entry for each memory space that some of them access.
/// `mode` is the kind of instruction: a load by the wave as a whole, an access through a buffer descriptor, or an
/// access by the lanes.
pub fn count_access_of_wave(
    access: &MemoryAccess<'_>,
    mode: AccessMode,
) -> Vec<(MemorySpace, AccessCounts)> {
    let lanes = lanes_of(access.taken);
    let lanes: Vec<(u64, u64)> = lanes
        .filter_map(|lane| Some((lane as u64, *access.addresses.get(lane)?)))
        .collect();
    let size = u64::from(access.size);
    match mode {
        AccessMode::Scalar => {
            // Scalar loads ignore the two lowest bits of an address.
            let words: Vec<(u64, u64)> = lanes.iter().map(|&(lane, at)| (lane, at & !3)).collect();
            let counts = AccessCounts {
                // The wave makes one request, whatever its lanes are.
                requests: 1,
                transactions: lines(size, &words),
                sectors: lines(size, &words),
                lines: lines(size, &words),
                ..AccessCounts::default()
            };
            return vec![(MemorySpace::Global, counts)];
        }
        AccessMode::Buffer | AccessMode::Plain | AccessMode::Atomic => {}
    }
    let mut by_space: Vec<(MemorySpace, Vec<(u64, u64)>)> = Vec::new();
    for (lane, address) in lanes {
        let (space, address) = match mode {
            AccessMode::Buffer => place_of_buffer(address),
            _ => place(access.space, address),
        };
        match by_space.iter_mut().find(|(known, _)| *known == space) {
            Some((_, lanes)) => lanes.push((lane, address)),
            None => by_space.push((space, vec![(lane, address)])),
        }
    }
    // Lanes that read one word share a pass, while each atomic operation on it needs its own.
    let merges = access.kind != AccessKind::Atomic;
    let counted = |(space, lanes): (MemorySpace, Vec<(u64, u64)>)| {
        let counts = match space {
            MemorySpace::Shared => count_lds(size, merges, &lanes),
            MemorySpace::Local => count_private(size, &lanes, mode),
            _ => count_memory(size, &lanes),
        };
        (space, counts)
    };
    by_space.into_iter().map(counted).collect()
}

/// Returns the memory space of an address, and the address in it.
fn place(space: MemorySpace, address: u64) -> (MemorySpace, u64) {
    if space != MemorySpace::Generic {
        return (space, address);
    }
    let windows = [
        (MemorySpace::Shared, aperture::SHARED),
        (MemorySpace::Local, aperture::PRIVATE),
    ];
    let found = windows
        .into_iter()
        .find(|(_, base)| (*base..base + aperture::SIZE).contains(&address));
    found.map_or((MemorySpace::Global, address), |(space, base)| {
        (space, address - base)
    })
}

/// Returns the memory space of an address from a buffer descriptor, and the address in it. Private memory has a
/// window of its own, where the words of the lanes are already interleaved.
fn place_of_buffer(address: u64) -> (MemorySpace, u64) {
    match (aperture::SCRATCH..aperture::SCRATCH + aperture::SIZE).contains(&address) {
        true => (MemorySpace::Local, address - aperture::SCRATCH),
        false => (MemorySpace::Global, address),
    }
}

/// Returns the distinct lines that accesses of `size` bytes touch.
fn lines(size: u64, lanes: &[(u64, u64)]) -> u32 {
    let mut lines = BTreeSet::new();
    for &(_, address) in lanes {
        for byte in 0..size {
            lines.insert((address + byte) / LINE);
        }
    }
    lines.len() as u32
}

/// Counts an access to memory. 64 lanes of up to 4 bytes share a request; of wider accesses, as many lanes as have 64
/// words together. For example, 16 lanes of 16 bytes.
fn count_memory(size: u64, lanes: &[(u64, u64)]) -> AccessCounts {
    let each = 64 / (size / 4).max(1);
    let mut requests: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    for &(lane, address) in lanes {
        requests
            .entry(lane / each)
            .or_default()
            .push((lane, address));
    }
    let of_requests = requests.values().map(|lanes| lines(size, lanes)).sum();
    AccessCounts {
        requests: requests.len() as u32,
        transactions: of_requests,
        sectors: of_requests,
        lines: lines(size, lanes),
        ..AccessCounts::default()
    }
}

/// Counts an access to private memory: word after word, each in a row of words of the lanes. The result is the
/// maximum of these counts and of the counts as if the words of a lane followed each other.
fn count_private(size: u64, lanes: &[(u64, u64)], mode: AccessMode) -> AccessCounts {
    let mut by_rows = AccessCounts::default();
    let mut all = Vec::new();
    for word in 0..size.div_ceil(4) {
        let row = |&(lane, address): &(u64, u64)| match mode {
            // A row has a word of each of the 64 lanes.
            AccessMode::Buffer => (lane, address + 256 * word),
            _ => {
                let offset = address + 4 * word;
                (lane, offset / 4 * 256 + lane * 4 + offset % 4)
            }
        };
        let rows: Vec<(u64, u64)> = lanes.iter().map(row).collect();
        let counts = count_memory(size.min(4), &rows);
        by_rows.requests += counts.requests;
        by_rows.transactions += counts.transactions;
        by_rows.sectors += counts.sectors;
        all.extend(rows);
    }
    by_rows.lines = lines(size.min(4), &all);
    by_rows.max(count_memory(size, lanes))
}

/// Counts an access to LDS. For each word of the access, each half of the wave needs as many passes as the maximum
/// number of distinct words in one bank; conflicts of bytes are counted by distinct addresses in banks of bytes.
/// Atomic operations of lanes are served one by one, even at one address.
fn count_lds(size: u64, merges: bool, lanes: &[(u64, u64)]) -> AccessCounts {
    let mut counts = AccessCounts::default();
    for word in 0..size.div_ceil(4) {
        for group in 0..2 {
            let mut of_words: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
            let mut of_bytes: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
            for &(_, address) in lanes.iter().filter(|(lane, _)| lane / 32 == group) {
                let byte = address + 4 * word;
                of_words.entry(byte / 4 % 32).or_default().push(byte / 4);
                of_bytes.entry(byte % 32).or_default().push(byte);
            }
            let degree = |of: &BTreeMap<u64, Vec<u64>>| {
                let requests = |all: &Vec<u64>| match merges {
                    true => all.iter().collect::<BTreeSet<_>>().len(),
                    false => all.len(),
                };
                of.values().map(requests).max().unwrap_or(0) as u32
            };
            let (passes, by_byte) = (degree(&of_words), degree(&of_bytes));
            // A half of the wave without active lanes makes no request.
            counts.requests += u32::from(passes > 0);
            counts.transactions += passes;
            counts.conflicts += passes.saturating_sub(1);
            counts.byte_conflicts += by_byte.saturating_sub(1);
        }
    }
    counts
}
