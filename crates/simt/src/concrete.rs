//! The concrete activation stack of one warp.
//!
//! Rules: the SIMT section of the project's architecture, after Jeanmougin et al. (WCET 2023,
//! section 2). Generic over the program point `P`, so that a simulator uses instruction indices
//! and a check of the analyses uses points with calling contexts.

use crate::Tag;

/// Lanes of a warp, bit `i` for lane `i`; warps have 1 to 64 lanes.
pub type Mask = u64;

/// One stage of the activation stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StackEntry<P> {
    /// Where its lanes go on when it is on top.
    pub next: P,
    /// What it waits for; the top is always [`Tag::Nil`].
    pub tag: Tag,
    /// Its lanes, never empty.
    pub mask: Mask,
    /// The point whose instruction pushed it.
    pub pushed_by: P,
}

/// Lanes executed SYNC, BRK, CONT or RET and no entry of that tag is on the stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoMatchingEntry {
    /// The tag looked for.
    pub tag: Tag,
}

/// The activation stack. Empty when all lanes have left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ActivationStack<P> {
    /// Bottom first; the last is the running one.
    stages: Vec<StackEntry<P>>,
}

impl<P: Copy + PartialEq> ActivationStack<P> {
    /// A warp about to execute `start` with the lanes `mask`; an empty mask is a finished warp.
    pub fn new(start: P, mask: Mask) -> Self {
        let stage = StackEntry {
            next: start,
            tag: Tag::Nil,
            mask,
            pushed_by: start,
        };
        ActivationStack {
            stages: if mask == 0 { vec![] } else { vec![stage] },
        }
    }

    /// A stack of these stages, bottom first; empty ones disappear and the top becomes NIL.
    pub fn from_stages(stages: Vec<StackEntry<P>>) -> Self {
        let mut stack = ActivationStack { stages };
        stack.remove(0, 0);
        stack
    }

    /// The running stage: next instruction and active lanes.
    pub fn top(&self) -> Option<&StackEntry<P>> {
        self.stages.last()
    }

    /// The tag of the topmost entry that has one: the kind of entry that was pushed last and not taken out yet. Lanes that
    /// parted since may wait above it.
    pub fn topmost_tag(&self) -> Option<Tag> {
        let mut tags = self.pending().iter().rev().map(|stage| stage.tag);
        tags.find(|&tag| tag != Tag::Nil)
    }

    /// Stages below the running one, bottom first.
    pub fn pending(&self) -> &[StackEntry<P>] {
        self.stages.split_last().map_or(&[], |(_, rest)| rest)
    }

    /// The active lanes go on at `next` (fall-through, uniform branch).
    pub fn advance(&mut self, next: P) {
        if let Some(top) = self.stages.last_mut() {
            top.next = next;
        }
    }

    /// SSY, PBK, PCNT, PRET (`next` is the following instruction) and CAL (`next` is the callee):
    /// the running stage becomes the tagged one that resumes at `resume`, and a copy runs on.
    pub fn push(&mut self, tag: Tag, resume: P, next: P) {
        if let Some(top) = self.stages.last_mut() {
            let here = top.next;
            let mask = top.mask;
            top.tag = tag;
            top.next = resume;
            top.pushed_by = here;
            self.stages.push(StackEntry {
                next,
                tag: Tag::Nil,
                mask,
                pushed_by: here,
            });
        }
    }

    /// A branch that sends the active lanes to several points. `ways` in the order in which they
    /// will run; ways without lanes are skipped; the masks must partition the active lanes.
    pub fn diverge(&mut self, ways: &[(P, Mask)]) {
        if let Some(top) = self.stages.pop() {
            for &(next, mask) in ways.iter().rev() {
                if mask != 0 {
                    self.stages.push(StackEntry {
                        next,
                        tag: Tag::Nil,
                        mask,
                        pushed_by: top.next,
                    });
                }
            }
        }
    }

