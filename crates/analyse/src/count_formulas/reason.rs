//! Reasons why a count has no formula.

use warpbound_ir::OpIndex;

/// Reason why a count has no formula.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoFormulaReason {
    /// A value from memory decides.
    Loaded,
    /// The result of an operation that is not followed decides.
    Operation,
    /// The deciding value changes in a loop otherwise than by a step or a shift.
    Recurrence,
    /// The deciding value is chosen among several at a join.
    Join,
    /// The deciding transfer is not a branch by a word: it is an indirect jump, or a pop to several places.
    Transfer,
    /// A loop is left at several places, or not in each iteration.
    Exits,
    /// A loop has several headers.
    Irreducible,
    /// Calls share a context, so that a loop of the graph is not a loop of a thread.
    Recursion,
    /// The formula would be too long.
    Long,
}

impl NoFormulaReason {
    /// The reason as text.
    pub fn text(self) -> &'static str {
        match self {
            NoFormulaReason::Loaded => "a value from memory",
            NoFormulaReason::Operation => "the result of an operation that is not followed",
            NoFormulaReason::Recurrence => "a value that changes in a loop by no step or shift",
            NoFormulaReason::Join => "a value chosen among several at a join",
            NoFormulaReason::Transfer => "an indirect jump, or a pop to several places",
            NoFormulaReason::Exits => {
                "a loop that is left at several places, or not in each iteration"
            }
            NoFormulaReason::Irreducible => "a loop with several headers",
            NoFormulaReason::Recursion => "recursion, or too many calling contexts",
            NoFormulaReason::Long => "a formula that would be too long",
        }
    }
}

/// Operation that leaves a count without a formula, and the reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoFormula {
    /// The operation.
    pub at: OpIndex,
    /// The reason.
    pub reason: NoFormulaReason,
}

impl NoFormula {
    pub(super) fn new(at: OpIndex, reason: NoFormulaReason) -> NoFormula {
        NoFormula { at, reason }
    }
}
