//! Modes of small programs. LLVM's assembler made the words.

use super::*;

const NOP: u32 = 0xbf80_0000;
const END: u32 = 0xbf81_0000;
/// s_cbranch_scc0 over one instruction.
const SKIP_ONE: u32 = 0xbf84_0001;
/// s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), n: subnormal singles.
const SET_DENORMALS: u32 = 0xba00_0901;
/// s_mov_b32 s4, 1
const MOVE_ONE: u32 = 0xbe84_0081;
/// s_setreg_b32 hwreg(HW_REG_MODE, 0, 2), s4: rounding of singles.
const SET_ROUNDING: u32 = 0xb904_0801;
/// s_setreg_b32 hwreg(HW_REG_MODE, 2, 2), s9: rounding of doubles.
const SET_DOUBLE_ROUNDING: u32 = 0xb909_0881;
/// s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS), n
const SET_TRAPS: u32 = 0xba00_f803;
/// s_swappc_b64 s[30:31], s[4:5]
const CALL: u32 = 0xbe9e_1e04;
/// s_setpc_b64 s[30:31]
const RETURN: u32 = 0xbe80_1d1e;
/// s_setpc_b64 s[4:5]
const JUMP: u32 = 0xbe80_1d04;

/// Modes that compilers choose: subnormal doubles, DX10 clamp, IEEE.
const DEFAULT: u32 = 0x3c0;

/// Modes of a program whose functions begin at the indices. No jump through a register is resolved.
fn modes_of(words: &[u32], starts: &[usize]) -> Vec<ModeState> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let program = GcnProgram::decode(&bytes).expect("whole instructions");
    let initial = ModeState::of_descriptor(DEFAULT);
    find(&program, initial, starts.iter().copied().collect(), &|_| {
        None
    })
}

fn denormals(mode: ModeState) -> Option<bool> {
    mode.single().map(|mode| !mode.flush_operands)
}

#[test]
fn fields_are_written_until_the_next_write() {
    let modes = modes_of(&[SET_DENORMALS, 3, NOP, SET_DENORMALS, 0, END], &[0]);
    let found: Vec<Option<bool>> = modes.into_iter().map(denormals).collect();
    let [off, on] = [Some(false), Some(true)];
    assert_eq!(found, [off, on, on, off]);
}

#[test]
fn other_fields_stay() {
    let modes = modes_of(
        &[SET_DENORMALS, 3, MOVE_ONE, SET_ROUNDING, SET_TRAPS, 3, END],
        &[0],
    );
    let last = modes.last().copied().unwrap_or_default();
    assert_eq!(denormals(last), Some(true));
    assert_eq!(last.single().map(|mode| mode.rounding), Some(Rounding::Up));
    assert_eq!(
        last.double().map(|mode| mode.rounding),
        Some(Rounding::Nearest)
    );
    assert_eq!(
        (last.is_ieee(), last.clamps_nan()),
        (Some(true), Some(true))
    );
}

/// Bit 21 marks branches at which waves split; arithmetic does not depend on it.
#[test]
fn the_mark_of_splits_leaves_all_modes_known() {
    // s_setreg_imm32_b32 hwreg(HW_REG_MODE, 21, 1), 1; the same with s9.
    for mark in [&[0xba00_0541, 1][..], &[0xb909_0541]] {
        let modes = modes_of(&[mark, &[END]].concat(), &[0]);
        let last = modes.last().copied().unwrap_or_default();
        let initial = ModeState::of_descriptor(DEFAULT);
        assert_eq!(
            (last.single(), last.double()),
            (initial.single(), initial.double())
        );
        assert_eq!(
            (last.is_ieee(), last.clamps_nan()),
            (Some(true), Some(true))
        );
    }
}

#[test]
fn an_unknown_value_makes_its_field_unknown() {
    let modes = modes_of(&[SET_DOUBLE_ROUNDING, END], &[0]);
    let last = modes.last().copied().unwrap_or_default();
    assert_eq!(last.double(), None);
    assert_eq!(denormals(last), Some(false));
}

/// The branch skips the write on one path.
#[test]
fn different_values_meet_as_unknown() {
    let modes = modes_of(&[SKIP_ONE + 1, SET_DENORMALS, 3, NOP, END], &[0]);
    let last = modes.last().copied().unwrap_or_default();
    assert_eq!(last.single(), None);
    assert!(last.double().is_some());
}

#[test]
fn callees_begin_with_the_modes_of_their_calls() {
    // The kernel, and a function at 5.
    let words = [SET_DENORMALS, 3, CALL, NOP, END, NOP, RETURN];
    let modes = modes_of(&words, &[0, 4]);
    assert_eq!(denormals(modes[2]), Some(true), "after the call");
    assert_eq!(denormals(modes[4]), None, "in the function");
    assert!(modes[4].double().is_some());
}

#[test]
fn unknown_jumps_make_all_unknown() {
    let modes = modes_of(&[SET_DENORMALS, 3, JUMP], &[0]);
    assert!(modes.into_iter().all(|mode| mode == ModeState::default()));
}
