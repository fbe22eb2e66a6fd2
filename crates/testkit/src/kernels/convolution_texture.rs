//! Convolution through textures: what reads of a texture give (CUDA C++ Programming Guide, "Texture Fetching"), and
//! sums of them. Pixels are integers up to 255, so that reads are exact in `f32`, filtered ones too.

use warpbound_launch::{LaunchFile, TexelLayout};

use super::rounding::{ErrorSum, rounded, signed};
use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("convolution_texture", "convolution_texture_linear", rows),
    ("convolution_texture", "convolution_texture_pairs", pairs),
    ("convolution_texture", "convolution_texture", square),
];

/// Width, height and radius of the filter.
fn size(number: u64, rng: &mut fastrand::Rng) -> (u32, u32, i64) {
    match number {
        0 => (16, 16, 1),
        1 => (37, 21, 3),
        2 => (1, 5, 2),
        _ => (rng.u32(1..50), rng.u32(1..40), rng.i64(0..4)),
    }
}

fn pixels(rng: &mut fastrand::Rng, width: u32, height: u32) -> Vec<f32> {
    (0..width * height).map(|_| rng.u8(..).into()).collect()
}

fn launch(kernel: &str, width: u32, height: u32) -> TestLaunch {
    let blocks = [width.div_ceil(16), height.div_ceil(8), 1];
    TestLaunch::of(kernel, blocks, [16, 8, 1])
}

/// Adds the parameters that all kernels end with.
fn finish(
    launch: TestLaunch,
    image: &Image<'_>,
    sums: &[ErrorSum],
    last: (&str, i64),
) -> LaunchFile {
    let (out, error) = rounded::<f32>(sums);
    launch
        .output_within("out", &vec![-1.0; out.len()], &out, 0.0, error)
        .value("width", image.width as i32)
        .value("height", image.height as i32)
        .value(last.0, last.1 as i32)
        .finish()
}

fn square(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (width, height, radius) = size(number, &mut rng);
    let pixels = pixels(&mut rng, width, height);
    let taps: Vec<f32> = signed(&mut rng, (2 * radius + 1).pow(2) as usize);
    let image = Image::of(&pixels, width, height);
    let launch = launch("convolution_texture", width, height)
        .texture("image", TexelLayout::D2, &[width, height], &pixels, |_| ())
        .input("taps", &taps);
    finish(
        launch,
        &image,
        &image.filtered(&taps, radius),
        ("radius", radius),
    )
}

fn pairs(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (width, height, radius) = size(number, &mut rng);
    let pixels = pixels(&mut rng, width, height);
    // Coordinates with 8 bits of fraction; the rounding of others is covered by the texture tests.
    let offsets: Vec<f32> = (0..=radius)
        .map(|_| rng.i32(-1200..1200) as f32 / 256.0)
        .collect();
    let weights: Vec<f32> = signed(&mut rng, offsets.len());
    let both: Vec<(f32, f32)> = offsets
        .iter()
        .copied()
        .zip(weights.iter().copied())
        .collect();
    let image = Image::of(&pixels, width, height);
    let launch = launch("convolution_texture_pairs", width, height)
        .texture(
            "image",
            TexelLayout::D2,
            &[width, height],
            &pixels,
            |texture| {
                texture.linear_filter = true;
            },
        )
        .input("places", &offsets)
        .input("weights", &weights);
    finish(launch, &image, &image.paired(&both), ("pairs", radius + 1))
}

fn rows(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (width, height, radius) = size(number, &mut rng);
    let pixels = pixels(&mut rng, width, height);
    let taps: Vec<f32> = signed(&mut rng, 2 * radius as usize + 1);
    let image = Image::of(&pixels, width, height);
    let launch = launch("convolution_texture_linear", width, height)
        .texture(
            "pixels",
            TexelLayout::D1,
            &[width * height],
            &pixels,
            |texture| {
                texture.linear_memory = true;
            },
        )
        .input("taps", &taps);
    finish(
        launch,
        &image,
        &image.filtered_rows(&taps, radius),
        ("radius", radius),
    )
}

/// Image read through a texture with unnormalised, clamped coordinates.
struct Image<'a> {
    pixels: &'a [f32],
    width: i64,
    height: i64,
}

