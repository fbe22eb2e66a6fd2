//! Rows of a count system, and the rules that they follow from.

use super::CountVar;

/// Coefficient: a number, or a number times a value of a flow fact. For example, the row `headers - 10 · entries ≤ 0`
/// of a loop has the factors `Number(1)` and `TimesBound(-1, fact)`, where the bound of the fact is 10.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Factor {
    /// This number.
    Number(i64),
    /// This number times the bound of the fact.
    TimesBound(i64, usize),
    /// This number times the total of the fact.
    TimesTotal(i64, usize),
}

/// Relation of the sum of a row's terms to its right side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowRelation {
    /// At most.
    AtMost,
    /// Exactly.
    Exactly,
}

/// Rule that a row follows from (subsections of SOUNDNESS 5). For example, `Pops` is SOUNDNESS 5.3.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum RowFamily {
    /// The warp or its lanes start once.
    Start,
    /// Each node is left as often as it is entered.
    Flow,
    /// A warp step carries at least one lane.
    ThreadFlow,
    /// An entry is resumed at most as often as it was pushed.
    Pops,
    /// Loop fact, per thread.
    LoopPerThread,
    /// Loop fact, per entry of the loop by the warp, for lanes in lockstep.
    LoopLockstep,
    /// Loop fact read as a bound of the warp-level loop.
    LoopOfWarp,
    /// Total of a loop, per thread.
    TotalPerThread,
    /// Total of a loop whose lanes are in lockstep over the whole run.
    TotalLockstep,
    /// Lanes that satisfy a guard on the thread index.
    GuardedLanes,
    /// Executions of a node by a warp of one launch, or by a chain of its warps.
    LaunchExecutions,
}

impl RowFamily {
    /// Returns the reason why rows of this family hold, in one clause.
    pub fn reason(self) -> &'static str {
        match self {
            RowFamily::Start => "the kernel is entered once by the live lanes",
            RowFamily::Flow => "what enters a node leaves it",
            RowFamily::ThreadFlow => "each warp step carries at least one lane",
            RowFamily::Pops => "an entry is resumed at most as often as it was pushed",
            RowFamily::LoopPerThread => "loop fact: header executions per entry of each thread",
            RowFamily::LoopLockstep => {
                "lanes that iterate in lockstep: the fact holds for the warp"
            }
            RowFamily::LoopOfWarp => "loop fact, taken as a bound of the warp-level loop",
            RowFamily::TotalPerThread => "total of a loop: header executions of each thread",
            RowFamily::TotalLockstep => {
                "lanes that leave the loop do not come back: the total holds for the warp"
            }
            RowFamily::GuardedLanes => {
                "the thread index decides which lanes take this side, each at most once"
            }
            RowFamily::LaunchExecutions => {
                "by execution of the launch no warp executes the node more often"
            }
        }
    }
}

/// Row `Σ factor·variable  relation  constant`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CountRow {
    /// Terms of the sum.
    pub terms: Vec<(CountVar, Factor)>,
    /// Relation of the sum to the constant.
    pub relation: RowRelation,
    /// Right side.
    pub constant: i64,
    /// Rule that the row follows from.
    pub family: RowFamily,
    /// Subject of the row: the node, edge, entry or loop.
    pub label: String,
}
