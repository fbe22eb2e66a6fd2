//! Memory space, width and kind of the access of an operation.

use warpbound_ir::{Address, Expr, Meaning, Op, OpScope, Width};
use warpbound_isa::instr::MemorySpace;

use super::units::MemoryUnits;

/// Kind of an access, which its counts depend on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum AccessMode {
    /// Load or store by the lanes.
    Plain,
    /// Atomic operation by the lanes.
    Atomic,
    /// Access through a buffer, whose descriptor decides the addresses of the lanes.
    Buffer,
    /// Load by the warp as a whole: one address.
    Scalar,
}

/// Memory space and width of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccessShape {
    /// Memory space that the instruction names.
    pub space: MemorySpace,
    /// Bytes per lane: 1, 2, 4, 8, 12 or 16; 4 to 64 for a warp as a whole. Of two accesses, the bytes of one.
    pub bytes: u32,
    /// Kind.
    pub mode: AccessMode,
    /// Distance in bytes from the first of two accesses to the second one, modulo 2^32; `None` if there is only one.
    pub second_half: Option<u32>,
}

/// Properties of an access, apart from its addresses, that its counts depend on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct CountedForm {
    /// Bytes per lane.
    pub(super) bytes: u32,
    /// Power of two that divides all addresses.
    pub(super) align: u32,
    pub(super) mode: AccessMode,
}

impl MemoryUnits {
    /// Returns the properties of an access that its counts depend on.
    pub(super) fn form(&self, shape: AccessShape) -> CountedForm {
        let AccessShape {
            space, bytes, mode, ..
        } = shape;
        let (bytes, align) = match (space, mode) {
            // Constants need not be aligned, because the hardware reads the word that contains the address.
            (MemorySpace::Constant, _) => (1, 1),
            _ if !self.keeps_masks => (bytes, bytes),
            // GCN3: words are aligned, and accesses that name LDS to their size.
            (MemorySpace::Shared, _) => (bytes, bytes.next_power_of_two()),
            _ => (bytes, bytes.min(4)),
        };
        CountedForm { bytes, align, mode }
    }
}

impl AccessShape {
    /// A load or store by the lanes.
    pub const fn plain(space: MemorySpace, bytes: u32) -> AccessShape {
        AccessShape {
            space,
            bytes,
            mode: AccessMode::Plain,
            second_half: None,
        }
    }

    /// Returns the shape of the access of an operation; `None` if its meaning has no address. An indexed read of a
    /// constant bank (LDC) counts as an access of a word.
    pub fn of(op: &Op, units: &MemoryUnits) -> Option<AccessShape> {
        let (space, bytes, address, is_atomic) = match op.meaning.as_ref()? {
            Meaning::Load {
                dests,
                width,
                space,
                address,
            } => (*space, bytes_of(*width, dests.len())?, address, false),
            Meaning::Store {
                values,
                width,
                space,
                address,
            } => (*space, bytes_of(*width, values.len())?, address, false),
            Meaning::Atomic {
                kind,
                space,
                address,
                ..
            } => (*space, kind.size() as u32, address, true),
            Meaning::Set(_) => {
                constant_address(op)?;
                return Some(AccessShape::plain(MemorySpace::Constant, 4));
            }
            _ => return None,
        };
        // Warps without masks of their own access whole vectors.
        let bytes = match bytes {
            12 if !units.keeps_masks => 16,
            _ => bytes,
        };
        let mode = mode_of(op, address, is_atomic);
        let most = match mode {
            AccessMode::Scalar => 64,
            _ if address.second_half.is_some() => 32,
            _ => 16,
        };
        (bytes <= most).then_some(AccessShape {
            space,
            bytes: match address.second_half {
                Some(_) => bytes / 2,
                None => bytes,
            },
            mode,
            second_half: address.second_half,
        })
    }

    /// Number of accesses of an execution, each with the numbers of its class: 2 with a second half.
    pub fn parts(&self) -> u32 {
        1 + u32::from(self.second_half.is_some())
    }
}

/// Bytes of some words or of a part of a word.
fn bytes_of(width: Width, words: usize) -> Option<u32> {
    Some(match width {
        Width::U8 | Width::S8 => 1,
        Width::U16 | Width::S16 => 2,
        Width::Words => 4 * u32::try_from(words).ok().filter(|&words| words > 0)?,
    })
}

fn mode_of(op: &Op, address: &Address, is_atomic: bool) -> AccessMode {
    match op.scope {
        // A descriptor decides the addresses, whatever the operation does there.
        _ if address.buffer.is_some() => AccessMode::Buffer,
        OpScope::Warp => AccessMode::Scalar,
        _ if is_atomic => AccessMode::Atomic,
        _ => AccessMode::Plain,
    }
}

/// Returns the address that an indexed read of a constant bank computes from cells. For a read of several words it is
/// the address of the first.
pub fn constant_address(op: &Op) -> Option<&Expr> {
    let Some(Meaning::Set(writes)) = &op.meaning else {
        return None;
    };
    writes.iter().find_map(|(_, value)| indexed_constant(value))
}

/// Returns the first address of a constant in an expression, unless it is a number.
fn indexed_constant(value: &Expr) -> Option<&Expr> {
    match value {
        Expr::Constant(_, address) => match **address {
            Expr::Const(_) => None,
            ref address => Some(address),
        },
        Expr::Unary(_, a) => indexed_constant(a),
        Expr::Binary(_, a, b) => indexed_constant(a).or_else(|| indexed_constant(b)),
        Expr::Ternary(_, a, b, c) => indexed_constant(a)
            .or_else(|| indexed_constant(b))
            .or_else(|| indexed_constant(c)),
        Expr::Float(_, words, _) => words.iter().find_map(indexed_constant),
        _ => None,
    }
}
