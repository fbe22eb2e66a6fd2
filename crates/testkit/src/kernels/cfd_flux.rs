//! Reference of fluxes of the compressible Euler equations on an unstructured mesh.

use warpbound_launch::LaunchFile;

use super::running_error::{Rounded, expected_contents};
use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("cfd_flux", "cfd_step_factor", step_factor),
    ("cfd_flux", "cfd_flux", flux),
    ("cfd_flux", "cfd_advance", advance),
];

/// Number of variables of a cell: density, momentum in three directions, energy.
const VARIABLES: usize = 5;
const FACES: usize = 4;

/// Ratio of specific heats, as the kernel's single.
const GAMMA: f32 = 1.4;

fn cells(number: u64, rng: &mut fastrand::Rng) -> usize {
    match number {
        0 => 1,
        1 => 64,
        2 => 301,
        _ => rng.usize(1..400),
    }
}

fn launch(kernel: &str, cells: usize) -> TestLaunch {
    TestLaunch::of(kernel, [cells.div_ceil(64) as u32, 1, 1], [64, 1, 1])
}

/// Draws a state whose pressure is far from zero.
fn state(rng: &mut fastrand::Rng) -> [f32; VARIABLES] {
    let density = 0.5 + rng.f32();
    let [x, y, z] = [(); 3].map(|()| rng.f32() * 2.0 - 1.0);
    let moving = 0.5 * (x * x + y * y + z * z) / density;
    [density, x, y, z, moving + 1.0 + 2.0 * rng.f32()]
}

/// Returns states in the kernel's layout: one array for each variable.
fn by_variable(states: &[[f32; VARIABLES]]) -> Vec<f32> {
    (0..VARIABLES)
        .flat_map(|variable| states.iter().map(move |state| state[variable]))
        .collect()
}

/// A state with its derived quantities.
struct Fluid {
    variables: [Rounded; VARIABLES],
    pressure: Rounded,
    sound: Rounded,
}

impl Fluid {
    fn of(state: &[f32; VARIABLES]) -> Fluid {
        let variables = state.map(Rounded::of);
        let [density, x, y, z, energy] = variables;
        let moving = Rounded::of(0.5f32) * (x * x + y * y + z * z) / density;
        let pressure = Rounded::of(GAMMA - 1.0) * (energy - moving);
        Fluid {
            variables,
            pressure,
            sound: (Rounded::of(GAMMA) * pressure / density).sqrt(),
        }
    }

    /// Volume flow through a face.
    fn through(&self, normal: &[Rounded; 3]) -> Rounded {
        let [density, x, y, z, _] = self.variables;
        (x * normal[0] + y * normal[1] + z * normal[2]) / density
    }

    /// Flux through a face: transport of the variables, pressure on the face, work of the pressure.
    fn flux(&self, normal: &[Rounded; 3]) -> [Rounded; VARIABLES] {
        let volume = self.through(normal);
        let mut flux = self.variables.map(|variable| variable * volume);
        for (axis, part) in normal.iter().enumerate() {
            flux[1 + axis] = flux[1 + axis] + self.pressure * *part;
        }
        flux[4] = flux[4] + self.pressure * volume;
        flux
    }
}

fn step_factor(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let cells = cells(number, &mut rng);
    let states: Vec<[f32; VARIABLES]> = (0..cells).map(|_| state(&mut rng)).collect();
    let areas: Vec<f32> = (0..cells).map(|_| 0.1 + rng.f32()).collect();
    let factor = |(state, &area): (&[f32; VARIABLES], &f32)| {
        let fluid = Fluid::of(state);
        let [density, x, y, z, _] = fluid.variables;
        let speed = (x * x + y * y + z * z).sqrt() / density;
        Rounded::of(0.5f32) / (Rounded::of(area).sqrt() * (speed + fluid.sound))
    };
    let factors: Vec<Rounded> = states.iter().zip(&areas).map(factor).collect();
    let (end, may) = expected_contents(&factors);
    launch("cfd_step_factor", cells)
        .input("variables", &by_variable(&states))
        .input("areas", &areas)
        .output_within("factors", &vec![0f32; cells], &end, 0.0, may)
        .value("cells", cells as i32)
        .finish()
}

