//! Reference of texture reads in double precision, after the formulas of the CUDA C++ Programming Guide, appendix
//! "Texture Fetching".

use warpbound_launch::{AddressMode, TextureBinding};

/// Sampling state of a texture.
#[derive(Clone, Copy)]
pub(super) struct Sampler {
    pub(super) linear: bool,
    pub(super) normalized: bool,
    pub(super) mode: AddressMode,
}

/// Texels as numbers; missing axes have size 1.
pub(super) struct ReferenceImage {
    pub(super) size: [usize; 3],
    pub(super) channels: usize,
    pub(super) layers: usize,
    /// Values in the order channel, texel, row, slice, layer, channels fastest.
    pub(super) values: Vec<f64>,
}

impl Sampler {
    /// Returns the sampling state of a launch number, which cycles through filters, address modes and kinds of
    /// coordinates.
    pub(super) fn of(number: u64) -> Sampler {
        let mode = [
            AddressMode::Clamp,
            AddressMode::Mirror,
            AddressMode::Border,
            AddressMode::Wrap,
        ][number as usize % 4];
        let turns = matches!(mode, AddressMode::Wrap | AddressMode::Mirror);
        Sampler {
            linear: number % 3 != 1,
            normalized: turns || number % 5 == 2,
            mode,
        }
    }

    pub(super) fn set(self, texture: &mut TextureBinding) {
        texture.linear_filter = self.linear;
        texture.normalized_coordinates = self.normalized;
        for (axis, mode) in texture.address.iter_mut().enumerate() {
            if axis == 0 || texture.image.size[axis] > 1 {
                *mode = self.mode;
            }
        }
    }

    /// Draws a coordinate from half a size before the image to half a size after it.
    pub(super) fn coordinate(self, size: usize, rng: &mut fastrand::Rng) -> f32 {
        let part = rng.i32(-2048..6144) as f32 / 4096.0;
        match self.normalized {
            true => part,
            false => (part * size as f32 * 64.0).floor() / 64.0,
        }
    }

    fn texel(self, index: f64, size: usize) -> Option<usize> {
        let last = size as f64 - 1.0;
        let mut index = index;
        match self.mode {
            AddressMode::Clamp => index = index.max(0.0).min(last),
            AddressMode::Border if index < 0.0 || index > last => return None,
            AddressMode::Border => {}
            AddressMode::Wrap => index -= (index / size as f64).floor() * size as f64,
            AddressMode::Mirror => {
                while index < 0.0 || index > last {
                    index = if index < 0.0 {
                        -1.0 - index
                    } else {
                        2.0 * last + 1.0 - index
                    };
                }
            }
        }
        Some(index as usize)
    }

    /// Returns the first of two neighbouring texels and the weight of the second, with 8 fraction bits.
    pub(super) fn interpolation(self, coordinate: f32, size: usize) -> (f64, f64) {
        let scale = if self.normalized { size as f64 } else { 1.0 };
        let moved = f64::from(coordinate) * scale - 0.5;
        let part = ((moved - moved.floor()) * 256.0 + 0.5).floor() / 256.0;
        match part < 1.0 {
            true => (moved.floor(), part),
            false => (moved.floor() + 1.0, 0.0),
        }
    }
}

impl ReferenceImage {
    /// Returns the texel at an index that may be outside, by the address mode.
    pub(super) fn texel_at(&self, sampler: Sampler, index: [f64; 3], layer: usize) -> Vec<f64> {
        let axes = [0, 1, 2].map(|axis| match self.size[axis] {
            1 => Some(0),
            size => sampler.texel(index[axis], size),
        });
        let [Some(x), Some(y), Some(z)] = axes else {
            return vec![0.0; self.channels];
        };
        let layer = layer.min(self.layers - 1);
        let [width, height, depth] = self.size;
        let first = (((layer * depth + z) * height + y) * width + x) * self.channels;
        self.values[first..first + self.channels].to_vec()
    }

    /// Returns the result of a texture read.
    pub(super) fn sample(&self, sampler: Sampler, at: [f32; 3], layer: usize) -> Vec<f64> {
        if !sampler.linear {
            let index = [0, 1, 2].map(|axis| {
                let scale = if sampler.normalized {
                    self.size[axis] as f64
                } else {
                    1.0
                };
                (f64::from(at[axis]) * scale).floor()
            });
            return self.texel_at(sampler, index, layer);
        }
        let [(i, a), (j, b), (k, c)] =
            [0, 1, 2].map(|axis| sampler.interpolation(at[axis], self.size[axis]));
        let near = |x: f64, y: f64, z: f64| self.texel_at(sampler, [i + x, j + y, k + z], layer);
        let mix = |p: Vec<f64>, q: Vec<f64>, part: f64| -> Vec<f64> {
            p.iter()
                .zip(&q)
                .map(|(p, q)| (1.0 - part) * p + part * q)
                .collect()
        };
        let row = |y, z| mix(near(0.0, y, z), near(1.0, y, z), a);
        let slice = |z| mix(row(0.0, z), row(1.0, z), b);
        mix(slice(0.0), slice(1.0), c)
    }
}

/// Draws small numbers that are exact in singles; returns them as singles and doubles.
pub(super) fn floats(count: usize, rng: &mut fastrand::Rng) -> (Vec<f32>, Vec<f64>) {
    let numbers: Vec<f32> = (0..count)
        .map(|_| rng.i32(-999..999) as f32 / 8.0)
        .collect();
    let wide = numbers.iter().map(|&n| n.into()).collect();
    (numbers, wide)
}
