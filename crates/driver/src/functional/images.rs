//! Textures and surfaces of a launch: their objects, and where their texels lie.

use warpbound_base::Diagnostic;
use warpbound_ir::ImageKind;
use warpbound_load::{ElementType, LaunchAddressMode, LaunchFile, ImageBinding, TexelLayout};
use warpbound_simulate::functional::{
    AddressMode, Filter, GlobalMemory, TexelArray, Surface, TexelElement, Texture,
};

/// The object of a texture: textures and samplers are numbered from 1 on, so that 0 is none. The number of the texture is
/// in bits 19:0, that of the sampler in bits 31:20, as code that compilers write takes it.
pub(super) fn texture_object(number: usize) -> u32 {
    let number = number as u32 + 1;
    number << 20 | number
}

/// The object of a surface, which are numbered behind the textures.
pub(super) fn surface_object(grid: &LaunchFile, number: usize) -> u32 {
    (grid.textures.len() + number + 1) as u32
}

/// The textures and surfaces of a launch whose buffers have been placed.
///
/// # Errors
///
/// What does not go together.
pub(super) fn bind(
    grid: &LaunchFile,
    memory: &GlobalMemory,
) -> Result<(Vec<Texture>, Vec<Surface>), Diagnostic> {
    let fail = |what: &str, name: &str, why: String| {
        Diagnostic::new(format!("{what} {name}: {why}")).in_file(grid.file.as_str())
    };
    let mut textures = Vec::with_capacity(grid.textures.len());
    for (number, given) in grid.textures.iter().enumerate() {
        let name = &given.image.name;
        let image = image(&given.image, grid, memory).map_err(|why| fail("texture", name, why))?;
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
            address: given.address.map(|mode| match mode {
                LaunchAddressMode::Wrap => AddressMode::Wrap,
                LaunchAddressMode::Clamp => AddressMode::Clamp,
                LaunchAddressMode::Mirror => AddressMode::Mirror,
                LaunchAddressMode::Border => AddressMode::Border,
            }),
            normalized_coordinates: given.normalized_coordinates,
        };
        texture.check().map_err(|why| fail("texture", name, why))?;
        textures.push(texture);
    }
    let mut surfaces = Vec::with_capacity(grid.surfaces.len());
    for (number, given) in grid.surfaces.iter().enumerate() {
        let image = image(given, grid, memory).and_then(|image| image.check().map(|()| image));
        surfaces.push(Surface {
            name: given.name.clone(),
            handle: surface_object(grid, number),
            image: image.map_err(|why| fail("surface", &given.name, why))?,
        });
    }
    Ok((textures, surfaces))
}

fn image(given: &ImageBinding, grid: &LaunchFile, memory: &GlobalMemory) -> Result<TexelArray, String> {
    let of_grid = grid.buffers().nth(given.buffer);
    let (Some((_, buffer)), Some(placed)) = (of_grid, memory.buffers().get(given.buffer)) else {
        return Err("its buffer is not there".to_owned());
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
            other => return Err(format!("there are no texels of {other}")),
        },
        channels: given.channels,
        address: placed.address,
    })
}