    /// SYNC, BRK, CONT, RET by the `leaving` lanes (a subset of the active ones); the others go on
    /// at `next`. The lanes leave every stage from the top down to, not including, the first stage
    /// of the tag, which keeps them.
    pub fn unwind(&mut self, tag: Tag, leaving: Mask, next: P) -> Result<(), NoMatchingEntry> {
        if leaving == 0 {
            self.advance(next);
            return Ok(());
        }
        let found = self.stages.iter().rposition(|s| s.tag == tag);
        let Some(keeper) = found else {
            return Err(NoMatchingEntry { tag });
        };
        self.advance(next);
        self.remove(keeper + 1, leaving);
        Ok(())
    }

    /// EXIT by the `leaving` lanes; the others go on at `next`.
    pub fn exit(&mut self, leaving: Mask, next: P) {
        self.advance(next);
        self.remove(0, leaving);
    }

    /// Takes `lanes` out of all stages from index `from` up; empty ones disappear; what becomes
    /// top becomes NIL.
    fn remove(&mut self, from: usize, lanes: Mask) {
        let mut index = 0;
        self.stages.retain_mut(|stage| {
            if index >= from {
                stage.mask &= !lanes;
            }
            index += 1;
            stage.mask != 0
        });
        if let Some(top) = self.stages.last_mut() {
            top.tag = Tag::Nil;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `pastis-2022` Figures 5 to 7: SSY 0x70 at 0x08, BRA 0x48 at 0x10 taken by two lanes.
    #[test]
    fn if_else_of_pastis_figures_5_to_7() {
        let mut s = ActivationStack::new(0x08, 0xffff_ffff);
        s.push(Tag::Sync, 0x70, 0x10);
        assert_eq!(s.pending()[0].next, 0x70);
        s.diverge(&[(0x48, 0xc000_0000), (0x18, 0x3fff_ffff)]);
        assert_eq!(s.top().map(|t| (t.next, t.mask)), Some((0x48, 0xc000_0000)));
        s.unwind(Tag::Sync, 0xc000_0000, 0).unwrap();
        assert_eq!(s.top().map(|t| (t.next, t.mask)), Some((0x18, 0x3fff_ffff)));
        s.unwind(Tag::Sync, 0x3fff_ffff, 0).unwrap();
        assert_eq!(
            s.top().map(|t| (t.next, t.mask, t.tag)),
            Some((0x70, 0xffff_ffff, Tag::Nil))
        );
        assert!(s.pending().is_empty());
    }

    /// BRK leaves an SSY entry that was pushed inside the PBK region.
    #[test]
    fn brk_unwinds_through_ssy() {
        let mut s = ActivationStack::new(0, 0b11);
        s.push(Tag::Brk, 100, 1);
        s.push(Tag::Sync, 50, 2);
        s.diverge(&[(10, 0b01), (3, 0b10)]);
        s.unwind(Tag::Brk, 0b01, 0).unwrap();
        assert_eq!(s.top().map(|t| (t.next, t.mask)), Some((3, 0b10)));
        assert_eq!(
            s.pending()[1].mask,
            0b10,
            "the SYNC stage lost the lane that broke"
        );
        s.unwind(Tag::Sync, 0b10, 0).unwrap();
        assert_eq!(s.top().map(|t| (t.next, t.mask)), Some((50, 0b10)));
        s.unwind(Tag::Brk, 0b10, 0).unwrap();
        assert_eq!(s.top().map(|t| (t.next, t.mask)), Some((100, 0b11)));
    }

    #[test]
    fn predicated_sync_lets_the_others_go_on() {
        let mut s = ActivationStack::new(0, 0b111);
        s.push(Tag::Sync, 9, 1);
        s.unwind(Tag::Sync, 0b010, 2).unwrap();
        assert_eq!(s.top().map(|t| (t.next, t.mask)), Some((2, 0b101)));
        s.exit(0b101, 3);
        assert_eq!(s.top().map(|t| (t.next, t.mask)), Some((9, 0b010)));
        s.exit(0b010, 10);
        assert!(s.top().is_none());
    }

    #[test]
    fn sync_without_ssy_is_named() {
        let mut s = ActivationStack::new(0, 1);
        assert_eq!(
            s.unwind(Tag::Sync, 1, 0),
            Err(NoMatchingEntry { tag: Tag::Sync })
        );
    }
}
