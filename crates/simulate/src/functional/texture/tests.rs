//! Texture reads against exact integer arithmetic: coordinates and weights are fractions with known denominators.

use warpbound_ir::ImageKind;
use warpbound_launch::TexelArray;

use super::*;

/// Denominator of the test coordinates.
const PARTS: i64 = 4096;

struct Bytes(Vec<u8>);

impl TexelSource for Bytes {
    type Error = u64;

    fn read_texel(&mut self, address: u64, size: usize) -> Result<[u8; 16], u64> {
        let mut texel = [0; 16];
        let found = self.0.get(address as usize..address as usize + size);
        texel[..size].copy_from_slice(found.ok_or(address)?);
        Ok(texel)
    }
}

const KINDS: [ImageKind; 5] = [
    ImageKind::D1,
    ImageKind::D2,
    ImageKind::D3,
    ImageKind::Layered1,
    ImageKind::Layered2,
];

const MODES: [AddressMode; 4] = [
    AddressMode::Wrap,
    AddressMode::Clamp,
    AddressMode::Mirror,
    AddressMode::Border,
];

/// A random texture of floats with integer values, its bytes, and the values.
fn texture(kind: ImageKind, rng: &mut fastrand::Rng) -> (Texture, Bytes, Vec<i64>) {
    let mut size = [1; 3];
    for length in size.iter_mut().take(kind.dimensions()) {
        *length = rng.u32(1..9);
    }
    let layers = if kind.is_layered() { rng.u32(1..4) } else { 1 };
    let channels = [1, 2, 4][rng.usize(..3)];
    let count = size.iter().product::<u32>() * layers * u32::from(channels);
    // Small integers, so that the expected sums are exact.
    let values: Vec<i64> = (0..count).map(|_| rng.i64(-500..500)).collect();
    let bytes = values.iter().flat_map(|&n| (n as f32).to_le_bytes());
    let normalized_coordinates = rng.bool();
    let texture = Texture {
        name: "t".to_owned(),
        handle: 1,
        image: TexelArray {
            kind,
            size,
            layers,
            element: TexelElement::F32,
            channels,
            address: 0,
        },
        linear_memory: false,
        normalized_read: false,
        filter: [Filter::Point, Filter::Linear][rng.usize(..2)],
        // Without normalized coordinates, wrap and mirror act as clamp, which another test checks.
        address: [(); 3].map(|()| match normalized_coordinates {
            true => MODES[rng.usize(..4)],
            false => [AddressMode::Clamp, AddressMode::Border][rng.usize(..2)],
        }),
        normalized_coordinates,
    };
    texture.check().expect("it can be read");
    (texture, Bytes(bytes.collect()), values)
}

/// Index of the texel at `index` in an address mode, found by stepping from 0; `None` for the border.
fn wrapped_index(mode: AddressMode, index: i64, size: i64) -> Option<i64> {
    let (mut place, mut step) = (0, 1);
    for _ in 0..index.abs() {
        let next = place + if index < 0 { -step } else { step };
        if (0..size).contains(&next) {
            place = next;
            continue;
        }
        match mode {
            AddressMode::Clamp => {}
            AddressMode::Border => return None,
            AddressMode::Wrap => place = if next < 0 { size - 1 } else { 0 },
            // The edge texel occurs twice, then the direction reverses.
            AddressMode::Mirror => step = -step,
        }
    }
    Some(place)
}

/// Expected component in units of 1 / 2^24, for coordinates in units of 1 / PARTS.
fn expected(texture: &Texture, values: &[i64], at: [i64; 3], layer: u32, component: usize) -> i64 {
    let image = &texture.image;
    let axes = image.kind.dimensions();
    // Per axis: texels and their weights in 1/256.
    let mut weights: Vec<Vec<(Option<i64>, i64)>> = Vec::new();
    for (axis, at) in at.into_iter().enumerate() {
        let size = i64::from(image.size[axis]);
        if axis >= axes {
            weights.push(vec![(Some(0), 256)]);
            continue;
        }
        let scale = if texture.normalized_coordinates {
            size
        } else {
            1
        };
        let number = |index| wrapped_index(texture.address[axis], index, size);
        weights.push(match texture.filter {
            Filter::Point => vec![(number((at * scale).div_euclid(PARTS)), 256)],
            Filter::Linear => {
                // (x - 1/2) in 256ths, rounded.
                let moved = 2 * at * scale - PARTS;
                let fine = (moved * 256 + PARTS).div_euclid(2 * PARTS);
                let (first, part) = (fine >> 8, fine & 255);
                vec![(number(first), 256 - part), (number(first + 1), part)]
            }
        });
    }
    let layer = i64::from(layer.min(image.layers - 1));
    let channels = usize::from(image.channels);
    let mut sum = 0;
    for &(x, a) in &weights[0] {
        for &(y, b) in &weights[1] {
            for &(z, c) in &weights[2] {
                let (Some(x), Some(y), Some(z)) = (x, y, z) else {
                    continue;
                };
                let [width, height, depth] = image.size.map(i64::from);
                let texel = ((layer * depth + z) * height + y) * width + x;
                let value = match component {
                    n if n < channels => values[texel as usize * channels + n],
                    3 => 1,
                    _ => 0,
                };
                sum += a * b * c * value;
            }
        }
    }
    sum
}

