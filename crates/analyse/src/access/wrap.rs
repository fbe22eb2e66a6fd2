//! Accesses whose index may wrap around among the lanes of a warp (SOUNDNESS 5.13).

use super::arrangement::LaneOffsets;
use super::numbers::AccessCounts;
use super::shape::CountedForm;

/// Returns upper bounds on the counts of an access to global memory that has `counts` without the wrap-around. Lanes
/// whose address is beyond some limit access memory that is far away, at addresses with the same remainders.
///
/// The limit may lie within a line and a sector. Both then count twice, once for each side, in each request that has
/// lanes on both sides. If addresses rise or fall from lane to lane, only one request has lanes on both sides.
pub(super) fn count_apart(
    form: &CountedForm,
    counts: AccessCounts,
    offsets: &[LaneOffsets],
) -> AccessCounts {
    // A lane just below the limit may touch the unit after it, too, if its bytes need not lie in one unit; no access is
    // longer than a unit.
    let units = match form.align >= form.bytes {
        true => 1,
        false => 2,
    };
    let requests = match offsets.iter().all(is_monotone) {
        true => 1,
        false => counts.requests,
    };
    AccessCounts {
        transactions: counts.transactions + units * requests,
        sectors: counts.sectors + units * requests,
        lines: counts.lines + units,
        ..counts
    }
}

/// Whether the addresses of a warp rise or fall from lane to lane, or stay.
fn is_monotone(offsets: &LaneOffsets) -> bool {
    let signed = || offsets.iter().flatten().map(|&offset| offset as i64);
    signed().is_sorted() || signed().is_sorted_by(|a, b| a >= b)
}
