//! Reference of the product of a sparse matrix and a vector.

use warpbound_launch::LaunchFile;

use super::rounding::{ErrorSum, Float, rounded, signed};
use super::{Row, TestLaunch};

const WARP_PER_ROW: &str =
    "sparse::warp_per_row(int const*, int const*, float const*, float const*, float*, int)";

pub(super) const KERNELS: &[Row] = &[
    ("spmv", WARP_PER_ROW, |number| {
        product::<f32>(WARP_PER_ROW, number, 32)
    }),
    (
        "spmv",
        "void sparse::thread_per_row<double>(int const*, int const*, double const*, double const*, double*, int)",
        thread_per_row::<f64>,
    ),
    (
        "spmv",
        "void sparse::thread_per_row<float>(int const*, int const*, float const*, float const*, float*, int)",
        thread_per_row::<f32>,
    ),
];

fn thread_per_row<F: Float>(number: u64) -> LaunchFile {
    let name = F::NAME;
    let kernel = format!(
        "void sparse::thread_per_row<{name}>(int const*, int const*, {name} const*, {name} const*, {name}*, int)"
    );
    product::<F>(&kernel, number, 1)
}

fn product<F: Float>(kernel: &str, number: u64, threads_per_row: usize) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (rows, columns, longest, block) = match number {
        0 => (64, 64, 8, 64),
        1 => (101, 70, 90, 128),
        2 => (1, 300, 200, 32),
        _ => (
            rng.usize(1..150),
            rng.usize(1..200),
            rng.usize(1..80),
            32 * rng.usize(1..5),
        ),
    };
    let (mut starts, mut at) = (vec![0], Vec::new());
    for _ in 0..rows {
        // Some rows are empty.
        let length = rng.usize(0..=longest);
        at.extend((0..length).map(|_| rng.i32(0..columns as i32)));
        starts.push(at.len() as i32);
    }
    at.push(0);
    let values: Vec<F> = signed(&mut rng, at.len());
    let x: Vec<F> = signed(&mut rng, columns);
    let y: Vec<ErrorSum> = starts
        .windows(2)
        .map(|ends| {
            let terms = ends[0] as usize..ends[1] as usize;
            ErrorSum::of(terms.map(|term| values[term].to_f64() * x[at[term] as usize].to_f64()))
        })
        .collect();
    let (y, error) = rounded::<F>(&y);
    let blocks = (rows * threads_per_row).div_ceil(block) as u32;
    TestLaunch::of(kernel, [blocks, 1, 1], [block as u32, 1, 1])
        .input("starts", &starts)
        .input("columns", &at)
        .input("values", &values)
        .input("x", &x)
        .output_within("y", &vec![F::from_f64(0.0); rows], &y, 0.0, error)
        .value("rows", rows as i32)
        .finish()
}
