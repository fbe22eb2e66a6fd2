//! Modes of floating-point arithmetic at each instruction: rounding and denormals, as far as the code determines
//! them. For example, after `s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 3` singles are rounded towards zero.
//!
//! A wave begins with the modes of its kernel's descriptor, and s_setreg changes them. Assumption: a function returns
//! with the modes with which it was called (LLVM's calling convention for AMDGPU).

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use warpbound_base::CodeAddr;
use warpbound_isa::amd::{GcnFlow, GcnInstr, GcnOpcode, GcnProgram, GcnValue};
use warpbound_isa::instr::BranchTarget;
use warpbound_isa::{Reg, RegisterKind};
use warpbound_load::Kernel;

use super::jumps::{Jumps, LINK};
use crate::float::Rounding;
use crate::float::gcn::GcnMode;

/// Contents of the register MODE before an instruction: the bits that are the same in all runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ModeState {
    /// Contents; 0 in unknown bits.
    value: u32,
    /// Bits that are known.
    known: u32,
}

impl ModeState {
    /// Modes that a descriptor sets: rounding, denormals, DX10 clamp, IEEE.
    const DESCRIBED: u32 = 0x3ff;

    /// Contents with the bits of a descriptor known.
    pub(super) fn of_descriptor(mode: u32) -> ModeState {
        ModeState {
            value: mode & ModeState::DESCRIBED,
            known: ModeState::DESCRIBED,
        }
    }

    fn field(self, first: u32, size: u32) -> Option<u32> {
        let mask = ((1 << size) - 1) << first;
        (self.known & mask == mask).then_some((self.value & mask) >> first)
    }

    fn arithmetic(self, rounding: u32, denormals: u32) -> Option<GcnMode> {
        let denormals = self.field(denormals, 2)?;
        Some(GcnMode {
            rounding: match self.field(rounding, 2)? {
                0 => Rounding::Nearest,
                1 => Rounding::Up,
                2 => Rounding::Down,
                _ => Rounding::Zero,
            },
            flush_operands: denormals & 1 == 0,
            flush_results: denormals & 2 == 0,
        })
    }

    /// Modes of single precision.
    pub(super) fn single(self) -> Option<GcnMode> {
        self.arithmetic(0, 4)
    }

    /// Modes of half and double precision.
    pub(super) fn double(self) -> Option<GcnMode> {
        self.arithmetic(2, 6)
    }

    /// Whether a NaN is clamped to 0.
    pub(super) fn clamps_nan(self) -> Option<bool> {
        Some(self.field(8, 1)? == 1)
    }

    /// Whether signalling NaNs become quiet.
    pub(super) fn is_ieee(self) -> Option<bool> {
        Some(self.field(9, 1)? == 1)
    }

    /// Contents after a write of a field; `None` stands for an unknown value.
    fn after_write(self, field: HardwareField, value: Option<u32>) -> ModeState {
        let mask = field.mask();
        let written = value.map_or(0, |value| value << field.offset & mask);
        ModeState {
            value: self.value & !mask | written,
            // A bit that gets an unknown value is unknown, whatever was known before.
            known: match value {
                Some(_) => self.known | mask,
                None => self.known & !mask,
            },
        }
    }

    fn join(self, other: ModeState) -> ModeState {
        // A bit is known after a join only if both paths agree on it.
        let known = self.known & other.known & !(self.value ^ other.value);
        ModeState {
            value: self.value & known,
            known,
        }
    }
}

/// Bits of a hardware register, as s_setreg encodes them.
#[derive(Clone, Copy, Debug)]
struct HardwareField {
    register: u32,
    offset: u32,
    size: u32,
}

impl HardwareField {
    const MODE: u32 = 1;

    fn of(simm16: u32) -> HardwareField {
        HardwareField {
            register: simm16 & 0x3f,
            offset: simm16 >> 6 & 0x1f,
            size: (simm16 >> 11 & 0x1f) + 1,
        }
    }

    fn mask(self) -> u32 {
        (u32::MAX >> (32 - self.size)) << self.offset
    }
}

/// Modes and constants in scalar registers before an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
struct State {
    mode: ModeState,
    constants: BTreeMap<u8, u32>,
}

impl State {
    fn of(mode: ModeState) -> State {
        State {
            mode,
            constants: BTreeMap::new(),
        }
    }

    /// Joins another state; returns whether the state changed.
    fn join(&mut self, other: &State) -> bool {
        let mode = self.mode.join(other.mode);
        let count = self.constants.len();
        let theirs = &other.constants;
        self.constants
            .retain(|register, value| theirs.get(register) == Some(value));
        let changed = mode != self.mode || count != self.constants.len();
        self.mode = mode;
        changed
    }

