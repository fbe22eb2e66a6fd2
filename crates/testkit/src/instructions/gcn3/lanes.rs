//! Instructions of the vector unit: operands in lanes, SDWA, DPP, masks, and the instructions that cross lanes.

use std::cell::Cell;

use super::lane_rule::{LaneEnv, LaneOutput, LaneRule};
use super::syntax::{AsmInstr, AsmOperand, AsmValue};
use super::{
    ComparedBits, EXEC, FloatKind, Kind, LANES, VCC, WaveChanges, WaveState, float, integer,
};

pub(super) fn execute(instr: &AsmInstr, state: &WaveState) -> Option<WaveChanges> {
    match instr.name.as_str() {
        "v_nop" => return Some(WaveChanges::default()),
        "v_readlane_b32" | "v_writelane_b32" | "v_readfirstlane_b32" => {
            return cross(instr, state);
        }
        _ => {}
    }
    let rule = integer::rule(&instr.name).or_else(|| float::rule(&instr.name))?;
    Wave::new(instr, state, &rule)?.run()
}

/// Moves a value between a lane and a register of the wave.
fn cross(instr: &AsmInstr, state: &WaveState) -> Option<WaveChanges> {
    let mut changes = WaveChanges::default();
    let vector = |number: usize| match instr.operand(number)?.value {
        AsmValue::Vector(n) => state.vectors.get(usize::from(n)).map(|row| (n, *row)),
        _ => None,
    };
    let lane = |number| {
        let lane = state.value(instr.operand(number)?, Kind::U32, 0)?;
        Some(lane as usize % LANES)
    };
    match instr.name.as_str() {
        "v_readlane_b32" => {
            changes.set(instr.scalar(0)?, vector(1)?.1[lane(2)?]);
        }
        "v_readfirstlane_b32" => {
            let first = state.exec().trailing_zeros() as usize % LANES;
            changes.set(instr.scalar(0)?, vector(1)?.1[first]);
        }
        _ => {
            let (number, mut row) = vector(0)?;
            row[lane(2)?] = state.value(instr.operand(1)?, Kind::U32, 0)? as u32;
            changes.vectors.insert(number, row);
        }
    }
    Some(changes)
}

/// A vector instruction with its operands assigned to roles.
struct Wave<'a> {
    instr: &'a AsmInstr,
    state: &'a WaveState,
    rule: &'a LaneRule,
    /// Destination in the lanes.
    destination: Option<u8>,
    /// Pair of registers of the wave that receives the mask.
    mask: Option<u8>,
    sources: Vec<&'a AsmOperand>,
    clamps: bool,
}

const MODIFIERS: [&str; 21] = [
    "clamp",
    "mul",
    "div",
    "dst_sel",
    "dst_unused",
    "src0_sel",
    "src1_sel",
    "quad_perm",
    "row_shl",
    "row_shr",
    "row_ror",
    "wave_shl",
    "wave_rol",
    "wave_shr",
    "wave_ror",
    "row_mirror",
    "row_half_mirror",
    "row_bcast",
    "row_mask",
    "bank_mask",
    "bound_ctrl",
];

