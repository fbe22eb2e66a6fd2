//! Reference of wavelet transforms by lifting.

use warpbound_launch::LaunchFile;

use super::running_error::{Rounded, expected_contents};
use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("wavelet_2d", "wavelet_rows", rows),
    ("wavelet_2d", "wavelet_columns", columns),
    ("wavelet_2d", "wavelet_97", singles),
];

/// Maps a position outside the line to one inside, by reflection at the end elements.
fn reflect(at: i64, length: usize) -> usize {
    let last = length as i64 - 1;
    let at = at.abs();
    (if at > last { 2 * last - at } else { at }) as usize
}

/// The reversible 5/3 transform (ISO/IEC 15444-1, annex F): d(n) = x(2n+1) - floor((x(2n) + x(2n+2)) / 2),
/// s(n) = x(2n) + floor((d(n-1) + d(n) + 2) / 4); first all s, then all d.
pub(super) fn transform_53(line: &[i32]) -> Vec<i32> {
    let at = |position: i64| i64::from(line[reflect(position, line.len())]);
    let detail = |n: i64| at(2 * n + 1) - (at(2 * n) + at(2 * n + 2)).div_euclid(2);
    // A detail outside the line is the reflected one.
    let detail_at = |position: i64| {
        let inside = reflect(position, line.len()) as i64;
        detail(inside / 2)
    };
    let coarse =
        |n: i64| at(2 * n) + (detail_at(2 * n - 1) + detail_at(2 * n + 1) + 2).div_euclid(4);
    let length = line.len() as i64;
    let low = (0..(length + 1) / 2).map(coarse);
    low.chain((0..length / 2).map(detail))
        .map(|number| number as i32)
        .collect()
}

fn size(number: u64, rng: &mut fastrand::Rng) -> (usize, usize) {
    match number {
        0 => (2, 2),
        1 => (64, 32),
        2 => (131, 37),
        _ => (rng.usize(2..100), rng.usize(2..40)),
    }
}

fn image(rng: &mut fastrand::Rng, size: (usize, usize)) -> Vec<i32> {
    (0..size.0 * size.1)
        .map(|_| rng.i32(-100_000..100_000))
        .collect()
}

fn rows(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (width, height) = size(number, &mut rng);
    let image = image(&mut rng, (width, height));
    let end: Vec<i32> = image.chunks(width).flat_map(transform_53).collect();
    TestLaunch::of("wavelet_rows", [height as u32, 1, 1], [48, 1, 1])
        .dynamic_shared(4 * width.next_multiple_of(2) as u32)
        .input("in", &image)
        .output("out", &vec![0; image.len()], &end)
        .value("width", width as i32)
        .finish()
}

fn columns(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (width, height) = size(number, &mut rng);
    let image = image(&mut rng, (width, height));
    let mut end = vec![0; image.len()];
    for x in 0..width {
        let column: Vec<i32> = image.iter().skip(x).step_by(width).copied().collect();
        for (y, number) in transform_53(&column).into_iter().enumerate() {
            end[y * width + x] = number;
        }
    }
    let blocks = width.div_ceil(40) as u32;
    TestLaunch::of("wavelet_columns", [blocks, 1, 1], [40, 1, 1])
        .input("in", &image)
        .output("out", &vec![0; image.len()], &end)
        .value("width", width as i32)
        .value("height", height as i32)
        .finish()
}

/// Factors of the lifting steps and of the scaling of the 9/7 transform, as the kernel's singles.
const STEPS: [f32; 4] = [-1.586_134_3, -0.052_980_12, 0.882_911_1, 0.443_506_9];
const SCALING: f32 = 1.149_604_4;

/// The irreversible 9/7 transform (ISO/IEC 15444-1, annex F): four lifting steps on odd and even elements in turn, then
/// scaling.
fn transform_97(line: &[f32]) -> Vec<Rounded> {
    let mut line: Vec<Rounded> = line.iter().map(|&x| Rounded::of(x)).collect();
    for (step, &factor) in STEPS.iter().enumerate() {
        let before = line.clone();
        for x in (0..line.len()).filter(|x| x % 2 != step % 2) {
            let near = |at: i64| before[reflect(at, before.len())];
            let both = near(x as i64 - 1) + near(x as i64 + 1);
            line[x] = before[x] + Rounded::of(factor) * both;
        }
    }
    let scaling = Rounded::of(SCALING);
    let low = line.iter().step_by(2).map(|&x| x / scaling);
    let high = line.iter().skip(1).step_by(2).map(|&x| x * scaling);
    low.chain(high).collect()
}

fn singles(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (width, height) = size(number, &mut rng);
    let image: Vec<f32> = (0..width * height).map(|_| rng.f32() * 255.0).collect();
    let all: Vec<Rounded> = image.chunks(width).flat_map(transform_97).collect();
    let (end, may) = expected_contents(&all);
    TestLaunch::of("wavelet_97", [height as u32, 1, 1], [48, 1, 1])
        .dynamic_shared(4 * width.next_multiple_of(2) as u32)
        .input("in", &image)
        .output_within("out", &vec![0f32; image.len()], &end, 0.0, may)
        .value("width", width as i32)
        .finish()
}
