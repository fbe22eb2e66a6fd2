//! Programs on images and meshes: fluid flow, wavelets, tracking of points, heat, speckle reduction.

use warpbound_base::Diagnostic;

use super::super::TestLaunch;
use super::super::wavelet_2d::transform_53;
use super::{HostDevice, HostProgram, check_equal, check_near, groups, input};

pub(super) const CFD: HostProgram = HostProgram {
    name: "cfd",
    source: "cfd_program",
    inputs: [
        input("16 elements", 16),
        input("1024 elements", 1024),
        input("65536 elements", 65_536),
    ],
    choices: "2 time steps of three stages; a random mesh with walls and far field; groups of 192",
    run: flow,
};

pub(super) const DWT2D: HostProgram = HostProgram {
    name: "dwt2d",
    source: "wavelet_2d",
    inputs: [
        input("4x4 image", 4),
        input("16x16 image", 16),
        input("192x192 image", 192),
    ],
    choices: "the 5/3 wavelet, up to 3 levels, each on the packed coarse image; groups of 64",
    run: wavelet,
};

pub(super) const HEARTWALL: HostProgram = HostProgram {
    name: "heartwall",
    source: "heart_wall",
    inputs: [
        input("1 frame", 1),
        input("10 frames", 10),
        input("100 frames", 100),
    ],
    choices: "51 points, templates of 11x11, a reach of 10, frames of 128x128; groups of 256",
    run: follow,
};

pub(super) const HOTSPOT: HostProgram = HostProgram {
    name: "hotspot",
    source: "hotspot",
    inputs: [
        input("64x64 matrix", 64),
        input("512x512 matrix", 512),
        input("1024x1024 matrix", 1024),
    ],
    choices: "4 time steps, 2 in a launch; groups of 16x16",
    run: heat,
};

pub(super) const SRAD: HostProgram = HostProgram {
    name: "srad",
    source: "srad_program",
    inputs: [
        input("10x10 image", 10),
        input("50x50 image", 50),
        input("100x100 image", 100),
    ],
    choices: "20 iterations; groups of 256",
    run: speckle,
};

fn flow(cells: usize, device: &mut HostDevice<'_>) -> Result<(), Diagnostic> {
    const VARIABLES: usize = 5;
    const FACES: usize = 4;
    let mut rng = fastrand::Rng::with_seed(7);
    // Density, momentum, energy.
    let far = [1.4f32, 1.2, 0.1, 0.0, 3.0];
    let neighbours: Vec<i32> = (0..FACES * cells)
        .map(|_| match rng.u32(0..20) {
            0 => -1,
            1 => -2,
            _ => rng.i32(0..cells as i32),
        })
        .collect();
    let normals: Vec<f32> = (0..FACES * 3 * cells)
        .map(|_| (rng.f32() - 0.5) * 0.1)
        .collect();
    let areas: Vec<f32> = (0..cells).map(|_| 0.5 + rng.f32()).collect();
    let launch = |kernel: &str| TestLaunch::of(kernel, groups(cells, 192), [192, 1, 1]);
    let count = cells as i32;
    let at_start: Vec<f32> = far.iter().flat_map(|&x| vec![x; cells]).collect();
    let mut variables = at_start.clone();
    device.launch(
        launch("cfd_initialize")
            .output("variables", &vec![0f32; at_start.len()], &at_start)
            .input("far", &far)
            .value("cells", count),
    )?;
    for _ in 0..2 {
        let end = device.launch(
            launch("cfd_step_factor")
                .input("variables", &variables)
                .input("areas", &areas)
                .scratch("factors", &vec![0f32; cells])
                .value("cells", count),
        )?;
        let factors: Vec<f32> = end.read("factors")?;
        for _ in 0..3 {
            let end = device.launch(
                launch("cfd_flux")
                    .input("variables", &variables)
                    .input("neighbours", &neighbours)
                    .input("normals", &normals)
                    .input("far", &far)
                    .scratch("fluxes", &vec![0f32; VARIABLES * cells])
                    .value("cells", count),
            )?;
            let fluxes: Vec<f32> = end.read("fluxes")?;
            let product = |at: usize| f64::from(factors[at % cells]) * f64::from(fluxes[at]);
            let after: Vec<f64> = (0..variables.len())
                .map(|at| f64::from(variables[at]) - product(at))
                .collect();
            let end = device.launch(
                launch("cfd_advance")
                    .scratch("variables", &variables)
                    .input("fluxes", &fluxes)
                    .input("factors", &factors)
                    .value("cells", count),
            )?;
            variables = end.read("variables")?;
            check_near("variables", &variables, &after, 1e-5)?;
        }
    }
    let densities = &variables[..cells];
    let is_fluid = |&density: &f32| density > 0.1 && density < 10.0;
    check_equal(
        "cells of fluid",
        &[densities.iter().filter(|d| is_fluid(d)).count()],
        &[cells],
    )
}

