//! References of the kernels that complete programs. `kernels/cuda` has the other parts of these programs.

use warpbound_launch::LaunchFile;

use super::super::rounding::{ErrorSum, rounded, signed};
use super::super::running_error::{Rounded, expected_contents};
use super::super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("cfd_program", "cfd_initialize", cfd_initialize),
    ("hybrid_sort_program", "bucket_starts", bucket_starts),
    ("particle_filter_program", "particle_move", particle_move),
    (
        "particle_filter_program",
        "particle_normalize",
        particle_normalize,
    ),
    ("srad_program", "srad_compress", |number| {
        srad_stored("srad_compress", number)
    }),
    ("srad_program", "srad_extract", |number| {
        srad_stored("srad_extract", number)
    }),
    ("srad_program", "srad_sums", srad_sums),
    ("srad_program", "srad_update", srad_update),
];

/// Buckets of the sort.
const BUCKETS: usize = 16;

/// Draws numbers of elements and of work-items of a group.
fn size(number: u64, rng: &mut fastrand::Rng) -> (usize, usize) {
    match number {
        0 => (64, 64),
        1 => (333, 100),
        2 => (1, 256),
        _ => (rng.usize(1..900), rng.usize(1..257)),
    }
}

fn launch(kernel: &str, count: usize, items: usize) -> TestLaunch {
    let groups = count.div_ceil(items) as u32;
    TestLaunch::of(kernel, [groups, 1, 1], [items as u32, 1, 1])
}

fn cfd_initialize(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (cells, items) = size(number, &mut rng);
    let far: Vec<f32> = signed(&mut rng, 5);
    let end: Vec<f32> = far.iter().flat_map(|&x| vec![x; cells]).collect();
    launch("cfd_initialize", cells, items)
        .output("variables", &vec![0.0; end.len()], &end)
        .input("far", &far)
        .value("cells", cells as i32)
        .finish()
}

fn bucket_starts(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let groups = match number {
        0 => 1,
        _ => rng.usize(1..20),
    };
    let counts: Vec<u32> = (0..groups * BUCKETS).map(|_| rng.u32(0..50)).collect();
    let mut at = 0;
    let mut starts = Vec::new();
    for bucket in 0..BUCKETS {
        for group in 0..groups {
            starts.push(at);
            at += counts[group * BUCKETS + bucket];
        }
    }
    TestLaunch::of("bucket_starts", [1; 3], [BUCKETS as u32, 1, 1])
        .input("counts", &counts)
        .output("starts", &vec![0; starts.len()], &starts)
        .value("groups", groups as i32)
        .finish()
}

fn particle_move(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (particles, items) = size(number, &mut rng);
    let (xs, ys): (Vec<f32>, Vec<f32>) = (signed(&mut rng, particles), signed(&mut rng, particles));
    let states: Vec<u32> = (0..particles).map(|_| rng.u32(..)).collect();
    let (drift, spread) = (rng.f32(), rng.f32() * 4.0);
    let (mut x_end, mut y_end, mut states_end) = (Vec::new(), Vec::new(), Vec::new());
    for (particle, &start) in states.iter().enumerate() {
        let mut state = start;
        let mut noise = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (f64::from(state >> 16) - 32_768.0) / 65_536.0
        };
        let (across, down) = (noise(), noise());
        let (drift, spread) = (f64::from(drift), f64::from(spread));
        x_end.push((f64::from(xs[particle]) + (drift + spread * across)) as f32);
        y_end.push((f64::from(ys[particle]) + (spread * down - 2.0 * drift)) as f32);
        states_end.push(state);
    }
    // Each coordinate has at most four roundings of numbers below 8.
    let error = 4.0 * 8.0 * f64::from(f32::EPSILON);
    launch("particle_move", particles, items)
        .output_within("xs", &xs, &x_end, 0.0, error)
        .output_within("ys", &ys, &y_end, 0.0, error)
        .output("states", &states, &states_end)
        .value("particles", particles as i32)
        .value("drift", drift)
        .value("spread", spread)
        .finish()
}

