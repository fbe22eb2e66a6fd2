//! Reference of tracking points of a wall from frame to frame by normalised correlation.

use warpbound_launch::LaunchFile;

use super::running_error::{Rounded, expected_contents};
use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[("heart_wall", "heart_wall", follow)];

/// Width and height of a template, and its number of pixels.
const SIDE: usize = 11;
const PIXELS: usize = SIDE * SIDE;

struct Frame {
    pixels: Vec<u8>,
    width: usize,
    height: usize,
}

impl Frame {
    /// Returns the pixels around a position; `None` when some are outside.
    fn around(&self, x: i32, y: i32) -> Option<Vec<i64>> {
        let left = usize::try_from(x - SIDE as i32 / 2).ok()?;
        let top = usize::try_from(y - SIDE as i32 / 2).ok()?;
        if left + SIDE > self.width || top + SIDE > self.height {
            return None;
        }
        let row = |y: usize| &self.pixels[y * self.width + left..][..SIDE];
        let rows = (top..top + SIDE).map(row);
        Some(rows.flatten().map(|&pixel| pixel.into()).collect())
    }
}

/// Returns the correlation of two patches; 0 when one of them is flat.
fn correlation(a: &[i64], b: &[i64]) -> Rounded {
    let sum = |values: &[i64]| values.iter().sum::<i64>();
    let products = |a: &[i64], b: &[i64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<i64>();
    let moment = |a: &[i64], b: &[i64]| PIXELS as i64 * products(a, b) - sum(a) * sum(b);
    if moment(a, a) == 0 || moment(b, b) == 0 {
        return Rounded::of(0.0f32);
    }
    let variances = Rounded::converted(moment(a, a)) * Rounded::converted(moment(b, b));
    Rounded::converted(moment(a, b)) / variances.sqrt()
}

/// Returns the best position of a template around a point and its correlation; `None` when no position is inside the
/// frame.
fn best_match(
    frame: &Frame,
    template: &[i64],
    point: (i32, i32),
    reach: i32,
) -> Option<((i32, i32), Rounded)> {
    let around = (-reach..=reach).flat_map(|dy| (-reach..=reach).map(move |dx| (dx, dy)));
    let positions = around.map(|(dx, dy)| (point.0 + dx, point.1 + dy));
    let fits: Vec<((i32, i32), Rounded)> = positions
        .filter_map(|(x, y)| Some(((x, y), correlation(&frame.around(x, y)?, template))))
        .collect();
    let mut best = *fits.first()?;
    for &fit in &fits[1..] {
        if fit.1.value() > best.1.value() {
            best = fit;
        }
    }
    // Rounding must not decide between positions, except for the equal correlations of flat patches.
    for fit in fits.iter().filter(|fit| fit.0 != best.0) {
        let is_flat = fit.1.value() == 0.0 && best.1.value() == 0.0;
        assert!(is_flat || fit.1.is_surely_below(best.1), "a near tie");
    }
    Some(best)
}

fn follow(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (width, height, points, reach, threads) = match number {
        // All positions inside; none inside; most outside.
        0 => (40, 40, 2, 3, 64),
        1 => (10, 60, 1, 2, 32),
        2 => (53, 31, 5, 6, 96),
        _ => {
            let size = rng.usize(11..50);
            (size, rng.usize(11..50), rng.usize(1..5), rng.i32(0..5), 64)
        }
    };
    let frame = Frame {
        pixels: (0..width * height).map(|_| rng.u8(..)).collect(),
        width,
        height,
    };
    let (mut flat_points, mut templates) = (Vec::new(), Vec::new());
    let (mut positions, mut fits) = (Vec::new(), Vec::new());
    for index in 0..points {
        let point = (rng.i32(0..width as i32), rng.i32(0..height as i32));
        let moved = (
            point.0 + rng.i32(-reach..=reach),
            point.1 + rng.i32(-reach..=reach),
        );
        // Surroundings of the moved point with noise; some templates are flat, some match nowhere.
        let template: Vec<u8> = match frame.around(moved.0, moved.1) {
            _ if index % 4 == 3 => vec![77; PIXELS],
            Some(patch) if index % 4 != 2 => patch
                .iter()
                .map(|&pixel| (pixel as u8).saturating_add(rng.u8(..60)))
                .collect(),
            _ => (0..PIXELS).map(|_| rng.u8(..)).collect(),
        };
        let wide: Vec<i64> = template.iter().map(|&pixel| pixel.into()).collect();
        let found = best_match(&frame, &wide, point, reach);
        let (position, fit) = found.unwrap_or(((-1, -1), Rounded::of(-2.0f32)));
        flat_points.extend([point.0 as i16, point.1 as i16]);
        templates.extend(template);
        positions.extend([position.0, position.1]);
        fits.push(fit);
    }
    let (end, may) = expected_contents(&fits);
    TestLaunch::of("heart_wall", [points as u32, 1, 1], [threads, 1, 1])
        .input("frame", &frame.pixels)
        .value("width", width as i32)
        .value("height", height as i32)
        .input("points", &flat_points)
        .input("templates", &templates)
        .value("reach", reach)
        .output("places", &vec![0; 2 * points], &positions)
        .output_within("fits", &vec![0f32; points], &end, 0.0, may)
        .finish()
}
