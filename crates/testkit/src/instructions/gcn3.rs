//! Results of GCN3 instructions on a whole wave, computed from their assembly text: the reference of the meanings in
//! `warpbound_ir`, with which it shares nothing. Written from the descriptions of the operations in AMD's *Graphics
//! Core Next Architecture, Generation 3* manual.

mod exact;
mod float;
mod integer;
mod lane_rule;
mod lanes;
mod scalar;
pub mod syntax;

use std::collections::BTreeMap;

use syntax::{AsmInstr, AsmOperand, AsmValue};

/// Number of the condition code among registers of the wave.
pub const SCC: u8 = 128;

/// Number of MODE among registers of the wave.
pub const MODE: u8 = 129;

const VCC: u8 = 106;
const EXEC: u8 = 126;

/// Lanes of a wave.
pub const LANES: usize = 64;

/// Registers of a wave.
#[derive(Clone)]
pub struct WaveState {
    /// Registers of the wave, by their numbers in encodings; then SCC and MODE.
    pub scalars: [u32; 130],
    /// Registers of the lanes.
    pub vectors: Vec<[u32; LANES]>,
}

/// Result of an instruction: the registers that it writes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WaveChanges {
    /// Registers of the wave.
    pub scalars: BTreeMap<u8, u32>,
    /// Registers of the lanes, with the old values in the lanes that are not written.
    pub vectors: BTreeMap<u8, [u32; LANES]>,
    /// Comparison of the first vector register with another result.
    pub compare: ComparedBits,
    /// First of the two registers of the wave that receive a bit of each lane.
    pub mask: Option<u8>,
    /// Lanes whose result is not documented, or differs between documents.
    pub unknown: u64,
}

/// Comparison of a result with the result of the reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ComparedBits {
    /// All bits are equal.
    #[default]
    Exact,
    /// Any two NaNs are equal: the source of a NaN's bits is not documented.
    AnyNan(FloatKind),
    /// Results may differ by this number of units in the last place; infinities and zeros by their rank.
    Ulps(FloatKind, u32),
    /// Floats of 32 bits may differ by 2^-21.
    Absolute,
}

/// Format of floats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FloatKind {
    /// binary16.
    F16,
    /// binary32.
    F32,
    /// binary64.
    F64,
}

/// Executes an instruction; `None` if there is no reference for it.
pub fn execute(text: &str, state: &WaveState) -> Option<WaveChanges> {
    let instr = syntax::parse(text)?;
    match instr.name.starts_with("s_") {
        true => scalar::execute(&instr, state),
        false => lanes::execute(&instr, state),
    }
}

/// Type of an operand: its width, and whether the modifiers of floats apply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Integer of 16 bits, in the low half of a register.
    U16,
    U32,
    U64,
    /// Like `U64`, but literals are extended with their sign.
    I64,
    F16,
    F32,
    F64,
}

impl Kind {
    fn bits(self) -> u32 {
        match self {
            Kind::U16 | Kind::F16 => 16,
            Kind::U32 | Kind::F32 => 32,
            Kind::U64 | Kind::I64 | Kind::F64 => 64,
        }
    }

    fn float(self) -> Option<FloatKind> {
        match self {
            Kind::F16 => Some(FloatKind::F16),
            Kind::F32 => Some(FloatKind::F32),
            Kind::F64 => Some(FloatKind::F64),
            Kind::U16 | Kind::U32 | Kind::U64 | Kind::I64 => None,
        }
    }

    /// The low bits of a number that an operand of this kind has.
    fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }
}

impl WaveState {
    fn pair(&self, first: u8) -> u64 {
        let word = |n: u8| u64::from(self.scalars[usize::from(n)]);
        word(first) | word(first + 1) << 32
    }

    fn exec(&self) -> u64 {
        self.pair(EXEC)
    }

    fn scc(&self) -> u64 {
        self.scalars[usize::from(SCC)].into()
    }

    fn mode(&self) -> u32 {
        self.scalars[usize::from(MODE)]
    }

    /// Value of an operand in a lane, without modifiers.
    fn value(&self, operand: &AsmOperand, kind: Kind, lane: usize) -> Option<u64> {
        let wide = kind.bits() == 64;
        let value = match operand.value {
            AsmValue::Scalar(SCC) => self.scc(),
            AsmValue::Scalar(n) if wide => self.pair(n),
            AsmValue::Scalar(n) => self.scalars[usize::from(n)].into(),
            AsmValue::Vector(n) => {
                let word = |n: usize| self.vectors.get(n).map(|row| u64::from(row[lane]));
                let low = word(n.into())?;
                match wide {
                    true => low | word(usize::from(n) + 1)? << 32,
                    false => low,
                }
            }
            AsmValue::Int(n) => n as u64,
            AsmValue::Literal(n) => match kind {
                Kind::F64 => u64::from(n) << 32,
                Kind::I64 => i64::from(n as i32) as u64,
                _ => n.into(),
            },
            AsmValue::Float(x) => inline_float(x, kind.bits())?,
            AsmValue::VccIsZero => u64::from(self.pair(VCC) == 0),
            AsmValue::ExecIsZero => u64::from(self.exec() == 0),
            AsmValue::Hardware(..) => return None,
        };
        Some(value & kind.mask())
    }
}

/// Bits of a float that encodings have a number for, in an operand of this width.
fn inline_float(x: f64, bits: u32) -> Option<u64> {
    let sign = u64::from(x < 0.0) << (bits - 1);
    let magnitude: [u64; 3] = match x.abs() {
        0.5 => [0x3800, 0x3f00_0000, 0x3fe0_0000_0000_0000],
        1.0 => [0x3c00, 0x3f80_0000, 0x3ff0_0000_0000_0000],
        2.0 => [0x4000, 0x4000_0000, 0x4000_0000_0000_0000],
        4.0 => [0x4400, 0x4080_0000, 0x4010_0000_0000_0000],
        x if (0.159..0.16).contains(&x) => [0x3118, 0x3e22_f983, 0x3fc4_5f30_6dc9_c882],
        _ => return None,
    };
    Some(sign | magnitude[bits.trailing_zeros() as usize - 4])
}

impl AsmInstr {
    fn operand(&self, number: usize) -> Option<&AsmOperand> {
        self.operands.get(number)
    }

    /// The number of the first register of the wave that an operand is.
    fn scalar(&self, number: usize) -> Option<u8> {
        match self.operand(number)?.value {
            AsmValue::Scalar(n) => Some(n),
            _ => None,
        }
    }
}

impl WaveChanges {
    fn set(&mut self, register: u8, value: u32) {
        self.scalars.insert(register, value);
    }

    fn set_pair(&mut self, first: u8, value: u64) {
        self.set(first, value as u32);
        self.set(first + 1, (value >> 32) as u32);
    }
}
