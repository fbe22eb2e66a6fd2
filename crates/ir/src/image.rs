//! What instructions on textures and surfaces ask for.

use smallvec::SmallVec;

use crate::{AtomicKind, AtomicOp, Cell, Expr, Width};

/// How the texels of a texture or a surface are arranged.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ImageKind {
    /// A row of texels: linear memory, and arrays of one dimension.
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
    /// Coordinates, the layer apart.
    pub fn axes(self) -> usize {
        match self {
            ImageKind::D1 | ImageKind::Layered1 => 1,
            ImageKind::D2 | ImageKind::Layered2 => 2,
            ImageKind::D3 => 3,
        }
    }

    /// Whether a layer stands beside the coordinates.
    pub fn is_layered(self) -> bool {
        matches!(self, ImageKind::Layered1 | ImageKind::Layered2)
    }

    /// As messages spell it.
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

/// What is read of a texture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TextureWhat {
    /// What the sampler makes of the texels around the coordinates, which are singles (`TEX`, `TEXS`, `TXD`; PTX manual,
    /// `tex`).
    Sample,
    /// A texel; the coordinates are signed integers (`TLD`, `TLDS`; PTX manual, `tex` with `.s32`).
    Texel,
    /// One component of the four texels that linear filtering would mix (`TLD4`, `TLD4S`; PTX manual, `tld4`): those at
    /// (i, j+1), (i+1, j+1), (i+1, j) and (i, j) become the components of the result.
    Gather(u8),
}

/// A read of a texture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextureRead {
    /// What is read.
    pub what: TextureWhat,
    /// What the texture has to be. Code for 1D textures asks for 2D with y = 0 in most cases.
    pub kind: ImageKind,
    /// The low word of the texture object: the number of the texture in bits 19:0, of the sampler in bits 31:20.
    pub handle: Expr,
    /// As many as the kind has axes.
    pub coordinates: SmallVec<[Expr; 3]>,
    /// The layer, without sign.
    pub layer: Option<Expr>,
    /// The level of detail where the instruction names one, in the same kind of number as the coordinates. Where it gives a
    /// bias or derivatives instead, or nothing, hardware chooses.
    pub level: Option<Expr>,
    /// What is added to the numbers of the texels along each axis; none, or as many as there are axes.
    pub offsets: SmallVec<[Expr; 3]>,
    /// Components of the result, 0 to 3, and the cells that get them.
    pub dests: SmallVec<[(u8, Cell); 4]>,
}

/// What happens to an access outside a surface (PTX manual, `suld`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outside {
    /// Reads give 0, writes do nothing.
    Zero,
    /// The nearest place inside is taken.
    Clamp,
    /// The launch ends.
    Trap,
}

/// What an instruction does with a place of a surface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SurfaceWhat {
    /// Cells get what is there, those of the first words first; `None` takes a word that nobody wants.
    Load(SmallVec<[Option<Cell>; 4]>),
    /// Values go there, that of the first word first.
    Store(SmallVec<[Expr; 4]>),
    /// A number is changed without anything in between; the value takes one word or two.
    Reduce(AtomicOp, AtomicKind, SmallVec<[Expr; 2]>),
}

/// An access to a surface by bytes (`SULD.D.BA`, `SUST.D.BA`, `SURED.D.BA`; PTX manual, `suld.b`, `sust.b`, `sured.b`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SurfaceAccess {
    /// What is done.
    pub what: SurfaceWhat,
    /// How much of each register; numbers that are changed are whole words.
    pub width: Width,
    /// What the surface has to be.
    pub kind: ImageKind,
    /// The low word of the surface object.
    pub handle: Expr,
    /// As many as the kind has axes, signed; the first counts bytes, the others rows and slices.
    pub coordinates: SmallVec<[Expr; 3]>,
    /// The layer.
    pub layer: Option<Expr>,
    /// What happens outside.
    pub outside: Outside,
}

impl SurfaceAccess {
    /// Bytes of the access.
    pub fn size(&self) -> usize {
        let words = match &self.what {
            SurfaceWhat::Load(dests) => dests.len(),
            SurfaceWhat::Store(values) => values.len(),
            SurfaceWhat::Reduce(_, kind, _) => return kind.size(),
        };
        match self.width {
            Width::U8 | Width::S8 => 1,
            Width::U16 | Width::S16 => 2,
            Width::Words => 4 * words,
        }
    }
}
