//! Registers that instructions read and write are registers of the instruction set.

use warpbound_base::Family;
use warpbound_isa::nvidia::{SassProgram, table};
use warpbound_isa::{Arch, Program};

/// Words of each form, with the free bits in several patterns.
#[test]
fn effects_name_registers_of_the_files() {
    let mut named = 0u32;
    for arch in Arch::of_family(Family::Maxwell) {
        for (_, form) in table(arch).forms().filter(|(_, form)| form.exists_on(arch)) {
            for pattern in [0, u64::MAX, 0x5555_5555_5555_5555, 0x0f0f_1234_fedc_0f0f] {
                let word = form.value as u64 | pattern & !(form.mask as u64);
                let code: Vec<u8> = [0, word, 0, 0]
                    .iter()
                    .flat_map(|w: &u64| w.to_le_bytes())
                    .collect();
                let program = SassProgram::decode(arch, &code).expect("a group");
                let effects = program.effects(&program.instrs[0]);
                let files = Program::Nvidia(program).registers();
                for &register in effects.reads.iter().chain(&effects.writes) {
                    assert!(files.has(register), "{register} of {word:016x}");
                    named += 1;
                }
            }
        }
    }
    assert!(named > 10_000, "{named}");
}
