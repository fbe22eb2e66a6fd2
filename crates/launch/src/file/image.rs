//! Textures and surfaces in launch files: layouts of buffers as texels, and read modes.

use serde::Deserialize;

use crate::texture::AddressMode;

/// A texture: texels, and the sampler state.
#[derive(Clone, PartialEq, Debug)]
pub struct TextureBinding {
    /// The texels.
    pub image: ImageBinding,
    /// Whether the texture is linear memory, which has neither filter nor address modes.
    pub linear_memory: bool,
    /// Whether reads normalize 8- and 16-bit integers to 0 to 1, or to -1 to 1.
    pub normalized_read: bool,
    /// Whether linear filtering is on.
    pub linear_filter: bool,
    /// Address mode of each axis.
    pub address: [AddressMode; 3],
    /// Whether coordinates are normalized to 0 to 1.
    pub normalized_coordinates: bool,
}

/// A surface, or the texels of a texture: a buffer and its layout.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImageBinding {
    /// Name, unique among textures and surfaces.
    pub name: String,
    /// Index of the buffer in [`super::LaunchFile::buffers`].
    pub buffer: usize,
    /// Dimensions and layering.
    pub kind: TexelLayout,
    /// Texels along each axis; 1 for an absent axis.
    pub size: [u32; 3],
    /// Number of layers; 1 if the image is not layered.
    pub layers: u32,
    /// Components of a texel: 1, 2 or 4.
    pub channels: u8,
}

/// Dimensions and layering of texels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub enum TexelLayout {
    #[serde(rename = "1d")]
    D1,
    #[serde(rename = "2d")]
    D2,
    #[serde(rename = "3d")]
    D3,
    #[serde(rename = "1d-layered")]
    Layered1,
    #[serde(rename = "2d-layered")]
    Layered2,
}

impl TexelLayout {
    /// Number of axes without the layers.
    pub(super) fn axes(self) -> usize {
        match self {
            TexelLayout::D1 | TexelLayout::Layered1 => 1,
            TexelLayout::D2 | TexelLayout::Layered2 => 2,
            TexelLayout::D3 => 3,
        }
    }

    pub(super) fn is_layered(self) -> bool {
        matches!(self, TexelLayout::Layered1 | TexelLayout::Layered2)
    }

    /// Name in launch files.
    pub fn name(self) -> &'static str {
        match self {
            TexelLayout::D1 => "1d",
            TexelLayout::D2 => "2d",
            TexelLayout::D3 => "3d",
            TexelLayout::Layered1 => "1d-layered",
            TexelLayout::Layered2 => "2d-layered",
        }
    }
}

impl ImageBinding {
    /// Size as in launch files: width, then height, depth and layers if the layout has them.
    pub fn sizes(&self) -> Vec<u32> {
        let layers = self.kind.is_layered().then_some(self.layers);
        let axes = self.size.iter().take(self.kind.axes()).copied();
        axes.chain(layers).collect()
    }
}
