//! Limits of an access if nothing is known of its addresses except perhaps their distance.

use warpbound_isa::instr::MemorySpace;

use super::numbers::AccessCounts;
use super::shape::{AccessMode, CountedForm};
use super::units::{BankRule, MemoryUnits};
use crate::addresses::NearLanes;

/// Returns upper bounds on the counts of an access by the lanes of a mask. Their aligned addresses are as near each
/// other as `near` says ([`LaneAddresses::Near`](crate::addresses::LaneAddresses::Near)); a single entry is about all
/// lanes.
pub(super) fn worst(
    units: &MemoryUnits,
    space: MemorySpace,
    form: &CountedForm,
    near: &[NearLanes],
    lanes: &[bool],
) -> AccessCounts {
    let span = Span {
        bytes: form.bytes.max(1).into(),
        align: form.align.max(1).into(),
        near,
    };
    match (space, units.banks) {
        (MemorySpace::Shared, BankRule::Pools(each)) => pools(each, &span, lanes),
        (MemorySpace::Shared, BankRule::ActivePools(each)) => {
            active_pools(each, form, &span, lanes)
        }
        (MemorySpace::Shared, BankRule::Groups(each)) => lane_groups(each, form, &span, lanes),
        (MemorySpace::Local, _) if units.keeps_masks => private(units, &span, lanes),
        (MemorySpace::Local, _) => local(units, form.bytes, &span, lanes),
        (MemorySpace::Constant, _) => AccessCounts {
            requests: number(lanes).min(1),
            transactions: span.units(4, lanes),
            ..AccessCounts::default()
        },
        _ => global(units, &span, lanes),
    }
}

/// Returns the number of lanes of a mask.
fn number(lanes: &[bool]) -> u32 {
    lanes.iter().filter(|&&is| is).count() as u32
}

/// Aligned addresses of limited distances.
#[derive(Clone, Copy)]
struct Span<'n> {
    /// Bytes of each access.
    bytes: u64,
    /// Alignment of the addresses: a power of two.
    align: u64,
    near: &'n [NearLanes],
}

impl Span<'_> {
    /// Returns the maximum number of units of `unit` bytes, a power of two, that the accesses of some lanes touch.
    /// One access touches the most units if it begins as late as possible in a unit. All accesses together touch the
    /// units from the first byte to the last one, at most as many as if the least address is as late as possible in
    /// its unit.
    ///
    /// For example, two aligned accesses of 4 bytes that begin 4 bytes apart touch at most 2 units of 32 bytes.
    fn units(&self, unit: u64, lanes: &[bool]) -> u32 {
        let late = unit.saturating_sub(self.align);
        let within = |distance: u64| {
            let last = late.saturating_add(distance).saturating_add(self.bytes - 1);
            (last / unit).saturating_add(1)
        };
        self.most(lanes, within(0), &within)
    }

    /// Returns an upper bound on the things that some lanes have together, if each lane has at most `each`, and lanes
    /// with addresses at most a distance apart have at most `within` of that distance.
    fn most(&self, lanes: &[bool], each: u64, within: &impl Fn(u64) -> u64) -> u32 {
        let lanes_there = number(lanes);
        if lanes_there == 0 {
            return 0;
        }
        // Masks are cut into groups and halves of equal length, so a slice of 2^k lanes begins at a multiple of 2^k.
        let has_own_entry = lanes.len().is_power_of_two();
        let own_entry = || self.near.get(lanes.len().ilog2() as usize);
        let own_entry = has_own_entry.then(own_entry).flatten();
        // The last entry is about all lanes, so it holds of any part of them.
        let near = own_entry.or(self.near.last());
        let together = near.map_or(u64::MAX, |near| {
            // Aligned addresses are multiples of the alignment apart.
            let distance = near.distance - near.distance % self.align;
            within(distance).saturating_mul(near.clusters.into())
        });
        let apart = u64::from(lanes_there).saturating_mul(each);
        let most = u32::try_from(together.min(apart)).unwrap_or(u32::MAX);
        if lanes.len() < 2 || self.near.len() < 2 || !has_own_entry {
            return most;
        }
        let (low, high) = lanes.split_at(lanes.len() / 2);
        let halves = [low, high].map(|half| self.most(half, each, within));
        most.min(halves[0].saturating_add(halves[1]))
    }
}

/// Returns the groups of `each` consecutive lanes that contain an active lane.
fn groups(lanes: &[bool], each: usize) -> impl Iterator<Item = &[bool]> {
    lanes.chunks(each).filter(|lanes| number(lanes) > 0)
}

fn global(units: &MemoryUnits, span: &Span<'_>, lanes: &[bool]) -> AccessCounts {
    let mut counts = AccessCounts {
        lines: span.units(units.line_bytes, lanes),
        ..AccessCounts::default()
    };
    let each = units.lanes_of_request(span.bytes as u32);
    for lanes in groups(lanes, each) {
        counts.requests += 1;
        counts.transactions += span.units(units.line_bytes, lanes);
        counts.sectors += span.units(units.sector_bytes, lanes);
    }
    counts
}

