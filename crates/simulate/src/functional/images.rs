//! Reads and writes of textures and surfaces by a warp.

use warpbound_ir::{ImageKind, TextureWhat};
use warpbound_isa::instr::MemorySpace;

use super::block::Block;
use super::fault::{Fault, FaultKind};
use super::lanes::{LANES, Mask, lanes_of};
use super::memory::{GlobalAccess, write_word, read_word};
use super::program::{ValueSlot, Dest, Effect, SurfaceEffect, SurfaceOperation, TextureEffect};
use super::surface::{Landing, Surface};
use super::texture::{Place, Texels, Texture};

/// The operation that a warp executes.
#[derive(Clone, Copy)]
pub(super) struct Issued {
    /// The warp in its block.
    pub(super) number: usize,
    pub(super) at: u32,
    pub(super) taken: Mask,
}

/// Texels in global memory.
struct Bytes<'m, G>(&'m mut G);

impl<G: GlobalAccess> Texels for Bytes<'_, G> {
    /// The address.
    type Missing = u64;

    fn texel(&mut self, address: u64, size: usize) -> Result<[u8; 16], u64> {
        self.0.record_read(address, size);
        let (first, bytes) = self.0.bytes_around(address).ok_or(address)?;
        let found = address
            .checked_sub(first)
            .and_then(|start| bytes.get(usize::try_from(start).ok()?..)?.get(..size));
        let mut texel = [0; 16];
        let found = found.ok_or(address)?;
        for (to, from) in texel.iter_mut().zip(found) {
            *to = *from;
        }
        Ok(texel)
    }
}

