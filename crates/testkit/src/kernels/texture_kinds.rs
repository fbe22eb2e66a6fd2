//! Reference of every kind of texture and surface.

use fastrand::Rng;
use warpbound_launch::{LaunchFile, TexelLayout};

use super::sampling::{ReferenceImage, Sampler, floats};
use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("texture_kinds", "sample_1d", sample_1d),
    ("texture_kinds", "sample_2d", sample_2d),
    ("texture_kinds", "sample_3d", sample_3d),
    ("texture_kinds", "gather_2d", gather_2d),
    ("texture_kinds", "fetch_integers", fetch_integers),
    ("texture_kinds", "choose_texture", choose_texture),
    ("texture_kinds", "surface_kinds", surface_kinds),
];

/// Tolerances of filtered reads: another order of interpolation differs by roundings only.
const NEAR: f64 = 1e-6;
const NEAR_ZERO: f64 = 1e-5;

fn shape(number: u64, rng: &mut Rng) -> (u32, u32, usize) {
    match number {
        0 => (1, 64, 64),
        1 => (3, 40, 101),
        2 => (1, 32, 1),
        _ => {
            let (blocks, block) = (rng.u32(1..4), rng.u32(1..130));
            (blocks, block, rng.usize(1..=(blocks * block) as usize))
        }
    }
}

fn near(launch: TestLaunch, end: &[f64], count: usize) -> LaunchFile {
    let end: Vec<f32> = end.iter().map(|&n| n as f32).collect();
    let start = vec![0.0f32; end.len()];
    launch
        .output_within("out", &start, &end, NEAR, NEAR_ZERO)
        .value("n", count as i32)
        .finish()
}

fn sample_1d(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let (blocks, block, count) = shape(number, &mut rng);
    let sampler = Sampler::of(number);
    let (width, layers) = (rng.usize(1..40), rng.usize(1..6));
    let (row, row_values) = floats(width, &mut rng);
    let (rows, rows_values) = floats(width * layers, &mut rng);
    let texels = |values, layers| ReferenceImage {
        size: [width, 1, 1],
        channels: 1,
        layers,
        values,
    };
    let (one, several) = (texels(row_values, 1), texels(rows_values, layers));
    let x: Vec<f32> = (0..count)
        .map(|_| sampler.coordinate(width, &mut rng))
        .collect();
    let at = |texels: &ReferenceImage, i: usize, layer| {
        texels.sample(sampler, [x[i], 0.0, 0.0], layer)[0]
    };
    let first: Vec<f64> = (0..count).map(|i| at(&one, i, 0)).collect();
    let second = (0..count).map(|i| at(&several, i, i % 5));
    let end: Vec<f64> = first
        .iter()
        .copied()
        .chain(second)
        .chain(first.clone())
        .collect();
    let sizes = [width as u32, layers as u32];
    let launch = TestLaunch::of("sample_1d", [blocks, 1, 1], [block, 1, 1])
        .texture("row", TexelLayout::D1, &sizes[..1], &row, |t| {
            sampler.set(t)
        })
        .texture("rows", TexelLayout::Layered1, &sizes, &rows, |t| {
            sampler.set(t)
        })
        .input("x", &x);
    near(launch, &end, count)
}

fn sample_2d(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let (blocks, block, count) = shape(number, &mut rng);
    let sampler = Sampler::of(number);
    let (width, height, layers) = (rng.usize(1..12), rng.usize(1..9), rng.usize(1..6));
    let bytes: Vec<u8> = (0..4 * width * height).map(|_| rng.u8(..)).collect();
    let (stack, stack_values) = floats(4 * width * height * layers, &mut rng);
    let texels = |values, layers| ReferenceImage {
        size: [width, height, 1],
        channels: 4,
        layers,
        values,
    };
    let image = texels(bytes.iter().map(|&b| f64::from(b) / 255.0).collect(), 1);
    let several = texels(stack_values, layers);
    let at: Vec<f32> = (0..count)
        .flat_map(|_| {
            let x = sampler.coordinate(width, &mut rng);
            [x, sampler.coordinate(height, &mut rng)]
        })
        .collect();
    let read = |texels: &ReferenceImage, i: usize, layer| {
        texels.sample(sampler, [at[2 * i], at[2 * i + 1], 0.0], layer)
    };
    let first: Vec<f64> = (0..count).flat_map(|i| read(&image, i, 0)).collect();
    let layered: Vec<f64> = (0..count).flat_map(|i| read(&several, i, i % 4)).collect();
    let end = [first.clone(), layered, first.clone(), first].concat();
    let sizes = [width as u32, height as u32, layers as u32];
    let launch = TestLaunch::of("sample_2d", [blocks, 1, 1], [block, 1, 1])
        .texture("image", TexelLayout::D2, &sizes[..2], &bytes, |t| {
            t.image.channels = 4;
            t.normalized_read = true;
            sampler.set(t);
        })
        .texture("stack", TexelLayout::Layered2, &sizes, &stack, |t| {
            t.image.channels = 4;
            sampler.set(t);
        })
        .input("at", &at);
    near(launch, &end, count)
}

