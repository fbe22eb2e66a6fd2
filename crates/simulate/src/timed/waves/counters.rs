//! Counters of the outstanding memory operations of a wave (GCN3 ISA manual, 4.4): vmcnt and lgkmcnt. Nothing that is
//! modelled raises expcnt.

use smallvec::SmallVec;
use warpbound_timing::{IssueKind, WaitCounts};

/// Operation that a counter counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Outstanding {
    /// Cycle of its issue, and its kind: no two operations of a wave and its splits have both in common.
    issued: u64,
    kind: IssueKind,
    /// Cycle when it completes.
    done: u64,
    /// Amount that the counter is raised by.
    weight: u8,
}

/// One counter: the operations that may be outstanding, in the order of their issue.
#[derive(Clone, Debug, Default)]
struct Counter(SmallVec<[Outstanding; 8]>);

impl Counter {
    fn raise(&mut self, operation: Outstanding) {
        // A wave issues in the order of time: what is complete now counts for no later wait.
        self.0.retain(|other| other.done > operation.issued);
        self.0.push(operation);
    }

    /// Returns the cycle when the counter is at most `most`. For example, if loads complete in cycles 30 and 50,
    /// vmcnt is at most 1 from cycle 30 on.
    fn release_cycle(&self, most: u8) -> u64 {
        let mut left: SmallVec<[(u64, u8); 8]> =
            self.0.iter().map(|own| (own.done, own.weight)).collect();
        left.sort_unstable_by_key(|(done, _)| std::cmp::Reverse(*done));
        let mut count = 0;
        // From the latest completion on, because all later ones are outstanding while an earlier one is.
        for (done, weight) in left {
            count += u32::from(weight);
            if count > u32::from(most) {
                return done;
            }
        }
        0
    }

    /// Last completion of an operation of a kind.
    fn last(&self, kind: IssueKind) -> u64 {
        let own = self.0.iter().filter(|own| own.kind == kind);
        own.map(|own| own.done).max().unwrap_or(0)
    }

    /// Adds the operations of a sibling's counter, in the order of issue. Each counts once, because a child has a
    /// copy of the operations that its parent had issued before.
    fn unite(&mut self, other: &Counter) {
        for operation in &other.0 {
            let known =
                |own: &Outstanding| (own.issued, own.kind) == (operation.issued, operation.kind);
            if !self.0.iter().any(known) {
                self.0.push(*operation);
            }
        }
        self.0.sort_by_key(|own| own.issued);
    }
}

/// Counters of a wave.
#[derive(Clone, Debug, Default)]
pub(super) struct Counters {
    vm: Counter,
    lgkm: Counter,
}

impl Counters {
    /// Raises vmcnt by an operation that issues in a cycle; returns the cycle when it counts as complete.
    /// Operations complete in the order of their issue.
    pub(super) fn raise_vm(&mut self, issued: u64, done: u64) -> u64 {
        let kind = IssueKind::VectorMemory;
        let done = done.max(self.vm.last(kind));
        let weight = 1;
        self.vm.raise(Outstanding {
            issued,
            kind,
            done,
            weight,
        });
        done
    }

    /// Raises lgkmcnt; returns the cycle when the operation counts as complete. LDS completes in the order of
    /// issue, scalar memory in any order.
    pub(super) fn raise_lgkm(
        &mut self,
        issued: u64,
        kind: IssueKind,
        mut done: u64,
        weight: u8,
    ) -> u64 {
        if kind == IssueKind::Lds {
            done = done.max(self.lgkm.last(kind));
        }
        self.lgkm.raise(Outstanding {
            issued,
            kind,
            done,
            weight,
        });
        done
    }

    /// Returns the cycle when the counters allow an s_waitcnt to issue.
    pub(super) fn release_cycle(&self, waits: &WaitCounts) -> u64 {
        let cycle = |counter: &Counter, most: Option<u8>| {
            most.map_or(0, |most| counter.release_cycle(most))
        };
        cycle(&self.vm, waits.vm).max(cycle(&self.lgkm, waits.lgkm))
    }

    /// Adds the outstanding operations of a sibling that becomes a part of this wave.
    pub(super) fn unite(&mut self, other: &Counters) {
        self.vm.unite(&other.vm);
        self.lgkm.unite(&other.lgkm);
        // The united list keeps the order, too: no operation completes before an earlier one.
        let mut done = 0;
        for operation in &mut self.vm.0 {
            done = done.max(operation.done);
            operation.done = done;
        }
        let mut done = 0;
        for operation in &mut self.lgkm.0 {
            if operation.kind == IssueKind::Lds {
                done = done.max(operation.done);
                operation.done = done;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(vm: Option<u8>, lgkm: Option<u8>) -> WaitCounts {
        WaitCounts {
            vm,
            exp: None,
            lgkm,
        }
    }

    /// Vector memory completes in order, whatever its own times are.
    #[test]
    fn vector_memory_is_in_order() {
        let mut counters = Counters::default();
        assert_eq!(counters.raise_vm(0, 90), 90);
        // Complete in cycle 50, but counted after the first load.
        assert_eq!(counters.raise_vm(4, 50), 90);
        assert_eq!(counters.raise_vm(8, 120), 120);
        let release = |most| counters.release_cycle(&waits(Some(most), None));
        assert_eq!([0, 1, 2, 3].map(release), [120, 90, 90, 0]);
        assert_eq!(counters.release_cycle(&waits(None, Some(0))), 0);
    }

    /// Scalar memory completes in any order, and two dwords count twice; LDS is in order.
    #[test]
    fn scalar_memory_is_out_of_order() {
        let mut counters = Counters::default();
        counters.raise_lgkm(0, IssueKind::ScalarMemory, 100, 2);
        counters.raise_lgkm(4, IssueKind::Lds, 60, 1);
        counters.raise_lgkm(8, IssueKind::Lds, 40, 1);
        counters.raise_lgkm(12, IssueKind::ScalarMemory, 30, 1);
        let release = |most| counters.release_cycle(&waits(None, Some(most)));
        // Latest first: 2 at 100, 1 at 60, 1 at 60, 1 at 30.
        assert_eq!([0, 1, 2, 3, 4, 5].map(release), [100, 100, 60, 60, 30, 0]);
    }

    /// Operations that a child has from its parent count once after they merge.
    #[test]
    fn siblings_unite() {
        let mut parent = Counters::default();
        parent.raise_vm(0, 200);
        let mut child = parent.clone();
        parent.raise_vm(8, 210);
        child.raise_vm(4, 220);
        parent.unite(&child);
        let release = |most| parent.release_cycle(&waits(Some(most), None));
        // In the order of issue: 200, 220, and 220 instead of 210, because it follows the second.
        assert_eq!([0, 1, 2, 3].map(release), [220, 220, 200, 0]);
    }
}
