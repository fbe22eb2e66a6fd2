//! Limits of an access of which only the distance of its addresses is known, or nothing.

use warpbound_isa::instr::MemorySpace;

use super::{AccessCounts, AccessMode, BankRule, CountedForm, MemoryUnits};

/// Lanes of a warp that may take part.
pub(super) type LaneMask = Vec<bool>;

/// Returns the most numbers of an access by lanes of a mask whose aligned addresses are at most `distance` bytes apart.
pub(super) fn worst(
    units: &MemoryUnits,
    space: MemorySpace,
    form: &CountedForm,
    distance: u64,
    lanes: &[bool],
) -> AccessCounts {
    let align = u64::from(form.align.max(1));
    let span = Span {
        bytes: form.bytes.max(1).into(),
        align,
        distance: distance - distance % align,
    };
    match (space, units.banks) {
        (MemorySpace::Shared, BankRule::Pools(each)) => pools(each, &span, lanes),
        (MemorySpace::Shared, BankRule::Groups(each)) => lane_groups(each, form, &span, lanes),
        (MemorySpace::Local, _) if units.keeps_masks => private(units, &span, lanes),
        (MemorySpace::Local, _) => local(units, form.bytes, &span, lanes),
        (MemorySpace::Constant, _) => AccessCounts {
            requests: number(lanes).min(1),
            transactions: span.units(4, number(lanes)),
            ..AccessCounts::default()
        },
        _ => global(units, &span, lanes),
    }
}

/// Returns the number of lanes of a mask.
fn number(lanes: &[bool]) -> u32 {
    lanes.iter().filter(|&&is| is).count() as u32
}

/// Aligned addresses of a limited distance.
struct Span {
    /// Bytes of each access.
    bytes: u64,
    /// Power of two of which addresses and the distance are multiples.
    align: u64,
    distance: u64,
}

impl Span {
    /// Returns the most units of `unit` bytes, a power of two, that the accesses of some lanes touch: as many as each
    /// touches if it begins as late as possible in a unit, and as many as lie between the first byte and the last one if
    /// the least address is as late as possible in its unit.
    fn units(&self, unit: u64, lanes: u32) -> u32 {
        let late = unit.saturating_sub(self.align);
        let after = |distance: u64| late.saturating_add(distance).saturating_add(self.bytes - 1);
        let each = after(0) / unit + 1;
        let most = u64::from(lanes).saturating_mul(each);
        let within = after(self.distance) / unit;
        u32::try_from(within.saturating_add(1).min(most)).unwrap_or(u32::MAX)
    }
}

/// Returns the numbers of lanes in each group of `each` consecutive lanes that has one.
fn groups(lanes: &[bool], each: usize) -> impl Iterator<Item = u32> {
    lanes.chunks(each).map(number).filter(|&lanes| lanes > 0)
}

fn global(units: &MemoryUnits, span: &Span, lanes: &[bool]) -> AccessCounts {
    let mut counts = AccessCounts {
        lines: span.units(units.line_bytes, number(lanes)),
        ..AccessCounts::default()
    };
    let each = MemoryUnits::group_lanes(units.request_lanes, span.bytes as u32);
    for lanes in groups(lanes, each) {
        counts.requests += 1;
        counts.transactions += span.units(units.line_bytes, lanes);
        counts.sectors += span.units(units.sector_bytes, lanes);
    }
    counts
}

fn local(units: &MemoryUnits, bytes: u32, span: &Span, lanes: &[bool]) -> AccessCounts {
    let words = bytes.div_ceil(4);
    let rows = |lanes| words * span.units(4.max(span.bytes), lanes);
    let mut counts = AccessCounts {
        lines: rows(number(lanes)),
        ..AccessCounts::default()
    };
    for lanes in groups(lanes, units.request_lanes as usize) {
        counts.requests += words;
        counts.transactions += rows(lanes);
        counts.sectors += rows(lanes);
    }
    counts
}

/// Accesses to private memory of lanes whose words may lie one after the other or each in a row of words of all lanes:
/// the worse of both, whatever the addresses are.
fn private(units: &MemoryUnits, span: &Span, lanes: &[bool]) -> AccessCounts {
    let any = Span {
        distance: u64::MAX - u64::MAX % span.align,
        ..*span
    };
    let together = global(units, &any, lanes);
    let words = u32::try_from(span.bytes.div_ceil(4)).unwrap_or(u32::MAX);
    let units_apart = words.saturating_mul(number(lanes));
    let requests = groups(lanes, units.request_lanes as usize).count() as u32;
    together.max(AccessCounts {
        requests: words.saturating_mul(requests),
        transactions: units_apart,
        sectors: units_apart,
        lines: units_apart,
        ..AccessCounts::default()
    })
}

fn pools(each: u32, span: &Span, lanes: &[bool]) -> AccessCounts {
    let each = MemoryUnits::group_lanes(each, span.bytes as u32);
    let pools = lanes.len().div_ceil(each) as u32;
    // Words of one bank are a multiple of a row of banks apart. With the first word at the end of its unit, the last
    // one is as far away as its address.
    let unit = span.bytes.max(4);
    let words = span.distance.saturating_add(unit - span.bytes) / unit;
    let in_one_bank = words.saturating_mul(unit) / (MemoryUnits::BANKS * 4);
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

/// Groups of lanes of an access to LDS, for each of its words. In one bank of words are words at multiples of a row of
/// banks, of which the least begins at most a word less the alignment before its address; in one bank of bytes addresses
/// at multiples of the banks.
fn lane_groups(each: u32, form: &CountedForm, span: &Span, lanes: &[bool]) -> AccessCounts {
    let late = 4 - span.align.min(4);
    let words = span.distance.saturating_add(late) / (MemoryUnits::BANKS * 4);
    let bytes = span.distance / MemoryUnits::BANKS;
    let further = |in_one_bank: u64, lanes: u32| match form.mode {
        AccessMode::Atomic => lanes - 1,
        _ => u32::try_from(in_one_bank).map_or(lanes - 1, |further| further.min(lanes - 1)),
    };
    let mut counts = AccessCounts::default();
    for lanes in groups(lanes, each as usize) {
        counts.requests += 1;
        counts.conflicts += further(words, lanes);
        counts.byte_conflicts += further(bytes, lanes);
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