fn sample_3d(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let (blocks, block, count) = shape(number, &mut rng);
    let sampler = Sampler::of(number);
    let size = [rng.usize(1..8), rng.usize(1..7), rng.usize(1..6)];
    // Signed 16-bit numbers are read as -1 to 1.
    let shorts: Vec<i16> = (0..2 * size.iter().product::<usize>())
        .map(|_| rng.i16(..))
        .collect();
    let values = shorts.iter().map(|&n| (f64::from(n) / 32767.0).max(-1.0));
    let volume = ReferenceImage {
        size,
        channels: 2,
        layers: 1,
        values: values.collect(),
    };
    let at: Vec<f32> = (0..3 * count)
        .map(|n| sampler.coordinate(size[n % 3], &mut rng))
        .collect();
    let end: Vec<f64> = at
        .chunks(3)
        .flat_map(|at| volume.sample(sampler, [at[0], at[1], at[2]], 0))
        .collect();
    let sizes = size.map(|n| n as u32);
    let launch = TestLaunch::of("sample_3d", [blocks, 1, 1], [block, 1, 1])
        .texture("volume", TexelLayout::D3, &sizes, &shorts, |t| {
            t.image.channels = 2;
            t.normalized_read = true;
            sampler.set(t);
        })
        .input("at", &at);
    near(launch, &end, count)
}

fn gather_2d(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let (blocks, block, count) = shape(number, &mut rng);
    let sampler = Sampler::of(number);
    let (width, height) = (rng.usize(1..12), rng.usize(1..9));
    let (pairs, values) = floats(2 * width * height, &mut rng);
    let image = ReferenceImage {
        size: [width, height, 1],
        channels: 2,
        layers: 1,
        values,
    };
    let at: Vec<f32> = (0..count)
        .flat_map(|_| {
            let x = sampler.coordinate(width, &mut rng);
            [x, sampler.coordinate(height, &mut rng)]
        })
        .collect();
    let corners = |component: usize| -> Vec<f64> {
        let four = |at: &[f32]| {
            let (i, _) = sampler.interpolation(at[0], width);
            let (j, _) = sampler.interpolation(at[1], height);
            let corners = [[i, j + 1.0], [i + 1.0, j + 1.0], [i + 1.0, j], [i, j]];
            corners.map(|[x, y]| image.texel_at(sampler, [x, y, 0.0], 0)[component])
        };
        at.chunks(2).flat_map(four).collect()
    };
    let end = [corners(0), corners(1)].concat();
    let sizes = [width as u32, height as u32];
    let launch = TestLaunch::of("gather_2d", [blocks, 1, 1], [block, 1, 1])
        .texture("image", TexelLayout::D2, &sizes, &pairs, |t| {
            t.image.channels = 2;
            sampler.set(t);
        })
        .input("at", &at);
    near(launch, &end, count)
}

fn fetch_integers(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let (blocks, block, count) = shape(number, &mut rng);
    let width = rng.usize(1..40);
    let bytes: Vec<[u8; 4]> = (0..width).map(|_| [(); 4].map(|()| rng.u8(..))).collect();
    let shorts: Vec<i16> = (0..2 * 9 * 7).map(|_| rng.i16(..)).collect();
    let at: Vec<i32> = (0..count).map(|_| rng.i32(-3..width as i32 + 3)).collect();
    let four = |&i: &i32| {
        let texel = usize::try_from(i).ok().and_then(|i| bytes.get(i));
        let [x, y, z, w] = texel.copied().unwrap_or_default().map(i32::from);
        x + 3 * y + 5 * z + 7 * w
    };
    let two = |&i: &i32| {
        let (x, y) = ((i % 9).max(0), (i % 7).max(0));
        let first = 2 * (y * 9 + x) as usize;
        i32::from(shorts[first]) - 11 * i32::from(shorts[first + 1])
    };
    let end: Vec<i32> = at.iter().map(four).chain(at.iter().map(two)).collect();
    TestLaunch::of("fetch_integers", [blocks, 1, 1], [block, 1, 1])
        .texture(
            "bytes",
            TexelLayout::D1,
            &[width as u32],
            &bytes.concat(),
            |t| {
                t.image.channels = 4;
                t.linear_memory = true;
            },
        )
        .texture("image", TexelLayout::D2, &[9, 7], &shorts, |t| {
            t.image.channels = 2
        })
        .input("at", &at)
        .output("out", &vec![0; 2 * count], &end)
        .value("n", count as i32)
        .finish()
}

