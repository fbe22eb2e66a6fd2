//! Activation stack of a predicted warp, with the lanes that are certainly in each entry.
//!
//! The rules follow the concrete stack (SOUNDNESS 3.1), written again for lanes that may or may not be in an entry:
//! they took a path through a region that unknown values decide.

use warpbound_simt::Tag;

/// Entry of the stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LaneEntry {
    /// Block at which its lanes continue.
    pub(super) next: usize,
    /// Kind of instruction that it waits for; [`Tag::Nil`] if it waits for none.
    pub(super) tag: Tag,
    /// Lanes that may be in it.
    pub(super) possible: u32,
    /// Lanes that are in it in every run, when it is executed.
    pub(super) certain: u32,
}

impl LaneEntry {
    /// Whether all of its lanes are in it in every run.
    pub(super) fn is_certain(&self) -> bool {
        self.possible == self.certain
    }
}

/// Stack of entries; the last one runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LaneStack {
    entries: Vec<LaneEntry>,
}

/// Place at which a lane may be after a region: an entry below the running one, by the tag that it waits for, or none,
/// if the lane has ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Departure {
    /// The lane ends.
    Exit,
    /// The lane waits at the nearest entry with the tag.
    Pop(Tag),
}

impl LaneStack {
    /// A stack with one entry that begins at a block.
    pub(super) fn new(next: usize, lanes: u32) -> LaneStack {
        let first = LaneEntry {
            next,
            tag: Tag::Nil,
            possible: lanes,
            certain: lanes,
        };
        let mut stack = LaneStack {
            entries: vec![first],
        };
        stack.drop_empty();
        stack
    }

    /// The running entry.
    pub(super) fn top(&self) -> Option<LaneEntry> {
        self.entries.last().copied()
    }

    /// Number of entries.
    pub(super) fn height(&self) -> usize {
        self.entries.len()
    }

    /// Moves the running entry.
    pub(super) fn advance(&mut self, next: usize) {
        if let Some(top) = self.entries.last_mut() {
            top.next = next;
        }
    }

    /// Turns the running entry into one that waits for `tag` and resumes at `resume`; its lanes run on at `next`.
    pub(super) fn push(&mut self, tag: Tag, resume: usize, next: usize) {
        if let Some(top) = self.entries.last_mut() {
            let above = LaneEntry {
                next,
                tag: Tag::Nil,
                ..*top
            };
            top.tag = tag;
            top.next = resume;
            self.entries.push(above);
        }
    }

    /// Splits the running entry, all of whose lanes are certain, into sides. Those without lanes are left out.
    pub(super) fn split(&mut self, sides: &[(usize, u32)]) {
        self.entries.pop();
        let sides = sides.iter().filter(|(_, lanes)| *lanes != 0);
        self.entries.extend(sides.map(|&(next, lanes)| LaneEntry {
            next,
            tag: Tag::Nil,
            possible: lanes,
            certain: lanes,
        }));
    }

    /// Takes `lanes` of the running entry down to the nearest entry with a tag; the others continue at `next`. Returns
    /// whether there is such an entry.
    pub(super) fn pop(&mut self, tag: Tag, lanes: u32, next: usize) -> bool {
        self.advance(next);
        let Some(target) = self.entries.iter().rposition(|entry| entry.tag == tag) else {
            return false;
        };
        self.remove(target + 1, lanes);
        true
    }

    /// Ends `lanes` of the running entry; the others continue at `next`.
    pub(super) fn exit(&mut self, lanes: u32, next: usize) {
        self.advance(next);
        self.remove(0, lanes);
    }

    /// Removes lanes that were certain from all entries from an index up.
    fn remove(&mut self, from: usize, lanes: u32) {
        for entry in self.entries.iter_mut().skip(from) {
            entry.possible &= !lanes;
            entry.certain &= !lanes;
        }
        self.drop_empty();
    }

    /// Removes entries without lanes; the new top waits for nothing.
    fn drop_empty(&mut self) {
        self.entries.retain(|entry| entry.possible != 0);
        if let Some(top) = self.entries.last_mut() {
            top.tag = Tag::Nil;
        }
    }

    /// Ends the running entry in a region that its lanes leave by `departures`; some lane may take each of them.
    /// Returns whether the stack has the entries that they name.
    ///
    /// A lane that was certainly in the running entry stays in an entry below it exactly where its departure leads to
    /// that entry or to a higher one. A lane that was only possibly there may be at lower entries already, so it is
    /// removed from none.
    ///
    /// With `some_may_miss`, departures may belong to no run. A departure to an entry that is not there then belongs
    /// to no run that ends.
    pub(super) fn leave(&mut self, departures: &[Departure], some_may_miss: bool) -> bool {
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
                entry.possible &= !top.certain;
            }
            // Some departure leaves this entry, and any lane that may have been in the region may take it.
            if index >= least {
                entry.certain &= !top.possible;
            }
        }
        self.drop_empty();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(stack: &LaneStack) -> Vec<(u32, u32)> {
        let entries = stack.entries.iter();
        entries
            .map(|entry| (entry.possible, entry.certain))
            .collect()
    }

    #[test]
    fn region_with_one_departure_keeps_lanes_certain() {
        let mut stack = LaneStack::new(0, 0b111);
        stack.push(Tag::Sync, 9, 1);
        assert!(stack.leave(&[Departure::Pop(Tag::Sync)], false));
        assert_eq!(lanes(&stack), [(0b111, 0b111)]);
        assert_eq!(stack.top().map(|top| top.next), Some(9));
    }

    #[test]
    fn lanes_that_may_leave_a_loop_or_its_iteration_are_certain_only_after_the_loop() {
        let mut stack = LaneStack::new(0, 0b111);
        stack.push(Tag::Brk, 9, 1);
        stack.push(Tag::Sync, 5, 2);
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
        let mut stack = LaneStack::new(0, 0b111);
        stack.push(Tag::Sync, 9, 1);
        stack.split(&[(3, 0b100), (2, 0b011)]);
        assert!(stack.leave(&[Departure::Exit, Departure::Pop(Tag::Sync)], false));
        assert_eq!(lanes(&stack), [(0b111, 0b100), (0b100, 0b100)]);
        stack.pop(Tag::Sync, 0b100, 4);
        assert_eq!(lanes(&stack), [(0b111, 0b100)]);
        assert!(!stack.leave(&[Departure::Pop(Tag::Brk)], false));
    }

    #[test]
    fn departures_of_no_run_are_left_out_where_stacks_are_merged() {
        let mut stack = LaneStack::new(0, 0b111);
        stack.push(Tag::Ret, 9, 1);
        let departures = [Departure::Pop(Tag::Sync), Departure::Pop(Tag::Ret)];
        assert!(stack.leave(&departures, true));
        assert_eq!(lanes(&stack), [(0b111, 0b111)]);
    }
}