impl<'a> Wave<'a> {
    fn new(instr: &'a AsmInstr, state: &'a WaveState, rule: &'a LaneRule) -> Option<Wave<'a>> {
        if !instr.has_only(&MODIFIERS) {
            return None;
        }
        // Output modifiers have no effect with IEEE; else they have no reference.
        let has_scale = instr.modifier("mul").or(instr.modifier("div")).is_some();
        if has_scale && state.mode() >> 9 & 1 == 0 {
            return None;
        }
        let mut operands = instr.operands.iter();
        let mut destination = None;
        let mut mask = None;
        if rule.output != LaneOutput::Mask {
            let AsmValue::Vector(n) = operands.next()?.value else {
                return None;
            };
            destination = Some(n);
        }
        if !matches!(rule.output, LaneOutput::Value(_)) {
            let AsmValue::Scalar(n) = operands.next()?.value else {
                return None;
            };
            mask = Some(n);
        }
        let clamps = instr.modifier("clamp").is_some();
        let is_float = matches!(rule.output, LaneOutput::Value(kind) if kind.float().is_some());
        // Clamping of integers, and with a mask, has no reference.
        if clamps && !is_float {
            return None;
        }
        let sources: Vec<&AsmOperand> = operands.collect();
        (sources.len() == rule.inputs.len()).then_some(Wave {
            instr,
            state,
            rule,
            destination,
            mask,
            sources,
            clamps,
        })
    }

    fn run(&self) -> Option<WaveChanges> {
        let mut changes = WaveChanges {
            compare: self.rule.compare,
            ..WaveChanges::default()
        };
        let exec = self.state.exec();
        let mut mask = 0u64;
        let kind = match self.rule.output {
            LaneOutput::Value(kind) | LaneOutput::Both(kind) => Some(kind),
            LaneOutput::Mask => None,
        };
        let words = kind.map_or(0, |kind| kind.bits().div_ceil(32));
        let mut rows = Vec::new();
        for word in 0..words {
            rows.push(
                *self
                    .state
                    .vectors
                    .get(usize::from(self.destination?) + word as usize)?,
            );
        }
        for lane in 0..LANES {
            if exec >> lane & 1 == 0 {
                continue;
            }
            let from = match self.permuted(lane)? {
                Source::Lane(from) => Some(from),
                Source::Zero => None,
                Source::NotWritten => continue,
            };
            let env = LaneEnv {
                lane: lane as u32,
                mode: self.state.mode(),
                vcc: self.state.pair(VCC) >> lane & 1 == 1,
                is_unknown: Cell::new(false),
            };
            let (value, bit) = self.lane(&env, lane, from)?;
            if env.is_unknown.get() || self.is_uncertain_part(value) {
                changes.unknown |= 1 << lane;
            }
            mask |= u64::from(bit) << lane;
            if let Some(row) = rows.first_mut()
                && words == 1
            {
                row[lane] = self.merge(value as u32, row[lane], kind?)?;
            } else {
                for (word, row) in rows.iter_mut().enumerate() {
                    row[lane] = (value >> (32 * word)) as u32;
                }
            }
        }
        if let Some(first) = self.destination {
            for (number, row) in rows.into_iter().enumerate() {
                changes.vectors.insert(first + number as u8, row);
            }
        }
        if let Some(first) = self.mask {
            changes.mask = Some(first);
            changes.set_pair(first, mask);
            if self.instr.name.starts_with("v_cmpx_") {
                changes.set_pair(EXEC, mask);
            }
        }
        Some(changes)
    }

    /// Computes the result of a lane; `from` is the lane of the first source, `None` if that reads as 0.
    fn lane(&self, env: &LaneEnv, lane: usize, from: Option<usize>) -> Option<(u64, bool)> {
        let mut inputs = Vec::with_capacity(4);
        for (number, (operand, &kind)) in self.sources.iter().zip(&self.rule.inputs).enumerate() {
            let from = if number == 0 { from } else { Some(lane) };
            let value = match from {
                Some(from) => self.state.value(operand, kind, from)?,
                None => 0,
            };
            inputs.push(self.modified(value, number, operand, kind, lane)?);
        }
        if self.rule.reads_destination {
            let LaneOutput::Value(kind) = self.rule.output else {
                return None;
            };
            let operand = AsmOperand {
                value: AsmValue::Vector(self.destination?),
                negate: false,
                absolute: false,
                sign_extend: false,
            };
            inputs.push(self.state.value(&operand, kind, lane)?);
        }
        let (value, bit) = (self.rule.compute)(env, &inputs)?;
        let value = match (self.clamps, self.rule.output) {
            (true, LaneOutput::Value(kind)) => float::mode::clamp(kind.float()?, value, env.mode),
            _ => value,
        };
        Some((value, bit))
    }

    /// Whether a part of a NaN, whose bits are not documented, or of an approximation is written.
    fn is_uncertain_part(&self, value: u64) -> bool {
        let is_uncertain = match self.rule.compare {
            ComparedBits::AnyNan(kind) => float::mode::is_nan(kind, value),
            ComparedBits::Ulps(..) | ComparedBits::Absolute => true,
            ComparedBits::Exact => false,
        };
        let is_part = self
            .instr
            .modifier("dst_sel")
            .is_some_and(|part| part != "DWORD");
        is_part && is_uncertain
    }

    /// Applies the selection of SDWA and the modifiers of a source.
    fn modified(
        &self,
        value: u64,
        number: usize,
        operand: &AsmOperand,
        kind: Kind,
        lane: usize,
    ) -> Option<u64> {
        let select = match (self.instr.suffix, number) {
            ("sdwa", 0) => self.instr.modifier("src0_sel").unwrap_or("DWORD"),
            ("sdwa", 1) => self.instr.modifier("src1_sel").unwrap_or("DWORD"),
            _ => "DWORD",
        };
        let mut value = value;
        if self.instr.suffix == "sdwa" && number < 2 {
            // The selection sees the whole register, also of an operand of 16 bits.
            let whole = Kind::U32;
            let word = self.state.value(operand, whole, lane)?;
            value = match part(select)? {
                None => word,
                Some((from, bits)) => {
                    let field = word >> from & ((1 << bits) - 1);
                    let is_negative = field >> (bits - 1) & 1 == 1;
                    match operand.sign_extend && is_negative {
                        true => field | u64::MAX << bits,
                        false => field,
                    }
                }
            } & kind.mask();
        } else if operand.sign_extend {
            return None;
        }
        if !operand.negate && !operand.absolute {
            return Some(value);
        }
        let is_selection = self.instr.name == "v_cndmask_b32";
        if kind.float().is_none() && !is_selection {
            return None;
        }
        let sign = 1u64 << (kind.bits() - 1);
        if operand.absolute {
            value &= !sign;
        }
        if operand.negate {
            value ^= sign;
        }
        Some(value)
    }

    /// Merges a result of at most 32 bits into the destination.
    fn merge(&self, value: u32, old: u32, kind: Kind) -> Option<u32> {
        let value = u32::try_from(u64::from(value) & kind.mask()).ok()?;
        if self.instr.suffix != "sdwa" {
            return Some(value);
        }
        let Some((from, bits)) = part(self.instr.modifier("dst_sel").unwrap_or("DWORD"))? else {
            return Some(value);
        };
        let field = ((1u64 << bits) - 1) as u32;
        let placed = (value & field) << from;
        Some(
            match self.instr.modifier("dst_unused").unwrap_or("UNUSED_PAD") {
                "UNUSED_PAD" => placed,
                "UNUSED_PRESERVE" => old & !(field << from) | placed,
                "UNUSED_SEXT" => {
                    let is_negative = value >> (bits - 1) & 1 == 1;
                    let above = u64::from(u32::MAX) << (from + bits);
                    match is_negative {
                        true => placed | above as u32,
                        false => placed,
                    }
                }
                _ => return None,
            },
        )
    }

    /// The lane of the first source, by DPP.
    fn permuted(&self, lane: usize) -> Option<Source> {
        if self.instr.suffix != "dpp" {
            return Some(Source::Lane(lane));
        }
        let mask = |name| {
            let text = self.instr.modifier(name).unwrap_or("0xf");
            u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
        };
        let (row, bank) = (lane / 16, lane % 16 / 4);
        if mask("row_mask")? >> row & 1 == 0 || mask("bank_mask")? >> bank & 1 == 0 {
            return Some(Source::NotWritten);
        }
        let is_active = |from: &usize| self.state.exec() >> from & 1 == 1;
        Some(match self.source_lane(lane)?.filter(is_active) {
            Some(from) => Source::Lane(from),
            None if self.instr.modifier("bound_ctrl").is_some() => Source::Zero,
            None => Source::NotWritten,
        })
    }

    /// The lane that DPP selects; the inner `None` if it is outside.
    fn source_lane(&self, lane: usize) -> Option<Option<usize>> {
        let row = lane / 16 * 16;
        let number = |name: &str| self.instr.modifier(name)?.parse::<usize>().ok();
        let inside = |from: Option<usize>| from.filter(|from| from / 16 * 16 == row);
        if let Some(quad) = self.instr.modifier("quad_perm") {
            let list = quad.strip_prefix('[')?.strip_suffix(']')?;
            let chosen: usize = list.split(',').nth(lane % 4)?.trim().parse().ok()?;
            return Some(Some(lane / 4 * 4 + chosen));
        }
        if let Some(n) = number("row_shl") {
            return Some(inside(Some(lane + n)));
        }
        if let Some(n) = number("row_shr") {
            return Some(inside(lane.checked_sub(n)));
        }
        if let Some(n) = number("row_ror") {
            return Some(Some(row + (lane + 16 - n) % 16));
        }
        let has = |name| self.instr.modifier(name).is_some();
        Some(if has("wave_shl") {
            Some(lane + 1).filter(|&from| from < LANES)
        } else if has("wave_rol") {
            Some((lane + 1) % LANES)
        } else if has("wave_shr") {
            lane.checked_sub(1)
        } else if has("wave_ror") {
            Some((lane + LANES - 1) % LANES)
        } else if has("row_mirror") {
            Some(row + 15 - lane % 16)
        } else if has("row_half_mirror") {
            Some(lane / 8 * 8 + 7 - lane % 8)
        } else {
            match number("row_bcast")? {
                15 => row.checked_sub(1),
                31 => (lane >= 32).then_some(31),
                _ => return None,
            }
        })
    }
}

/// Source of a lane's first operand.
enum Source {
    Lane(usize),
    Zero,
    /// The lane writes nothing.
    NotWritten,
}

/// First bit and number of bits of a part of a register; the inner `None` for the whole.
fn part(name: &str) -> Option<Option<(u32, u32)>> {
    Some(match name {
        "BYTE_0" => Some((0, 8)),
        "BYTE_1" => Some((8, 8)),
        "BYTE_2" => Some((16, 8)),
        "BYTE_3" => Some((24, 8)),
        "WORD_0" => Some((0, 16)),
        "WORD_1" => Some((16, 16)),
        "DWORD" => None,
        _ => return None,
    })
}

impl ComparedBits {
    /// The comparison of arithmetic results of a format.
    pub(super) fn of(kind: FloatKind) -> ComparedBits {
        ComparedBits::AnyNan(kind)
    }
}