fn local(units: &MemoryUnits, bytes: u32, span: &Span<'_>, lanes: &[bool]) -> AccessCounts {
    let words = bytes.div_ceil(4);
    let rows = |lanes: &[bool]| words * span.units(4.max(span.bytes), lanes);
    let mut counts = AccessCounts {
        lines: rows(lanes),
        ..AccessCounts::default()
    };
    for lanes in groups(lanes, units.lanes_of_request(4)) {
        counts.requests += words;
        counts.transactions += rows(lanes);
        let sectors = groups(lanes, units.lanes_of_sector());
        counts.sectors += sectors.map(rows).sum::<u32>();
    }
    counts
}

/// Counts an access to private memory of lanes. The words of a lane may lie one after the other, or each in a row of
/// words of all lanes; the result is the worse of both, whatever the addresses are.
fn private(units: &MemoryUnits, span: &Span<'_>, lanes: &[bool]) -> AccessCounts {
    // The layout may scatter words in memory, however near their addresses are.
    let any = Span { near: &[], ..*span };
    let together = global(units, &any, lanes);
    let words = u32::try_from(span.bytes.div_ceil(4)).unwrap_or(u32::MAX);
    let units_apart = words.saturating_mul(number(lanes));
    let requests = groups(lanes, units.lanes_of_request(4)).count() as u32;
    together.max(AccessCounts {
        requests: words.saturating_mul(requests),
        transactions: units_apart,
        sectors: units_apart,
        lines: units_apart,
        ..AccessCounts::default()
    })
}

fn pools(each: u32, span: &Span<'_>, lanes: &[bool]) -> AccessCounts {
    let each = MemoryUnits::group_lanes(each, span.bytes as u32);
    let pools = lanes.len().div_ceil(each) as u32;
    let conflicts = conflicts_in_pools(each, span, lanes);
    AccessCounts {
        // A pool without active lanes takes a turn as well.
        requests: pools,
        transactions: pools + conflicts,
        conflicts,
        ..AccessCounts::default()
    }
}

/// Returns an upper bound on the conflicts of pools of `each` lanes.
fn conflicts_in_pools(each: usize, span: &Span<'_>, lanes: &[bool]) -> u32 {
    // Words of one bank are a multiple of a row of banks apart. With the first word at the end of its unit, the last
    // one is as far away as its address.
    let unit = span.bytes.max(4);
    let in_one_bank = |distance: u64| {
        let words = distance.saturating_add(unit - span.bytes) / unit;
        words.saturating_mul(unit) / (MemoryUnits::BANKS * 4) + 1
    };
    let conflicts = |lanes| span.most(lanes, 1, &in_one_bank) - 1;
    groups(lanes, each).map(conflicts).sum()
}

/// Counts an access to shared memory whose pools without active lanes take no turn.
fn active_pools(each: u32, form: &CountedForm, span: &Span<'_>, lanes: &[bool]) -> AccessCounts {
    let each = MemoryUnits::group_lanes(each, span.bytes as u32);
    let requests = groups(lanes, each).count() as u32;
    let conflicts = match form.mode {
        // Each lane takes a turn of its own.
        AccessMode::Atomic => number(lanes) - requests,
        _ => conflicts_in_pools(each, span, lanes),
    };
    AccessCounts {
        requests,
        transactions: requests + conflicts,
        conflicts,
        ..AccessCounts::default()
    }
}

/// Counts the groups of lanes of an access to LDS, for each of its words. Words in one bank are multiples of a row of
/// banks apart. The least of them begins before its address, by at most a word less the alignment. Addresses in one
/// bank of bytes are multiples of the number of banks apart.
fn lane_groups(each: u32, form: &CountedForm, span: &Span<'_>, lanes: &[bool]) -> AccessCounts {
    let late = 4 - span.align.min(4);
    let words = |distance: u64| distance.saturating_add(late) / (MemoryUnits::BANKS * 4) + 1;
    let bytes = |distance: u64| distance / MemoryUnits::BANKS + 1;
    let is_atomic = form.mode == AccessMode::Atomic;
    let mut counts = AccessCounts::default();
    for lanes in groups(lanes, each as usize) {
        counts.requests += 1;
        let [in_words, in_bytes] = match is_atomic {
            true => [number(lanes); 2],
            false => [span.most(lanes, 1, &words), span.most(lanes, 1, &bytes)],
        };
        counts.conflicts += in_words - 1;
        counts.byte_conflicts += in_bytes - 1;
    }
    let each_word = |number: u32| number.saturating_mul(form.bytes.div_ceil(4));
    AccessCounts {
        requests: each_word(counts.requests),
        transactions: each_word(counts.requests + counts.conflicts),
        conflicts: each_word(counts.conflicts),
        byte_conflicts: each_word(counts.byte_conflicts),
        ..counts
    }
}
