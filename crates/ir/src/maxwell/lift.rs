//! Lifting of Maxwell and Pascal programs: control targets, relocations and constants. The meaning of instructions is
//! in [`super`]. For example, the target of a `CAL` with a relocation to an undefined symbol `vprintf` is the
//! external function of this name, whatever the encoded target is.

use warpbound_base::{CodeAddr, ConstantBanks, Diagnostic, GroupedCode};
use warpbound_isa::instr::{self, InstrFlow, ValueSource};
use warpbound_isa::nvidia::SassProgram;
use warpbound_isa::{self as isa, Effects, SassInstr, View};
use warpbound_load::{AddressHalf, Kernel, Relocation};

use crate::{
    AddressWord, Cell, Code, CodeFunction, ControlEffect, ControlTarget, ExecCondition, Meaning,
    Op, OpIndex, OpScope, ValueDependence, WordHalf,
};

/// Lifts `program`, the decoded code section of `kernel`.
///
/// Without `meanings`, operations have a meaning, reads and writes only if the code has indirect jumps, whose targets
/// depend on them. Fails if the kernel does not begin at an instruction.
pub(crate) fn lift(
    kernel: &Kernel,
    program: &SassProgram,
    meanings: bool,
) -> Result<Code, Diagnostic> {
    let family = program.arch().family();
    let facts = family.facts();
    if meanings {
        family.check_analysed().map_err(|why| {
            why.in_kernel(kernel.demangled())
                .hint("`warpbound list`, `disasm` and `extract` read them")
        })?;
    }
    let mut code = Code {
        family,
        // Without groups, instructions follow each other without control words between them.
        group_bytes: facts.grouped_code.map_or(0, GroupedCode::group_bytes),
        constants: kernel
            .banks
            .iter()
            // The loader changes relocated words, so the kernel does not read the bytes of such a bank.
            .filter(|bank| {
                let is_literal = |banks: &ConstantBanks| bank.number == banks.literals;
                facts.constant_banks.is_some_and(is_literal) && bank.relocations.is_empty()
            })
            .map(|bank| (bank.number, bank.bytes().to_vec()))
            .collect(),
        external_words: external_words(kernel),
        ..Code::default()
    };
    let links = Lifter {
        kernel,
        program,
        external_words: &code.external_words,
    };
    let mut address_words = Vec::new();
    // Targets of indirect jumps follow from values, so only code with one needs meanings for its control flow.
    let jumps = |op: &Op| matches!(op.control, ControlEffect::Indirect { .. });
    let control = |instr| links.lift_op(instr, program.control_effects(instr));
    code.ops = match meanings {
        true => Vec::new(),
        false => program.instrs.iter().map(control).collect(),
    };
    // Lifting of control flow suffices for a family whose meanings are not known.
    if meanings || facts.is_analysed && code.ops.iter().any(jumps) {
        let whole = |instr| Op {
            meaning: links.meaning(instr, &mut address_words),
            ..links.lift_op(instr, program.effects(instr))
        };
        code.ops = program.instrs.iter().map(whole).collect();
    }
    code.address_words = address_words;
    code.entry = code.at(kernel.entry).ok_or_else(|| {
        Diagnostic::new("the kernel does not begin at an instruction")
            .in_kernel(kernel.demangled())
            .at(kernel.entry)
    })?;
    code.functions = kernel
        .functions
        .iter()
        .filter_map(|function| {
            Some(CodeFunction {
                name: function.name.to_string(),
                entry: code.at(function.start)?,
            })
        })
        .collect();
    code.functions.sort_by_key(|function| function.entry);
    Ok(code)
}

/// Words of the constant banks that receive the address of an external symbol.
fn external_words(kernel: &Kernel) -> Vec<(u8, u32, String)> {
    kernel
        .banks
        .iter()
        .flat_map(|bank| bank.relocations.iter().map(move |r| (bank.number, r)))
        .filter(|(_, relocation)| !relocation.symbol.is_defined)
        .map(|(bank, r)| (bank, r.offset, r.symbol.name.to_string()))
        .collect()
}

/// Lifter of one kernel, with the relocations and external words that instructions refer to.
struct Lifter<'a> {
    kernel: &'a Kernel,
    program: &'a SassProgram,
    external_words: &'a [(u8, u32, String)],
}

