//! Lifting of GCN3 programs: control flow, calls, entry state. The meaning of instructions is in `scalar.rs`,
//! `vector.rs`, `memory.rs` and their submodules. For example, `s_cbranch_execz` becomes a jump of the whole wave
//! under the condition EXEC = 0; lanes never diverge in the program counter.

mod entry;
mod expressions;
mod jumps;
mod memory;
mod mode;
mod operands;
mod scalar;
#[cfg(test)]
mod tests;
mod vector;

use warpbound_base::{CodeAddr, Diagnostic, Family};
use warpbound_isa::Reg;
use warpbound_isa::amd::{
    Encoding, GcnCondition, GcnEffects, GcnFlow, GcnInstr, GcnProgram, GcnView,
};
use warpbound_isa::instr::{BranchTarget, CcTest, StackToken};
use warpbound_load::Kernel;

use crate::{
    AddressWord, Cell, Code, CodeFunction, ControlEffect, ControlTarget, ExecCondition, Expr,
    Meaning, Op, OpIndex, OpScope, ValueDependence,
};
use jumps::Jumps;
use mode::ModeState;
use operands::Operands;

/// Lifts `program`, the decoded code of `kernel`.
///
/// Without `meanings`, operations have no meaning, but their control flow is complete.
///
/// # Errors
///
/// If the kernel does not begin at an instruction.
pub(crate) fn lift(
    kernel: &Kernel,
    program: &GcnProgram,
    meanings: bool,
) -> Result<Code, Diagnostic> {
    let jumps = Jumps::find(kernel, program);
    let lifter = Lifter {
        kernel,
        program,
        jumps: &jumps,
    };
    let modes = match meanings {
        true => mode::modes(kernel, program, &jumps),
        false => Vec::new(),
    };
    let mut address_words = Vec::new();
    let ops = program.instrs.iter().enumerate().map(|(at, instr)| {
        // Without a state, the modes are unknown and floats have no meaning.
        let mode = modes.get(at).copied().unwrap_or_default();
        let context = MeaningContext { mode, instr };
        let meaning = match meanings {
            true => lifter.meaning(&context, &mut address_words),
            false => None,
        };
        lifter.lift_op(at, instr, meaning)
    });
    let mut code = Code {
        family: Family::Gcn3,
        ops: ops.collect(),
        ..Code::default()
    };
    code.address_words = address_words;
    code.entry = code.at(kernel.entry).ok_or_else(|| {
        Diagnostic::new("the kernel does not begin at an instruction")
            .in_kernel(kernel.demangled())
            .at(kernel.entry)
    })?;
    if let Some(object) = &kernel.code_object {
        code.entry_values = entry::values(&object.descriptor);
    }
    let functions = kernel.functions.iter().filter_map(|function| {
        Some(CodeFunction {
            name: function.name.to_string(),
            entry: code.at(function.start)?,
        })
    });
    let mut functions: Vec<CodeFunction> = functions.collect();
    functions.sort_by_key(|function| function.entry);
    // Aliases of a function share an entry; lookups by entry need one.
    functions.dedup_by_key(|function| function.entry);
    code.functions = functions;
    Ok(code)
}

/// Facts other than its operands on which the meaning of an instruction depends.
#[derive(Clone, Copy, Debug)]
pub(super) struct MeaningContext<'a> {
    /// Modes of floating-point arithmetic before the instruction, if they are known.
    mode: ModeState,
    /// The instruction.
    instr: &'a GcnInstr,
}

/// Returns the meaning of a GCN3 instruction if MODE has these contents before it; `None` if it is unknown.
/// Instructions that read the program counter have none, since the loader chooses it.
pub fn meaning_with_mode(instr: &GcnInstr, mode: u32) -> Option<Meaning> {
    let mode = ModeState::of_descriptor(mode);
    meaning(&instr.view()?, &MeaningContext { mode, instr })
}

