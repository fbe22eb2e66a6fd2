//! Instructions of the scalar unit.

use super::syntax::{AsmInstr, AsmValue};
use super::{EXEC, Kind, MODE, SCC, WaveChanges, WaveState};

/// Result of a scalar operation: a value of 32 or 64 bits, and SCC.
struct Outcome {
    result: Option<u64>,
    scc: Option<bool>,
}

fn result(value: u64) -> Option<Outcome> {
    Some(Outcome {
        result: Some(value),
        scc: None,
    })
}

fn with_scc(value: u64, scc: bool) -> Option<Outcome> {
    Some(Outcome {
        result: Some(value),
        scc: Some(scc),
    })
}

fn only_scc(scc: bool) -> Option<Outcome> {
    Some(Outcome {
        result: None,
        scc: Some(scc),
    })
}

pub(super) fn execute(instr: &AsmInstr, state: &WaveState) -> Option<WaveChanges> {
    if !instr.modifiers.is_empty() {
        return None;
    }
    let name = instr.name.as_str();
    match name {
        "s_getreg_b32" | "s_setreg_b32" | "s_setreg_imm32_b32" => {
            return hardware(instr, state);
        }
        _ if name.ends_with("_saveexec_b64") => return saveexec(instr, state),
        _ if name.starts_with("s_movk")
            || name.starts_with("s_cmovk")
            || name.ends_with("k_i32") =>
        {
            return with_immediate(instr, state);
        }
        _ if name.starts_with("s_cmpk_") => return with_immediate(instr, state),
        _ => {}
    }
    let compares = name.starts_with("s_cmp_") || name.starts_with("s_bitcmp");
    let first = usize::from(!compares);
    let (one, two) = kinds(name);
    let source = |number: usize, kind| match instr.operand(first + number) {
        Some(operand) => state.value(operand, kind, 0),
        None => Some(0),
    };
    let (a, b) = (source(0, one)?, source(1, two)?);
    let outcome = match instr.operands.len() - first {
        1 => {
            let target = instr.scalar(0)?;
            let old = match name.ends_with("64") || one == Kind::U64 {
                true => state.pair(target),
                false => state.scalars[usize::from(target)].into(),
            };
            unary(name, a, old, state)?
        }
        2 => binary(name, a, b, state)?,
        _ => return None,
    };
    let mut changes = WaveChanges::default();
    if let Some(value) = outcome.result {
        let target = instr.scalar(0)?;
        match result_is_wide(name) {
            true => changes.set_pair(target, value),
            false => changes.set(target, value as u32),
        }
    }
    if let Some(scc) = outcome.scc {
        changes.set(SCC, scc.into());
    }
    Some(changes)
}

/// Whether the result has 64 bits.
fn result_is_wide(name: &str) -> bool {
    let counts = ["s_bcnt", "s_ff", "s_flbit"];
    (name.ends_with("64")) && !counts.iter().any(|prefix| name.starts_with(prefix))
}

/// Kinds of the first and the second source.
fn kinds(name: &str) -> (Kind, Kind) {
    match name {
        "s_bfm_b64" | "s_bitset0_b64" | "s_bitset1_b64" => (Kind::U32, Kind::U32),
        "s_ashr_i64" | "s_bfe_i64" => (Kind::I64, Kind::U32),
        "s_flbit_i32_i64" => (Kind::I64, Kind::U32),
        "s_lshl_b64" | "s_lshr_b64" | "s_bfe_u64" | "s_bitcmp0_b64" | "s_bitcmp1_b64" => {
            (Kind::U64, Kind::U32)
        }
        _ if name.ends_with("64") => (Kind::U64, Kind::U64),
        _ => (Kind::U32, Kind::U32),
    }
}

/// Position of the first bit of `value` that is 1 from above, among `bits`; -1 if there is none.
fn leading(value: u64, bits: u32) -> u64 {
    match (0..bits).find(|at| value >> (bits - 1 - at) & 1 == 1) {
        Some(at) => at.into(),
        None => u64::from(u32::MAX),
    }
}

