//! Texture reads: point sampling, linear filtering, gather (CUDA C++ Programming Guide, appendix "Texture Fetching").
//!
//! Choices where the guide leaves the result open:
//!
//! - Coordinates are single precision; scaling and filtering use double precision, and the result is rounded once.
//! - The coefficients of linear filtering have 8 bits of fraction; they are rounded to the nearest, halves up, and 1 is
//!   the same as 0 with the next texel.
//! - `tld4` reads the four texels that linear filtering would blend.
//! - A texel fetched by integer coordinates outside the texture is 0 in every address mode.
//! - Layer numbers are clamped to the last layer. Absent components are 0, the fourth 1.
//! - The border colour is 0. A NaN coordinate is read as 0.
//! - There is one level of detail, so levels, biases and derivatives do not matter.

use std::ops::Deref;

use half::f16;
use warpbound_launch::{AddressMode, Filter, TexelElement, Texture};

/// A component of a texel or of a result.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Component {
    Word(u32),
    Float(f64),
}

impl Component {
    /// The register value.
    pub(super) fn bits(self) -> u32 {
        match self {
            Component::Word(word) => word,
            Component::Float(value) => (value as f32).to_bits(),
        }
    }

    /// The component as a float.
    fn float(self) -> f64 {
        match self {
            Component::Word(word) => word.into(),
            Component::Float(value) => value,
        }
    }

    /// Decodes a component from its bytes.
    fn read(element: TexelElement, bytes: &[u8]) -> Component {
        let mut low = [0; 4];
        for (to, from) in low.iter_mut().zip(bytes).take(element.size() as usize) {
            *to = *from;
        }
        let word = u32::from_le_bytes(low);
        match element {
            TexelElement::U8 | TexelElement::U16 | TexelElement::U32 => Component::Word(word),
            TexelElement::S8 => Component::Word(word as i8 as u32),
            TexelElement::S16 => Component::Word(word as i16 as u32),
            TexelElement::S32 => Component::Word(word),
            TexelElement::F16 => Component::Float(half_to_f64(word as u16)),
            TexelElement::F32 => Component::Float(f32::from_bits(word).into()),
        }
    }

    /// Normalizes an 8- or 16-bit integer to 0 to 1 (unsigned) or -1 to 1 (signed).
    fn normalized(self, element: TexelElement) -> Component {
        let Component::Word(word) = self else {
            return self;
        };
        // The smallest integer is clamped: -128 and -127 are both -1.
        let signed = |max: f64| (f64::from(word as i32) / max).max(-1.0);
        Component::Float(match element {
            TexelElement::U8 => f64::from(word) / 255.0,
            TexelElement::U16 => f64::from(word) / 65535.0,
            TexelElement::S8 => signed(127.0),
            TexelElement::S16 => signed(32767.0),
            _ => return self,
        })
    }
}

/// Coordinates of a texture read.
pub(super) struct TexelCoordinates {
    /// Bits of the coordinates, single precision or integer; 0 for absent axes.
    pub(super) words: [u32; 3],
    pub(super) offsets: [i32; 3],
    pub(super) layer: u32,
}

/// Access to the bytes of a texel by its address.
pub(super) trait TexelSource {
    /// Error for a missing texel.
    type Error;
    /// Reads the `size` bytes of a texel, at most 16.
    fn read_texel(&mut self, address: u64, size: usize) -> Result<[u8; 16], Self::Error>;
}

/// The two texels along an axis between which linear filtering blends: the index of the first, and the weight of the
/// second in 1/256 (8 bits of fraction; CUDA C++ Programming Guide, "Linear Filtering"). For example, 1.75 lies
/// between the texels 1 and 2, and the second has the weight 64.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Neighbours {
    first: i64,
    weight: u32,
}

/// The sampler of one texture.
pub(super) struct Sampler<'a> {
    pub(super) texture: &'a Texture,
}

impl Deref for Sampler<'_> {
    type Target = Texture;

    fn deref(&self) -> &Texture {
        self.texture
    }
}

