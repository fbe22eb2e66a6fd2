//! Compilation of control effects.

use warpbound_ir::{ControlEffect, ControlTarget, Meaning, Op};
use warpbound_isa::instr::StackToken;
use warpbound_simt::ControlTransfer;

use super::compile::{Compiler, word_number};
use super::program::{BarrierSource, Flow, ValueSlot};
use super::steps::{Operand, Steps};

impl<const W: usize> Compiler<'_, W> {
    /// Compiles a control effect. Transfers that the execution model does not have fault when they are executed.
    pub(super) fn compile_flow(&mut self, op: &Op, steps: &mut Steps) -> Flow {
        match &op.control {
            ControlEffect::Call(ControlTarget::External(name)) => Flow::External(name.clone()),
            // A return goes to the address in registers: waves have no stack.
            ControlEffect::Pop(StackToken::Ret) if self.has_waves => {
                match op.reads.iter().find_map(|cell| word_number(*cell)) {
                    Some(number) => Flow::Indirect(ValueSlot::Word(number), 0),
                    None => Flow::Unsupported,
                }
            }
            ControlEffect::SetActive(mask) => match mask.mask_words() {
                Some(words) => Flow::SetActive(words.map(|word| word.register().number)),
                None => Flow::Unsupported,
            },
            ControlEffect::Indirect {
                base,
                anchor,
                relative,
            }
            | ControlEffect::LinkedIndirect {
                base,
                anchor,
                relative,
            }
            | ControlEffect::Return {
                base,
                anchor,
                relative,
            } if *relative || self.has_waves => {
                let base = match base {
                    // Without a register, the anchor is the address.
                    None => Operand::Const(0),
                    Some(cell) => match self.cell_slot(*cell, steps) {
                        Some(at) => Operand::Slot(at),
                        None => return Flow::Unsupported,
                    },
                };
                Flow::Indirect(self.slot_of(base), *anchor)
            }
            ControlEffect::Indirect {
                relative: false, ..
            }
            | ControlEffect::LinkedIndirect {
                relative: false, ..
            } => Flow::External("a function outside the file".to_owned()),
            ControlEffect::LinkedCall(ControlTarget::External(name)) => {
                Flow::External(name.clone())
            }
            ControlEffect::LinkedCall(ControlTarget::Op(to)) => {
                Flow::Transfer(ControlTransfer::Jump(to.0))
            }
            ControlEffect::Next if op.meaning == Some(Meaning::Part) => {
                Flow::Transfer(ControlTransfer::Scatter)
            }
            direct => {
                let transfer = direct.transfer(|to| Some(to.0));
                let flow = transfer.map(Flow::Transfer);
                flow.or_else(|| self.compile_barrier(op, steps))
                    .unwrap_or(Flow::Unsupported)
            }
        }
    }

    /// Compiles a control effect on convergence barriers or groups of lanes; `None` for others, and where an operand is not
    /// in a register.
    fn compile_barrier(&mut self, op: &Op, steps: &mut Steps) -> Option<Flow> {
        Some(match &op.control {
            ControlEffect::OpenBarrier(register, _) => {
                Flow::Transfer(ControlTransfer::OpenBarrier(*register))
            }
            ControlEffect::JoinBarrier(register) => {
                Flow::Transfer(ControlTransfer::JoinBarrier(*register))
            }
            ControlEffect::BreakBarrier(register) => {
                Flow::Transfer(ControlTransfer::BreakBarrier(*register))
            }
            ControlEffect::SaveBarrier(register, dest) => match dest {
                None => Flow::SaveBarrier(*register, None),
                Some(cell) => match self.register_slot(*cell)? {
                    ValueSlot::Warp(row) => Flow::SaveBarrier(*register, Some(row)),
                    _ => return None,
                },
            },
            ControlEffect::WriteBarrier {
                barrier,
                source,
                cleared,
            } => {
                let from = match (source, cleared) {
                    (None, None) => BarrierSource::Nothing,
                    (None, Some(other)) => BarrierSource::Register(*other),
                    (Some(cell), _) => BarrierSource::Slot(self.cell_slot(*cell, steps)?),
                };
                Flow::WriteBarrier {
                    register: *barrier,
                    from,
                    cleared: *cleared,
                }
            }
            ControlEffect::Release => match &op.meaning {
                Some(Meaning::Meet(None)) => Flow::Meet(None),
                Some(Meaning::Meet(Some(lanes))) => {
                    Flow::Meet(Some(self.compile_slot(lanes, steps)?))
                }
                _ => Flow::Transfer(ControlTransfer::Yield),
            },
            ControlEffect::FreeJump(ControlTarget::Op(to)) => match &op.meaning {
                Some(Meaning::AnyLane(holds)) => {
                    Flow::JumpIfAny(self.compile_slot(holds, steps)?, to.0)
                }
                _ => return None,
            },
            ControlEffect::Collective(ControlTarget::Op(after)) => {
                let lanes = match &op.meaning {
                    Some(Meaning::Meet(None)) => None,
                    Some(Meaning::Meet(Some(lanes))) => Some(self.compile_slot(lanes, steps)?),
                    _ => return None,
                };
                Flow::Gather {
                    lanes,
                    after: after.0,
                }
            }
            _ => return None,
        })
    }
}
