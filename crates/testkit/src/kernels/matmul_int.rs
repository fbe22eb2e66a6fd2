//! Reference of products of square integer matrices in one block.

use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("matmul_int", "matmul_int", any_size),
    (
        "matmul_int",
        "void matmul_int_fixed<11>(int const*, int const*, int*)",
        |number| of_size(number, 11, false),
    ),
    (
        "matmul_int",
        "void matmul_int_fixed<8>(int const*, int const*, int*)",
        |number| of_size(number, 8, false),
    ),
    (
        "matmul_int",
        "void matmul_int_fixed<4>(int const*, int const*, int*)",
        |number| of_size(number, 4, false),
    ),
];

fn any_size(number: u64) -> LaunchFile {
    let sizes = [4, 8, 11];
    let n = match sizes.get(number as usize) {
        Some(&n) => n,
        None => 1 + number as usize % 11,
    };
    of_size(number, n, true)
}

fn of_size(number: u64, n: usize, is_param: bool) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let mut matrix = || -> Vec<i32> { (0..n * n).map(|_| rng.i32(..)).collect() };
    let (a, b) = (matrix(), matrix());
    let element = |row: usize, column: usize| {
        (0..n).fold(0i32, |sum, k| {
            sum.wrapping_add(a[row * n + k].wrapping_mul(b[k * n + column]))
        })
    };
    let product: Vec<i32> = (0..n * n).map(|at| element(at / n, at % n)).collect();
    let kernel = match is_param {
        true => "matmul_int".to_owned(),
        false => format!("void matmul_int_fixed<{n}>(int const*, int const*, int*)"),
    };
    let launch = TestLaunch::of(&kernel, [1; 3], [n as u32, n as u32, 1])
        .input("a", &a)
        .input("b", &b)
        .output("product", &vec![0; n * n], &product);
    match is_param {
        true => launch.value("n", n as i32).finish(),
        false => launch.finish(),
    }
}
