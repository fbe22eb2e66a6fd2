//! Atomic read-modify-write operations on memory.

use crate::float::{Flush, Rounding, double, half, single};

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
    /// Old value plus 1; 0 if the old value is not below the operand.
    Increment,
    /// Old value minus 1; the operand if the old value is 0 or above the operand.
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
    /// Old value without the bits of the first operand, or the second (AMD's ds_mskor).
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
}

impl AtomicKind {
    /// Size in bytes.
    pub fn size(self) -> usize {
        match self {
            AtomicKind::U32 | AtomicKind::S32 | AtomicKind::F32 | AtomicKind::F16x2(_) => 4,
            AtomicKind::U64 | AtomicKind::S64 | AtomicKind::F64 => 8,
        }
    }
}

impl AtomicOp {
    /// Computes the new value; `other` is the second operand of compare-and-swap and of
    /// the masked or. `None` if the operation does not
    /// exist for the number type.
    pub fn apply(self, kind: AtomicKind, old: u64, operand: u64, other: u64) -> Option<u64> {
        use AtomicKind::{F16x2, F32, F64, S32, S64, U32, U64};
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
        };
        Some(match (self, kind) {
            (AtomicOp::Add, U32 | S32 | U64 | S64) => old.wrapping_add(operand) & mask,
            (AtomicOp::Sub, U32 | S32 | U64 | S64) => old.wrapping_sub(operand) & mask,
            (AtomicOp::ReverseSub, U32 | S32 | U64 | S64) => operand.wrapping_sub(old) & mask,
            (AtomicOp::Add, F32) => {
                let sum = single::add_nearest(old as u32, operand as u32, Flush::Ftz);
                sum.into()
            }
            (AtomicOp::Add, F16x2(flush)) => {
                let sum = |at: u32| half::add((old >> at) as u16, (operand >> at) as u16, flush);
                u64::from(sum(0)) | u64::from(sum(16)) << 16
            }
            (AtomicOp::Add, F64) => double::add(old, operand, Rounding::Nearest),
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
            (AtomicOp::CompareSwap, _) => {
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
}
