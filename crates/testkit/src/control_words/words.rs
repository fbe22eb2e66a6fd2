//! Encodings of instructions (`isa/nvidia/maxwell.forms`), each without a guard.

/// Number of registers of a program.
pub(super) const REGISTERS: u8 = 48;

/// Constant bank with contents of its own, and its size in bytes.
pub(super) const BANK: u64 = 3;
pub(super) const CONSTANT_BYTES: u32 = 0x1400;

/// Register 255 reads as 0.
pub(super) const RZ: u8 = 255;

/// Guard that always holds, and its field.
const ALWAYS: u64 = 7;
const GUARD_AT: u32 = 16;

/// Condition that the control flow of an instruction always passes: bits 4:0.
const TRUE: u64 = 0xf;

/// Origin of the second operand of an arithmetic instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operand {
    Register(u8),
    /// Bank and byte offset.
    Constant(u64, u32),
}

/// Returns the word with a guard: a predicate, and whether its negation guards.
pub(super) fn guarded(word: u64, predicate: u8, negated: bool) -> u64 {
    let guard = u64::from(predicate) | u64::from(negated) << 3;
    word & !(0xf << GUARD_AT) | guard << GUARD_AT
}

/// Fields of the destination and of the first source.
fn fields(opcode: u64, to: u8, a: u8) -> u64 {
    opcode | ALWAYS << GUARD_AT | u64::from(to) | u64::from(a) << 8
}

/// Word with a second source at bits 27:20.
fn two(opcode: u64, to: u8, a: u8, b: u8) -> u64 {
    fields(opcode, to, a) | u64::from(b) << 20
}

/// Signed number of 20 bits: sign at bit 56, the others at 38:20.
fn immediate(value: i32) -> u64 {
    let bits = value as u32;
    u64::from(bits & 0x7_ffff) << 20 | u64::from(bits >> 31) << 56
}

/// Second operand of an opcode: `0x5c` in the highest byte takes a register, `0x4c` a constant.
fn second(register_form: u64, constant_form: u64, to: u8, a: u8, b: Operand) -> u64 {
    match b {
        Operand::Register(b) => two(register_form, to, a, b),
        Operand::Constant(bank, at) => {
            fields(constant_form, to, a) | bank << 34 | u64::from(at / 4) << 20
        }
    }
}

pub(super) const NOP: u64 = 0x50b0_0000_0000_0f00 | ALWAYS << GUARD_AT;
pub(super) const EXIT: u64 = 0xe300_0000_0000_0000 | TRUE | ALWAYS << GUARD_AT;
pub(super) const SYNC: u64 = 0xf0f8_0000_0000_0000 | TRUE | ALWAYS << GUARD_AT;
/// BAR.SYNC 0.
pub(super) const BARRIER: u64 = 0xf0a8_1b80_0000_0000 | ALWAYS << GUARD_AT;
/// BAR.ARV 1, 64.
pub(super) const ARRIVAL: u64 = 0xf0a8_1b81_0000_0000 | ALWAYS << GUARD_AT | 1 << 8 | 64 << 20;
/// BRA and SSY without a target.
pub(super) const BRANCH: u64 = 0xe240_0000_0000_0000 | TRUE | ALWAYS << GUARD_AT;
pub(super) const PUSH_SYNC: u64 = 0xe290_0000_0000_0000;

/// Distance of a branch from the next instruction, in bytes.
pub(super) fn to_target(word: u64, distance: i64) -> u64 {
    word | (distance as u64 & 0xff_ffff) << 20
}

/// MEMBAR.CTA, .GL or .SYS.
pub(super) fn memory_barrier(level: u64) -> u64 {
    0xef98_0000_0000_0000 | ALWAYS << GUARD_AT | level << 8
}

/// DEPBAR.LE: a scoreboard down to a count, and others to 0.
pub(super) fn depbar(scoreboard: u8, most: u8, others: u8) -> u64 {
    let fields = u64::from(scoreboard) << 26 | u64::from(most) << 20 | u64::from(others);
    0xf0f0_0000_2000_0000 | ALWAYS << GUARD_AT | fields
}

/// S2R of SR_LANEID, SR_TID.X, SR_CTAID.X.
pub(super) fn special(to: u8, number: u64) -> u64 {
    fields(0xf0c8_0000_0000_0000, to, 0) | number << 20
}

pub(super) const LANE: u64 = 0;
pub(super) const THREAD_X: u64 = 0x21;
pub(super) const BLOCK_X: u64 = 0x25;

pub(super) fn mov(to: u8, from: Operand) -> u64 {
    second(0x5c98_0780_0000_0000, 0x4c98_0780_0000_0000, to, 0, from)
}

pub(super) fn mov32(to: u8, value: u32) -> u64 {
    fields(0x0100_0000_0000_f000, to, 0) | u64::from(value) << 20
}

