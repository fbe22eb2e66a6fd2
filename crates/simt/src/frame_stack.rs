//! Concrete synchronisation frames of one warp: the execution model of mini-SIMT (`abstract-cta-2014` 4; the
//! rules that the paper leaves open are in `isa/mini-simt/README.md`).
//!
//! *Divergence* is [`FrameStack::branch`], *reconvergence* is [`FrameStack::reconverge`]. Frames reconverge from
//! the top, since reconvergence points are immediate postdominators (SOUNDNESS 3.3).

use crate::activation_stack::Mask;
use crate::warp::DivergenceOrder;

/// Synchronisation frame: a divergence whose lanes have not all reconverged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame<P> {
    /// The divergent branch.
    pub branch: P,
    /// Reconvergence point of the branch; `None` is the end of the kernel.
    pub reconvergence: Option<P>,
    /// Lanes that have reached it (Θ_done of the paper).
    pub done: Mask,
    /// Point at which the lanes `to_do` continue.
    pub next: P,
    /// Lanes that have not run since the branch (Θ_todo of the paper).
    pub to_do: Mask,
}

/// Next instruction and active lanes of a warp, and its frames.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FrameStack<P> {
    next: P,
    active: Mask,
    frames: Vec<Frame<P>>,
}

impl<P: Copy + PartialEq> FrameStack<P> {
    /// The state of a warp about to execute `start` with the lanes `active`.
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

    /// Whether the topmost frame reconverges at `at`: lanes that arrive there wait for the others of the frame.
    pub fn reconverges_at(&self, at: P) -> bool {
        let topmost = self.frames.last();
        topmost.is_some_and(|frame| frame.reconvergence == Some(at))
    }

    /// Moves the active lanes to `next`.
    pub fn advance(&mut self, next: P) {
        self.next = next;
    }

    /// Executes a branch: the lanes `taken` (a subset of the active ones) jump to `target`, the others continue at
    /// `next`. If both are the same point, the lanes stay together.
    pub fn branch(
        &mut self,
        taken: Mask,
        target: P,
        next: P,
        reconvergence: Option<P>,
        order: DivergenceOrder,
    ) {
        let others = self.active & !taken;
        if taken == 0 {
            self.next = next;
        } else if others == 0 || target == next {
            self.next = target;
        } else {
            let fall_through_first = order == DivergenceOrder::FallThroughFirst;
            let (first, deferred) = if fall_through_first {
                ((next, others), (target, taken))
            } else {
                ((target, taken), (next, others))
            };
            // Each divergence has its own frame; the abstract stack shares the topmost FRAME entry of an equal
            // reconvergence point (SOUNDNESS 3.3).
            self.frames.push(Frame {
                branch: self.next,
                reconvergence,
                done: 0,
                next: deferred.0,
                to_do: deferred.1,
            });
            (self.next, self.active) = first;
        }
    }

    /// Executes the reconvergence point `at`, which is followed by `next`: pops each frame on top that reconverges here
    /// and has no lanes to do, else runs the lanes to do.
    pub fn reconverge(&mut self, at: P, next: P) {
        while let Some(frame) = self.frames.last_mut()
            && frame.reconvergence == Some(at)
        {
            if frame.to_do != 0 {
                // The other side runs before the frame reconverges.
                frame.done |= self.active;
                (self.next, self.active) = (frame.next, frame.to_do);
                frame.to_do = 0;
                return;
            }
            // All lanes of the frame have arrived. The frame below may reconverge at the same point.
            self.active |= frame.done;
            self.frames.pop();
        }
        self.next = next;
    }

    /// Ends the active lanes at the end of the kernel. Pending lanes, if there are any, become active.
    pub fn exit(&mut self) {
        self.active = 0;
        while let Some(frame) = self.frames.last_mut() {
            if frame.to_do != 0 {
                (self.next, self.active) = (frame.next, frame.to_do);
                frame.to_do = 0;
                return;
            }
            let Frame {
                reconvergence,
                done,
                ..
            } = *frame;
            self.frames.pop();
            // All paths to the end lead through the reconvergence point, so no lane is left there. Lanes of a program
            // that breaks this rule continue.
            if let (Some(at), true) = (reconvergence, done != 0) {
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

    /// The loop branch of TriangleSum at 8, which reconverges at 23: lanes leave one after the other.
    #[test]
    fn lanes_that_leave_a_loop_wait_for_the_last() {
        let mut warp = FrameStack::new(8, 0b111);
        warp.branch(0b001, 23, 9, Some(23), TAKEN);
        assert_eq!((warp.next(), warp.active()), (23, 0b001));
        warp.reconverge(23, 24);
        assert_eq!((warp.next(), warp.active()), (9, 0b110));
        // A uniform branch inside, and its reconvergence point.
        warp.reconverge(12, 13);
        assert_eq!((warp.next(), warp.active()), (13, 0b110));
        warp.advance(8);
        warp.branch(0b010, 23, 9, Some(23), TAKEN);
        warp.reconverge(23, 24);
        assert_eq!((warp.next(), warp.active()), (9, 0b100));
        warp.advance(8);
        warp.branch(0b100, 23, 9, Some(23), TAKEN);
        warp.reconverge(23, 24);
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
        warp.reconverge('e', 'f');
        assert_eq!((warp.next(), warp.active()), ('2', 0b11));
        warp.reconverge('e', 'f');
        assert_eq!((warp.next(), warp.active()), ('f', b));
        warp.reconverge('D', 'd');
        assert_eq!((warp.next(), warp.active()), ('C', c));
        warp.reconverge('D', 'd');
        assert_eq!((warp.next(), warp.active()), ('d', b | c));
    }

    #[test]
    fn lanes_that_end_early_leave_the_others() {
        let mut warp = FrameStack::new(0, 0b11);
        warp.branch(0b01, 9, 1, None, TAKEN);
        warp.exit();
        assert_eq!((warp.next(), warp.active()), (1, 0b10));
        warp.exit();
        assert_eq!(warp.active(), 0);
    }
}
