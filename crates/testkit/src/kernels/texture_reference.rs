//! Reference of images bound to texture and surface references of a module.

use fastrand::Rng;
use warpbound_launch::{LaunchFile, TexelLayout, TextureBinding};

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("texture_reference", "reference_filter", filter),
    ("texture_reference", "reference_mirror", mirror),
];

/// Numbers of threads in x and y, width and height of the image.
fn sizes(launch: u64, rng: &mut Rng) -> ([usize; 2], [usize; 2]) {
    match launch {
        0 => ([8, 4], [8, 4]),
        1 => ([32, 5], [20, 7]),
        2 => ([1, 1], [1, 1]),
        _ => [(); 2]
            .map(|()| [rng.usize(1..24), rng.usize(1..12)])
            .into(),
    }
}

fn picture(launch: TestLaunch, [width, height]: [usize; 2], texels: &[f32]) -> TestLaunch {
    let sizes = [width as u32, height as u32];
    launch.bound_texture(
        "picture",
        TexelLayout::D2,
        &sizes,
        texels,
        |_: &mut TextureBinding| (),
    )
}

/// Returns the texel at a position, clamped to the edge.
fn clamped_texel(texels: &[f32], [width, height]: [usize; 2], x: usize, y: usize) -> f64 {
    texels[y.min(height - 1) * width + x.min(width - 1)].into()
}

fn filter(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let (threads, size) = sizes(number, &mut rng);
    let texels: Vec<f32> = (0..size[0] * size[1]).map(|_| rng.f32()).collect();
    // Linear memory reads as 0 after its end; an array is clamped to its last texel.
    let table: Vec<i32> = (0..rng.usize(1..40)).map(|_| rng.i32(-9..9)).collect();
    let weights: Vec<[u8; 4]> = (0..rng.usize(1..40))
        .map(|_| [(); 4].map(|()| rng.u8(..)))
        .collect();
    let mut end = Vec::with_capacity(threads[0] * threads[1]);
    for y in 0..threads[1] {
        for x in 0..threads[0] {
            let weight = weights[x.min(weights.len() - 1)].map(|w| f64::from(w) / 255.0);
            let around = [(0, 0), (1, 0), (0, 1), (1, 1)];
            let pairs = around.into_iter().zip(weight);
            let terms = pairs.map(|((dx, dy), w)| clamped_texel(&texels, size, x + dx, y + dy) * w);
            let sum: f64 = terms.sum();
            end.push((sum + f64::from(table.get(x).copied().unwrap_or(0))) as f32);
        }
    }
    let block = [threads[0] as u32, threads[1] as u32, 1];
    let launch = TestLaunch::of("reference_filter", [1; 3], block)
        .output_within("out", &vec![0.0f32; end.len()], &end, 1e-5, 1e-5)
        .value("width", threads[0] as i32);
    let launch = picture(launch, size, &texels);
    let count = [table.len() as u32];
    let launch = launch.bound_texture("table", TexelLayout::D1, &count, &table, |t| {
        t.linear_memory = true;
    });
    let count = [weights.len() as u32];
    let launch = launch.bound_texture("weights", TexelLayout::D1, &count, &weights.concat(), |t| {
        t.image.channels = 4;
        t.normalized_read = true;
    });
    launch.finish()
}

fn mirror(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let (_, size) = sizes(number, &mut rng);
    let [width, height] = size;
    let texels: Vec<f32> = (0..width * height).map(|_| rng.f32()).collect();
    let rows = texels.chunks(width);
    let turned: Vec<f32> = rows.flat_map(|row| row.iter().rev().copied()).collect();
    let block = [width as u32, height as u32, 1];
    let launch = TestLaunch::of("reference_mirror", [1; 3], block).value("width", width as i32);
    let sizes = [width as u32, height as u32];
    picture(launch, size, &texels)
        .bound_surface(
            "canvas",
            TexelLayout::D2,
            &sizes,
            1,
            &vec![0.0; turned.len()],
            &turned,
        )
        .finish()
}
