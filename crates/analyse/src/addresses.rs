//! Addresses of memory accesses as functions of the lane (SOUNDNESS 5.13).

use std::collections::BTreeMap;

use warpbound_ir::{Code, OpIndex};

use crate::dependence::Dependence;
use crate::masks::Masks;
use crate::{LaunchContext, LaunchRanges, ThreadCfg, WarpCfg};

mod finder;
mod lanes;
mod near;
mod progressions;

use finder::AddressFinder;
pub use lanes::{LaneAddresses, NearLanes};

/// Finds the addresses of all accesses of a kernel, each for all nodes where a warp executes it. The stated launches
/// limit words of constant banks and sizes; `context` is what the warp-level graph was built with.
pub fn find(
    code: &Code,
    thread: &ThreadCfg,
    warp: &WarpCfg,
    ranges: &LaunchRanges,
    context: &LaunchContext,
) -> BTreeMap<OpIndex, LaneAddresses> {
    let dependence = Dependence::compute(thread);
    // The deadline passed. Without masks, only the addresses are lost; an access without an entry may have any.
    let Ok(masks) = Masks::compute(code, thread) else {
        return BTreeMap::new();
    };
    let code = thread.lane_code(code);
    let finder = AddressFinder::new(
        code,
        thread,
        warp,
        &dependence,
        ranges,
        context,
        masks.as_ref(),
    );
    finder.find()
}