fn wavelet(side: usize, device: &mut HostDevice<'_>) -> Result<(), Diagnostic> {
    let mut rng = fastrand::Rng::with_seed(8);
    let mut image: Vec<i32> = (0..side * side).map(|_| rng.i32(0..256)).collect();
    let mut side = side;
    for _ in 0..3 {
        if side < 2 {
            break;
        }
        let rows: Vec<i32> = image.chunks(side).flat_map(transform_53).collect();
        device.launch(
            TestLaunch::of("wavelet_rows", [side as u32, 1, 1], [64, 1, 1])
                .input("in", &image)
                .output("out", &vec![0; image.len()], &rows)
                .value("width", side as i32),
        )?;
        let mut columns = vec![0; rows.len()];
        for x in 0..side {
            let column: Vec<i32> = rows.iter().skip(x).step_by(side).copied().collect();
            for (y, number) in transform_53(&column).into_iter().enumerate() {
                columns[y * side + x] = number;
            }
        }
        device.launch(
            TestLaunch::of("wavelet_columns", groups(side, 64), [64, 1, 1])
                .input("in", &rows)
                .output("out", &vec![0; rows.len()], &columns)
                .value("width", side as i32)
                .value("height", side as i32),
        )?;
        let coarse = side.div_ceil(2);
        let lines = columns.chunks(side).take(coarse);
        image = lines.flat_map(|line| &line[..coarse]).copied().collect();
        side = coarse;
    }
    Ok(())
}

fn follow(frames: usize, device: &mut HostDevice<'_>) -> Result<(), Diagnostic> {
    const SIDE: usize = 128;
    const POINTS: usize = 51;
    const PATCH: usize = 11;
    // Most that the picture is shifted in a direction.
    const SHIFT: usize = 8;
    let mut rng = fastrand::Rng::with_seed(9);
    let wide = SIDE + SHIFT;
    let picture: Vec<u8> = (0..wide * wide).map(|_| rng.u8(..)).collect();
    let frame = |(across, down): (usize, usize)| -> Vec<u8> {
        let lines = picture.chunks(wide).skip(down).take(SIDE);
        lines
            .flat_map(|line| &line[across..][..SIDE])
            .copied()
            .collect()
    };
    let mut shift = (SHIFT / 2, SHIFT / 2);
    let first = frame(shift);
    let margin = 24;
    let mut places: Vec<[i32; 2]> = (0..POINTS)
        .map(|_| [(); 2].map(|()| rng.usize(margin..SIDE - margin) as i32))
        .collect();
    let mut templates: Vec<u8> = Vec::new();
    for &[x, y] in &places {
        for row in 0..PATCH {
            let at = (y as usize - PATCH / 2 + row) * SIDE + x as usize - PATCH / 2;
            templates.extend(&first[at..][..PATCH]);
        }
    }
    for _ in 0..frames {
        let moved = |rng: &mut fastrand::Rng, at: usize| {
            (at + rng.usize(0..5)).saturating_sub(2).min(SHIFT)
        };
        let next = (moved(&mut rng, shift.0), moved(&mut rng, shift.1));
        let by = [
            next.0 as i32 - shift.0 as i32,
            next.1 as i32 - shift.1 as i32,
        ];
        let flat: Vec<i16> = places.iter().flatten().map(|&at| at as i16).collect();
        for place in &mut places {
            *place = [place[0] - by[0], place[1] - by[1]];
        }
        let flat_places: Vec<i32> = places.iter().copied().flatten().collect();
        let ones = vec![1f32; POINTS];
        device.launch(
            TestLaunch::of("heart_wall", [POINTS as u32, 1, 1], [256, 1, 1])
                .input("frame", &frame(next))
                .value("width", SIDE as i32)
                .value("height", SIDE as i32)
                .input("points", &flat)
                .input("templates", &templates)
                .value("reach", 10)
                .output("places", &vec![0; 2 * POINTS], &flat_places)
                // The pattern is found again unchanged.
                .output_within("fits", &vec![0f32; POINTS], &ones, 0.0, 1e-5),
        )?;
        shift = next;
    }
    Ok(())
}

fn heat(side: usize, device: &mut HostDevice<'_>) -> Result<(), Diagnostic> {
    let mut rng = fastrand::Rng::with_seed(10);
    let mut field = |low: f32, high: f32| -> Vec<f32> {
        let points = 0..side * side;
        points.map(|_| low + rng.f32() * (high - low)).collect()
    };
    let (power, mut now) = (field(0.0, 1.0), field(40.0, 100.0));
    let [capacity, across, down, ambient] = [0.5f32, 0.1, 0.2, 0.03];
    let mut expected: Vec<f64> = now.iter().map(|&h| h.into()).collect();
    for _ in 0..4 {
        let old = expected.clone();
        for (at, new) in expected.iter_mut().enumerate() {
            let (x, y) = (at % side, at / side);
            let of = |x: usize, y: usize| old[y.min(side - 1) * side + x.min(side - 1)];
            let here = old[at];
            let vertical = of(x, y.saturating_sub(1)) + of(x, y + 1) - 2.0 * here;
            let horizontal = of(x.saturating_sub(1), y) + of(x + 1, y) - 2.0 * here;
            let gained = f64::from(power[at])
                + vertical * f64::from(down)
                + horizontal * f64::from(across)
                + (80.0 - here) * f64::from(ambient);
            *new = here + f64::from(capacity) * gained;
        }
    }
    let patches = side.div_ceil(16 - 2 * 2) as u32;
    for _ in 0..2 {
        let end = device.launch(
            TestLaunch::of("hotspot", [patches, patches, 1], [16, 16, 1])
                .input("power", &power)
                .input("before", &now)
                .scratch("after", &vec![0f32; now.len()])
                .value("width", side as i32)
                .value("height", side as i32)
                .value("steps", 2)
                .value("capacity", capacity)
                .value("across", across)
                .value("down", down)
                .value("ambient", ambient),
        )?;
        now = end.read("after")?;
    }
    check_near("heat", &now, &expected, 1e-2)
}

