//! DS: accesses to LDS, and exchange of lanes through its crossbar. For example, `ds_read2_b32 v[0:1], v2 offset0:1
//! offset1:3` loads the words at v2 + 4 and v2 + 12.

use warpbound_isa::amd::GcnView;
use warpbound_isa::instr::MemorySpace;

use super::{atomic, lanes, load, plus, store, words};
use crate::gcn3::mode::ModeState;
use crate::gcn3::operands::Operands;
use crate::{Address, Meaning, Width};

/// Returns the meaning; `None` if it is unknown.
pub(super) fn meaning(view: &GcnView, o: &Operands<'_>, mode: ModeState) -> Option<Meaning> {
    let offset = view.modifiers.offset;
    let name = view.opcode.name().strip_prefix("ds_")?;
    match name {
        "nop" => return Some(Meaning::nothing()),
        "swizzle_b32" => return lanes::swizzle(o, offset),
        "bpermute_b32" => return lanes::bpermute(o, offset),
        "permute_b32" => return lanes::permute(o, offset),
        // Sources differ on which half of M0 is the address of the counter: the upper one in the GCN3 manual, while
        // LLVM writes it to the lower one.
        "append" | "consume" => return None,
        // These have an operand in memory, which no expression reads.
        _ if name.contains("_src2_") => return None,
        _ => {}
    }
    if let Some(name) = name.strip_prefix("read") {
        return read(view, o, name);
    }
    if let Some(name) = name.strip_prefix("write") {
        return write(view, o, name);
    }
    let address = Address::short(plus(o.word(0, 0)?, offset));
    atomic::in_lds(&name.replace("_rtn", ""), o, mode, address)
}

/// Address of two elements at different offsets.
fn two_addresses(view: &GcnView, o: &Operands<'_>, unit: u32) -> Option<Address> {
    let modifiers = &view.modifiers;
    let (first, second) = (modifiers.offset * unit, modifiers.offset1 * unit);
    let mut address = Address::short(plus(o.word(0, 0)?, first));
    // The second element may be below the first, so the distance wraps.
    address.second_half = Some(second.wrapping_sub(first));
    Some(address)
}

/// Unit of the offsets of an access to two elements, by the name after `read` or `write`.
fn unit_of_two(name: &str) -> Option<u32> {
    Some(match name {
        "2_b32" => 4,
        "2_b64" => 8,
        "2st64_b32" => 4 * 64,
        "2st64_b64" => 8 * 64,
        _ => return None,
    })
}

fn read(view: &GcnView, o: &Operands<'_>, name: &str) -> Option<Meaning> {
    let space = MemorySpace::Shared;
    if let Some(unit) = unit_of_two(name) {
        return load(o, Width::Words, space, two_addresses(view, o, unit)?);
    }
    let width = match name {
        "_i8" => Width::S8,
        "_u8" => Width::U8,
        "_i16" => Width::S16,
        "_u16" => Width::U16,
        "_b32" | "_b64" | "_b96" | "_b128" => Width::Words,
        _ => return None,
    };
    let address = Address::short(plus(o.word(0, 0)?, view.modifiers.offset));
    load(o, width, space, address)
}

fn write(view: &GcnView, o: &Operands<'_>, name: &str) -> Option<Meaning> {
    let space = MemorySpace::Shared;
    if let Some(unit) = unit_of_two(name) {
        // No document states which of two writes to one place remains.
        if view.modifiers.offset == view.modifiers.offset1 {
            return None;
        }
        let values = [words(o, 1)?, words(o, 2)?].concat();
        let address = two_addresses(view, o, unit)?;
        return Some(store(values, Width::Words, space, address));
    }
    let width = match name {
        "_b8" => Width::U8,
        "_b16" => Width::U16,
        "_b32" | "_b64" | "_b96" | "_b128" => Width::Words,
        _ => return None,
    };
    let address = Address::short(plus(o.word(0, 0)?, view.modifiers.offset));
    Some(store(words(o, 1)?, width, space, address))
}
