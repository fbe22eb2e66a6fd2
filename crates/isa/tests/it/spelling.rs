//! Comparison of the disassembly with recorded output of NVIDIA's disassembler: every form of the table and the
//! words of our kernels (`cargo xtask disasm-compare --record`).

use std::collections::BTreeMap;
use warpbound_base::{CodeAddr, Family};
use warpbound_isa::nvidia::SassProgram;
use warpbound_isa::{Arch, InstrFlow, TargetStyle};

use super::recorded::{Line, lines};

/// The recorded words at their addresses.
fn code(lines: &[Line]) -> Vec<u8> {
    let mut words: BTreeMap<u32, u64> = BTreeMap::new();
    for line in lines {
        words.insert(line.address, line.word as u64);
        let slot = line.address % 32 / 8 - 1;
        *words.entry(line.address / 32 * 32).or_default() |= line.reuse << (17 + 21 * slot);
    }
    let groups = lines.iter().map(|line| line.address / 32 + 1).max();
    (0..groups.unwrap_or(0) * 4)
        .flat_map(|position| {
            words
                .get(&(position * 8))
                .copied()
                .unwrap_or(0)
                .to_le_bytes()
        })
        .collect()
}

#[test]
fn every_recorded_word_is_spelled_as_recorded() {
    let lines = lines();
    let code = code(&lines);
    let mut wrong = Vec::new();
    for arch in Arch::of_family(Family::Maxwell) {
        let program = SassProgram::decode(arch, &code).expect("whole groups");
        let sm = arch.sm().to_string();
        let mut compared = 0;
        for line in &lines {
            if line.archs != "all" && !line.archs.split(',').any(|name| name == sm) {
                continue;
            }
            let instr = program
                .at(CodeAddr(line.address))
                .expect("an address inside");
            assert_eq!(instr.word, line.word);
            let text = program.text(instr, TargetStyle::Hex);
            compared += 1;
            if text.as_deref().unwrap_or("!") != line.text {
                wrong.push(format!(
                    "{arch} {:016x}\n    ours     {}\n    recorded {}",
                    line.word,
                    text.as_deref().unwrap_or("!"),
                    line.text
                ));
            }
        }
        assert!(compared > 3000, "{arch}: only {compared} words");
    }
    wrong.truncate(10);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_form_is_recorded() {
    let lines = lines();
    let code = code(&lines);
    let table = warpbound_isa::nvidia::table(Arch::Sm61);
    for arch in Arch::of_family(Family::Maxwell) {
        let program = SassProgram::decode(arch, &code).expect("whole groups");
        for (id, form) in table.forms().filter(|(_, form)| form.exists_on(arch)) {
            assert!(
                !form.is_instruction() || program.instrs.iter().any(|instr| instr.form == Some(id)),
                "{arch}: no word of {:016x}/{:016x} {}",
                form.value,
                form.mask,
                form.mnemonic()
            );
        }
    }
}

#[test]
fn every_recorded_word_has_a_view_effects_and_a_timing_class() {
    let code = code(&lines());
    for arch in Arch::of_family(Family::Maxwell) {
        let program = SassProgram::decode(arch, &code).expect("whole groups");
        for instr in &program.instrs {
            let is_instruction = program.text(instr, TargetStyle::Hex).is_some();
            assert_eq!(program.view(instr).is_some(), is_instruction);
            assert_eq!(program.timing(instr).is_some(), is_instruction);
            let effects = program.effects(instr);
            if !is_instruction {
                assert_eq!(effects.flow, InstrFlow::Unsupported);
            }
            // Both lists are sorted sets.
            for list in [&effects.reads, &effects.writes] {
                assert!(list.windows(2).all(|pair| pair[0] < pair[1]));
            }
        }
    }
}
