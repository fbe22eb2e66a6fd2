//! Textures: what a read gives (CUDA C++ Programming Guide, appendix "Texture Fetching").
//!
//! What the guide leaves open is taken so:
//!
//! - Coordinates are singles; they are scaled, shifted and mixed in double precision, and the result is rounded once.
//! - The coefficients of linear filtering have 8 bits of fraction; they are rounded to the nearest, halves up, and 1 is
//!   the same as 0 with the next texel.
//! - `tld4` takes the four texels that linear filtering would mix.
//! - A texel read by integer coordinates outside the texture is 0, whatever the address mode is.
//! - Layers beyond the last are the last. Components that texels do not have are 0, the fourth 1.
//! - The colour of the border is 0. A coordinate that is no number is taken as 0.
//! - There is one level of detail, so levels, biases and derivatives do not matter.

use warpbound_ir::ImageKind;

/// A texture as a launch binds it to an object.
#[derive(Clone, PartialEq, Debug)]
pub struct Texture {
    /// The name that messages use.
    pub name: String,
    /// The low word of its object: the number of the texture in bits 19:0, of the sampler in bits 31:20.
    pub handle: u32,
    /// How texels are arranged.
    pub image: TexelArray,
    /// Whether reads through integer coordinates alone are possible: linear memory.
    pub linear_memory: bool,
    /// Integers of 8 and 16 bits become 0 to 1, or -1 to 1.
    pub normalized_read: bool,
    /// Whether texels are mixed.
    pub filter: Filter,
    /// What happens outside, along each axis.
    pub address: [AddressMode; 3],
    /// Coordinates go from 0 to 1 along each axis. Without it, wrap and mirror are clamp.
    pub normalized_coordinates: bool,
}

/// Texels in global memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TexelArray {
    /// How they are arranged.
    pub kind: ImageKind,
    /// Texels along each axis, 1 where there is none.
    pub size: [u32; 3],
    /// Layers, 1 where there are none.
    pub layers: u32,
    /// What a texel is made of.
    pub element: TexelElement,
    /// Numbers of a texel: 1, 2 or 4.
    pub channels: u8,
    /// The address of the first texel; rows, slices and layers follow each other without gaps.
    pub address: u64,
}

/// A number of a texel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum TexelElement {
    U8,
    S8,
    U16,
    S16,
    U32,
    S32,
    F16,
    F32,
}

/// What is made of the texels around a coordinate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Filter {
    /// The one in which it lies.
    Point,
    /// Those nearest are mixed.
    Linear,
}

/// What stands for a texel outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AddressMode {
    /// The texture again.
    Wrap,
    /// The texel at the edge.
    Clamp,
    /// The texture turned round, and so on.
    Mirror,
    /// 0.
    Border,
}

impl TexelElement {
    /// Bytes of a number.
    pub fn size(self) -> u64 {
        match self {
            TexelElement::U8 | TexelElement::S8 => 1,
            TexelElement::U16 | TexelElement::S16 | TexelElement::F16 => 2,
            TexelElement::U32 | TexelElement::S32 | TexelElement::F32 => 4,
        }
    }

    /// Whether it is a floating-point number.
    pub fn is_float(self) -> bool {
        matches!(self, TexelElement::F16 | TexelElement::F32)
    }

    /// The number in some bytes.
    fn value(self, bytes: &[u8]) -> Number {
        let mut low = [0; 4];
        for (to, from) in low.iter_mut().zip(bytes).take(self.size() as usize) {
            *to = *from;
        }
        let word = u32::from_le_bytes(low);
        match self {
            TexelElement::U8 | TexelElement::U16 | TexelElement::U32 => Number::Word(word),
            TexelElement::S8 => Number::Word(word as i8 as u32),
            TexelElement::S16 => Number::Word(word as i16 as u32),
            TexelElement::S32 => Number::Word(word),
            TexelElement::F16 => Number::Float(half(word as u16)),
            TexelElement::F32 => Number::Float(f32::from_bits(word).into()),
        }
    }

    /// A number of an integer type from 0 to 1, or from -1 to 1.
    fn normalized(self, number: Number) -> Number {
        let Number::Word(word) = number else {
            return number;
        };
        let signed = |most: f64| (f64::from(word as i32) / most).max(-1.0);
        Number::Float(match self {
            TexelElement::U8 => f64::from(word) / 255.0,
            TexelElement::U16 => f64::from(word) / 65535.0,
            TexelElement::S8 => signed(127.0),
            TexelElement::S16 => signed(32767.0),
            _ => return number,
        })
    }
}

/// A number of binary16.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    sign * match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    }
}

/// A component of a result.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Number {
    Word(u32),
    Float(f64),
}

impl Number {
    /// What a register gets.
    pub(super) fn bits(self) -> u32 {
        match self {
            Number::Word(word) => word,
            Number::Float(value) => (value as f32).to_bits(),
        }
    }

