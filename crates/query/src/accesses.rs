//! Memory accesses of an analysed kernel: the addresses of their lanes and their classes, found once for a task.
//!
//! For example, a page of HTML has a bound in cycles and a table of accesses, and both rest on the classes here.

use std::collections::BTreeMap;

use warpbound_analyse::LaunchContext;
use warpbound_analyse::access::{AccessClass, AccessClassifier, AccessShape, MemoryUnits};
use warpbound_analyse::addresses::{self, LaneAddresses};
use warpbound_analyse::guarded_lanes::executing_threads;
use warpbound_analyse::launch_ranges::LaunchRanges;
use warpbound_ir::{Op, OpIndex};

use crate::{KernelFlow, Prepared};

/// Accesses of a kernel in all launches that are stated: addresses and classes, by operation (SOUNDNESS 5.13).
#[derive(Clone, Debug, Default)]
pub struct KernelAccesses {
    /// Addresses of the lanes. An access without an entry may have any.
    pub addresses: BTreeMap<OpIndex, LaneAddresses>,
    /// Classes of the operations that access memory at an address.
    pub classes: BTreeMap<OpIndex, AccessClass>,
    /// Operations that access misaligned addresses.
    pub misaligned: Vec<OpIndex>,
}

impl KernelAccesses {
    /// Finds the accesses of a kernel in the launches that `context` and `ranges` describe; none for code without
    /// memory units (mini-SIMT).
    pub(crate) fn find(
        prepared: &Prepared<'_>,
        flow: &KernelFlow,
        context: &LaunchContext,
        ranges: &LaunchRanges,
    ) -> KernelAccesses {
        let Some(units) = MemoryUnits::of(prepared.family()) else {
            return KernelAccesses::default();
        };
        let code = &prepared.code;
        let addresses = addresses::find(code, &flow.thread, &flow.warp, ranges, context);
        let is_access = |op: &Op| AccessShape::of(op, &units).is_some();
        let executing = match units.keeps_masks {
            // Waves pass operations whose lanes are switched off by masks, not by guards.
            true => BTreeMap::new(),
            false => executing_threads(code, &flow.thread, context, is_access),
        };
        let classifier = AccessClassifier::new(context, units, &prepared.known_counts);
        let classes = classifier.classify_all(&code.ops, &addresses, &executing);
        let misaligned = classifier.misaligned(&code.ops, &addresses, &executing);
        KernelAccesses {
            addresses,
            classes,
            misaligned,
        }
    }
}
