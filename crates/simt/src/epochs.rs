//! Epochs of a warp: the input of block bounds, as plain data (`abstract-cta-2014` 3.3, SOUNDNESS 6.2).

/// Arrival of a warp at a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EpochArrival {
    /// Position of the barrier instruction in the code.
    pub at: u32,
    /// The barrier's number.
    pub number: u32,
    /// Threads that it waits for.
    pub expected: i64,
    /// Lanes that arrive.
    pub lanes: u32,
}

/// Execution of a warp from one barrier to the next. For example, a warp that passes two barriers has three epochs,
/// and the last has no barrier.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Epoch {
    /// Maximum number of instructions that it issues, the barrier included.
    pub issues: u64,
    /// Maximum number of stall cycles after them, beyond the cycle of each issue.
    pub stalls: u64,
    /// The barrier that ends it; `None` for the last epoch.
    pub barrier: Option<EpochArrival>,
}