/// Number of bits below the sign that equal it, counted from the position after the sign bit: the position of the first
/// bit that differs from the sign; -1 if there is none.
fn sign_run(value: u64, bits: u32) -> u64 {
    let sign = value >> (bits - 1) & 1;
    match (0..bits).find(|at| value >> (bits - 1 - at) & 1 != sign) {
        Some(at) => at.into(),
        None => u64::from(u32::MAX),
    }
}

fn trailing(value: u64, bits: u32) -> u64 {
    match (0..bits).find(|at| value >> at & 1 == 1) {
        Some(at) => at.into(),
        None => u64::from(u32::MAX),
    }
}

/// Reduces each group of four bits to whether one of them is set.
fn quads(value: u64, bits: u32) -> Vec<bool> {
    (0..bits / 4)
        .map(|quad| value >> (4 * quad) & 15 != 0)
        .collect()
}

fn unary(name: &str, a: u64, old: u64, state: &WaveState) -> Option<Outcome> {
    let bits = if name.ends_with("64") { 64 } else { 32 };
    let mask = u64::MAX >> (64 - bits);
    let nonzero = |value: u64| with_scc(value & mask, value & mask != 0);
    let count = |ones: bool| {
        let found = (0..bits).filter(|at| (a >> at & 1 == 1) == ones).count() as u64;
        with_scc(found, found != 0)
    };
    match name {
        "s_mov_b32" | "s_mov_b64" => result(a),
        "s_cmov_b32" | "s_cmov_b64" => result(if state.scc() == 1 { a } else { old }),
        "s_not_b32" | "s_not_b64" => nonzero(!a),
        "s_wqm_b32" | "s_wqm_b64" => {
            let quads = quads(a, bits).into_iter().enumerate();
            let set = quads.filter(|(_, any)| *any);
            nonzero(set.fold(0, |all, (quad, _)| all | 15 << (4 * quad)))
        }
        "s_quadmask_b32" | "s_quadmask_b64" => {
            let quads = quads(a, bits).into_iter().enumerate();
            nonzero(quads.fold(0, |all, (quad, any)| all | u64::from(any) << quad))
        }
        "s_brev_b32" | "s_brev_b64" => {
            result((0..bits).fold(0, |all, at| all | (a >> at & 1) << (bits - 1 - at)))
        }
        "s_bcnt0_i32_b32" | "s_bcnt0_i32_b64" => count(false),
        "s_bcnt1_i32_b32" | "s_bcnt1_i32_b64" => count(true),
        "s_ff0_i32_b32" | "s_ff0_i32_b64" => result(trailing(!a, bits)),
        "s_ff1_i32_b32" | "s_ff1_i32_b64" => result(trailing(a, bits)),
        "s_flbit_i32_b32" | "s_flbit_i32_b64" => result(leading(a, bits)),
        "s_flbit_i32" => result(sign_run(a, 32)),
        "s_flbit_i32_i64" => result(sign_run(a, 64)),
        "s_sext_i32_i8" => result(i64::from(a as u8 as i8) as u32 as u64),
        "s_sext_i32_i16" => result(i64::from(a as u16 as i16) as u32 as u64),
        "s_bitset0_b32" => result(old & !(1 << (a % 32))),
        "s_bitset1_b32" => result(old | 1 << (a % 32)),
        "s_bitset0_b64" => result(old & !(1 << (a % 64))),
        "s_bitset1_b64" => result(old | 1 << (a % 64)),
        "s_abs_i32" => {
            let value = i64::from(a as u32 as i32).unsigned_abs() & 0xffff_ffff;
            with_scc(value, value != 0)
        }
        _ => None,
    }
}

