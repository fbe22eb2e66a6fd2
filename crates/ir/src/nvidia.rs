//! Maxwell and Pascal instructions to [`Code`].

use warpbound_base::{CodeAddr, Diagnostic};
use warpbound_isa::instr::{self, Flow, Source};
use warpbound_isa::nvidia::Program;
use warpbound_isa::{self as isa, Effects, Instr, View};
use warpbound_load::{AddressHalf, Kernel, Relocation};

use crate::{
    AddressWord, Cell, Code, Condition, Control, Function, Half, Meaning, Op, OpIndex, Target,
    Value, maxwell,
};

/// Bytes of a fetch group: a control word and three instructions.
const GROUP_BYTES: u32 = 32;

/// The bank with the compiler's literals and jump tables: the only one that no host program writes.
const LITERALS: u8 = 2;

/// The code of `kernel`, whose code section was decoded to `program`.
///
/// Without `meanings` operations have a meaning, reads and writes only where indirect jumps need them. Fails when the kernel does not
/// begin at an instruction.
pub(crate) fn lift(kernel: &Kernel, program: &Program, meanings: bool) -> Result<Code, Diagnostic> {
    let mut code = Code {
        group_bytes: GROUP_BYTES,
        constants: kernel
            .banks
            .iter()
            .filter(|bank| bank.number == LITERALS && bank.relocations.is_empty())
            .map(|bank| (bank.number, bank.bytes().to_vec()))
            .collect(),
        external_words: external_words(kernel),
        ..Code::default()
    };
    let links = Links {
        kernel,
        program,
        external_words: &code.external_words,
    };
    let mut address_words = Vec::new();
    let jumps = |op: &Op| matches!(op.control, Control::Indirect { .. });
    let control = |instr| links.op(instr, program.control_effects(instr));
    code.ops = match meanings {
        true => Vec::new(),
        false => program.instrs.iter().map(control).collect(),
    };
    if meanings || code.ops.iter().any(jumps) {
        let whole = |instr| Op {
            meaning: links.meaning(instr, &mut address_words),
            ..links.op(instr, program.effects(instr))
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
            Some(Function {
                name: function.name.to_string(),
                entry: code.at(function.start)?,
            })
        })
        .collect();
    code.functions.sort_by_key(|function| function.entry);
    Ok(code)
}

/// Words of the constant banks that receive the address of something outside the file.
fn external_words(kernel: &Kernel) -> Vec<(u8, u32, String)> {
    kernel
        .banks
        .iter()
        .flat_map(|bank| bank.relocations.iter().map(move |r| (bank.number, r)))
        .filter(|(_, relocation)| !relocation.symbol.is_defined)
        .map(|(bank, r)| (bank, r.offset, r.symbol.name.to_string()))
        .collect()
}

/// What connects the instructions with each other and with the rest of the file.
struct Links<'a> {
    kernel: &'a Kernel,
    program: &'a Program,
    external_words: &'a [(u8, u32, String)],
}

