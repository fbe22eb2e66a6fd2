//! Sequences of instructions with which compilers compute numbers of several words, from Hopper and Blackwell: executed one
//! after the other, they give what the source computes. They show which carry an instruction gives.

use warpbound_ir::{Cell, Meaning, lift};
use warpbound_isa::nvidia::SassProgram;
use warpbound_isa::{Arch, Program};
use warpbound_load::Kernel;
use warpbound_testkit::instructions::input_words::InputWords;
use warpbound_testkit::instructions::wide_reference::WideInputs;

use super::wide_meanings::evaluate;

/// `__umul64hi(x, y)` with x in R5:R4 and y in R7:R6; the result is in R5:R4.
const HIGH_PRODUCT: [u128; 7] = [
    // IMAD.WIDE.U32 R8, R5, R6, RZ
    0x004fc800_078e00ff_00000006_05087225,
    // IMAD.WIDE.U32 R10, P0, R4, R7, R8
    0x000fc800_07800008_00000007_040a7225,
    // IMAD.WIDE.U32 R8, R4, R6, RZ
    0x000fe200_078e00ff_00000006_04087225,
    // IADD3.X R13, RZ, RZ, RZ, P0, !PT
    0x000fe400_007fe4ff_000000ff_ff0d7210,
    // MOV R12, R11
    0x000fe400_00000f00_0000000b_000c7202,
    // IADD3 RZ, P0, R9, R10, RZ
    0x000fe200_07f1e0ff_0000000a_09ff7210,
    // IMAD.WIDE.U32.X R4, R5, R7, R12, P0
    0x000fca00_000e040c_00000007_05047225,
];

/// `x - (y << 3)` with x in R5:R4 and y in R7:R6; the result is in R7:R6.
const SCALED_DIFFERENCE: [u128; 3] = [
    // SHF.L.U64.HI R7, R6, 0x3, R7
    0x044fe400_00010207_00000003_06077819,
    // LEA R6, P0, -R6, R4, 0x3
    0x008fc800_078019ff_00000004_06067211,
    // IADD3.X R7, R5, ~R7, RZ, P0, !PT
    0x000fe200_007fe4ff_80000007_05077210,
];

/// `x - y` of 128 bits with x from R4 on and y from R8 on; the result is from R4 on.
const LONG_DIFFERENCE: [u128; 3] = [
    // IADD.64 RZ, P0, R4, -R8
    0x0c8fe400_07800200_80000008_04ff7235,
    // IADD.64 R4, R4, -R8
    0x000fe400_078e0200_80000008_04047235,
    // IADD.64.X R6, R6, ~R10, P0
    0x000fcc00_000e0600_8000000a_06067235,
];

/// Executes words one after the other.
fn execute(sm: u32, words: &[u128], state: &mut WideInputs) {
    let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let arch = Arch::from_sm(sm).expect("a table");
    let program = SassProgram::decode(arch, &code).expect("whole words");
    let code = lift(&Kernel::default(), &Program::Nvidia(program)).expect("it begins at 0");
    for op in code.ops {
        let Some(Meaning::Set(writes)) = op.meaning else {
            unreachable!("{} has no meaning", op.addr);
        };
        let values = writes.iter().map(|(_, value)| evaluate(value, state));
        for (value, (cell, _)) in values.collect::<Vec<u32>>().into_iter().zip(&writes) {
            let number = usize::from(cell.register().number);
            match *cell == Cell::pred(cell.register().number) {
                true => state.predicates[number] = value == 1,
                false => state.registers[number] = value,
            }
        }
    }
}

/// Compares the registers from R4 or R6 on with a function of the numbers of 128 bits from R4 and from R8 on.
fn check(sm: u32, words: &[u128], result: usize, count: usize, of: impl Fn(u128, u128) -> u128) {
    let mut random = InputWords::new(11);
    let mut state = WideInputs {
        registers: [0; 256],
        uniform: [0; 256],
        predicates: [false; 8],
        uniform_predicates: [false; 8],
        constants: vec![0],
        first_constant: 0,
    };
    for _ in 0..20_000 {
        state.registers = std::array::from_fn(|_| match random.bits() % 4 {
            0 => 0,
            1 => u32::MAX,
            _ => random.word(),
        });
        if random.bits().is_multiple_of(4) {
            // Equal words, whose differences are 0.
            state.registers.copy_within(4..8, 8);
        }
        let number = |registers: &[u32]| {
            let words = registers.iter().rev();
            words.fold(0, |number, word| number << 32 | u128::from(*word))
        };
        let expected = of(
            number(&state.registers[4..8]),
            number(&state.registers[8..12]),
        );
        let begin = state.clone();
        execute(sm, words, &mut state);
        let got = number(&state.registers[result..result + count]);
        let expected = expected & (u128::MAX >> (128 - 32 * count));
        assert_eq!(got, expected, "{:x?}", &begin.registers[4..12]);
    }
}

/// Low and high half of a number of 128 bits.
fn halves(number: u128) -> [u128; 2] {
    [number & u128::from(u64::MAX), number >> 64]
}

#[test]
fn products_of_words_are_added_with_their_carries() {
    check(90, &HIGH_PRODUCT, 4, 2, |x, _| {
        let [x, y] = halves(x);
        (x * y) >> 64
    });
}

#[test]
fn a_scaled_operand_is_subtracted_with_its_carry() {
    check(90, &SCALED_DIFFERENCE, 6, 2, |x, _| {
        let [x, y] = halves(x);
        x.wrapping_sub(y << 3)
    });
}

#[test]
fn differences_of_64_bits_have_a_carry() {
    check(120, &LONG_DIFFERENCE, 4, 4, u128::wrapping_sub);
}