fn choose_texture(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let (blocks, block, count) = shape(number, &mut rng);
    let samplers = [Sampler::of(number), Sampler::of(number / 2 + 1)];
    let widths = [rng.usize(1..20), rng.usize(1..20)];
    let images = widths.map(|width| floats(2 * width, &mut rng));
    let x: Vec<f32> = (0..count)
        .map(|i| samplers[i % 2].coordinate(widths[i % 2], &mut rng))
        .collect();
    let read = |i: usize, at: [f32; 2]| {
        let texels = ReferenceImage {
            size: [widths[i % 2], 2, 1],
            channels: 1,
            layers: 1,
            values: images[i % 2].1.clone(),
        };
        texels.sample(samplers[i % 2], [at[0], at[1], 0.0], 0)[0]
    };
    let rows = (0..count).map(|i| read(i, [x[i], 0.5]));
    let columns = (0..count).map(|i| read(i, [0.5, x[i]]));
    let end: Vec<f64> = rows.chain(columns).collect();
    let mut launch =
        TestLaunch::of("choose_texture", [blocks, 1, 1], [block, 1, 1]).input("offset", &[0u64]);
    for (n, name) in ["first", "second"].into_iter().enumerate() {
        let sizes = [widths[n] as u32, 2];
        launch = launch.texture(name, TexelLayout::D2, &sizes, &images[n].0, |t| {
            samplers[n].set(t)
        });
    }
    near(launch.input("x", &x), &end, count)
}

fn surface_kinds(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let (block, width, height) = match number {
        0 => (32, 32, 3),
        1 => (20, 33, 2),
        2 => (64, 1, 1),
        _ => (rng.u32(1..70), rng.usize(1..90), rng.usize(1..6)),
    };
    let length = width + width / 2 + 1;
    let row: Vec<u8> = (0..length).map(|_| rng.u8(..)).collect();
    let image: Vec<i16> = (0..2 * width * height).map(|_| rng.i16(..)).collect();
    let volume: Vec<i32> = (0..4 * width * height * 3)
        .map(|_| rng.i32(-999..999))
        .collect();
    let stack: Vec<f32> = (0..2 * width * height)
        .map(|_| f32::from(rng.i16(..)))
        .collect();
    let (mut row_end, mut volume_end, mut stack_end) = (row.clone(), volume.clone(), stack.clone());
    for y in 0..height {
        for x in 0..width {
            let byte = row[x.saturating_sub(2)];
            let pair = match (x + 1 < width, y) {
                (true, 1..) => {
                    let first = 2 * ((y - 1) * width + x + 1);
                    [image[first], image[first + 1]]
                }
                _ => [0; 2],
            };
            let at = 4 * (((x + y) % 3 * height + y) * width + x);
            let [a, b, c, d] = [0, 1, 2, 3].map(|n| volume[at + n]);
            let new = [b, a + i32::from(pair[0]), d, c - i32::from(pair[1])];
            volume_end[at..at + 4].copy_from_slice(&new);
            stack_end[y * width + x] = stack[(height + y) * width + x] + f32::from(byte);
            if y == 0 && x + width < length {
                row_end[x + width] = byte.wrapping_add(1);
            }
        }
    }
    let (w, h) = (width as u32, height as u32);
    TestLaunch::of("surface_kinds", [w.div_ceil(block), h, 1], [block, 1, 1])
        .surface("row", TexelLayout::D1, &[length as u32], 1, &row, &row_end)
        .surface("image", TexelLayout::D2, &[w, h], 2, &image, &image)
        .surface(
            "volume",
            TexelLayout::D3,
            &[w, h, 3],
            4,
            &volume,
            &volume_end,
        )
        .surface(
            "stack",
            TexelLayout::Layered2,
            &[w, h, 2],
            1,
            &stack,
            &stack_end,
        )
        .value("width", width as i32)
        .value("height", height as i32)
        .finish()
}
