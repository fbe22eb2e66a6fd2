//! Fuzz target: bytes as a code section of each architecture.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warpbound_base::CodeAddr;
use warpbound_isa::{Arch, Program, TargetStyle};

/// Size of a group in bytes: a control word and its three instructions.
const GROUP: usize = 32;

fuzz_target!(|bytes: &[u8]| {
    let whole = bytes.len() / GROUP * GROUP;
    for arch in Arch::ALL {
        let refused = Program::decode(arch, bytes).is_err();
        assert_eq!(refused, whole != bytes.len());
        // Most inputs end inside a group: truncate them, since the decoded groups test more than the refusal.
        let program = Program::decode(arch, &bytes[..whole]).expect("whole groups");
        assert_eq!(program.instrs.len(), whole / GROUP * 3);
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
});