pub(super) fn shift_left(to: u8, a: u8, by: u32) -> u64 {
    fields(0x3848_0000_0000_0000, to, a) | immediate(by as i32)
}

/// LOP.AND with a number.
pub(super) fn and(to: u8, a: u8, mask: u32) -> u64 {
    fields(0x3847_0000_0000_0000, to, a) | immediate(mask as i32)
}

pub(super) fn add_number(to: u8, a: u8, number: i32) -> u64 {
    fields(0x3810_0000_0000_0000, to, a) | immediate(number)
}

/// IADD that writes the carry, and IADD.X that reads it.
pub(super) fn add_low(to: u8, a: u8, b: u8) -> u64 {
    two(0x5c10_0000_0000_0000, to, a, b) | 1 << 47
}

pub(super) fn add_high(to: u8, a: u8, b: u8) -> u64 {
    two(0x5c10_0000_0000_0000, to, a, b) | 1 << 43
}

/// Comparisons of [`compare`].
pub(super) const LESS: u64 = 1;
pub(super) const EQUAL: u64 = 2;
pub(super) const LESS_OR_EQUAL: u64 = 3;
pub(super) const NOT_EQUAL: u64 = 5;

/// ISETP.AND of signed words: predicate, PT, register, number.
pub(super) fn compare(comparison: u64, predicate: u8, a: u8, number: i32) -> u64 {
    compare_fields(0x3660_0000_0000_0000, comparison, predicate, a) | immediate(number)
}

/// ISETP.AND of two registers.
pub(super) fn compare_registers(comparison: u64, predicate: u8, a: u8, b: u8) -> u64 {
    compare_fields(0x5b60_0000_0000_0000, comparison, predicate, a) | u64::from(b) << 20
}

fn compare_fields(opcode: u64, comparison: u64, predicate: u8, a: u8) -> u64 {
    fields(opcode, 7, a) | u64::from(predicate) << 3 | comparison << 49 | 1 << 48 | 7 << 39
}

/// PSETP.AND.AND of a predicate with another one, into the first.
pub(super) fn and_predicates(predicate: u8, other: u8) -> u64 {
    let [to, with] = [predicate, other].map(u64::from);
    0x5090_0000_0000_0007 | ALWAYS << GUARD_AT | to << 3 | to << 12 | with << 29 | 7 << 39
}

/// Arithmetic of fixed latency with two operands, by number.
pub(super) fn plain(number: usize, to: u8, a: u8, b: Operand) -> u64 {
    const OPCODES: [(u64, u64); 5] = [
        (0x5c10_0000_0000_0000, 0x4c10_0000_0000_0000), // IADD
        (0x5c58_0000_0000_0000, 0x4c58_0000_0000_0000), // FADD
        (0x5c47_0000_0000_0000, 0x4c47_0000_0000_0000), // LOP.AND
        (0x5c48_0000_0000_0000, 0x4c48_0000_0000_0000), // SHL
        (0x5c00_0000_0000_0000, 0x4c00_0000_0000_0000), // BFE
    ];
    let (register, constant) = OPCODES[number % OPCODES.len()];
    second(register, constant, to, a, b)
}

/// Arithmetic of fixed latency with three operands: FFMA, XMAD, IADD3.
pub(super) fn plain3(number: usize, to: u8, a: u8, b: Operand, c: u8) -> u64 {
    const OPCODES: [(u64, u64); 3] = [
        (0x5980_0000_0000_0000, 0x4980_0000_0000_0000),
        (0x5b00_0000_0000_0000, 0x4e00_0000_0000_0000),
        (0x5cc0_0000_0000_0000, 0x4cc0_0000_0000_0000),
    ];
    let (register, constant) = OPCODES[number % OPCODES.len()];
    second(register, constant, to, a, b) | u64::from(c) << 39
}

/// Vote over the active lanes: a register and P6 from a predicate.
pub(super) fn vote(to: u8, predicate: u8) -> u64 {
    fields(0x50d8_0000_0000_0000, to, 0) | 6 << 45 | u64::from(predicate) << 39
}

/// Instructions of the unit for special functions: MUFU, FLO, POPC, conversions of words.
pub(super) fn special_function(number: usize, to: u8, a: u8) -> u64 {
    match number % 6 {
        0..=1 => fields(0x5080_0000_0000_0000, to, a) | (number as u64 / 6 % 6) << 20,
        2 => two(0x5c30_0000_0000_0000, to, 0, a) | 1 << 48,
        3 => two(0x5c08_0000_0000_0000, to, 0, a),
        // I2F.F32.S32 and F2I.S32.F32.
        4 => two(0x5cb8_0000_0000_2a00, to, 0, a),
        _ => two(0x5cb0_0000_0000_1a00, to, 0, a),
    }
}

