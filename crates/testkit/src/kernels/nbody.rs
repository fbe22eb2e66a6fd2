//! Reference of one time step of an n-body simulation.

use warpbound_launch::LaunchFile;

use super::rounding::{ErrorSum, signed};
use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[(
    "nbody",
    "nbody::advance(float4 const*, float4*, float4*, int, float, float)",
    |number| {
        advance(
            "nbody::advance(float4 const*, float4*, float4*, int, float, float)",
            number,
        )
    },
)];

/// Number of bodies of a tile.
const TILE: usize = 64;

/// Returns a launch of a kernel that moves the bodies one time step.
pub(super) fn advance(kernel: &str, number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let tiles = match number {
        0 => 1,
        1 => 3,
        2 => 2,
        _ => rng.usize(1..4),
    };
    let count = TILE * tiles;
    let (dt, softening) = (0.01f32, 0.05f32);
    let mut before: Vec<f32> = signed(&mut rng, 4 * count);
    // The fourth number is the mass.
    for mass in before.iter_mut().skip(3).step_by(4) {
        *mass = mass.abs() / count as f32;
    }
    let velocity: Vec<f32> = signed(&mut rng, 4 * count);
    let (mut after, mut faster) = (before.clone(), velocity.clone());
    let mut error = 0.0f64;
    for body in 0..count {
        let mut pull = [ErrorSum::default(); 3];
        for other in 0..count {
            let delta = [0, 1, 2].map(|axis| {
                f64::from(before[4 * other + axis]) - f64::from(before[4 * body + axis])
            });
            let square: f64 = delta.iter().map(|d| d * d).sum::<f64>() + f64::from(softening);
            let strength = f64::from(before[4 * other + 3]) / square.powf(1.5);
            for (sum, delta) in pull.iter_mut().zip(delta) {
                sum.add(delta * strength);
            }
        }
        for (axis, sum) in pull.iter().enumerate() {
            let at = 4 * body + axis;
            let speed = f64::from(velocity[at]) + sum.value * f64::from(dt);
            faster[at] = speed as f32;
            after[at] = (f64::from(before[at]) + speed * f64::from(dt)) as f32;
            // Each term has up to 32 more roundings; the reciprocal square root counts as 4 (2^-22), to the third
            // power.
            let more = 1.0 + 32.0 / count as f64;
            error = error.max(f64::from(dt) * sum.error::<f32>() * more);
        }
    }
    // Velocity and position, below 2, are rounded twice.
    let error = error + 4.0 * 2.0 * f64::from(f32::EPSILON) / 2.0;
    TestLaunch::of(kernel, [tiles as u32, 1, 1], [TILE as u32, 1, 1])
        .input("before", &before)
        .output_within("after", &vec![0.0; after.len()], &after, 0.0, error)
        .output_within("velocity", &velocity, &faster, 0.0, error)
        .value("count", count as i32)
        .value("dt", dt)
        .value("softening", softening)
        .finish()
}
