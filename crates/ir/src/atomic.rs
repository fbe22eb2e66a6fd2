//! Atomic read-modify-write operations on memory. For example, `Increment` with the operand 3 turns 2 into 3, and 3
//! into 0.

use crate::float::gcn::{GcnFloat, GcnFunction, GcnMode};
use crate::float::{Flush, Format, Rounding, double, half, single};

/// Atomic operation: the new value as a function of the old value and an operand (PTX manual, `atom`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtomicOp {
    /// Sum.
    Add,
    /// Old value minus the operand.
    Sub,
    /// Operand minus the old value.
    ReverseSub,
    /// Minimum.
    Min,
    /// Maximum.
    Max,
    /// Old value plus 1, or 0 if the old value is not below the operand.
    Increment,
    /// Old value minus 1, or the operand if the old value is 0 or above the operand.
    Decrement,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Operand.
    Exchange,
    /// Second operand if the old value equals the first, else the old value.
    CompareSwap,
    /// As [`AtomicOp::CompareSwap`]; the result is not the old value, but 1 if it was replaced and else 0 (ATOMS.CAST.SPIN).
    TestedSwap,
    /// Old value with the bits of the first operand cleared, then or-ed with the second (AMD's ds_mskor).
    MaskedOr,
}

/// Number type of an atomic operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtomicKind {
    /// Unsigned, 32 bits.
    U32,
    /// Signed, 32 bits.
    S32,
    /// Unsigned, 64 bits.
    U64,
    /// Signed, 64 bits.
    S64,
    /// Single, rounded to nearest, subnormals flushed.
    F32,
    /// Two halves, each rounded to nearest.
    F16x2(Flush),
    /// Double, rounded to nearest.
    F64,
    /// Single in LDS of AMD GPUs, see `AtomicKind::format_in_lds`.
    LdsF32(Flush),
    /// Double in LDS of AMD GPUs.
    LdsF64(Flush),
}

impl AtomicKind {
    /// Size in bytes.
    pub fn size(self) -> usize {
        match self {
            AtomicKind::U32
            | AtomicKind::S32
            | AtomicKind::F32
            | AtomicKind::F16x2(_)
            | AtomicKind::LdsF32(_) => 4,
            AtomicKind::U64 | AtomicKind::S64 | AtomicKind::F64 | AtomicKind::LdsF64(_) => 8,
        }
    }

    /// Format and treatment of subnormals of floats in LDS of AMD GPUs. This arithmetic rounds to nearest in every
    /// mode, and flushes subnormals if the mode does (LLVM, `SITargetLowering::shouldExpandAtomicRMWInIR`).
    fn format_in_lds(self) -> Option<(Format, Flush)> {
        match self {
            AtomicKind::LdsF32(flush) => Some((Format::Single, flush)),
            AtomicKind::LdsF64(flush) => Some((Format::Double, flush)),
            _ => None,
        }
    }
}

impl AtomicOp {
    /// Computes the new value; `other` is the second operand of compare-and-swap and of the masked or. `None` if the
    /// operation does not exist for the number type or the result is not documented.
    pub fn apply(self, kind: AtomicKind, old: u64, operand: u64, other: u64) -> Option<u64> {
        use AtomicKind::{F16x2, F32, F64, S32, S64, U32, U64};
        if let Some((format, flush)) = kind.format_in_lds() {
            return self.in_lds(format, flush, [old, operand, other]);
        }
        // Operands of 32 bits are zero-extended, so wrapped results are cut to 32 bits.
        let narrow = kind.size() == 4;
        let mask = if narrow {
            u64::from(u32::MAX)
        } else {
            u64::MAX
        };
        let signed = |value: u64| match kind {
            S32 => i64::from(value as i32),
            _ => value as i64,
        };
        let smaller = match kind {
            U32 | U64 => old < operand,
            S32 | S64 => signed(old) < signed(operand),
            // Floats are only added (PTX manual, `atom`).
            F32 | F16x2(_) | F64 if self != AtomicOp::Add => return None,
            F32 | F16x2(_) | F64 => false,
            // `in_lds` has handled these.
            AtomicKind::LdsF32(_) | AtomicKind::LdsF64(_) => return None,
        };
        Some(match (self, kind) {
            (AtomicOp::Add, U32 | S32 | U64 | S64) => old.wrapping_add(operand) & mask,
            (AtomicOp::Sub, U32 | S32 | U64 | S64) => old.wrapping_sub(operand) & mask,
            (AtomicOp::ReverseSub, U32 | S32 | U64 | S64) => operand.wrapping_sub(old) & mask,
            (AtomicOp::Add, _) => return sum_of_floats(kind, old, operand),
            (AtomicOp::Min, _) => {
                if smaller {
                    old
                } else {
                    operand
                }
            }
            (AtomicOp::Max, _) => {
                if smaller {
                    operand
                } else {
                    old
                }
            }
            (AtomicOp::Increment, U32 | U64) => {
                if old >= operand {
                    0
                } else {
                    // Below the operand, so the sum cannot overflow.
                    old + 1
                }
            }
            (AtomicOp::Decrement, U32 | U64) => {
                if old == 0 || old > operand {
                    operand
                } else {
                    old - 1
                }
            }
            (AtomicOp::And, _) => old & operand,
            (AtomicOp::Or, _) => old | operand,
            (AtomicOp::Xor, _) => old ^ operand,
            (AtomicOp::Exchange, _) => operand,
            (AtomicOp::CompareSwap | AtomicOp::TestedSwap, _) => {
                if old == operand {
                    other
                } else {
                    old
                }
            }
            (AtomicOp::MaskedOr, _) => old & !operand | other,
            (
                AtomicOp::Increment | AtomicOp::Decrement | AtomicOp::Sub | AtomicOp::ReverseSub,
                _,
            ) => return None,
        })
    }