    /// Applies an instruction, apart from its control flow.
    fn apply(&mut self, instr: &GcnInstr, writes: &[Reg]) {
        let view = instr.view();
        let value = |index: usize| view.as_ref()?.operands.get(index).map(|o| o.value);
        let constant = |index: usize| match value(index)? {
            GcnValue::Int(value) => Some(value as u32),
            GcnValue::Literal(value) | GcnValue::Immediate(value) => Some(value),
            GcnValue::Scalar(register) => self.constants.get(&register).copied(),
            _ => None,
        };
        let opcode = instr.opcode();
        if writes.contains(&Reg::MODE) {
            self.mode = match (opcode, value(0)) {
                (
                    Some(GcnOpcode::SSetregB32 | GcnOpcode::SSetregImm32B32),
                    Some(GcnValue::Immediate(simm16)),
                ) => match HardwareField::of(simm16) {
                    field if field.register == HardwareField::MODE => {
                        self.mode.after_write(field, constant(1))
                    }
                    // Another hardware register is written.
                    _ => self.mode,
                },
                // Another instruction that writes MODE may have changed any bit.
                _ => ModeState::default(),
            };
        }
        let moved = match (opcode, value(0)) {
            (Some(GcnOpcode::SMovB32), Some(GcnValue::Scalar(to))) => Some((to, constant(1))),
            (Some(GcnOpcode::SMovkI32), Some(GcnValue::Scalar(to))) => {
                Some((to, constant(1).map(|value| value as i16 as u32)))
            }
            _ => None,
        };
        for register in writes {
            if register.kind == RegisterKind::Scalar {
                self.constants.remove(&register.number);
            }
        }
        if let Some((to, Some(value))) = moved {
            self.constants.insert(to, value);
        }
    }
}

/// Modes before each instruction.
pub(super) fn modes(kernel: &Kernel, program: &GcnProgram, jumps: &Jumps) -> Vec<ModeState> {
    let Some(object) = &kernel.code_object else {
        return Vec::new();
    };
    let initial = ModeState::of_descriptor(object.descriptor.mode());
    let writes_mode = |instr: &GcnInstr| instr.effects().writes.contains(&Reg::MODE);
    // Most kernels never write MODE, and need no data-flow analysis.
    if !program.instrs.iter().any(writes_mode) {
        return vec![initial; program.instrs.len()];
    }
    let starts = kernel.functions.iter().map(|function| function.start);
    let starts = starts.chain([kernel.entry]);
    let index = |addr: CodeAddr| program.index_of(addr);
    let known = |at: usize| jumps.target(at).and_then(index);
    find(program, initial, starts.filter_map(index).collect(), &known)
}

/// Follows the modes from the starts of functions, through direct branches and jumps with a known target.
fn find(
    program: &GcnProgram,
    initial: ModeState,
    starts: BTreeSet<usize>,
    target: &impl Fn(usize) -> Option<usize>,
) -> Vec<ModeState> {
    let count = program.instrs.len();
    let mut states: Vec<Option<State>> = vec![None; count];
    for &at in &starts {
        if let Some(state) = states.get_mut(at) {
            *state = Some(State::of(initial));
        }
    }
    let to = |target: BranchTarget| match target {
        BranchTarget::Code(addr) => program.index_of(addr),
        _ => None,
    };
    let mut open = starts.clone();
    while let Some(at) = open.pop_first() {
        let (Some(instr), Some(Some(before))) = (program.instrs.get(at), states.get(at)) else {
            continue;
        };
        let mut state = before.clone();
        let effects = instr.effects();
        state.apply(instr, &effects.writes);
        let mut successors = Vec::new();
        match effects.flow {
            GcnFlow::Next => successors.push(at + 1),
            GcnFlow::Jump(target) => successors.extend(to(target)),
            GcnFlow::Branch(_, target) => {
                successors.push(at + 1);
                successors.extend(to(target));
            }
            GcnFlow::Call { .. } => {
                // The callee may write any register; only the modes are preserved.
                state.constants.clear();
                successors.push(at + 1);
                match target(at) {
                    Some(callee) => successors.push(callee),
                    // An unknown callee may be any function.
                    None => successors.extend(&starts),
                }
            }
            GcnFlow::Indirect { from } => match target(at) {
                Some(target) => successors.push(target),
                // A return.
                None if from == LINK => {}
                // A jump with an unknown target may reach any instruction with these modes.
                None => return vec![ModeState::default(); count],
            },
            // Nothing follows, or analyses refuse the code.
            GcnFlow::Exit | GcnFlow::Unsupported => {}
        }
        for next in successors {
            let changed = match states.get_mut(next) {
                Some(Some(known)) => known.join(&state),
                Some(slot) => {
                    *slot = Some(state.clone());
                    true
                }
                None => false,
            };
            if changed {
                open.insert(next);
            }
        }
    }
    let modes = states.into_iter();
    let modes = modes.map(|state| state.map_or_else(ModeState::default, |state| state.mode));
    modes.collect()
}
