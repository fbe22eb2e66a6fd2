//! Vector registers of memory instructions, all forms with all modifiers that change their number, against rules about their
//! names (AMD, "Graphics Core Next Architecture, Generation 3", chapters 8 to 10; widths of components of 16 bits, addresses
//! and status dwords: LLVM, `MIMGInstructions.td` and `SIInstrInfo::verifyInstruction`).

use std::collections::BTreeSet;

use warpbound_base::CodeAddr;
use warpbound_isa::amd::{GcnInstr, form_patterns};
use warpbound_isa::{Reg, RegisterKind};

/// Registers in the fields: address, data, second data, result.
const ADDRESS: u64 = 100;
const DATA: u64 = 20;
const SECOND: u64 = 40;
const RESULT: u64 = 60;

const GLC: [(u64, u32); 4] = [
    (0b110111, 16),
    (0b111000, 14),
    (0b111010, 14),
    (0b111100, 13),
];

/// Numbers of consecutive registers, by their first one.
#[derive(Default)]
struct Expected {
    reads: Vec<(u64, u64)>,
    writes: Vec<(u64, u64)>,
}

impl Expected {
    fn read(&mut self, first: u64, count: u64) {
        self.reads.push((first, count));
    }

    fn write(&mut self, first: u64, count: u64) {
        self.writes.push((first, count));
    }
}

fn registers(parts: &[(u64, u64)]) -> BTreeSet<u64> {
    let all = parts
        .iter()
        .flat_map(|(first, count)| *first..first + count);
    all.collect()
}

fn vectors(list: &[Reg]) -> BTreeSet<u64> {
    let vectors = list.iter().filter(|reg| reg.kind == RegisterKind::Vector);
    vectors.map(|reg| reg.number.into()).collect()
}

fn begins(name: &str, starts: &[&str]) -> bool {
    starts.iter().any(|start| name.starts_with(start))
}

/// Dwords of one element of LDS by the last part of the name.
fn element(name: &str) -> u64 {
    match name.rsplit('_').next().unwrap_or_default() {
        "b64" | "u64" | "i64" | "f64" => 2,
        "b96" => 3,
        "b128" => 4,
        _ => 1,
    }
}

fn of_lds(name: &str) -> Expected {
    let mut out = Expected::default();
    let size = element(name);

    let is_pair = begins(name, &["ds_read2", "ds_write2", "ds_wrxchg2"]);
    let lanes = begins(name, &["ds_swizzle", "ds_permute", "ds_bpermute"]);
    let counts = begins(name, &["ds_append", "ds_consume"]);
    let no_address = [
        "ds_gws_sema_v",
        "ds_gws_sema_p",
        "ds_gws_sema_release_all",
        "ds_nop",
    ];
    if !counts && !no_address.contains(&name) {
        out.read(ADDRESS, 1);
    }
    let loads = name.starts_with("ds_read");
    if loads || lanes || counts || name.contains("_rtn_") || name == "ds_ordered_count" {
        out.write(RESULT, if is_pair { 2 * size } else { size });
    }
    let data = !loads
        && !counts
        && !name.contains("src2")
        && !begins(
            name,
            &[
                "ds_gws",
                "ds_nop",
                "ds_ordered",
                "ds_swizzle",
                "ds_bpermute_no",
            ],
        );
    if data {
        out.read(DATA, size);
        if is_pair || begins(name, &["ds_mskor", "ds_cmpst", "ds_wrap"]) {
            out.read(SECOND, size);
        }
    }
    out
}

/// Dwords of the data of a load or store by the end of the name.
fn data_dwords(name: &str) -> u64 {
    let name = name.replace("d16_", "");
    let last = name.rsplit('_').next().unwrap_or_default();
    match last {
        "dwordx2" | "xy" | "x2" => 2,
        "dwordx3" | "xyz" => 3,
        "dwordx4" | "xyzw" => 4,
        _ => 1,
    }
}

