//! Grids of a launch that change from round to round. For example, a grid of 8 x 1 blocks with steps of -1 and 2 has 7 x 3
//! blocks in the second round.

use warpbound_base::Diagnostic;

/// Maximum number of blocks of a grid, as in single launches.
const MAX_BLOCKS: u128 = 1 << 31;

/// Reads the change of a grid, and checks the grids of all rounds. The limits of each axis depend on the machines of the
/// kernel, and [`SetLaunch::check_limits`](super::SetLaunch::check_limits) has them.
pub(super) fn grid_steps(grid: [u32; 3], by: &[i64], rounds: u64) -> Result<[i64; 3], Diagnostic> {
    let mut steps = [0i64; 3];
    if by.is_empty() || by.len() > 3 {
        let message = format!("grid_step has {} numbers, not 1 to 3", by.len());
        return Err(Diagnostic::new(message));
    }
    for (to, from) in steps.iter_mut().zip(by) {
        *to = *from;
    }
    for ((axis, blocks), by) in ["x", "y", "z"].iter().zip(grid).zip(steps) {
        let is_bad = |round| axis_in_round(blocks, by, round).is_err();
        if let Some(round) = first_round(rounds, is_bad)
            && let Err(now) = axis_in_round(blocks, by, round)
        {
            let (round, most) = (round + 1, u32::MAX);
            let message =
                format!("the grid of round {round} has {now} blocks in {axis}, not 1 to {most}");
            return Err(Diagnostic::new(message));
        }
    }
    let blocks = |round| {
        let grid = grid_in_round(grid, steps, round).unwrap_or(grid);
        grid.iter().map(|&n| u128::from(n)).product::<u128>()
    };
    // If some axes grow and others shrink, the largest grid may be neither the first nor the last. The logarithm of the
    // product of positive linear functions is concave, so the number of blocks grows until one round and shrinks after it.
    let largest = first_round(rounds - 1, |round| blocks(round + 1) <= blocks(round));
    let largest = largest.unwrap_or(rounds - 1);
    let Some(round) = first_round(largest + 1, |round| blocks(round) > MAX_BLOCKS) else {
        return Ok(steps);
    };
    let (number, all) = (round + 1, blocks(round));
    Err(Diagnostic::new(format!(
        "the grid of round {number} has {all} elements, not 1 to {MAX_BLOCKS}"
    )))
}

/// Returns the grid of a round, counted from 0; `None` if an axis has no blocks.
pub(super) fn grid_in_round(grid: [u32; 3], by: [i64; 3], round: u64) -> Option<[u32; 3]> {
    let mut found = grid;
    for (blocks, by) in found.iter_mut().zip(by) {
        *blocks = axis_in_round(*blocks, by, round).ok()?;
    }
    Some(found)
}

/// Returns the blocks along an axis in a round, counted from 0; the error has a number that is none of blocks.
fn axis_in_round(blocks: u32, by: i64, round: u64) -> Result<u32, i128> {
    // In 128 bits, neither the product nor the sum overflows.
    let now = i128::from(blocks) + i128::from(by) * i128::from(round);
    let blocks = u32::try_from(now).ok().filter(|&blocks| blocks > 0);
    blocks.ok_or(now)
}

/// Returns the first of `rounds` rounds, counted from 0, at which something holds that holds at all later ones too; `None`
/// if it holds at none.
pub(super) fn first_round(rounds: u64, holds: impl Fn(u64) -> bool) -> Option<u64> {
    let (mut from, mut to) = (0, rounds);
    while from < to {
        let middle = from + (to - from) / 2;
        match holds(middle) {
            true => to = middle,
            false => from = middle + 1,
        }
    }
    (from < rounds).then_some(from)
}

#[cfg(test)]
mod tests {
    use super::{first_round, grid_steps};

    fn error(grid: [u32; 3], by: &[i64], rounds: u64) -> Option<String> {
        grid_steps(grid, by, rounds).err().map(|d| d.message)
    }

    #[test]
    fn the_largest_grid_may_be_in_the_middle() {
        // (4001 - n) x (1 + n) x 1000 blocks: 4001000 in the first and in the last round.
        let found = error([4001, 1, 1000], &[-1, 1], 4001).expect("too many blocks");
        let first = (0u64..).find(|n| (4001 - n) * (1 + n) * 1000 > 1 << 31);
        let number = first.expect("a round") + 1;
        assert!(found.contains(&format!("of round {number} has")), "{found}");
        assert_eq!(error([4001, 1, 100], &[-1, 1], 4001), None);
        assert_eq!(error([1, 1, 1], &[0, 0, 0], 1), None);
    }

    #[test]
    fn errors_have_round_and_axis() {
        let found = error([8, 8, 1], &[0, -3], 5).expect("no blocks");
        assert_eq!(
            found,
            "the grid of round 4 has -1 blocks in y, not 1 to 4294967295"
        );
    }

    #[test]
    fn first_rounds() {
        for (first, rounds) in [(0, 5), (1, 5), (4, 5), (5, 5), (0, 1), (1, 1), (0, 0)] {
            let found = first_round(rounds, |round| round >= first);
            assert_eq!(
                found,
                (first < rounds).then_some(first),
                "{first} of {rounds}"
            );
        }
    }
}