/// Returns the meaning of an instruction; `None` if it is unknown.
fn meaning(view: &GcnView, context: &MeaningContext<'_>) -> Option<Meaning> {
    let o = &Operands::new(view);
    match view.encoding {
        Encoding::Sop2
        | Encoding::Sopk
        | Encoding::Sop1
        | Encoding::Sopc
        | Encoding::Sopp
        | Encoding::Smem => scalar::meaning(view, o),
        Encoding::Vop2 | Encoding::Vop1 | Encoding::Vopc | Encoding::Vop3a | Encoding::Vop3b => {
            vector::meaning(view, o, context)
        }
        Encoding::Ds | Encoding::Flat | Encoding::Mubuf | Encoding::Mtbuf => {
            memory::meaning(view, o, context.mode)
        }
        // Graphics instructions have no meaning; a run that executes one names it.
        Encoding::Vintrp | Encoding::Mimg | Encoding::Exp => None,
    }
}

/// Parts of a kernel on which the lifting of an instruction depends.
struct Lifter<'a> {
    kernel: &'a Kernel,
    program: &'a GcnProgram,
    jumps: &'a Jumps,
}

impl Lifter<'_> {
    fn meaning(
        &self,
        context: &MeaningContext<'_>,
        address_words: &mut Vec<AddressWord>,
    ) -> Option<Meaning> {
        let view = context.instr.view()?;
        // The loader chooses the address of the code.
        if let Some(first) = jumps::program_counter_dest(&view) {
            let next = context.instr.addr.0 + u32::from(context.instr.bytes);
            return Some(jumps::program_counter(first, next, address_words));
        }
        let object = self.kernel.code_object.as_ref();
        let registers = object.map(|object| object.descriptor.vector_registers());
        if let Some(meaning) = vector::indexed::meaning(&view, registers.unwrap_or(0)) {
            return Some(meaning);
        }
        meaning(&view, context)
    }

    fn lift_op(&self, at: usize, instr: &GcnInstr, meaning: Option<Meaning>) -> Op {
        let effects = instr.effects();
        let cell = |&register: &Reg| Cell::of(register);
        let writes_exec = effects
            .writes
            .iter()
            .any(|&register| Cell::EXEC_WORDS.contains(&Cell::of(register)));
        let mut op = Op {
            addr: instr.addr,
            condition: condition(effects.flow),
            reads: effects.reads.iter().map(cell).collect(),
            writes: effects.writes.iter().map(cell).collect(),
            value: value_dependence(&effects, meaning.as_ref()),
            control: self.control_effect(at, instr, effects.flow),
            barrier: effects.barrier,
            scope: match effects.is_warp_scope {
                true => OpScope::Warp,
                false => OpScope::Lane,
            },
            meaning,
        };
        if writes_exec && op.control == ControlEffect::Next {
            op.control = ControlEffect::SetActive(Cell::of(Reg::EXEC));
        }
        op
    }

    fn control_effect(&self, at: usize, instr: &GcnInstr, flow: GcnFlow) -> ControlEffect {
        if scalar::changes_addressing(instr) {
            return ControlEffect::Unsupported("s_setreg of bits 27 to 31 of MODE".to_owned());
        }
        let known = self.jumps.target(at).map(|addr| self.code_target(addr));
        match (flow, known) {
            (GcnFlow::Next, _) => ControlEffect::Next,
            (GcnFlow::Jump(to) | GcnFlow::Branch(_, to), _) => {
                ControlEffect::Jump(self.control_target(to))
            }
            (GcnFlow::Call { link, .. }, Some(target)) if link == jumps::LINK => {
                ControlEffect::Call(target)
            }
            // A known target through the link register is a jump too, not a return.
            (GcnFlow::Indirect { .. }, Some(target)) => ControlEffect::Jump(target),
            (GcnFlow::Indirect { from }, None)
                if from == jumps::LINK && !jumps::is_in_kernel(self.kernel, instr.addr) =>
            {
                ControlEffect::Pop(StackToken::Ret)
            }
            (GcnFlow::Call { to: base, .. } | GcnFlow::Indirect { from: base }, _) => {
                ControlEffect::Indirect {
                    base: Some(Cell::scalar(base)),
                    anchor: 0,
                    relative: false,
                }
            }
            (GcnFlow::Exit, _) => ControlEffect::Exit,
            (GcnFlow::Unsupported, _) => ControlEffect::Unsupported(match instr.opcode() {
                Some(opcode) => opcode.name().to_owned(),
                None => format!("word 0x{:08x}", instr.word),
            }),
        }
    }

    fn control_target(&self, target: BranchTarget) -> ControlTarget {
        match target {
            BranchTarget::Code(addr) => self.code_target(addr),
            BranchTarget::Absolute(addr) => {
                ControlTarget::Invalid(format!("absolute address 0x{addr:x}"))
            }
            BranchTarget::Constant { .. } | BranchTarget::Outside => {
                ControlTarget::Invalid("outside the code".to_owned())
            }
        }
    }

    fn code_target(&self, addr: CodeAddr) -> ControlTarget {
        match self.program.index_of(addr) {
            Some(index) => ControlTarget::Op(OpIndex(index as u32)),
            None => ControlTarget::Invalid(addr.to_string()),
        }
    }
}