impl Links<'_> {
    fn op(&self, instr: &Instr, effects: Effects) -> Op {
        let relocation = self.relocations(instr.addr).first();
        Op {
            addr: instr.addr,
            condition: Condition {
                guard: effects.guard.pred.map(Cell::pred),
                negated: effects.guard.negated,
                cc_test: effects.cc_test,
            },
            reads: effects.reads.iter().map(|&r| r.into()).collect(),
            writes: effects.writes.iter().map(|&r| r.into()).collect(),
            value: value(&effects),
            control: self.control(instr, effects.flow, relocation),
            barrier: effects.barrier,
            meaning: None,
        }
    }

    fn meaning(&self, instr: &Instr, words: &mut Vec<AddressWord>) -> Option<Meaning> {
        // A relocated word is not what will be executed.
        let view = match self.relocations(instr.addr) {
            [] => self.program.view(instr),
            [relocation] => self.relocated(instr, relocation, words),
            _ => None,
        };
        maxwell::meaning(&view?)
    }

    /// The relocations that change the instruction at `addr`.
    fn relocations(&self, addr: CodeAddr) -> &[Relocation] {
        let relocations = &self.kernel.relocations;
        let first = relocations.partition_point(|r| r.offset < addr.0);
        let rest = relocations.get(first..).unwrap_or_default();
        let own = rest.iter().take_while(|r| r.offset - addr.0 < 8).count();
        rest.get(..own).unwrap_or_default()
    }

    /// The operands of an instruction whose immediate of a whole word is half of a variable's address: a new word of the
    /// bank of addresses stands in its place.
    fn relocated(
        &self,
        instr: &Instr,
        relocation: &Relocation,
        words: &mut Vec<AddressWord>,
    ) -> Option<View> {
        let half = relocation.word_immediate()?;
        if relocation.offset != instr.addr.0 || !relocation.symbol.is_global {
            return None;
        }
        let mut view = self.program.view(instr)?;
        if !view.mnemonic.ends_with("32I") {
            return None;
        }
        // Modifiers that are numbers stand behind it.
        let mut operands = view.operands.iter_mut();
        let (value, in_place) = operands.find_map(|operand| match operand.value {
            isa::Value::Int(number) => Some((&mut operand.value, number as u32)),
            _ => None,
        })?;
        let addend = match (relocation.addend, half) {
            (Some(addend), _) => addend,
            (None, AddressHalf::Low) => in_place.into(),
            // The carry out of the low half is not to be seen here.
            (None, AddressHalf::High) if in_place != 0 => return None,
            (None, AddressHalf::High) => 0,
        };
        let offset = i32::try_from(words.len()).ok()?.checked_mul(4)?;
        words.push(AddressWord {
            symbol: relocation.symbol.name.to_string(),
            addend,
            half: match half {
                AddressHalf::Low => Half::Low,
                AddressHalf::High => Half::High,
            },
        });
        *value = isa::Value::Const {
            bank: Code::ADDRESS_BANK,
            offset,
        };
        Some(view)
    }

    fn control(&self, instr: &Instr, flow: Flow, relocation: Option<&Relocation>) -> Control {
        let target = |target| self.target(target, relocation);
        match flow {
            Flow::Next => Control::Next,
            Flow::Branch(to) => Control::Jump(target(to)),
            // The anchor is not what will be executed.
            Flow::Indirect { .. } if relocation.is_some() => {
                let relocation = relocation.map(Relocation::to_string);
                Control::Unsupported(format!(
                    "indirect jump at {}",
                    relocation.unwrap_or_default()
                ))
            }
            Flow::Indirect {
                base,
                anchor,
                relative,
            } => Control::Indirect {
                base: base.map(Cell::gpr),
                anchor,
                relative,
            },
            Flow::Call(to) => Control::Call(target(to)),
            Flow::Push(token, to) => Control::Push(token, target(to)),
            Flow::Pop(token) => Control::Unwind(token),
            Flow::Exit => Control::Exit,
            Flow::Unsupported => Control::Unsupported(match self.program.mnemonic(instr) {
                Some(mnemonic) => mnemonic.to_owned(),
                None => format!("word 0x{:016x}", instr.word),
            }),
        }
    }

    fn target(&self, target: instr::Target, relocation: Option<&Relocation>) -> Target {
        if let Some(relocation) = relocation {
            let name = &relocation.symbol.name;
            let own = self.kernel.functions.iter().find(|f| f.name == *name);
            return match own {
                Some(function) if relocation.addend.unwrap_or_default() == 0 => {
                    self.code_target(function.start)
                }
                Some(_) => Target::Nowhere(relocation.to_string()),
                None => Target::External(name.to_string()),
            };
        }
        match target {
            instr::Target::Code(addr) => self.code_target(addr),
            instr::Target::Absolute(addr) => {
                Target::Nowhere(format!("absolute address 0x{addr:x}"))
            }
            instr::Target::Constant { bank, offset } => {
                let external = self
                    .external_words
                    .iter()
                    .find(|(b, at, _)| *b == bank && i64::from(*at) == i64::from(offset));
                match external {
                    Some((_, _, name)) => Target::External(name.clone()),
                    None => Target::Nowhere(format!("c[0x{bank:x}][0x{offset:x}]")),
                }
            }
            instr::Target::Outside => Target::Nowhere("outside the code".to_owned()),
        }
    }

    fn code_target(&self, addr: CodeAddr) -> Target {
        match self.program.index_of(addr) {
            Some(index) => Target::Op(OpIndex(index as u32)),
            None => Target::Nowhere(addr.to_string()),
        }
    }
}

fn value(effects: &Effects) -> Value {
    match (effects.source, effects.access) {
        (Source::Function, _) => Value::Function,
        (Source::Memory, Some(access)) => Value::Load(access.space),
        (Source::Memory, None) | (Source::Lane, _) => Value::Lane,
        (Source::Special(number), _) => Value::Special(number),
        (Source::Uniform, _) => Value::Uniform,
    }
}