/// Dwords that an atomic operation reads, and the dwords of its result.
fn atomic_dwords(name: &str) -> (u64, u64) {
    let result = if name.ends_with("_x2") { 2 } else { 1 };
    match name.contains("cmpswap") {
        true => (2 * result, result),
        false => (result, result),
    }
}

fn of_flat(name: &str, glc: bool) -> Expected {
    let mut out = Expected::default();
    out.read(ADDRESS, 2);
    if name.contains("atomic") {
        let (read, result) = atomic_dwords(name);
        out.read(DATA, read);
        if glc {
            out.write(RESULT, result);
        }
    } else if name.contains("store") {
        out.read(DATA, data_dwords(name));
    } else {
        out.write(RESULT, data_dwords(name));
    }
    out
}

struct Modifiers {
    glc: bool,
    tfe: bool,
    lwe: bool,
    lds: bool,
    address: u64,
    dmask: u64,
}

fn of_buffer(name: &str, modifiers: &Modifiers) -> Expected {
    let mut out = Expected::default();
    if begins(name, &["buffer_wbinvl1", "buffer_store_lds"]) {
        return out;
    }
    out.read(ADDRESS, modifiers.address);
    let count = data_dwords(name);
    if name.contains("atomic") {
        let (read, _) = atomic_dwords(name);
        out.read(DATA, read);
        if modifiers.glc {
            // The result of an exchange with a comparison is in the first half; disassemblers name both.
            out.write(DATA, read);
        }
        return out;
    }
    let status = u64::from(modifiers.tfe && !modifiers.lds);
    match name.contains("store") {
        true => out.read(DATA, count),
        false => out.write(DATA, count),
    }
    if status + u64::from(modifiers.lds) > 0 && !name.contains("store") {
        out.read(DATA, count);
    }
    out.read(DATA + count, status);
    out.write(DATA + count, status);
    out
}

fn of_image(name: &str, modifiers: &Modifiers) -> Expected {
    let mut out = Expected::default();
    // As many as the largest address has.
    out.read(ADDRESS, 16);
    let count = match begins(name, &["image_gather4"]) {
        true => 4,
        false => u64::from(modifiers.dmask.count_ones().max(1)),
    };
    let status = u64::from(modifiers.tfe || modifiers.lwe);
    let atomic = name.contains("atomic");
    let written = !name.contains("store") && (!atomic || modifiers.glc);
    if written {
        out.write(DATA, count);
    }
    if !written || atomic || status == 1 {
        out.read(DATA, count);
    }
    out.read(DATA + count, status);
    out.write(DATA + count, status);
    out
}

/// Sets a field that the form leaves free.
fn filled(word: &mut u64, fixed: u64, low: u32, width: u32, value: u64) {
    let mask = ((1 << width) - 1) << low;
    if fixed & mask == 0 {
        *word |= value << low;
    }
}

