//! Meaning of accesses to memory: LDS, flat addresses, buffers.
//!
//! Source: AMD, "Graphics Core Next Architecture, Generation 3" (GCN3 manual). The size limit of LDS in M0 is not
//! modelled, because compilers set it to all ones before any access.

mod atomic;
mod buffer;
mod lanes;
mod lds;
#[cfg(test)]
pub(super) mod tests;

use smallvec::SmallVec;
use warpbound_isa::amd::{Encoding, GcnView};
use warpbound_isa::instr::MemorySpace;

use super::mode::ModeState;
use super::operands::Operands;
use crate::{Address, BinaryOp, Cell, Expr, Meaning, Width};

/// Returns the meaning if MODE has these contents; `None` if it is unknown.
pub(super) fn meaning(view: &GcnView, o: &Operands<'_>, mode: ModeState) -> Option<Meaning> {
    let modifiers = &view.modifiers;
    // GDS, status dwords and loads into LDS are not modelled.
    if modifiers.gds || modifiers.tfe || modifiers.lds {
        return None;
    }
    match view.encoding {
        Encoding::Ds => lds::meaning(view, o, mode),
        Encoding::Flat => flat(view, o),
        Encoding::Mubuf => buffer::meaning(view, o),
        Encoding::Mtbuf => buffer::typed(view, o),
        _ => None,
    }
}

/// Width of a load, from its part of the name: `ubyte`, `dwordx2`.
fn load_width(name: &str) -> Option<Width> {
    Some(match name {
        "ubyte" => Width::U8,
        "sbyte" => Width::S8,
        "ushort" => Width::U16,
        "sshort" => Width::S16,
        "dword" | "dwordx2" | "dwordx3" | "dwordx4" => Width::Words,
        _ => return None,
    })
}

/// Width of a store.
fn store_width(name: &str) -> Option<Width> {
    Some(match name {
        "byte" => Width::U8,
        "short" => Width::U16,
        "dword" | "dwordx2" | "dwordx3" | "dwordx4" => Width::Words,
        _ => return None,
    })
}

/// FLAT: a 64-bit address, which is in global memory, LDS or scratch.
fn flat(view: &GcnView, o: &Operands<'_>) -> Option<Meaning> {
    // GCN3 has no offset here, so the bits are not defined.
    if view.modifiers.offset != 0 {
        return None;
    }
    let address = Address {
        low: o.word(0, 0)?,
        high: Some(o.word(0, 1)?),
        buffer: None,
        second_half: None,
    };
    let name = view.opcode.name().strip_prefix("flat_")?;
    let space = MemorySpace::Generic;
    if let Some(width) = name.strip_prefix("load_") {
        return load(o, load_width(width)?, space, address);
    }
    if let Some(width) = name.strip_prefix("store_") {
        let values = words(o, 1)?;
        return Some(store(values, store_width(width)?, space, address));
    }
    let name = name.strip_prefix("atomic_")?;
    atomic::in_memory(name, o, words(o, 1)?, space, address)
}

/// Load into the first destination.
fn load(o: &Operands<'_>, width: Width, space: MemorySpace, address: Address) -> Option<Meaning> {
    Some(Meaning::Load {
        dests: dests(o, o.dest(0)?.dwords)?,
        width,
        space,
        address,
    })
}

fn store(values: Vec<Expr>, width: Width, space: MemorySpace, address: Address) -> Meaning {
    Meaning::Store {
        values: values.into(),
        width,
        space,
        address,
    }
}

/// The first words of the first destination.
fn dests<const N: usize>(o: &Operands<'_>, count: u8) -> Option<SmallVec<[Option<Cell>; N]>>
where
    [Option<Cell>; N]: smallvec::Array<Item = Option<Cell>>,
{
    let cells = (0..count).map(|word| Some(Some(o.dest_cell(0, word)?)));
    cells.collect()
}

/// All words of a source.
fn words(o: &Operands<'_>, index: usize) -> Option<Vec<Expr>> {
    let count = o.source(index)?.dwords;
    (0..count).map(|word| o.word(index, word)).collect()
}

/// Sum with a constant.
fn plus(base: Expr, offset: u32) -> Expr {
    match offset {
        0 => base,
        _ => Expr::binary(BinaryOp::Add, base, Expr::Const(offset)),
    }
}
