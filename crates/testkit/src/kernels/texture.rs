//! Reference of reads of one image as a texture.

use fastrand::Rng;
use warpbound_launch::{LaunchFile, TexelLayout};

use super::sampling::{ReferenceImage, Sampler, floats};
use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("texture", "texture_blur", texture_blur),
    ("texture", "texture_gather", texture_gather),
];

fn image(number: u64, rng: &mut Rng) -> (Vec<f32>, ReferenceImage, Sampler) {
    let (width, height) = (rng.usize(1..20), rng.usize(1..20));
    let (texels, values) = floats(width * height, rng);
    let image = ReferenceImage {
        size: [width, height, 1],
        channels: 1,
        layers: 1,
        values,
    };
    // The kernels read at whole pixels.
    let sampler = Sampler {
        normalized: false,
        mode: match number % 2 {
            0 => warpbound_launch::AddressMode::Clamp,
            _ => warpbound_launch::AddressMode::Border,
        },
        ..Sampler::of(number)
    };
    (texels, image, sampler)
}

/// Sums of a row around each pixel; there are more threads than pixels.
fn texture_blur(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let (texels, image, sampler) = image(number, &mut rng);
    let (block, grid, radius) = match number {
        0 => ([8, 4], [2, 2], 1),
        1 => ([11, 11], [1, 2], 3),
        2 => ([3, 1], [1, 1], 0),
        _ => (
            [rng.u32(1..17), rng.u32(1..9)],
            [rng.u32(1..3), rng.u32(1..3)],
            rng.i32(0..5),
        ),
    };
    let [width, height] = [0, 1].map(|axis| (block[axis] * grid[axis]) as usize);
    let mut end = Vec::with_capacity(width * height);
    for y in 0..height {
        for x in 0..width {
            let coordinates = (-radius..=radius).map(|d| (x as i32 + d) as f32 + 0.5);
            let sum: f64 = coordinates
                .map(|x| image.sample(sampler, [x, y as f32 + 0.5, 0.0], 0)[0])
                .sum();
            end.push(sum as f32);
        }
    }
    let sizes = [image.size[0] as u32, image.size[1] as u32];
    TestLaunch::of(
        "texture_blur",
        [grid[0], grid[1], 1],
        [block[0], block[1], 1],
    )
    .texture("image", TexelLayout::D2, &sizes, &texels, |t| {
        sampler.set(t)
    })
    .output_within("out", &vec![0.0; end.len()], &end, 1e-6, 1e-4)
    .value("width", width as i32)
    .value("radius", radius)
    .finish()
}

/// Reads at coordinates from a table in linear memory. The branch with a three-dimensional read is never taken: it
/// reads the same texture.
fn texture_gather(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let (texels, image, sampler) = image(number, &mut rng);
    let (blocks, block, entries) = match number {
        0 => (1, 32, 32),
        1 => (2, 45, 77),
        2 => (1, 1, 9),
        _ => (rng.u32(1..4), rng.u32(1..100), rng.usize(1..200)),
    };
    let table: Vec<[f32; 4]> = (0..entries)
        .map(|_| {
            let [x, y, z] = [(); 3].map(|()| rng.i32(-16..80) as f32 / 8.0);
            [x, y, z, 1e9]
        })
        .collect();
    let end: Vec<f32> = (0..(blocks * block) as usize)
        .map(|i| {
            // Reads outside of linear memory return 0.
            let [x, y, z, _] = table.get(i).copied().unwrap_or_default();
            let value = x * y + z;
            let read = image.sample(sampler, [value, y, 0.0], 0)[0];
            (f64::from(value) + read) as f32
        })
        .collect();
    let sizes = [image.size[0] as u32, image.size[1] as u32];
    TestLaunch::of("texture_gather", [blocks, 1, 1], [block, 1, 1])
        .texture(
            "table",
            TexelLayout::D1,
            &[entries as u32],
            &table.concat(),
            |t| {
                t.image.channels = 4;
                t.linear_memory = true;
            },
        )
        .texture("image", TexelLayout::D2, &sizes, &texels, |t| {
            sampler.set(t)
        })
        .output_within("out", &vec![0.0; end.len()], &end, 1e-6, 1e-5)
        .value("n", end.len() as i32)
        .finish()
}
