//! Fuzz target: bytes as a code section of each architecture.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warpbound_base::{CodeAddr, Family};
use warpbound_isa::amd::{GcnInstr, GcnProgram};
use warpbound_isa::nvidia::SassProgram;
use warpbound_isa::{Arch, TargetStyle};

fuzz_target!(|bytes: &[u8]| {
    for &arch in Arch::ALL {
        decode_sass(arch, bytes);
    }
    decode_gcn(bytes);
});

fn decode_sass(arch: Arch, bytes: &[u8]) {
    // Maxwell has groups of a control word and three instructions, Volta words of 16 bytes.
    let (group, instrs) = match arch.family() {
        Family::Volta => (16, 1),
        _ => (32, 3),
    };
    let whole = bytes.len() / group * group;
    let refused = SassProgram::decode(arch, bytes).is_err();
    assert_eq!(refused, whole != bytes.len());
    // Most inputs end inside a group: truncate them, since the decoded groups test more than the refusal.
    let program = SassProgram::decode(arch, &bytes[..whole]).expect("whole groups");
    assert_eq!(program.instrs.len(), whole / group * instrs);
    let mut listing = String::new();
    program.write_listing(&[], &mut listing);
    assert_eq!(listing.lines().count(), program.instrs.len());
    let label = |to: CodeAddr| (to.0 % 16 == 8).then(|| format!(".L{}", to.0));
    for (index, instr) in program.instrs.iter().enumerate() {
        assert_eq!(program.index_of(instr.addr), Some(index));
        let known = instr.form.is_some();
        for style in [TargetStyle::Hex, TargetStyle::Labels(&label)] {
            let text = program.text(instr, style);
            assert_eq!(text.is_some(), known);
            assert!(text.is_none_or(|t| !t.is_empty() && !t.contains(char::is_control)));
        }
        assert_eq!(program.view(instr).is_some(), known);
        assert_eq!(program.mnemonic(instr).is_some(), known);
        let _ = (program.timing(instr), program.effects(instr));
    }
}

fn decode_gcn(bytes: &[u8]) {
    assert_eq!(
        GcnProgram::decode(bytes).is_err(),
        !bytes.len().is_multiple_of(4)
    );
    let program = GcnProgram::decode(&bytes[..bytes.len() / 4 * 4]).expect("whole dwords");
    let mut next = 0;
    for (index, instr) in program.instrs.iter().enumerate() {
        // The instructions cover the code without gaps.
        assert_eq!(instr.addr.0, next);
        next += u32::from(instr.bytes);
        assert_eq!(program.index_of(instr.addr), Some(index));
        let known = instr.form.is_some();
        let text = instr.text(TargetStyle::Hex);
        assert_eq!(text.is_some(), known);
        assert!(text.is_none_or(|t| !t.is_empty() && !t.contains(char::is_control)));
        assert_eq!(instr.opcode().is_some(), known);
        let _ = instr.effects();
        let Some(view) = instr.view() else {
            assert!(!known);
            continue;
        };
        // Bits that the hardware ignores are lost; what is encoded means and spells the same.
        if let Some((word, size)) = view.encode(instr.addr) {
            assert_eq!(size, instr.bytes);
            let second = (size == 8).then_some((word >> 32) as u32);
            let again = GcnInstr::decode(instr.addr, word as u32, second);
            assert_eq!(again.text(TargetStyle::Hex), instr.text(TargetStyle::Hex));
        }
    }
    assert_eq!(next as usize, bytes.len() / 4 * 4);
}