fn particle_normalize(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (particles, items) = size(number, &mut rng);
    let weights: Vec<f32> = (0..particles).map(|_| rng.f32() + 0.001).collect();
    let mut sum = 0.0;
    let sums: Vec<f32> = weights
        .iter()
        .map(|weight| {
            sum += weight;
            sum
        })
        .collect();
    let end: Vec<f32> = weights.iter().map(|weight| weight / sum).collect();
    launch("particle_normalize", particles, items)
        .output("weights", &weights, &end)
        .input("sums", &sums)
        .value("particles", particles as i32)
        .finish()
}

/// Launch of one of the conversions between stored pixels and those that the diffusion works on.
fn srad_stored(kernel: &str, number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (count, items) = size(number, &mut rng);
    let stored: Vec<f32> = (0..count).map(|_| rng.u8(..).into()).collect();
    let diffused: Vec<f32> = stored.iter().map(|x| (x / 255.0).exp()).collect();
    let launch = launch(kernel, count, items);
    // Exponential and logarithm within three units in the last place, and the rounding of the quotient or product.
    let unit = f64::from(f32::EPSILON);
    let launch = match kernel {
        "srad_extract" => {
            let end: Vec<f32> = stored
                .iter()
                .map(|&x| (f64::from(x) / 255.0).exp() as f32)
                .collect();
            launch.output_within("image", &stored, &end, 5.0 * unit, 0.0)
        }
        _ => {
            let end: Vec<f32> = diffused
                .iter()
                .map(|&x| (f64::from(x).ln() * 255.0) as f32)
                .collect();
            launch.output_within("image", &diffused, &end, 5.0 * unit, 255.0 * unit)
        }
    };
    launch.value("count", count as i32).finish()
}

fn srad_sums(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (count, _) = size(number, &mut rng);
    let image: Vec<f32> = (0..count).map(|_| 1.0 + rng.f32()).collect();
    let of_groups = |term: fn(f64) -> f64| {
        let groups = image.chunks(256);
        let sums: Vec<ErrorSum> = groups
            .map(|group| ErrorSum::of(group.iter().map(|&pixel| term(pixel.into()))))
            .collect();
        rounded::<f32>(&sums)
    };
    let (sums, error) = of_groups(|pixel| pixel);
    let (squares, square_error) = of_groups(|pixel| pixel * pixel);
    let nothing = vec![0.0; sums.len()];
    launch("srad_sums", count, 256)
        .input("image", &image)
        .output_within("sums", &nothing, &sums, 0.0, error)
        .output_within("squares", &nothing, &squares, 0.0, square_error)
        .value("count", count as i32)
        .finish()
}

fn srad_update(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (rows, columns) = match number {
        0 => (16, 16),
        1 => (21, 37),
        2 => (1, 50),
        _ => (rng.usize(1..30), rng.usize(1..30)),
    };
    let count = rows * columns;
    let lambda = 0.5f32;
    let mut field = || -> Vec<f32> { signed(&mut rng, count) };
    let [north, south, west, east] = [field(), field(), field(), field()];
    let coefficient: Vec<f32> = field().into_iter().map(f32::abs).collect();
    let image: Vec<f32> = field().into_iter().map(|pixel| pixel + 2.0).collect();
    let end: Vec<Rounded> = (0..count)
        .map(|at| {
            let (row, column) = (at % rows, at / rows);
            let of = |values: &[f32], at: usize| Rounded::of(values[at]);
            let below = of(&coefficient, column * rows + (row + 1).min(rows - 1));
            let right = of(&coefficient, (column + 1).min(columns - 1) * rows + row);
            let own = of(&coefficient, at);
            let divergence = own * of(&north, at)
                + below * of(&south, at)
                + own * of(&west, at)
                + right * of(&east, at);
            of(&image, at) + Rounded::of(0.25f32) * Rounded::of(lambda) * divergence
        })
        .collect();
    let (end, error) = expected_contents::<f32>(&end);
    launch("srad_update", count, 64)
        .output_within("image", &image, &end, 0.0, error)
        .input("north", &north)
        .input("south", &south)
        .input("west", &west)
        .input("east", &east)
        .input("coefficient", &coefficient)
        .value("rows", rows as i32)
        .value("columns", columns as i32)
        .value("lambda", lambda)
        .finish()
}
