//! Ranges that the user states for the numbers in buffers, and the loads that they hold for (SOUNDNESS 5.12).
//!
//! A load reads numbers of the buffer of a parameter if its address is that parameter and an offset: one pointer
//! once, and words that are not pointers. For example, `a + 4·i` reads a number of `a`, while nothing is known of
//! `a + (b - c)`. That the sum stays within the buffer is an assumption, which audits check: each such load of a run
//! has to find a number of the range.

use std::collections::BTreeMap;

use warpbound_ir::{Cell, Code, Meaning, OpIndex};

use crate::dependence::Dependence;
use crate::launch_ranges::LaunchRanges;
use crate::symbolic::values::Symbolic;
use crate::thread_cfg::ThreadCfg;

/// Load of numbers of a stated range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RangedLoad {
    /// Name of the buffer.
    pub buffer: String,
    /// Cells that it loads, one number each.
    pub dests: Vec<Cell>,
    /// Lower limit of the numbers.
    pub least: i64,
    /// Upper limit of the numbers.
    pub most: i64,
}

/// Returns the loads of a kernel that stated ranges of contents hold for, wherever they are executed.
pub fn ranged_loads(
    code: &Code,
    thread: &ThreadCfg,
    launch: &LaunchRanges,
) -> BTreeMap<OpIndex, RangedLoad> {
    if launch.data.values().all(Option::is_none) {
        return BTreeMap::new();
    }
    let dependence = Dependence::compute(thread);
    let mut symbolic = Symbolic::new(code, thread, &dependence, launch, None);
    let mut found = BTreeMap::new();
    for node in thread.space.ids().filter(|&node| thread.is_reached(node)) {
        let block = thread.space.block(node);
        for at in (block.first.0..=block.last.0).map(OpIndex) {
            let Some(Meaning::Load { dests, .. }) = code.get(at).and_then(|op| op.meaning.as_ref())
            else {
                continue;
            };
            let range = symbolic.stated_data(node, at);
            let load = range.map(|(data, (least, most))| RangedLoad {
                buffer: data.name.clone(),
                dests: dests.iter().flatten().copied().collect(),
                least,
                most,
            });
            if let Some(load) = load {
                found.insert(at, load);
            }
        }
    }
    found
}