#[test]
fn random_coordinates_of_every_kind() {
    let mut rng = fastrand::Rng::with_seed(7);
    for kind in KINDS {
        for _ in 0..1_000 {
            let (texture, mut texels, values) = texture(kind, &mut rng);
            for _ in 0..10 {
                let at = [0, 1, 2].map(|axis| {
                    let size = match texture.normalized_coordinates {
                        true => 1,
                        false => i64::from(texture.image.size[axis]),
                    };
                    // Three sizes below the texture and above it, so that the address modes repeat.
                    rng.i64(-3 * PARTS * size..4 * PARTS * size)
                });
                let coordinates = TexelCoordinates {
                    // Exact: the numerators have less than 24 bits, and `PARTS` is a power of two.
                    words: at.map(|n| (n as f32 / PARTS as f32).to_bits()),
                    offsets: [0; 3],
                    layer: rng.u32(..5),
                };
                let sampler = Sampler { texture: &texture };
                let found = sampler
                    .sample(&coordinates, &mut texels)
                    .expect("it is there");
                for (component, number) in found.into_iter().enumerate() {
                    let sum = expected(&texture, &values, at, coordinates.layer, component);
                    let wanted = (sum as f64 / f64::from(1 << 24)) as f32;
                    // The sign of a zero is not compared, because the expected integers have none.
                    let same =
                        number.bits() == wanted.to_bits() || number.float() == 0.0 && sum == 0;
                    assert!(
                        same,
                        "{texture:?} {at:?} {component}: {number:?}, not {wanted}"
                    );
                }
            }
        }
    }
}

/// A row of the floats 1, 2, 3, 4.
fn row(mode: AddressMode, filter: Filter, normalized: bool) -> (Texture, Bytes) {
    let bytes = [1.0f32, 2.0, 3.0, 4.0].map(f32::to_le_bytes).concat();
    let texture = Texture {
        name: "row".to_owned(),
        handle: 1,
        image: TexelArray {
            kind: ImageKind::D1,
            size: [4, 1, 1],
            layers: 1,
            element: TexelElement::F32,
            channels: 1,
            address: 0,
        },
        linear_memory: false,
        normalized_read: false,
        filter,
        address: [mode; 3],
        normalized_coordinates: normalized,
    };
    (texture, Bytes(bytes))
}

fn read(texture: &Texture, texels: &mut Bytes, x: f32) -> f64 {
    let coordinates = TexelCoordinates {
        words: [x.to_bits(), 0, 0],
        offsets: [0; 3],
        layer: 0,
    };
    let sampler = Sampler { texture };
    let found = sampler.sample(&coordinates, texels);
    found.expect("it is there")[0].float()
}

#[test]
fn edges_of_address_modes() {
    use AddressMode::{Border, Clamp, Mirror, Wrap};
    // Mode, normalized coordinate, results of point and linear filtering.
    for (mode, x, point, linear) in [
        (Clamp, 0.0, 1.0, 1.0),
        (Clamp, 1.0, 4.0, 4.0),
        (Clamp, -7.5, 1.0, 1.0),
        (Clamp, f32::INFINITY, 4.0, 4.0),
        (Clamp, f32::NEG_INFINITY, 1.0, 1.0),
        (Clamp, f32::NAN, 1.0, 1.0),
        (Clamp, 0.375, 2.0, 2.0),
        (Clamp, 0.5, 3.0, 2.5),
        (Border, 0.0, 1.0, 0.5),
        (Border, 1.0, 0.0, 2.0),
        (Border, -0.25, 0.0, 0.0),
        (Border, f32::MAX, 0.0, 0.0),
        (Wrap, 0.0, 1.0, 2.5),
        (Wrap, 1.0, 1.0, 2.5),
        (Wrap, -0.125, 4.0, 4.0),
        (Wrap, 2.375, 2.0, 2.0),
        (Mirror, 0.0, 1.0, 1.0),
        (Mirror, 1.0, 4.0, 4.0),
        (Mirror, -0.375, 2.0, 2.0),
        (Mirror, 1.125, 4.0, 4.0),
        (Mirror, 2.125, 1.0, 1.0),
    ] {
        for (filter, wanted) in [(Filter::Point, point), (Filter::Linear, linear)] {
            let (texture, mut texels) = row(mode, filter, true);
            let found = read(&texture, &mut texels, x);
            assert_eq!(found, wanted, "{mode:?} {filter:?} at {x}");
        }
    }
}

