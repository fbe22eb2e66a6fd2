//! Targets of indirect jumps.

use std::collections::BTreeSet;

use warpbound_base::CodeAddr;
use warpbound_ir::{Cell, Code, OpIndex};

use crate::values::{AbstractValue, Values};

/// Where an indirect jump may go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IndirectTargets {
    /// Operations of this code.
    Code {
        /// The targets.
        ops: BTreeSet<OpIndex>,
        /// The index into the constant bank is unknown: every function that the bank lists.
        assumed: bool,
    },
    /// A function outside the file, or one that nothing is known of.
    External(String),
}

impl IndirectTargets {
    /// Targets of the jump at `at` to `base + anchor`; `is_call` when a return entry was pushed for it.
    /// `None` when nothing useful is known.
    pub fn find(
        code: &Code,
        values: &Values,
        at: CodeAddr,
        base: Option<Cell>,
        anchor: i64,
        relative: bool,
        is_call: bool,
    ) -> Option<IndirectTargets> {
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
            AbstractValue::SomeWordOf(bank) if relative && is_call => {
                let (_, bytes) = code.constants.iter().find(|(b, _)| *b == bank)?;
                let ops: BTreeSet<OpIndex> = bytes
                    .chunks_exact(4)
                    .filter_map(|w| op_at(u32::from_le_bytes(w.try_into().ok()?)))
                    .filter(|&op| code.function_at(op).is_some() && op != code.entry)
                    .collect();
                (!ops.is_empty()).then_some(IndirectTargets::Code { ops, assumed: true })
            }
            // A function pointer from memory or from a parameter: nobody knows what it points to, but a
            // fact may say what calling it costs.
            _ => is_call.then(|| IndirectTargets::External(format!("unknown callee at {at}"))),
        }
    }

    /// Adds what `other` found; false when the two are of different kinds, which do not mix.
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
