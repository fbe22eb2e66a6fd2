//! Memory that caches keep: whether all lines that a launch touches fit into the L1 or the L2 cache, set by set (SOUNDNESS
//! 11.2, 11.4).

use std::collections::{BTreeMap, BTreeSet};

use warpbound_machine::Parameter;

use crate::lines::lines_of;
use crate::numbers::MachineNumbers;

/// First address of a range, and the address after its last one.
pub type AddressRange = (u64, u64);

/// Whether the lines of all ranges fit into the L2 cache, set by set. For example, with 2 ways and 1024 sets, lines
/// 0, 1024 and 2048 do not fit, because all three are in set 0.
pub fn fits_l2(ranges: &[AddressRange], numbers: &MachineNumbers) -> bool {
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
    most_of_a_set(&lines_of(ranges, line), sets) <= ways
}

/// Maximum number of lines that are in one set.
fn most_of_a_set(lines: &BTreeSet<u64>, sets: u64) -> u64 {
    let mut count: BTreeMap<u64, u64> = BTreeMap::new();
    for line in lines {
        *count.entry(line % sets).or_default() += 1;
    }
    count.into_values().max().unwrap_or(0)
}

/// Maximum number of sizes of the L1 cache that are tried. A cache with more is taken to keep nothing.
const MOST_SIZES: u64 = 1 << 16;

/// Whether the lines of all buffers, and of the local memory of an SM, fit into the L1 cache, set by set, for each of its
/// sizes. With several caches for an SM, or lines of more than `most_line` bytes, nothing is presumed.
pub fn fits_l1(
    buffers: &[AddressRange],
    local: &[AddressRange],
    most_line: u64,
    numbers: &MachineNumbers,
) -> bool {
    let [units, (line, longest), (sets, most_sets)] =
        [Parameter::L1Units, Parameter::L1Line, Parameter::L1Sets]
            .map(|parameter| numbers.range(parameter));
    let (bytes, most_bytes) = numbers.range(Parameter::L1Bytes);
    let is_one_shape = line == longest && sets == most_sets && line > 0 && sets > 0;
    if units.1 != 1 || !is_one_shape || line > most_line {
        return false;
    }
    let total = buffers
        .iter()
        .map(|(first, end)| end.saturating_sub(*first));
    let total = total.fold(0, u64::saturating_add);
    if total > bytes {
        return false;
    }
    let lines = lines_of(buffers, line);
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
    ways_of_sets
        .into_iter()
        .all(|(sets, ways)| most_of_a_set(&lines, sets) + of_local.div_ceil(sets) <= ways)
}
