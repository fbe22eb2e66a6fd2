//! All forms of scalar and vector instructions: which have a meaning, and that effects name all cells of a meaning.

use std::collections::BTreeSet;

use warpbound_isa::amd::{Encoding, GcnFlow};

use super::machine::{check_cells, decoded, meaning_of};
use crate::{Expr, Meaning};

/// Mnemonics of integers and scalar memory without a meaning: buffers and stores of scalar memory, hardware registers,
/// the clock of the device, registers that an index selects. The lifter
/// knows s_getpc_b64 and v_movrel*.
const WITHOUT: &[&str] = &[
    "s_buffer_load_dword",
    "s_buffer_load_dwordx16",
    "s_buffer_load_dwordx2",
    "s_buffer_load_dwordx4",
    "s_buffer_load_dwordx8",
    "s_buffer_store_dword",
    "s_buffer_store_dwordx2",
    "s_buffer_store_dwordx4",
    "s_getpc_b64",
    "s_getreg_b32",
    "s_memrealtime",
    "s_movreld_b32",
    "s_movreld_b64",
    "s_movrels_b32",
    "s_movrels_b64",
    "s_store_dword",
    "s_store_dwordx2",
    "s_store_dwordx4",
    "v_movreld_b32",
    "v_movrels_b32",
    "v_movrelsd_b32",
];

/// Words of a row whose fields are 0, and with other registers where the row may ask for them.
fn words(line: &str) -> Option<[u64; 2]> {
    let (value, rest) = line.split_once('/')?;
    let plain = u64::from_str_radix(value, 16).ok()?;
    let operands = rest.rsplit('|').next()?;
    let takes = |text| operands.contains(text);
    // A vector register as the first source; a constant as the third; MODE.
    let vector = match value.len() {
        8 if takes("v_readfirstlane") => 256,
        16 if takes("v_alignbyte") => 129 << 50,
        16 if takes("src0:") && plain >> 26 == 0x34 => 256 << 32,
        _ => u64::from(takes("s_setreg")),
    };
    Some([plain, plain | vector])
}

/// Forms as words.
fn forms() -> Vec<u64> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../isa/amd/gfx803.forms");
    let table = std::fs::read_to_string(path).unwrap();
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    rows.filter_map(words).flatten().collect()
}

#[test]
fn effects_name_all_cells_of_meanings() {
    let mut count = 0;
    for word in forms() {
        let instr = decoded(word);
        match meaning_of(word) {
            Some(Meaning::Set(values)) => {
                for (dest, value) in &values {
                    check_cells(&instr, *dest, value);
                    count += 1;
                }
            }
            Some(Meaning::Load { dests, address, .. }) => {
                for dest in dests.iter().flatten() {
                    check_cells(&instr, *dest, &address.low);
                    let high = address.high.clone();
                    check_cells(&instr, *dest, &high.unwrap_or(Expr::Const(0)));
                }
            }
            _ => {}
        }
    }
    assert!(count > 500, "{count}");
}

#[test]
fn forms_without_a_meaning() {
    let mut with = BTreeSet::new();
    let mut without = BTreeSet::new();
    for word in forms() {
        let instr = decoded(word);
        let view = instr.view().unwrap();
        let name = view.opcode.name();
        let is_followed = instr.effects().flow != GcnFlow::Unsupported;
        let is_float = ["f16", "f32", "f64"]
            .iter()
            .any(|format| name.contains(format));
        let is_memory = matches!(
            view.encoding,
            Encoding::Ds
                | Encoding::Flat
                | Encoding::Mubuf
                | Encoding::Mtbuf
                | Encoding::Mimg
                | Encoding::Exp
        );
        if is_followed && !is_float && !is_memory {
            match meaning_of(word) {
                Some(_) => with.insert(name),
                None => without.insert(name),
            };
        }
    }
    let found: Vec<&str> = without.difference(&with).copied().collect();
    assert_eq!(found, WITHOUT);
}
