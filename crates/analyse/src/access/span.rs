//! Limits of an access of which only the distance of its addresses is known, or nothing.

use warpbound_isa::instr::MemorySpace;

use super::count::group_lanes;
use super::{
    AccessCounts, BANK_ROW_BYTES, LANES, LINE_BYTES, POOL_LANES, REQUEST_LANES, SECTOR_BYTES,
};

/// Lanes of a warp that may take part.
pub(super) type LaneMask = [bool; LANES];

/// Returns the most numbers of an access by lanes of a mask whose addresses, multiples of `bytes`, are at most
/// `distance` bytes apart.
pub(super) fn worst(
    space: MemorySpace,
    bytes: u32,
    distance: u64,
    lanes: &LaneMask,
) -> AccessCounts {
    let span = Span {
        bytes: bytes.max(1).into(),
        distance,
    };
    match space {
        MemorySpace::Shared => shared(bytes, &span, lanes),
        MemorySpace::Local => local(bytes, &span, lanes),
        MemorySpace::Constant => AccessCounts {
            requests: number(lanes).min(1),
            transactions: span.units(4, number(lanes)),
            ..AccessCounts::default()
        },
        _ => global(bytes, &span, lanes),
    }
}

/// Returns the number of lanes of a mask.
fn number(lanes: &[bool]) -> u32 {
    lanes.iter().filter(|&&is| is).count() as u32
}

/// Aligned addresses of a limited distance.
struct Span {
    bytes: u64,
    distance: u64,
}

impl Span {
    /// Returns the most units of `unit` bytes, a power of two, that the addresses of some lanes lie in: as many as the
    /// lanes, and as many as begin in the distance if the least address is as late as possible in its unit.
    fn units(&self, unit: u64, lanes: u32) -> u32 {
        let distance = self.distance - self.distance % self.bytes;
        let late = unit.saturating_sub(self.bytes);
        let units = distance.saturating_add(late) / unit;
        u32::try_from(units).map_or(lanes, |units| units.saturating_add(1).min(lanes))
    }
}

/// Returns the numbers of lanes in each group of `each` consecutive lanes that has one.
fn groups(lanes: &LaneMask, each: usize) -> impl Iterator<Item = u32> {
    lanes.chunks(each).map(number).filter(|&lanes| lanes > 0)
}

fn global(bytes: u32, span: &Span, lanes: &LaneMask) -> AccessCounts {
    let mut counts = AccessCounts {
        lines: span.units(LINE_BYTES, number(lanes)),
        ..AccessCounts::default()
    };
    for lanes in groups(lanes, group_lanes(REQUEST_LANES, bytes)) {
        counts.requests += 1;
        counts.transactions += span.units(LINE_BYTES, lanes);
        counts.sectors += span.units(SECTOR_BYTES, lanes);
    }
    counts
}

fn local(bytes: u32, span: &Span, lanes: &LaneMask) -> AccessCounts {
    let words = bytes.div_ceil(4);
    let rows = |lanes| words * span.units(4.max(span.bytes), lanes);
    let mut counts = AccessCounts {
        lines: rows(number(lanes)),
        ..AccessCounts::default()
    };
    for lanes in groups(lanes, REQUEST_LANES as usize) {
        counts.requests += words;
        counts.transactions += rows(lanes);
        counts.sectors += rows(lanes);
    }
    counts
}

fn shared(bytes: u32, span: &Span, lanes: &LaneMask) -> AccessCounts {
    let each = group_lanes(POOL_LANES, bytes);
    let pools = LANES.div_ceil(each) as u32;
    // Words of one bank are a multiple of a row of banks apart. With the first word at the end of its unit, the last
    // one is as far away as its address.
    let unit = span.bytes.max(4);
    let distance = span.distance - span.distance % span.bytes;
    let words = distance.saturating_add(unit - span.bytes) / unit;
    let in_one_bank = words.saturating_mul(unit) / BANK_ROW_BYTES;
    let conflicts = |lanes: u32| {
        let others = lanes.saturating_sub(1);
        u32::try_from(in_one_bank).map_or(others, |words| words.min(others))
    };
    let conflicts = groups(lanes, each).map(conflicts).sum();
    AccessCounts {
        requests: pools,
        transactions: pools + conflicts,
        conflicts,
        ..AccessCounts::default()
    }
}