impl Sampler<'_> {
    /// Fetches the texel at integer coordinates.
    pub(super) fn fetch<T: TexelSource>(
        &self,
        coordinates: &TexelCoordinates,
        texels: &mut T,
    ) -> Result<[Component; 4], T::Error> {
        // Absent axes have the index 0.
        let mut inside = [Some(0); 3];
        for (axis, index) in inside.iter_mut().enumerate().take(self.axes()) {
            let requested =
                i64::from(coordinates.words[axis] as i32) + i64::from(coordinates.offsets[axis]);
            let size = self.image.size[axis];
            *index = u32::try_from(requested).ok().filter(|&n| n < size);
        }
        self.read(inside, coordinates.layer, texels)
    }

    /// Samples the texture: the texel that contains the coordinates, or the linear blend of the nearest.
    pub(super) fn sample<T: TexelSource>(
        &self,
        coordinates: &TexelCoordinates,
        texels: &mut T,
    ) -> Result<[Component; 4], T::Error> {
        if self.filter == Filter::Point {
            let mut inside = [Some(0); 3];
            for (axis, index) in inside.iter_mut().enumerate().take(self.axes()) {
                let number = to_integer(self.texel_coordinate(coordinates, axis).floor());
                *index = self.resolve_index(
                    axis,
                    number.saturating_add(coordinates.offsets[axis].into()),
                );
            }
            return self.read(inside, coordinates.layer, texels);
        }
        let neighbours = [0, 1, 2].map(|axis| self.neighbours(coordinates, axis));
        let mut blend = [0.0; 4];
        // Bit `axis` of the corner selects the first or the second neighbour along that axis.
        for corner in 0..1usize << self.axes() {
            let mut inside = [Some(0); 3];
            let mut weight = 1.0;
            for (axis, index) in inside.iter_mut().enumerate().take(self.axes()) {
                let Neighbours {
                    first,
                    weight: second,
                } = neighbours[axis];
                let is_second = corner >> axis & 1 == 1;
                let share = if is_second { second } else { 256 - second };
                weight *= f64::from(share) / 256.0;
                *index = self.resolve_index(axis, first.saturating_add(is_second.into()));
            }
            // A texel of weight 0 is not read: 0 times infinity would be NaN.
            if weight == 0.0 {
                continue;
            }
            let texel = self.read(inside, coordinates.layer, texels)?;
            for (sum, number) in blend.iter_mut().zip(texel) {
                *sum += weight * number.float();
            }
        }
        Ok(blend.map(Component::Float))
    }

    /// Reads one component of the four texels that linear filtering would blend, counterclockwise from the lower left
    /// (PTX `tld4`).
    pub(super) fn gather<T: TexelSource>(
        &self,
        coordinates: &TexelCoordinates,
        component: u8,
        texels: &mut T,
    ) -> Result<[Component; 4], T::Error> {
        let [x, y] = [0, 1].map(|axis| self.neighbours(coordinates, axis).first);
        let mut found = [Component::Word(0); 4];
        for (result, (right, down)) in found.iter_mut().zip([(0, 1), (1, 1), (1, 0), (0, 0)]) {
            let inside = [
                self.resolve_index(0, x.saturating_add(right)),
                self.resolve_index(1, y.saturating_add(down)),
                Some(0),
            ];
            let texel = self.read(inside, coordinates.layer, texels)?;
            *result = texel[usize::from(component & 3)];
        }
        Ok(found)
    }

    /// Number of axes of the texture.
    fn axes(&self) -> usize {
        self.image.kind.dimensions()
    }

    /// Coordinate along an axis, in texels.
    fn texel_coordinate(&self, coordinates: &TexelCoordinates, axis: usize) -> f64 {
        let coordinate = f64::from(f32::from_bits(coordinates.words[axis]));
        match self.normalized_coordinates {
            true => coordinate * f64::from(self.image.size[axis]),
            false => coordinate,
        }
    }

    /// The neighbours along an axis: texel centres are at half-integers, and weights are rounded half up.
    fn neighbours(&self, coordinates: &TexelCoordinates, axis: usize) -> Neighbours {
        let fine =
            to_integer(((self.texel_coordinate(coordinates, axis) - 0.5) * 256.0 + 0.5).floor());
        Neighbours {
            first: fine.div_euclid(256) + i64::from(coordinates.offsets[axis]),
            weight: fine.rem_euclid(256) as u32,
        }
    }

    /// Applies the address mode to a texel index; `None` for the border. Without normalized coordinates, wrap and
    /// mirror act as clamp (CUDA C++ Programming Guide).
    fn resolve_index(&self, axis: usize, number: i64) -> Option<u32> {
        let size = i64::from(self.image.size[axis]);
        let mode = match (self.address[axis], self.normalized_coordinates) {
            (AddressMode::Wrap | AddressMode::Mirror, false) => AddressMode::Clamp,
            (mode, _) => mode,
        };
        let number = match mode {
            AddressMode::Wrap => number.rem_euclid(size),
            AddressMode::Clamp => number.clamp(0, size - 1),
            AddressMode::Mirror => {
                // The texture and its mirror image repeat together, every `2 * size` texels.
                let place = number.rem_euclid(2 * size);
                place.min(2 * size - 1 - place)
            }
            AddressMode::Border if (0..size).contains(&number) => number,
            AddressMode::Border => return None,
        };
        u32::try_from(number).ok()
    }

    /// Reads the components of a texel, or of the border if an axis has no index.
    fn read<T: TexelSource>(
        &self,
        inside: [Option<u32>; 3],
        layer: u32,
        texels: &mut T,
    ) -> Result<[Component; 4], T::Error> {
        let image = &self.image;
        let element = image.element;
        let is_float = element.is_float() || self.normalized_read;
        let number = |whole: u32| match is_float {
            true => Component::Float(whole.into()),
            false => Component::Word(whole),
        };
        let [Some(x), Some(y), Some(z)] = inside else {
            return Ok([number(0); 4]);
        };
        let address = image.address_of([x, y, z], layer.min(image.layers - 1));
        let bytes = texels.read_texel(address, image.texel_size() as usize)?;
        let mut result = [number(0), number(0), number(0), number(1)];
        let parts = bytes.chunks_exact(element.size() as usize);
        for (to, part) in result.iter_mut().zip(parts).take(image.channels.into()) {
            let value = Component::read(element, part);
            *to = match self.normalized_read {
                true => value.normalized(element),
                false => value,
            };
        }
        Ok(result)
    }
}

/// Converts a binary16 number. The guide says nothing about the bits of NaNs: a read gives the canonical one.
fn half_to_f64(bits: u16) -> f64 {
    let value = f16::from_bits(bits).to_f64();
    match value.is_nan() {
        true => f64::NAN,
        false => value,
    }
}

/// Converts an integral float, clamped to ±2^52; NaN gives 0.
fn to_integer(whole: f64) -> i64 {
    const MAX: f64 = (1i64 << 52) as f64;
    // The clamp leaves room for adding offsets; `as` converts NaN to 0.
    whole.clamp(-MAX, MAX) as i64
}

#[cfg(test)]
mod tests;
