//! Reference of tiles of one anti-diagonal of an alignment table (Needleman and Wunsch 1970).

use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[("needleman_wunsch", "needleman_wunsch", tiles)];

const SIDE: usize = 16;

fn tiles(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    // Number of tiles in each direction, the anti-diagonal, its first tile, and the number of tiles.
    let (wide, high, diagonal, first, count) = match number {
        0 => (1, 1, 0, 0, 1),
        1 => (3, 3, 2, 0, 3),
        2 => (4, 3, 4, 2, 2),
        _ => {
            let (wide, high) = (rng.usize(1..5), rng.usize(1..5));
            let diagonal = rng.usize(0..wide + high - 1);
            let (low, end) = ((diagonal + 1).saturating_sub(high), wide.min(diagonal + 1));
            let first = rng.usize(low..end);
            (wide, high, diagonal, first, rng.usize(1..=end - first))
        }
    };
    let (columns, rows) = (wide * SIDE + 1, high * SIDE + 1);
    let penalty = rng.i32(1..12);
    let similarity: Vec<i32> = (0..columns * rows).map(|_| rng.i32(-5..6)).collect();
    let mut full = vec![0i32; columns * rows];
    for at in 0..columns * rows {
        let (x, y) = (at % columns, at / columns);
        full[at] = match (x, y) {
            (0, _) => -penalty * y as i32,
            (_, 0) => -penalty * x as i32,
            _ => (full[at - columns - 1] + similarity[at])
                .max(full[at - 1] - penalty)
                .max(full[at - columns] - penalty),
        };
    }
    // At the start, borders and tiles of previous diagonals are computed. At the end the tiles of the launch are,
    // too.
    let of = |is_there: &dyn Fn(usize, usize) -> bool| -> Vec<i32> {
        (0..columns * rows)
            .map(|at| match (at % columns, at / columns) {
                (0, _) | (_, 0) => full[at],
                (x, y) if is_there((x - 1) / SIDE, (y - 1) / SIDE) => full[at],
                _ => 0,
            })
            .collect()
    };
    let start = of(&|x, y| x + y < diagonal);
    let end =
        of(&|x, y| x + y < diagonal || x + y == diagonal && (first..first + count).contains(&x));
    TestLaunch::of(
        "needleman_wunsch",
        [count as u32, 1, 1],
        [SIDE as u32, 1, 1],
    )
    .input("similarity", &similarity)
    .output("scores", &start, &end)
    .value("columns", columns as i32)
    .value("penalty", penalty)
    .value("diagonal", diagonal as i32)
    .value("first_tile", first as i32)
    .finish()
}
