//! Textures and surfaces of a launch: how the numbers of a buffer become texels.

use serde::Deserialize;
use toml::Spanned;
use warpbound_base::Diagnostic;

use super::LaunchBuffer;
use crate::texture::AddressMode;

/// A texture: texels, and how they are read.
#[derive(Clone, PartialEq, Debug)]
pub struct TextureBinding {
    /// The texels.
    pub image: ImageBinding,
    /// Linear memory, which has no filter and no address modes.
    pub linear_memory: bool,
    /// Integers of 8 and 16 bits become 0 to 1, or -1 to 1.
    pub normalized_read: bool,
    /// Whether texels are mixed linearly.
    pub linear_filter: bool,
    /// What happens outside, along each axis.
    pub address: [AddressMode; 3],
    /// Coordinates go from 0 to 1 along each axis.
    pub normalized_coordinates: bool,
}

/// A surface or the texels of a texture: a buffer, and how its numbers are arranged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImageBinding {
    /// Its name; textures and surfaces have different ones.
    pub name: String,
    /// The number of the buffer among [`super::LaunchFile::buffers`].
    pub buffer: usize,
    /// How the texels are arranged.
    pub kind: TexelLayout,
    /// Texels along each axis, 1 where there is none.
    pub size: [u32; 3],
    /// Layers, 1 where there are none.
    pub layers: u32,
    /// Numbers of a texel: 1, 2 or 4.
    pub channels: u8,
}

/// How texels are arranged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[allow(missing_docs)]
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
    fn axes(self) -> usize {
        match self {
            TexelLayout::D1 | TexelLayout::Layered1 => 1,
            TexelLayout::D2 | TexelLayout::Layered2 => 2,
            TexelLayout::D3 => 3,
        }
    }

    fn is_layered(self) -> bool {
        matches!(self, TexelLayout::Layered1 | TexelLayout::Layered2)
    }

    /// As launch files spell it.
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
    /// The size as launch files spell it: width, height, depth, as far as there are any, layers.
    pub fn sizes(&self) -> Vec<u32> {
        let layers = self.kind.is_layered().then_some(self.layers);
        let axes = self.size.iter().take(self.kind.axes()).copied();
        axes.chain(layers).collect()
    }
}

/// A texture of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTexture {
    name: String,
    texels: String,
    kind: RawKind,
    size: Vec<u32>,
    channels: Option<u8>,
    #[serde(default)]
    read: Read,
    #[serde(default)]
    filter: RawFilter,
    address: Option<Addresses>,
    #[serde(default)]
    normalized_coordinates: bool,
}

/// A surface of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSurface {
    name: String,
    texels: String,
    kind: TexelLayout,
    size: Vec<u32>,
    channels: Option<u8>,
}

#[derive(Clone, Copy, Deserialize)]
enum RawKind {
    #[serde(rename = "linear")]
    Linear,
    #[serde(untagged)]
    Array(TexelLayout),
}

#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Read {
    #[default]
    Element,
    Normalized,
}

#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawFilter {
    #[default]
    Point,
    Linear,
}

/// The same along all axes, or one for each.
#[derive(Deserialize)]
#[serde(untagged)]
enum Addresses {
    Same(AddressMode),
    Each(Vec<AddressMode>),
}

/// The most textures of a launch: their samplers are numbered with 12 bits, and none is 0.
const MOST_TEXTURES: usize = 4095;

/// What is wrong, and the byte of the file.
type Fault = (Diagnostic, usize);

/// Textures and surfaces over buffers, by name.
pub(super) fn read(
    textures: &[Spanned<RawTexture>],
    surfaces: &[Spanned<RawSurface>],
    buffers: &[(&str, &LaunchBuffer)],
) -> Result<(Vec<TextureBinding>, Vec<ImageBinding>), Fault> {
    let mut names: Vec<&str> = Vec::new();
    let mut found = Vec::with_capacity(textures.len());
    for raw in textures {
        let (at, raw) = (raw.span().start, raw.get_ref());
        let texture = raw
            .read(buffers)
            .map_err(|d| within("texture", &raw.name, d, at))?;
        claim(&mut names, "texture", &raw.name, at)?;
        found.push(texture);
    }
    if let Some(beyond) = textures.get(MOST_TEXTURES) {
        let message = format!("there are more than {MOST_TEXTURES} textures");
        return Err((Diagnostic::new(message), beyond.span().start));
    }
    let mut others = Vec::with_capacity(surfaces.len());
    for raw in surfaces {
        let (at, raw) = (raw.span().start, raw.get_ref());
        let given = (raw.name.as_str(), raw.texels.as_str(), raw.kind);
        let surface = image(given, &raw.size, raw.channels, buffers);
        others.push(surface.map_err(|d| within("surface", &raw.name, d, at))?);
        claim(&mut names, "surface", &raw.name, at)?;
    }
    Ok((found, others))
}

