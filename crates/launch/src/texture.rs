//! Textures and surfaces as a launch binds them to handles.

use serde::Deserialize;
use warpbound_ir::ImageKind;

/// A texture bound to a handle.
#[derive(Clone, PartialEq, Debug)]
pub struct Texture {
    /// Name for messages.
    pub name: String,
    /// Low word of the texture object: index of the texture in bits 19:0, of the sampler in bits 31:20.
    pub handle: u32,
    /// Texels and their layout.
    pub image: TexelArray,
    /// Whether the texture is linear memory, which only integer coordinates can read.
    pub linear_memory: bool,
    /// Whether reads normalize 8- and 16-bit integers to 0 to 1, or to -1 to 1 (`cudaReadModeNormalizedFloat`).
    pub normalized_read: bool,
    /// Filter mode.
    pub filter: Filter,
    /// Address mode of each axis.
    pub address: [AddressMode; 3],
    /// Whether coordinates are normalized to 0 to 1. Otherwise, wrap and mirror act as clamp.
    pub normalized_coordinates: bool,
}

/// An array of texels in global memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TexelArray {
    /// Dimensions and layering.
    pub kind: ImageKind,
    /// Texels along each axis; 1 for an absent axis.
    pub size: [u32; 3],
    /// Number of layers; 1 if the array is not layered.
    pub layers: u32,
    /// Type of a texel's components.
    pub element: TexelElement,
    /// Components of a texel: 1, 2 or 4.
    pub channels: u8,
    /// Address of the first texel; rows, slices and layers are contiguous.
    pub address: u64,
}

/// Type of a texel's components.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
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

/// Filter mode of a texture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Filter {
    /// The texel that contains the coordinates.
    Point,
    /// A linear blend of the nearest texels.
    Linear,
}

/// Address mode: the texel for a coordinate outside the texture.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AddressMode {
    /// The texture repeated.
    Wrap,
    /// The texel at the edge.
    Clamp,
    /// The texture repeated, every other copy mirrored.
    Mirror,
    /// The border colour, 0.
    Border,
}

/// A surface bound to a handle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Surface {
    /// Name for messages.
    pub name: String,
    /// Low word of the surface object.
    pub handle: u32,
    /// Texels and their layout.
    pub image: TexelArray,
}

impl AddressMode {
    /// Name in launch files.
    pub fn name(self) -> &'static str {
        match self {
            AddressMode::Wrap => "wrap",
            AddressMode::Clamp => "clamp",
            AddressMode::Mirror => "mirror",
            AddressMode::Border => "border",
        }
    }
}

impl TexelElement {
    /// Size of a component in bytes.
    pub fn size(self) -> u64 {
        match self {
            TexelElement::U8 | TexelElement::S8 => 1,
            TexelElement::U16 | TexelElement::S16 | TexelElement::F16 => 2,
            TexelElement::U32 | TexelElement::S32 | TexelElement::F32 => 4,
        }
    }

    /// Whether this is a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, TexelElement::F16 | TexelElement::F32)
    }
}

impl TexelArray {
    /// Size of a texel in bytes.
    pub fn texel_size(&self) -> u64 {
        self.element.size() * u64::from(self.channels)
    }

    /// Size of all texels in bytes; `None` if it exceeds 64 bits.
    pub fn byte_size(&self) -> Option<u64> {
        let axes = self.size.iter().chain([&self.layers]);
        axes.map(|&n| u64::from(n))
            .try_fold(self.texel_size(), u64::checked_mul)
    }

    /// Address of a texel; its indices must be in bounds.
    pub fn address_of(&self, texel: [u32; 3], layer: u32) -> u64 {
        let [width, height, depth] = self.size.map(u64::from);
        let [x, y, z] = texel.map(u64::from);
        let index = ((u64::from(layer) * depth + z) * height + y) * width + x;
        self.address + index * self.texel_size()
    }

    /// Whether an instruction for `kind` can read this array. Compilers use 2D instructions for 1D arrays.
    pub fn accepts(&self, kind: ImageKind) -> bool {
        self.kind == kind || self.kind == ImageKind::D1 && kind == ImageKind::D2
    }

    /// Size for messages.
    pub fn describe(&self) -> String {
        let [width, height, depth] = self.size;
        let row = u64::from(width) * self.texel_size();
        let layers = self.layers;
        match self.kind {
            ImageKind::D1 => format!("{row} bytes"),
            ImageKind::D2 => format!("{height} rows of {row} bytes"),
            ImageKind::D3 => format!("{depth} slices of {height} rows of {row} bytes"),
            ImageKind::Layered1 => format!("{layers} layers of {row} bytes"),
            ImageKind::Layered2 => format!("{layers} layers of {height} rows of {row} bytes"),
        }
    }

    /// Checks channels and sizes.
    ///
    /// # Errors
    ///
    /// The reason why such an array is impossible.
    pub fn check(&self) -> Result<(), String> {
        if !matches!(self.channels, 1 | 2 | 4) {
            return Err(format!("{} channels, not 1, 2 or 4", self.channels));
        }
        if self.size.contains(&0) || self.layers == 0 {
            return Err("it has no texels".to_owned());
        }
        match self.byte_size() {
            Some(_) => Ok(()),
            None => Err("it is too large".to_owned()),
        }
    }
}

impl Texture {
    /// Checks that element type, read mode, filter and layout are compatible.
    ///
    /// # Errors
    ///
    /// The incompatible properties.
    pub fn check(&self) -> Result<(), String> {
        let image = &self.image;
        image.check()?;
        // CUDA normalizes integers of 8 and 16 bits only (`cudaReadModeNormalizedFloat`).
        let is_short = image.element.size() < 4;
        if self.normalized_read && (image.element.is_float() || !is_short) {
            return Err("only integers of 8 and 16 bits are read as 0 to 1".to_owned());
        }
        // CUDA filters textures only if their reads return floats.
        let reads_floats = image.element.is_float() || self.normalized_read;
        if self.filter == Filter::Linear && !reads_floats {
            return Err("only floats and integers read as 0 to 1 are filtered".to_owned());
        }
        match self.linear_memory && image.kind != ImageKind::D1 {
            true => Err("linear memory has one axis".to_owned()),
            false => Ok(()),
        }
    }
}
