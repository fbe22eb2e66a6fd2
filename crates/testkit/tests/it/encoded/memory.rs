//! References of loads, stores and atomic operations on the thread's buffer.

use warpbound_ir::float::{Format, Rounding};

use super::machine::{
    BANK, BANK_WORDS, BUFFER_BYTES, BUFFER_OFFSET, BufferSpace, LOCAL_REGISTER, SHARED_REGISTER,
    SLOT_REGISTER,
};
use super::operands::{FinalState, InitialState};
use super::reference::{Random, Value, flush, sum};
use super::text::{Base, Instruction};
use super::words::Form;

pub(crate) const MNEMONICS: [&str; 12] = [
    "LD", "ST", "LDG", "STG", "LDS", "STS", "LDL", "STL", "LDC", "ATOM", "ATOMS", "RED",
];

/// Memory space that a form accesses in these tests.
pub(crate) fn buffer_space(mnemonic: &str) -> BufferSpace {
    match mnemonic {
        "LDS" | "STS" | "ATOMS" => BufferSpace::Shared,
        "LDL" | "STL" => BufferSpace::Local,
        _ => BufferSpace::Global,
    }
}

/// Draws a word of a form whose address is in the thread's buffer.
pub(crate) fn word(form: &Form, random: &mut Random) -> u64 {
    let mut word = form.word(random);
    let mut put = |high: u32, low: u32, value: u64| {
        let ones = (1u64 << (high - low + 1)) - 1;
        word = word & !(ones << low) | (value & ones) << low;
    };
    if form.mnemonic == "LDC" {
        put(40, 36, BANK.into());
        let register = [255, u64::from(SHARED_REGISTER)][random.below(2) as usize];
        put(15, 8, register);
        // The register addresses half of the bank.
        put(35, 20, 8 * random.below(BANK_WORDS as u64 / 4));
        return word;
    }
    let (register, first) = match buffer_space(form.mnemonic) {
        BufferSpace::Global => (SLOT_REGISTER, BUFFER_OFFSET),
        BufferSpace::Shared => (SHARED_REGISTER, 0),
        BufferSpace::Local => (LOCAL_REGISTER, 0),
    };
    put(15, 8, register.into());
    let offset = first as u64 + 16 * random.below(BUFFER_BYTES as u64 / 16);
    // Accesses of at most eight bytes are smaller than the alignment of offsets: vary their low bits.
    let finer = 4 * random.below(4);
    let fields = [
        ("S43:20", 43, 20, 0),
        ("S51:20", 51, 20, 0),
        ("S47:28", 47, 28, 0),
        ("S51:30", 51, 30, 2),
    ];
    for (name, high, low, scale) in fields {
        if form.spelling.contains(name) {
            put(high, low, (offset + finer) >> scale);
        }
    }
    // `.E`: addresses of global memory have 64 bits.
    for (name, bit) in [("{.E 52}", 52), ("{.E 45}", 45), ("{.E 48}", 48)] {
        if form.spelling.contains(name) {
            put(bit, bit, 1);
        }
    }
    word
}

/// Returns the state after an instruction; `None` if its address is misaligned, so that it faults.
pub(crate) fn after(before: &InitialState<'_>) -> Option<FinalState> {
    let i = before.instruction;
    match i.mnemonic.as_str() {
        "LDC" => constant(before),
        "ATOM" | "ATOMS" | "RED" => atomic(before),
        name if name.starts_with("LD") => load(before),
        _ => store(before),
    }
}

/// Access size in bytes, and whether the value is sign-extended.
fn size(i: &Instruction) -> (usize, bool) {
    let sizes = [
        ("U8", 1, false),
        ("S8", 1, true),
        ("U16", 2, false),
        ("S16", 2, true),
        ("64", 8, false),
        ("128", 16, false),
    ];
    let found = sizes.iter().find(|(name, ..)| i.has(name));
    found.map_or((4, false), |(_, bytes, sign)| (*bytes, *sign))
}

/// Offset in the buffer that an operand addresses; `None` if it is misaligned or out of range.
fn buffer_offset(before: &InitialState<'_>, operand: usize, size: usize) -> Option<usize> {
    let Base::Memory(register, offset) = before.operand(operand).base else {
        unreachable!("no address: {:?}", before.instruction);
    };
    let first = match register {
        Some(SLOT_REGISTER) => BUFFER_OFFSET as i64,
        Some(SHARED_REGISTER | LOCAL_REGISTER) => 0,
        _ => unreachable!("another address: {:?}", before.instruction),
    };
    let at = usize::try_from(offset - first).ok()?;
    (at.is_multiple_of(size) && at + size <= BUFFER_BYTES).then_some(at)
}

fn register(before: &InitialState<'_>, operand: usize) -> Option<u8> {
    match before.operand(operand).base {
        Base::Register(register) => register,
        _ => unreachable!("no register: {:?}", before.instruction),
    }
}

fn extended(bytes: &[u8], sign: bool) -> u32 {
    match (bytes, sign) {
        (&[a], false) => a.into(),
        (&[a], true) => a as i8 as u32,
        (&[a, b], false) => u16::from_le_bytes([a, b]).into(),
        (&[a, b], true) => i16::from_le_bytes([a, b]) as u32,
        (&[a, b, c, d], _) => u32::from_le_bytes([a, b, c, d]),
        _ => unreachable!("{} bytes", bytes.len()),
    }
}