fn binary(name: &str, a: u64, b: u64, state: &WaveState) -> Option<Outcome> {
    let (sa, sb) = (i64::from(a as u32 as i32), i64::from(b as u32 as i32));
    let low = |value: u64| value & 0xffff_ffff;
    let signed = |value: i64| {
        let fits = i32::try_from(value).is_ok();
        with_scc(low(value as u64), !fits)
    };
    let bits: u32 = if name.ends_with("64") { 64 } else { 32 };
    let mask = u64::MAX >> (64 - bits);
    let nonzero = |value: u64| with_scc(value & mask, value & mask != 0);
    let shift = (b % u64::from(bits)) as u32;
    let field = |value: u64| {
        let (from, length) = ((b & (u64::from(bits) - 1)) as u32, (b >> 16 & 0x7f) as u32);
        (value >> from, length)
    };
    match name {
        "s_add_u32" => with_scc(low(a + b), a + b > 0xffff_ffff),
        "s_sub_u32" => with_scc(low(a.wrapping_sub(b)), a < b),
        "s_add_i32" => signed(sa + sb),
        "s_sub_i32" => signed(sa - sb),
        "s_addc_u32" => with_scc(low(a + b + state.scc()), a + b + state.scc() > 0xffff_ffff),
        "s_subb_u32" => with_scc(low(a.wrapping_sub(b + state.scc())), a < b + state.scc()),
        "s_min_i32" => with_scc(low(sa.min(sb) as u64), sa < sb),
        "s_min_u32" => with_scc(a.min(b), a < b),
        "s_max_i32" => with_scc(low(sa.max(sb) as u64), sa > sb),
        "s_max_u32" => with_scc(a.max(b), a > b),
        "s_cselect_b32" | "s_cselect_b64" => result(if state.scc() == 1 { a } else { b }),
        "s_and_b32" | "s_and_b64" => nonzero(a & b),
        "s_or_b32" | "s_or_b64" => nonzero(a | b),
        "s_xor_b32" | "s_xor_b64" => nonzero(a ^ b),
        "s_andn2_b32" | "s_andn2_b64" => nonzero(a & !b),
        "s_orn2_b32" | "s_orn2_b64" => nonzero(a | !b),
        "s_nand_b32" | "s_nand_b64" => nonzero(!(a & b)),
        "s_nor_b32" | "s_nor_b64" => nonzero(!(a | b)),
        "s_xnor_b32" | "s_xnor_b64" => nonzero(!(a ^ b)),
        "s_lshl_b32" | "s_lshl_b64" => nonzero(a << shift),
        "s_lshr_b32" | "s_lshr_b64" => nonzero(a >> shift),
        "s_ashr_i32" => nonzero((sa >> shift) as u64),
        "s_ashr_i64" => nonzero((a as i64 >> shift) as u64),
        "s_bfm_b32" => result(low(((1 << (a % 32)) - 1) << (b % 32))),
        "s_bfm_b64" => result(((1 << (a % 64)) - 1) << (b % 64)),
        "s_mul_i32" => result(low(a.wrapping_mul(b))),
        "s_bfe_u32" | "s_bfe_u64" => {
            let (value, length) = field(a);
            nonzero(if length >= 64 {
                value
            } else {
                value & ((1 << length) - 1)
            })
        }
        "s_bfe_i32" | "s_bfe_i64" => {
            let wide = if bits == 32 { sa as u64 } else { a };
            let shifted = (wide as i64 >> (b & (u64::from(bits) - 1))) as u64;
            let length = (b >> 16 & 0x7f) as u32;
            nonzero(match length {
                0 => 0,
                1..64 => ((shifted << (64 - length)) as i64 >> (64 - length)) as u64,
                _ => shifted,
            })
        }
        "s_absdiff_i32" => {
            // The difference has 32 bits before its sign is taken.
            let value = i64::from((sa - sb) as i32).unsigned_abs();
            with_scc(value, value != 0)
        }
        "s_bitcmp0_b32" => only_scc(a >> (b % 32) & 1 == 0),
        "s_bitcmp1_b32" => only_scc(a >> (b % 32) & 1 == 1),
        "s_bitcmp0_b64" => only_scc(a >> (b % 64) & 1 == 0),
        "s_bitcmp1_b64" => only_scc(a >> (b % 64) & 1 == 1),
        _ => compare(name.strip_prefix("s_cmp_")?, a, b),
    }
}

