//! Conditions of branches. For example, `s_cbranch_scc0` branches if SCC is 0.

use super::scalar;
use warpbound_base::Named;

/// Condition of a branch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum GcnCondition {
    /// SCC is 0.
    SccZero,
    /// SCC is 1.
    SccOne,
    /// VCC is 0.
    VccZero,
    /// VCC is not 0.
    VccNonZero,
    /// EXEC is 0.
    ExecZero,
    /// EXEC is not 0.
    ExecNonZero,
}

impl Named for GcnCondition {
    const ALL: &'static [(GcnCondition, &'static str)] = &[
        (GcnCondition::SccZero, "scc0"),
        (GcnCondition::SccOne, "scc1"),
        (GcnCondition::VccZero, "vccz"),
        (GcnCondition::VccNonZero, "vccnz"),
        (GcnCondition::ExecZero, "execz"),
        (GcnCondition::ExecNonZero, "execnz"),
    ];
}

impl GcnCondition {
    /// Scalar registers that the condition tests: the first one and their number.
    pub fn registers(self) -> (u8, u8) {
        match self {
            GcnCondition::SccZero | GcnCondition::SccOne => (scalar::SCC, 1),
            GcnCondition::VccZero | GcnCondition::VccNonZero => (scalar::VCC, 2),
            GcnCondition::ExecZero | GcnCondition::ExecNonZero => (scalar::EXEC, 2),
        }
    }
}