/// Condition of a branch. Other instructions have none.
fn condition(flow: GcnFlow) -> ExecCondition {
    let GcnFlow::Branch(condition, _) = flow else {
        return ExecCondition::ALWAYS;
    };
    let (guard, negated) = match condition {
        GcnCondition::SccZero => (Reg::SCC, true),
        GcnCondition::SccOne => (Reg::SCC, false),
        GcnCondition::VccZero => (Reg::VCC, true),
        GcnCondition::VccNonZero => (Reg::VCC, false),
        GcnCondition::ExecZero => (Reg::EXEC, true),
        GcnCondition::ExecNonZero => (Reg::EXEC, false),
    };
    ExecCondition {
        guard: Some(Cell::of(guard)),
        negated,
        cc_test: CcTest::TRUE,
        further: None,
    }
}

/// Dependence of the results on the registers read. Without a meaning, the results may be anything.
fn value_dependence(effects: &GcnEffects, meaning: Option<&Meaning>) -> ValueDependence {
    match meaning {
        // A cell that is written without a value may hold anything.
        Some(Meaning::Set(values))
            if effects.writes.iter().any(|register| {
                let cell = Cell::of(*register);
                values.iter().all(|(dest, _)| *dest != cell)
            }) =>
        {
            ValueDependence::Lane
        }
        Some(Meaning::Set(values)) => {
            match values.iter().any(|(_, value)| depends_on_lane(value)) {
                true => ValueDependence::Lane,
                false => ValueDependence::Function,
            }
        }
        Some(Meaning::Load { space, address, .. }) => {
            let mut parts = std::iter::once(&address.low).chain(&address.high);
            match address.buffer.is_none() && !parts.any(depends_on_lane) {
                true => ValueDependence::Load(*space),
                // Swizzled buffers have another address for each lane.
                false => ValueDependence::Lane,
            }
        }
        Some(Meaning::Store { .. } | Meaning::Barrier { .. }) => ValueDependence::Function,
        _ if effects.writes.is_empty() => ValueDependence::Function,
        _ => ValueDependence::Lane,
    }
}

/// Whether a value depends on the lane other than through its registers: on the lane number, or on registers of other
/// lanes.
fn depends_on_lane(expr: &Expr) -> bool {
    match expr {
        Expr::FromLane(..) | Expr::Special(_) | Expr::ThreadId => true,
        // A ballot is the same in all lanes, whatever it counts.
        Expr::Ballot(..) | Expr::Const(_) | Expr::Cell(_) => false,
        Expr::Constant(_, a) | Expr::Unary(_, a) => depends_on_lane(a),
        Expr::Binary(_, a, b) => depends_on_lane(a) || depends_on_lane(b),
        Expr::Ternary(_, a, b, c) => [a, b, c].into_iter().any(|part| depends_on_lane(part)),
        Expr::Float(_, words, _) => words.iter().any(depends_on_lane),
    }
}