    fn float(self) -> f64 {
        match self {
            Number::Word(word) => word.into(),
            Number::Float(value) => value,
        }
    }
}

impl TexelArray {
    /// Bytes of a texel.
    pub fn texel(&self) -> u64 {
        self.element.size() * u64::from(self.channels)
    }

    /// Bytes of all texels; `None` when there are more than 64 bits can count.
    pub fn bytes(&self) -> Option<u64> {
        let axes = self.size.iter().chain([&self.layers]);
        axes.map(|&n| u64::from(n))
            .try_fold(self.texel(), u64::checked_mul)
    }

    /// The address of a texel that is inside.
    pub(super) fn at(&self, place: [u32; 3], layer: u32) -> u64 {
        let [width, height, depth] = self.size.map(u64::from);
        let [x, y, z] = place.map(u64::from);
        let number = ((u64::from(layer) * depth + z) * height + y) * width + x;
        self.address + number * self.texel()
    }

    /// Whether code that asks for a kind can have this image: what compilers write for arrays of one dimension asks for
    /// two.
    pub(super) fn serves(&self, wanted: ImageKind) -> bool {
        self.kind == wanted || self.kind == ImageKind::D1 && wanted == ImageKind::D2
    }
}

/// Where a read wants to be.
pub(super) struct Place {
    /// The words of the coordinates; 0 where there are none.
    pub(super) coordinates: [u32; 3],
    pub(super) offsets: [i32; 3],
    pub(super) layer: u32,
}

/// Gives the bytes of a texel by its address, or says that there are none.
pub(super) trait Texels {
    type Missing;
    fn texel(&mut self, address: u64, size: usize) -> Result<[u8; 16], Self::Missing>;
}

/// The texels between which a coordinate lies: the number of the first and the 256ths by which the second counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Between {
    first: i64,
    second: u32,
}

impl Texture {
    /// Why texels cannot be read so, if they cannot.
    ///
    /// # Errors
    ///
    /// What does not go together.
    pub fn check(&self) -> Result<(), String> {
        let image = &self.image;
        image.check()?;
        let short = image.element.size() < 4;
        if self.normalized_read && (image.element.is_float() || !short) {
            return Err("only integers of 8 and 16 bits are read as 0 to 1".to_owned());
        }
        let floats = image.element.is_float() || self.normalized_read;
        if self.filter == Filter::Linear && !floats {
            return Err("only floats and integers read as 0 to 1 are filtered".to_owned());
        }
        match self.linear_memory && image.kind != ImageKind::D1 {
            true => Err("linear memory has one axis".to_owned()),
            false => Ok(()),
        }
    }

    /// The texel at integer coordinates.
    pub(super) fn fetch<T: Texels>(
        &self,
        place: &Place,
        texels: &mut T,
    ) -> Result<[Number; 4], T::Missing> {
        let mut inside = [Some(0); 3];
        for (axis, index) in inside.iter_mut().enumerate().take(self.axes()) {
            let wanted = i64::from(place.coordinates[axis] as i32) + i64::from(place.offsets[axis]);
            let size = self.image.size[axis];
            *index = u32::try_from(wanted).ok().filter(|&n| n < size);
        }
        self.read(inside, place.layer, texels)
    }

    /// What the sampler makes of the texels around the coordinates.
    pub(super) fn sample<T: Texels>(
        &self,
        place: &Place,
        texels: &mut T,
    ) -> Result<[Number; 4], T::Missing> {
        if self.filter == Filter::Point {
            let mut inside = [Some(0); 3];
            for (axis, index) in inside.iter_mut().enumerate().take(self.axes()) {
                let number = integer(self.scaled(place, axis).floor());
                *index = self.inside(axis, number.saturating_add(place.offsets[axis].into()));
            }
            return self.read(inside, place.layer, texels);
        }
        let between = [0, 1, 2].map(|axis| self.between(place, axis));
        let mut mixed = [0.0; 4];
        // The two neighbours along each axis: a bit of the corner's number each.
        for corner in 0..1usize << self.axes() {
            let mut inside = [Some(0); 3];
            let mut weight = 1.0;
            for (axis, index) in inside.iter_mut().enumerate().take(self.axes()) {
                let Between { first, second } = between[axis];
                let is_second = corner >> axis & 1 == 1;
                let share = if is_second { second } else { 256 - second };
                weight *= f64::from(share) / 256.0;
                *index = self.inside(axis, first.saturating_add(is_second.into()));
            }
            // A texel that does not count is not read, so that an infinite one does not spoil the sum.
            if weight == 0.0 {
                continue;
            }
            let texel = self.read(inside, place.layer, texels)?;
            for (sum, number) in mixed.iter_mut().zip(texel) {
                *sum += weight * number.float();
            }
        }
        Ok(mixed.map(Number::Float))
    }