/// F2F between words and pairs: F64.F32 or F32.F64.
pub(super) fn convert_wide(widens: bool, to: u8, a: u8) -> u64 {
    let formats: u64 = if widens { 0xb00 } else { 0xe00 };
    two(0x5ca8_0000_0000_0000 | formats, to, 0, a)
}

/// DADD, DMUL or DFMA of pairs.
pub(super) fn double(number: usize, to: u8, a: u8, b: u8, c: u8) -> u64 {
    match number % 3 {
        0 => two(0x5c70_0000_0000_0000, to, a, b),
        1 => two(0x5c80_0000_0000_0000, to, a, b),
        _ => two(0x5b70_0000_0000_0000, to, a, b) | u64::from(c) << 39,
    }
}

/// HADD2 or HFMA2.
pub(super) fn half(number: usize, to: u8, a: u8, b: u8, c: u8) -> u64 {
    match number % 2 {
        0 => two(0x5d10_0000_0000_0000, to, a, b),
        _ => two(0x5d00_0000_0000_0000, to, a, b) | u64::from(c) << 39,
    }
}

/// IMAD or IMUL of signed words.
pub(super) fn multiply(number: usize, to: u8, a: u8, b: u8, c: u8) -> u64 {
    match number % 2 {
        0 => two(0x5a00_0000_0000_0000, to, a, b) | 1 << 48 | 1 << 53 | u64::from(c) << 39,
        _ => two(0x5c38_0000_0000_0000, to, a, b) | 3 << 40,
    }
}

/// SHFL with a number of lanes: index, up, down or butterfly.
pub(super) fn shuffle(mode: u64, to: u8, a: u8, lane: u64) -> u64 {
    let fields = fields(0xef10_0000_3000_0000, to, a);
    // PT takes the second result; the mask spans the warp.
    fields | mode << 30 | 7 << 48 | lane << 20 | 0x1f << 34
}

/// Sizes of accesses in bytes, with their encoding.
fn size(bytes: u32) -> u64 {
    match bytes {
        1 => 0,
        2 => 2,
        8 => 5,
        16 => 6,
        _ => 4,
    }
}

/// Access: LDG.E, STG.E, LDS, STS, LDL or STL.
fn access(opcode: u64, register: u8, address: u8, offset: u32, bytes: u32) -> u64 {
    fields(opcode, register, address) | u64::from(offset) << 20 | size(bytes) << 48
}

/// LDG.E with a cache policy (0: none, 1: CG, 2: CI, 3: CV).
pub(super) fn load_global(to: u8, address: u8, offset: u32, bytes: u32, policy: u64) -> u64 {
    access(0xeed0_2000_0000_0000, to, address, offset, bytes) | policy << 46
}

/// LD.E: a load from a generic address.
pub(super) fn load_generic(to: u8, address: u8) -> u64 {
    fields(0x8090_0000_0000_0000, to, address)
}

pub(super) fn store_global(from: u8, address: u8, offset: u32, bytes: u32) -> u64 {
    access(0xeed8_2000_0000_0000, from, address, offset, bytes)
}

pub(super) fn load_shared(to: u8, address: u8, offset: u32, bytes: u32) -> u64 {
    access(0xef48_0000_0000_0000, to, address, offset, bytes)
}

pub(super) fn store_shared(from: u8, address: u8, offset: u32, bytes: u32) -> u64 {
    access(0xef58_0000_0000_0000, from, address, offset, bytes)
}

pub(super) fn load_local(to: u8, address: u8, offset: u32, bytes: u32) -> u64 {
    access(0xef40_0000_0000_0000, to, address, offset, bytes)
}

pub(super) fn store_local(from: u8, address: u8, offset: u32, bytes: u32) -> u64 {
    access(0xef50_0000_0000_0000, from, address, offset, bytes)
}

/// LDC from [`BANK`].
pub(super) fn load_constant(to: u8, address: u8, offset: u32, bytes: u32) -> u64 {
    let fields = fields(0xef90_0000_0000_0000, to, address);
    fields | u64::from(offset) << 20 | BANK << 36 | size(bytes) << 48
}

/// ATOM.E of words: ADD, MIN, MAX and so on by number.
pub(super) fn atomic(number: u64, to: u8, address: u8, offset: u32, value: u8) -> u64 {
    let fields = two(0xed00_0000_0000_0000, to, address, value);
    fields | 1 << 48 | (number % 9) << 52 | u64::from(offset) << 28
}

/// RED.E of words.
pub(super) fn reduction(number: u64, address: u8, offset: u32, value: u8) -> u64 {
    let fields = fields(0xebf8_0000_0000_0000, value, address);
    fields | 1 << 48 | (number % 8) << 23 | u64::from(offset) << 28
}

/// ATOMS of words.
pub(super) fn shared_atomic(number: u64, to: u8, address: u8, offset: u32, value: u8) -> u64 {
    let fields = two(0xec00_0000_0000_0000, to, address, value);
    fields | (number % 9) << 52 | u64::from(offset / 4) << 30
}