    /// Result of an operation that has found the old value.
    pub fn result(self, old: u64, operand: u64) -> u64 {
        match self {
            AtomicOp::TestedSwap => (old == operand).into(),
            _ => old,
        }
    }

    /// Computes the new value of a float in LDS. Documents leave three things open: which NaN a result is, which zero
    /// a minimum of both zeros is, and whether subnormals are flushed before they are compared. The result is `None`
    /// then.
    fn in_lds(self, format: Format, flush: Flush, values: [u64; 3]) -> Option<u64> {
        let [old, operand, other] = values;
        let value = |bits: u64| match format {
            Format::Single => f64::from(f32::from_bits(bits as u32)),
            Format::Half | Format::Double => f64::from_bits(bits),
        };
        let is_subnormal = |bits: u64| match format {
            Format::Single => f32::from_bits(bits as u32).is_subnormal(),
            Format::Half | Format::Double => f64::from_bits(bits).is_subnormal(),
        };
        let (a, b) = (value(old), value(operand));
        let is_flushed = flush != Flush::Keep && (is_subnormal(old) || is_subnormal(operand));
        match self {
            AtomicOp::Add if format == Format::Single && !a.is_nan() && !b.is_nan() => {
                let sum = GcnFloat {
                    function: GcnFunction::Add,
                    format,
                    mode: match flush {
                        Flush::Keep => GcnMode::KEEP,
                        // Modes that flush only one of operands and results are refused before.
                        Flush::Ftz | Flush::Fmz => GcnMode::FLUSH,
                    },
                };
                let sum = sum.apply([old as u32, operand as u32, 0, 0, 0, 0]);
                // Infinities of both signs.
                (!value(sum).is_nan()).then_some(sum)
            }
            AtomicOp::Min | AtomicOp::Max => {
                // Equal numbers with different bits are the two zeros.
                let is_open = a.is_nan() || b.is_nan() || is_flushed || (a == b && old != operand);
                let takes_old = (a < b) == (self == AtomicOp::Min);
                match (is_open, takes_old) {
                    (true, _) => None,
                    (false, true) => Some(old),
                    (false, false) => Some(operand),
                }
            }
            // The comparison is of numbers: -0 equals +0, and a NaN equals nothing.
            AtomicOp::CompareSwap if !is_flushed => Some(if a == b { other } else { old }),
            _ => None,
        }
    }
}

/// Sum of floats; `None` for other numbers, and in LDS, where some sums are not documented.
fn sum_of_floats(kind: AtomicKind, old: u64, operand: u64) -> Option<u64> {
    Some(match kind {
        AtomicKind::F32 => single::add_nearest(old as u32, operand as u32, Flush::Ftz).into(),
        AtomicKind::F16x2(flush) => {
            let sum = |at: u32| half::add((old >> at) as u16, (operand >> at) as u16, flush);
            u64::from(sum(0)) | u64::from(sum(16)) << 16
        }
        AtomicKind::F64 => double::add(old, operand, Rounding::Nearest),
        _ => return None,
    })
}
