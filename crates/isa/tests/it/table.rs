//! The instruction table is well formed.

use std::collections::BTreeSet;

use warpbound_base::Family;
use warpbound_isa::nvidia::{InstrClass, Opcode, SassProgram, table};
use warpbound_isa::{Arch, ControlWord, MemoryEffect, MemorySpace};

/// Parses all rows: rows are parsed on demand, so a fault in one could remain undetected.
#[test]
fn every_row_reads() {
    let table = table(Arch::Sm61);
    assert_eq!(table.check(), Ok(()));
    let rows = include_str!("../../../../isa/nvidia/maxwell.forms").lines();
    let rows = rows.filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    assert_eq!(table.forms().count(), rows.count());
}

#[test]
fn masks_are_disjoint_or_nested() {
    let table = table(Arch::Sm61);
    for arch in Arch::of_family(Family::Maxwell) {
        let forms: Vec<_> = table
            .forms()
            .map(|(_, form)| form)
            .filter(|form| form.exists_on(arch))
            .collect();
        assert!(forms.len() > 300);
        for (at, a) in forms.iter().enumerate() {
            for b in &forms[at + 1..] {
                let common = a.mask & b.mask;
                if (a.value ^ b.value) & common != 0 {
                    continue;
                }
                let nested = common == a.mask || common == b.mask;
                assert!(
                    nested && a.mask != b.mask && a.mnemonic() == b.mnemonic(),
                    "{arch}: {:016x}/{:016x} {} and {:016x}/{:016x} {} overlap",
                    a.value,
                    a.mask,
                    a.mnemonic(),
                    b.value,
                    b.mask,
                    b.mnemonic()
                );
            }
        }
    }
}

#[test]
fn architectures_differ_as_documented() {
    let table = table(Arch::Sm61);
    let has = |arch, name| {
        table
            .forms()
            .any(|(_, form)| form.exists_on(arch) && form.mnemonic() == name)
    };
    assert!(!has(Arch::Sm50, "HADD2") && has(Arch::Sm52, "HADD2"));
    assert!(!has(Arch::Sm60, "IDP") && has(Arch::Sm61, "IDP"));
    assert!(Arch::of_family(Family::Maxwell).all(|arch| has(arch, "XMAD")));
}

/// The reverse, that each mnemonic of the table is an opcode, is checked when the table is compiled.
#[test]
fn each_opcode_has_a_row() {
    let tables = [Arch::Sm61, Arch::Sm90].map(table);
    let forms = tables.iter().flat_map(|table| table.forms());
    let of_rows: BTreeSet<Opcode> = forms.map(|(_, form)| form.opcode()).collect();
    let all: BTreeSet<Opcode> = Opcode::ALL.iter().copied().collect();
    assert_eq!(of_rows, all);
    let names: BTreeSet<&str> = all.iter().map(|opcode| opcode.name()).collect();
    assert_eq!(names.len(), all.len(), "two opcodes have one name");
}

/// Compares classes with the effects in the table: memory, barriers and control flow.
#[test]
fn classes_agree_with_effects() {
    let program = SassProgram::decode(Arch::Sm61, &[]).expect("no code");
    let table = table(Arch::Sm61);
    let mut accesses = 0;
    for (id, form) in table.forms().filter(|(_, form)| form.is_instruction()) {
        let instr = warpbound_isa::nvidia::SassInstr {
            addr: warpbound_base::CodeAddr(8),
            word: form.value,
            control: ControlWord::of_slot(0, 0),
            form: Some(id),
        };
        let (effects, class) = (program.effects(&instr), form.opcode().class());
        let expected = match effects.access {
            Some(MemoryEffect {
                space: MemorySpace::Attribute,
                ..
            }) => InstrClass::Other,
            Some(MemoryEffect {
                loads: false,
                stores: false,
                ..
            }) => InstrClass::Other,
            Some(MemoryEffect {
                space: MemorySpace::Texture | MemorySpace::Surface,
                ..
            }) => InstrClass::TextureSurface,
            Some(_) if ["ATOM", "ATOMS", "RED"].contains(&form.mnemonic()) => InstrClass::Atomic,
            Some(_) => InstrClass::LoadStore,
            None if effects.barrier => InstrClass::Barrier,
            None => continue,
        };
        accesses += 1;
        assert_eq!(class, expected, "{}", form.mnemonic());
        assert_eq!(program.class(&instr), class);
    }
    assert!(accesses > 50);
}

#[test]
fn bytes_of_accesses() {
    let code = |word: u64| [[0; 8], word.to_le_bytes(), [0; 8], [0; 8]].concat();
    for (text, word, bytes) in [
        ("LDG.E R2, [R2]", 0xeed4_2000_0007_0202_u64, Some(4)),
        ("LDG.E.U8 R2, [R2]", 0xeed0_2000_0007_0202, Some(1)),
        ("LDG.E.S16 R2, [R2]", 0xeed3_2000_0007_0202, Some(2)),
        ("LDG.E.64 R2, [R2]", 0xeed5_2000_0007_0202, Some(8)),
        ("LDG.E.128 R4, [R2]", 0xeed6_2000_0007_0204, Some(16)),
        ("STS.U8 [R2], R0", 0xef58_0000_0007_0200, Some(1)),
        ("STL.64 [R2], R4", 0xef55_0000_0007_0204, Some(8)),
        ("LDC R0, c[0x3][R2]", 0xef94_0030_0007_0200, Some(4)),
        ("ATOMS.ADD R0, [R2], R4", 0xec00_0000_0047_0200, Some(4)),
        ("ATOMS.ADD.U64 R0, [R2], R4", 0xec00_0000_2047_0200, Some(8)),
        (
            "ATOMS.CAST.64 R0, [R2], R4, R6",
            0xee10_0000_0047_0200,
            Some(8),
        ),
        (
            "RED.E.ADD.F32.FTZ.RN [R2], R0",
            0xebf9_0000_0037_0200,
            Some(4),
        ),
        ("IADD R0, R0, R0", 0x5c10_0000_0007_0000, None),
        ("BAR.SYNC 0x0", 0xf0a8_1b80_0007_0000, None),
    ] {
        let program = SassProgram::decode(Arch::Sm61, &code(word)).expect("a group");
        let instr = &program.instrs[0];
        let spelled = program.text(instr, warpbound_isa::TargetStyle::Hex);
        assert_eq!(spelled.as_deref(), Some(text));
        assert_eq!(program.access_bytes(instr), bytes, "{text}");
    }
}
