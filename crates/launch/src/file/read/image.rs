//! Reading of the textures and surfaces of a launch file.

use serde::Deserialize;
use toml::Spanned;
use warpbound_base::Diagnostic;

use crate::file::{ImageBinding, LaunchBuffer, TexelLayout, TextureBinding};
use crate::texture::AddressMode;

/// A texture of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct RawTexture {
    name: String,
    texels: String,
    kind: RawKind,
    size: Vec<u32>,
    channels: Option<u8>,
    #[serde(default)]
    read: ReadMode,
    #[serde(default)]
    filter: RawFilter,
    address: Option<RawAddress>,
    #[serde(default)]
    normalized_coordinates: bool,
}

/// A surface of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct RawSurface {
    name: String,
    texels: String,
    kind: TexelLayout,
    size: Vec<u32>,
    channels: Option<u8>,
}

/// Layout of a texture: an array, or linear memory.
#[derive(Clone, Copy, Deserialize)]
enum RawKind {
    #[serde(rename = "linear")]
    Linear,
    #[serde(untagged)]
    Array(TexelLayout),
}

/// Read mode of a texture (`cudaTextureReadMode`).
#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ReadMode {
    #[default]
    Element,
    Normalized,
}

/// Filter mode of a texture.
#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawFilter {
    #[default]
    Point,
    Linear,
}

/// Address modes: one for all axes, or one per axis.
#[derive(Deserialize)]
#[serde(untagged)]
enum RawAddress {
    Same(AddressMode),
    Each(Vec<AddressMode>),
}

/// Maximum number of textures of a launch, since indices of samplers have 12 bits and 0 is none.
const MAX_TEXTURES: usize = 4095;

/// An error, and the byte of the file to which it applies.
type LocatedError = (Diagnostic, usize);

/// Reads textures and surfaces; `buffers` has the buffers of the launch with their names.
pub(in crate::file) fn read(
    textures: &[Spanned<RawTexture>],
    surfaces: &[Spanned<RawSurface>],
    buffers: &[(&str, &LaunchBuffer)],
) -> Result<(Vec<TextureBinding>, Vec<ImageBinding>), LocatedError> {
    let mut names: Vec<&str> = Vec::new();
    let mut found = Vec::with_capacity(textures.len());
    for raw in textures {
        let (at, raw) = (raw.span().start, raw.get_ref());
        let texture = raw
            .read(buffers)
            .map_err(|d| within("texture", &raw.name, d, at))?;
        claim_name(&mut names, "texture", &raw.name, at)?;
        found.push(texture);
    }
    if let Some(beyond) = textures.get(MAX_TEXTURES) {
        let message = format!("there are more than {MAX_TEXTURES} textures");
        return Err((Diagnostic::new(message), beyond.span().start));
    }
    let mut others = Vec::with_capacity(surfaces.len());
    for raw in surfaces {
        let (at, raw) = (raw.span().start, raw.get_ref());
        let surface = read_image(
            &raw.name,
            &raw.texels,
            raw.kind,
            &raw.size,
            raw.channels,
            buffers,
        );
        others.push(surface.map_err(|d| within("surface", &raw.name, d, at))?);
        claim_name(&mut names, "surface", &raw.name, at)?;
    }
    Ok((found, others))
}

/// Adds the name of the texture or surface to an error.
fn within(kind: &str, name: &str, mut diagnostic: Diagnostic, at: usize) -> LocatedError {
    diagnostic.message = format!("{kind} {name}: {}", diagnostic.message);
    (diagnostic, at)
}

/// Checks that a name is unique.
fn claim_name<'a>(
    names: &mut Vec<&'a str>,
    kind: &str,
    name: &'a str,
    at: usize,
) -> Result<(), LocatedError> {
    if names.contains(&name) {
        let twice = Diagnostic::new("another texture or surface has this name");
        return Err(within(kind, name, twice, at));
    }
    names.push(name);
    Ok(())
}

impl RawSurface {
    pub(in crate::file) fn name(&self) -> String {
        self.name.clone()
    }
}

impl RawTexture {
    pub(in crate::file) fn name(&self) -> String {
        self.name.clone()
    }

    /// Reads a texture and checks that its properties are compatible.
    fn read(&self, buffers: &[(&str, &LaunchBuffer)]) -> Result<TextureBinding, Diagnostic> {
        let (kind, linear_memory) = match self.kind {
            RawKind::Linear => (TexelLayout::D1, true),
            RawKind::Array(kind) => (kind, false),
        };
        let image = read_image(
            &self.name,
            &self.texels,
            kind,
            &self.size,
            self.channels,
            buffers,
        )?;
        let mut address = [AddressMode::Clamp; 3];
        match &self.address {
            None => {}
            Some(_) if linear_memory => {
                let message = "linear memory has no address modes: texels outside are 0";
                return Err(Diagnostic::new(message));
            }
            Some(RawAddress::Same(mode)) => {
                for to in address.iter_mut().take(kind.axes()) {
                    *to = *mode;
                }
            }
            Some(RawAddress::Each(modes)) if modes.len() == kind.axes() => {
                for (to, mode) in address.iter_mut().zip(modes) {
                    *to = *mode;
                }
            }
            Some(RawAddress::Each(modes)) => {
                let (given, axes) = (modes.len(), kind.axes());
                let message = format!("{given} address modes for {axes} axes");
                return Err(Diagnostic::new(message));
            }
        }
        let repeats = |mode: &AddressMode| matches!(mode, AddressMode::Wrap | AddressMode::Mirror);
        if address.iter().any(repeats) && !self.normalized_coordinates {
            let message = Diagnostic::new("wrap and mirror need normalized_coordinates = true");
            return Err(message.hint("CUDA uses clamp instead; state it"));
        }
        if linear_memory && (self.filter == RawFilter::Linear || self.normalized_coordinates) {
            let message = "linear memory has neither filter nor normalized coordinates";
            return Err(Diagnostic::new(message));
        }
        Ok(TextureBinding {
            image,
            linear_memory,
            normalized_read: self.read == ReadMode::Normalized,
            linear_filter: self.filter == RawFilter::Linear,
            address,
            normalized_coordinates: self.normalized_coordinates,
        })
    }
}

/// Reads the layout of a texture or surface and checks that the buffer holds its texels.
fn read_image(
    name: &str,
    texels: &str,
    kind: TexelLayout,
    sizes: &[u32],
    channels: Option<u8>,
    buffers: &[(&str, &LaunchBuffer)],
) -> Result<ImageBinding, Diagnostic> {
    let fail = |message: String| Err(Diagnostic::new(message));
    let Some(buffer) = buffers.iter().position(|(other, _)| *other == texels) else {
        let message = Diagnostic::new(format!("there is no buffer {texels}"));
        return Err(message.hint("a parameter or [[buffer]] of this name holds the texels"));
    };
    // Layers count as the last axis of the size.
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
    // A saturated product exceeds every buffer, so the size is refused.
    let all = sizes
        .iter()
        .fold(u64::from(channels), |n, &d| n.saturating_mul(d.into()));
    let held = buffers.get(buffer).map_or(0, |(_, buffer)| {
        (buffer.bytes.len() / buffer.element.size()) as u64
    });
    if all > held {
        return fail(format!("{all} numbers in {texels}, which has {held}"));
    }
    Ok(ImageBinding {
        name: name.to_owned(),
        buffer,
        kind,
        size,
        layers,
        channels,
    })
}