#[test]
fn without_normalized_coordinates_wrap_and_mirror_clamp() {
    for mode in [AddressMode::Wrap, AddressMode::Mirror, AddressMode::Clamp] {
        let (texture, mut texels) = row(mode, Filter::Point, false);
        assert_eq!(read(&texture, &mut texels, -0.5), 1.0);
        assert_eq!(read(&texture, &mut texels, 3.99), 4.0);
        assert_eq!(read(&texture, &mut texels, 5.0), 4.0);
    }
}

/// A filter weight has 8 bits of fraction: 1/512 is a tie, which rounds up.
#[test]
fn coefficients_are_rounded() {
    let (texture, mut texels) = row(AddressMode::Clamp, Filter::Linear, false);
    for (part, steps) in [
        (0.0, 0),
        (0.9, 0),
        (1.0, 1),
        (2.9, 1),
        (3.0, 2),
        (510.9, 255),
        (511.0, 256),
    ] {
        let found = read(&texture, &mut texels, 1.5 + part / 512.0);
        assert_eq!(found, 2.0 + f64::from(steps) / 256.0, "{part}");
    }
}

#[test]
fn texels_by_number() {
    let (texture, mut texels) = row(AddressMode::Clamp, Filter::Linear, true);
    for (index, offset, wanted) in [
        (0, 0, 1.0),
        (3, 0, 4.0),
        (4, 0, 0.0),
        (-1, 0, 0.0),
        (-1, 2, 2.0),
    ] {
        let coordinates = TexelCoordinates {
            words: [index as u32, 9, 9],
            offsets: [offset, 0, 0],
            layer: 0,
        };
        let sampler = Sampler { texture: &texture };
        let found = sampler
            .fetch(&coordinates, &mut texels)
            .expect("it is there");
        assert_eq!(found[0].float(), wanted, "{index} {offset}");
    }
}

#[test]
fn numbers_of_texels() {
    use TexelElement::{F16, S8, S16, S32, U8, U16, U32};
    // Element, bytes, register value of a plain read, and of a normalized read.
    for (element, bytes, plain, normalized) in [
        (U8, 255u32, 255u32, 1.0f32),
        (U8, 51, 51, 0.2),
        (S8, 0x80, -128i32 as u32, -1.0),
        (S8, 0x81, -127i32 as u32, -1.0),
        (S8, 0x7f, 127, 1.0),
        (U16, 0xffff, 0xffff, 1.0),
        (S16, 0x8000, -32768i32 as u32, -1.0),
        (S16, 0x4000, 0x4000, (16384.0f64 / 32767.0) as f32),
        (U32, 0xdead_beef, 0xdead_beef, f32::NAN),
        (S32, 0xdead_beef, 0xdead_beef, f32::NAN),
        (F16, 0x3c00, 1.0f32.to_bits(), f32::NAN),
        (F16, 0x8001, (-(2f32.powi(-24))).to_bits(), f32::NAN),
        (F16, 0x7c00, f32::INFINITY.to_bits(), f32::NAN),
        (F16, 0xfbff, (-65504.0f32).to_bits(), f32::NAN),
    ] {
        let value = Component::read(element, &bytes.to_le_bytes());
        assert_eq!(value.bits(), plain, "{element:?} {bytes:#x}");
        // NaN stands for elements that have no normalized read.
        if !normalized.is_nan() {
            assert_eq!(value.normalized(element).bits(), normalized.to_bits());
        }
    }
}

#[test]
fn incompatible_properties_are_refused() {
    let (texture, _) = row(AddressMode::Clamp, Filter::Linear, false);
    let refused = |change: &dyn Fn(&mut Texture)| {
        let mut texture = texture.clone();
        change(&mut texture);
        texture.check().expect_err("it is refused")
    };
    assert!(refused(&|t| t.image.element = TexelElement::S32).contains("filtered"));
    assert!(refused(&|t| t.normalized_read = true).contains("8 and 16 bits"));
    assert!(refused(&|t| t.image.channels = 3).contains("3 channels"));
    assert!(refused(&|t| t.image.size[0] = 0).contains("no texels"));
    assert!(refused(&|t| t.image.size = [u32::MAX; 3]).contains("too large"));
}

/// Each finite binary16 number is as far from its neighbour as the exponent says.
#[test]
fn half_numbers_ascend_in_steps_of_their_exponent() {
    for bits in 0..0x7bffu16 {
        let (value, next) = (half_to_f64(bits), half_to_f64(bits + 1));
        // Ten bits of fraction; subnormal numbers share the exponent of the smallest normal ones.
        let step = 2f64.powi(i32::from((bits >> 10).max(1)) - 25);
        assert_eq!(next - value, step, "{bits:#x}");
        assert_eq!(half_to_f64(bits | 0x8000), -value);
    }
    assert_eq!(half_to_f64(0x7c00), f64::INFINITY);
    for nan in [0x7c01, 0x7e01, 0xffff] {
        assert_eq!(half_to_f64(nan).to_bits(), f64::NAN.to_bits());
    }
}
