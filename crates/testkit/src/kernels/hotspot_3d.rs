//! Reference of heat diffusion in a stack of layers.

use warpbound_launch::LaunchFile;

use super::running_error::{Rounded, expected_contents};
use super::{Float, Row, TestLaunch};

const SINGLE: &str = "void hotspot_3d<float>(float const*, float const*, float*, int, int, int, float, float, float, float, float, float)";
const DOUBLE: &str = "void hotspot_3d<double>(double const*, double const*, double*, int, int, int, double, double, double, double, double, double)";

pub(super) const KERNELS: &[Row] = &[
    ("hotspot_3d", SINGLE, |number| step::<f32>(number, SINGLE)),
    ("hotspot_3d", DOUBLE, |number| step::<f64>(number, DOUBLE)),
];

fn step<F: Float>(number: u64, kernel: &str) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (width, height, depth) = match number {
        0 => (16, 8, 4),
        1 => (1, 1, 3),
        2 => (37, 19, 5),
        _ => (rng.usize(1..40), rng.usize(1..24), rng.usize(1..6)),
    };
    let count = width * height * depth;
    let mut floats = |count: usize, least: f64, most: f64| -> Vec<F> {
        (0..count)
            .map(|_| F::from_f64(least + (most - least) * rng.f64()))
            .collect()
    };
    let power = floats(count, 0.0, 5.0);
    let before = floats(count, 300.0, 350.0);
    // Factors of the cell, of its neighbours in the three directions, of its power and of the ambient temperature.
    let factors = floats(6, 0.05, 0.3);
    let [centre, across, along, upright, heating, leak] =
        std::array::from_fn(|at| Rounded::of(factors[at]));
    // A neighbour outside the grid is the cell itself at that side.
    let cell = |x: usize, y: usize, z: usize, dx: i64, dy: i64, dz: i64| {
        let moved =
            |at: usize, by: i64, size: usize| (at as i64 + by).clamp(0, size as i64 - 1) as usize;
        let (x, y, z) = (
            moved(x, dx, width),
            moved(y, dy, height),
            moved(z, dz, depth),
        );
        Rounded::of(before[(z * height + y) * width + x])
    };
    let after: Vec<Rounded> = (0..count)
        .map(|at| {
            let (x, y, z) = (at % width, at / width % height, at / width / height);
            let near = |dx, dy, dz| cell(x, y, z, dx, dy, dz);
            centre * near(0, 0, 0)
                + across * (near(-1, 0, 0) + near(1, 0, 0))
                + along * (near(0, -1, 0) + near(0, 1, 0))
                + upright * (near(0, 0, -1) + near(0, 0, 1))
                + heating * Rounded::of(power[at])
                + leak
        })
        .collect();
    let (end, may) = expected_contents::<F>(&after);
    let grid = [width.div_ceil(16) as u32, height.div_ceil(8) as u32, 1];
    let mut launch = TestLaunch::of(kernel, grid, [16, 8, 1])
        .input("power", &power)
        .input("before", &before)
        .output_within("after", &vec![F::from_f64(0.0); count], &end, 0.0, may)
        .value("width", width as i32)
        .value("height", height as i32)
        .value("depth", depth as i32);
    let names = ["centre", "across", "along", "upright", "heating", "leak"];
    for (name, &factor) in names.iter().zip(&factors) {
        launch = launch.value(name, factor);
    }
    launch.finish()
}