/// Compares two words: `lt_i32`.
fn compare(condition: &str, a: u64, b: u64) -> Option<Outcome> {
    let (condition, kind) = condition.split_once('_')?;
    let number = |word: u64| match kind {
        "i32" => i128::from(word as u32 as i32),
        _ => i128::from(word),
    };
    let (a, b) = (number(a), number(b));
    only_scc(match condition {
        "eq" => a == b,
        "lg" => a != b,
        "gt" => a > b,
        "ge" => a >= b,
        "lt" => a < b,
        "le" => a <= b,
        _ => return None,
    })
}

/// Executes an instruction with an immediate of 16 bits.
fn with_immediate(instr: &AsmInstr, state: &WaveState) -> Option<WaveChanges> {
    let target = instr.scalar(0)?;
    let old: u64 = state.scalars[usize::from(target)].into();
    let immediate = match instr.operand(1)?.value {
        AsmValue::Int(n) => n as u16,
        AsmValue::Literal(n) => n as u16,
        _ => return None,
    };
    let signed = i64::from(immediate as i16);
    let mut changes = WaveChanges::default();
    let name = instr.name.as_str();
    match name {
        "s_movk_i32" => changes.set(target, signed as u32),
        "s_cmovk_i32" => changes.set(
            target,
            if state.scc() == 1 {
                signed as u32
            } else {
                old as u32
            },
        ),
        "s_addk_i32" => {
            let sum = i64::from(old as u32 as i32) + signed;
            changes.set(target, sum as u32);
            changes.set(SCC, i32::try_from(sum).is_err().into());
        }
        // Sources differ on SCC: it is not among the results here, and no meaning may state it.
        "s_mulk_i32" => changes.set(target, (old as i64).wrapping_mul(signed) as u32),
        _ => {
            let condition = name.strip_prefix("s_cmpk_")?;
            let other = match condition.ends_with("i32") {
                true => signed as u32,
                false => immediate.into(),
            };
            let scc = compare(condition, old, other.into())?.scc?;
            changes.set(SCC, scc.into());
        }
    }
    Some(changes)
}

/// Executes an instruction that saves EXEC and writes it.
fn saveexec(instr: &AsmInstr, state: &WaveState) -> Option<WaveChanges> {
    let (source, exec) = (state.value(instr.operand(1)?, Kind::U64, 0)?, state.exec());
    let new = match instr.name.strip_suffix("_saveexec_b64")? {
        "s_and" => source & exec,
        "s_or" => source | exec,
        "s_xor" => source ^ exec,
        "s_andn2" => source & !exec,
        "s_orn2" => source | !exec,
        "s_nand" => !(source & exec),
        "s_nor" => !(source | exec),
        "s_xnor" => !(source ^ exec),
        _ => return None,
    };
    let mut changes = WaveChanges::default();
    changes.set_pair(instr.scalar(0)?, exec);
    changes.set_pair(EXEC, new);
    changes.set(SCC, (new != 0).into());
    Some(changes)
}

/// Reads or writes a part of a hardware register; only MODE has a reference.
fn hardware(instr: &AsmInstr, state: &WaveState) -> Option<WaveChanges> {
    let reads = instr.name == "s_getreg_b32";
    let (register, other) = if reads { (1, 0) } else { (0, 1) };
    let AsmValue::Hardware(1, from, bits) = instr.operand(register)?.value else {
        return None;
    };
    if from + bits > 32 {
        return None;
    }
    let field = u32::try_from(((1u64 << bits) - 1) << from).ok()?;
    let mut changes = WaveChanges::default();
    if reads {
        changes.set(instr.scalar(other)?, (state.mode() & field) >> from);
    } else {
        let source = state.value(instr.operand(other)?, Kind::U32, 0)? as u32;
        changes.set(MODE, state.mode() & !field | source << from & field);
    }
    Some(changes)
}
