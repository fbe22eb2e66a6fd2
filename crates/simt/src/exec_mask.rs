//! Program counter and active mask of a wave: the execution model of AMD's GPUs up to GCN5 (GCN3 ISA manual, 3.3 and
//! 4.1).
//!
//! All lanes of a wave have one program counter, and there is no stack: programs switch lanes off and on by
//! operations that write the mask EXEC. A wave continues while no lane is active; only its end finishes it.
//!
//! A wave may split (`wavefront-splitting-2022`, 4.3). Then both parts go on with their own program counters, and
//! each part has the lanes of its split mask. A lane can be active only in its own part.

use crate::warp::DivergenceOrder;
use crate::{ControlTransfer, ExecutionModel, Mask, TransferError};

/// Next instruction and active lanes of a wave, or of a split.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExecMask<P> {
    next: P,
    active: Mask,
    /// Split mask: all ones unless the wave has split. After each write of the active mask, all active lanes are in
    /// it.
    own: Mask,
    has_ended: bool,
}

/// Jumps are decided once for the wave, even if only some of its lanes are active: `taken` is all ones, or 0 if the
/// wave does not jump. The other transfers do not depend on it.
impl<P: Copy> ExecutionModel<P> for ExecMask<P> {
    fn new(start: P, active: Mask, _order: DivergenceOrder) -> Self {
        ExecMask {
            next: start,
            active,
            own: Mask::MAX,
            has_ended: false,
        }
    }

    #[inline]
    fn running(&self) -> Option<(P, Mask)> {
        (!self.has_ended).then_some((self.next, self.active))
    }

    #[inline]
    fn apply(
        &mut self,
        transfer: &ControlTransfer<'_, P>,
        taken: Mask,
        next: P,
    ) -> Result<bool, TransferError> {
        match *transfer {
            ControlTransfer::Next => self.next = next,
            ControlTransfer::SetActive(active) => {
                // A program writes EXEC for all lanes of the wave, so the write must not activate lanes of another
                // part.
                self.active = active & self.own;
                self.next = next;
            }
            _ if taken == 0 => self.next = next,
            // A part of the lanes cannot go elsewhere.
            _ if taken != Mask::MAX => return Err(TransferError::NotInModel),
            // A call writes the address at which it returns to registers: it is a jump.
            ControlTransfer::Jump(target)
            | ControlTransfer::Call(target)
            | ControlTransfer::Indirect(&[(target, Mask::MAX)]) => self.next = target,
            ControlTransfer::Exit => self.has_ended = true,
            _ => return Err(TransferError::NotInModel),
        }
        Ok(false)
    }
}

impl<P: Copy> ExecMask<P> {
    /// Lanes of this split; all lanes if the wave has not split.
    pub fn own(&self) -> Mask {
        self.own
    }

    /// Splits the wave: this part keeps the active lanes, and the returned part has the other lanes, all inactive.
    /// Both parts are about to execute the same instruction. For example, let the lanes 0 to 7 of a wave with 64
    /// lanes be active. Then this part keeps the lanes 0 to 7, and the returned part has the lanes 8 to 63.
    #[must_use]
    pub fn split(&mut self) -> Self {
        let rest = ExecMask {
            own: self.own & !self.active,
            active: 0,
            ..*self
        };
        self.own &= self.active;
        rest
    }

    /// Merges with a split that is about to execute the same instruction: the lanes of the split become lanes of this
    /// part, and the split ends without lanes.
    pub fn merge(&mut self, other: &mut Self) {
        self.own |= std::mem::take(&mut other.own);
        self.active |= std::mem::take(&mut other.active);
        other.has_ended = true;
    }

    /// Active lanes; once the wave has ended, the lanes that were active at its last instruction.
    pub fn active(&self) -> Mask {
        self.active
    }

