//! Lanes of stack entries that an analysis knows in part: those that are certainly there, and those that may be.
//!
//! [`UncertainStack`] moves them by the rules of the concrete stack (SOUNDNESS 3.1), because both are one
//! [`LaneStack`]. It adds one transfer: [`UncertainStack::leave`] ends the running entry in a region of code that no
//! analysis follows, after which the lanes may be at several entries. For example, `if (a[i] > 0) break;` with unknown
//! contents of `a` leaves each lane in the loop, or at the entry that was pushed for a break.

use crate::activation_stack::{EntryLanes, LaneStack};
use crate::{Mask, Tag};

/// Lanes that may be in a stack entry, and those among them that certainly are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UncertainLanes {
    /// Lanes that may be in the entry.
    pub possible: Mask,
    /// Lanes that are in it in every run that executes it.
    pub certain: Mask,
}

impl UncertainLanes {
    /// Whether all of its lanes are in the entry in every run.
    pub fn is_certain(self) -> bool {
        self.possible == self.certain
    }
}

impl EntryLanes for UncertainLanes {
    fn exactly(lanes: Mask) -> UncertainLanes {
        UncertainLanes {
            possible: lanes,
            certain: lanes,
        }
    }

    fn possible(self) -> Mask {
        self.possible
    }

    fn remove(&mut self, lanes: Mask) {
        self.possible &= !lanes;
        self.certain &= !lanes;
    }
}

/// Activation stack whose entries have [`UncertainLanes`].
pub type UncertainStack<P> = LaneStack<P, UncertainLanes>;

/// Place at which a lane may be after a region: an entry below the running one, by the tag that it waits for, or none,
/// if the lane has ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Departure {
    /// The lane ends.
    Exit,
    /// The lane waits at the nearest entry with the tag.
    Pop(Tag),
}

impl<P: Copy + PartialEq> UncertainStack<P> {
    /// Ends the running entry in a region that its lanes leave by `departures`; some lane may take each of them.
    /// Returns whether the stack has the entries that they name.
    ///
    /// A lane that was certainly in the running entry stays in an entry below it exactly where its departure leads to
    /// that entry or to a higher one. A lane that was only possibly there may be at lower entries already, so it is
    /// removed from none.
    ///
    /// With `some_may_miss`, departures may belong to no run. A departure to an entry that is not there then belongs
    /// to no run that ends.
    pub fn leave(&mut self, departures: &[Departure], some_may_miss: bool) -> bool {
        let Some(top) = self.entries.pop() else {
            return true;
        };
        // Entries that a departure leaves in place: 0 for lanes that end.
        let mut kept = Vec::with_capacity(departures.len());
        for departure in departures {
            kept.push(match departure {
                Departure::Exit => 0,
                Departure::Pop(tag) => {
                    let target = self.entries.iter().rposition(|entry| entry.tag == *tag);
                    match target {
                        Some(target) => target + 1,
                        None if some_may_miss => continue,
                        None => return false,
                    }
                }
            });
        }
        let least = kept.iter().copied().min().unwrap_or(0);
        let most = kept.iter().copied().max().unwrap_or(0);
        for (index, entry) in self.entries.iter_mut().enumerate() {
            // Every departure leaves this entry, so a lane that was certainly in the region is no longer there.
            if index >= most {
                entry.mask.possible &= !top.mask.certain;
            }
            // Some departure leaves this entry, and any lane that may have been in the region may take it.
            if index >= least {
                entry.mask.certain &= !top.mask.possible;
            }
        }
        // Entries without lanes go, and the new top waits for nothing.
        self.remove_lanes(0, 0);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warp::DivergenceOrder;
    use crate::{ControlTransfer, ExecutionModel};

    fn new() -> UncertainStack<u32> {
        UncertainStack::new(0, 0b111, DivergenceOrder::TakenFirst)
    }

    fn push(stack: &mut UncertainStack<u32>, tag: Tag, resume: u32, next: u32) {
        let push = ControlTransfer::Push { tag, resume };
        assert_eq!(stack.apply(&push, 0b111, next), Ok(false));
    }

    fn lanes(stack: &UncertainStack<u32>) -> Vec<(Mask, Mask)> {
        let lanes = stack.entries.iter().map(|entry| entry.mask);
        lanes.map(|lanes| (lanes.possible, lanes.certain)).collect()
    }

    #[test]
    fn region_with_one_departure_keeps_lanes_certain() {
        let mut stack = new();
        push(&mut stack, Tag::Sync, 9, 1);
        assert!(stack.leave(&[Departure::Pop(Tag::Sync)], false));
        assert_eq!(lanes(&stack), [(0b111, 0b111)]);
        assert_eq!(stack.top().map(|top| top.next), Some(9));
    }

    #[test]
    fn lanes_that_may_leave_a_loop_or_its_iteration_are_certain_only_after_the_loop() {
        let mut stack = new();
        push(&mut stack, Tag::Brk, 9, 1);
        push(&mut stack, Tag::Sync, 5, 2);
        assert!(stack.leave(
            &[Departure::Pop(Tag::Sync), Departure::Pop(Tag::Brk)],
            false
        ));
        assert_eq!(lanes(&stack), [(0b111, 0b111), (0b111, 0)]);
        // The rest of the iteration is a region as well, after which all lanes have left the loop.
        assert!(stack.leave(&[Departure::Pop(Tag::Brk)], false));
        assert_eq!(lanes(&stack), [(0b111, 0b111)]);
    }

    #[test]
    fn lanes_that_may_have_ended_are_certain_nowhere() {
        let mut stack = new();
        push(&mut stack, Tag::Sync, 9, 1);
        let jump = ControlTransfer::Jump(2);
        assert_eq!(stack.apply(&jump, 0b011, 3), Ok(true));
        assert!(stack.leave(&[Departure::Exit, Departure::Pop(Tag::Sync)], false));
        assert_eq!(lanes(&stack), [(0b111, 0b100), (0b100, 0b100)]);
        let sync = ControlTransfer::Pop(Tag::Sync);
        assert_eq!(stack.apply(&sync, 0b100, 4), Ok(false));
        assert_eq!(lanes(&stack), [(0b111, 0b100)]);
        assert!(!stack.leave(&[Departure::Pop(Tag::Brk)], false));
    }

    #[test]
    fn departures_of_no_run_are_left_out_where_stacks_are_merged() {
        let mut stack = new();
        push(&mut stack, Tag::Ret, 9, 1);
        let departures = [Departure::Pop(Tag::Sync), Departure::Pop(Tag::Ret)];
        assert!(stack.leave(&departures, true));
        assert_eq!(lanes(&stack), [(0b111, 0b111)]);
    }
}
