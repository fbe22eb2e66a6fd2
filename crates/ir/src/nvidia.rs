//! Lifting of programs of NVIDIA's GPUs: control targets, relocations and constants. The meaning of instructions is
//! in a module for each family. For example, the target of a `CAL` with a relocation to an undefined symbol `vprintf` is the
//! external function of this name, whatever the encoded target is.

pub(crate) mod operands;

use std::collections::BTreeSet;

use warpbound_base::{CodeAddr, ConstantBanks, Diagnostic, Family, GroupedCode};
use warpbound_isa::instr::{self, InstrFlow, ValueSource};
use warpbound_isa::nvidia::{Opcode, SassProgram};
use warpbound_isa::{self as isa, Effects, FurtherCondition, RegisterKind, SassInstr, View};
use warpbound_load::{AddressHalf, Kernel, Relocation};

use crate::{
    AddressWord, Cell, Code, CodeFunction, ControlEffect, ControlTarget, ExecCondition,
    FurtherTest, Meaning, Op, OpIndex, OpScope, ValueDependence, WordHalf, maxwell, volta,
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
    let jumps = |op: &Op| {
        matches!(
            op.control,
            ControlEffect::Indirect { .. } | ControlEffect::LinkedIndirect { .. }
        )
    };
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
        let condition = match effects.flow {
            // Its predicate is one of other lanes, too.
            InstrFlow::FreeBranch(_) => ExecCondition::ALWAYS,
            _ => ExecCondition {
                guard: effects.guard.register().map(Cell::of),
                negated: effects.guard.negated,
                cc_test: effects.cc_test,
                further: further_test(effects.further),
            },
        };
        // Only such an instruction never falls through to the next section.
        let always_leaves = condition.is_always()
            && matches!(
                effects.flow,
                InstrFlow::Branch(_)
                    | InstrFlow::Indirect { .. }
                    | InstrFlow::Pop(_)
                    | InstrFlow::Return { .. }
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
        match self.program.arch().family() {
            Family::Volta => volta::meaning(&view?, self.program.arch()),
            Family::Maxwell | Family::Gcn3 | Family::MiniSimt => maxwell::meaning(&view?),
        }
    }

    /// Whether an instruction calls, jumps or pushes a code address that it holds.
    fn has_target(&self, instr: &SassInstr) -> bool {
        matches!(
            self.program.control_effects(instr).flow,
            InstrFlow::Call(_)
                | InstrFlow::LinkedCall(_)
                | InstrFlow::Branch(_)
                | InstrFlow::Push(..)
                | InstrFlow::OpenBarrier(..)
                | InstrFlow::Collective(_)
                | InstrFlow::FreeBranch(_)
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
        if relocation.offset == instr.addr.0
            && let (Some(symbol), Some(addend)) = (relocation.symbol.in_code, relocation.addend)
        {
            return self.code_address_view(instr, i64::from(symbol.0).checked_add(addend)?, half);
        }
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

    /// View of a move whose immediate is relocated to half of an address of this code, which counts from its begin.
    fn code_address_view(
        &self,
        instr: &SassInstr,
        address: i64,
        half: AddressHalf,
    ) -> Option<View> {
        let mut view = self.program.view(instr)?;
        let mut operands = view.operands.iter_mut();
        let value = operands.find_map(|operand| match operand.value {
            isa::OperandValue::Int(_) => Some(&mut operand.value),
            _ => None,
        })?;
        *value = isa::OperandValue::Int(match half {
            AddressHalf::Low => address & 0xffff_ffff,
            AddressHalf::High => address >> 32,
        });
        (view.opcode == Opcode::Mov).then_some(view)
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
            InstrFlow::Indirect { .. } | InstrFlow::LinkedIndirect { .. }
                if relocation.is_some() =>
            {
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
                base: base.map(Cell::of),
                anchor,
                relative,
            },
            InstrFlow::Call(to) => ControlEffect::Call(target(to)),
            InstrFlow::Push(token, to) => ControlEffect::Push(token, target(to)),
            InstrFlow::Pop(token) => ControlEffect::Pop(token),
            InstrFlow::LinkedCall(to) => self.linked_call(instr, target(to)),
            InstrFlow::LinkedIndirect {
                base,
                anchor,
                relative,
            } => ControlEffect::LinkedIndirect {
                base: base.map(Cell::of),
                anchor,
                relative,
            },
            InstrFlow::Return {
                base,
                anchor,
                relative,
            } => ControlEffect::Return {
                base: base.map(Cell::of),
                anchor,
                relative,
            },
            InstrFlow::OpenBarrier(barrier, to) => ControlEffect::OpenBarrier(barrier, target(to)),
            InstrFlow::JoinBarrier(barrier) => ControlEffect::JoinBarrier(barrier),
            InstrFlow::BreakBarrier(barrier) => ControlEffect::BreakBarrier(barrier),
            InstrFlow::SaveBarrier(barrier, to) => {
                ControlEffect::SaveBarrier(barrier, to.map(Cell::of))
            }
            InstrFlow::WriteBarrier {
                barrier,
                source,
                cleared,
            } => ControlEffect::WriteBarrier {
                barrier,
                source: source.map(Cell::of),
                cleared,
            },
            InstrFlow::Release => ControlEffect::Release,
            InstrFlow::Collective(to) => ControlEffect::Collective(target(to)),
            InstrFlow::FreeBranch(to) => ControlEffect::FreeJump(target(to)),
            InstrFlow::Exit => ControlEffect::Exit,
            InstrFlow::Unsupported => {
                ControlEffect::Unsupported(match self.program.opcode(instr) {
                    Some(opcode) => opcode.to_string(),
                    None => format!("word 0x{:016x}", instr.word),
                })
            }
        }
    }

    /// Effect of a CALL that leaves the return address to earlier instructions: a call, if one of them writes the address
    /// after it. Compilers also use it as a jump within a function, where nothing returns.
    fn linked_call(&self, instr: &SassInstr, target: ControlTarget) -> ControlEffect {
        let is_linked = self.writes_return_address(instr);
        let enters_function = match &target {
            ControlTarget::Op(at) => {
                let address = self.program.instrs.get(at.index()).map(|instr| instr.addr);
                let mut functions = self.kernel.functions.iter();
                functions.any(|function| Some(function.start) == address)
            }
            ControlTarget::External(_) => true,
            ControlTarget::Invalid(_) => false,
        };
        match (is_linked, enters_function) {
            (true, _) => ControlEffect::LinkedCall(target),
            (false, false) => ControlEffect::Jump(target),
            // A call that never returns, or that returns to the caller of its function, is a jump.
            (false, true) => match self.may_be_return_address(instr) {
                false => ControlEffect::Jump(target),
                true => {
                    ControlEffect::Unsupported("call without a known return address".to_owned())
                }
            },
        }
    }

    /// Whether an earlier instruction of the same block writes the address after a call into a register that keeps it.
    fn writes_return_address(&self, call: &SassInstr) -> bool {
        let at = self.program.index_of(call.addr).unwrap_or_default();
        let Some(after) = call.addr.offset(self.program.instruction_bytes().into()) else {
            return false;
        };
        let earlier = self.program.instrs.get(..at).unwrap_or_default();
        let mut overwritten = BTreeSet::new();
        for instr in earlier.iter().rev().take(LINK_DISTANCE) {
            let effects = self.program.effects(instr);
            if effects.flow != InstrFlow::Next {
                return false;
            }
            let is_kept = effects
                .writes
                .iter()
                .all(|register| !overwritten.contains(register));
            let writes_it =
                || self.writes_number(instr, after.0) || self.writes_address(instr, after);
            if is_kept && effects.guard.is_always() && writes_it() {
                return true;
            }
            overwritten.extend(effects.writes);
        }
        false
    }

    /// Whether the address after a call may be in a register: as a number of an instruction or a literal, by a relocation,
    /// or by arithmetic on the program counter.
    fn may_be_return_address(&self, call: &SassInstr) -> bool {
        let after = call.addr.offset(self.program.instruction_bytes().into());
        let Some(after) = after else { return true };
        let computes = |instr: &SassInstr| self.program.opcode(instr) == Some(Opcode::Lepc);
        let names = |instr: &SassInstr| self.writes_number(instr, after.0);
        let literals = self
            .kernel
            .banks
            .iter()
            .flat_map(|bank| bank.bytes().chunks_exact(4));
        let mut words = literals.filter_map(|word| Some(u32::from_le_bytes(word.try_into().ok()?)));
        let relocates = |relocation: &Relocation| {
            relocation.symbol.in_code.is_some() && relocation.word_immediate().is_some()
        };
        self.program
            .instrs
            .iter()
            .any(|instr| computes(instr) || names(instr))
            || words.any(|word| word == after.0)
            || self.kernel.relocations.iter().any(relocates)
    }

    /// Whether an instruction is a move of the low half of this address, by a relocation.
    fn writes_address(&self, instr: &SassInstr, address: CodeAddr) -> bool {
        self.relocations(instr.addr).iter().any(|relocation| {
            let symbol = relocation.symbol.in_code;
            let sum = symbol.zip(relocation.addend);
            let written = sum.and_then(|(symbol, addend)| i64::from(symbol.0).checked_add(addend));
            relocation.word_immediate() == Some(AddressHalf::Low)
                && written == Some(i64::from(address.0))
        })
    }

    /// Whether an instruction is a move of this number.
    fn writes_number(&self, instr: &SassInstr, number: u32) -> bool {
        let Some(view) = self.program.view(instr) else {
            return false;
        };
        let mut numbers = view
            .operands
            .iter()
            .filter_map(|operand| match operand.value {
                isa::OperandValue::Int(value) => Some(value as u32),
                _ => None,
            });
        let mut halves = view
            .operands
            .iter()
            .filter_map(|operand| match operand.value {
                isa::OperandValue::Half(bits) => Some(u32::from(bits)),
                _ => None,
            });
        match (halves.next(), halves.next()) {
            // HFMA2 with a product of zeros moves two halves, high half first.
            (Some(high), Some(low)) => high << 16 | low == number,
            _ => numbers.any(|value| value == number),
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

/// Number of instructions before a call among which the one that writes the return address is looked for.
const LINK_DISTANCE: usize = 200;

fn further_test(further: FurtherCondition) -> Option<FurtherTest> {
    match further {
        FurtherCondition::None => None,
        FurtherCondition::Predicate(predicate) => {
            predicate.register().map(|register| FurtherTest::Predicate {
                cell: Cell::of(register),
                negated: predicate.negated,
            })
        }
        FurtherCondition::Group => Some(FurtherTest::Group),
    }
}

fn value_dependence(effects: &Effects) -> ValueDependence {
    match (effects.source, effects.access) {
        (ValueSource::Function, _) => ValueDependence::Function,
        (ValueSource::Memory, Some(access)) => ValueDependence::Load(access.space),
        // A load without an access would be a fault of the table; the weakest dependence is sound.
        (ValueSource::Memory, None) | (ValueSource::Lane, _) => ValueDependence::Lane,
        // No document says which lane gives the number that a uniform register receives, so nothing is known of it.
        (ValueSource::Special(register), _)
            if register.differs_between_lanes() && writes_uniform(effects) =>
        {
            ValueDependence::Lane
        }
        (ValueSource::Special(register), _) => ValueDependence::Special(register),
        (ValueSource::Uniform, _) => ValueDependence::Uniform,
    }
}

fn writes_uniform(effects: &Effects) -> bool {
    let mut writes = effects.writes.iter();
    writes.any(|register| register.kind == RegisterKind::Uniform)
}