    /// Ends the wave.
    pub fn end(&mut self) {
        self.has_ended = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(active: Mask) -> ExecMask<u32> {
        ExecMask::new(3, active, DivergenceOrder::Any)
    }

    #[test]
    fn walks_on_without_lanes() {
        let mut wave = wave(5);
        assert_eq!(wave.apply(&ControlTransfer::SetActive(0), 5, 4), Ok(false));
        assert_eq!(wave.running(), Some((4, 0)));
        assert_eq!(wave.apply(&ControlTransfer::Next, 0, 5), Ok(false));
        // A jump is taken, or not, also with an empty mask.
        assert_eq!(wave.apply(&ControlTransfer::Jump(9), 0, 6), Ok(false));
        assert_eq!(wave.running(), Some((6, 0)));
        assert_eq!(
            wave.apply(&ControlTransfer::Jump(9), Mask::MAX, 7),
            Ok(false)
        );
        assert_eq!(wave.running(), Some((9, 0)));
        assert_eq!(wave.apply(&ControlTransfer::SetActive(8), 0, 10), Ok(false));
        assert_eq!(wave.running(), Some((10, 8)));
        assert_eq!(wave.apply(&ControlTransfer::Exit, Mask::MAX, 11), Ok(false));
        assert_eq!(wave.running(), None);
    }

    /// Three parts: the second part splits again (nested sites). Each lane is in one part at any time.
    #[test]
    fn parts_share_no_lane() {
        let mut wave = wave(0b0111);
        let mut child = wave.split();
        assert_eq!((wave.own(), wave.active()), (0b0111, 0b0111));
        assert_eq!((child.own(), child.active()), (!0b0111, 0));
        // The other side of the branch: all lanes except the lanes of the first side.
        child
            .apply(&ControlTransfer::SetActive(0b1_1000), 0, 4)
            .expect("in the model");
        wave.apply(&ControlTransfer::SetActive(0b1_1000), 0, 4)
            .expect("in the model");
        assert_eq!((wave.active(), child.active()), (0, 0b1_1000));
        child
            .apply(&ControlTransfer::SetActive(0b1000), 0, 5)
            .expect("in the model");
        let grandchild = child.split();
        assert_eq!((child.own(), grandchild.own()), (0b1000, !0b1111));
        assert_eq!(wave.own() | child.own() | grandchild.own(), Mask::MAX);
        // A restored mask has lanes of all parts; each takes its own.
        let restored = ControlTransfer::SetActive(0b1_1111);
        let mut parts = [wave, child, grandchild];
        for part in &mut parts {
            part.apply(&restored, 0, 6).expect("in the model");
        }
        assert_eq!(parts.map(|part| part.active()), [0b0111, 0b1000, 0b1_0000]);
        let [mut first, mut second, mut third] = parts;
        first.merge(&mut second);
        first.merge(&mut third);
        assert_eq!((second.running(), third.own()), (None, 0));
        assert_eq!((first.own(), first.active()), (Mask::MAX, 0b1_1111));
        assert_eq!(first.running(), Some((6, 0b1_1111)));
    }

    #[test]
    fn lanes_stay_together() {
        let mut wave = wave(5);
        let split = [(7, 1), (8, 4)];
        for transfer in [
            ControlTransfer::Jump(9),
            ControlTransfer::Exit,
            ControlTransfer::Indirect(&split),
        ] {
            assert_eq!(
                wave.apply(&transfer, 4, 4),
                Err(TransferError::NotInModel),
                "{transfer:?}"
            );
        }
        let stack = ControlTransfer::Pop(crate::Tag::Sync);
        assert_eq!(
            wave.apply(&stack, Mask::MAX, 4),
            Err(TransferError::NotInModel)
        );
        assert_eq!(wave.running(), Some((3, 5)));
        let together = [(7, Mask::MAX)];
        assert_eq!(
            wave.apply(&ControlTransfer::Indirect(&together), Mask::MAX, 4),
            Ok(false)
        );
        assert_eq!(wave.running(), Some((7, 5)));
    }
}
