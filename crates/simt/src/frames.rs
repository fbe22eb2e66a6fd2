//! The concrete synchronisation frames of one warp (`abstract-cta-2014`, section 4; the rules that the paper
//! leaves open are in `isa/mini-simt/README.md`).

use crate::concrete::Mask;
use crate::warp::DivergenceOrder;

/// A divergence whose lanes have not all met yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame<P> {
    /// The branch that sent the lanes apart.
    pub branch: P,
    /// Where they meet; `None` is the end of the kernel.
    pub meets: Option<P>,
    /// Lanes that are there.
    pub done: Mask,
    /// Where the lanes to do will go on.
    pub next: P,
    /// Lanes that wait for their turn.
    pub to_do: Mask,
}

/// What a warp executes next, and its frames.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FrameStack<P> {
    next: P,
    active: Mask,
    frames: Vec<Frame<P>>,
}

impl<P: Copy + PartialEq> FrameStack<P> {
    /// A warp about to execute `start` with the lanes `active`.
    pub fn new(start: P, active: Mask) -> Self {
        FrameStack {
            next: start,
            active,
            frames: Vec::new(),
        }
    }

    /// The next instruction.
    pub fn next(&self) -> P {
        self.next
    }

    /// The active lanes; none when the warp has finished.
    pub fn active(&self) -> Mask {
        self.active
    }

    /// The frames, bottom first.
    pub fn frames(&self) -> &[Frame<P>] {
        &self.frames
    }

    /// The topmost frame meets at `at`: lanes that come there wait for the others of the frame.
    pub fn meets_at(&self, at: P) -> bool {
        let topmost = self.frames.last();
        topmost.is_some_and(|frame| frame.meets == Some(at))
    }

    /// The active lanes go on at `next`.
    pub fn advance(&mut self, next: P) {
        self.next = next;
    }

    /// A branch: the lanes `taken` (some of the active ones) go to `target`, the others to `next`. Where both are
    /// the same, nobody parts.
    pub fn branch(
        &mut self,
        taken: Mask,
        target: P,
        next: P,
        meets: Option<P>,
        order: DivergenceOrder,
    ) {
        let others = self.active & !taken;
        if taken == 0 {
            self.next = next;
        } else if others == 0 || target == next {
            self.next = target;
        } else {
            let fall_through_first = order == DivergenceOrder::FallThroughFirst;
            let (first, waits) = if fall_through_first {
                ((next, others), (target, taken))
            } else {
                ((target, taken), (next, others))
            };
            self.frames.push(Frame {
                branch: self.next,
                meets,
                done: 0,
                next: waits.0,
                to_do: waits.1,
            });
            (self.next, self.active) = first;
        }
    }

    /// The meeting point `at`; `next` comes after it.
    pub fn meet(&mut self, at: P, next: P) {
        while let Some(frame) = self.frames.last_mut()
            && frame.meets == Some(at)
        {
            if frame.to_do != 0 {
                frame.done |= self.active;
                (self.next, self.active) = (frame.next, frame.to_do);
                frame.to_do = 0;
                return;
            }
            self.active |= frame.done;
            self.frames.pop();
        }
        self.next = next;
    }

    /// The active lanes come to the end of the kernel. Others, if there are any, go on.
    pub fn end(&mut self) {
        self.active = 0;
        while let Some(frame) = self.frames.last_mut() {
            if frame.to_do != 0 {
                (self.next, self.active) = (frame.next, frame.to_do);
                frame.to_do = 0;
                return;
            }
            let Frame { meets, done, .. } = *frame;
            self.frames.pop();
            // All ways lead to the end through the meeting point, so nobody is left there; who were, would go on.
            if let (Some(at), true) = (meets, done != 0) {
                (self.next, self.active) = (at, done);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAKEN: DivergenceOrder = DivergenceOrder::TakenFirst;

    /// The loop branch of TriangleSum at 8, which meets at 23: lanes leave one after the other.
    #[test]
    fn lanes_that_leave_a_loop_wait_for_the_last() {
        let mut warp = FrameStack::new(8, 0b111);
        warp.branch(0b001, 23, 9, Some(23), TAKEN);
        assert_eq!((warp.next(), warp.active()), (23, 0b001));
        warp.meet(23, 24);
        assert_eq!((warp.next(), warp.active()), (9, 0b110));
        // A branch inside that sends nobody apart, and its meeting point.
        warp.meet(12, 13);
        assert_eq!((warp.next(), warp.active()), (13, 0b110));
        warp.advance(8);
        warp.branch(0b010, 23, 9, Some(23), TAKEN);
        warp.meet(23, 24);
        assert_eq!((warp.next(), warp.active()), (9, 0b100));
        warp.advance(8);
        warp.branch(0b100, 23, 9, Some(23), TAKEN);
        warp.meet(23, 24);
        assert_eq!((warp.next(), warp.active()), (24, 0b111));
        assert!(warp.frames().is_empty());
    }

    /// Listing 3 and Figure 1 of the paper: A = 11111111, B = 11000011, C = 00111100.
    #[test]
    fn nested_branches_of_figure_1() {
        let (b, c) = (0b1100_0011, 0b0011_1100);
        let mut warp = FrameStack::new('A', b | c);
        warp.branch(b, 'B', 'C', Some('D'), TAKEN);
        assert_eq!((warp.next(), warp.active()), ('B', b));
        warp.branch(0b1100_0000, '1', '2', Some('e'), TAKEN);
        warp.meet('e', 'f');
        assert_eq!((warp.next(), warp.active()), ('2', 0b11));
        warp.meet('e', 'f');
        assert_eq!((warp.next(), warp.active()), ('f', b));
        warp.meet('D', 'd');
        assert_eq!((warp.next(), warp.active()), ('C', c));
        warp.meet('D', 'd');
        assert_eq!((warp.next(), warp.active()), ('d', b | c));
    }

    #[test]
    fn lanes_that_end_early_leave_the_others() {
        let mut warp = FrameStack::new(0, 0b11);
        warp.branch(0b01, 9, 1, None, TAKEN);
        warp.end();
        assert_eq!((warp.next(), warp.active()), (1, 0b10));
        warp.end();
        assert_eq!(warp.active(), 0);
    }
}
