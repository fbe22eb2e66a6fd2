//! Reference of tiled products of square matrices.

use warpbound_launch::LaunchFile;

use super::rounding::{ErrorSum, Float, rounded, signed};
use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    (
        "matmul_tiled",
        "void product::tiled<double, 8, false>(double const*, double const*, double*, int)",
        |number| tiled::<f64>(number, 8, false),
    ),
    (
        "matmul_tiled",
        "void product::tiled<int, 8, false>(int const*, int const*, int*, int)",
        of_integers,
    ),
    (
        "matmul_tiled",
        "void product::tiled<float, 16, false>(float const*, float const*, float*, int)",
        |number| tiled::<f32>(number, 16, false),
    ),
    (
        "matmul_tiled",
        "void product::tiled<float, 16, true>(float const*, float const*, float*, int)",
        |number| tiled::<f32>(number, 16, true),
    ),
    ("matmul_tiled", "matmul_any_width", any_width),
];

/// Number of tiles in each direction.
fn tiles(number: u64) -> usize {
    match number {
        0 => 1,
        1 => 3,
        2 => 2,
        _ => 1 + number as usize % 3,
    }
}

fn tiled<F: Float>(number: u64, tile: usize, is_unrolled: bool) -> LaunchFile {
    let tiles = tiles(number);
    let blocks = [tiles as u32, tiles as u32, 1];
    let name = F::NAME;
    let kernel = format!(
        "void product::tiled<{name}, {tile}, {is_unrolled}>({name} const*, {name} const*, {name}*, int)"
    );
    let launch = TestLaunch::of(&kernel, blocks, [tile as u32, tile as u32, 1]);
    product::<F>(launch, number, tiles * tile)
        .value("tiles", tiles as i32)
        .finish()
}

fn any_width(number: u64) -> LaunchFile {
    let width = match number {
        0 => 16,
        1 => 37,
        2 => 1,
        _ => 1 + (number as usize * 7) % 45,
    };
    let blocks = width.div_ceil(16) as u32;
    let launch = TestLaunch::of("matmul_any_width", [blocks, blocks, 1], [16, 16, 1]);
    product::<f32>(launch, number, width)
        .value("width", width as i32)
        .finish()
}

fn product<F: Float>(launch: TestLaunch, number: u64, width: usize) -> TestLaunch {
    let mut rng = fastrand::Rng::with_seed(number);
    let a: Vec<F> = signed(&mut rng, width * width);
    let b: Vec<F> = signed(&mut rng, width * width);
    let c: Vec<ErrorSum> = (0..width * width)
        .map(|at| {
            let (row, column) = (at / width, at % width);
            ErrorSum::of(
                (0..width).map(|k| a[row * width + k].to_f64() * b[k * width + column].to_f64()),
            )
        })
        .collect();
    let (c, error) = rounded::<F>(&c);
    launch.input("a", &a).input("b", &b).output_within(
        "c",
        &vec![F::from_f64(0.0); c.len()],
        &c,
        0.0,
        error,
    )
}

fn of_integers(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let tiles = tiles(number);
    let width = 8 * tiles;
    let mut matrix = || -> Vec<i32> { (0..width * width).map(|_| rng.i32(..)).collect() };
    let (a, b) = (matrix(), matrix());
    let c: Vec<i32> = (0..width * width)
        .map(|at| {
            let terms = (0..width).map(|k| {
                i64::from(a[at / width * width + k]) * i64::from(b[k * width + at % width])
            });
            terms.fold(0i64, i64::wrapping_add) as i32
        })
        .collect();
    TestLaunch::of(
        "void product::tiled<int, 8, false>(int const*, int const*, int*, int)",
        [tiles as u32, tiles as u32, 1],
        [8, 8, 1],
    )
    .input("a", &a)
    .input("b", &b)
    .output("c", &vec![0; c.len()], &c)
    .value("tiles", tiles as i32)
    .finish()
}
