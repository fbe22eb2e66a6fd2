//! Bindings of textures and surfaces: their objects and the addresses of their texels.

use crate::file::{ElementType, ImageBinding, LaunchFile, TexelLayout};
use crate::memory::GlobalMemory;
use crate::texture::{Filter, Surface, TexelArray, TexelElement, Texture};
use warpbound_base::Diagnostic;
use warpbound_ir::ImageKind;

/// Object of a texture: index of the texture in bits 19:0, of the sampler in bits 31:20, as compiled code expects.
/// Indices start at 1, so that 0 is no object. For example, the first texture has the object 0x100001.
pub(super) fn texture_object(number: usize) -> u32 {
    let number = object_number(number);
    number << 20 | number
}

/// Object of a surface; surfaces are numbered after the textures.
pub(super) fn surface_object(file: &LaunchFile, number: usize) -> u32 {
    object_number(file.textures.len() + number)
}

/// Number of an object from its position. Launch files are too small for more objects than 32 bits can number.
fn object_number(position: usize) -> u32 {
    u32::try_from(position)
        .unwrap_or(u32::MAX)
        .saturating_add(1)
}

/// Binds the textures and surfaces of a launch whose buffers are in `memory`.
///
/// # Errors
///
/// The properties of a texture or surface are incompatible.
pub(super) fn bind(
    file: &LaunchFile,
    memory: &GlobalMemory,
) -> Result<(Vec<Texture>, Vec<Surface>), Diagnostic> {
    let fail = |kind: &str, name: &str, reason: String| {
        Diagnostic::new(format!("{kind} {name}: {reason}")).in_file(file.file.as_str())
    };
    let mut textures = Vec::with_capacity(file.textures.len());
    for (number, given) in file.textures.iter().enumerate() {
        let name = &given.image.name;
        let image =
            image(&given.image, file, memory).map_err(|error| fail("texture", name, error))?;
        let texture = Texture {
            name: name.clone(),
            handle: texture_object(number),
            image,
            linear_memory: given.linear_memory,
            normalized_read: given.normalized_read,
            filter: match given.linear_filter {
                true => Filter::Linear,
                false => Filter::Point,
            },
            address: given.address,
            normalized_coordinates: given.normalized_coordinates,
        };
        texture
            .check()
            .map_err(|error| fail("texture", name, error))?;
        textures.push(texture);
    }
    let mut surfaces = Vec::with_capacity(file.surfaces.len());
    for (number, given) in file.surfaces.iter().enumerate() {
        let image = image(given, file, memory).and_then(|image| image.check().map(|()| image));
        surfaces.push(Surface {
            name: given.name.clone(),
            handle: surface_object(file, number),
            image: image.map_err(|error| fail("surface", &given.name, error))?,
        });
    }
    Ok((textures, surfaces))
}

/// Returns the texel array of a binding.
fn image(
    given: &ImageBinding,
    file: &LaunchFile,
    memory: &GlobalMemory,
) -> Result<TexelArray, String> {
    // `buffers::place` has placed the buffers in the order of the file.
    let in_file = file.buffers().nth(given.buffer);
    let (Some((_, buffer)), Some(placed)) = (in_file, memory.buffers().get(given.buffer)) else {
        return Err("its buffer does not exist".to_owned());
    };
    Ok(TexelArray {
        kind: match given.kind {
            TexelLayout::D1 => ImageKind::D1,
            TexelLayout::D2 => ImageKind::D2,
            TexelLayout::D3 => ImageKind::D3,
            TexelLayout::Layered1 => ImageKind::Layered1,
            TexelLayout::Layered2 => ImageKind::Layered2,
        },
        size: given.size,
        layers: given.layers,
        element: match buffer.element {
            ElementType::U8 => TexelElement::U8,
            ElementType::S8 => TexelElement::S8,
            ElementType::U16 => TexelElement::U16,
            ElementType::S16 => TexelElement::S16,
            ElementType::U32 => TexelElement::U32,
            ElementType::S32 => TexelElement::S32,
            ElementType::F16 => TexelElement::F16,
            ElementType::F32 => TexelElement::F32,
            // CUDA has no texels with elements of 64 bits.
            other => return Err(format!("there are no texels of {other}")),
        },
        channels: given.channels,
        address: placed.address,
    })
}
