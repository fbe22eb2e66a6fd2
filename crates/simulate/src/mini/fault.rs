//! Faults: errors that stop a mini-SIMT run, and their messages.

use std::fmt;

use warpbound_ir::OpIndex;

/// An error that stops a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The operation.
    pub at: OpIndex,
    /// The cycle.
    pub cycle: u64,
    /// Number of the thread, if the fault concerns one thread.
    pub thread: Option<u32>,
    /// Kind of the fault.
    pub kind: FaultKind,
}

/// Kinds of faults.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// A division by zero.
    DivisionByZero,
    /// An access out of bounds of the memory.
    OutOfRange {
        /// The address, in words.
        address: u32,
        /// Size of the memory in words.
        size: usize,
    },
    /// The lanes of a warp have different barrier numbers or thread counts.
    BarrierDisagreement,
    /// Warps wait at one barrier for different numbers of threads.
    BarrierMismatch {
        /// Number of threads that this warp expects.
        here: i64,
        /// Number of threads that the earlier warps expect.
        there: i64,
    },
    /// All warps that have not exited are blocked at barriers.
    Deadlock {
        /// Number of the barrier.
        number: u32,
        /// Number of threads that have arrived.
        arrived: u64,
        /// Number of threads that the barrier expects.
        expected: i64,
    },
    /// The operation has a control transfer that synchronisation frames do not have.
    UnsupportedControl,
    /// The run exceeds its cycle limit.
    CycleLimit {
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
                "this warp expects {here} threads at the barrier, the waiting warps {there}"
            )?,
            FaultKind::Deadlock {
                number,
                arrived,
                expected,
            } => write!(
                f,
                "barrier {} can never be satisfied: {arrived} threads have arrived, it waits for {expected}, \
                 and no other thread can arrive",
                *number as i32
            )?,
            FaultKind::UnsupportedControl => {
                f.write_str("synchronisation frames have no such control transfer")?;
            }
            FaultKind::CycleLimit { limit } => {
                write!(f, "the kernel has not ended after {limit} cycles")?;
            }
        }
        if let Some(thread) = self.thread {
            write!(f, ", in thread {thread}")?;
        }
        write!(f, ", at cycle {}", self.cycle)
    }
}