/// One step of the diffusion in double precision, on pixels by column.
fn diffuse(image: &[f64], side: usize, lambda: f64) -> Vec<f64> {
    let count = image.len() as f64;
    let mean = image.iter().sum::<f64>() / count;
    let variance = image.iter().map(|x| x * x).sum::<f64>() / count - mean * mean;
    let noise = variance / (mean * mean);
    let clamped = |row: usize, column: usize| column.min(side - 1) * side + row.min(side - 1);
    let around = |at: usize| {
        let (row, column) = (at % side, at / side);
        [
            clamped(row.saturating_sub(1), column),
            clamped(row + 1, column),
            clamped(row, column.saturating_sub(1)),
            clamped(row, column + 1),
        ]
    };
    let steps = |at: usize| around(at).map(|other| image[other] - image[at]);
    let coefficients: Vec<f64> = (0..image.len())
        .map(|at| {
            let steps = steps(at).map(|step| step / image[at]);
            let square: f64 = steps.iter().map(|step| step * step).sum();
            let laplacian: f64 = steps.iter().sum();
            let spread = square / 2.0 - laplacian * laplacian / 16.0;
            let variation = spread / (1.0 + laplacian / 4.0).powi(2);
            (1.0 / (1.0 + (variation - noise) / (noise * (1.0 + noise)))).clamp(0.0, 1.0)
        })
        .collect();
    (0..image.len())
        .map(|at| {
            let [_, south, _, east] = around(at).map(|other| coefficients[other]);
            let [up, below, left, right] = steps(at);
            let own = coefficients[at];
            image[at] + lambda / 4.0 * (own * up + south * below + own * left + east * right)
        })
        .collect()
}

fn speckle(side: usize, device: &mut HostDevice<'_>) -> Result<(), Diagnostic> {
    const GROUP: usize = 256;
    let mut rng = fastrand::Rng::with_seed(11);
    let count = side * side;
    let stored: Vec<f32> = (0..count).map(|_| rng.u8(..).into()).collect();
    let launch = |kernel: &str| TestLaunch::of(kernel, groups(count, GROUP), [GROUP as u32, 1, 1]);
    let size = count as i32;
    let end = device.launch(
        launch("srad_extract")
            .scratch("image", &stored)
            .value("count", size),
    )?;
    let mut image: Vec<f32> = end.read("image")?;
    let mut expected: Vec<f64> = stored
        .iter()
        .map(|&x| (f64::from(x) / 255.0).exp())
        .collect();
    let zeros = vec![0f32; count];
    for _ in 0..20 {
        let nothing = vec![0f32; count.div_ceil(GROUP)];
        let end = device.launch(
            launch("srad_sums")
                .input("image", &image)
                .scratch("sums", &nothing)
                .scratch("squares", &nothing)
                .value("count", size),
        )?;
        let total = |name: &str| -> Result<f64, Diagnostic> {
            let parts: Vec<f32> = end.read(name)?;
            Ok(parts.into_iter().map(f64::from).sum::<f64>() / count as f64)
        };
        let (mean, square) = (total("sums")?, total("squares")?);
        let noise = (square - mean * mean) / (mean * mean);
        let end = device.launch(
            launch("srad_coefficient")
                .input("image", &image)
                .scratch("north", &zeros)
                .scratch("south", &zeros)
                .scratch("west", &zeros)
                .scratch("east", &zeros)
                .scratch("coefficient", &zeros)
                .value("rows", side as i32)
                .value("columns", side as i32)
                .value("noise", noise as f32),
        )?;
        let mut update = launch("srad_update").scratch("image", &image);
        for name in ["north", "south", "west", "east", "coefficient"] {
            update = update.input(name, &end.read::<f32>(name)?);
        }
        let end = device.launch(
            update
                .value("rows", side as i32)
                .value("columns", side as i32)
                .value("lambda", 0.5f32),
        )?;
        image = end.read("image")?;
        expected = diffuse(&expected, side, 0.5);
    }
    let end = device.launch(
        launch("srad_compress")
            .scratch("image", &image)
            .value("count", size),
    )?;
    let expected: Vec<f64> = expected.iter().map(|x| x.ln() * 255.0).collect();
    check_near("image", &end.read::<f32>("image")?, &expected, 0.05)
}
