//! Reference of heat diffusion on a grid: steps of a five-point stencil; neighbours outside the grid have the
//! temperature of the border.

use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[("hotspot", "hotspot", hotspot)];

/// Ambient temperature.
const AIR: f64 = 80.0;

fn hotspot(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (width, height, steps) = match number {
        0 => (16, 16, 1),
        1 => (37, 21, 2),
        2 => (25, 50, 5),
        _ => (rng.usize(1..50), rng.usize(1..50), rng.usize(1..6)),
    };
    let mut field = |low: f32, high: f32| -> Vec<f32> {
        (0..width * height)
            .map(|_| low + rng.f32() * (high - low))
            .collect()
    };
    let (power, before) = (field(0.0, 1.0), field(40.0, 100.0));
    let [capacity, across, down, ambient] = [0.5f32, 0.1, 0.2, 0.03];
    let mut heat: Vec<f64> = before.iter().map(|&h| h.into()).collect();
    for _ in 0..steps {
        let old = heat.clone();
        for (at, new) in heat.iter_mut().enumerate() {
            let (x, y) = (at % width, at / width);
            let here = old[at];
            let of = |x: usize, y: usize| old[y.min(height - 1) * width + x.min(width - 1)];
            let vertical = of(x, y.saturating_sub(1)) + of(x, y + 1) - 2.0 * here;
            let horizontal = of(x.saturating_sub(1), y) + of(x + 1, y) - 2.0 * here;
            *new = here
                + f64::from(capacity)
                    * (f64::from(power[at])
                        + vertical * f64::from(down)
                        + horizontal * f64::from(across)
                        + (AIR - here) * f64::from(ambient));
        }
    }
    let after: Vec<f32> = heat.iter().map(|&h| h as f32).collect();
    // Each step is a weighted mean of temperatures below 110 (the weights of a cell and its neighbours are positive),
    // so errors do not grow; it adds at most twelve roundings of numbers below 400.
    let error = steps as f64 * 12.0 * 400.0 * f64::from(f32::EPSILON) / 2.0;
    let inner = 16 - 2 * steps;
    let blocks = |size: usize| size.div_ceil(inner) as u32;
    TestLaunch::of("hotspot", [blocks(width), blocks(height), 1], [16, 16, 1])
        .input("power", &power)
        .input("before", &before)
        .output_within("after", &vec![0.0; after.len()], &after, 0.0, error)
        .value("width", width as i32)
        .value("height", height as i32)
        .value("steps", steps as i32)
        .value("capacity", capacity)
        .value("across", across)
        .value("down", down)
        .value("ambient", ambient)
        .finish()
}
