use std::collections::BTreeSet;

use super::kept_in_each_shape;

/// Whether a cache that replaces the line used least recently still has `line` after each of `lines` was requested twice, in
/// ascending and in descending order.
fn stays(line: u64, lines: &BTreeSet<u64>, size: u64, ways: u64) -> bool {
    let sets = (size / ways).max(1);
    let mut set: Vec<u64> = vec![line];
    for &other in lines.iter().chain(lines.iter().rev()) {
        if other % sets == line % sets && other != line {
            set.retain(|&kept| kept != other);
            set.push(other);
        }
    }
    let least_recent = set.len().saturating_sub(ways as usize);
    set[least_recent..].contains(&line)
}

/// Lines stay exactly if no cache with these sizes and ways loses them.
#[test]
fn lines_that_stay_are_those_that_no_shape_loses() {
    let mut rng = fastrand::Rng::with_seed(43);
    let (mut kept, mut lost) = (0, 0);
    for _ in 0..2000 {
        let from = rng.u64(0..100);
        let count = rng.usize(1..30);
        let lines: BTreeSet<u64> = (0..count).map(|_| from + rng.u64(0..60)).collect();
        let least = rng.u64(1..40);
        let sizes = (least, least + rng.u64(0..40));
        let fewest = rng.u64(1..6);
        let ways = (fewest, fewest + rng.u64(0..4));
        let found = kept_in_each_shape(&lines, sizes, ways);
        for &line in &lines {
            let stays = (sizes.0..=sizes.1)
                .all(|size| (ways.0..=ways.1).all(|ways| stays(line, &lines, size, ways)));
            assert_eq!(found.contains(&line), stays, "{lines:?} {sizes:?} {ways:?}");
            *(if stays { &mut kept } else { &mut lost }) += 1;
        }
    }
    assert!(kept > 1000 && lost > 1000, "{kept} {lost}");
}

/// A cache of 256 to 1024 lines with 4 to 8 ways has 677 shapes, and keeps a small kernel in each of them.
#[test]
fn a_cache_with_many_shapes_keeps_a_small_kernel() {
    let lines: BTreeSet<u64> = (0..48).collect();
    assert_eq!(kept_in_each_shape(&lines, (256, 1024), (4, 8)), lines);
    // Ranges of too many shapes are taken to keep nothing, at once.
    let far: BTreeSet<u64> = [0, u64::MAX / 2].into();
    assert!(kept_in_each_shape(&far, (1, u64::MAX), (1, u64::MAX)).is_empty());
}
