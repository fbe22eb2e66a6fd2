//! Sets of lanes of a warp.

/// Set of lanes of a warp, bit `i` for lane `i`; warps have 1 to 64 lanes.
pub type Mask = u64;

/// Returns the lowest `count` lanes; all 64 if `count` is larger. For example, `lowest_lanes(3)` is `0b111`.
pub fn lowest_lanes(count: u32) -> Mask {
    match count {
        // A shift by all 64 bits would overflow.
        0 => 0,
        count => Mask::MAX >> (Mask::BITS - count.min(Mask::BITS)),
    }
}

/// Returns the lanes of a mask, ascending.
pub fn lanes_of(mut mask: Mask) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros() as usize;
        (mask != 0).then(|| {
            mask &= mask - 1;
            lane
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lowest_lanes_of_all_widths() {
        for count in 0..=64 {
            let lanes: Vec<usize> = lanes_of(lowest_lanes(count)).collect();
            assert!(lanes.into_iter().eq(0..count as usize));
        }
        assert_eq!(lowest_lanes(65), Mask::MAX);
    }
}
