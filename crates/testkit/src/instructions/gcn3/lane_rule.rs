//! Rules by which the lanes of a wave compute.

use std::cell::Cell;

use super::{ComparedBits, Kind};

/// Rule by which a lane computes.
pub(super) struct LaneRule {
    /// Kinds of the sources.
    pub(super) inputs: Vec<Kind>,
    pub(super) output: LaneOutput,
    /// Whether the old value of the destination is a further source, of the kind of the result.
    pub(super) reads_destination: bool,
    pub(super) compute: Compute,
    pub(super) compare: ComparedBits,
}

/// Result of a lane.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LaneOutput {
    /// A value.
    Value(Kind),
    /// A bit of a mask.
    Mask,
    /// A value, and a bit of a mask.
    Both(Kind),
}

/// Computes the value, and the bit of the mask.
pub(super) type Compute = Box<dyn Fn(&LaneEnv, &[u64]) -> Option<(u64, bool)>>;

/// State besides the operands that a lane reads.
pub(super) struct LaneEnv {
    pub(super) lane: u32,
    pub(super) mode: u32,
    /// Bit of VCC.
    pub(super) vcc: bool,
    /// Set where the result is not documented, or differs between documents.
    pub(super) is_unknown: Cell<bool>,
}
