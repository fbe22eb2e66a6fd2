//! Reference of prefix sums.

use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[("prefix_scan", "prefix_scan", launch)];

fn launch(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let n = [64, 2, 1024].get(number as usize).copied();
    let n = n.unwrap_or_else(|| 1 << rng.usize(1..9));
    let values: Vec<i32> = (0..n).map(|_| rng.i32(..)).collect();
    let sums: Vec<i32> = values
        .iter()
        .scan(0i32, |sum, value| {
            let before = *sum;
            *sum = sum.wrapping_add(*value);
            Some(before)
        })
        .collect();
    TestLaunch::of("prefix_scan", [1; 3], [n as u32 / 2, 1, 1])
        .input("in", &values)
        .output("out", &vec![0; n], &sums)
        .value("n", n as i32)
        .finish()
}