fn load(before: &InitialState<'_>) -> Option<FinalState> {
    let (size, sign) = size(before.instruction);
    let at = buffer_offset(before, 1, size)?;
    let mut state = before.state.clone();
    let bytes = before.state.room[at..at + size].chunks(4);
    if let Some(first) = register(before, 0) {
        for (n, bytes) in (first..).zip(bytes) {
            state.set(Some(n), extended(bytes, sign));
        }
    }
    Some(state.into())
}

fn store(before: &InitialState<'_>) -> Option<FinalState> {
    let (size, _) = size(before.instruction);
    let at = buffer_offset(before, 0, size)?;
    let mut state = before.state.clone();
    let first = register(before, 1);
    for (n, bytes) in (0..).zip(state.room[at..at + size].chunks_mut(4)) {
        let value = before.state.register(first.map(|first| first + n));
        bytes.copy_from_slice(&value.to_le_bytes()[..bytes.len()]);
    }
    Some(state.into())
}

fn constant(before: &InitialState<'_>) -> Option<FinalState> {
    let Base::Indexed(BANK, register, offset) = before.operand(1).base else {
        // Without a register the operand is a direct constant.
        let Base::Constant(BANK, offset) = before.operand(1).base else {
            unreachable!("another bank: {:?}", before.instruction);
        };
        return loaded(before, offset as usize);
    };
    let base = match register {
        None => 0,
        Some(SHARED_REGISTER) => before.thread as i64 * BUFFER_BYTES as i64,
        _ => unreachable!("another address: {:?}", before.instruction),
    };
    loaded(before, usize::try_from(base + offset).ok()?)
}

fn loaded(before: &InitialState<'_>, at: usize) -> Option<FinalState> {
    let (size, sign) = size(before.instruction);
    let bytes: Vec<u8> = before.bank.iter().flat_map(|w| w.to_le_bytes()).collect();
    let mut state = before.state.clone();
    if let Some(first) = register(before, 0) {
        for (n, bytes) in (first..).zip(bytes.get(at..at + size)?.chunks(4)) {
            state.set(Some(n), extended(bytes, sign));
        }
    }
    Some(state.into())
}

fn atomic(before: &InitialState<'_>) -> Option<FinalState> {
    let i = before.instruction;
    let (to, memory) = match i.mnemonic.as_str() {
        "RED" => (None, 0),
        _ => (register(before, 0), 1),
    };
    let wide = ["64", "U64", "S64", "F64"].iter().any(|name| i.has(name));
    let size = if wide { 8 } else { 4 };
    let at = buffer_offset(before, memory, size)?;
    let value = |operand: usize| {
        let first = register(before, operand);
        let word = |nth| u64::from(before.state.register(first.map(|n| n + nth)));
        if wide {
            word(1) << 32 | word(0)
        } else {
            word(0)
        }
    };
    let mut old = [0; 8];
    old[..size].copy_from_slice(&before.state.room[at..at + size]);
    let old = u64::from_le_bytes(old);
    let new = match i.has("CAS") {
        true if old == value(memory + 1) => value(memory + 2),
        true => old,
        false => operation(i, old, value(memory + 1)),
    };
    let mut state = before.state.clone();
    state.room[at..at + size].copy_from_slice(&new.to_le_bytes()[..size]);
    state.set(to, old as u32);
    if wide {
        state.set(to.map(|n| n + 1), (old >> 32) as u32);
    }
    Some(state.into())
}

fn operation(i: &Instruction, old: u64, operand: u64) -> u64 {
    let has = |name| i.has(name);
    let order = match (has("S32"), has("S64")) {
        (true, _) => (old as i32).cmp(&(operand as i32)),
        (_, true) => (old as i64).cmp(&(operand as i64)),
        _ => old.cmp(&operand),
    };
    let half = |at: u32| {
        let value = |bits: u64| Value::of(Format::Half, bits >> at & 0xffff);
        sum(
            Format::Half,
            &value(old),
            &value(operand),
            Rounding::Nearest,
        )
        .unwrap_or(0x7fff)
            << at
    };
    if has("F16x2") {
        return half(0) | half(16);
    }
    if has("F32") {
        let flushed = |x: u64| f32::from_bits(flush(Format::Single, x) as u32);
        let sum = flushed(old) + flushed(operand);
        let bits = if sum.is_nan() {
            0x7fff_ffff
        } else {
            sum.to_bits()
        };
        return flush(Format::Single, bits.into());
    }
    if has("F64") {
        let [a, b] = [old, operand].map(f64::from_bits);
        let nan = [a, b].into_iter().find(|x| x.is_nan());
        return match (nan, a + b) {
            (Some(nan), _) => nan.to_bits() | 1 << 51,
            (None, sum) if sum.is_nan() => 0xfff8_0000_0000_0000,
            (None, sum) => sum.to_bits(),
        };
    }
    match i.modifiers.iter().find(|m| *m != "E").map(String::as_str) {
        Some("ADD") => old.wrapping_add(operand),
        Some("MIN") => {
            if order.is_lt() {
                old
            } else {
                operand
            }
        }
        Some("MAX") => {
            if order.is_gt() {
                old
            } else {
                operand
            }
        }
        Some("INC") => {
            if old >= operand {
                0
            } else {
                old + 1
            }
        }
        Some("DEC") => {
            if old == 0 || old > operand {
                operand
            } else {
                old - 1
            }
        }
        Some("AND") => old & operand,
        Some("OR") => old | operand,
        Some("XOR") => old ^ operand,
        Some("EXCH") => operand,
        other => unreachable!("{other:?}"),
    }
}
