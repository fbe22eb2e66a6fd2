use std::fmt;

use warpbound_ir::OpIndex;

/// Why a run cannot go on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The operation.
    pub at: OpIndex,
    /// The cycle.
    pub cycle: u64,
    /// The thread, when it is about one.
    pub thread: Option<u32>,
    /// What happened.
    pub kind: FaultKind,
}

/// What stops a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// A division by zero.
    DivisionByZero,
    /// A word that the memory does not have.
    OutOfRange {
        /// The address, in words.
        address: u32,
        /// Words of the memory.
        size: usize,
    },
    /// The lanes of a warp do not agree on the barrier, or on how many threads it waits for.
    BarrierDisagreement,
    /// Warps wait at one barrier for different numbers of threads.
    BarrierMismatch {
        /// What this warp waits for.
        here: i64,
        /// What those wait for that came before.
        there: i64,
    },
    /// Everybody who is left waits at a barrier.
    Deadlock {
        /// The barrier.
        number: u32,
        /// Threads that are there.
        arrived: u64,
        /// Threads that it waits for.
        expected: i64,
    },
    /// The run takes longer than it may.
    TooLong {
        /// The limit in cycles.
        limit: u64,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            FaultKind::DivisionByZero => f.write_str("division by zero")?,
            FaultKind::OutOfRange { address, size } => write!(
                f,
                "address {} is outside the memory of {size} words",
                *address as i32
            )?,
            FaultKind::BarrierDisagreement => f.write_str(
                "the lanes of the warp do not agree on the barrier and its number of threads",
            )?,
            FaultKind::BarrierMismatch { here, there } => write!(
                f,
                "this warp expects {here} threads at the barrier, those that wait there {there}"
            )?,
            FaultKind::Deadlock {
                number,
                arrived,
                expected,
            } => write!(
                f,
                "barrier {} can never be satisfied: {arrived} threads are there, it waits for {expected}, \
                 and nobody else can come",
                *number as i32
            )?,
            FaultKind::TooLong { limit } => {
                write!(f, "the kernel has not ended after {limit} cycles")?;
            }
        }
        if let Some(thread) = self.thread {
            write!(f, ", in thread {thread}")?;
        }
        write!(f, ", at cycle {}", self.cycle)
    }
}