#[test]
fn memory_instructions_touch_the_registers_that_their_names_say() {
    let mut compared = 0;
    for (value, fixed) in form_patterns() {
        let kind = value >> 26 & 0x3f;
        if !(0b110110..=0b111100).contains(&kind) {
            continue;
        }
        for choice in 0..1u64 << 10 {
            let bit = |at: u64| choice >> at & 1;
            let (dmask, offen, idxen) = (choice & 15, bit(8), bit(9));
            let mut word = value;
            let (tfe, lwe, lds) = match kind {
                0b111100 => (Some(16), Some(17), None),
                0b111000 => (Some(55), None, Some(16)),
                0b111010 => (Some(55), None, None),
                _ => (None, None, None),
            };
            let mut set = |at: Option<u32>, wanted: u64| {
                let before = word;
                if let Some(at) = at {
                    filled(&mut word, fixed, at, 1, wanted);
                }
                // A bit that the form fixes is what it says.
                at.is_some_and(|at| word >> at & 1 == 1) && (before != word || wanted == 1)
            };
            let glc = GLC.iter().find(|(of, _)| *of == kind).map(|(_, at)| *at);
            let mut modifiers = Modifiers {
                glc: set(glc, bit(4)),
                tfe: set(tfe, bit(5)),
                lwe: set(lwe, bit(6)),
                lds: set(lds, bit(7)),
                address: 0,
                dmask: 0,
            };
            filled(&mut word, fixed, 32, 8, ADDRESS);
            filled(&mut word, fixed, 40, 8, DATA);
            match kind {
                0b110110 => {
                    filled(&mut word, fixed, 48, 8, SECOND);
                    filled(&mut word, fixed, 56, 8, RESULT);
                }
                0b110111 => filled(&mut word, fixed, 56, 8, RESULT),
                0b111000 | 0b111010 => {
                    filled(&mut word, fixed, 12, 1, offen);
                    filled(&mut word, fixed, 13, 1, idxen);
                    modifiers.address = offen + idxen;
                }
                _ => {
                    filled(&mut word, fixed, 8, 4, dmask);
                    modifiers.dmask = dmask;
                }
            }
            let instr = GcnInstr::decode(CodeAddr(0), word as u32, Some((word >> 32) as u32));
            let Some(opcode) = instr.opcode() else {
                continue;
            };
            let name = opcode.name();
            let expected = match kind {
                0b110110 => of_lds(name),
                0b110111 => of_flat(name, modifiers.glc),
                0b111000 | 0b111010 => of_buffer(name, &modifiers),
                0b111100 => of_image(name, &modifiers),
                _ => continue,
            };
            let found = instr.effects();
            let case = format!("{name} {word:016x}");
            assert_eq!(
                vectors(&found.writes),
                registers(&expected.writes),
                "writes of {case}"
            );
            assert_eq!(
                vectors(&found.reads),
                registers(&expected.reads),
                "reads of {case}"
            );
            compared += 1;
        }
    }
    assert!(compared > 100_000, "{compared}");
}

/// Scalar memory: LLVM's names say the number of dwords.
#[test]
fn scalar_memory_instructions_touch_the_registers_that_their_names_say() {
    for (value, fixed) in form_patterns() {
        if value >> 26 & 0x3f != 0b110000 {
            continue;
        }
        let mut word = value;
        filled(&mut word, fixed, 0, 6, 20);
        filled(&mut word, fixed, 6, 7, 64);
        let instr = GcnInstr::decode(CodeAddr(0), word as u32, Some((word >> 32) as u32));
        let name = instr.opcode().expect("a form").name();
        let count = match name.rsplit('_').next().unwrap_or_default() {
            "dwordx2" | "memtime" | "memrealtime" => 2,
            "dwordx4" => 4,
            "dwordx8" => 8,
            "dwordx16" => 16,
            "dword" => 1,
            _ => 0,
        };
        let scalars = |list: &[Reg]| -> BTreeSet<u64> {
            let scalars = list.iter().filter(|reg| reg.kind == RegisterKind::Scalar);
            scalars.map(|reg| reg.number.into()).collect()
        };
        let effects = instr.effects();
        let stores = name.contains("store");
        let written = if stores { 0 } else { count };
        assert_eq!(
            scalars(&effects.writes),
            registers(&[(64, written)]),
            "{name}"
        );
        let base = match name {
            _ if name.contains("buffer") => 4,
            _ if name.contains("time") || name.contains("dcache") => 0,
            _ => 2,
        };
        let mut reads = vec![(40, base)];
        if stores {
            reads.push((64, count));
        }
        let found = scalars(&effects.reads);
        // The offset may be in a register.
        assert!(found.is_superset(&registers(&reads)), "{name}: {found:?}");
        assert!(
            found.len() <= registers(&reads).len() + 1,
            "{name}: {found:?}"
        );
    }
}
