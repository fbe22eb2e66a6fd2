//! Known targets in small programs. LLVM's assembler made the words.

use std::sync::Arc;

use warpbound_load::Function;

use super::*;

const END: u32 = 0xbf81_0000;
const NOP: u32 = 0xbf80_0000;
/// s_getpc_b64 s[4:5]
const GETPC: u32 = 0xbe84_1c00;
/// s_setpc_b64 s[4:5]
const JUMP: u32 = 0xbe80_1d04;
/// s_setpc_b64 s[30:31]
const RETURN: u32 = 0xbe80_1d1e;
/// s_swappc_b64 s[30:31], s[4:5]
const CALL: u32 = 0xbe9e_1e04;
/// s_cbranch_scc0 by a number of instructions of 4 bytes.
const BRANCH: u32 = 0xbf84_0000;

/// s_add_u32 s4, s4, n; s_addc_u32 s5, s5, 0 or -1
fn add(n: i32) -> [u32; 3] {
    let high = if n < 0 { 0x8205_c105 } else { 0x8205_8005 };
    [0x8004_ff04, n as u32, high]
}

/// s_sub_u32 s4, s4, n; s_subb_u32 s5, s5, 0
fn subtract(n: u32) -> [u32; 3] {
    [0x8084_ff04, n, 0x8285_8005]
}

/// Targets by the addresses of the jumps; functions begin at the addresses, the kernel at the first one.
fn targets(words: &[u32], starts: &[u32]) -> Vec<(u32, u32)> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let program = GcnProgram::decode(&bytes).expect("whole instructions");
    let ends = starts.iter().skip(1).chain([&u32::MAX]);
    let function = |(&start, &end): (&u32, &u32)| Function {
        name: Arc::from("f"),
        start: CodeAddr(start),
        size: end - start,
        frame_size: None,
    };
    let mut kernel = Kernel::default();
    kernel.entry = CodeAddr(starts[0]);
    kernel.functions = starts.iter().zip(ends).map(function).collect();
    let jumps = Jumps::find(&kernel, &program);
    let address = |at: usize| program.instrs[at].addr.0;
    let targets = jumps.targets.iter();
    targets
        .map(|(at, target)| (address(*at), target.0))
        .collect()
}

#[test]
fn long_branches_forward_and_back() {
    // 0: forward over 8 bytes to 0x1c; 0x1c: back to 0x14, once by a sum and once by a difference.
    let forward = [&[GETPC][..], &add(0x18), &[JUMP, NOP, END]].concat();
    for back in [add(-0x0c), subtract(0x0c)] {
        let words = [&forward[..], &[GETPC], &back, &[JUMP]].concat();
        assert_eq!(targets(&words, &[0]), [(0x10, 0x1c), (0x2c, 0x14)]);
    }
}

/// The code after a long branch is followed too: the second one begins there.
#[test]
fn what_follows_a_long_branch_is_followed() {
    let first = [&[GETPC][..], &add(0x10), &[JUMP]].concat();
    let words = [&first[..], &first, &[END]].concat();
    assert_eq!(targets(&words, &[0]), [(0x10, 0x14), (0x24, 0x28)]);
}

/// The callee at 0x28 keeps s[4:5], so the address that is computed before the loop holds in each round.
#[test]
fn a_hoisted_address_of_a_callee() {
    let head = [&[GETPC][..], &add(0x20), &[CALL, NOP, BRANCH | 0xfffd, END]].concat();
    let callee = [NOP, NOP, RETURN];
    let words = [&head[..], &[NOP], &callee].concat();
    assert_eq!(targets(&words, &[0, 0x24]), [(0x10, 0x24)]);
    // s_mov_b32 s4, 0
    let clobbers = [0xbe84_0080, NOP, RETURN];
    let words = [&head[..], &[NOP], &clobbers].concat();
    assert_eq!(targets(&words, &[0, 0x24]), []);
}

/// One of two paths to the jump yields another address.
#[test]
fn every_path_must_yield_the_address() {
    // s_add_u32 s4, s4, 4 is skipped on one path.
    let words = [
        &[GETPC][..],
        &add(0x20),
        &[BRANCH | 1, 0x8004_8404, JUMP, NOP, NOP, END, END],
    ];
    assert_eq!(targets(&words.concat(), &[0]), []);
    let same = [
        &[GETPC][..],
        &add(0x20),
        &[BRANCH | 1, NOP, JUMP, NOP, NOP, END, END],
    ];
    assert_eq!(targets(&same.concat(), &[0]), [(0x18, 0x24)]);
}

/// A jump through s[8:9] may lead to the middle of another one.
#[test]
fn an_unknown_jump_makes_all_unknown() {
    let known = [&[GETPC][..], &add(0x14), &[JUMP, NOP, END]].concat();
    assert_eq!(targets(&known, &[0]), [(0x10, 0x18)]);
    let words = [&[BRANCH | 1, 0xbe80_1d08][..], &known].concat();
    assert_eq!(targets(&words, &[0]), []);
}

/// Functions that the kernel does not reach do not matter.
#[test]
fn functions_that_are_not_called_do_not_matter() {
    let known = [&[GETPC][..], &add(0x14), &[JUMP, NOP, END]].concat();
    let words = [&known[..], &[0xbe80_1d08]].concat();
    assert_eq!(targets(&words, &[0, 0x1c]), [(0x10, 0x18)]);
}
