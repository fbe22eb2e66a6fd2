//! No register that NVIDIA's disassembler marks as read or written is missing from the effects: random words
//! of every form that falls through to the next instruction, recorded by
//! `cargo xtask life-ranges --forms COUNT --record`, with `--wide` for words of 128 bits.

use std::collections::{BTreeMap, BTreeSet};
use warpbound_base::Family;
use warpbound_isa::nvidia::SassProgram;
use warpbound_isa::{Arch, Reg, RegisterKind};

static RECORDED: &str = include_str!("../data/life_ranges.txt");

static RECORDED_WIDE: &str = include_str!("../data/wide_life_ranges.txt");

#[test]
fn every_marked_register_is_among_the_effects() {
    for arch in Arch::of_family(Family::Maxwell) {
        let sm = arch.sm().to_string();
        let mut forms = BTreeSet::new();
        for line in RECORDED.lines().filter(|line| !line.starts_with('#')) {
            let columns: Vec<&str> = line.split(' ').collect();
            let [word, archs, marks @ ..] = columns.as_slice() else {
                panic!("three columns: {line}");
            };
            if *archs != "all" && !archs.split(',').any(|name| name == sm) {
                continue;
            }
            let word = u64::from_str_radix(word, 16).expect("a word");
            let mut code = 0x001f_8000_fc00_07e0_u64.to_le_bytes().to_vec();
            code.extend(word.to_le_bytes().repeat(3));
            let program = SassProgram::decode(arch, &code).expect("whole groups");
            let instr = &program.instrs[0];
            let effects = program.effects(instr);
            let mut found: BTreeSet<Reg> = effects.reads.iter().copied().collect();
            found.extend(effects.guard.pred.map(Reg::predicate));
            let mut kind = "reads";
            for &mark in marks {
                if mark == ">" {
                    found = effects.writes.iter().copied().collect();
                    kind = "writes";
                    continue;
                }
                assert!(
                    found.contains(&Reg::named(mark).expect("a register")),
                    "{arch}: {word:016x} {:?} {kind} {mark}",
                    program.text(instr, Default::default())
                );
            }
            forms.extend(instr.form);
        }
        let expected = warpbound_isa::nvidia::table(arch)
            .forms()
            .filter(|(_, form)| form.exists_on(arch) && form.is_instruction())
            .count();
        // Control-flow forms are missing: the tool marks the registers that the code after them uses.
        assert!(
            forms.len() + 60 > expected,
            "{arch}: words of {} forms, the table has {expected}",
            forms.len()
        );
    }
}

/// Mnemonics of random words whose registers differ from the marks. The list may only become shorter.
const DIFFERENCES: [&str; 0] = [];

/// Reads may be more than the disassembler marks, for example of textures. Writes may not, because a write can make lanes
/// agree on a register.
#[test]
fn wide_instructions_read_and_write_what_is_marked() {
    let mut differences: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let recorded =
        [75, 80, 86, 87, 89, 90, 100, 103, 110, 120].map(|sm| Arch::from_sm(sm).expect("a chip"));
    for arch in recorded {
        let sm = arch.sm().to_string();
        let mut forms = BTreeSet::new();
        for line in RECORDED_WIDE.lines().filter(|line| !line.starts_with('#')) {
            let (word, rest) = line.split_once(' ').expect("a word");
            let (archs, marks) = rest.split_once(' ').expect("architectures");
            if !archs.split(',').any(|name| name == sm) {
                continue;
            }
            let (reads, writes) = marks.split_once('>').expect("two lists");
            let registers = |names: &str| -> BTreeSet<Reg> {
                let names = names.split_whitespace();
                names
                    .map(|name| Reg::named(name).expect("a register"))
                    .collect()
            };
            let word = u128::from_str_radix(word, 16).expect("a word");
            let program = SassProgram::decode(arch, &word.to_le_bytes()).expect("one word");
            let instr = &program.instrs[0];
            let effects = program.effects(instr);
            // The disassembler lists neither UR0 to UR3 nor UR62 and later, nor what follows them in a group.
            let reserved = |register: &Reg| {
                register.kind == RegisterKind::Uniform && !(4..62).contains(&register.number)
            };
            if effects.reads.iter().chain(&effects.writes).any(reserved) {
                continue;
            }
            let text = program.text(instr, Default::default()).unwrap_or_default();
            // A size that does not exist has no number of registers.
            if text.contains("INVALID") || text.contains("???") {
                continue;
            }
            let mut found: BTreeSet<Reg> = effects.reads.iter().copied().collect();
            found.extend(effects.guard.register());
            let missing: Vec<Reg> = registers(reads).difference(&found).copied().collect();
            let own: BTreeSet<Reg> = effects.writes.iter().copied().collect();
            let kept: BTreeSet<Reg> = own.intersection(&found).copied().collect();
            let mut certain: BTreeSet<Reg> = own.difference(&kept).copied().collect();
            // The disassembler marks no predicate that `PR` and `UPR` stand for. `testkit/tests/it/wide_meanings.rs` compares them with
            // the meaning.
            if matches!(program.mnemonic(instr), Some("R2P" | "UR2UP")) {
                certain.retain(|register| {
                    let kinds = [RegisterKind::Predicate, RegisterKind::UniformPredicate];
                    !kinds.contains(&register.kind)
                });
            }
            let writes = registers(writes);
            if !missing.is_empty() || !writes.is_subset(&own) || !certain.is_subset(&writes) {
                let mnemonic = program.mnemonic(instr).expect("a row");
                let registers = format!(
                    "{arch} {text}: misses reads {missing:?}, writes {writes:?}, not {own:?}"
                );
                differences.entry(mnemonic).or_default().push(registers);
            }
            forms.extend(instr.form);
        }
        assert!(forms.len() > 280, "{arch}: words of {} forms", forms.len());
    }
    let mnemonics: Vec<&str> = differences.keys().copied().collect();
    assert_eq!(mnemonics, DIFFERENCES, "{differences:#?}");
}
