//! Execution of texture and surface instructions by a warp.

use warpbound_ir::{AtomicKind, AtomicOp, ImageKind, TextureOp};
use warpbound_isa::instr::MemorySpace;

use super::block::Block;
use super::fault::{Fault, FaultKind};
use super::lanes::{LaneValues, lanes_of};
use super::memory::{GlobalAccess, read_word, write_word};
use super::program::{Dest, Effect, SurfaceEffect, SurfaceOperation, TextureEffect, ValueSlot};
use super::surface::{SurfaceAddress, resolve};
use super::texture::{Sampler, TexelCoordinates, TexelSource};
use warpbound_launch::{Surface, Texture};
use warpbound_simt::{ExecutionModel, Mask};

/// An operation that a warp executes.
#[derive(Clone, Copy)]
pub(super) struct WarpOp {
    /// Index of the warp in its block.
    pub(super) warp_index: usize,
    pub(super) at: u32,
    pub(super) taken: Mask,
}

/// Texels in global memory.
struct GlobalTexels<'m, G>(&'m mut G);

impl<G: GlobalAccess> TexelSource for GlobalTexels<'_, G> {
    /// Address of the missing texel.
    type Error = u64;

    fn read_texel(&mut self, address: u64, size: usize) -> Result<[u8; 16], u64> {
        // Speculative blocks are validated by their reads (`parallel.rs`).
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

impl<E: ExecutionModel<u32>, const W: usize> Block<'_, E, W> {
    /// Executes a texture or surface operation. Never inlined: it would slow down the frequent operations.
    #[inline(never)]
    pub(super) fn execute_image_op(
        &mut self,
        issued: WarpOp,
        effect: &Effect,
        memory: &mut impl GlobalAccess,
    ) -> Result<(), Fault> {
        match effect {
            Effect::Texture(effect) => self.read_texture(issued, effect, memory),
            Effect::TextureSize(handle, dests) => self.read_texture_size(issued, *handle, dests),
            Effect::Surface(effect) => self.access_surface(issued, effect, memory),
            _ => Err(self.fault(issued.at, FaultKind::Unsupported)),
        }
    }

    /// Executes a texture read.
    fn read_texture(
        &mut self,
        issued: WarpOp,
        effect: &TextureEffect,
        memory: &mut impl GlobalAccess,
    ) -> Result<(), Fault> {
        let mut results = [[0; W]; 4];
        for lane in lanes_of::<W>(issued.taken) {
            let rows = self.rows(issued.warp_index);
            let word = |slot: &ValueSlot| rows.get(*slot)[lane];
            let texture = self.texture_by_handle(issued, lane, word(&effect.handle))?;
            let mut coordinates = TexelCoordinates {
                words: [0; 3],
                offsets: [0; 3],
                layer: effect.layer.as_ref().map_or(0, word),
            };
            for (to, from) in coordinates.words.iter_mut().zip(&effect.coordinates) {
                *to = word(from);
            }
            for (to, from) in coordinates.offsets.iter_mut().zip(&effect.offsets) {
                *to = word(from) as i32;
            }
            // Linear memory has no sampler: only fetches by integer coordinates can read it.
            let is_fetch = effect.operation == TextureOp::Texel;
            if !texture.image.accepts(effect.kind) || texture.linear_memory && !is_fetch {
                let expected = match is_fetch {
                    true => effect.kind.name(),
                    false => sampled_kind_name(effect.kind),
                };
                let actual = match texture.linear_memory {
                    true => "linear memory",
                    false => texture.image.kind.name(),
                };
                let kind = wrong_kind(&texture.name, actual, expected);
                return Err(self.image_fault(issued, lane, kind));
            }
            let mut texels = GlobalTexels(memory);
            let sampler = Sampler { texture };
            let found = match effect.operation {
                TextureOp::Sample => sampler.sample(&coordinates, &mut texels),
                TextureOp::Texel => sampler.fetch(&coordinates, &mut texels),
                TextureOp::Gather(component) => {
                    sampler.gather(&coordinates, component, &mut texels)
                }
            };
            let found = found.map_err(|address| {
                let kind = FaultKind::OutOfBounds {
                    space: MemorySpace::Texture,
                    address,
                    context: memory.describe_address(address),
                };
                self.image_fault(issued, lane, kind)
            })?;
            for (row, component) in results.iter_mut().zip(found) {
                row[lane] = component.bits();
            }
        }
        self.write_components(issued, &effect.dests, &results);
        Ok(())
    }

    /// Executes a query of a texture's size.
    fn read_texture_size(
        &mut self,
        issued: WarpOp,
        handle: ValueSlot,
        dests: &[(u8, u16)],
    ) -> Result<(), Fault> {
        let mut results = [[0; W]; 4];
        for lane in lanes_of::<W>(issued.taken) {
            let handle = self.rows(issued.warp_index).get(handle)[lane];
            // The same instruction queries surfaces.
            let surface = self.launch.surfaces.iter().find(|s| s.handle == handle);
            let image = match surface {
                Some(surface) => &surface.image,
                None => &self.texture_by_handle(issued, lane, handle)?.image,
            };
            let [width, height, depth] = image.size;
            // A layered texture has its number of layers in place of the depth.
            let depth = match image.kind.is_layered() {
                true => image.layers,
                false => depth,
            };
            for (row, size) in results.iter_mut().zip([width, height, depth, 1]) {
                row[lane] = size;
            }
        }
        self.write_components(issued, dests, &results);
        Ok(())
    }

    /// Writes components of the results to their destination registers.
    fn write_components(&mut self, issued: WarpOp, dests: &[(u8, u16)], rows: &[LaneValues<W>; 4]) {
        for &(component, dest) in dests {
            let row = &rows[usize::from(component & 3)];
            self.warps[issued.warp_index].write(Dest::Register(dest), row, issued.taken);
        }
    }

    /// Executes a surface access, lane after lane in ascending order.
    fn access_surface(
        &mut self,
        issued: WarpOp,
        effect: &SurfaceEffect,
        memory: &mut impl GlobalAccess,
    ) -> Result<(), Fault> {
        for lane in lanes_of::<W>(issued.taken) {
            let address = self.surface_address(issued, effect, lane)?;
            let accessed = match &effect.operation {
                SurfaceOperation::Load(dests) => {
                    let bytes = match address {
                        // In mode `Zero`, a read out of bounds gives 0 and a write has no effect.
                        None => Ok([0; 16]),
                        Some(address) => GlobalTexels(memory).read_texel(address, effect.size),
                    };
                    bytes.map(|bytes| {
                        let registers = &mut self.warps[issued.warp_index].rows;
                        for (dest, word) in dests.iter().zip(bytes.chunks_exact(4)) {
                            if let Some(dest) = dest {
                                registers[usize::from(*dest)][lane] = read_word(effect.width, word);
                            }
                        }
                    })
                }
                SurfaceOperation::Store(values) => {
                    let Some(address) = address else {
                        continue;
                    };
                    let rows = self.rows(issued.warp_index);
                    let bytes = memory.bytes_mut(address, effect.size).ok_or(address);
                    bytes.map(|bytes| {
                        for (part, value) in bytes.chunks_mut(4).zip(values) {
                            write_word(part, rows.get(*value)[lane]);
                        }
                    })
                }
                SurfaceOperation::Reduce(op, kind, operands) => {
                    let Some(address) = address else {
                        continue;
                    };
                    let rows = self.rows(issued.warp_index);
                    let word = |index| operands.get(index).map_or(0, |slot| rows.get(*slot)[lane]);
                    let operand = u64::from(word(0)) | u64::from(word(1)) << 32;
                    // A reduction reads its element, so a speculative block has to be validated against it.
                    memory.record_read(address, effect.size);
                    match memory.bytes_mut(address, effect.size) {
                        None => Err(address),
                        Some(bytes) => match reduce(bytes, *op, *kind, operand) {
                            Some(()) => Ok(()),
                            None => {
                                let kind = FaultKind::Unsupported;
                                return Err(self.image_fault(issued, lane, kind));
                            }
                        },
                    }
                }
            };
            accessed.map_err(|address| {
                let kind = FaultKind::OutOfBounds {
                    space: MemorySpace::Surface,
                    address,
                    context: memory.describe_address(address),
                };
                self.image_fault(issued, lane, kind)
            })?;
        }
        Ok(())
    }

    /// Returns the address of a lane's surface access; `None` if the access is discarded.
    fn surface_address(
        &self,
        issued: WarpOp,
        effect: &SurfaceEffect,
        lane: usize,
    ) -> Result<Option<u64>, Fault> {
        let rows = self.rows(issued.warp_index);
        let word = |slot: &ValueSlot| rows.get(*slot)[lane];
        let surface = self.surface_by_handle(issued, lane, word(&effect.handle))?;
        let mut position = [0; 3];
        for (to, from) in position.iter_mut().zip(&effect.coordinates) {
            *to = word(from) as i32;
        }
        let layer = effect.layer.as_ref().map_or(0, word);
        let size = effect.size as u32;
        let (bound, expected) = (surface.image.kind, effect.kind);
        let kind = if bound == expected {
            match resolve(surface, position, layer, size.into(), effect.outside) {
                SurfaceAddress::InBounds(address) => return Ok(Some(address)),
                SurfaceAddress::Discarded => return Ok(None),
                SurfaceAddress::Trap => FaultKind::OutsideSurface {
                    name: surface.name.clone(),
                    position,
                    layer: effect.layer.is_some().then_some(layer),
                    size,
                    bounds: surface.image.describe(),
                },
                SurfaceAddress::Misaligned => FaultKind::Misaligned {
                    space: MemorySpace::Surface,
                    address: position[0] as u64,
                    size,
                },
            }
        } else {
            wrong_kind(&surface.name, bound.name(), expected.name())
        };
        Err(self.image_fault(issued, lane, kind))
    }

    #[cold]
    fn image_fault(&self, issued: WarpOp, lane: usize, kind: FaultKind) -> Fault {
        self.lane_fault(issued.at, issued.warp_index, lane, kind)
    }

    /// Returns the texture bound to a handle.
    fn texture_by_handle(
        &self,
        issued: WarpOp,
        lane: usize,
        handle: u32,
    ) -> Result<&Texture, Fault> {
        let textures = &self.launch.textures;
        textures.iter().find(|t| t.handle == handle).ok_or_else(|| {
            let surface = self.launch.surfaces.iter().find(|s| s.handle == handle);
            let kind = FaultKind::UnknownObject {
                space: MemorySpace::Texture,
                handle,
                bound_as: surface.map(|surface| format!("the surface {}", surface.name)),
            };
            self.image_fault(issued, lane, kind)
        })
    }

    /// Returns the surface bound to a handle.
    fn surface_by_handle(
        &self,
        issued: WarpOp,
        lane: usize,
        handle: u32,
    ) -> Result<&Surface, Fault> {
        let surfaces = &self.launch.surfaces;
        surfaces.iter().find(|s| s.handle == handle).ok_or_else(|| {
            let texture = self.launch.textures.iter().find(|t| t.handle == handle);
            let kind = FaultKind::UnknownObject {
                space: MemorySpace::Surface,
                handle,
                bound_as: texture.map(|texture| format!("the texture {}", texture.name)),
            };
            self.image_fault(issued, lane, kind)
        })
    }
}

/// Applies an atomic reduction to the bytes of a surface element; `None` if the operation has no such type.
fn reduce(bytes: &mut [u8], op: AtomicOp, kind: AtomicKind, operand: u64) -> Option<()> {
    let mut old = [0; 8];
    for (to, from) in old.iter_mut().zip(bytes.iter()) {
        *to = *from;
    }
    let new = op.apply(kind, u64::from_le_bytes(old), operand, 0)?;
    for (to, from) in bytes.iter_mut().zip(new.to_le_bytes()) {
        *to = from;
    }
    Some(())
}

fn wrong_kind(name: &str, actual: &'static str, expected: &'static str) -> FaultKind {
    FaultKind::WrongKind {
        name: name.to_owned(),
        actual,
        expected,
    }
}

/// Name of the texture kind that a sampled read expects.
fn sampled_kind_name(kind: ImageKind) -> &'static str {
    match kind {
        ImageKind::D1 => "a 1D array",
        ImageKind::D2 => "a 1D or 2D array",
        kind => kind.name(),
    }
}
