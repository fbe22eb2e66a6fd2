//! Reference of accesses to module variables.

use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[("module_variables", "module_variables", launch)];

fn launch(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let n = [1, 64, 77].get(number as usize).copied();
    let n = n.unwrap_or_else(|| rng.usize(1..300));
    let values: Vec<i32> = (0..n).map(|_| rng.i32(..)).collect();
    let offsets: Vec<i16> = (0..32).map(|_| rng.i16(..)).collect();
    let counter = rng.u32(..);
    // The initial values of the source, or others set by the launch.
    let table: [i32; 8] = match number % 2 {
        0 => [3, 1, 4, 1, 5, 9, 2, 6],
        _ => std::array::from_fn(|_| rng.i32(..)),
    };
    let results: Vec<i32> = values
        .iter()
        .map(|&value| {
            let offset = offsets[value.rem_euclid(32) as usize];
            let factor = table[value.rem_euclid(8) as usize];
            value.wrapping_mul(factor).wrapping_add(offset.into())
        })
        .collect();
    let odd = values.iter().filter(|value| *value % 2 != 0).count() as u32;
    let counted = counter.wrapping_add(2 * odd);
    let launch = TestLaunch::of(
        "module_variables",
        [n.div_ceil(64) as u32, 1, 1],
        [64, 1, 1],
    )
    .input("in", &values)
    .output("out", &vec![0; n], &results)
    .value("n", n as i32)
    .variable("offsets", &offsets, None)
    .variable("counter", &[counter], Some(&[counted]));
    match number % 2 {
        0 => launch.finish(),
        _ => launch.variable("table", &table, Some(&table)).finish(),
    }
}