impl Block<'_> {
    /// What an operation on textures or surfaces does. Apart from the others, which are more frequent.
    #[inline(never)]
    pub(super) fn image(
        &mut self,
        issued: Issued,
        effect: &Effect,
        memory: &mut impl GlobalAccess,
    ) -> Result<(), Fault> {
        match effect {
            Effect::Texture(effect) => self.read_texture(issued, effect, memory),
            Effect::TextureSize(handle, dests) => self.size_texture(issued, *handle, dests),
            Effect::Surface(effect) => self.access_surface(issued, effect, memory),
            _ => Err(self.fault(issued.at, FaultKind::Unsupported)),
        }
    }

    fn read_texture(
        &mut self,
        issued: Issued,
        effect: &TextureEffect,
        memory: &mut impl GlobalAccess,
    ) -> Result<(), Fault> {
        let mut results = [[0; LANES]; 4];
        for lane in lanes_of(issued.taken) {
            let rows = self.rows(issued.number);
            let word = |at: &ValueSlot| rows.get(*at)[lane];
            let texture = self.texture(issued, lane, word(&effect.handle))?;
            let mut place = Place {
                coordinates: [0; 3],
                offsets: [0; 3],
                layer: effect.layer.as_ref().map_or(0, word),
            };
            for (to, from) in place.coordinates.iter_mut().zip(&effect.coordinates) {
                *to = word(from);
            }
            for (to, from) in place.offsets.iter_mut().zip(&effect.offsets) {
                *to = word(from) as i32;
            }
            let is = texture.image.kind;
            let texel = effect.operation == TextureWhat::Texel;
            if !texture.image.serves(effect.kind) || texture.linear_memory && !texel {
                let wanted = match texel {
                    true => effect.kind.name(),
                    false => sampled(effect.kind),
                };
                let is = if texture.linear_memory {
                    "linear memory"
                } else {
                    is.name()
                };
                let kind = wrong_kind(&texture.name, is, wanted);
                return Err(self.lane_fault(issued.at, issued.number, lane, kind));
            }
            let mut texels = Bytes(memory);
            let found = match effect.operation {
                TextureWhat::Sample => texture.sample(&place, &mut texels),
                TextureWhat::Texel => texture.fetch(&place, &mut texels),
                TextureWhat::Gather(component) => texture.gather(&place, component, &mut texels),
            };
            let found = found.map_err(|address| {
                let kind = FaultKind::OutOfBounds {
                    space: MemorySpace::Texture,
                    address,
                    context: memory.describe_address(address),
                };
                self.lane_fault(issued.at, issued.number, lane, kind)
            })?;
            for (row, number) in results.iter_mut().zip(found) {
                row[lane] = number.bits();
            }
        }
        self.put_components(issued, &effect.dests, &results);
        Ok(())
    }

    fn size_texture(
        &mut self,
        issued: Issued,
        handle: ValueSlot,
        dests: &[(u8, u16)],
    ) -> Result<(), Fault> {
        let mut results = [[0; LANES]; 4];
        for lane in lanes_of(issued.taken) {
            let handle = self.rows(issued.number).get(handle)[lane];
            // Surfaces are asked in the same way.
            let surface = self.launch.surfaces.iter().find(|s| s.handle == handle);
            let image = match surface {
                Some(surface) => &surface.image,
                None => &self.texture(issued, lane, handle)?.image,
            };
            let [width, height, depth] = image.size;
            let deep = match image.kind.is_layered() {
                true => image.layers,
                false => depth,
            };
            for (row, number) in results.iter_mut().zip([width, height, deep, 1]) {
                row[lane] = number;
            }
        }
        self.put_components(issued, dests, &results);
        Ok(())
    }

    fn put_components(&mut self, issued: Issued, dests: &[(u8, u16)], rows: &[[u32; LANES]; 4]) {
        for &(component, dest) in dests {
            let row = &rows[usize::from(component & 3)];
            self.warps[issued.number].write(Dest::Register(dest), row, issued.taken);
        }
    }

    fn access_surface(
        &mut self,
        issued: Issued,
        effect: &SurfaceEffect,
        memory: &mut impl GlobalAccess,
    ) -> Result<(), Fault> {
        let size = effect.size;
        for lane in lanes_of(issued.taken) {
            let rows = self.rows(issued.number);
            let word = |at: &ValueSlot| rows.get(*at)[lane];
            let surface = self.surface(issued, lane, word(&effect.handle))?;
            let mut place = [0; 3];
            for (to, from) in place.iter_mut().zip(&effect.coordinates) {
                *to = word(from) as i32;
            }
            let layer = effect.layer.as_ref().map_or(0, word);
            if surface.image.kind != effect.kind {
                let kind = wrong_kind(&surface.name, surface.image.kind.name(), effect.kind.name());
                return Err(self.lane_fault(issued.at, issued.number, lane, kind));
            }
            let fail = |kind| Err(self.lane_fault(issued.at, issued.number, lane, kind));
            let address = match surface.landing(place, layer, size as u64, effect.outside) {
                Landing::At(address) => Some(address),
                Landing::Nowhere => None,
                Landing::Trap => {
                    return fail(FaultKind::OutsideSurface {
                        name: surface.name.clone(),
                        place,
                        layer: effect.layer.is_some().then_some(layer),
                        size: size as u32,
                        bounds: surface.image.describe(),
                    });
                }
                Landing::Misaligned => {
                    return fail(FaultKind::Misaligned {
                        space: MemorySpace::Surface,
                        address: place[0] as u64,
                        size: size as u32,
                    });
                }
            };
            let mut values = [0; 4];
            if let SurfaceOperation::Store(from) | SurfaceOperation::Reduce(_, _, from) = &effect.operation {
                for (value, from) in values.iter_mut().zip(from) {
                    *value = word(from);
                }
            }
            let missing = |block: &Block<'_>, memory: &dyn Fn() -> Option<String>, address| {
                let kind = FaultKind::OutOfBounds {
                    space: MemorySpace::Surface,
                    address,
                    context: memory(),
                };
                block.lane_fault(issued.at, issued.number, lane, kind)
            };
            match &effect.operation {
                SurfaceOperation::Load(dests) => {
                    let found = match address {
                        None => [0; 16],
                        Some(address) => match Bytes(memory).texel(address, size) {
                            Ok(found) => found,
                            Err(at) => return Err(missing(self, &|| memory.describe_address(at), at)),
                        },
                    };
                    let own = &mut self.warps[issued.number].rows;
                    for (dest, part) in dests.iter().zip(found.chunks_exact(4)) {
                        if let Some(dest) = dest {
                            own[usize::from(*dest)][lane] = read_word(effect.width, part);
                        }
                    }
                }
                SurfaceOperation::Store(from) => {
                    let Some(address) = address else {
                        continue;
                    };
                    let Some(bytes) = memory.bytes_mut(address, size) else {
                        return Err(missing(self, &|| memory.describe_address(address), address));
                    };
                    for (part, value) in bytes.chunks_mut(4).zip(values).take(from.len()) {
                        write_word(part, value);
                    }
                }
                SurfaceOperation::Reduce(op, kind, _) => {
                    let Some(address) = address else {
                        continue;
                    };
                    memory.record_read(address, size);
                    let Some(bytes) = memory.bytes_mut(address, size) else {
                        return Err(missing(self, &|| memory.describe_address(address), address));
                    };
                    let mut old = [0; 8];
                    for (to, from) in old.iter_mut().zip(bytes.iter()) {
                        *to = *from;
                    }
                    let operand = u64::from(values[0]) | u64::from(values[1]) << 32;
                    let Some(new) = op.apply(*kind, u64::from_le_bytes(old), operand, 0) else {
                        return fail(FaultKind::Unsupported);
                    };
                    for (to, from) in bytes.iter_mut().zip(new.to_le_bytes()) {
                        *to = from;
                    }
                }
            }
        }
        Ok(())
    }

    fn texture(&self, issued: Issued, lane: usize, handle: u32) -> Result<&Texture, Fault> {
        let textures = &self.launch.textures;
        textures.iter().find(|t| t.handle == handle).ok_or_else(|| {
            let surface = self.launch.surfaces.iter().find(|s| s.handle == handle);
            let kind = FaultKind::UnknownObject {
                space: MemorySpace::Texture,
                handle,
                other: surface.map(|surface| format!("the surface {}", surface.name)),
            };
            self.lane_fault(issued.at, issued.number, lane, kind)
        })
    }

    fn surface(&self, issued: Issued, lane: usize, handle: u32) -> Result<&Surface, Fault> {
        let surfaces = &self.launch.surfaces;
        surfaces.iter().find(|s| s.handle == handle).ok_or_else(|| {
            let texture = self.launch.textures.iter().find(|t| t.handle == handle);
            let kind = FaultKind::UnknownObject {
                space: MemorySpace::Surface,
                handle,
                other: texture.map(|texture| format!("the texture {}", texture.name)),
            };
            self.lane_fault(issued.at, issued.number, lane, kind)
        })
    }
}

fn wrong_kind(name: &str, is: &'static str, wanted: &'static str) -> FaultKind {
    FaultKind::WrongKind {
        name: name.to_owned(),
        actual: is,
        expected: wanted,
    }
}

/// What a filtered read asks for.
fn sampled(kind: ImageKind) -> &'static str {
    match kind {
        ImageKind::D1 => "a 1D array",
        ImageKind::D2 => "a 1D or 2D array",
        kind => kind.name(),
    }
}
