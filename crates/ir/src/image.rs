//! Texture and surface accesses. For example, `tex2D<float4>(texture, x, y)` is a [`TextureRead`] with
//! [`TextureOp::Sample`], two coordinates and four destinations.

use smallvec::SmallVec;

use crate::{AtomicKind, AtomicOp, Cell, Expr, Width};

/// Dimensionality of a texture or a surface.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ImageKind {
    /// Row of texels: linear memory, and arrays of one dimension.
    D1,
    /// Rows of texels.
    D2,
    /// Slices of rows.
    D3,
    /// Layers of one row each.
    Layered1,
    /// Layers of rows.
    Layered2,
}

impl ImageKind {
    /// Number of coordinates, without the layer.
    pub fn dimensions(self) -> usize {
        match self {
            ImageKind::D1 | ImageKind::Layered1 => 1,
            ImageKind::D2 | ImageKind::Layered2 => 2,
            ImageKind::D3 => 3,
        }
    }

    /// Whether there is a layer in addition to the coordinates.
    pub fn is_layered(self) -> bool {
        matches!(self, ImageKind::Layered1 | ImageKind::Layered2)
    }

    /// Name in messages.
    pub fn name(self) -> &'static str {
        match self {
            ImageKind::D1 => "1D",
            ImageKind::D2 => "2D",
            ImageKind::D3 => "3D",
            ImageKind::Layered1 => "1D layered",
            ImageKind::Layered2 => "2D layered",
        }
    }
}

/// Kind of texture read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TextureOp {
    /// Filtered sample at coordinates that are singles (`TEX`, `TEXS`, `TXD`; PTX manual, `tex`).
    Sample,
    /// Texel at coordinates that are signed integers (`TLD`, `TLDS`; PTX manual, `tex` with `.s32`).
    Texel,
    /// One component of the four texels that linear filtering would mix (`TLD4`, `TLD4S`; PTX manual, `tld4`). The
    /// texels at (i, j+1), (i+1, j+1), (i+1, j) and (i, j) become the components of the result, in this order.
    Gather(u8),
}

/// Texture read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextureRead {
    /// Kind of read.
    pub op: TextureOp,
    /// Required dimensionality of the texture. Code for 1D textures mostly reads 2D with y = 0.
    pub kind: ImageKind,
    /// Low word of the texture object: the number of the texture in bits 19:0, of the sampler in bits 31:20.
    pub handle: Expr,
    /// Coordinates, one for each dimension.
    pub coordinates: SmallVec<[Expr; 3]>,
    /// Layer, unsigned.
    pub layer: Option<Expr>,
    /// Explicit level of detail, in the number type of the coordinates. `None` if hardware chooses it, from a bias,
    /// from derivatives or by itself.
    pub level: Option<Expr>,
    /// Offsets in texels; none, or one for each dimension.
    pub offsets: SmallVec<[Expr; 3]>,
    /// Components of the result, 0 to 3, and their destination cells.
    pub dests: SmallVec<[(u8, Cell); 4]>,
}

/// Behaviour of an access outside a surface (PTX manual, `suld`, clamp modes).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutOfBounds {
    /// Reads return 0, writes are dropped.
    Zero,
    /// The coordinates are clamped to the surface.
    Clamp,
    /// The launch ends with an error.
    Trap,
}

/// Kind of surface access.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SurfaceOp {
    /// Load into cells, in the order of the words. The word of a `None` is discarded.
    Load(SmallVec<[Option<Cell>; 4]>),
    /// Store of values, in the order of the words.
    Store(SmallVec<[Expr; 4]>),
    /// Atomic reduction; the operand takes one word or two.
    Reduce(AtomicOp, AtomicKind, SmallVec<[Expr; 2]>),
}

/// Surface access by byte address (`SULD.D.BA`, `SUST.D.BA`, `SURED.D.BA`; PTX manual, `suld.b`, `sust.b`, `sured.b`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SurfaceAccess {
    /// Kind of access.
    pub op: SurfaceOp,
    /// Width of the access; reductions work on whole words.
    pub width: Width,
    /// Required dimensionality of the surface.
    pub kind: ImageKind,
    /// Low word of the surface object.
    pub handle: Expr,
    /// Signed coordinates, one for each dimension. The first counts bytes, the others rows and slices.
    pub coordinates: SmallVec<[Expr; 3]>,
    /// Layer.
    pub layer: Option<Expr>,
    /// Behaviour outside the surface.
    pub out_of_bounds: OutOfBounds,
}

impl SurfaceAccess {
    /// Size of the access in bytes.
    pub fn size(&self) -> usize {
        let words = match &self.op {
            SurfaceOp::Load(dests) => dests.len(),
            SurfaceOp::Store(values) => values.len(),
            SurfaceOp::Reduce(_, kind, _) => return kind.size(),
        };
        match self.width {
            Width::U8 | Width::S8 => 1,
            Width::U16 | Width::S16 => 2,
            Width::Words => 4 * words,
        }
    }
}
