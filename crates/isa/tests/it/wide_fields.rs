//! Fields of words of 128 bits that are elsewhere, narrower or without meaning on other chips: one test for each, so that
//! a row that is taken to another chip fails by name. The texts are those of nvdisasm 13.5 for these words.
//!
//! Each test was seen to fail after the fault of its comment was planted. Two further faults concern the container, and
//! tests of `load` find them: registers from `sh_info` (`wide::registers_are_those_of_the_attribute`), and barriers from
//! the flags of the section (`wide::barriers_are_those_of_the_attribute`).

use warpbound_base::CodeAddr;
use warpbound_isa::nvidia::SassProgram;
use warpbound_isa::{Arch, SassInstr, TargetStyle};

/// Chips before sm_90, before sm_100, and from it on.
const EARLY: [Arch; 4] = [Arch::Sm75, Arch::Sm80, Arch::Sm86, Arch::Sm89];
const HOPPER: [Arch; 1] = [Arch::Sm90];
const LATE: [Arch; 4] = [Arch::Sm100, Arch::Sm103, Arch::Sm110, Arch::Sm120];

/// Text of a word at an address; `!` for a word that is no instruction.
fn text_at(arch: Arch, word: u128, addr: u32) -> String {
    let program = SassProgram::decode(arch, &word.to_le_bytes()).expect("a whole word");
    let moved = SassInstr {
        addr: CodeAddr(addr),
        ..program.instrs[0]
    };
    let text = program.text(&moved, TargetStyle::Hex);
    text.unwrap_or_else(|| "!".to_owned())
}

/// Compares the texts of a word on chips before sm_90, on sm_90 and from sm_100 on.
#[track_caller]
fn check(word: u128, addr: u32, early: &str, hopper: &str, late: &str) {
    let groups = [
        (EARLY.as_slice(), early),
        (HOPPER.as_slice(), hopper),
        (LATE.as_slice(), late),
    ];
    for (archs, expected) in groups {
        for &arch in archs {
            assert_eq!(text_at(arch, word, addr), expected, "{arch}");
        }
    }
}

/// Planted fault: URZ has the number 63 on sm_100.
#[test]
fn urz_is_63_before_sm_100_and_255_from_then_on() {
    let number_63 = 0x000f_c200_0800_0000_0000_003f_0003_7c02;
    let (zero, register) = ("MOV R3, URZ, 0x0", "MOV R3, UR63, 0x0");
    check(number_63, 0, zero, zero, register);
    let number_255 = 0x000f_c200_0800_0000_0000_00ff_0003_7c02;
    check(number_255, 0, zero, zero, zero);
}

/// Planted fault: the field of a uniform register has 6 bits on sm_120.
#[test]
fn uniform_registers_have_8_bits_from_sm_100_on() {
    let number_127 = 0x000f_c200_0800_0000_0000_007f_0003_7c02;
    let zero = "MOV R3, URZ, 0x0";
    check(number_127, 0, zero, zero, "MOV R3, UR127, 0x0");
}

/// Planted fault: the row of MOV with a constant is taken to sm_100.
#[test]
fn constants_are_no_operands_from_sm_100_on() {
    let word = 0x000f_c200_0000_0f00_0000_0a00_0001_7a02;
    let text = "MOV R1, c[0x0][0x28]";
    check(word, 0, text, text, "!");
}

/// Planted fault: the row of sm_90 is taken to sm_75.
#[test]
fn r2ur_has_another_opcode_from_sm_90_on() {
    let text = "R2UR UR4, R5";
    let old = 0x000f_c200_000e_0000_0000_0000_0504_73c2;
    check(old, 0, text, "!", "!");
    let new = 0x000f_c200_000e_0000_0000_0000_0504_72ca;
    check(new, 0, "!", text, text);
}

/// Planted fault: targets count from the instruction itself.
#[test]
fn targets_count_from_the_next_instruction() {
    // The last branch of a function, to itself: 16 bytes back.
    let early: u128 = 0x000f_c000_0383_ffff_ffff_fff0_0000_7947;
    assert_eq!(text_at(Arch::Sm75, early, 0x120), "BRA 0x120");
    let later = 0x000f_c000_0383_ffff_ffff_fffc_00fc_7947;
    check(later, 0x120, "BRA 0x12c", "BRA 0x120", "BRA 0x120");
    let barrier = 0x000f_c200_0380_0000_0000_00c0_0004_7945;
    let text = "BSSY B4, 0x1d0";
    check(barrier, 0x100, text, text, text);
}

/// Planted faults: the field of sm_75 on sm_90, and the reverse.
#[test]
fn distances_of_branches_have_8_more_low_bits_from_sm_90_on() {
    let high_bits = 0x000f_c200_0380_0000_0000_00c0_0000_7947;
    check(high_bits, 0, "BRA 0xd0", "BRA 0xc010", "BRA 0xc010");
    let low_bits = 0x000f_c200_0380_0000_0000_0000_0030_7947;
    check(low_bits, 0, "BRA 0x10", "BRA 0xd0", "BRA 0xd0");
}

/// Planted fault: the mask is in bits 39:32 on sm_90.
#[test]
fn the_mask_register_of_warpsync_is_in_bits_31_24_from_sm_90_on() {
    let word = 0x000f_c200_0380_0000_0000_0005_0900_7348;
    check(word, 0, "WARPSYNC R5", "WARPSYNC R9", "WARPSYNC R9");
}

/// Planted fault: bits 73:72 are ignored on sm_100.
#[test]
fn bssy_has_suffixes_from_sm_100_on() {
    for (bits, suffix) in [(0, ""), (1, ".RELIABLE"), (2, ".RECONVERGENT")] {
        let word: u128 = 0x000f_c200_0380_0000_0000_00c0_0004_7945 | bits << 72;
        let (plain, late) = ("BSSY B4, 0xd0", format!("BSSY{suffix} B4, 0xd0"));
        check(word, 0, plain, plain, &late);
    }
}

/// Stall codes and the bits beside them, as nvdisasm 13.5 accepts them for sm_90: for each stall code, a bit for each value
/// of the three bits. LDG takes them as a code for batches, UIADD3 has no operand that the reuse cache keeps, IADD3 has
/// three.
#[test]
fn stall_codes_and_the_bits_beside_them_fit_together() {
    for (word, to_15, from_17) in [
        (0x000f_0000_0c1e_1900_0000_0006_0405_1981_u128, 63, 63),
        (0x000f_c000_0fff_e13f_0000_003f_0a04_7290, 55, 1),
        (0x000f_c000_07f3_e0ff_8000_0044_0603_7210, 63, 255),
    ] {
        for stall in 0..32 {
            let expected = match stall {
                0 => 1,
                1..=15 => to_15,
                17..=27 => from_17,
                _ => 0,
            };
            let accepted = (0..8).filter(|hints| {
                let word = word | stall << 105 | hints << 122;
                let program = SassProgram::decode(Arch::Sm90, &word.to_le_bytes());
                program.expect("a whole instruction").instrs[0]
                    .form
                    .is_some()
            });
            let accepted: u128 = accepted.map(|hints| 1 << hints).sum();
            assert_eq!(accepted, expected, "{word:#x}, stall code {stall}");
        }
    }
}
