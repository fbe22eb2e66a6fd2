//! Reference of the Mandelbrot set: the number of rounds of z = z² + c, from 0, until a point leaves the circle of
//! radius 2.

use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[("mandelbrot", "mandelbrot", mandelbrot)];

fn mandelbrot(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    loop {
        let (columns, rows, width, window, limit) = match number {
            0 => (2, 1, 16, [-2.0, -1.25, 0.078125], 16),
            1 => (3, 2, 27, [-0.75, -0.5, 0.03], 25),
            2 => (2, 5, 16, [-3.0, -2.5, 0.11], 1),
            _ => {
                let blocks = rng.u32(1..5);
                let step = 0.01 + 0.1 * rng.f32();
                let corner = [-2.5 + 2.0 * rng.f32(), -1.5 + rng.f32(), step];
                (blocks, rng.u32(1..5), 8 * blocks, corner, rng.i32(1..20))
            }
        };
        // A row of 27 pixels is wider than the 3 blocks; the rest of the image is unchanged.
        let width = width as usize;
        // The corner is moved until no pixel depends on rounding.
        let [left, top, step] = window.map(|n| n + 1e-3 * rng.f32());
        let mut escape = vec![-1; width * (8 * rows) as usize];
        let is_decided = (0..8 * rows).all(|y| {
            (0..8 * columns).all(|x| {
                let along = |from: f32, n: u32| f64::from(from) + f64::from(n) * f64::from(step);
                let rounds_of_point = rounds(along(left, x), along(top, y), limit);
                escape[y as usize * width + x as usize] = rounds_of_point.unwrap_or(-1);
                rounds_of_point.is_some()
            })
        });
        if is_decided {
            return TestLaunch::of("mandelbrot", [columns, rows, 1], [8, 8, 1])
                .output("escape", &vec![-1; escape.len()], &escape)
                .value("width", width as i32)
                .value("left", left)
                .value("top", top)
                .value("step", step)
                .value("limit", limit)
                .finish();
        }
    }
}

/// Returns the rounds of a point; `None` when rounding to `f32` may change them. The rounds are computed in `f64`,
/// with a bound on the difference from any computation whose operations may each round to `f32`.
fn rounds(cx: f64, cy: f64, limit: i32) -> Option<i32> {
    let unit = f64::from(f32::EPSILON) / 2.0;
    // The corner is a float; the product and the sum are rounded.
    let (wrong_cx, wrong_cy) = (4.0 * unit * (cx.abs() + 1.0), 4.0 * unit * (cy.abs() + 1.0));
    let (mut zx, mut zy) = (0.0f64, 0.0f64);
    let (mut wrong_x, mut wrong_y) = (0.0f64, 0.0f64);
    for round in 0..limit {
        let square = zx * zx + zy * zy;
        let wrong_xx = wrong_x * (2.0 * zx.abs() + wrong_x);
        let wrong_yy = wrong_y * (2.0 * zy.abs() + wrong_y);
        let wrong = wrong_xx + wrong_yy + 4.0 * unit * square;
        if (square - 4.0).abs() <= wrong {
            return None;
        }
        if square > 4.0 {
            return Some(round);
        }
        let wrong_xy = wrong_x * zy.abs() + wrong_y * zx.abs() + wrong_x * wrong_y;
        (wrong_x, wrong_y) = (
            wrong_xx + wrong_yy + wrong_cx + 4.0 * unit * (square + cx.abs()),
            2.0 * wrong_xy + wrong_cy + 4.0 * unit * (2.0 * (zx * zy).abs() + cy.abs()),
        );
        (zx, zy) = (zx * zx - zy * zy + cx, 2.0 * zx * zy + cy);
    }
    Some(limit)
}
