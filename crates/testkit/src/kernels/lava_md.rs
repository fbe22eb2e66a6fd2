//! Reference of forces between particles in neighbouring boxes.

use warpbound_launch::LaunchFile;

use super::running_error::{Rounded, expected_contents};
use super::{Float, Row, TestLaunch};

const SINGLE: &str = "void lava::boxes<float>(lava::Four<float> const*, int const*, int const*, int const*, lava::Four<float>*, float)";
const DOUBLE: &str = "void lava::boxes<double>(lava::Four<double> const*, int const*, int const*, int const*, lava::Four<double>*, double)";

pub(super) const KERNELS: &[Row] = &[
    ("lava_md", SINGLE, |number| boxes::<f32>(number, SINGLE)),
    ("lava_md", DOUBLE, |number| boxes::<f64>(number, DOUBLE)),
];

fn boxes<F: Float>(number: u64, kernel: &str) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    // Number of boxes in each direction, and maximum number of particles of a box.
    let (sides, most) = match number {
        0 => ([1, 1, 1], 5),
        1 => ([2, 2, 1], 32),
        2 => ([3, 2, 2], 41),
        _ => ([(); 3].map(|()| rng.usize(1..3)), rng.usize(1..34)),
    };
    let count = sides.iter().product::<usize>();
    let box_corner = |number: usize| {
        [
            number % sides[0],
            number / sides[0] % sides[1],
            number / sides[0] / sides[1],
        ]
    };
    let (mut particles, mut starts) = (Vec::new(), vec![0i32]);
    for number in 0..count {
        // The first box is full; others may be empty.
        let inside = if number == 0 {
            most
        } else {
            rng.usize(0..=most)
        };
        for _ in 0..inside {
            let at = box_corner(number).map(|corner| F::from_f64(corner as f64 + rng.f64()));
            particles.push([at[0], at[1], at[2], F::from_f64(rng.f64() * 2.0 - 1.0)]);
        }
        starts.push(particles.len() as i32);
    }
    let (mut neighbours, mut neighbour_starts) = (Vec::new(), vec![0i32]);
    for a in 0..count {
        let is_near = |b: &usize| {
            let pairs = box_corner(a).into_iter().zip(box_corner(*b));
            pairs.into_iter().all(|(a, b)| a.abs_diff(b) <= 1)
        };
        neighbours.extend((0..count).filter(is_near).map(|b| b as i32));
        neighbour_starts.push(neighbours.len() as i32);
    }
    let falloff = F::from_f64(0.3 + rng.f64());
    let of_box = |number: usize| &particles[starts[number] as usize..starts[number + 1] as usize];
    let mut results = Vec::new();
    for number in 0..count {
        let entries = neighbour_starts[number] as usize..neighbour_starts[number + 1] as usize;
        for own in of_box(number) {
            let own = own.map(Rounded::of);
            // Three components of the force, and the potential.
            let mut sum = [(); 4].map(|()| Rounded::of(F::from_f64(0.0)));
            for &neighbour in &neighbours[entries.clone()] {
                for other in of_box(neighbour as usize) {
                    let other = other.map(Rounded::of);
                    let away = [0, 1, 2].map(|axis| own[axis] - other[axis]);
                    let square = away[0] * away[0] + away[1] * away[1] + away[2] * away[2];
                    let part = other[3] * (-Rounded::of(falloff) * square).exp();
                    let strength = Rounded::exact(2.0) * Rounded::of(falloff) * part;
                    for axis in 0..3 {
                        sum[axis] = sum[axis] + strength * away[axis];
                    }
                    sum[3] = sum[3] + part;
                }
            }
            results.extend(sum);
        }
    }
    let (end, may) = expected_contents::<F>(&results);
    let flat: Vec<F> = particles.into_iter().flatten().collect();
    let threads = most.max(3) as u32;
    TestLaunch::of(kernel, [count as u32, 1, 1], [threads, 1, 1])
        .input("particles", &flat)
        .input("starts", &starts)
        .input("neighbour_starts", &neighbour_starts)
        .input("neighbours", &neighbours)
        .output_within(
            "results",
            &vec![F::from_f64(0.0); flat.len()],
            &end,
            0.0,
            may,
        )
        .value("falloff", falloff)
        .finish()
}
