//! Tracking of a bright disc in images with particles.

use warpbound_base::Diagnostic;

use super::super::TestLaunch;
use super::{HostDevice, HostProgram, check_equal, groups, input};

pub(super) const PARTICLEFILTER: HostProgram = HostProgram {
    name: "particlefilter",
    source: "particle_filter_program",
    inputs: [
        input("16x16 matrix", 16),
        input("64x64 matrix", 64),
        input("512x512 matrix", 512),
    ],
    choices: "1000 particles, 10 frames, a disc of radius 5; groups of 128, sums one group of 1024",
    run: track,
};

const PARTICLES: usize = 1000;
const GROUP: usize = 128;
const DRIFT: f32 = 0.5;

/// Particles of a frame: places, and states of the generators of noise.
struct Swarm {
    xs: Vec<f32>,
    ys: Vec<f32>,
    states: Vec<u32>,
}

fn launch(kernel: &str) -> TestLaunch {
    TestLaunch::of(kernel, groups(PARTICLES, GROUP), [GROUP as u32, 1, 1])
}

fn track(side: usize, device: &mut HostDevice<'_>) -> Result<(), Diagnostic> {
    let mut rng = fastrand::Rng::with_seed(14);
    let (mut x, mut y) = (side as f32 * 0.4, side as f32 * 0.7);
    let mut swarm = Swarm {
        xs: vec![x; PARTICLES],
        ys: vec![y; PARTICLES],
        states: (0..PARTICLES).map(|_| rng.u32(..)).collect(),
    };
    for _ in 0..10 {
        (x, y) = (x + DRIFT, y - 2.0 * DRIFT);
        let image: Vec<u8> = (0..side * side)
            .map(|at| {
                let (dx, dy) = ((at % side) as f32 - x, (at / side) as f32 - y);
                let light = if dx * dx + dy * dy <= 25.0 { 180 } else { 50 };
                light + rng.u8(0..20)
            })
            .collect();
        swarm.step(device, &image, side)?;
    }
    Ok(())
}

impl Swarm {
    /// Executes the launches of a frame.
    fn step(
        &mut self,
        device: &mut HostDevice<'_>,
        image: &[u8],
        side: usize,
    ) -> Result<(), Diagnostic> {
        let end = device.launch(
            launch("particle_move")
                .scratch("xs", &self.xs)
                .scratch("ys", &self.ys)
                .scratch("states", &self.states)
                .value("particles", PARTICLES as i32)
                .value("drift", DRIFT)
                .value("spread", 4.0f32),
        )?;
        let (xs, ys): (Vec<f32>, Vec<f32>) = (end.read("xs")?, end.read("ys")?);
        self.states = end.read("states")?;
        let end = device.launch(
            launch("particle_likelihood")
                .input("image", image)
                .input("xs", &xs)
                .input("ys", &ys)
                .scratch("weights", &vec![0f32; PARTICLES])
                .value("particles", PARTICLES as i32)
                .value("width", side as i32)
                .value("height", side as i32)
                .value("radius", 5)
                .value("dark", 60f32)
                .value("bright", 190f32)
                .value("variance", 3000f32),
        )?;
        let weights: Vec<f32> = end.read("weights")?;
        let sums = running_sums(device, &weights)?;
        let end = device.launch(
            launch("particle_normalize")
                .scratch("weights", &weights)
                .input("sums", &sums)
                .value("particles", PARTICLES as i32),
        )?;
        let sums = running_sums(device, &end.read("weights")?)?;
        let spacing = 1.0 / PARTICLES as f32;
        let (first, nothing) = (spacing / 2.0, vec![0f32; PARTICLES]);
        let end = device.launch(
            launch("particle_resample")
                .input("sums", &sums)
                .input("xs", &xs)
                .input("ys", &ys)
                .scratch("new_xs", &nothing)
                .scratch("new_ys", &nothing)
                .scratch("parents", &vec![-1; PARTICLES])
                .value("particles", PARTICLES as i32)
                .value("first", first)
                .value("spacing", spacing),
        )?;
        (self.xs, self.ys) = (end.read("new_xs")?, end.read("new_ys")?);
        let parents: Vec<i32> = end.read("parents")?;
        let is_parent = |(particle, &parent): (usize, &i32)| {
            // Rounding of the mark may decide between neighbours.
            let mark = f64::from(first) + particle as f64 * f64::from(spacing);
            let sum = |at: i32| {
                usize::try_from(at)
                    .ok()
                    .and_then(|at| sums.get(at))
                    .copied()
            };
            let below = f64::from(sum(parent - 1).unwrap_or(0.0));
            let above = sum(parent).map_or(f64::NAN, f64::from);
            let is_last = parent as usize == PARTICLES - 1;
            below <= mark + 1e-5 && (above >= mark - 1e-5 || is_last)
        };
        let right = parents
            .iter()
            .enumerate()
            .filter(|&at| is_parent(at))
            .count();
        check_equal("right parents", &[right], &[PARTICLES])?;
        for (new, old) in [(&self.xs, &xs), (&self.ys, &ys)] {
            let copies: Vec<f32> = parents.iter().map(|&parent| old[parent as usize]).collect();
            check_equal("copies", new, &copies)?;
        }
        Ok(())
    }
}

/// Running sums of the weights by the one large group.
fn running_sums(device: &mut HostDevice<'_>, weights: &[f32]) -> Result<Vec<f32>, Diagnostic> {
    let end = device.launch(
        TestLaunch::of("particle_scan", [1; 3], [1024, 1, 1])
            .input("weights", weights)
            .scratch("sums", &vec![0f32; PARTICLES])
            .value("particles", PARTICLES as i32),
    )?;
    let sums: Vec<f32> = end.read("sums")?;
    let mut sum = 0.0;
    let expected: Vec<f64> = weights
        .iter()
        .map(|&weight| {
            sum += f64::from(weight);
            sum
        })
        .collect();
    super::check_near("sums", &sums, &expected, 1e-5 * sum.max(1.0))?;
    Ok(sums)
}
