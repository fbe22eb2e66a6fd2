//! Accesses of a launch by the addresses that the launch fixes: upper bounds on what each execution can cause,
//! whatever memory contains (SOUNDNESS 6.5).

use std::collections::BTreeSet;
use std::ops::Range;

use warpbound_ir::{Expr, Meaning, Op, OpIndex};
use warpbound_isa::instr::MemorySpace;
use warpbound_simt::lanes_of;

use super::effects::{AccessRow, OpLanes};
use super::lines::TouchedAddresses;
use super::row::{LANES, LaneRow, ValueOrigin};
use crate::access::{
    AccessCounts, AccessMode, AccessShape, MemoryUnits, constant_address, count_addresses,
};

/// Accesses that are recorded while warps are executed.
pub(super) struct AccessRecorder {
    units: MemoryUnits,
    /// For each operation, its access, with the greatest numbers so far; none if an address was unknown.
    pub(super) found: Vec<Option<RecordedAccess>>,
    /// Whether addresses are compared with the buffers.
    pub(super) looks_outside: bool,
}

/// Range from the lowest to the highest of the bytes that were added.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    first: u64,
    end: u64,
}

impl Extent {
    const EMPTY: Extent = Extent {
        first: u64::MAX,
        end: 0,
    };

    fn add(&mut self, address: u64, bytes: u32) {
        self.first = self.first.min(address);
        self.end = self.end.max(address.saturating_add(bytes.into()));
    }

    pub(super) fn range(self) -> Range<u64> {
        match self.first < self.end {
            true => self.first..self.end,
            false => 0..0,
        }
    }
}

#[derive(Clone, Copy)]
pub(super) struct RecordedAccess {
    pub(super) shape: AccessShape,
    /// Numbers of an execution without lanes.
    least: AccessCounts,
    pub(super) counts: Option<AccessCounts>,
    /// Address range of all executions.
    pub(super) extent: Extent,
    /// Whether some thread certainly accesses global memory where there is none.
    is_outside: bool,
}

/// Execution of an access.
pub(super) struct RecordedExecution {
    /// Properties of the launch from which its addresses follow.
    pub(super) origin: ValueOrigin,
    /// Its numbers, if they are known.
    pub(super) counts: Option<AccessCounts>,
    /// Its addresses, if it is one to global memory and they are known.
    pub(super) addresses: Option<TouchedAddresses>,
}

impl AccessRecorder {
    pub(super) fn new(ops: &[Op], units: MemoryUnits) -> AccessRecorder {
        let found = ops.iter().map(|op| {
            let shape = AccessShape::of(op, &units)?;
            // An execution without lanes counts as one by one lane.
            let one_lane = count_addresses(&units, shape, &[Some(0)])?;
            Some(RecordedAccess {
                shape,
                least: one_lane,
                counts: Some(one_lane),
                extent: Extent::EMPTY,
                is_outside: false,
            })
        });
        AccessRecorder {
            units,
            found: found.collect(),
            looks_outside: false,
        }
    }

    /// Whether an operation is an access that is recorded.
    pub(super) fn has(&self, at: OpIndex) -> bool {
        self.found.get(at.index()).is_some_and(Option::is_some)
    }

    /// Records the execution of an access by all lanes that may take part. Fewer lanes have no greater numbers.
    pub(super) fn record(
        &mut self,
        at: OpIndex,
        op: &Op,
        lanes: OpLanes,
        evaluate: impl Fn(&Expr) -> LaneRow,
    ) -> RecordedExecution {
        let mut execution = RecordedExecution {
            origin: ValueOrigin::NONE,
            counts: None,
            addresses: None,
        };
        let recorded = self.found.get_mut(at.index()).and_then(Option::as_mut);
        let Some(recorded) = recorded else {
            return execution;
        };
        // An earlier execution had an unknown address, so the access keeps its class (SOUNDNESS 6.5).
        let Some(so_far) = recorded.counts else {
            return execution;
        };
        let Some(access) = addresses_of(op, evaluate) else {
            recorded.counts = None;
            return execution;
        };
        execution.origin = access.origin;
        let mut addresses = [None; LANES];
        for lane in lanes_of(lanes.all().into()) {
            let Some(address) = access.address(lane) else {
                recorded.counts = None;
                return execution;
            };
            addresses[lane] = Some(address);
            recorded.extent.add(address, recorded.shape.bytes);
        }
        let counts = count_addresses(&self.units, recorded.shape, &addresses);
        execution.counts = counts.map(|counts| counts.max(recorded.least));
        recorded.counts = execution.counts.map(|counts| counts.max(so_far));
        if recorded.shape.space == MemorySpace::Global {
            execution.addresses = Some(TouchedAddresses {
                addresses,
                certain: lanes.present(),
                bytes: recorded.shape.bytes,
                fetches: !matches!(op.meaning, Some(Meaning::Store { .. })),
            });
        }
        execution
    }

    /// Notes whether a lane that certainly executes an access of global memory finds none at its address; `holds` says
    /// whether there are bytes at an address.
    pub(super) fn note_outside(
        &mut self,
        at: OpIndex,
        op: &Op,
        lanes: OpLanes,
        evaluate: impl Fn(&Expr) -> LaneRow,
        holds: &dyn Fn(u64, u32) -> bool,
    ) {
        let recorded = self.found.get_mut(at.index()).and_then(Option::as_mut);
        let Some(recorded) = recorded.filter(|recorded| !recorded.is_outside) else {
            return;
        };
        let AccessShape {
            space, mode, bytes, ..
        } = recorded.shape;
        // Prefetches do not fault; generic addresses may lie in a window.
        if space != MemorySpace::Global || !matches!(mode, AccessMode::Plain | AccessMode::Atomic) {
            return;
        }
        let Some(access) = addresses_of(op, evaluate) else {
            return;
        };
        let mut addresses =
            // Only a lane that certainly takes part proves a fault.
            lanes_of(lanes.present().into()).filter_map(|lane| access.address(lane));
        recorded.is_outside = addresses.any(|address| !holds(address, bytes));
    }

    /// Accesses by which some thread certainly leaves global memory.
    pub(super) fn outside(&self) -> BTreeSet<OpIndex> {
        let found = (0..).map(OpIndex).zip(&self.found);
        let outside = found.filter(|(_, recorded)| recorded.is_some_and(|of| of.is_outside));
        outside.map(|(at, _)| at).collect()
    }
}

/// Addresses of an access with plain addresses.
fn addresses_of(op: &Op, evaluate: impl Fn(&Expr) -> LaneRow) -> Option<AccessRow> {
    match op.meaning.as_ref()? {
        Meaning::Load { address, .. }
        | Meaning::Store { address, .. }
        | Meaning::Atomic { address, .. } => address
            .is_plain()
            .then(|| AccessRow::new(address, 0, evaluate)),
        _ => Some(AccessRow::of_word(evaluate(constant_address(op)?))),
    }
}