    /// One component of the four texels that linear filtering would mix.
    pub(super) fn gather<T: Texels>(
        &self,
        place: &Place,
        component: u8,
        texels: &mut T,
    ) -> Result<[Number; 4], T::Missing> {
        let [x, y] = [0, 1].map(|axis| self.between(place, axis).first);
        let mut found = [Number::Word(0); 4];
        for (result, (right, down)) in found.iter_mut().zip([(0, 1), (1, 1), (1, 0), (0, 0)]) {
            let inside = [
                self.inside(0, x.saturating_add(right)),
                self.inside(1, y.saturating_add(down)),
                Some(0),
            ];
            let texel = self.read(inside, place.layer, texels)?;
            *result = texel[usize::from(component & 3)];
        }
        Ok(found)
    }

    fn axes(&self) -> usize {
        self.image.kind.axes()
    }

    /// A coordinate in texels.
    fn scaled(&self, place: &Place, axis: usize) -> f64 {
        let given = f64::from(f32::from_bits(place.coordinates[axis]));
        match self.normalized_coordinates {
            true => given * f64::from(self.image.size[axis]),
            false => given,
        }
    }

    fn between(&self, place: &Place, axis: usize) -> Between {
        let fine = integer(((self.scaled(place, axis) - 0.5) * 256.0 + 0.5).floor());
        Between {
            first: fine.div_euclid(256) + i64::from(place.offsets[axis]),
            second: fine.rem_euclid(256) as u32,
        }
    }

    /// The texel that stands for the one of a number; `None` is the border.
    fn inside(&self, axis: usize, number: i64) -> Option<u32> {
        let size = i64::from(self.image.size[axis]);
        let mode = match (self.address[axis], self.normalized_coordinates) {
            (AddressMode::Wrap | AddressMode::Mirror, false) => AddressMode::Clamp,
            (mode, _) => mode,
        };
        let number = match mode {
            AddressMode::Wrap => number.rem_euclid(size),
            AddressMode::Clamp => number.clamp(0, size - 1),
            AddressMode::Mirror => {
                let place = number.rem_euclid(2 * size);
                place.min(2 * size - 1 - place)
            }
            AddressMode::Border if (0..size).contains(&number) => number,
            AddressMode::Border => return None,
        };
        u32::try_from(number).ok()
    }

    /// The components of a texel; those of the border where an axis has no number.
    fn read<T: Texels>(
        &self,
        inside: [Option<u32>; 3],
        layer: u32,
        texels: &mut T,
    ) -> Result<[Number; 4], T::Missing> {
        let image = &self.image;
        let element = image.element;
        let floats = element.is_float() || self.normalized_read;
        let number = |whole: u32| match floats {
            true => Number::Float(whole.into()),
            false => Number::Word(whole),
        };
        let [Some(x), Some(y), Some(z)] = inside else {
            return Ok([number(0); 4]);
        };
        let address = image.at([x, y, z], layer.min(image.layers - 1));
        let bytes = texels.texel(address, image.texel() as usize)?;
        let mut result = [number(0), number(0), number(0), number(1)];
        let parts = bytes.chunks_exact(element.size() as usize);
        for (to, part) in result.iter_mut().zip(parts).take(image.channels.into()) {
            let value = element.value(part);
            *to = match self.normalized_read {
                true => element.normalized(value),
                false => value,
            };
        }
        Ok(result)
    }
}

impl TexelArray {
    /// Its size as messages spell it.
    pub(super) fn describe(&self) -> String {
        let [width, height, depth] = self.size;
        let row = u64::from(width) * self.texel();
        let layers = self.layers;
        match self.kind {
            ImageKind::D1 => format!("{row} bytes"),
            ImageKind::D2 => format!("{height} rows of {row} bytes"),
            ImageKind::D3 => format!("{depth} slices of {height} rows of {row} bytes"),
            ImageKind::Layered1 => format!("{layers} layers of {row} bytes"),
            ImageKind::Layered2 => format!("{layers} layers of {height} rows of {row} bytes"),
        }
    }

    /// Why there can be no such image, if there cannot.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn check(&self) -> Result<(), String> {
        if !matches!(self.channels, 1 | 2 | 4) {
            return Err(format!("{} channels, not 1, 2 or 4", self.channels));
        }
        if self.size.contains(&0) || self.layers == 0 {
            return Err("it has no texels".to_owned());
        }
        match self.bytes() {
            Some(_) => Ok(()),
            None => Err("it is too large".to_owned()),
        }
    }
}

/// The whole number that a float is; the nearest that can be counted with, and 0 for what is no number.
fn integer(whole: f64) -> i64 {
    const MOST: f64 = (1i64 << 52) as f64;
    whole.clamp(-MOST, MOST) as i64
}

#[cfg(test)]
mod tests;