fn flux(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let cells = cells(number, &mut rng);
    let states: Vec<[f32; VARIABLES]> = (0..cells).map(|_| state(&mut rng)).collect();
    let far = state(&mut rng);
    let neighbours: Vec<[i32; FACES]> = (0..cells)
        .map(|_| [(); FACES].map(|()| rng.i32(-2..cells as i32)))
        .collect();
    let normals: Vec<[[f32; 3]; FACES]> = (0..cells)
        .map(|_| [(); FACES].map(|()| [(); 3].map(|()| rng.f32() - 0.5)))
        .collect();
    let half = Rounded::of(0.5f32);
    let all: Vec<[Rounded; VARIABLES]> = (0..cells)
        .map(|cell| {
            let here = Fluid::of(&states[cell]);
            let mut sum = [Rounded::of(0.0f32); VARIABLES];
            for face in 0..FACES {
                let normal = normals[cell][face].map(Rounded::of);
                let other = match neighbours[cell][face] {
                    -1 => {
                        // Nothing flows through a wall.
                        for axis in 0..3 {
                            sum[1 + axis] = sum[1 + axis] + here.pressure * normal[axis];
                        }
                        continue;
                    }
                    -2 => Fluid::of(&far),
                    neighbour => Fluid::of(&states[neighbour as usize]),
                };
                let squares = normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2];
                let area = squares.sqrt();
                let wave = |fluid: &Fluid| fluid.through(&normal).abs() + area * fluid.sound;
                let fastest = wave(&here).max(wave(&other));
                let sides = here.flux(&normal).into_iter().zip(other.flux(&normal));
                for (variable, (a, b)) in sides.enumerate() {
                    let jump = other.variables[variable] - here.variables[variable];
                    sum[variable] = sum[variable] + half * (a + b - fastest * jump);
                }
            }
            sum
        })
        .collect();
    let fluxes: Vec<Rounded> = (0..VARIABLES)
        .flat_map(|variable| all.iter().map(move |sum| sum[variable]))
        .collect();
    // The kernel adds the terms of a momentum in another order (both pressures first) and adds energy and pressure
    // before multiplying: the same number of steps on numbers of the same size, up to the factor.
    let (end, may) = expected_contents(&fluxes);
    let by_face = |part: &dyn Fn(usize, usize) -> f32| -> Vec<f32> {
        (0..FACES * 3)
            .flat_map(|row| (0..cells).map(move |cell| (row, cell)))
            .map(|(row, cell)| part(row, cell))
            .collect()
    };
    let flat_normals = by_face(&|row, cell| normals[cell][row / 3][row % 3]);
    let flat_neighbours: Vec<i32> = (0..FACES)
        .flat_map(|face| neighbours.iter().map(move |all| all[face]))
        .collect();
    launch("cfd_flux", cells)
        .input("variables", &by_variable(&states))
        .input("neighbours", &flat_neighbours)
        .input("normals", &flat_normals)
        .input("far", &far)
        .output_within(
            "fluxes",
            &vec![0f32; VARIABLES * cells],
            &end,
            0.0,
            2.0 * may,
        )
        .value("cells", cells as i32)
        .finish()
}

fn advance(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let cells = cells(number, &mut rng);
    let start: Vec<f32> = (0..VARIABLES * cells).map(|_| rng.f32()).collect();
    let fluxes: Vec<f32> = (0..VARIABLES * cells).map(|_| rng.f32() - 0.5).collect();
    let factors: Vec<f32> = (0..cells).map(|_| rng.f32()).collect();
    let after: Vec<Rounded> = (0..VARIABLES * cells)
        .map(|at| {
            let change = Rounded::of(factors[at % cells]) * Rounded::of(fluxes[at]);
            Rounded::of(start[at]) - change
        })
        .collect();
    let (end, may) = expected_contents(&after);
    launch("cfd_advance", cells)
        .output_within("variables", &start, &end, 0.0, may)
        .input("fluxes", &fluxes)
        .input("factors", &factors)
        .value("cells", cells as i32)
        .finish()
}