impl<'a> Image<'a> {
    fn of(pixels: &'a [f32], width: u32, height: u32) -> Image<'a> {
        Image {
            pixels,
            width: width.into(),
            height: height.into(),
        }
    }

    /// Returns the pixel at a column and row, or the nearest one on the border.
    fn pixel(&self, column: i64, row: i64) -> f64 {
        let (column, row) = (
            column.clamp(0, self.width - 1),
            row.clamp(0, self.height - 1),
        );
        self.pixels[(row * self.width + column) as usize].into()
    }

    /// Point filtering: returns the pixel that contains a position.
    fn point(&self, x: f64, y: f64) -> f64 {
        self.pixel(x.floor() as i64, y.floor() as i64)
    }

    /// Linear filtering: the mean of the four pixels whose centres surround a position, with weights of 8 fraction
    /// bits.
    fn linear(&self, x: f64, y: f64) -> f64 {
        let (x, y) = (x - 0.5, y - 0.5);
        let fraction = |at: f64| ((at - at.floor()) * 256.0).round_ties_even() / 256.0;
        let (column, row) = (x.floor() as i64, y.floor() as i64);
        let along = |row: i64| {
            let right = fraction(x);
            (1.0 - right) * self.pixel(column, row) + right * self.pixel(column + 1, row)
        };
        let below = fraction(y);
        (1.0 - below) * along(row) + below * along(row + 1)
    }

    /// Computes a number for each pixel, row by row.
    fn map(&self, mut number: impl FnMut(f64, f64) -> ErrorSum) -> Vec<ErrorSum> {
        let rows = (0..self.height).flat_map(|y| (0..self.width).map(move |x| (x, y)));
        rows.map(|(x, y)| number(x as f64, y as f64)).collect()
    }

    /// Result of `convolution_texture`: a filter of (2 radius + 1)² taps around the centre of each pixel.
    fn filtered(&self, taps: &[f32], radius: i64) -> Vec<ErrorSum> {
        let side = 2 * radius + 1;
        self.map(|x, y| {
            ErrorSum::of(taps.iter().zip(0..).map(|(&tap, at)| {
                let (dx, dy) = (at % side - radius, at / side - radius);
                f64::from(tap) * self.point(x + dx as f64 + 0.5, y + dy as f64 + 0.5)
            }))
        })
    }

    /// Result of `convolution_texture_pairs`: weighted reads at offsets from the centre of each pixel in its row.
    fn paired(&self, pairs: &[(f32, f32)]) -> Vec<ErrorSum> {
        self.map(|x, y| {
            ErrorSum::of(pairs.iter().map(|&(offset, weight)| {
                f64::from(weight) * self.linear(x + 0.5 + f64::from(offset), y + 0.5)
            }))
        })
    }

    /// Result of `convolution_texture_linear`: a filter of 2 radius + 1 taps along rows.
    fn filtered_rows(&self, taps: &[f32], radius: i64) -> Vec<ErrorSum> {
        self.map(|x, y| {
            ErrorSum::of(
                (-radius..)
                    .zip(taps)
                    .map(|(d, &tap)| f64::from(tap) * self.pixel(x as i64 + d, y as i64)),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two neighbouring taps equal one read between two pixels, and a flat square filter equals two flat row filters.
    #[test]
    fn the_three_filters_agree() {
        let mut rng = fastrand::Rng::with_seed(0);
        let (width, height) = (13, 7);
        let pixels: Vec<f32> = (0..width * height).map(|_| rng.u8(..).into()).collect();
        let image = Image {
            pixels: &pixels,
            width,
            height,
        };
        let values = |sums: Vec<ErrorSum>| -> Vec<f64> { sums.iter().map(|s| s.value).collect() };
        // Taps 1, 3, 4, 12, 0 of the offsets -2 to 2.
        let rows = values(image.filtered_rows(&[1.0, 3.0, 4.0, 12.0, 0.0], 2));
        assert_eq!(rows, values(image.paired(&[(-1.25, 4.0), (0.75, 16.0)])));
        let square = values(image.filtered(&[1.0; 9], 1));
        let flat: Vec<f32> = image
            .filtered_rows(&[1.0; 3], 1)
            .iter()
            .map(|s| s.value as f32)
            .collect();
        // Transposes, filters and transposes back.
        let turned = |image: &Image<'_>| -> Vec<f32> {
            let columns = (0..image.width).flat_map(|x| (0..image.height).map(move |y| (x, y)));
            columns.map(|(x, y)| image.pixel(x, y) as f32).collect()
        };
        let flat = turned(&Image {
            pixels: &flat,
            ..image
        });
        let turned_image = Image {
            pixels: &flat,
            width: height,
            height: width,
        };
        let both: Vec<f32> = turned_image
            .filtered_rows(&[1.0; 3], 1)
            .iter()
            .map(|s| s.value as f32)
            .collect();
        let both = turned(&Image {
            pixels: &both,
            ..turned_image
        });
        assert_eq!(square, both.iter().map(|&n| n.into()).collect::<Vec<f64>>());
    }
}
