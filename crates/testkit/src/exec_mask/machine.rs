//! Concrete execution model with an EXEC mask, and plain execution of a wavefront.

use warpbound_simt::warp::DivergenceOrder;
use warpbound_simt::{ControlTransfer, ExecutionModel, Mask, TransferError, lanes_of};

use super::{
    BranchCondition, LaneOperand, MaskFault, MaskInstr, MaskOp, MaskProgram, MaskReg, SCALARS,
    VECTORS,
};

/// Lanes of a wavefront.
pub const LANES: usize = Mask::BITS as usize;

/// Program counter and EXEC mask of a wavefront. It walks on when no lane is active, so only the end of the program
/// finishes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WavefrontModel<P> {
    next: Option<P>,
    exec: Mask,
}

impl<P: Copy> ExecutionModel<P> for WavefrontModel<P> {
    fn new(start: P, exec: Mask, _order: DivergenceOrder) -> Self {
        WavefrontModel {
            next: Some(start),
            exec,
        }
    }

    fn running(&self) -> Option<(P, Mask)> {
        self.next.map(|next| (next, self.exec))
    }

    fn apply(
        &mut self,
        transfer: &ControlTransfer<'_, P>,
        taken: Mask,
        next: P,
    ) -> Result<bool, TransferError> {
        // All lanes have one program counter, so no part of them can go elsewhere.
        let all = taken == self.exec;
        self.next = match *transfer {
            ControlTransfer::Next => Some(next),
            ControlTransfer::Jump(target) if all => Some(target),
            ControlTransfer::Exit if all => None,
            ControlTransfer::SetActive(exec) => {
                self.exec = exec;
                Some(next)
            }
            _ => return Err(TransferError::NotInModel),
        };
        Ok(false)
    }
}

/// Vector registers: for each, the words of the lanes.
pub type VectorFile = [[u32; LANES]; VECTORS];

/// A wavefront.
#[derive(Clone)]
pub struct Wavefront<'a> {
    program: &'a MaskProgram,
    fault: Option<MaskFault>,
    model: WavefrontModel<u32>,
    /// Lanes at the start.
    live: Mask,
    /// Vector registers.
    pub vectors: VectorFile,
    /// Scalar registers.
    pub scalars: [u64; SCALARS],
    scc: bool,
}

impl<'a> Wavefront<'a> {
    /// A wavefront at the start of a program. Scalar registers begin with arbitrary words.
    pub fn new(
        program: &'a MaskProgram,
        live: Mask,
        vectors: &VectorFile,
        fault: Option<MaskFault>,
    ) -> Self {
        Wavefront {
            program,
            fault,
            model: WavefrontModel::new(0, live, DivergenceOrder::Any),
            live,
            vectors: *vectors,
            scalars: std::array::from_fn(|number| {
                0x9e37_79b9_7f4a_7c15 ^ (number as u64 * 0x1234_5678_9abc)
            }),
            scc: false,
        }
    }

    /// The next instruction and the active lanes; `None` after the end.
    pub fn running(&self) -> Option<(u32, Mask)> {
        self.model.running()
    }

    /// The mask in a register.
    pub fn mask(&self, reg: MaskReg) -> Mask {
        match reg {
            MaskReg::Exec => self.model.exec,
            MaskReg::Scalar(number) => self.scalars[usize::from(number)],
        }
    }

    /// Executes the next instruction; returns false if there is none or the model does not have its transfer.
    pub fn step(&mut self) -> bool {
        let Some((at, active)) = self.running() else {
            return false;
        };
        let Some(&instr) = self.program.instrs.get(at as usize) else {
            return false;
        };
        let transfer = match instr {
            MaskInstr::Mask {
                dest: MaskReg::Exec,
                op,
                a,
                b,
            } => ControlTransfer::SetActive(self.combine(op, a, b)),
            MaskInstr::SaveAnd { saved, mask } => {
                let kept = active & self.scalars[usize::from(mask)];
                self.scalars[usize::from(saved)] = active;
                ControlTransfer::SetActive(kept)
            }
            MaskInstr::Branch { condition, target } if self.holds(condition) => {
                ControlTransfer::Jump(target)
            }
            MaskInstr::End => ControlTransfer::Exit,
            _ => {
                self.apply_data_effect(instr, active);
                ControlTransfer::Next
            }
        };
        self.model.apply(&transfer, active, at + 1).is_ok()
    }

    fn combine(&self, op: MaskOp, a: MaskReg, b: MaskReg) -> Mask {
        let (a, b) = (self.mask(a), self.mask(b));
        match op {
            MaskOp::And => a & b,
            MaskOp::Or => a | b,
            MaskOp::AndNot => a & !b,
        }
    }

    fn holds(&self, condition: BranchCondition) -> bool {
        let exec = self.model.exec;
        let is_empty = match self.fault {
            Some(MaskFault::SkipsOnPartialMask) => exec != self.live,
            _ => exec == 0,
        };
        match condition {
            BranchCondition::Always => true,
            BranchCondition::ExecZero => is_empty,
            BranchCondition::ExecNotZero => exec != 0,
            BranchCondition::Scc => self.scc,
            BranchCondition::NotScc => !self.scc,
        }
    }

    fn word(&self, operand: LaneOperand, lane: usize) -> u32 {
        match operand {
            LaneOperand::Vector(number) => self.vectors[usize::from(number)][lane],
            LaneOperand::Scalar(number) => self.scalars[usize::from(number)] as u32,
            LaneOperand::Const(value) => value,
        }
    }

    fn apply_data_effect(&mut self, instr: MaskInstr, active: Mask) {
        match instr {
            MaskInstr::Lane { dest, op, a, b } => {
                for lane in lanes_of(active) {
                    let value = op.apply(self.word(a, lane), self.word(b, lane));
                    self.vectors[usize::from(dest)][lane] = value;
                }
            }
            MaskInstr::Compare {
                dest,
                comparison,
                a,
                b,
            } => {
                self.scalars[usize::from(dest)] = lanes_of(active)
                    .filter(|&lane| comparison.holds(self.word(a, lane), self.word(b, lane)))
                    .fold(0, |mask: Mask, lane| mask | 1 << lane);
            }
            MaskInstr::Mask {
                dest: MaskReg::Scalar(dest),
                op,
                a,
                b,
            } => self.scalars[usize::from(dest)] = self.combine(op, a, b),
            MaskInstr::SetScalar { dest, value } => {
                self.scalars[usize::from(dest)] = value.into();
            }
            MaskInstr::ReadFirst { dest, from } => {
                let lane = lanes_of(active).next().unwrap_or(0);
                self.scalars[usize::from(dest)] = self.vectors[usize::from(from)][lane].into();
            }
            MaskInstr::AddScalar { dest, value } => {
                let dest = &mut self.scalars[usize::from(dest)];
                *dest = u64::from((*dest as u32).wrapping_add(value));
            }
            MaskInstr::TestScalar { a, value } => {
                self.scc = (self.scalars[usize::from(a)] as u32) < value;
            }
            _ => {}
        }
    }
}