fn within(kind: &str, name: &str, mut diagnostic: Diagnostic, at: usize) -> Fault {
    diagnostic.message = format!("{kind} {name}: {}", diagnostic.message);
    (diagnostic, at)
}

fn claim<'a>(names: &mut Vec<&'a str>, kind: &str, name: &'a str, at: usize) -> Result<(), Fault> {
    if names.contains(&name) {
        let twice = Diagnostic::new("another texture or surface has this name");
        return Err(within(kind, name, twice, at));
    }
    names.push(name);
    Ok(())
}

impl RawSurface {
    pub(super) fn name(&self) -> String {
        self.name.clone()
    }
}

impl RawTexture {
    pub(super) fn name(&self) -> String {
        self.name.clone()
    }

    fn read(&self, buffers: &[(&str, &LaunchBuffer)]) -> Result<TextureBinding, Diagnostic> {
        let (kind, linear_memory) = match self.kind {
            RawKind::Linear => (TexelLayout::D1, true),
            RawKind::Array(kind) => (kind, false),
        };
        let given = (self.name.as_str(), self.texels.as_str(), kind);
        let image = image(given, &self.size, self.channels, buffers)?;
        let mut address = [AddressMode::Clamp; 3];
        match &self.address {
            None => {}
            Some(_) if linear_memory => {
                let message = "linear memory has no address modes: what is outside is 0";
                return Err(Diagnostic::new(message));
            }
            Some(Addresses::Same(mode)) => {
                for to in address.iter_mut().take(kind.axes()) {
                    *to = *mode;
                }
            }
            Some(Addresses::Each(modes)) if modes.len() == kind.axes() => {
                for (to, mode) in address.iter_mut().zip(modes) {
                    *to = *mode;
                }
            }
            Some(Addresses::Each(modes)) => {
                let (given, axes) = (modes.len(), kind.axes());
                let message = format!("{given} address modes for {axes} axes");
                return Err(Diagnostic::new(message));
            }
        }
        let turns = |mode: &AddressMode| matches!(mode, AddressMode::Wrap | AddressMode::Mirror);
        if address.iter().any(turns) && !self.normalized_coordinates {
            let message = Diagnostic::new("wrap and mirror need normalized_coordinates = true");
            return Err(message.hint("CUDA takes clamp instead; say so"));
        }
        if linear_memory && (self.filter == RawFilter::Linear || self.normalized_coordinates) {
            let message = "linear memory has neither filter nor normalized coordinates";
            return Err(Diagnostic::new(message));
        }
        Ok(TextureBinding {
            image,
            linear_memory,
            normalized_read: self.read == Read::Normalized,
            linear_filter: self.filter == RawFilter::Linear,
            address,
            normalized_coordinates: self.normalized_coordinates,
        })
    }
}

fn image(
    (name, texels, kind): (&str, &str, TexelLayout),
    sizes: &[u32],
    channels: Option<u8>,
    buffers: &[(&str, &LaunchBuffer)],
) -> Result<ImageBinding, Diagnostic> {
    let fail = |message: String| Err(Diagnostic::new(message));
    let Some(place) = buffers.iter().position(|(other, _)| *other == texels) else {
        let message = Diagnostic::new(format!("there is no buffer {texels}"));
        return Err(message.hint("a parameter or [[buffer]] of this name holds the texels"));
    };
    let axes = kind.axes() + usize::from(kind.is_layered());
    if sizes.len() != axes || sizes.contains(&0) {
        let message = format!("size is {sizes:?}, not {axes} numbers from 1 on");
        return fail(message);
    }
    let channels = channels.unwrap_or(1);
    if !matches!(channels, 1 | 2 | 4) {
        return fail(format!("{channels} channels, not 1, 2 or 4"));
    }
    let mut size = [1; 3];
    for (to, from) in size.iter_mut().zip(sizes).take(kind.axes()) {
        *to = *from;
    }
    let layers = match kind.is_layered() {
        true => sizes.last().copied().unwrap_or(1),
        false => 1,
    };
    let all = sizes
        .iter()
        .fold(u64::from(channels), |n, &d| n.saturating_mul(d.into()));
    let held = buffers.get(place).map_or(0, |(_, buffer)| {
        (buffer.bytes.len() / buffer.element.size()) as u64
    });
    if all > held {
        return fail(format!("{all} numbers in {texels}, which has {held}"));
    }
    Ok(ImageBinding {
        name: name.to_owned(),
        buffer: place,
        kind,
        size,
        layers,
        channels,
    })
}
