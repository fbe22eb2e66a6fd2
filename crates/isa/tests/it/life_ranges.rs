//! No register that NVIDIA's disassembler marks as read or written is missing from the effects: random words
//! of every form that falls through to the next instruction, recorded by
//! `cargo xtask life-ranges --forms COUNT --record`.

use std::collections::BTreeSet;
use warpbound_base::Family;
use warpbound_isa::nvidia::SassProgram;
use warpbound_isa::{Arch, Reg};

static RECORDED: &str = include_str!("../data/life_ranges.txt");

fn register(name: &str) -> Option<Reg> {
    let register = match name.split_at_checked(1)? {
        ("R", number) => Reg::vector(number.parse().ok()?),
        ("P", number) => Reg::predicate(number.parse().ok()?),
        _ => return None,
    };
    Some(register)
}

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
                    found.contains(&register(mark).expect("a register")),
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
