//! Refusals: reasons why a kernel has no control-flow graph.

use std::fmt;

use warpbound_base::{CodeAddr, Diagnostic};
use warpbound_simt::Tag;

/// Refusal of a kernel, at an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The instruction.
    pub at: CodeAddr,
    /// The reason.
    pub reason: Reason,
}

/// Code that the analyses cannot follow soundly.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reason {
    /// SYNC, BRK, CONT or RET may find no entry of its tag.
    MayUnderflow(Tag),
    /// The next instruction would lie after the end of the code.
    RunsOffTheEnd,
    /// A jump, call or push names no instruction of this code.
    NoTarget(String),
    /// An indirect jump whose register may hold anything.
    UnknownIndirectTarget,
    /// An instruction whose control effect is not modelled.
    Unsupported(String),
    /// Convergence barriers whose regions do not nest along all paths.
    BarriersNotNested(String),
    /// A conditional push or call, which no known instruction set has.
    ConditionalPush,
    /// No lane that reaches the instruction can exit.
    NeverExits,
    /// More (block, context) pairs than the limit.
    TooLarge(usize),
    /// The time limit of the caller is past.
    TimeLimit,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::MayUnderflow(tag) => {
                let (op, push) = tag.instructions().unwrap_or(("a pop", "a push"));
                write!(
                    f,
                    "{op} may be reached without a matching {push} on the stack"
                )
            }
            Reason::RunsOffTheEnd => f.write_str("execution may run past the last instruction"),
            Reason::NoTarget(name) => {
                write!(f, "its target ({name}) is no instruction of this kernel")
            }
            Reason::UnknownIndirectTarget => {
                f.write_str("indirect jump: no table or address found for its register")
            }
            Reason::Unsupported(name) => write!(f, "{name} is not modelled"),
            Reason::BarriersNotNested(what) => {
                write!(f, "convergence barriers are not nested: {what}")
            }
            Reason::ConditionalPush => f.write_str("conditional push or call"),
            Reason::NeverExits => {
                f.write_str("infinite loop: no instruction reachable from here exits the kernel")
            }
            Reason::TooLarge(limit) => {
                write!(f, "more than {limit} blocks once calls are expanded")
            }
            Reason::TimeLimit => f.write_str("given up after the time limit"),
        }
    }
}

impl From<Refusal> for Diagnostic {
    fn from(refusal: Refusal) -> Diagnostic {
        Diagnostic::new(refusal.reason.to_string()).at(refusal.at)
    }
}
