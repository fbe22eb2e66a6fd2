//! Targets of indirect jumps, from the values of their registers (SOUNDNESS 4.5).

use std::collections::BTreeSet;

use warpbound_base::CodeAddr;
use warpbound_ir::{Cell, Code, ControlEffect, OpIndex};

use crate::values::{AbstractValue, Values};

/// Possible targets of an indirect jump.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IndirectTargets {
    /// Operations of this code.
    Code {
        /// The targets.
        ops: BTreeSet<OpIndex>,
        /// Whether the index into the constant bank is unknown, so that the targets are all functions that the bank
        /// lists (assumption `call-table`).
        assumed: bool,
    },
    /// A function outside the file, or an unknown one.
    External(String),
}

/// Jump, call or return to `base + anchor`.
#[derive(Clone, Copy, Debug)]
pub struct IndirectJump {
    /// Register; `None` is zero.
    pub base: Option<Cell>,
    /// Constant added to the register.
    pub anchor: i64,
    /// Whether the sum is an address of the code of the kernel; otherwise the address says nothing of the target.
    pub relative: bool,
}

impl IndirectJump {
    /// The jump of a control effect, if it is one.
    pub fn of(control: &ControlEffect) -> Option<IndirectJump> {
        match *control {
            ControlEffect::Indirect {
                base,
                anchor,
                relative,
            }
            | ControlEffect::LinkedIndirect {
                base,
                anchor,
                relative,
            }
            | ControlEffect::Return {
                base,
                anchor,
                relative,
            } => Some(IndirectJump {
                base,
                anchor,
                relative,
            }),
            _ => None,
        }
    }
}

impl IndirectTargets {
    /// Targets of the jump at `at`; `is_call` if a return entry was pushed for it. `None` if they are unknown.
    pub fn find(
        code: &Code,
        values: &Values,
        at: CodeAddr,
        jump: IndirectJump,
        is_call: bool,
    ) -> Option<IndirectTargets> {
        let IndirectJump {
            base,
            anchor,
            relative,
        } = jump;
        let value = base.map_or(AbstractValue::OneOf([0].into()), |cell| values.get(cell));
        let op_at = |word: u32| {
            let addr = i64::from(word as i32).checked_add(anchor)?;
            code.at(CodeAddr(u32::try_from(addr).ok()?))
        };
        match value {
            AbstractValue::External(name) => Some(IndirectTargets::External(name)),
            AbstractValue::OneOf(words) if relative => {
                let ops: Option<BTreeSet<OpIndex>> = words.into_iter().map(op_at).collect();
                ops.map(|ops| IndirectTargets::Code {
                    ops,
                    assumed: false,
                })
            }
            // `call-table` (SOUNDNESS 2) is about calls; other jumps with an unknown index are refused.
            AbstractValue::SomeWordOf(bank) if relative && is_call => {
                let (_, bytes) = code.constants.iter().find(|(b, _)| *b == bank)?;
                let ops: BTreeSet<OpIndex> = bytes
                    .chunks_exact(4)
                    .filter_map(|w| op_at(u32::from_le_bytes(w.try_into().ok()?)))
                    .filter(|&op| code.function_at(op).is_some() && op != code.entry)
                    .collect();
                (!ops.is_empty()).then_some(IndirectTargets::Code { ops, assumed: true })
            }
            // A function pointer from memory or from a parameter: its target is unknown, but a fact may bound the
            // cost of calling it (assumption `external-call`).
            _ => is_call.then(|| IndirectTargets::External(format!("unknown callee at {at}"))),
        }
    }

    /// Adds the targets of `other`; returns false if the two are of different kinds, which do not mix.
    pub fn merge(&mut self, other: &IndirectTargets) -> bool {
        match (self, other) {
            (
                IndirectTargets::Code { ops, assumed },
                IndirectTargets::Code {
                    ops: more,
                    assumed: also,
                },
            ) => {
                ops.extend(more);
                *assumed |= also;
                true
            }
            (IndirectTargets::External(a), IndirectTargets::External(b)) => a == b,
            _ => false,
        }
    }
}
