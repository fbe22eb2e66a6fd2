//! Concrete synchronisation frames of one warp: the execution model of mini-SIMT (`abstract-cta-2014` 4; the
//! rules that the paper leaves open are in `isa/mini-simt/README.md`).
//!
//! *Divergence* is `FrameStack::branch`, *reconvergence* is `FrameStack::reconverge`. Frames reconverge from
//! the top, since reconvergence points are immediate postdominators (SOUNDNESS 3.3).

use crate::warp::DivergenceOrder;
use crate::{ControlTransfer, ExecutionModel, Mask, TransferError};

/// Synchronisation frame: a divergence whose lanes have not all reconverged. For example, after a branch that lane 0
/// takes and lane 1 does not, the frame has `to_do` = lane 1. When lane 0 reaches the reconvergence point, `done` is
/// lane 0, and lane 1 runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame<P> {
    /// The divergent branch.
    pub branch: P,
    /// Reconvergence point of the branch; `None` is the end of the kernel.
    pub reconvergence: Option<P>,
    /// Lanes that have reached it (Θ_done of the paper).
    pub done: Mask,
    /// Point where the lanes `to_do` continue.
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
    /// Order of the sides of a divergent branch.
    order: DivergenceOrder,
}

impl<P: Copy + PartialEq> ExecutionModel<P> for FrameStack<P> {
    fn new(start: P, active: Mask, order: DivergenceOrder) -> Self {
        FrameStack {
            next: start,
            active,
            frames: Vec::new(),
            order,
        }
    }

    #[inline]
    fn running(&self) -> Option<(P, Mask)> {
        (self.active != 0).then_some((self.next, self.active))
    }

    #[inline]
    fn apply(
        &mut self,
        transfer: &ControlTransfer<'_, P>,
        taken: Mask,
        next: P,
    ) -> Result<bool, TransferError> {
        // Only a branch pushes a frame, so no other operation may separate the active lanes.
        let all = taken == self.active;
        match *transfer {
            ControlTransfer::Next => self.next = next,
            ControlTransfer::Branch {
                target,
                reconvergence,
            } => return Ok(self.branch(taken, target, next, reconvergence)),
            ControlTransfer::Jump(target) if all => self.next = target,
            ControlTransfer::Reconverge if all => self.reconverge(next),
            ControlTransfer::Exit if all => self.exit(),
            _ => return Err(TransferError::NotInModel),
        }
        Ok(false)
    }
}

impl<P: Copy + PartialEq> FrameStack<P> {
    /// Frames, bottom first.
    pub fn frames(&self) -> &[Frame<P>] {
        &self.frames
    }

    /// Whether the topmost frame reconverges at `at`: lanes that arrive there wait for the others of the frame.
    pub fn reconverges_at(&self, at: P) -> bool {
        let topmost = self.frames.last();
        topmost.is_some_and(|frame| frame.reconvergence == Some(at))
    }

    /// Executes a branch: the lanes `taken` (a subset of the active ones) jump to `target`, the others continue at
    /// `next`. If both are the same point, the lanes stay together. Returns whether they diverge.
    #[inline]
    fn branch(&mut self, taken: Mask, target: P, next: P, reconvergence: Option<P>) -> bool {
        let others = self.active & !taken;
        if taken == 0 {
            self.next = next;
        } else if others == 0 || target == next {
            self.next = target;
        } else {
            let fall_through_first = self.order == DivergenceOrder::FallThroughFirst;
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
            return true;
        }
        false
    }

    /// Executes the reconvergence point that the active lanes have reached, followed by `next`. If the frame on top
    /// reconverges here and has lanes to do, they run. Otherwise it is popped, and the frame below it is treated in
    /// the same way.
    #[inline]
    fn reconverge(&mut self, next: P) {
        let at = self.next;
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
    fn exit(&mut self) {
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

    /// A warp whose taken sides run first.
    fn warp_at<P: Copy + PartialEq>(start: P, lanes: Mask) -> FrameStack<P> {
        FrameStack::new(start, lanes, DivergenceOrder::TakenFirst)
    }

    /// Executes the reconvergence point `at`.
    fn reconverge<P: Copy + PartialEq>(warp: &mut FrameStack<P>, at: P, next: P) {
        warp.next = at;
        warp.reconverge(next);
    }

    /// The loop branch of TriangleSum at 8, which reconverges at 23: lanes leave one after the other.
    #[test]
    fn lanes_that_leave_a_loop_wait_for_the_last() {
        let mut warp = warp_at(8, 0b111);
        warp.branch(0b001, 23, 9, Some(23));
        assert_eq!((warp.next, warp.active), (23, 0b001));
        reconverge(&mut warp, 23, 24);
        assert_eq!((warp.next, warp.active), (9, 0b110));
        // A uniform branch inside, and its reconvergence point.
        reconverge(&mut warp, 12, 13);
        assert_eq!((warp.next, warp.active), (13, 0b110));
        warp.next = 8;
        warp.branch(0b010, 23, 9, Some(23));
        reconverge(&mut warp, 23, 24);
        assert_eq!((warp.next, warp.active), (9, 0b100));
        warp.next = 8;
        warp.branch(0b100, 23, 9, Some(23));
        reconverge(&mut warp, 23, 24);
        assert_eq!((warp.next, warp.active), (24, 0b111));
        assert!(warp.frames().is_empty());
    }

    /// Listing 3 and Figure 1 of the paper: A = 11111111, B = 11000011, C = 00111100.
    #[test]
    fn nested_branches_of_figure_1() {
        let (b, c) = (0b1100_0011, 0b0011_1100);
        let mut warp = warp_at('A', b | c);
        warp.branch(b, 'B', 'C', Some('D'));
        assert_eq!((warp.next, warp.active), ('B', b));
        warp.branch(0b1100_0000, '1', '2', Some('e'));
        reconverge(&mut warp, 'e', 'f');
        assert_eq!((warp.next, warp.active), ('2', 0b11));
        reconverge(&mut warp, 'e', 'f');
        assert_eq!((warp.next, warp.active), ('f', b));
        reconverge(&mut warp, 'D', 'd');
        assert_eq!((warp.next, warp.active), ('C', c));
        reconverge(&mut warp, 'D', 'd');
        assert_eq!((warp.next, warp.active), ('d', b | c));
    }

    #[test]
    fn lanes_that_end_early_leave_the_others() {
        let mut warp = warp_at(0, 0b11);
        warp.branch(0b01, 9, 1, None);
        warp.exit();
        assert_eq!((warp.next, warp.active), (1, 0b10));
        warp.exit();
        assert_eq!(warp.active, 0);
    }

    #[test]
    fn transfers_of_other_models_are_errors() {
        let mut warp = warp_at(0, 0b11);
        let before = warp.clone();
        for (transfer, taken) in [
            (ControlTransfer::Pop(crate::Tag::Sync), 0b11),
            (ControlTransfer::SetActive(1), 0b11),
            (ControlTransfer::Jump(5), 0b01),
        ] {
            let result = warp.apply(&transfer, taken, 1);
            assert_eq!(result, Err(TransferError::NotInModel));
        }
        assert_eq!(warp, before);
    }
}