impl Lifter<'_> {
    fn lift_op(&self, instr: &SassInstr, effects: Effects) -> Op {
        let relocation = self.relocations(instr.addr).first();
        let condition = ExecCondition {
            guard: effects.guard.pred.map(Cell::pred),
            negated: effects.guard.negated,
            cc_test: effects.cc_test,
        };
        // Only such an instruction never falls through to the next section.
        let always_leaves = condition.is_always()
            && matches!(
                effects.flow,
                InstrFlow::Branch(_)
                    | InstrFlow::Indirect { .. }
                    | InstrFlow::Pop(_)
                    | InstrFlow::Exit
            );
        // In this code the section of another function follows, but in the memory of a GPU it may not (SOUNDNESS
        // 3.4).
        let control = match self.kernel.ends_section(instr.addr) && !always_leaves {
            true => ControlEffect::Unsupported("the end of the code section".to_owned()),
            false => self.control_effect(instr, effects.flow, relocation),
        };
        Op {
            addr: instr.addr,
            condition,
            reads: effects.reads.iter().map(|&r| r.into()).collect(),
            writes: effects.writes.iter().map(|&r| r.into()).collect(),
            value: value_dependence(&effects),
            control,
            barrier: effects.barrier,
            scope: OpScope::Lane,
            meaning: None,
        }
    }

    fn meaning(&self, instr: &SassInstr, words: &mut Vec<AddressWord>) -> Option<Meaning> {
        // The loader changes a relocated word before it is executed, so its encoded operands do not count.
        let view = match self.relocations(instr.addr) {
            [] => self.program.view(instr),
            // The target of a control transfer belongs to the control effect, not to the meaning.
            [relocation] if relocation.symbol.in_code.is_some() && self.has_target(instr) => {
                self.program.view(instr)
            }
            [relocation] => self.relocated_view(instr, relocation, words),
            // The combined effect of several relocations is not known.
            _ => None,
        };
        super::meaning(&view?)
    }

    /// Whether an instruction calls, jumps or pushes a code address that it holds.
    fn has_target(&self, instr: &SassInstr) -> bool {
        matches!(
            self.program.control_effects(instr).flow,
            InstrFlow::Call(_) | InstrFlow::Branch(_) | InstrFlow::Push(..)
        )
    }

    /// Relocations that change the instruction at `addr`.
    fn relocations(&self, addr: CodeAddr) -> &[Relocation] {
        let relocations = &self.kernel.relocations;
        let first = relocations.partition_point(|r| r.offset < addr.0);
        let rest = relocations.get(first..).unwrap_or_default();
        // No underflow: the relocations from `first` on are at or after the instruction.
        let bytes = self.program.instruction_bytes();
        let own = rest
            .iter()
            .take_while(|r| r.offset - addr.0 < bytes)
            .count();
        rest.get(..own).unwrap_or_default()
    }

    /// View of an instruction whose 32-bit immediate is relocated to half of a variable's address. A new word of
    /// [`Code::ADDRESS_BANK`] replaces the immediate. `None` for any other relocation.
    fn relocated_view(
        &self,
        instr: &SassInstr,
        relocation: &Relocation,
        words: &mut Vec<AddressWord>,
    ) -> Option<View> {
        let half = relocation.word_immediate()?;
        if relocation.offset != instr.addr.0 || !relocation.symbol.is_global {
            return None;
        }
        let mut view = self.program.view(instr)?;
        if !view.opcode.has_long_immediate() {
            return None;
        }
        // The first integer is the immediate, because modifiers that are numbers follow it.
        let mut operands = view.operands.iter_mut();
        let (value, in_place) = operands.find_map(|operand| match operand.value {
            isa::OperandValue::Int(number) => Some((&mut operand.value, number as u32)),
            _ => None,
        })?;
        let addend = match (relocation.addend, half) {
            (Some(addend), _) => addend,
            (None, AddressHalf::Low) => in_place.into(),
            // An in-place addend of the high half does not show the carry out of the low half.
            (None, AddressHalf::High) if in_place != 0 => return None,
            (None, AddressHalf::High) => 0,
        };
        let offset = i32::try_from(words.len()).ok()?.checked_mul(4)?;
        words.push(AddressWord {
            symbol: relocation.symbol.name.to_string(),
            addend,
            half: match half {
                AddressHalf::Low => WordHalf::Low,
                AddressHalf::High => WordHalf::High,
            },
        });
        *value = isa::OperandValue::Const {
            bank: Code::ADDRESS_BANK,
            offset,
        };
        Some(view)
    }

    fn control_effect(
        &self,
        instr: &SassInstr,
        flow: InstrFlow,
        relocation: Option<&Relocation>,
    ) -> ControlEffect {
        let target = |target| self.control_target(target, relocation, instr);
        match flow {
            InstrFlow::Next => ControlEffect::Next,
            InstrFlow::Branch(to) => ControlEffect::Jump(target(to)),
            // The loader changes a relocated anchor, so the encoded one does not count.
            InstrFlow::Indirect { .. } if relocation.is_some() => {
                let relocation = relocation.map(Relocation::to_string);
                ControlEffect::Unsupported(format!(
                    "indirect jump at {}",
                    relocation.unwrap_or_default()
                ))
            }
            InstrFlow::Indirect {
                base,
                anchor,
                relative,
            } => ControlEffect::Indirect {
                base: base.map(Cell::gpr),
                anchor,
                relative,
            },
            InstrFlow::Call(to) => ControlEffect::Call(target(to)),
            InstrFlow::Push(token, to) => ControlEffect::Push(token, target(to)),
            InstrFlow::Pop(token) => ControlEffect::Pop(token),
            InstrFlow::Exit => ControlEffect::Exit,
            InstrFlow::Unsupported => {
                ControlEffect::Unsupported(match self.program.opcode(instr) {
                    Some(opcode) => opcode.to_string(),
                    None => format!("word 0x{:016x}", instr.word),
                })
            }
        }
    }

    fn control_target(
        &self,
        target: instr::BranchTarget,
        relocation: Option<&Relocation>,
        instr: &SassInstr,
    ) -> ControlTarget {
        if let Some(relocation) = relocation {
            let symbol = &relocation.symbol;
            return match symbol.in_code {
                // With another addend, the target is inside a function, where none is known to begin.
                Some(address) if relocation.operand_addend(instr.word) == Some(0) => {
                    self.code_target(address)
                }
                Some(_) => ControlTarget::Invalid(relocation.to_string()),
                // The linker or the loader decides the target.
                None => ControlTarget::External(symbol.name.to_string()),
            };
        }
        match target {
            instr::BranchTarget::Code(addr) => self.code_target(addr),
            instr::BranchTarget::Absolute(addr) => {
                ControlTarget::Invalid(format!("absolute address 0x{addr:x}"))
            }
            instr::BranchTarget::Constant { bank, offset } => {
                let external = self
                    .external_words
                    .iter()
                    .find(|(b, at, _)| *b == bank && i64::from(*at) == i64::from(offset));
                match external {
                    Some((_, _, name)) => ControlTarget::External(name.clone()),
                    None => ControlTarget::Invalid(format!("c[0x{bank:x}][0x{offset:x}]")),
                }
            }
            instr::BranchTarget::Outside => ControlTarget::Invalid("outside the code".to_owned()),
        }
    }

    fn code_target(&self, addr: CodeAddr) -> ControlTarget {
        match self.program.index_of(addr) {
            Some(index) => ControlTarget::Op(OpIndex(index as u32)),
            None => ControlTarget::Invalid(addr.to_string()),
        }
    }
}

fn value_dependence(effects: &Effects) -> ValueDependence {
    match (effects.source, effects.access) {
        (ValueSource::Function, _) => ValueDependence::Function,
        (ValueSource::Memory, Some(access)) => ValueDependence::Load(access.space),
        // A load without an access would be a fault of the table; the weakest dependence is sound.
        (ValueSource::Memory, None) | (ValueSource::Lane, _) => ValueDependence::Lane,
        (ValueSource::Special(number), _) => ValueDependence::Special(number),
        (ValueSource::Uniform, _) => ValueDependence::Uniform,
    }
}
