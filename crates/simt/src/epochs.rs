//! What a warp does over time, as others need it to put warps together to a block: plain data.

/// A warp's arrival at a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EpochArrival {
    /// The barrier instruction, as its position in the code.
    pub at: u32,
    /// The barrier's number.
    pub number: u32,
    /// The threads that it waits for.
    pub expected: i64,
    /// Lanes that arrive.
    pub lanes: u32,
}

/// What a warp does from one barrier to the next.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Epoch {
    /// Instructions that it issues at most, that of the barrier included.
    pub issues: u64,
    /// Cycles that it waits behind them at most, beyond the one in which each is issued.
    pub waits: u64,
    /// The barrier that ends it; `None` for the last epoch.
    pub ends: Option<EpochArrival>,
}
